"""Counts and the counter: exactness at the edges."""

import os

import numpy as np
import pytest

from discern.data import threads
from discern.data.strings import Strings
from discern.data.text import TextSettings
from discern.statistics import counts as statistics
from discern.statistics.counts import Counter, Counts, check_terms
from discern.statistics.exact import ExactMoments
from discern.statistics.moments import Moments
from discern.statistics.sums import Sums


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
        ("occurrences", [2**61, 2**61]),
        ("class_documents", [2**61, 2**61]),
        ("documents", [0, 1]),
        ("documents", [2, 1]),
    ],
)
def test_counts_that_do_not_fit_together(name: str, values: list[int]) -> None:
    counts = Counts.of(["lunch", "win"], ["a", "b"])
    arrays = counts.arrays(counts.labels)
    assert Counts.from_arrays(counts.labels, arrays, counts.class_documents) == counts
    with pytest.raises(ValueError, match=r"match|sorted|whole numbers"):
        Counts.from_arrays(counts.labels, {**arrays, name: np.array(values, np.int64)}, counts.class_documents)


def test_counts_of_other_types_or_shapes() -> None:
    counts = Counts.of(["lunch", "win"], ["a", "b"])
    arrays = counts.arrays(counts.labels)
    for name, array in arrays.items():
        with pytest.raises(ValueError, match="whole numbers"):
            Counts.from_arrays(counts.labels, {**arrays, name: array.astype(np.float64)}, counts.class_documents)
        with pytest.raises(ValueError, match="whole numbers"):
            Counts.from_arrays(counts.labels, {**arrays, name: array[:, None]}, counts.class_documents)
    for labels in (("a",), ("b", "a"), ("a", "a")):
        with pytest.raises(ValueError, match="do not match"):
            Counts.from_arrays(labels, arrays, counts.class_documents)


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
    check_terms(Strings.of([""]))


def test_terms_must_lie_one_behind_the_other() -> None:
    for offsets in ([0, 2, 1, 3], [0, 3, 2], [1, 3], [0, 2], []):
        with pytest.raises(ValueError, match="do not match their bytes"):
            check_terms(Strings(np.array(offsets, np.int64), np.frombuffer(b"abc", np.uint8)), is_sorted=False)


# ----------------------------------------------------------------------------------------------- parts of counts


COUNTED = Counts.of(["win win prize", "win lunch", "lunch noon"], ["spam", "ham", "ham"])


def test_levels_are_counted_as_terms() -> None:
    numbers, classes = np.array([1, 0, -1, 1, 1]), np.array([0, 1, 1, 1, 0])
    found = Counts.of_levels(numbers, ["fr", "de", "never"], classes, ["b", "a"])
    assert found.labels == ("a", "b")
    assert found.terms.to_list() == ["de", "fr"]
    assert found.class_documents.tolist() == [2, 2]
    assert found.entry_terms.tolist() == [0, 0, 1]
    assert found.entry_classes.tolist() == [0, 1, 0]
    assert found.occurrences.tolist() == found.documents.tolist() == [1, 2, 1]
    assert Counts.of_levels(np.zeros(0, int), [], np.zeros(0, int), []) == Counts.empty()


def test_decay_rounds_and_forgets() -> None:
    one = Counts.of(["win win win lunch"] + ["win"] * 3, ["a"] * 4)
    half = one.decayed(0.5)
    assert half.terms.to_list() == ["win"]  # one document of lunch, halved, rounds to none
    assert (half.occurrences.tolist(), half.documents.tolist()) == ([3], [2])
    assert half.class_documents.tolist() == [2]
    assert one.decayed(1.0) == one
    assert one.decayed(0.01).class_documents.tolist() == [1]
    # There are never fewer occurrences than documents.
    assert Counts.of(["win"] * 3, ["a"] * 3).decayed(0.5).occurrences.tolist() == [2]


def test_more_labels() -> None:
    wide = COUNTED.with_labels(["ham", "news", "spam"])
    assert wide.class_documents.tolist() == [2, 0, 1]
    assert wide.class_occurrences.tolist() == [4, 0, 3]
    assert wide.class_presences.tolist() == [4, 0, 2]
    assert COUNTED.with_labels(["ham", "spam"]) is COUNTED
    assert Counts.empty().with_labels(["a"]).class_documents.tolist() == [0]


