"""The book: tokenizers written to be read, with nothing but Python and the `regex` package.

Read the chapters in this order; each adds one idea to the ones before:

    simple.py      characters, bytes, words: what each gains and loses
    bpe.py         byte pair encoding: training, encoding, decoding
    sennrich.py    BPE on the characters of words, as it began
    split.py       BPE on the bytes of pieces, and special tokens: GPT-2 and GPT-4
    ranks.py       the same without merges: what tiktoken's files hold
    wordpiece.py   the longest match, and two ways to learn what matches: BERT

The book is slow on purpose, and it is the measure of what is fast: the engine is held equal to it by the tests.
"""

from .bpe import (
    BPE,
    BasicTokenizer,
    Pair,
    TieBreak,
    best_pair,
    count_pairs,
    decode_ids,
    encode_merges,
    encode_merges_in_order,
    merge,
    train_bpe,
)
from .ranks import encode_ranks, merge_by_rank, recover_merges
from .sennrich import END_OF_WORD, SennrichTokenizer
from .simple import (
    UNKNOWN,
    AlphabetTokenizer,
    ByteTokenizer,
    CharacterTokenizer,
    Tokenizer,
    WordTokenizer,
    compression_ratio,
)
from .split import PATTERNS, RegexTokenizer, cut_special, split
from .wordpiece import encode_word, likeliest_pair, limited_alphabet, train_wordpiece, weighted_pairs

__all__ = [
    "BPE",
    "END_OF_WORD",
    "PATTERNS",
    "UNKNOWN",
    "AlphabetTokenizer",
    "BasicTokenizer",
    "ByteTokenizer",
    "CharacterTokenizer",
    "Pair",
    "RegexTokenizer",
    "SennrichTokenizer",
    "TieBreak",
    "Tokenizer",
    "WordTokenizer",
    "best_pair",
    "compression_ratio",
    "count_pairs",
    "cut_special",
    "decode_ids",
    "encode_merges",
    "encode_merges_in_order",
    "encode_ranks",
    "encode_word",
    "likeliest_pair",
    "limited_alphabet",
    "merge",
    "merge_by_rank",
    "recover_merges",
    "split",
    "train_bpe",
    "train_wordpiece",
    "weighted_pairs",
]
