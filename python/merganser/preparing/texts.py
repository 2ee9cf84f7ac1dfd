"""From texts to rows: encode each, cut, put the template around, join, pad."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, cast

from merganser import _core, arguments
from merganser.errors import TextError
from merganser.preparing import rows
from merganser.preparing.results import Prepared, Span
from merganser.preparing.rows import Cut, Frame, Pad, Row, Step
from merganser.spec import ByteLevel, Component, Padding, Spec, Template, TemplatePart, Truncation

Text = str | bytes

# Invalid UTF-8 is an error, lone surrogates are replaced.
_POLICY = (False, True)

# Rows are not filled up to more tokens: a file or an argument that asks for it has a slip of the pen.
_MAX_LENGTH = 1 << 24


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
    found: list[Any] = []
    for number, text in enumerate(arguments.many(name, texts, one="prepare")):
        if is_split_into_words and hasattr(text, "__iter__") and not isinstance(text, str | bytes):
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
    return Encoded(ids, offsets, list(words), margins or [(0, 0)] * len(ids))


def paired(sides: Sequence[Sequence[Encoded]]) -> list[tuple[Encoded, ...]]:
    """Each text with its pair, where there are pairs.

    Raises `TextError` where there are more of ones than of the others.
    """
    numbers = [len(side) for side in sides]
    if len(set(numbers)) > 1:
        hint = "texts without a pair go into a batch of their own"
        raise TextError(f"pairs: expected {numbers[0]}, one a text, found {numbers[1]}", hint=hint)
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
        if length > _MAX_LENGTH:
            raise TextError(
                f"padding: expected rows of at most {_MAX_LENGTH} tokens, found a length of {length}",
                hint="pass a smaller max_length= or pad_to_multiple_of=",
            )
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
