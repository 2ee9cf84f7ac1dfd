"""What `Tokenizer` promises, case by case."""

import concurrent.futures
import itertools
import multiprocessing
import pickle
import time

import numpy as np
import pytest
import texts
from hypothesis import given
from hypothesis import strategies as st

import merganser as mg

GROUPS = {
    "waving": "👋🏽" * 5,
    "family": "👨‍👩‍👧‍👦 and 👩‍🚀",
    "chinese": "𠮷野家は「漢字」です",
    "devanagari": "क्षत्रिय हिन्दी",
}


# Long and hostile texts.


@pytest.mark.parametrize("unit", ["a", "^", "0", "x", "-", "_", "é", "ab", "'s"])
@pytest.mark.parametrize("name", ["gpt2", "cl100k_base", "o200k_base"])
def test_a_million_of_anything_encodes_in_well_under_a_second(name, unit):
    tok, text = mg.load(name), unit * (1_000_000 // len(unit))
    start = time.process_time()
    ids = tok.encode(text)
    assert time.process_time() - start < 10  # quadratic work would take minutes; alone this takes 0.1 to 0.5 s
    assert tok.decode(ids) == text


def test_a_run_has_the_ids_of_the_plain_algorithm(gpt2):
    merges = {}
    for rank, (token, id) in enumerate(gpt2.vocabulary.items()):
        merges[token] = (rank, id)
    for unit, length in [(b"a", 70), (b"^", 200), (b"ab", 333), (b"1", 129)]:
        parts = [bytes([byte]) for byte in unit * length]
        while True:
            joined = [left + right for left, right in itertools.pairwise(parts)]
            ranks = [merges.get(both, (1 << 32, 0))[0] for both in joined]
            if not ranks or min(ranks) == 1 << 32:
                break
            at = ranks.index(min(ranks))
            parts[at : at + 2] = [joined[at]]
        assert gpt2._engine.encode_piece(unit * length) == [merges[part][1] for part in parts]


# Special tokens.


def test_special_tokens_in_text_are_text(bundled):
    ids = bundled.encode("<|endoftext|>")
    assert not set(ids) & set(bundled.special_tokens.values())
    assert bundled.decode(ids) == "<|endoftext|>"


def test_counting_never_raises(bundled):
    assert bundled.count("<|endoftext|>") == len(bundled.encode("<|endoftext|>"))
    assert bundled.count("word " * 10_000 + "<|endoftext|>") > 10_000


def test_allowed_names_are_checked(gpt2):
    with pytest.raises(mg.TokenIdError, match=r"expected names of special tokens, found '<\|im_start\|>'") as caught:
        gpt2.encode("x", allow_special={"<|im_start|>"})
    assert caught.value.hint == "this tokenizer has <|endoftext|>"
    with pytest.raises(TypeError, match="allow_special"):
        gpt2.encode("x", allow_special="<|endoftext|>")


def test_the_longest_special_token_wins(gpt2):
    tok = gpt2.with_special_tokens({"<a>": 60000, "<a>b": 60001})
    assert tok.encode("<a>b<a>", allow_special="all") == [60001, 60000]
    assert tok.encode("<a>b", allow_special={"<a>"}) == [60000, *tok.encode("b")]


def test_added_special_tokens_keep_what_is_taken(cl100k):
    tok = cl100k.with_special_tokens({"<|im_start|>": 100264, "<|my token|>": 100265, "<|two\nlines|>": 100266})
    assert tok.encode("<|my token|><|two\nlines|>", allow_special="all") == [100265, 100266]
    assert tok.decode([100264, 100265]) == "<|im_start|><|my token|>"
    for taken in ({"<|x|>": 100257}, {"<|x|>": 262}, {"<|endoftext|>": 5}, {"": 100264}):
        with pytest.raises(mg.TokenIdError):
            cl100k.with_special_tokens(taken)


def test_decoding_can_leave_special_tokens_out(gpt2):
    ids = [*gpt2.encode("a"), 50256, *gpt2.encode(" b")]
    assert gpt2.decode(ids) == "a<|endoftext|> b"
    assert gpt2.decode(ids, skip_special_tokens=True) == "a b"


# Text and bytes.


def test_bytes_are_text(bundled):
    text = "plain, ünïcode, 漢字 👋🏽"
    for form in (text.encode(), bytearray(text.encode()), memoryview(text.encode())):
        assert bundled.encode(form) == bundled.encode(text)


def test_invalid_bytes_raise_with_their_place_or_are_replaced(gpt2):
    with pytest.raises(mg.TextError, match=r"^byte 2: expected UTF-8, found byte 0xFF\nhint") as caught:
        gpt2.encode(b"ab\xffcd")
    assert 'errors="replace"' in caught.value.hint
    assert gpt2.encode(b"ab\xffcd\xe2\x82", errors="replace") == gpt2.encode("ab\ufffdcd\ufffd")


def test_lone_surrogates_are_replaced_or_raise(gpt2):
    assert gpt2.encode("hello \ud800 world") == gpt2.encode("hello \ufffd world")
    assert gpt2.encode("\ud83d\ude00") == gpt2.encode("😀")
    assert gpt2.encode("\ude00\ud83d") == gpt2.encode("\ufffd\ufffd")
    with pytest.raises(mg.TextError, match=r"character 6: expected text, found half of a surrogate pair"):
        gpt2.encode("hello \ud800 world", surrogates="strict")


@pytest.mark.parametrize("text", [None, 3, ["a"], 1.5, {"a"}])
def test_what_is_no_text_is_a_type_error(gpt2, text):
    with pytest.raises(TypeError, match="expected str or UTF-8 bytes"):
        gpt2.encode(text)


def test_words_split_as_in_unicode(gpt2):
    pieces = gpt2.pieces("a\u2029b\u0085c\u200bd\u3000e")
    assert pieces == ["a", "\u2029", "b", "\u0085", "c", "\u200b", "d", "\u3000", "e"]


# Ids.


def test_ids_come_as_lists_arrays_and_batches(bundled):
    batch = ["", "one", "two words", "漢字" * 100, "long " * 5000]
    lists = [bundled.encode(text) for text in batch]
    assert bundled.encode_batch(batch) == bundled.encode_batch(iter(batch), num_threads=3) == lists
    for text, ids in zip(batch, lists, strict=True):
        array = bundled.encode_array(text)
        assert array.dtype == np.uint32
        assert array.flags.owndata
        assert array.flags.writeable
        assert array.tolist() == ids
        assert bundled.count(text) == len(ids)


def test_narrow_arrays_only_where_the_vocabulary_fits(gpt2, cl100k):
    assert gpt2.encode_array("hello", dtype="uint16").dtype == np.uint16
    with pytest.raises(mg.TokenIdError, match="found uint16"):
        cl100k.encode_array("hello", dtype="uint16")


def test_an_error_in_a_batch_names_the_document(gpt2):
    with pytest.raises(mg.TextError, match=r"^document 1: byte 0: expected UTF-8"):
        gpt2.encode_batch([b"fine", b"\xff", b"fine"])


@pytest.mark.parametrize("ids", [[100256], [-1], [2**32], [2**63], [-(2**70)], [100277], np.array([-5])])
def test_ids_out_of_range_name_the_id_and_the_range(cl100k, ids):
    with pytest.raises(mg.TokenIdError, match=rf"expected an id of this vocabulary, 0 to 100276, found {ids[0]}"):
        cl100k.decode(ids)


def test_unknown_ids_may_be_replaced_or_skipped(cl100k):
    ids = [*cl100k.encode("a"), 100256, 2**40, *cl100k.encode("b")]
    assert cl100k.decode(ids, unknown_ids="skip") == "ab"
    assert cl100k.decode(ids, unknown_ids="replace") == "a\ufffd\ufffdb"
    with pytest.raises(mg.TokenIdError):
        cl100k.decode([-1], unknown_ids="skip")


@pytest.mark.parametrize("ids", [[True], [3.0], "12", b"12", ["1"], np.array([1.0]), np.array([True]), None, 5])
def test_what_is_no_id_is_a_type_error(gpt2, ids):
    with pytest.raises(TypeError):
        gpt2.decode(ids)


def test_ids_of_any_integer_kind_decode(gpt2):
    ids = gpt2.encode("hello world")
    for form in (tuple(ids), iter(ids), *(np.array(ids, dtype=kind) for kind in ("u2", "u4", "u8", "i4", "i8"))):
        assert gpt2.decode(form) == "hello world"
    assert gpt2.decode([np.int64(ids[0]), np.uint16(ids[1])]) == "hello world"
    assert gpt2.decode(np.array(ids)[::-1]) == " worldhello"
    assert gpt2.decode(np.array(ids)[::2]) == "hello"


def test_half_a_character_follows_the_policy(gpt2):
    half = gpt2.encode("👋")[:1]
    assert gpt2.decode_bytes(half) == b"\xf0\x9f\x91"
    assert gpt2.decode(half) == "\ufffd"
    assert gpt2.decode(half, errors="ignore") == ""
    with pytest.raises(mg.TextError, match="byte 0 of the decoded ids"):
        gpt2.decode(half, errors="strict")


def test_decoding_changes_nothing_else(bundled):
    for text in ["y is ?", "of 'sensing", '" : "', " lead", "trail ", "ends in \ufffd", "\ufeffBOM", "a\x00b", "\r\n"]:
        assert bundled.decode(bundled.encode(text)) == text
    assert bundled.decode_batch([bundled.encode("a b"), []]) == ["a b", ""]


def test_gaps_between_ids_are_known(cl100k):
    assert cl100k.n_vocab == 100277
    assert len(cl100k.vocabulary) == 100256
    assert cl100k.token_to_id("<|endofprompt|>") == 100276
    assert cl100k.token_to_id("no such token, surely") is None
    with pytest.raises(mg.TokenIdError):
        cl100k.id_to_token(100256)


def test_byte_lengths_are_for_bits_per_byte(gpt2):
    lengths = gpt2.token_byte_lengths()
    ids = gpt2.encode("bits per byte, 漢字")
    assert lengths.dtype == np.uint32
    assert lengths[ids].sum() == len("bits per byte, 漢字".encode())
    assert lengths[50256] == 0


# Streaming.


@pytest.mark.parametrize("text", GROUPS.values(), ids=GROUPS)
def test_a_stream_gives_whole_characters_that_join_to_the_text(bundled, text):
    stream = bundled.decode_stream()
    parts = [stream.push(id) for id in bundled.encode(text)]
    assert "".join(parts) + stream.finish() == text
    assert not any("\ufffd" in part for part in parts)


def test_a_stream_gives_no_text_of_its_prompt(gpt2):
    ids = gpt2.encode("prompt 👋🏽")
    for cut in range(1, len(ids)):
        stream = gpt2.decode_stream(ids[:cut])
        rest = "".join(stream.push(id) for id in ids[cut:]) + stream.finish()
        assert "prompt 👋🏽".endswith(rest)
        assert rest or cut == len(ids)


def test_a_stream_goes_on_after_an_unknown_id(cl100k):
    ids = cl100k.encode("a👋b")
    stream = cl100k.decode_stream(unknown_ids="skip")
    assert "".join(stream.push(id) for id in [ids[0], 100256, *ids[1:]]) == "a👋b"
    stream = cl100k.decode_stream()
    stream.push(ids[0])
    with pytest.raises(mg.TokenIdError):
        stream.push(100256)
    assert "".join(stream.push(id) for id in ids[1:]) == "👋b"


def test_a_stream_that_ends_in_half_a_character_says_so(gpt2):
    stream = gpt2.decode_stream()
    assert stream.push(gpt2.encode("👋")[0]) == ""
    assert stream.finish() == "\ufffd"


# Offsets.


@pytest.mark.parametrize("text", [*GROUPS.values(), "", "plain", "a👋漢 b"], ids=str)
def test_offsets_leave_no_gap_and_cover_whole_characters(bundled, text):
    tokens = bundled.tokens(text)
    assert [token.id for token in tokens] == bundled.encode(text)
    covered = {at for token in tokens for at in range(token.start, token.end)}
    assert covered == set(range(len(text)))
    for token in tokens:
        assert token.bytes in text[token.start : token.end].encode()


def test_offsets_come_in_three_units(gpt2):
    text = "👋漢 word"
    by_character, by_byte = gpt2.tokens(text)[-1], gpt2.tokens(text, unit="byte")[-1]
    assert (by_character.start, by_character.end) == (2, 7)
    assert (by_byte.start, by_byte.end) == (7, 12)
    by_utf16 = gpt2.tokens(text, unit="utf16")[-1]
    assert (by_utf16.start, by_utf16.end) == (3, 8)
    with pytest.raises(ValueError, match="unit"):
        gpt2.tokens(text, unit="word")


@given(st.text())
def test_byte_offsets_cut_the_text_into_the_tokens(text):
    tok = mg.load("gpt2")
    tokens = tok.tokens(text, unit="byte")
    assert all(text.encode()[token.start : token.end] == token.bytes for token in tokens)


# Threads, processes, pickling.


def _encode(tokenizer_and_text):
    tok, text = tokenizer_and_text
    return tok.encode_batch([text] * 4)


def test_a_used_tokenizer_survives_fork_and_spawn(gpt2):
    expected = gpt2.encode_batch(["some text"] * 4)
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            assert pool.map(_encode, [(gpt2, "some text")] * 4) == [expected] * 4


def test_threads_share_one_tokenizer(gpt2):
    batch = [f"text {n} <|endoftext|> " * (n % 7) for n in range(300)]
    allow = ["all", (), {"<|endoftext|>"}]
    expected = [gpt2.encode(text, allow_special=allow[n % 3]) for n, text in enumerate(batch)]
    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        got = list(pool.map(lambda n: gpt2.encode(batch[n], allow_special=allow[n % 3]), range(300)))
    assert got == expected


def test_a_pickled_tokenizer_is_the_same(bundled):
    copy = pickle.loads(pickle.dumps(bundled))
    assert copy.spec == bundled.spec
    assert copy.encode("as before 漢") == bundled.encode("as before 漢")


def test_the_fingerprint_does_not_change_with_use(gpt2):
    before = gpt2.fingerprint()
    gpt2.encode("use", allow_special="all")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(_fingerprint, ("gpt2",)) == before == gpt2.fingerprint()


def _fingerprint(name):
    return mg.load(name).fingerprint()


def test_fingerprints_tell_tokenizers_apart(gpt2, cl100k):
    added = gpt2.with_special_tokens({"<|x|>": 60000})
    assert len({gpt2.fingerprint(), cl100k.fingerprint(), added.fingerprint()}) == 3


# Loading.


def test_an_unknown_name_lists_the_bundled_ones():
    with pytest.raises(mg.FormatError, match="cl100k_base") as caught:
        mg.load("cl100k")
    assert "cl100k_base" in caught.value.hint


def test_threads_that_share_a_text_give_its_ids(bundled):
    text = "".join(texts.LANGUAGES.values()) * 80 + "<|endoftext|>" * 3
    text += "\n".join(texts.ADVERSARIAL[:500])
    assert len(text.encode()) > 2 << 18
    for num_threads in (2, 5):
        for allow in ((), "all"):
            ids = bundled.encode(text, num_threads=num_threads, allow_special=allow)
            assert ids == bundled.encode(text, allow_special=allow)
    assert bundled.encode_array(text, num_threads=2).tolist() == bundled.encode(text)


def test_a_text_is_cut_only_where_that_changes_nothing(bundled):
    num_cut = 0
    for text in itertools.chain(texts.random_texts(seed=5, count=500), texts.LANGUAGES.values()):
        cut = bundled._engine.last_safe_cut(text, bundled._allow("all"))
        if cut is not None:
            num_cut += 1
            for more in ("", " x", "\n", "a", "1", "|>"):
                parts = [text[:cut], text[cut:] + more]
                whole = bundled.encode(text + more, allow_special="all")
                assert [id for part in parts for id in bundled.encode(part, allow_special="all")] == whole
    assert num_cut > 300


@pytest.mark.parametrize("name", ["clip", "bloom"])
def test_a_gap_of_the_split_is_not_cut(name):
    tok = mg.train(["word word"], vocab_size=258, split=name)
    text = "word  \n  \n  " * 50_000
    assert tok.encode(text, num_threads=2) == tok.encode(text)
    assert list(tok.encode_iterable(text[at : at + 7] for at in range(0, 7_000, 7))) == tok.encode(text[:7_000])
    parts = [text] * 3
    many, one = (mg.train(parts, vocab_size=262, split=name, num_threads=n) for n in (3, 1))
    assert many.fingerprint() == one.fingerprint()
