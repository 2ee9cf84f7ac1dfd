"""The model of a tokenizer.json, whichever it is: its options, its tokens as they are spelled, its merges or scores."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from itertools import accumulate, chain, repeat
from operator import add, gt
from typing import Literal, TypeAlias, cast

from merganser.errors import FormatError
from merganser.formats.strict_json import MAX_U32, Node
from merganser.spec import CharacterPairModel, UnigramModel, Vocabulary, WordLevelModel, WordPieceModel, pack

Kind: TypeAlias = Literal["BPE", "Unigram", "WordPiece", "WordLevel"]
SpelledModel: TypeAlias = CharacterPairModel | UnigramModel | WordPieceModel | WordLevelModel

# Required and optional keys; files of before 2020 name no type, so that the first whose keys are there is meant.
_KEYS: dict[Kind, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "BPE": (
        ("vocab", "merges"),
        (
            "dropout",
            "unk_token",
            "continuing_subword_prefix",
            "end_of_word_suffix",
            "fuse_unk",
            "byte_fallback",
            "ignore_merges",
        ),
    ),
    "WordPiece": (("vocab", "unk_token", "continuing_subword_prefix", "max_input_chars_per_word"), ()),
    "WordLevel": (("vocab", "unk_token"), ()),
    "Unigram": (("vocab",), ("unk_id", "byte_fallback")),
}


def kind_of(model: Node) -> Kind:
    """Which model it is, by its type or, where it has none, by its keys."""
    members = model.object()
    if "type" in members:
        kind = model.kind()
        if kind not in _KEYS:
            raise model.at("type", kind).error(f"one of {', '.join(_KEYS)}", hint="schema 1.0 has no other model")
        return kind
    for kind, (required, _) in _KEYS.items():
        wanted = list if kind == "Unigram" else dict
        if members.keys() >= set(required) and isinstance(members["vocab"], wanted):
            return kind
    raise model.error(f"a type, one of {', '.join(_KEYS)}, or the keys of one")


def members_of(model: Node, kind: Kind) -> dict[str, Node]:
    """The members of the model; optional ones that are missing are null."""
    required, optional = _KEYS[kind]
    return model.members(*required, optional=("type", *optional))


def read_ids(vocab: Node) -> dict[str, int]:
    """The id of each token of a vocabulary that is an object."""
    ids = vocab.object()
    checked = cast("dict[str, int]", dict(ids))
    values = checked.values()
    if ids and (set(map(type, values)) != {int} or min(values) < 0 or max(values) > MAX_U32):
        for token, id in ids.items():
            vocab.at(token, id).u32()
    if len(set(checked.values())) != len(checked):
        raise _shared_id(vocab, checked)
    return checked


def _shared_id(vocab: Node, ids: dict[str, int]) -> FormatError:
    first_by_id: dict[int, str] = {}
    token = next(token for token, id in ids.items() if first_by_id.setdefault(id, token) != token)
    return vocab.at(token, ids[token]).error(f"an id of its own, not that of {first_by_id[ids[token]]!r}")


# BPE


def read_merges(merges: Node, ids: Mapping[str, int], prefix: str = "") -> tuple[list[int], set[int]]:
    """Left and right id of each merge, one after the other, and the ids that have to do with merges.

    `prefix` is what the right token of a merge loses.
    """
    parts = _read_parts(merges)
    lefts, rights = parts[::2], parts[1::2]
    ends = rights if not prefix else [_without_start(right, prefix, merges) for right in rights]
    columns = [lefts, rights, list(map(add, lefts, ends))]
    found = [list(map(ids.get, column)) for column in columns]
    for tokens, column in zip(columns, found, strict=True):
        if None in column:
            index = column.index(None)
            merge = Node(merges.file, f"{merges.place}[{index}]", f"{lefts[index]} {rights[index]}")
            raise merge.error(f"tokens of $.model.vocab, which lacks {tokens[index]!r}")
    known = cast("list[list[int]]", found)
    used = set(chain.from_iterable(known))
    pairs = list(chain.from_iterable(zip(known[0], known[1], strict=True)))
    return pairs if len(set(known[2])) == len(known[2]) else _last_times(pairs), used


def _without_start(token: str, prefix: str, merges: Node) -> str:
    """The original cuts off as many bytes as the prefix has characters, whatever they are."""
    try:
        return token.encode()[len(prefix) :].decode()
    except UnicodeDecodeError as error:
        raise merges.error(f"right tokens whose first {len(prefix)} bytes are whole characters") from error


def _last_times(pairs: list[int]) -> list[int]:
    """The pairs without those that come again: one that is listed twice has the rank of its last time."""
    backwards = dict.fromkeys(zip(pairs[-2::-2], pairs[::-2], strict=True))
    return list(chain.from_iterable(reversed(backwards)))


def _read_parts(merges: Node) -> list[str]:
    """Left and right token of each merge, one after the other. Old files have a merge as one string with a space."""
    items = merges.array()
    kinds = set(map(type, items))
    if kinds == {str} and set(map(str.count, cast("list[str]", items), repeat(" "))) == {1}:
        return " ".join(cast("list[str]", items)).split(" ")
    if kinds <= {list} and set(map(len, cast("list[list[str]]", items))) <= {2}:
        parts = list(chain.from_iterable(cast("list[list[str]]", items)))
        if set(map(type, parts)) <= {str}:
            return parts
    raise _bad_merge(merges)


def _bad_merge(merges: Node) -> FormatError:
    written_as = next((type(item) for item in merges.array()), str)
    for node in merges.items():
        if type(node.value) is not written_as:
            return node.error("two tokens, written as those of the first merge are")
        if isinstance(node.value, str):
            if node.value.count(" ") != 1:
                return node.error("two tokens with one space between")
        elif len(node.array()) != 2 or not all(isinstance(part, str) for part in node.array()):
            return node.error("two tokens")
    raise AssertionError("a merge is wrong")


def check_options(members: Mapping[str, Node]) -> None:
    """Holds the options of a BPE model to their kinds, and dropout to none."""
    dropout = members["dropout"]
    if dropout.value is not None and (isinstance(dropout.value, bool) or dropout.value != 0):
        raise dropout.error("null or 0", hint="dropout gives other ids each time; it is for training models")
    for key in ("unk_token", "continuing_subword_prefix", "end_of_word_suffix"):
        _string_or_null(members[key])
    for key in ("fuse_unk", "byte_fallback", "ignore_merges"):
        members[key].boolean(default=False)


def character_pairs(members: Mapping[str, Node], ids: Mapping[str, int], pairs: Sequence[int]) -> CharacterPairModel:
    """The BPE model over tokens as they are spelled."""
    return CharacterPairModel(
        vocabulary=spelled_vocabulary(ids),
        merges=pack(pairs),
        dropout=None if members["dropout"].value is None else 0.0,
        unk_token=_string_or_null(members["unk_token"]),
        continuing_subword_prefix=_string_or_null(members["continuing_subword_prefix"]),
        end_of_word_suffix=_string_or_null(members["end_of_word_suffix"]),
        fuse_unk=members["fuse_unk"].boolean(default=False),
        byte_fallback=members["byte_fallback"].boolean(default=False),
        ignore_merges=members["ignore_merges"].boolean(default=False),
    )


def _string_or_null(node: Node) -> str | None:
    return None if node.value is None else node.string()


def in_order(ids: Mapping[str, int]) -> tuple[list[str], list[int]]:
    """The tokens and their ids, in increasing order of id."""
    spelled, numbers = list(ids), list(ids.values())
    if any(map(gt, numbers, numbers[1:])):
        spelled.sort(key=ids.__getitem__)
        numbers.sort()
    return spelled, numbers


def spelled_vocabulary(ids: Mapping[str, int]) -> Vocabulary:
    """The vocabulary of these tokens as UTF-8."""
    spelled, numbers = in_order(ids)
    tokens = [token.encode() for token in spelled]
    return Vocabulary(data=b"".join(tokens), ends=pack(accumulate(map(len, tokens))), ids=pack(numbers))


# The others


def read_words(model: Node, kind: Literal["WordPiece", "WordLevel"]) -> tuple[SpelledModel, dict[str, int]]:
    """The model, and the id of each token."""
    members = members_of(model, kind)
    ids = read_ids(members["vocab"])
    vocabulary, unk_token = spelled_vocabulary(ids), members["unk_token"].string()
    if kind == "WordLevel":
        return WordLevelModel(vocabulary=vocabulary, unk_token=unk_token), ids
    most = members["max_input_chars_per_word"].u32()
    prefix = members["continuing_subword_prefix"].string()
    words = WordPieceModel(
        vocabulary=vocabulary, unk_token=unk_token, continuing_subword_prefix=prefix, max_input_chars_per_word=most
    )
    return words, ids


def read_unigram(model: Node) -> tuple[UnigramModel, dict[str, int]]:
    """The model, and the id of each token: of one that comes twice, the last."""
    members = members_of(model, "Unigram")
    tokens, scores = _read_scores(members["vocab"])
    unk_id = members["unk_id"]
    if unk_id.value is not None and unk_id.u32() >= len(tokens):
        raise unk_id.error(f"null or the id of one of {len(tokens)} tokens")
    unigram = UnigramModel(
        vocabulary=Vocabulary.from_tokens(token.encode() for token in tokens),
        scores=struct.pack(f"<{len(scores)}d", *scores),
        unk_id=None if unk_id.value is None else unk_id.u32(),
        byte_fallback=members["byte_fallback"].boolean(default=False),
    )
    return unigram, {token: id for id, token in enumerate(tokens)}


def _read_scores(vocab: Node) -> tuple[list[str], list[float]]:
    tokens: list[str] = []
    scores: list[float] = []
    for index, item in enumerate(vocab.array()):
        match item:
            case [str(token), float() | int() as score] if not isinstance(score, bool) and _is_finite(score):
                tokens.append(token)
                scores.append(float(score))
            case _:
                raise Node(vocab.file, f"{vocab.place}[{index}]", item).error("a token and its score")  # pyright: ignore[reportUnknownArgumentType]
    return tokens, scores


def _is_finite(number: float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:
        return False
