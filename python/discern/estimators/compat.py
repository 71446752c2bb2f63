"""scikit-learn's own names, served by discern where the results are equal.

``python -m discern.patch script.py`` runs a script that way. From within Python::

    from discern.estimators.compat import patch

    patch()
    from sklearn.naive_bayes import MultinomialNB  # discern's

A class is replaced only if scikit-learn's own tests prove its results equal: ``tests/scikit_learn`` runs them, and no
difference of such a class may be open there. ``LEFT_ALONE`` has the others, whose results are equally good but not
equal, and why.
"""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Self

from discern.estimators.linear import discriminants, ridge_cv
from discern.estimators.naive_bayes import categorical, counts, gaussian
from discern.estimators.text import tfidf, vectorizers
from discern.estimators.transformers import select

_INSIDERS = ("sklearn", "discern", "joblib", "pickle", "_pickle", "cloudpickle", "copyreg", "inspect")
"""Who keeps seeing scikit-learn's own classes: the libraries themselves, and what looks objects up by their names."""


def _refuse_for_svd(model: Any) -> None:
    """Refuse what scikit-learn's singular value decomposition cannot do, and ours can."""
    if model.solver == "svd" and model.shrinkage is not None:
        raise NotImplementedError("shrinkage not supported with 'svd' solver. Use another solver, or discern's class.")
    if model.solver == "svd" and model.covariance_estimator is not None:
        linear = isinstance(model, discriminants.LinearDiscriminantAnalysis)
        raise ValueError(
            "covariance estimator is not supported with svd solver. Try another one."
            if linear
            else "covariance_estimator is not supported with solver='svd'. Try solver='eigen' instead."
        )


@dataclass(eq=False, repr=False)
class LinearDiscriminantAnalysis(discriminants.LinearDiscriminantAnalysis):
    """discern's, divided by N and refusing what scikit-learn's refuses.

    Examples
    --------
    >>> model = LinearDiscriminantAnalysis(store_covariance=True)
    >>> model.fit([[1.0], [2.0], [8.0], [9.0]], [0, 0, 1, 1]).covariance_.tolist()
    [[0.25]]
    """

    divisor: str = field(default="likelihood", init=False)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows."""
        _refuse_for_svd(self)
        return super().fit(X, y, sample_weight)

    def transform(self, X: Any) -> Any:
        """Return the canonical variates."""
        if self.solver == "lsqr":
            raise NotImplementedError("transform not implemented for 'lsqr' solver (use 'svd' or 'eigen').")
        return super().transform(X)

    @property
    def covariance_(self) -> Any:
        """The covariance within the classes, where scikit-learn keeps it."""
        if self.solver == "svd" and not self.store_covariance:
            raise AttributeError("covariance_ is kept with store_covariance=True only")
        return super().covariance_


@dataclass(eq=False, repr=False, kw_only=True)
class QuadraticDiscriminantAnalysis(discriminants.QuadraticDiscriminantAnalysis):
    """discern's, divided by the rows of each class and refusing what scikit-learn's refuses.

    Examples
    --------
    >>> model = QuadraticDiscriminantAnalysis(store_covariance=True)
    >>> model.fit([[1.0], [2.0], [7.0], [9.0]], [0, 0, 1, 1]).covariance_[1].tolist()
    [[1.0]]
    """

    divisor: str = field(default="likelihood", init=False)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows."""
        _refuse_for_svd(self)
        return super().fit(X, y, sample_weight)

    def _solve(self, classes: Any, scatter: Any, rows: Any = None) -> dict[str, Any]:
        solved = super()._solve(classes, scatter, rows)
        return solved if self.store_covariance else {name: solved[name] for name in solved if name != "covariance_"}


NAMES: dict[str, dict[str, Any]] = {
    "sklearn.discriminant_analysis": {
        "LinearDiscriminantAnalysis": LinearDiscriminantAnalysis,
        "QuadraticDiscriminantAnalysis": QuadraticDiscriminantAnalysis,
    },
    "sklearn.feature_extraction.text": {
        "CountVectorizer": vectorizers.CountVectorizer,
        "TfidfTransformer": tfidf.TfidfTransformer,
        "TfidfVectorizer": tfidf.TfidfVectorizer,
    },
    "sklearn.feature_selection": {"SelectKBest": select.SelectKBest, "chi2": select.chi2},
    "sklearn.linear_model": {"RidgeClassifierCV": ridge_cv.RidgeClassifierCV},
    "sklearn.naive_bayes": {
        "BernoulliNB": counts.BernoulliNB,
        "CategoricalNB": categorical.CategoricalNB,
        "ComplementNB": counts.ComplementNB,
        "GaussianNB": gaussian.GaussianNB,
        "MultinomialNB": counts.MultinomialNB,
    },
}
"""What is replaced, by the module that a script imports it from, and by what."""


