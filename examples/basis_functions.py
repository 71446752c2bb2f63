"""
Straight in other columns
=========================

A linear classifier is linear in the columns it is given. Give it more: products, squares, bumps. The boundary is
still a plane in the larger space, and a curve in the one we see.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline

from discern import (
    Classifier,
    GaussianBasis,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    QuadraticDiscriminantAnalysis,
    QuadraticFeatures,
)
from discern.analysis.plots.planes import DecisionBoundaryDisplay
from discern.learners.simulate import ring, scenario

# %%
# Quadratic terms are :math:`x_1, x_2, x_1x_2, x_1^2, x_2^2`, and a Gaussian bump around a center :math:`c` is
# :math:`\exp(-\lVert x-c\rVert^2/2s^2)`.

row = QuadraticFeatures().fit_transform([[2.0, 3.0]])
assert row.tolist() == [[2.0, 3.0, 6.0, 4.0, 9.0]]
bump = GaussianBasis(centers=[[0.0, 0.0]], width=1.0).fit([[0.0, 0.0]]).transform([[1.0, 1.0]])
assert np.isclose(bump[0, 0], np.exp(-1))

# %%
# A class in the middle of a ring: hopeless for a line, easy in these columns. Dashed is the best boundary.

problem = ring()
X, y = problem.sample(400, 1)
tests, answers = problem.sample(20_000, 2)
METHODS = {
    "as it is": LogisticRegression(),
    "quadratic terms": make_pipeline(QuadraticFeatures(), LogisticRegression()),
    "20 bumps": make_pipeline(GaussianBasis(20, random_state=0), LogisticRegression(C=10)),
}
figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
errors = {}
for ax, (name, method) in zip(axes, METHODS.items(), strict=True):
    DecisionBoundaryDisplay.from_estimator(method.fit(X, y), X, y, bayes=problem.bayes, ax=ax)
    errors[name] = np.mean(method.predict(tests) != answers)
    ax.set_title(f"{name}: {errors[name]:.1%} wrong")
    if ax is not axes[-1]:
        ax.get_legend().remove()
plt.show()
best = problem.bayes_rate().rate
print(f"the best: {best:.1%}")
assert errors["as it is"] > 0.3
assert errors["quadratic terms"] < best + 0.02
assert errors["20 bumps"] < best + 0.03

# %%
# LDA with quadratic terms and QDA both draw quadratic curves, but not the same one: QDA fits densities, LDA with more
# columns fits a plane to them.

problem = scenario(4)
X, y = problem.sample(400, 3)
bent = make_pipeline(QuadraticFeatures(), LinearDiscriminantAnalysis()).fit(X, y)
quadratic = QuadraticDiscriminantAnalysis().fit(X, y)
print(f"they agree on {np.mean(bent.predict(X) == quadratic.predict(X)):.1%} of the rows")
assert 0.9 < np.mean(bent.predict(X) == quadratic.predict(X)) < 1.0

# %%
# :class:`discern.Classifier` has both as a basis. Its columns may have any scale, since they become normal quantiles
# first, and its cost of an error is set for many columns. The landmarks of its bumps are rows far from each other.

problem = ring()
X, y = problem.sample(400, 1)
names = [f"class {label}" for label in y]
table = [{"x": x1, "y": x2, "label": name} for (x1, x2), name in zip(X, names, strict=True)]
asked = [{"x": x1, "y": x2} for x1, x2 in tests]
true = np.array([f"class {label}" for label in answers])
for basis in ("standard", "quadratic", "bumps"):
    model = Classifier(model="logistic", basis=basis).fit(table)
    errors[basis] = np.mean(model.predict(asked) != true)
    print(f"{basis}: {errors[basis]:.1%} wrong")
assert errors["standard"] > 0.3
assert errors["quadratic"] < best + 0.03
assert errors["bumps"] < best + 0.05

# %%
# The evidence still names the two columns: what a product or a bump contributes is shared between them.

print(model.explain({"x": 0.1, "y": -0.2}))
assert {term.column for term in model.explain({"x": 0.1, "y": -0.2}).terms} == {"x", "y"}
