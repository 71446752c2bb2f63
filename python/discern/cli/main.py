"""The application: its commands, the exit codes of their errors, and the defaults of their options."""

from __future__ import annotations

import inspect
import itertools
import os
import re
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import discern.cli.defaults as defaults
from discern.cli.change import forget, learn, merge, relabel
from discern.cli.datasets import datasets
from discern.cli.decide import decide
from discern.cli.demo import demo
from discern.cli.evaluate import compare, evaluate, report
from discern.cli.explain import explain, similar
from discern.cli.filter.command import filter
from discern.cli.fit import fit
from discern.cli.info import drift, info
from discern.cli.options import EXAMPLES
from discern.cli.predict import predict
from discern.cli.screen.help import Command, usage, write_opening, write_parameters, write_section
from discern.cli.serve import serve

GROUPS = {
    "Get started": (demo, datasets, info),
    "Train and change a model": (fit, learn, forget, relabel, merge),
    "Predict and explain": (predict, explain, similar),
    "Evaluate and decide": (evaluate, compare, report, decide, drift),
    "Run": (serve, filter),
}
"""All commands by task, in the order of the help."""
COMMANDS = tuple(itertools.chain.from_iterable(GROUPS.values()))
EXTRAS = {report: "plot", serve: "serve"}
"""What a command needs beside discern itself, as an extra of the package."""
HELP = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
EXIT_CODES = {
    0: "success (also if the output pipe is closed early)",
    1: "bad data or a bad model file: one sentence on stderr states what is wrong, where, and what to do",
    2: "wrong usage: an unknown command or option, or an invalid value",
    3: "discern filter only: the message could not be classified; it is passed on unchanged",
    130: "interrupted by Ctrl-C; no half-written file is left behind",
}
KINDS = re.compile(r"(?<= is not a )valid (int|float)(eger)?( range)?")
NUMBERS = {"int": "whole number", "float": "number"}
PARAMETER = re.compile(r"\blabel_separator(=?)")
RANGES = re.compile(r"(\S+) is not in the range (?:(\S+?)<=)?x(?:>=|<=)(\S+?)\.?$")


class Commands(TyperGroup):
    """The commands; bad data becomes one sentence and an exit code, never a traceback."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Set the defaults of the options from the environment and the configuration file."""
        if parent is None:
            extra.setdefault("default_map", _defaults(self.commands))
        return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: Any) -> Any:
        """Run the command, and turn its errors into exit codes and its warnings into sentences."""
        try:
            with _warnings_told():
                result = super().invoke(ctx)
            sys.stdout.flush()
        except typer.BadParameter as error:
            error.message = in_words_of_commands(plain(error.message))
            raise
        except BrokenPipeError as error:
            _abandon_stdout()
            raise typer.Exit(0) from error
        except KeyboardInterrupt as error:
            raise typer.Exit(130) from error
        except (ValueError, OSError, MemoryError) as error:
            typer.echo(f"discern: {_sentence(error)}", err=True)
            raise typer.Exit(1) from error
        return result

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        """Write how commands are called."""
        formatter.write(f"Usage: {usage(self, ctx.command_path)}\n")

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help: the commands by task, the options and the exit codes."""
        write_opening(self, ctx, formatter)
        for task, commands in GROUPS.items():
            write_section(formatter, task, [(one.__name__, summary(one)) for one in commands])
        write_parameters(self, ctx, formatter)
        write_section(formatter, "Exit codes", [(str(code), meaning) for code, meaning in EXIT_CODES.items()])


def plain(message: str) -> str:
    """Return a message of the parser of options in plain words.

    Examples
    --------
    >>> plain("'x' is not a valid int range."), plain("2.0 is not in the range 0<=x<=1.")
    ("'x' is not a whole number.", '2.0 is not from 0 to 1')
    >>> plain("0 is not in the range x>=1.")
    '0 is less than 1'
    """
    message = KINDS.sub(lambda found: NUMBERS[found[1]], message)
    return RANGES.sub(_out_of_range, message)


def _out_of_range(found: re.Match[str]) -> str:
    value, least, bound = found.groups()
    return f"{value} is less than {bound}" if least is None else f"{value} is not from {least} to {bound}"


def _defaults(commands: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    known = {name: _options(command) for name, command in commands.items()}
    try:
        written = defaults.contents()
        complaint = defaults.unknown(written, known) if written else None
    except ValueError as error:
        complaint, written = str(error), {}
    if complaint:
        raise typer.BadParameter(complaint)
    return {
        name: {
            options[key].name: _as_words(value) if options[key].multiple else str(value)
            for key, value in defaults.of_command(name, options, written).items()
        }
        for name, options in known.items()
    }


def _options(command: Any) -> dict[str, Any]:
    """Return the options of a command by the names that they have in the configuration file."""
    return {
        written.removeprefix("--").replace("-", "_"): option
        for option in command.params
        if option.param_type_name == "option"
        for written in option.opts
        if written.startswith("--") and written.removeprefix("--") not in defaults.NEVER
    }


def _as_words(value: Any) -> list[Any]:
    return value.split() if isinstance(value, str) else value if isinstance(value, list) else [value]


def _sentence(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "there is not enough memory for this"
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{os.fspath(error.filename)!r}: {error.strerror}"
    return in_words_of_commands(" ".join(str(error).split())) or type(error).__name__


def in_words_of_commands(message: str) -> str:
    """Return a message with options in place of the parameters that it names.

    Examples
    --------
    >>> in_words_of_commands("rows have several; pass label_separator='|'")
    "rows have several; pass --label-separator '|'"
    """
    return PARAMETER.sub(lambda found: "--label-separator" + " " * len(found[1]), message)


@contextmanager
def _warnings_told() -> Iterator[None]:
    """Write each warning for users as a sentence, without the place in the program."""
    usual = warnings.showwarning

    def tell(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if category is UserWarning:
            typer.echo(f"discern: {in_words_of_commands(str(message))}", err=True)
        else:
            usual(message, category, *place, **more)

    warnings.showwarning = tell
    try:
        yield
    finally:
        warnings.showwarning = usual


def _abandon_stdout() -> None:
    """Drop what is still buffered; otherwise the interpreter would complain about the closed pipe on exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"discern {version('discern')}")
        raise typer.Exit(0)


def application(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Train a classifier from a CSV file in seconds. Every prediction comes with a calibrated probability and the words
    that drove it.

    Data are files: CSV, JSON lines, Parquet, mailboxes and others (see --format), plain or compressed. A pattern such
    as 'part-*.csv', a folder whose subfolders are the labels, a Maildir, and - for stdin work too. Results go to
    stdout, messages to stderr.

    To begin, run discern demo. Or: discern fit DATA -o MODEL, then discern explain MODEL "some text".
    """


def _build() -> typer.Typer:
    built = typer.Typer(
        cls=Commands,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings=HELP,
        rich_markup_mode=None,
    )
    built.callback()(application)
    for commands in GROUPS.values():
        for one in commands:
            examples = "\n".join(EXAMPLES[one])
            built.command(cls=Command, epilog=examples, short_help=summary(one), context_settings=HELP)(one)
    return built


def summary(command: Any) -> str:
    """Return the first sentence about a command, and the extra that it needs."""
    first = " ".join(str(inspect.getdoc(command)).split("\n\n")[0].split()).partition(". ")[0].rstrip(".")
    return f"{first}. Needs discern[{EXTRAS[command]}]." if command in EXTRAS else f"{first}."


app = _build()


def run() -> None:
    """Run the command line and exit."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        app(prog_name="discern")
    finally:
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            _abandon_stdout()
