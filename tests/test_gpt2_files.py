"""GPT-2's encoder.json and vocab.bpe, vocab.json and merges.txt: read, written to the byte, and refused."""

import json
from dataclasses import replace

import oracle
import pytest
import texts
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

import merganser as mg
from merganser import formats, vocabularies
from merganser.errors import FormatError, StorageError
from merganser.formats import byte_alphabet
from merganser.spec import AddedToken, Normalizer, Template

BYTES = {character: id for id, character in enumerate(byte_alphabet.ALPHABET)}
VOCAB = json.dumps(BYTES | {"Ġt": 256, "Ġth": 257, "<|end|>": 258})
MERGES = "#version: 0.2\nĠ t\nĠt h\n"
PROSE = "\n".join(texts.LANGUAGES.values())


@pytest.fixture(scope="session")
def published(tmp_path_factory):
    """A folder with the two files as OpenAI published them."""
    folder = tmp_path_factory.mktemp("gpt2")
    for name in ("encoder.json", "vocab.bpe"):
        (folder / name).write_bytes(oracle.public_file(name))
    return folder


def write_pair(folder, vocab=VOCAB, merges=MERGES, names=("vocab.json", "merges.txt")):
    for name, text in zip(names, (vocab, merges), strict=True):
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder / names[0], folder / names[1]


def test_gpt2_is_written_to_the_byte(gpt2, published, tmp_path):
    assert gpt2.save(tmp_path / "vocab.bpe") == tmp_path / "vocab.bpe"
    for name in ("encoder.json", "vocab.bpe"):
        assert (tmp_path / name).read_bytes() == (published / name).read_bytes()


def test_gpt2_is_read_and_written_again_to_the_byte(gpt2, published, tmp_path):
    tok = mg.load(published)
    assert tok.encode(PROSE) == gpt2.encode(PROSE)
    assert (tok.special_tokens, tok.n_vocab) == (gpt2.special_tokens, gpt2.n_vocab)
    tok.save(tmp_path / "merges.txt")
    assert (tmp_path / "vocab.json").read_bytes() == (published / "encoder.json").read_bytes()
    assert (tmp_path / "merges.txt").read_bytes() == (published / "vocab.bpe").read_bytes()


def test_tiktoken_takes_the_files_for_its_ranks(gpt2, published):
    from tiktoken.load import data_gym_to_mergeable_bpe_ranks

    ranks = data_gym_to_mergeable_bpe_ranks(str(published / "vocab.bpe"), str(published / "encoder.json"))
    assert ranks == gpt2.mergeable_ranks


@pytest.mark.parametrize("name", ["", "vocab.json", "merges.txt"])
def test_each_file_and_the_folder_stand_for_both(tmp_path, name):
    write_pair(tmp_path)
    tok = mg.load(tmp_path / name)
    assert tok.encode("th the<|end|>", allow_special="all") == [116, 104, 257, 101, 258]
    assert tok.special_tokens == {"<|end|>": 258}


@pytest.mark.parametrize("merges", ["Ġ t\nĠt h\n", "Ġ t\nĠt h", "#version: 0.2 - by hand\r\nĠ t\r\nĠt h\r\n\r\n"])
def test_the_version_line_may_be_missing_and_line_ends_changed(tmp_path, merges):
    paths = write_pair(tmp_path, merges=merges)
    assert mg.Tokenizer.from_files(*paths).encode(" the") == [257, 101]


def test_only_named_tokens_are_special_to_from_files(tmp_path):
    paths = write_pair(tmp_path)
    tok = mg.Tokenizer.from_files(*paths)
    assert tok.special_tokens == {}
    assert tok.decode([258]) == "<|end|>"
    assert mg.Tokenizer.from_files(*paths, ["<|end|>", "<|pad|>"]).special_tokens == {"<|end|>": 258, "<|pad|>": 259}


def test_ids_need_not_follow_the_merges(tmp_path):
    shuffled = {"<s>": 0} | {name: id + 4 for name, id in reversed(BYTES.items())} | {"Ġt": 2, "Ġth": 1, "<é>": 3}
    tok = mg.Tokenizer.from_files(*write_pair(tmp_path, json.dumps(shuffled)), ["<s>", "<é>"])
    assert tok.encode(" the<é><s>", allow_special="all") == [1, 105, 3, 0]
    assert tok.decode([1, 3, 0]) == " th<é><s>"
    assert mg.load(tmp_path).special_tokens == {"<s>": 0, "<é>": 3}


