"""The part of regex syntax on which Rust's fancy-regex and Oniguruma can be held to each other, as a tree.

Only constructs are read whose meaning in both is known (`tests/test_formats.py` compares them over all code points);
whatever else a pattern holds is refused by name. How each dialect spells them is in `dialects`.
"""

from __future__ import annotations

import re
import string
from dataclasses import dataclass
from typing import Literal, TypeAlias

from merganser.errors import FormatError

Dialect: TypeAlias = Literal["rust", "oniguruma"]

# General categories and scripts that both know by this name, with the same code points.
CATEGORIES = frozenset(
    re.findall("..", "LuLlLtLmLoMnMcMeNdNlNoPcPdPsPePiPfPoSmScSkSoZsZlZpCcCfCsCoCn"),
)
SCRIPTS = frozenset(
    re.findall(
        "[A-Z][a-z]+",
        "Arabic Armenian Bengali Bopomofo Cyrillic Devanagari Ethiopic Georgian Greek Gujarati Gurmukhi Han Hangul "
        "Hebrew Hiragana Kannada Katakana Khmer Lao Latin Malayalam Mongolian Myanmar Oriya Sinhala Tamil Telugu Thai "
        "Tibetan",
    )
)
_LONG_NAMES = {
    "Letter": "L",
    "Mark": "M",
    "Number": "N",
    "Punctuation": "P",
    "Symbol": "S",
    "Separator": "Z",
    "Uppercase_Letter": "Lu",
    "Lowercase_Letter": "Ll",
    "Decimal_Number": "Nd",
    "Space_Separator": "Zs",
}
PROPERTIES = CATEGORIES | SCRIPTS | set("LMNPSZC")

_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v", "a": "\a"}
LOOKAROUNDS = ("(?=", "(?!", "(?<=", "(?<!")
_OPENERS = ("(?:", "(?i:", "(?>", *LOOKAROUNDS)
_MAX_REPEAT = 1000
_MAX_DEPTH = 50


@dataclass(frozen=True, slots=True)
class Character:
    """One character; `text` spells it in both dialects."""

    text: str
    character: str


@dataclass(frozen=True, slots=True)
class Dot:
    """Any character but a line feed."""


@dataclass(frozen=True, slots=True)
class Shorthand:
    r"""`\s`, `\d`, `\w`, `\h` or its complement, as `letter` says."""

    letter: str


@dataclass(frozen=True, slots=True)
class Property:
    r"""`\p{name}` or its complement."""

    name: str
    negated: bool


@dataclass(frozen=True, slots=True)
class Range:
    """The characters from `first` to `last`, inside a set."""

    first: Character
    last: Character


@dataclass(frozen=True, slots=True)
class Set:
    """`[…]`: the characters that are in all `operands` (written with `&&` between them), or those that are not."""

    negated: bool
    operands: tuple[tuple[SetItem, ...], ...]


@dataclass(frozen=True, slots=True)
class Anchor:
    r"""`^`, `$`, `\A`, `\z` or, in Oniguruma, `\Z`, `\b` and `\B`."""

    text: str


@dataclass(frozen=True, slots=True)
class Group:
    """`(…)` or one of the kinds that start with `(?`; `opener` is how it starts."""

    opener: str
    branches: Branches


@dataclass(frozen=True, slots=True)
class Repeat:
    """`body` repeated; `count` is `?`, `*`, `+` or `{n,m}`, `mode` empty (greedy), `?` (lazy) or `+` (possessive)."""

    body: Item
    count: str
    minimum: int
    maximum: int | None
    mode: str


SetItem: TypeAlias = Character | Shorthand | Property | Range | Set
Item: TypeAlias = Character | Dot | Shorthand | Property | Set | Anchor | Group | Repeat
Branches: TypeAlias = tuple[tuple[Item, ...], ...]


def parse(pattern: str, dialect: Dialect) -> Branches:
    """The alternatives of `pattern`.

    Raises `FormatError` naming the first construct that is not known to mean the same in both dialects.
    """
    return _Parser(pattern, dialect).parse()


