"""Predictions and figures are those of one machine."""

from typing import Any

import numpy as np
import pytest

import discern.classifier
import discern.spark
from discern.analysis.crossvalidation import cross_validate
from discern.classifier import Classifier
from discern.data.strings import DataError

GIVEN: dict[str, Any] = {"text": "text", "category": "country", "flag": "paid", "number": "size"}


@pytest.fixture(scope="module")
def model(rows) -> Classifier:
    return Classifier(**GIVEN).fit(rows)


def test_predictions(frame, rows, model) -> None:
    found = discern.spark.predict(frame, model, probabilities="every").toArrow()
    shares = model.predict_proba(rows)
    assert found.column_names == [*rows.column_names, "prediction", "probability", "every"]
    assert found.column("prediction").to_pylist() == model.predict(rows).tolist()
    np.testing.assert_array_equal(found.column("probability").to_numpy(), shares.max(axis=1))
    np.testing.assert_array_equal(np.array(found.column("every").to_pylist()), shares)


def test_predictions_of_a_kernel(frame, rows) -> None:
    bent = Classifier(model="svm", **GIVEN).fit(rows)
    found = discern.spark.predict(frame.repartition(3), bent, probabilities="every").toArrow()
    alone = Classifier.predict_proba(bent, found.select(rows.column_names))
    np.testing.assert_array_equal(np.array(found.column("every").to_pylist()), alone)


def test_predictions_by_means_of_levels(frame, rows) -> None:
    made = Classifier(model="logistic", levels="means", **GIVEN).fit(rows)
    found = discern.spark.predict(frame.repartition(3), made, probabilities="every").toArrow()
    alone = Classifier.predict_proba(made, found.select(rows.column_names))
    np.testing.assert_array_equal(np.array(found.column("every").to_pylist()), alone)


def test_a_column_that_is_there_is_not_overwritten(frame, model) -> None:
    with pytest.raises(DataError, match="'text' already"):
        discern.spark.predict(frame, model, prediction="text")
    with pytest.raises(DataError, match="the frame has no column 'country'; did you mean"):
        discern.spark.predict(frame.withColumnRenamed("country", "county"), model)


def test_evaluation(frame, rows, model) -> None:
    assert discern.spark.evaluate(frame.repartition(5), model) == model.evaluate(rows)


def test_cross_validation_of_few_rows(frame, rows) -> None:
    ours = discern.spark.cross_validate(frame, Classifier(**GIVEN, smoothing=1.0), 5)
    assert ours.total == cross_validate(Classifier(**GIVEN, smoothing=1.0), rows, 5).total


def test_cross_validation_of_many_rows(frame, rows, monkeypatch) -> None:
    monkeypatch.setattr("discern.models.validation.rows.MOST_KEPT", 10_000)
    settings = {**GIVEN, "smoothing": 1.0, "numbers": "gaussian", "min_df": 2}
    ours = discern.spark.cross_validate(frame.repartition(3), Classifier(**settings), 4)
    assert ours.total.rows == rows.num_rows
    assert len(ours.folds) == 4
    from discern.models.validation.rows import row_keys
    from discern.spark.frames import batch_of
    from discern.spark.sums import fold_numbers

    numbers = fold_numbers(row_keys(batch_of(rows, ""), ["label", "text", "size", "country", "paid"]), 4)
    for fold in range(4):
        rest, left = rows.filter(numbers != fold), rows.filter(numbers == fold)
        alone = Classifier(**settings).fit(rest).evaluate(left)
        np.testing.assert_array_equal(ours.folds[fold].confusion, alone.confusion)
        np.testing.assert_allclose(ours.folds[fold].log_loss, alone.log_loss, rtol=1e-12)
