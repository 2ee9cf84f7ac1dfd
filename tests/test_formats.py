"""Files: what is read, written and refused. No engine: the originals are the oracle."""

import base64
import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import oracle
import pytest
import tiktoken
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import pre_tokenizers

import merganser as mg
from merganser import formats, vocabularies
from merganser.errors import FormatError, StorageError
from merganser.formats import byte_alphabet, coverage, dialects, files, huggingface, lock, regex_syntax
from merganser.formats.huggingface.writing import to_json
from merganser.formats.ranks import merges_of_ranks, ranks_of
from merganser.spec import (
    AddedToken,
    ByteLevel,
    BytePairModel,
    Normalizer,
    Spec,
    Split,
    Template,
    TemplatePart,
    Vocabulary,
    pack,
)

BYTES = [bytes([byte]) for byte in range(256)]
TEXTS = [
    "Hello world's  'LL it\n\n 123456 \t",
    "naïve ſ 'ſ cafe\u0301 ÀÉ 中文かな 한국어 Привет ١٢٣ ²½ K",
    "  \r\n a\u00a0b\u200d\u200c👩‍👩‍👧 x=1;\n\n  \n",
    "",
    "aaaa bbb abab aab",
    "<|end|> hi<|a b\n|>",
]
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
CL100K = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
DEEPSEEK = (
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
KIMI = (
    r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+"
    r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
PUBLISHED = {**vocabularies.PATTERNS, "gpt2": GPT2, "cl100k": CL100K, "deepseek": DEEPSEEK, "kimi": KIMI}


def model(*merges: str, ignore_merges: bool = False, first: int = 0) -> BytePairModel:
    """Bytes, and the tokens of merges such as "a b"."""
    tokens = list(BYTES)
    pairs = [merge.encode().split(b" ") for merge in merges]
    tokens += dict.fromkeys(left + right for left, right in pairs)
    ids = [first + tokens.index(part) for pair in pairs for part in pair]
    return BytePairModel(
        vocabulary=Vocabulary.from_tokens(tokens, range(first, first + len(tokens))),
        semantics="merges",
        merges=pack(ids),
        ignore_merges=ignore_merges,
    )


ABC = model("a b", "b c", "ab c", "a a")
END = AddedToken(content="<|end|>", id=260)
SPEC = Spec(model=ABC, splits=(Split(pattern=CL100K, dialect="oniguruma"),), added_tokens=(END,))


def json_of(spec: Spec) -> dict:
    return json.loads(to_json(spec)[0])


def hugging_face(spec: Spec) -> tokenizers.Tokenizer:
    return tokenizers.Tokenizer.from_str(to_json(spec)[0])


def read_json(tmp_path: Path, value: object) -> Spec:
    path = tmp_path / "tokenizer.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return formats.read(path)


def changed(place: str, value: object) -> dict:
    """SPEC's tokenizer.json with another value at `place`; `...` takes it out."""
    root = json_of(SPEC)
    *steps, last = (int(step) if step.isdigit() else step for step in place.split("/"))
    node = root
    for step in steps:
        node = node[step]
    if value is ...:
        del node[last]
    else:
        node[last] = value
    return root


# The byte alphabet


def test_the_alphabet_is_gpt2s():
    ours = sorted(byte_alphabet.ALPHABET)
    assert ours == sorted(pre_tokenizers.ByteLevel.alphabet())
    assert byte_alphabet.spell(bytes(range(256)))[32:35] == 'Ġ!"'
    assert byte_alphabet.unspell(byte_alphabet.spell(bytes(range(256)))) == bytes(range(256))


# tokenizer.json in and out


MASK = AddedToken(content="<mask>", id=261, normalized=True, lstrip=True, rstrip=True, single_word=True)
PLAIN = AddedToken(content="  ", id=262, special=False)
AROUND = Template(
    single=(TemplatePart(name="<|end|>", ids=(260,)), TemplatePart(name="A")),
    pair=(
        TemplatePart(name="A"),
        TemplatePart(name="<|end|>", ids=(260,), type_id=1),
        TemplatePart(name="B", type_id=1),
    ),
)


@pytest.mark.parametrize(
    "spec",
    [
        SPEC,
        Spec(model=ABC, splits=(ByteLevel(),)),
        Spec(model=ABC, splits=(ByteLevel(add_prefix_space=True),), offsets=ByteLevel(trim_offsets=False)),
        Spec(model=ABC),
        replace(SPEC, model=replace(ABC, ignore_merges=True)),
        replace(SPEC, normalizers=(Normalizer(form="NFC"),)),
        replace(SPEC, normalizers=(Normalizer(form="NFKD"), Normalizer(form="NFC"))),
        replace(SPEC, added_tokens=(END, MASK, PLAIN), template=AROUND, offsets=ByteLevel()),
        replace(SPEC, added_tokens=(replace(END, id=300), replace(MASK, id=999))),
        replace(SPEC, added_tokens=(AddedToken(content="<|a b\n|>", id=260), AddedToken(content="<｜é｜>", id=270))),
        replace(SPEC, model=model("a b", first=1), added_tokens=(replace(END, id=0),)),
        Spec(
            model=ABC,
            splits=(Split(pattern=" x ", dialect="oniguruma"), *SPEC.splits, ByteLevel(add_prefix_space=True)),
        ),
    ],
)
def test_a_spec_comes_back_from_its_tokenizer_json(tmp_path, spec):
    huggingface.write(spec, tmp_path / "t.json")
    assert formats.read(tmp_path / "t.json") == spec
    tok = hugging_face(spec)
    assert {token.content: tok.token_to_id(token.content) for token in spec.added_tokens} == {
        token.content: token.id for token in spec.added_tokens
    }


def test_a_file_of_hugging_face_has_the_same_ids_when_written_again(tmp_path):
    tok = tokenizers.ByteLevelBPETokenizer()
    tok.train_from_iterator(TEXTS * 3, vocab_size=300, special_tokens=["<s>", "</s>"], show_progress=False)
    tok.save(str(tmp_path / "tokenizer.json"))
    again = hugging_face(formats.read(tmp_path))
    for text in [*TEXTS, "<s>a</s>"]:
        assert (again.encode(text).ids, again.encode(text).offsets) == (tok.encode(text).ids, tok.encode(text).offsets)
    assert again.get_vocab() == tok.get_vocab()


def test_merges_read_alike_as_strings_and_as_pairs(tmp_path):
    old = json_of(SPEC)
    del old["model"]["type"], old["model"]["ignore_merges"], old["model"]["byte_fallback"]
    old["model"]["merges"] = [" ".join(pair) for pair in old["model"]["merges"]]
    assert read_json(tmp_path, old) == SPEC


def test_a_merge_that_is_listed_twice_has_its_last_rank(tmp_path):
    root = changed("model/merges", [["a", "b"], ["b", "c"], ["a", "b"]])
    tok = tokenizers.Tokenizer.from_str(json.dumps(root))
    spec = read_json(tmp_path, root)
    assert spec.model.merges == pack([98, 99, 97, 98])
    assert hugging_face(spec).encode("abc").tokens == tok.encode("abc").tokens == ["a", "bc"]


def test_special_tokens_in_the_vocabulary_are_no_tokens_of_the_model(tmp_path):
    root = changed("model/vocab/<|end|>", 260)
    assert read_json(tmp_path, root) == SPEC
    outside = changed("model/vocab/<｜x｜>", 260)
    assert b"<\xef\xbd\x9cx\xef\xbd\x9c>" in list(
        read_json(tmp_path, outside | {"added_tokens": []}).model.vocabulary.tokens()
    )


def test_roberta_processing_is_a_template(tmp_path):
    root = changed("added_tokens", json_of(replace(SPEC, added_tokens=(END, MASK)))["added_tokens"])
    root["post_processor"] = {"type": "RobertaProcessing", "sep": ["<mask>", 261], "cls": ["<|end|>", 260]}
    root["post_processor"] |= {"trim_offsets": True, "add_prefix_space": False}
    theirs = tokenizers.Tokenizer.from_str(json.dumps(root))
    ours = hugging_face(read_json(tmp_path, root))
    for pair in (None, " second  one"):
        a, b = theirs.encode(" Hello  world ", pair), ours.encode(" Hello  world ", pair)
        assert (a.ids, a.offsets, a.type_ids, a.special_tokens_mask) == (
            b.ids,
            b.offsets,
            b.type_ids,
            b.special_tokens_mask,
        )


def test_a_string_pattern_is_escaped(tmp_path):
    root = changed("pre_tokenizer/pretokenizers/0/pattern", {"String": "a.b|"})
    spec = read_json(tmp_path, root)
    assert spec.splits == (Split(pattern=r"a\.b\|", dialect="oniguruma"),)
    assert json_of(spec)["pre_tokenizer"]["pretokenizers"][0]["pattern"] == {"Regex": r"a\.b\|"}


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("version", "2.0", '$.version: expected version "1.0", found "2.0"'),
        ("model", ..., "$: expected the keys of a tokenizer.json, `model` among them, found an object"),
        ("surprise", 1, '$: expected model, version, truncation, padding, added_tokens, normalizer, pre_tokenizer, '
         'post_processor, decoder, found the unknown key "surprise"'),
        ("truncation", {"max_length": 5}, '$.truncation: expected the key "strategy", found none'),
        ("pre_tokenizer/pretokenizers/0/behavior", "Removes",
         '$.pre_tokenizer.pretokenizers[0].behavior: expected one of "Removed", "Isolated", "MergedWithPrevious", '
         '"MergedWithNext", "Contiguous", found "Removes"'),
        ("post_processor", {"type": "BertProcessing"}, '$.post_processor: expected the key "sep", found none'),
        ("model/type", "BytePair",
         '$.model.type: expected one of BPE, WordPiece, WordLevel, Unigram, found "BytePair"'),
        ("model/dropout", 0.1, "$.model.dropout: expected null or 0, found 0.1"),
        ("model/byte_fallback", 1, "$.model.byte_fallback: expected true or false, found 1"),
        ("model/end_of_word_suffix", 5, "$.model.end_of_word_suffix: expected a string, found 5"),
        ("model/vocab/a", -1, "$.model.vocab.a: expected an integer from 0 to 16777215, found -1"),
        ("model/vocab/a", 1 << 31, "$.model.vocab.a: expected an integer from 0 to 16777215, found 2147483648"),
        ("model/vocab/a", 97.0, "$.model.vocab.a: expected an integer from 0 to 16777215, found 97.0"),
        ("model/vocab/a", True, "$.model.vocab.a: expected an integer from 0 to 16777215, found true"),
        ("model/vocab/ab", 97, "$.model.vocab.ab: expected an id of its own, not that of 'a', found 97"),
        ("model/merges/0", ["a", "x"],
         "$.model.merges[0]: expected tokens of $.model.vocab, which lacks 'ax', found \"a x\""),
        ("model/merges/1", ["b"], "$.model.merges[1]: expected two tokens, found an array of 1"),
        ("model/merges/1", "b c", "$.model.merges[1]: expected two tokens, written as those of the first merge are, "
         'found "b c"'),
        ("model/merges", ["a b", "b  c"],
         '$.model.merges[1]: expected two tokens with one space between, found "b  c"'),
        ("added_tokens/0/id", 500, "$.added_tokens[0].id: expected 260, the next after $.model.vocab, whatever the "
         "file says, found 500"),
        ("added_tokens/0/content", "ab", "$.added_tokens[0].id: expected 256, that $.model.vocab gives it, found 260"),
        ("added_tokens/0/special", 1, "$.added_tokens[0].special: expected true or false, found 1"),
        ("added_tokens/0/lstrip", ..., '$.added_tokens[0]: expected the key "lstrip", found none'),
        ("added_tokens/0/content", "", '$.added_tokens[0].content: expected a string that is not empty, found ""'),
        ("added_tokens/0/content", "\ud800",
         '$.added_tokens[0].content: expected text without lone surrogates, found "\\ud800"'),
    ],
)  # fmt: skip
def test_what_is_wrong_is_refused_with_its_json_path(tmp_path, place, value, message):
    with pytest.raises(FormatError) as caught:
        read_json(tmp_path, changed(place, value))
    assert str(caught.value) == f"{tmp_path / 'tokenizer.json'}: {message}"


