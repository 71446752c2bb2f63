"""The contest of models: other deals of the folds, relatives of the winner, and sums of what was judged."""

import random
import time

import numpy as np
import pytest

from discern.classifier import Classifier
from discern.columns import Feature
from discern.contest import TUNED, Contest, Entry, Standing, folds_of, standing_of
from discern.data import batches
from discern.samples import Sample

TOPICS = {"sport": ["match", "goal", "team", "coach"], "space": ["orbit", "rocket", "moon", "launch"]}
COMMON = ["the", "and", "of", "today", "said", "new", "more", "people"]


def rows(count: int, seed: int = 0) -> list[dict[str, str]]:
    """Give texts, a third of whose words belong to a topic; some of it to the other one."""
    chance, found = random.Random(seed), []
    for _ in range(count):
        label = chance.choice(list(TOPICS))
        topic = TOPICS[label if chance.random() < 0.8 else chance.choice(list(TOPICS))]
        words = [chance.choice(topic if chance.random() < 0.3 else COMMON) for _ in range(8)]
        found.append({"label": label, "text": " ".join(words)})
    return found


def sampled(given: list[dict[str, str]]) -> Sample:
    return Sample.of(list(batches(given)), "label", ["text"], 1)


def dealt(sample: Sample, deal: int) -> list[set[int]]:
    return [set(fold.tolist()) for fold in folds_of(sample, deal)]


def test_another_deal_is_another_and_keeps_equal_rows_together() -> None:
    given = rows(200)
    sample = sampled([*given, *given])
    assert dealt(sample, 1) == dealt(sample, 1)
    assert dealt(sample, 0) != dealt(sample, 1) != dealt(sample, 2)
    for deal in range(3):
        folds = dealt(sample, deal)
        assert set.union(*folds) == set(range(400))
        assert all(
            (row < 200 and row + 200 in fold) or (row >= 200 and row - 200 in fold) for fold in folds for row in fold
        )


def standing(scores: list[list[float]], deals: int = 1) -> Standing:
    return standing_of(
        Entry("linear-svm", "words"), 4, 1.0, np.array(scores), np.array([0, 1, 0, 1], np.int32), deals=deals
    )


def test_a_standing_of_two_deals_is_of_all_their_rows() -> None:
    first = standing([[2.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.5]])
    second = standing([[0.0, 3.0], [0.0, 1.0], [1.0, 0.0], [0.0, 0.5]])
    both = first.and_again(second)
    assert (both.deals, both.rows, len(both.classes)) == (2, 4, 8)
    assert both.accuracy == pytest.approx((first.accuracy + second.accuracy) / 2)
    # The scores are those of both deals by one temperature.
    raw = both.scores * both.calibration.temperature
    np.testing.assert_allclose(raw[:4], first.scores * first.calibration.temperature)
    np.testing.assert_allclose(raw[4:], second.scores * second.calibration.temperature)
    # Judged more often comes first, whatever its luck.
    assert both.rank < first.rank


def contest_of(count: int, seconds: float) -> list[Standing]:
    sample, features = sampled(rows(count)), [Feature("text", "text")]
    request = Classifier(model="best").request
    return Contest(
        sample,
        features,
        request.entries(features),
        lambda part: request.choose(part, features),
        time.monotonic() + seconds,
        changes=request.changes(features),
    ).run()


def test_relatives_of_the_winner_are_judged_on_its_terms_and_the_best_twice() -> None:
    standings = contest_of(500, 600.0)
    twice = [one for one in standings if one.deals == 2]
    assert 2 <= len(twice) <= 9
    assert standings[0].deals == 2
    models = {}
    for one in standings:
        if one.entry.recipe is not None:
            models.setdefault(one.entry.recipe.plan.text, set()).add(one.entry.model)
    assert set(TUNED) in models.values()  # some terms were given to all linear models
    recipes = [one.entry.recipe for one in standings if one.entry.recipe is not None]
    assert len(recipes) == len(set(recipes))  # none twice


def test_without_time_nothing_is_judged_again() -> None:
    standings = contest_of(500, 1e-3)
    assert {one.deals for one in standings} == {1}
    assert standings[0].status == "won"
