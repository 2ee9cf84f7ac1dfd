"""The book is right by itself: its examples run; it agrees with worked examples, with itself and with the originals."""

import ast
import doctest
import importlib
import sys
from pathlib import Path

import pytest
import rustbpe
import tiktoken
from hypothesis import given
from hypothesis import strategies as st
from tiktoken import _educational as educational

from merganser import reference
from merganser.reference import (
    BPE,
    PATTERNS,
    UNKNOWN,
    AlphabetTokenizer,
    BasicTokenizer,
    ByteTokenizer,
    CharacterTokenizer,
    RegexTokenizer,
    SennrichTokenizer,
    TieBreak,
    Tokenizer,
    WordTokenizer,
    compression_ratio,
    count_pairs,
    cut_special,
    encode_merges,
    encode_merges_in_order,
    encode_ranks,
    merge,
    recover_merges,
    split,
    train_bpe,
)

CHAPTERS = sorted(Path(reference.__file__).parent.glob("*.py"))
TIE_BREAKS: list[TieBreak] = ["first", "ids", "lex_max"]
TEXT = "It's the cat's hat, isn't it?\n\n  In 2023 the café had 😀 1234567 cats — 你好，世界。 \tTHE'LL\r\n  "
END = "<|end|>"

# Few different characters, so that pairs repeat; of one to four bytes, and of every class that a split tells apart.
repetitive = st.text(st.sampled_from("aab ")) | st.text(st.sampled_from("ab1 \n'sté汉🌍!"))
corpora = st.lists(repetitive.map(str.encode), max_size=8)
tie_breaks = st.sampled_from(TIE_BREAKS)


def ranks_of(bpe: BPE) -> dict[bytes, int]:
    return {token: i for i, token in bpe.vocabulary.items()}


