"""Specs with more added tokens, which `Tokenizer.with_special_tokens` and `add_tokens` run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from merganser import arguments
from merganser.engines import Engine
from merganser.errors import TokenIdError
from merganser.spec import MAX_ID, AddedToken, Spec


def with_special_tokens(spec: Spec, engine: Engine, special_tokens: Mapping[str, int]) -> Spec:
    """`spec`, which `engine` runs, with these special tokens too.

    Raises `TokenIdError` where a content or an id is taken.
    """
    arguments.mapping("special_tokens", special_tokens, of="contents with their ids")
    added = list(spec.added_tokens)
    id_by_content = {token.content: token.id for token in added}
    content_by_id = {token.id: token.content for token in reversed(added)}
    hint = f"the first free id is {engine.num_ids()}"
    for content, id in special_tokens.items():
        if not isinstance(content, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"special_tokens: expected texts with their ids, found {type(content).__name__}")
        if not content:
            raise _empty(f"special token {id}")
        if type(id) is not int:
            raise TypeError(f"special token {content!r}: expected an int as its id, found {type(id).__name__}")
        if not 0 <= id <= MAX_ID:
            message = f"special token {content!r}: expected an id from 0 to {MAX_ID}, found {id}"
            raise TokenIdError(message, hint=hint)
        if content in id_by_content:
            if id_by_content[content] != id:
                found = f"special token {content!r}: expected its id {id_by_content[content]}, found {id}"
                raise TokenIdError(found, hint="a token that is there keeps its id")
            continue
        owner = content_by_id.get(id) or engine.id_to_token(id)
        if owner not in (None, content.encode("utf-8", "surrogatepass")):
            raise TokenIdError(
                f"special token {content!r}: expected an id of its own, found {id} of {owner!r}", hint=hint
            )
        if _is_merged(spec, engine, id):
            raise TokenIdError(
                f"special token {content!r}: expected an id of its own, found {id} of the model",
                hint="text is merged to that token, which a special one must never be",
            )
        added.append(AddedToken(content=content, id=id))
        content_by_id[id] = content
    return replace(spec, added_tokens=tuple(added), name=None)


def with_tokens(spec: Spec, engine: Engine, contents: Iterable[str], like: AddedToken) -> Spec:
    """`spec`, which `engine` runs, with added tokens of these contents too, which have the flags of `like`.

    Raises `TokenIdError` for an empty content, and `TypeError` for what is no text.
    """
    added = {token.content: token for token in spec.added_tokens}
    next_id, is_merged = engine.num_ids(), False
    for content in arguments.texts("contents", contents):
        if not content:
            raise _empty(f"added token {next_id}")
        id = added[content].id if content in added else _spelled_id(spec, engine, content)
        if id is None:
            id, next_id = next_id, next_id + 1
        is_merged = is_merged or (like.special and _is_merged(spec, engine, id))
        added[content] = replace(like, content=content, id=id)
    spec = replace(spec, added_tokens=tuple(added.values()), name=None)
    if not is_merged:
        return spec
    from merganser.formats import huggingface

    return huggingface.rewritten(spec)


def _empty(which: str) -> TokenIdError:
    hint = "leave it out: an empty text would be found everywhere"
    return TokenIdError(f"{which}: expected a text to match, found an empty one", hint=hint)


def _is_merged(spec: Spec, engine: Engine, id: int) -> bool:
    """Whether byte-level BPE merges bytes to this token. It cannot leave one out of a call, as a chain can."""
    token = engine.id_to_token(id) if spec.pipeline is None else None
    return token is not None and len(token) > 1 and engine.token_to_id(token) == id


def _spelled_id(spec: Spec, engine: Engine, content: str) -> int | None:
    """The id of the vocabulary's token that a tokenizer.json spells so."""
    from merganser.formats import byte_alphabet

    if spec.pipeline is not None:
        return engine.token_to_id(content.encode("utf-8", "surrogatepass"))
    is_spelled = byte_alphabet.is_spelled(content)
    return engine.token_to_id(byte_alphabet.unspell(content)) if is_spelled else None
