"""`merganser encode`, `decode` and `count`."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from typing import Annotated, Literal

import typer

from merganser.cli import options, showing
from merganser.cli.reading import Documents, id_lines, naming
from merganser.errors import MerganserError, TextError


@dataclass(frozen=True, kw_only=True)
class Count:
    """How many tokens a file has, or all of them together (`file` is None)."""

    file: str | None
    num_tokens: int
    size_bytes: int
    bytes_per_token: float | None


def encode(
    files: options.Files = None,
    *,
    tokenizer: options.TokenizerName,
    split: options.SplitName = None,
    special: options.SpecialIds = None,
    allow_special: options.AllowNames = None,
    add_special_tokens: Annotated[
        bool, typer.Option("--add-special-tokens", help="Put the tokenizer's own around each document.")
    ] = False,
    errors: options.ReadErrors = "strict",
    as_json: options.Json = False,
) -> None:
    """Encode FILES, or stdin, as token ids: a line for each document.

    For example:

      echo 'hello world' | merganser encode -t gpt2
    """
    encoder = options.load(tokenizer, split, special)
    allowed = options.allowed(allow_special)
    for where, document in Documents(files, errors):
        with naming(where, TextError):
            ids = encoder.encode(document, allow_special=allowed, add_special_tokens=add_special_tokens)
        showing.write(str(ids) if as_json else " ".join(map(str, ids)))


def decode(
    files: options.Files = None,
    *,
    tokenizer: options.TokenizerName,
    split: options.SplitName = None,
    special: options.SpecialIds = None,
    skip_special_tokens: Annotated[
        bool, typer.Option("--skip-special-tokens", help="Leave special tokens out.")
    ] = False,
    unknown_ids: Annotated[
        Literal["error", "replace", "skip"],
        typer.Option(
            metavar="error|replace|skip",
            parser=options.one_of("error", "replace", "skip"),
            help="Ids without a token: stop, write U+FFFD, leave out.",
        ),
    ] = "error",
    errors: Annotated[
        Literal["strict", "replace"] | None,
        typer.Option(
            metavar="strict|replace",
            parser=options.one_of("strict", "replace"),
            help="Bytes that are not UTF-8: stop, write U+FFFD. As they are if not given.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write each line as a JSON string.")] = False,
) -> None:
    """Decode the ids in FILES, or stdin, to the exact bytes.

    Between ids stand spaces, commas, brackets or line breaks. A line is a
    document to --errors and --json.

    For example:

      echo '31373 995' | merganser decode -t gpt2
    """
    decoder = options.load(tokenizer, split, special)
    for where, ids in id_lines(files):
        with naming(where, MerganserError):
            if errors is None and not as_json:
                data = decoder.decode_bytes(ids, skip_special_tokens=skip_special_tokens, unknown_ids=unknown_ids)
                sys.stdout.buffer.write(data)
                continue
            text = decoder.decode(
                ids, errors=errors or "replace", skip_special_tokens=skip_special_tokens, unknown_ids=unknown_ids
            )
        showing.write_json(text) if as_json else sys.stdout.write(text)


def count(
    files: options.Files = None,
    *,
    tokenizer: options.TokenizerName,
    split: options.SplitName = None,
    special: options.SpecialIds = None,
    allow_special: options.AllowNames = None,
    errors: options.ReadErrors = "strict",
    as_json: options.Json = False,
) -> None:
    """Count the tokens of FILES, or stdin, each and together.

    For example:

      merganser count -t o200k_base README.md
    """
    counter = options.load(tokenizer, split, special)
    allowed = options.allowed(allow_special)
    sizes: dict[str, tuple[int, int]] = {}
    for where, document in Documents(files, errors):
        with naming(where, TextError):
            num_tokens = counter.count(document, allow_special=allowed)
        before = sizes.get(where, (0, 0))
        sizes[where] = before[0] + num_tokens, before[1] + len(document)
    counts = [_count(file, *size) for file, size in sizes.items()]
    total = _count(None, sum(row.num_tokens for row in counts), sum(row.size_bytes for row in counts))
    if as_json:
        showing.write_json({"files": [asdict(row) for row in counts], "total": asdict(total)})
        return
    rows = counts if len(counts) == 1 else [*counts, total]
    showing.table(("tokens", "bytes", "bytes/token", "file"), map(_row, rows))


def _count(file: str | None, num_tokens: int, size_bytes: int) -> Count:
    ratio = round(size_bytes / num_tokens, 4) if num_tokens else None
    return Count(file=file, num_tokens=num_tokens, size_bytes=size_bytes, bytes_per_token=ratio)


def _row(count: Count) -> tuple[str, ...]:
    ratio = "–" if count.bytes_per_token is None else f"{count.bytes_per_token:.2f}"
    return f"{count.num_tokens:,}", f"{count.size_bytes:,}", ratio, count.file or "total"
