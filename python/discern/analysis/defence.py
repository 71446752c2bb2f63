"""Defences for filters whose senders fight back: words added to look harmless, and labels that lie.

A sender who adds words that speak for "ham" (the good-word attack of Lowd and Meek, 2005) outweighs any sum over all
words. :class:`Guard` looks only at words and pairs of words that speak for the guarded label: s = (the strongest n of
them, added up) / (how many there are + 10)^p. What speaks for other labels does not change s at all, however much of it
is added; the divisor keeps long messages, which hold a few of everything, from being caught. Each row of the training
data is scored by a model of the other parts of it. By these scores the threshold is found, the lowest that catches no
more than a given share of the other labels' rows, and the form (n and p) that then catches most.

:func:`doubtful` finds labels that lie: rows to which the model of all other rows gives their own label the least.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.classifier import Classifier
from discern.data.batch import Batch, did_you_mean
from discern.data.readers import batches
from discern.data.roles import Feature
from discern.data.strings import DataError
from discern.data.text import TextSettings
from discern.learners.bayes import NaiveBayesSettings
from discern.models.rows import Sample, row_keys
from discern.models.validation import held_out

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

FORMS = tuple((words, power) for words in (10, 20, 40, 80) for power in (0.125, 0.25, 0.375, 0.5, 0.75))
"""How many of the strongest terms are added up, and the power of their number that the sum is divided by."""
FOLDS = 3
"""Each of so many parts of the rows is scored by a model of the others, to find form and threshold by."""
SMOOTHING = 0.1


@dataclass(frozen=True)
class Guard:
    """A second look at messages that cannot be talked out of its judgement by words added to them.

    Make one with :meth:`fit`; use it beside a classifier: a message is caught if either says so.

    Examples
    --------
    >>> spam = [{"label": "spam", "text": f"win cash prize{i % 7} now"} for i in range(30)]
    >>> ham = [{"label": "ham", "text": f"lunch at noon{i % 9} tomorrow"} for i in range(60)]
    >>> guard = Guard.fit(spam + ham, "spam")
    >>> guard.catches(["win cash now", "win cash now " + "lunch noon tomorrow " * 50, "lunch tomorrow"]).tolist()
    [True, True, False]
    """

    classifier: Classifier
    label: str
    threshold: float
    form: tuple[int, float]

    @classmethod
    def fit(
        cls, data: Any, label: str, *, text: str = "text", label_column: str = "label", most_caught: float = 0.005
    ) -> Guard:
        """Learn from rows; at most a share ``most_caught`` of the rows of other labels shall be caught."""
        if not 0 < most_caught < 1:
            raise ValueError(f"most_caught must be a share between 0 and 1, not {most_caught!r}")
        whole = [batch for batch in batches(data) if batch.rows]
        if not whole:
            raise DataError("there are no rows to learn from")
        classifier = _learned(whole, text, label_column)
        _check(classifier, label)
        scores, mine = _held_out(whole, label, text, label_column)
        if mine.all():
            raise DataError(f"there are too few rows of other labels than {label!r} to find a threshold by")
        thresholds = np.quantile(scores[~mine], 1.0 - most_caught, axis=0, method="higher")
        best = int(np.argmax((scores[mine] > thresholds).sum(axis=0)))
        return cls(classifier, label, float(thresholds[best]), FORMS[best])

    def scores(self, texts: Any) -> Array:
        """Return the score of each text: what its strongest words say for the guarded label."""
        [batch] = batches({"text": texts})
        return strongest(self.classifier, batch.texts("text"), self.label, [self.form])[:, 0]

    def catches(self, texts: Any) -> NDArray[np.bool_]:
        """Return which texts are caught."""
        return np.asarray(self.scores(texts) > self.threshold)


def strongest(classifier: Classifier, texts: Any, label: str, forms: Sequence[tuple[int, float]]) -> Array:
    """Add up the strongest terms of each text that speak for a label against the best of the others, by each form."""
    _check(classifier, label)
    column = classifier.solved.only_text  # type: ignore[union-attr]
    assert column is not None
    place = classifier.labels.index(label)
    found, _ = column.vocabulary.rows(texts, 1)
    weights = column.scores.at(found.terms)
    others = np.delete(weights, place, axis=1)
    said = weights[:, place] - (others.max(axis=1) if others.shape[1] else 0.0)
    count = len(found.starts) - 1
    rows = np.repeat(np.arange(count), np.diff(found.starts))
    rows, said = rows[said > 0], said[said > 0]
    order = np.lexsort((-said, rows))
    rows, said = rows[order], said[order]
    rank = np.arange(len(rows)) - np.searchsorted(rows, rows)
    spread = np.bincount(rows, minlength=count) + 10.0
    sums = (np.bincount(rows[rank < words], said[rank < words], count) / spread**power for words, power in forms)
    return np.column_stack(list(sums))


def _check(classifier: Classifier, label: str) -> None:
    if classifier.solved.only_text is None:  # type: ignore[union-attr]
        raise ValueError("a guard needs naive Bayes on one text column")
    if label not in classifier.labels:
        raise ValueError(f"there is no label {label!r}{did_you_mean(label, classifier.labels)}")


def _held_out(whole: list[Batch], label: str, text: str, label_column: str) -> tuple[Array, NDArray[np.bool_]]:
    """Score each row by a model of the parts that it is not in, by each form; say which have the label."""
    parts = [row_keys(batch, [text]) % np.uint64(FOLDS) for batch in whole]
    scores, mine = [], []
    for fold in range(FOLDS):
        inside = [batch.take(part == fold) for batch, part in zip(whole, parts, strict=True)]
        outside = [batch.take(part != fold) for batch, part in zip(whole, parts, strict=True)]
        if not sum(batch.rows for batch in inside) or not sum(batch.rows for batch in outside):
            continue
        rest = _learned(outside, text, label_column)
        if label not in rest.labels:
            continue
        scores += [strongest(rest, batch.texts(text), label, FORMS) for batch in inside]
        mine += [~_others(batch, label_column, label) for batch in inside]
    if not scores:
        raise DataError(f"there are too few rows of label {label!r} to find a threshold by")
    return np.concatenate(scores), np.concatenate(mine)


def doubtful(data: Any, share: float = 0.01, *, text: str = "text", label_column: str = "label") -> NDArray[np.bool_]:
    """Return which rows contradict all others most: up to a share of them, if they would be labelled otherwise.

    Leave them out, or look at them, before training. They are judged by naive Bayes without the row itself.

    Examples
    --------
    >>> rows = [{"label": "ab"[i % 2], "text": f"{'win' if i % 2 else 'lunch'} word{i % 5}"} for i in range(50)]
    >>> rows[7] = {"label": "a", "text": "win word2"}
    >>> np.flatnonzero(doubtful(rows, 0.1)).tolist()
    [7]
    """
    if not 0 <= share < 0.5:
        raise ValueError(f"share must be from 0 to below a half, not {share!r}")
    whole = [batch for batch in batches(data) if batch.rows]
    if not whole:
        return np.zeros(0, bool)
    sample = Sample.of(whole, label_column, [text], None)
    folds = sample.left_out(sample.rows)
    scores = held_out(sample, [Feature(text, "text")], NaiveBayesSettings("binary"), TextSettings(), folds).scores
    rows, own = np.arange(len(scores)), sample.classes[folds.order]
    mine = scores[rows, own].copy()
    scores[rows, own] = -np.inf
    against = np.nan_to_num(scores.max(axis=1, initial=-np.inf) - mine, nan=-np.inf)
    worst = np.argsort(-against, kind="stable")[: int(share * len(rows))]
    found = np.zeros(sample.rows, bool)
    found[folds.order[worst[against[worst] > 0]]] = True
    return found


def _learned(parts: list[Batch], text: str, label_column: str) -> Classifier:
    return Classifier(label_column, text=text, model="binary", smoothing=SMOOTHING, ngrams=(1, 2)).fit(iter(parts))


def _others(batch: Batch, label_column: str, label: str) -> NDArray[np.bool_]:
    """Return which rows have another label."""
    numbers, labels = batch.labels(label_column)
    return np.array([name != label for name in labels], bool)[numbers]
