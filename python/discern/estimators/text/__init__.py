"""Estimators that read texts: vectorizers, tf–idf, and classifiers of raw texts."""
