"""Chapter 2: byte pair encoding, the way between bytes and words.

Start from the bytes, so that no text is foreign. Find the pair of neighbours that occurs most often, make a new token
of it, and write that token wherever the pair stood. Then again, and again: each round is a *merge*, adds one token to
the vocabulary and shortens the text. The example of the encyclopaedias, 11 tokens to 5:

    a a a b d a a a b a c     aa is the commonest pair: call it Z
    Z a b d Z a b a c         Za and ab both occur twice: take ab and call it Y
    Z Y d Z Y a c             ZY is the commonest: call it X
    X d X a c

What training leaves behind is two tables, the merges and the vocabulary, and they are the whole tokenizer.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

Pair = tuple[int, int]
TieBreak = Literal["first", "ids", "lex_max"]


@dataclass(frozen=True)
class BPE:
    """What training found: which pair became which id, in the order it happened, and the bytes of every id."""

    merges: dict[Pair, int]
    vocabulary: dict[int, bytes]


def count_pairs(pieces: Iterable[Sequence[int]]) -> dict[Pair, int]:
    """How often each pair of neighbours occurs; no pair reaches from one piece into the next.

    >>> count_pairs([[1, 2, 3, 1, 2], [3, 3]])
    {(1, 2): 2, (2, 3): 1, (3, 1): 1, (3, 3): 1}
    """
    counts: dict[Pair, int] = {}
    for piece in pieces:
        for pair in pairwise(piece):
            counts[pair] = counts.get(pair, 0) + 1
    return counts  # A dict keeps its keys in the order they came: the pair met first stands first.


def merge(ids: Sequence[int], pair: Pair, new_id: int) -> list[int]:
    """`ids` with `new_id` wherever `pair` stood.

    >>> merge([1, 2, 3, 1, 2], (1, 2), 4), merge([1, 1, 1], (1, 1), 4)
    ([4, 3, 4], [4, 1])
    """
    merged: list[int] = []
    place = 0
    while place < len(ids):
        # The last id has no neighbour to the right, so no pair starts there.
        fits = ids[place] == pair[0] and place + 1 < len(ids) and ids[place + 1] == pair[1]
        merged.append(new_id if fits else ids[place])
        # Both halves are consumed, so a pair never overlaps itself: of three equal ids the first two merge.
        place += 2 if fits else 1
    return merged


def best_pair(counts: Mapping[Pair, int], vocabulary: Mapping[int, bytes], tie_break: TieBreak) -> Pair:
    """The pair with the highest count. Many may share it, above all late in a training: `tie_break` says which wins."""
    highest = max(counts.values())
    tied = [pair for pair, count in counts.items() if count == highest]
    match tie_break:
        case "first":  # minbpe: the one met first in the corpus as it now stands
            return tied[0]
        case "ids":  # Hugging Face, rustbpe: the smallest left id, then the smallest right id
            return min(tied)
        case "lex_max":  # subword-nmt, Stanford's course: the greatest bytes on the left, then on the right
            return max(tied, key=lambda pair: (vocabulary[pair[0]], vocabulary[pair[1]]))
        case _:
            raise ValueError(f"tie_break: expected 'first', 'ids' or 'lex_max', found {tie_break!r}")


def train_bpe(
    pieces: Iterable[Iterable[int]],
    num_merges: int,
    *,
    tie_break: TieBreak = "ids",
    never_merge_spaces: bool = False,
    vocabulary: Mapping[int, bytes] | None = None,
) -> BPE:
    """Learns `num_merges` merges from pieces, or fewer when nothing is left to merge. `bytes` are rows of ids already:

    >>> train_bpe([b"aaabdaaabac"], 3).merges
    {(97, 97): 256, (97, 98): 257, (256, 257): 258}

    `vocabulary` says what the ids of the pieces stand for where they are not simply the 256 bytes.
    """
    corpus = [list(piece) for piece in pieces]
    tokens = {byte: bytes([byte]) for byte in range(256)} if vocabulary is None else dict(vocabulary)
    merges: dict[Pair, int] = {}
    # New tokens take the ids after the alphabet's, one by one: a smaller id is an earlier merge.
    first_id = max(tokens, default=-1) + 1
    for new_id in range(first_id, first_id + num_merges):
        counts = count_pairs(corpus)
        if never_merge_spaces:
            # GPT-2's unwritten rule: in none of its 50,257 tokens do two spaces follow one another.
            counts = {pair: n for pair, n in counts.items() if b"  " not in tokens[pair[0]] + tokens[pair[1]]}
        if not counts:
            break
        pair = best_pair(counts, tokens, tie_break)
        merges[pair] = new_id
        # A new token may be half of a later one: the merges are a forest that grows from its leaves, the alphabet.
        tokens[new_id] = tokens[pair[0]] + tokens[pair[1]]
        corpus = [merge(piece, pair, new_id) for piece in corpus]
    return BPE(merges, tokens)


def encode_merges(piece: Iterable[int], merges: Mapping[Pair, int]) -> list[int]:
    """The ids of a piece: of the merges that fit somewhere, always the earliest, until none fits.

    The earliest, because training went in that order, and a later merge may need what an earlier one makes.
    It costs a pass over the piece for each merge that *fits*: on a word of n bytes, n - 1 passes at the most.
    """
    ids = list(piece)
    # A piece of one id has no pairs, nor has an empty one: both come out as they went in.
    while fitting := [pair for pair in pairwise(ids) if pair in merges]:
        earliest = min(fitting, key=lambda pair: merges[pair])
        ids = merge(ids, earliest, merges[earliest])
    return ids


def encode_merges_in_order(piece: Iterable[int], merges: Mapping[Pair, int]) -> list[int]:
    """The same ids on a simpler road: try every merge in the order of training, whether it fits or not.

    They are the same because a merge makes an id that only later merges mention, so there is never a reason to go
    back. But it costs a pass for each merge that *exists*: with GPT-2's table 50,000 of them, even over "the".
    """
    ids = list(piece)
    for pair, new_id in merges.items():
        ids = merge(ids, pair, new_id)
    return ids


def decode_ids(ids: Iterable[int], vocabulary: Mapping[int, bytes]) -> str:
    """The text of `ids`, with U+FFFD where their bytes are not UTF-8. It needs the vocabulary, and no merges."""
    # Join before decoding: one character may be spread over several tokens.
    return b"".join(vocabulary[i] for i in ids).decode("utf-8", errors="replace")


class BasicTokenizer:
    """BPE on the bytes of the whole text.

    >>> tokenizer = BasicTokenizer(train_bpe([b"aaabdaaabac"], 3))
    >>> tokenizer.encode("aaabdaaabac")
    [258, 100, 258, 97, 99]
    """

    def __init__(self, bpe: BPE) -> None:
        self.bpe = bpe

    def encode(self, text: str) -> list[int]:
        return encode_merges(text.encode("utf-8"), self.bpe.merges)

    def decode(self, ids: Sequence[int]) -> str:
        return decode_ids(ids, self.bpe.vocabulary)
