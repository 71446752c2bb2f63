"""The vectorizers against scikit-learn's: subclasses, files, edited vocabularies and other ways to use them."""

from __future__ import annotations

import copy
import io
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest
import sklearn.feature_extraction.text as theirs

import discern

TEXTS = ["One fish two Fish", "red fish, blue fish!", "", "a bb ccc bb a"]
NAMES = ["CountVectorizer", "TfidfVectorizer", "HashingVectorizer"]


def numbers(matrix: Any) -> list[list[float]]:
    """The weights of each row, in order: columns of the hashing vectorizer are its own."""
    return [sorted(np.abs(row[row != 0]).round(9).tolist()) for row in matrix.toarray()]


def both(name: str, change: dict[str, Any], **parameters: Any) -> tuple[Any, Any]:
    """The same subclass of our class and of scikit-learn's."""
    bases = getattr(discern, name), getattr(theirs, name)
    made = [type("Own", (base,), {**change, "__init__": base.__init__})(**parameters) for base in bases]
    return made[0], made[1]


def letters(self: Any) -> Any:
    analyze = super(type(self), self).build_analyzer()
    return lambda document: [letter for word in analyze(document) for letter in word]


CHANGES: dict[str, dict[str, Any]] = {
    "analyzer": {"build_analyzer": letters},
    "tokenizer": {"build_tokenizer": lambda self: str.split},
    "preprocessor": {"build_preprocessor": lambda self: lambda text: text.replace("fish", "bird bird")},
    "decode": {"decode": lambda self, document: document[:9]},
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("ngrams", [(1, 1), (1, 2)])
def test_a_subclass_reads_documents_in_its_own_way(name: str, change: str, ngrams: tuple[int, int]) -> None:
    ours, peer = both(name, CHANGES[change], ngram_range=ngrams)
    expected = peer.fit_transform(TEXTS)
    assert numbers(ours.fit_transform(TEXTS)) == numbers(expected)
    assert numbers(ours.transform(iter(TEXTS))) == numbers(expected)
    if name != "HashingVectorizer":
        assert ours.vocabulary_ == peer.vocabulary_
    plain = getattr(discern, name)(ngram_range=ngrams).fit_transform(TEXTS)
    assert numbers(plain) != numbers(expected)


def test_an_analyzer_set_on_the_object_is_used() -> None:
    vectorizer = discern.CountVectorizer()
    vectorizer.build_analyzer = lambda: str.split
    assert vectorizer.fit(["A a"]).vocabulary_ == {"A": 0, "a": 1}


SETTINGS: list[dict[str, Any]] = [
    {},
    {"tokenizer": str.split, "token_pattern": None},
    {"analyzer": str.split},
    {"token_pattern": r"\w+(?=\s)"},
    {"preprocessor": str.upper},
    {"analyzer": "char", "ngram_range": (1, 2)},
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("settings", SETTINGS, ids=lambda one: "-".join(one) or "plain")
def test_files_are_read_once(name: str, settings: dict[str, Any], tmp_path: Path) -> None:
    paths = [tmp_path / str(number) for number in range(len(TEXTS))]
    for path, text in zip(paths, TEXTS, strict=True):
        path.write_text(text, "utf-8")
    expected = numbers(getattr(theirs, name)(**settings).fit_transform(TEXTS))
    by_name = getattr(discern, name)(input="filename", **settings)
    assert numbers(by_name.fit_transform(map(str, paths))) == expected
    by_file = getattr(discern, name)(input="file", **settings)
    assert numbers(by_file.fit_transform([io.StringIO(text) for text in TEXTS])) == expected
    assert numbers(by_file.fit_transform([io.BytesIO(text.encode()) for text in TEXTS])) == expected


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("settings", SETTINGS, ids=lambda one: "-".join(one) or "plain")
@pytest.mark.parametrize("texts", [TEXTS, ["é", "straße x", "bb 中文"]], ids=["ascii", "unicode"])
def test_every_column_of_texts_can_be_tokenized(name: str, settings: dict[str, Any], texts: list[str]) -> None:
    expected = numbers(getattr(theirs, name)(**settings).fit_transform(texts))
    columns = [
        polars.Series(texts), pandas.Series(texts), pandas.Series(texts, dtype="string[pyarrow]"), np.array(texts),
        pyarrow.array(texts), pyarrow.chunked_array([texts[:1], texts[1:]]), pyarrow.array(texts, pyarrow.string_view()),
        tuple(texts), iter(texts),
    ]  # fmt: skip
    for column in columns:
        assert numbers(getattr(discern, name)(**settings).fit_transform(column)) == expected, type(column)


def edits(vocabulary: dict[str, int]) -> list[Any]:
    return [
        lambda: vocabulary.update(new=len(vocabulary)),
        lambda: vocabulary.__setitem__("other", len(vocabulary)),
        lambda: vocabulary.pop("other"),
        lambda: vocabulary.__ior__({"fish": vocabulary["one"], "one": vocabulary["fish"]}),
        lambda: vocabulary.setdefault("last", len(vocabulary)),
        lambda: vocabulary.popitem(),
        lambda: vocabulary.__delitem__("new"),
    ]


@pytest.mark.parametrize("again", [lambda one: one, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_edits_of_the_vocabulary_are_seen(again: Any) -> None:
    more = [*TEXTS, "new other last words"]
    ours, peer = discern.CountVectorizer().fit(TEXTS), theirs.CountVectorizer().fit(TEXTS)
    for ours_edit, peer_edit in zip(edits(ours.vocabulary_), edits(peer.vocabulary_), strict=True):
        ours_edit(), peer_edit()
        found, expected = again(ours).transform(more), peer.transform(more)
        assert found.toarray().tolist() == expected.toarray().tolist()
        assert ours.get_feature_names_out().tolist() == peer.get_feature_names_out().tolist()


def test_a_column_beyond_the_vocabulary_is_refused() -> None:
    vectorizer = discern.CountVectorizer().fit(["one two"])
    vectorizer.vocabulary_["three"] = 7
    assert vectorizer.transform(["one two"]).shape == (1, 3)
    with pytest.raises(ValueError, match=re.escape("has column 7: number the terms from 0 to 2")):
        vectorizer.transform(["three"])


@pytest.mark.parametrize("name", ["TfidfTransformer", "HashingVectorizer"])
def test_sparse_results_have_no_other_container(name: str) -> None:
    assert hasattr(getattr(theirs, name)(), "set_output") == hasattr(getattr(discern, name)(), "set_output")
