"""What a person at the terminal sees, whole: the command, the demo and the check of the toolchain."""

import ast
import errno
import io
import json
import os
import pty
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

import merganser as mg
from merganser.__main__ import exit_code, main
from merganser.cli import encode, inspect, options, reading, showing, train
from merganser.cli.words import in_options

ROOT = Path(__file__).parents[1]
SCRIPT = Path(sys.executable).with_name("merganser")
COMMANDS = ("train", "encode", "decode", "count", "inspect", "info")
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | {"COLUMNS": "80"}


@pytest.fixture
def run(monkeypatch, capsysbinary, tmp_path):
    """Runs the command in `tmp_path`, where files.txt and others are, and gives exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for name, data in FILES.items():
        Path(name).write_bytes(data)

    def run(*arguments, stdin=b""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        monkeypatch.setattr(sys, "argv", ["merganser", *arguments])
        code = main()
        out, err = capsysbinary.readouterr()
        return code, out.decode(), err.decode()

    return run


FILES = {
    "hello.txt": b"hello world\n",
    "empty.txt": b"",
    "mark.txt": b"\xef\xbb\xbfhi",
    "latin1.txt": b"caf\xe9",
    "utf16.txt": "hi".encode("utf-16"),
    "ids.txt": b"31373, 995\n198",
}

# Command, stdin and stdout. Nothing is on stderr, and the exit code is 0.
DONE = [
    ("--version", b"", f"merganser {mg.__version__}\n"),
    ("encode -t gpt2", b"hello world", "31373 995\n"),
    ("encode -t gpt2 -", b"hello world", "31373 995\n"),
    ("encode -t gpt2", b"", "\n"),
    ("encode -t gpt2 hello.txt empty.txt mark.txt", b"", "31373 995 198\n\n5303\n"),
    ("encode -t gpt2 --json hello.txt empty.txt", b"", "[31373, 995, 198]\n[]\n"),
    ("encode -t gpt2", b"<|endoftext|>", "27 91 437 1659 5239 91 29\n"),
    ("encode -t gpt2 --allow-special all", b"<|endoftext|>", "50256\n"),
    ("encode -t gpt2 --allow-special <|endoftext|>", b"<|endoftext|>", "50256\n"),
    ("encode -t gpt2 --special <|x|>=60000 --allow-special <|x|>", b"<|x|>", "60000\n"),
    ("encode -t gpt2 --errors replace latin1.txt", b"", "66 1878 4210\n"),
    ("encode -t gpt2 --errors replace", b"caf\xe9", "66 1878 4210\n"),
    ("decode -t gpt2", b"31373 995", "hello world"),
    ("decode -t gpt2", b"[31373, 995]\n[198]\n", "hello world\n"),
    ("decode -t gpt2 ids.txt", b"", "hello world\n"),
    ("decode -t gpt2", b"", ""),
    ("decode -t gpt2 --json", b"31373 995\n\n447\n", '"hello world"\n"�"\n'),
    ("decode -t gpt2 --errors replace", b"447", "�"),
    ("decode -t gpt2 --unknown-ids skip", b"31373 60000 995", "hello world"),
    ("decode -t gpt2 --unknown-ids replace", b"31373 60000", "hello�"),
    ("decode -t gpt2 --skip-special-tokens", b"50256 995", " world"),
    ("count -t gpt2", b"hello world", "tokens  bytes  bytes/token  file\n     2     11         5.50  stdin\n"),
    ("count -t gpt2 empty.txt", b"", "tokens  bytes  bytes/token  file\n     0      0            –  empty.txt\n"),
    ("inspect -t gpt2 --text ", b"", "id  start  end  token\n"),
]


@pytest.mark.parametrize(("command", "stdin", "out"), DONE)
def test_done(run, command, stdin, out):
    assert run(*command.split(" "), stdin=stdin) == (0, out, "")


# Command, stdin and stderr. Nothing is on stdout, and the exit code is 2.
COULD_NOT = [
    ("encod", b"", "error: no such command `encod`\nhint: did you mean `encode`, `decode`?\n"),
    ("encode", b"", "error: --tokenizer: expected a value, found none\nhint: see `merganser encode --help`\n"),
    ("encode -t", b"", "error: option `-t` requires an argument\nhint: see `merganser --help`\n"),
    ("encode -t gpt2 --eror x", b"", "error: no such option: --eror\nhint: did you mean `--errors`?\n"),
    (
        "encode -t gpt2 --errors ignore",
        b"",
        "error: --errors: expected strict, replace or skip, found `ignore`\nhint: see `merganser encode --help`\n",
    ),
    (
        "encode -t cl100k",
        b"",
        "error: expected a bundled vocabulary (gpt2, r50k_base, p50k_base, p50k_edit, cl100k_base, o200k_base, "
        "o200k_harmony), found `cl100k`\nhint: did you mean `cl100k_base`?\n",
    ),
    (
        "encode -t gpt2 gone/a.txt",
        b"",
        "error: gone/a.txt: expected a file or folder, found nothing there\n"
        "hint: of that path there is only `{here}`\n",
    ),
    (
        "encode -t gone/tok",
        b"",
        "error: gone/tok: expected a file that can be read, found: No such file or directory\n"
        "hint: of that path there is only `{here}`, and nothing is downloaded\n",
    ),
    (
        "encode -t gpt2 --split none",
        b"",
        "error: gpt2: expected no `--split` and `--special`, for it has its own\n"
        "hint: leave `--split` out: without it `--special` adds special tokens\n",
    ),
    ("encode -t gpt2 ", b"", "error: FILES: expected the name of a file or folder, found an empty one\n"),
    (
        "encode -t gpt2 latin1.txt",
        b"",
        "error: latin1.txt: byte 3: expected UTF-8, found byte 0xE9\n"
        "hint: pass `--errors replace` to read it as U+FFFD, or `--errors skip` to leave such files out\n",
    ),
    (
        "encode -t gpt2",
        b"caf\xe9",
        "error: stdin: byte 3: expected UTF-8, found byte 0xE9\nhint: pass `--errors replace` to read it as U+FFFD\n",
    ),
    (
        "count -t gpt2 utf16.txt",
        b"",
        "error: utf16.txt: expected UTF-8, found UTF-16\n"
        "hint: save the file as UTF-8, or pass `--errors skip` to leave such files out\n",
    ),
    (
        "encode -t gpt2 --allow-special <|x|>",
        b"",
        "error: --allow-special: expected names of special tokens, found '<|x|>'\n"
        "hint: this tokenizer has <|endoftext|>\n",
    ),
    (
        "encode -t gpt2 --special <|x|>",
        b"",
        "error: --special: expected a name and an id, as `<|endoftext|>=50256`, found `<|x|>`\n"
        "hint: see `merganser encode --help`\n",
    ),
    (
        "encode -t gpt2 --special <|x|>=5",
        b"",
        "error: special token '<|x|>': expected an id of its own, found 5 of b'&'\nhint: the first free id is 50257\n",
    ),
    (
        "decode -t gpt2",
        b"\n3 four",
        "error: stdin:2: expected ids, found 'four'\nhint: ids are what `merganser encode` writes\n",
    ),
    (
        "decode -t gpt2 hello.txt",
        b"",
        "error: hello.txt:1: expected ids, found 'hello'\nhint: ids are what `merganser encode` writes\n",
    ),
    (
        "decode -t gpt2",
        b"-1",
        "error: stdin:1: expected an id of this vocabulary, 0 to 50256, found -1\n"
        "hint: pass `--unknown-ids skip` or `replace` to decode around it\n",
    ),
    (
        "decode -t gpt2 --errors strict",
        b"447",
        "error: stdin:1: byte 0 of the decoded ids: expected UTF-8, found byte 0xE2\n"
        "hint: pass `--errors replace`, or leave `--errors` out to get the bytes\n",
    ),
    ("decode -t gpt2 .", b"", "error: .: expected a readable file, found: Is a directory\n"),
    (
        "train --vocab-size 32x -o tok hello.txt",
        b"",
        "error: --vocab-size: expected a whole number, 1 or more, found `32x`\nhint: see `merganser train --help`\n",
    ),
    (
        "train --vocab-size 200 -o tok hello.txt",
        b"",
        "error: --vocab-size: expected at least 256 (256 bytes and 0 special tokens), found 200\n"
        "hint: the least vocabulary is 256, which merges nothing\n",
    ),
    (
        "train --vocab-size 300 --layout gpt -o tok hello.txt",
        b"",
        "error: --layout: expected tiktoken or hf, found `gpt`\nhint: see `merganser train --help`\n",
    ),
    (
        "train --vocab-size 300 -o hello.txt/tok hello.txt",
        b"",
        "error: hello.txt/tok: expected a folder to write into, found the file {here}/hello.txt\n",
    ),
]


@pytest.mark.parametrize(("command", "stdin", "err"), COULD_NOT)
def test_could_not(run, tmp_path, command, stdin, err):
    assert run(*command.split(" "), stdin=stdin) == (2, "", err.replace("{here}", str(tmp_path)))


def test_what_cannot_be_saved_is_said_before_training(run):
    code, out, err = run("train", "--vocab-size", "300", "--split", r"\h+", "-o", "tok", "gone.txt")
    assert (code, out, err) == (
        2,
        "",
        "error: --output: pattern '\\\\h+', character 0: expected a construct that means the same in Rust's and in "
        "Oniguruma's regexes, found `\\h`\n",
    )


def test_a_split_that_nobody_published(run):
    code, out, err = run("train", "--vocab-size", "300", "--split", "gpt9", "-o", "tok", "hello.txt")
    assert (code, out) == (2, "")
    assert re.fullmatch(r"error: --split: expected one of .*\bcl100k\b.*, found 'gpt9'\nhint: .*\n", err)
    assert err.endswith("\nhint: a pattern of your own goes there too, in quotes\n")


def test_much_on_stdin_is_several_documents_cut_after_line_breaks(run, monkeypatch):
    monkeypatch.setattr(reading, "_MAX_DOCUMENT_BYTES", 4)
    assert run("encode", "-t", "gpt2", stdin=b"\xef\xbb\xbfa\nbcdef\nabcd") == (
        0,
        "64 198\n15630 4299 198\n397 10210\n",
        "",
    )


COUNTED = """\
tokens  bytes  bytes/token  file
     3     12         4.00  hello.txt
     1      2         2.00  mark.txt
     4     14         3.50  total
