"""The search for the best model: what it plans depends on the rows and the budget alone."""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest

import discern.models.search as search
import discern.models.validation.work as work
from discern.classifier import Classifier
from discern.models.candidates import Candidate
from discern.models.registry import MODELS, public_models, searched
from discern.models.resolving import pipeline_of
from discern.models.settings import BASES, Settings
from discern.models.validation.results import Result, limitation, result_of
from discern.models.validation.work import Size


def tables(rows: int, seed: int = 0) -> dict[str, Any]:
    source = np.random.default_rng(seed)
    points = source.normal(size=(rows, 3))
    is_in = (points[:, 0] ** 2 + points[:, 1] + 0.5 * source.normal(size=rows)) < 0.8
    return {"label": np.where(is_in, "in", "out"), **{f"c{place}": points[:, place] for place in range(3)}}


def test_a_busy_machine_finds_the_same_model() -> None:
    """The budget is so small that some candidates are not tried; which ones does not depend on the load."""
    calm = Classifier(model="best", budget=8.0, threads=1).fit(tables(1500))
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4)]
    try:
        loaded = Classifier(model="best", budget=8.0, threads=1).fit(tables(1500))
    finally:
        for process in busy:
            process.kill()
            process.wait()
    assert loaded.checksum() == calm.checksum()
    assert loaded.leaderboard == calm.leaderboard


def test_a_clock_that_jumps_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    calm = Classifier(model="best", budget=20.0, threads=1).fit(tables(900))
    ticks = itertools.count()
    monkeypatch.setattr(search.time, "process_time", lambda: 0.01 * next(ticks) ** 0.5)
    monkeypatch.setattr(search.time, "monotonic", lambda: 1000.0 * next(ticks))
    assert Classifier(model="best", budget=20.0, threads=1).fit(tables(900)).checksum() == calm.checksum()


def test_a_machine_that_is_far_too_slow_stops_early(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = itertools.count()
    monkeypatch.setattr(search.time, "process_time", lambda: 100.0 * next(ticks))
    model = Classifier(model="best", budget=30.0).fit(tables(900))
    assert len(model.leaderboard) == 1


def test_a_larger_budget_tries_no_less() -> None:
    counts = [len(Classifier(model="best", budget=budget).fit(tables(700)).leaderboard) for budget in (0.01, 2.0, 60.0)]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]


def test_a_kernel_wins_where_boundaries_bend() -> None:
    source = np.random.default_rng(2)
    points = source.normal(size=(900, 4))
    rows = {"label": np.where(np.sin(2 * points[:, 0]) * points[:, 1] > 0, "a", "b")}
    rows |= {f"c{place}": points[:, place] for place in range(4)}
    model = Classifier(model="best", budget=60.0).fit(rows)
    by_name = {one["model"]: one["accuracy"] for one in model.leaderboard}
    assert model.leaderboard[0]["model"] == "svm" or model.leaderboard[0]["terms"] == "Gaussian bumps"
    assert by_name["svm"] > by_name["linear-svm"] + 0.2


@pytest.mark.parametrize("kind", [*searched(False), *searched(True)], ids=lambda kind: kind.name)
def test_predicted_time_grows_with_everything(kind: Any) -> None:
    candidate = Candidate(
        kind.name, "", None if kind.event else pipeline_of(Settings.of("label", model=kind.name), kind.name)
    )
    small = Size(3000, 2, 60_000, 30_000)
    first = work.evaluating(small, candidate, 3000, 4)
    assert 0 < work.evaluating(small, candidate, 500, 4) <= first
    for more in (
        Size(3000, 2, 600_000, 30_000),
        Size(3000, 2, 60_000, 3_000_000),
        Size(3000, 60, 60_000, 30_000),
    ):
        assert work.evaluating(more, candidate, 3000, 4) >= first
        assert work.learning(more, candidate) >= work.learning(small, candidate) > 0


