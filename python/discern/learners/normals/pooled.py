"""Normal densities of vectors with one covariance for all classes, shrunken so that it fits few rows, too.

The pooled covariance S of the classes is shrunken toward a multiple of the identity, C = (1 − ρ) S + ρ tr(S)/d · I.
The sums alone tell how far: ρ is the share with the least estimated error on new rows. A row of class k is taken for
class l if ½ Δᵀ C⁻¹ Δ plus noise is below zero, where Δ is the difference of their means. The training rows flatter
both terms, because each row is part of S and of its own mean. Random matrix theory tells by how much, from the trace
of S C⁻¹: it is what leaving a row out changes (A. Zollanvari and E. R. Dougherty, "Generalized consistent error
estimator of linear discriminant analysis", IEEE Transactions on Signal Processing, 2015).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

SHARES = 1.0 / (1.0 + np.exp(-np.linspace(-9.0, 6.0, 61)))
"""The shares of the identity that are tried."""
MOST_COMPARED = 200
"""The error is estimated for the pairs of this many classes, evenly spread over all."""
LESS = 4.0
"""The share of the identity is not less than that of a good covariance by more than this factor: with very few rows the
estimate of the error is rough."""
NO_VARIANCE = 1e-12
"""A variance of a smaller share of the mean square of the means is rounding."""
FARTHEST = 1e150
"""Squared distances are cut here."""


@dataclass(frozen=True)
class Spread:
    """The pooled covariance of classes in its own axes: variances along directions, and the means along them.

    ``variances`` are sums of squares divided by ``freedom``, the number of rows less that of classes.
    """

    counts: NDArray[np.int64]
    means: Array
    directions: Array
    variances: Array
    freedom: int
    identity: float
    """What the shrunken covariance has where there is nothing of the rows: the mean variance."""

    @classmethod
    def of(cls, counts: NDArray[np.int64], means: Array, within: Array) -> Spread:
        """Decompose the sums: rows and means of classes, and products about the means over all classes.

        A class without rows has the mean of all.
        """
        axes, present = means.shape[1], counts > 0
        total = max(int(counts.sum()), 1)
        overall = counts[present] @ means[present] / total if present.any() else np.zeros(axes)
        means = np.where(present[:, None], means, overall)
        freedom = int(counts.sum() - present.sum())
        apart = float(np.square(means - overall).sum(axis=1) @ counts) / total
        level = float(np.trace(within)) / max(freedom, 1) / axes
        if freedom < 1 or level <= NO_VARIANCE * apart:
            identity = apart / axes if apart > 0 else 1.0
            return cls(counts, means, np.eye(axes), np.zeros(axes), 0, identity)
        values, directions = np.linalg.eigh(within / freedom)
        return cls(counts, means, directions, np.maximum(values, 0.0), freedom, level)

    @cached_property
    def turned(self) -> Array:
        """The means along the directions."""
        return np.asarray(self.means @ self.directions)

    def shrunken(self, share: float) -> Array:
        """Return the variances along the directions with a share of the identity."""
        return np.asarray((1.0 - share) * self.variances + share * self.identity)

    @cached_property
    def share(self) -> float:
        """The share of the identity with the least estimated error; one if all else is unknown."""
        if not self.freedom:
            return 1.0
        present = np.flatnonzero(self.counts)
        if len(present) < 2:
            return self._usual_share
        places = present[np.unique(np.linspace(0, len(present) - 1, MOST_COMPARED).astype(np.int64))]
        shares = SHARES[self._usual_share / LESS <= SHARES]
        errors = [self._error(float(share), places) for share in shares]
        return float(shares[int(np.argmin(errors))]) if len(shares) else 1.0

    @cached_property
    def _usual_share(self) -> float:
        """The share of the identity that is nearest to the covariance of all rows there might be.

        It is the oracle approximating shrinkage of Y. Chen and others, "Shrinkage algorithms for MMSE covariance
        estimation", IEEE Transactions on Signal Processing, 2010.
        """
        axes, variances = len(self.variances), self.variances
        squares, square = float(np.square(variances).sum()), float(variances.sum()) ** 2
        apart = (self.freedom + 1.0 - 2.0 / axes) * (squares - square / axes)
        return min(1.0, ((1.0 - 2.0 / axes) * squares + square) / apart) if apart > 0 else 1.0

    def _error(self, share: float, places: NDArray[np.int64]) -> float:
        """Estimate the errors between some classes with a share of the identity, weighed by their rows."""
        from scipy.special import ndtr

        shrunken = self.shrunken(share)
        scaled = (1.0 - share) * self.variances / shrunken
        freed = float(scaled.sum()) / self.freedom
        if freed >= 1.0:  # as many directions as rows: what is seen of them is no error that others would make
            return float("inf")
        counts, means = self.counts[places], self.turned[places]
        distances = _squared_distances(means, 1.0 / shrunken)
        noise = _squared_distances(means, self.variances / shrunken**2) / (1.0 - freed) ** 2
        own = self.freedom * freed / (1.0 - freed) / (1.0 - share) / counts[:, None]
        margins = 0.5 * distances - own
        errors = ndtr(-margins / np.sqrt(np.maximum(noise, 1e-300)))
        np.fill_diagonal(errors, 0.0)
        return float(counts @ errors.sum(axis=1)) / float(counts.sum())

    def solved(self) -> Normals:
        """Return the densities."""
        precision = (self.directions / self.shrunken(self.share)) @ self.directions.T
        return Normals(self.means, precision)


def _squared_distances(points: Array, weights: Array) -> Array:
    """Return the squared distances between points, each axis with a weight."""
    products = (points * weights) @ points.T
    squares = np.diag(products)
    return np.asarray(np.maximum(squares[:, None] + squares - 2 * products, 0.0))


@dataclass(frozen=True)
class Normals:
    """Normal densities with the means of classes and one precision matrix.

    Examples
    --------
    >>> normals = Spread.of(np.array([2, 2]), np.array([[0.0, 0.0], [4.0, 0.0]]), np.eye(2)).solved()
    >>> normals.scores(np.array([[1.0, 0.0], [3.0, 9.0]])).argmax(axis=1).tolist()
    [0, 1]
    """

    means: Array
    precision: Array

    @cached_property
    def _weights(self) -> Array:
        return np.asarray(self.precision @ self.means.T)

    @cached_property
    def _levels(self) -> Array:
        return np.asarray(-0.5 * (self.means.T * self._weights).sum(axis=0))

    def scores(self, rows: Array) -> Array:
        """Return the log density of rows for each class, but for a constant of each row, and how near they are.

        The best class of a row has as its score how many standard deviations nearer than usual its mean is: the
        squared distances of d axes have a mean of d and a variance of 2d. So the score of one vector has the size of
        that of one term. The others have less by their difference in log density.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            linear = rows @ self._weights + self._levels
            squares = ((rows @ self.precision) * rows).sum(axis=1)
        return standardized(linear, squares, rows.shape[1])


