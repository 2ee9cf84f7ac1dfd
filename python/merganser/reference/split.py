"""Chapter 4: split first. How GPT-2 and GPT-4 keep words, numbers and punctuation apart.

Left alone, BPE spends its vocabulary on `dog.` and `dog!` and `dog?`. So the text is split into pieces by a regular
expression before anything is merged, and no merge crosses from a piece into the next. Unlike Sennrich's words, the
pieces join to the text again: the space goes with the word that follows it, and nothing is dropped.

Some strings are to be one id and no text at all, such as `<|endoftext|>` between two documents. These *special tokens*
are cut out even before the split, because BPE would happily take them apart.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

import regex  # like `re`, but it knows \p{L}, any letter of any script, and \p{N}, any digit or number

from .bpe import BPE, TieBreak, decode_ids, encode_merges, train_bpe

# At each place the alternatives are tried from the top, and the first that matches gives the piece.
PATTERNS = {
    "gpt2": "|".join(
        [
            r"'s|'t|'re|'ve|'m|'ll|'d",  # English endings; not 'S, and not with a curly apostrophe
            r" ?\p{L}+",  # a word, with the space in front of it
            r" ?\p{N}+",  # a number of any length
            r" ?[^\s\p{L}\p{N}]+",  # punctuation, symbols and all else that leaves ink
            r"\s+(?!\S)",  # white space, all but its last character: a space there goes with the word that follows
            r"\s+",  # white space that is still left
        ]
    ),
    "gpt4": "|".join(
        [
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)",  # the endings in either case
            r"[^\r\n\p{L}\p{N}]?\p{L}+",  # a word, with one character in front of it: a space, a tab, a bracket
            r"\p{N}{1,3}",  # three digits at most, so that no long number becomes a token
            r" ?[^\s\p{L}\p{N}]+[\r\n]*",  # punctuation, with the line breaks behind it
            r"\s*[\r\n]+",  # white space up to the last of its line breaks
            r"\s+(?!\S)",  # as above
            r"\s+",  # as above
        ]
    ),
}


def split(text: str, pattern: str = "gpt4", *, keep_unmatched: bool = True) -> list[str]:
    r"""The pieces of `text`; `pattern` is a name in `PATTERNS` or any regular expression.

    >>> split("Hello've world123 how's  are you!!!?", "gpt2")
    ['Hello', "'ve", ' world', '123', ' how', "'s", ' ', ' are', ' you', '!!!?']

    Both patterns above match every character. Where another does not, the text between two matches is a piece of its
    own, or is lost, as it is in tiktoken:

    >>> split("a-b", r"\w"), split("a-b", r"\w", keep_unmatched=False)
    (['a', '-', 'b'], ['a', 'b'])
    """
    pieces: list[str] = []
    end = 0
    for match in regex.finditer(PATTERNS.get(pattern, pattern), text):
        if keep_unmatched:
            pieces.append(text[end : match.start()])
        pieces.append(match.group())
        end = match.end()
    if keep_unmatched:
        pieces.append(text[end:])
    return [piece for piece in pieces if piece]


def cut_special(text: str, special_tokens: Collection[str]) -> list[str]:
    """`text` cut before and after each special token.

    >>> cut_special("one<|end|>two<|end|>", ["<|end|>"])
    ['one', '<|end|>', 'two', '<|end|>']
    """
    if not special_tokens:
        return [text]
    # Where two fit at the same place the longer one wins, so it is tried first.
    longest_first = sorted(special_tokens, key=len, reverse=True)
    # The group makes `split` return what it cut at, too.
    return [part for part in regex.split(f"({'|'.join(map(regex.escape, longest_first))})", text) if part]


class RegexTokenizer:
    """BPE on the bytes of each piece, with special tokens.

    >>> text = "the cat, the hat<|end|>the bat"
    >>> tokenizer = RegexTokenizer.train(text, 3, pattern="gpt2", special_tokens=["<|end|>"])
    >>> [tokenizer.bpe.vocabulary[i] for i in range(256, 259)]
    [b'at', b'he', b'the']
    >>> tokenizer.encode("the hat<|end|>", allowed_special="all")
    [258, 32, 104, 256, 259]
    """

    def __init__(self, bpe: BPE, *, pattern: str = "gpt4", special_tokens: Mapping[str, int] | None = None) -> None:
        self.bpe = bpe
        self.pattern = pattern
        self.special_tokens = dict(special_tokens or {})
        # For decoding, a special token is a token like the others.
        self.vocabulary = {i: name.encode("utf-8") for name, i in self.special_tokens.items()} | bpe.vocabulary
        # The id of a byte need not be its value: GPT-4 numbers the bytes in an order of its own (see `ranks.py`).
        self.id_by_byte = {token[0]: i for i, token in bpe.vocabulary.items() if len(token) == 1}

    @classmethod
    def train(
        cls,
        text: str,
        num_merges: int,
        *,
        pattern: str = "gpt4",
        special_tokens: Iterable[str] = (),
        tie_break: TieBreak = "ids",
        never_merge_spaces: bool = False,
    ) -> "RegexTokenizer":
        """A tokenizer that has learned `num_merges` merges from the pieces of `text`."""
        names = list(special_tokens)
        # Special tokens are not counted, and nothing merges across them.
        parts = [part for part in cut_special(text, names) if part not in names]
        pieces = [piece.encode("utf-8") for part in parts for piece in split(part, pattern)]
        bpe = train_bpe(pieces, num_merges, tie_break=tie_break, never_merge_spaces=never_merge_spaces)
        # Their ids come after all others.
        special = {name: i for i, name in enumerate(names, start=len(bpe.vocabulary))}
        return cls(bpe, pattern=pattern, special_tokens=special)

    def encode(self, text: str, *, allowed_special: str | Collection[str] = "none") -> list[int]:
        """The ids of `text`, in which special tokens are text like any other unless they are allowed.

        For whoever writes the text could otherwise end the document, or go on in somebody else's voice.
        `allowed_special` is "all", "none", "none_raise" (a `ValueError` where the text holds one), or some names.
        """
        allowed: set[str] = set()
        match allowed_special:
            case "none":
                pass
            case "all":
                allowed.update(self.special_tokens)
            case "none_raise":
                for name in self.special_tokens:
                    if name in text:
                        raise ValueError(f"text: expected no special token, found {name!r}")
            case str():
                raise ValueError(f"allowed_special={allowed_special} not understood")
            case names:
                allowed.update(name for name in names if name in self.special_tokens)
        ids: list[int] = []
        for part in cut_special(text, allowed):
            ids += [self.special_tokens[part]] if part in allowed else self.encode_ordinary(part)
        return ids

    def encode_ordinary(self, text: str) -> list[int]:
        """The ids of `text`, whatever it holds: split, each piece to bytes, each byte to its id, then the merges."""
        pieces = ([self.id_by_byte[byte] for byte in piece.encode("utf-8")] for piece in split(text, self.pattern))
        return [i for piece in pieces for i in encode_merges(piece, self.bpe.merges)]

    def decode(self, ids: Sequence[int]) -> str:
        return decode_ids(ids, self.vocabulary)
