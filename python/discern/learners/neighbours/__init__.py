"""Nearest neighbors, found exactly."""
