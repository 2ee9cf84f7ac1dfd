"""Rows of tokens: cut to a length, framed by special tokens, joined and padded, as Hugging Face's tokenizers do.

The rules are those of `Encoding` and the post-processors of tokenizers 0.23.3, their odd ends too: windows that
truncation cuts off keep the type ids they had, and without a post-processor a row of one text has no places.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from merganser.errors import TextError
from merganser.preparing.options import Side, Strategy
from merganser.spec import ByteLevel, Template

# Of ids, type ids, special-tokens mask and attention mask; then, where asked for, offsets, word ids and margins.
_FIELDS, _WITH_MARGINS = 4, 7


class Row:
    """Columns of one length, one entry a token.

    They are ids, type ids, special-tokens mask and attention mask; a row that says where its tokens come from has also
    offsets, word ids and margins (the white space at the two ends of each token). `places` holds the start and the end
    of each sequence; `overflow` the rows that truncation cut off.
    """

    __slots__ = ("columns", "overflow", "places")

    def __init__(
        self,
        columns: list[list[Any]],
        places: dict[int, tuple[int, int]] | None = None,
        overflow: Iterable[Row] = (),
    ) -> None:
        self.columns = columns
        self.places = places or {}
        self.overflow = list(overflow)

    def __len__(self) -> int:
        return len(self.columns[0])

    def window(self, start: int, stop: int) -> Row:
        return Row([column[start:stop] for column in self.columns])

    def place_as(self, sequence: int) -> None:
        self.places[sequence] = (0, len(self))

    def type_as(self, type_id: int) -> None:
        self.columns[1] = [type_id] * len(self)


def special(ids: Sequence[int], type_id: int, num_columns: int) -> Row:
    """The row of some special tokens."""
    count = len(ids)
    fills: tuple[Any, ...] = (1, 1, (0, 0), None, (0, 0))
    return Row([list(ids), [type_id] * count, *([fill] * count for fill in fills[: num_columns - 2])])


def encoded(ids: list[int], type_id: int, traced: Sequence[list[Any]] = ()) -> Row:
    """The row of a text as the model encodes it; `traced` has its offsets, word ids and margins."""
    count = len(ids)
    return Row([ids, [type_id] * count, [0] * count, [1] * count, *traced])


# Truncation


@dataclass(frozen=True, kw_only=True)
class Cut:
    """How rows are truncated. `length` counts the tokens of the texts, without those of the template."""

    length: int
    strategy: Strategy = "longest_first"
    stride: int = 0
    side: Side = "right"


def truncate(rows: list[Row], cut: Cut) -> list[Row]:
    """One row or the two of a pair, cut to `cut.length` tokens together; what is cut off is their `overflow`.

    Raises `TextError` where the text that may be cut is too short for that.
    """
    lengths = [len(row) for row in rows]
    excess = sum(lengths) - cut.length
    if cut.length == 0:
        return [_windows(row, 0, cut) for row in rows]
    if excess <= 0:
        return rows
    if cut.strategy == "longest_first":
        kept = _longest_first(lengths, cut.length)
        return [_windows(row, length, cut) for row, length in zip(rows, kept, strict=True)]
    target = 0 if cut.strategy == "only_first" else 1
    if target >= len(rows):
        raise TextError(
            f'truncation: expected a pair for strategy "only_second", found one text of {lengths[0]} tokens',
            hint='pass truncation="longest_first", or a pair',
        )
    if lengths[target] <= excess:
        which = ("first", "second")[target]
        raise TextError(
            f'truncation: expected the {which} text to have more than {excess} tokens, all that "{cut.strategy}" would '
            f"have to cut, found {lengths[target]}",
            hint='pass truncation="longest_first", or a greater max_length',
        )
    return [_windows(row, len(row) - excess, cut) if place == target else row for place, row in enumerate(rows)]


def _longest_first(lengths: list[int], total: int) -> list[int]:
    """The tokens that are left of each text: the longer of two is cut to the shorter first, then both alike.

    Where `total` is odd then, the longer text keeps one more; of two of one length the second.
    """
    if len(lengths) == 1:
        return [total]
    shorter, longer = sorted(lengths)
    longer = shorter if shorter > total else max(shorter, total - shorter)
    if shorter + longer > total:
        shorter = total // 2
        longer = shorter + total % 2
    return [longer, shorter] if lengths[0] > lengths[1] else [shorter, longer]


def _windows(row: Row, length: int, cut: Cut) -> Row:
    """The window of `row` that is kept, with the other windows as its overflow: each repeats `stride` tokens."""
    total = len(row)
    if length >= total:
        return row
    if length == 0:
        return Row([[] for _ in row.columns], overflow=[row])
    if cut.stride >= length:
        raise TextError(
            f"stride: expected less than the {length} tokens that are left of a text, found {cut.stride}",
            hint="pass a smaller stride, or a greater max_length",
        )
    step = length - cut.stride
    if cut.side == "right":
        spans = [(start, min(start + length, total)) for start in range(0, total, step)]
        last = next(place for place, (_, stop) in enumerate(spans) if stop == total)
    else:
        spans = [(max(stop - length, 0), stop) for stop in range(total, 0, -step)]
        last = next(place for place, (start, _) in enumerate(spans) if start == 0)
    kept, *others = (row.window(start, stop) for start, stop in spans[: last + 1])
    kept.overflow = others
    return kept


# The template


@dataclass(frozen=True, kw_only=True)
class Frame:
    """BERT's and RoBERTa's own post-processors: `cls A sep`, and then `B sep` or, of RoBERTa, `sep B sep`.

    RoBERTa's also trims offsets as ByteLevel's does, and knows no type id but 0.
    """

    cls: int
    sep: int
    roberta: ByteLevel | None = None


Step: TypeAlias = Template | ByteLevel | Frame


def num_special(steps: Iterable[Step], *, pair: bool) -> int:
    """The tokens that the steps put around one text, or around a pair."""
    return sum(_num_special(step, pair=pair) for step in steps)


def _num_special(step: Step, *, pair: bool) -> int:
    match step:
        case Template():
            return sum(len(part.ids or ()) for part in (step.pair if pair else step.single))
        case Frame():
            return (4 if step.roberta else 3) if pair else 2
        case ByteLevel():
            return 0


def processed(rows: list[Row], steps: Sequence[Step], *, add_special_tokens: bool) -> Row:
    """The one row of a text or a pair: after the post-processor's steps, end to end."""
    if not steps:
        if len(rows) == 1:
            return rows[0]
        for sequence, row in enumerate(rows):
            row.place_as(sequence)
        return joined(rows)
    for sequence, row in enumerate(rows):
        row.type_as(sequence)
        for window in (row, *row.overflow):
            window.place_as(sequence)
    for step in steps:
        match step:
            case Template():
                rows = _templated(rows, step, add_special_tokens=add_special_tokens)
            case Frame():
                rows = _framed(rows, step, add_special_tokens=add_special_tokens)
            case ByteLevel():
                for sequence, row in enumerate(rows):
                    for window in (row, *row.overflow):
                        _trim(window, step)
                    row.place_as(sequence)
    return joined(rows)


