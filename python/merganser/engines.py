"""A Spec → the engine that runs it: `_core.Engine` for byte-level BPE, `_core.Chain` for whatever has a pipeline."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict
from typing import TypeAlias

from merganser import _core, arguments
from merganser.errors import FormatError
from merganser.spec import MAX_ID, AddedToken, ByteLevel, CharacterPairModel, Pipeline, Spec, Split, UnigramModel

Engine: TypeAlias = "_core.Engine | _core.Chain"

# Steps that leave all of a text in place.
_LOSSLESS = frozenset(["ByteLevel", "Digits", "FixedLength"])
_SURROGATE = re.compile("[\ud800-\udfff]")


def engine_of(spec: Spec) -> Engine:
    """The engine of `spec`.

    Raises `FormatError` where the Spec says what no engine can do.
    """
    if not isinstance(spec, Spec):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"spec: expected a Spec, found {type(spec).__name__}; `mg.load` takes a name or a path")
    _check_added(spec.added_tokens)
    if spec.pipeline is not None:
        return _chain(spec, spec.pipeline)
    model = spec.byte_pairs
    return _core.Engine(
        data=model.vocabulary.data,
        ends=model.vocabulary.ends,
        ids=model.vocabulary.ids,
        semantics=model.semantics,
        ranks=model.ranks,
        merges=model.merges,
        ignore_merges=model.ignore_merges,
        normalizers=[normalizer.form for normalizer in spec.normalizers],
        splits=engine_splits(spec.splits),
        added=spec.added_tokens,
    )


def chain_of(spec: Spec) -> _core.Chain:
    """The slow twin of a byte-level Spec's engine, which gives Hugging Face's offsets and words.

    Raises `FormatError` where the Spec's ranks cannot be told as merges.
    """
    from merganser.formats import huggingface

    model = huggingface.spelled(spec.byte_pairs)
    steps = (
        [*spec.splits]
        if spec.splits and isinstance(spec.splits[-1], ByteLevel)
        else [*spec.splits, ByteLevel(use_regex=False)]
    )
    components = {
        "normalizer": {"type": "Sequence", "normalizers": [{"type": step.form} for step in spec.normalizers]},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [_component(step) for step in steps]},
        "post_processor": None if spec.offsets is None else _component(spec.offsets),
        "decoder": _component(ByteLevel()),
    }
    return _core.Chain(
        components=json.dumps(components),
        model=json.dumps(huggingface.options_of(model)),
        data=model.vocabulary.data,
        ends=model.vocabulary.ends,
        ids=model.vocabulary.ids,
        scores=b"",
        merges=model.merges,
        added=spec.added_tokens,
    )


def account_of_text(spec: Spec) -> str:
    """Whether every text comes back from its ids, and what may keep it from that."""
    if spec.pipeline is None:
        reasons = [f"{normalizer.form} may change it" for normalizer in spec.normalizers]
        if any(isinstance(step, Split) and _may_drop(step) for step in spec.splits):
            reasons.append("the split may leave some out")
        if any(isinstance(step, ByteLevel) and step.add_prefix_space for step in spec.splits):
            reasons.append("a space may be put in front")
    else:
        parts = [part for part in (spec.pipeline.normalizer, spec.pipeline.pre_tokenizer) if part is not None]
        names = dict.fromkeys(step.type for part in parts for step in part.steps() if step.type not in _LOSSLESS)
        reasons = [f"{', '.join(names)} may change it"] if names else []
        reasons.append("what has no token may be unknown")
    return f"not lossless: {'; '.join(reasons)}" if reasons else "lossless: every text comes back from its ids"


def _may_drop(split: Split) -> bool:
    from merganser.formats.coverage import matches_every_character

    if split.unmatched != "drop":
        return False
    try:
        return not matches_every_character(split.pattern, split.dialect)
    except FormatError:
        # A pattern of which that cannot be told.
        return True


def _component(step: Split | ByteLevel) -> dict[str, object]:
    """A step of the split as the chain takes it."""
    if isinstance(step, ByteLevel):
        return {"type": "ByteLevel", **asdict(step)}
    is_dropped = step.unmatched == "drop"
    behavior = "Removed" if is_dropped else "Isolated"
    return {"type": "Split", "pattern": {"Regex": _rust_pattern(step)}, "behavior": behavior, "invert": is_dropped}


def _chain(spec: Spec, pipeline: Pipeline) -> _core.Chain:
    from merganser.formats import huggingface

    model = spec.model
    return _core.Chain(
        components=json.dumps(huggingface.components_for_engine(pipeline)),
        model=json.dumps(huggingface.options_of(model)),
        data=model.vocabulary.data,
        ends=model.vocabulary.ends,
        ids=model.vocabulary.ids,
        scores=model.scores if isinstance(model, UnigramModel) else b"",
        merges=model.merges if isinstance(model, CharacterPairModel) else b"",
        added=spec.added_tokens,
    )


def named_split(split: str | Split | None) -> Split | None:
    """`split`, or the published one of that name.

    >>> named_split("gpt2").unmatched
    'keep'
    """
    if isinstance(split, str):
        return Split(pattern=pattern(split), name=split)
    if not isinstance(split, Split | None):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"split: expected a published pattern's name or a Split, found {type(split).__name__}")
    return split


def pattern(name: str) -> str:
    """The published split pattern of this name.

    >>> pattern("gpt2")[:15]
    "'s|'t|'re|'ve|'"

    Raises `FormatError` listing the names.
    """
    patterns = _core.patterns()
    if name not in patterns:
        raise FormatError(
            f"split: expected one of {', '.join(sorted(patterns))}, found {name!r}",
            hint="a pattern of your own is `mg.Split(pattern=…)`",
        )
    return patterns[name]


def engine_splits(splits: Iterable[Split | ByteLevel]) -> list[tuple[str, str]]:
    """The steps of a split as the engine takes them: what becomes of unmatched text, and the pattern."""
    steps: list[tuple[str, str]] = []
    for step in splits:
        if isinstance(step, ByteLevel):
            if step.add_prefix_space:
                steps.append(("prefix_space", ""))
            if step.use_regex:
                steps.append(("keep", pattern("gpt2")))
        else:
            if not isinstance(step, Split):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise TypeError(f"splits: expected Split or ByteLevel, found {type(step).__name__}")
            _check_split(step)
            steps.append((step.unmatched, _rust_pattern(step)))
    return steps


def _check_split(split: Split) -> None:
    if not isinstance(split.pattern, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"split: pattern: expected a str, found {type(split.pattern).__name__}")
    arguments.one_of("split: unmatched", split.unmatched, "keep", "drop", "error", error=FormatError)
    arguments.one_of("split: dialect", split.dialect, "rust", "oniguruma", error=FormatError)
    if _SURROGATE.search(split.pattern):
        raise FormatError(f"split: pattern: expected text without lone surrogates, found {split.pattern!r}")


def _check_added(added: Iterable[AddedToken]) -> None:
    for token in added:
        if not 0 <= token.id <= MAX_ID:
            raise FormatError(f"added token {token.content!r}: expected an id from 0 to {MAX_ID}, found {token.id}")
        if not token.content.isascii() and _SURROGATE.search(token.content):
            message = f"added token {token.id}: expected text without lone surrogates, found {token.content!r}"
            raise FormatError(message)


def _rust_pattern(split: Split) -> str:
    if split.dialect == "rust":
        return split.pattern
    from merganser.formats import dialects

    return dialects.rust_from_oniguruma(split.pattern)
