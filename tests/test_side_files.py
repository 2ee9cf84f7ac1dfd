"""The files beside a tokenizer.json, read and written as transformers does."""

import json
import warnings

import pytest
import test_huggingface as files

import merganser as mg
from merganser.spec import Surroundings

TEMPLATE = "{% for message in messages %}<{{ message.role }}>{{ message.content }}{% endfor %}"
TEXTS = ["ab a", "[CLS] ab <s>x</s>", "", "Ünïcode ab, 你好 [MASK]"]
VOCAB = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "a",
    "b",
    "##b",
    "##é",
    "é",
    "e",
    ",",
    "你",
    "##好",
    "A",
    "unicode",
]


@pytest.fixture
def automatic(monkeypatch):
    """`AutoTokenizer.from_pretrained`, offline."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    from transformers import AutoTokenizer

    def load(folder):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return AutoTokenizer.from_pretrained(folder)

    return load


def folder_of(path, config, root=None, **others):
    """A folder with a tokenizer.json and the files of these names."""
    (path / "tokenizer.json").write_text(json.dumps(files.json_of() if root is None else root))
    (path / "tokenizer_config.json").write_text(json.dumps(config))
    for name, value in others.items():
        (path / f"{name}.json").write_text(json.dumps(value))
    return path


def token(content, **flags):
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True} | flags
    return {"content": content, **flags}


def test_a_saved_folder_loads_in_transformers_with_ids_roles_and_template(tmp_path, automatic):
    config = {
        "bos_token": "<s>",
        "eos_token": token("</s>", lstrip=True) | {"__type": "AddedToken"},
        "pad_token": "[UNK]",
        "unk_token": None,
        "additional_special_tokens": ["<x>"],
        "model_max_length": 77,
        "padding_side": "left",
        "truncation_side": "left",
        "chat_template": TEMPLATE,
        "model_input_names": ["input_ids"],
        "added_tokens_decoder": {"7": token("<s>"), "8": token("</s>", lstrip=True), "9": token("new", special=False)},
    }
    tok = mg.load(folder_of(tmp_path, config))
    assert tok.spec.surroundings == Surroundings(
        roles=(("bos_token", "<s>"), ("eos_token", "</s>"), ("pad_token", "[UNK]")),
        extra_special_tokens=("<x>",),
        max_length=77,
        chat_templates=(("default", TEMPLATE),),
        padding_side="left",
        truncation_side="left",
        model_input_names=("input_ids",),
    )
    tok.save(tmp_path / "saved")
    assert mg.load(tmp_path / "saved").spec == tok.spec
    first, again = automatic(tmp_path), automatic(tmp_path / "saved")
    for text in TEXTS:
        expected = tok.encode(text, allow_special="all", add_special_tokens=True)
        assert first(text).input_ids == again(text).input_ids == expected
    for name in ("bos_token", "eos_token", "pad_token", "unk_token", "chat_template", "model_max_length"):
        assert getattr(again, name) == getattr(first, name)
    assert (again.padding_side, again.truncation_side, again.model_input_names) == ("left", "left", ["input_ids"])
    assert again.all_special_tokens == first.all_special_tokens


def test_added_tokens_get_the_ids_that_transformers_gives(tmp_path, automatic):
    config = {"eos_token": "</s>", "mask_token": "[MASK]", "cls_token": "[CLS]", "image_token": "<img>"}
    tok = mg.load(folder_of(tmp_path, config))
    theirs = automatic(tmp_path)
    assert tok.special_tokens == {"[CLS]": 1, "</s>": 7, "[MASK]": 8, "<img>": 9}
    assert {name: theirs.convert_tokens_to_ids(name) for name in tok.special_tokens} == tok.special_tokens
    for text in TEXTS:
        assert tok.encode(text, allow_special="all", add_special_tokens=True) == theirs(text).input_ids


def test_old_side_files_count_where_the_configuration_has_no_tokens(tmp_path, automatic):
    old = {"eos_token": token("</s>", rstrip=True), "unk_token": "[UNK]"}
    others = {"special_tokens_map": old, "added_tokens": {"</s>": 7, "<extra>": 8}}
    tok = mg.load(folder_of(tmp_path, {"model_max_length": 1e30}, **others))
    theirs = automatic(tmp_path)
    assert dict(tok.spec.surroundings.roles) == {"eos_token": "</s>", "unk_token": "[UNK]"}
    assert tok.spec.surroundings.max_length is None
    for text in [*TEXTS, "a<extra>b</s> b"]:
        assert tok.encode(text, allow_special="all", add_special_tokens=True) == theirs(text).input_ids


def test_an_id_that_transformers_does_not_give_is_warned_of(tmp_path):
    folder = folder_of(tmp_path, {"added_tokens_decoder": {"50": token("<s>")}})
    with pytest.warns(UserWarning, match="the token '<s>' gets the id 7, as in transformers, not 50"):
        assert mg.load(folder).special_tokens == {"<s>": 7}


def test_chat_templates_of_several_names_come_back(tmp_path, automatic):
    templates = {"default": TEMPLATE, "tool_use": TEMPLATE + " tools"}
    entries = [{"name": name, "template": template} for name, template in templates.items()]
    tok = mg.load(folder_of(tmp_path, {"chat_template": entries}))
    tok.save(tmp_path / "saved")
    assert dict(mg.load(tmp_path / "saved").spec.surroundings.chat_templates) == templates
    assert automatic(tmp_path / "saved").chat_template == templates
    (tmp_path / "chat_template.jinja").write_text("from the file")
    assert mg.load(tmp_path).spec.surroundings.chat_templates == (("default", "from the file"),)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ([], "tokenizer_config.json: $: expected an object, found an array of 0"),
        ({"added_tokens_decoder": {"x": {}}}, "$.added_tokens_decoder.x: expected an id for a key, found 'x'"),
        ({"added_tokens_decoder": {"7": {"content": 5}}}, '["7"].content: expected a string, found 5'),
        ({"eos_token": {"lstrip": True}}, "$.eos_token.content: expected a string, found null"),
        ({"model_max_length": "long"}, '$.model_max_length: expected a number of ids, found "long"'),
        ({"padding_side": "up"}, '$.padding_side: expected "left" or "right", found "up"'),
        ({"chat_template": [{"name": "a"}]}, '$.chat_template[0]: expected the key "template", found none'),
    ],
)
def test_what_is_wrong_in_a_side_file_is_said_with_its_place(tmp_path, config, message):
    with pytest.raises(mg.FormatError) as caught:
        mg.load(folder_of(tmp_path, config))
    assert message in str(caught.value)


# BERT's vocab.txt


@pytest.mark.filterwarnings("ignore:.*has two lines")
@pytest.mark.parametrize(
    "config",
    [
        {"tokenizer_class": "BertTokenizer"},
        {"tokenizer_class": "BertTokenizer", "do_lower_case": False},
        {"tokenizer_class": "BertTokenizer", "do_lower_case": False, "strip_accents": True},
        {"tokenizer_class": "BertTokenizer", "tokenize_chinese_chars": False, "strip_accents": False},
        {"tokenizer_class": "BertTokenizer", "unk_token": "[MASK]", "model_max_length": 9, "pad_token": "<pad>"},
    ],
)
def test_a_vocab_txt_is_what_transformers_makes_of_it(tmp_path, automatic, config):
    repeated = [] if "pad_token" in config else ["é"]
    (tmp_path / "vocab.txt").write_text("\n".join([*VOCAB, *repeated]) + "\n")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    tok, theirs = mg.load(tmp_path), automatic(tmp_path)
    tok.save(tmp_path / "saved")
    again = automatic(tmp_path / "saved")
    for text in TEXTS:
        expected = theirs(text).input_ids
        assert tok.encode(text, allow_special="all", add_special_tokens=True) == again(text).input_ids == expected
        assert tok.decode(expected) == theirs.decode(expected)
    for name in ("unk_token", "sep_token", "pad_token", "cls_token", "mask_token", "model_max_length"):
        assert getattr(again, name) == getattr(theirs, name)
    assert tok.special_tokens == {name: theirs.convert_tokens_to_ids(name) for name in tok.special_tokens}


def test_a_vocab_txt_is_known_by_what_is_in_it(tmp_path):
    (tmp_path / "bert.txt").write_text("\n".join(VOCAB))
    assert mg.load(tmp_path / "bert.txt").encode("A b") == [5, 6]


@pytest.mark.filterwarnings("ignore:.*has two lines")
@pytest.mark.parametrize(
    ("config", "vocab", "message"),
    [
        ({"tokenizer_class": "MPNetTokenizer"}, VOCAB, "$.tokenizer_class: expected a class whose vocab.txt is BERT's"),
        ({}, ["[UNK]", "[CLS]", "a"], "vocab.txt: expected the token '[SEP]', found no line with it"),
        ({"pad_token": "<pad>"}, [*VOCAB, "é"], "added tokens: expected a free id for '<pad>', found 16, which"),
        ({"do_lower_case": "yes"}, VOCAB, '$.do_lower_case: expected true or false, found "yes"'),
    ],
)
def test_another_vocab_txt_is_refused(tmp_path, config, vocab, message):
    (tmp_path / "vocab.txt").write_text("\n".join(vocab))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    with pytest.raises(mg.FormatError) as caught:
        mg.load(tmp_path)
    assert message in str(caught.value)
