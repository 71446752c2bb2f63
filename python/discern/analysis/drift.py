"""A model of the most recent rows, and the terms that changed between two models."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from discern.classifier import Classifier
from discern.data.batch import Batch
from discern.data.readers import batches
from discern.data.source import Reading


class Window:
    """A classifier of the last rows or days: it learns new rows and forgets old ones.

    At any time the model has the same bytes as one that was trained with its settings on the rows of the window alone.
    The window keeps these rows, to subtract them later. :meth:`Classifier.decay` forgets gradually without keeping
    rows, but not exactly.

    Parameters
    ----------
    classifier : Classifier
        Not yet fitted. What it chooses by validation is chosen by the first rows.
    rows : int, optional
        How many rows the window holds.
    days : float, optional
        How many days it reaches back from the latest rows.

    Examples
    --------
    >>> window = Window(Classifier(text="text", smoothing=1.0), rows=2)
    >>> for word, label in [("win", "spam"), ("lunch", "ham"), ("prize", "spam")]:
    ...     _ = window.learn([{"label": label, "text": word}])
    >>> window.model.rows, window.model.solved.only_text.terms.to_list()
    (2, ['lunch', 'prize'])
    """

    def __init__(self, classifier: Classifier, *, rows: int | None = None, days: float | None = None) -> None:
        if (rows is None) == (days is None):
            raise ValueError("pass either rows or days")
        if not (rows or days or 0) > 0:
            raise ValueError("rows or days must be above 0")
        self.model = classifier
        self._rows = rows
        self._reach = None if days is None else timedelta(days=days)
        self._window: deque[tuple[datetime, Batch]] = deque()
        self._lock = threading.Lock()

    def learn(self, data: Any, when: datetime | None = None, *, reading: Reading | None = None) -> Classifier:
        """Learn rows of a time, by default now, and forget those that are now outside, or change nothing.

        Returns the classifier.
        """
        when = when or datetime.now()
        new = [batch for batch in batches(data, reading) if batch.rows]
        with self._lock:
            if self._window and when < self._window[-1][0]:
                raise ValueError(f"rows must be in time order: {when} is before {self._window[-1][0]}")
            window = deque([*self._window, *((when, batch) for batch in new)])
            old = (
                _older_than(window, when - self._reach) if self._reach is not None else _beyond(window, self._rows or 0)
            )
            if not self.model.is_fitted and new:
                self.model.learn(iter(new))
                new = []
            if old or new:
                self.model.relabel(iter(old), iter(new))
            self._window = window
        return self.model


def _older_than(window: deque[tuple[datetime, Batch]], limit: datetime) -> list[Batch]:
    """Remove the rows before a time, and return them."""
    old = []
    while window and window[0][0] < limit:
        old.append(window.popleft()[1])
    return old


def _beyond(window: deque[tuple[datetime, Batch]], most: int) -> list[Batch]:
    """Remove the oldest rows until ``most`` are left, and return them."""
    surplus, old = sum(batch.rows for _, batch in window) - most, []
    while surplus > 0:
        when, batch = window.popleft()
        first = np.arange(batch.rows) < surplus
        old.append(batch.take(first))
        if not first.all():
            window.appendleft((when, batch.take(~first)))
        surplus -= int(first.sum())
    return old


@dataclass(frozen=True)
class Drift:
    """How the log odds of a label, given a term, moved from one model to another, in nats.

    Examples
    --------
    >>> Drift("free", "spam", before=1.5, after=0.5).change
    -1.0
    """

    term: str
    label: str
    before: float
    after: float

    @property
    def change(self) -> float:
        """By how much the log odds moved."""
        return self.after - self.before


def drift(before: Classifier, after: Classifier, top: int = 20) -> list[Drift]:
    """Return the terms whose log odds moved most between two models; a term that a model does not know counts as 0.

    Examples
    --------
    >>> old = Classifier(smoothing=1.0).fit([{"label": "spam", "text": "win"}, {"label": "ham", "text": "lunch"}])
    >>> new = Classifier(smoothing=1.0).fit([{"label": "spam", "text": "win"}, {"label": "ham", "text": "win"}])
    >>> [(moved.term, moved.label, round(moved.change, 2)) for moved in drift(old, new, top=1)]
    [('lunch', 'ham', -0.69)]
    """
    labels = sorted({*before.labels} & {*after.labels})
    if not labels:
        raise ValueError("the two models have no label in common")
    moved = []
    for label in labels:
        old, new = (dict(model.weights(label, model.solved.parameters)) for model in (before, after))
        for term in {*old, *new}:
            moved.append(Drift(term, label, old.get(term, 0.0), new.get(term, 0.0)))
    return sorted(moved, key=lambda one: (-abs(round(one.change, 9)), one.term, one.label))[:top]
