"""Logistic regression against scikit-learn's: the same objective, each side with the tolerance that reaches it."""

from pathlib import Path
from typing import Any

import numpy as np

import discern
from benchmarks.harness.data import REVIEWS, read
from benchmarks.harness.job import Goal, Inputs, Job, Peer, close
from benchmarks.harness.measure import cpu, require

ROWS, QUICK_ROWS, COLUMNS = 1_000_000, 300_000, 20
EQUAL = 1e-8
"""How far above the least objective, relatively, a fit may end: where both sides do, they have done the same work."""


def prepare_table(folder: Path, quick: bool) -> Inputs:
    random = np.random.default_rng(0)
    X = random.standard_normal((QUICK_ROWS if quick else ROWS, COLUMNS))
    for column in range(1, COLUMNS):  # neighbors are correlated, as columns of tables are
        X[:, column] = 0.5 * X[:, column - 1] + np.sqrt(0.75) * X[:, column]
    chances = 1 / (1 + np.exp(0.5 - X @ random.normal(0, 0.5, COLUMNS)))
    y = (random.random(len(X)) < chances).astype(int)
    return with_least_objective(Inputs(X=X, y=y, tol=1e-5, peer_tol=1e-5))


def prepare_text(folder: Path, quick: bool) -> Inputs:
    from sklearn.feature_extraction.text import TfidfVectorizer

    table = read(REVIEWS, folder)
    chosen = slice(len(table) if quick else len(table) // 2)  # the training half of the real reviews
    labels = np.array(table["label"].to_pylist()[chosen])
    X = TfidfVectorizer().fit_transform(table["text"].to_pylist()[chosen])
    y = (labels == max(labels)).astype(int)
    return with_least_objective(Inputs(X=X, y=y, tol=1e-4, peer_tol=2e-7))


def with_least_objective(inputs: Inputs) -> Inputs:
    inputs.least = objective(
        inputs, discern.LogisticRegression(solver="newton-cg", tol=1e-11, max_iter=1000).fit(inputs.X, inputs.y)
    )
    return inputs


def objective(inputs: Inputs, model: Any) -> float:
    scores = inputs.X @ model.coef_[0] + model.intercept_[0]
    return float(0.5 * np.sum(model.coef_**2) + np.logaddexp(0, np.where(inputs.y, -scores, scores)).sum())


def fit_ours(inputs: Inputs) -> Any:
    return discern.LogisticRegression(tol=inputs.tol).fit(inputs.X, inputs.y)


def fit_lbfgs(inputs: Inputs) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(tol=inputs.peer_tol, max_iter=1000).fit(inputs.X, inputs.y)


def fit_saga(inputs: Inputs) -> Any:
    from sklearn.linear_model import LogisticRegression

    # Its own default tolerance: a tighter one brings it no nearer than 5e-8.
    return LogisticRegression(solver="saga", max_iter=1000, random_state=0).fit(inputs.X, inputs.y)


def same_objective(inputs: Inputs, ours: Any, theirs: Any) -> None:
    most = objective(inputs, theirs) / inputs.least - 1
    require(most <= 2e-7, f"the peer ends {most:.1e} above the least objective")
    excess = objective(inputs, ours) / inputs.least - 1
    require(excess <= EQUAL, f"the fit ends {excess:.1e} above the least objective")


def prepare_probabilities(folder: Path, quick: bool) -> Inputs:
    inputs = prepare_table(folder, quick)
    inputs.ours, inputs.theirs = fit_ours(inputs), fit_lbfgs(inputs)
    inputs.theirs.coef_, inputs.theirs.intercept_ = inputs.ours.coef_, inputs.ours.intercept_
    return inputs


def probabilities_ours(inputs: Inputs) -> Any:
    return inputs.ours.predict_proba(inputs.X)


def probabilities_scikit_learn(inputs: Inputs) -> Any:
    return inputs.theirs.predict_proba(inputs.X)


def same_probabilities(inputs: Inputs, ours: Any, theirs: Any) -> None:
    close(ours, theirs, 1e-13, "the probabilities")


JOBS = (
    Job(
        "logistic-fit",
        "LogisticRegression().fit on 1,000,000 × 20 numbers, to the same objective",
        None,
        prepare_table,
        cpu(fit_ours),
        (Peer("scikit-learn lbfgs", Goal("faster", 4), same_objective, cpu(fit_lbfgs)),),
        repeats=5,
    ),
    Job(
        "logistic-probabilities",
        "LogisticRegression.predict_proba on 1,000,000 × 20 numbers",
        None,
        prepare_probabilities,
        cpu(probabilities_ours),
        (Peer("scikit-learn", Goal("faster", 1.3), same_probabilities, cpu(probabilities_scikit_learn)),),
        repeats=15,
    ),
    Job(
        "logistic-text",
        "LogisticRegression().fit on sparse tf–idf of single words, to the same objective",
        REVIEWS,
        prepare_text,
        cpu(fit_ours),
        (
            Peer("scikit-learn lbfgs", Goal("faster", 4), same_objective, cpu(fit_lbfgs)),
            Peer("scikit-learn saga", Goal("faster", 1.5), same_objective, cpu(fit_saga)),
        ),
        repeats=5,
    ),
)
