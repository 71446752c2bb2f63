"""Models in a vector space behind the classifier, and the best of them."""

from __future__ import annotations

import math
import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discern.models.file as files
from discern.analysis.crossvalidation import cross_validate
from discern.classifier import Classifier, load
from discern.data.registry import imported
from discern.data.roles import MOST_NUMBER
from discern.data.strings import DataError
from discern.estimators.linear.margins import NBSVM
from discern.estimators.text.vectorizers import CountVectorizer
from discern.evaluation.calibration import Temperature
from discern.models.file import ModelFileError
from discern.models.registry import MODELS, public_models

SPACE = tuple(kind.name for kind in MODELS if kind.learn)
TUNED = tuple(kind.name for kind in MODELS if kind.is_tuned)
TOPICS = {
    "sport": ["match", "goal", "team", "coach", "league", "win", "final", "player"],
    "trade": ["market", "price", "share", "bank", "export", "growth", "tariff", "profit"],
    "space": ["orbit", "rocket", "moon", "launch", "planet", "crew", "probe", "star"],
}
COMMON = ["the", "and", "of", "today", "said", "new", "more", "people", "report", "year"]


def texts(rows: int, seed: int = 0, share: float = 0.35, labels: int = 3) -> list[dict[str, object]]:
    source = random.Random(seed)
    found: list[dict[str, object]] = []
    for _ in range(rows):
        label = source.choice(list(TOPICS)[:labels])
        words = [source.choice(TOPICS[label] if source.random() < share else COMMON) for _ in range(8)]
        found.append({"label": label, "text": " ".join(words)})
    return found


def mixed(rows: int, seed: int = 0) -> list[dict[str, object]]:
    source = random.Random(seed)
    found = texts(rows, seed)
    for row in found:
        place = list(TOPICS).index(str(row["label"]))
        row["size"] = source.gauss(place, 1.0) if source.random() > 0.1 else None
        row["kind"] = source.choice("uvw"[place] + "uvw") if source.random() > 0.1 else "?"
        row["paid"] = source.choice(["yes", "no"])
    return found


def numbers(rows: int, seed: int = 0) -> list[dict[str, object]]:
    source = np.random.default_rng(seed)
    classes = source.integers(0, 2, rows)
    table = source.normal(size=(rows, 3)) * np.where(classes, 0.4, 2.0)[:, None]
    return [
        {"label": "ab"[place], "x": float(x), "y": float(y), "z": float(z)}
        for place, (x, y, z) in zip(classes, table, strict=True)
    ]


def accuracy(model: Classifier, rows: list[dict[str, object]]) -> float:
    return float(np.mean(model.predict(rows) == [row["label"] for row in rows]))


@pytest.fixture(scope="module")
def fitted() -> dict[str, Classifier]:
    bases = {"svm": "standard"}  # of the knots of normal quantiles, any number is a map
    return {name: Classifier(model=name, basis=bases.get(name, "auto")).fit(mixed(240)) for name in SPACE}


def test_every_model_in_a_space_has_a_learner() -> None:
    for kind in MODELS:
        assert kind.is_sum or kind.name == "best" or callable(imported(kind.learn))
    assert {kind.name for kind in MODELS} == {*public_models()}


@pytest.mark.parametrize("name", SPACE)
def test_every_model_decides_rows_it_has_not_seen(fitted: dict[str, Classifier], name: str) -> None:
    model = fitted[name]
    # Near rows listen to all columns alike, also to those that say little.
    assert accuracy(model, mixed(300, seed=1)) > (0.65 if name == "knn" else 0.85)
    shares = model.predict_proba(mixed(20, seed=2))
    assert shares.sum(axis=1) == pytest.approx(1.0)
    assert (shares.argmax(axis=1) == np.searchsorted(model.labels, model.predict(mixed(20, seed=2)))).all()
    assert (model.rows, model.winner, model.labels) == (240, name, ("space", "sport", "trade"))
    assert sum(model.info()["rows_per_label"].values()) == 240
    assert model.info()["parameters"] > 0


