"""Validation without training again: kept rows, their scores without their folds, and the choices made by them."""
