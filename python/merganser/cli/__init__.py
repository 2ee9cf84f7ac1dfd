"""The command line: parse, call, show. Data goes to stdout, words to stderr, and `__main__` says what went wrong.

options   what can be typed          reading   documents and ids from files and stdin
showing   tables, words, progress    words     arguments as options
train, encode, inspect   the commands
"""

from __future__ import annotations

from typing import Annotated

import typer

from merganser.cli import encode, inspect, showing, train
from merganser.cli.words import in_options
from merganser.errors import MerganserError

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
        hint = None if error.hint is None else in_options(error.hint)
        raise type(error)(in_options(str(error)), hint=hint) from error
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
