"""Textbook examples of naive Bayes through the model over mixed columns, computed as exact fractions."""

from fractions import Fraction
from math import exp, log, pi, sqrt

import numpy as np
import pytest

import tests.worked.test_naive_bayes as books
from discern.classifier import Classifier
from discern.learners.smoothing import Dirichlet, JelinekMercer
from tests.worked.test_naive_bayes import CITIES, QUESTION

EXACT = {"rel": 1e-12, "abs": 0.0}
MISSING = {"country": None, "paid": "", "size": None, "age": "NA"}
ROLES = {"text": "text", "category": "country", "flag": "paid", "number": ["size", "age"]}

FRAME = [{**row, "country": place, "paid": paid, "size": size, "age": age} for row, place, paid, size, age in zip(
    CITIES, ["cn", "cn", None, "jp"], ["yes", None, "no", "no"], [3.0, 3.0, 2.0, None], [1, 5, 9, 4], strict=True
)]  # fmt: skip


def cities(model: str, numbers: str = "gaussian") -> Classifier:
    return Classifier(model=model, smoothing=1.0, numbers=numbers, **ROLES).fit(FRAME)


@pytest.mark.parametrize("numbers", ["gaussian", "quantile"])
def test_multinomial_cities_where_all_else_is_missing(numbers: str) -> None:
    book = books.TestMultinomialCities
    model = cities("multinomial", numbers)
    found = np.exp(model.log_joint([{"text": QUESTION, **MISSING}]))
    assert found[0] == pytest.approx([float(book.joint_no), float(book.joint_yes)], **EXACT)
    share = model.predict_proba([{"text": QUESTION, **MISSING}])[0, 1]
    assert share == pytest.approx(0.689759, abs=5e-7)
    assert model.predict([QUESTION]).tolist() == ["yes"]


def test_bernoulli_cities_where_all_else_is_missing() -> None:
    book = books.TestBernoulliCities()
    model = cities("bernoulli")
    joints = [book.joint(Fraction(1, 4), book.no), book.joint(Fraction(3, 4), book.yes)]
    found = np.exp(model.log_joint([{"text": QUESTION, **MISSING}]))
    assert found[0] == pytest.approx([float(joint) for joint in joints], **EXACT)
    assert model.predict_proba([{"text": QUESTION, **MISSING}])[0, 1] == pytest.approx(0.191067, abs=5e-7)
    assert model.predict([QUESTION]).tolist() == ["no"]


def test_a_category_and_a_flag_beside_the_text() -> None:
    book = books.TestMultinomialCities
    # Two countries: yes has cn, cn; no has jp. A flag has two levels: yes has yes, no; no has no.
    yes = book.joint_yes * Fraction(2 + 1, 2 + 2) * Fraction(1 + 1, 2 + 2)
    no = book.joint_no * Fraction(0 + 1, 1 + 2) * Fraction(1 + 1, 1 + 2)
    asked = {"text": QUESTION, **MISSING, "country": "cn", "paid": "no"}
    found = np.exp(cities("multinomial").log_joint([asked]))
    assert found[0] == pytest.approx([float(no), float(yes)], **EXACT)


def test_densities_beside_the_text() -> None:
    book = books.TestMultinomialCities
    # Maximum likelihood: sizes of yes 3, 3, 2 have mean 8/3 and variance 2/9; no has none and is as all.
    floor = 1e-9 * 2 / 9
    density = exp(-((2 - 8 / 3) ** 2) / (2 * (2 / 9 + floor))) / sqrt(2 * pi * (2 / 9 + floor))
    found = cities("multinomial").log_joint([{"text": QUESTION, **MISSING, "size": 2}])
    expected = [log(float(book.joint_no) * density), log(float(book.joint_yes) * density)]
    assert found[0] == pytest.approx(expected, **EXACT)


def test_the_vectors_of_the_second_book() -> None:
    vectors = [(0, 3, 0), (0, 3, 3), (3, 0, 0), (2, 3, 0), (4, 3, 0), (4, 0, 3), (3, 0, 0), (0, 0, 0)]
    rows = [
        {"label": label, "text": " ".join(["aa"] * a + ["bb"] * b + ["cc"] * c), "kind": None}
        for label, (a, b, c) in zip(["+"] * 4 + ["-"] * 4, vectors, strict=True)
    ]
    asked = [{"text": "aa aa aa bb", "kind": None}]
    settings = {"smoothing": 1.0, "text": "text", "category": "kind"}
    bernoulli = Classifier(model="bernoulli", normalization="vocabulary", **settings).fit(rows)
    assert np.exp(bernoulli.log_joint(asked))[0] == pytest.approx([0.0576132, 0.046875], abs=5e-8)
    multinomial = Classifier(model="multinomial", **settings).fit(rows)
    assert np.exp(multinomial.log_joint(asked, full=True))[0] == pytest.approx([0.027, 0.0864], **EXACT)


@pytest.mark.parametrize(
    ("smoothing", "yes", "no"),
    [
        # P(t|k) of Chinese and Tokyo: 5/8 and 0/8 in yes, 1/3 and 1/3 in no, 6/11 and 1/11 in all.
        (
            JelinekMercer(0.5),
            [Fraction(1, 2) * (Fraction(5, 8) + Fraction(6, 11)), Fraction(1, 2) * Fraction(1, 11)],
            [Fraction(1, 2) * (Fraction(1, 3) + Fraction(6, 11)), Fraction(1, 2) * (Fraction(1, 3) + Fraction(1, 11))],
        ),
        (
            Dirichlet(11.0),
            [Fraction(5 + 6, 8 + 11), Fraction(0 + 1, 8 + 11)],
            [Fraction(1 + 6, 3 + 11), Fraction(1 + 1, 3 + 11)],
        ),
    ],
)
def test_smoothing_by_the_corpus(smoothing: object, yes: list[Fraction], no: list[Fraction]) -> None:
    model = Classifier(model="multinomial", smoothing=smoothing, numbers="gaussian", **ROLES).fit(FRAME)
    found = np.exp(model.log_joint([{"text": "Chinese Tokyo", **MISSING}]))
    expected = [Fraction(1, 4) * no[0] * no[1], Fraction(3, 4) * yes[0] * yes[1]]
    assert found[0] == pytest.approx([float(share) for share in expected], **EXACT)
    # Levels have Laplace's smoothing with α = 1 then.
    level = np.exp(model.log_joint([{"text": "", **MISSING, "country": "jp"}]))
    assert level[0] == pytest.approx([1 / 4 * 2 / 3, 3 / 4 * 1 / 4], **EXACT)


@pytest.mark.parametrize("priors", ["uniform", {"no": 0.9, "yes": 0.1}])
def test_priors_that_are_not_those_of_the_data(priors: object) -> None:
    model = Classifier(model="multinomial", smoothing=1.0, numbers="gaussian", priors=priors, **ROLES).fit(FRAME)
    shares = [0.5, 0.5] if priors == "uniform" else [0.9, 0.1]
    assert model.predict_proba([{"text": "", **MISSING}])[0] == pytest.approx(shares, **EXACT)
    found = np.exp(model.log_joint([{"text": "", **MISSING, "paid": "no"}]))
    assert found[0] == pytest.approx([shares[0] * 2 / 3, shares[1] * 2 / 4], **EXACT)
