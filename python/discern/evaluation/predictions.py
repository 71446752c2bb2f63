"""Evaluated rows: true labels, predicted labels and probabilities, and sums over them that do not depend on order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import discern._native as _native
from discern.data.strings import Strings
from discern.data.values import is_missing, label_text
from discern.evaluation.decisions import best_labels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

UNIT = 52
"""Sums are whole numbers of 2⁻⁵², so that they do not depend on the order of the rows."""


@dataclass(frozen=True)
class Predictions:
    """Evaluated rows: the places of the true and the predicted labels among ``names``, and probabilities."""

    names: tuple[str, ...]
    true: NDArray[Any]
    predicted: NDArray[Any]
    columns: tuple[str, ...]
    probabilities: Floats

    @classmethod
    def of(cls, true: Any, predicted: Any, probabilities: Any, labels: Any) -> Predictions:
        """Return rows whose probabilities, which are kept and not copied, have a column for each of ``labels``."""
        columns = tuple(map(_name, labels))
        (true_places, true_names), (places, predicted_names) = _numbered(true), _numbered(predicted)
        shares = np.ascontiguousarray(probabilities, np.float64)
        if shares.shape != (len(true_places), len(columns)) or len(places) != len(true_places):
            raise ValueError(
                f"{len(true_places)} true labels, {len(places)} predictions and probabilities of shape {shares.shape} "
                f"for {len(columns)} labels do not match each other"
            )
        if shares.size and not (shares.min() >= 0 and shares.max() <= 1 + 1e-6):
            row = int(np.flatnonzero(~((shares >= 0) & (shares <= 1 + 1e-6)).all(axis=1))[0]) + 1
            raise ValueError(f"row {row} has a probability that is not a number from 0 to 1")
        if list(columns) != sorted(columns):  # ties are broken by the name, whatever the order of the columns
            order = sorted(range(len(columns)), key=columns.__getitem__)
            columns, shares = tuple(columns[place] for place in order), np.ascontiguousarray(shares[:, order])
        names = tuple(sorted({*columns, *true_names, *predicted_names}))
        renamed = (_renumbered(true_places, true_names, names), _renumbered(places, predicted_names, names))
        return cls(names, *renamed, columns, shares)

    @classmethod
    def joined(cls, parts: Iterable[Predictions], names: tuple[str, ...]) -> Predictions:
        """Return the rows of all parts, their labels numbered among ``names``."""
        columns = tuple(sorted({label for part in parts for label in part.columns}))
        empty = cls(names, np.zeros(0, np.int64), np.zeros(0, np.int64), columns, np.zeros((0, len(columns))))
        same = [part.within(names, columns) for part in parts] or [empty]
        arrays = zip(*((part.true, part.predicted, part.probabilities) for part in same), strict=True)
        true, predicted, probabilities = (np.concatenate(each) for each in arrays)
        return cls(names, true, predicted, columns, probabilities)

    @property
    def true_labels(self) -> NDArray[np.str_]:
        """The true label of each row."""
        return np.asarray(np.array(self.names, np.str_)[self.true])

    @property
    def predicted_labels(self) -> NDArray[np.str_]:
        """The predicted label of each row."""
        return np.asarray(np.array(self.names, np.str_)[self.predicted])

    @property
    def true_columns(self) -> Integers:
        """The column of each row's true label; −1 where it has none."""
        column = {label: index for index, label in enumerate(self.columns)}
        places: Integers = np.array([column.get(name, -1) for name in self.names], np.int64)
        return np.asarray(places[self.true])

    def within(self, names: tuple[str, ...], columns: tuple[str, ...]) -> Predictions:
        """Return the same rows with the labels numbered anew; labels that the rows do not know have probability 0."""
        if (names, columns) == (self.names, self.columns):
            return self
        places = np.array([names.index(name) for name in self.names], _smallest(len(names)))
        wide = np.zeros((len(self.true), len(columns)))
        wide[:, [columns.index(label) for label in self.columns]] = self.probabilities
        return Predictions(names, places[self.true], places[self.predicted], columns, wide)

    def take(self, chosen: Any) -> Predictions:
        """Return some of the rows."""
        return Predictions(
            self.names, self.true[chosen], self.predicted[chosen], self.columns, self.probabilities[chosen]
        )


