"""Spec → tokenizer.json."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from json.encoder import encode_basestring  # pyright: ignore[reportUnknownVariableType]
from pathlib import Path
from typing import cast

from merganser.errors import FormatError
from merganser.formats import byte_alphabet, files, strict_json
from merganser.formats.coverage import matches_every_character
from merganser.formats.dialects import oniguruma_from_rust
from merganser.formats.huggingface import components
from merganser.formats.huggingface.components import Json
from merganser.formats.huggingface.model_writing import lines, spelled_model
from merganser.formats.huggingface.reading import from_json
from merganser.formats.huggingface.table import PLACES
from merganser.formats.ranks import merges_of_ranks, ranks_of
from merganser.spec import (
    AddedToken,
    ByteLevel,
    BytePairModel,
    Component,
    Normalizer,
    Padding,
    Spec,
    Split,
    Template,
    Truncation,
    unpack,
)


def write(spec: Spec, path: Path) -> tuple[str, ...]:
    """Writes `spec` as a tokenizer.json, with the same ids in Hugging Face's tokenizers; gives what it leaves out.

    Raises `FormatError` where a tokenizer.json cannot hold the Spec, and `StorageError` where `path` cannot be written.
    """
    text, left_out = to_json(spec)
    files.write_atomically(path, text.encode())
    return left_out


def rewritten(spec: Spec) -> Spec:
    """`spec` as it is read from the tokenizer.json that it is written to."""
    path = Path("tokenizer.json")
    read = from_json(strict_json.parse(to_json(spec)[0].encode(), path))
    return replace(read, surroundings=spec.surroundings)


def to_json(spec: Spec) -> tuple[str, tuple[str, ...]]:
    """The text of the tokenizer.json, and a sentence on each thing that it leaves out."""
    added, left_out = _one_name_an_id(spec.added_tokens)
    if spec.pipeline is None:
        ids = _ids_with_added(_spelled_ids(spec.byte_pairs), added)
        model = _byte_pairs(spec.byte_pairs, ids)
        names = {id: token for token, id in ids.items()} | {token.id: token.content for token in added}
        around: dict[str, Json] = {
            "normalizer": _normalizer(spec.normalizers),
            "pre_tokenizer": _pre_tokenizer(spec.splits),
            "post_processor": _post_processor(spec, names),
            "decoder": _byte_level(ByteLevel(add_prefix_space=True)),
        }
    else:
        names = {id: token.decode() for id, token in spec.model.vocabulary.items()}
        _check_numbers({token: id for id, token in names.items()}, len(names), added)
        model = spelled_model(spec.model, names)
        names |= {token.id: token.content for token in added}
        around = {place: components.to_json(getattr(spec.pipeline, place), names) for place in PLACES}
    defaults: dict[str, Json] = {
        "version": "1.0",
        "truncation": _truncation(spec.truncation),
        "padding": _padding(spec.padding),
    }
    head = json.dumps(defaults, indent=2, ensure_ascii=False).removesuffix("\n}")
    tokens = lines((json.dumps(_added_token(token), ensure_ascii=False) for token in added), indent=4)
    middle = json.dumps(around, indent=2, ensure_ascii=False).removeprefix("{").removesuffix("\n}")
    return f'{head},\n  "added_tokens": [{tokens}],{middle},\n  "model": {model}\n}}\n', left_out


def _truncation(truncation: Truncation | None) -> Json:
    if truncation is None:
        return None
    return {
        "direction": truncation.side.title(),
        "max_length": truncation.max_length,
        "strategy": truncation.strategy.title().replace("_", ""),
        "stride": truncation.stride,
    }


def _padding(padding: Padding | None) -> Json:
    if padding is None:
        return None
    return {
        "strategy": "BatchLongest" if padding.length is None else {"Fixed": padding.length},
        "direction": padding.side.title(),
        "pad_to_multiple_of": padding.multiple_of,
        "pad_id": padding.id,
        "pad_type_id": padding.type_id,
        "pad_token": padding.token,
    }


def _refuse(what: str, *, hint: str | None = None) -> FormatError:
    return FormatError(f"tokenizer.json: expected {what}", hint=hint)


# Tokens


def _one_name_an_id(added: Iterable[AddedToken]) -> tuple[list[AddedToken], tuple[str, ...]]:
    """The added tokens by id. Hugging Face holds one content an id, so that of later ones is left out."""
    kept: dict[int, AddedToken] = {}
    left_out: list[str] = []
    contents: set[str] = set()
    for token in added:
        if not token.content or not _is_unicode(token.content):
            raise _refuse(f"added tokens of Unicode text that is not empty, found {token.content!r}")
        if token.content in contents:
            raise _refuse(f"added tokens of different contents, found {token.content!r} twice")
        contents.add(token.content)
        if kept.setdefault(token.id, token) is not token:
            first = kept[token.id].content
            left_out.append(
                f"tokenizer.json holds one added token an id: {token.content!r} left out for {first!r}, both {token.id}"
            )
    return [kept[id] for id in sorted(kept)], tuple(left_out)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _spelled_ids(model: BytePairModel) -> dict[str, int]:
    """Id of each token of the model, spelled in the byte alphabet, by id."""
    ids: dict[str, int] = {}
    spelled = byte_alphabet.spell(model.vocabulary.data)
    start = 0
    for id, end in zip(unpack(model.vocabulary.ids), unpack(model.vocabulary.ends), strict=True):
        token, start = spelled[start:end], end
        if (first := ids.setdefault(token, id)) != id:
            raise _refuse(f"one token with the bytes {byte_alphabet.unspell(token)!r}, found {first} and {id}")
    return ids


def _ids_with_added(ids: dict[str, int], added: list[AddedToken]) -> dict[str, int]:
    """The vocabulary to write: with the added tokens where Hugging Face would number them otherwise.

    It looks an added token up in the vocabulary, and numbers those that are not there from the vocabulary's size on.
    """
    token_by_id = {id: token for token, id in ids.items()}
    new = [token for token in added if token.content not in ids]
    for token in added:
        if ids.get(token.content, token.id) != token.id or token_by_id.get(token.id, token.content) != token.content:
            other = ids.get(token.content, token.id)
            hint = "give it an id that no token has"
            if other != token.id:
                hint = f"the file spells another token so: give the added token a name other than {token.content!r}"
            raise _refuse(
                f"added tokens of their own or with the id of the same token, found {token.content!r} with the id "
                f"{token.id}, where token {other} is {token_by_id[other]!r}",
                hint=hint,
            )
    if [token.id for token in new] == list(range(len(ids), len(ids) + len(new))):
        return ids
    together = ids | {token.content: token.id for token in new}
    return dict(sorted(together.items(), key=lambda item: item[1]))


def _check_numbers(ids: dict[str, int], next_id: int, added: list[AddedToken]) -> None:
    """Hugging Face numbers added tokens that the vocabulary lacks itself, and here the vocabulary stays as it is."""
    for token in added:
        given = ids.get(token.content, next_id)
        if given != token.id:
            hint = "`add_tokens` gives such ids"
            raise _refuse(f"the id {given} for the added token {token.content!r}, found {token.id}", hint=hint)
        next_id = max(next_id, given + 1)


def _added_token(token: AddedToken) -> Json:
    return {
        "id": token.id,
        "content": token.content,
        "single_word": token.single_word,
        "lstrip": token.lstrip,
        "rstrip": token.rstrip,
        "normalized": token.normalized,
        "special": token.special,
    }


# Components


def _normalizer(normalizers: tuple[Normalizer, ...]) -> Json:
    steps: list[Json] = [{"type": normalizer.form} for normalizer in normalizers]
    return _sequence(steps, "normalizers")


def _sequence(steps: list[Json], key: str) -> Json:
    return {"type": "Sequence", key: steps} if len(steps) > 1 else steps[0] if steps else None


def _pre_tokenizer(splits: tuple[Split | ByteLevel, ...]) -> Json:
    *before, last = splits if splits and isinstance(splits[-1], ByteLevel) else (*splits, ByteLevel(use_regex=False))
    steps: list[Json] = []
    for split in before:
        if isinstance(split, ByteLevel):
            raise _refuse(
                "ByteLevel as the last step of the split, for it changes the characters, found it before another"
            )
        steps.append(_split(split))
    return _sequence([*steps, _byte_level(cast("ByteLevel", last))], "pretokenizers")


def _split(split: Split) -> Json:
    pattern = split.pattern if split.dialect == "oniguruma" else oniguruma_from_rust(split.pattern)
    if split.unmatched != "keep" and not matches_every_character(split.pattern, split.dialect):
        raise _refuse(
            f'a split with unmatched="keep", found "{split.unmatched}" and a pattern that may leave text unmatched',
            hint="add an alternative for the characters that it leaves, such as `|[^…]` for the others",
        )
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def _byte_level(step: ByteLevel) -> Json:
    return {
        "type": "ByteLevel",
        "add_prefix_space": step.add_prefix_space,
        "trim_offsets": step.trim_offsets,
        "use_regex": step.use_regex,
    }


def _post_processor(spec: Spec, token_by_id: dict[int, str]) -> Json:
    steps: list[Json] = []
    if spec.offsets is not None:
        steps.append(_byte_level(spec.offsets))
    if spec.template is not None:
        steps.append(_template(spec.template, token_by_id))
    return _sequence(steps, "processors")


def _template(template: Template, token_by_id: dict[int, str]) -> Json:
    parts = (*template.single, *template.pair)
    strangers = [(part.name, id) for part in parts for id in part.ids or () if id not in token_by_id]
    if strangers:
        raise _refuse(f"ids of tokens in the template, found {strangers[0][1]} for {strangers[0][0]!r}")
    options = (("pair", template.pair), ("single", template.single))
    return components.to_json(Component(type="TemplateProcessing", options=options), token_by_id)


# What is long, an item to a line


def _byte_pairs(model: BytePairModel, ids: dict[str, int]) -> str:
    options: dict[str, Json] = {
        "type": "BPE",
        "dropout": None,
        "unk_token": None,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
        "ignore_merges": model.ignore_merges or model.semantics == "rank",
    }
    head = json.dumps(options, indent=2).removesuffix("\n}").replace("\n", "\n  ")
    vocab = lines((f"{encode_basestring(token)}: {id}" for token, id in ids.items()), indent=6)
    pairs = _merges(model, ids)
    merges = lines((f"[{encode_basestring(left)}, {encode_basestring(right)}]" for left, right in pairs), indent=6)
    return f'{head},\n    "vocab": {{{vocab}}},\n    "merges": [{merges}]\n  }}'


def _merges(model: BytePairModel, ids: dict[str, int]) -> Iterable[tuple[str, str]]:
    if model.semantics == "rank":
        merges = merges_of_ranks(ranks_of(model))
        return [(byte_alphabet.spell(left), byte_alphabet.spell(right)) for left, right in merges]
    return _listed_merges(model, ids)


def _listed_merges(model: BytePairModel, ids: dict[str, int]) -> Iterable[tuple[str, str]]:
    token_by_id = {id: token for token, id in ids.items()}
    numbers = unpack(model.merges)
    # A pair that is listed twice is used as the first; Hugging Face would take the last.
    pairs = dict.fromkeys(zip(numbers[::2], numbers[1::2], strict=True))
    for index, (left, right) in enumerate(pairs):
        if left not in token_by_id or right not in token_by_id:
            raise _refuse(f"merges of tokens, found merge {index} of the ids {left} and {right}")
        parts = token_by_id[left], token_by_id[right]
        if parts[0] + parts[1] not in ids:
            raise _refuse(
                f"a token for the joined bytes of each merge, found none for merge {index}, {' + '.join(parts)}"
            )
        yield parts
