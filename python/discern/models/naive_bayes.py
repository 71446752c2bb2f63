"""One naive Bayes over mixed columns: log prior plus, for each column, the log probability of the column.

    statistics = sum over rows (:class:`Summing`)          model = solve(statistics, settings) (:func:`solve_columns`)

Each column has its event model. A text is a bag of words (multinomial, Bernoulli, complement); a category has one
level of several, P(l|k) = (count + α) / (N_k + αL); a flag is a category of two levels; a number has a normal density
in each class, or is cut into bins that are levels; a vector has normal densities with one covariance. A missing value
leaves its column out of its row's sum; a level or word that was never seen in training is left out and counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

import discern._native as _native
from discern.data.batch import Batch
from discern.data.roles import LENGTH, Feature
from discern.data.text import TextSettings
from discern.data.threads import default_threads
from discern.learners.bayes import NaiveBayesSettings, log_priors, posterior
from discern.models.columns import kind_of
from discern.models.columns.arrays import float_array
from discern.models.columns.kind import Column, ColumnSettings, ColumnSum, Scores, total
from discern.models.columns.together import Together
from discern.statistics.counts import Seen
from discern.statistics.statistic import arrays_of
from discern.statistics.sums import Sums

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from discern.evaluation.scaling import EvidenceScaling
    from discern.models.columns.length import LengthColumn
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
    (('a', 'b'), [1.0, 2.0])
    """

    def __init__(
        self,
        features: Sequence[Feature],
        text: TextSettings,
        threads: int | None = None,
        whole: ColumnSum | None = None,
    ) -> None:
        """``whole`` adds up all columns together, in a vector space."""
        self._seen = Seen()
        self._columns = (
            [kind_of(feature).sum(feature, text.view(feature.view), threads, self._seen) for feature in features]
            if whole is None
            else [whole]
        )

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
    sums: Sums,
    features: Sequence[Feature],
    settings: NaiveBayesSettings,
    text: TextSettings,
    min_df: int = 1,
    calibration: EvidenceScaling | None = None,
) -> Model:
    """Derive the model of all columns from their sums."""
    prior = log_priors(sums.labels, sums.class_rows, settings.priors)
    alone = len(features) == 1 and features[0].role == "text" and calibration is None
    has_text = any(feature.role == "text" for feature in features)
    silent = not settings.event_model.has_prior and has_text and len(sums.labels) > 1
    start = np.zeros_like(prior) if silent else prior
    columns = tuple(
        kind_of(feature).column.solve(
            feature,
            statistic,
            sums.labels,
            ColumnSettings(settings.of_view(feature.view), text.view(feature.view), min_df, start if alone else None),
        )
        for feature, statistic in zip(features, sums.columns, strict=True)
    )
    model = Model(sums.labels, prior, np.zeros_like(prior) if alone else start, columns, calibration)
    model.ready()
    return model


def groups_of(features: Sequence[Feature]) -> list[list[int]]:
    """Return the places of the columns whose evidence is scaled together: each view of a text and each vector alone,
    then the rest.

    Examples
    --------
    >>> groups_of([Feature("age", "number"), Feature("text", "text"), Feature("text", "length")])
    [[1], [0, 2]]
    """
    alone = [[place] for place, feature in enumerate(features) if feature.role in ("text", "vector")]
    values = [place for place, feature in enumerate(features) if feature.role not in ("text", "vector")]
    return [*alone, values] if values else alone


def described_groups(features: Sequence[Feature]) -> list[str]:
    """Return in words whose evidence is scaled together.

    Examples
    --------
    >>> described_groups([Feature("age", "number"), Feature("text", "text"), Feature("text", "length")])
    ["text 'text'", '2 other columns']
    """
    groups = [[features[place] for place in places] for places in groups_of(features)]
    return [group[0].described if len(group) == 1 else f"{len(group)} other columns" for group in groups]


# ------------------------------------------------------------------------------------------------- the model


