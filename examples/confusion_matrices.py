"""
Defaults, and two kinds of errors
=================================

Of 10,000 holders of credit cards 333 do not pay. A classifier that always predicts "pays" is wrong for only
3.33%, so the error rate alone is not enough. What matters is the kind of error: the textbook ISLR shows it in Tables
4.4 and 4.5, by linear discriminant analysis on balance and student.

Its data cannot be passed on with this library. This page computes the tables from the counts that they print, and
draws customers that resemble the real ones; with ``DEFAULT_CSV=Default.csv`` it uses the real file, and checks that
LDA gives exactly those tables.
"""

import os

import defaults
import matplotlib.pyplot as plt
import numpy as np

from discern import LinearDiscriminantAnalysis
from discern.analysis.plots.predictions import ConfusionMatrixDisplay
from discern.evaluation.evaluation import Evaluation

# %%
# How many customers of each kind have a probability of default below 0.2, from there to 0.5, and above? These six
# numbers give both tables, and every figure that is computed from them.

counted = {"No": {0.1: 9432, 0.3: 212, 0.7: 23}, "Yes": {0.1: 138, 0.3: 114, 0.7: 81}}
true = np.repeat(list(counted), [sum(rows.values()) for rows in counted.values()])
risk = np.concatenate([np.repeat(list(rows), list(rows.values())) for rows in counted.values()])
printed = Evaluation.of(true, np.where(risk >= 0.5, "Yes", "No"), np.column_stack([1 - risk, risk]), ["No", "Yes"])
assert printed.confusion.tolist() == [[9644, 252], [23, 81]]
print(f"error {printed.error:.2%}, sensitivity {printed.sensitivity('Yes'):.1%}, ", end="")
print(f"specificity {printed.specificity('Yes'):.1%}")
assert np.isclose(printed.error, 0.0275)
assert round(printed.sensitivity("Yes"), 3) == 0.243

# %%
# 2.75 % are wrong, hardly better than "all is well", and three of four defaults are missed. A bank would rather be
# warned too often. Calling everybody a risk whose probability is at least 0.2 catches more than half, and costs more
# false alarms:

moved = printed.at(0.2, "Yes")
assert moved.confusion.tolist() == [[9432, 138], [235, 195]]
print(f"error {moved.error:.2%}, sensitivity {moved.sensitivity('Yes'):.1%}")
figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
for ax, evaluation, threshold in ((axes[0], printed, 0.5), (axes[1], moved, 0.2)):
    ConfusionMatrixDisplay.from_evaluation(evaluation, ax=ax)
    ax.set_title(f"threshold {threshold}: {evaluation.error:.2%} wrong")
plt.show()

# %%
# The same with a model, on the real rows or on those drawn to resemble them.

X, y = defaults.load()
model = LinearDiscriminantAnalysis().fit(X, y)
evaluation = Evaluation.of(y, model.predict(X), model.predict_proba(X), model.classes_)
print(evaluation.confusion.tolist(), evaluation.at(0.2, "Yes").confusion.tolist())
if "DEFAULT_CSV" in os.environ:
    assert evaluation.confusion.tolist() == [[9644, 252], [23, 81]]
    assert evaluation.at(0.2, "Yes").confusion.tolist() == [[9432, 138], [235, 195]]
assert evaluation.at(0.2, "Yes").sensitivity("Yes") > 2 * evaluation.sensitivity("Yes")
