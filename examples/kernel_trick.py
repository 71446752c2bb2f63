"""
A circle becomes a plane
========================

The *basic linear classifier* draws the plane half way between the centers of two classes. All it needs of the rows
are inner products; replace those by a kernel :math:`\\kappa(x, z)`, and it works in another space without ever going
there.
"""

import matplotlib.pyplot as plt
import numpy as np

from discern import SVC, BasicLinearClassifier, Classifier
from discern.analysis.plots.planes import DecisionBoundaryDisplay

# %%
# Without a kernel: :math:`w = p - n` and :math:`t = (\lVert p\rVert^2 - \lVert n\rVert^2)/2`.

plain = BasicLinearClassifier().fit([[0, 0], [2, 0], [4, 3]], [0, 0, 1])
assert plain.coef_.tolist() == [[3.0, 3.0]]
assert plain.intercept_.tolist() == [-12.0]

# %%
# With :math:`\kappa(x, z) = (x\cdot z)^2` and the three points (−1, 1), (1, 1) against (0, 0) everything can be
# computed by hand. The decision is :math:`x^2 + y^2 \ge 1`: a circle, from a classifier that knows only planes.

rows, labels = np.array([[-1.0, 1.0], [1.0, 1.0], [0.0, 0.0]]), [1, 1, 0]
model = BasicLinearClassifier(kernel="poly", gamma=1.0, degree=2).fit(rows, labels)
points = np.random.default_rng(0).uniform(-1.35, 1.35, (300, 2))
assert np.allclose(model.decision_function(points), (points**2).sum(axis=1) - 1)

# %%
# Where did it go? Into the space of :math:`(x^2, y^2, \sqrt2\,xy)`, since there the inner product is the kernel. In
# this space the circle :math:`x^2 + y^2 = 1` is a plane.

lifted = np.column_stack([points[:, 0] ** 2, points[:, 1] ** 2, np.sqrt(2) * points[:, 0] * points[:, 1]])
assert np.allclose(lifted @ lifted.T, (points @ points.T) ** 2)
outside = model.predict(points) == 1
figure = plt.figure(figsize=(10, 4.4), layout="constrained")
ax = figure.add_subplot(1, 2, 1)
ax.scatter(*points[outside].T, s=14, color="C1")
ax.scatter(*points[~outside].T, s=14, color="C0")
ax.add_patch(plt.Circle((0, 0), 1, fill=False, color="0.2"))
ax.scatter(*rows.T, s=120, marker="*", color="k", zorder=3)
ax.set(aspect="equal", xlabel="x", ylabel="y", title="a circle here …")
ax = figure.add_subplot(1, 2, 2, projection="3d")
ax.scatter(*lifted[outside].T, s=10, color="C1")
ax.scatter(*lifted[~outside].T, s=10, color="C0")
across, height = np.meshgrid(np.linspace(0, 1, 2), np.linspace(-1.8, 1.8, 2))
ax.plot_surface(across, 1 - across, height, color="0.5", alpha=0.35)
ax.set(xlabel="x²", ylabel="y²", zlabel="√2 xy", title="… is a plane there")
ax.view_init(12, -62)
ax.set(xticks=[0, 1], yticks=[0, 1], zticks=[-1, 0, 1])
plt.show()

# %%
# The support vector machine goes the same way. Exclusive or, and the Gaussian kernel :math:`\exp(-\lVert
# x-z\rVert^2/2\sigma^2)`, whose space has no end of dimensions:

inputs, exclusive = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), [0, 1, 1, 0]
machine = SVC(kernel="rbf", gamma=1.0, C=100.0).fit(inputs, exclusive)
assert machine.predict(inputs).tolist() == exclusive
DecisionBoundaryDisplay.from_estimator(machine, inputs, exclusive)
plt.show()

# %%
# In a table nobody tells the kernel, its :math:`\gamma` or the cost of an error: :class:`discern.Classifier` chooses
# them by held-out rows. Of points whose label is the quadrant that they are in, a line tells nothing, and the kernel
# almost everything:

columns = np.random.default_rng(0).normal(size=(900, 2))
quadrants = np.where(columns[:, 0] * columns[:, 1] > 0, "even", "odd")
table = [{"x": x, "y": y, "label": label} for (x, y), label in zip(columns, quadrants, strict=True)]
found = {name: Classifier(model=name).fit(table[:450]).evaluate(table[450:]) for name in ("linear-svm", "svm")}
assert found["linear-svm"].accuracy < 0.65
assert found["svm"].accuracy > 0.93

# %%
# Its evidence is what each column contributes, given the other: here neither decides alone. The nearest support rows
# stand below.

curved = Classifier(model="svm").fit(table)
evidence = curved.explain({"x": 1.2, "y": -0.8})
assert evidence.label == "odd"
print(evidence)
