"""Sums of rows by class, and scores of rows by a table of weights, for matrices in any layout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import discern._native as _native
from discern.data.encode import is_sparse

if TYPE_CHECKING:
    from numpy.typing import NDArray

_KINDS = (np.float64, np.float32, np.int64, np.int32, np.uint8)
_BLOCK = 1 << 18
"""Numbers of other kinds are converted this many at a time."""


def add_by_class(
    table: Any,
    numbers: NDArray[np.int32],
    weights: NDArray[np.float64] | None,
    sums: NDArray[np.float64],
    above: float | None = None,
) -> None:
    """Add the rows of a matrix, dense or sparse (by row or by column), to the sums of their classes.

    Parameters
    ----------
    numbers, weights
        The class of each row and its weight; without weights each row counts once.
    sums
        The sums to add to, classes × columns.
    above
        Count numbers above this threshold as one, others not at all.

    Examples
    --------
    >>> sums = np.zeros((2, 2))
    >>> add_by_class(np.array([[1, 2], [0, 4], [1, 0]]), np.array([1, 0, 1], np.int32), None, sums)
    >>> sums.tolist()
    [[0.0, 4.0], [2.0, 2.0]]
    """
    if is_sparse(table):
        _native.add_sparse_by_class(_sparse(table), table.format == "csc", numbers, weights, above, sums)
        return
    table = _known_kind(table)
    if table.dtype in _KINDS and table.flags.forc:
        _native.add_dense_by_class(table, numbers, weights, above, sums)
        return
    kind = table.dtype if table.dtype in _KINDS else np.float64
    step = max(_BLOCK // max(table.shape[1], 1), 1)
    for start in range(0, len(table), step):
        part = slice(start, start + step)
        rows = np.ascontiguousarray(table[part], kind)
        _native.add_dense_by_class(rows, numbers[part], None if weights is None else weights[part], above, sums)


def scores_of_rows(table: Any, weights: NDArray[np.float64], offsets: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the scores of the rows of a matrix: its product with ``weights``, columns × scores, plus ``offsets``.

    Examples
    --------
    >>> import scipy.sparse
    >>> rows = scipy.sparse.csr_array([[0.0, 2.0], [1.0, 0.0]])
    >>> scores_of_rows(rows, np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0.0, 0.5])).tolist()
    [[6.0, 8.5], [1.0, 2.5]]
    """
    if not is_sparse(table):
        scores = np.asarray(table @ weights, np.float64)
        scores += offsets
        return scores
    rows = table.tocsr()
    scores = np.empty((rows.shape[0], weights.shape[1]))
    scores[:] = offsets
    _native.add_products_of_rows(_sparse(rows), weights, scores)
    return scores


def _sparse(table: Any) -> tuple[Any, Any, Any]:
    data = _known_kind(table.data)
    kind = data.dtype if data.dtype in _KINDS else np.float64
    index = table.indices.dtype if table.indices.dtype in (np.int32, np.int64) else np.int64
    starts = np.ascontiguousarray(table.indptr, index)
    return starts, np.ascontiguousarray(table.indices), np.ascontiguousarray(data, kind)


def _known_kind(values: NDArray[Any]) -> NDArray[Any]:
    """Read truth values as bytes, and numbers in the byte order of other machines as those of this one."""
    if values.dtype == np.bool_:
        return values.view(np.uint8)
    return values if values.dtype.isnative else values.astype(values.dtype.newbyteorder("="))
