"""Public bug reports on added tokens, normalizers, offsets, WordPiece and odd files, on the models they were of."""

import json
import time

import pytest
import tokenizers
from random_tokenizers import without_special
from small_tokenizers import byte_level, llama, saved, unigram, word_piece
from tokenizers import models, normalizers, pre_tokenizers, trainers

import merganser as mg

MODELS = {
    "byte-level": lambda: byte_level(add_prefix_space=False),
    "WordPiece": word_piece,
    "Unigram": unigram,
    "Llama": llama,
}
every_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS.keys())


def same(theirs: tokenizers.Tokenizer, ours: mg.Tokenizer, text: str) -> None:
    """Ids, offsets and words are equal, and so is what the ids decode to."""
    encoding, row = theirs.encode(text), ours.prepare(text, allow_special="all", offsets=True)
    assert (row.ids, row.offsets, row.word_ids) == (encoding.ids, encoding.offsets, encoding.word_ids)
    assert ours.encode(text, allow_special="all", add_special_tokens=True) == encoding.ids
    assert ours.decode(row.ids) == theirs.decode(row.ids, skip_special_tokens=False)


# Added tokens.


@every_model
@pytest.mark.parametrize("text", ["<s>[INST] a", "<s>a", "<s> a", " <s>  ab", "<s>\n<s>", "<s><s> <s>", "a<s>", "<s>"])
def test_nothing_is_invented_beside_a_special_token(make, text, tmp_path):
    theirs = make()
    same(theirs, saved(theirs, tmp_path / "tokenizer.json"), text)


@every_model
def test_a_space_between_added_tokens_is_as_in_the_original(make, tmp_path):
    theirs = make()
    theirs.add_tokens(["new_tok1", "new_tok2"])
    ours = saved(theirs, tmp_path / "tokenizer.json")
    for text in ("new_tok1 new_tok2", "new_tok1new_tok2", "a new_tok2  b"):
        same(theirs, ours, text)


@every_model
def test_odd_names_of_added_tokens_survive(make, tmp_path):
    theirs = make()
    names = ["<|my token|>", "<|two\nlines|>", " lead", "trail ", "\t", '"\\\\']
    theirs.add_special_tokens(names)
    ours = saved(theirs, tmp_path / "tokenizer.json")
    for again in (ours, mg.load(ours.save(tmp_path / "again.json"))):
        for name in names:
            same(theirs, again, f"a{name}b {name}{name}")


@every_model
def test_what_a_user_writes_is_not_special(make, tmp_path):
    ours = saved(make(), tmp_path / "tokenizer.json")
    text = "a<s> </s> <|im_start|>[SEP][CLS]<unk>"
    special = set(ours.special_tokens.values()) - {ours.token_to_id("<unk>"), ours.token_to_id("[UNK]")}
    assert not special & set(ours.encode(text))
    assert not special & set(ours.prepare(text, offsets=True).ids)


def spelling_specials(model) -> tokenizers.Tokenizer:
    """A tokenizer whose model can spell its special tokens; only white space splits."""
    tok = tokenizers.Tokenizer(model)
    tok.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tok.add_special_tokens(["<s>", "ab", "?"])
    return tok


TOKENS = {token: id for id, token in enumerate(["?", "<s>", "ab", "a", "b", "<", "s", ">", "<s", "abc", "c", "##ab"])}
MERGES = [("<", "s"), ("<s", ">"), ("a", "b"), ("ab", "c")]
SPELLING = {
    "BPE": lambda: models.BPE(TOKENS, MERGES, unk_token="?"),
    "BPE, whole pieces": lambda: models.BPE(TOKENS, MERGES, unk_token="?", ignore_merges=True),
    "Unigram": lambda: models.Unigram([(token, -1.0) for token in TOKENS], 0, byte_fallback=False),
    "WordPiece": lambda: models.WordPiece(TOKENS, unk_token="?"),
    "WordLevel": lambda: models.WordLevel(TOKENS, unk_token="?"),
}


@pytest.mark.parametrize("make", SPELLING.values(), ids=SPELLING.keys())
def test_a_model_that_can_spell_a_special_token_does_so_only_where_it_is_allowed(make, tmp_path):
    theirs = spelling_specials(make())
    ours = saved(theirs, tmp_path / "tokenizer.json")
    without = without_special(theirs)
    for text in ("<s> ab abc", "a<s>b", "abab", "x<s>", "<sab", "? a?"):
        same(theirs, ours, text)
        ids = ours.encode(text)
        assert ids == ours.prepare(text, offsets=True).ids == without.encode(text).ids
        assert not {1, 2} & set(ids)
    assert ours.encode("ab <s>", allow_special={"<s>"})[-1] == 1
    assert 2 not in ours.encode("ab abab <s>", allow_special={"<s>"})


