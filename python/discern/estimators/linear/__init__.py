"""Classifiers with a weight vector for each class, and the discriminants."""
