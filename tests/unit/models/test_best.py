"""The search for the best model, and models that are added up."""

from __future__ import annotations

import csv
import json
import math
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import discern.models.search as contest
import discern.models.vector_space.model as spatial
from discern.classifier import Classifier, load
from discern.cli.main import app
from discern.data.readers import batches
from discern.data.roles import Feature
from discern.data.text import TextSettings
from discern.models.search import another_deal
from discern.models.validation.rows import Folds, Sample, stratified
from discern.models.vector_space.axes import Layout
from discern.models.vector_space.deciders import Regularization
from discern.models.vector_space.model import Pipeline, SpaceModel
from tests.unit.models.test_models import TUNED, accuracy, numbers, texts

# --------------------------------------------------------------------------------------------------- best


def test_the_best_is_found_on_texts(tmp_path: Path) -> None:
    seen: list[int] = []
    model = Classifier(model="best", budget=600)  # it ends when there is nothing left to try
    model.fit(texts(500, share=0.2), watch=lambda results: seen.append(len(results)))
    assert seen[:8] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert {one["model"] for one in model.leaderboard} == {*TUNED, "naive-bayes"} - {"lda"}
    assert model.leaderboard[0]["status"] == "won"
    assert model.winner == model.leaderboard[0]["model"]
    rights = [one["accuracy"] for one in model.leaderboard[1:]]
    assert rights == sorted(rights, reverse=True)
    assert accuracy(model, texts(500, seed=3, share=0.2)) > model.leaderboard[0]["accuracy"] - 0.05
    model.save(tmp_path / "m.discern")
    loaded = load(tmp_path / "m.discern")
    assert (loaded.winner, loaded.leaderboard) == (model.winner, model.leaderboard)
    assert np.array_equal(loaded.predict_proba(texts(20)), model.predict_proba(texts(20)))


def test_the_best_of_two_ellipses_is_quadratic() -> None:
    model = Classifier(model="best", budget=600).fit(numbers(600))
    by_name = {(one["model"], one["terms"]): one["accuracy"] for one in model.leaderboard}
    winner = model.leaderboard[0]
    is_bent = "products" in winner["terms"] or "bumps" in winner["terms"]
    assert winner["model"] in ("qda", "naive-bayes", "knn") or is_bent
    assert by_name["qda", ""] > by_name["logistic", ""] + 0.1
    assert "cannot learn more rows" in model.fitted.limitation or model.winner == "naive-bayes"


def test_a_winner_that_is_a_sum_can_still_change() -> None:
    rows = [{"label": "ab"[i % 2], "text": f"w{i % 2} v{i % 5}"} for i in range(200)]
    model = Classifier(model="best", budget=600).fit(rows)
    if model.winner != "naive-bayes":  # all are always right: the log loss decides
        assert all(one["accuracy"] == 1.0 for one in model.leaderboard)
    few = Classifier(model="best").fit(rows[:40])
    assert (few.winner, few.leaderboard) == ("naive-bayes", [])
    assert few.learn(rows[40:60]).rows == 60
    assert few.forget(rows[40:60]).rows == 40


def test_with_no_time_the_first_entry_wins() -> None:
    start = time.monotonic()
    model = Classifier(model="best", budget=1e-9).fit(texts(3000))
    assert [one["model"] for one in model.leaderboard] == ["linear-svm"]
    assert time.monotonic() - start < 20


def test_any_winner_of_a_search_can_be_loaded(tmp_path: Path) -> None:
    rows = texts(120)
    model = Classifier(model="unit-bayes").fit(rows)
    model.save(tmp_path / "m.discern")
    loaded = Classifier.load(tmp_path / "m.discern")
    assert (
        loaded.predict([row["text"] for row in rows]).tolist() == model.predict([row["text"] for row in rows]).tolist()
    )
    assert loaded.winner == "unit-bayes"