GOOD = to_json(SPEC)[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD[: len(GOOD) // 2], "expected more JSON, found the end of the file"),
        (GOOD.replace('"truncation": null', '"truncation": nul'), ':3:17: expected value, found "n"'),
        (GOOD + "}", 'expected the end of the file, found "}"'),
        (GOOD.replace('"padding": null', '"version": "1.0"'), '$: expected each key once, found "version" twice'),
        (GOOD.replace('"ab": 256', '"a": 256'), '$.model.vocab: expected each key once, found "a" twice'),
        (GOOD.replace('"ab": 256', '"ab": NaN'), "expected numbers that JSON readers take, found: NaN"),
        (GOOD.replace('"ab": 256', '"ab": ' + "9" * 5000), "expected numbers that JSON readers take"),
        ('{"a":' * 100_000, "expected JSON of moderate depth, found it nested too deeply"),
        (
            "\ufeff" + GOOD,
            "expected a tokenizer.json, a vocab.txt or lines `<base64> <rank>`, found a UTF-8 byte order mark",
        ),
        (GOOD.encode("utf-16"), "found UTF-16 text"),
        (GOOD.encode("utf-16-le"), "found UTF-16 text"),
        (GOOD.encode().replace(b"<|end|>", b"\xff"), "expected UTF-8, found byte 0xFF"),
        ("", "found an empty file"),
        ("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "found a Git LFS pointer"),
        ("<!DOCTYPE html><html>not found</html>", "found a web page"),
        (b"\n\x0e\n\x05<unk>\x15\x00\x00\x00\x00\x18\x02", "found a SentencePiece model"),
        ("#version: 0.2\nĠ t\n", "found the merges.txt of GPT-2's format"),
        ("[PAD]\n[UNK]\n", "found `[PAD]`"),
        ("[]", "found `[]`"),
    ],
)
def test_a_file_that_is_broken_or_something_else_is_said_to_be(tmp_path, text, message):
    path = tmp_path / "tokenizer.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(FormatError) as caught:
        formats.read(path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(path))


def test_any_cut_of_a_file_is_a_format_error(tmp_path):
    data = to_json(replace(SPEC, added_tokens=(AddedToken(content="｜é", id=260),)))[0].encode()
    for end in range(0, len(data) - 2, 7):
        (tmp_path / "tokenizer.json").write_bytes(data[:end])
        with pytest.raises(FormatError):
            formats.read(tmp_path)


def test_a_folder_without_tokenizer_json_says_what_is_there(tmp_path):
    (tmp_path / "notes.txt").touch()
    with pytest.raises(
        FormatError, match=r"expected a tokenizer\.json, a vocab\.txt or .* in this folder, found notes\.txt"
    ):
        formats.read(tmp_path)
    with pytest.raises(StorageError, match="expected a file that can be read, found: No such file or directory"):
        formats.read(tmp_path / "nothing.json")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (replace(SPEC, splits=(Split(pattern=r"\p{L}+", unmatched="drop"),)), 'expected a split with unmatched="keep"'),
        (replace(SPEC, splits=(Split(pattern=r"\b.+"),)), r"found `\\b`"),
        (replace(SPEC, splits=(ByteLevel(), Split(pattern="a"))), "expected ByteLevel as the last step"),
        (
            replace(SPEC, added_tokens=(replace(END, content="ab"),)),
            "found 'ab' with the id 260, where token 256 is 'ab'",
        ),
        (replace(SPEC, added_tokens=(replace(END, id=97),)), "with the id 97, where token 97 is 'a'"),
        (replace(SPEC, added_tokens=(END, replace(END, id=261))), "expected added tokens of different contents"),
        (replace(SPEC, template=Template(single=(TemplatePart(name="x", ids=(9999,)),))), "expected ids of tokens"),
        (replace(SPEC, model=replace(ABC, merges=pack([97, 9999]))), "expected merges of tokens"),
        (replace(SPEC, model=replace(ABC, merges=pack([97, 122]))), "expected a token for the joined bytes"),
        (
            Spec(model=BytePairModel(vocabulary=Vocabulary.from_tokens([b"a", b"a"]), semantics="merges")),
            "one token with",
        ),
    ],
)
def test_what_tokenizer_json_cannot_hold_is_refused(tmp_path, spec, message):
    with pytest.raises(FormatError, match=message):
        huggingface.write(spec, tmp_path / "t.json")
    assert not list(tmp_path.iterdir())


