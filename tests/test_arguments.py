"""What a stranger passes, and what is said of it: the argument, what was expected, what was found, and a way out."""

from pathlib import Path

import pytest
import tokenizers
from small_tokenizers import saved, word_piece

import merganser as mg
from merganser.fim import fim


@pytest.fixture(scope="module")
def gpt2():
    return mg.load("gpt2")


def cl100k():
    return mg.load("cl100k_base")


# Error, message and hint.
REFUSED = [
    (lambda tok: tok.encode("a", errors="ignore"), mg.TextError,
     'errors: expected "strict" or "replace", found \'ignore\'', None),
    (lambda tok: tok.count("a", surrogates=1), mg.TextError,
     'surrogates: expected "strict" or "replace", found 1', None),
    (lambda tok: tok.encode("a", num_threads=0), mg.TextError, "num_threads: expected 1 or more, found 0", None),
    (lambda tok: tok.encode_array("a", dtype="uint8"), mg.TextError,
     'dtype: expected "uint32" or "uint16", found \'uint8\'', None),
    (lambda tok: tok.tokens("a", unit="word"), mg.TextError,
     'unit: expected "character", "byte" or "utf16", found \'word\'', None),
    (lambda tok: tok.decode([1], errors="no"), mg.TextError,
     'errors: expected a handler of bytes.decode such as "strict", "replace" or "ignore", found \'no\'', None),
    (lambda tok: tok.decode_stream(errors="no"), mg.TextError,
     'errors: expected a handler of bytes.decode such as "strict", "replace" or "ignore", found \'no\'', None),
    (lambda tok: tok.decode([1], errors="a\0b"), mg.TextError,
     'errors: expected a handler of bytes.decode such as "strict", "replace" or "ignore", found \'a\\x00b\'', None),
    (lambda tok: tok.decode_batch([[1]], errors="\ud800"), mg.TextError,
     'errors: expected a handler of bytes.decode such as "strict", "replace" or "ignore", found \'\\ud800\'', None),
    (lambda tok: tok.decode([1], unknown_ids="no"), mg.TextError,
     'unknown_ids: expected "error", "replace" or "skip", found \'no\'', None),
    (lambda tok: tok.encode("a", allow_special=["x"]), mg.TokenIdError,
     "allow_special: expected names of special tokens, found 'x'", "this tokenizer has <|endoftext|>"),
    (lambda tok: tok.add_tokens([""]), mg.TokenIdError,
     "added token 50257: expected a text to match, found an empty one",
     "leave it out: an empty text would be found everywhere"),
    (lambda tok: tok.with_special_tokens({"": 60000}), mg.TokenIdError,
     "special token 60000: expected a text to match, found an empty one",
     "leave it out: an empty text would be found everywhere"),
    (lambda tok: tok.with_special_tokens({"<x>": 5}), mg.TokenIdError,
     "special token '<x>': expected an id of its own, found 5 of b'&'", "the first free id is 50257"),
    (lambda tok: tok.with_special_tokens({"<x>": -1}), mg.TokenIdError,
     "special token '<x>': expected an id from 0 to 16777215, found -1", "the first free id is 50257"),
    (lambda tok: tok.prepare("a", padding="longest"), mg.TokenIdError,
     "pad_token: expected a token to fill rows up with, found none",
     "pass pad_token=: no tokenizer_config.json, which may name one, was beside this tokenizer's file"),
    (lambda tok: tok.prepare("a", padding="longest", pad_token="<p>"), mg.TokenIdError,
     "pad_token: expected a token of the vocabulary, found '<p>'",
     "pass one that this tokenizer has, or add it: `add_tokens(['<p>'], special=True)`"),
    (lambda tok: tok.prepare("a", truncation=True), mg.TextError,
     "max_length: expected a number of tokens to truncate to, found none",
     "pass max_length=: no tokenizer_config.json, which may name one, was beside this tokenizer's file"),
    (lambda _: mg.load(""), mg.StorageError, "path: expected the name of a file or folder, found an empty text", None),
    (lambda tok: tok.save(""), mg.StorageError,
     "path: expected the name of a file or folder, found an empty text", None),
    (lambda _: mg.load("bert-base"), mg.FormatError,
     "expected a bundled vocabulary (gpt2, r50k_base, p50k_base, p50k_edit, cl100k_base, o200k_base, o200k_harmony), "
     "found `bert-base`", "nothing is downloaded; a file or folder is named as a path, `./bert-base`"),
    (lambda _: mg.read(suffixes=["txt"]), mg.TextError, "suffixes: expected endings such as `.txt`, found 'txt'", None),
    (lambda _: mg.read(errors="no"), mg.TextError,
     'errors: expected "strict", "replace" or "skip", found \'no\'', None),
    (lambda _: mg.train("a", vocab_size=9), mg.TrainingError,
     "vocab_size: expected at least 256 (256 bytes and 0 special tokens), found 9",
     "the least vocabulary is 256, which merges nothing"),
    (lambda _: mg.train("ab", vocab_size=7, model="wordpiece"), mg.TrainingError,
     "vocab_size: expected at least 8 (the special tokens and the alphabet), found 7",
     "the least vocabulary is 8, which joins nothing"),
    (lambda _: mg.train("a", vocab_size=1 << 30), mg.TrainingError,
     "vocab_size: expected 0 to 16777216, found 1073741824", None),
    (lambda _: mg.train("a", vocab_size=300, lowercase=False), mg.TrainingError,
     'lowercase: expected nothing with model="bpe", found an option of model="wordpiece"',
     'pass model="wordpiece", or leave lowercase= out'),
    (lambda _: mg.train("a", vocab_size=300, model="gpt"), mg.TrainingError,
     'model: expected "bpe" or "wordpiece", found \'gpt\'', None),
    (lambda _: mg.train("a", vocab_size=300, num_threads=0), mg.TrainingError,
     "num_threads: expected 1 or more, found 0", None),
    (lambda _: fim("abc", cl100k(), rate=2), mg.TextError, "rate: expected a probability from 0 to 1, found 2", None),
    (lambda _: fim("abc", cl100k(), mode="mps"), mg.TextError, 'mode: expected "psm" or "spm", found \'mps\'', None),
    (lambda _: fim("abc", cl100k(), special_tokens=("<a>",)), mg.TextError,
     "special_tokens: expected three, of prefix, middle and suffix, found 1", None),
    (lambda _: mg.Tokenizer.from_merges({0: b"a"}, ["ab"]), mg.FormatError,
     "merges 0: expected two tokens, as bytes, found 'ab'", None),
    (lambda _: mg.Tokenizer.from_merges({0: "a"}, []), mg.FormatError,
     "vocab: expected ids of u32 and tokens of a byte or more, found 0: 'a'", None),
]  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "message", "hint"), REFUSED)
def test_a_wrong_value_is_said_with_a_way_out(gpt2, call, kind, message, hint):
    with pytest.raises(kind) as caught:
        call(gpt2)
    assert (type(caught.value), str(caught.value), caught.value.hint) == (kind, message, hint)


