"""The commands and examples of a page with their outputs, run as a reader would: ``python -m tests.docs.pages PAGE …``.

Run as a program, it writes what they print now into the pages. A command without output keeps none, and an output that
matches, such as one with ``...``, stays as it is.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
FIRST = ("README.md", "docs/index.md")
"""Pages that a newcomer reads in the folder of a checkout, on a terminal of 80 columns."""
NOT_RUN = ("make ", "pip ", "discern serve ", "discern filter mail.discern --daemon")
"""How commands begin that install, or stay until they are stopped."""


def blocks(page: Path, language: str) -> list[str]:
    """Return the blocks of a language, without their indentation."""
    found = re.findall(rf"^( *)```{language}\n(.*?)^ *```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    return [re.sub(f"^{indent}", "", block, flags=re.MULTILINE) for indent, block in found]


def commands(block: str) -> list[tuple[str, str]]:
    """Return the commands of a block, each with the output that is printed below it."""
    return [divided(pair) for pair in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]


def divided(pair: str) -> tuple[str, str]:
    """Tell a command, with its here-document if it has one, from its output."""
    lines = pair.splitlines(keepends=True)
    end = next((place for place, line in enumerate(lines) if line == "END\n"), 0) if "<<'END'" in lines[0] else 0
    return "".join(lines[: end + 1]), "".join(lines[end + 1 :])


def environment(page: Path) -> dict[str, str]:
    """Return the environment of a reader of a page: the command is on the path, and the port of the page is free."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    columns = "80" if page.relative_to(ROOT).as_posix() in FIRST else "100"
    return {**os.environ, "PATH": path, "COLUMNS": columns, "DISCERN_SERVE_PORT": "0"}


def prepare(page: Path, folder: Path) -> None:
    """Put into a folder what a reader of the page has."""
    if page.relative_to(ROOT).as_posix() in FIRST:
        (folder / "python").symlink_to(ROOT / "python")


def run(command: str, page: Path, folder: Path) -> str:
    """Return what a command prints, to either stream, without spaces at the ends of lines; it must succeed."""
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail\n{{ {command}\n}} 2>&1"],
        cwd=folder, env=environment(page), capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert done.returncode == 0, (command, done.stdout)
    return "".join(line.rstrip() + "\n" for line in done.stdout.splitlines())


def matches(expected: str, found: str) -> bool:
    """Return whether an output is the one that is printed; ``...`` stands for any text."""
    return doctest.OutputChecker().check_output(expected, found, FLAGS)


def renewed(page: Path, folder: Path) -> str:
    """Return the text of a page with the outputs that its commands print now."""
    prepare(page, folder)
    text = page.read_text("utf-8")
    for block in blocks(page, "console"):
        parts = []
        for command, expected in commands(block):
            if command.startswith(NOT_RUN):
                parts.append(f"$ {command}{expected}")
                continue
            found = run(command, page, folder)
            kept = not expected or ("..." in expected and matches(expected, found))
            parts.append(f"$ {command}{expected if kept else trimmed(found)}")
        text = text.replace(block, "".join(parts))
    return text


def example_outputs(page: Path, text: str) -> str:
    """Return a text with the results that the Python examples of the page have now."""
    names: dict[str, object] = {}
    for block in blocks(page, "pycon"):
        parts = []
        for one in doctest.DocTestParser().get_examples(block):
            found = io.StringIO()
            with contextlib.redirect_stdout(found):
                exec(compile(one.source, page.name, "single"), names)
            first, *more = one.source.rstrip("\n").split("\n")
            want = one.want if matches(one.want, found.getvalue()) else found.getvalue()
            parts += [f">>> {first}\n", *(f"... {line}".rstrip() + "\n" for line in more), want]
        text = text.replace(block, "".join(parts))
    return text


def trimmed(output: str) -> str:
    """Return an output without empty lines around it."""
    return output.strip("\n") + "\n"


def main(names: list[str]) -> None:
    """Renew the outputs of pages."""
    for name in names:
        page, folder = Path(name).resolve(), Path(tempfile.mkdtemp())
        try:
            text = renewed(page, folder)
            with contextlib.chdir(folder):
                text = example_outputs(page, text)
            page.write_text(text, "utf-8")
        finally:
            shutil.rmtree(folder)
        print(f"renewed {name}")


if __name__ == "__main__":
    main(sys.argv[1:])
