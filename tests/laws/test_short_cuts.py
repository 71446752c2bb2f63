"""What is computed in a faster way for some shapes is what the plain way gives."""

from typing import Any

import numpy as np
import pandas
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from discern.data.readers import batches
from discern.estimators.kernel import SVC
from discern.estimators.linear.discriminants import LinearDiscriminantAnalysis
from discern.estimators.linear.ridge import RidgeClassifier
from discern.learners.logistic.fitting import fit_logistic
from discern.learners.logistic.inference import laplace, score_covariances
from discern.learners.logistic.narrow import NarrowRows
from discern.learners.logistic.rows import LabeledRows
from discern.learners.ridge import is_iterated
from discern.models.vector_space.axes import joined

Array = Any


def labeled(seed: int, rows: int, columns: int, classes: int) -> tuple[Array, Array]:
    random = np.random.default_rng(seed)
    numbers = np.arange(rows) % classes
    return random.standard_normal((rows, columns)) + 0.3 * numbers[:, None], numbers.astype(np.int32)


@given(st.integers(0, 99), st.integers(5, 12), st.integers(2, 4), st.booleans(), st.booleans())
@settings(deadline=None, max_examples=25)
def test_few_rows_are_fitted_as_in_the_space_of_the_columns(
    seed: int, rows: int, classes: int, intercept: bool, weighted: bool
) -> None:
    table, numbers = labeled(seed, rows, 5 * rows, classes)
    weights = np.random.default_rng(seed).uniform(0.5, 2.0, rows) if weighted else None
    given = LabeledRows(table, numbers, classes, weights, intercept)
    penalty = np.append(np.full(5 * rows, 0.7), [0.0] * intercept)
    assert NarrowRows.of(given, penalty) is not None
    short, plain = (fit_logistic(given, penalty, solver=name, tol=1e-10) for name in ("auto", "truncated newton"))
    assert short.convergence.converged
    assert short.convergence.objective == pytest.approx(plain.convergence.objective, rel=1e-9)
    np.testing.assert_allclose(short.coefficients, plain.coefficients, atol=1e-6)


def test_dependent_rows_and_different_ridges_stay_in_the_space_of_the_columns() -> None:
    table, numbers = labeled(0, 6, 40, 2)
    same = np.append(np.ones(40), 0.0)
    twice = LabeledRows(table[[0, 1, 2, 3, 4, 0]], numbers, 2)
    assert NarrowRows.of(twice, same) is None
    assert NarrowRows.of(LabeledRows(table, numbers, 2), np.append(np.arange(1.0, 41.0), 0.0)) is None
    assert NarrowRows.of(LabeledRows(table, numbers, 2), np.zeros(41)) is None
    assert fit_logistic(twice, same).convergence.converged


def test_a_sparse_table_of_numbers_is_fitted_like_a_dense_one() -> None:
    table, numbers = labeled(1, 60, 4, 3)
    penalty = np.array([1.0, 1.0, 1.0, 1.0, 0.0])
    dense, sparse = (
        fit_logistic(LabeledRows(found, numbers, 3), penalty) for found in (table, scipy.sparse.csr_array(table))
    )
    np.testing.assert_allclose(sparse.coefficients, dense.coefficients, atol=1e-12)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_fit_without_a_penalty_finds_the_maximum_and_separation(classes: int) -> None:
    random = np.random.default_rng(0)
    table, numbers = random.standard_normal((900, 8)), (np.arange(900) % classes).astype(np.int32)
    found = fit_logistic(LabeledRows(table, numbers, classes), np.zeros(9))
    assert found.separation is None
    assert found.convergence.converged
    apart = fit_logistic(LabeledRows(table + 9.0 * numbers[:, None], numbers, classes), np.zeros(9))
    assert apart.separation is not None
    assert apart.separation.rows == 900


