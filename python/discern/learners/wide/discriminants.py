"""Linear discriminants from fewer rows than columns.

A shrunken covariance is a diagonal plus AᵀA, with A the rows about their means. The formula of Woodbury solves it by a
matrix with a side of rows. Results are those of :mod:`discern.learners.discriminants`, to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.learners.covariances import ROUNDING, CovarianceSettings, divisors, normal_shrinkage_of, singular_message

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


@dataclass(frozen=True)
class WideLinear:
    """Linear discriminant functions and canonical directions, as :class:`LinearDiscriminant` has them."""

    means: Array
    mean: Array
    priors: Array
    scalings: Array
    explained: Array
    coefficients: Array
    intercepts: Array
    shrinkage: float
    message: str | None


@dataclass(frozen=True)
class _Rows:
    """Rows about the means of their classes, over the columns that are not constant."""

    table: Array
    classes: Array
    weights: Array
    counts: Array
    means: Array
    live: Array
    within: Array
    total: Array
    noise: Array

    @classmethod
    def of(cls, X: Array, classes: Array, n_classes: int, weights: Array | None) -> _Rows:
        given = np.ones(len(classes)) if weights is None else np.asarray(weights, np.float64)
        counts = np.bincount(classes, given, n_classes)
        table = X.astype(np.float64)
        means = np.array([given[part] @ table[part] for part in _parts(classes, n_classes)]) / counts[:, None]
        table -= means[classes]
        noise = (ROUNDING * np.abs(means).max(axis=0)) ** 2
        rows = counts.sum()
        within = np.einsum("i,ij,ij->j", given, table, table) / rows
        total = within + counts @ (means - counts @ means / rows) ** 2 / rows
        live = np.flatnonzero(total > noise)
        return cls(table, classes, given, counts, means, live, np.where(within > noise, within, 0.0), total, noise)

    @property
    def scale(self) -> Array:
        """A standard deviation for each live column, within the classes where there is one."""
        return np.sqrt(np.where(self.within > 0, self.within, self.total)[self.live])


def _parts(classes: Array, n_classes: int) -> list[Array]:
    return [np.flatnonzero(classes == place) for place in range(n_classes)]


@dataclass(frozen=True)
class _Covariance:
    """A covariance as a diagonal plus Σ shares · row · rowᵀ, over the live columns, and how much it was shrunk."""

    diagonal: Array
    shares: Array
    shrinkage: float
    message: str | None = None


def solve_linear_wide(
    X: Array, classes: Array, weights: Array | None, priors: Array, settings: CovarianceSettings, centered: bool = True
) -> WideLinear | None:
    """Derive the linear discriminant functions from fewer rows than columns.

    Return None where the covariance may be too ill-conditioned for that, or need not be singular.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0, 0.0, 2.0], [1.0, 0.0, 0.5, 1.0], [5.0, 1.0, 3.0, 0.0], [6.0, 0.5, 2.0, 1.0]])
    >>> found = solve_linear_wide(X[:3], np.array([0, 0, 1]), None, np.array([0.5, 0.5]), CovarianceSettings())
    >>> found.coefficients.shape, found.message is None
    ((2, 4), False)
    """
    rows = _Rows.of(X, classes, len(priors), weights)
    if len(rows.live) <= len(classes) - len(priors):
        return None
    covariance = _covariance(rows, priors, settings)
    if covariance is None:
        return None
    solve = _woodbury(rows, covariance)
    mean = priors @ rows.means
    origin = mean if centered else np.zeros_like(mean)
    apart = (rows.means - origin)[:, rows.live]
    coefficients = np.zeros_like(rows.means)
    coefficients[:, rows.live] = solve(apart.T).T
    with np.errstate(divide="ignore"):  # a prior may be 0
        lengths = np.einsum("ij,ij->i", apart, coefficients[:, rows.live])
        intercepts = np.log(priors) - 0.5 * lengths - coefficients @ origin
    scalings, explained = _canonical(rows, mean, priors, settings, solve)
    return WideLinear(
        rows.means,
        mean,
        priors,
        scalings,
        explained,
        coefficients,
        intercepts,
        covariance.shrinkage,
        covariance.message,
    )


def _covariance(rows: _Rows, priors: Array, settings: CovarianceSettings) -> _Covariance | None:
    """Return the covariance pooled over the classes, shrunk by the settings, or because it is singular."""
    total, classes = float(rows.counts.sum()), len(priors)
    divisor = float(divisors(np.array([total]), classes, settings.divisor)[0])
    by_prior = settings.by_prior and settings.divisor == "likelihood"
    of_class = priors if by_prior else rows.counts / divisor
    if settings.shrinkage == "auto":
        return _checked(rows, _ledoit_wolf(rows, of_class), settings)
    shares = (of_class / rows.counts)[rows.classes] * rows.weights
    amount = float(settings.shrinkage or 0.0)
    if amount > 0:
        level = float(shares @ np.einsum("ij,ij->i", rows.table, rows.table)) / rows.table.shape[1]
        diagonal = np.full(len(rows.live), amount * level)
        return _checked(rows, _Covariance(diagonal, (1 - amount) * shares, amount), settings)
    scale = rows.scale
    products = _products(rows.table[:, rows.live] / scale, shares)
    trace, squares, columns = float(np.trace(products)), float(np.sum(products**2)), len(scale)
    level, share = trace / columns, 1.0
    if level > 0:
        share = normal_shrinkage_of(columns, trace, squares, total - classes)
    message = singular_message("the covariance within the classes", share)
    return _Covariance(share * (level if level > 0 else 1.0) * scale**2, (1 - share) * shares, share, message)


def _checked(rows: _Rows, covariance: _Covariance, settings: CovarianceSettings) -> _Covariance | None:
    """Return a covariance whose correlations surely have no eigenvalue near 0; otherwise None."""
    own = np.einsum("i,ij,ij->j", covariance.shares, *(rows.table[:, rows.live],) * 2)
    variances = own + covariance.diagonal
    sound = np.all(variances > rows.noise[rows.live]) and np.all(covariance.diagonal > 0)
    return covariance if sound and np.min(covariance.diagonal / variances) > settings.tolerance**2 else None


def _ledoit_wolf(rows: _Rows, of_class: Array) -> _Covariance:
    """Shrink the covariance of each class by the rule of Ledoit and Wolf, and pool them."""
    columns = rows.table.shape[1]
    diagonal, shares, amounts = np.zeros(columns), np.zeros(len(rows.classes)), np.zeros(len(of_class))
    for place, part in enumerate(_parts(rows.classes, len(of_class))):
        weights, table, count = rows.weights[part], rows.table[part], rows.counts[place]
        variances = np.einsum("i,ij,ij->j", weights, table, table) / count
        scale = np.sqrt(np.where(variances > rows.noise, variances, 1.0))
        products = _products(table / scale, weights / count)
        lengths = ((table / scale) ** 2).sum(axis=1)
        level, squares = float(np.trace(products)) / columns, float(np.sum(products**2))
        noise = (float(weights @ lengths**2) / count - squares) / (columns * count)
        dispersion = (squares - columns * level**2) / columns
        amount = min(noise, dispersion) / dispersion if dispersion > 0 and noise > 0 else 0.0
        diagonal += of_class[place] * amount * level * scale**2
        shares[part] = of_class[place] * (1 - amount) * weights / count
        amounts[place] = amount
    return _Covariance(diagonal[rows.live], shares, float(rows.counts @ amounts / rows.counts.sum()))


def _products(table: Array, shares: Array) -> Array:
    """Return the products of rows, each row times the root of its share."""
    scaled = table * np.sqrt(shares)[:, None]
    return np.asarray(scaled @ scaled.T)


def _woodbury(rows: _Rows, covariance: _Covariance) -> Any:
    """Return the function that solves with a diagonal D plus AᵀA: D⁻¹ − D⁻¹Aᵀ(I + AD⁻¹Aᵀ)⁻¹AD⁻¹."""
    from scipy.linalg import cho_factor, cho_solve

    roots = np.sqrt(covariance.diagonal)
    scaled = rows.table[:, rows.live]
    scaled *= np.sqrt(covariance.shares)[:, None]
    scaled /= roots
    factor = cho_factor(scaled @ scaled.T + np.eye(len(scaled)), overwrite_a=True, check_finite=False)

    def solve(right: Array) -> Array:
        part = right / roots[:, None]
        part -= scaled.T @ cho_solve(factor, scaled @ part, check_finite=False)
        return part / roots[:, None]

    return solve


def _canonical(
    rows: _Rows, mean: Array, priors: Array, settings: CovarianceSettings, solve: Any
) -> tuple[Array, Array]:
    """Return the directions in which the means differ most in units of the covariance, and their shares."""
    classes = len(priors)
    weighted = np.sqrt(rows.counts.sum() * priors / max(classes - 1, 1))[:, None] * (rows.means - mean)[:, rows.live]
    solved = solve(weighted.T)
    values, vectors = np.linalg.eigh(weighted @ solved)
    lengths, vectors = np.sqrt(np.maximum(values[::-1], 0.0)), vectors[:, ::-1]
    total = float(np.sum(lengths**2))
    explained = lengths**2 / total if total > 0 else np.zeros_like(lengths)
    wanted = min(int(np.sum(lengths > settings.tolerance * lengths[0])), max(classes - 1, 0))
    scalings = np.zeros((len(mean), wanted))
    scalings[rows.live] = solved @ vectors[:, :wanted] / lengths[:wanted]
    return scalings, explained