def test_the_best_at_the_command_line(tmp_path: Path) -> None:
    data, path = tmp_path / "rows.csv", tmp_path / "m.discern"
    with data.open("w", newline="") as file:
        writer = csv.DictWriter(file, ["label", "text"])
        writer.writeheader()
        writer.writerows(texts(120))
    run = CliRunner()
    shown = run.invoke(app, ["fit", str(data), "-o", str(path), "--model", "best", "--budget", "5m"])
    assert shown.exit_code == 0, shown.output
    assert "the best is" in shown.stderr
    assert "nbsvm" in shown.stderr
    told = run.invoke(app, ["fit", str(data), "-o", str(path), "--model", "best", "--budget", "300s", "--json"])
    facts = json.loads(told.stdout)
    assert facts["leaderboard"][0]["model"] == facts["model"]
    about = run.invoke(app, ["info", str(path)])
    assert f"the best of {len(facts['leaderboard'])}" in about.stdout
    bad = run.invoke(app, ["fit", str(data), "-o", str(path), "--model", "best", "--budget", "soon"])
    assert bad.exit_code != 0
    assert "is not a time such as 60s" in bad.output
    svm = ["fit", str(data), "-o", str(path), "--model", "linear-svm", "--max-terms", "20", "--characters", "2,3"]
    assert run.invoke(app, svm).exit_code == 0
    assert "the best 20 by chi2" in run.invoke(app, ["info", str(path)]).stdout
    refused = run.invoke(app, ["learn", str(path), str(data)])
    assert refused.exit_code != 0


def test_costs_are_chosen_and_models_are_added() -> None:
    """The sum of linear models is one linear model: its scores, and its evidence, are the sums of theirs."""
    rows = texts(600, share=0.3)
    sample = Sample.of(list(batches(rows)), "label", ["text"], 1)
    words, pairs = TextSettings(), TextSettings(ngrams=(1, 2))
    other = Pipeline("nbsvm", Layout((pairs,), presence=True, min_df=1), Regularization(0.5))
    pipeline = Pipeline("linear-svm", Layout((words,)), Regularization(2.0), others=((3.0, other),))
    features = [Feature("text", "text")]
    alone = [spatial.fit(sample, features, one) for one in (replace(pipeline, others=()), other)]
    model = spatial.fit(sample, features, pipeline)
    batch = next(iter(batches(texts(50, seed=5))))
    expected = alone[0].of_batch(batch, 1).scores + 3.0 * alone[1].of_batch(batch, 1).scores
    np.testing.assert_allclose(model.of_batch(batch, 1).scores, expected, rtol=1e-12, atol=1e-12)
    folds = stratified(sample.classes, sample.keys, 4)
    parts = [spatial.held_out(sample, features, one, folds) for one in (replace(pipeline, others=()), other)]
    found = spatial.held_out(sample, features, pipeline, folds)
    np.testing.assert_allclose(found, parts[0] + 3.0 * parts[1], rtol=1e-12, atol=1e-12)
    one = batch.take(np.arange(batch.rows) == 0)
    evidence = model.explain(one)
    assert len({(term.column, term.term) for term in evidence.terms}) == len(evidence.terms)
    second, first = np.sort(model.of_batch(one, 1).scores[0])[-2:]
    said = evidence.prior + sum(term.weight for term in evidence.terms)
    assert said == pytest.approx(first - second)
    assert Pipeline.from_json(json.loads(json.dumps(pipeline.to_json()))) == pipeline
    names = [name for name, _ in model.weights(model.labels[0], 10)]
    assert len(names) == len(set(names)) == 10


@pytest.mark.parametrize(
    ("model", "factor", "message"),
    [("linear-svm", 0.0, "a factor above 0"), ("linear-svm", float("inf"), "a factor above 0"), ("knn", 1.0, "linear")],
)
def test_what_cannot_be_added(model: str, factor: float, message: str) -> None:
    layout = Layout((TextSettings(),))
    with pytest.raises(ValueError, match=message):
        Pipeline("ridge", layout, others=((factor, Pipeline(model, layout)),))


