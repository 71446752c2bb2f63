"""Logistic regression that chooses its penalty by cross-validation, along warm-started paths."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.model_selection import check_cv
from sklearn.utils import metadata_routing
from sklearn.utils._param_validation import Hidden, Interval, StrOptions
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import validate_data

from discern.estimators.base import Array
from discern.estimators.checks import numbered, refuse_unfit
from discern.estimators.linear.fold_scores import FoldScorer, raise_for_params, routing_enabled
from discern.estimators.linear.logistic import LogisticRegression, checked_n_classes
from discern.estimators.linear.logistic_base import SOLVERS, BaseLogistic, check_solver, failure, lasso_share
from discern.learners.logistic.lasso import Penalties
from discern.learners.logistic.path import Paths, Rule
from discern.learners.logistic.rows import LabeledRows
from discern.learners.logistic.solvers import Fit

CHANGES = {
    "l1_ratios": "The default value for l1_ratios will change from None to (0.0,) in scikit-learn 1.10. Set it, for "
    "example to (0,).",
    "scoring": "The default value of the parameter 'scoring' will change from None, i.e. accuracy, to 'neg_log_loss' "
    "in scikit-learn 1.11. Set it.",
    "use_legacy_attributes": "The default value of use_legacy_attributes will change from True to False in "
    "scikit-learn 1.10. Set it.",
}
"""The defaults that scikit-learn is about to change: it warns where they are not set."""


@dataclass(frozen=True)
class _Grid:
    """The strengths and shares of the L1 penalty that are tried; ``penalty`` is that of all."""

    Cs: Array
    ratios: list[Any]
    penalty: str

    def share(self, ratio: Any) -> float:
        return lasso_share(self.penalty, ratio)


@dataclass(eq=False, repr=False)
class LogisticRegressionCV(BaseLogistic):
    """Logistic regression that chooses ``C`` and ``l1_ratio`` by cross-validation.

    Parameters and attributes are scikit-learn's. What differs: as in :class:`LogisticRegression` the solver is chosen
    by the size of the problem and goes to a relative gradient of ``tol``. All rows are fitted first, along the path of
    penalties; each fold begins at these coefficients and takes steps with the Hessian of all rows, to a gradient of at
    most 1e-6.

    Parameters
    ----------
    Cs : int or list of float, default=10
        The inverse strengths of the penalty to try; a number of them lies between 1e-4 and 1e4.
    l1_ratios : list of float, default=None
        The shares of the L1 penalty to try.
    cv : int, splitter or iterable, default=None
        By default five stratified folds.
    scoring : str or callable, default=None
        By default the accuracy.
    refit : bool, default=True
        Keep the fit of all rows with the best penalty; otherwise, the mean of the best coefficients of each fold.
    tol : float, default=1e-8
        The norm of the gradient to reach, relative to that at zero coefficients.
    n_jobs : int, default=None
        The number of folds that are fitted at the same time, by threads.
    use_legacy_attributes : bool, default=True
        False gives attributes that scikit-learn 1.10 has by default: arrays by fold, share and strength.
    dual, fit_intercept, penalty, solver, max_iter, class_weight, verbose, intercept_scaling, random_state
        As in scikit-learn; ``penalty`` is deprecated.

    Attributes
    ----------
    C_, l1_ratio_ : ndarray or float
        The best ones.
    Cs_, l1_ratios_ : ndarray
        Those that were tried.
    scores_, coefs_paths_, n_iter_ : dict of ndarray, or ndarray
        Scores, coefficients and iterations of each fold and penalty.
    coef_, intercept_, classes_
        As of :class:`LogisticRegression`.

    Examples
    --------
    >>> X, y = [[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]] * 4, ["no", "no", "yes", "no", "yes", "yes"] * 4
    >>> settings = {"scoring": "neg_log_loss", "use_legacy_attributes": False}
    >>> model = LogisticRegressionCV(Cs=[0.01, 1.0, 100.0], l1_ratios=(0,), cv=4, **settings).fit(X, y)
    >>> model.C_, model.scores_.mean(axis=(0, 1)).round(3).tolist()
    (100.0, [-0.642, -0.419, -0.413])
    >>> model.predict([[1.5]]).tolist()
    ['no']
    """

    # Of scikit-learn's interface: sample_weight goes to the scorer, not to score itself.
    __metadata_request__score: ClassVar[dict[str, Any]] = {"sample_weight": metadata_routing.UNUSED}
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **{
            name: rule
            for name, rule in LogisticRegression._parameter_constraints.items()
            if name not in ("C", "warm_start", "l1_ratio")
        },
        "Cs": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "l1_ratios": ["array-like", None, Hidden(StrOptions({"warn"}))],
        "cv": ["cv_object"],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None, Hidden(StrOptions({"warn"}))],
        "refit": ["boolean"],
        "penalty": [StrOptions({"l1", "l2", "elasticnet"}), Hidden(StrOptions({"deprecated"}))],
        "use_legacy_attributes": ["boolean", Hidden(StrOptions({"warn"}))],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
    }
    coef_: Any = field(init=False)
    intercept_: Array = field(init=False)
    C_: Any = field(init=False)
    l1_ratio_: Any = field(init=False)
    scores_: Any = field(init=False)
    coefs_paths_: Any = field(init=False)
    n_iter_: Any = field(init=False)

    _: KW_ONLY
    Cs: Any = 10
    l1_ratios: Any = "warn"
    fit_intercept: bool = True
    cv: Any = None
    dual: bool = False
    penalty: str = "deprecated"
    scoring: Any = "warn"
    solver: str = "auto"
    tol: float = 1e-8
    max_iter: int = 100
    class_weight: Any = None
    n_jobs: int | None = None
    verbose: int = 0
    refit: bool = True
    intercept_scaling: float = 1.0
    random_state: Any = None
    use_legacy_attributes: Any = "warn"

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Choose the penalty and fit all rows with it; ``params`` go to the splitter and the scorer."""
        raise_for_params(params, self, "fit")
        self._validate_params()
        self._warn_of_changes()
        grid = self._grid()
        check_solver(self.solver, grid.penalty, self.dual)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, order="C", **self._taken())
        self.classes_, numbers, _ = numbered(y)
        self._check_liblinear(X, len(self.classes_))
        refuse_unfit(X, self)
        self._check_class_weight()
        weights = self._weights(X, numbers, sample_weight)
        rows = LabeledRows(X, numbers, checked_n_classes(self.classes_), weights, bool(self.fit_intercept))
        split, score = self._routed(sample_weight, params)
        folds = list(check_cv(self.cv, y, classifier=True).split(X, y, **split))
        paths = Paths.of(rows, self._paths(rows, grid), self._rule())
        found = self._by_folds(paths, folds, FoldScorer(self._get_scorer(), self.classes_, score), rows, X, y, grid)
        self._choose(grid, paths, found)
        self._keep(grid, found)
        return self

    def score(self, X: Any, y: Any, *, sample_weight: Any = None, **score_params: Any) -> float:
        """Return the score of rows, by ``scoring``."""
        raise_for_params(score_params, self, "score")
        if sample_weight is not None:
            score_params["sample_weight"] = sample_weight
        if routing_enabled():
            score_params = process_routing(self, "score", **score_params).scorer.score
        return float(self._get_scorer()(self, X, y, **score_params))

    def get_metadata_routing(self) -> MetadataRouter:
        """Return who takes which metadata: the splitter and the scorer."""
        of_scorer = MethodMapping().add(caller="score", callee="score").add(caller="fit", callee="score")
        of_splitter = MethodMapping().add(caller="fit", callee="split")
        router = MetadataRouter(owner=self).add_self_request(self)
        router.add(splitter=self.cv, method_mapping=of_splitter)
        return router.add(scorer=self._get_scorer(), method_mapping=of_scorer)

    # ------------------------------------------------------------------------------------------------- settings

    def _warn_of_changes(self) -> None:
        for name, message in CHANGES.items():
            if isinstance(getattr(self, name), str) and getattr(self, name) == "warn":
                warnings.warn(message, FutureWarning, stacklevel=3)
        if self.penalty != "deprecated":
            message = "'penalty' was deprecated by scikit-learn. Use 'l1_ratios' and 'Cs' instead."
            warnings.warn(message, FutureWarning, stacklevel=3)
        elif self.l1_ratios is None:
            message = "'l1_ratios=None' was deprecated by scikit-learn. Use l1_ratios=(0,) instead."
            warnings.warn(message, FutureWarning, stacklevel=3)

    def _given_ratios(self) -> Any:
        return None if isinstance(self.l1_ratios, str) else self.l1_ratios

    def _grid(self) -> _Grid:
        Cs = np.logspace(-4, 4, self.Cs) if isinstance(self.Cs, Integral) else np.asarray(self.Cs, np.float64)
        if Cs.ndim != 1 or not len(Cs) or not np.all(Cs > 0):
            raise ValueError(f"Cs must be a flat list of numbers above 0, got {self.Cs!r}")
        ratios = self._given_ratios()
        penalty = self.penalty
        if penalty == "deprecated":
            penalty = "l2" if ratios is None or np.all(np.asarray(ratios) == 0) else "elasticnet"
            penalty = "l1" if penalty != "l2" and np.all(np.asarray(ratios) == 1) else penalty
        elif penalty != "elasticnet" and ratios is not None:
            message = f"l1_ratios parameter is only used when penalty is 'elasticnet'. Got (penalty={penalty})"
            warnings.warn(message, stacklevel=4)
        if penalty == "elasticnet" and not _are_shares(ratios):
            raise ValueError(f"l1_ratios must be an array-like of numbers between 0 and 1; got (l1_ratios={ratios!r})")
        return _Grid(Cs, [None] if ratios is None else list(ratios), penalty)

    def _check_class_weight(self) -> None:
        given = self.class_weight
        if isinstance(given, dict) and not set(given) <= set(self.classes_.tolist()):
            raise ValueError(
                "The given class_weight dict must have the class labels as keys; "
                f"classes={self.classes_} but key={given.keys()}"
            )

    def _rule(self) -> Rule:
        return Rule(self.tol, self.max_iter, SOLVERS[self.solver])

    def _paths(self, rows: LabeledRows, grid: _Grid) -> list[list[Penalties]]:
        return [[self._penalties(rows.columns, C, grid.share(ratio)) for C in grid.Cs] for ratio in grid.ratios]

    def _routed(self, sample_weight: Any, params: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what goes to the splitter and to the scorer."""
        if routing_enabled():
            routed = process_routing(self, "fit", sample_weight=sample_weight, **params)
            return routed.splitter.split, routed.scorer.score
        return {}, params if sample_weight is None else {**params, "sample_weight": sample_weight}

    def _get_scorer(self) -> Callable[..., Any]:
        plain = self.scoring is None or (isinstance(self.scoring, str) and self.scoring == "warn")
        found: Callable[..., Any] = get_scorer("accuracy" if plain else self.scoring)
        return found

    # --------------------------------------------------------------------------------------------------- folds

    def _by_folds(
        self, paths: Paths, folds: list[Any], scorer: FoldScorer, rows: LabeledRows, X: Any, y: Array, grid: _Grid
    ) -> _FoldResults:
        def of_fold(train: Array, test: Array) -> tuple[list[list[Fit]], list[list[float]]]:
            fits = paths.fold(train)
            together = scorer.at_once(rows, test)
            if together is not None:
                return fits, [together.scores(np.array([fit.coefficients for fit in path])) for path in fits]
            held_out = scorer.rows(X, y, test)
            scores = [
                [held_out.score(model) for model in self._models(grid, ratio, path)]
                for ratio, path in zip(grid.ratios, fits, strict=True)
            ]
            return fits, scores

        found = Parallel(n_jobs=self.n_jobs, verbose=self.verbose, prefer="threads")(
            delayed(of_fold)(train, test) for train, test in folds
        )
        every = [fits for fits, _ in found]
        self._warn_if_stopped([fit for fits in every for path in fits for fit in path])
        return _FoldResults(
            np.array([[[fit.coefficients for fit in path] for path in fits] for fits in every]),
            np.array([scores for _, scores in found], np.float64),
            np.array([[[fit.convergence.iterations for fit in path] for path in fits] for fits in every], np.int32),
        )

    def _models(self, grid: _Grid, ratio: Any, path: list[Fit]) -> Iterator[LogisticRegression]:
        """Yield the classifier of each fit, for the scorer."""
        for C, fit in zip(grid.Cs, path, strict=True):
            model = LogisticRegression(C=C, l1_ratio=ratio, solver=self.solver, fit_intercept=self.fit_intercept)
            model.classes_, model.n_features_in_ = self.classes_, self.n_features_in_
            for name, value in model._linear(fit.coefficients, np.float64).items():
                setattr(model, name, value)
            yield model

    def _warn_if_stopped(self, fits: list[Fit]) -> None:
        stopped = [fit for fit in fits if not fit.convergence.converged]
        if stopped:
            farthest = max(stopped, key=lambda fit: fit.convergence.gradient_norm).convergence
            warnings.warn(
                f"{failure(self.solver, farthest.iterations)}{len(stopped)} of {len(fits)} fits stopped early, for "
                f"example: {farthest}; increase max_iter or scale the columns",
                ConvergenceWarning,
                stacklevel=4,
            )

    # ----------------------------------------------------------------------------------------------------- choice

    def _choose(self, grid: _Grid, paths: Paths, found: _FoldResults) -> None:
        """Set the best penalty, and the coefficients."""
        shares = [0.0 if ratio is None else float(ratio) for ratio in grid.ratios]
        if self.refit:
            ratio, strength = found.best(found.scores.sum(axis=0, keepdims=True))[0]
            chosen = paths.whole(ratio, strength)
            self._warn_if_stopped([chosen])
            coefficients, self.C_ = chosen.coefficients, float(grid.Cs[strength])
            self.l1_ratio_ = grid.share(shares[ratio]) if grid.ratios == [None] else shares[ratio]
        else:
            best = found.best(found.scores)
            coefficients = np.mean([found.coefficients[fold, *place] for fold, place in enumerate(best)], axis=0)
            self.C_ = float(np.mean([grid.Cs[strength] for _, strength in best]))
            self.l1_ratio_ = (
                float(np.mean([shares[ratio] for ratio, _ in best])) if grid.penalty == "elasticnet" else 0.0
            )
        for name, value in self._linear(coefficients, np.float64).items():
            setattr(self, name, value)

    def _keep(self, grid: _Grid, found: _FoldResults) -> None:
        """Set the other attributes: arrays, or as scikit-learn gave them before 1.10."""
        self.Cs_, self.l1_ratios_ = grid.Cs, np.asarray(grid.ratios)
        self.scores_, self.coefs_paths_, self.n_iter_ = found.scores, found.coefficients, found.iterations
        if self.use_legacy_attributes is False:
            return
        squeezed = self._given_ratios() is None
        labels = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        self.C_, self.l1_ratio_ = (np.full(len(labels), value) for value in (self.C_, self.l1_ratio_))
        self.scores_, self.coefs_paths_, self.n_iter_ = found.legacy(labels, squeezed)


@dataclass(frozen=True)
class _FoldResults:
    """What came of the folds: by fold, share of the L1 penalty and strength; coefficients by output and column."""

    coefficients: Array
    scores: Array
    iterations: Array

    def best(self, scores: Array) -> list[tuple[int, int]]:
        """Return the places of the best share and strength of each line; of equal ones that of the first strength."""
        found = []
        for line in scores:
            strength, ratio = np.unravel_index(np.argmax(line.T), line.T.shape)
            found.append((int(ratio), int(strength)))
        return found

    def legacy(self, labels: Array, squeezed: bool) -> tuple[dict[Any, Array], dict[Any, Array], Array]:
        """Return scores and coefficients by label, strengths before shares; no shares if ``squeezed``."""
        scores, iterations = np.swapaxes(self.scores, 1, 2), np.swapaxes(self.iterations, 1, 2)
        coefficients = np.swapaxes(self.coefficients, 1, 2)
        if squeezed:
            scores, iterations, coefficients = scores[:, :, 0], iterations[:, :, 0], coefficients[:, :, 0]
        by_label = {label: coefficients[..., place, :] for place, label in enumerate(labels)}
        return dict.fromkeys(labels, scores), by_label, iterations[None]


def _are_shares(ratios: Any) -> bool:
    return (
        ratios is not None and len(ratios) > 0 and all(isinstance(one, Real) and 0 <= float(one) <= 1 for one in ratios)
    )
