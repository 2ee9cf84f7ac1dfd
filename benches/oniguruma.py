"""`make exact`, second half: pieces against Oniguruma's, through `tokenizers`, pattern by pattern.

    benches/oniguruma.py                          every part below, without a corpus
    benches/oniguruma.py a.txt folder             and the files of these paths
    benches/oniguruma.py --parts strings --patterns gpt2,qwen2
    benches/oniguruma.py --cards --count 20000    other models' patterns, from rust/src/split/cards.rs

| part | what |
|---|---|
| corpus | the files, 10,000 characters at a time |
| codepoints | every code point alone and in four contexts |
| strings | all strings over one character of each class, up to the longest length (6 at most) under `--limit` strings |
| unicode, bytes | a million random strings each (`--count`); bytes that are not UTF-8 are read as U+FFFD |

The patterns are those of tokenizer.json files, in Oniguruma's dialect; merganser reads them as it reads such a file.
Prints what was equal by pattern and part, and the first difference of each.
"""

from __future__ import annotations

import argparse
import itertools
import platform
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import pre_tokenizers

import merganser as mg
from merganser import _core
from merganser.formats import dialects

ROOT = Path(__file__).parent.parent
PARTS = ("corpus", "codepoints", "strings", "unicode", "bytes")
CONTEXTS = ("{}", "a{}", " {}", "{}1", "{}\n")
BLOCK = 10_000

DEEPSEEK = (
    r"\p{N}{1,3}",
    "[一-龥぀-ゟ゠-ヿ]+",
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
    "| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
)
# Digits and Punctuation of tokenizers as patterns.
DIGIT = r"\p{N}"
PUNCTUATION = r"[!-/:-@\[-`{-~\p{P}]+"


@dataclass(frozen=True)
class Case:
    """A split as `tokenizers` runs it, and as merganser does."""

    theirs: Any
    steps: list[tuple[str, str]]
    pieces: Callable[[str | bytes], list[str]]

    def expected(self, text: str) -> list[str]:
        return [text[start:end] for _, (start, end) in self.theirs.pre_tokenize_str(text)]

    def representatives(self) -> list[str]:
        """A character of each class that the pattern tells apart."""
        return [chr(int(line)) for line in campaign("classes", *(pattern for _, pattern in self.steps)).split()]


def cases() -> dict[str, Case]:
    """By name: the published patterns, and the sequences of DeepSeek-V3, StarCoder and Falcon."""
    patterns = {name: dialects.oniguruma_from_rust(pattern) for name, pattern in sorted(_core.patterns().items())}
    clip = patterns.pop("clip")
    found = {name: case([split(pattern)], [pattern]) for name, pattern in patterns.items()}
    found["clip"] = case([split(clip, "removed", invert=True)], [clip], unmatched="drop")
    found["deepseek-v3"] = case(map(split, DEEPSEEK), DEEPSEEK)
    gpt2 = pre_tokenizers.ByteLevel(add_prefix_space=False)
    found["starcoder"] = case([pre_tokenizers.Digits(individual_digits=True), gpt2], [DIGIT, patterns["gpt2"]])
    falcon = pre_tokenizers.Punctuation("contiguous")
    found["falcon, to its ByteLevel"] = case([falcon, gpt2], [PUNCTUATION, patterns["gpt2"]])
    return found


def cards() -> dict[str, Case]:
    """The splits of model cards that have the same meaning in Rust's dialect; says which have not."""
    found: dict[str, Case] = {}
    for card in campaign("cards").split("\x1e")[:-1]:
        name, _, *patterns, _ = card.split("\x1f")
        try:
            found[name] = case(map(split, patterns), patterns)
        except mg.FormatError as error:
            print(f"{name}: refused, {error}", flush=True)
    return found


def campaign(*arguments: str) -> str:
    """What the campaign against fancy-regex prints."""
    example = ("cargo", "run", "--quiet", "--release", "--manifest-path", "rust/Cargo.toml", "--example")
    command = (*example, "split_campaign", "--", *arguments)
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, encoding="utf-8").stdout


def split(pattern: str, behavior: str = "isolated", *, invert: bool = False) -> pre_tokenizers.Split:
    return pre_tokenizers.Split(tokenizers.Regex(pattern), behavior, invert)


