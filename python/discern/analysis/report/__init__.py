"""The report: one self-contained HTML page on the quality of a model, its errors, and its data."""
