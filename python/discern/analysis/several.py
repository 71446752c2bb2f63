"""Cross-validation where a row may have several labels."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.analysis.comparison import LoadedRows, stratified_folds
from discern.analysis.crossvalidation import CrossValidation
from discern.classifier import Classifier
from discern.data.source import Reading
from discern.data.strings import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discern.evaluation.several.evaluation import MultilabelEvaluation


def cross_validated(
    classifier: Classifier, data: Any, folds: int = 10, *, reading: Reading | None = None
) -> MultilabelEvaluation:
    """Evaluate a trained classifier of several labels a row on the rows it has learned, each by a model without it.

    The model of a fold is a copy that has forgotten it, or, if the model is not additive, is trained again without it.
    Equal rows stay in one fold.

    Examples
    --------
    >>> rows = [{"label": [["corn"], ["oil"], ["corn", "oil"]][i % 3], "text": f"w{i % 3} x{i}"} for i in range(60)]
    >>> model = Classifier(smoothing=1.0).fit(rows)
    >>> cross_validated(model, rows, folds=3).rows
    60
    """
    total: Any = None
    for _, part, _ in _folds(classifier, LoadedRows.of(data, reading), folds):
        total = part if total is None else total + part
    return total  # type: ignore[no-any-return]


def cross_validate_sets(classifier: Classifier, data: Any, folds: int | str) -> CrossValidation:
    """Do for several labels a row what :func:`discern.cross_validate` does; a number of folds is needed."""
    if not isinstance(folds, int):
        raise ValueError("with several labels a row, pass a number of folds, such as 10")
    table = LoadedRows.of(iter(data))
    trained = copy.deepcopy(classifier).fit(table.columns)
    shares, predicted = np.zeros((len(table), len(trained.labels))), np.empty(len(table), object)
    parts = []
    for rows, part, model in _folds(trained, table, folds):
        parts.append(part)
        places = np.array([trained.labels.index(label) for label in model.labels], np.int64)
        shares[np.ix_(rows, places)] = model.predict_proba(table.take(rows))
        predicted[rows] = model.predict(table.take(rows))
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return CrossValidation(tuple(parts), total, trained.labels, shares, predicted)


def _folds(
    classifier: Classifier, table: LoadedRows, folds: int
) -> Iterator[tuple[NDArray[np.int64], MultilabelEvaluation, Classifier]]:
    """Yield the rows of each fold, their evaluation, and the model that has not learned them."""
    if len(table) < folds:
        raise DataError(f"{len(table)} rows are too few for {folds} folds")
    groups = list(zip(*(map(str, column) for column in table.columns.values()), strict=True))
    numbers = stratified_folds(table.labels(classifier.settings), folds, groups=groups)
    for fold in range(folds):
        rows = np.flatnonzero(numbers == fold)
        held_out, rest = table.take(rows), table.take(np.flatnonzero(numbers != fold))
        model = _without(classifier, held_out, rest)
        found: Any = model.evaluate(held_out)
        yield rows, found, model


def _without(classifier: Classifier, held_out: Any, rest: Any) -> Classifier:
    """Return a model that has not learned some rows."""
    trial = copy.deepcopy(classifier)
    if classifier.fitted.is_sum and not classifier.fitted.is_slim:
        trial.forget(held_out)
        return trial
    return trial.fit(rest)
