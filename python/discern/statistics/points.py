"""Rows as points: axes side by side, dense ones as numbers and sparse ones as matrices, and their exact sums.

Every axis has a grid, so that points become whole numbers of small units (:mod:`discern.data.vectors.grid`). Their
products are summed as integers; what is sparse stays sparse.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.data.vectors.grid import COARSE, Grid
from discern.statistics.integers import carried

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Integers = NDArray[np.int64]

SMALL = 2.0**22
"""Units up to here are multiplied as they are."""
DIGIT = 21
"""The bits of a digit of larger units."""
EXACT = 2.0**53
"""Doubles hold every whole number up to here."""
FARTHEST = 1e6
"""A number on an axis of the space is cut here, but not in sums."""
MOST_NARROW = 16
"""Dense blocks of at most this many axes are joined."""
MOST_BLOCK_ROWS = 1 << 13
"""Rows are multiplied in blocks of at most this many."""
ROOM = float(1 << 61)
"""Sums of products are moved to higher digits before they reach this."""


@dataclass(frozen=True, eq=False)
class Block:
    """Some axes of the points: rows × axes, as they are measured, and what one is there.

    ``values`` are dense numbers, with the origin of the grid where one is missing, or a sparse matrix of SciPy. In the
    space of the points a value is (value − origin) / unit.
    """

    values: Any
    grid: Grid
    unit: Array

    @property
    def is_dense(self) -> bool:
        """Whether the values are an array."""
        return isinstance(self.values, np.ndarray)

    def __len__(self) -> int:
        return int(self.values.shape[0])

    def take(self, rows: Any) -> Block:
        """Return some rows."""
        return Block(self.values[rows], self.grid, self.unit)

    def dense(self) -> Array:
        """Return the points as an array."""
        values = self.values if self.is_dense else self.values.toarray()
        with np.errstate(over="ignore"):
            return np.asarray(np.clip((values.astype(np.float64) - self.grid.origin) / self.unit, -FARTHEST, FARTHEST))

    def units(self) -> Any:
        """Return whole units: doubles, or a sparse matrix of integers."""
        import scipy.sparse

        if self.is_dense:
            return self.grid.units(self.values)
        found = self.values.data * self.grid.per_unit[self.values.indices]
        # A copy: SciPy may sort the places of a matrix where they are, and those of the values are not its own.
        parts = (np.rint(found).astype(np.int64), self.values.indices.copy(), self.values.indptr)
        return scipy.sparse.csr_array(parts, shape=self.values.shape)


@dataclass(frozen=True, eq=False)
class Points:
    """Rows as points, in blocks of axes side by side.

    Examples
    --------
    >>> import scipy.sparse
    >>> grid = Grid((0.0,), (COARSE,))  # a unit of one
    >>> terms = Block(scipy.sparse.csr_array([[0.0], [2.0]]), grid, np.ones(1))
    >>> sizes = Block(np.array([[3.0], [5.0]]), grid, np.array([2.0]))
    >>> points = Points((terms, sizes))
    >>> points.toarray().tolist()
    [[0.0, 1.5], [2.0, 2.5]]
    >>> (points @ np.array([[10.0], [1.0]])).tolist()
    [[1.5], [22.5]]
    """

    blocks: tuple[Block, ...]

    @classmethod
    def of(cls, blocks: Sequence[Block]) -> Points:
        """Take blocks; narrow dense neighbors become one, because every pair of blocks is multiplied by itself."""
        groups = [list(group) for _, group in groupby(blocks, _joins)]
        return cls(tuple(block for group in groups for block in (_one_block(group) if _joins(group[0]) else group)))

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and axes."""
        return len(self.blocks[0]), sum(len(block.grid) for block in self.blocks)

    @cached_property
    def grid(self) -> Grid:
        """The grid of all axes."""
        return joined_grid([block.grid for block in self.blocks])

    def take(self, rows: Any) -> Points:
        """Return some rows."""
        return Points(tuple(block.take(rows) for block in self.blocks))

    def __matmul__(self, weights: Array) -> Array:
        """Return the products of the points with a matrix of axes × anything."""
        found, start = np.zeros((self.shape[0], weights.shape[1])), 0
        for block in self.blocks:
            own = weights[start : start + len(block.grid)]
            start += len(block.grid)
            if block.is_dense:
                for rows in _spans(len(block)):
                    found[rows] += block.take(rows).dense() @ own
            else:
                found += block.values @ own
        return found

    def toarray(self) -> Array:
        """Return the points as an array."""
        return np.hstack([block.dense() for block in self.blocks])


def _joins(block: Block) -> tuple[Any, int] | None:
    """Return what a block has in common with those that it can be joined with; None if it stays alone."""
    return (block.values.dtype, block.grid.bits) if block.is_dense and len(block.grid) <= MOST_NARROW else None


def _one_block(blocks: Sequence[Block]) -> list[Block]:
    if len(blocks) == 1:
        return list(blocks)
    grid = replace(joined_grid([block.grid for block in blocks]), bits=blocks[0].grid.bits)
    return [Block(np.hstack([block.values for block in blocks]), grid, np.concatenate([one.unit for one in blocks]))]


def joined_grid(grids: Sequence[Grid]) -> Grid:
    """Return the grid of several groups of axes side by side."""
    origins = tuple(origin for grid in grids for origin in grid.origins)
    return Grid(origins, tuple(exponent for grid in grids for exponent in grid.exponents), COARSE)