# The island.


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.name)
def test_examples_in_docstrings_run(path):
    name = "merganser.reference" if path.stem == "__init__" else f"merganser.reference.{path.stem}"
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.name)
def test_a_chapter_is_short(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 160


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.name)
def test_a_chapter_imports_python_regex_and_other_chapters_only(path):
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    absolute = {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.level == 0}
    absolute |= {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    assert {str(name).split(".")[0] for name in absolute} <= sys.stdlib_module_names | {"regex"}
    assert all(node.level <= 1 for node in nodes if isinstance(node, ast.ImportFrom))


# Every tokenizer.

LOSSLESS: list[Tokenizer] = [
    CharacterTokenizer(),
    ByteTokenizer(),
    BasicTokenizer(train_bpe([TEXT.encode()], 30)),
    RegexTokenizer.train(TEXT, 30, pattern="gpt2", special_tokens=[END]),
    RegexTokenizer.train(TEXT, 30, pattern="gpt4", special_tokens=[END]),
    RegexTokenizer.train(TEXT, 30, pattern=r"\w", special_tokens=[END]),
]
CLOSED: list[Tokenizer] = [AlphabetTokenizer(TEXT), WordTokenizer(TEXT)]


@pytest.mark.parametrize("tokenizer", LOSSLESS, ids=lambda tokenizer: type(tokenizer).__name__)
@given(text=st.text() | repetitive)
def test_decode_undoes_encode(tokenizer, text):
    assert tokenizer.decode(tokenizer.encode(text)) == text


@pytest.mark.parametrize("tokenizer", LOSSLESS + CLOSED, ids=lambda tokenizer: type(tokenizer).__name__)
@pytest.mark.parametrize("text", ["", "cat", TEXT])
def test_decode_undoes_encode_of_the_text_it_learned_from(tokenizer, text):
    assert tokenizer.decode(tokenizer.encode(text)) == text


@pytest.mark.parametrize("tokenizer", [LOSSLESS[1], *LOSSLESS[2:]], ids=lambda tokenizer: type(tokenizer).__name__)
def test_bytes_that_are_not_utf8_decode_to_the_replacement_character(tokenizer):
    assert tokenizer.decode([128]) == "\ufffd"


def test_an_unknown_character_is_an_error_and_an_unknown_word_is_not():
    with pytest.raises(KeyError, match="ж"):
        AlphabetTokenizer(TEXT).encode("ж")
    assert WordTokenizer(TEXT).decode(WordTokenizer(TEXT).encode("the dog")) == f"the {UNKNOWN}"


@pytest.mark.parametrize("tokenizer", [AlphabetTokenizer("ab"), WordTokenizer("a b"), LOSSLESS[2], LOSSLESS[3]])
def test_an_id_out_of_range_is_an_error(tokenizer):
    for unknown in (-1, 9999):
        with pytest.raises(KeyError, match=str(unknown)):
            tokenizer.decode([unknown])


def test_compression_ratio_is_bytes_a_token():
    assert compression_ratio("Hello, 🌍! 你好!", ByteTokenizer().encode("Hello, 🌍! 你好!")) == 1.0
    assert compression_ratio("aaabdaaabac", [258, 100, 258, 97, 99]) == 2.2
    with pytest.raises(ValueError, match="expected at least one id, found none"):
        compression_ratio("", [])


# Training.


@pytest.mark.parametrize("tie_break", TIE_BREAKS)
def test_the_example_of_the_encyclopaedia_goes_from_11_tokens_to_5(tie_break):
    """https://en.wikipedia.org/wiki/Byte_pair_encoding: XdXac, where X is `aaab`."""
    tokenizer = BasicTokenizer(train_bpe([b"aaabdaaabac"], 3, tie_break=tie_break))
    ids = tokenizer.encode("aaabdaaabac")
    assert ids == [258, ord("d"), 258, ord("a"), ord("c")]
    assert tokenizer.bpe.vocabulary[258] == b"aaab"


@pytest.mark.parametrize(
    ("corpus", "num_merges", "tie_break", "pair"),
    [
        # `cc` and `dd` both occur three times.
        (["bbbaaaddddcccc"], 1, "first", (b"d", b"d")),
        (["aaabbbccccdddd"], 1, "first", (b"c", b"c")),
        (["bbbaaaddddcccc"], 1, "ids", (b"c", b"c")),
        (["aaabbbccccdddd"], 1, "ids", (b"c", b"c")),
        (["bbbaaaddddcccc"], 1, "lex_max", (b"d", b"d")),
        (["aaabbbccccdddd"], 1, "lex_max", (b"d", b"d")),
        # Once `bc` has merged, the first `ab` is gone, and `pq` is met before the next.
        (["abc", "bc", "bc", "bc", "pq", "pq", "ab", "ab"], 2, "first", (b"p", b"q")),
        (["abc", "bc", "bc", "bc", "pq", "pq", "ab", "ab"], 2, "ids", (b"a", b"b")),
        # The left id decides first, then the right one.
        (["ba", "ab", "ac"], 1, "ids", (b"a", b"b")),
        (["ba", "ab", "ac"], 1, "lex_max", (b"b", b"a")),
        # A new token has the greatest id, whatever its bytes.
        (["baa", "baa", "aa", "bc", "bc"], 2, "ids", (b"b", b"c")),
        (["baa", "baa", "aa", "bc", "bc"], 2, "lex_max", (b"b", b"c")),
        (["bzz", "bzz", "zz", "bc", "bc"], 2, "ids", (b"b", b"c")),
        (["bzz", "bzz", "zz", "bc", "bc"], 2, "lex_max", (b"b", b"zz")),
        # Where one is the beginning of the other, the longer is the greater.
        (["aab", "aab", "aa", "ad", "ad"], 2, "lex_max", (b"aa", b"b")),
    ],
)
def test_ties(corpus, num_merges, tie_break, pair):
    bpe = train_bpe(map(str.encode, corpus), num_merges, tie_break=tie_break)
    left, right = list(bpe.merges)[-1]
    assert (bpe.vocabulary[left], bpe.vocabulary[right]) == pair


def test_an_unknown_tie_break_is_an_error():
    with pytest.raises(ValueError, match="tie_break: expected 'first', 'ids' or 'lex_max', found 'last'"):
        train_bpe([b"aa"], 1, tie_break="last")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("corpus", [[], [b""], [b"a"], [b"a", b"b", b""]])
def test_a_corpus_without_pairs_teaches_nothing(corpus):
    assert train_bpe(corpus, 5) == train_bpe([], 0)


@pytest.mark.parametrize(
    ("corpus", "merges"),
    [
        ([b"ab"], [b"ab"]),
        ([b"abc"], [b"ab", b"abc"]),
        ([b"aaaa"], [b"aa", b"aaaa"]),
        ([b"ab", b"c"], [b"ab"]),
    ],
)
def test_training_stops_when_nothing_is_left_to_merge(corpus, merges):
    bpe = train_bpe(corpus, 100)
    assert [bpe.vocabulary[i] for i in bpe.merges.values()] == merges


@given(corpora, tie_breaks)
def test_training_longer_begins_with_the_same_merges(corpus, tie_break):
    shorter, longer = (list(train_bpe(corpus, n, tie_break=tie_break).merges.items()) for n in (5, 10))
    assert longer[:5] == shorter


@given(st.permutations([b"ab ab", b"ba", b"cab", b"cc cc", b"abba"]), st.sampled_from(["ids", "lex_max"]))
def test_the_order_of_the_pieces_does_not_matter_to_ids_and_lex_max(pieces, tie_break):
    assert train_bpe(pieces, 8, tie_break=tie_break) == train_bpe(sorted(pieces), 8, tie_break=tie_break)


@pytest.mark.parametrize(
    ("ids", "count", "length"),
    [
        ([1, 2, 3, 1, 2], 2, 3),
        ([1, 1], 1, 1),
        # A run counts every place and merges every second one.
        ([1, 1, 1], 2, 2),
        ([1, 1, 1, 1], 3, 2),
    ],
)
def test_a_merge_shortens_by_its_count_unless_the_pair_overlaps_itself(ids, count, length):
    pair = (ids[0], ids[1])
    assert count_pairs([ids])[pair] == count
    assert len(merge(ids, pair, 9)) == length


def test_an_alphabet_of_its_own_puts_new_tokens_after_it():
    bpe = train_bpe([[7, 8, 7, 8]], 2, vocabulary={7: b"x", 8: b"y"})
    assert bpe == BPE({(7, 8): 9, (9, 9): 10}, {7: b"x", 8: b"y", 9: b"xy", 10: b"xyxy"})


@pytest.mark.parametrize(
    ("text", "merged"),
    [
        ("    ", []),
        ("a  b", [" b", "a "]),
        # Spaces that do not follow one another may share a token: three tokens of GPT-2 are made of this.
        (" \xa0 \xa0", [" \xc2", " \xc2\xa0", " \xc2\xa0 \xc2\xa0"]),
    ],
)
def test_never_merge_spaces(text, merged):
    bpe = train_bpe([text.encode()], 20, never_merge_spaces=True)
    assert [bpe.vocabulary[i].decode("latin-1") for i in bpe.merges.values()] == merged


# Encoding.


@given(corpora, repetitive, tie_breaks)
def test_by_rank_and_in_order_give_the_same_ids(corpus, text, tie_break):
    merges = train_bpe(corpus, 20, tie_break=tie_break).merges
    assert encode_merges(text.encode(), merges) == encode_merges_in_order(text.encode(), merges)


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=10, unique=True), st.binary())
def test_by_rank_and_in_order_agree_on_merges_that_no_training_made(pairs, piece):
    # Any two of the first three bytes or of the tokens made before.
    merges = {pair: i for i, pair in enumerate(pairs, start=3) if max(pair) < i}
    piece = bytes(byte % 3 for byte in piece)
    assert encode_merges(piece, merges) == encode_merges_in_order(piece, merges)


