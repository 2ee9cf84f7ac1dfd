"""Random tokenizer.json files over every component, option and order, and what `tokenizers` and merganser make of them.

`random_json` follows the table of components, so that one that is added there is tried here.
"""

from __future__ import annotations

import json
import random
import struct
from base64 import b64encode
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import tokenizers

import merganser as mg
from merganser.formats import byte_alphabet, huggingface, strict_json
from merganser.formats.huggingface.table import COMPONENTS, PLACES, Option
from merganser.formats.huggingface.writing import to_json
from merganser.spec import Spec

Json = dict[str, Any]

CHARACTERS = [
    *"abcdeABCÉé'.,!-_#<>[]/0123 ½²",
    " ",
    " ",
    "\t",
    "\n",
    "\u00a0",
    "\u3000",
    "▁",
    "Ġ",
    "Ã",
    "ß",
    "İ",
    "ǰ",
    "ﬁ",
]
CHARACTERS += [
    *"жЯαΣςشآنहि한글ㄱかガ漢字，。",
    "e\u0301",
    "a\u0308\u0323",
    "\u0301",
    "\u200d",
    "\u200b",
    "\x00",
    "\x1f",
    "\ufffd",
]
CHARACTERS += [
    "👍🏽",
    "👩‍👧",
    "🇫🇷",
    "Ａ",
    "①",
    "\u1e9b\u0323",
    "\u0e33",
    "\U0001d400",
    "\u2028",
    "\u00ad",
    "٣",
    "௧",
    "\U00020000",
]
WORDS = [
    "the",
    "token",
    "don't",
    "WE'LL",
    " two",
    "café",
    "12345",
    "a b",
    "<0x41>",
    "##ing",
    "▁a",
    "你好",
    "...",
    "</w>",
]
PATTERNS = [
    r"\s+",
    r"\p{L}+",
    r"\d",
    r"[0-9]{1,3}",
    r"\p{N}{1,2}+",
    r" {2,}",
    r"[^\s\p{L}]+",
    r"a|b+",
    r"[一-龥ぁ-ゟ]+",
    r"(?i:'s|'t|'ll)| ?\p{L}+| ?\p{N}+|\s+(?!\S)|\s+",
    r"\p{M}",
    r"[a-cé]$",
    r"^.",
    r"\s?[\p{P}\p{S}]+",
    r"(?<=a).",
    r"(?<=\p{L}[ab])[^\n]",
    r"e\x{301}?",
]
STRINGS = ["", "▁", " ", "##", "x", "ab", "</w>", "<", "é", "_", "e\u0301", "  "]
CONTENTS = [
    "<s>",
    "</s>",
    "[MASK]",
    "[UNK]",
    "ab",
    " x",
    "x ",
    "é",
    "A",
    "<a b>",
    "e\u0301",
    "Ab",
    "12",
    "a",
    "▁",
    "漢",
    "<0x41>",
]


def random_json(rng: random.Random) -> Json:
    """A tokenizer.json that may stand for anything; `tokenizers` does not take each."""
    vocab, model = random_model(rng)
    root: Json = {"version": "1.0", "truncation": None, "padding": None}
    contents = rng.sample(CONTENTS, rng.choice([0, 0, 1, 2, 4]))
    new = [content for content in contents if content not in vocab]
    ids = {token: id for id, token in enumerate([*vocab, *new])}
    root["added_tokens"] = [_added(rng, content, ids[content]) for content in contents]
    for place in PLACES:
        root[place] = None if rng.random() < 0.15 else random_component(rng, place, 0)
    root["model"] = model
    return root


def _added(rng: random.Random, content: str, id: int) -> Json:
    flags = {flag: rng.random() < 0.3 for flag in ("single_word", "lstrip", "rstrip", "normalized")}
    return {"id": id, "content": content, **flags, "special": rng.random() < 0.5}


# Components


