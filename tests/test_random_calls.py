"""Whatever is called with whatever, only what is documented comes out: on odd tokenizers, odd Specs and damaged files.

`SEED=… pytest` repeats a run; a failure names the seed, the call and its arguments.
"""

import copy
import json
import os
import random
import resource
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import texts

import merganser as mg
from merganser.spec import (
    AddedToken,
    ByteLevel,
    BytePairModel,
    Normalizer,
    Spec,
    Template,
    TemplatePart,
    Vocabulary,
    pack,
)

pytestmark = pytest.mark.filterwarnings("ignore")

SEED = int(os.environ.get("SEED") or random.SystemRandom().randrange(1 << 32))
NUM_CALLS = 200_000
BATCH = 20_000

# Exactly these: an `except ValueError` would let a UnicodeEncodeError of the engine through.
DOCUMENTED = {
    mg.FormatError,
    mg.StorageError,
    mg.TextError,
    mg.TokenIdError,
    mg.TrainingError,
    TypeError,
    ValueError,
    LookupError,
    KeyError,
}


# Tokenizers of all kinds.

BYTES = [bytes([byte]) for byte in range(256)]
TOKENS = [b"th", b"the", b" the", "é".encode(), "e\u0301".encode(), b"  ", b"ab", b"abab", "👋".encode()[:3]]
FLAGS = ("special", "normalized", "single_word", "lstrip", "rstrip")


def model(*tokens, **options):
    options = {"semantics": "rank"} | options
    return BytePairModel(vocabulary=Vocabulary.from_tokens([*BYTES, *tokens], options.pop("ids", None)), **options)


def zoo():
    """Small tokenizers with every part that a Spec may have."""
    rng = random.Random(0)
    specs = [
        Spec(model=model(*TOKENS)),
        Spec(model=model(), splits=(mg.Split(pattern=r"\p{L}+", unmatched="error"),)),
        Spec(model=model(*TOKENS), splits=(mg.Split(pattern=r"(?<=a)b|\w+|.", unmatched="drop"), ByteLevel())),
        Spec(model=model(*TOKENS), splits=(ByteLevel(add_prefix_space=True, use_regex=False),)),
        Spec(model=model(*TOKENS, ids=range(0, 53_000, 200), ranks=pack(range(265)))),
        Spec(model=BytePairModel(vocabulary=Vocabulary.from_tokens([b"a", b"b", b"ab"]), semantics="rank")),
        Spec(model=BytePairModel(vocabulary=Vocabulary.from_tokens([]), semantics="merges")),
        Spec(
            model=model(b"ab", b"abc", semantics="merges", merges=pack([97, 98, 256, 99]), ignore_merges=True),
            added_tokens=(AddedToken(content="<s>", id=258),),
            template=Template(single=(TemplatePart(name="<s>", ids=(258,)), TemplatePart(name="A"))),
        ),
    ]
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        contents = rng.sample(["<s>", "é", "e\u0301", "the", "漢", "ﬁ", "<s>x", "\ufffd"], 5)
        flags = [dict.fromkeys(rng.sample(FLAGS, 2), True) for _ in contents]
        added = [AddedToken(content=content, id=300 + at, **flags[at]) for at, content in enumerate(contents)]
        specs.append(Spec(model=model(*TOKENS), normalizers=(Normalizer(form=form),), added_tokens=tuple(added)))
    trained = mg.train(list(texts.LANGUAGES.values())[:9], vocab_size=400, layout="hf", special_tokens=["<s>", "</s>"])
    return [mg.load("gpt2"), mg.load("cl100k_base"), trained, *map(mg.Tokenizer, specs)]


# Arguments of all kinds.


class Hostile:
    """An object whose every answer is the given one, or raises it."""

    def __init__(self, answer):
        self.answer = answer

    def give(self, *_):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    __index__ = __len__ = __iter__ = __getitem__ = __eq__ = __fspath__ = __str__ = give
    __hash__ = object.__hash__


class Clearing(list):
    """A list that is empty after its first number was asked for."""

    def __init__(self):
        super().__init__([Number(self), 1, 2, 3])


class Number:
    def __init__(self, numbers):
        self.numbers = numbers

    def __index__(self):
        self.numbers.clear()
        return 5


