"""tokenizer.json: every component and model read and written back, old spellings, what is wrong named by its place."""

import json
import random
import resource
import time
from dataclasses import fields

import pytest
import random_tokenizers as files
import tokenizers

import merganser as mg
from merganser.formats.huggingface.table import COMPONENTS, PLACES
from merganser.formats.huggingface.writing import to_json
from merganser.spec import CharacterPairModel, Padding, Truncation, WordPieceModel

WORDS = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "a": 3, "b": 4, "ab": 5, "▁a": 6}
WORD_LEVEL = {"type": "WordLevel", "vocab": WORDS, "unk_token": "[UNK]"}
BPE = {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "abb": 3}, "merges": [["a", "b"], ["ab", "b"]]}
WORD_PIECE = {
    "type": "WordPiece",
    "vocab": WORDS,
    "unk_token": "[UNK]",
    "continuing_subword_prefix": "##",
    "max_input_chars_per_word": 100,
}
UNIGRAM = {"type": "Unigram", "vocab": [["<unk>", 0], ["a", -1.5], ["b", -2], ["ab", -0.1]], "unk_id": 0}


def json_of(**changes):
    empty = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": []}
    return empty | dict.fromkeys(PLACES) | {"model": WORD_LEVEL} | changes


def spec_of(root):
    return files.spec_of(json.dumps(root))


def refusal(root):
    with pytest.raises(mg.FormatError) as caught:
        spec_of(root)
    return str(caught.value).removeprefix("tokenizer.json: ")


# Components


@pytest.mark.parametrize(
    ("place", "kind"), [(place, kind) for place, kinds in COMPONENTS.items() for kind in kinds]
)  # fmt: skip
def test_each_component_comes_back(place, kind):
    rng = random.Random(kind)
    for _ in range(20):
        component = files.random_component(rng, place, 0)
        while component["type"] != kind:
            component = files.random_component(rng, place, 0)
        root = json_of(**{place: component})
        spec = spec_of(root)
        written = json.loads(to_json(spec)[0])
        assert spec_of(written) == spec
        theirs, again = (json.loads(tokenizers.Tokenizer.from_str(json.dumps(it)).to_str()) for it in (root, written))
        if spec.pipeline is not None:
            assert _without_tokens(again[place]) == _without_tokens(theirs[place])


def _without_tokens(value):
    """A component but for the names of a template's tokens, which the vocabulary gives."""
    if isinstance(value, dict):
        return {key: _without_tokens(item) for key, item in value.items() if key != "tokens"}
    return [_without_tokens(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", [kind for kinds in COMPONENTS.values() for kind in kinds])
def test_each_option_that_is_missing_or_wrong_is_refused_with_its_place(place, kind):
    rng = random.Random(1)
    if kind not in COMPONENTS[place] or not COMPONENTS[place][kind]:
        return
    component = files.random_component(rng, place, 0)
    while component["type"] != kind:
        component = files.random_component(rng, place, 0)
    assert refusal(json_of(**{place: component | {"surprise": 1}})).startswith(f"$.{place}: expected type")
    for option in COMPONENTS[place][kind]:
        wrong = json_of(**{place: component | {option.name: {"no": []}}})
        assert refusal(wrong).startswith(f"$.{place}.{option.name}")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({}, {"prepend_scheme": "always", "split": True}),
        ({"add_prefix_space": True}, {"prepend_scheme": "always", "split": True}),
        ({"str_rep": "▁", "add_prefix_space": True}, {"prepend_scheme": "always", "split": True}),
        ({"add_prefix_space": False, "prepend_scheme": "never"}, {"prepend_scheme": "never", "split": True}),
        ({"add_prefix_space": True, "prepend_scheme": "first"}, {"prepend_scheme": "first", "split": True}),
        ({"prepend_scheme": "first", "split": False}, {"prepend_scheme": "first", "split": False}),
    ],
)
@pytest.mark.parametrize("place", ["pre_tokenizer", "decoder"])
def test_metaspace_in_its_old_spellings(place, old, new):
    root = json_of(**{place: {"type": "Metaspace", "replacement": "▁"} | old})
    written = json.loads(to_json(spec_of(root))[0])
    assert written[place] == {"type": "Metaspace", "replacement": "▁"} | new
    assert written[place] == json.loads(tokenizers.Tokenizer.from_str(json.dumps(root)).to_str())[place]


