"""Random tokenizer.json objects of every component, and texts that are hard for them."""

import base64
import json
import random
import struct
from array import array

from tokenizers import Tokenizer as Original

from merganser import _core
from merganser.formats import dialects
from merganser.spec import AddedToken

CHARACTERS = [
    *"abcdeABCDE  \t\n\r'.,!?-_=+$^`~<>|019²½٣éèñüßſİıIÅǅﬁﬃ™ŉ日本語々カーひ㈱①ﷺ가각Ωάὰσςа‘«」",
    *"\u0301\u0323\u0307\u0345\u0344\u0f73\u0f71\u3099\u05b0\u0650\u1100\u1161\u11a8",
    # Marks and punctuation on which Unicode's versions differ, unassigned and private characters.
    *"\u1dfb\u08d4\u1885\u1734\u1cf2\u061c\u0589\u0953\u2e43\u166d\u0378\ue000\U000f0000\U000111c9\U0001e2ae\u1ac0",
    *"\0\x01\x1e\x7f\x8f\x85\xa0\xad\u200b\u200d\u200c\u2028\u3000\u2581\ufeff\ufffd\U0001d7d8\U00013000Ġ",
]
STRINGS = [
    *CHARACTERS,
    *("👨", "👩", "🏽", "\u200d👧", "🇩", "🇪", "\ufe0f", "שלום", "مر", "क्षि", "ก็ำ"),
    *("##", "</w>", "<unk>", "<0x41>", "ab", "abc", "the", "<m>"),
    " the",
]
BYTES = [chr(code) for code in [*range(33, 127), *range(161, 173), *range(174, 256), *range(256, 324)]]
FALLBACK = [f"<0x{byte:02X}>" for byte in range(256)]
REGEXES = [
    *(r"\s+", r" {2,}", r"\p{L}+", r"\p{N}{1,3}", r"[^\s\p{L}\p{N}]+", r"\s+(?!\S)|\s+"),
    *(r"'s|'t| ?\p{L}+", r"[aeiou]", r"\p{Han}", r"(?i:ab)", r"a|ab|abc"),
]
BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]
SCHEMES = ["first", "never", "always"]


def text(rng: random.Random) -> str:
    strings = rng.sample(STRINGS, rng.randrange(2, 14)) if rng.random() < 0.6 else STRINGS
    return "".join(rng.choice(strings) for _ in range(rng.choice([0, 1, 2, 3, 5, 8, 13, 30])))


def text_with(rng: random.Random, tokens: list[str]) -> str:
    """A text with some of `tokens` in it."""
    parts = [part for token in tokens for part in (text(rng), rng.choice(["", " ", "  "]), token)]
    return "".join([*parts, text(rng)])


def flag(rng: random.Random) -> bool:
    return rng.random() < 0.5


def pattern(rng: random.Random) -> dict[str, str]:
    strings = [" ", "a", "ab", "  ", "''", "é", "日", "\u2581", "e\u0301"]
    return {"Regex": rng.choice(REGEXES)} if flag(rng) else {"String": rng.choice(strings)}


def normalizer(rng: random.Random) -> dict:
    choices = [
        *({"type": name} for name in ["NFC", "NFD", "NFKC", "NFKD", "Nmt", "Lowercase", "StripAccents", "ByteLevel"]),
        {"type": "Strip", "strip_left": flag(rng), "strip_right": flag(rng)},
        {"type": "Replace", "pattern": pattern(rng), "content": rng.choice(["", " ", "x", "日本", "ab c"])},
        {"type": "Prepend", "prepend": rng.choice(["▁", " ", "ab", "日"])},
        {"type": "Precompiled", "precompiled_charsmap": charsmap(rng)},
        {
            "type": "BertNormalizer",
            "clean_text": flag(rng),
            "handle_chinese_chars": flag(rng),
            "strip_accents": rng.choice([None, True, False]),
            "lowercase": flag(rng),
        },
    ]
    return {"type": "Sequence", "normalizers": rng.sample(choices, rng.choice([0, 1, 1, 2, 3]))}


