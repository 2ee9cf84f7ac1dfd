r"""A split pattern in the other regex dialect, where that is known to mean the same.

tokenizer.json is read by Oniguruma, tiktoken's patterns by Rust's fancy-regex. The same text means different things:

    construct        Rust                                  Oniguruma (Ruby)
    `^` `$`          start and end of the text             start and end of each line
    `X{n,m}+`        X{n,m}, and no way back               one or more times X{n,m}
    `(?i:ss)`        two letters                           or the one letter ß
    `\w`             with U+200C and U+200D                without
    `\h`             (fancy-regex only)                    a hexadecimal digit

A pattern is parsed, every construct is looked at, and only these are rewritten; what is not known to be equal is
refused.
"""

from __future__ import annotations

from dataclasses import dataclass

from merganser.errors import FormatError
from merganser.formats.regex_syntax import (
    LOOKAROUNDS,
    Anchor,
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
    parse,
)

_JOINERS = r"\x{200C}\x{200D}"
# Outside a set, and for `\b`, Oniguruma counts six signs of Latin-1 in.
_ONIGURUMA_WORD = rf"[[\w&&[^{_JOINERS}]]²³¹¼½¾]"
_RUST_TO_ONIGURUMA = {"^": r"\A", "$": r"\z"}
# Oniguruma has a line start behind a line feed, but none at the end of the text.
_ONIGURUMA_TO_RUST = {
    "^": r"(?m:^)(?!\z)",
    "$": "(?m:$)",
    r"\Z": r"(?=\n?\z)",
    r"\b": f"(?:(?<={_ONIGURUMA_WORD})(?!{_ONIGURUMA_WORD})|(?<!{_ONIGURUMA_WORD})(?={_ONIGURUMA_WORD}))",
    r"\B": f"(?:(?<={_ONIGURUMA_WORD})(?={_ONIGURUMA_WORD})|(?<!{_ONIGURUMA_WORD})(?!{_ONIGURUMA_WORD}))",
}
# Two letters that Oniguruma, ignoring case, takes for one: ß, ﬀ, ﬁ, ﬂ, ﬆ.
_FOLDED_PAIRS = frozenset(["ss", "ff", "fi", "fl", "st"])


def oniguruma_from_rust(pattern: str) -> str:
    r"""`pattern`, written for Rust's regexes, in a spelling that Oniguruma takes the same way.

    >>> oniguruma_from_rust(r"\p{N}{1,3}+|\s++$")
    '(?>\\p{N}{1,3})|\\s++\\z'

    Raises `FormatError` naming the construct for which none is known.
    """
    return _translate(pattern, "rust")


def rust_from_oniguruma(pattern: str) -> str:
    r"""`pattern`, written for Oniguruma, in a spelling that Rust's fancy-regex takes the same way.

    >>> rust_from_oniguruma(r"\p{N}{1,3}+|\s+$")
    '(?:\\p{N}{1,3})+|\\s+(?m:$)'

    Raises `FormatError` naming the construct for which none is known.
    """
    return _translate(pattern, "oniguruma")


def parse_checked(pattern: str, dialect: Dialect) -> Branches:
    """The alternatives of `pattern`, which has an equal in the other dialect and never matches without a character."""
    branches = parse(pattern, dialect)
    _Checks(pattern).check(branches)
    return branches


def _translate(pattern: str, source: Dialect) -> str:
    return _Writer(pattern, source).branches(parse_checked(pattern, source))