ANYTHING = [
    lambda: None, lambda: 0, lambda: -1, lambda: 1, lambda: 1.5, lambda: float("nan"), lambda: True, lambda: 2**31,
    lambda: 2**32, lambda: 2**63, lambda: 2**64, lambda: -(2**70), lambda: 10**400, lambda: "", lambda: "a",
    lambda: "all", lambda: "\ud800", lambda: "\x00", lambda: "no such", lambda: b"", lambda: b"a", lambda: b"\xff",
    lambda: bytearray(b"ab"), lambda: memoryview(b"abcdef")[::2], lambda: memoryview(b"abcdefgh").cast("I"),
    list, dict, set, tuple, object, lambda: [None], lambda: [[]], lambda: {1: 2}, lambda: {"a": "b"}, lambda: {"a"},
    lambda: range(3), lambda: iter([1, 2]), lambda: (n for n in (1, 2)), lambda: ..., lambda: int, lambda: len,
    lambda: np.arange(3), lambda: np.array(["a"]), lambda: np.array(5), lambda: np.zeros((2, 2)), lambda: Path("x"),
    lambda: np.array([1], dtype="M8[s]"), lambda: np.array([b"a"]), lambda: np.zeros(0, "u4"), lambda: np.str_("a"),
    lambda: Hostile(TypeError("mine")), lambda: Hostile(ValueError("mine")), lambda: Hostile(3), lambda: Hostile(None),
    lambda: Hostile("a"), Clearing, lambda: 1j, lambda: slice(3), lambda: frozenset([1]), lambda: np.float32(1),
    lambda: mg.Split(pattern="("),
]  # fmt: skip

ALPHABETS = (
    "ab",
    "the  ",
    "<s></s>",
    " \n\t",
    "éé\u0301e",
    "漢👋🏽\u200d",
    "\x00\ufffd\ufeff",
    "1234",
    "\ud83d\ude00\udc00a",
    "ﬁﬀſK",
)


def a_text(rng):
    alphabet = rng.choice(ALPHABETS)
    length = rng.choice((0, 1, 2, 7, 30, 100)) if rng.random() < 0.998 else 20_000
    text = "".join(rng.choices(alphabet, k=length))
    if rng.random() < 0.2:
        text = text.encode("utf-8", "surrogatepass")
        return rng.choice((bytes, bytearray, memoryview, lambda data: data + b"\xff\xc3"))(text)
    return text


def some_texts(rng):
    found = [a_text(rng) for _ in range(rng.randrange(5))]
    return rng.choice((list, tuple, iter))(found)


def an_id(rng):
    return rng.choice((rng.randrange(300), rng.randrange(300), rng.randrange(60_000), -1, 2**32, True, np.int64(7)))


def some_ids(rng):
    found = [rng.randrange(270) for _ in range(rng.randrange(40))]
    if rng.random() < 0.2:
        found.append(an_id(rng))
    kind = rng.choice((list, tuple, iter, np.array, lambda ids: np.array(ids, dtype="i8")[::-1]))
    return kind(found)


def some_special(rng):
    contents = ["<s>", "<|x|>", "", "a", "\ud800", "a b", "<|endoftext|>", "é"]
    return {rng.choice(contents): rng.choice((300, 301, 70_000, 97, -1, 2**24, "5")) for _ in range(rng.randrange(3))}


def one_of(*choices):
    return lambda rng: rng.choice(choices)


allow = one_of("all", (), ["<s>"], {"<|endoftext|>"}, {"<s>", "</s>"}, ["no such"])
flag = one_of(True, False)
policy = one_of("strict", "replace")
threads = one_of(1, 2, 3)
handler = one_of("strict", "replace", "ignore", "backslashreplace", "surrogateescape", "surrogatepass", "no such")
unknown = one_of("error", "replace", "skip")

ENCODING = {"allow_special": allow, "errors": policy, "surrogates": policy}
DECODING = {"errors": handler, "skip_special_tokens": flag, "unknown_ids": unknown}
CALLS = {
    "encode": ([a_text], ENCODING | {"add_special_tokens": flag, "num_threads": threads}),
    "encode_array": ([a_text], ENCODING | {"dtype": one_of("uint16", "uint32"), "num_threads": threads}),
    "encode_batch": ([some_texts], ENCODING | {"num_threads": one_of(1, 1, 1, 1, 2), "add_special_tokens": flag}),
    "encode_iterable": ([some_texts], {"allow_special": allow}),
    "count": ([a_text], ENCODING),
    "tokens": ([a_text], ENCODING | {"unit": one_of("character", "byte", "utf16")}),
    "pieces": ([a_text], {"allow_special": allow}),
    "decode": ([some_ids], DECODING),
    "decode_bytes": ([some_ids], {"skip_special_tokens": flag, "unknown_ids": unknown}),
    "decode_batch": ([lambda rng: [some_ids(rng) for _ in range(3)]], DECODING),
    "decode_stream": ([some_ids], DECODING),
    "token_to_id": ([a_text], {}),
    "id_to_token": ([an_id], {}),
    "with_special_tokens": ([some_special], {}),
}
WEIGHTS = [24, 8, 1, 6, 6, 8, 6, 18, 8, 5, 8, 4, 4, 0.5]

