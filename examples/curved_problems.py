"""
Three problems with curved boundaries
=====================================

The other three scenarios of ISLR, section 4.5: a different correlation in each class, odds that depend on squares and
products, and something more complicated. Methods and picture are those of
:ref:`the straight ones <sphx_glr_course_linear_problems.py>`.
"""

import matplotlib.pyplot as plt
import numpy as np
from problems import CURVED, METHODS

from discern.analysis.comparison import compare_simulated

figure, axes = plt.subplots(1, len(CURVED), figsize=(11.5, 4), layout="constrained")
errors = {}
for ax, (name, (problem, rows)) in zip(axes, CURVED.items(), strict=True):
    compared = compare_simulated(METHODS, problem, rows=rows, repeats=40, test_rows=2000)
    compared.plot(ax=ax)
    ax.set_title(name)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.25), frameon=False)
    errors[name] = {method: np.mean(values) for method, values in compared.errors.items()}
plt.show()

# %%
# QDA assumes what is true in the fourth and is flexible enough for the fifth. In the last even a quadratic curve is not
# enough, and neighbors, whose number is chosen by cross-validation, win: flexible, but not as nervous as a single one.

for name, means in errors.items():
    print(name, {method: f"{value:.3f}" for method, value in means.items()})
fourth, fifth, sixth = errors.values()
assert min(fourth, key=fourth.get) == "QDA"
assert min(fifth, key=fifth.get) == "QDA"
assert min(sixth, key=sixth.get) == "kNN-CV"
assert sixth["kNN-CV"] < sixth["kNN-1"]
