"""Newton's method and conjugate gradients: one of each, for every smooth convex function that discern minimizes.

A function is an :class:`Objective`. Where it writes out its Hessian, a step is solved directly (:class:`Inverse`), else
by conjugate gradients from products with the Hessian, which a preconditioner may speed up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Linear = Callable[[Array], Array]
Observer = Callable[[Array], None]
"""What is called with the coefficients after each iteration."""

MOST_HALVINGS = 40
"""The most times that a step is halved."""
MOST_PRODUCTS = 200
"""The most steps of conjugate gradients."""
ROUNDING = 16 * float(np.finfo(float).eps)
"""The relative rounding error of an objective's value, if nothing else is known about it."""


class State(Protocol):
    """What is known of an objective at a point."""

    @property
    def point(self) -> Array: ...

    @property
    def loss(self) -> float: ...

    @property
    def gradient(self) -> Array: ...


S = TypeVar("S", bound=State)


class Objective(Protocol[S]):
    """A smooth convex function of an array of coefficients."""

    @property
    def scale(self) -> float:
        """The norm of the gradient at zero coefficients, to which others are compared."""

    def at(self, point: Array) -> S:
        """Evaluate the function at a point."""

    def step(self, state: S) -> Array:
        """Return the Newton step −H⁻¹g, or nearly that."""

    def along(self, state: S, step: Array) -> Callable[[float], S]:
        """Return the function of t that evaluates this one at ``state.point + t * step``."""
        return lambda share: self.at(state.point + share * step)

    def is_stationary(self, state: S, tol: float) -> bool:
        """Whether the gradient is small enough to stop."""
        return self.relative_norm(state.gradient) <= tol

    def relative_norm(self, gradient: Array) -> float:
        """Return the norm of a gradient relative to that at zero coefficients."""
        return float(np.linalg.norm(gradient)) / self.scale


@dataclass(frozen=True)
class Minimum(Generic[S]):
    """Where a minimization ended."""

    state: S
    iterations: int
    gradient_norm: float
    converged: bool


def unobserved(point: Array) -> None:
    """Do nothing with the coefficients after an iteration."""


def minimize(
    objective: Objective[S],
    start: Array,
    tol: float,
    max_iter: int,
    rounding: float = ROUNDING,
    observe: Observer = unobserved,
) -> Minimum[S]:
    """Minimize by Newton's method with step halving.

    Parameters
    ----------
    tol : float
        The norm of the gradient to reach, relative to that at zero coefficients.
    rounding : float
        How much higher, relatively, a value may come out by rounding alone.
    observe : callable
        Called with the coefficients after each iteration.
    """
    state = objective.at(start)
    iterations, converged = 0, objective.is_stationary(state, tol)
    while iterations < max_iter and not converged:
        moved = _descend(objective, state, objective.step(state), rounding)
        iterations += 1
        observe(state.point if moved is None else moved.point)
        if moved is None:  # no step is downhill any more: this is as near as rounding allows
            converged = objective.relative_norm(state.gradient) <= np.sqrt(tol)
            break
        state = moved
        converged = objective.is_stationary(state, tol)
    return Minimum(state, iterations, objective.relative_norm(state.gradient), bool(converged))


def _descend(objective: Objective[S], state: S, step: Array, rounding: float) -> S | None:
    """Take a step, halved until the value is low enough (Armijo's rule); None if it never is."""
    slope, slack = float(np.sum(step * state.gradient)), rounding * abs(state.loss)
    along = objective.along(state, step)
    for halvings in range(MOST_HALVINGS):
        share = 0.5**halvings
        moved = along(share)
        if moved.loss <= state.loss + 1e-4 * share * slope + slack:
            lower = moved.loss < state.loss or np.linalg.norm(moved.gradient) < np.linalg.norm(state.gradient)
            return moved if lower else None
    return None


def conjugate_step(product: Linear, gradient: Array, relative_norm: float, precondition: Linear | None = None) -> Array:
    """Return the Newton step by conjugate gradients, the more exactly the nearer the optimum is.

    Lin, Weng and Keerthi (2008), "Trust region Newton method for logistic regression".
    """
    return conjugate_gradients(product, -gradient, min(0.1, np.sqrt(relative_norm)), precondition)[0]


def conjugate_gradients(
    product: Linear, right: Array, accuracy: float, precondition: Linear | None = None, most: int = MOST_PRODUCTS
) -> tuple[Array, int]:
    """Solve H s = right to a relative accuracy; stop early where H is flat. Return the number of steps, too.

    A preconditioner solves H s = r nearly: the nearer, the fewer the steps. It may be another linear map each time
    (Notay 2000, "Flexible conjugate gradients").

    Examples
    --------
    >>> matrix = np.array([[4.0, 1.0], [1.0, 3.0]])
    >>> found, steps = conjugate_gradients(lambda s: matrix @ s, np.array([1.0, 2.0]), 1e-9)
    >>> found.round(6).tolist(), steps
    ([0.090909, 0.636364], 2)
    """
    found, residual, steps = np.zeros_like(right), right, 0
    squares = float(np.sum(right**2))
    enough = accuracy**2 * squares
    near = right if precondition is None else precondition(right)
    direction, level = near, squares if precondition is None else float(np.sum(right * near))
    while steps < most and level > 0:
        curved = product(direction)
        curvature = float(np.sum(direction * curved))
        if curvature <= 1e-300:
            break
        found, left = found + level / curvature * direction, residual - level / curvature * curved
        steps, squares = steps + 1, float(np.sum(left**2))
        if squares <= enough:
            break
        near = left if precondition is None else precondition(left)
        shared = squares if precondition is None else float(np.sum(near * (left - residual)))
        direction = near + shared / level * direction
        residual, level = left, squares if precondition is None else float(np.sum(left * near))
    return (found if found.any() else right), steps


