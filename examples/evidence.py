"""
Why a message is spam
=====================

The score of naive Bayes is a sum, so an explanation can show its terms. The waterfall starts at the prior, each word
adds its contribution, and it ends at the log odds.
"""

import matplotlib.pyplot as plt
import numpy as np

from discern import Classifier
from discern.analysis.plots.bars import EvidenceDisplay, WordWeightsDisplay
from discern.cli.demo import NEW_MESSAGE, sample

model = Classifier().fit(sample())
evidence = model.explain(NEW_MESSAGE)
print(evidence)
assert evidence.label == "spam"
total = evidence.prior + evidence.prior_calibration + sum(term.weight for term in evidence.terms)
assert np.isclose(total, np.log(evidence.probabilities["spam"] / evidence.probabilities["ham"]))

EvidenceDisplay.from_evidence(evidence)
plt.show()

# %%
# The same numbers by label instead of by message: the words with the most evidence for each.

WordWeightsDisplay.from_estimator(model, top=8)
plt.show()
