"""Winnow and balanced Winnow, as scikit-learn classifiers."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.preprocessing import binarize
from sklearn.utils._param_validation import Interval

from discern.data.encode import each_column_once, is_sparse
from discern.estimators.linear.online import OnlineClassifier
from discern.estimators.rows import checked_rows
from discern.learners.perceptron import BalancedWinnowRule, WinnowRule


@dataclass(eq=False, repr=False, kw_only=True)
class _Multiplying(OnlineClassifier):
    """The base of Winnow and balanced Winnow: features are present or absent."""

    _dtype: ClassVar[Any] = "numeric"  # counts need not become other numbers
    _poor_score: ClassVar[bool] = True

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **OnlineClassifier._parameter_constraints,
        "factor": [Interval(Real, 1, None, closed="neither")],
        "threshold": [Interval(Real, None, None, closed="neither"), None],
        "binarize": [Interval(Real, None, None, closed="neither"), None],
    }

    factor: float = 2.0
    threshold: float | None = None
    binarize: float | None = 0.0

    def _validated(self, X: Any, *y: Any, reset: bool = True) -> Any:
        checked = super()._validated(X, *y, reset=reset)
        table, rest = (checked[0], checked[1:]) if y else (checked, ())
        table = each_column_once(table) if is_sparse(table) else table
        if self.binarize is not None:
            table = _cut(table, self.binarize)
        elif not np.isin(table.data if is_sparse(table) else table, (0.0, 1.0)).all():
            raise ValueError("Winnow takes features that are 0 or 1: set `binarize` to cut others")
        return (table, *rest) if y else table

    def _rows_to_score(self, X: Any) -> Any:
        rows = checked_rows(self, X, accept_sparse="csr")
        if self.binarize is None or is_sparse(rows):
            return self._validated(X, reset=False)
        return np.greater(rows, self.binarize).view(np.uint8)


def _cut(table: Any, threshold: float) -> Any:
    """Return 1 for values above a threshold, 0 for others; sparse rows without others need not be searched again."""
    if is_sparse(table) and threshold >= 0 and (table.data > threshold).all():
        return type(table)((np.ones(len(table.data)), table.indices, table.indptr), shape=table.shape)
    return binarize(table, threshold=threshold)


@dataclass(eq=False, repr=False, kw_only=True)
class Winnow(_Multiplying):
    """Winnow (Littlestone 1988) on features that are 0 or 1: weights from 1, doubled or halved on a mistake.

    Learns a disjunction of k features out of n with a number of mistakes that grows as k log n: at most
    4 + 3k(1 + log₂(n/2)) with the factor 2 and the threshold n/2. A score, Σ w − threshold, of 0 is a mistake in
    training; in prediction it is the second class. More classes are learned one against the rest; ties go to the first.

    The order: with ``shuffle`` (the default) the result depends on the rows and on ``random_state``, and not on the
    order in which rows are given; without it they are shown as given. Batches of ``partial_fit`` depend on their order.
    A row of weight 3 is shown three times in a row.

    Parameters
    ----------
    factor : float
        By how much weights are multiplied on a missed positive, divided on a false positive.
    threshold : float or None
        By default half the number of features.
    binarize : float or None
        Values above this are 1, the others 0; None requires that they are 0 or 1.
    error_share : float
        Stop after an epoch with at most this share of mistakes.
    tol, n_iter_no_change
        Stop when the share of mistakes has not fallen by ``tol`` for this many epochs.

    Attributes
    ----------
    n_updates_, n_promotions_, n_demotions_ : arrays
        Mistakes in training; those on positives, those on negatives.

    Examples
    --------
    >>> X, y = [[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1]], [0, 1, 1, 1]
    >>> model = Winnow().fit(X, y)
    >>> model.predict(X).tolist(), model.coef_.tolist()
    ([0, 1, 1, 1], [[2.0, 2.0, 1.0]])
    """

    def _rule(self, columns: int) -> WinnowRule:
        return WinnowRule(self.factor, columns / 2 if self.threshold is None else self.threshold)


@dataclass(eq=False, repr=False, kw_only=True)
class BalancedWinnow(_Multiplying):
    """Winnow with two weights a feature, w⁺ and w⁻, moved in opposite directions: it can count against a class.

    The score is Σ (w⁺ − w⁻) − threshold over the features present. ``fit_intercept`` adds one that is always there.
    Parameters, attributes and the notes on order are those of :class:`Winnow`.

    Examples
    --------
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [1, 1, 1, 0]
    >>> BalancedWinnow().fit(X, y).predict(X).tolist()
    [1, 1, 1, 0]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **_Multiplying._parameter_constraints,
        "fit_intercept": ["boolean"],
    }

    factor: float = 1.5
    threshold: float | None = 1.0
    fit_intercept: bool = True

    def _rule(self, columns: int) -> BalancedWinnowRule:
        return BalancedWinnowRule(self.factor, 1.0 if self.threshold is None else self.threshold, self.fit_intercept)