def test_fewer_terms() -> None:
    assert COUNTED.terms.to_list() == ["lunch", "noon", "prize", "win"]
    kept = COUNTED.with_terms(np.array([True, False, False, True]))
    assert kept.terms.to_list() == ["lunch", "win"]
    assert kept.entry_terms.tolist() == [0, 1, 1]
    assert kept.entry_classes.tolist() == [0, 0, 1]
    assert kept.occurrences.tolist() == [2, 1, 2]
    assert COUNTED.with_min_documents(2) == kept
    assert COUNTED.with_min_documents(1) is COUNTED
    assert (COUNTED.rows, COUNTED.term_documents.tolist()) == (3, [2, 1, 1, 2])
    assert statistics.contained(COUNTED.terms, kept.terms).tolist() == [True, False, False, True]


def test_many_parts_at_once() -> None:
    parts = [Counts.of([text], [label]) for text, label in (("win", "b"), ("lunch win", "a"), ("win", "a"))]
    assert Counts.total(parts) == parts[0] + parts[1] + parts[2]
    assert Counts.total([]) == Counts.empty()
    assert COUNTED != "counts"


@pytest.mark.parametrize("most", [10, 1 << 18, (1 << 18) + 1, 1 << 40])
def test_distinct_keys_by_table_and_by_sorting(most: int) -> None:
    keys = np.array([7, 3, 7, 9, 0], np.int64)
    distinct, inverse = statistics._distinct(keys, most)
    assert distinct.tolist() == [0, 3, 7, 9]
    assert inverse.tolist() == [2, 1, 2, 3, 0]


def test_what_was_never_counted_is_named() -> None:
    with pytest.raises(ValueError, match="fewer rows of label 'spam'"):
        COUNTED - Counts.of(["win win prize"] * 2, ["spam"] * 2)
    with pytest.raises(ValueError, match="'noon' occurs more often in them than in the model's rows of label 'spam'"):
        COUNTED - Counts.of(["noon"], ["spam"])
    with pytest.raises(ValueError, match="'win' occurs more often in them than in the model's rows of label 'spam'"):
        COUNTED - Counts.of(["win prize"], ["spam"])  # an occurrence would be left, and no document
    with pytest.raises(ValueError, match="'lunch' occurs more often in them than in the model's rows of label 'ham'"):
        COUNTED - Counts.of(["win"], ["ham"]) - Counts.of(["noon"], ["ham"])
    assert (COUNTED - Counts.of(["win win prize"], ["spam"])).labels == ("ham",)


def test_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    cores = len(os.sched_getaffinity(0))
    for given, expected in (("3", 3), ("1", 1), ("0", cores), ("", cores), ("many", cores), ("-2", cores)):
        monkeypatch.setenv("DISCERN_THREADS", given)
        assert threads.default_threads() == expected
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {1, 2, 3} if process == 0 else {1})
    assert threads.default_threads() == 3  # those of this process
    monkeypatch.delattr(os, "sched_getaffinity")
    for counted, expected in ((5, 5), (None, 1)):
        monkeypatch.setattr(os, "cpu_count", lambda counted=counted: counted)
        assert threads.default_threads() == expected


# ------------------------------------------------------------------------------------------------------- moments


TABLE = np.array([[1.0, 10.0], [3.0, np.nan], [5.0, 40.0], [7.0, 20.0]])
PARTS = np.array([0, 0, 1, 1])


def test_means_and_variances_by_hand() -> None:
    moments = Moments.of(TABLE, PARTS, 3)
    assert moments.counts.tolist() == [[2, 1], [2, 2], [0, 0]]
    np.testing.assert_allclose(moments.means()[:2], [[2, 10], [6, 30]])
    np.testing.assert_allclose(moments.variances()[:2], [[1, 0], [1, 100]], atol=1e-12)
    assert np.isnan(moments.means()[2]).all()
    total = moments.pooled()
    assert total.counts.tolist() == [[4, 3]]
    np.testing.assert_allclose(total.means(), [[4, 70 / 3]])
    np.testing.assert_allclose(total.variances(), [[5, np.var([10, 40, 20])]])
    np.testing.assert_allclose(moments.of_classes(np.array([False, True, False])).means(), [[6, 30]])


