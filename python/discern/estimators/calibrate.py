"""Probabilities for any classifier that gives scores, from scores that it gave to rows it had not seen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import MetaEstimatorMixin, clone, is_classifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import check_cv
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, has_fit_parameter, indexable, validate_data

from discern.estimators.base import Array, BaseClassifier
from discern.estimators.rows import check_fitted, checked_rows
from discern.evaluation.calibration import METHODS, Calibration, calibrate
from discern.evaluation.coupling import PairwiseCalibration, class_pairs

LEAST_LOG = -690.0
"""Log probabilities below this count as this: scores must be finite."""


def scores_of(model: Any, X: Any) -> Array:
    """Return the scores of a fitted classifier: its decision function, or its log probabilities."""
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X))
    if hasattr(model, "predict_log_proba"):
        return np.asarray(np.maximum(model.predict_log_proba(X), LEAST_LOG))
    with np.errstate(divide="ignore"):
        return np.asarray(np.maximum(np.log(model.predict_proba(X)), LEAST_LOG))


def calibrated(
    estimator: Any, method: str, cv: Any, X: Any, y: Array, sample_weight: Any, keep_lone: bool = False
) -> Calibration:
    """Fit a calibration to cross-fitted scores: those of copies of the estimator for rows that they have not seen.

    With ``keep_lone``, the only row of a class is never held out; its score is that of a copy fitted to all rows.
    """
    classes, numbers = np.unique(y, return_inverse=True)
    scores = np.zeros((len(y), len(classes)))
    held = np.zeros(len(y), bool)
    folds = _folds_with_lone_rows(cv, y) if keep_lone else _folds(cv, X, y)
    for test, copy, rows in _cross_fitted(estimator, folds, X, y, sample_weight):
        found = scores_of(copy, rows)
        if found.ndim == 1:
            found = np.column_stack([-found / 2, found / 2])
        # A class that is not among the rows of a fold has no score there: it counts as the lowest.
        scores[test] = found.min(axis=1, keepdims=True)
        scores[np.ix_(test, np.searchsorted(classes, copy.classes_))] = found
        held[test] = True
    return calibrate(method, scores[held], numbers[held], _chosen(sample_weight, held))


def calibrated_pairs(
    estimator: Any, method: str, cv: Any, X: Any, y: Array, sample_weight: Any, keep_lone: bool = False
) -> PairwiseCalibration:
    """Fit a calibration of each pair of classes to cross-fitted scores of pairs, which the estimator's
    ``decision_function`` returns for more than two classes, larger for the first of a pair.

    ``keep_lone`` as for :func:`calibrated`.
    """
    classes, numbers = np.unique(y, return_inverse=True)
    column = {pair: place for place, pair in enumerate(class_pairs(len(classes)))}
    scores, held = np.zeros((len(y), len(column))), np.zeros(len(y), bool)
    folds = _folds_with_lone_rows(cv, y) if keep_lone else _folds(cv, X, y)
    for test, copy, rows in _cross_fitted(estimator, folds, X, y, sample_weight):
        found = copy.decision_function(rows)
        known = np.searchsorted(classes, copy.classes_)
        pairs = [column[known[first], known[second]] for first, second in class_pairs(len(known))]
        # The score of two classes alone is larger for the second; pairs without rows in a fold have none: zero.
        scores[np.ix_(test, pairs)] = -found[:, None] if found.ndim == 1 else found
        held[test] = True
    return PairwiseCalibration.fit(method, scores[held], numbers[held], len(classes), _chosen(sample_weight, held))


def _cross_fitted(estimator: Any, folds: Any, X: Any, y: Array, sample_weight: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Return for each fold its places, a copy of the estimator that has not seen them, and their rows."""
    for train, test in folds:
        known, labels = _safe_split(estimator, X, y, train)
        copy = _fitted(clone(estimator), known, labels, _chosen(sample_weight, train))
        yield test, copy, _safe_split(estimator, X, y, test, train)[0]


def _folds(cv: Any, X: Any, y: Array) -> Any:
    """Return the folds: as many as asked for, or as the smallest class has rows."""
    if isinstance(cv, Integral):
        least = int(np.unique(y, return_counts=True)[1].min())
        if least < 2:
            raise ValueError("a class has only one row: calibration needs at least two rows of each class")
        cv = min(int(cv), least)
    return check_cv(cv, y, classifier=True).split(X, y)


