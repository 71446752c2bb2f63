"""ISLR Figure 4.7: error rates against the threshold, on credit card defaults."""

import sys

import defaults

from discern import LinearDiscriminantAnalysis
from discern.plots import ThresholdErrorDisplay


def draw() -> ThresholdErrorDisplay:
    X, y = defaults.load()
    model = LinearDiscriminantAnalysis().fit(X, y)
    display = ThresholdErrorDisplay.from_estimator(model, X, y, positive="Yes")
    display.ax_.set(xlim=(0, 0.5), ylim=(-0.01, 0.75), title="defaults missed and others called so")
    return display


if __name__ == "__main__":
    draw().figure_.savefig(sys.argv[1] if len(sys.argv) > 1 else "threshold_errors.png", dpi=150)
