"""Naive Bayes: event models on counts, normal densities, categories, and columns of a data frame."""
