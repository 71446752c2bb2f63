"""Linear classifiers of large margin, with scikit-learn's parameters and attributes."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model._base import SparseCoefMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_non_negative, validate_data

from discern.data.encode import native_table
from discern.estimators.base import Array, BaseClassifier
from discern.estimators.checks import class_weights, refuse_huge, row_weights
from discern.estimators.linear.prediction import LinearPrediction
from discern.estimators.rows import check_fitted, checked_rows
from discern.learners.logistic.lasso import fit_lasso_margins
from discern.learners.margins import Certificate, LinearMargins, MarginSettings, fit_margins
from discern.learners.nbsvm import fit_nbsvm, indicators
from discern.learners.smoothing import Dirichlet, JelinekMercer, Laplace


class _LargeMargin(LinearPrediction, BaseClassifier):
    """The base of linear classifiers of large margin: checked labels and weights, and fitted attributes."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "C": [Interval(Real, 0.0, None, closed="right")],
        "loss": [StrOptions({"hinge", "squared_hinge"})],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "class_weight": [None, dict, StrOptions({"balanced"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }
    _input_tags: ClassVar[dict[str, bool]] = {"sparse": True}
    coef_: Array
    intercept_: Any
    certificate_: Certificate
    class_weight: Any
    random_state: Any
    max_iter: int

    def _weighted(self, X: Any, y: Array, sample_weight: Any) -> tuple[Array, Array | None, Array | None]:
        """Return the numbers of the classes, the weights of the rows and those of the classes."""
        weights = row_weights(sample_weight, X, ensure_non_negative=True)
        self.classes_, numbers = np.unique(y, return_inverse=True)
        present = self.classes_ if weights is None else np.unique(y[weights > 0])
        if len(present) < 2:
            raise ValueError(
                f"a linear classifier needs rows of at least two classes, but there is one class only: {present}"
            )
        if self.class_weight is None:
            return numbers, weights, None
        masses = np.bincount(numbers, weights, len(self.classes_))
        return numbers, weights, class_weights(self.class_weight, self.classes_, masses, positive=True)

    def _seed(self) -> int:
        """Return the seed of the order of the rows; without a random state always the same."""
        if self.random_state is None:
            return 0
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _keep(self, found: LinearMargins) -> None:
        # By columns, so that one sparse row is multiplied without turning the coefficients around.
        self.coef_, self.intercept_ = np.asfortranarray(found.coef), found.intercept
        self.certificate_ = found.certificate
        self.n_iter_ = int(found.certificate.passes.max())
        if not found.certificate.converged:
            # As LIBLINEAR's warning begins, which filters look for.
            warnings.warn(
                "Liblinear failed to converge, increase the number of iterations. The relative duality gap is "
                f"{found.certificate.gap.max():.1e} after {self.n_iter_} passes, not the "
                f"{found.certificate.tolerance:.1e} asked for: raise max_iter or tol, scale the columns, or lower C",
                ConvergenceWarning,
                stacklevel=3,
            )


@dataclass(eq=False, repr=False)
class LinearSVC(SparseCoefMixin, _LargeMargin):
    """The linear support vector machine, with scikit-learn's parameters and attributes.

    What differs: ``tol`` is the relative duality gap, so that ``certificate_`` bounds the distance of the result
    from the optimum; a weight of 2 is the same as the row twice, and the order of the rows does not matter, both to the
    last bit; ``C=float("inf")`` is the hard margin, which is found or proved not to exist
    (:class:`~discern.NotSeparableError`); and with ``penalize_intercept=False`` the intercept is free, as in the
    textbook.

    Parameters
    ----------
    penalty : {"l2", "l1"}, default="l2"
        With ``"l1"``, most weights are zero. It needs the squared hinge, in the primal, and one function a class.
    dual : "auto" or bool, default="auto"
        Coordinate descent in the dual, or Newton's method in the primal (squared hinge only).
    tol : float, default=1e-9
        The relative duality gap to reach. At the default the objective is as low as LIBLINEAR's at its own default, or
        lower.
    penalize_intercept : bool, default=True
        Whether the intercept is the weight of a constant feature, ``intercept_scaling``, and penalized as all weights.

    Attributes
    ----------
    certificate_ : Certificate
        Primal and dual values, their relative gap, and the largest violation of the conditions of optimality.

    Examples
    --------
    >>> model = LinearSVC(C=float("inf"), penalize_intercept=False).fit([[0.0], [1.0], [3.0]], ["low", "low", "high"])
    >>> model.coef_.round(8).tolist(), model.intercept_.round(8).tolist()
    ([[-1.0]], [2.0])
    >>> model.predict([[1.5], [2.5]]).tolist()
    ['low', 'high']
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **_LargeMargin._parameter_constraints,
        "penalty": [StrOptions({"l1", "l2"})],
        "dual": ["boolean", StrOptions({"auto"})],
        "multi_class": [StrOptions({"ovr", "crammer_singer"})],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "verbose": ["verbose"],
        "penalize_intercept": ["boolean"],
    }

    penalty: str = "l2"
    loss: str = "squared_hinge"
    _: KW_ONLY
    dual: Any = "auto"
    tol: float = 1e-9
    C: float = 1.0
    multi_class: str = "ovr"
    fit_intercept: bool = True
    intercept_scaling: float = 1
    class_weight: Any = None
    verbose: int = 0
    random_state: Any = None
    max_iter: int = 1000
    penalize_intercept: bool = True

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows, a table or a sparse matrix."""
        self._validate_params()
        self._check_arguments()
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, order="C")
        refuse_huge(X)
        check_classification_targets(y)
        numbers, weights, by_class = self._weighted(X, y, sample_weight)
        count, settings = len(self.classes_), self._settings()
        given: dict[str, Any] = {"weights": weights, "class_weights": by_class}
        if self.penalty == "l1":
            found = fit_lasso_margins(X, numbers, count, settings, **given)
        else:
            found = fit_margins(X, numbers, count, settings, labels=self.classes_.tolist(), **given)
        self._keep(found)
        if self.multi_class == "crammer_singer" and len(self.classes_) == 2:
            self.coef_, self.intercept_ = np.diff(self.coef_, axis=0), np.diff(self.intercept_)
        if not self.fit_intercept:
            self.intercept_ = 0.0
        return self

    def _check_arguments(self) -> None:
        """Refuse what LIBLINEAR has no solver for, either."""
        if self.penalty == "l1":
            fits = self.loss == "squared_hinge" and self.dual is not True and self.multi_class == "ovr"
            needed = "loss='squared_hinge', dual=False or 'auto', multi_class='ovr' and a finite C"
            fits = fits and not np.isinf(self.C)
        else:
            fits = self.multi_class != "ovr" or self.loss == "squared_hinge" or self.dual is not False
            needed = "loss='squared_hinge', or dual=True or 'auto'"
        if not fits:
            raise ValueError(
                f"Unsupported set of arguments: penalty='{self.penalty}' needs {needed}, Parameters: "
                f"penalty={self.penalty!r}, loss={self.loss!r}, dual={self.dual!r}, "
                f"multi_class={self.multi_class!r}, C={self.C!r}"
            )

    def _settings(self) -> MarginSettings:
        intercept = "penalized" if self.penalize_intercept else "free"
        return MarginSettings(
            loss=self.loss,
            cost=float(self.C),
            solver={True: "dual", False: "primal"}.get(self.dual, "auto"),
            multiclass=self.multi_class,
            intercept=intercept if self.fit_intercept else "none",
            scaling=float(self.intercept_scaling),
            tolerance=self.tol,
            passes=self.max_iter,
            seed=self._seed(),
        )


@dataclass(eq=False, repr=False)
class NBSVM(_LargeMargin):
    """Naive Bayes weights as features of a linear support vector machine (Wang and Manning 2012).

    Each column, a term that a row holds or not, is scaled by the log ratio of its shares in the class and in the rest;
    a squared-hinge machine learns on that; its weights are drawn towards their mean magnitude, which is naive Bayes.
    More than two classes: one against the rest.

    Parameters
    ----------
    C : float, default=1.0
    alpha : float, default=1.0
        What is added to each count.
    beta : float, default=0.25
        The share of the machine: 0 is naive Bayes with equal priors, 1 the machine alone.
    binarize : bool, default=True
        Whether a term counts once a row, if its number is above 0.
    smoothing : JelinekMercer, Dirichlet or Laplace, optional
        In place of ``alpha``. With many classes of unequal size ``JelinekMercer(0.5)`` is better: adding the same to
        each count counts terms that a small class has never seen in its favor.
    fit_intercept : bool, default=True
        Whether the machine has an intercept: the weight of a constant feature, penalized as all weights. ``intercept_``
        is ``beta`` times that.

    Attributes
    ----------
    coef_, intercept_ : arrays
        Of the rows as they are given (0 or 1 for each column, if ``binarize``).
    log_count_ratio_ : array of (functions, columns)
    certificate_ : Certificate
        How good the machine's solution is.

    Examples
    --------
    >>> from discern import CountVectorizer
    >>> texts = ["good fun", "good and good", "bad", "so bad and dull"]
    >>> vectorizer = CountVectorizer(ngram_range=(1, 2))
    >>> model = NBSVM().fit(vectorizer.fit_transform(texts), [1, 1, 0, 0])
    >>> model.predict(vectorizer.transform(["good film", "dull film"])).tolist()
    [1, 0]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **_LargeMargin._parameter_constraints,
        "alpha": [Interval(Real, 0.0, None, closed="neither")],
        "beta": [Interval(Real, 0.0, 1.0, closed="both")],
        "binarize": ["boolean"],
        "fit_intercept": ["boolean"],
        "smoothing": [JelinekMercer, Dirichlet, Laplace, None],
    }

    C: float = 1.0
    _: KW_ONLY
    alpha: float = 1.0
    beta: float = 0.25
    loss: str = "squared_hinge"
    binarize: bool = True
    class_weight: Any = None
    tol: float = 1e-4
    max_iter: int = 1000
    random_state: Any = None
    smoothing: JelinekMercer | Dirichlet | Laplace | None = None
    fit_intercept: bool = True

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows of counts."""
        self._validate_params()
        X, y = validate_data(self, X, y, accept_sparse="csr", order="C")  # counts need not become other numbers
        check_classification_targets(y)
        if not self.binarize:
            refuse_huge(X)
            check_non_negative(X, "NBSVM")
        numbers, weights, by_class = self._weighted(X, y, sample_weight)
        settings = MarginSettings(
            loss=self.loss,
            cost=float(self.C),
            intercept="penalized" if self.fit_intercept else "none",
            tolerance=self.tol,
            passes=self.max_iter,
            seed=self._seed(),
        )
        found, self.log_count_ratio_ = fit_nbsvm(
            native_table(self._prepared(X), any_order=True, once=self.binarize),
            numbers,
            len(self.classes_),
            settings,
            smoothing=self.smoothing or Laplace(self.alpha),
            beta=self.beta,
            weights=weights,
            class_weights=by_class,
        )
        self._keep(found)
        return self

    def _rows_to_score(self, X: Any) -> Any:
        check_fitted(self)
        return self._prepared(checked_rows(self, X, accept_sparse="csr"))

    def _usual_decision(self, X: Any) -> Any:
        scores: Array = np.asarray(self._rows_to_score(X) @ self.coef_.T) + self.intercept_
        return scores.ravel() if scores.shape[1] == 1 else scores

    def _prepared(self, X: Any) -> Any:
        return indicators(X) if self.binarize else X

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = not self.binarize
        tags.classifier_tags.poor_score = True  # on numbers that are not counts
        return tags
