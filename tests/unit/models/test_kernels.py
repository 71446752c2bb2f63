"""The support vector machine with a kernel behind the classifier."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import discern.learners.kernels.expansions as expansions
import discern.learners.kernels.relevance as relevance
import discern.models.file as files
from discern.classifier import Classifier, load
from discern.cli.main import app
from discern.learners.kernels.machines import Kernel
from discern.models.file import ModelFileError
from discern.models.vector_space.kernels import Kernels, shapley_values


def rings(rows: int, seed: int = 0, labels: int = 2) -> list[dict[str, Any]]:
    """Return points of which the distance from the middle has the label."""
    source = np.random.default_rng(seed)
    points = source.normal(size=(rows, 2))
    # As many rows of each label: the quantiles of χ² with two degrees of freedom.
    place = np.floor(labels * (1 - np.exp(-(points**2).sum(axis=1) / 2))).astype(int)
    return [{"label": f"l{k:02}", "x": float(x), "y": float(y)} for k, (x, y) in zip(place, points, strict=True)]


def accuracy(model: Classifier, rows: list[dict[str, Any]]) -> float:
    return float(np.mean(model.predict(rows) == [row["label"] for row in rows]))


@pytest.fixture(scope="module")
def curved() -> Classifier:
    return Classifier(model="svm").fit(rings(400))


def test_it_bends_where_a_line_fails(curved: Classifier) -> None:
    assert accuracy(curved, rings(1000, seed=1)) > 0.95
    assert accuracy(Classifier(model="linear-svm").fit(rings(400)), rings(1000, seed=1)) < 0.7
    pipeline = curved.resolved.pipeline
    assert pipeline is not None
    assert pipeline.regularization.kernel is not None
    assert pipeline.regularization.kernel.name in ("rbf", "poly")
    about = curved.info()
    assert about["pipeline"]["kernel"]["name"] == pipeline.regularization.kernel.name
    assert (about["landmarks"], about["support_rows"] <= 400) == (False, True)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
def test_kernel_cost_and_gamma_can_be_given(kernel: str, tmp_path: Path) -> None:
    gamma = {} if kernel == "linear" else {"gamma": 0.7}
    model = Classifier(model="svm", kernel=kernel, cost=2.0, **gamma).fit(rings(200))
    assert model.resolved.pipeline is not None
    chosen = model.resolved.pipeline.regularization
    assert chosen.kernel is not None
    assert (chosen.kernel.name, chosen.cost) == (kernel, 2.0)
    assert kernel == "linear" or chosen.kernel.gamma == 0.7
    model.save(tmp_path / "m.discern")
    loaded = load(tmp_path / "m.discern")
    assert np.array_equal(loaded.predict_proba(rings(30)), model.predict_proba(rings(30)))
    assert loaded.explain(rings(1)[0]) == model.explain(rings(1)[0])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": "svm", "kernel": "gaussian"}, "kernel must be one of auto, linear, poly, rbf, not 'gaussian'"),
        ({"model": "svm", "cost": 0.0}, "cost must be a number above 0"),
        ({"model": "svm", "gamma": float("nan")}, "gamma must be a number above 0"),
        ({"model": "svm", "kernel": "linear", "gamma": 1.0}, "a linear kernel has no gamma"),
        ({"model": "logistic", "kernel": "rbf"}, "kernel and gamma are for 'svm', not for 'logistic'"),
        ({"model": "naive-bayes", "cost": 1.0}, "cost is for models such as 'svm', 'logistic' and 'ridge'"),
        ({"model": "knn", "cost": 1.0}, "cost is for models such as"),
        ({"model": "svm", "smoothing": 1.0}, "smoothing is for naive Bayes"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Classifier(**settings)


@pytest.mark.parametrize("name", ["logistic", "linear-svm", "ridge", "lda", "qda"])
def test_a_cost_is_used_by_other_models_too(name: str) -> None:
    model = Classifier(model=name, cost=0.25).fit(rings(200))
    assert model.resolved.pipeline is not None
    assert model.resolved.pipeline.regularization.cost == 0.25


def test_probabilities_are_calibrated() -> None:
    source = np.random.default_rng(5)
    rows = [{**row, "label": row["label"] if source.random() < 0.8 else "l00"} for row in rings(1600)]
    model = Classifier(model="svm").fit(rows[:800])
    found = model.evaluate(rows[800:])
    assert found.calibration_error < 0.06


def test_many_levels_stay_sparse(tmp_path: Path) -> None:
    rows = [{"label": "ab"[i % 7 < 3], "kind": f"k{i % 90}", "x": i % 7} for i in range(300)]
    model = Classifier(model="svm", kernel="rbf", category="kind", number="x").fit(rows)
    assert scipy.sparse.issparse(model.fitted.model.decider.support)  # type: ignore[union-attr]
    assert accuracy(model, rows) > 0.95
    model.save(tmp_path / "m.discern")
    assert load(tmp_path / "m.discern").explain(rows[0]) == model.explain(rows[0])


def test_forty_labels_and_uneven_ones() -> None:
    rows = [{"label": f"l{i % 40:02}", "x": math.cos(i % 40), "y": i % 40 + 0.01 * (i % 7)} for i in range(400)]
    rows += [{"label": "rare", "x": 9.0, "y": -9.0}]
    model = Classifier(model="svm").fit(rows)
    assert len(model.labels) == 41
    assert accuracy(model, rows) > 0.95
    assert model.predict_proba(rows[:3]).sum(axis=1) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "rows",
    [
        [{"label": "a", "x": 1.0}],
        [{"label": "a", "x": 1.0}, {"label": "b", "x": 2.0}],
        [{"label": "ab"[i % 2], "x": 3.0} for i in range(150)],
        [{"label": "ab"[i % 2], "x": None if i % 3 else float(i), "same": 7.0} for i in range(150)],
        [{"label": "ab"[i % 2], "x": (-1.0) ** i * 1e300, "y": i % 5} for i in range(150)],
        [{"label": "a", "x": float(i)} for i in range(150)],
    ],
)
def test_poor_rows(rows: list[dict[str, Any]], tmp_path: Path) -> None:
    model = Classifier(model="svm", number=[name for name in rows[0] if name != "label"]).fit(rows)
    asked = [*rows[:5], dict.fromkeys(rows[0]), dict.fromkeys(rows[0], 1e300)]
    shares = model.predict_proba(asked)
    assert np.isfinite(shares).all()
    model.save(tmp_path / "m.discern")
    assert np.array_equal(load(tmp_path / "m.discern").predict_proba(asked), shares)
    assert model.explain(rows[0]).log_odds == pytest.approx(math.log(shares[0].max() / shares[0].min()), abs=1e-6) or (
        len(model.labels) == 1
    )


def test_evidence_has_the_nearest_support_rows(curved: Classifier) -> None:
    learned = rings(400)
    evidence = curved.explain({"x": 0.9, "y": 0.2})
    assert [term.column for term in evidence.terms] == ["x", "y"] or [term.column for term in evidence.terms] == [
        "y",
        "x",
    ]
    assert evidence.near
    for one in evidence.near:
        assert learned[one.row - 1]["label"] == one.label
        assert 0 < one.similarity <= 1
    assert evidence.to_dict()["near"][0]["row"] == evidence.near[0].row
    assert f"near row {evidence.near[0].row}" in str(evidence)


@given(st.lists(st.floats(0.25, 4), min_size=1, max_size=9), st.integers(0, 3))
def test_shares_add_up_and_are_fair(values: list[float], seed: int) -> None:
    weights = np.random.default_rng(seed).normal(size=len(values))
    row = scipy.sparse.csr_array(np.array([values]))

    def product(rows: Any) -> Any:
        table = rows.toarray()
        return np.prod(1 + table, axis=1) + table @ weights

    start, shares = shapley_values(product, row)
    assert start == pytest.approx(1.0)
    assert start + shares.sum() == pytest.approx(float(product(row)[0]))
    _, linear = shapley_values(lambda rows: rows.toarray() @ weights, row)
    assert linear == pytest.approx(np.array(values) * weights)


def test_landmarks_stand_for_many_rows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(expansions, "MOST_EXACT", 300)
    monkeypatch.setattr(expansions, "LANDMARKS", 60)
    model = Classifier(model="svm", number=["x", "y"]).fit(rings(2000, labels=3))
    assert accuracy(model, rings(1000, seed=1, labels=3)) > 0.93
    about = model.info()
    assert (about["landmarks"], about["support_rows"]) == (True, 60)
    model.save(tmp_path / "m.discern")
    assert load(tmp_path / "m.discern").info()["landmarks"] is True
    shown = CliRunner().invoke(app, ["info", str(tmp_path / "m.discern")])
    assert "60 landmark rows stand for all" in shown.stdout


def test_exact_and_landmarks_agree_where_all_rows_are_landmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(0).normal(size=(300, 3))
    classes = (rows[:, 0] * rows[:, 1] > 0).astype(int)
    kernel, asked = Kernel("rbf", gamma=0.3), np.random.default_rng(1).normal(size=(500, 3))
    monkeypatch.setattr(expansions, "ROWS_EACH", 1)
    found = [learn(rows, classes, 2, kernel, [10.0])[0] for learn in (expansions.machines, expansions.at_landmarks)]
    scores = [one.scores(asked, rows[one.places], kernel) > 0 for one in found]
    assert np.mean(scores[0] == scores[1]) > 0.93
    assert np.mean((scores[0][:, 0]) == (asked[:, 0] * asked[:, 1] > 0)) > 0.85


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("name", ["rbf", "poly", "linear"])
def test_dense_and_sparse_rows_give_the_same_functions(name: str, is_sparse: bool) -> None:
    rows = np.random.default_rng(0).normal(size=(120, 4)) * (np.random.default_rng(1).random((120, 4)) < 0.6)
    classes = np.arange(120) % 3
    kernel = Kernel(name, gamma=0.4, offset=1.0 if name == "poly" else 0.0)
    table = scipy.sparse.csr_array(rows) if is_sparse else rows
    for learn in (expansions.machines, expansions.at_landmarks):
        dense, mine = (learn(one, classes, 3, kernel, [0.5, 5.0]) for one in (rows, table))
        for one, other in zip(dense, mine, strict=True):
            first = one.scores(rows, rows[one.places], kernel)
            assert other.scores(table, table[other.places], kernel) == pytest.approx(first, abs=0.02)


def test_a_path_of_costs_leads_to_the_solution_of_each() -> None:
    rows = np.random.default_rng(3).normal(size=(250, 4))
    classes = (rows[:, 0] * rows[:, 1] + rows[:, 2] > 0).astype(int)
    kernel, costs = Kernel("rbf", gamma=0.2), [0.3, 3.0, 30.0]
    for cost, one in zip(costs, expansions.machines(rows, classes, 2, kernel, costs), strict=True):
        [alone] = expansions.machines(rows, classes, 2, kernel, [cost])
        assert one.scores(rows, rows[one.places], kernel) == pytest.approx(
            alone.scores(rows, rows[alone.places], kernel), abs=0.01
        )
        assert np.abs(one.coefficients).max() <= cost * (1 + 1e-12)


def hidden(rows: int, curve: str, seed: int = 0, columns: int = 12) -> list[dict[str, Any]]:
    """Return points of which two columns have the label and the others nothing."""
    table = np.random.default_rng(seed).normal(size=(rows, columns))
    first, second = table[:, 0], table[:, 1]
    if curve == "product":
        labels = first * second > 0
    elif curve == "ring":
        labels = first**2 + second**2 > 1.4
    else:
        labels = np.sign(np.sin(4 * first)) + 0.9 * np.sign(np.cos(3 * second)) > 0
    return [
        {"label": ["no", "yes"][int(label)], **{f"x{place}": float(value) for place, value in enumerate(values)}}
        for label, values in zip(labels, table, strict=True)
    ]


@pytest.mark.parametrize(("curve", "least"), [("product", 0.9), ("ring", 0.9), ("steps", 0.88)])
def test_columns_without_information_do_not_hide_the_others(curve: str, least: float, tmp_path: Path) -> None:
    model = Classifier(model="svm").fit(hidden(1500, curve))
    asked = hidden(1000, curve, seed=1)
    assert accuracy(model, asked) > least
    pipeline = model.resolved.pipeline
    assert pipeline is not None
    assert pipeline.regularization.is_scaled
    assert pipeline.layout.basis == ("bins" if curve == "steps" else "normal")
    model.save(tmp_path / "m.discern")
    loaded = load(tmp_path / "m.discern")
    assert loaded.resolved == model.resolved
    assert np.array_equal(loaded.predict_proba(asked), model.predict_proba(asked))
    found = loaded.explain(asked[0])
    odds = np.log(found.probabilities[found.label] / found.probabilities[found.against])
    assert found.prior + sum(term.weight for term in found.terms) == pytest.approx(odds)


def test_what_was_given_is_not_replaced_by_bins() -> None:
    rows = hidden(600, "steps")
    for settings in ({"kernel": "rbf"}, {"basis": "normal"}, {"gamma": 0.1}):
        pipeline = Classifier(model="svm", **settings).fit(rows).resolved.pipeline
        assert pipeline is not None
        assert pipeline.layout.basis == "normal"


def test_scales_shrink_what_does_not_matter() -> None:
    table = np.random.default_rng(0).normal(size=(2000, 8))
    classes = (np.abs(table[:, 0]) + np.abs(table[:, 1] * table[:, 2]) > 1.3).astype(int)
    found = relevance.scales(table, classes, 2)
    assert found[:3].min() > 3 * found[3:].max()
    unit = relevance.unit_of(table)
    assert relevance.unit_of(table * found) == pytest.approx(unit)
    assert relevance.scales(np.ones((50, 3)), np.arange(50) % 2, 2).tolist() == [1.0] * 3


@pytest.mark.parametrize("change", [lambda array: array[:-1], lambda array: -array, lambda array: array * np.inf])
def test_scales_that_make_no_sense_are_refused(tmp_path: Path, change: Any) -> None:
    Classifier(model="svm", kernel="rbf").fit(hidden(600, "product")).save(tmp_path / "m.discern")
    arrays, metadata = files.load(tmp_path / "m.discern")
    spoiled = {**arrays, "decider.scales": np.ascontiguousarray(change(np.array(arrays["decider.scales"])))}
    content, _ = files.encode(spoiled, {name: value for name, value in metadata.items() if name != "checksum"})
    (tmp_path / "bad.discern").write_bytes(content)
    with pytest.raises(ModelFileError):
        load(tmp_path / "bad.discern")


@pytest.mark.parametrize(
    ("key", "change"),
    [
        ("decider.kernel", lambda array: array + np.array([9, 0, 0, 0, 0])),
        ("decider.kernel", lambda array: array * np.array([1, -1, 1, 1, 1])),
        ("decider.kernel", lambda array: array + np.array([0, 0, 0, 50, 0])),
        ("decider.kernel", lambda array: array + np.array([0, 0, 0, 0, 7])),
        ("decider.rows", lambda array: array.astype(np.int64) - 10**6),
        ("decider.owners", lambda array: array + 2),
        ("decider.coefficients", lambda array: array[:, :-1]),
        ("decider.intercepts", lambda array: np.append(array, 0.0)),
        ("decider.support", lambda array: array[:, :-1]),
        ("decider.support", lambda array: array * 1e12),
        ("decider.support", lambda array: array.astype(np.float32)),
    ],
)
def test_files_that_do_not_fit_together_are_refused(curved: Classifier, tmp_path: Path, key: str, change: Any) -> None:
    curved.save(tmp_path / "m.discern")
    arrays, metadata = files.load(tmp_path / "m.discern")
    spoiled = {**arrays, key: np.ascontiguousarray(change(np.array(arrays[key])))}
    content, _ = files.encode(spoiled, {name: value for name, value in metadata.items() if name != "checksum"})
    (tmp_path / "bad.discern").write_bytes(content)
    with pytest.raises(ModelFileError):
        load(tmp_path / "bad.discern")


def test_it_is_told_on_the_command_line(tmp_path: Path) -> None:
    data, path = tmp_path / "rings.csv", tmp_path / "m.discern"
    lines = [f"{row['label']},{row['x']},{row['y']}" for row in rings(200)]
    data.write_text("\n".join(["label,x,y", *lines]), "utf-8")
    run = CliRunner()
    made = run.invoke(app, ["fit", str(data), "-o", str(path), "--model", "svm", "--kernel", "rbf", "--cost", "5"])
    assert made.exit_code == 0
    shown = run.invoke(app, ["info", str(path)]).stdout
    assert "rbf, gamma" in shown
    assert "cost 5" in shown
    assert "support rows" in shown
    explained = run.invoke(app, ["explain", str(path), "--value", "x=0.1", "--value", "y=0.2"]).stdout
    assert "nearest support rows, with their similarity: row " in explained
    model = load(path)
    assert isinstance(model.fitted.model.decider, Kernels)  # type: ignore[union-attr]
