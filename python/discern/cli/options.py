"""Options that commands share, in groups, and the decorator that turns a function into a command."""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from functools import cached_property, partial, wraps
from importlib import import_module
from inspect import Parameter
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, get_args, get_origin, get_type_hints

import typer
from typer._types import TyperChoice
from typer.models import ArgumentInfo

from discern.cli.output import counted, progress_bar, say

if TYPE_CHECKING:
    from discern.data.source import Reading

SMALL = 1 << 23
"""Smaller inputs are read before a progress bar could be seen."""

# ---------------------------------------------------------------------------------------------------- commands

Function = Callable[..., None]
EXAMPLES: dict[Function, tuple[str, ...]] = {}
"""What the help of each command shows at its end."""


def option(default: Any, help: str, *names: str, **details: Any) -> Any:
    """Declare an option, as the default of a parameter of a command or of a field of a group.

    ``default`` is ``...`` if the option is required. ``names`` are needed if the option is not called as the parameter;
    ``details`` are those of :func:`typer.Option`. A switch that is off by default has no ``--no-`` form.
    """
    declared = partial(typer.Option, *names, help=help, **details)
    return field(default=MISSING if default is ... else default, metadata={"declared": declared})


def argument(default: Any, metavar: str, help: str) -> Any:
    """Declare a positional argument in the same way."""
    declared = partial(typer.Argument, metavar=metavar, help=help, show_default=False)
    return field(default=MISSING if default is ... else default, metadata={"declared": declared})


def command(*examples: str) -> Callable[[Function], Function]:
    """Turn a function into a command with examples in its help.

    A parameter whose type is a group, which is a dataclass of options, receives an instance of it. On the command line
    the fields of the group are options like all others. A group may refuse its values with a ValueError.
    """

    def expanded(function: Function) -> Function:
        groups: dict[str, Any] = {}
        parameters: list[Parameter] = []
        for name, parameter in inspect.signature(function, eval_str=True).parameters.items():
            if is_dataclass(parameter.annotation):
                group = groups[name] = parameter.annotation
                kinds = get_type_hints(group, include_extras=True)
                parameters += [
                    _parameter(one.name, kinds[one.name], one, _panel(group, one.name)) for one in fields(group)
                ]
            else:
                parameters.append(_parameter(name, parameter.annotation, parameter.default))

        @wraps(function)
        def run(**given: Any) -> None:
            try:
                filled = {
                    name: group(**{one.name: given.pop(one.name) for one in fields(group)})
                    for name, group in groups.items()
                }
            except ValueError as error:
                raise typer.BadParameter(str(error)) from error
            function(**filled, **given)

        run.__dict__["__signature__"] = inspect.Signature(parameters)
        EXAMPLES[run] = examples
        return run

    return expanded


def _parameter(name: str, kind: Any, default: Any, panel: str | None = None) -> Parameter:
    """Return a parameter as typer takes it: with its declaration in the type. The help shows it in its ``panel``."""
    if isinstance(default, Field):
        declared = default.metadata.get("declared")
        default = Parameter.empty if default.default is MISSING else default.default
        if declared is not None:
            is_switch = kind is bool and default is False and not declared.args
            made = declared(f"--{name.replace('_', '-')}") if is_switch else declared()
            kind = Annotated[kind, made]
        if panel is not None and get_origin(kind) is Annotated and hasattr(get_args(kind)[1], "param_decls"):
            plain, made = get_args(kind)[:2]
            kind = Annotated[plain, _in_panel(made, panel)]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _panel(group: Any, name: str) -> str | None:
    """Return the heading in the help of a field of a group: that of the class which declares the field."""
    owner = next(one for one in group.__mro__ if name in vars(one).get("__annotations__", ()))
    panel: str | None = vars(owner).get("panel")
    return panel


def _in_panel(declared: Any, panel: str) -> Any:
    made = copy.copy(declared)
    made.rich_help_panel = None if isinstance(made, ArgumentInfo) else panel
    return made


class OneOf(TyperChoice[str]):
    """A choice between names that a module of the library lists; it is imported when the option is used.

    ``names`` is a list in the module, or a function that returns one, such as ``FORMATS.names``.
    """

    def __init__(self, module: str, names: str, *more: str) -> None:
        self.case_sensitive = True
        self._module, self._names, self._more = module, names, more

    @cached_property
    def choices(self) -> Sequence[str]:  # type: ignore[override]
        """The names."""
        names = attrgetter(self._names)(import_module(self._module))
        return (*self._more, *(names() if callable(names) else names))


class OneModel(OneOf):
    """A choice between the models."""

    def __init__(self) -> None:
        super().__init__("discern.models.registry", "public_models")

    @property
    def note(self) -> str:
        """Return which of the models are sums over rows."""
        from discern.models.registry import MODELS

        *most, last = [one.name for one in MODELS if one.is_sum]
        return f"Of these, {', '.join(most)} and {last} can learn more rows, forget and merge."


