"""From batches of rows to their sums and their ledger, and the receipt for rows that were forgotten."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from discern.data.batch import Batch
from discern.data.roles import Feature
from discern.models.embedding import with_embeddings
from discern.models.resolved import Resolved
from discern.statistics.sums import Sums

if TYPE_CHECKING:
    from discern.data.embedding.embedder import Embedder
    from discern.statistics.ledger import Ledger


class Receipt(str):
    """What :meth:`Classifier.forget` returns: the checksum of the model file as it now would be.

    It equals the checksum of a model that never saw the rows. ``forgotten`` and ``rows`` are the numbers of rows
    forgotten and left. ``proven`` is true if a ledger proves that exactly these rows had been learned; counts alone
    cannot prove it.

    Examples
    --------
    >>> receipt = Receipt("9f86d081", forgotten=1, rows=41)
    >>> receipt, receipt.rows, receipt.proven
    ('9f86d081', 41, False)
    """

    forgotten: int
    rows: int
    proven: bool

    def __new__(cls, checksum: str, forgotten: int, rows: int, proven: bool = False) -> Receipt:
        receipt = super().__new__(cls, checksum)
        receipt.forgotten, receipt.rows, receipt.proven = forgotten, rows, proven
        return receipt


def sum_rows(
    stream: Iterable[Batch],
    resolved: Resolved,
    label: str,
    threads: int | None,
    salt: bytes | None = None,
    embedder: Embedder | None = None,
) -> tuple[Sums, Ledger | None]:
    """Add up rows with resolved settings; with a salt, enter them in a ledger, too."""
    summing, ledger = resolved.summing(threads), empty_ledger(salt)
    for batch in stream:
        named = read_as(resolved, batch, label, embedder)
        summing.add(named, label)
        if ledger is not None:
            ledger = ledger + ledger.of(named, resolved.columns, label, ledger.salt)
    return summing.sums(), ledger


def read_as(resolved: Resolved, batch: Batch, label: str, embedder: Embedder | None) -> Batch:
    """Return a batch with the columns of a model: as they are named, and with embeddings."""
    named = with_names(batch, resolved.columns, label)
    return with_embeddings(named, resolved.features, embedder, resolved.embedder)


def empty_ledger(salt: bytes | None) -> Ledger | None:
    """Return the ledger of no rows, or None without a salt."""
    if salt is None:
        return None
    from discern.statistics.ledger import Ledger

    return Ledger.empty(salt)


def with_names(batch: Batch, features: Sequence[Feature], label: str = "") -> Batch:
    """Take the only column of a batch for the only text or vector column if nothing else can be meant; the rest is
    missing.

    Columns that records lack are missing, unless the records have columns that nobody knows: those may be misspelled.
    """
    names = [feature.name for feature in features]
    here = {*batch.columns}
    role = "vector" if "vector" in here and len(here) == 1 and "vector" not in names else "text"
    texts = [feature.name for feature in features if feature.role == role]
    if batch.is_partial and here <= {*names, label} and not here.isdisjoint(names):
        columns = batch.columns
    elif len(texts) == 1 and len(here) == 1 and here.isdisjoint({*names} - {role}):
        columns = {texts[0]: next(iter(batch.columns.values()))}
    else:
        return batch
    missing = {name: [None] * batch.rows for name in names if name not in columns}
    return replace(batch, columns={**columns, **missing}) if missing or columns is not batch.columns else batch
