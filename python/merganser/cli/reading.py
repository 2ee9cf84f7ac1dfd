"""Documents and ids from files, folders and stdin."""

from __future__ import annotations

import re
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Literal

from merganser.cli import showing
from merganser.corpus import read
from merganser.errors import FormatError, MerganserError, StorageError, TextError

# Stdin beyond this is read as several documents, as `read` does with files.
_MAX_DOCUMENT_BYTES = 64 << 20


class Documents:
    """The documents of files, folders and stdin, each with the name of where it is from, and how much was read.

    An empty file is an empty document, so that every file has a line in what comes out.
    """

    def __init__(self, files: list[str] | None, errors: Literal["strict", "replace", "skip"]) -> None:
        self._files = files or ["-"]
        self._errors: Literal["strict", "replace", "skip"] = errors
        self.num_documents = 0
        self.num_bytes = 0
        self._skipped: list[str] = []

    def __iter__(self) -> Iterator[tuple[str, bytes]]:
        for name in self._files:
            if not name:
                raise StorageError("FILES: expected the name of a file or folder, found an empty one")
            for where, document in self._from_stdin() if name == "-" else self._from_path(Path(name)):
                self.num_documents += 1
                self.num_bytes += len(document)
                yield where, document
        if self._skipped:
            more = ", …" if len(self._skipped) > 3 else ""
            names = ", ".join(self._skipped[:3]) + more
            showing.say(f"warning: expected UTF-8, left out {showing.number(len(self._skipped), 'file')}: {names}")

    def _from_path(self, path: Path) -> Iterator[tuple[str, bytes]]:
        for file in read(path).files():
            corpus = read(file, errors=self._errors)
            for document in corpus:
                yield str(file), document
            if corpus.skipped:
                self._skipped.append(str(file))
            elif corpus.num_documents == 0:
                yield str(file), b""

    def _from_stdin(self) -> Iterator[tuple[str, bytes]]:
        stdin, is_first, is_last = _stdin(), True, False
        while not is_last:
            block = stdin.read(_MAX_DOCUMENT_BYTES)
            if len(block) == _MAX_DOCUMENT_BYTES:
                block += stdin.readline()
            else:
                # Never ask again after the end: at a terminal that would want another Ctrl-D.
                is_last = True
            if is_first:
                block = block.removeprefix(b"\xef\xbb\xbf")
            elif not block:
                return
            is_first = False
            try:
                block.decode()
            except UnicodeDecodeError as error:
                if self._errors == "skip":
                    self._skipped.append("stdin")
                    return
                if self._errors == "strict":
                    message = f"stdin: byte {error.start}: expected UTF-8, found byte 0x{block[error.start]:02X}"
                    raise TextError(message, hint='pass errors="replace" to read it as U+FFFD') from None
                block = block.decode(errors="replace").encode()
            yield "stdin", block


def id_lines(files: list[str] | None) -> Iterator[tuple[str, list[int]]]:
    """The ids of each line of the files that has any, between white space, commas or brackets, and where the line is.

    Raises `FormatError` where a line holds something else.
    """
    for name in files or ["-"]:
        with _opened(name) as file:
            for number, line in enumerate(file, start=1):
                where = f"{'stdin' if name == '-' else name}:{number}"
                words = [word for word in re.split(rb"[\s,\[\]]+", line) if word]
                if words:
                    yield where, [_id(word, where) for word in words]


@contextmanager
def naming(where: str, kind: type[MerganserError]) -> Generator[None]:
    """Puts `where` in front of an error of this kind."""
    try:
        yield
    except kind as error:
        raise type(error)(f"{where}: {error}", hint=error.hint) from error


@contextmanager
def _opened(name: str) -> Generator[BinaryIO]:
    if name == "-":
        yield _stdin()
        return
    try:
        file = Path(name).open("rb")  # noqa: SIM115 - closed below
    except OSError as error:
        raise StorageError(f"{name}: expected a readable file, found: {error.strerror or error}") from error
    with file:
        yield file


def _stdin() -> BinaryIO:
    if sys.stdin.isatty():
        showing.say("reading what you type; Ctrl-D at the start of a line ends it")
    return sys.stdin.buffer


def _id(word: bytes, where: str) -> int:
    if re.fullmatch(rb"-?[0-9]{1,40}", word) is None:
        found = showing.readable(word[:40])
        raise FormatError(f"{where}: expected ids, found {found}", hint="ids are what `merganser encode` writes")
    return int(word)
