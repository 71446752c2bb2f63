"""Large margins of several labels a row: one call over shared rows finds what a call for each label finds."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from discern.learners.margins import MarginSettings, fit_margins

PROBLEMS = [
    MarginSettings(loss, cost, solver, intercept=intercept, scaling=2.0, tolerance=1e-9)
    for loss, solver in (("squared_hinge", "dual"), ("squared_hinge", "primal"), ("hinge", "dual"))
    for intercept in ("penalized", "free", "none")
    for cost in (0.3, 4.0)
]

NOTHING = 1e-12
"""What all rows on one side cost where the intercept is free: nothing, but for rounding."""


def label_by_label(X, classes, members, settings, scales, weights):
    alone = []
    for place, own in enumerate(members):
        scale = None if scales is None else scales[place : place + 1]
        alone.append(
            fit_margins(X, own[classes].astype(np.int32), 2, settings, scales=scale, weights=weights, threads=1)
        )
    return alone


@given(
    settings=st.sampled_from(PROBLEMS),
    seed=st.integers(0, 1000),
    labels=st.integers(1, 4),
    sparse=st.booleans(),
    scaled=st.booleans(),
    weighted=st.booleans(),
    threads=st.sampled_from([1, 2]),
)
def test_one_call_finds_the_margins_of_each_label_alone(settings, seed, labels, sparse, scaled, weighted, threads):
    random = np.random.default_rng(seed)
    table = random.integers(0, 3, (24, 3)) * random.random((24, 1)).round(2)
    X = scipy.sparse.csr_array(table) if sparse else table
    members = random.random((labels, 5)) < 0.4
    members[0] = bool(seed % 2)  # a label of all rows, or of none
    classes = random.integers(0, 5, len(table)).astype(np.int32)
    scales = random.normal(size=(labels, 3)) if scaled else None
    weights = random.integers(1, 4, len(table)).astype(np.float64) if weighted else None
    given_to = {"scales": scales, "weights": weights, "members": members}
    found = fit_margins(X, classes, 5, settings, threads=threads, duals=True, **given_to)
    assert found.coef.shape == (labels, 3)
    assert found.duals.shape == (24, labels)
    assert settings.intercept == "free" or found.certificate.converged
    for place, alone in enumerate(label_by_label(X, classes, members, settings, scales, weights)):
        gaps = gap_of(found, place), gap_of(alone, 0)
        assert abs(found.certificate.primal[place] - alone.certificate.primal[0]) <= max(gaps)
        # The objective is ½‖w‖² plus a convex function: each solution lies within √(2 · gap) of the optimum.
        assert np.linalg.norm(found.coef[place] - alone.coef[0]) <= np.sqrt(2 * np.array(gaps)).sum()


def gap_of(found, place):
    return found.certificate.primal[place] - found.certificate.dual[place] + NOTHING


def test_members_that_do_not_fit_are_refused():
    X, classes = np.eye(3), np.array([0, 1, 2], np.int32)
    with pytest.raises(ValueError, match="hard margin"):
        fit_margins(X, classes, 3, MarginSettings(cost=np.inf), members=np.eye(3, dtype=bool))
    with pytest.raises(ValueError, match="members do not match"):
        fit_margins(X, classes, 3, MarginSettings(multiclass="crammer_singer"), members=np.eye(3, dtype=bool))
    with pytest.raises(ValueError, match="class"):
        fit_margins(X, classes, 3, MarginSettings(), members=np.ones((3, 2), bool))
