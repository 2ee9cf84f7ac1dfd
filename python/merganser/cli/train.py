"""`merganser train`."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from merganser.cli import options, showing
from merganser.cli.reading import Documents, naming
from merganser.errors import FormatError, StorageError

if TYPE_CHECKING:
    from merganser import Tokenizer


@dataclass(frozen=True, kw_only=True)
class Trained:
    """What `train` did."""

    output: str
    n_vocab: int
    num_documents: int
    size_bytes: int
    seconds: float


def train(
    files: options.Files = None,
    *,
    vocab_size: Annotated[
        int,
        typer.Option(metavar="SIZE", parser=options.whole_number(1), help="Number of tokens: 32000, 32_000 or 32k."),
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="PATH", help="Folder, .json or .tiktoken file to write.")
    ],
    model: Annotated[
        Literal["bpe", "wordpiece"],
        typer.Option(
            metavar="bpe|wordpiece",
            parser=options.one_of("bpe", "wordpiece"),
            help="Byte-level BPE, or BERT's kind of tokenizer.",
        ),
    ] = "bpe",
    split: Annotated[str, typer.Option(metavar="NAME", help="gpt2, cl100k, o200k, none or a pattern.")] = "o200k",
    special: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A special token; repeat it for more.")
    ] = None,
    layout: Annotated[
        Literal["tiktoken", "hf"],
        typer.Option(metavar="tiktoken|hf", parser=options.one_of("tiktoken", "hf"), help="Order of the ids."),
    ] = "tiktoken",
    tie_break: Annotated[
        Literal["ids", "first", "lex_max"],
        typer.Option(
            metavar="ids|first|lex_max",
            parser=options.one_of("ids", "first", "lex_max"),
            help="Which of equally frequent pairs merges first.",
        ),
    ] = "ids",
    min_frequency: Annotated[
        int, typer.Option(metavar="COUNT", parser=options.whole_number(0), help="Least count of a pair that merges.")
    ] = 1,
    max_token_length: Annotated[
        int | None, typer.Option(metavar="BYTES", parser=options.whole_number(1), help="Longest token to make.")
    ] = None,
    never_merge_spaces: Annotated[
        bool, typer.Option("--never-merge-spaces", help="Make no token with two spaces, as GPT-2's.")
    ] = False,
    score: Annotated[
        Literal["frequency", "likelihood"],
        typer.Option(
            metavar="frequency|likelihood",
            parser=options.one_of("frequency", "likelihood"),
            help="WordPiece: which pair joins next.",
        ),
    ] = "frequency",
    cased: Annotated[bool, typer.Option("--cased", help="WordPiece: keep case and accents.")] = False,
    threads: Annotated[
        int | None,
        typer.Option(
            metavar="COUNT", parser=options.whole_number(1), help="Threads that count; all CPUs if not given."
        ),
    ] = None,
    errors: options.ReadErrors = "strict",
    as_json: options.Json = False,
) -> None:
    """Train a byte-level BPE or WordPiece tokenizer on FILES, or stdin.

    For example:

      merganser train src/ --vocab-size 8k --special '<|endoftext|>' -o tok
    """
    import merganser as mg

    special_tokens = [options.text(content) for content in special or ()]
    learn = partial(
        mg.train,
        model=model,
        split=options.split(split),
        special_tokens=special_tokens,
        layout=layout,
        tie_break=tie_break,
        min_frequency=min_frequency,
        max_token_length=max_token_length,
        never_merge_spaces=never_merge_spaces,
        score=score,
        lowercase=not cased,
        num_threads=threads,
    )
    _check_writable(output)
    _check_savable(partial(learn, [], vocab_size=256 + len(set(special_tokens))), output)
    documents = Documents(files, errors)
    start = time.perf_counter()
    with showing.progress() as progress:
        tokenizer = learn((document for _, document in documents), vocab_size=vocab_size, progress=progress)
    seconds = time.perf_counter() - start
    done = Trained(
        output=str(tokenizer.save(output)),
        n_vocab=tokenizer.n_vocab,
        num_documents=documents.num_documents,
        size_bytes=documents.num_bytes,
        seconds=round(seconds, 3),
    )
    showing.say(f"read {showing.number(done.num_documents, 'document')}, {showing.number(done.size_bytes, 'byte')}")
    showing.say(f"trained in {done.seconds:.2f} s")
    showing.say(f"wrote {done.output}: {showing.number(done.n_vocab, 'token')}")
    if as_json:
        showing.write_json(asdict(done))


# What cannot be written is better known now than after an hour of training.


def _check_writable(output: Path) -> None:
    there = next(path for path in (output, *output.absolute().parents) if path.exists())
    if there != output and not there.is_dir():
        raise StorageError(f"{output}: expected a folder to write into, found the file {there}")
    if not os.access(there, os.W_OK):
        raise StorageError(f"{output}: expected a place to write to, found no permission to write in {there}")


def _check_savable(learn_nothing: Callable[[], Tokenizer], output: Path) -> None:
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tokenizer = learn_nothing()
        with naming("--output", FormatError):
            tokenizer.save(Path(folder) / output.name)
