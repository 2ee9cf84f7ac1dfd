"""Chapter 1: the simplest tokenizers, with one id a character, one id a byte, one id a word.

A tokenizer turns text into a list of integers, the ids, and ids back into text. The language model sees only the ids,
so two numbers matter: how many ids a text becomes (attention costs their square) and how many different ids there are
(each is a row in the first and in the last matrix of the model). Every tokenizer of this chapter is bad at one of them:

    an id for each    different ids               ids of "Hi 🌍!"
    code point        over 150,000, and growing   5
    byte              256                         8
    word              no end of them              4, but a word never seen before has none
"""

import re
from collections.abc import Sequence
from typing import Protocol

UNKNOWN = "<unk>"  # what stands for a word that the vocabulary does not hold


class Tokenizer(Protocol):
    """What all tokenizers can do. Any class with these two methods is one; there is nothing to inherit."""

    def encode(self, text: str) -> list[int]:
        """The ids of `text`."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """The text of `ids`. Most tokenizers promise `decode(encode(text)) == text`; none promises the reverse."""
        ...


class CharacterTokenizer:
    """One id a character: its Unicode code point.

    >>> CharacterTokenizer().encode("h😀")
    [104, 128512]
    >>> CharacterTokenizer().decode([104, 128512])
    'h😀'
    """

    def encode(self, text: str) -> list[int]:
        return [ord(character) for character in text]

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(chr(i) for i in ids)


class AlphabetTokenizer:
    """One id a character, counting only the characters of one text: 65 in the Shakespeare of the lecture.

    The vocabulary is as small as can be, and helpless outside its text: any other character is a `KeyError`.

    >>> tokenizer = AlphabetTokenizer("hello")
    >>> tokenizer.alphabet
    ['e', 'h', 'l', 'o']
    >>> tokenizer.encode("hole")
    [1, 3, 2, 0]
    """

    def __init__(self, text: str) -> None:
        # Each character once, in an order that does not depend on where the text has it.
        self.alphabet = sorted(set(text))
        # The two tables of every tokenizer: there and back.
        self.id_by_character = {character: i for i, character in enumerate(self.alphabet)}
        self.character_by_id = dict(enumerate(self.alphabet))

    def encode(self, text: str) -> list[int]:
        return [self.id_by_character[character] for character in text]

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(self.character_by_id[i] for i in ids)


class ByteTokenizer:
    """One id a byte of the text's UTF-8: no text is foreign, and none gets any shorter.

    >>> ByteTokenizer().encode("é!")
    [195, 169, 33]

    Not every list of bytes is UTF-8. A model may well produce one that is not, so `decode` puts U+FFFD, the replacement
    character, where it cannot read. Here is why `encode(decode(ids))` need not be `ids`:

    >>> ByteTokenizer().decode([104, 105, 128])
    'hi\ufffd'
    """

    def encode(self, text: str) -> list[int]:
        return list(text.encode("utf-8"))

    def decode(self, ids: Sequence[int]) -> str:
        return bytes(ids).decode("utf-8", errors="replace")


class WordTokenizer:
    """One id a word: short lists of ids, and no way to say a word that was not in the text it learned from.

    >>> tokenizer = WordTokenizer("to be, or not to be")
    >>> tokenizer.vocabulary
    ['<unk>', 'to', ' ', 'be', ',', 'or', 'not']
    >>> tokenizer.encode("not to see")
    [6, 2, 1, 2, 0]
    >>> tokenizer.decode([6, 2, 1, 2, 0])
    'not to <unk>'
    """

    # A run of word characters, or any one other character. The two leave nothing out, so the words join to the text.
    WORD = re.compile(r"\w+|\W")

    def __init__(self, text: str) -> None:
        # Each word once, in order of first sight; id 0 is kept for all the words of the world that are not here.
        self.vocabulary = [UNKNOWN, *dict.fromkeys(self.WORD.findall(text))]
        self.id_by_word = {word: i for i, word in enumerate(self.vocabulary)}
        self.word_by_id = dict(enumerate(self.vocabulary))

    def encode(self, text: str) -> list[int]:
        return [self.id_by_word.get(word, 0) for word in self.WORD.findall(text)]

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(self.word_by_id[i] for i in ids)


def compression_ratio(text: str, ids: Sequence[int]) -> float:
    """How many bytes of UTF-8 one id stands for, on average: the higher, the shorter the list that the model reads.

    >>> compression_ratio("Hi 🌍!", ByteTokenizer().encode("Hi 🌍!"))
    1.0
    >>> compression_ratio("Hi 🌍!", CharacterTokenizer().encode("Hi 🌍!"))
    1.6
    """
    if not ids:
        raise ValueError("compression ratio: expected at least one id, found none")
    return len(text.encode("utf-8")) / len(ids)
