"""discern classifies text and tables: from raw rows to a decision with its probability and its evidence.

    statistics = sum over rows          model = solve(statistics, settings)

Names are imported when they are first used, so that ``import discern`` costs almost nothing.
"""

from typing import TYPE_CHECKING

from discern.data.lazy import from_homes

__version__ = "0.2.0"

_HOMES = {
    "BalancedWinnow": "discern.estimators.linear.winnow",
    "BasicLinearClassifier": "discern.estimators.linear.centroids",
    "BayesClassifier": "discern.learners.bayes_rate",
    "BayesRate": "discern.learners.bayes_rate",
    "BayesianLogisticRegression": "discern.estimators.linear.bayesian",
    "BernoulliNB": "discern.estimators.naive_bayes.counts",
    "CalibratedClassifier": "discern.estimators.calibrate",
    "CategoricalNB": "discern.estimators.naive_bayes.categorical",
    "Classifier": "discern.classifier",
    "ComplementNB": "discern.estimators.naive_bayes.counts",
    "CountVectorizer": "discern.estimators.text.vectorizers",
    "CrossValidation": "discern.analysis.crossvalidation",
    "DataError": "discern.data.strings",
    "Decision": "discern.evaluation.decisions",
    "DecisionClassifier": "discern.estimators.decide",
    "Density": "discern.learners.densities",
    "Dirichlet": "discern.learners.smoothing",
    "Discretizer": "discern.estimators.transformers.discretize",
    "Drift": "discern.analysis.drift",
    "ENGLISH_STOP_WORDS": "discern.estimators.reexports",
    "Embedder": "discern.data.embedding.embedder",
    "Evaluation": "discern.evaluation.evaluation",
    "Evidence": "discern.models.evidence",
    "GaussianBasis": "discern.estimators.transformers.basis",
    "GaussianNB": "discern.estimators.naive_bayes.gaussian",
    "Guard": "discern.analysis.defense",
    "HashingVectorizer": "discern.estimators.text.vectorizers",
    "JelinekMercer": "discern.learners.smoothing",
    "KNeighborsClassifier": "discern.estimators.neighbors",
    "Laplace": "discern.learners.smoothing",
    "LeastCost": "discern.evaluation.decisions",
    "LinearDiscriminantAnalysis": "discern.estimators.linear.discriminants",
    "LinearSVC": "discern.estimators.linear.margins",
    "LogisticRegression": "discern.estimators.linear.logistic",
    "LogisticRegressionCV": "discern.estimators.linear.logistic_cv",
    "ModelFileError": "discern.models.file",
    "MostF1": "discern.evaluation.several.choosing",
    "MostPrecision": "discern.evaluation.several.choosing",
    "MostRecall": "discern.evaluation.decisions",
    "MultilabelEvaluation": "discern.evaluation.several.evaluation",
    "MultinomialNB": "discern.estimators.naive_bayes.counts",
    "NBSVM": "discern.estimators.linear.margins",
    "NaiveBayes": "discern.estimators.naive_bayes.columns",
    "NearestCentroid": "discern.estimators.reexports",
    "NotSeparableError": "discern.learners.margins",
    "OnlineTextClassifier": "discern.estimators.text.streaming",
    "Perceptron": "discern.estimators.linear.perceptron",
    "QuadraticDiscriminantAnalysis": "discern.estimators.linear.discriminants",
    "QuadraticFeatures": "discern.estimators.transformers.basis",
    "Receipt": "discern.models.summing",
    "RidgeClassifier": "discern.estimators.linear.ridge",
    "RidgeClassifierCV": "discern.estimators.linear.ridge_cv",
    "SGDClassifier": "discern.estimators.linear.descent",
    "SVC": "discern.estimators.kernel",
    "SelectFdr": "discern.estimators.reexports",
    "SelectFpr": "discern.estimators.reexports",
    "SelectFwe": "discern.estimators.reexports",
    "SelectKBest": "discern.estimators.transformers.select",
    "SelectPercentile": "discern.estimators.reexports",
    "Separation": "discern.learners.logistic.separation",
    "SeparationWarning": "discern.learners.logistic.separation",
    "Similar": "discern.analysis.similarity",
    "SingularCovarianceWarning": "discern.learners.covariances",
    "StaticEmbedding": "discern.data.embedding.static",
    "TermDocumentMatrix": "discern.statistics.matrix",
    "TextSettings": "discern.data.text",
    "TfidfTransformer": "discern.estimators.text.tfidf",
    "TfidfVectorizer": "discern.estimators.text.tfidf",
    "UnigramLanguageModel": "discern.estimators.text.language",
    "Thresholds": "discern.evaluation.several.thresholds",
    "Weighting": "discern.statistics.weighting",
    "Window": "discern.analysis.drift",
    "Winnow": "discern.estimators.linear.winnow",
    "chi2": "discern.estimators.transformers.select",
    "choose_decision": "discern.analysis.crossvalidation",
    "choose_threshold": "discern.evaluation.decisions",
    "choose_thresholds": "discern.evaluation.several.choosing",
    "code_path": "discern._native",
    "compare": "discern.analysis.comparison",
    "corrected_resampled_t": "discern.evaluation.significance",
    "cross_validate": "discern.analysis.crossvalidation",
    "doubtful": "discern.analysis.defense",
    "drift": "discern.analysis.drift",
    "estimate_priors": "discern.evaluation.decisions",
    "f_classif": "discern.estimators.reexports",
    "find_separation": "discern.learners.logistic.separation",
    "load": "discern.classifier",
    "mcnemar": "discern.evaluation.significance",
    "mixture": "discern.learners.densities",
    "mutual_information": "discern.estimators.transformers.select",
    "reweight": "discern.evaluation.decisions",
    "similar": "discern.analysis.similarity",
    "wilson": "discern.evaluation.significance",
    "with_vectors": "discern.data.vectors.beside",
}

