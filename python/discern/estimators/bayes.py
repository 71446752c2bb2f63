"""Naive Bayes on matrices of counts, with scikit-learn's parameters and attributes."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.preprocessing import binarize
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, check_non_negative, validate_data

from discern.bayes import (
    Dirichlet,
    JelinekMercer,
    Laplace,
    Margins,
    bernoulli_probability,
    complement_weight,
    log_multinomial_coefficient,
    log_odds,
    multinomial_weight,
    posterior,
)
from discern.estimators.sums import begin_merge

Array = NDArray[Any]


class _NaiveBayes(ClassifierMixin, BaseEstimator):
    """What all naive Bayes classifiers do with their log joint probabilities, and how a merged one begins."""

    classes_: Array

    def predict_joint_log_proba(self, X: Any) -> Array:
        """Give log P(k) + log P(x|k)."""
        raise TypeError("each event model has its own")

    def predict(self, X: Any) -> Array:
        """Give the class of each row."""
        joint = self.predict_joint_log_proba(X)
        return np.asarray(self.classes_[joint.argmax(axis=1)])

    def predict_proba(self, X: Any) -> Array:
        """Give the probability of each class for each row."""
        return posterior(self.predict_joint_log_proba(X))

    def predict_log_proba(self, X: Any) -> Array:
        """Give the log probability of each class for each row."""
        from scipy.special import logsumexp

        joint = self.predict_joint_log_proba(X)
        return np.asarray(joint - logsumexp(joint, axis=1, keepdims=True))

    def _merged(self, other: Self) -> Self:
        """Give an empty model for the rows of both; refuses models that do not fit together."""
        merged: Self = begin_merge(self, other)
        return merged


class _CountingNB(_NaiveBayes):
    """Naive Bayes whose data reduce to ``class_count_`` and ``feature_count_``: sums that add and subtract."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like"],
        "fit_prior": ["boolean"],
        "class_prior": ["array-like", None],
        "force_alpha": ["boolean"],
    }
    alpha: Any
    fit_prior: bool
    class_prior: Any
    force_alpha: bool
    class_count_: Array
    feature_count_: Array

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows of counts, forgetting everything learned before."""
        self._validate_params()
        X, y = self._validated(X, y)
        check_classification_targets(y)
        for name in ("class_count_", "feature_count_", "category_count_"):
            self.__dict__.pop(name, None)
        self.classes_ = np.unique(y)
        self._add(self._prepared(X), y, sample_weight, 1)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows. Labels that are new grow the model; ``classes`` may name some before they come."""
        self._validate_params()
        first = not hasattr(self, "classes_")
        X, y = self._validated(X, y, reset=first)
        check_classification_targets(y)
        named = [np.asarray(classes)] if classes is not None else []
        self._grow(np.unique(np.concatenate([*([] if first else [self.classes_]), *named, np.unique(y)])), X.shape[1])
        self._add(self._prepared(X), y, sample_weight, 1)
        return self

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Take rows back: the model is then the one that never saw them. Refuses rows that were never learned."""
        check_is_fitted(self)
        X, y = self._validated(X, y, reset=False)
        if not np.isin(y, self.classes_).all():
            raise ValueError("these rows were never learned: there is a label that the model does not know")
        self._add(self._prepared(X), y, sample_weight, -1)
        return self

    def merge(self, other: Self) -> Self:
        """Give a new model that has learned the rows of both."""
        merged = self._merged(other)
        merged._grow(np.union1d(self.classes_, other.classes_), self.n_features_in_)
        for part in (self, other):
            places = np.searchsorted(merged.classes_, part.classes_)
            merged.class_count_[places] += part.class_count_
            merged.feature_count_[places] += part.feature_count_
        merged._solve()
        return merged

    def predict_joint_log_proba(self, X: Any) -> Array:
        """Give log P(k) + log P(x|k)."""
        check_is_fitted(self)
        return self._joint(self._prepared(self._validated(X, reset=False)))

    # ------------------------------------------------------------------------------------------------ sums

    def _validated(self, X: Any, *y: Any, reset: bool = True) -> Any:
        return validate_data(self, X, *y, accept_sparse="csr", reset=reset)

    def _prepared(self, X: Any) -> Any:
        check_non_negative(X, f"{type(self).__name__} (input X)")
        return X

    def _grow(self, classes: Array, features: int) -> None:
        """Make room for more classes, keeping what was counted."""
        class_count, feature_count = np.zeros(len(classes)), np.zeros((len(classes), features))
        if hasattr(self, "class_count_"):
            places = np.searchsorted(classes, self.classes_)
            class_count[places], feature_count[places] = self.class_count_, self.feature_count_
        self.classes_, self.class_count_, self.feature_count_ = classes, class_count, feature_count

    def _add(self, X: Any, y: Array, sample_weight: Any, sign: int) -> None:
        weights = np.ones(len(y)) if sample_weight is None else _check_sample_weight(sample_weight, X)
        numbers = np.searchsorted(self.classes_, y)
        sums = _by_class(numbers, weights, len(self.classes_)) @ X
        if not hasattr(self, "class_count_"):
            self._grow(self.classes_, X.shape[1])
        class_count = self.class_count_ + sign * np.bincount(numbers, weights, len(self.classes_))
        feature_count = self.feature_count_ + sign * (sums.toarray() if hasattr(sums, "toarray") else sums)
        if sign < 0:
            floor = -1e-9 * (1 + np.abs(self.feature_count_).max(initial=0))
            if class_count.min() < floor or feature_count.min() < floor:
                raise ValueError("these rows were never learned: a count would go below zero; nothing was changed")
            kept = class_count > 1e-9
            if not kept.any():
                raise ValueError("nothing would be left to decide by; nothing was changed")
            self.classes_ = self.classes_[kept]
            class_count, feature_count = np.maximum(class_count[kept], 0), np.maximum(feature_count[kept], 0)
        self.class_count_, self.feature_count_ = class_count, feature_count
        self._solve()

    # ----------------------------------------------------------------------------------------------- solve

    def _solve(self) -> None:
        self._solve_priors()
        with np.errstate(divide="ignore"):
            self._solve_features(self._checked_alpha())

    def _solve_priors(self) -> None:
        if self.class_prior is not None:
            if len(self.class_prior) != len(self.classes_):
                raise ValueError("Number of priors must match number of classes.")
            self.class_log_prior_ = np.log(self.class_prior)
        elif self.fit_prior:
            with np.errstate(divide="ignore"):  # a class may have been named before it came
                self.class_log_prior_ = np.log(self.class_count_) - np.log(self.class_count_.sum())
        else:
            self.class_log_prior_ = np.full(len(self.classes_), -np.log(len(self.classes_)))

    def _checked_alpha(self) -> Any:
        alpha: Any = self.alpha if isinstance(self.alpha, Real) else np.asarray(self.alpha)
        if isinstance(alpha, np.ndarray):
            if alpha.shape[0] != self.n_features_in_:
                raise ValueError(
                    "When alpha is an array, it should contains `n_features`. "
                    f"Got {alpha.shape[0]} elements instead of {self.n_features_in_}."
                )
            if alpha.min() < 0:
                raise ValueError("All values in alpha must be greater than 0.")
        least = 1e-10
        if np.min(alpha) < least and not self.force_alpha:
            warnings.warn(
                f"alpha too small will result in numeric errors, setting alpha = {least:.1e}."
                " Use `force_alpha=True` to keep alpha unchanged.",
                stacklevel=4,
            )
            return np.maximum(alpha, least)
        return alpha

    def _margins(self) -> Margins:
        counts = self.feature_count_
        return Margins(counts.sum(axis=0), counts.sum(axis=1), self.class_count_, counts.shape[1])

    def _solve_features(self, alpha: Any) -> None:
        raise TypeError("each event model solves its own features")

    def _joint(self, X: Any) -> Array:
        return np.asarray(X @ self.feature_log_prob_.T + self.class_log_prior_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.classifier_tags.poor_score = True
        return tags


def _by_class(numbers: Array, weights: Array, classes: int) -> Any:
    """Give the sparse matrix that sums rows by class when it stands before them."""
    rows = len(numbers)
    return scipy.sparse.csc_matrix((weights, numbers, np.arange(rows + 1)), shape=(classes, rows), dtype=np.float64)


class MultinomialNB(_CountingNB):
    """Multinomial naive Bayes on counts.

    Parameters are scikit-learn's and one more: ``smoothing``, a ``JelinekMercer`` or ``Dirichlet``.

    Examples
    --------
    >>> model = MultinomialNB().fit([[2, 0], [0, 1]], ["spam", "ham"])
    >>> model.partial_fit([[0, 3]], ["news"]).classes_.tolist()
    ['ham', 'news', 'spam']
    >>> model.forget([[0, 3]], ["news"]).predict([[1, 0]]).tolist()
    ['spam']
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **_CountingNB._parameter_constraints,
        "smoothing": [JelinekMercer, Dirichlet, Laplace, None],
    }

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        smoothing: JelinekMercer | Dirichlet | Laplace | None = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.smoothing = smoothing

    def _solve_features(self, alpha: Any) -> None:
        margins = self._margins()
        weight = multinomial_weight(self.smoothing or Laplace(alpha), margins)
        in_class = margins.classes[:, None]
        self.feature_log_prob_ = weight(self.feature_count_, margins.terms, in_class, margins.documents[:, None])

    def full_joint_log_proba(self, X: Any) -> Array:
        """Give log P(k, x), the multinomial coefficient |d|! / Π f! included."""
        rows = scipy.sparse.csr_array(validate_data(self, X, accept_sparse="csr", reset=False))
        return self.predict_joint_log_proba(X) + log_multinomial_coefficient(rows)[:, None]


