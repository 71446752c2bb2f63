"""Naive Bayes by its formulas, term by term, dense and sparse; and what its settings refuse."""

from collections.abc import Callable
from dataclasses import replace
from math import lgamma, log
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from discern.learners import bayes
from discern.learners.bayes import (
    NaiveBayesSettings,
    as_priors,
    log_multinomial_coefficient,
    log_odds,
    log_priors,
    posterior,
    solve,
)
from discern.learners.smoothing import (
    Dirichlet,
    JelinekMercer,
    Laplace,
    as_smoothing,
    smoothing_from_json,
    smoothing_to_json,
)
from discern.statistics.counts import Counts

TEXTS = ["win win prize", "win cash", "lunch at at noon", "noon noon win", "news"]
LABELS = ["spam", "spam", "ham", "ham", "news"]
COUNTS = Counts.of(TEXTS, LABELS)
CLASSES = ("ham", "news", "spam")
TERMS = ["at", "cash", "lunch", "news", "noon", "prize", "win"]
OCCURRENCES = np.array([[2, 0, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0], [3, 0, 0], [0, 0, 1], [1, 0, 3]])
DOCUMENTS = np.array([[1, 0, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0], [2, 0, 0], [0, 0, 1], [1, 0, 2]])
ROWS = np.array([2, 1, 2])


def expected_weight(settings: NaiveBayesSettings, term: int, place: int | list[int]) -> float:
    """Return the weight of a term for a class as the textbooks have it."""
    if settings.contrasts:
        alone = replace(settings, event="binary" if settings.presence else "multinomial")
        rest = expected_weight(alone, term, [other for other in range(3) if other != place])
        return settings.own * expected_weight(alone, term, place) - (1 - settings.own) * rest
    table = DOCUMENTS if settings.presence else OCCURRENCES
    count, of_term, in_class, total = table[term, place].sum(), table[term].sum(), table[:, place].sum(), table.sum()
    smoothing, size = settings.smoothing, len(TERMS)
    if isinstance(smoothing, JelinekMercer):
        return log(smoothing.weight * count / in_class + (1 - smoothing.weight) * of_term / total)
    if isinstance(smoothing, Dirichlet):
        return log((count + smoothing.mass * of_term / total) / (in_class + smoothing.mass))
    alpha = smoothing.alpha
    if settings.event == "complement":
        return -log((of_term - count + alpha) / (total - in_class + alpha * size))
    if settings.event == "bernoulli":
        share = (count + alpha) / (ROWS[place] + 2 * alpha)
        if settings.normalization == "vocabulary":
            share = (count + alpha) / (in_class + alpha * size)
        return log(share / (1 - share))
    return log((count + alpha) / (in_class + alpha * size))


EVERY = [
    NaiveBayesSettings("multinomial", Laplace(0.5)),
    NaiveBayesSettings("binary", Laplace(2.0)),
    NaiveBayesSettings("multinomial", JelinekMercer(0.3)),
    NaiveBayesSettings("binary", JelinekMercer(0.0)),
    NaiveBayesSettings("multinomial", Dirichlet(7.0)),
    NaiveBayesSettings("complement", Laplace(0.5)),
    NaiveBayesSettings("bernoulli", Laplace(0.5)),
    NaiveBayesSettings("bernoulli", Laplace(0.5), normalization="vocabulary"),
    NaiveBayesSettings("contrast", Laplace(0.5)),
    NaiveBayesSettings("contrast", JelinekMercer(0.3), own=0.2),
    NaiveBayesSettings("binary-contrast", Dirichlet(7.0), own=0.9),
    NaiveBayesSettings("binary-contrast", Laplace(0.1), own=0.0),
]


@pytest.mark.parametrize("most", [1 << 25, 21, 20, 1])
@pytest.mark.parametrize("settings", EVERY, ids=str)
def test_every_weight_and_every_view_of_it(
    settings: NaiveBayesSettings, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bayes, "MOST_DENSE", most)
    assert (COUNTS.labels, COUNTS.terms.to_list()) == (CLASSES, TERMS)
    scores = solve(COUNTS, settings)
    assert (scores.weights is None) == (most < 21)
    expected = np.array([[expected_weight(settings, term, place) for place in range(3)] for term in range(7)])
    np.testing.assert_allclose(scores.at(np.arange(7)), expected, rtol=1e-12)
    np.testing.assert_allclose(scores.at(np.array([4, 1])), expected[[4, 1]], rtol=1e-12)
    for place in range(3):
        np.testing.assert_allclose(scores.of_class(place), expected[:, place], rtol=1e-12)
    np.testing.assert_allclose(scores.sums(), expected.sum(axis=1), rtol=1e-12)
    asked = np.array([[2, 0, 0, 1, 0, 0, 3], [0] * 7])
    counted = (asked > 0) if settings.presence else asked
    found = scores.of_rows(scipy.sparse.csr_matrix(asked.astype(float)))
    np.testing.assert_allclose(found, counted @ expected + scores.bias, rtol=1e-12)
    assert scores.presence == (settings.event in ("binary", "bernoulli", "binary-contrast"))


