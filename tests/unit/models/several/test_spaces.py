"""Models in a vector space where rows may have several labels: each label is the model of that label against the rest."""

import pickle

import numpy as np
import pytest

from discern import Classifier, load
from discern.evaluation.several.thresholds import Thresholds

LABELS = ["corn", "oil", "tea", "später"]
MODELS = ["ridge", "lda", "centroids", "logistic", "linear-svm", "nbsvm", "knn"]
ADDITIVE = MODELS[:3]


def labeled_rows(count, seed=0):
    random = np.random.default_rng(seed)
    rows = []
    for _ in range(count):
        chosen = [label for label, share in zip(LABELS, (0.5, 0.3, 0.2, 0.1), strict=True) if random.random() < share]
        words = [f"{label}{random.integers(4)}" for label in chosen for _ in range(2)]
        words += [f"word{random.integers(30)}" for _ in range(4)]
        rows.append({"label": chosen, "text": " ".join(words)})
    return rows


ROWS = labeled_rows(90)
MORE = labeled_rows(60, seed=1)


@pytest.mark.parametrize("name", MODELS)
def test_each_label_is_the_model_of_that_label_against_the_rest(name):
    """With few rows, nothing is calibrated: log odds are the difference of the scores of the two classes."""
    model = Classifier(model=name, calibrate=False, ngrams=(1, 2)).fit(ROWS)
    odds = model.solved.decider.scores(model.solved.space.of_batch(batch_of(MORE), 1)[0])
    for place, label in enumerate(model.labels):
        pair = [{**row, "label": "yes" if label in row["label"] else "no"} for row in ROWS]
        both = Classifier(model=name, calibrate=False, ngrams=(1, 2)).fit(pair)
        if name == "knn":  # the number of neighbors is chosen for all labels
            continue
        scores = both.solved.decider.scores(both.solved.space.of_batch(batch_of(MORE), 1)[0])
        expected = scores[:, both.labels.index("yes")] - scores[:, both.labels.index("no")]
        tolerance = {"logistic": 2e-2, "linear-svm": 2e-2, "nbsvm": 2e-2}.get(name, 1e-9)
        np.testing.assert_allclose(odds[:, place], expected, rtol=tolerance, atol=tolerance)


def batch_of(rows):
    from discern.data.readers import batches

    [batch] = batches([{"text": row["text"]} for row in rows])
    return batch


