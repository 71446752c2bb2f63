"""Scatter: the number of rows of each class, their sums and their products about a pivot.

Linear and quadratic discriminants and least squares depend on the training data only through these sums. The pivot of a
class is a point near its rows, so that no digits are lost when they are far from zero. Sums about different pivots are
moved to one algebraically. Results are exact to rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

BLOCK_BYTES = 1 << 18
"""Rows are summed in blocks that stay in the processor's cache."""
PIVOT_ROWS = 256
"""The pivot of a class is the mean of this many of its rows."""


@dataclass(frozen=True)
class Scatter:
    """Sums over rows by class: Σw, Σw(x−c) and Σw(x−c)(x−c)ᵀ about a pivot c of each class.

    With ``pooled``, the products of all classes are summed in one matrix: enough for a common covariance. If asked for,
    ``third`` holds Σw(x−c)_i²(x−c)_j and ``fourth`` Σw(x−c)_i²(x−c)_j², which Ledoit and Wolf's shrinkage needs.
    ``rows`` is the number of rows of each class, if they have weights.

    Examples
    --------
    >>> rows, classes = np.array([[1e9, 0.0], [1e9 + 2, 0.0], [5.0, 1.0]]), np.array([0, 0, 1])
    >>> both = Scatter.of(rows[:2], classes[:2], 2) + Scatter.of(rows[2:], classes[2:], 2)
    >>> both.within().tolist(), both.counts.tolist()
    ([[2.0, 0.0], [0.0, 0.0]], [2.0, 1.0])
    >>> (both - Scatter.of(rows[2:], classes[2:], 2)).counts.tolist()
    [2.0, 0.0]
    """

    pivot: Array
    counts: Array
    first: Array
    second: Array
    pooled: bool = False
    third: Array | None = None
    fourth: Array | None = None
    rows: Array | None = None

    @classmethod
    def of(
        cls,
        rows: Any,
        classes: Array,
        n_classes: int,
        weights: Array | None = None,
        *,
        pooled: bool = False,
        fourth: bool = False,
    ) -> Scatter:
        """Sum rows, whose classes are numbers below ``n_classes``; a SciPy sparse matrix is summed about zero."""
        if fourth and pooled:
            raise ValueError("fourth powers are summed by class: pooled must be False")
        if hasattr(rows, "tocsr"):
            sums = _sum_sparse(rows.tocsr(), classes, n_classes, weights, pooled)
        else:
            sums = _sum_dense(rows, classes, n_classes, weights, pooled, fourth)
        return sums if weights is None else replace(sums, rows=np.bincount(classes, minlength=n_classes).astype(float))

    @classmethod
    def empty(cls, n_classes: int, columns: int, *, pooled: bool = False, fourth: bool = False) -> Scatter:
        """Return the sums of no rows."""
        flat, matrices = np.zeros((n_classes, columns)), np.zeros((n_classes, columns, columns))
        second = matrices[:1].sum(axis=0, keepdims=True) if pooled else matrices.copy()
        powers = (matrices.copy(), matrices.copy()) if fourth else (None, None)
        return cls(flat.copy(), np.zeros(n_classes), flat.copy(), second, pooled, *powers)

    # ---------------------------------------------------------------------------------------------- algebra

    def about(self, pivot: Array) -> Scatter:
        """Return the same sums about other pivots."""
        step = self.pivot - pivot
        first = self.first + self.counts[:, None] * step
        if self.pooled:
            mixed = self.first.T @ step
            second = self.second + (mixed + mixed.T + (self.counts[:, None] * step).T @ step)
        else:
            second = self.second + _outer(self.first, step) + _outer(step, first)
        moved = Scatter(pivot, self.counts, first, second, self.pooled, rows=self.rows)
        if self.fourth is None:
            return moved
        third, fourth = self._powers_about(step)
        return replace(moved, third=third, fourth=fourth)

    def _powers_about(self, step: Array) -> tuple[Array, Array]:
        """Expand Σ(d+t)_i²(d+t)_j and Σ(d+t)_i²(d+t)_j² for the step t, in the sums of powers of d."""
        assert self.third is not None
        assert self.fourth is not None
        row, column = step[:, :, None], step[:, None, :]
        counts = self.counts[:, None, None]
        first_row, first_column = self.first[:, :, None], self.first[:, None, :]
        squares = np.diagonal(self.second, axis1=1, axis2=2)
        squares_row, squares_column = squares[:, :, None], squares[:, None, :]
        third = (
            self.third
            + column * squares_row
            + 2 * row * self.second
            + 2 * row * column * first_row
            + row**2 * first_column
            + row**2 * column * counts
        )
        fourth = (
            self.fourth
            + 2 * column * self.third
            + 2 * row * self.third.transpose(0, 2, 1)
            + column**2 * squares_row
            + row**2 * squares_column
            + 4 * row * column * self.second
            + 2 * row * column**2 * first_row
            + 2 * row**2 * column * first_column
            + row**2 * column**2 * counts
        )
        return third, fourth

    def with_classes(self, places: Array, n_classes: int) -> Scatter:
        """Return the sums of ``n_classes`` classes, those here at ``places``, the others empty."""

        def spread(sums: Array | None) -> Any:
            if sums is None:
                return None
            wide = np.zeros((n_classes, *sums.shape[1:]))
            wide[places] = sums
            return wide

        second = self.second if self.pooled else spread(self.second)
        powers = spread(self.third), spread(self.fourth), spread(self.rows)
        return Scatter(spread(self.pivot), spread(self.counts), spread(self.first), second, self.pooled, *powers)

    def take(self, kept: Array) -> Scatter:
        """Return the sums of some classes; those left out must be empty."""
        second = self.second if self.pooled else self.second[kept]
        powers = (None, None) if self.fourth is None or self.third is None else (self.third[kept], self.fourth[kept])
        kept_sums = Scatter(self.pivot[kept], self.counts[kept], self.first[kept], second, self.pooled, *powers)
        return kept_sums if self.rows is None else replace(kept_sums, rows=self.rows[kept])

    def __add__(self, other: Scatter) -> Scatter:
        pivot = np.where(self.counts[:, None] != 0, self.pivot, other.pivot)
        return _combine(self.about(pivot), other.about(pivot), 1.0)

    def __sub__(self, other: Scatter) -> Scatter:
        return _combine(self, other.about(self.pivot), -1.0)

    # ---------------------------------------------------------------------------------------- derived quantities

    @property
    def class_rows(self) -> Array:
        """The number of rows of each class, whatever their weights."""
        return self.counts if self.rows is None else self.rows

    def means(self) -> Array:
        """Return the mean of each class; the pivot where there is nothing."""
        counts = np.where(self.counts > 0, self.counts, 1.0)[:, None]
        return np.asarray(self.pivot + self.first / counts)

    def mean(self) -> Array:
        """Return the mean of all rows."""
        return np.asarray(self.counts @ self.means() / self.counts.sum())

    def about_means(self) -> Scatter:
        """Return the same sums about the means of the classes."""
        return self.about(self.means())

    def by_class(self) -> Array:
        """Return Σw(x−μ_k)(x−μ_k)ᵀ of each class about its own mean."""
        if self.pooled:
            raise ValueError("the products of all classes were summed in one matrix")
        return self.about_means().second

    def within(self) -> Array:
        """Return Σw(x−μ_k)(x−μ_k)ᵀ over all classes."""
        return np.asarray(self.about_means().second.sum(axis=0))

    def between(self) -> Array:
        """Return Σ_k N_k (μ_k−μ)(μ_k−μ)ᵀ about the mean of all rows."""
        apart = self.means() - self.mean()
        return np.asarray((self.counts[:, None] * apart).T @ apart)


