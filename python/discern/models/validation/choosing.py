"""Choosing settings by the scores of held-out rows, and fitting the calibration to them.

Smoothing, event model, n-grams and the treatment of numbers are chosen by the log loss after calibration: the raw
posteriors of naive Bayes are overconfident and mislead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from discern.data.bins import edges, without_values
from discern.data.roles import LENGTH, Feature
from discern.evaluation.novelty import Novelty, entropy
from discern.learners.bayes import EVENT_MODELS, posterior
from discern.learners.smoothing import Dirichlet, JelinekMercer, Laplace, Smoothing
from discern.models.resolved import Resolved
from discern.models.validation.held_out import NEVER, contrasted, held_out, penalty_of
from discern.models.validation.rows import LEAST_VALIDATED as LEAST_VALIDATED
from discern.models.validation.rows import MOST_COMPARED_CELLS, MOST_VALIDATED, Folds, Sample
from discern.models.validation.views import add_views

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discern.evaluation.scaling import EvidenceScaling
    from discern.models.validation.held_out import HeldOut

    Array = NDArray[np.float64]

FEW_VALIDATED, MOST_FINALISTS = 1000, 5
"""The number of held-out rows that all candidates are evaluated on; the number of candidates evaluated on more."""
AS_GOOD = 1.005
"""Log losses within this factor are alike; then the share of right decisions counts."""
CLEARLY_LESS = 1.01
"""Stems take time, depend on a language and are not readable: log loss must fall this much, and accuracy rise."""
FOLDS = 10
"""Where every weight changes with a held-out row, each fold is solved again: then there are few folds."""
CALIBRATION_FOLDS, MOST_CALIBRATED = 5, 20_000
"""The number of folds that fit the calibration, and the most rows. Rows to come are less like those learned
than rows of leave-one-out, which have near-duplicates there."""
MOST_LABELS, MOST_VIEWED_LABELS = 250, 1000
"""The most labels whose rows choose settings; the calibration is fitted to all. With more labels than the second
number no views are tried: each takes as much memory as the words, for every label."""
MOST_TERMS = (100_000, 30_000, 10_000, 3_000, 1_000)
"""The numbers of selected terms to choose from, beside all."""
SELECTION_FOLDS = 5
CONTRAST_SMOOTHINGS, OWN_SHARES = tuple(Laplace(alpha) for alpha in (1.0, 0.3, 0.1, 0.03)), (0.5, 0.2, 0.0)
"""How models that compare a class with the rest are tried: beside the smoothing found these, and the class's share."""
CLEAR = 2.0
"""One model is clearly more accurate than another if by this many standard errors of the difference."""
MOST_RECUT, MOST_RECUT_CELLS, FEWEST_RECUT = 1000, 200_000, 3
"""Up to this number of rows, numbers are cut again for each fold when their treatment is chosen. There are at least
three folds, and fewer than ten where all folds together would have more than this number of rows × columns."""
MOST_RECUT_COLUMNS = 100
"""How numbers are treated is chosen by at most this number of columns."""
MOST_VALIDATED_CELLS = 100_000
"""Rows × columns left out one by one at most, if these are more than FEW_VALIDATED rows."""
BINS = 10
"""Bins of a number that is cut without looking at the classes."""
SMOOTHINGS: tuple[Smoothing, ...] = (
    *(Laplace(alpha) for alpha in (1.0, 0.3, 0.1, 0.03, 0.01)),
    *(JelinekMercer(weight) for weight in (0.1, 0.2, 0.3, 0.5, 0.7, 0.9)),
    *(Dirichlet(mass) for mass in (100.0, 1000.0)),
)


# ------------------------------------------------------------------------------------------------- choosing


def evaluate(sample: Sample, choice: Resolved, folds: Folds, min_df: int) -> Resolved:
    """Fit the calibration of a choice and evaluate it on held-out rows."""
    return evaluated(choice, held_out(sample, choice.features, choice.naive_bayes, choice.text, folds, min_df))


def evaluated(choice: Resolved, found: HeldOut) -> Resolved:
    """Like :func:`evaluate`, but from scores of held-out rows."""
    calibration = found.calibration()
    right = found.calibrated(calibration).argmax(axis=1) == found.classes
    return replace(
        choice,
        calibration=calibration,
        log_loss=float(found.losses(calibration).mean()),
        accuracy=float(right.mean()),
        rows=len(right),
    )


