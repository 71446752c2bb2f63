"""How good a classifier is, from true labels, predicted labels and probabilities: sums over rows, which add up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.data.batch import did_you_mean
from discern.evaluation.curves import Curve, Ranking, hand_till
from discern.evaluation.decisions import Decision
from discern.evaluation.predictions import UNIT, CalibrationBins, Predictions, calibration_sums, exact_sum, ratio
from discern.evaluation.significance import Interval, bootstrap, normal_quantile, wilson

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

TINY = 1e-300
"""Smaller probabilities count as this one in the log loss, which stays finite."""
BINS = 15
"""Bins of the expected calibration error."""
MOST_KEPT = 1 << 25
"""The maximum number of probabilities kept for curves and bootstraps. Evaluations of more rows have sums only."""
AVERAGES = ("macro", "micro", "weighted")


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Sums over evaluated rows; evaluations of parts add up to the evaluation of the whole, to the last bit.

    ``confusion[i, j]`` is the number of rows of true label ``labels[j]`` that were predicted as ``labels[i]``.
    The rows are kept too, for curves, as long as they hold at most ``MOST_KEPT`` probabilities.

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
    """Rows, correct rows, and the two halves of the sum of confidences, by bin."""
    unseen: int
    parts: tuple[Predictions, ...] | None = field(repr=False, default=())
    """The rows, or None where they were too many to keep."""
    size: int = 0
    """The number of probabilities in the rows."""

    @classmethod
    def of(cls, true: Any, predicted: Any, probabilities: Any, labels: Any) -> Evaluation:
        """Evaluate predicted labels; ``probabilities``, which are kept, not copied, have a column for each label."""
        return cls.of_rows(Predictions.of(true, predicted, probabilities, labels))

    @classmethod
    def of_rows(cls, rows: Predictions) -> Evaluation:
        """Evaluate rows."""
        n_labels = len(rows.names)
        cells = rows.predicted.astype(np.int64) * n_labels + rows.true
        confusion = np.bincount(cells, minlength=n_labels * n_labels).reshape(n_labels, n_labels)
        places = rows.true_columns
        known = places >= 0
        own = rows.probabilities[np.arange(len(places)), places] if len(rows.columns) else np.zeros(len(places))
        own = np.where(known, own, 0.0)
        losses = -np.log(np.maximum(own, TINY))
        briers = np.einsum("ij,ij->i", rows.probabilities, rows.probabilities) - 2 * own + 1
        sums = tuple(exact_sum(values) for values in (losses, losses**2, briers, briers**2))
        size = rows.probabilities.size
        parts = (rows,) if size <= MOST_KEPT else None
        bins = calibration_sums(rows, places, BINS)
        return cls(rows.names, confusion, sums, bins, int((~known).sum()), parts, size)  # type: ignore[arg-type]

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

    # ------------------------------------------------------------------------------------- the evaluated rows

    @cached_property
    def predictions(self) -> Predictions:
        """The evaluated rows, all in one."""
        if self.parts is None:
            raise ValueError(
                f"this evaluation has sums only: more than {MOST_KEPT:,} probabilities were not kept; evaluate fewer "
                "rows at once"
            )
        return self.parts[0] if len(self.parts) == 1 else Predictions.joined(self.parts, self.labels)

    def take(self, chosen: Any) -> Evaluation:
        """Return the evaluation of some of the rows, by their numbers or as true and false."""
        return Evaluation.of_rows(self.predictions.take(chosen))

    def decided_by(self, decision: Callable[[Floats, Sequence[str]], Any]) -> Evaluation:
        """Return the evaluation of the same rows under another decision, such as a :class:`discern.Decision`."""
        rows = self.predictions
        return Evaluation.of(
            rows.true_labels, decision(rows.probabilities, rows.columns), rows.probabilities, rows.columns
        )

    def at(self, threshold: float, positive: str | None = None) -> Evaluation:
        """Return the evaluation when rows are predicted as ``positive`` from a probability of ``threshold`` on."""
        return self.decided_by(Decision.at(threshold, self.positive(positive)))

    def positive(self, label: str | None = None) -> str:
        """Return the label that counts as positive: the one given, else the last that has a probability."""
        columns = self.predictions.columns if self.parts else self.labels
        if label is None:
            return columns[-1]
        if label not in columns:
            raise ValueError(f"unknown label {label!r}{did_you_mean(label, columns)}")
        return label

    def ranking(self, positive: str | None = None) -> Ranking:
        """Rank the rows by their probability of a label, against all others."""
        rows, label = self.predictions, self.positive(positive)
        if label not in self._rankings:
            truth = rows.true == rows.names.index(label)
            self._rankings[label] = Ranking.of(rows.probabilities[:, rows.columns.index(label)], truth)
        return self._rankings[label]

    @cached_property
    def _rankings(self) -> dict[str, Ranking]:
        return {}

    # ------------------------------------------------------------------------------------- figures of all rows

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.confusion.sum())

    @property
    def correct(self) -> int:
        """The number of correct rows."""
        return int(np.trace(self.confusion))

    @property
    def accuracy(self) -> float:
        """The share of correct rows."""
        return ratio(self.correct, self.rows)

    @property
    def error(self) -> float:
        """The share of incorrect rows."""
        return 1 - self.accuracy

    @property
    def log_loss(self) -> float:
        """The mean of −log of the probability given to the true label."""
        return ratio(self.sums[0], self.rows << UNIT)

    @property
    def known_log_loss(self) -> float:
        """The log loss over the rows whose label the model knows; not a number if there are none.

        A row of an unseen label has the probability 0, which counts as ``TINY``: one such row in a hundred adds 7 nats
        to the log loss.
        """
        known = self.rows - self.unseen
        if not known:
            return float("nan")
        unseen = exact_sum(np.full(self.unseen, -np.log(TINY)))
        return ratio(self.sums[0] - unseen, known << UNIT)

    @property
    def brier(self) -> float:
        """The mean squared distance of the probabilities from the truth."""
        return ratio(self.sums[2], self.rows << UNIT)

    @property
    def mcc(self) -> float:
        """Matthews' correlation coefficient of truth and prediction, for any number of labels (Gorodkin 2004)."""
        called, true = (self.confusion.sum(axis=axis).astype(np.float64) for axis in (1, 0))
        rows = float(self.rows)
        across = self.correct * rows - called @ true
        spread = (rows**2 - called @ called) * (rows**2 - true @ true)
        return float(across / np.sqrt(spread)) if spread > 0 else 0.0

    @property
    def calibration_error(self) -> float:
        """The expected calibration error of the most probable label, in 15 bins."""
        return self.calibration().error

    def calibration(self, bins: int = BINS) -> CalibrationBins:
        """Return the accuracy of the most probable label against its confidence, in bins of equal width."""
        sums = self.bins if bins == BINS else calibration_sums(self.predictions, self.predictions.true_columns, bins)
        return CalibrationBins.of_sums(sums)

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
        hits, called, true = self._counts(index)
        others = self.rows - true
        return {
            "precision": ratio(hits, called),
            "recall": ratio(hits, true),
            "f1": ratio(2 * hits, called + true),
            "specificity": ratio(others - (called - hits), others),
            "false_positive_rate": ratio(called - hits, others),
            "false_negative_rate": ratio(true - hits, true),
            "rows": true,
        }

    def _counts(self, index: int) -> tuple[int, int, int]:
        """Return the true positives of a label, the rows predicted as it, and the rows that are of it."""
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
            return self.accuracy  # every row has one true and one predicted label
        values = [self._figures(index) for index in used]
        weights = [each["rows"] if average == "weighted" else 1 for each in values]
        return ratio(sum(each[name] * weight for each, weight in zip(values, weights, strict=True)), sum(weights))

    def precision(self, which: str | None = None) -> float:
        """Return the precision: of one label, or ``"macro"``, ``"micro"`` or ``"weighted"``."""
        return self._figure("precision", which)

    def recall(self, which: str | None = None) -> float:
        """Return the share of rows of a label that are predicted as it: of one label, or an average."""
        return self._figure("recall", which)

    sensitivity = recall

    def f1(self, which: str | None = None) -> float:
        """Return the harmonic mean of precision and recall: of one label, or an average."""
        return self._figure("f1", which)

    def specificity(self, label: str | None = None) -> float:
        """Return the share of rows of other labels that are not predicted as it."""
        return self._figure("specificity", label)

    def false_positive_rate(self, label: str | None = None) -> float:
        """Return the share of rows of other labels that are predicted as it."""
        return self._figure("false_positive_rate", label)

    def false_negative_rate(self, label: str | None = None) -> float:
        """Return the share of rows of a label that are predicted as another."""
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
        """Return the least normalized cost of a label against the rest, for every ratio of costs."""
        return self.ranking(positive).cost_curve()

    def auc(self, which: str | None = None) -> float:
        """Return the area under the ROC curve.

        ``which`` is a label, ``"rest"`` (the mean over labels, each against the rest) or ``"hand-till"``. By default
        the positive label of two, and ``"rest"`` of more.
        """
        columns = self.predictions.columns
        chosen = which or (columns[-1] if len(columns) == 2 else "rest")
        if chosen == "hand-till":
            places = self.predictions.true_columns
            return hand_till(self.predictions.probabilities[places >= 0], places[places >= 0])
        if chosen == "rest" and "rest" not in columns:
            present = [label for label in columns if 0 < self._counts(self.labels.index(label))[2] < self.rows]
            if not present:
                raise ValueError("a curve needs rows of at least two labels")
            return float(np.mean([self.ranking(label).auc for label in present]))
        return self.ranking(chosen).auc

    def cost(self, costs: Any, labels: Sequence[str] | None = None) -> float:
        """Return the mean cost of the decisions: ``costs[i][j]`` for true ``labels[i]`` predicted as ``labels[j]``.

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
        return ratio(float((counts * table[np.ix_(wanted, wanted)]).sum()), self.rows)

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
            "accuracy": wilson(self.correct, self.rows, level),
            "error": wilson(self.rows - self.correct, self.rows, level),
            "log_loss": self._mean_interval(0, level),
            "brier": self._mean_interval(2, level),
        }
        if self.parts and len(self.predictions.columns) == 2:
            label = self.positive(positive)
            hits, called, true = self._counts(self.labels.index(label))
            others, alarms = self.rows - true, called - hits
            found |= {
                "precision": wilson(hits, called, level),
                "recall": wilson(hits, true, level),
                "specificity": wilson(others - alarms, others, level),
                "false_positive_rate": wilson(alarms, others, level),
                "false_negative_rate": wilson(true - hits, true, level),
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
        >>> found = rows.bootstrap(lambda drawn: drawn.f1("macro"), samples=100)
        >>> print(f"{rows.f1('macro'):.2f}, from {found.low:.2f} to {found.high:.2f}")
        0.73, from 0.58 to 0.85
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
            "known_log_loss": None if self.unseen == self.rows else self.known_log_loss,
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
        """Return the figures that need the rows, where they make sense."""
        if not self.parts or len(self.predictions.columns) < 2 or np.count_nonzero(self.confusion.sum(axis=0)) < 2:
            return {"auc": None}
        if len(self.predictions.columns) > 2 and positive is None:
            seen = any(self._counts(self.labels.index(label))[2] for label in self.predictions.columns)
            return {"auc": self.auc() if seen else None}  # all rows may have labels that were never learned
        label = self.positive(positive)
        if not 0 < self._counts(self.labels.index(label))[2] < self.rows:
            return {"auc": None}
        ranking = self.ranking(label)
        return {"positive": label, "auc": ranking.auc, "average_precision": ranking.average_precision}

    def summary(self) -> list[tuple[str, str, str]]:
        """Return the main figures for people: name, value, and what it means."""
        known = self.rows - self.unseen
        loss = f"{self.known_log_loss:.4f}" if known else "–"
        over = f", over the {known:,} rows whose label the model knows" if self.unseen else ""
        found = [
            ("accuracy", f"{self.accuracy:.2%}", f"{self.correct:,} of {self.rows:,} rows"),
            ("log loss", loss, f"nats a row{over}"),
            ("Brier score", f"{self.brier:.4f}", ""),
        ]
        if self.unseen:
            note = f"rows have a label that the model does not know ({self._unseen_labels()}) and count as wrong"
            found.append(("unseen", f"{self.unseen:,}", note))
        return found

    def _unseen_labels(self, most: int = 5) -> str:
        if self.parts is None:
            return "not listed"
        known = {label for part in self.parts for label in part.columns}
        names = [label for label in self.labels if label not in known and self._counts(self.labels.index(label))[2]]
        return ", ".join(map(repr, names[:most])) + (", …" if len(names) > most else "")

    def __str__(self) -> str:
        figures = [f"{name:11}  {value:>8}  {note}".rstrip() for name, value, note in self.summary()]
        longest = max([5, *map(len, self.labels)])
        head = f"{'label':{longest}}  precision   recall       F1  {'rows':>8}"
        table = [
            f"{label:{longest}}  {row['precision']:9.2%}  {row['recall']:7.2%}  {row['f1']:7.2%}  {row['rows']:8,}"
            for label, row in self.per_label().items()
        ]
        return "\n".join([*figures, "", head, *table])

    def _repr_html_(self) -> str:
        """Show the figures in a notebook."""
        from discern.evaluation.markup import matrix_table, record_table, section

        intervals = self.intervals()
        rows = [("rows", f"{self.rows:,}", "")]
        rows += [(name, value, note) for name, value, note in self.summary()[3:]]
        if self.unseen:
            rows.append(("log loss, known labels", self.summary()[1][1], ""))
        for name in ("accuracy", "log_loss", "brier", "auc"):
            if name in intervals:
                value = self.auc() if name == "auc" else getattr(self, name)
                rows.append((name.replace("_", " "), f"{value:.4f}", str(intervals[name])))
        rows += [("calibration error", f"{self.calibration_error:.4f}", ""), ("MCC", f"{self.mcc:.4f}", "")]
        matrix = matrix_table(self.labels, self.confusion) if len(self.labels) <= 20 else ""
        return section("Evaluation", record_table(("", "", "95% interval"), rows) + matrix)
