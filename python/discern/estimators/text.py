"""Vectorizers and tf–idf with scikit-learn's parameters and results."""

from __future__ import annotations

import re
import secrets
import warnings
from collections.abc import Iterable
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.feature_extraction import text as sklearn_text
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted, validate_data

import discern._native as _native
from discern.data.batch import as_texts, is_arrow
from discern.data.strings import Strings
from discern.data.text import TextSettings
from discern.data.threads import default_threads
from discern.statistics.weighting import Weighting

# Patterns that match whole runs of word characters, as the default pattern does.
_RUNS = re.compile(r"(?:\(\?u\))?(?:\\b)?((?:\\w)*)\\w(?:\+|\{(\d+),\})(?:\\b)?")


class _NativeTerms:
    """What both vectorizers share: which documents and text settings go to the native code."""

    def _native_input(self, raw_documents: Iterable[Any]) -> tuple[Any, TextSettings]:
        """Return the documents as the native code takes them, and the settings to read them by."""
        vectorizer: Any = self
        if isinstance(raw_documents, str):
            raise ValueError("Iterable over raw text documents expected, string object received.")
        arrow = hasattr(raw_documents, "__arrow_c_stream__") or hasattr(raw_documents, "__arrow_c_array__")
        if vectorizer.input == "content" and arrow:
            documents = native = as_texts(raw_documents, "the documents")
        elif vectorizer.input == "content" and isinstance(raw_documents, Strings):
            documents = native = raw_documents.native()
        else:
            documents, native = self._decoded(raw_documents)
        settings = self._settings(documents)
        if settings is None:
            return self._analyzed(documents), TextSettings(analyzer="given")
        if vectorizer.strip_accents is not None or vectorizer.preprocessor is not None:
            preprocess = vectorizer.build_preprocessor()
            return [preprocess(document) for document in _as_list(documents)], settings
        return native, settings

    def _decoded(self, raw_documents: Iterable[Any]) -> tuple[list[Any], Any]:
        """Return a list of strings, or of what an analyzer of one's own takes, and the same for the native code."""
        vectorizer: Any = self
        documents = raw_documents if isinstance(raw_documents, list) else list(raw_documents)
        if vectorizer.input == "content":
            try:
                return documents, _native.Texts(documents)
            except TypeError:
                pass  # some are not strings
        decoded = [vectorizer.decode(document) for document in documents]
        return decoded, decoded

    def _analyzed(self, documents: Any) -> Any:
        """Return documents as lists of finished terms, for analyzers that only Python knows."""
        # input="content" of decoded text is what is left to do.
        analyze = self.build_analyzer()  # type: ignore[attr-defined]
        terms: list[str] = []
        ends: list[int] = []
        for document in _as_list(documents):
            terms.extend(analyze(document))
            ends.append(len(terms))
        return ("terms", terms, ends)

    def _settings(self, documents: Any) -> TextSettings | None:
        vectorizer: Any = self
        lowercase = vectorizer.lowercase and vectorizer.preprocessor is None and vectorizer.strip_accents is None
        ngrams = tuple(vectorizer.ngram_range)
        if vectorizer.analyzer in ("char", "char_wb"):
            return TextSettings(analyzer=vectorizer.analyzer, tokenizer="sklearn", lowercase=lowercase, ngrams=ngrams)
        if vectorizer.analyzer != "word" or vectorizer.tokenizer is not None:
            return None
        stop_words = tuple(vectorizer.get_stop_words() or ())
        common: dict[str, Any] = {
            "words": "sklearn",
            "lowercase": lowercase,
            "ngrams": ngrams,
            "stop_words": stop_words,
        }
        runs = _RUNS.fullmatch(vectorizer.token_pattern)
        if runs:
            least = len(runs[1]) // 2 + int(runs[2] or 1)
            return TextSettings(min_word_length=least, **common)
        pattern = linear_pattern(vectorizer.token_pattern)
        if pattern is None or not _is_ascii(documents):
            return None
        return TextSettings(analyzer="pattern", pattern=pattern, **common)