@pytest.mark.parametrize("name", SPACE)
@pytest.mark.parametrize("calibrate", ["auto", False])
def test_evidence_adds_up_to_the_log_odds(name: str, calibrate: str | bool) -> None:
    model = Classifier(model=name, calibrate=calibrate).fit(mixed(150))
    for row in mixed(5, seed=3):
        evidence = model.explain(row)
        shares = evidence.probabilities
        odds = math.log(shares[evidence.label]) - math.log(shares[evidence.against])
        assert evidence.log_odds == pytest.approx(odds, abs=1e-8)
        assert evidence.label == model.predict([row])[0]
        assert evidence.terms


@pytest.mark.parametrize("name", SPACE)
@pytest.mark.parametrize("slim", [False, True])
def test_files_and_pickles_give_the_same_predictions(
    fitted: dict[str, Classifier], tmp_path: Path, name: str, slim: bool
) -> None:
    model, rows = fitted[name], mixed(30, seed=4)
    checksum = model.save(tmp_path / "m.discern", slim=slim)
    loaded = load(tmp_path / "m.discern")
    expected = model.predict_proba(rows)
    for other in (loaded, pickle.loads(pickle.dumps(model))):
        assert np.array_equal(other.predict_proba(rows), expected)
        assert other.explain(rows[0]) == model.explain(rows[0])
        assert (other.rows, other.winner, other.checksum()) == (240, name, checksum)


@pytest.mark.parametrize("name", SPACE)
def test_what_is_no_sum_refuses_to_change(fitted: dict[str, Classifier], name: str) -> None:
    model = fitted[name]
    before = model.predict_proba(mixed(5))
    for change in (model.learn, model.forget, lambda _: model.merge(model), lambda _: model.decay(0.5)):
        with pytest.raises(
            ValueError, match="cannot learn more rows, forget or merge: train it again, or use model='naive-bayes'"
        ):
            change(mixed(5))
    assert np.array_equal(model.predict_proba(mixed(5)), before)
    with pytest.raises(ValueError, match="only naive Bayes has joint probabilities"):
        model.log_joint(mixed(5))


@pytest.mark.parametrize("name", SPACE)
def test_text_alone_and_missing_values(name: str) -> None:
    model = Classifier(model=name).fit(texts(150))
    assert model.predict_one("rocket to the moon, launch of a crew") == "space"
    assert model.predict(["", "unheard wordless"]).shape == (2,)
    assert model.explain("unheard wordless").unknown == 3  # the pair too
    empty = Classifier(model=name).fit([{"label": "ab"[i % 2], "text": ""} for i in range(6)])
    assert empty.predict_proba(["x"]).tolist() == [pytest.approx([0.5, 0.5])]


@pytest.mark.parametrize("name", SPACE)
def test_one_label_and_few_rows(name: str) -> None:
    alone = Classifier(model=name).fit([{"label": "a", "text": "one two"}, {"label": "a", "text": "two three"}])
    assert alone.predict(["two", ""]).tolist() == ["a", "a"]
    assert alone.explain("two").probability == 1.0
    few = Classifier(model=name).fit([{"label": "a", "text": "one two"}, {"label": "b", "text": "three four"}])
    assert few.predict(["two one", "four three"]).tolist() == ["a", "b"]
    assert few.resolved.calibration is None


@pytest.mark.parametrize("name", SPACE)
def test_extreme_numbers_and_constant_columns(tmp_path: Path, name: str) -> None:
    rows = [{"label": "ab"[i % 2], "x": [MOST_NUMBER, -MOST_NUMBER][i % 2], "same": 5, "y": i % 7} for i in range(40)]
    model = Classifier(model=name, number=["x", "same", "y"]).fit(rows)
    odd = [{"x": value, "same": MOST_NUMBER, "y": None} for value in (float("nan"), -MOST_NUMBER, 0, 1)]
    shares = model.predict_proba(odd)
    assert np.isfinite(shares).all()
    assert accuracy(model, rows) == 1.0
    model.save(tmp_path / "m.discern")
    assert np.array_equal(load(tmp_path / "m.discern").predict_proba(odd), shares)


