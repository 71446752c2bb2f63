"""Transformers of numeric columns: basis expansion, bins, selection."""