@pytest.mark.parametrize("layout", ["tiktoken", "hf"])
@given(text=st.one_of(st.sampled_from(texts.ADVERSARIAL), st.text(max_size=60)))
def test_hugging_face_reads_what_is_written(layout, text):
    tok, theirs = trained(layout)
    assert theirs.encode(text).ids == tok.encode(text, allow_special="all")


PAIRS = {}


def trained(layout):
    """A tokenizer of ours, and Hugging Face's of its two files."""
    if layout not in PAIRS:
        tok = mg.train(PROSE, vocab_size=900, split="gpt2", special_tokens=["<|end|>"], layout=layout)
        vocab, merges = formats.gpt2.to_texts(tok.spec)
        pairs = [tuple(line.split(" ")) for line in merges.splitlines()[1:]]
        theirs = tokenizers.Tokenizer(tokenizers.models.BPE(json.loads(vocab), pairs))
        theirs.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
        theirs.add_special_tokens(["<|end|>"])
        PAIRS[layout] = tok, theirs
    return PAIRS[layout]


@pytest.mark.parametrize("layout", ["tiktoken", "hf"])
def test_a_trained_tokenizer_comes_back(layout, tmp_path):
    tok, _ = trained(layout)
    tok.save(tmp_path / "merges.txt")
    again = mg.load(tmp_path)
    assert again.encode(PROSE + "<|end|>", allow_special="all") == tok.encode(PROSE + "<|end|>", allow_special="all")
    assert (again.merges, again.special_tokens) == (tok.merges, tok.special_tokens)


def test_a_pattern_other_than_gpt2s_is_said_to_be_left_out(tmp_path):
    tok = mg.train(PROSE, vocab_size=300, split="o200k")
    with pytest.warns(UserWarning, match="hold no split, and readers use GPT-2's pattern: left out"):
        tok.save(tmp_path / "merges.txt")
    assert mg.load(tmp_path, split="o200k").encode(PROSE) == tok.encode(PROSE)


def test_other_things_that_the_files_do_not_hold_are_listed(gpt2, tmp_path):
    flagged = AddedToken(content="<x>", id=50257, special=False)
    spec = replace(gpt2.spec, added_tokens=(flagged,), template=Template(single=()))
    with pytest.warns(UserWarning, match="left out") as caught:
        mg.Tokenizer(spec).save(tmp_path / "merges.txt")
    assert [str(warning.message).partition(": ")[0] for warning in caught] == [
        "GPT-2's files hold no template",
        "GPT-2's files hold no flags of added tokens",
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"normalizers": (Normalizer(form="NFC"),)}, "expected no normalizer, found NFC"),
        (
            {"added_tokens": (AddedToken(content="Ġthe", id=50300),)},
            "of different names, found 'Ġthe' as 262 and 50300",
        ),
        ({"added_tokens": (AddedToken(content="\ud800", id=50300),)}, r"tokens of Unicode text, found '\\ud800'"),
    ],
)
def test_what_the_files_cannot_hold_is_refused(change, message, gpt2, tmp_path):
    with pytest.raises(FormatError, match=message):
        formats.gpt2.write(replace(gpt2.spec, **change), tmp_path / "vocab.json", tmp_path / "merges.txt")
    assert list(tmp_path.iterdir()) == []


def test_a_token_that_is_only_ever_a_whole_piece_is_refused(tmp_path):
    ranks = b"".join(b"%s %d\n" % line for line in oracle_lines([b"abc"]))
    (tmp_path / "x.tiktoken").write_bytes(ranks)
    tok = mg.load(tmp_path / "x.tiktoken", split="gpt2", special_tokens={})
    assert tok.encode("abc") == [256]
    with pytest.raises(FormatError, match="expected a merge that makes each token, found none for b'abc'"):
        tok.save(tmp_path / "merges.txt")


def oracle_lines(tokens):
    """The lines of a .tiktoken file: the bytes, and these tokens."""
    from base64 import b64encode

    return [(b64encode(token), rank) for rank, token in enumerate([*(bytes([b]) for b in range(256)), *tokens])]


@pytest.mark.parametrize("name", ["gpt2", "p50k_base", "cl100k_base"])
def test_merges_of_ranks_make_the_tokenizer_again(name):
    tok = mg.load(name)
    vocab = {id: token for token, id in tok.vocabulary.items()}
    again = mg.Tokenizer.from_merges(vocab, tok.merges, split=mg.Split(pattern=vocabularies.PATTERNS["cl100k_base"]))
    split = mg.Tokenizer(replace(tok.spec, splits=again.spec.splits))
    assert again.encode(PROSE) == split.encode(PROSE)
    assert again.merges == tok.merges


