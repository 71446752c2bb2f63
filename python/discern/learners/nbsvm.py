"""NB-SVM: a linear support vector machine on columns multiplied by log count ratios of naive Bayes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

import discern._native as _native
from discern.data.encode import each_column_once
from discern.learners.bayes import Margins, multinomial_weight
from discern.learners.margins import LinearMargins, MarginSettings, as_table, fit_margins
from discern.learners.smoothing import Laplace, Smoothing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

ADD_ONE = Laplace(1.0)


def indicators(X: Any) -> Any:
    """Return 1 where a table or a sparse matrix is above 0, and 0 elsewhere.

    Examples
    --------
    >>> indicators(np.array([[0, 3], [1, 0]])).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    if isinstance(X, np.ndarray):
        return (X > 0).astype(np.float64)
    X = each_column_once(X)
    present = X.data > 0
    ones = np.ones(len(present)) if present.all() else present.astype(np.float64)
    return type(X)((ones, X.indices, X.indptr), shape=X.shape)


def log_count_ratios(X: Any, classes: Array, count: int, smoothing: Smoothing, weights: Array | None = None) -> Array:
    """Return log P(t|class) − log P(t|rest) of each decision function, from smoothed counts.

    Examples
    --------
    >>> log_count_ratios(np.array([[1, 0], [1, 1]]), np.array([1, 0]), 2, Laplace(1.0)).round(4).tolist()
    [[0.2877, -0.4055]]
    """
    given = None if weights is None else np.ascontiguousarray(weights, np.float64)
    counts = _native.class_sums(as_table(X), np.ascontiguousarray(classes, np.int32), count, given)
    return ratios_of(counts[1:] if count == 2 else counts, counts.sum(axis=0), smoothing)


def ratios_of(own: Array, terms: Array, smoothing: Smoothing) -> Array:
    """Return the log count ratios of classes × terms, against the rest of all counts of each term."""
    margins = Margins(terms, own.sum(axis=1), np.zeros(len(own)), len(terms), float(terms.sum()))
    weight = multinomial_weight(smoothing, margins)
    seen = terms > 0  # a term of no row is no evidence
    ratios = np.zeros_like(own)
    sides = (side[:, seen] for side in (own, terms - own))
    logs = [weight(side, terms[seen], side.sum(axis=1, keepdims=True), 0) for side in sides]
    ratios[:, seen] = logs[0] - logs[1]
    return ratios


def fit_nbsvm(
    X: Any,
    classes: Array,
    count: int,
    settings: MarginSettings,
    *,
    smoothing: Smoothing = ADD_ONE,
    beta: float = 0.25,
    weights: Array | None = None,
    class_weights: Array | None = None,
    threads: int | None = None,
) -> tuple[LinearMargins, Array]:
    """Fit an NB-SVM; return its decision functions, on the unscaled columns, and the log count ratios.

    The intercept is the weight of a constant feature, which has no ratio: its share, as that of each weight, is β.

    Examples
    --------
    >>> X, classes = np.array([[1, 0], [1, 1], [1, 1]]), np.array([0, 1, 1])
    >>> found, ratios = fit_nbsvm(X, classes, 2, MarginSettings())
    >>> (X @ found.coef[0] + found.intercept[0] > 0).tolist()
    [False, True, True]

    Paper: Wang and Manning, "Baselines and bigrams: simple, good sentiment and topic classification", ACL 2012.
    """
    table = as_table(X)
    ratios = log_count_ratios(table, classes, count, smoothing, weights)
    found = fit_margins(
        table,
        classes,
        count,
        settings,
        weights=weights,
        class_weights=class_weights,
        scales=ratios,
        threads=threads,
    )
    return interpolated(found, ratios, beta), ratios


def interpolated(found: LinearMargins, ratios: Array, beta: float = 0.25) -> LinearMargins:
    """Return the functions on unscaled columns, with weights between their own and weights of one magnitude."""
    # Equation 7: w' = (1 − β) w̄ + β w, with w̄ the mean magnitude of w. An intercept that keeps its size while the
    # weights shrink would outweigh them.
    mean = np.abs(found.coef).mean(axis=1, keepdims=True)
    coef = ((1 - beta) * mean + beta * found.coef) * ratios
    return replace(found, coef=coef, intercept=beta * found.intercept)
