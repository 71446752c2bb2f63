"""How unusual rows are to a model: by the likelihood of their terms, and by how little their label is certain."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from discern.evaluation.novelty import entropy
from discern.models.naive_bayes import Model, solve_columns
from discern.models.validation.held_out import penalty_of, surprise_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discern.data.batch import Batch
    from discern.models.fitted import Fitted
    from discern.models.resolved import Resolved

NO_NOVELTY = (
    "this model has no novelty: train naive Bayes on at least 100 rows with settings left at 'auto', or with "
    "calibrate=True"
)
NO_SLIM_NOVELTY = (
    "the decision needs the novelty of rows, which this event model takes from statistics that a slim model does not "
    "have; save it whole, or clear the decision first"
)


NO_SEVERAL_NOVELTY = (
    "this model has several labels a row and no novelty, which compares a row with those of its one label; look for "
    "rows whose probabilities are all small instead"
)


def is_generative(resolved: Resolved) -> bool:
    """Return whether a model's own scores of its columns are likelihoods."""
    naive_bayes = resolved.naive_bayes
    return naive_bayes.generative.event == naive_bayes.event


def generative(fitted: Fitted) -> Model:
    """Return the model without views and lengths, whose scores are likelihoods."""
    resolved = fitted.resolved
    own = [place for place, feature in enumerate(resolved.features) if not feature.is_derived]
    if is_generative(resolved):
        model = cast("Model", fitted.model)
        columns = tuple(model.columns[place] for place in own)
        return replace(model, columns=columns, calibration=None, start=model.prior)
    sums = replace(fitted.statistics, columns=tuple(fitted.statistics.columns[place] for place in own))
    return solve_columns(sums, resolved.columns, resolved.naive_bayes.generative, resolved.text, resolved.min_df)


def novelty(fitted: Fitted, batch: Batch, shares: NDArray[np.float64], threads: int | None) -> NDArray[np.float64]:
    """Return how unusual each row is, from 0 to 1; ``shares`` are the probabilities of its labels."""
    if fitted.resolved.several is not None:
        raise ValueError(NO_SEVERAL_NOVELTY)
    if fitted.resolved.novelty is None or not fitted.has_novelty:
        raise ValueError(NO_NOVELTY)
    model = fitted.generative
    found = model.of_batch(batch, threads, raw=True)
    surprise = surprise_of(found.scores, found.known, found.unknown, penalty_of(model.terms))
    return fitted.resolved.novelty(surprise, entropy(shares))
