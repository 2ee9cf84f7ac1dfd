"""A folder that `AutoTokenizer.from_pretrained` reads, in and out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from merganser.errors import FormatError, StorageError
from merganser.formats import files, strict_json
from merganser.formats.huggingface import bert, side_files
from merganser.formats.huggingface.reading import from_json
from merganser.formats.huggingface.writing import write
from merganser.formats.strict_json import Node
from merganser.spec import Spec


def read_folder(folder: Path) -> Spec:
    """The Spec of the tokenizer.json in `folder`, or of the vocab.txt there, with what the files beside it say.

    Raises `FormatError` naming file and place of what is wrong, and `StorageError`.
    """
    path = folder / "tokenizer.json"
    if path.exists():
        beside = side_files.read(folder)
        data = files.read_bytes(path)
        files.refuse_foreign(data, path, expected="a tokenizer.json")
        root = strict_json.parse(data, path)
    elif (folder / bert.NAME).is_file():
        return read_vocab(folder / bert.NAME)
    else:
        names = files.names_in(folder)
        found = ", ".join(names[:8]) + (", …" if len(names) > 8 else "") or "nothing"
        raise FormatError(
            f"{folder}: expected a tokenizer.json, a vocab.txt or a vocab.json with its merges.txt in this folder, "
            f"found {found}",
            hint="these are the files of a model that tell its tokenizer; a name without `/` is a bundled one",
        )
    return replace(from_json(root, beside.added), surroundings=beside.surroundings)


def read_vocab(path: Path) -> Spec:
    """The Spec of BERT's vocab.txt, with what the files beside it say.

    Raises as `read_folder` does.
    """
    beside = side_files.read(path.parent)
    value, roles = bert.to_json(path, beside)
    added = {token.content: (id, token) for id, token in (*roles, *beside.added)}
    surroundings = replace(beside.surroundings, roles=bert.roles_of(beside))
    return replace(from_json(Node(path, "$", value), tuple(added.values())), surroundings=surroundings)


def write_folder(spec: Spec, folder: Path) -> tuple[str, ...]:
    """Writes `tokenizer.json`, `tokenizer_config.json` and chat templates into `folder`; gives what they leave out.

    Raises as `write` does.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(
            f"{folder}: expected a folder, or a place for one, found: {error.strerror or error}"
        ) from error
    left_out = write(spec, folder / "tokenizer.json")
    side_files.write(spec, folder)
    return left_out
