"""The library's words about its arguments, as words about the command's options."""

from __future__ import annotations

import re

# What to do next, where that is another thing here than in Python.
_HINTS = {
    "a pattern of your own is `mg.Split(pattern=…)`": "a pattern of your own goes there too, in quotes",
    'pass errors="replace", or take decode_bytes': "pass `--errors replace`, or leave `--errors` out to get the bytes",
    "pass split=, a published pattern's name or a Split, and special_tokens=, which may be {}": (
        "pass `--split`, a published pattern's name or a pattern, and `--special` for each special token"
    ),
    "`with_special_tokens` of what is loaded adds special tokens": (
        "leave `--split` out: without it `--special` adds special tokens"
    ),
    "tokenizer.json holds any model": (
        "tokenizer.json holds any model: end the name in `.json`, or in nothing for a folder"
    ),
    "`add_tokens` gives such ids": "give it that id, or leave it out",
}
# Arguments of the API that are options here, and what they are called.
_OPTIONS = {
    "add_special_tokens": "add-special-tokens",
    "allow_special": "allow-special",
    "errors": "errors",
    "layout": "layout",
    "lowercase": "cased",
    "max_token_length": "max-token-length",
    "min_frequency": "min-frequency",
    "model": "model",
    "never_merge_spaces": "never-merge-spaces",
    "num_threads": "threads",
    "score": "score",
    "skip_special_tokens": "skip-special-tokens",
    "special_tokens": "special",
    "split": "split",
    "tie_break": "tie-break",
    "unit": "unit",
    "unknown_ids": "unknown-ids",
    "vocab_size": "vocab-size",
}


def in_options(words: str) -> str:
    """Words about arguments of the API as words about options.

    >>> in_options("vocab_size: expected 300")
    '--vocab-size: expected 300'
    >>> in_options('pass errors="replace" or "strict", or leave lowercase= out')
    'pass `--errors replace` or `strict`, or leave `--cased` out'
    """
    words = _HINTS.get(words, words)
    names = "|".join(_OPTIONS)
    words = re.sub(rf"^({names}):", lambda found: f"--{_OPTIONS[found[1]]}:", words)
    words = re.sub(rf'`?\b({names})="(\w+)"`?', lambda found: f"`--{_OPTIONS[found[1]]} {found[2]}`", words)
    words = re.sub(rf"\b({names})=(?=[ ,]|$)", lambda found: f"`--{_OPTIONS[found[1]]}`", words)
    words = re.sub(r'`mg\.load\("(\w+)"\)`', r"`-t \1`", words)
    return re.sub(r'` or "(\w+)"', r"` or `\1`", words)