def random_component(rng: random.Random, place: str, depth: int) -> Json:
    """A component of `place`, its options chosen by their kinds."""
    types = COMPONENTS[place]
    kind = rng.choice([kind for kind in types if kind != "Sequence" or depth < 2])
    component: Json = {"type": kind}
    for option in types[kind]:
        component[option.name] = _random_value(rng, option, place, depth)
    if kind == "TemplateProcessing":
        names = {
            part["SpecialToken"]["id"]
            for key in ("single", "pair")
            for part in component[key]
            if len(part) and "SpecialToken" in part
        }
        component["special_tokens"] = {name: _special(rng, name) for name in sorted(names)}
    return component


def _random_value(rng: random.Random, option: Option, place: str, depth: int) -> Any:
    if isinstance(option.kind, tuple):
        return rng.choice(option.kind)
    match option.kind:
        case "boolean":
            return rng.random() < 0.5
        case "boolean or null":
            return rng.choice([None, True, False])
        case "string":
            return rng.choice(STRINGS)
        case "character":
            return rng.choice("▁ _a-é漢")
        case "count":
            return rng.choice([0, 0, 1, 2])
        case "count from 1":
            return rng.randint(1, 6)
        case "pattern":
            if rng.random() < 0.4:
                return {"String": rng.choice([text for text in STRINGS if text])}
            return {"Regex": rng.choice(PATTERNS)}
        case "charsmap":
            return charsmap()
        case "token and id":
            return [rng.choice(["[CLS]", "[SEP]"]), rng.randrange(4)]
        case "template":
            return _template(rng, "A" if option.name == "single" else "AB")
        case "steps":
            return [random_component(rng, place, depth + 1) for _ in range(rng.choice([0, 1, 2, 2, 3]))]
        case _:
            raise AssertionError(option.kind)


def _template(rng: random.Random, sequences: str) -> list[Json]:
    """Each sequence once, in any order, and special tokens around them."""
    parts: list[Json] = [{"Sequence": {"id": name, "type_id": rng.randrange(3)}} for name in sequences]
    names = rng.choices(["[CLS]", "[SEP]"], k=rng.choice([0, 1, 2, 2, 3]))
    parts += [{"SpecialToken": {"id": name, "type_id": rng.randrange(3)}} for name in names]
    rng.shuffle(parts)
    return parts


def _special(rng: random.Random, name: str) -> Json:
    ids = [rng.randrange(4) for _ in range(rng.choice([1, 1, 2]))]
    return {"id": name, "ids": ids, "tokens": [name] * len(ids)}


@cache
def charsmap() -> str:
    """A small charsmap as SentencePiece compiles it: a trie of bytes, each node in a block of 256 units of its own."""
    texts = {
        "ﬁ": "fi",
        "Ａ": "A",
        "½": "1⁄2",
        "\u00a0": " ",
        "\t": " ",
        "e\u0301": "é",
        "\u200b": "",
        "①": "1",
        "\u1e9b\u0323": "ṩ",
    }
    blob, places = b"", {}
    for text, mapped in texts.items():
        places[text.encode()] = len(blob)
        blob += mapped.encode() + b"\0"
    units: dict[int, int] = {}
    blocks = [0]

    def place(at: int, prefix: bytes) -> None:
        base = 256 * len(blocks)
        blocks.append(base)
        label = prefix[-1] if prefix else 0
        units[at] = (at ^ base) << 10 | label | (0x100 if prefix in places else 0)
        if prefix in places:
            units[base] = 1 << 31 | places[prefix]
        for byte in sorted(
            {text[len(prefix)] for text in places if text.startswith(prefix) and len(text) > len(prefix)}
        ):
            place(base ^ byte, prefix + bytes([byte]))

    place(0, b"")
    trie = struct.pack(f"<{256 * len(blocks)}I", *(units.get(at, 0) for at in range(256 * len(blocks))))
    return b64encode(struct.pack("<I", len(trie)) + trie + blob).decode()


