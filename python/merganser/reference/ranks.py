"""Chapter 5: ranks instead of merges. How tiktoken stores GPT-4's tokenizer, and how to get the merges back.

A `.tiktoken` file lists every token with its *rank*, which is also its id. There are no merges in it. None are needed:
two neighbours may merge if their joined bytes are a token, and the lower its rank, the earlier. For a vocabulary that
came out of training this gives the ids that the merges give. For one that somebody edited it need not: a token that
no merge can reach is still found when a piece is exactly that token, because tiktoken looks there first.

With `recover_merges`, the tokenizer of GPT-4 is the one of the chapter before:

    bpe = BPE(recover_merges(ranks), {rank: token for token, rank in ranks.items()})
    RegexTokenizer(bpe, pattern="gpt4", special_tokens={"<|endoftext|>": 100257})

One surprise is left in its file. Its first 256 ranks are the single bytes, but not in order: the printable ones come
first, so that `!`, byte 33, has rank 0. A byte must therefore be *looked up* before anything is merged.
"""

from collections.abc import Mapping
from itertools import pairwise

from .bpe import Pair


def encode_ranks(piece: bytes, ranks: Mapping[bytes, int]) -> list[int]:
    """The ids of a piece: the token that it is, or else the tokens that merging by rank makes of it.

    >>> encode_ranks(b"abc", {b"a": 0, b"b": 1, b"c": 2, b"bc": 3, b"ab": 4})
    [0, 3]
    >>> encode_ranks(b"abc", {b"a": 0, b"b": 1, b"c": 2, b"abc": 3})
    [3]
    """
    if piece in ranks:
        return [ranks[piece]]
    return [ranks[part] for part in merge_by_rank(piece, ranks)]


def merge_by_rank(piece: bytes, ranks: Mapping[bytes, int], *, below: float = float("inf")) -> list[bytes]:
    """The parts of a piece when all has merged that can, into tokens whose rank is less than `below`.

    >>> merge_by_rank(b"abab", {b"ab": 4, b"abab": 5}), merge_by_rank(b"abab", {b"ab": 4, b"abab": 5}, below=5)
    ([b'abab'], [b'ab', b'ab'])
    """
    parts = [bytes([byte]) for byte in piece]
    while True:
        joined = [left + right for left, right in pairwise(parts)]
        fitting = [(ranks[token], place) for place, token in enumerate(joined) if ranks.get(token, below) < below]
        if not fitting:
            return parts
        # The lowest rank; where it stands more than once, the leftmost.
        _, place = min(fitting)
        parts[place : place + 2] = [joined[place]]


def recover_merges(ranks: Mapping[bytes, int]) -> dict[Pair, int]:
    """The merges that made a vocabulary: which two ids became which.

    Each token was made of two earlier ones, and the tokens of lower rank, merged as far as they go, show which two.

    >>> recover_merges({b"a": 0, b"b": 1, b"ab": 2, b"aba": 3})
    {(0, 1): 2, (2, 0): 3}
    """
    merges: dict[Pair, int] = {}
    # In order of rank, so that the merges come in the order of training.
    for token in sorted(ranks, key=lambda token: ranks[token]):
        if len(token) > 1:
            parts = merge_by_rank(token, ranks, below=ranks[token])
            if len(parts) != 2:
                raise ValueError(f"rank {ranks[token]}: expected two tokens that make {token!r}, found {parts}")
            merges[ranks[parts[0]], ranks[parts[1]]] = ranks[token]
    return merges
