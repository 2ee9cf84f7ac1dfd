"""The WordPiece half of `train`: documents to BERT's kind of tokenizer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Literal

from merganser import _core, arguments
from merganser.errors import TrainingError
from merganser.spec import (
    AddedToken,
    Component,
    Pipeline,
    Spec,
    Surroundings,
    TemplatePart,
    Vocabulary,
    WordPieceModel,
)

Score = Literal["frequency", "likelihood"]

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_UNKNOWN, _FIRST, _LAST = "[UNK]", "[CLS]", "[SEP]"
_PREFIX = "##"
_ROLES = (
    ("cls_token", "[CLS]"),
    ("mask_token", "[MASK]"),
    ("pad_token", "[PAD]"),
    ("sep_token", "[SEP]"),
    ("unk_token", "[UNK]"),
)


def spec_of(
    batches: Iterable[list[str | bytes]],
    *,
    vocab_size: int,
    special: list[str],
    score: Score,
    lowercase: bool,
    initial_alphabet: Iterable[str],
    limit_alphabet: int | None,
    min_frequency: int,
    num_threads: int | None,
    progress: Callable[[str, int, int], None] | None,
) -> Spec:
    """The Spec of a vocabulary learned from `batches` of documents; `special` are its special tokens.

    Raises `TrainingError` for options that cannot be met.
    """
    arguments.one_of("score", score, "frequency", "likelihood", error=TrainingError)
    if _UNKNOWN not in special:
        raise TrainingError(
            f"special_tokens: expected {_UNKNOWN} among them, found {', '.join(special)}",
            hint=f"BERT's are {', '.join(SPECIAL_TOKENS)}, and they are there if you name none",
        )
    characters = _characters(initial_alphabet)
    if limit_alphabet is not None:
        arguments.whole_number("limit_alphabet", limit_alphabet, 0, error=TrainingError)
    counter = _core.WordCounter(bert=(True, True, lowercase, lowercase), special_tokens=special)
    num_documents = 0
    for batch in batches:
        counter.add(batch, num_threads)
        num_documents += len(batch)
        if progress is not None:
            progress("count", num_documents, 0)
    tokens = counter.train(
        score=score,
        vocab_size=vocab_size,
        initial_alphabet=characters,
        limit_alphabet=limit_alphabet,
        min_frequency=min_frequency,
        prefix=_PREFIX,
        progress=None if progress is None else lambda done: progress("merge", done, vocab_size),
    )
    if len(tokens) > vocab_size:
        raise TrainingError(
            f"vocab_size: expected at least {len(tokens)} (the special tokens and the alphabet), found {vocab_size}",
            hint=f"the least vocabulary is {len(tokens)}, which joins nothing",
        )
    return Spec(
        model=WordPieceModel(vocabulary=Vocabulary.from_tokens(token.encode() for token in tokens)),
        added_tokens=tuple(AddedToken(content=content, id=id) for id, content in enumerate(special)),
        pipeline=Pipeline(
            normalizer=Component(
                type="BertNormalizer",
                options=(
                    ("clean_text", True),
                    ("handle_chinese_chars", True),
                    ("lowercase", lowercase),
                    ("strip_accents", None),
                ),
            ),
            pre_tokenizer=Component(type="BertPreTokenizer"),
            post_processor=_template(special),
            decoder=Component(type="WordPiece", options=(("cleanup", True), ("prefix", _PREFIX))),
        ),
        surroundings=Surroundings(roles=tuple(role for role in _ROLES if role[1] in special)),
        tie_break="ids",
    )


def _characters(alphabet: Iterable[str]) -> list[str]:
    characters = arguments.texts(
        "initial_alphabet", list(arguments.collection("initial_alphabet", alphabet, of="texts"))
    )
    for character in characters:
        if len(character) != 1 or re.search("[\ud800-\udfff]", character):
            raise TrainingError(f"initial_alphabet: expected single characters, found {character!r}")
    return characters


def _template(special: list[str]) -> Component | None:
    """BERT's frame around one text and around two, where its tokens are there."""
    if _FIRST not in special or _LAST not in special:
        return None
    first = TemplatePart(name=_FIRST, ids=(special.index(_FIRST),))
    last = TemplatePart(name=_LAST, ids=(special.index(_LAST),))
    other = TemplatePart(name=_LAST, type_id=1, ids=last.ids)
    single = (first, TemplatePart(name="A"), last)
    pair = (*single, TemplatePart(name="B", type_id=1), other)
    return Component(type="TemplateProcessing", options=(("pair", pair), ("single", single)))