@given(corpora, repetitive, tie_breaks, st.booleans())
def test_ranks_say_the_same_as_the_merges_of_a_training(corpus, text, tie_break, never_merge_spaces):
    bpe = train_bpe(corpus, 20, tie_break=tie_break, never_merge_spaces=never_merge_spaces)
    assert encode_ranks(text.encode(), ranks_of(bpe)) == encode_merges(text.encode(), bpe.merges)


@given(corpora, tie_breaks)
def test_merges_are_recovered_from_ranks_in_their_order(corpus, tie_break):
    bpe = train_bpe(corpus, 20, tie_break=tie_break)
    assert list(recover_merges(ranks_of(bpe)).items()) == list(bpe.merges.items())


def test_a_token_that_no_merge_makes_is_found_whole_and_has_no_merge_to_recover():
    ranks = {b"a": 0, b"b": 1, b"c": 2, b"abc": 3}
    assert encode_ranks(b"abc", ranks) == [3]
    assert encode_ranks(b"abca", ranks) == [0, 1, 2, 0]
    with pytest.raises(ValueError, match="rank 3: expected two tokens that make b'abc', found"):
        recover_merges(ranks)


def test_of_equal_pairs_the_leftmost_merges_first():
    assert encode_ranks(b"aaa", {b"a": 0, b"aa": 1}) == [1, 0]


