"""
Learning from mistakes
======================

The *perceptron* looks at one row after the other. If it is right it does nothing; if it is wrong, it adds the row to
its weights or takes it away, :math:`w \\leftarrow w + r\\,y\\,x`. If a line separates the classes it finds one, and
there is a bound on how many mistakes that takes.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from discern import Perceptron
from discern.analysis.plots.bars import PerceptronDisplay
from discern.analysis.plots.planes import DecisionBoundaryDisplay

# %%
# Four functions of two inputs can be learned, and one cannot: no line has (0, 1) and (1, 0) on one side and (0, 0)
# and (1, 1) on the other. Training then ends at its limit, and reports that. The rate r only scales the weights: 1 is
# as good as any other.

INPUTS = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], float)
FUNCTIONS = {"or": [0, 1, 1, 1], "and": [0, 0, 0, 1], "nand": [1, 1, 1, 0], "nor": [1, 0, 0, 0]}
for name, answers in FUNCTIONS.items():
    model = Perceptron(tol=None).fit(INPUTS, answers)
    assert model.predict(INPUTS).tolist() == answers
    print(f"{name}: {model.n_updates_[0]} updates, at most {model.update_bound_[0]:.0f} possible")
    assert model.n_updates_[0] <= model.update_bound_[0]
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    model = Perceptron(tol=None, max_iter=100).fit(INPUTS, [0, 1, 1, 0])
assert any(issubclass(one.category, ConvergenceWarning) for one in caught)
assert not model.converged_[0]

# %%
# A kernel, which adds the product of the inputs to the columns without writing it down, makes it easy.

curved = Perceptron(kernel="poly", degree=2, coef0=1.0, gamma=1.0, tol=None).fit(INPUTS, [0, 1, 1, 0])
assert curved.predict(INPUTS).tolist() == [0, 1, 1, 0]

# %%
# Novikoff's bound: if all rows (with a 1 for the bias) have a length of at most R, and some unit vector separates
# them with a margin of :math:`\gamma`, there are at most :math:`(R/\gamma)^2` mistakes, in whatever order and however
# many rows there are. Two clouds with a gap between them:

random = np.random.default_rng(3)
X = random.uniform(-1, 1, (400, 2))
height = X @ [0.8, 0.6] - 0.35
X, height = X[np.abs(height) > 0.02], height[np.abs(height) > 0.02]
y = (height > 0).astype(int)
model = Perceptron(tol=None).fit(X, y)
assert (model.predict(X) == y).all()
R = np.sqrt((X**2).sum(axis=1) + 1).max()
assert np.isclose(model.update_bound_[0], (R / model.margin_[0]) ** 2)
assert model.n_updates_[0] <= model.update_bound_[0]

# %%
# The bound that is reported is that of the separator which was found. Nobody told it of the gap that the clouds were
# drawn with, 0.02 on each side of a line at 0.35; with that the bound is lower, and still far above what was needed.

epochs, learner = [], Perceptron(tol=None, shuffle=False)
while not epochs or epochs[-1]:
    before = sum(epochs)
    learner.partial_fit(X, y, classes=[0, 1])
    epochs.append(int(learner.n_updates_[0]) - before)
bound = (R * np.hypot(1, 0.35) / 0.02) ** 2
assert sum(epochs) <= bound < model.update_bound_[0]
figure, axes = plt.subplots(1, 2, figsize=(11.5, 4), layout="constrained")
DecisionBoundaryDisplay.from_estimator(model, X, y, ax=axes[0])
PerceptronDisplay(epochs, float(bound)).plot(ax=axes[1])
plt.show()
