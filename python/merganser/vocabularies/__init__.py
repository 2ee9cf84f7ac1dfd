"""The bundled vocabularies: a name gives a Spec, with no file of your own and no network.

Three packed tables hold the tokens of all seven (SOURCES.md says where they come from). A table is the number of
tokens as little-endian u32, the length of each token in a byte, and the bytes of all tokens end to end; the place of
a token is its rank and its id. `tools/pack_vocabularies.py` writes them.
"""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path

from merganser.errors import FormatError
from merganser.spec import AddedToken, BytePairModel, Spec, Split, Vocabulary, pack

# As tiktoken spells them; where that is not the published spelling (GPT-2's, cl100k's), the name is tiktoken's too.
PATTERNS = {
    "r50k_base": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
    "cl100k_base": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
        r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
    ),
    "o200k": (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
}

_GPT2 = {"<|endoftext|>": 50256}
_P50K_EDIT = _GPT2 | {"<|fim_prefix|>": 50281, "<|fim_middle|>": 50282, "<|fim_suffix|>": 50283}
_CL100K = {
    "<|endoftext|>": 100257,
    "<|fim_prefix|>": 100258,
    "<|fim_middle|>": 100259,
    "<|fim_suffix|>": 100260,
    "<|endofprompt|>": 100276,
}
_O200K = {"<|endoftext|>": 199999, "<|endofprompt|>": 200018}
_HARMONY = _O200K | {
    "<|startoftext|>": 199998,
    "<|return|>": 200002,
    "<|constrain|>": 200003,
    "<|channel|>": 200005,
    "<|start|>": 200006,
    "<|end|>": 200007,
    "<|message|>": 200008,
    "<|call|>": 200012,
}
# tiktoken gives 200018 a second name, `<|reserved_200018|>`. It decodes to the first, as there.
_RESERVED = {f"<|reserved_{id}|>": id for id in range(200000, 201088) if id == 200018 or id not in _HARMONY.values()}

# Table, pattern and special tokens of each.
_CONTENTS = {
    "gpt2": ("r50k_base", "r50k_base", _GPT2),
    "r50k_base": ("r50k_base", "r50k_base", _GPT2),
    "p50k_base": ("r50k_base", "r50k_base", _GPT2),
    "p50k_edit": ("r50k_base", "r50k_base", _P50K_EDIT),
    "cl100k_base": ("cl100k_base", "cl100k_base", _CL100K),
    "o200k_base": ("o200k_base", "o200k", _O200K),
    "o200k_harmony": ("o200k_base", "o200k", _HARMONY | _RESERVED),
}

# Beginnings of model names, for the hint; the longest first.
_ENCODING_BY_MODEL = {
    "gpt-oss": "o200k_harmony",
    "gpt-4o": "o200k_base",
    "gpt-4.": "o200k_base",
    "gpt-5": "o200k_base",
    "gpt-4": "cl100k_base",
    "gpt4": "cl100k_base",
    "gpt-3.5": "cl100k_base",
    "gpt-2": "gpt2",
}

NAMES: tuple[str, ...] = tuple(_CONTENTS)


def read(name: str) -> Spec:
    """The bundled vocabulary `name`, one of `NAMES`.

    >>> read("cl100k_base").special_tokens["<|endofprompt|>"]
    100276
    """
    if name not in _CONTENTS:
        raise FormatError(f"expected a bundled vocabulary ({', '.join(NAMES)}), found `{name}`", hint=_hint(name))
    table, split, special_tokens = _CONTENTS[name]
    return Spec(
        model=BytePairModel(vocabulary=_unpack(table, with_space_runs=name.startswith("p50k")), semantics="rank"),
        splits=(Split(pattern=PATTERNS[split], unmatched="drop", name=split),),
        added_tokens=tuple(AddedToken(content=content, id=id) for content, id in special_tokens.items()),
        name=name,
    )


def _unpack(table: str, *, with_space_runs: bool) -> Vocabulary:
    """The tokens of `table`, and behind the id of `<|endoftext|>` the runs of spaces that p50k adds."""
    contents = Path(__file__).with_name(f"{table}.tokens").read_bytes()
    num_tokens = int.from_bytes(contents[:4], "little")
    lengths, data = contents[4 : 4 + num_tokens], contents[4 + num_tokens :]
    runs = range(2, 26) if with_space_runs else range(0)
    ids = _packed_range(num_tokens + 1 + len(runs))
    return Vocabulary(
        data=data + b" " * sum(runs),
        ends=pack(accumulate(lengths + bytes(runs))),
        ids=ids[: 4 * num_tokens] + ids[4 * num_tokens + 4 :],
    )


def _packed_range(stop: int) -> bytes:
    """`pack(range(stop))`, which would take half of `read`: the lowest byte of all numbers at once, then the next."""
    packed = bytearray(4 * stop)
    for place in range(3):
        values = range(min(256, (stop >> 8 * place) + 1))
        cycle = b"".join(bytes([value]) * 256**place for value in values)
        packed[place::4] = (cycle * (stop // len(cycle) + 1))[:stop]
    return bytes(packed)


def _hint(name: str) -> str:
    """The bundled name that `name` is part of, or a slip away from; else how a file is named."""
    from difflib import get_close_matches

    wanted = name.lower()
    for model, encoding in _ENCODING_BY_MODEL.items():
        if wanted.startswith(model):
            return f"that model's encoding is `{encoding}`"
    matches = [known for known in NAMES if wanted and wanted in known] or get_close_matches(wanted, NAMES, cutoff=0.8)
    return (
        f"did you mean `{matches[0]}`?"
        if matches
        else f"nothing is downloaded; a file or folder is named as a path, `./{name}`"
    )
