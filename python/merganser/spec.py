"""`Spec`: everything a tokenizer is, as frozen values over packed buffers.

Every format reads into a Spec and writes from one, training makes one, and the engine is built from one.
Packed buffers are `bytes` of little-endian u32, so a Spec compares, hashes, pickles and crosses into the engine as is.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal


def pack(numbers: Iterable[int]) -> bytes:
    """`numbers` as packed little-endian u32.

    >>> pack([97, 98]).replace(bytes(3), b".")
    b'a.b.'
    """
    packed = array("I", numbers)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def unpack(packed: bytes) -> array[int]:
    """The numbers of a packed buffer, as an `array("I")`.

    >>> unpack(pack([1, 2])).tolist()
    [1, 2]
    """
    numbers = array("I")
    numbers.frombytes(packed)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


@dataclass(frozen=True, kw_only=True)
class Vocabulary:
    """Tokens in increasing order of id; token `i` has the bytes `data[ends[i-1]:ends[i]]` and the id `ids[i]`."""

    data: bytes
    ends: bytes
    ids: bytes

    @classmethod
    def from_tokens(cls, tokens: Iterable[bytes], ids: Iterable[int] | None = None) -> Vocabulary:
        """The vocabulary of `tokens`, whose ids are 0, 1, 2 … or `ids`, in increasing order."""
        tokens = list(tokens)
        ends, end = array("I"), 0
        for token in tokens:
            end += len(token)
            ends.append(end)
        return cls(data=b"".join(tokens), ends=pack(ends), ids=pack(range(len(tokens)) if ids is None else ids))

    def __len__(self) -> int:
        return len(self.ends) // 4

    def tokens(self) -> Iterator[bytes]:
        """The bytes of each token, in increasing order of id."""
        start = 0
        for end in unpack(self.ends):
            yield self.data[start:end]
            start = end

    def items(self) -> Iterator[tuple[int, bytes]]:
        """Id and bytes of each token, in increasing order of id."""
        return zip(unpack(self.ids), self.tokens(), strict=True)


@dataclass(frozen=True, kw_only=True)
class BytePairModel:
    """Byte-level BPE.

    `semantics="rank"` is tiktoken's: a piece that is a token is that token; otherwise the adjacent pair whose joined
    bytes have the lowest rank is merged, again and again. `ranks` holds one rank a token (empty: a token's place in
    the vocabulary is its rank).
    `semantics="merges"` is Hugging Face's and minbpe's: only the pairs listed in `merges` are merged, the earliest
    first; with `ignore_merges` a piece that is a token is that token. `merges` holds the left and the right id of each
    merge; it makes the token with the joined bytes.
    """

    vocabulary: Vocabulary
    semantics: Literal["rank", "merges"]
    ranks: bytes = b""
    merges: bytes = b""
    ignore_merges: bool = False


@dataclass(frozen=True, kw_only=True)
class Split:
    """Cuts text into pieces: every match of `pattern` is one.

    `dialect` says which engine's rules the pattern is written for: `rust` (tiktoken's fancy-regex) or `oniguruma`
    (tokenizer.json). `unmatched` says what becomes of text between matches: a piece of its own (`keep`), nothing
    (`drop`, as tiktoken does) or an `error`. `name` is the published pattern's name where it has one.
    """

    pattern: str
    dialect: Literal["rust", "oniguruma"] = "rust"
    unmatched: Literal["keep", "drop", "error"] = "keep"
    name: str | None = None


@dataclass(frozen=True, kw_only=True)
class ByteLevel:
    """Hugging Face's ByteLevel step: a space in front of text that has none, GPT-2's pattern, both optional."""

    add_prefix_space: bool = False
    use_regex: bool = True
    trim_offsets: bool = True


@dataclass(frozen=True, kw_only=True)
class Normalizer:
    """A change of the text before it is split."""

    form: Literal["NFC", "NFD", "NFKC", "NFKD"]


@dataclass(frozen=True, kw_only=True)
class AddedToken:
    """A string that has an id of its own, matched in the text before the model sees it.

    A `special` one is matched only where the caller allows it; the others always. The flags are Hugging Face's:
    `single_word` wants no word character on either side, `lstrip` and `rstrip` take the white space there along,
    `normalized` matches in the normalized text instead of the original.
    """

    content: str
    id: int
    special: bool = True
    normalized: bool = False
    single_word: bool = False
    lstrip: bool = False
    rstrip: bool = False


@dataclass(frozen=True, kw_only=True)
class TemplatePart:
    """One place of a template: the sequence `A` or `B`, or the ids of a special token."""

    name: str
    type_id: int = 0
    ids: tuple[int, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class Template:
    """What `add_special_tokens=True` puts around one text (`single`) and around two (`pair`)."""

    single: tuple[TemplatePart, ...]
    pair: tuple[TemplatePart, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Spec:
    """Everything a tokenizer is. Two equal Specs give equal ids for every text.

    `offsets` is Hugging Face's ByteLevel post-processor: with `trim_offsets` a token's offsets leave the white space
    at its ends out. It never changes an id.
    """

    model: BytePairModel
    splits: tuple[Split | ByteLevel, ...] = ()
    normalizers: tuple[Normalizer, ...] = ()
    added_tokens: tuple[AddedToken, ...] = ()
    template: Template | None = None
    offsets: ByteLevel | None = None
    tie_break: Literal["ids", "first", "lex_max"] | None = None
    name: str | None = None

    @property
    def special_tokens(self) -> Mapping[str, int]:
        """The special tokens by content, in order of id."""
        special = (token for token in self.added_tokens if token.special)
        return {token.content: token.id for token in sorted(special, key=lambda token: token.id)}