@dataclass(frozen=True)
class _Checks:
    """What is wrong only in context. Sizes are characters that an item takes at least and at most."""

    pattern: str

    def refusal(self, construct: str) -> FormatError:
        return FormatError(
            f"pattern {self.pattern!r}: expected a construct that means the same in Rust's and in Oniguruma's regexes, "
            f"found {construct}"
        )

    def check(self, branches: Branches) -> None:
        if self.size(branches)[0] == 0:
            raise self.refusal("an alternative that may match nothing")
        self.edges(branches, ignores_case=False)

    def size(self, branches: Branches) -> tuple[int, int | None]:
        sizes = [self.sequence_size(items) for items in branches]
        longest = [size[1] for size in sizes]
        return min(size[0] for size in sizes), None if None in longest else max(size or 0 for size in longest)

    def sequence_size(self, items: tuple[Item, ...]) -> tuple[int, int | None]:
        least, most = 0, 0
        for item in items:
            item_least, item_most = self.item_size(item)
            least += item_least
            most = None if most is None or item_most is None else most + item_most
        return least, most

    def item_size(self, item: Item) -> tuple[int, int | None]:
        if isinstance(item, Anchor):
            return 0, 0
        if isinstance(item, Group):
            least, most = self.size(item.branches)
            if item.opener in LOOKAROUNDS[2:]:
                self.check_lookbehind(item)
            return (0, 0) if item.opener in LOOKAROUNDS else (least, most)
        if isinstance(item, Repeat):
            least, most = self.item_size(item.body)
            if most == 0 or (least == 0 and item.maximum != 1):
                raise self.refusal(f"a repeat `{item.count}` of what may match nothing")
            unbounded = most is None or item.maximum is None
            return least * item.minimum, None if unbounded else (most or 0) * (item.maximum or 0)
        if isinstance(item, Set):
            self.check_set(item, in_complement=item.negated)
        return 1, 1

    def check_set(self, item: Set, *, in_complement: bool) -> None:
        """Oniguruma loses the complement of a complement of everything beyond ASCII."""
        for member in (member for members in item.operands for member in members):
            if isinstance(member, Set):
                if in_complement and member.negated:
                    raise self.refusal("a complement `[^…]` inside a complement")
                self.check_set(member, in_complement=in_complement or member.negated)
            elif member == Shorthand("W") and in_complement:
                raise self.refusal("`\\W` inside a complement `[^…]`")

    def check_lookbehind(self, group: Group) -> None:
        """Both know lookbehinds of so many characters; what else they know differs by version."""
        lengths = {len(items) for items in group.branches}
        items = (item for items in group.branches for item in items)
        if len(lengths) != 1 or lengths == {0} or any(isinstance(item, Anchor | Group | Repeat) for item in items):
            raise self.refusal(f"a lookbehind `{group.opener}` of other than so many single characters")

    def edges(self, branches: Branches, *, ignores_case: bool) -> tuple[str, str, bool]:
        """The letters under `(?i:` that matches may start and end with, and whether one may be empty.

        Oniguruma joins neighbouring strings before it folds case, so pairs count across groups.
        """
        first, last, nullable = "", "", False
        for items in branches:
            branch_first, branch_last, branch_nullable = "", "", True
            for item in items:
                item_first, item_last, item_nullable = self.item_edges(item, ignores_case=ignores_case)
                self.check_pairs(branch_last, item_first)
                branch_first += item_first if branch_nullable else ""
                branch_last = item_last + (branch_last if item_nullable else "")
                branch_nullable &= item_nullable
            first, last, nullable = first + branch_first, last + branch_last, nullable or branch_nullable
        return first, last, nullable

    def item_edges(self, item: Item, *, ignores_case: bool) -> tuple[str, str, bool]:
        if isinstance(item, Group):
            first, last, nullable = self.edges(item.branches, ignores_case=ignores_case or item.opener == "(?i:")
            return first, last, nullable or item.opener in LOOKAROUNDS
        if isinstance(item, Repeat):
            first, last, nullable = self.item_edges(item.body, ignores_case=ignores_case)
            if item.maximum != 1:
                self.check_pairs(last, first)
            return first, last, nullable or item.minimum == 0
        if not ignores_case:
            return "", "", isinstance(item, Anchor)
        letters = self.folded_letters(item)
        return letters, letters, False

    def folded_letters(self, item: Item) -> str:
        """The characters of an item under `(?i:`, which must be ASCII: outside it the two fold differently."""
        characters = [item] if isinstance(item, Character) else []
        if isinstance(item, Set) and not item.negated and len(item.operands) == 1:
            for member in item.operands[0]:
                characters += [member] if isinstance(member, Character) else []
                if isinstance(member, Range) and member.last.character.isascii():
                    codes = range(ord(member.first.character), ord(member.last.character) + 1)
                    characters += [Character(chr(code), chr(code)) for code in codes]
                elif not isinstance(member, Character):
                    characters = []
                    break
        letters = "".join(character.character for character in characters)
        if not letters or not letters.isascii():
            raise self.refusal("anything but ASCII characters and sets of them under `(?i:`")
        return letters.lower()

    def check_pairs(self, last: str, first: str) -> None:
        for pair in sorted(_FOLDED_PAIRS):
            if pair[0] in last and pair[1] in first:
                raise self.refusal(f"`{pair}` under `(?i:`, which Oniguruma takes for one letter too")


@dataclass(frozen=True)
class _Writer:
    """Spells a tree in the dialect that is not `source`."""

    pattern: str
    source: Dialect

    def branches(self, branches: Branches) -> str:
        return "|".join("".join(self.item(item) for item in items) for items in branches)

    def item(self, item: Item) -> str:
        match item:
            case Anchor(text):
                return (_RUST_TO_ONIGURUMA if self.source == "rust" else _ONIGURUMA_TO_RUST).get(text, text)
            case Shorthand("w") if self.source == "oniguruma":
                return _ONIGURUMA_WORD
            case Shorthand("W") if self.source == "oniguruma":
                return f"[^{_ONIGURUMA_WORD}]"
            case Group(opener, branches):
                return f"{opener}{self.branches(branches)})"
            case Repeat():
                return self.repeat(item)
            case Dot():
                return "."
            case Shorthand("w" | "W" | "h" | "H"):
                inside = self.set_item(item)
                return inside if inside.startswith("[") else f"[{inside}]"
            case _:
                return self.set_item(item)

    def repeat(self, repeat: Repeat) -> str:
        body = self.item(repeat.body)
        if repeat.mode == "+" and repeat.count.startswith("{"):
            return f"(?>{body}{repeat.count})"
        return body + repeat.count + repeat.mode

    def set_item(self, item: SetItem) -> str:
        match item:
            case Character(text):
                return text
            case Range(first, last):
                return f"{first.text}-{last.text}"
            case Property(name, negated):
                return f"\\{'P' if negated else 'p'}{{{name}}}"
            case Set(negated, operands):
                inside = "&&".join("".join(self.set_item(member) for member in members) for members in operands)
                return f"[{'^' if negated else ''}{inside}]"
            case Shorthand("h"):
                return "0-9A-Fa-f"
            case Shorthand("H"):
                return "[^0-9A-Fa-f]"
            case Shorthand("w"):
                return rf"\w{_JOINERS}" if self.source == "rust" else rf"[\w&&[^{_JOINERS}]]"
            case Shorthand("W"):
                return rf"[^\w{_JOINERS}]" if self.source == "rust" else rf"\W{_JOINERS}"
            case Shorthand(letter):
                return f"\\{letter}"
