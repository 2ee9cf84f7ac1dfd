"""Chapter 6: WordPiece, the tokenizer of BERT. No merges when encoding: the longest token, again and again.

A word is cut from its left: take the longest token that it begins with, then the longest that the rest begins with. A
token inside of a word wears the mark `##`, so `able` at the start and `##able` further on are two tokens:

    unaffable     un ##aff ##able

Where nothing fits, the *whole* word is unknown, though its beginning was found. That is what is lost against bytes; and
case and accents, which BERT's normalizer takes away before.

Two rules are called WordPiece training, and they do not give the same tokens:

    likelihood    the paper's: the pair that stands together most often *for how often its parts stand at all*
    frequency     Hugging Face's: the pair that stands together most often, which is byte pair encoding with `##`
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Literal

from .bpe import Pair, best_pair, merge

Score = Literal["frequency", "likelihood"]


def encode_word(word: str, ids: Mapping[str, int], *, unknown: str = "[UNK]", max_characters: int = 100) -> list[int]:
    """The ids of a word by longest match.

    >>> ids = {"[UNK]": 0, "un": 1, "##aff": 2, "##able": 3, "##a": 4}
    >>> encode_word("unaffable", ids), encode_word("unaffably", ids)
    ([1, 2, 3], [0])
    """
    if len(word) > max_characters:
        return [ids[unknown]]
    found: list[int] = []
    start = 0
    while start < len(word):
        mark = "##" if start else ""
        # The longest first, so the first that is a token is the one.
        ends = [end for end in range(len(word), start, -1) if mark + word[start:end] in ids]
        if not ends:
            return [ids[unknown]]
        found.append(ids[mark + word[start : ends[0]]])
        start = ends[0]
    return found


def likeliest_pair(pairs: Mapping[Pair, int], counts: Mapping[int, int]) -> Pair:
    """The pair with the highest count for the product of its parts' counts; of equal ones the smallest ids.

    A pair of rare symbols that hardly ever part wins over one of common symbols that meet by chance:

    >>> likeliest_pair({(1, 2): 50, (3, 4): 5}, {1: 100, 2: 100, 3: 5, 4: 6})
    (3, 4)
    """
    # A fraction is exact, where a quotient of floats would make ties of what is none.
    return min(pairs, key=lambda pair: (-Fraction(pairs[pair], counts[pair[0]] * counts[pair[1]]), pair))


def train_wordpiece(
    words: Mapping[str, int],
    vocab_size: int,
    *,
    score: Score,
    special_tokens: Sequence[str] = ("[UNK]",),
    min_frequency: int = 1,
    initial_alphabet: Iterable[str] = (),
    limit_alphabet: int | None = None,
) -> list[str]:
    """The tokens, in the order of their ids, that words and how often each occurs teach.

    >>> train_wordpiece({"low": 5, "lower": 2}, 10, score="frequency")
    ['[UNK]', 'e', 'l', 'o', 'r', 'w', '##e', '##o', '##r', '##w']
    >>> train_wordpiece({"low": 5, "lower": 2}, 14, score="frequency")[10:]
    ['lo', 'low', '##er', 'lower']
    >>> train_wordpiece({"low": 5, "lower": 2}, 14, score="likelihood")[10:]
    ['##er', 'lo', '##wer', 'low']
    """
    tokens = list(dict.fromkeys(special_tokens))
    alphabet = limited_alphabet(words, initial_alphabet, limit_alphabet)
    inside = {character for word in words for character in word[1:] if character in alphabet}
    for token in [*sorted(alphabet), *(f"##{character}" for character in sorted(inside))]:
        if token not in tokens:
            tokens.append(token)
    # A row is a word as symbols. A character that is not in the alphabet vanishes, and its neighbours meet.
    rows = [
        [tokens.index("##" * (place > 0) + character) for place, character in enumerate(word) if character in alphabet]
        for word in words
    ]
    frequencies = list(words.values())
    while len(tokens) < vocab_size:
        pairs = weighted_pairs(rows, frequencies, min_frequency)
        if not pairs:
            break
        if score == "frequency":
            pair = best_pair(pairs, {}, "ids")
        else:
            counts: Counter[int] = Counter()
            for row, frequency in zip(rows, frequencies, strict=True):
                for symbol in row:
                    counts[symbol] += frequency
            pair = likeliest_pair(pairs, counts)
        joined = tokens[pair[0]] + tokens[pair[1]].removeprefix("##")
        if joined not in tokens:
            tokens.append(joined)
        rows = [merge(row, pair, tokens.index(joined)) for row in rows]
    return tokens


def weighted_pairs(rows: Sequence[Sequence[int]], frequencies: Sequence[int], least: int) -> dict[Pair, int]:
    """How often each pair stands in the words, where that is `least` times at least."""
    counts: Counter[Pair] = Counter()
    for row, frequency in zip(rows, frequencies, strict=True):
        for pair in pairwise(row):
            counts[pair] += frequency
    return {pair: count for pair, count in counts.items() if count >= least}


def limited_alphabet(words: Mapping[str, int], initial: Iterable[str], limit: int | None) -> set[str]:
    """The characters of the words and the initial ones: all, or as many as `limit`, the most frequent first."""
    counts: Counter[str] = Counter()
    for word, frequency in words.items():
        for character in word:
            counts[character] += frequency
    # Initial characters come before all others.
    order = {character: (0, 0, character) for character in initial}
    for character, count in counts.items():
        order.setdefault(character, (1, -count, character))
    return set(sorted(order, key=order.__getitem__)[:limit])