def test_a_second_name_of_an_id_is_left_out_and_said():
    spec = replace(SPEC, added_tokens=(END, AddedToken(content="<|also|>", id=260)))
    text, left_out = to_json(spec)
    assert [token["content"] for token in json.loads(text)["added_tokens"]] == ["<|end|>"]
    assert left_out == ("tokenizer.json holds one added token an id: '<|also|>' left out for '<|end|>', both 260",)


def test_transformers_loads_the_folder_with_the_same_ids(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    transformers = pytest.importorskip("transformers")
    spec = replace(SPEC, added_tokens=(END, replace(PLAIN, id=300)), template=AROUND)
    huggingface.write_folder(spec, tmp_path)
    ours, theirs = hugging_face(spec), transformers.AutoTokenizer.from_pretrained(str(tmp_path))
    for text in TEXTS:
        assert theirs(text)["input_ids"] == ours.encode(text).ids
        assert theirs.decode(theirs(text)["input_ids"], skip_special_tokens=True) == text.replace("<|end|>", "")


# Ranks as merges


@settings(max_examples=150)
@given(
    tokens=st.lists(st.text("ab", min_size=2, max_size=6), unique=True, max_size=20),
    texts=st.lists(st.text("ab", max_size=40), min_size=5, max_size=20),
)
def test_ranks_and_their_merges_give_the_same_ids(tokens, texts):
    vocabulary = [*BYTES, *(token.encode() for token in tokens)]
    split = Split(pattern=r"[\s\S]+", unmatched="drop")
    rank = BytePairModel(vocabulary=Vocabulary.from_tokens(vocabulary), semantics="rank")
    tok = hugging_face(Spec(model=rank, splits=(split,)))
    theirs = tiktoken.Encoding(
        "x", pat_str=split.pattern, mergeable_ranks={t: i for i, t in enumerate(vocabulary)}, special_tokens={}
    )
    for text in texts:
        assert tok.encode(text).ids == theirs.encode_ordinary(text)


@pytest.mark.parametrize("name", ["gpt2", "p50k_edit", "cl100k_base"])
def test_a_bundled_vocabulary_has_tiktokens_ids_in_hugging_face(name):
    tok, theirs = hugging_face(vocabularies.read(name)), oracle.encoding(name)
    for text in [
        *TEXTS,
        "<|endoftext|> x",
        "=" * 99 + " " * 999 + "\n" * 99 + "x",
        "    \n\n",
        Path(__file__).read_text(),
    ]:
        assert tok.encode(text).ids == theirs.encode(text, allowed_special="all")


def test_the_merges_of_gpt2s_ranks_are_gpt2s():
    merges = [tuple(line.split(" ")) for line in oracle.public_file("vocab.bpe").decode().split("\n")[1:-1]]
    ours = merges_of_ranks(ranks_of(vocabularies.read("gpt2").model))
    assert [(byte_alphabet.spell(left), byte_alphabet.spell(right)) for left, right in ours] == merges


# Dialects


@cache
def encoding(pattern: str, *texts: str) -> tiktoken.Encoding:
    """tiktoken with every substring as a token, so that each piece is one token."""
    tokens = dict.fromkeys(t[i:j].encode() for t in texts for i in range(len(t)) for j in range(i + 1, len(t) + 1))
    ranks = {token: rank for rank, token in enumerate(dict.fromkeys([*BYTES, *tokens]))}
    return tiktoken.Encoding("x", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})


