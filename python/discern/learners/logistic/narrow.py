"""Logistic regression of far fewer rows than columns, in the space that the rows span.

With the same ridge on every column the best coefficients are w = Xᵀa. In terms of v, where K = XXᵀ = RRᵀ and
w = XᵀR⁻ᵀv, the scores Xw are Rv and ‖w‖ is ‖v‖: the same problem, with a column for each row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discern.learners.logistic.rows import LabeledRows, multipliable

Array = NDArray[Any]

WIDE = 4
"""There must be this many times more columns than rows: each pass is as much cheaper, and the products cost once."""
DEPENDENT = 1e-7
"""Rows are taken as dependent if what is left of one beside the others is a smaller share of it."""


@dataclass(frozen=True)
class NarrowRows:
    """Rows in the space that they span, and the way back.

    Examples
    --------
    >>> rows = LabeledRows(np.array([[3.0, 4.0, 0.0, 0.0]]), np.zeros(1, np.int32), 2)
    >>> found = NarrowRows.of(rows, np.array([1.0, 1.0, 1.0, 1.0, 0.0]))
    >>> found.rows.table.tolist(), found.wide(np.array([[2.0, 7.0]])).tolist()
    ([[5.0]], [[1.2, 1.6, 0.0, 0.0, 7.0]])
    """

    rows: LabeledRows
    table: Array

    @classmethod
    def of(cls, rows: LabeledRows, penalty: Array) -> NarrowRows | None:
        """Take dense rows, if they are few and independent, and the ridge is the same on all columns."""
        count, columns = rows.table.shape
        ridges = penalty[:columns]
        if rows.sparse or not 0 < WIDE * count <= columns or not 0 < ridges.min() == ridges.max():
            return None
        from scipy.linalg import LinAlgError, cholesky

        table = multipliable(rows.table)
        products = table @ table.T
        lengths = np.sqrt(np.diag(products))
        try:
            root = cholesky(products, lower=True)
        except LinAlgError:
            return None
        if not np.all(np.diag(root) > DEPENDENT * lengths):
            return None
        return cls(replace(rows, table=np.ascontiguousarray(root)), table)

    def penalty(self, wide: Array) -> Array:
        """Return the penalty of the coefficients in this space."""
        return np.append(np.full(len(self.table), wide[0]), wide[self.table.shape[1] :])

    def wide(self, coefficients: Array) -> Array:
        """Return the coefficients of the columns."""
        from scipy.linalg import solve_triangular

        count = len(self.table)
        duals = solve_triangular(self.rows.table, coefficients[:, :count].T, lower=True, trans="T")
        return np.hstack([duals.T @ self.table, coefficients[:, count:]])
