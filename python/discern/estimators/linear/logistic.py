"""Logistic regression, with scikit-learn's parameters and attributes, and what statisticians ask of it."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model._base import LinearClassifierMixin, SparseCoefMixin
from sklearn.utils._param_validation import Hidden, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from discern.estimators.base import Array, BaseClassifier
from discern.estimators.checks import class_weights, numbered, refuse_unfit, row_weights
from discern.learners.logistic.firth import fit_firth
from discern.learners.logistic.fitting import fit_logistic
from discern.learners.logistic.inference import Summary
from discern.learners.logistic.lasso import Penalties, logistic_loss, minimize_lasso
from discern.learners.logistic.rows import LabeledRows
from discern.learners.logistic.separation import Separation, SeparationWarning
from discern.learners.logistic.solvers import Convergence, Fit
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


@dataclass(eq=False, repr=False)
class LogisticRegression(LinearClassifierMixin, SparseCoefMixin, BaseClassifier):
    """Logistic regression for two or more classes.

    Parameters and attributes are scikit-learn's. What differs: the solver is chosen by the size of the problem and goes
    to a relative gradient of ``tol``; without a penalty, separated classes are noticed and reported
    (``SeparationWarning``); ``summary()`` gives standard errors and tests.

    Parameters
    ----------
    penalty : {"l2", "l1", "elasticnet", None, "firth"}, default="l2"
        A ridge of strength 1/C, an L1 penalty of that strength, a mixture of both by ``l1_ratio``, no penalty (the same
        as ``C=np.inf``), or Firth's, which has finite results for separated classes and less bias in small samples
        (two classes only).
    C : float, default=1.0
        The inverse of the strength of the penalty.
    l1_ratio : float, default=0.0
        The share of the L1 penalty; the solver must then be "auto", "saga" or, for 1, "liblinear".
    solver : {"auto", "newton-cholesky", "newton-cg", "lbfgs", "liblinear", "sag", "saga"}, default="auto"
        How the optimum is found. ``"lbfgs"``, ``"sag"`` and ``"saga"`` mean ``"auto"`` here; so does ``"liblinear"``,
        which furthermore penalizes the intercept as scikit-learn's does.
    tol : float, default=1e-8
        The norm of the gradient to reach, relative to that at zero coefficients.
    dual, fit_intercept, intercept_scaling, class_weight, random_state, max_iter, verbose, warm_start, n_jobs
        As in scikit-learn.

    Attributes
    ----------
    convergence_ : Convergence
        Solver, iterations, objective, relative gradient norm.
    separation_ : Separation or None
        How classes are separated; looked for only without a penalty.
    covariance_ : ndarray or None
        Of the coefficients as in ``summary()``; None where the solver does not form the Hessian, as for more than 64
        coefficients of many rows. With a ridge the Hessian may be that of a sample of the rows.
    log_likelihood_, null_log_likelihood_ : float
        At the coefficients, and of a model with an intercept only.

    Examples
    --------
    >>> X, y = [[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]], ["no", "no", "yes", "no", "yes", "yes"]
    >>> model = LogisticRegression(penalty=None).fit(X, y)
    >>> model.predict([[1.5]]).tolist()
    ['no']
    >>> print(model.summary())
                             Logistic regression
    =====================================================================
    Classes:             no, yes   Null deviance:       8.3178
    Observations:        6         Pseudo R²:           0.4042
    Residual d.f.:       4         AIC:                 8.9560
    Penalty:             none      BIC:                 8.5395
    Log-likelihood:      -2.4780   Solver:              newton
    Null log-likelihood: -4.1589   Converged:           yes, 5 iterations
    Deviance:            4.9560
    =====================================================================
                  coef  std err       z  P>|z|    [0.025  0.975]
    ---------------------------------------------------------------------
    intercept  -4.2491   3.3879  -1.254  0.210  -10.8892  2.3910
    x0          1.2140   0.9126   1.330  0.183   -0.5746  3.0027
    =====================================================================
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "penalty": [StrOptions({"l2", "l1", "elasticnet", "firth"}), None, Hidden(StrOptions({"deprecated"}))],
        "C": [Interval(Real, 0, None, closed="right")],
        "l1_ratio": [Interval(Real, 0, 1, closed="both"), None],
        "dual": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "random_state": ["random_state"],
        "solver": [StrOptions(set(SOLVERS))],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "verbose": ["verbose"],
        "warm_start": ["boolean"],
        "n_jobs": [None, Integral],
    }
    _input_tags: ClassVar[dict[str, bool]] = {"sparse": True}
    coef_: Any = field(init=False)
    intercept_: Array = field(init=False)
    convergence_: Convergence = field(init=False)
    separation_: Separation | None = field(init=False)
    _fitted: Fit = field(init=False)

    penalty: str | None = "l2"
    _: KW_ONLY
    C: float = 1.0
    l1_ratio: float | None = 0.0
    dual: bool = False
    tol: float = 1e-8
    fit_intercept: bool = True
    intercept_scaling: float = 1
    class_weight: Any = None
    random_state: Any = None
    solver: str = "auto"
    max_iter: int = 100
    verbose: int = 0
    warm_start: bool = False
    n_jobs: int | None = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows, forgetting everything learned before (with ``warm_start``, starting from it)."""
        self._validate_params()
        self._check_penalty()
        start = self._start() if self.warm_start and hasattr(self, "coef_") else None
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=KINDS, ensure_all_finite=False)
        refuse_unfit(X, self)
        self.classes_, numbers, _ = numbered(y)
        weights = self._weights(X, numbers, sample_weight)
        rows = LabeledRows(X, numbers, checked_n_classes(self.classes_), weights, bool(self.fit_intercept))
        self._keep(rows, self._solve(rows, start))
        return self

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class for each row."""
        check_is_fitted(self)
        if not hasattr(X, "tocsr") and isinstance(self.coef_, np.ndarray):
            return self._dense_shares(X)
        scores = self.decision_function(X)
        return probabilities(scores[:, None] if scores.ndim == 1 else scores).astype(scores.dtype, copy=False)

    def _dense_shares(self, X: Any) -> Array:
        """Return the probabilities of dense rows; look closer at the numbers only if a result is not one."""
        checked = validate_data(self, X, ensure_all_finite=False, reset=False, dtype=KINDS)
        shares = shares_of_rows(checked, self._coefficients())
        if not np.isfinite(shares[:, 0].sum()):
            validate_data(self, X, reset=False, dtype=KINDS)
        return shares.astype(np.result_type(checked, self.coef_), copy=False)

    def predict_log_proba(self, X: Any) -> Array:
        """Return the log probability of each class for each row."""
        scores = self.decision_function(X)
        both = np.stack([np.zeros_like(scores), scores], axis=1) if scores.ndim == 1 else scores
        return np.asarray(both - np.logaddexp.reduce(both, axis=1, keepdims=True))

    def summary(self, level: float = 0.95) -> Summary:
        """Return coefficients, standard errors, z and p values and intervals as a table.

        With more than two classes the coefficients are relative to the first class, as statsmodels gives them.
        """
        check_is_fitted(self)
        if self.covariance_ is None:
            raise ValueError(
                f"there are no standard errors: the {self.convergence_.solver} solver does not form the Hessian; "
                "fit with solver='newton-cholesky'"
            )
        return Summary.of(
            self._names(), self._inferred(), self._shown_covariance(), self._facts(), self._notes(), level
        )

    # -------------------------------------------------------------------------------------------------- fit

    def _lasso_share(self) -> float:
        """Return the share of the L1 penalty."""
        if np.isinf(self.C):
            return 0.0
        if self.penalty == "l1":
            return 1.0
        return float(self.l1_ratio or 0.0) if self.penalty in ("l2", "elasticnet", "deprecated") else 0.0

    def _check_penalty(self) -> None:
        share = self._lasso_share()
        if share and self.solver not in LASSO_SOLVERS:
            raise ValueError(
                f"solver={self.solver!r} has no L1 penalty, but penalty={self.penalty!r} and "
                f"l1_ratio={self.l1_ratio!r} ask for one; use solver='auto', 'liblinear' or 'saga'"
            )
        if 0 < share < 1 and self.solver == "liblinear":
            raise ValueError("solver='liblinear' has no elastic net (0 < l1_ratio < 1); use solver='auto' or 'saga'")
        if self.penalty == "elasticnet" and self.l1_ratio is None:
            raise ValueError("penalty='elasticnet' needs l1_ratio, the share of the L1 penalty from 0 to 1")
        if self.dual and self.solver != "liblinear":
            raise ValueError(f"Solver {self.solver} supports only dual=False, got dual={self.dual}")
        if self.penalty in (None, "firth") and self.C not in (1.0, np.inf):
            warnings.warn(f"Setting penalty={self.penalty} will ignore the C and l1_ratio parameters", stacklevel=3)

    def _weights(self, X: Any, numbers: Array, sample_weight: Any) -> Array | None:
        weights = row_weights(sample_weight, X)
        if self.class_weight is None:
            return weights
        masses = np.bincount(numbers, weights, len(self.classes_))
        by_class = class_weights(self.class_weight, self.classes_, masses)
        return np.asarray(by_class[numbers] if weights is None else weights * by_class[numbers])

    def _penalties(self, rows: LabeledRows) -> Array:
        strength = 0.0 if self.penalty is None else 1.0 / self.C
        penalties = np.full(rows.columns, strength)
        if self.fit_intercept:
            penalized = self.solver == "liblinear"
            penalties[-1] = strength / self.intercept_scaling**2 if penalized else 0.0
        return penalties

    def _coefficients(self) -> Array:
        """Return coefficients and intercepts as one matrix."""
        coef = self.coef_ if isinstance(self.coef_, np.ndarray) else self.coef_.toarray()
        return np.hstack([coef, self.intercept_[:, None]]).astype(np.float64, copy=False)

    def _start(self) -> Array:
        return self._coefficients()[:, : self.n_features_in_ + self.fit_intercept]

    def _solve(self, rows: LabeledRows, start: Array | None) -> Fit:
        if self.penalty == "firth":
            return fit_firth(rows, tol=self.tol, max_iter=self.max_iter)
        if start is not None and start.shape != (rows.outputs, rows.columns):
            start = None
        if self._lasso_share():
            return self._sparsest(rows, start)
        options: dict[str, Any] = {"solver": SOLVERS[self.solver], "tol": self.tol, "max_iter": self.max_iter}
        return fit_logistic(rows, self._penalties(rows), start=start, **options)

    def _sparsest(self, rows: LabeledRows, start: Array | None) -> Fit:
        """Fit with an L1 penalty, perhaps beside a ridge."""
        share, whole = self._lasso_share(), np.full(rows.columns, 1.0 / self.C)
        penalties = Penalties(share * whole, (1.0 - share) * whole)
        if self.fit_intercept:
            # liblinear's intercept is the weight of a constant feature.
            own = 1.0 / self.C / self.intercept_scaling if self.solver == "liblinear" else 0.0
            penalties.lasso[-1], penalties.ridge[-1] = own, 0.0
        found = minimize_lasso(rows, logistic_loss(rows), penalties, self.tol, self.max_iter, start)
        steps, violation = found.iterations, found.violation
        ended = Convergence("coordinate descent", steps, found.objective, violation, found.converged)
        return Fit(found.weights, ended, loss=found.loss)

    def _keep(self, rows: LabeledRows, found: Fit) -> None:
        features = rows.table.shape[1]
        # By columns, so that one sparse row is multiplied without turning the coefficients around.
        self.coef_ = np.asfortranarray(found.coefficients[:, :features], rows.table.dtype)
        free = np.zeros(rows.outputs)
        self.intercept_ = (found.coefficients[:, features] if self.fit_intercept else free).astype(rows.table.dtype)
        self.n_iter_ = np.array([max(found.convergence.iterations, min(self.max_iter, 1))], dtype=np.int32)
        self.convergence_, self.separation_ = found.convergence, found.separation
        self._fitted = found
        self.log_likelihood_ = -found.loss
        self.null_log_likelihood_ = _null_log_likelihood(rows)
        self.n_observations_ = rows.table.shape[0]
        self._warn(found)

    @property
    def covariance_(self) -> Array | None:
        """The covariance of the coefficients as in ``summary()``; None where the Hessian was not formed."""
        found: Fit = self._fitted_attribute("_fitted")
        return found.covariance()

    def _warn(self, found: Fit) -> None:
        names = getattr(self, "feature_names_in_", None)
        if found.separation is not None:
            warnings.warn(
                f"{found.separation.describe(names)}. Without a penalty their coefficients have no finite best values "
                "and those given mean nothing; use penalty='firth', or a ridge (penalty='l2' with a finite C).",
                SeparationWarning,
                stacklevel=4,
            )
        elif found.dependent:
            listed = ", ".join(str(names[place] if names is not None else place) for place in found.dependent[:8])
            warnings.warn(
                f"columns are linear combinations of others, so that their coefficients are not determined: {listed}; "
                "leave them out, or use a ridge (penalty='l2' with a finite C)",
                stacklevel=4,
            )
        elif not found.convergence.converged:
            warnings.warn(
                f"{found.convergence}; increase max_iter or scale the columns", ConvergenceWarning, stacklevel=4
            )

    # ---------------------------------------------------------------------------------------------- summary

    def _names(self) -> tuple[str, ...]:
        features = getattr(self, "feature_names_in_", [f"x{place}" for place in range(self.n_features_in_)])
        names = [*(["intercept"] if self.fit_intercept else []), *map(str, features)]
        if len(self.classes_) == 2:
            return tuple(names)
        return tuple(f"{label}: {name}" for label in self.classes_[1:] for name in names)

    def _ordered(self, matrix: Array) -> Array:
        """Move the intercept from the last place to the first."""
        return np.asarray(np.roll(matrix, 1, axis=1) if self.fit_intercept else matrix)

    def _inferred(self) -> Array:
        coefficients = self._start()
        shown = coefficients if len(coefficients) == 1 else coefficients[1:] - coefficients[0]
        return np.asarray(self._ordered(shown).ravel())

    def _shown_covariance(self) -> Array:
        assert self.covariance_ is not None
        shape = (max(len(self.classes_) - 1, 1), self.n_features_in_ + self.fit_intercept)
        order = self._ordered(np.arange(shape[0] * shape[1]).reshape(shape)).ravel()
        shown = self.covariance_[np.ix_(order, order)]
        if self.separation_ is not None:
            direction = self.separation_.direction if shape[0] == 1 else self.separation_.direction[1:]
            endless = np.flatnonzero(self._ordered(direction).ravel())
            shown[endless, endless] = np.inf
        return np.asarray(shown)

    def _facts(self) -> tuple[tuple[str, str], ...]:
        numbers = len(self._inferred())
        deviance = -2 * self.log_likelihood_
        penalty = {"firth": "Firth", None: "none"}.get(self.penalty, f"ridge, C={self.C:g}")
        return (
            ("Classes", ", ".join(map(str, self.classes_))),
            ("Observations", str(self.n_observations_)),
            ("Residual d.f.", str(self.n_observations_ - numbers)),
            ("Penalty", "none" if self.penalty == "l2" and np.isinf(self.C) else penalty),
            ("Log-likelihood", f"{self.log_likelihood_:.4f}"),
            ("Null log-likelihood", f"{self.null_log_likelihood_:.4f}"),
            ("Deviance", f"{deviance:.4f}"),
            ("Null deviance", f"{-2 * self.null_log_likelihood_:.4f}"),
            ("Pseudo R²", f"{1 - self.log_likelihood_ / self.null_log_likelihood_:.4f}"),
            ("AIC", f"{self.aic_:.4f}"),
            ("BIC", f"{self.bic_:.4f}"),
            ("Solver", self.convergence_.solver),
            (
                "Converged",
                f"{'yes' if self.convergence_.converged else 'NO'}, {self.convergence_.iterations} iterations",
            ),
        )

    def _notes(self) -> tuple[str, ...]:
        notes = []
        if self.separation_ is not None:
            names = getattr(self, "feature_names_in_", None)
            notes.append(f"{self.separation_.describe(names)}: their coefficients grow without limit.")
        if self.penalty == "l2" and np.isfinite(self.C):
            notes.append("The ridge pulls coefficients towards zero: the tests and intervals do not allow for that.")
        return tuple(notes)

    @property
    def aic_(self) -> float:
        """Akaike's criterion, −2 log L + 2 k."""
        return float(-2 * self.log_likelihood_ + 2 * len(self._inferred()))

    @property
    def bic_(self) -> float:
        """The Bayesian criterion, −2 log L + k log n."""
        return float(-2 * self.log_likelihood_ + np.log(self.n_observations_) * len(self._inferred()))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.penalty != "firth"
        return tags


def checked_n_classes(classes: Array) -> int:
    """Return the number of classes; refuses fewer than two."""
    if len(classes) < 2:
        raise ValueError(
            "This solver needs samples of at least 2 classes in the data, but the data contains only one class: "
            f"{classes[0]!r}"
        )
    return len(classes)


def _null_log_likelihood(rows: LabeledRows) -> float:
    totals = np.bincount(rows.classes, rows.weights, rows.n_classes)
    present = totals[totals > 0]
    return float(present @ np.log(present / present.sum()))