def test_metaspace_that_contradicts_itself_is_refused():
    component = {"type": "Metaspace", "replacement": "▁", "add_prefix_space": False, "prepend_scheme": "first"}
    message = '$.pre_tokenizer.add_prefix_space: expected true, for `prepend_scheme` is not "never", found false'
    assert refusal(json_of(pre_tokenizer=component)) == message


# Models


@pytest.mark.parametrize("model", [WORD_LEVEL, WORD_PIECE, BPE, UNIGRAM])
def test_a_model_without_a_type_is_known_by_its_keys(model):
    untyped = {key: value for key, value in model.items() if key != "type"}
    root = json_of(model=untyped)
    assert spec_of(root) == spec_of(json_of(model=model))
    theirs = tokenizers.Tokenizer.from_str(json.dumps(root))
    assert mg.Tokenizer(spec_of(root)).encode("ab") == theirs.encode("ab").ids


def test_merges_read_alike_in_both_notations():
    old = BPE | {"merges": ["a b", "ab b"]}
    assert spec_of(json_of(model=old)) == spec_of(json_of(model=BPE))


def test_a_merge_loses_the_prefix_of_its_right_token():
    model = {"vocab": {"a": 0, "##b": 1, "ab": 2}, "merges": [["a", "##b"]], "continuing_subword_prefix": "##"}
    spec = spec_of(json_of(model=BPE | model))
    assert isinstance(spec.model, CharacterPairModel)
    assert mg.Tokenizer(spec).encode("ab") == [2]


def test_numbers_of_a_model_come_back():
    model = WORD_PIECE | {"max_input_chars_per_word": 7, "continuing_subword_prefix": "@@", "unk_token": "a"}
    spec = spec_of(json_of(model=model))
    assert isinstance(spec.model, WordPieceModel)
    assert json.loads(to_json(spec)[0])["model"] == model
    scores = [["<unk>", 0.0], ["a", -1.2345678901234567], ["b", 1e-300], ["c", -3.0]]
    spec = spec_of(json_of(model=UNIGRAM | {"vocab": scores}))
    assert json.loads(to_json(spec)[0])["model"]["vocab"] == scores


def test_truncation_and_padding_are_kept():
    truncation = {"direction": "Left", "max_length": 512, "strategy": "OnlySecond", "stride": 128}
    padding = {"strategy": {"Fixed": 64}, "direction": "Left", "pad_to_multiple_of": 8, "pad_id": 3, "pad_type_id": 1}
    spec = spec_of(json_of(truncation=truncation, padding=padding | {"pad_token": "a"}))
    assert spec.truncation == Truncation(max_length=512, strategy="only_second", stride=128, side="left")
    assert spec.padding == Padding(length=64, multiple_of=8, side="left", id=3, type_id=1, token="a")
    written = json.loads(to_json(spec)[0])
    assert (written["truncation"], written["padding"]) == (truncation, padding | {"pad_token": "a"})


def test_a_spec_with_a_pipeline_is_a_value():
    import pickle

    spec = spec_of(json_of(normalizer={"type": "NFC"}, model=UNIGRAM))
    assert pickle.loads(pickle.dumps(spec)) == spec
    assert len({spec, spec_of(json_of(normalizer={"type": "NFC"}, model=UNIGRAM))}) == 1
    assert spec != spec_of(json_of(normalizer={"type": "NFD"}, model=UNIGRAM))


def test_a_large_spec_shows_itself_in_a_screen(gpt2):
    assert len(repr(gpt2.spec)) < 1500
    assert all(len(repr(getattr(gpt2.spec, field.name))) < 1000 for field in fields(gpt2.spec))