def best(choices: Sequence[Resolved]) -> Resolved:
    """Return the most accurate of the choices with nearly the least log loss; the first of equals."""
    least = min(choice.log_loss for choice in choices)
    alike = [choice for choice in choices if choice.log_loss <= AS_GOOD * least]
    return max(alike, key=lambda choice: choice.accuracy)


def choose(
    sample: Sample,
    start: Resolved,
    min_df: int,
    *,
    smoothings: Sequence[Smoothing] = SMOOTHINGS,
    events: Sequence[str] = (),
    ngrams: Sequence[tuple[int, int]] = (),
    stems: bool = False,
    numbers: Sequence[str] = (),
    priors: Sequence[str] = (),
    most_terms: Sequence[int] = (),
    views: Sequence[str] = (),
) -> Resolved:
    """Choose by leave-one-out: the treatment of numbers, event model and smoothing, n-grams, stems,
    priors; by folds, the number of terms.

    Every candidate is calibrated before it is evaluated: all of them on few rows, the best of them on more.
    """
    whole, sample = sample, sample.with_labels(MOST_LABELS)
    has_text = any(feature.role == "text" for feature in start.features)
    candidates = smoothings if has_text else [one for one in smoothings if isinstance(one, Laplace)]
    few, many = (sample.left_out(most, MOST_COMPARED_CELLS) for most in (FEW_VALIDATED, most_validated(start)))
    if has_text and start.naive_bayes.event_model.held_out != "subtract":
        few = many = sample.folds(FOLDS, MOST_VALIDATED, MOST_COMPARED_CELLS)

    def ranked(choices: Sequence[Resolved], folds: Folds) -> list[Resolved]:
        return sorted((evaluate(sample, one, folds, min_df) for one in choices), key=lambda one: one.log_loss)

    found = start
    if numbers and any(feature.role == "number" for feature in start.features):
        way = numbers[0] if len(numbers) == 1 else _way(sample, start, numbers, few, min_df)
        found = replace(start, features=with_numbers(sample, start.features, way))
    if ngrams and has_text:
        found = replace(found, text=replace(found.text, ngrams=max(ngrams)))
    candidates = candidates if any(map(is_smoothed, found.features)) else candidates[:1]
    direct = [event for event in events if EVENT_MODELS[event].has_prior] if has_text else []
    tried = [_changed(found, event, one) for event in direct for one in candidates]
    tried = tried or [_changed(found, found.naive_bayes.event, one) for one in candidates] or [found]
    found = best(ranked(ranked(tried, few)[:MOST_FINALISTS], many))
    for span in ngrams if has_text else ():
        if span != found.text.ngrams:
            near = _near(found.naive_bayes.smoothing, candidates)
            other = replace(found, text=replace(found.text, ngrams=span))
            found = best([found, *ranked([_changed(other, other.naive_bayes.event, one) for one in near], many)])
    if stems and has_text and (language := language_in(sample, found)):
        stemmed = evaluate(sample, replace(found, text=replace(found.text, stem=language)), many, min_df)
        if stemmed.log_loss < found.log_loss:
            near = [one for one in _near(found.naive_bayes.smoothing, candidates) if one != found.naive_bayes.smoothing]
            others = ranked([_changed(stemmed, stemmed.naive_bayes.event, one) for one in near], many)
            found = _if_clearly_better(best([stemmed, *others]), found)
    if "contrast" in events and has_text and len(sample.labels) > 2:
        found = _or_contrast(sample, found, min_df)
    if priors:
        found = best([found, *ranked([_with_priors(found, one) for one in priors[1:]], many)])
    if most_terms and has_text:
        found = _with_fewer_terms(sample, found, most_terms, min_df)
    if len(whole.labels) > MOST_VIEWED_LABELS:
        views = [view for view in views if view == LENGTH]
    found = add_views(sample, found, views, smoothings, min_df) if has_text and views else found
    final = held_out(
        whole, found.features, found.naive_bayes, found.text, whole.folds(CALIBRATION_FOLDS, MOST_CALIBRATED), min_df
    )
    found = replace(found, calibration=final.with_masks().calibration())
    return replace(found, novelty=novelty_of(whole, found, min_df))


