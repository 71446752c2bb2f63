"""Validation without training again: a fold's model is the total minus the fold.

From one counting pass come the exact scores of every row under the model that never saw it. By them the smoothing, the
event model, the n-grams and the treatment of numbers are chosen (log loss after calibration: raw posteriors of naive
Bayes are too sure of themselves and mislead), and the calibration is fitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.data.bins import edges
from discern.data.roles import Feature
from discern.data.text import TextSettings
from discern.data.threads import default_threads
from discern.evaluation.calibration import Temperature
from discern.learners.bayes import EVENT_MODELS, NaiveBayesSettings, log_priors
from discern.learners.smoothing import Dirichlet, JelinekMercer, Laplace, Smoothing
from discern.models.columns.kind import Scores
from discern.models.naive_bayes import solve_columns
from discern.models.resolved import Resolved
from discern.models.rows import LEAST_VALIDATED as LEAST_VALIDATED
from discern.models.rows import MOST_VALIDATED, Folds, Sample, stratified
from discern.statistics.sums import Sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

FEW_VALIDATED, MOST_FINALISTS = 1000, 5
"""The number of held-out rows that all candidates are evaluated on; the number of candidates evaluated on more."""
AS_GOOD = 1.005
"""Log losses within this factor are alike; then the share of right decisions counts."""
CLEARLY_LESS = 1.01
"""Stems take time, hang on a language and are no words to read: log loss must fall so much, and more rows be right."""
FOLDS = 10
"""Where every weight changes with a held-out row, each fold is solved again: then there are few folds."""
CALIBRATION_FOLDS = 2
"""The calibration is fitted on so many folds. Rows to come are less like those learned than rows left out one by one,
which have near-duplicates there; halves have fewer."""
MOST_TERMS = (100_000, 30_000, 10_000, 3_000, 1_000)
"""The numbers of selected terms to choose from, beside all."""
SELECTION_FOLDS = 5
CONTRAST_SMOOTHINGS, OWN_SHARES = tuple(Laplace(alpha) for alpha in (1.0, 0.3, 0.1, 0.03)), (0.5, 0.2, 0.0)
"""How models that compare a class with the rest are tried: beside the smoothing found these, and the class's share."""
CLEAR = 2.0
"""A model is right clearly more often than another if by so many standard errors of the difference."""
BINS = 10
"""Bins of a number that is cut without looking at the classes."""
SMOOTHINGS: tuple[Smoothing, ...] = (
    *(Laplace(alpha) for alpha in (1.0, 0.3, 0.1, 0.03, 0.01)),
    *(JelinekMercer(weight) for weight in (0.1, 0.2, 0.3, 0.5, 0.7, 0.9)),
    *(Dirichlet(mass) for mass in (100.0, 1000.0)),
)


# ------------------------------------------------------------------------------------------------- scores


def held_out(
    sample: Sample,
    features: Sequence[Feature],
    settings: NaiveBayesSettings,
    text: TextSettings,
    folds: Folds,
    min_df: int = 1,
) -> Scores:
    """Score rows under the model of all rows but their fold's: exactly as if trained again."""
    has_text = any(feature.role == "text" for feature in features)
    if has_text and (settings.event_model.held_out == "solve" or settings.most_terms is not None):
        return _trained_again(sample, features, settings, text, folds, min_df)
    if has_text and settings.event_model.held_out == "contrast":
        return contrasted(sample, features, [settings], text, folds, min_df)[0]
    scored, lengths = _scores(sample, features, settings, text, folds, min_df)
    return Scores(_held_out_priors(sample, settings, folds) + scored, lengths, np.zeros(len(lengths), np.int64))


def _scores(
    sample: Sample,
    features: Sequence[Feature],
    settings: NaiveBayesSettings,
    text: TextSettings,
    folds: Folds,
    min_df: int,
) -> tuple[Array, NDArray[np.int64]]:
    """Add up the scores of columns, and how many terms of each row they know."""
    scores: Array = np.zeros((len(folds.order), len(sample.labels)))
    lengths = np.zeros(len(folds.order))
    for feature in features:
        own, known = sample.column(feature, text).scores(settings, folds, min_df, sample.threads or default_threads())
        scores, lengths = scores + own, lengths + known
    return scores, lengths.astype(np.int64)


def contrasted(
    sample: Sample,
    features: Sequence[Feature],
    models: Sequence[NaiveBayesSettings],
    text: TextSettings,
    folds: Folds,
    min_df: int = 1,
) -> list[Scores]:
    """Score rows as :func:`held_out` does by models that compare a class with the rest; all count terms alike."""
    texts, others = ([one for one in features if (one.role == "text") == is_text] for is_text in (True, False))
    smoothings = list(dict.fromkeys(one.smoothing for one in models))
    columns = [sample.text(one.name, text).contrasts(smoothings, models[0].presence, folds, min_df) for one in texts]
    nothing, found = np.zeros(len(folds.order), np.int64), []
    for one in models:
        scores, lengths = _scores(sample, others, one, text, folds, min_df) if others else (0.0, nothing)
        share = one.own if one.contrasts else 0.0
        for scored, known in columns:
            own, rest = scored[smoothings.index(one.smoothing)]
            scores = scores + (share * own if share else 0.0) + ((1 - share) * rest if share < 1 else 0.0)
            lengths = lengths + known
        found.append(Scores(np.asarray(scores), lengths, nothing))
    return found


