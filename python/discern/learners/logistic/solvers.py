"""Solvers of logistic regression: all go to the same optimum, each where it is the fastest."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import discern._native as _native
from discern.learners.logistic.objective import PenalizedLoss, ScoredLoss
from discern.learners.logistic.rows import LabeledRows
from discern.learners.logistic.separation import Separation
from discern.learners.newton import Inverse, minimize

Array = NDArray[Any]

MOST_NEWTON = 400
"""With more coefficients than this the Hessian is not written out."""
SAMPLE = 16
"""Where there are many dense rows, their Hessian is taken from one in so many."""
MANY_ROWS = 1 << 18
"""So many dense rows are many."""
MOST_EPOCHS = 50
"""Epochs of descent in the dual, after which Newton's method goes on: only with a weak ridge it takes so many."""
STIFF = 1e3
"""Where a row's weight times its squared length is so many times the ridge, descent in the dual is slow."""


@dataclass(frozen=True)
class Convergence:
    """How a fit ended.

    ``gradient_norm`` is relative to the norm at zero coefficients, ``objective`` is the penalized loss.
    """

    solver: str
    iterations: int
    objective: float
    gradient_norm: float
    converged: bool

    def __str__(self) -> str:
        ended = "converged" if self.converged else "did NOT converge"
        return (
            f"{self.solver} {ended} after {self.iterations} iterations: "
            f"objective {self.objective:.10g}, relative gradient norm {self.gradient_norm:.1e}"
        )


@dataclass(frozen=True)
class Fit:
    """Fitted coefficients, how they were found, and the Hessian there (penalty included; of centered columns if there
    are ``offsets``).
    """

    coefficients: Array
    convergence: Convergence
    hessian: Array | None = None
    loss: float = np.nan
    separation: Separation | None = None
    dependent: tuple[int, ...] = ()
    offsets: Array | None = None

    def covariance(self) -> Array | None:
        """Return the inverse of the information; for more classes, of coefficients less those of the first class."""
        if self.hessian is None:
            return None
        outputs, columns = self.coefficients.shape
        # In terms of the differences the information is that of all classes but the first.
        own = self.hessian if outputs == 1 else self.hessian[columns:, columns:]
        spread = Inverse.of(own).solve(np.eye(len(own)))
        if self.offsets is None:
            return spread
        # The Hessian is that of centered columns, b + w·c in the place of b: undone here, where no digits are lost.
        back = np.eye(columns)
        back[-1, :-1] = -self.offsets
        every = np.kron(np.eye(max(outputs - 1, 1)), back)
        return np.asarray(every @ spread @ every.T)


def newton(objective: PenalizedLoss, start: Array, tol: float, max_iter: int) -> Fit:
    """Minimize by Newton's method: iteratively reweighted least squares.

    w ← (XᵀVX)⁻¹XᵀVz is the Newton step w − H⁻¹g, written with the working response z.
    """
    found = minimize(objective, start, tol, max_iter)
    state, point = found.state, objective.polished(found)
    if point is not state.point and len(objective.rows.classes) < MANY_ROWS:
        state = objective.at(point)
    norm = objective.relative_norm(state.gradient)
    return Fit(point, Convergence("newton", found.iterations, state.loss, norm, found.converged), state.hessian)


def truncated_newton(objective: PenalizedLoss, start: Array, tol: float, max_iter: int) -> Fit:
    """Minimize by Newton's method whose steps are found by conjugate gradients, without writing the Hessian out."""
    found = minimize(ScoredLoss(objective), start, tol, max_iter)
    ended = Convergence("truncated newton", found.iterations, found.state.loss, found.gradient_norm, found.converged)
    return Fit(found.state.point, ended)


