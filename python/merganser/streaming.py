"""Texts and ids as they come: `encoded` of a tokenizer's `encode_iterable`, `DecodeStream` of its `decode_stream`."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, cast

from merganser import arguments
from merganser.errors import TextError, TokenIdError

if TYPE_CHECKING:
    from merganser import _core
    from merganser.engines import Engine
    from merganser.spec import Component
    from merganser.tokenizer import Tokenizer

# Some sentences at a time.
_BLOCK_CHARACTERS = 1024
_is_byte = re.compile(rb"<0x[0-9A-Fa-f]{2}>").fullmatch
# So many ids a stream keeps before it forgets the first of them.
_WINDOW = 16
_SURROGATE = re.compile("[\ud800-\udfff]")

UnknownIds = Literal["error", "replace", "skip"]


def encoded(texts: Iterable[str], engine: Engine, allowed: _core.Allowed) -> Iterator[int]:
    """The ids of `texts` end to end, some sentences encoded at a time, where the engine knows a safe cut."""
    for block in _blocks(texts, lambda text: engine.last_safe_cut(text, allowed)):
        yield from _encode_block(block, engine, allowed)


def _encode_block(block: str, engine: Engine, allowed: _core.Allowed) -> Iterable[int]:
    if len(block) > 4 * _BLOCK_CHARACTERS:
        return engine.encode(block, allowed, (False, True))
    # Slower than `encode`, which remembers the words it met and grows by that: here memory must not grow.
    return (id for id, *_ in engine.tokens(block, allowed, (False, True), "byte"))


def _blocks(texts: Iterable[str], last_safe_cut: Callable[[str], int | None]) -> Iterator[str]:
    """`texts` cut anew where it is safe, into blocks of some `_BLOCK_CHARACTERS`."""
    held, wanted = "", _BLOCK_CHARACTERS
    for text in arguments.collection("texts", texts, of="texts"):
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"texts: expected str, found {type(text).__name__}")
        for at in range(0, len(text), _BLOCK_CHARACTERS):
            held += text[at : at + _BLOCK_CHARACTERS]
            if len(held) < wanted:
                continue
            held = _without_surrogates(held)
            cut = last_safe_cut(held) or 0
            if cut:
                yield held[:cut]
                held = held[cut:]
            # Without a safe place the next look is twice as far on, so that looking does not cost the square.
            wanted = _BLOCK_CHARACTERS if cut else 2 * len(held)
    yield held


def _without_surrogates(text: str) -> str:
    """`text` with pairs joined and lone surrogates replaced, but for one at the end whose other half may follow."""
    if _SURROGATE.search(text) is None:
        return text
    end = len(text) - ("\ud800" <= text[-1] < "\udc00")
    return text[:end].encode("utf-16", "surrogatepass").decode("utf-16", "replace") + text[end:]


class DecodeStream:
    """Text from ids as they come, made by `Tokenizer.decode_stream`.

    The prompt's ids give no text; where the prompt ends inside a character, the first new text is that whole character.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        prompt_ids: Iterable[int] = (),
        *,
        errors: str = "replace",
        skip_special_tokens: bool = False,
        unknown_ids: UnknownIds = "error",
    ) -> None:
        arguments.error_handler(errors)
        prompt_ids = arguments.collection("prompt_ids", prompt_ids, of="ids")
        is_of_bytes = tokenizer.spec.pipeline is None
        stream = _ByteStream if is_of_bytes else _TextStream
        self._push = stream(tokenizer, errors, skip_special_tokens, unknown_ids).push
        self._push(list(prompt_ids), final=False)

    def push(self, id: int) -> str:
        """The characters that `id` completes; empty while one is unfinished.

        Raises `TokenIdError` for an id that no token has; the stream goes on as if it had not come.
        """
        return self._push([id], final=False)

    def finish(self) -> str:
        """What is left at the end: of an unfinished character, as `errors` says, or of a text that was still held."""
        return self._push([], final=True)