def linear_pattern(pattern: str) -> str | None:
    r"""Translate a pattern of Python's ``re`` for the linear-time engine, if both mean the same on ASCII text.

    Examples
    --------
    >>> linear_pattern(r"[a-z]+")
    '[a-z]+'
    >>> linear_pattern(r"(?=a)b") is None
    True
    """
    try:
        compiled = re.compile(pattern)
    except re.error:
        return None
    if compiled.groups > 1 or compiled.match("") or re.search(r"\$|\\[ZABG]|\(\?<?[=!aiLmsx]|\[:|&&|~~|--", pattern):
        return None
    spaces = r"\t-\r\x1c-\x20"
    classes = {r"\s": f"[{spaces}]", r"\S": f"[^{spaces}]"}
    translated = re.sub(r"\\.", lambda escape: classes.get(escape[0], escape[0]), pattern, flags=re.DOTALL)
    try:
        _native.Text("pattern", pattern=translated)
    except ValueError:
        return None
    return translated


def raw_texts(X: Any) -> Any:
    """Return a list or column of texts as the native code takes them, for classifiers that read texts themselves."""
    if isinstance(X, str | bytes) or getattr(X, "ndim", 1) != 1:
        raise ValueError("give a list or a column of texts, not a single one and not a table")
    if not isinstance(X, Strings) and not is_arrow(X):
        X = list(X)
        if any(isinstance(text, bytes) for text in X):
            raise ValueError("the texts hold bytes: decode them first, such as by text.decode('utf-8')")
    return as_texts(X, "the texts", missing="text")


def _is_ascii(documents: Any) -> bool:
    if isinstance(documents, tuple):
        return bool(np.all(documents[3] < 128)) if documents[0] == "spans" else False
    return all(document.isascii() for document in documents)


def _as_list(documents: Any) -> list[str]:
    if isinstance(documents, tuple) and documents[0] == "spans":
        _, starts, ends, data = documents
        return Strings(starts, data, ends).to_list()
    if isinstance(documents, tuple):
        raise ValueError("convert the column to large_string for a preprocessor, tokenizer or analyzer of your own")
    return list(documents)


