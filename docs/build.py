"""Writes the reference pages of this folder from the code: ``make docs``."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer.main

from discern.cli.main import COMMANDS, EXIT_CODES, GROUPS, app, application
from discern.cli.options import EXAMPLES
from discern.cli.screen.help import default, help_text, is_argument, usage, written
from discern.data.formats import FORMATS

FOLDER = Path(__file__).with_name("cli")
DATA = Path(__file__).with_name("data.md")
OPENING = """\
# The command line

{note}

{summary}

## Exit codes

| code | meaning |
| --- | --- |
{codes}

## Commands

{contents}

`discern --version` prints the version. `--help` after a command prints its options, as on its page here.

## Defaults

You can set a default for every option except `--output`. The command line overrides the environment, and the
environment overrides the file:

- **Environment.** `DISCERN_FIT_SMOOTHING=0.5` is for one command, `DISCERN_THREADS=2` for all commands that have the
  option. Separate several values by spaces. A switch is `1` or `0`. `DISCERN_DATA` is the folder of data sets, not a
  default of `--data`.
- **File.** discern reads the file that `DISCERN_CONFIG` names, else `discern.toml` in the current folder, else
  `config.toml` in `~/.config/discern` (or in `$XDG_CONFIG_HOME/discern`). Settings above all sections are for all
  commands:

```toml
quiet = true

[fit]
smoothing = 0.5
text = ["subject", "body"]

[filter]
spam-cutoff = 0.99
```

An entry of the file that is not an option is an error.

## Completion

`discern --install-completion` sets up the shell that you are using. By hand:

```sh
_DISCERN_COMPLETE=source_bash discern > ~/.local/share/bash-completion/completions/discern
_DISCERN_COMPLETE=source_zsh discern > ~/.zfunc/_discern      # with ~/.zfunc in $fpath, before compinit
_DISCERN_COMPLETE=source_fish discern > ~/.config/fish/completions/discern.fish
```

```{{toctree}}
:hidden:

{pages}
```
"""
NOTE = "<!-- Written by docs/build.py from the commands themselves: change those, then run `make docs`. -->"


def pages() -> dict[str, str]:
    """Return the pages of the command line: an index, and one for each command."""
    codes = "\n".join(f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items())
    group: Any = typer.main.get_command(app)
    parts = []
    for task, commands in GROUPS.items():
        names = [one.__name__ for one in commands]
        rows = [f"| [`discern {name}`]({name}.md) | {summary_of(group.commands[name])} |" for name in names]
        parts.append("\n".join([f"### {task}", "", "| command | job |", "| --- | --- |", *rows]))
    names, contents = [one.__name__ for one in COMMANDS], "\n\n".join(parts)
    summary, listed = inspect.getdoc(application), "\n".join(names)
    opening = OPENING.format(summary=summary, note=NOTE, codes=codes, contents=contents, pages=listed)
    sections = {one.__name__: section(group.commands[one.__name__], EXAMPLES[one]) for one in COMMANDS}
    return {"index": opening, **sections}


def summary_of(command: Any) -> str:
    """Return the first paragraph of the help of a command on one line."""
    return " ".join(command.help.split("\n\n")[0].split())


def section(command: Any, examples: Sequence[str]) -> str:
    """Return the page of one command."""
    arguments = [one for one in command.params if is_argument(one)]
    options = [one for one in command.params if not is_argument(one) and "--help" not in one.opts]
    parts = [
        f"# discern {command.name}",
        NOTE,
        command.help,
        f"```text\n{usage(command, f'discern {command.name}')}\n```",
    ]
    if arguments:
        parts.append(table("argument", arguments))
    parts += [table("option", options), "```sh\n" + "\n".join(examples) + "\n```"]
    return "\n\n".join(parts) + "\n"


def table(title: str, parameters: list[Any]) -> str:
    """Return a table of parameters."""
    lines = [f"| {title} | meaning | default |", "| --- | --- | --- |"]
    for one in parameters:
        cells = (f"`{written(one)}`", help_text(one, "`"), default(one, "`"))
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
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
    FOLDER.mkdir(exist_ok=True)
    written = pages()
    for old in FOLDER.glob("*.md"):
        if old.stem not in written:
            old.unlink()
    for name, text in written.items():
        FOLDER.joinpath(f"{name}.md").write_text(text, "utf-8")
    DATA.write_text(with_formats(DATA.read_text("utf-8")), "utf-8")
    print(f"wrote {len(written)} pages of {FOLDER.name} and the formats of {DATA.name}")


if __name__ == "__main__":
    main()
