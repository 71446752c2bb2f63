"""What must hold of probabilities and evidence, whatever was learned."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import discern.learners.bayes as bayes
from discern.classifier import Classifier
from discern.learners.bayes import NaiveBayesSettings, solve
from discern.learners.smoothing import Dirichlet, JelinekMercer, Laplace
from discern.statistics.counts import Counts
from tests.laws.strategies import some_rows, texts

learners = st.sampled_from(
    [
        {},
        {"smoothing": 0.01},
        {"smoothing": JelinekMercer(0.7)},
        {"smoothing": Dirichlet(5.0)},
        {"model": "bernoulli"},
        {"model": "complement"},
        {"priors": "uniform"},
        {"ngrams": (1, 2), "min_df": 2},
    ]
)


def fitted(data: list[dict[str, str]], **settings: object) -> Classifier:
    return Classifier(text="text", **settings).fit(data)


def counts(data: list[dict[str, str]]) -> Counts:
    return Counts.of([row["text"] for row in data], [row["label"] for row in data])


@given(some_rows, st.lists(texts, min_size=1, max_size=20), learners)
def test_probabilities_sum_to_one(data: list, asked: list, settings: dict) -> None:
    model = fitted(data, **settings)
    probabilities = model.predict_proba(asked)
    assert probabilities.shape == (len(asked), len(model.labels))
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    assert probabilities.sum(axis=1) == pytest.approx(np.ones(len(asked)), rel=1e-12)
    decided = model.predict(asked)
    assert (probabilities.max(axis=1) == probabilities[range(len(asked)), np.searchsorted(model.labels, decided)]).all()


@given(some_rows, texts, learners)
def test_evidence_adds_up(data: list, asked: str, settings: dict) -> None:
    model = fitted(data, **settings)
    evidence = model.explain(asked)
    scores = dict(zip(model.labels, model.log_joint([asked])[0], strict=True))
    exact = scores[evidence.label] - scores[evidence.against]
    assert evidence.log_odds == pytest.approx(exact, rel=1e-9, abs=1e-9)
    assert evidence.log_odds >= -1e-9
    assert evidence.label == model.predict([asked])[0]
    assert sum(evidence.probabilities.values()) == pytest.approx(1, rel=1e-12)
    weights = [round(abs(term.weight), 9) for term in evidence.terms]  # rounding must not shuffle equal ones
    assert weights == sorted(weights, reverse=True)
    terms = model.resolved.text.terms(asked)
    assert sum(term.count for term in evidence.terms) + evidence.unknown == len(terms)
    assert evidence.to_dict()["log_odds"] == evidence.log_odds
    assert evidence.label in str(evidence)


@given(some_rows, st.lists(texts, min_size=1, max_size=8), learners)
def test_many_rows_and_few_rows_are_scored_alike(data: list, asked: list, settings: dict) -> None:
    model = fitted(data, **settings)
    few = model.log_joint(asked)
    many = model.log_joint(asked * 10)
    assert many == pytest.approx(np.tile(few, (10, 1)), rel=1e-12, abs=1e-12)
    for text, scores in zip(asked, few, strict=True):
        if len(scores) == 1 or np.diff(np.sort(scores))[-1] > 1e-9:
            assert model.predict_one(text) == model.labels[int(scores.argmax())]


@given(some_rows)
def test_words_of_a_class_sum_to_one(data: list) -> None:
    counted = counts(data)
    assume(len(counted.terms))
    for smoothing in (Laplace(1), Laplace(0.1), Dirichlet(10.0), JelinekMercer(0.5)):
        model = solve(counted, NaiveBayesSettings("multinomial", smoothing))
        assert np.exp(model.weights).sum(axis=0) == pytest.approx(np.ones(len(counted.labels)), rel=1e-12)


@given(some_rows)
def test_all_weight_on_the_corpus(data: list) -> None:
    counted = counts(data)
    assume(len(counted.terms))
    corpus = counted.term_occurrences / counted.term_occurrences.sum()
    expected = np.repeat(corpus[:, None], len(counted.labels), axis=1)
    mixed = solve(counted, NaiveBayesSettings("multinomial", JelinekMercer(0)))
    assert np.exp(mixed.weights) == pytest.approx(expected, rel=1e-12)
    heavy = solve(counted, NaiveBayesSettings("multinomial", Dirichlet(1e15)))
    assert np.exp(heavy.weights) == pytest.approx(expected, rel=1e-9)
    level = fitted(data, smoothing=JelinekMercer(0))
    asked = [row["text"] for row in data]
    prior = np.exp(level.solved.prior)
    assert level.predict_proba(asked) == pytest.approx(np.tile(prior, (len(asked), 1)), rel=1e-9)


@given(some_rows)
def test_priors(data: list) -> None:
    labels = sorted({row["label"] for row in data})
    given_priors = {label: (place + 1) / sum(range(1, len(labels) + 1)) for place, label in enumerate(labels)}
    shares = [sum(row["label"] == label for row in data) / len(data) for label in labels]
    for priors, expected in (
        ("data", shares),
        ("uniform", [1 / len(labels)] * len(labels)),
        (given_priors, list(given_priors.values())),
    ):
        model = fitted(data, priors=priors)
        assert np.exp(model.solved.only_text.scores.bias) == pytest.approx(expected, rel=1e-12)
        assert model.predict_proba([""])[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("rows", [1, 20])
@pytest.mark.parametrize("settings", [{}, {"model": "bernoulli"}, {"model": "complement"}])
def test_a_million_words_do_not_underflow(settings: dict, rows: int) -> None:
    data = [{"label": "a", "text": "one two three"}, {"label": "b", "text": "two three four"}]
    model = fitted(data, **settings)
    asked = ["two three one " * 333_333 + "two"] + [""] * (rows - 1)
    scores = model.log_joint(asked)
    assert np.isfinite(scores).all()
    assert (model.predict_proba(asked).sum(axis=1) == pytest.approx(1, rel=1e-12)) is True
    assert model.predict(asked)[0] == "a"
    if not settings:
        expected = np.log(0.5) + 333_333 * np.log([2 / 7 * 2 / 7 * 2 / 7, 2 / 7 * 2 / 7 * 1 / 7]) + np.log(2 / 7)
        assert scores[0] == pytest.approx(expected, rel=1e-10)


@given(some_rows, st.lists(texts, min_size=1, max_size=20), learners)
def test_sparse_and_dense_weights_agree(data: list, asked: list, settings: dict) -> None:
    dense = fitted(data, **settings)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bayes, "MOST_DENSE", 0)
        sparse = fitted(data, **settings)
    assume(dense.solved.terms)
    assert dense.solved.only_text.scores.weights is not None
    assert sparse.solved.only_text.scores.weights is None
    for texts_asked in (asked, asked * 10):
        assert sparse.log_joint(texts_asked) == pytest.approx(dense.log_joint(texts_asked), rel=1e-9, abs=1e-9)
    assert sparse.explain(asked[0]).log_odds == pytest.approx(dense.explain(asked[0]).log_odds, rel=1e-9, abs=1e-9)
    for label in dense.labels:
        found, expected = (dict(model.weights(label, top=10**6)) for model in (sparse, dense))
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_sparse_weights_are_saved(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(bayes, "MOST_DENSE", 0)
    data = [{"label": f"l{i % 3}", "text": f"word{i} common{i % 2}"} for i in range(30)]
    model = fitted(data)
    asked = [row["text"] for row in data]
    for slim in (False, True):
        model.save(tmp_path / "m.discern", slim=slim)
        loaded = Classifier.load(tmp_path / "m.discern")
        assert loaded.solved.only_text.scores.weights is None
        assert (loaded.predict_proba(asked) == model.predict_proba(asked)).all()


def test_many_classes_and_terms_stay_sparse(run_python) -> None:
    # A table of 1,000 classes x 200,000 terms would be 1.6 GB.
    run_python(
        """
import pathlib, re
limit = 700 << 20
from discern.classifier import Classifier

classes, terms, width = 1000, 200_000, 200
data = (
    [{"label": f"c{i}", "text": " ".join(f"term{(i * width + j) % terms}" for j in range(width)) + f" own{i}"}]
    for i in range(classes)
)
model = Classifier(text="text", smoothing=1.0, threads=2).fit(data)
assert len(model.labels) == classes
assert model.solved.terms == terms + classes
asked = [f"term{i * width} term{i * width + 1} own{i}" for i in range(0, classes, 10)]
expected = [f"c{i}" for i in range(0, classes, 10)]
assert model.predict(asked).tolist() == expected
assert model.predict(asked[:3]).tolist() == expected[:3]
assert model.weights("c7", top=1)[0][0] in {"own7", *(f"term{7 * width + j}" for j in range(width))}
assert model.explain(asked[0]).label == "c0"
# Not getrusage: there the peak of the process that started this one counts, too.
peak = 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", pathlib.Path("/proc/self/status").read_text())[1])
assert peak < limit, peak
""",
    )
