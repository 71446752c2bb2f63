"""Fit a logistic regression: center columns, choose the solver, and tell whether a maximum exists."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discern.learners.logistic.lasso import Loss, Penalties, minimize_lasso
from discern.learners.logistic.narrow import NarrowRows
from discern.learners.logistic.objective import PenalizedLoss
from discern.learners.logistic.overlap import classes_overlap
from discern.learners.logistic.rows import LabeledRows, dense_table, dependent_columns
from discern.learners.logistic.separation import Separation, find_separation
from discern.learners.logistic.softmax_lasso import minimize_softmax_lasso
from discern.learners.logistic.solvers import SOLVERS, Convergence, Fit, choose_solver
from discern.learners.logistic.sums import sums_of
from discern.learners.newton import Inverse, Observer, unobserved

Array = NDArray[Any]

DENSE = 0.2
"""A sparse table of which this share or more is there is fitted as a dense one."""
FAR = 100.0
"""Columns whose mean is more standard deviations than this from zero are centered first."""


def fit_logistic(
    rows: LabeledRows,
    penalty: Array,
    *,
    solver: str = "auto",
    tol: float = 1e-8,
    max_iter: int = 100,
    start: Array | None = None,
    observe: Observer | None = None,
) -> Fit:
    """Minimize the penalized loss.

    Parameters
    ----------
    rows : LabeledRows
    penalty : array
        One number for each column of the coefficients; 0 means no penalty.
    solver : {"auto", "newton", "quasi-newton", "truncated newton", "dual descent"}
    tol : float
        The norm of the gradient to reach, relative to that at zero coefficients.
    start : array, optional
        Coefficients to begin with.
    observe : callable, optional
        Called with the coefficients after each iteration.

    Examples
    --------
    >>> rows = LabeledRows(np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 1, 0, 1], np.int32), 2)
    >>> fit_logistic(rows, np.zeros(2)).coefficients.round(4).tolist()
    [[0.9082, -1.3623]]
    """
    if rows.sparse and _is_nearly_dense(rows.table):
        rows = replace(rows, table=rows.table.toarray())
    offsets = far_offsets(rows, penalty)
    if offsets is not None:
        options: dict[str, Any] = {"solver": solver, "tol": tol, "max_iter": max_iter}
        return _fit_centered(rows, penalty, offsets, start, observe, **options)
    is_free = solver == "auto" and start is None and observe is None
    if is_free and (narrow := NarrowRows.of(rows, penalty)) is not None:
        return _fit_narrow(rows, penalty, narrow, tol, max_iter)
    name = choose_solver(rows, penalty) if solver == "auto" else solver
    if name == "dual descent" and (start is not None or observe is not None):
        name = "truncated newton"
    objective = PenalizedLoss(rows, penalty)
    start = np.zeros(objective.shape) if start is None else start
    found = _centered(SOLVERS[name](objective, start, tol, max_iter, observe or unobserved), penalty)
    ridge = 0.5 * float(np.sum(penalty * found.coefficients**2))
    found = replace(found, loss=found.convergence.objective - ridge)
    return found if np.all(penalty > 0) else _with_existence(rows, penalty, found)


def _centered(found: Fit, penalty: Array) -> Fit:
    """Return coefficients of three and more classes that sum to zero where no penalty sees to it."""
    if len(found.coefficients) < 3 or np.all(penalty > 0):
        return found
    middle = np.where(penalty > 0, 0.0, found.coefficients.mean(axis=0))
    return replace(found, coefficients=found.coefficients - middle)


def _is_nearly_dense(table: Any) -> bool:
    """Whether a sparse table is fitted faster as a dense one, which takes little more memory than its copies."""
    return bool(table.nnz >= DENSE * table.shape[0] * table.shape[1] > 0)


def _fit_narrow(rows: LabeledRows, penalty: Array, narrow: NarrowRows, tol: float, max_iter: int) -> Fit:
    """Fit in the space of the rows, and from there in that of the columns, where rounding has left something to do."""
    near = fit_logistic(narrow.rows, narrow.penalty(penalty), tol=tol, max_iter=max_iter)
    steps = near.convergence.iterations
    start, left = narrow.wide(near.coefficients), max(max_iter - steps, 0)
    found = fit_logistic(rows, penalty, solver="quasi-newton", tol=tol, max_iter=left, start=start)
    return replace(found, convergence=replace(found.convergence, iterations=steps + found.convergence.iterations))


def fit_lasso(
    rows: LabeledRows,
    penalties: Penalties,
    tol: float = 1e-8,
    max_iter: int = 100,
    start: Array | None = None,
    observe: Observer | None = None,
    columns: Any = None,
) -> Fit:
    """Minimize the loss with an L1 penalty, perhaps beside a ridge.

    Examples
    --------
    >>> rows = LabeledRows(np.array([[-1.0], [1.0]]), np.array([0, 1], np.int32), 2, intercept=False)
    >>> fit_lasso(rows, Penalties(np.ones(1), np.zeros(1))).coefficients.tolist()
    [[0.0]]
    """
    observe = observe or unobserved
    if rows.outputs > 1:
        found = minimize_softmax_lasso(rows, penalties, tol, max_iter, start, observe, columns)
    else:
        found = minimize_lasso(rows, Loss.logistic(rows), penalties, tol, max_iter, start, observe, columns)
    ended = Convergence("coordinate descent", found.iterations, found.objective, found.violation, found.converged)
    return Fit(found.weights, ended, loss=found.loss)


def far_offsets(rows: LabeledRows, penalty: Array) -> Array | None:
    """Return the means of columns that lie far from zero, when a free intercept lets them be centered."""
    if rows.sparse or not rows.intercept or penalty[-1] != 0 or not len(rows.classes):
        return None
    some = rows.table[: 1 << 10]
    means, spreads = some.mean(axis=0), some.std(axis=0)
    far = (np.abs(means) > FAR * spreads) & (spreads > 0)
    return np.where(far, means, 0.0) if far.any() else None


def _fit_centered(
    rows: LabeledRows,
    penalty: Array,
    offsets: Array,
    start: Array | None = None,
    observe: Observer | None = None,
    **options: Any,
) -> Fit:
    """Fit with columns centered, where x and 1 are nearly the same: w·x + b = w·(x − c) + (b + w·c)."""
    if start is not None:
        start = shifted(start, offsets)
    seen = None if observe is None else lambda point: observe(shifted(point, -offsets))
    found = fit_logistic(replace(rows, table=rows.table - offsets), penalty, start=start, observe=seen, **options)
    coefficients = shifted(found.coefficients, -offsets)
    return replace(found, coefficients=coefficients, separation=_moved(found.separation, offsets), offsets=offsets)


def shifted(coefficients: Array, offsets: Array) -> Array:
    """Return coefficients, the intercept last, for columns from which offsets are subtracted."""
    moved = coefficients.copy()
    moved[:, -1] += moved[:, :-1] @ offsets
    return moved


def _moved(separation: Separation | None, offsets: Array) -> Separation | None:
    if separation is None:
        return None
    return replace(separation, direction=shifted(separation.direction, -offsets))


# ------------------------------------------------------------------------------- whether there is a maximum


def _with_existence(rows: LabeledRows, penalty: Array, found: Fit) -> Fit:
    """Add whether the data are separated; they are not when a maximum is proved to exist near what was found."""
    if np.any(penalty[: rows.table.shape[1]] > 0):  # a ridge: the maximum exists
        return found
    separation = _separation(rows, found) if PenalizedLoss(rows, penalty).is_separating(found.loss) else None
    if separation is not None:
        return replace(found, separation=separation)
    if found.convergence.converged and not rows.sparse and classes_overlap(rows, found.coefficients):
        return found
    if found.hessian is None:
        found = replace(found, hessian=PenalizedLoss(rows, penalty).at(found.coefficients).hessian)
    assert found.hessian is not None
    inverse = Inverse.of(found.hessian, rows.outputs)
    dependent = dependent_columns(rows) if inverse.singular else ()
    if found.convergence.converged and not inverse.singular and _exists(rows, found, inverse):
        return found
    return replace(found, separation=_separation(rows, found), dependent=dependent)


def _separation(rows: LabeledRows, found: Fit) -> Separation | None:
    return find_separation(rows.table, rows.classes, rows.n_classes, rows.intercept, rows.weights, found.coefficients)


def _exists(rows: LabeledRows, found: Fit, inverse: Inverse) -> bool:
    """Whether a maximum is proved to exist: the Newton step moves no score by more than a half.

    Along any line the logistic loss satisfies |f‴| ≤ R f″ with R the largest change of a score (Bach 2010,
    "Self-concordant analysis for logistic regression", proposition 2): λ·R ≤ ½ then implies a minimum, where λ is the
    Newton decrement and R = max √(xᵀH⁻¹x). On separated data the two shrink and grow alike, and λR stays near 1.
    """
    gradient = sums_of(rows, found.coefficients, hessian=False).gradient.ravel()
    decrement = float(np.sqrt(max(float(gradient @ inverse.solve(gradient)), 0.0)))
    factor = 1.0 if rows.outputs == 1 else 2.0  # differences of scores of two classes
    if decrement * _most_length(rows, inverse) ** 0.5 * factor <= 0.5:
        return True
    longest = max(float(_lengths(block, inverse).max(initial=0.0)) for block in rows.blocks())
    return bool(decrement * longest**0.5 * factor <= 0.5)


def _most_length(rows: LabeledRows, inverse: Inverse) -> float:
    """Return a bound of xᵀH⁻¹x over all rows and outputs, much faster than the lengths: by the norm of H⁻¹."""
    if inverse.singular:
        return np.inf
    scales, longest = inverse.scales.reshape(rows.outputs, rows.columns) ** 2, 0.0
    for block in rows.blocks():
        squares = dense_table(block) ** 2
        longest = max(longest, float((squares @ scales.T).max(initial=0.0)))
    return longest * inverse.most_of_scaled()


def _lengths(rows: LabeledRows, inverse: Inverse) -> Array:
    """Return xᵀH⁻¹x of each row, the largest over the outputs."""
    table = dense_table(rows)
    longest = np.zeros(len(table))
    for output in range(rows.outputs):
        wide = np.zeros((len(table), rows.outputs * rows.columns))
        wide[:, output * rows.columns : (output + 1) * rows.columns] = table
        longest = np.maximum(longest, inverse.lengths(wide))
    return longest
