"""Predictions: the labels and probabilities of a batch of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discern.data.batch import Batch


@dataclass(frozen=True, eq=False)
class Predictions:
    """The predictions for a batch of rows.

    ``probabilities`` has a row for each row of the batch and a column for each label of the model. ``known`` is the
    number of terms and values of each row that the model knows: where it is 0, the probabilities are the base rates.
    ``novelty`` is how unusual each row is, from 0 to 1; None unless it was asked for.
    """

    batch: Batch
    labels: NDArray[np.str_]
    probabilities: NDArray[np.float64]
    known: NDArray[np.int64]
    novelty: NDArray[np.float64] | None = None