class CountVectorizer(_NativeTerms, sklearn_text.CountVectorizer):
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
        """Learn the vocabulary and give the matrix of counts."""
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
        rows = _length(documents)
        counter.add(documents, np.zeros(rows, np.int32), 1, default_threads())
        drained = counter.drain()
        terms = Strings(drained.offsets, drained.bytes)
        if not len(terms):
            raise ValueError("empty vocabulary; perhaps the documents only contain stop words")
        matrix = self._matrix(drained.rows, rows, len(terms))
        keep = self._kept_terms(matrix) if self._limits_terms() else None
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

    # The vocabulary is kept as bytes and becomes a dict when somebody asks for it.

    @property
    def vocabulary_(self) -> dict[str, int]:
        """A mapping of terms to columns."""
        if "_vocabulary" not in self.__dict__:
            if "_terms" not in self.__dict__:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute 'vocabulary_'")
            names = self._terms.to_list()
            self._vocabulary = dict(zip(names, range(len(names)), strict=True))
        return self._vocabulary

    @vocabulary_.setter
    def vocabulary_(self, vocabulary: dict[str, int]) -> None:
        self._forget_terms()
        self._vocabulary = vocabulary

    def __sklearn_is_fitted__(self) -> bool:
        return "_terms" in self.__dict__ or "_vocabulary" in self.__dict__

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_lookup"}

    def _forget_terms(self) -> None:
        for name in ("_terms", "_vocabulary", "_lookup"):
            self.__dict__.pop(name, None)

    def _count_fixed(self, raw_documents: Iterable[Any]) -> Any:
        documents, settings = self._native_input(raw_documents)
        vocabulary, columns = self._sorted_vocabulary(settings)
        rows, _ = vocabulary.rows(documents, default_threads())
        matrix = self._matrix(rows, len(rows.starts) - 1, len(columns))
        if not np.array_equal(columns, np.arange(len(columns))):
            matrix.indices = columns.astype(matrix.indices.dtype)[matrix.indices]
        return matrix

    def _sorted_vocabulary(self, settings: TextSettings) -> tuple[_native.Vocabulary, NDArray[np.int64]]:
        """Return the terms sorted, as the native code looks them up, and the column of each."""
        known = self.__dict__.get("_lookup")
        if known is not None and known[0] == settings:
            return known[1], known[2]
        if "_terms" in self.__dict__:
            terms, columns = self._terms, np.arange(len(self._terms))
        else:
            names = sorted(self.vocabulary_, key=lambda term: term.encode("utf-8", "surrogatepass"))
            terms = Strings.of(names)
            columns = np.array([self.vocabulary_[name] for name in names], np.int64)
        vocabulary = _native.Vocabulary(settings.native, terms.offsets, np.ascontiguousarray(terms.data))
        self._lookup = (settings, vocabulary, columns)
        return vocabulary, columns

    def _matrix(self, rows: _native.Rows, height: int, width: int) -> Any:
        starts = rows.starts if rows.starts[-1] > np.iinfo(np.int32).max else rows.starts.astype(np.int32)
        values = np.ones_like(rows.counts) if self.binary else rows.counts
        kind = self._count_type()
        values = values if values.dtype == kind else values.astype(kind)
        return _MATRIX((values, rows.terms, starts), shape=(height, width))

    def _count_type(self) -> np.dtype[Any]:
        return np.dtype(self.dtype)

    def _limits_terms(self) -> bool:
        defaults = (self.max_df, self.min_df, self.max_features) == (1.0, 1, None)
        return not (defaults and isinstance(self.min_df, Integral) and isinstance(self.max_df, float))

    def _kept_terms(self, matrix: Any) -> NDArray[np.bool_] | None:
        """Return which terms min_df, max_df and max_features leave; None if all."""
        rows, width = matrix.shape
        documents = np.bincount(matrix.indices, minlength=width)
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


def _matrix_class() -> Any:
    """Return the sparse class that scikit-learn's vectorizers give."""
    return type(sklearn_text.CountVectorizer().fit_transform(["word"]))


_MATRIX = _matrix_class()


