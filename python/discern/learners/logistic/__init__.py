"""Logistic regression with two or more classes.

    objective(w) = Σ_i weight_i · loss(y_i, w·x_i) + ½ Σ_j penalty_j w_j²

Coefficients are a matrix: one row for two classes, a row a class for more, a column a feature and the intercept last.
With more than two classes only differences of rows matter. The rows found here sum to zero, which is where the ridge
penalty puts them.
"""
