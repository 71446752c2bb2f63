"""Basis expansion as transformers, for a pipeline before any linear classifier."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import (
    _check_feature_names_in,
    _check_sample_weight,
    check_array,
    check_is_fitted,
    validate_data,
)

from discern.estimators.checks import refuse_huge, refuse_unfit
from discern.estimators.rows import check_fitted, checked_rows
from discern.learners.basis import (
    fitting_width,
    gaussian_features,
    kmeans_centers,
    quadratic_features,
    quadratic_names,
    sampled_centers,
)

Array = NDArray[Any]


@dataclass(eq=False, repr=False, kw_only=True)
class QuadraticFeatures(TransformerMixin, BaseEstimator):
    """The columns, their products by two, and their squares: x1, x2, x1·x2, x1², x2².

    Parameters
    ----------
    products : bool
        Whether to add the products of two columns.
    squares : bool
        Whether to add the squares.

    Examples
    --------
    >>> import pandas as pd
    >>> features = QuadraticFeatures().fit(pd.DataFrame({"age": [1.0, 2.0], "pay": [3.0, 4.0]}))
    >>> features.get_feature_names_out().tolist()
    ['age', 'pay', 'age pay', 'age^2', 'pay^2']
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {"products": ["boolean"], "squares": ["boolean"]}

    products: bool = True
    squares: bool = True

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn how many columns there are and what they are called."""
        self._validate_params()
        refuse_unfit(validate_data(self, X, ensure_all_finite=False), self)
        return self

    def transform(self, X: Any) -> Array:
        """Return the columns and those made of them."""
        check_fitted(self)
        return quadratic_features(checked_rows(self, X, dtype=np.float64), self.products, self.squares)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Name the columns after those they are made of."""
        check_is_fitted(self, "n_features_in_")
        return quadratic_names(_check_feature_names_in(self, input_features), self.products, self.squares)


@dataclass(eq=False, repr=False)
class GaussianBasis(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Gaussian bumps exp(−‖x−c‖²/2s²) around centers.

    Parameters
    ----------
    n_centers : int
        How many bumps; fewer if there are fewer distinct rows.
    centers : {"k-means", "sample"} or array of shape (centers, columns)
        Where they are: by k-means, on rows drawn at random, or as given.
    width : float or "auto"
        s; ``"auto"`` is the mean distance of a center from the one nearest to it.
    random_state : int, RandomState or None

    Attributes
    ----------
    centers_ : array of shape (centers, columns)
    width_ : float

    Examples
    --------
    >>> basis = GaussianBasis(centers=[[0.0], [2.0]], width=1.0).fit([[0.0], [1.0]])
    >>> basis.transform([[0.0]]).round(4).tolist(), basis.get_feature_names_out().tolist()
    ([[1.0, 0.1353]], ['gaussianbasis0', 'gaussianbasis1'])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_centers": [Interval(Integral, 1, None, closed="left")],
        "centers": [StrOptions({"k-means", "sample"}), "array-like"],
        "width": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
    }
    centers_: Array = field(init=False)
    width_: float = field(init=False)

    n_centers: int = 20
    _: KW_ONLY
    centers: Any = "k-means"
    width: Any = "auto"
    random_state: Any = None

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Place the centers and fit the width."""
        self._validate_params()
        X = validate_data(self, X, dtype=np.float64)
        refuse_huge(X)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
        if weights.min() < 0 or not weights.any():
            raise ValueError("sample_weight must be at least 0, and above 0 for some row")
        self.centers_ = self._placed(X, weights)
        self.width_ = fitting_width(self.centers_, X, weights) if self.width == "auto" else float(self.width)
        return self

    def transform(self, X: Any) -> Array:
        """Return the height of each bump at each row."""
        check_fitted(self)
        return gaussian_features(checked_rows(self, X, dtype=np.float64), self.centers_, self.width_)

    @property
    def _n_features_out(self) -> int:
        return len(self.centers_)

    def _placed(self, X: Array, weights: Array) -> Array:
        if not isinstance(self.centers, str):
            centers = check_array(self.centers, dtype=np.float64, input_name="centers")
            if centers.shape[1] != X.shape[1]:
                raise ValueError(f"centers have {centers.shape[1]} columns and the rows {X.shape[1]}; they must match")
            return np.asarray(centers)
        place = kmeans_centers if self.centers == "k-means" else sampled_centers
        return place(X, weights, self.n_centers, check_random_state(self.random_state))
