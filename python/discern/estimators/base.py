"""What estimators share: tags, weights, all-or-nothing changes, and classifiers solved from a ``Scatter``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import _check_sample_weight, assert_all_finite, check_is_fitted, validate_data

from discern.estimators.checks import LARGEST, numbered
from discern.estimators.rows import checked_rows
from discern.statistics.scatter import Scatter

Array = NDArray[Any]

NEVER_LEARNED = "cannot forget these rows: y has labels that were never learned; nothing was changed"
BELOW_ZERO = "cannot forget these rows: a sum would fall below zero, so they were not all learned; nothing was changed"
NOTHING_LEFT = "cannot forget all rows; nothing was changed"


class BaseClassifier(ClassifierMixin, BaseEstimator):
    """The base of all classifiers. Parameters are the fields of a dataclass; tags are class attributes.

    ``_input_tags`` are the input tags that differ from scikit-learn's defaults. ``_poor_score`` marks classifiers that
    score badly on scikit-learn's test problems, because those are not what they are for.
    """

    _input_tags: ClassVar[dict[str, bool]] = {}
    _poor_score: ClassVar[bool] = False
    _param_names: ClassVar[list[str]]
    classes_: Array

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """Return the names of the parameters; the signature of a class is inspected once."""
        if "_param_names" not in cls.__dict__:
            cls._param_names = super()._get_param_names()
        return list(cls._param_names)

    def _check_known(self, labels: Array) -> None:
        if not np.isin(labels, self.classes_).all():
            raise ValueError(NEVER_LEARNED)

    def _fitted_attribute(self, name: str) -> Any:
        """Return a private attribute that ``fit`` sets, or raise AttributeError as scikit-learn does."""
        if name not in self.__dict__:
            raise AttributeError(f"this {type(self).__name__} is not fitted yet")
        return self.__dict__[name]

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Leave the model as it was if learning fails half-way."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        for name, value in self._input_tags.items():
            setattr(tags.input_tags, name, value)
        tags.classifier_tags.poor_score = self._poor_score
        return tags


class ProbabilityClassifier(BaseClassifier):
    """A classifier whose decision and log probabilities follow from its probabilities."""

    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each class for each row."""
        raise TypeError("each classifier has its own")

    def predict_log_proba(self, X: Any) -> Array:
        """Return the log probability of each class for each row."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def predict(self, X: Any) -> Array:
        """Return the most probable class of each row."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])