def sampled_newton(objective: PenalizedLoss, start: Array, tol: float, max_iter: int) -> Fit:
    """Minimize by quasi-Newton steps from the solution for a sample of the rows, beginning with its Hessian.

    The Hessian of a sample is nearly that of all rows, so that each look at all rows, for a gradient, leaves a small
    share of the error; what the sample got wrong the BFGS formula learns on the way. Where that does not hold, Newton's
    method takes over.
    """
    rows = objective.rows
    sample = rows.take(np.arange(0, len(rows.classes), SAMPLE))
    share = max(sample.total, 1e-300) / max(rows.total, 1e-300)
    part = PenalizedLoss(sample, objective.penalty * share)
    small = PenalizedLoss(sample.take(np.arange(0, len(sample.classes), SAMPLE)), part.penalty / SAMPLE)
    objective = replace(objective, known_scale=part.scale / share)
    found = newton(part, newton(small, start, 1e-3, max_iter).coefficients, 1e-3, max_iter)
    assert found.hessian is not None
    inverse, point = Inverse.of(found.hessian / share, rows.outputs), found.coefficients
    steps: list[tuple[Array, Array]] = []
    state, iterations = objective.at(point, hessian=False), 0
    norm = objective.relative_norm(state.gradient)
    while norm > tol and iterations < max_iter:
        step = quasi_newton_step(state.gradient, inverse, steps)
        moved = objective.at(point + step, hessian=False)
        iterations, before, norm = iterations + 1, norm, objective.relative_norm(moved.gradient)
        if not norm < 0.5 * before:
            return newton(objective, point, tol, max_iter)
        steps.append((step, moved.gradient - state.gradient))
        point, state = point + step, moved
    ended = Convergence("sampled newton", iterations, state.loss, norm, norm <= tol)
    # A ridge has no tests to speak of: the Hessian of the sample will do for it.
    exact = not objective.penalty.any()
    hessian = objective.at(point).hessian if exact else found.hessian / share
    return Fit(point, ended, hessian)


def quasi_newton_step(gradient: Array, inverse: Inverse, steps: list[tuple[Array, Array]]) -> Array:
    """Return −H⁻¹g with an inverse Hessian corrected by past steps (BFGS, in the two loops of Nocedal 1980)."""
    rest, shares = gradient.copy(), []
    for step, change in reversed(steps):
        shares.append(float(np.sum(step * rest) / np.sum(step * change)))
        rest = rest - shares[-1] * change
    result = inverse.solve(rest.ravel()).reshape(gradient.shape)
    for (step, change), share in zip(steps, reversed(shares), strict=True):
        result = result + step * (share - float(np.sum(change * result) / np.sum(step * change)))
    return -result


def dual_descent(objective: PenalizedLoss, start: Array, tol: float, max_iter: int) -> Fit:
    """Minimize by descent in the dual, in time linear in the entries; what is left, if anything, by truncated Newton.

    For sparse rows of two classes, with the same ridge on every column and none on the intercept.
    """
    rows, ridge = objective.rows, float(objective.penalty[0])
    table = rows.table.astype(np.float64, copy=False)
    weights = np.ones(len(rows.classes)) if rows.weights is None else np.asarray(rows.weights, np.float64)
    costs = weights / ridge
    free = rows.intercept
    mean = np.asarray(weights @ table).ravel() / max(float(weights.sum()), 1e-300) if free else np.zeros(table.shape[1])
    # In the dual's scale the gradient is what the dual variables lack, times the rows.
    longest = max(_longest(table), 1e-300)
    if costs.max(initial=0.0) * longest**2 > STIFF:
        return truncated_newton(objective, start, tol, max_iter)
    enough = tol * objective.scale / ridge / longest
    indices = (table.indptr.astype(np.int32, copy=False), table.indices.astype(np.int32, copy=False), table.data)
    found, epochs, _ = _native.logistic_dual(
        *indices, rows.classes, costs, mean, free, min(max_iter, MOST_EPOCHS), enough, 1
    )
    point = (found if free else found[:-1])[None, :]
    polished = truncated_newton(objective, point, tol, max_iter)
    ended = polished.convergence
    return replace(polished, convergence=replace(ended, solver="dual descent", iterations=epochs + ended.iterations))


def _longest(table: Any) -> float:
    """Return the largest length of a row."""
    squares = np.add.reduceat(np.append(table.data**2, 0.0), table.indptr[:-1])
    return float(np.sqrt(np.where(np.diff(table.indptr) > 0, squares, 0.0).max(initial=0.0)))


SOLVERS = {
    "newton": newton,
    "sampled newton": sampled_newton,
    "truncated newton": truncated_newton,
    "dual descent": dual_descent,
}


def choose_solver(rows: LabeledRows, penalty: Array) -> str:
    """Return the solver for rows: by how many coefficients there are, whether the rows are sparse, and how many."""
    if rows.outputs * rows.columns <= MOST_NEWTON:
        return "sampled newton" if not rows.sparse and len(rows.classes) >= MANY_ROWS else "newton"
    ridges = penalty[: rows.table.shape[1]]
    alike = rows.sparse and rows.outputs == 1 and ridges.min() > 0 and ridges.min() == ridges.max()
    free = not rows.intercept or penalty[-1] == 0
    small = rows.sparse and max(rows.table.nnz, *rows.table.shape) < 2**31
    return "dual descent" if alike and free and small else "truncated newton"