def test_the_two_paths_of_word_piece_agree_on_special_tokens_that_are_words(tmp_path):
    tok = word_piece()
    tok.add_special_tokens(["cab", "##b", ","])
    ours = saved(tok, tmp_path / "tokenizer.json")
    without = without_special(tok)
    for text in ("cab abb, a", "cabcab ##b"):
        assert ours.encode(text) == ours.prepare(text, add_special_tokens=False, offsets=True).ids
        assert ours.encode(text) == without.encode(text, add_special_tokens=False).ids


def test_bytes_that_merge_to_a_special_token_do_so_only_where_it_is_allowed(tmp_path):
    theirs = byte_level(add_prefix_space=False)
    theirs.add_special_tokens(["ab"])
    ours = saved(theirs, tmp_path / "tokenizer.json")
    without = without_special(theirs)
    for text in ("ab", " ab abc", "<s>ab"):
        same(theirs, ours, text)
        assert ours.encode(text) == without.encode(text).ids
        assert ours.decode(ours.encode(text)) == text


def test_a_token_that_bytes_merge_to_can_be_made_special(gpt2, tmp_path):
    tok = gpt2.add_tokens(["Ġthe"], special=True)
    for same_tok in (tok, mg.load(tok.save(tmp_path / "saved"))):
        assert same_tok.encode("Ġthe x", allow_special="all") == [262, 2124]
        assert 262 not in same_tok.encode("Ġthe the")
        assert same_tok.decode(same_tok.encode("Ġthe the")) == "Ġthe the"
    assert gpt2.add_tokens(["Ġthe"]).encode("Ġthe the") == [262, 262]
    with pytest.raises(
        mg.TokenIdError, match="special token ' the': expected an id of its own, found 262 of the model"
    ):
        gpt2.with_special_tokens({" the": 262})


def test_a_unigram_that_lists_a_token_twice_numbers_added_tokens_as_the_original(tmp_path):
    theirs = tokenizers.Tokenizer(models.Unigram([("<unk>", 0.0), ("a", -1.0), ("b", -2.0), ("a", -3.0)], 0, False))
    theirs.add_tokens(["<x>", "a", "<y>"])
    ours = saved(theirs, tmp_path / "tokenizer.json")
    for again in (ours, mg.load(ours.save(tmp_path / "again.json"))):
        for text in ("<x>a<y>b", "ab", "<y>"):
            same(theirs, again, text)
        assert (again.token_to_id("<x>"), again.token_to_id("a"), again.token_to_id("<y>")) == (4, 3, 5)
        assert again.add_tokens(["<z>"]).token_to_id("<z>") == 6


@every_model
def test_what_looks_special_is_counted_and_half_characters_are_replaced(make, tmp_path):
    ours = saved(make(), tmp_path / "tokenizer.json")
    text = "a</s>b " * 9_000 + "<|endoftext|>"
    assert ours.count(text) == len(ours.encode(text)) > 9_000
    assert ours.count(text, allow_special="all") == len(ours.encode(text, allow_special="all"))
    assert ours.encode("ab \ud800 \ude4f\ud83d c") == ours.encode("ab \ufffd \ufffd\ufffd c")
    assert ours.encode("\ud83d\ude4f") == ours.encode("🙏")
    with pytest.raises(mg.TextError, match=r"character 3: expected text, found half of a surrogate pair"):
        ours.encode("ab \ud800", surrogates="strict")


@pytest.mark.parametrize("length", [101, 2_000])
@pytest.mark.parametrize(
    "make",
    [
        lambda token: models.Unigram([("<unk>", 0.0), ("é", -1.0), (token, -2.0)], 0, False),
        lambda token: models.WordLevel({"<unk>": 0, "é": 1, token: 2}, unk_token="<unk>"),
        lambda token: models.WordPiece(
            {"<unk>": 0, "é": 1, token: 2, "##é": 3}, unk_token="<unk>", max_input_chars_per_word=10**6
        ),
        lambda token: models.BPE({"<unk>": 0, "é": 1, token: 2}, [], unk_token="<unk>", ignore_merges=True),
    ],
    ids=["Unigram", "WordLevel", "WordPiece", "BPE"],
)
def test_a_token_of_any_length_is_one_id(make, length, tmp_path):
    token = "é" * length
    theirs = tokenizers.Tokenizer(make(token))
    ours = saved(theirs, tmp_path / "tokenizer.json")
    for again in (ours, mg.load(ours.save(tmp_path / "again.json"))):
        assert again.encode(token) == [2]
        assert again.decode([2]) == token
        same(theirs, again, "é" + token)


