"""Naive Bayes of several labels a row: each label against the rest, from the sums of the distinct sets of labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.data.label_sets.sets import Membership
from discern.models.columns.kind import Column, ColumnSettings, Scores
from discern.models.naive_bayes import Model
from discern.models.several.columns import column_class, solve_column
from discern.models.several.scaling import LabelScaling, probabilities

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discern.data.batch import Batch
    from discern.data.roles import Feature
    from discern.data.text import TextSettings
    from discern.evaluation.scaling import EvidenceScaling
    from discern.learners.bayes import NaiveBayesSettings
    from discern.models.evidence import Evidence
    from discern.statistics.sums import Sums

    Array = NDArray[np.float64]

HALF_A_ROW = 0.5
"""What counts where a label has no row, or all rows."""
OTHERS = "not {}"
"""What stands against a label."""


def log_odds_of(own: NDArray[Any], rows: Any) -> Array:
    """Return the log odds that a row has each label, by how many of the rows have it.

    Examples
    --------
    >>> np.exp(log_odds_of(np.array([1, 3, 4]), 4)).round(3).tolist()
    [0.333, 3.0, 8.0]
    """
    return np.asarray(np.log(np.maximum(own, HALF_A_ROW)) - np.log(np.maximum(rows - own, HALF_A_ROW)))


def solve_labels(
    sums: Sums,
    features: Sequence[Feature],
    settings: NaiveBayesSettings,
    text: TextSettings,
    min_df: int = 1,
    calibration: EvidenceScaling | None = None,
    scaling: LabelScaling | None = None,
) -> LabelsModel:
    """Derive the model of all labels from the sums of sets of labels."""
    members = Membership.of(sums.labels)
    own = members.sums(sums.class_rows)
    prior = np.zeros(len(own)) if settings.priors == "uniform" else log_odds_of(own, sums.rows)
    has_text = any(feature.role == "text" for feature in features)
    start = prior if settings.event_model.has_prior or not has_text else np.zeros_like(prior)
    columns = tuple(
        solve_column(
            feature,
            statistic,
            sums.labels,
            members,
            ColumnSettings(settings.of_view(feature.view), text.view(feature.view), min_df),
        )
        for feature, statistic in zip(features, sums.columns, strict=True)
    )
    model = LabelsModel(members.labels, prior, start, columns, calibration, scaling or LabelScaling())
    model.ready()
    return model


@dataclass(frozen=True, eq=False)
class LabelsModel(Model):
    """A solved model: its scores are the log odds of each label against the rows without it."""

    scaling: LabelScaling = field(default_factory=LabelScaling)

    @property
    def only_text(self) -> None:
        """Nothing: scores begin with the prior, never in the column of a text."""
        return

    @property
    def is_against_rest(self) -> bool:
        """Whether scores are the log odds of each label against the rows without it."""
        return True

    def quick_scorer(self) -> None:
        """Return None: there is no fast way from one text to its labels."""
        return

    def shares(self, scores: Array) -> Array:
        return probabilities(scores)

    @property
    def priors(self) -> Array:
        return probabilities(self.prior)

    def of_batch(self, batch: Batch, threads: int | None, raw: bool = False) -> Scores:
        found = super().of_batch(batch, threads, raw)
        return found if raw else replace(found, scores=self.scaling(found.scores, self.labels))

    def explain(self, batch: Batch, label: str | None = None) -> Evidence:
        """Explain how probable a label is for the only row of a batch; by default the most probable one."""
        from discern.models.evidence import Evidence, TermEvidence, by_words, in_order

        found = self.of_batch(batch, 1)
        place = place_of(label, self.labels, found.scores)
        name, share = self.labels[place], float(self.shares(found.scores)[0, place])
        prior, weight_of_prior, scales = self._scales(batch, int(found.known[0]))
        slope, offset = self.scaling.of([name])[:, 0].tolist()
        terms, absent = [], 0.0
        for column, scale in zip(self.columns, scales, strict=True):
            feature = column.feature
            absent += slope * scale * float(column.bias[place])
            terms += [
                TermEvidence(term, count, slope * scale * weight, feature.name, view=feature.view or feature.role)
                for term, count, weight in column.evidence(batch, place, None)[0]
            ]
        base = slope * float(prior[place]) + offset
        return Evidence(
            label=name,
            against=OTHERS.format(name),
            probabilities={name: share, OTHERS.format(name): 1.0 - share},
            prior=base,
            prior_calibration=(weight_of_prior - 1.0) * slope * float(prior[place]),
            absent=absent,
            terms=in_order(by_words(terms, self._seen_as_characters(batch)), batch, self._texts().items()),
            unknown=int(found.unknown[0]),
            known=int(found.known[0]),
        )

    @property
    def parameters(self) -> int:
        """The number of parameters: each label has its own, and shares the rest with all."""
        return (len(self.labels) + 1) * (sum(column.parameters for column in self.columns) + 1) - 1

    @staticmethod
    def is_prior(prior: Array) -> bool:
        """Return true: any log odds can be the prior of a label."""
        return True

    @staticmethod
    def column_class(feature: Feature) -> type[Column]:
        return column_class(feature)


def place_of(label: str | None, labels: Sequence[str], scores: Array) -> int:
    """Return the place of a label; by default that with the best score in the only row."""
    from discern.data.batch import did_you_mean

    if not labels:
        raise ValueError("this model has no label to explain: no row that it learned had one")
    if label is None:
        return int(scores[0].argmax())
    if label not in labels:
        raise ValueError(f"unknown label {label!r}{did_you_mean(label, labels)}")
    return labels.index(label)
