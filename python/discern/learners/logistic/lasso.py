"""Linear models with an L1 penalty: min Σ loss(scores) + Σⱼ λⱼ|wⱼ| + ½ Σⱼ rⱼwⱼ², whose weights are mostly zero.

Each step minimizes a quadratic model of the loss by coordinate descent over the weights that are not zero or want to
leave it, and then searches along the line to that point (newGLMNET: Yuan, Ho and Lin 2012).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import discern._native as _native
from discern.data.encode import is_sparse, native_table
from discern.learners.logistic.curvature import shares_of
from discern.learners.logistic.rows import LabeledRows
from discern.learners.logistic.sums import residuals_of
from discern.learners.margins import Certificate, LinearMargins, MarginSettings, costs_of
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
class Slopes:
    """The loss of some scores, its derivative by each score, an output a column, and how it bends.

    ``bending`` has a line for each output: for one, the second derivative of each row; for more, the shares of a
    softmax.
    """

    loss: float
    residuals: Array
    bending: Array


Loss = Callable[[Array], Slopes]


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


def logistic_loss(rows: LabeledRows) -> Loss:
    """Return the loss of logistic regression."""

    alike = LabeledRows(rows.table, rows.classes, rows.n_classes)

    def slopes(scores: Array) -> Slopes:
        loss, residuals = residuals_of(rows, scores)
        plain = residuals if rows.weights is None else residuals_of(alike, scores)[1]
        shares, rests = shares_of(rows.classes, rows.n_classes, plain.T)
        if rows.outputs > 1:
            return Slopes(loss, residuals, shares)
        curvature = shares * rests
        return Slopes(loss, residuals, curvature if rows.weights is None else curvature * rows.weights)

    return slopes


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
    """Find the weights of least loss and penalty.

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
    >>> minimize_lasso(rows, logistic_loss(rows), penalties, 1e-9, 100).weights.round(6).tolist()
    [[1.098612, 0.0]]
    """
    columns = native_columns(rows.table) if columns is None else columns
    weights = np.zeros((rows.outputs, rows.columns))
    state = loss(np.zeros((len(rows.classes), rows.outputs)))
    scale = float(penalties.violations(weights, rows.sums(state.residuals)).sum()) or 1.0
    if start is not None:
        weights = start.copy()
    scores = rows.scores(weights)
    state = loss(scores)
    iterations, moving = 0, True
    while True:
        gradient = rows.sums(state.residuals) + penalties.ridge * weights
        violation = float(penalties.violations(weights, gradient).sum()) / scale
        if violation <= tol or iterations >= max_iter or not moving:
            break
        iterations += 1
        step = _step(columns, rows.weights, state.bending, gradient, weights, penalties, violation)
        found = _moved(rows, loss, penalties, (state, scores, weights), step, gradient)
        moving = found is not None
        if found is not None:
            state, scores, weights = found
        observe(weights)
    objective = state.loss + penalties.of(weights)
    met = violation <= tol or (not moving and violation <= np.sqrt(tol))
    return Sparsest(weights, state.loss, objective, violation, iterations, bool(met))


def native_columns(table: Any) -> Any:
    """Return the columns of a table as the native code takes them."""
    if not is_sparse(table):
        return np.ascontiguousarray(np.asarray(table, np.float64).T)
    starts, places, values, _ = native_table(table.tocsc().T.tocsr())
    return starts, places, values, int(table.shape[0])


def _step(
    columns: Any,
    row_weights: Array | None,
    bending: Array,
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
        np.ascontiguousarray(bending),
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
    loss: Loss,
    penalties: Penalties,
    before: tuple[Slopes, Array, Array],
    step: Array,
    gradient: Array,
) -> tuple[Slopes, Array, Array] | None:
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
        found = loss(moved)
        after = found.loss + penalties.of(placed)
        if after <= value + DECREASE * share * expected + slack:
            return found, moved, placed
    return None


# ------------------------------------------------------------------------------------------------- squared hinge


def squared_hinge_loss(targets: Array, costs: Array) -> Loss:
    """Return the loss Σ cost · max(0, 1 − target · score)² of rows whose targets are ±1."""

    def slopes(scores: Array) -> Slopes:
        slack = np.maximum(0.0, 1.0 - targets * scores[:, 0])
        residuals, curvature = -2.0 * costs * targets * slack, 2.0 * costs * (slack > 0)
        return Slopes(float(costs @ slack**2), residuals[:, None], curvature[None, :])

    return slopes


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
    penalties, loss = Penalties(lasso, np.zeros(rows.columns)), squared_hinge_loss(targets, costs)
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
