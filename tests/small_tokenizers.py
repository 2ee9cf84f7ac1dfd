"""Small tokenizers of Hugging Face's, a model each, and how we come to read them."""

import tokenizers
from tokenizers import models, normalizers, pre_tokenizers

import merganser as mg


def saved(tok: tokenizers.Tokenizer, path) -> mg.Tokenizer:
    tok.save(str(path))
    return mg.load(path)


def byte_level(*, add_prefix_space: bool) -> tokenizers.Tokenizer:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [("a", "b"), ("Ġ", "a"), ("Ġ", "Ġ"), ("ab", "c"), ("Ġa", "b")]
    vocab = {token: id for id, token in enumerate([*alphabet, *("".join(pair) for pair in merges)])}
    tok = tokenizers.Tokenizer(models.BPE(vocab, merges))
    tok.normalizer = normalizers.NFC()
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space)
    tok.decoder = tokenizers.decoders.ByteLevel()
    tok.add_special_tokens([tokenizers.AddedToken("<mask>", lstrip=True, normalized=False), "<s>", "</s>"])
    return tok


def word_piece() -> tokenizers.Tokenizer:
    words = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "a",
        "b",
        "c",
        "##a",
        "##b",
        "##c",
        "ab",
        "##ab",
        "e",
        ",",
        "cab",
        "日",
    ]
    tok = tokenizers.Tokenizer(models.WordPiece({word: id for id, word in enumerate(words)}, unk_token="[UNK]"))
    tok.normalizer = normalizers.BertNormalizer()
    tok.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tok.decoder = tokenizers.decoders.WordPiece()
    tok.add_special_tokens(["[PAD]", "[CLS]", "[SEP]", "<mask>"])
    return tok


def unigram() -> tokenizers.Tokenizer:
    pieces = [
        ("<unk>", 0.0),
        ("<s>", 0.0),
        ("</s>", 0.0),
        ("▁", -2.0),
        ("a", -2.5),
        ("b", -2.5),
        ("▁ab", -3.0),
        ("c", -4.0),
    ]
    tok = tokenizers.Tokenizer(models.Unigram(pieces, 0, byte_fallback=False))
    tok.pre_tokenizer = pre_tokenizers.Metaspace()
    tok.decoder = tokenizers.decoders.Metaspace()
    tok.add_special_tokens(["<s>", "</s>"])
    tok.add_tokens(["<mask>"])
    return tok


def llama() -> tokenizers.Tokenizer:
    """Spaces are `▁`, other characters without a token are bytes, and nothing splits the text."""
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", "a", "b", "[", "]", "▁a", "ab"]
    vocab = {token: id for id, token in enumerate(tokens)}
    merges = [("▁", "a"), ("a", "b")]
    tok = tokenizers.Tokenizer(models.BPE(vocab, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tok.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    steps = [tokenizers.decoders.Replace("▁", " "), tokenizers.decoders.ByteFallback(), tokenizers.decoders.Fuse()]
    tok.decoder = tokenizers.decoders.Sequence([*steps, tokenizers.decoders.Strip(" ", 1, 0)])
    tok.add_special_tokens(["<unk>", "<s>", "</s>"])
    return tok
