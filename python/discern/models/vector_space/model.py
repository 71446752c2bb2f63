"""Models in a vector space: logistic regression, support vectors, least squares, discriminants, neighbors.

Rows become vectors (:mod:`discern.models.vector_space.axes`) and a decider is learned from them
(:mod:`discern.models.vector_space.deciders`). Probabilities come from a temperature fitted to the scores of held-out
rows. Some of these models are sums over rows, as naive Bayes is (:mod:`discern.models.vector_space.additive`). The
others are not additive: they cannot be updated, forget rows or be merged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.data.batch import Batch, did_you_mean
from discern.data.roles import Feature
from discern.evaluation.calibration import Temperature
from discern.learners.bayes import log_priors, posterior, stored_priors
from discern.learners.kernels.machines import Kernel
from discern.learners.smoothing import Laplace, Smoothing, smoothing_from_json, smoothing_to_json
from discern.models.columns.kind import Scores
from discern.models.evidence import Evidence, NearRow, TermEvidence, in_order
from discern.models.registry import MODELS
from discern.models.validation.choosing import with_numbers
from discern.models.validation.rows import Folds, Sample, stratified
from discern.models.vector_space.axes import Columns, Layout, Space
from discern.models.vector_space.deciders import Contribution, Decider, Linear, Regularization, Table, added, learn
from discern.statistics.statistic import arrays_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

FOLDS, MOST_CALIBRATED = 3, 20_000
"""The number of folds to calibrate with; only the first, if they hold this many rows."""


@dataclass(frozen=True)
class Pipeline:
    """Everything that decides what is learned from rows, but the rows."""

    model: str
    layout: Layout
    regularization: Regularization = field(default_factory=Regularization)
    priors: str | tuple[tuple[str, float], ...] = "data"
    numbers: str = "gaussian"
    others: tuple[tuple[float, Pipeline], ...] = ()
    """Linear models whose scores are added to this one's, each times a factor."""

    def __post_init__(self) -> None:
        if not MODELS[self.model].is_spatial:
            raise ValueError(f"{self.model!r} is not a model in a vector space")
        for factor, other in self.others:
            if not 0 < factor < float("inf") or other.others:
                raise ValueError("models are added with a factor above 0, each alone")
            if not (MODELS[self.model].is_linear and MODELS[other.model].is_linear):
                raise ValueError("only linear models can be added")

    @property
    def parts(self) -> tuple[tuple[float, Pipeline], ...]:
        """The pipelines whose scores are added, each alone with its factor."""
        return (1.0, replace(self, others=())), *self.others

    @property
    def is_sum(self) -> bool:
        """Whether what is learned is a sum over rows: sums of several models are not."""
        return MODELS[self.model].is_sum and not self.others

    def refuse_no_sum(self) -> None:
        """Raise ValueError if the model is not additive."""
        if not self.is_sum:
            phrase = "a sum of several models" if self.others else MODELS[self.model].phrase
            raise ValueError(
                f"{phrase} cannot learn more rows, forget or merge: train it again, or use model='naive-bayes' or 'lda'"
            )

    def with_priors(self, priors: str | tuple[tuple[str, float], ...]) -> Pipeline:
        """Return the pipeline with other priors."""
        if priors == self.priors:
            return self
        others = tuple((factor, other.with_priors(priors)) for factor, other in self.others)
        return replace(self, priors=priors, others=others)

    def to_json(self) -> dict[str, Any]:
        """Return the pipeline as plain values."""
        others = [{"factor": factor, **other.to_json()} for factor, other in self.others]
        return {
            "model": self.model,
            "layout": self.layout.to_json(),
            "cost": self.regularization.cost,
            "smoothing": smoothing_to_json(self.regularization.smoothing),
            "numbers": self.numbers,
            "priors": self.priors if isinstance(self.priors, str) else dict(self.priors),
            **({"kernel": asdict(self.regularization.kernel)} if self.regularization.kernel else {}),
            **({"is_scaled": True} if self.regularization.is_scaled else {}),
            **({"others": others} if others else {}),
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Pipeline:
        """Make a pipeline of what :meth:`to_json` gave."""
        kernel = _kernel_from(values["kernel"]) if "kernel" in values else None
        smoothing, is_scaled = smoothing_from_json(values["smoothing"]), bool(values.get("is_scaled", False))
        regularization = Regularization(float(values["cost"]), smoothing, kernel, is_scaled)
        return cls(
            str(values["model"]),
            Layout.from_json(values["layout"]),
            regularization,
            stored_priors(values["priors"]),
            str(values["numbers"]),
            others=tuple((float(one["factor"]), cls.from_json(one)) for one in values.get("others", ())),
        )


BASIS_COST = {"bins": 0.01, "quadratic": 0.003, "bumps": 0.03}
"""The default cost of an error with many axes, as a share of the usual one: models follow their rows less closely."""


def _kernel_from(values: Mapping[str, Any]) -> Kernel:
    """Return a kernel from plain values; raises ValueError if they make no sense."""
    kernel = Kernel(str(values["name"]), float(values["gamma"]), float(values["offset"]), int(values["degree"]))
    if asdict(kernel) != dict(values) or not 0 < kernel.gamma < float("inf") or not 0 <= kernel.offset <= 1:
        raise ValueError("the kernel of the pipeline makes no sense")
    return kernel


def regularization_of(model: str, smoothing: Smoothing | None = None, basis: str = "standard") -> Regularization:
    """Return how closely a model follows its rows unless told otherwise."""
    kind = MODELS[model]
    cost = kind.cost * (1.0 if kind.is_sum else BASIS_COST.get(basis, 1.0))
    return Regularization(cost, Laplace(1.0) if smoothing is None else smoothing)


# ------------------------------------------------------------------------------------------------- the model


@dataclass(frozen=True)
class SpaceModel:
    """A learned model: immutable, shared by threads."""

    labels: tuple[str, ...]
    class_rows: NDArray[np.int64]
    pipeline: Pipeline
    space: Space
    decider: Decider
    calibration: Temperature | None = None

    @cached_property
    def label_array(self) -> NDArray[np.str_]:
        """The labels, to be indexed by decisions."""
        return np.array(self.labels, dtype=np.str_)

    @property
    def rows(self) -> int:
        """The number of rows learned."""
        return int(self.class_rows.sum())

    @property
    def prior(self) -> Array:
        """The logarithm of the prior of each label: its share of the rows learned, if none was given."""
        return log_priors(self.labels, self.class_rows, self.pipeline.priors)

    def shares(self, scores: Array) -> Array:
        """Return the probabilities of labels by their scores."""
        return posterior(scores)

    @property
    def priors(self) -> Array:
        """The prior of each label."""
        return np.exp(self.prior)

    @property
    def facts(self) -> dict[str, Any]:
        """What ``info`` shows of a model with a kernel: the number of support rows, and whether they are landmarks."""
        return getattr(self.decider, "facts", {})

    @property
    def features(self) -> tuple[Feature, ...]:
        """The columns."""
        return self.space.features

    def choices(self) -> dict[str, dict[str, Any]]:
        """Return what a form can offer for each column: levels, or a range of numbers."""
        found: dict[str, dict[str, Any]] = {}
        for axes in self.space.columns:  # of models that are added, the first that knows
            if not axes.feature.is_derived:
                found[axes.feature.name] = found.get(axes.feature.name) or axes.choices()
        return found

    def renamed(self, rename: Callable[[Feature], Feature]) -> SpaceModel:
        """Return the model for columns with other names."""
        return replace(self, space=self.space.renamed(rename))

    def calibrated(self, calibration: Temperature | None) -> SpaceModel:
        """Return the model with other probabilities for the same decisions."""
        return replace(self, calibration=calibration)

    def of_batch(self, batch: Batch, threads: int | None, raw: bool = False) -> Scores:
        """Return the calibrated scores of the rows of a batch, and how many terms are known and unknown."""
        matrix, known, unknown = self.space.of_batch(batch, threads)
        scores = np.asarray(self.decider.scores(matrix) * (1.0 if raw else self._scale))
        scores[self._says_nothing(known, unknown)] = self.prior
        return Scores(scores, known, unknown)

    def _says_nothing(self, known: NDArray[np.int64], unknown: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which rows have the base rates: those of which nothing is known.

        That a text has none of the terms is known, if there is nothing but texts: many rows learned had none either.
        """
        has_terms_only = all(axes.feature.role == "text" for axes in self.space.axes)
        return np.asarray((known == 0) & (unknown == 0) if has_terms_only else known == 0)

    @property
    def _scale(self) -> float:
        return 1.0 if self.calibration is None else 1.0 / self.calibration.temperature

    def explain(self, batch: Batch) -> Evidence:
        """Explain why the only row of a batch is given its label."""
        matrix, known, unknown = self.space.of_batch(batch, 1)
        nothing = bool(self._says_nothing(known, unknown)[0])
        scores = self.prior[None] if nothing else self.decider.scores(matrix) * self._scale
        order = np.argsort(-scores[0], kind="stable")
        label, against = int(order[0]), int(order[min(1, len(order) - 1)])
        if nothing:
            contribution = Contribution(float(scores[0, label] - scores[0, against]) / self._scale, 0.0, {})
        else:
            contribution = self._spread(self.decider.contribution(matrix, label, against), matrix, label, against)
        return Evidence(
            label=self.labels[label],
            against=self.labels[against],
            probabilities=dict(zip(self.labels, posterior(scores)[0].tolist(), strict=True)),
            prior=self._scale * contribution.prior,
            absent=self._scale * contribution.absent,
            terms=in_order(self._terms(contribution, batch), batch, self.space.texts),
            unknown=int(unknown[0]),
            known=int(known[0]),
            near=tuple(NearRow(row + 1, self.labels[place], similar) for row, place, similar in contribution.near),
        )

    def _spread(self, contribution: Contribution, row: Any, label: int, against: int) -> Contribution:
        """Spread what axes over several columns contribute over those they read."""
        prior, axes, values = contribution.prior, dict(contribution.axes), row.toarray()[0]
        for start, read, expansion in self.space.expansions:
            assert isinstance(self.decider, Linear)
            places = slice(start, start + len(expansion))
            weights = self.decider.of_functions(self.decider.weights[places])
            found, always = expansion.spread(values[read], weights[:, label] - weights[:, against])
            axes = {place: weight for place, weight in axes.items() if not places.start <= place < places.stop}
            for place, weight in zip(read.tolist(), found.tolist(), strict=True):
                if weight:
                    axes[place] = axes.get(place, 0.0) + weight
            prior += always
        return replace(contribution, prior=prior, axes=axes)

    def _terms(self, contribution: Contribution, batch: Batch) -> list[TermEvidence]:
        counts, terms = self.space.counts(batch), []
        for place, weight in contribution.axes.items():
            axes, own = self.space.axis(place)
            term, column = axes.value(own, batch), axes.feature.name
            terms.append(TermEvidence(term, counts.get(place, 1), self._scale * weight, column))
        if self.pipeline.others or any(axes.is_whole for axes in self.space.axes):
            terms = merged_terms(terms)
        for row, place, weight in contribution.rows:
            terms.append(TermEvidence(f"row {row + 1}: {self._row_named(place)}", 1, self._scale * weight, "neighbors"))
        return terms

    def _row_named(self, place: int) -> str:
        """Return the label of a row by its class."""
        return self.labels[place]

    def weights(self, label: str, top: int) -> list[tuple[str, float]]:
        """Return the contribution of a unit of each term or value to a label, strongest first.

        It is measured against the mean of the other labels. ``top`` of them; with a negative number, those with the
        strongest evidence against the label. A model that is not linear has none.
        """
        if label not in self.labels:
            raise ValueError(f"unknown label {label!r}{did_you_mean(label, self.labels)}")
        odds = self.decider.odds(self.labels.index(label))
        if odds is None:
            return []
        shown = np.repeat([not axes.is_whole for axes in self.space.axes], [len(axes) for axes in self.space.axes])
        order = np.argsort(-odds if top >= 0 else odds, kind="stable")
        order = order[shown[order]][: abs(top) * (1 + len(self.pipeline.others))]
        names = [axes.name(own) for axes, own in map(self.space.axis, order.tolist())]
        found: dict[str, float] = {}
        for name, weight in zip(names, (self._scale * odds[order]).tolist(), strict=True):
            found.setdefault(name, weight)  # of models that are added, the strongest
        return list(found.items())[: abs(top)]

    @property
    def parameters(self) -> int:
        """The number of parameters."""
        return self.decider.parameters

    @property
    def terms(self) -> int:
        """The number of terms of all text columns."""
        return self.space.terms

    # ------------------------------------------------------------------------------------------------ arrays

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the model as arrays, for the model file."""
        decider = {f"decider.{name}": array for name, array in self.decider.arrays().items()}
        return {"class_rows": self.class_rows, **self.space.arrays(), **decider}

    @classmethod
    def from_arrays(
        cls,
        labels: tuple[str, ...],
        features: Sequence[Feature],
        pipeline: Pipeline,
        arrays: Mapping[str, NDArray[Any]],
    ) -> SpaceModel:
        """Make a model of what :meth:`arrays` gave; raises ValueError if it does not fit together."""
        class_rows = checked_rows(arrays["class_rows"], labels)
        space = Space.from_arrays([part.layout for _, part in pipeline.parts], features, arrays)
        space.ready()
        own = arrays_of(arrays, "decider")
        decider = MODELS[pipeline.model].decider_class.from_arrays(own, space.n_axes, len(labels))
        return cls(labels, class_rows, pipeline, space, decider)


def checked_rows(class_rows: NDArray[Any], labels: Sequence[str], most: int = 1 << 53) -> NDArray[np.int64]:
    """Return the rows of each label from a file; raises ValueError if they do not match the labels."""
    if class_rows.dtype.kind not in "iu" or class_rows.shape != (len(labels),) or len(set(labels)) < len(labels):
        raise ValueError("the labels do not match their rows")
    if int(class_rows.min(initial=1)) < 1 or int(class_rows.max(initial=0)) > most:
        raise ValueError("a label has no rows, or too many")
    return class_rows.astype(np.int64)


def merged_terms(terms: Sequence[TermEvidence]) -> list[TermEvidence]:
    """Return each term once, with the sum of its contributions to all models that are added.

    Examples
    --------
    >>> merged_terms([TermEvidence("a", 2, 1.0, "text"), TermEvidence("a", 1, 0.5, "text")])
    [TermEvidence(term='a', count=2, weight=1.5, column='text', written='', view='text')]
    """
    found: dict[tuple[str, str], TermEvidence] = {}
    for one in terms:
        before = found.get((one.column, one.term), replace(one, count=0, weight=0.0))
        count, weight = max(before.count, one.count), before.weight + one.weight
        found[one.column, one.term] = replace(one, count=count, weight=weight)
    return list(found.values())


# ------------------------------------------------------------------------------------------------- learning


def fit(sample: Sample, features: Sequence[Feature], pipeline: Pipeline) -> SpaceModel:
    """Learn from all rows of a sample, without calibration."""
    class_rows = np.bincount(sample.classes, minlength=len(sample.labels)).astype(np.int64)
    priors = np.exp(log_priors(sample.labels, class_rows, pipeline.priors))
    space, decider = _learned(sample, features, pipeline, priors)
    if pipeline.others:
        learned = [(1.0, space, decider)]
        learned += [(factor, *_learned(sample, features, other, priors)) for factor, other in pipeline.others]
        space = Space(tuple(axes for _, part, _ in learned for axes in part.axes))
        decider = added([(factor, part) for factor, _, part in learned])
    return SpaceModel(sample.labels, class_rows, pipeline, space, decider)


def _learned(sample: Sample, features: Sequence[Feature], pipeline: Pipeline, priors: Array) -> tuple[Space, Decider]:
    if MODELS[pipeline.model].is_sum:
        from discern.models.vector_space.additive import learned

        model = learned(sample, features, pipeline)
        return model.space, model.decider
    fitted = columns_of(sample, features, pipeline).fitted()
    table = Table(fitted.matrix, sample.classes, priors, fitted.space.has_text, sample.threads, fitted.space.sizes)
    return fitted.space, learn(pipeline.model, table, pipeline.regularization)


def columns_of(sample: Sample, features: Sequence[Feature], pipeline: Pipeline) -> Columns:
    """Return the rows of a sample by column, numbers cut as the pipeline has it."""
    return Columns(sample, with_numbers(sample, features, pipeline.numbers), pipeline.layout)


def held_out(sample: Sample, features: Sequence[Feature], pipeline: Pipeline, folds: Folds) -> Array:
    """Score rows, in the order of the folds, under the model of all rows but their fold's.

    A label that only rows of the fold have gets no score there: −∞.
    """
    parts = [factor * _held_out_alone(sample, features, part, folds) for factor, part in pipeline.parts]
    return np.asarray(sum(parts[1:], start=parts[0]))


def _held_out_alone(sample: Sample, features: Sequence[Feature], pipeline: Pipeline, folds: Folds) -> Array:
    if MODELS[pipeline.model].is_sum:
        from discern.models.vector_space import additive

        return additive.held_out(sample, features, pipeline, folds, [pipeline.regularization.cost])[0]
    columns = columns_of(sample, features, pipeline)
    parts = []
    for fold in folds:
        is_left = np.ones(sample.rows, bool)
        is_left[fold] = False
        rest = np.flatnonzero(is_left)
        parts.append(_scores_without(columns, pipeline, rest, fold))
    return np.concatenate(parts)


def _scores_without(columns: Columns, pipeline: Pipeline, rest: NDArray[np.int64], fold: NDArray[np.int64]) -> Array:
    sample, fitted = columns.sample, columns.fitted(rest)
    present, classes = np.unique(sample.classes[rest], return_inverse=True)
    labels = tuple(sample.labels[place] for place in present)
    class_rows = np.bincount(classes, minlength=len(labels)).astype(np.int64)
    priors = pipeline.priors
    if not isinstance(priors, str):
        priors = tuple((label, share) for label, share in priors if label in labels)
    shares = np.exp(log_priors(labels, class_rows, priors))
    table = Table(
        fitted.matrix, classes.astype(np.int32), shares, fitted.space.has_text, sample.threads, fitted.space.sizes
    )
    decider = learn(pipeline.model, table, pipeline.regularization)
    scores = np.full((len(fold), len(sample.labels)), -np.inf)
    scores[:, present] = decider.scores(columns.seen_by(fitted, fold))
    return scores


def calibration_of(sample: Sample, features: Sequence[Feature], pipeline: Pipeline) -> Temperature | None:
    """Fit a temperature to the scores of held-out rows; None if there is nothing to fit it to."""
    left_out = calibration_folds(sample)
    if left_out is None:
        return None
    return Temperature.robust(held_out(sample, features, pipeline, left_out), sample.classes[left_out.order])


def calibration_folds(sample: Sample) -> Folds | None:
    """Deal rows into folds to calibrate with; None if there is nothing to calibrate."""
    if len(sample.labels) < 2 or sample.rows < 2 * FOLDS:
        return None
    dealt = stratified(sample.classes, sample.keys, FOLDS)
    return dealt if len(dealt.ends) > 1 else None  # None if all rows are the same
