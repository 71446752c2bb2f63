"""The Bayes classifier: posteriors, decisions and rates that can be computed by hand, and problems to simulate."""

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import ndtr
from sklearn.pipeline import make_pipeline

import discern
from discern import BayesClassifier, Density, mixture
from discern.learners import simulate
from discern.learners.densities import as_density

LINEAR, QUADRATIC = discern.LinearDiscriminantAnalysis, discern.QuadraticDiscriminantAnalysis


def rate(*arguments, **options):
    return BayesClassifier(*arguments, **options).bayes_rate()


# ------------------------------------------------------------------------------------------------------ posteriors


def test_posterior_and_decision():
    model = BayesClassifier({"a": stats.norm(0, 1), "b": stats.norm(2, 1)}, [0.8, 0.2])
    expected = 0.8 * stats.norm.pdf(1.5) / (0.8 * stats.norm.pdf(1.5) + 0.2 * stats.norm.pdf(0.5))
    np.testing.assert_allclose(model.predict_proba([[1.5]])[0], [expected, 1 - expected])
    boundary = 1 + np.log(4) / 2  # where both are as probable
    assert model.predict([[boundary - 1e-9], [boundary + 1e-9]]).tolist() == ["a", "b"]
    assert model.predict([boundary - 1e-9]).tolist() == ["a"]  # one column may be flat
    assert model.predict_proba([[1e4]]).tolist() == [[0.0, 1.0]]  # both densities underflow


def test_decisions_under_a_loss():
    model = BayesClassifier(
        [stats.norm(0), stats.norm(2)], loss=[[0, 1, 0.2], [5, 0, 0.2]], decisions=["no", "yes", "ask"]
    )
    points = np.linspace(-3, 5, 50)[:, None]
    proba = model.predict_proba(points)
    expected = np.array(["no", "yes", "ask"])[(proba @ np.array([[0, 1, 0.2], [5, 0, 0.2]])).argmin(axis=1)]
    assert model.predict(points).tolist() == expected.tolist()
    assert set(expected) == {"no", "yes", "ask"}
    np.testing.assert_allclose(model.risk(points)[:, 2], 0.2)


# ------------------------------------------------------------------------------------------------------------ rates


@pytest.mark.parametrize("priors", [[0.5, 0.5], [0.9, 0.1], [0.2, 0.8]])
@pytest.mark.parametrize("distance", [0.5, 2.0, 4.0])
def test_closed_form_quadrature_and_monte_carlo_agree(priors, distance):
    model = BayesClassifier([stats.norm(1, 2), stats.norm(1 + 2 * distance, 2)], priors)
    costs, _ = model._costs(None)
    closed = model.bayes_rate()
    assert closed.method == "closed form"
    np.testing.assert_allclose(model._on_line(costs).rate, closed.rate, rtol=1e-10)
    drawn = model._monte_carlo(costs, 40_000, 1)
    assert abs(drawn.rate - closed.rate) < 4 * drawn.standard_error
    if priors == [0.5, 0.5]:
        np.testing.assert_allclose(closed.rate, ndtr(-distance / 2), rtol=1e-12)


def test_quadrature_on_the_plane_agrees_with_the_closed_form():
    covariance = [[2.0, 0.6], [0.6, 1.0]]
    model = BayesClassifier(
        [stats.multivariate_normal([0, 0], covariance), stats.multivariate_normal([2, 1], covariance)]
    )
    closed = model.bayes_rate()
    plane = model._on_plane(model._costs(None)[0], 0)
    assert closed.method == "closed form"
    np.testing.assert_allclose(plane.rate, closed.rate, atol=3e-6)
    assert plane.standard_error < 1e-5


