"""WordPiece: encoding against tokenizers and transformers, training against tokenizers and the reference."""

import itertools
import json
import random
import warnings
from collections import Counter

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, models, normalizers, pre_tokenizers, trainers

import merganser as mg
from merganser.reference import encode_word, train_wordpiece

OPTIONS = list(itertools.product([False, True], repeat=4))
# What BERT treats in a way of its own: controls, spaces, marks, ideographs, what decomposes or lowercases to several.
ODD = (
    "aZ09.-_#  \t\n\r\0\x01\x0b\x0c\x1c\x7f\x85\xa0\xadéÀİßΣςﬁ中字豈가각"
    "\u0301\u0323\u0345\u0344\u0f73\u200b\u200d\u2028\u3000"
    "\ufffd\ufeff\u037e\u1fef\U0001d165\U0001d16e\U00016ff0\U0001d15e\ue000😀\U0001f1e6\u302e\u1dfa"
    "\U0001e948กำ\U0002b820\U0002b91f"
)
texts = st.text(st.sampled_from(ODD) | st.characters(codec="utf-8"), max_size=80)


def original(vocabulary, options=(True, True, None, True), added=(), **model):
    """The tokenizer of `tokenizers`, with these options of BertNormalizer."""
    tok = tokenizers.Tokenizer(models.WordPiece({t: i for i, t in enumerate(vocabulary)}, unk_token="[UNK]", **model))
    tok.normalizer = normalizers.BertNormalizer(*options)
    tok.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tok.add_tokens(list(added))
    return tok


def ours(tok, folder):
    tok.save(f"{folder}/tokenizer.json")
    return mg.load(f"{folder}/tokenizer.json")


def spelled(characters):
    """A vocabulary with which every character shows in the ids."""
    return ["[UNK]", *characters, *(f"##{character}" for character in characters)]


ODD_VOCABULARY = spelled(sorted({c for o in OPTIONS for c in normalizers.BertNormalizer(*o).normalize_str(ODD)}))


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    made = {}
    for options in OPTIONS:
        tok = original(ODD_VOCABULARY, options)
        made[options] = tok, ours(tok, tmp_path_factory.mktemp("bert"))
    return made


@given(text=texts, options=st.sampled_from(OPTIONS))
def test_ids_are_those_of_tokenizers_for_all_options(pairs, text, options):
    tok, mine = pairs[options]
    assert mine.encode(text) == tok.encode(text).ids


@pytest.mark.parametrize("options", OPTIONS)
def test_a_long_text_is_encoded_as_its_parts_are(pairs, options):
    tok, mine = pairs[options]
    dice = random.Random(7)
    for some in (ODD[:9], ODD[:30], ODD):
        text = "".join(dice.choice(some if dice.random() < 0.95 else ODD) for _ in range(40_000))
        expected = tok.encode(text).ids
        assert mine.encode(text) == expected
        assert mine.encode_array(text).tolist() == expected
        assert mine.encode(text, num_threads=2) == expected
        assert mine.encode(text) == expected  # the words are known by now


@pytest.mark.parametrize("options", [(True, True, None, True), (True, True, False, False), (False, False, True, False)])
def test_every_character_of_the_first_planes_is_treated_as_tokenizers_does(tmp_path, options):
    codes = [*range(0x3400), *range(0xA000, 0xABFF), *range(0xF900, 0x10000), *range(0x10000, 0x11A00)]
    characters = [chr(code) for code in codes]
    normalized = normalizers.BertNormalizer(*options).normalize_str("".join(characters))
    tok = original(spelled(sorted(set(normalized))), options)
    mine = ours(tok, tmp_path)
    for at in range(0, len(characters), 256):
        text = " ".join(f"a{character}a" for character in characters[at : at + 256])
        assert mine.encode(text) == tok.encode(text).ids, hex(codes[at])


@given(text=st.text(st.sampled_from("ab##[UNK]é字 .\n") | st.sampled_from(ODD), max_size=60))
def test_added_tokens_match_where_those_of_tokenizers_do(added_pair, text):
    tok, mine = added_pair
    assert mine.encode(text, allow_special="all") == tok.encode(text).ids
    tok.encode_special_tokens = True
    assert mine.encode(text) == tok.encode(text).ids
    tok.encode_special_tokens = False


@pytest.fixture(scope="module", params=[False, True], ids=["original", "normalized"])
def added_pair(request, tmp_path_factory):
    added = [
        AddedToken("[UNK]", special=True, normalized=False),
        AddedToken("ab", single_word=True, normalized=request.param),
        AddedToken("#É", lstrip=True, rstrip=True, normalized=request.param),
        AddedToken("字", normalized=False),
    ]
    tok = original(ODD_VOCABULARY, added=added)
    return tok, ours(tok, tmp_path_factory.mktemp("added"))


def test_words_of_over_a_hundred_characters_are_unknown(tmp_path):
    tok = original(spelled("aéx"), max_input_chars_per_word=5)
    mine = ours(tok, tmp_path)
    for word in ("a" * 5, "a" * 6, "ax" * 3, "字" * 6, "a\u0301" * 5, "x" * 100_000):
        assert mine.encode(f"a {word} x") == tok.encode(f"a {word} x").ids


@given(
    tokens=st.lists(st.text("ab#", min_size=1, max_size=4), max_size=20),
    words=st.lists(st.text("ab", min_size=1, max_size=9), max_size=20),
)
def test_encoding_is_the_references(tmp_path_factory, tokens, words):
    vocabulary = dict.fromkeys(["[UNK]", *tokens, *(f"##{token}" for token in tokens)])
    mine = ours(original(vocabulary), tmp_path_factory.mktemp("reference"))
    ids = {token: id for id, token in enumerate(vocabulary)}
    assert mine.encode(" ".join(words)) == [id for word in words for id in encode_word(word, ids)]


