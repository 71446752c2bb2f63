"""
Smoothing and its prior
=======================

A word that a class has never seen would have the probability 0, and a single such word would veto everything else a
document says. Smoothing is the belief before counting.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import stats

from discern import Dirichlet, JelinekMercer, Laplace, MultinomialNB

# %%
# Adding :math:`\alpha` is Bayesian: if the shares of the words have a Dirichlet prior with all parameters
# :math:`\alpha`, the mean of their posterior after :math:`T_{kt}` occurrences is
#
# .. math:: \frac{T_{kt} + \alpha}{\sum_{t'} T_{kt'} + \alpha |V|} .
#
# For a vocabulary of two words it is a Beta density. One word was seen 8 times, the other 2 times:

seen = np.array([[8.0, 2.0]])
shares = np.linspace(0.001, 0.999, 400)
figure, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
for alpha, color in [(1.0, "C0"), (10.0, "C1"), (100.0, "C2")]:
    posterior = stats.beta(8 + alpha, 2 + alpha)
    smoothed = np.exp(MultinomialNB(alpha=alpha).fit(seen, [0]).feature_log_prob_[0, 0])
    assert np.isclose(smoothed, posterior.mean())
    ax.plot(shares, stats.beta(alpha, alpha).pdf(shares), color=color, linestyle="dotted")
    ax.plot(shares, posterior.pdf(shares), color=color, label=f"α = {alpha:g}: mean {smoothed:.3f}")
ax.axvline(0.8, color="0.3", linestyle="dashed")
ax.set(xlabel="share of the first word", yticks=[], title="prior (dotted) and posterior; counted: 0.8")
ax.legend(frameon=False)
plt.show()

# %%
# The other two smoothings believe in the language, not in equality: a word that is common everywhere is likely here
# too. Jelinek–Mercer mixes class and corpus with fixed weights, Dirichlet adds :math:`\mu` occurrences spread as in
# the corpus:
#
# .. math::
#    \lambda\, P_{ml}(t\mid k) + (1-\lambda)\, P(t) \qquad\text{and}\qquad
#    \frac{T_{kt} + \mu P(t)}{\sum_{t'} T_{kt'} + \mu}
#
# The difference shows as a class grows: Dirichlet's influence fades with evidence, Jelinek–Mercer's does not.

rest = np.array([10.0, 90.0])  # the other class; the first word is a tenth of it
figure, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
sizes = np.array([1, 3, 10, 30, 100, 300, 1000, 3000])
for smoothing in (Laplace(1.0), Laplace(10.0), JelinekMercer(0.7), Dirichlet(50.0)):
    found = []
    for size in sizes:
        rows = np.array([[0.0, size], rest])
        found.append(np.exp(MultinomialNB(smoothing=smoothing).fit(rows, [0, 1]).feature_log_prob_[0, 0]))
    ax.loglog(sizes, found, marker="o", label=str(smoothing))
    corpus = 10 / (sizes + 100)
    if isinstance(smoothing, JelinekMercer):
        assert np.allclose(found, 0.3 * corpus)
    if isinstance(smoothing, Dirichlet):
        assert np.allclose(found, 50 * corpus / (sizes + 50))
ax.set(xlabel="words of the class", title="share of a word that it never had")
ax.legend(frameon=False, fontsize=8)
plt.show()

# %%
# Which one, and how much? Counting is done once and smoothing is applied afterwards, so the question is answered by
# trying: ``Classifier(smoothing="auto")``, the default, chooses by leave-one-out.
#
# A word outside the vocabulary is another matter. No smoothing provides an estimate, since there is nothing to
# divide: it is skipped, and counted so that you are told.