def _spans(rows: int, size: int = MOST_BLOCK_ROWS) -> Iterator[slice]:
    return (slice(start, start + size) for start in range(0, rows, size))


# ---------------------------------------------------------------------------------------------------------- sums


class PointSums:
    """Adds up points: the sums of each class, and the products of all rows, in digits of whole numbers."""

    def __init__(self, n_axes: int, n_classes: int, with_products: bool) -> None:
        self.first = [np.zeros((n_classes, n_axes), np.int64)]
        self.second = [np.zeros(n_axes * (n_axes + 1) // 2, np.int64)]
        self._n_axes, self._n_classes, self._with_products = n_axes, n_classes, with_products

    def add(self, points: Points, classes: NDArray[np.int32]) -> None:
        """Add rows."""
        blocks, start = [], 0
        for block in points.blocks:
            blocks.append((np.arange(start, start + len(block.grid)), block.units()))
            start += len(block.grid)
        largest = np.max([_largest(units) for _, units in blocks], axis=0, initial=0.0)
        far, near = np.flatnonzero(largest > SMALL), np.flatnonzero(largest <= SMALL)
        if len(far):
            self._add_far(np.hstack([_dense(units[far]) for _, units in blocks]), classes[far])
            blocks = [(axes, units[near]) for axes, units in blocks]
        most = float(largest[near].max(initial=1.0))
        for rows in _spans(len(near), int(min(max(EXACT / most**2, 1), MOST_BLOCK_ROWS))):
            self._add_near([(axes, units[rows]) for axes, units in blocks], classes[near[rows]])

    def _add_near(self, blocks: Sequence[tuple[Any, Any]], classes: NDArray[np.int32]) -> None:
        """Add rows of small units; none of their sums of products is beyond what doubles hold."""
        chooser = _chooser(classes, self._n_classes)
        for axes, units in blocks:
            self.first[0][:, axes] += _dense(chooser @ units).astype(np.int64)
        self.first = _carried(self.first)
        if not self._with_products:
            return
        for place, (axes, units) in enumerate(blocks):
            for others, more in blocks[place:]:
                self._put(0, axes, others, units.T @ more)
        self.second = _carried(self.second)

    def _add_far(self, units: Array, classes: NDArray[np.int32]) -> None:
        """Add rows with large units, digit by digit."""
        every, chooser = np.arange(self._n_axes), _chooser(classes, self._n_classes)
        parts = list(digits(units))
        while len(self.first) < len(parts):
            self.first.append(np.zeros_like(self.first[0]))
        for place, digit in enumerate(parts):
            self.first[place] += _dense(chooser @ digit).astype(np.int64)
        for rows in _spans(len(units)) if self._with_products else ():
            for place, digit in enumerate(parts):
                for other in range(place, len(parts)):
                    products = digit[rows].T @ parts[other][rows]
                    self._put(place + other, every, every, products if other == place else products + products.T)
        self.first, self.second = _carried(self.first), _carried(self.second)

    def _put(self, place: int, rows: Any, columns: Any, products: Any) -> None:
        """Add products of some axes with others to a digit of the upper triangle."""
        while len(self.second) <= place:
            self.second.append(np.zeros_like(self.second[0]))
        if isinstance(products, np.ndarray):
            first, second = np.triu_indices(len(rows)) if rows is columns else np.indices(products.shape).reshape(2, -1)
            values = products[first, second]
        else:
            found = products.tocoo()
            upper = slice(None) if rows is not columns else found.row <= found.col
            first, second, values = found.row[upper], found.col[upper], found.data[upper]
        low, high = rows[first], columns[second]
        # The axes of a block follow those of the blocks before it, so the first is never the greater.
        self.second[place][low * self._n_axes - low * (low - 1) // 2 + high - low] += values.astype(np.int64)


def digits(units: Array) -> Iterator[Array]:
    """Return units as digits, the lowest first, each from −2²⁰ to 2²⁰.

    Examples
    --------
    >>> [digit.tolist() for digit in digits(np.array([5.0, -(2.0**21)]))]
    [[5.0, 0.0], [0.0, -1.0]]
    """
    while True:
        rest = np.rint(np.ldexp(units, -DIGIT))
        yield units - np.ldexp(rest, DIGIT)
        if not rest.any():
            return
        units = rest


def _largest(units: Any) -> Array:
    """Return the largest magnitude of each row."""
    if isinstance(units, np.ndarray):
        return np.asarray(np.abs(units).max(axis=1, initial=0.0))
    if not units.shape[1]:
        return np.zeros(units.shape[0])
    return np.asarray(abs(units).max(axis=1).toarray(), np.float64).ravel()


def _dense(values: Any) -> Array:
    return values if isinstance(values, np.ndarray) else np.asarray(values.toarray(), np.float64)


def _chooser(classes: NDArray[np.int32], n_classes: int) -> Any:
    import scipy.sparse

    parts = (np.ones(len(classes), np.int64), classes, np.arange(len(classes) + 1))
    return scipy.sparse.csc_array(parts, (n_classes, len(classes)))


def _carried(limbs: list[Integers]) -> list[Integers]:
    """Return the digits; those that have grown large in their only form."""
    if max(float(np.abs(limb).max(initial=0)) for limb in limbs) < ROOM:
        return limbs
    return list(carried(limbs, DIGIT))
