"""The model of a tokenizer.json: tokens in the byte alphabet → bytes, merges → pairs of ids."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, chain, repeat
from operator import add, gt
from typing import cast

from merganser.errors import FormatError
from merganser.formats import byte_alphabet
from merganser.formats.strict_json import MAX_U32, Node
from merganser.spec import AddedToken, BytePairModel, Vocabulary, pack

_MARKS = ("continuing_subword_prefix", "end_of_word_suffix")
_OF_CHARACTERS = ("fuse_unk", "byte_fallback")
_OPTIONAL = ("type", "dropout", "unk_token", "ignore_merges", *_MARKS, *_OF_CHARACTERS)
Added = Sequence[tuple[Node, AddedToken]]


def read_model(model: Node, added: Added) -> BytePairModel:
    """The byte-level BPE model that `model` describes, without the tokens that only `added` gives."""
    _check_type(model)
    members = model.members("vocab", "merges", optional=_OPTIONAL)
    _check_options(members)
    ignore_merges = members["ignore_merges"].boolean(default=False)
    ids = _read_ids(members["vocab"])
    _check_added(ids, added)
    pairs, used = _read_merges(members["merges"], ids)
    for _, token in added:
        if token.content in ids and token.id not in used and _is_only_added(token, ignore_merges=ignore_merges):
            del ids[token.content]
    return BytePairModel(
        vocabulary=_read_tokens(members["vocab"], ids, ignore_merges=ignore_merges),
        semantics="merges",
        merges=pack(pairs),
        ignore_merges=ignore_merges,
    )


def _check_type(model: Node) -> None:
    """Files of before 2020 name no type."""
    members = model.object()
    if members.get("type", "BPE" if "merges" in members else None) != "BPE":
        hint = "WordPiece, Unigram and WordLevel come with a later version"
        raise model.at("type", members.get("type")).error('"BPE"', hint=hint)


def _check_options(members: dict[str, Node]) -> None:
    dropout = members["dropout"]
    if dropout.value is not None and (isinstance(dropout.value, bool) or dropout.value != 0):
        raise dropout.error("null or 0", hint="dropout gives other ids each time; it is for training models")
    for key in _MARKS:
        if members[key].value not in (None, ""):
            raise members[key].error("null", hint="byte-level BPE marks no word borders")
    for key in _OF_CHARACTERS:
        if members[key].boolean(default=False):
            raise members[key].error("false", hint="this is for tokens of characters, not of bytes")
    unk_token = members["unk_token"]
    has_every_byte = members["vocab"].object().keys() >= set(byte_alphabet.ALPHABET)
    if unk_token.value is not None and (not isinstance(unk_token.value, str) or not has_every_byte):
        raise unk_token.error("null or, where every byte has a token, a token that is never used")


def _read_ids(vocab: Node) -> dict[str, int]:
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


def _check_added(ids: dict[str, int], added: Added) -> None:
    """Hugging Face takes an added token's id from the vocabulary or, where it is not there, the next free one."""
    next_id = len(ids)
    taken = set(ids.values())
    for node, token in added:
        if token.content in ids:
            given, why = ids[token.content], "that $.model.vocab gives it"
        else:
            given, why = next_id, "the next after $.model.vocab, whatever the file says"
            next_id += 1
        if token.id != given:
            hint = "Hugging Face numbers added tokens itself: put this one into $.model.vocab with its id"
            raise node.at("id", token.id).error(f"{given}, {why}", hint=hint)
        if token.content not in ids and token.id in taken:
            raise node.at("id", token.id).error("an id that no other token has")


def _is_only_added(token: AddedToken, *, ignore_merges: bool) -> bool:
    """Whether the model cannot give this token, which no merge has to do with: then it is no business of the model's.

    A special one never stands for a piece of text, though under `ignore_merges` Hugging Face would let it.
    """
    if len(token.content) == 1 and token.content in byte_alphabet.ALPHABET:
        return False
    return token.special or not ignore_merges or not byte_alphabet.is_spelled(token.content)


def _read_merges(merges: Node, ids: dict[str, int]) -> tuple[list[int], set[int]]:
    """Left and right id of each merge, one after the other, and the ids that have to do with merges."""
    parts = _read_parts(merges)
    lefts, rights = parts[::2], parts[1::2]
    columns = [lefts, rights, list(map(add, lefts, rights))]
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


def _read_tokens(vocab: Node, ids: dict[str, int], *, ignore_merges: bool) -> Vocabulary:
    spelled = list(ids)
    numbers = list(ids.values())
    if any(map(gt, numbers, numbers[1:])):
        spelled.sort(key=ids.__getitem__)
        numbers.sort()
    joined = "".join(spelled)
    packed_ids = pack(numbers)
    if byte_alphabet.is_spelled(joined):
        return Vocabulary(data=byte_alphabet.unspell(joined), ends=pack(accumulate(map(len, spelled))), ids=packed_ids)
    tokens = [byte_alphabet.unspell(token) if byte_alphabet.is_spelled(token) else token.encode() for token in spelled]
    _check_unspelled(vocab, ids, dict(zip(spelled, tokens, strict=True)), ignore_merges=ignore_merges)
    return Vocabulary(data=b"".join(tokens), ends=pack(accumulate(map(len, tokens))), ids=packed_ids)


def _check_unspelled(
    vocab: Node, ids: dict[str, int], bytes_by_token: dict[str, bytes], *, ignore_merges: bool
) -> None:
    """Hugging Face's model never gives a token with characters outside the byte alphabet; ours may not either."""
    token_by_bytes = {data: token for token, data in bytes_by_token.items() if byte_alphabet.is_spelled(token)}
    for token, data in bytes_by_token.items():
        if byte_alphabet.is_spelled(token):
            continue
        if ignore_merges:
            raise vocab.at(token, ids[token]).error("only tokens in GPT-2's byte alphabet, or added tokens")
        if data in token_by_bytes or len(data) == 1:
            raise vocab.at(token, ids[token]).error(f"one token with the bytes {data!r}")
