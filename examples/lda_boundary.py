"""ISLR Figure 4.6: three normal classes; the boundaries of linear discriminant analysis, and the best ones dashed."""

import sys

import numpy as np

from discern import LinearDiscriminantAnalysis
from discern.plots import DecisionBoundaryDisplay

MEANS = np.array([[-2.2, -0.4], [0.4, 2.2], [2.0, -1.6]])
SHAPE = np.array([[1.0, 0.5], [0.5, 1.0]])


class Truth:
    """Decides for the class whose mean is nearest, by the true covariance."""

    def predict(self, X: np.ndarray) -> np.ndarray:
        rest = X[:, None, :] - MEANS
        distance = np.einsum("nki,ij,nkj->nk", rest, np.linalg.inv(SHAPE), rest)
        return distance.argmin(axis=1) + 1


def draw(rows: int = 20) -> DecisionBoundaryDisplay:
    random = np.random.default_rng(6)
    X = np.concatenate([random.multivariate_normal(mean, SHAPE, rows) for mean in MEANS])
    y = np.repeat([1, 2, 3], rows)
    return DecisionBoundaryDisplay.from_estimator(LinearDiscriminantAnalysis().fit(X, y), X, y, bayes=Truth())


if __name__ == "__main__":
    draw().figure_.savefig(sys.argv[1] if len(sys.argv) > 1 else "lda_boundary.png", dpi=150)
