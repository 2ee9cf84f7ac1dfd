"""compat.minbpe: minbpe's exercise and its behaviour, measured by the reference and, for GPT-4, by tiktoken."""

import time

import oracle
import pytest
import regex
import strategies
import texts
from hypothesis import given
from hypothesis import strategies as st

import merganser as mg
from merganser import reference
from merganser.compat.minbpe import (
    GPT2_SPLIT_PATTERN,
    GPT4_SPLIT_PATTERN,
    BasicTokenizer,
    GPT4Tokenizer,
    RegexTokenizer,
)
from merganser.errors import FormatError
from merganser.formats import minbpe

PROSE = "\n".join(texts.LANGUAGES.values())[:6000]
SPECIALS = {"<|endoftext|>": 100257, "<|fim_prefix|>": 100258, "<|fim_middle|>": 100259, "<|fim_suffix|>": 100260}
GPT4 = GPT4Tokenizer()
SPECIAL_TEXT = "<|endoftext|>Hello 世界<|fim_prefix|> this\n<|fim_suffix|>  and <|fim_middle|>that<|endoftext|>"


def pieces_of(text, pattern=None):
    """The pieces as minbpe has them, in bytes: the whole text, or what `findall` gives."""
    return [text.encode()] if pattern is None else [piece.encode() for piece in regex.findall(pattern, text)]


def trained(text, num_merges, pattern=None):
    """A tokenizer of ours, and what the reference learns from the same text."""
    tokenizer = BasicTokenizer() if pattern is None else RegexTokenizer(pattern)
    bpe = reference.train_bpe(pieces_of(text, pattern), num_merges, tie_break="first")
    tokenizer.train(text, 256 + len(bpe.merges))
    return tokenizer, bpe


# minbpe's exercise


def test_step_1_a_basic_tokenizer_is_the_references():
    tokenizer, bpe = trained(PROSE, 64)
    ids = tokenizer.encode(PROSE[:500])
    assert (tokenizer.merges, tokenizer.vocab) == (bpe.merges, bpe.vocabulary)
    assert ids == reference.encode_merges(PROSE[:500].encode(), bpe.merges)
    assert tokenizer.decode(tokenizer.encode(PROSE)) == PROSE


def test_step_2_no_token_of_a_regex_tokenizer_crosses_categories():
    tokenizer, bpe = trained(PROSE, 300, GPT4_SPLIT_PATTERN)
    assert (tokenizer.merges, tokenizer.vocab) == (bpe.merges, bpe.vocabulary)
    crossing = regex.compile(r"\p{L}[^\p{L}\p{M}]|\p{N}[^\p{N}]|\d{4}|\S\s+\S")
    assert not [token for token in tokenizer.vocab.values() if crossing.search(token.decode(errors="ignore"))]
    assert RegexTokenizer().pattern == GPT4_SPLIT_PATTERN
    assert tokenizer.compiled_pattern.findall("it's 2024") == ["it", "'s", " ", "202", "4"]


@pytest.mark.parametrize("text", ["", "?", "hello world!!!? (안녕하세요!) lol123 😉", PROSE, "a\n  \n ", "  x"])
def test_step_3_gpt4_is_tiktokens(text):
    tokenizer, encoding = GPT4, oracle.encoding("cl100k_base")
    assert tokenizer.encode(text) == encoding.encode(text)
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_step_3_merges_and_bytes_of_gpt4_are_recovered():
    tokenizer, ranks = GPT4, oracle.encoding("cl100k_base")._mergeable_ranks
    first = {token: rank for token, rank in ranks.items() if rank < 20_000}
    recovered = reference.recover_merges(first)
    assert list(tokenizer.merges.items())[: len(recovered)] == list(recovered.items())
    assert len(tokenizer.merges) == 100_000
    assert tokenizer.byte_shuffle == {byte: ranks[bytes([byte])] for byte in range(256)}


