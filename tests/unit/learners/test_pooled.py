"""Normal densities with one shrunken covariance: leave-one-out, the share of the identity, and sums without much in them."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discern.learners.normals.pooled import SHARES, Spread, left_out


def spread_of(rows: Any, classes: Any, n_classes: int) -> Spread:
    counts = np.bincount(classes, minlength=n_classes)
    means = np.array([rows[classes == one].mean(axis=0) if counts[one] else 0 * rows[0] for one in range(n_classes)])
    apart = rows - means[classes]
    return Spread.of(counts, means, apart.T @ apart)


def drawn(seed: int, n_classes: int, size: int, axes: int) -> tuple[Any, Any]:
    draw = np.random.default_rng(seed)
    classes = np.concatenate([np.arange(n_classes), draw.integers(0, n_classes, size - n_classes)])
    centers = 2 * draw.normal(size=(n_classes, axes))
    return centers[classes] + draw.normal(size=(size, axes)) * np.linspace(0.2, 2.0, axes), classes


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(2, 12), st.integers(1, 10))
def test_leaving_one_out_is_training_again(seed: int, n_classes: int, more: int, axes: int) -> None:
    """With the same share of the identity, scores of rows left out are those of a model that never saw them."""
    rows, classes = drawn(seed, n_classes, 2 * n_classes + more, axes)
    spread = spread_of(rows, classes, n_classes)
    found = left_out(spread, rows, classes)
    for place in range(len(rows)):
        rest = np.arange(len(rows)) != place
        again = spread_of(rows[rest], classes[rest], n_classes)
        again.__dict__["share"] = spread.share
        expected = again.solved().scores(rows[place : place + 1])[0]
        assert found[place] == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_known_covariance() -> None:
    """With many rows, scores are the log odds of the densities that rows were drawn from."""
    draw = np.random.default_rng(1)
    root = np.array([[1.0, 0.0, 0.0], [0.8, 0.5, 0.0], [0.0, 0.3, 2.0]])
    centers = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 0.0]])
    classes = np.arange(40_000) % 2
    rows = centers[classes] + draw.normal(size=(40_000, 3)) @ root.T
    spread = spread_of(rows, classes, 2)
    assert spread.share < 0.01
    points = draw.normal(size=(50, 3))
    scores = spread.solved().scores(points)
    precision = np.linalg.inv(root @ root.T)
    apart = centers[1] - centers[0]
    expected = (points - centers.mean(axis=0)) @ precision @ apart
    assert np.allclose(scores[:, 1] - scores[:, 0], expected, atol=0.15)


def test_the_best_class_scores_how_much_nearer_than_usual_it_is() -> None:
    draw = np.random.default_rng(2)
    rows, classes = draw.normal(size=(20_000, 8)), np.arange(20_000) % 2
    top = spread_of(rows, classes, 2).solved().scores(draw.normal(size=(5000, 8))).max(axis=1)
    assert abs(float(top.mean())) < 0.1
    assert abs(float(top.std()) - 1.0) < 0.1


@pytest.mark.parametrize(("rows", "least", "most"), [(3, 0.3, 1.0), (100, 0.0, 0.1)])
def test_few_rows_are_shrunken_more(rows: int, least: float, most: float) -> None:
    """The share of the identity with the least estimated error is about the one with the least error on new rows."""
    draw, axes = np.random.default_rng(3), 60
    scales = np.geomspace(0.1, 1.0, axes)
    centers = draw.normal(size=(20, axes)) * scales

    def some(each: int) -> tuple[Any, Any]:
        classes = np.repeat(np.arange(20), each)
        return centers[classes] + 0.9 * draw.normal(size=(len(classes), axes)) * scales, classes

    spread, (points, truth) = spread_of(*some(rows), 20), some(100)
    assert least <= spread.share <= most

    def accuracy(share: float) -> float:
        spread.__dict__["share"] = share
        return float((spread.solved().scores(points).argmax(axis=1) == truth).mean())

    chosen = accuracy(spread.share)
    assert chosen >= max(accuracy(float(share)) for share in SHARES[::6]) - 0.02


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_few_or_equal_rows(rows: int) -> None:
    """Without a variance, the class with the nearest mean wins, and all scores are finite."""
    points = np.array([[0.0, 0.0, 1.0], [3.0, 0.0, 1.0]])
    classes = np.repeat([0, 1], rows)
    spread = (
        spread_of(points[classes], classes, 3) if rows else Spread.of(np.zeros(3, int), 0 * np.eye(3), 0 * np.eye(3))
    )
    scores = spread.solved().scores(np.array([[0.1, 0.0, 1.0], [1e38, 0.0, 0.0]]))
    assert np.isfinite(scores).all()
    if rows:
        assert spread.share == 1.0
        assert int(scores[0, :2].argmax()) == 0
        assert np.isfinite(left_out(spread, points[classes], classes)).all()


def test_a_single_class_has_the_usual_share() -> None:
    rows = np.random.default_rng(4).normal(size=(50, 5)) * np.array([1, 1, 1, 1, 9])
    assert 0 < spread_of(rows, np.zeros(50, int), 1).share < 0.5
