"""A model that decides otherwise than by the most probable label: chosen, used, saved; and selected terms, chosen priors."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from typer.testing import CliRunner

from discern.analysis.crossvalidation import choose_decision, cross_validate
from discern.classifier import Classifier, load
from discern.cli.main import app
from discern.evaluation.decisions import Decision, LeastCost, MostRecall
from discern.models.file import ModelFileError


def texts(rows: int, seed: int = 0, share: float = 0.3) -> list[dict[str, str]]:
    """Draw messages of two kinds that overlap."""
    random = np.random.default_rng(seed)
    kinds = random.random(rows) < share
    own = {False: [f"ham{i}" for i in range(30)], True: [f"spam{i}" for i in range(30)]}
    common = [f"word{i}" for i in range(40)]
    return [
        {
            "label": "spam" if kind else "ham",
            "text": " ".join(
                [*random.choice(own[bool(kind)], 2), *random.choice(own[not kind], 1), *random.choice(common, 5)]
            ),
        }
        for kind in kinds
    ]


@pytest.fixture
def model() -> Classifier:
    return Classifier().fit(texts(600))


def test_a_threshold_is_used_everywhere_and_saved(model: Classifier, tmp_path: Path) -> None:
    rows = texts(200, seed=1)
    shares = model.predict_proba(rows)[:, 1]
    before = model.predict(rows)
    model.decide_by(Decision.at(0.9, "spam"))
    expected = np.where(shares >= 0.9, "spam", "ham")
    assert (expected != before).any()
    model.save(tmp_path / "m.discern")
    for one in (model, load(tmp_path / "m.discern")):
        assert one.predict(rows).tolist() == expected.tolist()
        assert [one.predict_one(row["text"]) for row in rows] == expected.tolist()
        judged = one.evaluate(rows)
        assert judged.accuracy == np.mean(expected == [row["label"] for row in rows])
    assert model.decide_by(None).predict(rows).tolist() == before.tolist()


def test_unsure_is_an_answer(model: Classifier) -> None:
    rows = texts(200, seed=1)
    model.decide_by(Decision.argmax(unsure=0.2))
    shares = model.predict_proba(rows).max(axis=1)
    assert ((model.predict(rows) == "unsure") == (1 - shares > 0.2)).all()


def test_learning_and_merging_keep_the_decision(model: Classifier) -> None:
    model.decide_by(Decision.at(0.9, "spam"))
    other = Classifier.of(model.settings, model.fitted.decided_by(None)).learn(texts(300, seed=5))
    with pytest.raises(ValueError, match="different decision"):
        model.merge(other)
    more = texts(50, seed=2)
    assert model.learn(more).decision == model.decision
    model.forget(more)
    other.decide_by(model.decision)
    assert model.merge(other).decision == model.decision


def test_labels_that_the_model_does_not_know_are_refused(model: Classifier) -> None:
    with pytest.raises(ValueError, match="unknown label 'junk'"):
        model.decide_by(Decision.at(0.5, "junk"))
    with pytest.raises(ValueError, match="no label 'good'"):
        model.decide_by(Decision.of_costs([[0, 1], [1, 0]], ["good", "bad"]))
    assert model.decision is None


def test_a_threshold_is_chosen_on_rows_not_seen(model: Classifier) -> None:
    rows = texts(600)
    chosen = choose_decision(model, rows, "spam", MostRecall(false_positive_rate=0.02))
    judged = cross_validate(model, rows)
    spam = np.array([row["label"] == "spam" for row in rows])
    called = judged.probabilities[:, 1] >= chosen.threshold
    assert chosen.false_positive_rate == called[~spam].mean() <= 0.02
    assert chosen.recall == called[spam].mean()
    fresh = texts(400, seed=9)
    held_out = choose_decision(model, fresh, "spam", LeastCost(5, 1), held_out=True)
    shares, fresh_spam = model.predict_proba(fresh)[:, 1], np.array([row["label"] == "spam" for row in fresh])
    costs = [
        5 * ((shares >= one) & ~fresh_spam).sum() + ((shares < one) & fresh_spam).sum() for one in (*shares, 0.0, 1.1)
    ]
    at = 5 * ((shares >= held_out.threshold) & ~fresh_spam).sum() + ((shares < held_out.threshold) & fresh_spam).sum()
    assert at == min(costs)


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(one) for one in arguments])
    assert result.exit_code == 0, result.stderr
    return result.stdout


@pytest.fixture
def files(model: Classifier, tmp_path: Path) -> tuple[Path, Path]:
    data = tmp_path / "rows.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in texts(600)))
    model.save(tmp_path / "m.discern")
    return tmp_path / "m.discern", data


def test_the_command_chooses_and_predict_uses_it(files: tuple[Path, Path]) -> None:
    place, data = files
    found = json.loads(run("decide", place, data, "--positive", "spam", "--max-false-positive-rate", 0.02, "--json"))
    assert found["false_positive_rate"] <= 0.02
    assert found["interval"][0] <= found["threshold"] <= found["interval"][1] + 1e-9
    assert load(place).decision == Decision.at(found["threshold"], "spam")
    lines = [json.loads(line) for line in run("predict", place, data, "--json", "--proba").splitlines()]
    for line in lines:
        spam = line["probabilities"]["spam"]
        assert line["label"] == ("spam" if spam >= found["threshold"] else "ham")
        assert line["probability"] == line["probabilities"][line["label"]]
    run("decide", place, "--clear")
    assert load(place).decision is None


def test_the_command_takes_costs_and_shares(files: tuple[Path, Path]) -> None:
    place, _ = files
    run("decide", place, "--cost", "ham:spam=9", "--cost", "unsure=0.4", "--share", "spam=0.05", "--share", "ham=0.95")
    decision = load(place).decision
    assert decision is not None
    assert decision.costs == ((0.0, 9.0), (1.0, 0.0))
    assert decision.unsure == 0.4
    priors = load(place).info()["priors"]
    assert decision.weights == pytest.approx((0.95 / priors["ham"], 0.05 / priors["spam"]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "pass one of --threshold"),
        (["--threshold", 0.5, "--clear"], "pass one of --threshold"),
        (["--max-false-positive-rate", 0.1], "--max-false-positive-rate needs labeled DATA to choose the threshold."),
        (["--share", "spam=2"], "pass a share for each of ham, spam"),
        (["--share", "spam"], "is not a share such as spam=0.1"),
        (["--threshold", 0.5, "--positive", "junk"], "unknown label 'junk'"),
    ],
)
def test_wrong_usage_is_a_sentence(files: tuple[Path, Path], options: list[object], message: str) -> None:
    result = CliRunner().invoke(app, ["decide", str(files[0]), *map(str, options)])
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.replace("│", " ").split())


def test_a_file_with_a_bad_decision_is_refused(model: Classifier, tmp_path: Path) -> None:
    import discern.models.file

    arrays, metadata = model.fitted.content()
    for bad in ({"threshold": -1, "positive": "spam"}, {"threshold": 0.5, "positive": "x"}, {"what": 1}, 5):
        discern.models.file.save(
            tmp_path / "bad.discern", arrays, {**metadata, "fitted": {**metadata["fitted"], "decision": bad}}
        )
        with pytest.raises(ModelFileError, match="damaged"):
            load(tmp_path / "bad.discern")


# --------------------------------------------------------------------------------------------- selected terms


@pytest.mark.parametrize("most", [1, 10, 50, 1000])
def test_selected_terms_equal_a_pipeline_of_scikit_learn(most: int) -> None:
    rows, fresh = texts(300), texts(100, seed=3)
    ours = Classifier(smoothing=1.0, max_terms=most).fit(rows)
    best = SelectKBest(chi2, k=min(most, 100))
    pipeline = make_pipeline(CountVectorizer(), best, MultinomialNB())
    pipeline.fit([row["text"] for row in rows], [row["label"] for row in rows])
    expected = pipeline.predict_log_proba([row["text"] for row in fresh])
    assert np.log(ours.predict_proba(fresh)) == pytest.approx(expected, abs=1e-10)
    assert ours.info()["terms"] == min(most, 100)


def test_a_selection_learns_forgets_and_is_saved(tmp_path: Path) -> None:
    rows, more = texts(300), texts(60, seed=4)
    whole = Classifier(smoothing=1.0, max_terms=20).fit([*rows, *more])
    grown = Classifier(smoothing=1.0, max_terms=20).fit(rows).learn(more)
    assert grown.checksum() == whole.checksum()
    assert grown.forget(more) == Classifier(smoothing=1.0, max_terms=20).fit(rows).checksum()
    for slim in (False, True):
        whole.save(tmp_path / "m.discern", slim=slim)
        loaded = load(tmp_path / "m.discern")
        assert loaded.info()["terms"] == 20
        assert loaded.predict_proba(more).tolist() == whole.predict_proba(more).tolist()


def test_the_number_of_terms_and_the_priors_are_chosen() -> None:
    random = np.random.default_rng(0)
    noise = [f"noise{i}" for i in range(3000)]
    rows = [
        {"label": "ab"[i % 2], "text": " ".join([f"{'ab'[i % 2]}{random.integers(5)}", *random.choice(noise, 20)])}
        for i in range(600)
    ]
    model = Classifier(max_terms="auto", priors="auto", ngrams=(1, 1)).fit(rows)
    assert model.resolved.chosen is not None
    assert model.resolved.chosen["max_terms"] == 1000
    assert model.resolved.chosen["priors"] in ("data", "uniform")
    few = Classifier(max_terms="auto", smoothing=1.0).fit(rows[:50])  # too few to choose by: all
    assert few.resolved.chosen is None
    assert few.info()["terms"] > 700


def test_uniform_priors_are_chosen_where_they_are_better() -> None:
    # In the training rows labels are far from even, but which label a row has is plain from its words alone; rare
    # labels suffer from the prior of the common one where words are few.
    random = np.random.default_rng(1)
    rows = [
        {"label": label, "text": " ".join(random.choice([f"{label}{j}" for j in range(200)], 3))}
        for label, count in (("a", 40), ("b", 400))
        for _ in range(count)
    ]
    model = Classifier(priors="auto", smoothing=1.0).fit(rows)
    assert model.resolved.chosen is not None
    losses = {
        prior: cross_validate(Classifier(priors=prior, smoothing=1.0, calibrate=True), rows, "leave-one-out").log_loss
        for prior in ("data", "uniform")
    }
    assert losses[model.resolved.chosen["priors"]] <= 1.02 * min(losses.values())


# ----------------------------------------------------------------------------------------------------- exchange


@pytest.mark.parametrize("min_df", [1, 2, 3])
def test_rows_move_to_another_label_in_one_step(tmp_path: Path, min_df: int) -> None:
    rows, wrong = texts(60), {"label": "ham", "text": "hapax legomenon prize prize"}
    right = {**wrong, "label": "spam"}
    settings = {"smoothing": 1.0, "min_df": min_df}
    Classifier(**settings).fit([*rows, wrong]).save(tmp_path / "m.discern")
    model = load(tmp_path / "m.discern")  # rare terms are not in the file
    assert model.relabel([wrong], [right]) == 1
    assert model.checksum() == Classifier(**settings).fit([*rows, right]).checksum()


def test_an_exchange_leaves_nothing_half_done() -> None:
    rows = texts(60)
    model = Classifier(smoothing=1.0).fit(rows)
    before = model.checksum()
    with pytest.raises(ValueError, match="cannot forget"):
        model.relabel([{"label": "ham", "text": "never seen"}], rows[:5])
    assert model.checksum() == before
    model.relabel(rows, [{"label": "new", "text": "all others gone"}])
    assert (model.labels, model.rows) == (("new",), 1)
    with pytest.raises(ValueError, match="cannot forget all rows"):
        model.relabel([{"label": "new", "text": "all others gone"}], iter(()))


LABELED = [{"label": "a", "text": "x1 x2"}, {"label": "bbb", "text": "y1 y2"}]


def test_a_renamed_label_keeps_its_prior() -> None:
    model = Classifier(smoothing=1.0, priors={"a": 0.5, "bbb": 0.2, "ccc": 0.3}).fit(LABELED)
    model.rename_labels(["a", "ccc"])
    assert model.resolved.naive_bayes.priors == (("a", 0.5), ("ccc", 0.2))


def test_a_renamed_label_of_a_slim_model_is_in_no_byte(tmp_path: Path) -> None:
    path = tmp_path / "m.discern"
    Classifier(smoothing=1.0, priors={"a": 0.5, "bbb": 0.5}).fit(LABELED).save(path, slim=True)
    model = load(path)
    model.rename_labels(["a", "ccc"])
    model.save(path, slim=True)
    assert b"bbb" not in path.read_bytes()
    assert load(path).info()["labels_by_default"] == []


def test_a_calibrated_model_with_one_label_left() -> None:
    rows = texts(200)
    model = Classifier(calibrate=True, smoothing=1.0).fit(rows)
    assert model.resolved.calibration is not None
    model.forget([row for row in rows if row["label"] == "ham"])
    assert model.predict_proba(["spam1 word1"]).tolist() == [[1.0]]
    assert model.decide_by(Decision.argmax(0.5)).predict(["spam1"]).tolist() == ["spam"]


def test_notebooks_show_a_classifier(model: Classifier) -> None:
    assert "not fitted" in Classifier()._repr_html_()
    shown = (
        Classifier(smoothing=1.0).fit([{"label": "a<b", "text": "x1 x2"}, {"label": "c", "text": "y1"}])._repr_html_()
    )
    assert "a&lt;b" in shown
    assert "a<b" not in shown
    assert model.weights("spam", 1)[0][0] in model._repr_html_()


def test_a_number_is_not_a_decision() -> None:
    model = Classifier(smoothing=1.0).fit([{"label": "a", "text": "x1"}, {"label": "b", "text": "y1"}])
    with pytest.raises(TypeError, match=r"pass a Decision, such as Decision\.at\(0\.9, 'spam'\), or None, not 0\.5"):
        model.decide_by(0.5)  # type: ignore[arg-type]
    assert model.decision is None