def rust_matches(pattern: str, *texts: str) -> list[list[bytes]]:
    tok = encoding(pattern, *texts)
    return [tok.decode_tokens_bytes(tok.encode_ordinary(text)) for text in texts]


def oniguruma_matches(pattern: str, *texts: str) -> list[list[bytes]]:
    split = pre_tokenizers.Split(tokenizers.Regex(pattern), "removed", invert=True)
    return [[piece.encode() for piece, _ in split.pre_tokenize_str(text)] for text in texts]


ENDS = ("a b  ", "a \n ", "a\n", "\n a", "12345 \n\n", "x\r\n", "(a)\r\n\r\n!?", "don't I'LL 'ſ", "a\u00a0 \u3000b")


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_patterns_split_alike_in_both_dialects(name):
    pattern = PUBLISHED[name]
    translated = dialects.oniguruma_from_rust(pattern)
    assert rust_matches(pattern, *TEXTS, *ENDS) == oniguruma_matches(translated, *TEXTS, *ENDS)
    back = dialects.rust_from_oniguruma(translated)
    assert rust_matches(back, *TEXTS, *ENDS) == oniguruma_matches(translated, *TEXTS, *ENDS)
    assert coverage.matches_every_character(pattern, "rust") is (name != "deepseek")


@pytest.mark.parametrize(
    ("rust", "oniguruma"),
    [
        (r"a$|^b", r"a\z|\Ab"),
        (r"\p{N}{1,3}+", r"(?>\p{N}{1,3})"),
        (r"\pL++a?+\s*+", r"\p{L}++a?+\s*+"),
        (r"[\w-]+|\W", r"[\w\x{200C}\x{200D}-]+|[^\w\x{200C}\x{200D}]"),
        (r"(?>a|ab)c(?=d)(?!e)(?<=c)", r"(?>a|ab)c(?=d)(?!e)(?<=c)"),
        (r"(?<=a[b\d]|\p{L}.)c", r"(?<=a[b\d]|\p{L}.)c"),
        (r"[a&&[^b]]\x41\u4e00\x{1F600}\.", r"[a&&[^b]]\x41\u4e00\x{1F600}\."),
    ],
)
def test_rust_is_respelled_for_oniguruma(rust, oniguruma):
    assert dialects.oniguruma_from_rust(rust) == oniguruma