documents = one_of([], ["ab ab abc"], "text text", b"caf\xc3\xa9", [b"\xff"], ["", "\ud800 a"], ["<s>a<s>b"] * 3)
TRAINING = {
    "split": one_of("o200k", "gpt2", None, mg.Split(pattern="(?<=a)b|."), mg.Split(pattern="a|", unmatched="error")),
    "special_tokens": one_of((), ["<s>"], ["a", "ab", "a"], [""], ["\ud800"], {"<s>": 1}),
    "layout": one_of("tiktoken", "hf"),
    "tie_break": one_of("ids", "first", "lex_max"),
    "min_frequency": one_of(0, 1, 2, -1),
    "max_token_length": one_of(None, 0, 1, 2, 9),
    "never_merge_spaces": flag,
    "num_threads": one_of(None, 1, 2),
    "progress": one_of(None, lambda *_: None, lambda *_: Hostile(ValueError("mine")).give()),
}


def garbled(rng, value):
    """`value`, or now and then anything in its place."""
    return value if rng.random() < 0.9 else rng.choice(ANYTHING)()


def arguments(rng, positional, keywords):
    args = [garbled(rng, make(rng)) for make in positional]
    chosen = [name for name in keywords if rng.random() < 0.4]
    options = {name: garbled(rng, keywords[name](rng)) for name in chosen}
    if isinstance(options.get("errors"), str) and options["errors"] == "\ud800":
        del options["errors"]  # Python itself raises UnicodeEncodeError: `b"".decode(errors="\ud800")`.
    return args, options if rng.random() < 0.99 else options | {"no_such_option": 1}


def random_spec(rng):
    """A small Spec, half of the time with parts that do not fit together."""
    is_broken = rng.random() < 0.5

    def broken(value, *others):
        return rng.choice(others) if is_broken and rng.random() < 0.2 else value

    tokens = [b"a", b"b", *{bytes(rng.choices(b"ab", k=rng.randint(2, 4))) for _ in range(rng.randrange(9))}]
    ids = sorted(rng.sample(range(40), len(tokens)))
    id_by_token = dict(zip(tokens, ids, strict=True))
    pairs = [(left, right) for left in tokens for right in tokens if left + right in id_by_token]
    merges = pack(id_by_token[token] for pair in rng.sample(pairs, rng.randint(0, len(pairs))) for token in pair)
    ranks = pack(rng.sample(range(99), len(tokens)))
    vocabulary = Vocabulary.from_tokens(tokens, ids)
    junk = pack(rng.choices((0, 1, 5, 39, 2**24, 2**32 - 1), k=rng.randrange(9)))
    odd = (junk, junk[:-1], b"", b"ab", None)
    vocabulary = Vocabulary(**{name: broken(value, *odd) for name, value in vars(vocabulary).items()})
    added = [AddedToken(content=broken("ba", "", "\ud800"), id=broken(50, 0, 1, -1, 2**24, 2**40)) for _ in range(2)]
    split = mg.Split(pattern=broken("a+|b", "(", "a*", "\ud800", r"(.)\1"), unmatched=broken("keep", "drop", "no such"))
    return Spec(
        model=BytePairModel(
            vocabulary=vocabulary,
            semantics=broken(rng.choice(("rank", "merges")), "no such", None),
            ranks=rng.choice((b"", broken(ranks, *odd))),
            merges=broken(merges, *odd),
            ignore_merges=broken(rng.random() < 0.5, None, "yes"),
        ),
        splits=rng.choice(((), (split,), (split, split), (ByteLevel(add_prefix_space=True), split))),
        normalizers=rng.choice(((), (Normalizer(form=broken("NFC", "NFX")),))),
        added_tokens=tuple(added[: rng.randrange(2)]),
    )


# Calls.


