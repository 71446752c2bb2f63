"""One naive Bayes over mixed columns: log prior plus, for each column, the log probability of the column.

    statistics = sum over rows (:class:`Summing`)          model = solve(statistics, settings) (:func:`solve_columns`)

Each column has its event model. A text is a bag of words (multinomial, Bernoulli, complement); a category has one level
of several, P(l|k) = (count + α) / (N_k + αL); a flag is a category of two levels; a number has a normal density in each
class, or is cut into bins that are levels. A missing value leaves its column out of its row's sum; a level or word
that was never seen in training is left out and counted.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

import discern._native as _native
from discern.data.batch import Batch, did_you_mean
from discern.data.roles import Feature, levels_of, numbers_of
from discern.data.strings import Strings
from discern.data.text import TextSettings
from discern.data.threads import default_threads
from discern.learners.bayes import LinearScores, NaiveBayesSettings, log_priors, posterior, solve
from discern.learners.smoothing import Laplace
from discern.statistics.counts import Counter, Counts, Seen, check_terms
from discern.statistics.moments import Moments
from discern.statistics.sums import Sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discern.evaluation.calibration import Temperature
    from discern.models.evidence import Evidence

    Array = NDArray[np.float64]

Contribution = tuple[str, int, float]
"""A term of a row, how often it is there, and what it says for one label against another."""
FEW = 8
"""Up to so many rows are scored without building a table for the whole vocabulary."""
VARIANCE_FLOOR = 1e-9
"""The share of a column's variance that is added to that of each class."""

LEAST_LIKELY = 1e150
"""Squared distances in standard deviations are cut here."""


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
        self._columns = [_summing(feature, text, threads, self._seen) for feature in features]

    def add(self, batch: Batch, label: str) -> None:
        """Add a batch whose labels are in the column ``label``."""
        classes = self._seen.add(*batch.labels(label))
        names = list(self._seen.labels)
        for column in self._columns:
            column.add(batch, classes, names)

    def sums(self) -> Sums:
        """End the sum."""
        labels, order = self._seen.sorted()
        return Sums(labels, self._seen.rows[order], tuple(column.sums(order) for column in self._columns))


def _summing(
    feature: Feature, text: TextSettings, threads: int | None, seen: Seen
) -> _SummingText | _SummingLevels | _SummingMoments:
    if feature.role == "text":
        return _SummingText(feature, Counter(text, threads, seen))
    return _SummingMoments(feature) if feature.is_normal else _SummingLevels(feature)


class _SummingText:
    def __init__(self, feature: Feature, counter: Counter) -> None:
        self._feature, self._counter = feature, counter

    def add(self, batch: Batch, classes: NDArray[np.int32], _: list[str]) -> None:
        batch.read_texts(self._feature.name, lambda texts, strict: self._counter.add_numbered(texts, classes, strict))

    def sums(self, _: NDArray[np.int64]) -> Counts:
        return self._counter.counts()


class _SummingLevels:
    def __init__(self, feature: Feature) -> None:
        self._feature, self._counts = feature, Counts.empty()

    def add(self, batch: Batch, classes: NDArray[np.int32], labels: list[str]) -> None:
        numbers, levels = levels_of(batch, self._feature)
        self._counts = self._counts + Counts.of_levels(numbers, levels, classes, labels)

    def sums(self, _: NDArray[np.int64]) -> Counts:
        return self._counts


class _SummingMoments:
    def __init__(self, feature: Feature) -> None:
        self._feature = feature
        self._moments: Moments | None = None

    def add(self, batch: Batch, classes: NDArray[np.int32], labels: list[str]) -> None:
        new = Moments.of(numbers_of(batch, self._feature.name)[:, None], classes, len(labels), None, 1)
        known = self._moments
        self._moments = new if known is None else known.with_classes(np.arange(len(known.counts)), len(labels)) + new

    def sums(self, order: NDArray[np.int64]) -> Moments:
        if self._moments is None:
            return Moments(np.zeros(1), *(np.zeros((0, 1)) for _ in range(3)))
        return self._moments.with_classes(np.arange(len(self._moments.counts)), len(order)).of_classes(order)


# ------------------------------------------------------------------------------------- the model of a column


