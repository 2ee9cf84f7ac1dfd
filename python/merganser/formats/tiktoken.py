"""tiktoken's `.tiktoken`: a token a line, `<base64 of its bytes> <rank>`. Pattern and special tokens are not in it."""

from __future__ import annotations

import binascii
import hashlib
import re
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import TypedDict

from merganser.errors import FormatError
from merganser.formats import files
from merganser.formats.coverage import matches_every_character
from merganser.formats.dialects import rust_from_oniguruma
from merganser.formats.ranks import merges_of_ranks, ranks_of
from merganser.formats.strict_json import MAX_U32
from merganser.spec import AddedToken, ByteLevel, BytePairModel, Spec, Split, Vocabulary, unpack

# As tiktoken's own source pins them (0.14, tiktoken_ext/openai_public.py).
PUBLISHED = {
    "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930": "r50k_base",
    "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069": "p50k_base",
    "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7": "cl100k_base",
    "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d": "o200k_base",
}
_LINE = re.compile(rb"[ \t]*([A-Za-z0-9+/=]+)[ \t]+([0-9]+)[ \t]*")
_GPT2_PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_WHOLE_TEXT = r"[\s\S]+"


class EncodingArguments(TypedDict):
    """What `tiktoken.Encoding` takes besides the name."""

    pat_str: str
    mergeable_ranks: dict[bytes, int]
    special_tokens: dict[str, int]


def published_name(path: Path) -> str | None:
    """The name of the published encoding whose file this is, byte for byte, or None."""
    return published_name_of(files.read_bytes(path))


def published_name_of(data: bytes) -> str | None:
    """The name of the published encoding whose file has these bytes, or None."""
    return PUBLISHED.get(hashlib.sha256(data).hexdigest())


def looks_like_tiktoken(data: bytes) -> bool:
    """Whether the first line that is not blank may be meant for one of this format: two fields, a number last."""
    return any(re.fullmatch(rb"\S+\s+[0-9]+\s*", line) for line in data[: 1 << 16].lstrip().splitlines()[:1])


def read(path: Path, *, split: Split | None, special_tokens: Mapping[str, int]) -> Spec:
    """The Spec of the tokens in the file at `path`, a pattern and special tokens, which the file does not hold.

    Raises `FormatError` naming the line that is wrong, and `StorageError` where the file cannot be read.
    """
    return from_bytes(files.read_bytes(path), path, split=split, special_tokens=special_tokens)


def from_bytes(data: bytes, path: Path, *, split: Split | None, special_tokens: Mapping[str, int]) -> Spec:
    """The Spec of the contents of a `.tiktoken` file, as `read` gives it."""
    files.refuse_foreign(data, path, expected="lines `<base64> <rank>`")
    rank_by_token = _read_lines(data, path)
    ranks = sorted(rank_by_token.values())
    tokens = sorted(rank_by_token, key=rank_by_token.__getitem__)
    _check_special_tokens(special_tokens, set(ranks), path)
    return Spec(
        model=BytePairModel(vocabulary=Vocabulary.from_tokens(tokens, ranks), semantics="rank"),
        splits=() if split is None else (split,),
        added_tokens=tuple(AddedToken(content=content, id=id) for content, id in special_tokens.items()),
    )


def _read_lines(data: bytes, path: Path) -> dict[bytes, int]:
    rank_by_token: dict[bytes, int] = {}
    ranks: set[int] = set()
    lines = data.splitlines()
    for number, line in enumerate(lines, 1):
        if (found := _LINE.fullmatch(line)) is None:
            if line.strip():
                raise _bad_line(line, path, number)
            continue
        token = _decode(found[1], path, number)
        rank = int(found[2]) if len(found[2]) <= len(str(MAX_U32)) else MAX_U32 + 1
        if rank > MAX_U32:
            raise FormatError(f"{path}:{number}: expected a rank from 0 to {MAX_U32}, found {_shown(found[2])}")
        for field, value, known in (("token", token, rank_by_token), ("rank", rank, ranks)):
            if value in known:
                first = _first_line(lines, token=found[1] if field == "token" else None, rank=rank)
                raise FormatError(
                    f"{path}:{number}: expected each {field} once, found {value!r} again, first in line {first}"
                )
        rank_by_token[token] = rank
        ranks.add(rank)
    return rank_by_token


