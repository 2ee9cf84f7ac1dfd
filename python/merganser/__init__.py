"""merganser: a tokenizer toolkit for language models.

>>> import merganser as mg
>>> tok = mg.load("o200k_base")
>>> tok.encode("merge, then merge again")
[99217, 11, 1815, 21993, 1256]
>>> tok.decode([99217, 11, 1815, 21993, 1256])
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