def test_gaps_between_ids_survive(tmp_path):
    theirs = tokenizers.Tokenizer(models.WordLevel({"<unk>": 3, "a": 7, "b": 1}, unk_token="<unk>"))
    theirs.pre_tokenizer = pre_tokenizers.Whitespace()
    ours = saved(theirs, tmp_path / "tokenizer.json")
    for again in (ours, mg.load(ours.save(tmp_path / "again.json"))):
        same(theirs, again, "a b c")
        assert (again.n_vocab, len(again.vocabulary)) == (8, 3)
        with pytest.raises(mg.TokenIdError, match="0 to 7, found 5"):
            again.decode([5])


# Training.


LOREM = "low lower lowest new newer newest wide wider widest naïve 漢字"


@pytest.mark.parametrize("score", ["frequency", "likelihood"])
def test_twenty_trainings_of_word_piece_write_the_same_bytes(score, tmp_path):
    written = set()
    for number in range(20):
        tok = mg.train([LOREM] * 9, vocab_size=45, model="wordpiece", score=score, num_threads=1 if number % 2 else 16)
        written.add(tuple(file.read_bytes() for file in sorted(tok.save(tmp_path / str(number)).iterdir())))
    assert len(written) == 1


def test_pairs_trained_with_a_prefix_are_looked_up_with_it(tmp_path):
    theirs = tokenizers.Tokenizer(models.BPE(unk_token="[UNK]", continuing_subword_prefix="##"))
    theirs.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.BpeTrainer(
        vocab_size=80, special_tokens=["[UNK]"], continuing_subword_prefix="##", show_progress=False
    )
    theirs.train_from_iterator(["low lower lowest new newer newest wide wider widest"] * 9, trainer)
    ours = saved(theirs, tmp_path / "tokenizer.json")
    for text in ("lowest newer", "wideness lowly", "low##er", "zzz", "##est"):
        same(theirs, ours, text)
    assert {ours.token_to_id(token) for token in theirs.get_vocab()} == set(theirs.get_vocab().values())
    assert all(ours.token_to_id(token) == id for token, id in theirs.get_vocab().items())


def test_word_pieces_are_looked_up_with_their_prefix():
    tok = mg.train(["low lower lowest newer widest"] * 9, vocab_size=30, model="wordpiece")
    for token, id in tok.vocabulary.items():
        assert (tok.token_to_id(token), tok.id_to_token(id)) == (id, token)
    ids = tok.encode("lowest")
    assert b"".join(tok.id_to_token(id).removeprefix(b"##") for id in ids) == b"lowest"


# No pre-tokenizer.


def test_a_long_text_without_a_pre_tokenizer_takes_linear_time(tmp_path):
    theirs = llama()
    ours = saved(theirs, tmp_path / "tokenizer.json")
    same(theirs, ours, "ab a b[a] " * 3_000)
    seconds = []
    for words in (50_000, 200_000):
        start = time.process_time()
        ours.count("ab a b[a] " * (words // 3))
        seconds.append(time.process_time() - start)
    assert seconds[1] < 11 * seconds[0]


# Normalizers.


@pytest.mark.parametrize("text", ["︰…", "a︰b…", "ﬁ ㎏ ①", "가각", "ｶﾞ"])
@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD", "Nmt"])
def test_normal_forms_are_the_originals(form, text, tmp_path):
    theirs = unigram()
    theirs.normalizer = getattr(normalizers, form)()
    same(theirs, saved(theirs, tmp_path / "tokenizer.json"), text)


@pytest.mark.parametrize("text", ["ÇOCUK ŞANLIURFA", "İIıi", "ΑΣ ΣΑΣ", "ẞß", "ǅ"])
@pytest.mark.parametrize(
    "normalizer",
    [
        normalizers.Lowercase(),
        normalizers.BertNormalizer(),
        normalizers.BertNormalizer(strip_accents=False),
        normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents(), normalizers.Lowercase()]),
    ],
    ids=repr,
)
def test_lower_case_is_the_originals(normalizer, text, tmp_path):
    theirs = unigram()
    theirs.normalizer = normalizer
    same(theirs, saved(theirs, tmp_path / "tokenizer.json"), text)


@pytest.mark.parametrize("character", ["\x10", "\x7f", "\ufffd", "\x00", "\u200b", "\u00ad", "\ue000", "\t", "\u3000"])
def test_control_characters_go_as_in_bert(character, tmp_path):
    theirs = word_piece()
    same(theirs, saved(theirs, tmp_path / "tokenizer.json"), f"a{character}b {character} cab{character}")


