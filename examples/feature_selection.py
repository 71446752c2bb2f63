"""
Words worth keeping
===================

Most words of a vocabulary tell nothing about the class. Two scores find those that do. Both use the counts of training,
so they need no second pass over the texts.
"""

import matplotlib.pyplot as plt
import numpy as np

from discern import CountVectorizer, MultinomialNB, SelectKBest, chi2, mutual_information
from discern.cli.demo import sample, split

learned, held_out = split(sample())
words = CountVectorizer()
X = words.fit_transform(row["text"] for row in learned)
y = np.array([row["label"] for row in learned])
tests = words.transform(row["text"] for row in held_out)
answers = np.array([row["label"] for row in held_out])

# %%
# :math:`\chi^2` compares how often a term occurs in each class with how often it would if classes did not matter.
# Mutual information is the number of nats that the presence of the term tells about the class:
#
# .. math:: I(U;C) = \sum_{u\in\{0,1\}}\sum_k P(u,k)\log\frac{P(u,k)}{P(u)P(k)}

present = X.toarray() > 0
spam = y == "spam"
by_hand = np.zeros(X.shape[1])
for there in (True, False):
    for label in (True, False):
        share = np.mean((present == there) & (spam == label)[:, None], axis=0)
        expected = np.mean(present == there, axis=0) * np.mean(spam == label)
        by_hand += np.where(share > 0, share * np.log(np.maximum(share, 1e-300) / expected), 0)
information = mutual_information(X, y)
assert np.allclose(information, by_hand)

# %%
# The two need not agree: :math:`\chi^2` likes rare terms that are pure, mutual information common ones.

scores, _ = chi2(X, y)
names = words.get_feature_names_out()
figure, axes = plt.subplots(1, 2, figsize=(11, 3.6), layout="constrained")
for ax, (title, values) in zip(axes, {"χ²": scores, "mutual information": information}.items(), strict=True):
    best = np.argsort(-values)[:12]
    ax.barh(names[best], values[best], color="C0")
    ax.invert_yaxis()
    ax.set_title(title)
plt.show()

# %%
# How many are enough? A model of the best twenty words is already good; beyond some hundred there is nothing to gain.

numbers = [2, 5, 10, 20, 50, 100, 200, 500, 1000, X.shape[1]]
figure, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
for name, score in {"χ²": chi2, "mutual information": mutual_information}.items():
    accuracies = []
    for number in numbers:
        selected = SelectKBest(score, k=number).fit(X, y)
        model = MultinomialNB().fit(selected.transform(X), y)
        accuracies.append(np.mean(model.predict(selected.transform(tests)) == answers))
    ax.plot(numbers, accuracies, marker="o", label=name)
    assert accuracies[4] > accuracies[0]
    assert accuracies[4] > 0.85
ax.set(xscale="log", xlabel="words kept", ylabel="accuracy on held-out messages")
ax.legend(frameon=False)
plt.show()
