"""Problems of which the densities are known, and so the best that any classifier can do.

The six scenarios are those of James, Witten, Hastie and Tibshirani, An Introduction to Statistical Learning, section
4.5: in the first three the best boundary is a line or near to one, in the others it is not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats
from scipy.special import expit, ndtr

from discern.learners.bayes_rate import BayesClassifier, BayesRate
from discern.learners.densities import Density, as_density, mixture, tilted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


@dataclass(frozen=True)
class Problem:
    """A classification problem with known densities.

    Examples
    --------
    >>> problem = two_gaussians(distance=2.0)
    >>> X, y = problem.sample(1000, random_state=0)
    >>> X.shape, round(problem.bayes_rate().rate, 4)
    ((1000, 2), 0.1587)
    >>> print(f"{(problem.bayes.predict(X) != y).mean():.3f}")
    0.160
    """

    name: str
    bayes: BayesClassifier
    rows_of_class: int = 20

    def sample(self, rows: int | Sequence[int] | None = None, random_state: Any = None) -> tuple[Array, Array]:
        """Draw rows and classes: a number in all, a number for each class, or as many as the source of the problem."""
        if rows is None:
            rows = [self.rows_of_class] * len(self.bayes.classes)
        return self.bayes.sample(rows, random_state)

    def bayes_rate(self) -> BayesRate:
        """Return the least error rate that any classifier can have."""
        return self._rate

    @cached_property
    def _rate(self) -> BayesRate:
        return self.bayes.bayes_rate()


def _normal(mean: Sequence[float], correlation: float = 0.0) -> Any:
    return stats.multivariate_normal(mean, [[1.0, correlation], [correlation, 1.0]])


def _by_share(share: Callable[[Array], Array]) -> BayesClassifier:
    """Return the classifier of two classes for standard normal rows; the second has the probability ``share``."""
    places, weights = np.polynomial.hermite_e.hermegauss(150)
    grid = np.stack(np.meshgrid(places, places), axis=-1).reshape(-1, 2)
    prior = float(np.outer(weights, weights).ravel() @ share(grid)) / (2 * np.pi)
    marginal = as_density(_normal([0.0, 0.0]))
    densities = [tilted(marginal, lambda rows: 1 - share(rows), 1 - prior), tilted(marginal, share, prior)]
    return BayesClassifier(densities, [1 - prior, prior])


def _quadratic_share(rows: Array) -> Array:
    first, second = rows.T
    return np.asarray(expit(2.0 * first**2 - 1.5 * second**2 + 2.0 * first * second - 0.5))


def _wavy_share(rows: Array) -> Array:
    first, second = rows.T
    return np.asarray(expit(6.0 * (second - np.sin(2.5 * first))))


LOW, HIGH = [-0.5, -0.5], [0.5, 0.5]


def scenario(number: int) -> Problem:
    """Return one of the six scenarios.

    1 uncorrelated normal columns, another mean in each class; 2 the same with a correlation of −0.5; 3 columns with a t
    distribution (4 degrees of freedom), 50 rows a class; 4 normal columns with a correlation of 0.5 in the first class
    and −0.5 in the second; 5 classes drawn by a logistic function of x1², x2² and x1·x2; 6 by a more complicated one.

    Examples
    --------
    >>> [round(scenario(number).bayes_rate().rate, 3) for number in (1, 2)]
    [0.24, 0.159]
    """
    if number == 1:
        return Problem("uncorrelated normals", BayesClassifier([_normal(LOW), _normal(HIGH)]))
    if number == 2:
        return Problem("correlated normals", BayesClassifier([_normal(LOW, -0.5), _normal(HIGH, -0.5)]))
    if number == 3:
        columns = [[stats.t(4, loc=place) for place in places] for places in (LOW, HIGH)]
        return Problem("t distributions", BayesClassifier(columns), 50)
    if number == 4:
        return Problem("other correlations", BayesClassifier([_normal(LOW, 0.5), _normal(HIGH, -0.5)]))
    if number == 5:
        return Problem("quadratic logistic", _by_share(_quadratic_share))
    if number == 6:
        return Problem("wavy logistic", _by_share(_wavy_share))
    raise ValueError(f"there are scenarios 1 to 6, not {number!r}")


def two_gaussians(
    distance: float = 2.0, dimension: int = 2, correlation: float = 0.0, priors: Sequence[float] | None = None
) -> Problem:
    """Return two normal classes with a common covariance, their means ``distance`` standard deviations apart.

    Examples
    --------
    >>> round(two_gaussians(3.0, dimension=10, correlation=0.3).bayes_rate().rate, 6)
    0.066807
    """
    covariance = np.full((dimension, dimension), correlation) + (1 - correlation) * np.eye(dimension)
    towards = np.linalg.cholesky(covariance)[:, 0]  # a step of Mahalanobis length 1
    densities = [stats.multivariate_normal(place * towards, covariance) for place in (0.0, distance)]
    return Problem("two normal classes", BayesClassifier(densities, priors))


def three_gaussians(distance: float = 3.0, correlation: float = 0.0) -> Problem:
    """Return three normal classes on a triangle, with a common covariance.

    Examples
    --------
    >>> print(f"{three_gaussians().bayes_rate().rate:.3f}")
    0.115
    """
    corners = distance / np.sqrt(3) * np.array([[np.cos(turn), np.sin(turn)] for turn in 2 * np.pi * np.arange(3) / 3])
    return Problem("three normal classes", BayesClassifier([_normal(corner, correlation) for corner in corners]))


def xor(spread: float = 0.5) -> Problem:
    """Return two classes on opposite corners of a square: no line tells them apart.

    Examples
    --------
    >>> rate = 2 * ndtr(-1 / 0.5) * ndtr(1 / 0.5)
    >>> bool(abs(xor(0.5).bayes_rate().rate - rate) < 1e-6)
    True
    """
    bumps = {
        corner: stats.multivariate_normal(corner, spread**2 * np.eye(2))
        for corner in [(-1, -1), (1, 1), (-1, 1), (1, -1)]
    }
    same, other = mixture([bumps[-1, -1], bumps[1, 1]]), mixture([bumps[-1, 1], bumps[1, -1]])
    return Problem("exclusive or", BayesClassifier([same, other]))


def ring(radius: float = 3.0, width: float = 0.7) -> Problem:
    """Return a normal class in the middle of a ring.

    Examples
    --------
    >>> X, y = ring().sample(2000, random_state=0)
    >>> [float(np.hypot(*X[y == label].T).mean().round(1)) for label in (0, 1)]
    [1.3, 3.0]
    """
    whole = ndtr(radius / width)

    def log(rows: Array) -> Array:
        distance = np.maximum(np.hypot(rows[:, 0], rows[:, 1]), 1e-300)
        return np.asarray(stats.norm.logpdf(distance, radius, width) - np.log(2 * np.pi * distance * whole))

    def draw(rows: int, random: np.random.Generator) -> Array:
        distance = stats.truncnorm.rvs(-radius / width, np.inf, radius, width, size=rows, random_state=random)
        turn = random.uniform(0, 2 * np.pi, rows)
        return np.column_stack([distance * np.cos(turn), distance * np.sin(turn)])

    return Problem("a ring", BayesClassifier([_normal([0.0, 0.0]), Density(log, 2, draw)]))