class _Parser:
    def __init__(self, pattern: str, dialect: Dialect) -> None:
        self.pattern = pattern
        self.dialect = dialect
        self.place = 0
        self.depth = 0

    def parse(self) -> Branches:
        branches = self.branches()
        if self.place < len(self.pattern):
            raise self.unsupported(")")
        return branches

    def unsupported(self, construct: str, at: int | None = None) -> FormatError:
        place = self.place if at is None else at
        return FormatError(
            f"pattern {self.pattern!r}, character {place}: expected a construct that means the same in Rust's and in "
            f"Oniguruma's regexes, found `{construct}`",
        )

    def peek(self, text: str) -> bool:
        return self.pattern.startswith(text, self.place)

    def skip(self, text: str) -> bool:
        """Passes over `text` if it comes next."""
        found = self.peek(text)
        self.place += len(text) if found else 0
        return found

    def take(self) -> str:
        if self.place == len(self.pattern):
            raise self.unsupported("the end of the pattern")
        self.place += 1
        return self.pattern[self.place - 1]

    def match(self, regex: str) -> re.Match[str] | None:
        """What `regex` matches next, passed over."""
        found = re.compile(regex, re.ASCII).match(self.pattern, self.place)
        self.place = found.end() if found else self.place
        return found

    # Alternatives, items, repeats

    def branches(self) -> Branches:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise self.unsupported("groups nested too deeply")
        branches = [self.sequence()]
        while self.skip("|"):
            branches.append(self.sequence())
        self.depth -= 1
        return tuple(branches)

    def sequence(self) -> tuple[Item, ...]:
        items: list[Item] = []
        while self.place < len(self.pattern) and not self.peek("|") and not self.peek(")"):
            items.append(self.repeat(self.item()))
        return tuple(items)

    def repeat(self, body: Item) -> Item:
        start = self.place
        counted = self.count()
        if counted is None:
            return body
        if isinstance(body, Anchor) or (isinstance(body, Group) and body.opener in LOOKAROUNDS):
            raise self.unsupported(f"a repeat {counted[0]} of what takes no character", start)
        mode = self.pattern[self.place : self.place + 1]
        mode = mode if mode in ("?", "+") and self.skip(mode) else ""
        braces = counted[0].startswith("{")
        if mode == "?" and braces and "," not in counted[0]:
            raise self.unsupported(counted[0] + mode, start)
        if mode == "+" and braces and self.dialect == "oniguruma":
            # Ruby reads this as a repeat of a repeat.
            inner = Group("(?:", ((Repeat(body, *counted, ""),),))
            repeat = Repeat(inner, "+", 1, None, "")
        else:
            repeat = Repeat(body, *counted, mode)
        if self.match(r"[?*+{]") is not None:
            raise self.unsupported(self.pattern[start : self.place], start)
        return repeat

    def count(self) -> tuple[str, int, int | None] | None:
        """The repeat count that comes next: its spelling, least and most."""
        if (sign := self.match(r"[?*+]")) is not None:
            return sign[0], 0 if sign[0] in "?*" else 1, 1 if sign[0] == "?" else None
        start = self.place
        if (found := self.match(r"\{([0-9]+)(?:(,)([0-9]*))?\}")) is not None:
            least = _number(found[1])
            most = (_number(found[3]) if found[3] else None) if found[2] else least
        elif self.dialect == "oniguruma" and (found := self.match(r"\{,([0-9]+)\}")) is not None:
            least, most = 0, _number(found[1])
        else:
            return None
        if not least <= (least if most is None else most) <= _MAX_REPEAT:
            raise self.unsupported(found[0], start)
        return f"{{0{found[0][1:]}" if found[0][1] == "," else found[0], least, most

    def item(self) -> Item:
        start = self.place
        character = self.take()
        if character == "\\":
            return self.escape()
        if character == "[":
            return self.set()
        if character == "(":
            return self.group(start)
        if character == ".":
            return Dot()
        if character in "^$":
            return Anchor(character)
        if character in "?*+{":
            raise self.unsupported(character, start)
        return self.literal(character, start)

    def literal(self, character: str, start: int) -> Character:
        if character == "\0" or "\ud800" <= character <= "\udfff":
            raise self.unsupported(repr(character), start)
        return Character(character, character)

    def group(self, start: int) -> Group:
        opener = next((opener for opener in _OPENERS if self.pattern.startswith(opener, start)), "(")
        self.place = start + len(opener)
        if self.peek("?") or self.peek("*"):
            raise self.unsupported(self.pattern[start : start + 4], start)
        group = Group(opener, self.branches())
        if not self.skip(")"):
            raise self.unsupported(opener + " without its `)`", start)
        return group

    # Escapes

    def escape(self) -> Character | Shorthand | Property | Anchor:
        start = self.place - 1
        letter = self.take()
        if letter in "sSdDwW" or (letter in "hH" and self.dialect == "oniguruma"):
            return Shorthand(letter)
        if letter in "pP":
            return self.property(letter, start)
        if letter in "Az" or (letter in "ZbB" and self.dialect == "oniguruma"):
            return Anchor("\\" + letter)
        if letter in _CONTROLS:
            return Character("\\" + letter, _CONTROLS[letter])
        if letter in "xu":
            return self.code_point(letter, start)
        if letter in "<> ":
            # Rust takes these for something else, or for nothing.
            if self.dialect == "oniguruma":
                return Character(letter, letter)
        elif letter in string.punctuation:
            return Character("\\" + letter, letter)
        raise self.unsupported("\\" + letter, start)

    def property(self, letter: str, start: int) -> Property:
        if self.dialect == "rust" and (short := self.match("[LMNPSZC]")) is not None:
            return Property(short[0], negated=letter == "P")
        caret = r"(\^?)" if self.dialect == "oniguruma" and letter == "p" else "()"
        found = self.match(r"\{" + caret + r"(\w+)\}")
        name = _LONG_NAMES.get(found[2], found[2]) if found else ""
        if found is None or name not in PROPERTIES:
            raise self.unsupported(
                self.pattern[start : self.place] if found else self.pattern[start : start + 8], start
            )
        return Property(name, negated=letter == "P" or bool(found[1]))

    def code_point(self, letter: str, start: int) -> Character:
        two_digits = r"[0-7][0-9A-Fa-f]" if letter == "x" else r"[0-9A-Fa-f]{4}"
        braces = r"\{([0-9A-Fa-f]{1,6})\}" if letter == "x" else r"(?!)()"
        found = self.match(f"({two_digits})|{braces}")
        value = int(found[1] or found[2], 16) if found else 0
        if not found or not 0 < value <= 0x10FFFF or 0xD800 <= value <= 0xDFFF:
            raise self.unsupported(self.pattern[start : max(self.place, start + 4)], start)
        return Character(self.pattern[start : self.place], chr(value))

    # Sets

    def set(self) -> Set:
        start = self.place - 1
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise self.unsupported("sets nested too deeply")
        negated = self.skip("^")
        operands: list[tuple[SetItem, ...]] = []
        items: list[SetItem] = []
        while True:
            if self.peek("]") or self.peek("&&"):
                if not items or self.peek("&&&"):
                    raise self.unsupported(self.pattern[start : self.place + 1], start)
                operands.append(tuple(items))
                items = []
                if self.skip("]"):
                    break
                self.place += 2
            else:
                if self.peek("^") and operands and not items:
                    raise self.unsupported("&&^")
                items.append(self.set_item(is_first=not items))
        self.depth -= 1
        return Set(negated, tuple(operands))

    def set_item(self, *, is_first: bool) -> SetItem:
        start = self.place
        for construct in ("[:", "--", "~~"):
            if self.peek(construct):
                raise self.unsupported(construct, start)
        character = self.take()
        if character == "[":
            return self.set()
        if character == "-" and not is_first and not self.peek("]"):
            raise self.unsupported("-", start)
        item = self.escape() if character == "\\" else self.literal(character, start)
        if isinstance(item, Anchor):
            raise self.unsupported(item.text, start)
        if not self.peek("-") or self.peek("-]"):
            return item
        return self.range(item, start)

    def range(self, first: SetItem, start: int) -> Range:
        self.place += 1
        character = self.take()
        last = self.escape() if character == "\\" else self.literal(character, start)
        if (
            isinstance(first, Character)
            and isinstance(last, Character)
            and first.text != "-"
            and character not in "[-"
            and first.character <= last.character
        ):
            return Range(first, last)
        raise self.unsupported(self.pattern[start : self.place], start)


def _number(digits: str) -> int:
    """The repeat count that `digits` spell; of many digits, one that is too great."""
    return int(digits) if len(digits) <= 9 else _MAX_REPEAT + 1
