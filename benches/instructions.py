"""`make bench-instructions`: instructions of fixed workloads under callgrind, against those of instructions.json.

    make bench-instructions                    compares
    make bench-instructions FLAGS=--accept     takes the counts found as the new ones

Other people's load does not change them; another compiler or processor may. Above 3 % more is a rise, and the exit
code 1: say why in benches/LOG.md, or mend it.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
BASELINE = Path(__file__).with_name("instructions.json")
WORKLOADS = ("encode short", "encode again", "encode unseen", "encode CJK", "split", "train", "decode")
ALLOWED = 0.03


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--accept", action="store_true", help="write the counts found to instructions.json")
    accept = parser.parse_args().accept
    baseline = json.loads(BASELINE.read_text()) if BASELINE.exists() else {"instructions": {}}
    program = built()
    found = {}
    risen = False
    print(f"{'':16}{'instructions':>14}{'before':>14}{'change':>9}")
    for name in WORKLOADS:
        found[name] = instructions(program, name)
        before = baseline["instructions"].get(name)
        change = found[name] / before - 1 if before else 0.0
        risen |= change > ALLOWED
        mark = "  RISE" if change > ALLOWED else ""
        shown = f"{before:>14,}{change:>+9.1%}" if before else f"{'-':>14}{'-':>9}"
        print(f"{name:16}{found[name]:>14,}{shown}{mark}", flush=True)
    tools = {"rustc": version("rustc"), "valgrind": version("valgrind")}
    if changed := {name: was for name, was in baseline.get("tools", {}).items() if was != tools[name]}:
        print(f"before was with {', '.join(changed.values())}; now {', '.join(tools[name] for name in changed)}")
    if accept:
        BASELINE.write_text(json.dumps({"tools": tools, "instructions": found}, indent=2) + "\n")
    return 1 if risen and not accept else 0


def built() -> str:
    """The program of the workloads, built as the engine is."""
    command = ["cargo", "build", "--release", "--example", "workloads", "--message-format=json-render-diagnostics"]
    messages = subprocess.run(command, cwd=ROOT / "rust", stdout=subprocess.PIPE, encoding="utf-8", check=True).stdout
    programs = [json.loads(line).get("executable") for line in messages.splitlines()]
    return next(program for program in programs if program)


def instructions(program: str, workload: str) -> int:
    """Those within the function `measured` of the program."""
    options = ["--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=workloads::measured*"]
    done = subprocess.run(["valgrind", *options, program, workload], capture_output=True, encoding="utf-8")
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or collected is None:
        raise SystemExit(
            f"error: {workload}: expected callgrind to count, found exit code {done.returncode}\n{done.stderr}"
        )
    return int(collected[1])


def version(program: str) -> str:
    return subprocess.run([program, "--version"], capture_output=True, encoding="utf-8", check=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
