"""Sparse rows, and numbers, strings and weights as the arrays of a model file and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.data.strings import Strings
from discern.learners.bayes import LinearScores
from discern.statistics.counts import check_terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def sparse(parts: Any, shape: tuple[int, int]) -> Any:
    """Return a sparse array of SciPy."""
    import scipy.sparse

    return scipy.sparse.csr_array(parts, shape=shape)


def sparse_rows(table: Array) -> Any:
    """Return dense rows without their zeros, as a sparse array.

    Examples
    --------
    >>> sparse_rows(np.array([[0.0, 2.0], [3.0, 0.0]])).indices.tolist()
    [1, 0]
    """
    there = table != 0
    places = np.broadcast_to(np.arange(table.shape[1], dtype=np.int32), table.shape)
    if there.all():  # as with most numbers
        return sparse((table.ravel(), places.ravel(), np.arange(len(table) + 1) * table.shape[1]), table.shape)
    ends = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    return sparse((table[there], places[there], ends), table.shape)


def joined(parts: Sequence[Any]) -> Any:
    """Put matrices side by side, columns in order; dense ones that follow each other are made sparse together.

    Examples
    --------
    >>> joined([np.array([[1.0], [0.0]]), np.array([[2.0], [3.0]])]).toarray().tolist()
    [[1.0, 2.0], [0.0, 3.0]]
    """
    import scipy.sparse

    runs = groupby(parts, lambda part: isinstance(part, np.ndarray))
    blocks = [block for is_dense, run in runs for block in ([sparse_rows(np.hstack([*run]))] if is_dense else run)]
    matrix = blocks[0] if len(blocks) == 1 else scipy.sparse.hstack(blocks, format="csr")
    matrix.sum_duplicates()
    return matrix


def float_array(array: NDArray[Any]) -> Array:
    """Return numbers from a file as the native code takes them; refuses what no logarithm is."""
    if array.dtype != np.float64 or not bool(np.all(np.abs(array) < 1e100)):
        raise ValueError("a weight is not a logarithm")
    return np.require(array, np.float64, ["C", "A"])


def strings_to_arrays(name: str, strings: Strings) -> dict[str, NDArray[Any]]:
    """Return strings as the arrays of a file."""
    return {f"{name}.offsets": strings.offsets, f"{name}.bytes": strings.data}


def strings_from_arrays(name: str, arrays: Mapping[str, NDArray[Any]], is_sorted: bool) -> Strings:
    """Read strings from the arrays of a file; raises ValueError if they do not fit together."""
    if arrays[f"{name}.offsets"].dtype.kind not in "iu":
        raise ValueError(f"the {name} do not match their bytes")
    strings = Strings(arrays[f"{name}.offsets"].astype(np.int64), arrays[f"{name}.bytes"])
    check_terms(strings, is_sorted=is_sorted)
    return strings


def weights_to_arrays(scores: LinearScores) -> dict[str, NDArray[Any]]:
    """Return the weights of terms as the arrays of a file."""
    if scores.weights is not None:
        return {"weights": scores.weights}
    assert scores.shift is not None
    assert scores.level is not None
    return {
        "shift": scores.shift,
        "level": scores.level,
        "excess.data": scores.excess.data,
        "excess.indices": scores.excess.indices,
        "excess.indptr": scores.excess.indptr,
    }


def weights_from_arrays(arrays: Mapping[str, NDArray[Any]], presence: bool, terms: int, labels: int) -> LinearScores:
    """Read the weights of terms and labels from the arrays of a file; raises ValueError if they do not match."""
    bias = arrays["bias"]
    if "weights" in arrays:
        weights = arrays["weights"]
        if weights.shape != (terms, labels) or bias.shape != (labels,):
            raise ValueError("the weights do not match the terms and labels")
        return LinearScores(bias, weights, presence)
    import scipy.sparse

    shift, level, data = arrays["shift"], arrays["level"], arrays["excess.data"]
    if (shift.shape, level.shape, bias.shape) != ((terms,), (labels,), (labels,)):
        raise ValueError("the weights do not match the terms and labels")
    columns, ends = (_whole(arrays[f"excess.{name}"]) for name in ("indices", "indptr"))
    # Not left to SciPy: it takes differences, which wrap around in a crafted file, and then reads outside the arrays.
    fits = (
        (data.ndim, columns.shape, ends.shape) == (1, data.shape, (terms + 1,))
        and bool(ends[0] == 0 and ends[-1] == len(data) and np.all(ends[1:] >= ends[:-1]))
        and bool(np.all((columns >= 0) & (columns < labels)))
    )
    if not fits:
        raise ValueError("the sparse weights do not match each other")
    excess = scipy.sparse.csr_matrix((data, columns, ends), shape=(terms, labels))
    return LinearScores(bias, None, presence, shift, level, excess)


def _whole(array: NDArray[Any]) -> NDArray[np.int64]:
    """Return whole numbers from a file; refuse others."""
    if array.dtype.kind not in "iu":
        raise ValueError("a place is not a whole number")
    return array.astype(np.int64)