def charsmap(rng: random.Random) -> str:
    """Some rules as SentencePiece compiles them: a double array, each node's children at the first free places."""
    keys = ["".join(rng.choice(CHARACTERS[1:]) for _ in range(rng.choice([1, 1, 2, 3]))) for _ in range(8)]
    trie, replacements = {}, b""
    for key in keys:
        node = trie
        for byte in key.replace("\0", "x").encode():
            node = node.setdefault(byte, {})
        # A key that the one before is the start of is found by that: its own end is still needed to be a trie.
        node[0] = {None: len(replacements)}
        replacements += "".join(rng.choices(CHARACTERS[:60], k=rng.randrange(3))).encode() + b"\0"
    units, bases, waiting = {}, set(), [(trie, 0, 0)]
    taken = {0}
    while waiting:
        node, place, label = waiting.pop()
        base = next(b for b in range(1, 1 << 20) if b not in bases and not taken & {b ^ byte for byte in node})
        bases.add(base)
        taken |= {base ^ byte for byte in node}
        units[place] = (place ^ base) << 10 | (0 in node) << 8 | label
        for byte, child in node.items():
            if byte == 0:
                units[base] = child[None] | 1 << 31
            else:
                waiting.append((child, base ^ byte, byte))
    # A free place must not pass for a child: its label is none that a byte has.
    packed = struct.pack(
        f"<{(max(units) // 256 + 2) * 256}I",
        *(units.get(place, 1 << 31 | 0xFF) for place in range((max(units) // 256 + 2) * 256)),
    )
    return base64.b64encode(struct.pack("<I", len(packed)) + packed + replacements).decode()


def pre_tokenizer(rng: random.Random) -> dict:
    choices = [
        *({"type": name} for name in ["Whitespace", "WhitespaceSplit", "BertPreTokenizer", "UnicodeScripts"]),
        {"type": "ByteLevel", "add_prefix_space": flag(rng), "trim_offsets": True, "use_regex": flag(rng)},
        {"type": "Split", "pattern": pattern(rng), "behavior": rng.choice(BEHAVIORS), "invert": flag(rng)},
        {"type": "Metaspace", "replacement": "▁", "prepend_scheme": rng.choice(SCHEMES), "split": flag(rng)},
        {"type": "Digits", "individual_digits": flag(rng)},
        {"type": "Punctuation", "behavior": rng.choice(BEHAVIORS)},
        {"type": "CharDelimiterSplit", "delimiter": rng.choice(" a日-")},
        {"type": "FixedLength", "length": rng.randrange(1, 6)},
    ]
    return {"type": "Sequence", "pretokenizers": rng.sample(choices, rng.choice([0, 1, 1, 2, 3]))}


def post_processor(rng: random.Random) -> dict | None:
    trim = {"add_prefix_space": flag(rng), "trim_offsets": rng.random() < 0.7}
    return rng.choice(
        [
            None,
            {"type": "ByteLevel", "use_regex": True, **trim},
            {"type": "RobertaProcessing", "sep": ["a", 0], "cls": ["b", 1], **trim},
            {"type": "Sequence", "processors": [{"type": "ByteLevel", "use_regex": True, **trim}]},
        ]
    )


def decoder(rng: random.Random) -> dict:
    choices = [
        *({"type": name} for name in ("Fuse", "ByteFallback")),
        {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        {"type": "WordPiece", "prefix": rng.choice(["##", "", "a"]), "cleanup": flag(rng)},
        {"type": "Metaspace", "replacement": "▁", "prepend_scheme": rng.choice(SCHEMES), "split": True},
        {"type": "BPEDecoder", "suffix": "</w>"},
        {"type": "CTC", "pad_token": "a", "word_delimiter_token": "|", "cleanup": flag(rng)},
        {"type": "Strip", "content": rng.choice(" a"), "start": rng.randrange(3), "stop": 0},
        {"type": "Replace", "pattern": pattern(rng), "content": rng.choice(["", " ", "x"])},
    ]
    return {"type": "Sequence", "decoders": rng.sample(choices, rng.choice([1, 1, 2, 3]))}


def model(rng: random.Random) -> dict:
    characters = rng.sample(CHARACTERS, rng.randrange(5, 50)) + (BYTES if flag(rng) else ["▁"])
    fallback = FALLBACK if rng.random() < 0.3 else []
    words = ["".join(rng.choices(characters, k=rng.randrange(2, 6))) for _ in range(100)]
    kind = rng.choice([bpe, unigram, word_piece, word_level])
    return kind(rng, characters, [*fallback, *words])


def by_token(*tokens: str) -> dict[str, int]:
    return {token: id for id, token in enumerate(dict.fromkeys(tokens))}


def bpe(rng: random.Random, characters: list[str], others: list[str]) -> dict:
    prefix, suffix = rng.choice([None, "", "##"]), rng.choice([None, "", "</w>"])
    starts = [
        affix + character
        for character in characters
        for affix in dict.fromkeys(["", prefix or ""])
        if rng.random() < 0.9
    ]
    vocab = by_token("<unk>", *others, *starts, *(start + (suffix or "") for start in starts))
    merges = []
    for _ in range(rng.randrange(150)):
        left, right = rng.choices(list(vocab)[1:], k=2)
        if right.startswith(prefix or "") and not (suffix and left.endswith(suffix)) and [left, right] not in merges:
            merges.append([left, right])
            vocab.setdefault(left + right.removeprefix(prefix or ""), len(vocab))
    return {
        "type": "BPE",
        "dropout": rng.choice([None, 0.0]),
        "unk_token": rng.choice([None, "<unk>", "<unk>"]),
        "continuing_subword_prefix": prefix,
        "end_of_word_suffix": suffix,
        "fuse_unk": flag(rng),
        "byte_fallback": flag(rng),
        "ignore_merges": flag(rng),
        "vocab": vocab,
        "merges": merges,
    }


def unigram(rng: random.Random, characters: list[str], others: list[str]) -> dict:
    scores = [-1.0, -2.0, -3.0, 0.0, -rng.random() * 10, -rng.random() * 10]
    # Some tokens twice: the last counts.
    vocab = [[token, rng.choice(scores)] for token in ["<unk>", *others, *characters, *characters[:3]]]
    return {"type": "Unigram", "unk_id": rng.choice([0, 0, 0, None]), "byte_fallback": flag(rng), "vocab": vocab}


def word_piece(rng: random.Random, characters: list[str], others: list[str]) -> dict:
    prefix = rng.choice(["##", "", "a"])
    tokens = ["<unk>", *others, *characters]
    return {
        "type": "WordPiece",
        "unk_token": rng.choice(["<unk>", "<unk>", "missing"]),
        "continuing_subword_prefix": prefix,
        "max_input_chars_per_word": rng.choice([100, 3, 10]),
        "vocab": by_token(*tokens, *(prefix + token for token in tokens if rng.random() < 0.9)),
    }


def word_level(rng: random.Random, characters: list[str], others: list[str]) -> dict:
    return {"type": "WordLevel", "unk_token": "<unk>", "vocab": by_token("<unk>", *others, *characters)}


def added_tokens(rng: random.Random, size: int) -> list[dict]:
    contents = ["<m>", "[X]", "Tok", "the", "  ", "\n\n", "é", "İ", "<unk>", "ab", "tok x", "日本", "E\u0301"]
    names = ("single_word", "lstrip", "rstrip", "normalized", "special")
    return [
        {"id": size + place, "content": content, **{name: rng.random() < 0.35 for name in names}}
        for place, content in enumerate(rng.sample(contents, rng.choice([0, 1, 2, 4, 7])))
    ]


def tokenizer_json(rng: random.Random) -> dict:
    one = model(rng)
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added_tokens(rng, len(one["vocab"])),
        "normalizer": normalizer(rng),
        "pre_tokenizer": pre_tokenizer(rng),
        "post_processor": post_processor(rng),
        "decoder": decoder(rng),
        "model": one,
    }


def original(tokenizer: dict) -> Original:
    return Original.from_str(json.dumps(tokenizer))


def chain(tokenizer: dict, token_to_id=None) -> _core.Chain:
    """The chain of a tokenizer.json object. Added tokens have the ids of the file unless given."""
    options = dict(tokenizer["model"])
    vocab, merges = options.pop("vocab"), options.pop("merges", [])
    tokens = list(vocab) if isinstance(vocab, dict) else [token for token, _ in vocab]
    ends, end = array("I"), 0
    for token in tokens:
        end += len(token.encode())
        ends.append(end)
    added = tokenizer.get("added_tokens", [])
    token_to_id = token_to_id or {token["content"]: token["id"] for token in added}.get
    return _core.Chain(
        components=json.dumps({name: in_rust(tokenizer.get(name)) for name in COMPONENTS}),
        model=json.dumps(options),
        data="".join(tokens).encode(),
        ends=ends.tobytes(),
        ids=array("I", range(len(tokens))).tobytes(),
        scores=b"" if isinstance(vocab, dict) else array("d", [score for _, score in vocab]).tobytes(),
        merges=array("I", [vocab[token] for merge in merges for token in merge]).tobytes(),
        added=[AddedToken(**token | {"id": token_to_id(token["content"])}) for token in added],
    )


COMPONENTS = ("normalizer", "pre_tokenizer", "post_processor", "decoder")


def in_rust(component):
    """A component with its regexes in the `rust` dialect."""
    if isinstance(component, list):
        return [in_rust(part) for part in component]
    if isinstance(component, dict):
        if "Regex" in component:
            return {"Regex": dialects.rust_from_oniguruma(component["Regex"])}
        return {name: in_rust(part) for name, part in component.items()}
    return component
