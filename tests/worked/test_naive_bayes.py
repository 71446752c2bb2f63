"""Textbook examples of naive Bayes, computed as exact fractions."""

from fractions import Fraction
from math import factorial
from typing import ClassVar

import numpy as np
import pytest

from discern.classifier import Classifier
from discern.learners.bayes import NaiveBayesSettings, posterior, solve
from discern.learners.smoothing import Laplace
from discern.statistics.counts import Counts

EXACT = {"rel": 1e-12, "abs": 0.0}


def logs(values: list[Fraction]) -> list[float]:
    return [float(np.log(value.numerator) - np.log(value.denominator)) for value in values]


def product(values: list[Fraction]) -> Fraction:
    result = Fraction(1)
    for value in values:
        result *= value
    return result


CITIES = [
    {"label": "yes", "text": "Chinese Beijing Chinese"},
    {"label": "yes", "text": "Chinese Chinese Shanghai"},
    {"label": "yes", "text": "Chinese Macao"},
    {"label": "no", "text": "Tokyo Japan Chinese"},
]
QUESTION = "Chinese Chinese Chinese Tokyo Japan"
CITY_NAMES = ["beijing", "chinese", "japan", "macao", "shanghai", "tokyo"]


def cities() -> Counts:
    return Counts.of([row["text"] for row in CITIES], [row["label"] for row in CITIES])


class TestMultinomialCities:
    yes: ClassVar = {"chinese": Fraction(6, 14), "tokyo": Fraction(1, 14), "japan": Fraction(1, 14)}
    no: ClassVar = {"chinese": Fraction(2, 9), "tokyo": Fraction(2, 9), "japan": Fraction(2, 9)}
    joint_yes = Fraction(3, 4) * Fraction(6, 14) ** 3 * Fraction(1, 14) ** 2
    joint_no = Fraction(1, 4) * Fraction(2, 9) ** 5

    def test_the_fractions_are_those_of_the_book(self) -> None:
        assert float(self.joint_yes) == pytest.approx(0.000301214, abs=5e-10)
        assert float(self.joint_no) == pytest.approx(0.000135481, abs=5e-10)
        assert float(self.joint_yes / (self.joint_yes + self.joint_no)) == pytest.approx(0.689759, abs=5e-7)

    def test_probabilities_of_words(self) -> None:
        model = solve(cities(), NaiveBayesSettings("multinomial", Laplace(1)))
        assert cities().terms.to_list() == CITY_NAMES
        assert cities().labels == ("no", "yes")
        expected = [Fraction(1, 4), Fraction(3, 4)]
        assert model.bias == pytest.approx(logs(expected), **EXACT)
        for place, distribution in enumerate((self.no, self.yes)):
            for word, share in distribution.items():
                found = np.exp(model.weights[CITY_NAMES.index(word), place])
                assert found == pytest.approx(float(share), **EXACT)
            assert np.exp(model.weights[:, place]).sum() == pytest.approx(1, **EXACT)

    @pytest.mark.parametrize("rows", [1, 20])
    def test_joint_and_posterior(self, rows: int) -> None:
        classifier = Classifier().fit(CITIES)
        scores = classifier.log_joint([QUESTION] * rows)
        assert np.exp(scores) == pytest.approx(
            np.array([[float(self.joint_no), float(self.joint_yes)]] * rows), **EXACT
        )
        share = float(self.joint_yes / (self.joint_yes + self.joint_no))
        found = classifier.predict_proba([QUESTION] * rows)
        assert found == pytest.approx(np.array([[1 - share, share]] * rows), **EXACT)
        assert classifier.predict([QUESTION] * rows).tolist() == ["yes"] * rows
        assert classifier.predict_one(QUESTION) == "yes"


class TestBernoulliCities:
    yes: ClassVar = [
        Fraction(2, 5),
        Fraction(4, 5),
        Fraction(1, 5),
        Fraction(2, 5),
        Fraction(2, 5),
        Fraction(1, 5),
    ]
    no: ClassVar = [
        Fraction(1, 3),
        Fraction(2, 3),
        Fraction(2, 3),
        Fraction(1, 3),
        Fraction(1, 3),
        Fraction(2, 3),
    ]

    def joint(self, prior: Fraction, shares: list[Fraction]) -> Fraction:
        present = {"chinese", "japan", "tokyo"}
        pairs = zip(CITY_NAMES, shares, strict=True)
        return prior * product([share if name in present else 1 - share for name, share in pairs])

    def test_the_fractions_are_those_of_the_book(self) -> None:
        yes, no = self.joint(Fraction(3, 4), self.yes), self.joint(Fraction(1, 4), self.no)
        assert yes == Fraction(5184, 1_000_000)
        assert float(no) == pytest.approx(0.0219479, abs=5e-8)
        assert float(yes / (yes + no)) == pytest.approx(0.191067, abs=5e-7)

    def test_probabilities_of_words(self) -> None:
        model = solve(cities(), NaiveBayesSettings("bernoulli", Laplace(1)))
        for place, shares in enumerate((self.no, self.yes)):
            found = 1 / (1 + np.exp(-model.weights[:, place]))
            assert found == pytest.approx([float(share) for share in shares], **EXACT)

    @pytest.mark.parametrize("rows", [1, 20])
    def test_joint_and_posterior(self, rows: int) -> None:
        classifier = Classifier(model="bernoulli").fit(CITIES)
        yes, no = self.joint(Fraction(3, 4), self.yes), self.joint(Fraction(1, 4), self.no)
        found = np.exp(classifier.log_joint([QUESTION] * rows))
        assert found == pytest.approx(np.array([[float(no), float(yes)]] * rows), **EXACT)
        share = float(yes / (yes + no))
        found = classifier.predict_proba([QUESTION] * rows)
        assert found == pytest.approx(np.array([[1 - share, share]] * rows), **EXACT)
        assert classifier.predict([QUESTION] * rows).tolist() == ["no"] * rows
        assert classifier.predict_one(QUESTION) == "no"


