"""Gaussian discriminants: from scatter to discriminant functions. Covariances, shrinkage and priors are applied here.

Linear, with the covariance Σ pooled over the classes:  δ_k(x) = xᵀΣ⁻¹μ_k − ½ μ_kᵀΣ⁻¹μ_k + log π_k.
Quadratic, with one for each:  δ_k(x) = −½ log|Σ_k| − ½ (x−μ_k)ᵀΣ_k⁻¹(x−μ_k) + log π_k.

No covariance is inverted: each is taken apart as D V Λ Vᵀ D, with D the standard deviations and V Λ Vᵀ the
correlations, and W = D⁻¹ V Λ^(−½) makes its rows white: Σ⁻¹ = W Wᵀ. The smallest of Λ says whether Σ can be used as it
is; if not, its correlations are shrunk, and the message of the model says so.
"""

from __future__ import annotations

from collections.abc import Iterator
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
"""Automatic shrinkage is at least so strong, so that what it gives can be inverted."""
LINEAR_BLOCK = 1 << 13
"""Rows scored at once: what is made of them stays in the processor's cache."""
QUADRATIC_BYTES = 1 << 18
"""The same for the products of rows with the covariances of all classes."""


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
    """How sums become covariances.

    Parameters
    ----------
    shrinkage : None, "auto" or float
        How far a covariance goes to a multiple of the identity; ``"auto"`` is Ledoit and Wolf's for each class, of
        standardised columns.
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
    """What makes rows with a covariance white: Σ⁻¹ = WWᵀ over the columns that are not constant."""

    matrix: Array
    log_determinant: float
    covariance: Array
    shrinkage: float
    message: str | None = None


# ------------------------------------------------------------------------------------------------ shrinkage


def ledoit_wolf(scatter: Scatter) -> tuple[Array, Array]:
    """Return the covariance of each class (divided by N_k), shrunk by Ledoit and Wolf's rule, and how far.

    The columns are standardised first, as scikit-learn does it. Needs the sums of fourth powers.

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
    """Ledoit and Wolf 2004, equation 14, on standardised columns: how noisy the entries are, by their dispersion."""
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
    columns = len(correlations)
    trace, squares = float(np.trace(correlations)), float(np.sum(correlations**2))
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
    message = (
        f"{whose} is singular or ill-conditioned: its correlations were shrunk by {share:.3g} towards none (Ledoit and "
        "Wolf's rule for normal rows); give more rows, leave out columns that others determine, or set shrinkage"
    )
    return _whitening(whole, live, scale, *np.linalg.eigh(shrunk), share, message)


def _shrunk_correlations(covariance: Array, spread: Spread, degrees: float) -> tuple[float, Array]:
    """Shrink a covariance of live columns in units of their scales; give how far, too."""
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


def _divisors(counts: Array, taken: float, divisor: str) -> Array:
    """Return what to divide the products of rows by, having ``taken`` a mean for each class."""
    if divisor == "likelihood":
        return counts
    left = counts - taken
    fractional = (counts > 0) & (left <= 0) & (counts != np.round(counts))
    if np.any(fractional):
        raise ValueError(
            f"the weights of the rows sum to {counts[fractional][0]:.3g}, no more than the {taken:g} means they give: "
            "they count as repetitions of rows, so scale them up, or divide by their sum with divisor='likelihood'"
        )
    return np.asarray(np.where(left > 0, left, 1.0))


def common_covariance(scatter: Scatter, priors: Array, settings: CovarianceSettings) -> tuple[Array, float]:
    """Return the covariance pooled over the classes, shrunk as the settings say, and how far."""
    rows, classes = scatter.counts.sum(keepdims=True), len(scatter.counts)
    divisor = _divisors(rows, classes, settings.divisor)[0]
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


# --------------------------------------------------------------------------------------------------- linear


@dataclass(frozen=True)
class LinearDiscriminant:
    """Scores δ_k(x) = x·coef_k + intercept_k, and the canonical variates (x − mean)·scalings."""

    means: Array
    mean: Array
    priors: Array
    covariance: Array
    scalings: Array
    explained: Array
    coefficients: Array
    intercepts: Array
    shrinkage: float
    message: str | None


