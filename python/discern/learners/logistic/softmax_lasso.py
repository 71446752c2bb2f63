"""Softmax regression with an L1 penalty: newGLMNET over the weights of all outputs at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import discern._native as _native
from discern.learners.logistic.curvature import shares_of
from discern.learners.logistic.lasso import Penalties, Sparsest, native_columns
from discern.learners.logistic.rows import LabeledRows
from discern.learners.logistic.sums import residuals_of
from discern.learners.newton import Observer, unobserved

Array = NDArray[Any]

MOST_PASSES = 200
"""The most passes of coordinate descent for one step."""
LEAST_SHARE = 1e-4
"""A step is solved no more exactly than to this share of the violations it begins with."""
DECREASE = 0.01
"""The share of the expected decrease that a step must bring."""
MOST_HALVINGS = 30


@dataclass(frozen=True)
class _Slopes:
    """The loss of some scores, its derivative by each score, an output a column, and the shares, an output a line."""

    loss: float
    residuals: Array
    shares: Array

    @classmethod
    def at(cls, rows: LabeledRows, scores: Array) -> _Slopes:
        loss, residuals = residuals_of(rows, scores)
        alike = LabeledRows(rows.table, rows.classes, rows.n_classes)
        plain = residuals if rows.weights is None else residuals_of(alike, scores)[1]
        return cls(loss, residuals, shares_of(rows.classes, rows.n_classes, plain.T)[0])


def minimize_softmax_lasso(
    rows: LabeledRows,
    penalties: Penalties,
    tol: float,
    max_iter: int,
    start: Array | None = None,
    observe: Observer = unobserved,
    columns: Any = None,
) -> Sparsest:
    """Find the weights of least loss and penalty, of several outputs.

    Parameters
    ----------
    rows : LabeledRows
        The table, and whether there is an intercept.
    tol : float
        The violation of the conditions of optimality to reach, relative to that at zero weights.
    observe : callable
        Called with the weights after each iteration.
    columns : optional
        ``native_columns(rows.table)``, if rows are fitted with several penalties.

    Examples
    --------
    >>> rows = LabeledRows(np.eye(3), np.arange(3, dtype=np.int32), 3, intercept=False)
    >>> minimize_softmax_lasso(rows, Penalties(np.full(3, 0.5), np.zeros(3)), 1e-9, 100).weights.round(6).tolist()
    [[0.693147, 0.0, 0.0], [0.0, 0.693147, 0.0], [0.0, 0.0, 0.693147]]
    """
    columns = native_columns(rows.table) if columns is None else columns
    weights = np.zeros((rows.outputs, rows.columns))
    state = _Slopes.at(rows, np.zeros((len(rows.classes), rows.outputs)))
    scale = float(penalties.violations(weights, rows.sums(state.residuals)).sum()) or 1.0
    if start is not None:
        weights = start.copy()
    scores = rows.scores(weights)
    state = _Slopes.at(rows, scores)
    iterations, moving = 0, True
    while True:
        gradient = rows.sums(state.residuals) + penalties.ridge * weights
        violation = float(penalties.violations(weights, gradient).sum()) / scale
        if violation <= tol or iterations >= max_iter or not moving:
            break
        iterations += 1
        step = _step(columns, rows.weights, state.shares, gradient, weights, penalties, violation)
        found = _moved(rows, penalties, (state, scores, weights), step, gradient)
        moving = found is not None
        if found is not None:
            state, scores, weights = found
        observe(weights)
    objective = state.loss + penalties.of(weights)
    met = violation <= tol or (not moving and violation <= np.sqrt(tol))
    return Sparsest(weights, state.loss, objective, violation, iterations, bool(met))


def _step(
    columns: Any,
    row_weights: Array | None,
    shares: Array,
    gradient: Array,
    weights: Array,
    penalties: Penalties,
    violation: float,
) -> Array:
    """Return the step to the least of the quadratic model, over the weights that are not at rest."""
    working = np.flatnonzero((weights != 0) | (np.abs(gradient) > penalties.lasso))
    share = float(np.clip(np.sqrt(violation), LEAST_SHARE, 0.1))
    return _native.lasso_step(
        columns,
        np.ascontiguousarray(shares),
        None if row_weights is None else np.ascontiguousarray(row_weights, np.float64),
        np.ascontiguousarray(gradient),
        np.ascontiguousarray(weights),
        penalties.lasso,
        penalties.ridge,
        working,
        share,
        MOST_PASSES,
    )[0]


def _moved(
    rows: LabeledRows,
    penalties: Penalties,
    before: tuple[_Slopes, Array, Array],
    step: Array,
    gradient: Array,
) -> tuple[_Slopes, Array, Array] | None:
    """Take a step, halved until the objective is low enough; None if it never is."""
    state, scores, weights = before
    if not step.any():
        return None
    change = rows.scores(step)
    # The gradient has the ridge already; what the model expects of the L1 penalty is added.
    lasso = float(np.sum(penalties.lasso * (np.abs(weights + step) - np.abs(weights))))
    expected = float(np.vdot(gradient, step)) + lasso
    value = state.loss + penalties.of(weights)
    slack = 16 * float(np.finfo(float).eps) * abs(value)
    for halvings in range(MOST_HALVINGS):
        share = 0.5**halvings
        moved, placed = scores + share * change, weights + share * step
        found = _Slopes.at(rows, moved)
        after = found.loss + penalties.of(placed)
        if after <= value + DECREASE * share * expected + slack:
            return found, moved, placed
    return None
