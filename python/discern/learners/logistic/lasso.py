"""Linear models with an L1 penalty: min Σ loss(scores) + Σⱼ λⱼ|wⱼ| + ½ Σⱼ rⱼwⱼ², whose weights are mostly zero.

Each step minimizes a quadratic model of the loss over a working set of columns and then searches along the line to that
point (newGLMNET: Yuan, Ho and Lin 2012). For one output native code does all of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import discern._native as _native
from discern.data.encode import is_sparse, native_table
from discern.learners.logistic.rows import LabeledRows
from discern.learners.margins import Certificate, LinearMargins, MarginSettings, costs_of
from discern.learners.newton import Observer, unobserved

Array = NDArray[Any]


@dataclass(frozen=True)
class Loss:
    """The loss of one output, as the native code knows it.

    ``targets`` are 0 and 1 for ``"logistic"``, ±1 for ``"squared hinge"``; ``costs`` are the weights of the rows.
    """

    name: str
    targets: Array
    costs: Array | None

    @classmethod
    def logistic(cls, rows: LabeledRows) -> Loss:
        """Return the loss of logistic regression of two classes."""
        weights = None if rows.weights is None else np.ascontiguousarray(rows.weights, np.float64)
        return cls("logistic", rows.classes.astype(np.float64), weights)


@dataclass(frozen=True)
class Penalties:
    """λ and r of each column of the weights; that of the intercept is last."""

    lasso: Array
    ridge: Array

    def of(self, weights: Array) -> float:
        """Return the penalty of weights."""
        return float(np.sum(self.lasso * np.abs(weights)) + 0.5 * np.sum(self.ridge * weights**2))

    def violations(self, weights: Array, gradient: Array) -> Array:
        """Return how far the least subgradient of each weight is from zero."""
        away = np.abs(gradient + self.lasso * np.sign(weights))
        return np.asarray(np.where(weights != 0, away, np.maximum(np.abs(gradient) - self.lasso, 0.0)))


@dataclass(frozen=True)
class Sparsest:
    """The weights found, an output a row, and how the search for them ended.

    ``violation`` is the sum of the violations of the conditions of optimality, relative to that at zero weights.
    """

    weights: Array
    loss: float
    objective: float
    violation: float
    iterations: int
    converged: bool


def minimize_lasso(
    rows: LabeledRows,
    loss: Loss,
    penalties: Penalties,
    tol: float,
    max_iter: int,
    start: Array | None = None,
    observe: Observer = unobserved,
    columns: Any = None,
) -> Sparsest:
    """Find the weights of least loss and penalty, of one output.

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
    >>> rows = LabeledRows(np.array([[-1.0, 1.0], [1.0, 1.0]]), np.array([0, 1], np.int32), 2, intercept=False)
    >>> penalties = Penalties(np.full(2, 0.5), np.zeros(2))
    >>> minimize_lasso(rows, Loss.logistic(rows), penalties, 1e-9, 100).weights.round(6).tolist()
    [[1.098612, 0.0]]
    """
    columns = native_columns(rows.table) if columns is None else columns
    weights = np.zeros(rows.columns) if start is None else np.ascontiguousarray(start[0], np.float64)
    at_once = max_iter if observe is unobserved else min(max_iter, 1)
    iterations = 0
    while True:
        weights, value, violation, steps, stuck = _native.lasso_minimum(
            columns, loss.name, loss.targets, loss.costs, weights, penalties.lasso, penalties.ridge, tol, at_once
        )
        iterations += steps
        if steps:
            observe(weights[None, :])
        if stuck or not steps or iterations >= max_iter or observe is unobserved:
            break
    met = violation <= tol or (stuck and violation <= np.sqrt(tol))
    objective = value + penalties.of(weights)
    return Sparsest(weights[None, :], value, objective, violation, iterations, bool(met))


def native_columns(table: Any) -> Any:
    """Return the columns of a table as the native code takes them."""
    if not is_sparse(table):
        return np.ascontiguousarray(np.asarray(table, np.float64).T)
    starts, places, values, _ = native_table(table.tocsc().T.tocsr())
    return starts, places, values, int(table.shape[0])


# ------------------------------------------------------------------------------------------------- squared hinge


def fit_lasso_margins(
    X: Any,
    classes: Array,
    count: int,
    settings: MarginSettings,
    *,
    weights: Array | None = None,
    class_weights: Array | None = None,
) -> LinearMargins:
    """Fit decision functions with the squared hinge and an L1 penalty: min ‖w‖₁ + Σ cᵢ max(0, 1 − yᵢ(w·xᵢ + b))².

    Examples
    --------
    >>> X, settings = np.array([[-2.0, 1.0], [2.0, 1.0]]), MarginSettings(intercept="none")
    >>> found = fit_lasso_margins(X, np.array([0, 1]), 2, settings)
    >>> found.coef.round(6).tolist(), found.certificate.converged
    ([[0.4375, 0.0]], True)
    """
    found = []
    for place, (own, other) in enumerate(costs_of(count, settings, class_weights)):
        positive = classes == (1 if count == 2 else place)
        costs = np.where(positive, own, other) * (1.0 if weights is None else weights)
        found.append(_fit_lasso_margin(X, np.where(positive, 1.0, -1.0), costs, settings))
    wide, primal, dual, violation, steps = (np.array(part) for part in zip(*found, strict=True))
    certificate = Certificate(primal, dual, violation, steps, settings.tolerance)
    features = X.shape[1]
    intercepts = wide[:, features] if settings.intercept != "none" else np.zeros(len(wide))
    return LinearMargins(np.ascontiguousarray(wide[:, :features]), intercepts, certificate)


def _fit_lasso_margin(
    X: Any, targets: Array, costs: Array, settings: MarginSettings
) -> tuple[Array, float, float, float, int]:
    """Return the weights of one function, primal and dual value, violation and steps."""
    kept = np.flatnonzero(costs > 0)
    X, targets, costs = X[kept], targets[kept], costs[kept]
    rows = LabeledRows(X, (targets > 0).astype(np.int32), 2, intercept=settings.intercept != "none")
    lasso = np.ones(rows.columns)
    if rows.intercept:  # the weight of a constant feature, or free
        lasso[-1] = 1.0 / settings.scaling if settings.intercept == "penalized" else 0.0
    penalties, loss = Penalties(lasso, np.zeros(rows.columns)), Loss("squared hinge", targets, costs)
    weights, steps, accuracy = None, 0, settings.tolerance
    while True:
        found = minimize_lasso(rows, loss, penalties, accuracy, settings.passes - steps, weights)
        weights, steps, accuracy = found.weights, steps + found.iterations, 0.01 * accuracy
        dual = _dual(rows, targets, costs, lasso, weights)
        enough = found.objective - dual <= settings.tolerance * found.objective
        if enough or steps >= settings.passes or accuracy < 1e-16:
            return weights[0], found.objective, dual, found.violation, steps


def _dual(rows: LabeledRows, targets: Array, costs: Array, lasso: Array, weights: Array) -> float:
    """Return the dual value at the α of some weights, shrunk until no column is pulled beyond its penalty."""
    alphas = 2.0 * costs * np.maximum(0.0, 1.0 - targets * rows.scores(weights)[:, 0])
    if rows.intercept and lasso[-1] == 0:  # of a free intercept, both classes pull alike
        balance = float(alphas @ targets)
        heavy = targets == np.sign(balance)
        total = float(alphas[heavy].sum())
        alphas = np.where(heavy, alphas * (1.0 - abs(balance) / total if total > 0 else 1.0), alphas)
    pulls = np.abs(rows.sums((alphas * targets)[:, None])[0])
    held = lasso > 0
    scale = 1.0 / max(1.0, float((pulls[held] / lasso[held]).max(initial=0.0)))
    return float(scale * alphas.sum() - 0.25 * scale**2 * np.sum(alphas**2 / costs))
