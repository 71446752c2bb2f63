"""Tables of numbers as the native learners take them: dense, or compressed sparse rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Table = NDArray[np.float64] | tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64], int]


def is_sparse(table: Any) -> bool:
    """Say whether a table is one of SciPy's sparse ones."""
    return hasattr(table, "tocsr")


def native_table(table: Any) -> Table:
    """Give a table of numbers as the native code takes it; sparse rows are sorted by column.

    Examples
    --------
    >>> import scipy.sparse
    >>> native_table([[1, 2]]).tolist()
    [[1.0, 2.0]]
    >>> starts, columns, values, width = native_table(scipy.sparse.csr_array([[0.0, 3.0]]))
    >>> starts.tolist(), columns.tolist(), values.tolist(), width
    ([0, 1], [1], [3.0], 2)
    """
    if not is_sparse(table):
        return np.ascontiguousarray(table, np.float64)
    rows = table.tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy()  # the caller's matrix stays as it is
        rows.sum_duplicates()
    if rows.shape[1] > np.iinfo(np.int32).max:
        raise ValueError(f"there are {rows.shape[1]} columns; at most {np.iinfo(np.int32).max} can be used")
    return (
        np.ascontiguousarray(rows.indptr, np.int64),
        np.ascontiguousarray(rows.indices, np.int32),
        np.ascontiguousarray(rows.data, np.float64),
        int(rows.shape[1]),
    )