"""


def test_count_of_several_files_and_what_was_left_out(run):
    found = run("count", "-t", "gpt2", "--errors", "skip", "hello.txt", "mark.txt", "latin1.txt", "utf16.txt")
    assert found == (0, COUNTED, "warning: expected UTF-8, left out 2 files: latin1.txt, utf16.txt\n")


def test_count_as_json_has_the_keys_of_its_dataclass(run):
    counted = json.loads(run("count", "-t", "gpt2", "--json", "hello.txt", "empty.txt")[1])
    row = {"file": "hello.txt", "num_tokens": 3, "size_bytes": 12, "bytes_per_token": 4.0}
    assert counted["files"][0] == row
    assert counted["total"] == row | {"file": None}
    assert list(row) == [field.name for field in fields(encode.Count)]


INSPECTED = r"""name         cl100k_base
family       byte-level BPE, rank semantics
vocabulary   100,256 tokens, 5 special tokens; ids 0 to 100276
normalizers  none
split        cl100k_base, rust dialect, unmatched text: drop
             '(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+
             | ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s
special      '<|endoftext|>' 100257
             '<|fim_prefix|>' 100258
             '<|fim_middle|>' 100259
             '<|fim_suffix|>' 100260
             '<|endofprompt|>' 100276
added        none
template     none
tie-break    not known
runs         a table of 20 states by 11 classes, one pass, linear on every text
fingerprint  (64 hexadecimal digits)

   id  bytes  longest tokens
