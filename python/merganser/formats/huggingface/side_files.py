"""The files beside a tokenizer.json: tokenizer_config.json, special_tokens_map.json, added_tokens.json, chat templates.

They say which tokens have which role and carry text along; and they may add tokens, which then get the ids that
transformers 5 gives them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from merganser.errors import FormatError, StorageError
from merganser.formats import files, strict_json
from merganser.formats.strict_json import Node
from merganser.spec import AddedToken, Spec, Surroundings

CONFIG = "tokenizer_config.json"
TEMPLATE = "chat_template.jinja"
TEMPLATES = "additional_chat_templates"
ROLES = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
# transformers' own way to say that texts have no greatest length.
NO_MAX_LENGTH = int(1e30)
_FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")


@dataclass(frozen=True, kw_only=True)
class SideFiles:
    """What the side files say: of the Spec, tokens to add by the id that they ought to have, and options of a class."""

    surroundings: Surroundings = field(default_factory=Surroundings)
    added: tuple[tuple[int | None, AddedToken], ...] = ()
    config: Node | None = None

    def option(self, name: str, default: object) -> Node:
        """The option `name` of tokenizer_config.json."""
        if self.config is None:
            return Node(Path(CONFIG), "$", default)
        return self.config.at(name, self.config.object().get(name, default))


def read(folder: Path) -> SideFiles:
    """What the side files in `folder` say, as transformers reads them.

    Raises `FormatError` naming file and JSON path of what is wrong, and `StorageError`.
    """
    config = _read_object(folder / CONFIG)
    members: dict[str, Node] = {}
    if config is not None:
        members = {key: config.at(key, value) for key, value in config.object().items()}
    is_old = members.get("added_tokens_decoder", Node(folder, "$", None)).value is None
    if is_old and (old := _read_object(folder / "special_tokens_map.json")) is not None:
        members |= {key: old.at(key, value) for key, value in old.object().items()}
    roles = {key: _token(node, special=True) for key, node in members.items() if _is_role(key, node.value)}
    named, extra = _extra(members)
    roles |= named
    decoder = [] if is_old else _decoder(members["added_tokens_decoder"])
    if is_old and (added := _read_object(folder / "added_tokens.json")) is not None:
        special = {token.content for token in [*roles.values(), *extra]}
        decoder = [_old_added(added.at(content, id), content, special) for content, id in added.object().items()]
    with_role = {token.content for token in roles.values()}
    decoder = [(id, replace(token, special=token.special or token.content in with_role)) for id, token in decoder]
    contents = {token.content for _, token in decoder}
    new = [token for token in [*_in_order(roles), *extra] if token.content not in contents]
    return SideFiles(
        surroundings=_surroundings(folder, members, {key: token.content for key, token in roles.items()}, extra),
        added=(*sorted(decoder, key=lambda item: item[0] or 0), *((None, token) for token in new)),
        config=config,
    )


def _read_object(path: Path) -> Node | None:
    if not path.is_file():
        return None
    data = files.read_bytes(path)
    files.refuse_foreign(data, path, expected="a JSON object")
    root = strict_json.parse(data, path)
    root.object()
    return root


def _is_role(key: str, value: object) -> bool:
    return key.endswith("_token") and isinstance(value, str | dict)


def _token(node: Node, *, special: bool) -> AddedToken:
    """A token as a text or as an object with flags; what its id is, others say."""
    if isinstance(node.value, str):
        return AddedToken(content=node.string(), id=0, special=special, normalized=not special)
    members = node.object()
    flags = {flag: node.at(flag, members[flag]).boolean() for flag in _FLAGS if flag in members}
    is_special = special or flags.get("special", False)
    flags = {"normalized": not is_special} | flags | {"special": is_special}
    return AddedToken(content=node.at("content", members.get("content")).string(), id=0, **flags)


def _decoder(node: Node) -> list[tuple[int | None, AddedToken]]:
    found: list[tuple[int | None, AddedToken]] = []
    for key, value in node.object().items():
        token = node.at(key, value)
        if not key.isascii() or not key.isdigit() or int(key) > strict_json.MAX_U32:
            raise FormatError(f"{token.file}: {token.place}: expected an id for a key, found {key!r}")
        found.append((int(key), _token(token, special=False)))
    return found


def _old_added(node: Node, content: str, special: set[str]) -> tuple[int, AddedToken]:
    is_special = content in special
    return node.u32(), AddedToken(content=content, id=0, special=is_special, normalized=not is_special)


def _extra(members: Mapping[str, Node]) -> tuple[dict[str, AddedToken], list[AddedToken]]:
    """Special tokens beyond the roles: those with a name, and a list of others."""
    named: dict[str, AddedToken] = {}
    listed: dict[str, AddedToken] = {}
    for key in ("additional_special_tokens", "extra_special_tokens"):
        node = members.get(key)
        if node is None or node.value is None:
            continue
        if isinstance(node.value, dict):
            items = node.object().items()
            named |= {name: _token(node.at(name, value), special=True) for name, value in items}
        else:
            listed |= {token.content: token for token in (_token(item, special=True) for item in node.items())}
    return named, list(listed.values())


def _in_order(roles: Mapping[str, AddedToken]) -> Iterable[AddedToken]:
    """One token a content, in transformers' order of roles."""
    names = [*(name for name in ROLES if name in roles), *(name for name in roles if name not in ROLES)]
    return {roles[name].content: roles[name] for name in reversed(names)}.values().__reversed__()


