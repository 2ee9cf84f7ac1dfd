"""A model over tokens as they are spelled → the model of a tokenizer.json."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping
from itertools import chain
from json.encoder import encode_basestring  # pyright: ignore[reportUnknownVariableType]

from merganser.formats.huggingface.components import Json
from merganser.spec import (
    CharacterPairModel,
    Model,
    UnigramModel,
    WordLevelModel,
    WordPieceModel,
    unpack,
)


def options_of(model: Model) -> dict[str, Json]:
    """The type and the options of a model, without its tokens, merges and scores."""
    match model:
        case CharacterPairModel():
            return {
                "type": "BPE",
                "dropout": model.dropout,
                "unk_token": model.unk_token,
                "continuing_subword_prefix": model.continuing_subword_prefix,
                "end_of_word_suffix": model.end_of_word_suffix,
                "fuse_unk": model.fuse_unk,
                "byte_fallback": model.byte_fallback,
                "ignore_merges": model.ignore_merges,
            }
        case UnigramModel():
            return {"type": "Unigram", "unk_id": model.unk_id, "byte_fallback": model.byte_fallback}
        case WordPieceModel():
            return {
                "type": "WordPiece",
                "unk_token": model.unk_token,
                "continuing_subword_prefix": model.continuing_subword_prefix,
                "max_input_chars_per_word": model.max_input_chars_per_word,
            }
        case WordLevelModel():
            return {"type": "WordLevel", "unk_token": model.unk_token}
        case _:
            raise TypeError(f"model: expected one over spelled tokens, found {type(model).__name__}")


def spelled_model(model: Model, token_by_id: Mapping[int, str]) -> str:
    """The text of the model, each token, merge and score on a line."""
    head = json.dumps(options_of(model), indent=2, ensure_ascii=False).removesuffix("\n}").replace("\n", "\n  ")
    if isinstance(model, UnigramModel):
        scores = chain.from_iterable(struct.iter_unpack("<d", model.scores))
        pairs = zip(token_by_id.values(), scores, strict=True)
        vocab = lines((f"[{encode_basestring(token)}, {score!r}]" for token, score in pairs), indent=6)
        return f'{head},\n    "vocab": [{vocab}]\n  }}'
    vocab = lines((f"{encode_basestring(token)}: {id}" for id, token in token_by_id.items()), indent=6)
    if not isinstance(model, CharacterPairModel):
        return f'{head},\n    "vocab": {{{vocab}}}\n  }}'
    numbers = unpack(model.merges)
    names = [encode_basestring(token_by_id[id]) for id in numbers]
    merges = lines((f"[{left}, {right}]" for left, right in zip(names[::2], names[1::2], strict=True)), indent=6)
    return f'{head},\n    "vocab": {{{vocab}}},\n    "merges": [{merges}]\n  }}'


def lines(items: Iterable[str], *, indent: int) -> str:
    """The items of an array or object, each on a line of its own."""
    start = "\n" + " " * indent
    lines = f",{start}".join(items)
    return f"{start}{lines}{start[:-2]}" if lines else ""
