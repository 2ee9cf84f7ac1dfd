"""What can go wrong, as a tree. Each class is also the built-in that one would catch.

MerganserError
├── FormatError      (ValueError)    a file or a spec does not say what its format requires
├── TextError        (ValueError)    text or bytes that cannot be encoded or decoded, or not as asked
├── TokenIdError     (LookupError)   an id or a token that the vocabulary does not hold
├── TrainingError    (ValueError)    training was asked for what cannot be done
├── StorageError     (OSError)       a file could not be read or written
├── MissingExtra     (ImportError)   an optional package is not installed
└── InternalError    (RuntimeError)  a fault of ours: please report it
"""


class MerganserError(Exception):
    """The root. `str(error)` says where, what was expected and what was found; `error.hint` says what to do."""

    hint: str | None

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint
        if hint:
            self.add_note(f"hint: {hint}")

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), str(self), self.hint)


def _rebuild(kind: type[MerganserError], message: str, hint: str | None) -> MerganserError:
    return kind(message, hint=hint)


class FormatError(MerganserError, ValueError):
    """A file or a spec does not say what its format requires."""


class TextError(MerganserError, ValueError):
    """Text or bytes that cannot be encoded or decoded, or not with these options."""


class TokenIdError(MerganserError, LookupError):
    """An id or a token that the vocabulary does not hold."""


class TrainingError(MerganserError, ValueError):
    """Training was asked for what cannot be done."""


class StorageError(MerganserError, OSError):
    """A file could not be read or written."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class MissingExtra(MerganserError, ImportError):
    """An optional package is not installed."""


class InternalError(MerganserError, RuntimeError):
    """A fault of ours. Please report it with the input that led here."""