__all__ = [*sorted(_HOMES), "__version__"]

if TYPE_CHECKING:
    from discern._native import code_path as code_path
    from discern.analysis.comparison import compare as compare
    from discern.analysis.crossvalidation import CrossValidation as CrossValidation
    from discern.analysis.crossvalidation import choose_decision as choose_decision
    from discern.analysis.crossvalidation import cross_validate as cross_validate
    from discern.analysis.defense import Guard as Guard
    from discern.analysis.defense import doubtful as doubtful
    from discern.analysis.drift import Drift as Drift
    from discern.analysis.drift import Window as Window
    from discern.analysis.drift import drift as drift
    from discern.analysis.similarity import Similar as Similar
    from discern.analysis.similarity import similar as similar
    from discern.classifier import Classifier as Classifier
    from discern.classifier import load as load
    from discern.data.embedding.embedder import Embedder as Embedder
    from discern.data.embedding.static import StaticEmbedding as StaticEmbedding
    from discern.data.strings import DataError as DataError
    from discern.data.text import TextSettings as TextSettings
    from discern.data.vectors.beside import with_vectors as with_vectors
    from discern.estimators.calibrate import CalibratedClassifier as CalibratedClassifier
    from discern.estimators.decide import DecisionClassifier as DecisionClassifier
    from discern.estimators.kernel import SVC as SVC
    from discern.estimators.linear.bayesian import BayesianLogisticRegression as BayesianLogisticRegression
    from discern.estimators.linear.centroids import BasicLinearClassifier as BasicLinearClassifier
    from discern.estimators.linear.descent import SGDClassifier as SGDClassifier
    from discern.estimators.linear.discriminants import LinearDiscriminantAnalysis as LinearDiscriminantAnalysis
    from discern.estimators.linear.discriminants import QuadraticDiscriminantAnalysis as QuadraticDiscriminantAnalysis
    from discern.estimators.linear.logistic import LogisticRegression as LogisticRegression
    from discern.estimators.linear.logistic_cv import LogisticRegressionCV as LogisticRegressionCV
    from discern.estimators.linear.margins import NBSVM as NBSVM
    from discern.estimators.linear.margins import LinearSVC as LinearSVC
    from discern.estimators.linear.perceptron import Perceptron as Perceptron
    from discern.estimators.linear.ridge import RidgeClassifier as RidgeClassifier
    from discern.estimators.linear.ridge_cv import RidgeClassifierCV as RidgeClassifierCV
    from discern.estimators.linear.winnow import BalancedWinnow as BalancedWinnow
    from discern.estimators.linear.winnow import Winnow as Winnow
    from discern.estimators.naive_bayes.categorical import CategoricalNB as CategoricalNB
    from discern.estimators.naive_bayes.columns import NaiveBayes as NaiveBayes
    from discern.estimators.naive_bayes.counts import BernoulliNB as BernoulliNB
    from discern.estimators.naive_bayes.counts import ComplementNB as ComplementNB
    from discern.estimators.naive_bayes.counts import MultinomialNB as MultinomialNB
    from discern.estimators.naive_bayes.gaussian import GaussianNB as GaussianNB
    from discern.estimators.neighbors import KNeighborsClassifier as KNeighborsClassifier
    from discern.estimators.reexports import ENGLISH_STOP_WORDS as ENGLISH_STOP_WORDS
    from discern.estimators.reexports import NearestCentroid as NearestCentroid
    from discern.estimators.reexports import SelectFdr as SelectFdr
    from discern.estimators.reexports import SelectFpr as SelectFpr
    from discern.estimators.reexports import SelectFwe as SelectFwe
    from discern.estimators.reexports import SelectPercentile as SelectPercentile
    from discern.estimators.reexports import f_classif as f_classif
    from discern.estimators.text.language import UnigramLanguageModel as UnigramLanguageModel
    from discern.estimators.text.streaming import OnlineTextClassifier as OnlineTextClassifier
    from discern.estimators.text.tfidf import TfidfTransformer as TfidfTransformer
    from discern.estimators.text.tfidf import TfidfVectorizer as TfidfVectorizer
    from discern.estimators.text.vectorizers import CountVectorizer as CountVectorizer
    from discern.estimators.text.vectorizers import HashingVectorizer as HashingVectorizer
    from discern.estimators.transformers.basis import GaussianBasis as GaussianBasis
    from discern.estimators.transformers.basis import QuadraticFeatures as QuadraticFeatures
    from discern.estimators.transformers.discretize import Discretizer as Discretizer
    from discern.estimators.transformers.select import SelectKBest as SelectKBest
    from discern.estimators.transformers.select import chi2 as chi2
    from discern.estimators.transformers.select import mutual_information as mutual_information
    from discern.evaluation.decisions import Decision as Decision
    from discern.evaluation.decisions import LeastCost as LeastCost
    from discern.evaluation.decisions import MostRecall as MostRecall
    from discern.evaluation.decisions import choose_threshold as choose_threshold
    from discern.evaluation.decisions import estimate_priors as estimate_priors
    from discern.evaluation.decisions import reweight as reweight
    from discern.evaluation.evaluation import Evaluation as Evaluation
    from discern.evaluation.several.choosing import MostF1 as MostF1
    from discern.evaluation.several.choosing import MostPrecision as MostPrecision
    from discern.evaluation.several.choosing import choose_thresholds as choose_thresholds
    from discern.evaluation.several.evaluation import MultilabelEvaluation as MultilabelEvaluation
    from discern.evaluation.several.thresholds import Thresholds as Thresholds
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
    from discern.models.summing import Receipt as Receipt
    from discern.statistics.matrix import TermDocumentMatrix as TermDocumentMatrix
    from discern.statistics.weighting import Weighting as Weighting


__getattr__ = from_homes(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
