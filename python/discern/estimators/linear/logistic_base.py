"""What estimators of logistic regression share: scikit-learn's solvers and penalties, and probabilities."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.linear_model._base import SparseCoefMixin

from discern.estimators.base import Array, BaseClassifier
from discern.estimators.checks import class_weights, row_weights
from discern.estimators.linear.prediction import LinearPrediction
from discern.estimators.rows import check_fitted, checked_rows
from discern.learners.logistic.lasso import Penalties
from discern.learners.logistic.sums import probabilities, shares_of_rows

KINDS = [np.float64, np.float32]
"""The numbers that are taken as they are: coefficients and probabilities have the same precision."""
SOLVERS = {
    "auto": "auto",
    "newton-cholesky": "newton",
    "newton-cg": "truncated newton",
    "lbfgs": "auto",
    "liblinear": "auto",
    "sag": "auto",
    "saga": "auto",
}
"""scikit-learn's names of solvers, and ours: all go to the same optimum."""

LASSO_SOLVERS = ("auto", "liblinear", "saga")
"""The solvers that have an L1 penalty, as in scikit-learn."""
LARGEST_FOR_LIBLINEAR = 1e30

FAILURES = {
    "newton-cholesky": "Newton solver did not converge after {} iterations",
    "newton-cg": "newton-cg failed to converge. Increase the number of iterations.",
    "lbfgs": "lbfgs failed to converge after {} iterations",
    "liblinear": "Liblinear failed to converge, increase the number of iterations.",
    "sag": "The max_iter was reached which means the coef_ did not converge",
    "saga": "The max_iter was reached which means the coef_ did not converge",
}
"""How scikit-learn's warnings begin, which filters look for; the solver is ours."""


