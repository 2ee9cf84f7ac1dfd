"""`merganser inspect` and `info`: what a tokenizer is, what it makes of a text, and what is installed here."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from heapq import nlargest
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from merganser.cli import options, showing
from merganser.cli.reading import Documents, naming
from merganser.errors import TextError
from merganser.spec import (
    ByteLevel,
    BytePairModel,
    CharacterPairModel,
    Component,
    Normalizer,
    Split,
    Template,
    TemplatePart,
    UnigramModel,
    Value,
    WordLevelModel,
    WordPieceModel,
)

if TYPE_CHECKING:
    from merganser import Token, Tokenizer

_NUM_LONGEST = 5
_NUM_LISTED = 8
_MAX_SHOWN = 200
_FAMILIES = {
    BytePairModel: "byte-level BPE",
    CharacterPairModel: "BPE",
    UnigramModel: "Unigram",
    WordPieceModel: "WordPiece",
    WordLevelModel: "WordLevel",
}


@dataclass(frozen=True, kw_only=True)
class LongToken:
    """One of the longest tokens."""

    id: int
    bytes: bytes


@dataclass(frozen=True, kw_only=True)
class Inspection:
    """What a tokenizer is."""

    name: str | None
    family: str
    semantics: str | None
    ignore_merges: bool
    tie_break: str | None
    n_vocab: int
    num_tokens: int
    num_merges: int
    normalizers: tuple[Normalizer, ...]
    splits: tuple[Split | ByteLevel, ...]
    special_tokens: dict[str, int]
    added_tokens: dict[str, int]
    template: Template | None
    pipeline: dict[str, tuple[str, ...]]
    certificate: dict[str, str]
    fingerprint: str
    longest_tokens: tuple[LongToken, ...]


@dataclass(frozen=True, kw_only=True)
class Info:
    """What is installed here."""

    version: str
    python: str
    platform: str
    unicode_split: str
    unicode_normalization: str
    vocabularies: tuple[str, ...]
    optional_packages: dict[str, str]


def inspect(
    *,
    tokenizer: options.TokenizerName,
    split: options.SplitName = None,
    special: options.SpecialIds = None,
    text: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Show the tokens of this text instead; - is stdin.")
    ] = None,
    allow_special: options.AllowNames = None,
    unit: Annotated[
        Literal["character", "byte", "utf16"],
        typer.Option(
            metavar="character|byte|utf16",
            parser=options.one_of("character", "byte", "utf16"),
            help="What start and end count.",
        ),
    ] = "character",
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON, bytes as hexadecimal digits.")] = False,
) -> None:
    """Show what a tokenizer is, or the tokens of a text.

    For example:

      merganser inspect -t cl100k_base

      merganser inspect -t cl100k_base --text "don't stop"
    """
    inspected = options.load(tokenizer, split, special)
    if text is None:
        inspection = inspect_tokenizer(inspected)
        showing.write_json(asdict(inspection)) if as_json else _show_tokenizer(inspection)
        return
    documents = Documents(None, "strict") if text == "-" else [("--text", options.text(text).encode())]
    tokens: list[Token] = []
    for where, document in documents:
        with naming(where, TextError):
            tokens += inspected.tokens(document, allow_special=options.allowed(allow_special), unit=unit)
    if as_json:
        showing.write_json([token._asdict() for token in tokens])
    else:
        rows = [(str(id), str(start), str(end), showing.readable(data)) for id, data, start, end in tokens]
        showing.table(("id", "start", "end", "token"), rows)


def info(*, as_json: options.Json = False) -> None:
    """Show what is installed here; a bug report wants it.

    For example:

      merganser info
    """
    import platform

    from merganser import __version__, _core, vocabularies

    split, normalization = _core.unicode_version()
    found = Info(
        version=__version__,
        python=f"{platform.python_implementation()} {platform.python_version()}",
        platform=platform.platform(),
        unicode_split=split,
        unicode_normalization=normalization,
        vocabularies=vocabularies.NAMES,
        optional_packages=_installed("regex", "tiktoken", "tokenizers", "transformers"),
    )
    if as_json:
        showing.write_json(asdict(found))
        return
    packages = [f"{name} {version}" for name, version in found.optional_packages.items()]
    facts = (
        ("merganser", found.version),
        ("Python", found.python),
        ("platform", found.platform),
        ("Unicode", f"{found.unicode_split} in splits, {found.unicode_normalization} in normalization"),
        ("vocabularies", "\n".join(found.vocabularies)),
        ("optional", "\n".join(packages) or "none"),
    )
    showing.facts(facts)


def inspect_tokenizer(tokenizer: Tokenizer) -> Inspection:
    """What `tokenizer` is."""
    spec = tokenizer.spec
    model = spec.model
    lengths = tokenizer.token_byte_lengths().tolist()
    longest = nlargest(_NUM_LONGEST, range(len(lengths)), key=lambda id: (lengths[id], -id))
    return Inspection(
        name=spec.name,
        family=_FAMILIES[type(model)],
        semantics=model.semantics if isinstance(model, BytePairModel) else None,
        ignore_merges=isinstance(model, BytePairModel | CharacterPairModel) and model.ignore_merges,
        tie_break=spec.tie_break,
        n_vocab=tokenizer.n_vocab,
        num_tokens=len(model.vocabulary),
        num_merges=len(model.merges) // 8 if isinstance(model, BytePairModel | CharacterPairModel) else 0,
        normalizers=spec.normalizers,
        splits=spec.splits,
        special_tokens=dict(spec.special_tokens),
        added_tokens={token.content: token.id for token in spec.added_tokens if not token.special},
        template=spec.template,
        pipeline={}
        if spec.pipeline is None
        else {
            field.name: tuple(map(_component, value.steps()))
            for field in fields(spec.pipeline)
            if (value := getattr(spec.pipeline, field.name))
        },
        certificate=tokenizer.certificate(),
        fingerprint=tokenizer.fingerprint(),
        longest_tokens=tuple(LongToken(id=id, bytes=tokenizer.id_to_token(id)) for id in longest),
    )


def _show_tokenizer(found: Inspection) -> None:
    how = [found.family, *([f"{found.semantics} semantics"] if found.semantics else [])]
    how += ["whole pieces first"] if found.ignore_merges else []
    sizes = [showing.number(found.num_tokens, "token"), showing.number(len(found.special_tokens), "special token")]
    if found.num_merges:
        sizes.insert(1, showing.number(found.num_merges, "merge"))
    parts = found.template.single if found.template else ()
    template = [] if found.pipeline else [("template", " ".join(part.name for part in parts) or "none")]
    facts = [
        ("name", found.name or "none"),
        ("family", ", ".join(how)),
        ("vocabulary", f"{', '.join(sizes)}; ids 0 to {found.n_vocab - 1}"),
        *_around(found),
        ("special", _listed(found.special_tokens)),
        ("added", _listed(found.added_tokens)),
        *template,
        ("tie-break", found.tie_break or "not known"),
        (
            "runs",
            "\n".join(account for name, account in found.certificate.items() if name.startswith("split")) or "none",
        ),
        ("fingerprint", found.fingerprint),
    ]
    showing.facts(facts)
    showing.write("")
    showing.table(("id", "bytes", "longest tokens"), [_long(token.id, token.bytes) for token in found.longest_tokens])


def _around(found: Inspection) -> list[tuple[str, str]]:
    if found.pipeline:
        return [(name, "\n".join(steps)) for name, steps in found.pipeline.items()]
    return [
        ("normalizers", ", ".join(normalizer.form for normalizer in found.normalizers) or "none"),
        ("split", "\n".join(map(_split, found.splits)) or "none"),
    ]


def _component(step: Component) -> str:
    """A step in a line: its type, the options that are on, and the values of others."""
    return " ".join([step.type, *(_option(name, value) for name, value in step.options if value not in (None, False))])


def _option(name: str, value: Value) -> str:
    if value is True:
        return name
    if isinstance(value, Component):
        pattern = dict(value.options).get("pattern")
        if isinstance(pattern, str):
            shown = _regex(pattern) if value.type == "Regex" else showing.readable(pattern.encode())
            return f"{name}={value.type} {shown}"
        return f"{name}={_component(value)}"
    if isinstance(value, TemplatePart):
        return value.name
    if isinstance(value, tuple):
        inside = " ".join(_option(name, item) if isinstance(item, TemplatePart) else _value(item) for item in value)
        return f"{name}={inside}"
    return f"{name}={_value(value)}"


def _value(value: Value) -> str:
    if isinstance(value, Component):
        return _component(value)
    if isinstance(value, str) and len(value) > _MAX_SHOWN:
        return f"({len(value):,} characters)"
    return showing.readable(value.encode()) if isinstance(value, str) else str(value)


def _long(id: int, token: bytes) -> tuple[str, str, str]:
    shown = showing.readable(token)
    return str(id), str(len(token)), shown if len(shown) <= 60 else f"{shown[:59]}…"


def _split(step: Split | ByteLevel) -> str:
    if isinstance(step, ByteLevel):
        flags = (("add_prefix_space", step.add_prefix_space), ("use_regex", step.use_regex))
        return " ".join(["ByteLevel", *(name for name, on in flags if on)])
    name = step.name or "unnamed"
    return f"{name}, {step.dialect} dialect, unmatched text: {step.unmatched}\n{_regex(step.pattern)}"


def _regex(pattern: str) -> str:
    """A pattern in a line: characters that do not show as their escapes, which a pattern may have in their place."""
    escapes = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
    return "".join(
        character if character.isprintable() else escapes.get(character, f"\\x{{{ord(character):X}}}")
        for character in pattern
    )


def _listed(tokens: dict[str, int]) -> str:
    lines = [f"{showing.readable(token.encode())} {id}" for token, id in list(tokens.items())[:_NUM_LISTED]]
    more = len(tokens) - len(lines)
    return "\n".join([*lines, f"and {more:,} more"] if more else lines) or "none"


def _installed(*packages: str) -> dict[str, str]:
    from importlib import metadata

    versions: dict[str, str] = {}
    for package in packages:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions
