"""The documentation is true: its blocks run and print what they show, its numbers are computed, its links lead on.

Each page runs from top to bottom in one namespace and in a temporary folder, which has a copy of README.md:

    ```python and ```pycon       run; `>>>` lines print what stands below them
    ```console                   each `$ merganser …` runs and prints what stands below it
    <!-- check: expression -->   is true at its place
    <!-- numbers: a, b, … -->    are the numbers of the paragraph above it, all of them, in order

Readers do not see the last two. In what is printed, `...` stands for anything. Other blocks are not run. In
docs/lecture.md no paragraph has a number, written in digits, without such a comment below it.
"""

import doctest
import itertools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from sybil import Region, Sybil
from sybil.evaluators.doctest import DocTestEvaluator, OutputChecker
from sybil.example import SybilFailure
from sybil.parsers.abstract.doctest import DocTestStringParser
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser

ROOT = Path(__file__).parent.parent
PAGES = [page for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))) if page.exists()]
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)

FENCED = re.compile(r"^```(?P<language>[\w-]*)[^\n]*\n(?P<source>.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"<!-- (check|numbers): (.*?) -->", re.DOTALL)

# Digits that are part of a name, as in GPT-4 or cl100k, are no number.
NUMBER = re.compile(r"(?<![\w.])(?<!\w-)(?:\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)*)(?:st|nd|rd|th)?\b")

# What a console block may show: everything else (`pip`, `git`, `make`) belongs in a ```bash block, which is not run.
RUNS = re.compile(r"(merganser|echo|printf|cat|head|ls)\b")


# Parsers: what of a page is run, and how.


def pycon(document):
    for block in CodeBlockParser("pycon", lambda example: None)(document):
        source = block.parsed
        for region in DocTestStringParser(DocTestEvaluator(doctest.ELLIPSIS))(source, document.path):
            region.adjust(block, source)
            yield region


def comments(document):
    for match in COMMENT.finditer(document.text):
        yield Region(match.start(), match.end(), match[2], {"check": check, "numbers": same_numbers}[match[1]])


def check(example):
    return None if eval(example.parsed, example.namespace) else f"expected to be true: {example.parsed}"


def same_numbers(example):
    written = numbers(paragraphs(example.document.text[: example.start])[-1])
    computed = [str(value) for value in eval(f"({example.parsed},)", example.namespace)]
    return None if written == computed else f"numbers written:  {written}\nnumbers computed: {computed}"


def console(example):
    """Runs the commands of a block as a shell would in this folder, and compares all that a terminal would show."""
    if not example.parsed.startswith("$ "):
        return "expected a command behind `$ ` in the first line"
    for command, shown in re.findall(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n?)*)", example.parsed, re.MULTILINE):
        if not RUNS.match(command):
            return f"expected a command of merganser, found `{command}`: put it in a ```bash block"
        printed = subprocess.run(
            ["bash", "-c", f'merganser() {{ "{sys.executable}" -m merganser "$@"; }}\n{command}'],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            env=os.environ | {"NO_COLOR": "1", "COLUMNS": "100", "PYTHONWARNINGS": "default"},
        ).stdout
        if not OutputChecker().check_output(shown, printed, doctest.ELLIPSIS):
            return f"$ {command}\nexpected:\n{shown}\nfound:\n{printed}"
    return None


SYBIL = Sybil(
    [PythonCodeBlockParser(doctest_optionflags=doctest.ELLIPSIS), pycon, comments, CodeBlockParser("console", console)]
)


def run(page: Path) -> None:
    for example in SYBIL.parse(page):
        example.evaluate()


@every_page
def test_a_page_runs_and_prints_what_it_shows(page, tmp_path, monkeypatch):
    shutil.copy(ROOT / "README.md", tmp_path)
    monkeypatch.chdir(tmp_path)
    run(page)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("```pycon\n>>> 1 + 1\n3\n```\n", "Expected:\n    3\nGot:\n    2"),
        ("```python\n>>> 1 + 1\n3\n```\n", "Expected:\n    3\nGot:\n    2"),
        ("```python\nn = 2\n```\n\n<!-- check: n == 3 -->\n", "expected to be true: n == 3"),
        (
            "2,000 and `[4]`\n\n<!-- numbers: 2 * 1000, 5 -->\n",
            "written:  ['2000', '4']\nnumbers computed: ['2000', '5']",
        ),
        ("```console\n$ echo one two\none ...\n$ echo three\nfour\n```\n", "expected:\nfour\n\nfound:\nthree"),
        ("```console\nmerganser info\n```\n", "expected a command behind `$ ` in the first line"),
        ("```console\n$ git status\n```\n", "expected a command of merganser, found `git status`"),
    ],
)
def test_a_false_page_fails(text, message, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(SybilFailure) as failure:
        run(page)
    assert message in str(failure.value)


# Numbers.


def paragraphs(text: str) -> list[str]:
    """The paragraphs of a page, tables, lists and comments among them; each fenced block is but a fence."""
    return [paragraph for paragraph in re.split(r"\n\s*\n", FENCED.sub("```", text).strip()) if paragraph]


def numbers(paragraph: str) -> list[str]:
    """The numbers of a paragraph in order, without those that count the items of a list or stand in a link's target."""
    text = re.sub(r"^ *\d+\. |\]\([^)]*\)", "", paragraph, flags=re.MULTILINE)
    return [number.replace(",", "") for number in NUMBER.findall(text)]


def not_computed(text: str) -> list[str]:
    """The paragraphs that have numbers, and no comment below that computes them."""
    every = [*paragraphs(text), ""]
    return [
        paragraph
        for paragraph, below in itertools.pairwise(every)
        if numbers(paragraph) and not paragraph.startswith("<!--") and not below.startswith("<!-- numbers: ")
    ]


def test_every_number_of_the_lecture_is_computed():
    assert not_computed((ROOT / "docs" / "lecture.md").read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It has 5.", ["It has 5."]),
        ("It has 5.\n\n<!-- numbers: 2 + 3 -->", []),
        ("It has 5.\n\n```pycon\n>>> 2 + 3\n5\n```\n\n<!-- numbers: 2 + 3 -->", ["It has 5."]),
        ("# The 3rd\n\n- `decode([128])`", ["# The 3rd", "- `decode([128])`"]),
        ("1. UTF-8, GPT-4 and cl100k are names,\n2. [lists](x-5.md) have numbers.\n\n```text\n7\n```", []),
    ],
)
def test_a_number_that_is_not_computed_is_found(text, found):
    assert not_computed(text) == found


# What a page points at.


@every_page
def test_make_targets_exist(page):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    text = page.read_text(encoding="utf-8")
    shell = [block["source"] for block in FENCED.finditer(text) if block["language"] in ("bash", "sh", "console")]
    commands = re.findall(r"^(?:\$ )?make ([a-z -]+)", "\n".join(shell), re.MULTILINE)
    commands += re.findall(r"`make ([a-z -]+)", FENCED.sub("", text))
    assert {target for command in commands for target in command.split() if target[0] != "-"} <= targets


@every_page
def test_links_lead_to_files_and_headings(page):
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", FENCED.sub("", text)):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), target


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", FENCED.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
