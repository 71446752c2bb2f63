"""Covariances from scatter: divisors, shrinkage, and what makes rows white.

No covariance is inverted: each is taken apart as D V Λ Vᵀ D, with D the standard deviations and V Λ Vᵀ the
correlations, and W = D⁻¹ V Λ^(−½) makes its rows white: Σ⁻¹ = W Wᵀ. The smallest of Λ shows whether Σ can be used as it
is; if not, its correlations are shrunk, and the model reports it in its message.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.statistics.scatter import Scatter

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

ROUNDING = 1e-14
"""A column whose standard deviation is a smaller share of its mean is constant, but for rounding."""
LEAST_SHRINKAGE = 1e-6
"""Automatic shrinkage is at least so strong, so that its result can be inverted."""


class SingularCovarianceWarning(UserWarning):
    """A covariance could not be inverted as it was, and has been shrunk.

    Examples
    --------
    >>> import warnings
    >>> from discern.estimators.linear.discriminants import LinearDiscriminantAnalysis
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = LinearDiscriminantAnalysis().fit([[1, 2], [2, 4], [8, 16], [9, 18]], [0, 0, 1, 1])
    >>> [one.category.__name__ for one in caught]
    ['SingularCovarianceWarning']
    """


@dataclass(frozen=True)
class CovarianceSettings:
    """Settings that turn sums into covariances.

    Parameters
    ----------
    shrinkage : None, "auto" or float
        The weight of a multiple of the identity in a covariance; ``"auto"`` is Ledoit and Wolf's for each class, of
        standardized columns.
    divisor : {"unbiased", "likelihood"}
        N−K (pooled) and N_k−1 (each class), or N and N_k.
    by_prior : bool
        With ``"likelihood"``, pool the covariances of the classes by their priors, not by their rows.
    regularization : float
        The share of the identity that is mixed into the covariance of each class (quadratic only).
    tolerance : float
        A covariance is singular if the smallest eigenvalue of its correlations is at most the square of this.
    """

    shrinkage: float | str | None = None
    divisor: str = "unbiased"
    by_prior: bool = False
    regularization: float = 0.0
    tolerance: float = 1e-4

    def needs_classes(self) -> bool:
        """Whether a pooled covariance needs the products of each class apart."""
        return self.shrinkage == "auto" or (self.divisor == "likelihood" and self.by_prior)


@dataclass(frozen=True)
class Whitening:
    """The matrix W that makes rows with a covariance white: Σ⁻¹ = WWᵀ over the columns that are not constant."""

    matrix: Array
    log_determinant: float
    covariance: Array
    shrinkage: float
    message: str | None = None


# ------------------------------------------------------------------------------------------------ shrinkage


def ledoit_wolf(scatter: Scatter) -> tuple[Array, Array]:
    """Return the covariance of each class (divided by N_k), shrunk by Ledoit and Wolf's rule, and the shrinkage.

    The columns are standardized first, as scikit-learn does it. Needs the sums of fourth powers.

    Examples
    --------
    >>> rows = np.random.default_rng(0).standard_normal((50, 4))
    >>> covariances, shrinkage = ledoit_wolf(Scatter.of(rows, np.zeros(50, int), 1, fourth=True))
    >>> bool(0 < shrinkage[0] <= 1)
    True
    """
    about = scatter.about_means()
    if about.fourth is None:
        raise ValueError("Ledoit and Wolf's rule needs the sums of fourth powers")
    results = [
        _ledoit_wolf(count, second, fourth, _noise(scatter))
        for count, second, fourth in zip(about.counts, about.second, about.fourth, strict=True)
    ]
    return np.array([covariance for covariance, _ in results]), np.array([share for _, share in results])


def _ledoit_wolf(count: float, second: Array, fourth: Array, noise: Array) -> tuple[Array, float]:
    """Ledoit and Wolf 2004, equation 14, on standardized columns: how noisy the entries are, by their dispersion."""
    columns = len(second)
    variances = np.diagonal(second) / count
    scale = np.sqrt(np.where(variances > noise, variances, 1.0))
    correlations = second / count / np.outer(scale, scale)
    if columns == 1:
        return second / count, 0.0
    level = float(np.trace(correlations)) / columns
    squares = float(np.sum(correlations**2))
    noise_of_entries = (float(np.sum(fourth / np.outer(scale**2, scale**2))) / count - squares) / (columns * count)
    dispersion = (squares - columns * level**2) / columns
    share = min(noise_of_entries, dispersion) / dispersion if dispersion > 0 and noise_of_entries > 0 else 0.0
    return _shrunk(correlations, share, level) * np.outer(scale, scale), share


def normal_shrinkage(correlations: Array, degrees: float) -> float:
    """Return Ledoit and Wolf's shrinkage with its fourth moments as they are expected of normal rows.

    It needs no more than the products of the rows, and is never worse where the rows are normal, which is what the
    discriminants assume (Chen, Wiesel, Eldar and Hero 2010, equation 17).
    """
    return normal_shrinkage_of(
        len(correlations), float(np.trace(correlations)), float(np.sum(correlations**2)), degrees
    )


def normal_shrinkage_of(columns: int, trace: float, squares: float, degrees: float) -> float:
    """Return the same from the trace of the correlations and the sum of their squares."""
    apart = (degrees + 2) * (squares - trace**2 / columns)
    noise = max(degrees - 2, 0.0) / max(degrees, 1.0) * squares + trace**2
    return float(np.clip(noise / apart if apart > 0 else 1.0, LEAST_SHRINKAGE, 1.0))


def _shrunk(covariance: Array, share: float, level: float | None = None) -> Array:
    if level is None:
        level = float(np.trace(covariance)) / len(covariance)
    return np.asarray((1 - share) * covariance + share * level * np.eye(len(covariance)))


# ---------------------------------------------------------------------------------------------- covariances


def _noise(scatter: Scatter) -> Array:
    """Return the variance that rounding alone can leave in each column: of the rows, and of moving the pivot."""
    rows = (ROUNDING * np.abs(scatter.means()).max(axis=0)) ** 2
    moved = (scatter.first / np.where(scatter.counts > 0, scatter.counts, 1.0)[:, None]) ** 2
    return np.asarray(rows + 8 * np.finfo(float).eps * moved.max(axis=0))


@dataclass(frozen=True)
class Spread:
    """The variances of the columns: within the classes and overall; ``live`` are those that are not constant."""

    within: Array
    total: Array
    noise: Array
    live: Array

    @classmethod
    def of(cls, scatter: Scatter) -> Spread:
        """Derive them from the sums."""
        rows, noise = float(scatter.counts.sum()), _noise(scatter)
        within = np.diagonal(scatter.within()) / rows
        total = within + np.diagonal(scatter.between()) / rows
        return cls(np.where(within > noise, within, 0.0), total, noise, np.flatnonzero(total > noise))

    def scale(self) -> Array:
        """Return a standard deviation for each live column, within the classes where there is one."""
        return np.sqrt(np.where(self.within > 0, self.within, self.total)[self.live])


def whiten(covariance: Array, spread: Spread, settings: CovarianceSettings, degrees: float, whose: str) -> Whitening:
    """Take a covariance apart; shrink it if it is singular or ill-conditioned."""
    live = spread.live
    part = covariance[np.ix_(live, live)]
    variances = np.diagonal(part)
    if bool(np.all(variances > spread.noise[live])):
        scale = np.sqrt(variances)
        values, vectors = np.linalg.eigh(part / np.outer(scale, scale))
        if len(live) == 0 or values[0] > settings.tolerance**2:
            return _whitening(covariance, live, scale, values, vectors, 0.0, None)
    share, shrunk = _shrunk_correlations(part, spread, degrees)
    scale = spread.scale()
    whole = covariance.copy()
    whole[np.ix_(live, live)] = shrunk * np.outer(scale, scale)
    message = singular_message(whose, share)
    return _whitening(whole, live, scale, *np.linalg.eigh(shrunk), share, message)


def singular_message(whose: str, share: float) -> str:
    """Return what to tell about a covariance that was shrunk because it could not be inverted."""
    return (
        f"{whose} is singular or ill-conditioned: its correlations were shrunk by {share:.3g} towards none (Ledoit and "
        "Wolf's rule for normal rows); add more rows, leave out columns that others determine, or set shrinkage"
    )


def _shrunk_correlations(covariance: Array, spread: Spread, degrees: float) -> tuple[float, Array]:
    """Shrink a covariance of live columns in units of their scales; return the shrinkage, too."""
    scale = spread.scale()
    correlations = covariance / np.outer(scale, scale)
    level = float(np.trace(correlations)) / len(scale)
    if level <= 0:  # nothing varies within the classes: go by the columns' scales alone
        return 1.0, np.eye(len(scale))
    share = normal_shrinkage(correlations, degrees)
    return share, _shrunk(correlations, share, level)


def _whitening(
    covariance: Array, live: Array, scale: Array, values: Array, vectors: Array, share: float, message: str | None
) -> Whitening:
    matrix = np.zeros((len(covariance), len(live)))
    matrix[live] = vectors / scale[:, None] / np.sqrt(values)
    return Whitening(matrix, float(np.log(values).sum() + 2 * np.log(scale).sum()), covariance, share, message)


def divisors(counts: Array, taken: float, divisor: str) -> Array:
    """Return the divisors of the products of rows, ``taken`` being the number of means subtracted."""
    if divisor == "likelihood":
        return counts
    left = counts - taken
    fractional = (counts > 0) & (left <= 0) & (counts != np.round(counts))
    if np.any(fractional):
        raise ValueError(
            f"the weights of the rows sum to {counts[fractional][0]:.3g}, not above the {taken:g} means taken of them: "
            "they count as repetitions of rows, so scale them up, or divide by their sum with divisor='likelihood'"
        )
    return np.asarray(np.where(left > 0, left, 1.0))


def common_covariance(scatter: Scatter, priors: Array, settings: CovarianceSettings) -> tuple[Array, float]:
    """Return the covariance pooled over the classes, shrunk according to the settings, and the shrinkage."""
    rows, classes = scatter.counts.sum(keepdims=True), len(scatter.counts)
    divisor = divisors(rows, classes, settings.divisor)[0]
    shares = priors if settings.by_prior and settings.divisor == "likelihood" else scatter.counts / divisor
    if settings.shrinkage == "auto":
        covariances, amounts = ledoit_wolf(scatter)
        return np.tensordot(shares, covariances, 1), float(scatter.counts @ amounts / rows[0])
    if settings.needs_classes():
        pooled = np.tensordot(shares, scatter.by_class() / scatter.counts[:, None, None], 1)
    else:
        pooled = scatter.within() / divisor
    amount = float(settings.shrinkage or 0.0)
    return _shrunk(pooled, amount), amount


def class_covariances(scatter: Scatter, settings: CovarianceSettings) -> Array:
    """Return the covariance of each class, shrunk according to the settings."""
    parts = divisors(scatter.counts, 1.0, settings.divisor)
    if settings.shrinkage == "auto":
        covariances = ledoit_wolf(scatter)[0] * (scatter.counts / parts)[:, None, None]
    else:
        covariances = scatter.by_class() / parts[:, None, None]
    amount = 0.0 if settings.shrinkage in (None, "auto") else float(settings.shrinkage or 0.0)
    return np.array([_shrunk(covariance, amount) for covariance in covariances])


def mixed(covariance: Array, settings: CovarianceSettings) -> Array:
    """Mix the identity into a covariance, by the regularization of the settings."""
    share = settings.regularization
    return np.asarray((1 - share) * covariance + share * np.eye(len(covariance)))


def borrowed(scatter: Scatter, spread: Spread, settings: CovarianceSettings, whose: str) -> Whitening:
    """Use the covariance within all classes for a class with a single row."""
    rows = float(scatter.counts.sum())
    pooled = scatter.within() / max(rows - len(scatter.counts), 1.0)
    white = whiten(pooled, spread, settings, rows - len(scatter.counts), "")
    message = f"{whose} is unknown, as there is only one row: the pooled covariance is used instead; add more rows"
    return Whitening(white.matrix, white.log_determinant, white.covariance, white.shrinkage, message)
