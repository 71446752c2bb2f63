"""The pages of the site: their examples and commands do what is printed, and their links lead somewhere."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import matplotlib as mpl
import pytest

from tests.docs.pages import FLAGS, NOT_RUN, ROOT, blocks, commands, matches, prepare, run

mpl.use("Agg")

DOCS = ROOT / "docs"
MADE = ("api", "course")
"""Folders that the build fills."""
PAGES = sorted(path for path in DOCS.rglob("*.md") if path.relative_to(DOCS).parts[0] not in MADE)
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


@pytest.mark.parametrize("page", having("console"))
def test_commands_of_a_page(page: Path, tmp_path: Path) -> None:
    prepare(page, tmp_path)
    for block in blocks(page, "console"):
        for command, expected in commands(block):
            if not command.startswith(NOT_RUN):
                found = run(command, page, tmp_path)
                assert not expected or matches(expected, found), (
                    command,
                    found,
                    f"run: python -m tests.docs.pages {page}",
                )


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