# What is wrong


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"normalizer": {"type": "Lower"}}, '$.normalizer.type: expected one of NFC, NFD, NFKC, NFKD, Nmt, Lowercase, '
         'StripAccents, ByteLevel, Strip, Replace, Prepend, Precompiled, BertNormalizer, Sequence, found "Lower"'),
        ({"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": 5}]}},
         "$.normalizer.normalizers[1].type: expected a string, found 5"),
        ({"normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAA="}},
         '$.normalizer.precompiled_charsmap: expected a SentencePiece charsmap in base64, found "AAA="'),
        ({"pre_tokenizer": {"type": "CharDelimiterSplit", "delimiter": "ab"}},
         '$.pre_tokenizer.delimiter: expected one character, found "ab"'),
        ({"pre_tokenizer": {"type": "FixedLength", "length": 0}},
         "$.pre_tokenizer.length: expected an integer from 1 to 9223372036854775807, found 0"),
        ({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "("}, "behavior": "Isolated", "invert": False}},
         "$.pre_tokenizer.pattern.Regex: pattern '(', character 0: expected a construct that means the same in Rust's "
         "and in Oniguruma's regexes, found `( without its `)``"),
        ({"decoder": {"type": "Strip", "content": " ", "start": -1, "stop": 0}},
         "$.decoder.start: expected an integer from 0 to 9223372036854775807, found -1"),
        ({"model": WORD_LEVEL | {"vocab": {"a": 0, "b": 0}}},
         "$.model.vocab.b: expected an id of its own, not that of 'a', found 0"),
        ({"model": WORD_LEVEL | {"vocab": {"a": 1.5}}},
         "$.model.vocab.a: expected an integer from 0 to 16777215, found 1.5"),
        ({"model": WORD_LEVEL | {"vocab": []}}, "$.model.vocab: expected an object, found an array of 0"),
        ({"model": {"type": "WordPiece", "vocab": {}}}, '$.model: expected the key "unk_token", found none'),
        ({"model": {"vocab": {}}},
         "$.model: expected a type, one of BPE, WordPiece, WordLevel, Unigram, or the keys of one, found an object"),
        ({"model": UNIGRAM | {"unk_id": 4}}, "$.model.unk_id: expected null or the id of one of 4 tokens, found 4"),
        ({"model": UNIGRAM | {"vocab": [["a", -1], ["b", True]]}},
         "$.model.vocab[1]: expected a token and its score, found an array of 2"),
        ({"model": BPE | {"merges": [["a", "c"]]}},
         "$.model.merges[0]: expected tokens of $.model.vocab, which lacks 'c', found \"a c\""),
        ({"padding": {"strategy": "Longest", "direction": "Left", "pad_id": 0, "pad_type_id": 0, "pad_token": ""}},
         '$.padding.strategy: expected "BatchLongest" or the key Fixed with a length, found "Longest"'),
        ({"truncation": {"max_length": 5, "strategy": "LongestFirst", "stride": 0, "direction": "Up"}},
         '$.truncation.direction: expected one of "Left", "Right", found "Up"'),
        ({"post_processor": {"type": "BertProcessing", "sep": ["a", 1 << 31], "cls": ["a", 0]}},
         "$.post_processor.sep[1]: expected an integer from 0 to 16777215, found 2147483648"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_refused_with_its_json_path(changes, message):
    assert refusal(json_of(**changes)) == message


def test_sequences_inside_each_other_have_an_end():
    component = {"type": "NFC"}
    for _ in range(60):
        component = {"type": "Sequence", "normalizers": [component]}
    place = "$.normalizer" + ".normalizers[0]" * 51
    assert refusal(json_of(normalizer=component)) == f"{place}: expected at most 50 Sequences inside each other"


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(json_of())[:-40],
        json.dumps(json_of(model=BPE | {"vocab": {"a": 1 << 31}})),
        "[" * 1_000_000,
        '{"model":' * 1_000_000,
        '{"normalizer":' + '{"type":"Sequence","normalizers":[' * 400_000,
        "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n",
        "<!DOCTYPE html><html><body>not found</body></html>",
        '{"a": "' + "\\ud800" * 100_000 + '"}',
        "9" * 1_000_000,
    ],
)
def test_a_broken_file_is_refused_at_once_and_in_little_memory(tmp_path, text):
    path = tmp_path / "tokenizer.json"
    path.write_text(text)
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    with pytest.raises(mg.FormatError, match=r"tokenizer\.json") as caught:
        mg.load(path)
    assert "expected" in str(caught.value)
    assert "found" in str(caught.value)
    assert time.process_time() - start < 1
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 256 << 10


