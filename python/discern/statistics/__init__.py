"""Sums over rows: add, subtract, merge."""
