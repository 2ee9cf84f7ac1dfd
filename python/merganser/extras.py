"""Optional packages: imported where they are used, named where they are missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from merganser.errors import MissingExtra


def require(package: str, *, purpose: str, extra: str | None = None) -> Any:  # noqa: ANN401 - a module of any kind
    """The module `package`.

    >>> require("json", purpose="reading JSON").loads("[1]")
    [1]

    Raises `MissingExtra` with the command that installs it.
    """
    try:
        return import_module(package)
    except ImportError as error:
        install = f"merganser[{extra}]" if extra else package.partition(".")[0]
        message = f"{purpose}: expected the package `{package}`, found it is not installed"
        raise MissingExtra(message, hint=f"`pip install '{install}'`") from error
