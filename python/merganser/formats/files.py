"""Bytes of a file in and out: what a foreign file looks like, and writing all or nothing."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from merganser import arguments
from merganser.errors import FormatError, StorageError

MAX_BYTES = 1 << 30

# How files begin that people have under a tokenizer's name: what they are, and what to do about it.
_BEGINNINGS = (
    (b"\xef\xbb\xbf", "a UTF-8 byte order mark", "save it as UTF-8 without a byte order mark"),
    (b"\xff\xfe", "UTF-16 text", "save it as UTF-8"),
    (b"\xfe\xff", "UTF-16 text", "save it as UTF-8"),
    (b"version https://git-lfs", "a Git LFS pointer", "the file itself comes with `git lfs pull`"),
    (b"\x1f\x8b", "a gzip archive", "unpack it first"),
    (b"PK\x03\x04", "a zip archive", "unpack it first"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard archive", "unpack it first"),
    (b"GGUF", "a GGUF model", None),
    (b"minbpe v1", "a minbpe model", None),
    (b"#version:", "the merges.txt of GPT-2's format", "convert it to a tokenizer.json with transformers"),
)


def checked_path(path: str | Path) -> Path:
    """`path`, if a file can have that name.

    Raises `StorageError` where none can, and `TypeError` for what is no path.
    """
    if not isinstance(path, str | os.PathLike):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"path: expected a str or a Path, found {type(path).__name__}")
    if not str(path):
        raise StorageError("path: expected the name of a file or folder, found an empty text")
    path = Path(path)
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, ValueError) as error:
        found = error.strerror if isinstance(error, OSError) else error
        raise StorageError(f"{str(path)!r}: expected a path that can be looked at, found: {found}") from error
    return path


def read_bytes(path: Path) -> bytes:
    """The contents of the file at `path`.

    Raises `StorageError` where it cannot be read, and `FormatError` for one of over 1 GiB.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        message = f"{path}: expected a file that can be read, found: {error.strerror or error}"
        raise StorageError(message, hint=_hint_of_missing(path)) from error
    if len(data) > MAX_BYTES:
        raise FormatError(f"{path}: expected a tokenizer of at most 1 GiB, found a larger file")
    return data


def _hint_of_missing(path: Path) -> str | None:
    hint = arguments.hint_of_missing(path)
    return None if hint is None else f"{hint}, and nothing is downloaded"


def names_in(folder: Path) -> list[str]:
    """The names in a folder, sorted.

    Raises `StorageError` where it cannot be read.
    """
    try:
        return sorted(entry.name for entry in folder.iterdir())
    except OSError as error:
        message = f"{folder}: expected a folder that can be read, found: {error.strerror or error}"
        raise StorageError(message) from error


def refuse_foreign(data: bytes, path: Path, *, expected: str) -> None:
    """Raises `FormatError` if `data` is known to be another kind of file, saying which."""
    if (found := _foreign(data)) is not None:
        what, hint = found
        raise FormatError(f"{path}: expected {expected}, found {what}", hint=hint)


def _foreign(data: bytes) -> tuple[str, str | None] | None:
    if not data.strip():
        return "an empty file", "was the download or the copy cut short?"
    for beginning, what, hint in _BEGINNINGS:
        if data.startswith(beginning):
            return what, hint
    head = data[:64].lstrip().lower()
    if head.startswith((b"<!doctype", b"<html", b"<?xml", b"<head")):
        return "a web page", "the download gave an error page: fetch the file again"
    if b"\0" in data[:2]:
        return "UTF-16 text", "save it as UTF-8"
    if data[:1] == b"\n" and data[2:3] == b"\n" and b"\x15" in data[:64]:
        return "a SentencePiece model", "transformers writes its tokenizer.json: save_pretrained of an AutoTokenizer"
    return None


def write_atomically(path: Path, data: bytes) -> None:
    """Writes `data` to `path`, so that a reader sees the old file or the new one and never a part.

    Raises `StorageError` where it cannot be written.
    """
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name}.{os.urandom(4).hex()}.tmp")
    try:
        try:
            with temporary.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)
        except BaseException:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        message = f"{path}: expected a place to write to, found: {error.strerror or error}"
        raise StorageError(message, hint=_hint_of_missing(path.parent)) from error
