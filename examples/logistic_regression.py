"""
The odds themselves
===================

Discriminants model each class and derive the odds; *logistic regression* models only the odds,

.. math:: \\log\\frac{p(x)}{1-p(x)} = w\\cdot x + b ,

and leaves open how the rows are spread. It has no formula for its best weights, but Newton's method finds them in a
handful of weighted least squares.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from discern import BayesianLogisticRegression, LogisticRegression, SeparationWarning
from discern.learners.simulate import two_gaussians

X, y = two_gaussians(distance=1.5).sample(200, 4)
model = LogisticRegression(penalty=None).fit(X, y)
print(model.summary())

# %%
# At the maximum the probabilities add up to the number of rows that are of the second class: on the whole the model
# is neither too hopeful nor too careful.

assert np.isclose(model.predict_proba(X)[:, 1].sum(), y.sum())

# %%
# Newton's method as *iteratively reweighted least squares*, in four lines, :math:`w \leftarrow (X^TVX)^{-1}X^TVz`:

design = np.column_stack([X, np.ones(len(X))])
weights = np.zeros(3)
path = [weights]
for _ in range(8):
    p = 1 / (1 + np.exp(-design @ weights))
    v = p * (1 - p)
    z = design @ weights + (y - p) / v
    weights = np.linalg.solve(design.T @ (v[:, None] * design), design.T @ (v * z))
    path.append(weights)
assert np.allclose(weights, [*model.coef_[0], model.intercept_[0]])
distances = [np.abs(step - weights).max() for step in path[:6]]
figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
ax.semilogy(distances, marker="o")
ax.set(xlabel="step", ylabel="distance to the maximum", title="digits double at every step")
plt.show()

# %%
# If a line separates the classes there is no maximum: ever larger weights are ever better. Many programs return some
# large numbers; here the direction is given that proves it.

line = np.array([[1.0], [2.0], [3.0], [4.0]])
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    separated = LogisticRegression(penalty=None).fit(line, [0, 0, 1, 1])
assert any(issubclass(one.category, SeparationWarning) for one in caught)
print(f"separation: {separated.separation_.kind}, along {separated.separation_.direction}")

# %%
# A penalty makes weights finite. A prior on them goes further: averaging over what the weights may be makes the
# probabilities less sure, far from the data most of all.

figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
far = np.linspace(-10, 15, 200)[:, None]
sure = LogisticRegression(C=1.0).fit(line, [0, 0, 1, 1])
careful = BayesianLogisticRegression(prior_scale=1.0).fit(line, [0, 0, 1, 1])
ax.plot(far, sure.predict_proba(far)[:, 1], label="ridge, the best weights")
ax.plot(far, careful.predict_proba(far)[:, 1], label="averaged over the posterior")
ax.plot(line[:, 0], [0, 0, 1, 1], "ko")
ax.set(xlabel="x", ylabel="probability", title="four rows")
ax.legend(frameon=False)
plt.show()
assert careful.predict_proba([[15.0]])[0, 1] < sure.predict_proba([[15.0]])[0, 1]
