"""Components of a tokenizer.json ↔ `Component`, by the table in `table`."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias, cast

from merganser.errors import FormatError
from merganser.formats.dialects import rust_from_oniguruma
from merganser.formats.huggingface.table import COMPONENTS, PLACES, REQUIRED, Option, Place
from merganser.formats.strict_json import Node
from merganser.spec import Component, Pipeline, TemplatePart, Value

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"

# The original's parser goes no deeper than this.
_MAX_DEPTH = 50
_MAX_COUNT = (1 << 63) - 1


def read(node: Node, place: Place) -> Component | None:
    """The component at `node`, which stands where `place` says; None for null.

    Raises `FormatError` naming the JSON path of what is wrong or not known.
    """
    return None if node.value is None else _read(node, place, 0)


def _read(node: Node, place: Place, depth: int) -> Component:
    types = COMPONENTS[place]
    kind = node.kind()
    if kind not in types:
        raise node.at("type", kind).error(f"one of {', '.join(types)}", hint="schema 1.0 has no other component here")
    if depth > _MAX_DEPTH:
        raise FormatError(f"{node.file}: {node.place}: expected at most {_MAX_DEPTH} Sequences inside each other")
    options = types[kind]
    if kind == "TemplateProcessing":
        return Component(type=kind, options=_template_options(node))
    if kind == "Metaspace":
        node = _modern_metaspace(node)
    required = [option.name for option in options if option.default is REQUIRED]
    optional = [option.name for option in options if option.default is not REQUIRED]
    members = node.members("type", *required, optional=optional)
    found = ((option.name, _value(members[option.name], option, place, depth, node.object())) for option in options)
    return Component(type=kind, options=tuple(sorted(found)))


def _value(node: Node, option: Option, place: Place, depth: int, members: Mapping[str, object]) -> Value:
    if option.name not in members and option.default is not REQUIRED:
        return option.default
    if isinstance(option.kind, tuple):
        if node.value not in option.kind:
            raise node.error("one of " + ", ".join(f'"{choice}"' for choice in option.kind))
        return node.string()
    if option.kind == "steps":
        return tuple(_read(step, place, depth + 1) for step in node.items())
    return _READERS[option.kind](node)


def _modern_metaspace(node: Node) -> Node:
    """Metaspace with `prepend_scheme`, which once was `add_prefix_space`; `str_rep` repeats the replacement."""
    members = dict(node.object())
    members.pop("str_rep", None)
    if "add_prefix_space" in members:
        old = node.at("add_prefix_space", members.pop("add_prefix_space"))
        if not old.boolean() and members.setdefault("prepend_scheme", "never") != "never":
            raise old.error('true, for `prepend_scheme` is not "never"')
    return Node(node.file, node.place, members)


# Values


def _boolean_or_null(node: Node) -> bool | None:
    return None if node.value is None else node.boolean()


def _character(node: Node) -> str:
    if len(text := node.string()) != 1:
        raise node.error("one character")
    return text


def count(node: Node, least: int = 0) -> int:
    """The number, an integer of at least `least`."""
    if type(node.value) is not int or not least <= node.value <= _MAX_COUNT:
        raise node.error(f"an integer from {least} to {_MAX_COUNT}")
    return node.value


def _pattern(node: Node) -> Component:
    kinds = node.members(optional=["Regex", "String"])
    given = [kind for kind in ("Regex", "String") if kinds[kind].value is not None]
    if len(given) != 1:
        raise node.error("either Regex or String")
    kind = given[0]
    pattern = kinds[kind].string()
    if kind == "Regex":
        if not pattern:
            raise kinds[kind].error("a pattern that is not empty", hint='a String "" matches before each character')
        try:
            rust_from_oniguruma(pattern)
        except FormatError as error:
            raise FormatError(f"{node.file}: {kinds[kind].place}: {error}", hint=error.hint) from error
    return Component(type=kind, options=(("pattern", pattern),))


def _charsmap(node: Node) -> str:
    """SentencePiece's: the size of a table of u32, the table, and the texts that it points to."""
    text = node.string()
    try:
        data = b64decode(text, validate=True)
        size = int.from_bytes(data[:4], "little")
        data[4 + size :].decode("utf-8")
    except (binascii.Error, ValueError):
        data, size = b"", 1
    if len(data) < 4 or size % 4 or 4 + size > len(data):
        raise node.error("a SentencePiece charsmap in base64")
    return text


def _token_and_id(node: Node) -> TemplatePart:
    items = list(node.items())
    if len(items) != 2:
        raise node.error("a token and its id")
    return TemplatePart(name=items[0].string(), ids=(items[1].id(),))


_READERS: dict[str, Callable[[Node], Value]] = {
    "boolean": Node.boolean,
    "boolean or null": _boolean_or_null,
    "string": Node.string,
    "character": _character,
    "count": count,
    "count from 1": lambda node: count(node, 1),
    "pattern": _pattern,
    "charsmap": _charsmap,
    "token and id": _token_and_id,
}


def _template_options(node: Node) -> tuple[tuple[str, Value], ...]:
    members = node.members("type", "single", "pair", "special_tokens")
    ids_by_name: dict[str, tuple[int, ...]] = {}
    for name, value in members["special_tokens"].object().items():
        entry_node = members["special_tokens"].at(name, value)
        entry = entry_node.members("id", "ids", "tokens")
        if entry["id"].string() != name:
            raise entry["id"].error(f'"{name}"')
        ids_by_name[name] = tuple(item.id() for item in entry["ids"].items())
        if len(entry["tokens"].array()) != len(ids_by_name[name]):
            raise entry["tokens"].error(f"as many tokens as ids, {len(ids_by_name[name])}")
    pair = tuple(_template_part(part, "AB", ids_by_name) for part in members["pair"].items())
    single = tuple(_template_part(part, "A", ids_by_name) for part in members["single"].items())
    return ("pair", pair), ("single", single)


