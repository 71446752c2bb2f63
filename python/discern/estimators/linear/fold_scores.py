"""Score the models of a fold with scikit-learn's scorers, which must know labels that a fold may not have."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sklearn
from sklearn.metrics import accuracy_score, log_loss, make_scorer
from sklearn.utils.validation import _check_method_params

from discern.estimators.base import Array
from discern.learners.logistic.rows import LabeledRows


def routing_enabled() -> bool:
    """Return whether scikit-learn routes metadata."""
    return bool(sklearn.get_config().get("enable_metadata_routing"))


def raise_for_params(params: dict[str, Any], owner: Any, method: str) -> None:
    """Refuse metadata where scikit-learn does not route it."""
    if params and not routing_enabled():
        raise ValueError(
            f"Passing extra keyword arguments to {type(owner).__name__}.{method} is only supported if "
            "enable_metadata_routing=True: call sklearn.set_config(enable_metadata_routing=True). Extra parameters "
            f"passed are: {set(params)}"
        )


LEAST, MOST = (float(-np.log(bound)) for bound in (1.0 - np.finfo(np.float64).eps, np.finfo(np.float64).eps))
"""scikit-learn's bounds of the log loss of a row."""


@dataclass(frozen=True)
class HeldOut:
    """Rows to score, and what goes to the scorer."""

    scorer: Callable[..., Any]
    X: Any
    y: Array
    given: dict[str, Any]

    def score(self, model: Any) -> float:
        """Return the score of a model."""
        return float(self.scorer(model, self.X, self.y, **self.given))


@dataclass(frozen=True)
class HeldOutRows:
    """Rows whose accuracy or log loss is computed here, for all models of a path at once."""

    function: Callable[..., Any]
    rows: LabeledRows

    def scores(self, coefficients: Array) -> list[float]:
        """Return the score of each model, of coefficients by model, output and column."""
        models, outputs, columns = coefficients.shape
        scores = self.rows.scores(coefficients.reshape(-1, columns)).reshape(-1, models, outputs)
        values = self._hits(scores) if self.function is accuracy_score else -self._losses(scores)
        return [float(value) for value in np.average(values, axis=0, weights=self.rows.weights)]

    def _hits(self, scores: Array) -> Array:
        chosen = scores[:, :, 0] > 0 if scores.shape[2] == 1 else scores.argmax(axis=2)
        return np.asarray(chosen == self.rows.classes[:, None], np.float64)

    def _losses(self, scores: Array) -> Array:
        own = self.rows.classes
        if scores.shape[2] == 1:
            losses = np.logaddexp(0.0, np.where(own[:, None] == 1, -1.0, 1.0) * scores[:, :, 0])
        else:
            losses = np.logaddexp.reduce(scores, axis=2) - scores[np.arange(len(own)), :, own]
        return np.asarray(np.clip(losses, LEAST, MOST))


class FoldScorer:
    """A scorer that knows all labels: a fold may have no row of one.

    Examples
    --------
    >>> from sklearn.metrics import get_scorer
    >>> scorer = FoldScorer(get_scorer("neg_log_loss"), np.array(["a", "b", "c"]), {})
    >>> scorer.scorer._kwargs["labels"].tolist()
    ['a', 'b', 'c']
    """

    def __init__(self, scorer: Callable[..., Any], classes: Array, given: dict[str, Any]) -> None:
        self.scorer, self._given = _with_labels(scorer, classes), given
        function = getattr(scorer, "_score_func", None)
        plain = not getattr(scorer, "_kwargs", None) and set(given) <= {"sample_weight"}
        self._function = function if plain and _is_common(scorer, function) else None

    def rows(self, X: Any, y: Array, chosen: Array) -> HeldOut:
        """Return the chosen rows, to be scored."""
        given = _check_method_params(X, params=self._given, indices=chosen)
        return HeldOut(self.scorer, X[chosen], y[chosen], given)

    def at_once(self, rows: LabeledRows, chosen: Array) -> HeldOutRows | None:
        """Return the chosen rows, if all models can be scored at once: by accuracy or log loss."""
        if self._function is None:
            return None
        weights = self._given.get("sample_weight")
        given = None if weights is None else np.asarray(weights, np.float64)
        return HeldOutRows(self._function, replace(rows, weights=given).take(chosen))


def _is_common(scorer: Any, function: Any) -> bool:
    """Whether a scorer is scikit-learn's accuracy or negative log loss."""
    return (function, getattr(scorer, "_sign", 0)) in ((accuracy_score, 1), (log_loss, -1))


def _with_labels(scorer: Any, classes: Array) -> Any:
    function = getattr(scorer, "_score_func", None)
    known = inspect.signature(function).parameters if function is not None else {}
    if "labels" not in known:
        return scorer
    labels: dict[str, Any] = {"labels": classes}
    if len(classes) == 2 and "pos_label" in known:
        labels["pos_label"] = classes[-1]
    return make_scorer(
        function,
        greater_is_better=scorer._sign == 1,
        response_method=scorer._response_method,
        **{**labels, **getattr(scorer, "_kwargs", {})},
    )
