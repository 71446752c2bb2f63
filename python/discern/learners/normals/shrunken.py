"""Discriminants, least squares and centroids from sums over rows: counts, means and products about the means.

Covariances are shrunken by a *mass*: that many more rows, of a covariance without correlations. The more rows there
are, the less it weighs, so a mass that was chosen once stays right when rows are learned and forgotten. What is added
to an axis is the mean variance of its block, such as the numbers of a vector or the terms of a text: no unit of
measurement counts, and an outlier in one column leaves the other columns as they are. Sparse blocks, such as terms, may
be shrunken more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from discern.learners.ridge import targets

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ClassSums:
    """Rows, means and products about the means, of several classes.

    ``within`` are the products over all classes, or those of each class; ``blocks`` are the numbers of axes that are
    shrunken together, each with how many times the mass. A class without rows has the mean of all.

    Examples
    --------
    >>> sums = ClassSums.of(np.array([2, 2]), np.array([[0.0], [4.0]]), np.array([[2.0]]), [(1, 1.0)])
    >>> weights, levels = linear_discriminant(sums, np.log([0.5, 0.5]), mass=1.0)
    >>> (np.array([[1.0], [3.0]]) @ weights + levels).argmax(axis=1).tolist()
    [0, 1]
    """

    counts: NDArray[np.int64]
    means: Array
    within: Array
    blocks: tuple[tuple[int, float], ...]

    @classmethod
    def of(
        cls, counts: NDArray[np.int64], means: Array, within: Array, blocks: Sequence[tuple[int, float]]
    ) -> ClassSums:
        """Take sums; the means of classes without rows may be anything."""
        shares = counts / max(int(counts.sum()), 1)
        present = counts > 0
        overall = shares[present] @ means[present]
        return cls(counts, np.where(present[:, None], means, overall), within, tuple(blocks))

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.counts.sum())

    @property
    def freedom(self) -> int:
        """The number of rows less that of classes."""
        return self.rows - int(np.count_nonzero(self.counts))

    @property
    def pooled(self) -> Array:
        """The products about the means of the classes, over all of them."""
        return np.asarray(self.within if self.within.ndim == 2 else self.within.sum(axis=0))

    @cached_property
    def mean(self) -> Array:
        """The mean of all rows."""
        return np.asarray(self.counts @ self.means / max(self.rows, 1))

    @cached_property
    def between(self) -> Array:
        """The products of the means about the mean of all."""
        apart = self.means - self.mean
        return np.asarray((self.counts[:, None] * apart).T @ apart)

    @cached_property
    def added(self) -> Array:
        """What a mass of one adds to each axis: the mean variance of its block; one where there is none."""
        total = (np.diagonal(self.pooled) + np.diagonal(self.between)) / max(self.rows, 1)
        found, start = np.ones(len(total)), 0
        for size, times in self.blocks:
            level = float(total[start : start + size].mean()) if size else 0.0
            found[start : start + size] = times * (level if level > 0 else 1.0)
            start += size
        return found


def solved(matrix: Array, right: Array) -> Array:
    """Solve equations with a symmetric matrix that is positive definite but for rounding."""
    root, scale = factor(matrix)
    import scipy.linalg

    found = scipy.linalg.cho_solve((root, True), right / scale[:, None], check_finite=False)
    return np.asarray(found / scale[:, None])


def factor(matrix: Array) -> tuple[Array, Array]:
    """Return L and s of a symmetric matrix s·LLᵀ·s; axes are scaled first, so that their units do not count.

    Rounding may make the least eigenvalues negative: then the diagonal is raised until they are not.
    """
    scale = np.sqrt(np.maximum(np.diagonal(matrix), np.finfo(np.float64).tiny))
    scaled = matrix / scale / scale[:, None]
    raised = 0.0
    while True:
        try:
            return np.asarray(np.linalg.cholesky(scaled + raised * np.eye(len(scaled))), np.float64), scale
        except np.linalg.LinAlgError:
            raised = max(10 * raised, 1e-12)


def covariance(sums: ClassSums, mass: float) -> Array:
    """Return the covariance of all classes, shrunken by a mass."""
    return np.asarray((sums.pooled + np.diag(mass * sums.added)) / (sums.freedom + mass))


def linear_discriminant(sums: ClassSums, priors: Array, mass: float) -> tuple[Array, Array]:
    """Return the weights, axes × classes, and the levels of the linear discriminant, by the log priors."""
    apart = sums.means - sums.mean
    weights = solved(covariance(sums, mass), apart.T)
    return weights, priors - 0.5 * (apart.T * weights).sum(axis=0) - sums.mean @ weights


def quadratic_discriminant(sums: ClassSums, priors: Array, mass: float) -> tuple[Array, Array]:
    """Return W of each class, by which −½‖(x − mean) W‖² + level is its log density; and the levels.

    The covariance of a class is shrunken by the mass toward that of all classes.
    """
    import scipy.linalg

    pooled, matrices, levels = covariance(sums, mass), [], []
    for own, rows, prior in zip(sums.within, sums.counts, priors, strict=True):
        root, scale = factor((own + mass * pooled) / (max(int(rows) - 1, 0) + mass))
        inverse = scipy.linalg.solve_triangular(root, np.diag(1.0 / scale), lower=True, check_finite=False)
        matrices.append(inverse.T)
        levels.append(prior - np.log(np.diagonal(root)).sum() - np.log(scale).sum())
    return np.stack(matrices), np.array(levels)


def least_squares(sums: ClassSums, mass: float) -> tuple[Array, Array]:
    """Return the weights, axes × targets, and the intercepts of ridge regression on targets of ±1.

    The penalty of an axis is the variance of its block times the mass: as if that many rows had been seen there whose
    targets are those of all.
    """
    aims = targets(len(sums.counts))
    target = sums.counts @ aims / max(sums.rows, 1)
    cross = (sums.counts[:, None] * (sums.means - sums.mean)).T @ (aims - target)
    weights = solved(sums.pooled + sums.between + np.diag(mass * sums.added), cross)
    return weights, target - sums.mean @ weights


def nearest_means(sums: ClassSums) -> tuple[Array, Array]:
    """Return weights and levels by which the class with the nearest mean scores most."""
    return sums.means.T.copy(), -0.5 * np.square(sums.means).sum(axis=1)
