"""`load`: the tokenizer of a name, a file or a folder."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from merganser import _core, arguments, vocabularies
from merganser.engines import named_split
from merganser.errors import FormatError
from merganser.spec import Spec, Split
from merganser.tokenizer import Tokenizer


def load(
    source: str | Path,
    *,
    split: str | Split | None = None,
    special_tokens: Mapping[str, int] | None = None,
) -> Tokenizer:
    """The tokenizer of a bundled name, a file or a folder. Nothing is downloaded.

    Bundled are gpt2, r50k_base, p50k_base, p50k_edit, cl100k_base, o200k_base and o200k_harmony. Files are told apart
    by content: tokenizer.json, BERT's vocab.txt, `.tiktoken`, minbpe's `.model`. A `.tiktoken` file holds neither
    pattern nor special tokens, so one that is not a published encoding needs `split` and `special_tokens`. Of GPT-2's
    `encoder.json` and `vocab.bpe`, or `vocab.json` and `merges.txt`, each stands for both, which are split by GPT-2's
    pattern unless `split` names another. A folder is that of a model: its tokenizer.json, vocab.txt or GPT-2's two
    files, with what `tokenizer_config.json` and the other files beside it say. A `tokenizer.lock.json` is checked.

    >>> load("o200k_base").n_vocab
    200019

    Raises `FormatError` saying where the file is wrong, and `StorageError` where it cannot be read.
    """
    if isinstance(source, str) and re.fullmatch(r"[\w-]+", source):
        spec = _bundled(source)
        if split is not None or special_tokens is not None:
            hint = "`with_special_tokens` of what is loaded adds special tokens"
            raise FormatError(f"{source}: expected no split= and special_tokens=, for it has its own", hint=hint)
        return Tokenizer(spec)
    from merganser import formats
    from merganser.formats import files, lock

    path = files.checked_path(source)
    if special_tokens is not None:
        arguments.mapping("special_tokens", special_tokens, of="contents with their ids")
    spec = formats.read(path, split=named_split(split), special_tokens=special_tokens, published=vocabularies.read)
    tokenizer = Tokenizer(spec)
    lock_file = (path if path.is_dir() else path.parent) / lock.NAME
    if lock_file.exists() and formats.is_locked(path):
        tokenizer.spec = lock.check(lock_file, spec, tokenizer.encode, _core.unicode_version())
    return tokenizer


def _bundled(name: str) -> Spec:
    try:
        return vocabularies.read(name)
    except FormatError as error:
        if os.path.exists(name):
            raise FormatError(str(error), hint=f"the file or folder of that name is `./{name}`") from None
        raise