def standardized(linear: Array, squares: Array, axes: int) -> Array:
    """Return scores by linear scores, and by the squared distances of rows from the origin."""
    linear = np.clip(np.nan_to_num(linear, nan=-FARTHEST), -FARTHEST, FARTHEST)
    best = linear.max(axis=1, keepdims=True)
    nearest = np.clip(np.nan_to_num(squares, nan=FARTHEST)[:, None] - 2.0 * best, 0.0, FARTHEST)
    return np.asarray(linear - best + (axes - nearest) / np.sqrt(2.0 * axes))


def left_out(spread: Spread, rows: Array, classes: NDArray[Any]) -> Array:
    """Score rows, each under the densities of all rows but itself, with the share of the identity of all rows.

    Without a row x of a class with n rows, the products lose n/(n−1) (x − μ)(x − μ)ᵀ. The inverse follows by the
    formula of Sherman and Morrison.
    """
    share, turned = spread.share, rows @ spread.directions
    means, counts = spread.turned, spread.counts[classes]
    axes, freedom = rows.shape[1], spread.freedom
    apart = turned - means[classes]
    several = counts > 1
    factor = np.where(several, counts / np.maximum(counts - 1.0, 1.0), 0.0)
    others = max(int(spread.counts.sum()) - 1, 1)
    overall = (spread.counts @ means - turned) / others
    moved = np.where(several[:, None], means[classes] - apart / np.maximum(counts - 1.0, 1.0)[:, None], overall)
    lost = factor * np.square(apart).sum(axis=1)
    left = np.maximum(freedom - several, 1.0)
    own = np.where(freedom - several >= 1, 1.0 - share, 0.0)
    total = np.maximum(freedom * float(spread.variances.sum()) - lost, 0.0)
    identity = np.where((own > 0) & (total > 0), total / axes / left, spread.identity)
    seen = (own * freedom / left)[:, None] * spread.variances
    inverse = 1.0 / (seen + ((1.0 - own) * identity)[:, None])
    removed = own * factor / left
    pulled = inverse * apart
    taken = removed / np.maximum(1.0 - removed * (pulled * apart).sum(axis=1), 1e-9)

    def of(points: Array) -> tuple[Array, Array]:
        """Return the scores x·C⁻¹m − ½ m·C⁻¹m of each row for its own point."""
        along = (pulled * points).sum(axis=1)
        cross = (inverse * turned * points).sum(axis=1) + taken * (pulled * turned).sum(axis=1) * along
        square = (inverse * points**2).sum(axis=1) + taken * along**2
        return cross - 0.5 * square, along

    along = pulled @ means.T
    mine = (pulled * turned).sum(axis=1)
    cross = (inverse * turned) @ means.T + (taken * mine)[:, None] * along
    square = inverse @ (means**2).T + taken[:, None] * along**2
    linear = cross - 0.5 * square
    linear[np.arange(len(rows)), classes] = of(moved)[0]
    squares = (inverse * turned**2).sum(axis=1) + taken * mine**2
    return standardized(linear, squares, axes)
