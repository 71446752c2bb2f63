"""Cross-validation of a classifier on named columns, from one counting pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from discern.classifier import Classifier
from discern.data.batch import did_you_mean
from discern.data.readers import batches
from discern.data.roles import Feature, leading_rows
from discern.data.source import Reading
from discern.data.strings import DataError
from discern.evaluation.decisions import ChosenThreshold, Rule, choose_threshold
from discern.evaluation.evaluation import Evaluation
from discern.evaluation.significance import Interval, mean_interval
from discern.learners.bayes import posterior
from discern.models.fitting import embedded_rows, has_label_sets
from discern.models.resolving import pipeline_of, resolve
from discern.models.settings import Settings
from discern.models.validation.held_out import held_out
from discern.models.validation.rows import Folds, Sample, stratified

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discern.evaluation.scaling import EvidenceScaling

MEANS = ("accuracy", "log_loss", "brier")
MEANS_OF_SETS = ("accuracy", "hamming_loss", "log_loss")
OTHERS_OF_SETS = ("micro_f1", "macro_f1", "calibration_error")
FIGURES = (*MEANS, "calibration_error")
"""The calibration error of a fold is no mean over its rows, and larger than that of all rows: it has no interval."""


@dataclass(frozen=True)
class CrossValidation:
    """The performance of a classifier on held-out rows.

    ``folds`` has an evaluation for each fold (with leave-one-out, one for all rows), ``total`` is their sum.
    ``probabilities`` are those of each row, in the order of the data, under the model that never saw it, labels in the
    order of ``labels``; ``predicted`` are the predicted labels.

    Examples
    --------
    >>> rows = [{"label": "ab"[i % 2], "text": f"word{i % 2} other{i}"} for i in range(60)]
    >>> result = cross_validate(Classifier(smoothing=1.0), rows, folds=3)
    >>> result.accuracy, result.probabilities.shape
    (1.0, (60, 2))
    >>> result.values("log_loss").round(2).tolist()
    [0.05, 0.05, 0.05]
    """

    folds: tuple[Any, ...]
    """Evaluations; if rows may have several labels, each a :class:`discern.MultilabelEvaluation`."""
    total: Any
    labels: tuple[str, ...]
    probabilities: NDArray[np.float64]
    predicted: NDArray[Any]
    """The label of each row, or the list of its labels."""

    @property
    def accuracy(self) -> float:
        """The share of correct rows; with several labels a row, of those with exactly the true labels."""
        return float(self.total.accuracy)

    @property
    def log_loss(self) -> float:
        """The mean log loss of all rows."""
        return float(self.total.log_loss)

    @property
    def figures(self) -> tuple[str, ...]:
        """The names of the figures: means over rows, and others, which have no interval."""
        return FIGURES if isinstance(self.total, Evaluation) else (*MEANS_OF_SETS, *OTHERS_OF_SETS)

    def values(self, figure: str) -> NDArray[np.float64]:
        """Return a figure of each fold, such as ``"accuracy"``."""
        return np.array([getattr(fold, figure) for fold in self.folds], np.float64)

    def interval(self, figure: str = "accuracy", level: float = 0.95) -> Interval:
        """Return the confidence interval of a figure, from its variation between folds, or rows if one fold."""
        if len(self.folds) > 1:
            return mean_interval(self.values(figure), level)
        found: Interval = self.total.intervals(level)[figure]
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the rows as plain values."""
        figures = {}
        for figure in self.figures:
            where = self.interval(figure) if figure in (*MEANS, *MEANS_OF_SETS) else None
            figures[figure] = {
                "value": float(getattr(self.total, figure)),
                "folds": self.values(figure).tolist(),
                "interval": None if where is None else [where.low, where.high],
            }
        return {"rows": self.total.rows, "folds": len(self.folds), **figures}

    def __str__(self) -> str:
        lines = [f"{self.total.rows:,} rows, {len(self.folds)} folds"]
        for figure, values in self.to_dict().items():
            if isinstance(values, dict):
                where = "" if values["interval"] is None else " [{:.4f}, {:.4f}]".format(*values["interval"])
                lines.append(f"  {figure:18} {values['value']:.4f}{where}")
        return "\n".join(lines)


