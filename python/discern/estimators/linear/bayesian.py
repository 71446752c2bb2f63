"""Bayesian logistic regression, as a scikit-learn classifier."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import validate_data

from discern.estimators.base import Array, ProbabilityClassifier
from discern.estimators.checks import numbered, refuse_unfit, row_weights
from discern.estimators.linear.logistic import checked_n_classes
from discern.estimators.rows import check_fitted, checked_rows
from discern.learners.logistic.inference import (
    Posterior,
    best_prior_scale,
    laplace,
    probit_probabilities,
    sampled_probabilities,
    score_covariances,
)
from discern.learners.logistic.rows import LabeledRows


@dataclass(eq=False, repr=False)
class BayesianLogisticRegression(ProbabilityClassifier):
    """Logistic regression with a Gaussian prior on the coefficients, and probabilities averaged over the posterior.

    The posterior is approximated by a Gaussian at its mode (Laplace). Far from the data the averaged probabilities are
    less sure of themselves than those of the best coefficients.

    Parameters
    ----------
    prior_scale : "evidence" or float, default="evidence"
        Standard deviation of the prior of each coefficient; ``"evidence"`` takes that with the greatest evidence. The
        prior of the intercept is flat.
    predictive : {"probit", "sampling"}, default="probit"
        How to average: by MacKay's probit approximation, or over ``draws`` coefficients from the posterior.
    draws : int, default=1000
    fit_intercept : bool, default=True
    tol, max_iter : as in ``LogisticRegression``
    random_state : for ``predictive="sampling"``

    Attributes
    ----------
    coef_, intercept_, classes_, n_iter_, convergence_
        Those of the mode.
    prior_scale_ : float
    log_evidence_ : float
    covariance_ : ndarray
        Of the coefficients and the intercept, class after class.

    Examples
    --------
    >>> model = BayesianLogisticRegression(prior_scale=1.0).fit([[-1.0], [-0.5], [0.5], [1.0]], [0, 0, 1, 1])
    >>> model.predict_proba([[100.0]]).round(2).tolist()
    [[0.13, 0.87]]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "prior_scale": [StrOptions({"evidence"}), Interval(Real, 0, None, closed="neither")],
        "predictive": [StrOptions({"probit", "sampling"})],
        "draws": [Interval(Integral, 1, None, closed="left")],
        "fit_intercept": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }
    _input_tags: ClassVar[dict[str, bool]] = {"sparse": True}
    _posterior: Posterior = field(init=False)

    prior_scale: Any = "evidence"
    _: KW_ONLY
    predictive: str = "probit"
    draws: int = 1000
    fit_intercept: bool = True
    tol: float = 1e-8
    max_iter: int = 100
    random_state: Any = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows, forgetting everything learned before."""
        self._validate_params()
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, order="C", ensure_all_finite=False)
        refuse_unfit(X, self)
        self.classes_, numbers, _ = numbered(y)
        weights = row_weights(sample_weight, X)
        rows = LabeledRows(X, numbers, checked_n_classes(self.classes_), weights, bool(self.fit_intercept))
        # One seed for all predictions: the same row always gets the same probability.
        self._seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        options: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter}
        scale = best_prior_scale(rows, **options) if isinstance(self.prior_scale, str) else float(self.prior_scale)
        self._keep(laplace(rows, scale, **options), X.shape[1])
        return self

    def _keep(self, posterior: Posterior, features: int) -> None:
        self._posterior = posterior
        self.coef_ = posterior.mean[:, :features]
        free = np.zeros(len(posterior.mean))
        self.intercept_ = posterior.mean[:, features] if self.fit_intercept else free
        self.covariance_, self.prior_scale_ = posterior.covariance, posterior.prior_scale
        self.log_evidence_, self.convergence_ = posterior.log_evidence, posterior.convergence
        self.n_iter_ = max(posterior.convergence.iterations, 1)
        if not posterior.convergence.converged:
            warnings.warn(f"{posterior.convergence}; increase max_iter", ConvergenceWarning, stacklevel=3)

    def _rows(self, X: Any) -> LabeledRows:
        check_fitted(self)
        X = checked_rows(self, X, accept_sparse="csr", dtype=np.float64, order="C")
        nothing = np.zeros(X.shape[0], np.int32)
        return LabeledRows(X, nothing, len(self.classes_), None, bool(self.fit_intercept))

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class for each row, averaged over the posterior."""
        rows = self._rows(X)
        if self.predictive == "sampling":
            return sampled_probabilities(rows, self._posterior, self.draws, np.random.default_rng(self._seed))
        return np.concatenate([self._averaged(block) for block in rows.blocks()])

    def _averaged(self, rows: LabeledRows) -> Array:
        return probit_probabilities(rows.scores(self._posterior.mean), score_covariances(rows, self._posterior))

    def predict(self, X: Any) -> Array:
        """Return the most probable class of each row."""
        check_fitted(self)
        if len(self.classes_) > 2 or self.predictive == "sampling":
            return super().predict(X)
        # The average of two classes is on the same side of a half as the best coefficients.
        scores = self._rows(X).scores(self._posterior.mean)[:, 0]
        return np.asarray(self.classes_[(scores > 0).astype(np.intp)])