MODELS = OneModel()

# ------------------------------------------------------------------------------------------------- the results


@dataclass(frozen=True)
class Output:
    """How results and messages are printed."""

    panel: ClassVar[str] = "Output"
    json: bool = option(False, "Write the result to stdout as JSON.")
    quiet: bool = option(False, "Print results only: no messages, no progress bar.", "--quiet", "-q")

    def say(self, message: str) -> None:
        """Print a message to stderr."""
        if not self.quiet:
            say(message)


# -------------------------------------------------------------------------------------------------- rows to read


Embed = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="The folder of a static embedding, which turns texts into vectors; pass the one that a model was trained "
        "with. Needs the extra embed: pip install 'discern[embed]'.",
        show_default="none",
    ),
]
DATA_HELP = (
    "Files with rows: CSV or another --format, plain or compressed (.gz, .bz2, .xz, .zst); a Maildir; a folder whose "
    "subfolders are the labels; or - for stdin."
)


@dataclass(frozen=True, kw_only=True)
class Input:
    """How rows are read."""

    panel: ClassVar[str] = "Reading data"
    format: str | None = option(
        None,
        "The format of the data.",
        click_type=OneOf("discern.data.formats", "FORMATS.names"),
        show_default="by the name; csv for stdin",
    )
    encoding: str | None = option(
        None,
        "The encoding of the data, such as latin-1; auto: guess it.",
        metavar="NAME",
        show_default="utf-8, or as marked",
    )
    on_error: str = option(
        "stop",
        "What to do with a row that cannot be read: stop, skip it, or keep what is readable.",
        click_type=OneOf("discern.data.source", "ON_ERROR"),
    )
    embed: Embed = None
    vectors: list[str] | None = option(
        None,
        "A NumPy file with a vector for each row of the data, as a column; may be given more than once.",
        metavar="COLUMN=FILE",
    )

    @contextmanager
    def reading(
        self, sources: Sequence[str], quiet: bool, busy: bool = False, at_once: bool = False
    ) -> Iterator[Reading]:
        """Return how to read the sources, with a progress bar on a terminal unless results go there too (``busy``).

        At the end, report how many rows could not be read.
        """
        from discern.data.formats import FORMATS
        from discern.data.readers import total_size
        from discern.data.source import Reading

        beside = self._vectors()
        how = Reading(self.format, encoding=self.encoding, on_error=self.on_error, at_once=at_once, vectors=beside)
        total = total_size(sources, self.format)
        if self.format is not None and FORMATS[self.format].needs_path and "-" in sources:
            raise typer.BadParameter(f"{FORMATS[self.format].title} cannot be read from stdin; pass a file")
        hidden = quiet or busy or not sys.stderr.isatty() or (total is not None and total < SMALL)
        with nullcontext() if hidden else progress_bar(how, total):
            yield how
        if not quiet:
            _report_faults(how)

    def _vectors(self) -> dict[str, Any]:
        """Return the columns of vectors beside the rows, mapped into memory."""
        if not self.vectors:
            return {}
        from discern.data.vectors.beside import as_table

        pairs = [given.partition("=") for given in self.vectors]
        for given, (name, equals, file) in zip(self.vectors, pairs, strict=True):
            if not (name and equals and file):
                raise typer.BadParameter(f"--vectors {given!r} is not COLUMN=FILE")
        return {name: as_table(Path(file)) for name, _, file in pairs}


def _report_faults(how: Reading) -> None:
    for source, encoding in how.guessed.items():
        say(f"{source} is not UTF-8: it was read as {encoding}")
    count = sum(how.faults.values())
    if count:
        done = "kept as far as readable" if how.keeps_bad_rows else "left out"
        say(f"{counted(count, 'bad row')} {done}: {how.first_fault}")


Threads = Annotated[
    int | None,
    typer.Option(
        min=1, help="The number of threads. It does not change the result.", metavar="N", show_default="all cores"
    ),
]


@dataclass(frozen=True, kw_only=True)
class Rows(Input):
    """Rows from one or more sources."""

    panel: ClassVar[str] = "Reading data"
    data: list[str] = argument(..., "DATA", DATA_HELP)
    threads: Threads = None


# ---------------------------------------------------------------------------- options and arguments of many commands

ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="The model file.", show_default=False)]
NewModelFile = Annotated[
    Path, typer.Option("--output", "-o", metavar="MODEL", help="The model file to write.", show_default=False)
]
Label = Annotated[
    str | None,
    typer.Option(help="The column with the labels.", metavar="COLUMN", show_default="label, or the obvious one"),
]
Text = Annotated[
    list[str] | None,
    typer.Option(help="A column with text. May be given more than once.", metavar="COLUMN", show_default="inferred"),
]
OtherText = Annotated[
    str | None,
    typer.Option("--text", metavar="COLUMN", help="The column with the text.", show_default="as in the model"),
]
Top = Annotated[int, typer.Option(min=0, help="How many words to show.")]
