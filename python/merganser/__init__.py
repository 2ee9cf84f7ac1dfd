"""merganser: a tokenizer toolkit for language models.

>>> import merganser as mg
>>> tok = mg.load("o200k_base")
>>> tok.encode("merge, then merge again")
[25492, 11, 1815, 20345, 2418]
>>> tok.decode([25492, 11, 1815, 20345, 2418])
'merge, then merge again'
"""

from merganser._core import __version__
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
from merganser.spec import AddedToken, Spec, Split
from merganser.tokenizer import DecodeStream, Token, Tokenizer, load
from merganser.training import train

__all__ = [
    "AddedToken",
    "Corpus",
    "DecodeStream",
    "FormatError",
    "InternalError",
    "MerganserError",
    "MissingExtra",
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
