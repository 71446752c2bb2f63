"""Tables of numbers as the native learners take them: dense, or compressed sparse rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import discern._native as _native

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Table = NDArray[np.float64] | tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64], int]

FEW_NUMBERS = 1 << 16
"""So many numbers are sorted in no time: then the order in which they were given does not matter at all."""


def is_sparse(table: Any) -> bool:
    """Return whether a table is one of SciPy's sparse ones."""
    return hasattr(table, "tocsr")


def native_table(table: Any, *, any_order: bool = False, once: bool = False) -> Table:
    """Return a table of numbers as the native code takes it; sparse rows have each column once.

    They are sorted by column, unless the columns may come in ``any_order`` and sorting them would take long. With
    ``once`` the caller knows that no column comes twice in a row.

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
    if any_order and rows.nnz > FEW_NUMBERS:
        rows = rows if once else each_column_once(rows)
    elif not rows.has_canonical_format:
        rows = _summed(rows)
    starts, columns = _places(rows)
    return starts, columns, np.ascontiguousarray(rows.data, np.float64), int(rows.shape[1])


def each_column_once(rows: Any) -> Any:
    """Return sparse rows in which no column comes twice: the given ones, if that is so, or else with their sums.

    Examples
    --------
    >>> import scipy.sparse
    >>> rows = scipy.sparse.csr_array(([1, 2, 4], [1, 0, 1], [0, 3]), shape=(1, 2))
    >>> each_column_once(rows).data.tolist()
    [2, 5]
    """
    if rows.has_canonical_format or not _native.repeats_columns(*_places(rows), int(rows.shape[1])):
        return rows
    return _summed(rows)


def _summed(rows: Any) -> Any:
    rows = rows.copy()  # the caller's matrix stays as it is
    rows.sum_duplicates()
    return rows


def _places(rows: Any) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    if rows.shape[1] > np.iinfo(np.int32).max:
        raise ValueError(f"there are {rows.shape[1]} columns; at most {np.iinfo(np.int32).max} can be used")
    return np.ascontiguousarray(rows.indptr, np.int64), np.ascontiguousarray(rows.indices, np.int32)