class BaseLogistic(LinearPrediction, SparseCoefMixin, BaseClassifier):
    """The base of logistic regressions: scikit-learn's parameters, and probabilities from scores."""

    _input_tags: ClassVar[dict[str, bool]] = {"sparse": True}
    coef_: Any
    intercept_: Array
    solver: str
    fit_intercept: bool
    intercept_scaling: float
    class_weight: Any

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class for each row."""
        check_fitted(self)
        if not hasattr(X, "tocsr") and isinstance(self.coef_, np.ndarray):
            return self._dense_shares(X)
        scores = self.decision_function(X)
        return probabilities(scores[:, None] if scores.ndim == 1 else scores).astype(scores.dtype, copy=False)

    def _dense_shares(self, X: Any) -> Array:
        """Return the probabilities of dense rows; look closer at the numbers only if a result is not one."""
        checked = checked_rows(self, X, ensure_all_finite=False, dtype=KINDS)
        shares = shares_of_rows(checked, self._coefficients())
        if not np.isfinite(shares[:, 0].sum()):
            checked_rows(self, X, dtype=KINDS)
        return shares.astype(np.result_type(checked, self.coef_), copy=False)

    def predict_log_proba(self, X: Any) -> Array:
        """Return the log probability of each class for each row."""
        scores = self.decision_function(X)
        both = np.stack([np.zeros_like(scores), scores], axis=1) if scores.ndim == 1 else scores
        return np.asarray(both - np.logaddexp.reduce(both, axis=1, keepdims=True))

    def _coefficients(self) -> Array:
        """Return coefficients and intercepts as one matrix."""
        coef = self.coef_ if isinstance(self.coef_, np.ndarray) else self.coef_.toarray()
        return np.hstack([coef, self.intercept_[:, None]]).astype(np.float64, copy=False)

    def _linear(self, coefficients: Array, kind: Any) -> dict[str, Any]:
        """Return ``coef_`` and ``intercept_`` for coefficients whose last column is the intercept, if there is one."""
        features = self.n_features_in_
        free = np.zeros(len(coefficients))
        return {
            # By columns, so that one sparse row is multiplied without turning the coefficients around.
            "coef_": np.asfortranarray(coefficients[:, :features], kind),
            "intercept_": (coefficients[:, features] if self.fit_intercept else free).astype(kind),
        }

    def _weights(self, X: Any, numbers: Array, sample_weight: Any) -> Array | None:
        """Return the weights of rows, those of their classes included; None if all are 1."""
        weights = row_weights(sample_weight, X)
        if self.class_weight is None:
            return weights
        masses = np.bincount(numbers, weights, len(self.classes_))
        by_class = class_weights(self.class_weight, self.classes_, masses)
        return np.asarray(by_class[numbers] if weights is None else weights * by_class[numbers])

    def _kinds(self) -> Any:
        """Return the numbers that are taken as they are: LIBLINEAR has 64-bit numbers only."""
        return np.float64 if self.solver == "liblinear" else KINDS

    def _taken(self) -> dict[str, bool]:
        """Return which tables are taken: LIBLINEAR has 32-bit indices only. Numbers are looked at later."""
        return {"ensure_all_finite": False, "accept_large_sparse": self.solver != "liblinear"}

    def _penalties(self, columns: int, C: float, share: float) -> Penalties:
        """Return the penalties of the columns; ``share`` is that of the L1 penalty."""
        whole = np.full(columns, 1.0 / C)
        penalties = Penalties(share * whole, (1.0 - share) * whole)
        if self.fit_intercept:
            # LIBLINEAR's intercept is the weight of a constant feature.
            own = 1.0 / C if self.solver == "liblinear" else 0.0
            penalties.lasso[-1] = share * own / self.intercept_scaling
            penalties.ridge[-1] = (1.0 - share) * own / self.intercept_scaling**2
        return penalties

    def _check_liblinear(self, X: Any, n_classes: int) -> None:
        """Refuse what LIBLINEAR does not take."""
        if self.solver != "liblinear":
            return
        if n_classes > 2:
            raise ValueError(
                "The 'liblinear' solver does not support multiclass classification (n_classes >= 3). Either use "
                "another solver, such as 'auto', or wrap the estimator in a OneVsRestClassifier."
            )
        if X.shape[0] and X.max() > LARGEST_FOR_LIBLINEAR:
            raise ValueError(
                "Using the 'liblinear' solver while X contains a maximum value > 1e30 results in a frozen fit. "
                "Please choose another solver or rescale the input X."
            )


def effective_penalty(penalty: str | None, share: float | None, C: float) -> str | None:
    """Return the penalty that is meant: by default that of ``l1_ratio`` and ``C``.

    Examples
    --------
    >>> effective_penalty("auto", 1.0, 1.0), effective_penalty("auto", 0.0, float("inf"))
    ('l1', None)
    """
    if penalty not in ("auto", "deprecated"):
        return penalty
    if np.isinf(C):
        return None
    return {0.0: "l2", 1.0: "l1"}.get(share or 0.0, "elasticnet")


def lasso_share(penalty: str | None, share: float | None) -> float:
    """Return the share of the L1 penalty in a penalty.

    Examples
    --------
    >>> [lasso_share(penalty, 0.5) for penalty in ("l1", "l2", "elasticnet", None)]
    [1.0, 0.0, 0.5, 0.0]
    """
    return float(share or 0.0) if penalty == "elasticnet" else float(penalty == "l1")


def check_solver(solver: str, penalty: str | None, dual: bool) -> None:
    """Refuse penalties that a solver does not have in scikit-learn.

    Examples
    --------
    >>> check_solver("lbfgs", "l1", False)
    Traceback (most recent call last):
    ...
    ValueError: Solver lbfgs supports only 'l2' or None penalties, got l1 penalty; use solver='auto', 'saga' or, without
    an elastic net, 'liblinear'
    """
    if penalty in ("l1", "elasticnet") and solver not in LASSO_SOLVERS:
        raise ValueError(
            f"Solver {solver} supports only 'l2' or None penalties, got {penalty} penalty; use solver='auto', 'saga' "
            "or, without an elastic net, 'liblinear'"
        )
    if dual and solver != "liblinear":
        raise ValueError(f"Solver {solver} supports only dual=False, got dual={dual}")
    if solver == "liblinear" and penalty == "elasticnet":
        raise ValueError(
            "Only 'saga' solver supports elasticnet penalty, got solver=liblinear. solver='auto' does, too."
        )
    if solver == "liblinear" and penalty is None:
        raise ValueError(
            "C=np.inf as well as penalty=None is not supported for the liblinear solver. Use solver='auto'."
        )


def failure(solver: str, iterations: int) -> str:
    """Return how scikit-learn's warning of a fit that did not converge begins, for its solvers.

    Examples
    --------
    >>> failure("newton-cholesky", 5), failure("auto", 5)
    ('Newton solver did not converge after 5 iterations: ', '')
    """
    return FAILURES[solver].format(iterations) + ": " if solver in FAILURES else ""
