"""Chapter 3: words first. How byte pair encoding came to language, for translation, in 2016 (Sennrich and others).

Here the alphabet is characters, not bytes, and the pieces are the words between white space. Each word ends in a mark,
written `</w>`, so that `est</w>` at the end of a word is another token than `est` inside one, and no merge ever
crosses from a word into the next.

What it costs: a character that training did not see is unknown, and of white space only "here a word ends" is left.
Bytes and a split that keeps white space, in the next chapter, pay neither.
"""

from collections.abc import Sequence

from .bpe import BPE, TieBreak, decode_ids, encode_merges, train_bpe
from .simple import UNKNOWN

# The mark is stored as the space it stands for. No word holds a space, so no text can be mistaken for it, not even one
# that spells "</w>".
END_OF_WORD = " "


class SennrichTokenizer:
    """BPE on the characters of words.

    >>> text = "low low low low low lower lower " + "newest " * 6 + "widest " * 3
    >>> tokenizer = SennrichTokenizer.train(text, 10, tie_break="first")
    >>> tokenizer.tokens("lowest low")
    ['low', 'est</w>', 'low</w>']
    >>> tokenizer.decode(tokenizer.encode("lowest  low"))
    'lowest low'
    """

    def __init__(self, bpe: BPE) -> None:
        self.bpe = bpe
        self.id_by_text = {token.decode("utf-8"): i for i, token in bpe.vocabulary.items()}

    @classmethod
    def train(cls, text: str, num_merges: int, *, tie_break: TieBreak = "ids") -> "SennrichTokenizer":
        """A tokenizer that has learned `num_merges` merges from the words of `text`."""
        words = text.split()
        # The alphabet: id 0 for what is unknown, id 1 for the mark, then each character that occurs.
        symbols = [UNKNOWN, END_OF_WORD, *sorted(set("".join(words)))]
        alphabet = {i: symbol.encode("utf-8") for i, symbol in enumerate(symbols)}
        # A tokenizer without merges can spell, and spelled words are what training starts from.
        speller = cls(BPE({}, alphabet))
        return cls(train_bpe(map(speller.spell, words), num_merges, tie_break=tie_break, vocabulary=alphabet))

    def spell(self, word: str) -> list[int]:
        """A word as the ids of its characters, and of the mark."""
        return [self.id_by_text.get(character, 0) for character in word + END_OF_WORD]

    def encode(self, text: str) -> list[int]:
        return [i for word in text.split() for i in encode_merges(self.spell(word), self.bpe.merges)]

    def tokens(self, text: str) -> list[str]:
        """The tokens of `text` as papers print them, with `</w>` where a word ends."""
        return [self.bpe.vocabulary[i].decode("utf-8").replace(END_OF_WORD, "</w>") for i in self.encode(text)]

    def decode(self, ids: Sequence[int]) -> str:
        # Every mark becomes the space between two words; the last one has no word to follow it.
        return decode_ids(ids, self.bpe.vocabulary).removesuffix(END_OF_WORD)
