"""How good a classifier is, from true labels, decisions and probabilities: sums over judged rows, which add up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

import discern._native as _native
from discern.data.batch import did_you_mean
from discern.data.strings import Strings
from discern.data.values import is_missing, label_text
from discern.evaluation.curves import Curve, Ranking, hand_till
from discern.evaluation.decisions import Decision, best_labels
from discern.evaluation.significance import Interval, bootstrap, normal_quantile, wilson

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

TINY = 1e-300
"""Probabilities below this count as this in the log loss, which stays finite."""
BINS = 15
"""Bins of the expected calibration error."""
MOST_KEPT = 1 << 25
"""So many probabilities are kept for curves and bootstraps; evaluations of more rows have sums only."""
UNIT = 52
"""Sums are whole numbers of 2⁻⁵², so that they do not depend on the order of the rows."""
AVERAGES = ("macro", "micro", "weighted")


@dataclass(frozen=True)
class Judged:
    """Rows as they were judged: the places of the true and the decided labels among ``names``, and probabilities."""

    names: tuple[str, ...]
    true: NDArray[Any]
    decided: NDArray[Any]
    columns: tuple[str, ...]
    probabilities: Floats

    @property
    def true_columns(self) -> Integers:
        """The column of each row's true label; −1 where it has none."""
        column = {label: index for index, label in enumerate(self.columns)}
        places: Integers = np.array([column.get(name, -1) for name in self.names], np.int64)
        return np.asarray(places[self.true])

    def within(self, names: tuple[str, ...], columns: tuple[str, ...]) -> Judged:
        """Return the same rows with the labels numbered anew; labels that the rows do not know have probability 0."""
        if (names, columns) == (self.names, self.columns):
            return self
        places = np.array([names.index(name) for name in self.names], _smallest(len(names)))
        wide = np.zeros((len(self.true), len(columns)))
        wide[:, [columns.index(label) for label in self.columns]] = self.probabilities
        return Judged(names, places[self.true], places[self.decided], columns, wide)

    def take(self, chosen: Any) -> Judged:
        """Return some of the rows."""
        return Judged(self.names, self.true[chosen], self.decided[chosen], self.columns, self.probabilities[chosen])


