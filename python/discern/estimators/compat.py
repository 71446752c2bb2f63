"""scikit-learn's own names, served by discern where the results are equal.

``python -m discern.patch script.py`` runs a script that way. From within Python::

    from discern.estimators.compat import patch

    patch()
    from sklearn.naive_bayes import MultinomialNB  # discern's

Left out are classes whose results are equally good but not equal: those that iterate to a tolerance of their own
(``LogisticRegression``, ``LinearSVC``, ``SVC``, ``Perceptron``, ``RidgeClassifier`` on sparse rows), that break ties in
another way (``KNeighborsClassifier``), or that hash by another function (``HashingVectorizer``).
"""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from discern.estimators.linear import discriminants
from discern.estimators.naive_bayes import categorical, counts, gaussian
from discern.estimators.text import tfidf, vectorizers
from discern.estimators.transformers import select

_INSIDERS = ("sklearn", "discern", "joblib", "pickle", "_pickle", "cloudpickle", "copyreg", "inspect")
"""Who keeps seeing scikit-learn's own classes: the libraries themselves, and what looks objects up by their names."""


@dataclass(eq=False, repr=False)
class LinearDiscriminantAnalysis(discriminants.LinearDiscriminantAnalysis):
    """discern's, divided by N as scikit-learn does.

    Examples
    --------
    >>> LinearDiscriminantAnalysis().fit([[1.0], [2.0], [8.0], [9.0]], [0, 0, 1, 1]).covariance_.tolist()
    [[0.25]]
    """

    divisor: str = field(default="likelihood", init=False)


@dataclass(eq=False, repr=False, kw_only=True)
class QuadraticDiscriminantAnalysis(discriminants.QuadraticDiscriminantAnalysis):
    """discern's, divided by the rows of each class as scikit-learn does.

    Examples
    --------
    >>> QuadraticDiscriminantAnalysis().fit([[1.0], [2.0], [7.0], [9.0]], [0, 0, 1, 1]).covariance_[1].tolist()
    [[1.0]]
    """

    divisor: str = field(default="likelihood", init=False)


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
    "sklearn.naive_bayes": {
        "BernoulliNB": counts.BernoulliNB,
        "CategoricalNB": categorical.CategoricalNB,
        "ComplementNB": counts.ComplementNB,
        "GaussianNB": gaussian.GaussianNB,
        "MultinomialNB": counts.MultinomialNB,
    },
}
"""What is replaced, by the module that a script imports it from, and by what."""


class _Front(ModuleType):
    """A module of scikit-learn that hands out discern's classes, and notes which; its own code is not affected."""

    def __getattribute__(self, name: str) -> Any:
        own = ModuleType.__getattribute__(self, "__dict__")
        table = own["__discern__"]
        if name not in table or _asked_by_an_insider():
            return ModuleType.__getattribute__(self, name)
        own["__discern_used__"].setdefault(name)
        return table[name]


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
    for place, classes in NAMES.items():
        module: Any = importlib.import_module(place)
        if not isinstance(module, _Front):
            module.__dict__["__discern__"] = classes
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
    for place in NAMES:
        if isinstance(sys.modules.get(place), _Front):
            module: Any = sys.modules[place]
            module.__class__ = ModuleType
            del module.__dict__["__discern__"], module.__dict__["__discern_used__"]


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
    fronts = ((place, sys.modules.get(place)) for place in NAMES)
    return [
        f"{place}.{name}"
        for place, module in fronts
        if isinstance(module, _Front)
        for name in sorted(module.__dict__["__discern_used__"])
    ]
