"""tokenizer.json → Spec."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from merganser.errors import FormatError
from merganser.formats import files, strict_json
from merganser.formats.huggingface.vocabulary import read_model
from merganser.formats.strict_json import MAX_U32, Node
from merganser.spec import AddedToken, ByteLevel, Normalizer, Spec, Split, Template, TemplatePart

_FORMS = ("NFC", "NFD", "NFKC", "NFKD")
_LATER = "the parts that other models use come with a later version"
_COMPONENTS = ("added_tokens", "normalizer", "pre_tokenizer", "post_processor", "decoder")
_FLAGS = ("special", "normalized", "single_word", "lstrip", "rstrip")


def read(path: Path) -> Spec:
    """The Spec that the tokenizer.json at `path` holds.

    Raises `FormatError` naming the line or the JSON path of what is wrong or not known, and `StorageError`.
    """
    data = files.read_bytes(path)
    files.refuse_foreign(data, path, expected="a tokenizer.json")
    return from_json(strict_json.parse(data, path))


def from_json(root: Node) -> Spec:
    """The Spec that a parsed tokenizer.json holds."""
    try:
        return _read_components(root)
    except RecursionError as error:
        raise FormatError(f"{root.file}: expected components of moderate depth, found a deep nest") from error


def _read_components(root: Node) -> Spec:
    if "model" not in root.object():
        hint = "a vocab.json needs its merges too: convert both to a tokenizer.json with transformers"
        raise root.error(
            "the keys of a tokenizer.json, `model` among them", hint=hint if len(root.object()) > 99 else None
        )
    top = root.members("model", optional=("version", "truncation", "padding", *_COMPONENTS))
    _check_version(top["version"])
    for key in ("truncation", "padding"):
        if top[key].value is not None:
            raise top[key].error("null", hint=f"a Spec holds no {key}: set it to null, and ask for it when encoding")
    added_tokens = _read_added_tokens(top["added_tokens"])
    template, offsets = _read_post_processor(top["post_processor"])
    spec = Spec(
        model=read_model(top["model"], added_tokens),
        normalizers=tuple(_read_normalizers(top["normalizer"])),
        splits=_read_splits(top["pre_tokenizer"]),
        added_tokens=tuple(token for _, token in added_tokens),
        template=template,
        offsets=offsets,
    )
    _check_decoder(top["decoder"])
    return spec


def _check_version(version: Node) -> None:
    if version.value not in (None, "1.0"):
        raise version.error('version "1.0"', hint="the file is from another generation of tokenizers")


def _read_added_tokens(tokens: Node) -> list[tuple[Node, AddedToken]]:
    found: list[tuple[Node, AddedToken]] = []
    content_by_id: dict[int, str] = {}
    contents: set[str] = set()
    for node in tokens.items() if tokens.value is not None else ():
        token = _read_added_token(node)
        if not token.content:
            raise node.at("content", token.content).error("a string that is not empty")
        if token.content in contents:
            raise node.at("content", token.content).error("a content that no other added token has")
        if token.id in content_by_id:
            raise node.at("id", token.id).error(f"an id of its own, not that of {content_by_id[token.id]!r}")
        contents.add(token.content)
        content_by_id[token.id] = token.content
        found.append((node, token))
    return found


def _read_added_token(node: Node) -> AddedToken:
    members = node.object()
    id, content = members.get("id"), members.get("content")
    flags = {flag: value for flag in _FLAGS if isinstance(value := members.get(flag), bool)}
    if type(id) is int and 0 <= id <= MAX_U32 and isinstance(content, str) and len(flags) == len(members) - 2 == 5:
        return AddedToken(content=content, id=id, **flags)
    # There may be hundreds of thousands, so only for one that is wrong every place is worked out.
    checked = node.members("id", "content", *_FLAGS)
    flags = {flag: checked[flag].boolean() for flag in _FLAGS}
    return AddedToken(content=checked["content"].string(), id=checked["id"].u32(), **flags)


def _sequence(component: Node, key: str) -> Iterator[Node]:
    """The steps of a component: none for null, those of a Sequence however nested, or the component itself."""
    if component.value is not None:
        yield from _steps(component, key)


def _steps(component: Node, key: str) -> Iterator[Node]:
    if component.kind() != "Sequence":
        yield component
    else:
        for step in component.members("type", key)[key].items():
            yield from _steps(step, key)


def _read_normalizers(component: Node) -> Iterator[Normalizer]:
    for step in _sequence(component, "normalizers"):
        form = step.kind()
        if form not in _FORMS:
            raise step.error(f"one of {', '.join(_FORMS)}, Sequence", hint=_LATER)
        step.members("type")
        yield Normalizer(form=form)


def _read_splits(component: Node) -> tuple[Split | ByteLevel, ...]:
    steps: list[Split | ByteLevel] = []
    for step in _sequence(component, "pretokenizers"):
        if steps and isinstance(steps[-1], ByteLevel):
            raise step.error("nothing after ByteLevel", hint=_LATER)
        if step.kind() == "ByteLevel":
            steps.append(_read_byte_level(step))
        elif step.kind() == "Split":
            steps.append(_read_split(step))
        else:
            raise step.error("one of ByteLevel, Split, Sequence", hint=_LATER)
    if not steps or not isinstance(last := steps[-1], ByteLevel):
        raise component.error("ByteLevel as the last step", hint="without it tokens are characters, not bytes")
    # This one only turns bytes into their printable characters; every Spec does.
    return tuple(steps if last.use_regex or last.add_prefix_space else steps[:-1])


def _read_byte_level(component: Node) -> ByteLevel:
    members = component.members("type", "add_prefix_space", "trim_offsets", optional=["use_regex"])
    return ByteLevel(
        add_prefix_space=members["add_prefix_space"].boolean(),
        trim_offsets=members["trim_offsets"].boolean(),
        use_regex=members["use_regex"].boolean(default=True),
    )


def _read_split(component: Node) -> Split:
    members = component.members("type", "pattern", "behavior", "invert")
    if members["behavior"].string() != "Isolated":
        raise members["behavior"].error('"Isolated"', hint=_LATER)
    if members["invert"].boolean():
        raise members["invert"].error("false", hint=_LATER)
    kinds = members["pattern"].members(optional=["Regex", "String"])
    regex, string = (kinds[kind] for kind in ("Regex", "String"))
    if (regex.value is None) == (string.value is None):
        raise members["pattern"].error("either Regex or String")
    pattern = _escape(string.string()) if regex.value is None else regex.string()
    if not pattern:
        raise members["pattern"].error("a pattern that is not empty")
    return Split(pattern=pattern, dialect="oniguruma")


def _escape(text: str) -> str:
    return "".join(f"\\{character}" if character in r"\.+*?()|[]{}^$" else character for character in text)


def _read_post_processor(component: Node) -> tuple[Template | None, ByteLevel | None]:
    template: Template | None = None
    offsets: ByteLevel | None = None
    for step in _sequence(component, "processors"):
        if template is not None or (offsets is not None and step.kind() != "TemplateProcessing"):
            raise step.error("at most ByteLevel and then TemplateProcessing", hint=_LATER)
        if step.kind() == "ByteLevel":
            offsets = _read_byte_level(step)
        elif step.kind() == "TemplateProcessing":
            template = _read_template(step)
        elif step.kind() == "RobertaProcessing":
            template, offsets = _read_roberta(step)
        else:
            raise step.error("one of ByteLevel, TemplateProcessing, RobertaProcessing, Sequence", hint=_LATER)
    return template, offsets


def _read_template(component: Node) -> Template:
    members = component.members("type", "single", "pair", "special_tokens")
    ids_by_name: dict[str, tuple[int, ...]] = {}
    for name, value in members["special_tokens"].object().items():
        node = members["special_tokens"].at(name, value)
        entry = node.members("id", "ids", "tokens")
        if entry["id"].string() != name:
            raise entry["id"].error(f'"{name}"')
        ids_by_name[name] = tuple(item.u32() for item in entry["ids"].items())
        if len(entry["tokens"].array()) != len(ids_by_name[name]):
            raise entry["tokens"].error(f"as many tokens as ids, {len(ids_by_name[name])}")
    return Template(
        single=tuple(_read_template_part(part, "A", ids_by_name) for part in members["single"].items()),
        pair=tuple(_read_template_part(part, "AB", ids_by_name) for part in members["pair"].items()),
    )


def _read_template_part(component: Node, sequences: str, ids_by_name: dict[str, tuple[int, ...]]) -> TemplatePart:
    kinds = component.members(optional=["SpecialToken", "Sequence"])
    if (kinds["SpecialToken"].value is None) == (kinds["Sequence"].value is None):
        raise component.error("either SpecialToken or Sequence")
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


def _read_roberta(component: Node) -> tuple[Template, ByteLevel]:
    members = component.members("type", "sep", "cls", "trim_offsets", "add_prefix_space")
    cls, sep = (_read_token_and_id(members[key]) for key in ("cls", "sep"))
    offsets = ByteLevel(
        add_prefix_space=members["add_prefix_space"].boolean(), trim_offsets=members["trim_offsets"].boolean()
    )
    first, second = TemplatePart(name="A"), TemplatePart(name="B")
    return Template(single=(cls, first, sep), pair=(cls, first, sep, sep, second, sep)), offsets


def _read_token_and_id(component: Node) -> TemplatePart:
    items = list(component.items())
    if len(items) != 2:
        raise component.error("a token and its id")
    return TemplatePart(name=items[0].string(), ids=(items[1].u32(),))


def _check_decoder(component: Node) -> None:
    """ByteLevel's flags change nothing in decoding."""
    steps = list(_sequence(component, "decoders"))
    for step in steps:
        if step.kind() != "ByteLevel":
            raise step.error("ByteLevel", hint=_LATER)
        _read_byte_level(step)
    if len(steps) != 1:
        raise component.error("ByteLevel once", hint="without it ids do not decode to text")
