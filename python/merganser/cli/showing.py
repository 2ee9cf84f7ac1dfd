"""What a person sees: words, tables, bytes made readable, progress."""

from __future__ import annotations

import json
import sys
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from shutil import get_terminal_size
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from merganser.training import Progress


def write(line: str) -> None:
    """Writes a line of data."""
    sys.stdout.write(line + "\n")


def write_json(value: object) -> None:
    """Writes a value as a line of JSON, bytes as hexadecimal digits."""
    write(json.dumps(value, ensure_ascii=False, default=bytes.hex))


def say(words: str) -> None:
    """Says a line of words, beside the data."""
    sys.stderr.write(words + "\n")


def number(count: int, of: str) -> str:
    """A count with its noun.

    >>> number(1, "token"), number(32000, "token")
    ('1 token', '32,000 tokens')
    """
    return f"{count:,} {of}" if count == 1 else f"{count:,} {of}s"


def readable(data: bytes) -> str:
    r"""Bytes as Python would write the text; those that are no UTF-8 as escapes.

    >>> print(readable(" thé\n".encode()), readable(b"\xe2\x80"))
    ' thé\n' '\xe2\x80'
    """
    text = data.decode("utf-8", "surrogateescape")
    quote = '"' if "'" in text and '"' not in text else "'"
    return quote + "".join(_shown(character, quote) for character in text) + quote


def _shown(character: str, quote: str) -> str:
    if "\udc80" <= character <= "\udcff":
        return f"\\x{ord(character) - 0xDC00:02x}"
    if character in "'\"":
        return f"\\{character}" if character == quote else character
    return repr(character)[1:-1]


def table(names: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Writes columns of numbers, to the right, and a last one of text. Nothing is cut: a terminal folds by itself.

    >>> table(("id", "token"), [("5", "'a'"), ("1262", "' the'")])
      id  token
       5  'a'
    1262  ' the'
    """
    lines = [names, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for *numbers, text in lines:
        write("  ".join([*(number.rjust(width) for number, width in zip(numbers, widths, strict=False)), text]))


def facts(values: Sequence[tuple[str, str]]) -> None:
    """Writes names and values; long values are continued below, but not in a pipe."""
    indent = max(len(name) for name, _ in values) + 2
    width = max(get_terminal_size((10_000, 0)).columns - indent, 20)
    for name, value in values:
        lines = chain.from_iterable(_folded(line, width) for line in value.splitlines())
        for place, line in enumerate(lines):
            write(f"{'' if place else name:<{indent}}{line}")


def _folded(line: str, width: int) -> Iterator[str]:
    """Parts of `line` that fit: of a pattern from one `|` on, of words behind a space, if possible."""
    mark = "|" if "|" in line else " "
    while len(line) > width:
        # Nobody sees the space that a line ends in, which in a pattern counts.
        cut = line.rfind(mark, width // 2, width) + (mark == " ")
        cut = cut if cut > 0 else width
        yield line[:cut]
        line = line[cut:]
    yield line


@contextmanager
def progress() -> Generator[Progress | None]:
    """Shows how training goes while it goes, on a terminal; in a pipe there is nothing to call."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description:<8}"),
        BarColumn(),
        TextColumn("{task.fields[words]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks = {
            "count": bars.add_task("counting", total=None, words=""),
            "merge": bars.add_task("merging", total=None, words="", visible=False),
        }

        def show(what: str, done: int, total: int) -> None:
            words = number(done, "document") if what == "count" else f"{done:,} of {number(total, 'merge')}"
            bars.update(tasks[what], completed=done, total=total or None, words=words, visible=True)

        yield show
