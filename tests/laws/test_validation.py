"""A fold's model is the total minus the fold: the same scores as training again without it, and no other order matters."""

from collections import Counter as Bag
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp

from discern.classifier import Classifier
from discern.data.readers import batches
from discern.data.roles import IGNORED, OTHERS, Feature
from discern.learners.smoothing import Dirichlet, JelinekMercer, Laplace
from discern.models.validation.choosing import held_out
from discern.models.validation.rows import Folds, Sample, stratified

LABELS = ["ham", "news", "spam"]
WORDS = ["win", "prize", "lunch", "noon", "née", "你好"]
PRIORS = ["data", "uniform", {"ham": 0.2, "news": 0.3, "spam": 0.5}]

texts = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
labels = st.sampled_from(LABELS)
learners = st.one_of(
    st.fixed_dictionaries(
        {
            "model": st.sampled_from(["multinomial", "binary"]),
            "smoothing": st.sampled_from([1.0, 0.01, JelinekMercer(0.0), JelinekMercer(0.7), Dirichlet(5.0)]),
            "own": st.sampled_from([None, None, 0.5, 0.2, 0.0, 1.0]),
        }
    ),
    st.fixed_dictionaries(
        {"model": st.sampled_from(["bernoulli", "complement"]), "smoothing": st.sampled_from([1.0, 0.1])}
    ),
)
more_settings = st.fixed_dictionaries(
    {
        "priors": st.sampled_from(PRIORS),
        "min_df": st.sampled_from([1, 2]),
        "ngrams": st.sampled_from([(1, 1), (1, 2)]),
        "max_terms": st.sampled_from([None, None, 3]),
        "select": st.sampled_from(["chi2", "mutual-information"]),
    }
)
settings = st.builds(lambda first, second: {**first, **second}, learners, more_settings)

COLUMNS = {
    "text": (texts, Feature("text", "text")),
    "subject": (st.none() | texts, Feature("subject", "text")),
    "country": (st.sampled_from(["fr", "de", "it", "", "?", None]), Feature("country", "category")),
    "paid": (st.sampled_from(["yes", "No", "1", "", None, "perhaps"]), Feature("paid", "flag")),
    "age": (st.none() | st.integers(-2, 9), Feature("age", "number", (0.0, 2.0, 4.5, 8.0))),
    "size": (st.none() | st.integers(-8, 8).map(lambda number: number / 4), Feature("size", "number")),
}
row = st.fixed_dictionaries({"label": labels, **{name: values for name, (values, _) in COLUMNS.items()}})


@st.composite
def rows_that_repeat(draw: st.DrawFn) -> list[dict]:
    """Draw rows, some of them twice, and one with words of its own."""
    rows = draw(st.lists(row, min_size=3, max_size=9))
    again = draw(st.lists(st.sampled_from(rows), max_size=3))
    return [*rows, *again, {**draw(row), "text": "hapax legomenon"}]


@st.composite
def folds_of(draw: st.DrawFn, rows: int) -> Folds:
    """Draw folds: rows left out alone, all or some; or two to four parts."""
    if draw(st.booleans()):
        chosen = draw(st.permutations(range(rows)))
        return Folds.one_by_one(np.array(chosen[: draw(st.integers(1, rows))], np.int64))
    numbers = draw(st.lists(st.integers(0, draw(st.integers(1, 3))), min_size=rows, max_size=rows))
    found = Folds.of(np.unique([*numbers[:-1], max(numbers) + 1], return_inverse=True)[1])
    return found