# Writing


def test_an_id_that_hugging_face_would_not_give_is_refused():
    spec = spec_of(json_of(added_tokens=[]))
    tok = mg.Tokenizer(spec).with_special_tokens({"<s>": 900})
    with pytest.raises(mg.FormatError, match=r"expected the id 7 for the added token '<s>', found 900"):
        to_json(tok.spec)


@pytest.mark.parametrize("name", ["t.tiktoken", "t.model", "vocab.bpe"])
def test_other_formats_refuse_other_models(tmp_path, name):
    with pytest.raises(mg.FormatError, match="model: expected byte-level BPE, found Unigram"):
        mg.Tokenizer(spec_of(json_of(model=UNIGRAM))).save(tmp_path / name)


@pytest.mark.parametrize("model", [WORD_LEVEL, WORD_PIECE, BPE, UNIGRAM])
def test_a_saved_folder_is_locked_and_loads(tmp_path, model):
    tok = mg.Tokenizer(spec_of(json_of(model=model, pre_tokenizer={"type": "Whitespace"})))
    tok.save(tmp_path)
    again = mg.load(tmp_path)
    assert (again.spec, again.fingerprint()) == (tok.spec, tok.fingerprint())
    changed = json.loads((tmp_path / "tokenizer.json").read_text()) | {"normalizer": {"type": "NFC"}}
    (tmp_path / "tokenizer.json").write_text(json.dumps(changed))
    with pytest.raises(mg.FormatError, match="expected the fingerprint"):
        mg.load(tmp_path)


def test_a_vocabulary_that_lacks_characters_can_be_saved(tmp_path):
    tok = mg.Tokenizer(spec_of(json_of(model=UNIGRAM | {"unk_id": None})))
    with pytest.raises(mg.TextError):
        tok.encode("Hello, world!")
    tok.save(tmp_path)
    assert mg.load(tmp_path).encode("ab") == [3]


# Reading whole, in every part of the Tokenizer


def test_the_vocabulary_is_as_it_is_spelled():
    tok = mg.Tokenizer(spec_of(json_of(model=WORD_PIECE | {"vocab": WORDS | {"##b": 7}})))
    assert tok.vocabulary["▁a".encode()] == tok.token_to_id("▁a") == 6
    assert (tok.id_to_token(7), tok.n_vocab, list(tok.vocabulary)[-1]) == (b"##b", 8, b"##b")
    assert tok.count("ab") == len(tok.encode("ab"))
    assert tok.encode_array("ab").tolist() == tok.encode("ab")
    assert tok.encode_batch(["ab", "a"]) == [tok.encode("ab"), tok.encode("a")]
    assert [token.id for token in tok.tokens("ab")] == tok.encode("ab")
    assert list(tok.encode_iterable(["a", "b"])) == tok.encode("ab")


def test_a_held_text_comes_whole_at_the_end():
    replaces = {"type": "Replace", "pattern": {"Regex": "a b"}, "content": "c"}
    decoder = {"type": "Sequence", "decoders": [{"type": "Fuse"}, replaces]}
    tok = mg.Tokenizer(spec_of(json_of(decoder=decoder, model=WORD_LEVEL | {"vocab": WORDS | {"a b": 7, " b": 8}})))
    stream = tok.decode_stream()
    assert [*map(stream.push, [3, 8, 4]), stream.finish()] == ["", "", "", "cb"]


def test_a_stream_forgets_what_it_gave():
    decoder = {"type": "WordPiece", "prefix": "##", "cleanup": True}
    tok = mg.Tokenizer(spec_of(json_of(decoder=decoder, model=WORD_PIECE)))
    stream = tok.decode_stream([3, 4])
    given = [stream.push(id) for id in [5, 3] * 500]
    assert "".join(given) + stream.finish() == tok.decode([3, 4, *[5, 3] * 500]).removeprefix("a b")
    assert max(map(len, given)) <= 3
