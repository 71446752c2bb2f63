"""Gaussian discriminants: from scatter to discriminant functions.

Linear, with the covariance Σ pooled over the classes:  δ_k(x) = xᵀΣ⁻¹μ_k − ½ μ_kᵀΣ⁻¹μ_k + log π_k.
Quadratic, with one for each:  δ_k(x) = −½ log|Σ_k| − ½ (x−μ_k)ᵀΣ_k⁻¹(x−μ_k) + log π_k.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

import discern._native as _native
from discern.data.threads import default_threads
from discern.learners.covariances import (
    CovarianceSettings,
    Spread,
    Whitening,
    borrowed,
    class_covariances,
    common_covariance,
    mixed,
    whiten,
)
from discern.statistics.scatter import Scatter

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

LINEAR_BLOCK = 1 << 13
"""Rows scored at once: the results on the way stay in the processor's cache."""
QUADRATIC_BYTES = 1 << 18
"""The same for the products of rows with the covariances of all classes."""


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
    centered: bool = True,
    every: bool = False,
    given: Array | None = None,
) -> LinearDiscriminant:
    """Derive the linear discriminant functions from the sums.

    Parameters
    ----------
    centered : bool
        Write the functions for x less the mean, which adds the same number to all of them.
    every : bool
        Return as many canonical directions as columns, not only those in which the means differ.
    given : array, optional
        The common covariance, instead of the one estimated from the sums.

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
    origin = mean if centered else np.zeros_like(mean)
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
        if rows.shape[1] == 1 and np.isfinite(rows.sum()):
            yield slice(0, len(rows)), self._scores_of_numbers(rows)
            return
        distances = [_Distances(form, len(rows)) for form in self._forms]
        for block in blocks(len(rows), LINEAR_BLOCK):
            with np.errstate(all="ignore"):  # the caller looks for scores that are not finite
                found = [part.of(rows[block]) for part in distances]
                scores = self.levels - (found[0] if len(found) == 1 else np.hstack(found))
            yield block, scores

    def _scores_of_numbers(self, rows: Array) -> Array:
        """Return the scores of rows of one number: those of normal densities."""
        scales = np.array([0.5 * np.sum(white.matrix**2) for white in self.whitenings])[:, None]
        table, means = np.ascontiguousarray(rows, np.float64), np.ascontiguousarray(self.means)
        return _native.normal_scores(table, means, scales, np.zeros_like(scales), self.levels, default_threads())

    @cached_property
    def _forms(self) -> list[_Form]:
        matrices = [white.matrix for white in self.whitenings]
        groups = blocks(len(matrices), max(QUADRATIC_BYTES // (8 * max(matrices[0].size, 1)), 1))
        return [_Form.of(self.means[group], matrices[group]) for group in groups]

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


@dataclass(frozen=True)
class _Form:
    """The quadratic forms ½‖(x − μ_k) W_k‖² of some classes: (x − origin) · wide − shift, by class."""

    origin: Array
    wide: Array
    shift: Array
    classes: int

    @classmethod
    def of(cls, means: Array, whitenings: list[Array]) -> _Form:
        origin = means.mean(axis=0)  # rows are moved near zero first, so that no digits are lost
        halved = [matrix * np.sqrt(0.5) for matrix in whitenings]
        shift = np.hstack([(mean - origin) @ matrix for mean, matrix in zip(means, halved, strict=True)])
        return cls(origin, np.hstack(halved), shift, len(means))


class _Distances:
    """Buffers for the quadratic forms of some rows, computed by one product."""

    def __init__(self, form: _Form, rows: int) -> None:
        self._wide, self._shape = form.wide, (form.classes, form.wide.shape[1] // form.classes)
        most = max(QUADRATIC_BYTES // (8 * max(len(form.shift), 1)), 64)
        self._size = max(min(most, LINEAR_BLOCK, rows), 1)
        # Repeated for each row: one long subtraction is faster than many short ones.
        self._origins, self._shifts = (_repeated(line, self._size) for line in (form.origin, form.shift))
        self._room, self._products = np.empty_like(self._origins), np.empty_like(self._shifts)

    def of(self, rows: Array) -> Array:
        result = np.empty((len(rows), self._shape[0]))
        for block in blocks(len(rows), self._size):
            size = block.stop - block.start
            centered = np.subtract(rows[block], self._origins[:size], out=self._room[:size])
            white = np.matmul(centered, self._wide, out=self._products[:size])
            white -= self._shifts[:size]
            parts = white.reshape(size, *self._shape)
            np.einsum("ijk,ijk->ij", parts, parts, out=result[block])
        return result


def _repeated(line: Array, times: int) -> Array:
    return line[None, :] if times == 1 else np.tile(line, (times, 1))


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
        whiten(mixed(covariance, settings), spread, settings, float(count) - 1, text)
        if count > 1
        else borrowed(scatter, spread, settings, text)
        for covariance, count, text in zip(covariances, scatter.counts, whose, strict=True)
    ]
    with np.errstate(divide="ignore"):  # a prior may be 0
        levels = np.log(priors) - 0.5 * np.array([white.log_determinant for white in whitenings])
    messages = tuple(white.message for white in whitenings if white.message is not None)
    return QuadraticDiscriminant(scatter.means(), priors, tuple(whitenings), levels, messages)


# ------------------------------------------------------------------------------------------ scores of rows


def blocks(rows: int, size: int) -> Iterator[slice]:
    """Cut a number of rows into blocks."""
    return (slice(start, min(start + size, rows)) for start in range(0, rows, size))


def linear_blocks(rows: Array, coefficients: Array, intercepts: Array) -> Iterator[tuple[slice, Array]]:
    """Return x·coef_k + intercept_k block by block; flat for a single function."""
    weights = np.ascontiguousarray(coefficients[0] if len(coefficients) == 1 else coefficients.T)
    size = max(LINEAR_BLOCK * 4 // max(len(coefficients), 4), 1 << 6)
    if hasattr(rows, "tocsr"):  # a part of sparse rows is a copy
        size = max(rows.shape[0], 1)
    for block in blocks(rows.shape[0], size):
        with np.errstate(all="ignore"):  # the caller looks for scores that are not finite
            scores = (rows if block == slice(0, rows.shape[0]) else rows[block]) @ weights
            scores += intercepts
        yield block, scores


def variates(rows: Array, center: Array | None, directions: Array) -> Array:
    """Return rows, less a center, in some directions: block by block, so that no table of differences is built.

    Examples
    --------
    >>> variates(np.array([[3.0, 1.0], [5.0, 2.0]]), np.array([1.0, 1.0]), np.array([[1.0], [2.0]])).tolist()
    [[2.0], [6.0]]
    """
    found = np.empty((len(rows), directions.shape[1]), np.result_type(rows, directions))
    size = max(LINEAR_BLOCK * 8 // max(rows.shape[1], 1), 64)
    with np.errstate(all="ignore"):  # the caller looks for numbers that are not finite
        for block in blocks(len(rows), size):
            np.matmul(rows[block] if center is None else rows[block] - center, directions, out=found[block])
    return found


def _room(scores: Iterator[tuple[slice, Array]], shape: tuple[int, ...]) -> tuple[Array, Iterator[tuple[slice, Array]]]:
    """Return room for numbers as precise as the scores, and the scores."""
    first = next(scores, None)
    if first is None:
        return np.empty(shape), scores
    return np.empty(shape, np.result_type(first[1], np.float32)), chain([first], scores)


def probabilities(scores: Iterator[tuple[slice, Array]], rows: int, classes: int) -> Array:
    """Turn scores by blocks into probabilities; flat scores are the log odds of the second of two classes."""
    result, scores = _room(scores, (rows, classes))
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
    result, scores = _room(scores, (rows,) if classes <= 2 else (rows, classes))
    for block, part in scores:
        result[block] = part if part.ndim == 1 or classes > 2 else part[:, -1] - (part[:, 0] if classes == 2 else 0.0)
    return result