def test_bent_axes_take_longer() -> None:
    """A number has more axes in some bases; its bins are many axes, of which a row has one."""
    size = Size(2000, 2, 40_000, 0)

    def seconds(basis: str) -> float:
        pipeline = pipeline_of(Settings.of("label", model="logistic", basis=basis), "logistic")
        return work.evaluating(size, Candidate("logistic", "", pipeline), 2000, 4)

    assert seconds("standard") == seconds("normal") == seconds("bins")
    assert 5 * seconds("standard") < seconds("quadratic") < seconds("bumps") < 50 * seconds("standard")
    wide = Size(2000, 2, 2_000_000, 0)
    assert work.bent(wide, "quadratic", 1000.0, 2000) == (5096.0, 4096.0)  # as many products as there can be
    assert work.bent(Size(2000, 2, 0, 90_000), "bumps", 300.0, 2000) == (300.0, 0.0)  # texts do not bend


def test_choosing_a_kernel_is_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """What choosing takes is spent, so that a dear choice leaves time for fewer candidates."""
    counts = []
    for seconds in (0.0, 1.0):
        monkeypatch.setattr(search.work, "choosing", lambda size, candidate, rows, told=seconds: told)
        counts.append(len(Classifier(model="best", budget=3.0, threads=1).fit(tables(400)).leaderboard))
    assert counts[1] < counts[0]


def test_predictions_are_of_the_right_size() -> None:
    """Within a factor of twenty, which a busy machine stays within too."""
    rows = tables(3000)
    models = [("logistic", "auto"), ("svm", "auto"), ("knn", "auto")]
    for name, basis in [*models, ("logistic", "bumps"), ("logistic", "quadratic"), ("logistic", "bins")]:
        settings = Settings.of("label", model=name, basis=basis)
        started = time.process_time()
        Classifier(model=name, basis=basis, threads=1).fit(rows)
        used = time.process_time() - started
        pipeline = pipeline_of(settings, name)
        expected = work.evaluating(Size(3000, 2, 9000, 0), Candidate(name, "", pipeline), 3000, 3)
        assert expected / 20 < used < 20 * expected + 0.5


def test_the_closing_sentence_compares_the_same_rows() -> None:
    def result(model: str, rows: int, right: int, seed: int = 0) -> Result:
        classes = np.random.default_rng(seed).integers(0, 2, rows).astype(np.int32)
        scores = np.zeros((rows, 2))
        told = np.where(np.arange(rows) < right, classes, 1 - classes)
        scores[np.arange(rows), told] = 1.0
        pipeline = pipeline_of(Settings.of("label", model=model), model) if MODELS[model].learn else None
        return result_of(Candidate(model, "", pipeline), rows, 0.0, scores, classes)

    bayes, early, late = result("naive-bayes", 2000, 1600), result("svm", 2000, 1700), result("svm", 4000, 3900, 1)
    told = limitation(late.candidate, [bayes, early, late])
    assert told.endswith("of the same 2,000 held-out rows it is right on 85.0%, and naive Bayes, which can, on 80.0%")
    assert limitation(late.candidate, [bayes, late]) == "svm cannot learn more rows, forget or merge"
    assert limitation(bayes.candidate, [bayes, late]) == ""


def test_products_are_not_tried_where_levels_make_too_many() -> None:
    source = np.random.default_rng(0)
    rows: dict[str, Any] = {f"c{place}": source.integers(0, 12, 300).astype(str) for place in range(10)}
    rows["label"] = np.where(rows["c0"] < "3", "low", "high")
    model = Classifier(model="best", budget=20.0, category=[f"c{place}" for place in range(10)]).fit(rows)
    assert "products of two" not in {one["terms"] for one in model.leaderboard}
    with pytest.raises(ValueError, match="products of 120 axes, and 4,096 is the most"):
        Classifier(model="best", basis="quadratic", category=[f"c{place}" for place in range(10)]).fit(rows)


def test_every_model_that_can_win_can_be_asked_for_by_name() -> None:
    for kinds in (searched(True), searched(False), searched(False, True)):
        for kind in kinds:
            assert kind.name in public_models()
            assert Classifier(model=kind.name).settings.model == kind.name
            assert {*kind.bases} <= {*BASES}


def test_the_search_ends_early_on_small_tables() -> None:
    """It takes what comparing takes, not what it may take."""
    started = time.process_time()
    Classifier(model="best", budget=600.0, threads=1).fit(tables(300))
    assert time.process_time() - started < 20