def test_step_3_recovered_merges_encode_shuffled_bytes_as_gpt4_does():
    tokenizer, text = GPT4, "hello world!!!? (안녕하세요!) lol123 😉"
    pieces = [bytes(map(tokenizer.byte_shuffle.get, piece)) for piece in pieces_of(text, GPT4_SPLIT_PATTERN)]
    ids = [id for piece in pieces for id in reference.encode_merges(piece, tokenizer.merges)]
    assert ids == tokenizer.encode(text)
    shuffled = b"".join(map(tokenizer.vocab.get, ids))
    assert bytes(map(tokenizer.inverse_byte_shuffle.get, shuffled)).decode() == text


def test_step_4_special_tokens_are_tiktokens():
    tokenizer, encoding = GPT4, oracle.encoding("cl100k_base")
    ids = tokenizer.encode(SPECIAL_TEXT, allowed_special="all")
    assert ids == encoding.encode(SPECIAL_TEXT, allowed_special="all")
    assert tokenizer.decode(ids) == SPECIAL_TEXT
    assert tokenizer.encode(SPECIAL_TEXT, allowed_special="none") == encoding.encode_ordinary(SPECIAL_TEXT)


@given(strategies.agreed_texts())
def test_gpt4_is_tiktokens_on_any_text(text):
    assert GPT4.encode(text, "all") == oracle.encoding("cl100k_base").encode(text, allowed_special="all")


# Training


@given(st.one_of(strategies.agreed_texts(), st.text("ab", max_size=60)), st.integers(0, 40), st.booleans())
def test_basic_training_is_the_references(text, num_merges, verbose):
    tokenizer, bpe = trained(text, num_merges)
    assert tokenizer.merges == bpe.merges
    assert tokenizer.encode(text) == reference.encode_merges(text.encode(), bpe.merges)


@given(strategies.agreed_texts(), st.sampled_from([GPT4_SPLIT_PATTERN, GPT2_SPLIT_PATTERN, r"\w+", "[a-m]+| +"]))
def test_regex_training_is_the_references(text, pattern):
    tokenizer, bpe = trained(text, 40, pattern)
    ids = [id for piece in pieces_of(text, pattern) for id in reference.encode_merges(piece, bpe.merges)]
    assert tokenizer.merges == bpe.merges
    assert tokenizer.encode(text) == ids


@pytest.mark.parametrize(
    ("text", "merges"),
    [
        ("aaabdaaabac", [(97, 97), (256, 97), (257, 98)]),
        ("bbbaaaddddcccc", [(100, 100), (99, 99), (98, 98)]),
        ("aaabbbccccdddd", [(99, 99), (100, 100), (97, 97)]),
    ],
)
def test_at_equal_counts_the_pair_met_first_wins(text, merges):
    tokenizer = BasicTokenizer()
    tokenizer.train(text, 256 + 3)
    assert list(tokenizer.merges) == merges
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_verbose_training_prints_minbpes_lines(capsys):
    BasicTokenizer().train("aaabdaaabac", 256 + 3, verbose=True)
    assert capsys.readouterr().out == (
        "merge 1/3: (97, 97) -> 256 (b'aa') had 4 occurrences\n"
        "merge 2/3: (256, 97) -> 257 (b'aaa') had 2 occurrences\n"
        "merge 3/3: (257, 98) -> 258 (b'aaab') had 2 occurrences\n"
    )


@pytest.mark.parametrize("pattern", [None, GPT4_SPLIT_PATTERN])
def test_verbose_counts_are_those_of_the_corpus_as_it_stood(pattern, capsys):
    text = "aaaa aaa nnnn\n\n\n\n 1111 naan" * 9 + PROSE[:500]
    tokenizer = BasicTokenizer() if pattern is None else RegexTokenizer(pattern)
    tokenizer.train(text, 256 + 30, verbose=True)
    counts = [int(line.split()[-2]) for line in capsys.readouterr().out.splitlines()]
    corpus = [list(piece) for piece in pieces_of(text, pattern)]
    for count, (pair, id) in zip(counts, tokenizer.merges.items(), strict=True):
        assert count == reference.count_pairs(corpus)[pair]
        corpus = [reference.merge(piece, pair, id) for piece in corpus]


