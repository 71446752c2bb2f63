"""Cross-validation where a row may have several labels."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.analysis.comparison import LoadedRows, stratified_folds
from discern.classifier import Classifier
from discern.data.source import Reading
from discern.data.strings import DataError

if TYPE_CHECKING:
    from discern.evaluation.several.evaluation import MultilabelEvaluation


def cross_validated(
    classifier: Classifier, data: Any, folds: int = 10, *, reading: Reading | None = None
) -> MultilabelEvaluation:
    """Evaluate a trained classifier of several labels a row on the rows it has learned, each by a model without it.

    The model of a fold is a copy that has forgotten it, or, if the model is no sum, is trained again without it.
    Equal rows stay in one fold.

    Examples
    --------
    >>> rows = [{"label": [["corn"], ["oil"], ["corn", "oil"]][i % 3], "text": f"w{i % 3} x{i}"} for i in range(60)]
    >>> model = Classifier(smoothing=1.0).fit(rows)
    >>> cross_validated(model, rows, folds=3).rows
    60
    """
    table = LoadedRows.of(data, reading)
    if len(table) < folds:
        raise DataError(f"{len(table)} rows are too few for {folds} folds")
    total: Any = None
    groups = list(zip(*(map(str, column) for column in table.columns.values()), strict=True))
    numbers = stratified_folds(table.labels(classifier.settings), folds, groups=groups)
    for fold in range(folds):
        held_out, rest = table.take(np.flatnonzero(numbers == fold)), table.take(np.flatnonzero(numbers != fold))
        part = _without(classifier, held_out, rest).evaluate(held_out)
        total = part if total is None else total + part
    return total  # type: ignore[no-any-return]


def _without(classifier: Classifier, held_out: Any, rest: Any) -> Classifier:
    """Return a model that has not learned some rows."""
    trial = copy.deepcopy(classifier)
    if classifier.fitted.is_sum and not classifier.fitted.is_slim:
        trial.forget(held_out)
        return trial
    return trial.fit(rest)
