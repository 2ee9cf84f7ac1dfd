"""The classes of the split are those of the originals."""

import strategies
import tiktoken
from tokenizers import Regex, normalizers, pre_tokenizers

CLASSES = {r"\p{L}": 141_028, r"\p{N}": 1_911, r"\s": 25}


def test_classes_have_the_size_of_tiktokens_and_tokenizers():
    for name, size in CLASSES.items():
        ours = set(strategies.splitter(name, "drop").pieces(strategies.EVERY))
        assert len(ours) == size
        assert ours == of_tiktoken(name) == of_tokenizers(name)


def of_tiktoken(name):
    ranks = {bytes([byte]): byte for byte in range(256)}
    encoding = tiktoken.Encoding("bytes", pat_str=name, mergeable_ranks=ranks, special_tokens={})
    return set(encoding.decode(encoding.encode_ordinary(strategies.EVERY)))


def of_tokenizers(name):
    kept = normalizers.Replace(Regex(f"[^{name}]"), "").normalize_str(strategies.EVERY)
    assert pre_tokenizers.Split(Regex(name), "isolated").pre_tokenize_str(kept)[0][1] == (0, 1)
    return set(kept)
