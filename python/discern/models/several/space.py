"""Models in a vector space where rows may have several labels: texts are read once, and each label has a function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.data.label_sets.sets import Membership
from discern.models.columns.kind import Scores
from discern.models.evidence import Evidence, in_order
from discern.models.registry import MODELS
from discern.models.resolved import Resolved
from discern.models.several.additive import decider_of
from discern.models.several.choosing import several_of
from discern.models.several.deciders import LabelLinear
from discern.models.several.held_out import log_loss
from discern.models.several.learners import HELD_OUT, LabelTable, learn
from discern.models.several.naive_bayes import OTHERS, log_odds_of, place_of
from discern.models.several.record import Several
from discern.models.several.scaling import LabelScaling, probabilities
from discern.models.validation.rows import LEAST_VALIDATED, MOST_CELLS, stratified
from discern.models.vector_space import additive
from discern.models.vector_space.axes import Space
from discern.models.vector_space.model import FOLDS, Pipeline, SpaceModel, checked_rows, columns_of
from discern.statistics.statistic import arrays_of
from discern.statistics.sums import Sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discern.data.batch import Batch
    from discern.data.roles import Feature
    from discern.models.settings import Settings
    from discern.models.validation.rows import Folds, Sample

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class LabelsSpaceModel(SpaceModel):
    """A learned model: scores are those of each label against the rows without it; ``class_rows`` are of labels."""

    n_rows: int = 0
    scaling: LabelScaling = field(default_factory=LabelScaling)

    @property
    def rows(self) -> int:
        """The number of rows learned."""
        return self.n_rows

    @property
    def prior(self) -> Array:
        """The prior log odds of each label."""
        return log_odds_of(self.class_rows, self.n_rows)

    @property
    def priors(self) -> Array:
        return probabilities(self.prior)

    def shares(self, scores: Array) -> Array:
        return probabilities(scores)

    def of_batch(self, batch: Batch, threads: int | None, raw: bool = False) -> Scores:
        matrix, known, unknown = self.space.of_batch(batch, threads)
        scores = self.decider.scores(matrix)
        return Scores(scores if raw else self.scaling(scores, self.labels), known, unknown)

    def explain(self, batch: Batch, label: str | None = None) -> Evidence:
        """Explain how probable a label is for the only row of a batch; by default the most probable one."""
        matrix, known, unknown = self.space.of_batch(batch, 1)
        scores = self.scaling(self.decider.scores(matrix), self.labels)
        place = place_of(label, self.labels, scores)
        name, share = self.labels[place], float(self.shares(scores)[0, place])
        slope, offset = self.scaling.of([name])[:, 0].tolist()
        contribution = self.decider.for_label(matrix, place)  # type: ignore[attr-defined]
        terms = [replace(one, weight=slope * one.weight) for one in self._terms(contribution, batch)]
        return Evidence(
            label=name,
            against=OTHERS.format(name),
            probabilities={name: share, OTHERS.format(name): 1.0 - share},
            prior=slope * contribution.prior + offset,
            absent=0.0,
            terms=in_order(terms, batch, self.space.texts),
            unknown=int(unknown[0]),
            known=int(known[0]),
        )

    def _row_named(self, place: int) -> str:
        members = self.decider.members[place]  # type: ignore[attr-defined]
        return ", ".join(label for label, has in zip(self.labels, members.tolist(), strict=True) if has) or "no label"

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {**super().arrays(), "rows": np.array([self.n_rows], np.int64)}

    @classmethod
    def from_arrays(
        cls,
        labels: tuple[str, ...],
        features: Sequence[Feature],
        pipeline: Pipeline,
        arrays: Mapping[str, NDArray[Any]],
    ) -> LabelsSpaceModel:
        """Make a model of what :meth:`arrays` gave; raises ValueError if it does not fit together."""
        rows = arrays["rows"]
        if rows.dtype.kind not in "iu" or rows.shape != (1,) or not 1 <= int(rows[0]) <= 1 << 53:
            raise ValueError("the number of rows makes no sense")
        class_rows = checked_rows(arrays["class_rows"], labels, int(rows[0]))
        space = Space.from_arrays([part.layout for _, part in pipeline.parts], features, arrays)
        space.ready()
        parts = arrays_of(arrays, "decider")
        # Where there was nothing to tell apart, the decider of every model is the prior.
        decider = LabelLinear if "bias" in parts else MODELS[pipeline.model].labels_decider
        own = decider.from_arrays(parts, space.n_axes, len(labels))
        return cls(labels, class_rows, pipeline, space, own, n_rows=int(rows[0]))


# ------------------------------------------------------------------------------------------------- learning


def pipeline_of(settings: Settings) -> Pipeline:
    """Return how a model is learned: a linear SVM counts single words unless told otherwise.

    Most labels have few rows, in which most pairs of words are there by chance.
    """
    from discern.models.resolving import pipeline_of as usual

    pipeline = usual(settings, settings.model)
    first, *others = pipeline.layout.text
    if settings.model != "linear-svm" or settings.ngrams is not None or first.analyzer not in ("word", "pattern"):
        return pipeline
    return replace(pipeline, layout=replace(pipeline.layout, text=(replace(first, ngrams=(1, 1)), *others)))


def fit(sample: Sample, features: Sequence[Feature], pipeline: Pipeline) -> LabelsSpaceModel:
    """Learn from all rows of a sample, without calibration."""
    members = Membership.of(sample.labels)
    class_rows = members.sums(np.bincount(sample.classes, minlength=len(sample.labels))).astype(np.int64)
    parts = [(factor, *_learned(sample, features, part, members)) for factor, part in pipeline.parts]
    space, decider = parts[0][1:]
    if pipeline.others:
        space = Space(tuple(axes for _, part, _ in parts for axes in part.axes))
        weights = np.vstack([factor * part.weights for factor, _, part in parts])
        bias = np.sum([factor * part.bias for factor, _, part in parts], axis=0)
        decider = replace(decider, weights=weights, bias=bias)
    return LabelsSpaceModel(members.labels, class_rows, pipeline, space, decider, n_rows=sample.rows)


def _learned(sample: Sample, features: Sequence[Feature], pipeline: Pipeline, members: Membership) -> tuple[Space, Any]:
    if MODELS[pipeline.model].is_sum:
        columns = columns_of(sample, features, pipeline)
        space, points = columns.laid_out()
        additive.refuse_too_many(space, pipeline, len(sample.labels))
        sums = additive.sums_of(points, sample.classes, sample, pipeline)
        return space, decider_of(sums, members, space, pipeline, pipeline.regularization.cost)
    fitted = columns_of(sample, features, pipeline).fitted()
    table = LabelTable(fitted.matrix, sample.classes, members, fitted.space.has_text, sample.threads)
    return fitted.space, learn(MODELS[pipeline.model].labels_learner, table, pipeline.regularization)


def solve(sums: Sums, space: Space, pipeline: Pipeline, scaling: LabelScaling) -> LabelsSpaceModel:
    """Derive the model from sums in a space."""
    members = Membership.of(sums.labels)
    class_rows = members.sums(sums.class_rows).astype(np.int64)
    decider = decider_of(sums, members, space, pipeline, pipeline.regularization.cost)
    return LabelsSpaceModel(members.labels, class_rows, pipeline, space, decider, n_rows=sums.rows, scaling=scaling)


# ----------------------------------------------------------------------------------------------------- validation


def held_out(
    sample: Sample, features: Sequence[Feature], pipeline: Pipeline, folds: Folds, members: Membership
) -> Array:
    """Score rows, in the order of the folds, under the model of all rows but their fold's."""
    parts = []
    for factor, part in pipeline.parts:
        if MODELS[part.model].is_sum:
            [scores] = _held_out_sums(sample, features, part, folds, members, [part.regularization.cost])
        else:
            scores = _held_out_alone(sample, features, part, folds, members)
        parts.append(factor * scores)
    return np.asarray(np.sum(parts, axis=0))


