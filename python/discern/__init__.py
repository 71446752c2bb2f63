"""discern classifies text and tables: from raw rows to a decision with its probability and its evidence.

    statistics = sum over rows          model = solve(statistics, settings)

Names are imported when they are first used, so that ``import discern`` costs almost nothing.
"""

from typing import TYPE_CHECKING

from discern.lazy import from_homes

__version__ = "0.1.0"

_HOMES = {
    "BalancedWinnow": "discern.estimators.online",
    "BasicLinearClassifier": "discern.estimators.centres",
    "BayesClassifier": "discern.densities",
    "BayesRate": "discern.densities",
    "BayesianLogisticRegression": "discern.estimators.logistic",
    "BernoulliNB": "discern.estimators.bayes",
    "CalibratedClassifier": "discern.estimators.calibrate",
    "CategoricalNB": "discern.estimators.tables",
    "Classifier": "discern.classifier",
    "ComplementNB": "discern.estimators.bayes",
    "CountVectorizer": "discern.estimators.text",
    "CrossValidation": "discern.crossvalidation",
    "DataError": "discern.data",
    "Decision": "discern.decide",
    "DecisionClassifier": "discern.estimators.decide",
    "Density": "discern.densities",
    "Dirichlet": "discern.bayes",
    "Discretizer": "discern.estimators.discretize",
    "Drift": "discern.window",
    "Evaluation": "discern.evaluate",
    "Evidence": "discern.evidence",
    "GaussianBasis": "discern.estimators.basis",
    "GaussianNB": "discern.estimators.tables",
    "Guard": "discern.defence",
    "HashingVectorizer": "discern.estimators.text",
    "JelinekMercer": "discern.bayes",
    "KNeighborsClassifier": "discern.estimators.neighbours",
    "Laplace": "discern.bayes",
    "LeastCost": "discern.decide",
    "LinearDiscriminantAnalysis": "discern.estimators.gaussian",
    "LinearSVC": "discern.estimators.linear",
    "LogisticRegression": "discern.estimators.logistic",
    "ModelFileError": "discern.files",
    "MostRecall": "discern.decide",
    "MultinomialNB": "discern.estimators.bayes",
    "NBSVM": "discern.estimators.linear",
    "NaiveBayes": "discern.estimators.mixed",
    "NotSeparableError": "discern.linear",
    "OnlineTextClassifier": "discern.estimators.adaptive",
    "Perceptron": "discern.estimators.online",
    "QuadraticDiscriminantAnalysis": "discern.estimators.gaussian",
    "QuadraticFeatures": "discern.estimators.basis",
    "Receipt": "discern.classifier",
    "RidgeClassifier": "discern.estimators.ridge",
    "SVC": "discern.estimators.kernel",
    "SelectKBest": "discern.estimators.select",
    "Separation": "discern.separation",
    "SeparationWarning": "discern.separation",
    "Similar": "discern.similarity",
    "SingularCovarianceWarning": "discern.gaussian",
    "TermDocumentMatrix": "discern.matrix",
    "TextSettings": "discern.text",
    "TfidfTransformer": "discern.estimators.text",
    "TfidfVectorizer": "discern.estimators.text",
    "UnigramLanguageModel": "discern.estimators.language",
    "Weighting": "discern.weighting",
    "Window": "discern.window",
    "Winnow": "discern.estimators.online",
    "chi2": "discern.estimators.select",
    "choose_decision": "discern.crossvalidation",
    "choose_threshold": "discern.decide",
    "code_path": "discern._native",
    "compare": "discern.comparison",
    "corrected_resampled_t": "discern.significance",
    "cross_validate": "discern.crossvalidation",
    "doubtful": "discern.defence",
    "drift": "discern.window",
    "estimate_priors": "discern.decide",
    "find_separation": "discern.separation",
    "load": "discern.classifier",
    "mcnemar": "discern.significance",
    "mixture": "discern.densities",
    "mutual_information": "discern.estimators.select",
    "reweight": "discern.decide",
    "similar": "discern.similarity",
    "wilson": "discern.significance",
}

__all__ = [*sorted(_HOMES), "__version__"]