@dataclass(frozen=True)
class Calibration:
    """Rows by the probability of their most probable label: how often that label was right, against how sure it was."""

    rows: Integers
    right: Integers
    confidence: Floats

    @property
    def share(self) -> Floats:
        """How often the most probable label was right in each bin; not a number where there are no rows."""
        return np.where(self.rows > 0, self.right / np.maximum(self.rows, 1), np.nan)

    @property
    def error(self) -> float:
        """The expected calibration error: the mean distance of confidence and share, over rows."""
        return _ratio(np.abs(self.right - self.confidence).sum(), self.rows.sum())


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Sums over judged rows; evaluations of parts add up to the evaluation of the whole, to the last bit.

    ``confusion[i, j]`` is the number of rows of true label ``labels[j]`` that were called ``labels[i]``.
    The judged rows are kept too, for curves, as long as they hold at most ``MOST_KEPT`` probabilities.

    Examples
    --------
    >>> part = Evaluation.of(["a", "b"], ["a", "a"], np.array([[0.9, 0.1], [0.6, 0.4]]), ["a", "b"])
    >>> part.accuracy, (part + part).rows, part.auc()
    (0.5, 4, 1.0)
    >>> part.at(0.4, "b").accuracy
    1.0
    """

    labels: tuple[str, ...]
    confusion: Integers
    sums: tuple[int, int, int, int]
    """Log loss, its squares, Brier score, its squares; in units of 2⁻⁵²."""
    bins: Integers
    """Rows, right rows, and the two halves of the sum of confidences, by bin."""
    unseen: int
    parts: tuple[Judged, ...] | None = field(repr=False, default=())
    """The judged rows, or None where they were too many to keep."""
    size: int = 0
    """How many probabilities they hold."""

    @classmethod
    def of(cls, true: Any, decided: Any, probabilities: Any, labels: Any) -> Evaluation:
        """Judge decisions; ``probabilities``, which are kept, not copied, have a column for each of ``labels``."""
        columns = tuple(map(_name, labels))
        (true_places, true_names), (places, decided_names) = _numbered(true), _numbered(decided)
        shares = np.ascontiguousarray(probabilities, np.float64)
        if shares.shape != (len(true_places), len(columns)) or len(places) != len(true_places):
            raise ValueError(
                f"{len(true_places)} true labels, {len(places)} decisions and probabilities of shape {shares.shape} "
                f"for {len(columns)} labels do not fit together"
            )
        if shares.size and not (shares.min() >= 0 and shares.max() <= 1 + 1e-6):
            row = int(np.flatnonzero(~((shares >= 0) & (shares <= 1 + 1e-6)).all(axis=1))[0]) + 1
            raise ValueError(f"row {row} has a probability that is not a number from 0 to 1")
        if list(columns) != sorted(columns):  # ties are broken by the name, whatever the order of the columns
            order = sorted(range(len(columns)), key=columns.__getitem__)
            columns, shares = tuple(columns[place] for place in order), np.ascontiguousarray(shares[:, order])
        names = tuple(sorted({*columns, *true_names, *decided_names}))
        renamed = (_renumbered(true_places, true_names, names), _renumbered(places, decided_names, names))
        return cls._of_rows(Judged(names, *renamed, columns, shares))

    @classmethod
    def _of_rows(cls, judged: Judged) -> Evaluation:
        size = len(judged.names)
        cells = judged.decided.astype(np.int64) * size + judged.true
        confusion = np.bincount(cells, minlength=size * size).reshape(size, size)
        places = judged.true_columns
        known = places >= 0
        right = judged.probabilities[np.arange(len(places)), places] if len(judged.columns) else np.zeros(len(places))
        right = np.where(known, right, 0.0)
        losses = -np.log(np.maximum(right, TINY))
        briers = np.einsum("ij,ij->i", judged.probabilities, judged.probabilities) - 2 * right + 1
        sums = tuple(_exact_sum(values) for values in (losses, losses**2, briers, briers**2))
        size = judged.probabilities.size
        parts = (judged,) if size <= MOST_KEPT else None
        bins = _calibration_sums(judged, places, BINS)
        return cls(judged.names, confusion, sums, bins, int((~known).sum()), parts, size)  # type: ignore[arg-type]

    def __add__(self, other: Evaluation) -> Evaluation:
        labels = tuple(sorted({*self.labels, *other.labels}))
        confusion = np.zeros((len(labels), len(labels)), np.int64)
        for part in (self, other):
            places = [labels.index(label) for label in part.labels]
            confusion[np.ix_(places, places)] += part.confusion
        sums = tuple(mine + theirs for mine, theirs in zip(self.sums, other.sums, strict=True))
        size = self.size + other.size
        kept = self.parts is not None and other.parts is not None and size <= MOST_KEPT
        parts = (self.parts or ()) + (other.parts or ()) if kept else None
        bins, unseen = self.bins + other.bins, self.unseen + other.unseen
        return Evaluation(labels, confusion, sums, bins, unseen, parts, size)  # type: ignore[arg-type]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Evaluation):
            return NotImplemented
        mine, theirs = ((one.labels, one.sums, one.unseen) for one in (self, other))
        return mine == theirs and bool((self.confusion == other.confusion).all() and (self.bins == other.bins).all())

    __hash__ = None  # type: ignore[assignment]

    # ---------------------------------------------------------------------------------------- the judged rows

    @cached_property
    def judged(self) -> Judged:
        """The judged rows, all in one."""
        if self.parts is None:
            raise ValueError(
                f"more than {MOST_KEPT:,} probabilities were judged and not kept: judge fewer rows at once"
            )
        if len(self.parts) == 1:
            return self.parts[0]
        columns = tuple(sorted({label for part in self.parts for label in part.columns}))
        same = [part.within(self.labels, columns) for part in self.parts]
        empty = Judged(self.labels, np.zeros(0, np.int64), np.zeros(0, np.int64), columns, np.zeros((0, len(columns))))
        arrays = zip(*((part.true, part.decided, part.probabilities) for part in same or [empty]), strict=True)
        true, decided, probabilities = (np.concatenate(each) for each in arrays)
        return Judged(self.labels, true, decided, columns, probabilities)

    def take(self, chosen: Any) -> Evaluation:
        """Return the evaluation of some of the rows, by their numbers or as true and false."""
        return Evaluation._of_rows(self.judged.take(chosen))

    def decided_by(self, decision: Callable[[Floats, Sequence[str]], Any]) -> Evaluation:
        """Return the evaluation of the same rows decided otherwise, such as by a :class:`discern.Decision`."""
        judged = self.judged
        true = np.array(judged.names, np.str_)[judged.true]
        decided = decision(judged.probabilities, judged.columns)
        return Evaluation.of(true, decided, judged.probabilities, judged.columns)

    def at(self, threshold: float, positive: str | None = None) -> Evaluation:
        """Return the evaluation when rows are called ``positive`` whose probability of it is at least ``threshold``."""
        return self.decided_by(Decision.at(threshold, self.positive(positive)))

    def positive(self, label: str | None = None) -> str:
        """Return the label that counts as positive: the one given, else the last that has a probability."""
        columns = self.judged.columns if self.parts else self.labels
        if label is None:
            return columns[-1]
        if label not in columns:
            raise ValueError(f"there is no label {label!r}{did_you_mean(label, columns)}")
        return label

    def ranking(self, positive: str | None = None) -> Ranking:
        """Rank the rows by their probability of a label, against all others."""
        judged, label = self.judged, self.positive(positive)
        if label not in self._rankings:
            truth = judged.true == judged.names.index(label)
            self._rankings[label] = Ranking.of(judged.probabilities[:, judged.columns.index(label)], truth)
        return self._rankings[label]

    @cached_property
    def _rankings(self) -> dict[str, Ranking]:
        return {}

    # ------------------------------------------------------------------------------------- figures of all rows

    @property
    def rows(self) -> int:
        """The number of rows judged."""
        return int(self.confusion.sum())

    @property
    def right(self) -> int:
        """The number of rows called right."""
        return int(np.trace(self.confusion))

    @property
    def accuracy(self) -> float:
        """The share of rows called right."""
        return _ratio(self.right, self.rows)

    @property
    def error(self) -> float:
        """The share of rows called wrong."""
        return 1 - self.accuracy

    @property
    def log_loss(self) -> float:
        """The mean of −log of the probability given to the true label."""
        return _ratio(self.sums[0], self.rows << UNIT)

    @property
    def brier(self) -> float:
        """The mean squared distance of the probabilities from the truth."""
        return _ratio(self.sums[2], self.rows << UNIT)

    @property
    def mcc(self) -> float:
        """Matthews' correlation coefficient of truth and decision, for any number of labels (Gorodkin 2004)."""
        called, true = (self.confusion.sum(axis=axis).astype(np.float64) for axis in (1, 0))
        rows = float(self.rows)
        across = self.right * rows - called @ true
        spread = (rows**2 - called @ called) * (rows**2 - true @ true)
        return float(across / np.sqrt(spread)) if spread > 0 else 0.0

    @property
    def calibration_error(self) -> float:
        """The expected calibration error of the most probable label, in 15 bins."""
        return self.calibration().error

    def calibration(self, bins: int = BINS) -> Calibration:
        """Return how often the most probable label is right, against how sure it was, in bins of equal width."""
        sums = self.bins if bins == BINS else _calibration_sums(self.judged, self.judged.true_columns, bins)
        confidence = sums[2] / 2.0**26 + sums[3] / 2.0**UNIT
        return Calibration(sums[0], sums[1], confidence)

    def matrix(self, orientation: str = "predicted-true") -> Integers:
        """Return the confusion matrix, ``"predicted-true"`` (predicted in rows) or ``"true-predicted"``."""
        if orientation not in ("predicted-true", "true-predicted"):
            raise ValueError(f"the orientation is 'predicted-true' or 'true-predicted', not {orientation!r}")
        return self.confusion if orientation == "predicted-true" else self.confusion.T

    # ------------------------------------------------------------------------------------- figures of a label

    def per_label(self) -> dict[str, dict[str, float]]:
        """Return precision, recall, F1, specificity, the two error rates and the number of rows of each label."""
        return {label: self._figures(index) for index, label in enumerate(self.labels)}

    def _figures(self, index: int) -> dict[str, float]:
        right, called, true = self._counts(index)
        others = self.rows - true
        return {
            "precision": _ratio(right, called),
            "recall": _ratio(right, true),
            "f1": _ratio(2 * right, called + true),
            "specificity": _ratio(others - (called - right), others),
            "false_positive_rate": _ratio(called - right, others),
            "false_negative_rate": _ratio(true - right, true),
            "rows": true,
        }

    def _counts(self, index: int) -> tuple[int, int, int]:
        """Return the rows rightly called so, all that were called so, and all that are so."""
        row, column = self.confusion[index], self.confusion[:, index]
        return int(row[index]), int(row.sum()), int(column.sum())

    def _figure(self, name: str, which: str | None) -> float:
        """Return a figure of one label, or its average over labels."""
        if which in AVERAGES and which not in self.labels:
            return self._average(name, which)
        label = self.positive(which)
        return float(self._figures(self.labels.index(label))[name])

    def _average(self, name: str, average: str) -> float:
        used = [index for index in range(len(self.labels)) if any(self._counts(index)[1:])]
        if average == "micro":
            return self.accuracy  # every row has one true and one decided label
        values = [self._figures(index) for index in used]
        weights = [each["rows"] if average == "weighted" else 1 for each in values]
        return _ratio(sum(each[name] * weight for each, weight in zip(values, weights, strict=True)), sum(weights))

    def precision(self, which: str | None = None) -> float:
        """Return the precision: of one label, or ``"macro"``, ``"micro"`` or ``"weighted"``."""
        return self._figure("precision", which)

    def recall(self, which: str | None = None) -> float:
        """Return the share of rows of a label that are called so: of one label, or an average."""
        return self._figure("recall", which)

    sensitivity = recall

    def f1(self, which: str | None = None) -> float:
        """Return the harmonic mean of precision and recall: of one label, or an average."""
        return self._figure("f1", which)

    def specificity(self, label: str | None = None) -> float:
        """Return the share of rows of other labels that are not called so."""
        return self._figure("specificity", label)

    def false_positive_rate(self, label: str | None = None) -> float:
        """Return the share of rows of other labels that are called so."""
        return self._figure("false_positive_rate", label)

    def false_negative_rate(self, label: str | None = None) -> float:
        """Return the share of rows of a label that are called otherwise."""
        return self._figure("false_negative_rate", label)

    # ------------------------------------------------------------------------------------------------ curves

    def roc(self, positive: str | None = None) -> Curve:
        """Return the ROC curve of a label against the rest."""
        return self.ranking(positive).roc()

    def precision_recall(self, positive: str | None = None) -> Curve:
        """Return precision against recall of a label."""
        return self.ranking(positive).precision_recall()

    def detection_error(self, positive: str | None = None) -> Curve:
        """Return misses against false alarms of a label."""
        return self.ranking(positive).detection_error()

    def cost_curve(self, positive: str | None = None) -> Curve:
        """Return the least normalised cost of a label against the rest, for every ratio of costs."""
        return self.ranking(positive).cost_curve()

    def auc(self, which: str | None = None) -> float:
        """Return the area under the ROC curve.

        ``which`` is a label, ``"rest"`` (the mean over labels, each against the rest) or ``"hand-till"``. By default
        the positive label of two, and ``"rest"`` of more.
        """
        columns = self.judged.columns
        chosen = which or (columns[-1] if len(columns) == 2 else "rest")
        if chosen == "hand-till":
            places = self.judged.true_columns
            return hand_till(self.judged.probabilities[places >= 0], places[places >= 0])
        if chosen == "rest" and "rest" not in columns:
            present = [label for label in columns if 0 < self._counts(self.labels.index(label))[2] < self.rows]
            if not present:
                raise ValueError("a curve needs rows of two labels at least")
            return float(np.mean([self.ranking(label).auc for label in present]))
        return self.ranking(chosen).auc

    def cost(self, costs: Any, labels: Sequence[str] | None = None) -> float:
        """Return the mean cost of the decisions: ``costs[i][j]`` for true ``labels[i]`` called ``labels[j]``.

        ``labels`` are by default those of this evaluation, in their order.
        """
        names = list(labels or self.labels)
        table = np.asarray(costs, np.float64)
        missing = [name for name, used in zip(self.labels, self._used, strict=True) if used and name not in names]
        if missing or table.shape != (len(names), len(names)):
            raise ValueError(f"the costs must be a square table for the labels {', '.join(self.labels)}")
        places = [self.labels.index(name) for name in names if name in self.labels]
        wanted = [index for index, name in enumerate(names) if name in self.labels]
        counts = self.confusion[np.ix_(places, places)].T
        return _ratio(float((counts * table[np.ix_(wanted, wanted)]).sum()), self.rows)

    def cost_of(self, decision: Decision) -> float:
        """Return the mean cost of the decisions by the costs that ``decision`` has; without any, a mistake costs 1."""
        names = [str(label) for label in decision.labels or self.labels if label != decision.unsure_label]
        table = 1.0 - np.eye(len(names)) if decision.costs is None else np.array(decision.costs)
        if decision.unsure is not None:
            names.append(decision.unsure_label)
            table = np.pad(table, ((0, 1), (0, 1)), constant_values=decision.unsure)
        return self.cost(table, names)

    @property
    def _used(self) -> NDArray[np.bool_]:
        return np.asarray((self.confusion.sum(axis=0) + self.confusion.sum(axis=1)) > 0)

    # --------------------------------------------------------------------------------------------- intervals

    def intervals(self, level: float = 0.95, positive: str | None = None) -> dict[str, Interval]:
        """Return intervals: Wilson's of shares, DeLong's of the area, the normal one of log loss and Brier score."""
        found = {
            "accuracy": wilson(self.right, self.rows, level),
            "error": wilson(self.rows - self.right, self.rows, level),
            "log_loss": self._mean_interval(0, level),
            "brier": self._mean_interval(2, level),
        }
        if self.parts and len(self.judged.columns) == 2:
            label = self.positive(positive)
            right, called, true = self._counts(self.labels.index(label))
            others, alarms = self.rows - true, called - right
            found |= {
                "precision": wilson(right, called, level),
                "recall": wilson(right, true, level),
                "specificity": wilson(others - alarms, others, level),
                "false_positive_rate": wilson(alarms, others, level),
                "false_negative_rate": wilson(true - right, true, level),
            }
            if 1 < true < self.rows - 1:
                found["auc"] = self.ranking(label).auc_interval(level)
        return found

    def _mean_interval(self, place: int, level: float) -> Interval:
        rows = max(self.rows, 1)
        mean, squares = (self.sums[index] / (rows << UNIT) for index in (place, place + 1))
        reach = normal_quantile(level) * (max(squares - mean**2, 0.0) / max(rows - 1, 1)) ** 0.5
        return Interval(mean - reach, mean + reach, level)

    def bootstrap(
        self, figure: Callable[[Evaluation], float], samples: int = 1000, level: float = 0.95, random_state: int = 0
    ) -> Interval:
        """Return the percentile interval of any figure, over rows drawn with replacement.

        Examples
        --------
        >>> rows = Evaluation.of(list("aabb") * 9, list("abbb") * 9, np.tile([0.5, 0.5], (36, 1)), "ab")
        >>> rows.f1("macro") in rows.bootstrap(lambda drawn: drawn.f1("macro"), samples=100)
        True
        """
        return bootstrap(self.rows, lambda chosen: figure(self.take(chosen)), samples, level, random_state)

    # ------------------------------------------------------------------------------------------ plain values

    def to_dict(self, positive: str | None = None) -> dict[str, Any]:
        """Return everything as plain values."""
        intervals = {name: [each.low, each.high] for name, each in self.intervals(positive=positive).items()}
        return {
            "rows": self.rows,
            "accuracy": self.accuracy,
            "error": self.error,
            "log_loss": self.log_loss,
            "brier": self.brier,
            "calibration_error": self.calibration_error,
            "mcc": self.mcc,
            **{
                name: {average: getattr(self, name)(average) for average in AVERAGES}
                for name in ("precision", "recall")
            },
            "f1": {average: self.f1(average) for average in AVERAGES},
            **self._ranked(positive),
            "intervals": intervals,
            "labels": list(self.labels),
            "confusion": self.confusion.tolist(),
            "per_label": self.per_label(),
            "rows_with_unseen_label": self.unseen,
        }

    def _ranked(self, positive: str | None) -> dict[str, Any]:
        """Return the figures that need the kept rows, where they make sense."""
        if not self.parts or len(self.judged.columns) < 2 or np.count_nonzero(self.confusion.sum(axis=0)) < 2:
            return {"auc": None}
        if len(self.judged.columns) > 2 and positive is None:
            seen = any(self._counts(self.labels.index(label))[2] for label in self.judged.columns)
            return {"auc": self.auc() if seen else None}  # all rows may have labels that were never learned
        label = self.positive(positive)
        if not 0 < self._counts(self.labels.index(label))[2] < self.rows:
            return {"auc": None}
        ranking = self.ranking(label)
        return {"positive": label, "auc": ranking.auc, "average_precision": ranking.average_precision}

    def _repr_html_(self) -> str:
        """Show the figures in a notebook."""
        from discern.evaluation.markup import matrix_table, record_table, section

        intervals = self.intervals()
        rows = [("rows", f"{self.rows:,}", "")]
        for name in ("accuracy", "log_loss", "brier", "auc"):
            if name in intervals:
                value = self.auc() if name == "auc" else getattr(self, name)
                rows.append((name.replace("_", " "), f"{value:.4f}", str(intervals[name])))
        rows += [("calibration error", f"{self.calibration_error:.4f}", ""), ("MCC", f"{self.mcc:.4f}", "")]
        matrix = matrix_table(self.labels, self.confusion) if len(self.labels) <= 20 else ""
        return section("Evaluation", record_table(("", "", "95% interval"), rows) + matrix)


