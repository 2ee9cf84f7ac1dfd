"""`tokenizer.lock.json`: what a tokenizer was when it was saved, so that a changed one is noticed when it is loaded.

It holds a fingerprint, the ids of a fixed set of texts, and what no other file says: the Unicode version, the tie-break
and the name of the split. Nothing in it varies between runs.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Literal, cast

from merganser.errors import FormatError
from merganser.formats import files, strict_json
from merganser.formats.coverage import matches_every_character
from merganser.formats.dialects import oniguruma_from_rust
from merganser.formats.strict_json import Node
from merganser.spec import AddedToken, ByteLevel, BytePairModel, Model, Spec, Split, Template, pack

NAME = "tokenizer.lock.json"
VERSION = 1
_KEYS = ("fingerprint", "merge_semantics", "tie_break", "split", "unicode_version", "golden")

_TIE_BREAKS: tuple[Literal["ids", "first", "lex_max"], ...] = ("ids", "first", "lex_max")

Encode = Callable[[str], list[int]]

# Contractions, numbers, runs of spaces, line ends, other scripts, combining marks, joined emoji, code, controls.
GOLDEN_TEXTS = (
    "Hello, world!",
    "It's they'll WE'VE I'd don'T",
    "1 22 333 4444 55555 3.14159",
    "  two   three    \t tabs  ",
    "one\ntwo\r\nthree\n\n\n four \n",
    "Grüße, naïve café, cafe\u0301, ﬁ",
    "Здравствуй, мир! Γειά σου",
    "你好，世界。こんにちは、안녕하세요",
    "مرحبا بالعالم שלום नमस्ते สวัสดี",
    "👋🏽 👩‍👩‍👧 🇫🇷 ✓",
    "def f(x):\n    return x**2  # ok\n",
    "<|endoftext|>\x00\x1b\u00a0\u200b\ufeff",
)


@dataclass(frozen=True, kw_only=True)
class Lock:
    """The contents of a lock file."""

    fingerprint: str
    semantics: str
    tie_break: str | None
    split: str | None
    unicode_versions: tuple[str, str]
    golden: tuple[tuple[str, tuple[int, ...]], ...]


def make(spec: Spec, encode: Encode, unicode_versions: tuple[str, str], *, origin: Spec | None = None) -> Lock:
    """The lock of `spec`, whose `encode` gives the golden ids.

    `unicode_versions` are those of the character classes and of normalization. `origin` is the Spec before it was
    written and read back, which still knows the tie-break and the name of the split.
    """
    known = origin or spec
    names = [split.name for split in known.splits if isinstance(split, Split) and split.name is not None]
    return Lock(
        fingerprint=fingerprint(spec),
        semantics=spec.model.semantics if isinstance(spec.model, BytePairModel) else type(spec.model).__name__,
        tie_break=known.tie_break,
        split=names[0] if len(names) == 1 else None,
        unicode_versions=unicode_versions,
        golden=tuple((text, tuple(encode(text))) for text in GOLDEN_TEXTS),
    )


def write(lock: Lock, path: Path) -> None:
    """Writes `lock` to `path`."""
    golden = ",\n    ".join(json.dumps({"text": text, "ids": ids}, ensure_ascii=False) for text, ids in lock.golden)
    head = {
        "lock_version": VERSION,
        "fingerprint": lock.fingerprint,
        "merge_semantics": lock.semantics,
        "tie_break": lock.tie_break,
        "split": lock.split,
        "unicode_version": dict(zip(("classes", "normalization"), lock.unicode_versions, strict=True)),
    }
    text = json.dumps(head, indent=2, ensure_ascii=False).removesuffix("\n}")
    files.write_atomically(path, f'{text},\n  "golden": [\n    {golden}\n  ]\n}}\n'.encode())


def read(path: Path) -> Lock:
    """The lock at `path`.

    Raises `FormatError` naming the place that is wrong, and `StorageError` where it cannot be read.
    """
    data = files.read_bytes(path)
    files.refuse_foreign(data, path, expected=f"a {NAME}")
    root = strict_json.parse(data, path)
    version = root.at("lock_version", root.object().get("lock_version"))
    if version.value != VERSION:
        raise version.error(
            f"{VERSION}", hint="a newer merganser wrote it; saving the tokenizer again writes version 1"
        )
    top = root.members("lock_version", *_KEYS)
    unicode_versions = top["unicode_version"].members("classes", "normalization")
    return Lock(
        fingerprint=top["fingerprint"].string(),
        semantics=top["merge_semantics"].string(),
        tie_break=None if top["tie_break"].value is None else top["tie_break"].string(),
        split=None if top["split"].value is None else top["split"].string(),
        unicode_versions=(unicode_versions["classes"].string(), unicode_versions["normalization"].string()),
        golden=tuple(_read_golden(item) for item in top["golden"].items()),
    )


def _read_golden(item: Node) -> tuple[str, tuple[int, ...]]:
    members = item.members("text", "ids")
    return members["text"].string(), tuple(id.u32() for id in members["ids"].items())


def check(path: Path, spec: Spec, encode: Encode, unicode_versions: tuple[str, str]) -> Spec:
    """Holds `spec` and its `encode` to the lock at `path`; the Spec with the tie-break and split name that it keeps.

    Raises `FormatError` saying what differs. Where only the Unicode version does, it warns.
    """
    lock = read(path)
    hint = "the tokenizer is not the one that was saved: fetch it again or, if that is meant, delete the lock"
    found = fingerprint(spec)
    if found != lock.fingerprint:
        raise FormatError(f"{path}: expected the fingerprint {lock.fingerprint}, found {found}", hint=hint)
    for text, ids in lock.golden:
        if (given := tuple(encode(text))) != ids:
            raise FormatError(f"{path}: expected the ids {list(ids)} for {text!r}, found {list(given)}", hint=hint)
    if unicode_versions != lock.unicode_versions:
        warnings.warn(
            f"{path}: saved under Unicode {' and '.join(lock.unicode_versions)}, loaded under "
            f"{' and '.join(unicode_versions)}: characters that are new in one may get other ids",
            stacklevel=3,
        )
    tie_break = next((known for known in _TIE_BREAKS if known == lock.tie_break), None)
    return replace(spec, tie_break=tie_break, splits=tuple(_named(split, lock.split) for split in spec.splits))


def _named(split: Split | ByteLevel, name: str | None) -> Split | ByteLevel:
    return replace(split, name=name) if isinstance(split, Split) and split.name is None else split


def fingerprint(spec: Spec) -> str:
    """The sha256 of all in `spec` that decides ids and decoded text, as 64 hexadecimal digits.

    Names, offsets and the tie-break are no part of it. A split counts in Oniguruma's spelling where it has one, so that
    a tokenizer and its tokenizer.json have the same fingerprint.
    """
    digest = hashlib.sha256(b"merganser fingerprint 1\n")
    for name, value in _fields(spec):
        digest.update(b"%s %d\n" % (name.encode(), len(value)))
        digest.update(value)
    return digest.hexdigest()


def _fields(spec: Spec) -> Iterator[tuple[str, bytes]]:
    """What counts, as bytes; what has its default is left out, so that a new field changes no old fingerprint."""
    if isinstance(spec.model, BytePairModel):
        yield from _model_fields(spec.model)
    else:
        yield from _spelled_model_fields(spec.model)
    for split in spec.splits:
        yield from _split_fields(split)
    for normalizer in spec.normalizers:
        yield "normalizer", normalizer.form.encode()
    for token in sorted(spec.added_tokens, key=lambda token: (token.id, token.content)):
        yield "added_token", _added_token(token)
    if spec.template is not None:
        yield "template", _template(spec.template)
    for name in ("pipeline", "truncation", "padding"):
        if (value := getattr(spec, name)) is not None:
            yield name, _told(value)


def _model_fields(model: BytePairModel) -> Iterator[tuple[str, bytes]]:
    yield "tokens", model.vocabulary.data
    yield "ends", model.vocabulary.ends
    if model.vocabulary.ids != pack(range(len(model.vocabulary))):
        yield "ids", model.vocabulary.ids
    yield "semantics", model.semantics.encode()
    if model.semantics == "rank" and model.ranks and model.ranks != pack(range(len(model.vocabulary))):
        yield "ranks", model.ranks
    if model.semantics == "merges":
        yield "merges", model.merges
        if model.ignore_merges:
            yield "ignore_merges", b"1"


def _spelled_model_fields(model: Model) -> Iterator[tuple[str, bytes]]:
    yield "model", type(model).__name__.encode()
    yield "tokens", model.vocabulary.data
    yield "ends", model.vocabulary.ends
    yield "ids", model.vocabulary.ids
    for field in fields(model):
        value = getattr(model, field.name)
        if field.name != "vocabulary" and value != field.default:
            yield field.name, value if isinstance(value, bytes) else json.dumps(value).encode()


def _told(value: object) -> bytes:
    """A nest of dataclasses, tuples and plain values, as bytes that tell all of it."""

    def plain(value: object) -> object:
        if is_dataclass(value):
            return {type(value).__name__: {field.name: plain(getattr(value, field.name)) for field in fields(value)}}
        return [plain(item) for item in cast("tuple[object, ...]", value)] if isinstance(value, tuple) else value

    return json.dumps(plain(value), sort_keys=True).encode()


def _split_fields(split: Split | ByteLevel) -> Iterator[tuple[str, bytes]]:
    if isinstance(split, ByteLevel):
        if split.use_regex or split.add_prefix_space:
            yield "byte_level", bytes([split.add_prefix_space, split.use_regex])
        return
    pattern, dialect, unmatched = split.pattern, split.dialect, split.unmatched
    try:
        if unmatched != "keep" and matches_every_character(pattern, dialect):
            unmatched = "keep"
        if dialect == "rust":
            pattern, dialect = oniguruma_from_rust(pattern), "oniguruma"
    except FormatError:
        pass
    yield "split", f"{dialect} {unmatched} {pattern}".encode("utf-8", "surrogatepass")


def _added_token(token: AddedToken) -> bytes:
    flags = bytes([token.special, token.normalized, token.single_word, token.lstrip, token.rstrip])
    return token.id.to_bytes(4, "little") + flags + token.content.encode("utf-8", "surrogatepass")


def _template(template: Template) -> bytes:
    parts = [
        [[None if part.ids is not None else part.name, part.type_id, part.ids] for part in parts]
        for parts in (template.single, template.pair)
    ]
    return json.dumps(parts).encode()
