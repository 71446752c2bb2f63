"""Decisions of linear classifiers, in native code where rows and coefficients are as usual."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn import get_config
from sklearn.linear_model._base import LinearClassifierMixin

from discern.estimators.base import Array
from discern.estimators.rows import check_fitted, checked_rows
from discern.learners.linear import best_functions, linear_scores


class LinearPrediction(LinearClassifierMixin):
    """scikit-learn's ``decision_function`` and ``predict`` of ``coef_`` and ``intercept_``, with the same results.

    Rows are looked through while they are scored: scikit-learn is asked about rows that have a score that is not
    finite, and where ``coef_`` is sparse.
    """

    coef_: Any
    intercept_: Any
    classes_: Array

    def decision_function(self, X: Any) -> Any:
        """Return the score of each class for each row; of two classes, one score, above 0 for the second."""
        rows = self._rows_to_score(X)
        scores = None if rows is None else linear_scores(rows, self.coef_, self.intercept_)
        if scores is None:
            return self._usual_decision(X)
        return scores.ravel() if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> Any:
        """Return the class of each row."""
        if type(self).decision_function is not LinearPrediction.decision_function:
            return super().predict(X)
        rows = self._rows_to_score(X)
        best = None if rows is None else best_functions(rows, self.coef_, self.intercept_)
        return super().predict(X) if best is None else np.asarray(self.classes_).take(best)

    def _usual_decision(self, X: Any) -> Any:
        """Return the scores as scikit-learn computes them, with its errors."""
        return super().decision_function(X)

    def _rows_to_score(self, X: Any) -> Any:
        """Return rows whose numbers are still to be looked at; None to leave them to scikit-learn."""
        check_fitted(self)
        if get_config()["array_api_dispatch"]:
            return None
        return checked_rows(self, X, accept_sparse="csr", ensure_all_finite=False)


class LinearDecision:
    """``decision_function`` and ``predict`` of classifiers whose scores are linear, before those of any scores."""

    coef_: Any
    intercept_: Any
    classes_: Array
    _second_at_zero: ClassVar[bool] = False
    """Whether the second of two classes is chosen where the score is 0."""

    def decision_function(self, X: Any) -> Array:
        """Return the score of each class for each row; of two classes, one score, above 0 for the second."""
        check_fitted(self)
        rows = self._rows_to_score(X)
        scores = None if rows is None else linear_scores(rows, np.atleast_2d(self.coef_), self.intercept_)
        if scores is None:
            return self._usual_decision(X)
        return scores.ravel() if scores.shape[1] == 1 else scores

    def _usual_decision(self, X: Any) -> Array:
        """Return the scores of rows of any kind; refuses those that are not finite."""
        found: Array = super().decision_function(X)  # type: ignore[misc]
        return found

    def predict(self, X: Any) -> Array:
        """Return the class of each row."""
        best = None
        check_fitted(self)
        if len(self.classes_) > 1 and (rows := self._rows_to_score(X)) is not None:
            best = best_functions(rows, np.atleast_2d(self.coef_), self.intercept_, self._second_at_zero)
        if best is None:
            chosen: Array = super().predict(X)  # type: ignore[misc]
            return chosen
        return np.asarray(self.classes_).take(best)

    def _rows_to_score(self, X: Any) -> Any:
        """Return rows whose numbers are still to be looked at; None to compute all scores."""
        raise TypeError("each classifier checks its own rows")
