"""Texts and pairs of texts as the rows that a model takes: ids, type ids, masks, and where each token comes from.

The order is that of Hugging Face's tokenizers: encode each text, truncate, put the template around, join, pad. Nothing
is kept between calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from merganser import _core, rows
from merganser.errors import TextError
from merganser.rows import Cut, Frame, Pad, Row, Step
from merganser.spec import ByteLevel, Component, Padding, Spec, Template, TemplatePart, Truncation

if TYPE_CHECKING:
    from numpy.typing import NDArray

Text = str | bytes
Span = tuple[int, int]

# Invalid UTF-8 is an error, lone surrogates are replaced.
_POLICY = (False, True)

_NO_OFFSETS = "pass offsets=True to `prepare`"


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A row for a model: lists of one length, one entry a token, as Hugging Face's `Encoding` has them.

    `type_ids` tell the texts of a pair apart where the template does. `attention_mask` is 0 for padding,
    `special_tokens_mask` 1 for padding and for what the template added. `offsets` are the start and the end of each
    token in its text (in its word, of a text given as words), in code points, (0, 0) for special tokens; `word_ids` the
    number of the piece (of the word) that it is part of, None for special tokens. Both are None unless asked for.
    `places` has where the tokens of each text of the pair start and end, and `overflow` the windows that truncation cut
    off, in order, where asked for.
    """

    ids: list[int]
    type_ids: list[int]
    attention_mask: list[int]
    special_tokens_mask: list[int]
    offsets: list[Span] | None = None
    word_ids: list[int | None] | None = None
    places: Mapping[int, Span] = field(default_factory=dict[int, Span])
    overflow: tuple[Prepared, ...] = ()

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def sequence_ids(self) -> list[int | None]:
        """For each token 0 or 1, the text of the pair that it is from, or None where it is from neither."""
        found: list[int | None] = [None] * len(self)
        for sequence in range(len(self.places) or 1):
            start, end = self._place(sequence)
            found[start:end] = [sequence] * (end - start)
        return found

    def token_to_sequence(self, token: int) -> int | None:
        """Which text of the pair the token at this place is from; None for special tokens."""
        if not self.places:
            return 0 if 0 <= token <= len(self) else None
        return next((key for key, (start, end) in sorted(self.places.items()) if start <= token < end), None)

    def token_to_chars(self, token: int) -> Span | None:
        """Start and end in its text of the token at this place; None for special tokens and beyond the row."""
        offsets = self._offsets()
        if self.token_to_sequence(token) is None or not 0 <= token < len(self):
            return None
        return offsets[token]

    def token_to_word(self, token: int) -> int | None:
        """The word that the token at this place is part of; None for special tokens and beyond the row."""
        words = self._words()
        if self.token_to_sequence(token) is None or not 0 <= token < len(self):
            return None
        return words[token]

    def char_to_token(self, char: int, sequence: int = 0) -> int | None:
        """The place of the first token that has the character at `char` of a text; None where no token has it."""
        start, end = self._place(sequence)
        for place, (first, last) in enumerate(self._offsets()[start:end], start):
            if first <= char < last:
                return place
        return None

    def char_to_word(self, char: int, sequence: int = 0) -> int | None:
        """The word that has the character at `char` of a text; None where no token has it."""
        token = self.char_to_token(char, sequence)
        return None if token is None else self.token_to_word(token)

    def word_to_tokens(self, word: int, sequence: int = 0) -> Span | None:
        """From which place to before which the tokens of a word are; None where it has none."""
        start, end = self._place(sequence)
        found: list[int] = []
        for place, of_token in enumerate(self._words()[start:end], start):
            if of_token is not None and of_token > word:
                break
            if of_token == word:
                found.append(place)
        return (found[0], found[-1] + 1) if found else None

    def word_to_chars(self, word: int, sequence: int = 0) -> Span | None:
        """Start and end of a word in its text; None where it has no tokens."""
        tokens = self.word_to_tokens(word, sequence)
        return tokens and (self._offsets()[tokens[0]][0], self._offsets()[tokens[1] - 1][1])

    def _place(self, sequence: int) -> Span:
        return self.places.get(sequence, (0, len(self)))

    def _offsets(self) -> list[Span]:
        if self.offsets is None:
            raise TextError("offsets: expected a row with offsets, found one without", hint=_NO_OFFSETS)
        return self.offsets

    def _words(self) -> list[int | None]:
        if self.word_ids is None:
            raise TextError("word_ids: expected a row with word ids, found one without", hint=_NO_OFFSETS)
        return self.word_ids


