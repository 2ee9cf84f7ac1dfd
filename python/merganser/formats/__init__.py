"""Files of tokenizers: what they are is told by their content, never by their name.

`huggingface` reads and writes tokenizer.json, `tiktoken` the `.tiktoken` files, `gpt2` the pair of vocabulary and
merges, `minbpe` its `.model`, `lock` the lock beside a tokenizer.json.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from pathlib import Path

from merganser.errors import FormatError
from merganser.formats import dialects, files, gpt2, huggingface, lock, minbpe, strict_json, tiktoken
from merganser.spec import Spec, Split

__all__ = ["dialects", "gpt2", "huggingface", "is_locked", "lock", "minbpe", "read", "tiktoken", "write"]

_KNOWN = "a tokenizer.json, a vocab.txt or lines `<base64> <rank>`"


def read(
    path: Path,
    *,
    split: Split | None = None,
    special_tokens: Mapping[str, int] | None = None,
    published: Callable[[str], Spec] | None = None,
) -> Spec:
    """The Spec in the file at `path`, or in the tokenizer.json, vocab.txt or GPT-2's two files of the folder there.

    Each of GPT-2's two files stands for both, which lie side by side under the names that `gpt2` lists. They hold no
    split: it is GPT-2's, unless `split` says otherwise. A `.tiktoken` file holds neither split nor special tokens:
    unless it is a published one, for which `published` gives the Spec by name, both are needed.

    Raises `FormatError` saying where the file is wrong or what it is instead, and `StorageError`.
    """
    if (pair := gpt2.pair_at(path)) is not None:
        return _read_pair(pair, split=split, special_tokens=special_tokens)
    if path.is_dir():
        _refuse_arguments(path, split, special_tokens, what="a tokenizer.json or vocab.txt")
        return huggingface.read_folder(path)
    data = files.read_bytes(path)
    if minbpe.looks_like_minbpe(data):
        _refuse_arguments(path, split, special_tokens, what="a minbpe model")
        return minbpe.from_bytes(data, path)
    files.refuse_foreign(data, path, expected=_KNOWN)
    if data.lstrip()[:1] == b"{":
        _refuse_arguments(path, split, special_tokens, what="a tokenizer.json")
        return huggingface.from_json(strict_json.parse(data, path))
    if huggingface.bert.looks_like_vocab(data):
        _refuse_arguments(path, split, special_tokens, what="a vocab.txt")
        return huggingface.read_vocab(path)
    if not tiktoken.looks_like_tiktoken(data):
        raise FormatError(f"{path}: expected {_KNOWN}, found {_first_line(data)}")
    name = tiktoken.published_name_of(data)
    if name is not None and published is not None and split is None and special_tokens is None:
        return published(name)
    spec = tiktoken.from_bytes(data, path, split=split, special_tokens=special_tokens or {})
    if split is None or special_tokens is None:
        raise _missing_split(path, data)
    return spec


def _read_pair(pair: tuple[Path, Path], *, split: Split | None, special_tokens: Mapping[str, int] | None) -> Spec:
    spec = gpt2.read(*pair, split=split or gpt2.SPLIT, special_tokens=special_tokens)
    for content, id in (special_tokens or {}).items():
        if (found := spec.special_tokens[content]) != id:
            raise FormatError(f"{pair[0]}: expected the special token {content!r} with the id {id}, found {found}")
    return spec


def _refuse_arguments(path: Path, split: Split | None, special_tokens: Mapping[str, int] | None, *, what: str) -> None:
    if split is not None or special_tokens is not None:
        hint = "these are for `.tiktoken` files; leave them out"
        raise FormatError(f"{path}: expected no split= and special_tokens=, for {what} has them", hint=hint)


def _first_line(data: bytes) -> str:
    line = data.lstrip()[:80].splitlines()[0]
    return f"`{line[:40].decode('utf-8', 'backslashreplace')}`"


def _missing_split(path: Path, data: bytes) -> FormatError:
    hint = "pass split=, a published pattern's name or a Split, and special_tokens=, which may be {}"
    if (name := tiktoken.published_name_of(data.replace(b"\r\n", b"\n"))) is not None:
        ends = ", but for its line ends, which a checkout has changed" if b"\r\n" in data else ""
        hint = f'this is the published {name}{ends}: `mg.load("{name}")` has it'
    return FormatError(
        f"{path}: expected split= and special_tokens=, which a `.tiktoken` file does not hold", hint=hint
    )


def write(spec: Spec, path: Path, *, encode: Callable[[str], list[int]], unicode_versions: tuple[str, str]) -> Path:
    """Writes `spec` to `path` and gives back where.

    A name that ends in `.tiktoken` or `.json` is a file of that format, one that ends in `.model` a minbpe model, and
    `vocab.bpe` or `merges.txt` GPT-2's merges, with the vocabulary beside them. Any other is a folder, which gets a
    tokenizer.json, a tokenizer_config.json and a lock with the ids of `encode`. Warns about what a format leaves out.

    Raises `FormatError` where the format cannot hold the Spec, and `StorageError`.
    """
    if (vocab_path := gpt2.vocab_beside(path)) is not None:
        left_out = gpt2.write(spec, vocab_path, path)
    elif path.suffix == ".model":
        left_out = minbpe.write(spec, path)
    elif path.is_dir() or path.suffix not in (".tiktoken", ".json"):
        left_out = huggingface.write_folder(spec, path)
        _write_lock(spec, path / "tokenizer.json", encode, unicode_versions)
    elif path.suffix == ".json":
        left_out = huggingface.write(spec, path)
        if is_locked(path) and (path.parent / lock.NAME).exists():
            _write_lock(spec, path, encode, unicode_versions)
    else:
        left_out = tiktoken.write(spec, path)
    for sentence in left_out:
        warnings.warn(sentence, stacklevel=3)
    return path


def _write_lock(spec: Spec, path: Path, encode: Callable[[str], list[int]], unicode_versions: tuple[str, str]) -> None:
    """Locks what was written as it will be read: a tokenizer.json has its own way to say some things."""
    written = huggingface.read(path)
    lock.write(lock.make(written, encode, unicode_versions, origin=spec), path.parent / lock.NAME)


def is_locked(path: Path) -> bool:
    """Whether the lock beside it, or in it, speaks of the tokenizer at `path`."""
    return path.is_dir() or path.name == "tokenizer.json"
