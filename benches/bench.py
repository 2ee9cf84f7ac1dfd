"""`make bench`: merganser against every peer that is installed, each row of them in one process, in turn.

    make bench                                    the standard library of the running Python
    make bench CORPUS="a.txt folder"              these files and folders of text, each a corpus
    make bench FLAGS="--quick --json out.json"    a minute; every second measured, as JSON

Where the ids are not tiktoken's there is no figure. What the rows mean: benches/README.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import corpora
import oracle  # corpora has put tests/ on the path
import peers
import report
import train

import merganser as mg
from merganser.engines import pattern
from merganser.spec import ByteLevel

HERE = Path(__file__).parent
ENCODINGS = ("gpt2", "cl100k_base", "o200k_base")
QUICK_ENCODINGS = ("cl100k_base",)
PARTS = ("encode", "adversarial", "train")
QUICK = {"rounds": 3, "part": 30_000, "adversarial": 10_000, "train": 500_000, "vocab_size": 2_000}
FULL = {"rounds": 7, "part": 4_000_000, "adversarial": 1_000_000, "train": 1 << 40, "vocab_size": 32_000}

Rows = dict[str, Any]


def main() -> int:
    options = arguments()
    options.encodings = options.encodings or (QUICK_ENCODINGS if options.quick else ENCODINGS)
    scale = (QUICK if options.quick else FULL) | ({"rounds": options.rounds} if options.rounds else {})
    wanted = options.peers or peers.LOADERS
    names = [
        name for name, (distribution, _) in peers.LOADERS.items() if name in wanted and peers.installed(distribution)
    ]
    names = list(dict.fromkeys(["tiktoken", "merganser", *names]))
    result: dict[str, Any] = {"heading": heading(names), "encode": [], "adversarial": [], "train": []}
    print(report.heading(result["heading"]), flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        oracle.tiktoken_cache(folder)
        os.environ |= {
            "TIKTOKEN_CACHE_DIR": temporary,
            "HF_HUB_OFFLINE": "1",
            "TOKENIZERS_PARALLELISM": "true",
            "RUST_BACKTRACE": "0",
            # Modules are compiled before the medians are taken, as pip compiles those that it installs.
            "PYTHONPYCACHEPREFIX": temporary,
        }
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        for encoding in options.encodings:
            vocabulary_files(encoding, folder)
        for kind, table in tables(options, scale, names, folder):
            result[kind].append(table)
            result["heading"]["load average, end"] = os.getloadavg()
            print(getattr(report, kind)(table), flush=True)
            if options.json:
                options.json.write_text(json.dumps(result, indent=1) + "\n")
    print(report.noise(result))
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    known = dict.fromkeys([*peers.LOADERS, *(distribution for distribution, *_ in train.TRAINERS.values())])
    parser.add_argument("corpus", nargs="*", type=Path, help="files and folders of text")
    parser.add_argument("--quick", action="store_true", help="little text: a minute, and noisy")
    parser.add_argument("--rounds", type=int, help="how often each is measured (7)")
    parser.add_argument("--encodings", type=some_of(ENCODINGS), metavar="A,B", help=", ".join(ENCODINGS))
    parser.add_argument("--peers", type=some_of(known), metavar="A,B", help="all that are installed")
    parser.add_argument("--parts", type=some_of(PARTS), default=PARTS, metavar="A,B", help=", ".join(PARTS))
    parser.add_argument("--json", type=Path, metavar="FILE", help="every second measured")
    return parser.parse_args()


def some_of(known: Iterable[str]) -> Callable[[str], list[str]]:
    def parse(names: str) -> list[str]:
        if strangers := set(names.split(",")) - set(known):
            raise argparse.ArgumentTypeError(f"expected some of {', '.join(known)}, found {', '.join(strangers)}")
        return names.split(",")

    return parse


def tables(
    options: argparse.Namespace, scale: dict[str, int], names: list[str], folder: Path
) -> Iterator[tuple[str, Rows]]:
    """The tables one by one, each with its kind."""
    request = {"peers": names, "folder": str(folder), "rounds": scale["rounds"], "part": scale["part"]}
    for corpus, text in corpora.read(options.corpus):
        file = folder / "corpus.txt"
        file.write_bytes(text.encode())
        about = {"corpus": corpus, "size_bytes": file.stat().st_size}
        for encoding in options.encodings if "encode" in options.parts else ():
            rows = encode_rows(request | {"encoding": encoding, "text": str(file)})
            yield "encode", about | {"encoding": encoding, "rows": rows}
        if "train" in options.parts:
            file.write_bytes(text[: scale["train"]].encode())
            yield "train", about | train_rows(trainers(options.peers), file, scale["rounds"], scale["vocab_size"])
    for encoding in options.encodings if "adversarial" in options.parts else ():
        size = scale["adversarial"]
        answer = fresh("encode.py", request | {"phase": "adversarial", "encoding": encoding, "part": size})
        yield "adversarial", {"encoding": encoding, "size_bytes": size, "rows": answer["rows"]}


def encode_rows(request: Rows) -> Rows:
    rows = {}
    runs: dict[str, list[Rows]] = {name: [] for name in request["peers"]}
    for turn in range(request["rounds"]):
        for name in [*runs][turn % len(runs) :] + [*runs][: turn % len(runs)]:
            runs[name].append(fresh("encode.py", request | {"phase": "load", "peers": [name], "part": 1_000_000}))
    for row in ("load", "cold"):
        rows[row] = {
            "sizes": [runs["tiktoken"][0]["cold"]["size"]] * request["rounds"],
            "peers": {name: cold_figures(runs, name, row) for name in runs},
        }
    for phase in ("single", "batch"):
        rows |= fresh("encode.py", request | {"phase": phase})["rows"]
    return rows


def cold_figures(runs: dict[str, list[Rows]], name: str, row: str) -> Rows:
    errors = [run["cold"]["error"] for run in runs[name] if "error" in run["cold"]]
    if errors:
        return {"error": errors[0]}
    if any(run["cold"]["digest"] != runs["tiktoken"][0]["cold"]["digest"] for run in runs[name]):
        return {"error": "wrong"}
    return {clock: [run[row][clock] for run in runs[name]] for clock in ("wall", "cpu")}


def trainers(wanted: list[str] | None) -> list[str]:
    """merganser's, and those that are installed and wanted."""
    return [
        name
        for name, (distribution, *_) in train.TRAINERS.items()
        if peers.installed(distribution) and (wanted is None or distribution in ("merganser", *wanted))
    ]