# Models


def random_model(rng: random.Random) -> tuple[list[str], Json]:
    """The tokens in order of id, and the model."""
    kind = rng.choice(["BPE", "BPE", "Unigram", "WordPiece", "WordLevel"])
    alphabet = [character for text in CHARACTERS for character in text]
    if rng.random() < 0.4:
        alphabet = [*byte_alphabet.ALPHABET]
    singles = list(dict.fromkeys(rng.sample(alphabet, int(len(alphabet) * rng.choice([0.6, 0.9, 1])))))
    special = rng.sample(["[UNK]", "[CLS]", "[SEP]", "<s>"], rng.randint(1, 4))
    special += [f"<0x{byte:02X}>" for byte in range(256) if rng.random() < 0.9] if rng.random() < 0.25 else []
    if kind == "BPE":
        return _bpe(rng, list(dict.fromkeys([*special, *singles])))
    prefix = rng.choice(["##", "##", "", "▁"])
    words = ["".join(rng.choices(singles, k=rng.randint(1, 4))) for _ in range(60)]
    words += [word for word in [*WORDS, *CHARACTERS, *CONTENTS] if rng.random() < 0.5]
    words += [prefix + word for word in [*words, *singles] if kind == "WordPiece" and rng.random() < 0.5]
    vocab = list(dict.fromkeys([*special, *singles, *words]))
    ids = {token: id for id, token in enumerate(vocab)}
    if kind == "WordLevel":
        return vocab, {"type": kind, "vocab": ids, "unk_token": rng.choice([special[0], special[0], "[no]"])}
    if kind == "WordPiece":
        options = {"continuing_subword_prefix": prefix, "max_input_chars_per_word": rng.choice([100, 100, 5, 1])}
        return vocab, {"type": kind, "unk_token": rng.choice([special[0], "[UNK]"]), **options, "vocab": ids}
    # Few distinct scores, so that sums tie.
    scores = [[token, rng.choice([-1.0, -2.0, -2.5, -4.0, round(rng.uniform(-9, 0), 2)])] for token in vocab]
    unk_id = None if rng.random() < 0.1 else 0
    return vocab, {"type": kind, "unk_id": unk_id, "vocab": scores, "byte_fallback": rng.random() < 0.4}


def _bpe(rng: random.Random, vocab: list[str]) -> tuple[list[str], Json]:
    prefix = rng.choice([None, None, None, "", "##"])
    suffix = rng.choice([None, None, None, "", "</w>"])
    if prefix:
        vocab += [prefix + token for token in vocab if len(token) == 1 and rng.random() < 0.8]
    if suffix:
        vocab += [token + suffix for token in vocab if len(token) == 1 and rng.random() < 0.8]
    merges: list[list[str]] = []
    wanted = [character for word in WORDS for character in word]
    usual = [token for token in vocab if token in wanted or (suffix and token.removesuffix(suffix) in wanted)]
    known = dict.fromkeys(vocab)
    for _ in range(rng.choice([5, 40, 150])):
        left, right = rng.choice(usual or vocab), rng.choice(usual or vocab)
        if prefix and len(right.encode()[: len(prefix)].decode(errors="ignore")) != len(prefix):
            continue
        joined = left + (right.encode()[len(prefix) :].decode(errors="ignore") if prefix else right)
        if joined and [left, right] not in merges and len(joined) < 12:
            merges.append([left, right])
            if joined not in known:
                known[joined] = None
                usual.append(joined)
    vocab = list(known)
    options = {
        "dropout": rng.choice([None, 0.0]),
        "unk_token": rng.choice([None, None, vocab[0], vocab[0], "[no]" if rng.random() < 0.2 else None]),
        "continuing_subword_prefix": prefix,
        "end_of_word_suffix": suffix,
        "fuse_unk": rng.random() < 0.5,
        "byte_fallback": rng.random() < 0.3,
        "ignore_merges": rng.random() < 0.3,
    }
    return vocab, {"type": "BPE", **options, "vocab": {token: id for id, token in enumerate(vocab)}, "merges": merges}


