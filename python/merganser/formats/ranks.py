"""A list of merges that does what tiktoken's ranks do.

Under ranks, the adjacent pair whose joined bytes have the lowest rank is merged. Within the bytes of one token nothing
outside plays a part until the token itself is made: whatever text it stands in, it is made of the same two parts, those
that merging by rank leaves of it when it is encoded alone. So one merge a token, in the order of the ranks of the
joined tokens, gives the same ids for every text, provided a piece that is a token is taken whole (`ignore_merges`). A
token that cannot be made this way is only ever a whole piece.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from merganser.errors import FormatError
from merganser.spec import BytePairModel, unpack

_NO_RANK = 1 << 32


def ranks_of(model: BytePairModel) -> dict[bytes, int]:
    """The rank of each token of a model with ranks.

    Raises `FormatError` for ranks that do not fit the tokens.
    """
    ranks = unpack(model.ranks) if model.ranks else range(len(model.vocabulary))
    rank_by_token = dict(zip(model.vocabulary.tokens(), ranks, strict=False))
    num_tokens, num_ranks = len(model.vocabulary), len(set(ranks))
    if not num_tokens == num_ranks == len(ranks) == len(rank_by_token):
        raise FormatError(f"spec: expected {num_tokens} different tokens with a rank each, found {num_ranks} ranks")
    return rank_by_token


def merges_of_ranks(ranks: Mapping[bytes, int]) -> list[tuple[bytes, bytes]]:
    """The merge that makes each token, in the order of `ranks`.

    >>> merges_of_ranks({b"a": 0, b"b": 1, b"ab": 2, b"aab": 3})
    [(b'a', b'b'), (b'a', b'ab')]
    """
    return [parts for token in sorted(ranks, key=ranks.__getitem__) if (parts := last_merge(token, ranks)) is not None]


def last_merge(token: bytes, ranks: Mapping[bytes, int]) -> tuple[bytes, bytes] | None:
    """The two parts that merging by rank makes `token` of, or None where it does not."""
    parts = [token[place : place + 1] for place in range(len(token))]
    joined_ranks = [ranks.get(left + right, _NO_RANK) for left, right in pairwise(parts)]
    while len(parts) > 2:
        lowest = min(joined_ranks)
        if lowest == _NO_RANK:
            return None
        place = joined_ranks.index(lowest)
        parts[place : place + 2] = [parts[place] + parts[place + 1]]
        del joined_ranks[place]
        if place > 0:
            joined_ranks[place - 1] = ranks.get(parts[place - 1] + parts[place], _NO_RANK)
        if place < len(joined_ranks):
            joined_ranks[place] = ranks.get(parts[place] + parts[place + 1], _NO_RANK)
    is_merge = len(parts) == 2 and parts[0] in ranks and parts[1] in ranks
    return (parts[0], parts[1]) if is_merge else None
