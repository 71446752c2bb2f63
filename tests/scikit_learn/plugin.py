"""Hand discern's classes to scikit-learn's own test modules, and record what becomes of each test.

This is a pytest plugin. ``suite.py`` loads it in a process of its own, with an empty configuration. Only modules of tests
get discern's classes, from whichever module of scikit-learn they take them, and whether they import a name or look it up.
scikit-learn's own code, its documentation and its helpers keep their own.
"""

from __future__ import annotations

import functools
import importlib
import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import discern
from discern.estimators import compat

TEST_MODULE = re.compile(r"sklearn\.(?:\w+\.)*tests\.test_\w+")
VERBS = ("fit", "partial_fit", "fit_transform", "transform")

PLACES: dict[str, tuple[str, ...]] = {
    "sklearn.discriminant_analysis": ("LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"),
    "sklearn.feature_extraction.text": ("CountVectorizer", "HashingVectorizer", "TfidfTransformer", "TfidfVectorizer"),
    "sklearn.feature_selection": ("SelectKBest", "chi2"),
    "sklearn.feature_selection._univariate_selection": ("SelectKBest", "chi2"),
    "sklearn.linear_model": (
        *("LogisticRegression", "LogisticRegressionCV", "Perceptron", "RidgeClassifier", "RidgeClassifierCV"),
        "SGDClassifier",
    ),
    "sklearn.linear_model._logistic": ("LogisticRegression", "LogisticRegressionCV"),
    "sklearn.linear_model._ridge": ("RidgeClassifier", "RidgeClassifierCV"),
    "sklearn.naive_bayes": ("BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MultinomialNB"),
    "sklearn.neighbors": ("KNeighborsClassifier",),
    "sklearn.neighbors._classification": ("KNeighborsClassifier",),
    "sklearn.svm": ("LinearSVC", "SVC"),
    "sklearn.svm._classes": ("LinearSVC", "SVC"),
}
"""The names that are handed over, by the modules that tests take them from."""

FITTED: list[str] = []
"""The classes that were fitted, or functions that were called, in the test that runs."""


class Front(ModuleType):
    """A module of scikit-learn that hands out discern's classes to modules of tests."""

    def __getattribute__(self, name: str) -> Any:
        own = ModuleType.__getattribute__(self, "__dict__")
        table = own["__discern__"]
        asking = sys._getframe(1).f_globals.get("__name__") or ""
        return (
            table[name] if name in table and TEST_MODULE.fullmatch(asking) else ModuleType.__getattribute__(self, name)
        )


def ours(name: str) -> Any:
    """Return the class that stands in for scikit-learn's: that of the patch if it has one of its own."""
    patched = {name: made for names in compat.NAMES.values() for name, made in names.items()}
    return patched.get(name) or getattr(discern, name)


def noted(function: Any, name: str) -> Any:
    """Return a function that does the same and notes that it was called."""

    @functools.wraps(function)
    def note(*arguments: Any, **named: Any) -> Any:
        FITTED.append(name)
        return function(*arguments, **named)

    return note


def hand_over() -> None:
    """Let every test module have discern's classes from now on."""
    handed: dict[str, Any] = {}
    for name in sorted({name for names in PLACES.values() for name in names}):
        made = ours(name)
        for verb in VERBS if isinstance(made, type) else ():
            if hasattr(made, verb):
                setattr(made, verb, noted(getattr(made, verb), name))
        handed[name] = made if isinstance(made, type) else noted(made, name)
    for place, names in PLACES.items():
        module: Any = importlib.import_module(place)
        module.__dict__["__discern__"] = {name: handed[name] for name in names}
        module.__class__ = Front


class Recorder:
    """Keeps, for each test, its outcome and whether one of discern's estimators was fitted."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.outcomes: dict[str, str] = {}
        self.fitted: dict[str, bool] = {}
        self.errors: dict[str, str] = {}

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        FITTED.clear()
        done = yield
        self.fitted[item.nodeid] = bool(FITTED)
        return done

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        known = self.outcomes.get(report.nodeid, "passed")
        if report.outcome != "passed" and known != "failed":
            known = "skipped" if report.outcome == "skipped" else "failed"
        self.outcomes[report.nodeid] = known
        if report.outcome == "failed":
            self.errors[report.nodeid] = report.longreprtext

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.outcome == "failed":
            self.outcomes[report.nodeid], self.errors[report.nodeid] = "failed", report.longreprtext

    def pytest_sessionfinish(self) -> None:
        fitted = sorted(test for test, is_fitted in self.fitted.items() if is_fitted)
        found = {"outcomes": self.outcomes, "fitted": fitted, "errors": self.errors}
        self.path.write_text(json.dumps(found), "utf-8")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--outcomes", required=True, help="the file to write the outcomes to")
    parser.addoption("--stock", action="store_true", help="leave scikit-learn's own classes where they are")


def pytest_configure(config: pytest.Config) -> None:
    if not config.getoption("stock"):
        hand_over()
    config.pluginmanager.register(Recorder(Path(config.getoption("outcomes"))), "recorder")
