"""Similarity search: the rows of a nearest-neighbor model that are most similar to another one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from discern.classifier import Classifier
from discern.data.batch import Batch, did_you_mean
from discern.data.strings import DataError
from discern.models.vector_space.deciders import Nearest
from discern.models.vector_space.model import SpaceModel


@dataclass(frozen=True)
class Similar:
    """A row that was learned: its number among all rows, from 1, its label, and its similarity.

    Examples
    --------
    >>> Similar(row=2, label="b", similarity=0.5).label
    'b'
    """

    row: int
    label: str
    similarity: float
    """The cosine of the angle between texts, from 0 to 1; for tables without texts minus the distance."""


def similar(model: Classifier, row: str | Mapping[str, Any], top: int = 10) -> list[Similar]:
    """Return the rows that are most similar to a text or a row, the nearest first; ties in the order of learning.

    Examples
    --------
    >>> rows = [{"label": "a", "text": "red apple pie"}, {"label": "b", "text": "blue sky"}]
    >>> model = Classifier(model="knn", min_df=1).fit(rows)
    >>> [(one.row, one.label) for one in similar(model, "a blue sky", top=1)]
    [(2, 'b')]
    """
    solved = model.solved
    if not isinstance(solved, SpaceModel) or not isinstance(solved.decider, Nearest):
        raise ValueError(
            f"this model is {model.winner!r}, which does not keep its rows; fit the model 'knn' to find similar rows"
        )
    if top < 1:
        raise ValueError("top must be at least 1")
    near = solved.decider
    matrix, _, _ = solved.space.of_batch(_batch(model, row), 1)
    found, places = near.known.nearest(matrix if near.is_cosine else matrix.toarray(), min(top, len(near.known)))
    similarity = 1.0 - found[0] if near.is_cosine else -found[0]
    return [
        Similar(int(near.known.ids[place]) + 1, solved.labels[near.known.classes[place]], float(one))
        for place, one in zip(places[0].tolist(), similarity.tolist(), strict=True)
    ]


def _batch(model: Classifier, row: str | Mapping[str, Any]) -> Batch:
    names = [feature.name for feature in model.features]
    if isinstance(row, str):
        texts = [feature.name for feature in model.features if feature.role == "text"]
        if len(texts) != 1:
            raise DataError(f"this model has {len(texts)} text columns; pass a row with the values of its columns")
        row = {texts[0]: row}
    for name in row:
        if name not in names:
            raise DataError(f"the model has no column {name!r}{did_you_mean(name, names)}")
    return Batch({name: [row.get(name)] for name in names}, 1)