WRONG_TYPES = [
    (lambda tok: tok.encode(["x"]), "text: expected str or UTF-8 bytes, found list; `encode_batch` takes many texts"),
    (lambda tok: tok.encode_batch("x"), "texts: expected a collection of texts, found str; `encode` takes one"),
    (lambda tok: tok.encode_batch(None), "texts: expected a collection of texts, found NoneType"),
    (lambda tok: tok.encode_batch(["x", 5]), "document 1: text: expected str or UTF-8 bytes, found int"),
    (lambda tok: tok.encode_batch([["x"]]), "document 0: text: expected str or UTF-8 bytes, found list"),
    (lambda tok: list(tok.encode_iterable(["x", b"y"])), "texts: expected str, found bytes"),
    (lambda tok: tok.encode("x", allow_special="<|endoftext|>"),
     'allow_special: expected "all" or a collection of names, found the text \'<|endoftext|>\'; '
     "one name is {'<|endoftext|>'}"),
    (lambda tok: tok.encode("x", allow_special=5), "allow_special: expected a collection of names, found int"),
    (lambda tok: tok.encode("x", allow_special=[["<|endoftext|>"]]),
     "allow_special: expected names, found an unhashable type: 'list'"),
    (lambda tok: tok.encode("x", num_threads="2"), "num_threads: expected an integer, found str"),
    (lambda tok: tok.decode(5), "ids: expected a sequence of integers, found int"),
    (lambda tok: tok.decode_batch(5), "many: expected a collection of sequences of ids, found int"),
    (lambda tok: tok.decode_stream(5), "prompt_ids: expected a collection of ids, found int"),
    (lambda tok: tok.add_tokens(None), "contents: expected a collection of texts, found NoneType"),
    (lambda tok: tok.prepare("a", padding=True, pad_token=1.0), "pad_token: expected an integer, found float"),
    (lambda _: mg.load(5), "path: expected a str or a Path, found int"),
    (lambda _: mg.load("x.tiktoken", special_tokens=["<x>"]),
     "special_tokens: expected contents with their ids, found list"),
    (lambda _: mg.Tokenizer("gpt2"), "spec: expected a Spec, found str; `mg.load` takes a name or a path"),
    (lambda _: mg.read("a.txt"), "paths: expected Path, found 'a.txt'; a str is a document, a file is `Path('a.txt')`"),
    (lambda _: mg.train(5, vocab_size=300), "documents: expected a collection of texts, found int"),
    (lambda _: mg.train([Path("x")], vocab_size=300),
     "documents: expected str or UTF-8 bytes, found PosixPath; `mg.read(path)` reads the documents there"),
    (lambda _: mg.train("a", vocab_size="300"), "vocab_size: expected an integer, found str"),
    (lambda _: mg.train("a", vocab_size=True), "vocab_size: expected an integer, found bool"),
    (lambda _: mg.train("a", vocab_size=300, special_tokens=[5]), "special_tokens: expected texts, found int"),
    (lambda _: mg.train("a", vocab_size=300, split=mg.Split(pattern=5)), "split: pattern: expected a str, found int"),
    (lambda _: mg.train("a", vocab_size=300, initial_alphabet=None),
     "initial_alphabet: expected a collection of texts, found NoneType"),
    (lambda _: mg.train("a", vocab_size=300, progress=5), "progress: expected a function, found int"),
    (lambda _: fim(5, cl100k()), "document: expected a text, found int"),
    (lambda _: fim("a", "gpt2"), "tokenizer: expected a Tokenizer, found str"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), WRONG_TYPES)
