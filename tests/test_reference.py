"""The engine equals the reference: split, train and encode, under each tie rule and pattern."""

import random
from itertools import pairwise

import pytest
import strategies
from hypothesis import given

import merganser as mg
from merganser import reference
from merganser.engines import pattern
from merganser.spec import unpack

PATTERNS = {"gpt2": "gpt2", "gpt4": "cl100k"}
NUM_MERGES = 200


def trained(documents, tie_break, name, **options):
    """The merges and the tokenizer that the reference and the engine learn from `documents`."""
    pieces = [piece.encode() for text in documents for piece in reference.split(text, name)]
    slow = reference.train_bpe(pieces, NUM_MERGES, tie_break=tie_break, **options)
    split = mg.Split(pattern=pattern(PATTERNS[name]))
    fast = mg.train(documents, vocab_size=256 + NUM_MERGES, split=split, tie_break=tie_break, **options)
    return slow, fast


def merges_of(tok):
    return list(zip(*[iter(unpack(tok.spec.model.merges))] * 2, strict=True))


@pytest.mark.parametrize("tie_break", ["ids", "first", "lex_max"])
@pytest.mark.parametrize("name", PATTERNS)
def test_training_and_encoding_equal_the_reference(name, tie_break):
    num_pairs = num_foreign = num_ties = 0
    for seed in range(20):
        rng = random.Random(f"{name} {tie_break} {seed}")
        documents = [strategies.random_text(rng, 40) for _ in range(8)]
        slow, fast = trained(documents, tie_break, name)
        assert merges_of(fast) == list(slow.merges)
        assert len(slow.merges) == NUM_MERGES
        num_ties += ties(documents, slow, name)
        for _ in range(500):
            text = strategies.random_text(rng, rng.randrange(6))
            ids = [
                id
                for piece in reference.split(text, name)
                for id in reference.encode_merges(piece.encode(), slow.merges)
            ]
            assert fast.encode(text) == ids
            assert fast.decode(ids) == text
            num_pairs += 1
            num_foreign += not text.isascii()
    assert num_pairs == 10_000
    assert num_foreign > num_pairs / 2
    assert num_ties > 20 * NUM_MERGES / 2


def ties(documents, slow, name):
    """How many of the merges had a rival of the same count."""
    corpus = [list(piece.encode()) for text in documents for piece in reference.split(text, name)]
    num_ties = 0
    for pair, id in slow.merges.items():
        counts = reference.count_pairs(corpus)
        num_ties += sum(count == counts[pair] for count in counts.values()) > 1
        corpus = [reference.merge(ids, pair, id) for ids in corpus]
    return num_ties


@pytest.mark.parametrize("name", PATTERNS)
@given(text=strategies.agreed_texts())
def test_pieces_equal_the_reference(name, text):
    assert strategies.splitter(pattern(PATTERNS[name])).pieces(text) == reference.split(text, name)


@given(text=strategies.agreed_texts())
def test_encoding_by_rank_equals_the_reference(text):
    tok = mg.load("r50k_base")
    ranks = ranks_of(tok)
    assert tok.encode(text) == [
        id for piece in tok.pieces(text) for id in reference.encode_ranks(piece.encode(), ranks)
    ]


def ranks_of(tok, cache={}):  # noqa: B006 - once a session
    return cache.setdefault(tok.fingerprint(), dict(tok.vocabulary.items()))


def test_without_merged_spaces_no_token_holds_two():
    rng = random.Random(3)
    documents = ["    indented\n        more\n" * 20 + strategies.random_text(rng, 200)]
    slow, fast = trained(documents, "ids", "gpt4", never_merge_spaces=True)
    assert merges_of(fast) == list(slow.merges)
    assert not any(b"  " in token for token in fast.vocabulary)
    _, merged = trained(documents, "ids", "gpt4")
    assert any(b"  " in token for token in merged.vocabulary)


def test_merges_in_order_and_by_rank_are_one_tokenization():
    rng = random.Random(4)
    slow, _ = trained([strategies.random_text(rng, 300)], "first", "gpt2")
    for _ in range(200):
        piece = strategies.random_text(rng, 3).encode()
        by_rank = reference.encode_merges(piece, slow.merges)
        assert by_rank == reference.encode_merges_in_order(piece, slow.merges)
        assert all(pair not in slow.merges for pair in pairwise(by_rank))
