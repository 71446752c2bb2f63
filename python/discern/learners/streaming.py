"""Logistic regression learned from texts while they are read, each row once and in the order given.

A text is the vector of 1 + ln(count) of its terms, with a 1 for the bias, divided by its length. Each weight has its
own rate, which falls with the gradients it has seen (AdaGrad: Duchi, Hazan and Singer 2011), and steps are implicit
(Kulis and Bartlett 2010): a step never goes further than to where its own gradient ends. The equations are in
``rust/src/learners/streaming.rs``.

The result depends on the order of the rows, and on nothing else: not on batches, the type of the column or the
number of threads. A class is learned from the first row with its label on.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

import discern._native as _native
from discern.data.strings import Strings
from discern.data.threads import default_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discern.data.text import TextSettings

    Array = NDArray[Any]


class TextLearner:
    """A model that learns from texts; classes are numbers, in the order in which they came.

    Examples
    --------
    >>> from discern.data.text import TextSettings
    >>> learner = TextLearner(TextSettings(), 2.0)
    >>> learner.learn(["win a prize", "see you at lunch"], np.array([1, 0], np.int32))
    >>> learner.scores(["win a lunch"]).shape
    (1, 1)
    >>> learner.learned.terms.to_list()
    ['win', 'prize', 'see', 'you', 'at', 'lunch']
    """

    def __init__(self, text: TextSettings, rate: float) -> None:
        self.text = text
        self.rate = rate
        self.classes = 0
        self._native = _native.TextLearner(text.native, rate)

    def __len__(self) -> int:
        return len(self._native)

    def learn(self, texts: Any, numbers: NDArray[np.int32], begun: int = 0) -> None:
        """Learn texts, each with the number of its class; classes below ``begun`` start at once, others when they come.

        ``texts`` are as :func:`discern.data.batch.as_texts` gives them.
        """
        self.__dict__.pop("learned", None)
        n_classes = int(numbers.max(initial=-1)) + 1
        self._native.learn(texts, np.ascontiguousarray(numbers, np.int32), n_classes, begun)
        self.classes = max(self.classes, n_classes, begun)

    def scores(self, texts: Any) -> NDArray[np.float64]:
        """Return scores, a row a text: one of the second of two classes against the first, else one for each class."""
        return self._native.scores(texts, default_threads())

    @cached_property
    def learned(self) -> Learned:
        """The terms and their weights."""
        offsets, data, weights, squares = self._native.state()
        return Learned(Strings(offsets, data), weights, squares)

    def __getstate__(self) -> dict[str, Any]:
        learned = self.learned if self.classes else None
        return {"text": self.text, "rate": self.rate, "classes": self.classes, "learned": learned}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["text"], state["rate"])  # type: ignore[misc]
        learned = state["learned"]
        if learned is not None:
            self.classes = state["classes"]
            self._native = learned.native(self.text.native, self.rate, self.classes)


@dataclass(frozen=True)
class Learned:
    """Terms in the order in which they came; for each learner weights and sums of squares, those of the bias last."""

    terms: Strings
    weights: NDArray[np.float32]
    squares: NDArray[np.float32]

    def native(self, text: _native.Text, rate: float, classes: int) -> _native.TextLearner:
        """Return the learner that goes on from here."""
        arrays = (self.terms.offsets, self.terms.data, self.weights, self.squares)
        return _native.TextLearner.restored(text, rate, classes, *arrays)

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of each term."""
        return {term: place for place, term in enumerate(self.terms.to_list())}

    def vector(self, terms: list[str]) -> tuple[list[tuple[str, int, int]], Array, float, int]:
        """Return known terms (term, place, count), their values, that of the bias, and the number of unknown terms."""
        counts = Counter(terms)
        known = [(term, self.places[term], count) for term, count in counts.items() if term in self.places]
        values = np.array([1.0 + math.log(count) for _, _, count in known])
        length = math.sqrt(1.0 + float(values @ values))
        unknown = len(terms) - sum(count for _, _, count in known)
        return known, values / length, 1.0 / length, unknown
