"""`Tokenizer`: text to token ids and back, a thin face over the engine; and `load`, which finds one."""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from merganser import _core, vocabularies
from merganser.errors import FormatError, StorageError, TextError, TokenIdError
from merganser.extras import require
from merganser.spec import AddedToken, ByteLevel, Spec, Split, Template

if TYPE_CHECKING:
    import numpy as np
    import tiktoken
    from numpy.typing import NDArray

Text = str | bytes
AllowSpecial = Collection[str] | Literal["all"]
Errors = Literal["strict", "replace"]
UnknownIds = Literal["error", "replace", "skip"]

# Of `encode_iterable`: some sentences at a time.
_BLOCK_CHARACTERS = 1024
# Invalid bytes raise, lone surrogates become U+FFFD.
_DEFAULT_POLICY = (False, True)
_SURROGATE = re.compile("[\ud800-\udfff]")
# The engine's tables reach up to here.
_MAX_ID = (1 << 24) - 1
# More threads never help, and the system may refuse to start them.
_MAX_THREADS = 1024

_TIKTOKEN_PLUGIN = '''"""The encoding {name} for tiktoken, written by merganser. The file beside it has the tokens."""

from pathlib import Path

from tiktoken.load import load_tiktoken_bpe


def {function}():
    ranks = Path(__file__).with_suffix(".tiktoken")
    return {{
        "name": {name!a},
        "pat_str": {pattern!a},
        "mergeable_ranks": load_tiktoken_bpe(str(ranks), {sha256!a}),
        "special_tokens": {special_tokens!a},
    }}


ENCODING_CONSTRUCTORS = {{{name!a}: {function}}}
'''


class Token(NamedTuple):
    """A token of a text: its id, its bytes, and where in the text it starts and ends."""

    id: int
    bytes: bytes
    start: int
    end: int