@pytest.mark.parametrize(
    ("oniguruma", "rust"),
    [
        (r"a$", r"a(?m:$)"),
        (r"\n^", r"\n(?m:^)(?!\z)"),
        (r"\d{1,3}+", r"(?:\d{1,3})+"),
        (r"\h[\h_]\H", r"[0-9A-Fa-f][0-9A-Fa-f_][^0-9A-Fa-f]"),
        (r"\p{^L}a{,2}\<\ ", r"\P{L}a{0,2}< "),
        (r"(?<=[af]\n)b|(?<!a<)[ \n]", r"(?<=[af]\n)b|(?<!a<)[ \n]"),
        (r"[\w.]+", r"[[\w&&[^\x{200C}\x{200D}]].]+"),
    ],
)
def test_oniguruma_is_respelled_for_rust(oniguruma, rust):
    assert dialects.rust_from_oniguruma(oniguruma) == rust
    texts = ("a", "a\nb\na\n\n", "12345\n", "fg_ff \u200d.", "1aa< 1< ", *ENDS)
    assert rust_matches(rust, *texts) == oniguruma_matches(oniguruma, *texts)


REFUSED = [
    r"\b", "(?i)a", "(?m:a)", "(?s:.)", "(?x: a)", "(?<n>a)", r"(a)\1", "(?#c)a", "a{2}?", "a{", "a**", "+a",
    "[]a]", "[[:alpha:]]", "[a--b]", "[a~~b]", "[a-z-9]", "[z-a]", r"[a-\d]", r"\p{Foo}", r"\x{D800}", r"\x80", r"\R",
    "(?i:ß)", "(?i:.)", "(?i:ss)", "(?i:a[st]t)", "(?i:f(?:i))", "(?i:s{2})", "a*", "(a?)+", "(?=a)?b", "(?<=ab|c)c",
    "(a", "a)", "[a", "a||", "[^[^a]]", "a{5,2}", "a{1,100000}", "\0", r"\e", "(" * 200 + "a" + ")" * 200,
]  # fmt: skip


@pytest.mark.parametrize("pattern", [*REFUSED, r"a\b", r"a\B", r"a\Z", r"\h", r"\<", r"[^\W]"])
def test_what_rust_may_mean_otherwise_is_refused(pattern):
    with pytest.raises(FormatError, match="expected a construct that means the same"):
        dialects.oniguruma_from_rust(pattern)


@pytest.mark.parametrize("pattern", [*REFUSED, r"[\b]", r"\b+", r"\pL", r"\G"])
def test_what_oniguruma_may_mean_otherwise_is_refused(pattern):
    with pytest.raises(FormatError, match="expected a construct that means the same"):
        dialects.rust_from_oniguruma(pattern)


def test_a_refusal_names_construct_and_place():
    with pytest.raises(FormatError) as caught:
        dialects.oniguruma_from_rust(r"\p{L}+|\bx")
    assert str(caught.value) == (
        r"pattern '\\p{L}+|\\bx', character 7: expected a construct that means the same in Rust's and in Oniguruma's "
        r"regexes, found `\b`"
    )


def code_points() -> str:
    """All code points but those deep inside blocks of one kind."""
    ends = [
        1,
        0x3410,
        0x4DB0,
        0x4E10,
        0x9FF0,
        0xAC10,
        0xD790,
        0xD800,
        0xE000,
        0xE010,
        0xF8F0,
        0x17010,
        0x187F0,
        0x20010,
    ]
    ends += [0x2A6D0, 0x2A6F0, 0x2EBD0, 0x2EC00, 0x31340, 0x32400, 0xE0000, 0xE0200, 0x10FFF0, 0x110000]
    return "".join(chr(code) for first, end in zip(ends[::2], ends[1::2], strict=True) for code in range(first, end))


def unions(names) -> list[str]:
    """Few classes that agree only if each of the disjoint ones does: the n-th is in those of the bits of n."""
    numbered = [(number, rf"\p{{{name}}}") for number, name in enumerate(sorted(names), 1)]
    return [f"[{''.join(name for number, name in numbered if number >> bit & 1)}]" for bit in range(5)]


CLASSES = [*unions(regex_syntax.CATEGORIES), *unions(regex_syntax.SCRIPTS), *(rf"\p{{{name}}}" for name in "LMNPSZC")]
CLASSES += [r"\s", r"\S", r"\d", r"\D", r"\w", r"\W", r"[\s]", r"[\d]", r"[\w]", r"\P{L}", "[^a]", r"[^\s\p{L}\p{N}]"]
CLASSES += [
    ".",
    "(?i:k)",
    "(?i:[a-z])",
    "(?i:'[!-_])",
    r"[\p{L}&&[^\p{Han}]]",
    r"[^\p{L}[a-c一-龥]]",
    r"[a-z&&[^aeiou]&&\p{L}]",
]


WORDS = [r"\w", r"\W+", r"\w+|[^\w\s]+", r"\b.", r"\b\w{1,9}\b", r".\B", r"\W\b", r"\s+\Z", r"\n\Z|x", r"\p{Letter}"]


@pytest.mark.parametrize("pattern", WORDS)
def test_a_word_of_oniguruma_is_the_same_in_rust(pattern):
    signs = "²³¹¼½¾ªµº·×÷\u200c\u200d_\n'\u0301漢"
    texts = [*(f"a{sign}b {sign}" for sign in signs), *ENDS]
    translated = dialects.rust_from_oniguruma(pattern)
    assert rust_matches(translated, *texts) == oniguruma_matches(pattern, *texts)
    # A token for every piece of so long a text would be too many for tiktoken.
    split = mg.Split(pattern=translated, unmatched="drop")
    tok = mg.Tokenizer(
        Spec(model=BytePairModel(vocabulary=Vocabulary.from_tokens(BYTES), semantics="rank"), splits=(split,))
    )
    assert [piece.encode() for piece in tok.pieces(code_points())] == oniguruma_matches(pattern, code_points())[0]


