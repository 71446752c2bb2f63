"""Linear and quadratic discriminants on the iris and wine data, every solver, and Gaussian naive Bayes beside them."""

import numpy as np
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.model_selection import cross_val_predict, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

for load in (load_iris, load_wine):
    X, y = load(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    models = [
        LinearDiscriminantAnalysis(),
        LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
        LinearDiscriminantAnalysis(solver="eigen", priors=[0.2, 0.3, 0.5]),
        QuadraticDiscriminantAnalysis(),
        QuadraticDiscriminantAnalysis(reg_param=0.1),
        GaussianNB(),
        make_pipeline(StandardScaler(), LinearDiscriminantAnalysis(n_components=1)),
    ]
    for model in models:
        model.fit(X_train, y_train)
        print(
            load.__name__, f"{model.score(X_test, y_test):.10f}", np.round(model.predict_proba(X_test[:2]), 8).tolist()
        )
    print(np.round(LinearDiscriminantAnalysis().fit(X, y).explained_variance_ratio_, 8).tolist())
    print(np.round(np.abs(LinearDiscriminantAnalysis().fit(X, y).transform(X[:3])), 6).tolist())
    print(cross_val_predict(QuadraticDiscriminantAnalysis(), X, y, cv=3).tolist())
