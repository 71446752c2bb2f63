"""The pages of the site: their examples and commands do what is printed, and their links lead somewhere."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import pytest

mpl.use("Agg")

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
MADE = ("api", "course")
"""Folders that the build fills."""
PAGES = sorted(path for path in DOCS.rglob("*.md") if path.relative_to(DOCS).parts[0] not in MADE)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks(page: Path, language: str) -> list[str]:
    found = re.findall(rf"^( *)```{language}\n(.*?)^ *```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    return [re.sub(f"^{indent}", "", block, flags=re.MULTILINE) for indent, block in found]


RUN = ("howto", "index.md", "methods", "performance.md", "start.md", "tutorials")
"""Pages whose examples and commands are run here; those that need a server or a cluster are not."""


def having(language: str) -> list[object]:
    chosen = [page for page in PAGES if page.relative_to(DOCS).parts[0] in RUN and blocks(page, language)]
    return [pytest.param(page, id=str(page.relative_to(DOCS))) for page in chosen]


@pytest.mark.parametrize("page", having("pycon"))
def test_examples_of_a_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    parsed = doctest.DocTestParser().get_doctest("\n".join(blocks(page, "pycon")), {}, page.name, str(page), 0)
    printed: list[str] = []
    result = doctest.DocTestRunner(optionflags=FLAGS).run(parsed, out=printed.append)
    assert result.failed == 0, "".join(printed)


def commands(block: str) -> list[tuple[str, str]]:
    """Return the commands of a block, each with the output that is printed below it."""
    pairs = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    return [one for pair in pairs for one in [divided(pair)]]


def divided(pair: str) -> tuple[str, str]:
    """Tell a command, with its here-document if it has one, from its output."""
    lines = pair.splitlines(keepends=True)
    end = next((place for place, line in enumerate(lines) if line == "END\n"), 0) if "<<'END'" in lines[0] else 0
    return "".join(lines[: end + 1]), "".join(lines[end + 1 :])


@pytest.mark.parametrize("page", having("console"))
def test_commands_of_a_page(page: Path, tmp_path: Path) -> None:
    if page == DOCS / "index.md":
        tmp_path.joinpath("mail.csv").write_text("label,text\nspam,win a prize\nham,lunch\n", "utf-8")
    folder = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "100"}
    for block in blocks(page, "console"):
        for command, expected in commands(block):
            done = subprocess.run(
                ["bash", "-c", f"set -o pipefail\n{{ {command}\n}} 2>&1"],
                cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False,
            )  # fmt: skip
            assert done.returncode == 0, (command, done.stdout)
            if expected:
                assert doctest.OutputChecker().check_output(expected, done.stdout, FLAGS), (command, done.stdout)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_links_within_the_site(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
        path, _, _ = target.partition("#")
        if path and "://" not in path:
            place = (page.parent / path).resolve()
            made = place.relative_to(DOCS).parts[0] in MADE if place.is_relative_to(DOCS) else False
            assert place.exists() or (made and source_of(place)), target


def source_of(place: Path) -> bool:
    """Return whether a page that the build makes has a source."""
    return place.stem == "index" or (ROOT / "examples" / f"{place.stem}.py").exists()
