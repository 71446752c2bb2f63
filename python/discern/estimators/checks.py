"""Shared input checks: value ranges, labels, weights of rows and classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite, compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight

from discern.data.encode import EncodedLabels, encode_labels

LARGEST = 1e75
"""Squares of larger numbers, times weights, are no longer finite in a 64-bit number."""


def refuse_unfit(X: Any, who: Any) -> None:
    """Refuse a table with numbers that are not finite, or too large to be squared and added up.

    Most tables are looked through once, and closer only if there may be such a number.
    """
    if not _squares_fit(_values(X)):
        assert_all_finite(X, estimator_name=type(who).__name__, input_name="X")
        refuse_huge(X)


def refuse_huge(X: Any, what: str = "X", most: float = LARGEST) -> None:
    """Refuse a table whose numbers are too large to be squared and added up.

    Examples
    --------
    >>> refuse_huge(np.array([[1.0, -1e80]]))
    Traceback (most recent call last):
    ...
    ValueError: X holds a number as large as 1e+80, beyond 1e+75: scale its columns first
    """
    values = _values(X)
    largest = max(-float(np.min(values, initial=0.0)), float(np.max(values, initial=0.0)))
    if most < largest < np.inf:
        raise ValueError(f"{what} holds a number as large as {largest:.0e}, beyond {most:.0e}: scale its columns first")


def squares_fit(X: Any) -> bool:
    """Return whether the numbers of a table are finite and small enough to be squared and added up."""
    return _squares_fit(_values(X)) or bool(np.abs(_values(X)).max(initial=0.0) <= LARGEST)


def _values(X: Any) -> Any:
    return X.data if hasattr(X, "indptr") else X


def _squares_fit(values: Any) -> bool:
    """Return whether numbers are surely finite and none is huge, in one pass over them.

    Examples
    --------
    >>> _squares_fit(np.array([[1.0, -2.0]])), _squares_fit(np.array([np.nan])), _squares_fit(np.array([1e80]))
    (True, False, False)
    """
    if values.dtype.kind in "biu":
        return True
    if values.dtype == np.float32:  # no finite one is huge
        with np.errstate(all="ignore"):
            flat = values.ravel(order="K") if values.flags.forc else None
            return (flat is not None and bool(np.isfinite(np.dot(flat, flat)))) or bool(
                np.isfinite(values.sum(dtype=np.float64))
            )
    if values.dtype != np.float64 or not values.flags.forc:
        return False
    flat = values.ravel(order="K")
    with np.errstate(all="ignore"):
        return bool(np.dot(flat, flat) <= LARGEST**2)


def classes_of(y: NDArray[Any]) -> NDArray[Any]:
    """Return the distinct labels, sorted; refuses those that are no classes.

    Examples
    --------
    >>> classes_of(np.array(["spam", "ham", "spam"])).tolist()
    ['ham', 'spam']
    >>> classes_of(np.array([0.5, 1.0]))
    Traceback (most recent call last):
    ...
    ValueError: Unknown label type: continuous. Maybe you are trying to fit a classifier, which expects discrete classes
    on a regression target with continuous values.
    """
    classes = np.unique(y)
    # To look at the classes is faster than at all rows; thrice, since too many single ones would look like numbers.
    check_classification_targets(y if len(y) < 3 * len(classes) else classes.repeat(3))
    return classes


def numbered(y: NDArray[Any]) -> EncodedLabels:
    """Number the labels of rows, refusing those that are no classes."""
    if y.dtype.kind not in "biuU":
        check_classification_targets(y)
        return encode_labels(y)
    labels = encode_labels(y)
    if len(labels.distinct) > len(y) // 2:  # always classes; scikit-learn only warns if nearly all are different
        check_classification_targets(y)
    return labels


def row_weights(sample_weight: Any, X: Any, **rules: Any) -> NDArray[Any] | None:
    """Return the checked weights of rows; None if all are 1."""
    if sample_weight is None:
        return None
    return np.asarray(_check_sample_weight(sample_weight, X, dtype=np.float64, **rules))


def summable_weights(sample_weight: Any, X: Any, **rules: Any) -> NDArray[Any] | None:
    """Return the checked weights of rows, contiguous and small enough to be added up; None if all are 1."""
    weights = row_weights(sample_weight, X, **rules)
    if weights is None:
        return None
    refuse_huge(weights, "sample_weight")
    return np.ascontiguousarray(weights)


def check_class_weight(class_weight: Any) -> None:
    """Refuse given weights of classes that are not finite numbers of 0 or more."""
    for given in class_weight if isinstance(class_weight, list | tuple) else [class_weight]:
        if isinstance(given, Mapping):
            names = np.array(list(given), object)
            _check_weights(names, np.array(list(given.values()), np.float64))


def class_weights(class_weight: Any, classes: NDArray[Any], masses: NDArray[Any], positive: bool = False) -> Any:
    """Return the weight of each class, of which the rows weigh ``masses``; refuses weights that are none.

    Examples
    --------
    >>> class_weights("balanced", np.array(["ham", "spam"]), np.array([3.0, 1.0])).tolist()
    [0.6666666666666666, 2.0]
    >>> class_weights({"spam": -1.0, "ham": 1.0}, np.array(["ham", "spam"]), np.array([3.0, 1.0]))
    Traceback (most recent call last):
    ...
    ValueError: class_weight of spam is -1.0: it must be a finite number, 0 or more
    """
    if isinstance(class_weight, str) and class_weight == "balanced":
        return masses.sum() / (len(classes) * np.where(masses > 0, masses, 1.0))
    if class_weight is None:
        return np.ones(len(classes))
    found = np.asarray(compute_class_weight(class_weight, classes=classes, y=classes), np.float64)
    _check_weights(classes, found, positive)
    return found


def _check_weights(classes: NDArray[Any], weights: NDArray[Any], positive: bool = False) -> None:
    for label, weight in zip(classes, weights, strict=True):
        if not 0 <= weight < np.inf or (positive and weight == 0):
            least = "above 0" if positive else "0 or more"
            raise ValueError(f"class_weight of {label} is {weight}: it must be a finite number, {least}")