def test_pivots_are_near_the_data() -> None:
    np.testing.assert_allclose(Moments.of(TABLE, PARTS, 2).pivot, [4, 70 / 3])
    assert Moments.of(np.full((2, 1), np.nan), np.zeros(2, int), 1).pivot.tolist() == [0.0]
    long = np.concatenate([np.ones(1024), np.full(5, 1e6)])[:, None]
    assert Moments.of(long, np.zeros(len(long), int), 1).pivot.tolist() == [1.0]  # of the first rows
    moved = Moments.of(TABLE, PARTS, 2).about(np.array([100.0, -5.0]))
    np.testing.assert_allclose(moved.means(), [[2, 10], [6, 30]])
    np.testing.assert_allclose(moved.variances(), [[1, 0], [1, 100]], atol=1e-9)
    np.testing.assert_allclose(moved.first, [[-196, 15], [-188, 70]])
    np.testing.assert_allclose(moved.second, [[99**2 + 97**2, 225], [95**2 + 93**2, 45**2 + 25**2]])


def test_moments_are_added_and_taken_away() -> None:
    left, right = Moments.of(TABLE[:3], PARTS[:3], 2), Moments.of(TABLE[3:], PARTS[3:], 2)
    both = left + right
    np.testing.assert_allclose(both.means(), Moments.of(TABLE, PARTS, 2).means())
    np.testing.assert_allclose(both.variances(), Moments.of(TABLE, PARTS, 2).variances(), atol=1e-12)
    rest = both - right
    assert rest.counts.tolist() == left.counts.tolist()
    np.testing.assert_allclose(rest.means(), left.means())


def test_equal_numbers_have_no_variance() -> None:
    assert Moments.of(np.full((7, 1), 0.1), np.zeros(7, int), 1).variances().tolist() == [[0.0]]
    far = Moments.of(np.full((7, 1), 0.1), np.zeros(7, int), 1).about(np.array([3.0]))
    assert far.variances().tolist() == [[0.0]]


# ---------------------------------------------------------------------------------------------- sums of all columns


def sums(rows: list[tuple[str, str, float]]) -> Sums:
    labels = sorted({label for label, _, _ in rows})
    classes = np.array([labels.index(label) for label, _, _ in rows])
    return Sums(
        tuple(labels),
        np.bincount(classes),
        (
            Counts.of([text for _, text, _ in rows], [label for label, _, _ in rows]),
            ExactMoments.of(np.array([number for *_, number in rows]), classes, len(labels)),
        ),
    )


DATA = [("b", "win", 2.0), ("a", "lunch", 5.0), ("b", "win win", np.nan), ("c", "news", 7.0), ("b", "prize", 4.0)]


def test_sums_over_columns_are_added_and_taken_away() -> None:
    whole = sums(DATA)
    for cut in range(1, 5):
        parts = sums(DATA[:cut]), sums(DATA[cut:])
        both = parts[0] + parts[1]
        assert both.rows == 5
        assert both.labels == whole.labels
        assert both.columns[0] == whole.columns[0]
        assert both == whole
        rest = both - parts[1]
        assert rest.labels == parts[0].labels
        assert rest.class_rows.tolist() == parts[0].class_rows.tolist()
        assert rest.columns[0] == parts[0].columns[0]
        assert rest == parts[0]
    assert Sums.total([sums(DATA[:2]), Sums(), sums(DATA[2:])]).class_rows.tolist() == whole.class_rows.tolist()
    total = Sums.total([sums(DATA[:1]), sums(DATA[1:3]), sums(DATA[3:])])
    assert total == whole
    assert whole + Sums() is whole
    assert (Sums() + whole) == whole
    assert Sums.total([]) == Sums()
    assert whole != sums(DATA[:4])
    assert whole != "sums"


def test_sums_that_were_never_learned_are_refused() -> None:
    whole = sums(DATA)
    for wrong, message in (
        ([("a", "lunch", 5.0)] * 2, "fewer rows of label 'a'"),
        ([("b", "noon", 2.0)], "'noon' occurs more often"),
        ([("a", "lunch", 6.0)], "not among those learned"),
        ([("b", "win", 200.0)], "not among those learned"),
        ([("b", "win", 4.2)], "not among those learned"),  # one number cannot have a negative variance
        ([("b", "win", np.nan), ("b", "win win", np.nan)], "lack a number"),
        ([("b", "win", 2.0), ("b", "prize", 4.0), ("b", "win win", 3.0)], "more numbers than"),
    ):
        with pytest.raises(ValueError, match=message):
            whole - sums(wrong)
    other = Sums(("a",), np.array([1]), tuple(reversed(sums(DATA[1:2]).columns)))
    for combined in (lambda: whole + other, lambda: whole - other, lambda: Sums.total([whole, other])):
        with pytest.raises(ValueError, match="different roles"):
            combined()


