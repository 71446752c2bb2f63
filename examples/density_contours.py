"""
Densities of naive Bayes
========================

For numbers, naive Bayes fits a normal density to each column of each class and takes the columns for independent. So
the contours are ellipses whose axes are those of the columns: it cannot see that two columns rise together.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import multivariate_normal
from sklearn.datasets import load_wine

from discern import BayesClassifier, GaussianNB, QuadraticDiscriminantAnalysis
from discern.analysis.plots.planes import DensityContourDisplay

data = load_wine(as_frame=True)
X, y = data.data[["alcohol", "flavanoids"]], np.array(["first", "second", "third"])[data.target]
model = GaussianNB().fit(X.to_numpy(), y)

# %%
# The estimates are those of maximum likelihood: means, and variances divided by :math:`N_k`.

first = X[y == "first"]
assert np.allclose(model.theta_[0], first.mean())
assert np.allclose(model.var_[0], first.var(ddof=0))

DensityContourDisplay.from_estimator(model, X, y)
plt.show()

# %%
# Quadratic discriminant analysis fits the covariances, too, and its ellipses lean. (Its densities are drawn here by
# the Bayes classifier that takes the fitted ones for the truth.)

quadratic = QuadraticDiscriminantAnalysis().fit(X.to_numpy(), y)
densities = map(multivariate_normal, quadratic.means_, quadratic.covariance_)
fitted = BayesClassifier(dict(zip(quadratic.classes_, densities, strict=True)), quadratic.priors_)
assert np.allclose(fitted.predict_proba(X), quadratic.predict_proba(X.to_numpy()))
DensityContourDisplay.from_estimator(fitted, X, y)
plt.show()

# %%
# Is the assumption of independence worth its cost? It depends on the data. Here, on the training rows:

for name, method in {"naive Bayes": GaussianNB(), "QDA": QuadraticDiscriminantAnalysis()}.items():
    print(f"{name}: {np.mean(method.fit(X.to_numpy(), y).predict(X.to_numpy()) != y):.1%} wrong")
