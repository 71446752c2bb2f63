"""
Probabilities from distances
============================

A linear classifier returns a distance, not a probability: :math:`d(x) = (w\\cdot x - t)/\\lVert w\\rVert`. Calibration
maps distances to probabilities, on rows that were not used for training.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import stats

from discern import BasicLinearClassifier, CalibratedClassifier, GaussianNB
from discern.analysis.plots.predictions import ReliabilityDisplay
from discern.evaluation.evaluation import Evaluation
from discern.learners.simulate import two_gaussians

# %%
# Take the distances of each class for normal and use Bayes' rule: a logistic curve if both have the same spread. For
# two normal classes with a common covariance, that is not even an approximation.

problem = two_gaussians(distance=2.0)
X, y = problem.sample(1000, 1)
tests, answers = problem.sample(20_000, 2)
line = BasicLinearClassifier().fit(X, y)
distance = line.decision_function(tests) / np.linalg.norm(line.coef_)
points = np.linspace(-5, 5, 300)
fitted = [stats.norm(distance[answers == label].mean(), distance[answers == label].std()) for label in (0, 1)]
share = fitted[1].pdf(points) / (fitted[0].pdf(points) + fitted[1].pdf(points))
figure, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
for label in (0, 1):
    ax.hist(distance[answers == label], bins=60, density=True, alpha=0.4, color=f"C{label}")
    ax.plot(points, fitted[label].pdf(points), color=f"C{label}")
ax.plot(points, share, color="k", label="probability of the second class")
ax.set(xlabel="distance from the boundary")
ax.legend(frameon=False)
plt.show()

# %%
# ``CalibratedClassifier`` does it with scores from cross-validation: a Gaussian for each class, Platt's logistic
# curve, or a rising step function that assumes nothing but order. The last needs many rows: with a thousand it says
# "never" and "always" at its ends, and a single exception there is dear in log loss.

losses = {}

for method in ("gaussian", "logistic", "isotonic"):
    model = CalibratedClassifier(BasicLinearClassifier(), method=method).fit(X, y)
    evaluation = Evaluation.of(answers, model.predict(tests), model.predict_proba(tests), [0, 1])
    print(f"{method:<9} calibration error {evaluation.calibration_error:.4f}, log loss {evaluation.log_loss:.4f}")
    losses[method] = evaluation.log_loss
    assert evaluation.calibration_error < 0.05
assert losses["gaussian"] < losses["isotonic"]

# %%
# Naive Bayes has probabilities of its own, but takes repeated evidence for new evidence. Give it every column five
# times: its decisions stay, its certainty does not deserve the name.

copies, more = np.tile(X, 5), np.tile(tests, 5)
naive = GaussianNB().fit(copies, y)
honest = CalibratedClassifier(GaussianNB(), method="temperature").fit(copies, y)
figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
errors = []
for ax, model, title in ((axes[0], naive, "naive Bayes, columns repeated"), (axes[1], honest, "after calibration")):
    ReliabilityDisplay.from_estimator(model, more, answers, ax=ax)
    errors.append(Evaluation.of(answers, model.predict(more), model.predict_proba(more), [0, 1]).calibration_error)
    ax.set_title(f"{title}: error {errors[-1]:.3f}")
plt.show()
assert (naive.predict(more) == honest.predict(more)).all()
assert errors[1] < errors[0] / 3
