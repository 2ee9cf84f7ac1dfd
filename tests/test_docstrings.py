"""Every example of a docstring runs, in a temporary folder that has what the examples name."""

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import merganser as mg

README = Path(__file__).parent.parent / "README.md"
MODULES = sorted(
    module.name for module in pkgutil.walk_packages(mg.__path__, "merganser.") if not module.name.endswith("._core")
)
NAMES = {"mg": mg, "Path": Path} | {name: getattr(mg, name) for name in mg.__all__}


@pytest.mark.parametrize("name", ["merganser", *MODULES])
def test_examples_in_docstrings_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("README.md").write_bytes(README.read_bytes())
    Path("notes").mkdir()
    Path("notes/1.txt").write_text("first note")
    Path("notes/2.txt").write_text("second note")
    module = importlib.import_module(name)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    said = []
    for test in doctest.DocTestFinder(exclude_empty=True).find(module, extraglobs={}):
        test.globs = NAMES | test.globs
        runner.run(test, out=said.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(said)
