"""Generated rows of several labels: what a model answers in different ways is the same, for every model and shape."""

import numpy as np
import pytest
from sklearn.datasets import make_multilabel_classification
from sklearn.metrics import f1_score

from discern import Classifier, load
from discern.evaluation.decisions import LeastCost, MostRecall
from discern.evaluation.several.choosing import MostPrecision, choose_thresholds
from discern.evaluation.several.thresholds import Thresholds

ADDITIVE = ["naive-bayes", "multinomial", "ridge", "lda", "centroids"]
MODELS = [*ADDITIVE, "linear-svm", "nbsvm", "logistic", "knn"]


def table(rows=160, labels=4, seed=0):
    """Return counts in columns, of labels that are together more often than by chance."""
    columns, truth = make_multilabel_classification(rows, 6, n_classes=labels, n_labels=2, random_state=seed)
    names = np.array([f"label {place}" for place in range(labels)])
    return [
        {"label": names[own].tolist(), **{f"x{place}": float(value) for place, value in enumerate(values)}}
        for values, own in zip(columns, truth.astype(bool), strict=True)
    ]


def texts(rows=160, labels=5, seed=0, least=0, most=3, rare=0):
    """Return texts with words of each label; the last labels are those of one to three rows."""
    random = np.random.default_rng(seed)
    made = []
    for _ in range(rows):
        own = random.choice(labels, random.integers(least, most + 1), replace=False)
        words = [f"own{one} word{one}x{random.integers(5)}" for one in own] + [f"all{random.integers(40)}"]
        made.append({"label": sorted(f"t{one}" for one in own), "text": " ".join(words)})
    for number in range(rare):
        for row in made[number : number + number + 1]:
            row["label"] = [*row["label"], f"rare{number}"]
            row["text"] += f" seldom{number}"
    return made


def correlated(rows=160, seed=0):
    """Return texts of which the second label comes with the first, and the third never does."""
    random = np.random.default_rng(seed)
    made = []
    for _ in range(rows):
        one = random.random() < 0.5
        label = ["first", *(["second"] * (random.random() < 0.9))] if one else ["third"] * (random.random() < 0.7)
        made.append({"label": label, "text": " ".join(f"{own} a{random.integers(20)}" for own in [*label, "all"])})
    return made


DATA = {
    "table": table(),
    "texts": texts(),
    "rare labels": texts(rare=3),
    "one label": [{"label": row["label"][:1], "text": row["text"]} for row in texts(labels=1, most=1)],
    "all labels in all rows": [{"label": ["a", "b"], "text": row["text"]} for row in texts()],
    "no labels": [{"label": [], "text": row["text"]} for row in texts()],
    "correlated": correlated(),
    "few rows": texts(rows=7),
}


def unlabeled(rows):
    return [{name: value for name, value in row.items() if name != "label"} for row in rows]


@pytest.mark.parametrize("shape", DATA)
@pytest.mark.parametrize("name", MODELS)
def test_all_answers_agree(name, shape, tmp_path):
    rows = DATA[shape]
    model = Classifier(model=name).fit(rows)
    assert model.labels == tuple(sorted({label for row in rows for label in row["label"]}))
    shares, decided = model.predict_proba(unlabeled(rows)), model.predict(unlabeled(rows)).tolist()
    assert shares.shape == (len(rows), len(model.labels))
    assert np.all((shares >= 0) & (shares <= 1))
    chosen = model.resolved.several.thresholds(shares, model.labels)
    assert decided == [[label for label, has in zip(model.labels, own, strict=True) if has] for own in chosen]
    for place, label in enumerate(model.labels):
        evidence = model.explain(unlabeled(rows)[0], label)
        assert evidence.probability == pytest.approx(shares[0, place], abs=1e-9)
    evaluation = model.evaluate(rows)
    if model.labels:
        truth = np.array([[label in row["label"] for label in model.labels] for row in rows])
        each = [f1_score(*pair, zero_division=0.0) for pair in zip(truth.T, chosen.T, strict=True)]
        assert evaluation.f1("macro") == pytest.approx(np.mean(each))
        assert evaluation.f1() == pytest.approx(f1_score(truth.ravel(), chosen.ravel(), zero_division=0.0))
    model.save(tmp_path / "m.discern")
    again = load(tmp_path / "m.discern")
    assert np.array_equal(again.predict_proba(unlabeled(rows)), shares)
    assert again.checksum() == model.checksum()


@pytest.mark.parametrize("shape", ["table", "texts", "rare labels", "correlated"])
@pytest.mark.parametrize("name", MODELS)
def test_probabilities_are_believable_and_labels_are_found(name, shape):
    make = {"table": table, "texts": texts, "rare labels": lambda **more: texts(rare=3, **more)}
    rows = make.get(shape, correlated)(rows=900, seed=5)
    known, new = rows[:600], rows[600:]
    evaluation = Classifier(model=name).fit(known).evaluate(new)
    assert evaluation.calibration_error < 0.1
    assert evaluation.f1() > (0.55 if shape == "table" else 0.9)