@dataclass(frozen=True, kw_only=True)
class PreparedBatch:
    """The rows of some texts or pairs: of each its first window, then, where asked for, its overflow.

    `samples` has the number of the text that each row is from.
    """

    rows: tuple[Prepared, ...]
    samples: list[int]

    @classmethod
    def of(cls, rows: Sequence[Prepared]) -> PreparedBatch:
        """The batch of one row a text, each followed by its overflow."""
        windows = [(sample, window) for sample, row in enumerate(rows) for window in (row, *row.overflow)]
        return cls(rows=tuple(window for _, window in windows), samples=[sample for sample, _ in windows])

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, place: int) -> Prepared:
        return self.rows[place]

    def __iter__(self) -> Iterator[Prepared]:
        return iter(self.rows)

    @property
    def ids(self) -> list[list[int]]:
        """The ids of each row."""
        return [row.ids for row in self.rows]

    @property
    def type_ids(self) -> list[list[int]]:
        """The type ids of each row."""
        return [row.type_ids for row in self.rows]

    @property
    def attention_mask(self) -> list[list[int]]:
        """The attention mask of each row."""
        return [row.attention_mask for row in self.rows]

    @property
    def special_tokens_mask(self) -> list[list[int]]:
        """The special-tokens mask of each row."""
        return [row.special_tokens_mask for row in self.rows]

    def arrays(self, dtype: Literal["int64", "int32", "uint32"] = "int64") -> dict[str, NDArray[Any]]:
        """`ids`, `type_ids`, `attention_mask` and `special_tokens_mask` as arrays of shape (rows, tokens) and `dtype`.

        With `offsets` of shape (rows, tokens, 2) where the rows have them, and `samples` of shape (rows,).

        Raises `TextError` where rows have different lengths, which padding would make equal.
        """
        if dtype not in ("int64", "int32", "uint32"):
            raise ValueError(f'dtype: expected "int64", "int32" or "uint32", found {dtype!r}')
        lengths = {len(row) for row in self.rows}
        if len(lengths) > 1:
            raise TextError(
                f"rows: expected one length for an array, found rows of {min(lengths)} to {max(lengths)} tokens",
                hint='pass padding="longest" to `prepare_batch`',
            )
        import numpy as np

        shape = (len(self.rows), max(lengths, default=0))
        names = ["ids", "type_ids", "attention_mask", "special_tokens_mask"]
        arrays: dict[str, NDArray[Any]] = {
            name: np.array([getattr(row, name) for row in self.rows], dtype=dtype).reshape(shape) for name in names
        }
        if self.rows and self.rows[0].offsets is not None:
            arrays["offsets"] = np.array([row.offsets for row in self.rows], dtype=dtype).reshape(*shape, 2)
        return arrays | {"samples": np.array(self.samples, dtype=dtype)}


class Encoded(NamedTuple):
    """A text as the model encodes it, one entry a token; the last three only where they are asked for."""

    ids: list[int]
    offsets: list[Span] | None = None
    word_ids: list[int | None] | None = None
    margins: list[Span] | None = None


def checked_texts(
    texts: Iterable[Text | Sequence[Text]], name: str, *, is_split_into_words: bool
) -> list[Text] | list[list[Text]]:
    """`texts` as a list of texts, or of lists of words.

    Raises `TypeError` where one is no text, naming it.
    """
    if isinstance(texts, str | bytes):
        raise TypeError(f"{name}: expected texts, found a {type(texts).__name__}; `prepare` takes one")
    found: list[Any] = []
    for number, text in enumerate(texts):
        if is_split_into_words and not isinstance(text, str | bytes):
            words = list(text)
            if all(isinstance(word, str | bytes) for word in words):  # pyright: ignore[reportUnnecessaryIsInstance]
                found.append(words)
                continue
        elif not is_split_into_words and isinstance(text, str | bytes):
            found.append(text)
            continue
        expected = "a list of words, for is_split_into_words" if is_split_into_words else "a text"
        hint = "" if is_split_into_words else "; `prepare_batch` takes many, is_split_into_words=True a list of words"
        raise TypeError(f"{name}: document {number}: expected {expected}, found {type(text).__name__}{hint}")
    return found


def encode(
    texts: list[Text] | list[list[Text]], engine: _core.Engine | _core.Chain, allowed: _core.Allowed
) -> list[Encoded]:
    """The ids of each text; each word of one that comes in words is encoded alone."""
    each = [text if isinstance(text, list) else [text] for text in texts]
    ids = iter(engine.encode_batch([word for words in each for word in words], allowed, _POLICY, None))
    return [Encoded([id for _ in words for id in next(ids)]) for words in each]


def trace(text: Text | list[Text], chain: _core.Chain, allowed: _core.Allowed) -> Encoded:
    """A text, or one that comes in words, with offsets and word ids."""
    ids, offsets, words, margins = chain.untrimmed(text, allowed, _POLICY)
    return Encoded(ids, offsets, list(words), margins or None)