def _folds_with_lone_rows(most: int, y: Array) -> Any:
    """Return folds in whose training part is every row that is alone in its class, and one that scores these rows."""
    _, numbers, counts = np.unique(y, return_inverse=True, return_counts=True)
    lone = counts[numbers] == 1
    several, alone = np.flatnonzero(~lone), np.flatnonzero(lone)
    folds = [] if not len(several) else list(_folds(most, several, y[several]))
    found = [(np.sort(np.concatenate([several[train], alone])), several[test]) for train, test in folds]
    return found if not len(alone) else [*found, (np.arange(len(y)), alone)]


def _chosen(weights: Any, rows: Any) -> Any:
    return None if weights is None else weights[rows]


def _fitted(model: Any, X: Any, y: Any, weights: Any) -> Any:
    return model.fit(X, y) if weights is None else model.fit(X, y, sample_weight=weights)


@dataclass(eq=False, repr=False)
class CalibratedClassifier(MetaEstimatorMixin, BaseClassifier):
    """A classifier whose scores become probabilities.

    The classifier is trained on all rows, and decides. Its probabilities come from a map that is fitted to scores from
    cross-validation: to scores of rows that the classifier giving them had not seen, never to its own training scores.

    Parameters
    ----------
    estimator : a classifier with ``decision_function``, ``predict_log_proba`` or ``predict_proba``
        By default logistic regression.
    method : {"gaussian", "logistic", "isotonic", "temperature"}
        A normal density a class on the score and Bayes' rule; Platt's logistic; a rising step function; or one number
        by which all scores are divided. With more than two classes the first three are done one against the rest.
    cv : int, splitter or iterable of (train, test)
        The folds that scores are taken from; a number is lowered to the rows of the smallest class.

    Attributes
    ----------
    estimator_ : the classifier, trained on all rows
    calibration_ : the fitted map
    classes_ : the labels

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.arange(40.0)[:, None], np.arange(40) > 19
    >>> model = CalibratedClassifier(method="logistic").fit(X, y)
    >>> model.predict_proba([[0.0], [39.0]]).argmax(axis=1).tolist()
    [0, 1]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "method": [StrOptions(set(METHODS))],
        "cv": ["cv_object", Interval(Integral, 2, None, closed="left")],
    }

    estimator: Any = None
    _: KW_ONLY
    method: str = "logistic"
    cv: Any = 5

    def _wrapped(self) -> Any:
        return LogisticRegression() if self.estimator is None else self.estimator

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the classifier on all rows, and fit the map to scores from cross-validation."""
        self._validate_params()
        wrapped = self._wrapped()
        X, y = indexable(X, y)
        X, y = validate_data(self, X, y, accept_sparse=["csr", "csc", "coo"], dtype=None, ensure_all_finite=False)
        check_classification_targets(y)
        if not is_classifier(wrapped):
            raise ValueError(f"{type(wrapped).__name__} is not a classifier: only scores of classes can be calibrated")
        if len(np.unique(y)) < 2:
            raise ValueError(
                "Only one class is among the rows (1 class): nothing can be calibrated. Pass rows of more."
            )
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, X)
        if weights is not None and not has_fit_parameter(wrapped, "sample_weight"):
            raise ValueError(f"{type(wrapped).__name__} takes no sample_weight")
        self.calibration_ = calibrated(wrapped, self.method, self.cv, X, y, weights)
        self.estimator_ = _fitted(clone(wrapped), X, y, weights)
        self.classes_ = self.estimator_.classes_
        return self

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class for each row."""
        check_fitted(self)
        return self.calibration_(scores_of(self.estimator_, self._checked(X)))

    def predict(self, X: Any) -> Array:
        """Return the most probable class of each row."""
        chances = self.predict_proba(X)
        return np.asarray(self.classes_[chances.argmax(axis=1)])

    def _checked(self, X: Any) -> Any:
        return checked_rows(self, X, accept_sparse=["csr", "csc", "coo"], dtype=None, ensure_all_finite=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        wrapped = get_tags(self._wrapped())
        tags.input_tags.sparse = wrapped.input_tags.sparse
        tags.input_tags.pairwise = wrapped.input_tags.pairwise
        tags.input_tags.allow_nan = wrapped.input_tags.allow_nan
        return tags
