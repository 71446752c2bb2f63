"""Text settings: which terms a document has."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

import discern._native as _native

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

CHARACTERS = (2, 5)
"""The default lengths of character n-grams."""
ANALYZERS = ("word", "char", "char_wb", "pattern", "given")
TOKENIZERS = ("words", "sklearn")
VIEWS = ("symbols", "characters")
"""Other ways in which a text is cut into terms, beside its words: with symbols as words; character n-grams."""


@dataclass(frozen=True)
class TextSettings:
    """The settings that determine the terms of a document.

    Parameters
    ----------
    analyzer : {"word", "char", "char_wb", "pattern", "given"}
        Words, character n-grams, character n-grams within words, matches of ``pattern``, or finished terms.
    tokenizer : {"words", "sklearn"}
        ``"sklearn"`` tokenizes exactly as scikit-learn does by default. ``"words"`` is the same on ASCII and correct in
        every script: combining marks belong to their word, and Chinese, Japanese, Thai, Khmer, Lao and Burmese are
        segmented.
    lowercase : bool
        Whether upper and lower case are the same.
    ngrams : tuple of int
        The shortest and the longest n-grams that are terms.
    stop_words : tuple of str
        Words to remove before n-grams are formed.
    stem : str or None
        The language whose Snowball stemmer is used, such as ``"english"``.
    min_word_length : int
        The number of characters of the shortest words to use.
    symbols : bool
        Whether punctuation marks, emoji and other symbols are words, too, each alone.
    pattern : str or None
        A regular expression (linear time: no look-around, no back-references), for the analyzer ``"pattern"``.

    Examples
    --------
    >>> TextSettings(ngrams=(1, 2)).terms("Win a prize")
    ['win', 'prize', 'win prize']
    >>> TextSettings(stem="english", stop_words=("the",)).terms("The walking walks")
    ['walk', 'walk']
    """

    analyzer: str = "word"
    tokenizer: str = "words"
    lowercase: bool = True
    ngrams: tuple[int, int] = (1, 1)
    stop_words: tuple[str, ...] = ()
    stem: str | None = None
    min_word_length: int = 2
    pattern: str | None = None
    symbols: bool = False

    def __post_init__(self) -> None:
        if self.analyzer not in ANALYZERS:
            raise ValueError(f"analyzer must be one of {', '.join(ANALYZERS)}, not {self.analyzer!r}")
        if self.tokenizer not in TOKENIZERS:
            raise ValueError(f"tokenizer must be 'words' or 'sklearn', not {self.tokenizer!r}")
        if self.pattern is not None and self.analyzer != "pattern":
            raise ValueError(f"pattern is for analyzer='pattern', not for {self.analyzer!r}: nothing would be filtered")
        if self.stem is not None and self.stem not in STEMMERS:
            raise ValueError(f"unknown stem {self.stem!r}; choose a language: {', '.join(STEMMED)}, yiddish")
        if self.symbols and self.analyzer != "word":
            raise ValueError(f"symbols is for analyzer='word', not for {self.analyzer!r}")

    @cached_property
    def native(self) -> _native.Text:
        """The settings in the form of the native code."""
        return _native.Text(
            self.analyzer,
            tables=python_tables() if self.tokenizer == "sklearn" else None,
            lowercase=self.lowercase,
            ngrams=self.ngrams,
            stop_words=[word.encode("utf-8", "surrogatepass") for word in self.stop_words],
            stemmer=self.stem,
            shortest=self.min_word_length,
            pattern=self.pattern,
            symbols=self.symbols,
        )

    def view(self, name: str) -> TextSettings:
        """Return the settings of a view: another way in which the same text is cut into terms.

        Examples
        --------
        >>> TextSettings(ngrams=(1, 2)).view("symbols").terms("Win!")
        ['win', '!', 'win !']
        >>> len(TextSettings().view("characters").terms("Win!"))
        14
        """
        if name == "symbols":
            return replace(self, symbols=True, min_word_length=1, stem=None)
        if name == "characters":
            return TextSettings("char_wb", tokenizer=self.tokenizer, lowercase=self.lowercase, ngrams=CHARACTERS)
        return self

    @property
    def words(self) -> TextSettings:
        """The settings that cut texts into words, to count them."""
        if self.analyzer == "given":
            return self
        return TextSettings(tokenizer=self.tokenizer, lowercase=False, min_word_length=1)

    @cached_property
    def _unstemmed(self) -> TextSettings:
        return replace(self, stem=None)

    def terms(self, document: str) -> list[str]:
        """Return the terms of a document, n-grams of each length in order."""
        return [term.decode("utf-8", "surrogatepass") for term in self.native.terms(document)]

    def written(self, document: str) -> dict[str, str]:
        """Return the terms that differ from the words of the document, each with the words it was made of.

        Examples
        --------
        >>> TextSettings(stem="english", ngrams=(1, 2)).written("Please walk; walking pleases")
        {'pleas': 'please / pleases', 'walk': 'walk / walking', 'pleas walk': 'please walk', \
'walk walk': 'walk walking', 'walk pleas': 'walking pleases'}
        """
        if self.stem is None:
            return {}
        words: dict[str, dict[str, None]] = {}
        # Stop words are removed before stemming: the terms of both correspond one to one.
        for term, word in zip(self.terms(document), self._unstemmed.terms(document), strict=True):
            words.setdefault(term, {})[word] = None
        return {term: " / ".join(forms) for term, forms in words.items() if list(forms) != [term]}

    def __getstate__(self) -> dict[str, Any]:
        return asdict(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def to_json(self) -> dict[str, Any]:
        """Return the settings as plain values, for the model file."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> TextSettings:
        """Make settings from the result of :meth:`to_json`."""
        values = dict(values)
        values["ngrams"] = (int(values["ngrams"][0]), int(values["ngrams"][1]))
        values["stop_words"] = tuple(str(word) for word in values["stop_words"])
        return cls(**values)