def paired(sides: Sequence[Sequence[Encoded]]) -> list[tuple[Encoded, ...]]:
    """Each text with its pair, where there are pairs.

    Raises `ValueError` where there are more of ones than of the others.
    """
    numbers = [len(side) for side in sides]
    if len(set(numbers)) > 1:
        raise ValueError(f"pairs: expected {numbers[0]}, one a text, found {numbers[1]}")
    return list(zip(*sides, strict=True))


def prepared(
    texts: Sequence[tuple[Encoded, ...]],
    steps: Sequence[Step],
    *,
    add_special_tokens: bool,
    truncation: Truncation | None,
    padding: Padding | None,
    overflow: bool,
) -> list[Prepared]:
    """The row of each text or pair, padded together.

    Raises `TextError` where a text cannot be truncated as asked, naming it if it is not alone.
    """
    done: list[Row] = []
    for number, text in enumerate(texts):
        try:
            done.append(_row(text, steps, add_special_tokens, truncation, overflow=overflow))
        except TextError as error:
            if len(texts) == 1:
                raise
            raise TextError(f"document {number}: {error}", hint=error.hint) from None
    if padding is not None and done:
        length = max(map(len, done)) if padding.length is None else padding.length
        length += -length % (padding.multiple_of or 1)
        filling = Pad(id=padding.id, type_id=padding.type_id, side=padding.side)
        for row in done:
            rows.pad(row, length, filling)
    return [_frozen(row) for row in done]


def _row(
    text: tuple[Encoded, ...],
    steps: Sequence[Step],
    add_special_tokens: bool,
    truncation: Truncation | None,
    *,
    overflow: bool,
) -> Row:
    parts = [
        rows.encoded(part.ids, type_id, [column for column in part[1:] if column is not None])
        for type_id, part in enumerate(text)
    ]
    if truncation is not None:
        num_special = rows.num_special(steps, pair=len(parts) > 1) if add_special_tokens else 0
        parts = rows.truncate(parts, _cut(truncation, num_special))
        if not overflow:
            for part in parts:
                part.overflow = []
    return rows.processed(parts, steps, add_special_tokens=add_special_tokens)


def _cut(truncation: Truncation, num_special: int) -> Cut:
    length = truncation.max_length - num_special
    if length < 0:
        raise TextError(
            f"max_length: expected at least {num_special}, the special tokens of the template, "
            f"found {truncation.max_length}",
            hint="pass a greater max_length, or add_special_tokens=False",
        )
    if truncation.stride and truncation.stride >= length:
        raise TextError(
            f"stride: expected less than {length}, max_length without the special tokens, found {truncation.stride}",
            hint="pass a smaller stride, or a greater max_length",
        )
    return Cut(length=length, strategy=truncation.strategy, stride=truncation.stride, side=truncation.side)


def _frozen(row: Row) -> Prepared:
    ids, type_ids, special, attention, *traced = row.columns
    return Prepared(
        ids=ids,
        type_ids=type_ids,
        attention_mask=attention,
        special_tokens_mask=special,
        offsets=traced[0] if traced else None,
        word_ids=traced[1] if traced else None,
        places=row.places,
        overflow=tuple(_frozen(window) for window in row.overflow),
    )


def steps_of(spec: Spec) -> tuple[Step, ...]:
    """The steps of the post-processor."""
    if spec.pipeline is not None:
        processor = spec.pipeline.post_processor
        return () if processor is None else tuple(map(_step, processor.steps()))
    offsets, template = spec.offsets, spec.template
    if offsets is not None and template is not None and (frame := _roberta(template, offsets)) is not None:
        return (frame,)
    return tuple(step for step in (offsets, template) if step is not None)


def _step(component: Component) -> Step:
    options = dict(component.options)
    if component.type == "TemplateProcessing":
        single, pair = (cast("tuple[TemplatePart, ...]", options[name]) for name in ("single", "pair"))
        return Template(single=single, pair=pair)
    trim = ByteLevel(
        add_prefix_space=bool(options.get("add_prefix_space")), trim_offsets=bool(options.get("trim_offsets"))
    )
    if component.type == "ByteLevel":
        return trim
    cls, sep = (cast("TemplatePart", options[name]).ids or (0,) for name in ("cls", "sep"))
    return Frame(cls=cls[0], sep=sep[0], roberta=trim if component.type == "RobertaProcessing" else None)


def _roberta(template: Template, offsets: ByteLevel) -> Frame | None:
    """RoBERTa's post-processor, which a byte-level Spec holds as a template of its form and the trimming of offsets."""
    match template:
        case Template(
            single=(TemplatePart(ids=(cls,), type_id=0), TemplatePart(name="A"), TemplatePart(ids=(sep,))), pair=pair
        ) if [(part.ids, part.type_id) for part in pair] == [
            (ids, 0) for ids in ((cls,), None, (sep,), (sep,), None, (sep,))
        ]:
            return Frame(cls=cls, sep=sep, roberta=offsets)
        case _:
            return None