def make_call(rng, tokenizers):
    """What to call, with what: a name, a function and its arguments."""
    kind = rng.random()
    if kind < 0.004:
        size = rng.choice((255, 256, 257, 258, 270, 2**24 + 1))
        args, options = arguments(rng, [documents], TRAINING)
        return "train", mg.train, args, options | {"vocab_size": garbled(rng, size)}
    if kind < 0.014:
        spec = random_spec(rng)
        return "Tokenizer", lambda spec: mg.Tokenizer(spec).encode("abba", allow_special="all"), [spec], {}
    if kind < 0.02:
        path = rng.choice((*ANYTHING, lambda: "a\0b", lambda: "no/such", lambda: "/", lambda: "y" * 5_000))()
        return "load", mg.load, [path], {"split": garbled(rng, "gpt2"), "special_tokens": garbled(rng, {})}
    (name,) = rng.choices(list(CALLS), WEIGHTS)
    tok = rng.choice(tokenizers if name != "with_special_tokens" else tokenizers[2:])
    args, options = arguments(rng, *CALLS[name])
    method = getattr(tok, name)
    if name == "encode_iterable":
        return name, lambda *args, **options: list(method(*args, **options)), args, options
    if name == "decode_stream":
        pushed = [garbled(rng, an_id(rng)) for _ in range(3)]
        return name, lambda *args, **options: stream(method(*args, **options), pushed), args, options
    return name, method, args, options


def stream(decoder, ids):
    for id in ids:
        try:
            decoder.push(id)
        except (mg.TokenIdError, mg.TextError):
            continue  # The stream goes on.
    return decoder.finish()