def _decode(encoded: bytes, path: Path, number: int) -> bytes:
    """The bytes that `encoded` stands for in the one spelling that base64 has for them."""
    try:
        token = binascii.a2b_base64(encoded, strict_mode=True)
    except binascii.Error as error:
        raise FormatError(f"{path}:{number}: expected base64, found {_shown(encoded)}: {str(error).lower()}") from error
    if not token or binascii.b2a_base64(token, newline=False) != encoded:
        raise FormatError(f"{path}:{number}: expected base64 as an encoder writes it, found {_shown(encoded)}")
    return token


def _first_line(lines: list[bytes], *, token: bytes | None, rank: int) -> int:
    """The number of the first line with this token or, where that is None, this rank."""
    fields = ((number, line.split()) for number, line in enumerate(lines, 1) if line.strip())
    return next(number for number, pair in fields if (int(pair[1]) == rank if token is None else pair[0] == token))


def _bad_line(line: bytes, path: Path, number: int) -> FormatError:
    num_fields = len(line.split())
    found = f"{num_fields} field{'s' * (num_fields != 1)}" if num_fields != 2 else _shown(line)
    hint = "is this a SentencePiece `.vocab`?" if b"\t" in line else None
    return FormatError(f"{path}:{number}: expected `<base64> <rank>`, found {found}", hint=hint)


def _shown(field: bytes) -> str:
    text = field.decode("utf-8", "backslashreplace")
    return f"`{text}`" if len(text) <= 60 else f"`{text[:56]}…`"


def _check_special_tokens(special_tokens: Mapping[str, int], ranks: set[int], path: Path) -> None:
    for content, id in special_tokens.items():
        if not content:
            raise FormatError(f"special_tokens: expected texts that are not empty, found one with the id {id}")
        if type(id) is not int or not 0 <= id <= MAX_U32:
            raise FormatError(f"special_tokens: expected ids from 0 to {MAX_U32}, found {id!r} for {content!r}")
        if id in ranks:
            raise FormatError(f"special_tokens: expected ids that no token of {path} has, found {id} for {content!r}")


# Writing


def write(spec: Spec, path: Path) -> tuple[str, ...]:
    """Writes the tokens of `spec` as a `.tiktoken` file; gives a sentence on each thing that it leaves out.

    Raises `FormatError` where tokens and ids do not fit the format, and `StorageError` where `path` cannot be written.
    """
    ranks = _mergeable_ranks(spec.byte_pairs)
    lines = (b"%s %d\n" % (binascii.b2a_base64(token, newline=False), rank) for token, rank in ranks.items())
    files.write_atomically(path, b"".join(lines))
    return tuple(_left_out(spec, ranks))


def encoding_arguments(spec: Spec) -> EncodingArguments:
    """What makes a `tiktoken.Encoding` with the ids of `spec`.

    Raises `FormatError` where tiktoken has no equal.
    """
    ranks = _mergeable_ranks(spec.byte_pairs)
    for difference in (
        _normalizer_difference(spec),
        _added_difference(spec),
        _merges_difference(spec.byte_pairs, ranks),
    ):
        if difference is not None:
            raise FormatError(f"tiktoken: expected a tokenizer that it can hold, found {difference}")
    return EncodingArguments(
        pat_str=_pattern(spec), mergeable_ranks=ranks, special_tokens={t.content: t.id for t in spec.added_tokens}
    )