def test_decisions_do_not_depend_on_what_is_read_together() -> None:
    rows = mixed(60, seed=5)
    for name in ("linear-svm", "nbsvm", "logistic", "knn"):
        model = Classifier(model=name).fit(mixed(150))
        one_by_one = np.vstack([model.predict_proba([row]) for row in rows])
        assert np.array_equal(one_by_one, model.predict_proba(rows))


def test_weights_are_what_a_unit_says(fitted: dict[str, Classifier]) -> None:
    model = fitted["linear-svm"]
    strongest = dict(model.weights("space", 8))
    assert {"rocket", "moon", "orbit"} & {*strongest}
    assert all(weight > 0 for weight in strongest.values())
    assert all(weight < 0 for _, weight in model.weights("space", -5))
    assert "size" in dict(model.weights("trade", 10_000))
    assert "kind=v" in dict(model.weights("trade", 10_000))
    assert fitted["knn"].weights("space") == []
    with pytest.raises(ValueError, match="unknown label 'spice'; did you mean 'space'"):
        model.weights("spice")


def test_features_are_selected() -> None:
    for select in ("chi2", "mutual-information"):
        model = Classifier(model="linear-svm", max_terms=12, select=select).fit(texts(300))
        assert model.solved.terms == 12
        assert {name for name, _ in model.weights("space", 100)} <= {
            word for words in TOPICS.values() for word in words
        }


def test_character_n_grams_are_counted_too() -> None:
    model = Classifier(model="linear-svm", characters=(2, 4)).fit(texts(300))
    assert model.predict(["rocketeers launched"]).tolist() == ["space"]
    words = Classifier(model="linear-svm").fit(texts(300))
    assert words.explain("rocketeers").terms == ()
    assert model.explain("rocketeers").terms


def test_nbsvm_cuts_numbers_into_bins() -> None:
    model = Classifier(model="nbsvm", number=["x", "y", "z"]).fit(numbers(400))
    assert all(feature.is_binned for feature in model.features)
    assert accuracy(model, numbers(300, seed=1)) > 0.8
    with pytest.raises(ValueError, match="takes numbers in bins"):
        Classifier(model="nbsvm", numbers="gaussian", number="x").fit(numbers(10))


@pytest.mark.parametrize("labels", [2, 3])
def test_the_intercept_of_nbsvm_is_the_prior_of_its_evidence(tmp_path: Path, labels: int) -> None:
    rows = texts(400, share=0.2, labels=labels)
    rows = [row for row in rows if row["label"] == "sport"] + rows[:60]
    model = Classifier(model="nbsvm", calibrate=False).fit(rows)
    words = CountVectorizer(ngram_range=(1, 2))
    counts = words.fit_transform([str(row["text"]) for row in rows])
    alone = NBSVM().fit(counts, [row["label"] for row in rows])
    evidence = model.explain("unheard")
    assert (evidence.label, evidence.terms) == ("sport", ())
    scores = alone.intercept_ if labels > 2 else np.array([-0.5, 0.5]) * alone.intercept_
    first, second = np.sort(scores)[:-3:-1]
    assert evidence.prior == pytest.approx(evidence.log_odds) == pytest.approx(first - second, rel=1e-3)
    model.save(tmp_path / "m.discern")
    assert load(tmp_path / "m.discern").explain("unheard") == evidence


