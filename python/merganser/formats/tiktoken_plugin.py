"""A plug-in for tiktoken: a module that it finds by itself, and the tokens beside it."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Container
from hashlib import sha256
from pathlib import Path

from merganser.errors import FormatError, StorageError
from merganser.formats import files, tiktoken
from merganser.spec import Spec

_MODULE = '''"""The encoding {name} for tiktoken, written by merganser. The file beside it has the tokens."""

from pathlib import Path

from tiktoken.load import load_tiktoken_bpe


def {function}():
    ranks = Path(__file__).with_suffix(".tiktoken")
    return {{
        "name": {name!a},
        "pat_str": {pattern!a},
        "mergeable_ranks": load_tiktoken_bpe(str(ranks), {sha256!a}),
        "special_tokens": {special_tokens!a},
    }}


ENCODING_CONSTRUCTORS = {{{name!a}: {function}}}
'''


def write(spec: Spec, folder: Path, *, name: str, taken: Container[str]) -> Path:
    """Writes `folder/tiktoken_ext/<name>.py` and the tokens beside it; gives the path of the module.

    Raises `FormatError` where tiktoken cannot hold the Spec or the name is `taken` or not one for a plug-in, and
    `StorageError`.
    """
    module = name.replace("-", "_")
    if not re.fullmatch(r"[a-zA-Z]\w*", module, re.ASCII) or name in taken or module == "openai_public":
        raise FormatError(f"name: expected letters, digits, - and _, and no encoding of tiktoken's own, found {name!r}")
    arguments = tiktoken.encoding_arguments(spec)
    ranks = b"".join(b"%s %d\n" % (b64encode(token), rank) for token, rank in arguments["mergeable_ranks"].items())
    source = _MODULE.format(
        name=name,
        function=f"_{module}",
        pattern=arguments["pat_str"],
        sha256=sha256(ranks).hexdigest(),
        special_tokens=arguments["special_tokens"],
    )
    # No `__init__.py`: `tiktoken_ext` is a namespace package, which other plug-ins share.
    path = folder / "tiktoken_ext" / f"{module}.py"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"{path.parent}: expected a folder, found: {error.strerror or error}") from error
    files.write_atomically(path.with_suffix(".tiktoken"), ranks)
    files.write_atomically(path, source.encode())
    return path
