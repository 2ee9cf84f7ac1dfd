"""merganser: a tokenizer toolkit for language models.

>>> import merganser as mg
>>> tok = mg.load("o200k_base")
>>> tok.encode("merge, then merge again")
[25492, 11, 1815, 20345, 2418]
>>> tok.decode([25492, 11, 1815, 20345, 2418])
'merge, then merge again'
"""

from importlib import import_module

from merganser._core import __version__

TYPE_CHECKING = False  # Type checkers take it for True; `typing` itself would cost a tenth of the import.
if TYPE_CHECKING:
    from merganser.corpus import Corpus, read
    from merganser.errors import (
        FormatError,
        InternalError,
        MerganserError,
        MissingExtra,
        StorageError,
        TextError,
        TokenIdError,
        TrainingError,
    )
    from merganser.loading import load
    from merganser.preparing import Prepared, PreparedBatch
    from merganser.spec import AddedToken, Spec, Split
    from merganser.streaming import DecodeStream
    from merganser.tokenizer import Tokenizer
    from merganser.tokens import Token
    from merganser.training import train

# Where each public name lives. A module is imported when one of its names is first asked for.
_HOMES = {
    "corpus": ("Corpus", "read"),
    "errors": (
        "FormatError",
        "InternalError",
        "MerganserError",
        "MissingExtra",
        "StorageError",
        "TextError",
        "TokenIdError",
        "TrainingError",
    ),
    "loading": ("load",),
    "preparing": ("Prepared", "PreparedBatch"),
    "spec": ("AddedToken", "Spec", "Split"),
    "streaming": ("DecodeStream",),
    "tokenizer": ("Tokenizer",),
    "tokens": ("Token",),
    "training": ("train",),
}

__all__ = [
    "AddedToken",
    "Corpus",
    "DecodeStream",
    "FormatError",
    "InternalError",
    "MerganserError",
    "MissingExtra",
    "Prepared",
    "PreparedBatch",
    "Spec",
    "Split",
    "StorageError",
    "TextError",
    "Token",
    "TokenIdError",
    "Tokenizer",
    "TrainingError",
    "__version__",
    "load",
    "read",
    "train",
]


def __getattr__(name: str) -> object:
    for home, names in _HOMES.items():
        if name in names:
            value = getattr(import_module(f"merganser.{home}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'merganser' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