def random_text(rng: random.Random) -> str:
    """Words, characters and added tokens end to end."""
    pieces = rng.choices([*CHARACTERS, *WORDS, *CONTENTS, " "], k=rng.choice([1, 3, 8, 20]))
    return "".join(piece if rng.random() < 0.7 else f" {piece}" for piece in pieces)


# What is compared


class Panicked(Exception):
    """The original panicked, so nobody knows what is right."""


def spec_of(text: str) -> Spec:
    """The Spec of the text of a tokenizer.json."""
    return huggingface.from_json(strict_json.parse(text.encode(), Path("tokenizer.json")))


def theirs_of(root: Json) -> tokenizers.Tokenizer | None:
    """`tokenizers`' own, None where it refuses or panics."""
    try:
        return tokenizers.Tokenizer.from_str(json.dumps(root))
    except BaseException as error:
        _let_interrupts_through(error)
        return None


def differences(theirs: tokenizers.Tokenizer, texts: list[str]) -> Iterator[str]:
    """What merganser does otherwise than `theirs` after reading its file: ids, offsets, words, text, written files."""
    spec = spec_of(theirs.to_str())
    if not _is_settled(theirs, spec):
        return
    ours = mg.Tokenizer(spec)
    written = to_json(spec)[0]
    if spec_of(written) != spec:
        yield "reading what was written gives another Spec"
    originals = [(theirs, without_special(theirs))]
    again = tokenizers.Tokenizer.from_str(written)
    originals.append((again, without_special(again)))
    for text in texts:
        try:
            yield from _differences_of(originals, ours, text)
        except Panicked:
            continue


def without_special(theirs: tokenizers.Tokenizer) -> tokenizers.Tokenizer | None:
    """`theirs`, for which special tokens are text and no text is one: its model has them under another name.

    None where that cannot be told to it: of tokens that stand for a byte, and of an unknown token that merges.
    """
    root = json.loads(theirs.to_str())
    model = root["model"]
    special = [token for token in root["added_tokens"] if token["special"]]
    contents = {token["content"] for token in special}
    listed = list(model["vocab"]) if isinstance(model["vocab"], dict) else [token for token, _ in model["vocab"]]
    renamed = {token: f"\U0010fffd{token}" for token in listed if token in contents and not _is_letter(token, model)}
    if any(model.get("byte_fallback") and token.startswith("<0x") for token in renamed):
        return None
    if isinstance(model["vocab"], dict):
        model["vocab"] = {renamed.get(token, token): id for token, id in model["vocab"].items()}
    else:
        model["vocab"] = [[renamed.get(token, token), score] for token, score in model["vocab"]]
    if "unk_token" in model:
        if any(model["unk_token"] in merge for merge in model.get("merges", ())):
            return None
        model["unk_token"] = renamed.get(model["unk_token"], model["unk_token"])
    if "merges" in model:
        prefix = len(model["continuing_subword_prefix"] or "")
        made = [(merge, merge[0] + merge[1].encode()[prefix:].decode()) for merge in model["merges"]]
        model["merges"] = [merge for merge, token in made if renamed.keys().isdisjoint([*merge, token])]
    # Those that the model had get new ids, behind all others.
    root["added_tokens"].sort(key=lambda token: token["content"] in renamed)
    found = theirs_of(root)
    if found is not None:
        found.encode_special_tokens = True
    return found


def _is_letter(token: str, model: Json) -> bool:
    """Whether it spells a character of BPE."""
    if model["type"] != "BPE":
        return False
    prefix, suffix = model["continuing_subword_prefix"] or "", model["end_of_word_suffix"] or ""
    return any(len(part) == 1 for part in (token, token.removeprefix(prefix), token.removesuffix(suffix))) or (
        len(token.removeprefix(prefix).removesuffix(suffix)) == 1
    )


