"""The scikit-learn face: parameters, attributes and results mean the same as there. No numerics live here."""
