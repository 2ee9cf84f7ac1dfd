"""The command `merganser`, also `python -m merganser`: runs `cli`, and says in two lines what went wrong."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from io import TextIOWrapper
from pathlib import Path

from merganser.errors import InternalError, MerganserError

_HERE = Path(__file__).parent
DONE, COULD_NOT, INTERRUPTED = 0, 2, 130
# Set to anything, it shows the traceback of a fault of ours.
_TRACEBACK = "MERGANSER_TRACEBACK"
_REPORT = (
    "this is a bug: please report it with the command, its input and what `merganser info` prints; "
    f"{_TRACEBACK}=1 before the command shows the traceback"
)


def main() -> int:
    """Runs the command line and gives back its exit code: 0 done, 1 a check failed, 2 could not, 130 on Ctrl-C."""
    return exit_code(_command_line)


def exit_code(work: Callable[[], int]) -> int:
    """What `work` gives back, or the exit code of what it raised, once that is said in words: what a program needs."""
    _speak_utf8()
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = _say_warning
        try:
            code = work()
            sys.stdout.flush()
        except KeyboardInterrupt:
            return _complain("interrupted", code=INTERRUPTED)
        except BrokenPipeError:
            # The reader of our pipe has seen enough. Python flushes once more at exit, so give it somewhere to go.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return DONE
        except InternalError as error:
            return _complain_of_us(error, str(error))
        except MerganserError as error:
            return _complain(str(error), error.hint)
        except OSError as error:
            where = "" if error.filename is None else f"{error.filename}: "
            return _complain(f"{where}{error.strerror or error}")
        except Exception as error:
            return _complain_of_us(error, f"{type(error).__name__}: {error} ({_place(error)})")
    return code


def _command_line() -> int:
    from merganser import cli

    return cli.run(sys.argv[1:])


def _place(error: BaseException) -> str:
    """The line of our code where `error` came up: `training.py:92`."""
    import traceback

    ours = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).is_relative_to(_HERE)]
    return f"{Path(ours[-1].filename).relative_to(_HERE)}:{ours[-1].lineno}" if ours else "outside of it"


def _say_warning(message: Warning | str, *_: object) -> None:
    sys.stderr.write(f"warning: {message}\n")


def _speak_utf8() -> None:
    """Text goes out as UTF-8 whatever the locale; what has none, such as the odd file name, is escaped."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed by who called us, as some daemons do
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")


def _complain_of_us(error: Exception, message: str) -> int:
    if os.environ.get(_TRACEBACK):
        import traceback

        traceback.print_exception(error)
    return _complain(f"a fault of merganser: {message}", _REPORT)


def _complain(message: str, hint: str | None = None, *, code: int = COULD_NOT) -> int:
    sys.stderr.write(f"error: {message}\n" + (f"hint: {hint}\n" if hint else ""))
    return code


if __name__ == "__main__":
    sys.exit(main())