def test_covariances_of_scores_are_quadratic_forms() -> None:
    table, numbers = labeled(3, 90, 3, 3)
    rows = LabeledRows(table, numbers, 3)
    posterior = laplace(rows, 1.0)
    wide = np.hstack([table, np.ones((90, 1))])
    blocks = posterior.covariance.reshape(3, 4, 3, 4)
    expected = np.einsum("ij,kjlm,im->ikl", wide, blocks, wide)
    np.testing.assert_allclose(score_covariances(rows, posterior), expected, atol=1e-12)


def test_ridge_of_many_sparse_columns_is_that_of_their_products() -> None:
    random = np.random.default_rng(0)
    table = scipy.sparse.random_array((700, 500), density=0.003, rng=random, format="csr")
    numbers = random.integers(0, 3, 700)
    assert is_iterated(table, 3)
    sparse, dense = RidgeClassifier().fit(table, numbers), RidgeClassifier().fit(table.toarray(), numbers)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-7)
    np.testing.assert_allclose(sparse.intercept_, dense.intercept_, atol=1e-7)
    more, whole = sparse.partial_fit(table[:50], numbers[:50]), dense.partial_fit(table[:50].toarray(), numbers[:50])
    np.testing.assert_allclose(more.coef_, whole.coef_, atol=1e-7)


@pytest.mark.parametrize("made", [LinearDiscriminantAnalysis, RidgeClassifier])
def test_32_bit_rows_have_32_bit_results(made: Any) -> None:
    table, numbers = labeled(5, 60, 4, 3)
    model, wide = made().fit(table.astype(np.float32), numbers), made().fit(table, numbers)
    assert model.coef_.dtype == model.decision_function(table.astype(np.float32)).dtype == np.float32
    assert wide.coef_.dtype == np.float64
    np.testing.assert_allclose(
        model.decision_function(table.astype(np.float32)), wide.decision_function(table), atol=1e-4
    )


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid"])
def test_a_row_alone_is_decided_as_among_others(kernel: str, classes: int) -> None:
    table, numbers = labeled(7, 80, 5, classes)
    model = SVC(kernel=kernel, decision_function_shape="ovo").fit(table, numbers)
    together = model.decision_function(table)
    alone = np.concatenate([model.decision_function(table[place : place + 1]) for place in range(80)])
    np.testing.assert_allclose(alone, together, atol=1e-12)
    assert model.predict(table[:1]).tolist() == model.predict(table)[:1].tolist()


def test_numbers_of_a_frame_are_read_as_they_are_one_by_one() -> None:
    random = np.random.default_rng(0)
    columns = {f"x{place}": random.standard_normal(30) for place in range(9)} | {"whole": np.arange(30)}
    columns |= {"yes": random.random(30) > 0.5, "small": random.standard_normal(30).astype(np.float32)}
    frame = pandas.DataFrame(
        {"label": ["a", "b", "c"] * 10, **columns, "day": pandas.date_range("2026-01-01", periods=30)}
    )
    [found] = batches(frame)
    assert list(found.columns) == list(frame.columns)
    for name in frame.columns:
        [alone] = batches(frame[[name]])
        assert list(map(str, found.columns[name])) == list(map(str, alone.columns[name]))
        assert found.columns[name] is not None
    [none] = batches(pandas.concat([frame, frame]).iloc[::2])
    assert none.rows == 30


@given(st.lists(st.sampled_from("ds"), min_size=1, max_size=6), st.integers(0, 3))
@settings(deadline=None, max_examples=30)
def test_dense_and_sparse_columns_are_joined_in_order(kinds: list[str], rows: int) -> None:
    random = np.random.default_rng(len(kinds))
    parts = [random.integers(0, 3, (rows, 2)).astype(float) for _ in kinds]
    given = [part if kind == "d" else scipy.sparse.csr_array(part) for part, kind in zip(parts, kinds, strict=True)]
    assert joined(given).toarray().tolist() == np.hstack(parts).tolist()
