"""`train`: documents to a Tokenizer. Byte-level BPE or WordPiece: count pieces on all CPUs, then merge."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Literal

from merganser import _core, arguments, word_training
from merganser.engines import engine_splits, named_split
from merganser.errors import TrainingError
from merganser.spec import AddedToken, BytePairModel, Spec, Split, Vocabulary, pack, unpack
from merganser.tokenizer import Tokenizer

Layout = Literal["tiktoken", "hf"]
TieBreak = Literal["ids", "first", "lex_max"]
Progress = Callable[[str, int, int], None]

# Documents go to the engine in batches, so that it has work for every CPU and memory stays small.
_BATCH_BYTES = 16 << 20
_BATCH_DOCUMENTS = 1 << 16

# What the engine counts in.
_MAX_U64 = (1 << 64) - 1
_MAX_VOCAB_SIZE = 1 << 24


def train(
    documents: str | bytes | Iterable[str | bytes],
    *,
    vocab_size: int,
    split: str | Split | None = "o200k",
    special_tokens: Iterable[str] = (),
    layout: Layout = "tiktoken",
    tie_break: TieBreak = "ids",
    min_frequency: int = 1,
    max_token_length: int | None = None,
    never_merge_spaces: bool = False,
    num_threads: int | None = None,
    progress: Progress | None = None,
    model: Literal["bpe", "wordpiece"] = "bpe",
    score: word_training.Score = "frequency",
    lowercase: bool = True,
    initial_alphabet: Iterable[str] = (),
    limit_alphabet: int | None = None,
) -> Tokenizer:
    """A tokenizer of `vocab_size` tokens learned from `documents`: 256 bytes, the special tokens, and merges.

    Each merge joins the pair of tokens that stands together most often within the pieces. At equal counts `tie_break`
    decides: `"ids"` the smallest (left id, right id), `"first"` the pair met first in the corpus as it now stands
    (minbpe; depends on the order of documents), `"lex_max"` the lexicographically greatest pair of bytes (CS336,
    subword-nmt).

    `layout="tiktoken"` numbers bytes 0 to 255, then merges, then special tokens; `"hf"` special tokens, then bytes in
    GPT-2's printable order, then merges, as Hugging Face's trainer does. `split` is the name of a published pattern, a
    `Split`, or None for whole documents. `max_token_length` is in bytes and inclusive; `min_frequency` is the least
    count of a pair that merges. `never_merge_spaces` keeps tokens from holding two spaces in a row, GPT-2's unwritten
    rule.
    Special tokens cut the corpus and are in no merge. `progress` is called with what is done ("count", "merge"), how
    much of it (documents, merges) and of how many (0: not known).

    >>> tok = train(["low lower lowest"], vocab_size=261)
    >>> [tok.decode([id]) for id in tok.encode("lowest")]
    ['low', 'e', 'st']

    `model="wordpiece"` learns BERT's kind of tokenizer: characters of words in place of bytes of pieces. `vocab_size`
    counts everything, ids are special tokens (BERT's five where none are named), the alphabet, its characters inside of
    words (`##a`), then what was joined. `score="frequency"` joins the pair that stands together most often, as Hugging
    Face's WordPieceTrainer does; `"likelihood"` the pair of the highest count for the product of its parts' counts,
    the rule of the paper. `limit_alphabet` keeps that many characters, those of `initial_alphabet` first, then the most
    frequent; `lowercase` is BERT's uncased. `model` apart, these are WordPiece's alone; `split`, `layout`, `tie_break`,
    `max_token_length` and `never_merge_spaces` are BPE's.

    >>> tok = train(["low lower lowest"], vocab_size=22, model="wordpiece")
    >>> [tok.id_to_token(id) for id in tok.encode("lowest")]
    [b'lowe', b'##st']

    Stops early, with a warning that names the true size, when no pair is left. Raises `TrainingError` for sizes and
    options that cannot be met, and `TextError` for documents that are not UTF-8.
    """
    special = _special(special_tokens)
    threads = None if num_threads is None else arguments.threads(num_threads, error=TrainingError)
    arguments.one_of("model", model, "bpe", "wordpiece", error=TrainingError)
    if progress is not None:
        arguments.function("progress", progress)
    if model == "wordpiece":
        _refuse("wordpiece", split=split != "o200k", layout=layout != "tiktoken", tie_break=tie_break != "ids")
        _refuse("wordpiece", max_token_length=max_token_length is not None, never_merge_spaces=never_merge_spaces)
        _check_options(layout, tie_break, min_frequency, max_token_length)
        arguments.whole_number("vocab_size", vocab_size, 0, _MAX_VOCAB_SIZE, error=TrainingError)
        spec = word_training.spec_of(
            _batches(documents),
            vocab_size=vocab_size,
            special=special or list(word_training.SPECIAL_TOKENS),
            score=score,
            lowercase=lowercase,
            initial_alphabet=initial_alphabet,
            limit_alphabet=limit_alphabet,
            min_frequency=min(min_frequency, _MAX_U64),
            num_threads=threads,
            progress=progress,
        )
        _warn_of_size(len(spec.model.vocabulary), vocab_size)
        return Tokenizer(spec)
    initial_alphabet = tuple(arguments.collection("initial_alphabet", initial_alphabet, of="texts"))
    _refuse("bpe", score=score != "frequency", lowercase=not lowercase, limit_alphabet=limit_alphabet is not None)
    _refuse("bpe", initial_alphabet=bool(initial_alphabet))
    num_merges = _num_merges(vocab_size, len(special))
    _check_options(layout, tie_break, min_frequency, max_token_length)
    named = named_split(split)
    splits = () if named is None else (named,)

    counter = _core.PieceCounter(splits=engine_splits(splits), special_tokens=special)
    num_documents = 0
    for batch in _batches(documents):
        counter.add(batch, threads)
        num_documents += len(batch)
        if progress is not None:
            progress("count", num_documents, 0)
    found = counter.train(
        num_merges=num_merges,
        byte_order=bytes(_byte_order(layout)),
        tie_break=tie_break,
        min_frequency=min(min_frequency, _MAX_U64),
        max_token_length=max_token_length and min(max_token_length, _MAX_U64),
        never_merge_spaces=never_merge_spaces,
        progress=None if progress is None else lambda done: progress("merge", done, num_merges),
    )
    spec = _spec(found, special=special, layout=layout, tie_break=tie_break, splits=splits)
    size = len(spec.model.vocabulary) + len(special)
    _warn_of_size(size, vocab_size)
    return Tokenizer(spec)


def _refuse(model: str, **given: bool) -> None:
    """Refuses the options that are given and are the other model's."""
    for name, is_given in given.items():
        if is_given:
            other = "bpe" if model == "wordpiece" else "wordpiece"
            raise TrainingError(
                f'{name}: expected nothing with model="{model}", found an option of model="{other}"',
                hint=f'pass model="{other}", or leave {name}= out',
            )


def _warn_of_size(size: int, vocab_size: int) -> None:
    if size < vocab_size:
        warnings.warn(f"no pair is left to merge: the vocabulary has {size} tokens, not {vocab_size}", stacklevel=3)


def _special(contents: Iterable[str]) -> list[str]:
    """The special tokens, each once."""
    special = list(dict.fromkeys(arguments.texts("special_tokens", contents)))
    for content in special:
        if not content or re.search("[\ud800-\udfff]", content):
            raise TrainingError(
                f"special_tokens: expected texts that are not empty and without lone surrogates, found {content!r}"
            )
    return special


def _num_merges(vocab_size: int, num_special: int) -> int:
    least = 256 + num_special
    if arguments.whole_number("vocab_size", vocab_size, None, _MAX_VOCAB_SIZE, error=TrainingError) < least:
        raise TrainingError(
            f"vocab_size: expected at least {least} (256 bytes and {num_special} special tokens), found {vocab_size}",
            hint=f"the least vocabulary is {least}, which merges nothing",
        )
    return vocab_size - least


def _check_options(layout: str, tie_break: str, min_frequency: int, max_token_length: int | None) -> None:
    arguments.one_of("layout", layout, "tiktoken", "hf", error=TrainingError)
    arguments.one_of("tie_break", tie_break, "ids", "first", "lex_max", error=TrainingError)
    arguments.whole_number("min_frequency", min_frequency, 0, error=TrainingError)
    if max_token_length is not None:
        arguments.whole_number("max_token_length", max_token_length, 1, error=TrainingError)


def _batches(documents: str | bytes | Iterable[str | bytes]) -> Iterator[list[str | bytes]]:
    if isinstance(documents, str | bytes | Path):
        documents = [documents]  # pyright: ignore[reportAssignmentType]
    batch: list[str | bytes] = []
    size = 0
    for document in arguments.collection("documents", documents, of="texts"):
        if not isinstance(document, str | bytes | bytearray | memoryview):  # pyright: ignore[reportUnnecessaryIsInstance]
            hint = "; `mg.read(path)` reads the documents there" if isinstance(document, Path) else ""  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"documents: expected str or UTF-8 bytes, found {type(document).__name__}{hint}")
        batch.append(document)
        size += len(document)
        if size >= _BATCH_BYTES or len(batch) >= _BATCH_DOCUMENTS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _byte_order(layout: Layout) -> Iterable[int]:
    """The bytes in the order of their ids: Hugging Face sorts them by the character that GPT-2 prints for each."""
    if layout == "tiktoken":
        return range(256)
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    return chain(printable, (byte for byte in range(256) if byte not in printable))


def _spec(merges: bytes, *, special: list[str], layout: Layout, tie_break: TieBreak, splits: tuple[Split, ...]) -> Spec:
    """The Spec of what training found: two symbols a merge, 0 to 255 the bytes and `256 + i` what merge `i` makes."""
    symbols = unpack(merges)
    tokens = [bytes([byte]) for byte in _byte_order(layout)]
    for left, right in zip(symbols[::2], symbols[1::2], strict=True):
        tokens.append(tokens[left] + tokens[right])
    first, first_special = (len(special), 0) if layout == "hf" else (0, len(tokens))
    return Spec(
        model=BytePairModel(
            vocabulary=Vocabulary.from_tokens(tokens, range(first, first + len(tokens))),
            semantics="merges",
            merges=pack(first + symbol for symbol in symbols),
        ),
        splits=splits,
        added_tokens=tuple(AddedToken(content=content, id=first_special + at) for at, content in enumerate(special)),
        tie_break=tie_break,
    )
