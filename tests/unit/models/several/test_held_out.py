"""Held-out rows of several labels: scored by counts without their fold, as the model of the other rows scores them."""

import numpy as np
import pytest

from discern import Classifier
from discern.data.label_sets.sets import Membership
from discern.data.readers import batches
from discern.data.roles import Feature
from discern.data.text import TextSettings
from discern.evaluation.scaling import EvidenceScaling
from discern.evaluation.several.evidence import Pairs, started
from discern.learners.bayes import NaiveBayesSettings
from discern.learners.smoothing import Dirichlet, JelinekMercer, Laplace
from discern.models.columns.kind import ColumnSettings
from discern.models.several import held_out as module
from discern.models.several.choosing import folds_of, lowest
from discern.models.several.held_out import Rows, held_out
from discern.models.validation.rows import Sample

LABELS = ["corn", "oil", "tea", "rare"]
TEXT = Feature("text", "text")


def rows_of(count, seed=0):
    random = np.random.default_rng(seed)
    for _ in range(count):
        chosen = [label for label, share in zip(LABELS, (0.9, 0.3, 0.2, 0.02), strict=True) if random.random() < share]
        words = [f"{label}{random.integers(4)}" for label in chosen] + [f"word{random.integers(200)}" for _ in range(5)]
        yield {"label": "\x1f".join(chosen) or "\x1f", "text": " ".join(words)}


def sample_of(count):
    return Sample.of([*batches([*rows_of(count)])], "label", ["text"], 1)


@pytest.mark.parametrize("smoothing", [Laplace(0.3), JelinekMercer(0.4), Dirichlet(50.0)])
@pytest.mark.parametrize(("event", "min_df"), [("multinomial", 1), ("binary", 1), ("multinomial", 3)])
def test_texts_are_scored_as_by_the_model_of_all_rows_but_the_fold(smoothing, event, min_df):
    sample = sample_of(150)
    rows = Rows(sample, Membership.of(sample.labels), folds_of(sample, 4, 1000))
    settings = NaiveBayesSettings(event=event, smoothing=smoothing)
    found = held_out(rows, [TEXT], settings, TextSettings(), min_df)
    column = sample.column(TEXT, TextSettings())
    expected, _ = module._solved_again(rows, TEXT, ColumnSettings(settings, TextSettings(), min_df), column)
    [(scores, lengths)] = found.columns
    np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-9)
    assert len(scores) == 150
    assert lengths.max() > 0


def test_only_some_folds_are_held_out_where_rows_or_labels_are_many():
    sample = sample_of(900)
    few, many = folds_of(sample, 4, 100), folds_of(sample, 4, 400)
    assert 80 < len(few.order) < 120
    assert 350 < len(many.order) < 450
    assert len(folds_of(sample, 10_000_000, 400).order) < 40


def test_what_was_scored_is_remembered_for_the_same_folds_only():
    sample = sample_of(200)
    members = Membership.of(sample.labels)
    few = Rows(sample, members, folds_of(sample, 4, 50))
    many = Rows(sample, members, folds_of(sample, 4, 200), few.last)
    settings = NaiveBayesSettings(smoothing=Laplace(0.1))
    first, second = (held_out(rows, [TEXT], settings, TextSettings()).columns[0][0] for rows in (few, many))
    assert len(first) < len(second) == 200
    again = held_out(few, [TEXT], NaiveBayesSettings(smoothing=Laplace(0.1), priors="uniform"), TextSettings())
    assert again.columns[0][0] is first


def test_a_calibration_of_pairs_is_that_of_two_classes():
    random = np.random.default_rng(0)
    sizes, lengths = random.integers(0, 4, 300), random.integers(1, 40, (2, 300))
    pairs = int(sizes.sum())
    prior, one, two = random.normal(-1, 1, pairs), random.normal(0, 8, pairs), random.normal(0, 3, pairs)
    true = random.random(pairs) < 1 / (1 + np.exp(-(prior + 0.3 * one + 0.5 * two)))
    found, parameters = Pairs.of(sizes, [prior, one, two], lengths, true).fitted()
    both = [np.stack([np.zeros(pairs), part], axis=1) for part in (prior, one, two)]
    of_pairs = [np.repeat(own, sizes) for own in lengths]
    expected = EvidenceScaling.fit(both[0], both[1:], of_pairs, true.astype(np.int64))
    for own, other in zip(found.scales, expected.scales, strict=True):
        assert own.temperature == pytest.approx(other.temperature, rel=1e-3)
        assert own.power == pytest.approx(other.power, abs=1e-3)
        assert own.fading == pytest.approx(other.fading, rel=1e-2, abs=1e-4)
    again, _ = Pairs.of(sizes, [prior, one, two], lengths, true).fitted(parameters)
    assert again.scales[0].temperature == pytest.approx(found.scales[0].temperature, rel=1e-3)
    assert len(started(parameters, 3)) == 9
    assert started(parameters, 1) is started(None, 1) is None


@pytest.mark.parametrize("best", range(6))
def test_the_lowest_of_choices_that_fall_and_rise(best):
    assert lowest(range(6), lambda choice: abs(choice - best)) == best
    assert lowest([7], lambda choice: 0.0) == 7


def test_thousands_of_labels_stay_sparse():
    random = np.random.default_rng(0)
    rows = [
        {"label": [f"l{one}" for one in own], "text": " ".join(f"w{one} v{one % 700}" for one in own)}
        for own in random.integers(0, 3000, (6000, 2))
    ]
    model = Classifier().fit(rows)
    assert len(model.labels) > 2900
    [column] = [one for one in model.solved.columns if one.feature.role == "text"]
    assert column.scores.weights is None
    assert column.scores.excess.nnz < 100_000
    assert model.evaluate(rows[:500]).f1() > 0.9


def test_a_linear_svm_of_labels_that_converge_slowly_is_that_of_each_label_alone():
    """Labels are solved together; those that have not converged by then are solved one by one."""
    from discern.learners.margins import MarginSettings, fit_margins

    random = np.random.default_rng(0)
    table = random.normal(size=(80, 90))
    sets = random.random((12, 80)) < 0.3
    for cost in (0.01, 100.0):
        settings = MarginSettings(cost=cost, solver="dual", tolerance=1e-4)
        found = fit_margins(table, np.arange(80, dtype=np.int32), 80, settings, members=sets)
        assert found.certificate.converged
        for place, own in enumerate(sets):
            one = fit_margins(table, own.astype(np.int32), 2, settings)
            assert found.certificate.primal[place] == pytest.approx(one.certificate.primal[0], rel=3e-4)
            assert np.abs(found.coef[place] - one.coef[0]).max() < 0.05 * np.abs(one.coef).max()
