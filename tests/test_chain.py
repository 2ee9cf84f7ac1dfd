"""The chain equals Hugging Face's tokenizers: ids, offsets and words, for every component and every character."""

import random

import chains
import pytest
import random_tokenizers
from tokenizers import NormalizedString, PreTokenizedString, normalizers

from merganser import errors

STRICT = (False, False)
# All characters of Unicode but most private ones and the tails of planes where no character stands.
CODES = [*range(0xD800), *range(0xE000, 0x33480), *range(0xE0000, 0xE0200), *range(0xF0000, 0xF0010)]
EVERY = "\n".join(map(chr, CODES))
FALLBACK = {
    "type": "BPE",
    "unk_token": None,
    "byte_fallback": True,
    "vocab": {token: byte for byte, token in enumerate(chains.FALLBACK)},
    "merges": [],
}
SETS = [
    *({"type": name} for name in ["NFC", "NFD", "NFKC", "NFKD", "Nmt", "Lowercase", "StripAccents", "ByteLevel"]),
    {"type": "Strip", "strip_left": True, "strip_right": True},
    {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": True,
        "strip_accents": True,
        "lowercase": True,
    },
    {"type": "Replace", "pattern": {"Regex": r"\s|\p{N}|[^\p{L}\p{N}\p{P}]"}, "content": "_"},
]
CUTS = [
    *({"type": name} for name in ["Whitespace", "WhitespaceSplit", "BertPreTokenizer", "UnicodeScripts"]),
    {"type": "Punctuation", "behavior": "Contiguous"},
    {"type": "Digits", "individual_digits": False},
    {"type": "Split", "pattern": {"Regex": r"\p{L}+|\p{N}+"}, "behavior": "Isolated", "invert": False},
    {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
]


def named(component):
    return component["type"]


def normalized(component: dict, text: str) -> str:
    """What a chain's normalizer makes of `text`: its model spells each byte."""
    chain = chains.chain({"normalizer": component, "model": FALLBACK})
    return bytes(chain.encode(text, chain.allow([]), STRICT)).decode()


def their_encoding(tokenizer, text):
    """Ids, offsets and words; None where the original raises, "panic" where it breaks down."""
    try:
        encoding = tokenizer.encode(text, add_special_tokens=False, is_pretokenized=isinstance(text, list))
    except Exception:
        return None
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        return "panic"
    return encoding.ids, encoding.offsets, encoding.word_ids


def our_encoding(chain, text, allowed):
    try:
        return chain.encoding(text, allowed, STRICT)
    except errors.TextError:
        return None


@pytest.mark.parametrize("seed", range(20))
def test_random_chains_encode_as_the_original_does(seed):
    for rng, tokenizer, original, chain in random_chains(seed, 12):
        tokens = [token["content"] for token in tokenizer["added_tokens"]]
        without = random_tokenizers.without_special(original)
        versions = [(None, original), *([] if without is None else [([], without)])]
        texts = [chains.text_with(rng, tokens) for _ in range(5)] + [chains.text(rng) for _ in range(5)]
        for text in [*texts, texts[:4]]:
            for names, version in versions:
                allowed = chain.allow(names)
                found = our_encoding(chain, text, allowed)
                expected = their_encoding(version, text)
                assert expected in (found, "panic"), (text, tokenizer)
                if isinstance(expected, tuple) and isinstance(text, str):
                    assert chain.encode(text, allowed, STRICT) == expected[0]


@pytest.mark.parametrize("seed", range(20, 30))
def test_random_chains_decode_as_the_original_does(seed):
    for rng, _, original, chain in random_chains(seed, 12):
        for skip in (True, False):
            ids = [rng.randrange(chain.num_ids()) for _ in range(rng.randrange(1, 9))]
            assert chain.decode(ids, "skip", skip, True) == original.decode(ids, skip_special_tokens=skip)


def random_chains(seed: int, count: int):
    rng = random.Random(seed)
    while count:
        tokenizer = chains.tokenizer_json(rng)
        original = chains.original(tokenizer)
        contents = [token["content"] for token in tokenizer["added_tokens"] if token["normalized"]]
        spelled = [original.normalizer.normalize_str(content) for content in contents]
        # Among equal ones the original picks by chance, and an empty one cuts its texts anywhere or is a panic.
        if all(spelled) and len(set(spelled)) == len(spelled):
            count -= 1
            yield rng, tokenizer, original, chains.chain(tokenizer, original.token_to_id)


@pytest.mark.parametrize("component", SETS, ids=named)
def test_every_character_is_normalized_as_by_the_original(component):
    original = chains.original({**EMPTY, "normalizer": component}).normalizer
    expected = NormalizedString(EVERY)
    original.normalize(expected)
    assert normalized(component, EVERY) == expected.normalized


@pytest.mark.parametrize("component", CUTS, ids=named)
def test_every_character_is_cut_as_by_the_original(component):
    original = chains.original({**EMPTY, "pre_tokenizer": component}).pre_tokenizer
    text = "".join(map(chr, CODES))
    expected = PreTokenizedString(text)
    original.pre_tokenize(expected)
    chain = chains.chain({**EMPTY, "pre_tokenizer": component})
    found = chain.encoding(text, chain.allow([]), STRICT)[1]
    assert found == [offsets for _, offsets, _ in expected.get_splits("original", "char")]


@pytest.mark.parametrize("second", ["\u0301", "\u0323", "\u3099", "\u1161", "\u11a8", "\u0334", "\u1ac0"])
def test_marks_join_every_character_as_in_the_original(second):
    text = " ".join(chr(code) + second + "\u0307" for code in CODES)
    for form in ("NFC", "NFKD"):
        assert normalized({"type": form}, text) == getattr(normalizers, form)().normalize_str(text)


EMPTY = {
    "version": "1.0",
    "added_tokens": [],
    "model": {"type": "WordLevel", "unk_token": "<unk>", "vocab": {"<unk>": 0}},
}


@pytest.mark.parametrize(
    "model",
    [
        {
            "type": "BPE",
            "vocab": {"a" * size: place for place, size in enumerate((1, 2, 4, 8))},
            "merges": [["a", "a"], ["aa", "aa"], ["aaaa", "aaaa"]],
        },
        {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -1.0], ["aa", -1.5], ["a" * 16, -9.0]]},
        {
            "type": "WordPiece",
            "unk_token": "<unk>",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 10**9,
            "vocab": {"<unk>": 0, "a": 1, "##a": 2, "##aaaaaaaa": 3},
        },
        {"type": "WordLevel", "unk_token": "<unk>", "vocab": {"<unk>": 0}},
    ],
    ids=named,
)
def test_a_piece_of_a_megabyte_is_no_trouble(model):
    chain = chains.chain({"model": model})
    ids, offsets, words = chain.encoding("a" * 1_000_000, chain.allow([]), STRICT)
    assert offsets[-1][1] == 1_000_000
    assert set(words) == {0}
    assert ids[1000:2000] == chain.encode("a" * 3_000, chain.allow([]), STRICT)[1000:2000] or len(ids) < 130_000