def test_classes_hold_the_same_code_points_in_both_dialects():
    text = code_points()
    for name in CLASSES:
        pattern = name if name.startswith("(?i:") else f"(?:{name}){{1,50}}"
        theirs = oniguruma_matches(dialects.oniguruma_from_rust(pattern), text)[0]
        tok = encoding(pattern)
        assert tok.decode_bytes(tok.encode_ordinary(text)) == b"".join(theirs), name


@pytest.mark.parametrize(
    ("pattern", "covers"),
    [
        (r"\p{L}+|\P{L}", True),
        (r"[\s\S]", True),
        (r"\s|\S", True),
        (r".|\n", True),
        (r".", False),
        (r"[^a]|a", True),
        (r"[^a]|a+b?|x", True),
        (r"[^a]|ab", False),
        (r"[^a]|a(?!b)", False),
        (r"[^a]|a?+a", False),
        (r"[^a]|b?+a", True),
        (r"[^一-龥]|[一-龥]", False),
        (r"\p{Han}|\P{Han}", True),
        (r"(?:\p{L}|\p{N})+|[^\p{L}\p{N}]+", True),
        (r"\w|[^\w]", False),
    ],
)
def test_coverage_is_claimed_only_where_it_is_certain(pattern, covers):
    assert coverage.matches_every_character(pattern, "rust") is covers


# .tiktoken


def lines(*tokens: bytes, start: int = 0) -> bytes:
    return b"".join(b"%s %d\n" % (base64.b64encode(token), rank) for rank, token in enumerate(tokens, start))


def read_tiktoken(tmp_path: Path, data: bytes, **arguments) -> Spec:
    path = tmp_path / "x.tiktoken"
    path.write_bytes(data)
    return formats.read(path, **{"split": Split(pattern=CL100K), "special_tokens": {}} | arguments)


def test_a_tiktoken_file_is_tokens_by_rank(tmp_path):
    spec = read_tiktoken(
        tmp_path, b"\n" + lines(b"ab", start=7) + b"\r\n" + lines(b"b", b"\r"), special_tokens={"<|x|>": 9}
    )
    assert list(spec.model.vocabulary.items()) == [(0, b"b"), (1, b"\r"), (7, b"ab")]
    assert (spec.model.semantics, spec.splits[0].pattern, spec.special_tokens) == ("rank", CL100K, {"<|x|>": 9})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"YQ== 0\n!!! 5\n", ":2: expected `<base64> <rank>`, found `!!! 5`"),
        (b"!!! 5\n", ":1: expected `<base64> <rank>`, found `!!! 5`"),
        (b"YQ== 0\nYg=\t1\n", ":2: expected base64, found `Yg=`: incorrect padding"),
        (b"YQ== 0\nYR== 1\n", ":2: expected base64 as an encoder writes it, found `YR==`"),
        (b"YQ== 0\nYg== 1 2\n", ":2: expected `<base64> <rank>`, found 3 fields"),
        (b"YQ== 0\nYg==\n", ":2: expected `<base64> <rank>`, found 1 field"),
        (b"YQ== 0\nYg== -1\n", ":2: expected `<base64> <rank>`, found `Yg== -1`"),
        (b"YQ== 0\nYg== 4294967296\n", ":2: expected a rank from 0 to 4294967295, found `4294967296`"),
        (b"YQ== 0\nYg== 00000000001\n", ":2: expected a rank from 0 to 4294967295, found `00000000001`"),
        (b"YQ== 0\n\nYg== 0\n", ":3: expected each rank once, found 0 again, first in line 1"),
        (b"Yg== 1\nYQ== 0\nYg== 2\n", ":3: expected each token once, found b'b' again, first in line 1"),
        (b"\xef\xbb\xbfYQ== 0\n", "found a UTF-8 byte order mark"),
        (b"<html>", "found a web page"),
        (b" \n\n", "found an empty file"),
    ],
)
def test_a_wrong_line_is_refused_by_number(tmp_path, data, message):
    with pytest.raises(FormatError) as caught:
        read_tiktoken(tmp_path, data)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("special_tokens", "message"),
    [
        ({"": 5}, "texts that are not empty"),
        ({"x": 0}, "ids that no token"),
        ({"x": -1}, "ids from"),
        ({"x": True}, "ids from"),
    ],
)
def test_special_tokens_that_do_not_fit_are_refused(tmp_path, special_tokens, message):
    with pytest.raises(FormatError, match=f"special_tokens: expected {message}"):
        read_tiktoken(tmp_path, lines(b"a"), special_tokens=special_tokens)


@pytest.mark.parametrize("name", ["r50k_base", "p50k_base", "cl100k_base", "o200k_base"])
def test_a_published_file_is_known_by_its_hash(tmp_path, name):
    data = oracle.public_file(f"{name}.tiktoken")
    assert read_tiktoken(tmp_path, data, split=None, special_tokens=None, published=lambda found: found) == name
    assert formats.tiktoken.published_name(tmp_path / "x.tiktoken") == name
    with pytest.raises(FormatError, match="expected split= and special_tokens=") as caught:
        read_tiktoken(tmp_path, data.replace(b"\n", b"\r\n"), split=None, published=lambda found: found)
    assert caught.value.hint == (
        f'this is the published {name}, but for its line ends, which a checkout has changed: `mg.load("{name}")` has it'
    )