def _differences_of(
    originals: list[tuple[tokenizers.Tokenizer, tokenizers.Tokenizer | None]], ours: mg.Tokenizer, text: str
) -> Iterator[str]:
    theirs = originals[0][0]
    for allow_special, versions in zip(("all", ()), zip(*originals, strict=True), strict=True):
        if versions[0] is None:
            continue
        expected = _encoding(versions[0], text)
        yield from _differing("ids", text, _ids_of(expected), _ids(ours, text, allow_special))
        yield from _differing("ids of the saved", text, _ids_of(expected), _ids_of(_encoding(versions[1], text)))
        if expected is not None and ours.spec.pipeline is not None:
            _, offsets, words = ours._engine.encoding(text, ours._allow(allow_special), (False, True))
            yield from _differing("offsets", text, expected.offsets, offsets)
            yield from _differing("words", text, expected.word_ids, words)
    whole = _encoding(theirs, text, add_special_tokens=True)
    if whole is not None:
        ids = ours.encode(text, allow_special="all", add_special_tokens=True)
        yield from _differing("template", text, whole.ids, ids)
        yield from _decoded(theirs, ours, whole.ids)


def _is_settled(theirs: tokenizers.Tokenizer, spec: Spec) -> bool:
    """Whether no two added tokens are the same in normalized text, where either is found, and none is empty there."""
    normalizer = theirs.normalizer
    contents = [token.content for token in spec.added_tokens if token.normalized]
    found = [normalizer.normalize_str(content) if normalizer else content for content in contents]
    return len(set(found)) == len(found) and all(found)


def _decoded(theirs: tokenizers.Tokenizer, ours: mg.Tokenizer, ids: list[int]) -> Iterator[str]:
    if any(theirs.id_to_token(id) is None for id in ids):
        return
    for skip in (False, True):
        text = ours.decode(ids, skip_special_tokens=skip)
        expected = _decode(theirs, ids, skip)
        if expected is not None:
            yield from _differing("text", str(ids), expected, text)
        stream = ours.decode_stream(skip_special_tokens=skip)
        yield from _differing("stream", str(ids), text, "".join([*map(stream.push, ids), stream.finish()]))


def _differing(what: str, text: str, expected: object, found: object) -> Iterator[str]:
    if expected != found:
        yield f"{what} of {text!r}: expected {expected!r}, found {found!r}"


def _ids_of(encoding: tokenizers.Encoding | None) -> list[int] | None:
    return None if encoding is None else encoding.ids


def _ids(ours: mg.Tokenizer, text: str, allow_special: Any) -> list[int] | None:
    try:
        return ours.encode(text, allow_special=allow_special)
    except mg.TextError:
        return None


def _encoding(
    theirs: tokenizers.Tokenizer, text: str, *, add_special_tokens: bool = False
) -> tokenizers.Encoding | None:
    try:
        return theirs.encode(text, add_special_tokens=add_special_tokens)
    except BaseException as error:
        _let_interrupts_through(error)
        if type(error).__name__ == "PanicException":
            raise Panicked from error
        return None


def _decode(theirs: tokenizers.Tokenizer, ids: list[int], skip: bool) -> str | None:
    try:
        return theirs.decode(ids, skip_special_tokens=skip)
    except BaseException as error:
        _let_interrupts_through(error)
        return None


def _let_interrupts_through(error: BaseException) -> None:
    if isinstance(error, KeyboardInterrupt | SystemExit | MemoryError):
        raise error


def uses(root: Json) -> Iterator[str]:
    """The components and the values of their options in a tokenizer.json."""
    for place in PLACES:
        yield from _uses(root[place], place)
    model = root["model"]
    yield f"model {model['type']}"
    for name, value in model.items():
        if name not in ("type", "vocab", "merges"):
            yield f"model {model['type']} {name} {value if isinstance(value, bool | None) else 'given'}"
    for token in root["added_tokens"]:
        for name in ("single_word", "lstrip", "rstrip", "normalized", "special"):
            yield f"added token {name} {token[name]}"


