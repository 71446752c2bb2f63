"""The application: its commands, what becomes of their errors, and ``main``."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from discern.cli.commands import evaluate, explain, fit, forget, learn, merge
from discern.cli.datasets import datasets
from discern.cli.decide import decide
from discern.cli.defaults import NEVER
from discern.cli.demo import demo
from discern.cli.info import drift, info, similar
from discern.cli.mail import filter, relabel
from discern.cli.predictions import predict
from discern.cli.report import compare, report
from discern.cli.serve import serve

EXIT_CODES = {
    0: "all is well; also when the reader of a pipe, such as head, has enough and goes",
    1: "the data or the model file is bad: one sentence on stderr says what, where and what to do",
    2: "wrong usage: an unknown command or option, or a value that it does not take",
    3: "discern filter only: the message could not be judged; it is passed on unchanged",
    130: "interrupted by Ctrl-C; no half-written file is left behind",
}
EXAMPLES: dict[Callable[..., None], tuple[str, ...]] = {
    fit: (
        "discern fit messages.csv -o messages.discern",
        "discern fit part-*.jsonl.gz -o news.discern --label topic --text body --ngrams 1,2 --smoothing 0.5",
        "zcat rows.csv.gz | discern fit - --format csv -o rows.discern",
    ),
    predict: (
        "discern predict messages.discern new.csv > labels.csv",
        "discern predict messages.discern new.parquet -o labelled.parquet --append --unsure 0.9 --evidence 3",
        "tail -f log.txt | discern predict messages.discern - --format text --line-buffered --append",
        'discern predict messages.discern --message "Claim your free prize now"',
    ),
    evaluate: (
        "discern evaluate messages.discern held-out.csv",
        "discern evaluate messages.discern held-out.csv --json",
        "discern evaluate credit.discern held-out.csv --cost bad:good=5 --cost unsure=0.5",
        "discern evaluate messages.discern held-out.csv --threshold 0.99 --positive spam",
    ),
    decide: (
        "discern decide messages.discern messages.csv --positive spam --most-false-positives 0.001",
        "discern decide credit.discern --cost bad:good=5 --cost unsure=0.5",
        "discern decide messages.discern --clear",
    ),
    report: ("discern report messages.discern held-out.csv -o report.html",),
    compare: (
        "discern compare messages.csv",
        "discern compare messages.csv --model multinomial --model bernoulli --folds 5 --plot boxes.svg",
    ),
    explain: ('discern explain messages.discern "Claim your free prize now"',),
    info: ("discern info messages.discern", "discern info messages.csv --json"),
    similar: (
        'discern similar articles.discern "interest rates rise"',
        'discern similar articles.discern "interest rates rise" --data articles.csv --top 3',
    ),
    drift: ("discern drift january.discern june.discern",),
    learn: (
        "discern learn messages.discern monday.csv tuesday.csv",
        "discern learn mail.discern --label spam junk.mbox ~/Maildir/.Junk",
    ),
    forget: ("discern forget messages.discern withdrawn.csv",),
    relabel: (
        "discern relabel mail.discern message.eml --from spam --to ham",
        "discern relabel mail.discern - --format eml --from ham --to spam < message",
    ),
    merge: ("discern merge north.discern south.discern -o all.discern",),
    filter: (
        "discern filter mail.discern < message > marked",
        "discern filter mail.discern --exit-code --spam-cutoff 0.99 < message",
    ),
    serve: (
        "discern serve messages.discern",
        "discern serve messages.discern --port 8080 --workers 2 --held-out held-out.csv",
        "discern serve messages.discern --host 0.0.0.0 --host-name discern.example.org --teach-token-file teach.token",
    ),
    datasets: ("discern datasets list", "discern datasets fetch sms-spam"),
    demo: ("discern demo", "discern demo -o /tmp/messages.discern"),
}


class Commands(TyperGroup):
    """The commands; bad data becomes one sentence and an exit code, never a traceback."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Set the defaults of the options from the environment and the configuration file."""
        if parent is None:
            extra.setdefault("default_map", _defaults(self.commands))
        return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError as error:
            _abandon_stdout()
            raise typer.Exit(0) from error
        except KeyboardInterrupt as error:
            raise typer.Exit(130) from error
        except (ValueError, OSError, MemoryError) as error:
            typer.echo(f"discern: {_sentence(error)}", err=True)
            raise typer.Exit(1) from error
        return result


def _defaults(commands: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    import discern.cli.defaults as defaults

    known = {name: _options(command) for name, command in commands.items()}
    try:
        written = defaults.contents()
        complaint = defaults.unknown(written, known) if written else None
    except ValueError as error:
        complaint, written = str(error), {}
    if complaint:
        raise typer.BadParameter(complaint)
    found = {name: defaults.of_command(name, options, written) for name, options in known.items()}
    return {
        name: {known[name][key][0]: known[name][key][1](value) for key, value in given.items()}
        for name, given in found.items()
    }


def _options(command: Any) -> dict[str, tuple[str, Callable[[Any], Any]]]:
    """Return the options of a command as written, with the name of the parameter and how its value is taken."""
    return {
        written.removeprefix("--").replace("-", "_"): (option.name, _listed if option.multiple else _as_it_is)
        for option in command.params
        if option.param_type_name == "option"
        for written in option.opts
        if written.startswith("--") and written.removeprefix("--") not in NEVER
    }


def _listed(value: Any) -> list[Any]:
    return value.split() if isinstance(value, str) else value if isinstance(value, list) else [value]


def _as_it_is(value: Any) -> Any:
    return value


def _sentence(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "there is not enough memory for this"
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{os.fspath(error.filename)!r}: {error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__


def _abandon_stdout() -> None:
    # Whatever is still buffered goes nowhere; else the interpreter would complain about the pipe at its end.
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
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Classify text, and say why: from raw rows to a decision with its probability and its evidence.

    Data are files such as CSV, JSON lines, Parquet or mailboxes (all: --format), plain or compressed (.gz, .bz2, .xz,
    .zst), patterns such as 'part-*.csv', a folder whose sub-folders are the labels, a Maildir, or - for stdin.
    Results go to stdout, messages to stderr. Begin with: discern demo
    """


def _build() -> typer.Typer:
    codes = "\n\n".join(f"{code}: {meaning}" for code, meaning in EXIT_CODES.items())
    built = typer.Typer(cls=Commands, no_args_is_help=True, pretty_exceptions_enable=False)
    built.callback(epilog=f"Exit codes\n\n{codes}")(application)
    for command, examples in EXAMPLES.items():
        built.command(epilog="Examples\n\n" + "\n\n".join(examples))(command)
    return built


app = _build()


def run() -> None:
    """Run the command that was asked for and exit."""
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
