"""Decisions by costs and thresholds around any scikit-learn classifier."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.model_selection import cross_val_predict
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_method_params, _check_y

from discern.estimators.base import BaseClassifier
from discern.estimators.rows import check_fitted
from discern.evaluation.decisions import ChosenThreshold, Decision, choose_threshold


def _inner_has(name: str) -> Any:
    def check(self: Any) -> bool:
        getattr(self.__dict__.get("estimator_", self.estimator), name)
        return True

    return check


@dataclass(eq=False, repr=False)
class DecisionClassifier(MetaEstimatorMixin, BaseClassifier):
    """A classifier that decides by costs, by a chosen threshold or by any :class:`discern.Decision`.

    Parameters
    ----------
    estimator : classifier with ``predict_proba``
        Wrap a fitted one in ``sklearn.frozen.FrozenEstimator`` to keep it as it is.
    decision : Decision, optional
        How to decide; by default the most probable label.
    costs : table, optional
        ``costs[i][j]`` is what it costs to call ``classes_[j]`` what is ``classes_[i]``. The label of least expected
        cost is given.
    unsure : float, optional
        What it costs to say "unsure" instead of a label.
    rule : callable, optional
        Chooses the threshold for ``positive`` on cross-fitted probabilities: ``discern.LeastCost(1, 5)``,
        ``discern.MostRecall(precision=0.95)``, or any function of a :class:`discern.evaluation.curves.Ranking`.
    positive : label, optional
        The label that the threshold is for; by default the last.
    cv : int or splitter, optional
        How the probabilities are cross-fitted.

    Attributes
    ----------
    estimator_ : the fitted classifier
    decision_ : Decision
    choice_ : discern.evaluation.decisions.ChosenThreshold, if a ``rule`` was given: threshold, its interval, figures
    classes_ : array of labels

    Examples
    --------
    >>> from discern import GaussianNB
    >>> model = DecisionClassifier(GaussianNB(), costs=[[0, 1], [9, 0]])
    >>> model.fit([[1.0], [2.0], [3.0], [4.0]], ["good", "good", "risk", "risk"]).predict([[2.4], [1.0]]).tolist()
    ['risk', 'good']
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit", "predict_proba"])],
        "decision": [Decision, None],
        "costs": ["array-like", None],
        "unsure": ["numeric-only", None],
        "rule": [callable, None],
        "positive": "no_validation",
        "cv": ["cv_object"],
    }

    estimator: Any
    _: KW_ONLY
    decision: Decision | None = None
    costs: Any = None
    unsure: float | None = None
    rule: Any = None
    positive: Any = None
    cv: Any = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the classifier, and choose the threshold if there is a rule for it."""
        if sum(given is not None for given in (self.decision, self.costs, self.rule)) > 1:
            raise ValueError("pass one of decision, costs and rule")
        y = _check_y(y)
        check_classification_targets(y)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.__dict__.pop("choice_", None)
        if self.rule is not None:
            self.choice_ = self._chosen(X, y, _check_method_params(X, weights) if weights else {})
        self.estimator_ = clone(self.estimator).fit(X, y, **weights)
        self.classes_ = self.estimator_.classes_
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        self.decision_ = self._decision()
        return self

    def _chosen(self, X: Any, y: Any, weights: dict[str, Any]) -> ChosenThreshold:
        labels = np.unique(y)
        if len(labels) < 2:
            raise ValueError("choosing a threshold needs rows of two classes; these rows have one")
        shares = cross_val_predict(self.estimator, X, y, cv=self.cv, method="predict_proba", params=weights)
        positive = labels[-1] if self.positive is None else self.positive
        if positive not in labels:
            raise ValueError(f"unknown label {positive!r} to choose a threshold for")
        return choose_threshold(
            y, shares, labels, positive.item() if hasattr(positive, "item") else positive, self.rule
        )

    def _decision(self) -> Decision:
        if self.rule is not None:
            return self.choice_.decision
        if self.costs is not None:
            return Decision.of_costs(self.costs, self.classes_.tolist(), self.unsure)
        return self.decision or Decision.argmax(self.unsure)

    def predict(self, X: Any) -> Any:
        """Decide on rows."""
        check_fitted(self, "decision_")
        return self.decision_(self.estimator_.predict_proba(X), self.classes_)

    @available_if(_inner_has("predict_proba"))
    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities of the classifier."""
        check_fitted(self, "decision_")
        return self.estimator_.predict_proba(X)

    @available_if(_inner_has("predict_log_proba"))
    def predict_log_proba(self, X: Any) -> Any:
        """Return the log probabilities of the classifier."""
        check_fitted(self, "decision_")
        return self.estimator_.predict_log_proba(X)

    @available_if(_inner_has("decision_function"))
    def decision_function(self, X: Any) -> Any:
        """Return the scores of the classifier."""
        check_fitted(self, "decision_")
        return self.estimator_.decision_function(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags, tags.classifier_tags = inner.input_tags, inner.classifier_tags
        return tags
