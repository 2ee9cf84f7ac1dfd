"""The engine equals the original libraries. The long campaign is `make exact`."""

import itertools

import oracle
import pytest
import texts
from hypothesis import given
from hypothesis import strategies as st

import merganser as mg
from merganser import vocabularies


@pytest.mark.parametrize("name", vocabularies.NAMES)
def test_ids_equal_tiktoken(name):
    tok, encoding = mg.load(name), oracle.encoding(name)
    sample = itertools.chain(
        texts.LANGUAGES.values(),
        texts.ADVERSARIAL,
        texts.random_texts(seed=2, count=2_000),
        itertools.islice(texts.code(), 0, None, 200),
        itertools.islice(texts.code_points(), 0, None, 19),
    )
    for text in sample:
        ids = tok.encode(text)
        assert ids == encoding.encode_ordinary(text), text[:100]
        assert tok.decode(ids) == text


@pytest.mark.parametrize("name", vocabularies.NAMES)
def test_allowed_special_tokens_equal_tiktoken(name):
    tok, encoding = mg.load(name), oracle.encoding(name)
    special = list(tok.special_tokens)[:4]
    for text in (f"a {s} b{s}{s}\n\n  {s} c" for s in special):
        assert tok.encode(text, allow_special="all") == encoding.encode(text, allowed_special="all")
        assert tok.encode(text) == encoding.encode(text, disallowed_special=())
        allowed = {special[0]}
        assert tok.encode(text, allow_special=allowed) == encoding.encode(
            text, allowed_special=allowed, disallowed_special=()
        )


@given(st.text())
def test_any_text_equals_tiktoken_and_comes_back(text):
    tok, encoding = mg.load("o200k_base"), oracle.encoding("o200k_base")
    ids = tok.encode(text)
    assert ids == encoding.encode(text, disallowed_special=())
    assert tok.decode(ids) == text


@given(st.lists(st.integers(0, 100_255)))
def test_any_ids_decode_as_tiktoken_does(ids):
    tok, encoding = mg.load("cl100k_base"), oracle.encoding("cl100k_base")
    assert tok.decode(ids) == encoding.decode(ids)
    assert tok.decode_bytes(ids) == encoding.decode_bytes(ids)


@given(st.text(st.characters(categories=["L", "N", "Z", "P", "Cs"])))
def test_surrogates_are_joined_or_replaced_as_in_tiktoken(text):
    tok, encoding = mg.load("gpt2"), oracle.encoding("gpt2")
    assert tok.encode(text) == encoding.encode(text, disallowed_special=())


@pytest.mark.parametrize("name", vocabularies.NAMES)
def test_every_single_token_comes_back(name):
    tok, encoding = mg.load(name), oracle.encoding(name)
    for token, id in tok.vocabulary.items():
        assert encoding.decode_single_token_bytes(id) == token == tok.id_to_token(id)
        assert tok.token_to_id(token) == id


def test_an_encoding_made_for_tiktoken_has_our_ids():
    tok = mg.train(list(texts.LANGUAGES.values()), vocab_size=400, special_tokens=["<|end|>"])
    encoding = tok.to_tiktoken()
    for text in itertools.chain(texts.LANGUAGES.values(), texts.ADVERSARIAL):
        assert encoding.encode(text, disallowed_special=()) == tok.encode(text)
    assert encoding.encode("<|end|>", allowed_special="all") == tok.encode("<|end|>", allow_special="all") == [399]
