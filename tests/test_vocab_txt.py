"""vocab.txt, whose ids are those of transformers' `BertTokenizerLegacy`."""

import json
import unicodedata
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

import merganser as mg

OPTIONS = [
    {},
    {"do_lower_case": False},
    {"strip_accents": False},
    {"do_lower_case": False, "strip_accents": True},
    {"do_lower_case": False, "tokenize_chinese_chars": False},
]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
# All of them were known to Unicode 8, whose tables tokenizers has.
RANGES = [
    ("\0", "ȯ"),
    ("\u0300", "\u0377"),
    ("ͺ", "ԯ"),
    ("\u0591", "ת"),
    ("\u0620", "ۿ"),
    ("ऀ", "৺"),
    ("ก", "๛"),
    ("ᄀ", "ᇿ"),
    ("Ḁ", "῾"),
    ("\u2000", "\u2064"),
    ("Å", "Å"),
    ("Ⅰ", "ⅿ"),
    ("Ⓐ", "ⓩ"),
    ("、", "ヿ"),
    ("一", "亏"),
    ("가", "갿"),
    ("豈", "兩"),
    ("！", "～"),
    ("\U0001d15e", "\U0001d164"),
]
CHARACTERS = [
    character
    for first, last in RANGES
    for character in map(chr, range(ord(first), ord(last) + 1))
    if unicodedata.category(character) != "Cn"
]
# What a final sigma and a normal form depend on comes more often.
TEXTS = st.text(
    st.one_of(st.sampled_from(CHARACTERS), st.sampled_from("ΣΣσςΑα.'’: \u0301\u0308\u09bc-ªʰ\u00ad\0İßय字"))
)
WORDS = ["ΟΔΟΣ", "ΟΔΟΣ. Σ", "Ο.Σ.Ε.", "Ο.Σ.", "'Σ'", "ΑΣ'Α", "ΑΣ’", "ΌΣ", "হয়", "য়", "\u064e\u0651", "e\u0301", "豈"]


@pytest.fixture(scope="module", params=OPTIONS, ids=str)
def pair(request, tmp_path_factory):
    """Ours and the original over a vocabulary that knows every character, so that no `[UNK]` hides a difference."""
    from transformers.models.bert.tokenization_bert_legacy import BertTokenizerLegacy

    folder = tmp_path_factory.mktemp("vocab")
    known = dict.fromkeys(
        part
        for character in CHARACTERS
        for cased in (character, character.lower(), "ς")
        for form in ("NFC", "NFD")
        for part in unicodedata.normalize(form, cased)
        if not part.isspace()
    )
    lines = [*SPECIAL, *known, *(f"##{part}" for part in known)]
    (folder / "vocab.txt").write_text("\n".join(lines), encoding="utf-8", newline="\n")
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer", **request.param}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        original = BertTokenizerLegacy(str(folder / "vocab.txt"), **request.param)
    return mg.load(folder), lambda text: original.convert_tokens_to_ids(original.tokenize(text)), folder


@pytest.mark.parametrize("text", WORDS)
def test_ids_are_the_originals_where_case_and_normal_form_matter(pair, text):
    mine, original, _ = pair
    for around in (text, f"a {text} b", f"x{text}, {text}"):
        assert mine.encode(around, allow_special="all") == original(around)


@given(text=TEXTS)
def test_ids_are_the_originals(pair, text):
    mine, original, _ = pair
    assert mine.encode(text, allow_special="all") == original(text)


def test_the_parts_of_a_long_text_are_the_originals(pair):
    mine, original, _ = pair
    text = " ".join([*WORDS, *(chr(ord("a") + n % 26) * (n % 9) for n in range(3000))] * 2)
    assert mine.encode(text, allow_special="all") == original(text)
    assert mine.encode(text, allow_special="all", num_threads=2) == original(text)


def test_the_fast_path_serves_it_and_the_saved_file(pair, tmp_path):
    mine, _, _ = pair
    mine.save(tmp_path)
    assert "linear" in mine.certificate()["model"]
    assert "linear" in mg.load(tmp_path).certificate()["model"]


def test_the_saved_file_gives_tokenizers_the_same_ids(pair, tmp_path):
    import tokenizers

    mine, _, _ = pair
    mine.save(tmp_path)
    saved = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for text in WORDS:
        assert saved.encode(text, add_special_tokens=False).ids == mine.encode(text, allow_special="all")


@pytest.mark.parametrize(
    ("text", "words", "originals"),
    [
        ("a\U0002b820b", ["[UNK]"], ["a", "[UNK]", "b"]),
        ("a\u0378b", ["[UNK]"], ["a", "##b"]),
        ("a\u08e2b", ["[UNK]"], ["a", "##b"]),
        ("a\u2e43b", ["[UNK]"], ["a", "[UNK]", "b"]),
        ("a\u166db", ["a", "[UNK]", "b"], ["[UNK]"]),
        ("ab [MA\0SK]", ["a", "##b", "[UNK]", "[UNK]", "[UNK]"], ["a", "##b", "[MASK]"]),
        ("Α....Σ", ["α", *"....", "σ"], ["α", *"....", "ς"]),
    ],
)
def test_these_differ_as_the_docs_say(tmp_path, text, words, originals):
    from transformers.models.bert.tokenization_bert_legacy import BertTokenizerLegacy

    lines = [*SPECIAL, *"ab.ασς", "##b"]
    (tmp_path / "vocab.txt").write_text("\n".join(lines), encoding="utf-8", newline="\n")
    original = BertTokenizerLegacy(str(tmp_path / "vocab.txt"))
    assert [lines[id] for id in mg.load(tmp_path / "vocab.txt").encode(text, allow_special="all")] == words
    assert original.tokenize(text) == originals