def sampled(rows: list[dict], features: list[Feature], parts: int = 1) -> Sample:
    size = -(-len(rows) // parts)
    several = (rows[start : start + size] for start in range(0, len(rows), size))
    kept = [batch for part in several for batch in batches(part)]
    return Sample.of(kept, "label", [feature.name for feature in features], 1)


def untrained(features: list[Feature], options: dict) -> Classifier:
    """Return a classifier of these columns only; the bins of numbers are given, so that rows do not change them."""
    own = options.get("own")
    model = Classifier(numbers="gaussian", **{name: value for name, value in options.items() if name != "own"})
    model.settings = replace(model.settings, columns=(*features, Feature(OTHERS, IGNORED)))
    if own is not None:  # each event model has its contrast with the rest
        event = "contrast" if model.settings.naive_bayes.event == "multinomial" else "binary-contrast"
        learner = replace(model.settings.naive_bayes, event=event, own=own)
        model.settings = replace(model.settings, naive_bayes=learner)
    return model


def log_posteriors(scores: np.ndarray) -> np.ndarray:
    return scores - logsumexp(scores, axis=1, keepdims=True)


def check_equal_to_training_again(rows: list[dict], features: list[Feature], options: dict, folds: Folds, parts: int):
    sample = sampled(rows, features, parts)
    model = untrained(features, options)
    learner, text = model.settings.naive_bayes, model.settings.text
    found = held_out(sample, features, learner, text, folds, options["min_df"])
    place = 0
    for fold in folds:
        rest = [entry for number, entry in enumerate(rows) if number not in set(fold.tolist())]
        left_out = [{name: entry[name] for name in COLUMNS} for entry in (rows[number] for number in fold)]
        again = untrained(features, options).fit(rest)
        scores = np.full((len(fold), len(sample.labels)), -np.inf)
        exact = again.log_joint(left_out)
        scores[:, [sample.labels.index(label) for label in again.labels]] = exact
        ours = found.scores[place : place + len(fold)]
        assert (np.isneginf(ours) == np.isneginf(scores)).all()
        # The last digit of a sum depends on its size: a normal density with next to no variance gives huge ones.
        size = np.maximum(np.abs(exact).max(axis=1, keepdims=True), 1.0)
        with np.errstate(invalid="ignore"):
            difference = np.abs(log_posteriors(ours) - log_posteriors(scores)) / size
        assert np.nan_to_num(difference).max() < 1e-10
        said = again.solved.of_batch(next(iter(batches(left_out))), 1)
        known = np.sum([own for _, own in found.columns], axis=0)
        assert known[place : place + len(fold)].tolist() == said.known.tolist()
        place += len(fold)


@given(rows_that_repeat(), settings, st.data())
def test_texts_left_out_equal_training_again(rows: list, options: dict, data: st.DataObject) -> None:
    folds = data.draw(folds_of(len(rows)))
    check_equal_to_training_again(rows, [COLUMNS["text"][1]], options, folds, data.draw(st.integers(1, 2)))


@given(rows_that_repeat(), settings, st.data())
def test_mixed_columns_left_out_equal_training_again(rows: list, options: dict, data: st.DataObject) -> None:
    features = [feature for _, feature in COLUMNS.values()]
    chosen = data.draw(st.lists(st.sampled_from(features), min_size=1, max_size=6, unique=True))
    folds = data.draw(folds_of(len(rows)))
    check_equal_to_training_again(rows, chosen, options, folds, data.draw(st.integers(1, 2)))


@pytest.mark.parametrize("name", ["country", "paid", "age", "size"])
@given(rows=rows_that_repeat(), data=st.data())
def test_one_column_left_out_equals_training_again(name: str, rows: list, data: st.DataObject) -> None:
    options = {"smoothing": data.draw(st.sampled_from([1.0, 0.3])), "min_df": 1}
    check_equal_to_training_again(rows, [COLUMNS[name][1]], options, data.draw(folds_of(len(rows))), 1)


def test_a_class_that_is_wholly_left_out() -> None:
    rows = [
        {"label": "ham", "text": "lunch noon"},
        {"label": "ham", "text": "noon"},
        {"label": "spam", "text": "win prize"},
    ]
    feature = Feature("text", "text")
    model = Classifier(smoothing=1.0)
    said = held_out(
        sampled(rows, [feature]),
        [feature],
        model.settings.naive_bayes,
        model.settings.text,
        Folds.one_by_one(np.arange(3)),
    )
    assert np.isneginf(said.scores).tolist() == [[False, False], [False, False], [False, True]]
    assert log_posteriors(said.scores)[2, 0] == pytest.approx(0, abs=1e-12)
    assert said.columns[0][1].tolist() == [1, 1, 0]


# ------------------------------------------------------------------------------------------------- order, threads


def many_rows(mixed: bool) -> list[dict]:
    """Make 300 rows with enough to choose: words and pairs of words that tell, numbers, levels, repeated rows."""
    random = np.random.default_rng(3)
    rows = []
    for number in range(270):
        kind = int(random.integers(3))
        words = [f"word{int(random.integers(40)) + 13 * kind}" for _ in range(int(random.integers(12)))]
        entry: dict = {"label": f"l{kind}", "text": " ".join([*words, "not bad" if kind else "bad not"])}
        if mixed:
            entry["size"] = None if number % 7 == 0 else float(np.exp(random.normal() + kind))
            entry["country"] = ["fr", "de", "it", None][int(random.integers(4)) if random.random() < 0.5 else kind]
            entry["paid"] = ["yes", "no"][int(random.random() < 0.3 + 0.2 * kind)]
        rows.append(entry)
    return rows + rows[:30]


@pytest.mark.parametrize("mixed", [False, True])
def test_what_is_chosen_does_not_depend_on_order_or_threads(
    model_bytes: Callable[[Classifier], bytes], mixed: bool
) -> None:
    rows = many_rows(mixed)
    numbers = {"numbers": "mdl"} if mixed else {}  # sums of squares are equal only to rounding
    one = Classifier(threads=1, **numbers).fit(rows)
    assert one.resolved.chosen is not None
    assert one.resolved.calibration is not None
    orders = [np.random.default_rng(seed).permutation(len(rows)) for seed in range(2)]
    for order in [*orders, np.arange(len(rows))[::-1]]:
        shuffled = [rows[place] for place in order]
        assert model_bytes(Classifier(threads=2, **numbers).fit(shuffled)) == model_bytes(one)
    halves = iter([rows[:100], rows[100:]])
    assert model_bytes(Classifier(threads=1, **numbers).fit(halves)) == model_bytes(one)


def test_normal_densities_are_chosen_in_any_order_alike() -> None:
    rows = many_rows(mixed=True)
    one = Classifier().fit(rows)
    other = Classifier().fit(rows[::-1])
    assert one.features == other.features
    assert one.resolved.naive_bayes == other.resolved.naive_bayes
    for mine, theirs in zip(one.resolved.calibration.scales, other.resolved.calibration.scales, strict=True):
        assert mine.temperature == pytest.approx(theirs.temperature, rel=1e-6)
    assert one.predict_proba(rows) == pytest.approx(other.predict_proba(rows), abs=1e-6)


def test_scores_left_out_do_not_depend_on_threads() -> None:
    rows = many_rows(mixed=False)
    feature = Feature("text", "text")
    sample = sampled(rows, [feature])
    model = Classifier(smoothing=JelinekMercer(0.4))
    for folds in (sample.left_out(), stratified(sample.classes, sample.keys, 10)):
        found = [
            held_out(
                replace(sample, threads=threads), [feature], model.settings.naive_bayes, model.settings.text, folds
            )
            for threads in (1, 2, 3)
        ]
        assert (found[0].scores == found[1].scores).all()
        assert (found[0].scores == found[2].scores).all()


# --------------------------------------------------------------------------------------------------------- folds


@given(st.lists(st.tuples(labels, st.integers(0, 30)), min_size=2, max_size=80), st.integers(2, 10), st.randoms())
def test_stratified_folds(pairs: list, number: int, random) -> None:
    if number > len(pairs):
        with pytest.raises(ValueError, match="folds"):
            stratified(np.zeros(len(pairs), np.int32), np.arange(len(pairs), dtype=np.uint64), number)
        return
    classes = np.array([LABELS.index(label) for label, _ in pairs], np.int32)
    # As of rows: those of different labels have different keys.
    keys = np.array(
        [((97 * LABELS.index(label) + value) * 0x9E3779B97F4A7C15) % 2**64 for label, value in pairs], np.uint64
    )
    folds = stratified(classes, keys, number)
    assert sorted(folds.order.tolist()) == list(range(len(pairs)))
    fold_of = np.empty(len(pairs), int)
    for place, fold in enumerate(folds):
        assert len(fold)
        fold_of[fold] = place
    together: dict = {}
    for key, place in zip(keys.tolist(), fold_of.tolist(), strict=True):
        assert together.setdefault(key, place) == place
    distinct = dict(zip(keys.tolist(), zip(classes.tolist(), fold_of.tolist(), strict=True), strict=True))
    sizes = Bag(place for _, place in distinct.values())
    assert len(sizes) == min(number, len(distinct))
    assert max(sizes.values()) - min(sizes.values()) <= 1
    for kind in set(classes.tolist()):
        own = Bag(place for other, place in distinct.values() if other == kind)
        counts = [own[place] for place in range(len(folds.ends))]
        assert max(counts) - min(counts) <= 1
    order = random.sample(range(len(pairs)), len(pairs))
    again = stratified(classes[order], keys[order], number)
    assert [keys[order][fold].tolist() for fold in again] == [keys[fold].tolist() for fold in folds]


def test_folds_must_fit_the_rows() -> None:
    keys = np.arange(4, dtype=np.uint64)
    for number in (0, 1, 5):
        with pytest.raises(ValueError, match="folds must be from 2 to 4"):
            stratified(np.zeros(4, np.int32), keys, number)
    rows = [{"label": "a", "text": "xx"}, {"label": "b", "text": "yy"}]
    feature = Feature("text", "text")
    sample = sampled(rows, [feature])
    model = Classifier(smoothing=Laplace(1.0))
    for order, ends in (([0, 2], [2]), ([0, 0], [2]), ([-1], [1]), ([0, 1], [1]), ([0, 1], [2, 1])):
        bad = Folds(np.array(order, np.int64), np.array(ends, np.int64))
        with pytest.raises(ValueError, match="folds do not match"):
            sample.text("text", model.settings.text).scores(model.settings.naive_bayes, bad, 1, 1)
