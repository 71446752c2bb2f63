"""Studies of classifiers of several labels a row: cross-validation."""

import random

import pytest

import discern
from discern.analysis.comparison import LoadedRows, stratified_folds

WORDS = {"corn": ["corn", "maize", "silo"], "oil": ["oil", "barrel", "crude"]}


def rows(count):
    draw = random.Random(0)
    made = []
    for number in range(count):
        labels = [label for label in WORDS if draw.random() < 0.5]
        words = [draw.choice(WORDS[label]) for label in labels for _ in range(2)]
        made.append({"label": labels, "text": " ".join([*words, "price", f"n{number % 9}"])})
    return made


def test_cross_validation_of_sets():
    data = rows(120)
    model = discern.Classifier(smoothing=1.0)
    found = discern.cross_validate(model, data, folds=4)
    assert not model.is_fitted
    assert (len(found.folds), found.total.rows, found.labels) == (4, 120, ("corn", "oil"))
    assert found.total.micro_f1 > 0.8
    assert found.probabilities.shape == (120, 2)
    agreeing = sum(list(labels) == row["label"] for labels, row in zip(found.predicted, data, strict=True))
    assert found.accuracy == pytest.approx(agreeing / 120)
    assert found.interval("hamming_loss").low <= found.total.hamming_loss <= found.interval("hamming_loss").high
    assert "macro_f1" in str(found)
    assert set(found.to_dict()) >= {"accuracy", "micro_f1", "log_loss"}
    with pytest.raises(ValueError, match="pass a number of folds"):
        discern.cross_validate(model, data, folds="leave-one-out")
    with pytest.raises(ValueError, match="too few for 4 folds"):
        discern.cross_validate(model, rows(3), folds=4)


def test_a_fold_is_predicted_by_a_model_that_never_saw_it():
    data = rows(60)
    found = discern.cross_validate(discern.Classifier(smoothing=1.0), data, folds=3)
    table, settings = LoadedRows.of(data), discern.Classifier().settings
    groups = list(zip(*(map(str, column) for column in table.columns.values()), strict=True))
    numbers = stratified_folds(table.labels(settings), 3, groups=groups)
    for fold in range(3):
        model = discern.Classifier(smoothing=1.0).fit(
            [row for row, own in zip(data, numbers, strict=True) if own != fold]
        )
        held_out = [row for row, own in zip(data, numbers, strict=True) if own == fold]
        assert model.predict_proba(held_out).tolist() == found.probabilities[numbers == fold].tolist()
