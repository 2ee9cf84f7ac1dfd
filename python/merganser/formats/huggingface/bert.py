"""BERT's `vocab.txt`, a token a line, whose id is the line's number; and the tokenizer.json that it stands for."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

from merganser.errors import FormatError
from merganser.formats import files
from merganser.formats.huggingface.side_files import ROLES, SideFiles
from merganser.spec import AddedToken

NAME = "vocab.txt"
_ROLES = {
    "unk_token": "[UNK]",
    "sep_token": "[SEP]",
    "pad_token": "[PAD]",
    "cls_token": "[CLS]",
    "mask_token": "[MASK]",
}
# Those whose tokenizers transformers builds as BERT's.
_CLASSES = (
    "Bert",
    "DistilBert",
    "Electra",
    "MobileBert",
    "ConvBert",
    "SqueezeBert",
    "Lxmert",
    "LayoutLM",
    "PreTrained",
)
# Python's `lower()` makes ς of a Σ behind a letter with case and not before one; what has no say in case may stand
# between, of which the look behind sees three characters. `rust/src/chain/bert.rs` knows this very pattern.
_CASED = (
    "[\\p{Lu}\\p{Ll}\\p{Lt}ªº\u2160-\u217f\u24b6-\u24e9\U0001f130-\U0001f149\U0001f150-\U0001f169\U0001f170-\U0001f189]"
)
_IGNORED = (
    "[\\p{Mn}\\p{Me}\\p{Cf}\\p{Lm}\\p{Sk}'.:"
    "\u00b7\u0387\u055f\u05f4\u2018\u2019\u2024\u2027\ufe13\ufe52\ufe55\uff07\uff0e\uff1a]"
)
_FINAL_SIGMA = f"Σ(?:{'|'.join(f'(?<={_CASED}{_IGNORED * n}Σ)' for n in range(4))})(?!{_IGNORED}*{_CASED})"


def looks_like_vocab(data: bytes) -> bool:
    """Whether this is a vocab.txt: lines of tokens, BERT's special ones among the first thousands of them."""
    return {b"[UNK]", b"[CLS]", b"[SEP]"}.issubset(data[: 1 << 16].split())


def roles_of(beside: SideFiles) -> tuple[tuple[str, str], ...]:
    """The roles with the content of their tokens: those that the side files name, and BERT's."""
    named = dict(beside.surroundings.roles)
    return tuple((_ROLES | named).items())


def to_json(path: Path, beside: SideFiles) -> tuple[dict[str, object], list[tuple[None, AddedToken]]]:
    """The value of the tokenizer.json for the vocab.txt at `path`, without added tokens, and these.

    Raises `FormatError` for a class whose tokenizer is not BERT's, and where the file is not one of tokens.
    """
    name = beside.option("tokenizer_class", "BertTokenizer")
    if name.string().split("Tokenizer")[0] not in _CLASSES:
        raise name.error("a class whose vocab.txt is BERT's", hint="save it as a tokenizer.json with transformers")
    vocab = _read(path)
    role = dict(roles_of(beside))
    special = {key: vocab[role[key]] for key in ("cls_token", "sep_token") if role[key] in vocab}
    if len(special) != 2:
        lacking = next(role[key] for key in ("cls_token", "sep_token") if role[key] not in vocab)
        raise FormatError(f"{path}: expected the token {lacking!r}, found no line with it")
    cls, sep = role["cls_token"], role["sep_token"]
    value: dict[str, object] = {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": {"type": "Sequence", "normalizers": list(_normalizers(beside))},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [_special(cls, 0), _sequence("A", 0), _special(sep, 0)],
            "pair": [_special(cls, 0), _sequence("A", 0), _special(sep, 0), _sequence("B", 1), _special(sep, 1)],
            "special_tokens": {name: {"id": name, "ids": [vocab[name]], "tokens": [name]} for name in (cls, sep)},
        },
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": role["unk_token"],
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": vocab,
        },
    }
    added = [AddedToken(content=role[key], id=0) for key in ROLES if key in role]
    return value, [(None, token) for token in added]


def _normalizers(beside: SideFiles) -> Iterator[dict[str, object]]:
    """The steps of transformers' `BertTokenizerLegacy`, in its order."""
    lowercase = beside.option("do_lower_case", default=True).boolean()
    strip_accents = beside.option("strip_accents", None)
    strips = lowercase if strip_accents.value is None else strip_accents.boolean()
    spaces = beside.option("tokenize_chinese_chars", default=True).boolean()
    step: dict[str, object] = {"type": "BertNormalizer", "strip_accents": False, "lowercase": False}
    yield step | {"clean_text": True, "handle_chinese_chars": spaces}
    if not strips:
        # Else all is taken apart at the end, composed or not.
        yield {"type": "NFC"}
    if lowercase:
        yield {"type": "Replace", "pattern": {"Regex": _FINAL_SIGMA}, "content": "ς"}
    if lowercase or strips:
        yield step | {
            "clean_text": False,
            "handle_chinese_chars": False,
            "strip_accents": strips,
            "lowercase": lowercase,
        }


def _read(path: Path) -> dict[str, int]:
    """The id of each token: of one that comes twice, the last. Warns of such."""
    data = files.read_bytes(path)
    files.refuse_foreign(data, path, expected="a vocab.txt, a token a line")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"{path}: byte {error.start}: expected UTF-8, found byte 0x{data[error.start]:02X}"
        raise FormatError(message, hint="save it as UTF-8") from error
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    tokens = lines if lines[-1] else lines[:-1]
    vocab = {token: id for id, token in enumerate(tokens)}
    if repeated := next((token for id, token in enumerate(tokens) if vocab[token] != id), None):
        message = (
            f"{path}: the token {repeated!r} has two lines, {tokens.index(repeated) + 1} and {vocab[repeated] + 1}: "
        )
        warnings.warn(f"{message}its id is that of the last", stacklevel=2)
    return vocab


def _special(name: str, type_id: int) -> dict[str, object]:
    return {"SpecialToken": {"id": name, "type_id": type_id}}


def _sequence(name: str, type_id: int) -> dict[str, object]:
    return {"Sequence": {"id": name, "type_id": type_id}}
