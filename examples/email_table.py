"""
Eight e-mails, three words
==========================

A table of eight e-mails by how often they hold the words a, b and c; four are spam. The question is the e-mail (3, 1,
0). As with :ref:`the four documents <sphx_glr_course_two_event_models.py>`, it depends on what is counted.
"""

import matplotlib.pyplot as plt
import numpy as np

from discern import BernoulliNB, MultinomialNB

spam = [(0, 3, 0), (0, 3, 3), (3, 0, 0), (2, 3, 0)]
ham = [(4, 3, 0), (4, 0, 3), (3, 0, 0), (0, 0, 0)]
table, labels = np.array(spam + ham), ["spam"] * 4 + ["ham"] * 4
asked = np.array([[3, 1, 0]])

# %%
# **By presence.** In how many of the e-mails is a word? There is more than one way to make a share of it. Divided by
# the number of e-mails it is a coin for each word; divided by all presences in the class it is a share among the
# words:
#
# .. math:: P(t\mid k) = \frac{D_{kt} + 1}{\sum_{t'} D_{kt'} + |V|}
#
# used in the same way, present or absent. The second is ``normalization="vocabulary"``.

present = BernoulliNB(normalization="vocabulary").fit(table, labels)
shares = np.exp(present.feature_log_prob_)  # ham, spam
assert np.allclose(shares[1], [3 / 9, 4 / 9, 2 / 9])
assert np.allclose(shares[0], [4 / 8, 2 / 8, 2 / 8])
joint = np.exp(present.predict_joint_log_proba(asked))[0]
print(f"by presence: ham {joint[0]:.6f}, spam {joint[1]:.7f}")
assert np.allclose(joint, [0.046875, 0.0576132], atol=5e-8)
assert present.predict(asked).tolist() == ["spam"]

# %%
# **By counts.** The word a occurs 5 times in spam and 11 times in ham.

counted = MultinomialNB().fit(table, labels)
shares = np.exp(counted.feature_log_prob_)
assert np.allclose(shares[1], [6 / 20, 10 / 20, 4 / 20])
assert np.allclose(shares[0], [12 / 20, 4 / 20, 4 / 20])

# %%
# How probable are *these counts*, in any order? The full likelihood has the number of orders in front,
# :math:`|d|!\prod_t P(t\mid k)^{f_t}/f_t!`. It is the same for all classes, so it cancels in the posterior, but it is
# needed if the joint probability itself is wanted.

full = np.exp(counted.full_joint_log_proba(asked))[0]
print(f"by counts: ham {full[0]:.4f}, spam {full[1]:.3f}")
assert np.allclose(full, [0.0864, 0.027])
assert np.allclose(full / full.sum(), counted.predict_proba(asked)[0])
assert counted.predict(asked).tolist() == ["ham"]

# %%
# So the two disagree, and the reason is one word that occurs three times.

figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
repeats = np.arange(1, 7)
questions = np.column_stack([repeats, np.ones_like(repeats), np.zeros_like(repeats)])
ax.plot(repeats, counted.predict_proba(questions)[:, 1], marker="o", label="by counts")
ax.plot(repeats, present.predict_proba(questions)[:, 1], marker="o", label="by presence")
ax.axhline(0.5, color="0.3", linestyle="dashed")
ax.set(xlabel="occurrences of a, with one b", ylabel="probability of spam", ylim=(0, 1))
ax.legend(frameon=False)
plt.show()
