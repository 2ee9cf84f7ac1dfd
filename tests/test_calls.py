"""Nothing panics: 200,000 random calls and a thousand damaged files give results or the errors that are promised."""

import json
import random
import warnings

import numpy as np
import pytest
import texts

import merganser as mg
from merganser import errors

PROMISED = (mg.MerganserError, TypeError, ValueError, OverflowError)
NUM_CALLS = 200_000

TEXTS = [
    *texts.ADVERSARIAL[::40],
    *texts.LANGUAGES.values(),
    "<|endoftext|>",
    "",
    "\ud800",
    b"ab\xff",
    b"",
    None,
    3,
    [1],
]
IDS = [
    [], [0], [50256], [-1], [2**32], [2**80], [True], [1.5], ["1"], "12", b"12", None, 7, (1, 2), range(99), iter([1]),
    np.arange(9), np.array([-1]), np.array([[1, 2]]), np.array([1.0]), np.arange(9)[::-2], [np.uint8(3)], [None],
]  # fmt: skip
ALLOW = ["all", (), {"<|endoftext|>"}, {"<|no|>"}, "none", [""], None, 3]
POLICIES = ["strict", "replace", "ignore", "no such", None]
SPECIALS = [{}, {"<|x|>": 60_000}, {"": 1}, {"<|x|>": -1}, {"<|x|>": 1}, {"a": 2**40}, {"<|x|>": "1"}, {1: 1}, None]


def call(rng, tok):
    """One call of the API with arguments that may be of any kind."""
    text, ids, allow, policy = (rng.choice(choices) for choices in (TEXTS, IDS, ALLOW, POLICIES))
    options = {"allow_special": allow} if rng.random() < 0.3 else {}
    options |= {"errors": policy} if rng.random() < 0.2 else {}
    options |= {"surrogates": policy} if rng.random() < 0.2 else {}
    decoding = {"unknown_ids": rng.choice(["error", "replace", "skip", "no such", None])} if rng.random() < 0.5 else {}
    match rng.randrange(13):
        case 0 | 1 | 2:
            tok.encode(text, **options, add_special_tokens=rng.random() < 0.5, num_threads=rng.choice([1, 1, 2, 0, -1]))
        case 3:
            tok.encode_array(text, **options, dtype=rng.choice(["uint32", "uint16", "int8", None]))
        case 4:
            tok.encode_batch(rng.choices(TEXTS, k=2), **options, num_threads=rng.choice([1, 2, 0]))
        case 5:
            tok.count(text, **options)
        case 6:
            tok.tokens(text, **options, unit=rng.choice(["byte", "character", "utf16", "word"]))
        case 7:
            tok.pieces(text)
        case 8 | 9:
            tok.decode(ids, **decoding, errors=rng.choice(POLICIES[:3]), skip_special_tokens=rng.random() < 0.5)
        case 10:
            stream = tok.decode_stream(ids, **decoding)
            stream.push(rng.choice([1, -1, 2**40, None, "a"]))
            stream.finish()
        case 11:
            tok.token_to_id(text)
            tok.id_to_token(rng.choice([0, 50256, -1, 2**70, None]))
        case 12:
            if rng.random() < 0.02:
                tok.with_special_tokens(rng.choice(SPECIALS))
            else:
                list(tok.encode_iterable(rng.choice([["a", " b"], [text], text, None])))


def test_random_calls_raise_what_is_promised():
    seed = random.SystemRandom().randrange(1 << 32)
    rng = random.Random(seed)
    tok = mg.load("gpt2")
    num_raised = 0
    for number in range(NUM_CALLS):
        try:
            call(rng, tok)
        except errors.InternalError as error:
            pytest.fail(f"seed {seed}, call {number}: {error}")
        except PROMISED:
            num_raised += 1
        except BaseException as error:
            pytest.fail(f"seed {seed}, call {number}: {error!r}")
    assert NUM_CALLS / 10 < num_raised < NUM_CALLS * 9 / 10
    assert tok.encode("hello world") == [31373, 995]


@pytest.mark.filterwarnings("ignore")
def test_random_trainings_raise_what_is_promised():
    rng = random.Random(5)
    for _ in range(2_000):
        documents = rng.choice(
            [["ab ab abc"], "text", b"bytes \xc3\xa9", [b"\xff"], [None], None, 5, [], ["", ""], ["\ud800"]]
        )
        options = {
            "vocab_size": rng.choice([256, 257, 260, 300, 255, 0, -1, 2**40]),
            "split": rng.choice(["o200k", "gpt2", None, "no such", mg.Split(pattern="("), mg.Split(pattern="a|"), 3]),
            "special_tokens": rng.choice([(), ["<|x|>"], ["a", "a"], [""], "ab", [1]]),
            "layout": rng.choice(["tiktoken", "hf", "no such"]),
            "tie_break": rng.choice(["ids", "first", "lex_max", "no such"]),
            "min_frequency": rng.choice([0, 1, 2, -1, 2**70]),
            "max_token_length": rng.choice([None, 1, 2, 0, -1]),
            "num_threads": rng.choice([None, 1, 2, 0, -1]),
        }
        try:
            mg.train(documents, **options)
        except errors.InternalError as error:
            pytest.fail(f"{documents!r} {options}: {error}")
        except PROMISED:
            pass


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The bytes of a tokenizer.json, its lock and a `.tiktoken`."""
    folder = tmp_path_factory.mktemp("saved")
    tok = mg.train(list(texts.LANGUAGES.values())[:5], vocab_size=280, special_tokens=["<|end|>"])
    tok.save(folder / "whole")
    with warnings.catch_warnings(action="ignore"):
        tok.save(folder / "x.tiktoken")
    files = [folder / "whole" / "tokenizer.json", folder / "whole" / "tokenizer.lock.json", folder / "x.tiktoken"]
    return {file.name: file.read_bytes() for file in files}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer.lock.json", "x.tiktoken"])
def test_damaged_files_load_or_say_where(saved, tmp_path, name):
    rng = random.Random(6)
    for other, data in saved.items():
        (tmp_path / other).write_bytes(data)
    refused = []
    for number in range(400):
        (tmp_path / name).write_bytes(damaged(saved[name], rng))
        try:
            if name == "x.tiktoken":
                mg.load(tmp_path / name, split="gpt2", special_tokens={}).encode("text <|end|>")
            else:
                mg.load(tmp_path).encode("text <|end|>", allow_special="all")
        except errors.InternalError as error:
            pytest.fail(f"{name}, damage {number}: {error}")
        except mg.MerganserError as error:
            refused.append(error)
    assert len(refused) > 100
    assert all(str(tmp_path) in str(error) or error.hint for error in refused)


def damaged(data, rng):
    """`data` cut, with bytes changed, lines doubled, or a JSON value of another kind."""
    kind, at = rng.randrange(5), rng.randrange(len(data))
    if kind == 0:
        return data[:at]
    if kind == 1:
        return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
    if kind == 2:
        return data + data[at : at + 20]
    if kind == 3 or not data.startswith(b"{"):
        lines = data.splitlines(keepends=True)
        lines.insert(rng.randrange(len(lines)), rng.choice(lines))
        return b"".join(lines)
    root = json.loads(data)
    node, key = rng.choice(list(places(root)))
    node[key] = rng.choice([None, -1, 1.5, 2**40, "", "x", [], {}, True, [[[]]], {"type": "No"}])
    return json.dumps(root).encode()


def places(node):
    """Every value of a JSON tree, as its parent and key."""
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, child in list(children)[:60]:
        yield node, key
        yield from places(child)
