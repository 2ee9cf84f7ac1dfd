"""WordPiece beside tokenizers and, where it is installed, nanotoken: one process, one CPU to encode, all to train.

    python benches/wordpiece.py TOKENIZER CORPUS ...

TOKENIZER is the tokenizer.json of an uncased BERT; of each corpus, the first 15 million characters are used. Every
round compares all ids; who differs says `wrong`. A cell is the median in MB/s, and how many times that is tokenizers'.
Figures are of processor time, those of training of the clock.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import corpora
import numpy as np

PART, ROUNDS, WARM_UP = 500_000, 7, 8
DOCUMENT, VOCAB_SIZE, TRAIN_ROUNDS = 10_000, 30_000, 3
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]

Encode = Callable[[str], Any]


def main() -> None:
    path, *paths = sys.argv[1:]
    os.environ["TOKENIZERS_PARALLELISM"] = "true"
    cpus = os.sched_getaffinity(0)
    for name, text in corpora.read([Path(path) for path in paths]):
        text = text[: (WARM_UP + ROUNDS) * PART * 2]
        os.sched_setaffinity(0, [max(cpus)])
        for row, cells in encode(encoders(path), text).items():
            print(f"| {name} | {row} | " + " | ".join(cells) + " |", flush=True)
        os.sched_setaffinity(0, cpus)
        print(f"| {name} | train, {len(text.encode()) / 1e6:.0f} MB | {train(text)} |", flush=True)


def encoders(path: str) -> dict[str, Encode]:
    import tokenizers

    import merganser as mg

    original, ours = tokenizers.Tokenizer.from_file(path), mg.load(path)
    found: dict[str, Encode] = {
        "tokenizers": lambda text: original.encode(text, add_special_tokens=False).ids,
        "merganser": lambda text: ours.encode_array(text, allow_special="all"),
    }
    try:
        import nanotoken
    except ImportError:
        return found
    other = nanotoken.Tokenizer(path)
    return found | {"nanotoken": lambda text: other.encode(text, add_special_tokens=False)}


def encode(encoders: dict[str, Encode], text: str) -> dict[str, list[str]]:
    """The cells of each row, in the order of the encoders."""
    parts = corpora.parts(text, WARM_UP + ROUNDS, longest=PART)
    for part in parts[:WARM_UP]:
        for name in [name for name in encoders if name != "tokenizers"]:
            encoders[name](part)
    speeds: dict[str, dict[str, list[float]]] = {row: {name: [] for name in encoders} for row in ("unseen", "warm")}
    wrong = set()
    order = list(encoders)
    for turn, part in enumerate(parts[WARM_UP:]):
        size = len(part.encode()) / 1e6
        ids = {}
        for name in order[turn % len(order) :] + order[: turn % len(order)]:
            for row in speeds:
                start = time.process_time()
                ids[name] = encoders[name](part)
                speeds[row][name].append(size / (time.process_time() - start))
        wrong |= {name for name in order if not np.array_equal(ids[name], ids["tokenizers"])}

    def cell(row: str, name: str) -> str:
        speed, base = (statistics.median(speeds[row][of]) for of in (name, "tokenizers"))
        return f"{name} wrong" if name in wrong else f"{name} {speed:.1f} MB/s, {speed / base:.1f}x"

    return {row: [cell(row, name) for name in order] for row in speeds}


def train(text: str) -> str:
    """Seconds of both trainers in turn; tokenizers as its users call it, so that its ties fall by chance."""
    documents = corpora.cut_at_lines(text, DOCUMENT)
    trainers = {"merganser": by_merganser, "tokenizers": by_tokenizers}
    seconds: dict[str, list[float]] = {name: [] for name in trainers}
    vocabularies = {}
    for _ in range(TRAIN_ROUNDS):
        for name, trainer in trainers.items():
            start = time.perf_counter()
            vocabularies[name] = trainer(documents)
            seconds[name].append(time.perf_counter() - start)
    ours, others = (statistics.median(times) for times in seconds.values())
    common = len(vocabularies["merganser"] & vocabularies["tokenizers"])
    return (
        f"merganser {ours:.2f} s, tokenizers {others:.2f} s, {others / ours:.1f}x; "
        f"{common} of {len(vocabularies['merganser'])} tokens in common"
    )


def by_merganser(documents: list[str]) -> set[bytes]:
    import merganser as mg

    with warnings.catch_warnings(action="ignore"):
        tok = mg.train(documents, vocab_size=VOCAB_SIZE, model="wordpiece", special_tokens=SPECIAL)
    vocabulary = tok.spec.model.vocabulary
    ends = np.frombuffer(vocabulary.ends, "<u4").tolist()
    return {vocabulary.data[start:end] for start, end in pairwise([0, *ends])}


def by_tokenizers(documents: list[str]) -> set[bytes]:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    tok = Tokenizer(models.WordPiece({"[UNK]": 0}, unk_token="[UNK]"))
    tok.normalizer, tok.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=VOCAB_SIZE, special_tokens=SPECIAL, show_progress=False)
    tok.train_from_iterator(documents, trainer)
    return {token.encode() for token in tok.get_vocab()}


if __name__ == "__main__":
    main()