def test_merges_that_ignore_merges_would_change_are_refused():
    vocab = {id: bytes([id]) for id in range(256)} | {256: b"ab", 257: b"bc", 258: b"abc"}
    spec = mg.Tokenizer.from_merges(vocab, [(b"a", b"b"), (b"b", b"c"), (b"a", b"bc")]).spec
    whole = replace(spec, model=replace(spec.model, ignore_merges=True))
    assert mg.Tokenizer(whole).encode("abc") == [258]
    with pytest.raises(FormatError, match="expected those that make each token when it stands alone, found others"):
        formats.gpt2.merges_of(whole.model)
    assert formats.gpt2.merges_of(spec.model)[2] == (b"a", b"bc")


@pytest.mark.parametrize(
    ("vocab", "merges", "message"),
    [
        (VOCAB, "#version: 0.2\nĠ t\nĠt\n", "merges.txt:3: expected two tokens in GPT-2's byte alphabet, found `Ġt`"),
        (VOCAB, "Ġ t\n\nĠt h\n", "merges.txt:2: expected two tokens in GPT-2's byte alphabet, found ``"),
        (VOCAB, "Ġ  t\n", "merges.txt:1: expected two tokens in GPT-2's byte alphabet, found `Ġ  t`"),
        (VOCAB, "Ġt h\n", "merges.txt:1: expected bytes or what earlier merges made, found `Ġt`"),
        (VOCAB, "t h</w>\n", "merges.txt:1: expected bytes or what earlier merges made, found `h</w>`"),
        (VOCAB, "t h\n", "merges.txt: merge 0: expected tokens of the vocabulary, which lacks b'th'"),
        (VOCAB, b"\xff \xff\n", "merges.txt: byte 0: expected UTF-8, found byte 0xFF"),
        (VOCAB, "", "merges.txt: expected merges, two tokens a line, found an empty file"),
        ("[]", MERGES, "vocab.json: $: expected an object, found an array of 0"),
        (json.dumps({"x": 1.5}), MERGES, "vocab.json: $.x: expected an integer from 0 to 4294967295, found 1.5"),
        (json.dumps({"a": 1, "b": 1}), MERGES, "vocab.json: $.b: expected an id of its own, not that of 'a', found 1"),
        (json.dumps({"": 1}), MERGES, 'vocab.json: $[""]: expected tokens of a character or more, found 1'),
        (json.dumps({"a": -1}), MERGES, "vocab.json: $.a: expected an integer from 0 to 4294967295, found -1"),
        ('{"a": 1, "a": 2}', MERGES, 'vocab.json: $: expected each key once, found "a" twice'),
    ],
)
def test_a_broken_file_is_named_with_the_place(tmp_path, vocab, merges, message):
    paths = write_pair(tmp_path, vocab, merges)
    with pytest.raises(FormatError) as caught:
        mg.Tokenizer.from_files(*paths)
    assert str(caught.value).startswith(str(tmp_path / message))


def test_a_missing_file_is_a_storage_error(tmp_path):
    with pytest.raises(StorageError, match=r"merges\.txt: expected a file that can be read, found: No such file"):
        mg.Tokenizer.from_files(tmp_path / "vocab.json", tmp_path / "merges.txt")


def test_a_special_token_with_another_id_is_refused(tmp_path):
    write_pair(tmp_path)
    assert mg.load(tmp_path, special_tokens={"<|end|>": 258}).special_tokens == {"<|end|>": 258}
    with pytest.raises(FormatError, match=r"expected the special token '<\|end\|>' with the id 300, found 258"):
        mg.load(tmp_path, special_tokens={"<|end|>": 300})


@pytest.mark.parametrize(
    ("vocab", "merges", "special_tokens", "message"),
    [
        ({0: b"a", 1: b"b"}, [(b"a", b"b")], None, "merges 0: expected tokens of the vocabulary, which lacks b'ab'"),
        ({0: b"a", 1: b"a"}, [], None, "vocab: expected each token once, found b'a' as 0 and 1"),
        ({-1: b"a"}, [], None, "vocab: expected ids of u32 and tokens of a byte or more, found -1: b'a'"),
        ({0: b""}, [], None, "vocab: expected ids of u32 and tokens of a byte or more, found 0: b''"),
        ({0: b"a"}, [], [""], "special_tokens: expected texts that are not empty, found an empty one"),
    ],
)
def test_from_merges_says_what_is_wrong(vocab, merges, special_tokens, message):
    with pytest.raises(FormatError) as caught:
        mg.Tokenizer.from_merges(vocab, merges, special_tokens)
    assert str(caught.value) == message
