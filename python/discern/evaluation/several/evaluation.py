"""How good a classifier of several labels a row is: sums over rows, which add up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.data.batch import did_you_mean
from discern.data.encode import is_sparse
from discern.evaluation.curves import Curve, Ranking
from discern.evaluation.evaluation import AVERAGES, MOST_KEPT
from discern.evaluation.predictions import UNIT, CalibrationBins, ratio
from discern.evaluation.several.rows import MultilabelRows, truth_table
from discern.evaluation.several.sums import LOSS_UNIT, UNSEEN_LOSS, LabelSums, RowSums, sums_of
from discern.evaluation.significance import Interval, bootstrap, normal_quantile, wilson

if TYPE_CHECKING:
    from discern.evaluation.several.rows import Floats

FIGURES = ("precision", "recall", "f1")
MOST_SHOWN = 30
"""The number of labels that a printed evaluation has. ``per_label`` has all."""


@dataclass(frozen=True, eq=False)
class MultilabelEvaluation:
    """Sums over evaluated rows with several labels each; parts add up to the evaluation of the whole, to the last bit.

    A label that is never predicted has a precision of 0, and one that is never true a recall of 0. Averages are over
    all labels, as in scikit-learn. The rows are kept too, for rankings and other thresholds, as long as they hold at
    most ``MOST_KEPT`` probabilities.

    Examples
    --------
    >>> shares = [[0.9, 0.6], [0.2, 0.7], [0.4, 0.1]]
    >>> part = MultilabelEvaluation.of([{"corn", "wheat"}, {"wheat"}, set()], [["corn"], ["wheat"], []], shares,
    ...     ["corn", "wheat"])
    >>> round(part.f1(), 3), part.f1("wheat"), part.hamming_loss, (part + part).rows
    (0.8, 0.666, 0.166, 6)
    >>> part.at(0.5).exact_match
    1.0
    """

    labels: tuple[str, ...]
    by_label: LabelSums
    by_row: RowSums
    parts: tuple[MultilabelRows, ...] | None = field(repr=False, default=())
    """The rows, or None where they were too many to keep."""
    size: int = 0
    """The number of probabilities in the rows."""

    @classmethod
    def of(cls, true: Any, predicted: Any, probabilities: Any, labels: Any) -> MultilabelEvaluation:
        """Evaluate predictions.

        ``true`` and ``predicted`` are sets of labels, or tables of zeros and ones with a column for each of ``labels``;
        ``probabilities`` have these columns too. Tables may be sparse.
        """
        return cls.of_rows(MultilabelRows.of(true, predicted, probabilities, labels))

    @classmethod
    def of_rows(cls, rows: MultilabelRows) -> MultilabelEvaluation:
        """Evaluate rows."""
        size = rows.probabilities.size  # of a sparse table those that are stored
        return cls(rows.names, *sums_of(rows), (rows,) if size <= MOST_KEPT else None, size)

    def __add__(self, other: MultilabelEvaluation) -> MultilabelEvaluation:
        labels = tuple(sorted({*self.labels, *other.labels}))
        sums = self._among(labels) + other._among(labels)
        size = self.size + other.size
        kept = self.parts is not None and other.parts is not None and size <= MOST_KEPT
        parts = (self.parts or ()) + (other.parts or ()) if kept else None
        return MultilabelEvaluation(labels, sums, self.by_row + other.by_row, parts, size)

    def _among(self, labels: tuple[str, ...]) -> LabelSums:
        if labels == self.labels:
            return self.by_label
        return self.by_label.among(np.searchsorted(_names(labels), _names(self.labels)), len(labels), self.rows)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MultilabelEvaluation):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in ("labels", "by_label", "by_row"))

    __hash__ = None  # type: ignore[assignment]

    # ------------------------------------------------------------------------------------- the evaluated rows

    @cached_property
    def predictions(self) -> MultilabelRows:
        """The evaluated rows, all in one."""
        if not self.parts:
            raise ValueError(
                f"this evaluation has sums only: more than {MOST_KEPT:,} probabilities were not kept; evaluate fewer "
                "rows at once"
            )
        return self.parts[0] if len(self.parts) == 1 else MultilabelRows.joined(self.parts, self.labels)

    def take(self, chosen: Any) -> MultilabelEvaluation:
        """Return the evaluation of some of the rows, by their numbers or as true and false."""
        return MultilabelEvaluation.of_rows(self.predictions.take(chosen))

    def decided_by(self, decision: Callable[[Any, Sequence[str]], Any]) -> MultilabelEvaluation:
        """Return the evaluation of the same rows under another decision, such as :class:`discern.Thresholds`."""
        rows = self.predictions
        decided = truth_table(decision(rows.probabilities, rows.columns), len(rows.columns), "predicted")
        again = MultilabelRows(rows.columns, decided, decided, rows.columns, rows.probabilities)
        predicted = again.within(rows.names, rows.columns).predicted
        return MultilabelEvaluation.of_rows(
            MultilabelRows(rows.names, rows.true, predicted, rows.columns, rows.probabilities)
        )

    def at(self, threshold: float) -> MultilabelEvaluation:
        """Return the evaluation when each label is predicted from a probability of ``threshold`` on."""
        return self.decided_by(lambda probabilities, _: probabilities >= threshold)

    def positive(self, label: str | None = None) -> str:
        """Return the label that curves begin with: the one given, else the one that most rows have."""
        if label is not None:
            return self.labels[self._place(label)]
        return self.labels[int(self.by_label.counts[2].argmax())]

    def ranking(self, label: str | None = None) -> Ranking:
        """Rank the rows by their probability of a label, by default the one that most rows have."""
        label = self.positive(label)
        rows, place = self.predictions, self._place(label)
        if label not in rows.columns:
            raise ValueError(f"the model does not know the label {label!r}, so its probabilities cannot be ranked")
        column = rows.probabilities[:, [rows.columns.index(label)]]
        shares = column.toarray() if is_sparse(column) else column
        return Ranking.of(shares.ravel(), rows.true[:, [place]].toarray().ravel())

    def _place(self, label: str) -> int:
        if label not in self.labels:
            raise ValueError(f"unknown label {label!r}{did_you_mean(label, self.labels)}")
        return self.labels.index(label)

    # ------------------------------------------------------------------------------------- figures of all rows

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.by_row.rows

    @property
    def cells(self) -> int:
        """The number of rows times the number of labels."""
        return self.rows * len(self.labels)

    @property
    def exact_match(self) -> float:
        """The share of rows whose labels are predicted, all and no others; also called subset accuracy."""
        return ratio(self.by_row.exact, self.rows)

    subset_accuracy = accuracy = exact_match

    @property
    def error(self) -> float:
        """The share of rows whose labels are not predicted exactly."""
        return 1 - self.exact_match

    @property
    def hamming_loss(self) -> float:
        """The share of wrong decisions, over all rows and labels."""
        found, called, true = self.by_label.counts.sum(axis=1).tolist()
        return ratio(called + true - 2 * found, self.cells)

    @property
    def ranking_precision(self) -> float:
        """The label ranking average precision.

        For each true label of a row: the share of true labels among the labels that are at least as probable. Mean over
        the true labels of a row, then over rows. A row without labels counts 1.
        """
        last = ratio(self.by_row.bottom, len(self.labels))
        return ratio(self.by_row.ranked / 2.0**UNIT + last, self.rows)

    @property
    def coverage(self) -> float:
        """The mean number of the most probable labels that contain all true ones (coverage error)."""
        return ratio(self.by_row.depth + self.by_row.whole * len(self.labels), self.rows)

    @property
    def labels_per_row(self) -> float:
        """The mean number of true labels a row."""
        return ratio(int(self.by_label.counts[2].sum()), self.rows)

    @property
    def log_loss(self) -> float:
        """The log loss of a label against the rest, mean over labels and rows."""
        return ratio(self._total_loss() / 2.0**UNIT, self.cells)

    @property
    def known_log_loss(self) -> float:
        """The log loss without the true labels that the model does not know; not a number if nothing remains."""
        known = self.cells - self.by_row.unseen
        loss = self._total_loss() - self.by_row.unseen * UNSEEN_LOSS
        return ratio(loss / 2.0**UNIT, known) if known else float("nan")

    def _total_loss(self) -> int:
        whole, rest = (sum(part.tolist()) for part in self.by_label.losses)
        return int((whole << UNIT - LOSS_UNIT) + rest)

    @property
    def calibration_error(self) -> float:
        """The expected calibration error of a label's probability, in 15 bins, mean over labels."""
        return float(np.mean(self._calibration_errors)) if self.labels else 0.0

    @cached_property
    def _calibration_errors(self) -> Floats:
        rows, true, whole, rest = self.by_label.bins
        distances = np.abs(true - (whole / 2.0**26 + rest / 2.0**UNIT)).sum(axis=0)
        return np.asarray(distances / np.maximum(rows.sum(axis=0), 1))

    def calibration(self, label: str | None = None) -> CalibrationBins:
        """Return the share of rows that have a label against its probability, in bins; by default over all labels."""
        bins = self.by_label.bins
        return CalibrationBins.of_sums(bins.sum(axis=2) if label is None else bins[:, :, self._place(label)])

    # ------------------------------------------------------------------------------------- figures of a label

    def per_label(self) -> dict[str, dict[str, float]]:
        """Return precision, recall, F1, log loss, calibration error and the numbers of rows of each label."""
        tables = [self._figures[name].tolist() for name in FIGURES]
        losses = self.by_label.losses[0] / 2.0**LOSS_UNIT + self.by_label.losses[1] / 2.0**UNIT
        others = (losses / max(self.rows, 1)).tolist(), self._calibration_errors.tolist()
        names = (*FIGURES, "log_loss", "calibration_error", "predicted", "rows")
        columns = zip(*tables, *others, *(part.tolist() for part in self.by_label.counts[1:]), strict=True)
        return {label: dict(zip(names, row, strict=True)) for label, row in zip(self.labels, columns, strict=True)}

    @cached_property
    def _figures(self) -> dict[str, Floats]:
        found, called, true = self.by_label.counts
        whole = {"precision": called, "recall": true, "f1": called + true}
        return {
            name: np.where(total > 0, (1 + (name == "f1")) * found / np.maximum(total, 1), 0.0)
            for name, total in whole.items()
        }

    def _figure(self, name: str, which: str) -> float:
        """Return a figure of one label, or its average over labels."""
        if which not in AVERAGES or which in self.labels:
            return float(self._figures[name][self._place(which)])
        return self._average(name, which)

    def _average(self, name: str, which: str) -> float:
        if which == "micro":
            found, called, true = self.by_label.counts.sum(axis=1).tolist()
            doubled = 2 * found if name == "f1" else found
            return ratio(doubled, {"precision": called, "recall": true, "f1": called + true}[name])
        weights = self.by_label.counts[2] if which == "weighted" else np.ones(len(self.labels))
        return ratio(float(self._figures[name] @ weights), float(weights.sum()))

    def precision(self, which: str = "micro") -> float:
        """Return the precision: over all labels (``"micro"``), ``"macro"``, ``"weighted"``, or of one label."""
        return self._figure("precision", which)

    def recall(self, which: str = "micro") -> float:
        """Return the share of true labels that are predicted: an average as in ``precision``, or of one label."""
        return self._figure("recall", which)

    def f1(self, which: str = "micro") -> float:
        """Return the harmonic mean of precision and recall: an average as in ``precision``, or of one label."""
        return self._figure("f1", which)

    @property
    def micro_f1(self) -> float:
        """F1 over all labels together."""
        return self._average("f1", "micro")

    @property
    def macro_f1(self) -> float:
        """The mean of the F1 of each label."""
        return self._average("f1", "macro")

    def precision_recall(self, label: str | None = None) -> Curve:
        """Return precision against recall of a label."""
        return self.ranking(label).precision_recall()

    def auc(self, which: str = "macro") -> float:
        """Return the area under the ROC curve of a label, or the mean over the labels that have one (``"macro"``)."""
        if which != "macro" or "macro" in self.labels:
            return self.ranking(which).auc
        columns = set(self.predictions.columns)
        present = [
            label
            for label, true in zip(self.labels, self.by_label.counts[2].tolist(), strict=True)
            if 0 < true < self.rows and label in columns
        ]
        if not present:
            raise ValueError("a curve needs rows that have a label and rows that do not")
        return float(np.mean([self.ranking(label).auc for label in present]))

    # --------------------------------------------------------------------------------------------- intervals

    def intervals(self, level: float = 0.95) -> dict[str, Interval]:
        """Return intervals: Wilson's of exact matches, normal ones of the others, whose unit is the row."""
        found = {
            "exact_match": wilson(self.by_row.exact, self.rows, level),
            "accuracy": wilson(self.by_row.exact, self.rows, level),
            "error": wilson(self.rows - self.by_row.exact, self.rows, level),
        }
        weights = {"f1": ((2, 0, 0), (0, 1, 1)), "precision": ((1, 0, 0), (0, 1, 0)), "recall": ((1, 0, 0), (0, 0, 1))}
        for name, (part, whole) in weights.items():
            found[name] = self._ratio_interval(np.array(part), np.array(whole), level)
        return found | {"hamming_loss": self._hamming_interval(level), "log_loss": self._loss_interval(level)}

    @property
    def _products(self) -> Floats:
        hh, hc, ht, cc, ct, tt = self.by_row.products
        return np.array([[hh, hc, ht], [hc, cc, ct], [ht, ct, tt]], np.float64)

    def _ratio_interval(self, part: Any, whole: Any, level: float) -> Interval:
        """Return the interval of a ratio of sums over rows, by the variance of its linear part."""
        totals = self.by_label.counts.sum(axis=1).astype(np.float64)
        above, below = float(part @ totals), float(whole @ totals)
        if not below:
            return Interval(0.0, 1.0, level)
        value = above / below
        residual = part - value * whole
        spread = float(residual @ self._products @ residual) * self.rows / max(self.rows - 1, 1)
        reach = normal_quantile(level) * max(spread, 0.0) ** 0.5 / below
        return Interval(max(value - reach, 0.0), min(value + reach, 1.0), level)

    def _hamming_interval(self, level: float) -> Interval:
        differing = np.array([-2.0, 1.0, 1.0])
        squares = float(differing @ self._products @ differing)
        return self._mean_interval(self.hamming_loss, squares, level)

    def _loss_interval(self, level: float) -> Interval:
        return self._mean_interval(self.log_loss, self.by_row.squares / 2.0 ** (2 * LOSS_UNIT), level)

    def _mean_interval(self, mean: float, squares: float, level: float) -> Interval:
        """Return the interval of a mean over labels and rows, from the sum of the squares of each row's total."""
        rows, size = max(self.rows, 1), max(len(self.labels), 1)
        spread = max(squares / rows / size**2 - mean**2, 0.0)
        reach = normal_quantile(level) * (spread / max(rows - 1, 1)) ** 0.5
        return Interval(max(mean - reach, 0.0), mean + reach, level)

    def bootstrap(
        self,
        figure: Callable[[MultilabelEvaluation], float],
        samples: int = 1000,
        level: float = 0.95,
        random_state: int = 0,
    ) -> Interval:
        """Return the percentile interval of any figure, over rows drawn with replacement.

        Examples
        --------
        >>> truth = np.tile([[1, 0], [1, 1], [0, 1]], (9, 1))
        >>> rows = MultilabelEvaluation.of(truth, truth[:, ::-1], truth * 0.9, "ab")
        >>> rows.f1("macro") in rows.bootstrap(lambda drawn: drawn.f1("macro"), samples=100)
        True
        """
        return bootstrap(self.rows, lambda chosen: figure(self.take(chosen)), samples, level, random_state)

    # ------------------------------------------------------------------------------------------ plain values

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        intervals = {name: [each.low, each.high] for name, each in self.intervals().items()}
        return {
            "rows": self.rows,
            "accuracy": self.accuracy,
            **{name: {average: self._average(name, average) for average in AVERAGES} for name in FIGURES},
            "exact_match": self.exact_match,
            "hamming_loss": self.hamming_loss,
            "ranking_precision": self.ranking_precision,
            "coverage": self.coverage,
            "labels_per_row": self.labels_per_row,
            "log_loss": self.log_loss,
            "known_log_loss": None if self.cells == self.by_row.unseen else self.known_log_loss,
            "calibration_error": self.calibration_error,
            "intervals": intervals,
            "labels": list(self.labels),
            "per_label": self.per_label(),
            "unseen_labels": self.by_row.unseen,
        }

    def summary(self) -> list[tuple[str, str, str]]:
        """Return the main figures for people: name, value, and what it means."""
        found, called, true = self.by_label.counts.sum(axis=1).tolist()
        figures = [
            ("micro F1", f"{self.micro_f1:.2%}", f"{found:,} labels found, {called:,} predicted, {true:,} true"),
            ("macro F1", f"{self.macro_f1:.2%}", f"mean over {len(self.labels):,} labels"),
            ("exact match", f"{self.exact_match:.2%}", f"{self.by_row.exact:,} of {self.rows:,} rows"),
            ("Hamming", f"{self.hamming_loss:.4f}", "share of wrong decisions, over rows and labels"),
            (
                "log loss",
                f"{self.known_log_loss:.4f}" if self.cells else "–",
                "nats a label, mean over rows and labels",
            ),
            ("ranking", f"{self.ranking_precision:.4f}", "label ranking average precision"),
            ("coverage", f"{self.coverage:.2f}", "most probable labels that contain all true ones"),
        ]
        if self.by_row.unseen:
            note = "true labels that the model does not know; they count as not found"
            figures.append(("unseen", f"{self.by_row.unseen:,}", note))
        return figures

    def most_frequent(self, most: int = MOST_SHOWN) -> list[tuple[str, dict[str, float]]]:
        """Return the labels that most rows have, with their figures."""
        return sorted(self.per_label().items(), key=lambda item: (-item[1]["rows"], item[0]))[:most]

    def __str__(self) -> str:
        figures = [f"{name:11}  {value:>8}  {note}".rstrip() for name, value, note in self.summary()]
        shown = self.most_frequent()
        longest = max([5, *(len(label) for label, _ in shown)])
        head = f"{'label':{longest}}  precision   recall       F1  {'rows':>8}"
        table = [
            f"{label:{longest}}  {row['precision']:9.2%}  {row['recall']:7.2%}  {row['f1']:7.2%}  {row['rows']:8,}"
            for label, row in shown
        ]
        others = len(self.labels) - len(shown)
        more = [f"… and {others:,} more labels (per_label() has all)"] if others else []
        return "\n".join([*figures, "", head, *table, *more])

    def _repr_html_(self) -> str:
        """Show the figures in a notebook."""
        from discern.evaluation.markup import record_table, section

        names = {"micro F1": "f1", "exact match": "exact_match", "Hamming": "hamming_loss", "log loss": "log_loss"}
        intervals = self.intervals()
        rows = [
            (name, value, str(intervals[names[name]]) if name in names else "") for name, value, _ in self.summary()
        ]
        rows.append(("calibration error", f"{self.calibration_error:.4f}", ""))
        table = [
            (label, *(f"{row[name]:.2%}" for name in FIGURES), f"{row['rows']:,}")
            for label, row in self.most_frequent()
        ]
        labels = record_table(("label", "precision", "recall", "F1", "rows"), table)
        return section("Evaluation", record_table(("", "", "95% interval"), rows) + labels)


def _names(labels: Sequence[str]) -> Any:
    return np.array(labels, object)
