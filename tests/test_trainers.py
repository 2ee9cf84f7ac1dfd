"""Training equals Hugging Face and rustbpe on random corpora full of ties and on text; threads change nothing."""

import itertools
import random

import pytest
import rustbpe
import strategies
import texts
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

import merganser as mg
from merganser import reference
from merganser.engines import pattern
from merganser.formats.byte_alphabet import unspell
from merganser.spec import unpack

SPLIT = pattern("cl100k")

pytestmark = pytest.mark.filterwarnings("ignore:no pair is left to merge")


def corpora(count):
    """Documents of words drawn over two to four letters: most of their merges are ties."""
    for seed in range(count):
        rng = random.Random(seed)
        letters = "abcd"[: rng.randint(2, 4)]
        words = ["".join(rng.choices(letters, k=rng.randint(1, 9))) for _ in range(90)]
        yield [" ".join(rng.choices(words, k=rng.randint(1, 30))) for _ in range(rng.randint(1, 6))]


def real_corpora():
    """Code, prose and many scripts, some 300 KB each, of characters that all tables class alike."""
    code, prose = (
        list(itertools.islice(texts.code(), 0, None, 40)),
        list(itertools.islice(texts.docstrings(), 0, None, 9)),
    )
    scripts = list(texts.LANGUAGES.values()) * 2
    return [keep(documents) for documents in (code, prose, scripts)]


def keep(documents):
    """The first 300,000 characters or so, without those that some table classes otherwise."""
    kept, size = [], 0
    for text in documents:
        kept.append("".join(character for character in text if character in strategies.agreed()))
        size += len(text)
        if size > 300_000:
            break
    return kept


def train(documents, vocab_size, **options):
    return mg.train(documents, vocab_size=vocab_size, split="cl100k", **options)


def merges_of(tok):
    return list(zip(*[iter(unpack(tok.spec.model.merges))] * 2, strict=True))


def of_hugging_face(documents, vocab_size):
    steps = [pre_tokenizers.Split(Regex(SPLIT), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)]
    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = pre_tokenizers.Sequence(steps)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=vocab_size, initial_alphabet=alphabet, show_progress=False)
    tok.train_from_iterator(documents, trainer)
    return {unspell(token): id for token, id in tok.get_vocab().items()}


def of_rustbpe(documents, vocab_size):
    tok = rustbpe.Tokenizer()
    tok.train_from_iterator(iter(documents), vocab_size, pattern=SPLIT)
    return {bytes(token): rank for token, rank in tok.get_mergeable_ranks()}


def test_random_corpora_train_as_hugging_face_and_rustbpe_do():
    num_merges = num_ties = 0
    for documents in corpora(200):
        assert dict(train(documents, 300, layout="hf").vocabulary.items()) == of_hugging_face(documents, 300)
        tok = train(documents, 300)
        assert dict(tok.vocabulary.items()) == of_rustbpe(documents, 300)
        num_merges += len(merges_of(tok))
        num_ties += ties(documents, tok)
    assert num_merges > 3_000
    assert num_ties > num_merges / 2


def ties(documents, tok):
    """How many merges had a rival of the same count."""
    corpus = [list(piece.encode()) for text in documents for piece in reference.split(text, "gpt4")]
    num_ties = 0
    for id, pair in enumerate(merges_of(tok), start=256):
        counts = reference.count_pairs(corpus)
        num_ties += sum(count == counts[pair] for count in counts.values()) > 1
        corpus = [reference.merge(ids, pair, id) for ids in corpus]
    return num_ties


@pytest.mark.parametrize("tie_break", ["first", "lex_max"])
def test_random_corpora_train_as_a_plain_loop_does(tie_break):
    for documents in corpora(200):
        pieces = [piece.encode() for text in documents for piece in reference.split(text, "gpt4")]
        plain = reference.train_bpe(pieces, 44, tie_break=tie_break)
        assert merges_of(train(documents, 300, tie_break=tie_break)) == list(plain.merges)


def test_texts_train_as_hugging_face_and_rustbpe_do():
    for documents in real_corpora():
        assert dict(train(documents, 2_000, layout="hf").vocabulary.items()) == of_hugging_face(documents, 2_000)
        assert dict(train(documents, 2_000).vocabulary.items()) == of_rustbpe(documents, 2_000)


@pytest.mark.parametrize("tie_break", ["ids", "first", "lex_max"])
def test_any_number_of_threads_saves_the_same_bytes(tmp_path, tie_break):
    documents = [*real_corpora()[0], *texts.LANGUAGES.values()]
    saved = set()
    for num_threads in (1, 2, 4, 8):
        folder = tmp_path / str(num_threads)
        train(documents, 1_000, tie_break=tie_break, num_threads=num_threads).save(folder)
        saved.add(tuple(file.read_bytes() for file in sorted(folder.iterdir())))
    assert len(saved) == 1


@pytest.mark.parametrize("tie_break", ["ids", "lex_max"])
def test_the_order_of_documents_changes_nothing(tie_break):
    documents = list(texts.LANGUAGES.values())
    forward, backward = (train(order, 600, tie_break=tie_break) for order in (documents, documents[::-1]))
    assert forward.fingerprint() == backward.fingerprint()


def test_special_tokens_cut_the_corpus_and_are_in_no_merge():
    documents = ["ab<|end|>ab<|end|>" * 50]
    tok = train(documents, 260, special_tokens=["<|end|>"])
    assert list(tok.vocabulary)[256:] == [b"ab"]
    assert tok.special_tokens == {"<|end|>": 257}


def test_the_least_vocabulary_is_named():
    with pytest.raises(mg.TrainingError, match=r"expected at least 258 \(256 bytes and 2 special tokens\), found 257"):
        mg.train("text", vocab_size=257, special_tokens=["<a>", "<b>"])


def test_a_corpus_that_runs_out_warns_with_the_true_size():
    with pytest.warns(UserWarning, match="the vocabulary has 257 tokens, not 300"):
        assert mg.train("ab", vocab_size=300).n_vocab == 257


def test_limits_on_tokens_hold():
    documents = ["abcabc abcabc abcabc"]
    assert list(train(documents, 300, max_token_length=2).vocabulary)[256] == b"ab"
    assert all(len(token) <= 3 for token in train(documents, 300, max_token_length=3).vocabulary)
    assert len(train(documents, 300, max_token_length=1).vocabulary) == 256
    assert len(train(documents, 300, min_frequency=100).vocabulary) == 256


def test_counts_beyond_32_bits_count():
    from merganser import _core

    counter = _core.PieceCounter(splits=[], special_tokens=[])
    counter.add_counts([(b" " * 80, 30_000_000), (b"ordinary", 1_000_000), (b"words", 40)])
    options = {
        "byte_order": bytes(range(256)),
        "min_frequency": 1,
        "max_token_length": None,
        "never_merge_spaces": False,
    }
    merges = counter.train(num_merges=1, tie_break="ids", progress=None, **options)
    assert unpack(merges).tolist() == [32, 32]
