"""
A line or a curve
=================

If each class has a covariance of its own, the logarithm of prior times density keeps its quadratic term,

.. math:: \\delta_k(x) = -\\tfrac12\\log|\\Sigma_k| - \\tfrac12 (x-\\mu_k)^T\\Sigma_k^{-1}(x-\\mu_k) + \\log\\pi_k ,

and the boundaries are curves. That is *quadratic* discriminant analysis. Which is better? It depends on the truth, and
on how much there is to estimate it from.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import multivariate_normal

from discern import BayesClassifier, LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from discern.analysis.plots.planes import DecisionBoundaryDisplay


def normals(*correlations: float) -> BayesClassifier:
    """Return two normal classes of unit variances with these correlations."""
    shapes = [[[1, correlation], [correlation, 1]] for correlation in correlations]
    return BayesClassifier(list(map(multivariate_normal, ([0, 0], [1.2, -1.2]), shapes)))


CASES = {"both correlated 0.7": normals(0.7, 0.7), "correlated 0.7 and −0.7": normals(0.7, -0.7)}
METHODS = {"LDA": LinearDiscriminantAnalysis(), "QDA": QuadraticDiscriminantAnalysis()}

# %%
# Above, both classes share a covariance: the best boundary (dashed) is a line, and the curve of QDA bends for nothing.
# Below they do not, and the line cannot follow.

figure, axes = plt.subplots(2, 2, figsize=(9.5, 6.4), layout="constrained")
errors = {}
for row, (title, problem) in zip(axes, CASES.items(), strict=True):
    X, y = problem.sample(200, 9)
    tests, answers = problem.sample(20_000, 1)
    for ax, (name, method) in zip(row, METHODS.items(), strict=True):
        DecisionBoundaryDisplay.from_estimator(method.fit(X, y), X, y, bayes=problem, ax=ax)
        errors[title, name] = np.mean(method.predict(tests) != answers)
        ax.set_title(f"{name}, {title}: {errors[title, name]:.1%} wrong", fontsize=10)
    row[0].get_legend().remove()
plt.show()

# %%
# Bias against variance: LDA estimates one covariance, QDA one for each class. With equal covariances the simpler one
# wins a little; with different ones it loses, however many rows there are.

same, other = CASES
assert errors[same, "LDA"] <= errors[same, "QDA"]
assert errors[other, "QDA"] < errors[other, "LDA"]