if TYPE_CHECKING:
    from discern._native import code_path as code_path
    from discern.bayes import Dirichlet as Dirichlet
    from discern.bayes import JelinekMercer as JelinekMercer
    from discern.bayes import Laplace as Laplace
    from discern.classifier import Classifier as Classifier
    from discern.classifier import Receipt as Receipt
    from discern.classifier import load as load
    from discern.comparison import compare as compare
    from discern.crossvalidation import CrossValidation as CrossValidation
    from discern.crossvalidation import choose_decision as choose_decision
    from discern.crossvalidation import cross_validate as cross_validate
    from discern.data import DataError as DataError
    from discern.decide import Decision as Decision
    from discern.decide import LeastCost as LeastCost
    from discern.decide import MostRecall as MostRecall
    from discern.decide import choose_threshold as choose_threshold
    from discern.decide import estimate_priors as estimate_priors
    from discern.decide import reweight as reweight
    from discern.defence import Guard as Guard
    from discern.defence import doubtful as doubtful
    from discern.densities import BayesClassifier as BayesClassifier
    from discern.densities import BayesRate as BayesRate
    from discern.densities import Density as Density
    from discern.densities import mixture as mixture
    from discern.estimators.adaptive import OnlineTextClassifier as OnlineTextClassifier
    from discern.estimators.basis import GaussianBasis as GaussianBasis
    from discern.estimators.basis import QuadraticFeatures as QuadraticFeatures
    from discern.estimators.bayes import BernoulliNB as BernoulliNB
    from discern.estimators.bayes import ComplementNB as ComplementNB
    from discern.estimators.bayes import MultinomialNB as MultinomialNB
    from discern.estimators.calibrate import CalibratedClassifier as CalibratedClassifier
    from discern.estimators.centres import BasicLinearClassifier as BasicLinearClassifier
    from discern.estimators.decide import DecisionClassifier as DecisionClassifier
    from discern.estimators.discretize import Discretizer as Discretizer
    from discern.estimators.gaussian import LinearDiscriminantAnalysis as LinearDiscriminantAnalysis
    from discern.estimators.gaussian import QuadraticDiscriminantAnalysis as QuadraticDiscriminantAnalysis
    from discern.estimators.kernel import SVC as SVC
    from discern.estimators.language import UnigramLanguageModel as UnigramLanguageModel
    from discern.estimators.linear import NBSVM as NBSVM
    from discern.estimators.linear import LinearSVC as LinearSVC
    from discern.estimators.logistic import BayesianLogisticRegression as BayesianLogisticRegression
    from discern.estimators.logistic import LogisticRegression as LogisticRegression
    from discern.estimators.mixed import NaiveBayes as NaiveBayes
    from discern.estimators.neighbours import KNeighborsClassifier as KNeighborsClassifier
    from discern.estimators.online import BalancedWinnow as BalancedWinnow
    from discern.estimators.online import Perceptron as Perceptron
    from discern.estimators.online import Winnow as Winnow
    from discern.estimators.ridge import RidgeClassifier as RidgeClassifier
    from discern.estimators.select import SelectKBest as SelectKBest
    from discern.estimators.select import chi2 as chi2
    from discern.estimators.select import mutual_information as mutual_information
    from discern.estimators.tables import CategoricalNB as CategoricalNB
    from discern.estimators.tables import GaussianNB as GaussianNB
    from discern.estimators.text import CountVectorizer as CountVectorizer
    from discern.estimators.text import HashingVectorizer as HashingVectorizer
    from discern.estimators.text import TfidfTransformer as TfidfTransformer
    from discern.estimators.text import TfidfVectorizer as TfidfVectorizer
    from discern.evaluate import Evaluation as Evaluation
    from discern.evidence import Evidence as Evidence
    from discern.files import ModelFileError as ModelFileError
    from discern.gaussian import SingularCovarianceWarning as SingularCovarianceWarning
    from discern.linear import NotSeparableError as NotSeparableError
    from discern.matrix import TermDocumentMatrix as TermDocumentMatrix
    from discern.separation import Separation as Separation
    from discern.separation import SeparationWarning as SeparationWarning
    from discern.separation import find_separation as find_separation
    from discern.significance import corrected_resampled_t as corrected_resampled_t
    from discern.significance import mcnemar as mcnemar
    from discern.significance import wilson as wilson
    from discern.similarity import Similar as Similar
    from discern.similarity import similar as similar
    from discern.text import TextSettings as TextSettings
    from discern.weighting import Weighting as Weighting
    from discern.window import Drift as Drift
    from discern.window import Window as Window
    from discern.window import drift as drift


__getattr__ = from_homes(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