@pytest.mark.parametrize("settings", EVERY, ids=str)
def test_every_bias(settings: NaiveBayesSettings) -> None:
    prior = np.log(ROWS / 5)
    if settings.event in ("complement", "contrast", "binary-contrast"):
        prior = np.zeros(3)
    if settings.event == "bernoulli":  # what is not in a document speaks too
        shares = [[expected_weight(settings, term, place) for place in range(3)] for term in range(7)]
        prior = prior - np.log1p(np.exp(shares)).sum(axis=0)
    np.testing.assert_allclose(solve(COUNTS, settings).bias, prior, rtol=1e-12)
    start = solve(COUNTS, settings, np.array([0.5, 1.0, -1.0]))
    absence = prior - np.log(ROWS / 5) if settings.event == "bernoulli" else 0.0
    np.testing.assert_allclose(start.bias, np.array([0.5, 1.0, -1.0]) + absence, rtol=1e-12)


def test_a_contrast_without_the_class_itself_is_the_complement_model() -> None:
    contrast = solve(COUNTS, NaiveBayesSettings("contrast", Laplace(0.5), own=0.0))
    complement = solve(COUNTS, NaiveBayesSettings("complement", Laplace(0.5)))
    np.testing.assert_allclose(contrast.weights, complement.weights, rtol=1e-14)


@pytest.mark.parametrize("settings", EVERY, ids=str)
def test_settings_come_back_from_plain_values(settings: NaiveBayesSettings) -> None:
    assert NaiveBayesSettings.from_json(settings.to_json()) == settings


def test_a_single_class_keeps_its_prior_in_the_complement_model() -> None:
    alone = Counts.of(["win", "lunch"], ["a", "a"])
    assert solve(alone, NaiveBayesSettings("complement")).bias.tolist() == [0.0]
    given = NaiveBayesSettings("complement", priors=(("a", 0.25), ("b", 0.75)))
    assert solve(alone, given).bias.tolist() == [0.0]


def test_a_class_without_words_is_as_the_corpus() -> None:
    counts = Counts.of(["win win lunch", ""], ["a", "b"])
    weights = solve(counts, NaiveBayesSettings(smoothing=JelinekMercer(0.9))).weights
    np.testing.assert_allclose(np.exp(weights[:, 1]), [1 / 3, 2 / 3])


def test_a_word_that_every_document_holds_has_a_finite_weight() -> None:
    counts = Counts.of(["win"] * 3 + ["lunch"], ["a"] * 3 + ["b"])
    scores = solve(counts, NaiveBayesSettings("bernoulli", Laplace(1e-100)))
    assert np.isfinite(scores.weights).all()
    assert np.isfinite(scores.bias).all()
    assert np.nextafter(1.0, 0.0) == bayes.MOST_SURE


def test_no_terms_at_all() -> None:
    scores = solve(Counts.of(["", ""], ["a", "b"]), NaiveBayesSettings("bernoulli"))
    np.testing.assert_allclose(scores.bias, np.log([0.5, 0.5]))
    assert scores.weights.shape == (0, 2)


def test_an_alpha_for_each_term() -> None:
    alpha = np.arange(1.0, 8.0)[:, None]
    margins = bayes.Margins(OCCURRENCES.sum(axis=1), OCCURRENCES.sum(axis=0), ROWS, 7)
    weight = bayes.multinomial_weight(Laplace(alpha), margins)  # type: ignore[arg-type]
    found = weight(OCCURRENCES, None, margins.classes, None)
    np.testing.assert_allclose(np.exp(found), (OCCURRENCES + alpha) / (margins.classes + 28.0))
    other = bayes.complement_weight(alpha, margins)
    found = other(OCCURRENCES, margins.terms[:, None], margins.classes, None)
    shares = (margins.terms[:, None] - OCCURRENCES + alpha) / (OCCURRENCES.sum() - margins.classes + 28.0)
    np.testing.assert_allclose(found, -np.log(shares))


def test_priors() -> None:
    rows = np.array([1, 3])
    np.testing.assert_allclose(np.exp(log_priors("ab", rows, "data")), [0.25, 0.75])
    np.testing.assert_allclose(np.exp(log_priors("abc", rows, "uniform")), [1 / 3] * 3)
    np.testing.assert_allclose(np.exp(log_priors("ab", rows, as_priors({"b": 0.9, "a": 0.1}))), [0.1, 0.9])
    assert log_priors("", rows, "uniform").shape == (0,)
    assert as_priors({"b": 0.9, "a": 0.1}) == (("a", 0.1), ("b", 0.9))
    assert as_priors({"a": 0.5, "b": 0.5 + 9e-10})  # rounding is no error
    given = (("a", 0.1), ("b", 0.9))
    np.testing.assert_allclose(np.exp(log_priors("abc", np.array([1, 3, 4]), given)), [0.05, 0.45, 0.5])
    np.testing.assert_allclose(np.exp(log_priors("bc", np.array([3, 1]), given)), [0.75, 0.25])
    np.testing.assert_allclose(np.exp(log_priors("cd", np.array([3, 1]), given)), [0.75, 0.25])
    for wrong in ({"a": 0.5, "b": 0.6}, {"a": 0.5, "b": 0.4}, {"a": 0.0, "b": 1.0}, {"a": 2.0, "b": -1.0}):
        with pytest.raises(ValueError, match="positive and sum to 1"):
            as_priors(wrong)