# Splits and special tokens.


@pytest.mark.parametrize(
    ("text", "pattern", "pieces"),
    [
        ("", "gpt2", []),
        ("Hello've world123", "gpt2", ["Hello", "'ve", " world", "123"]),
        ("HOW'S it", "gpt2", ["HOW", "'", "S", " it"]),
        ("HOW'SIT", "gpt2", ["HOW", "'", "SIT"]),
        ("HOW'SIT", "gpt4", ["HOW", "'S", "IT"]),
        ("how'sit", "gpt2", ["how", "'s", "it"]),
        ("how\u2019s", "gpt2", ["how", "\u2019", "s"]),
        ("how\u2019s", "gpt4", ["how", "\u2019s"]),
        ("a   b", "gpt2", ["a", "  ", " b"]),
        ("a   ", "gpt2", ["a", "   "]),
        ("12345 67", "gpt2", ["12345", " 67"]),
        ("12345 67", "gpt4", ["123", "45", " ", "67"]),
        ("dog.\n\ncat", "gpt2", ["dog", ".", "\n", "\n", "cat"]),
        ("dog.\n\ncat", "gpt4", ["dog", ".\n\n", "cat"]),
        ("a \n\n  b", "gpt4", ["a", " \n\n", " ", " b"]),
        ("(x)\ty", "gpt4", ["(x", ")", "\ty"]),
    ],
)
def test_split(text, pattern, pieces):
    assert split(text, pattern) == pieces


@pytest.mark.parametrize("pattern", [*PATTERNS, r"\w+", r"(a)(b)?", r"x*"])
@given(text=st.text() | repetitive)
def test_pieces_join_to_the_text(pattern, text):
    assert "".join(split(text, pattern)) == text


@pytest.mark.parametrize("pattern", PATTERNS)
@given(text=st.text() | repetitive)
def test_the_named_patterns_match_every_character(pattern, text):
    assert split(text, pattern) == split(text, pattern, keep_unmatched=False)


@pytest.mark.parametrize(
    ("text", "special_tokens", "parts"),
    [
        ("", ["<a>"], []),
        ("x", [], ["x"]),
        ("<a><a>", ["<a>"], ["<a>", "<a>"]),
        ("x<a>b", ["<a>", "<a>b"], ["x", "<a>b"]),
        ("x|(y", ["|", "("], ["x", "|", "(", "y"]),
    ],
)
def test_cut_special(text, special_tokens, parts):
    assert cut_special(text, special_tokens) == parts


@pytest.mark.parametrize(
    ("allowed_special", "ids"),
    [
        ("none", [97, *END.encode(), 98]),
        ("all", [97, 256, 98]),
        ({END}, [97, 256, 98]),
        ([END, "<|no such|>"], [97, 256, 98]),
        ({"<|no such|>"}, [97, *END.encode(), 98]),
        (set(), [97, *END.encode(), 98]),
    ],
)
def test_allowed_special(allowed_special, ids):
    tokenizer = RegexTokenizer.train("", 0, special_tokens=[END])
    assert tokenizer.encode(f"a{END}b", allowed_special=allowed_special) == ids
    assert tokenizer.decode(ids) == f"a{END}b"


def test_allowed_special_none_raise_and_nonsense_are_errors():
    tokenizer = RegexTokenizer.train("", 0, special_tokens=[END])
    assert tokenizer.encode("a", allowed_special="none_raise") == [97]
    with pytest.raises(ValueError, match="text: expected no special token, found"):
        tokenizer.encode(f"a{END}", allowed_special="none_raise")
    with pytest.raises(ValueError, match="allowed_special=some not understood"):
        tokenizer.encode("a", allowed_special="some")


def test_text_before_a_special_token_is_split_as_if_it_ended_there():
    bpe = train_bpe([b"  "], 1)
    tokenizer = RegexTokenizer(bpe, pattern="gpt2", special_tokens={END: 300})
    assert tokenizer.encode(f"  {END}", allowed_special="all") == [256, 300]
    assert tokenizer.encode(f"  {END}") == [32, 32, *END.encode()]


