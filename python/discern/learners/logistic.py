"""Logistic regression with two or more classes: statistics at given coefficients, solvers, and what to infer.

    objective(w) = Σ_i weight_i · loss(y_i, w·x_i) + ½ Σ_j penalty_j w_j²

Coefficients are a matrix: one row for two classes, a row a class for more, a column a feature and the intercept last.
Loss, gradient and Hessian at given coefficients are sums over rows (:class:`Statistics`): those of shards add up, and a
round of Newton's method is one sum. With more than two classes only differences of rows matter; those given here sum to
zero, which is where the ridge penalty puts them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh, solve_triangular
from scipy.special import expit, logsumexp

import discern._native as _native
from discern.data.threads import default_threads
from discern.learners.separation import Separation, find_separation

Array = NDArray[Any]

BLOCK_NUMBERS = 1 << 16
"""Dense rows are taken in blocks of about so many numbers, which stay in the cache."""
MOST_NEWTON = 400
"""With more coefficients than this the Hessian is not written out."""
SAMPLE = 16
"""Where there are many dense rows, their Hessian is taken from one in so many."""
MANY_ROWS = 1 << 18
"""So many dense rows are many."""
MOST_NATIVE = 64
"""Up to so many columns the Hessian of dense rows is summed by the native code, beyond by BLAS."""
MOST_EPOCHS = 50
"""Epochs of descent in the dual, after which Newton's method goes on: only with a weak ridge it takes so many."""
STIFF = 1e3
"""Where a row's weight times its squared length is so many times the ridge, descent in the dual is slow."""
FAR = 100.0
"""Columns whose mean is so many standard deviations from zero are centred first."""