def test_decay_of_all_columns() -> None:
    faded = sums(DATA * 4).decayed(0.25)
    assert faded.class_rows.tolist() == [1, 3, 1]
    assert faded.columns[0].class_documents.tolist() == [1, 3, 1]
    assert faded.columns[1].counts.tolist() == [1, 2, 1]
    assert faded.columns[1].means().tolist() == [5, 3, 7]
    assert sums(DATA).decayed(1).class_rows.tolist() == [1, 3, 1]
    assert sums(DATA).decayed(0.01).class_rows.tolist() == [1, 1, 1]
    for factor in (0.0, -0.5, 1.1, float("nan")):
        with pytest.raises(ValueError, match="above 0 and at most 1"):
            sums(DATA).decayed(factor)


# --------------------------------------------------------------------------------------------- sums from a file


def test_sums_as_arrays_and_back() -> None:
    whole = sums(DATA)
    again = Sums.from_arrays(whole.labels, whole.arrays(), [Counts, ExactMoments])
    assert again == whole
    assert whole.arrays()["0.classes"].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("class_rows", [1, 3], "do not match the labels"),
        ("class_rows", [0, 3, 1], "do not match the labels"),
        ("class_rows", [2**61, 2**61, 2**61], "too many rows"),
        ("class_rows", [2**61, 2**60, 2**60], "too many rows"),
        ("class_rows", [1, 2, 1], "more values than there are rows"),
        ("class_rows", [1.0, 3.0, 1.0], "whole numbers"),
        ("0.classes", [0, 1, 3], "do not match the labels"),
        ("0.classes", [-1, 1, 2], "do not match the labels"),
        ("0.classes", [0, 0, 2], "do not match the labels"),
        ("0.classes", [0, 2, 1], "do not match the labels"),
        ("1.unit", [1.0], "whole numbers"),
        ("1.unit", [1074, 1074], "do not match the labels"),
        ("1.unit", [-1], "do not match the labels"),
        ("1.unit", [2163], "do not match the labels"),
        ("1.unit", [2162], "do not match each other"),
        ("1.unit", [2100], "do not match each other"),
        ("1.counts", [1, 2], "do not match the labels"),
        ("1.counts", [[1], [2], [1]], "whole numbers"),
        ("1.counts", [1, 4, 1], "more numbers than rows"),
        ("1.counts", [1, -1, 1], "more numbers than rows"),
        ("1.counts", [1, 1, 1], "do not match each other"),  # 6² > 1 · 20
        ("1.counts", [1, 0, 1], "do not match each other"),
        ("1.first", [[5], [6], [7]], "not integers of the labels"),
        ("1.first", np.array([[5], [6]], np.uint8), "not integers of the labels"),
        ("1.first", np.zeros((3, 281), np.uint8), "not integers of the labels"),
        ("1.first", np.zeros((3, 0), np.uint8), "shortest form"),
        ("1.first", np.array([[5, 0], [6, 0], [7, 0]], np.uint8), "shortest form"),
        ("1.first", np.array([[5], [7], [7]], np.uint8), "do not match each other"),  # 7² > 2 · 20
        ("1.first", np.array([[5], [249], [7]], np.uint8), "do not match each other"),  # −7
        ("1.second", np.zeros((3, 541), np.uint8), "not integers of the labels"),
        ("1.second", np.array([[25], [236], [49]], np.uint8), "do not match each other"),  # −20
    ],
)
def test_sums_that_do_not_fit_together(name: str, values: list, message: str) -> None:
    whole = sums(DATA)
    with pytest.raises(ValueError, match=message):
        Sums.from_arrays(whole.labels, {**whole.arrays(), name: np.array(values)}, [Counts, ExactMoments])


def test_sums_of_labels_that_are_not_sorted() -> None:
    whole = sums(DATA)
    for labels in (("b", "a", "c"), ("a", "a", "c"), ("a", "b")):
        with pytest.raises(ValueError, match="do not match the labels"):
            Sums.from_arrays(labels, whole.arrays(), [Counts, ExactMoments])
