"""BERT's `vocab.txt`, a token a line, whose id is the line's number; and the tokenizer.json that it stands for."""

from __future__ import annotations

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


def looks_like_vocab(data: bytes) -> bool:
    """Whether this is a vocab.txt: lines of tokens, `[UNK]` among the first hundreds of them."""
    return b"[UNK]" in data[: 1 << 16].split() and data.lstrip()[:1] != b"{"


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
    strip_accents = beside.option("strip_accents", None)
    value: dict[str, object] = {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": beside.option("tokenize_chinese_chars", default=True).boolean(),
            "strip_accents": None if strip_accents.value is None else strip_accents.boolean(),
            "lowercase": beside.option("do_lower_case", default=True).boolean(),
        },
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


def _read(path: Path) -> dict[str, int]:
    """The id of each token: of one that comes twice, the last."""
    data = files.read_bytes(path)
    files.refuse_foreign(data, path, expected="a vocab.txt, a token a line")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"{path}: byte {error.start}: expected UTF-8, found byte 0x{data[error.start]:02X}"
        raise FormatError(message, hint="save it as UTF-8") from error
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return {token: id for id, token in enumerate(lines if lines[-1] else lines[:-1])}


def _special(name: str, type_id: int) -> dict[str, object]:
    return {"SpecialToken": {"id": name, "type_id": type_id}}


def _sequence(name: str, type_id: int) -> dict[str, object]:
    return {"Sequence": {"id": name, "type_id": type_id}}
