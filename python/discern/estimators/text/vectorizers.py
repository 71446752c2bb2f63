"""Vectorizers of texts, with scikit-learn's parameters and results."""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction import text as sklearn_text
from sklearn.preprocessing import normalize
from sklearn.utils._param_validation import StrOptions

import discern._native as _native
from discern.data.strings import Strings
from discern.data.text import TextSettings
from discern.data.threads import default_threads
from discern.estimators.text.documents import NativeTerms, length_of
from discern.estimators.text.vocabulary import Vocabulary


def _matrix_class() -> Any:
    """Return the sparse class that scikit-learn's vectorizers give."""
    return type(sklearn_text.CountVectorizer().fit_transform(["word"]))


MATRIX = _matrix_class()
PUBLIC_KEY = int.from_bytes(b"discern, public!", "big")
"""The key of hashing vectorizers that have none of their own."""


class CountVectorizer(NativeTerms, sklearn_text.CountVectorizer):
    """Turn documents into a matrix of term counts, as scikit-learn's ``CountVectorizer`` does, many times faster.

    All parameters and attributes are scikit-learn's. Documents may also be an Arrow column.

    Examples
    --------
    >>> vectorizer = CountVectorizer()
    >>> vectorizer.fit_transform(["one fish two fish", "red fish"]).toarray()
    array([[2, 1, 0, 1],
           [1, 0, 1, 0]])
    >>> vectorizer.get_feature_names_out().tolist()
    ['fish', 'one', 'red', 'two']
    """

    def fit(self, raw_documents: Iterable[Any], y: Any = None) -> CountVectorizer:
        """Learn the vocabulary."""
        self.fit_transform(raw_documents)
        return self

    def fit_transform(self, raw_documents: Iterable[Any], y: Any = None) -> Any:
        """Learn the vocabulary and return the matrix of counts."""
        self._validate_params()
        if isinstance(raw_documents, str):
            raise ValueError("Iterable over raw text documents expected, string object received.")
        self._validate_ngram_range()
        self._warn_for_unused_params()
        self._forget_terms()
        self._validate_vocabulary()
        if self.fixed_vocabulary_:
            self._warn_of_upper_case()
            return self._count_fixed(raw_documents)
        documents, settings = self._native_input(raw_documents)
        counter = _native.Counter(settings.native, keep_rows=True)
        rows = length_of(documents)
        counter.add(documents, np.zeros(rows, np.int32), 1, default_threads())
        drained = counter.drain()
        terms = Strings(drained.offsets, drained.bytes)
        if not len(terms):
            raise ValueError("empty vocabulary; perhaps the documents only contain stop words")
        matrix = self._matrix(drained.rows, rows, len(terms))
        keep = self._remaining_terms(matrix) if self._limits_terms() else None
        if keep is not None:
            terms, matrix = terms.take(keep), _with_columns(matrix, keep)
        self._terms = terms
        return matrix

    def transform(self, raw_documents: Iterable[Any]) -> Any:
        """Return the matrix of counts of known terms."""
        if isinstance(raw_documents, str):
            raise ValueError("Iterable over raw text documents expected, string object received.")
        if not hasattr(self, "_terms"):
            self._check_vocabulary()
        return self._count_fixed(raw_documents)

    # The vocabulary is kept as bytes and becomes a dict when it is first used.

    @property
    def vocabulary_(self) -> dict[str, int]:
        """A mapping of terms to columns. It may be edited."""
        if "_vocabulary" not in self.__dict__:
            if "_terms" not in self.__dict__:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute 'vocabulary_'")
            names = self._terms.to_list()
            self._vocabulary = Vocabulary(zip(names, range(len(names)), strict=True))
        return self._vocabulary

    @vocabulary_.setter
    def vocabulary_(self, vocabulary: dict[str, int]) -> None:
        self._forget_terms()
        self._vocabulary = Vocabulary(vocabulary)

    def __sklearn_is_fitted__(self) -> bool:
        return "_terms" in self.__dict__ or "_vocabulary" in self.__dict__

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name not in ("_lookup", "_in_order")}

    def _forget_terms(self, but_vocabulary: bool = False) -> None:
        for name in ("_terms", "_lookup", "_in_order", *([] if but_vocabulary else ["_vocabulary"])):
            self.__dict__.pop(name, None)

    def _count_fixed(self, raw_documents: Iterable[Any]) -> Any:
        documents, settings = self._native_input(raw_documents)
        vocabulary, columns = self._sorted_vocabulary(settings)
        rows, _ = vocabulary.rows(documents, default_threads())
        matrix = self._matrix(rows, len(rows.starts) - 1, len(columns))
        if not self._in_order:
            matrix.indices = columns.astype(matrix.indices.dtype)[matrix.indices]
            _check_columns(matrix.indices, len(columns))
        return matrix

    def _sorted_vocabulary(self, settings: TextSettings) -> tuple[_native.Vocabulary, NDArray[np.int64]]:
        """Return the terms sorted, as the native code looks them up, and the column of each."""
        if "_vocabulary" in self.__dict__ and self._vocabulary.edited:
            self._forget_terms(but_vocabulary=True)
            self._vocabulary.edited = False
        known = self.__dict__.get("_lookup")
        if known is not None and (known[0] is settings or known[0] == settings):
            return known[1], known[2]
        if "_terms" in self.__dict__:
            terms, columns = self._terms, np.arange(len(self._terms))
        else:
            names = sorted(self.vocabulary_, key=lambda term: term.encode("utf-8", "surrogatepass"))
            terms = Strings.of(names)
            columns = np.array([self.vocabulary_[name] for name in names], np.int64)
        vocabulary = _native.Vocabulary(settings.native, terms.offsets, np.ascontiguousarray(terms.data))
        self._lookup = (settings, vocabulary, columns)
        self._in_order = np.array_equal(columns, np.arange(len(columns)))
        return vocabulary, columns

    def _matrix(self, rows: _native.Rows, n_rows: int, n_columns: int) -> Any:
        starts = rows.starts if rows.starts[-1] > np.iinfo(np.int32).max else rows.starts.astype(np.int32)
        values = np.ones_like(rows.counts) if self.binary else rows.counts
        kind = self._count_type()
        values = values if values.dtype == kind else values.astype(kind)
        return MATRIX((values, rows.terms, starts), shape=(n_rows, n_columns))

    def _count_type(self) -> np.dtype[Any]:
        return np.dtype(self.dtype)

    def _limits_terms(self) -> bool:
        defaults = (self.max_df, self.min_df, self.max_features) == (1.0, 1, None)
        return not (defaults and isinstance(self.min_df, Integral) and isinstance(self.max_df, float))

    def _remaining_terms(self, matrix: Any) -> NDArray[np.bool_] | None:
        """Return which terms min_df, max_df and max_features leave; None if all."""
        rows, n_columns = matrix.shape
        documents = np.bincount(matrix.indices, minlength=n_columns)
        most, least = (
            float(limit) if isinstance(limit, Integral) else limit * rows for limit in (self.max_df, self.min_df)
        )
        if most < least:
            raise ValueError("max_df corresponds to < documents than min_df")
        keep = np.asarray((documents <= most) & (documents >= least))
        if self.max_features is not None and keep.sum() > self.max_features:
            # Ties as scikit-learn breaks them: by the same call on the same numbers.
            totals = np.asarray(matrix.sum(axis=0)).ravel()
            first = (-totals[keep]).argsort()[: self.max_features]
            kept = np.flatnonzero(keep)[first]
            keep = np.zeros(len(keep), bool)
            keep[kept] = True
        if not keep.any():
            raise ValueError("After pruning, no terms remain. Try a lower min_df or a higher max_df.")
        return None if keep.all() else keep

    def _warn_of_upper_case(self) -> None:
        if self.lowercase and any(any(map(str.isupper, term)) for term in self.vocabulary):
            warnings.warn(
                "Upper case characters found in vocabulary while 'lowercase' is True."
                " These entries will not be matched with any documents",
                stacklevel=3,
            )