class ComplementNB(_CountingNB):
    """Complement naive Bayes (Rennie and others 2003), with scikit-learn's parameters.

    Examples
    --------
    >>> ComplementNB().fit([[2, 0], [0, 1]], ["spam", "ham"]).predict([[1, 0]]).tolist()
    ['spam']
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {**_CountingNB._parameter_constraints, "norm": ["boolean"]}

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        norm: bool = False,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.norm = norm

    def _solve_features(self, alpha: Any) -> None:
        margins = self._margins()
        self.feature_all_ = margins.terms
        weight = complement_weight(alpha, margins)
        weights = weight(self.feature_count_, margins.terms, margins.classes[:, None], margins.documents[:, None])
        self.feature_log_prob_ = weights / weights.sum(axis=1, keepdims=True) if self.norm else weights

    def _joint(self, X: Any) -> Array:
        joint = np.asarray(X @ self.feature_log_prob_.T)
        return joint + self.class_log_prior_ if len(self.classes_) == 1 else joint


class BernoulliNB(_CountingNB):
    """Bernoulli naive Bayes: which terms are there, and which are not.

    Parameters are scikit-learn's and one more: ``normalization="vocabulary"`` divides by the presences of all terms in
    the class instead of its documents.

    Examples
    --------
    >>> BernoulliNB().fit([[1, 0], [0, 1]], ["spam", "ham"]).predict([[1, 0]]).tolist()
    ['spam']
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **_CountingNB._parameter_constraints,
        "binarize": [None, Interval(Real, 0, None, closed="left")],
        "normalization": [StrOptions({"documents", "vocabulary"})],
    }

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        binarize: float | None = 0.0,
        fit_prior: bool = True,
        class_prior: Any = None,
        normalization: str = "documents",
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.binarize = binarize
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.normalization = normalization

    def _prepared(self, X: Any) -> Any:
        return binarize(X, threshold=self.binarize) if self.binarize is not None else X

    def _solve_features(self, alpha: Any) -> None:
        margins = self._margins()
        probability = bernoulli_probability(alpha, margins, self.normalization)
        present = probability(self.feature_count_, 0, margins.classes[:, None], margins.documents[:, None])
        self.feature_log_prob_ = np.log(present)
        self._weights, self._absent = log_odds(present), np.log1p(-present).sum(axis=1)

    def _joint(self, X: Any) -> Array:
        return np.asarray(X @ self._weights.T + self._absent + self.class_log_prior_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = False
        return tags
