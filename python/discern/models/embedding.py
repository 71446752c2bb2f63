"""Embeddings of texts: a vector beside each text, made by the embedder that a model was trained with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

import discern._native as _native
from discern.data.batch import Batch
from discern.data.roles import EMBEDDING, Feature
from discern.data.strings import DataError, Strings
from discern.data.vectors.column import Vectors

if TYPE_CHECKING:
    from discern.data.embedding.embedder import Embedder
    from discern.data.embedding.identity import EmbedderIdentity

NO_TEXT = "embed needs a text column, and there is none; pass vectors as a column, or leave embed out"
NOT_EMBEDDED = "this model embeds no texts; leave embed out"


def embedded_features(features: Sequence[Feature]) -> tuple[Feature, ...]:
    """Return columns with the embedding of each text after them; its grid is laid later.

    Examples
    --------
    >>> [feature.described for feature in embedded_features([Feature("subject", "text"), Feature("size", "number")])]
    ["text 'subject'", "number 'size'", "embedding of 'subject'"]
    """
    texts = [feature for feature in features if feature.role == "text" and not feature.view]
    if not texts:
        raise DataError(NO_TEXT)
    return (*features, *(Feature(feature.name, "vector", view=EMBEDDING) for feature in texts))


def with_embeddings(
    batch: Batch, features: Sequence[Feature], embedder: Embedder | None, identity: EmbedderIdentity | None
) -> Batch:
    """Return a batch with a vector beside each text that ``features`` embed; texts that are missing have none."""
    wanted = [feature for feature in features if feature.view == EMBEDDING and feature.column not in batch.columns]
    if not wanted:
        return batch
    found = needed(embedder, identity)
    assert found is not None
    added = {feature.column: _embedded(batch, feature.name, found) for feature in wanted}
    return replace(batch, columns={**batch.columns, **added})


def needed(embedder: Embedder | None, identity: EmbedderIdentity | None) -> Embedder | None:
    """Return the embedder of a model; raises ``DataError`` if the model needs one and there is none."""
    if embedder is None and identity is not None:
        raise DataError(
            f"this model embeds texts with {identity.described}, and no embedder was passed: load it with embed=…, or "
            "use --embed on the command line"
        )
    return embedder


def _embedded(batch: Batch, name: str, embedder: Embedder) -> Vectors:
    texts = Strings(*_native.packed(batch.texts(name))).to_list()
    present = np.array([bool(text.strip()) for text in texts], bool)
    places = np.flatnonzero(present)
    values = np.zeros((len(texts), embedder.identity.dimension), np.float32)
    if len(places):
        some = [texts[place] for place in places.tolist()]
        values[places] = embedder(some, lambda one: batch.place_of(int(places[one]), name))
    return Vectors(values, present)


def matching(embedder: Embedder, identity: EmbedderIdentity | None) -> Embedder:
    """Return an embedder if it is the one that a model was trained with; raises ``DataError`` for another."""
    if identity is None:
        raise DataError(NOT_EMBEDDED)
    if not embedder.identity.matches(identity):
        raise DataError(
            f"this model was trained with the embedder {identity.described}, and {embedder.identity.described} returns "
            "other vectors; pass the one it was trained with, or train the model again"
        )
    return embedder
