"""Score the models of a fold with scikit-learn's scorers, which must know labels that a fold may not have."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import sklearn
from sklearn.metrics import make_scorer
from sklearn.utils.validation import _check_method_params

from discern.estimators.base import Array


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


class FoldScorer:
    """A scorer that knows all labels: a fold may have no row of one.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.metrics import get_scorer
    >>> scorer = FoldScorer(get_scorer("neg_log_loss"), np.array(["a", "b", "c"]), {})
    >>> scorer.scorer._kwargs["labels"].tolist()
    ['a', 'b', 'c']
    """

    def __init__(self, scorer: Callable[..., Any], classes: Array, given: dict[str, Any]) -> None:
        self.scorer, self._given = _with_labels(scorer, classes), given

    def rows(self, X: Any, y: Array, chosen: Array) -> HeldOut:
        """Return the chosen rows, to be scored."""
        given = _check_method_params(X, params=self._given, indices=chosen)
        return HeldOut(self.scorer, X[chosen], y[chosen], given)


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
