"""One naive Bayes over mixed columns: log prior plus, for each column, the log probability of the column.

    statistics = sum over rows (:class:`Summing`)          model = solve(statistics, settings) (:func:`solve_columns`)

Each column has its event model. A text is a bag of words (multinomial, Bernoulli, complement); a category has one level
of several, P(l|k) = (count + α) / (N_k + αL); a flag is a category of two levels; a number has a normal density in each
class, or is cut into bins that are levels. A missing value leaves its column out of its row's sum; a level or word
that was never seen in training is left out and counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from discern.data.batch import Batch, did_you_mean
from discern.data.roles import Feature
from discern.data.text import TextSettings
from discern.data.threads import default_threads
from discern.learners.bayes import NaiveBayesSettings, log_priors, posterior
from discern.models.columns import kind_of
from discern.models.columns.arrays import float_array
from discern.models.columns.kind import Column, ColumnSettings, Scores
from discern.statistics.counts import Seen
from discern.statistics.statistic import arrays_of
from discern.statistics.sums import Sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discern.evaluation.calibration import Temperature
    from discern.models.columns.text import TextColumn
    from discern.models.evidence import Evidence

    Array = NDArray[np.float64]


# ------------------------------------------------------------------------------------------- rows to sums


class Summing:
    """Adds up batches of rows.

    Examples
    --------
    >>> summing = Summing([Feature("text", "text"), Feature("size", "number")], TextSettings())
    >>> summing.add(Batch({"label": ["a", "b"], "text": ["x1", "y1"], "size": [1, 2]}, 2), "label")
    >>> sums = summing.sums()
    >>> sums.labels, sums.columns[1].means().tolist()
    (('a', 'b'), [[1.0], [2.0]])
    """

    def __init__(self, features: Sequence[Feature], text: TextSettings, threads: int | None = None) -> None:
        self._seen = Seen()
        self._columns = [kind_of(feature).sum(feature, text, threads, self._seen) for feature in features]

    def add(self, batch: Batch, label: str) -> None:
        """Add a batch whose labels are in the column ``label``."""
        classes = self._seen.add(*batch.labels(label))
        names = list(self._seen.labels)
        for column in self._columns:
            column.add(batch, classes, names)

    def sums(self) -> Sums:
        """End the sum."""
        labels, order = self._seen.sorted()
        return Sums(labels, self._seen.rows[order], tuple(column.statistic(order) for column in self._columns))


# ------------------------------------------------------------------------------------------ sums to a model


def solve_columns(
    sums: Sums, features: Sequence[Feature], settings: NaiveBayesSettings, text: TextSettings, min_df: int = 1
) -> Model:
    """Derive the model of all columns from their sums."""
    prior = log_priors(sums.labels, sums.class_rows, settings.priors)
    alone = len(features) == 1 and features[0].role == "text"
    has_text = any(feature.role == "text" for feature in features)
    silent = not settings.event_model.has_prior and has_text and len(sums.labels) > 1
    start = np.zeros_like(prior) if silent else prior
    how = ColumnSettings(settings, text, min_df, start if alone else None)
    columns = tuple(
        kind_of(feature).column.solve(feature, statistic, sums.labels, how)
        for feature, statistic in zip(features, sums.columns, strict=True)
    )
    model = Model(sums.labels, prior, np.zeros_like(prior) if alone else start, columns)
    model.ready()
    return model


# ------------------------------------------------------------------------------------------------- the model


@dataclass(frozen=True, eq=False)
class Model:
    """A solved model: immutable, shared by threads. ``start`` is what scores begin with, beside the columns."""

    labels: tuple[str, ...]
    prior: Array
    start: Array
    columns: tuple[Column, ...]
    calibration: Temperature | None = None

    @cached_property
    def label_array(self) -> NDArray[np.str_]:
        """The labels, to be indexed by decisions."""
        return np.array(self.labels, dtype=np.str_)

    @property
    def features(self) -> tuple[Feature, ...]:
        """The columns."""
        return tuple(column.feature for column in self.columns)

    def renamed(self, rename: Callable[[Feature], Feature]) -> Model:
        """Return the model for columns with other names."""
        columns = tuple(replace(column, feature=rename(column.feature)) for column in self.columns)
        return replace(self, columns=columns)

    def ready(self) -> None:
        """Make now what the first answer would wait for, as far as it costs little."""
        _ = self.label_array
        for column in self.columns:
            column.ready()

    def calibrated(self, calibration: Temperature | None) -> Model:
        """Return the model with other probabilities for the same decisions."""
        return replace(self, calibration=calibration)

    @property
    def only_text(self) -> TextColumn | None:
        """The column, if there is but one and it is text."""
        alone = len(self.columns) == 1 and _is_text(self.columns[0])
        return cast("TextColumn", self.columns[0]) if alone else None

    def of_batch(self, batch: Batch, threads: int | None) -> Scores:
        """Return log P(k) + Σ over columns of log P(column|k), and how many terms are known and unknown."""
        threads = threads or default_threads()
        if self.only_text is not None:
            return self.columns[0].of_batch(batch, threads)
        rows = np.zeros(batch.rows, np.int64)
        found = Scores(np.tile(self.start, (batch.rows, 1)), rows, rows)
        for column in self.columns:
            found = found + column.of_batch(batch, threads)
        return found

    def posterior(self, found: Scores, raw: bool = False) -> Array:
        """Turn scores into probabilities."""
        if self.calibration is None or raw or len(self.labels) == 1:  # one column of scores would be taken for two
            return posterior(found.scores)
        return self.calibration(found.scores, found.known)

    def log_coefficients(self, batch: Batch) -> Array:
        """Return the logarithm of the multinomial coefficients of the texts of each row."""
        return np.asarray(sum((column.log_coefficients(batch) for column in self.columns), start=np.zeros(batch.rows)))

    def explain(self, batch: Batch) -> Evidence:
        """Explain why the only row of a batch is given its label."""
        from discern.models.evidence import Evidence, TermEvidence, in_order

        found = self.of_batch(batch, 1)
        scores, probabilities = found.scores[0], self.posterior(found)[0]
        order = np.argsort(-scores, kind="stable")
        label, against = int(order[0]), int(order[min(1, len(order) - 1)])
        scale = 1.0 if self.calibration is None else 1.0 / self.calibration.divisors(found.known)[0]
        terms, unknown = [], 0
        for column in self.columns:
            contributions, strange = column.evidence(batch, label, against)
            name = column.feature.name
            terms += [TermEvidence(term, count, scale * weight, name) for term, count, weight in contributions]
            unknown += strange
        texts = [(one.feature.name, one.text_settings) for one in self.columns if one.text_settings is not None]
        begin = np.sum([self.start, *(column.bias for column in self.columns)], axis=0)
        has_prior = bool(np.any(begin))  # the complement model has none
        prior = float(self.prior[label] - self.prior[against]) if has_prior else 0.0
        return Evidence(
            label=self.labels[label],
            against=self.labels[against],
            probabilities=dict(zip(self.labels, probabilities.tolist(), strict=True)),
            prior=scale * prior,
            absent=scale * (float(begin[label] - begin[against]) - prior),
            terms=in_order(terms, batch, texts),
            unknown=unknown,
        )

    def weights(self, label: str, top: int) -> list[tuple[str, float]]:
        """Return the terms of all columns by their mean log odds against the other labels, strongest first.

        ``top`` of them; with a negative number, those with the strongest evidence against the label.
        """
        if label not in self.labels:
            raise ValueError(f"there is no label {label!r}{did_you_mean(label, self.labels)}")
        place, others = self.labels.index(label), max(len(self.labels) - 1, 1)
        several = sum(map(_is_text, self.columns)) > 1  # a word may be in each
        ranked: list[tuple[str, float]] = []
        for column in self.columns:
            own, total = column.weights_of(place)
            odds = own - (total - own) / others
            order = np.argsort(-odds if top >= 0 else odds, kind="stable")[: abs(top)]
            start = f"{column.feature.name}: " if several and _is_text(column) else ""
            ranked += zip([start + name for name in column.names(order)], odds[order].tolist(), strict=True)
        return sorted(ranked, key=lambda pair: -pair[1] if top >= 0 else pair[1])[: abs(top)]

    @property
    def parameters(self) -> int:
        """The number of parameters."""
        return len(self.labels) * (sum(column.parameters for column in self.columns) + 1) - 1

    @property
    def terms(self) -> int:
        """The number of terms of all text columns."""
        return sum(column.parameters for column in self.columns if _is_text(column))

    # ------------------------------------------------------------------------------------------------ arrays

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the model without its statistics, for a slim model file."""
        arrays: dict[str, NDArray[Any]] = {"prior": self.prior, "start": self.start}
        for number, column in enumerate(self.columns):
            arrays.update({f"{number}.{name}": array for name, array in column.arrays().items()})
        return arrays

    @classmethod
    def from_arrays(
        cls,
        labels: tuple[str, ...],
        features: Sequence[Feature],
        arrays: Mapping[str, NDArray[Any]],
        settings: NaiveBayesSettings,
        text: TextSettings,
    ) -> Model:
        """Make a model of what :meth:`arrays` gave; raises ValueError if it does not fit together."""
        prior, start = (float_array(arrays[name]) for name in ("prior", "start"))
        shares = np.exp(np.minimum(prior, 0.0))
        if shares.shape != (len(labels),) or len(set(labels)) < len(labels) or abs(shares.sum() - 1) > 1e-6:
            raise ValueError("the labels do not fit their priors")
        if start.shape != prior.shape:
            raise ValueError("the labels do not fit their start")
        columns = (
            kind_of(feature).column.from_arrays(
                feature, labels, arrays_of(arrays, place), ColumnSettings(settings, text)
            )
            for place, feature in enumerate(features)
        )
        model = cls(labels, prior, start, tuple(columns))
        model.ready()
        return model


def _is_text(column: Column) -> bool:
    return column.text_settings is not None
