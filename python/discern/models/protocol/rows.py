"""Rows X and labels y, as scikit-learn passes them, as the rows with a label column that a classifier learns."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discern.data.batch import Batch, is_arrow
from discern.data.label_sets.reading import SETS, holds_sets
from discern.data.readers import batches
from discern.data.strings import DataError
from discern.data.values import label_text

Array = NDArray[Any]
FRACTIONS = (
    "{name} has {weight}, which is not a whole number: counts are exact, so that a row of weight 3 is learned three "
    "times; multiply the weights by a common factor and round them"
)
BALANCED = (
    "class_weight must map labels to whole numbers, or be None; to balance classes, pass priors='uniform' instead"
)


def as_rows(X: Any) -> Any:
    """Return rows as the readers take them: nested lists become a table of numbers.

    Examples
    --------
    >>> as_rows([[1, 2], [3, 4]]).shape, as_rows(["a text"])
    ((2, 2), ['a text'])
    """
    if isinstance(X, list | tuple) and X and all(isinstance(row, list | tuple | np.ndarray) for row in X):
        X = np.array(X)
    if hasattr(X, "tocsr"):
        raise DataError("sparse rows are not supported: pass texts, a data frame, or dense numbers with X.toarray()")
    if hasattr(X, "__array__") and not isinstance(X, np.ndarray) and not hasattr(X, "columns") and not is_arrow(X):
        X = np.asarray(X)
    if isinstance(X, np.ndarray) and X.ndim == 2 and not X.size:
        raise DataError(
            f"Found array with {X.shape[0]} sample(s) and {X.shape[1]} feature(s) (shape={X.shape}) while a "
            "minimum of 1 is required."
        )
    if isinstance(X, np.ndarray) and X.ndim == 2:
        return _table(X)
    if isinstance(X, np.ndarray) and X.ndim != 2:
        if X.ndim == 1 and X.dtype.kind in "OUT" and all(isinstance(row, str | Mapping) for row in X):
            return X.tolist()
        raise DataError(
            f"Expected 2D array, got {X.ndim}D array instead. Reshape your data: pass a table of rows and columns, a "
            "data frame, or a list of texts"
        )
    return X


def _table(X: Array) -> Any:
    """Return a table of numbers as it is; one of several types, or of a single column, as named columns."""
    if X.dtype.kind == "O":
        with suppress(ValueError, TypeError):
            X = X.astype(np.float64)
    if X.dtype.kind == "c":
        raise DataError("X holds complex numbers. Complex data not supported: pass real numbers")
    if X.dtype.kind == "f" and not np.isfinite(X).all():
        raise DataError(
            f"Input X contains {'NaN' if np.isnan(X).any() else 'infinity'}: missing numbers are for data frames, "
            "which have named columns"
        )
    return X if X.dtype.kind in "biuf" and X.shape[1] > 1 else {f"x{place}": X[:, place] for place in range(X.shape[1])}


@dataclass(frozen=True)
class Shape:
    """The columns of X, as scikit-learn counts and names them; None if X has no columns, like texts."""

    columns: int | None
    names: tuple[str, ...] | None

    @classmethod
    def of(cls, X: Any) -> Shape:
        """Return the shape of rows."""
        if isinstance(X, np.ndarray):
            return cls(X.shape[1], None)
        if isinstance(X, dict):
            return cls(len(X), None)
        names = getattr(X, "columns", None)
        if names is None and hasattr(X, "column_names"):
            names = X.column_names
        if names is None:
            return cls(None, None)
        known = list(names)
        return cls(len(known), tuple(known) if all(isinstance(name, str) for name in known) else None)

    def check(self, X: Any) -> None:
        """Refuse an array with another number of columns than that learned from."""
        columns = X.shape[1] if isinstance(X, np.ndarray) else len(X) if isinstance(X, dict) else self.columns
        if self.columns is not None and self.columns != columns:
            raise DataError(f"X has {columns} features, but Classifier is expecting {self.columns} features as input")


@dataclass(frozen=True)
class ClassNames:
    """The classes of y, sorted, and the label by which the model knows each."""

    classes: Array
    labels: tuple[str, ...]

    @classmethod
    def of(cls, y: Array) -> ClassNames:
        """Return the classes of labels; refuses values that are not labels or that share one."""
        if y.dtype.kind == "f" and not np.isfinite(y).all():
            raise DataError(f"Input y contains {'NaN' if np.isnan(y).any() else 'infinity'}: remove these rows")
        try:
            classes = np.unique(y)
        except TypeError as fault:
            raise DataError(f"y has labels of several types, which have no order; use one type ({fault})") from fault
        if classes.dtype.kind == "f" and not np.array_equal(classes, np.floor(classes)):
            raise DataError("Unknown label type: continuous. y holds numbers that are not whole; pass classes")
        labels = tuple(label_text(value.item() if isinstance(value, np.generic) else value) for value in classes)
        if len(set(labels)) < len(labels):
            twice = next(label for label in labels if labels.count(label) > 1)
            raise DataError(f"y has different values for the same label {twice!r}; use one of them")
        return cls(classes, labels)

    def among(self, labels: Collection[str]) -> ClassNames:
        """Return those of the classes whose labels are given."""
        kept = [label in labels for label in self.labels]
        chosen = tuple(label for label, keep in zip(self.labels, kept, strict=True) if keep)
        return ClassNames(self.classes[kept], chosen)

    def named(self, labels: Any) -> Array:
        """Return the class of each label; a label without one, such as that for unsure, remains a text."""
        known = dict(zip(self.labels, self.classes, strict=True))
        if all(label in known for label in labels):
            places = {label: place for place, label in enumerate(self.labels)}
            return np.asarray(self.classes[[places[label] for label in labels]]) if len(labels) else self.classes[:0]
        return np.array([known.get(label, label) for label in labels], object)

    def named_sets(self, sets: Array) -> Array:
        """Return the classes of lists of labels, as an array of lists."""
        found = np.empty(len(sets), object)
        known = dict(zip(self.labels, self.classes.tolist(), strict=True))
        found[:] = [[known.get(label, label) for label in labels] for labels in sets]
        return found


def has_sets(y: Any) -> bool:
    """Return whether labels are sets: a list, a tuple or a set of labels for each row.

    Examples
    --------
    >>> has_sets([["oil", "corn"], []]), has_sets(["oil", "corn"]), has_sets(np.zeros((2, 2)))
    (True, False, False)
    """
    if hasattr(y, "ndim") and y.ndim != 1:
        return False
    labels = y if hasattr(y, "__iter__") else np.asarray(y)
    return holds_sets(labels) or holds_sets(list(labels))


def set_labels(y: Any) -> list[list[Any]]:
    """Return the labels of rows that may have several, a list for each row."""
    rows = y.to_pylist() if hasattr(y, "to_pylist") else list(y)
    for place, row in enumerate(rows):
        if not isinstance(row, SETS):
            raise DataError(
                f"row {place + 1} of y has {row!r}, and others have lists of labels; make all of them lists"
            )
    return [list(row) for row in rows]


def labeled_sets(X: Any, y: list[list[Any]], label: str, repeats: Array | None) -> Iterator[Batch]:
    """Yield the rows with their lists of labels in a column of that name, each as often as ``repeats`` tells."""
    yield from _beside(X, y, label, repeats)


def labels_of(y: Any) -> Array:
    """Return labels as a flat array."""
    found = np.asarray(y)
    if found.ndim == 2 and found.shape[1] == 1:
        found = found.ravel()
    if found.ndim != 1:
        raise DataError(f"y must have one label for each row, but has {found.ndim} dimensions; pass a flat list")
    if found.dtype.kind == "c":
        raise DataError("y holds complex numbers, which are not labels. Complex data not supported")
    return found


def labeled(X: Any, y: Array, names: ClassNames, label: str, repeats: Array | None) -> Iterator[Batch]:
    """Yield the rows with their labels in a column of that name, each as often as ``repeats`` tells."""
    texts = np.array(names.labels, object)[np.searchsorted(names.classes, y)]
    yield from _beside(X, texts.tolist(), label, repeats)


def _beside(X: Any, y: list[Any], label: str, repeats: Array | None) -> Iterator[Batch]:
    done = 0
    for batch in batches(X):
        if label in batch.columns:
            raise DataError(f"X already has a column {label!r}; remove it, or name another with Classifier(label=...)")
        part = slice(done, done + batch.rows)
        done += batch.rows
        if done > len(y):
            break
        whole = replace(batch, columns={**batch.columns, label: y[part]})
        yield whole if repeats is None else whole.repeated(repeats[part])
    if done != len(y):
        raise DataError(f"X and y have different lengths: y has {len(y)} labels, which is not the number of rows of X")


def repetitions(sample_weight: Any, class_weight: Any, y: Array) -> Array | None:
    """Return how often each row is learned: its weight times that of its class; None if all are learned once."""
    if sample_weight is None and class_weight is None:
        return None
    weights = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, np.float64)
    if weights.ndim == 0:
        weights = np.full(len(y), float(weights))
    if weights.shape != y.shape:
        raise DataError(f"sample_weight has the shape {weights.shape}, but there are {len(y)} rows; pass one for each")
    _check_whole(weights, "sample_weight")
    if class_weight is not None:
        weights = weights * _of_classes(class_weight, y)
    if not weights.any():
        raise DataError(
            "the weight of every row is zero: there is nothing to learn; set a weight above 0 for some rows"
        )
    return weights.astype(np.int64)


def _of_classes(class_weight: Any, y: Array) -> Array:
    if not isinstance(class_weight, Mapping):
        raise DataError(BALANCED)
    classes, numbers = np.unique(y, return_inverse=True)
    factors = np.array([class_weight.get(value, 1) for value in classes.tolist()], np.float64)
    _check_whole(factors, "class_weight")
    return np.asarray(factors[numbers])


def _check_whole(weights: Array, name: str) -> None:
    with np.errstate(invalid="ignore"):
        wrong = ~(weights >= 0) | ~np.isfinite(weights)
    if wrong.any():
        raise DataError(f"{name} has {weights[wrong][0]}: pass whole numbers of 0 or more")
    fractional = weights != np.floor(weights)
    if fractional.any():
        raise DataError(FRACTIONS.format(name=name, weight=weights[fractional][0]))
