"""
Ten thousand columns, four that matter
======================================

*Winnow* multiplies where the perceptron adds: the weights of the columns that are present are doubled when a positive
row was missed, and halved after a false alarm. So it needs few mistakes when few columns matter, however many there
are.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse

from discern import BalancedWinnow, Perceptron, Winnow


def disjunction(
    columns: int, literals: int, seed: int = 1, rows: int = 400
) -> tuple[scipy.sparse.csr_array, np.ndarray]:
    """Draw rows of zeros and ones, positive if any of a few columns is 1; half of the rows hold none of these."""
    random = np.random.default_rng(seed)
    chosen = random.choice(columns, literals, replace=False)
    X = (random.random((rows, columns)) < 20 / columns).astype(float)
    X[::2, chosen] = 0
    X[1::2, chosen[0]] = 1
    return scipy.sparse.csr_array(X), X[:, chosen].any(axis=1).astype(int)


# %%
# A disjunction of k columns out of n, with the threshold n/2 and the factor 2: at most :math:`4 + 3k(1 +
# \log_2(n/2))` mistakes. The bound grows with the logarithm of n.

X, y = disjunction(10_000, 4)
model = Winnow(tol=None).fit(X, y)
bound = 4 + 3 * 4 * (1 + np.log2(10_000 / 2))
print(f"{model.n_updates_[0]} mistakes, the bound is {bound:.0f}")
assert (model.predict(X) == y).all()
assert model.n_updates_[0] <= bound

# %%
# The perceptron learns it too, but its mistakes grow with the number of columns that happen to be present.

sizes = [100, 300, 1000, 3000, 10_000, 30_000]
winnow, perceptron = [], []
for size in sizes:
    X, y = disjunction(size, 4)
    winnow.append(Winnow(tol=None).fit(X, y).n_updates_[0])
    perceptron.append(Perceptron(tol=None).fit(X.toarray(), y).n_updates_[0])
    assert winnow[-1] <= 4 + 12 * (1 + np.log2(size / 2))
figure, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
ax.plot(sizes, winnow, marker="o", label="Winnow")
ax.plot(sizes, perceptron, marker="o", label="perceptron")
ax.plot(sizes, [4 + 12 * (1 + np.log2(size / 2)) for size in sizes], color="0.4", linestyle="dashed", label="bound")
ax.set(xscale="log", xlabel="columns", ylabel="mistakes until none is made")
ax.legend(frameon=False)
plt.show()

# %%
# Its weights are never negative, so a column can never be evidence *against*. Balanced Winnow has two weights a column
# and learns "not both", too.

inputs, not_both = [[0, 0], [0, 1], [1, 0], [1, 1]], [1, 1, 1, 0]
assert BalancedWinnow(tol=None).fit(inputs, not_both).predict(inputs).tolist() == not_both
