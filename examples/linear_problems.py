"""
Three problems with straight boundaries
=======================================

Which method is best? It depends on the problem, and simulated problems show why. Draw many samples, train
every method on each, and evaluate all of them on the same new rows. ISLR does so in section 4.5 with six scenarios. In
the first three the best boundary is a line.
"""

import matplotlib.pyplot as plt
import numpy as np
from problems import METHODS, STRAIGHT
from scipy import stats

from discern.analysis.comparison import compare_simulated

figure, axes = plt.subplots(1, len(STRAIGHT), figsize=(11.5, 4), layout="constrained")
errors = {}
for ax, (name, (problem, rows)) in zip(axes, STRAIGHT.items(), strict=True):
    compared = compare_simulated(METHODS, problem, rows=rows, repeats=40, test_rows=2000)
    compared.plot(ax=ax)
    ax.set_title(name)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.25), frameon=False)
    errors[name] = {method: np.mean(values) for method, values in compared.errors.items()}
plt.show()

# %%
# The dashed line is the Bayes rate: nobody can be below it for long. For normal classes with a common covariance it
# is :math:`\Phi(-\Delta/2)` with the distance :math:`\Delta` of the means in standard deviations, which is
# :math:`\sqrt2` in the first scenario and, since the correlation is against the direction of the means, 2 in the
# second.

rates = [problem.bayes_rate().rate for problem, _ in STRAIGHT.values()]
assert np.isclose(rates[0], stats.norm.cdf(-np.sqrt(2) / 2), atol=1e-6)
assert np.isclose(rates[1], stats.norm.cdf(-1), atol=1e-6)

# %%
# LDA assumes what is true in the first two, and wins with logistic regression; QDA and the neighbors estimate more
# than there is to know. Naive Bayes is right to assume independence in the first scenario and wrong in the second.

for name, means in errors.items():
    print(name, {method: f"{value:.3f}" for method, value in means.items()})
    assert means["LDA"] < means["QDA"]
    assert means["LDA"] < means["kNN-1"]
first, second, _ = errors.values()
assert abs(first["naive Bayes"] - first["LDA"]) < 0.015
assert second["naive Bayes"] > second["LDA"] + 0.02