STEMMED = (
    "arabic", "armenian", "basque", "catalan", "danish", "dutch", "english", "esperanto", "estonian", "finnish",
    "french", "german", "greek", "hindi", "hungarian", "indonesian", "irish", "italian", "lithuanian", "nepali",
    "norwegian", "portuguese", "romanian", "russian", "serbian", "spanish", "swedish", "tamil", "turkish",
)  # fmt: skip
"""The languages that have both a stemmer and stop words, which identify them."""
STEMMERS = (*STEMMED, "yiddish", "porter", "lovins", "dutch_porter")
"""All stemmers: the other ones are chosen by name only."""
MIN_STOP_WORDS = 0.1
"""The minimal share of stop words in a text of a language."""


def language_of(occurrences: Mapping[str, int], words: int) -> str | None:
    """Return the language with the most stop words in a text, or None if the text has hardly any.

    ``occurrences`` are those of each word, ``words`` is their sum.

    Examples
    --------
    >>> language_of({"und": 5, "nicht": 4}, 40), language_of({"the": 9, "not": 2}, 40), language_of({"in": 2}, 40)
    ('german', 'english', None)
    """
    known = _stop_words()
    shares = {language: sum(occurrences.get(word, 0) for word in known[language]) for language in STEMMED}
    found = max(STEMMED, key=shares.__getitem__)
    return found if shares[found] >= max(MIN_STOP_WORDS * words, 1) else None


@cache
def every_stop_word() -> tuple[str, ...]:
    """Return the stop words of all languages that can be stemmed, sorted by their bytes."""
    words = {word for language in STEMMED for word in _stop_words()[language]}
    return tuple(sorted(words, key=lambda word: word.encode()))


def stop_words(language: str) -> tuple[str, ...]:
    """Return the stop words of a language: of every language that Snowball stems except Yiddish, and of some more.

    The lists come from spaCy. ``stop_words="english"`` of ``CountVectorizer`` is scikit-learn's own list.

    Examples
    --------
    >>> words = stop_words("danish")
    >>> len(words), "og" in words
    (219, True)
    >>> TextSettings(stop_words=stop_words("danish"), stem="danish").terms("Hunden og husene")
    ['hund', 'hus']
    """
    known = _stop_words()
    if language not in known:
        raise ValueError(f"no stop words for the language {language!r}; choose one of: {', '.join(sorted(known))}")
    return known[language]


@cache
def _stop_words() -> dict[str, tuple[str, ...]]:
    import json
    from importlib import resources

    lists = json.loads((resources.files("discern.data") / "stopwords" / "words.json").read_text("utf-8"))
    return {language: tuple(words) for language, words in lists.items()}


@cache
def python_tables() -> list[list[tuple[int, int]]]:
    r"""Return the character tables of this Python, because each version of Python has another version of Unicode.

    The ranges that ``\w`` matches; the lower case of each character that ``str.lower`` changes; and, because the lower
    case of Σ depends on its neighbors, the ranges of characters with case and of those that it ignores.
    """
    # The other planes have only characters for private use.
    every = np.r_[0:0x40000, 0xE0000:0xE1000].astype("<u4")
    # Two characters are left to the native code: İ becomes two, and Σ depends on its neighbors.
    codes = every[(every != 0x130) & (every != 0x3A3)]
    text = codes.tobytes().decode("utf-32-le", "surrogatepass")
    lowered = np.frombuffer(text.lower().encode("utf-32-le", "surrogatepass"), "<u4")
    changed = np.flatnonzero(lowered != codes)
    lower = list(zip(codes[changed].tolist(), lowered[changed].tolist(), strict=True))
    # Both are letters, and are put back into the text for this.
    whole = every.tobytes().decode("utf-32-le", "surrogatepass")
    words = [(int(every[match.start()]), int(every[match.end() - 1]) + 1) for match in re.finditer(r"\w+", whole)]
    near = codes[(codes < 0x20000) | (codes >> 12 == 0xE0)]  # the others are ideographs or nothing
    inner, inner_of_two = _sigmas_before("", near), _sigmas_before("b", near)
    return [words, lower, _ranges(near[inner], 0x130, 0x3A3), _ranges(near[inner_of_two & ~inner])]


def _sigmas_before(behind: str, codes: NDArray[Any]) -> NDArray[np.bool_]:
    """Return before which characters, with ``behind`` behind them, Σ is within a word and becomes σ."""
    table = np.empty((len(codes), 4 + len(behind)), "<u4")
    table[:] = [ord(character) for character in f"aΣ?{behind} "]
    table[:, 2] = codes
    text = table.tobytes().decode("utf-32-le", "surrogatepass").lower()
    lowered = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4").reshape(table.shape)
    return np.asarray(lowered[:, 1] == ord("σ"))


def _ranges(codes: NDArray[Any], *more: int) -> list[tuple[int, int]]:
    """Return sorted numbers, and some more, as half-open ranges."""
    ends = np.flatnonzero(np.diff(codes) > 1)
    starts, stops = codes[np.r_[0, ends + 1]], codes[np.r_[ends, len(codes) - 1]]
    return [*zip(starts.tolist(), (stops + 1).tolist(), strict=True), *((code, code + 1) for code in more)]
