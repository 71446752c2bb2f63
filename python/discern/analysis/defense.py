"""Defenses against adversarial senders: words added to look harmless, and wrong labels.

A sender who adds words of "ham" (the good-word attack of Lowd and Meek, 2005) outweighs any sum over all words.
:class:`Guard` uses only words and pairs of words with a positive weight for the guarded label: s = (sum of the
strongest n of them) / (their number + 10)^p. Words of other labels do not change s, however many are added. The
divisor keeps long messages, which contain a few of all words, from being caught. Each row of the training data is
scored by a model of the other parts of it. From these scores come the threshold, the lowest that catches no more than
a given share of the rows of other labels, and the form (n and p) that then catches most.

:func:`doubtful` finds labels that are probably wrong: rows to which the model of all other rows gives their own label
the lowest probability.
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
from discern.models.validation.held_out import held_out
from discern.models.validation.rows import Folds, Sample, row_keys

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

FORMS = tuple((words, power) for words in (10, 20, 40, 80) for power in (0.125, 0.25, 0.375, 0.5, 0.75))
"""The number of strongest terms that are added up, and the power of the number of terms that divides the sum."""
FOLDS = 3
"""Parts of the rows. Each is scored by a model of the others, to choose form and threshold."""
SMOOTHING = 0.1


@dataclass(frozen=True)
class Guard:
    """A second check of messages, which words added to them cannot change.

    Make one with :meth:`fit`; use it beside a classifier: a message is caught if either catches it.

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
            raise DataError(f"there are too few rows of other labels than {label!r} to choose a threshold")
        thresholds = np.quantile(scores[~mine], 1.0 - most_caught, axis=0, method="higher")
        best = int(np.argmax((scores[mine] > thresholds).sum(axis=0)))
        return cls(classifier, label, float(thresholds[best]), FORMS[best])

    def scores(self, texts: Any) -> Array:
        """Return the score of each text: the weight of its strongest words for the guarded label."""
        [batch] = batches({"text": texts})
        return strongest(self.classifier, batch.texts("text"), self.label, [self.form])[:, 0]

    def catches(self, texts: Any) -> NDArray[np.bool_]:
        """Return which texts are caught."""
        return np.asarray(self.scores(texts) > self.threshold)


def strongest(classifier: Classifier, texts: Any, label: str, forms: Sequence[tuple[int, float]]) -> Array:
    """Add up the strongest terms of each text for a label, against the best of the others, by each form."""
    _check(classifier, label)
    column = classifier.solved.only_text  # type: ignore[union-attr]
    assert column is not None
    place = classifier.labels.index(label)
    found, _ = column.vocabulary.rows(texts, 1)
    weights = column.scores.at(found.terms)
    others = np.delete(weights, place, axis=1)
    gains = weights[:, place] - (others.max(axis=1) if others.shape[1] else 0.0)
    count = len(found.starts) - 1
    rows = np.repeat(np.arange(count), np.diff(found.starts))
    rows, gains = rows[gains > 0], gains[gains > 0]
    order = np.lexsort((-gains, rows))
    rows, gains = rows[order], gains[order]
    rank = np.arange(len(rows)) - np.searchsorted(rows, rows)
    spread = np.bincount(rows, minlength=count) + 10.0
    sums = (np.bincount(rows[rank < words], gains[rank < words], count) / spread**power for words, power in forms)
    return np.column_stack(list(sums))


def _check(classifier: Classifier, label: str) -> None:
    if classifier.solved.only_text is None:  # type: ignore[union-attr]
        raise ValueError("a guard needs naive Bayes on one text column")
    if label not in classifier.labels:
        raise ValueError(f"unknown label {label!r}{did_you_mean(label, classifier.labels)}")


def _held_out(whole: list[Batch], label: str, text: str, label_column: str) -> tuple[Array, NDArray[np.bool_]]:
    """Score each row by a model of the parts that it is not in, by each form; return which have the label."""
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
        raise DataError(f"there are too few rows of label {label!r} to choose a threshold")
    return np.concatenate(scores), np.concatenate(mine)


def doubtful(data: Any, share: float = 0.01, *, text: str = "text", label_column: str = "label") -> NDArray[np.bool_]:
    """Return which rows contradict all others most: up to a share of them, if another label is more probable.

    Leave them out, or look at them, before training. Naive Bayes predicts each without the row itself.

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
    folds = Folds.one_by_one(np.argsort(sample.keys, kind="stable").astype(np.int64))
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
