"""What scikit-learn asks of an estimator, without importing scikit-learn."""