def test_the_certificate_tells_the_fast_path_from_the_chain(pairs, tmp_path):
    _, mine = pairs[OPTIONS[0]]
    assert "linear" in mine.certificate()["model"]
    tok = original(ODD_VOCABULARY)
    tok.pre_tokenizer = pre_tokenizers.Whitespace()
    assert "cut" in (slow := ours(tok, tmp_path).certificate())
    assert slow["cut"].startswith("nowhere")


# Training.

corpora = st.lists(st.text("abcde  ", max_size=30), max_size=8)


def words_of(documents):
    return Counter(word for document in documents for word in document.split())


@given(
    documents=corpora,
    size=st.integers(0, 30),
    score=st.sampled_from(["frequency", "likelihood"]),
    min_frequency=st.integers(0, 3),
    alphabet=st.text("abxyz", max_size=3),
    limit=st.none() | st.integers(0, 6),
)
def test_training_is_the_references(documents, size, score, min_frequency, alphabet, limit):
    special = ["[UNK]", "ab", "##b", "c"]
    expected = train_wordpiece(
        words_of(documents),
        size,
        score=score,
        special_tokens=special,
        min_frequency=max(1, min_frequency),
        initial_alphabet=alphabet,
        limit_alphabet=limit,
    )
    size = max(size, len(expected))  # an alphabet that is greater is refused
    options = {"min_frequency": min_frequency, "initial_alphabet": alphabet, "limit_alphabet": limit}
    # Special tokens are cut from the text as it stands, so there are none in capitals.
    documents = [document.upper() for document in documents]
    for num_threads in (1, 3):
        tok = train(documents, size, special_tokens=special, score=score, num_threads=num_threads, **options)
        assert vocabulary_of(tok) == expected


def train(documents, size, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return mg.train(documents, vocab_size=size, model="wordpiece", **options)


def vocabulary_of(tok):
    return [token.decode() for token in tok.spec.model.vocabulary.tokens()]


def trained_by_tokenizers(documents, **options):
    tok = original(["[UNK]"])
    tok.train_from_iterator(documents, trainers.WordPieceTrainer(show_progress=False, **options))
    return sorted(tok.get_vocab(), key=tok.get_vocab().get)


@given(
    documents=corpora, size=st.integers(0, 40), min_frequency=st.integers(0, 3), alphabet=st.text("abxyz", max_size=3)
)
def test_the_frequency_rule_is_that_of_tokenizers(documents, size, min_frequency, alphabet):
    # With ids of their own for the characters inside of words, tokenizers has nothing left to chance.
    special = ["[UNK]", *(f"##{character}" for character in "abcde")]
    expected = trained_by_tokenizers(
        documents,
        vocab_size=size,
        min_frequency=min_frequency,
        initial_alphabet=list(alphabet),
        special_tokens=special,
    )
    size = max(size, len(expected))
    tok = train(documents, size, special_tokens=special, min_frequency=min_frequency, initial_alphabet=alphabet)
    assert vocabulary_of(tok) == expected


def test_the_alphabet_is_limited_as_in_tokenizers():
    documents = ["aaaa bbb cc d dcba", "aab"]
    for limit in range(6):
        expected = trained_by_tokenizers(documents, limit_alphabet=limit, special_tokens=["[UNK]", "##a", "##b", "##c"])
        tok = train(documents, 30_000, limit_alphabet=limit, special_tokens=["[UNK]", "##a", "##b", "##c"])
        assert sorted(vocabulary_of(tok)) == sorted(expected)


def test_what_was_trained_is_saved_for_tokenizers_and_loads_again(tmp_path):
    documents = ["Low lower lowest, naïve newer newest"] * 3
    tok = train(documents, 60)
    tok.save(tmp_path / "tokenizer.json")
    text = "The LOWEST naïve news, [SEP] 字"
    assert tokenizers.Tokenizer.from_file(f"{tmp_path}/tokenizer.json").encode(text).ids == tok.encode(
        text, allow_special="all", add_special_tokens=True
    )
    assert mg.load(tmp_path).spec.model == tok.spec.model
    assert json.loads((tmp_path / "tokenizer.json").read_text())["model"]["type"] == "WordPiece"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"score": "best"}, 'score: expected "frequency" or "likelihood", found \'best\''),
        ({"special_tokens": ["<s>"]}, "special_tokens: expected [UNK] among them, found <s>"),
        ({"initial_alphabet": ["ab"]}, "initial_alphabet: expected single characters, found 'ab'"),
        ({"limit_alphabet": -1}, "limit_alphabet: expected 0 or more, found -1"),
        ({"vocab_size": -1}, "vocab_size: expected 0 to 16777216, found -1"),
        (
            {"split": "gpt2"},
            'split: expected nothing with model="wordpiece", found an option of model="bpe"',
        ),
        (
            {"model": "bpe", "vocab_size": 300, "limit_alphabet": 5},
            'limit_alphabet: expected nothing with model="bpe", found an option of model="wordpiece"',
        ),
        ({"model": "words"}, 'model: expected "bpe" or "wordpiece", found \'words\''),
    ],
)
def test_options_that_cannot_be_met_are_errors(options, message):
    with pytest.raises(mg.TrainingError) as caught:
        mg.train(["text"], **({"vocab_size": 100, "model": "wordpiece"} | options))
    assert str(caught.value) == message
