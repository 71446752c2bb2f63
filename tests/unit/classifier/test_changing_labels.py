"""Costs, thresholds, shares and priors are set for labels; labels come and go."""

import os
import threading
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from discern.analysis.drift import Window
from discern.classifier import Classifier, load
from discern.cli.main import app
from discern.data.strings import DataError
from discern.evaluation.decisions import Decision
from discern.models.file import ModelFileError

HAM = {"label": "ham", "text": "lunch at noon"}
SPAM = {"label": "spam", "text": "win money"}
MORE_SPAM = {"label": "spam", "text": "free prize"}
NEWS = {"label": "news", "text": "vote today"}
ROWS = [HAM, SPAM, MORE_SPAM]

COSTS = Decision.of_costs([[0, 5], [1, 0]], ["ham", "spam"])
SHARES = Decision.argmax().with_priors({"ham": 1 / 3, "spam": 2 / 3}, {"ham": 0.9, "spam": 0.1})
UNSURE = Decision.of_costs([[0, 5], [1, 0]], ["ham", "spam"], unsure=0.3)
THRESHOLD = Decision.at(0.9, "spam")


def fitted(decision: Decision | None = None, **settings: object) -> Classifier:
    return Classifier(smoothing=1.0, **settings).fit(ROWS).decide_by(decision)


@pytest.mark.parametrize("decision", [COSTS, SHARES, UNSURE, THRESHOLD])
def test_a_new_label_has_defaults_and_can_be_forgotten(tmp_path: Path, decision: Decision) -> None:
    model = fitted(decision)
    before = model.checksum()
    model.learn([NEWS])
    model.save(tmp_path / "m.discern")
    loaded = load(tmp_path / "m.discern")
    assert loaded.predict(["vote today vote today"]).tolist() == ["news"]
    assert loaded.info()["labels_by_default"] == ([] if decision is THRESHOLD else ["news"])
    assert loaded.forget([NEWS]) == before


def test_a_label_that_costs_do_not_name_costs_one() -> None:
    shares = np.array([[0.2, 0.45, 0.35]])
    named = Decision.of_costs([[0, 1, 5], [1, 0, 1], [1, 1, 0]], ["ham", "news", "spam"])
    labels = ["ham", "news", "spam"]
    assert COSTS.expected_costs(shares, labels) == pytest.approx(named.expected_costs(shares, labels))
    assert COSTS(shares, labels).tolist() == named(shares, labels).tolist()


@pytest.mark.parametrize("decision", [COSTS, SHARES])
def test_a_label_that_is_forgotten_is_in_no_byte(tmp_path: Path, decision: Decision) -> None:
    path = tmp_path / "m.discern"
    model = fitted(decision).learn([NEWS])
    model.forget([SPAM, MORE_SPAM])
    model.save(path)
    assert b"spam" not in path.read_bytes()
    kept = load(path).decision
    assert kept is not None
    assert kept.labels == ("ham",)
    model.forget([HAM])
    assert model.decision is None


def test_a_threshold_keeps_its_label() -> None:
    model = fitted(THRESHOLD)
    before = model.checksum()
    for change in (
        lambda: model.forget([SPAM, MORE_SPAM]),
        lambda: model.relabel([SPAM, MORE_SPAM], [{**SPAM, "label": "junk"}, {**MORE_SPAM, "label": "junk"}]),
    ):
        with pytest.raises(DataError, match=r"threshold for the label 'spam'.*nothing was changed"):
            change()
        assert model.checksum() == before


def test_the_word_for_unsure_is_no_label() -> None:
    model = fitted(UNSURE)
    before = model.checksum()
    with pytest.raises(DataError, match=r"'unsure' when it is unsure.*nothing was changed"):
        model.learn([{"label": "unsure", "text": "hm"}])
    assert model.checksum() == before


def test_priors_that_were_given() -> None:
    model = fitted(priors={"ham": 0.25, "spam": 0.75}).learn([NEWS])
    assert model.info()["priors"] == pytest.approx({"ham": 0.1875, "news": 0.25, "spam": 0.5625})
    with pytest.warns(UserWarning, match="no prior for the label 'news'"):
        at_once = Classifier(smoothing=1.0, priors={"ham": 0.25, "spam": 0.75}).fit([*ROWS, NEWS])
    assert model.checksum() == at_once.checksum()
    model.forget([SPAM, MORE_SPAM])
    assert model.info()["priors"] == pytest.approx({"ham": 0.5, "news": 0.5})
    assert dict(model.resolved.naive_bayes.priors) == {"ham": 0.25}


def test_a_prior_of_a_label_that_comes_later() -> None:
    given = {"ham": 0.25, "spam": 0.25, "news": 0.5}
    later = fitted(priors=given).learn([NEWS])
    assert later.checksum() == Classifier(smoothing=1.0, priors=given).fit([*ROWS, NEWS]).checksum()
    assert later.info()["priors"] == pytest.approx(given)


