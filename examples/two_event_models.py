"""
Two event models that disagree
==============================

What happens when a document is written? In the *multinomial* model a word is drawn for every place. In the
*Bernoulli* model a coin is tossed for every word of the vocabulary: it is in the document, or it is not. Both are
naive Bayes, both are trained on the same four documents as :ref:`before <sphx_glr_course_china.py>`, and they answer
differently.
"""

import matplotlib.pyplot as plt
import numpy as np

from discern import BernoulliNB, CountVectorizer, MultinomialNB

documents = ["Chinese Beijing Chinese", "Chinese Chinese Shanghai", "Chinese Macao", "Tokyo Japan Chinese"]
about_china = ["yes", "yes", "yes", "no"]
words = CountVectorizer().fit(documents)
counts, asked = words.transform(documents), words.transform(["Chinese Chinese Chinese Tokyo Japan"])

# %%
# Bernoulli divides by documents, and adds one to each side of the coin:
#
# .. math:: P(e_t = 1\mid k) = \frac{D_{kt} + 1}{N_k + 2}

model = BernoulliNB().fit(counts, about_china)
names = words.get_feature_names_out().tolist()
no, yes = np.exp(model.feature_log_prob_)
assert np.allclose(yes, [2 / 5, 4 / 5, 1 / 5, 2 / 5, 2 / 5, 1 / 5])
assert np.allclose(no, [1 / 3, 2 / 3, 2 / 3, 1 / 3, 1 / 3, 2 / 3])

# %%
# Two things change. That Chinese occurs three times does not count, once is enough. And the words that are *absent*
# count as evidence, too, by :math:`1 - P`: no Beijing, no Shanghai, no Macao. The answer is now no.

joint = np.exp(model.predict_joint_log_proba(asked))[0]
posterior = model.predict_proba(asked)[0]
print(f"joint: no {joint[0]:.7f}, yes {joint[1]:.6f}; posterior of yes {posterior[1]:.6f}")
assert np.allclose(joint, [0.0219479, 0.005184], atol=5e-8)
assert np.isclose(posterior[1], 0.191067, atol=5e-7)
assert model.predict(asked).tolist() == ["no"]
assert MultinomialNB().fit(counts, about_china).predict(asked).tolist() == ["yes"]

# %%
# The contribution of each word in either model, in nats for yes:

number = asked.toarray()[0]
multinomial = MultinomialNB().fit(counts, about_china)
by_counts = number * (multinomial.feature_log_prob_[1] - multinomial.feature_log_prob_[0])
by_presence = np.where(number > 0, np.log(yes / no), np.log((1 - yes) / (1 - no)))
figure, ax = plt.subplots(figsize=(7.5, 3.2), layout="constrained")
places = np.arange(len(names) + 1)
ax.barh(places - 0.2, [np.log(3), *by_counts], height=0.38, label=f"multinomial: {np.log(3) + by_counts.sum():+.2f}")
ax.barh(places + 0.2, [np.log(3), *by_presence], height=0.38, label=f"Bernoulli: {np.log(3) + by_presence.sum():+.2f}")
ax.set_yticks(places, ["prior", *(name if there else f"no {name}" for name, there in zip(names, number, strict=True))])
ax.axvline(0, color="0.3")
ax.invert_yaxis()
ax.set_xlabel("log odds of yes, in nats")
ax.legend(frameon=False)
plt.show()

# %%
# Long documents are better described by counts, and short ones with a small vocabulary often by presence.
# ``Classifier(model="naive-bayes")`` decides it by validation, from the same counts: both numbers, occurrences and
# documents, are always kept.
