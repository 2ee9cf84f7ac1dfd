"""tiktoken as published, offline: the public files it wants, written back from our own tables.

tiktoken looks into TIKTOKEN_CACHE_DIR, for a file named by the sha1 of the address, before it asks the network, and
checks the sha256 itself. So its patterns, special tokens and ids are the oracle, and our tables are proven on the way.
"""

import base64
import hashlib
import inspect
import json
import re
import tempfile
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
import tiktoken
import tiktoken.load
import tiktoken_ext.openai_public

from merganser import vocabularies


@cache
def encoding(name: str) -> tiktoken.Encoding:
    """tiktoken's encoding `name`, as `tiktoken.get_encoding` gives it."""
    with tempfile.TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        tiktoken_cache(Path(directory))
        patch.setenv("TIKTOKEN_CACHE_DIR", directory)
        patch.setattr(tiktoken.load, "read_file", _refuse)
        return tiktoken.get_encoding(name)


def tiktoken_cache(directory: Path) -> None:
    """Writes every public file into `directory` as tiktoken caches it, for use as TIKTOKEN_CACHE_DIR."""
    for address in pinned_sha256():
        cached = directory / hashlib.sha1(address.encode()).hexdigest()
        cached.write_bytes(public_file(address.rpartition("/")[2]))


def pinned_sha256() -> dict[str, str]:
    """The sha256 that the installed tiktoken pins, by address."""
    source = inspect.getsource(tiktoken_ext.openai_public)
    addresses = re.findall(r'"(https://[^"]+)"', source)
    return dict(zip(addresses, re.findall(r'"([0-9a-f]{64})"', source), strict=True))


@cache
def public_file(name: str) -> bytes:
    """`vocab.bpe`, `encoder.json`, or the `.tiktoken` of r50k_base, p50k_base, cl100k_base or o200k_base."""
    if name == "vocab.bpe":
        return _vocab_bpe()
    if name == "encoder.json":
        return _encoder_json()
    tokens = vocabularies.read(name.removesuffix(".tiktoken")).model.vocabulary.items()
    return b"".join(b"%s %d\n" % (base64.b64encode(token), rank) for rank, token in tokens)


def _vocab_bpe() -> bytes:
    ranks = {token: rank for rank, token in vocabularies.read("gpt2").model.vocabulary.items()}
    merges = (_last_merge(token, ranks) for token in list(ranks)[256:])
    lines = [f"{_printable(left)} {_printable(right)}\n" for left, right in merges]
    return ("#version: 0.2\n" + "".join(lines)).encode()


def _encoder_json() -> bytes:
    spec = vocabularies.read("gpt2")
    ids = {_printable(token): id for id, token in spec.model.vocabulary.items()}
    return json.dumps(ids | dict(spec.special_tokens)).encode()


def _last_merge(token: bytes, ranks: dict[bytes, int]) -> list[bytes]:
    """The two tokens that `token` was merged from: what merging by rank is left with before its own."""
    parts = [bytes([byte]) for byte in token]
    while len(parts) > 2:
        joined = [left + right for left, right in pairwise(parts)]
        first = min(range(len(joined)), key=lambda i: ranks.get(joined[i], len(ranks)))
        parts[first : first + 2] = [joined[first]]
    return parts


def _printable(token: bytes) -> str:
    """`token` in GPT-2's printable alphabet, where a space is `Ġ`."""
    return "".join(_alphabet()[byte] for byte in token)


@cache
def _alphabet() -> dict[int, str]:
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {byte: chr(byte) for byte in printable} | {byte: chr(256 + i) for i, byte in enumerate(others)}


def _refuse(address: str) -> bytes:
    raise AssertionError(f"{address}: expected the file in the cache with its sha256, found none; no test downloads")
