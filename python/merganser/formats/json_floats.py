"""Decimal fractions in JSON as Rust's serde_json takes them, which Hugging Face's tokenizers reads with.

It multiplies or divides the digits by a power of ten, so that one in four scores of a model is a unit in the last place
away from the nearest number; sums of such scores tie, or do not, by these units. So they are read in the same way, and
written in a way that it reads as meant.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from fractions import Fraction

_parts = re.compile(r"(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?").fullmatch
_POWERS = [float(f"1e{exponent}") for exponent in range(309)]
_MAX_STEPS = 40
_MAX_DIGITS = (1 << 64) - 1


def read(text: str) -> float:
    """The number that a JSON number with a fraction or an exponent stands for.

    >>> read("-2.0122928619384766"), float("-2.0122928619384766")
    (-2.012292861938477, -2.0122928619384766)
    """
    found = _parts(text)
    if found is None:
        return float(text)
    sign, whole, fraction, exponent_text = found.groups()
    digits, exponent = _digits(whole, fraction or "")
    # More than four digits of it are as good as infinity.
    exponent += int(exponent_text[:7] if exponent_text else 0)
    value = float(digits)
    while value and exponent < -308:
        value /= 1e308
        exponent += 308
    if value and exponent > 308:
        value = math.inf
    elif value:
        value = value * _POWERS[exponent] if exponent >= 0 else value / _POWERS[-exponent]
    return -value if sign else value


def _digits(whole: str, fraction: str) -> tuple[int, int]:
    """As many digits as fit 64 bits, the others left out, and the power of ten that goes with them."""
    digits = 0
    for place, digit in enumerate(whole):
        if digits * 10 + int(digit) > _MAX_DIGITS:
            return digits, len(whole) - place
        digits = digits * 10 + int(digit)
    for place, digit in enumerate(fraction):
        if digits * 10 + int(digit) > _MAX_DIGITS:
            return digits, -place
        digits = digits * 10 + int(digit)
    return digits, -len(fraction)


def write(number: float) -> str:
    """A finite number in digits that `read` takes for it.

    >>> write(-0.1), read(write(-2.0122928619384766))
    ('-0.1', -2.0122928619384766)
    """
    return next((text for text in _spellings(number) if read(text) == number), repr(number))


def _spellings(number: float) -> Iterator[str]:
    """Decimals at `number` and around it, ever farther."""
    yield repr(number)
    yield from (f"{number:.{digits}e}" for digits in (16, 17, 18))
    for towards in (-math.inf, math.inf):
        near = number
        for _ in range(4):
            near = math.nextafter(near, towards)
            yield from (repr(near), f"{near:.17e}", f"{near:.18e}")
    if number == 0:
        return
    place = math.floor(math.log10(abs(number)))
    for num_digits in (17, 18, 19, 20):
        exponent = place + 1 - num_digits
        digits = round(Fraction(number) / Fraction(10) ** exponent)
        for step in sorted(range(-_MAX_STEPS, _MAX_STEPS + 1), key=abs):
            yield f"{digits + step}e{exponent}"
