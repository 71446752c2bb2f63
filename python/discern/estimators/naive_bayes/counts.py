"""Naive Bayes on matrices of counts, with scikit-learn's parameters and attributes."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, check_non_negative, validate_data

from discern.data.encode import EncodedLabels, is_sparse
from discern.estimators.base import Array, begin_merge
from discern.estimators.checks import numbered, refuse_huge, summable_weights
from discern.estimators.naive_bayes.base import NaiveBayesClassifier, remaining
from discern.estimators.rows import check_fitted, checked_rows
from discern.learners.bayes import (
    Margins,
    bernoulli_probability,
    complement_weight,
    log_multinomial_coefficient,
    log_odds,
    multinomial_weight,
)
from discern.learners.linear import best_functions, linear_scores
from discern.learners.smoothing import Dirichlet, JelinekMercer, Laplace
from discern.statistics.by_class import add_by_class, scores_of_rows

_SMALL_BATCH = 1 << 18
"""A batch of at most this many numbers is added in place; Ctrl-C cannot come between."""
_LARGEST_SUM = 1e290
"""Sums that stay below this are finite without a look at each."""
_BLOCK = 1 << 16
"""Numbers of a dense table that are compared with a threshold at once: they stay in the cache."""


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
    _solutions: ClassVar[tuple[str, ...]] = ("feature_log_prob_",)
    """Attributes that are computed from the sums when they are first used."""
    _solving: ClassVar[tuple[str, ...]] = ()
    """Parameters, beside alpha and the priors, that are used when the sums are solved."""

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
            for name in ("class_count_", "feature_count_", "category_count_", "_largest"):
                self.__dict__.pop(name, None)
            self._grow(labels.distinct, X.shape[1])
            self._add(X, labels, sample_weight)
            self._solved()
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows. New labels are accepted; ``classes`` may announce some beforehand.

        The log probabilities are computed when they are next used.
        """
        self._validate_params()
        first = not hasattr(self, "classes_")
        with self._all_or_nothing():
            X, y = self._validated(X, y, reset=first)
            labels = numbered(y)
            named = [np.asarray(classes)] if classes is not None else []
            every = [*([] if first else [self.classes_]), *named, labels.distinct]
            self._grow(np.unique(np.concatenate(every)), X.shape[1])
            self._add(X, labels, sample_weight)
        return self

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget rows: the model is then the one that never saw them. Refuses rows that were never learned."""
        check_is_fitted(self)
        with self._all_or_nothing():
            X, y = self._validated(X, y, reset=False)
            self._subtract(X, self._known(y), sample_weight)
        return self

    def merge(self, other: Self) -> Self:
        """Return a new model that has learned the rows of both."""
        merged: Self = begin_merge(self, other)
        merged._grow(np.union1d(self.classes_, other.classes_), self.n_features_in_)
        for part in (self, other):
            places = np.searchsorted(merged.classes_, part.classes_)
            merged.class_count_[places] += part.class_count_
            merged.feature_count_[places] += part.feature_count_
        merged._largest = self._largest + other._largest
        merged._solve()
        return merged

    # ------------------------------------------------------------------------------------------------ sums

    def _rows(self, X: Any) -> Any:
        check_fitted(self)
        X = self._validated(X, reset=False)
        self._check_counts(X)
        return X

    def _validated(self, X: Any, *y: Any, reset: bool = True) -> Any:
        if not y and not reset:
            return checked_rows(self, X, accept_sparse=["csr", "csc"])
        return validate_data(self, X, *y, accept_sparse=["csr", "csc"], reset=reset)

    def _check_counts(self, X: Any) -> None:
        values = X.data if is_sparse(X) else X
        if not (type(values) is np.ndarray and values.size and values.min() >= 0):
            check_non_negative(X, f"{type(self).__name__} (input X)")

    def _threshold(self) -> float | None:
        """Return above which number a number counts as one; None if it counts as it is."""
        return None

    def _counted_rows(self, X: Any) -> Any:
        """Return rows to decide about as they are counted."""
        return X

    def _grow(self, classes: Array, features: int) -> None:
        """Make room for more classes, keeping what was counted."""
        known = hasattr(self, "class_count_")
        if known and np.array_equal(classes, self.classes_):
            return
        class_count, feature_count = np.zeros(len(classes)), np.zeros((len(classes), features))
        if known:
            places = np.searchsorted(classes, self.classes_)
            class_count[places], feature_count[places] = self.class_count_, self.feature_count_
        self.classes_, self.class_count_, self.feature_count_ = classes, class_count, feature_count

    def _add(self, X: Any, labels: EncodedLabels, sample_weight: Any) -> None:
        """Add rows to the sums: small batches in place, so that only their columns are touched."""
        self._check_counts(X)
        weights, numbers = summable_weights(sample_weight, X), labels.within(self.classes_)
        class_count = self.class_count_ + labels.class_counts(self.classes_, weights)
        largest = self.__dict__.get("_largest", 0.0) + _bound(X, weights, self._threshold())
        # What may fail comes first: then either all sums change, or none.
        alpha = self._checked_alpha()
        log_prior = self._log_prior(class_count)
        sums = self.feature_count_
        if largest > _LARGEST_SUM or _size(X) > _SMALL_BATCH or not _can_add_to(sums):
            sums = np.array(sums, np.float64, order="C")
        add_by_class(X, numbers, weights, sums, self._threshold())
        if largest > _LARGEST_SUM and not np.isfinite(sums.sum()):
            refuse_huge(X)
        self.class_count_, self.feature_count_, self._largest = class_count, sums, largest
        self._begin_solving(log_prior, alpha)

    def _subtract(self, X: Any, labels: EncodedLabels, sample_weight: Any) -> None:
        """Take rows off the sums, and classes that have none left out of the model."""
        self._check_counts(X)
        weights, numbers = summable_weights(sample_weight, X), labels.within(self.classes_)
        forgotten = np.zeros(self.feature_count_.shape)
        add_by_class(X, numbers, weights, forgotten, self._threshold())
        class_count = self.class_count_ - labels.class_counts(self.classes_, weights)
        feature_count = np.subtract(self.feature_count_, forgotten, out=forgotten)
        if not np.isfinite(feature_count.sum()):
            refuse_huge(X)
        largest = max(self.class_count_.max(initial=0.0), np.abs(self.feature_count_).max(initial=0.0))
        present = remaining(largest, class_count, feature_count)
        self.classes_ = self.classes_[present]
        self.class_count_ = np.maximum(class_count[present], 0)
        self.feature_count_ = np.maximum(feature_count[present], 0)
        self._solve()

    # ----------------------------------------------------------------------------------------------- solve

    # The log probabilities are solved when they are first used after rows were added: a stream of small batches then
    # costs no more than its numbers.

    def _solve(self) -> None:
        self._begin_solving(self._log_prior(self.class_count_), self._checked_alpha())
        self._solved()

    def _begin_solving(self, log_prior: Array, alpha: Any) -> None:
        """Note with which settings the sums are to be solved, and drop what was solved before."""
        for name in self._solutions:
            self.__dict__.pop(name, None)
        self.class_log_prior_ = log_prior
        self._unsolved = (alpha, {name: getattr(self, name) for name in self._solving})

    def _solved(self) -> None:
        """Solve the sums if that is still to be done."""
        unsolved = self.__dict__.get("_unsolved")
        if unsolved is None:
            return
        with np.errstate(divide="ignore"):
            self.__dict__.update(self._solution(unsolved[0], **unsolved[1]))
        self.__dict__.pop("_unsolved", None)

    def __getattr__(self, name: str) -> Any:
        if name in type(self)._solutions:
            self._solved()
            if name in self.__dict__:
                return self.__dict__[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _log_prior(self, class_count: Array) -> Array:
        if self.class_prior is not None:
            if len(self.class_prior) != len(self.classes_):
                raise ValueError("Number of priors must match number of classes.")
            return np.asarray(np.log(self.class_prior))
        if self.fit_prior:
            with np.errstate(divide="ignore"):  # a class may have been named before it came
                return np.asarray(np.log(class_count) - np.log(class_count.sum()))
        return np.full(len(self.classes_), -np.log(len(self.classes_)))

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

    def _solution(self, alpha: Any, **settings: Any) -> dict[str, Any]:
        raise TypeError("each event model solves its own features")

    def _weights(self) -> Array:
        """Return what a number of each term adds to the score of each class."""
        return np.asarray(self.feature_log_prob_)

    def _offsets(self) -> Array:
        """Return the score of a row of zeros."""
        return self.class_log_prior_

    def _best(self, X: Any) -> Array:
        best = None
        if len(self.classes_) > 1:
            best = best_functions(self._counted_rows(X), self._weights(), self._offsets())
        return super()._best(X) if best is None else best

    def _joint(self, X: Any) -> Array:
        rows = self._counted_rows(X)
        # Row by row, so that the layout of a table does not decide how sums are rounded.
        table = None if is_sparse(rows) else np.ascontiguousarray(rows)
        scores = None if table is None else linear_scores(table, self._weights(), self._offsets())
        if scores is not None:
            return scores
        return scores_of_rows(rows, np.ascontiguousarray(self._weights().T, np.float64), self._offsets())


def _by_term(weights: Array) -> Array:
    """Lay weights out by term in memory, as rows are scored."""
    return np.asfortranarray(weights)


def _size(X: Any) -> int:
    return int(X.nnz if is_sparse(X) else X.size)


def _can_add_to(sums: Array) -> bool:
    return bool(sums.dtype == np.float64 and sums.flags.c_contiguous and sums.flags.writeable)


def _bound(X: Any, weights: Array | None, threshold: float | None) -> float:
    """Return what the sums of some rows do not exceed."""
    values = X.data if is_sparse(X) else X
    largest = 1.0 if threshold is not None else float(np.max(np.abs(_extremes(values))))
    heaviest = 1.0 if weights is None else float(np.max(np.abs(_extremes(weights))))
    return largest * heaviest * max(int(X.shape[0]), 1)


def _extremes(values: Array) -> Array:
    return np.array([values.min(initial=0), values.max(initial=0)], np.float64)


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

    _solving: ClassVar[tuple[str, ...]] = ("smoothing",)

    smoothing: JelinekMercer | Dirichlet | Laplace | None = None

    def _solution(self, alpha: Any, **settings: Any) -> dict[str, Any]:
        margins = self._margins()
        weight = multinomial_weight(settings["smoothing"] or Laplace(alpha), margins)
        in_class = margins.classes[:, None]
        logs = weight(self.feature_count_, margins.terms, in_class, margins.documents[:, None])
        return {"feature_log_prob_": _by_term(logs)}

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

    _solutions: ClassVar[tuple[str, ...]] = ("feature_log_prob_", "feature_all_")
    _solving: ClassVar[tuple[str, ...]] = ("norm",)

    norm: bool = False

    def _solution(self, alpha: Any, **settings: Any) -> dict[str, Any]:
        margins = self._margins()
        weight = complement_weight(alpha, margins)
        weights = weight(self.feature_count_, margins.terms, margins.classes[:, None], margins.documents[:, None])
        if settings["norm"]:
            weights = weights / weights.sum(axis=1, keepdims=True)
        return {"feature_all_": margins.terms, "feature_log_prob_": _by_term(weights)}

    def _offsets(self) -> Array:
        return self.class_log_prior_ if len(self.classes_) == 1 else np.zeros(len(self.classes_))


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

    _solutions: ClassVar[tuple[str, ...]] = ("feature_log_prob_", "_odds", "_absent")
    _solving: ClassVar[tuple[str, ...]] = ("normalization",)

    binarize: float | None = 0.0
    normalization: str = "documents"

    def _check_counts(self, X: Any) -> None:
        pass

    def _threshold(self) -> float | None:
        return None if self.binarize is None else float(self.binarize)

    def _solution(self, alpha: Any, **settings: Any) -> dict[str, Any]:
        margins = self._margins()
        probability = bernoulli_probability(alpha, margins, settings["normalization"])
        present = probability(self.feature_count_, 0, margins.classes[:, None], margins.documents[:, None])
        absent = np.log1p(-present).sum(axis=1)
        return {"feature_log_prob_": np.log(present), "_odds": _by_term(log_odds(present)), "_absent": absent}

    def _weights(self) -> Array:
        return np.asarray(self._odds)

    def _offsets(self) -> Array:
        return np.asarray(self._absent + self.class_log_prior_)

    def _counted_rows(self, X: Any) -> Any:
        if self.binarize is None:
            return X
        if is_sparse(X):
            return type(X)((X.data > self.binarize, X.indices, X.indptr), shape=X.shape)
        return np.greater(X, self.binarize).view(np.uint8)
