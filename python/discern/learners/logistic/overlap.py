"""Prove that classes overlap, so that logistic regression without a penalty has a maximum."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discern.learners.logistic.rows import LabeledRows, dense_table
from discern.learners.logistic.sums import probabilities, sums_of
from discern.learners.newton import Inverse

Array = NDArray[Any]

SOME_PER_COLUMN = 4
"""The residuals of about this many rows for each column are changed: the more, the smaller the changes."""
MOST_CHANGED = 0.5
"""By which share a residual may change. Below 1 it keeps its sign; the rest is room for rounding."""


def classes_overlap(rows: LabeledRows, coefficients: Array) -> bool:
    """Return whether the classes of dense rows are proved to overlap; False if there is no proof.

    By the theorem of Stiemke (1915) no direction separates the classes, not even weakly, if residuals of the right
    signs, none of them 0, have Σ r x = 0. Those at a maximum have it. Near one it remains to change the residuals of
    some rows a little: by −D (x·u), where D is the least residual of the row and u solves (Σ D x xᵀ) u = Σ r x.

    Examples
    --------
    >>> rows = LabeledRows(np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 1, 0, 1], np.int32), 2)
    >>> classes_overlap(rows, np.array([[0.9082, -1.3623]])), classes_overlap(rows, np.array([[9.0, 0.0]]))
    (True, False)
    """
    gradient = sums_of(rows, coefficients, hessian=False).gradient
    some = rows.take(slice(None, None, max(len(rows.classes) // (SOME_PER_COLUMN * rows.columns), 1)))
    shares = probabilities(some.scores(coefficients))
    shares[np.arange(len(shares)), some.classes] = 1.0  # a residual is the share of another class
    least = shares.min(axis=1)
    weights = least if some.weights is None else least * some.weights
    if not np.all(np.isfinite(weights)):
        return False
    table = dense_table(some)
    rooted = table * np.sqrt(weights)[:, None]
    inverse = Inverse.of(rooted.T @ rooted)
    if inverse.singular:
        return False
    return bool(np.abs(table @ inverse.solve(gradient.T)).max(initial=0.0) <= MOST_CHANGED)
