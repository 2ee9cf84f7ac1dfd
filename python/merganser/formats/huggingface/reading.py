"""tokenizer.json → Spec."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sized
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeVar, cast

from merganser.errors import FormatError
from merganser.formats import files, strict_json
from merganser.formats.huggingface import byte_level, components, models
from merganser.formats.huggingface.table import PLACES
from merganser.formats.strict_json import Node
from merganser.spec import MAX_ID, AddedToken, BytePairModel, Model, Padding, Pipeline, Spec, Truncation

T = TypeVar("T")

_FLAGS = ("special", "normalized", "single_word", "lstrip", "rstrip")
_MEMBERS = ("id", "content", *_FLAGS)
_STRATEGIES: dict[str, Literal["longest_first", "only_first", "only_second"]] = {
    "LongestFirst": "longest_first",
    "OnlyFirst": "only_first",
    "OnlySecond": "only_second",
}
_SIDES: dict[str, Literal["left", "right"]] = {"Left": "left", "Right": "right"}


def read(path: Path) -> Spec:
    """The Spec that the tokenizer.json at `path` holds.

    Raises `FormatError` naming the line or the JSON path of what is wrong or not known, and `StorageError`.
    """
    data = files.read_bytes(path)
    files.refuse_foreign(data, path, expected="a tokenizer.json")
    return from_json(strict_json.parse(data, path))


def from_json(root: Node, later: Iterable[tuple[int | None, AddedToken]] = ()) -> Spec:
    """The Spec that a parsed tokenizer.json holds: byte-level BPE without a pipeline, whatever else with one.

    `later` are tokens that are added to those of the file, with the ids that they ought to have.
    """
    if "model" not in root.object():
        hint = "a vocab.json needs its merges.txt beside it, or a tokenizer.json"
        raise root.error(
            "the keys of a tokenizer.json, `model` among them", hint=hint if len(root.object()) > 99 else None
        )
    top = root.members("model", optional=("version", "truncation", "padding", "added_tokens", *PLACES))
    _check_version(top["version"])
    truncation, padding = _read_truncation(top["truncation"]), _read_padding(top["padding"])
    written = _read_added_tokens(top["added_tokens"])
    pipeline = Pipeline(**{place: components.read(top[place], place) for place in PLACES})
    around = byte_level.around(pipeline)
    ids, make_model = _read_model(top["model"], is_byte_level=around is not None)
    # A token that Unigram lists twice counts twice.
    num_tokens = len(cast("Sized", top["model"].object()["vocab"]))
    added = _with_later(written, later, ids, _check_ids(ids, num_tokens, written, top["added_tokens"]))
    model = make_model(added)
    if around is None or not isinstance(model, BytePairModel):
        return Spec(model=model, added_tokens=added, pipeline=pipeline, truncation=truncation, padding=padding)
    return Spec(model=model, added_tokens=added, truncation=truncation, padding=padding, **around._asdict())


def _check_version(version: Node) -> None:
    if version.value not in (None, "1.0"):
        raise version.error('version "1.0"', hint="the file is from another generation of tokenizers")


def _read_model(
    node: Node, *, is_byte_level: bool
) -> tuple[Mapping[str, int], Callable[[tuple[AddedToken, ...]], Model]]:
    """The id of each token as it is spelled, and what gives the model beside added tokens: of bytes, where it is."""
    kind = models.kind_of(node)
    if kind != "BPE":
        model, ids = models.read_unigram(node) if kind == "Unigram" else models.read_words(node, kind)
        return ids, lambda _: model
    members = models.members_of(node, "BPE")
    models.check_options(members)
    ids = models.read_ids(members["vocab"])
    prefix = members["continuing_subword_prefix"]
    pairs, used = models.read_merges(members["merges"], ids, "" if prefix.value is None else prefix.string())

    def make(added: tuple[AddedToken, ...]) -> Model:
        of_bytes = byte_level.model(members, ids, pairs, used, added) if is_byte_level else None
        return models.character_pairs(members, ids, pairs) if of_bytes is None else of_bytes

    return ids, make


# Added tokens


def _read_added_tokens(tokens: Node) -> list[AddedToken]:
    found: list[AddedToken] = []
    content_by_id: dict[int, str] = {}
    contents: set[str] = set()
    for index, value in enumerate(tokens.array() if tokens.value is not None else ()):
        # There may be hundreds of thousands, so only for one that is wrong its place is worked out.
        token = _plain_added_token(value) or _read_added_token(tokens.item(index))
        if token.content in contents:
            node = tokens.item(index).at("content", token.content)
            raise node.error("a content that no other added token has")
        if token.id in content_by_id:
            node = tokens.item(index).at("id", token.id)
            raise node.error(f"an id of its own, not that of {content_by_id[token.id]!r}")
        contents.add(token.content)
        content_by_id[token.id] = token.content
        found.append(token)
    return found


def _plain_added_token(value: object) -> AddedToken | None:
    """The added token, if all is as it should be."""
    if not isinstance(value, dict) or len(cast("dict[str, object]", value)) != len(_MEMBERS):
        return None
    id, content, special, normalized, single_word, lstrip, rstrip = map(cast("dict[str, object]", value).get, _MEMBERS)
    if type(id) is not int or not 0 <= id <= MAX_ID or not isinstance(content, str) or not content:
        return None
    if not isinstance(special, bool) or not isinstance(normalized, bool) or not isinstance(single_word, bool):
        return None
    if not isinstance(lstrip, bool) or not isinstance(rstrip, bool):
        return None
    return AddedToken(
        content=content,
        id=id,
        special=special,
        normalized=normalized,
        single_word=single_word,
        lstrip=lstrip,
        rstrip=rstrip,
    )


def _read_added_token(node: Node) -> AddedToken:
    checked = node.members(*_MEMBERS)
    flags = {flag: checked[flag].boolean() for flag in _FLAGS}
    content, id = checked["content"].string(), checked["id"].id()
    if not content:
        raise node.at("content", content).error("a string that is not empty")
    return AddedToken(content=content, id=id, **flags)


def _check_ids(ids: Mapping[str, int], num_tokens: int, added: Iterable[AddedToken], nodes: Node) -> int:
    """Hugging Face takes an added token's id from the vocabulary or, where it is not there, the next free one.

    Gives the next.
    """
    next_id = num_tokens
    taken = set(ids.values())
    for index, token in enumerate(added):
        is_new = token.content not in ids
        given = next_id if is_new else ids[token.content]
        if token.id != given:
            why = "the next after $.model.vocab, whatever the file says" if is_new else "that $.model.vocab gives it"
            hint = "Hugging Face numbers added tokens itself: put this one into $.model.vocab with its id"
            raise nodes.item(index).at("id", token.id).error(f"{given}, {why}", hint=hint)
        if is_new and token.id in taken:
            raise nodes.item(index).at("id", token.id).error("an id that no other token has")
        next_id = max(next_id, given + 1)
    return next_id


def _with_later(
    added: list[AddedToken], later: Iterable[tuple[int | None, AddedToken]], ids: Mapping[str, int], next_id: int
) -> tuple[AddedToken, ...]:
    """`added` and what is added later: a known token only with its flags, a new one with the id that it gets."""
    by_content = {token.content: token for token in added}
    taken = set(ids.values())
    for wanted, token in later:
        known = by_content.get(token.content)
        if not token.content or (known is not None and wanted is None):
            continue
        id = known.id if known is not None else ids.get(token.content, next_id)
        if known is None and token.content not in ids and id in taken:
            raise FormatError(
                f"added tokens: expected a free id for {token.content!r}, found {id}, which transformers gives it, "
                "to be that of another token",
                hint="the vocabulary has fewer tokens than ids: put this token into it",
            )
        next_id = max(next_id, id + 1)
        if wanted not in (None, id):
            message = (
                f"tokenizer_config.json: the token {token.content!r} gets the id {id}, as in transformers, not {wanted}"
            )
            warnings.warn(message, stacklevel=2)
        by_content[token.content] = replace(token, id=id)
    return tuple(sorted(by_content.values(), key=lambda token: token.id))


# Defaults of `prepare`


def _read_truncation(node: Node) -> Truncation | None:
    if node.value is None:
        return None
    members = node.members("max_length", "strategy", "stride", optional=["direction"])
    return Truncation(
        max_length=components.count(members["max_length"]),
        strategy=_choice(members["strategy"], _STRATEGIES),
        stride=components.count(members["stride"]),
        side="right" if members["direction"].value is None else _choice(members["direction"], _SIDES),
    )


def _read_padding(node: Node) -> Padding | None:
    if node.value is None:
        return None
    required = ("strategy", "direction", "pad_id", "pad_type_id", "pad_token")
    members = node.members(*required, optional=["pad_to_multiple_of"])
    length, multiple = None, members["pad_to_multiple_of"]
    if members["strategy"].value != "BatchLongest":
        if not isinstance(members["strategy"].value, dict):
            raise members["strategy"].error('"BatchLongest" or the key Fixed with a length')
        length = components.count(members["strategy"].members("Fixed")["Fixed"])
    return Padding(
        length=length,
        multiple_of=None if multiple.value is None else components.count(multiple),
        side=_choice(members["direction"], _SIDES),
        id=members["pad_id"].u32(),
        type_id=members["pad_type_id"].u32(),
        token=members["pad_token"].string(),
    )


def _choice(node: Node, choices: Mapping[str, T]) -> T:
    if not isinstance(node.value, str) or node.value not in choices:
        raise node.error("one of " + ", ".join(f'"{choice}"' for choice in choices))
    return choices[node.value]