@pytest.mark.parametrize(
    ("densities", "priors", "expected"),
    [
        ([stats.uniform(0, 2), stats.uniform(1, 2)], None, 0.25),
        ([stats.expon(), stats.expon(scale=3)], None, (3**-1.5 + 1 - 3**-0.5) / 2),
        ([stats.cauchy(-1), stats.cauchy(1)], None, stats.cauchy.sf(1)),
        ([mixture([stats.norm(-4), stats.norm(4)]), stats.norm(0)], None, None),
        ([stats.norm(0, 1), stats.norm(0, 1)], [0.3, 0.7], 0.3),
        ([stats.norm(0, 1), stats.norm(0, 3), stats.norm(2, 1)], [0.2, 0.3, 0.5], None),
    ],
    ids=["uniform", "exponential", "Cauchy", "mixture", "the same", "three"],
)
def test_rates_on_the_line(densities, priors, expected):
    found = rate(densities, priors)
    shares = np.full(len(densities), 1 / len(densities)) if priors is None else np.array(priors)
    if expected is None:  # by a plain sum
        grid = np.linspace(-30, 30, 1_200_001)
        heights = [
            share * np.exp(as_density(one).log(grid[:, None])) for share, one in zip(shares, densities, strict=True)
        ]
        expected = 1 - integrate.trapezoid(np.max(heights, axis=0), grid)
    np.testing.assert_allclose(found.rate, expected, atol=1e-7)
    assert found.standard_error < 1e-8


def test_rate_of_whole_numbers_is_a_sum():
    found = rate([stats.poisson(2), stats.poisson(5)])
    counts = np.arange(100)
    expected = 1 - 0.5 * np.maximum(stats.poisson.pmf(counts, 2), stats.poisson.pmf(counts, 5)).sum()
    np.testing.assert_allclose(found.rate, expected, atol=1e-12)
    assert found.method == "sum"


def test_all_kinds_of_frozen_distributions_are_taken():
    shares = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
    found = rate([stats.multinomial(4, share) for share in shares])
    rows = np.array([[i, j, 4 - i - j] for i in range(5) for j in range(5 - i)])
    heights = [stats.multinomial.pmf(rows, 4, share) for share in shares]
    assert abs(found.rate - (1 - np.max(heights, axis=0).sum() / 2)) < 4 * found.standard_error
    np.testing.assert_allclose(rate([stats.norm, stats.norm(1)]).rate, ndtr(-0.5))
    heavy = [stats.multivariate_t(mean, np.eye(2), df=5) for mean in ([0, 0], [2, 0])]
    assert abs(rate(heavy).rate - stats.t.sf(1, 5)) < 1e-5  # the boundary is the line between the means
    with pytest.raises(ValueError, match="of matrices"):
        rate([stats.wishart(3, np.eye(2)), stats.wishart(4, np.eye(2))])


def test_rate_of_functions():
    wedge = Density.of_function(lambda rows: 4 * rows[:, 0] * rows[:, 1], 2, bounds=[[0, 1], [0, 1]])
    flat = Density.of_function(lambda rows: np.ones(len(rows)), 2, bounds=[[0, 1], [0, 1]])
    # 4uv > 1 where v > 1/(4u): the mass of the wedge below and of the flat above, by hand
    below = 1 / 16 + 4 * integrate.quad(lambda u: u * (1 / (4 * u)) ** 2 / 2, 0.25, 1)[0]
    above = 0.75 - np.log(4) / 4
    np.testing.assert_allclose(rate([wedge, flat]).rate, (below + above) / 2, atol=1e-6)
    line = rate([lambda rows: stats.norm.pdf(rows[:, 0]), stats.norm(2)], dimension=1)
    np.testing.assert_allclose(line.rate, ndtr(-1), atol=1e-9)


def test_many_columns_are_drawn():
    means = np.zeros(5), np.full(5, 1.0), np.full(5, -1.0)
    found = rate([stats.multivariate_normal(mean) for mean in means])
    assert found.method == "Monte Carlo"
    assert 0 < found.standard_error < 0.001
    # Along the line through the means the problem has one column.
    along = rate([stats.norm(0), stats.norm(np.sqrt(5)), stats.norm(-np.sqrt(5))])
    assert abs(found.rate - along.rate) < 4 * found.standard_error


