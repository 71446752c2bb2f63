"""A classifier that learns from texts while it reads them, as a scikit-learn classifier."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, column_or_1d

from discern.data.batch import Batch
from discern.data.readers import batches, can_be_read_again
from discern.data.source import Reading
from discern.data.strings import DataError
from discern.estimators.base import Array
from discern.estimators.text.classifier import NO_WORDS, TextClassifier, numbered_labels
from discern.estimators.text.documents import length_of, raw_texts
from discern.learners.bayes import posterior
from discern.learners.streaming import TextLearner
from discern.models.evidence import Evidence, TermEvidence


@dataclass(eq=False, repr=False, kw_only=True)
class OnlineTextClassifier(TextClassifier):
    """Logistic regression learned from raw texts in one pass, while they are read: nothing of them is kept.

    A text is the vector of 1 + ln(count) of its terms, divided by its length. Each weight has its own rate, which falls
    with the gradients it has seen (AdaGrad), and steps are implicit, so that none overshoots. More than two classes are
    learned each against the rest.

    What is learned depends on the order of the rows: pass them in random order, never sorted by class. It does not
    depend on how rows are cut into batches, on the kind of column, or on the number of threads. A class is learned from
    the row on where its label first comes; ``partial_fit`` may bring new ones.

    Parameters
    ----------
    learning_rate : float
        The size of the first steps. The default suits most texts. Steps are implicit, so large ones do no harm.
    passes : int
        The number of times that ``fit`` reads the texts.
    analyzer : {"word", "char", "char_wb"}
        Terms are words, character n-grams, or character n-grams within words.
    ngram_range : tuple of int
        The shortest and the longest n-grams that are terms.
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
        The labels, in order.
    vocabulary_ : list of str
        The terms, in the order in which they came.
    coef_ : ndarray of shape (1 or classes, terms)
        The weights of terms, for the second of two classes or for each class.
    intercept_ : ndarray of shape (1 or classes,)
        The weights of the bias, which is divided by the length of the text as the terms are.

    Examples
    --------
    >>> texts = ["win a prize", "see you at lunch", "a prize to win", "lunch at noon"]
    >>> model = OnlineTextClassifier().fit(texts, ["spam", "ham", "spam", "ham"])
    >>> model.predict(["you win", "lunch, you see"]).tolist()
    ['spam', 'ham']
    >>> print(model.explain("win lunch lunch"))
    ham (58.4%), against spam
        -0.101  prior
        +0.981  lunch ×2
        -0.541  win
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **TextClassifier._parameter_constraints,
        "learning_rate": [Interval(Real, 0, 1e6, closed="right")],
        "passes": [Interval(Integral, 1, None, closed="left")],
        "analyzer": [StrOptions({"word", "char", "char_wb"})],
        "ngram_range": [tuple, list],
    }

    learning_rate: float = 2.0
    passes: int = 1
    analyzer: str = "word"
    ngram_range: Any = (1, 1)
    min_word_length: int = 2
    _learner: TextLearner = field(init=False)
    _seen: Array = field(init=False)
    """The labels in the order in which they came: their places are the numbers that the learner knows."""

    # --------------------------------------------------------------------------------------------------- learn

    def fit(self, X: Any, y: Any) -> Self:
        """Learn texts in the order given, forgetting everything learned before."""
        self._validate_params()
        texts = raw_texts(X)
        numbers, seen = _labels(y, length_of(texts))
        learner = self._fresh()
        for _ in range(self.passes):
            learner.learn(texts, numbers)
        return self._take(learner, seen)

    def fit_rows(
        self, source: Any, *, text: str = "text", label: str = "label", reading: Reading | None = None
    ) -> Self:
        """Learn from a file, frame or table with a column of texts and one of labels, batch by batch, as ``fit`` does.

        ``source`` is anything that :func:`discern.data.readers.batches` reads. Labels are read as texts.
        """
        self._validate_params()
        if self.passes > 1 and not can_be_read_again(source):
            raise DataError(f"the rows can be read only once, not {self.passes} times; write them to a file first")
        learner, seen = self._fresh(), np.array([], np.str_)
        for _ in range(self.passes):
            for batch in batches(source, reading):
                seen = _learn(learner, batch.texts(text), *_batch_labels(batch, label), seen)
        return self._take(learner, seen)

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Learn more texts, in the order given. New labels are accepted; ``classes`` may announce some beforehand."""
        self._validate_params()
        texts = raw_texts(X)
        numbers, labels = _labels(y, length_of(texts))
        first = not hasattr(self, "_learner")
        learner, seen = (self._fresh(), labels[:0]) if first else (self._learner, self._seen)
        if classes is not None:
            seen = _joined(seen, np.unique(column_or_1d(classes)))
        begun = 0 if classes is None else len(seen)
        self._seen = _learn(learner, texts, numbers, labels, seen, begun)
        self._learner, self.classes_ = learner, np.sort(self._seen)
        return self

    def _fresh(self) -> TextLearner:
        lengths = tuple(self.ngram_range)
        if len(lengths) != 2 or not all(isinstance(length, Integral) for length in lengths):
            raise ValueError(f"ngram_range must be two whole numbers, such as (1, 2), not {self.ngram_range!r}")
        text = self._text_settings(analyzer=self.analyzer, ngrams=(int(lengths[0]), int(lengths[1])))
        return TextLearner(text, float(self.learning_rate))

    def _take(self, learner: TextLearner, seen: Array) -> Self:
        if not len(learner):
            raise ValueError(NO_WORDS)
        if len(seen) < 2:
            raise ValueError(f"there is only one class, {seen[0]!r}; at least two are needed")
        self._learner, self._seen, self.classes_ = learner, seen, np.sort(seen)
        return self

    # ------------------------------------------------------------------------------------------------- predict

    def decision_function(self, X: Any) -> Array:
        """Return the score of each class, or, of two, the log odds of the second."""
        scores = self._scores(X)
        return scores[:, 1] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> Array:
        """Return the class with the highest score; the first of those that are equal."""
        best = self._scores(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class: in proportion to the exponential of its score."""
        return posterior(self._scores(X), in_place=True)

    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithm of the probability of each class."""
        return np.log(self.predict_proba(X))

    def explain(self, text: str) -> Evidence:
        """Explain why a text gets its label: the weight of each of its terms, against the runner-up."""
        [scores], [shares] = self._scores([text]), self.predict_proba([text])
        order = np.argsort(-scores, kind="stable")
        label, against = order[0], order[min(1, len(order) - 1)]
        learned = self._learner.learned
        known, values, bias, unknown = learned.vector(self._learner.text.terms(text))
        weights = self._by_class(learned.weights.astype(np.float64))
        weight = weights[label] - weights[against]
        written = self._learner.text.written(text)
        terms = [
            TermEvidence(term, count, float(weight[place] * value), written=written.get(term, ""))
            for (term, place, count), value in zip(known, values, strict=True)
        ]
        terms.sort(key=lambda term: -abs(term.weight))
        names = list(map(str, self.classes_))
        probabilities = dict(zip(names, shares.tolist(), strict=True))
        prior = float(weight[-1] * bias)
        return Evidence(names[label], names[against], probabilities, prior, 0.0, tuple(terms), unknown)

    @property
    def vocabulary_(self) -> list[str]:
        """The terms, in the order in which they came."""
        terms: list[str] = self._fitted_attribute("_learner").learned.terms.to_list()
        return terms

    @property
    def coef_(self) -> Array:
        """The weights of terms, for the second of two classes or for each class."""
        return self._weights()[:, :-1]

    @property
    def intercept_(self) -> Array:
        """The weights of the bias."""
        return self._weights()[:, -1]

    # ------------------------------------------------------------------------------------------------- details

    def _weights(self) -> Array:
        weights = self._by_class(self._fitted_attribute("_learner").learned.weights.astype(np.float64))
        return weights[1:] if len(self.classes_) == 2 else weights

    def _scores(self, X: Any) -> Array:
        check_is_fitted(self, "_learner")
        return np.ascontiguousarray(self._by_class(self._learner.scores(raw_texts(X)).T).T)

    def _by_class(self, rows: Array) -> Array:
        """Return a row for each class in their order, of what the learner has; of two, the first has zeros."""
        if len(self.classes_) > 2:
            return np.asarray(rows[np.argsort(self._seen)])
        second = rows if self._seen[-1] == self.classes_[-1] else -rows
        return np.concatenate([np.zeros_like(second), second])[: len(self.classes_)]


def _labels(y: Any, rows: int) -> tuple[NDArray[np.int32], Array]:
    """Return the number of each row's label, and the distinct labels in the order in which they come."""
    labels = numbered_labels(y, rows)
    firsts = np.full(len(labels.distinct), rows)
    np.minimum.at(firsts, labels.numbers, np.arange(rows))
    order = np.argsort(firsts)
    return np.argsort(order).astype(np.int32)[labels.numbers], labels.distinct[order]


def _batch_labels(batch: Batch, name: str) -> tuple[NDArray[np.int32], Array]:
    numbers, labels = batch.labels(name)
    return numbers, np.array(labels, np.str_)


def _learn(
    learner: TextLearner, texts: Any, numbers: NDArray[np.int32], labels: Array, seen: Array, begun: int = 0
) -> Array:
    """Learn texts whose numbers are places among ``labels``; returns all labels in the order in which they came."""
    seen = _joined(seen, labels)
    known = {label: place for place, label in enumerate(seen.tolist())}
    places = np.array([known[label] for label in labels.tolist()], np.int32)
    learner.learn(texts, places[numbers], begun)
    return seen


def _joined(seen: Array, labels: Array) -> Array:
    """Return the labels seen so far, followed by the new ones."""
    if not len(seen):
        return labels
    known = set(seen.tolist())
    new = np.array([label not in known for label in labels.tolist()], bool)
    if not new.any():
        return seen
    if (seen.dtype.kind in "US") != (labels.dtype.kind in "US"):
        raise ValueError(f"the label {labels[0]!r} is of another kind than {seen[0]!r}; convert them first")
    return np.concatenate([seen, labels[new]])
