"""Numbers are scored together, held-out rows leave exact sums, and a table is read once: as before, only faster."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discern._native as native
import discern.models.validation.rows as rows_module
import discern.statistics.exact as exact
from discern import Classifier
from discern.data.readers import batches
from discern.models.columns.kind import total
from discern.models.validation.rows import Folds, Sample
from discern.statistics.exact import ExactMoments, ExactTotal, moments_without


def table(rows: int, seed: int = 0) -> list[dict[str, Any]]:
    random = np.random.default_rng(seed)
    found = []
    for i in range(rows):
        label = int(random.integers(3))
        row = {"label": "abc"[label], "color": "rgb"[(label + int(random.integers(2))) % 3]}
        row |= {f"x{j}": float(random.normal(label * (j % 3), 1 + j)) for j in range(5)}
        row |= {"count": int(random.integers(20) + 9 * label), "gap": None if i % 4 else float(random.normal())}
        found.append(row)
    return found


@pytest.mark.parametrize("numbers", ["gaussian", "quantile", "mdl", "auto"])
@pytest.mark.parametrize("calibrate", [True, False])
def test_scores_are_the_sum_of_the_columns(numbers: str, calibrate: bool) -> None:
    data = table(400)
    model = Classifier(numbers=numbers, calibrate=calibrate).fit(data)
    strange = [{"x0": 1e308, "x1": -1e308, "count": 7}, {"gap": 0.5}, {"label": "a"}, {"x0": 10**400 and 3}]
    solved = model.solved
    for source in (data, strange, data[:1]):
        [batch] = (model.fitted.named(one) for one in batches(source))
        found = [column.of_batch(batch, 1) for column in solved.columns]
        raw = np.tile(solved.start, (batch.rows, 1))
        for one in found:
            raw = raw + one.scores
        assert np.array_equal(solved.of_batch(batch, 1, raw=True).scores, raw)
        scored = solved.of_batch(batch, 3)
        assert scored.known.tolist() == sum(one.known for one in found).tolist()
        assert scored.unknown.tolist() == sum(one.unknown for one in found).tolist()
        if calibrate:
            parts = [total([found[place] for place in places]) for places in solved.groups]
            expected = solved.calibration(solved.prior, [one.scores for one in parts], [one.known for one in parts])
            assert np.array_equal(scored.scores, expected)


def test_one_row_is_predicted_as_among_many() -> None:
    data = table(300)
    for model in (Classifier(), Classifier(numbers="mdl"), Classifier(model="logistic"), Classifier(model="lda")):
        model.fit(data)
        expected = model.predict(data[:40]).tolist()
        assert [model.predict_one(row) for row in data[:40]] == expected
        assert [model.predict_one({**row, "x0": str(row["x0"])}) for row in data[:40]] == expected
        assert model.predict_one({"x1": 3}) == model.predict([{"x1": 3}])[0]
    with pytest.raises(ValueError, match=r"row 1 of the rows, column 'x0': 'much' is not a number"):
        model.predict_one({"x0": "much"})
    with pytest.raises(ValueError, match="inf is too large a number"):
        Classifier(smoothing=1.0).fit(data).predict_one({"x0": float("inf")})
    with pytest.raises(ValueError, match="is too large a number"):
        Classifier(smoothing=1.0).fit(data).predict_one({"x0": 10**400})
    with pytest.raises(ValueError, match="pass a row: a dictionary"):
        model.predict_one("text")
    with pytest.raises(ValueError, match=r"no column"):
        model.predict_one({"nothing of the model": 1})


def test_the_scorer_takes_nothing_that_does_not_fit() -> None:
    normal = np.zeros(2), np.ones(2), np.zeros(2)
    for bad in ((*normal[:2], np.zeros(3)), ([0.0], np.zeros((2, 3)), [True, True]), ([0.0], np.zeros((2, 2)), [True])):
        with pytest.raises(ValueError, match="do not match the labels"):
            native.NumberScorer([bad], 2, 1e150)
    scorer = native.NumberScorer([normal, ([0.0], np.zeros((2, 2)), [True, False])], 2, 1e150)
    known, unknown = scorer.add([np.array([np.nan, 1.0])] * 2, np.zeros((2, 2)), 1)
    assert (known.tolist(), unknown.tolist()) == ([0, 1], [0, 1])
    for columns, scores in (
        ([np.zeros(2)], np.zeros((2, 2))),
        ([np.zeros(3)] * 2, np.zeros((2, 2))),
        ([np.zeros(2)] * 2, np.zeros((2, 3))),
    ):
        with pytest.raises(ValueError, match="do not match the columns"):
            scorer.add(columns, scores, 1)


# ------------------------------------------------------------------------------------------------ held-out rows


def numbers_of_kind(kind: str, random: np.random.Generator, rows: int) -> Any:
    return {
        "normal": lambda: random.normal(size=rows),
        "rounded": lambda: random.normal(size=rows).round(2),
        "whole": lambda: random.integers(-5, 5, rows).astype(float),
        "alike": lambda: np.full(rows, 0.1),
        "zeros": lambda: np.zeros(rows),
        "wide": lambda: random.normal(size=rows) * 10.0 ** random.integers(-20, 20, rows),
        "too wide": lambda: random.normal(size=rows) * 10.0 ** random.integers(-300, 300, rows),
        "tiny": lambda: random.normal(size=rows) * 1e-310,
        "great": lambda: random.normal(size=rows) * 1e307,
        "far from zero": lambda: 1e15 + random.normal(size=rows),
    }[kind]()


KINDS = ["normal", "rounded", "whole", "alike", "zeros", "wide", "too wide", "tiny", "great", "far from zero"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("missing", [0.0, 0.3, 1.0])
def test_moments_without_a_fold_are_those_of_the_other_rows(
    kind: str, missing: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(len(kind))
    values, classes = numbers_of_kind(kind, random, 60), random.integers(0, 4, 60).astype(np.int32)
    values[random.random(60) < missing] = np.nan
    for folds in (Folds.one_by_one(random.permutation(60)[:40].astype(np.int64)), Folds.of(random.integers(0, 5, 60))):
        arguments = values, classes, 5, folds.order, folds.numbers, len(folds.ends)
        in_classes, in_folds, means, deviations, mean, deviation = moments_without(*arguments)
        for number, fold in enumerate(folds):
            left = ~np.isin(np.arange(60), fold)
            rest = ExactMoments.of(values[left], classes[left], 5)
            mine = in_folds == number
            assert sorted(in_classes[mine].tolist()) == sorted(set(classes[fold].tolist()))
            np.testing.assert_array_equal(means[mine], rest.means()[in_classes[mine]])
            np.testing.assert_array_equal(deviations[mine], rest.deviations()[in_classes[mine]])
            np.testing.assert_array_equal([mean[number]], rest.pooled().means())
            np.testing.assert_array_equal([deviation[number]], rest.pooled().deviations())
        with monkeypatch.context() as patch:  # and the slow way finds the same
            patch.setattr(exact._native, "moments_without", lambda *_: None)
            slow = moments_without(*arguments)
        order, slow_order = np.lexsort((in_classes, in_folds)), np.lexsort((slow[0], slow[1]))
        for mine, theirs in ((in_classes, slow[0]), (in_folds, slow[1]), (means, slow[2]), (deviations, slow[3])):
            np.testing.assert_array_equal(mine[order], theirs[slow_order])
        np.testing.assert_array_equal(mean, slow[4])
        np.testing.assert_array_equal(deviation, slow[5])


def test_most_numbers_are_left_out_natively() -> None:
    random = np.random.default_rng(1)
    for kind, quick in (("normal", True), ("wide", True), ("too wide", False), ("tiny", False)):
        values, classes = numbers_of_kind(kind, random, 50), np.zeros(50, np.int32)
        found = native.moments_without(values, classes, 1, np.arange(50), np.arange(50), 50)
        assert (found is not None) == quick, kind
    with pytest.raises(ValueError, match="folds"):
        native.moments_without(values, classes, 1, np.array([50]), np.array([0]), 1)
    with pytest.raises(ValueError, match="folds"):
        native.moments_without(values, classes, 1, np.array([0]), np.array([1]), 1)


def test_sums_of_batches_with_new_classes_are_those_of_all_rows() -> None:
    random = np.random.default_rng(2)
    values, classes = random.normal(size=90), np.sort(random.integers(0, 6, 90)).astype(np.int32)
    summed = ExactTotal()
    for part in np.split(np.arange(90), 9):
        summed.add(values[part], classes[part], int(classes[: part[-1] + 1].max()) + 1)
    found, whole = summed.moments().arrays(), ExactMoments.of(values, classes, int(classes.max()) + 1).arrays()
    assert all(np.array_equal(found[name], whole[name]) for name in whole)


# --------------------------------------------------------------------------------------------- rows that are kept


def test_a_column_is_read_once_and_kept_until_its_bins_change(monkeypatch: pytest.MonkeyPatch) -> None:
    reads = list[str]()
    real = rows_module.numbers_of
    monkeypatch.setattr(rows_module, "numbers_of", lambda batch, name: (reads.append(name), real(batch, name))[1])
    Classifier().fit(table(300))
    assert sorted(reads) == sorted(set(reads))


@pytest.mark.parametrize("limit", [1 << 27, 20_000, 0])
def test_a_table_that_is_kept_whole_gives_what_reading_it_twice_gives(
    limit: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pandas as pd

    frame = pd.DataFrame(table(3000)).fillna({"gap": -1.5})
    frame.to_csv(tmp_path / "x.csv", index=False)
    monkeypatch.setattr(rows_module, "MOST_KEPT", 60_000)
    expected = Classifier().fit(frame)
    monkeypatch.setattr(rows_module, "MOST_SPOOLED", limit)
    assert Classifier().fit(tmp_path / "x.csv").checksum() == expected.checksum()
    with (tmp_path / "x.csv").open("a") as file:  # a fault that only the rest of the file has
        file.write("a,r,1,2,much,4,5,6,7\n")
    with pytest.raises(ValueError, match="column 'x2': 'much' is not a number"):
        Classifier(number=[f"x{i}" for i in range(5)]).fit(tmp_path / "x.csv")


def test_the_same_rows_are_left_out_again() -> None:
    [batch] = batches(table(200))
    sample = Sample.of([batch], "label", ["x0", "color"], None)
    assert sample.left_out(50) is sample.left_out(50)
    assert len(sample.left_out(50).order) == 50
    assert len(sample.left_out(100, cells=30).order) == 10  # three labels
