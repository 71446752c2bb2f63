"""discern classifies text and tables: from raw rows to a decision with its probability and its evidence.

    statistics = sum over rows          model = solve(statistics, settings)

Names are imported when they are first used, so that ``import discern`` costs almost nothing.
"""

from typing import TYPE_CHECKING

from discern.data.lazy import from_homes

__version__ = "0.1.0"

_HOMES = {
    "BalancedWinnow": "discern.estimators.online",
    "BasicLinearClassifier": "discern.estimators.centres",
    "BayesClassifier": "discern.learners.bayes_rate",
    "BayesRate": "discern.learners.bayes_rate",
    "BayesianLogisticRegression": "discern.estimators.logistic",
    "BernoulliNB": "discern.estimators.bayes",
    "CalibratedClassifier": "discern.estimators.calibrate",
    "CategoricalNB": "discern.estimators.tables",
    "Classifier": "discern.classifier",
    "ComplementNB": "discern.estimators.bayes",
    "CountVectorizer": "discern.estimators.text",
    "CrossValidation": "discern.analysis.crossvalidation",
    "DataError": "discern.data.strings",
    "Decision": "discern.evaluation.decisions",
    "DecisionClassifier": "discern.estimators.decide",
    "Density": "discern.learners.densities",
    "Dirichlet": "discern.learners.smoothing",
    "Discretizer": "discern.estimators.discretize",
    "Drift": "discern.analysis.drift",
    "Evaluation": "discern.evaluation.evaluation",
    "Evidence": "discern.models.evidence",
    "GaussianBasis": "discern.estimators.basis",
    "GaussianNB": "discern.estimators.tables",
    "Guard": "discern.analysis.defence",
    "HashingVectorizer": "discern.estimators.text",
    "JelinekMercer": "discern.learners.smoothing",
    "KNeighborsClassifier": "discern.estimators.neighbours",
    "Laplace": "discern.learners.smoothing",
    "LeastCost": "discern.evaluation.decisions",
    "LinearDiscriminantAnalysis": "discern.estimators.gaussian",
    "LinearSVC": "discern.estimators.linear",
    "LogisticRegression": "discern.estimators.logistic",
    "ModelFileError": "discern.models.file",
    "MostRecall": "discern.evaluation.decisions",
    "MultinomialNB": "discern.estimators.bayes",
    "NBSVM": "discern.estimators.linear",
    "NaiveBayes": "discern.estimators.mixed",
    "NotSeparableError": "discern.learners.margins",
    "OnlineTextClassifier": "discern.estimators.adaptive",
    "Perceptron": "discern.estimators.online",
    "QuadraticDiscriminantAnalysis": "discern.estimators.gaussian",
    "QuadraticFeatures": "discern.estimators.basis",
    "Receipt": "discern.models.fitted",
    "RidgeClassifier": "discern.estimators.ridge",
    "SVC": "discern.estimators.kernel",
    "SelectKBest": "discern.estimators.select",
    "Separation": "discern.learners.logistic.separation",
    "SeparationWarning": "discern.learners.logistic.separation",
    "Similar": "discern.analysis.similarity",
    "SingularCovarianceWarning": "discern.learners.covariances",
    "TermDocumentMatrix": "discern.statistics.matrix",
    "TextSettings": "discern.data.text",
    "TfidfTransformer": "discern.estimators.text",
    "TfidfVectorizer": "discern.estimators.text",
    "UnigramLanguageModel": "discern.estimators.language",
    "Weighting": "discern.statistics.weighting",
    "Window": "discern.analysis.drift",
    "Winnow": "discern.estimators.online",
    "chi2": "discern.estimators.select",
    "choose_decision": "discern.analysis.crossvalidation",
    "choose_threshold": "discern.evaluation.decisions",
    "code_path": "discern._native",
    "compare": "discern.analysis.comparison",
    "corrected_resampled_t": "discern.evaluation.significance",
    "cross_validate": "discern.analysis.crossvalidation",
    "doubtful": "discern.analysis.defence",
    "drift": "discern.analysis.drift",
    "estimate_priors": "discern.evaluation.decisions",
    "find_separation": "discern.learners.logistic.separation",
    "load": "discern.classifier",
    "mcnemar": "discern.evaluation.significance",
    "mixture": "discern.learners.densities",
    "mutual_information": "discern.estimators.select",
    "reweight": "discern.evaluation.decisions",
    "similar": "discern.analysis.similarity",
    "wilson": "discern.evaluation.significance",
}

__all__ = [*sorted(_HOMES), "__version__"]

if TYPE_CHECKING:
    from discern._native import code_path as code_path
    from discern.analysis.comparison import compare as compare
    from discern.analysis.crossvalidation import CrossValidation as CrossValidation
    from discern.analysis.crossvalidation import choose_decision as choose_decision
    from discern.analysis.crossvalidation import cross_validate as cross_validate
    from discern.analysis.defence import Guard as Guard
    from discern.analysis.defence import doubtful as doubtful
    from discern.analysis.drift import Drift as Drift
    from discern.analysis.drift import Window as Window
    from discern.analysis.drift import drift as drift
    from discern.analysis.similarity import Similar as Similar
    from discern.analysis.similarity import similar as similar
    from discern.classifier import Classifier as Classifier
    from discern.classifier import load as load
    from discern.data.strings import DataError as DataError
    from discern.data.text import TextSettings as TextSettings
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
    from discern.evaluation.decisions import Decision as Decision
    from discern.evaluation.decisions import LeastCost as LeastCost
    from discern.evaluation.decisions import MostRecall as MostRecall
    from discern.evaluation.decisions import choose_threshold as choose_threshold
    from discern.evaluation.decisions import estimate_priors as estimate_priors
    from discern.evaluation.decisions import reweight as reweight
    from discern.evaluation.evaluation import Evaluation as Evaluation
    from discern.evaluation.significance import corrected_resampled_t as corrected_resampled_t
    from discern.evaluation.significance import mcnemar as mcnemar
    from discern.evaluation.significance import wilson as wilson
    from discern.learners.bayes_rate import BayesClassifier as BayesClassifier
    from discern.learners.bayes_rate import BayesRate as BayesRate
    from discern.learners.covariances import SingularCovarianceWarning as SingularCovarianceWarning
    from discern.learners.densities import Density as Density
    from discern.learners.densities import mixture as mixture
    from discern.learners.logistic.separation import Separation as Separation
    from discern.learners.logistic.separation import SeparationWarning as SeparationWarning
    from discern.learners.logistic.separation import find_separation as find_separation
    from discern.learners.margins import NotSeparableError as NotSeparableError
    from discern.learners.smoothing import Dirichlet as Dirichlet
    from discern.learners.smoothing import JelinekMercer as JelinekMercer
    from discern.learners.smoothing import Laplace as Laplace
    from discern.models.evidence import Evidence as Evidence
    from discern.models.file import ModelFileError as ModelFileError
    from discern.models.fitted import Receipt as Receipt
    from discern.statistics.matrix import TermDocumentMatrix as TermDocumentMatrix
    from discern.statistics.weighting import Weighting as Weighting


__getattr__ = from_homes(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