@pytest.mark.parametrize("tokenizer", [BasicTokenizer(), RegexTokenizer()])
@pytest.mark.parametrize("text", ["", "a", "     ", "abab"])
def test_a_text_with_too_few_pairs_is_a_value_error_and_changes_nothing(tokenizer, text):
    with pytest.raises(ValueError, match=r"expected pairs for 44 merges, found none left after \d") as caught:
        tokenizer.train(text, 300)
    assert caught.value.hint.startswith("ask for vocab_size=")
    assert (tokenizer.merges, len(tokenizer.vocab)) == ({}, 256)


@pytest.mark.parametrize("tokenizer", [BasicTokenizer(), RegexTokenizer()])
def test_256_merges_nothing_and_less_is_an_assertion_error(tokenizer):
    tokenizer.train("abab", 256)
    assert tokenizer.encode("abab") == [97, 98, 97, 98]
    with pytest.raises(AssertionError, match="vocab_size: expected 256 or more, found 255"):
        tokenizer.train("abab", 255)


def test_special_tokens_in_a_training_text_are_text():
    tokenizer = RegexTokenizer()
    tokenizer.register_special_tokens({"<|end|>": 300})
    tokenizer.train("<|end|>" * 9, 256 + 2)
    assert list(tokenizer.vocab.values())[256:] == [b"<|", b"en"]
    assert 300 not in tokenizer.vocab


def test_a_pattern_of_ones_own_drops_what_it_does_not_match():
    tokenizer = RegexTokenizer(r"[a-z]+")
    tokenizer.train("ab ab! ab", 256 + 1)
    assert tokenizer.encode("ab! ab") == [256, 256]
    with pytest.raises(FormatError, match="pattern"):
        RegexTokenizer("(")


def test_tables_put_in_by_hand_are_used():
    tokenizer = BasicTokenizer()
    tokenizer.merges = {(97, 98): 256}
    tokenizer.vocab[256] = b"ab"
    assert tokenizer.encode("abc") == [256, 99]
    tokenizer.merges[256, 99] = 257
    assert tokenizer.encode("abc") == [257]


def test_training_on_a_megabyte_takes_seconds():
    tokenizer, text = RegexTokenizer(), PROSE * 200
    start = time.process_time()
    tokenizer.train(text, 2000)
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert time.process_time() - start < 20


# Special tokens


def with_specials():
    tokenizer = RegexTokenizer()
    tokenizer.train("<|a|> the cat, the hat", 256 + 8)
    tokenizer.register_special_tokens({"<|a|>": 1000, "<|a|>b": 1001, "the": 1002})
    return tokenizer


@pytest.mark.parametrize(
    ("allowed", "special_ids"),
    [
        ("all", [1000, 1002]),
        ("none", []),
        (set(), []),
        ({"the"}, [1002]),
        ({"<|a|>b"}, [1001]),
        ({"<|a|>", "<|a|>b", "unknown"}, [1000]),
    ],
)
def test_allowed_special_says_which_are_special(allowed, special_ids):
    ids = with_specials().encode("<|a|>b the", allowed)
    assert [id for id in ids if id >= 1000] == special_ids
    assert with_specials().decode(ids) == "<|a|>b the"


def test_by_default_a_special_token_in_the_text_is_an_assertion_error():
    tokenizer = with_specials()
    assert tokenizer.encode("a cat") == tokenizer.encode_ordinary("a cat") == tokenizer.encode("a cat", "none_raise")
    with pytest.raises(AssertionError, match=r"expected no special token, found 'the'"):
        tokenizer.encode("see the cat")


@pytest.mark.parametrize("allowed", ["everything", ["the"], frozenset(["the"]), None])
def test_allowed_special_of_another_kind_is_a_value_error(allowed):
    with pytest.raises(ValueError, match=r"allowed_special=.* not understood"):
        with_specials().encode("the", allowed)


def test_registering_replaces_the_table():
    tokenizer = with_specials()
    tokenizer.register_special_tokens({"<|b|>": 2000})
    assert tokenizer.special_tokens == {"<|b|>": 2000}
    assert tokenizer.inverse_special_tokens == {2000: "<|b|>"}
    assert tokenizer.encode("the<|b|>", "all")[-1] == 2000


