"""scikit-learn's callbacks, which its versions from 1.9 have: what a fit tells them of its iterations."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def _offered() -> tuple[type, Callable[[Any], Any]]:
    """Return scikit-learn's mixin and decorator, or ones that do nothing where it has no callbacks."""
    try:
        module = importlib.import_module("sklearn.callback")
    except ImportError:
        return type("CallbackSupportMixin", (), {}), lambda method: method
    return module.CallbackSupportMixin, module.with_callbacks


CallbackSupportMixin, with_callbacks = _offered()


class Iterations:
    """The iterations of a fit, each a task of its callbacks, inside the task that is the whole fit.

    As in scikit-learn, a last task is begun that no iteration follows.
    """

    def __init__(self, estimator: Any, given: dict[str, Any], attributes: Callable[[Array], dict[str, Any]]) -> None:
        self._given = {"estimator": estimator, **given}
        self._attributes = attributes
        self._count = 0
        self._whole = estimator._init_callback_context(max_subtasks=max(estimator.max_iter, 1) + 1)
        self._whole.call_on_fit_task_begin(**self._given)
        self._task: Any = None

    @classmethod
    def of(
        cls, estimator: Any, X: Any, y: Any, sample_weight: Any, attributes: Callable[[Array], dict[str, Any]]
    ) -> Iterations | None:
        """Return the iterations of a fit; None if nothing listens to them."""
        if not (hasattr(estimator, "_skl_callbacks") or hasattr(estimator, "_parent_callback_ctx")):
            return None
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        return cls(estimator, {"X": X, "y": y, "metadata": metadata}, attributes)

    def begin(self, point: Array) -> None:
        """Begin the task of an iteration, from some coefficients."""
        self._task = self._whole.subcontext(task_name="iteration")
        self._task.call_on_fit_task_begin(**self._given, reconstruction_attributes=self._attributes(point))

    def __call__(self, point: Array) -> None:
        """End the iteration that led to some coefficients, and begin the next."""
        self._task.call_on_fit_task_end(**self._given, reconstruction_attributes=self._attributes(np.array(point)))
        self._count += 1
        self.begin(np.array(point))

    def close(self, point: Array) -> None:
        """End the fit; there is always one iteration."""
        if not self._count:
            self(point)
        self._task.call_on_fit_task_end(estimator=self._given["estimator"])
        self._whole.call_on_fit_task_end(**self._given, reconstruction_attributes={})
