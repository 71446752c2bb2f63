"""
The best there is
=================

If you know the densities of the classes, there is nothing to learn. The *Bayes classifier* predicts the class with the
largest prior times density, :math:`\\pi_k f_k(x)`, and no other classifier errs less. Every method of this course tries
to come close to it without knowing the densities.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import stats

from discern import BayesClassifier

# %%
# Two normal classes, two standard deviations apart. Half way between their means both are equally probable: that is
# the boundary, and what lies on its wrong side is the error that nobody can avoid, here :math:`\Phi(-1)`.

truth = BayesClassifier({"low": stats.norm(0), "high": stats.norm(2)})
rate = truth.bayes_rate()
print(f"the least error is {rate.rate:.4f}, by {rate.method}")
assert np.isclose(rate.rate, stats.norm.cdf(-1))
assert truth.predict([[0.99], [1.01]]).tolist() == ["low", "high"]


def draw(ax, model, boundary):
    """Draw prior times density of both classes, and shade what is decided wrongly."""
    points = np.linspace(-3.5, 5.5, 400)
    heights = np.exp(model.predict_joint_log_proba(points[:, None]))
    for column, color in zip(heights.T, ("C0", "C1"), strict=True):
        ax.plot(points, column, color=color)
    ax.fill_between(points, heights[:, 0], where=points >= boundary, color="C0", alpha=0.3)
    ax.fill_between(points, heights[:, 1], where=points <= boundary, color="C1", alpha=0.3)
    ax.axvline(boundary, color="0.3", linestyle="dashed")
    ax.set(yticks=[], xlabel="x")


# %%
# If one class is rarer, or if missing it costs more, the boundary moves. Expected cost decides: the decision is the
# one with the least :math:`\sum_k L(k, d)\,P(k\mid x)`, and counting every error as 1 leads back to the most probable
# class. With a loss of five for a missed "high" the boundary moves by :math:`\tfrac12\log 5` towards "low".

loss = [[0, 1], [5, 0]]
moved = 1 - np.log(5) / 2
assert truth.predict([[moved - 1e-6], [moved + 1e-6]], loss=loss).tolist() == ["low", "high"]
rare = BayesClassifier({"low": stats.norm(0), "high": stats.norm(2)}, [0.9, 0.1])
assert rare.predict([[1 + np.log(9) / 2 - 1e-6], [1 + np.log(9) / 2 + 1e-6]]).tolist() == ["low", "high"]

figure, axes = plt.subplots(1, 3, figsize=(11, 2.9), layout="constrained", sharey=True)
draw(axes[0], truth, 1.0)
axes[0].set_title(f"equal priors: error {rate.rate:.3f}")
draw(axes[1], rare, 1 + np.log(9) / 2)
axes[1].set_title(f"nine to one: error {rare.bayes_rate().rate:.3f}")
draw(axes[2], truth, moved)
axes[2].set_title(f"missing “high” costs 5: loss {truth.bayes_rate(loss=loss).rate:.3f}")
plt.show()

# %%
# Where no formula is known the rate is integrated, or drawn with a standard error: three normal classes in five
# columns.

many = BayesClassifier([stats.multivariate_normal(np.full(5, place)) for place in (0.0, 1.0, -1.0)])
drawn = many.bayes_rate()
print(f"{drawn.rate:.4f} ± {drawn.standard_error:.4f}, by {drawn.method}")
assert drawn.method == "Monte Carlo"
along = BayesClassifier([stats.norm(place * np.sqrt(5)) for place in (0, 1, -1)]).bayes_rate().rate
assert abs(drawn.rate - along) < 4 * drawn.standard_error
