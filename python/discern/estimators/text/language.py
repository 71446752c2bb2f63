"""Unigram language models of texts, as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from discern.data.encode import EncodedLabels
from discern.estimators.base import Array
from discern.estimators.text.classifier import NO_WORDS, TextClassifier, numbered_labels
from discern.estimators.text.documents import length_of, raw_texts
from discern.learners.bayes import posterior
from discern.learners.language import LanguageModels
from discern.learners.smoothing import Dirichlet, JelinekMercer, Laplace, as_smoothing
from discern.statistics.counts import Counter, Counts

ONLY = "all"
"""The label of the one model of texts without labels."""


@dataclass(eq=False, repr=False, kw_only=True)
class UnigramLanguageModel(TextClassifier):
    """The probability of a string under a model of words, P(s|M): one model for each label, or one of all texts.

    Words are independent, so log P(s|M) is the sum of the log probabilities of the words of the string. A word that no
    model has seen is not part of any: by default it is skipped, and :meth:`unknown_words` counts such words. A word
    that only other models have seen has, without smoothing, the probability 0 and the logarithm −∞.

    Parameters
    ----------
    smoothing : float, Laplace, JelinekMercer or Dirichlet
        A number is Laplace's α; 0 is maximum likelihood.
    unknown : {"skip", "zero"}
        What a word that no model has seen does: nothing, or make its string impossible (−∞).
    lowercase : bool
        Whether upper and lower case are the same.
    min_word_length : int
        The minimum number of characters of a word.
    stop_words : list of str, optional
        Words that are left out.
    stem : str, optional
        The language whose Snowball stemmer is used, such as ``"english"``.

    Attributes
    ----------
    classes_ : ndarray
        The labels, in order; ``["all"]`` without labels.
    vocabulary_ : list of str
        The words that some model has seen, in order.
    feature_log_prob_ : ndarray of shape (classes, words)
        log P(w|M).
    counts_ : Counts
        How often each word occurs under each label (as text); not there with given probabilities.

    Examples
    --------
    >>> models = UnigramLanguageModel(smoothing=0).fit(["the cat", "the the dog"], ["cats", "dogs"])
    >>> np.exp(models.log_prob(["the cat"])).round(3).tolist()
    [[0.25, 0.0]]
    >>> models.predict(["a dog"]).tolist(), models.unknown_words(["a dog"]).tolist()
    (['dogs'], [1])
    >>> known = UnigramLanguageModel.from_probabilities({"the": 0.2, "man": 0.01, "likes": 0.02, "woman": 0.01})
    >>> float(np.exp(known.log_prob(["the man likes the woman"])[0, 0]))
    8.00e-08
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **TextClassifier._parameter_constraints,
        "smoothing": [Interval(Real, 0, None, closed="left"), Laplace, JelinekMercer, Dirichlet],
        "unknown": [StrOptions({"skip", "zero"})],
    }
    counts_: Counts = field(init=False)
    _models: LanguageModels = field(init=False)

    smoothing: Any = 1.0
    unknown: str = "skip"

    @classmethod
    def from_probabilities(cls, probabilities: Mapping[str, Any], **parameters: Any) -> Self:
        """Return models whose probabilities are known: ``{word: P}`` for one, ``{label: {word: P}}`` for several.

        A word that is not given in a model is impossible there. ``parameters`` are those of the class.
        """
        nested = all(isinstance(words, Mapping) for words in probabilities.values())
        if not probabilities or (not nested and any(isinstance(some, Mapping) for some in probabilities.values())):
            raise ValueError("pass the probability of each word, or for each label a mapping of words to probabilities")
        known = cls(**parameters)
        known._validate_params()
        known._models = LanguageModels.given(probabilities if nested else {ONLY: probabilities}, known._text_settings())
        known.classes_ = np.array(known._models.labels)
        return known

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the words of texts, those of each label apart; without labels, one model of all."""
        self._validate_params()
        texts, text = raw_texts(X), self._text_settings()
        labels = _only(length_of(texts)) if y is None else numbered_labels(y, length_of(texts))
        counter = Counter(text)
        counter.add(texts, labels.numbers, list(map(str, labels.distinct)))
        counts = counter.counts()
        if not len(counts.terms):
            raise ValueError(NO_WORDS)
        models = LanguageModels.solve(counts, as_smoothing(self.smoothing), text)
        # Counts know labels as text, in the order of text; classes keep their own.
        places = np.searchsorted(np.array(models.labels), labels.distinct.astype(str))
        self.counts_, self.classes_ = counts, labels.distinct
        self._models = LanguageModels(models.labels, models.words, models.weights[:, places], text)
        return self

    def log_prob(self, X: Any) -> Array:
        """Return log P(s|M) of each text under each model, a column a class."""
        check_is_fitted(self)
        logs, unknown = self._models.log_probabilities(raw_texts(X))
        if self.unknown == "zero":
            logs[unknown > 0] = -np.inf
        return logs

    def unknown_words(self, X: Any) -> NDArray[np.int64]:
        """Return the number of words of each text that no model has seen."""
        check_is_fitted(self)
        return self._models.log_probabilities(raw_texts(X))[1]

    def predict(self, X: Any) -> Array:
        """Return the class under whose model each text is most probable; the first of those that are equal."""
        logs = self.log_prob(X)
        return np.asarray(self.classes_[logs.argmax(axis=1)])

    def predict_proba(self, X: Any) -> Array:
        """Return P(M|s) if every model is as likely beforehand; all are the same where no model can say the text."""
        return posterior(self.log_prob(X), in_place=True)

    @property
    def vocabulary_(self) -> list[str]:
        """The words that some model has seen, in order."""
        words: list[str] = self._fitted_attribute("_models").words.to_list()
        return words

    @property
    def feature_log_prob_(self) -> Array:
        """The log probability of each word, a row a class."""
        return np.asarray(self._fitted_attribute("_models").weights.T)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags


def _only(rows: int) -> EncodedLabels:
    """Return the labels of texts without labels: all have the same."""
    return EncodedLabels(np.array([ONLY]), np.zeros(rows, np.int32), np.array([rows]))
