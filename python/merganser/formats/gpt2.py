"""GPT-2's two files: `encoder.json` (`vocab.json`), token to id, and `vocab.bpe` (`merges.txt`), a merge a line.

Tokens are written in the byte alphabet, so ` the` is `Ġthe`. A merge is two tokens with a space between, the earliest
merge first; a first line `#version: 0.2` may stand above them. Neither file holds a pattern (readers split by GPT-2's)
or says which tokens are special.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from merganser import arguments
from merganser.errors import FormatError
from merganser.formats import byte_alphabet, files, strict_json
from merganser.formats.ranks import merges_of_ranks, ranks_of
from merganser.spec import AddedToken, ByteLevel, BytePairModel, Spec, Split, Vocabulary, pack, unpack

# The names that OpenAI and Hugging Face gave the two files.
NAMES = (("encoder.json", "vocab.bpe"), ("vocab.json", "merges.txt"))
SPLIT = Split(pattern=r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+", name="gpt2")
_VERSION_LINE = "#version: 0.2"
# GPT-2's pattern as its own readers and tiktoken spell it; all four cut every text alike.
_PATTERNS = frozenset(
    [
        SPLIT.pattern,
        r"'s|'t|'re|'ve|'m|'ll|'d| ?[\p{L}]+| ?[\p{N}]+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
        r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
        r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
    ]
)
Merge = tuple[bytes, bytes]


def looks_like_merges(data: bytes) -> bool:
    """Whether this is a file of merges: its version line says so."""
    return data.startswith(b"#version")


def pair_at(path: Path) -> tuple[Path, Path] | None:
    """Vocabulary and merges where `path` is one of the two, or a folder that has them and no tokenizer.json."""
    is_folder = path.is_dir()
    if is_folder and (path / "tokenizer.json").exists():
        return None
    folder = path if is_folder else path.parent
    for vocab, merges in NAMES:
        pair = folder / vocab, folder / merges
        if (is_folder or path.name in (vocab, merges)) and all(file.is_file() for file in pair):
            return pair
    return None


def vocab_beside(merges_path: Path) -> Path | None:
    """Where the vocabulary goes whose merges go to `merges_path`; None where that is no name of merges."""
    return next((merges_path.with_name(vocab) for vocab, merges in NAMES if merges_path.name == merges), None)


def read(
    vocab_path: Path, merges_path: Path, *, split: Split | None = SPLIT, special_tokens: Collection[str] | None = None
) -> Spec:
    """The Spec of the two files.

    `special_tokens` are those of this name; ones that the vocabulary lacks get the next ids. Left out, special is each
    token that is neither a byte nor made by a merge, such as `<|endoftext|>`.

    Raises `FormatError` naming the file and the line or the JSON path that is wrong, and `StorageError`.
    """
    merges = _read_merges(merges_path)
    id_by_name = _read_vocab(vocab_path)
    spelled = filter(byte_alphabet.is_spelled, id_by_name)
    vocab = dict.fromkeys(id_by_name.values(), b"")
    vocab.update((id_by_name[name], byte_alphabet.unspell(name)) for name in spelled)
    made = {left + right for left, right in merges}
    # Nothing makes these, so they are no text in the byte alphabet but stand for themselves.
    plain = {name: id for name, id in id_by_name.items() if len(vocab[id]) != 1 and vocab[id] not in made}
    vocab.update((id, name.encode()) for name, id in plain.items())
    if special_tokens is None:
        special_tokens = sorted(plain, key=plain.__getitem__)
    return from_merges(vocab, merges, special_tokens, split=split, where=f"{merges_path}: merge")


def from_merges(
    vocab: Mapping[int, bytes],
    merges: Iterable[Merge],
    special_tokens: Iterable[str],
    *,
    split: Split | None = SPLIT,
    where: str = "merges",
) -> Spec:
    """The Spec of a vocabulary, merges in order and the names of special tokens: of these, new ones get the next ids.

    Raises `FormatError` saying which merge or token is wrong; `where` is what it calls the merges.
    """
    id_by_token: dict[bytes, int] = {}
    for id, token in vocab.items():
        if type(id) is not int or not 0 <= id <= strict_json.MAX_U32 or not token or type(token) is not bytes:
            raise FormatError(f"vocab: expected ids of u32 and tokens of a byte or more, found {id!r}: {token!r}")
        if (first := id_by_token.setdefault(token, id)) != id:
            raise FormatError(f"vocab: expected each token once, found {token!r} as {first} and {id}")
    pairs: list[int] = []
    used = {id_by_token.get(bytes([byte])) for byte in range(256)}
    for index, merge in enumerate(arguments.collection("merges", merges, of="pairs of tokens")):
        match merge:
            case (bytes(left), bytes(right)):
                pass
            case _:
                raise FormatError(f"{where} {index}: expected two tokens, as bytes, found {merge!r}")
        for token in (left, right, left + right):
            if (id := id_by_token.get(token)) is None:
                raise FormatError(f"{where} {index}: expected tokens of the vocabulary, which lacks {token!r}")
            used.add(id)
        pairs += id_by_token[left], id_by_token[right]
    added: list[AddedToken] = []
    next_id = max(vocab, default=-1) + 1
    for content in dict.fromkeys(special_tokens):
        if not content:
            raise FormatError("special_tokens: expected texts that are not empty, found an empty one")
        id = id_by_token.get(content.encode("utf-8", "surrogatepass"), next_id)
        next_id += id == next_id
        added.append(AddedToken(content=content, id=id))
    # A special token that no merge has to do with is none of the model's.
    only_added = {token.id for token in added} - used
    tokens = {id: vocab[id] for id in sorted(vocab) if id not in only_added}
    return Spec(
        model=BytePairModel(
            vocabulary=Vocabulary.from_tokens(tokens.values(), tokens), semantics="merges", merges=pack(pairs)
        ),
        splits=() if split is None else (split,),
        added_tokens=tuple(added),
    )


def _read_vocab(path: Path) -> dict[str, int]:
    """The id of each token as it is written."""
    data = files.read_bytes(path)
    files.refuse_foreign(data, path, expected="a vocabulary, a JSON object of tokens and ids")
    root = strict_json.parse(data, path)
    name_by_id: dict[int, str] = {}
    for name, value in root.object().items():
        # The place of a value costs, so it is worked out for one that is wrong.
        id = value if type(value) is int and 0 <= value <= strict_json.MAX_U32 else root.at(name, value).u32()
        if not name:
            raise root.at(name, value).error("tokens of a character or more")
        if name_by_id.setdefault(id, name) != name:
            raise root.at(name, value).error(f"an id of its own, not that of {name_by_id[id]!r}")
    return {name: id for id, name in name_by_id.items()}


def _read_merges(path: Path) -> list[Merge]:
    data = files.read_bytes(path)
    if not looks_like_merges(data):
        files.refuse_foreign(data, path, expected="merges, two tokens a line")
    try:
        lines = data.decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        message = f"{path}: byte {error.start}: expected UTF-8, found byte 0x{data[error.start]:02X}"
        raise FormatError(message, hint="save it as UTF-8") from error
    first = 1 if looks_like_merges(data) else 0
    last = len(lines)
    while last > first and not lines[last - 1].strip():
        last -= 1
    known = {bytes([byte]) for byte in range(256)}
    merges: list[Merge] = []
    for number, line in enumerate(lines[first:last], first + 1):
        parts = line.removesuffix("\r").split(" ")
        if len(parts) != 2 or not all(part and byte_alphabet.is_spelled(part) for part in parts):
            shown = line if len(line) <= 60 else f"{line[:56]}…"
            raise FormatError(f"{path}:{number}: expected two tokens in GPT-2's byte alphabet, found `{shown}`")
        left, right = (byte_alphabet.unspell(part) for part in parts)
        for token, part in zip((left, right), parts, strict=True):
            if token not in known:
                message = f"{path}:{number}: expected bytes or what earlier merges made, found `{part}`"
                is_marked = part.endswith("</w>")
                raise FormatError(
                    message, hint="these merges mark the ends of words, as CLIP's do" if is_marked else None
                )
        known.add(left + right)
        merges.append((left, right))
    return merges


# Writing


def write(spec: Spec, vocab_path: Path, merges_path: Path) -> tuple[str, ...]:
    """Writes the two files of `spec`; gives a sentence on each thing that they leave out.

    Raises `FormatError` where the format cannot hold the Spec, and `StorageError` where a path cannot be written.
    """
    vocab, merges = to_texts(spec)
    files.write_atomically(vocab_path, vocab.encode())
    files.write_atomically(merges_path, merges.encode())
    return tuple(_left_out(spec))


def to_texts(spec: Spec) -> tuple[str, str]:
    """The texts of the two files, vocabulary and merges."""
    if spec.normalizers:
        raise _refuse(f"no normalizer, found {spec.normalizers[0].form}")
    id_by_name: dict[str, int] = {}
    for id, token in spec.byte_pairs.vocabulary.items():
        if not token or (first := id_by_name.setdefault(byte_alphabet.spell(token), id)) != id:
            raise _refuse(f"tokens of a byte or more, each once, found {token!r} as {id}")
    for added in spec.added_tokens:
        if (first := id_by_name.setdefault(added.content, added.id)) != added.id:
            raise _refuse(f"tokens of different names, found {added.content!r} as {first} and {added.id}")
        if added.content.encode(errors="ignore").decode() != added.content:
            raise _refuse(f"tokens of Unicode text, found {added.content!r}")
    ids = dict(sorted(id_by_name.items(), key=lambda item: item[1]))
    lines = [
        f"{byte_alphabet.spell(left)} {byte_alphabet.spell(right)}\n" for left, right in merges_of(spec.byte_pairs)
    ]
    return json.dumps(ids), "".join([f"{_VERSION_LINE}\n", *lines])


def merges_of(model: BytePairModel) -> list[Merge]:
    """The merges of a model in order; those that its ranks stand for, where it has ranks.

    Raises `FormatError` where merges alone would give other ids than the model, which takes whole pieces first.
    """
    if model.semantics == "rank":
        merges = merges_of_ranks(ranks_of(model))
    else:
        token_by_id = dict(model.vocabulary.items())
        numbers = unpack(model.merges)
        pairs = zip(numbers[::2], numbers[1::2], strict=True)
        merges = [(token_by_id[left], token_by_id[right]) for left, right in pairs]
    if model.semantics == "rank" or model.ignore_merges:
        tokens = [*filter(lambda token: len(token) == 1, model.vocabulary.tokens()), *(a + b for a, b in merges)]
        made = set(tokens)
        whole = next((token for token in model.vocabulary.tokens() if token not in made), None)
        if whole is not None:
            raise FormatError(f"merges: expected a merge that makes each token, found none for {whole!r}")
        if model.ignore_merges and merges != merges_of_ranks({token: rank for rank, token in enumerate(tokens)}):
            raise FormatError("merges: expected those that make each token when it stands alone, found others")
    return merges


def _refuse(what: str) -> FormatError:
    return FormatError(f"GPT-2's files: expected {what}")


def _left_out(spec: Spec) -> Iterable[str]:
    if not _is_gpt2s(spec.splits):
        yield "GPT-2's files hold no split, and readers use GPT-2's pattern: left out"
    if spec.template is not None:
        yield "GPT-2's files hold no template: left out"
    for token in spec.added_tokens:
        if not token.special or token.single_word or token.lstrip or token.rstrip:
            yield f"GPT-2's files hold no flags of added tokens: those of {token.content!r} left out"


def _is_gpt2s(splits: tuple[Split | ByteLevel, ...]) -> bool:
    steps = [step for step in splits if not (isinstance(step, ByteLevel) and step == ByteLevel(use_regex=False))]
    if len(steps) != 1:
        return False
    step = steps[0]
    return step.use_regex and not step.add_prefix_space if isinstance(step, ByteLevel) else step.pattern in _PATTERNS
