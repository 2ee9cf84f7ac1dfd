"""What `prepare` gives: a row for a model, and a batch of rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from merganser.errors import TextError

if TYPE_CHECKING:
    from numpy.typing import NDArray

Span = tuple[int, int]

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
            message = f'dtype: expected "int64", "int32" or "uint32", found {dtype!r}'
            raise TextError(message, hint="`astype` of an array makes any other")
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
