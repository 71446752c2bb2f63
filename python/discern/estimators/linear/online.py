"""The base of online learners: one row after another, one class against the rest, epochs and batches."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import validate_data

from discern.data.encode import is_sparse
from discern.estimators.base import Array, BaseClassifier
from discern.estimators.checks import classes_of, refuse_unfit, row_weights
from discern.estimators.rows import check_fitted, checked_rows
from discern.learners.linear import best_functions
from discern.learners.perceptron import Lesson, OnlineSettings, Outcome, Rule, State, learn


@dataclass(eq=False, repr=False, kw_only=True)
class OnlineClassifier(BaseClassifier):
    """A classifier that sees one row after another."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left"), None],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "error_share": [Interval(Real, 0, 1, closed="both")],
    }
    _input_tags: ClassVar[dict[str, bool]] = {"sparse": True}
    _dtype: ClassVar[Any] = np.float64

    max_iter: int = 1000
    tol: float | None = 1e-3
    shuffle: bool = True
    random_state: Any = 0
    n_iter_no_change: int = 5
    error_share: float = 0.0
    _states: list[State] = field(init=False)

    # ------------------------------------------------------------------------------------------------- learn

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows, forgetting everything learned before."""
        return self._fit(X, y, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any, start: Any = None) -> Self:
        self._validate_params()
        X, y = self._validated(X, y)
        classes = classes_of(y)
        weights = row_weights(sample_weight, X, ensure_non_negative=True)
        self.classes_ = classes
        self._begin(X, weights)
        if start is not None:
            self._states = start
        self._learn(X, y, weights, self._settings())
        self._report(X, y, weights)
        if not self.converged_.all():
            warnings.warn(
                "Maximum number of iteration reached before convergence. Consider increasing max_iter to improve the "
                "fit.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Show these rows once more or for the first time; all classes must be known by the first batch.

        What is learned depends on the order of the batches, and within one only if ``shuffle`` is off.
        """
        self._validate_params()
        first = not hasattr(self, "classes_")
        X, y = self._validated(X, y, reset=first)
        present = classes_of(y)
        weights = row_weights(sample_weight, X, ensure_non_negative=True)
        if first:
            self.classes_ = present if classes is None else np.unique(classes)
            self._begin(X, weights)
        elif classes is not None and not np.array_equal(self.classes_, np.unique(classes)):
            raise ValueError(f"`classes={classes!r}` is not the same as on last call to partial_fit")
        unknown = np.setdiff1d(present, self.classes_)
        if len(unknown):
            raise ValueError(f"the label {unknown[0]!r} is new: name all classes in the first partial_fit")
        self._learn(X, y, weights, self._settings(epochs=1))
        return self

    def _settings(self, epochs: int | None = None) -> OnlineSettings:
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        batches = getattr(self, "_batches", 0)  # another order for each batch
        return OnlineSettings(
            epochs or self.max_iter,
            self.tol,
            self.n_iter_no_change,
            self.error_share,
            self.shuffle,
            seed + (batches << 32),
        )

    def _lesson(self, X: Any, y: Array, weights: Array | None, own: Array) -> Lesson:
        n_classes = len(self.classes_)
        positives = [1] if n_classes == 2 else list(range(n_classes))
        mean = [float(np.delete(own, positive).mean()) if n_classes == 2 else 1.0 for positive in positives]
        factors = [(other, float(own[positive])) for other, positive in zip(mean, positives, strict=True)]
        return Lesson(X, np.searchsorted(self.classes_, y), weights, positives, factors)

    def _begin(self, X: Any, weights: Array | None) -> None:
        rule = self._rule(X.shape[1])
        self._batches = 0
        self._states = [rule.start(X.shape[1]) for _ in range(self._learners)]
        self._outcomes = [Outcome(0, 0, 0, 1.0, False)] * self._learners

    @property
    def _learners(self) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _learn(self, X: Any, y: Array, weights: Array | None, settings: OnlineSettings) -> None:
        rule = self._rule(X.shape[1])
        lesson = self._lesson(X, y, weights, self._class_weights(y, weights))
        try:
            learned = learn(lesson, rule, self._states, settings)
        except ValueError:
            refuse_unfit(X, self)  # its message is more precise
            raise
        self._states = [state for state, _ in learned]
        lines = [rule.linear(state) for state in self._states]
        self.coef_ = np.array([weights for weights, _ in lines])
        self.intercept_ = np.array([bias for _, bias in lines])
        self._count([outcome for _, outcome in learned])

    def _count(self, outcomes: list[Outcome]) -> None:
        before = self._outcomes
        pairs = list(zip(before, outcomes, strict=True))
        self._outcomes = [
            Outcome(old.promotions + new.promotions, old.demotions + new.demotions, *_rest(old, new))
            for old, new in pairs
        ]
        self._batches += 1
        self.n_updates_ = np.array([outcome.updates for outcome in self._outcomes])
        self.n_promotions_ = np.array([outcome.promotions for outcome in self._outcomes])
        self.n_demotions_ = np.array([outcome.demotions for outcome in self._outcomes])
        self.n_iter_ = max(outcome.epochs for outcome in self._outcomes)
        self.error_share_ = np.array([outcome.error_share for outcome in self._outcomes])
        self.converged_ = np.array([outcome.converged for outcome in self._outcomes])

    def _class_weights(self, y: Array, weights: Array | None) -> Array:
        return np.ones(len(self.classes_))

    def _validated(self, X: Any, *y: Any, reset: bool = True) -> Any:
        rules: dict[str, Any] = {"accept_sparse": "csr", "dtype": self._dtype, "ensure_all_finite": False}
        checked = validate_data(self, X, *y, reset=reset, **rules) if y or reset else checked_rows(self, X, **rules)
        if not (is_sparse(X) and self._checks_when_learning and y):
            refuse_unfit(checked[0] if y else checked, self)
        return checked

    @property
    def _checks_when_learning(self) -> bool:
        """Return whether the numbers of sparse rows need no check before those of the learner itself."""
        return False

    def _rule(self, columns: int) -> Rule:
        raise TypeError("each learner has its own rule")

    def _report(self, X: Any, y: Array, weights: Array | None) -> None:
        """Describe what was found; nothing by default."""

    # ----------------------------------------------------------------------------------------------- predict

    def decision_function(self, X: Any) -> Array:
        """Return the score of each class, or of the second of two."""
        check_fitted(self)
        scores = self._scores(self._validated(X, reset=False))
        return scores.ravel() if self._learners == 1 and len(self.classes_) == 2 else scores

    def _rows_to_score(self, X: Any) -> Any:
        """Return rows as they are multiplied with the coefficients; they need not have been looked through."""
        return checked_rows(self, X, accept_sparse="csr", ensure_all_finite=False)

    def _scores(self, X: Any) -> Array:
        return np.asarray(X @ self.coef_.T + self.intercept_)

    def predict(self, X: Any) -> Array:
        """Return the class of each row: of two the second if the score is at least 0, of more the first of the best."""
        rows = self._rows_to_score(X) if "coef_" in vars(self) and len(self.classes_) > 1 else None
        best = None if rows is None else best_functions(rows, self.coef_, self.intercept_, at_zero=True)
        if best is not None:
            return np.asarray(self.classes_.take(best))
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.asarray(self.classes_[(scores >= 0).astype(np.int64)])
        return np.asarray(self.classes_[scores.argmax(axis=1)])


def _rest(old: Outcome, new: Outcome) -> tuple[int, float, bool]:
    return old.epochs + new.epochs, new.error_share, new.converged
