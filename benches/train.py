"""Times one trainer in a process of its own that bench.py starts with a request on stdin.

The corpus is the same list of documents of about 10 KB for everyone. A new trainer is a function and a row of
`TRAINERS`: it trains, and gives a function that says what each merge made, the earliest first.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import corpora

DOCUMENT = 10_000  # characters

Merged = Callable[[], list[bytes]]


def merganser(documents: list[str], vocab_size: int) -> Merged:
    import merganser as mg

    tok = mg.train(documents, vocab_size=vocab_size, split="cl100k")
    return lambda: [token for token in tok.vocabulary if len(token) > 1]


def merganser_hf(documents: list[str], vocab_size: int) -> Merged:
    import merganser as mg

    tok = mg.train(documents, vocab_size=vocab_size, split="cl100k", layout="hf")
    return lambda: [token for token in tok.vocabulary if len(token) > 1]


def tokenizers(documents: list[str], vocab_size: int) -> Merged:
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

    tok = Tokenizer(models.BPE())
    split = pre_tokenizers.Split(Regex(pattern()), "isolated")
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tok.pre_tokenizer = pre_tokenizers.Sequence([split, byte_level])
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tok.train_from_iterator(
        documents, trainers.BpeTrainer(vocab_size=vocab_size, initial_alphabet=alphabet, show_progress=False)
    )
    return lambda: [unprinted(left + right) for left, right in json.loads(tok.to_str())["model"]["merges"]]


def rustbpe(documents: list[str], vocab_size: int) -> Merged:
    import rustbpe

    tok = rustbpe.Tokenizer()
    tok.train_from_iterator(iter(documents), vocab_size, pattern=pattern())
    return lambda: [token for token, rank in sorted(tok.get_mergeable_ranks(), key=lambda pair: pair[1]) if rank >= 256]


def bpeasy(documents: list[str], vocab_size: int) -> Merged:
    import bpeasy

    ranks = bpeasy.train_bpe(iter(documents), pattern(), 1000, vocab_size)
    return lambda: [token for token in sorted(ranks, key=ranks.__getitem__) if len(token) > 1]


# Distribution, trainer, and the row of merganser's that counts and breaks ties as this one does.
TRAINERS: dict[str, tuple[str, Callable[[list[str], int], Merged], str]] = {
    "merganser": ("merganser", merganser, "merganser"),
    "merganser, hf": ("merganser", merganser_hf, "merganser, hf"),
    "tokenizers": ("tokenizers", tokenizers, "merganser, hf"),
    "rustbpe": ("rustbpe", rustbpe, "merganser"),
    "bpeasy": ("bpeasy", bpeasy, "merganser"),
}


def pattern() -> str:
    from merganser.engines import pattern

    return pattern("cl100k")


def unprinted(token: str) -> bytes:
    """The bytes of a token in GPT-2's printable alphabet, where a space is `Ġ`."""
    return bytes(byte_by_character()[character] for character in token)


@cache
def byte_by_character() -> dict[str, int]:
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + place): byte for place, byte in enumerate(others)}


def peak_reset() -> None:
    """Makes the peak of this process's memory its present size (Linux)."""
    Path("/proc/self/clear_refs").write_text("5")


def memory_mb(field: str) -> float:
    status = Path("/proc/self/status").read_text().partition(f"\n{field}:")[2]
    return int(status.split()[0]) / 1024


def main() -> None:
    request: dict[str, Any] = json.load(sys.stdin)
    text = Path(request["text"]).read_bytes().decode()
    documents = corpora.cut_at_lines(text, DOCUMENT)
    del text
    distribution, trainer, _ = TRAINERS[request["trainer"]]
    importlib.import_module(distribution)
    peak_reset()
    before = memory_mb("VmRSS")
    wall, cpu = time.perf_counter(), time.process_time()
    merged = trainer(documents, request["vocab_size"])
    outcome = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    outcome |= {"peak_mb": memory_mb("VmHWM"), "before_mb": before}
    print(json.dumps(outcome | {"merged": [token.hex() for token in merged()]}))


if __name__ == "__main__":
    main()
