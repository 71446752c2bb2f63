"""discern classifies text and tables: from raw rows to a decision with its probability and its evidence.

    statistics = sum over rows          model = solve(statistics, settings)

Names are imported when they are first used, so that ``import discern`` costs almost nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "BernoulliNB": "discern.estimators.bayes",
    "CategoricalNB": "discern.estimators.tables",
    "Classifier": "discern.classifier",
    "ComplementNB": "discern.estimators.bayes",
    "CountVectorizer": "discern.estimators.text",
    "DataError": "discern.data",
    "Dirichlet": "discern.bayes",
    "Evaluation": "discern.evaluate",
    "Evidence": "discern.classifier",
    "GaussianNB": "discern.estimators.tables",
    "HashingVectorizer": "discern.estimators.text",
    "JelinekMercer": "discern.bayes",
    "Laplace": "discern.bayes",
    "LinearSVC": "discern.estimators.linear",
    "ModelFileError": "discern.files",
    "MultinomialNB": "discern.estimators.bayes",
    "NBSVM": "discern.estimators.linear",
    "NotSeparableError": "discern.linear",
    "TextSettings": "discern.text",
    "code_path": "discern._native",
    "load": "discern.classifier",
}

__all__ = [*sorted(_HOMES), "__version__"]

if TYPE_CHECKING:
    from discern._native import code_path as code_path
    from discern.bayes import Dirichlet as Dirichlet
    from discern.bayes import JelinekMercer as JelinekMercer
    from discern.bayes import Laplace as Laplace
    from discern.classifier import Classifier as Classifier
    from discern.classifier import Evidence as Evidence
    from discern.classifier import load as load
    from discern.data import DataError as DataError
    from discern.estimators.bayes import BernoulliNB as BernoulliNB
    from discern.estimators.bayes import ComplementNB as ComplementNB
    from discern.estimators.bayes import MultinomialNB as MultinomialNB
    from discern.estimators.linear import NBSVM as NBSVM
    from discern.estimators.linear import LinearSVC as LinearSVC
    from discern.estimators.tables import CategoricalNB as CategoricalNB
    from discern.estimators.tables import GaussianNB as GaussianNB
    from discern.estimators.text import CountVectorizer as CountVectorizer
    from discern.estimators.text import HashingVectorizer as HashingVectorizer
    from discern.evaluate import Evaluation as Evaluation
    from discern.files import ModelFileError as ModelFileError
    from discern.linear import NotSeparableError as NotSeparableError
    from discern.text import TextSettings as TextSettings


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'discern' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