def _length(documents: Any) -> int:
    if isinstance(documents, tuple):
        kind, first, second = documents[:3]
        return {"spans": len(first), "views": len(first) // 16}.get(kind, len(second))
    return len(documents)


def _with_columns(matrix: Any, keep: NDArray[np.bool_]) -> Any:
    """Return some columns of a sparse matrix, rows and order as they are."""
    number = np.cumsum(keep) - 1
    kept = keep[matrix.indices]
    before = np.concatenate([[0], np.cumsum(kept)])
    starts = before[matrix.indptr].astype(matrix.indptr.dtype)
    indices = number[matrix.indices[kept]].astype(matrix.indices.dtype)
    return type(matrix)((matrix.data[kept], indices, starts), shape=(matrix.shape[0], int(keep.sum())))


class TfidfTransformer(sklearn_text.TfidfTransformer):
    """Turn a matrix of term counts into tf–idf weights, as scikit-learn's ``TfidfTransformer`` does, faster.

    All parameters and attributes are scikit-learn's.

    Examples
    --------
    >>> weights = TfidfTransformer().fit_transform([[2, 0], [1, 1]])
    >>> weights.toarray().tolist()
    [[1.0, 0.0], [0.579739, 0.814802]]
    """

    def fit(self, X: Any, y: Any = None) -> TfidfTransformer:
        """Learn the idf of each term."""
        self._validate_params()
        X = _sparse_rows(validate_data(self, X, accept_sparse=("csr", "csc")))
        documents = np.diff(X.indptr) if X.format == "csc" else Weighting.documents(X.indices, X.shape[1])
        return self._learn(documents, X.shape[0], X.dtype if X.dtype == np.float32 else np.dtype(np.float64))

    def transform(self, X: Any, copy: bool = True) -> Any:
        """Return the weights of rows of counts."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], copy=copy, reset=False)
        return self._weighted(_sparse_rows(X))

    def _learn(self, documents: NDArray[Any], rows: int, kind: np.dtype[Any]) -> TfidfTransformer:
        idf = self._weighting().idf(documents, rows)
        self.__dict__.pop("idf_", None)
        if idf is not None:
            self.idf_ = idf.astype(kind, copy=False)
        return self

    def _weighted(self, matrix: Any) -> Any:
        kind = matrix.dtype if matrix.dtype == np.float32 else np.dtype(np.float64)
        matrix.data = _weights(self._weighting(), matrix, getattr(self, "idf_", None)).astype(kind, copy=False)
        return _MATRIX(matrix) if type(matrix) is not _MATRIX else matrix

    def _weighting(self) -> Weighting:
        return Weighting(self.norm, bool(self.use_idf), bool(self.smooth_idf), bool(self.sublinear_tf))


def _sparse_rows(X: Any) -> Any:
    return X if scipy.sparse.issparse(X) else _MATRIX(X)


def _weights(weighting: Weighting, matrix: Any, idf: Any) -> NDArray[np.float64]:
    given = None if idf is None else np.ascontiguousarray(idf, np.float64)
    return weighting.weigh(matrix.indptr, matrix.indices, matrix.data, given, reuse=True)


class TfidfVectorizer(CountVectorizer, sklearn_text.TfidfVectorizer):
    """Turn documents into a matrix of tf–idf weights, as scikit-learn's ``TfidfVectorizer`` does, many times faster.

    All parameters and attributes are scikit-learn's. Documents may also be an Arrow column. The idf comes from the
    counts of documents that the one pass over the text gives.

    Examples
    --------
    >>> vectorizer = TfidfVectorizer()
    >>> vectorizer.fit_transform(["one fish two fish", "red fish"]).toarray().tolist()
    [[0.709297, 0.498446, 0.0, 0.498446], [0.579739, 0.0, 0.814802, 0.0]]
    >>> vectorizer.idf_.tolist()
    [1.0, 1.405465, 1.405465, 1.405465]
    """

    def fit(self, raw_documents: Iterable[Any], y: Any = None) -> TfidfVectorizer:
        """Learn vocabulary and idf."""
        self._count_and_learn(raw_documents)
        return self

    def fit_transform(self, raw_documents: Iterable[Any], y: Any = None) -> Any:
        """Learn vocabulary and idf and give the matrix of weights."""
        return self._weighted(self._count_and_learn(raw_documents))

    def transform(self, raw_documents: Iterable[Any]) -> Any:
        """Return the matrix of weights of known terms."""
        check_is_fitted(self, msg="The TF-IDF vectorizer is not fitted")
        return self._weighted(super().transform(raw_documents))

    def _count_and_learn(self, raw_documents: Iterable[Any]) -> Any:
        self._check_params()
        self._tfidf = TfidfTransformer(
            norm=self.norm, use_idf=self.use_idf, smooth_idf=self.smooth_idf, sublinear_tf=self.sublinear_tf
        )
        self._validate_params()
        counts = super().fit_transform(raw_documents)
        documents = Weighting.documents(counts.indices, counts.shape[1])
        self._tfidf._learn(documents, counts.shape[0], self._weight_type())
        self._tfidf.n_features_in_ = counts.shape[1]
        return counts

    def _weighted(self, counts: Any) -> Any:
        idf = self._tfidf.idf_ if hasattr(self._tfidf, "idf_") else None
        weighting = Weighting(self.norm, bool(self.use_idf), bool(self.smooth_idf), bool(self.sublinear_tf))
        counts.data = _weights(weighting, counts, idf).astype(self._weight_type(), copy=False)
        return counts

    def _count_type(self) -> np.dtype[Any]:
        return np.dtype(np.int64)  # the weights are computed from whole counts

    def _weight_type(self) -> np.dtype[Any]:
        kind = np.dtype(self.dtype)
        return kind if kind == np.float32 else np.dtype(np.float64)


class HashingVectorizer(_NativeTerms, sklearn_text.HashingVectorizer):
    """Turn documents into a matrix of hashed term counts, with a key that only the model knows.

    Parameters are scikit-learn's and one more. With a public hash, anybody can look for a word that falls into the
    column of a bad word with the opposite sign and so erase it; the key prevents that.

    Parameters
    ----------
    key : int, optional
        The secret key, below 2**128. By default each vectorizer draws its own at its first use (``key_``); give the
        same key to vectorizers that must agree.

    Examples
    --------
    >>> vectorizer = HashingVectorizer(n_features=999, key=7, norm=None, alternate_sign=False)
    >>> matrix = vectorizer.transform(["one fish two fish"])
    >>> matrix.shape, sorted(matrix.data.tolist())
    ((1, 999), [1.0, 1.0, 2.0])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **sklearn_text.HashingVectorizer._parameter_constraints,
        "key": [Integral, None],
    }

    def __init__(
        self,
        *,
        input: str = "content",
        encoding: str = "utf-8",
        decode_error: str = "strict",
        strip_accents: Any = None,
        lowercase: bool = True,
        preprocessor: Any = None,
        tokenizer: Any = None,
        stop_words: Any = None,
        token_pattern: Any = r"(?u)\b\w\w+\b",
        ngram_range: tuple[int, int] = (1, 1),
        analyzer: Any = "word",
        n_features: int = 2**20,
        binary: bool = False,
        norm: str | None = "l2",
        alternate_sign: bool = True,
        dtype: Any = np.float64,
        key: int | None = None,
    ) -> None:
        super().__init__(
            input=input,
            encoding=encoding,
            decode_error=decode_error,
            strip_accents=strip_accents,
            lowercase=lowercase,
            preprocessor=preprocessor,
            tokenizer=tokenizer,
            stop_words=stop_words,
            token_pattern=token_pattern,
            ngram_range=ngram_range,
            analyzer=analyzer,
            n_features=n_features,
            binary=binary,
            norm=norm,
            alternate_sign=alternate_sign,
            dtype=dtype,
        )
        self.key = key

    @property
    def key_(self) -> int:
        """The key in use."""
        if self.key is not None:
            return int(self.key)
        if "_key" not in self.__dict__:
            self._key = secrets.randbits(128)
        return self._key

    def transform(self, X: Iterable[Any]) -> Any:
        """Return the matrix of hashed counts."""
        self._validate_ngram_range()
        documents, settings = self._native_input(X)
        counter = _native.Counter(settings.native, keep_rows=True)
        rows = _length(documents)
        counter.add(documents, np.zeros(rows, np.int32), 1, default_threads())
        key = self.key_ % (1 << 128)
        starts, columns, values = counter.hashed((key >> 64, key % (1 << 64)), self.n_features, self.alternate_sign)
        matrix = _MATRIX((values, columns, starts), shape=(rows, self.n_features)).astype(self.dtype)
        matrix.sum_duplicates()
        if self.binary:
            matrix.data.fill(1)
        if self.norm is not None and rows:
            matrix = normalize(matrix, norm=self.norm, copy=False)
        return matrix


__all__ = ["CountVectorizer", "HashingVectorizer", "TfidfTransformer", "TfidfVectorizer", "linear_pattern"]
