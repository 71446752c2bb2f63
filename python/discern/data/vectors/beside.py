"""Vectors beside rows: an array, or a NumPy file, with a vector for each row of other data."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.data.strings import DataError
from discern.data.vectors.column import MOST_AXES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discern.data.batch import Batch


@dataclass(frozen=True)
class Beside:
    """Rows of a source with columns of vectors added; see :func:`with_vectors`."""

    source: Any
    columns: Mapping[str, NDArray[Any]]


def with_vectors(data: Any, **vectors: Any) -> Beside:
    """Add columns of vectors to rows, for every function that takes rows.

    Parameters
    ----------
    data : path, data frame, Arrow table, list of rows or iterable of batches
        The rows, in the order of the vectors.
    **vectors : array of shape (rows, numbers), or path
        The vectors of each column. The path of a NumPy file (``.npy``) is mapped into memory and read with the rows.

    Examples
    --------
    >>> from discern import Classifier, with_vectors
    >>> rows = [{"label": "a"}, {"label": "a"}, {"label": "b"}, {"label": "b"}]
    >>> points = np.array([[0.0, 1.0], [0.2, 1.0], [1.0, 0.0], [1.0, 0.1]])
    >>> model = Classifier().fit(with_vectors(rows, point=points))
    >>> [feature.described for feature in model.features], model.predict({"point": points[2:]}).tolist()
    (["vector 'point' of 2 numbers"], ['b', 'b'])
    """
    return Beside(data, {name: as_table(given) for name, given in vectors.items()})


def as_table(given: Any) -> NDArray[Any]:
    """Return an array of rows × numbers; a path is that of a NumPy file, which is mapped into memory."""
    name = "the array"
    if isinstance(given, str | os.PathLike):
        name = str(given)
        try:
            given = np.lib.format.open_memmap(name, mode="r")
        except (OSError, ValueError, EOFError) as error:
            raise DataError(f"cannot read {name!r} as a NumPy file: {error}; write it with numpy.save") from error
    table: NDArray[Any] = np.asanyarray(given)
    if table.ndim != 2 or table.dtype.kind not in "iuf":
        raise DataError(
            f"{name} holds {table.dtype} in {table.ndim} dimensions; vectors are numbers in two: rows and numbers"
        )
    if not 1 <= table.shape[1] <= MOST_AXES:
        raise DataError(f"{name} has vectors of {table.shape[1]:,} numbers; a vector has from 1 to {MOST_AXES:,}")
    return table


def placed_beside(stream: Iterator[Batch], columns: Mapping[str, NDArray[Any]]) -> Iterator[Batch]:
    """Add columns to the batches of a source; a row that was left out leaves out its vector.

    Raises ``DataError`` if there are not as many vectors as rows.
    """
    source, start, row, first = None, 0, 0, 1
    for batch in stream:
        if batch.source != source or batch.start < first:  # another file: its rows are numbered from 1
            source, start = batch.source, row
        row, first = start + batch.start - 1 + batch.rows, batch.start + batch.rows
        for name, table in columns.items():
            if name in batch.columns:
                raise DataError(f"{batch.source_has} a column {name!r} already; choose another name for the vectors")
            if row > len(table):
                raise DataError(f"there are {len(table):,} vectors of {name!r} and more rows; pass one for each row")
        added = {name: table[row - batch.rows : row] for name, table in columns.items()}
        yield replace(batch, columns={**batch.columns, **added})
    for name, table in columns.items() if source is not None else ():
        if row != len(table):
            raise DataError(f"there are {len(table):,} vectors of {name!r} and {row:,} rows; pass one for each row")
