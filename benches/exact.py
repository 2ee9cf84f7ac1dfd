"""`make exact`: the long comparison with tiktoken. Every id of every text, and every text back from its ids.

    make exact                    the standard library, hand-written texts, every code point, random and hostile
                                  strings, a million random byte strings
    make exact CORPUS="a.txt b/"  and the files of these paths

Prints the bytes compared by kind and each difference. Where tiktoken or the split gives up, that is counted apart.
Then `oniguruma.py` compares pieces, pattern by pattern, with those of `tokenizers`.
"""

from __future__ import annotations

import platform
import sys
import time
from collections import Counter
from collections.abc import Iterator
from datetime import date
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import oracle
import texts
from oniguruma import byte_strings

import merganser as mg

ENCODINGS = ("gpt2", "r50k_base", "p50k_base", "p50k_edit", "cl100k_base", "o200k_base", "o200k_harmony")
BLOCK = 200_000


def main() -> int:
    totals: Counter[str] = Counter()
    differences = 0
    start = time.perf_counter()
    for name in ENCODINGS:
        tok, encoding = mg.load(name), oracle.encoding(name)
        for kind, text, data in corpus([Path(path) for path in sys.argv[1:]]):
            try:
                expected = encoding.encode_ordinary(text)
            except BaseException as error:  # tiktoken's regex giving up is a PanicException
                if isinstance(error, KeyboardInterrupt):
                    raise
                totals[f"{kind}: tiktoken gave up"] += 1
                expected = None
            try:
                ids = tok.encode(text if data is None else data, errors="replace")
            except mg.TextError as error:
                totals[f"{kind}: gave up"] += 1
                print(f"{name} {kind}: {error}")
                continue
            totals[kind] += len(text.encode())
            if tok.decode(ids) != text or (expected is not None and ids != expected):
                differences += 1
                print(f"{name} {kind}: DIFFERS on {text[:200]!r}")
        print(f"{name}: {sum(totals.values()):,} bytes so far, {differences} differences", flush=True)
    for kind, total in sorted(totals.items()):
        print(f"  {kind:32} {total:15,}")
    seconds = time.perf_counter() - start
    print(f"{differences} differences in {seconds:.0f} s; {platform.machine()}, {date.today()}")
    return 1 if differences else 0


def corpus(paths: list[Path]) -> Iterator[tuple[str, str, bytes | None]]:
    """Kind and text; where bytes are given, merganser reads those and finds the text in them."""
    for path in paths:
        for document in mg.read(path, errors="skip"):
            yield from (("corpus", block, None) for block in blocks(document.decode()))
    yield from (("standard library", block, None) for text in texts.code() for block in blocks(text))
    yield from (("languages", text, None) for text in texts.LANGUAGES.values())
    yield from (("code points", text, None) for text in texts.code_points())
    yield from (("hostile", text, None) for text in texts.ADVERSARIAL)
    yield from (("long runs", text, None) for text in long_runs())
    yield from (("random", text, None) for text in texts.random_texts(seed=1, count=100_000))
    yield from (("random bytes", data.decode(errors="replace"), data) for data in byte_strings(1_000_000))


def blocks(text: str) -> Iterator[str]:
    return (text[at : at + BLOCK] for at in range(0, len(text), BLOCK))


def long_runs() -> Iterator[str]:
    for unit in ("a", "A", "^", "0", "'s", " ", "\n", "\t ", "é", "漢", "\u0301", "👍", "-", "=", "\u3000"):
        for length in (1_000, 100_000):
            yield from (unit * length, unit * length + "x")


if __name__ == "__main__":
    sys.exit(main())