58040    128  '                                                          …
90280    114  '//--------------------------------------------------------…
67307    113  ' ---------------------------------------------------------…
57442     98  '//--------------------------------------------------------…
60909     97  ' ---------------------------------------------------------…
"""


def test_inspect_shows_what_a_tokenizer_is(run):
    code, out, err = run("inspect", "-t", "cl100k_base")
    assert (code, re.sub("[0-9a-f]{64}", "(64 hexadecimal digits)", out), err) == (0, INSPECTED, "")


PIPELINE = r"""normalizer      BertNormalizer clean_text handle_chinese_chars lowercase
pre_tokenizer   BertPreTokenizer
post_processor  TemplateProcessing pair=[CLS] A [SEP] B [SEP] single=[CLS] A
                [SEP]
decoder         WordPiece cleanup prefix='##'
"""


def test_inspect_shows_a_pipeline_step_by_step(run):
    with pytest.warns(UserWarning, match="no pair is left"):
        mg.train(["low lower"], vocab_size=99, model="wordpiece").save("bert")
    code, out, err = run("inspect", "-t", "./bert")
    assert (code, err) == (0, "")
    assert PIPELINE in "".join(line.rstrip() + "\n" for line in out.splitlines())
    assert all(len(line) <= 80 for line in out.splitlines())
    steps = json.loads(run("inspect", "-t", "./bert", "--json")[1])["pipeline"]
    assert steps["decoder"] == ["WordPiece cleanup prefix='##'"]


TOKENS = """\
   id  start  end  token
15357      0    3  'don'
  956      3    5  "'t"
28584      5    7  ' 🙂'
 3009      7   12  ' stop'
