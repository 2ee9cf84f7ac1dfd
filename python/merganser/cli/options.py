"""What can be typed: the options that commands share, and their values read."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from merganser import Split, Tokenizer
    from merganser.tokenizer import AllowSpecial


def one_of(*choices: str) -> Callable[[str], str]:
    """A reader of options that takes one of `choices`."""

    def parse(value: str) -> str:
        if value not in choices:
            raise typer.BadParameter(f"expected {', '.join(choices[:-1])} or {choices[-1]}, found `{value}`")
        return value

    return parse


def whole_number(least: int) -> Callable[[str | int], int]:
    """A reader of options that takes whole numbers: 32000, 32_000 and 32k are the same one."""

    def parse(value: str | int) -> int:
        number = re.fullmatch(r"([0-9][0-9_]{0,18})(k?)", str(value))
        found = -1 if number is None else int(number[1].replace("_", "")) * (1000 if number[2] else 1)
        if found < least:
            raise typer.BadParameter(f"expected a whole number, {least} or more, found `{value}`")
        return found

    return parse


def name_and_id(value: str) -> str:
    """A reader of options that takes NAME=ID."""
    if re.fullmatch(r".+=[0-9]{1,10}", value, re.DOTALL) is None:
        raise typer.BadParameter(f"expected a name and an id, as `<|endoftext|>=50256`, found `{value}`")
    return value


def text(argument: str) -> str:
    """An argument as it was typed, in UTF-8, though Python may have read it in the locale's encoding."""
    return os.fsencode(argument).decode("utf-8", "replace")


def load(name: str, split_name: str | None, special: list[str] | None) -> Tokenizer:
    """The tokenizer that `--tokenizer`, `--split` and `--special` name."""
    import merganser as mg

    pairs = (pair.rpartition("=") for pair in special or ())
    special_tokens = {text(content): int(id) for content, _, id in pairs}
    if split_name is not None:
        return mg.load(name, split=split(split_name), special_tokens=special_tokens)
    tokenizer = mg.load(name)
    return tokenizer.with_special_tokens(special_tokens) if special_tokens else tokenizer


def split(name: str) -> str | Split | None:
    """What `--split` says: a published pattern's name, `none`, or else a pattern."""
    from merganser import Split

    if name == "none":
        return None
    return name if re.fullmatch(r"[\w-]+", name) else Split(pattern=text(name))


def allowed(names: list[str] | None) -> AllowSpecial:
    """What `--allow-special` says: names, or `all`."""
    return "all" if names and "all" in names else [text(name) for name in names or ()]


Files = Annotated[list[str] | None, typer.Argument(metavar="FILES", hidden=True)]
TokenizerName = Annotated[
    str, typer.Option("-t", "--tokenizer", metavar="NAME|PATH", help="A bundled name, a file or a folder.")
]
SplitName = Annotated[
    str | None,
    typer.Option("--split", metavar="NAME", help="Of a .tiktoken file: gpt2, cl100k, o200k or a pattern."),
]
SpecialIds = Annotated[
    list[str] | None,
    typer.Option(
        "--special", metavar="NAME=ID", parser=name_and_id, help="A special token to add; repeat it for more."
    ),
]
AllowNames = Annotated[
    list[str] | None,
    typer.Option("--allow-special", metavar="NAME|all", help="A special token to find in text; repeat it for more."),
]
ReadErrors = Annotated[
    Literal["strict", "replace", "skip"],
    typer.Option(
        "--errors",
        metavar="strict|replace|skip",
        parser=one_of("strict", "replace", "skip"),
        help="Files that are not UTF-8: stop, read U+FFFD, leave out.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Write JSON.")]
