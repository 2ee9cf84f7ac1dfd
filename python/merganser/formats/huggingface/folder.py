"""A folder that `AutoTokenizer.from_pretrained` reads."""

from __future__ import annotations

import json
from pathlib import Path

from merganser.errors import StorageError
from merganser.formats import files
from merganser.formats.huggingface.writing import write
from merganser.spec import AddedToken, Spec

# transformers' own way to say that texts have no greatest length.
_NO_MAX_LENGTH = int(1e30)


def write_folder(spec: Spec, folder: Path) -> tuple[str, ...]:
    """Writes `tokenizer.json` and `tokenizer_config.json` into `folder`; gives what they leave out.

    Raises as `write` does.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(
            f"{folder}: expected a folder, or a place for one, found: {error.strerror or error}"
        ) from error
    left_out = write(spec, folder / "tokenizer.json")
    config = json.dumps(_config(spec), indent=2, ensure_ascii=False) + "\n"
    files.write_atomically(folder / "tokenizer_config.json", config.encode())
    return left_out


def _config(spec: Spec) -> dict[str, object]:
    token_by_id: dict[int, AddedToken] = {}
    for token in spec.added_tokens:
        token_by_id.setdefault(token.id, token)
    decoder = {
        str(id): {
            "content": token.content,
            "lstrip": token.lstrip,
            "normalized": token.normalized,
            "rstrip": token.rstrip,
            "single_word": token.single_word,
            "special": token.special,
        }
        for id, token in sorted(token_by_id.items())
    }
    return {
        "added_tokens_decoder": decoder,
        "clean_up_tokenization_spaces": False,
        "model_max_length": _NO_MAX_LENGTH,
        "tokenizer_class": "PreTrainedTokenizerFast",
    }
