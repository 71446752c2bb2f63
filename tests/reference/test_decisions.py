"""The face of decisions: scikit-learn's conformance suite, and its own threshold tuner."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedKFold, cross_val_predict

import discern
from discern.evaluation.decisions import Decision


def test_costs_on_three_classes_with_unsure():
    X, y = load_wine(return_X_y=True)
    costs = [[0, 1, 8], [2, 0, 3], [9, 1, 0]]
    model = discern.DecisionClassifier(discern.GaussianNB(), costs=costs, unsure=0.05).fit(X, y)
    shares = model.predict_proba(X)
    for row, label in zip(shares, model.predict(X), strict=True):
        every = {0: 0.0, 1: 0.0, 2: 0.0, "unsure": 0.05}
        for decision in range(3):
            every[decision] = sum(row[true] * costs[true][decision] for true in range(3))
        assert label == min(every, key=every.get)
    assert {"unsure", 0, 1, 2} == set(model.predict(X))


def test_a_frozen_classifier_is_left_as_it_is():
    X, y = load_breast_cancer(return_X_y=True)
    inner = discern.GaussianNB().fit(X[:300], y[:300])
    model = discern.DecisionClassifier(FrozenEstimator(inner), decision=Decision.at(0.9, 1)).fit(X, y)
    assert (model.predict(X) == (inner.predict_proba(X)[:, 1] >= 0.9)).all()
    assert clone(model).decision == Decision.at(0.9, 1)


def test_the_threshold_is_chosen_on_cross_fitted_probabilities():
    X, y = load_breast_cancer(return_X_y=True)
    folds = StratifiedKFold(5)
    rule = discern.MostRecall(false_positive_rate=0.01)
    model = discern.DecisionClassifier(discern.GaussianNB(), rule=rule, cv=folds).fit(X, y)
    shares = cross_val_predict(discern.GaussianNB(), X, y, cv=folds, method="predict_proba")
    called = shares[:, 1] >= model.choice_.threshold
    assert model.choice_.false_positive_rate == called[y == 0].mean() <= 0.01
    assert model.choice_.recall == called[y == 1].mean()
    assert model.choice_.interval.low <= model.choice_.threshold <= model.choice_.interval.high
    looser = discern.DecisionClassifier(discern.GaussianNB(), rule=discern.MostRecall(precision=0.9), cv=folds).fit(
        X, y
    )
    assert looser.choice_.precision >= 0.9
    assert looser.choice_.recall >= model.choice_.recall


def test_prior_shift_is_found_and_undone():
    random = np.random.default_rng(0)

    def draw(shares, rows):
        labels = np.repeat([0, 1, 2], (np.array(shares) * rows).astype(int))
        return labels * 1.5 + random.normal(size=len(labels)), labels

    trained, new = [0.2, 0.3, 0.5], [0.6, 0.3, 0.1]
    x, y = draw(trained, 20_000)
    model = discern.GaussianNB().fit(x[:, None], y)
    x, y = draw(new, 20_000)
    shares = model.predict_proba(x[:, None])
    found = discern.estimate_priors(shares, model.class_prior_)
    assert found == pytest.approx(new, abs=0.02)
    before = (shares.argmax(axis=1) == y).mean()
    after = (discern.reweight(shares, trained, found).argmax(axis=1) == y).mean()
    assert after > before + 0.02
    old, given = dict(enumerate(trained)), dict(enumerate(found))
    decision = Decision.argmax().with_priors(old, given)
    assert (decision(shares, [0, 1, 2]) == y).mean() == after
    assert (Decision.from_json(decision.to_json())(shares, [0, 1, 2]) == y).mean() == after


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Decision.of_costs([[0, 1]], "ab"), "table of 2 rows"),
        (lambda: Decision.of_costs([[0, 1], [1, float("nan")]], "ab"), "table of 2 rows"),
        (lambda: Decision.of_costs([[0, 1], [1, 0]], "aa"), "must be distinct"),
        (lambda: Decision.of_costs([[0, 1], [1, 0, 2]], "ab"), "table of 2 rows"),
        (lambda: Decision(costs=((0.0,),)), "need labels"),
        (lambda: Decision(weights=(1.0,)), "need labels"),
        (lambda: Decision.at(-1, "a"), "at least 0"),
        (lambda: Decision(threshold=0.5), "needs the label"),
        (lambda: Decision(threshold=0.5, positive="a", unsure=0.1), "cannot be combined with a threshold"),
        (lambda: Decision.argmax(unsure=float("inf")), "must be a number"),
        (lambda: Decision(labels=("a", "b"), weights=(1.0,)), "weight of at least 0"),
        (lambda: Decision(labels=("a", "b"), weights=(1.0, -1.0)), "weight of at least 0"),
        (lambda: Decision(labels=("a", "b"), weights=(1.0, float("nan"))), "weight of at least 0"),
        (lambda: Decision.argmax().with_priors({"a": 1.0, "b": 0.0}, {"a": 0.5, "b": 0.5}), "above 0"),
        (lambda: Decision.argmax().with_priors({"a": 0.5, "b": 0.5}, {"a": 1.5, "b": -0.5}), "at least 0"),
        (lambda: Decision.of_costs([[0, 1], [1, 0]], "ab").with_priors({"a": 0.5}, {"a": 0.5}), "same labels"),
        (lambda: Decision.argmax()([0.5, 0.5], "ab"), "do not match"),
        (lambda: Decision.from_json({"threshold": [1]}), "not a valid decision"),
        (lambda: Decision.at(0.5, "x")([[1.0, 0.0]], "ab"), "unknown label 'x'"),
        (lambda: Decision.of_costs([[0]], ["unsure"], unsure=1), "is a label already"),
        (lambda: Decision.argmax()([[1.0]], "ab"), "do not match"),
        (lambda: Decision.from_json({"kind": 1}), "no 'kind'"),
        (lambda: Decision.argmax().with_priors({"a": 1}, {"b": 1}), "same labels"),
        (lambda: discern.MostRecall(), "either"),
        (lambda: discern.choose_threshold(["a"], [[1.0, 0.0]], "ab", "a", discern.LeastCost(1, 1)), "rows of others"),
        (lambda: discern.estimate_priors(np.zeros((0, 2)), [0.5, 0.5]), "no rows"),
        (lambda: discern.reweight([[1.0, 0.0]], [0, 1], [0.5, 0.5]), "above 0"),
        (lambda: discern.reweight([[1.0, 0.0]], [0.5, 0.5], [1.5, -0.5]), "at least 0"),
        (lambda: discern.reweight([[1.0, 0.0]], [0.5, 0.5], [1.0]), "equal length"),
        (lambda: discern.MostRecall(false_positive_rate=0.1, precision=0.9), "either"),
        (lambda: discern.choose_threshold(["b"], [[0.0, 1.0]], "ab", "a", discern.LeastCost(1, 1)), "rows of it"),
    ],
)
def test_bad_decisions_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_threshold_for_a_label_without_rows() -> None:
    shares = [[0.4, 0.6], [0.7, 0.3]]
    for labels, true in ((["ham", "spam"], ["ham", "ham"]), (["ham", "spam"], ["ham", "spam"])):
        with pytest.raises(ValueError, match="needs rows of it and rows of others"):
            discern.choose_threshold(true, shares, labels, "news", discern.MostRecall(precision=0.9))
