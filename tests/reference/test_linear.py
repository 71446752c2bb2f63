"""The linear classifiers of large margin give what LIBLINEAR and LIBSVM give, and prove how good it is."""

import warnings

import numpy as np
import pytest
import scipy.sparse
import sklearn.svm as reference
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import discern
from discern.bayes import JelinekMercer, Laplace
from discern.linear import MarginSettings, fit_margins, fit_nbsvm, indicators


@parametrize_with_checks([discern.LinearSVC(), discern.NBSVM()])
@pytest.mark.filterwarnings("ignore")
def test_conformance(estimator, check):
    check(estimator)