@pytest.mark.parametrize(
    ("tokenizer", "error", "message"),
    [
        (BasicTokenizer(), KeyError, "^999999$"),
        (RegexTokenizer(), ValueError, "^invalid token id: 999999$"),
        (GPT4, KeyError, "^999999$"),
    ],
)
def test_an_unknown_id_is_minbpes_error(tokenizer, error, message):
    with pytest.raises(error, match=message):
        tokenizer.decode([97, 999999])
    with pytest.raises(error):
        tokenizer.decode([-1])


@pytest.mark.parametrize("tokenizer", [BasicTokenizer(), RegexTokenizer(), GPT4])
def test_bytes_that_are_not_utf8_decode_to_the_replacement_character(tokenizer):
    id = getattr(tokenizer, "byte_shuffle", {0x80: 0x80})[0x80]
    assert tokenizer.decode([id]) == "\ufffd"
    with pytest.raises(UnicodeEncodeError):
        tokenizer.encode("\ud800")


def test_gpt4_is_not_to_be_trained_or_saved():
    for call in (lambda: GPT4.train("a", 300), lambda: GPT4.save("x"), lambda: GPT4.load("x.model")):
        with pytest.raises(NotImplementedError, match="GPT4Tokenizer cannot be"):
            call()


# Files


MODEL = f"minbpe v1\n{GPT4_SPLIT_PATTERN}\n1\n<|end|> 300\n97 97\n256 97\n257 10\n"


@pytest.fixture
def example(tmp_path):
    (tmp_path / "example.model").write_text(MODEL)
    tokenizer = RegexTokenizer()
    tokenizer.load(str(tmp_path / "example.model"))
    return tokenizer


def test_a_model_is_read_and_written_to_the_byte(example, tmp_path):
    assert example.merges == {(97, 97): 256, (256, 97): 257, (257, 10): 258}
    assert (example.special_tokens, example.pattern) == ({"<|end|>": 300}, GPT4_SPLIT_PATTERN)
    assert example.encode("aaa<|end|>", "all") == [257, 300]
    example.save(str(tmp_path / "again"))
    assert (tmp_path / "again.model").read_text() == MODEL


def test_a_vocab_shows_bytes_merges_and_special_tokens(example, tmp_path):
    example.save(tmp_path / "again")
    lines = (tmp_path / "again.vocab").read_text(encoding="utf-8").splitlines()
    assert lines[10] == "[\\u000a] 10"
    assert (lines[97], lines[200]) == ("[a] 97", "[\ufffd] 200")
    assert lines[256:] == [
        "[a][a] -> [aa] 256",
        "[aa][a] -> [aaa] 257",
        "[aaa][\\u000a] -> [aaa\\u000a] 258",
        "[<|end|>] 300",
    ]


@pytest.mark.parametrize("special_tokens", [{}, SPECIALS])
def test_what_is_saved_is_loaded(special_tokens, tmp_path):
    tokenizer, other = RegexTokenizer(GPT2_SPLIT_PATTERN), RegexTokenizer()
    tokenizer.train(PROSE, 256 + 64)
    tokenizer.register_special_tokens(special_tokens)
    tokenizer.save(str(tmp_path / "saved"))
    other.load(str(tmp_path / "saved.model"))
    assert (other.merges, other.special_tokens) == (tokenizer.merges, special_tokens)
    assert other.encode(SPECIAL_TEXT, "all") == tokenizer.encode(SPECIAL_TEXT, "all")
    assert other.decode(other.encode(SPECIAL_TEXT, "all")) == SPECIAL_TEXT


def test_a_basic_tokenizer_is_saved_without_a_pattern(tmp_path):
    tokenizer, other = BasicTokenizer(), BasicTokenizer()
    tokenizer.train("a cat, a hat", 256 + 2)
    tokenizer.save(str(tmp_path / "basic"))
    other.load(str(tmp_path / "basic.model"))
    assert (tmp_path / "basic.model").read_text() == "minbpe v1\n\n0\n97 32\n97 116\n"
    assert other.merges == tokenizer.merges