def most_validated(choice: Resolved) -> int:
    """Return how many rows are left out one by one: the more columns, the fewer."""
    return max(min(MOST_VALIDATED, MOST_VALIDATED_CELLS // max(len(choice.features), 1)), FEW_VALIDATED)


def is_smoothed(feature: Feature) -> bool:
    """Return whether counts of a column are smoothed; normal densities are not."""
    return not feature.is_normal and feature.role != "vector"


def novelty_of(sample: Sample, found: Resolved, min_df: int) -> Novelty:
    """Take the novelty of rows by leave-one-out; of few folds where each is solved again."""
    settings, features = found.naive_bayes, found.columns
    one_by_one = settings.event_model.held_out == "subtract" and settings.most_terms is None
    folds = sample.left_out(most_validated(found)) if one_by_one else sample.folds(FOLDS, MOST_VALIDATED)
    scored = held_out(sample, found.features, settings, found.text, folds, min_df)
    shares = posterior(np.maximum(scored.calibrated(cast("EvidenceScaling", found.calibration)), NEVER))
    generative = held_out(sample, features, settings.generative, found.text, folds, min_df)
    sizes = [sample.column(feature, found.text).sizes(settings.presence)[folds.order] for feature in features]
    terms = sum(len(sample.text(one.name, found.text).terms) for one in features if one.role == "text")
    surprise = generative.surprise(sizes, penalty_of(terms))
    return Novelty.fit(surprise, entropy(shares))


def _way(sample: Sample, start: Resolved, ways: Sequence[str], few: Folds, min_df: int) -> str:
    """Choose how numbers are modeled; of very many columns of numbers, by some of them.

    On few rows it is the first of the ways, or another that is better beyond chance. There bins are cut anew for each
    fold: where those that separate the classes have seen the classes of held-out rows, they look better than they are.
    """
    start = replace(start, features=_some_numbers(start.features))
    if sample.rows > MOST_RECUT:
        choices = [replace(start, features=with_numbers(sample, start.features, way)) for way in ways]
        evaluated = [evaluate(sample, choice, few, min_df) for choice in choices]
        return ways[evaluated.index(best(sorted(evaluated, key=lambda one: one.log_loss)))]
    n_folds = min(max(MOST_RECUT_CELLS // (sample.rows * len(start.features)), FEWEST_RECUT), FOLDS)
    folds = sample.folds(n_folds, MOST_RECUT, MOST_COMPARED_CELLS)
    found = [_recut(sample, start, way, folds, min_df) for way in ways]
    losses = [one.losses(one.calibration()) for one in found]
    place = int(np.argmin([one.mean() for one in losses]))
    gains = losses[0] - losses[place]
    return ways[place] if gains.mean() > gains.std() / len(gains) ** 0.5 else ways[0]


def _some_numbers(features: tuple[Feature, ...]) -> tuple[Feature, ...]:
    """Return the columns, with at most MOST_RECUT_COLUMNS of numbers, spread evenly over all of these."""
    numbers = [place for place, feature in enumerate(features) if feature.role == "number"]
    if len(numbers) <= MOST_RECUT_COLUMNS:
        return features
    kept = {numbers[place] for place in np.linspace(0, len(numbers) - 1, MOST_RECUT_COLUMNS).astype(int).tolist()}
    return tuple(one for place, one in enumerate(features) if one.role != "number" or place in kept)


def _recut(sample: Sample, choice: Resolved, way: str, folds: Folds, min_df: int) -> HeldOut:
    """Score held-out rows, numbers cut by the rows outside each fold."""
    parts = []
    for fold in folds:
        is_left = np.ones(sample.rows, bool)
        is_left[fold] = False
        features = with_numbers(sample, choice.features, way, np.flatnonzero(is_left))
        alone = Folds(fold, np.array([len(fold)]))
        parts.append(held_out(sample, features, choice.naive_bayes, choice.text, alone, min_df))
    columns = tuple(
        (np.concatenate([scores for scores, _ in column]), np.concatenate([known for _, known in column]))
        for column in zip(*(part.columns for part in parts), strict=True)
    )
    classes, prior = (np.concatenate(part) for part in zip(*((one.classes, one.prior) for one in parts), strict=True))
    return replace(parts[0], classes=classes, prior=prior, columns=columns)


def language_in(sample: Sample, choice: Resolved) -> str | None:
    """Return the language that the texts seem to be in."""
    words = replace(choice.text, ngrams=(1, 1))
    languages = (sample.text(feature.name, words).language() for feature in choice.features if feature.role == "text")
    return next((language for language in languages if language), None)


def _if_clearly_better(choice: Resolved, other: Resolved) -> Resolved:
    is_better = choice.log_loss * CLEARLY_LESS <= other.log_loss and choice.accuracy > other.accuracy
    return choice if is_better else other


def _or_contrast(sample: Sample, found: Resolved, min_df: int) -> Resolved:
    """Return a model that compares a class with the rest, if it is better on the same folds.

    With two classes it adds nothing new. It is better if it has less log loss, or is right clearly more often.
    """
    folds = sample.folds(SELECTION_FOLDS, MOST_VALIDATED, MOST_COMPARED_CELLS)
    event = "binary-contrast" if found.naive_bayes.presence else "contrast"
    near = _near(found.naive_bayes.smoothing, SMOOTHINGS) if isinstance(found.naive_bayes.smoothing, Laplace) else []
    smoothings = dict.fromkeys([*CONTRAST_SMOOTHINGS, *near])
    models = [
        replace(found.naive_bayes, event=event, smoothing=one, own=own) for one in smoothings for own in OWN_SHARES
    ]
    scored = contrasted(sample, found.features, models, found.text, folds, min_df)
    rights = [(one.scores.argmax(axis=1) == one.classes).mean() for one in scored]
    order = sorted(range(len(models)), key=lambda place: -rights[place])[:MOST_FINALISTS]
    # All are calibrated that may win: found itself, and those that are right most often.
    finalists = [(found, held_out(sample, found.features, found.naive_bayes, found.text, folds, min_df))]
    for place, one in zip(
        order,
        contrasted(sample, found.features, [models[place] for place in order], found.text, folds, min_df),
        strict=True,
    ):
        finalists.append((replace(found, naive_bayes=models[place]), one))
    results = [evaluated(choice, one) for choice, one in finalists]
    chosen, sharpest = best(results), max(results, key=lambda choice: choice.accuracy)
    right_of = {id(result): _rights(one, result) for result, (_, one) in zip(results, finalists, strict=True)}
    gains = right_of[id(sharpest)] - right_of[id(chosen)]
    return sharpest if gains.mean() > CLEAR * gains.std() / len(gains) ** 0.5 else chosen


def _rights(found: HeldOut, choice: Resolved) -> Array:
    scores = found.calibrated(cast("EvidenceScaling", choice.calibration))
    return np.asarray(scores.argmax(axis=1) == found.classes, np.float64)


def _with_priors(choice: Resolved, priors: str) -> Resolved:
    return replace(choice, naive_bayes=replace(choice.naive_bayes, priors=priors))


def _with_fewer_terms(sample: Sample, found: Resolved, numbers: Sequence[int], min_df: int) -> Resolved:
    """Choose how many terms are used: the fewest of those that are alike. Terms are selected anew for each fold."""
    texts = [sample.text(feature.name, found.text) for feature in found.features if feature.role == "text"]
    largest = max(len(column.terms) for column in texts)
    folds = sample.folds(SELECTION_FOLDS, MOST_CALIBRATED)
    fewer = [replace(found.naive_bayes, most_terms=most) for most in sorted(numbers) if most < largest]
    choices = [evaluate(sample, replace(found, naive_bayes=one), folds, min_df) for one in (*fewer, found.naive_bayes)]
    return best(choices)


def _changed(choice: Resolved, event: str, smoothing: Smoothing) -> Resolved:
    return replace(choice, naive_bayes=replace(choice.naive_bayes, event=event, smoothing=smoothing))


def _near(smoothing: Smoothing, candidates: Sequence[Smoothing]) -> list[Smoothing]:
    """Return a smoothing with its neighbors of the same kind."""
    kind = [other for other in candidates if type(other) is type(smoothing)]
    if smoothing not in kind:
        return [smoothing] if kind or not candidates else []
    place = kind.index(smoothing)
    return kind[max(place - 1, 0) : place + 2]


def with_numbers(sample: Sample, features: Sequence[Feature], way: str, rows: Any = slice(None)) -> tuple[Feature, ...]:
    """Assign all numbers their bins, cut by all rows or some, or none."""
    return tuple(
        cut(feature, sample.numbers(feature.name)[rows], sample.classes[rows], way)
        if feature.role == "number"
        else feature
        for feature in features
    )


def cut(feature: Feature, values: Array, classes: NDArray[Any], way: str) -> Feature:
    """Assign a number its bins, or none if it shall have normal densities. No edge is a value of a row."""
    if way == "gaussian":
        return replace(feature, edges=None)
    return replace(feature, edges=tuple(without_values(edges(values, classes, way, BINS), values).tolist()))
