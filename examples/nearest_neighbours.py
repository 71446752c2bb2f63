"""A problem that no straight line solves: logistic regression fails, nearest neighbours do not."""

import sys
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from discern import KNeighborsClassifier, LogisticRegression
from discern.plots import DecisionBoundaryDisplay


def rings(rows: int = 240) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(2)
    outside = np.arange(rows) % 2
    angle, radius = random.uniform(0, 2 * np.pi, rows), random.normal(1 + 1.2 * outside, 0.25)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), np.where(outside, "outer", "inner")


def draw() -> Any:
    X, y = rings()
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    methods = {"logistic regression": LogisticRegression(), "9 nearest neighbours": KNeighborsClassifier(9)}
    for ax, (name, method) in zip(axes, methods.items(), strict=True):
        fitted = method.fit(X, y)
        DecisionBoundaryDisplay.from_estimator(fitted, X, y, ax=ax)
        ax.set_title(f"{name}: error {np.mean(fitted.predict(X) != y):.1%}")
    axes[0].get_legend().remove()
    return figure


if __name__ == "__main__":
    draw().savefig(sys.argv[1] if len(sys.argv) > 1 else "nearest_neighbours.png", dpi=150)
