"""What a caller passes, checked: an error names the argument, what was expected and what was found."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterable, Mapping
from operator import index
from pathlib import Path
from typing import TypeVar

from merganser.errors import MerganserError, TextError

# More threads never help, and the system may refuse to start them.
_MAX_THREADS = 1024

_Item = TypeVar("_Item")


def one_of(name: str, value: object, *choices: str, error: type[MerganserError] = TextError) -> None:
    """Raises `error` where `value` is none of `choices`.

    >>> one_of("unit", "byte", "character", "byte")
    """
    if not (isinstance(value, str) and value in choices):
        *most, last = (f'"{choice}"' for choice in choices)
        raise error(f"{name}: expected {', '.join(most)} or {last}, found {value!r}")


def whole_number(
    name: str, value: int, least: int | None, most: int | None = None, *, error: type[MerganserError] = TextError
) -> int:
    """`value` as an int.

    >>> whole_number("num_threads", 2, 1)
    2

    Raises `TypeError` where it is no integer, and `error` where it is out of range.
    """
    try:
        number = None if isinstance(value, bool) else index(value)
    except TypeError:
        number = None
    if number is None:
        raise TypeError(f"{name}: expected an integer, found {type(value).__name__}")
    if (least is not None and number < least) or (most is not None and number > most):
        expected = f"{least} or more" if most is None else f"{least or 0} to {most}"
        raise error(f"{name}: expected {expected}, found {number}")
    return number


def threads(num_threads: int, *, error: type[MerganserError] = TextError) -> int:
    """`num_threads`, or the most that are of use.

    >>> threads(2), threads(10**9)
    (2, 1024)

    Raises `TypeError` where it is no integer, and `error` for less than one.
    """
    if type(num_threads) is int and num_threads == 1:  # as mostly
        return 1
    return min(whole_number("num_threads", num_threads, 1, error=error), _MAX_THREADS)


def text(name: str, value: str) -> str:
    """`value`, if it is a `str`.

    >>> text("name", "mine")
    'mine'

    Raises `TypeError` where it is none.
    """
    if not isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"{name}: expected a text, found {type(value).__name__}")
    return value


def texts(name: str, values: Iterable[str]) -> list[str]:
    """`values` as a list.

    >>> texts("special_tokens", ("<a>", "<b>"))
    ['<a>', '<b>']

    Raises `TypeError` where they are no collection of texts.
    """
    if isinstance(values, str):
        raise TypeError(f"{name}: expected a collection of texts, found the text {values!r}")
    found = list(collection(name, values, of="texts"))
    for value in found:
        if not isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"{name}: expected texts, found {type(value).__name__}")
    return found


def collection(name: str, values: Iterable[_Item], *, of: str) -> Iterable[_Item]:
    """`values`, if they can be iterated.

    >>> collection("ids", [1], of="integers")
    [1]

    Raises `TypeError` where they cannot.
    """
    if not isinstance(values, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"{name}: expected a collection of {of}, found {type(values).__name__}")
    return values


def function(name: str, value: object) -> None:
    """Raises `TypeError` where `value` cannot be called.

    >>> function("progress", print)
    """
    if not callable(value):
        raise TypeError(f"{name}: expected a function, found {type(value).__name__}")


def mapping(name: str, value: object, *, of: str) -> None:
    """Raises `TypeError` where `value` is no mapping `of` such things.

    >>> mapping("vocab", {0: b"a"}, of="ids with their tokens")
    """
    if not isinstance(value, Mapping):
        raise TypeError(f"{name}: expected {of}, found {type(value).__name__}")


def many(name: str, texts: Iterable[_Item], *, one: str) -> Iterable[_Item]:
    """`texts`, if they are a collection of them.

    >>> many("texts", ["a"], one="encode")
    ['a']

    Raises `TypeError` naming the method for `one` where they are a text.
    """
    if isinstance(texts, str | bytes | bytearray):
        raise TypeError(f"{name}: expected a collection of texts, found {type(texts).__name__}; `{one}` takes one")
    return collection(name, texts, of="texts")


def error_handler(errors: str) -> None:
    """Raises `TextError` where `bytes.decode` knows no `errors` of this name.

    >>> error_handler("backslashreplace")
    """
    try:
        codecs.lookup_error(errors)
    except (LookupError, TypeError, ValueError):
        expected = 'a handler of bytes.decode such as "strict", "replace" or "ignore"'
        raise TextError(f"errors: expected {expected}, found {errors!r}") from None


def hint_of_missing(path: Path) -> str | None:
    """Up to where `path` is there, which also tells where a relative one starts; None where all of it is.

    >>> hint_of_missing(Path("/gone/tokenizer.json"))
    'of that path there is only `/`'
    """
    path = Path(os.path.abspath(path))
    there = next((folder for folder in (path, *path.parents) if folder.exists()), path)
    return None if there == path else f"of that path there is only `{there}`"