def train_rows(names: list[str], file: Path, rounds: int, vocab_size: int) -> Rows:
    runs: dict[str, list[Rows]] = {name: [] for name in names}
    for turn in range(rounds):
        for name in [*runs][turn % len(runs) :] + [*runs][: turn % len(runs)]:
            request = {"text": str(file), "trainer": name, "vocab_size": vocab_size}
            runs[name].append(fresh("train.py", request))
    rows = {}
    for name, outcomes in runs.items():
        expected = runs[train.TRAINERS[name][2]][0]["merged"]
        rows[name] = {key: [outcome[key] for outcome in outcomes] for key in ("wall", "cpu", "peak_mb", "before_mb")}
        rows[name]["merges"] = compared([outcome["merged"] for outcome in outcomes], expected)
    return {"vocab_size": vocab_size, "trained_bytes": file.stat().st_size, "rows": rows}


def compared(found: list[list[str]], expected: list[str]) -> str:
    """Whether all runs made the merges of merganser's row of the same rules, and where the first difference is."""
    for merged in found:
        if merged != expected:
            pairs = zip(merged, expected, strict=False)
            first = next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(merged), len(expected)))
            return f"{len(set(merged) & set(expected))} of {len(expected)} shared, first differs {first}"
    return "same"


def fresh(script: str, request: Rows) -> Rows:
    """The answer of a script in a process of its own."""
    command = [sys.executable, str(HERE / script)]
    done = subprocess.run(command, input=json.dumps(request), capture_output=True, encoding="utf-8")
    if done.returncode:
        raise SystemExit(f"error: {script} {request}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def vocabulary_files(encoding: str, folder: Path) -> None:
    """The files that peers read: a tokenizer.json as the hub has them, without special tokens; and the ranks."""
    tok = mg.load(encoding)
    splits = (ByteLevel() if encoding == "gpt2" else mg.Split(pattern=pattern(encoding.removesuffix("_base"))),)
    mg.Tokenizer(replace(tok.spec, splits=splits, added_tokens=(), name=None)).save(folder / f"{encoding}.json")
    ranks = f"{peers.rank_name(encoding)}.tiktoken"
    (folder / ranks).write_bytes(oracle.public_file(ranks))


def heading(names: list[str]) -> dict[str, Any]:
    """When, what and where this run is."""
    changed = git("status", "--porcelain", "--", "rust", "python")
    distributions = [peers.LOADERS[name][0] for name in names] + [row[0] for row in train.TRAINERS.values()]
    versions = {name: peers.installed(name) for name in dict.fromkeys(distributions)}
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "commit": git("rev-parse", "--short", "HEAD") + (" with changes" if changed else ""),
        "cpu": cpu_model(),
        "cpus": peers.num_cpus(),
        "load average": os.getloadavg(),
        "python": platform.python_version(),
        "versions": {name: found for name, found in versions.items() if found},
    }


def git(*arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(HERE), *arguments], capture_output=True, encoding="utf-8")
    return done.stdout.strip()


def cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor())


if __name__ == "__main__":
    sys.exit(main())
