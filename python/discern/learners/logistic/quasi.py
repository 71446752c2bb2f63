"""Quasi-Newton steps for dense rows: each costs one pass over the rows, for a gradient.

BFGS updates learn the Hessian on the way. They begin with the variances of the columns about their means. Where that
converges slowly, because columns are correlated, the Hessian is estimated from a sample of the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discern.learners.logistic.curvature import Curvature
from discern.learners.logistic.objective import PenalizedLoss
from discern.learners.logistic.rows import LabeledRows, multipliable
from discern.learners.logistic.sums import add_curvature
from discern.learners.newton import Expansion, Inverse, Observer, unobserved

Array = NDArray[Any]
Solve = Callable[[Array], Array]

ROWS_PER_COLUMN = 20
"""A sample has at least this many rows for each column, so that its Hessian is near that of all rows."""
SHARE_OF_PASSES = 1.0
"""A sample may be so large that its Hessian costs as much as this many passes over all rows."""
PRODUCTS_OF_A_PASS = 6.0
"""A pass over the rows costs as much as this many products of numbers for each number in them."""
LEAST_PASS = 6e5
"""A pass over few rows costs as much as this many products."""
MOST_WHOLE = 640
"""With more coefficients than this, only the blocks of the Hessian on its diagonal are estimated, a class each."""
MOST_NUMBERS = 1 << 22
"""More numbers than this are not estimated."""
VARIANCE_ROWS = 1 << 10
"""The variances are those of about as many rows."""
STEPS_AFTER = 8
"""About as many steps are left after an estimate."""
OBSERVED = 5
"""The rate of convergence is that of this many steps."""
MOST_ESTIMATES = 3
SOME = 16
"""Of many rows, one in this many is solved first."""
SOME_PER_COLUMN = 40
"""They are many if that leaves as many rows for each column."""
SOME_TOLERANCE = 1e-3
"""The accuracy of that solution: that of the rows themselves is not higher."""
MEMORY = 30
"""The BFGS updates that are kept."""
MOST_HALVINGS = 30


@dataclass(frozen=True)
class Descent:
    """Where the steps ended; ``hessian`` is the last estimate, if it is of the whole matrix."""

    state: Expansion
    iterations: int
    gradient_norm: float
    converged: bool
    hessian: Array | None


def descend(
    objective: PenalizedLoss,
    start: Array,
    tol: float,
    max_iter: int,
    *,
    near: Solve | None = None,
    observe: Observer = unobserved,
) -> Descent:
    """Minimize until the relative norm of the gradient is at most ``tol``, or no step leads further down.

    ``near`` solves with a matrix that is known to be near the Hessian at the optimum. Otherwise, of many rows,
    some are solved first: their optimum and their Hessian there are nearly those of all.

    Nocedal (1980), "Updating quasi-Newton matrices with limited storage"; Byrd, Chin, Neveitt and Nocedal (2011), "On
    the use of stochastic Hessian information in optimization methods for machine learning".
    """
    some, estimates, hessian = None if near is not None else Sample.some(objective), 0, None
    if near is not None:
        sample, solve, state, estimates = Sample.of(objective), near, objective.at(start, hessian=False), 1
    elif some is None:
        sample = Sample.of(objective)
        solve, state = sample.by_variances(), objective.at(start, hessian=False)
        if not start.any() and objective.known_scale is None:
            objective = replace(objective, known_scale=float(np.linalg.norm(state.gradient)))
    else:
        sample, part = some, some.problem()
        start = descend(part, start, SOME_TOLERANCE, max_iter).state.point
        objective = replace(objective, known_scale=part.scale / some.share)
        (solve, hessian), state, estimates = some.near(start), objective.at(start, hessian=False), 1
    steps: list[tuple[Array, Array]] = []
    iterations, norms = 0, [objective.relative_norm(state.gradient)]
    while norms[-1] > tol and iterations < max_iter and not objective.separates(state):
        if estimates < MOST_ESTIMATES and _passes_left(norms, tol) > sample.passes + STEPS_AFTER:
            solve, hessian = sample.near(state.point)
            steps, norms, estimates = [], norms[-1:], estimates + 1
        scaled = solve if hessian is not None else _scaled(solve, steps)
        moved = _moved(objective, state, quasi_newton_step(state.gradient, scaled, steps))
        iterations += 1
        observe(state.point if moved is None else moved.point)
        if moved is None:
            break
        step, change = moved.point - state.point, moved.gradient - state.gradient
        if np.vdot(step, change) > 0:
            steps = [*steps[-MEMORY:], (step, change)]
        state = moved
        norms.append(objective.relative_norm(moved.gradient))
    return Descent(state, iterations, norms[-1], bool(norms[-1] <= tol), hessian)


def _passes_left(norms: list[float], tol: float) -> float:
    """Return how many steps are left at the rate of the last ones; 0 as long as that is unknown."""
    if len(norms) <= OBSERVED + 1:
        return 0.0
    fall = np.log(norms[-1 - OBSERVED] / norms[-1]) / OBSERVED
    return float(np.log(norms[-1] / tol) / fall) if fall > 0 else np.inf


@dataclass(frozen=True)
class Sample:
    """Evenly spread rows, and their share of the weight of all: the Hessian of all is nearly theirs."""

    objective: PenalizedLoss
    rows: LabeledRows
    share: float

    @classmethod
    def of(cls, objective: PenalizedLoss, passes: float = SHARE_OF_PASSES) -> Sample:
        """Take as many rows as needed, and more where their Hessian costs no more than some passes over all rows."""
        rows = objective.rows
        total, coefficients = len(rows.classes), rows.outputs * rows.columns
        cheap = int(passes * PRODUCTS_OF_A_PASS * total / coefficients)
        step = max(total // max(ROWS_PER_COLUMN * rows.columns, cheap), 1)
        sample = rows.take(slice(None, None, step))
        share = sample.total / max(rows.total, 1e-300)
        return cls(objective, sample, share) if share > 0 else cls(objective, rows, 1.0)

    @classmethod
    def some(cls, objective: PenalizedLoss) -> Sample | None:
        """Take some of many rows, if their Hessian is surely near that of all."""
        rows = objective.rows
        if len(rows.classes) < SOME * SOME_PER_COLUMN * rows.columns:
            return None
        sample = rows.take(slice(None, None, SOME))
        share = sample.total / max(rows.total, 1e-300)
        present = len(np.unique(sample.classes)) == len(np.unique(rows.classes))
        return cls(objective, sample, share) if share > 0 and present else None

    def problem(self) -> PenalizedLoss:
        """Return the problem of these rows alone, with their share of the penalty."""
        return PenalizedLoss(self.rows, self.objective.penalty * self.share)

    @property
    def is_whole(self) -> bool:
        """Whether the whole Hessian is estimated, not only its blocks."""
        return self.rows.outputs == 1 or self.rows.outputs * self.rows.columns <= MOST_WHOLE

    @property
    def passes(self) -> float:
        """The cost of an estimate in passes over all rows."""
        rows, columns = self.objective.rows, self.rows.columns
        side = (rows.outputs if self.is_whole else 1) * columns
        if rows.outputs * columns * columns > MOST_NUMBERS:
            return np.inf
        a_pass = PRODUCTS_OF_A_PASS * len(rows.classes) * side + LEAST_PASS
        return (len(self.rows.classes) + side) * side**2 / a_pass

    def by_variances(self) -> Solve:
        """Return how to solve with the variances of the columns, as at zero coefficients.

        Columns are taken about their means, where they do not correlate with the intercept.
        """
        step, penalty = max(len(self.rows.classes) // VARIANCE_ROWS, 1), self.objective.penalty
        rows = self.rows.take(slice(None, None, step))
        weights = np.ones(len(rows.classes)) if rows.weights is None else np.asarray(rows.weights, np.float64)
        table, total = multipliable(rows.table), self.objective.rows.total
        means = weights @ table / max(float(weights.sum()), 1e-300) if rows.intercept else np.zeros(table.shape[1])
        variances = np.maximum(weights @ table**2 / max(float(weights.sum()), 1e-300) - means**2, 0.0)
        level = total / (4.0 if rows.outputs == 1 else rows.n_classes)
        scales = level * variances + penalty[: table.shape[1]]
        scales = np.where(scales > 0, scales, 1.0)
        around = level + (penalty[-1] if rows.intercept else 0.0)

        def solve(right: Array) -> Array:
            features = right[:, : len(means)]
            if not rows.intercept:
                return np.asarray(features / scales)
            changes = (features - np.outer(right[:, -1], means)) / scales
            return np.hstack([changes, (right[:, -1] / around - changes @ means)[:, None]])

        return solve

    def near(self, point: Array) -> tuple[Solve, Array | None]:
        """Return how to solve with the Hessian at a point, and that matrix if it is whole."""
        return self.estimate(point).with_penalty(self.objective.penalty)

    def estimate(self, point: Array) -> Estimate:
        """Return the Hessian of the loss of all rows at a point, or its blocks."""
        curved = Curvature(self.rows, diagonal=not self.is_whole)
        add_curvature(curved, self.rows, point)
        matrices = [curved.hessian()] if self.is_whole else curved.blocks()
        return Estimate(self.rows.outputs, self.is_whole, [matrix / self.share for matrix in matrices])


@dataclass(frozen=True)
class Estimate:
    """The Hessian of a loss without its penalty, whole or by its blocks on the diagonal."""

    outputs: int
    is_whole: bool
    matrices: list[Array]

    def with_penalty(self, penalty: Array, share: float = 1.0) -> tuple[Solve, Array | None]:
        """Return how to solve with the Hessian of a share of the rows, and that matrix if it is whole."""
        if not self.is_whole:
            return _solve_each([share * block for block in self.matrices], penalty), None
        hessian = share * self.matrices[0]
        hessian[np.diag_indices_from(hessian)] += np.tile(penalty, self.outputs)
        inverse = Inverse.of(hessian, self.outputs)
        return lambda right: inverse.solve(right.ravel()).reshape(right.shape), hessian


def _solve_each(blocks: list[Array], penalty: Array) -> Solve:
    """Return how to solve with a matrix for each class; the changes of all classes sum to 0."""
    identity = np.eye(len(penalty))
    inverses = np.array([Inverse.of(block + np.diag(penalty)).solve(identity) for block in blocks])

    def solve(right: Array) -> Array:
        found = np.matmul(inverses, right[:, :, None])[:, :, 0]
        return np.asarray(found - found.mean(axis=0))

    return solve


def _moved(objective: PenalizedLoss, state: Expansion, step: Array) -> Expansion | None:
    """Take a step, halved until the value is low enough (Armijo's rule); None if it never is."""
    slope = float(np.vdot(step, state.gradient))
    slack = 16 * float(np.finfo(float).eps) * abs(state.loss)
    for halvings in range(MOST_HALVINGS):
        share = 0.5**halvings
        moved = objective.at(state.point + share * step, hessian=False)
        if moved.loss <= state.loss + 1e-4 * share * slope + slack:
            lower = moved.loss < state.loss or np.linalg.norm(moved.gradient) < np.linalg.norm(state.gradient)
            return moved if lower else None
    return None


def _scaled(solve: Solve, steps: list[tuple[Array, Array]]) -> Solve:
    """Return an inverse Hessian scaled so that the last step follows from its change of the gradient."""
    if not steps:
        return solve
    step, change = steps[-1]
    scale = float(np.vdot(step, change)) / float(np.vdot(change, solve(change)))
    return lambda right: scale * solve(right)


def quasi_newton_step(gradient: Array, solve: Solve, steps: list[tuple[Array, Array]]) -> Array:
    """Return the step −H⁻¹g with an inverse Hessian corrected by past steps (BFGS, in two loops)."""
    left, shares = gradient.copy(), []
    for step, change in reversed(steps):
        shares.append(float(np.vdot(step, left) / np.vdot(step, change)))
        left -= shares[-1] * change
    result = solve(left)
    for (step, change), share in zip(steps, reversed(shares), strict=True):
        result += step * (share - float(np.vdot(change, result) / np.vdot(step, change)))
    return -result
