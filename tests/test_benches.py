"""`make bench` runs: what it prints and writes, not how fast."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import texts

BENCH = Path(__file__).parent.parent / "benches" / "bench.py"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """What a quick run over a tiny text prints, and its JSON."""
    folder = tmp_path_factory.mktemp("bench")
    (folder / "tiny.txt").write_text("\n".join(texts.LANGUAGES.values()), encoding="utf-8")
    options = ["--quick", "--rounds", "1", "--peers", "rustbpe", "--json", "run.json"]
    command = [sys.executable, BENCH, *options, "tiny.txt"]
    done = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads((folder / "run.json").read_text())


def test_the_tables_fit_a_terminal(run):
    printed, _ = run
    assert [line for line in printed.splitlines() if len(line) > 80] == []


def test_every_row_compares_merganser_with_tiktoken(run):
    _, measured = run
    (table,) = measured["encode"]
    assert len(table["rows"]) == 13
    assert len(measured["adversarial"][0]["rows"]) == 17
    for row in (*table["rows"].values(), *measured["adversarial"][0]["rows"].values()):
        assert len(row["peers"]["tiktoken"]["wall"]) == len(row["peers"]["merganser"]["wall"]) == 1


def test_training_finds_the_merges_of_each_peer(run):
    _, measured = run
    assert {name: row["merges"] for name, row in measured["train"][0]["rows"].items()} == dict.fromkeys(
        ("merganser", "merganser, hf", "rustbpe"), "same"
    )


def test_wrong_ids_take_the_figures_away():
    sys.path.insert(0, str(BENCH.parent))
    try:
        import encode
        import peers
    finally:
        sys.path.remove(str(BENCH.parent))
    right = peers.Peer(list=lambda text: [1, 2], decode=lambda ids: "")
    wrong = peers.Peer(list=lambda text: [2, 1], decode=lambda ids: "")
    measured = encode.race("list", {"tiktoken": right, "wrong": wrong}, ["ab", "ab"], encode.num_bytes)
    assert measured["peers"]["wrong"] == {"error": "wrong"}
    assert len(measured["peers"]["tiktoken"]["wall"]) == 2


def test_pieces_of_random_strings_are_those_of_oniguruma():
    command = [sys.executable, BENCH.parent / "oniguruma.py", "--parts", "unicode,bytes", "--count", "500"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(" 500 texts") == 2 * 14
