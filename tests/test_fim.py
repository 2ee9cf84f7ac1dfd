"""fim: documents with their middle at the end."""

import random

import pytest
import texts

import merganser as mg
from merganser.errors import TokenIdError
from merganser.fim import SPECIAL_TOKENS, fim

DOCUMENT = texts.LANGUAGES["French"] + texts.LANGUAGES["Japanese"] + " 👩‍👩‍👧"
PREFIX, MIDDLE, SUFFIX = SPECIAL_TOKENS


def parts(tok, ids, *, mode="psm"):
    """Prefix, middle and suffix that `ids` stand for; under spm, prefix and middle in one."""
    prefix_id, middle_id, suffix_id = map(tok.special_tokens.get, SPECIAL_TOKENS)
    suffix, middle = ids.index(suffix_id), ids.index(middle_id)
    assert ids[0] == prefix_id
    assert suffix < middle
    if mode == "spm":
        assert suffix == 1
    return [tok.decode(ids[start:end]) for start, end in ((1, suffix), (middle + 1, len(ids)), (suffix + 1, middle))]


@pytest.mark.parametrize("seed", range(20))
def test_the_parts_in_their_order_are_the_document(cl100k, seed):
    prefix, middle, suffix = parts(cl100k, fim(DOCUMENT, cl100k, rate=1.0, seed=seed))
    assert prefix + middle + suffix == DOCUMENT
    assert "\ufffd" not in prefix + middle + suffix


@pytest.mark.parametrize("seed", range(20))
def test_spm_has_the_suffix_first_and_the_same_cuts(cl100k, seed):
    prefix, middle, suffix = parts(cl100k, fim(DOCUMENT, cl100k, rate=1.0, seed=seed))
    ids = fim(DOCUMENT, cl100k, rate=1.0, seed=seed, mode="spm")
    assert parts(cl100k, ids, mode="spm") == ["", prefix + middle, suffix]
    assert ids[ids.index(100259) + 1 :] == cl100k.encode(prefix) + cl100k.encode(middle)


def test_each_part_is_encoded_by_itself(cl100k):
    ids = fim("def add(a, b): return a + b", cl100k, rate=1.0, seed=4)
    text = f"{PREFIX}def add(a,{SUFFIX} return a + b{MIDDLE} b):"
    assert cl100k.decode(ids) == text
    assert ids == cl100k.encode(text, allow_special="all")


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_the_share_of_documents_that_are_cut_is_the_rate(cl100k, rate):
    documents = [f"document {number}" for number in range(2000)]
    cut = sum(fim(document, cl100k, rate=rate)[0] == 100258 for document in documents)
    assert abs(cut / len(documents) - rate) <= (0.04 if 0 < rate < 1 else 0)


def test_a_document_that_is_not_cut_is_encoded_as_it_is(cl100k):
    assert fim(DOCUMENT, cl100k, rate=0.0) == cl100k.encode(DOCUMENT)


def test_every_place_between_characters_is_as_likely(cl100k):
    counts = {}
    for seed in range(3000):
        prefix, middle, _ = parts(cl100k, fim("abcd", cl100k, rate=1.0, seed=seed))
        cut = len(prefix), len(prefix) + len(middle)
        counts[cut] = counts.get(cut, 0) + 1
    assert set(counts) == {(first, second) for second in range(5) for first in range(second + 1)}
    for (first, second), count in counts.items():
        assert abs(count / 3000 - (1 if first == second else 2) / 25) < 0.02


def test_seed_and_document_alone_decide(cl100k):
    documents = [f"{text} {number}" for number, text in enumerate(texts.LANGUAGES.values())]
    ids = {document: fim(document, cl100k, seed=7) for document in documents}
    random.Random(1).shuffle(documents)
    assert {document: fim(document, cl100k, seed=7) for document in documents} == ids
    assert {document: fim(document, cl100k, seed=8) for document in documents} != ids


@pytest.mark.parametrize(
    ("seed", "text"),
    [
        (0, "<|fim_prefix|><|fim_suffix|>erganser<|fim_middle|>m"),
        (1, "<|fim_prefix|><|fim_suffix|><|fim_middle|>merganser"),
        (-1, "<|fim_prefix|>m<|fim_suffix|>r<|fim_middle|>erganse"),
    ],
)
def test_the_draw_is_the_same_on_every_machine(cl100k, seed, text):
    assert cl100k.decode(fim("merganser", cl100k, rate=1.0, seed=seed)) == text


def test_text_that_spells_a_special_token_stays_text(cl100k):
    document = f"it says {MIDDLE} here"
    for seed in range(50):
        ids = fim(document, cl100k, rate=1.0, seed=seed)
        assert [id for id in ids if id in cl100k.special_tokens.values()] == [100258, 100260, 100259]


@pytest.mark.parametrize("document", ["", "a", "\ud800"])
def test_the_shortest_documents_have_empty_parts(cl100k, document):
    ids = fim(document, cl100k, rate=1.0)
    assert "".join(parts(cl100k, ids)) == document.replace("\ud800", "\ufffd")


def test_the_special_tokens_of_another_model_are_named():
    names = ("<fim_prefix>", "<fim_middle>", "<fim_suffix>")
    tok = mg.train(DOCUMENT, vocab_size=300, special_tokens=names)
    ids = fim(DOCUMENT, tok, rate=1.0, special_tokens=names)
    assert ids[0] == tok.special_tokens["<fim_prefix>"]
    with pytest.raises(TokenIdError, match=r"expected those of the tokenizer, found '<\|fim_prefix\|>'") as caught:
        fim(DOCUMENT, tok)
    assert "with_special_tokens" in caught.value.hint


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"rate": 1.5}, "rate: expected a probability from 0 to 1, found 1.5"),
        ({"rate": -0.1}, "rate: expected a probability from 0 to 1, found -0.1"),
        ({"rate": float("nan")}, "rate: expected a probability from 0 to 1, found nan"),
        ({"mode": "mps"}, 'mode: expected "psm" or "spm", found \'mps\''),
    ],
)
def test_other_options_are_refused(cl100k, option, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        fim("text", cl100k, **option)