def _held_out_alone(
    sample: Sample, features: Sequence[Feature], pipeline: Pipeline, folds: Folds, members: Membership
) -> Array:
    columns, parts = columns_of(sample, features, pipeline), []
    for fold in folds:
        rest = np.setdiff1d(np.arange(sample.rows), fold, assume_unique=True)
        fitted = columns.fitted(rest)
        table = LabelTable(
            fitted.matrix, sample.classes[rest], members, fitted.space.has_text, sample.threads, HELD_OUT
        )
        decider = learn(MODELS[pipeline.model].labels_learner, table, pipeline.regularization)
        parts.append(decider.scores(columns.seen_by(fitted, fold)))
    return np.concatenate(parts)


def _held_out_sums(
    sample: Sample,
    features: Sequence[Feature],
    pipeline: Pipeline,
    folds: Folds,
    members: Membership,
    costs: Sequence[float],
) -> list[Array]:
    """Do the same for sums over rows, for each cost."""
    columns = columns_of(sample, features, pipeline)
    parts: list[list[Array]] = [[] for _ in costs]
    for fold, space, points, sums in additive.without_folds(columns, pipeline, folds):
        own, rows = Membership.of(sums.labels), points.take(fold)
        places = np.searchsorted(members.labels, own.labels)
        for cost, part in zip(costs, parts, strict=True):
            scores = np.zeros((len(fold), len(members.labels)))
            scores[:, places] = decider_of(sums, own, space, pipeline, cost).scores(rows)
            part.append(scores)
    return [np.concatenate(part) for part in parts]