def begin_merge(one: Any, other: Any) -> Any:
    """Return an empty model for the rows of both; refuses models that do not fit together."""
    check_is_fitted(one)
    check_is_fitted(other)
    if type(one) is not type(other) or not _same(one.get_params(), other.get_params()):
        raise ValueError("only models of the same kind with the same parameters can be merged")
    if one.n_features_in_ != other.n_features_in_:
        raise ValueError(f"cannot merge models of {one.n_features_in_} and {other.n_features_in_} features")
    merged = type(one)(**one.get_params())
    merged.n_features_in_ = one.n_features_in_
    if hasattr(one, "feature_names_in_"):
        merged.feature_names_in_ = one.feature_names_in_
    return merged


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two sets of parameters are equal, some of which may be arrays."""
    return one.keys() == other.keys() and all(
        one[name] is other[name] or np.array_equal(one[name], other[name]) for name in one
    )


class ScatterClassifier(BaseClassifier):
    """A classifier solved from sums by class; what is solved is returned by ``_solve`` and only then taken over."""

    _as_rows: ClassVar[tuple[str, ...]] = ()
    """Attributes that ``fit`` leaves as precise as the rows: what is computed from 32-bit rows is then, too."""
    _kept_sums: Scatter
    _kept_rows: tuple[Any, Array, Any, int]

    @property
    def _scatter(self) -> Scatter:
        """The sums; those of fewer rows than columns are summed when they are first needed."""
        if "_kept_sums" not in self.__dict__:
            X, numbers, weights, n_classes = self._fitted_attribute("_kept_rows")
            self._scatter = self._sums(X, numbers, n_classes, weights)
        return self._kept_sums

    @_scatter.setter
    def _scatter(self, sums: Scatter) -> None:
        self._kept_sums = sums
        self.__dict__.pop("_kept_rows", None)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows, forgetting everything learned before. Weights count as repetitions of rows."""
        self._validate_params()
        X, y = self._validated(X, y, reset=True)
        self._learn(X, *self._numbered(X, y, sample_weight))
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows. New labels are accepted. ``classes`` is not needed; if given, it must hold every label."""
        self._validate_params()
        known = hasattr(self, "classes_")
        X, y = self._validated(X, y, reset=not known)
        if classes is not None and not np.isin(y, classes).all():
            raise ValueError("y has labels that are not in classes; add them there, or leave classes out")
        labels, numbers, weights = self._numbered(X, y, sample_weight)
        sums = self._sums(X, numbers, len(labels), weights)
        self._become(*(_union(self.classes_, self._scatter, labels, sums) if known else (labels, sums)))
        return self

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget rows. Up to rounding, the model equals one that never saw them."""
        check_is_fitted(self)
        X, y = self._validated(X, y, reset=False)
        labels, numbers, weights = self._numbered(X, y, sample_weight)
        self._check_known(labels)
        places = np.searchsorted(self.classes_, labels)
        sums = self._sums(X, numbers, len(labels), weights).with_classes(places, len(self.classes_))
        rest = self._scatter - sums
        _check_learned(self._scatter, rest)
        left = rest.counts > 1e-9
        if not left.any():
            raise ValueError(NOTHING_LEFT)
        self._become(self.classes_[left], rest.take(left))
        return self

    def merge(self, other: Self) -> Self:
        """Return a new model that has learned the rows of both."""
        merged: Self = begin_merge(self, other)
        merged._become(*_union(self.classes_, self._scatter, other.classes_, other._scatter))
        return merged

    def predict(self, X: Any) -> Array:
        """Return the class of each row."""
        decision = self.decision_function(X)
        if len(self.classes_) == 1:
            return np.repeat(self.classes_, len(decision))
        chosen = (decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    # --------------------------------------------------------------------------------------- for subclasses

    def decision_function(self, X: Any) -> Array:
        """Return the score of each class for each row; of two classes, one score, above 0 for the second."""
        raise TypeError("each classifier scores its own")

    def _summed(self) -> dict[str, bool]:
        """Return which sums are needed: pooled ones, those of fourth powers."""
        return {}

    def _solve(self, classes: Array, scatter: Scatter, rows: Any = None) -> dict[str, Any]:
        """Return the fitted attributes; ``rows`` (X, numbers, weights) are there after ``fit`` only."""
        raise TypeError("each classifier solves its own")

    # ------------------------------------------------------------------------------------------------- sums

    def _validated(self, X: Any, *y: Any, reset: bool, finite: bool = True) -> Any:
        sparse = "csr" if self._input_tags.get("sparse") else False
        kinds = [np.float64, np.float32]
        if not y and not reset:
            return checked_rows(self, X, dtype=kinds, accept_sparse=sparse, ensure_all_finite=finite)
        return validate_data(self, X, *y, reset=reset, dtype=kinds, accept_sparse=sparse, ensure_all_finite=finite)

    def _numbered(self, X: Any, y: Array, sample_weight: Any) -> tuple[Array, Array, Array | None]:
        """Return the classes that have rows, the number of each row's, and the weights."""
        classes, numbers, _ = numbered(y)
        if sample_weight is None:
            return classes, numbers, None
        weights = np.asarray(_check_sample_weight(sample_weight, X, dtype=np.float64))
        if weights.min(initial=0.0) < 0:
            raise ValueError("sample_weight has negative weights; use forget to remove rows")
        if not weights.any():
            raise ValueError(
                "sample_weight is zero for every row: there is nothing to learn; set a weight above 0 for some rows"
            )
        return classes, numbers, weights

    def _sums(self, X: Any, numbers: Array, n_classes: int, weights: Array | None) -> Scatter:
        with np.errstate(over="ignore", invalid="ignore"):
            sums = Scatter.of(X, numbers, n_classes, weights, **self._summed())
            sound = np.isfinite(sums.second.sum()) and (sums.fourth is None or np.isfinite(sums.fourth.sum()))
        if not sound:
            raise ValueError("X has numbers too large for their products to be summed; scale the columns")
        return sums

    def _solve_wide(self, classes: Array, rows: tuple[Any, Array, Any]) -> dict[str, Any] | None:
        """Return the fitted attributes from fewer rows (X, numbers, weights) than columns; None to use their sums."""
        return None

    def _learn(self, X: Any, classes: Array, numbers: Array, weights: Array | None) -> None:
        if X.shape[0] < X.shape[1] and self._learn_wide(X, classes, numbers, weights):
            return
        self._become(classes, self._sums(X, numbers, len(classes), weights), (X, numbers, weights))

    def _learn_wide(self, X: Any, classes: Array, numbers: Array, weights: Array | None) -> bool:
        """Learn from fewer rows than columns without the products of columns; return whether that could be done."""
        rows: tuple[Any, Array, Any] = (X, numbers, weights)
        present = np.bincount(numbers, weights, len(classes)) > 0
        if not present.all():  # rows without weight are no rows
            rows, classes = _rows_of_classes(rows, present), classes[present]
        if np.abs(X.data if hasattr(X, "tocsr") else X).max(initial=0.0) > LARGEST:
            return False
        solved = self._solve_wide(classes, rows)
        if solved is None:
            return False
        for name in ("_kept_sums", "_covariance"):
            self.__dict__.pop(name, None)
        self._kept_rows = (rows[0].copy(), rows[1], rows[2], len(classes))
        self.classes_ = classes
        self._take(solved, rows)
        return True

    def _become(self, classes: Array, scatter: Scatter, rows: Any = None) -> None:
        present = scatter.counts > 0
        if not present.all():  # rows without weight are no rows
            classes, scatter = classes[present], scatter.take(present)
            rows = None if rows is None else _rows_of_classes(rows, present)
        solved = self._solve(classes, scatter, rows)
        self.classes_, self._scatter = classes, scatter
        self._take(solved, rows)

    def _take(self, attributes: dict[str, Any], rows: Any = None) -> None:
        is_single = rows is not None and rows[0].dtype == np.float32
        for name, value in attributes.items():
            setattr(self, name, value.astype(np.float32) if is_single and name in self._as_rows else value)

    def _watched(self, scores: Any, X: Any) -> Any:
        """Pass scores on, looking at the rows themselves only where a score is not finite: that saves a pass."""
        for block, part in scores:
            with np.errstate(all="ignore"):
                sound = np.isfinite(part.sum())
            if not sound:
                assert_all_finite(X[block], estimator_name=type(self).__name__, input_name="X")
            yield block, part


def _rows_of_classes(rows: tuple[Any, Array, Any], present: Array) -> tuple[Any, Array, Any]:
    X, numbers, weights = rows
    chosen = present[numbers]
    return X[chosen], (np.cumsum(present) - 1)[numbers[chosen]], None if weights is None else weights[chosen]


def _union(mine: Array, sums: Scatter, theirs: Array, others: Scatter) -> tuple[Array, Scatter]:
    """Add the sums of two sets of classes."""
    classes = np.union1d(mine, theirs)
    left = sums.with_classes(np.searchsorted(classes, mine), len(classes))
    return classes, left + others.with_classes(np.searchsorted(classes, theirs), len(classes))


def _check_learned(before: Scatter, rest: Scatter) -> None:
    """Refuse what leaves less than nothing: fewer rows than none, or a variance below zero."""
    sound = bool(rest.counts.min() >= -1e-9 * max(float(before.counts.max()), 1.0))
    if sound and rest.counts.max() > 1e-9:
        left = np.diagonal(rest.take(rest.counts > 1e-9).about_means().second, axis1=1, axis2=2)
        most = np.diagonal(before.second, axis1=1, axis2=2).sum(axis=0)
        sound = bool(np.all(left >= -1e-9 * most))
    if not sound:
        raise ValueError(BELOW_ZERO)
