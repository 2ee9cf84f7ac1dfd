"""Which tokenizer.json is byte-level BPE as a Spec without pipeline holds it, and what it is then.

Such a file has normal forms, splits that keep every match, ByteLevel as the last of them and as the decoder, and a
model of nothing but bytes: GPT-2, GPT-NeoX, Qwen, Llama 3, DeepSeek and many more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import accumulate, chain
from typing import NamedTuple, cast

from merganser.formats import byte_alphabet
from merganser.formats.huggingface.models import in_order
from merganser.formats.ranks import merges_of_ranks, ranks_of
from merganser.formats.strict_json import Node
from merganser.spec import (
    AddedToken,
    ByteLevel,
    BytePairModel,
    CharacterPairModel,
    Component,
    Normalizer,
    Pipeline,
    Split,
    Template,
    TemplatePart,
    Vocabulary,
    pack,
    unpack,
)


class Around(NamedTuple):
    """What a Spec has around a byte-level model, in place of a pipeline."""

    normalizers: tuple[Normalizer, ...]
    splits: tuple[Split | ByteLevel, ...]
    template: Template | None
    offsets: ByteLevel | None


def around(pipeline: Pipeline) -> Around | None:
    """`pipeline` in a byte-level Spec's words; None where these cannot say it."""
    forms = [step.type for step in _steps(pipeline.normalizer)]
    splits = _splits(list(_steps(pipeline.pre_tokenizer)))
    post = _post_processor(list(_steps(pipeline.post_processor)))
    decoders = [step.type for step in _steps(pipeline.decoder)]
    if not {"NFC", "NFD", "NFKC", "NFKD"}.issuperset(forms) or splits is None or post is None:
        return None
    if decoders != ["ByteLevel"]:
        return None
    return Around(tuple(Normalizer(form=form) for form in forms), splits, *post)  # pyright: ignore[reportArgumentType]


def _steps(component: Component | None) -> Iterable[Component]:
    return () if component is None else component.steps()


def _splits(components: Sequence[Component]) -> tuple[Split | ByteLevel, ...] | None:
    if not components or components[-1].type != "ByteLevel":
        return None
    found: list[Split | ByteLevel] = []
    for step in components[:-1]:
        if step.type != "Split" or step["behavior"] != "Isolated" or step["invert"]:
            return None
        kind = cast("Component", step["pattern"])
        pattern = cast("str", kind["pattern"])
        found.append(Split(pattern=pattern if kind.type == "Regex" else _escape(pattern), dialect="oniguruma"))
    last = _byte_level(components[-1])
    # This one only turns bytes into their printable characters; every Spec does.
    return (*found, last) if last.use_regex or last.add_prefix_space else tuple(found)


def _byte_level(step: Component) -> ByteLevel:
    return ByteLevel(**{name: bool(value) for name, value in step.options})


def _escape(text: str) -> str:
    return "".join(f"\\{character}" if character in r"\.+*?()|[]{}^$" else character for character in text)


def _post_processor(components: Sequence[Component]) -> tuple[Template | None, ByteLevel | None] | None:
    template: Template | None = None
    offsets: ByteLevel | None = None
    for step in components:
        if template is not None or (offsets is not None and step.type != "TemplateProcessing"):
            return None
        if step.type == "ByteLevel":
            offsets = _byte_level(step)
        elif step.type == "TemplateProcessing":
            single, pair = (cast("tuple[TemplatePart, ...]", step[key]) for key in ("single", "pair"))
            template = Template(single=single, pair=pair)
        elif step.type == "RobertaProcessing":
            cls, sep = (cast("TemplatePart", step[key]) for key in ("cls", "sep"))
            first, second = TemplatePart(name="A"), TemplatePart(name="B")
            template = Template(single=(cls, first, sep), pair=(cls, first, sep, sep, second, sep))
            offsets = ByteLevel(
                add_prefix_space=bool(step["add_prefix_space"]), trim_offsets=bool(step["trim_offsets"])
            )
        else:
            return None
    parts = (*template.single, *template.pair) if template else ()
    has_one_meaning = len({part.name for part in parts if part.ids}) == len(
        {(part.name, part.ids) for part in parts if part.ids}
    )
    return (template, offsets) if has_one_meaning else None


