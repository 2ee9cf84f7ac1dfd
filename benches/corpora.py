"""The texts that are measured: those of CORPUS, and 17 adversarial files made anew from a seed."""

from __future__ import annotations

import base64
import random
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import merganser as mg

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import texts


def read(paths: list[Path]) -> Iterator[tuple[str, str]]:
    """Name and text of each path; without paths, the standard library of the running Python."""
    if not paths:
        yield "standard library", _joined(texts.code())
    for path in paths:
        yield path.name, _joined(document.decode() for document in mg.read(path, errors="skip"))


def _joined(documents: Iterable[str]) -> str:
    """The documents in a fixed random order, so that every part of the text is like the others."""
    ordered = list(documents)
    random.Random(1).shuffle(ordered)
    return "\n".join(ordered)


def parts(text: str, count: int, *, longest: int) -> list[str]:
    """`count` parts of equal length from the start of `text`, of at most `longest` characters."""
    size = max(1, min(longest, len(text) // count))
    return [text[at : at + size] for at in range(0, count * size, size)]


def cut(text: str, length: int) -> list[str]:
    return [text[at : at + length] for at in range(0, len(text), length)]


def cut_at_lines(text: str, length: int) -> list[str]:
    """Documents that end with the first line end behind `length` characters."""
    documents, start = [], 0
    while start < len(text):
        end = text.find("\n", start + length) + 1 or len(text)
        documents.append(text[start:end])
        start = end
    return documents


def adversarial(size_bytes: int) -> Iterator[tuple[str, str]]:
    """Name and text of each kind. A longer text begins with the shorter one of its kind."""
    return ((name, _repeated(snippet, size_bytes)) for name, snippet in _SNIPPETS.items())


def _repeated(snippet: Callable[[random.Random], str], size_bytes: int) -> str:
    rng, snippets, total = random.Random(7), [], 0
    while total < size_bytes:
        snippets.append(snippet(rng))
        total += len(snippets[-1].encode())
    return "".join(snippets)


def _any_of(alphabet: Iterable[str]) -> Callable[[random.Random], str]:
    choices = list(alphabet)
    return lambda rng: "".join(rng.choices(choices, k=1000))


def _minified(rng: random.Random) -> str:
    a, b, c, d = ("".join(rng.choices("abcdefgxyzABC_$", k=rng.randint(1, 2))) for _ in range(4))
    n = rng.randint(0, 99_999)
    return f'function {a}({b},{c}){{return {b}.{d}({c},{n})?!{n % 2}:"{d}-{n}"}}var {c}={a}[{n % 64}]||{{{d}:.{n}}};'


_EMOJI = ("\U0001f468\u200d\U0001f469\u200d\U0001f467", "😀", "🇫🇷", "\u2764\ufe0f", "👍🏽")
_SNIPPETS: dict[str, Callable[[random.Random], str]] = {
    "spaces": lambda rng: " " * 1000,
    "newlines": lambda rng: "\n" * 1000,
    "mixed white space": _any_of(" \t\n\r\xa0\u3000"),
    "one letter": lambda rng: "a" * 1000,
    "random letters": _any_of("abcdefghijklmnopqrstuvwxyz"),
    "one word": lambda rng: "tokenization" * 80,
    "digits": lambda rng: "1234567890" * 100,
    "one sign": lambda rng: "=" * 1000,
    "random signs": _any_of("!@#$%^&*()-_=+[]{};:,.<>/?|~"),
    "CJK, no spaces": _any_of(map(chr, range(0x4E00, 0xA000))),
    "emoji": _any_of(_EMOJI),
    "combining marks": lambda rng: "e\u0301\u0323" * 200,
    "base64": lambda rng: base64.b64encode(rng.randbytes(750)).decode(),
    "apostrophes": lambda rng: "'s't're'LL'\u017f" * 75,
    "upper, lower": lambda rng: "aB" * 500,
    "indentation": lambda rng: "".join(" " * rng.randint(0, 200) + "x\n" for _ in range(10)),
    "minified code": _minified,
}