def _mergeable_ranks(model: BytePairModel) -> dict[bytes, int]:
    """The tokens with their ids, which tiktoken takes for ranks, in order."""
    ranks: dict[bytes, int] = {}
    for id, token in model.vocabulary.items():
        if (first := ranks.setdefault(token, id)) != id:
            raise FormatError(f"tiktoken: expected one token with the bytes {token!r}, found {first} and {id}")
    missing = [byte for byte in range(256) if bytes([byte]) not in ranks]
    if missing:
        raise FormatError(f"tiktoken: expected a token for each byte, found none for 0x{missing[0]:02X}")
    if b"" in ranks:
        raise FormatError(f"tiktoken: expected tokens of a byte or more, found token {ranks[b'']} of none")
    if model.semantics == "rank" and model.ranks:
        in_order = sorted(given := ranks_of(model), key=given.__getitem__)
        if in_order != list(ranks):
            raise FormatError("tiktoken: expected ids in the order of the ranks, found another order")
    return ranks


def _left_out(spec: Spec, ranks: Mapping[bytes, int]) -> Iterator[str]:
    if spec.added_tokens:
        yield f"`tiktoken` files hold no special tokens: {len(spec.added_tokens)} left out"
    for what, steps in (("split", spec.splits), ("normalizer", spec.normalizers), ("template", spec.template)):
        if steps:
            yield f"`tiktoken` files hold no {what}: left out"
    if (difference := _merges_difference(spec.byte_pairs, ranks)) is not None:
        yield f"`tiktoken` merges by rank, which may give other ids: {difference}"


def _normalizer_difference(spec: Spec) -> str | None:
    return f"a normalizer, {spec.normalizers[0].form}" if spec.normalizers else None


def _added_difference(spec: Spec) -> str | None:
    for token in spec.added_tokens:
        if not token.special or token.single_word or token.lstrip or token.rstrip:
            return f"the added token {token.content!r}, which is not plainly special"
    return None


def _merges_difference(model: BytePairModel, ranks: Mapping[bytes, int]) -> str | None:
    """Where merging by rank is not known to equal the merges: they are not the one way that ranks make each token."""
    if model.semantics == "rank":
        return None
    token_by_id = dict(model.vocabulary.items())
    numbers = unpack(model.merges)
    pairs = dict.fromkeys(zip(numbers[::2], numbers[1::2], strict=True))
    listed = [(token_by_id.get(left, b""), token_by_id.get(right, b"")) for left, right in pairs]
    by_rank = merges_of_ranks(ranks)
    for given, made in zip_longest(listed, by_rank):
        if given != made:
            return f"a merge of {_joined(given)} where ranks would next merge {_joined(made)}"
    made = {left + right for left, right in by_rank}
    whole = next((token for token in ranks if len(token) > 1 and token not in made), None)
    if whole is not None and not model.ignore_merges:
        return f"token {ranks[whole]}, {whole!r}, which no merge makes"
    return None


def _joined(pair: tuple[bytes, bytes] | None) -> str:
    return "nothing" if pair is None else f"{pair[0]!r} and {pair[1]!r}"


def _pattern(spec: Spec) -> str:
    splits = [split for split in spec.splits if not _is_idle(split)]
    if len(splits) > 1:
        raise FormatError(f"tiktoken: expected one split pattern, found {len(splits)}")
    if not splits:
        return _WHOLE_TEXT
    split = splits[0]
    if isinstance(split, ByteLevel):
        if split.add_prefix_space:
            raise FormatError("tiktoken: expected text as it is, found ByteLevel with a space in front")
        return _GPT2_PATTERN
    if split.unmatched != "drop" and not matches_every_character(split.pattern, split.dialect):
        raise FormatError(
            f'tiktoken: expected unmatched="drop", found "{split.unmatched}" and a pattern that may need it',
            hint="add an alternative for the characters that it leaves, such as `|[^…]` for the others",
        )
    return split.pattern if split.dialect == "rust" else rust_from_oniguruma(split.pattern)


def _is_idle(split: Split | ByteLevel) -> bool:
    return isinstance(split, ByteLevel) and not split.use_regex and not split.add_prefix_space
