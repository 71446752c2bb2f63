"""Models in a vector space reach what one machine reaches."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import discern.classifier
import discern.spark
import discern.spark.vectors as vectors
from discern.classifier import Classifier
from discern.learners.logistic.fitting import fit_logistic
from discern.learners.logistic.objective import PenalizedLoss
from discern.learners.logistic.rows import LabeledRows
from discern.learners.margins import MarginSettings, fit_margins
from discern.models.validation.rows import Sample
from discern.spark.frames import batch_of

GIVEN: dict[str, Any] = {"text": "text", "category": "country", "flag": "paid", "number": "size", "calibrate": False}


def matrix_of(model: Classifier, rows: Any) -> tuple[Any, Any]:
    batch = batch_of(rows, "the rows")
    sample = Sample.of([batch], "label", ["text"], None)
    return model.solved.space.of_batch(batch, 1)[0], sample.classes


def logistic_objective(model: Classifier, rows: Any) -> tuple[float, float]:
    """What the model's weights cost, and the least that any cost."""
    matrix, classes = matrix_of(model, rows)
    count = len(model.labels)
    penalty = np.append(np.full(matrix.shape[1], 1 / model.resolved.pipeline.regularization.cost), 0.0)
    objective = PenalizedLoss(LabeledRows(matrix, classes, count), penalty)
    decider = model.solved.decider
    found = np.hstack([decider.weights.T, decider.bias[:, None]])
    optimum = fit_logistic(objective.rows, penalty, tol=1e-12, solver="truncated newton")
    return objective.at(found, hessian=False).loss, optimum.convergence.objective


def hinge_objective(model: Classifier, rows: Any) -> tuple[float, float]:
    """What the model's weights cost, and what no weights cost less than: the value of the dual."""
    matrix, classes = matrix_of(model, rows)
    decider = model.solved.decider
    targets = np.where(classes[:, None] == np.arange(3), 1.0, -1.0)
    slack = np.maximum(0.0, 1.0 - targets * (matrix @ decider.weights + decider.bias))
    best = fit_margins(matrix, classes, 3, MarginSettings(tolerance=1e-10))
    ours = 0.5 * np.sum(decider.weights**2) + 0.5 * np.sum(decider.bias**2) + np.sum(slack**2)
    return float(ours), float(best.certificate.dual.sum())


@pytest.fixture(autouse=True)
def half(monkeypatch) -> None:
    """About half of the rows is kept on the driver: what is minimized starts from their optimum, not from its own."""
    monkeypatch.setattr("discern.models.validation.rows.MOST_KEPT", 180_000)


@pytest.mark.parametrize(
    "settings",
    [
        {"ngrams": (1, 1)},
        {"max_terms": 20},
        *({"max_terms": 20, "basis": one} for one in ("normal", "bins", "quadratic", "bumps")),
    ],
)
def test_logistic_regression_reaches_the_optimum(frame, rows, settings) -> None:
    model = discern.spark.fit(frame, Classifier(model="logistic", **GIVEN, **settings))
    ours, least = logistic_objective(model, rows)
    assert ours <= least * (1 + 1e-8)


def test_squared_hinge_reaches_the_optimum(frame, rows) -> None:
    model = discern.spark.fit(frame, Classifier(model="linear-svm", **GIVEN, max_terms=20))
    ours, least = hinge_objective(model, rows)
    assert ours <= least * (1 + 1e-8)


def local(matrix: Any, classes: Any, labels: tuple[str, ...]) -> vectors.Vectors:
    """Rows that are summed here."""
    rows: Any = object.__new__(vectors.Vectors)
    rows.labels, rows.rows, rows.space = labels, len(classes), SimpleNamespace(n_axes=matrix.shape[1])
    rows.total = lambda work, *arguments: dict(work(*arguments, matrix, classes))
    return rows


@pytest.mark.parametrize("model", ["logistic", "linear-svm"])
def test_from_zero_without_a_sample(rows, model) -> None:
    alone = Classifier(model=model, **GIVEN, ngrams=(1, 1)).fit(rows)
    matrix, classes = matrix_of(alone, rows)
    found = vectors._minimum(local(matrix, classes, alone.labels), alone.resolved.pipeline, None, None, None)
    decider = replace(alone.solved.decider, weights=found[:, :-1].T, bias=found[:, -1])
    alone.take(replace(alone.fitted, learned=replace(alone.solved, decider=decider)))
    ours, least = (logistic_objective if model == "logistic" else hinge_objective)(alone, rows)
    assert ours <= least * (1 + 1e-8)


@pytest.mark.parametrize("model", ["lda", "qda", "ridge", "centroids", "lda:normal", "ridge:bins", "ridge:bumps"])
def test_sums_have_the_bytes_of_one_machine(frame, rows, model) -> None:
    model, _, basis = model.partition(":")
    settings = {**GIVEN, "model": model, "basis": basis or "auto", "max_terms": 12, "calibrate": "auto"}
    alone = Classifier(**settings).fit(rows)
    found = discern.spark.fit(frame.repartition(5), Classifier(**settings))
    assert found.checksum() == alone.checksum()
    assert found.forget(rows.slice(0, 7)) == alone.forget(rows.slice(0, 7))
    assert discern.spark.cross_validate(frame, Classifier(**settings), folds=3).accuracy > 0.3


def test_calibrated_like_on_one_machine(frame, rows, monkeypatch) -> None:
    monkeypatch.setattr("discern.models.validation.rows.MOST_KEPT", 1 << 26)
    settings = {**GIVEN, "model": "logistic", "max_terms": 12, "calibrate": "auto"}
    found, alone = discern.spark.fit(frame, Classifier(**settings)), Classifier(**settings).fit(rows)
    assert found.resolved.calibration == alone.resolved.calibration


def test_more_partitions_than_the_driver_adds_up(frame, monkeypatch) -> None:
    settings = {**GIVEN, "model": "logistic", "max_terms": 12}
    whole = discern.spark.fit(frame, Classifier(**settings))
    monkeypatch.setattr(vectors, "FEW_PARTS", 4)
    found = discern.spark.fit(frame.repartition(9), Classifier(**settings))
    np.testing.assert_allclose(found.solved.decider.weights, whole.solved.decider.weights, rtol=1e-6, atol=1e-9)


def test_other_models_are_refused(frame) -> None:
    with pytest.raises(ValueError, match="'knn' cannot be learned by sums"):
        discern.spark.fit(frame, Classifier(model="knn", **GIVEN))
    with pytest.raises(ValueError, match="levels='means' needs all rows in memory"):
        discern.spark.fit(frame, Classifier(model="logistic", levels="means", **GIVEN))