def solve_linear(
    scatter: Scatter,
    priors: Array,
    settings: CovarianceSettings,
    centred: bool = True,
    every: bool = False,
    given: Array | None = None,
) -> LinearDiscriminant:
    """Derive the linear discriminant functions from the sums.

    Parameters
    ----------
    centred : bool
        Write the functions for x less the mean, which adds the same number to all of them.
    every : bool
        Give as many canonical directions as columns, not only those in which the means differ.
    given : array, optional
        The common covariance, if it is not to be estimated from the sums.

    Examples
    --------
    >>> rows, classes = np.array([[1.0], [3.0], [7.0], [9.0]]), np.array([0, 0, 1, 1])
    >>> model = solve_linear(Scatter.of(rows, classes, 2), np.array([0.5, 0.5]), CovarianceSettings())
    >>> model.covariance.tolist(), (model.coefficients[1] - model.coefficients[0]).round(9).tolist()
    ([[2.0]], [3.0])
    """
    means, mean = scatter.means(), priors @ scatter.means()
    covariance, amount = common_covariance(scatter, priors, settings) if given is None else (given, 0.0)
    degrees = float(scatter.counts.sum()) - len(priors)
    white = whiten(covariance, Spread.of(scatter), settings, degrees, "the covariance within the classes")
    origin = mean if centred else np.zeros_like(mean)
    projected = (means - origin) @ white.matrix
    coefficients = projected @ white.matrix.T
    with np.errstate(divide="ignore"):  # a prior may be 0
        intercepts = np.log(priors) - 0.5 * (projected**2).sum(axis=1) - coefficients @ origin
    scalings, explained = _canonical(white.matrix, means - mean, scatter.counts.sum() * priors, settings, every)
    return LinearDiscriminant(
        means,
        mean,
        priors,
        white.covariance,
        scalings,
        explained,
        coefficients,
        intercepts,
        max(amount, white.shrinkage),
        white.message,
    )


def _canonical(
    white: Array, apart: Array, rows: Array, settings: CovarianceSettings, every: bool
) -> tuple[Array, Array]:
    """Return the directions in which the means, made white, differ most, and their shares of the difference."""
    weighted = np.sqrt(rows / max(len(rows) - 1, 1))[:, None] * (apart @ white)
    _, lengths, directions = np.linalg.svd(weighted, full_matrices=every)
    total = float(np.sum(lengths**2))
    explained = lengths**2 / total if total > 0 else np.zeros_like(lengths)
    # A single class has no directions, but scikit-learn keeps the columns of its matrix.
    wanted = len(directions) if every or not len(lengths) else int(np.sum(lengths > settings.tolerance * lengths[0]))
    return white @ directions[:wanted].T, explained


# ------------------------------------------------------------------------------------------------ quadratic


