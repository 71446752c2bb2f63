"""The page on extending discern: its modules are saved and used as it says, from Python and from the command line."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from discern.classifier import Classifier

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "extending.md").read_text("utf-8")
SECTIONS = dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE))
ROWS = """label,text
spam,win a free prize
ham,see you at noon
spam,free cash for you
ham,lunch tomorrow at noon
"""


def blocks(section: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", SECTIONS[section], re.DOTALL)


def modules(section: str) -> dict[str, str]:
    """Return the modules that a section tells to save."""
    return dict(re.findall(r"[Ss]ave (?:it|this) as `(\w+\.py)`:\n\n```python\n(.*?)```", SECTIONS[section], re.DOTALL))


def checked(program: str) -> str:
    """Return a program in which a value in a comment is what its line must be."""
    return re.sub(r"^(.+?)  # (.+)$", r"assert (\1) == \2, \1", program, flags=re.MULTILINE)


@pytest.mark.parametrize("section", ["A model", "An event model", "A file format"])
def test_what_a_section_adds_works_in_python_and_on_the_command_line(section: str, tmp_path: Path) -> None:
    own = modules(section)
    assert own
    for name, source in own.items():
        (tmp_path / name).write_text(source, "utf-8")
    (tmp_path / "spam.csv").write_text(ROWS, "utf-8")
    for content in blocks(section, "text"):
        (tmp_path / "x.toy").write_text(content, "utf-8")
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONWARNINGS": "error",
    }
    for number, program in enumerate(blocks(section, "python")):
        if program not in own.values():
            (tmp_path / f"use{number}.py").write_text(checked(program), "utf-8")
            subprocess.run([sys.executable, f"use{number}.py"], cwd=tmp_path, env=environment, check=True)
    [script] = blocks(section, "sh")
    python_path = f".:{os.environ['PYTHONPATH']}" if os.environ.get("PYTHONPATH") else "."
    script = script.replace("PYTHONPATH=.", f"PYTHONPATH={python_path}")
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script], cwd=tmp_path, env=environment, capture_output=True
    )
    assert done.returncode == 0, done.stderr.decode()


def test_the_command(tmp_path: Path) -> None:
    space: dict[str, object] = {"__name__": "toy_command"}
    [source] = blocks("A command", "python")
    exec(compile(source, "toy_command.py", "exec"), space)
    Classifier().fit([{"label": "a", "text": "x1"}, {"label": "b", "text": "y1"}]).save(tmp_path / "m.discern")
    app = typer.Typer()
    app.command()(space["rows"])  # type: ignore[type-var]
    runner = CliRunner()
    assert runner.invoke(app, [str(tmp_path / "m.discern")]).stdout == "2 rows\n"
    assert runner.invoke(app, [str(tmp_path / "m.discern"), "--label", "a", "--json"]).stdout == '{"rows": 1}\n'
