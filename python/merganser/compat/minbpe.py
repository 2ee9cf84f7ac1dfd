r"""minbpe's tokenizers with minbpe's answers, a thousand times as fast: change the import, keep the program.

>>> from merganser.compat.minbpe import BasicTokenizer
>>> tokenizer = BasicTokenizer()
>>> tokenizer.train("aaabdaaabac", 256 + 3, verbose=True)
merge 1/3: (97, 97) -> 256 (b'aa') had 4 occurrences
merge 2/3: (256, 97) -> 257 (b'aaa') had 2 occurrences
merge 3/3: (257, 98) -> 258 (b'aaab') had 2 occurrences
>>> tokenizer.encode("aaabdaaabac")
[258, 100, 258, 97, 99]

Where this differs from minbpe, whose answer there is a slip:

- `load` makes the file's pattern the one that splits, and a tokenizer refuses a file of the other kind.
- `save` refuses special tokens and patterns that would not come back; files are UTF-8 on every machine.
- `GPT4Tokenizer` decodes special tokens, and splits as tiktoken does today, at white space that ends a text too.
- A pattern may have groups: a piece is the whole match. `\p{L}` and its like are of the engine's Unicode version.
- The lines of a verbose training come when it is done, and it is done at once.

Training on a text that has too few pairs raises `ValueError`, as in minbpe; `merganser.train` stops early instead.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from merganser import vocabularies
from merganser.errors import FormatError, TokenIdError, TrainingError
from merganser.extras import require
from merganser.formats import minbpe as files
from merganser.formats.ranks import merges_of_ranks, ranks_of
from merganser.spec import AddedToken, BytePairModel, Spec, Split, Vocabulary, pack, unpack
from merganser.tokenizer import Tokenizer
from merganser.training import train

__all__ = ["GPT2_SPLIT_PATTERN", "GPT4_SPLIT_PATTERN", "BasicTokenizer", "GPT4Tokenizer", "RegexTokenizer"]

# tiktoken's of early 2024, which minbpe has.
GPT2_SPLIT_PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
GPT4_SPLIT_PATTERN = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
)

Pair = tuple[int, int]
AllowedSpecial = str | set[str]


class BasicTokenizer:
    """BPE over the bytes of the whole text, with no split and no special tokens."""

    def __init__(self) -> None:
        self.merges: dict[Pair, int] = {}
        self.vocab = _vocab({}, {})
        self.pattern = ""
        self.special_tokens: dict[str, int] = {}
        self._engine = _Engine()

    def train(self, text: str, vocab_size: int, verbose: bool = False) -> None:
        """Learns `vocab_size - 256` merges; at equal counts the pair met first wins.

        Raises `AssertionError` for a size below 256 and `ValueError` where no pair is left.
        """
        self.merges = _learn(text, vocab_size, pattern=None, verbose=verbose)
        self.vocab = _vocab(self.merges, {})

    def encode(self, text: str) -> list[int]:
        """The ids of `text`."""
        return self._engine.of(self.merges, None).encode(text.encode("utf-8"))

    def decode(self, ids: Iterable[int]) -> str:
        """The text of `ids`, with U+FFFD for bytes that are not UTF-8.

        Raises `KeyError` for an id that no token has.
        """
        return b"".join(map(self.vocab.__getitem__, ids)).decode("utf-8", errors="replace")

    def save(self, file_prefix: str | os.PathLike[str]) -> None:
        """Writes `<file_prefix>.model`, for `load`, and `<file_prefix>.vocab`, for people.

        Raises `FormatError` naming what the `.model` cannot hold.
        """
        _save(file_prefix, self.merges, self.vocab, self.pattern or None, self.special_tokens)

    def load(self, model_file: str | os.PathLike[str]) -> None:
        """Becomes the tokenizer of a `.model`.

        Raises `AssertionError` for another suffix or version, and `FormatError` naming the line that is wrong.
        """
        spec = _load(model_file)
        if (pattern := _pattern(spec)) or spec.added_tokens:
            found = f"the pattern `{pattern}`" if pattern else "special tokens"
            hint = "it is a RegexTokenizer's, and encodes otherwise: load it with that"
            raise FormatError(
                f"{model_file}: expected no split pattern and no special tokens, found {found}", hint=hint
            )
        self.merges = _merges(spec)
        self.vocab = _vocab(self.merges, {})


class RegexTokenizer:
    """BPE over the pieces that a pattern cuts the text into, with special tokens.

    >>> tokenizer = RegexTokenizer()
    >>> tokenizer.train("hug hugs hugging", 256 + 2)
    >>> tokenizer.register_special_tokens({"<|endoftext|>": 258})
    >>> tokenizer.encode("hugs<|endoftext|>", allowed_special="all")
    [257, 115, 258]
    """

    def __init__(self, pattern: str | None = None) -> None:
        self.merges: dict[Pair, int] = {}
        self.vocab = _vocab({}, {})
        self.pattern = GPT4_SPLIT_PATTERN if pattern is None else pattern
        self.special_tokens: dict[str, int] = {}
        self.inverse_special_tokens: dict[int, str] = {}
        self._engine = _Engine()
        # A pattern that is none fails here, as in minbpe.
        self._engine.of(self.merges, self.pattern)

    @property
    def compiled_pattern(self) -> Any:  # noqa: ANN401 - `regex.Pattern`, of an optional package
        """The pattern as the package `regex` compiles it."""
        return require("regex", purpose="compiled_pattern", extra="book").compile(self.pattern)

    def train(self, text: str, vocab_size: int, verbose: bool = False) -> None:
        """Learns `vocab_size - 256` merges; at equal counts the pair met first wins.

        Special tokens in the text are text. Raises `AssertionError` for a size below 256 and `ValueError` where no pair
        is left.
        """
        self.merges = _learn(text, vocab_size, pattern=self.pattern, verbose=verbose)
        self.vocab = _vocab(self.merges, {})

    def register_special_tokens(self, special_tokens: dict[str, int]) -> None:
        """Makes these the special tokens, and no others."""
        self.special_tokens = special_tokens
        self.inverse_special_tokens = {id: name for name, id in special_tokens.items()}

    def encode(self, text: str, allowed_special: AllowedSpecial = "none_raise") -> list[int]:
        """The ids of `text`, in which `allowed_special` tokens are special: "all", "none" or a set of names.

        Raises `AssertionError` under "none_raise" where the text holds a special token.
        """
        return _encode(text, allowed_special, self.special_tokens, self.encode_ordinary)

    def encode_ordinary(self, text: str) -> list[int]:
        """The ids of `text`, in which special tokens are text."""
        return self._engine.of(self.merges, self.pattern).encode(text.encode("utf-8"))

    def decode(self, ids: Iterable[int]) -> str:
        """The text of `ids`, special tokens among them, with U+FFFD for bytes that are not UTF-8.

        Raises `ValueError` for an id that no token has.
        """
        ids = list(ids)
        try:
            data = b"".join(map(self.vocab.__getitem__, ids))
        except KeyError:
            data = b"".join(map(self._bytes_of, ids))
        return data.decode("utf-8", errors="replace")

    def _bytes_of(self, id: int) -> bytes:
        if id in self.vocab:
            return self.vocab[id]
        if id in self.inverse_special_tokens:
            return self.inverse_special_tokens[id].encode("utf-8")
        raise ValueError(f"invalid token id: {id}")

    def save(self, file_prefix: str | os.PathLike[str]) -> None:
        """Writes `<file_prefix>.model`, for `load`, and `<file_prefix>.vocab`, for people.

        Raises `FormatError` naming what the `.model` cannot hold.
        """
        _save(file_prefix, self.merges, self.vocab, self.pattern, self.special_tokens)

    def load(self, model_file: str | os.PathLike[str]) -> None:
        """Becomes the tokenizer of a `.model`, with its pattern and its special tokens.

        Raises `AssertionError` for another suffix or version, and `FormatError` naming the line that is wrong.
        """
        spec = _load(model_file)
        if not (pattern := _pattern(spec)):
            hint = "it is a BasicTokenizer's, and encodes otherwise: load it with that"
            raise FormatError(f"{model_file}: expected a split pattern, found none", hint=hint)
        self.pattern = pattern
        self.merges = _merges(spec)
        self.register_special_tokens(dict(spec.special_tokens))
        self.vocab = _vocab(self.merges, self.special_tokens)


class GPT4Tokenizer:
    """GPT-4's tokenizer, cl100k_base, as merges: equal to tiktoken's. It is not for training.

    Its 256 single bytes are not ids 0 to 255 in order. As in minbpe, `vocab` is in shuffled bytes, of which
    `inverse_byte_shuffle` gives the bytes of the text.

    >>> tokenizer = GPT4Tokenizer()
    >>> tokenizer.encode("hello world!!!?")
    [15339, 1917, 12340, 30]
    >>> tokenizer.byte_shuffle[ord("!")]
    0
    """

    def __init__(self) -> None:
        spec = vocabularies.read("cl100k_base")
        self._tokenizer = Tokenizer(replace(spec, added_tokens=(), name=None))
        self.pattern = _pattern(spec)
        self.byte_shuffle = {byte: self._tokenizer.vocabulary[bytes([byte])] for byte in range(256)}
        self.inverse_byte_shuffle = {id: byte for byte, id in self.byte_shuffle.items()}
        self.register_special_tokens(dict(spec.special_tokens))

    @cached_property
    def merges(self) -> dict[Pair, int]:
        """The merges that the ranks stand for: which two ids become which. Worked out when first asked for."""
        ranks = ranks_of(self._tokenizer.spec.byte_pairs)
        return {(ranks[left], ranks[right]): ranks[left + right] for left, right in merges_of_ranks(ranks)}

    @cached_property
    def vocab(self) -> dict[int, bytes]:
        """The tokens by id, in shuffled bytes."""
        return _vocab(self.merges, {})

    @property
    def compiled_pattern(self) -> Any:  # noqa: ANN401 - `regex.Pattern`, of an optional package
        """The pattern as the package `regex` compiles it."""
        return require("regex", purpose="compiled_pattern", extra="book").compile(self.pattern)

    def register_special_tokens(self, special_tokens: dict[str, int]) -> None:
        """Makes these the special tokens, and no others."""
        self.special_tokens = special_tokens
        self.inverse_special_tokens = {id: name for name, id in special_tokens.items()}

    def encode(self, text: str, allowed_special: AllowedSpecial = "none_raise") -> list[int]:
        """The ids of `text`, in which `allowed_special` tokens are special: "all", "none" or a set of names.

        Raises `AssertionError` under "none_raise" where the text holds a special token.
        """
        return _encode(text, allowed_special, self.special_tokens, self.encode_ordinary)

    def encode_ordinary(self, text: str) -> list[int]:
        """The ids of `text`, in which special tokens are text."""
        return self._tokenizer.encode(text.encode("utf-8"))

    def decode(self, ids: Iterable[int]) -> str:
        """The text of `ids`, special tokens among them, with U+FFFD for bytes that are not UTF-8.

        Raises `KeyError` for an id that no token has.
        """
        ids = list(ids)
        try:
            return self._tokenizer.decode(ids)
        except TokenIdError:
            return b"".join(map(self._bytes_of, ids)).decode("utf-8", errors="replace")

    def _bytes_of(self, id: int) -> bytes:
        if id in self.inverse_special_tokens:
            return self.inverse_special_tokens[id].encode("utf-8")
        try:
            return self._tokenizer.id_to_token(id)
        except TokenIdError:
            raise KeyError(id) from None

    def train(self, text: str, vocab_size: int, verbose: bool = False) -> None:
        """Raises `NotImplementedError`."""
        raise NotImplementedError("GPT4Tokenizer cannot be trained.")

    def save(self, file_prefix: str | os.PathLike[str]) -> None:
        """Raises `NotImplementedError`: a `.model` has its bytes in order."""
        raise NotImplementedError("GPT4Tokenizer cannot be saved.")

    def load(self, model_file: str | os.PathLike[str]) -> None:
        """Raises `NotImplementedError`."""
        raise NotImplementedError("GPT4Tokenizer cannot be loaded.")

    def save_vocab(self, vocab_file: str | os.PathLike[str]) -> None:
        """Writes the tokens as a `.vocab`, for people, in the bytes of the text."""
        vocab = {id: bytes([byte]) for id, byte in sorted(self.inverse_byte_shuffle.items())}
        for (left, right), id in self.merges.items():
            vocab[id] = vocab[left] + vocab[right]
        files.write_vocab(vocab, self.merges, Path(vocab_file))


class _Engine:
    """The engine of the tables at hand, made anew where they are not those that it was last asked for."""

    def __init__(self) -> None:
        self._merges: Mapping[Pair, int] | None = None
        self._key: tuple[int, str | None] | None = None
        self._tokenizer: Tokenizer | None = None

    def of(self, merges: Mapping[Pair, int], pattern: str | None) -> Tokenizer:
        key = (len(merges), pattern)
        if self._tokenizer is None or self._merges is not merges or self._key != key:
            self._tokenizer = Tokenizer(_spec(merges, pattern))
            self._merges, self._key = merges, key
        return self._tokenizer


def _spec(merges: Mapping[Pair, int], pattern: str | None, special_tokens: Mapping[str, int] | None = None) -> Spec:
    vocab = _vocab(merges, {})
    pairs = sorted(merges, key=merges.__getitem__)
    return Spec(
        model=BytePairModel(
            vocabulary=Vocabulary.from_tokens([vocab[id] for id in sorted(vocab)], sorted(vocab)),
            semantics="merges",
            merges=pack(id for pair in pairs for id in pair),
        ),
        splits=_splits(pattern),
        added_tokens=tuple(AddedToken(content=name, id=id) for name, id in (special_tokens or {}).items()),
    )


def _splits(pattern: str | None) -> tuple[Split, ...]:
    # What the pattern does not match is lost, as it is with `findall`.
    return () if pattern is None else (Split(pattern=pattern, unmatched="drop"),)


def _pattern(spec: Spec) -> str:
    return next((split.pattern for split in spec.splits if isinstance(split, Split)), "")


def _merges(spec: Spec) -> dict[Pair, int]:
    ids = unpack(spec.byte_pairs.merges)
    return {pair: id for id, pair in enumerate(zip(ids[::2], ids[1::2], strict=True), start=256)}


def _vocab(merges: Mapping[Pair, int], special_tokens: Mapping[str, int]) -> dict[int, bytes]:
    vocab = {byte: bytes([byte]) for byte in range(256)}
    for (left, right), id in merges.items():
        vocab[id] = vocab[left] + vocab[right]
    return vocab | {id: name.encode("utf-8") for name, id in special_tokens.items()}


def _learn(text: str, vocab_size: int, *, pattern: str | None, verbose: bool) -> dict[Pair, int]:
    if vocab_size < 256:
        raise AssertionError(f"vocab_size: expected 256 or more, found {vocab_size}")
    num_merges = vocab_size - 256
    with warnings.catch_warnings():
        # Too few merges are an error here.
        warnings.simplefilter("ignore")
        split = next(iter(_splits(pattern)), None)
        tokenizer = train(text.encode("utf-8"), vocab_size=vocab_size, split=split, tie_break="first")
    merges = _merges(tokenizer.spec)
    if verbose:
        vocab = _vocab(merges, {})
        pieces = [text] if pattern is None else Tokenizer(_spec({}, pattern)).pieces(text)
        for number, ((pair, id), count) in enumerate(zip(merges.items(), _counts(pieces, merges), strict=True), 1):
            print(f"merge {number}/{num_merges}: {pair} -> {id} ({vocab[id]}) had {count} occurrences")  # noqa: T201
    if len(merges) < num_merges:
        message = f"text: expected pairs for {num_merges} merges, found none left after {len(merges)}"
        raise TrainingError(
            message, hint=f"ask for vocab_size={256 + len(merges)}; `merganser.train` stops there itself"
        )
    return merges


def _counts(pieces: Iterable[str], merges: Mapping[Pair, int]) -> Iterator[int]:
    """How often each pair occurred when it was merged: all is merged once more, with a character for an id."""
    gap = chr(256 + len(merges))
    corpus = gap.join(piece.encode("utf-8").decode("latin-1") for piece in pieces)
    for (left, right), id in merges.items():
        pair = chr(left) + chr(right)
        merged = corpus.replace(pair, chr(id))
        # Of "aaa" one pair is merged, but minbpe counts two.
        is_double = left == right
        yield len(re.findall(f"(?={re.escape(pair)})", corpus)) if is_double else len(corpus) - len(merged)
        corpus = merged


def _encode(
    text: str,
    allowed_special: AllowedSpecial,
    special_tokens: Mapping[str, int],
    encode_ordinary: Callable[[str], list[int]],
) -> list[int]:
    if allowed_special == "all":
        special = dict(special_tokens)
    elif allowed_special == "none":
        special = {}
    elif allowed_special == "none_raise":
        special = {}
        if (found := next((name for name in special_tokens if name in text), None)) is not None:
            raise AssertionError(f"text: expected no special token, found {found!r}")
    elif isinstance(allowed_special, set):
        special = {name: id for name, id in special_tokens.items() if name in allowed_special}
    else:
        raise ValueError(f"allowed_special={allowed_special} not understood")
    if not special:
        return encode_ordinary(text)
    ids: list[int] = []
    # In the order of the table, not the longest first: of names that begin alike minbpe takes the one registered first.
    for part in re.split(f"({'|'.join(map(re.escape, special))})", text):
        ids += [special[part]] if part in special else encode_ordinary(part)
    return ids


def _save(
    file_prefix: str | os.PathLike[str],
    merges: Mapping[Pair, int],
    vocab: Mapping[int, bytes],
    pattern: str | None,
    special_tokens: Mapping[str, int],
) -> None:
    prefix = os.fspath(file_prefix)
    files.write(_spec(merges, pattern, special_tokens), Path(f"{prefix}.model"))
    files.write_vocab(vocab, merges, Path(f"{prefix}.vocab"))


def _load(model_file: str | os.PathLike[str]) -> Spec:
    path = Path(model_file)
    if not os.fspath(model_file).endswith(".model"):
        raise AssertionError(f"{path}: expected a name that ends in .model")
    data = path.read_bytes()
    if not files.looks_like_minbpe(data):
        first_line = data.split(b"\n", 1)[0][:40].decode(errors="replace")
        raise AssertionError(f"{path}:1: expected `minbpe v1`, found `{first_line}`")
    return files.from_bytes(data, path)