def joined(rows: Iterable[Row]) -> Row:
    """The rows end to end, and every combination of what truncation cut off of them."""
    whole: Row | None = None
    for row in rows:
        whole = Row(row.columns, row.places, row.overflow) if whole is None else _joined_two(whole, row)
    return Row([[] for _ in range(_FIELDS)]) if whole is None else whole


def _joined_two(first: Row, second: Row) -> Row:
    overflow = [_end_to_end(left, right) for left in first.overflow for right in (second, *second.overflow)]
    overflow += [_end_to_end(first, right) for right in second.overflow]
    whole = _end_to_end(first, second)
    whole.overflow = overflow
    return whole


def _end_to_end(first: Row, second: Row) -> Row:
    start = len(first)
    places = {sequence: (start + begin, start + end) for sequence, (begin, end) in second.places.items()}
    columns = [[*left, *right] for left, right in zip(first.columns, second.columns, strict=True)]
    return Row(columns, first.places | places)


def _templated(rows: list[Row], template: Template, *, add_special_tokens: bool) -> list[Row]:
    if len(rows) > 2:
        raise TextError(
            f"post-processor: expected one text or a pair for the template, found {len(rows)} parts of another step",
            hint="a tokenizer.json can have one template",
        )
    parts: list[Row] = []
    for part in template.pair if len(rows) == 2 else template.single:
        if part.ids is not None:
            if add_special_tokens:
                parts.append(special(part.ids, part.type_id, len(rows[0].columns)))
            continue
        sequence = 0 if part.name == "A" else 1
        if sequence >= len(rows):
            raise TextError(
                "post-processor: expected a template of A alone for one text, found B in it", hint="pass a pair"
            )
        row = rows[sequence]
        row.type_as(part.type_id)
        row.place_as(sequence)
        parts.append(Row(list(row.columns), dict(row.places), row.overflow))
    return parts