def test_the_least_expected_loss():
    model = BayesClassifier([stats.norm(0), stats.norm(2)])
    assert model.bayes_rate(loss=[[0, 1], [1, 0]]).rate == pytest.approx(ndtr(-1), abs=1e-10)
    boundary = 1 - np.log(5) / 2
    expected = 0.5 * stats.norm.sf(boundary) + 5 * 0.5 * stats.norm.cdf(boundary - 2)
    assert model.bayes_rate(loss=[[0, 1], [5, 0]]).rate == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: BayesClassifier([]), "no densities"),
        (lambda: BayesClassifier([stats.norm(), stats.multivariate_normal([0, 0])]), "1 and 2 columns"),
        (lambda: BayesClassifier([stats.norm(), stats.norm(1)], [0.5, 0.6]), "sum to 1"),
        (lambda: BayesClassifier([stats.norm(), stats.norm(1)], classes=["a"]), "2 densities and 1 classes"),
        (lambda: BayesClassifier([stats.norm(), 3]), "not 3"),
        (lambda: BayesClassifier([stats.norm(), np.exp]), "dimension="),
        (lambda: BayesClassifier([stats.norm(), stats.norm(1)]).predict([[0, 1]]), "1 columns"),
        (lambda: BayesClassifier([stats.norm(), stats.norm(1)]).predict([[0]], [[0, 1]]), "a row for each of 2"),
        (lambda: BayesClassifier([stats.norm(), stats.norm(1)]).predict([[0]], [[0, 1, 2]] * 2), "pass decisions="),
        (lambda: BayesClassifier([np.sin, np.exp], dimension=1).predict([[-1.0]]), "negative number"),
        (lambda: BayesClassifier([np.exp, np.exp], dimension=3).bayes_rate(), "draw="),
        (lambda: mixture([stats.norm()], [0.5]), "sum to 1"),
        (lambda: mixture([stats.norm(), stats.multivariate_normal([0, 0])]), "same columns"),
        (lambda: simulate.scenario(7), "1 to 6"),
    ],
)
def test_what_does_not_fit_is_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build()


# ------------------------------------------------------------------------------------------------------- problems

PROBLEMS = [
    *(simulate.scenario(number) for number in range(1, 7)),
    simulate.three_gaussians(),
    simulate.xor(),
    simulate.ring(),
]


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
def test_problems_know_their_rate(problem):
    X, y = problem.sample(40_000, 1)
    best = problem.bayes_rate()
    error = (problem.bayes.predict(X) != y).mean()
    assert abs(error - best.rate) < 4 * np.sqrt(best.rate * (1 - best.rate) / 40_000)
    assert best.standard_error < 1e-5
    np.testing.assert_allclose(np.bincount(y) / 40_000, problem.bayes.priors, atol=0.015)
    assert np.bincount(problem.sample(None, 0)[1]).tolist() == [problem.rows_of_class] * len(problem.bayes.classes)


def bumps():
    return make_pipeline(discern.GaussianBasis(200, random_state=0), discern.RidgeClassifier(1e-3))


@pytest.mark.parametrize(
    ("number", "make"), [(1, LINEAR), (2, LINEAR), (3, LINEAR), (4, QUADRATIC), (5, QUADRATIC), (6, bumps)]
)
def test_the_best_method_reaches_the_bayes_rate(number, make):
    problem = simulate.scenario(number)
    X, y = problem.sample(100_000, 1)
    tests, truth = problem.sample(50_000, 2)
    error, best = 1 - make().fit(X, y).score(tests, truth), problem.bayes_rate().rate
    assert error < best + 2 * np.sqrt(best * (1 - best) / 50_000)


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5])
def test_methods_rank_as_in_the_textbook(number):
    problem = simulate.scenario(number)
    tests, truth = problem.sample(4_000, 9)
    samples = [problem.sample(None, seed) for seed in range(100)]
    kinds = {
        "LDA": LINEAR,
        "logistic": discern.LogisticRegression,
        "QDA": QUADRATIC,
        "1-NN": lambda: discern.KNeighborsClassifier(1),
    }
    errors = {
        name: np.array([1 - kind().fit(X, y).score(tests, truth) for X, y in samples]) for name, kind in kinds.items()
    }
    best = ("LDA", "logistic") if number <= 3 else ("QDA",)
    for name in best:
        for other in set(kinds) - {*best}:
            ahead = errors[other] - errors[name]
            assert ahead.mean() > 2 * ahead.std(ddof=1) / np.sqrt(len(samples)), (name, other)
