"""Rows to decide about: checked as scikit-learn checks them, and taken at once where there is nothing to change."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np
import scipy.sparse
from sklearn import get_config
from sklearn.utils.validation import check_is_fitted, validate_data

_SPARSE = (scipy.sparse.csr_array, scipy.sparse.csr_matrix)
_DOUBLE, _SINGLE, _WHOLE = np.dtype(np.float64), np.dtype(np.float32), np.dtype(np.int64)
_FLOATS = (_DOUBLE, _SINGLE)
_KINDS = {"b": False, "i": False, "u": False, "f": True}
"""The kinds of numbers that are taken at once, and whether they may be infinite or no numbers."""


def check_fitted(model: Any, attribute: str = "n_features_in_", **rules: Any) -> None:
    """Refuse a model that is not fitted, in scikit-learn's words; asks scikit-learn only if an attribute is missing."""
    if attribute not in vars(model):
        check_is_fitted(model, **rules)


def checked_rows(
    model: Any,
    X: Any,
    *,
    dtype: Any = "numeric",
    accept_sparse: Any = False,
    order: str | None = None,
    ensure_all_finite: bool | str = True,
) -> Any:
    """Return what scikit-learn's ``validate_data`` returns for rows to decide about, with its errors and warnings.

    Plain arrays and compressed sparse rows that fit the model and are finite are taken at once: that is what the checks
    would return, and for few rows they take far longer than the decision.

    Parameters
    ----------
    dtype, accept_sparse, order, ensure_all_finite
        As for scikit-learn's ``check_array``.

    Examples
    --------
    >>> from discern import GaussianNB
    >>> model, rows = GaussianNB().fit([[1.0], [2.0]], [0, 1]), np.array([[3.0]])
    >>> checked_rows(model, rows) is rows
    True
    >>> checked_rows(model, [[1.0, 2.0]])
    Traceback (most recent call last):
    ...
    ValueError: X has 2 features, but GaussianNB is expecting 1 features as input.
    """
    config = get_config()
    if not config["array_api_dispatch"]:
        finite = bool(ensure_all_finite) and not config["assume_finite"]
        if (plain := _plain_rows(model, X, dtype, accept_sparse, order, finite)) is not None:
            return plain
    rules: dict[str, Any] = {"dtype": dtype, "accept_sparse": accept_sparse, "order": order}
    return validate_data(model, X, reset=False, ensure_all_finite=ensure_all_finite, **rules)


def _plain_rows(model: Any, X: Any, dtype: Any, accept_sparse: Any, order: str | None, finite: bool) -> Any:
    """Return the rows as they are wanted if they are of the usual kind; None if scikit-learn must look at them."""
    kind = type(X)
    if kind is np.ndarray:
        numbers = X
    elif kind in _SPARSE and accept_sparse and "csr" in accept_sparse:
        numbers = X.data
    else:
        return None
    own = vars(model)
    if X.ndim != 2 or 0 in X.shape or own.get("n_features_in_") != X.shape[1] or "feature_names_in_" in own:
        return None
    is_float = _KINDS.get(numbers.dtype.kind)
    if is_float is None or not numbers.dtype.isnative or (is_float and numbers.dtype not in _FLOATS):
        return None
    wanted = _wanted(numbers.dtype, dtype)
    if is_float and (finite or wanted == _WHOLE) and not _is_finite(numbers):
        return None
    if wanted != numbers.dtype:
        X = X.astype(wanted)
    return np.ascontiguousarray(X) if order == "C" and kind is np.ndarray else X


def _wanted(found: np.dtype[Any], dtype: Any) -> np.dtype[Any]:
    """Return the kind of numbers that is wanted, where some are given."""
    if dtype is None or (isinstance(dtype, str) and dtype == "numeric"):
        return found
    if isinstance(dtype, list):
        dtype = found if found in dtype else dtype[0]
    wanted: np.dtype[Any] = np.dtype(dtype)
    return wanted


def _is_finite(numbers: Any) -> bool:
    """Return whether numbers are surely finite; of huge ones it may return False.

    Examples
    --------
    >>> [_is_finite(np.array([1.0, number])) for number in (2.0, np.nan, -np.inf)]
    [True, False, False]
    """
    with np.errstate(all="ignore"):
        if numbers.flags.forc:
            flat = numbers.ravel(order="K")
            return isfinite(np.dot(flat, flat))
        return isfinite(numbers.sum())
