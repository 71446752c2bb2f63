"""Logistic regression, with scikit-learn's parameters and attributes, and what statisticians ask of it."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Hidden, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from discern.estimators.base import Array
from discern.estimators.callbacks import CallbackSupportMixin, Iterations, with_callbacks
from discern.estimators.checks import numbered, refuse_unfit
from discern.estimators.linear.logistic_base import (
    SOLVERS,
    BaseLogistic,
    check_solver,
    effective_penalty,
    failure,
    lasso_share,
)
from discern.learners.logistic.firth import fit_firth
from discern.learners.logistic.fitting import fit_lasso, fit_logistic
from discern.learners.logistic.inference import Summary
from discern.learners.logistic.rows import LabeledRows
from discern.learners.logistic.separation import Separation, SeparationWarning
from discern.learners.logistic.solvers import Convergence, Fit

WATCHED = ("auto", "lbfgs")
"""The solvers whose iterations callbacks see."""


class UnboundedWarning(SeparationWarning, ConvergenceWarning):
    """The classes are separated. It is a ConvergenceWarning, too: scikit-learn's solvers do not converge then."""


@dataclass(eq=False, repr=False)
class LogisticRegression(CallbackSupportMixin, BaseLogistic):
    """Logistic regression for two or more classes.

    Parameters and attributes are scikit-learn's. What differs: the solver is chosen by the size of the problem and goes
    to a relative gradient of ``tol``; without a penalty, separated classes are noticed and reported
    (``SeparationWarning``); ``summary()`` gives standard errors and tests.

    Parameters
    ----------
    penalty : {"auto", "l2", "l1", "elasticnet", None, "firth"}, default="auto"
        A ridge of strength 1/C, an L1 penalty of that strength, a mixture of both by ``l1_ratio``, no penalty (the same
        as ``C=np.inf``), or Firth's, which has finite results for separated classes and less bias in small samples
        (two classes only). "auto" goes by ``l1_ratio`` and ``C``, so that with their defaults it is a ridge.
    C : float, default=1.0
        The inverse of the strength of the penalty.
    l1_ratio : float, default=0.0
        The share of the L1 penalty; the solver must then be "auto", "saga" or, for 1, "liblinear".
    solver : {"auto", "newton-cholesky", "newton-cg", "lbfgs", "liblinear", "sag", "saga"}, default="auto"
        How the optimum is found. ``"lbfgs"``, ``"sag"`` and ``"saga"`` mean ``"auto"`` here; so does ``"liblinear"``,
        which furthermore penalizes the intercept as scikit-learn's does, and refuses what LIBLINEAR does not take:
        more than two classes, an elastic net, no penalty.
    tol : float, default=1e-8
        The norm of the gradient to reach, relative to that at zero coefficients.
    dual, fit_intercept, intercept_scaling, class_weight, random_state, max_iter, verbose, warm_start, n_jobs
        As in scikit-learn. ``set_callbacks`` needs scikit-learn 1.9, and solver "auto" or "lbfgs".

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
        "penalty": [StrOptions({"auto", "l2", "l1", "elasticnet", "firth"}), None, Hidden(StrOptions({"deprecated"}))],
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
    coef_: Any = field(init=False)
    intercept_: Array = field(init=False)
    convergence_: Convergence = field(init=False)
    separation_: Separation | None = field(init=False)
    _fitted: Fit = field(init=False)

    penalty: str | None = "auto"
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

    def set_callbacks(self, *callbacks: Any) -> Self:
        """Set scikit-learn's callbacks, which are then told of each iteration; without any, remove them."""
        if self.solver not in WATCHED:
            warnings.warn(
                f"Callbacks are only supported in {type(self).__name__} for solver='lbfgs' and solver='auto'. This "
                f"estimator has solver='{self.solver}': callbacks will not see its iterations.",
                stacklevel=2,
            )
        super().set_callbacks(*callbacks)
        return self

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows, forgetting everything learned before (with ``warm_start``, starting from it)."""
        self._validate_params()
        self._check_penalty()
        start = self._checked_start() if self.warm_start and hasattr(self, "coef_") else None
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=self._kinds(), **self._taken())
        self.classes_, numbers, _ = numbered(y)
        self._check_liblinear(X, len(self.classes_))
        refuse_unfit(X, self)
        weights = self._weights(X, numbers, sample_weight)
        rows = LabeledRows(X, numbers, checked_n_classes(self.classes_), weights, bool(self.fit_intercept))
        watched = Iterations.of(self, X, y, sample_weight, lambda point: self._linear(point, X.dtype))
        if watched is not None:
            watched.begin(np.zeros((rows.outputs, rows.columns)) if start is None else start)
        found = self._solve(rows, start, watched if self.solver in WATCHED else None)
        self._keep(rows, found)
        if watched is not None:
            watched.close(found.coefficients)
        return self

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

    def _effective_penalty(self) -> str | None:
        return effective_penalty(self.penalty, self.l1_ratio, self.C)

    def _check_penalty(self) -> None:
        penalty = self._effective_penalty()
        check_solver(self.solver, penalty, self.dual)
        if penalty == "elasticnet" and self.l1_ratio is None:
            raise ValueError("l1_ratio must be specified when penalty is elasticnet: the share of the L1 penalty")
        for message, category in self._contradictions():
            warnings.warn(message, category, stacklevel=4)

    def _contradictions(self) -> list[tuple[str, type[Warning]]]:
        """Return the parameters that have no effect or contradict each other, as warnings."""
        found: list[tuple[str, type[Warning]]] = []
        given, share = self.penalty, self.l1_ratio
        if given in ("auto", "deprecated") and share is None:
            found.append(("'l1_ratio=None' was deprecated by scikit-learn. Use l1_ratio=0 instead.", FutureWarning))
        if given in ("l2", "l1") and share is not None and 0 < share < 1:
            found.append(
                (f"l1_ratio parameter is only used when penalty is 'elasticnet'. Got (penalty={given})", UserWarning)
            )
        elif given == "l2" and share == 1:
            found.append((f"Inconsistent values: penalty={given} with l1_ratio={share}. Leave one out.", UserWarning))
        if given in (None, "firth") and self.C not in (1.0, np.inf):
            found.append((f"Setting penalty={given} will ignore the C and l1_ratio parameters", UserWarning))
        if self.n_jobs is not None:
            message = f"'n_jobs' has no effect. You provided 'n_jobs={self.n_jobs}', please leave it unspecified."
            found.append((message, FutureWarning))
        return found

    def _start(self) -> Array:
        return self._coefficients()[:, : self.n_features_in_ + self.fit_intercept]

    def _checked_start(self) -> Array:
        start = self._start()
        if not np.isfinite(start).all():
            raise ValueError(
                "Floating-point under-/overflow: coef_ or intercept_, where warm_start begins, is not finite"
            )
        return start

    def _solve(self, rows: LabeledRows, start: Array | None, observe: Any = None) -> Fit:
        if self.penalty == "firth":
            return fit_firth(rows, tol=self.tol, max_iter=self.max_iter)
        if start is not None and start.shape != (rows.outputs, rows.columns):
            start = None
        penalty = self._effective_penalty()
        strength = np.inf if penalty is None else self.C
        penalties = self._penalties(rows.columns, strength, lasso_share(penalty, self.l1_ratio))
        if penalties.lasso.any():
            return fit_lasso(rows, penalties, self.tol, self.max_iter, start, observe)
        options: dict[str, Any] = {"solver": SOLVERS[self.solver], "tol": self.tol, "max_iter": self.max_iter}
        return fit_logistic(rows, penalties.ridge, start=start, observe=observe, **options)

    def _keep(self, rows: LabeledRows, found: Fit) -> None:
        for name, value in self._linear(found.coefficients, rows.table.dtype).items():
            setattr(self, name, value)
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
                "and those given mean nothing; use penalty='firth', or a ridge (a finite C).",
                UnboundedWarning,
                stacklevel=5,
            )
        elif found.dependent:
            listed = ", ".join(str(names[place] if names is not None else place) for place in found.dependent[:8])
            warnings.warn(
                f"columns are linear combinations of others, so that their coefficients are not determined: {listed}; "
                "leave them out, or use a ridge (a finite C)",
                stacklevel=4,
            )
        elif not found.convergence.converged:
            warnings.warn(
                f"{failure(self.solver, found.convergence.iterations)}{found.convergence}; increase max_iter or scale "
                "the columns",
                ConvergenceWarning,
                stacklevel=5,
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
        penalty = {"firth": "Firth", None: "none"}.get(self._effective_penalty(), f"ridge, C={self.C:g}")
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
        if self._effective_penalty() == "l2" and np.isfinite(self.C):
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