def test_an_unknown_file_needs_split_and_special_tokens(tmp_path):
    for missing in ("split", "special_tokens"):
        with pytest.raises(FormatError, match="expected split= and special_tokens="):
            read_tiktoken(tmp_path, lines(b"a"), **{missing: None})
    (tmp_path / "tokenizer.json").write_text(GOOD)
    with pytest.raises(FormatError, match="expected no split= and special_tokens="):
        formats.read(tmp_path, special_tokens={})


def test_a_tiktoken_file_comes_back_and_says_what_it_leaves_out(tmp_path):
    spec = replace(SPEC, normalizers=(Normalizer(form="NFC"),), template=AROUND, model=model("a b", "ab c"))
    assert formats.tiktoken.write(spec, tmp_path / "x.tiktoken") == (
        "`tiktoken` files hold no special tokens: 1 left out",
        "`tiktoken` files hold no split: left out",
        "`tiktoken` files hold no normalizer: left out",
        "`tiktoken` files hold no template: left out",
    )
    again = formats.read(tmp_path / "x.tiktoken", split=SPEC.splits[0], special_tokens={})
    assert again.model == BytePairModel(vocabulary=spec.model.vocabulary, semantics="rank")


WITH_A_WHOLE_TOKEN = BytePairModel(
    vocabulary=Vocabulary.from_tokens([*BYTES, b"ab", b"xyz"]), semantics="merges", merges=pack([97, 98])
)


@pytest.mark.parametrize(
    ("merges", "difference"),
    [
        (model("a b", "ab c"), None),
        (model("a b", "b c", "a bc"), "a merge of b'a' and b'bc' where ranks would next merge b'ab' and b'c'"),
        (replace(model("a b"), merges=b""), "a merge of nothing where ranks would next merge b'a' and b'b'"),
        (WITH_A_WHOLE_TOKEN, "token 257, b'xyz', which no merge makes"),
        (replace(WITH_A_WHOLE_TOKEN, ignore_merges=True), None),
    ],
)
def test_merges_that_ranks_would_do_otherwise_are_said(tmp_path, merges, difference):
    left_out = formats.tiktoken.write(Spec(model=merges), tmp_path / "x.tiktoken")
    expected = () if difference is None else (f"`tiktoken` merges by rank, which may give other ids: {difference}",)
    assert left_out == expected


@pytest.mark.parametrize(
    ("vocabulary", "message"),
    [
        ([*BYTES, b"a"], "one token with the bytes b'a', found 97 and 256"),
        (BYTES[:-1], "a token for each byte, found none for 0xFF"),
        ([*BYTES, b""], "tokens of a byte or more, found token 256 of none"),
    ],
)
def test_what_tiktoken_cannot_hold_is_refused(tmp_path, vocabulary, message):
    spec = Spec(model=BytePairModel(vocabulary=Vocabulary.from_tokens(vocabulary), semantics="merges"))
    with pytest.raises(FormatError, match=f"tiktoken: expected {message}"):
        formats.tiktoken.write(spec, tmp_path / "x.tiktoken")


def test_encoding_arguments_make_an_encoding_with_the_same_ids():
    spec = replace(SPEC, model=model("a b", "b b", "ab c"), added_tokens=(replace(END, id=259),))
    theirs = tiktoken.Encoding("x", **formats.tiktoken.encoding_arguments(spec))
    for text in TEXTS:
        assert theirs.encode(text, allowed_special="all") == hugging_face(spec).encode(text).ids


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (replace(SPEC, normalizers=(Normalizer(form="NFC"),)), "a normalizer, NFC"),
        (replace(SPEC, model=model("a b"), added_tokens=(PLAIN,)), "'  ', which is not plainly special"),
        (replace(SPEC, model=model("a b"), splits=SPEC.splits * 2), "one split pattern, found 2"),
        (replace(SPEC, model=model("a b"), splits=(Split(pattern="a"),)), 'expected unmatched="drop"'),
        (replace(SPEC, model=model("a b"), splits=(ByteLevel(add_prefix_space=True),)), "a space in front"),
        (replace(SPEC, model=model("a b", "b c", "a bc")), "where ranks would next merge"),
    ],
)
def test_what_an_encoding_cannot_hold_is_refused(spec, message):
    with pytest.raises(FormatError, match=message):
        formats.tiktoken.encoding_arguments(spec)


# The lock and the fingerprint


def codes(text: str) -> list[int]:
    return list(text.encode())


UNICODE = ("16.0.0", "17.0.0")


def save(spec: Spec, path: Path) -> Path:
    return formats.write(spec, path, encode=codes, unicode_versions=UNICODE)


def test_a_lock_comes_back_and_holds(tmp_path):
    spec = replace(SPEC, splits=(Split(pattern=CL100K, name="cl100k"),), tie_break="ids")
    save(spec, tmp_path / "out")
    path = tmp_path / "out" / lock.NAME
    read = lock.read(path)
    assert (read.split, read.tie_break, read.semantics, read.unicode_versions) == ("cl100k", "ids", "merges", UNICODE)
    assert read.golden == tuple((text, tuple(codes(text))) for text in lock.GOLDEN_TEXTS)
    before = path.read_bytes()
    save(spec, tmp_path / "out")
    assert path.read_bytes() == before
    lock.check(path, formats.read(tmp_path / "out"), codes, UNICODE)


