"""Peers of fits that choose settings on held-out rows and calibrate: what a user of scikit-learn writes for that."""

from typing import Any

FOLDS = 3
"""As many as our models in a vector space calibrate by."""
SMOOTHINGS = (1.0, 0.3, 0.1, 0.03, 0.01)
COSTS = 5
"""The number of penalties that logistic regression chooses from."""


def chosen(estimator: Any, subject: str, threads: int) -> Any:
    """Return an estimator that chooses what ours chooses, from fewer values, and gives calibrated probabilities."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import LogisticRegressionCV, RidgeClassifierCV
    from sklearn.model_selection import GridSearchCV

    jobs = threads if threads > 1 else None
    if subject == "Classifier":
        return LogisticRegressionCV(Cs=COSTS, cv=5, n_jobs=jobs, l1_ratios=(0.0,), use_legacy_attributes=False)
    found = {
        "Classifier(model=ridge)": lambda: RidgeClassifierCV(alphas=(0.1, 1.0, 10.0)),
        "Classifier(model=lda)": lambda: LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
        "Classifier(model=qda)": lambda: GridSearchCV(estimator, {"reg_param": (0.0, 0.1, 0.5)}, cv=FOLDS, n_jobs=jobs),
        "Classifier(model=knn)": lambda: GridSearchCV(estimator, {"n_neighbors": (1, 3, 9, 27)}, cv=FOLDS, n_jobs=jobs),
    }
    base = found[subject]() if subject in found else estimator
    return CalibratedClassifierCV(base, cv=FOLDS, ensemble=False, n_jobs=jobs)


def chosen_texts(threads: int) -> Any:
    """Return naive Bayes that chooses words, pairs of words, or words and characters, and how much to smooth.

    Texts are counted once for all folds, which is the faster way to do it.
    """
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.model_selection import GridSearchCV
    from sklearn.naive_bayes import MultinomialNB
    from sklearn.pipeline import make_union

    jobs = threads if threads > 1 else None

    class ChosenTexts(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        def fit(self, X: Any, y: Any) -> Any:
            views = (
                CountVectorizer(),
                CountVectorizer(ngram_range=(1, 2)),
                make_union(CountVectorizer(), CountVectorizer(analyzer="char_wb", ngram_range=(2, 4))),
            )
            best = None
            for view in views:
                counts = view.fit_transform(X)
                search = GridSearchCV(
                    MultinomialNB(), {"alpha": SMOOTHINGS}, scoring="neg_log_loss", cv=5, n_jobs=jobs
                ).fit(counts, y)
                if best is None or search.best_score_ > best[0]:
                    best = (search.best_score_, view, search.best_estimator_, counts)
            assert best is not None
            _, self.view_, model, counts = best
            self.model_ = CalibratedClassifierCV(model, cv=5, ensemble=False, n_jobs=jobs).fit(counts, y)
            self.classes_ = self.model_.classes_
            return self

        def predict(self, X: Any) -> Any:
            return self.model_.predict(self.view_.transform(X))

        def predict_proba(self, X: Any) -> Any:
            return self.model_.predict_proba(self.view_.transform(X))

    return ChosenTexts()
