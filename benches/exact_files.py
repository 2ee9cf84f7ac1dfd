"""The long comparison with Hugging Face's tokenizers over random tokenizer.json files, and damaged ones.

    python benches/exact_files.py 20000          random files: ids, offsets, words, text, saved files
    python benches/exact_files.py 20000 --seed 7
    python benches/exact_files.py 1000 --damage  damaged variants of five files: typed errors or valid loads

Prints how often each component and option was tried, and each difference with the seed that makes its file.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import random_tokenizers as files

import merganser as mg


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--damage", action="store_true")
    arguments = parser.parse_args()
    # The original prints a panic for each file that it cannot run.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    start = time.perf_counter()
    run = damaged if arguments.damage else compared
    counts, num_wrong = run(range(arguments.seed, arguments.seed + arguments.count))
    for what, count in sorted(counts.items()):
        print(f"  {count:9,}  {what}")
    print(f"{num_wrong} differences in {time.perf_counter() - start:.0f} s")
    return 1 if num_wrong else 0


def compared(seeds: range) -> tuple[Counter[str], int]:
    """How often each thing was tried, and how many files are run otherwise."""
    counts: Counter[str] = Counter()
    num_wrong = 0
    for seed in seeds:
        rng = random.Random(seed)
        root = files.random_json(rng)
        texts = [files.random_text(rng) for _ in range(6)]
        theirs = files.theirs_of(root)
        if theirs is None:
            counts["refused by tokenizers"] += 1
            continue
        counts["files"] += 1
        counts.update(set(files.uses(root)))
        try:
            wrong = next(files.differences(theirs, texts), None)
        except (mg.MerganserError, ValueError, TypeError) as error:
            wrong = f"{type(error).__name__}: {error}"
        if wrong is not None:
            num_wrong += 1
            print(f"seed {seed}: {wrong[:600]}", flush=True)
    return counts, num_wrong


def damaged(seeds: range) -> tuple[Counter[str], int]:
    """How many damaged files load and how many are refused, and how many do anything else."""
    counts: Counter[str] = Counter()
    num_wrong = 0
    for seed in seeds:
        rng = random.Random(seed)
        data = files.damaged(rng, files.five_files()[seed % 5])
        begin = time.perf_counter()
        try:
            files.use(data)
            counts["loaded"] += 1
        except mg.FormatError:
            counts["refused"] += 1
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            num_wrong += 1
            print(f"seed {seed}: {type(error).__name__}: {str(error)[:300]}", flush=True)
        if (seconds := time.perf_counter() - begin) > 1:
            num_wrong += 1
            print(f"seed {seed}: {seconds:.1f} s", flush=True)
    return counts, num_wrong


if __name__ == "__main__":
    sys.exit(main())
