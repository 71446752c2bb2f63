"""The help of a command: plain text with every name whole. The pages of the documentation use the same texts."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

from typer.core import TyperCommand

MOST_CHOICES = 3
"""The most values of an option that stand beside its name; more are listed in its meaning."""
NAMES_WIDTH = 26
"""The most characters of the names of an option that have its meaning beside them; longer ones stand above it."""


class Command(TyperCommand):
    """A command whose help is plain text."""

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        """Write how the command is called."""
        formatter.write(f"Usage: {usage(self, ctx.command_path)}\n")

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        write_opening(self, ctx, formatter)
        write_parameters(self, ctx, formatter)
        formatter.write("\nExamples:\n")
        for example in (self.epilog or "").splitlines():
            formatter.write(wrapped_example(example, formatter.width) + "\n")


def write_opening(command: Any, ctx: Any, formatter: Any) -> None:
    """Write how a command is called and what it does."""
    paragraphs = [f"Usage: {usage(command, ctx.command_path)}", *command.help.split("\n\n")]
    formatter.write("\n\n".join(wrapped(one, formatter.width) for one in paragraphs) + "\n")


def write_parameters(command: Any, ctx: Any, formatter: Any) -> None:
    """Write the arguments and options of a command in their groups."""
    panels: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
    for one in command.get_params(ctx):
        title = "Arguments" if is_argument(one) else one.rich_help_panel or "Options"
        panels.setdefault(title, []).append((written(one), meaning(one)))
    for title, rows in panels.items():
        write_section(formatter, title, rows)


def write_section(formatter: Any, title: str, rows: Sequence[tuple[str, str]]) -> None:
    """Write a heading, and names with their meanings."""
    if rows:
        indent = 4 + min(NAMES_WIDTH, max(len(name) for name, _ in rows))
        formatter.write(f"\n{title}:\n")
        for name, text in rows:
            formatter.write(entry(name, text, indent, formatter.width) + "\n")


def entry(name: str, text: str, indent: int, width: int) -> str:
    """Return a name and its meaning, which begins at a column; a long name stands above it.

    Examples
    --------
    >>> print(entry("--stem LANGUAGE", "Stem words as in this language.", 20, 40))
      --stem LANGUAGE   Stem words as in
                        this language.
    """
    beside = f"  {name}".ljust(indent)
    lines = wrapped(text, width, beside if len(name) <= indent - 4 else " " * indent, " " * indent)
    return lines if len(name) <= indent - 4 else f"  {name}\n{lines}"


def wrapped(text: str, width: int, first: str = "", rest: str = "", end: str = "") -> str:
    """Return a text on lines of at most this width, with every word and name whole."""
    lines = textwrap.wrap(
        text, width - len(end), initial_indent=first, subsequent_indent=rest, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip
    return f"{end}\n".join(lines)


def wrapped_example(example: str, width: int) -> str:
    """Return a command on lines of at most this width, which a shell reads as one.

    Examples
    --------
    >>> print(wrapped_example("discern fit messages.csv -o messages.discern", 40))
      discern fit messages.csv -o \\
          messages.discern
    """
    return wrapped(example, width, "  ", "      ", " \\")


def usage(command: Any, path: str) -> str:
    """Return the line that shows how a command is called."""
    arguments = [one for one in command.params if is_argument(one)]
    options = [one for one in command.params if not is_argument(one) and one.required]
    given = [written(one) if one.required or written(one).startswith("[") else f"[{written(one)}]" for one in arguments]
    needed = [f"{max(one.opts, key=len)} {values(one)}" for one in options]
    end = "COMMAND ..." if hasattr(command, "commands") else "[OPTIONS]"
    return " ".join([path, *given, *needed, end])


def is_argument(parameter: Any) -> bool:
    """Return whether a parameter is given by its place, not by its name."""
    return bool(parameter.param_type_name == "argument")


def written(parameter: Any) -> str:
    """Return a parameter as it is written on the command line."""
    if is_argument(parameter):
        return str(parameter.metavar) + ("..." if parameter.nargs == -1 else "")
    names = sorted(parameter.opts, key=len) + parameter.secondary_opts
    return f"{', '.join(names)} {values(parameter)}".strip()


def values(option: Any) -> str:
    """Return what an option takes; nothing for a switch."""
    if option.metavar or option.is_flag:
        return option.metavar or ""
    choices = getattr(option.type, "choices", ())
    if len(choices) > MOST_CHOICES:
        return "NAME"
    return "|".join(choices) or ("N" if option.type.name.startswith("int") else "TEXT")


def meaning(parameter: Any) -> str:
    """Return the help of a parameter with its limits and its default."""
    end = default(parameter)
    return help_text(parameter) + (f" [{end if parameter.required else f'default: {end}'}]" if end else "")


def help_text(parameter: Any, quote: str = "") -> str:
    """Return the help of a parameter with its limits; ``quote`` stands around each name that it lists."""
    choices = getattr(parameter.type, "choices", ())
    names = f" One of {', '.join(f'{quote}{name}{quote}' for name in choices)}." if len(choices) > MOST_CHOICES else ""
    note = getattr(parameter.type, "note", "")
    return f"{parameter.help}{names}{limits(parameter.type)}{' ' if note else ''}{note}"


def limits(kind: Any) -> str:
    """Return the least and the greatest number that an option takes, as a sentence."""
    least, most = getattr(kind, "min", None), getattr(kind, "max", None)
    if most is not None:
        return f" From {least:g} to {most:g}."
    return f" At least {least:g}." if least else ""


def default(parameter: Any, quote: str = "") -> str:
    """Return the value of a parameter that is not passed; nothing for a switch that is off."""
    if parameter.required:
        return "required"
    if isinstance(parameter.show_default, str):
        return parameter.show_default
    if isinstance(parameter.default, bool):
        return "yes" if parameter.default else ""
    return f"{quote}{parameter.default}{quote}" if parameter.show_default and parameter.default is not None else ""