def _surroundings(
    folder: Path, members: Mapping[str, Node], roles: Mapping[str, str], extra: Iterable[AddedToken]
) -> Surroundings:
    length = members.get("model_max_length")
    clean_up, names = members.get("clean_up_tokenization_spaces"), members.get("model_input_names")
    return Surroundings(
        roles=tuple(roles.items()),
        extra_special_tokens=tuple(token.content for token in extra),
        max_length=None if length is None or length.value is None else _length(length),
        chat_templates=tuple(_templates(folder, members.get("chat_template")).items()),
        padding_side=_side(members.get("padding_side")),
        truncation_side=_side(members.get("truncation_side")),
        clean_up_tokenization_spaces=None if clean_up is None or clean_up.value is None else clean_up.boolean(),
        model_input_names=None if names is None else tuple(name.string() for name in names.items()),
    )


def _length(node: Node) -> int | None:
    """How many ids the model takes; None for transformers' 10^30, which old files write as a float."""
    value = node.value
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not value >= 0
        or value != int(min(value, 1e300))
    ):
        raise node.error("a number of ids")
    return None if value >= NO_MAX_LENGTH else int(value)


def _side(node: Node | None) -> Literal["left", "right"] | None:
    if node is None or node.value is None:
        return None
    if node.value not in ("left", "right"):
        raise node.error('"left" or "right"')
    return node.value


def _templates(folder: Path, node: Node | None) -> dict[str, str]:
    """The chat templates by name. Files count before tokenizer_config.json."""
    found: dict[str, str] = {}
    if (folder / TEMPLATE).is_file():
        found["default"] = _read_text(folder / TEMPLATE)
    if (folder / TEMPLATES).is_dir():
        names = [name for name in files.names_in(folder / TEMPLATES) if name.endswith(".jinja")]
        found |= {name.removesuffix(".jinja"): _read_text(folder / TEMPLATES / name) for name in names}
    if found or node is None or node.value is None:
        return found
    if isinstance(node.value, str):
        return {"default": node.string()}
    entries = [item.members("name", "template") for item in node.items()]
    return {entry["name"].string(): entry["template"].string() for entry in entries}


def _read_text(path: Path) -> str:
    data = files.read_bytes(path)
    try:
        return data.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        message = f"{path}: byte {error.start}: expected UTF-8, found byte 0x{data[error.start]:02X}"
        raise FormatError(message, hint="save it as UTF-8") from error


# Writing


def write(spec: Spec, folder: Path) -> None:
    """Writes tokenizer_config.json and the chat templates of `spec` into `folder`.

    Raises `FormatError` for a template's name that no file can have, and `StorageError`.
    """
    config = json.dumps(_config(spec), indent=2, ensure_ascii=False) + "\n"
    templates = dict(spec.surroundings.chat_templates)
    files.write_atomically(folder / CONFIG, config.encode())
    for name, template in templates.items():
        if not name or "/" in name or "\\" in name or "\0" in name or name.startswith("."):
            raise FormatError(f"chat template: expected a name that a file can have, found {name!r}")
        if name == "default":
            files.write_atomically(folder / TEMPLATE, template.encode())
            continue
        try:
            (folder / TEMPLATES).mkdir(exist_ok=True)
        except OSError as error:
            raise StorageError(f"{folder / TEMPLATES}: expected a folder, found: {error.strerror or error}") from error
        files.write_atomically(folder / TEMPLATES / f"{name}.jinja", template.encode())


def _config(spec: Spec) -> dict[str, object]:
    token_by_id: dict[int, AddedToken] = {}
    for token in spec.added_tokens:
        token_by_id.setdefault(token.id, token)
    decoder = {
        str(id): {
            "content": token.content,
            "lstrip": token.lstrip,
            "normalized": token.normalized,
            "rstrip": token.rstrip,
            "single_word": token.single_word,
            "special": token.special,
        }
        for id, token in sorted(token_by_id.items())
    }
    around = spec.surroundings
    roles = dict(around.roles)
    named = {name: content for name, content in roles.items() if not name.endswith("_token")}
    config: dict[str, object] = {
        "added_tokens_decoder": decoder,
        "clean_up_tokenization_spaces": bool(around.clean_up_tokenization_spaces),
        **{name: content for name, content in roles.items() if name.endswith("_token")},
        "model_max_length": NO_MAX_LENGTH if around.max_length is None else around.max_length,
        "tokenizer_class": "PreTrainedTokenizerFast",
    }
    optional = {
        "extra_special_tokens": named or list(around.extra_special_tokens),
        "padding_side": around.padding_side,
        "truncation_side": around.truncation_side,
        "model_input_names": around.model_input_names,
        "chat_template": _template_entry(dict(around.chat_templates)),
    }
    return config | {key: value for key, value in optional.items() if value}


def _template_entry(templates: Mapping[str, str]) -> object:
    """Readers of before version 5 take templates from the configuration."""
    if list(templates) == ["default"]:
        return templates["default"]
    return [{"name": name, "template": template} for name, template in templates.items()]
