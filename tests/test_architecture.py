"""Who may import whom: the table of ARCHITECTURE.md as data."""

import ast
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "python" / "merganser"
RUST = Path(__file__).parent.parent / "rust" / "src"

MAY_IMPORT = {
    "errors": set(),
    "extras": {"errors"},
    "arguments": {"errors"},
    "spec": {"errors"},
    "formats": {"spec", "arguments", "errors"},
    "vocabularies": {"formats", "spec", "errors"},
    "corpus": {"arguments", "extras", "errors"},
    "engines": {"_core", "spec", "formats", "arguments", "errors"},
    "streaming": {"_core", "engines", "tokenizer", "spec", "arguments", "errors"},
    "preparing": {"_core", "spec", "arguments", "errors"},
    "tokens": {"engines", "formats", "spec"},
    "adding": {"engines", "formats", "spec", "arguments", "errors"},
    "tokenizer": {"_core", "adding", "engines", "preparing", "streaming", "tokens", "spec", "formats", "vocabularies"}
    | {"arguments", "extras", "errors"},
    "loading": {"_core", "engines", "tokenizer", "vocabularies", "formats", "spec", "arguments", "errors"},
    "word_training": {"_core", "spec", "arguments", "errors"},
    "training": {"_core", "engines", "tokenizer", "word_training", "spec", "arguments", "errors"},
    "fim": {"tokenizer", "arguments", "errors"},
    "compat": {"tokenizer", "training", "formats", "vocabularies", "spec", "extras", "errors"},
    "reference": set(),
    "cli": {"_core", "errors", "spec", "formats", "vocabularies", "corpus", "tokenizer", "training"},
    "__main__": {"cli", "errors"},
    "__init__": {"_core", "corpus", "errors", "loading", "preparing", "spec", "streaming", "tokenizer", "tokens"}
    | {"training"},
}

MAY_USE = {
    "error": set(),
    "vocabulary": {"error", "packed", "memory"},
    "normalize": {"error", "unicode"},
    "special": {"error"},
    "split": {"error"},
    "decode": {"error", "special", "vocabulary"},
    "pieces": {"error", "normalize", "special", "split"},
    "count": {"error", "pieces", "pulse"},
    "packed": set(),
    "idle": set(),
    "pulse": {"error"},
    "pool": {"error"},
    "memory": set(),
    "utf8": set(),
    "bpe": {"error", "vocabulary", "count", "split", "packed", "memory", "pulse"},
    "unicode": set(),
    "wordpiece": {"error", "vocabulary", "count", "split", "packed", "memory", "special", "unicode", "bpe"},
    "models": {"error", "pulse", "vocabulary", "bpe", "wordpiece"},
    "chain": {
        "error",
        "decode",
        "idle",
        "models",
        "pulse",
        "special",
        "split",
        "tokenizer",
        "unicode",
        "vocabulary",
        "wordpiece",
    },
    "tokenizer": {"error", "pieces", "bpe", "decode", "idle", "packed", "pulse", "special", "vocabulary"},
    "python": {"error", "pieces", "bpe", "decode", "special", "vocabulary", "count", "split", "normalize", "tokenizer"}
    | {"chain", "idle", "models", "pool", "utf8", "wordpiece"},
}


def modules(root: Path, suffix: str) -> dict[str, list[Path]]:
    """The files of each top-level module below `root`."""
    found: dict[str, list[Path]] = {}
    for file in sorted(root.rglob(f"*{suffix}")):
        found.setdefault(file.relative_to(root).parts[0].removesuffix(suffix), []).append(file)
    return found


def python_imports(file: Path) -> set[str]:
    """The modules of ours that `file` imports; `__init__` for the public names."""
    used: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "merganser":
            modules = {alias.name for alias in node.names if alias.name in NAMES}
            used |= modules or {"__init__"}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("merganser."):
            used.add((node.module or "").split(".")[1])
        elif isinstance(node, ast.Import):
            ours = [alias.name for alias in node.names if alias.name.partition(".")[0] == "merganser"]
            used |= {name.split(".")[1] if "." in name else "__init__" for name in ours}
    return used


NAMES = {file.name.partition(".")[0] for file in PACKAGE.iterdir()}


@pytest.mark.parametrize(("module", "files"), modules(PACKAGE, ".py").items())
def test_python_imports_point_down(module, files):
    allowed = MAY_IMPORT[module] | {module} | ({"__init__"} if module in ("cli", "__main__") else set())
    for file in files:
        assert python_imports(file) <= allowed, file


@pytest.mark.parametrize(("module", "files"), modules(RUST, ".rs").items())
def test_rust_uses_point_down(module, files):
    if module == "lib":
        return
    for file in files:
        code = file.read_text().partition("#[cfg(test)]\nmod tests {")[0]
        assert set(re.findall(r"\bcrate::(\w+)", code)) <= MAY_USE[module] | {module}, file


def test_only_the_border_names_pyo3():
    assert {file.parent.name for file in RUST.rglob("*.rs") if "pyo3" in file.read_text()} == {"python"}


def test_importing_loads_only_the_engine():
    import subprocess
    import sys

    heavy = "numpy typer rich tiktoken tokenizers transformers regex asyncio"
    code = f"import merganser, sys; print([m for m in {heavy.split()!r} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_every_public_name_has_one_home():
    import merganser

    names = [name for names in merganser._HOMES.values() for name in names]
    assert sorted([*names, "__version__"]) == sorted(merganser.__all__) == dir(merganser)
    assert all(getattr(merganser, name) is not None for name in names)
