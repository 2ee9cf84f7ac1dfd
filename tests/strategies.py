"""Texts on which the engine and the reference must agree: made of code points that both Unicode tables class alike."""

import random
from functools import cache

import regex
import texts
from hypothesis import strategies as st

import merganser as mg
from merganser.spec import BytePairModel, Spec, Vocabulary

CLASSES = [r"\p{L}", r"\p{N}", r"\s", r"\p{Lu}", r"\p{Ll}", r"\p{Lt}", r"\p{Lm}", r"\p{Lo}", r"\p{M}"]
EVERY = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000)]))


def splitter(pattern: str, unmatched: str = "keep") -> mg.Tokenizer:
    """A tokenizer of single bytes that splits by `pattern`."""
    vocabulary = Vocabulary.from_tokens(bytes([byte]) for byte in range(256))
    split = mg.Split(pattern=pattern, unmatched=unmatched)
    return mg.Tokenizer(Spec(model=BytePairModel(vocabulary=vocabulary, semantics="merges"), splits=(split,)))


@cache
def agreed() -> frozenset[str]:
    """The code points that the engine's tables and `regex`'s put into the same classes."""
    disputed: set[str] = set()
    for name in CLASSES:
        disputed |= set(splitter(name, "drop").pieces(EVERY)) ^ set(regex.findall(name, EVERY))
    return frozenset(EVERY) - disputed


@cache
def words() -> tuple[str, ...]:
    """Words of many languages, and what stands between them."""
    found = " ".join(texts.LANGUAGES.values()).split(" ")
    odd = ["'s", "'LL", "’t", "!?", "...", "12345", "٣٤٥٦", "x=1;", "👋🏽", "e\u0301", "\x00", "ſ", "'ſ", "K"]
    return tuple(word for word in [*found, *odd] if word and set(word) <= agreed())


GAPS = (" ", " ", " ", " ", "  ", "   ", "\n", "\n\n", " \n", "\n ", "\t", "\r\n", "\u00a0", "\u3000", "")


def random_text(rng: random.Random, num_words: int) -> str:
    """Words and gaps, half of the time followed by any agreed code points."""
    parts = [part for _ in range(num_words) for part in (rng.choice(words()), rng.choice(GAPS))]
    if rng.random() < 0.5:
        parts += [chr(rng.randrange(*rng.choice(((0, 0x3000), (0, 0xD800), (0x10000, 0x20000))))) for _ in range(4)]
    return "".join(character for character in "".join(parts) if character in agreed())


def agreed_texts() -> st.SearchStrategy[str]:
    """Texts for hypothesis: words, gaps, and characters of any kind."""
    characters = st.text(max_size=8).map(lambda text: "".join(c for c in text if c in agreed()))
    part = st.one_of(st.sampled_from(words()), st.sampled_from(GAPS), characters)
    return st.lists(part, max_size=30).map("".join)
