"""ISLR Figure 4.10: five methods over 100 samples of three problems whose best boundary is straight."""

import sys
from typing import Any

import matplotlib.pyplot as plt
from problems import STRAIGHT
from sklearn.model_selection import GridSearchCV

from discern import (
    GaussianNB,
    KNeighborsClassifier,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    QuadraticDiscriminantAnalysis,
)
from discern.comparison import compare_simulated

METHODS = {
    "kNN-1": KNeighborsClassifier(1),
    "kNN-CV": GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 3, 5, 9, 15]}, cv=5),
    "LDA": LinearDiscriminantAnalysis(),
    "logistic": LogisticRegression(C=1e6),
    "naive Bayes": GaussianNB(),
    "QDA": QuadraticDiscriminantAnalysis(),
}


def draw(repeats: int = 100, test_rows: int = 10_000, problems: Any = STRAIGHT) -> Any:
    figure, axes = plt.subplots(1, len(problems), figsize=(15, 4.4), layout="constrained")
    for ax, (name, (problem, rows)) in zip(axes, problems.items(), strict=True):
        compared = compare_simulated(METHODS, problem, rows=rows, repeats=repeats, test_rows=test_rows)
        compared.plot(ax=ax)
        ax.set_title(name)
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.25), frameon=False)
    return figure


if __name__ == "__main__":
    draw().savefig(sys.argv[1] if len(sys.argv) > 1 else "linear_problems.png", dpi=150)
