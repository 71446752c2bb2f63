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

_NUMBER = r"^-?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_LONGEST = 40
"""The limit on the bytes of a text that may be a number, a truth value or a time."""
_BLOCK = 1 << 12
"""Vectors are hashed in blocks of so many, for the memory that a copy takes."""
_STARTS = np.isin(np.arange(256), np.frombuffer(b"0123456789-.TF", np.uint8))

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
    if not isinstance(column, Strings) and lengths_of(column) is not None:
        with suppress(DataError):  # lists of something else are compared by their text
            return _hashes_of_vectors(batch.vectors(name))
    numbers = typed_numbers(column, truth=False)
    if numbers is not None:
        return _hashes_of_numbers(numbers)
    texts = batch.texts(name)
    hashes = _native.row_hashes(texts)
    strings = _strings(texts)
    places = _candidates(strings)
    if len(places):
        hashes = hashes.copy()
        hashes[places] = _hashes_of_short(strings.take(places), hashes[places])
    return hashes


def _strings(texts: Any) -> Strings:
    """Convert texts in the form of the native code to :class:`Strings`, without a copy if possible."""
    if isinstance(texts, tuple) and texts[0] == "spans":
        _, starts, ends, data = texts
        return Strings(starts, data, ends)
    return Strings(*_native.packed(texts))


def _candidates(strings: Strings) -> NDArray[np.int64]:
    """Return the indices of texts that may be a number, a truth value or a time."""
    starts, _ = strings.spans
    lengths = strings.lengths
    short = np.flatnonzero((lengths > 0) & (lengths <= _LONGEST))
    return short[_STARTS[strings.data[starts[short]]]]


def _hashes_of_short(strings: Strings, hashes: Hashes) -> Hashes:
    """Replace the hashes of numbers by those of their values, and of other texts by those of their canonical form."""
    import pyarrow as pa
    import pyarrow.compute as pc

    array = pa.LargeStringArray.from_buffers(len(strings), pa.py_buffer(strings.offsets), pa.py_buffer(strings.data))
    with suppress(pa.ArrowInvalid):  # mostly all are numbers
        every = array.cast(pa.float64()).to_numpy(zero_copy_only=False)
        if np.isfinite(every).all():
            return _hashes_of_numbers(every)
    are_numbers = pc.match_substring_regex(array, _NUMBER)
    mask = are_numbers.to_numpy(zero_copy_only=False)
    parsed = array.filter(are_numbers).cast(pa.float64()).to_numpy(zero_copy_only=False)
    hashes[mask] = _hashes_of_numbers(parsed)
    rest = np.flatnonzero(~mask)
    if len(rest):
        numbers, offsets, data = _native.distinct(strings.take(rest).native())
        folded = [canonical(text) for text in Strings(offsets, data).to_list()]
        hashes[rest] = _native.row_hashes(Strings.of(folded).native())[numbers]
    return hashes


def _hashes_of_numbers(numbers: NDArray[Any]) -> Hashes:
    known = np.flatnonzero(~np.isnan(numbers))
    values = np.ascontiguousarray(numbers[known] + 0.0, np.float64)  # −0 is 0
    hashes = np.full(len(numbers), MISSING_HASH, np.uint64)
    offsets = np.arange(0, 8 * len(values) + 1, 8, dtype=np.int64)
    hashes[known] = _native.row_hashes(Strings(offsets, values.view(np.uint8)).native())
    return hashes


def _hashes_of_vectors(vectors: Vectors) -> Hashes:
    hashes = np.full(len(vectors), MISSING_HASH, np.uint64)
    places = np.flatnonzero(vectors.present)
    for start in range(0, len(places), _BLOCK):
        block = places[start : start + _BLOCK]
        known = vectors.values[block] + np.float32(0.0)  # −0 is 0
        offsets = np.arange(len(block) + 1, dtype=np.int64) * (4 * vectors.n_axes)
        hashes[block] = _native.row_hashes(Strings(offsets, known.view(np.uint8).ravel()).native())
    return hashes
