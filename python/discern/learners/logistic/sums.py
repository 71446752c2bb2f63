"""Loss, gradient and Hessian of logistic regression at given coefficients: sums over rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp

import discern._native as _native
from discern.data.threads import default_threads
from discern.learners.logistic.rows import LabeledRows

Array = NDArray[Any]

MOST_NATIVE = 64
"""Up to so many columns the Hessian of dense rows is summed by the native code, beyond by BLAS."""


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
    hessian : whether to give the Hessian, of shape (outputs × columns) squared

    Examples
    --------
    >>> statistics(np.array([[2.0]]), np.array([1]), np.zeros((1, 2))).gradient.tolist()
    [[-1.0, -0.5]]
    """
    coefficients = np.asarray(coefficients, np.float64)
    width = 2 if len(coefficients) == 1 else len(coefficients)
    numbers = np.asarray(classes)
    if len(numbers) != table.shape[0] or np.any((numbers < 0) | (numbers >= width)):
        raise ValueError(f"there must be one class for each row, a number from 0 to {width - 1}")
    rows = LabeledRows(table, numbers.astype(np.int32), width, weights, intercept)
    if coefficients.shape != (rows.outputs, rows.columns):
        raise ValueError(f"coefficients must have the shape {(rows.outputs, rows.columns)}, not {coefficients.shape}")
    return sums_of(rows, coefficients, hessian)


def sums_of(rows: LabeledRows, coefficients: Array, hessian: bool = True) -> Statistics:
    """Return loss, gradient and Hessian of rows at given coefficients, without any penalty."""
    if rows.outputs == 1 and not rows.sparse and (not hessian or rows.columns <= MOST_NATIVE):
        return _native_sums(rows, coefficients, hessian)
    one = _binary_sums if rows.outputs == 1 else _multinomial_sums
    blocks = rows.blocks()
    total = one(next(blocks), coefficients, hessian)
    for block in blocks:
        total = total + one(block, coefficients, hessian)
    return total


def _native_sums(rows: LabeledRows, coefficients: Array, hessian: bool) -> Statistics:
    table = np.ascontiguousarray(rows.table, np.float64)
    weights = None if rows.weights is None else np.ascontiguousarray(rows.weights, np.float64)
    wide = coefficients[0] if rows.intercept else np.append(coefficients[0], 0.0)
    threads = default_threads() if len(table) > 1 << 15 else 1
    loss, gradient, squared = _native.logistic_sums(
        table, np.ascontiguousarray(rows.classes), np.ascontiguousarray(wide), weights, hessian, threads
    )
    columns = rows.columns
    squared = None if squared is None else squared[:columns, :columns]
    return Statistics(loss, gradient[None, :columns], squared, rows.total)


def _binary_sums(rows: LabeledRows, coefficients: Array, hessian: bool) -> Statistics:
    scores = rows.scores(coefficients)[:, 0]
    probability, rest = expit(scores), expit(-scores)
    loss = losses(scores[:, None], rows.classes)
    residual = np.where(rows.classes == 1, -rest, probability)
    curvature = probability * rest
    if rows.weights is not None:
        loss, residual, curvature = (rows.weights * part for part in (loss, residual, curvature))
    gram = rows.gram(curvature) if hessian else None
    return Statistics(float(loss.sum()), rows.sums(residual[:, None]), gram, rows.total)


def _multinomial_sums(rows: LabeledRows, coefficients: Array, hessian: bool) -> Statistics:
    scores = rows.scores(coefficients)
    levels = logsumexp(scores, axis=1, keepdims=True)
    every, weights = np.arange(len(scores)), np.ones(len(scores)) if rows.weights is None else rows.weights
    loss = float(weights @ (levels[:, 0] - scores[every, rows.classes]))
    shares = np.exp(scores - levels)
    residual = shares.copy()
    residual[every, rows.classes] -= 1.0
    gram = _multinomial_hessian(rows, shares, weights) if hessian else None
    return Statistics(loss, rows.sums(residual * weights[:, None]), gram, rows.total)


def _multinomial_hessian(rows: LabeledRows, shares: Array, weights: Array) -> Array:
    """Return the blocks Σ p_k (δ_kl − p_l) x xᵀ."""
    width, columns = rows.outputs, rows.columns
    blocks = np.empty((width, columns, width, columns))
    for k in range(width):
        for j in range(k + 1):
            factors = weights * shares[:, k] * ((k == j) - shares[:, j])
            blocks[k, :, j, :] = blocks[j, :, k, :] = rows.gram(factors)
    return blocks.reshape(width * columns, width * columns)


def losses(scores: Array, classes: Array) -> Array:
    """Return the loss of each row from the scores of each output."""
    if scores.shape[1] == 1:
        return np.asarray(np.logaddexp(0.0, np.where(classes == 1, -scores[:, 0], scores[:, 0])))
    return np.asarray(logsumexp(scores, axis=1) - scores[np.arange(len(scores)), classes])


def probabilities(scores: Array) -> Array:
    """Return the probability of each class from the scores of each output.

    Examples
    --------
    >>> probabilities(np.array([[0.0]])).tolist()
    [[0.5, 0.5]]
    """
    if scores.shape[1] == 1:
        return np.hstack([expit(-scores), expit(scores)])
    return np.asarray(np.exp(scores - logsumexp(scores, axis=1, keepdims=True)))


def pair_probabilities(table: Array, coefficients: Array) -> Array:
    """Return the probabilities of two classes for the rows of a dense table; NaN where a score is not finite."""
    wide = np.ascontiguousarray(coefficients.ravel(), np.float64)
    return _native.logistic_probabilities(np.ascontiguousarray(table), wide, default_threads())