def test_calibration_is_on_rows_left_out() -> None:
    rows = texts(400, share=0.12)
    model = Classifier(model="linear-svm", min_df=1).fit(rows)
    judged = model.evaluate(texts(1000, seed=9, share=0.12))
    raw = Classifier(model="linear-svm", min_df=1, calibrate=False).fit(rows)
    assert model.resolved.calibration is not None
    assert raw.resolved.calibration is None
    uncalibrated = raw.evaluate(texts(1000, seed=9, share=0.12))
    assert judged.log_loss < uncalibrated.log_loss
    assert judged.calibration_error < uncalibrated.calibration_error / 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": "linear-swm"}, "unknown model 'linear-swm'; did you mean 'linear-svm'"),
        ({"model": "ridge", "max_terms": "auto"}, "max_terms='auto' is for naive Bayes"),
        ({"model": "naive-bayes", "max_terms": "many"}, "max_terms must be 'auto' or a number of terms above 0"),
        ({"model": "lda", "priors": "auto"}, "priors='auto' is for naive Bayes"),
        ({"model": "binary", "characters": (2, 3)}, "characters is for models in a vector space"),
        ({"model": "ridge", "smoothing": 1.0}, "smoothing is for naive Bayes, 'nbsvm' and 'unit-bayes'"),
        ({"model": "knn", "priors": "uniform"}, "priors can be given for naive Bayes, 'lda' and 'qda'"),
        ({"model": "ridge", "max_terms": 0}, "max_terms must be 'auto' or a number of terms above 0, not 0"),
        ({"model": "ridge", "select": "best"}, "select must be one of chi2, mutual-information"),
        ({"model": "best", "budget": 0}, "budget must be a number of seconds above 0"),
        ({"model": "linear-svm", "characters": (3, 2)}, "must rise from at least 1"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Classifier(**settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["linear-svm", "best"])
def test_bad_rows_are_refused(name: str) -> None:
    with pytest.raises(DataError, match="there are no rows to learn from"):
        Classifier(model=name).fit({"label": [], "text": []})
    with pytest.raises(DataError, match="no column 'label'"):
        Classifier(model=name).fit([{"text": "x"}])
    with pytest.raises(DataError, match="is not a number"):
        Classifier(model=name, number="x").fit([{"label": "a", "x": "many"}, {"label": "b", "x": 1}])
    model = Classifier(model="linear-svm", text="text", number="x").fit([{"label": "a", "text": "b", "x": 1}] * 3)
    with pytest.raises(DataError, match="no column 'x'"):
        model.predict([{"text": "a", "y": 1}])


def test_given_priors_move_discriminants() -> None:
    rows = numbers(200)
    shares = [
        Classifier(model="qda", calibrate=False, priors=priors).fit(rows).predict_proba(rows)[:, 0].mean()
        for priors in ({"a": 0.5, "b": 0.5}, {"a": 0.99, "b": 0.01})
    ]
    assert shares[1] > shares[0]


def test_cross_validation_trains_again() -> None:
    result = cross_validate(Classifier(model="linear-svm"), texts(300), folds=4)
    assert (len(result.folds), result.total.rows) == (4, 300)
    fresh = accuracy(Classifier(model="linear-svm").fit(texts(225)), texts(1000, seed=8))
    assert abs(result.accuracy - fresh) < 0.06
    with pytest.raises(ValueError, match="pass a number of folds"):
        cross_validate(Classifier(model="linear-svm"), texts(30), folds="leave-one-out")
    with pytest.raises(ValueError, match="evaluates one model"):
        cross_validate(Classifier(model="best"), texts(30), folds=3)


def test_labels_and_columns_can_be_called_otherwise(fitted: dict[str, Classifier]) -> None:
    model = pickle.loads(pickle.dumps(fitted["logistic"]))
    model.rename_labels(["x", "y", "z"])
    model.read_text_from("body")
    row = {**mixed(1, seed=6)[0]}
    row["body"] = row.pop("text")
    place = fitted["logistic"].labels.index(str(row["label"]))
    assert model.predict([row]).tolist() == ["xyz"[place]]


# ------------------------------------------------------------------------------------------------- damage


@pytest.mark.parametrize("name", SPACE)
def test_files_that_do_not_fit_together_are_refused(fitted: dict[str, Classifier], tmp_path: Path, name: str) -> None:
    path = tmp_path / "m.discern"
    fitted[name].save(path)
    arrays, metadata = files.load(path)
    for key in arrays:
        whole = np.array(arrays[key])
        less = whole[:-1]
        _refused(tmp_path, {**arrays, key: less}, metadata)
        _refused(tmp_path, {other: array for other, array in arrays.items() if other != key}, metadata)
        if whole.dtype.kind == "f":
            spoiled = whole.copy()
            spoiled.flat[0] = np.nan
            _refused(tmp_path, {**arrays, key: spoiled}, metadata)
    labels, pipeline = metadata["fitted"]["labels"], metadata["resolved"]["pipeline"]
    for record, change in (
        ("resolved", {"pipeline": {}}),
        ("resolved", {"pipeline": {**pipeline, "model": "naive-bayes"}}),
        ("resolved", {"pipeline": {**pipeline, "model": "ridge" if name != "ridge" else "lda"}}),
        ("resolved", {"pipeline": {**pipeline, "layout": {**pipeline["layout"], "text": []}}}),
        ("resolved", {"features": metadata["resolved"]["features"][:-1]}),
        ("resolved", {"leaderboard": 5}),
        ("resolved", {"calibration": {"kind": "temperature", "temperature": 1.0, "power": 0.5}}),
        ("fitted", {"labels": labels[:-1]}),
        ("fitted", {"labels": [labels[0]] * 3}),
        ("settings", {"model": "naive-bayes"}),
        ("settings", {"min_df": 0}),
        ("settings", {"budget": "long"}),
    ):
        _refused(tmp_path, arrays, {**metadata, record: {**metadata[record], **change}})


def _refused(folder: Path, arrays: dict[str, object], metadata: dict[str, object]) -> None:
    content, _ = files.encode(arrays, {name: value for name, value in metadata.items() if name != "checksum"})
    (folder / "bad.discern").write_bytes(content)
    with pytest.raises(ModelFileError):
        load(folder / "bad.discern")


def test_places_beyond_the_end_are_refused(fitted: dict[str, Classifier], tmp_path: Path) -> None:
    path = tmp_path / "m.discern"
    fitted["knn"].save(path)
    arrays, metadata = files.load(path)
    for key, value in (
        ("decider.rows.terms", 1 << 20),
        ("decider.classes", 3),
        ("decider.rows.starts", 1 << 20),
        ("decider.count", 1 << 20),
        ("decider.count", 0),
    ):
        spoiled = np.array(arrays[key]).astype(np.int64)
        spoiled[-1 if key != "decider.count" else 0] = value
        _refused(tmp_path, {**arrays, key: spoiled}, metadata)


@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("model", [kind.name for kind in MODELS if kind.statistic])
def test_costs_are_scored_together_as_one_by_one(monkeypatch: pytest.MonkeyPatch, model: str, n_labels: int) -> None:
    rng = np.random.default_rng(5)
    labels = rng.integers(0, n_labels, 120)
    rows = {
        "label": [f"c{label}" for label in labels],
        "e": (rng.normal(size=(120, 6)) + labels[:, None]).astype(np.float32),
        "text": [" ".join(rng.choice(["win", "prize", "lunch", "noon"], 3)) for _ in labels],
    }
    settings: dict[str, Any] = {"model": model, "vector": "e", "text": "text"}
    together = Classifier(**settings).fit(rows).resolved
    monkeypatch.setattr("discern.models.vector_space.additive.MOST_SCORES", 0)
    one_by_one = Classifier(**settings).fit(rows).resolved
    assert together.pipeline == one_by_one.pipeline
    found = [one.calibration for one in (together, one_by_one)]
    assert isinstance(found[0], Temperature)
    assert isinstance(found[1], Temperature)
    assert found[0].temperature == pytest.approx(found[1].temperature, rel=1e-6)
