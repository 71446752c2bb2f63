"""Categories with many levels in a vector space: rare ones share an axis, or means of labels take their place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import discern.models.columns.level as level
import discern.models.file as files
from discern import Classifier, load
from discern.cli.main import app
from discern.models.columns.means import MeanAxes
from discern.models.file import ModelFileError

MEANS = ("logistic", "linear-svm", "svm", "knn")


def towns(rows: int, seed: int = 0, levels: int = 400, effect: float = 2.0) -> list[dict[str, Any]]:
    """Return rows whose label depends on their town, of which a few have most rows, and on a number."""
    source, effects = np.random.default_rng(seed), np.random.default_rng(99).normal(size=levels)
    places = np.minimum(source.zipf(1.3, size=rows) - 1, 10**9) % levels
    numbers = source.normal(size=rows)
    chance = 1 / (1 + np.exp(-(effect * effects[places] + numbers)))
    labels = source.random(rows) < chance
    return [
        {"label": "yes" if one else "no", "town": f"t{place}", "x": float(number)}
        for one, place, number in zip(labels, places, numbers, strict=True)
    ]


def log_loss(model: Classifier, rows: list[dict[str, Any]]) -> float:
    shares = model.predict_proba(rows)
    places = [list(model.labels).index(row["label"]) for row in rows]
    return float(-np.log(shares[np.arange(len(rows)), places]).mean())


def accuracy(model: Classifier, rows: list[dict[str, Any]]) -> float:
    return float(np.mean(model.predict(rows) == [row["label"] for row in rows]))


def axes_of(model: Classifier) -> Any:
    return next(axes for axes in model.fitted.model.space.axes if axes.feature.name == "town")  # type: ignore[union-attr]


def test_rare_levels_share_an_axis() -> None:
    rows = towns(800)
    model = Classifier(model="logistic").fit(rows)
    axes, held = axes_of(model), [row["town"] for row in rows]
    assert axes.has_rare
    assert set(axes.levels) == {town for town in held if held.count(town) >= level.RARE}
    rare = next(town for town in held if held.count(town) < level.RARE)
    assert f"{rare} (rare)" in [term.term for term in model.explain({"town": rare, "x": 0.5}).terms]
    # A town that nobody has seen is as a rare one, and a missing one is nothing.
    assert np.array_equal(*(model.predict_proba([{"town": town, "x": 0.5}]) for town in (rare, "new")))
    assert len(model.explain({"town": None, "x": 0.5}).terms) == 1


def test_few_levels_have_an_axis_each() -> None:
    rows = towns(300, levels=20)
    axes = axes_of(Classifier(model="logistic").fit(rows))
    assert not axes.has_rare
    assert len(axes) == len({row["town"] for row in rows})


@pytest.mark.parametrize("model", ["lda", "ridge", "logistic"])
def test_a_space_with_rare_levels_is_saved(model: str, tmp_path: Path) -> None:
    made = Classifier(model=model).fit(towns(800))
    made.save(tmp_path / "m.discern")
    loaded = load(tmp_path / "m.discern")
    assert np.array_equal(loaded.predict_proba(towns(50, seed=1)), made.predict_proba(towns(50, seed=1)))


def test_a_sum_learns_and_forgets_in_a_space_with_rare_levels() -> None:
    first, later = towns(800), towns(200, seed=3)
    model = Classifier(model="lda").fit(first)
    before = model.predict_proba(later)
    model.learn(later)
    assert not np.array_equal(model.predict_proba(later), before)
    model.forget(later)
    assert np.array_equal(model.predict_proba(later), before)


def test_means_leave_out_the_own_row() -> None:
    rows = [{"label": "a", "town": "t"}, {"label": "b", "town": "t"}, {"label": "a", "town": "u"}] * 40
    rows += [{"label": "b", "town": "alone"}]
    fitted = Classifier(model="logistic", levels="means", category="town").fit(rows).fitted
    space: Any = fitted.model.space  # type: ignore[union-attr]
    [axes] = space.axes
    assert isinstance(axes, MeanAxes)
    assert len(axes) == 1
    t, u, alone = (axes.means[axes.levels.index(town), 0] for town in ("t", "u", "alone"))
    assert t > alone > 0 > u  # what one row says is drawn towards zero
    kept = level.LevelRows(
        np.array([0, 0, 1, -1]), ("t", "alone"), np.array([0, 1, 1, 1], np.int32), ("a", "b")
    )  # fmt: skip
    one = MeanAxes.of(axes.feature, kept, None, None, fitted.resolved.pipeline.layout)  # type: ignore[union-attr]
    learned, asked = (part.toarray()[:, 0] for part in (one.of_learned_rows(kept, None), one.of_rows(kept, None)))
    assert learned[0] > asked[0] > learned[1]  # the other row of the town is "b", and then "a"
    assert learned[2] == pytest.approx(0.0)  # without itself, nothing is known of the level
    assert learned[3] == asked[3] == 0


@pytest.mark.parametrize("model", MEANS)
def test_means_are_learned_saved_and_explained(model: str, tmp_path: Path) -> None:
    made = Classifier(model=model, levels="means").fit(towns(1500))
    asked = towns(1000, seed=5)
    assert accuracy(made, asked) > 0.62
    made.save(tmp_path / "m.discern")
    loaded = load(tmp_path / "m.discern")
    assert loaded.settings.levels == "means"
    assert np.array_equal(loaded.predict_proba(asked), made.predict_proba(asked))
    found = loaded.explain(asked[0])
    odds = np.log(found.probabilities[found.label] / found.probabilities[found.against])
    assert found.prior + found.absent + sum(term.weight for term in found.terms) == pytest.approx(odds)
    if model != "knn":
        assert asked[0]["town"] in [term.term for term in found.terms]


def test_means_take_one_axis_for_two_labels_and_one_each_for_more() -> None:
    rows = towns(600)
    assert len(axes_of(Classifier(model="logistic", levels="means").fit(rows))) == 1
    three = [{**row, "label": row["label"] if place % 3 else "perhaps"} for place, row in enumerate(rows)]
    model = Classifier(model="logistic", levels="means").fit(three)
    assert len(axes_of(model)) == 3
    assert len({term.term for term in model.explain(three[0]).terms if term.column == "town"}) == 1


def test_means_of_many_levels_beat_an_axis_each() -> None:
    rows, asked = towns(1500, levels=900), towns(3000, seed=7, levels=900)
    losses = [log_loss(Classifier(model="logistic", levels=one).fit(rows), asked) for one in ("one-hot", "means")]
    assert losses[1] < losses[0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": "lda"}, "not for 'lda', which is a sum over rows; use levels='one-hot'"),
        ({"model": "naive-bayes"}, "not for 'naive-bayes', which is a sum over rows"),
        ({"model": "nbsvm"}, "not for 'nbsvm', which takes levels as ones and zeros"),
    ],
)
def test_models_that_cannot_take_means_refuse_them(settings: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Classifier(levels="means", **settings)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="levels must be one of one-hot, means, not 'mean'"):
        Classifier(model="logistic", levels="mean")


def test_means_of_several_labels_a_row_are_refused() -> None:
    rows = [{"label": ["a", "b"][: 1 + i % 2], "town": f"t{i % 9}"} for i in range(60)]
    with pytest.raises(ValueError, match="levels='means' needs one label a row"):
        Classifier(model="logistic", levels="means").fit(rows)


def test_the_search_takes_means_where_it_can() -> None:
    model = Classifier(model="best", levels="means", budget=3).fit(towns(500))
    assert accuracy(model, towns(500, seed=2)) > 0.65


def test_means_that_do_not_fit_together_are_refused(tmp_path: Path) -> None:
    Classifier(model="logistic", levels="means").fit(towns(300)).save(tmp_path / "m.discern")
    arrays, metadata = files.load(tmp_path / "m.discern")
    [key] = [name for name in arrays if name.endswith(".means")]
    spoiled = {**arrays, key: np.ascontiguousarray(arrays[key][:-1])}
    content, _ = files.encode(spoiled, {name: value for name, value in metadata.items() if name != "checksum"})
    (tmp_path / "bad.discern").write_bytes(content)
    with pytest.raises(ModelFileError):
        load(tmp_path / "bad.discern")


def test_the_command_line_takes_means(tmp_path: Path) -> None:
    data, path = tmp_path / "towns.csv", tmp_path / "m.discern"
    lines = [f"{row['label']},{row['town']},{row['x']}" for row in towns(300)]
    data.write_text("\n".join(["label,town,x", *lines]), "utf-8")
    made = CliRunner().invoke(app, ["fit", str(data), "-o", str(path), "--model", "logistic", "--levels", "means"])
    assert made.exit_code == 0, made.output
    assert load(path).settings.levels == "means"
