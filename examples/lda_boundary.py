"""ISLR Figure 4.6: three normal classes; the boundaries of linear discriminant analysis, and the best ones dashed."""

import sys

from scipy.stats import multivariate_normal

from discern import BayesClassifier, LinearDiscriminantAnalysis
from discern.plots import DecisionBoundaryDisplay

MEANS = {1: [-2.2, -0.4], 2: [0.4, 2.2], 3: [2.0, -1.6]}
SHAPE = [[1.0, 0.5], [0.5, 1.0]]


def draw(rows: int = 20) -> DecisionBoundaryDisplay:
    truth = BayesClassifier({label: multivariate_normal(mean, SHAPE) for label, mean in MEANS.items()})
    X, y = truth.sample([rows] * len(MEANS), 6)
    return DecisionBoundaryDisplay.from_estimator(LinearDiscriminantAnalysis().fit(X, y), X, y, bayes=truth)


if __name__ == "__main__":
    draw().figure_.savefig(sys.argv[1] if len(sys.argv) > 1 else "lda_boundary.png", dpi=150)
