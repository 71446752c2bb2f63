"""Tf–idf weights of texts and of counts, with scikit-learn's parameters and results."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.feature_extraction import text as sklearn_text
from sklearn.utils.validation import check_is_fitted, validate_data

from discern.estimators.text.vectorizers import MATRIX, CountVectorizer
from discern.statistics.weighting import Weighting


class TfidfTransformer(sklearn_text.TfidfTransformer, auto_wrap_output_keys=None):
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
        if self.use_idf and not self.smooth_idf and not np.all(documents):
            message = (
                "divide by zero: some columns are zero in every row, so their idf is infinite; use smooth_idf=True"
            )
            warnings.warn(message, RuntimeWarning, stacklevel=3)
        idf = _weighting(self).idf(documents, rows)
        self.__dict__.pop("idf_", None)
        if idf is not None:
            self.idf_ = idf.astype(kind, copy=False)
        return self

    def _weighted(self, matrix: Any) -> Any:
        kind = matrix.dtype if matrix.dtype == np.float32 else np.dtype(np.float64)
        matrix.data = _weights(_weighting(self), matrix, getattr(self, "idf_", None)).astype(kind, copy=False)
        return MATRIX(matrix) if type(matrix) is not MATRIX else matrix


def _weighting(of: Any) -> Weighting:
    return Weighting(of.norm, bool(of.use_idf), bool(of.smooth_idf), bool(of.sublinear_tf))


def _sparse_rows(X: Any) -> Any:
    return X if scipy.sparse.issparse(X) else MATRIX(X)


def _weights(weighting: Weighting, matrix: Any, idf: Any) -> NDArray[np.float64]:
    given = None if idf is None else np.ascontiguousarray(idf, np.float64)
    return weighting.weigh(matrix.indptr, matrix.indices, matrix.data, given, reuse=True)


class TfidfVectorizer(CountVectorizer, sklearn_text.TfidfVectorizer):
    """Turn documents into a matrix of tf–idf weights, as scikit-learn's ``TfidfVectorizer`` does, many times faster.

    All parameters and attributes are scikit-learn's. Documents may also be an Arrow column. The idf comes from the
    counts of documents of the same pass over the text.

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
        """Learn vocabulary and idf and return the matrix of weights."""
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
        counts.data = _weights(_weighting(self), counts, idf).astype(self._weight_type(), copy=False)
        return counts

    def _count_type(self) -> np.dtype[Any]:
        return np.dtype(np.int64)  # the weights are computed from whole counts

    def _weight_type(self) -> np.dtype[Any]:
        kind = np.dtype(self.dtype)
        return kind if kind == np.float32 else np.dtype(np.float64)