def _outer(left: Array, right: Array) -> Array:
    return np.asarray(left[:, :, None] * right[:, None, :])


def _combine(left: Scatter, right: Scatter, sign: float) -> Scatter:
    if left.pooled != right.pooled:
        raise ValueError("sums by class and pooled sums do not add up; fit again after a change of parameters")
    powers: tuple[Any, Any] = (None, None)
    if left.third is not None and right.third is not None and left.fourth is not None and right.fourth is not None:
        powers = left.third + sign * right.third, left.fourth + sign * right.fourth
    weighted = left.rows is not None or right.rows is not None
    return Scatter(
        left.pivot,
        left.counts + sign * right.counts,
        left.first + sign * right.first,
        left.second + sign * right.second,
        left.pooled,
        *powers,
        left.class_rows + sign * right.class_rows if weighted else None,
    )


def _sum_dense(
    rows: Array, classes: Array, n_classes: int, weights: Array | None, pooled: bool, fourth: bool
) -> Scatter:
    """Sum a table class by class, in blocks: of a block [1, x−c], one product gives all sums."""
    rows = np.ascontiguousarray(rows)  # rows are taken in another order: NumPy would copy the whole table each time
    columns = rows.shape[1]
    order, ends = _grouped(classes, n_classes)
    pivot = np.zeros((n_classes, columns))
    products = np.zeros((1 if pooled else n_classes, columns, columns))
    counts, first = np.zeros(n_classes), np.zeros((n_classes, columns))
    powers = np.zeros((2, n_classes, columns, columns)) if fourth else None
    block = _Block(rows, weights)
    for place in np.flatnonzero(np.diff(ends)):
        chosen = order[ends[place] : ends[place + 1]]
        pivot[place] = _pivot(rows, weights, chosen)
        sums = block.sums(chosen, pivot[place], None if powers is None else powers[:, place])
        counts[place], first[place] = sums[:2]
        products[0 if pooled else place] += sums[2]
    return Scatter(pivot, counts, first, products, pooled, *(powers if powers is not None else (None, None)))


