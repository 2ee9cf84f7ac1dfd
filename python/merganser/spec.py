"""`Spec`: everything a tokenizer is, as frozen values over packed buffers.

Every format reads into a Spec and writes from one, training makes one, and the engine is built from one.
Packed buffers are `bytes` of little-endian u32, so a Spec compares, hashes, pickles and crosses into the engine as is.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Literal, TypeAlias, cast

from merganser.errors import FormatError

# The tables of the engine reach up to here.
MAX_ID = (1 << 24) - 1
_MAX_SHOWN = 64


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


def _short_repr(self: object) -> str:
    """As a dataclass shows itself, without what is as always, and what is long only by its size."""
    values = [(field, getattr(self, field.name)) for field in fields(self)]  # pyright: ignore[reportArgumentType]
    shown = (f"{field.name}={_short(value)}" for field, value in values if value != field.default)
    return f"{type(self).__name__}({', '.join(shown)})"


def _short(value: object) -> str:
    if isinstance(value, bytes | str) and len(value) > _MAX_SHOWN:
        return f"<{len(value)} {'bytes' if isinstance(value, bytes) else 'characters'}>"
    shown = repr(value)
    if len(shown) <= _MAX_SHOWN or isinstance(value, Model):
        return shown
    if isinstance(value, tuple):
        return f"<{len(value)} of {type(value[0]).__name__}>"  # pyright: ignore[reportUnknownArgumentType]
    return f"{type(value).__name__}(…)"


@dataclass(frozen=True, kw_only=True)
class Vocabulary:
    """Tokens in increasing order of id; token `i` has the bytes `data[ends[i-1]:ends[i]]` and the id `ids[i]`."""

    data: bytes
    ends: bytes
    ids: bytes

    def __repr__(self) -> str:
        return f"<{len(self)} tokens>"

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

    __repr__ = _short_repr


@dataclass(frozen=True, kw_only=True)
class CharacterPairModel:
    """BPE over tokens as tokenizer.json spells them, with every option that it has there.

    The tokens are UTF-8; a merge is the left and the right id, the earliest first, and makes the token of the left
    one's text and of the right one's without `continuing_subword_prefix`. Characters without a token are their bytes'
    tokens (`byte_fallback`) or `unk_token`, a run of which is one under `fuse_unk`, or are left out. `dropout` only
    concerns training a model: 0 or none of it is what encoding takes.
    """

    vocabulary: Vocabulary
    merges: bytes = b""
    dropout: float | None = None
    unk_token: str | None = None
    continuing_subword_prefix: str | None = None
    end_of_word_suffix: str | None = None
    fuse_unk: bool = False
    byte_fallback: bool = False
    ignore_merges: bool = False

    __repr__ = _short_repr


@dataclass(frozen=True, kw_only=True)
class UnigramModel:
    """A score a token: a piece becomes the tokens of the greatest sum. `scores` are little-endian f64 by id."""

    vocabulary: Vocabulary
    scores: bytes
    unk_id: int | None = None
    byte_fallback: bool = False

    __repr__ = _short_repr


@dataclass(frozen=True, kw_only=True)
class WordPieceModel:
    """The longest token first, again and again; tokens inside of a word start with `continuing_subword_prefix`.

    A word of more characters than `max_input_chars_per_word`, or of which a part is no token, is `unk_token`.
    """

    vocabulary: Vocabulary
    unk_token: str = "[UNK]"
    continuing_subword_prefix: str = "##"
    max_input_chars_per_word: int = 100

    __repr__ = _short_repr


@dataclass(frozen=True, kw_only=True)
class WordLevelModel:
    """A piece is a token, or else `unk_token`."""

    vocabulary: Vocabulary
    unk_token: str = "<unk>"

    __repr__ = _short_repr


Model: TypeAlias = BytePairModel | CharacterPairModel | UnigramModel | WordPieceModel | WordLevelModel

_NAME_BY_MODEL: Mapping[type[Model], str] = {
    BytePairModel: "byte-level BPE behind other steps",
    CharacterPairModel: "BPE over characters",
    UnigramModel: "Unigram",
    WordPieceModel: "WordPiece",
    WordLevelModel: "WordLevel",
}


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


@dataclass(frozen=True, kw_only=True, slots=True)
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


Value: TypeAlias = "str | int | float | Component | TemplatePart | tuple[Value, ...] | None"


@dataclass(frozen=True, kw_only=True)
class Component:
    """A component of a tokenizer.json: its type, and all its options with their values, sorted by name.

    Values are plain, or Components, parts of a template and tuples of these. A pattern is a Component too, of the type
    `Regex` (in Oniguruma's dialect) or `String`, with the option `pattern`. Which options a type has is the table in
    `formats/huggingface/table.py`.
    """

    type: str
    options: tuple[tuple[str, Value], ...] = ()

    def __getitem__(self, name: str) -> Value:
        """The value of the option `name`."""
        return dict(self.options)[name]

    def steps(self) -> Iterator[Component]:
        """The steps of a Sequence, however nested; of any other component, itself."""
        if self.type != "Sequence":
            yield self
        else:
            ((_, inside),) = self.options
            for step in cast("tuple[Component, ...]", inside):
                yield from step.steps()

    def __repr__(self) -> str:
        shown = [repr(self.type), *(f"{name}={_short(value)}" for name, value in self.options)]
        return f"Component({', '.join(shown)})"


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    """What is around a model that a tokenizer.json describes component by component."""

    normalizer: Component | None = None
    pre_tokenizer: Component | None = None
    post_processor: Component | None = None
    decoder: Component | None = None


@dataclass(frozen=True, kw_only=True)
class Truncation:
    """The greatest number of ids of a row, and how a longer one is cut: `stride` ids are in two windows."""

    max_length: int
    strategy: Literal["longest_first", "only_first", "only_second"] = "longest_first"
    stride: int = 0
    side: Literal["left", "right"] = "right"


@dataclass(frozen=True, kw_only=True)
class Padding:
    """To which length rows are filled up (None: that of the longest), on which side, and with what."""

    length: int | None = None
    multiple_of: int | None = None
    side: Literal["left", "right"] = "right"
    id: int = 0
    type_id: int = 0
    token: str = "[PAD]"


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What the files beside a tokenizer.json say of a tokenizer. None of it changes an id.

    `roles` are names such as `eos_token` with the content of the token; `chat_templates` are the texts of templates by
    name, of which most models have one, `default`; `max_length` is how many ids the model takes.
    """

    roles: tuple[tuple[str, str], ...] = ()
    extra_special_tokens: tuple[str, ...] = ()
    max_length: int | None = None
    chat_templates: tuple[tuple[str, str], ...] = ()
    padding_side: Literal["left", "right"] | None = None
    truncation_side: Literal["left", "right"] | None = None
    clean_up_tokenization_spaces: bool = False
    model_input_names: tuple[str, ...] | None = None

    __repr__ = _short_repr


@dataclass(frozen=True, kw_only=True)
class Spec:
    """Everything a tokenizer is. Two equal Specs give equal ids for every text.

    A byte-level BPE model has `splits`, `normalizers`, `template` and `offsets`; any other model has a `pipeline` in
    their place. `offsets` is Hugging Face's ByteLevel post-processor: with `trim_offsets` a token's offsets leave the
    white space at its ends out. It never changes an id. `truncation` and `padding` are what `prepare` does unless it
    is told otherwise; `encode` does neither.
    """

    model: Model
    splits: tuple[Split | ByteLevel, ...] = ()
    normalizers: tuple[Normalizer, ...] = ()
    added_tokens: tuple[AddedToken, ...] = ()
    template: Template | None = None
    offsets: ByteLevel | None = None
    pipeline: Pipeline | None = None
    truncation: Truncation | None = None
    padding: Padding | None = None
    surroundings: Surroundings = Surroundings()
    tie_break: Literal["ids", "first", "lex_max"] | None = None
    name: str | None = None

    __repr__ = _short_repr

    @property
    def byte_pairs(self) -> BytePairModel:
        """The model, where it is byte-level BPE.

        Raises `FormatError` where it is another.
        """
        if not isinstance(self.model, BytePairModel) or self.pipeline is not None:
            found = _NAME_BY_MODEL[type(self.model)]
            raise FormatError(f"model: expected byte-level BPE, found {found}", hint="tokenizer.json holds any model")
        return self.model

    @property
    def special_tokens(self) -> Mapping[str, int]:
        """The special tokens by content, in order of id."""
        special = (token for token in self.added_tokens if token.special)
        return {token.content: token.id for token in sorted(special, key=lambda token: token.id)}
