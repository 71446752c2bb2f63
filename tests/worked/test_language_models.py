"""The probability of a string under unigram models with given word probabilities, and with counted ones."""

import numpy as np
import pytest

from discern import Dirichlet, JelinekMercer, Laplace, UnigramLanguageModel

WORDS = {"the": 0.2, "a": 0.1, "man": 0.01, "woman": 0.01, "said": 0.03, "likes": 0.02}


def probability(models, text, rows):
    found = models.log_prob([text] * rows)
    assert not models.unknown_words([text]).any()
    return np.exp(found[-1]).tolist()


@pytest.mark.parametrize("rows", [1, 100])
def test_the_man_likes_the_woman(rows):
    found = probability(UnigramLanguageModel.from_probabilities(WORDS), "the man likes the woman", rows)
    assert found == pytest.approx([8e-8], rel=1e-12)


@pytest.mark.parametrize("rows", [1, 100])
def test_two_models_of_one_string(rows):
    first = {"the": 0.2, "class": 0.01, "pleaseth": 0.0001, "yon": 0.0001, "maiden": 0.0005}
    second = {"the": 0.2, "class": 0.0001, "pleaseth": 0.02, "yon": 0.1, "maiden": 0.01}
    models = UnigramLanguageModel.from_probabilities({"m1": first, "m2": second})
    found = probability(models, "the class pleaseth yon maiden", rows)
    assert found == pytest.approx([1e-14, 4e-10], rel=1e-12)
    assert models.predict(["the class pleaseth yon maiden"]).tolist() == ["m2"]


TEXTS, LABELS = ["b a a", "a c", "b b b"], ["x", "x", "y"]
CASES = [
    (0.0, [3 / 5, 1 / 5, 1 / 5], [0, 1, 0]),
    (Laplace(1.0), [4 / 8, 2 / 8, 2 / 8], [1 / 6, 4 / 6, 1 / 6]),
    (0.5, [3.5 / 6.5, 1.5 / 6.5, 1.5 / 6.5], [0.5 / 4.5, 3.5 / 4.5, 0.5 / 4.5]),
    (JelinekMercer(0.5), [0.3 + 3 / 16, 0.1 + 4 / 16, 0.1 + 1 / 16], [3 / 16, 0.5 + 4 / 16, 1 / 16]),
    (Dirichlet(8.0), [6 / 13, 5 / 13, 2 / 13], [3 / 11, 7 / 11, 1 / 11]),
]


@pytest.mark.parametrize(("smoothing", "first", "second"), CASES, ids=lambda value: str(value)[:20])
def test_words_by_each_smoothing(smoothing, first, second):
    models = UnigramLanguageModel(smoothing=smoothing).fit(TEXTS, LABELS)
    assert models.vocabulary_ == ["a", "b", "c"]
    np.testing.assert_allclose(np.exp(models.feature_log_prob_), [first, second], rtol=1e-12)
    expected = [first[0] ** 2 * first[1], second[0] ** 2 * second[1]]
    np.testing.assert_allclose(np.exp(models.log_prob(["a b a"]))[0], expected, rtol=1e-12)


def test_without_labels_there_is_one_model():
    model = UnigramLanguageModel(smoothing=0).fit(TEXTS)
    assert model.classes_.tolist() == ["all"]
    np.testing.assert_allclose(np.exp(model.feature_log_prob_), [[3 / 8, 4 / 8, 1 / 8]])


def test_unknown_words_are_skipped_and_counted_or_make_the_string_impossible():
    texts = ["a b", "a zebra b zebra", "zebra", ""]
    skipping = UnigramLanguageModel().fit(TEXTS, LABELS)
    logs = skipping.log_prob(texts)
    assert skipping.unknown_words(texts).tolist() == [0, 2, 1, 0]
    np.testing.assert_array_equal(logs[0], logs[1])
    np.testing.assert_array_equal(logs[2:], 0.0)
    strict = UnigramLanguageModel(unknown="zero").fit(TEXTS, LABELS)
    np.testing.assert_array_equal(strict.log_prob(texts)[[0, 3]], logs[[0, 3]])
    assert (strict.log_prob(texts)[1:3] == -np.inf).all()
    np.testing.assert_array_equal(strict.predict_proba(texts)[1:3], 0.5)


def test_a_long_string_does_not_underflow():
    model = UnigramLanguageModel.from_probabilities(WORDS)
    log = float(model.log_prob(["the man " * 500_000])[0, 0])
    assert log == pytest.approx(500_000 * np.log(0.002), rel=1e-12)


def test_whole_numbers_as_labels_keep_their_order():
    models = UnigramLanguageModel().fit(["ten ten", "two two", "minus"], [10, 2, -1])
    assert models.classes_.tolist() == [-1, 2, 10]
    assert models.predict(["ten", "two", "minus"]).tolist() == [10, 2, -1]


def test_a_label_without_words_can_say_nothing():
    models = UnigramLanguageModel(smoothing=0).fit(["a b", "!"], ["x", "y"])
    assert (models.log_prob(["a"])[0] == [np.log(0.5), -np.inf]).all()


@pytest.mark.parametrize(
    ("probabilities", "message"),
    [
        ({}, "pass the probability"),
        ({"m": {"a": 0.1}, "b": 0.2}, "pass the probability"),
        ({"a": 1.5}, "from 0 to 1"),
        ({"a": float("nan")}, "from 0 to 1"),
        ({"a": 0.7, "b": 0.7}, "sum to at most 1"),
        ({"m": {}}, "not to 0"),
        ({"New": 0.1}, "is not a single word"),
        ({"new york": 0.1}, "is not a single word"),
    ],
    ids=str,
)
def test_probabilities_that_are_none_are_refused(probabilities, message):
    with pytest.raises(ValueError, match=message):
        UnigramLanguageModel.from_probabilities(probabilities)


@pytest.mark.parametrize(
    ("texts", "labels", "message"),
    [
        ("one text", None, "not a single text"),
        (np.array([["a"]]), None, "not a table"),
        ([b"bytes"], None, "decode"),
        (["a", None], None, "row 2 of the texts has no text"),
        (["?", "!"], None, "no words"),
        (["a", "b"], ["x"], "inconsistent"),
        (["a", "b"], [0.5, 0.25], "Unknown label type"),
    ],
    ids=str,
)
def test_bad_input_is_one_sentence(texts, labels, message):
    with pytest.raises(ValueError, match=message):
        UnigramLanguageModel().fit(texts, labels)
