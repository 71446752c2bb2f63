"""tf–idf: how counts of terms become weights. The idf comes from the document counts, without a second pass."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import discern._native as _native
from discern.data.threads import default_threads
from discern.statistics.counts import Counts

if TYPE_CHECKING:
    from numpy.typing import NDArray

NORMS = ("l1", "l2", None)


@dataclass(frozen=True)
class Weighting:
    """Settings of tf–idf, named as in scikit-learn.

    Parameters
    ----------
    norm : {"l2", "l1", None}
        Scale the weights of each document so that their squares or absolute values sum to one; None leaves them.
    use_idf : bool
        Whether rare terms weigh more, by 1 + ln(documents / documents with the term).
    smooth_idf : bool
        Whether the idf counts one additional document that contains every term.
    sublinear_tf : bool
        Whether a term that occurs tf times counts 1 + ln tf.

    Examples
    --------
    >>> counts = Counts.of(["win win", "win prize"], ["spam", "spam"])
    >>> Weighting().idf_of(counts).tolist()
    [1.405465, 1.0]
    """

    norm: str | None = "l2"
    use_idf: bool = True
    smooth_idf: bool = True
    sublinear_tf: bool = False

    def __post_init__(self) -> None:
        if self.norm not in NORMS:
            raise ValueError(f"norm must be 'l1', 'l2' or None, not {self.norm!r}")

    def idf(self, documents: NDArray[Any], rows: int) -> NDArray[np.float64] | None:
        """Return the idf of terms from their document frequencies among ``rows`` documents; None if it is not used."""
        if not self.use_idf:
            return None
        more = int(self.smooth_idf)
        with np.errstate(divide="ignore"):  # a term of no document, without smoothing
            return np.asarray(np.log((rows + more) / (np.asarray(documents, np.float64) + more)) + 1.0)

    def idf_of(self, counts: Counts) -> NDArray[np.float64] | None:
        """Return the idf of the terms of counts."""
        return self.idf(counts.term_documents, counts.rows)

    def weigh(
        self,
        starts: NDArray[Any],
        terms: NDArray[Any],
        counts: NDArray[Any],
        idf: NDArray[np.float64] | None,
        reuse: bool = False,
    ) -> NDArray[np.float64]:
        """Return the weights of rows of counts, laid out as scipy's sparse rows are.

        With ``reuse`` the weights may overwrite the counts.
        """
        kind = np.int64 if counts.dtype.kind in "iub" else np.float64
        given = np.array(counts, kind, order="C", copy=None if reuse and counts.flags.writeable else True)
        values = given.view(np.float64)
        _native.weigh(
            np.ascontiguousarray(starts, np.int64),
            np.ascontiguousarray(terms, np.int32),
            values,
            kind is np.int64,
            idf,
            self.sublinear_tf,
            self.norm or "none",
            default_threads(),
        )
        return values

    @staticmethod
    def documents(terms: NDArray[Any], n_terms: int) -> NDArray[np.int64]:
        """Count the rows that contain each of ``n_terms`` terms, given the terms of all rows."""
        return _native.term_rows(np.ascontiguousarray(terms, np.int32), n_terms)

    def to_json(self) -> dict[str, Any]:
        """Return the settings as plain values, for the model file."""
        return asdict(self)