@dataclass(frozen=True)
class Rows:
    """Rows to learn from: a dense or sparse (CSR) table, the number of each row's class, and its weight."""

    table: Any
    classes: NDArray[np.int32]
    width: int
    weights: Array | None = None
    intercept: bool = True

    @property
    def outputs(self) -> int:
        """How many rows the matrix of coefficients has."""
        return 1 if self.width == 2 else self.width

    @property
    def columns(self) -> int:
        """How many columns the matrix of coefficients has."""
        return int(self.table.shape[1]) + self.intercept

    @property
    def sparse(self) -> bool:
        """Whether the table is sparse."""
        return not isinstance(self.table, np.ndarray)

    @property
    def total(self) -> float:
        """The sum of the weights."""
        return float(len(self.classes)) if self.weights is None else float(self.weights.sum())

    def take(self, chosen: Any) -> Rows:
        """Return some of the rows."""
        weights = None if self.weights is None else self.weights[chosen]
        return replace(self, table=self.table[chosen], classes=self.classes[chosen], weights=weights)

    def blocks(self) -> Iterator[Rows]:
        """Return the rows in pieces that stay in the cache; a sparse table in one."""
        size = max(BLOCK_NUMBERS // max(self.columns, self.outputs), 64)
        if self.sparse or len(self.classes) <= size:
            yield self
            return
        for start in range(0, len(self.classes), size):
            yield self.take(slice(start, start + size))

    def scores(self, coefficients: Array) -> Array:
        """Return w·x for each row and output."""
        features = self.table.shape[1]
        scores = np.asarray(self.table @ coefficients[:, :features].T)
        return scores + coefficients[:, features] if self.intercept else scores

    def sums(self, factors: Array) -> Array:
        """Return Σ_i factors_i x_i, an output a row."""
        sums = np.asarray((self.table.T @ factors).T)
        return np.hstack([sums, factors.sum(axis=0)[:, None]]) if self.intercept else sums

    def gram(self, factors: Array) -> Array:
        """Return Σ_i factors_i x_i x_iᵀ."""
        if self.sparse:
            weighted = self.table.multiply(factors[:, None]).tocsr()
            product = np.asarray((self.table.T @ weighted).toarray())
        else:
            weighted = self.table * factors[:, None]
            product = self.table.T @ weighted
        if not self.intercept:
            return product
        border = np.asarray(weighted.sum(axis=0)).reshape(1, -1)
        return np.block([[product, border.T], [border, factors.sum()]])


# --------------------------------------------------------------------------------------------------- statistics


@dataclass(frozen=True)
class Statistics:
    """Loss, gradient and Hessian of rows at given coefficients: sums, so those of shards add up.

    Examples
    --------
    >>> X, y, w = np.array([[1.0], [2.0], [3.0]]), np.array([0, 1, 1]), np.zeros((1, 2))
    >>> whole, parts = statistics(X, y, w), statistics(X[:1], y[:1], w) + statistics(X[1:], y[1:], w)
    >>> whole.gradient.tolist() == parts.gradient.tolist()
    True
    """

    loss: float
    gradient: Array
    hessian: Array | None
    weight: float

    def __add__(self, other: Statistics) -> Statistics:
        both = self.hessian is not None and other.hessian is not None
        hessian = self.hessian + other.hessian if both else None  # type: ignore[operator]
        gradient = self.gradient + other.gradient
        return Statistics(self.loss + other.loss, gradient, hessian, self.weight + other.weight)


def statistics(
    table: Any,
    classes: Any,
    coefficients: Array,
    *,
    weights: Array | None = None,
    intercept: bool = True,
    hessian: bool = True,
) -> Statistics:
    """Return loss, gradient and Hessian of rows at given coefficients, without any penalty.

    Parameters
    ----------
    table : array or CSR matrix of shape (rows, features)
    classes : the number of each row's class: 0 or 1, or below the number of rows of ``coefficients``
    coefficients : array of shape (1, columns) for two classes, (classes, columns) for more; the intercept is last
    weights : weight of each row, 1 if not given
    intercept : whether ``coefficients`` has a last column for it
    hessian : whether to give the Hessian, of shape (outputs × columns) squared

    Examples
    --------
    >>> statistics(np.array([[2.0]]), np.array([1]), np.zeros((1, 2))).gradient.tolist()
    [[-1.0, -0.5]]
    """
    coefficients = np.asarray(coefficients, np.float64)
    width = 2 if len(coefficients) == 1 else len(coefficients)
    numbers = np.asarray(classes)
    if len(numbers) != table.shape[0] or np.any((numbers < 0) | (numbers >= width)):
        raise ValueError(f"there must be one class for each row, a number from 0 to {width - 1}")
    rows = Rows(table, numbers.astype(np.int32), width, weights, intercept)
    if coefficients.shape != (rows.outputs, rows.columns):
        raise ValueError(f"coefficients must have the shape {(rows.outputs, rows.columns)}, not {coefficients.shape}")
    return _statistics(rows, coefficients, hessian)


def hessian_product(table: Any, classes: Any, coefficients: Array, direction: Array) -> Array:
    """Return the product of the Hessian of rows at given coefficients with a direction: a sum over rows, too.

    Examples
    --------
    >>> X, y, w = np.array([[1.0], [2.0]]), np.array([0, 1]), np.array([[0.5, -1.0]])
    >>> product = hessian_product(X, y, w, np.array([[1.0, 0.0]]))
    >>> np.allclose(product.ravel(), statistics(X, y, w).hessian[:, 0])
    True
    """
    width = 2 if len(coefficients) == 1 else len(coefficients)
    rows = Rows(table, np.asarray(classes, np.int32), width)
    _, _, product = _curved(Objective(rows, np.zeros(rows.columns)), coefficients, rows.scores(coefficients))
    return product(direction)


def _statistics(rows: Rows, coefficients: Array, hessian: bool = True) -> Statistics:
    if rows.outputs == 1 and not rows.sparse and (not hessian or rows.columns <= MOST_NATIVE):
        return _native_statistics(rows, coefficients, hessian)
    one = _binary_statistics if rows.outputs == 1 else _multinomial_statistics
    blocks = rows.blocks()
    total = one(next(blocks), coefficients, hessian)
    for block in blocks:
        total = total + one(block, coefficients, hessian)
    return total


def _native_statistics(rows: Rows, coefficients: Array, hessian: bool) -> Statistics:
    table = np.ascontiguousarray(rows.table, np.float64)
    weights = None if rows.weights is None else np.ascontiguousarray(rows.weights, np.float64)
    wide = coefficients[0] if rows.intercept else np.append(coefficients[0], 0.0)
    threads = default_threads() if len(table) > 1 << 15 else 1
    loss, gradient, squared = _native.logistic_sums(
        table, np.ascontiguousarray(rows.classes), np.ascontiguousarray(wide), weights, hessian, threads
    )
    columns = rows.columns
    squared = None if squared is None else squared[:columns, :columns]
    return Statistics(loss, gradient[None, :columns], squared, rows.total)


def _binary_statistics(rows: Rows, coefficients: Array, hessian: bool) -> Statistics:
    scores = rows.scores(coefficients)[:, 0]
    probability, rest = expit(scores), expit(-scores)
    losses = np.logaddexp(0.0, np.where(rows.classes == 1, -scores, scores))
    residual = np.where(rows.classes == 1, -rest, probability)
    curvature = probability * rest
    if rows.weights is not None:
        losses, residual, curvature = (rows.weights * part for part in (losses, residual, curvature))
    gram = rows.gram(curvature) if hessian else None
    return Statistics(float(losses.sum()), rows.sums(residual[:, None]), gram, rows.total)


def _multinomial_statistics(rows: Rows, coefficients: Array, hessian: bool) -> Statistics:
    scores = rows.scores(coefficients)
    levels = logsumexp(scores, axis=1, keepdims=True)
    every, weights = np.arange(len(scores)), np.ones(len(scores)) if rows.weights is None else rows.weights
    loss = float(weights @ (levels[:, 0] - scores[every, rows.classes]))
    shares = np.exp(scores - levels)
    residual = shares.copy()
    residual[every, rows.classes] -= 1.0
    gram = _multinomial_hessian(rows, shares, weights) if hessian else None
    return Statistics(loss, rows.sums(residual * weights[:, None]), gram, rows.total)


def _multinomial_hessian(rows: Rows, shares: Array, weights: Array) -> Array:
    """Return the blocks Σ p_k (δ_kl − p_l) x xᵀ."""
    width, columns = rows.outputs, rows.columns
    blocks = np.empty((width, columns, width, columns))
    for k in range(width):
        for j in range(k + 1):
            factors = weights * shares[:, k] * ((k == j) - shares[:, j])
            blocks[k, :, j, :] = blocks[j, :, k, :] = rows.gram(factors)
    return blocks.reshape(width * columns, width * columns)


# ---------------------------------------------------------------------------------------------------- objective


@dataclass(frozen=True)
class Convergence:
    """How a fit ended.

    ``gradient_norm`` is relative to the norm at zero coefficients, ``objective`` is the penalised loss.
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
class Objective:
    """The penalised loss of rows; ``penalty`` has a number for each column of the coefficients."""

    rows: Rows
    penalty: Array
    known_scale: float | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the coefficients."""
        return self.rows.outputs, self.rows.columns

    def at(self, coefficients: Array, hessian: bool = True) -> Statistics:
        """Return value, gradient and Hessian, the penalty included."""
        sums = _statistics(self.rows, coefficients, hessian)
        value = sums.loss + 0.5 * float(np.sum(self.penalty * coefficients**2))
        curved = sums.hessian
        if curved is not None:
            curved = curved.copy()
            curved[np.diag_indices_from(curved)] += np.tile(self.penalty, self.rows.outputs)
        return Statistics(value, sums.gradient + self.penalty * coefficients, curved, sums.weight)

    @cached_property
    def scale(self) -> float:
        """The norm of the gradient at zero coefficients, against which others are measured."""
        norm = self.known_scale or float(np.linalg.norm(_gradient_at_zero(self.rows)))
        return norm if norm > 0 else 1.0

    def relative_norm(self, gradient: Array) -> float:
        """Return the norm of a gradient relative to that at zero coefficients."""
        return float(np.linalg.norm(gradient)) / self.scale


def _gradient_at_zero(rows: Rows) -> Array:
    share = 0.5 if rows.outputs == 1 else 1.0 / rows.width
    targets = (rows.classes[:, None] == np.arange(rows.width)[-rows.outputs :]).astype(np.float64)
    residual = share - targets
    return rows.sums(residual if rows.weights is None else residual * rows.weights[:, None])


# ------------------------------------------------------------------------------------------------------- Newton


@dataclass(frozen=True)
class Fit:
    """Fitted coefficients, how they were found, and the Hessian there (penalty included; of centred columns if there
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
        # The Hessian is that of centred columns, b + w·c in the place of b: undone here, where no digits are lost.
        back = np.eye(columns)
        back[-1, :-1] = -self.offsets
        every = np.kron(np.eye(max(outputs - 1, 1)), back)
        return np.asarray(every @ spread @ every.T)


def newton(objective: Objective, start: Array, tol: float, max_iter: int) -> Fit:
    """Minimise by Newton's method with step halving: iteratively reweighted least squares.

    w ← (XᵀVX)⁻¹XᵀVz is the Newton step w − H⁻¹g, written with the working response z.
    """
    point, state = start, objective.at(start)
    iterations, converged = 0, _is_stationary(objective, state, tol)
    while iterations < max_iter and not converged:
        step = newton_step(state, objective.rows.outputs)
        moved = _halved(objective, point, state, step)
        iterations += 1
        if moved is None:  # no step is downhill any more: this is as near as rounding allows
            converged = objective.relative_norm(state.gradient) <= np.sqrt(tol)
            break
        point, state = moved
        converged = _is_stationary(objective, state, tol)
    if converged and iterations:  # one step more squares what is left of the error
        point = point + _small(newton_step(state, objective.rows.outputs), point)
        state = objective.at(point) if len(objective.rows.classes) < MANY_ROWS else state
    norm = objective.relative_norm(state.gradient)
    return Fit(point, Convergence("newton", iterations, state.loss, norm, converged), state.hessian)


def _small(step: Array, point: Array) -> Array:
    """Return a step if it is a last correction, else none."""
    small = np.linalg.norm(step) <= 1e-4 * np.linalg.norm(point)
    return step if small else np.zeros_like(step)


def _is_stationary(objective: Objective, state: Statistics, tol: float) -> bool:
    """Whether the gradient is small, both as it is and with every column brought to the same scale."""
    assert state.hessian is not None
    decrement = float(np.sum(state.gradient.ravel() ** 2 / _positive(np.diag(state.hessian))))
    level = max(abs(state.loss), 1e-6 * state.weight)  # where classes are separated the loss itself goes to zero
    return bool(objective.relative_norm(state.gradient) <= tol and decrement <= tol * level)


def _positive(diagonal: Array) -> Array:
    return np.where(diagonal > 0, diagonal, 1.0)


def _halved(objective: Objective, point: Array, state: Statistics, step: Array) -> tuple[Array, Statistics] | None:
    """Take a step, halved until the objective is lower (Armijo's rule); None if it never is."""
    slope = float(np.sum(step * state.gradient))
    rounding = 16 * np.finfo(float).eps * abs(state.loss)
    for halvings in range(40):
        factor = 0.5**halvings
        there = point + factor * step
        moved = objective.at(there)
        if moved.loss <= state.loss + 1e-4 * factor * slope + rounding:
            smaller = np.linalg.norm(moved.gradient) < np.linalg.norm(state.gradient)
            return (there, moved) if smaller or moved.loss < state.loss else None
    return None


def newton_step(state: Statistics, outputs: int) -> Array:
    """Return −H⁻¹g; where the columns are dependent, the shortest such step in their common scale."""
    assert state.hessian is not None
    solve = Inverse.of(state.hessian, outputs).solve
    return -solve(state.gradient.ravel()).reshape(state.gradient.shape)


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
        lifted = hessian if outputs == 1 else hessian + _lift(hessian, outputs)
        scales = 1.0 / np.sqrt(_positive(np.diag(lifted)))
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
        scales = self.scales if right.ndim == 1 else self.scales[:, None]
        if self.vectors is None:
            return np.asarray(scales * cho_solve(self.factor, scales * right))
        inner = self.vectors.T @ (scales * right)
        return np.asarray(
            scales * (self.vectors @ (inner / (self.factor if right.ndim == 1 else self.factor[:, None])))
        )

    def log_determinant(self) -> float:
        """Return log |H|."""
        own = np.log(self.factor) if self.vectors is not None else 2 * np.log(np.diag(self.factor[0]))
        return float(np.sum(own) - 2 * np.sum(np.log(self.scales)))

    def lengths(self, table: Array) -> Array:
        """Return xᵀH⁻¹x for each row x."""
        scaled = (table * self.scales).T
        if self.vectors is None:
            return np.asarray((solve_triangular(self.factor[0], scaled, lower=True) ** 2).sum(axis=0))
        return np.asarray(((self.vectors.T @ scaled) ** 2 / self.factor[:, None]).sum(axis=0))


def _lift(hessian: Array, outputs: int) -> Array:
    columns = len(hessian) // outputs
    level = np.diag(hessian).reshape(outputs, columns).mean(axis=0)
    return np.kron(np.full((outputs, outputs), 1.0 / outputs), np.diag(_positive(level)))


# --------------------------------------------------------------------------------------------- truncated Newton


def truncated_newton(objective: Objective, start: Array, tol: float, max_iter: int) -> Fit:
    """Minimise by Newton's method whose steps are found by conjugate gradients, without writing the Hessian out.

    Each product with the Hessian is two products with the table. Scores are linear in the coefficients, so trying a
    shorter step costs no product. Lin, Weng and Keerthi (2008), "Trust region Newton method for logistic regression",
    with the line search of Hsia, Zhu and Lin (2017).
    """
    rows, point = objective.rows, start
    scores = rows.scores(point)
    value, gradient, products = _curved(objective, point, scores)
    iterations, converged = 0, objective.relative_norm(gradient) <= tol
    while iterations < max_iter and not converged:
        norm = objective.relative_norm(gradient)
        step = conjugate_gradients(products, -gradient, min(0.1, np.sqrt(norm)))
        along, slope = rows.scores(step), float(np.sum(step * gradient))
        factor = _line_search(objective, point, scores, step, along, value, slope)
        iterations += 1
        if factor == 0.0:
            converged = norm <= np.sqrt(tol)
            break
        point, scores = point + factor * step, scores + factor * along
        value, gradient, products = _curved(objective, point, scores)
        converged = objective.relative_norm(gradient) <= tol
    norm = objective.relative_norm(gradient)
    return Fit(point, Convergence("truncated newton", iterations, value, norm, converged))


def _curved(objective: Objective, point: Array, scores: Array) -> tuple[float, Array, Callable[[Array], Array]]:
    """Return value, gradient and the product of the Hessian with a matrix of the coefficients' shape."""
    rows, weights = objective.rows, 1.0 if objective.rows.weights is None else objective.rows.weights[:, None]
    shares = probabilities(scores)[:, -rows.outputs :]
    targets = rows.classes[:, None] == np.arange(rows.width)[-rows.outputs :]
    gradient = rows.sums(weights * (shares - targets)) + objective.penalty * point

    def product(direction: Array) -> Array:
        moved = rows.scores(direction)
        common = (shares * moved).sum(axis=1, keepdims=True)
        change = shares * (1 - shares) * moved if rows.outputs == 1 else shares * (moved - common)
        return np.asarray(rows.sums(weights * change) + objective.penalty * direction)

    return _value(objective, point, scores), gradient, product


def _value(objective: Objective, point: Array, scores: Array) -> float:
    losses = _losses(scores, objective.rows.classes)
    weights = objective.rows.weights
    loss = losses.sum() if weights is None else weights @ losses
    return float(loss + 0.5 * np.sum(objective.penalty * point**2))


def _losses(scores: Array, classes: Array) -> Array:
    if scores.shape[1] == 1:
        return np.asarray(np.logaddexp(0.0, np.where(classes == 1, -scores[:, 0], scores[:, 0])))
    return np.asarray(logsumexp(scores, axis=1) - scores[np.arange(len(scores)), classes])


def probabilities(scores: Array) -> Array:
    """Return the probability of each class from the scores of each output.

    Examples
    --------
    >>> probabilities(np.array([[0.0]])).tolist()
    [[0.5, 0.5]]
    """
    if scores.shape[1] == 1:
        return np.hstack([expit(-scores), expit(scores)])
    return np.asarray(np.exp(scores - logsumexp(scores, axis=1, keepdims=True)))


def pair_probabilities(table: Array, coefficients: Array) -> Array:
    """Return the probabilities of two classes for the rows of a dense table; NaN where a score is not finite."""
    wide = np.ascontiguousarray(coefficients.ravel(), np.float64)
    return _native.logistic_probabilities(np.ascontiguousarray(table), wide, default_threads())


def conjugate_gradients(product: Callable[[Array], Array], right: Array, accuracy: float, most: int = 200) -> Array:
    """Solve H s = right to a relative accuracy; stops early where H is flat."""
    step, residual = np.zeros_like(right), right.copy()
    direction, squared = residual.copy(), float(np.sum(residual**2))
    enough = accuracy**2 * squared
    for _ in range(most):
        if squared <= enough:
            break
        curved = product(direction)
        curvature = float(np.sum(direction * curved))
        if curvature <= 1e-300:
            break
        length = squared / curvature
        step, residual = step + length * direction, residual - length * curved
        squared, before = float(np.sum(residual**2)), squared
        direction = residual + squared / before * direction
    return step if step.any() else right


def _line_search(
    objective: Objective, point: Array, scores: Array, step: Array, along: Array, value: float, slope: float
) -> float:
    """Return how much of a step to take: the first of 1, ½, ¼, … that lowers the objective enough; 0 if none does."""
    rounding = 16 * np.finfo(float).eps * abs(value)
    for halvings in range(40):
        factor = 0.5**halvings
        there = _value(objective, point + factor * step, scores + factor * along)
        if there <= value + 1e-4 * factor * slope + rounding:
            return factor
    return 0.0


def limited_memory(objective: Objective, start: Array, tol: float, max_iter: int) -> Fit:
    """Minimise by L-BFGS (Byrd, Lu, Nocedal and Zhu 1995), as SciPy has it."""
    from scipy.optimize import minimize

    total = max(objective.rows.total, 1e-300)

    def mean(flat: Array) -> tuple[float, Array]:
        state = objective.at(flat.reshape(objective.shape), hessian=False)
        return state.loss / total, state.gradient.ravel() / total

    options = {"maxiter": max_iter, "maxls": 50, "gtol": tol * objective.scale / total / 10, "ftol": 1e-16}
    found: Any = minimize(mean, start.ravel(), method="L-BFGS-B", jac=True, options=options)  # type: ignore[call-overload]
    norm = objective.relative_norm(found.jac * total)
    ended = Convergence("lbfgs", int(found.nit), float(found.fun) * total, norm, bool(norm <= np.sqrt(tol)))
    return Fit(found.x.reshape(objective.shape), ended)


def sampled_newton(objective: Objective, start: Array, tol: float, max_iter: int) -> Fit:
    """Minimise by quasi-Newton steps from the solution for a sample of the rows, beginning with its Hessian.

    The Hessian of a sample is nearly that of all rows, so that each look at all rows, for a gradient, leaves a small
    share of the error; what the sample got wrong the BFGS formula learns on the way. Where that does not hold, Newton's
    method takes over.
    """
    rows = objective.rows
    sample = rows.take(np.arange(0, len(rows.classes), SAMPLE))
    share = max(sample.total, 1e-300) / max(rows.total, 1e-300)
    part = Objective(sample, objective.penalty * share)
    small = Objective(sample.take(np.arange(0, len(sample.classes), SAMPLE)), part.penalty / SAMPLE)
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


def dual_descent(objective: Objective, start: Array, tol: float, max_iter: int) -> Fit:
    """Minimise by descent in the dual, in time linear in the entries; what is left, if anything, by truncated Newton.

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
    "lbfgs": limited_memory,
}


# ----------------------------------------------------------------------------------------------------- fitting


def choose_solver(rows: Rows, penalty: Array) -> str:
    """Return the solver for rows: by how many coefficients there are, whether the rows are sparse, and how many."""
    if rows.outputs * rows.columns <= MOST_NEWTON:
        return "sampled newton" if not rows.sparse and len(rows.classes) >= MANY_ROWS else "newton"
    ridges = penalty[: rows.table.shape[1]]
    alike = rows.sparse and rows.outputs == 1 and ridges.min() > 0 and ridges.min() == ridges.max()
    free = not rows.intercept or penalty[-1] == 0
    small = rows.sparse and max(rows.table.nnz, *rows.table.shape) < 2**31
    return "dual descent" if alike and free and small else "truncated newton"


def fit(
    rows: Rows,
    penalty: Array,
    *,
    solver: str = "auto",
    tol: float = 1e-8,
    max_iter: int = 100,
    start: Array | None = None,
) -> Fit:
    """Minimise the penalised loss.

    Parameters
    ----------
    rows : Rows
    penalty : array
        One number for each column of the coefficients; 0 leaves a column free.
    solver : {"auto", "newton", "sampled newton", "truncated newton", "dual descent", "lbfgs"}
    tol : float
        The norm of the gradient to reach, relative to that at zero coefficients.

    Examples
    --------
    >>> rows = Rows(np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 1, 0, 1], np.int32), 2)
    >>> fit(rows, np.zeros(2)).coefficients.round(4).tolist()
    [[0.9082, -1.3623]]
    """
    offsets = _offsets(rows, penalty)
    if offsets is not None:
        return _fit_centred(rows, penalty, offsets, solver=solver, tol=tol, max_iter=max_iter, start=start)
    name = choose_solver(rows, penalty) if solver == "auto" else solver
    if start is not None and name in ("sampled newton", "dual descent"):
        name = "newton" if name == "sampled newton" else "truncated newton"
    objective = Objective(rows, penalty)
    start = np.zeros(objective.shape) if start is None else start
    found = SOLVERS[name](objective, start, tol, max_iter)
    ridge = 0.5 * float(np.sum(penalty * found.coefficients**2))
    found = replace(found, loss=found.convergence.objective - ridge)
    return found if np.all(penalty > 0) else _with_existence(rows, penalty, found)


def _offsets(rows: Rows, penalty: Array) -> Array | None:
    """Return the means of columns that lie far from zero, when a free intercept lets them be centred."""
    if rows.sparse or not rows.intercept or penalty[-1] != 0 or not len(rows.classes):
        return None
    some = rows.table[: 1 << 10]
    means, spreads = some.mean(axis=0), some.std(axis=0)
    far = (np.abs(means) > FAR * spreads) & (spreads > 0)
    return np.where(far, means, 0.0) if far.any() else None


def _fit_centred(rows: Rows, penalty: Array, offsets: Array, start: Array | None = None, **options: Any) -> Fit:
    """Fit with columns centred, where x and 1 are nearly the same: w·x + b = w·(x − c) + (b + w·c)."""
    if start is not None:
        start = start.copy()
        start[:, -1] += start[:, :-1] @ offsets
    found = fit(replace(rows, table=rows.table - offsets), penalty, start=start, **options)
    coefficients = found.coefficients.copy()
    coefficients[:, -1] -= coefficients[:, :-1] @ offsets
    return replace(found, coefficients=coefficients, separation=_moved(found.separation, offsets), offsets=offsets)


def _moved(separation: Separation | None, offsets: Array) -> Separation | None:
    if separation is None:
        return None
    direction = separation.direction.copy()
    direction[:, -1] -= direction[:, :-1] @ offsets
    return replace(separation, direction=direction)


# ------------------------------------------------------------------------------- whether there is a maximum


def _with_existence(rows: Rows, penalty: Array, found: Fit) -> Fit:
    """Return whether the data are separated; they are not when a maximum is proved to exist near what was found."""
    if np.any(penalty[: rows.table.shape[1]] > 0):  # a ridge: the maximum exists
        return found
    if found.hessian is None:
        found = replace(found, hessian=Objective(rows, penalty).at(found.coefficients).hessian)
    assert found.hessian is not None
    inverse = Inverse.of(found.hessian, rows.outputs)
    dependent = dependent_columns(rows) if inverse.singular else ()
    if found.convergence.converged and not inverse.singular and _exists(rows, found, inverse):
        return found
    separation = find_separation(rows.table, rows.classes, rows.width, rows.intercept, rows.weights, found.coefficients)
    return replace(found, separation=separation, dependent=dependent)


def _exists(rows: Rows, found: Fit, inverse: Inverse) -> bool:
    """Whether a maximum is proved to exist: the Newton step moves no score by more than a half.

    Along any line the logistic loss satisfies |f‴| ≤ R f″ with R the largest change of a score (Bach 2010,
    "Self-concordant analysis for logistic regression", proposition 2): λ·R ≤ ½ then implies a minimum, where λ is the
    Newton decrement and R = max √(xᵀH⁻¹x). On separated data the two shrink and grow alike, and λR stays near 1.
    """
    gradient = _statistics(rows, found.coefficients, hessian=False).gradient.ravel()
    decrement = float(np.sqrt(max(float(gradient @ inverse.solve(gradient)), 0.0)))
    longest = max(float(_lengths(block, inverse).max(initial=0.0)) for block in rows.blocks())
    factor = 1.0 if rows.outputs == 1 else 2.0  # differences of scores of two classes
    return bool(decrement * longest**0.5 * factor <= 0.5)


def _lengths(rows: Rows, inverse: Inverse) -> Array:
    """Return xᵀH⁻¹x of each row, the largest over the outputs."""
    table = dense_table(rows)
    longest = np.zeros(len(table))
    for output in range(rows.outputs):
        wide = np.zeros((len(table), rows.outputs * rows.columns))
        wide[:, output * rows.columns : (output + 1) * rows.columns] = table
        longest = np.maximum(longest, inverse.lengths(wide))
    return longest


def dense_table(rows: Rows) -> Array:
    """Return the table with the column of the intercept, dense."""
    table = rows.table.toarray() if rows.sparse else rows.table
    return np.hstack([table, np.ones((len(table), 1))]) if rows.intercept else np.asarray(table)


def dependent_columns(rows: Rows) -> tuple[int, ...]:
    """Return the columns that are linear combinations of the others (and the intercept), to rounding."""
    from scipy.linalg import qr

    gram = sum((block.gram(np.ones(len(block.classes))) for block in rows.blocks()), np.zeros((rows.columns,) * 2))
    order = [rows.columns - 1, *range(rows.columns - 1)] if rows.intercept else [*range(rows.columns)]
    scales = 1.0 / np.sqrt(_positive(np.diag(gram)))
    scaled = (gram * scales * scales[:, None])[np.ix_(order, order)]
    _, triangle, pivots = qr(scaled, pivoting=True)
    sizes = np.abs(np.diag(triangle))
    rank = int(np.sum(sizes > 1e-12 * max(float(sizes[0]), 1e-300)))
    return tuple(sorted(int(order[place]) for place in pivots[rank:] if order[place] < rows.table.shape[1]))


# -------------------------------------------------------------------------------------------------------- Firth


def fit_firth(rows: Rows, *, tol: float = 1e-8, max_iter: int = 100) -> Fit:
    """Maximise the likelihood times Jeffreys' prior |I(w)|^½, which exists even for separated data. Two classes only.

    Firth (1993), "Bias reduction of maximum likelihood estimates"; Heinze and Schemper (2002), "A solution to the
    problem of separation in logistic regression": the score becomes Σ x (y − p + h (½ − p)), h being the leverages.

    Examples
    --------
    >>> rows = Rows(np.array([[-1.0], [1.0]]), np.array([0, 1], np.int32), 2, intercept=False)
    >>> fit_firth(rows).coefficients.round(4).tolist()
    [[1.6094]]
    """
    if rows.outputs > 1:
        raise ValueError(
            "Only binary classification is supported by Firth's penalty; for more classes use a ridge (a finite C)"
        )
    point = np.zeros((1, rows.columns))
    state = _firth_state(rows, point)
    scale = max(float(np.linalg.norm(state.gradient)), 1e-300)
    iterations, converged = 0, float(np.linalg.norm(state.gradient)) == 0.0
    while iterations < max_iter and not converged:
        iterations += 1
        moved = _firth_halved(rows, point, state)
        if moved is None:
            break
        point, state = moved
        converged = float(np.linalg.norm(state.gradient)) <= tol * scale
    norm = float(np.linalg.norm(state.gradient)) / scale
    ended = Convergence("firth", iterations, state.loss, norm, converged or norm <= np.sqrt(tol))
    return Fit(point, ended, state.hessian, _statistics(rows, point, hessian=False).loss)


def _firth_state(rows: Rows, point: Array) -> Statistics:
    """Return the penalised loss and its gradient, and the information matrix in the Hessian's place."""
    plain = _statistics(rows, point)
    assert plain.hessian is not None
    inverse, gradient = Inverse.of(plain.hessian), plain.gradient.copy()
    for block in rows.blocks():
        shares = expit(block.scores(point)[:, 0])
        weights = 1.0 if block.weights is None else block.weights
        leverages = weights * shares * (1 - shares) * inverse.lengths(dense_table(block))
        gradient -= block.sums((leverages * (0.5 - shares))[:, None])
    return Statistics(plain.loss - 0.5 * inverse.log_determinant(), gradient, plain.hessian, plain.weight)


def _firth_halved(rows: Rows, point: Array, state: Statistics) -> tuple[Array, Statistics] | None:
    step = newton_step(state, 1)
    step *= min(1.0, 5.0 / max(float(np.abs(rows.scores(step)).max(initial=0.0)), 1e-300))
    for halvings in range(30):
        there = point + 0.5**halvings * step
        moved = _firth_state(rows, there)
        if moved.loss <= state.loss + 1e-13 * abs(state.loss):
            return there, moved
    return None
