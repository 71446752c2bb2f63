"""Hashes of values that do not depend on the container: numbers by their value, anything else by its text."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

import discern._native as _native
from discern.data.batch import Batch, typed_numbers
from discern.data.strings import DataError, Strings
from discern.data.values import canonical
from discern.data.vectors.column import Vectors, lengths_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Hashes = NDArray[np.uint64]

_BLOCK = 1 << 12
"""The number of vectors that are hashed at once: a copy of them is in memory."""

MISSING_HASH = _native.row_hashes([""])[0]
"""The hash of a missing value."""


def value_hashes(batch: Batch, name: str) -> Hashes:
    """Return a hash of each value of a column.

    Examples
    --------
    >>> one, two = (value_hashes(Batch({"size": column}, 2), "size") for column in (["1.50", "x"], [1.5, "x"]))
    >>> bool((one == two).all())
    True
    """
    column = batch.column(name)
    is_number = type(column) is np.ndarray and column.dtype == np.float64 and column.ndim == 1
    if not isinstance(column, Strings) and not is_number and lengths_of(column) is not None:
        with suppress(DataError):  # lists of something else are compared by their text
            return vector_hashes(batch.vectors(name))
    numbers = typed_numbers(column, truth=False)
    if numbers is not None:
        return _native.number_hashes(np.ascontiguousarray(numbers))
    texts = batch.texts(name)
    hashes, odd = _native.value_hashes(texts)
    if len(odd):  # they may be truth values or times
        places, offsets, data = _native.distinct(_strings(texts).take(odd).native())
        folded = [canonical(text) for text in Strings(offsets, data).to_list()]
        hashes[odd] = _native.row_hashes(Strings.of(folded).native())[places]
    return hashes


def _strings(texts: Any) -> Strings:
    """Convert texts in the form of the native code to :class:`Strings`, without a copy if possible."""
    if isinstance(texts, tuple) and texts[0] == "spans":
        _, starts, ends, data = texts
        return Strings(starts, data, ends)
    return Strings(*_native.packed(texts))


def vector_hashes(vectors: Vectors) -> Hashes:
    """Return a hash of each vector, the same whether it was written as numbers or as text."""
    hashes = np.full(len(vectors), MISSING_HASH, np.uint64)
    places = np.flatnonzero(vectors.present)
    for start in range(0, len(places), _BLOCK):
        block = places[start : start + _BLOCK]
        ends = slice(block[0], block[-1] + 1)  # rows without a gap are not copied twice
        whole = ends.stop - ends.start == len(block)
        known = np.add(vectors.values[ends if whole else block], np.float32(0.0), order="C")  # −0 is 0
        offsets = np.arange(len(block) + 1, dtype=np.int64) * (4 * vectors.n_axes)
        hashes[block] = _native.row_hashes(Strings(offsets, known.view(np.uint8).ravel()).native())
    return hashes