@pytest.mark.parametrize("batch", range(NUM_CALLS // BATCH))
def test_calls_with_anything_raise_what_is_documented_and_nothing_else(batch):
    tokenizers, num_raised = zoo(), 0
    for number in range(batch * BATCH, (batch + 1) * BATCH):
        rng = random.Random(f"{SEED} {number}")
        name, function, args, options = make_call(rng, tokenizers)
        try:
            function(*args, **options)
        except BaseException as error:
            num_raised += 1
            if type(error) not in DOCUMENTED and not isinstance(error, TypeError):
                pytest.fail(f"SEED={SEED}, call {number}: {name}(*{args!r}, **{options!r}) raised {error!r}"[:2_000])
    assert BATCH / 20 < num_raised < BATCH * 3 / 4
    assert tokenizers[0].encode("hello world") == [31373, 995]


# Damaged files.

SMALL = Spec(
    model=BytePairModel(
        vocabulary=Vocabulary.from_tokens([b"a", b"b", b"c", b" ", b"ab", b"abc", "é".encode()]),
        semantics="merges",
        merges=pack([0, 1, 4, 2]),
    ),
    splits=(mg.Split(pattern=r" ?[a-c]+|[^a-c]", dialect="oniguruma"),),
    normalizers=(Normalizer(form="NFC"),),
    added_tokens=(AddedToken(content="<s>", id=7), AddedToken(content="c a", id=8, special=False, rstrip=True)),
    template=Template(single=(TemplatePart(name="<s>", ids=(7,)), TemplatePart(name="A"))),
)
VALUES = [
    None, True, False, -1, 0, 1, 2, 1.5, -0.0, 1e308, 2**24 - 1, 2**24, 2**32 - 1, 2**32, 10**30, "", "x", "a", "é",
    "a b", "\ud800", "\x00", "BPE", "NFD", "(", [], {}, [[]], [1, 2], ["a", "b"], [None] * 3, {"type": "x"}, {"id": 5},
    "x" * 5_000,
]  # fmt: skip


def places(value, place=()):
    """Places in a JSON value, as the keys that lead there: all, but of many alike the first two and the last."""
    yield place
    items = list(value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ())
    for key, member in items if len(items) < 20 else [*items[:2], items[-1]]:
        yield from places(member, (*place, key))


def with_wrong_values(data):
    """The JSON text with each wrong value at each place, without each member, with a member more and one twice."""
    root = json.loads(data)
    for place in list(places(root))[1:]:
        changed = copy.deepcopy(root)
        parent = changed
        for key in place[:-1]:
            parent = parent[key]
        old = parent[place[-1]]
        for value in VALUES:
            parent[place[-1]] = value
            yield json.dumps(changed).encode()
        parent[place[-1]] = (
            old | {"more": 1} if isinstance(old, dict) else [*old, old] if isinstance(old, list) else [old]
        )
        yield json.dumps(changed).encode()
        if isinstance(parent, dict):
            parent["REPEATED"] = old
            yield json.dumps(changed).replace('"REPEATED"', json.dumps(place[-1])).encode()
            del parent["REPEATED"]
        del parent[place[-1]]
        yield json.dumps(changed).encode()


def with_faults(data, rng):
    """`data` cut at every place, with bits turned, bytes doubled or lost, lines doubled, lost or swapped."""
    for end in range(len(data)):
        yield data[:end]
    for _ in range(1_500):
        changed = bytearray(data)
        for _ in range(rng.choice((1, 1, 2, 9))):
            changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        yield bytes(changed)
    for at in range(0, len(data), 5):
        yield data[:at] + data[at : at + 1] + data[at:]
        yield data[:at] + data[at + 1 :]
    lines = data.splitlines(keepends=True)
    for at in range(len(lines)):
        other = rng.randrange(len(lines))
        swapped = [*lines]
        swapped[at], swapped[other] = swapped[other], swapped[at]
        yield from map(b"".join, ([*lines[:at], *lines[at:][:1], *lines[at:]], lines[:at] + lines[at + 1 :], swapped))


def with_wrong_lines(data):
    """The lines with another rank, token or field in one place."""
    lines = data.splitlines(keepends=True)
    tails = [
        b"-1",
        b"4294967296",
        b"99999999999999999999",
        b"1.0",
        b"1 2",
        b"",
        b"007",
        b"0x1",
        "١".encode(),
        b"\x0b1",
        b"1\x00",
    ]
    for at, line in enumerate(lines):
        token = line.split()[0]
        heads = [b"!!!", b"=", b"A", token + b"=", token[:-1], b"", "é".encode(), token.lower()]
        for wrong in (*(token + b" " + tail for tail in tails), *(head + b" 300" for head in heads), b"\t", b"<html>"):
            yield b"".join([*lines[:at], wrong + b"\n", *lines[at + 1 :]])


def loads_or_says_why(variants, path, load):
    """Loads what each variant makes of `path`; how many did, and how many there were."""
    num_loaded = number = 0
    for number, data in enumerate(variants, 1):
        where = f"SEED={SEED}, variant {number} of {path.name}: {data[:3_000]!r}"
        path.write_bytes(data)
        start = time.process_time()
        try:
            tok = load()
            num_loaded += 1
            tok.decode(tok.encode("ab c a <s>é", allow_special="all", add_special_tokens=True), errors="strict")
        except (mg.FormatError, mg.StorageError, mg.TextError, mg.TokenIdError):
            continue
        except BaseException as error:
            pytest.fail(f"{where}: {error!r}")
        finally:
            seconds = time.process_time() - start
        assert seconds < 1, where
    return num_loaded, number


def peak_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


@pytest.mark.parametrize("damage", ["values", "faults"])
def test_a_damaged_tokenizer_json_loads_or_is_a_typed_error(tmp_path, damage):
    path, before = mg.Tokenizer(SMALL).save(tmp_path / "small.json"), peak_bytes()
    data = path.read_bytes()
    variants = with_wrong_values(data) if damage == "values" else with_faults(data, random.Random(SEED))
    num_loaded, number = loads_or_says_why(variants, path, lambda: mg.load(path))
    assert number > 1_000
    assert 0 < num_loaded < number / 4
    assert peak_bytes() - before < 1 << 30


@pytest.mark.parametrize("damage", ["values", "faults"])
def test_a_damaged_lock_loads_or_is_a_typed_error(tmp_path, damage):
    folder = mg.Tokenizer(Spec(model=model(*TOKENS))).save(tmp_path / "saved")
    path = folder / "tokenizer.lock.json"
    data = path.read_bytes()
    variants = with_wrong_values(data) if damage == "values" else with_faults(data, random.Random(SEED))
    num_loaded, number = loads_or_says_why(variants, path, lambda: mg.load(folder))
    assert number > 1_000
    assert 0 < num_loaded < number / 4


@pytest.mark.parametrize("damage", ["lines", "faults"])
def test_a_damaged_tiktoken_file_loads_or_is_a_typed_error(tmp_path, damage):
    path, before = tmp_path / "x.tiktoken", peak_bytes()
    mg.Tokenizer(Spec(model=model(*TOKENS[:8]))).save(path)
    data = b"".join(
        path.read_bytes().splitlines(keepends=True)[200:] + path.read_bytes().splitlines(keepends=True)[:60]
    )
    variants = with_wrong_lines(data) if damage == "lines" else with_faults(data, random.Random(SEED))
    options = {"split": "gpt2", "special_tokens": {"<s>": 100_000}}
    num_loaded, number = loads_or_says_why(variants, path, lambda: mg.load(path, **options))
    assert number > 1_000
    assert 0 < num_loaded < number * 3 / 4
    assert peak_bytes() - before < 1 << 30
