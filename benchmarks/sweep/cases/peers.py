"""Peers of another name: what a user of scikit-learn writes for the same."""

from typing import Any


def univariate_logistic(**options: Any) -> Any:
    """The peer of the Bayesian one: logistic regression with the ridge that is its prior."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(**options)


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


def binary_log_ratios() -> Any:
    """Log count ratios of naive Bayes on presence, then a linear SVM: NB-SVM as its paper has it."""
    from sklearn.naive_bayes import MultinomialNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import Binarizer, FunctionTransformer
    from sklearn.svm import LinearSVC

    class Ratios(FunctionTransformer):  # type: ignore[misc]
        def fit(self, X: Any, y: Any = None) -> Any:
            found = MultinomialNB().fit(X, y).feature_log_prob_
            self.ratios_ = found[-1] - found[0] if len(found) == 2 else found - found.mean(axis=0)
            return self

        def transform(self, X: Any) -> Any:
            ratios = self.ratios_ if self.ratios_.ndim == 1 else self.ratios_[0]
            return X.multiply(ratios).tocsr() if hasattr(X, "multiply") else X * ratios

    return make_pipeline(Binarizer(), Ratios(), LinearSVC())


def calibrated() -> Any:
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.linear_model import LogisticRegression

    return CalibratedClassifierCV(LogisticRegression(), method="sigmoid", ensemble=False)


def decided() -> Any:
    from sklearn.model_selection import FixedThresholdClassifier
    from sklearn.naive_bayes import GaussianNB

    return FixedThresholdClassifier(GaussianNB())
