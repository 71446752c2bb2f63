"""
Several labels a row
====================

A news item may be about corn and ships, or about nothing of interest. Each label is then a question of its own: this
label against all rows without it. Every label has a probability, and every label needs a threshold.

The items are drawn: 20 topics, the n-th of which is about n times rarer than the first, each with words of its own.
"""

import matplotlib.pyplot as plt
import numpy as np

from discern import Classifier, MostF1, MultilabelEvaluation, Thresholds, choose_thresholds
from discern.analysis.plots.predictions import PrecisionRecallDisplay
from discern.evaluation.curves import Ranking

random = np.random.default_rng(0)
TOPICS, WORDS = [f"topic{number:02d}" for number in range(20)], 200
shares = 0.3 / np.arange(1, 21) ** 1.1
vocabulary = np.array([f"w{number}" for number in range(WORDS)])


def drawn(count):
    """Return texts with their topics: ten words at random, and three of the words of each topic."""
    rows = []
    for _ in range(count):
        topics = np.flatnonzero(random.random(20) < shares)
        words = list(vocabulary[random.integers(0, WORDS, 10)])
        words += [vocabulary[(10 * topic + random.integers(0, 10)) % WORDS] for topic in topics for _ in range(3)]
        rows.append({"text": " ".join(words), "label": [TOPICS[topic] for topic in topics]})
    return rows


train, test = drawn(800), drawn(2000)
model = Classifier(smoothing=1.0).fit(train)
evaluation = model.evaluate(test)
print(evaluation)

# %%
# Micro F1 counts all labels together, so that the frequent topics decide it. Macro F1 is the mean over topics, and the
# rare ones, which are hard, count as much as the others.

assert evaluation.f1("micro") > evaluation.f1("macro")
assert evaluation.exact_match < evaluation.precision()
PrecisionRecallDisplay.from_evaluation(evaluation, positive="topic00")
plt.show()

# %%
# With a given smoothing nothing is chosen on held-out rows, and the threshold is 0.5 for all: that favors the frequent
# topics. A threshold for each finds more of the rare ones, but the one with the highest F1 on three rows of a topic is
# fitted to chance. ``choose_thresholds`` borrows some rows for each topic, which show where its threshold would be if
# all topics were calibrated alike, and maximizes the mean of micro and macro F1.

rows = evaluation.predictions
truth = rows.true[:, [rows.names.index(label) for label in rows.columns]].toarray()
half, names = np.arange(len(truth)) < 300, rows.columns


def on_new_rows(thresholds):
    """Return micro and macro F1 on the rows that the thresholds were not chosen on."""
    decided = thresholds(rows.probabilities[~half], names)
    found = MultilabelEvaluation.of(truth[~half], decided, rows.probabilities[~half], names)
    return found.f1("micro"), found.f1("macro")


best = tuple(
    MostF1()(Ranking.of(shares, own)) if own.any() else 0.5
    for shares, own in zip(rows.probabilities[half].T, truth[half].T, strict=True)
)
results = {
    "0.5 for all": on_new_rows(Thresholds(common=0.5)),
    "best on few rows": on_new_rows(Thresholds(names, best)),
    "with borrowed rows": on_new_rows(choose_thresholds(rows.probabilities[half], truth[half], names)),
}
for name, (micro, macro) in results.items():
    print(f"{name:18}  micro F1 {micro:.3f}, macro F1 {macro:.3f}")
assert np.all(np.array(results["with borrowed rows"]) > results["best on few rows"])
assert results["with borrowed rows"][1] > results["0.5 for all"][1]

# %%
# Evaluations are sums over rows, as are the counts of the model: those of parts add up to that of the whole.

first, second = evaluation.take(half), evaluation.take(~half)
assert first + second == evaluation
