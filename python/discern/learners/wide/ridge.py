"""Least squares with a ridge from fewer rows than columns: w = (AᵀA + αI)⁻¹Aᵀy = Aᵀ(AAᵀ + αI)⁻¹y.

Results are those of :mod:`discern.learners.ridge`, to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.learners.ridge import PENALTIES, Choice, TargetRows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

NO_VALUE = 1e-13
"""An eigenvalue of a smaller share of the largest is 0."""


@dataclass(frozen=True)
class WideRidge:
    """Least squares with a ridge: weights, a column a target, the intercepts, and the penalty."""

    weights: Array
    intercepts: Array
    choice: Choice


def solve_ridge_wide(rows: TargetRows, penalty: Any, intercept: bool = True) -> WideRidge:
    """Solve least squares for fewer rows than columns; ``penalty`` is a number, one for each target, or "auto".

    Examples
    --------
    >>> rows = TargetRows.of(np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0]]), np.array([0, 1]))
    >>> solve_ridge_wide(rows, 1.0).weights.round(4).tolist()
    [[0.4], [-0.4], [-0.4]]
    """
    kept = np.flatnonzero(rows.weights > 0)
    if len(kept) < len(rows.weights):
        rows = TargetRows(rows.table[kept], rows.aims[kept], rows.weights[kept], rows.units[kept])
    total = float(rows.weights.sum())
    roots = np.sqrt(rows.weights)[:, None]
    mean = np.asarray(rows.weights @ rows.table).ravel() / total if intercept else np.zeros(rows.table.shape[1])
    target = rows.weights @ rows.aims / total if intercept else np.zeros(rows.aims.shape[1])
    products = _centered_products(rows.table, mean) * roots * roots.T
    sides = roots * (rows.aims - target)
    choice = Choice(penalty, np.nan)
    if isinstance(penalty, str):
        choice = _chosen(products, sides, rows, target, intercept)
    duals = roots * _solve_duals(products, sides, choice.penalty)
    weights = np.asarray(rows.table.T @ duals) - np.outer(mean, duals.sum(axis=0))
    return WideRidge(weights, target - mean @ weights if intercept else target, choice)


def _centered_products(table: Any, mean: Array) -> Array:
    """Return the products of rows less the mean; sparse rows stay sparse."""
    if isinstance(table, np.ndarray):
        centered = table - mean
        return np.asarray(centered @ centered.T)
    along = np.asarray(table @ mean)
    return np.asarray((table @ table.T).toarray() - along[:, None] - along + mean @ mean)


def _solve_duals(products: Array, sides: Array, penalty: Any) -> Array:
    import scipy.linalg

    penalties = np.broadcast_to(np.asarray(penalty, np.float64), sides.shape[1:])
    duals = np.empty_like(sides)
    for value in np.unique(penalties):
        chosen = penalties == value
        shifted = products + value * np.eye(len(products))
        try:
            factor = scipy.linalg.cho_factor(shifted, check_finite=False)
            sound = bool(np.all(np.diagonal(factor[0]) ** 2 > NO_VALUE * np.diagonal(shifted)))
        except np.linalg.LinAlgError:
            sound = False
        if sound:
            duals[:, chosen] = scipy.linalg.cho_solve(factor, sides[:, chosen], check_finite=False)
        else:
            duals[:, chosen] = scipy.linalg.pinvh(shifted) @ sides[:, chosen]
    return duals


def _chosen(products: Array, sides: Array, rows: TargetRows, target: Array, intercept: bool) -> Choice:
    """Choose the penalty by leave-one-out in closed form, as :func:`discern.learners.ridge.choose_penalty` does."""
    values, vectors = np.linalg.eigh(products)
    kept = values > NO_VALUE * max(float(values[-1]), 0.0)
    values, vectors, columns = values[kept], vectors[:, kept], rows.table.shape[1]
    penalties = PENALTIES * (float(values.sum()) / columns or 1.0)
    shares = 1.0 / (values[:, None] + penalties)
    total, roots = float(rows.weights.sum()), np.sqrt(rows.weights)[:, None]
    # A row in the coordinates of AᵀA, and the targets in them.
    parts = vectors * np.sqrt(values) / roots
    rotated = np.sqrt(values)[:, None] * (vectors.T @ sides)
    leverages = rows.units[:, None] * (int(intercept) / total + parts**2 @ shares)
    errors = np.zeros(len(penalties))
    for place, aims in enumerate(rows.aims.T):
        fitted = target[place] + parts @ (rotated[:, place, None] * shares)
        left = (aims[:, None] - fitted) / np.maximum(1 - leverages, 1e-12)
        errors += rows.weights @ left**2
    errors /= total * rows.aims.shape[1]
    best = int(np.argmin(errors))
    return Choice(float(penalties[best]), float(errors[best]))