def test_the_best_may_be_a_sum_of_models(tmp_path: Path) -> None:
    model = Classifier(model="best", budget=600).fit(texts(1500, share=0.5, seed=2))
    model.save(tmp_path / "m.discern")
    loaded = load(tmp_path / "m.discern")
    assert loaded.resolved.pipeline == model.resolved.pipeline
    shown = CliRunner().invoke(app, ["info", str(tmp_path / "m.discern")]).stdout
    assert ("whose scores are added" in shown) == bool(loaded.resolved.pipeline and loaded.resolved.pipeline.others)
    assert np.array_equal(loaded.predict_proba(texts(40)), model.predict_proba(texts(40)))
    assert {one["cost"] for one in model.leaderboard} - {None, 1.0, 30.0}  # costs were changed
    best, *others = model.leaderboard
    assert best["accuracy"] >= max(one["accuracy"] for one in others if one["rows"] == best["rows"]) - 0.02
    assert model.resolved.pipeline is not None
    assert bool(model.resolved.pipeline.others) == ("; and " in best["terms"])


def test_naive_bayes_of_rows_of_unit_length() -> None:
    """Its scores are those of naive Bayes, of terms that are there, divided by the root of their number."""
    rows = [
        {"label": "a", "text": "red red blue"},
        {"label": "a", "text": "red green"},
        {"label": "b", "text": "blue green gray"},
    ]
    sample, features = Sample.of(list(batches(rows)), "label", ["text"], 1), [Feature("text", "text")]
    pipeline = Pipeline(
        "unit-bayes", Layout((TextSettings(),), presence=True, min_df=1, unit=True), Regularization(2.0)
    )
    model = spatial.fit(sample, features, pipeline)
    batch = next(iter(batches([{"label": "a", "text": "red red green new"}])))
    in_a, in_b = {"red": 2, "blue": 1, "green": 1, "gray": 0}, {"red": 0, "blue": 1, "green": 1, "gray": 1}
    ratios = [math.log((in_b[one] + 0.5) / 5) - math.log((in_a[one] + 0.5) / 6) for one in ("red", "green")]
    bias = math.log(0.5) * np.mean([1 / math.sqrt(terms) for terms in (2, 2, 3)])
    first, second = model.of_batch(batch, 1).scores[0]
    assert second - first == pytest.approx(sum(ratios) / math.sqrt(2) + bias)
    assert Pipeline.from_json(json.loads(json.dumps(pipeline.to_json()))) == pipeline
    loaded = SpaceModel.from_arrays(model.labels, features, pipeline, model.arrays())
    assert np.array_equal(loaded.of_batch(batch, 1).scores, model.of_batch(batch, 1).scores)
    evidence = model.explain(batch)
    assert evidence.prior + sum(term.weight for term in evidence.terms) == pytest.approx(first - second)


def test_rows_are_dealt_alone_to_be_judged_again() -> None:
    """Equal rows come into different folds, in any order of the rows."""
    rows = [{"label": "ab"[number % 2], "text": f"w{number % 4}"} for number in range(40)]
    dealt = []
    for given in (rows, rows[::-1]):
        sample = Sample.of(list(batches(given)), "label", ["text"], 1)
        folds = another_deal(sample, 5)
        assert sorted(folds.order.tolist()) == list(range(40))
        parts = [sorted((given[row]["label"], given[row]["text"]) for row in fold) for fold in folds]
        assert all(len(set(part)) == 4 for part in parts)
        dealt.append(parts)
    assert dealt[0] == dealt[1]


def test_models_are_added_until_they_are_right_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the sums on the way, that which is right most often on rows dealt anew is kept."""
    seen: list[int] = []

    def watched(sample: Sample, folds: int, number: int = 0) -> Folds:
        seen.append(folds)
        return another_deal(sample, folds, number)

    monkeypatch.setattr(contest, "another_deal", watched)
    model = Classifier(model="best", budget=600).fit(texts(400, share=0.4, seed=5))
    assert seen == [contest.AGAIN_FOLDS]
    best = model.leaderboard[0]
    winner = best if "; and " not in best["terms"] else model.leaderboard[1]
    assert best["accuracy"] >= winner["accuracy"]
    assert best["log_loss"] <= winner["log_loss"] + 1e-9
