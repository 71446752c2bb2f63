"""Separated classes are always noticed, others never; and Firth's penalty has an answer for them."""

import warnings

import numpy as np
import pytest
import scipy.sparse
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import discern
from discern.learners.logistic.firth import fit_firth
from discern.learners.logistic.fitting import fit_logistic
from discern.learners.logistic.rows import LabeledRows
from discern.learners.logistic.separation import find_separation

# Allison (2008), "Convergence failures in logistic regression": x from −5 to 5, and the same with two rows at 0.
ALLISON = (np.array([[-5.0], [-4], [-3], [-2], [-1], [1], [2], [3], [4], [5]]), np.repeat([0, 1], 5))
ALLISON_QUASI = (np.vstack([ALLISON[0], [[0.0], [0.0]]]), np.append(ALLISON[1], [0, 1]))
# Agresti, "Categorical Data Analysis", section on infinite estimates: y = 0 up to 40, 1 from 60; then two rows at 50.
AGRESTI = (np.array([[10.0], [20], [30], [40], [60], [70], [80], [90]]), np.repeat([0, 1], 4))
AGRESTI_QUASI = (np.vstack([AGRESTI[0], [[50.0], [50.0]]]), np.append(AGRESTI[1], [1, 0]))
# UCLA Statistical Consulting, "What is complete or quasi-complete separation": x1 separates, x2 does not.
UCLA = (
    np.array([[1.0, 3], [2, 2], [3, -1], [3, -1], [5, 2], [6, 4], [10, 1], [11, 0]]),
    np.array([0, 0, 0, 0, 1, 1, 1, 1]),
)
UCLA_QUASI = (
    np.array([[1.0, 3], [2, 0], [3, -1], [3, 4], [3, 1], [4, 0], [5, 2], [6, 7], [10, 3], [11, 4]]),
    np.array([0, 0, 0, 0, 1, 1, 1, 1, 1, 1]),
)


def fungal_infections():
    """Beitler and Landis (1985), in Agresti: five centers, two treatments; centers 1 and 3 have no success."""
    table = [(0, 5, 0, 9), (1, 12, 0, 10), (0, 7, 0, 5), (6, 3, 2, 6), (5, 9, 2, 12)]
    X, y = [], []
    for center, (drug_yes, drug_no, placebo_yes, placebo_no) in enumerate(table):
        for count, treated, success in ((drug_yes, 1, 1), (drug_no, 1, 0), (placebo_yes, 0, 1), (placebo_no, 0, 0)):
            X += [[treated, *(float(center == other) for other in range(5))]] * count
            y += [success] * count
    return np.array(X, float), np.array(y)


@pytest.mark.parametrize(
    ("data", "kind", "columns"),
    [
        (ALLISON, "complete", (0,)),
        (ALLISON_QUASI, "quasi-complete", (0,)),
        (AGRESTI, "complete", (0,)),
        (AGRESTI_QUASI, "quasi-complete", (0,)),
        (UCLA, "complete", (0,)),
        (UCLA_QUASI, "quasi-complete", (0,)),
    ],
)
def test_published_cases(data, kind, columns):
    X, y = data
    found = find_separation(X, y)
    assert found.kind == kind
    assert found.columns == columns
    with pytest.warns(discern.SeparationWarning, match=f"{kind} separation: .*column 0.*penalty='firth'"):
        model = discern.LogisticRegression(penalty=None).fit(X, y)
    assert model.separation_.kind == kind
    assert np.isinf(model.summary().standard_errors[1])
    assert "grow without limit" in str(model.summary())
    firth = discern.LogisticRegression(penalty="firth").fit(X, y)
    assert firth.convergence_.converged
    assert 0 < firth.coef_[0, 0] < 10


def test_centers_without_success():
    X, y = fungal_infections()
    with pytest.warns(discern.SeparationWarning):
        model = discern.LogisticRegression(penalty=None, fit_intercept=False).fit(X, y)
    assert model.separation_.kind == "quasi-complete"
    assert model.separation_.columns == (1, 3)
    assert model.separation_.rows == 26
    assert (model.separation_.direction[0, [1, 3]] < 0).all()
    # The treatment's effect is finite; Agresti gives 1.55 with a standard error of 0.70.
    assert model.coef_[0, 0] == pytest.approx(1.546, abs=2e-3)
    assert model.summary().standard_errors[0] == pytest.approx(0.702, abs=2e-3)


