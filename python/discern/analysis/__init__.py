"""Studies of classifiers: cross-validation, comparison, drift, reports, plots."""
