"""
Linear discriminants
====================

Take the classes for normal densities with different means and *one common covariance*. Then prior times density is
largest where

.. math:: \\delta_k(x) = x^T\\Sigma^{-1}\\mu_k - \\tfrac12\\,\\mu_k^T\\Sigma^{-1}\\mu_k + \\log\\pi_k

is, which is linear in x: the boundaries are lines.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import multivariate_normal

from discern import BayesClassifier, LinearDiscriminantAnalysis
from discern.analysis.plots.planes import DecisionBoundaryDisplay

MEANS = {1: [-2.2, -0.4], 2: [0.4, 2.2], 3: [2.0, -1.6]}
SHAPE = [[1.0, 0.5], [0.5, 1.0]]

# %%
# Three such classes, twenty rows each. Dashed are the boundaries of the Bayes classifier, which knows the means and
# the covariance; the others are estimated from sixty rows.

truth = BayesClassifier({label: multivariate_normal(mean, SHAPE) for label, mean in MEANS.items()})
X, y = truth.sample([20] * len(MEANS), 6)
model = LinearDiscriminantAnalysis().fit(X, y)
DecisionBoundaryDisplay.from_estimator(model, X, y, bayes=truth)
plt.show()

# %%
# The estimates are means, and the covariance about them, pooled over classes and divided by :math:`N - K`. With them
# the formula above is the whole classifier:

means = np.array([X[y == label].mean(axis=0) for label in MEANS])
within = X - means[np.searchsorted(list(MEANS), y)]
inverse = np.linalg.inv(within.T @ within / (len(X) - len(MEANS)))
discriminants = X @ inverse @ means.T - 0.5 * np.sum(means @ inverse * means, axis=1) + np.log(1 / 3)
assert (np.array(list(MEANS))[discriminants.argmax(axis=1)] == model.predict(X)).all()

# %%
# How much is lost by estimating? Judged on many new rows, little:

tests, answers = truth.sample(50_000, 1)
print(f"estimated: {np.mean(model.predict(tests) != answers):.2%} wrong, the best: {truth.bayes_rate().rate:.2%}")
assert np.mean(model.predict(tests) != answers) < truth.bayes_rate().rate + 0.02
