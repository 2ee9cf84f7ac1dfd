"""JSON without its loopholes, and values that know their place: every error names file and JSON path."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from merganser.errors import FormatError
from merganser.formats import json_floats
from merganser.spec import MAX_ID

MAX_U32 = (1 << 32) - 1
_SURROGATE = re.compile("[\ud800-\udfff]")
_MAY_BE_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


@dataclass(frozen=True, slots=True)
class Node:
    """A JSON value with its place, such as `$.model.vocab`."""

    file: Path
    place: str
    value: object

    def error(self, expected: str, *, hint: str | None = None) -> FormatError:
        """What to raise where this value is not `expected`."""
        return FormatError(f"{self.file}: {self.place}: expected {expected}, found {_shown(self.value)}", hint=hint)

    def members(self, *required: str, optional: Iterable[str] = ()) -> dict[str, Node]:
        """The members of an object that has these and no others; optional ones that are missing are null."""
        members = self.object()
        for key in members:
            if key not in required and key not in optional:
                known = ", ".join([*required, *optional])
                raise FormatError(f"{self.file}: {self.place}: expected {known}, found the unknown key {_shown(key)}")
        for key in required:
            if key not in members:
                raise FormatError(f"{self.file}: {self.place}: expected the key {_shown(key)}, found none")
        return {key: self.at(key, members.get(key)) for key in [*required, *optional]}

    def at(self, key: str, value: object) -> Node:
        """The member `key` of this object."""
        step = f".{key}" if key.isascii() and key.isidentifier() else f"[{_shown(key)}]"
        return Node(self.file, self.place + step, value)

    def object(self) -> dict[str, object]:
        """The members of an object."""
        value = self.value
        if not isinstance(value, dict):
            raise self.error("an object")
        return cast("dict[str, object]", value)

    def array(self) -> list[object]:
        """The values of an array."""
        value = self.value
        if not isinstance(value, list):
            raise self.error("an array")
        return cast("list[object]", value)

    def items(self) -> Iterator[Node]:
        """The items of an array."""
        for index, value in enumerate(self.array()):
            yield Node(self.file, f"{self.place}[{index}]", value)

    def item(self, index: int) -> Node:
        """The item of an array at `index`."""
        return Node(self.file, f"{self.place}[{index}]", self.array()[index])

    def string(self) -> str:
        """The text of a string."""
        if not isinstance(self.value, str):
            raise self.error("a string")
        return self.value

    def boolean(self, *, default: bool | None = None) -> bool:
        """Whether it is true and not false; `default` for null."""
        if self.value is None and default is not None:
            return default
        if not isinstance(self.value, bool):
            raise self.error("true or false")
        return self.value

    def id(self) -> int:
        """The number, an id that the engine takes."""
        if type(self.value) is not int or not 0 <= self.value <= MAX_ID:
            raise self.error(f"an integer from 0 to {MAX_ID}")
        return self.value

    def u32(self) -> int:
        """The number, an integer that fits an id."""
        if type(self.value) is not int or not 0 <= self.value <= MAX_U32:
            raise self.error("an integer from 0 to 4294967295")
        return self.value

    def kind(self) -> str:
        """The `type` of this component."""
        return self.at("type", self.object().get("type")).string()


def parse(data: bytes, path: Path) -> Node:
    """The value that the JSON text `data` stands for; `path` is named in errors.

    Raises `FormatError` for text that is not UTF-8 or not JSON, nested too deeply, or that repeats a key.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.end == len(data) and error.reason == "unexpected end of data":
            raise _cut_short(f"{path}: byte {len(data)}", "the rest of a character") from error
        message = f"{path}: byte {error.start}: expected UTF-8, found byte 0x{data[error.start]:02X}"
        raise FormatError(message, hint="save it as UTF-8") from error
    repeats: list[str] = []
    try:
        value = json.loads(
            text,
            object_pairs_hook=lambda pairs: _object(pairs, repeats),
            parse_constant=_refuse_constant,
            parse_float=json_floats.read,
        )
        root = Node(path, "$", value)
        if repeats:
            raise _repeated_key(root)
        if _MAY_BE_SURROGATE.search(data):
            _refuse_surrogates(root)
    except json.JSONDecodeError as error:
        raise _syntax_error(error, path) from error
    except RecursionError as error:
        raise FormatError(f"{path}: expected JSON of moderate depth, found it nested too deeply") from error
    except FormatError:
        raise
    except ValueError as error:
        raise FormatError(f"{path}: expected numbers that JSON readers take, found: {error}") from error
    return root


class _Repeating(dict[str, object]):
    """An object that has the key `repeated` twice."""

    repeated: str


def _object(pairs: list[tuple[str, object]], repeats: list[str]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    seen: set[str] = set()
    repeating = _Repeating(members)
    repeating.repeated = next(key for key, _ in pairs if key in seen or seen.add(key))
    repeats.append(repeating.repeated)
    return repeating


def _refuse_constant(name: str) -> object:
    raise ValueError(name)


def _nodes(root: Node) -> Iterator[Node]:
    """`root` and all that it holds, keys as nodes of their own."""
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node.value, dict):
            for key, value in node.object().items():
                stack += [node.at(key, value), Node(node.file, node.place, key)]
        elif isinstance(node.value, list):
            stack += node.items()


def _repeated_key(root: Node) -> FormatError:
    node = next(node for node in _nodes(root) if isinstance(node.value, _Repeating))
    repeated = cast("_Repeating", node.value).repeated
    return FormatError(f"{node.file}: {node.place}: expected each key once, found {_shown(repeated)} twice")


def _refuse_surrogates(root: Node) -> None:
    for node in _nodes(root):
        if isinstance(node.value, str) and _SURROGATE.search(node.value):
            raise node.error("text without lone surrogates")


def _syntax_error(error: json.JSONDecodeError, path: Path) -> FormatError:
    place = f"{path}:{error.lineno}:{error.colno}"
    if error.msg == "Extra data":
        return FormatError(f"{place}: expected the end of the file, found {_shown(error.doc[error.pos])}")
    if error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated string"):
        return _cut_short(f"{path}:{error.doc.count(chr(10)) + 1}", "more JSON")
    if error.msg.startswith("Expecting "):
        wanted = error.msg.removeprefix("Expecting ")
        return FormatError(f"{place}: expected {wanted}, found {_shown(error.doc[error.pos])}")
    return FormatError(f"{place}: expected JSON, found a fault: {error.msg}")


def _cut_short(place: str, expected: str) -> FormatError:
    hint = "the file is cut short: was the download or the copy complete?"
    return FormatError(f"{place}: expected {expected}, found the end of the file", hint=hint)


def _shown(value: object) -> str:
    """`value` as an error shows it."""
    if isinstance(value, dict):
        kind = cast("dict[str, object]", value).get("type")
        return _shown(kind) if isinstance(kind, str) else "an object"
    if isinstance(value, list):
        return f"an array of {len(cast('list[object]', value))}"
    shown = json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace").decode()
    return shown if len(shown) <= 80 else shown[:76] + "…"
