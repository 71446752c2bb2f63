"""README as a newcomer follows it: commands and Python, in the order and with the outputs in which they are printed."""

from __future__ import annotations

import doctest
import signal
import subprocess
from pathlib import Path

import pytest

from tests.docs.pages import FLAGS, NOT_RUN, ROOT, blocks, commands, environment, matches, prepare, run

README = ROOT / "README.md"
MOST_LINES = 160
STAYING = {"serve spam.discern": '"listening"'}
"""Commands that stay until they are stopped, and what they print when they are ready."""


def shown() -> list[tuple[str, str]]:
    """Return all commands with their outputs."""
    return [pair for block in blocks(README, "console") for pair in commands(block)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a newcomer: empty but for what a checkout has."""
    place = tmp_path_factory.mktemp("newcomer")
    prepare(README, place)
    return place


def test_every_command_prints_what_is_shown(folder: Path) -> None:
    for command, expected in shown():
        ready = next((ready for words, ready in STAYING.items() if words in command), None)
        if ready:
            stays_until_stopped(command, ready, folder)
        elif not command.startswith(NOT_RUN):
            found = run(command, README, folder)
            assert not expected or matches(expected, found), (
                command,
                found,
                "run: python -m tests.docs.pages README.md",
            )


def stays_until_stopped(command: str, ready: str, folder: Path) -> None:
    words = command.partition("#")[0].split()
    with subprocess.Popen(
        words, cwd=folder, env=environment(README), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as running:
        assert running.stdout is not None
        try:
            assert any(ready in line for line in running.stdout), command
        finally:
            running.send_signal(signal.SIGINT)
            running.communicate(timeout=60)


def test_what_every_reader_needs_is_there_on_few_screens() -> None:
    assert len(README.read_text("utf-8").splitlines()) <= MOST_LINES
    words = " ".join(command for command, _ in shown())
    for step in ("fit", "evaluate", "explain", "predict", "learn", "forget", "compare", "decide", "report", "serve"):
        assert f"discern {step} " in words
    with_output = [command.split()[1] for command, expected in shown() if command.startswith("discern") and expected]
    assert with_output == ["fit", "explain", "evaluate"]


def test_the_python_prints_what_is_shown(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for command, _ in shown():
        if "> t" in command:  # the files of rows
            run(command, README, folder)
    monkeypatch.chdir(folder)
    code = "\n".join(blocks(README, "pycon"))
    parsed = doctest.DocTestParser().get_doctest(code, {}, README.name, str(README), 0)
    printed: list[str] = []
    result = doctest.DocTestRunner(optionflags=FLAGS).run(parsed, out=printed.append)
    assert result.attempted > 5
    assert result.failed == 0, "".join(printed)
