"""Support vector machines with kernels, with scikit-learn's parameters and attributes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import _ovr_decision_function, check_classification_targets
from sklearn.utils.validation import _check_sample_weight, _num_samples, validate_data

from discern.data.encode import is_sparse
from discern.estimators.base import Array, BaseClassifier
from discern.estimators.calibrate import calibrated, calibrated_pairs
from discern.estimators.checks import class_weights, refuse_huge
from discern.estimators.rows import check_fitted, checked_rows
from discern.evaluation.calibration import METHODS
from discern.learners.kernels.machines import KERNELS, Kernel, SupportVectorSettings, fit_machines, pairs_of

FOLDS = 5
LARGEST_COST = 1e10
"""What C=inf stands for: no row that can be separated reaches it, and sums of such costs keep their digits."""


def gamma_of(gamma: Any, X: Any, weights: Array | None) -> float:
    """Return the number that ``gamma`` stands for: ``"scale"`` is 1/(columns · variance), ``"auto"`` 1/columns.

    A row of weight w counts in the variance as w rows.
    """
    if not isinstance(gamma, str):
        return float(gamma)
    if gamma == "auto":
        return float(1.0 / X.shape[1])
    if weights is None:
        squares = X.multiply(X).mean() - X.mean() ** 2 if is_sparse(X) else X.var()
    else:
        rows = weights.sum() * X.shape[1]
        mean = (weights @ X).sum() / rows
        power = X.multiply(X) if is_sparse(X) else (X - mean) ** 2
        squares = (weights @ power).sum() / rows - (mean**2 if is_sparse(X) else 0.0)
    return float(1.0 / (X.shape[1] * squares)) if squares > 0 else 1.0


@dataclass(eq=False, repr=False, kw_only=True)
class SVC(BaseClassifier):
    """Support vector machine with a kernel; for more than two classes, one against one.

    Parameters and attributes are scikit-learn's. What differs:

    - ``tol`` bounds the relative duality gap too, by a tenth of it, so that the objective is good to 1e-4 by default;
      small problems are solved to rounding if that takes few steps.
    - Weights are repetitions, also for ``gamma="scale"``: a row of weight 3 counts as three rows. As in scikit-learn,
      ``class_weight="balanced"`` counts the rows of each class, whatever they weigh.
    - ``probability=True`` adds ``predict_proba`` from a calibration of cross-fitted scores; it never changes what
      ``predict`` returns. ``calibration`` chooses the map. Of more than two classes each pair has a map, and their
      probabilities are coupled as in LIBSVM; ``"temperature"`` takes the scores of all classes at once. It is not
      deprecated here; scikit-learn's ``"deprecated"`` means False. ``probA_`` and ``probB_``, the sigmoids of LIBSVM,
      are always empty.
    - A model that was fitted on dense rows predicts sparse ones, too.
    - ``cache_size`` (in MB) bounds all that the solvers keep, above all cached kernel values, also when pairs are
      solved in parallel.

    Attributes
    ----------
    margin_ : array
        The width 2/‖w‖ of the strip between two classes, for each pair.
    duality_gap_ : array
        The gap between primal and dual objective, as a share of the primal one, for each pair.
    objective_ : array
        The primal objective ½‖w‖² + Σ C_i ξ_i, for each pair.
    bound_share_ : array
        The share of a pair's support vectors whose coefficient has reached C.

    Examples
    --------
    >>> model = SVC(kernel="linear", C=10.0).fit([[-1.0], [3.0]], ["no", "yes"])
    >>> model.decision_function([[3.0]]).round(6).tolist(), model.margin_.round(6).tolist()
    ([1.0], [4.0])
    >>> xor = SVC(gamma=1.0, C=100.0).fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])
    >>> xor.predict([[0, 0], [0, 1], [1, 0], [1, 1]]).tolist()
    [0, 1, 1, 0]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "C": [Interval(Real, 0.0, None, closed="right")],
        "kernel": [StrOptions(set(KERNELS)), callable],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "shrinking": ["boolean"],
        "probability": ["boolean", StrOptions({"deprecated"})],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "cache_size": [Interval(Real, 0, None, closed="neither")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "verbose": ["verbose"],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "decision_function_shape": [StrOptions({"ovr", "ovo"})],
        "break_ties": ["boolean"],
        "random_state": ["random_state"],
        "calibration": [StrOptions(set(METHODS))],
    }

    C: float = 1.0
    kernel: str | Callable[[Any, Any], Array] = "rbf"
    degree: int = 3
    gamma: str | float = "scale"
    coef0: float = 0.0
    shrinking: bool = True
    probability: bool | str = False
    tol: float = 1e-3
    cache_size: float = 200
    class_weight: Any = None
    verbose: bool = False
    max_iter: int = -1
    decision_function_shape: str = "ovr"
    break_ties: bool = False
    random_state: Any = None
    calibration: str = "logistic"

    # -------------------------------------------------------------------------------------------------- fit

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Solve the machine of each pair of classes."""
        self._validate_params()
        X, y = self._checked_rows(X, y)
        weights = None if sample_weight is None else self._checked_weights(sample_weight, X)
        self._check_square(X)
        kept = np.arange(len(y)) if weights is None else np.flatnonzero(weights > 0)
        self.classes_ = np.unique(y[kept])
        if len(self.classes_) < 2:
            raise ValueError(self._one_class(weights))
        numbers = np.searchsorted(self.classes_, y).clip(max=len(self.classes_) - 1)  # others have no weight
        masses = np.bincount(numbers[np.isin(y, self.classes_)], minlength=len(self.classes_)).astype(np.float64)
        self.class_weight_ = class_weights(self.class_weight, self.classes_, masses, positive=True)
        self._solve(X, numbers, kept, weights)
        self.shape_fit_ = X.shape if hasattr(X, "shape") else (len(X),)
        self._calibration = self._calibrated(X, y, weights) if self._wants_probability() else None
        return self

    def _checked_rows(self, X: Any, y: Any) -> tuple[Any, Array]:
        """Return rows and labels, checked; rows for a kernel of one's own are what that kernel takes."""
        if callable(self.kernel):
            check_consistent_length(X, y)
            y = column_or_1d(y, warn=True)
        else:
            X, y = validate_data(self, X, y, dtype=np.float64, order="C", accept_sparse="csr", y_numeric=False)
            _refuse_endless(X)
        check_classification_targets(y)
        return X, y

    def _one_class(self, weights: Array | None) -> str:
        if weights is None:
            return "The number of classes has to be greater than one; got 1 class: pass rows of more."
        return (
            "Invalid input - all samples with positive weights belong to the same class, and the number of classes has "
            "to be greater than one: pass rows of more with weights above 0"
        )

    def _wants_probability(self) -> bool:
        return not isinstance(self.probability, str) and bool(self.probability)

    def _checked_weights(self, sample_weight: Any, X: Any) -> Array:
        given = np.asarray(sample_weight)
        if given.size and given.dtype.kind in "biuf" and not np.isnan(given).any() and not (given > 0).any():
            raise ValueError("Invalid input - all samples have zero or negative weights.")
        return np.asarray(_check_sample_weight(sample_weight, X, dtype=np.float64))

    def _check_square(self, X: Any) -> None:
        if self.kernel != "precomputed":
            return
        if is_sparse(X):
            raise TypeError("Sparse precomputed kernels are not supported.")
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                f"Precomputed matrix must be a square matrix. Input is a {X.shape[0]}x{X.shape[1]} matrix."
            )

    def _solve(self, X: Any, numbers: Array, kept: Array, weights: Array | None) -> None:
        own = callable(self.kernel)
        self._rows_of_fit = X if own else None
        self._gamma = 1.0 if own or self.kernel in ("linear", "precomputed") else gamma_of(self.gamma, X, weights)
        costs = min(self.C, LARGEST_COST) * self.class_weight_[numbers] * (1.0 if weights is None else weights)
        table = self._called(X, X) if own else X
        chosen = table[kept] if len(kept) < len(numbers) else table
        if len(kept) < len(numbers) and self._kernel.name == "precomputed":
            chosen = np.ascontiguousarray(chosen[:, kept])
        settings = SupportVectorSettings(self.tol, int(self.cache_size * 2**20), self.shrinking, self.max_iter)
        machines = fit_machines(chosen, numbers[kept], len(self.classes_), costs[kept], self._kernel, settings)
        self._machines = machines
        self._keep(machines, X, kept)

    def _keep(self, machines: Any, X: Any, kept: Array) -> None:
        """Name what was found as scikit-learn does."""
        sign = -1.0 if len(self.classes_) == 2 else 1.0  # with two classes, a positive score is for the second
        self.support_ = kept[machines.support].astype(np.int32)
        self._places = self.support_.astype(np.int64)
        given = self._kernel.name == "precomputed"
        self.support_vectors_ = np.empty((0, 0)) if given else X[self.support_]
        self._n_support = np.array(machines.class_sizes, np.int32)
        dual = sign * machines.coefficients
        self.dual_coef_ = scipy.sparse.csr_matrix(dual) if is_sparse(X) else dual
        self.intercept_ = sign * machines.intercepts
        self.n_iter_ = np.array([proof.iterations for proof in machines.certificates], np.int32)
        self.margin_ = np.array([proof.margin for proof in machines.certificates])
        self.duality_gap_ = np.array([proof.duality_gap for proof in machines.certificates])
        self.objective_ = np.array([proof.primal for proof in machines.certificates])
        self.bound_share_ = np.array(machines.bound_shares)
        self.fit_status_ = int(not all(proof.converged for proof in machines.certificates))
        if self.fit_status_:
            warnings.warn(
                f"Solver terminated early (max_iter={self.max_iter}).  Consider pre-processing your data with "
                "StandardScaler or MinMaxScaler.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _calibrated(self, X: Any, y: Array, weights: Array | None) -> Any:
        pairs = self._calibrates_pairs()
        shape = {"decision_function_shape": "ovo" if pairs else "ovr", "break_ties": False}
        plain = type(self)(**{**self.get_params(), "probability": False, **shape})
        fit = calibrated_pairs if pairs else calibrated
        return fit(plain, self.calibration, FOLDS, X, y, weights, keep_lone=True)

    def _calibrates_pairs(self) -> bool:
        """Return whether each pair of classes has a map of its own."""
        return len(self.classes_) > 2 and self.calibration != "temperature"

    # ---------------------------------------------------------------------------------------------- predict

    @property
    def _kernel(self) -> Kernel:
        name = "precomputed" if callable(self.kernel) else self.kernel
        return Kernel(name, self._gamma, self.coef0, self.degree)

    def _called(self, X: Any, others: Any) -> Array:
        assert callable(self.kernel)
        values: Any = self.kernel(X, others)
        values = np.asarray(values.toarray() if is_sparse(values) else values, np.float64)
        expected = _num_samples(X), _num_samples(others)
        if values.shape != expected:
            raise ValueError(f"the kernel returned {values.shape} values, not {expected}")
        assert_all_finite(values, input_name="the kernel's values")
        return np.ascontiguousarray(values)

    def _pairs(self, X: Any) -> Array:
        """Return the value of each pair of classes; a positive one is for the first."""
        check_fitted(self)
        if self._rows_of_fit is not None:
            X = self._called(X, self._rows_of_fit)
        else:
            X = checked_rows(self, X, dtype=np.float64, order="C", accept_sparse="csr")
        if self._kernel.name == "precomputed":
            return replace(self._machines, support=self._places).decide(X, None, self._kernel)
        support = self.support_vectors_
        if is_sparse(X) != is_sparse(support):
            X = X.toarray() if is_sparse(X) else scipy.sparse.csr_array(X)
        return self._machines.decide(X, support, self._kernel)

    def decision_function(self, X: Any) -> Array:
        """Return the distance-like scores; for more than two classes one a class ("ovr") or one a pair ("ovo")."""
        pairs = self._pairs(X)
        if len(self.classes_) == 2:
            return np.asarray(-pairs.ravel())
        if self.decision_function_shape == "ovo":
            return pairs
        return np.asarray(_ovr_decision_function(pairs < 0, -pairs, len(self.classes_)))

    def predict(self, X: Any) -> Array:
        """Return the class of each row: the one that wins most pairs, the first of those that win the same."""
        check_fitted(self)
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        if self.break_ties and len(self.classes_) > 2:
            return np.asarray(self.classes_[self.decision_function(X).argmax(axis=1)])
        pairs = self._pairs(X)
        if len(self.classes_) == 2:
            return np.asarray(self.classes_[(pairs[:, 0] <= 0).astype(np.intp)])
        first, second = pairs_of(len(self.classes_))
        each, won = np.eye(len(self.classes_)), pairs > 0
        votes = won @ each[first] + ~won @ each[second]
        return np.asarray(self.classes_[votes.argmax(axis=1)])

    def _has_probability(self) -> bool:
        if not self._wants_probability():
            raise AttributeError("predict_proba is not available when probability=False")
        return True

    @available_if(_has_probability)
    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class for each row, from cross-fitted scores."""
        check_fitted(self)
        if self._calibration is None:
            raise NotFittedError("predict_proba is not available when fitted with probability=False")
        pairs = self._pairs(X)
        if len(self.classes_) == 2:
            return np.asarray(self._calibration(-pairs.ravel()))
        if self._calibrates_pairs():
            return np.asarray(self._calibration(pairs))
        return np.asarray(self._calibration(_ovr_decision_function(pairs < 0, -pairs, len(self.classes_))))

    @available_if(_has_probability)
    def predict_log_proba(self, X: Any) -> Array:
        """Return the log probability of each class for each row."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    # ------------------------------------------------------------------------------------------- attributes

    @property
    def n_support_(self) -> Array:
        """The number of support vectors of each class."""
        check_fitted(self)
        return self._n_support

    @property
    def coef_(self) -> Any:
        """The weights w of each pair; only with a linear kernel."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        check_fitted(self)
        lines, column, starts = [], 0, np.cumsum([0, *self._n_support])
        dual = self._machines.coefficients
        for first in range(len(self.classes_)):
            for second in range(first + 1, len(self.classes_)):
                part = np.zeros(dual.shape[1])
                for own, line in ((first, second - 1), (second, first)):
                    members = slice(starts[own], starts[own + 1])
                    part[members] = dual[line, members]
                lines.append(part)
                column += 1
        sparse = is_sparse(self.support_vectors_)
        weights: Any = (scipy.sparse.csr_matrix(np.array(lines)) if sparse else np.array(lines)) @ self.support_vectors_
        weights = -weights if len(self.classes_) == 2 else weights
        (weights.data if sparse else weights).flags.writeable = False  # changes would have no effect
        return weights

    @property
    def probA_(self) -> Array:  # noqa: N802 (the name that scikit-learn gives it)
        """Empty: probabilities come from ``calibration``, not from LIBSVM's sigmoids."""
        return self._no_sigmoids("probA_")

    @property
    def probB_(self) -> Array:  # noqa: N802 (the name that scikit-learn gives it)
        """Empty: probabilities come from ``calibration``, not from LIBSVM's sigmoids."""
        return self._no_sigmoids("probB_")

    def _no_sigmoids(self, name: str) -> Array:
        check_fitted(self)
        message = f"Attribute `{name}` was deprecated in scikit-learn 1.9 and is empty: use predict_proba"
        warnings.warn(message, FutureWarning, stacklevel=3)
        return np.empty(0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def _refuse_endless(X: Any) -> None:
    """Refuse numbers too large to be squared, in scikit-learn's words and ours."""
    try:
        refuse_huge(X)
    except ValueError as error:
        raise ValueError(f"The dual coefficients or intercepts are not finite: {error}") from None
