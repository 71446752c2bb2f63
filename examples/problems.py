"""Simulated problems in two dimensions, after ISLR section 4.5: rows can be drawn, and the least error is known."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

LARGE = 200_000


@dataclass(frozen=True)
class TwoClasses:
    """Two classes, each drawn by a function of a generator and a number of rows; ``posterior`` gives P(second | x)."""

    draw: Callable[[np.random.Generator, int, int], np.ndarray]
    posterior: Callable[[np.ndarray], np.ndarray]

    def sample(self, n: int, random_state: int) -> tuple[Any, Any]:
        """Draw as many rows of each class."""
        random = np.random.default_rng(random_state)
        y = np.repeat([0, 1], [n - n // 2, n // 2])
        X = np.concatenate([self.draw(random, label, int((y == label).sum())) for label in (0, 1)])
        return X, y

    def bayes_rate(self) -> float:
        """Give the least error, by drawing many rows."""
        X, _ = self.sample(LARGE, 0)
        second = self.posterior(X)
        return float(np.minimum(second, 1 - second).mean())

    def predict(self, X: Any) -> Any:
        """Decide as well as can be."""
        return (self.posterior(np.asarray(X)) > 0.5).astype(int)


@dataclass(frozen=True)
class Response:
    """Rows from a standard normal; the class follows from a function that gives the log odds."""

    log_odds: Callable[[np.ndarray], np.ndarray]

    def sample(self, n: int, random_state: int) -> tuple[Any, Any]:
        """Draw rows, and then their class."""
        random = np.random.default_rng(random_state)
        X = random.normal(size=(n, 2))
        return X, (random.random(n) < _logistic(self.log_odds(X))).astype(int)

    def bayes_rate(self) -> float:
        """Give the least error, by drawing many rows."""
        second = _logistic(self.log_odds(self.sample(LARGE, 0)[0]))
        return float(np.minimum(second, 1 - second).mean())

    def predict(self, X: Any) -> Any:
        """Decide as well as can be."""
        return (self.log_odds(np.asarray(X)) > 0).astype(int)


def _logistic(odds: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-np.clip(odds, -500, 500)))


def normals(means: Any, correlations: tuple[float, float]) -> TwoClasses:
    """Give two normal classes of unit variances with these means and correlations."""
    centres = np.asarray(means, float)
    shapes = np.array([[[1, r], [r, 1]] for r in correlations])

    def draw(random: np.random.Generator, label: int, rows: int) -> np.ndarray:
        return random.multivariate_normal(centres[label], shapes[label], rows)

    def density(X: np.ndarray, label: int) -> np.ndarray:
        rest = X - centres[label]
        distance = np.einsum("ij,ij->i", rest, np.linalg.solve(shapes[label], rest.T).T)
        return -0.5 * distance - 0.5 * np.log(np.linalg.det(shapes[label]))

    return TwoClasses(draw, lambda X: _logistic(density(X, 1) - density(X, 0)))


def heavy_tails(distance: float, freedom: float = 3.0) -> TwoClasses:
    """Give two classes whose columns follow t distributions, apart by this much in both."""

    def draw(random: np.random.Generator, label: int, rows: int) -> np.ndarray:
        return random.standard_t(freedom, size=(rows, 2)) + label * distance

    def density(X: np.ndarray, label: int) -> np.ndarray:
        return -(freedom + 1) / 2 * np.log1p((X - label * distance) ** 2 / freedom).sum(axis=1)

    return TwoClasses(draw, lambda X: _logistic(density(X, 1) - density(X, 0)))


STRAIGHT = {
    "1: normal, uncorrelated": (normals([[0, 0], [1, 1]], (0.0, 0.0)), 40),
    "2: normal, correlation −0.5": (normals([[0, 0], [1, 1]], (-0.5, -0.5)), 40),
    "3: t distributions": (heavy_tails(1.0), 100),
}
CURVED = {
    "4: correlations 0.5 and −0.5": (normals([[0, 0], [1, 1]], (0.5, -0.5)), 40),
    "5: quadratic log odds": (Response(lambda X: 1.5 * X[:, 0] ** 2 - 1.5 * X[:, 1] ** 2 + 2 * X[:, 0] * X[:, 1]), 200),
    "6: more complicated": (Response(lambda X: 6 * np.sin(2 * X[:, 0]) * np.cos(1.5 * X[:, 1])), 200),
}
"""Problems by name, each with the rows of one training sample."""
