"""Loss, gradient and Hessian of logistic regression at given coefficients: sums over rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

import discern._native as _native
from discern.data.threads import default_threads
from discern.learners.linear import MOST_FUNCTIONS, linear_scores
from discern.learners.logistic.curvature import Curvature, shares_of
from discern.learners.logistic.rows import BLOCK_NUMBERS, LabeledRows, multipliable

Array = NDArray[Any]

MOST_NATIVE = 64
"""Up to this many columns the native code sums the Hessian of dense rows; beyond, BLAS does."""

FEW_OUTPUTS = 4
"""Up to this many outputs, a product of matrices takes longer than one with a vector for each."""


@dataclass(frozen=True)
class Statistics:
    """Loss, gradient and Hessian of rows at given coefficients: sums, so those of shards add up.

    Examples
    --------
    >>> X, y, w = np.array([[1.0], [2.0], [3.0]]), np.array([0, 1, 1]), np.zeros((1, 2))
    >>> whole, parts = statistics(X, y, w), statistics(X[:1], y[:1], w) + statistics(X[1:], y[1:], w)
    >>> whole.gradient.tolist() == parts.gradient.tolist()
    True
    """

    loss: float
    gradient: Array
    hessian: Array | None
    weight: float

    def __add__(self, other: Statistics) -> Statistics:
        both = self.hessian is not None and other.hessian is not None
        hessian = self.hessian + other.hessian if both else None  # type: ignore[operator]
        gradient = self.gradient + other.gradient
        return Statistics(self.loss + other.loss, gradient, hessian, self.weight + other.weight)


def statistics(
    table: Any,
    classes: Any,
    coefficients: Array,
    *,
    weights: Array | None = None,
    intercept: bool = True,
    hessian: bool = True,
) -> Statistics:
    """Return loss, gradient and Hessian of rows at given coefficients, without any penalty.

    Parameters
    ----------
    table : array or CSR matrix of shape (rows, features)
    classes : the number of each row's class: 0 or 1, or below the number of rows of ``coefficients``
    coefficients : array of shape (1, columns) for two classes, (classes, columns) for more; the intercept is last
    weights : weight of each row, 1 if not given
    intercept : whether ``coefficients`` has a last column for it
    hessian : whether to compute the Hessian, of shape (outputs × columns) squared

    Examples
    --------
    >>> statistics(np.array([[2.0]]), np.array([1]), np.zeros((1, 2))).gradient.tolist()
    [[-1.0, -0.5]]
    """
    coefficients = np.asarray(coefficients, np.float64)
    n_classes = 2 if len(coefficients) == 1 else len(coefficients)
    numbers = np.asarray(classes)
    if len(numbers) != table.shape[0] or np.any((numbers < 0) | (numbers >= n_classes)):
        raise ValueError(f"there must be one class for each row, a number from 0 to {n_classes - 1}")
    rows = LabeledRows(table, numbers.astype(np.int32), n_classes, weights, intercept)
    if coefficients.shape != (rows.outputs, rows.columns):
        raise ValueError(f"coefficients must have the shape {(rows.outputs, rows.columns)}, not {coefficients.shape}")
    return sums_of(rows, coefficients, hessian)


def sums_of(rows: LabeledRows, coefficients: Array, hessian: bool = True) -> Statistics:
    """Return loss, gradient and Hessian of rows at given coefficients, without any penalty."""
    if rows.sparse:
        return _sparse_sums(rows, coefficients, hessian)
    if rows.outputs == 1 and _is_native(rows.table) and (not hessian or rows.columns <= MOST_NATIVE):
        return _native_sums(rows, coefficients, hessian)
    return _dense_sums(rows, coefficients, hessian)


def _is_native(table: Array) -> bool:
    return table.dtype == np.float64 and table.flags.c_contiguous and table.shape[1] > 0


def _native_sums(rows: LabeledRows, coefficients: Array, hessian: bool) -> Statistics:
    weights = None if rows.weights is None else np.ascontiguousarray(rows.weights, np.float64)
    wide = coefficients[0] if rows.intercept else np.append(coefficients[0], 0.0)
    threads = default_threads() if len(rows.table) > 1 << 15 else 1
    loss, gradient, squared = _native.logistic_sums(
        rows.table, np.ascontiguousarray(rows.classes), np.ascontiguousarray(wide), weights, hessian, threads
    )
    columns = rows.columns
    squared = None if squared is None else squared[:columns, :columns]
    return Statistics(loss, gradient[None, :columns], squared, rows.total)


def _split(rows: LabeledRows, coefficients: Array) -> tuple[Array, Array]:
    """Return the weights of the columns and the intercepts."""
    features = rows.table.shape[1]
    weights = np.ascontiguousarray(coefficients[:, :features])
    return weights, coefficients[:, features].copy() if rows.intercept else np.zeros(len(weights))


def _residuals(rows: LabeledRows, scores: Array, intercepts: Array, block: slice, weighted: bool = True) -> float:
    """Replace scores, a line for each output, by the residuals of a block of the rows; return its loss."""
    weights = np.ascontiguousarray(rows.weights[block], np.float64) if weighted and rows.weights is not None else None
    return _native.logistic_residuals(scores, intercepts, np.ascontiguousarray(rows.classes[block]), weights)


def _dense_sums(rows: LabeledRows, coefficients: Array, hessian: bool) -> Statistics:
    """Sum dense rows in any order, block by block: two products by BLAS, and what is between them in native code."""
    (weights, intercepts), features = _split(rows, coefficients), rows.table.shape[1]
    curved = Curvature(rows) if hessian else None
    loss, gradient = 0.0, np.zeros((rows.outputs, rows.columns))
    size = rows.block_rows if curved is None else curved.block_rows
    room = np.empty(rows.outputs * min(size, len(rows.classes)))
    for block, table in rows.dense_blocks(size):
        scores = room[: rows.outputs * len(table)].reshape(rows.outputs, len(table))
        _multiply(weights, table, scores)
        plain = scores if rows.weights is None or curved is None else scores.copy()
        loss += _residuals(rows, scores, intercepts, block)
        if curved is not None:
            if plain is not scores:
                _residuals(rows, plain, intercepts, block, weighted=False)
            curved.add(table, plain, block)
        gradient[:, :features] += _product(scores, table)
        if rows.intercept:
            gradient[:, features] += scores.sum(axis=1)
    return Statistics(loss, gradient, None if curved is None else curved.hessian(), rows.total)


def _multiply(weights: Array, table: Array, scores: Array) -> None:
    """Write the scores of rows, a line for each output; few outputs one by one, for which BLAS copies no rows."""
    if len(weights) > FEW_OUTPUTS:
        np.matmul(weights, table.T, out=scores)
        return
    for own, line in zip(weights, scores, strict=True):
        np.matmul(table, own, out=line)


def _product(factors: Array, table: Array) -> Array:
    """Return the sums of rows times their factors, a line for each output; few outputs one by one."""
    if len(factors) > FEW_OUTPUTS:
        return np.asarray(factors @ table)
    return np.array([own @ table for own in factors])


def add_curvature(curved: Curvature, rows: LabeledRows, coefficients: Array) -> None:
    """Add the Hessian of dense rows at given coefficients."""
    weights, intercepts = _split(rows, coefficients)
    for block, table in rows.dense_blocks(curved.block_rows):
        scores = np.ascontiguousarray(weights @ table.T)
        _residuals(rows, scores, intercepts, block, weighted=False)
        curved.add(table, scores, block)


def _sparse_sums(rows: LabeledRows, coefficients: Array, hessian: bool) -> Statistics:
    (weights, intercepts), everything = _split(rows, coefficients), slice(None)
    scores = np.ascontiguousarray(np.asarray(rows.table @ weights.T).T, np.float64)
    plain = scores if rows.weights is None or not hessian else scores.copy()
    loss = _residuals(rows, scores, intercepts, everything)
    if plain is not scores:
        _residuals(rows, plain, intercepts, everything, weighted=False)
    squared = _sparse_hessian(rows, plain) if hessian else None
    return Statistics(loss, rows.sums(scores.T), squared, rows.total)


def _sparse_hessian(rows: LabeledRows, residuals: Array) -> Array:
    """Return the blocks Σ p_k (δ_kl − p_l) x xᵀ."""
    outputs, columns = rows.outputs, rows.columns
    shares, rests = shares_of(rows.classes, rows.n_classes, residuals)
    weighted = shares if rows.weights is None else shares * rows.weights
    blocks = np.empty((outputs, columns, outputs, columns))
    for k in range(outputs):
        for j in range(k + 1):
            factors = weighted[k] * (rests[k] if k == j else -shares[j])
            blocks[k, :, j, :] = blocks[j, :, k, :] = rows.gram(factors)
    return blocks.reshape(outputs * columns, outputs * columns)


def residuals_of(rows: LabeledRows, scores: Array) -> tuple[float, Array]:
    """Return the loss of all rows by their scores, and their weighted residuals, an output a column."""
    lines = np.array(scores.T, np.float64, order="C")
    return _residuals(rows, lines, np.zeros(len(lines)), slice(None)), lines.T


def probabilities(scores: Array) -> Array:
    """Return the probability of each class from the scores of each output.

    Examples
    --------
    >>> probabilities(np.array([[0.0]])).tolist()
    [[0.5, 0.5]]
    """
    if scores.shape[1] == 1:
        return np.hstack([expit(-scores), expit(scores)])
    shares = np.array(scores, np.float64, order="C")
    _native.to_probabilities(shares, default_threads())
    return shares


def pair_probabilities(table: Array, coefficients: Array) -> Array:
    """Return the probabilities of two classes for the rows of a dense table; NaN where a score is not finite."""
    wide = np.ascontiguousarray(coefficients.ravel(), np.float64)
    return _native.logistic_probabilities(np.ascontiguousarray(table), wide, default_threads())


def shares_of_rows(table: Array, coefficients: Array) -> Array:
    """Return the probability of each class for the rows of a dense table in any order; NaN where a score is not finite.

    ``coefficients`` has a row for each output and the intercept last.

    Examples
    --------
    >>> shares_of_rows(np.array([[0.0], [1.0]]), np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])).round(4).tolist()
    [[0.3333, 0.3333, 0.3333], [0.3333, 0.3333, 0.3333]]
    """
    if len(coefficients) == 1 and _is_native(table):
        return pair_probabilities(table, coefficients)
    scores = (
        linear_scores(table, coefficients[:, :-1], coefficients[:, -1]) if len(coefficients) <= MOST_FUNCTIONS else None
    )
    if scores is not None:
        shares = np.column_stack([np.zeros(len(table)), scores]) if len(coefficients) == 1 else scores
        _native.to_probabilities(shares, default_threads())
        return shares
    weights, outputs = np.ascontiguousarray(coefficients[:, :-1].T), len(coefficients)
    result = np.empty((len(table), max(outputs, 2)))
    size = max(BLOCK_NUMBERS // max(table.shape[1], outputs), 64)
    for start in range(0, len(table), size):
        block = slice(start, start + size)
        _fill_shares(multipliable(table[block]), weights, coefficients[:, -1], result[block])
    return result


def _fill_shares(table: Array, weights: Array, intercepts: Array, shares: Array) -> None:
    with np.errstate(all="ignore"):  # the caller looks for shares that are no numbers
        if len(intercepts) == 1:  # the log odds of the second class, beside those of the first
            shares[:, 0], shares[:, 1] = 0.0, (table @ weights)[:, 0]
            shares[:, 1] += intercepts
        else:
            np.matmul(table, weights, out=shares)
            shares += intercepts
        sound = np.isfinite(shares.sum())
    _native.to_probabilities(shares, 1)
    if not sound:
        shares[:] = np.nan