def _held_out_priors(sample: Sample, settings: NaiveBayesSettings, folds: Folds) -> Array:
    """Return the log prior of each row's fold; a class that is wholly left out has none."""
    width = len(sample.labels)
    total = np.bincount(sample.classes, minlength=width)
    removed = np.zeros((len(folds.ends), width), np.int64)
    np.add.at(removed, (folds.numbers, sample.classes[folds.order]), 1)
    left = total - removed
    with np.errstate(divide="ignore"):
        if settings.priors == "data":
            priors = np.log(left) - np.log(np.maximum(left.sum(axis=1, keepdims=True), 1))
        else:
            priors = np.where(left > 0, log_priors(sample.labels, total, settings.priors), -np.inf)
    return np.asarray(priors[folds.numbers])


def _trained_again(
    sample: Sample,
    features: Sequence[Feature],
    settings: NaiveBayesSettings,
    text: TextSettings,
    folds: Folds,
    min_df: int,
) -> Scores:
    """Do the same by solving each fold's sums: for event models that change with every row left out."""
    columns = [sample.column(feature, text) for feature in features]
    total = np.bincount(sample.classes, minlength=len(sample.labels)).astype(np.int64)
    parts = []
    for fold, *statistics in zip(folds, *(column.without(folds) for column in columns), strict=True):
        class_rows = total - np.bincount(sample.classes[fold], minlength=len(sample.labels))
        left = Sums(sample.labels, class_rows, tuple(statistics)).without_zeros()
        model = solve_columns(left, features, settings, text, min_df)
        places = [sample.labels.index(label) for label in model.labels]
        scores = np.full((len(fold), len(sample.labels)), -np.inf)
        scores[:, places], lengths = model.start, np.zeros(len(fold), np.int64)
        for solved, column in zip(model.columns, columns, strict=True):
            own, known = solved.of_rows(column.take(fold))
            scores[:, places] += own
            lengths += known
        parts.append((scores, lengths))
    scores, lengths = (np.concatenate(each) for each in zip(*parts, strict=True))
    return Scores(scores, lengths, np.zeros(len(lengths), np.int64))


# ------------------------------------------------------------------------------------------------- choosing


def evaluate(sample: Sample, choice: Resolved, folds: Folds, min_df: int) -> Resolved:
    """Fit the calibration of a choice and evaluate it on held-out rows."""
    found = held_out(sample, choice.features, choice.naive_bayes, choice.text, folds, min_df)
    return evaluated(choice, found, sample.classes[folds.order])


def evaluated(choice: Resolved, found: Scores, classes: NDArray[np.int32]) -> Resolved:
    """Like :func:`evaluate`, but from scores of held-out rows."""
    finite = np.where(np.isneginf(found.scores), -1e300, found.scores)
    calibration = Temperature.fit(found.scores, classes, found.known if np.ptp(found.known) else None)
    probabilities = calibration(finite, found.known)
    right = np.maximum(probabilities[np.arange(len(classes)), classes], 1e-12)
    return replace(
        choice,
        calibration=calibration,
        log_loss=float(-np.log(right).mean()),
        accuracy=float((finite.argmax(axis=1) == classes).mean()),
        rows=len(classes),
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
) -> Resolved:
    """Choose by leaving out rows one by one: the treatment of numbers, event model and smoothing, n-grams, stems,
    priors; by folds, the number of terms.

    Every candidate is calibrated before it is evaluated: all of them on few rows, the best of them on more.
    """
    has_text = any(feature.role == "text" for feature in start.features)
    candidates = smoothings if has_text else [one for one in smoothings if isinstance(one, Laplace)]
    few, many = sample.left_out(FEW_VALIDATED), sample.left_out()
    if has_text and start.naive_bayes.event_model.held_out != "subtract":
        few = many = stratified(sample.classes, sample.keys, min(FOLDS, sample.rows))

    def ranked(choices: Sequence[Resolved], folds: Folds) -> list[Resolved]:
        return sorted((evaluate(sample, one, folds, min_df) for one in choices), key=lambda one: one.log_loss)

    found = start
    if numbers and any(feature.role == "number" for feature in start.features):
        ways = [replace(start, features=with_numbers(sample, start.features, way)) for way in numbers]
        found = best(ranked(ways, few)) if len(ways) > 1 else ways[0]
    if ngrams and has_text:
        found = replace(found, text=replace(found.text, ngrams=max(ngrams)))
    direct = [event for event in events if EVENT_MODELS[event].has_prior] if has_text else []
    tried = [_changed(found, event, one) for event in direct for one in candidates]
    tried = tried or [_changed(found, found.naive_bayes.event, one) for one in candidates] or [found]
    found = best(ranked(ranked(tried, few)[:MOST_FINALISTS], many))
    for span in ngrams if has_text else ():
        if span != found.text.ngrams:
            near = _near(found.naive_bayes.smoothing, candidates)
            other = replace(found, text=replace(found.text, ngrams=span))
            found = best([found, *ranked([_changed(other, other.naive_bayes.event, one) for one in near], many)])
    if stems and has_text and (language := _language(sample, found)):
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
    final = evaluate(sample, found, stratified(sample.classes, sample.keys, CALIBRATION_FOLDS), min_df)
    return replace(found, calibration=final.calibration)