@pytest.mark.parametrize("text", ["ab c", "é日", " ", "", "a a"])
def test_the_empty_string_matches_before_every_character_as_in_the_original(text, tmp_path):
    tokens = ["<unk>", *"abc_ ", "é", "日"]
    theirs = tokenizers.Tokenizer(models.BPE({token: id for id, token in enumerate(tokens)}, [], unk_token="<unk>"))
    theirs.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    same(theirs, saved(theirs, tmp_path / "split.json"), text)
    theirs.decoder = tokenizers.decoders.Replace("", "_")
    same(theirs, saved(theirs, tmp_path / "decoder.json"), text)
    theirs.normalizer = normalizers.Replace("", "_")
    ours = saved(theirs, tmp_path / "normalizer.json")
    same(theirs, ours, text)
    same(theirs, mg.load(ours.save(tmp_path / "again.json")), text)


@pytest.mark.parametrize("pattern", ["a*", "b?", "(?=b)", r"\b", "^", "x*|a"])
def test_a_regex_that_may_match_nothing_is_refused(pattern, tmp_path):
    theirs = unigram()
    theirs.normalizer = normalizers.Replace(tokenizers.Regex(pattern), "_")
    with pytest.raises(
        mg.FormatError, match=r"\$\.normalizer\.pattern\.Regex: .* found an alternative that may match nothing"
    ):
        saved(theirs, tmp_path / "tokenizer.json")


# Offsets and characters outside the vocabulary.


@every_model
@pytest.mark.parametrize(
    "text", ["i ⭢ j", "🥱", "a🥱🥱b", "#@!$ %^&*( ~", "👋🏽 日本 ab", "\u2029a\u0085b", "ab" * 65, ""]
)
def test_symbols_outside_the_vocabulary_are_as_in_the_original(make, text, tmp_path):
    theirs = make()
    same(theirs, saved(theirs, tmp_path / "tokenizer.json"), text)


def test_the_unit_of_offsets_is_named(gpt2):
    text = "👋日 word"
    assert gpt2.prepare(text, offsets=True).offsets[-1] == (2, 7)
    ends = {unit: gpt2.tokens(text, unit=unit)[-1][2:] for unit in ("character", "utf16", "byte")}
    assert ends == {"character": (2, 7), "utf16": (3, 8), "byte": (7, 12)}


# WordPiece.


@pytest.mark.parametrize("limit", [100, 130, 4])
def test_a_word_over_the_limit_is_unknown(limit, tmp_path):
    theirs = word_piece()
    theirs.model.max_input_chars_per_word = limit
    ours = saved(theirs, tmp_path / "tokenizer.json")
    assert ours.spec.model.max_input_chars_per_word == limit
    for text in ("cab" * 26, "cabab" * 26, "a" * limit, "a" * (limit + 1), "abc"):
        same(theirs, ours, text)


def test_a_repeated_line_of_vocab_txt_keeps_its_place(tmp_path):
    lines = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "a", "##b"]
    (tmp_path / "vocab.txt").write_bytes("\r\n".join(lines).encode() + b"\r\n")
    with pytest.warns(UserWarning, match="the token 'a' has two lines, 6 and 8: its id is that of the last"):
        tok = mg.load(tmp_path / "vocab.txt")
    assert tok.encode("ab b") == [7, 8, 6]
    assert not any(b"\r" in token for token in tok.vocabulary)


# Malformed files.


@every_model
@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda text: text[: len(text) // 2], r"json:\d+(:\d+)?: expected"),
        (lambda text: text + "]", "expected the end of the file, found"),
        (lambda text: "\ufeff" + text, "found a UTF-8 byte order mark"),
        (lambda text: text.encode("utf-16"), "found UTF-16 text"),
        (lambda text: text.encode() + b'\xe9"', r"byte \d+: expected UTF-8, found byte 0xE9"),
        (lambda text: "<html><body>404</body></html>", "found a web page"),
        (lambda text: "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", "LFS"),
        (
            lambda text: json.dumps(json.loads(text) | {"version": "2.0"}),
            r'\$\.version: expected version "1.0", found "2.0"',
        ),
        (lambda text: json.dumps(json.loads(text) | {"model": {"type": "Neural"}}), r"\$\.model"),
        (lambda text: json.dumps(json.loads(text) | {"normalizer": {"type": "NFQ"}}), r"\$\.normalizer"),
        (lambda text: json.dumps(json.loads(text) | {"post_processor": {"type": "Odd"}}), r"\$\.post_processor"),
    ],
)
def test_a_damaged_file_is_refused_with_the_place(make, damage, message, tmp_path):
    path = tmp_path / "tokenizer.json"
    damaged = damage(make().to_str())
    path.write_bytes(damaged if isinstance(damaged, bytes) else damaged.encode())
    with pytest.raises(mg.FormatError, match=message) as caught:
        mg.load(path)
    assert str(caught.value).startswith(str(path))
