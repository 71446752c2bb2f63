"""Comparisons: the same folds for all, and what is told of them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from sklearn.svm import LinearSVC
from typer.testing import CliRunner

import discern
from discern.analysis.comparison import LoadedRows, compare_simulated, stratified_folds
from discern.cli.demo import sample
from discern.cli.main import app


def test_folds_are_even_and_keep_groups_together() -> None:
    labels = np.repeat(["a", "b", "c"], [50, 30, 7])
    folds = stratified_folds(labels, 5)
    for label, least in (("a", 10), ("b", 6), ("c", 1)):
        counts = np.bincount(folds[labels == label], minlength=5)
        assert counts.min() >= least
        assert counts.max() <= least + 1
    assert (folds == stratified_folds(labels, 5)).all()
    assert (folds != stratified_folds(labels, 5, random_state=1)).any()
    groups = [place // 3 for place in range(87)]
    together = stratified_folds(labels, 5, groups=groups)
    assert all(len({together[row] for row in range(87) if groups[row] == group}) == 1 for group in set(groups))
    with pytest.raises(ValueError, match="cannot be split"):
        stratified_folds(labels, 1)


def test_classifiers_are_compared_on_rows() -> None:
    rows = sample()[:300]
    methods = {name: discern.Classifier(model=name) for name in ("multinomial", "bernoulli")}
    compared = discern.compare(methods, rows, folds=4)
    assert [one.evaluation.rows for one in compared.results] == [300, 300]
    assert compared.results[0].log_loss <= compared.results[1].log_loss
    assert all(method.is_fitted is False for method in methods.values())
    table = compared.to_dict()["methods"]
    assert table[0]["p_value"] is None
    assert 0 <= table[1]["p_value"] <= 1
    assert "95% CI" in str(compared)
    assert "<table" in compared._repr_html_()
    again = discern.compare(methods, iter([rows[:10], rows[10:]]), folds=4)
    assert again.to_dict()["methods"][0]["log_loss"] == table[0]["log_loss"]


def test_subtraction_is_the_same_as_training_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    methods = {
        name: discern.Classifier(model=name, smoothing=1.0, ngrams=(1, 2))
        for name in ("multinomial", "bernoulli", "complement")
    }
    subtracted = discern.compare(methods, sample()[:200], folds=4)
    monkeypatch.setattr("discern.analysis.comparison._Rows._is_settled", lambda rows, method: False)
    anew = discern.compare(methods, sample()[:200], folds=4)
    for one, other in zip(subtracted.results, anew.results, strict=True):
        assert one.evaluation == other.evaluation
        assert one.fold_log_losses.tolist() == other.fold_log_losses.tolist()


def test_methods_without_probabilities_come_last() -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(120, 3)) + np.repeat([[0.0], [1.5]], 60, axis=0)
    y = np.repeat([0, 1], 60)
    compared = discern.compare({"svm": LinearSVC(), "bayes": discern.GaussianNB()}, X, y, folds=5)
    assert [one.name for one in compared.results] == ["bayes", "svm"]
    svm = compared.to_dict()["methods"][1]
    assert svm["log_loss"] is None
    assert svm["error"] < 0.3
    json.dumps(compared.to_dict(), allow_nan=False)


def test_a_method_that_is_no_better_is_not_called_so() -> None:
    random = np.random.default_rng(1)
    X, y = random.normal(size=(200, 2)), random.integers(0, 2, 200)
    methods = {"one": discern.GaussianNB(), "other": discern.GaussianNB(var_smoothing=1e-3)}
    assert discern.compare(methods, X, y).to_dict()["methods"][1]["p_value"] > 0.05


class TwoNormals:
    """Two normal classes one apart: the least error is Φ(−1/2)."""

    def sample(self, n: int, random_state: int) -> tuple[Any, Any]:
        random = np.random.default_rng(random_state)
        y = random.integers(0, 2, n)
        return random.normal(size=(n, 1)) + y[:, None], y

    def bayes_rate(self) -> float:
        return 0.308537538725987


def test_simulated_problems_come_near_the_bayes_rate() -> None:
    compared = compare_simulated({"bayes": discern.GaussianNB()}, TwoNormals(), rows=200, repeats=10)
    assert compared.errors["bayes"].shape == (10,)
    assert 0.29 < compared.errors["bayes"].mean() < 0.34
    assert compared.bayes_rate == 0.308537538725987
    assert compared.intervals()["bayes"].low < compared.errors["bayes"].mean()


def test_tables_read_everything_once() -> None:
    table = LoadedRows.of(iter([[{"label": "a", "text": "x"}], [{"label": "b", "note": 1}]]))
    assert table.columns == {"label": ["a", "b"], "text": ["x", None], "note": [None, 1]}
    assert table.take([1]) == {"label": ["b"], "text": [None], "note": [1]}
    assert table.labels("label").tolist() == ["a", "b"]


def test_bad_comparisons_are_refused() -> None:
    with pytest.raises(ValueError, match="no methods to compare"):
        discern.compare({}, [[1.0]], [0])
    methods = {name: discern.Classifier(name) for name in ("label", "topic")}
    with pytest.raises(ValueError, match="different label columns"):
        discern.compare(methods, [{"label": "a", "text": "x"}])


def test_the_command_draws_boxes(tmp_path: Any) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(json.dumps(row) + "\n" for row in sample()[:120]), "utf-8")
    call = [
        "compare",
        str(rows),
        "--folds",
        "3",
        "--model",
        "bernoulli",
        "--plot",
        str(tmp_path / "boxes.svg"),
        "--json",
    ]
    result = CliRunner().invoke(app, call)
    assert result.exit_code == 0, result.output
    assert [method["method"] for method in json.loads(result.stdout)["methods"]] == ["bernoulli"]
    assert (tmp_path / "boxes.svg").read_text("utf-8").count("<path") > 5
