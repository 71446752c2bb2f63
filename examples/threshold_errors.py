"""
Moving the threshold
====================

A threshold turns a probability into a decision. 0.5 gives the fewest errors if probabilities are calibrated; other
thresholds trade one kind of error for the other. The customers are those of :ref:`the tables before
<sphx_glr_course_confusion_matrices.py>`: real with ``DEFAULT_CSV``, else drawn.
"""

import defaults
import matplotlib.pyplot as plt
import numpy as np

from discern import LeastCost, LinearDiscriminantAnalysis, MostRecall, choose_threshold
from discern.analysis.plots.predictions import ThresholdErrorDisplay

X, y = defaults.load()
model = LinearDiscriminantAnalysis().fit(X, y)
display = ThresholdErrorDisplay.from_estimator(model, X, y, positive="Yes")
display.ax_.set(xlim=(0, 0.5), ylim=(-0.01, 0.75), title="defaults missed and others called so")
plt.show()

# %%
# Where the threshold should be is a question of costs. If a missed default costs ten times a false alarm, and the
# probabilities are calibrated, it is 1/11: expected costs are equal there. Chosen on the rows instead, it comes with an
# interval.

shares = model.predict_proba(X)
chosen = choose_threshold(y, shares, model.classes_, "Yes", LeastCost(1, 10))
print(f"least cost at {chosen.threshold:.3f}, interval {chosen.interval.low:.3f} to {chosen.interval.high:.3f}")
assert chosen.interval.low <= chosen.threshold <= chosen.interval.high

# %%
# Or there is a constraint: no more than one false alarm among a hundred good customers.

strict = choose_threshold(y, shares, model.classes_, "Yes", MostRecall(false_positive_rate=0.01))
print(f"threshold {strict.threshold:.3f} catches {strict.recall:.1%} at {strict.false_positive_rate:.2%} false alarms")
assert strict.false_positive_rate <= 0.01
assert np.isclose(np.mean(shares[y == "Yes", 1] >= strict.threshold), strict.recall)
