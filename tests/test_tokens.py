"""Tokens are the bytes that they stand for, however the chain spells them."""

import pytest
import tokenizers
from small_tokenizers import saved
from tokenizers import decoders, models, pre_tokenizers

import merganser as mg

ALPHABET = sorted(pre_tokenizers.ByteLevel.alphabet())


def spelled(pre_tokenizer, *, suffix: str = "") -> tokenizers.Tokenizer:
    """BPE over the byte alphabet in a chain, as Falcon (digits are cut out) and CLIP (words have an end) have it."""
    merges = [("Ġ", "a"), ("Ã", "©")]
    words = [*ALPHABET, *(letter + suffix for letter in ALPHABET if suffix), "Ġa", "Ã©"]
    tok = tokenizers.Tokenizer(
        models.BPE({word: id for id, word in enumerate(words)}, merges, end_of_word_suffix=suffix)
    )
    tok.pre_tokenizer = pre_tokenizer
    tok.decoder = decoders.ByteLevel()
    tok.add_special_tokens(["<s>"])
    tok.add_tokens(["Ġé", "two words"])
    return tok


BYTE_LEVEL = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
DIGITS = pre_tokenizers.Sequence([BYTE_LEVEL, pre_tokenizers.Digits(individual_digits=True)])


@pytest.fixture(scope="module")
def falcon(tmp_path_factory):
    return saved(spelled(DIGITS), tmp_path_factory.mktemp("falcon") / "tokenizer.json")


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    return saved(spelled(DIGITS, suffix="</w>"), tmp_path_factory.mktemp("clip") / "tokenizer.json")


def test_tokens_of_a_text_join_to_its_bytes(falcon):
    text = "é a1\n 漢🙂"
    assert falcon.spec.pipeline is not None
    assert [token.bytes for token in falcon.tokens("é a")] == ["é".encode(), b" a"]
    assert b"".join(token.bytes for token in falcon.tokens(text)) == text.encode()


def test_an_end_of_word_stays_as_it_is_spelled(clip):
    assert [token.bytes for token in clip.tokens("é a")] == ["é".encode(), b" ", b"a</w>"]


@pytest.mark.parametrize("name", ["falcon", "clip"])
def test_every_token_is_what_it_decodes_to(name, request):
    tok = request.getfixturevalue(name)
    ids = range(len(tok.vocabulary))
    assert [tok.id_to_token(id) for id in ids] == [tok.decode_bytes([id]) for id in ids]
    assert [len(tok.id_to_token(id)) for id in ids] == tok.token_byte_lengths()[: len(ids)].tolist()


@pytest.mark.parametrize("name", ["falcon", "clip"])
def test_ids_of_tokens_are_the_inverse_of_tokens_of_ids(name, request):
    tok = request.getfixturevalue(name)
    assert [tok.token_to_id(tok.id_to_token(id)) for id in range(tok.n_vocab)] == list(range(tok.n_vocab))


def test_a_vocabulary_and_its_merges_are_bytes(falcon):
    assert list(falcon.vocabulary)[-2:] == [b" a", "é".encode()]
    assert falcon.vocabulary[b" a"] == falcon.token_to_id(" a") == falcon.encode(" a")[0]
    assert falcon.token_to_id("Ġa") is None
    assert falcon.merges == [(b" ", b"a"), (b"\xc3", b"\xa9")]


def test_an_added_token_is_its_content(falcon):
    for content in ("<s>", "Ġé", "two words"):
        assert falcon.id_to_token(falcon.token_to_id(content)) == content.encode()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda tok: tok.vocabulary["a"], "token: expected bytes, found str; those of a text are `text.encode()`"),
        (lambda tok: tok.vocabulary[5], "token: expected bytes, found int"),
        (lambda tok: tok.token_to_id(5), "token: expected str or bytes, found int"),
        (lambda tok: tok.id_to_token("a"), "id: expected an integer, found str"),
    ],
)
def test_what_is_no_token_is_a_type_error(falcon, call, message):
    with pytest.raises(TypeError) as caught:
        call(falcon)
    assert str(caught.value) == message


@pytest.mark.parametrize("id", [-1, 10**6, 10**30])
@pytest.mark.parametrize("load", [lambda request: request.getfixturevalue("falcon"), lambda _: mg.load("gpt2")])
def test_an_id_without_a_token_is_named_with_the_range(load, id, request):
    tok = load(request)
    with pytest.raises(mg.TokenIdError) as caught:
        tok.id_to_token(id)
    assert (str(caught.value), caught.value.hint) == (
        f"expected an id of this vocabulary, 0 to {tok.n_vocab - 1}, found {id}",
        None,
    )


def test_an_added_token_is_found_by_its_bytes_and_the_models_token_comes_first(gpt2):
    tok = gpt2.add_tokens([" the end"]).with_special_tokens({"é": 60_000})
    for content in ["<|endoftext|>", " the end"]:
        assert tok.id_to_token(tok.token_to_id(content.encode())) == content.encode()
    model_id = gpt2.token_to_id("é".encode())
    assert (tok.token_to_id("é"), tok.token_to_id("é".encode())) == (60_000, model_id)
    assert tok.token_to_id(b"\xff\xfe") is None
