"""ISLR Figure 4.8: the ROC curve of credit card defaults, and the point of the threshold 0.2."""

import sys

import defaults

from discern import LinearDiscriminantAnalysis
from discern.plots import RocDisplay


def draw() -> RocDisplay:
    X, y = defaults.load()
    model = LinearDiscriminantAnalysis().fit(X, y)
    return RocDisplay.from_estimator(model, X, y, positive="Yes", name="LDA", chosen=0.2)


if __name__ == "__main__":
    draw().figure_.savefig(sys.argv[1] if len(sys.argv) > 1 else "roc_curve.png", dpi=150)
