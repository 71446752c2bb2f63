"""Solvers of logistic regression. All reach the same optimum; each is used where it is the fastest."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import discern._native as _native
from discern.learners.logistic.objective import PenalizedLoss, ScoredLoss
from discern.learners.logistic.quasi import Sample, Solve, descend
from discern.learners.logistic.rows import LabeledRows
from discern.learners.logistic.separation import Separation
from discern.learners.newton import Inverse, Observer, minimize, unobserved

Array = NDArray[Any]

MOST_NEWTON = 400
"""With more coefficients than this the Hessian is not written out."""
MOST_STEPS = 60
"""Quasi-Newton steps are given up after this many."""
MOST_SUMMARIZED = 64
"""Up to this number of coefficients there is always an estimate of the Hessian, for standard errors."""
NEWTON_WORK = 1e6
"""Up to this number of rows times coefficients squared, Newton's method is the fastest."""
MOST_EPOCHS = 50
"""Dual descent stops after this many epochs, which only a weak ridge needs, and Newton's method goes on."""
NEAR = 100.0
"""Dual descent stops this much earlier than the fit: the last steps are cheaper in the primal."""
LOOSE = 1e-4
"""A fit to this tolerance or a looser one ends in the dual."""
STIFF = 1e3
"""Dual descent is slow where a row's weight times its squared length is this many times the ridge."""


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


def newton(objective: PenalizedLoss, start: Array, tol: float, max_iter: int, observe: Observer = unobserved) -> Fit:
    """Minimize by Newton's method: iteratively reweighted least squares.

    w ← (XᵀVX)⁻¹XᵀVz is the Newton step w − H⁻¹g, written with the working response z.
    """
    found = minimize(objective, start, tol, max_iter, observe=observe)
    state, point = found.state, objective.polished(found)
    if point is not state.point:
        state = objective.at(point)
    norm = objective.relative_norm(state.gradient)
    return Fit(point, Convergence("newton", found.iterations, state.loss, norm, found.converged), state.hessian)


def truncated_newton(
    objective: PenalizedLoss, start: Array, tol: float, max_iter: int, observe: Observer = unobserved
) -> Fit:
    """Minimize by Newton's method whose steps are found by conjugate gradients, without writing the Hessian out."""
    found = minimize(ScoredLoss(objective), start, tol, max_iter, observe=observe)
    ended = Convergence("truncated newton", found.iterations, found.state.loss, found.gradient_norm, found.converged)
    return Fit(found.state.point, ended)


def quasi_newton(
    objective: PenalizedLoss,
    start: Array,
    tol: float,
    max_iter: int,
    observe: Observer = unobserved,
    near: Solve | None = None,
) -> Fit:
    """Minimize by quasi-Newton steps; ``near`` solves with a matrix that is near the Hessian at the optimum.

    Where this does not converge, Newton's method takes over.
    """
    found = descend(objective, start, tol, min(max_iter, MOST_STEPS), near=near, observe=observe)
    state, norm = found.state, found.gradient_norm
    stuck = 0 < found.iterations < MOST_STEPS and norm <= np.sqrt(tol)  # as near as rounding allows
    if not (found.converged or stuck or objective.separates(state)) and found.iterations < max_iter:
        exact = newton if state.gradient.size <= MOST_NEWTON else truncated_newton
        rest = exact(objective, state.point, tol, max_iter - found.iterations, observe)
        ended = rest.convergence
        return replace(rest, convergence=replace(ended, iterations=found.iterations + ended.iterations))
    met = found.converged or stuck or objective.separates(state)
    ended = Convergence("quasi-newton", found.iterations, state.loss, norm, bool(met))
    # With a ridge nothing is tested: the Hessian of the sample is good enough.
    free = not objective.penalty.any() and state.gradient.size <= MOST_NEWTON
    hessian = objective.at(state.point).hessian if free else found.hessian
    if hessian is None and near is None and state.gradient.size <= MOST_SUMMARIZED:
        hessian = Sample.of(objective).near(state.point)[1]
    return Fit(state.point, ended, hessian)


def dual_descent(
    objective: PenalizedLoss, start: Array, tol: float, max_iter: int, observe: Observer = unobserved
) -> Fit:
    """Minimize by coordinate descent in the dual, each epoch linear in the entries, and then by truncated Newton.

    For sparse rows of two classes, with the same ridge on every column and none on the intercept.
    """
    rows, ridge = objective.rows, float(objective.penalty[0])
    table = rows.table.astype(np.float64, copy=False)
    weights = np.ones(len(rows.classes)) if rows.weights is None else np.asarray(rows.weights, np.float64)
    costs = weights / ridge
    free = rows.intercept
    mean = np.asarray(weights @ table).ravel() / max(float(weights.sum()), 1e-300) if free else np.zeros(table.shape[1])
    # In the scale of the dual, the gradient is the error of the dual variables times the rows.
    longest = max(_longest(table), 1e-300)
    if costs.max(initial=0.0) * longest**2 > STIFF:
        return truncated_newton(objective, start, tol, max_iter, observe)
    enough = (NEAR if tol < LOOSE else 1.0) * tol * objective.scale / ridge / longest
    indices = (table.indptr.astype(np.int32, copy=False), table.indices.astype(np.int32, copy=False), table.data)
    found, epochs, _ = _native.logistic_dual(
        *indices, rows.classes, costs, mean, free, min(max_iter, MOST_EPOCHS), enough, 1
    )
    point = (found if free else found[:-1])[None, :]
    polished = truncated_newton(objective, point, tol, max_iter, observe)
    ended = polished.convergence
    return replace(polished, convergence=replace(ended, solver="dual descent", iterations=epochs + ended.iterations))


def _longest(table: Any) -> float:
    """Return the largest length of a row."""
    squares = np.add.reduceat(np.append(table.data**2, 0.0), table.indptr[:-1])
    return float(np.sqrt(np.where(np.diff(table.indptr) > 0, squares, 0.0).max(initial=0.0)))


SOLVERS = {
    "newton": newton,
    "quasi-newton": quasi_newton,
    "truncated newton": truncated_newton,
    "dual descent": dual_descent,
}


def choose_solver(rows: LabeledRows, penalty: Array) -> str:
    """Choose the solver by what a step of each costs."""
    coefficients = rows.outputs * rows.columns
    if not rows.sparse:
        return _chosen_for_dense(rows, coefficients)
    if coefficients <= (MOST_SUMMARIZED if penalty.any() else MOST_NEWTON):
        return "newton"
    if coefficients <= MOST_NEWTON:
        return "truncated newton"
    ridges = penalty[: rows.table.shape[1]]
    alike = rows.outputs == 1 and ridges.min() > 0 and ridges.min() == ridges.max()
    free = not rows.intercept or penalty[-1] == 0
    small = max(rows.table.nnz, *rows.table.shape) < 2**31
    return "dual descent" if alike and free and small else "truncated newton"


def _chosen_for_dense(rows: LabeledRows, coefficients: int) -> str:
    """A step of Newton's method costs rows · coefficients² and coefficients³, a quasi-Newton step a pass."""
    if max(len(rows.classes), coefficients) * coefficients**2 <= NEWTON_WORK:
        return "newton"
    return "quasi-newton"