# ------------------------------------------------------------------------------------------------ exact sums


def _exact_sum(values: Floats) -> int:
    """Sum values below 2²⁰ exactly, in units of 2⁻⁵²: in any order, and in any parts, the sum is the same."""
    scaled = values * 2.0**20
    whole = np.rint(scaled)
    rest = np.rint((scaled - whole) * 2.0**32)
    return (int(whole.astype(np.int64).sum()) << 32) + int(rest.astype(np.int64).sum())


def _calibration_sums(judged: Judged, true_columns: Integers, bins: int) -> Integers:
    """Return rows, right rows and confidences (in units of 2⁻²⁶ and 2⁻⁵²) by bins of the highest probability."""
    if not len(judged.true) or not judged.columns:
        return np.zeros((4, bins), np.int64)
    places, confidence = best_labels(judged.probabilities)
    right = places == true_columns
    number = np.clip((confidence * bins).astype(np.int64), 0, bins - 1)
    scaled = confidence * 2.0**26
    whole = np.rint(scaled)
    weights = (None, right, whole, np.rint((scaled - whole) * 2.0**26))
    return np.array([np.bincount(number, weight, bins) for weight in weights]).astype(np.int64)


# ---------------------------------------------------------------------------------------------------- labels


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
    """Return the smallest type that numbers so many labels."""
    return np.min_scalar_type(max(size - 1, 0))


def _ratio(part: float, whole: float) -> float:
    return float(part / whole) if whole else 0.0