def test_the_pattern_of_the_file_is_the_one_that_splits(tmp_path):
    tokenizer, other = RegexTokenizer(r"\p{N}{1,2}|[^\p{N}]+"), RegexTokenizer()
    tokenizer.train("12 34 12 34 12", 256 + 2)
    tokenizer.save(tmp_path / "digits")
    other.load(tmp_path / "digits.model")
    assert other.encode("12345") == tokenizer.encode("12345")


def test_a_file_of_the_other_kind_is_refused(example, tmp_path):
    with pytest.raises(FormatError, match="expected no split pattern and no special tokens, found the pattern `"):
        BasicTokenizer().load(tmp_path / "example.model")
    BasicTokenizer().save(tmp_path / "basic")
    with pytest.raises(FormatError, match="expected a split pattern, found none"):
        RegexTokenizer().load(tmp_path / "basic.model")


def test_load_asserts_suffix_and_version(tmp_path):
    (tmp_path / "x.model").write_text("minbpe v2\n\n0\n")
    with pytest.raises(AssertionError, match=r"expected a name that ends in \.model"):
        BasicTokenizer().load(str(tmp_path / "x.txt"))
    with pytest.raises(AssertionError, match="expected `minbpe v1`, found `minbpe v2`"):
        BasicTokenizer().load(str(tmp_path / "x.model"))
    with pytest.raises(FileNotFoundError):
        BasicTokenizer().load(str(tmp_path / "missing.model"))


@pytest.mark.parametrize(
    ("name", "pattern", "message", "hint"),
    [
        ("<|my token|>", "a+", "special tokens without white space, found '<|my token|>'", "give it a name without"),
        ("<|line\nbreak|>", "a+", r"special tokens without white space, found '<|line\nbreak|>'", "white space"),
        ("", "a+", "special tokens without white space, found ''", "white space"),
        ("<|x|>", "a+| ", "a pattern without blanks around it, found 'a+| ' with one at its end", "write a space"),
        ("<|x|>", " ?a+", "a pattern without blanks around it, found ' ?a+' with one at its start", "as `[ ]`"),
        ("<|x|>", "a+|\n", "a pattern without line breaks, found one at character 3", r"write it as `\n`"),
        ("<|x|>", "(a|b)+", "a pattern without capturing groups, found '(a|b)+'", "write `(?:…)`"),
    ],
)
def test_what_would_not_come_back_is_not_saved(tmp_path, name, pattern, message, hint):
    tokenizer = RegexTokenizer(pattern)
    tokenizer.register_special_tokens({name: 300})
    with pytest.raises(FormatError) as caught:
        tokenizer.save(str(tmp_path / "odd"))
    assert message in str(caught.value)
    assert hint in caught.value.hint
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("train", "message"),
    [
        ({"layout": "hf"}, "expected byte 0 as token 0, found b'!'"),
        ({"split": mg.Split(pattern="[a-z]+")}, 'expected unmatched="drop", found "keep"'),
        ({"split": mg.Split(pattern="[a-z]+", unmatched="drop"), "special_tokens": ["a b"]}, "without white space"),
    ],
)
def test_a_tokenizer_that_minbpe_has_no_equal_for_is_not_saved(train, message, tmp_path):
    tok = mg.train("low lower lowest", vocab_size=260, **train)
    with pytest.raises(FormatError, match=message.replace("(", r"\(")):
        tok.save(tmp_path / "x.model")


def test_merganser_loads_and_saves_a_model(example, tmp_path):
    tok = mg.load(tmp_path / "example.model")
    assert tok.encode("aaa\n<|end|>", allow_special="all") == example.encode("aaa\n<|end|>", "all")
    tok.save(tmp_path / "again.model")
    assert (tmp_path / "again.model").read_text() == MODEL
    with pytest.raises(FormatError, match="expected no split= and special_tokens=, for a minbpe model has them"):
        mg.load(tmp_path / "example.model", split="gpt2")