def _pivot(rows: Array, weights: Array | None, chosen: Array) -> Array:
    """Return the mean of the first of the chosen rows that have weight: a point near them."""
    counted = chosen if weights is None else chosen[weights[chosen] > 0]
    return (
        np.asarray(rows[counted[:PIVOT_ROWS]].mean(axis=0, dtype=np.float64))
        if len(counted)
        else np.zeros(rows.shape[1])
    )


def _grouped(classes: Array, n_classes: int) -> tuple[Array, Array]:
    """Return the numbers of the rows ordered by class, and where each class ends."""
    narrow = classes.astype(np.uint8 if n_classes <= 1 << 8 else np.uint16 if n_classes <= 1 << 16 else np.int64)
    order = np.argsort(narrow, kind="stable")  # for the narrow types a radix sort
    counts = np.bincount(classes, minlength=n_classes)
    return order, np.concatenate([[0], np.cumsum(counts)])


class _Block:
    """Buffers for a block of rows about a pivot."""

    def __init__(self, rows: Array, weights: Array | None) -> None:
        from scipy.linalg.blas import dgemm, dsyrk

        self._gemm: Callable[..., Array] = dgemm
        self._syrk: Callable[..., Array] = dsyrk
        self._rows, self._weights = rows, weights
        columns = rows.shape[1]
        self._size = max(BLOCK_BYTES // (8 * columns), 64)
        self._room = np.empty((self._size, columns))
        self._taken = self._room if rows.dtype == np.float64 else np.empty((self._size, columns), rows.dtype)

    def sums(self, chosen: Array, pivot: Array, powers: Array | None) -> tuple[float, Array, Array]:
        """Return Σw, Σw(x−c) and Σw(x−c)(x−c)ᵀ of the chosen rows; add their higher powers to ``powers``."""
        columns = len(pivot)
        count, first, second = 0.0, np.zeros(columns), np.zeros((columns, columns), order="F")
        tiled = np.tile(pivot, (min(self._size, len(chosen)), 1)).ravel()  # one long subtraction, not many short ones
        for start in range(0, len(chosen), self._size):
            part = chosen[start : start + self._size]
            block, weights = self._about(part, tiled), self._weights_of(part)
            count += weights.sum()
            first += weights @ block
            # The transposes of rows in memory are columns to BLAS: nothing is copied.
            if self._weights is None:  # half of the products are enough: those above the diagonal
                second = self._syrk(1.0, block.T, beta=1.0, c=second, overwrite_c=1)
            else:
                weighted = block * weights[:, None]
                second = self._gemm(1.0, block.T, weighted.T, beta=1.0, c=second, trans_b=1, overwrite_c=1)
            if powers is not None:
                squares = block**2
                powers[0] += squares.T @ (weights[:, None] * block)
                powers[1] += squares.T @ (weights[:, None] * squares)
        if self._weights is None:  # below the diagonal there are zeros
            second = second + second.T
            second[np.diag_indices_from(second)] *= 0.5
        return count, first, second

    def _about(self, part: Array, tiled: Array) -> Array:
        taken, block = self._taken[: len(part)], self._room[: len(part)]
        self._rows.take(part, axis=0, out=taken, mode="clip")
        np.subtract(taken.ravel(), tiled[: taken.size], out=block.reshape(-1))
        return block

    def _weights_of(self, part: Array) -> Array:
        return np.ones(len(part)) if self._weights is None else np.asarray(self._weights[part], np.float64)


def _sum_sparse(rows: Any, classes: Array, n_classes: int, weights: Array | None, pooled: bool) -> Scatter:
    """Sum a sparse matrix about zero, so that its products stay sparse."""
    import scipy.sparse

    size = rows.shape[0]
    given = np.ones(size) if weights is None else weights
    chooser = scipy.sparse.csc_array((given, classes, np.arange(size + 1)), shape=(n_classes, size))
    first = (chooser @ rows).toarray()
    weighted = rows.multiply(given[:, None]).tocsr()
    if pooled:
        second = (rows.T @ weighted).toarray()[None]
    else:
        parts = [(rows[classes == place].T @ weighted[classes == place]).toarray() for place in range(n_classes)]
        second = np.array(parts).reshape(n_classes, rows.shape[1], rows.shape[1])
    counts = np.bincount(classes, given, n_classes)
    return Scatter(np.zeros_like(first), counts, first, second, pooled)