class _ByteStream:
    def __init__(self, tokenizer: Tokenizer, errors: str, skip_special_tokens: bool, unknown_ids: UnknownIds) -> None:
        self._decode_bytes = tokenizer.decode_bytes
        self._skip_special_tokens = skip_special_tokens
        self._unknown_ids: UnknownIds = unknown_ids
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors)

    def push(self, ids: list[int], *, final: bool) -> str:
        data = self._decode_bytes(ids, skip_special_tokens=self._skip_special_tokens, unknown_ids=self._unknown_ids)
        try:
            return self._decoder.decode(data, final)
        except UnicodeDecodeError as error:
            message = f"stream: expected UTF-8, found {error.object[error.start : error.end]!r}"
            raise TextError(message, hint='pass errors="replace", or take decode_bytes') from error


class _TextStream:
    """Decodes the last ids anew with each that comes, and gives what is new and no id to come can change.

    That is nothing while the last tokens are bytes, which count only together, and nothing before the end where the
    decoder looks at the whole text.
    """

    def __init__(self, tokenizer: Tokenizer, errors: str, skip_special_tokens: bool, unknown_ids: UnknownIds) -> None:
        self._tokenizer = tokenizer
        self._options = {"errors": errors, "skip_special_tokens": skip_special_tokens}
        self._unknown_ids: UnknownIds = unknown_ids
        self._skipped_ids = set(tokenizer.special_tokens.values()) if skip_special_tokens else set[int]()
        pipeline = tokenizer.spec.pipeline
        decoder = pipeline.decoder if pipeline is not None else None
        steps = [] if decoder is None else list(decoder.steps())
        self._is_held_to_the_end = not _goes_forward(steps)
        # So many characters may be cut off the beginning of what is decoded.
        self._num_cut = sum(cast("int", step["start"]) for step in steps if step.type == "Strip")
        self._window: list[int] = []
        self._num_given = 0

    def push(self, ids: list[int], *, final: bool) -> str:
        for id in ids:
            # Refuses an unknown one before it is kept.
            self._decode([id])
        self._window += ids
        if not final and (self._is_held_to_the_end or self._ends_in_bytes()):
            return ""
        text = self._decode(self._window)
        end = len(text) if final else len(text.rstrip("\ufffd"))
        given, self._num_given = text[self._num_given : end], max(end, self._num_given)
        if end == len(text) and len(self._window) > _WINDOW:
            self._forget()
        return given

    def _decode(self, ids: list[int]) -> str:
        return self._tokenizer.decode(ids, **self._options, unknown_ids=self._unknown_ids)  # pyright: ignore[reportArgumentType]

    def _ends_in_bytes(self) -> bool:
        last = next((id for id in reversed(self._window) if id not in self._skipped_ids), None)
        try:
            return last is not None and _is_byte(self._tokenizer.id_to_token(last)) is not None
        except TokenIdError:
            return False

    def _forget(self) -> None:
        """Keeps the last ids alone: so many that what is special about the first token concerns none to come."""
        for size in (1, 2, 4, 8):
            kept = self._window[-size:]
            if len(text := self._decode(kept)) > self._num_cut:
                self._window, self._num_given = kept, len(text)
                return


def _goes_forward(steps: Sequence[Component]) -> bool:
    """Whether what is decoded stays as it is when ids follow, but for bytes and unfinished characters at its end."""
    is_joined = False
    for step in steps:
        if step.type in ("Fuse", "ByteLevel"):
            is_joined = True
        elif is_joined:
            if step.type != "Strip" or step["stop"] != 0:
                return False
        elif step.type in ("BPEDecoder", "CTC") or (step.type == "Replace" and not _leaves_byte_tokens(step)):
            return False
    return True


def _leaves_byte_tokens(replace: Component) -> bool:
    pattern = cast("Component", replace["pattern"])
    texts = f"{pattern['pattern']}{replace['content']}"
    return pattern.type == "String" and not re.search("[<>0-9A-Fa-fx]", texts)
