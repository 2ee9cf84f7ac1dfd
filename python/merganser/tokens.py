"""Tokens: `Token` of a text, and `TokenTable`, a vocabulary as the bytes that its tokens stand for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from merganser.engines import Engine
from merganser.spec import MAX_ID, Spec


class Token(NamedTuple):
    """A token of a text: its id, its bytes, and where in the text it starts and ends."""

    id: int
    bytes: bytes
    start: int
    end: int


class TokenTable(Mapping[bytes, int]):
    """The tokens of the model by their bytes, in order of id.

    A chain spells its tokens as tokenizer.json does. Where one of its steps is ByteLevel, that is in GPT-2's byte
    alphabet, and a token is the bytes it stands for; what is not in the alphabet is its text.
    """

    def __init__(self, spec: Spec, engine: Engine) -> None:
        self._spec = spec
        self._engine = engine

    def __repr__(self) -> str:
        return f"<vocabulary of {len(self)} tokens>"

    def __getitem__(self, token: bytes) -> int:
        if not isinstance(token, bytes):  # pyright: ignore[reportUnnecessaryIsInstance]
            hint = "; those of a text are `text.encode()`" if isinstance(token, str) else ""
            raise TypeError(f"token: expected bytes, found {type(token).__name__}{hint}")
        id = self.id_of(token)
        if id is None:
            raise KeyError(token)
        return id

    def __iter__(self) -> Iterator[bytes]:
        tokens = self._spec.model.vocabulary.tokens()
        return map(_unspelled, tokens) if self._is_spelled else tokens

    def __len__(self) -> int:
        return len(self._spec.model.vocabulary)

    def id_of(self, token: bytes) -> int | None:
        """The id of the token with these bytes."""
        if not self._is_spelled:
            return self._engine.token_to_id(token)
        from merganser.formats import byte_alphabet

        id = self._engine.token_to_id(byte_alphabet.spell(token).encode())
        return self._engine.token_to_id(token) if id is None and self._is_text(token) else id

    def bytes_of(self, id: int) -> bytes | None:
        """The bytes of the token with this id, which for an added one are its content's."""
        token = self._engine.id_to_token(id) if 0 <= id <= MAX_ID else None
        return token if token is None or not self._is_spelled or self._is_text(token) else _unspelled(token)

    @cached_property
    def _is_spelled(self) -> bool:
        pipeline = self._spec.pipeline
        if pipeline is None:
            return False
        parts = (pipeline.normalizer, pipeline.pre_tokenizer, pipeline.decoder)
        return any(step.type == "ByteLevel" for part in parts if part is not None for step in part.steps())

    @cached_property
    def _contents(self) -> frozenset[bytes]:
        return frozenset(token.content.encode() for token in self._spec.added_tokens)

    def _is_text(self, token: bytes) -> bool:
        """Whether the chain holds these bytes as they are, and not spelled."""
        from merganser.formats import byte_alphabet

        return token in self._contents or not byte_alphabet.is_spelled(token.decode("utf-8", "surrogateescape"))


def _unspelled(token: bytes) -> bytes:
    from merganser.formats import byte_alphabet

    text = token.decode("utf-8", "surrogateescape")
    return byte_alphabet.unspell(text) if byte_alphabet.is_spelled(text) else token
