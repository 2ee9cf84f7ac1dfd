"""minbpe's files: `.model`, which it loads, and `.vocab`, which is for people.

A `.model` is lines: `minbpe v1`, the split pattern (empty: none), the number of special tokens, `<name> <id>` for each,
and then the two ids of each merge. Ids of tokens are not in it: 0 to 255 are the bytes, and merge `i` makes `256 + i`.
minbpe strips the pattern, cuts at white space and splits by `findall`, so some tokenizers do not survive the file.
These are refused.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from merganser.errors import FormatError
from merganser.formats import files, regex_syntax
from merganser.formats.coverage import matches_every_character
from merganser.formats.dialects import rust_from_oniguruma
from merganser.formats.ranks import merges_of_ranks, ranks_of
from merganser.formats.strict_json import MAX_U32
from merganser.spec import AddedToken, ByteLevel, BytePairModel, Spec, Split, Vocabulary, pack, unpack

_VERSION = "minbpe v1"
_NUM_BYTES = 256
Pair = tuple[int, int]


def looks_like_minbpe(data: bytes) -> bool:
    """Whether the first line is that of a `.model`."""
    return data.split(b"\n", 1)[0].strip() == _VERSION.encode()


def read(path: Path) -> Spec:
    """The Spec of the `.model` at `path`.

    Raises `FormatError` naming the line that is wrong, and `StorageError` where the file cannot be read.
    """
    return from_bytes(files.read_bytes(path), path)


def from_bytes(data: bytes, path: Path) -> Spec:
    """The Spec of the contents of a `.model`, as `read` gives it."""
    if not looks_like_minbpe(data):
        files.refuse_foreign(data, path, expected="a minbpe model")
    lines = _Lines(data, path)
    if (version := lines.take("the version").strip()) != _VERSION:
        raise lines.error(f"`{_VERSION}`", version)
    pattern = lines.take("the split pattern").strip()
    special_tokens = dict(_read_special_tokens(lines))
    tokens, merges = _read_merges(lines)
    for content, id in special_tokens.items():
        if id < len(tokens):
            raise FormatError(f"{path}: expected special tokens with ids from {len(tokens)}, found `{content} {id}`")
    return Spec(
        model=BytePairModel(vocabulary=Vocabulary.from_tokens(tokens), semantics="merges", merges=pack(merges)),
        splits=(Split(pattern=pattern, unmatched="drop"),) if pattern else (),
        added_tokens=tuple(AddedToken(content=content, id=id) for content, id in special_tokens.items()),
    )


class _Lines:
    """The lines of a file, which know their number."""

    def __init__(self, data: bytes, path: Path) -> None:
        self.path = path
        self.number = 0
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            message = f"{path}: byte {error.start}: expected UTF-8, found byte 0x{data[error.start]:02X}"
            raise FormatError(message, hint="save it as UTF-8") from error
        # As Python's text files do: any of the three line ends, and no others that `splitlines` knows.
        self._lines = text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")

    def take(self, expected: str) -> str:
        """The next line."""
        self.number += 1
        if self.number > len(self._lines):
            hint = "the file is cut short: was the download or the copy complete?"
            raise FormatError(f"{self.path}:{self.number}: expected {expected}, found the end of the file", hint=hint)
        return self._lines[self.number - 1]

    def rest(self) -> Iterator[str]:
        """The lines that are left."""
        while self.number < len(self._lines):
            yield self.take("a line")

    def error(self, expected: str, found: str) -> FormatError:
        """What to raise where the line just taken is not `expected`."""
        shown = found if len(found) <= 60 else f"{found[:56]}…"
        return FormatError(f"{self.path}:{self.number}: expected {expected}, found `{shown}`")


def _read_special_tokens(lines: _Lines) -> Iterator[tuple[str, int]]:
    expected = "the number of special tokens"
    if (count := _number(line := lines.take(expected).strip())) is None:
        raise lines.error(expected, line)
    names: set[str] = set()
    for _ in range(count):
        fields = (line := lines.take("`<special token> <id>`")).split()
        if len(fields) != 2 or (id := _number(fields[1])) is None:
            raise lines.error("`<special token> <id>`", line)
        if fields[0] in names:
            raise lines.error("each special token once", line)
        names.add(fields[0])
        yield fields[0], id


def _read_merges(lines: _Lines) -> tuple[list[bytes], list[int]]:
    """The tokens by id, and left and right id of each merge, one after the other."""
    tokens = [bytes([byte]) for byte in range(_NUM_BYTES)]
    line_by_token: dict[bytes, int] = {}
    merges: list[int] = []
    for line in lines.rest():
        ids = [id for field in line.split() if (id := _number(field)) is not None]
        if len(ids) != 2 or len(line.split()) != 2 or max(ids) >= len(tokens):
            raise lines.error(f"two ids below {len(tokens)}", line)
        token = tokens[ids[0]] + tokens[ids[1]]
        if (first := line_by_token.setdefault(token, lines.number)) != lines.number:
            raise lines.error(f"a merge that makes a new token, not {token!r} of line {first}", line)
        tokens.append(token)
        merges += ids
    return tokens, merges


def _number(field: str) -> int | None:
    number = int(field) if re.fullmatch("[0-9]{1,10}", field) else MAX_U32 + 1
    return number if number <= MAX_U32 else None


# Writing


def write(spec: Spec, path: Path) -> tuple[str, ...]:
    """Writes `spec` as a `.model` that minbpe loads; gives a sentence on each thing that it leaves out.

    Raises `FormatError` naming what minbpe would not read back, and `StorageError` where `path` cannot be written.
    """
    files.write_atomically(path, to_text(spec).encode())
    return ("minbpe's `.model` holds no template: left out",) if spec.template is not None else ()


def to_text(spec: Spec) -> str:
    """The text of the `.model`."""
    if spec.normalizers:
        raise _refuse(f"no normalizer, found {spec.normalizers[0].form}")
    merges = _merges(spec.byte_pairs)
    special_tokens = list(_special_tokens(spec.added_tokens, first_id=_NUM_BYTES + len(merges)))
    lines = [_VERSION, _pattern(spec.splits), str(len(special_tokens)), *special_tokens]
    return "\n".join([*lines, *(f"{left} {right}" for left, right in merges)]) + "\n"


def _refuse(what: str, *, hint: str | None = None) -> FormatError:
    return FormatError(f"minbpe's `.model`: expected {what}", hint=hint)


def _merges(model: BytePairModel) -> list[Pair]:
    tokens = list(model.vocabulary.tokens())
    if model.vocabulary.ids != pack(range(len(tokens))):
        raise _refuse("ids without gaps from 0, found others")
    for byte, token in zip(range(_NUM_BYTES), tokens, strict=False):
        if token != bytes([byte]):
            raise _refuse(f"byte {byte} as token {byte}, found {token!r}", hint='`layout="tiktoken"` numbers bytes so')
    if model.ignore_merges:
        raise _refuse("tokens that merges make, found ignore_merges, which takes whole pieces first")
    if model.semantics == "rank":
        id_by_token = {token: id for id, token in enumerate(tokens)}
        pairs = [(id_by_token[left], id_by_token[right]) for left, right in merges_of_ranks(ranks_of(model))]
    else:
        numbers = unpack(model.merges)
        pairs = list(zip(numbers[::2], numbers[1::2], strict=True))
    for id, token in enumerate(tokens[_NUM_BYTES:], _NUM_BYTES):
        left, right = pairs[id - _NUM_BYTES] if id - _NUM_BYTES < len(pairs) else (id, id)
        if max(left, right) >= id or tokens[left] + tokens[right] != token:
            raise _refuse(f"merge {id - _NUM_BYTES} to make token {id}, {token!r}, found another or none")
    if len(tokens) != _NUM_BYTES + len(pairs):
        raise _refuse(f"one merge for each of {len(tokens) - _NUM_BYTES} tokens, found {len(pairs)}")
    return pairs


def _special_tokens(added_tokens: Iterable[AddedToken], *, first_id: int) -> Iterator[str]:
    for token in added_tokens:
        if token.content.split() != [token.content]:
            hint = "minbpe reads a special token up to the first white space: give it a name without"
            raise _refuse(f"special tokens without white space, found {token.content!r}", hint=hint)
        if not _is_unicode(token.content):
            raise _refuse(f"special tokens of Unicode text, found {token.content!r}")
        if not token.special or token.single_word or token.lstrip or token.rstrip:
            raise _refuse(f"plainly special tokens, found {token.content!r}, which is not")
        if token.id < first_id:
            raise _refuse(f"special tokens with ids from {first_id}, found {token.id} for {token.content!r}")
        yield f"{token.content} {token.id}"


def _pattern(splits: tuple[Split | ByteLevel, ...]) -> str:
    if not splits:
        return ""
    split = splits[0]
    if len(splits) > 1 or isinstance(split, ByteLevel):
        raise _refuse("one split pattern, found other steps", hint='`split="gpt2"` is the pattern of ByteLevel')
    pattern = split.pattern if split.dialect == "rust" else rust_from_oniguruma(split.pattern)
    if found := re.search("[\r\n]", pattern):
        hint = r"write it as `\n` or `\r`: minbpe keeps the pattern in one line"
        raise _refuse(f"a pattern without line breaks, found one at character {found.start()}", hint=hint)
    if not pattern:
        raise _refuse("a split pattern, found an empty one", hint="it matches no text: minbpe would lose all of it")
    if pattern != pattern.strip():
        end = "start" if pattern != pattern.lstrip() else "end"
        hint = "minbpe strips the pattern: write a space there as `[ ]`"
        raise _refuse(f"a pattern without blanks around it, found {pattern!r} with one at its {end}", hint=hint)
    if not _is_unicode(pattern):
        raise _refuse(f"a pattern of Unicode text, found {pattern!r}")
    if _captures(pattern):
        hint = "minbpe would keep what the group holds and lose the rest: write `(?:…)`"
        raise _refuse(f"a pattern without capturing groups, found {pattern!r}", hint=hint)
    if split.unmatched != "drop" and not matches_every_character(pattern, "rust"):
        what = f'unmatched="drop", found "{split.unmatched}" and a pattern that may leave text out'
        raise _refuse(what, hint="minbpe loses what the pattern leaves: add an alternative for it, such as `|[^…]`")
    return pattern


def _captures(pattern: str) -> bool:
    """Whether the pattern has a group that captures, as far as it can be parsed."""
    try:
        branches = regex_syntax.parse(pattern, "rust")
    except FormatError:
        return False
    stack = [item for items in branches for item in items]
    while stack:
        item = stack.pop()
        if isinstance(item, regex_syntax.Repeat):
            stack.append(item.body)
        elif isinstance(item, regex_syntax.Group):
            if item.opener == "(":
                return True
            stack += [item for items in item.branches for item in items]
    return False


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def write_vocab(vocab: Mapping[int, bytes], merges: Mapping[Pair, int], path: Path) -> None:
    """Writes the tokens as a `.vocab`: for people, since bytes that are not UTF-8 all look alike in it."""
    files.write_atomically(path, vocab_text(vocab, merges).encode())


def vocab_text(vocab: Mapping[int, bytes], merges: Mapping[Pair, int]) -> str:
    r"""The lines of a `.vocab`: `[left][right] -> [token] id`, or `[token] id` where no merge makes it.

    >>> vocab_text({97: b"a", 10: b"\n", 256: b"a\n"}, {(97, 10): 256})
    '[a] 97\n[\\u000a] 10\n[a][\\u000a] -> [a\\u000a] 256\n'
    """
    pair_by_id = {id: pair for pair, id in merges.items()}
    shown = {id: _shown(token) for id, token in vocab.items()}
    parts = {id: f"[{shown[left]}][{shown[right]}] -> " for id, (left, right) in pair_by_id.items()}
    return "".join(f"{parts.get(id, '')}[{token}] {id}\n" for id, token in shown.items())


def _shown(token: bytes) -> str:
    text = token.decode("utf-8", errors="replace")
    return "".join(c if unicodedata.category(c)[0] != "C" else f"\\u{ord(c):04x}" for c in text)