def _template_part(node: Node, sequences: str, ids_by_name: Mapping[str, tuple[int, ...]]) -> TemplatePart:
    kinds = node.members(optional=["SpecialToken", "Sequence"])
    if (kinds["SpecialToken"].value is None) == (kinds["Sequence"].value is None):
        raise node.error("either SpecialToken or Sequence")
    is_sequence = kinds["SpecialToken"].value is None
    members = kinds["Sequence" if is_sequence else "SpecialToken"].members("id", "type_id")
    name, type_id = members["id"].string(), members["type_id"].u32()
    if is_sequence:
        if name not in sequences or len(name) != 1:
            raise members["id"].error(" or ".join(f'"{sequence}"' for sequence in sequences))
        return TemplatePart(name=name, type_id=type_id)
    if name not in ids_by_name:
        raise members["id"].error("a name that special_tokens lists")
    return TemplatePart(name=name, type_id=type_id, ids=ids_by_name[name])


# Writing


def to_json(component: Component | None, token_by_id: Mapping[int, str]) -> Json:
    """`component` as tokenizer.json has it, every option spelled out."""
    return None if component is None else _written(component, token_by_id, is_for_engine=False)


def to_engine(component: Component | None) -> Json:
    """`component` as the engine takes it: as tokenizer.json has it, with regexes in Rust's dialect."""
    return None if component is None else _written(component, {}, is_for_engine=True)


def components_for_engine(pipeline: Pipeline) -> dict[str, Json]:
    """The components of a pipeline by place, as the engine takes them."""
    return {place: to_engine(getattr(pipeline, place)) for place in PLACES}


def _written(component: Component, token_by_id: Mapping[int, str], *, is_for_engine: bool) -> Json:
    if component.type in ("Regex", "String"):
        pattern = cast("str", component["pattern"])
        is_translated = is_for_engine and component.type == "Regex"
        return {component.type: rust_from_oniguruma(pattern) if is_translated else pattern}
    written: dict[str, Json] = {"type": component.type}
    for name, value in component.options:
        if isinstance(value, Component):
            written[name] = _written(value, token_by_id, is_for_engine=is_for_engine)
        elif isinstance(value, TemplatePart):
            written[name] = [value.name, *(value.ids or ())]
        elif isinstance(value, tuple) and component.type == "TemplateProcessing":
            written[name] = [_part(part) for part in cast("tuple[TemplatePart, ...]", value)]
        elif isinstance(value, tuple):
            inside = cast("tuple[Component, ...]", value)
            written[name] = [_written(step, token_by_id, is_for_engine=is_for_engine) for step in inside]
        else:
            written[name] = value
    if component.type == "TemplateProcessing":
        parts = cast("tuple[TemplatePart, ...]", component["single"]) + cast(
            "tuple[TemplatePart, ...]", component["pair"]
        )
        written["special_tokens"] = special_tokens(parts, token_by_id)
    return written


def special_tokens(parts: tuple[TemplatePart, ...], token_by_id: Mapping[int, str]) -> dict[str, Json]:
    """The special tokens of a template, with their ids and tokens."""
    entries: dict[str, Json] = {}
    for part in parts:
        if part.ids is not None:
            tokens: list[Json] = [token_by_id.get(id, part.name) for id in part.ids]
            entry: Json = {"id": part.name, "ids": list(part.ids), "tokens": tokens}
            if entries.setdefault(part.name, entry) != entry:
                raise FormatError(
                    f"tokenizer.json: expected the same ids wherever the template has {part.name!r}, found others"
                )
    return entries


def _part(part: TemplatePart) -> Json:
    kind = "Sequence" if part.ids is None else "SpecialToken"
    return {kind: {"id": part.name, "type_id": part.type_id}}


# What surrounds a text


def template_of(post_processor: Component | None) -> tuple[TemplatePart, ...] | None:
    """What the steps of a post-processor put around one text; None where they put nothing.

    Raises `FormatError` where the original has no answer: a TemplateProcessing after one that left over two parts.
    """
    rows = [[TemplatePart(name="A")]]
    framing = [step for step in (post_processor.steps() if post_processor else ()) if step.type != "ByteLevel"]
    for step in framing:
        rows = _framed(rows, step)
    return tuple(part for row in rows for part in row) if framing else None


def _framed(rows: list[list[TemplatePart]], step: Component) -> list[list[TemplatePart]]:
    if step.type == "TemplateProcessing":
        if len(rows) not in (1, 2):
            raise FormatError(
                f"post_processor: expected one text or two before TemplateProcessing, found {len(rows)} parts"
            )
        parts = cast("tuple[TemplatePart, ...]", step["single" if len(rows) == 1 else "pair"])
        return [_typed(rows[part.name == "B"], part.type_id) if part.ids is None else [part] for part in parts]
    cls, sep = cast("TemplatePart", step["cls"]), cast("TemplatePart", step["sep"])
    is_bert = step.type == "BertProcessing"
    framed = [[cls, *rows[0], sep]] if rows else []
    framed += [[*row, sep] if is_bert else [sep, *row, sep] for row in rows[1:]]
    return [_typed(row, int(is_bert and index > 0)) for index, row in enumerate(framed)]


def _typed(row: list[TemplatePart], type_id: int) -> list[TemplatePart]:
    return [replace(part, type_id=type_id) for part in row]
