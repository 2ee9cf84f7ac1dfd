"""Training on longer texts, under limits, around special tokens, on many threads: always what a plain loop finds."""

import json
import random
from collections import Counter, defaultdict
from functools import cache
from itertools import pairwise

import pytest
import rustbpe
import test_trainers
import texts
from test_trainers import SPLIT, corpora, merges_of
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

import merganser as mg
from merganser import _core
from merganser.formats.byte_alphabet import spell, unspell
from merganser.spec import unpack

OUT = "ignore:no pair is left to merge"
real_corpora = cache(test_trainers.real_corpora)


def plain_loop(counts, num_merges, tie_break="ids"):
    """The merges of counted pieces, in the order of their first sight: counts are mended where a merge changed them."""
    tokens = {byte: bytes([byte]) for byte in range(256)}
    pieces = [list(piece) for piece in counts]
    total, where, merges = Counter(), defaultdict(set), []

    def add(number, sign):
        for pair in pairwise(pieces[number]):
            total[pair] += sign * weights[number]
            where[pair].add(number)

    def first_place(pair):
        found = ((number, list(pairwise(pieces[number]))) for number in sorted(where[pair]))
        return next((number, pairs.index(pair)) for number, pairs in found if pair in pairs)

    weights = list(counts.values())
    for number in range(len(pieces)):
        add(number, 1)
    while len(merges) < num_merges and (highest := max(total.values(), default=0)) > 0:
        tied = [pair for pair, count in total.items() if count == highest]
        keys = {"ids": None, "first": first_place, "lex_max": lambda pair: (tokens[pair[0]], tokens[pair[1]])}
        best = (max if tie_break == "lex_max" else min)(tied, key=keys[tie_break])
        merges.append(best)
        new = 255 + len(merges)
        tokens[new] = tokens[best[0]] + tokens[best[1]]
        for number in where.pop(best):
            add(number, -1)
            pieces[number] = joined(pieces[number], best, new)
            add(number, 1)
        del total[best]
    return merges


def joined(ids, pair, new):
    out = []
    for id in ids:
        if out and (out[-1], id) == pair:
            out[-1] = new
        else:
            out.append(id)
    return out


def counted(documents, split="cl100k"):
    """The pieces of the documents in the order of their first sight, each with its count."""
    tok = mg.train([], vocab_size=256, split=split)
    return Counter(piece.encode() for text in documents for piece in tok.pieces(text))


def hugging_face(documents, vocab_size, *, split=SPLIT, **options):
    """Ids of Hugging Face's tokens, and its merges as bytes."""
    steps = [pre_tokenizers.Split(Regex(split), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)]
    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = pre_tokenizers.Sequence(steps)
    options |= {"vocab_size": vocab_size, "initial_alphabet": pre_tokenizers.ByteLevel.alphabet()}
    tok.train_from_iterator(documents, trainers.BpeTrainer(show_progress=False, **options))
    merges = json.loads(tok.to_str())["model"]["merges"]
    return tok.get_vocab(), [(unspell(left), unspell(right)) for left, right in merges]


def ids_of(tok):
    """Ids of our tokens, spelled as Hugging Face does."""
    return {spell(token): id for token, id in tok.vocabulary.items()} | dict(tok.special_tokens)


# Against a plain loop and the originals.


@pytest.mark.parametrize("tie_break", ["ids", "first", "lex_max"])
@pytest.mark.parametrize("number", range(3), ids=["code", "prose", "scripts"])
def test_a_text_trains_as_a_plain_loop_does(number, tie_break):
    documents = real_corpora()[number]
    tok = mg.train(documents, vocab_size=856, split="cl100k", tie_break=tie_break)
    assert merges_of(tok) == plain_loop(counted(documents), 600, tie_break)


@pytest.mark.filterwarnings(OUT)
@pytest.mark.parametrize("tie_break", ["ids", "first", "lex_max"])
def test_whole_documents_train_as_a_plain_loop_does(tie_break):
    num_merges = 0
    for documents in corpora(40):
        tok = mg.train(documents, vocab_size=330, split=None, tie_break=tie_break)
        plain = plain_loop(Counter(text.encode() for text in documents), 74, tie_break)
        assert merges_of(tok) == plain
        num_merges += len(plain)
    assert num_merges > 40 * 50


@pytest.mark.filterwarnings(OUT)
@pytest.mark.parametrize("options", [{}, {"min_frequency": 2}, {"min_frequency": 9}, {"min_frequency": 1000}], ids=str)
def test_the_least_frequency_is_hugging_faces(options):
    for documents in [*corpora(25), *real_corpora()]:
        vocab, merges = hugging_face(documents, 700, **options)
        tok = mg.train(documents, vocab_size=700, split="cl100k", layout="hf", **options)
        assert ids_of(tok) == vocab
        assert tok.merges == merges