"""


@pytest.mark.parametrize(("text", "stdin"), [("don't 🙂 stop", b""), ("-", "don't 🙂 stop".encode())])
def test_inspect_shows_the_tokens_of_a_text(run, text, stdin):
    assert run("inspect", "-t", "cl100k_base", "--text", text, stdin=stdin) == (0, TOKENS, "")


def test_inspect_as_json_has_the_keys_of_its_dataclasses(run):
    inspected = json.loads(run("inspect", "-t", "gpt2", "--json")[1])
    assert list(inspected) == [field.name for field in fields(inspect.Inspection)]
    assert inspected["fingerprint"] == mg.load("gpt2").fingerprint()
    assert json.loads(run("inspect", "-t", "gpt2", "--text", "é🙂", "--unit", "byte", "--json")[1]) == [
        {"id": 2634, "bytes": "c3a9", "start": 0, "end": 2},
        {"id": 8582, "bytes": "f09f", "start": 2, "end": 4},
        {"id": 25081, "bytes": "9982", "start": 4, "end": 6},
    ]


def test_info_names_the_versions(run):
    code, out, err = run("info")
    assert (code, err) == (0, "")
    assert re.fullmatch(
        r"merganser     [0-9.]+\n"
        r"Python        \w+ [0-9.]+\S*\n"
        r"platform      .+\n"
        r"Unicode       16\.0\.0 in splits, [0-9.]+ in normalization\n"
        r"vocabularies  gpt2\n(?: {14}\w+\n){6}"
        r"optional      \S+ \S+\n(?: {14}\S+ \S+\n)*",
        out,
    )
    assert list(json.loads(run("info", "--json")[1])) == [field.name for field in fields(inspect.Info)]


HELP = """\
Usage: merganser [OPTIONS] COMMAND ...

  Train tokenizers, encode and decode text, count tokens, look inside.

  FILES are files and folders of UTF-8 text; `-`, or none, is stdin. Data goes
  to stdout, words go to stderr. Nothing is ever downloaded.

  For example:

    merganser count -t o200k_base README.md

  Exit codes: 0 done, 1 a check failed, 2 could not, 130 on Ctrl-C.

Options:
  --version   Show the version.
  -h, --help  Show this message and exit.

Commands:
  train    Train a byte-level BPE or WordPiece tokenizer on FILES, or stdin.
  encode   Encode FILES, or stdin, as token ids: a line for each document.
  decode   Decode the ids in FILES, or stdin, to the exact bytes.
  count    Count the tokens of FILES, or stdin, each and together.
  inspect  Show what a tokenizer is, or the tokens of a text.
  info     Show what is installed here; a bug report wants it.
