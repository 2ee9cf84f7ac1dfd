"""The tables of a run, 80 columns wide, from what bench.py measured."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from statistics import median, quantiles
from typing import Any

WIDTH = 80
PEERS_A_TABLE = 3  # beside tiktoken

Table = dict[str, Any]


def heading(run: Table) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in run["versions"].items())
    load = " ".join(f"{load:.1f}" for load in run["load average"])
    return "\n".join(
        [
            f"{run['date']}, commit {run['commit']}",
            f"{run['cpu']}, {run['cpus']} CPUs, load average {load}",
            *textwrap.wrap(f"Python {run['python']}, {versions}", WIDTH),
            "",
            "MB/s of UTF-8 by the clock; times as fast as tiktoken by the clock, and in",
            "processor time. Medians; load is in ms, short in µs a call.",
        ]
    )


def encode(table: Table) -> str:
    rows = table["rows"]
    names = [name for name in next(iter(rows.values()))["peers"] if name != "tiktoken"]
    lines = [f"\n{table['encoding']}, {table['corpus']} ({table['size_bytes'] / 1e6:.1f} MB)"]
    for start in range(0, len(names), PEERS_A_TABLE):
        shown = names[start : start + PEERS_A_TABLE]
        lines.append(f"{'':17}{'tiktoken':>9}" + "".join(f"{name:>18}" for name in shown))
        for row, measured in rows.items():
            base = measured["peers"]["tiktoken"]
            first = "error" if "error" in base else number(figure(row, measured, base))
            cells = "".join(cell(row, measured, name) for name in shown)
            lines.append(f"{row:17}{first:>9}{cells}".rstrip())
    return "\n".join(lines)


def cell(row: str, measured: Table, name: str) -> str:
    peer, base = measured["peers"].get(name), measured["peers"]["tiktoken"]
    if peer is None or "error" in peer:
        return f"{'-' if peer is None else reason(peer['error']):>18}"
    if "error" in base:
        return f"{number(figure(row, measured, peer)):>18}"
    wall, cpu = (number(median(ratios(base[clock], peer[clock]))) + "x" for clock in ("wall", "cpu"))
    return f"{number(figure(row, measured, peer)):>6}{wall:>6}{cpu:>6}"


def figure(row: str, measured: Table, peer: Table) -> float:
    if row == "load":
        return 1e3 * median(peer["wall"])
    if row.endswith("short"):
        return 1e6 * median(ratios(peer["wall"], measured["sizes"]))
    return 1e-6 * median(ratios(measured["sizes"], peer["wall"]))


def ratios(above: list[float], below: list[float]) -> list[float]:
    return [a / b for a, b in zip(above, below, strict=True)]


def number(value: float) -> str:
    """Three digits, more only before the point."""
    return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f}"


def reason(error: str) -> str:
    return error if len(error) < 17 else "failed"


def adversarial(table: Table) -> str:
    """Milliseconds of processor time, and how merganser's grow."""
    rows = table["rows"]
    names = list(next(iter(rows.values()))["peers"])
    size = table["size_bytes"] / 1e6
    lines = [f"\n{table['encoding']}, adversarial: ms of processor time for {size:g} MB, first pass"]
    growing = {name: max(map(median, row["growth"].values())) for name, row in rows.items()}
    for start in range(0, len(names), 4):
        shown = names[start : start + 4]
        lines.append(f"{'':18}" + "".join(f"{name:>12}" for name in shown) + f"{'time 2n/n':>12}")
        for row, measured in rows.items():
            cells = "".join(f"{milliseconds(measured['peers'][name]):>12}" for name in shown)
            lines.append(f"{row:18}{cells}{growing[row]:>12.2f}")
        worst = "".join(f"{slowest(rows, name):>12}" for name in shown)
        lines.append(f"{'slowest':18}{worst}{max(growing.values()):>12.2f}")
    if any(peer.get("unproven") for row in rows.values() for peer in row["peers"].values()):
        lines.append("* tiktoken failed, so these ids were not compared")
    return "\n".join(lines)


def milliseconds(peer: Table) -> str:
    if "error" in peer:
        return reason(peer["error"])[:11]
    return f"{1e3 * median(peer['cpu']):.1f}" + ("*" if peer["unproven"] else "")


def slowest(rows: Table, name: str) -> str:
    peers = [row["peers"][name] for row in rows.values()]
    return "-" if any("error" in peer for peer in peers) else f"{1e3 * max(median(peer['cpu']) for peer in peers):.1f}"


def train(table: Table) -> str:
    size = f"{table['trained_bytes'] / 1e6:.1f} MB of {table['corpus']}"
    lines = [f"\ntraining: {size}, {table['vocab_size']} tokens, the split of cl100k"]
    lines.append(f"{'':15}{'seconds':>8}{'CPU s':>8}{'peak MB':>9}{'+MB':>6}  merges")
    for name, row in table["rows"].items():
        peak, before = median(row["peak_mb"]), median(row["before_mb"])
        seconds = f"{median(row['wall']):>8.2f}{median(row['cpu']):>8.2f}"
        lines.append(f"{name:15}{seconds}{peak:>9.0f}{peak - before:>6.0f}  {row['merges']}")
    return "\n".join(lines)


def noise(result: Table) -> str:
    """How far apart the rounds lay: the middle half of the ratios of each cell, as a part of the median."""
    start, end = (
        " ".join(f"{load:.1f}" for load in result["heading"][key]) for key in ("load average", "load average, end")
    )
    lines = ["", f"load average {start} at the start, {end} at the end"]
    for clock, words in (("wall", "by the clock"), ("cpu", "in processor time")):
        spreads = sorted(spread for table in result["encode"] for spread in spreads_of(table, clock))
        if spreads:
            lines.append(
                f"noise {words}: the middle half of a cell's ratios spans {median(spreads):.0%} of it, "
                f"{spreads[-1]:.0%} at worst"
            )
    return "\n".join(line for long in lines for line in textwrap.wrap(long, WIDTH) or [""])


def spreads_of(table: Table, clock: str) -> Iterator[float]:
    for row in table["rows"].values():
        base = row["peers"]["tiktoken"]
        for name, peer in row["peers"].items():
            if name != "tiktoken" and "error" not in peer and "error" not in base and len(peer[clock]) > 1:
                found = ratios(base[clock], peer[clock])
                low, _, high = quantiles(found, n=4)
                yield (high - low) / median(found)
