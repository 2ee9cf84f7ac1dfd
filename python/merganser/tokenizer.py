"""`Tokenizer`: text to token ids and back, a thin face over the engine."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from merganser import _core, arguments, engines, vocabularies
from merganser.engines import named_split
from merganser.errors import TextError, TokenIdError
from merganser.extras import require
from merganser.spec import AddedToken, CharacterPairModel, Spec, Split, TemplatePart, unpack

if TYPE_CHECKING:
    import numpy as np
    import tiktoken
    from numpy.typing import NDArray

    from merganser.preparing import Options, Prepared, PreparedBatch, Side, Step, Strategy
    from merganser.streaming import DecodeStream, UnknownIds
    from merganser.tokens import Token, TokenTable

Text = str | bytes
AllowSpecial = Collection[str] | Literal["all"]
Errors = Literal["strict", "replace"]


class Tokenizer:
    """Encodes text as token ids and decodes ids as text.

    Made by `load`, by `train` or from a `Spec`. It never changes, so threads may share it, and it pickles.
    """

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self._allowed: dict[frozenset[str] | None, _core.Allowed] = {}
        self._chain_allowed: dict[frozenset[str] | None, _core.Allowed] = {}
        self._engine = engines.engine_of(spec)
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

        arguments.mapping("vocab", vocab, of="ids with their tokens")
        named = arguments.texts("special_tokens", special_tokens or ())
        return cls(gpt2.from_merges(vocab, merges, named, split=named_split(split)))

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
        from merganser.formats import files, gpt2

        named = arguments.texts("special_tokens", special_tokens or ())
        return cls(
            gpt2.read(
                files.checked_path(vocab_path),
                files.checked_path(merges_path),
                split=named_split(split),
                special_tokens=named,
            )
        )

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
        if not (
            allow_special or add_special_tokens or num_threads != 1 or errors != "strict" or surrogates != "replace"
        ):
            # As it mostly is: a short text costs little more than this call.
            return self._engine.encode(text, self._default)
        policy, threads = _replace(errors, surrogates), arguments.threads(num_threads)
        ids = self._engine.encode(text, self._allow(allow_special), policy, threads)
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
        if dtype != "uint32":
            arguments.one_of("dtype", dtype, "uint32", "uint16")
        if dtype == "uint16" and self.n_vocab > 1 << 16:
            message = f"dtype: expected one that holds ids up to {self.n_vocab - 1}, found uint16"
            raise TokenIdError(message, hint='pass dtype="uint32"')
        policy, threads = _replace(errors, surrogates), arguments.threads(num_threads)
        array = self._engine.encode_array(text, self._allow(allow_special), policy, dtype, threads)
        if not add_special_tokens or self._template is None:
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
        texts, policy = arguments.many("texts", texts, one="encode"), _replace(errors, surrogates)
        threads = None if num_threads is None else arguments.threads(num_threads)
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
        from merganser import streaming

        return streaming.encoded(texts, self._engine, self._allow(allow_special))

    def count(
        self, text: Text, *, allow_special: AllowSpecial = (), errors: Errors = "strict", surrogates: Errors = "replace"
    ) -> int:
        """The number of tokens of `text`: `len(tokenizer.encode(text))` without the list.

        >>> load("gpt2").count("hello world")
        2
        """
        if not (allow_special or errors != "strict" or surrogates != "replace"):
            return self._engine.count(text, self._default)
        return self._engine.count(text, self._allow(allow_special), _replace(errors, surrogates))

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
        from merganser.tokens import Token

        arguments.one_of("unit", unit, "character", "byte", "utf16")
        found = self._engine.tokens(text, self._allow(allow_special), _replace(errors, surrogates), unit)
        if self.spec.pipeline is None:
            return [Token(*token) for token in found]
        return [Token(id, self.vocabulary.bytes_of(id) or b"", start, end) for id, _, start, end in found]

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
        arguments.error_handler(errors)
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
        many = arguments.collection("many", many, of="sequences of ids")
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
        from merganser.streaming import DecodeStream

        return DecodeStream(
            self, prompt_ids, errors=errors, skip_special_tokens=skip_special_tokens, unknown_ids=unknown_ids
        )

    # Texts as a model takes them.

    def prepare(
        self,
        text: Text | Sequence[Text],
        pair: Text | Sequence[Text] | None = None,
        *,
        is_split_into_words: bool = False,
        allow_special: AllowSpecial = (),
        add_special_tokens: bool = True,
        truncation: bool | Strategy | None = None,
        max_length: int | None = None,
        stride: int | None = None,
        truncation_side: Side | None = None,
        padding: bool | Literal["longest", "max_length"] | None = None,
        pad_to_multiple_of: int | None = None,
        padding_side: Side | None = None,
        pad_token: str | int | None = None,
        offsets: bool = False,
        overflow: bool = False,
    ) -> Prepared:
        """The row of ids that a model takes for a text or a pair, with type ids, masks and, under `offsets`, origins.

        The arguments mean what they mean in transformers, and the row is what tokenizers and transformers give under
        `allow_special="all"`. A text is a `str` or UTF-8 `bytes`, or under `is_split_into_words` a list of them.
        `add_special_tokens` puts the tokenizer's template around. `truncation` to `max_length` tokens cuts the longer
        text of a pair first (True, "longest_first"), or "only_first" or "only_second"; `overflow` keeps the windows
        that are cut off, each with `stride` tokens of the one before. `padding` fills rows up to the "longest" (True)
        or to "max_length". What is None is as the tokenizer's files say: mostly that is neither.

        >>> load("gpt2").prepare("hello world", max_length=4, padding="max_length", pad_token="<|endoftext|>")
        Prepared(ids=[31373, 995, 50256, 50256], type_ids=[0, 0, 0, 0], attention_mask=[1, 1, 0, 0], ...)

        Raises `TextError` where a text cannot be cut as asked, and `TokenIdError` where no token to pad with is known.
        """
        from merganser import preparing

        rows = self._prepared(
            [text],
            None if pair is None else [pair],
            is_split_into_words=is_split_into_words,
            allow_special=allow_special,
            add_special_tokens=add_special_tokens,
            offsets=offsets,
            overflow=overflow,
            options=preparing.Options(
                truncation=truncation,
                max_length=max_length,
                stride=stride,
                truncation_side=truncation_side,
                padding=padding,
                pad_to_multiple_of=pad_to_multiple_of,
                padding_side=padding_side,
                pad_token=pad_token,
            ),
        )
        return rows[0]

    def prepare_batch(
        self,
        texts: Iterable[Text | Sequence[Text]],
        pairs: Iterable[Text | Sequence[Text]] | None = None,
        *,
        is_split_into_words: bool = False,
        allow_special: AllowSpecial = (),
        add_special_tokens: bool = True,
        truncation: bool | Strategy | None = None,
        max_length: int | None = None,
        stride: int | None = None,
        truncation_side: Side | None = None,
        padding: bool | Literal["longest", "max_length"] | None = None,
        pad_to_multiple_of: int | None = None,
        padding_side: Side | None = None,
        pad_token: str | int | None = None,
        offsets: bool = False,
        overflow: bool = False,
    ) -> PreparedBatch:
        """The rows of many texts or pairs, as `prepare` gives them, padded together.

        Under `overflow` the windows that are cut off are rows of their own; `samples` says which text each row is from.
        `arrays()` gives NumPy arrays.

        >>> load("gpt2").prepare_batch(["hello world", "so"], padding=True, pad_token=0).ids
        [[31373, 995], [568, 0]]

        Raises what `prepare` does, naming the document.
        """
        from merganser import preparing

        rows = self._prepared(
            texts,
            pairs,
            is_split_into_words=is_split_into_words,
            allow_special=allow_special,
            add_special_tokens=add_special_tokens,
            offsets=offsets,
            overflow=overflow,
            options=preparing.Options(
                truncation=truncation,
                max_length=max_length,
                stride=stride,
                truncation_side=truncation_side,
                padding=padding,
                pad_to_multiple_of=pad_to_multiple_of,
                padding_side=padding_side,
                pad_token=pad_token,
            ),
        )
        return preparing.PreparedBatch.of(rows)

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
    def vocabulary(self) -> TokenTable:
        """The tokens of the model with their ids, added tokens left out. Iterates in order of id.

        >>> load("gpt2").vocabulary[b" the"]
        262
        """
        from merganser.tokens import TokenTable

        return TokenTable(self.spec, self._engine)

    def token_to_id(self, token: str | bytes) -> int | None:
        """The id of `token`, a token's bytes or text or an added token's content, or None where there is none.

        Bytes that are a token of the model and an added token's content too are the model's, a text is the added one.

        >>> load("gpt2").token_to_id(b" the"), load("gpt2").token_to_id("<|endoftext|>")
        (262, 50256)
        """
        if isinstance(token, str):
            if (id := self._added_ids.get(token)) is not None:
                return id
            token = token.encode("utf-8", "surrogatepass")
        if not isinstance(token, bytes):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"token: expected str or bytes, found {type(token).__name__}")
        id = self.vocabulary.id_of(token)
        return self._added_ids.get(token.decode("utf-8", "surrogateescape")) if id is None else id

    def id_to_token(self, id: int) -> bytes:
        """The bytes of the token with this id; of a token that is no bytes its spelling, such as `b"##ing"`.

        >>> load("gpt2").id_to_token(262)
        b' the'

        Raises `TokenIdError` where no token has it.
        """
        token = None
        if self.spec.pipeline is not None:
            token = self.vocabulary.bytes_of(arguments.whole_number("id", id, None))
        try:
            return self.decode_bytes([id]) if token is None else token
        except TokenIdError as error:
            # Its hint is about decoding.
            raise TokenIdError(str(error)) from None

    @cached_property
    def merges(self) -> list[tuple[bytes, bytes]]:
        """The merges, the earliest first, as the bytes of their two tokens: the inverse of `from_merges`.

        Of an encoding with ranks, such as GPT-4's, those that the ranks stand for.

        >>> load("gpt2").merges[:2]
        [(b' ', b't'), (b' ', b'a')]

        Raises `FormatError` where merges alone would give other ids.
        """
        from merganser.formats import gpt2

        model = self.spec.model
        if isinstance(model, CharacterPairModel):
            token_by_id = dict(zip(unpack(model.vocabulary.ids), self.vocabulary, strict=True))
            numbers = unpack(model.merges)
            return [(token_by_id[a], token_by_id[b]) for a, b in zip(numbers[::2], numbers[1::2], strict=True)]
        return gpt2.merges_of(self.spec.byte_pairs)

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
        from merganser import adding

        return Tokenizer(adding.with_special_tokens(self.spec, self._engine, special_tokens))

    def add_tokens(
        self,
        contents: Iterable[str],
        *,
        special: bool = False,
        normalized: bool | None = None,
        single_word: bool = False,
        lstrip: bool = False,
        rstrip: bool = False,
    ) -> Tokenizer:
        """A tokenizer that also has these added tokens, under the ids that follow the greatest.

        As in tokenizers, what the vocabulary already holds keeps its id, an added token that is there takes on the new
        flags, and `normalized` is on unless the tokens are `special`. The flags are those of `AddedToken`.

        >>> tok = load("gpt2").add_tokens(["<image>", "<audio>"])
        >>> tok.encode("<image>!")
        [50257, 0]

        Raises `TokenIdError` for an empty content, and `TypeError` for what is no text.
        """
        from merganser import adding

        like = AddedToken(
            content="",
            id=0,
            special=special,
            normalized=not special if normalized is None else normalized,
            single_word=single_word,
            lstrip=lstrip,
            rstrip=rstrip,
        )
        return Tokenizer(adding.with_tokens(self.spec, self._engine, contents, like))

    def certificate(self) -> dict[str, str]:
        """Which fast paths this tokenizer has, why it lacks the others, and whether every text comes back from its ids.

        >>> load("gpt2").certificate()["split"]
        'a table of 12 states by 10 classes, one pass, linear on every text'
        >>> load("gpt2").certificate()["text"]
        'lossless: every text comes back from its ids'
        """
        return {**dict(self._engine.certificate()), "text": engines.account_of_text(self.spec)}

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
        from merganser.formats import files

        return formats.write(
            self.spec, files.checked_path(path), encode=self.encode, unicode_versions=_core.unicode_version()
        )

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
        from merganser.formats import files, tiktoken_plugin

        arguments.text("name", name)
        return tiktoken_plugin.write(self.spec, files.checked_path(folder), name=name, taken=vocabularies.NAMES)

    # Inside.

    def _prepared(
        self,
        texts: Iterable[Text | Sequence[Text]],
        pairs: Iterable[Text | Sequence[Text]] | None,
        *,
        is_split_into_words: bool,
        allow_special: AllowSpecial,
        add_special_tokens: bool,
        offsets: bool,
        overflow: bool,
        options: Options,
    ) -> list[Prepared]:
        from merganser import preparing

        truncation, padding = options.truncation_of(self.spec), options.padding_of(self.spec, self.token_to_id)
        sides = [preparing.checked_texts(texts, "texts", is_split_into_words=is_split_into_words)]
        if pairs is not None:
            sides.append(preparing.checked_texts(pairs, "pairs", is_split_into_words=is_split_into_words))
        if offsets:
            chain, allowed = self._chain, self._chain_allow(allow_special)
            encoded = [[preparing.trace(text, chain, allowed) for text in side] for side in sides]
        else:
            engine, allowed = self._engine, self._allow(allow_special)
            encoded = [preparing.encode(side, engine, allowed) for side in sides]
        return preparing.prepared(
            preparing.paired(encoded),
            self._steps,
            add_special_tokens=add_special_tokens,
            truncation=truncation,
            padding=padding,
            overflow=overflow,
        )

    @cached_property
    def _steps(self) -> tuple[Step, ...]:
        from merganser import preparing

        return preparing.steps_of(self.spec)

    @cached_property
    def _chain(self) -> _core.Chain:
        """What gives Hugging Face's offsets: the engine, or its slow twin, built when it is first asked for."""
        return self._engine if isinstance(self._engine, _core.Chain) else engines.chain_of(self.spec)

    def _chain_allow(self, allow_special: AllowSpecial) -> _core.Allowed:
        if self._chain is self._engine:
            return self._allow(allow_special)
        return self._allowed_by(self._chain, self._chain_allowed, allow_special)

    @cached_property
    def _added_ids(self) -> dict[str, int]:
        return {token.content: token.id for token in self.spec.added_tokens}

    def _allow(self, allow_special: AllowSpecial) -> _core.Allowed:
        return self._allowed_by(self._engine, self._allowed, allow_special) if allow_special else self._default

    def _allowed_by(
        self, engine: engines.Engine, known: dict[frozenset[str] | None, _core.Allowed], allow_special: AllowSpecial
    ) -> _core.Allowed:
        key = self._names_of(allow_special)
        if (allowed := known.get(key)) is None:
            allowed = engine.allow(None if key is None else sorted(key))
            if len(known) < 64:
                known[key] = allowed
        return allowed

    def _names_of(self, allow_special: AllowSpecial) -> frozenset[str] | None:
        """The names, or None for all."""
        if isinstance(allow_special, str):
            if allow_special != "all":
                raise TypeError(
                    f'allow_special: expected "all" or a collection of names, found the text {allow_special!r}; '
                    f"one name is {{{allow_special!r}}}"
                )
            return None
        given = arguments.collection("allow_special", allow_special, of="names")
        try:
            names = frozenset(given)
        except TypeError as error:
            raise TypeError(f"allow_special: expected names, found an {error}") from None
        if names in self._allowed:
            return names
        if strangers := names - self.special_tokens.keys():
            raise TokenIdError(
                f"allow_special: expected names of special tokens, found {min(map(repr, strangers))}",
                hint=f"this tokenizer has {', '.join(list(self.special_tokens)[:8]) or 'none'}",
            )
        return names

    def _around(self, ids: list[int]) -> list[int]:
        template = self._template
        return ids if template is None else list(_fill(template, ids))

    @cached_property
    def _template(self) -> tuple[TemplatePart, ...] | None:
        if self.spec.pipeline is None:
            return None if self.spec.template is None else self.spec.template.single
        from merganser.formats import huggingface

        return huggingface.template_of(self.spec.pipeline.post_processor)


def _fill(template: Iterable[TemplatePart], ids: list[int]) -> Iterator[int]:
    for part in template:
        yield from ids if part.ids is None else part.ids


def _replace(errors: str, surrogates: str) -> tuple[bool, bool]:
    if errors == "strict" and surrogates == "replace":  # as mostly
        return False, True
    arguments.one_of("errors", errors, "strict", "replace")
    arguments.one_of("surrogates", surrogates, "strict", "replace")
    return errors == "replace", surrogates == "replace"


def _known(unknown_ids: str) -> str:
    arguments.one_of("unknown_ids", unknown_ids, "error", "replace", "skip")
    return unknown_ids
