"""The protocol of scikit-learn's estimators for a classifier: parameters, classes, score, tags."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from discern.data.readers import Sources
from discern.data.source import Reading
from discern.models.fitted import Fitted
from discern.models.predicting import Predictor
from discern.models.protocol.rows import (
    ClassNames,
    Shape,
    as_rows,
    has_sets,
    labeled,
    labeled_sets,
    labels_of,
    repetitions,
    set_labels,
)
from discern.models.settings import TEXT_SETTINGS, Settings

if TYPE_CHECKING:
    from discern.data.embedding.embedder import Embedder

Array = NDArray[Any]


@dataclass(frozen=True)
class Learned:
    """What ``fit(X, y)`` remembers beside the model: classes as they were in y, and the columns of X."""

    names: ClassNames
    shape: Shape


class Estimator(Predictor):
    """A classifier with parameters, classes in the type of y, and a score."""

    _given: dict[str, Any] | None
    """The arguments that the classifier was made with; None if it was made of settings."""
    _embed: Any
    """The embedder that was given."""
    _learned: Learned | None = None
    class_weight: Mapping[Any, int] | None = None

    # ------------------------------------------------------------------------------------------ parameters

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the arguments that make such a classifier.

        Examples
        --------
        >>> from discern import Classifier
        >>> Classifier("topic", model="logistic").get_params()["model"]
        'logistic'
        """
        beside = {"class_weight": self.class_weight, "threads": self.threads, "embed": self._embed}
        given = self._given
        if given is None or Settings.of(**given) != self.settings:
            given = arguments_of(self.settings)
        return {**given, **beside}

    def set_params(self, **parameters: Any) -> Self:
        """Change arguments, for the next :meth:`fit`; what was learned stays until then."""
        if not parameters:
            return self
        now = self.get_params()
        unknown = [name for name in parameters if name not in now]
        if unknown:
            raise ValueError(
                f"Invalid parameter {unknown[0]!r} for estimator Classifier. Valid parameters are: {sorted(now)}"
            )
        chosen = {**now, **parameters}
        class_weight, threads, embed = (chosen.pop(name) for name in ("class_weight", "threads", "embed"))
        settings, embedder = Settings.of(**chosen), self._embedder_for(embed)
        self._given, self.settings, self.class_weight, self.threads = chosen, settings, class_weight, threads
        self._embed, self.embedder = embed, embedder
        return self

    def _embedder_for(self, embed: Any) -> Embedder | None:
        """Return the embedder that an argument stands for."""
        raise TypeError("the classifier knows how embedders are made")

    # ------------------------------------------------------------------------------------ what was learned

    @property
    def classes_(self) -> Array:
        """The classes, sorted: after ``fit(X, y)`` as they were in ``y``, else the labels."""
        if not self.is_fitted:
            raise AttributeError("this Classifier is not fitted yet; classes_ is there after fit")
        names = self._names()
        return np.array(self.labels) if names is None else names.classes

    @property
    def n_features_in_(self) -> int:
        """The number of columns of X, after ``fit(X, y)`` on a table."""
        learned = self._learned
        if learned is None or learned.shape.columns is None:
            raise AttributeError("n_features_in_ is there after fit(X, y) on a table")
        return learned.shape.columns

    @property
    def feature_names_in_(self) -> Array:
        """The names of the columns of X, after ``fit(X, y)`` on a data frame."""
        learned = self._learned
        if learned is None or learned.shape.names is None:
            raise AttributeError("feature_names_in_ is there after fit(X, y) on a data frame")
        return np.array(learned.shape.names, object)

    def _names(self) -> ClassNames | None:
        """Return the names of the present labels as they were in y, if y had them all."""
        learned = self._learned
        if learned is None:
            return None
        kept = [label in self.labels for label in learned.names.labels]
        if sum(kept) < len(self.labels):
            return None
        labels = tuple(label for label, keep in zip(learned.names.labels, kept, strict=True) if keep)
        return ClassNames(learned.names.classes[kept], labels)

    def _rows_to_predict(self, data: Any) -> Any:
        if self._learned is None:
            return data
        rows = as_rows(data)
        self._learned.shape.check(rows)
        return rows

    @property
    def fitted(self) -> Fitted:
        """What was learned: an immutable state, which every change replaces in one step."""
        fitted = self._fitted
        if fitted is None:
            # scikit-learn asks for its own ValueError; where it is not loaded, nobody does.
            kind = getattr(sys.modules.get("sklearn.exceptions"), "NotFittedError", ValueError)
            raise kind("this classifier has not learned anything yet; call fit first")
        return fitted

    def _labeled(self, X: Any, y: Any, sample_weight: Any) -> tuple[Sources, Learned]:
        """Return rows with their labels, and what to remember of X and y."""
        if has_sets(y):
            return self._labeled_sets(as_rows(X), set_labels(y), sample_weight)
        X, y = as_rows(X), labels_of(y)
        names, repeats = ClassNames.of(y), repetitions(sample_weight, self.class_weight, y)
        rows = Sources(tuple(labeled(X, y, names, self.settings.label, repeats)))
        return rows, Learned(names, Shape.of(X))

    def _labeled_sets(self, X: Any, y: list[list[Any]], sample_weight: Any) -> tuple[Sources, Learned]:
        """Do the same for lists of labels."""
        if self.class_weight is not None:
            raise ValueError("class_weight is for one label a row; pass sample_weight for rows with several")
        every = labels_of([label for row in y for label in row])
        names, repeats = ClassNames.of(every), repetitions(sample_weight, None, np.arange(len(y)))
        return Sources(tuple(labeled_sets(X, y, self.settings.label, repeats))), Learned(names, Shape.of(X))

    # ------------------------------------------------------------------------------------------ predicting

    def predict(self, data: Any, *, reading: Reading | None = None) -> NDArray[Any]:
        """Return the label of each row, in order; after ``fit(X, y)`` as it was in ``y``."""
        fitted = self.fitted
        found = super().predict(self._rows_to_predict(data), reading=reading)
        names = self._names() if fitted is self._fitted else None
        if names is not None and fitted.resolved.several is not None:
            return names.named_sets(found)
        return found if names is None else names.named(found)

    def predict_proba(self, data: Any, *, raw: bool = False, reading: Reading | None = None) -> NDArray[np.float64]:
        """Return the probability of each label for each row, in the order of ``classes_``.

        With ``raw`` it is the posterior without calibration.
        """
        found = super().predict_proba(self._rows_to_predict(data), raw=raw, reading=reading)
        names = self._names()
        return found if names is None else found[:, [self.labels.index(label) for label in names.labels]]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of rows that are given the right label; or all the right labels, if they may have several.

        Examples
        --------
        >>> from discern import Classifier
        >>> Classifier().fit(["win a prize", "lunch at noon"], [1, 0]).score(["a prize", "at noon"], [1, 1])
        0.5
        """
        if has_sets(y):
            pairs = zip(self.predict(X), set_labels(y), strict=True)
            return float(np.average([{*found} == {*true} for found, true in pairs], weights=sample_weight))
        return float(np.average(self.predict(X) == labels_of(y), weights=sample_weight))

    # ---------------------------------------------------------------------------------- what scikit-learn asks

    def __sklearn_is_fitted__(self) -> bool:
        return self.is_fitted

    def __sklearn_tags__(self) -> Any:
        # By name: packages above this one are not imported here, and only discern.estimators imports scikit-learn.
        return importlib.import_module("discern.estimators.tags").tags_of_classifier()


def arguments_of(settings: Settings) -> dict[str, Any]:
    """Return arguments that stand for settings.

    Examples
    --------
    >>> settings = Settings.of("topic", smoothing=0.5, number=["age"], stem="english", ngrams=(1, 2))
    >>> Settings.of(**arguments_of(settings)) == settings
    True
    """
    names = ("label", "model", "numbers", "calibrate", "min_df", "characters", "max_terms", "select", "views", "budget")
    found: dict[str, Any] = {name: getattr(settings, name) for name in (*names, "ledger")}
    naive_bayes = settings.naive_bayes
    found["smoothing"] = "auto" if settings.auto_smoothing else naive_bayes.smoothing
    found["priors"] = "auto" if settings.auto_priors else _plain_priors(naive_bayes.priors)
    found["normalization"] = naive_bayes.normalization
    found["label_separator"] = settings.label_separator or None
    found["labels_from"] = list(settings.labels_from) or None
    for role in ("text", "number", "category", "flag", "vector"):
        found[role] = [feature.name for feature in settings.columns if feature.role == role] or None
    found |= {name: getattr(settings.text, name) for name in TEXT_SETTINGS}
    found |= {"ngrams": settings.ngrams, "min_word_length": settings.min_word_length}
    if settings.auto_stem:
        found["stem"] = "auto"
    return found


def _plain_priors(priors: Any) -> Any:
    return priors if isinstance(priors, str) else dict(priors)