"""


def test_help(run):
    assert run("--help") == (0, HELP, "")


def test_without_a_command_the_help_is_on_stderr(run):
    code, out, err = run()
    assert (code, out, err) == (2, "", run("--help")[1])


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_and_has_an_example(run, command):
    code, out, err = run(command, "--help")
    assert (code, err) == (0, "")
    assert examples(out)
    assert max(map(len, out.splitlines())) <= 80


def examples(text):
    return re.findall(r"^    (\S.*merganser .*|merganser .*)$", text, re.MULTILINE)


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_examples_run(tmp_path, command):
    (tmp_path / "README.md").write_text("hello world\n")
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.py").write_text("hello = world\n")
    for example in examples(shell(f"merganser {command} --help", tmp_path).stdout.decode()):
        done = shell(example, tmp_path)
        assert (done.returncode, done.stderr.replace(WARNING, b"").partition(b"error")[1]) == (0, b"")


WARNING = b"warning: no pair is left to merge"


def shell(command, folder, **environment):
    path = f"{SCRIPT.parent}{os.pathsep}{os.environ['PATH']}"
    environment = ENVIRONMENT | {"PATH": path} | environment
    return subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, timeout=60)


TRAINED = """\
warning: no pair is left to merge: the vocabulary has 263 tokens, not 300
read 2 documents, 24 bytes
trained in S s
wrote tok: 263 tokens
"""


def test_train_says_what_it_read_and_wrote(tmp_path):
    (tmp_path / "a.txt").write_text("low low\n")
    (tmp_path / "b.txt").write_text("lower lower low\n")
    done = shell("merganser train . --vocab-size 300 --special '<|end|>' --json -o tok", tmp_path)
    assert (done.returncode, re.sub(r"in [0-9.]+ s", "in S s", done.stderr.decode())) == (0, TRAINED)
    trained = json.loads(done.stdout)
    assert trained | {"seconds": 0} == {
        "output": "tok",
        "n_vocab": 263,
        "num_documents": 2,
        "size_bytes": 24,
        "seconds": 0,
    }
    assert list(trained) == [field.name for field in fields(train.Trained)]
    assert mg.load(tmp_path / "tok").special_tokens == {"<|end|>": 262}
    assert (
        shell("echo low lower | merganser encode -t ./tok | merganser decode -t ./tok", tmp_path).stdout
        == b"low lower\n"
    )


@pytest.mark.parametrize(("option", "tokens"), [("", ["low", "low"]), ("--cased", ["Low", "low"])])
def test_train_learns_word_piece(tmp_path, option, tokens):
    (tmp_path / "a.txt").write_text("Low low lower Low low\n" * 3)
    done = shell(f"merganser train a.txt --vocab-size 20 --model wordpiece {option} -o tok", tmp_path)
    assert done.returncode == 0
    tok = mg.load(tmp_path / "tok")
    assert [tok.id_to_token(id).decode() for id in tok.encode("Low low")] == tokens


@pytest.mark.parametrize(
    ("command", "option", "model", "other"),
    [
        ("--model wordpiece --layout hf", "layout", "wordpiece", "bpe"),
        ("--model wordpiece --split gpt2", "split", "wordpiece", "bpe"),
        ("--model wordpiece --never-merge-spaces", "never-merge-spaces", "wordpiece", "bpe"),
        ("--cased", "cased", "bpe", "wordpiece"),
        ("--score likelihood", "score", "bpe", "wordpiece"),
    ],
)
def test_train_says_which_options_are_of_the_other_model(run, command, option, model, other):
    assert run("train", "--vocab-size", "300", *command.split(), "-o", "tok", "gone.txt") == (
        2,
        "",
        f"error: --{option}: expected nothing with `--model {model}`, found an option of `--model {other}`\n"
        f"hint: pass `--model {other}`, or leave `--{option}` out\n",
    )


# What `-o` names, what is trained, and stderr.
UNSAVABLE = [
    (
        "tok.tiktoken",
        "--model wordpiece",
        "error: --output: model: expected byte-level BPE, found WordPiece\n"
        "hint: tokenizer.json holds any model: end the name in `.json`, or in nothing for a folder\n",
    ),
    (
        "tok.model",
        "--layout hf",
        "error: --output: minbpe's `.model`: expected byte 0 as token 0, found b'!'\n"
        "hint: `--layout tiktoken` numbers bytes so\n",
    ),
    (
        "tok",
        "--special Ġ",
        "error: --output: tokenizer.json: expected added tokens of their own or with the id of the same token, "
        "found 'Ġ' with the id 256, where token 32 is 'Ġ'\n"
        "hint: the file spells another token so: give the added token a name other than 'Ġ'\n",
    ),
]


@pytest.mark.parametrize(("output", "command", "err"), UNSAVABLE)
def test_train_says_what_the_output_cannot_hold(run, output, command, err):
    found = run("train", "--vocab-size", "300", *command.split(), "-o", output, "gone.txt")
    assert found == (2, "", err)


def test_train_refuses_a_vocabulary_smaller_than_the_alphabet(run):
    command = "train --model wordpiece --vocab-size 9 -o tok hello.txt"
    assert run(*command.split()) == (
        2,
        "",
        "error: --vocab-size: expected at least 17 (the special tokens and the alphabet), found 9\n"
        "hint: the least vocabulary is 17, which joins nothing\n",
    )
    assert not Path("tok").exists()


# What the command never passes on: it calls no `prepare`, no `fim`, no plug-in of tiktoken's; its splits keep all text.
UNREACHABLE = ("preparing", "fim.py", "compat", "reference", "streaming.py", "_plugin.py")
IN_PYTHON = {'a split with unmatched="keep" gives such text a piece of its own', 'pass dtype="uint32"'}
IN_PYTHON |= {'pass errors="replace", here or to bytes.decode, to read such bytes as U+FFFD'}
IN_PYTHON |= {'pass surrogates="replace" to read it as U+FFFD'}


def hints_of_the_library():
    """Every hint that is written as such, in Python and Rust, with an argument for what is put in."""
    for file in (ROOT / "python/merganser").rglob("*.py"):
        if not any(name in str(file) for name in UNREACHABLE):
            for node in ast.walk(ast.parse(file.read_text())):
                is_hint = isinstance(node, ast.keyword) and node.arg == "hint"
                is_hint = is_hint or (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "hint")
                if is_hint and isinstance(node.value, ast.Constant | ast.JoinedStr):
                    parts = getattr(node.value, "values", [node.value])
                    yield "".join(part.value or "" if isinstance(part, ast.Constant) else "split" for part in parts)
    for file in (ROOT / "rust/src").rglob("*.rs"):
        for text in re.findall(r'(?:hint = |Some\()("(?:[^"\\]|\\.)*")', file.read_text()):
            yield ast.literal_eval(text)


def test_no_hint_that_the_command_passes_on_is_about_python():
    hints = set(hints_of_the_library()) - IN_PYTHON
    assert len(hints) > 50
    words = re.compile(r'\w=["\w{ ,]|\w=$|\bmg\.|\w\(|\b[a-z]+_[a-z]+\b(?!\.json|_base)')
    assert [hint for hint in map(in_options, hints) if words.search(hint)] == []


def test_train_passes_every_option_on(run, monkeypatch):
    command = (
        "train --vocab-size 300 --split none --special a --special b --layout hf --tie-break lex_max --min-frequency 2 "
        "--max-token-length 3 --never-merge-spaces --model wordpiece --score likelihood --cased --threads 1 "
        "--errors replace -o tok - hello.txt"
    )
    calls = []
    tokenizer = mg.load("gpt2")
    monkeypatch.setattr(mg, "train", lambda documents, **options: calls.append(options) or tokenizer)
    assert run(*command.split())[0] == 0
    assert calls[-1] == {
        "vocab_size": 300,
        "split": None,
        "special_tokens": ["a", "b"],
        "layout": "hf",
        "tie_break": "lex_max",
        "min_frequency": 2,
        "max_token_length": 3,
        "never_merge_spaces": True,
        "model": "wordpiece",
        "score": "likelihood",
        "lowercase": False,
        "num_threads": 1,
        "progress": None,
    }


def test_a_tiktoken_file_takes_split_and_special_tokens(run):
    run("train", "--vocab-size", "257", "-o", "a.tiktoken", stdin=b"aaaa")
    encode = ("encode", "-t", "a.tiktoken")
    assert run(*encode, "--split", "o200k", stdin=b"aaa") == (0, "256 97\n", "")
    special = ("--split", "o200k", "--special", "<|x|>=300", "--allow-special", "all")
    assert run(*encode, *special, stdin=b"aa<|x|>") == (0, "256 300\n", "")
    assert run(*encode, stdin=b"aaa") == (
        2,
        "",
        "error: a.tiktoken: expected `--split` and `--special`, which a `.tiktoken` file does not hold\n"
        "hint: pass `--split`, a published pattern's name or a pattern, and `--special` for each special token\n",
    )


@pytest.mark.parametrize(("written", "number"), [("500", 500), ("32000", 32_000), ("32_000", 32_000), ("32k", 32_000)])
def test_whole_numbers_as_people_write_them(written, number):
    assert options.whole_number(1)(written) == number


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b" the", "' the'"),
        (b"it's", '"it\'s"'),
        (b"'\"", "'\\'\"'"),
        ("é🙂".encode(), "'é🙂'"),
        (b"\n\t\\", r"'\n\t\\'"),
        (b"\xe2\x80", r"'\xe2\x80'"),
        ("\u200b\ue000".encode(), r"'\u200b\ue000'"),
    ],
)
def test_bytes_are_shown_readable(data, shown):
    assert showing.readable(data) == shown


@given(st.text())
def test_text_is_shown_as_python_would_write_it(text):
    assert (
        ast.literal_eval(showing.readable(text.encode("utf-8", "replace"))) == text.encode("utf-8", "replace").decode()
    )


def test_import_is_light():
    code = "import sys, merganser; print([name for name in ('typer', 'rich', 'numpy') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).stdout == b"[]\n"


# The process itself: pipes, terminals, signals, locales.


@pytest.mark.parametrize("text", [b"", b"\n", b"a\r\nb\x00c", "na\u0308ive 🙂 \u2028\n\n".encode()])
def test_encode_and_decode_in_a_pipe_give_the_same_bytes(tmp_path, text):
    (tmp_path / "text").write_bytes(text)
    assert shell("cat text | merganser encode -t o200k_base | merganser decode -t o200k_base", tmp_path).stdout == text


def test_a_reader_that_has_seen_enough_is_no_error(tmp_path):
    command = "yes 31373 | head -c 5000000 | { merganser decode -t gpt2; echo $? >code; } | head -c 5"
    done = shell(command, tmp_path)
    assert (done.stdout, done.stderr, (tmp_path / "code").read_text()) == (b"hello", b"", "0\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_an_error(tmp_path):
    done = shell("merganser info >/dev/full", tmp_path)
    assert (done.returncode, done.stderr) == (2, b"error: No space left on device\n")


def test_closed_streams_are_empty_ones(tmp_path):
    assert shell("merganser encode -t gpt2 <&-", tmp_path).stdout == b"\n"
    assert shell("merganser info >&- 2>&-", tmp_path).returncode == 0


def test_text_is_utf8_whatever_the_locale(tmp_path):
    old = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    (tmp_path / "naïve.txt").write_text("é", encoding="utf-8")
    assert (
        shell("merganser inspect -t gpt2 --text é", tmp_path, **old).stdout.decode().endswith("2634      0    1  'é'\n")
    )
    assert shell("merganser encode -t gpt2 naïve.txt", tmp_path, **old).stdout == b"2634\n"
    assert shell("echo 2634 | merganser decode -t gpt2 --errors strict", tmp_path, **old).stdout == "é".encode()


def test_a_pattern_shows_in_a_line_with_its_line_breaks_as_escapes(tmp_path):
    tok = tokenizers.Tokenizer(tokenizers.models.BPE({"a": 0}, []))
    tok.pre_tokenizer = tokenizers.pre_tokenizers.Split(tokenizers.Regex("[\r\n\x7f]+|a b"), "isolated")
    tok.save(str(tmp_path / "x.json"))
    shown = shell("merganser inspect -t ./x.json", tmp_path).stdout.decode()
    assert r"[\r\n\x{7F}]+|a b" in shown


def test_ctrl_c_ends_training_at_once(tmp_path):
    dice = random.Random(0)
    words = [bytes(dice.choices(range(97, 123), k=dice.randint(2, 12))) for _ in range(100_000)]
    corpus = b" ".join(dice.choices(words, k=2_000_000))
    command = [SCRIPT, "train", "--vocab-size", "200k", "-o", "tok"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    # A shell that runs the tests in the background may have them ignore the signal.
    heeding = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
    with subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE, stderr=subprocess.PIPE, **heeding) as training:
        assert training.stdin is not None
        assert training.stderr is not None
        training.stdin.write(corpus)
        training.stdin.close()
        training.send_signal(signal.SIGINT)
        assert training.wait() == 130
        assert training.stderr.read() == b"error: interrupted\n"
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime - before.ru_utime < 1.5  # to the end it is some 3
    assert not (tmp_path / "tok").exists()


@pytest.mark.parametrize("environment", [{}, {"NO_COLOR": "1"}])
def test_progress_is_shown_on_a_terminal_in_colour_unless_no_color(tmp_path, environment):
    (tmp_path / "a.txt").write_text("low lower lowest\n" * 1000)
    command = [SCRIPT, "train", "a.txt", "--vocab-size", "260", "-o", "tok"]
    code, seen = in_terminal(command, tmp_path, {"TERM": "xterm-256color"} | environment)
    assert (code, "counting" in seen) == (0, True)
    assert bool(re.search(r"\x1b\[[0-9;]*3[0-9]", seen)) == (not environment)


def in_terminal(command, folder, environment):
    here, there = pty.openpty()
    with subprocess.Popen(
        command, cwd=folder, env=ENVIRONMENT | environment, stdin=there, stdout=there, stderr=there
    ) as child:
        os.close(there)
        seen = b""
        try:
            while block := os.read(here, 1 << 16):
                seen += block
        except OSError as error:
            assert error.errno == errno.EIO  # noqa: PT017 - how Linux says that the other side has closed
    os.close(here)
    return child.returncode, seen.decode()


# `make demo` and what it needs.


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    for name in ("README.md", "Makefile"):
        shutil.copy(ROOT / name, folder)
    (folder / "README.md").write_text((ROOT / "README.md").read_text() + "Text enough to learn from. " * 20)
    (folder / ".venv").mkdir()
    (folder / ".venv/bin").symlink_to(SCRIPT.parent)
    command = f"{sys.executable} {ROOT / 'tools/demo.py'}"
    return folder, shell(command, folder, TEXT=str(Path(mg.__file__).parent / "reference"))


def test_demo_learns_from_your_text_and_fits_the_terminal(demo):
    folder, done = demo
    assert (done.returncode, (folder / "demo/tokenizer.json").exists()) == (0, True)
    lines = done.stdout.decode().splitlines()
    assert max(map(len, lines[2:])) <= 80
    assert [line.split()[0] for line in lines[:7]] == ["text", "from", "read", "train", "save", "encode", "decode"]
    assert lines[7:9] == ["", "The unseen text in tokens of this and of published vocabularies"]


def test_demo_commands_to_try_next_run(demo):
    folder, done = demo
    commands = re.findall(r"^    (\.venv/bin/merganser .+)$", done.stdout.decode(), re.MULTILINE)
    assert len(commands) == 3
    assert [shell(command, folder).returncode for command in commands] == [0, 0, 0]


@pytest.mark.parametrize(
    ("text", "err"),
    [
        (
            "gone.txt",
            "error: gone.txt: expected a file or folder, found nothing there\n"
            "hint: of that path there is only `{here}`\n",
        ),
        (
            "latin1.txt",
            "error: latin1.txt: expected text to learn from, found none\nhint: `make demo TEXT=path` takes yours\n",
        ),
    ],
)
def test_demo_without_text_says_so(tmp_path, text, err):
    (tmp_path / "latin1.txt").write_bytes(b"caf\xe9")
    done = shell(f"{sys.executable} {ROOT / 'tools/demo.py'}", tmp_path, TEXT=text)
    assert (done.returncode, done.stderr.decode()) == (2, err.replace("{here}", str(tmp_path)))


TOOLS = {
    "cargo": "echo 'cargo 1.88.0 (873a06493 2025-05-10)'",
    "cc": "exit 0",
    "python3": "exit 0",
    "uname": "echo Linux",
    "apt-get": "exit 0",
}
RUSTUP = "`curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh`, then open a new shell"


@pytest.mark.parametrize(
    ("tool", "script", "err"),
    [
        ("cargo", "echo 'cargo 1.100.0'", ""),
        ("cargo", None, f"error: cargo: expected 1.88 or newer on the PATH, found none\nhint: {RUSTUP}\n"),
        ("cargo", "echo 'cargo 1.75.0'", f"error: cargo: expected 1.88 or newer, found 1.75.0\nhint: {RUSTUP}\n"),
        (
            "cargo",
            "exit 1",
            "error: cargo: expected one that runs, found `cargo --version` failing\nhint: `rustup default stable`\n",
        ),
        ("cc", None, "error: C linker: expected `cc`, found none\nhint: `sudo apt-get install build-essential`\n"),
        (
            "cc",
            "exit 1",
            "error: C linker: expected `cc`, found `cc` that cannot link a program\n"
            "hint: `sudo apt-get install build-essential`\n",
        ),
        (
            "python3",
            None,
            "error: Python: expected 3.11 or newer as `python3`, found none\n"
            "hint: `sudo apt-get install python3 python3-venv`\n",
        ),
        (
            "python3",
            "echo Python 3.9.2; exit 1",
            "error: Python: expected 3.11 or newer as `python3`, found 3.9.2\n"
            "hint: `sudo apt-get install python3 python3-venv`\n",
        ),
        (
            "python3",
            'case "$2" in *ensurepip*) exit 1;; *print*) echo 3.11;; esac',
            "error: Python: expected the modules venv and ensurepip in `python3`, found none\n"
            "hint: `sudo apt-get install python3.11-venv`\n",
        ),
    ],
)
def test_toolchain_check_says_what_is_missing(tmp_path, tool, script, err):
    for name, body in (TOOLS | {tool: script}).items():
        if body is not None:
            (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
            (tmp_path / name).chmod(0o755)
    for name in ("mktemp", "rm", "sed"):
        (tmp_path / name).symlink_to(str(shutil.which(name)))
    environment = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    check = subprocess.run(["/bin/sh", ROOT / "tools/check_toolchain.sh"], env=environment, capture_output=True)
    assert (check.returncode, check.stdout, check.stderr.decode()) == (2 if err else 0, b"", err)


@pytest.mark.parametrize(
    ("fault", "line"),
    [
        (mg.InternalError("the engine failed: index", hint="x"), "the engine failed: index"),
        (ZeroDivisionError("division by zero"), "ZeroDivisionError: division by zero (__main__.py:"),
    ],
)
def test_a_fault_of_ours_is_a_line_to_report(capsys, fault, line):
    def work():
        raise fault

    assert exit_code(work) == 2
    error, hint = capsys.readouterr().err.splitlines()
    assert error.startswith(f"error: a fault of merganser: {line}")
    assert hint == (
        "hint: this is a bug: please report it with the command, its input and what `merganser info` prints; "
        "MERGANSER_TRACEBACK=1 before the command shows the traceback"
    )


def test_the_traceback_of_a_fault_is_there_on_request(capsys, monkeypatch):
    monkeypatch.setenv("MERGANSER_TRACEBACK", "1")
    assert exit_code(lambda: 1 // 0) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("Traceback (most recent call last):\n")
    assert "\nerror: a fault of merganser: ZeroDivisionError: " in shown
