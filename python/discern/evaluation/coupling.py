"""Probabilities of several classes from the scores of all pairs of classes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.evaluation.calibration import BINARY, BinaryMap

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

LEAST_SHARE = 1e-7
"""The probability of a class against another one is at least this."""
CELLS = 1 << 20
"""The systems of equations of some rows have at most about this many numbers at a time."""


def class_pairs(n_classes: int) -> list[tuple[int, int]]:
    """Return the pairs of classes in their order."""
    return list(combinations(range(n_classes), 2))


@dataclass(frozen=True)
class PairwiseCalibration:
    """A map for each pair of classes, fitted to the rows of the two, and the probabilities that suit all pairs best.

    Examples
    --------
    >>> classes = np.array([0, 0, 1, 1, 2, 2])
    >>> scores = np.array([[1, 1, 0], [2, 1, 0], [-1, 0, 1], [-2, 0, 1], [0, -1, -1], [0, -2, -1]], float)
    >>> fitted = PairwiseCalibration.fit("logistic", scores, classes, 3)
    >>> fitted(scores[::2]).argmax(axis=1).tolist()
    [0, 1, 2]
    """

    maps: tuple[BinaryMap, ...]
    n_classes: int

    @classmethod
    def fit(
        cls, method: str, scores: Array, classes: NDArray[Any], n_classes: int, weights: Array | None = None
    ) -> PairwiseCalibration:
        """Fit a map for each column of ``scores``, which are larger for the first class of the pair."""
        maps = []
        for column, (first, second) in enumerate(class_pairs(n_classes)):
            rows = (classes == first) | (classes == second)
            chosen = None if weights is None else weights[rows]
            maps.append(BINARY[method].fit(scores[rows, column], classes[rows] == first, chosen))
        return cls(tuple(maps), n_classes)

    def __call__(self, scores: Array) -> Array:
        """Return the probability of each class for each row."""
        shares = np.stack([one(scores[:, column]) for column, one in enumerate(self.maps)], axis=1)
        return coupled(shares, self.n_classes)


def coupled(shares: Array, n_classes: int) -> Array:
    """Return the probabilities p that suit pairwise ones best: those with the least Σ (r_ji p_i − r_ij p_j)².

    This is the second method of Wu, Lin and Weng, "Probability estimates for multi-class classification by pairwise
    coupling", JMLR 2004, which LIBSVM uses, too.

    Examples
    --------
    >>> p = np.array([0.5, 0.3, 0.2])
    >>> coupled(np.array([[p[0] / (p[0] + p[1]), p[0] / (p[0] + p[2]), p[1] / (p[1] + p[2])]]), 3).round(6).tolist()
    [[0.5, 0.3, 0.2]]
    """
    shares = np.clip(shares, LEAST_SHARE, 1 - LEAST_SHARE)
    step = max(CELLS // (n_classes + 1) ** 2, 1)
    parts = [_coupled(shares[start : start + step], n_classes) for start in range(0, len(shares), step)]
    return np.concatenate(parts) if parts else np.zeros((0, n_classes))


def _coupled(shares: Array, n_classes: int) -> Array:
    first, second = np.array(class_pairs(n_classes)).T
    against = np.zeros((len(shares), n_classes, n_classes))
    against[:, first, second], against[:, second, first] = shares, 1 - shares
    # The conditions of the minimum with Σ p = 1: Q p + b = 0.
    system = np.zeros((len(shares), n_classes + 1, n_classes + 1))
    system[:, :-1, :-1] = -against * against.transpose(0, 2, 1)
    every = np.arange(n_classes)
    system[:, every, every] = (against**2).sum(axis=1)
    system[:, -1, :-1] = system[:, :-1, -1] = 1.0
    wanted = np.zeros((len(shares), n_classes + 1, 1))
    wanted[:, -1] = 1.0
    chances = np.maximum(np.linalg.solve(system, wanted)[:, :-1, 0], 0.0)
    return np.asarray(chances / chances.sum(axis=1, keepdims=True))
