"""Peers of another name: what a user of scikit-learn writes for the same."""

from typing import Any

import numpy as np
from scipy.special import expit


def laplace_logistic() -> Any:
    """The peer of the Bayesian one: the best coefficients, and in numpy the Hessian there and MacKay's average."""
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.linear_model import LogisticRegression

    class LaplaceLogistic(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        def fit(self, X: Any, y: Any) -> Any:
            self.model_ = LogisticRegression().fit(X, y)
            self.classes_ = self.model_.classes_
            shares, wide = self.model_.predict_proba(X), _with_ones(X)
            shares = shares[:, 1:] if len(self.classes_) == 2 else shares
            outputs, columns = shares.shape[1], wide.shape[1]
            hessian = np.empty((outputs, columns, outputs, columns))
            for k in range(outputs):
                for j in range(outputs):
                    factors = shares[:, k] * ((k == j) - shares[:, j])
                    hessian[k, :, j, :] = (wide * factors[:, None]).T @ wide
            hessian = hessian.reshape(outputs * columns, -1)
            hessian[np.diag_indices_from(hessian)] += np.tile([*[1.0] * (columns - 1), 1e-8], outputs)
            self.covariance_ = np.linalg.inv(hessian).reshape(outputs, columns, outputs, columns)
            return self

        def predict_proba(self, X: Any) -> Any:
            scores, wide = self.model_.decision_function(X), _with_ones(X)
            spread = self.covariance_
            if scores.ndim == 1:
                variances = ((wide @ spread[0, :, 0, :]) * wide).sum(axis=1)
                share = expit(scores / np.sqrt(1 + np.pi / 8 * variances))
                return np.column_stack([1 - share, share])
            total = np.zeros_like(scores)
            for k in range(scores.shape[1]):
                for j in range(scores.shape[1]):
                    beside = spread[k, :, k, :] + spread[j, :, j, :] - spread[k, :, j, :] - spread[j, :, k, :]
                    variances = ((wide @ beside) * wide).sum(axis=1)
                    total[:, k] += np.exp((scores[:, j] - scores[:, k]) / np.sqrt(1 + np.pi / 8 * variances))
            return (1 / total) / (1 / total).sum(axis=1, keepdims=True)

        def predict(self, X: Any) -> Any:
            return self.classes_[self.predict_proba(X).argmax(axis=1)]

    return LaplaceLogistic()


def _with_ones(X: Any) -> Any:
    return np.column_stack([X, np.ones(len(X))])


def polynomial() -> Any:
    from sklearn.preprocessing import PolynomialFeatures

    return PolynomialFeatures(2, include_bias=False)


def gaussian_bumps() -> Any:
    """Centers by k-means, then a Gaussian kernel around each."""
    from sklearn.base import BaseEstimator, TransformerMixin
    from sklearn.cluster import KMeans
    from sklearn.metrics.pairwise import rbf_kernel

    class Bumps(TransformerMixin, BaseEstimator):  # type: ignore[misc]
        def fit(self, X: Any, y: Any = None) -> Any:
            self.centers_ = KMeans(20, n_init=1, random_state=0).fit(X).cluster_centers_
            return self

        def transform(self, X: Any) -> Any:
            return rbf_kernel(X, self.centers_)

    return Bumps()


def paper_nbsvm() -> Any:
    """NB-SVM of two classes as its paper has it: log count ratios of presence, a linear SVM, and the interpolation."""
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.naive_bayes import MultinomialNB
    from sklearn.preprocessing import binarize
    from sklearn.svm import LinearSVC

    class PaperNBSVM(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        def fit(self, X: Any, y: Any) -> Any:
            present = binarize(X)
            shares = MultinomialNB().fit(present, y).feature_log_prob_
            self.ratios_ = shares[1] - shares[0]
            self.machine_ = LinearSVC().fit(self._scaled(present), y)
            self.classes_ = self.machine_.classes_
            weights = self.machine_.coef_
            self.machine_.coef_ = 0.75 * abs(weights).mean() + 0.25 * weights
            self.machine_.intercept_ = 0.25 * self.machine_.intercept_
            return self

        def _scaled(self, present: Any) -> Any:
            return present.multiply(self.ratios_).tocsr() if hasattr(present, "multiply") else present * self.ratios_

        def predict(self, X: Any) -> Any:
            return self.machine_.predict(self._scaled(binarize(X)))

    return PaperNBSVM()


def perceptron_of_presence() -> Any:
    """The peer of Winnow, whose features are there or not."""
    from sklearn.linear_model import Perceptron
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import Binarizer

    return make_pipeline(Binarizer(), Perceptron())


def calibrated() -> Any:
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.linear_model import LogisticRegression

    return CalibratedClassifierCV(LogisticRegression(), method="sigmoid", ensemble=False)


def decided() -> Any:
    from sklearn.model_selection import FixedThresholdClassifier
    from sklearn.naive_bayes import GaussianNB

    return FixedThresholdClassifier(GaussianNB())
