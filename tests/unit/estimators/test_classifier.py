"""``Classifier`` as an estimator of scikit-learn: parameters, checks, searches, pipelines, weights."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pandas
import polars
import pytest
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_iris
from sklearn.ensemble import VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import check_is_fitted

import discern
from discern.models.protocol.estimator import arguments_of

TEXTS = [f"win a prize {number}" for number in range(30)] + [f"lunch at noon {number}" for number in range(30)]
LABELS = np.array([1] * 30 + [0] * 30)
FLOWERS, KINDS = load_iris(return_X_y=True)
FRAME = pandas.DataFrame({"text": TEXTS, "size": np.arange(60.0), "kind": ["a", "b"] * 30})

EXPECTED = {
    "check_no_attributes_set_in_init": "settings are validated, and kept, on construction",
    "check_do_not_raise_errors_in_init_or_set_params": "settings are validated on construction",
    "check_set_params": "settings are validated on construction",
    "check_supervised_y_2d": "a column of labels is taken without a warning of scikit-learn's",
    "check_class_weight_classifiers": "weights are whole numbers",
}
"""The checks that do not apply."""


@pytest.mark.parametrize("model", ["naive-bayes", "logistic"])
@pytest.mark.filterwarnings("ignore")
def test_conventions(model: str) -> None:
    found = check_estimator(discern.Classifier(model=model), on_fail=None, on_skip=None)
    failed = {result["check_name"]: result["exception"] for result in found if result["status"] != "passed"}
    assert failed.keys() == EXPECTED.keys(), failed
    assert len(found) > 50


ROWS = [
    (TEXTS, LABELS),
    (np.array(TEXTS), LABELS.astype(str)),
    (pandas.Series(TEXTS), LABELS == 1),
    (polars.Series("text", TEXTS), LABELS.tolist()),
    (FRAME, pandas.Series(LABELS)),
    (polars.from_pandas(FRAME), LABELS * 10 - 5),
    (FLOWERS, KINDS),
    (FLOWERS.tolist(), KINDS + 8),
    (FLOWERS[:, 2:3], KINDS),
    (FRAME.to_numpy(), LABELS),
    (FRAME.to_dict("records"), LABELS),
]


@pytest.mark.parametrize(("X", "y"), ROWS, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("model", ["naive-bayes", "logistic"])
def test_predictions_are_of_the_type_of_the_labels(X: Any, y: Any, model: str) -> None:
    classifier = discern.Classifier(model=model).fit(X, y)
    assert classifier.classes_.tolist() == np.unique(y).tolist()
    found, chances = classifier.predict(X), classifier.predict_proba(X)
    assert found.dtype == np.asarray(y).dtype
    assert classifier.classes_[chances.argmax(axis=1)].tolist() == found.tolist()
    assert classifier.score(X, y) == (found == np.asarray(y)).mean() > 0.9
    again = pickle.loads(pickle.dumps(classifier))
    for other in (again, classifier.copy()):
        assert other.predict(X).tolist() == found.tolist()
        assert other.classes_.tolist() == classifier.classes_.tolist()


def test_labels_apart_or_in_a_column_are_the_same_model() -> None:
    apart = discern.Classifier().fit(FRAME, LABELS)
    inside = discern.Classifier().fit(FRAME.assign(label=LABELS))
    assert apart.checksum() == inside.checksum()
    assert inside.classes_.tolist() == ["0", "1"]
    assert inside.predict(FRAME[:2]).tolist() == ["1", "1"]


def test_searches_and_pipelines() -> None:
    assert cross_val_score(discern.Classifier(), TEXTS, LABELS, cv=3).tolist() == [1.0, 1.0, 1.0]
    search = GridSearchCV(discern.Classifier(), {"smoothing": [0.1, 1.0], "priors": ["data", "uniform"]}, cv=2)
    assert search.fit(FRAME, LABELS).predict(FRAME[:2]).tolist() == [1, 1]
    assert cross_val_predict(discern.Classifier(), FRAME, LABELS, cv=3, method="predict_proba").shape == (60, 2)
    piped = make_pipeline(StandardScaler(), discern.Classifier(model="logistic")).fit(FLOWERS, KINDS)
    assert piped.set_params(classifier__model="lda").fit(FLOWERS, KINDS).score(FLOWERS, KINDS) > 0.95
    voting = VotingClassifier([("a", discern.Classifier()), ("b", discern.GaussianNB())], voting="soft")
    assert voting.fit(FLOWERS, KINDS).score(FLOWERS, KINDS) > 0.9
    assert is_classifier(discern.Classifier())


def test_parameters() -> None:
    made = discern.Classifier("topic", smoothing=0.5, number=["age"], stem="english", class_weight={"a": 2})
    parameters = made.get_params()
    assert (parameters["label"], parameters["smoothing"], parameters["class_weight"]) == ("topic", 0.5, {"a": 2})
    assert discern.Classifier(**parameters).settings == made.settings == clone(made).settings
    assert discern.Classifier.of(made.settings).get_params()["number"] == ["age"]
    assert made.set_params(label="kind", threads=1).label == "kind"
    with pytest.raises(ValueError, match="Invalid parameter 'alpha' for estimator Classifier"):
        made.set_params(alpha=1)


@pytest.mark.parametrize(
    "arguments",
    [{}, {"model": "nbsvm", "min_df": 3}, {"priors": {"a": 0.3, "b": 0.7}, "views": "none"},
     {"model": "linear-svm", "characters": (2, 4), "max_terms": 50}, {"model": "complement", "stop_words": ["a"]},
     {"text": "body", "category": ["x", "y"], "priors": "auto", "analyzer": "char", "ngrams": (1, 3), "ledger": True}],
    ids=str,
)  # fmt: skip
def test_arguments_of_settings_make_the_same_settings(arguments: dict[str, Any]) -> None:
    settings = discern.Classifier(**arguments).settings
    assert discern.Classifier(**arguments_of(settings)).settings == settings


def test_parameters_for_the_next_fit_do_not_change_what_was_learned() -> None:
    classifier = discern.Classifier().fit(TEXTS, LABELS)
    before = classifier.predict_proba(TEXTS)
    classifier.set_params(smoothing=5.0)
    np.testing.assert_array_equal(classifier.predict_proba(TEXTS), before)
    assert not np.array_equal(classifier.fit(TEXTS, LABELS).predict_proba(TEXTS), before)


@pytest.mark.parametrize("model", ["naive-bayes", "logistic"])
def test_a_weight_is_that_many_rows(model: str) -> None:
    weights = np.arange(60) % 4
    twice = discern.Classifier(model=model).fit(FRAME, LABELS, sample_weight=weights)
    rows = np.repeat(np.arange(60), weights)
    assert twice.checksum() == discern.Classifier(model=model).fit(FRAME.iloc[rows], LABELS[rows]).checksum()
    classes = discern.Classifier(model=model, class_weight={0: 3}).fit(FRAME, LABELS)
    assert classes.checksum() == twice.fit(FRAME, LABELS, np.where(LABELS == 0, 3, 1)).checksum()


def test_what_cannot_be_learned_is_refused() -> None:
    classifier = discern.Classifier()
    refused: list[tuple[Any, Any, Any, str]] = [
        (TEXTS, LABELS, [0.5] * 60, "sample_weight has 0.5, which is not a whole number"),
        (TEXTS, LABELS, [-1] * 60, "sample_weight has -1.0: pass whole numbers of 0 or more"),
        (TEXTS, LABELS, [0] * 60, "weight of every row is zero"),
        (TEXTS, LABELS, [1] * 59, r"sample_weight has the shape \(59,\), but there are 60 rows"),
        (TEXTS, LABELS[:9], None, "y has 9 labels, which is not the number of rows"),
        (TEXTS[:9], LABELS, None, "y has 60 labels, which is not the number of rows"),
        (FRAME.assign(label=1), LABELS, None, "X already has a column 'label'"),
        (FLOWERS, KINDS + 0.5, None, "Unknown label type: continuous"),
        (TEXTS, np.array(["1", 1] * 30, object), None, "y has labels of several types"),
        (TEXTS, np.array(["1", "1.0"] * 30), None, "same label '1'"),
    ]
    for X, y, weights, message in refused:
        with pytest.raises((ValueError, TypeError), match=message):
            classifier.fit(X, y, sample_weight=weights)
    with pytest.raises(ValueError, match="pass priors='uniform' instead"):
        discern.Classifier(class_weight="balanced").fit(TEXTS, LABELS)
    with pytest.raises(ValueError, match=r"call fit\(X, y\)"):
        discern.Classifier(class_weight={"a": 2}).fit(FRAME.assign(label=LABELS))
    assert not classifier.is_fitted
    with pytest.raises(NotFittedError, match="call fit first"):
        classifier.predict(TEXTS)
    check_is_fitted(classifier.fit(FRAME, LABELS))
    assert classifier.feature_names_in_.tolist() == ["text", "size", "kind"]
    assert classifier.n_features_in_ == 3
    assert not hasattr(discern.Classifier().fit(TEXTS, LABELS), "n_features_in_")


def test_labels_that_are_learned_later() -> None:
    classifier = discern.Classifier().fit(TEXTS, LABELS)
    classifier.forget([{"text": text, "label": "0"} for text in TEXTS[30:]])
    assert classifier.classes_.tolist() == [1]
    classifier.learn([{"text": "a tax form", "label": "tax"}])
    assert classifier.classes_.tolist() == ["1", "tax"]
    assert classifier.predict(["a tax form"]).tolist() == ["tax"]


def test_importing_it_does_not_import_scikit_learn() -> None:
    program = "import sys, discern; discern.Classifier().get_params(); print('sklearn' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