def cross_validate(
    classifier: Classifier, data: Any, folds: int | str = 10, *, reading: Reading | None = None
) -> CrossValidation:
    """Evaluate a classifier on held-out rows, exactly as if it were trained again without them.

    Rows are read and counted once; the model of a fold is the total minus the fold (in a vector space it is trained
    again). Folds are stratified, rows that are the same stay in one fold, and the order of the rows does not matter.
    What the classifier chooses by validation (smoothing, n-grams, bins, calibration) is chosen once, by all rows.

    Parameters
    ----------
    classifier : Classifier
        Its settings are used; it is not changed.
    data : path, frame or rows
    folds : int or "leave-one-out"

    Examples
    --------
    >>> rows = [{"label": "ab"[i % 2], "text": f"word{i % 2} other{i}"} for i in range(60)]
    >>> result = cross_validate(Classifier(smoothing=1.0), rows, folds=3)
    >>> result.accuracy, len(result.folds)
    (1.0, 3)
    """
    parts = [batch for batch in batches(data, reading) if batch.rows]
    if not parts:
        raise DataError("there are no rows to evaluate on")
    first, _ = leading_rows(iter(parts))
    assert first is not None
    if has_label_sets(classifier.settings, first):
        from discern.analysis.several import cross_validate_sets

        return cross_validate_sets(classifier, parts, folds)
    settings = classifier.settings.suiting(first)
    features, _ = settings.features_of(first)
    if classifier.embedding is not None:
        features, rows = embedded_rows(features, iter(parts), classifier.embedding)
        parts = list(rows)
    names = [feature.name for feature in features if not feature.is_derived]
    sample = Sample.of(parts, classifier.label, names, classifier.threads)
    if classifier.model == "best":
        raise ValueError("cross_validate evaluates one model: fit model='best' first, and pass the name in its winner")
    if folds == "leave-one-out" and not settings.kind.event:
        raise ValueError(f"{classifier.model!r} is trained again for each fold: pass a number of folds, such as 10")
    if folds == "leave-one-out":
        left_out = Folds.one_by_one(np.argsort(sample.keys, kind="stable").astype(np.int64))
    elif isinstance(folds, int):
        left_out = stratified(sample.classes, sample.keys, folds)
    else:
        raise ValueError(f"folds must be a number or 'leave-one-out', not {folds!r}")
    held_out_scores = _as_sums if settings.kind.event else _in_space
    scores, shares = held_out_scores(settings, sample, features, left_out)
    labels = np.array(sample.labels, dtype=np.str_)
    true, predicted = labels[sample.classes[left_out.order]], labels[scores.argmax(axis=1)]
    bounds = [0, *left_out.ends.tolist()] if not left_out.are_single else [0, len(true)]
    evaluations = tuple(
        Evaluation.of(true[start:end], predicted[start:end], shares[start:end], sample.labels)
        for start, end in pairwise(bounds)
    )
    total = evaluations[0]
    for part in evaluations[1:]:
        total = total + part
    back = np.argsort(left_out.order)
    return CrossValidation(evaluations, total, sample.labels, shares[back], predicted[back])


def _as_sums(
    settings: Settings, sample: Sample, features: Sequence[Feature], left_out: Folds
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return scores and probabilities of held-out rows, for a model that is a sum."""
    found = resolve(settings, sample, features)
    scored = held_out(sample, found.features, found.naive_bayes, found.text, left_out, found.min_df)
    scores = scored.calibrated(cast("EvidenceScaling | None", found.calibration))
    return scores, posterior(scores)


def _in_space(
    settings: Settings, sample: Sample, features: Sequence[Feature], left_out: Folds
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return scores and probabilities of held-out rows; a model in a vector space is solved again for each fold."""
    import discern.models.vector_space.additive as additive
    import discern.models.vector_space.model as spatial

    pipeline, calibration = pipeline_of(settings, settings.model), None
    if pipeline.is_sum:
        pipeline, calibration = additive.validated(sample, features, pipeline, choose_cost=True)
    elif settings.calibrate is not False:
        calibration = spatial.calibration_of(sample, features, pipeline)
    scores = spatial.held_out(sample, features, pipeline, left_out)
    calibration = None if settings.calibrate is False else calibration
    return scores, posterior(scores) if calibration is None else calibration(scores)


def choose_decision(
    classifier: Classifier,
    data: Any,
    positive: str,
    rule: Rule,
    *,
    folds: int = 10,
    held_out: bool = False,
    reading: Reading | None = None,
) -> ChosenThreshold:
    """Choose the threshold of a label by a rule, on held-out rows.

    By default these are the training rows, each predicted by the model of the other folds. With ``held_out`` they are
    rows that were not learned, predicted by the classifier itself. Pass the decision to :meth:`Classifier.decide_by`.

    Examples
    --------
    >>> from discern.evaluation.decisions import MostRecall
    >>> rows = [{"label": "ham", "text": f"w{i % 3} x{i % 4}"} for i in range(60)]
    >>> rows += [{"label": "spam", "text": f"w{i % 3} y{i % 4}"} for i in range(60)]
    >>> model = Classifier().fit(rows)
    >>> chosen = choose_decision(model, rows, "spam", MostRecall(false_positive_rate=0.01))
    >>> chosen.recall, chosen.false_positive_rate
    (1.0, 0.0)
    """
    if positive not in classifier.labels:
        raise ValueError(f"unknown label {positive!r}{did_you_mean(positive, classifier.labels)}")
    if held_out:
        evaluation = classifier.evaluate(data, reading=reading)
    else:
        evaluation = cross_validate(classifier, data, folds, reading=reading).total
    rows = evaluation.predictions
    return choose_threshold(rows.true_labels, rows.probabilities, rows.columns, positive, rule)
