"""Whether a split pattern leaves text between its matches: then `keep`, `drop` and `error` are the same."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from merganser.formats.dialects import parse_checked
from merganser.formats.regex_syntax import (
    CATEGORIES,
    SCRIPTS,
    Branches,
    Character,
    Dialect,
    Dot,
    Group,
    Item,
    Property,
    Range,
    Repeat,
    Set,
    SetItem,
    Shorthand,
)

_SPACES = "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"
_MAX_LISTED = 256


def matches_every_character(pattern: str, dialect: Dialect) -> bool:
    r"""Whether, at every place of every text, `pattern` certainly matches. False where that is not plain to see.

    >>> matches_every_character(r" ?\p{L}+|[^\p{L}]", "rust"), matches_every_character(r"\p{L}+", "rust")
    (True, False)

    Raises `FormatError` for a pattern that has no equal in the other dialect.
    """
    branches = parse_checked(pattern, dialect)
    return all(_certainly_matches(branches, sample) for sample in _samples(branches))


@dataclass(frozen=True)
class _Sample:
    """A character, or (`character` is None) any of a category and script that the pattern does not name itself."""

    category: str
    script: str | None
    character: str | None = None


def _samples(branches: Branches) -> Iterator[_Sample]:
    named = {*_SPACES}
    scripts: set[str] = set()
    for item in _leaves(branches):
        if isinstance(item, Character):
            named.add(item.character)
        elif isinstance(item, Range):
            named.update(_listed(item))
        elif isinstance(item, Property) and item.name in SCRIPTS:
            scripts.add(item.name)
    for character in named:
        # The categories of ASCII and of white space never change; Python's Unicode version does not decide the others.
        is_settled = character.isascii() or character in _SPACES
        for category in [unicodedata.category(character)] if is_settled else CATEGORIES:
            yield _Sample(category, None, character)
    for category in CATEGORIES - {"Cs", "Zl", "Zp", "Zs"}:
        for script in [None, *scripts]:
            yield _Sample(category, script)


def _listed(item: Range) -> Iterable[str]:
    codes = range(ord(item.first.character), ord(item.last.character) + 1)
    return map(chr, codes) if len(codes) <= _MAX_LISTED else ()


def _leaves(branches: Branches) -> Iterator[Item | SetItem]:
    stack: list[Item | SetItem] = [item for items in branches for item in items]
    while stack:
        item = stack.pop()
        if isinstance(item, Group):
            stack += [item for items in item.branches for item in items]
        elif isinstance(item, Repeat):
            stack.append(item.body)
        elif isinstance(item, Set):
            stack += [member for members in item.operands for member in members]
        else:
            yield item


def _certainly_matches(branches: Branches, sample: _Sample) -> bool:
    """Whether one of the alternatives matches at a `sample`, whatever follows it."""
    return any(_takes(items, sample) for items in branches)


def _takes(items: tuple[Item, ...], sample: _Sample) -> bool:
    """Whether the items match `sample` alone: all but one can be left out, and that one takes it."""
    has_taken = False
    for item in items:
        body = item.body if isinstance(item, Repeat) else item
        if isinstance(item, Repeat) and item.minimum == 0:
            # A possessive one before the one that must match would not give the character back.
            if item.mode == "+" and not has_taken and _holds_item(body, sample) is not False:
                return False
        elif has_taken or (isinstance(item, Repeat) and item.minimum != 1) or not _holds_item(body, sample):
            return False
        else:
            has_taken = True
    return has_taken


def _holds_item(item: Item, sample: _Sample) -> bool | None:
    """Whether an item that takes one character takes `sample`; None where that is not known."""
    if isinstance(item, Group):
        plain = item.opener in ("(", "(?:", "(?>") and _certainly_matches(item.branches, sample)
        return True if plain else None
    if isinstance(item, Character | Dot | Shorthand | Property | Set):
        return _holds(item, sample)
    return None


def _holds(item: SetItem | Dot, sample: _Sample) -> bool | None:
    match item:
        case Dot():
            return sample.character != "\n"
        case Character(_, character):
            return sample.character == character
        case Range(first, last):
            if sample.character is not None:
                return first.character <= sample.character <= last.character
            return None if not _listed(item) else False
        case Property(name, negated):
            return _negated(_has_property(name, sample), negated)
        case Shorthand(letter):
            known = {"s": sample.character is not None and sample.character in _SPACES, "d": sample.category == "Nd"}
            return _negated(known.get(letter.lower()), letter.isupper())
        case Set(negated, operands):
            return _negated(_all(_any(_holds(member, sample) for member in members) for members in operands), negated)


def _has_property(name: str, sample: _Sample) -> bool | None:
    if name in SCRIPTS:
        if sample.character is None:
            return sample.script == name
        if sample.character.isascii() or sample.character in _SPACES:
            return name == "Latin" and sample.category.startswith("L")
        return None
    return sample.category.startswith(name)


def _negated(value: bool | None, negated: bool) -> bool | None:
    return None if value is None else value != negated


def _any(values: Iterable[bool | None]) -> bool | None:
    found = set(values)
    return True if True in found else None if None in found else False


def _all(values: Iterable[bool | None]) -> bool | None:
    found = set(values)
    return False if False in found else None if None in found else True
