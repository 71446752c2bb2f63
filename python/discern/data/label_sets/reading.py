"""Reading the labels of rows that may have several: from lists, from texts with a separator, or from flags."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

import discern._native as _native
from discern.data.batch import Batch, did_you_mean, is_arrow, values_of
from discern.data.label_sets.sets import SEPARATOR, set_text
from discern.data.strings import DataError, Strings
from discern.data.values import canonical, is_missing, label_text, written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

SETS = (list, tuple, set, frozenset, np.ndarray)
"""Types of values that are sets of labels."""
YES, NO = ("1", "true"), ("0", "false", "")
"""What a flag is whose column is the name of a label."""


def holds_sets(column: Any) -> bool:
    """Return whether a column holds lists, tuples or sets: then each row may have several labels.

    Examples
    --------
    >>> holds_sets([["oil"], []]), holds_sets([{"oil"}, None]), holds_sets(["oil", "corn"])
    (True, True, False)
    """
    if isinstance(column, Strings):
        return False
    if isinstance(column, np.ndarray):
        return column.dtype == object and _has_sets(column.tolist())
    if is_arrow(column):
        return "list" in str(getattr(column, "type", "")) or "List" in str(getattr(column, "dtype", ""))
    return _has_sets(column)


def _has_sets(values: Iterable[Any]) -> bool:
    return any(issubclass(kind, SETS) for kind in set(map(type, values)))


@dataclass(frozen=True)
class LabelSets:
    """How the labels of rows that may have several are read.

    Examples
    --------
    >>> batch = Batch({"label": ["oil|corn", ""], "text": ["a", "b"]}, 2)
    >>> LabelSets("|").of_batch(batch, "label").columns["label"]
    ['corn\\x1foil', '\\x1f']
    >>> flags = Batch({"corn": [1, 0], "oil": [True, False], "text": ["a", "b"]}, 2)
    >>> LabelSets(columns=("corn", "oil")).of_batch(flags, "label").columns
    {'text': ['a', 'b'], 'label': ['corn\\x1foil', '\\x1f']}
    """

    separator: str = ""
    """What stands between labels in a column of texts; empty if they are lists."""
    columns: tuple[str, ...] = ()
    """The columns of flags, each with the name of a label."""

    def of_batches(self, stream: Iterable[Batch], label: str) -> Iterator[Batch]:
        """Yield batches with the texts of their sets of labels in the column ``label``."""
        return (self.of_batch(batch, label) for batch in stream)

    def of_batch(self, batch: Batch, label: str) -> Batch:
        """Return a batch with the texts of its sets of labels in the column ``label``; raises ``DataError``."""
        if self.columns and not any(name in batch.columns for name in self.columns) and label in batch.columns:
            return self._of_column(batch, label)
        if self.columns:
            return self._of_flags(batch, label)
        return self._of_column(batch, label) if label in batch.columns else batch

    def _of_column(self, batch: Batch, label: str) -> Batch:
        if not batch.rows:
            return batch
        column = batch.columns[label]
        read = self._from_lists if holds_sets(column) else self._from_texts
        return replace(batch, columns={**batch.columns, label: read(batch, label)})

    # ------------------------------------------------------------------------------------------------- lists

    def _from_lists(self, batch: Batch, label: str) -> list[str]:
        """Read lists, each distinct one of texts once: other values may be equal and mean something else."""
        values = list(_listed(batch, label))
        if {*map(type, values)} <= {list} and {*map(type, itertools.chain.from_iterable(values))} <= {str}:
            keys = [*map(tuple, values)]
            first = dict(zip(reversed(keys), reversed(range(len(keys))), strict=True))
            rows = sorted(first.values())
            known = {keys[row]: self._of_value(values[row], batch.place_of(row, label)) for row in rows}
            return [*map(known.__getitem__, keys)]
        return [self._of_value(value, batch.place_of(place, label)) for place, value in enumerate(values)]

    def _of_value(self, value: Any, where: str) -> str:
        if isinstance(value, SETS) and getattr(value, "ndim", 1) == 1:
            return set_text([self._label(one, where) for one in value])
        if not isinstance(value, SETS) and is_missing(value):
            raise DataError(f"{where}: the labels are missing; write an empty list for a row without labels")
        raise DataError(f"{where}: {value!r} is not a list of labels, as in other rows; make all of them lists")

    def _label(self, value: Any, where: str) -> str:
        if isinstance(value, (*SETS, dict)):
            raise DataError(
                f"{where}: the list of labels holds {value!r}, which is not a label; write its labels alone"
            )
        text = _checked(value, lambda: where)
        if self.separator and self.separator in text:
            raise DataError(
                f"{where}: the label {text!r} contains the separator {self.separator!r}; choose another separator, or "
                "rename the label"
            )
        return text

    # ------------------------------------------------------------------------------------------------- texts

    def _from_texts(self, batch: Batch, label: str) -> list[str]:
        """Read texts, each distinct one once."""
        if not self.separator:
            first = values_of(batch.columns[label])[0]
            if is_missing(first):
                self._of_value(first, batch.place_of(0, label))
            raise DataError(
                f"{batch.place_of(0, label)}: {first!r} is not a list of labels, and the model has several labels a "
                "row; make all of them lists, or pass label_separator"
            )
        column = batch.columns[label]
        if not isinstance(column, Strings) and not is_arrow(column):
            texts = values_of(column)
            if set(map(type, texts)) != {str}:
                texts = ["" if is_missing(value) else value for value in texts]
            batch = replace(batch, columns={**batch.columns, label: texts})
        numbers, offsets, data = _native.distinct(batch.texts(label))
        distinct = Strings(offsets, data).to_list()
        known: dict[str, str] = {}
        sets = []
        for number, text in enumerate(distinct):
            parts = [part for part in map(str.strip, text.split(self.separator)) if part]
            for part in parts:
                if part not in known:
                    known[part] = _checked(part, lambda n=number: batch.place_of(_first(numbers, n), label))  # type: ignore[misc]
            sets.append(set_text([known[part] for part in parts]))
        return np.array(sets, object)[numbers].tolist()  # type: ignore[no-any-return]

    # ------------------------------------------------------------------------------------------------- flags

    def _of_flags(self, batch: Batch, label: str) -> Batch:
        if label in batch.columns:
            raise DataError(
                f"{batch.source_has} a column {label!r} beside those of labels_from; remove it, or name another label "
                "column"
            )
        for name in self.columns:
            if name not in batch.columns and not batch.is_partial:
                raise DataError(f"{batch.source_has} no column {name!r}{did_you_mean(name, batch.columns)}")
        found: list[list[str]] = [[] for _ in range(batch.rows)]
        for name in self.columns:
            text = _checked(name, lambda name=name: f"labels_from {name!r}")  # type: ignore[misc]
            for place in np.flatnonzero(_flags(batch, name)).tolist():
                found[place].append(text)
        left = {name: column for name, column in batch.columns.items() if name not in self.columns}
        return replace(batch, columns={**left, label: list(map(set_text, found))})


def _flags(batch: Batch, name: str) -> list[bool]:
    if name not in batch.columns:  # of records, which need not have all
        return [False] * batch.rows
    found = []
    for place, value in enumerate(values_of(batch.columns[name])):
        text = canonical(written(value) or "").lower()
        if text not in (*YES, *NO):
            raise DataError(f"{batch.place_of(place, name)}: {value!r} is neither 1 nor 0, which tell who has a label")
        found.append(text in YES)
    return found


def _listed(batch: Batch, label: str) -> list[Any]:
    column = batch.columns[label]
    if is_arrow(column):
        import pyarrow as pa

        array = pa.chunked_array(column) if hasattr(column, "__arrow_c_stream__") else pa.array(column)
        return array.to_pylist()  # type: ignore[no-any-return]
    return list(column)


def _first(numbers: NDArray[Any], number: int) -> int:
    return int(np.flatnonzero(numbers == number)[0])


def _checked(value: Any, where: Callable[[], str]) -> str:
    try:
        text = label_text(value)
    except (ValueError, UnicodeDecodeError) as fault:
        raise DataError(f"{where()}: {fault}") from fault
    if SEPARATOR in text or "\0" in text:
        raise DataError(f"{where()}: the label {text!r} contains a control character, U+001F or U+0000; rename it")
    return text
