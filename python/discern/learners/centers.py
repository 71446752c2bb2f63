"""The nearest-centroid classifier: each class is the mean of its rows, and a row belongs to the nearest mean.

    ‖φ(x) − c_k‖² = κ(x, x) − 2 (φ(x)·c_k − ½‖c_k‖²)

so that the score φ(x)·c_k − ½‖c_k‖² decides. For two classes w = p − n and t = (‖p‖² − ‖n‖²)/2. Without a kernel the
statistics are sums of rows, which can be added and subtracted. With one they are the rows themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.data.encode import is_sparse
from discern.learners.kernels.machines import Kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


@dataclass(frozen=True)
class Centers:
    """The number of rows of each class and their sum, both weighted; exact to rounding.

    Examples
    --------
    >>> both = Centers.of(np.array([[1.0, 0.0], [3.0, 0.0], [0.0, 2.0]]), np.array([0, 0, 1]), 2)
    >>> both.means().tolist()
    [[2.0, 0.0], [0.0, 2.0]]
    >>> (both - Centers.of(np.array([[3.0, 0.0]]), np.array([0]), 2)).means().tolist()
    [[1.0, 0.0], [0.0, 2.0]]
    """

    counts: NDArray[np.float64]
    sums: NDArray[np.float64]

    @classmethod
    def of(cls, table: Any, classes: NDArray[Any], n_classes: int, weights: Array | None = None) -> Centers:
        """Sum the rows of a table, the class of each given as a number below ``n_classes``."""
        import scipy.sparse

        weights = np.ones(len(classes)) if weights is None else np.asarray(weights, np.float64)
        by_class = scipy.sparse.csc_array(
            (weights, classes.astype(np.int64), np.arange(len(classes) + 1)), shape=(n_classes, len(classes))
        )
        sums = by_class @ table
        counts = np.bincount(classes, weights, n_classes).astype(np.float64)
        return cls(counts, np.asarray(sums.toarray() if is_sparse(sums) else sums))

    def __add__(self, other: Centers) -> Centers:
        return Centers(self.counts + other.counts, self.sums + other.sums)

    def __sub__(self, other: Centers) -> Centers:
        """Subtract; raise ValueError if a class has fewer rows."""
        counts = self.counts - other.counts
        if counts.min(initial=0.0) < -1e-9 * max(1.0, float(self.counts.max(initial=0.0))):
            raise ValueError(
                "cannot forget these rows: a class has fewer rows than you asked to forget; nothing was changed"
            )
        return Centers(np.where(counts > 1e-9, counts, 0.0), self.sums - other.sums)

    def with_classes(self, places: NDArray[Any], n_classes: int) -> Centers:
        """Return the sums of ``n_classes`` classes, those here at ``places``, the others empty."""
        counts, sums = np.zeros(n_classes), np.zeros((n_classes, self.sums.shape[1]))
        counts[places], sums[places] = self.counts, self.sums
        return Centers(counts, sums)

    def means(self) -> Array:
        """Return the center of each class; 0 for a class without rows."""
        return np.asarray(self.sums / np.where(self.counts > 0, self.counts, 1.0)[:, None])

    def linear(self) -> tuple[Array, Array]:
        """Return weights and bias of each class's score; a class without rows is never the nearest."""
        means = self.means()
        return means, np.where(self.counts > 0, -0.5 * (means**2).sum(axis=1), -np.inf)


@dataclass(frozen=True)
class KernelCenters:
    """Rows with their class and weight, which define the centers in the feature space of a kernel.

    Examples
    --------
    >>> rows = KernelCenters(np.array([[-1.0, 1.0], [1.0, 1.0], [0.0, 0.0]]), np.array([1, 1, 0]), np.ones(3))
    >>> coefficients, bias = rows.linear(2, Kernel("poly", gamma=1.0, degree=2))
    >>> coefficients.tolist(), bias.tolist()
    ([[0.0, 0.0, 1.0], [0.5, 0.5, 0.0]], [0.0, -1.0])
    """

    table: Any
    classes: NDArray[np.int64]
    weights: NDArray[np.float64]

    def linear(self, n_classes: int, kernel: Kernel) -> tuple[Array, Array]:
        """Return the coefficients of all rows, and the bias, of each class's score."""
        coefficients = np.zeros((n_classes, len(self.classes)))
        coefficients[self.classes, np.arange(len(self.classes))] = self.weights
        counts = coefficients.sum(axis=1)
        coefficients /= np.where(counts > 0, counts, 1.0)[:, None]
        inner = kernel.sums(self.table, self.table, coefficients)
        squares = np.einsum("kn,nk->k", coefficients, inner)
        return coefficients, np.where(counts > 0, -0.5 * squares, -np.inf)

    def __add__(self, other: KernelCenters) -> KernelCenters:
        return KernelCenters(
            stacked(self.table, other.table),
            np.concatenate([self.classes, other.classes]),
            np.concatenate([self.weights, other.weights]),
        )

    def __sub__(self, other: KernelCenters) -> KernelCenters:
        """Remove rows with the same content; raise ValueError if there are none."""
        places: dict[Any, list[int]] = {}
        for place, key in enumerate(self._keys()):
            places.setdefault(key, []).append(place)
        kept = np.ones(len(self.classes), bool)
        for key in other._keys():
            if not places.get(key):
                raise ValueError("cannot forget these rows: the model has no such row; nothing was changed")
            kept[places[key].pop()] = False
        return KernelCenters(self.table[kept], self.classes[kept], self.weights[kept])

    def _keys(self) -> list[tuple[bytes, int, float]]:
        """Return the content, class and weight of each row, the same for dense and sparse tables."""
        keys = []
        for place, (number, weight) in enumerate(zip(self.classes.tolist(), self.weights.tolist(), strict=True)):
            row = self.table[[place]]
            dense = row.toarray() if is_sparse(row) else np.asarray(row)
            keys.append((dense.tobytes(), number, weight))
        return keys


def stacked(first: Any, second: Any) -> Any:
    """Stack two tables; the result is sparse if one of them is."""
    if not is_sparse(first) and not is_sparse(second):
        return np.vstack([first, second])
    import scipy.sparse

    return scipy.sparse.csr_array(scipy.sparse.vstack([scipy.sparse.csr_array(part) for part in (first, second)]))
