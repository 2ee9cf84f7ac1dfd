"""`make demo`: trains a tokenizer on text of this machine, uses it on text it has not seen, shows what it learned.

The text is the standard library of the Python that runs this, or the file or folder that the variable TEXT names. A
tenth is kept aside as unseen. Exit codes: 0 done, 1 what was decoded is not what was encoded, 2 could not.
"""

import os
import sys
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path

import merganser as mg
from merganser.__main__ import exit_code
from merganser.cli import showing
from merganser.spec import unpack

FOLDER = Path("demo")
VOCAB_SIZE = 8_192
NUM_MERGES_SHOWN = 20
PUBLISHED = ("gpt2", "cl100k_base", "o200k_base")
NEXT = (
    f".venv/bin/merganser inspect -t ./{FOLDER} --text 'for line in lines:'",
    f".venv/bin/merganser count -t ./{FOLDER} README.md Makefile",
    f".venv/bin/merganser train README.md --vocab-size 400 -o {FOLDER}/mine",
)


class Clock:
    """Prints each step with the time since the last one."""

    def __init__(self) -> None:
        self._last = time.perf_counter()

    def step(self, name: str, words: str) -> None:
        now = time.perf_counter()
        print(f"{name:<9}{now - self._last:6.2f} s   {words}", flush=True)
        self._last = time.perf_counter()


def main() -> int:
    own = os.environ.get("TEXT")
    source = Path(own or sysconfig.get_paths()["stdlib"])
    print(f"text     {'yours' if own else 'the standard library of Python; `make demo TEXT=path` takes yours'}")
    print(f"from     {source}", flush=True)
    clock = Clock()

    corpus = mg.read(*files(source, own=bool(own)), errors="skip")
    seen, unseen = kept_apart(list(corpus))
    if not seen or not unseen:
        raise mg.StorageError(
            f"{source}: expected text to learn from, found none", hint="`make demo TEXT=path` takes yours"
        )
    clock.step("read", f"{size(seen)}; unseen {size(unseen)}")

    with showing.progress() as progress:
        trained = mg.train(seen, vocab_size=VOCAB_SIZE, special_tokens=["<|endoftext|>"], progress=progress)
    clock.step("train", f"{trained.n_vocab:,} tokens")
    trained.save(FOLDER)
    tok = mg.load(FOLDER)
    clock.step("save", f"{FOLDER}/tokenizer.json, and loaded it again")
    ids = tok.encode_batch(unseen)
    clock.step("encode", f"the unseen text: {sum(map(len, ids)):,} tokens")
    decoded = [tok.decode_bytes(document) for document in ids]
    if decoded != unseen:
        print("error: expected the text that was encoded, found another after decoding", file=sys.stderr)
        return 1
    clock.step("decode", "every byte is back as it was")

    print("\nThe unseen text in tokens of this and of published vocabularies\n")
    showing.table(("bytes", "tokens", "bytes/token", "vocabulary", "tokenizer"), table(tok, ids, unseen))
    print("\nTokens that it learned, and the merges that make them\n")
    showing.table(("merge", "id", "left + right = token"), merges(tok))
    print("\nThree commands to try next\n")
    print("".join(f"    {command}\n" for command in NEXT), end="")
    return 0


def files(source: Path, *, own: bool) -> Iterator[Path]:
    """All files of a person's own text; of the standard library its sources, not the packages installed beside it."""
    for file in mg.read(source, suffixes=None if own else {".py"}).files():
        if own or not {"site-packages", "dist-packages"} & set(file.parts):
            yield file


def kept_apart(documents: list[bytes]) -> tuple[list[bytes], list[bytes]]:
    """The documents to learn from and every tenth, which stays unseen; of less than ten, the last tenth of each."""
    if len(documents) >= 10:
        return [document for place, document in enumerate(documents) if place % 10 != 9], documents[9::10]
    cuts = [(document.rfind(b"\n", 0, len(document) * 9 // 10) + 1) for document in documents]
    pairs = list(zip(documents, cuts, strict=True))
    return [document[:cut] for document, cut in pairs if cut], [document[cut:] for document, cut in pairs]


def table(tok: mg.Tokenizer, ids: list[list[int]], unseen: list[bytes]) -> Iterator[tuple[str, ...]]:
    num_bytes = sum(map(len, unseen))
    for name in ("this one", *PUBLISHED):
        other = tok if name == "this one" else mg.load(name)
        num_tokens = sum(map(len, ids if other is tok else other.encode_batch(unseen)))
        yield f"{num_bytes:,}", f"{num_tokens:,}", f"{num_bytes / num_tokens:.2f}", f"{other.n_vocab:,}", name


def merges(tok: mg.Tokenizer) -> Iterator[tuple[str, str, str]]:
    """Merges from the first to the last, ever further apart, since the first ones are the most common pairs."""
    pairs = unpack(tok.spec.model.merges)
    last = max(0, len(pairs) // 2 - 1)
    places = {round(last * (step / (NUM_MERGES_SHOWN - 1)) ** 2.5) for step in range(NUM_MERGES_SHOWN)}
    for place in sorted(places) if pairs else ():
        left, right = tok.id_to_token(pairs[2 * place]), tok.id_to_token(pairs[2 * place + 1])
        shown = f"{showing.readable(left)} + {showing.readable(right)} = {showing.readable(left + right)}"
        yield str(place + 1), str(tok.token_to_id(left + right)), shown if len(shown) <= 64 else f"{shown[:63]}…"


def size(documents: list[bytes]) -> str:
    size_bytes = sum(map(len, documents))
    megabytes = f"{size_bytes / 1e6:.1f} MB" if size_bytes >= 1e6 else showing.number(size_bytes, "byte")
    return f"{megabytes} in {showing.number(len(documents), 'file')}"


if __name__ == "__main__":
    sys.exit(exit_code(main))
