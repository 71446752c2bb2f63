"""
Models of a language
====================

A *unigram language model* assigns a probability to a string, as if every word were drawn independently. Naive Bayes for
texts is one such model for each class, and Bayes' rule.
"""

import matplotlib.pyplot as plt
import numpy as np

from discern import UnigramLanguageModel

# %%
# The probabilities of the words may simply be given. A sentence is then their product:

words = {"the": 0.2, "a": 0.1, "man": 0.01, "woman": 0.01, "said": 0.03, "likes": 0.02}
model = UnigramLanguageModel.from_probabilities(words)
probability = np.exp(model.log_prob(["the man likes the woman"])[0, 0])
print(f"P(the man likes the woman) = {probability:.0e}")
assert np.isclose(probability, 0.2 * 0.01 * 0.02 * 0.2 * 0.01)
assert np.isclose(probability, 8e-8)

# %%
# Two models, two kinds of English, one string: which wrote it?

modern = {"the": 0.2, "class": 0.01, "pleaseth": 0.0001, "yon": 0.0001, "maiden": 0.0005}
olden = {"the": 0.2, "class": 0.0001, "pleaseth": 0.02, "yon": 0.1, "maiden": 0.01}
both = UnigramLanguageModel.from_probabilities({"modern": modern, "olden": olden})
string = "the class pleaseth yon maiden"
logs = both.log_prob([string])[0]
print({label: f"{np.exp(log):.0e}" for label, log in zip(both.classes_.tolist(), logs, strict=True)})
assert np.allclose(np.exp(logs), [1e-14, 4e-10])
assert both.predict([string]).tolist() == ["olden"]

# %%
# Word by word the distance between the two grows and shrinks; "class" spoke for the modern one, in vain.

figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
for label, table in {"modern": modern, "olden": olden}.items():
    path = np.cumsum([0.0, *(np.log10(table[word]) for word in string.split())])
    ax.plot(path, marker="o", label=label)
ax.set_xticks(range(6), ["", *string.split()])
ax.set_ylabel("log₁₀ of the probability so far")
ax.legend(frameon=False)
plt.show()

# %%
# Products of thousands of small numbers underflow to zero; sums of their logarithms do not. A text of a million words:

long = model.log_prob(["the man " * 500_000])[0, 0]
print(f"log P = {long:,.0f}, and as a product {np.exp(long)}")
assert np.isclose(long, 500_000 * np.log(0.002))

# %%
# A word that no model knows is skipped and counted, or makes the string impossible if you wish it so.

assert model.unknown_words(["the man likes the zebra woman"]).tolist() == [1]
assert np.isclose(np.exp(model.log_prob(["the man likes the zebra woman"])[0, 0]), 8e-8)
