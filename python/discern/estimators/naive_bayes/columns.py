"""Naive Bayes over the columns of a data frame, as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_y, check_consistent_length, check_is_fitted, validate_data

from discern.classifier import Classifier
from discern.data.batch import Batch
from discern.data.readers import batches
from discern.data.roles import OTHERS, ROLES
from discern.estimators.base import ProbabilityClassifier

LABEL = "\0label"


@dataclass(eq=False, repr=False, kw_only=True)
class NaiveBayes(ProbabilityClassifier):
    """Naive Bayes on a data frame with columns of different kinds: text, numbers, categories, yes or no, vectors.

    The score of a class is its log prior plus, for each column, the log probability of the value under the column's
    event model. A missing value leaves its column out; a word or category never seen in training is left out and
    counted. The columns of a matrix are numbers.

    Parameters
    ----------
    roles : mapping of column to {"text", "number", "category", "flag", "vector"}, optional
        The columns to use, and how. By default all, with inferred roles: see ``roles_``.
    model, smoothing, numbers, calibrate, priors, min_df, ngrams, threads
        As in :class:`discern.Classifier`. ``priors`` may also be a sequence in the order of ``classes_``.

    Attributes
    ----------
    classes_ : ndarray
    roles_ : dict
        The role of each column that is used.
    left_out_ : dict
        The columns that are not used, and why.
    classifier_ : Classifier
        The model itself, which explains, saves, learns and forgets.

    Examples
    --------
    >>> import pandas
    >>> frame = pandas.DataFrame({"size": [1.0, 2.0, 8.0, 9.0], "country": ["fr", "fr", "de", None]})
    >>> model = NaiveBayes().fit(frame, [0, 0, 1, 1])
    >>> model.roles_
    {'size': 'number', 'country': 'category'}
    >>> model.predict(frame.tail(1)).tolist()
    [1]
    """

    _input_tags: ClassVar[dict[str, bool]] = {"allow_nan": True}

    roles: Mapping[str, str] | None = None
    model: str = "naive-bayes"
    smoothing: Any = "auto"
    numbers: str = "auto"
    calibrate: str | bool = "auto"
    priors: Any = "data"
    min_df: int = 1
    ngrams: tuple[int, int] | None = None
    threads: int | None = None

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from rows, forgetting everything learned before."""
        parts, y = self._checked(X, y, reset=True)
        self.classes_, numbers = np.unique(y, return_inverse=True)
        self.classifier_ = self._classifier(X, parts).fit(_labeled(parts, numbers))
        self._describe()
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Learn more rows. New labels are accepted; ``classes`` is not needed."""
        if not hasattr(self, "classifier_"):
            return self.fit(X, y)
        parts, y = self._checked(X, y, reset=False)
        every = np.union1d(self.classes_, y)
        self._renumber(every)
        self.classes_ = every
        self.classifier_.learn(_labeled(parts, np.searchsorted(every, y)))
        return self

    def forget(self, X: Any, y: Any) -> Self:
        """Forget rows: the model is then the one that never saw them. Refuses rows that were never learned."""
        check_is_fitted(self)
        parts, y = self._checked(X, y, reset=False)
        self._check_known(y)
        self.classifier_.relabel(_labeled(parts, np.searchsorted(self.classes_, y)), iter(()))
        left = self.classes_[[int(label) for label in self.classifier_.labels]]
        self._renumber(left)
        self.classes_ = left
        return self

    def predict_joint_log_proba(self, X: Any) -> Any:
        """Return log P(k) + log P(x|k)."""
        check_is_fitted(self)
        return self.classifier_.log_joint(iter(self._parts(X, reset=False)))

    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each class for each row."""
        check_is_fitted(self)
        return self.classifier_.predict_proba(iter(self._parts(X, reset=False)))

    def predict(self, X: Any) -> Any:
        """Return the class of each row."""
        joint = self.predict_joint_log_proba(X)
        return self.classes_[joint.argmax(axis=1)]

    # ------------------------------------------------------------------------------------------------ columns

    def _classifier(self, X: Any, parts: list[Batch]) -> Classifier:
        named: dict[str, Any] = {role: [] for role in ROLES}
        roles = {} if _is_frame(X) else dict.fromkeys(parts[0].columns, "number")
        for name, role in (roles if self.roles is None else self.roles).items():
            if role not in ROLES:
                raise ValueError(f"the role of {name!r} must be one of {', '.join(ROLES)}, not {role!r}")
            named[role].append(name)
        settings = self.get_params(deep=False)
        del settings["roles"]
        if not isinstance(self.priors, str):
            settings["priors"] = {_label(number): share for number, share in enumerate(self.priors)}
        if roles or self.roles is not None:
            named["ignore"] = OTHERS  # roles name all columns that are used
        return Classifier(LABEL, **settings, **named)

    def _describe(self) -> None:
        self.roles_ = {feature.name: feature.role for feature in self.classifier_.features}
        self.left_out_ = dict(self.classifier_.left_out)

    def _renumber(self, classes: Any) -> None:
        """Rename the labels of the model to their numbers among other classes."""
        known = self.classes_[[int(label) for label in self.classifier_.labels]]
        self.classifier_.rename_labels([_label(number) for number in np.searchsorted(classes, known)])

    def _checked(self, X: Any, y: Any, reset: bool) -> tuple[list[Batch], Any]:
        parts = self._parts(X, reset)
        y = _check_y(y, multi_output=False, y_numeric=False, estimator=self)
        check_classification_targets(y)
        check_consistent_length(np.zeros(sum(part.rows for part in parts)), y)
        return parts, y

    def _parts(self, X: Any, reset: bool) -> list[Batch]:
        if _is_frame(X):
            validate_data(self, X, skip_check_array=True, reset=reset)
            return [part for part in batches(X) if part.rows]
        table = validate_data(self, X, dtype="numeric", ensure_all_finite="allow-nan", reset=reset)
        named = getattr(self, "feature_names_in_", [f"x{place}" for place in range(table.shape[1])])
        return [Batch({name: table[:, place] for place, name in enumerate(named)}, len(table))]


def _is_frame(X: Any) -> bool:
    return hasattr(X, "__arrow_c_stream__") and hasattr(X, "columns")


def _label(number: int) -> str:
    return f"{number:09d}"


def _labeled(parts: list[Batch], numbers: Any) -> Iterator[Batch]:
    import pyarrow as pa

    numbers = np.asarray(numbers)
    names, start = pa.array([_label(number) for number in range(int(numbers.max(initial=-1)) + 1)], pa.string()), 0
    for part in parts:
        own = names.take(pa.array(numbers[start : start + part.rows]))
        yield replace(part, columns={**part.columns, LABEL: own})
        start += part.rows