# ---------------------------------------------------------------------------------------- Hessians written out


@dataclass(frozen=True)
class Expansion:
    """Value, gradient and perhaps Hessian of an objective at a point; ``weight`` is that of its rows."""

    point: Array
    loss: float
    gradient: Array
    hessian: Array | None = None
    weight: float = 0.0


class DenseObjective(Objective[Expansion]):
    """An objective of a matrix of coefficients, a row an output, that writes out its Hessian."""

    def step(self, state: Expansion) -> Array:
        """Return −H⁻¹g; where the columns are dependent, the shortest such step in their common scale."""
        assert state.hessian is not None
        solve = Inverse.of(state.hessian, len(state.gradient)).solve
        return -solve(state.gradient.ravel()).reshape(state.gradient.shape)

    def is_stationary(self, state: Expansion, tol: float) -> bool:
        """Whether the gradient is small, both as it is and with every column brought to the same scale."""
        assert state.hessian is not None
        decrement = float(np.sum(state.gradient.ravel() ** 2 / positive(np.diag(state.hessian))))
        level = max(abs(state.loss), 1e-6 * state.weight)  # where classes are separated the loss itself goes to zero
        return bool(self.relative_norm(state.gradient) <= tol and decrement <= tol * level)

    def polished(self, found: Minimum[Expansion]) -> Array:
        """Return the point after one step more, which squares what is left of the error."""
        point = found.state.point
        if not found.converged or not found.iterations:
            return point
        step = self.step(found.state)
        small = np.linalg.norm(step) <= 1e-4 * np.linalg.norm(point)
        return point + step if small else point


def positive(diagonal: Array) -> Array:
    """Return the numbers of a diagonal, 1 for those that are not above 0."""
    return np.where(diagonal > 0, diagonal, 1.0)


@dataclass(frozen=True)
class Inverse:
    """The inverse of a Hessian, by Cholesky, or by its eigenvectors if it is singular.

    With more than two classes the Hessian is singular along equal changes of all classes. There it is lifted: no
    gradient points that way, so no solution changes.
    """

    scales: Array
    factor: Any
    vectors: Array | None = None

    @classmethod
    def of(cls, hessian: Array, outputs: int = 1) -> Inverse:
        """Factor a Hessian."""
        from scipy.linalg import LinAlgError, cho_factor, eigh

        lifted = hessian if outputs == 1 else hessian + _lift(hessian, outputs)
        scales = 1.0 / np.sqrt(positive(np.diag(lifted)))
        scaled = lifted * scales * scales[:, None]
        try:
            factor = cho_factor(scaled, lower=True)
            if np.diag(factor[0]).min() ** 2 > 1e-13:
                return cls(scales, factor)
        except LinAlgError:
            pass
        values, vectors = eigh(scaled)
        kept = values > 1e-12 * max(float(values[-1]), 1e-300)
        return cls(scales, values[kept], vectors[:, kept])

    @property
    def singular(self) -> bool:
        """Whether columns are dependent, to rounding."""
        return self.vectors is not None

    def solve(self, right: Array) -> Array:
        """Return H⁻¹ times a vector or the columns of a matrix."""
        from scipy.linalg import cho_solve

        scales = self.scales if right.ndim == 1 else self.scales[:, None]
        if self.vectors is None:
            return np.asarray(scales * cho_solve(self.factor, scales * right))
        inner = self.vectors.T @ (scales * right)
        values = self.factor if right.ndim == 1 else self.factor[:, None]
        return np.asarray(scales * (self.vectors @ (inner / values)))

    def most_of_scaled(self) -> float:
        """Return a bound of the largest eigenvalue of the inverse, if it is by Cholesky and all scales were 1."""
        from scipy.linalg.lapack import dtrtri

        inverse, _ = dtrtri(np.tril(self.factor[0]), lower=1)
        return float(np.sum(inverse**2))

    def log_determinant(self) -> float:
        """Return log |H|."""
        own = np.log(self.factor) if self.vectors is not None else 2 * np.log(np.diag(self.factor[0]))
        return float(np.sum(own) - 2 * np.sum(np.log(self.scales)))

    def lengths(self, table: Array) -> Array:
        """Return xᵀH⁻¹x for each row x."""
        from scipy.linalg import solve_triangular

        scaled = (table * self.scales).T
        if self.vectors is None:
            return np.asarray((solve_triangular(self.factor[0], scaled, lower=True) ** 2).sum(axis=0))
        return np.asarray(((self.vectors.T @ scaled) ** 2 / self.factor[:, None]).sum(axis=0))


def _lift(hessian: Array, outputs: int) -> Array:
    columns = len(hessian) // outputs
    level = np.diag(hessian).reshape(outputs, columns).mean(axis=0)
    lift, places = np.zeros((outputs, columns, outputs, columns)), np.arange(columns)
    lift[:, places, :, places] = (positive(level) / outputs)[:, None, None]
    return lift.reshape(len(hessian), -1)
