"""Writes the reference pages of this folder from the code: ``make docs``."""

from __future__ import annotations

import enum
import inspect
import re
import types
import typing
from pathlib import Path
from typing import Any

import typer

from discern.cli.entry import EXAMPLES, EXIT_CODES, app, application
from discern.data.formats import FORMATS

PAGE = Path(__file__).with_name("cli.md")
DATA = Path(__file__).with_name("data.md")
OPENING = """\
# The command line

<!-- Written by docs/build.py from the commands themselves: change those, then run `make docs`. -->

{summary}

## Exit codes

| code | meaning |
| --- | --- |
{codes}

## Commands

{contents}

`discern --version` prints the version; `--help` after any command prints what stands here.

## Defaults

Every option but `--output` can be given a default. The command line is strongest, then the environment, then a file:

- `DISCERN_FIT_SMOOTHING=0.5` for one command, `DISCERN_THREADS=2` for all that have the option; several values are
  separated by spaces, a switch is `1` or `0` (`DISCERN_DATA` alone is the folder of data sets, no default of `--data`);
- the file that `DISCERN_CONFIG` names, or else `discern.toml` in the current folder, or else
  `~/.config/discern/config.toml` (`$XDG_CONFIG_HOME` counts). What stands above all sections is for all commands:

```toml
quiet = true

[fit]
smoothing = 0.5
text = ["subject", "body"]

[filter]
spam-cutoff = 0.99
```

What is in the file and is no option is an error.

## Completion

`discern --install-completion` sets up the shell that you are using. By hand:

```sh
_DISCERN_COMPLETE=source_bash discern > ~/.local/share/bash-completion/completions/discern
_DISCERN_COMPLETE=source_zsh discern > ~/.zfunc/_discern      # with ~/.zfunc in $fpath, before compinit
_DISCERN_COMPLETE=source_fish discern > ~/.config/fish/completions/discern.fish
```
"""


class Parameter(typing.NamedTuple):
    """An argument or option as the page shows it."""

    written: str
    help: str
    default: str
    is_argument: bool


def page() -> str:
    """Return the page of the command line."""
    codes = "\n".join(f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items())
    names = [command.__name__ for command in EXAMPLES]
    contents = "\n".join(f"- [`discern {name}`](#discern-{name})" for name in names)
    opening = OPENING.format(summary=inspect.getdoc(application), codes=codes, contents=contents)
    return "\n".join([opening, *(section(command) for command in EXAMPLES)])


def section(command: Any) -> str:
    """Return the section of one command."""
    signature = inspect.signature(command, eval_str=True)
    parameters = [described(parameter) for parameter in signature.parameters.values()]
    arguments = [parameter for parameter in parameters if parameter.is_argument]
    parts = [
        f"## discern {command.__name__}",
        inspect.getdoc(command) or "",
        usage(command.__name__, parameters),
    ]
    if arguments:
        parts.append(table("argument", arguments))
    parts.append(table("option", [parameter for parameter in parameters if not parameter.is_argument]))
    parts.append("```sh\n" + "\n".join(EXAMPLES[command]) + "\n```")
    return "\n\n".join(parts) + "\n"


def usage(name: str, parameters: list[Parameter]) -> str:
    """Return the line that says how a command is called."""
    words = ["discern", name]
    for parameter in parameters:
        if parameter.default == "required":
            words.append(parameter.written.split(", ")[-1])
        elif parameter.is_argument:
            words.append(f"[{parameter.written}]")
    return "```\n" + " ".join([*words, "[OPTIONS]"]) + "\n```"


def described(parameter: inspect.Parameter) -> Parameter:
    """Describe one parameter of a command."""
    kind, info = typing.get_args(parameter.annotation)
    is_argument = isinstance(info, typer.models.ArgumentInfo)
    if is_argument:
        written = info.metavar + ("..." if typing.get_origin(kind) is list else "")
    else:
        written = f"{', '.join(flags(parameter, kind, info))} {values(kind, info)}".strip()
    return Parameter(written, help_text(info), default(parameter, info), is_argument)


def flags(parameter: inspect.Parameter, kind: Any, info: Any) -> list[str]:
    """Return the ways to write an option, the long one last."""
    # Inside Annotated the first name of an option lands where its default would be.
    given = [name for name in (info.default, *(info.param_decls or ())) if isinstance(name, str)]
    plain = parameter.name.replace("_", "-")
    if given:
        return sorted(given, key=len)
    return [f"--{plain}", f"--no-{plain}"] if kind is bool else [f"--{plain}"]


def values(kind: Any, info: Any) -> str:
    """Describe what an option takes; nothing for a switch."""
    choices = alternatives(kind, info)
    if info.metavar or choices or bare(kind) is bool:
        return info.metavar or "|".join(choices)
    return "N" if bare(kind) is int else "TEXT"


def help_text(info: Any) -> str:
    """Return the help of a parameter."""
    least = f" At least {info.min}." if info.min is not None else ""
    return f"{info.help}{least}".replace("|", "\\|")


def bare(kind: Any) -> Any:
    """Return a type without "or None"."""
    if isinstance(kind, types.UnionType):
        return next(part for part in typing.get_args(kind) if part is not types.NoneType)
    return kind


def alternatives(kind: Any, info: Any) -> list[str]:
    """Return the values of an enumeration, or the names in a registry."""
    kind = bare(kind)
    if info.click_type is not None:
        return list(info.click_type.choices)
    return [str(member.value) for member in kind] if isinstance(kind, enum.EnumType) else []


def default(parameter: inspect.Parameter, info: Any) -> str:
    """Describe what holds when a parameter is not given."""
    if parameter.default is inspect.Parameter.empty:
        return "required"
    if isinstance(info.show_default, str):
        return info.show_default
    if isinstance(parameter.default, bool):
        return "yes" if parameter.default else "no"
    return "" if parameter.default is None else f"`{parameter.default}`"


def table(title: str, parameters: list[Parameter]) -> str:
    """Return a table of parameters."""
    lines = [f"| {title} | meaning | default |", "| --- | --- | --- |"]
    for parameter in parameters:
        written = parameter.written.replace("|", "\\|")
        lines.append(f"| `{written}` | {parameter.help} | {parameter.default} |")
    return "\n".join(lines)


def with_formats(page: str) -> str:
    """Return a page with the table of all file formats between its markers."""
    lines = ["| format | names | rows and columns | from stdin |", "| --- | --- | --- | --- |"]
    for form in FORMATS:
        suffixes, stdin = ", ".join(f"`{suffix}`" for suffix in form.suffixes), "no" if form.needs_path else "yes"
        about = form.about.replace("|", "\\|")
        lines.append(f"| `{form.name}` | {suffixes} | {about} | {stdin} |")
    return re.sub(r"(?<=-->\n)[^<]*(?=<!-- end of formats -->)", lambda _: "\n".join([*lines, ""]), page)


def main() -> None:
    """Write the pages."""
    registered = {command.callback for command in app.registered_commands}
    assert registered == set(EXAMPLES), "a command is missing in EXAMPLES"
    PAGE.write_text(page(), "utf-8")
    DATA.write_text(with_formats(DATA.read_text("utf-8")), "utf-8")
    print(f"wrote {PAGE.name} and the formats of {DATA.name}")


if __name__ == "__main__":
    main()