def test_added_tokens_that_normalization_empties_match_nothing():
    token = {"content": " ", "id": 1, "special": False, "normalized": True}
    flags = {"single_word": False, "lstrip": False, "rstrip": False}
    strip = {"type": "Strip", "strip_left": True, "strip_right": True}
    chain = chains.chain({**EMPTY, "normalizer": strip, "added_tokens": [{**token, **flags}]})
    assert chain.encoding(" é a ", chain.allow([]), STRICT) == ([0], [(1, 4)], [0])


def test_of_added_tokens_that_are_normalized_alike_the_first_is_found():
    flags = {"special": False, "normalized": True, "single_word": False, "lstrip": False, "rstrip": False}
    added = [{"content": content, "id": id, **flags} for content, id in (("Tok", 1), ("tok", 2))]
    chain = chains.chain({**EMPTY, "normalizer": {"type": "Lowercase"}, "added_tokens": added})
    assert chain.encode("TOK", chain.allow([]), STRICT) == [1]


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("normalizer", {"type": "Unheard"}),
        ("normalizer", {"type": "Replace", "pattern": {"Regex": "("}, "content": ""}),
        ("normalizer", {"type": "Precompiled", "precompiled_charsmap": "no base64!"}),
        ("pre_tokenizer", {"type": "Metaspace", "replacement": "two"}),
        ("pre_tokenizer", {"type": "FixedLength", "length": 0}),
        ("pre_tokenizer", 7),
        ("decoder", {"type": "Strip"}),
        ("model", {"type": "BPE", "dropout": 0.1, "vocab": {}, "merges": []}),
        ("model", {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": [["a", "b"]]}),
        ("model", {"type": "Unigram", "unk_id": 5, "vocab": [["a", 0.0]]}),
    ],
)
def test_what_cannot_be_run_is_refused_with_its_name(part, value):
    with pytest.raises(errors.FormatError):
        chains.chain({**EMPTY, part: value})


def test_a_text_without_any_token_is_refused():
    chain = chains.chain({"model": {"type": "WordLevel", "unk_token": "<unk>", "vocab": {"a": 0}}})
    with pytest.raises(errors.TextError, match=r'^"b": expected a token for it, found none, and no unknown token'):
        chain.encode("b", chain.allow([]), STRICT)


def test_tokens_say_where_they_stand_in_each_unit():
    model = {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["é", -1.0], ["👋", -1.0]]}
    chain = chains.chain({"model": model})
    places = {
        unit: [(start, end) for _, _, start, end in chain.tokens("é👋", chain.allow([]), STRICT, unit)]
        for unit in ("character", "byte", "utf16")
    }
    assert places == {"character": [(0, 1), (1, 2)], "byte": [(0, 2), (2, 6)], "utf16": [(0, 1), (1, 3)]}


def test_what_an_engine_allows_is_not_what_a_chain_allows(gpt2):
    chain = chains.chain(EMPTY)
    with pytest.raises(errors.FormatError, match="allowed: expected what this chain allows"):
        chain.encode("a", gpt2._default, STRICT)
