"""Linear and quadratic discriminant analysis, with scikit-learn's parameters and attributes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import assert_all_finite
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from discern.estimators.base import Array, ScatterClassifier
from discern.estimators.linear.prediction import LinearDecision
from discern.estimators.rows import check_fitted
from discern.learners.covariances import CovarianceSettings, SingularCovarianceWarning
from discern.learners.discriminants import (
    LinearDiscriminant,
    QuadraticDiscriminant,
    gathered,
    linear_blocks,
    log_probabilities,
    probabilities,
    solve_linear,
    solve_quadratic,
    variates,
)
from discern.learners.wide.discriminants import WideLinear, solve_linear_wide
from discern.statistics.scatter import Scatter


class _Discriminant(ScatterClassifier):
    """What both discriminants do with their settings and scores."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "shrinkage": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="both"), None],
        "priors": ["array-like", None],
        "store_covariance": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "covariance_estimator": [HasMethods("fit"), None],
        "divisor": [StrOptions({"unbiased", "likelihood"})],
    }
    solver: str
    shrinkage: Any
    priors: Any
    tol: float
    covariance_estimator: Any
    divisor: str

    def decision_function(self, X: Any) -> Array:
        """Return the score of each class for each row; of two classes, the log odds of the second."""
        X, scores = self._scores(X)
        return gathered(scores, len(X), len(self.classes_))

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class for each row."""
        X, scores = self._scores(X)
        return probabilities(scores, len(X), len(self.classes_))

    def predict_log_proba(self, X: Any) -> Array:
        """Return the log probability of each class for each row."""
        X, scores = self._scores(X)
        return log_probabilities(scores, len(X), len(self.classes_))

    def _scores(self, X: Any) -> tuple[Array, Any]:
        check_fitted(self)
        X = self._validated(X, reset=False, finite=False)
        return X, self._watched(self._blocks(X), X)

    def _blocks(self, X: Array) -> Any:
        raise TypeError("each discriminant scores its own")

    def _priors_of(self, counts: Array) -> Array:
        if self.priors is None:
            return np.asarray(counts / counts.sum())
        priors = np.array(self.priors, np.float64)  # a copy: the caller may change theirs
        if priors.shape != counts.shape:
            raise ValueError(f"there are {len(counts)} classes and {priors.size} priors; pass one for each class")
        if (priors < 0).any():
            raise ValueError("priors must be non-negative")
        if abs(priors.sum() - 1.0) > 1e-5:
            warnings.warn("The priors do not sum to 1. Renormalizing", UserWarning, stacklevel=5)
            priors = priors / priors.sum()
        return priors

    def _estimated(self, rows: Any) -> Array | None:
        """Return the covariance of each class by the user's estimator, which needs the rows themselves."""
        if self.covariance_estimator is None:
            return None
        if self.solver == "svd":
            raise ValueError("covariance estimator is not supported with svd solver. Try another solver")
        if self.shrinkage not in (None, 0):
            raise ValueError(
                "covariance_estimator and shrinkage parameters are not None. Only one of the two can be set."
            )
        if rows is None or rows[2] is not None:
            raise ValueError("a covariance_estimator needs all rows at once, without weights: use fit")
        X, numbers, _ = rows
        return np.array([self._estimate(X[numbers == number]) for number in range(numbers.max() + 1)])

    def _estimate(self, X: Array) -> Array:
        self.covariance_estimator.fit(X)
        if not hasattr(self.covariance_estimator, "covariance_"):
            raise ValueError(f"{type(self.covariance_estimator).__name__} does not have a covariance_ attribute")
        return np.asarray(self.covariance_estimator.covariance_)


def _tell(messages: Sequence[str | None]) -> None:
    for message in messages:
        if message is not None:
            warnings.warn(message, SingularCovarianceWarning, stacklevel=5)