@pytest.mark.parametrize("name", MODELS)
def test_files_and_pickles_predict_the_same(name, tmp_path):
    model = Classifier(model=name).fit([*ROWS, *MORE])
    assert model.resolved.several.scaling.labels == model.labels
    model.save(tmp_path / "m.discern")
    expected = model.predict_proba(MORE)
    for other in (load(tmp_path / "m.discern"), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(other.predict_proba(MORE), expected)
        assert other.predict(MORE).tolist() == model.predict(MORE).tolist()
        assert other.checksum() == model.checksum()
        assert other.rows == 150
    assert model.evaluate(labeled_rows(100, seed=2)).f1() > 0.8


@pytest.mark.parametrize("name", MODELS)
def test_the_evidence_adds_up_to_the_probability(name):
    model = Classifier(model=name).fit([*ROWS, *MORE])
    shares = model.predict_proba(MORE[:1])[0]
    for label, share in zip(model.labels, shares, strict=True):
        evidence = model.explain(MORE[0]["text"], label)
        assert evidence.probability == pytest.approx(share)
        if 1e-9 < share < 1 - 1e-9:
            assert evidence.log_odds == pytest.approx(np.log(share) - np.log1p(-share), rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("name", ADDITIVE)
def test_sums_in_a_space_learn_forget_and_merge_exactly(name):
    model = Classifier(model=name).fit(ROWS)
    before = model.checksum()
    late = [{"label": ["new"], "text": "corn1 word2"}, {"label": [], "text": "word3"}]
    model.learn(late)
    assert "new" in model.labels
    assert str(model.forget(late)) == before
    other = model.copy()
    other.relabel(ROWS[:2], late)
    assert model.merge(other).rows == 2 * len(ROWS)
    assert model.merge(other).checksum() == other.merge(model).checksum()


@pytest.mark.parametrize("name", MODELS)
def test_no_labels_one_label_and_labels_of_all_rows(name):
    texts = ["win prize", "lunch noon", "win lunch", "noon noon"]
    none = Classifier(model=name).fit([{"label": [], "text": text} for text in texts])
    assert none.predict(texts).tolist() == [[]] * 4
    sets = [["a"], ["a"], ["a", "b"], ["a"]]
    one = Classifier(model=name).fit(
        [{"label": labels, "text": text} for labels, text in zip(sets, texts, strict=True)]
    )
    assert all("a" in labels for labels in one.predict(texts))
    assert one.predict_proba(texts).shape == (4, 2)


def test_a_model_of_one_label_only_is_a_sentence():
    with pytest.raises(ValueError, match="'qda' learns one label a row"):
        Classifier(model="qda").fit(ROWS)


def test_thresholds_that_are_set_decide_and_are_saved(tmp_path):
    model = Classifier(model="centroids").fit(ROWS)
    model.decide_by(Thresholds(common=1.0, at_least_one=True))
    assert {len(labels) for labels in model.predict(MORE)} == {1}
    model.save(tmp_path / "m.discern")
    assert load(tmp_path / "m.discern").predict(MORE).tolist() == model.predict(MORE).tolist()
    with pytest.raises(ValueError, match="no label 'cron'; did you mean"):
        model.decide_by(Thresholds(("cron",), (0.5,)))
    from discern.evaluation.decisions import Decision

    with pytest.raises(ValueError, match="pass Thresholds"):
        model.decide_by(Decision.at(0.5, "corn"))


@pytest.mark.parametrize("name", ["naive-bayes", "nbsvm", "ridge"])
def test_bins_by_the_one_label_of_each_row_are_refused(name):
    rows = [{"label": row["label"], "size": float(place)} for place, row in enumerate(ROWS)]
    with pytest.raises(ValueError, match="numbers='mdl' cuts numbers by the one label of each row"):
        Classifier(model=name, numbers="mdl").fit(rows)
    single = [{"label": row["label"][0] if row["label"] else "", "size": row["size"]} for row in rows]
    assert Classifier(model=name, numbers="mdl").fit([row for row in single if row["label"]]).rows < len(rows)


def test_a_linear_svm_of_several_labels_counts_single_words_unless_told_otherwise():
    texts = [Classifier(model="linear-svm", **given).fit(ROWS).resolved.pipeline.layout.text for given in GIVEN]
    assert [text.ngrams for [text] in texts] == [(1, 1), (1, 2), (2, 4)]


GIVEN = ({}, {"ngrams": (1, 2)}, {"analyzer": "char", "ngrams": (2, 4)})


def test_labels_of_one_row_are_calibrated_as_well_as_any():
    """Newton's method overshoots where few rows have a label, and must not stop there."""
    from scipy.optimize import minimize

    from discern.models.several import scaling

    random = np.random.default_rng(0)
    odds = np.concatenate([random.normal(-9, 1, (2000, 6)), random.normal(6, 2, (8, 6))])
    truth = random.random(odds.shape) < scaling.probabilities(odds * [1, 0.6, 1.5, 0.5, 1, 2])
    truth[:, 4] = False
    found = np.array(scaling.LabelScaling.fit(odds, truth, "abcdef").lines)
    losses = scaling.loss_of(found, odds, truth.astype(float))
    for place, loss in enumerate(losses):
        pair = odds[:, [place]], truth[:, [place]].astype(float)
        best = minimize(line_loss, [1.0, 0.0], args=pair, bounds=scaling.LIMITS)
        assert loss <= best.fun + 1e-6


def line_loss(line, odds, truth):
    from discern.models.several.scaling import loss_of

    return loss_of(line[None], odds, truth)[0]
