"""Columns that are scored together: numbers beside each other take one pass of native code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

import discern._native as _native
from discern.data.roles import numbers_of
from discern.models.columns.kind import Column, Scores
from discern.models.columns.number import LEAST_LIKELY

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discern.data.batch import Batch

    Array = NDArray[np.float64]

PLAIN = {int, float, type(None)}
"""The types of values that are numbers, whatever their column."""


@dataclass(frozen=True)
class _Step:
    """A column, or numbers that are scored together by ``scorer``."""

    columns: tuple[Column, ...]
    scorer: _native.NumberScorer | None

    def added(self, batch: Batch, threads: int, scores: Array | None) -> Scores:
        """Return the scores of the rows, added to ``scores``; these may be changed."""
        if self.scorer is None:
            found = self.columns[0].of_batch(batch, threads)
            return found if scores is None else Scores(scores + found.scores, found.known, found.unknown)
        if scores is None:
            scores = np.zeros((batch.rows, len(self.columns[0].labels)))
        known, unknown = self.scorer.add(_numbers(batch, [one.feature.name for one in self.columns]), scores, threads)
        return Scores(scores, known, unknown)


@dataclass(frozen=True)
class Together:
    """Columns of a model whose scores are added in their order.

    Examples
    --------
    >>> from discern import Classifier
    >>> rows = [{"label": "ab"[i % 2], "x": i % 2 + i / 9, "y": i * i} for i in range(9)]
    >>> model = Classifier(smoothing=1.0).fit(rows)
    >>> [len(step.columns) for step in Together.of(model.solved.columns).steps]
    [2]
    """

    steps: tuple[_Step, ...]

    @classmethod
    def of(cls, columns: Sequence[Column]) -> Together:
        """Join the columns of numbers that follow each other."""
        steps = list[_Step]()
        for are_numbers, group in groupby(columns, lambda column: column.numbers() is not None):
            run = tuple(group)
            if are_numbers:
                steps.append(_Step(run, _scorer(run)))
            else:
                steps += [_Step((column,), None) for column in run]
        return cls(tuple(steps))

    def score(self, batch: Batch, threads: int, start: Array | None = None) -> tuple[Scores, Scores]:
        """Return the scores of the rows, added to those that every row begins with.

        The second result has the numbers of known and unknown terms without derived columns.
        """
        scores = None if start is None else np.tile(start, (batch.rows, 1))
        counts = np.zeros((4, batch.rows), np.int64)
        for step in self.steps:
            found = step.added(batch, threads, scores)
            scores = found.scores
            counts[:2] += found.known, found.unknown
            if not step.columns[0].feature.is_derived:
                counts[2:] += found.known, found.unknown
        assert scores is not None
        return Scores(scores, counts[0], counts[1]), Scores(scores, counts[2], counts[3])


def _scorer(columns: Sequence[Column]) -> _native.NumberScorer:
    described = [described for column in columns if (described := column.numbers()) is not None]
    return _native.NumberScorer(described, len(columns[0].labels), LEAST_LIKELY)


def _numbers(batch: Batch, names: Sequence[str]) -> list[Array]:
    """Return the columns as numbers; those of one row at once."""
    values = [column[0] for name in names if type(column := batch.columns.get(name)) is list] if batch.rows == 1 else []
    if len(values) == len(names) and {*map(type, values)} <= PLAIN:
        try:
            row = np.array(values, np.float64)
        except OverflowError:
            row = np.array([np.inf])
        if not np.isinf(row).any():
            return list(row.reshape(-1, 1))
    return [np.ascontiguousarray(numbers_of(batch, name)) for name in names]
