"""Numbers and sizes at the edge: a defined result, or a sentence that says what is wrong."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning

import discern
from discern.classifier import Classifier
from discern.data.strings import DataError
from tests.unit.estimators.test_conformance import EVERY, name_of, takes_matrix

ROWS = 24
CLASSES = np.arange(ROWS) % 3
SOURCE = np.random.default_rng(2)
PLAIN = SOURCE.poisson(2.0, (ROWS, 4)).astype(float) + CLASSES[:, None]
TOLD = (ConvergenceWarning, discern.SeparationWarning, discern.SingularCovarianceWarning)
"""Warnings that are meant: a result is given, and it is said what is wrong with it."""


def with_value(value: float, column: int = 1) -> np.ndarray:
    table = PLAIN.copy()
    table[::5, column] = value
    return table


TABLES = {
    "1e300": with_value(1e300),
    "1e308": with_value(1e308),
    "all 1e300": PLAIN * 1e300,
    "1e100": with_value(1e100),
    "denormals": PLAIN * 5e-324,
    "one denormal": with_value(5e-324),
    "tiny": PLAIN * 1e-200,
    "constant column": with_value(3.0) * [1, 0, 1, 1] + [0, 7, 0, 0],
    "zero column": PLAIN * [1, 0, 1, 1],
    "all zero": PLAIN * 0,
    "all the same": np.ones_like(PLAIN),
    "mean far from zero": PLAIN + 1e8,
    "more columns than rows": SOURCE.poisson(2.0, (ROWS, 60)).astype(float),
}
MATRIX = [clone(one) for one in EVERY if takes_matrix(one)]
for one in MATRIX:
    if isinstance(one, discern.SelectKBest):
        one.set_params(score_func=discern.chi2)  # the default is scikit-learn's own function
matrix = pytest.mark.parametrize("estimator", MATRIX, ids=name_of)


def check_sentence(error: Exception, names: str = "") -> None:
    """A complaint is a sentence of several words, not the inside of a library."""
    assert len(str(error).split()) >= 4, error
    assert names in str(error)


def outcome(estimator, table, labels):
    """Fit and ask: the numbers given, or None after a sentence."""
    model = clone(estimator)
    try:
        with warnings.catch_warnings():
            for category in TOLD:
                warnings.simplefilter("ignore", category)
            warnings.filterwarnings("ignore", "The number of unique classes")  # scikit-learn's, of few rows
            model.fit(table, labels)
            if not is_classifier(model):
                found = model.transform(table)
                return found.toarray() if hasattr(found, "toarray") else np.asarray(found)
            assert model.predict(table).shape == (len(table),)
            assert np.isin(model.predict(table), labels).all()
            if hasattr(model, "predict_proba"):
                found = model.predict_proba(table)
                np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-9)
                return found
            return np.asarray(model.decision_function(table))
    except ValueError as error:
        check_sentence(error)
        return None


@matrix
@pytest.mark.parametrize("name", TABLES)
def test_tables_at_the_edge(estimator, name):
    found = outcome(estimator, TABLES[name], CLASSES)
    if found is not None:
        assert np.isfinite(found).all()


@matrix
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_is_refused_or_missing(estimator, value):
    found = outcome(estimator, with_value(value), CLASSES)
    if found is not None:
        assert name_of(estimator) == "Discretizer" or (np.isnan(value) and name_of(estimator) == "NaiveBayes")
        assert np.isfinite(found).all()


@matrix
def test_one_class(estimator):
    found = outcome(estimator, PLAIN, np.zeros(ROWS, int))
    if found is not None:
        assert np.isfinite(found).all()


@matrix
def test_one_row_and_as_many_classes_as_rows(estimator):
    for labels in (np.arange(1), np.arange(5)):
        found = outcome(estimator, PLAIN[: len(labels)], labels)
        if found is not None:
            assert np.isfinite(found).all()


@matrix
def test_no_rows(estimator):
    with pytest.raises(ValueError, match=r"0 sample|no rows|at least one"):
        clone(estimator).fit(PLAIN[:0], CLASSES[:0])


# ------------------------------------------------------------------------------------------------------ texts


def test_documents_of_a_million_words() -> None:
    long = " ".join(f"word{i % 5000}" for i in range(1_000_000))
    rows = [
        {"label": "long", "text": long},
        {"label": "short", "text": "word1 other"},
        {"label": "long", "text": "word2 word3"},
    ]
    for model in ("multinomial", "bernoulli", "complement"):
        classifier = Classifier(text="text", model=model, smoothing=1.0).fit(rows)
        probabilities = classifier.predict_proba([long, "other", ""])
        assert np.isfinite(probabilities).all()
        assert probabilities.sum(axis=1) == pytest.approx(np.ones(3))
        assert classifier.predict([long])[0] == "long"
        assert np.isfinite(classifier.explain(long).log_odds)


@pytest.mark.parametrize("smoothing", [1e-100, 1e-10, 1.0, 1e100])
def test_smoothing_at_the_edge(smoothing: float) -> None:
    rows = [{"label": "ab"[i % 2], "text": f"word{i % 7} common"} for i in range(30)]
    classifier = Classifier(text="text", smoothing=smoothing).fit(rows)
    probabilities = classifier.predict_proba(["word1 common", "word1 " * 100_000, "never seen"])
    assert np.isfinite(probabilities).all()


def test_a_hundred_thousand_classes() -> None:
    labels, texts = [f"label{i:06d}" for i in range(100_000)], [f"own{i} common" for i in range(100_000)]
    classifier = Classifier(text="text", smoothing=1.0).fit({"label": labels, "text": texts})
    assert len(classifier.labels) == 100_000
    asked = ["own77 common", "own99999", "common"]
    assert classifier.predict(asked).tolist()[:2] == ["label000077", "label099999"]
    assert classifier.predict_proba(asked).sum(axis=1) == pytest.approx(np.ones(3))
    assert classifier.explain("own77").label == "label000077"


def test_a_hundred_thousand_classes_of_numbers() -> None:
    table = np.arange(200_000.0).reshape(100_000, 2)
    with pytest.warns(UserWarning, match="unique classes"):
        model = discern.GaussianNB(var_smoothing=1e-12).fit(table, np.arange(100_000))
    assert model.predict(table[[5, 99_999]]).tolist() == [5, 99_999]


def test_weights_at_the_edge() -> None:
    for weights in (np.full(ROWS, 1e300), np.full(ROWS, 5e-324), np.r_[1e300, np.full(ROWS - 1, 1e-300)]):
        for kind in (discern.MultinomialNB, discern.BernoulliNB, discern.ComplementNB, discern.GaussianNB):
            try:
                found = kind().fit(PLAIN, CLASSES, sample_weight=weights).predict_proba(PLAIN)
            except ValueError as error:
                check_sentence(error)
            else:
                assert np.isfinite(found).all(), (kind, weights[:2])


def test_columns_of_a_classifier_at_the_edge() -> None:
    for values in ([1e300, -1e300], [5e-324, 0.0], [float("inf"), 1.0], [float("nan"), float("nan")], [1e308, 1.7e308]):
        rows = [{"label": "ab"[i % 2], "size": values[i % 2], "text": "word"} for i in range(12)]
        for numbers in ("gaussian", "quantile", "mdl", "uniform"):
            classifier = Classifier(text="text", number="size", numbers=numbers)
            try:
                found = classifier.fit(rows).predict_proba(rows)
            except DataError as error:
                check_sentence(error, "size")
            else:
                assert np.isfinite(found).all()


def test_no_rows_at_all() -> None:
    for data in ([], {"label": [], "text": []}, iter([])):
        with pytest.raises(DataError, match="no rows"):
            Classifier(text="text").fit(data)


def test_more_labels_than_rows_can_be_told_apart() -> None:
    rows = [{"label": f"l{i}", "text": "the same"} for i in range(50)]
    classifier = Classifier(text="text", smoothing=1.0).fit(rows)
    assert classifier.predict_proba(["the same"]) == pytest.approx(np.full((1, 50), 0.02))


WEIGHED = [one for one in MATRIX if "class_weight" in one.get_params()]


@pytest.mark.parametrize("estimator", WEIGHED, ids=name_of)
@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf])
def test_weights_of_classes_that_are_none_are_refused(estimator, weight: float) -> None:
    model = clone(estimator).set_params(class_weight={0: 1.0, 1: weight, 2: 1.0})
    with pytest.raises(ValueError, match=f"class_weight of 1 is {weight}: it must be a finite number"):
        model.fit(PLAIN, CLASSES)


def test_every_classifier_with_weights_of_classes_is_tried() -> None:
    assert {"LinearSVC", "LogisticRegression", "NBSVM", "Perceptron", "RidgeClassifier", "SVC"} <= set(
        map(name_of, WEIGHED)
    )