class Tokenizer:
    """Encodes text as token ids and decodes ids as text.

    Made by `load`, by `train` or from a `Spec`. It never changes, so threads may share it, and it pickles.
    """

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self._allowed: dict[frozenset[str] | None, _core.Allowed] = {}
        model = spec.model
        _check_added(spec.added_tokens)
        self._engine = _core.Engine(
            data=model.vocabulary.data,
            ends=model.vocabulary.ends,
            ids=model.vocabulary.ids,
            semantics=model.semantics,
            ranks=model.ranks,
            merges=model.merges,
            ignore_merges=model.ignore_merges,
            normalizers=[normalizer.form for normalizer in spec.normalizers],
            splits=engine_splits(spec.splits),
            added=[
                (
                    token.content,
                    token.id,
                    token.special,
                    token.normalized,
                    token.single_word,
                    token.lstrip,
                    token.rstrip,
                )
                for token in spec.added_tokens
            ],
        )
        self._default = self._engine.allow([])

    @classmethod
    def from_merges(
        cls,
        vocab: Mapping[int, bytes],
        merges: Iterable[tuple[bytes, bytes]],
        special_tokens: Iterable[str] | None = None,
        *,
        split: str | Split | None = "gpt2",
    ) -> Tokenizer:
        """The tokenizer of a vocabulary by id and of merges, the earliest first: as Stanford's CS336 keeps them.

        Special tokens that the vocabulary lacks get the next ids. A token that no merge makes only decodes.

        >>> vocab = {byte: bytes([byte]) for byte in range(256)} | {256: b"th", 257: b"the"}
        >>> tok = Tokenizer.from_merges(vocab, [(b"t", b"h"), (b"th", b"e")], ["<|end|>"])
        >>> tok.encode("the<|end|>", allow_special="all")
        [257, 258]

        Raises `FormatError` naming the merge whose tokens the vocabulary lacks.
        """
        from merganser.formats import gpt2

        if not isinstance(vocab, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"vocab: expected ids with their tokens, found {type(vocab).__name__}")
        return cls(gpt2.from_merges(vocab, merges, _names(special_tokens), split=named_split(split)))

    @classmethod
    def from_files(
        cls,
        vocab_path: str | Path,
        merges_path: str | Path,
        special_tokens: Iterable[str] | None = None,
        *,
        split: str | Split | None = "gpt2",
    ) -> Tokenizer:
        """The tokenizer of GPT-2's two files, `encoder.json` and `vocab.bpe`, or a course's of the same format.

        Special are the tokens that `special_tokens` names, and no others. The merges may have a line `#version` above
        them. Such files are written by `save("…/vocab.bpe")`, and `load` of that name takes what no merge makes for
        special.

        Raises `FormatError` naming the file and the line or JSON path that is wrong, and `StorageError`.
        """
        from merganser.formats import gpt2

        named = _names(special_tokens)
        return cls(gpt2.read(_path(vocab_path), _path(merges_path), split=named_split(split), special_tokens=named))

    def __repr__(self) -> str:
        name = "" if self.spec.name is None else f"{self.spec.name!r}, "
        return f"Tokenizer({name}n_vocab={self.n_vocab})"

    def __reduce__(self) -> tuple[type[Tokenizer], tuple[Spec]]:
        return Tokenizer, (self.spec,)

    # Text to ids.

    def encode(
        self,
        text: Text,
        *,
        allow_special: AllowSpecial = (),
        add_special_tokens: bool = False,
        errors: Errors = "strict",
        surrogates: Errors = "replace",
        num_threads: int = 1,
    ) -> list[int]:
        """The ids of `text`, a `str` or UTF-8 `bytes`.

        Text that looks like a special token is text, unless `allow_special` names it or is `"all"`.
        `add_special_tokens` puts the ids of the tokenizer's template around the text. Lone surrogates become U+FFFD,
        as in tiktoken, or raise with `surrogates="strict"`; invalid bytes raise, or become U+FFFD with
        `errors="replace"`. `num_threads` share a long text, cut where that changes nothing.

        >>> load("gpt2").encode("hello world")
        [31373, 995]

        Raises `TextError` for text that cannot be encoded, naming the place.
        """
        # Checked here, without a call, where all is as it mostly is: a short text costs little more than a call.
        policy = _DEFAULT_POLICY if errors == "strict" and surrogates == "replace" else _replace(errors, surrogates)
        threads = 1 if num_threads == 1 else checked_threads(num_threads)
        ids = self._engine.encode(text, self._allow(allow_special) if allow_special else self._default, policy, threads)
        return self._around(ids) if add_special_tokens else ids

    def encode_array(
        self,
        text: Text,
        *,
        allow_special: AllowSpecial = (),
        add_special_tokens: bool = False,
        errors: Errors = "strict",
        surrogates: Errors = "replace",
        dtype: Literal["uint32", "uint16"] = "uint32",
        num_threads: int = 1,
    ) -> NDArray[np.uint32] | NDArray[np.uint16]:
        """The ids of `text` as a one-dimensional, writable NumPy array; `dtype="uint16"` where the vocabulary fits.

        >>> load("gpt2").encode_array("hello world", dtype="uint16")
        array([31373,   995], dtype=uint16)

        Raises `TokenIdError` where ids of the vocabulary do not fit the dtype, else as `encode` does.
        """
        if dtype not in ("uint32", "uint16"):
            raise ValueError(f'dtype: expected "uint32" or "uint16", found {dtype!r}')
        if dtype == "uint16" and self.n_vocab > 1 << 16:
            message = f"dtype: expected one that holds ids up to {self.n_vocab - 1}, found uint16"
            raise TokenIdError(message, hint='pass dtype="uint32"')
        policy, threads = _replace(errors, surrogates), checked_threads(num_threads)
        array = self._engine.encode_array(text, self._allow(allow_special), policy, dtype, threads)
        if not add_special_tokens or self.spec.template is None:
            return array
        import numpy as np

        return np.array(self._around(array.tolist()), dtype=dtype)

    def encode_batch(
        self,
        texts: Iterable[Text],
        *,
        allow_special: AllowSpecial = (),
        add_special_tokens: bool = False,
        errors: Errors = "strict",
        surrogates: Errors = "replace",
        num_threads: int | None = None,
    ) -> list[list[int]]:
        """The ids of each text, as `encode` gives them, on all CPUs that this process may use or on `num_threads`.

        >>> load("gpt2").encode_batch(["hello world", ""])
        [[31373, 995], []]

        Raises what `encode` does, naming the document.
        """
        if isinstance(texts, str):
            raise TypeError("texts: expected texts, found a str; `encode` takes one")
        policy = _replace(errors, surrogates)
        threads = None if num_threads is None else checked_threads(num_threads)
        lists = self._engine.encode_batch(texts, self._allow(allow_special), policy, threads)
        return [self._around(ids) for ids in lists] if add_special_tokens else lists

    def encode_iterable(self, texts: Iterable[str], *, allow_special: AllowSpecial = ()) -> Iterator[int]:
        """The ids of `texts` end to end, one by one, as they are read: those of `encode("".join(texts))`.

        It does not matter where the texts are cut: what may still change with the text to come is held back. About
        1,000 characters at a time are encoded, in memory that does not grow with the texts. All is held to the end
        where no text shows where a piece ends: without a split, with a pattern that leaves text out or that the engine
        has no table for (no published one), with a normalizer, with added tokens that mind their neighbours.

        >>> tok = load("gpt2")
        >>> list(tok.encode_iterable(["so mu", "ch de", "pends"])) == tok.encode("so much depends")
        True
        """
        allowed = self._allow(allow_special)
        blocks = _blocks(texts, lambda text: self._engine.last_safe_cut(text, allowed))
        return (id for block in blocks for id in self._encode_block(block, allow_special))

    def count(
        self, text: Text, *, allow_special: AllowSpecial = (), errors: Errors = "strict", surrogates: Errors = "replace"
    ) -> int:
        """The number of tokens of `text`: `len(tokenizer.encode(text))` without the list.

        >>> load("gpt2").count("hello world")
        2
        """
        policy = _DEFAULT_POLICY if errors == "strict" and surrogates == "replace" else _replace(errors, surrogates)
        return self._engine.count(text, self._allow(allow_special) if allow_special else self._default, policy)

    def tokens(
        self,
        text: Text,
        *,
        allow_special: AllowSpecial = (),
        errors: Errors = "strict",
        surrogates: Errors = "replace",
        unit: Literal["character", "byte", "utf16"] = "character",
    ) -> list[Token]:
        """The tokens of `text`, each with its id, its bytes and where it starts and ends.

        Offsets are into the original text, in code points, UTF-8 bytes or UTF-16 units. A token covers every character
        that it touches, so the tokens of one character overlap. Nothing between the first and the last is left out.

        >>> load("gpt2").tokens("so much")
        [Token(id=568, bytes=b'so', start=0, end=2), Token(id=881, bytes=b' much', start=2, end=7)]
        """
        if unit not in ("character", "byte", "utf16"):
            raise ValueError(f'unit: expected "character", "byte" or "utf16", found {unit!r}')
        found = self._engine.tokens(text, self._allow(allow_special), _replace(errors, surrogates), unit)
        return [Token(*token) for token in found]

    def pieces(self, text: Text, *, allow_special: AllowSpecial = ()) -> list[str]:
        """The pieces that `text` is cut into before the model sees it, added tokens among them.

        >>> load("gpt2").pieces("don't stop")
        ['don', "'t", ' stop']
        """
        return self._engine.pieces(text, self._allow(allow_special), (False, True))

    # Ids to text.

    def decode(
        self,
        ids: Iterable[int],
        *,
        errors: str = "replace",
        skip_special_tokens: bool = False,
        unknown_ids: UnknownIds = "error",
    ) -> str:
        """The text of `ids`, any sequence or buffer of integers.

        `errors` says what becomes of bytes that are not UTF-8, as in `bytes.decode`; ids that no token has raise, or
        are replaced by U+FFFD or skipped.

        >>> load("gpt2").decode([31373, 995])
        'hello world'

        Raises `TokenIdError` naming the id and the range, and `TextError` under `errors="strict"`.
        """
        if errors == "replace":
            return self._engine.decode(ids, _known(unknown_ids), skip_special_tokens, True) or ""
        data = self.decode_bytes(ids, skip_special_tokens=skip_special_tokens, unknown_ids=unknown_ids)
        try:
            return data.decode("utf-8", errors)
        except UnicodeDecodeError as error:
            message = f"byte {error.start} of the decoded ids: expected UTF-8, found byte 0x{data[error.start]:02X}"
            raise TextError(message, hint='pass errors="replace", or take decode_bytes') from error

    def decode_bytes(
        self, ids: Iterable[int], *, skip_special_tokens: bool = False, unknown_ids: UnknownIds = "error"
    ) -> bytes:
        """The bytes of `ids`, end to end.

        >>> load("gpt2").decode_bytes([31373, 995])
        b'hello world'

        Raises `TokenIdError` naming the id and the range.
        """
        return self._engine.decode_bytes(ids, _known(unknown_ids), skip_special_tokens)

    def decode_batch(
        self,
        many: Iterable[Iterable[int]],
        *,
        errors: str = "replace",
        skip_special_tokens: bool = False,
        unknown_ids: UnknownIds = "error",
    ) -> list[str]:
        """The text of each sequence of ids, as `decode` gives it."""
        options = {"errors": errors, "skip_special_tokens": skip_special_tokens}
        return [self.decode(ids, **options, unknown_ids=unknown_ids) for ids in many]  # pyright: ignore[reportArgumentType]

    def decode_stream(
        self,
        prompt_ids: Iterable[int] = (),
        *,
        errors: str = "replace",
        skip_special_tokens: bool = False,
        unknown_ids: UnknownIds = "error",
    ) -> DecodeStream:
        """A decoder that takes ids as they come and gives text as soon as its characters are whole.

        >>> stream = load("gpt2").decode_stream()
        >>> [stream.push(id) for id in load("gpt2").encode("héllo")] + [stream.finish()]
        ['h', 'é', 'llo', '']
        """
        return DecodeStream(
            self, prompt_ids, errors=errors, skip_special_tokens=skip_special_tokens, unknown_ids=unknown_ids
        )

    # The vocabulary.

    @property
    def n_vocab(self) -> int:
        """One more than the greatest id: the rows that an embedding needs. Ids without a token count, as in tiktoken.

        >>> load("cl100k_base").n_vocab
        100277
        """
        return self._engine.num_ids()

    @property
    def special_tokens(self) -> Mapping[str, int]:
        """The special tokens with their ids, in order of id.

        >>> load("gpt2").special_tokens
        {'<|endoftext|>': 50256}
        """
        return self.spec.special_tokens

    @cached_property
    def vocabulary(self) -> Mapping[bytes, int]:
        """The tokens of the model with their ids, added tokens left out. Iterates in order of id.

        >>> load("gpt2").vocabulary[b" the"]
        262
        """
        return _VocabularyView(self)

    def token_to_id(self, token: str | bytes) -> int | None:
        """The id of `token`, a token's bytes or text or an added token's content, or None where there is none.

        >>> load("gpt2").token_to_id(b" the"), load("gpt2").token_to_id("<|endoftext|>")
        (262, 50256)
        """
        if isinstance(token, str):
            if (id := self._added_ids.get(token)) is not None:
                return id
            token = token.encode("utf-8", "surrogatepass")
        return self._engine.token_to_id(token)

    def id_to_token(self, id: int) -> bytes:
        """The bytes of the token with this id.

        >>> load("gpt2").id_to_token(262)
        b' the'

        Raises `TokenIdError` where no token has it.
        """
        return self.decode_bytes([id])

    @cached_property
    def merges(self) -> list[tuple[bytes, bytes]]:
        """The merges, the earliest first, as the bytes of their two tokens: the inverse of `from_merges`.

        Of an encoding with ranks, such as GPT-4's, those that the ranks stand for.

        >>> load("gpt2").merges[:2]
        [(b' ', b't'), (b' ', b'a')]

        Raises `FormatError` where merges alone would give other ids.
        """
        from merganser.formats import gpt2

        return gpt2.merges_of(self.spec.model)

    @cached_property
    def mergeable_ranks(self) -> dict[bytes, int]:
        """The tokens of the model with their ids in order, which tiktoken and nanochat take as ranks.

        >>> load("gpt2").mergeable_ranks[b" the"]
        262

        Raises `FormatError` where merging by rank would give other ids.
        """
        from merganser import formats

        return formats.tiktoken.encoding_arguments(self.spec)["mergeable_ranks"]

    def token_byte_lengths(self) -> NDArray[np.uint32]:
        """The number of bytes of each token by id, 0 for special tokens and for ids without one: for bits per byte.

        >>> load("gpt2").token_byte_lengths()[[262, 50256]]
        array([4, 0], dtype=uint32)
        """
        return self._engine.byte_lengths()

    def with_special_tokens(self, special_tokens: Mapping[str, int]) -> Tokenizer:
        """A tokenizer that also has these special tokens, by content and id.

        >>> tok = load("cl100k_base").with_special_tokens({"<|im_start|>": 100264})
        >>> tok.encode("<|im_start|>user", allow_special="all")
        [100264, 882]

        Raises `TokenIdError` where a content or an id is taken.
        """
        if not isinstance(special_tokens, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"special_tokens: expected contents with their ids, found {type(special_tokens).__name__}")
        added = list(self.spec.added_tokens)
        content_by_id = {token.id: token.content for token in reversed(added)}
        for content, id in special_tokens.items():
            if not content:
                raise TokenIdError(f"special token {id}: expected a text to match, found an empty one")
            if not 0 <= id <= _MAX_ID:
                raise TokenIdError(f"special token {content!r}: expected an id from 0 to {_MAX_ID}, found {id}")
            if (have := self._added_ids.get(content)) is not None and have != id:
                raise TokenIdError(f"special token {content!r}: expected its id {have}, found {id}")
            owner = content_by_id.get(id) or self._engine.id_to_token(id)
            if have is None and owner is not None:
                raise TokenIdError(f"special token {content!r}: expected an id of its own, found {id} of {owner!r}")
            if have is None:
                added.append(AddedToken(content=content, id=id))
                content_by_id[id] = content
        return Tokenizer(replace(self.spec, added_tokens=tuple(added), name=None))

    def certificate(self) -> dict[str, str]:
        """Which fast paths this tokenizer has, and why it lacks the others.

        >>> load("gpt2").certificate()["split"]
        'a table of 12 states by 10 classes, one pass, linear on every text'
        """
        return dict(self._engine.certificate())

    # Files and other libraries.

    def fingerprint(self) -> str:
        """The sha256 of all that decides ids and decoded text, on any machine.

        Equal Specs have equal fingerprints; the same ids told as ranks and as merges have two.

        >>> load("gpt2").fingerprint() == load("r50k_base").fingerprint()
        True
        """
        from merganser.formats import lock

        return lock.fingerprint(self.spec)

    def save(self, path: str | Path) -> Path:
        """Writes this tokenizer and gives back where.

        A path that ends in `.tiktoken` becomes that format, one that ends in `.json` a tokenizer.json, one that ends in
        `.model` a minbpe model; `vocab.bpe` and `merges.txt` become GPT-2's merges, with `encoder.json` or `vocab.json`
        beside them. Any other is a folder with `tokenizer.json`, `tokenizer_config.json` and `tokenizer.lock.json`,
        which Hugging Face's `AutoTokenizer.from_pretrained` and `load` read.

        Raises `FormatError` where the format cannot hold this tokenizer, and `StorageError` where it cannot be written.
        """
        from merganser import formats

        return formats.write(self.spec, _path(path), encode=self.encode, unicode_versions=_core.unicode_version())

    def to_tiktoken(self) -> tiktoken.Encoding:
        """A `tiktoken.Encoding` with the same ids.

        Raises `FormatError` where tiktoken cannot hold this tokenizer, and `MissingExtra` where it is not installed.
        """
        from merganser import formats

        module = require("tiktoken", purpose="to_tiktoken")
        return module.Encoding(self.spec.name or "merganser", **formats.tiktoken.encoding_arguments(self.spec))

    def save_tiktoken_plugin(self, folder: str | Path, *, name: str) -> Path:
        """Writes a plug-in with which `tiktoken.get_encoding(name)` gives this tokenizer, and gives back its module.

        With `folder` on Python's path, tiktoken finds `folder/tiktoken_ext/<name>.py`; it needs the `.tiktoken` file
        beside it and nothing of merganser.

        Raises `FormatError` where tiktoken cannot hold this tokenizer or the name is not one for a plug-in.
        """
        from base64 import b64encode
        from hashlib import sha256

        from merganser.formats import files, tiktoken

        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"name: expected a text, found {type(name).__name__}")
        module = name.replace("-", "_")
        if (
            not re.fullmatch(r"[a-zA-Z]\w*", module, re.ASCII)
            or name in vocabularies.NAMES
            or module == "openai_public"
        ):
            raise FormatError(
                f"name: expected letters, digits, - and _, and no encoding of tiktoken's own, found {name!r}"
            )
        arguments = tiktoken.encoding_arguments(self.spec)
        ranks = b"".join(b"%s %d\n" % (b64encode(token), rank) for token, rank in arguments["mergeable_ranks"].items())
        source = _TIKTOKEN_PLUGIN.format(
            name=name,
            function=f"_{module}",
            pattern=arguments["pat_str"],
            sha256=sha256(ranks).hexdigest(),
            special_tokens=arguments["special_tokens"],
        )
        # No `__init__.py`: `tiktoken_ext` is a namespace package, which other plug-ins share.
        path = _path(folder) / "tiktoken_ext" / f"{module}.py"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(f"{path.parent}: expected a folder, found: {error.strerror or error}") from error
        files.write_atomically(path.with_suffix(".tiktoken"), ranks)
        files.write_atomically(path, source.encode())
        return path

    # Inside.

    def _encode_block(self, block: str, allow_special: AllowSpecial) -> Iterable[int]:
        if len(block) > 4 * _BLOCK_CHARACTERS:
            return self.encode(block, allow_special=allow_special)
        # Slower than `encode`, which remembers the words it met and grows by that: here memory must not grow.
        return (id for id, *_ in self._engine.tokens(block, self._allow(allow_special), (False, True), "byte"))

    @cached_property
    def _added_ids(self) -> dict[str, int]:
        return {token.content: token.id for token in self.spec.added_tokens}

    def _allow(self, allow_special: AllowSpecial) -> _core.Allowed:
        if not allow_special:
            return self._default
        if isinstance(allow_special, str):
            if allow_special != "all":
                raise TypeError(f'allow_special: expected "all" or a collection of names, found {allow_special!r}')
            key = None
        else:
            key = frozenset(allow_special)
        if (allowed := self._allowed.get(key)) is None:
            if key is not None and (strangers := key - self.special_tokens.keys()):
                raise TokenIdError(
                    f"allow_special: expected names of special tokens, found {sorted(strangers)[0]!r}",
                    hint=f"this tokenizer has {', '.join(list(self.special_tokens)[:8]) or 'none'}",
                )
            allowed = self._engine.allow(None if key is None else sorted(key))
            if len(self._allowed) < 64:
                self._allowed[key] = allowed
        return allowed

    def _around(self, ids: list[int]) -> list[int]:
        template = self.spec.template
        return ids if template is None else list(_fill(template, ids))


