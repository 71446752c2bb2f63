"""Probabilities that a person believes: of rows of any length, and for any subset of the columns."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discern.classifier import Classifier
from discern.evaluation.decisions import Decision
from discern.evaluation.novelty import Novelty, NoveltyEvaluation
from discern.learners.bayes import posterior
from discern.models.registry import MODELS

WORDS = {
    "ham": ["lunch", "noon", "meeting", "report", "thanks", "home"],
    "news": ["vote", "match", "market", "storm", "report", "win"],
    "spam": ["win", "prize", "free", "claim", "call", "now"],
}
SHARES = {"ham": 0.7, "news": 0.1, "spam": 0.2}
SETTINGS = {
    "default": {},
    "without views": {"views": "none"},
    "length": {"views": "length", "smoothing": 0.5, "calibrate": True},
    "all views": {"views": "symbols,characters,length"},
    "multinomial": {"model": "multinomial"},
    "binary": {"model": "binary", "priors": "uniform"},
    "complement": {"model": "complement"},
    "given priors": {"priors": {"ham": 0.2, "news": 0.3, "spam": 0.5}},
    "uncalibrated": {"calibrate": False},
    "ngrams": {"ngrams": (1, 2), "smoothing": 0.1},
}
texts = st.lists(
    st.sampled_from([*{word for words in WORDS.values() for word in words}, "zzz", "qxj", "!!"]), max_size=30
)


def drawn(seed: int, rows: int) -> list[dict]:
    """Draw rows of a text of one to many words, and columns of which one says nothing."""
    draw, found = np.random.default_rng(seed), []
    for _ in range(rows):
        label = str(draw.choice(list(SHARES), p=list(SHARES.values())))
        other = WORDS[str(draw.choice(list(WORDS)))]
        words = [str(draw.choice(WORDS[label] if draw.random() < 0.7 else other)) for _ in range(draw.integers(1, 20))]
        sure = draw.random() < 0.8
        found.append(
            {
                "label": label,
                "text": " ".join(words),
                "country": label[0] if sure else "x",
                "age": float(draw.normal(3.0 * (label == "spam"), 1.0)),
                "copied": float(draw.normal(3.0 * (label == "spam"), 1.0)),
                "noise": float(draw.normal()),
                "paid": "yes" if (label == "spam") == sure else "no",
            }
        )
    return found


@cache
def learned(name: str, mixed: bool) -> Classifier:
    """Return a classifier of texts alone, or of mixed columns."""
    rows = drawn(1, 600)
    rows = rows if mixed else [{name: row[name] for name in ("label", "text")} for row in rows]
    return Classifier(**SETTINGS[name]).fit(rows)


def base_rates(model: Classifier) -> np.ndarray:
    return np.exp(model.solved.prior)


models = st.builds(learned, st.sampled_from(sorted(SETTINGS)), st.booleans())


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("name", SETTINGS)
def test_nothing_known_gives_the_base_rates(name: str, mixed: bool) -> None:
    model = learned(name, mixed)
    nothing = [{"text": ""}, {"text": " \n"}, {"text": None}]
    if mixed:
        others = ("country", "age", "copied", "noise", "paid")
        nothing = [{**row, **dict.fromkeys(others)} for row in nothing]
        nothing.append({**nothing[0], "country": "never seen"})
    assert np.abs(model.predict_proba(nothing) - base_rates(model)).max() < 1e-9
    assert all(found.known.tolist() == [0] * len(nothing) for found in model.predictions(nothing))


@pytest.mark.parametrize("calibrate", [True, False])
@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("name", [kind.name for kind in MODELS if kind.name not in ("best", "bernoulli")])
def test_every_model_gives_the_base_rates_where_nothing_is_known(name: str, mixed: bool, calibrate: bool) -> None:
    """Whatever the origin of a space stands for; but for Bernoulli's model, to which every absent word says something.

    In a space of terms alone, that a text has none of them says something, too.
    """
    rows = drawn(1, 150)
    rows = rows if mixed else [{name: row[name] for name in ("label", "text")} for row in rows]
    model = Classifier(model=name, calibrate=calibrate, views="none").fit(rows)
    changes = [(rows[:70], iter(())), (iter(()), 9 * rows[:5])] if model.fitted.is_sum else []
    for changed in [model, *(model.changed(old, new) for old, new in changes)]:
        counted = changed.fitted.rows_per_label
        assert counted is not None
        shares = np.array([counted[label] for label in changed.labels]) / sum(counted.values())
        unknown = "zzz !!" if mixed or changed.resolved.pipeline is None else " "
        nothing = [dict.fromkeys(rows[0]), {**dict.fromkeys(rows[0]), "text": unknown}]
        assert np.abs(changed.predict_proba(nothing) - shares).max() < 1e-9
        seen = changed.explain(nothing[1])
        assert seen.is_unknown
        assert "knows none of the words" in seen._repr_html_()
        assert seen.log_odds == pytest.approx(float(np.diff(np.log(np.sort(shares)[-2:]))[0]), abs=1e-9)


@given(texts, st.integers(1, 6), st.booleans())
def test_unknown_words_count_by_their_length_only(words: list[str], more: int, uncalibrated: bool) -> None:
    """The model has the length as a column: the log odds move by what the explanations say of it."""
    model = learned("length", False)
    raw = {"raw": True} if uncalibrated else {}
    before, after = " ".join(words), " ".join([*words, *["qqqq"] * more])
    plain = learned("without views", False)
    assert np.array_equal(plain.predict_proba([before], **raw), plain.predict_proba([after], **raw))
    first, second = model.explain(before), model.explain(after)
    if first.label == second.label and first.against == second.against:
        lengths = [sum(term.weight for term in seen.terms if term.view == "length") for seen in (first, second)]
        own = [{term.term: term.weight for term in seen.terms if term.view == "text"} for seen in (first, second)]
        assert own[0] == pytest.approx(own[1], abs=1e-9)
        fading = second.prior_calibration - first.prior_calibration
        assert second.log_odds - first.log_odds == pytest.approx(lengths[1] - lengths[0] + fading, abs=1e-9)
    assert second.unknown - first.unknown == more


@given(models, texts, st.sets(st.sampled_from(["country", "age", "copied", "noise", "paid"])))
def test_an_explanation_adds_up_to_its_probabilities(model: Classifier, words: list[str], kept: set[str]) -> None:
    row: dict = {"text": " ".join(words)}
    if len(model.features) > 1:
        row |= {name: value for name, value in drawn(7, 1)[0].items() if name in kept}
    seen = model.explain(row)
    shares = model.predict_proba([{**dict.fromkeys(feature.name for feature in model.features), **row}])[0]
    expected = dict(zip(model.labels, shares.tolist(), strict=True))
    assert seen.probabilities == pytest.approx(expected, rel=1e-9)
    odds = np.log(expected[seen.label]) - np.log(expected[seen.against])
    assert seen.log_odds == pytest.approx(odds, abs=1e-6)
    own = seen.prior + seen.prior_calibration + seen.absent + sum(term.weight for term in seen.terms)
    assert own == pytest.approx(seen.log_odds, abs=1e-9)


@given(st.sampled_from(sorted(SETTINGS)), texts)
def test_one_text_is_scored_as_a_row_is(name: str, words: list[str]) -> None:
    """The fast way from one text to its label adds up the same evidence."""
    model, text = learned(name, False), " ".join(words)
    scorer = model.solved.text_scorer
    scores, known = scorer.scores(text)
    [found] = model.predictions([text])
    assert posterior(scores[None])[0] == pytest.approx(found.probabilities[0], rel=1e-9)
    assert known == found.known[0]
    assert scorer(text) == model.labels[int(scores.argmax())]
    best = np.sort(found.probabilities[0])
    assert scorer(text) == found.labels[0] or best[-1] - best[-2] < 1e-12


@given(models)
def test_the_prior_of_an_explanation_is_the_same_for_every_row(model: Classifier) -> None:
    for text in ("", "free prize", "lunch " * 40):
        seen = model.explain({"text": text})
        prior = dict(zip(model.labels, model.solved.prior.tolist(), strict=True))
        assert seen.prior in (pytest.approx(prior[seen.label] - prior[seen.against]), 0.0)


@pytest.mark.parametrize("columns", [1, 2, 3, 4, 5])
def test_some_columns_are_never_worse_than_none(columns: int) -> None:
    """Two columns say the same, and one says nothing: with any of them missing, the log loss is below the base rate's."""
    model, rows = learned("default", True), drawn(2, 1500)
    true = np.array([model.labels.index(row["label"]) for row in rows])
    draw, names = np.random.default_rng(3), ["text", "country", "age", "copied", "noise", "paid"]
    masked = []
    for row in rows:
        kept = set(draw.permutation(names)[:columns])
        masked.append({name: row[name] if name in kept else None for name in names})
    each = np.arange(len(rows))
    loss = -np.log(model.predict_proba(masked)[each, true]).mean()
    assert loss < -np.log(base_rates(model)[true]).mean()


