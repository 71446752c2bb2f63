"""Naive Bayes on matrices of counts, with scikit-learn's parameters and attributes."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse
from sklearn.preprocessing import binarize
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, check_non_negative, validate_data

from discern.data.encode import EncodedLabels
from discern.estimators.base import Array, begin_merge
from discern.estimators.checks import numbered, refuse_huge, summable_weights
from discern.estimators.naive_bayes.base import NaiveBayesClassifier, remaining
from discern.learners.bayes import (
    Margins,
    bernoulli_probability,
    complement_weight,
    log_multinomial_coefficient,
    log_odds,
    multinomial_weight,
)
from discern.learners.smoothing import Dirichlet, JelinekMercer, Laplace


@dataclass(eq=False, repr=False, kw_only=True)
class CountingNB(NaiveBayesClassifier):
    """Naive Bayes whose data reduce to ``class_count_`` and ``feature_count_``: sums that add and subtract."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like"],
        "fit_prior": ["boolean"],
        "class_prior": ["array-like", None],
        "force_alpha": ["boolean"],
    }
    _input_tags: ClassVar[dict[str, bool]] = {"sparse": True, "positive_only": True}
    _poor_score: ClassVar[bool] = True

    alpha: Any = 1.0
    force_alpha: bool = True
    fit_prior: bool = True
    class_prior: Any = None
    feature_count_: Array = field(init=False)

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
        """Learn more rows. New labels are accepted; ``classes`` may announce some beforehand."""
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
        """Forget rows: the model is then the one that never saw them. Refuses rows that were never learned."""
        check_is_fitted(self)
        with self._all_or_nothing():
            X, y = self._validated(X, y, reset=False)
            self._add(self._prepared(X), self._known(y), sample_weight, -1)
        return self

    def merge(self, other: Self) -> Self:
        """Return a new model that has learned the rows of both."""
        merged: Self = begin_merge(self, other)
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
        weights, numbers = summable_weights(sample_weight, X), labels.within(self.classes_)
        rows = np.ones(len(numbers)) if weights is None else weights
        sums = _by_class(numbers, rows, len(self.classes_)) @ X
        class_count = self.class_count_ + sign * labels.class_counts(self.classes_, weights)
        feature_count = self.feature_count_ + sign * (sums.toarray() if hasattr(sums, "toarray") else sums)
        if not np.isfinite(feature_count.sum()):
            refuse_huge(X)
        if sign < 0:
            largest = max(self.class_count_.max(initial=0.0), np.abs(self.feature_count_).max(initial=0.0))
            present = remaining(largest, class_count, feature_count)
            self.classes_ = self.classes_[present]
            class_count, feature_count = np.maximum(class_count[present], 0), np.maximum(feature_count[present], 0)
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


def _by_class(numbers: Array, weights: Array, classes: int) -> Any:
    """Return the sparse matrix that sums rows by class when it stands before them."""
    rows = len(numbers)
    return scipy.sparse.csc_matrix((weights, numbers, np.arange(rows + 1)), shape=(classes, rows), dtype=np.float64)


@dataclass(eq=False, repr=False, kw_only=True)
class MultinomialNB(CountingNB):
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
        **CountingNB._parameter_constraints,
        "smoothing": [JelinekMercer, Dirichlet, Laplace, None],
    }

    smoothing: JelinekMercer | Dirichlet | Laplace | None = None

    def _solve_features(self, alpha: Any) -> None:
        margins = self._margins()
        weight = multinomial_weight(self.smoothing or Laplace(alpha), margins)
        in_class = margins.classes[:, None]
        self.feature_log_prob_ = weight(self.feature_count_, margins.terms, in_class, margins.documents[:, None])

    def full_joint_log_proba(self, X: Any) -> Array:
        """Return log P(k, x), the multinomial coefficient ``|d|! / Π f!`` included."""
        rows = scipy.sparse.csr_array(validate_data(self, X, accept_sparse="csr", reset=False))
        return self.predict_joint_log_proba(X) + log_multinomial_coefficient(rows)[:, None]


@dataclass(eq=False, repr=False, kw_only=True)
class ComplementNB(CountingNB):
    """Complement naive Bayes (Rennie and others 2003), with scikit-learn's parameters.

    Examples
    --------
    >>> ComplementNB().fit([[2, 0], [0, 1]], ["spam", "ham"]).predict([[1, 0]]).tolist()
    ['spam']
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {**CountingNB._parameter_constraints, "norm": ["boolean"]}

    norm: bool = False

    def _solve_features(self, alpha: Any) -> None:
        margins = self._margins()
        self.feature_all_ = margins.terms
        weight = complement_weight(alpha, margins)
        weights = weight(self.feature_count_, margins.terms, margins.classes[:, None], margins.documents[:, None])
        self.feature_log_prob_ = weights / weights.sum(axis=1, keepdims=True) if self.norm else weights

    def _joint(self, X: Any) -> Array:
        joint = np.asarray(X @ self.feature_log_prob_.T)
        return joint + self.class_log_prior_ if len(self.classes_) == 1 else joint


@dataclass(eq=False, repr=False, kw_only=True)
class BernoulliNB(CountingNB):
    """Bernoulli naive Bayes: which terms are there, and which are not.

    Parameters are scikit-learn's and one more: ``normalization="vocabulary"`` divides by the presences of all terms in
    the class instead of its documents.

    Examples
    --------
    >>> BernoulliNB().fit([[1, 0], [0, 1]], ["spam", "ham"]).predict([[1, 0]]).tolist()
    ['spam']
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CountingNB._parameter_constraints,
        "binarize": [None, Interval(Real, 0, None, closed="left")],
        "normalization": [StrOptions({"documents", "vocabulary"})],
    }
    _input_tags: ClassVar[dict[str, bool]] = {"sparse": True}

    binarize: float | None = 0.0
    normalization: str = "documents"

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
