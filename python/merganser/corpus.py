"""Reads documents: text files and folders of them, as UTF-8 bytes that the engine counts without building `str`."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Literal

from merganser import arguments
from merganser.errors import StorageError, TextError

_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")

# A file beyond this is read as several documents, so that memory does not grow with it.
_MAX_DOCUMENT_BYTES = 64 << 20


class Corpus:
    """The documents of files and folders, read anew each time it is iterated.

    After a pass, `num_documents`, `num_bytes` and `num_boms` say what was read, and `skipped` which files were not.
    """

    def __init__(
        self, paths: tuple[Path, ...], *, suffixes: Collection[str] | None, errors: Literal["strict", "replace", "skip"]
    ) -> None:
        for path in paths:
            if not isinstance(path, Path):  # pyright: ignore[reportUnnecessaryIsInstance]
                hint = f"; a str is a document, a file is `Path({path!r})`" if isinstance(path, str) else ""  # pyright: ignore[reportUnnecessaryIsInstance]
                raise TypeError(f"paths: expected Path, found {path!r}{hint}")
        if isinstance(suffixes, str):
            raise TypeError(f'suffixes: expected a collection such as {{".txt"}}, found the text {suffixes!r}')
        named = None if suffixes is None else frozenset(arguments.texts("suffixes", suffixes))
        if bare := sorted(suffix for suffix in named or () if not suffix.startswith(".")):
            raise TextError(f"suffixes: expected endings such as `.txt`, found {bare[0]!r}")
        arguments.one_of("errors", errors, "strict", "replace", "skip")
        self._paths = paths
        self._suffixes = named
        self._errors = errors
        self._reset()

    def _reset(self) -> None:
        self.num_documents = 0
        self.num_bytes = 0
        self.num_boms = 0
        self.skipped: list[Path] = []

    def files(self) -> Iterator[Path]:
        """The files, in an order that does not depend on the machine: as named, and within a folder by name."""
        for path in self._paths:
            if _is_folder(path):
                yield from sorted(file for file in path.rglob("*") if file.is_file() and self._wanted(file, path))
            elif path.exists():
                yield path
            else:
                message = f"{path}: expected a file or folder, found nothing there"
                raise StorageError(message, hint=arguments.hint_of_missing(path))

    def _wanted(self, file: Path, folder: Path) -> bool:
        hidden = any(part.startswith(".") for part in file.relative_to(folder).parts)
        return not hidden and (self._suffixes is None or file.suffix in self._suffixes)

    def __iter__(self) -> Iterator[bytes]:
        self._reset()
        for file in self.files():
            for document in self._documents(file):
                self.num_documents += 1
                self.num_bytes += len(document)
                yield document

    def _documents(self, file: Path) -> Iterator[bytes]:
        try:
            with file.open("rb") as source:
                first, start = True, 0
                while (block := source.read(_MAX_DOCUMENT_BYTES)) or first:
                    if len(block) == _MAX_DOCUMENT_BYTES:
                        block += source.readline()
                    if first and block.startswith(_BOM):
                        self.num_boms += 1
                        block, start = block[len(_BOM) :], len(_BOM)
                    elif first and block.startswith(_UTF16) and self._errors != "skip":
                        raise TextError(
                            f"{file}: expected UTF-8, found UTF-16",
                            hint='save the file as UTF-8, or pass errors="skip" to leave such files out',
                        )
                    first = False
                    text = self._checked(block, file, start)
                    if text is None:
                        return
                    yield text
                    start += len(block)
        except OSError as error:
            if isinstance(error, StorageError):
                raise
            raise StorageError(f"{file}: expected a readable file, found: {error.strerror or error}") from error

    def _checked(self, block: bytes, file: Path, start: int) -> bytes | None:
        """`block`, which starts at byte `start` of the file, as UTF-8."""
        try:
            block.decode("utf-8")
        except UnicodeDecodeError as error:
            if self._errors == "replace":
                return block.decode("utf-8", "replace").encode()
            if self._errors == "skip":
                self.skipped.append(file)
                return None
            raise TextError(
                f"{file}: byte {start + error.start}: expected UTF-8, found byte 0x{block[error.start]:02X}",
                hint='pass errors="replace" to read it as U+FFFD, or errors="skip" to leave such files out',
            ) from None
        return block


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError as error:
        raise StorageError(f"{path}: expected a file or folder, found: {error.strerror or error}") from error


def read(
    *paths: Path, suffixes: Collection[str] | None = None, errors: Literal["strict", "replace", "skip"] = "strict"
) -> Corpus:
    """The documents of `paths`: each file is one document of UTF-8 bytes, a folder gives all files below it.

    A file of more than 64 MiB is several documents, cut after line breaks. A UTF-8 byte order mark at the start of a
    file is dropped and counted. `suffixes` keeps to files whose names end so, in folders. Hidden files are left out.

    >>> list(read(Path("notes")))
    [b'first note', b'second note']

    Raises `TextError` where a file is not UTF-8 (with `errors="replace"` invalid bytes become U+FFFD, with
    `errors="skip"` the file is left out) and `StorageError` where it cannot be read.
    """
    return Corpus(paths, suffixes=suffixes, errors=errors)
