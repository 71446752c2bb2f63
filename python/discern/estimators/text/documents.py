"""Documents as the native code takes them: texts of a list or column, and terms that only Python can find."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

import discern._native as _native
from discern.data.batch import as_column, as_texts, is_arrow, values_of
from discern.data.strings import Strings
from discern.data.text import TextSettings

# Patterns that match whole runs of word characters, as the default pattern does.
_RUNS = re.compile(r"(?:\(\?u\))?(?:\\b)?((?:\\w)*)\\w(?:\+|\{(\d+),\})(?:\\b)?")


_CUSTOM = ("build_analyzer", "build_preprocessor", "build_tokenizer", "decode")
_CUSTOM_NGRAMS = ("_word_ngrams", "_char_ngrams", "_char_wb_ngrams")
"""The methods that a subclass may override to read documents in its own way."""


class NativeTerms:
    """Mixin of the vectorizers: which documents and text settings go to the native code."""

    def _native_input(self, raw_documents: Iterable[Any]) -> tuple[Any, TextSettings]:
        """Return the documents as the native code takes them, and the settings to read them by."""
        vectorizer: Any = self
        if isinstance(raw_documents, str):
            raise ValueError("Iterable over raw text documents expected, string object received.")
        if _is_customized(vectorizer):
            return _analyzed(_as_list(raw_documents), vectorizer.build_analyzer()), TextSettings(analyzer="given")
        if vectorizer.input == "content" and (is_arrow(raw_documents) or isinstance(raw_documents, Strings)):
            documents, native = raw_documents, as_texts(raw_documents, "the documents")
        else:
            documents, native = self._decoded(raw_documents)
        settings = self._settings(native if isinstance(native, tuple) else documents)
        if settings is None:
            return _analyzed(_as_list(documents), _analyzer_of_decoded(vectorizer)), TextSettings(analyzer="given")
        if vectorizer.strip_accents is not None or vectorizer.preprocessor is not None:
            preprocess = vectorizer.build_preprocessor()
            return [preprocess(document) for document in _as_list(documents)], settings
        return native, settings

    def _decoded(self, raw_documents: Iterable[Any]) -> tuple[list[Any], Any]:
        """Return a list of strings, or of what an analyzer of one's own takes, and the same for the native code."""
        vectorizer: Any = self
        documents = raw_documents if isinstance(raw_documents, list) else list(raw_documents)
        if vectorizer.input == "content":
            try:
                return documents, _native.Texts(documents)
            except TypeError:
                pass  # some are not strings
        decoded = [vectorizer.decode(document) for document in documents]
        return decoded, decoded

    def _settings(self, documents: Any) -> TextSettings | None:
        vectorizer: Any = self
        lowercase = vectorizer.lowercase and vectorizer.preprocessor is None and vectorizer.strip_accents is None
        ngrams = tuple(vectorizer.ngram_range)
        if vectorizer.analyzer in ("char", "char_wb"):
            return _text_settings(analyzer=vectorizer.analyzer, lowercase=lowercase, ngrams=ngrams)
        if vectorizer.analyzer != "word" or vectorizer.tokenizer is not None:
            return None
        stop_words = tuple(vectorizer.get_stop_words() or ())
        checked = getattr(vectorizer, "_stop_words_id", None) == id(vectorizer.stop_words)
        if stop_words and not checked:  # scikit-learn's warning about stop words that the tokenizer would cut
            preprocess, tokenize = vectorizer.build_preprocessor(), vectorizer.build_tokenizer()
            vectorizer._check_stop_words_consistency(frozenset(stop_words), preprocess, tokenize)
        common: dict[str, Any] = {"lowercase": lowercase, "ngrams": ngrams, "stop_words": stop_words}
        runs = _RUNS.fullmatch(vectorizer.token_pattern)
        if runs:
            least = len(runs[1]) // 2 + int(runs[2] or 1)
            return _text_settings(min_word_length=least, **common)
        pattern = linear_pattern(vectorizer.token_pattern)
        if pattern is None or not _is_ascii(documents):
            return None
        return _text_settings(analyzer="pattern", pattern=pattern, **common)


@lru_cache(maxsize=64)
def _text_settings(**settings: Any) -> TextSettings:
    """Return settings, the same object for equal ones: their native form takes longer to make than a text to read."""
    return TextSettings(tokenizer="sklearn", **settings)


@lru_cache(maxsize=64)
def linear_pattern(pattern: str) -> str | None:
    r"""Translate a pattern of Python's ``re`` for the linear-time engine, if both mean the same on ASCII text.

    Examples
    --------
    >>> linear_pattern(r"[a-z]+")
    '[a-z]+'
    >>> linear_pattern(r"(?=a)b") is None
    True
    """
    try:
        compiled = re.compile(pattern)
    except re.error:
        return None
    if compiled.groups > 1 or compiled.match("") or re.search(r"\$|\\[ZABG]|\(\?<?[=!aiLmsx]|\[:|&&|~~|--", pattern):
        return None
    spaces = r"\t-\r\x1c-\x20"
    classes = {r"\s": f"[{spaces}]", r"\S": f"[^{spaces}]"}
    translated = re.sub(r"\\.", lambda escape: classes.get(escape[0], escape[0]), pattern, flags=re.DOTALL)
    try:
        _native.Text("pattern", pattern=translated)
    except ValueError:
        return None
    return translated


def raw_texts(X: Any) -> Any:
    """Return a list or column of texts as the native code takes them, for classifiers that read texts themselves."""
    if isinstance(X, str | bytes) or getattr(X, "ndim", 1) != 1:
        raise ValueError("X must be a list or a column of texts, not a single text and not a table")
    if not isinstance(X, Strings) and not is_arrow(X):
        X = list(X)
        if any(isinstance(text, bytes) for text in X):
            raise ValueError("X holds bytes: decode them first, for example with text.decode('utf-8')")
    return as_texts(X, "the texts", missing="text")


def _is_ascii(documents: Any) -> bool:
    if isinstance(documents, tuple):
        return bool(np.all(documents[3] < 128)) if documents[0] == "spans" else False
    return all(document.isascii() for document in documents)


def _as_list(documents: Any) -> list[Any]:
    if isinstance(documents, Strings):
        return documents.to_list()
    return values_of(as_column(documents)) if is_arrow(documents) else list(documents)


def _is_customized(vectorizer: Any) -> bool:
    """Whether a subclass, or the object itself, reads documents in a way that the native code does not know."""
    names = [*_CUSTOM, *(name for name in _CUSTOM_NGRAMS if hasattr(CountVectorizer, name))]
    return any(
        getattr(getattr(vectorizer, name), "__func__", None) is not getattr(CountVectorizer, name) for name in names
    )


def _analyzer_of_decoded(vectorizer: Any) -> Any:
    """Return the analyzer for documents that were read and decoded already: what it takes is their content."""
    reader = copy.copy(vectorizer)
    reader.input = "content"
    return reader.build_analyzer()


def _analyzed(documents: list[Any], analyze: Any) -> Any:
    """Return documents as lists of finished terms, for analyzers that only Python knows."""
    terms: list[str] = []
    ends: list[int] = []
    for document in documents:
        terms.extend(analyze(document))
        ends.append(len(terms))
    return ("terms", terms, ends)


def length_of(documents: Any) -> int:
    """Return the number of documents in a form that the native code takes."""
    if isinstance(documents, tuple):
        kind, first, second = documents[:3]
        return {"spans": len(first), "views": len(first) // 16}.get(kind, len(second))
    return len(documents)