def test_special_tokens_are_neither_counted_nor_merged_across():
    tokenizer = RegexTokenizer.train(f"ab{END}cd{END}ab{END}", 10, special_tokens=[END])
    assert [tokenizer.bpe.vocabulary[i] for i in tokenizer.bpe.merges.values()] == [b"ab", b"cd"]
    assert tokenizer.special_tokens == {END: 258}


# Sennrich's words.


def test_the_example_of_the_paper():
    """Sennrich, Haddow, Birch 2016, algorithm 1: its corpus and its ten merges."""
    text = "low " * 5 + "lower " * 2 + "newest " * 6 + "widest " * 3
    vocabulary = SennrichTokenizer.train(text, 10, tie_break="first").bpe.vocabulary
    merged = [token.decode().replace(" ", "</w>") for token in vocabulary.values()][-10:]
    assert merged == ["es", "est", "est</w>", "lo", "low", "ne", "new", "newest</w>", "low</w>", "wi"]


@given(repetitive)
def test_words_come_back_with_one_space_between_them(text):
    tokenizer = SennrichTokenizer.train(text, 10)
    assert tokenizer.decode(tokenizer.encode(text)) == " ".join(text.split())


def test_a_text_that_spells_the_mark_comes_back_and_an_unknown_character_does_not():
    tokenizer = SennrichTokenizer.train("a </w> b</w>", 10)
    assert tokenizer.decode(tokenizer.encode("b </w> a</w>")) == "b </w> a</w>"
    assert tokenizer.decode(tokenizer.encode("ab ac")) == f"ab a{UNKNOWN}"


# The originals, none of which needs the network.


@given(corpora.map(b"".join), st.integers(0, 20))
def test_first_is_the_rule_of_tiktokens_lesson(corpus, num_merges):
    text = corpus.decode()
    bpe = RegexTokenizer.train(text, num_merges, pattern="gpt4", tie_break="first").bpe
    ranks = educational.bpe_train(text, 256 + len(bpe.merges), PATTERNS["gpt4"], visualise=None)
    assert ranks_of(bpe) == ranks


@given(st.lists(repetitive, max_size=8), st.integers(0, 20))
def test_ids_is_the_rule_of_rustbpe(documents, num_merges):
    pieces = [piece.encode() for text in documents for piece in split(text, "gpt4")]
    original = rustbpe.Tokenizer()
    original.train_from_iterator(iter(documents), 256 + num_merges, pattern=PATTERNS["gpt4"])
    assert ranks_of(train_bpe(pieces, num_merges, tie_break="ids")) == {
        bytes(token): rank for token, rank in original.get_mergeable_ranks()
    }


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("order", [range(256), range(255, -1, -1)], ids=["bytes in order", "bytes shuffled"])
@given(corpus=repetitive, text=repetitive)
def test_a_trained_tokenizer_is_the_same_in_tiktoken(pattern, order, corpus, text):
    pieces = [[order[byte] for byte in piece.encode()] for piece in split(corpus, pattern)]
    bpe = train_bpe(pieces, 20, vocabulary={order[byte]: bytes([byte]) for byte in range(256)})
    special_tokens = {END: len(bpe.vocabulary)}
    original = tiktoken.Encoding(
        "x", pat_str=PATTERNS[pattern], mergeable_ranks=ranks_of(bpe), special_tokens=special_tokens
    )
    ours = RegexTokenizer(bpe, pattern=pattern, special_tokens=special_tokens)
    text = f"{text}{END}{text}"
    assert ours.encode(text) == original.encode_ordinary(text)
    assert ours.encode(text, allowed_special="all") == original.encode(text, allowed_special="all")


@given(
    st.lists(st.text("abc", min_size=2, max_size=4).map(str.encode), unique=True),
    st.text("abc", min_size=1).map(str.encode),
)
def test_ranks_that_no_training_made_are_merged_as_tiktoken_merges_them(tokens, piece):
    ranks = {token: i for i, token in enumerate([*(bytes([byte]) for byte in range(256)), *tokens])}
    original = tiktoken.Encoding("x", pat_str=r"\w+", mergeable_ranks=ranks, special_tokens={})
    assert encode_ranks(piece, ranks) == original._encode_single_piece(piece)
