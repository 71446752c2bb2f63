"""The examples: each is drawn, and shows what it says."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[1] / "examples"
DATA = ("defaults", "problems")
WORDS = ("language_identification",)
"""Examples that print instead of drawing."""
SCRIPTS = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in (*DATA, *WORDS))


@pytest.fixture(autouse=True)
def beside(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.delenv("DEFAULT_CSV", raising=False)
    yield
    plt.close("all")
    for name in (*DATA, *SCRIPTS):
        sys.modules.pop(name, None)


def loaded(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_example_is_listed() -> None:
    listed = (FOLDER / "README.md").read_text("utf-8")
    assert [name for name in (*SCRIPTS, *WORDS) if f"`{name}.py`" not in listed] == []


@pytest.mark.parametrize("name", [name for name in SCRIPTS if not name.endswith("_problems")])
def test_examples_draw(name: str, tmp_path: Path) -> None:
    drawn = loaded(name).draw()
    getattr(drawn, "figure_", drawn).savefig(tmp_path / "picture.png", dpi=40)
    assert (tmp_path / "picture.png").stat().st_size > 3000


def test_the_script_writes_its_picture(tmp_path: Path) -> None:
    call = [sys.executable, "-W", "error", str(FOLDER / "evidence.py"), str(tmp_path / "e.png")]
    subprocess.run(call, check=True, env={"MPLBACKEND": "Agg", "PATH": ""}, timeout=120)
    assert (tmp_path / "e.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["linear_problems", "curved_problems"])
def test_simulated_problems(name: str, tmp_path: Path) -> None:
    module = loaded(name)
    module.draw(repeats=2, test_rows=200).savefig(tmp_path / "picture.png", dpi=40)
    assert (tmp_path / "picture.png").exists()


def test_bayes_rates_of_the_problems() -> None:
    problems = loaded("problems")
    from statistics import NormalDist

    rates = {
        name: float(problem.bayes_rate()) for name, (problem, _) in {**problems.STRAIGHT, **problems.CURVED}.items()
    }
    # Equal covariances: Φ(−Δ/2) with Mahalanobis' distance Δ; (1, 1) is √2 away, and 2 with a correlation of −0.5.
    assert rates["1: normal, uncorrelated"] == pytest.approx(NormalDist().cdf(-(2**0.5) / 2), abs=0.002)
    assert rates["2: normal, correlation −0.5"] == pytest.approx(NormalDist().cdf(-1), abs=0.002)
    for name, (problem, _) in {**problems.STRAIGHT, **problems.CURVED}.items():
        X, y = problem.sample(20_000, 1)
        assert np.mean(problem.bayes.predict(X) != y) == pytest.approx(rates[name], abs=0.012)


def test_defaults_resemble_the_textbook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    defaults = loaded("defaults")
    X, y = defaults.load()
    assert X.shape == (10_000, 2)
    assert 250 < (y == "Yes").sum() < 420
    path = tmp_path / "Default.csv"
    path.write_text("default,student,balance\nNo,Yes,10.5\nYes,No,2000\n", "utf-8")
    monkeypatch.setenv("DEFAULT_CSV", str(path))
    X, y = defaults.load()
    assert (X.tolist(), y.tolist()) == ([[10.5, 1.0], [2000.0, 0.0]], ["No", "Yes"])


@pytest.mark.parametrize("name", WORDS)
def test_examples_print(name: str) -> None:
    done = subprocess.run([sys.executable, str(FOLDER / f"{name}.py")], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "English" in done.stdout, done.stdout
