"""ISLR Figure 4.9: where two classes share a covariance a line is best, and where they do not a curve is."""

import sys
from typing import Any

import matplotlib.pyplot as plt
from scipy.stats import multivariate_normal

from discern import BayesClassifier, LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from discern.plots import DecisionBoundaryDisplay


def normals(*correlations: float) -> BayesClassifier:
    """Give two normal classes of unit variances with these correlations."""
    shapes = [[[1, correlation], [correlation, 1]] for correlation in correlations]
    return BayesClassifier(list(map(multivariate_normal, ([0, 0], [1.2, -1.2]), shapes)))


CASES = {
    "both correlated 0.7": normals(0.7, 0.7),
    "correlated 0.7 and −0.7": normals(0.7, -0.7),
}


def draw() -> Any:
    methods = {"LDA": LinearDiscriminantAnalysis(), "QDA": QuadraticDiscriminantAnalysis()}
    figure, axes = plt.subplots(2, 2, figsize=(9.5, 6.4), layout="constrained")
    for row, (title, problem) in zip(axes, CASES.items(), strict=True):
        X, y = problem.sample(200, 9)
        for ax, (name, method) in zip(row, methods.items(), strict=True):
            DecisionBoundaryDisplay.from_estimator(method.fit(X, y), X, y, bayes=problem, ax=ax)
            ax.set_title(f"{name}, {title}")
        row[0].get_legend().remove()
    return figure


if __name__ == "__main__":
    draw().savefig(sys.argv[1] if len(sys.argv) > 1 else "qda_boundary.png", dpi=150)