_ITERATES = "it finds the same optimum to another tolerance"
LEFT_ALONE: dict[str, dict[str, str]] = {
    "sklearn.feature_extraction.text": {"HashingVectorizer": "it hashes to other columns"},
    "sklearn.linear_model": {
        "LogisticRegression": _ITERATES,
        "LogisticRegressionCV": _ITERATES,
        "Perceptron": "it shuffles rows in another order",
        "RidgeClassifier": _ITERATES,
        "SGDClassifier": "on sparse rows it stops by the penalty of all weights, not of those of the last row",
    },
    "sklearn.neighbors": {"KNeighborsClassifier": "it ranks equally near rows in another order"},
    "sklearn.svm": {"LinearSVC": _ITERATES, "SVC": _ITERATES},
}
"""What discern has, too, but does not replace, and why."""


_PLACES = (*NAMES, *(place for place in LEFT_ALONE if place not in NAMES))


class _Front(ModuleType):
    """A module of scikit-learn that hands out discern's classes, and notes which; its own code is not affected."""

    def __getattribute__(self, name: str) -> Any:
        own = ModuleType.__getattribute__(self, "__dict__")
        table = own["__discern__"]
        if not (name in table or name in own["__discern_left__"]) or _asked_by_an_insider():
            return ModuleType.__getattribute__(self, name)
        own["__discern_used__"].setdefault(name)
        return table[name] if name in table else ModuleType.__getattribute__(self, name)


def _asked_by_an_insider() -> bool:
    asking = sys._getframe(2).f_globals.get("__name__") or ""
    return asking.partition(".")[0] in _INSIDERS


def patch() -> None:
    """Let imports from scikit-learn give discern's classes, from now on.

    Examples
    --------
    >>> script = {"__name__": "__main__"}
    >>> patch()
    >>> exec("from sklearn.naive_bayes import MultinomialNB", script)
    >>> script["MultinomialNB"].__module__
    'discern.estimators.naive_bayes.counts'
    >>> unpatch()
    """
    for place in _PLACES:
        module: Any = importlib.import_module(place)
        if not isinstance(module, _Front):
            module.__dict__["__discern__"] = NAMES.get(place, {})
            module.__dict__["__discern_left__"] = LEFT_ALONE.get(place, {})
            module.__dict__["__discern_used__"] = {}
            module.__class__ = _Front


def unpatch() -> None:
    """Let scikit-learn be itself again; what was imported meanwhile stays.

    Examples
    --------
    >>> patch()
    >>> unpatch()
    >>> script = {"__name__": "__main__"}
    >>> exec("from sklearn.naive_bayes import MultinomialNB", script)
    >>> script["MultinomialNB"].__module__
    'sklearn.naive_bayes'
    """
    for place in _PLACES:
        if isinstance(sys.modules.get(place), _Front):
            module: Any = sys.modules[place]
            module.__class__ = ModuleType
            for name in ("__discern__", "__discern_left__", "__discern_used__"):
                del module.__dict__[name]


def replaced() -> list[str]:
    """Return the names that were asked for and replaced, such as ``sklearn.naive_bayes.MultinomialNB``.

    Examples
    --------
    >>> patch()
    >>> exec("from sklearn.naive_bayes import GaussianNB", {"__name__": "__main__"})
    >>> replaced()
    ['sklearn.naive_bayes.GaussianNB']
    >>> unpatch()
    """
    return [f"{place}.{name}" for place, name in _used() if name in NAMES.get(place, {})]


def left_alone() -> dict[str, str]:
    """Return the names that were asked for and not replaced although discern has such a class, and why.

    Examples
    --------
    >>> patch()
    >>> exec("from sklearn.svm import SVC", {"__name__": "__main__"})
    >>> left_alone()
    {'sklearn.svm.SVC': 'it finds the same optimum to another tolerance'}
    >>> unpatch()
    """
    found = ((place, name) for place, name in _used() if name in LEFT_ALONE.get(place, {}))
    return {f"{place}.{name}": LEFT_ALONE[place][name] for place, name in found}


def _used() -> list[tuple[str, str]]:
    fronts = ((place, sys.modules.get(place)) for place in _PLACES)
    return [
        (place, name)
        for place, module in fronts
        if isinstance(module, _Front)
        for name in sorted(module.__dict__["__discern_used__"])
    ]
