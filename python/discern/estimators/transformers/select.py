"""Selection of features, with scikit-learn's parameters and results."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn import feature_selection as sklearn_selection
from sklearn.feature_selection import f_classif
from sklearn.utils import check_X_y
from sklearn.utils.multiclass import check_classification_targets, is_multilabel
from sklearn.utils.validation import check_is_fitted, check_non_negative

from discern.estimators.checks import refuse_huge
from discern.statistics.selection import Contingency, best, chi2_of_sets, chi2_scores, scores_alone, scores_by_class

Array = NDArray[Any]


def _table(X: Any, y: Any, presence: bool, name: str) -> Contingency:
    X, y = _checked(X, y, name)
    labels, classes = np.unique(y, return_inverse=True)
    return Contingency.of_matrix(X, classes, len(labels), presence)


def _checked(X: Any, y: Any, name: str, **rules: Any) -> tuple[Any, Array]:
    X, y = check_X_y(X, y, accept_sparse="csr", dtype=(np.float64, np.float32, np.int64, np.int32), **rules)
    check_classification_targets(y)
    check_non_negative(X, name)
    refuse_huge(X)
    return X, y


def _dense(y: Any) -> Any:
    return y.toarray() if hasattr(y, "toarray") else y


def chi2(X: Any, y: Any) -> tuple[Array, Array]:
    """Return χ² between each column of counts and the class, and the p values, as scikit-learn's ``chi2`` does.

    ``y`` may hold sets of labels: a row of zeros and ones for each row of ``X``.

    Examples
    --------
    >>> scores, p_values = chi2([[1, 0], [0, 2]], ["ham", "spam"])
    >>> scores.tolist(), p_values.tolist()
    ([1.0, 2.0], [0.317311, 0.157299])
    """
    if is_multilabel(y):
        return chi2_of_sets(*_checked(X, _dense(y), "chi2", multi_output=True))
    return chi2_scores(_table(X, y, False, "chi2"))


def mutual_information(X: Any, y: Any) -> Array:
    """Return the mutual information, in nats, of the class and the presence of each term.

    Equal to ``sklearn.metrics.mutual_info_score`` of the class and ``X[:, j] != 0`` for each column j. ``y`` may hold
    sets of labels: it is then the sum over labels, each against the rest.

    Examples
    --------
    >>> mutual_information([[1, 0], [3, 0], [0, 1]], ["spam", "spam", "ham"]).tolist()
    [0.636514, 0.636514]
    """
    if is_multilabel(y):
        return np.asarray(_by_label(X, y, "mutual_information").sum(axis=1))
    return scores_alone(_table(X, y, True, "mutual_information"), "mutual_information")


def _by_label(X: Any, y: Any, name: str) -> Array:
    """Return the score of each column for each label of sets against the rest, columns × labels."""
    X, sets = _checked(X, _dense(y), name, multi_output=True)
    presence = name == "mutual_information"
    tables = (Contingency.of_matrix(X, (column != 0).astype(np.int64), 2, presence) for column in sets.T)
    return np.column_stack([scores_alone(table, name) for table in tables])


_NAMES = {chi2: "chi2", sklearn_selection.chi2: "chi2", mutual_information: "mutual_information"}


class SelectKBest(sklearn_selection.SelectKBest):
    """Keep the features with the k highest scores, as scikit-learn's ``SelectKBest`` does, or k for each class.

    Parameters
    ----------
    score_func : callable
        As in scikit-learn; :func:`chi2` and :func:`mutual_information` are those for counts of terms.
    k : int or "all"
        How many features are kept.
    per_class : bool
        Keep the k best for each class, or each label of sets, against all others, with ``chi2`` or
        ``mutual_information``.

    Examples
    --------
    >>> SelectKBest(chi2, k=1).fit_transform([[1, 0, 1], [0, 3, 1]], ["ham", "spam"]).tolist()
    [[0], [3]]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **sklearn_selection.SelectKBest._parameter_constraints,
        "per_class": ["boolean"],
    }

    def __init__(self, score_func: Any = f_classif, *, k: Any = 10, per_class: bool = False) -> None:
        super().__init__(score_func, k=k)
        self.per_class = per_class

    def fit(self, X: Any, y: Any = None) -> SelectKBest:
        """Score the features."""
        super().fit(X, y)
        self.__dict__.pop("class_scores_", None)
        if self.per_class:
            if self.score_func not in _NAMES:
                raise ValueError("per_class needs chi2 or mutual_information as score_func")
            self.class_scores_ = self._scores_by_class(X, y, _NAMES[self.score_func])
        return self

    def _scores_by_class(self, X: Any, y: Any, name: str) -> Array:
        """Return the scores of each class, or each label, against all others, in columns."""
        if is_multilabel(y):
            return _by_label(X, y, name)
        return scores_by_class(_table(X, y, name == "mutual_information", name), name)

    def _get_support_mask(self) -> Array:
        check_is_fitted(self)
        if not self.per_class or self.k == "all":
            return np.asarray(super()._get_support_mask())
        return np.asarray(np.any([best(column, self.k) for column in self.class_scores_.T], axis=0))