@dataclass(frozen=True)
class QuadraticDiscriminant:
    """Scores δ_k(x) = level_k − ½‖(x − μ_k) W_k‖²."""

    means: Array
    priors: Array
    whitenings: tuple[Whitening, ...]
    levels: Array
    messages: tuple[str, ...]

    def scores(self, rows: Array) -> Iterator[tuple[slice, Array]]:
        """Return the scores of rows, block by block."""
        matrices = [white.matrix for white in self.whitenings]
        groups = list(blocks(len(matrices), max(QUADRATIC_BYTES // (8 * max(matrices[0].size, 1)), 1)))
        distances = [_Distances(self.means[group], matrices[group]) for group in groups]
        for block in blocks(len(rows), LINEAR_BLOCK):
            with np.errstate(all="ignore"):  # who calls looks for what is not finite
                scores = self.levels - np.hstack([part.of(rows[block]) for part in distances])
            yield block, scores


class _Distances:
    """Room for ½‖(x − μ_k) W_k‖² of a few rows at once and some classes: one product for them all."""

    def __init__(self, means: Array, whitenings: list[Array]) -> None:
        origin = means.mean(axis=0)  # rows are moved near zero first, so that no digits are lost
        halved = [matrix * np.sqrt(0.5) for matrix in whitenings]
        shift = np.hstack([(mean - origin) @ matrix for mean, matrix in zip(means, halved, strict=True)])
        self._wide = np.hstack(halved)
        self._shape = (len(means), whitenings[0].shape[1])
        self._size = int(np.clip(QUADRATIC_BYTES // (8 * max(len(shift), 1)), 64, LINEAR_BLOCK))
        # Repeated for each row: one long subtraction is faster than many short ones.
        self._origins, self._shifts = np.tile(origin, (self._size, 1)), np.tile(shift, (self._size, 1))
        self._room, self._products = np.empty_like(self._origins), np.empty_like(self._shifts)

    def of(self, rows: Array) -> Array:
        result = np.empty((len(rows), self._shape[0]))
        for block in blocks(len(rows), self._size):
            size = block.stop - block.start
            centred = np.subtract(rows[block], self._origins[:size], out=self._room[:size])
            white = np.matmul(centred, self._wide, out=self._products[:size])
            white -= self._shifts[:size]
            parts = white.reshape(size, *self._shape)
            np.einsum("ijk,ijk->ij", parts, parts, out=result[block])
        return result


def solve_quadratic(
    scatter: Scatter,
    priors: Array,
    settings: CovarianceSettings,
    names: Array | None = None,
    given: Array | None = None,
) -> QuadraticDiscriminant:
    """Derive the quadratic discriminant functions from the sums by class, or with ``given`` covariances.

    Examples
    --------
    >>> rows, classes = np.array([[1.0], [3.0], [5.0], [9.0]]), np.array([0, 0, 1, 1])
    >>> model = solve_quadratic(Scatter.of(rows, classes, 2), np.array([0.5, 0.5]), CovarianceSettings())
    >>> [white.covariance.tolist() for white in model.whitenings]
    [[[2.0]], [[8.0]]]
    """
    spread = Spread.of(scatter)
    covariances = class_covariances(scatter, settings) if given is None else given
    whose = [f"the covariance of class {name!s}" for name in (np.arange(len(priors)) if names is None else names)]
    whitenings = [
        whiten(_mixed(covariance, settings), spread, settings, float(count) - 1, text)
        if count > 1
        else _borrowed(scatter, spread, settings, text)
        for covariance, count, text in zip(covariances, scatter.counts, whose, strict=True)
    ]
    with np.errstate(divide="ignore"):  # a prior may be 0
        levels = np.log(priors) - 0.5 * np.array([white.log_determinant for white in whitenings])
    messages = tuple(white.message for white in whitenings if white.message is not None)
    return QuadraticDiscriminant(scatter.means(), priors, tuple(whitenings), levels, messages)


def class_covariances(scatter: Scatter, settings: CovarianceSettings) -> Array:
    """Return the covariance of each class, shrunk as the settings say."""
    divisors = _divisors(scatter.counts, 1.0, settings.divisor)
    if settings.shrinkage == "auto":
        covariances = ledoit_wolf(scatter)[0] * (scatter.counts / divisors)[:, None, None]
    else:
        covariances = scatter.by_class() / divisors[:, None, None]
    amount = 0.0 if settings.shrinkage in (None, "auto") else float(settings.shrinkage or 0.0)
    return np.array([_shrunk(covariance, amount) for covariance in covariances])


def _mixed(covariance: Array, settings: CovarianceSettings) -> Array:
    share = settings.regularization
    return np.asarray((1 - share) * covariance + share * np.eye(len(covariance)))


def _borrowed(scatter: Scatter, spread: Spread, settings: CovarianceSettings, whose: str) -> Whitening:
    """Return a class with a single row the covariance within all classes."""
    rows = float(scatter.counts.sum())
    pooled = scatter.within() / max(rows - len(scatter.counts), 1.0)
    white = whiten(pooled, spread, settings, rows - len(scatter.counts), "")
    message = f"{whose} is unknown, as there is only one row: the one within all classes stands in; give more rows"
    return Whitening(white.matrix, white.log_determinant, white.covariance, white.shrinkage, message)


# ------------------------------------------------------------------------------------------ scores of rows


def blocks(rows: int, size: int) -> Iterator[slice]:
    """Cut a number of rows into blocks."""
    return (slice(start, min(start + size, rows)) for start in range(0, rows, size))


def linear_scores(rows: Array, coefficients: Array, intercepts: Array) -> Iterator[tuple[slice, Array]]:
    """Return x·coef_k + intercept_k block by block; flat for a single function."""
    weights = np.ascontiguousarray(coefficients[0] if len(coefficients) == 1 else coefficients.T)
    size = max(LINEAR_BLOCK * 4 // max(len(coefficients), 4), 1 << 6)
    for block in blocks(rows.shape[0], size):
        with np.errstate(all="ignore"):  # who calls looks for what is not finite
            scores = rows[block] @ weights
            scores += intercepts
        yield block, scores


def probabilities(scores: Iterator[tuple[slice, Array]], rows: int, classes: int) -> Array:
    """Turn scores by blocks into probabilities; flat scores are the log odds of the second of two classes."""
    result = np.empty((rows, classes))
    for block, part in scores:
        with np.errstate(over="ignore", invalid="ignore"):
            if classes == 1:
                result[block] = 1.0
            elif part.ndim == 1 or classes == 2:
                _fill_binary(part if part.ndim == 1 else part[:, 1] - part[:, 0], result[block])
            else:
                result[block] = _shares(np.ascontiguousarray(part.T)).T
    return result


def _fill_binary(odds: Array, result: Array) -> None:
    """Write 1/(1+e^s) and e^s/(1+e^s): each to full precision, where one less the other would lose what is small."""
    powers = np.minimum(odds, 709.0)  # beyond, e^s overflows
    np.exp(powers, out=powers)
    shares = powers + 1.0
    np.reciprocal(shares, out=shares)
    result[:, 0] = shares
    np.multiply(powers, shares, out=result[:, 1])


def _shares(scores: Array) -> Array:
    """Return the softmax of scores that have a row for each class: so laid out, sums over few classes are fast."""
    top = scores.max(axis=0)
    scores -= np.where(np.isfinite(top), top, 0.0)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=0)
    return scores


def log_probabilities(scores: Iterator[tuple[slice, Array]], rows: int, classes: int) -> Array:
    """Turn scores by blocks into log probabilities, without underflow."""
    from scipy.special import logsumexp

    result = np.empty((rows, classes))
    for block, part in scores:
        if part.ndim == 1:
            result[block] = -np.logaddexp(0.0, np.stack([part, -part], axis=1))
        else:
            result[block] = part - logsumexp(part, axis=1, keepdims=True)
    return result


def gathered(scores: Iterator[tuple[slice, Array]], rows: int, classes: int) -> Array:
    """Put scores by blocks into one array; those of two classes as the log odds of the second."""
    result = np.empty(rows if classes <= 2 else (rows, classes))
    for block, part in scores:
        result[block] = part if part.ndim == 1 or classes > 2 else part[:, -1] - (part[:, 0] if classes == 2 else 0.0)
    return result
