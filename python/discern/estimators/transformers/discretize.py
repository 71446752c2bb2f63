"""Numbers to bins, as a scikit-learn transformer."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_feature_names_in, check_array, check_is_fitted, validate_data

from discern.data.bins import MISSING, STRATEGIES, assign_columns, from_one_hot, one_hot, table_edges
from discern.estimators.checks import numbered, summable_weights
from discern.estimators.rows import check_fitted, checked_rows

Array = NDArray[Any]
_FLOATS = (np.float64, np.float32)


@dataclass(eq=False, repr=False)
class Discretizer(TransformerMixin, BaseEstimator):
    """Put numbers into bins: equally full, equally wide, or chosen to separate the classes.

    Parameters are those of scikit-learn's ``KBinsDiscretizer`` where it has them, and so are the edges.

    Parameters
    ----------
    n_bins : int or array-like of int
        The number of bins, for all columns or for each; ``"mdl"`` finds its own.
    encode : {"onehot", "onehot-dense", "ordinal"}
        A column of zeros and ones for each bin (sparse or dense), or the number of the bin.
    strategy : {"quantile", "uniform", "mdl"}
        Equally many numbers in each bin, bins of equal width, or cuts where the entropy of the classes falls most, as
        many as pay for their description (Fayyad and Irani 1993); the last needs ``y``.
    missing : {"pass", "code"}
        What becomes of NaN: it stays NaN (``"ordinal"``) or has no one in any column (``"onehot"``); or it gets a code,
        or a column, of its own behind the bins. Infinities belong to the first and the last bin.

    Attributes
    ----------
    bin_edges_ : ndarray of ndarray
        The edges of each column; −∞ and ∞, one bin, if it holds no two different numbers.
    n_bins_ : ndarray of int
        How many bins each column has. Edges that coincide are one: heavy ties give fewer bins than wanted.

    Examples
    --------
    >>> ages = [[18.0], [20.0], [30.0], [70.0], [float("nan")]]
    >>> Discretizer(2, encode="ordinal").fit_transform(ages).ravel().tolist()
    [0.0, 0.0, 1.0, 1.0, nan]
    >>> young = [True, True, False, False, False]
    >>> Discretizer(strategy="mdl").fit(ages * 3, young * 3).bin_edges_[0].tolist()
    [18.0, 25.0, 70.0]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_bins": [Interval(Integral, 2, None, closed="left"), "array-like"],
        "encode": [StrOptions({"onehot", "onehot-dense", "ordinal"})],
        "strategy": [StrOptions(set(STRATEGIES))],
        "missing": [StrOptions({"pass", "code"})],
    }
    bin_edges_: Array = field(init=False)
    n_bins_: Array = field(init=False)

    n_bins: Any = 5
    _: KW_ONLY
    encode: str = "onehot"
    strategy: str = "quantile"
    missing: str = "pass"

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the edges of the bins of each column; a row of weight 2 is as two rows."""
        self._validate_params()
        classes = None
        if self.strategy == "mdl":
            X, y = validate_data(self, X, y, dtype=_FLOATS, ensure_all_finite=False)
            classes = numbered(y).numbers
        else:
            X = validate_data(self, X, dtype=_FLOATS, ensure_all_finite=False)
        weights = summable_weights(sample_weight, X, ensure_non_negative=True)
        bins = self._wanted_bins(X.shape[1])
        self.bin_edges_ = np.empty(X.shape[1], object)
        self.bin_edges_[:] = table_edges(X, classes, self.strategy, bins, weights)
        self.n_bins_ = np.array([len(column) - 1 for column in self.bin_edges_])
        return self

    def transform(self, X: Any) -> Any:
        """Return the bin of each number, encoded."""
        check_fitted(self)
        X = checked_rows(self, X, dtype=np.float64, ensure_all_finite=False)
        codes = assign_columns(X, list(self.bin_edges_))
        if self.missing == "code":
            codes = np.where(codes == MISSING, self.n_bins_, codes)
        if self.encode == "ordinal":
            return np.where(codes == MISSING, np.nan, codes)
        matrix = one_hot(codes, self._n_levels())
        return matrix if self.encode == "onehot" else matrix.toarray()

    def inverse_transform(self, X: Any) -> Array:
        """Return the middle of the bin of each number; NaN for what is missing."""
        check_is_fitted(self)
        X = check_array(X, accept_sparse="csr", dtype=np.float64, ensure_all_finite="allow-nan")
        n_levels = self._n_levels()
        expected = len(n_levels) if self.encode == "ordinal" else sum(n_levels)
        if X.shape[1] != expected:
            raise ValueError(f"X has {X.shape[1]} columns, but this Discretizer returns {expected}")
        if self.encode == "ordinal":
            codes = np.nan_to_num(X, nan=MISSING).astype(np.int64)
        else:
            codes = from_one_hot(X.toarray() if hasattr(X, "toarray") else X, n_levels)
        if (codes >= n_levels).any() or (codes < MISSING).any():
            raise ValueError("X has a code that no bin has; pass what transform returned")
        return np.stack([self._middles(place)[codes[:, place]] for place in range(len(n_levels))], axis=1)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the columns of the result: of the columns, and of their bins if there is one for each."""
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        if self.encode == "ordinal":
            return np.asarray(names, object)
        codes = [[*map(str, range(bins)), *self._extra()] for bins in self.n_bins_]
        return np.array([f"{name}_{code}" for name, some in zip(names, codes, strict=True) for code in some], object)

    # --------------------------------------------------------------------------------------------------- details

    def _extra(self) -> list[str]:
        return ["missing"] if self.missing == "code" else []

    def _n_levels(self) -> list[int]:
        return [int(bins) + len(self._extra()) for bins in self.n_bins_]

    def _middles(self, place: int) -> Array:
        """Return the middle of each bin of a column, and NaN behind them for what is missing."""
        column = self.bin_edges_[place]
        middles = column[:-1] / 2 + column[1:] / 2 if np.isfinite(column).all() else np.zeros(1)
        return np.append(middles, np.nan)

    def _wanted_bins(self, columns: int) -> list[int]:
        wanted = np.asarray(self.n_bins)
        if wanted.ndim > 1 or (wanted.ndim and len(wanted) != columns):
            raise ValueError(f"n_bins must be a number or one for each of the {columns} columns, not {self.n_bins!r}")
        if not np.issubdtype(wanted.dtype, np.integer) or (wanted < 2).any():
            raise ValueError(f"n_bins must be whole numbers of at least 2, not {self.n_bins!r}")
        return [int(bins) for bins in np.broadcast_to(wanted, columns)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = self.strategy == "mdl"
        return tags
