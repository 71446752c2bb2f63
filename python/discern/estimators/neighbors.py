"""Classification by nearest neighbors, with scikit-learn's parameters and attributes."""

from __future__ import annotations

import os
import warnings
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn import neighbors as sklearn_neighbors
from sklearn.exceptions import DataConversionWarning
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from discern.data.encode import encode_labels
from discern.estimators.base import NOTHING_LEFT
from discern.estimators.rows import check_fitted, checked_rows
from discern.learners.neighbors.votes import Neighbors, distance_weights, output_shares, vote_shares
from discern.models.file import ModelFileError
from discern.models.file import load as load_file
from discern.models.file import save as save_file

Array = NDArray[Any]
_NATIVE = "discern"
_KINDS = {"U": str, "O": str, "i": int, "u": int, "f": float, "b": bool}


class KNeighborsClassifier(sklearn_neighbors.KNeighborsClassifier):
    """Classify by a vote of the nearest neighbors, found exactly.

    Parameters and attributes are scikit-learn's. The cosine of sparse rows is searched through an inverted index, the
    Euclidean distance of dense rows by blocked matrix products, the Hamming distance of zeros and ones on packed bits;
    these have what is new here: ``n_neighbors="auto"``, ``partial_fit``, ``forget``, ``save`` and ``load``. Neighbors
    are ranked by distance, equally near ones by row; of classes with equally many votes the first of ``classes_``
    wins, as in scikit-learn. A row may have several labels, as zeros and ones in a dense or sparse ``y``, or several
    outputs; such a model cannot learn more, forget or be saved. Other metrics, sparse rows with the Euclidean distance,
    and the algorithms ``"kd_tree"`` and ``"ball_tree"`` are left to scikit-learn. ``n_jobs`` does not set the number of
    threads: it is the number of cores, or the value of ``DISCERN_THREADS``; the results do not depend on them.

    Parameters
    ----------
    n_neighbors : int or "auto"
        ``"auto"`` chooses the number, up to 50, that decides the training rows best, each by the others.
    weights : {"uniform", "distance"} or callable
        One vote each, or a vote of 1 / distance.
    algorithm : {"auto", "brute", "kd_tree", "ball_tree"}
        As in scikit-learn; ``"auto"`` and ``"brute"`` are the search described above.
    leaf_size, p, metric, metric_params, n_jobs
        As in scikit-learn.

    Attributes
    ----------
    n_neighbors_ : int
        The number of neighbors in use.
    ids_ : ndarray
        The id of each row.

    Examples
    --------
    >>> model = KNeighborsClassifier(n_neighbors=1).fit([[0.0], [1.0], [5.0]], ["near", "near", "far"])
    >>> model.predict([[4.0]]).tolist()
    ['far']
    >>> model.forget([2]).predict([[4.0]]).tolist()
    ['near']
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **sklearn_neighbors.KNeighborsClassifier._parameter_constraints,
        "n_neighbors": [
            *sklearn_neighbors.KNeighborsClassifier._parameter_constraints["n_neighbors"],
            StrOptions({"auto"}),
        ],
    }
    n_neighbors: Any
    classes_: Any
    effective_metric_params_: dict[str, Any]
    _known: Neighbors

    # ------------------------------------------------------------------------------------------------ learning

    def fit(self, X: Any, y: Any) -> Self:
        """Keep the rows, with the class of each."""
        for name in ("_known", "_fit_X", "n_neighbors_", "classes_", "_outputs"):
            self.__dict__.pop(name, None)
        trees = sklearn_neighbors.KDTree | sklearn_neighbors.BallTree | sklearn_neighbors.NearestNeighbors
        is_tree = not hasattr(X, "shape") and isinstance(X, trees)
        if is_tree or (self._named_metric(scipy.sparse.issparse(X)) is None and not scipy.sparse.issparse(y)):
            return self._fit_elsewhere(X, y)  # which validates
        self._validate_params()
        X, y = self._validated(X, y, reset=True)
        metric = self._own_metric(X, y)
        if metric is None:
            return self._fit_elsewhere(X, y)
        check_classification_targets(y)
        if y.ndim == 2:
            return self._fit_outputs(metric, X, y)
        labels = encode_labels(y)
        self.classes_ = labels.distinct
        return self._keep(Neighbors.of(metric, X, labels.numbers))

    def _fit_outputs(self, metric: str, X: Any, y: Array) -> Self:
        """Keep the rows, with the number of the set of each among the distinct sets of several outputs."""
        if self.n_neighbors == "auto":
            raise ValueError("n_neighbors='auto' needs one label a row; pass a number")
        columns = [np.unique(column, return_inverse=True) for column in y.T]
        codes = np.column_stack([numbers for _, numbers in columns])
        self._outputs, sets = np.unique(codes, axis=0, return_inverse=True)
        self.classes_ = [classes for classes, _ in columns]
        self._keep(Neighbors.of(metric, X, sets.ravel()))
        self._y, self.outputs_2d_ = codes, True
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, ids: Any = None) -> Self:
        """Add rows. Labels that are new grow the model; ``ids`` go on from the largest if they are not given."""
        if not hasattr(self, "_fit_method"):
            return self.fit(X, y)._begin(classes, ids)
        self._check_own("learn more rows")
        X, y = self._validated(X, y, reset=False)
        if self._own_metric(X, y) != self._known.rows.metric:
            raise ValueError(f"these rows have no {self._known.rows.metric} distance to those that were learned before")
        check_classification_targets(y)
        self._name_classes(np.unique(y))
        self._keep(self._known.with_rows(X, np.searchsorted(self.classes_, y), ids))
        return self._name_classes(classes)

    def forget(self, ids: Any) -> Self:
        """Take rows back by their ids: the model is then the one that never saw them."""
        self._check_own("forget")
        known = self._known.without(ids)
        if not len(known):
            raise ValueError(NOTHING_LEFT)
        used, classes = np.unique(known.classes, return_inverse=True)
        self.classes_ = self.classes_[used]
        return self._keep(Neighbors(known.rows, classes, known.ids))

    def _begin(self, classes: Any, ids: Any) -> Self:
        """Return the first rows their ids, and name classes that are to come."""
        self._check_own("learn in parts")
        if ids is not None:
            known = self._known
            self._keep(known.with_ids(ids))
        return self._name_classes(classes)

    def _name_classes(self, classes: Any) -> Self:
        if classes is None:
            return self
        every = np.union1d(self.classes_, np.asarray(classes))
        places = np.searchsorted(every, self.classes_)
        self.classes_ = every
        self._known = Neighbors(self._known.rows, places[self._known.classes], self._known.ids)
        self._y = self._known.classes
        return self

    def _validated(self, X: Any, y: Any, reset: bool) -> tuple[Any, Array]:
        X, y = validate_data(self, X, y, accept_sparse="csr", multi_output=True, order="C", reset=reset)
        y = y.toarray() if hasattr(y, "toarray") else y
        if y.ndim == 2 and y.shape[1] == 1:
            message = "A column-vector y was passed when a 1d array was expected; use ravel()."
            warnings.warn(message, DataConversionWarning, stacklevel=3)
            y = y.ravel()
        return X, y

    def _own_metric(self, X: Any, y: Array) -> str | None:
        """Return which of the distances here is meant; None if it is left to scikit-learn."""
        metric = self._named_metric(scipy.sparse.issparse(X))
        return None if metric == "hamming" and not bool(np.all((X == 0) | (X == 1))) else metric

    def _named_metric(self, sparse: bool) -> str | None:
        """Return which of the distances here the parameters name for sparse or dense rows, whatever these hold."""
        own = {"cosine": "cosine", "euclidean": "euclidean", "l2": "euclidean", "hamming": "hamming"}
        if self.metric == "minkowski" and self.p == 2:
            metric: str | None = "euclidean"
        else:
            metric = own.get(self.metric) if isinstance(self.metric, str) else None
        if metric is None or self.algorithm not in ("auto", "brute") or self.metric_params:
            return None
        return metric if metric == "cosine" or not sparse else None

    def _fit_elsewhere(self, X: Any, y: Any) -> Self:
        if self.n_neighbors == "auto":
            raise ValueError(
                "n_neighbors='auto' needs the cosine, the Euclidean distance of dense rows or the Hamming distance "
                "of zeros and ones; pass a number"
            )
        super().fit(X, y)
        self.n_neighbors_ = self.n_neighbors
        return self

    @property
    def _fit_X(self) -> Any:  # noqa: N802 - scikit-learn's name
        """The rows as they are compared; scikit-learn sets those that it keeps."""
        own = vars(self)
        if "_known" in own:
            return self._known.rows.matrix()
        if "_fit_X" in own:
            return own["_fit_X"]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute '_fit_X'")

    @_fit_X.setter
    def _fit_X(self, rows: Any) -> None:  # noqa: N802
        self.__dict__["_fit_X"] = rows

    def _keep(self, known: Neighbors) -> Self:
        self._known, self._y, self.ids_ = known, known.classes, known.ids
        self._fit_method, self.outputs_2d_, self._tree = _NATIVE, False, None
        self.effective_metric_, self.effective_metric_params_ = known.rows.metric, {}
        self.n_samples_fit_ = len(known)
        weighted = self.weights == "distance"
        self.n_neighbors_ = (
            known.best_count(len(self.classes_), weighted) if self.n_neighbors == "auto" else self.n_neighbors
        )
        return self

    def _check_own(self, wish: str) -> None:
        check_fitted(self, "_fit_method", attributes="_fit_method")
        if self._fit_method != _NATIVE:
            raise ValueError(f"cannot {wish}: with this metric and algorithm the rows are kept by scikit-learn")
        if self.outputs_2d_:
            raise ValueError(f"cannot {wish}: the rows have several outputs; use fit")

    # ----------------------------------------------------------------------------------------------- answering

    def kneighbors(self, X: Any = None, n_neighbors: Any = None, return_distance: bool = True) -> Any:
        """Return the nearest rows to each query, nearest first, and their distances.

        Without queries, the neighbors of each row among the others.
        """
        check_fitted(self, "_fit_method", attributes="_fit_method")
        if self._fit_method != _NATIVE:
            return super().kneighbors(X, n_neighbors, return_distance)
        count = self._checked_count(n_neighbors)
        if X is not None:
            X = checked_rows(self, X, accept_sparse="csr", order="C")
        self._check_enough(count, X)
        distances, places = self._known.nearest_others(count) if X is None else self._known.nearest(X, count)
        return (distances, places) if return_distance else places

    def _checked_count(self, n_neighbors: Any) -> int:
        count = self.n_neighbors_ if n_neighbors is None else n_neighbors
        if not isinstance(count, Integral):
            raise TypeError(f"n_neighbors does not take {type(count)} value, enter integer value")
        if count <= 0:
            raise ValueError(f"Expected n_neighbors > 0. Got {count}")
        return int(count)

    def _check_enough(self, count: int, X: Any) -> None:
        rows = self.n_samples_fit_
        if count + (X is None) > rows:
            sign, asked = ("<", rows) if X is None else ("<=", X.shape[0])
            raise ValueError(
                f"Expected n_neighbors {sign} n_samples_fit, but n_neighbors = {count}, n_samples_fit = {rows}, "
                f"n_samples = {asked}"
            )

    def kneighbors_graph(self, X: Any = None, n_neighbors: Any = None, mode: str = "connectivity") -> Any:
        """Return the graph of neighbors as a sparse matrix."""
        check_fitted(self, "_fit_method", attributes="_fit_method")
        return super().kneighbors_graph(X, self.n_neighbors_ if n_neighbors is None else n_neighbors, mode)

    def predict(self, X: Any) -> Array:
        """Return the class of each row."""
        check_fitted(self, "_fit_method", attributes="_fit_method")
        if self._fit_method != _NATIVE:
            return np.asarray(super().predict(X))
        if self.outputs_2d_:
            pairs = zip(self.classes_, self.predict_proba(X), strict=True)
            return np.column_stack([classes[shares.argmax(axis=1)] for classes, shares in pairs])
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def predict_proba(self, X: Any) -> Any:
        """Return the share of the votes of each class for each row."""
        check_fitted(self, "_fit_method", attributes="_fit_method")
        if self._fit_method != _NATIVE:
            return super().predict_proba(X)
        distances, places = self.kneighbors(X)
        if self.outputs_2d_:
            sizes = list(map(len, self.classes_))
            return output_shares(self._known.classes[places], self._outputs, sizes, self._vote_weights(distances))
        return vote_shares(self._known.classes[places], len(self.classes_), self._vote_weights(distances))

    def _vote_weights(self, distances: Array) -> Array | None:
        if self.weights in ("uniform", None):
            return None
        if self.weights == "distance":
            return distance_weights(distances)
        weights = np.asarray(self.weights(distances), np.float64)
        if bool(np.any(np.all(weights == 0, axis=1))):
            raise ValueError(
                "All neighbors of some sample is getting zero weights. "
                "Please modify 'weights' to avoid this case if you are using a user-defined function."
            )
        return weights

    # --------------------------------------------------------------------------------------------------- files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write rows, classes and settings to a file, whole or not at all."""
        self._check_own("save")
        if callable(self.weights):
            raise ValueError("cannot save: a function given as weights cannot be kept in a file")
        save_file(path, *self._content())

    def _content(self) -> tuple[dict[str, Array], dict[str, Any]]:
        names = getattr(self, "feature_names_in_", None)
        metadata = {
            "kind": "neighbors",
            "metric": self._known.rows.metric,
            "columns": self._known.rows.n_features,
            "classes": self.classes_.tolist(),
            "class_kind": self.classes_.dtype.kind,
            "parameters": self.get_params(),
            "chosen": int(self.n_neighbors_),
            "names": None if names is None else names.tolist(),
        }
        return self._known.arrays(), metadata

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Map a saved model into memory; raises ModelFileError if it cannot be used."""
        arrays, metadata = load_file(path)
        try:
            return cls(**metadata["parameters"])._restored(arrays, metadata)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise ModelFileError(f"{str(path)!r} holds no usable neighbors: {error}") from error

    def _restored(self, arrays: dict[str, Array], metadata: dict[str, Any]) -> Self:
        if metadata.get("kind") != "neighbors":
            raise ValueError("it is a model of another kind")
        kind = _KINDS[metadata["class_kind"]]
        classes = np.array([kind(label) for label in metadata["classes"]])
        if len(np.unique(classes)) != len(classes) or not len(classes):
            raise ValueError("its classes are not distinct")
        self._validate_params()
        self.classes_, self.n_features_in_ = classes, int(metadata["columns"])
        if self.n_features_in_ < 1:
            raise ValueError("it has no columns")
        if metadata["names"] is not None:
            self.feature_names_in_ = np.array([str(name) for name in metadata["names"]], object)
            # Half a character cannot be encoded, and is refused with it.
            if len({name.encode() for name in self.feature_names_in_}) != self.n_features_in_:
                raise ValueError("its column names are not distinct")
        chosen = self.n_neighbors, int(metadata["chosen"])
        self.n_neighbors = chosen[1]  # not to be chosen again
        self._keep(Neighbors.from_arrays(metadata["metric"], self.n_features_in_, arrays, len(classes)))
        self.n_neighbors = chosen[0]
        # As many as were asked for, though there may be fewer rows yet; or as many as were found to be best.
        if chosen[1] != chosen[0] if chosen[0] != "auto" else not 0 < chosen[1] <= self.n_samples_fit_:
            raise ValueError("its number of neighbors is not what was asked for")
        return self