@dataclass(frozen=True, eq=False)
class Scores:
    """What a column says of rows: scores of rows × classes, how many terms of each are known and unknown."""

    scores: Array
    known: NDArray[np.int64]
    unknown: NDArray[np.int64]

    def __add__(self, other: Scores) -> Scores:
        return Scores(self.scores + other.scores, self.known + other.known, self.unknown + other.unknown)


@dataclass(frozen=True, eq=False)
class TextColumn:
    """A text column: immutable, shared by threads."""

    feature: Feature
    labels: tuple[str, ...]
    terms: Strings
    scores: LinearScores
    text: TextSettings

    @cached_property
    def vocabulary(self) -> _native.Vocabulary:
        """The terms as the native code looks them up."""
        return _native.Vocabulary(self.text.native, self.terms.offsets, self.terms.data)

    def ready(self) -> None:
        """Make now what the first answer would wait for, as far as it costs little."""
        _ = self.vocabulary

    @cached_property
    def _uses(self) -> Iterator[int]:
        return itertools.count()

    def is_seldom_used(self) -> bool:
        """Return whether so few single texts have come that a table for the whole vocabulary would not pay."""
        return self.scores.weights is None or (next(self._uses) < FEW and "scorer" not in self.__dict__)

    @cached_property
    def scorer(self) -> _native.Scorer:
        """The fast way from texts to scores, and from one text to its label."""
        if self.scores.weights is None:
            raise ValueError("this model has too many classes and terms for predict_one; use predict")
        weights = np.ascontiguousarray(self.scores.weights)
        bias = self.scores.bias.tolist()
        return _native.Scorer(self.vocabulary, weights, bias, list(self.labels), self.scores.presence)

    def best_of(self, text: str) -> int:
        """Return the place of the label of one text, by searching the vocabulary."""
        if self.scores.weights is not None:
            weights = np.ascontiguousarray(self.scores.weights)
            place = self.vocabulary.best([text], weights, self.scores.bias, self.scores.presence)
            if place is not None:
                return place
        found, _ = self.vocabulary.rows([text], 1)
        return int(self._score_few(found, 1)[0].argmax())

    def of_batch(self, batch: Batch, threads: int) -> Scores:
        """Score the texts of a batch."""
        name, rows = self.feature.name, batch.rows
        if rows > FEW and self.scores.weights is not None:
            return batch.read_texts(name, lambda texts, strict: Scores(*self.scorer.score(texts, threads, strict)))
        found, unknown = self.vocabulary.rows(batch.texts(name), 1 if rows <= FEW else threads)
        scores = self._score_few(found, rows) if rows <= FEW else self.scores.of_rows(self.matrix(found, rows))
        return Scores(scores, self._lengths(found), unknown)

    def _score_few(self, found: _native.Rows, rows: int) -> Array:
        weights = self.scores.at(found.terms)
        counts = np.ones_like(found.counts) if self.scores.presence else found.counts
        # Not a matrix product: its last bit depends on where the numbers lie in memory. One after the other, always.
        if rows == 1 and len(counts):
            return np.asarray(np.add.accumulate(counts[:, None] * weights)[-1:] + self.scores.bias)
        sums = np.zeros((rows, len(self.labels)))
        np.add.at(sums, np.repeat(np.arange(rows), np.diff(found.starts)), counts[:, None] * weights)
        return sums + self.scores.bias

    def _lengths(self, found: _native.Rows) -> NDArray[np.int64]:
        if self.scores.presence:
            return np.diff(found.starts)
        ends = np.concatenate([[0], np.cumsum(found.counts)])
        return np.asarray(np.diff(ends[found.starts]))

    def matrix(self, found: _native.Rows, rows: int) -> Any:
        """Return rows as a SciPy sparse matrix."""
        import scipy.sparse

        return scipy.sparse.csr_matrix((found.counts, found.terms, found.starts), shape=(rows, len(self.terms)))

    def evidence(self, batch: Batch, label: int, against: int) -> tuple[list[Contribution], int]:
        """Describe what each term of the only row said, and how many are unknown."""
        found, unknown = self.vocabulary.rows(batch.texts(self.feature.name), 1)
        weights = self.scores.at(found.terms)
        counts = np.ones_like(found.counts) if self.scores.presence else found.counts
        spoken = counts * (weights[:, label] - weights[:, against])
        terms = [
            (self.terms[int(term)], int(count), float(weight))
            for term, count, weight in zip(found.terms, found.counts, spoken, strict=True)
        ]
        return terms, int(unknown[0])

    def weights_of(self, place: int) -> tuple[Array, Array]:
        """Return the weights of all terms for one class, and summed over the classes."""
        return self.scores.of_class(place), self.scores.sums()

    def names(self, terms: NDArray[Any]) -> list[str]:
        """Return some terms in words."""
        return [self.terms[int(term)] for term in terms]

    @property
    def parameters(self) -> int:
        """The number of weights for one class."""
        return len(self.terms)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the column as arrays, for a slim model file."""
        return {
            "terms.offsets": self.terms.offsets,
            "terms.bytes": self.terms.data,
            "bias": self.scores.bias,
            **_weights_to_arrays(self.scores),
        }


@dataclass(frozen=True, eq=False)
class LevelColumn:
    """A column of levels: a category, a flag, or a number cut into bins."""

    feature: Feature
    labels: tuple[str, ...]
    levels: tuple[str, ...]
    weights: Array

    @cached_property
    def _places(self) -> dict[str, int]:
        return {level: place for place, level in enumerate(self.levels)}

    def ready(self) -> None:
        """Make now what the first answer would wait for, as far as it costs little."""
        _ = self._places

    def of_batch(self, batch: Batch, _: int) -> Scores:
        """Score the values of a batch."""
        numbers, levels = levels_of(batch, self.feature)
        said, known = self.of_levels(numbers, levels)
        return Scores(said, known.astype(np.int64), ((numbers >= 0) & ~known).astype(np.int64))

    def of_levels(self, numbers: NDArray[Any], levels: Sequence[str]) -> tuple[Array, NDArray[np.bool_]]:
        """Score rows by the numbers of their levels, −1 where one is missing, and say which are known."""
        # The last row of the table is what a missing or unknown level says: nothing.
        places = np.array([*(self._places.get(level, -1) for level in levels), -1], np.int64)[numbers]
        table = np.vstack([self.weights, np.zeros((1, len(self.labels)))])
        return table[places], places >= 0

    def evidence(self, batch: Batch, label: int, against: int) -> tuple[list[Contribution], int]:
        """Describe what the value of the only row said."""
        said = self.of_batch(batch, 1)
        numbers, levels = levels_of(batch, self.feature)
        if not said.known[0]:
            return [], int(said.unknown[0])
        weight = float(said.scores[0, label] - said.scores[0, against])
        return [(levels[int(numbers[0])], 1, weight)], 0

    def weights_of(self, place: int) -> tuple[Array, Array]:
        """Return the weights of all levels for one class, and summed over the classes."""
        return self.weights[:, place], self.weights.sum(axis=1)

    def names(self, terms: NDArray[Any]) -> list[str]:
        """Return some levels in words."""
        return [f"{self.feature.name}={self.levels[int(term)]}" for term in terms]

    @property
    def parameters(self) -> int:
        """The number of weights for one class."""
        return len(self.levels)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the column as arrays, for a slim model file."""
        names = Strings.of(self.levels)
        return {"levels.offsets": names.offsets, "levels.bytes": names.data, "weights": self.weights}


