"""GPT-2's byte alphabet: a printable character for each byte, so that tokens can stand in JSON.

Printable Latin-1 characters stand for themselves; the 68 other bytes, in order, are the characters from U+0100 on.
"""

from __future__ import annotations

import codecs
import re


def _alphabet() -> str:
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x144))
    return "".join(chr(byte if byte in printable else next(others)) for byte in range(256))


# Character of each byte, in order.
ALPHABET = _alphabet()
_BYTE_BY_CHARACTER = codecs.charmap_build(ALPHABET)
_CODE_BY_BYTE = dict(enumerate(map(ord, ALPHABET)))
is_spelled = re.compile(f"[{re.escape(ALPHABET)}]*").fullmatch


def spell(data: bytes) -> str:
    """`data` in the alphabet.

    >>> spell(b" the")
    'Ġthe'
    """
    return codecs.charmap_decode(data, "strict", _CODE_BY_BYTE)[0]


def unspell(text: str) -> bytes:
    """The bytes that `text`, all of it in the alphabet, stands for.

    >>> unspell("Ġthe")
    b' the'

    Raises `UnicodeEncodeError` for other characters.
    """
    return codecs.charmap_encode(text, "strict", _BYTE_BY_CHARACTER)[0]