def words(counts: tuple[int, int, int]) -> str:
    return " ".join(["aa"] * counts[0] + ["bb"] * counts[1] + ["cc"] * counts[2])


POSITIVE = [(0, 3, 0), (0, 3, 3), (3, 0, 0), (2, 3, 0)]
NEGATIVE = [(4, 3, 0), (4, 0, 3), (3, 0, 0), (0, 0, 0)]
LETTERS = [{"label": "+", "text": words(row)} for row in POSITIVE]
LETTERS += [{"label": "-", "text": words(row)} for row in NEGATIVE]
ASKED = (3, 1, 0)


class TestLettersByPresence:
    plus: ClassVar = [Fraction(3, 9), Fraction(4, 9), Fraction(2, 9)]
    minus: ClassVar = [Fraction(4, 8), Fraction(2, 8), Fraction(2, 8)]
    joint_plus = Fraction(1, 2) * Fraction(3, 9) * Fraction(4, 9) * Fraction(7, 9)
    joint_minus = Fraction(1, 2) * Fraction(4, 8) * Fraction(2, 8) * Fraction(6, 8)

    def test_normalized_over_the_vocabulary(self) -> None:
        assert float(self.joint_plus) == pytest.approx(0.0576132, abs=5e-8)
        assert float(self.joint_minus) == 0.046875
        classifier = Classifier(model="bernoulli", normalization="vocabulary").fit(LETTERS)
        weights = classifier.solved.only_text.scores.weights
        for place, shares in enumerate((self.plus, self.minus)):
            found = 1 / (1 + np.exp(-weights[:, place]))
            assert found == pytest.approx([float(share) for share in shares], **EXACT)
        for rows in (1, 20):
            found = np.exp(classifier.log_joint([words(ASKED)] * rows))
            expected = [[float(self.joint_plus), float(self.joint_minus)]] * rows
            assert found == pytest.approx(np.array(expected), **EXACT)

    def test_normalized_over_documents(self) -> None:
        # (D + 1) / (N + 2): a is in 2 of 4 and in 3 of 4 documents, b in 3 and 1, c in 1 and 1.
        plus = [Fraction(3, 6), Fraction(4, 6), Fraction(2, 6)]
        minus = [Fraction(4, 6), Fraction(2, 6), Fraction(2, 6)]
        classifier = Classifier(model="bernoulli").fit(LETTERS)
        joint = [Fraction(1, 2) * shares[0] * shares[1] * (1 - shares[2]) for shares in (plus, minus)]
        found = np.exp(classifier.log_joint([words(ASKED)]))
        assert found == pytest.approx(np.array([[float(value) for value in joint]]), **EXACT)


class TestLettersByCounts:
    plus: ClassVar = [Fraction(6, 20), Fraction(10, 20), Fraction(4, 20)]
    minus: ClassVar = [Fraction(12, 20), Fraction(4, 20), Fraction(4, 20)]
    coefficient = Fraction(factorial(4), factorial(3) * factorial(1))

    def likelihood(self, shares: list[Fraction]) -> Fraction:
        return self.coefficient * shares[0] ** 3 * shares[1]

    def test_the_fractions_are_those_of_the_book(self) -> None:
        # The book's 0.027 and 0.0864 are 4!/(3!·1!) · θa³ · θb times the prior of 1/2: joint probabilities.
        assert self.likelihood(self.plus) * Fraction(1, 2) == Fraction(27, 1000)
        assert self.likelihood(self.minus) * Fraction(1, 2) == Fraction(864, 10_000)

    def test_full_joint_has_coefficient_and_prior(self) -> None:
        classifier = Classifier().fit(LETTERS)
        weights = classifier.solved.only_text.scores.weights
        assert np.exp(weights[:, 0]) == pytest.approx([float(share) for share in self.plus], **EXACT)
        assert np.exp(weights[:, 1]) == pytest.approx([float(share) for share in self.minus], **EXACT)
        joint = [float(self.likelihood(shares) / 2) for shares in (self.plus, self.minus)]
        for rows in (1, 20):
            found = np.exp(classifier.log_joint([words(ASKED)] * rows, full=True))
            assert found == pytest.approx(np.array([joint] * rows), **EXACT)
            bare = np.exp(classifier.log_joint([words(ASKED)] * rows))
            assert bare * float(self.coefficient) == pytest.approx(np.array([joint] * rows), **EXACT)

    def test_the_coefficient_does_not_change_the_posterior(self) -> None:
        classifier = Classifier().fit(LETTERS)
        full = posterior(classifier.log_joint([words(ASKED)], full=True))
        assert full == pytest.approx(classifier.predict_proba([words(ASKED)]), **EXACT)
        share = Fraction(27, 1000) / (Fraction(27, 1000) + Fraction(864, 10_000))
        assert full[0, 0] == pytest.approx(float(share), **EXACT)
