"""Axes of numbers that bend, their files, and explanations over the columns that they are made of."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discern import Classifier, load
from discern.data.bins import knots, spread_edges
from discern.models.settings import BASES
from discern.models.vector_space.axes import Layout, Space
from discern.models.vector_space.expansions import BumpAxes, Expansion

NUMBERS = st.lists(
    st.one_of(st.floats(allow_nan=True, allow_infinity=True), st.sampled_from([0.0, 1.0, -1e300, 5e-324])), max_size=60
)
LINEAR = ("logistic", "linear-svm", "ridge", "lda")


def ring(rows: int, seed: int = 0) -> list[dict[str, Any]]:
    """Return rows that only a curved boundary tells apart, some numbers missing, and a category that tells nothing."""
    random = np.random.default_rng(seed)
    points = random.normal(0, 1, (rows, 2))
    inside = (points**2).sum(axis=1) < 1.4
    missing = random.random(rows) < 0.05
    return [
        {
            "label": "in" if near else "out",
            "x": None if gone else float(x),
            "y": float(np.exp(y)),
            "kind": "abc"[place % 3],
        }
        for place, (near, gone, (x, y)) in enumerate(zip(inside, missing, points, strict=True))
    ]


ROWS, OTHERS = ring(400), ring(400, 1)


def accuracy(model: Classifier, rows: list[dict[str, Any]]) -> float:
    return float(np.mean(model.predict(rows) == np.array([row["label"] for row in rows])))


def space_of(model: Classifier) -> Space:
    return model.fitted.model.space


# ------------------------------------------------------------------------------------------------- maps of numbers


@given(NUMBERS)
def test_knots_rise_and_hold_finite_numbers(numbers: list[float]) -> None:
    found = knots(np.array(numbers, np.float64))
    assert np.isfinite(found).all()
    assert (np.diff(found[:, 0]) > 0).all()
    assert (np.diff(found[:, 1]) >= 0).all()


@given(NUMBERS, st.integers(2, 20))
def test_spread_edges_are_no_values_and_make_at_most_so_many_bins(numbers: list[float], bins: int) -> None:
    values = np.array(numbers, np.float64)
    edges = spread_edges(values, bins)
    assert 2 <= len(edges) <= bins + 1
    assert (np.diff(edges) > 0).all()
    assert not np.isin(edges[1:-1], values).any()


def test_knots_of_many_normal_numbers_are_a_line() -> None:
    values = np.random.default_rng(0).normal(50.0, 4.0, 20_000)
    found = knots(values)
    places = np.interp([42.0, 46.0, 50.0, 54.0, 58.0], found[:, 0], found[:, 1])
    np.testing.assert_allclose(places, [-2, -1, 0, 1, 2], atol=0.1)


def test_quantiles_do_not_depend_on_the_scale() -> None:
    values = np.random.default_rng(0).normal(0, 1, 500)
    plain, bent = knots(values), knots(np.exp(values))
    np.testing.assert_allclose(plain[1:-1, 1], bent[1:-1, 1])


# ---------------------------------------------------------------------------------------------------------- models


@pytest.mark.parametrize("basis", ["quadratic", "bumps"])
@pytest.mark.parametrize("model", LINEAR)
def test_linear_models_have_curved_boundaries(model: str, basis: str) -> None:
    straight, bent = (accuracy(Classifier(model=model, basis=one).fit(ROWS), OTHERS) for one in ("normal", basis))
    assert straight < 0.75
    assert bent > straight + 0.1


def test_in_a_common_scale_distances_are_those_of_the_numbers() -> None:
    random = np.random.default_rng(0)
    rows = [
        {"label": "ab"[i % 2], "big": i % 2 + random.normal(0, 0.2), "noise": random.normal(0, 0.01)} for i in range(90)
    ]
    model = Classifier(model="knn", basis="common").fit(rows)
    first, second = (axes for axes in space_of(model).axes)
    assert first.units[0] == second.units[0] > 0.1
    assert accuracy(model, rows) > 0.95


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("model", [*LINEAR, "qda", "knn"])
def test_predictions_survive_a_file_and_a_slim_one(tmp_path: Path, model: str, basis: str) -> None:
    if basis in ("quadratic", "bumps") and model not in LINEAR:
        with pytest.raises(ValueError, match="is for linear models"):
            Classifier(model=model, basis=basis)
        return
    made = Classifier(model=model, basis=basis).fit(ROWS[:150])
    for slim in (False, True):
        made.save(tmp_path / "m.discern", slim=slim)
        again = load(tmp_path / "m.discern")
        assert np.array_equal(again.predict_proba(OTHERS), made.predict_proba(OTHERS))
        assert space_of(again) == space_of(made)


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("model", LINEAR)
def test_explanations_add_up_over_the_columns(model: str, basis: str) -> None:
    made = Classifier(model=model, basis=basis).fit(ROWS[:150])
    for row in OTHERS[:12]:
        seen = made.explain({name: value for name, value in row.items() if name != "label"})
        np.testing.assert_allclose(
            seen.log_odds, np.log(seen.probabilities[seen.label] / seen.probabilities[seen.against]), atol=1e-6
        )
        assert {term.column for term in seen.terms} <= {"x", "y", "kind"}


@pytest.mark.parametrize("basis", ["standard", "normal", "bins"])
def test_that_a_number_is_missing_counts(basis: str) -> None:
    rows = [{"label": "ab"[i % 2], "x": None if i % 2 else float(i % 7), "y": float(i % 5)} for i in range(60)]
    model = Classifier(model="logistic", basis=basis).fit(rows)
    assert accuracy(model, rows) == 1.0
    assert ("missing", "x") in [(term.term, term.column) for term in model.explain({"x": None, "y": 1.0}).terms]


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("model", LINEAR)
def test_rows_that_are_few_alike_or_far_out(model: str, basis: str) -> None:
    few = [{"label": "a", "x": 1.0}, {"label": "b", "x": 2.0}]
    alike = [{"label": "ab"[i % 2], "x": 7.0} for i in range(20)]
    far = [{"label": "ab"[i % 2], "x": [1e300, -1e300, 5e-324, None][i % 4]} for i in range(20)]
    for rows in (few, alike, far, few[:1]):
        shares = Classifier(model=model, basis=basis, number="x").fit(rows).predict_proba([*few, *far])
        np.testing.assert_allclose(shares.sum(axis=1), 1.0)


def test_landmarks_do_not_depend_on_the_order_of_rows() -> None:
    first, second = (Classifier(model="logistic", basis="bumps").fit(rows) for rows in (ROWS, ROWS[::-1]))
    assert space_of(first) == space_of(second)
    one, other = (Classifier(model="ridge", basis="bumps").fit(rows) for rows in (ROWS, ROWS[::-1]))
    assert one.checksum() == other.checksum()


def test_too_many_products_are_refused() -> None:
    rows = [{"label": "ab"[i % 2], **{f"x{j}": i**1.5 + j for j in range(95)}} for i in range(30)]
    with pytest.raises(ValueError, match="is the most; use basis='normal'"):
        Classifier(model="logistic", basis="quadratic").fit(rows)


def test_only_numbers_are_multiplied_where_categories_make_too_many_products() -> None:
    rows = [{"label": "ab"[i % 2], "x": i**1.5, "c": f"c{i % 99}", "d": f"d{i % 98}"} for i in range(300)]
    model = Classifier(model="logistic", basis="quadratic", category=["c", "d"]).fit(rows)
    assert [axes.name(0) for axes in space_of(model).axes if isinstance(axes, Expansion)] == ["x²"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"basis": "curved"}, "basis must be one of auto, standard"),
        ({"basis": "normal"}, "basis is for models in a vector space"),
        ({"basis": "normal", "model": "nbsvm"}, "takes bins of numbers"),
        ({"basis": "normal", "model": "logistic", "numbers": "mdl"}, "makes bins of numbers"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Classifier(**settings)


@pytest.mark.parametrize("basis", BASES)
def test_a_broken_space_is_refused(basis: str) -> None:
    model = Classifier(model="logistic", basis=basis).fit(ROWS[:60])
    space, layout = space_of(model), Layout((model.settings.text,), basis=basis)
    arrays = space.arrays()
    assert Space.from_arrays([layout], space.features, arrays) == space
    broken = {
        name: array for name, array in arrays.items() if name.split(".")[1] in ("knots", "edges", "span", "place")
    }
    for name, array in broken.items():
        with pytest.raises((ValueError, KeyError)):
            Space.from_arrays([layout], space.features, {**arrays, name: array.astype(np.float64).ravel() * np.nan})


def test_bumps_walk_exactly_from_the_origin_to_the_row() -> None:
    model = Classifier(model="logistic", basis="bumps").fit(ROWS)
    bumps = next(axes for axes in space_of(model).axes if isinstance(axes, Expansion))
    assert isinstance(bumps, BumpAxes)
    random = np.random.default_rng(0)
    row, weights = random.normal(0, 1, bumps.n_inputs), random.normal(0, 1, len(bumps))
    found, always = bumps.spread(row, weights)
    np.testing.assert_allclose(found.sum() + always, bumps.expanded(row[None, :])[0] @ weights)
    np.testing.assert_allclose(always, bumps.expanded(np.zeros_like(row)[None, :])[0] @ weights)


@pytest.mark.parametrize("basis", ["quadratic", "bumps"])
@pytest.mark.parametrize("columns", ["n", "nn", "nnn", "m", "nm", "mm", "c", "cn", "nc", "ncn", "mcnc"])
def test_columns_of_every_kind_are_read_together(basis: str, columns: str) -> None:
    """Numbers, numbers of which some are missing, and categories: their axes are dense or sparse."""
    source = np.random.default_rng(0)
    values = {
        "n": lambda: source.normal(size=60).tolist(),
        "m": lambda: [None if place % 5 == 0 else float(place % 7) for place in range(60)],
        "c": lambda: [f"level {place % 3}" for place in range(60)],
    }
    table = {f"{kind}{place}": values[kind]() for place, kind in enumerate(columns)}
    rows = {"label": ["a", "b"] * 30, **table}
    roles = {
        "category": [name for name in table if name[0] == "c"],
        "number": [name for name in table if name[0] != "c"],
    }
    model = Classifier(model="logistic", basis=basis, **roles).fit(rows)
    probabilities = model.predict_proba(table)
    alone = [model.predict_proba({name: [column[row]] for name, column in table.items()})[0] for row in range(3)]
    assert np.allclose(probabilities[:3], alone)
