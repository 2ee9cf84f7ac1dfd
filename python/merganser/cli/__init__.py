"""The command line: parse, call, show. Data goes to stdout, words to stderr, and `__main__` says what went wrong.

options   what can be typed          reading   documents and ids from files and stdin
showing   tables, words, progress    train, encode, inspect   the commands
"""

from __future__ import annotations

import re
from typing import Annotated

import typer

from merganser.cli import encode, inspect, showing, train
from merganser.errors import MerganserError

# What to do next, where that is another thing here than in Python.
_HINTS = {
    "a pattern of your own is `mg.Split(pattern=…)`": "a pattern of your own goes there too, in quotes",
    'pass errors="replace", or take decode_bytes': "pass `--errors replace`, or leave `--errors` out to get the bytes",
    "pass split=, a published pattern's name or a Split, and special_tokens=, which may be {}": (
        "pass `--split`, a published pattern's name or a pattern, and `--special` for each special token"
    ),
}
# Arguments of the API that are options here, and what they are called.
_OPTIONS = {
    "errors": "errors",
    "unknown_ids": "unknown-ids",
    "vocab_size": "vocab-size",
    "split": "split",
    "special_tokens": "special",
    "allow_special": "allow-special",
    "layout": "layout",
    "tie_break": "tie-break",
    "min_frequency": "min-frequency",
    "max_token_length": "max-token-length",
}

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    subcommand_metavar="COMMAND ...",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (train.train, encode.encode, encode.decode, encode.count, inspect.inspect, inspect.info):
    app.command()(command)


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context, *, version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False
) -> None:
    """Train tokenizers, encode and decode text, count tokens, look inside.

    FILES are files and folders of UTF-8 text; `-`, or none, is stdin. Data goes
    to stdout, words go to stderr. Nothing is ever downloaded.

    For example:

      merganser count -t o200k_base README.md

    Exit codes: 0 done, 1 a check failed, 2 could not, 130 on Ctrl-C.
    """
    if version:
        from merganser import __version__

        showing.write(f"merganser {__version__}")
    elif context.invoked_subcommand is None:
        showing.say(context.get_help())
        raise typer.Exit(2)


def run(arguments: list[str]) -> int:
    """The exit code of `merganser` with these arguments.

    >>> run(["--version"])  # doctest: +ELLIPSIS
    merganser ...
    0

    Raises `MerganserError` in the words of the command line: options where the API has arguments.
    """
    program = typer.main.get_command(app)
    try:
        with program.make_context("merganser", arguments) as context:
            program.invoke(context)
    except typer.Exit as end:
        return end.exit_code
    except typer.TyperException as error:
        raise _usage_error(error) from error
    except MerganserError as error:
        hint = None if error.hint is None else _in_options(_HINTS.get(error.hint, error.hint))
        raise type(error)(_in_options(str(error)), hint=hint) from error
    return 0


def _usage_error(error: typer.TyperException) -> MerganserError:
    """Typer's error in our words: the option, what was expected, what was found; and what to do next."""
    context = getattr(error, "ctx", None)
    command = "merganser" if context is None else context.command_path
    parameter = getattr(error, "param", None)
    possible = getattr(error, "possibilities", None)
    hint = f"did you mean `{possible[0]}`?" if possible else f"see `{command} --help`"
    if parameter is not None:
        found = error.message or "expected a value, found none"
        return MerganserError(f"{max(parameter.opts, key=len)}: {found}", hint=hint)
    message = error.message.replace("'", "`").removesuffix(".")
    message, _, suggestion = message.partition(". Did you mean ")
    if suggestion:
        hint = f"did you mean {suggestion}"
    return MerganserError(message[:1].lower() + message[1:], hint=hint)


def _in_options(words: str) -> str:
    """Words about arguments of the API as words about options.

    >>> _in_options("vocab_size: expected 300")
    '--vocab-size: expected 300'
    >>> _in_options('pass errors="replace" or "strict", or split=')
    'pass `--errors replace` or `strict`, or `--split`'
    """
    names = "|".join(_OPTIONS)
    words = re.sub(rf"^({names}):", lambda found: f"--{_OPTIONS[found[1]]}:", words)
    words = re.sub(rf'\b({names})="(\w+)"', lambda found: f"`--{_OPTIONS[found[1]]} {found[2]}`", words)
    words = re.sub(rf"\b({names})=(?=[ ,]|$)", lambda found: f"`--{_OPTIONS[found[1]]}`", words)
    words = re.sub(r'`mg\.load\("(\w+)"\)`', r"`-t \1`", words)
    return re.sub(r'` or "(\w+)"', r"` or `\1`", words)