def _language(sample: Sample, choice: Resolved) -> str | None:
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
    folds = stratified(sample.classes, sample.keys, min(SELECTION_FOLDS, sample.rows)).holding(MOST_VALIDATED)
    classes = sample.classes[folds.order]
    event = "binary-contrast" if found.naive_bayes.presence else "contrast"
    near = _near(found.naive_bayes.smoothing, SMOOTHINGS) if isinstance(found.naive_bayes.smoothing, Laplace) else []
    smoothings = dict.fromkeys([*CONTRAST_SMOOTHINGS, *near])
    models = [
        replace(found.naive_bayes, event=event, smoothing=one, own=own) for one in smoothings for own in OWN_SHARES
    ]
    answers = [
        held_out(sample, found.features, found.naive_bayes, found.text, folds, min_df),
        *contrasted(sample, found.features, models, found.text, folds, min_df),
    ]
    rights = [_rights(scored, classes) for scored in answers]
    # All are calibrated that may win: found itself, and those that are right most often.
    order = [0, *sorted(range(1, len(answers)), key=lambda place: -rights[place].mean())[:MOST_FINALISTS]]
    choices = [found, *(replace(found, naive_bayes=one) for one in models)]
    finalists = [evaluated(choices[place], answers[place], classes) for place in order]
    chosen, sharpest = best(finalists), max(finalists, key=lambda choice: choice.accuracy)
    gains = rights[order[finalists.index(sharpest)]] - rights[order[finalists.index(chosen)]]
    return sharpest if gains.mean() > CLEAR * gains.std() / len(gains) ** 0.5 else chosen


def _rights(scored: Scores, classes: NDArray[np.int32]) -> Array:
    return np.asarray(scored.scores.argmax(axis=1) == classes, np.float64)


def _with_priors(choice: Resolved, priors: str) -> Resolved:
    return replace(choice, naive_bayes=replace(choice.naive_bayes, priors=priors))


def _with_fewer_terms(sample: Sample, found: Resolved, numbers: Sequence[int], min_df: int) -> Resolved:
    """Choose how many terms are used: the fewest of those that are alike. Terms are selected anew for each fold."""
    texts = [sample.text(feature.name, found.text) for feature in found.features if feature.role == "text"]
    largest = max(len(column.terms) for column in texts)
    folds = stratified(sample.classes, sample.keys, min(SELECTION_FOLDS, sample.rows))
    fewer = [replace(found.naive_bayes, most_terms=most) for most in sorted(numbers) if most < largest]
    choices = [evaluate(sample, replace(found, naive_bayes=one), folds, min_df) for one in (*fewer, found.naive_bayes)]
    return best(choices)


def _changed(choice: Resolved, event: str, smoothing: Smoothing) -> Resolved:
    return replace(choice, naive_bayes=replace(choice.naive_bayes, event=event, smoothing=smoothing))


def _near(smoothing: Smoothing, candidates: Sequence[Smoothing]) -> list[Smoothing]:
    """Return a smoothing with its neighbours of the same kind."""
    kind = [other for other in candidates if type(other) is type(smoothing)]
    if smoothing not in kind:
        return [smoothing] if kind or not candidates else []
    place = kind.index(smoothing)
    return kind[max(place - 1, 0) : place + 2]


def with_numbers(sample: Sample, features: Sequence[Feature], way: str) -> tuple[Feature, ...]:
    """Assign all numbers their bins, or none."""
    return tuple(
        cut(feature, sample.numbers(feature.name), sample.classes, way) if feature.role == "number" else feature
        for feature in features
    )


def cut(feature: Feature, values: Array, classes: NDArray[Any], way: str) -> Feature:
    """Assign a number its bins, or none if it shall have normal densities."""
    if way == "gaussian":
        return replace(feature, edges=None)
    return replace(feature, edges=tuple(edges(values, classes, way, BINS).tolist()))
