"""The libraries that are measured. A new one is a loader of three lines and a row of `LOADERS`.

A loader gets the name of an encoding and a folder that has it as `NAME.json` (a tokenizer.json that merganser saved)
and as `NAME.tiktoken`; gpt2's ranks are `r50k_base.tiktoken`. It imports its library itself, because the row `load`
counts that.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

Ids = Sequence[int]  # or a NumPy array of them


@dataclass(frozen=True)
class Peer:
    """What a library can do; None where it cannot."""

    list: Callable[[str], list[int]]
    decode: Callable[[list[int]], str | bytes]
    batch: Callable[[list[str]], Sequence[Ids]] | None = None
    array: Callable[[str], Ids] | None = None


def merganser(name: str, folder: Path) -> Peer:
    import merganser as mg

    tok = mg.load(name)
    return Peer(tok.encode, tok.decode, tok.encode_batch, tok.encode_array)


def tiktoken(name: str, folder: Path) -> Peer:
    import tiktoken

    encoding = tiktoken.get_encoding(name)
    return Peer(
        encoding.encode_ordinary,
        encoding.decode,
        lambda texts: encoding.encode_ordinary_batch(texts, num_threads=num_cpus()),
        lambda text: encoding.encode_to_numpy(text, disallowed_special=()),
    )


def tokenizers(name: str, folder: Path) -> Peer:
    import tokenizers

    tok = tokenizers.Tokenizer.from_file(f"{folder}/{name}.json")
    return Peer(
        lambda text: tok.encode(text, add_special_tokens=False).ids,
        lambda ids: tok.decode(ids, skip_special_tokens=False),
        lambda texts: [found.ids for found in tok.encode_batch_fast(texts, add_special_tokens=False)],
    )


def fastokens(name: str, folder: Path) -> Peer:
    import fastokens

    tok = fastokens.Tokenizer.from_file(f"{folder}/{name}.json")
    return Peer(
        lambda text: tok.encode_ordinary(text).ids,
        tok.decode,
        lambda texts: [found.ids for found in tok.encode_batch(texts)],
        lambda text: _uint32(tok.encode_batch_flat([text])[0]),
    )


def gigatoken(name: str, folder: Path) -> Peer:
    import gigatoken

    tok = gigatoken.Tokenizer.from_tiktoken(f"{folder}/{rank_name(name)}.tiktoken")
    lists = tok.as_tiktoken()
    return Peer(lists.encode_ordinary, tok.decode, tok.encode_batch, tok.encode)


def quicktok(name: str, folder: Path) -> Peer:
    import quicktok

    tok = quicktok.get_encoding(name)
    return Peer(
        tok.encode_ordinary,
        tok.decode,
        lambda texts: tok.encode_batch(texts, num_cpus()),
        lambda text: tok.encode_batch([text], 1)[0],
    )


def toktok(name: str, folder: Path) -> Peer:
    import toktok

    tok = toktok._encoding(name)  # the public face only counts
    return Peer(
        tok.encode_ordinary,
        tok.decode,
        lambda texts: tok.encode_batch_to_numpy(texts, num_cpus()),
        lambda text: tok.encode_batch_to_numpy([text], 1)[0],
    )


def snaptokens(name: str, folder: Path) -> Peer:
    import snaptokens

    tok = snaptokens.Tokenizer.from_file(f"{folder}/{name}.json")
    return Peer(
        lambda text: tok.encode(text).ids, tok.decode, None, lambda text: _uint32(tok.encode_batch_flat([text])[0])
    )


def tuetoken(name: str, folder: Path) -> Peer:
    import tuetoken

    tok = tuetoken.Tokenizer(f"{folder}/{name}.json")
    return Peer(
        tok.encode_ordinary,
        tok.decode,
        lambda texts: tok.encode_ordinary_batch(texts, num_threads=num_cpus()),
        lambda text: _uint32(tok.encode_to_bytes(text)),
    )


def splintr(name: str, folder: Path) -> Peer:
    import splintr

    tok = splintr.Tokenizer.from_pretrained(name)
    return Peer(tok.encode_ordinary, tok.decode, tok.encode_batch, lambda text: _uint32(tok.encode_flat(text)))


def rs_bpe(name: str, folder: Path) -> Peer:
    from rs_bpe import bpe

    tok = getattr(bpe.openai, name)()
    return Peer(tok.encode, tok.decode, lambda texts: tok.encode_batch(texts)[0])


def riptoken(name: str, folder: Path) -> Peer:
    import riptoken

    tok = riptoken.get_encoding(rank_name(name))
    return Peer(tok.encode_ordinary, tok.decode, tok.encode_ordinary_batch)


def kitoken(name: str, folder: Path) -> Peer:
    import kitoken

    tok = kitoken.Kitoken.from_tiktoken_file(f"{folder}/{rank_name(name)}.tiktoken")
    return Peer(lambda text: tok.encode(text, False), tok.decode, lambda texts: tok.encode_all(texts, False))


def morpheme(name: str, folder: Path) -> Peer:
    import morpheme

    tok = morpheme.Tokenizer.from_file(f"{folder}/{name}.json")
    return Peer(
        lambda text: tok.encode(text, add_special_tokens=False).ids,
        lambda ids: tok.decode(ids, False),
        lambda texts: [found.ids for found in tok.encode_batch(texts, add_special_tokens=False)],
    )


def tokie(name: str, folder: Path) -> Peer:
    import tokie

    tok = tokie.Tokenizer.from_json(f"{folder}/{name}.json")
    return Peer(
        lambda text: tok.encode(text, add_special_tokens=False).ids,
        tok.decode,
        lambda texts: [found.ids for found in tok.encode_batch(texts, add_special_tokens=False)],
    )


# Distribution and loader by name. tiktoken is what the others are compared with.
LOADERS: dict[str, tuple[str, Callable[[str, Path], Peer]]] = {
    "tiktoken": ("tiktoken", tiktoken),
    "merganser": ("merganser", merganser),
    "tokenizers": ("tokenizers", tokenizers),
    "fastokens": ("fastokens", fastokens),
    "gigatoken": ("gigatoken", gigatoken),
    "quicktok": ("quicktok-v1", quicktok),
    "toktok": ("toktok-rs", toktok),
    "snaptokens": ("snaptokens", snaptokens),
    "tuetoken": ("tuetoken", tuetoken),
    "splintr": ("splintr-rs", splintr),
    "rs-bpe": ("rs-bpe", rs_bpe),
    "riptoken": ("riptoken", riptoken),
    "kitoken": ("kitoken", kitoken),
    "morpheme": ("morpheme", morpheme),
    "tokie": ("tokie", tokie),
}


def load(peer: str, encoding: str, folder: Path) -> Peer:
    return LOADERS[peer][1](encoding, folder)


def installed(distribution: str) -> str | None:
    """Its version, or None where it is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def num_cpus() -> int:
    return len(os.sched_getaffinity(0))


def rank_name(encoding: str) -> str:
    """The name of its file of ranks."""
    return "r50k_base" if encoding == "gpt2" else encoding


def _uint32(data: bytes) -> Ids:
    import numpy as np

    return np.frombuffer(data, np.uint32)  # pyright: ignore[reportReturnType]


def sample(result: Any) -> bytes:
    """Ids as bytes, to compare them: of one text, or of many end to end with a mark between.

    Of many texts they come as one sequence for each, or as a flat array and the offsets of the texts in it.
    """
    import numpy as np

    if isinstance(result, tuple):
        flat, offsets = result
        result = [flat[start:end] for start, end in pairwise(offsets)]
    if len(result) and not isinstance(result[0], int | np.integer):
        return b"\xff\xff\xff\xff".join(sample(ids) for ids in result)
    return np.asarray(result, dtype=np.uint32).tobytes()