@pytest.mark.parametrize("tie_break", ["ids", "first", "lex_max"])
def test_a_trained_tokenizer_is_the_same_in_minbpes_hands(tie_break, tmp_path):
    tok = mg.train(PROSE, vocab_size=400, split="o200k", special_tokens=["<|end|>"], tie_break=tie_break)
    tok.save(tmp_path / "x.model")
    tokenizer = RegexTokenizer()
    tokenizer.load(tmp_path / "x.model")
    assert tokenizer.encode(PROSE + "<|end|>", "all") == tok.encode(PROSE + "<|end|>", allow_special="all")


@pytest.mark.filterwarnings("ignore:.*left out")
def test_ranks_whose_bytes_are_in_order_are_saved_as_their_merges(tmp_path):
    tok = mg.train(PROSE, vocab_size=400, split="o200k")
    tok.save(tmp_path / "x.tiktoken")
    mg.load(tmp_path / "x.tiktoken", split="o200k", special_tokens={}).save(tmp_path / "ranks.model")
    tok.save(tmp_path / "merges.model")
    assert (tmp_path / "ranks.model").read_bytes() == (tmp_path / "merges.model").read_bytes()


def test_line_ends_that_a_checkout_changed_do_no_harm(example, tmp_path):
    (tmp_path / "crlf.model").write_bytes(MODEL.replace("\n", "\r\n").encode())
    tokenizer = RegexTokenizer()
    tokenizer.load(tmp_path / "crlf.model")
    assert (tokenizer.merges, tokenizer.pattern) == (example.merges, example.pattern)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("minbpe v1\n", ":2: expected the split pattern, found the end of the file"),
        ("minbpe v1\n\n", ":3: expected the number of special tokens, found the end of the file"),
        ("minbpe v1\n\nx\n", ":3: expected the number of special tokens, found `x`"),
        ("minbpe v1\n\n1\n<|a b|> 300\n", ":4: expected `<special token> <id>`, found `<|a b|> 300`"),
        ("minbpe v1\n\n2\na 300\n", ":5: expected `<special token> <id>`, found the end of the file"),
        ("minbpe v1\n\n2\na 300\na 301\n", ":5: expected each special token once, found `a 301`"),
        ("minbpe v1\n\n1\na 256\n97 98\n", ": expected special tokens with ids from 257, found `a 256`"),
        ("minbpe v1\n\n0\n97 98 99\n", ":4: expected two ids below 256, found `97 98 99`"),
        ("minbpe v1\n\n0\n97 98\n97 257\n", ":5: expected two ids below 257, found `97 257`"),
        ("minbpe v1\n\n0\n97 -1\n", ":4: expected two ids below 256, found `97 -1`"),
        ("minbpe v1\n\n0\n97 98\n\n", ":5: expected two ids below 257, found ``"),
        ("minbpe v1\n\n0\n97 98\n97 98\n", ":5: expected a merge that makes a new token, not b'ab' of line 4"),
        (b"minbpe v1\n\xff\n0\n", ": byte 10: expected UTF-8, found byte 0xFF"),
        ("version https://git-lfs", ": expected a minbpe model, found a Git LFS pointer"),
        ("", ": expected a minbpe model, found an empty file"),
        ("hello", ":1: expected `minbpe v1`, found `hello`"),
    ],
)
def test_a_broken_model_names_the_line(tmp_path, text, message):
    path = tmp_path / "x.model"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(FormatError) as caught:
        minbpe.read(path)
    assert str(caught.value).startswith(f"{path}{message}")


def test_gpt4s_vocab_is_in_the_bytes_of_the_text(tmp_path):
    GPT4.save_vocab(tmp_path / "gpt4.vocab")
    lines = (tmp_path / "gpt4.vocab").read_text(encoding="utf-8").splitlines()
    assert lines[:2] == ["[!] 0", '["] 1']
    assert lines[256:259] == ["[ ][ ] -> [  ] 256", "[  ][  ] -> [    ] 257", "[i][n] -> [in] 258"]
    assert len(lines) == 100_256
