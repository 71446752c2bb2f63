"""The subject of a report: a model, the rows to evaluate it on, and the evaluation."""

from __future__ import annotations

import copy
import os
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import discern.models.file as files
from discern.analysis.comparison import LoadedRows, stratified_folds
from discern.classifier import Classifier
from discern.data.source import Reading
from discern.data.vectors.column import is_sequence
from discern.evaluation.several.evaluation import MultilabelEvaluation

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_LABELS = 20
"""Labels in the explorer and in the list of strongest words."""
FOLDS = 10


@dataclass(frozen=True)
class Subject:
    """A model, the rows to evaluate it on, and the evaluation."""

    model: Any
    table: LoadedRows
    evaluation: Any
    """Of one label a row, or of several."""
    source: str
    model_name: str
    checksum: str | None
    positive: str

    @property
    def rows(self) -> Any:
        """The evaluated rows."""
        return self.evaluation.predictions

    @cached_property
    def true(self) -> NDArray[np.str_]:
        """The true label of each row."""
        return np.asarray(self.rows.true_labels)

    @cached_property
    def predicted(self) -> NDArray[np.str_]:
        """The predicted label of each row."""
        return np.asarray(self.rows.predicted_labels)

    @cached_property
    def held_out(self) -> tuple[NDArray[np.float64], bool]:
        """The probabilities by models that have not learned the row, and whether they had to forget it for that."""
        return held_out_probabilities(self)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that have probabilities."""
        return tuple(self.rows.columns)

    @property
    def is_multilabel(self) -> bool:
        """Whether a row may have several labels."""
        return isinstance(self.evaluation, MultilabelEvaluation)

    @cached_property
    def rows_per_label(self) -> dict[str, int]:
        """The number of rows of each true label."""
        figures = self.evaluation.per_label()
        return {label: int(row["rows"]) for label, row in figures.items() if row["rows"]}

    @cached_property
    def frequent(self) -> list[str]:
        """The labels with the most rows."""
        rows = Counter(self.rows_per_label)
        return sorted(self.labels, key=lambda label: (-rows[label], label))[:MOST_LABELS]

    def row(self, number: int) -> dict[str, Any]:
        """Return a row without its label."""
        label = getattr(self.model, "label", "label")
        return {name: values[0] for name, values in self.table.take([number]).items() if name != label}


def subject_of(
    model: Any, data: Any, positive: str | None = None, reading: Reading | None = None, embed: Any = None
) -> Subject:
    """Evaluate a model, or that of a file, on rows with labels."""
    from_file = isinstance(model, str | os.PathLike)
    loaded = Classifier.load(model, embed=embed) if from_file else model
    checksum = files.load(model)[1]["checksum"] if from_file else None
    table = LoadedRows.of(data, reading)
    evaluation = loaded.evaluate(table.columns)
    source = str(data) if isinstance(data, str | os.PathLike) else "the rows given"
    name = Path(model).name if from_file else type(loaded).__name__
    return Subject(loaded, table, evaluation, source, name, checksum, evaluation.positive(positive))


def _grouped(value: Any) -> str:
    """Return what equal values have in common."""
    return str(list(value)) if is_sequence(value) else str(value)


def held_out_probabilities(subject: Subject) -> tuple[NDArray[np.float64], bool]:
    """Return probabilities by models that have not learned the row, and whether they had to forget it.

    A copy of the model forgets the rows of a fold and predicts them. Rows that the model has never learned cannot be
    forgotten: the model itself predicts them.
    """
    plain = subject.rows.probabilities
    unseen = plain, False
    if not hasattr(subject.model, "forget") or len(subject.table) < 2 * FOLDS:
        return unseen
    groups = list(zip(*(map(_grouped, column) for column in subject.table.columns.values()), strict=True))
    folds = stratified_folds(subject.true, FOLDS, groups=groups)
    shares = np.zeros_like(plain)
    for fold in range(FOLDS):
        rows = np.flatnonzero(folds == fold)
        part, trial = subject.table.take(rows), copy.deepcopy(subject.model)
        try:
            trial.forget(part)
        except ValueError:
            return unseen
        places = np.array([subject.labels.index(label) for label in trial.labels], np.int64)
        shares[np.ix_(rows, places)] = trial.predict_proba(part)
    return shares, True