class DecodeStream:
    """Text from ids as they come, made by `Tokenizer.decode_stream`.

    The prompt's ids give no text; where the prompt ends inside a character, the first new text is that whole character.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        prompt_ids: Iterable[int] = (),
        *,
        errors: str = "replace",
        skip_special_tokens: bool = False,
        unknown_ids: UnknownIds = "error",
    ) -> None:
        self._tokenizer = tokenizer
        self._skip_special_tokens = skip_special_tokens
        self._unknown_ids: UnknownIds = unknown_ids
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors)
        self._push(list(prompt_ids), final=False)

    def push(self, id: int) -> str:
        """The characters that `id` completes; empty while one is unfinished.

        Raises `TokenIdError` for an id that no token has; the stream goes on as if it had not come.
        """
        return self._push([id], final=False)

    def finish(self) -> str:
        """What is left of an unfinished character at the end, as `errors` says."""
        return self._push([], final=True)

    def _push(self, ids: Sequence[int], *, final: bool) -> str:
        data = self._tokenizer.decode_bytes(
            ids, skip_special_tokens=self._skip_special_tokens, unknown_ids=self._unknown_ids
        )
        try:
            return self._decoder.decode(data, final)
        except UnicodeDecodeError as error:
            raise TextError(f"stream: expected UTF-8, found {error.object[error.start : error.end]!r}") from error


class _VocabularyView(Mapping[bytes, int]):
    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    def __repr__(self) -> str:
        return f"<vocabulary of {len(self)} tokens>"

    def __getitem__(self, token: bytes) -> int:
        id = self._tokenizer._engine.token_to_id(token)  # pyright: ignore[reportPrivateUsage]
        if id is None:
            raise KeyError(token)
        return id

    def __iter__(self) -> Iterator[bytes]:
        return self._tokenizer.spec.model.vocabulary.tokens()

    def __len__(self) -> int:
        return len(self._tokenizer.spec.model.vocabulary)


def load(
    source: str | Path,
    *,
    split: str | Split | None = None,
    special_tokens: Mapping[str, int] | None = None,
) -> Tokenizer:
    """The tokenizer of a bundled name, a file or a folder. Nothing is downloaded.

    Bundled are gpt2, r50k_base, p50k_base, p50k_edit, cl100k_base, o200k_base and o200k_harmony. Files are told apart
    by content: tokenizer.json, `.tiktoken`, minbpe's `.model`. A `.tiktoken` file holds neither pattern nor special
    tokens, so one that is not a published encoding needs `split` and `special_tokens`. Of GPT-2's `encoder.json` and
    `vocab.bpe`, or `vocab.json` and `merges.txt`, each stands for both, which are split by GPT-2's pattern unless
    `split` names another. A `tokenizer.lock.json` in the folder is checked.

    >>> load("o200k_base").n_vocab
    200019

    Raises `FormatError` saying where the file is wrong, and `StorageError` where it cannot be read.
    """
    if isinstance(source, str) and re.fullmatch(r"[\w-]+", source):
        spec = _bundled(source)
        if split is not None or special_tokens is not None:
            hint = f"`mg.load({source!r}).with_special_tokens(…)` adds special tokens"
            raise FormatError(f"{source}: expected no split= and special_tokens=, for it has its own", hint=hint)
        return Tokenizer(spec)
    from merganser import formats
    from merganser.formats import lock

    path = _path(source)
    spec = formats.read(path, split=named_split(split), special_tokens=special_tokens, published=vocabularies.read)
    tokenizer = Tokenizer(spec)
    lock_file = (path if path.is_dir() else path.parent) / lock.NAME
    if lock_file.exists() and formats.is_locked(path):
        tokenizer.spec = lock.check(lock_file, spec, tokenizer.encode, _core.unicode_version())
    return tokenizer


def _bundled(name: str) -> Spec:
    try:
        return vocabularies.read(name)
    except FormatError as error:
        if os.path.exists(name):
            raise FormatError(str(error), hint=f"the file or folder of that name is `./{name}`") from None
        raise


def _path(path: str | Path) -> Path:
    """`path`, if a file can have that name."""
    path = Path(path)
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, ValueError) as error:
        found = error.strerror if isinstance(error, OSError) else error
        raise StorageError(f"{str(path)!r}: expected a path that can be looked at, found: {found}") from error
    return path


def named_split(split: str | Split | None) -> Split | None:
    """`split`, or the published one of that name.

    >>> named_split("gpt2").unmatched
    'keep'
    """
    if isinstance(split, str):
        return Split(pattern=pattern(split), name=split)
    if not isinstance(split, Split | None):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"split: expected a published pattern's name or a Split, found {type(split).__name__}")
    return split


def pattern(name: str) -> str:
    """The published split pattern of this name.

    >>> pattern("gpt2")[:15]
    "'s|'t|'re|'ve|'"

    Raises `FormatError` listing the names.
    """
    patterns = _core.patterns()
    if name not in patterns:
        raise FormatError(
            f"split: expected one of {', '.join(sorted(patterns))}, found {name!r}",
            hint="a pattern of your own is `mg.Split(pattern=…)`",
        )
    return patterns[name]


def engine_splits(splits: Iterable[Split | ByteLevel]) -> list[tuple[str, str]]:
    """The steps of a split as the engine takes them: what becomes of unmatched text, and the pattern."""
    steps: list[tuple[str, str]] = []
    for step in splits:
        if isinstance(step, ByteLevel):
            if step.add_prefix_space:
                steps.append(("prefix_space", ""))
            if step.use_regex:
                steps.append(("keep", pattern("gpt2")))
        else:
            if not isinstance(step, Split):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise TypeError(f"splits: expected Split or ByteLevel, found {type(step).__name__}")
            _check_split(step)
            steps.append((step.unmatched, _rust_pattern(step)))
    return steps


def _names(special_tokens: Iterable[str] | None) -> list[str]:
    if isinstance(special_tokens, str):
        raise TypeError(f"special_tokens: expected a collection of texts, found the text {special_tokens!r}")
    return list(special_tokens or ())


def _check_split(split: Split) -> None:
    for name, value, choices in (
        ("unmatched", split.unmatched, ("keep", "drop", "error")),
        ("dialect", split.dialect, ("rust", "oniguruma")),
    ):
        if value not in choices:
            raise FormatError(f"split: {name}: expected one of {', '.join(choices)}, found {value!r}")
    if _SURROGATE.search(split.pattern):
        raise FormatError(f"split: pattern: expected text without lone surrogates, found {split.pattern!r}")


def _check_added(added: Iterable[AddedToken]) -> None:
    for token in added:
        if not 0 <= token.id <= _MAX_ID:
            raise FormatError(f"added token {token.content!r}: expected an id from 0 to {_MAX_ID}, found {token.id}")
        if _SURROGATE.search(token.content):
            message = f"added token {token.id}: expected text without lone surrogates, found {token.content!r}"
            raise FormatError(message)


def checked_threads(num_threads: int) -> int:
    """`num_threads`, or the most that are of use.

    >>> checked_threads(2), checked_threads(10**9)
    (2, 1024)

    Raises `ValueError` for less than one.
    """
    if num_threads < 1:
        raise ValueError(f"num_threads: expected 1 or more, found {num_threads}")
    return min(num_threads, _MAX_THREADS)


def _rust_pattern(split: Split) -> str:
    if split.dialect == "rust":
        return split.pattern
    from merganser.formats import dialects

    return dialects.rust_from_oniguruma(split.pattern)


def _blocks(texts: Iterable[str], last_safe_cut: Callable[[str], int | None]) -> Iterator[str]:
    """`texts` cut anew where it is safe, into blocks of some `_BLOCK_CHARACTERS`."""
    held, wanted = "", _BLOCK_CHARACTERS
    for text in texts:
        for at in range(0, len(text), _BLOCK_CHARACTERS):
            held += text[at : at + _BLOCK_CHARACTERS]
            if len(held) < wanted:
                continue
            held = _without_surrogates(held)
            cut = last_safe_cut(held) or 0
            if cut:
                yield held[:cut]
                held = held[cut:]
            # Without a safe place the next look is twice as far on, so that looking does not cost the square.
            wanted = _BLOCK_CHARACTERS if cut else 2 * len(held)
    yield held


def _without_surrogates(text: str) -> str:
    """`text` with pairs joined and lone surrogates replaced, but for one at the end whose other half may follow."""
    if _SURROGATE.search(text) is None:
        return text
    end = len(text) - ("\ud800" <= text[-1] < "\udc00")
    return text[:end].encode("utf-16", "surrogatepass").decode("utf-16", "replace") + text[end:]


def _fill(template: Template, ids: list[int]) -> Iterator[int]:
    for part in template.single:
        yield from ids if part.ids is None else part.ids


def _replace(errors: str, surrogates: str) -> tuple[bool, bool]:
    for name, value in (("errors", errors), ("surrogates", surrogates)):
        if value not in ("strict", "replace"):
            raise ValueError(f'{name}: expected "strict" or "replace", found {value!r}')
    return errors == "replace", surrogates == "replace"


def _known(unknown_ids: str) -> str:
    if unknown_ids not in ("error", "replace", "skip"):
        raise ValueError(f'unknown_ids: expected "error", "replace" or "skip", found {unknown_ids!r}')
    return unknown_ids