def test_slim_files_of_given_priors(tmp_path: Path) -> None:
    model = fitted(priors={"ham": 0.25, "spam": 0.75})
    model.forget([HAM])
    model.save(tmp_path / "m.discern", slim=True)
    assert load(tmp_path / "m.discern").info()["priors"] == pytest.approx({"spam": 1.0})


def test_labels_are_renamed_with_what_is_set_for_them() -> None:
    model = fitted(COSTS, priors={"ham": 0.25, "spam": 0.75})
    model.rename_labels(["good", "worse"])
    assert model.decision is not None
    assert model.decision.labels == ("good", "worse")
    assert model.info()["priors"] == pytest.approx({"good": 0.25, "worse": 0.75})
    assert model.predict(["win money"]).tolist() == ["worse"]


def test_labels_mean_the_same_wherever_they_are_given() -> None:
    rows = [{"label": True, "text": "win"}, {"label": False, "text": "lunch"}]
    model = Classifier(smoothing=1.0, priors={True: 0.25, False: 0.75}).fit(rows)
    assert model.info()["priors"] == pytest.approx({"false": 0.75, "true": 0.25})
    assert model.decide_by(Decision.at(0.2, True)).predict(["lunch win"]).tolist() == ["true"]
    assert model.weights(True, 1)[0][0] == "win"  # type: ignore[arg-type]


# --------------------------------------------------------------------------------------------------- rare words


def test_learning_later_equals_training_at_once_with_rare_words(tmp_path: Path) -> None:
    rows = [{"label": "a", "text": "erika"}, {"label": "b", "text": "other"}]
    path = tmp_path / "m.discern"
    Classifier(min_df=2, smoothing=1.0).fit(rows).save(path)
    model = load(path)
    model.learn([rows[0], rows[0]])
    model.save(path)
    model = load(path)
    at_once = Classifier(min_df=2, smoothing=1.0).fit([*rows, rows[0], rows[0]])
    assert model.checksum() == at_once.checksum()
    model.learn([rows[1]])
    model.forget([rows[0]] * 3)
    assert model.labels == ("b",)
    model.save(path)
    assert b"erika" not in path.read_bytes()


# ------------------------------------------------------------------------------------------------------- ledger


def test_counts_cannot_tell_what_a_ledger_can() -> None:
    never = {"label": "spam", "text": "win prize"}
    assert fitted().forget([never]).proven is False
    model = fitted(ledger=True)
    before = model.checksum()
    with pytest.raises(DataError, match=r"row 2 of the rows cannot be forgotten.*nothing was changed"):
        model.forget([SPAM, never])
    with pytest.raises(DataError, match="row 1 of the rows cannot be forgotten"):
        model.forget([SPAM, SPAM])
    assert model.checksum() == before
    receipt = model.forget([SPAM])
    assert receipt.proven
    assert model.learn([SPAM]).checksum() == before


def test_a_ledger_is_a_sum(tmp_path: Path) -> None:
    salt = "00112233445566778899aabbccddeeff"
    rows = [
        {"label": "a", "text": "x1", "size": "1.5", "kind": "k"},
        {"label": "b", "text": "", "size": "", "kind": "?"},
    ]

    def fit(some: list) -> Classifier:
        roles = {"text": "text", "category": ["size", "kind"]}
        return Classifier(smoothing=1.0, ledger=salt, **roles).fit(some)

    whole = fit(rows)
    assert fit(rows[:1]).merge(fit(rows[1:])).checksum() == fit(rows[1:]).merge(fit(rows[:1])).checksum()
    assert fit(rows[:1]).learn(rows[1:]).checksum() == whole.checksum()
    whole.save(tmp_path / "m.discern")
    loaded = load(tmp_path / "m.discern")
    assert loaded.info()["ledger"]
    with pytest.raises(DataError, match=r"cannot (be forgotten|forget)"):
        loaded.forget([{**rows[0], "size": "1.25"}])
    assert loaded.forget(rows[:1]) == fit(rows[1:]).checksum()
    whole.save(tmp_path / "slim.discern", slim=True)
    assert not load(tmp_path / "slim.discern").info()["ledger"]


def test_ledgers_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="different salts"):
        fitted(ledger=True).merge(fitted(ledger=True))
    with pytest.raises(ValueError, match="a ledger with one that has none"):
        fitted(ledger=True).merge(fitted())
    with pytest.raises(ValueError, match="hexadecimal"):
        Classifier(ledger="salt")
    with pytest.raises(ValueError, match="such as naive Bayes, not for 'logistic'"):
        Classifier(ledger=True, model="logistic")
    with pytest.raises(ValueError, match="cannot decay"):
        fitted(ledger=True).decay(0.5)


