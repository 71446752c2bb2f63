"""Linear functions of rows: their scores, and the best function of each row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

import discern._native as _native
from discern.data.encode import is_sparse
from discern.data.threads import default_threads
from discern.statistics.by_class import scores_of_rows

Array = NDArray[Any]

MOST_FUNCTIONS = 8
"""Up to this many functions are computed row by row; more by products of matrices."""
BLOCK_NUMBERS = 1 << 16
"""The numbers of a block of rows, which stays in the cache until its best functions are found."""
_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
_KINDS = (*_FLOATS, np.dtype(np.int64), np.dtype(np.int32), np.dtype(np.uint8))
_MANY_ROWS = 1 << 15
_FEW_NUMBERS = 1 << 10


def linear_scores(rows: Any, coefficients: Any, intercepts: Any) -> Array | None:
    """Return x·coef_k + intercept_k of rows, rows × functions; None if one is not finite or coefficients are no array.

    Scores are as precise as rows and coefficients are. Rows need not have been looked through: a number that is not
    finite has no finite score.

    Examples
    --------
    >>> linear_scores(np.array([[1, 2], [0, 4]]), np.array([[1.0, 0.5]]), np.array([0.25])).tolist()
    [[2.25], [2.25]]
    >>> linear_scores(np.array([[np.nan]]), np.array([[1.0]]), 0.0) is None
    True
    """
    if not _are_usual(coefficients, intercepts):
        return None
    kind = np.result_type(rows.dtype, coefficients.dtype)
    with np.errstate(all="ignore"):
        if is_sparse(rows):
            scores = _sparse_scores(rows, coefficients, intercepts)
        elif len(coefficients) <= MOST_FUNCTIONS:
            wide = _wide(coefficients, intercepts)
            scores = _native.linear_scores(_known(rows), wide, _threads(rows))
        else:
            scores = np.empty((len(rows), len(coefficients)), kind)
            for block, part in _products(rows, coefficients, intercepts, kind):
                scores[block] = part
        scores = scores.astype(kind, copy=False)
        return scores if np.isfinite(scores.sum()) else None


def best_functions(rows: Any, coefficients: Any, intercepts: Any, at_zero: bool = False) -> NDArray[np.int64] | None:
    """Return the number of the best function of each row, the first of equally good ones; of a single function, whether
    it is above 0, or with ``at_zero`` at least 0. None where ``linear_scores`` returns it.

    Examples
    --------
    >>> rows, coefficients = np.array([[1.0], [-2.0]]), np.array([[-1.0], [1.0], [1.0]])
    >>> best_functions(rows, coefficients, np.zeros(3)).tolist(), best_functions(rows, coefficients[:1], 0.0).tolist()
    ([1, 0], [0, 1])
    """
    if not _are_usual(coefficients, intercepts):
        return None
    kind = np.result_type(rows.dtype, coefficients.dtype)
    if is_sparse(rows):
        scores = linear_scores(rows, coefficients, intercepts)
        return None if scores is None else _best(scores, at_zero)
    if len(coefficients) <= MOST_FUNCTIONS:
        wide, single = _wide(coefficients, intercepts), bool(kind == np.float32)
        return _native.linear_choices(_known(rows), wide, at_zero, single, _threads(rows))
    found = np.empty(len(rows), np.int64)
    with np.errstate(all="ignore"):
        for block, part in _products(rows, coefficients, intercepts, kind):
            best = _native.best_scores(part, 1)
            if best is None:
                return None
            found[block] = best
    return found


def best_of_rows(scores: Array) -> NDArray[np.intp]:
    """Return the number of the best score of each row, the first of those that are equally good.

    Examples
    --------
    >>> best_of_rows(np.array([[1.0, 3.0, 3.0], [0.0, -np.inf, -1.0]])).tolist()
    [1, 0]
    """
    best = _native.best_scores(np.ascontiguousarray(scores), 1)
    return np.asarray(scores.argmax(axis=1) if best is None else best)


def _are_usual(coefficients: Any, intercepts: Any) -> bool:
    """Return whether coefficients are dense, a line for each function, and as precise as native numbers."""
    if type(coefficients) is not np.ndarray or coefficients.ndim != 2 or coefficients.dtype not in _FLOATS:
        return False
    return 0 not in coefficients.shape and np.shape(intercepts) in ((), (len(coefficients),))


def _best(scores: Array, at_zero: bool) -> NDArray[np.int64] | None:
    if scores.shape[1] == 1:
        return np.asarray(scores[:, 0] >= 0 if at_zero else scores[:, 0] > 0, np.int64)
    return _native.best_scores(np.ascontiguousarray(scores), 1)


def _wide(coefficients: Array, intercepts: Any) -> Array:
    functions, columns = coefficients.shape
    wide = np.empty((functions, columns + 1))
    wide[:, :columns], wide[:, columns] = coefficients, intercepts
    return wide


def _known(rows: Array) -> Array:
    """Return rows of a kind of number that the native code takes; for a few numbers, the kind that it takes first."""
    if rows.size <= _FEW_NUMBERS:
        return rows.astype(np.float64, copy=False)
    return rows if rows.dtype in _KINDS and rows.dtype.isnative else rows.astype(np.float64)


def _threads(rows: Array) -> int:
    return default_threads() if len(rows) > _MANY_ROWS else 1


def _sparse_scores(rows: Any, coefficients: Array, intercepts: Any) -> Array:
    weights = coefficients.T
    if rows.format == "csr" and weights.flags.c_contiguous and weights.dtype == np.float64:
        return scores_of_rows(rows, np.asarray(weights), intercepts)
    products: Array = np.asarray(rows @ weights)
    return np.asarray(products + intercepts)


def _products(rows: Array, coefficients: Array, intercepts: Any, kind: Any) -> Iterator[tuple[slice, Array]]:
    """Return the scores of rows block by block, in the same place."""
    weights = coefficients.T.astype(kind, copy=False)
    size = max(BLOCK_NUMBERS // max(coefficients.shape), 64)
    room = np.empty((min(size, len(rows)), len(coefficients)), kind)
    for start in range(0, len(rows), size):
        block = slice(start, min(start + size, len(rows)))
        part = rows[block].astype(kind, copy=False)
        if part.strides[1] != part.itemsize and part.strides[0] != part.itemsize:
            part = np.ascontiguousarray(part)
        scores = np.matmul(part, weights, out=room[: len(part)])
        scores += intercepts
        yield block, scores
