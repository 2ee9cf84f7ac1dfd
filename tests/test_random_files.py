"""Random tokenizer.json files are run as Hugging Face's tokenizers runs them, and damaged ones do no harm.

`benches/exact_files.py` does the same for as long as one likes.
"""

import json
import random

import pytest
import random_tokenizers as files

import merganser as mg


@pytest.fixture(autouse=True)
def _panics_stay_short(monkeypatch):
    monkeypatch.setenv("RUST_BACKTRACE", "0")


@pytest.mark.parametrize("seed", range(0, 300, 25))
def test_a_random_file_gives_the_same_ids_offsets_and_text(seed):
    for case in range(seed, seed + 25):
        rng = random.Random(case)
        root = files.random_json(rng)
        texts = [files.random_text(rng) for _ in range(4)]
        theirs = files.theirs_of(root)
        assert theirs is None or list(files.differences(theirs, texts)) == [], f"seed {case}"


def test_the_random_files_use_every_component():
    used = {use for seed in range(300) for use in files.uses(files.random_json(random.Random(seed)))}
    kinds = {f"{place} {kind}" for place, kinds in files.COMPONENTS.items() for kind in kinds}
    assert kinds - used == set()
    assert {f"model {kind}" for kind in ("BPE", "Unigram", "WordPiece", "WordLevel")} <= used


@pytest.mark.parametrize("index", range(5))
def test_a_damaged_file_loads_or_is_a_format_error(index):
    data = files.five_files()[index]
    files.use(data)
    refused = 0
    for seed in range(20):
        try:
            files.use(files.damaged(random.Random(100 * index + seed), data))
        except mg.FormatError:
            refused += 1
    assert 10 < refused <= 20


def test_the_charsmap_of_the_random_files_is_one():
    import tokenizers

    normalizer = {"type": "Precompiled", "precompiled_charsmap": files.charsmap()}
    root = files.random_json(random.Random(0)) | {"normalizer": normalizer}
    theirs = tokenizers.Tokenizer.from_str(json.dumps(root))
    assert theirs.normalizer.normalize_str("ﬁ Ａ½\u200b x") == "fi A1⁄2 x"
