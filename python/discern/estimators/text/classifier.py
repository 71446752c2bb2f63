"""The base of classifiers of raw texts: settings of words, and labels as numbers."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import assert_all_finite, check_consistent_length, column_or_1d

from discern.data.encode import EncodedLabels
from discern.data.text import TextSettings
from discern.estimators.base import BaseClassifier
from discern.estimators.checks import numbered

NO_WORDS = "the texts contain no words; perhaps all are stop words or shorter than `min_word_length`"


@dataclass(eq=False, repr=False, kw_only=True)
class TextClassifier(BaseClassifier):
    """A classifier of raw texts."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "lowercase": ["boolean"],
        "min_word_length": [Interval(Integral, 1, None, closed="left")],
        "stop_words": [list, tuple, None],
        "stem": [str, None],
    }
    _input_tags: ClassVar[dict[str, bool]] = {"string": True, "two_d_array": False, "one_d_array": True}

    lowercase: bool = True
    min_word_length: int = 1
    stop_words: Any = None
    stem: str | None = None

    def _text_settings(self, **more: Any) -> TextSettings:
        return TextSettings(
            lowercase=self.lowercase,
            min_word_length=self.min_word_length,
            stop_words=tuple(self.stop_words or ()),
            stem=self.stem,
            **more,
        )


def numbered_labels(y: Any, rows: int) -> EncodedLabels:
    """Number the labels of texts."""
    y = column_or_1d(y, warn=True)
    assert_all_finite(y, input_name="y")
    if len(y) != rows:
        check_consistent_length(np.zeros(rows), y)
    return numbered(y)
