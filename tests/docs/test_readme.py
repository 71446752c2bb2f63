"""README as a newcomer follows it: every command and every line of Python, in the order in which they are printed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text("utf-8")
STAYING = {"filter mail.discern --daemon": "answering at", "serve mail.discern": '"listening"'}
"""Commands that stay until they are stopped, and what they print when they are ready."""


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def commands() -> list[str]:
    return [line[2:] for block in blocks("console") for line in block.splitlines() if not line.startswith("$ make")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an empty folder with what a clone has."""
    place = tmp_path_factory.mktemp("newcomer")
    (place / "python").symlink_to(ROOT / "python")
    return place


def environment() -> dict[str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    # Any free port: the one that is printed may be taken on this machine.
    return {**os.environ, "PATH": path, "COLUMNS": "100", "DISCERN_SERVE_PORT": "0"}


def staying(command: str) -> str | None:
    return next((ready for words, ready in STAYING.items() if words in command), None)


def test_every_command_works_as_printed(folder: Path) -> None:
    for command in commands():
        ready = staying(command)
        if ready:
            stays_until_stopped(command, ready, folder)
            continue
        done = subprocess.run(
            ["bash", "-euc", command], cwd=folder, env=environment(), capture_output=True, timeout=200
        )
        assert done.returncode == 0, (command, done.stderr.decode())


def stays_until_stopped(command: str, ready: str, folder: Path) -> None:
    words = command.partition("#")[0].split()
    with subprocess.Popen(
        words, cwd=folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as running:
        assert running.stdout is not None
        try:
            assert any(ready in line for line in running.stdout), command
        finally:
            running.send_signal(signal.SIGINT)
            running.communicate(timeout=60)


def test_every_promised_step_is_among_the_commands() -> None:
    shown = " ".join(commands())
    for step in ("fit", "evaluate", "explain", "filter", "serve", "learn", "forget", "merge", "report", "decide"):
        assert f"discern {step} " in shown


def test_the_python_works_as_printed(folder: Path) -> None:
    subprocess.run(["bash", "-euc", "\n".join(commands()[:2])], cwd=folder, env=environment(), check=True)
    for block in blocks("python"):
        call = [sys.executable, "-W", "error", "-c", block]
        done = subprocess.run(call, cwd=folder, env=environment(), capture_output=True, timeout=200)
        assert done.returncode == 0, done.stderr.decode()
