"""Estimators on columns of numbers, in one reduce."""

import numpy as np
import pandas
import pyarrow as pa
import pytest

import discern.spark
from discern.data.strings import DataError
from discern.estimators.linear.centroids import BasicLinearClassifier
from discern.estimators.linear.discriminants import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

NAMES = ["x0", "x1", "x2"]


@pytest.fixture(scope="module")
def numbers() -> pa.Table:
    random = np.random.default_rng(0)
    y = random.integers(0, 3, 900)
    X = random.normal(size=(900, 3)) @ random.normal(size=(3, 3)) + 1e4 + y[:, None]
    return pa.table({"kind": y, **dict(zip(NAMES, X.T, strict=True))})


@pytest.mark.parametrize(
    "estimator",
    [
        LinearDiscriminantAnalysis(),
        LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
        QuadraticDiscriminantAnalysis(),
        BasicLinearClassifier(),
    ],
)
def test_like_on_one_machine(spark, numbers, estimator) -> None:
    frame = spark.createDataFrame(numbers).repartition(3)
    found = discern.spark.fit(frame, estimator, label="kind")
    X, y = np.column_stack([numbers.column(name) for name in NAMES]), numbers.column("kind").to_numpy()
    alone = type(estimator)(**estimator.get_params()).fit(X, y)
    assert found.classes_.tolist() == [0, 1, 2]
    assert found.feature_names_in_.tolist() == NAMES
    named = pandas.DataFrame(X, columns=NAMES)
    np.testing.assert_allclose(found.decision_function(named), alone.decision_function(X), rtol=1e-6, atol=1e-6)


def test_what_cannot_be_learned_is_refused(spark, numbers) -> None:
    frame = spark.createDataFrame(numbers)
    with pytest.raises(ValueError, match="without a kernel"):
        discern.spark.fit(frame, BasicLinearClassifier(kernel="rbf"), label="kind")
    gaps = numbers.set_column(2, "x1", pa.array([None, *numbers.column("x1").to_pylist()[1:]], pa.float64()))
    with pytest.raises(DataError, match=r"has no number in column 'x1'; fill it"):
        discern.spark.fit(spark.createDataFrame(gaps), BasicLinearClassifier(), label="kind")