def model(
    members: Mapping[str, Node],
    ids: dict[str, int],
    pairs: Sequence[int],
    used: set[int],
    added: Collection[AddedToken],
) -> BytePairModel | None:
    """The byte-level model of these tokens and merges, without the tokens that only `added` gives; None for others.

    None also where merges may give a special token: the byte-level engine cannot leave that one out of a call.
    """
    if not _has_only_bytes(members):
        return None
    ignore_merges = members["ignore_merges"].boolean(default=False)
    dropped = {
        token.content
        for token in added
        if token.content in ids and token.id not in used and _is_only_added(token, ignore_merges=ignore_merges)
    }
    kept = {token: id for token, id in ids.items() if token not in dropped} if dropped else ids
    if any(token.special and token.content in kept and _may_be_merged(token.content) for token in added):
        return None
    vocabulary = _vocabulary(kept, ignore_merges=ignore_merges)
    if vocabulary is None:
        return None
    return BytePairModel(vocabulary=vocabulary, semantics="merges", merges=pack(pairs), ignore_merges=ignore_merges)


def spelled(model: BytePairModel) -> CharacterPairModel:
    """`model` over tokens as tokenizer.json spells them: ids and merges are the same.

    Raises `FormatError` where ranks cannot be told as merges.
    """
    ids = list(unpack(model.vocabulary.ids))
    tokens = list(model.vocabulary.tokens())
    if model.semantics == "rank":
        id_by_token = dict(zip(tokens, ids, strict=True))
        merges = pack(id_by_token[part] for pair in merges_of_ranks(ranks_of(model)) for part in pair)
    else:
        numbers = unpack(model.merges)
        # A pair that is listed twice is used as the first.
        pairs = dict.fromkeys(zip(numbers[::2], numbers[1::2], strict=True))
        merges = pack(chain.from_iterable(pairs))
    return CharacterPairModel(
        vocabulary=Vocabulary.from_tokens((byte_alphabet.spell(token).encode() for token in tokens), ids),
        merges=merges,
        ignore_merges=model.ignore_merges or model.semantics == "rank",
    )


def _has_only_bytes(members: Mapping[str, Node]) -> bool:
    """Whether no option has to do with characters: an `unk_token` has not where every byte has a token."""
    for key in ("continuing_subword_prefix", "end_of_word_suffix"):
        if members[key].value not in (None, ""):
            return False
    if members["fuse_unk"].boolean(default=False) or members["byte_fallback"].boolean(default=False):
        return False
    has_every_byte = members["vocab"].object().keys() >= set(byte_alphabet.ALPHABET)
    return members["unk_token"].value is None or has_every_byte


def _is_only_added(token: AddedToken, *, ignore_merges: bool) -> bool:
    """Whether the model cannot give this token, which no merge has to do with: then it is no business of the model's.

    A special one never stands for a piece of text, though under `ignore_merges` Hugging Face would let it.
    """
    if len(token.content) == 1 and token.content in byte_alphabet.ALPHABET:
        return False
    return token.special or not ignore_merges or not byte_alphabet.is_spelled(token.content)


def _may_be_merged(token: str) -> bool:
    return len(token) > 1 and bool(byte_alphabet.is_spelled(token))


def _vocabulary(ids: Mapping[str, int], *, ignore_merges: bool) -> Vocabulary | None:
    spelled, numbers = in_order(ids)
    joined = "".join(spelled)
    packed_ids = pack(numbers)
    if byte_alphabet.is_spelled(joined):
        return Vocabulary(data=byte_alphabet.unspell(joined), ends=pack(accumulate(map(len, spelled))), ids=packed_ids)
    tokens = [byte_alphabet.unspell(token) if byte_alphabet.is_spelled(token) else token.encode() for token in spelled]
    if ignore_merges or not _are_apart(dict(zip(spelled, tokens, strict=True))):
        return None
    return Vocabulary(data=b"".join(tokens), ends=pack(accumulate(map(len, tokens))), ids=packed_ids)


def _are_apart(bytes_by_token: Mapping[str, bytes]) -> bool:
    """Hugging Face's model never gives a token with characters outside the byte alphabet; ours may not either."""
    in_alphabet = {data for token, data in bytes_by_token.items() if byte_alphabet.is_spelled(token)}
    others = [data for token, data in bytes_by_token.items() if not byte_alphabet.is_spelled(token)]
    return not any(data in in_alphabet or len(data) == 1 for data in others)
