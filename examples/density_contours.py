"""The class densities that Gaussian naive Bayes fits, as contours: their axes are those of the columns."""

import sys

import numpy as np
from sklearn.datasets import load_wine

from discern import GaussianNB
from discern.plots import DensityContourDisplay


def draw() -> DensityContourDisplay:
    data = load_wine(as_frame=True)
    X, y = data.data[["alcohol", "flavanoids"]], np.array(["first", "second", "third"])[data.target]
    return DensityContourDisplay.from_estimator(GaussianNB().fit(X.to_numpy(), y), X, y)


if __name__ == "__main__":
    draw().figure_.savefig(sys.argv[1] if len(sys.argv) > 1 else "density_contours.png", dpi=150)