@dataclass(eq=False, repr=False)
class LinearDiscriminantAnalysis(LinearDecision, ClassNamePrefixFeaturesOutMixin, TransformerMixin, _Discriminant):
    """Linear discriminant analysis: normal densities with a common covariance.

    Parameters and attributes are scikit-learn's. What differs: the model comes from sums about pivots, so that
    ``partial_fit`` in any batches gives what ``fit`` gives, and models can ``merge`` and ``forget``; rows can have
    weights; all solvers shrink and transform; and a covariance that is singular or ill-conditioned is shrunk, with a
    :class:`~discern.learners.covariances.SingularCovarianceWarning`, where scikit-learn drops directions in silence.
    Columns that never vary have no weight.

    Parameters
    ----------
    solver : {"svd", "lsqr", "eigen"}
        All give the same decisions. As in scikit-learn, ``"svd"`` writes ``coef_`` about the mean, ``"eigen"`` does not
        take the mean off in ``transform``, and with ``divisor="likelihood"`` and given priors ``"svd"`` pools
        covariances by rows and the others by priors.
    shrinkage : None, "auto" or float
    priors : array of shape (classes,), optional
    n_components : int, optional
        How many canonical variates ``transform`` gives.
    store_covariance : bool
        Without effect: ``covariance_`` is always there.
    tol : float
        The covariance is singular if the smallest eigenvalue of its correlations is at most ``tol**2``.
    covariance_estimator : estimator, optional
        With ``fit`` only: it needs the rows.
    divisor : {"unbiased", "likelihood"}
        Divide by N−K, as the textbooks do, or by N, as scikit-learn does.

    Examples
    --------
    >>> X, y = [[1.0, 0.0], [2.0, 1.0], [3.0, 0.0], [7.0, 1.0], [8.0, 1.0], [9.0, 0.0]], ["low"] * 3 + ["high"] * 3
    >>> model = LinearDiscriminantAnalysis().fit(X, y)
    >>> model.predict([[3.5, 0.5]]).tolist()
    ['low']
    >>> halves = LinearDiscriminantAnalysis().partial_fit(X[:4], y[:4]).partial_fit(X[4:], y[4:])
    >>> bool(np.allclose(halves.coef_, model.coef_))
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **_Discriminant._parameter_constraints,
        "solver": [StrOptions({"svd", "lsqr", "eigen"})],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
    }
    _as_rows: ClassVar[tuple[str, ...]] = ("coef_", "intercept_", "scalings_", "xbar_")
    coef_: Array = field(init=False)
    intercept_: Array = field(init=False)
    scalings_: Array = field(init=False)
    xbar_: Array = field(init=False)
    _covariance: Array = field(init=False)
    _max_components: int = field(init=False)

    solver: str = "svd"
    shrinkage: Any = None
    priors: Any = None
    n_components: int | None = None
    store_covariance: bool = False
    tol: float = 1e-4
    covariance_estimator: Any = None
    _: KW_ONLY
    divisor: str = "unbiased"

    def transform(self, X: Any) -> Array:
        """Return the canonical variates: the rows in the directions in which the classes differ most."""
        check_fitted(self)
        X = self._validated(X, reset=False, finite=False)
        found = variates(X, None if self.solver == "eigen" else self.xbar_, self.scalings_[:, : self._max_components])
        if not np.isfinite(found.sum()):
            assert_all_finite(X, estimator_name=type(self).__name__, input_name="X")
        return found

    @property
    def _n_features_out(self) -> int:
        return int(min(self._max_components, self.scalings_.shape[1]))

    def _settings(self) -> CovarianceSettings:
        by_prior = self.solver != "svd" and self.priors is not None
        return CovarianceSettings(self.shrinkage, self.divisor, by_prior, tolerance=self.tol)

    def _summed(self) -> dict[str, bool]:
        return {"pooled": not self._settings().needs_classes(), "fourth": self.shrinkage == "auto"}

    def _solve(self, classes: Array, scatter: Scatter, rows: Any = None) -> dict[str, Any]:
        components = self._components(len(classes), scatter.first.shape[1])
        priors, estimated = self._priors_of(scatter.counts), self._estimated(rows)
        given = None if estimated is None else np.tensordot(priors, estimated, 1)
        svd = self.solver == "svd"
        model = solve_linear(scatter, priors, self._settings(), svd, self.solver == "eigen", given)
        _tell([model.message])
        return {**_linear_attributes(model), "_covariance": model.covariance, "_max_components": components}

    def _solve_wide(self, classes: Array, rows: tuple[Any, Array, Any]) -> dict[str, Any] | None:
        X, numbers, weights = rows
        if self.covariance_estimator is not None:
            return None
        components = self._components(len(classes), X.shape[1])
        priors = self._priors_of(np.bincount(numbers, weights, len(classes)))
        model = solve_linear_wide(X, numbers, weights, priors, self._settings(), self.solver == "svd")
        if model is None:
            return None
        _tell([model.message])
        return {**_linear_attributes(model), "_max_components": components}

    @property
    def covariance_(self) -> Array:
        """The covariance within the classes; after fitting fewer rows than columns it is computed when asked for."""
        if "_covariance" in self.__dict__:
            return self._covariance
        scatter = self._scatter
        model = solve_linear(scatter, self.priors_, self._settings())
        self._covariance = model.covariance
        return model.covariance

    def _components(self, classes: int, features: int) -> int:
        most = min(classes - 1, features)
        if self.n_components is not None and self.n_components > most:
            raise ValueError(
                "n_components cannot be larger than min(n_features, n_classes - 1): there are "
                f"{features} features and {classes} class{'es' if classes > 1 else ''}."
            )
        return most if self.n_components is None else int(self.n_components)

    def _rows_to_score(self, X: Any) -> Any:
        return self._validated(X, reset=False, finite=False)

    def _blocks(self, X: Array) -> Any:
        return linear_blocks(X, self.coef_, self.intercept_)


def _linear_attributes(model: LinearDiscriminant | WideLinear) -> dict[str, Any]:
    coefficients, intercepts = model.coefficients, model.intercepts
    if len(intercepts) == 2:  # as in scikit-learn, the difference of the two
        coefficients, intercepts = coefficients[1:] - coefficients[:1], intercepts[1:] - intercepts[:1]
    most = min(len(model.priors) - 1, len(model.mean))
    return {
        "coef_": coefficients,
        "intercept_": intercepts,
        "means_": model.means,
        "priors_": model.priors,
        "xbar_": model.mean,
        "scalings_": model.scalings,
        "explained_variance_ratio_": model.explained[:most],
        "shrinkage_": model.shrinkage,
    }


@dataclass(eq=False, repr=False, kw_only=True)
class QuadraticDiscriminantAnalysis(_Discriminant):
    """Quadratic discriminant analysis: a normal density with a covariance of its own for each class.

    Parameters and attributes are scikit-learn's; for the differences see :class:`LinearDiscriminantAnalysis`. A class
    with a single row borrows the covariance within all classes, with a warning.

    Parameters
    ----------
    solver : {"svd", "eigen"}
        Both give the same.
    shrinkage : None, "auto" or float
    priors : array of shape (classes,), optional
    reg_param : float
        The share of the identity in the covariance of each class.
    store_covariance : bool
        Without effect: ``covariance_`` is always there.
    tol : float
        A covariance is singular if the smallest eigenvalue of its correlations is at most ``tol**2``.
    covariance_estimator : estimator, optional
        With ``fit`` only: it needs the rows.
    divisor : {"unbiased", "likelihood"}
        Divide by N_k−1, as the textbooks do, or by N_k, as scikit-learn does.

    Examples
    --------
    >>> X, y = [[1.0], [2.0], [3.0], [2.0], [9.0], [-5.0]], ["narrow"] * 3 + ["wide"] * 3
    >>> model = QuadraticDiscriminantAnalysis().fit(X, y)
    >>> model.predict([[1.5], [7.0]]).tolist()
    ['narrow', 'wide']
    >>> model.forget([[3.0]], ["narrow"]).means_.tolist()
    [[1.5], [2.0]]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **_Discriminant._parameter_constraints,
        "solver": [StrOptions({"svd", "eigen"})],
        "reg_param": [Interval(Real, 0, 1, closed="both")],
    }
    _model: QuadraticDiscriminant = field(init=False)

    solver: str = "svd"
    shrinkage: Any = None
    priors: Any = None
    reg_param: float = 0.0
    store_covariance: bool = False
    tol: float = 1.0e-4
    covariance_estimator: Any = None
    divisor: str = "unbiased"

    def _summed(self) -> dict[str, bool]:
        return {"fourth": self.shrinkage == "auto"}

    def _solve(self, classes: Array, scatter: Scatter, rows: Any = None) -> dict[str, Any]:
        settings = CovarianceSettings(
            self.shrinkage, self.divisor, regularization=float(self.reg_param), tolerance=self.tol
        )
        model = solve_quadratic(scatter, self._priors_of(scatter.counts), settings, classes, self._estimated(rows))
        _tell(model.messages)
        return {
            "_model": model,
            "means_": model.means,
            "priors_": model.priors,
            "covariance_": [white.covariance for white in model.whitenings],
            "shrinkage_": np.array([white.shrinkage for white in model.whitenings]),
        }

    @property
    def scalings_(self) -> list[Array]:
        """The variances of each class along the axes of its covariance, the largest first."""
        return [values[::-1] for values, _ in self._spectra()]

    @property
    def rotations_(self) -> list[Array]:
        """The axes of the covariance of each class, a column each."""
        return [vectors[:, ::-1] for _, vectors in self._spectra()]

    def _spectra(self) -> list[Any]:
        model: QuadraticDiscriminant = self._fitted_attribute("_model")
        return [np.linalg.eigh(white.covariance) for white in model.whitenings]

    def _blocks(self, X: Array) -> Any:
        return self._model.scores(X)