def test_one_word_of_a_label_is_believed() -> None:
    model = learned("default", False)
    for label, words in WORDS.items():
        for word in set(words) - {"win", "report"}:
            shares = dict(zip(model.labels, model.predict_proba([word])[0].tolist(), strict=True))
            prior = dict(zip(model.labels, base_rates(model).tolist(), strict=True))
            assert shares[label] > prior[label], word


# ----------------------------------------------------------------------------------------------------- evidence


def test_strongest_terms_have_support() -> None:
    """A word seen once does not come before a word seen in thirty rows, however pure both are."""
    rows = [{"label": "spam", "text": f"prize w{i}"} for i in range(30)]
    rows += [{"label": "ham", "text": f"lunch v{i} prize" if i == 0 else f"lunch v{i}"} for i in range(30)]
    model = Classifier(smoothing=0.01).fit(rows)
    first = model.strongest("spam", 3)[0]
    assert (first.term, first.seen("spam")) == ("prize", "30 : 1")
    assert model.strongest("ham", 1)[0].term == "lunch"
    assert model.strongest("spam", -1)[0].term == "lunch"


def test_what_would_flip_is_short_or_nothing() -> None:
    model = learned("default", False)
    few, many = model.explain("free lunch home"), model.explain("free prize claim call now win " * 3)
    assert few.flip is None or len(few.flip) <= 3
    assert many.flip is None
    assert many.to_dict()["flip"] is None


