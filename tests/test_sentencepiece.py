"""A Unigram model that SentencePiece trained and transformers converted: ids are SentencePiece's own."""

import io
import random
from itertools import pairwise

import pytest
import sentencepiece
import texts
import tokenizers
from small_tokenizers import saved
from transformers.convert_slow_tokenizer import SpmConverter, import_protobuf

import merganser as mg

NOISE = [*"abcxyzABC #@!$%^&*()~_=+[]{}<>/\\|'\"0123456789", "  ", "🥱", "︰", "…", "ﬁ", "é", "日", "ガ", "①"]


def trained(**options) -> bytes:
    """A small model of XLM-R's kind: Unigram behind nmt_nfkc."""
    lines = [line for text in texts.LANGUAGES.values() for line in text.split("\n") for _ in range(3)]
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=model,
        model_type="unigram",
        vocab_size=1600,
        hard_vocab_limit=False,
        character_coverage=1.0,
        num_threads=1,
        minloglevel=2,
        **options,
    )
    return model.getvalue()


def converted(data: bytes) -> tokenizers.Tokenizer:
    """The model as transformers converts it, with the pieces that SentencePiece calls control as special tokens."""
    model = import_protobuf().ModelProto()
    model.ParseFromString(data)
    pieces = [(piece.piece, piece.score) for piece in model.pieces]
    tok = SpmConverter.build_tokenizer_from_spm_proto(model, pieces)
    tok.add_special_tokens(["<unk>", "<s>", "</s>"])
    return tok


@pytest.fixture(scope="module", params=[False, True], ids=["unknown", "bytes"])
def models(request, tmp_path_factory):
    """The three of them: SentencePiece's, tokenizers', ours."""
    data = trained(byte_fallback=request.param)
    theirs = converted(data)
    ours = saved(theirs, tmp_path_factory.mktemp("model") / "tokenizer.json")
    return sentencepiece.SentencePieceProcessor(model_proto=data), theirs, ours


def noisy(seed: int) -> str:
    return "".join(random.Random(seed).choices(NOISE, k=4_000))


@pytest.mark.parametrize(
    "text",
    [
        "︰",
        "…",
        "a︰b…",
        "︰ ︰……",
        "ﬁ ㎏ ①½",
        "🥱",
        "so tired 🥱🥱",
        "▁",
        "a▁▁ b",
        "a\u200bb\u3000c",
        "  a   b ",
        "",
        " ",
    ]
    + [noisy(seed) for seed in range(4)]
    + list(texts.LANGUAGES.values()),
)
def test_ids_are_those_of_sentencepiece_and_of_its_conversion(models, text):
    sp, theirs, ours = models
    encoding = theirs.encode(text, add_special_tokens=False)
    assert ours.encode(text) == ours.encode(text, allow_special="all") == encoding.ids == sp.encode(text)
    assert ours.prepare(text, allow_special="all", add_special_tokens=False, offsets=True).offsets == encoding.offsets


@pytest.mark.parametrize("text", ["</s>", "a</s> b<s>", "<unk>", "</s></s>", "<s>a</s>"])
def test_control_pieces_are_never_text_as_in_sentencepiece(models, text):
    sp, theirs, ours = models
    assert ours.encode(text) == sp.encode(text)
    assert not {1, 2} & set(ours.encode(text))
    assert ours.encode(text, allow_special="all") == theirs.encode(text, add_special_tokens=False).ids
    theirs.encode_special_tokens = True
    assert theirs.encode(text, add_special_tokens=False).ids != ours.encode(text)
    theirs.encode_special_tokens = False


def test_what_normalization_changes_is_told(models):
    sp, _, ours = models
    ids = ours.encode("a︰b…")
    assert ours.decode(ids) == sp.decode(ids)
    assert ours.decode(ids) != "a︰b…"
    assert ours.certificate()["text"].startswith("not lossless: Precompiled, ")


@pytest.mark.parametrize(
    ("options", "account"),
    [
        ({}, "lossless: every text comes back from its ids"),
        ({"unmatched": "drop"}, "not lossless: the split may leave some out"),
        ({"unmatched": "drop", "pattern": r"a\Kb"}, "not lossless: the split may leave some out"),
    ],
)
def test_a_split_that_may_leave_text_out_is_told(options, account):
    split = mg.Split(**{"pattern": r"\w+", **options})
    assert mg.train("a b", vocab_size=256, split=split).certificate()["text"] == account


def test_of_half_width_letters_with_a_mark_the_conversion_is_followed(models):
    sp, theirs, ours = models
    assert ours.encode("ｶﾞ") == theirs.encode("ｶﾞ", add_special_tokens=False).ids != sp.encode("ｶﾞ")


def test_windows_of_a_long_text_are_slices_of_it(models):
    _, theirs, ours = models
    text = "👋🏽" * 12 + "今天的天氣很好，我們去公園看𪚥和花。 ﬁ…︰" * 3
    theirs.enable_truncation(10, stride=3)
    encoding = theirs.encode(text, add_special_tokens=False)
    theirs.no_truncation()
    row = ours.prepare(
        text, add_special_tokens=False, max_length=10, truncation=True, stride=3, overflow=True, offsets=True
    )
    windows = [row, *row.overflow]
    assert [window.offsets for window in windows] == [
        encoding.offsets,
        *(more.offsets for more in encoding.overflowing),
    ]
    assert [window.ids for window in windows] == [encoding.ids, *(more.ids for more in encoding.overflowing)]
    spans = [(window.offsets[0][0], max(end for _, end in window.offsets)) for window in windows]
    assert (spans[0][0], spans[-1][1]) == (0, len(text))
    assert all(second[0] <= first[1] for first, second in pairwise(spans))


def test_windows_that_cut_a_character_give_all_of_it(gpt2):
    text = "👋🏽" * 9 + " 𪚥 today"
    row = gpt2.prepare(text, max_length=10, truncation=True, overflow=True, offsets=True)
    windows = [row, *row.overflow]
    assert [id for window in windows for id in window.ids] == gpt2.encode(text)
    assert all(len(window.ids) <= 10 for window in windows)
    slices = [text[window.offsets[0][0] : window.offsets[-1][1]] for window in windows]
    for window, part in zip(windows, slices, strict=True):
        assert gpt2.decode_bytes(window.ids) in part.encode()
    ends = [(window.offsets[0][0], window.offsets[-1][1]) for window in windows]
    assert (ends[0][0], ends[-1][1]) == (0, len(text))
    assert all(second[0] in (first[1] - 1, first[1]) for first, second in pairwise(ends))
