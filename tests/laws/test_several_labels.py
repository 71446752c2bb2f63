"""Several labels a row: the laws of sums, and each label is the model of that label against the rest."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discern import Classifier, load

WORDS = ["win", "prize", "lunch", "noon", "née", "x2"]
LABELS = ["corn", "oil", "tea", "später"]
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "label": st.lists(st.sampled_from(LABELS), max_size=3),
            "text": st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join),
            "size": st.sampled_from([1.0, 2.5, -3.0, 8.0]),
            "color": st.sampled_from(["red", "blue", "green"]),
        }
    ).map(lambda row: {name: row[name] for name in ("label", "text", "size", "color")}),
    min_size=1,
    max_size=14,
)
EVENTS = ["multinomial", "binary", "bernoulli", "complement"]
ROLES = {"text": "text", "number": "size", "category": "color"}


def made(model="multinomial", **other):
    return Classifier(model=model, smoothing=0.5, **ROLES, **other)


@given(ROWS, ROWS, st.sampled_from(EVENTS))
@settings(max_examples=25, deadline=None)
def test_merged_permuted_and_forgotten_are_the_same_bytes(rows, more, event):
    whole = made(event).fit([*rows, *more]).checksum()
    parts = made(event).fit(rows), made(event).fit(more)
    assert parts[0].merge(parts[1]).checksum() == parts[1].merge(parts[0]).checksum() == whole
    assert made(event).fit([*more, *rows][::-1]).checksum() == whole
    assert parts[0].copy().learn(more).checksum() == whole
    learned = made(event).fit([*rows, *more])
    assert str(learned.forget(more)) == parts[0].checksum()
    relabeled = [{**row, "label": [*row["label"], "corn"]} for row in rows]
    assert learned.relabel(rows, relabeled) == len(rows)
    assert learned.checksum() == made(event).fit(relabeled).checksum()


@given(ROWS, st.sampled_from(EVENTS), st.sampled_from(["data", "uniform"]))
@settings(max_examples=25, deadline=None)
def test_each_label_is_the_model_of_that_label_against_the_rest(rows, event, priors):
    """Also where rows have several labels: they are rows of each of them."""
    model = made(event, priors=priors).fit(rows)
    for place, label in enumerate(model.labels):
        pair = [{**row, "label": "yes" if label in row["label"] else "no"} for row in rows]
        if len({row["label"] for row in pair}) == 2:
            both = made(event, priors=priors).fit(pair)
            expected = both.predict_proba(rows)[:, both.labels.index("yes")]
            np.testing.assert_allclose(model.predict_proba(rows)[:, place], expected, rtol=1e-9)


@given(ROWS)
@settings(max_examples=15, deadline=None)
def test_rows_of_one_label_each_have_the_sums_of_plain_labels(rows):
    single = [{**row, "label": (row["label"] or ["oil"])[0]} for row in rows]
    plain, sets = made().fit(single), made().fit([{**row, "label": [row["label"]]} for row in single])
    assert plain.statistics == sets.statistics
    assert plain.labels == sets.labels


@given(rows=ROWS)
@settings(max_examples=15, deadline=None)
def test_files_slim_files_and_pickles_predict_the_same(rows, tmp_path_factory):
    folder, model = tmp_path_factory.mktemp("models"), made().fit(rows)
    model.save(folder / "whole.discern")
    model.save(folder / "slim.discern", slim=True)
    expected = model.predict_proba(rows)
    others = load(folder / "whole.discern"), load(folder / "slim.discern"), pickle.loads(pickle.dumps(model))
    for other in others:
        assert np.array_equal(other.predict_proba(rows), expected)
        assert other.predict(rows).tolist() == model.predict(rows).tolist()
        assert other.labels == model.labels
    assert others[0].checksum() == model.checksum() == others[2].checksum()


@given(ROWS)
@settings(max_examples=15, deadline=None)
def test_the_evidence_adds_up_to_the_probability_of_each_label(rows):
    model = made().fit(rows)
    shares = model.predict_proba(rows[:1])[0]
    for label, share in zip(model.labels, shares, strict=True):
        evidence = model.explain(rows[0], label)
        assert evidence.probability == pytest.approx(share)
        if 1e-9 < share < 1 - 1e-9:
            assert evidence.log_odds == pytest.approx(np.log(share) - np.log1p(-share), rel=1e-4, abs=1e-6)


def labeled_rows(count, seed=0):
    random = np.random.default_rng(seed)
    for _ in range(count):
        chosen = [label for label, share in zip(LABELS, (0.5, 0.3, 0.2, 0.05), strict=True) if random.random() < share]
        words = [f"{label}{random.integers(4)}" for label in chosen for _ in range(2)]
        words += [f"word{random.integers(30)}" for _ in range(4)]
        yield {"label": chosen, "text": " ".join(words), "size": random.normal() + len(chosen)}


def test_what_validation_chose_does_not_depend_on_the_order_and_is_saved(tmp_path):
    rows = list(labeled_rows(300))
    model = Classifier().fit(rows)
    assert model.resolved.rows == 300
    assert model.resolved.calibration is not None
    assert Classifier().fit(rows[::-1]).checksum() == model.checksum()
    model.save(tmp_path / "m.discern")
    assert load(tmp_path / "m.discern").predict(rows).tolist() == model.predict(rows).tolist()
    new = list(labeled_rows(300, seed=1))
    evaluation = model.evaluate(new)
    assert evaluation.f1() > 0.9
    assert evaluation.calibration_error < 0.05
    slim = model.without_statistics()
    assert np.array_equal(slim.predict_proba(new), model.predict_proba(new))


def test_labels_that_come_and_go_leave_no_trace():
    rows = list(labeled_rows(300))
    model = Classifier().fit(rows)
    before = model.checksum()
    late = [{"label": ["new", "oil"], "text": "brand new", "size": 1.0}]
    assert "new" in model.learn(late).labels
    assert str(model.forget(late)) == before
    model.forget([row for row in rows if "später" in row["label"]])
    assert "später" not in model.labels
    assert "später" not in str(model.info()["several"])
    model.rename_labels(["a", "b", "c"])
    assert model.labels == ("a", "b", "c")
    assert {one for labels in model.predict(rows) for one in labels} <= {"a", "b", "c"}


def test_rows_of_which_none_has_a_label_and_labels_that_all_rows_have():
    none = Classifier(smoothing=1.0).fit([{"label": [], "text": "win"}, {"label": [], "text": "lunch"}])
    assert none.labels == ()
    assert none.predict(["win", "noon"]).tolist() == [[], []]
    assert none.predict_proba(["win"]).shape == (1, 0)
    every = Classifier(smoothing=1.0).fit([{"label": ["x"], "text": "win"}, {"label": ["x", "y"], "text": "lunch"}])
    assert every.predict(["win", "lunch"]).tolist() == [["x"], ["x", "y"]]
    assert all(term.weight == 0 for term in every.explain("win", "x").terms)


def test_labels_beside_the_rows_and_tags():
    texts, sets = ["win prize", "lunch noon", "win noon"], [[1, 2], [], [2]]
    model = Classifier(smoothing=0.1).fit(texts, sets)
    assert model.classes_.tolist() == [1, 2]
    assert model.predict(texts).tolist() == sets
    assert model.score(texts, sets) == 1.0
    assert Classifier(smoothing=0.1).fit(texts, [{1, 2}, set(), {2}]).checksum() == model.checksum()
    weighted = Classifier(smoothing=0.1).fit(texts, sets, sample_weight=[2, 0, 1])
    assert weighted.rows == 3
    rows = [{"label": one, "text": text} for one, text in zip(sets, texts, strict=True)]
    assert model.tag(rows[:1], add=["new"], remove=[1]) == 1
    assert model.labels == ("2", "new")
    with pytest.raises(ValueError, match="does not have the label '1' to be removed"):
        model.tag(rows[2:], remove=[1])
    with pytest.raises(ValueError, match="tag is for models of several labels"):
        Classifier().fit(["win", "lunch"], ["a", "b"]).tag([], add=["x"])


def test_best_compares_models_and_keeps_the_thresholds(tmp_path):
    rows = [{"label": row["label"], "text": row["text"]} for row in labeled_rows(160)]
    model = Classifier(model="best", budget=3.0).fit(rows)
    assert model.leaderboard[0]["status"] == "won"
    model.save(tmp_path / "m.discern")
    assert load(tmp_path / "m.discern").predict(rows).tolist() == model.predict(rows).tolist()
    assert model.evaluate(rows).f1() > 0.8