def test_a_changed_tokenizer_is_noticed(tmp_path):
    save(SPEC, tmp_path / "out")
    path = tmp_path / "out" / lock.NAME
    with pytest.raises(FormatError, match=f"expected the fingerprint {lock.fingerprint(SPEC)}, found"):
        lock.check(path, replace(SPEC, added_tokens=()), codes, UNICODE)
    with pytest.raises(FormatError, match=r"expected the ids \[72, 101, .* for 'Hello, world!', found \[\]"):
        lock.check(path, SPEC, lambda text: [], UNICODE)
    with pytest.warns(UserWarning, match=r"saved under Unicode 16\.0\.0 and 17\.0\.0, loaded under 1 and 2"):
        lock.check(path, SPEC, codes, ("1", "2"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("lock_version", 2), "$.lock_version: expected 1, found 2"),
        (("fingerprint", 5), "$.fingerprint: expected a string, found 5"),
        (
            ("golden", [{"text": "a", "ids": [-1]}]),
            "$.golden[0].ids[0]: expected an integer from 0 to 4294967295, found -1",
        ),
        (("more", 1), 'found the unknown key "more"'),
    ],
)
def test_a_broken_lock_is_refused(tmp_path, change, message):
    path = tmp_path / lock.NAME
    lock.write(lock.make(SPEC, codes, UNICODE), path)
    path.write_text(json.dumps(json.loads(path.read_text()) | dict([change])))
    with pytest.raises(FormatError) as caught:
        lock.read(path)
    assert message in str(caught.value)


def test_the_fingerprint_is_of_what_decides_ids():
    same = [
        replace(SPEC, name="x", tie_break="first", offsets=ByteLevel()),
        replace(SPEC, splits=(Split(pattern=CL100K, name="cl100k"), ByteLevel(use_regex=False, trim_offsets=False))),
        replace(SPEC, splits=(Split(pattern=CL100K, unmatched="drop"),)),
    ]
    assert {lock.fingerprint(spec) for spec in same} == {lock.fingerprint(SPEC)}
    # Pinned: a change of this value makes every lock in the world fail.
    assert lock.fingerprint(SPEC) == "a068adb5b89748b2a5d5242f0d142adcdfc4ac6d6ddc876c9afbf015baa1452b"


@pytest.mark.parametrize(
    "other",
    [
        replace(SPEC, model=replace(ABC, ignore_merges=True)),
        replace(SPEC, model=replace(ABC, semantics="rank", merges=b"")),
        replace(SPEC, model=model("b c", "a b", "ab c", "a a")),
        replace(SPEC, model=model("a b", "b c", "ab c", "a a", first=1)),
        replace(SPEC, splits=()),
        replace(SPEC, splits=(ByteLevel(),)),
        replace(SPEC, splits=(Split(pattern=r"\p{L}+"),)),
        replace(SPEC, splits=(Split(pattern=r"\p{L}+", unmatched="drop"),)),
        replace(SPEC, splits=(Split(pattern=r"\b"),)),
        replace(SPEC, normalizers=(Normalizer(form="NFC"),)),
        replace(SPEC, added_tokens=(replace(END, rstrip=True),)),
        replace(SPEC, added_tokens=(replace(END, id=261),)),
        replace(SPEC, template=AROUND),
        replace(SPEC, template=replace(AROUND, pair=())),
    ],
)
def test_each_thing_that_decides_ids_changes_the_fingerprint(other):
    assert lock.fingerprint(other) != lock.fingerprint(SPEC)


def test_a_fingerprint_survives_saving(tmp_path):
    spec = replace(SPEC, splits=(Split(pattern=vocabularies.PATTERNS["cl100k_base"], unmatched="drop"),))
    save(spec, tmp_path / "out")
    assert lock.fingerprint(formats.read(tmp_path / "out")) == lock.fingerprint(spec)


# Writing


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("out", {"out/tokenizer.json", "out/tokenizer_config.json", "out/tokenizer.lock.json"}),
        ("deep/v1.5", {"deep/v1.5/tokenizer.json", "deep/v1.5/tokenizer_config.json", "deep/v1.5/tokenizer.lock.json"}),
        ("x.json", {"x.json"}),
        ("tokenizer.json", {"tokenizer.json"}),
        ("x.tiktoken", {"x.tiktoken"}),
    ],
)
def test_the_name_decides_what_is_written(tmp_path, name, written):
    assert save(Spec(model=model("a b")), tmp_path / name) == tmp_path / name
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()} == written


def test_a_lock_follows_its_tokenizer_json(tmp_path):
    save(SPEC, tmp_path)
    other = Spec(model=ABC)
    save(other, tmp_path / "tokenizer.json")
    lock.check(tmp_path / lock.NAME, other, codes, UNICODE)
    assert formats.is_locked(tmp_path)
    assert not formats.is_locked(tmp_path / "x.json")


def test_what_is_left_out_is_warned_of(tmp_path):
    with pytest.warns(UserWarning, match="`tiktoken` files hold no special tokens: 1 left out"):
        save(replace(SPEC, splits=(), model=model("a b")), tmp_path / "x.tiktoken")


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "x.json"
    path.write_text("old")

    def fail(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", fail)
    with pytest.raises(StorageError, match="expected a place to write to, found: No space left on device"):
        huggingface.write(SPEC, path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_place_that_cannot_be_written_is_a_storage_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="expected a place to write to"):
        huggingface.write(SPEC, tmp_path / "none" / "x.json")
    with pytest.raises(StorageError, match="expected a folder"):
        save(SPEC, tmp_path / "file")


def test_writing_through_a_link_keeps_the_link(tmp_path):
    (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
    huggingface.write(SPEC, tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert formats.read(tmp_path / "real.json") == SPEC
