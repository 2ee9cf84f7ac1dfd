"""What the arguments of `prepare` and the Spec say together: how rows are cut, and what they are filled up with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from merganser import arguments
from merganser.errors import TextError, TokenIdError
from merganser.spec import MAX_ID, Padding, Spec, Surroundings, Truncation

Strategy = Literal["longest_first", "only_first", "only_second"]
Side = Literal["left", "right"]

_STRATEGIES = ("longest_first", "only_first", "only_second")
_SIDES = ("left", "right")


@dataclass(frozen=True, kw_only=True)
class Options:
    """The arguments of `prepare` that cut and fill up rows. None is what the Spec says."""

    truncation: bool | Strategy | None
    max_length: int | None
    stride: int | None
    truncation_side: Side | None
    padding: bool | Literal["longest", "max_length"] | None
    pad_to_multiple_of: int | None
    padding_side: Side | None
    pad_token: str | int | None

    def __post_init__(self) -> None:
        _check_choice("truncation", self.truncation, (True, False, *_STRATEGIES))
        _check_choice("padding", self.padding, (True, False, "longest", "max_length"))
        for name in ("truncation_side", "padding_side"):
            _check_choice(name, getattr(self, name), _SIDES)
        for name, least in (("max_length", 0), ("stride", 0), ("pad_to_multiple_of", 1)):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < least):
                raise TextError(
                    f"{name}: expected an integer of {least} or more, found {value!r}",
                    hint=f"leave {name} out for what the tokenizer's files say",
                )

    def truncation_of(self, spec: Spec) -> Truncation | None:
        """How rows are cut, or None.

        As in transformers, `max_length` alone asks for it, unless it says how far to pad.

        Raises `TextError` where no length is known.
        """
        given = spec.truncation
        if self.truncation is None:
            is_asked = given is not None or (self.max_length is not None and self.padding in (None, False))
        else:
            is_asked = self.truncation is not False
        if not is_asked:
            return None
        length = self.max_length
        if length is None:
            length = spec.surroundings.max_length if given is None else given.max_length
        if length is None:
            raise TextError(
                "max_length: expected a number of tokens to truncate to, found none",
                hint=f"pass max_length=: {_source(spec)}",
            )
        side = self.truncation_side or (spec.surroundings.truncation_side if given is None else given.side)
        truncation = replace(given or Truncation(max_length=length), max_length=length, side=side or "right")
        if isinstance(self.truncation, str):
            truncation = replace(truncation, strategy=self.truncation)
        return truncation if self.stride is None else replace(truncation, stride=self.stride)

    def padding_of(self, spec: Spec, token_to_id: Callable[[str], int | None]) -> Padding | None:
        """What rows are filled up with, or None.

        Raises `TextError` where no length is known, and `TokenIdError` where no token to fill up with is.
        """
        given = spec.padding
        if self.padding is False or (self.padding is None and given is None):
            return None
        length = None if given is None or self.padding is not None else given.length
        if self.padding == "max_length":
            length = spec.surroundings.max_length if self.max_length is None else self.max_length
            if length is None:
                raise TextError(
                    'max_length: expected a number of tokens for padding="max_length", found none',
                    hint='pass max_length=, or padding="longest"',
                )
        return Padding(
            length=length,
            multiple_of=self.pad_to_multiple_of or (given and given.multiple_of),
            side=self.padding_side or (given and given.side) or spec.surroundings.padding_side or "right",
            id=self._pad_id(spec, token_to_id),
            type_id=0 if given is None else given.type_id,
        )

    def _pad_id(self, spec: Spec, token_to_id: Callable[[str], int | None]) -> int:
        token = self.pad_token
        if token is None and spec.padding is not None:
            return spec.padding.id
        if token is None:
            token = dict(spec.surroundings.roles).get("pad_token")
        if token is None:
            raise TokenIdError(
                "pad_token: expected a token to fill rows up with, found none",
                hint=f"pass pad_token=: {_source(spec)}",
            )
        if not isinstance(token, str):
            return arguments.whole_number("pad_token", token, 0, MAX_ID, error=TokenIdError)
        id = token_to_id(token)
        if id is None:
            whose = "" if self.pad_token is None else "pass one that this tokenizer has, or "
            raise TokenIdError(
                f"pad_token: expected a token of the vocabulary, found {token!r}",
                hint=f"{whose}add it: `add_tokens([{token!r}], special=True)`",
            )
        return id


def _source(spec: Spec) -> str:
    """Why the files did not say it: they stand beside a tokenizer.json, and many have that file alone."""
    if spec.surroundings == Surroundings():
        return "no tokenizer_config.json, which may name one, was beside this tokenizer's file"
    return "this tokenizer's files name none"


def _check_choice(name: str, value: object, choices: tuple[bool | str, ...]) -> None:
    if value is not None and not (isinstance(value, bool | str) and value in choices):
        raise TextError(
            f"{name}: expected one of {', '.join(map(repr, choices))}, found {value!r}",
            hint=f"leave {name} out for what the tokenizer's files say",
        )
