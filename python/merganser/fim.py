"""Fill in the middle: a document's three parts in another order, so that a model learns to write what a gap wants.

The rule is that of Bavarian and others, "Efficient Training of Language Models to Fill in the Middle" (2022, arXiv
2207.14255): a document is cut at two places drawn evenly among those between its characters, and its parts are encoded
each by itself, behind a special token each.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Literal

from merganser import arguments
from merganser.errors import TextError, TokenIdError
from merganser.tokenizer import Tokenizer

# Of GPT-4, Qwen and others. StarCoder has `<fim_prefix>`, `<fim_middle>`, `<fim_suffix>`.
SPECIAL_TOKENS = ("<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>")


def fim(
    document: str,
    tokenizer: Tokenizer,
    *,
    rate: float = 0.5,
    mode: Literal["psm", "spm"] = "psm",
    seed: int = 0,
    special_tokens: tuple[str, str, str] = SPECIAL_TOKENS,
) -> list[int]:
    """The ids of `document`, which with the probability `rate` is cut into prefix, middle and suffix.

    `mode="psm"` gives prefix, suffix, middle, each behind its special token; `"spm"` gives suffix, prefix, middle, as
    `<prefix> <suffix> … <middle> …` with prefix and middle in one, so that a model can learn both modes. A document
    that is not cut is encoded as it is. Neither gets an end-of-text token: that comes behind a document as always.

    These are ids and not text, because in text a document that spells a special token would be taken for one.
    `seed` and the document alone decide, so the result is the same for any order of documents, thread and machine;
    another `seed` for each epoch cuts otherwise.

    >>> from merganser.fim import fim
    >>> tok = load("cl100k_base")
    >>> ids = fim("def add(a, b): return a + b", tok, rate=1.0, seed=4)
    >>> tok.decode(ids)
    '<|fim_prefix|>def add(a,<|fim_suffix|> return a + b<|fim_middle|> b):'

    Raises `TokenIdError` where the tokenizer lacks one of `special_tokens`, which name prefix, middle and suffix, and
    `TextError` for another `rate` or `mode`.
    """
    arguments.text("document", document)
    if not isinstance(tokenizer, Tokenizer):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"tokenizer: expected a Tokenizer, found {type(tokenizer).__name__}")
    if not isinstance(rate, int | float):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"rate: expected a number, found {type(rate).__name__}")
    if not 0 <= rate <= 1:
        raise TextError(f"rate: expected a probability from 0 to 1, found {rate!r}")
    arguments.one_of("mode", mode, "psm", "spm")
    arguments.whole_number("seed", seed, None)
    names = arguments.texts("special_tokens", special_tokens)
    if len(names) != 3:
        raise TextError(f"special_tokens: expected three, of prefix, middle and suffix, found {len(names)}")
    ids = [tokenizer.special_tokens.get(name) for name in names]
    prefix_id, middle_id, suffix_id = ids
    if prefix_id is None or middle_id is None or suffix_id is None:
        raise TokenIdError(
            f"special_tokens: expected those of the tokenizer, found {names[ids.index(None)]!r}",
            hint="`with_special_tokens` adds them, and `special_tokens=` names those of another model",
        )
    chance, *places = _draw(document, seed)
    if chance >= rate * (1 << 64):
        return tokenizer.encode(document)
    first, second = sorted(place * (len(document) + 1) >> 64 for place in places)
    prefix, middle, suffix = map(tokenizer.encode, (document[:first], document[first:second], document[second:]))
    if mode == "psm":
        return [prefix_id, *prefix, suffix_id, *suffix, middle_id, *middle]
    return [prefix_id, suffix_id, *suffix, middle_id, *prefix, *middle]


def _draw(document: str, seed: int) -> tuple[int, int, int]:
    """Three numbers of 64 random bits: a hash, since Python promises no numbers of `random` between its versions."""
    digest = blake2b(b"%d\n" % seed + document.encode("utf-8", "surrogatepass"), digest_size=24).digest()
    first, second, third = (int.from_bytes(digest[at : at + 8], "little") for at in (0, 8, 16))
    return first, second, third
