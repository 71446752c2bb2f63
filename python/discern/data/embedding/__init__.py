"""Embeddings: functions that turn texts into vectors, applied while rows are read."""