@pytest.mark.filterwarnings(OUT)
@pytest.mark.parametrize("longest", [2, 3, 4, 7, 16])
def test_the_greatest_length_is_one_less_than_hugging_faces(longest):
    for documents in [*corpora(25), *real_corpora()]:
        _, merges = hugging_face(documents, 600, max_token_length=longest + 1)
        tok = mg.train(documents, vocab_size=600, split="cl100k", layout="hf", max_token_length=longest)
        assert tok.merges == merges
        assert max(map(len, tok.vocabulary)) <= longest


@pytest.mark.filterwarnings(OUT)
def test_training_to_the_end_stops_where_hugging_face_and_rustbpe_do():
    for documents in corpora(40):
        tok = mg.train(documents, vocab_size=20_000, split="cl100k", layout="hf")
        assert ids_of(tok) == hugging_face(documents, 20_000)[0]
        original = rustbpe.Tokenizer()
        original.train_from_iterator(iter(documents), 20_000, pattern=SPLIT)
        ranks = {bytes(token): rank for token, rank in original.get_mergeable_ranks()}
        assert dict(mg.train(documents, vocab_size=20_000, split="cl100k").vocabulary.items()) == ranks


# Special tokens.


def test_special_tokens_come_first_as_hugging_faces_do():
    special, documents = ["<|end|>", "<s>", "an é"], real_corpora()[1]
    vocab, _ = hugging_face(documents, 500, special_tokens=special)
    assert ids_of(mg.train(documents, vocab_size=500, split="cl100k", layout="hf", special_tokens=special)) == vocab


@pytest.mark.filterwarnings(OUT)
@pytest.mark.parametrize("tie_break", ["ids", "first", "lex_max"])
@pytest.mark.parametrize("split", ["cl100k", None])
def test_special_tokens_cut_documents_as_if_these_ended_there(tie_break, split):
    options = {"vocab_size": 340, "split": split, "tie_break": tie_break, "special_tokens": ["ab", "<a b>", "c"]}
    for seed, documents in enumerate(corpora(25)):
        rng = random.Random(seed)
        together = [rng.choice(["ab", "<a b>", "c"]).join(rng.sample(documents, len(documents)))]
        parts = together
        for special in ("<a b>", "ab", "c"):
            parts = [part for text in parts for part in text.split(special)]
        assert merges_of(mg.train(together, **options)) == merges_of(mg.train(parts, **options))
        assert not any(
            b"ab" in token or b"c" in token for token in list(mg.train(together, **options).vocabulary)[256:]
        )


# Threads.


@pytest.mark.parametrize("split", ["o200k", None])
@pytest.mark.parametrize("tie_break", ["ids", "first", "lex_max"])
def test_one_long_document_trains_alike_on_any_number_of_threads(tmp_path, tie_break, split):
    document = " ".join(" ".join(texts.LANGUAGES.values()).split() * 60)
    saved = set()
    for num_threads in (1, 2, 4, 8):
        tok = mg.train(document, vocab_size=500, split=split, tie_break=tie_break, num_threads=num_threads)
        tok.save(tmp_path / str(num_threads))
        saved.add(tuple(file.read_bytes() for file in sorted((tmp_path / str(num_threads)).iterdir())))
    assert len(saved) == 1


# Counts.


def learn(counts, num_merges, tie_break="ids"):
    """The merges of counted pieces, of any counts."""
    counter = _core.PieceCounter(splits=[], special_tokens=[])
    counter.add_counts(counts)
    merges = counter.train(
        num_merges=num_merges,
        byte_order=bytes(range(256)),
        tie_break=tie_break,
        min_frequency=1,
        max_token_length=None,
        never_merge_spaces=False,
        progress=None,
    )
    return list(zip(*[iter(unpack(merges))] * 2, strict=True))


@pytest.mark.parametrize("tie_break", ["ids", "first", "lex_max"])
def test_counts_of_up_to_64_bits_train_as_a_plain_loop_does(tie_break):
    for seed in range(100):
        rng = random.Random(seed)
        counts = {}
        for _ in range(12):
            piece = bytes(rng.choices(b"abc", k=rng.randint(2, 9)))
            counts[piece] = rng.choice([1, 2, 2**31, 2**32, 2**32 + 1, 2**56])
        assert learn(list(counts.items()), 30, tie_break) == plain_loop(counts, 30, tie_break)


@pytest.mark.parametrize("count", [2**64 - 1, 2**63])
def test_more_than_64_bits_of_pairs_are_an_error(count):
    with pytest.raises(mg.TrainingError) as caught:
        learn([(b"abc", count)], 1)
    assert str(caught.value) == "corpus: expected fewer than 2^64 pairs of neighbours, found more"


def test_a_count_beyond_64_bits_is_an_error():
    with pytest.raises(mg.TrainingError) as caught:
        learn([(b"abc", 2**64 - 1), (b"abc", 1)], 1)
    assert str(caught.value) == "piece counts: expected each count to stay below 2^64, found a larger one"
