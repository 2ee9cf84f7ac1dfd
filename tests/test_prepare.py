"""`prepare` gives exactly what Hugging Face gives: every field, over random texts, post-processors and options."""

import random
from itertools import product

import pytest
import tokenizers
from tokenizers import models, normalizers, pre_tokenizers, processors

from merganser.errors import TextError
from merganser.preparing import Encoded, Padding, Truncation, prepared
from merganser.rows import Frame
from merganser.spec import ByteLevel, Template, TemplatePart

SPACES = "Ġ"


def margins(token: str) -> tuple[int, int]:
    """The white space at the two ends of a token, as ByteLevel's trimming counts it."""
    bare = [character == SPACES or character.isspace() for character in token]
    leading = bare.index(False) if False in bare else len(bare)
    trailing = bare[::-1].index(False) if False in bare else len(bare)
    return leading, trailing


def byte_level(*, add_prefix_space: bool) -> tokenizers.Tokenizer:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [("a", "b"), ("Ġ", "a"), ("Ġ", "Ġ"), ("ab", "c"), ("Ġa", "b")]
    vocab = {token: id for id, token in enumerate([*alphabet, *("".join(pair) for pair in merges)])}
    tok = tokenizers.Tokenizer(models.BPE(vocab, merges))
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space)
    tok.add_special_tokens([tokenizers.AddedToken("<mask>", lstrip=True), "<s>", "</s>"])
    return tok


def word_piece() -> tokenizers.Tokenizer:
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "b", "c", "##a", "##b", "##c", "ab", "##ab", "é", ",", "cab"]
    tok = tokenizers.Tokenizer(models.WordPiece({word: id for id, word in enumerate(words)}, unk_token="[UNK]"))
    tok.normalizer = normalizers.BertNormalizer()
    tok.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tok.add_special_tokens(["[PAD]", "[CLS]", "[SEP]"])
    return tok