def _framed(rows: list[Row], frame: Frame, *, add_special_tokens: bool) -> list[Row]:
    if frame.roberta:
        for row in rows:
            for window in (row, *row.overflow):
                _trim(window, frame.roberta)
            row.type_as(0)
    if not add_special_tokens:
        return rows
    return [_in_frame(row, frame, sequence) for sequence, row in enumerate(rows)]


def _in_frame(row: Row, frame: Frame, sequence: int) -> Row:
    before = [frame.cls] if sequence == 0 else [frame.sep] if frame.roberta else []
    type_id = 0 if sequence == 0 or frame.roberta else 1
    framed = [_between(window, before, frame.sep, type_id) for window in (row, *row.overflow)]
    for window in framed:
        window.places = {min(sequence, 1): (len(before), len(window) - 1)}
        if frame.roberta:
            window.type_as(0)
    framed[0].overflow = framed[1:]
    return framed[0]


def _between(row: Row, before: list[int], sep: int, type_id: int) -> Row:
    count = len(row.columns)
    inner = Row([*row.columns[:2], [0] * len(row), [1] * len(row), *row.columns[4:]])
    whole = _end_to_end(inner, special([sep], type_id, count))
    return _end_to_end(special(before, type_id, count), whole) if before else whole


def _trim(row: Row, step: ByteLevel) -> None:
    """Leaves the white space at the ends of tokens out of their offsets, but for the space that a prefix put there."""
    if not step.trim_offsets or len(row.columns) < _WITH_MARGINS:
        return
    offsets, margins = row.columns[4], row.columns[6]
    row.columns[4] = [
        _trimmed(start, end, *margin, may_be_prefix=step.add_prefix_space and (place == 0 or start == 0))
        for place, ((start, end), margin) in enumerate(zip(offsets, margins, strict=True))
    ]


def _trimmed(start: int, end: int, leading: int, trailing: int, *, may_be_prefix: bool) -> tuple[int, int]:
    if leading and not (may_be_prefix and leading == 1):
        start = min(start + leading, end)
    if trailing and end >= trailing:
        end = max(end - trailing, start)
    return start, end


# Padding


@dataclass(frozen=True, kw_only=True)
class Pad:
    """What rows are filled up with, and on which side."""

    id: int
    type_id: int = 0
    side: Side = "right"


def pad(row: Row, length: int, filling: Pad) -> None:
    """Fills `row` and its overflow up to `length` tokens; longer ones stay as they are."""
    for window in (row, *row.overflow):
        missing = length - len(window)
        if missing <= 0:
            continue
        fills: tuple[Any, ...] = (filling.id, filling.type_id, 1, 0, (0, 0), None, (0, 0))
        added = [[fill] * missing for fill in fills[: len(window.columns)]]
        if filling.side == "right":
            window.columns = [column + more for column, more in zip(window.columns, added, strict=True)]
        else:
            window.columns = [more + column for column, more in zip(window.columns, added, strict=True)]
            window.places = {key: (start + missing, end + missing) for key, (start, end) in window.places.items()}
