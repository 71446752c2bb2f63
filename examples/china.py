"""
Four documents and a question
=============================

Naive Bayes on paper: three documents are about China, one is not; what is the fifth? Every number of the computation
is small enough to check by hand, and is checked here.
"""

import matplotlib.pyplot as plt
import numpy as np

from discern import CountVectorizer, MultinomialNB

documents = ["Chinese Beijing Chinese", "Chinese Chinese Shanghai", "Chinese Macao", "Tokyo Japan Chinese"]
about_china = ["yes", "yes", "yes", "no"]
question = "Chinese Chinese Chinese Tokyo Japan"

# %%
# Training is counting. The model keeps how often each term occurs in each class, and how many documents each class
# has: a sum over the documents, which can be added to and taken from later.

words = CountVectorizer()
counts = words.fit_transform(documents)
model = MultinomialNB(alpha=1.0).fit(counts, about_china)
print(model.classes_, model.class_count_)
for term, column in zip(words.get_feature_names_out(), model.feature_count_.T, strict=True):
    print(f"{term:<9} no {column[0]:.0f}  yes {column[1]:.0f}")

# %%
# A class is a bag of words from which documents are drawn. Its shares are the counts, with one added to each so that
# no word is impossible:
#
# .. math:: P(t\mid k) = \frac{T_{kt} + 1}{\sum_{t'} T_{kt'} + |V|}
#
# "yes" has 8 words, "no" has 3, and there are 6 different ones: 14 and 9 are what is divided by.

shares = {term: np.exp(log) for term, log in zip(words.get_feature_names_out(), model.feature_log_prob_.T, strict=True)}
assert np.allclose(shares["chinese"], [2 / 9, 6 / 14])
assert np.allclose(shares["tokyo"], [2 / 9, 1 / 14])
assert np.allclose(shares["japan"], [2 / 9, 1 / 14])

# %%
# The question is scored by its prior times the shares of its words, as a sum of logarithms. Chinese three times
# outweighs Tokyo and Japan, and the prior of three to one helps.

asked = words.transform([question])
joint = np.exp(model.predict_joint_log_proba(asked))[0]
posterior = model.predict_proba(asked)[0]
print(f"joint: no {joint[0]:.9f}, yes {joint[1]:.9f}; posterior of yes {posterior[1]:.6f}")
assert np.allclose(joint, [0.000135481, 0.000301214], atol=5e-10)
assert np.isclose(posterior[1], 0.689759, atol=5e-7)
assert model.predict(asked).tolist() == ["yes"]

# %%
# The same as a picture. Seen through logarithms naive Bayes is linear: the log odds are a constant, the prior, plus a
# weight for each occurrence of a word,
#
# .. math:: \log\frac{P(\text{yes}\mid d)}{P(\text{no}\mid d)} = a + \sum_w b_w\, n_w .

weights = model.feature_log_prob_[1] - model.feature_log_prob_[0]
steps = {"prior": np.log(3)} | {
    f"{term} ×{number}": number * weight
    for term, number, weight in zip(words.get_feature_names_out(), asked.toarray()[0], weights, strict=True)
    if number
}
assert np.isclose(sum(steps.values()), np.log(posterior[1] / posterior[0]))
ends = np.cumsum(list(steps.values()))
figure, ax = plt.subplots(figsize=(7, 2.6), layout="constrained")
colors = ["C2" if step > 0 else "C3" for step in steps.values()]
ax.barh(list(steps), list(steps.values()), left=ends - list(steps.values()), color=colors)
ax.axvline(0, color="0.3")
ax.axvline(ends[-1], color="0.3", linestyle="dashed")
ax.set(xlabel="log odds of yes, in nats", title=f"ends at {ends[-1]:.3f}: yes")
ax.invert_yaxis()
plt.show()