def _with_columns(matrix: Any, keep: NDArray[np.bool_]) -> Any:
    """Return some columns of a sparse matrix, rows and order as they are."""
    number = np.cumsum(keep) - 1
    kept = keep[matrix.indices]
    before = np.concatenate([[0], np.cumsum(kept)])
    starts = before[matrix.indptr].astype(matrix.indptr.dtype)
    indices = number[matrix.indices[kept]].astype(matrix.indices.dtype)
    return type(matrix)((matrix.data[kept], indices, starts), shape=(matrix.shape[0], int(keep.sum())))


def _check_columns(columns: NDArray[Any], n_columns: int) -> None:
    """Refuse terms that an edited vocabulary numbers beyond its size."""
    least, most = columns.min(initial=0), columns.max(initial=0)
    if least < 0 or most >= n_columns:
        raise ValueError(
            f"vocabulary_ has {n_columns} terms, but one of them has column {least if least < 0 else most}: number the "
            f"terms from 0 to {n_columns - 1}"
        )


@dataclass(eq=False, repr=False, kw_only=True)
class HashingVectorizer(NativeTerms, sklearn_text.HashingVectorizer, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """Turn documents into a matrix of hashed term counts, with a key of your own if you want one.

    Parameters are scikit-learn's and one more. By default the key of the hash is public, so that vectorizers with equal
    parameters return equal columns, in every process and on every machine. Anybody can then look for a word that falls
    into the column of a bad word with the opposite sign and so erase it. Where texts come from people who want to
    mislead the model, use a secret key. The columns are not those of scikit-learn, which hashes by another function.

    Parameters
    ----------
    key : int or "secret", optional
        The key of the hash, below 2**128. ``"secret"`` draws a random one at the first use and keeps it with the
        model, also when it is pickled; ``key_`` shows it. By default a fixed public key is used.

    Examples
    --------
    >>> vectorizer = HashingVectorizer(n_features=999, key=7, norm=None, alternate_sign=False)
    >>> matrix = vectorizer.transform(["one fish two fish"])
    >>> matrix.shape, sorted(matrix.data.tolist())
    ((1, 999), [1.0, 1.0, 2.0])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **sklearn_text.HashingVectorizer._parameter_constraints,
        "key": [Integral, StrOptions({"secret"}), None],
    }

    input: str = "content"
    encoding: str = "utf-8"
    decode_error: str = "strict"
    strip_accents: Any = None
    lowercase: bool = True
    preprocessor: Any = None
    tokenizer: Any = None
    stop_words: Any = None
    token_pattern: Any = r"(?u)\b\w\w+\b"
    ngram_range: tuple[int, int] = (1, 1)
    analyzer: Any = "word"
    n_features: int = 2**20
    binary: bool = False
    norm: str | None = "l2"
    alternate_sign: bool = True
    dtype: Any = np.float64
    key: int | str | None = None

    @property
    def key_(self) -> int:
        """The key in use."""
        if self.key is None:
            return PUBLIC_KEY
        if self.key != "secret":
            return int(self.key)
        if "_key" not in self.__dict__:
            self._key = secrets.randbits(128)
        return self._key

    def transform(self, X: Iterable[Any]) -> Any:
        """Return the matrix of hashed counts."""
        self._validate_ngram_range()
        documents, settings = self._native_input(X)
        counter = _native.Counter(settings.native, keep_rows=True)
        rows = length_of(documents)
        counter.add(documents, np.zeros(rows, np.int32), 1, default_threads())
        key = self.key_ % (1 << 128)
        starts, columns, values = counter.hashed((key >> 64, key % (1 << 64)), self.n_features, self.alternate_sign)
        matrix = MATRIX((values, columns, starts), shape=(rows, self.n_features))
        if matrix.dtype != self.dtype:
            matrix = matrix.astype(self.dtype)
        matrix.sum_duplicates()
        if self.binary:
            matrix.data.fill(1)
        return matrix if self.norm is None or not rows else _normalized(matrix, self.norm)


def _normalized(matrix: Any, norm: str) -> Any:
    """Bring the rows of a sparse matrix to unit length, in place."""
    if matrix.dtype != np.float64 or norm == "max":
        return normalize(matrix, norm=norm, copy=False)
    starts, terms = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32, copy=False)
    _native.weigh(starts, terms, matrix.data, False, None, False, norm, default_threads())
    return matrix
