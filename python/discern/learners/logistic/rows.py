"""Labeled rows to learn a logistic regression from, and the products that its solvers make of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discern.learners.newton import positive

Array = NDArray[Any]

BLOCK_NUMBERS = 1 << 16
"""Size of a block of dense rows, in numbers: it stays in the cache."""


@dataclass(frozen=True)
class LabeledRows:
    """Rows to learn from: a dense or sparse (CSR) table, the number of each row's class, and its weight.

    A dense table may be in any order and of 32-bit numbers: its rows are taken in blocks of 64-bit numbers.
    """

    table: Any
    classes: NDArray[np.int32]
    n_classes: int
    weights: Array | None = None
    intercept: bool = True

    @property
    def outputs(self) -> int:
        """The number of rows of the coefficient matrix."""
        return 1 if self.n_classes == 2 else self.n_classes

    @property
    def columns(self) -> int:
        """The number of columns of the coefficient matrix."""
        return int(self.table.shape[1]) + self.intercept

    @property
    def sparse(self) -> bool:
        """Whether the table is sparse."""
        return not isinstance(self.table, np.ndarray)

    @property
    def total(self) -> float:
        """The sum of the weights."""
        return float(len(self.classes)) if self.weights is None else float(self.weights.sum())

    def take(self, chosen: Any) -> LabeledRows:
        """Return some of the rows."""
        weights = None if self.weights is None else self.weights[chosen]
        return replace(self, table=self.table[chosen], classes=self.classes[chosen], weights=weights)

    def targets(self) -> NDArray[np.bool_]:
        """Return whether each row is of the class of each output."""
        return np.asarray(self.classes[:, None] == np.arange(self.n_classes)[-self.outputs :])

    @property
    def block_rows(self) -> int:
        """How many rows make a block."""
        return max(BLOCK_NUMBERS // max(self.columns, self.outputs), 64)

    def blocks(self) -> Iterator[LabeledRows]:
        """Yield the rows in blocks that stay in the cache; a sparse table is one block."""
        size = self.block_rows
        if self.sparse or len(self.classes) <= size:
            yield self
            return
        for start in range(0, len(self.classes), size):
            yield self.take(slice(start, start + size))

    def dense_blocks(self, size: int) -> Iterator[tuple[slice, Array]]:
        """Yield ``size`` dense rows at a time, as 64-bit numbers that BLAS multiplies without a copy."""
        for start in range(0, len(self.classes), size):
            block = slice(start, start + size)
            yield block, multipliable(self.table[block])

    def scores(self, coefficients: Array) -> Array:
        """Return w·x for each row and output."""
        features = self.table.shape[1]
        scores = np.asarray(self.table @ coefficients[:, :features].T)
        return scores + coefficients[:, features] if self.intercept else scores

    def sums(self, factors: Array) -> Array:
        """Return Σ_i factors_i x_i, an output a row."""
        sums = np.asarray((self.table.T @ factors).T)
        return np.hstack([sums, factors.sum(axis=0)[:, None]]) if self.intercept else sums

    def gram(self, factors: Array) -> Array:
        """Return Σ_i factors_i x_i x_iᵀ."""
        if self.sparse:
            weighted = self.table.multiply(factors[:, None]).tocsr()
            product = np.asarray((self.table.T @ weighted).toarray())
        else:
            table = multipliable(self.table)
            weighted = table * factors[:, None]
            product = table.T @ weighted
        if not self.intercept:
            return product
        border = np.asarray(weighted.sum(axis=0)).reshape(1, -1)
        return np.block([[product, border.T], [border, factors.sum()]])


def multipliable(table: Array) -> Array:
    """Return a table as 64-bit numbers that BLAS takes as they are: in rows or in columns, with a step of one.

    Examples
    --------
    >>> table = np.zeros((4, 6), np.float32)
    >>> multipliable(table).dtype, multipliable(table[:, ::2]).flags.c_contiguous
    (dtype('float64'), True)
    """
    if table.dtype != np.float64:
        return table.astype(np.float64)  # in the order that it has
    steps = sorted(table.strides)
    return table if steps[0] == table.itemsize and steps[1] % table.itemsize == 0 else np.ascontiguousarray(table)


def dense_table(rows: LabeledRows) -> Array:
    """Return the table with the column of the intercept, dense."""
    table = rows.table.toarray() if rows.sparse else multipliable(rows.table)
    return np.hstack([table, np.ones((len(table), 1))]) if rows.intercept else np.asarray(table)


def dependent_columns(rows: LabeledRows) -> tuple[int, ...]:
    """Return the columns that are linear combinations of the others (and the intercept), to rounding."""
    from scipy.linalg import qr

    gram = sum((block.gram(np.ones(len(block.classes))) for block in rows.blocks()), np.zeros((rows.columns,) * 2))
    order = [rows.columns - 1, *range(rows.columns - 1)] if rows.intercept else [*range(rows.columns)]
    scales = 1.0 / np.sqrt(positive(np.diag(gram)))
    scaled = (gram * scales * scales[:, None])[np.ix_(order, order)]
    _, triangle, pivots = qr(scaled, pivoting=True)
    sizes = np.abs(np.diag(triangle))
    rank = int(np.sum(sizes > 1e-12 * max(float(sizes[0]), 1e-300)))
    return tuple(sorted(int(order[place]) for place in pivots[rank:] if order[place] < rows.table.shape[1]))