@dataclass(frozen=True)
class CalibrationBins:
    """Rows in bins by the probability of their most probable label: its accuracy against its confidence."""

    rows: Integers
    correct: Integers
    confidence: Floats

    @classmethod
    def of_sums(cls, sums: Integers) -> CalibrationBins:
        """Return the bins of what :func:`calibration_sums` gives."""
        return cls(sums[0], sums[1], sums[2] / 2.0**26 + sums[3] / 2.0**UNIT)

    @property
    def accuracy(self) -> Floats:
        """The share of correct rows in each bin; not a number where there are no rows."""
        return np.where(self.rows > 0, self.correct / np.maximum(self.rows, 1), np.nan)

    @property
    def error(self) -> float:
        """The expected calibration error: the mean distance of confidence and accuracy, over rows."""
        return ratio(np.abs(self.correct - self.confidence).sum(), self.rows.sum())


def exact_sum(values: Floats) -> int:
    """Sum values below 2²⁰ exactly, in units of 2⁻⁵²: in any order, and in any parts, the sum is the same."""
    scaled = values * 2.0**20
    whole = np.rint(scaled)
    rest = np.rint((scaled - whole) * 2.0**32)
    return (int(whole.astype(np.int64).sum()) << 32) + int(rest.astype(np.int64).sum())


def calibration_sums(rows: Predictions, true_columns: Integers, bins: int) -> Integers:
    """Return rows, correct rows and confidences (in units of 2⁻²⁶ and 2⁻⁵²) by bins of the highest probability."""
    if not len(rows.true) or not rows.columns:
        return np.zeros((4, bins), np.int64)
    places, confidence = best_labels(rows.probabilities)
    correct = places == true_columns
    number = np.clip((confidence * bins).astype(np.int64), 0, bins - 1)
    scaled = confidence * 2.0**26
    whole = np.rint(scaled)
    weights = (None, correct, whole, np.rint((scaled - whole) * 2.0**26))
    return np.array([np.bincount(number, weight, bins) for weight in weights]).astype(np.int64)


def ratio(part: float, whole: float) -> float:
    """Return part / whole; 0 of nothing."""
    return float(part / whole) if whole else 0.0


def _numbered(values: Any) -> tuple[Integers, list[str]]:
    """Number labels: give the number of each row's label, and the labels as texts."""
    array = values if isinstance(values, np.ndarray) else None
    if array is not None and array.dtype.kind in "bui" and len(array) and array.min() >= 0 and array.max() < 1 << 16:
        present = np.flatnonzero(np.bincount(array.astype(np.int64)))
        places = np.zeros(int(present[-1]) + 1, np.int64)
        places[present] = np.arange(len(present))
        return places[array.astype(np.int64)], [_name(array.dtype.type(value)) for value in present]
    plain = array.tolist() if array is not None else list(values)
    texts = plain if set(map(type, plain)) <= {str} else list(map(_name, plain))
    numbers, offsets, data = _native.distinct(texts)
    return numbers.astype(np.int64), Strings(offsets, data).to_list()


def _name(label: Any) -> str:
    """Return the text of a label; numbers and truth values are written as a classifier knows them."""
    return str(label) if isinstance(label, str) or is_missing(label) else label_text(label)


def _renumbered(places: Integers, names: Iterable[str], new: tuple[str, ...]) -> NDArray[Any]:
    place = {name: index for index, name in enumerate(new)}
    return np.array([place[name] for name in names], _smallest(len(new)))[places]


def _smallest(size: int) -> Any:
    """Return the smallest integer type that can number these labels."""
    return np.min_scalar_type(max(size - 1, 0))