# ------------------------------------------------------------------------------------------------------ novelty


def test_false_alarms_are_as_promised() -> None:
    """Of fresh rows like those learned, a share of α has a novelty above 1 − α."""
    model, rows = learned("default", True), drawn(4, 3000)
    novelty = model.novelty(rows)
    for level in (0.02, 0.05, 0.2, 0.5):
        error = (level * (1 - level) * (1 / len(rows) + 1 / model.rows)) ** 0.5
        assert abs((novelty > 1 - level).mean() - level) < 3 * error, level


def test_unknown_rows_are_found() -> None:
    rows = [row for row in drawn(5, 900) if row["label"] != "news"]
    model = Classifier().fit([{name: row[name] for name in ("label", "text")} for row in rows])
    strange = [{"label": "sport", "text": f"goal team{i} league keeper"} for i in range(200)]
    usual = [{name: row[name] for name in ("label", "text")} for row in drawn(6, 300) if row["label"] != "news"]
    found = model.evaluate_novelty([*usual, *strange], level=0.1)
    assert (found.known, found.unknown) == (len(usual), 200)
    assert found.auroc > 0.9
    assert found.found > 0.5
    decided = model.decide_by(Decision(max_false_alarms=0.1)).predict([row["text"] for row in (*usual, *strange)])
    unsure = decided == "unsure"
    assert unsure[: len(usual)].mean() == pytest.approx(found.false_alarms)
    assert unsure[len(usual) :].mean() == pytest.approx(found.found)


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=60), st.lists(st.floats(0, 5), min_size=1, max_size=60))
def test_novelty_is_a_share_that_rises(surprise: list[float], doubt: list[float]) -> None:
    size = min(len(surprise), len(doubt))
    one, other = np.array(surprise[:size]), np.array(doubt[:size])
    novelty = Novelty.fit(one, other)
    found = novelty(np.array([-1e9, 0.0, 1e9]), np.array([0.0, 0.0, 9.0]))
    assert np.all((found >= 0) & (found <= 1))
    assert np.all(np.diff(found) >= 0)
    assert Novelty.from_json(novelty.to_json()) == novelty


def test_evaluation_of_novelty_without_known_or_unknown_rows() -> None:
    nobody = NoveltyEvaluation.of(np.array([0.5, 0.99]), np.array([False, False]), 0.05)
    assert nobody.unknown == 0
    assert np.isnan(nobody.auroc)
    assert np.isnan(nobody.found)
    assert nobody.false_alarms == 0.5