@dataclass(frozen=True, eq=False)
class Model:
    """A solved model: immutable, shared by threads. ``start`` is what scores begin with if they are not calibrated.

    With a calibration, the scores of the columns are scaled and added to the log prior.
    """

    labels: tuple[str, ...]
    prior: Array
    start: Array
    columns: tuple[Column, ...]
    calibration: EvidenceScaling | None = None

    @cached_property
    def label_array(self) -> NDArray[np.str_]:
        """The labels, to be indexed by decisions."""
        return np.array(self.labels, dtype=np.str_)

    @property
    def is_against_rest(self) -> bool:
        """Whether scores are the log odds of each label against the rows without it."""
        return False

    def shares(self, scores: Array) -> Array:
        """Return the probabilities of labels by their scores."""
        return posterior(scores)

    @property
    def priors(self) -> Array:
        """The prior of each label."""
        return np.exp(self.prior)

    @property
    def features(self) -> tuple[Feature, ...]:
        """The columns that rows must have."""
        return tuple(column.feature for column in self.columns if not column.feature.is_derived)

    def choices(self) -> dict[str, dict[str, Any]]:
        """Return what a form can offer for each column: levels, or a range of numbers."""
        return {column.feature.name: column.choices() for column in self.columns if not column.feature.is_derived}

    def renamed(self, rename: Callable[[Feature], Feature]) -> Model:
        """Return the model for columns with other names."""
        columns = tuple(replace(column, feature=rename(column.feature)) for column in self.columns)
        return replace(self, columns=columns)

    def ready(self) -> None:
        """Make now what the first answer would wait for, as far as it costs little."""
        _ = self.label_array
        for column in self.columns:
            column.ready()

    @property
    def only_text(self) -> TextColumn | None:
        """The column, if there is but one and it is text."""
        alone = len(self.columns) == 1 and _is_text(self.columns[0])
        return cast("TextColumn", self.columns[0]) if alone else None

    @property
    def reads_one_text(self) -> bool:
        """Whether all it needs is the terms and the length of one text."""
        return len(self.features) == 1 and all(column.feature.role in ("text", LENGTH) for column in self.columns)

    @cached_property
    def text_scorer(self) -> _native.TextScorer | None:
        """The fast way from one text to its label and scores; None if there is more than one text column."""
        own = [
            cast("TextColumn", column) for column in self.columns if _is_text(column) and column.feature.role == "text"
        ]
        lengths = [cast("LengthColumn", column) for column in self.columns if column.feature.role == LENGTH]
        if not self.reads_one_text or any(column.scores.weights is None for column in own):
            return None
        if self.calibration is None and self.terms_alone_decide:
            return None  # it has no base rates for a text of which nothing is known
        length = lengths[0].native() if lengths else None
        start, scales = self.start, None
        if self.calibration is not None:
            start = self.prior
            scales = [(one.temperature, one.power, one.fading) for one in self.calibration.scales]
        return _native.TextScorer(start.tolist(), [one.scorer for one in own], list(self.labels), length, scales)

    def quick_scorer(self) -> _native.TextScorer | None:
        """Return the fast way from one text to its label; None if there is none, or if few texts have come yet."""
        texts = [column for column in self.columns if _is_text(column) and column.feature.role == "text"]
        many = self.reads_one_text and cast("TextColumn", texts[0]).single_texts.count()
        return self.text_scorer if many else None

    @cached_property
    def groups(self) -> list[list[int]]:
        """The places of the columns whose evidence is scaled together."""
        return groups_of([column.feature for column in self.columns])

    def of_batch(self, batch: Batch, threads: int | None, raw: bool = False) -> Scores:
        """Return the log odds of each row and label, but for a constant, and how many terms are known and unknown.

        With ``raw``, or without a calibration, this is log P(k) + Σ over columns of log P(column|k).
        """
        threads = threads or default_threads()
        if self.only_text is not None and self.calibration is None and not self.start.any():
            return self._with_base_rates(self.columns[0].of_batch(batch, threads))
        if self.calibration is None or raw:
            return self._with_base_rates(self._all.score(batch, threads, self.start)[1])
        parts = [group.score(batch, threads) for group in self._in_groups]
        scores = self.calibration(self.prior, [part.scores for part, _ in parts], [part.known for part, _ in parts])
        known, unknown = (np.sum([getattr(one, name) for _, one in parts], axis=0) for name in ("known", "unknown"))
        return Scores(scores, known, unknown)

    def _with_base_rates(self, found: Scores) -> Scores:
        """Replace the scores of rows of which nothing is known by the log priors, if scores do not begin with them."""
        if self.terms_alone_decide and not found.known.all():
            found.scores[found.known == 0] = self.prior
        return found

    @cached_property
    def terms_alone_decide(self) -> bool:
        """Whether scores begin with nothing: those of an event model without priors."""
        begin = self.start if self.only_text is None else self.start + self.columns[0].bias
        return len(self.labels) > 1 and not begin.any()

    @cached_property
    def _all(self) -> Together:
        """All columns, as they are scored."""
        return Together.of(self.columns)

    @cached_property
    def _in_groups(self) -> list[Together]:
        """The columns of each group whose evidence is scaled together, as they are scored."""
        return [Together.of([self.columns[place] for place in places]) for places in self.groups]

    def log_coefficients(self, batch: Batch) -> Array:
        """Return the logarithm of the multinomial coefficients of the texts of each row."""
        return np.asarray(sum((column.log_coefficients(batch) for column in self.columns), start=np.zeros(batch.rows)))

    def explain(self, batch: Batch) -> Evidence:
        """Explain why the only row of a batch is given its label."""
        from discern.models.evidence import Evidence, TermEvidence, by_words, in_order

        found = self.of_batch(batch, 1)
        order = np.argsort(-found.scores[0], kind="stable")
        label, against = int(order[0]), int(order[min(1, len(order) - 1)])
        prior, weight_of_prior, scales = self._scales(batch, int(found.known[0]))
        terms, absent = [], 0.0
        for column, scale in zip(self.columns, scales, strict=True):
            contributions, _ = column.evidence(batch, label, against)
            feature = column.feature
            absent += scale * float(column.bias[label] - column.bias[against])
            terms += [
                TermEvidence(term, count, scale * weight, feature.name, view=feature.view or feature.role)
                for term, count, weight in contributions
            ]
        base = float(prior[label] - prior[against])
        if self.calibration is None and self.only_text is not None and not self.terms_alone_decide:
            absent -= base  # its scores begin with the prior
        return Evidence(
            label=self.labels[label],
            against=self.labels[against],
            probabilities=dict(zip(self.labels, posterior(found.scores)[0].tolist(), strict=True)),
            prior=base,
            prior_calibration=(weight_of_prior - 1.0) * base,
            absent=absent,
            terms=in_order(by_words(terms, self._seen_as_characters(batch)), batch, self._texts().items()),
            unknown=int(found.unknown[0]),
            known=int(found.known[0]),
        )

    def _texts(self) -> dict[str, TextSettings]:
        """Return the text columns with how they are cut into terms."""
        own = (column for column in self.columns if not column.feature.is_derived)
        return {one.feature.name: one.text_settings for one in own if one.text_settings is not None}

    def _seen_as_characters(self, batch: Batch) -> list[tuple[str, str, TextSettings, TextSettings]]:
        """Return the texts of the only row that are seen as characters, with the settings of words and of n-grams."""
        row, words, found = batch.row(0), self._texts(), []
        for column in self.columns:
            name, settings = column.feature.name, column.text_settings
            if column.feature.view == "characters" and settings is not None and isinstance(text := row.get(name), str):
                found.append((name, text, replace(words[name], ngrams=(1, 1)), settings))
        return found

    def _scales(self, batch: Batch, n_known: int) -> tuple[Array, float, list[float]]:
        """Return the log priors, and the weights of these and of each column in the score of the only row.

        ``n_known`` is the number of its terms that the model knows.
        """
        if self.calibration is None:
            without = self.terms_alone_decide and bool(n_known)
            return (np.zeros_like(self.prior) if without else self.prior), 1.0, [1.0] * len(self.columns)
        lengths = [total([self.columns[place].of_batch(batch, 1) for place in places]).known for places in self.groups]
        scales = [0.0] * len(self.columns)
        for scale, places, known in zip(self.calibration.scales, self.groups, lengths, strict=True):
            for place in places:
                scales[place] = float(scale.factors(known)[0])
        return self.prior, float(self.calibration.weights_of_prior(lengths)[0]), scales

    @property
    def has_several_texts(self) -> bool:
        """Whether a word may be in several columns."""
        return sum(_is_text(column) and not column.feature.is_derived for column in self.columns) > 1

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
        calibration: EvidenceScaling | None = None,
    ) -> Self:
        """Make a model of what :meth:`arrays` returned; raises ValueError if it does not fit together."""
        prior, start = (float_array(arrays[name]) for name in ("prior", "start"))
        if prior.shape != (len(labels),) or len(set(labels)) < len(labels) or not cls.is_prior(prior):
            raise ValueError("the labels do not match their priors")
        if start.shape != prior.shape:
            raise ValueError("the labels do not match their start")
        columns = (
            cls.column_class(feature).from_arrays(
                feature,
                labels,
                arrays_of(arrays, place),
                ColumnSettings(settings.of_view(feature.view), text.view(feature.view)),
            )
            for place, feature in enumerate(features)
        )
        model = cls(labels, prior, start, tuple(columns), calibration)
        model.ready()
        return model

    @staticmethod
    def is_prior(prior: Array) -> bool:
        """Return whether numbers can be the prior: here, the logarithms of shares that sum to 1."""
        return bool(abs(np.exp(np.minimum(prior, 0.0)).sum() - 1) <= 1e-6)

    @staticmethod
    def column_class(feature: Feature) -> type[Column]:
        """Return the class of a column of the model."""
        return kind_of(feature).column


def _is_text(column: Column) -> bool:
    return column.text_settings is not None
