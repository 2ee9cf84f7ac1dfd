"""Every component of tokenizer.json's schema 1.0: its options, what kind of value each takes, and its default.

A kind is one of `KINDS`, or a tuple of the words that are allowed. `steps` are components of the same place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from merganser.spec import Component, Value

Place: TypeAlias = Literal["normalizer", "pre_tokenizer", "post_processor", "decoder"]
PLACES: tuple[Place, ...] = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
KINDS = (
    "boolean",
    "boolean or null",
    "string",
    "character",
    "count",
    "count from 1",
    "pattern",
    "charsmap",
    "token and id",
    "template",
    "steps",
)
REQUIRED: Final = Component(type="REQUIRED")

BEHAVIORS = ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")


@dataclass(frozen=True)
class Option:
    """An option: what its value may be, and what it is where the file does not say."""

    name: str
    kind: str | tuple[str, ...]
    default: Value = REQUIRED


_BYTE_LEVEL = (
    Option("add_prefix_space", "boolean"),
    Option("trim_offsets", "boolean"),
    Option("use_regex", "boolean", default=True),
)
_METASPACE = (
    Option("replacement", "character"),
    Option("prepend_scheme", ("first", "never", "always"), default="always"),
    Option("split", "boolean", default=True),
)
_REPLACE = (Option("pattern", "pattern"), Option("content", "string"))

COMPONENTS: dict[Place, dict[str, tuple[Option, ...]]] = {
    "normalizer": {
        "NFC": (),
        "NFD": (),
        "NFKC": (),
        "NFKD": (),
        "Nmt": (),
        "Lowercase": (),
        "StripAccents": (),
        "ByteLevel": (),
        "Strip": (Option("strip_left", "boolean"), Option("strip_right", "boolean")),
        "Replace": _REPLACE,
        "Prepend": (Option("prepend", "string"),),
        "Precompiled": (Option("precompiled_charsmap", "charsmap"),),
        "BertNormalizer": (
            Option("clean_text", "boolean"),
            Option("handle_chinese_chars", "boolean"),
            Option("strip_accents", "boolean or null", default=None),
            Option("lowercase", "boolean"),
        ),
        "Sequence": (Option("normalizers", "steps"),),
    },
    "pre_tokenizer": {
        "ByteLevel": _BYTE_LEVEL,
        "Split": (Option("pattern", "pattern"), Option("behavior", BEHAVIORS), Option("invert", "boolean")),
        "Metaspace": _METASPACE,
        "Digits": (Option("individual_digits", "boolean"),),
        "Punctuation": (Option("behavior", BEHAVIORS, default="Isolated"),),
        "Whitespace": (),
        "WhitespaceSplit": (),
        "BertPreTokenizer": (),
        "CharDelimiterSplit": (Option("delimiter", "character"),),
        "UnicodeScripts": (),
        "FixedLength": (Option("length", "count from 1", default=5),),
        "Sequence": (Option("pretokenizers", "steps"),),
    },
    "post_processor": {
        "ByteLevel": _BYTE_LEVEL,
        "TemplateProcessing": (Option("single", "template"), Option("pair", "template")),
        "BertProcessing": (Option("sep", "token and id"), Option("cls", "token and id")),
        "RobertaProcessing": (
            Option("sep", "token and id"),
            Option("cls", "token and id"),
            Option("trim_offsets", "boolean"),
            Option("add_prefix_space", "boolean"),
        ),
        "Sequence": (Option("processors", "steps"),),
    },
    "decoder": {
        "ByteLevel": _BYTE_LEVEL,
        "WordPiece": (Option("prefix", "string"), Option("cleanup", "boolean")),
        "Metaspace": _METASPACE,
        "BPEDecoder": (Option("suffix", "string"),),
        "ByteFallback": (),
        "Fuse": (),
        "Strip": (Option("content", "character"), Option("start", "count"), Option("stop", "count")),
        "Replace": _REPLACE,
        "CTC": (
            Option("pad_token", "string"),
            Option("word_delimiter_token", "string"),
            Option("cleanup", "boolean"),
        ),
        "Sequence": (Option("decoders", "steps"),),
    },
}
