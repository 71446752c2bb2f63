"""The six simulated problems of ISLR section 4.5, each with the rows of one training sample, and the methods."""

from sklearn.model_selection import GridSearchCV

from discern import (
    GaussianNB,
    KNeighborsClassifier,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    QuadraticDiscriminantAnalysis,
)
from discern.learners.simulate import scenario

STRAIGHT = {
    "1: normal, uncorrelated": (scenario(1), 40),
    "2: normal, correlation −0.5": (scenario(2), 40),
    "3: t distributions": (scenario(3), 100),
}
CURVED = {
    "4: correlations 0.5 and −0.5": (scenario(4), 40),
    "5: quadratic log odds": (scenario(5), 200),
    "6: more complicated": (scenario(6), 200),
}
METHODS = {
    "kNN-1": KNeighborsClassifier(1),
    "kNN-CV": GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 3, 5, 9, 15]}, cv=5),
    "LDA": LinearDiscriminantAnalysis(),
    "logistic": LogisticRegression(C=1e6),
    "naive Bayes": GaussianNB(),
    "QDA": QuadraticDiscriminantAnalysis(),
}
