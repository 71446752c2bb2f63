"""Models in a vector space reach what one machine reaches."""

from typing import Any

import numpy as np
import pytest

import discern.logistic as logistic
import discern.spark
import discern.spatial as spatial
from discern.classifier import Classifier
from discern.data import DataError
from discern.linear import MarginSettings, fit_margins
from discern.spark.frames import batch_of
from discern.validate import Sample

GIVEN: dict[str, Any] = {"text": "text", "category": "country", "flag": "paid", "number": "size", "calibrate": False}


def matrix_of(model: Classifier, rows: Any) -> tuple[Any, Any]:
    batch = batch_of(rows, "the rows")
    sample = Sample.of([batch], "label", ["text"], None)
    return model.solved.space.of_batch(batch, 1)[0], sample.classes


def logistic_objective(model: Classifier, rows: Any) -> tuple[float, float]:
    """What the model's weights cost, and the least that any cost."""
    matrix, classes = matrix_of(model, rows)
    count = len(model.labels)
    penalty = np.append(np.full(matrix.shape[1], 1 / model.recipe.strength.cost), 0.0)
    objective = logistic.Objective(logistic.Rows(matrix, classes, count), penalty)
    decider = model.solved.decider
    found = np.hstack([decider.weights.T, decider.bias[:, None]])
    optimum = logistic.fit(objective.rows, penalty, tol=1e-12, solver="truncated newton")
    return objective.at(found, hessian=False).loss, optimum.convergence.objective


@pytest.mark.parametrize(("labels", "settings"), [(2, {"ngrams": (1, 2)}), (3, {"features": 20}), (2, {"features": 30})])
def test_logistic_regression_reaches_the_optimum(frame, rows, labels, settings) -> None:
    if labels == 2:
        keep = [label != "ham" for label in rows.column("label").to_pylist()]
        frame, rows = frame.where("label != 'ham'"), rows.filter(keep)
    model = discern.spark.fit(frame, Classifier(model="logistic", **GIVEN, **settings))
    assert len(model.labels) == labels
    ours, least = logistic_objective(model, rows)
    assert ours <= least * (1 + 1e-8)


def test_squared_hinge_reaches_the_optimum(frame, rows) -> None:
    model = discern.spark.fit(frame.repartition(3), Classifier(model="linear-svm", **GIVEN, ngrams=(1, 1)))
    matrix, classes = matrix_of(model, rows)
    best = fit_margins(matrix, classes, 3, MarginSettings(tolerance=1e-10))
    np.testing.assert_allclose(model.solved.decider.weights, best.coef.T, atol=1e-5)
    np.testing.assert_allclose(model.solved.decider.bias, best.intercept, atol=1e-5)


@pytest.mark.parametrize("model", ["lda", "qda"])
def test_discriminants_in_one_reduce(frame, rows, model, monkeypatch) -> None:
    settings = {**GIVEN, "model": model, "features": 12}
    alone = Classifier(**settings).fit(rows)
    found = discern.spark.fit(frame.repartition(5), Classifier(**settings))
    np.testing.assert_allclose(found.predict_proba(rows), alone.predict_proba(rows), atol=1e-8)
    assert found.solved.space.axes[0].terms == alone.solved.space.axes[0].terms or (
        found.solved.space.axes[0].terms.to_list() == alone.solved.space.axes[0].terms.to_list()
    )


def test_calibrated_like_on_one_machine(frame, rows) -> None:
    settings = {**GIVEN, "model": "lda", "features": 12, "calibrate": "auto"}
    found, alone = discern.spark.fit(frame, Classifier(**settings)), Classifier(**settings).fit(rows)
    assert found.calibration == alone.calibration


def test_more_partitions_than_the_driver_adds_up(frame, monkeypatch) -> None:
    import discern.spark.vectors as vectors

    settings = {**GIVEN, "model": "lda", "features": 12}
    whole = discern.spark.fit(frame, Classifier(**settings))
    monkeypatch.setattr(vectors, "FEW_PARTS", 4)
    found = discern.spark.fit(frame.repartition(9), Classifier(**settings))
    np.testing.assert_allclose(found.solved.decider.weights, whole.solved.decider.weights, rtol=1e-9, atol=1e-12)


def test_other_models_are_refused(frame) -> None:
    with pytest.raises(ValueError, match="'knn' cannot be learned by sums"):
        discern.spark.fit(frame, Classifier(model="knn", **GIVEN))