def case(theirs: Iterable[Any], patterns: Iterable[str], *, unmatched: str = "keep") -> Case:
    steps = [(unmatched, dialects.rust_from_oniguruma(pattern)) for pattern in patterns]
    numbers = b"".join(number.to_bytes(4, "little") for number in range(257))
    engine = _core.Engine(
        data=bytes(range(256)),
        ends=numbers[4:],
        ids=numbers[:-4],
        semantics="merges",
        ranks=b"",
        merges=b"",
        ignore_merges=False,
        normalizers=[],
        splits=steps,
        added=[],
    )
    allowed = engine.allow(None)
    theirs = list(theirs)
    joined = theirs[0] if len(theirs) == 1 else pre_tokenizers.Sequence(theirs)
    return Case(theirs=joined, steps=steps, pieces=lambda text: engine.pieces(text, allowed, (True, True)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--patterns")
    parser.add_argument("--cards", action="store_true")
    parser.add_argument("--limit", type=int, default=20_000_000)
    parser.add_argument("--count", type=int, default=1_000_000)
    options = parser.parse_args()
    known = cards() if options.cards else cases()
    chosen = {name: case for name, case in known.items() if not options.patterns or name in options.patterns.split(",")}
    differences = 0
    for part in options.parts.split(","):
        for name, case in chosen.items():
            start = time.perf_counter()
            count, size, difference = compare(case, texts(part, case, options))
            seconds = time.perf_counter() - start
            print(f"{part:10} {name:25} {count:12,} texts {size:15,} bytes {seconds:6.0f} s", flush=True)
            if difference:
                differences += 1
                print(f"  DIFFERS on {difference[0]!r}: expected {difference[1]}, found {difference[2]}", flush=True)
    print(f"{differences} differences; tokenizers {tokenizers.__version__}, {platform.machine()}, {date.today()}")
    return 1 if differences else 0


def compare(case: Case, texts: Iterable[str | bytes]) -> tuple[int, int, tuple[str, list[str], list[str]] | None]:
    """How many texts and bytes were compared, and the first difference, which ends the comparison."""
    count = size = 0
    for text in texts:
        as_text = text if isinstance(text, str) else text.decode(errors="replace")
        count += 1
        size += len(text) if as_text.isascii() else len(as_text.encode())
        if (found := case.pieces(text)) != (expected := case.expected(as_text)):
            return count, size, (as_text[:200], expected[:20], found[:20])
    return count, size, None


def texts(part: str, case: Case, options: argparse.Namespace) -> Iterator[str | bytes]:
    match part:
        case "corpus":
            return corpus(options.paths)
        case "codepoints":
            return (context.replace("{}", c) for c in code_points() for context in CONTEXTS)
        case "strings":
            return strings(case.representatives(), options.limit)
        case "unicode":
            return unicode_strings(options.count)
        case "bytes":
            return byte_strings(options.count)
        case _:
            raise SystemExit(f"parts: expected some of {', '.join(PARTS)}, found {part!r}")


def corpus(paths: Iterable[Path]) -> Iterator[str]:
    for path in paths:
        for document in mg.read(path, errors="skip"):
            text = document.decode()
            yield from (text[at : at + BLOCK] for at in range(0, len(text), BLOCK))


def code_points() -> Iterator[str]:
    return (chr(point) for point in range(0x110000) if not 0xD800 <= point < 0xE000)


def strings(alphabet: list[str], limit: int) -> Iterator[str]:
    total = 0
    for length in range(1, 7):
        total += len(alphabet) ** length
        if length > 1 and total > limit:
            return
        yield from map("".join, itertools.product(alphabet, repeat=length))


@cache
def unicode_strings(count: int) -> list[str]:
    """Up to 15 characters: any, those of one block, ASCII, and what patterns tell apart."""
    rng = random.Random(1)
    anything, ascii = [*code_points()], [*map(chr, range(128))]
    told_apart = (
        "'sStTrRvVeEmMlLdD \t\n\r\u00a0\u3000\u2003\u0085\u200b\u0301\u0903\u20dd²½٣Ⅷ漢ひカ々ǅʰªſK…。€$+-/_👍\u200d"
    )
    found: list[str] = []
    for _ in range(count):
        block = rng.randrange(0, len(anything) - 64)
        pools = (anything, anything[block : block + 64], ascii, told_apart, told_apart)
        found.append("".join(rng.choice(rng.choice(pools)) for _ in range(rng.randint(1, 15))))
    return found


@cache
def byte_strings(count: int) -> list[bytes]:
    """Up to 23 bytes: any, ASCII, and such as begin and go on with characters."""
    rng = random.Random(2)
    pools = (range(256), range(128), range(0xC0, 0x100), range(0x80, 0xC0))
    return [bytes(rng.choice(rng.choice(pools)) for _ in range(rng.randint(1, 23))) for _ in range(count)]


if __name__ == "__main__":
    sys.exit(main())
