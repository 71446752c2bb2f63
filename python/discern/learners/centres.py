"""The basic linear classifier: each class is its centre, and a row belongs to the nearest.

    ‖φ(x) − c_k‖² = κ(x, x) − 2 (φ(x)·c_k − ½‖c_k‖²)

so that the score φ(x)·c_k − ½‖c_k‖² decides; for two classes w = p − n and t = (‖p‖² − ‖n‖²)/2. Without a kernel the
statistics are sums of rows, which add and subtract; with one, the rows themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.data.encode import is_sparse
from discern.learners.kernel import Kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


@dataclass(frozen=True)
class Centres:
    """How many rows each class has and their sum, by weight; exact to rounding.

    Examples
    --------
    >>> both = Centres.of(np.array([[1.0, 0.0], [3.0, 0.0], [0.0, 2.0]]), np.array([0, 0, 1]), 2)
    >>> both.means().tolist()
    [[2.0, 0.0], [0.0, 2.0]]
    >>> (both - Centres.of(np.array([[3.0, 0.0]]), np.array([0]), 2)).means().tolist()
    [[1.0, 0.0], [0.0, 2.0]]
    """

    counts: NDArray[np.float64]
    sums: NDArray[np.float64]

    @classmethod
    def of(cls, table: Any, classes: NDArray[Any], width: int, weights: Array | None = None) -> Centres:
        """Sum the rows of a table, the class of each given as a number below ``width``."""
        import scipy.sparse

        weights = np.ones(len(classes)) if weights is None else np.asarray(weights, np.float64)
        by_class = scipy.sparse.csc_array(
            (weights, classes.astype(np.int64), np.arange(len(classes) + 1)), shape=(width, len(classes))
        )
        sums = by_class @ table
        counts = np.bincount(classes, weights, width).astype(np.float64)
        return cls(counts, np.asarray(sums.toarray() if is_sparse(sums) else sums))

    def __add__(self, other: Centres) -> Centres:
        return Centres(self.counts + other.counts, self.sums + other.sums)

    def __sub__(self, other: Centres) -> Centres:
        """Subtract; raises ValueError if there were not so many rows of a class."""
        counts = self.counts - other.counts
        if counts.min(initial=0.0) < -1e-9 * max(1.0, float(self.counts.max(initial=0.0))):
            raise ValueError("these rows were never learned: a class has not so many; nothing was changed")
        return Centres(np.where(counts > 1e-9, counts, 0.0), self.sums - other.sums)

    def with_classes(self, places: NDArray[Any], width: int) -> Centres:
        """Return the sums of ``width`` classes, those here at ``places``, the others empty."""
        counts, sums = np.zeros(width), np.zeros((width, self.sums.shape[1]))
        counts[places], sums[places] = self.counts, self.sums
        return Centres(counts, sums)

    def means(self) -> Array:
        """Return the centre of each class; 0 where there is no row."""
        return np.asarray(self.sums / np.where(self.counts > 0, self.counts, 1.0)[:, None])

    def linear(self) -> tuple[Array, Array]:
        """Return weights and bias of each class's score; a class without rows is never the nearest."""
        means = self.means()
        return means, np.where(self.counts > 0, -0.5 * (means**2).sum(axis=1), -np.inf)


@dataclass(frozen=True)
class KernelCentres:
    """Rows with their class and weight: what centres in the space of a kernel are made of.

    Examples
    --------
    >>> rows = KernelCentres(np.array([[-1.0, 1.0], [1.0, 1.0], [0.0, 0.0]]), np.array([1, 1, 0]), np.ones(3))
    >>> coefficients, bias = rows.linear(2, Kernel("poly", gamma=1.0, degree=2))
    >>> coefficients.tolist(), bias.tolist()
    ([[0.0, 0.0, 1.0], [0.5, 0.5, 0.0]], [0.0, -1.0])
    """

    table: Any
    classes: NDArray[np.int64]
    weights: NDArray[np.float64]

    def linear(self, width: int, kernel: Kernel) -> tuple[Array, Array]:
        """Return the coefficients of all rows, and the bias, of each class's score."""
        coefficients = np.zeros((width, len(self.classes)))
        coefficients[self.classes, np.arange(len(self.classes))] = self.weights
        counts = coefficients.sum(axis=1)
        coefficients /= np.where(counts > 0, counts, 1.0)[:, None]
        inner = kernel.sums(self.table, self.table, coefficients)
        squares = np.einsum("kn,nk->k", coefficients, inner)
        return coefficients, np.where(counts > 0, -0.5 * squares, -np.inf)

    def __add__(self, other: KernelCentres) -> KernelCentres:
        return KernelCentres(
            stacked(self.table, other.table),
            np.concatenate([self.classes, other.classes]),
            np.concatenate([self.weights, other.weights]),
        )

    def __sub__(self, other: KernelCentres) -> KernelCentres:
        """Take rows out, by what they say; raises ValueError if there are none such."""
        places: dict[Any, list[int]] = {}
        for place, key in enumerate(self._keys()):
            places.setdefault(key, []).append(place)
        kept = np.ones(len(self.classes), bool)
        for key in other._keys():
            if not places.get(key):
                raise ValueError("these rows were never learned: there is no such row; nothing was changed")
            kept[places[key].pop()] = False
        return KernelCentres(self.table[kept], self.classes[kept], self.weights[kept])

    def _keys(self) -> list[tuple[bytes, int, float]]:
        """Describe what each row is, dense and sparse alike."""
        keys = []
        for place, (number, weight) in enumerate(zip(self.classes.tolist(), self.weights.tolist(), strict=True)):
            row = self.table[[place]]
            dense = row.toarray() if is_sparse(row) else np.asarray(row)
            keys.append((dense.tobytes(), number, weight))
        return keys


def stacked(first: Any, second: Any) -> Any:
    """Put rows below rows, sparse if any are."""
    if not is_sparse(first) and not is_sparse(second):
        return np.vstack([first, second])
    import scipy.sparse

    return scipy.sparse.csr_array(scipy.sparse.vstack([scipy.sparse.csr_array(part) for part in (first, second)]))
