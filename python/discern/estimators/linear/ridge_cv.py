"""Ridge classification that chooses its penalty: by leave-one-out in closed form, or by folds that are subtracted."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.model_selection import GridSearchCV, check_cv
from sklearn.utils import check_scalar
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from discern.estimators.base import Array, BaseClassifier
from discern.estimators.checks import numbered, refuse_unfit
from discern.estimators.linear.label_sets import TargetSolution, checked_sets, is_label_sets, weights_of
from discern.estimators.linear.ridge import RidgeClassifier, _attributes
from discern.estimators.rows import check_fitted, checked_rows
from discern.learners.ridge import (
    MOST_COLUMNS,
    Choice,
    Normal,
    compressed,
    normal_equations,
    residuals_left_out,
    solve,
    squares_left_out,
    targets,
)
from discern.statistics.scatter import Scatter


@dataclass(eq=False, repr=False)
class RidgeClassifierCV(BaseClassifier):
    """Ridge classification that chooses ``alpha`` among some: by leave-one-out, or by cross-validation.

    Parameters and attributes are scikit-learn's. Leave-one-out is in closed form: all rows are left out, one by one, at
    the price of one eigendecomposition. With ``cv``, the sums of each fold are taken from those of all rows, so that
    rows are summed twice, however many folds there are.

    Parameters
    ----------
    alphas : sequence of float
        The penalties to try.
    fit_intercept : bool
    scoring : str, callable or None
        How predictions are scored. None: by the mean squared error of the targets of ±1, with ``cv`` by accuracy.
    cv : int, splitter, iterable or None
        None is leave-one-out.
    class_weight : dict, "balanced" or None
        Multiplied with the weight of each row. "balanced" is by the number of rows of each class, whatever they weigh.
    store_cv_results : bool
        Keep, with ``cv=None``, the squared errors of each row (with ``scoring``: its predictions) in ``cv_results_``.

    Attributes
    ----------
    alpha_ : float
        The chosen penalty.
    best_score_ : float
        Its score.
    coef_, intercept_, classes_
        As of :class:`RidgeClassifier`.

    Examples
    --------
    >>> X, y = [[0.0, 1.0], [1.0, 1.5], [3.0, 0.5], [4.0, 1.0]], ["low", "low", "top", "top"]
    >>> model = RidgeClassifierCV(alphas=[0.1, 1.0, 100.0]).fit(X, y)
    >>> model.alpha_, model.predict([[0.5, 1.0]]).tolist()
    (0.1, ['low'])
    """

    _input_tags: ClassVar[dict[str, bool]] = {"sparse": True}
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "alphas": ["array-like", Interval(Real, 0, None, closed="left")],
        "fit_intercept": ["boolean"],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
        "cv": ["cv_object"],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "store_cv_results": ["boolean"],
    }
    _model: RidgeClassifier = field(init=False)

    alphas: Any = (0.1, 1.0, 10.0)
    _: KW_ONLY
    fit_intercept: bool = True
    scoring: Any = None
    cv: Any = None
    class_weight: Any = None
    store_cv_results: bool = False

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose the penalty and solve the equations for it."""
        self._validate_params()
        if self.cv is not None and self.store_cv_results:
            raise ValueError("cv!=None and store_cv_results=True are incompatible: use one of them")
        penalties = self._penalties()
        X, y, aims = self._checked(X, y)
        refuse_unfit(X, self)
        if self.cv is None:
            self._leave_one_out(X, y, aims, sample_weight, penalties)
        else:
            self._by_folds(X, y, sample_weight, penalties)
        self.classes_ = self._model.classes_
        self.coef_, self.intercept_ = self._model.coef_, self._model.intercept_
        return self

    def decision_function(self, X: Any) -> Array:
        """Return the fitted target of each class, or label, for each row; of two classes, that of the second."""
        check_fitted(self)
        return self._model.decision_function(checked_rows(self, X, accept_sparse="csr"))

    def predict(self, X: Any) -> Array:
        """Return the class of each row, or its set of labels: a row of zeros and ones."""
        check_fitted(self)
        return self._model.predict(checked_rows(self, X, accept_sparse="csr"))

    # ------------------------------------------------------------------------------------------------- checks

    def _penalties(self) -> Array:
        given = self.alphas if np.ndim(self.alphas) else [self.alphas]
        bounds = "neither" if self.cv is None else "left"
        if np.ndim(given) == 1:
            for place, alpha in enumerate(given):
                check_scalar(alpha, f"alphas[{place}]", Real, min_val=0.0, include_boundaries=bounds)
        penalties = np.asarray(given, np.float64)
        if penalties.ndim != 1 or not len(penalties) or not np.isfinite(penalties).all():
            raise ValueError("alphas must be a flat list of finite numbers: pass at least one")
        return penalties

    def _checked(self, X: Any, y: Any) -> tuple[Any, Array, Array]:
        """Return rows, labels or sets of labels, and targets of ±1."""
        if is_label_sets(y):
            X, sets = checked_sets(self, X, y)
            return X, sets, 2.0 * sets - 1.0
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32])
        check_classification_targets(y)
        labels = numbered(y)
        return X, y, targets(len(labels.distinct))[labels.numbers]

    def _plain(self, alpha: float) -> RidgeClassifier:
        return RidgeClassifier(alpha=float(alpha), fit_intercept=self.fit_intercept, class_weight=self.class_weight)

    def _fitted(self, alpha: float, y: Array, found: dict[str, Any]) -> RidgeClassifier:
        """Return a ridge classifier of which everything is known."""
        model = self._plain(alpha)
        model._label_sets = y.ndim == 2
        model.classes_ = np.arange(y.shape[1]) if y.ndim == 2 else np.unique(y)
        model.n_features_in_ = self.n_features_in_
        model._take(found)
        return model

    # ----------------------------------------------------------------------------------------- leave-one-out

    def _leave_one_out(self, X: Any, y: Array, aims: Array, sample_weight: Any, penalties: Array) -> None:
        short, back = compressed(X) if X.shape[0] < X.shape[1] else (X, None)
        if short.shape[1] > MOST_COLUMNS:
            raise ValueError(f"rows and columns are more than {MOST_COLUMNS:,}, too many for leave-one-out: pass cv")
        solution = TargetSolution(self, short, aims, sample_weight, y)
        normal = solution.normal()
        scores = self._scores_left_out(solution, y, normal, penalties)
        best = int(np.argmax(scores))
        self.alpha_, self.best_score_ = float(penalties[best]), float(scores[best])
        found = solve(normal, self.alpha_)
        intercepts = normal.intercepts(found)
        weights = found if back is None else back(found)
        self._model = self._fitted(
            self.alpha_, y, _attributes(weights, intercepts, Choice(self.alpha_, -self.best_score_), 1, "eigen")
        )

    def _scores_left_out(self, solution: TargetSolution, y: Array, normal: Normal, penalties: Array) -> list[float]:
        """Return the score of each penalty, from the residuals of rows that were left out."""
        self.__dict__.pop("cv_results_", None)
        if self.scoring is None and not self.store_cv_results:
            squares = squares_left_out(normal, penalties, solution.rows(), solution.weights)
            return [-float(one) for one in squares]
        left = residuals_left_out(normal, penalties, solution.rows())
        errors = solution.weights[:, None, None] * left**2
        predictions = solution.aims[:, :, None] - left
        if self.store_cv_results:
            self.cv_results_ = errors if self.scoring is None else predictions
        if self.scoring is None:
            return [-float(one) for one in errors.mean(axis=(0, 1))]
        classes = np.arange(y.shape[1]) if y.ndim == 2 else np.unique(y)
        told = Told(classes, y.ndim == 2)
        scorer = check_scoring(told, scoring=self.scoring)
        return [float(scorer(told, scores, y)) for scores in np.moveaxis(predictions, 2, 0)]

    # ------------------------------------------------------------------------------------------------- folds

    def _by_folds(self, X: Any, y: Array, sample_weight: Any, penalties: Array) -> None:
        if y.ndim == 2 or X.shape[1] > MOST_COLUMNS:
            return self._by_search(X, y, sample_weight, penalties)
        maker = RidgeClassifier(fit_intercept=self.fit_intercept)
        maker.n_features_in_ = self.n_features_in_
        # As in scikit-learn, weights of classes are those of all rows, and weigh the scores, too.
        weights = None if sample_weight is self.class_weight is None else weights_of(self, X, sample_weight, y)
        classes, numbers, weights = maker._numbered(X, y, weights)
        whole = maker._sums(X, numbers, len(classes), weights)
        scorer, scores = check_scoring(maker, scoring=self.scoring), []
        for _, test in check_cv(self.cv, y, classifier=True).split(X, y):
            part = None if weights is None else weights[test]
            rest = whole - maker._sums(X[test], numbers[test], len(classes), part)
            present = rest.counts > 1e-9
            models = self._models(classes[present], rest.take(present), penalties)
            weighted = {} if part is None else {"sample_weight": part}
            scores.append([scorer(model, X[test], y[test], **weighted) for model in models])
        means = np.mean(scores, axis=0)
        best = int(np.argmax(means))
        self.alpha_, self.best_score_ = float(penalties[best]), float(means[best])
        self._model = self._models(classes, whole, penalties[best : best + 1])[0]
        return None

    def _models(self, classes: Array, scatter: Scatter, penalties: Array) -> list[RidgeClassifier]:
        """Return the model of some sums for each penalty."""
        normal = normal_equations(scatter, None, self.fit_intercept)
        models = []
        for alpha in penalties:
            found = solve(normal, alpha)
            attributes = _attributes(found, normal.intercepts(found), Choice(float(alpha), np.nan), 1, "cholesky")
            models.append(self._fitted(alpha, classes, attributes))
        return models

    def _by_search(self, X: Any, y: Array, sample_weight: Any, penalties: Array) -> None:
        search = GridSearchCV(self._plain(1.0), {"alpha": penalties.tolist()}, cv=self.cv, scoring=self.scoring)
        search.fit(X, y, **({} if sample_weight is None else {"sample_weight": sample_weight}))
        self.alpha_, self.best_score_ = float(search.best_params_["alpha"]), float(search.best_score_)
        self._model = search.best_estimator_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


class Told(BaseClassifier):
    """A classifier whose rows are the fitted targets themselves, for scorers."""

    def __init__(self, classes: Any = (), sets: bool = False) -> None:
        self.classes, self.sets = classes, sets
        self.classes_ = np.asarray(classes)

    def fit(self, X: Any, y: Any) -> Self:
        """Do nothing: everything is known."""
        return self

    def decision_function(self, X: Any) -> Array:
        """Return the fitted targets, those of two classes as one score."""
        return np.asarray(X[:, 0] if X.shape[1] == 1 and not self.sets else X)

    def predict(self, X: Any) -> Array:
        """Return the class, or the set of labels, that the targets decide for."""
        if self.sets:
            return np.asarray(X > 0).astype(np.int64)
        return np.asarray(self.classes_[(X[:, 0] > 0).astype(int) if X.shape[1] == 1 else X.argmax(axis=1)])
