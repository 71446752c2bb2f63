"""Labels are numbered as ``np.unique`` would number them, whatever they are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discern._native as native
from discern.data.encode import encode_labels


def same_as_unique(labels):
    distinct, numbers, counts = np.unique(labels, return_inverse=True, return_counts=True)
    found = encode_labels(labels)
    assert found.distinct.dtype == labels.dtype
    assert found.numbers.dtype == np.int32
    np.testing.assert_array_equal(found.distinct, distinct)
    np.testing.assert_array_equal(found.numbers, numbers)
    np.testing.assert_array_equal(found.counts, counts)


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3), min_size=1, max_size=50))
def test_any_whole_numbers(labels):
    same_as_unique(np.array(labels, np.int64))


@pytest.mark.parametrize("kind", ["b", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f8", "U3"])
def test_every_kind_of_label(kind):
    labels = np.random.default_rng(0).integers(0, 5, 200).astype(kind)
    same_as_unique(labels)
    same_as_unique(labels[::3])


@pytest.mark.parametrize("labels", [[2**63, 0], [-(2**63), 2**63 - 1], [0, 2**40], [5, 5], [-7, -9, -7]], ids=str)
def test_labels_near_and_far(labels):
    same_as_unique(np.array(labels))


def test_no_labels_have_no_classes():
    assert len(encode_labels(np.zeros(0, np.int64)).distinct) == 0


def test_places_among_more_classes():
    labels = encode_labels(np.array([5, 9, 5]))
    classes = np.array([1, 5, 7, 9])
    assert labels.within(classes).tolist() == [1, 3, 1]
    assert labels.class_counts(classes, None).tolist() == [0, 2, 0, 1]
    assert labels.class_counts(classes, np.array([0.5, 2.0, 1.0])).tolist() == [0, 1.5, 0, 2]
    assert labels.within(np.array([5, 9])) is labels.numbers


def test_the_native_code_takes_nothing_that_does_not_fit():
    table, classes = np.zeros((3, 2), np.int64), np.zeros(3, np.int32)
    for bad in (classes[:2], classes - 1, classes + 2):
        with pytest.raises(ValueError, match="class numbers"):
            native.category_counts(table, bad, 2, None, 1)
        with pytest.raises(ValueError, match="class numbers"):
            native.moments(table.astype(float), bad, 2, np.zeros(2), None, 1)
        with pytest.raises(ValueError, match="class numbers"):
            native.ExactTotal(2).add(table[:, 0].astype(float), bad, 2)
    with pytest.raises(ValueError, match="infinite number"):
        native.ExactTotal(2).add(np.array([1.0, np.inf, 1.0]), classes, 2)
    with pytest.raises(ValueError, match="weights"):
        native.category_counts(table, classes, 2, np.zeros(2), 1)
    with pytest.raises(ValueError, match="needs columns"):
        native.category_counts(table[:, :0].copy(), classes, 2, None, 1)
    with pytest.raises(ValueError, match="no room"):
        native.category_counts(np.full((3, 2), 2**50), classes, 2, None, 1)
    with pytest.raises(ValueError, match="densities"):
        native.normal_scores(np.zeros((3, 2)), np.zeros((1, 2)), np.zeros((1, 2)), np.zeros((1, 1)), np.zeros(1), 1)
    with pytest.raises(ValueError, match="levels"):
        native.category_scores(table, [2, 2], np.zeros(7), np.zeros(2), 1)
    readonly = np.zeros((2, 2))
    readonly.flags.writeable = False
    with pytest.raises((ValueError, TypeError), match="writ"):
        native.to_probabilities(readonly, 1)
