"""Labels and tables of numbers in the form that native learners take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import discern._native as _native

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Table = NDArray[np.float64] | tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64], int]

ALWAYS_SORTED = 1 << 16
"""The number of values up to which sparse tables are always sorted by column, because it takes no time."""


class EncodedLabels(NamedTuple):
    """Labels encoded as 0 … K−1: the distinct labels in order, the code of each row, the number of rows of each label.

    The codes are called ``numbers``.
    """

    distinct: NDArray[Any]
    numbers: NDArray[np.int32]
    counts: NDArray[np.int64]

    def places(self, classes: NDArray[Any]) -> NDArray[np.intp]:
        """Return the index of each distinct label in sorted classes, which must contain them all."""
        return np.searchsorted(classes, self.distinct)

    def within(self, classes: NDArray[Any]) -> NDArray[np.int32]:
        """Return the index of the label of each row in sorted classes, which must contain them all."""
        places = self.places(classes)
        if np.array_equal(places, np.arange(len(places))):
            return self.numbers
        return places.astype(np.int32)[self.numbers]

    def class_counts(self, classes: NDArray[Any], weights: NDArray[Any] | None) -> NDArray[np.float64]:
        """Return the number of rows in each of the sorted classes, or the sum of their weights."""
        if weights is not None:
            return np.asarray(np.bincount(self.within(classes), weights, len(classes)), np.float64)
        counts = np.zeros(len(classes))
        counts[self.places(classes)] = self.counts
        return counts


def encode_labels(labels: NDArray[Any]) -> EncodedLabels:
    """Encode labels as 0 … K−1 in sorted order. Small integer ranges are encoded without sorting.

    Examples
    --------
    >>> encode_labels(np.array([7, 3, 7]))
    EncodedLabels(distinct=array([3, 7]), numbers=array([1, 0, 1], dtype=int32), counts=array([1, 2]))
    >>> encode_labels(np.array(["spam", "ham"])).distinct.tolist()
    ['ham', 'spam']
    """
    if labels.dtype.kind in "bi" or (labels.dtype.kind == "u" and labels.dtype.itemsize < 8):
        near = _native.number_labels(np.ascontiguousarray(labels, np.int64))
        if near is not None:
            return EncodedLabels(near[0].astype(labels.dtype), near[1], near[2])
    distinct, numbers, counts = np.unique(labels, return_inverse=True, return_counts=True)
    return EncodedLabels(distinct, numbers.astype(np.int32), counts)


def is_sparse(table: Any) -> bool:
    """Return whether a table is a SciPy sparse matrix or array."""
    return hasattr(table, "tocsr")


def native_table(table: Any, *, any_order: bool = False, once: bool = False) -> Table:
    """Return a table of numbers as the native code takes it: dense, or compressed sparse rows without duplicates.

    Sparse rows are sorted by column, unless ``any_order`` allows any order and sorting would take long. With ``once``
    the caller asserts that no row has a column twice.

    Examples
    --------
    >>> import scipy.sparse
    >>> native_table([[1, 2]]).tolist()
    [[1.0, 2.0]]
    >>> starts, columns, values, n_columns = native_table(scipy.sparse.csr_array([[0.0, 3.0]]))
    >>> starts.tolist(), columns.tolist(), values.tolist(), n_columns
    ([0, 1], [1], [3.0], 2)
    """
    if not is_sparse(table):
        return np.ascontiguousarray(table, np.float64)
    rows = table.tocsr()
    if any_order and rows.nnz > ALWAYS_SORTED:
        rows = rows if once else each_column_once(rows)
    elif not rows.has_canonical_format:
        rows = _summed(rows)
    starts, columns = _indices(rows)
    return starts, columns, np.ascontiguousarray(rows.data, np.float64), int(rows.shape[1])


def each_column_once(rows: Any) -> Any:
    """Return sparse rows in which no column occurs twice; duplicates are summed.

    Examples
    --------
    >>> import scipy.sparse
    >>> rows = scipy.sparse.csr_array(([1, 2, 4], [1, 0, 1], [0, 3]), shape=(1, 2))
    >>> each_column_once(rows).data.tolist()
    [2, 5]
    """
    if rows.has_canonical_format or not _native.repeats_columns(*_indices(rows), int(rows.shape[1])):
        return rows
    return _summed(rows)


def _summed(rows: Any) -> Any:
    rows = rows.copy()  # the caller's matrix stays as it is
    rows.sum_duplicates()
    return rows


def _indices(rows: Any) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    if rows.shape[1] > np.iinfo(np.int32).max:
        raise ValueError(f"{rows.shape[1]} columns are too many; at most {np.iinfo(np.int32).max} can be used")
    return np.ascontiguousarray(rows.indptr, np.int64), np.ascontiguousarray(rows.indices, np.int32)