def test_firth_of_a_two_by_two_table_adds_a_half_to_each_cell():
    # For a saturated table Jeffreys' prior is half an observation in each cell (Firth 1993).
    cells = {(0, 0): 7, (0, 1): 3, (1, 0): 0, (1, 1): 9}
    X = np.array([[group] for (group, _), count in cells.items() for _ in range(count)], float)
    y = np.array([label for (_, label), count in cells.items() for _ in range(count)])
    model = discern.LogisticRegression(penalty="firth", tol=1e-12).fit(X, y)
    base = np.log(3.5 / 7.5)
    assert model.intercept_[0] == pytest.approx(base, rel=1e-8)
    assert model.coef_[0, 0] == pytest.approx(np.log(9.5 / 0.5) - base, rel=1e-8)


def separates(X, y, direction, classes):
    """Check a certificate by itself, in plain arithmetic."""
    scores = np.hstack([X, np.ones((len(X), 1))]) @ direction.T
    if classes == 2:
        margins = np.where(y == 1, 1, -1) * scores[:, 0]
    else:
        others = np.arange(classes) != y[:, None]
        margins = (scores[np.arange(len(y)), y][:, None] - scores)[others]
    return margins.min() >= -1e-6 * np.abs(scores).max() and margins.max() > 0


@st.composite
def tables(draw, classes):
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows, columns = draw(st.integers(10, 60)), draw(st.integers(1, 4))
    X = (
        random.integers(-4, 5, (rows, columns)).astype(float)
        if draw(st.booleans())
        else random.normal(size=(rows, columns))
    )
    y = random.integers(0, classes, rows)
    y[:classes] = np.arange(classes)
    return X, y, random


@given(tables(2), st.booleans())
def test_separated_data_are_always_noticed(table, complete):
    X, y, random = table
    w, b = random.normal(size=X.shape[1]), random.normal()
    scores = X @ w + b
    y = (scores > 0).astype(int)
    if complete:
        X = X + np.sign(scores)[:, None] * w / (w @ w) * 0.1
    else:  # a column that is 0 except for some rows of one class, while the rest is as it comes
        y = random.integers(0, 2, len(X))
        y[0] = 1
        apart = (random.random(len(X)) < 0.3) & (y == 1)
        apart[0] = True
        X = np.hstack([X, apart[:, None].astype(float)])
    assume(0 < y.sum() < len(y))
    found = find_separation(X, y)
    assert found is not None
    assert found.complete or not complete
    assert separates(X, y, found.direction, 2)
    with pytest.warns(discern.SeparationWarning):
        discern.LogisticRegression(penalty=None).fit(X, y)
    assert find_separation(scipy.sparse.csr_array(X), y).complete == found.complete


@given(tables(2))
def test_data_with_a_maximum_are_never_called_separated(table):
    # Every row twice, once with each label: no direction can be on the right side of both.
    X, y, random = table
    X, y = np.vstack([X, X]), np.append(y, 1 - y)
    extra = random.integers(0, 2, len(y))  # of the same shape, but not symmetric
    X, y = np.vstack([X, X]), np.append(y, extra)
    assert find_separation(X, y) is None
    with warnings.catch_warnings():
        warnings.simplefilter("error", discern.SeparationWarning)
        warnings.filterwarnings("ignore", message="columns are linear combinations")
        discern.LogisticRegression(penalty=None).fit(X, y)


@given(tables(2))
def test_either_a_direction_or_a_maximum(table):
    X, y, _ = table
    found = fit_logistic(LabeledRows(X, y.astype(np.int32), 2), np.zeros(X.shape[1] + 1))
    direct = find_separation(X, y)
    assert (found.separation is None) == (direct is None)
    if direct is not None:
        assert separates(X, y, direct.direction, 2)
    elif not found.dependent:
        assert found.convergence.converged
        assert found.convergence.gradient_norm <= 1e-8


@given(tables(3))
@settings(max_examples=25)
def test_more_classes(table):
    X, y, random = table
    found = fit_logistic(LabeledRows(X, y.astype(np.int32), 3), np.zeros(X.shape[1] + 1))
    direct = find_separation(X, y, 3)
    assert (found.separation is None) == (direct is None)
    if direct is not None:
        assert separates(X, y, direct.direction, 3)
    w = random.normal(size=(3, X.shape[1]))
    y = (X @ w.T).argmax(axis=1)
    assume(len(np.unique(y)) == 3)
    assert separates(X, y, find_separation(X, y, 3).direction, 3)


def test_large_tables_are_solved_in_parts():
    random = np.random.default_rng(0)
    X = random.standard_normal((30_000, 5))
    y = (X[:, 0] > 0).astype(int)
    assert find_separation(X, y).complete
    y[np.abs(X[:, 0]).argmax()] ^= 1
    assert find_separation(X, y) is None
    assert find_separation(X, random.integers(0, 2, 30_000)) is None


def test_firth_needs_two_classes():
    with pytest.raises(ValueError, match="Only binary"):
        fit_firth(LabeledRows(np.zeros((3, 1)), np.array([0, 1, 2], np.int32), 3))
