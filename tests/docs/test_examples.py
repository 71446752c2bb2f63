"""The examples: each runs without a warning, draws its pictures, and finds the numbers that it states."""

from __future__ import annotations

import importlib.util
import runpy
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

from discern.analysis import comparison

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples"
DATA = ("defaults", "problems")
WORDS = ("language_identification",)
"""Examples that print instead of drawing."""
PAGES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in DATA)


@pytest.fixture(autouse=True)
def beside(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.setattr(sys, "argv", ["example"])
    for name in ("DEFAULT_CSV", "MAIL_FOLDER"):
        monkeypatch.delenv(name, raising=False)
    yield
    plt.close("all")
    for name in DATA:
        sys.modules.pop(name, None)


def loaded(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_example_is_listed() -> None:
    listed = (FOLDER / "README.md").read_text("utf-8")
    assert [name for name in PAGES if f"`{name}.py`" not in listed] == []


def test_every_example_has_its_place_in_the_course() -> None:
    course = loaded(ROOT / "docs" / "course.py")
    assert sorted(course.PAGES) == PAGES
    assert set(course.DATA) == set(DATA)


@pytest.mark.parametrize("name", PAGES)
def test_the_numbers_of_an_example(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name.endswith("_problems"):  # fewer samples than on the page
        whole = comparison.compare_simulated
        fewer = {"repeats": 8, "test_rows": 500}
        monkeypatch.setattr(comparison, "compare_simulated", lambda *given, **options: whole(*given, **options | fewer))
    runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    if name not in WORDS:
        assert plt.get_fignums()
        for number in plt.get_fignums():
            assert plt.figure(number).axes


@pytest.mark.parametrize("name", ["evidence", *WORDS])
def test_an_example_as_a_script(name: str, tmp_path: Path) -> None:
    call = [sys.executable, "-W", "error", str(FOLDER / f"{name}.py")]
    done = subprocess.run(call, capture_output=True, text=True, cwd=tmp_path, env={"MPLBACKEND": "Agg", "PATH": ""}, timeout=120)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert list(tmp_path.iterdir()) == []


def test_bayes_rates_of_the_problems() -> None:
    problems = loaded(FOLDER / "problems.py")
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
    defaults = loaded(FOLDER / "defaults.py")
    X, y = defaults.load()
    assert X.shape == (10_000, 2)
    assert 250 < (y == "Yes").sum() < 420
    path = tmp_path / "Default.csv"
    path.write_text("default,student,balance\nNo,Yes,10.5\nYes,No,2000\n", "utf-8")
    monkeypatch.setenv("DEFAULT_CSV", str(path))
    X, y = defaults.load()
    assert (X.tolist(), y.tolist()) == ([[10.5, 1.0], [2000.0, 0.0]], ["No", "Yes"])