# ------------------------------------------------------------------------------------------------------- merging


def test_merging_does_not_depend_on_order_or_grouping() -> None:
    def part(start: int, rows: int) -> Classifier:
        words = [f"w{(start + i) * 7 % 31}" for i in range(rows)]
        data = [{"label": "ab"[i % 2], "text": f"{word} {'xy'[i % 2]}{i % 3}"} for i, word in enumerate(words)]
        return Classifier(text="text", ngrams=(1, 1), stem=None, model="multinomial").fit(data)

    one, two, three = part(0, 120), part(1000, 120), part(5000, 200)
    assert one.resolved.chosen != three.resolved.chosen
    assert one.merge(two).checksum() == two.merge(one).checksum()
    grouped = [one.merge(two).merge(three), one.merge(two.merge(three)), three.merge(two).merge(one)]
    assert len({model.checksum() for model in grouped}) == 1


# -------------------------------------------------------------------------------------------------------- threads


def test_a_fresh_classifier_shared_by_threads_loses_no_row() -> None:
    for _ in range(10):
        model = Classifier(smoothing=1.0)
        work = [threading.Thread(target=lambda m=model: [m.learn([SPAM]) for _ in range(25)]) for _ in range(8)]
        for thread in work:
            thread.start()
        for thread in work:
            thread.join()
        assert model.rows == 200


def test_a_window_that_cannot_forget_changes_nothing() -> None:
    window = Window(Classifier(smoothing=1.0), rows=2)
    window.learn([HAM, SPAM])
    window.model.decide_by(Decision.at(0.5, "ham"))
    before = window.model.checksum()
    with pytest.raises(DataError, match="threshold"):
        window.learn([MORE_SPAM])
    assert window.model.checksum() == before
    window.model.decide_by(None)
    window.learn([MORE_SPAM])
    assert window.model.checksum() == Classifier(smoothing=1.0).fit([SPAM, MORE_SPAM]).checksum()


# ---------------------------------------------------------------------------------------------------------- files


def test_a_state_that_cannot_be_read_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.discern"
    model = fitted()
    model.save(path)
    before = path.read_bytes()
    monkeypatch.setattr(Decision, "to_json", lambda _: {"threshold": 0.5, "positive": "nobody"})
    model.decide_by(COSTS)
    with pytest.raises(ModelFileError, match=r"could not be read back.*unchanged"):
        model.save(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["m.discern"]


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    real, link = tmp_path / "real" / "m.discern", tmp_path / "m.discern"
    fitted().save(real)
    link.symlink_to(real)
    load(link).learn([NEWS]).save(link)
    assert link.is_symlink()
    assert load(real).labels == ("ham", "news", "spam")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_pipes_and_devices_are_no_models(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.discern"
    os.mkfifo(pipe)
    for path, kind in ((pipe, "named pipe"), (Path("/dev/zero"), "device"), (tmp_path, "directory|folder")):
        with pytest.raises(ModelFileError, match=kind):
            load(path)
        with pytest.raises(ModelFileError, match=f"{kind}|folder"):
            fitted().save(path)


def run(*arguments: object) -> Result:
    result = CliRunner().invoke(app, [*map(str, arguments)])
    assert isinstance(result.exception, SystemExit | None), result.exception
    return result


def test_the_command_line_with_a_decision_and_a_new_label(tmp_path: Path) -> None:
    data, more, model = tmp_path / "a.csv", tmp_path / "b.csv", tmp_path / "m.discern"
    data.write_text("label,text\nham,lunch at noon\nspam,win money\nspam,free prize\n")
    more.write_text("label,text\nnews,vote today\n")
    assert run("fit", data, "-o", model, "--smoothing", 1).exit_code == 0
    assert run("decide", model, "--cost", "spam:ham=1", "--cost", "ham:spam=5").exit_code == 0
    before = model.read_bytes()
    learned = run("learn", model, more)
    assert learned.exit_code == 0
    assert "'news' has no cost" in learned.stderr
    for command in (("info", model), ("predict", model, more), ("explain", model, "vote")):
        assert run(*command).exit_code == 0
    assert run("forget", model, more).exit_code == 0
    assert model.read_bytes() == before


def test_the_command_line_on_what_is_no_model_file(tmp_path: Path) -> None:
    data, pipe = tmp_path / "a.csv", tmp_path / "pipe"
    data.write_text("label,text\nham,lunch at noon\nspam,win money\n")
    os.mkfifo(pipe)
    for path in (pipe, tmp_path, Path("/dev/zero"), Path("/dev/null")):
        for command in (("info", path), ("predict", path, data), ("learn", path, data), ("fit", data, "-o", path)):
            done = run(*command)
            assert done.exit_code in (1, 2), (command, done)
            assert done.stderr.strip()