def folds_of(sample: Sample, n_labels: int, folds: int = FOLDS) -> Folds | None:
    """Deal rows into folds, and return as many as have few enough scores; None if there are too few rows."""
    if sample.rows < 2 * folds:
        return None
    dealt = stratified(sample.classes, sample.keys, folds)
    return dealt.holding(max(MOST_CELLS // max(n_labels, 1), 1)) if len(dealt.ends) > 1 else None


def calibrated(sample: Sample, features: Sequence[Feature], pipeline: Pipeline) -> Several:
    """Return the scaling and the thresholds of labels by held-out rows; the usual ones if there are too few."""
    members = Membership.of(sample.labels)
    folds = folds_of(sample, len(members.labels))
    truth = None if folds is None else members.truth(sample.classes[folds.order])
    if folds is None or truth is None or not truth.any():
        return Several()
    scores = held_out(sample, features, pipeline, folds, members)
    return several_of(scores, truth, members.labels, folds, common=True)


def resolve(settings: Settings, sample: Sample, features: Sequence[Feature]) -> Resolved:
    """Choose the space of sums from a sample of rows; by held-out rows, the cost of an error and the calibration."""
    pipeline = pipeline_of(settings)
    _ = MODELS[pipeline.model].labels_learner  # raises for models that learn one label only
    several, rows = Several(), 0
    members = Membership.of(sample.labels)
    if (sample.rows >= LEAST_VALIDATED or settings.calibrate is True) and members.labels:
        part = sample.part(additive.MOST_VALIDATED)
        pipeline, several = validated(part, features, pipeline, choose_cost=sample.rows >= LEAST_VALIDATED)
        rows = part.rows
    found = additive.in_space(settings, sample, features, pipeline, None, rows)
    return replace(found, several=several if settings.calibrate is not False else Several())


def validated(
    sample: Sample, features: Sequence[Feature], pipeline: Pipeline, *, choose_cost: bool
) -> tuple[Pipeline, Several]:
    """Choose the cost of an error by the log loss of held-out rows, and fit the scaling and the thresholds to them."""
    members = Membership.of(sample.labels)
    folds = folds_of(sample, len(members.labels))
    truth = None if folds is None else members.truth(sample.classes[folds.order])
    if folds is None or truth is None or not truth.any():
        return pipeline, Several()
    chooses = choose_cost and MODELS[pipeline.model].statistic_class.has_products
    costs = additive.COSTS if chooses else (pipeline.regularization.cost,)
    found = []
    for cost, scores in zip(costs, _held_out_sums(sample, features, pipeline, folds, members, costs), strict=True):
        scaling = LabelScaling.fit(scores, truth, members.labels, common=True)
        found.append((log_loss(scaling(scores, members.labels), truth), cost, scores))
    _, cost, scores = min(found, key=lambda one: one[0])
    several = several_of(scores, truth, members.labels, folds, common=True)
    return replace(pipeline, regularization=replace(pipeline.regularization, cost=cost)), several
