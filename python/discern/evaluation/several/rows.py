"""Evaluated rows with several labels each: true and predicted sets, and a probability for each label."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.data.encode import is_sparse
from discern.data.values import label_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class MultilabelRows:
    """Evaluated rows: true and predicted labels as sparse truth values over ``names``, and probabilities.

    Examples
    --------
    >>> rows = MultilabelRows.of([{"a", "c"}, set()], [["a"], ["b"]], [[0.9, 0.2], [0.1, 0.6]], ["a", "b"])
    >>> rows.names, rows.true.toarray().tolist()
    (('a', 'b', 'c'), [[True, False, True], [False, False, False]])
    """

    names: tuple[str, ...]
    """All labels in order: those of the columns, and others that occur."""
    true: Any
    predicted: Any
    columns: tuple[str, ...]
    """The labels that have a probability, in order."""
    probabilities: Any
    """Dense, or compressed sparse rows in which a probability that is not stored is 0."""

    @classmethod
    def of(cls, true: Any, predicted: Any, probabilities: Any, labels: Any) -> MultilabelRows:
        """Return rows whose probabilities, dense or sparse, have a column for each of ``labels``.

        ``true`` and ``predicted`` are tables of zeros and ones with the same columns, dense or sparse, or a set of
        labels for each row.
        """
        columns = tuple(map(label_text, labels))
        if len(set(columns)) < len(columns):
            raise ValueError("the labels of the columns must be distinct")
        order = np.argsort(np.array(columns, object), kind="stable")
        columns = tuple(columns[place] for place in order)
        sides = [_table_of(values, order, columns, what) for values, what in ((true, "true"), (predicted, "predicted"))]
        shares = probability_table(probabilities, len(order))[:, order] if _unsorted(order) else probabilities
        shares = probability_table(shares, len(order))
        sizes = [table.shape[0] for _, table in sides]
        if {*sizes, shares.shape[0]} != {shares.shape[0]}:
            raise ValueError(
                f"{sizes[0]} rows of true labels, {sizes[1]} of predictions and {shares.shape[0]} of probabilities do "
                "not match each other"
            )
        names = tuple(sorted({*columns, *sides[0][0], *sides[1][0]}))
        true, decided = (_within(table, own, names) for own, table in sides)
        return cls(names, true, decided, columns, shares)

    @classmethod
    def joined(cls, parts: Sequence[MultilabelRows], names: tuple[str, ...]) -> MultilabelRows:
        """Return the rows of all parts, their labels among ``names``; a label without a column has probability 0."""
        import scipy.sparse

        columns = tuple(sorted({label for part in parts for label in part.columns}))
        same = [part.within(names, columns) for part in parts]
        true, decided = (
            scipy.sparse.vstack([getattr(part, side) for part in same], "csr") for side in ("true", "predicted")
        )
        sparse = any(is_sparse(part.probabilities) for part in same)
        stack: Any = (lambda tables: scipy.sparse.vstack(tables, "csr")) if sparse else np.concatenate
        tables = [scipy.sparse.csr_array(part.probabilities) if sparse else part.probabilities for part in same]
        return cls(names, true, decided, columns, stack(tables))

    def within(self, names: tuple[str, ...], columns: tuple[str, ...]) -> MultilabelRows:
        """Return the same rows with the labels numbered anew; labels without a column have probability 0."""
        if (names, columns) == (self.names, self.columns):
            return self
        true, decided = (_within(table, self.names, names) for table in (self.true, self.predicted))
        return MultilabelRows(names, true, decided, columns, _spread(self.probabilities, self.columns, columns))

    def take(self, chosen: Any) -> MultilabelRows:
        """Return some of the rows, by their numbers or as true and false."""
        places = np.asarray(chosen)
        places = np.flatnonzero(places) if places.dtype == bool else places
        true, decided = (table[places] for table in (self.true, self.predicted))
        return MultilabelRows(self.names, true, decided, self.columns, self.probabilities[places])

    def __len__(self) -> int:
        return int(self.true.shape[0])

    @property
    def named_probabilities(self) -> Any:
        """The probabilities with a column for each of ``names``."""
        return _spread(self.probabilities, self.columns, self.names)


def label_sets(sets: Iterable[Iterable[Any]]) -> tuple[tuple[str, ...], Any]:
    """Return the labels of rows in order, and a sparse table of truth values: which row has which label.

    Examples
    --------
    >>> names, table = label_sets([["b", "a", "b"], []])
    >>> names, table.toarray().tolist()
    (('a', 'b'), [[True, True], [False, False]])
    """
    rows = [{label_text(label) for label in _one_set(labels, row)} for row, labels in enumerate(sets, 1)]
    names = tuple(sorted(set().union(*rows)))
    place = {name: number for number, name in enumerate(names)}
    sizes = np.fromiter(map(len, rows), np.int64, len(rows))
    columns = np.fromiter((place[label] for label in chain.from_iterable(rows)), np.int64, int(sizes.sum()))
    return names, _truth(columns, np.concatenate([[0], np.cumsum(sizes)]), len(names))


def truth_table(values: Any, n_labels: int | None = None, what: str = "true") -> Any:
    """Return a dense or sparse table of zeros and ones as sparse truth values in order, without zeros.

    Examples
    --------
    >>> truth_table([[0, 1], [0, 0]]).toarray().tolist()
    [[False, True], [False, False]]
    """
    import scipy.sparse

    given = values if is_sparse(values) else np.asarray(values)
    if given.ndim != 2 or (n_labels is not None and given.shape[1] != n_labels):
        wanted = "" if n_labels is None else f" for {n_labels} labels"
        raise ValueError(
            f"the table of {what} labels has the shape {given.shape}{wanted}; pass a column for each label"
        )
    table = scipy.sparse.csr_array(given)
    if table.dtype.kind not in "bifu" or not np.isin(table.data, (0, 1)).all():
        raise ValueError(f"the table of {what} labels must hold only 0 and 1, or true and false")
    table = table.astype(bool, copy=True)
    table.sum_duplicates()
    table.eliminate_zeros()
    return table


def probability_table(values: Any, n_labels: int) -> Any:
    """Return checked probabilities: dense, or compressed sparse rows in order."""
    table: Any
    if is_sparse(values):
        import scipy.sparse

        table = scipy.sparse.csr_array(values, dtype=np.float64)
        if not table.has_canonical_format:
            table = table.copy()
            table.sum_duplicates()
        cells = table.data
    else:
        table = cells = np.ascontiguousarray(values, np.float64)
    if table.ndim != 2 or table.shape[1] != n_labels:
        raise ValueError(f"probabilities of shape {table.shape} do not match {n_labels} labels")
    if cells.size and not (cells.min() >= 0 and cells.max() <= 1 + 1e-6):
        raise ValueError(f"row {_bad_row(table)} has a probability that is not a number from 0 to 1")
    return table


def _bad_row(table: Any) -> int:
    """Return the number, from 1, of the first row with a value that is not a probability."""
    cells = table.data if is_sparse(table) else table.ravel()
    place = int(np.flatnonzero(~((cells >= 0) & (cells <= 1 + 1e-6)))[0])
    return int(np.searchsorted(table.indptr, place, side="right")) if is_sparse(table) else place // table.shape[1] + 1


def _unsorted(order: Integers) -> bool:
    return not np.array_equal(order, np.arange(len(order)))


def _table_of(values: Any, order: Integers, columns: tuple[str, ...], what: str) -> tuple[tuple[str, ...], Any]:
    """Return the labels and the table of true or predicted labels, given as a table or as sets."""
    if is_sparse(values) or getattr(values, "ndim", 1) == 2 or _rows_of_numbers(values, len(columns)):
        table = truth_table(values, len(order), what)
        return columns, (table[:, order].sorted_indices() if _unsorted(order) else table)
    return label_sets(values)


def _rows_of_numbers(values: Any, n_labels: int) -> bool:
    """Return whether lists are rows of zeros and ones, not lists of labels."""
    if not isinstance(values, list | tuple) or not values:
        return False
    return all(
        isinstance(row, list | tuple) and len(row) == n_labels and {type(cell) for cell in row} <= {bool, int}
        for row in values
    )


def _one_set(labels: Any, row: int) -> Any:
    if isinstance(labels, str | bytes) or not hasattr(labels, "__iter__"):
        raise ValueError(f"row {row} has {labels!r} where a list of labels is needed; pass [{labels!r}] for one label")
    return labels


def _truth(columns: Any, starts: Any, n_labels: int) -> Any:
    import scipy.sparse

    table = scipy.sparse.csr_array((np.ones(len(columns), bool), columns, starts), (len(starts) - 1, n_labels))
    table.sort_indices()
    return table


def _within(table: Any, names: tuple[str, ...], wider: tuple[str, ...]) -> Any:
    """Return a sparse table whose columns are numbered among more labels, in the same order."""
    if names == wider:
        return table
    import scipy.sparse

    place = {name: number for number, name in enumerate(wider)}
    places = np.array([place[name] for name in names], np.int64)
    shape = (table.shape[0], len(wider))
    return scipy.sparse.csr_array((table.data, places[table.indices], table.indptr), shape)


def _spread(probabilities: Any, columns: tuple[str, ...], wider: tuple[str, ...]) -> Any:
    if columns == wider:
        return probabilities
    if is_sparse(probabilities):
        return _within(probabilities, columns, wider)
    place = {name: number for number, name in enumerate(wider)}
    wide = np.zeros((len(probabilities), len(wider)))
    wide[:, [place[name] for name in columns]] = probabilities
    return wide
