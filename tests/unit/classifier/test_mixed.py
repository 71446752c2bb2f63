"""The classifier on mixed columns: texts, a number, a category and a flag in one sum."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from discern.classifier import Classifier, Receipt, load
from discern.data.strings import DataError

Bytes = Callable[[Classifier], bytes]

ROWS: list[dict[str, Any]] = [
    {
        "label": "spam",
        "subject": "win now win",
        "body": "free prize inside",
        "size": 1.0,
        "country": "fr",
        "paid": "no",
    },
    {"label": "spam", "subject": "prize for you", "body": "win it now", "size": 2.0, "country": "fr", "paid": "no"},
    {"label": "spam", "subject": "free offer here", "body": "", "size": None, "country": "de", "paid": "yes"},
    {"label": "ham", "subject": "lunch at noon", "body": "see you there", "size": 5.0, "country": "de", "paid": "yes"},
    {
        "label": "ham",
        "subject": "the report is ready",
        "body": "free at noon",
        "size": 7.5,
        "country": "?",
        "paid": "yes",
    },
    {
        "label": "ham",
        "subject": "lunch again today",
        "body": "noon as ever",
        "size": 6.0,
        "country": "it",
        "paid": None,
    },
]
ROLES: dict[str, Any] = {"text": ["subject", "body"], "number": "size", "category": "country", "flag": "paid"}
DISCRETE: dict[str, Any] = {"ignore": "*", "text": ["subject", "body"], "category": "country", "flag": "paid"}
ASKED = [
    {"subject": "win lunch", "body": "noon prize", "size": 3.0, "country": "fr", "paid": "yes"},
    {"subject": "", "body": "unheard words", "size": None, "country": "xx", "paid": None},
    {"subject": "free free", "body": "now", "size": 100.0, "country": "", "paid": "TRUE"},
]


def mixed(rows: list[dict[str, Any]] = ROWS, **settings: Any) -> Classifier:
    return Classifier(**{"smoothing": 1.0, **ROLES, **settings}).fit(rows)


def columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}


def found_roles(model: Classifier) -> dict[str, str]:
    return {feature.name: feature.role for feature in model.features}


def blank(row: dict[str, Any], *kept: str) -> dict[str, Any]:
    """Return a row of which only some columns speak."""
    return {name: value if name in kept else None for name, value in row.items()}


# -------------------------------------------------------------------------------------------------- roles


EXPECTED = {"subject": "text", "body": "text", "size": "number", "country": "category", "paid": "flag"}


def as_csv(rows: list[dict[str, Any]], folder: Path) -> Path:
    path = folder / "rows.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    return path


SOURCES: dict[str, Callable[[list[dict[str, Any]], Path], Any]] = {
    "rows": lambda rows, _: rows,
    "mapping": lambda rows, _: columns(rows),
    "csv": as_csv,
    "pandas": lambda rows, _: pd.DataFrame(rows),
    "polars": lambda rows, _: pl.DataFrame(rows),
    "pyarrow": lambda rows, _: pa.table(columns(rows)),
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("roles", [ROLES, {}])
def test_roles_given_and_inferred(tmp_path: Path, source: str, roles: dict[str, Any]) -> None:
    data = SOURCES[source](ROWS, tmp_path)
    model = Classifier(smoothing=1.0, **roles).fit(data)
    assert found_roles(model) == EXPECTED
    expected = mixed()
    order = [model.features.index(feature) for feature in expected.features]
    assert np.allclose(model.log_joint(data), expected.log_joint(ROWS), rtol=1e-12)
    assert [model.solved.columns[place].feature for place in order] == list(expected.features)
    assert (model.predict(data) == expected.predict(ROWS)).all()


def test_flags_of_other_kinds() -> None:
    for yes, no in ((True, False), ("Y", "n"), (1, 0), ("TRUE", "false")):
        rows = [{**row, "paid": {"yes": yes, "no": no}.get(row["paid"])} for row in ROWS]
        model = Classifier(smoothing=1.0).fit(rows)
        assert found_roles(model)["paid"] == "flag"
        assert np.array_equal(model.log_joint(rows), Classifier(smoothing=1.0).fit(ROWS).log_joint(ROWS))


def test_what_is_left_out_is_said() -> None:
    rows = [{**row, "id": number, "nothing": None} for number, row in enumerate(ROWS)]
    model = Classifier(smoothing=1.0).fit(rows)
    assert found_roles(model) == EXPECTED
    assert set(model.left_out) == {"id", "nothing"}
    assert np.array_equal(model.log_joint(ROWS), Classifier(smoothing=1.0).fit(ROWS).log_joint(ROWS))
    info = model.info()
    assert {feature["name"]: feature["role"] for feature in info["features"]} == EXPECTED


def test_a_role_changes_its_column_only() -> None:
    model = Classifier(smoothing=1.0, category="size").fit(ROWS)
    assert found_roles(model) == {**EXPECTED, "size": "category"}
    assert [one.name for one in model.features] == [name for name in ROWS[0] if name != "label"]
    assert found_roles(Classifier(smoothing=1.0, number="size").fit(ROWS)) == EXPECTED


def test_columns_to_ignore() -> None:
    model = Classifier(smoothing=1.0, ignore=["size", "paid"]).fit(ROWS)
    assert set(found_roles(model)) == {"subject", "body", "country"}
    assert set(model.left_out) == {"size", "paid"}
    only = Classifier(smoothing=1.0, category="country", ignore="*").fit(ROWS)
    assert found_roles(only) == {"country": "category"}
    assert set(only.left_out) == set(EXPECTED) - {"country"}
    assert (
        only.log_joint(ROWS).tolist()
        == Classifier(smoothing=1.0)
        .fit([{"label": row["label"], "country": row["country"]} for row in ROWS])
        .log_joint(ROWS)
        .tolist()
    )
    with pytest.raises(DataError, match="no column 'contry'; did you mean 'country'"):
        Classifier(ignore="contry").fit({name: [row.get(name) for row in ROWS] for name in ("label", "country")})
    with pytest.raises(ValueError, match="'size' has two roles"):
        Classifier(number="size", ignore="size")


def test_a_column_has_one_role() -> None:
    with pytest.raises(ValueError, match="'size' has two roles"):
        Classifier(number="size", category="size")
    with pytest.raises(ValueError, match="'label' has two roles"):
        Classifier(text="label")
    with pytest.raises(ValueError, match="numbers must be one of"):
        Classifier(numbers="bins")
    with pytest.raises(ValueError, match="calibrate must be"):
        Classifier(calibrate="yes")


def test_a_column_that_is_not_there() -> None:
    with pytest.raises(DataError, match="no column 'contry'; did you mean 'country'"):
        Classifier(category="contry").fit(ROWS)
    record = {"subject": "x", "body": "y", "country": "fr", "paid": "no"}
    with pytest.raises(DataError, match="no column 'size'"):
        mixed().predict({name: [value] for name, value in record.items()})
    with pytest.raises(DataError, match="no column 'size'"):
        mixed().predict([{**record, "Size": 1.0}])
    # A record need not have every column.
    assert (mixed().predict_proba([record]) == mixed().predict_proba([{**record, "size": None}])).all()


# ------------------------------------------------------------------------------------------------ formulas


@pytest.mark.parametrize("model", ["multinomial", "binary", "bernoulli"])
@pytest.mark.parametrize("numbers", ["gaussian", "quantile", "uniform", "mdl"])
def test_columns_add_up(model: str, numbers: str) -> None:
    settings = {"model": model, "numbers": numbers, "smoothing": 0.7}
    whole = mixed(**settings)
    total = np.tile(whole.solved.prior, (len(ASKED), 1))
    for role, names in ROLES.items():
        for name in [names] if isinstance(names, str) else names:
            alone = Classifier(**{role: name}, ignore="*", **settings).fit(ROWS)
            total = total + alone.log_joint(ASKED) - alone.solved.prior
    assert whole.log_joint(ASKED) == pytest.approx(total, rel=1e-12)


def test_a_category() -> None:
    model = Classifier(category="country", smoothing=0.5, ignore="*").fit(ROWS)
    # Three levels; spam has fr, fr, de; ham has de, it and one that is missing.
    ham, spam = np.log(3 / 6), np.log(3 / 6)
    asked = [{"country": "fr"}, {"country": " de "}, {"country": "it"}, {"country": "?"}, {"country": "xx"}]
    expected = [
        [ham + np.log(0.5 / 3.5), spam + np.log(2.5 / 4.5)],
        [ham + np.log(1.5 / 3.5), spam + np.log(1.5 / 4.5)],
        [ham + np.log(1.5 / 3.5), spam + np.log(0.5 / 4.5)],
        [ham, spam],
        [ham, spam],
    ]
    assert model.log_joint(asked) == pytest.approx(np.array(expected), rel=1e-13)


def test_a_flag_has_two_levels() -> None:
    rows = [{"label": "a", "paid": "yes"}, {"label": "a", "paid": "1"}, {"label": "b", "paid": "true"}]
    model = Classifier(flag="paid", smoothing=1.0, ignore="*").fit(rows)
    prior = np.log([2 / 3, 1 / 3])
    found = model.log_joint([{"paid": "Yes"}, {"paid": ""}])
    assert found == pytest.approx(np.array([prior + np.log([3 / 4, 2 / 3]), prior]), rel=1e-13)
    both = Classifier(flag="paid", smoothing=1.0, ignore="*").fit([*rows, {"label": "b", "paid": "no"}])
    expected = np.log([1 / 2, 1 / 2]) + np.log([1 / 4, 2 / 4])
    assert both.log_joint([{"paid": "0"}])[0] == pytest.approx(expected, rel=1e-13)


def test_a_normal_density() -> None:
    model = Classifier(number="size", numbers="gaussian", smoothing=1.0, ignore="*").fit(ROWS)
    values = {"ham": np.array([5.0, 7.5, 6.0]), "spam": np.array([1.0, 2.0])}
    floor = 1e-9 * np.var(np.concatenate(list(values.values())))
    for asked in (3.0, -1.0, 6.25):
        expected = [
            np.log(0.5)
            - 0.5 * (np.log(2 * np.pi * (own.var() + floor)) + (asked - own.mean()) ** 2 / (own.var() + floor))
            for own in values.values()
        ]
        assert model.log_joint([{"size": asked}])[0] == pytest.approx(expected, rel=1e-12)
    assert model.log_joint([{"size": None}, {"size": ""}, {"size": "NA"}]) == pytest.approx(np.log(0.5))


@pytest.mark.parametrize(
    ("numbers", "inner"),
    [("quantile", [1, 2, 5, 6]), ("uniform", np.linspace(1, 7.5, 11)[1:-1].tolist()), ("mdl", [3.5])],
)
def test_numbers_in_bins(numbers: str, inner: list[float]) -> None:
    rows = [row for row in ROWS if row["size"] is not None] * 4
    model = Classifier(number="size", numbers=numbers, smoothing=0.3, ignore="*").fit(rows)
    [feature] = model.features
    assert feature.edges is not None
    cuts = list(feature.edges[1:-1])
    if numbers != "quantile":
        assert cuts == pytest.approx(inner, abs=0.1)
    assert (feature.edges[0], feature.edges[-1]) == (-np.inf, np.inf)
    assert not {*cuts} & {row["size"] for row in rows}
    bins = len(cuts) + 1
    assert len(feature.bins()) == bins
    places = {
        label: np.searchsorted(cuts, [row["size"] for row in rows if row["label"] == label], "right")
        for label in model.labels
    }
    for asked in (-5.0, 1.0, 2.0, 3.5, 6.0, 99.0):
        place = np.searchsorted(cuts, asked, "right")
        expected = [
            np.log(len(own) / len(rows)) + np.log((np.sum(own == place) + 0.3) / (len(own) + 0.3 * bins))
            for own in places.values()
        ]
        assert model.log_joint([{"size": asked}])[0] == pytest.approx(expected, rel=1e-12)


def test_missing_values_leave_their_column_out() -> None:
    model = mixed()
    for name in EXPECTED:
        others = [other for other in EXPECTED if other != name]
        asked = blank(ASKED[0], *others)
        fewer = Classifier(smoothing=1.0, ignore="*", **without(name)).fit(ROWS)
        assert model.log_joint([asked]) == pytest.approx(fewer.log_joint([ASKED[0]]), rel=1e-12)
    nothing = blank(ASKED[0])
    assert model.log_joint([nothing])[0] == pytest.approx(model.solved.prior, rel=1e-14)


def without(name: str) -> dict[str, Any]:
    roles: dict[str, list[str]] = {}
    for other, role in EXPECTED.items():
        if other != name:
            roles.setdefault(role, []).append(other)
    return roles


def test_unseen_values_are_left_out_and_counted() -> None:
    model = mixed()
    strange = {**ASKED[0], "country": "atlantis", "body": "never heard"}
    assert np.array_equal(model.log_joint([strange]), model.log_joint([{**strange, "country": None, "body": ""}]))
    assert model.explain(strange).unknown == 3
    assert "3 unknown, skipped" in str(model.explain(strange))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("12 kg", r"row 2 of the rows, column 'size': '12 kg' is not a number"),
        ("1_000", r"row 2 of the rows, column 'size': '1_000' is not a number"),
        ([1], r"row 2 of the rows, column 'size': '\[1\]' is not a number"),
        (float("inf"), r"row 2 of the rows, column 'size': inf is too large"),
        ("1e309", r"row 2 of the rows, column 'size': inf is too large"),
        (10**400, r"row 2 of the rows, column 'size': inf is too large"),
    ],
)
def test_bad_numbers(value: Any, message: str) -> None:
    rows = [ROWS[0], {**ROWS[1], "size": value}]
    model = mixed()
    before = model.checksum()
    for call in (mixed, model.learn, model.forget, model.predict):
        with pytest.raises(DataError, match=message):
            call(rows)
    assert model.checksum() == before


def test_a_bad_number_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("label,size\na,1\nb,\na,two\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"row 3 of .*rows\.csv.*, column 'size': 'two' is not a number"):
        Classifier(number="size").fit(path)


def test_numbers_far_away_stay_finite() -> None:
    for size in (1e-60, 5e-324, 1e-310, 1e155, 1e300, 4e307):
        rows = [{"label": label, "size": times * size} for label, times in (("a", 1), ("a", 2), ("b", 4), ("b", -4))]
        model = Classifier(number="size", numbers="gaussian", smoothing=1.0, ignore="*").fit(rows)
        asked = [{"size": value} for value in (1e100, -1e100, 1e30, 0.0, 1.7e308, -1.7e308, 5e-324)]
        assert np.isfinite(model.log_joint(asked)).all()
        assert model.predict_proba(asked).sum(axis=1) == pytest.approx(np.ones(7))
        assert np.isfinite(model.explain(asked[0]).log_odds)
        assert model.predict([rows[0], rows[2], rows[3]]).tolist() == ["a", "b", "b"]


@pytest.mark.parametrize("numbers", ["gaussian", "quantile", "mdl"])
def test_columns_without_any_value(numbers: str) -> None:
    rows = [{"label": label, "size": None, "country": None, "paid": "?"} for label in "aab"]
    roles = {"number": "size", "category": "country", "flag": "paid"}
    model = Classifier(smoothing=1.0, numbers=numbers, **roles).fit(rows)
    asked = [{"size": 3, "country": "fr", "paid": None}]
    assert np.isfinite(model.log_joint(asked)).all()
    if numbers == "gaussian":
        assert model.predict_proba(asked)[0] == pytest.approx([2 / 3, 1 / 3])


# --------------------------------------------------------------------------------- learning and forgetting


@pytest.mark.parametrize("cut", [1, 3, 5])
def test_learn_forget_and_merge_equal_fit(model_bytes: Bytes, cut: int) -> None:
    def fitted(rows: list[dict[str, Any]]) -> Classifier:
        return Classifier(smoothing=1.0, **DISCRETE).fit(rows)

    whole, first, second = fitted(ROWS), fitted(ROWS[:cut]), fitted(ROWS[cut:])
    assert model_bytes(first.merge(second)) == model_bytes(whole) == model_bytes(second.merge(first))
    assert model_bytes(fitted(ROWS[:cut]).learn(ROWS[cut:])) == model_bytes(whole)
    assert model_bytes(fitted(ROWS[::-1])) == model_bytes(whole)
    receipt = whole.forget(ROWS[cut:])
    assert model_bytes(whole) == model_bytes(first)
    assert isinstance(receipt, str)
    assert receipt == first.checksum()
    assert (receipt.forgotten, receipt.rows) == (len(ROWS) - cut, cut)


@pytest.mark.parametrize("cut", [1, 3, 5])
def test_learn_forget_and_merge_equal_fit_with_densities(model_bytes: Bytes, cut: int) -> None:
    whole, first, second = mixed(), mixed(ROWS[:cut]), mixed(ROWS[cut:])
    for other in (first.merge(second), second.merge(first), mixed(ROWS[:cut]).learn(ROWS[cut:]), mixed(ROWS[::-1])):
        assert model_bytes(other) == model_bytes(whole)
    whole.forget(ROWS[cut:])
    assert model_bytes(whole) == model_bytes(first)


def test_learning_and_forgetting_leaves_a_file_that_loads(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    model = mixed()
    for _ in range(20):
        more = [{**ROWS[int(random.integers(6))], "size": float(random.normal() * 0.1)} for _ in range(3)]
        model.learn(more).forget(more)
        model.save(tmp_path / "m.discern")
        model = load(tmp_path / "m.discern")
    assert model.checksum() == mixed().checksum()
    gone = mixed().learn([{**blank(ROWS[0]), "label": "news", "size": 0.1}, {**blank(ROWS[0]), "label": "news"}])
    gone.forget([{**blank(ROWS[0]), "label": "news", "size": 0.1}])
    place = gone.labels.index("news")
    sums = gone.statistics.columns[2]
    assert [sums.counts[place], sums.first[place], sums.second[place]] == [0, 0, 0]


@pytest.mark.parametrize(
    "strange",
    [
        {**ROWS[0], "label": "news"},
        {**ROWS[0], "body": "other words"},
        {**ROWS[0], "country": "it"},
        {**ROWS[0], "paid": "perhaps"},
        {**ROWS[0], "size": 77.0},
        {**ROWS[3], "size": None},
    ],
)
def test_rows_that_were_never_learned_are_refused(model_bytes: Bytes, strange: dict[str, Any]) -> None:
    model = mixed()
    before = model_bytes(model)
    with pytest.raises(DataError, match=r"cannot forget.*nothing was changed"):
        model.forget([ROWS[5], strange])
    assert model_bytes(model) == before
    with pytest.raises(DataError, match="cannot forget all rows"):
        model.forget(ROWS)
    assert model_bytes(model) == before


def test_new_labels_and_levels_mid_stream(model_bytes: Bytes) -> None:
    news = {"label": "news", "subject": "breaking story", "body": "", "country": "us", "paid": "maybe"}
    model = Classifier(smoothing=1.0, **DISCRETE).fit(ROWS)
    before = model_bytes(model)
    model.learn([news])
    assert model.labels == ("ham", "news", "spam")
    assert model.predict([news]).tolist() == ["news"]
    assert model_bytes(model) == model_bytes(Classifier(smoothing=1.0, **DISCRETE).fit([*ROWS, news]))
    receipt = model.forget([news])
    assert model_bytes(model) == before
    assert b"maybe" not in before
    assert isinstance(receipt, Receipt)


def test_models_of_other_columns_do_not_merge() -> None:
    model = mixed()
    with pytest.raises(ValueError, match="cannot merge models with different"):
        model.merge(mixed(text=["subject"], ignore="body"))
    with pytest.raises(ValueError, match="cannot merge models with different"):
        model.merge(mixed(numbers="mdl"))


# --------------------------------------------------------------------------------------------------- files


@pytest.mark.parametrize("numbers", ["gaussian", "quantile"])
@pytest.mark.parametrize("slim", [False, True])
def test_save_and_load(tmp_path: Path, numbers: str, slim: bool) -> None:
    model = mixed(numbers=numbers)
    path, again = tmp_path / "m.discern", tmp_path / "again.discern"
    checksum = model.save(path, slim=slim)
    loaded = load(path)
    assert loaded.features == model.features
    assert np.array_equal(loaded.log_joint(ASKED), model.log_joint(ASKED))
    assert loaded.explain(ASKED[0]) == model.explain(ASKED[0])
    assert dict(loaded.weights("spam", 1000)) == dict(model.weights("spam", 1000))
    assert loaded.save(again, slim=slim) == checksum
    assert again.read_bytes() == path.read_bytes()
    assert np.array_equal(copy.deepcopy(loaded).log_joint(ASKED), model.log_joint(ASKED))
    if slim:
        with pytest.raises(ValueError, match="slim"):
            loaded.learn(ROWS)
    else:
        loaded.learn([ROWS[0]]).forget([ROWS[0]])
        assert loaded.log_joint(ASKED) == pytest.approx(model.log_joint(ASKED), rel=1e-9)