def test_odds_posterior_and_coefficient() -> None:
    np.testing.assert_allclose(log_odds(np.array([0.2, 0.5])), [log(0.25), 0.0], atol=1e-15)
    scores = np.array([[0.0, log(3)], [-1000.0, -1000.0]])
    np.testing.assert_allclose(posterior(scores), [[0.25, 0.75], [0.5, 0.5]])
    assert scores[0].tolist() == [0.0, log(3)]  # left as it was
    np.testing.assert_allclose(posterior(scores, in_place=True), scores)
    np.testing.assert_allclose(scores[0], [0.25, 0.75])
    rows = scipy.sparse.csr_matrix(np.array([[2, 1, 0], [0, 0, 3], [0, 0, 0]]))
    np.testing.assert_allclose(log_multinomial_coefficient(rows), [lgamma(4) - lgamma(3), 0.0, 0.0], atol=1e-12)


@pytest.mark.parametrize("smoothing", [Laplace(0.5), JelinekMercer(0.25), Dirichlet(3.0)])
def test_smoothings_as_plain_values(smoothing: Any) -> None:
    values = smoothing_to_json(smoothing)
    assert values["kind"] == type(smoothing).__name__
    assert smoothing_from_json(values) == smoothing
    assert "kind" in values  # what was given is left as it was
    assert as_smoothing(smoothing) is smoothing


def test_numbers_as_smoothing() -> None:
    assert as_smoothing(2) == Laplace(2.0)
    assert isinstance(Laplace(1).alpha, float)
    assert isinstance(JelinekMercer(0).weight, float)
    assert (Laplace().alpha, JelinekMercer().weight, Dirichlet().mass) == (1.0, 0.5, 1000.0)
    for wrong in (True, "1", None):
        with pytest.raises(ValueError, match="smoothing must be a number"):
            as_smoothing(wrong)


@pytest.mark.parametrize(
    "settings",
    [
        NaiveBayesSettings(),
        NaiveBayesSettings("binary", JelinekMercer(0.2), "uniform"),
        NaiveBayesSettings("bernoulli", Laplace(2.0), (("a", 0.5), ("b", 0.5)), "vocabulary", 0.5),
        NaiveBayesSettings(most_terms=7, select="mutual_information"),
    ],
)
def test_settings_as_plain_values(settings: NaiveBayesSettings) -> None:
    values = settings.to_json()
    assert NaiveBayesSettings.from_json(values) == settings
    assert ("most_terms" in values) == (settings.most_terms is not None)
    assert values["level_smoothing"] == settings.level_smoothing


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Laplace(-0.1), "at least 0"),
        (lambda: Laplace(float("nan")), "at least 0"),
        (lambda: Laplace(float("inf")), "at least 0"),
        (lambda: JelinekMercer(1.0), "below 1"),
        (lambda: JelinekMercer(-0.1), "at least 0"),
        (lambda: Dirichlet(0.0), "above 0"),
        (lambda: Dirichlet(1.1e100), "1e100"),
        (lambda: Dirichlet(0.9e-100), "1e-100"),
        (lambda: NaiveBayesSettings("other"), "unknown event model"),
        (lambda: NaiveBayesSettings(smoothing=Laplace(0.0)), "above 0"),
        (lambda: NaiveBayesSettings(smoothing=Laplace(1.1e100)), "1e100"),
        (lambda: NaiveBayesSettings(smoothing=Laplace(0.9e-100)), "1e-100"),
        (lambda: NaiveBayesSettings("bernoulli", JelinekMercer()), "Laplace smoothing only"),
        (lambda: NaiveBayesSettings("complement", Dirichlet()), "Laplace smoothing only"),
        (lambda: NaiveBayesSettings("contrast", own=1.5), "own must be a share from 0 to 1, not 1.5"),
        (lambda: NaiveBayesSettings(level_smoothing=0.0), "level_smoothing must be"),
        (lambda: NaiveBayesSettings(level_smoothing=1.1e100), "level_smoothing must be"),
        (lambda: NaiveBayesSettings(normalization="x"), "normalization must be"),
        (lambda: NaiveBayesSettings(most_terms=0), "most_terms must be above 0"),
        (lambda: NaiveBayesSettings(select="x"), "select must be"),
    ],
)
def test_bad_settings_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_settings_at_their_limits() -> None:
    assert Laplace(0).alpha == 0.0
    assert Dirichlet(1e100).mass == 1e100
    assert Dirichlet(1e-100).mass == 1e-100
    for limit in (1e-100, 1e100):
        assert NaiveBayesSettings(smoothing=Laplace(limit), level_smoothing=limit).level_smoothing == limit
    assert NaiveBayesSettings(most_terms=1).most_terms == 1
