"""A Spec → the engine that runs it: `_core.Engine` for byte-level BPE, `_core.Chain` for whatever has a pipeline."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import TypeAlias

from merganser import _core
from merganser.errors import FormatError
from merganser.spec import AddedToken, ByteLevel, CharacterPairModel, Pipeline, Spec, Split, UnigramModel

Engine: TypeAlias = "_core.Engine | _core.Chain"

# The engine's tables reach up to here.
MAX_ID = (1 << 24) - 1
_SURROGATE = re.compile("[\ud800-\udfff]")


def engine_of(spec: Spec) -> Engine:
    """The engine of `spec`.

    Raises `FormatError` where the Spec says what no engine can do.
    """
    _check_added(spec.added_tokens)
    added = [
        (
            token.content,
            token.id,
            token.special,
            token.normalized,
            token.single_word,
            token.lstrip,
            token.rstrip,
        )
        for token in spec.added_tokens
    ]
    if spec.pipeline is not None:
        return _chain(spec, spec.pipeline, added)
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
        added=added,
    )


def _chain(spec: Spec, pipeline: Pipeline, added: list[tuple[str, int, bool, bool, bool, bool, bool]]) -> _core.Chain:
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
        added=added,
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
    for name, value, choices in (
        ("unmatched", split.unmatched, ("keep", "drop", "error")),
        ("dialect", split.dialect, ("rust", "oniguruma")),
    ):
        if value not in choices:
            raise FormatError(f"split: {name}: expected one of {', '.join(choices)}, found {value!r}")
    if _SURROGATE.search(split.pattern):
        raise FormatError(f"split: pattern: expected text without lone surrogates, found {split.pattern!r}")


def _check_added(added: Iterable[AddedToken]) -> None:
    for token in added:
        if not 0 <= token.id <= MAX_ID:
            raise FormatError(f"added token {token.content!r}: expected an id from 0 to {MAX_ID}, found {token.id}")
        if _SURROGATE.search(token.content):
            message = f"added token {token.id}: expected text without lone surrogates, found {token.content!r}"
            raise FormatError(message)


def _rust_pattern(split: Split) -> str:
    if split.dialect == "rust":
        return split.pattern
    from merganser.formats import dialects

    return dialects.rust_from_oniguruma(split.pattern)