def test_a_wrong_type_is_named(gpt2, call, message):
    with pytest.raises(TypeError) as caught:
        call(gpt2)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("call", "missing"),
    [
        (lambda folder: mg.load(folder / "gone/tokenizer.json"), ", and nothing is downloaded"),
        (lambda folder: mg.Tokenizer.from_files(folder / "gone/a", folder / "gone/b"), ", and nothing is downloaded"),
        (lambda folder: mg.load("gpt2").save(folder / "gone/a/x.json"), ", and nothing is downloaded"),
        (lambda folder: list(mg.read(folder / "gone/a.txt")), ""),
    ],
)
def test_of_a_path_that_does_not_exist_the_hint_tells_what_does(tmp_path, call, missing):
    with pytest.raises(mg.StorageError) as caught:
        call(tmp_path)
    assert caught.value.hint == f"of that path there is only `{tmp_path}`{missing}"


def test_a_name_that_spells_a_token_is_not_written_and_the_hint_says_what_to_do(tmp_path):
    tok = mg.train("a", vocab_size=257, special_tokens=["Ġ"])
    with pytest.raises(mg.FormatError) as caught:
        tok.save(tmp_path / "tokenizer.json")
    assert caught.value.hint == "the file spells another token so: give the added token a name other than 'Ġ'"


def test_a_spec_shows_what_is_not_as_always_and_no_buffer(gpt2, tmp_path):
    assert repr(gpt2.spec) == (
        "Spec(model=BytePairModel(vocabulary=<50256 tokens>, semantics='rank'), splits=<1 of Split>, "
        "added_tokens=<1 of AddedToken>, name='gpt2')"
    )
    bert: tokenizers.Tokenizer = word_piece()
    assert repr(saved(bert, tmp_path / "tokenizer.json").spec) == (
        "Spec(model=WordPieceModel(vocabulary=<16 tokens>), added_tokens=<4 of AddedToken>, pipeline=Pipeline(…))"
    )