@pytest.mark.parametrize("shape", ["table", "texts", "rare labels", "correlated", "one label"])
@pytest.mark.parametrize("name", ADDITIVE)
def test_rows_learned_forgotten_merged_and_relabeled(name, shape):
    rows = DATA[shape]
    model = Classifier(model=name).fit(rows[:100])
    before, more = model.checksum(), rows[100:]
    whole = model.copy().learn(more)
    other = model.copy()
    changed = [{**row, "label": [*row["label"], "late"]} for row in rows[:3]]
    assert other.relabel(rows[:3], changed) == 3
    assert "late" in other.labels
    assert other.relabel(changed, rows[:3]) == 3
    assert other.checksum() == before
    assert str(whole.copy().forget(more)) == before
    twice = model.copy().merge(model)
    assert twice.rows == 200
    assert twice.merge(whole).checksum() == whole.merge(twice).checksum()


@pytest.mark.parametrize("goal", [None, MostRecall(0.8), MostPrecision(0.9), LeastCost(1.0, 5.0)])
@pytest.mark.parametrize("name", ["naive-bayes", "ridge"])
def test_a_decision_outlives_labels_that_come_and_go(name, goal, tmp_path):
    rows = texts(rare=3)
    model = Classifier(model=name).fit(rows)
    shares, truth = model.predict_proba(rows), [[label in row["label"] for label in model.labels] for row in rows]
    thresholds = choose_thresholds(shares, np.array(truth), model.labels, goal, at_most=2)
    model.decide_by(thresholds)
    assert max(map(len, model.predict(rows).tolist())) <= 2
    late = [{"label": ["new", "t1"], "text": "brand new own1"}]
    model.learn(late)
    assert model.decision.of(["new"])[0] == thresholds.common
    model.forget([row for row in rows if "rare0" in row["label"]])
    assert "rare0" not in model.labels
    assert "rare0" not in model.decision.labels
    model.save(tmp_path / "m.discern")
    again = load(tmp_path / "m.discern")
    assert again.decision == model.decision
    assert again.predict(rows).tolist() == model.predict(rows).tolist()


def test_of_labels_that_are_as_probable_the_first_are_taken():
    thresholds = Thresholds(common=0.5, at_most=2)
    shares = np.array([[0.7, 0.9, 0.7, 0.7], [0.5, 0.5, 0.5, 0.5], [0.4, 0.4, 0.4, 0.4]])
    decided = thresholds(shares, "abcd")
    assert decided.tolist() == [[True, True, False, False], [True, True, False, False], [False] * 4]
    from scipy.sparse import csr_array

    assert thresholds(csr_array(shares), "abcd").toarray().tolist() == decided.tolist()
    some = Thresholds(common=0.5, at_least_one=True)
    assert some(shares[2:], "abcd").tolist() == [[True, False, False, False]]


@pytest.mark.parametrize("priors", ["data", "uniform"])
def test_priors_of_labels(priors):
    rows = texts()
    model = Classifier(priors=priors, smoothing=0.1).fit(rows)
    empty = model.predict_proba([{"text": ""}])[0]
    shares = [sum(label in row["label"] for row in rows) / len(rows) for label in model.labels]
    np.testing.assert_allclose(empty, shares if priors == "data" else 0.5, rtol=1e-9)
    with pytest.raises(ValueError, match="'data' or 'uniform'"):
        Classifier(priors={"t1": 0.5, "t2": 0.5}).fit(rows)


def test_novelty_is_of_models_of_one_label_a_row():
    model = Classifier().fit(texts())
    for asked in (lambda: model.novelty(["win"]), lambda: model.evaluate_novelty(texts())):
        with pytest.raises(ValueError, match="several labels a row and no novelty"):
            asked()


def test_stems_are_taken_if_given_and_tried_if_not():
    rows = []
    random = np.random.default_rng(0)
    forms = {"walk": ["walk", "walks", "walked", "walking"], "jump": ["jump", "jumps", "jumped", "jumping"]}
    for _ in range(400):
        own = [label for label in forms if random.random() < 0.4]
        common = random.choice(["the", "and", "of", "to", "in", "that", "was", "with", "from", "they"], 6).tolist()
        made = [f"{random.choice(forms[one])}" for one in own]
        made += [f"{stem}{random.choice(['s', 'ed', 'ing'])}" for stem in random.choice(["seem", "look", "help"], 2)]
        rows.append({"label": own, "text": " ".join([*made, *common])})
    given = Classifier(stem="english").fit(rows)
    assert given.resolved.text.stem == "english"
    assert Classifier(stem=None).fit(rows).resolved.text.stem is None
    assert Classifier().fit(rows).resolved.text.stem in (None, "english")
    assert given.evaluate(rows).f1() > 0.95
