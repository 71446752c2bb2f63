"""Naive Bayes on matrices of counts, with scikit-learn's parameters and attributes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.preprocessing import binarize
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, check_non_negative, validate_data

from discern.data.encode import EncodedLabels
from discern.estimators.base import begin_merge
from discern.estimators.checks import numbered, refuse_huge
from discern.learners.bayes import (
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

Array = NDArray[Any]


class _NaiveBayes(ClassifierMixin, BaseEstimator):
    """What all naive Bayes classifiers share: labels and weights checked, sums taken back, scores to decisions."""

    classes_: Array

    def predict_joint_log_proba(self, X: Any) -> Array:
        """Return log P(k) + log P(x|k)."""
        return self._joint(self._rows(X))

    def predict(self, X: Any) -> Array:
        """Return the class of each row."""
        joint = self.predict_joint_log_proba(X)
        return np.asarray(self.classes_[joint.argmax(axis=1)])

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class for each row."""
        return self._posterior(self._rows(X))

    def predict_log_proba(self, X: Any) -> Array:
        """Return the log probability of each class for each row."""
        from scipy.special import logsumexp

        joint = self.predict_joint_log_proba(X)
        return np.asarray(joint - logsumexp(joint, axis=1, keepdims=True))

    def _rows(self, X: Any) -> Any:
        """Return rows to decide about, checked."""
        raise TypeError("each event model has its own")

    def _joint(self, X: Any) -> Array:
        """Return log P(k) + log P(x|k) of rows that were checked."""
        raise TypeError("each event model has its own")

    def _posterior(self, X: Any) -> Array:
        return posterior(self._joint(X), in_place=True)

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

    def _known(self, y: Array) -> EncodedLabels:
        """Number the labels of rows to take back, all of which the model must know."""
        labels = numbered(y)
        if not np.isin(labels.distinct, self.classes_).all():
            raise ValueError("these rows were never learned: there is a label that the model does not know")
        return labels

    def _merged(self, other: Self) -> Self:
        """Return an empty model for the rows of both; refuses models that do not fit together."""
        merged: Self = begin_merge(self, other)
        return merged


def checked_weights(sample_weight: Any, X: Any, **rules: Any) -> Array | None:
    """Return the weights of rows as the sums take them; None if all are 1."""
    if sample_weight is None:
        return None
    weights = np.ascontiguousarray(_check_sample_weight(sample_weight, X, **rules), np.float64)
    refuse_huge(weights, "sample_weight")
    return weights


def remaining(largest: float, left: Array, *counts: Array) -> Array:
    """Return which classes are left when rows have been taken back; refuses rows that were never learned.

    ``left`` is how many rows each class has then, ``counts`` what else must not go below zero, ``largest`` the largest
    of all these before: sums of weights are exact only to rounding.
    """
    if any(count.min(initial=0.0) < -1e-9 * (1 + largest) for count in (left, *counts)):
        raise ValueError("these rows were never learned: a count would go below zero; nothing was changed")
    kept = left > 1e-9
    if not kept.any():
        raise ValueError("nothing would be left to decide by; nothing was changed")
    return np.asarray(kept)


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
        with self._all_or_nothing():
            X, y = self._validated(X, y)
            labels = numbered(y)
            for name in ("class_count_", "feature_count_", "category_count_"):
                self.__dict__.pop(name, None)
            self._grow(labels.distinct, X.shape[1])
            self._add(self._prepared(X), labels, sample_weight, 1)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows. Labels that are new grow the model; ``classes`` may name some before they come."""
        self._validate_params()
        first = not hasattr(self, "classes_")
        with self._all_or_nothing():
            X, y = self._validated(X, y, reset=first)
            labels = numbered(y)
            named = [np.asarray(classes)] if classes is not None else []
            every = [*([] if first else [self.classes_]), *named, labels.distinct]
            self._grow(np.unique(np.concatenate(every)), X.shape[1])
            self._add(self._prepared(X), labels, sample_weight, 1)
        return self

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Take rows back: the model is then the one that never saw them. Refuses rows that were never learned."""
        check_is_fitted(self)
        with self._all_or_nothing():
            X, y = self._validated(X, y, reset=False)
            self._add(self._prepared(X), self._known(y), sample_weight, -1)
        return self

    def merge(self, other: Self) -> Self:
        """Return a new model that has learned the rows of both."""
        merged = self._merged(other)
        merged._grow(np.union1d(self.classes_, other.classes_), self.n_features_in_)
        for part in (self, other):
            places = np.searchsorted(merged.classes_, part.classes_)
            merged.class_count_[places] += part.class_count_
            merged.feature_count_[places] += part.feature_count_
        merged._solve()
        return merged

    # ------------------------------------------------------------------------------------------------ sums

    def _rows(self, X: Any) -> Any:
        check_is_fitted(self)
        return self._prepared(self._validated(X, reset=False))

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

    def _add(self, X: Any, labels: EncodedLabels, sample_weight: Any, sign: int) -> None:
        weights, numbers = checked_weights(sample_weight, X), labels.within(self.classes_)
        rows = np.ones(len(numbers)) if weights is None else weights
        sums = _by_class(numbers, rows, len(self.classes_)) @ X
        class_count = self.class_count_ + sign * labels.class_counts(self.classes_, weights)
        feature_count = self.feature_count_ + sign * (sums.toarray() if hasattr(sums, "toarray") else sums)
        if not np.isfinite(feature_count.sum()):
            refuse_huge(X)
        if sign < 0:
            largest = max(self.class_count_.max(initial=0.0), np.abs(self.feature_count_).max(initial=0.0))
            kept = remaining(largest, class_count, feature_count)
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
    """Return the sparse matrix that sums rows by class when it stands before them."""
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
        """Return log P(k, x), the multinomial coefficient ``|d|! / Π f!`` included."""
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
