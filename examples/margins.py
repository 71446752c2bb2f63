"""
The widest street
=================

Many lines separate two classes; the *support vector machine* takes the one with the widest margin. Only the rows at
its edge matter. Where no line separates, or only a narrow one does, rows may stand in the street at a price.
"""

import matplotlib.pyplot as plt
import numpy as np

from discern import SVC, LinearSVC, NotSeparableError
from discern.analysis.plots.planes import MarginDisplay

# %%
# **Hard margin.** Minimize :math:`\tfrac12\lVert w\rVert^2` with :math:`y_i(w\cdot x_i - t)\ge 1` for every row. The
# origin against (1, 2) and (2, 1), by hand: the nearest point of the other side is (1.5, 1.5), so :math:`w =
# (\tfrac23,\tfrac23)` and :math:`t = 1`. (As in scikit-learn, ``intercept_`` is :math:`-t`.)

rows, labels = [[0.0, 0.0], [1.0, 2.0], [2.0, 1.0]], [0, 1, 1]
hard = LinearSVC(C=float("inf"), penalize_intercept=False).fit(rows, labels)
assert np.allclose(hard.coef_, [[2 / 3, 2 / 3]])
assert np.allclose(hard.intercept_, -1)
print(f"width of the street {2 / np.linalg.norm(hard.coef_):.4f}, duality gap {hard.certificate_.gap[0]:.1e}")
assert np.isclose(2 / np.linalg.norm(hard.coef_), np.hypot(1.5, 1.5))

# %%
# Where no line separates there is no hard margin, and the answer is a proof: a mixture of rows of one class that
# equals a mixture of rows of the other.

proof = None
try:
    LinearSVC(C=float("inf"), penalize_intercept=False).fit([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1])
except NotSeparableError as error:
    print(error)
    proof = error.mixture
assert np.allclose(proof, 0.25)

# %%
# **Soft margin.** Each row may fall short by a slack :math:`\xi_i`, at the price C: minimize :math:`\tfrac12\lVert
# w\rVert^2 + C\sum_i\xi_i`. A large C tolerates little, a small one makes the street wide. Support vectors are
# ringed.

random = np.random.default_rng(5)
X = np.concatenate([random.normal([-1, -0.6], 0.75, (40, 2)), random.normal([1, 0.6], 0.75, (40, 2))])
y = np.repeat([0, 1], 40)
figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained", sharey=True)
widths, supports = [], []
for ax, C in zip(axes, (100.0, 1.0, 0.02), strict=True):
    model = SVC(kernel="linear", C=C).fit(X, y)
    MarginDisplay.from_estimator(model, X, y, ax=ax)
    widths.append(float(model.margin_[0]))
    supports.append(len(model.support_))
    ax.set_title(f"C = {C:g}: width {widths[-1]:.2f}, {supports[-1]} support vectors", fontsize=10)
    if ax is not axes[-1]:
        ax.get_legend().remove()
plt.show()
assert widths == sorted(widths)
assert supports == sorted(supports)

# %%
# **The dual.** The weights are a mixture of rows, :math:`w = \sum_i\alpha_iy_ix_i` with :math:`0\le\alpha_i\le C` and
# :math:`\sum_i\alpha_iy_i = 0`, and only support vectors have :math:`\alpha_i > 0`. All of this can be checked:

mixture = model.dual_coef_[0]
assert np.allclose(mixture @ model.support_vectors_, model.coef_[0])
assert np.abs(mixture).max() <= 0.02 + 1e-12
assert np.isclose(mixture.sum(), 0)
assert np.isclose(model.margin_[0], 2 / np.linalg.norm(model.coef_))
slack = np.maximum(0, 1 - np.where(y == 1, 1, -1) * model.decision_function(X))
assert np.isclose(model.objective_[0], 0.5 * np.sum(model.coef_**2) + 0.02 * slack.sum())