@dataclass(frozen=True, eq=False)
class NormalColumn:
    """A column of numbers with a normal density in each class; a class without numbers says nothing."""

    feature: Feature
    labels: tuple[str, ...]
    means: Array
    variances: Array

    def ready(self) -> None:
        """Nothing has to be made."""

    def of_batch(self, batch: Batch, _: int) -> Scores:
        """Score the numbers of a batch."""
        said, known = self.of_numbers(numbers_of(batch, self.feature.name))
        return Scores(said, known.astype(np.int64), np.zeros(len(known), np.int64))

    def of_numbers(self, values: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Score rows by their numbers, and say which have one."""
        known = np.isfinite(values)
        scores = log_normal(np.where(known, values, 0.0)[:, None], self.means, self.variances)
        return np.where(known[:, None], scores, 0.0), known

    def evidence(self, batch: Batch, label: int, against: int) -> tuple[list[Contribution], int]:
        """Describe what the number of the only row said."""
        said, value = self.of_batch(batch, 1), numbers_of(batch, self.feature.name)[0]
        if not said.known[0]:
            return [], 0
        weight = float(said.scores[0, label] - said.scores[0, against])
        return [(f"{value:.6g}", 1, weight)], 0

    def weights_of(self, place: int) -> tuple[Array, Array]:
        """Return no weights: a density has no list of terms."""
        return np.zeros(0), np.zeros(0)

    def names(self, terms: NDArray[Any]) -> list[str]:
        """Return no names."""
        return []

    @property
    def parameters(self) -> int:
        """The number of parameters for one class: mean and variance."""
        return 2

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the column as arrays, for a slim model file."""
        return {"means": self.means, "variances": self.variances}


Column = TextColumn | LevelColumn | NormalColumn


def log_normal(values: Array, means: Array, variances: Array) -> Array:
    """Return log N(x; μ, σ²); it stays finite however far x is."""
    with np.errstate(over="ignore"):
        squares = np.minimum((values - means) ** 2 / variances, LEAST_LIKELY)
    return np.asarray(-0.5 * (np.log(2 * np.pi * variances) + squares))


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
    columns = tuple(
        solve_column(feature, statistic, sums.labels, settings, text, min_df, start if alone else None)
        for feature, statistic in zip(features, sums.columns, strict=True)
    )
    model = Model(sums.labels, prior, np.zeros_like(prior) if alone else start, columns)
    model.ready()
    return model


def solve_column(
    feature: Feature,
    statistic: Counts | Moments,
    labels: tuple[str, ...],
    settings: NaiveBayesSettings,
    text: TextSettings,
    min_df: int,
    start: Array | None = None,
) -> Column:
    """Derive the model of one column; ``start`` is what its scores begin with."""
    if isinstance(statistic, Moments):
        means, variances = normal_parameters(statistic)
        return NormalColumn(feature, labels, means[:, 0], variances[:, 0])
    counts = statistic.with_labels(labels)
    start = np.zeros(len(labels)) if start is None else start
    if feature.role != "text":
        return LevelColumn(feature, labels, *level_weights(counts, feature, settings))
    counts = _selected(counts.with_min_documents(min_df), settings)
    return TextColumn(feature, labels, counts.terms, solve(counts, settings, start), text)


def _selected(counts: Counts, settings: NaiveBayesSettings) -> Counts:
    """Leave out all but the best terms, if only so many are wanted."""
    if settings.most_terms is None or len(counts.terms) <= settings.most_terms:
        return counts
    from discern.statistics.selection import best_terms

    return counts.with_terms(best_terms(counts, settings.most_terms, settings.select))


def level_weights(counts: Counts, feature: Feature, settings: NaiveBayesSettings) -> tuple[tuple[str, ...], Array]:
    """Return the levels and log P(l|k) of each, with Laplace's smoothing over all levels."""
    names = feature.bins() if feature.is_binned else counts.terms.to_list()
    place = {name: number for number, name in enumerate(names)}
    table = np.zeros((len(names), len(counts.labels)))
    rows = np.array([place[name] for name in counts.terms.to_list()], np.int64)
    table[rows[counts.entry_terms], counts.entry_classes] = counts.documents
    size = max(len(names), 2) if feature.role == "flag" else len(names)
    return tuple(names), log_level(table, table.sum(axis=0), size, level_alpha(settings))


def level_alpha(settings: NaiveBayesSettings) -> float:
    """Return the α for levels: that of the words if they have one, else 1."""
    if settings.level_smoothing is not None:
        return settings.level_smoothing
    return float(settings.smoothing.alpha) if isinstance(settings.smoothing, Laplace) else 1.0


def log_level(count: Any, in_class: Any, size: Any, alpha: float) -> Array:
    """Return log P(l|k) = log (count + α) − log (N_k + αL); without any level there is nothing to divide among."""
    return np.asarray(np.log(count + alpha) - np.log(in_class + alpha * np.maximum(size, 1)))


def normal_parameters(moments: Moments) -> tuple[Array, Array]:
    """Return means and variances (maximum likelihood, with a floor); a class without numbers gets those of all.

    They have the shape of the moments, which have one column, or one for each of several models.
    """
    total = moments.total()
    variance, mean = np.nan_to_num(total.variances()), np.nan_to_num(total.means())
    floor = np.where(variance > 0, VARIANCE_FLOOR * variance, 1.0)
    means, variances = moments.means(), moments.variances()
    return np.where(np.isnan(means), mean, means), np.where(np.isnan(variances), variance, variances) + floor


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
        only = self.columns[0] if len(self.columns) == 1 else None
        return only if isinstance(only, TextColumn) else None

    def of_batch(self, batch: Batch, threads: int | None) -> Scores:
        """Return log P(k) + Σ over columns of log P(column|k), and how many terms are known and unknown."""
        threads = threads or default_threads()
        if self.only_text is not None:
            return self.columns[0].of_batch(batch, threads)
        rows = np.zeros(batch.rows, np.int64)
        said = Scores(np.tile(self.start, (batch.rows, 1)), rows, rows)
        for column in self.columns:
            said = said + column.of_batch(batch, threads)
        return said

    def posterior(self, said: Scores, raw: bool = False) -> Array:
        """Turn scores into probabilities."""
        if self.calibration is None or raw or len(self.labels) == 1:  # one column of scores would be taken for two
            return posterior(said.scores)
        return self.calibration(said.scores, said.known)

    def log_coefficients(self, batch: Batch) -> Array:
        """Return the logarithm of the multinomial coefficients of the texts of each row."""
        from discern.learners.bayes import log_multinomial_coefficient

        total = np.zeros(batch.rows)
        for column in self.columns:
            if isinstance(column, TextColumn):
                rows, _ = column.vocabulary.rows(batch.texts(column.feature.name), 1)
                total = total + log_multinomial_coefficient(column.matrix(rows, batch.rows))
        return total

    def explain(self, batch: Batch) -> Evidence:
        """Explain why the only row of a batch is given its label."""
        from discern.models.evidence import Evidence, TermEvidence, in_order

        said = self.of_batch(batch, 1)
        scores, probabilities = said.scores[0], self.posterior(said)[0]
        order = np.argsort(-scores, kind="stable")
        label, against = int(order[0]), int(order[min(1, len(order) - 1)])
        scale = 1.0 if self.calibration is None else 1.0 / self.calibration.divisors(said.known)[0]
        terms, unknown = [], 0
        for column in self.columns:
            spoken, strange = column.evidence(batch, label, against)
            name = column.feature.name
            terms += [TermEvidence(term, count, scale * weight, name) for term, count, weight in spoken]
            unknown += strange
        texts = [column for column in self.columns if isinstance(column, TextColumn)]
        begin = np.sum([self.start, *(column.scores.bias for column in texts)], axis=0)
        listens = bool(np.any(begin))  # the complement model has no prior
        prior = float(self.prior[label] - self.prior[against]) if listens else 0.0
        return Evidence(
            label=self.labels[label],
            against=self.labels[against],
            probabilities=dict(zip(self.labels, probabilities.tolist(), strict=True)),
            prior=scale * prior,
            absent=scale * (float(begin[label] - begin[against]) - prior),
            terms=in_order(terms, batch, [(column.feature.name, column.text) for column in texts]),
            unknown=unknown,
        )

    def weights(self, label: str, top: int) -> list[tuple[str, float]]:
        """Return the terms of all columns by their mean log odds against the other labels, strongest first.

        ``top`` of them; with a negative number, those that speak most against the label.
        """
        if label not in self.labels:
            raise ValueError(f"there is no label {label!r}{did_you_mean(label, self.labels)}")
        place, others = self.labels.index(label), max(len(self.labels) - 1, 1)
        several = sum(isinstance(column, TextColumn) for column in self.columns) > 1  # a word may be in each
        ranked: list[tuple[str, float]] = []
        for column in self.columns:
            own, total = column.weights_of(place)
            odds = own - (total - own) / others
            order = np.argsort(-odds if top >= 0 else odds, kind="stable")[: abs(top)]
            start = f"{column.feature.name}: " if several and isinstance(column, TextColumn) else ""
            ranked += zip([start + name for name in column.names(order)], odds[order].tolist(), strict=True)
        return sorted(ranked, key=lambda pair: -pair[1] if top >= 0 else pair[1])[: abs(top)]

    @property
    def parameters(self) -> int:
        """The number of parameters."""
        return len(self.labels) * (sum(column.parameters for column in self.columns) + 1) - 1

    @property
    def terms(self) -> int:
        """The number of terms of all text columns."""
        return sum(len(column.terms) for column in self.columns if isinstance(column, TextColumn))

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
        columns = []
        for number, feature in enumerate(features):
            begin = f"{number}."
            own = {name.removeprefix(begin): array for name, array in arrays.items() if name.startswith(begin)}
            columns.append(_column_from_arrays(feature, labels, own, settings, text))
        model = cls(labels, prior, start, tuple(columns))
        model.ready()
        return model


def _column_from_arrays(
    feature: Feature,
    labels: tuple[str, ...],
    arrays: dict[str, NDArray[Any]],
    settings: NaiveBayesSettings,
    text: TextSettings,
) -> Column:
    if feature.is_normal:
        means, variances = float_array(arrays["means"]), float_array(arrays["variances"])
        if means.shape != (len(labels),) or variances.shape != means.shape or bool(np.any(variances <= 0)):
            raise ValueError("the densities do not fit the labels")
        return NormalColumn(feature, labels, means, variances)
    kind = "terms" if feature.role == "text" else "levels"
    if arrays[f"{kind}.offsets"].dtype.kind not in "iu":
        raise ValueError(f"the {kind} do not fit their bytes")
    strings = Strings(arrays[f"{kind}.offsets"].astype(np.int64), arrays[f"{kind}.bytes"])
    check_terms(strings, is_sorted=feature.role == "text")
    if feature.role != "text":
        levels, weights = tuple(strings.to_list()), float_array(arrays["weights"])
        if weights.shape != (len(levels), len(labels)) or len(set(levels)) < len(levels):
            raise ValueError("the weights do not fit the levels and labels")
        return LevelColumn(feature, labels, levels, weights)
    whole = ("terms.offsets", "terms.bytes", "excess.indices", "excess.indptr")
    numbers = {name: float_array(array) for name, array in arrays.items() if name not in whole}
    scores = _weights_from_arrays({**arrays, **numbers}, settings.presence, len(strings), len(labels))
    return TextColumn(feature, labels, strings, scores, text)


def float_array(array: NDArray[Any]) -> Array:
    """Return numbers from a file as the native code takes them; refuse what no logarithm is."""
    if array.dtype != np.float64 or not bool(np.all(np.abs(array) < 1e100)):
        raise ValueError("a weight is not a logarithm")
    return np.require(array, np.float64, ["C", "A"])


def _weights_to_arrays(scores: LinearScores) -> dict[str, NDArray[Any]]:
    if scores.weights is not None:
        return {"weights": scores.weights}
    assert scores.shift is not None
    assert scores.level is not None
    return {
        "shift": scores.shift,
        "level": scores.level,
        "excess.data": scores.excess.data,
        "excess.indices": scores.excess.indices,
        "excess.indptr": scores.excess.indptr,
    }


def _weights_from_arrays(arrays: dict[str, NDArray[Any]], presence: bool, terms: int, labels: int) -> LinearScores:
    bias = arrays["bias"]
    if "weights" in arrays:
        weights = arrays["weights"]
        if weights.shape != (terms, labels) or bias.shape != (labels,):
            raise ValueError("the weights do not fit the terms and labels")
        return LinearScores(bias, weights, presence)
    import scipy.sparse

    shift, level, data = arrays["shift"], arrays["level"], arrays["excess.data"]
    if (shift.shape, level.shape, bias.shape) != ((terms,), (labels,), (labels,)):
        raise ValueError("the weights do not fit the terms and labels")
    columns, ends = (_whole(arrays[f"excess.{name}"]) for name in ("indices", "indptr"))
    # Not left to SciPy: it takes differences, which wrap around in a crafted file, and then reads outside the arrays.
    fits = (
        (data.ndim, columns.shape, ends.shape) == (1, data.shape, (terms + 1,))
        and bool(ends[0] == 0 and ends[-1] == len(data) and np.all(ends[1:] >= ends[:-1]))
        and bool(np.all((columns >= 0) & (columns < labels)))
    )
    if not fits:
        raise ValueError("the sparse weights do not fit together")
    excess = scipy.sparse.csr_matrix((data, columns, ends), shape=(terms, labels))
    return LinearScores(bias, None, presence, shift, level, excess)


def _whole(array: NDArray[Any]) -> NDArray[np.int64]:
    """Return whole numbers from a file; refuse others."""
    if array.dtype.kind not in "iu":
        raise ValueError("a place is not a whole number")
    return array.astype(np.int64)
