"""Unigram language models: the probability of a string as the product of those of its words, one model for each label.

    log P(s|M) = Σ over words of n_w log P(w|M)

In log space nothing underflows, however long the string.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

import discern._native as _native
from discern.data.strings import Strings
from discern.data.text import TextSettings
from discern.data.threads import default_threads
from discern.learners.bayes import Margins, multinomial_weight
from discern.learners.smoothing import Smoothing
from discern.statistics.counts import Counts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


@dataclass(frozen=True)
class LanguageModels:
    """The log probabilities of words, a row a word and a column a label; −∞ for what a model has never seen.

    Examples
    --------
    >>> models = LanguageModels.given({"m": {"the": 0.2, "man": 0.01}}, TextSettings(min_word_length=1))
    >>> logs, unknown = models.log_probabilities(["the man", "the moon"])
    >>> np.exp(logs).round(6).tolist(), unknown.tolist()
    ([[0.002], [0.2]], [0, 1])
    """

    labels: tuple[str, ...]
    words: Strings
    weights: Array
    text: TextSettings

    @classmethod
    def solve(cls, counts: Counts, smoothing: Smoothing, text: TextSettings) -> LanguageModels:
        """Estimate the probabilities of words from counts; Laplace with α = 0 is maximum likelihood."""
        occurrences = np.zeros((len(counts.terms), len(counts.labels)))
        occurrences[counts.entry_terms, counts.entry_classes] = counts.occurrences
        margins = Margins(counts.term_occurrences, counts.class_occurrences, counts.class_documents, len(counts.terms))
        weight = multinomial_weight(smoothing, margins)
        with np.errstate(divide="ignore", invalid="ignore"):  # what was never seen has log 0
            weights = weight(occurrences, margins.terms[:, None], margins.classes, margins.documents)
        return cls(counts.labels, counts.terms, np.where(np.isnan(weights), -np.inf, weights), text)

    @classmethod
    def given(cls, probabilities: Mapping[str, Mapping[str, float]], text: TextSettings) -> LanguageModels:
        """Take known probabilities of words for each label; words without one are impossible."""
        for label, words in probabilities.items():
            check_probabilities(label, words, text)
        labels = tuple(sorted(probabilities))
        every = {word for words in probabilities.values() for word in words}
        ordered = sorted(every, key=lambda word: word.encode("utf-8", "surrogatepass"))
        table = np.array([[probabilities[label].get(word, 0.0) for label in labels] for word in ordered], np.float64)
        with np.errstate(divide="ignore"):
            return cls(labels, Strings.of(ordered), np.log(table), text)

    def log_probabilities(self, texts: Any, threads: int | None = None) -> tuple[Array, NDArray[np.int64]]:
        """Return log P(s|M) of each text and label over the words that are known, and how many are not."""
        import scipy.sparse

        found, unknown = self._vocabulary.rows(texts, threads or default_threads())
        shape = (len(found.starts) - 1, len(self.words))
        rows = scipy.sparse.csr_matrix((found.counts.astype(np.float64), found.terms, found.starts), shape=shape)
        return np.asarray(rows @ self.weights), unknown

    @cached_property
    def _vocabulary(self) -> _native.Vocabulary:
        data = np.ascontiguousarray(self.words.data)
        return _native.Vocabulary(self.text.native, self.words.offsets, data)

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


def check_probabilities(label: str, words: Mapping[str, float], text: TextSettings) -> None:
    """Refuse probabilities that are not valid, sum to more than 1, or belong to terms that no text contains."""
    for word, probability in words.items():
        if not 0 <= probability <= 1:
            raise ValueError(f"the probability of {word!r} in {label!r} must be from 0 to 1, not {probability!r}")
        if text.terms(word) != [word]:
            raise ValueError(
                f"{word!r} in {label!r} is not a single word: the tokenizer splits it into {text.terms(word)} there"
            )
    total = sum(words.values())
    if not 0 < total <= 1 + 1e-9:
        raise ValueError(f"the probabilities of {label!r} must sum to at most 1 and not to 0, but sum to {total:g}")
