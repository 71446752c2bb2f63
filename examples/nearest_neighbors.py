"""
Neighbors against a line
=========================

Some problems no straight line solves. Logistic regression can only cut the plane in two; the k nearest neighbors of a
point vote, and follow any shape, as long as there are enough of them near by.
"""

import matplotlib.pyplot as plt
import numpy as np

from discern import KNeighborsClassifier, LogisticRegression
from discern.analysis.plots.planes import DecisionBoundaryDisplay


def rings(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw two rings, one within the other."""
    random = np.random.default_rng(seed)
    outside = np.arange(rows) % 2
    angle, radius = random.uniform(0, 2 * np.pi, rows), random.normal(1 + 1.2 * outside, 0.25)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), np.where(outside, "outer", "inner")


X, y = rings(240, 2)
tests, answers = rings(20_000, 3)
METHODS = {"logistic regression": LogisticRegression(), "9 nearest neighbors": KNeighborsClassifier(9)}
figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
errors = {}
for ax, (name, method) in zip(axes, METHODS.items(), strict=True):
    DecisionBoundaryDisplay.from_estimator(method.fit(X, y), X, y, ax=ax)
    errors[name] = np.mean(method.predict(tests) != answers)
    ax.set_title(f"{name}: {errors[name]:.1%} wrong")
axes[0].get_legend().remove()
plt.show()
assert errors["logistic regression"] > 0.35
assert errors["9 nearest neighbors"] < 0.05

# %%
# How many neighbors? One follows every accident of the sample: its training error is zero, which means nothing. Many
# blur the shape. ``n_neighbors="auto"`` predicts every training row from the others.

numbers = [1, 3, 5, 9, 15, 25, 45, 75, 121, 201]
fitted = [KNeighborsClassifier(number).fit(X, y) for number in numbers]
training = [np.mean(model.predict(X) != y) for model in fitted]
held_out = [np.mean(model.predict(tests) != answers) for model in fitted]
auto = KNeighborsClassifier("auto").fit(X, y)
figure, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
ax.plot(numbers, training, marker="o", label="training rows")
ax.plot(numbers, held_out, marker="o", label="new rows")
ax.axvline(auto.n_neighbors_, color="0.3", linestyle="dashed", label=f"“auto”: {auto.n_neighbors_}")
ax.set(xscale="log", xlabel="neighbors", ylabel="share wrong")
ax.legend(frameon=False)
plt.show()
assert training[0] == 0.0
assert held_out[-1] > 2 * min(held_out)
