"""Least squares on sets of labels: a target of ±1 for each label, all solved from the same sums."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import compute_sample_weight
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import assert_all_finite, validate_data

from discern.estimators.base import Array
from discern.estimators.checks import check_class_weight, numbered, summable_weights
from discern.learners.ridge import (
    MOST_COLUMNS,
    Choice,
    TargetRows,
    choose_penalty,
    normal_equations,
    solve,
    solve_positive,
    solve_rows,
)
from discern.statistics.scatter import Scatter


def is_label_sets(y: Any) -> bool:
    """Return whether ``y`` has a row of zeros and ones, of several labels, for each row.

    Examples
    --------
    >>> is_label_sets([[0, 1], [1, 1]]), is_label_sets([0, 1])
    (True, False)
    """
    return bool(hasattr(y, "tocsr") or np.asarray(y).ndim == 2) and type_of_target(y).startswith("multilabel")


class TargetSolution:
    """The targets of rows, and the weights found for them."""

    def __init__(self, model: Any, X: Any, aims: Array, sample_weight: Any, class_labels: Any) -> None:
        self.model, self.table, self.aims, self.labels = model, X, aims, class_labels
        self.weights = weights_of(model, X, sample_weight, class_labels)

    def rows(self) -> TargetRows:
        """Return the rows with their targets, of which a whole row is left out at once."""
        return TargetRows(self.table, self.aims, self.weights, self.weights)

    def normal(self) -> Any:
        """Return the normal equations, from sums over the rows of each distinct set."""
        if np.ndim(self.labels) == 1:
            labels = numbered(self.labels)
            numbers: Array = labels.numbers
            places = np.zeros(len(labels.distinct), np.intp)
            places[numbers] = np.arange(len(numbers))
            sets = self.aims[places]
        else:
            sets, numbers = np.unique(self.aims, axis=0, return_inverse=True)
        scatter = Scatter.of(self.table, numbers.ravel(), len(sets), self.weights, pooled=True)
        return normal_equations(scatter, None, self.model.fit_intercept, sets)

    def solved(self) -> tuple[Array, Array, Choice, Any]:
        """Return weights, a column a target, intercepts, the penalty, and the number of steps."""
        model, alpha = self.model, self.model.alpha
        if self.table.shape[1] > MOST_COLUMNS:
            if model.positive or not np.isscalar(alpha) or isinstance(alpha, str):
                raise ValueError(
                    f"for more than {MOST_COLUMNS:,} columns pass one number for alpha, and positive=False"
                )
            rows = self.rows()
            found, intercepts, steps = solve_rows(
                rows, float(model.alpha), model.fit_intercept, model.tol, model.max_iter
            )
            return found, intercepts, Choice(alpha, np.nan), steps
        normal = self.normal()
        choice = choose_penalty(normal, self.rows()) if isinstance(alpha, str) else Choice(alpha, np.nan)
        size = self.aims.shape[1]
        if np.ndim(choice.penalty) and len(choice.penalty) != size:
            raise ValueError(f"alpha has {len(choice.penalty)} penalties for {size} targets; pass one for each")
        found = (solve_positive if model.positive else solve)(normal, choice.penalty)
        return found, normal.intercepts(found), choice, 1


def weights_of(model: Any, X: Any, sample_weight: Any, class_labels: Any) -> Array:
    """Return the weight of each row, times that of its class or its set of labels."""
    given = summable_weights(sample_weight, X, ensure_non_negative=True)
    weights = np.ones(X.shape[0]) if given is None else given
    if model.class_weight is None:
        return weights
    check_class_weight(model.class_weight)
    return np.asarray(weights * compute_sample_weight(model.class_weight, class_labels), np.float64)


def checked_sets(model: Any, X: Any, y: Any) -> tuple[Any, Array]:
    """Return rows and their sets of labels, as zeros and ones."""
    kinds = [np.float64, np.float32]
    X, y = validate_data(model, X, y, dtype=kinds, accept_sparse="csr", multi_output=True)
    sets = np.asarray(y.toarray() if hasattr(y, "toarray") else y)
    assert_all_finite(sets, input_name="y")
    return X, (sets != 0).astype(np.int64)
