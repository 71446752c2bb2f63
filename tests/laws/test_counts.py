"""Counts add up like numbers: in any order, in any grouping, with a zero, and back again."""

from collections import Counter as Bag
from collections import defaultdict

import pytest
from hypothesis import given

from discern.data.text import TextSettings
from discern.statistics.counts import Counts
from tests.laws.strategies import rows, some_rows, text_settings


def counts(data: list[dict[str, str]], settings: dict | None = None) -> Counts:
    settings = {key: tuple(value) if isinstance(value, list) else value for key, value in (settings or {}).items()}
    return Counts.of([row["text"] for row in data], [row["label"] for row in data], TextSettings(**settings))


@given(rows, rows, rows)
def test_associative_and_commutative(first: list, second: list, third: list) -> None:
    a, b, c = counts(first), counts(second), counts(third)
    assert (a + b) + c == a + (b + c)
    assert a + b == b + a
    assert a + b + c == counts(first + second + third)


@given(rows)
def test_zero(data: list) -> None:
    a = counts(data)
    assert a + Counts.empty() == a == Counts.empty() + a
    assert a - Counts.empty() == a
    assert a - a == Counts.empty()
    assert counts([]) == Counts.empty()


@given(rows, rows, text_settings)
def test_what_was_added_can_be_taken_away(first: list, second: list, settings: dict) -> None:
    a, b = counts(first, settings), counts(second, settings)
    back = (a + b) - b
    assert back == a
    assert back.labels == a.labels
    assert back.terms.to_list() == a.terms.to_list()


@given(rows, rows)
def test_unequal_counts_are_unequal(first: list, second: list) -> None:
    def described(data: list) -> object:
        settings = TextSettings()
        bags = sorted((row["label"], sorted(settings.terms(row["text"]))) for row in data)
        totals: dict = defaultdict(Bag)
        for label, terms in bags:
            totals[label].update(terms)
            totals[label, "documents"].update(set(terms))
            totals[label, "rows"][""] += 1
        return totals

    assert (counts(first) == counts(second)) == (described(first) == described(second))


@given(some_rows, text_settings)
def test_counts_equal_a_plain_count(data: list, settings: dict) -> None:
    given_settings = {key: tuple(value) if isinstance(value, list) else value for key, value in settings.items()}
    text = TextSettings(**given_settings)
    occurrences: Bag = Bag()
    documents: Bag = Bag()
    for row in data:
        terms = [term.encode("utf-8", "surrogatepass") for term in text.terms(row["text"])]
        occurrences.update((term, row["label"]) for term in terms)
        documents.update((term, row["label"]) for term in set(terms))
    found = counts(data, settings)
    names = [term.encode("utf-8", "surrogatepass") for term in found.terms.to_list()]
    assert names == sorted({term for term, _ in occurrences})
    keys = [
        (names[term], found.labels[label]) for term, label in zip(found.entry_terms, found.entry_classes, strict=True)
    ]
    assert dict(zip(keys, found.occurrences.tolist(), strict=True)) == dict(occurrences)
    assert dict(zip(keys, found.documents.tolist(), strict=True)) == dict(documents)
    by_label = Bag(row["label"] for row in data)
    assert dict(zip(found.labels, found.class_documents.tolist(), strict=True)) == dict(by_label)
    assert found.rows == len(data)


@given(some_rows)
def test_sums_of_the_sums(data: list) -> None:
    found = counts(data)
    assert found.class_occurrences.sum() == found.term_occurrences.sum() == found.occurrences.sum()
    assert found.class_presences.sum() == found.term_documents.sum() == found.documents.sum()


@pytest.mark.parametrize(
    ("learned", "forgotten"),
    [
        ([("spam", "win win win")], [("spam", "win")]),  # occurrences would remain without a document
        ([("spam", "win"), ("spam", "win")], [("spam", "")]),  # two documents would hold it, of one
        ([("spam", "win lunch")], [("spam", "win")]),  # words would remain of a label without rows
        ([("spam", "win"), ("spam", "win win")], [("spam", "win win win")]),
        ([("spam", "win"), ("ham", "win")], [("spam", "win"), ("spam", "win")]),
        ([("spam", "win")], [("ham", "win")]),
    ],
)
def test_what_was_never_added_cannot_be_taken_away(learned: list, forgotten: list) -> None:
    a, b = (Counts.of([text for _, text in pairs], [label for label, _ in pairs]) for pairs in (learned, forgotten))
    with pytest.raises(ValueError, match="cannot forget"):
        a - b


@given(some_rows)
def test_arrays_and_back(data: list) -> None:
    found = counts(data)
    assert Counts.from_arrays(found.labels, found.arrays(found.labels), found.class_documents) == found


@given(some_rows, rows)
def test_min_documents(data: list, more: list) -> None:
    found = counts(data + more)
    kept = found.with_min_documents(2)
    expected = [
        term for term, documents in zip(found.terms.to_list(), found.term_documents, strict=True) if documents >= 2
    ]
    assert kept.terms.to_list() == expected
    assert (kept.term_documents >= 2).all()
    assert kept.term_occurrences.tolist() == found.term_occurrences[found.term_documents >= 2].tolist()
    assert kept.class_documents.tolist() == found.class_documents.tolist()
