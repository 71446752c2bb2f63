"""Counts and the counter: exactness at the edges."""

import numpy as np
import pytest

from discern import statistics
from discern.data import Strings
from discern.statistics import Counter, Counts, check_terms
from discern.text import TextSettings


def test_a_counter_over_batches_equals_one_count() -> None:
    counter = Counter(TextSettings(), threads=2)
    counter.add(["win", "lunch"], np.array([0, 1], np.int32), ["spam", "ham"])
    counter.add(["noon", "win win"], np.array([1, 0], np.int32), ["news", "ham"])
    found = counter.counts()
    assert found == Counts.of(["win", "lunch", "noon", "win win"], ["spam", "ham", "ham", "news"])
    assert found.labels == ("ham", "news", "spam")


def test_no_documents() -> None:
    assert Counter(TextSettings()).counts() == Counts.empty()
    assert Counts.of([], []) == Counts.empty()
    assert Counts.empty().rows == 0


def test_documents_without_words() -> None:
    found = Counts.of(["", "…", "a"], ["x", "x", "y"])
    assert found.class_documents.tolist() == [2, 1]
    assert len(found.terms) == 0
    assert found + found - found == found


def test_columns_of_strings_are_counted() -> None:
    documents = ["left out", "win win", "lunch née"]
    assert Counts.of(Strings.of(documents).rows(1), ["a", "b"]) == Counts.of(documents[1:], ["a", "b"])


def test_large_sums_are_exact() -> None:
    def counts(number: int) -> Counts:
        one = np.array([1], np.int64)
        many = np.array([number], np.int64)
        zero = np.zeros(1, np.int64)
        return Counts(("a",), one, Strings.of(["win"]), zero, zero, many, one)

    # Beyond 2**53, where floating-point numbers lose the last digit.
    total = counts(2**60) + counts(1) + counts(2)
    assert total.occurrences.tolist() == [2**60 + 3]
    assert total.term_occurrences.tolist() == [2**60 + 3]
    assert total.class_occurrences.tolist() == [2**60 + 3]
    assert total - counts(2**60) - counts(2) == counts(1)
    assert statistics._sums(np.array([0, 0, 1]), np.array([2**53, 1, 5]), 3).tolist() == [2**53 + 1, 5, 0]


def test_a_long_document_is_counted_exactly() -> None:
    found = Counts.of(["win " * 300_000 + "lunch", "win"], ["a", "a"])
    assert found.occurrences.tolist() == [1, 300_001]
    assert found.documents.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("class_documents", [1]),
        ("class_documents", [0, 1]),
        ("class_documents", [2**63 - 1, 1]),
        ("terms.offsets", [0, 3]),
        ("terms.offsets", [1, 5, 8]),
        ("terms.offsets", [0, 9, 8]),
        ("terms.offsets", [0, 8, 8]),
        ("entry_terms", [0, 2]),
        ("entry_terms", [1, 0]),
        ("entry_terms", [-1, 1]),
        ("entry_classes", [0, 2]),
        ("entry_classes", [0, -1]),
        ("entry_classes", [0]),
        ("occurrences", [1, 0]),
        ("occurrences", [2**62, 2**62]),
        ("documents", [0, 1]),
        ("documents", [2, 1]),
    ],
)
def test_counts_that_do_not_fit_together(name: str, values: list[int]) -> None:
    counts = Counts.of(["lunch", "win"], ["a", "b"])
    arrays = counts.arrays()
    assert Counts.from_arrays(counts.labels, arrays) == counts
    with pytest.raises(ValueError, match=r"fit|sorted|whole numbers"):
        Counts.from_arrays(counts.labels, {**arrays, name: np.array(values, np.int64)})


def test_counts_of_other_types_or_shapes() -> None:
    counts = Counts.of(["lunch", "win"], ["a", "b"])
    arrays = counts.arrays()
    for name, array in arrays.items():
        with pytest.raises(ValueError, match="whole numbers"):
            Counts.from_arrays(counts.labels, {**arrays, name: array.astype(np.float64)})
        with pytest.raises(ValueError, match="whole numbers"):
            Counts.from_arrays(counts.labels, {**arrays, name: array[:, None]})
    for labels in (("a",), ("b", "a"), ("a", "a"), ("a", "b", "c")):
        with pytest.raises(ValueError, match="fit"):
            Counts.from_arrays(labels, arrays)


@pytest.mark.parametrize("terms", [["b", "a"], ["a", "a"], ["ab", "a"], ["é", "e"]])
def test_terms_must_be_sorted(terms: list[str]) -> None:
    with pytest.raises(ValueError, match="sorted"):
        check_terms(Strings.of(terms))


def test_terms_must_be_whole_characters() -> None:
    halves = Strings(np.array([0, 1, 2], np.int64), np.frombuffer("é".encode(), np.uint8)[::-1].copy())
    with pytest.raises(ValueError, match=r"sorted|character|decode"):
        check_terms(halves)
    rising = Strings(np.array([0, 2, 3], np.int64), np.frombuffer(b"a\xc3\xa9", np.uint8))
    with pytest.raises(ValueError, match=r"sorted|character"):
        check_terms(rising)
    with pytest.raises(ValueError, match="decode"):
        check_terms(Strings(np.array([0, 1], np.int64), np.frombuffer(b"\xff", np.uint8)))
    check_terms(Strings.of(["", "a", "é", "\ud800", "🎉"]))