def _uses(component: Json | None, place: str) -> Iterator[str]:
    if component is None:
        yield f"{place} null"
        return
    yield f"{place} {component['type']}"
    for option in COMPONENTS[place][component["type"]]:
        value = component.get(option.name)
        if option.kind == "steps":
            for step in value:
                yield from _uses(step, place)
        elif isinstance(option.kind, tuple) or isinstance(value, bool | None):
            yield f"{place} {component['type']} {option.name} {value}"


# Damage


@cache
def five_files() -> list[bytes]:
    """Five small files of different families."""
    found: list[bytes] = []
    for index, kind in enumerate(("BPE", "BPE", "Unigram", "WordPiece", "WordLevel")):
        for seed in range(10_000):
            root = random_json(random.Random(seed))
            is_whole = len(root["added_tokens"]) > 1 and all(root[place] for place in PLACES)
            if is_whole and root["model"]["type"] == kind:
                is_of_bytes = root["pre_tokenizer"]["type"] == "ByteLevel"
                if is_of_bytes == (index == 0):
                    found.append(json.dumps(root, ensure_ascii=False, indent=1).encode())
                    break
    return found


def damaged(rng: random.Random, data: bytes) -> bytes:
    """`data` with bytes changed, cut, doubled or left out, or with a JSON value put in another's place."""
    if rng.random() < 0.5:
        return _damaged_value(rng, data)
    damaged = bytearray(data)
    for _ in range(rng.choice([1, 1, 3, 20])):
        at = rng.randrange(len(damaged))
        match rng.randrange(5):
            case 0:
                damaged[at] = rng.randrange(256)
            case 1:
                del damaged[at : at + rng.choice([1, 5, 100])]
            case 2:
                damaged[at:at] = damaged[at : at + rng.choice([1, 5, 100])]
            case 3:
                damaged[at:at] = rng.choice([b'"', b"{", b"[", b"]", b"}", b",", b"\\ud800", b"\xff", b"1e999", b"-"])
            case _:
                del damaged[at : len(damaged) if rng.random() < 0.2 else at + 1]
    return bytes(damaged)


def _damaged_value(rng: random.Random, data: bytes) -> bytes:
    root = json.loads(data)
    strange = [None, True, -1, 1.5, 1 << 31, 1 << 32, 1 << 64, 1e300, "", "x", "\ud800", "a" * 10_000]
    strange += [[], {}, [[]], {"type": "Sequence"}]
    for _ in range(rng.choice([1, 1, 2])):
        parent, key = root, rng.choice(list(root))
        while isinstance(parent[key], dict | list) and parent[key] and rng.random() < 0.8:
            parent = parent[key]
            key = rng.choice(list(parent)) if isinstance(parent, dict) else rng.randrange(len(parent))
        match rng.randrange(4):
            case 0:
                del parent[key]
            case 1 if isinstance(parent, dict):
                parent[rng.choice(["type", "surprise", key + "x"])] = parent.pop(key)
            case _:
                parent[key] = rng.choice(strange)
        if not root:
            break
    return json.dumps(root).encode()


def use(data: bytes) -> None:
    """Loads a tokenizer.json and encodes and decodes with it; raises `FormatError` where it is refused."""
    path = Path("tokenizer.json")
    from merganser.formats import files

    files.refuse_foreign(data, path, expected="a tokenizer.json")
    tok = mg.Tokenizer(huggingface.from_json(strict_json.parse(data, path)))
    for text in ["a b", " ".join(WORDS), "".join(CHARACTERS)]:
        try:
            tok.decode(tok.encode(text, allow_special="all"), unknown_ids="skip")
        except mg.TextError:
            continue
