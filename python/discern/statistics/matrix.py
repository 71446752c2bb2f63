"""The term–document matrix: the counts of each term in each document, for other tools."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import discern._native as _native
from discern.data.batch import as_texts
from discern.data.strings import Strings
from discern.data.text import TextSettings
from discern.data.threads import default_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class TermDocumentMatrix:
    """Counts of terms by document: document i has the terms ``columns[starts[i]:starts[i + 1]]``, ascending.

    Examples
    --------
    >>> matrix = TermDocumentMatrix.of(["one fish two fish", "red fish"])
    >>> matrix.to_scipy().toarray().tolist()
    [[2, 1, 0, 1], [1, 0, 1, 0]]
    >>> matrix.to_arrow().slice(0, 2).to_pylist()
    [{'document': 0, 'term': 'fish', 'count': 2}, {'document': 0, 'term': 'one', 'count': 1}]
    """

    terms: Strings
    starts: NDArray[np.int64]
    columns: NDArray[np.int32]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, documents: Any, text: TextSettings | None = None) -> TermDocumentMatrix:
        """Count the terms of documents, a list of strings or an Arrow column."""
        texts = as_texts(documents, "the documents")
        counter = _native.Counter((text or TextSettings()).native, keep_rows=True)
        counter.add(texts, np.zeros(len(documents), np.int32), 1, default_threads())
        drained = counter.drain()
        terms, rows = Strings(drained.offsets, drained.bytes), drained.rows
        documents_of = np.repeat(np.arange(len(rows.starts) - 1), np.diff(rows.starts))
        order = np.lexsort((rows.terms, documents_of))  # terms come as they first occur
        return cls(terms, rows.starts, rows.terms[order], rows.counts[order])

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of documents and terms."""
        return len(self.starts) - 1, len(self.terms)

    def to_scipy(self) -> Any:
        """Return a sparse array of scipy, documents × terms."""
        import scipy.sparse

        return scipy.sparse.csr_array((self.counts, self.columns, self.starts), shape=self.shape)

    def to_arrow(self) -> Any:
        """Return an Arrow table of (document, term, count) with a row for each nonzero count.

        The terms are a dictionary: each is stored once.
        """
        import pyarrow as pa

        names = pa.array(self.terms.to_list(), pa.string())
        documents = np.repeat(np.arange(self.shape[0]), np.diff(self.starts))
        terms = pa.DictionaryArray.from_arrays(pa.array(self.columns, pa.int32()), names)
        return pa.table({"document": documents, "term": terms, "count": self.counts})

    def write_matrix_market(self, path: str | os.PathLike[str]) -> None:
        """Write a Matrix Market file, documents × terms, and the terms, a line each, at the path with ``.terms``."""
        from scipy.io import mmwrite

        if any("\n" in term or "\r" in term for term in self.terms.to_list()):
            raise ValueError("a term has a line break in it; a list of terms by lines cannot hold it")
        with open(path, "wb") as file:
            mmwrite(file, self.to_scipy(), comment="documents by terms", field="integer", symmetry="general")
        with open(f"{os.fspath(path)}.terms", "w", encoding="utf-8", newline="\n", errors="surrogatepass") as file:
            file.writelines(f"{term}\n" for term in self.terms.to_list())
