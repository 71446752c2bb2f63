"""Numbers beyond what sums of squares can hold are refused in one sentence, before they become infinities."""

from __future__ import annotations

from typing import Any

import numpy as np

LARGEST = 1e75
"""Squares of larger numbers, times weights, are no longer finite in a 64-bit number."""


def refuse_huge(X: Any, what: str = "X", most: float = LARGEST) -> None:
    """Refuse a table whose numbers are too large to be squared and added up.

    Examples
    --------
    >>> refuse_huge(np.array([[1.0, -1e80]]))
    Traceback (most recent call last):
    ...
    ValueError: X holds a number as large as 1e+80, beyond 1e+75: scale its columns first
    """
    values = X.data if hasattr(X, "indptr") else X
    largest = max(-float(np.min(values, initial=0.0)), float(np.max(values, initial=0.0)))
    if most < largest < np.inf:
        raise ValueError(f"{what} holds a number as large as {largest:.0e}, beyond {most:.0e}: scale its columns first")


def squares_fit(values: Any) -> bool:
    """Say whether 64-bit numbers are surely finite and none is huge, in one pass over them.

    Examples
    --------
    >>> squares_fit(np.array([1.0, -2.0])), squares_fit(np.array([np.nan])), squares_fit(np.array([1e80]))
    (True, False, False)
    """
    with np.errstate(all="ignore"):
        return values.dtype == np.float64 and bool(np.dot(values, values) <= LARGEST**2)
