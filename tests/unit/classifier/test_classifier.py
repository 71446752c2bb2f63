"""The classifier as it is used: columns, settings, decisions, evidence, evaluation, copies."""

import copy
import json
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import discern
from discern import Classifier, DataError, Dirichlet, JelinekMercer, Laplace, load
from discern.learners.bayes import NaiveBayesSettings

ROWS = [
    {"label": "spam", "text": "win a free prize now"},
    {"label": "spam", "text": "free prize inside"},
    {"label": "ham", "text": "lunch at noon tomorrow"},
    {"label": "ham", "text": "free for lunch"},
]
ASKED = ["free prize", "lunch tomorrow", "", "unknown words only"]


# ------------------------------------------------------------------------------------------------- columns


def test_the_text_column_is_found() -> None:
    rows = [{"id": "1", "label": "a", "text": "short", "title": "a much longer title than the text"}]
    assert Classifier().fit(rows).resolved.text_column == "text"
    rows = [{"id": "1", "label": "a", "body": "the longest of all columns", "title": "a title"}]
    assert Classifier().fit(rows).resolved.text_column == "body"
    assert Classifier("title").fit(rows).resolved.text_column == "body"
    only_title = Classifier(text="title", ignore=["id", "body"]).fit(rows)
    assert only_title.statistics.columns[0].terms.to_list() == ["title"]


def test_the_text_column_of_a_file_is_found(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("id,kind,body\n1,a,the longest column\n2,b,of all\n", encoding="utf-8")
    model = Classifier("kind").fit(path)
    assert model.resolved.text_column == "body"
    assert model.predict(path).tolist() == ["a", "b"]
    assert model.predict([{"id": 3, "body": "of all"}]).tolist() == ["b"]
    assert model.predict(["of all"]).tolist() == ["b"]
    with pytest.raises(DataError, match="no column 'body'"):
        model.predict([{"id": 3, "kind": "of all"}])


def test_other_columns_change_nothing() -> None:
    wide = [{**row, "extra": index} for index, row in enumerate(ROWS)]
    assert Classifier(text="text").fit(wide).statistics == Classifier().fit(ROWS).statistics


# ------------------------------------------------------------------------------------------------ settings


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": "naive-bay"}, "did you mean 'naive-bayes'"),
        ({"stop_words": "the"}, "must be a list"),
        ({"min_df": 0}, "min_df must be at least 1"),
        ({"priors": "equal"}, "priors must be"),
        ({"priors": {"a": 0.5, "b": 0.6}}, "sum to 1"),
        ({"priors": {"a": 1.5, "b": -0.5}}, "positive"),
        ({"smoothing": 0}, "alpha must be above 0"),
        ({"smoothing": -1}, "alpha must be"),
        ({"smoothing": float("nan")}, "alpha must be"),
        ({"smoothing": float("inf")}, "alpha must be"),
        ({"smoothing": 1e300}, "alpha must be"),
        ({"smoothing": 1e-300}, "alpha must be"),
        ({"smoothing": "much"}, "smoothing must be"),
        ({"smoothing": True}, "smoothing must be"),
        ({"model": "bernoulli", "smoothing": Dirichlet()}, "Laplace smoothing only"),
        ({"normalization": "words"}, "normalization must be"),
        ({"analyzer": "sentence"}, "analyzer must be"),
        ({"ngrams": (3, 1)}, "n-gram"),
        ({"stem": "martian"}, "unknown stem"),
    ],
)
def test_bad_settings_are_refused_at_once(settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Classifier(**settings)


@pytest.mark.parametrize(
    "make",
    [
        lambda: JelinekMercer(1),
        lambda: JelinekMercer(-0.1),
        lambda: Dirichlet(0),
        lambda: Dirichlet(float("inf")),
        lambda: Laplace(-1),
    ],
)
def test_bad_smoothing_is_refused(make) -> None:
    with pytest.raises(ValueError, match="must be"):
        make()


def test_a_prior_for_every_label() -> None:
    with pytest.warns(UserWarning, match="no prior was given for the label 'ham'"):
        model = Classifier(priors={"spam": 1.0}).fit(ROWS)
    assert model.info()["labels_by_default"] == ["ham"]
    assert model.predict_proba([""])[0] == pytest.approx([0.5, 0.5])
    model = Classifier(priors={"spam": 0.9, "ham": 0.1}).fit(ROWS)
    assert model.predict_proba([""])[0] == pytest.approx([0.1, 0.9])


@pytest.mark.parametrize("model", ["naive-bayes", "multinomial", "bernoulli", "complement"])
def test_every_model_learns(model: str) -> None:
    classifier = Classifier(model=model).fit(ROWS)
    assert classifier.predict(["free prize", "lunch tomorrow"]).tolist() == ["spam", "ham"]
    assert model in repr(classifier)


@pytest.mark.parametrize("model", ["naive-bayes", "bernoulli", "complement"])
@pytest.mark.parametrize("normalization", ["documents", "vocabulary"])
@pytest.mark.parametrize(
    "rows",
    [
        [{"label": "a", "text": ""}, {"label": "b", "text": ""}],  # no words at all
        [{"label": "a", "text": "win"}, {"label": "b", "text": ""}],  # one word
        [{"label": "a", "text": "win"}, {"label": "b", "text": "win win"}],
        [{"label": "a", "text": "win lunch"}],  # one label
    ],
)
def test_next_to_nothing_to_learn_from(model: str, normalization: str, rows: list) -> None:
    for smoothing in (1.0, 1e-20, 1e20):
        classifier = Classifier(model=model, normalization=normalization, smoothing=smoothing).fit(rows)
        probabilities = classifier.predict_proba(["win", "", "lunch win", "other"] * 3)
        assert np.isfinite(probabilities).all()
        assert probabilities.sum(axis=1) == pytest.approx(np.ones(12))
        assert np.isfinite(classifier.explain("win").log_odds)


def test_min_df_uses_no_rare_terms() -> None:
    model = Classifier(min_df=2).fit(ROWS)
    assert model.solved.only_text.terms.to_list() == ["free", "lunch", "prize"]
    assert model.info()["terms"] == 3
    assert "noon" in model.statistics.columns[0].terms.to_list()  # it may become frequent
    model.learn([{"label": "ham", "text": "noon"}])
    assert "noon" in model.solved.only_text.terms.to_list()
    assert Classifier(min_df=100).fit(ROWS).predict_proba(["free"])[0] == pytest.approx([0.5, 0.5])


# ---------------------------------------------------------------------------------------------- decisions


def test_decisions_of_every_kind_agree(tmp_path: Path) -> None:
    model = Classifier().fit(ROWS)
    one = [model.predict_one(text) for text in ASKED]
    assert model.predict(ASKED).tolist() == one
    assert model.predict(ASKED * 20).tolist() == one * 20
    assert model.predict({"text": ASKED}).tolist() == one
    assert model.predict(pd.DataFrame({"text": ASKED})).tolist() == one
    assert [model.labels[place] for place in model.predict_proba(ASKED).argmax(axis=1)] == one
    path = tmp_path / "asked.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in ASKED), encoding="utf-8")
    assert model.predict(path).tolist() == one
    assert model.predict([]).tolist() == []
    assert model.predict_proba([]).shape == (0, 2)
    assert model.log_joint([], full=True).shape == (0, 2)


def test_nothing_learned_yet() -> None:
    model = Classifier()
    assert "not fitted" in repr(model)
    for call in (lambda: model.predict(["x"]), lambda: model.predict_one("x"), lambda: model.labels, model.info):
        with pytest.raises(ValueError, match="call fit first"):
            call()


@pytest.mark.parametrize("settings", [{}, {"model": "bernoulli"}, {"model": "complement"}, {"ngrams": (1, 2)}])
def test_one_text_many_times(settings: dict) -> None:
    # After some texts another way is taken, with a table of the whole vocabulary.
    model = Classifier(**settings).fit(ROWS)
    expected = model.predict(ASKED).tolist()
    for _ in range(20):
        assert [model.predict_one(text) for text in ASKED] == expected


def test_ties_go_to_the_first_label() -> None:
    model = Classifier().fit([{"label": "b", "text": "xx"}, {"label": "a", "text": "xx"}])
    assert model.predict(["xx"] * 10).tolist() == ["a"] * 10
    assert model.predict_one("xx") == "a"
    assert model.explain("xx").label == "a"


def test_fit_forgets_what_was_before() -> None:
    model = Classifier().fit(ROWS)
    model.fit([{"label": "other", "text": "thing"}])
    assert model.labels == ("other",)
    assert model.rows == 1


def test_a_failed_fit_or_learn_changes_nothing() -> None:
    model = Classifier().fit(ROWS)
    before = model.statistics
    bad = [*ROWS, {"label": None, "text": "x"}]
    for call in (model.fit, model.learn, model.forget):
        with pytest.raises(DataError):
            call(bad)
        assert model.statistics is before


def test_merge() -> None:
    first, second = Classifier().fit(ROWS[:2]), Classifier().fit(ROWS[2:])
    merged = first.merge(second)
    assert merged.statistics == Classifier().fit(ROWS).statistics
    assert first.labels == ("spam",)
    with pytest.raises(ValueError, match=r"different .*1\.0 and 2\.0"):
        first.merge(Classifier(smoothing=2).fit(ROWS))
    with pytest.raises(ValueError, match="different"):
        first.merge(Classifier(ngrams=(1, 2)).fit(ROWS))


# ----------------------------------------------------------------------------------------------- evidence


def test_evidence() -> None:
    model = Classifier().fit(ROWS)
    evidence = model.explain("free free prize, unknown")
    assert evidence.label == "spam"
    assert evidence.against == "ham"
    assert evidence.unknown == 1
    assert {term.term: term.count for term in evidence.terms} == {"free": 2, "prize": 1}
    assert evidence.probability == pytest.approx(model.predict_proba(["free free prize"])[0, 1])
    assert json.loads(json.dumps(evidence.to_dict()))["label"] == "spam"
    assert "×2" in str(evidence)
    assert "1 unknown" in str(evidence)
    assert model.explain({"text": "free prize"}).label == "spam"


@pytest.mark.parametrize("kind", ["naive-bayes", "logistic", "linear-svm"])
def test_stems_are_shown_as_they_are_written(kind: str) -> None:
    rows = [("spam", "winning prizes"), ("spam", "win a prize"), ("ham", "lunches today"), ("ham", "lunch today")]
    data = [{"label": label, "text": text} for label, text in rows]
    model = Classifier(model=kind, stem="english", ngrams=(1, 2), min_df=1).fit(data)
    evidence = model.explain("Winning PRIZES, win lunches")
    shown = {term.term: term.shown for term in evidence.terms}
    expected = {"win": "winning / win", "prize": "prizes", "lunch": "lunches", "win prize": "winning prizes"}
    assert shown == {term: expected[term] for term in shown}
    assert set(shown) >= {"win", "prize", "lunch"}
    assert "winning / win ×2" in str(evidence)
    assert {term["shown"] for term in evidence.to_dict()["terms"]} == set(shown.values())


def test_absent_words_speak_in_the_bernoulli_model_only() -> None:
    assert Classifier().fit(ROWS).explain("lunch").absent == pytest.approx(0, abs=1e-12)
    evidence = Classifier(model="bernoulli").fit(ROWS).explain("lunch")
    assert evidence.absent != 0
    assert "absent" in str(evidence)


def test_weights() -> None:
    model = Classifier().fit(ROWS)
    assert model.weights("spam", top=1)[0][0] == "prize"
    weights = dict(model.weights("spam", top=100))
    against = dict(model.weights("ham", top=100))
    assert weights == pytest.approx({term: -weight for term, weight in against.items()})
    with pytest.raises(ValueError, match="did you mean 'spam'"):
        model.weights("spm")


# --------------------------------------------------------------------------------------------- evaluation


def test_evaluation() -> None:
    model = Classifier().fit(ROWS)
    found = model.evaluate(ROWS)
    assert found.rows == 4
    decided = model.predict([row["text"] for row in ROWS]).tolist()
    right = [a == row["label"] for a, row in zip(decided, ROWS, strict=True)]
    assert found.accuracy == sum(right) / 4
    probabilities = model.predict_proba([row["text"] for row in ROWS])
    places = [model.labels.index(row["label"]) for row in ROWS]
    chosen = probabilities[range(4), places]
    assert found.log_loss == pytest.approx(-np.log(chosen).mean())
    truth = np.eye(2)[places]
    assert found.brier == pytest.approx(((probabilities - truth) ** 2).sum(axis=1).mean())


def test_evaluation_in_parts_and_with_unseen_labels() -> None:
    model = Classifier().fit(ROWS)
    extra = [*ROWS, {"label": "news", "text": "free"}]
    whole, parts = model.evaluate(extra), model.evaluate(iter([extra[:2], extra[2:]]))
    assert whole.labels == parts.labels == ("ham", "news", "spam")
    assert whole.confusion.tolist() == parts.confusion.tolist()
    assert whole.log_loss == pytest.approx(parts.log_loss)
    assert whole.unseen == 1
    table = whole.per_label()
    assert [table["news"][name] for name in ("precision", "recall", "f1", "rows")] == [0.0, 0.0, 0.0, 1]
    assert json.loads(json.dumps(whole.to_dict()))["rows"] == 5
    assert np.isfinite(whole.log_loss)


# ----------------------------------------------------------------------------------------- copies and files


@pytest.mark.parametrize("how", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
@pytest.mark.parametrize("slim", [False, True])
def test_copies(tmp_path: Path, how, slim: bool) -> None:
    model = Classifier(ngrams=(1, 2), priors="uniform", stop_words=["at"]).fit(ROWS)
    if slim:
        model.save(tmp_path / "m.discern", slim=True)
        model = load(tmp_path / "m.discern")
    twin = how(model)
    assert (twin.predict_proba(ASKED * 5) == model.predict_proba(ASKED * 5)).all()
    if not slim:
        twin.learn([{"label": "news", "text": "x1"}])
        assert twin.labels == ("ham", "news", "spam")
        assert model.labels == ("ham", "spam")
    empty = how(Classifier(min_df=3))
    assert empty.settings.min_df == 3
    assert empty.fit(ROWS).rows == 4


def test_a_slim_model_predicts_and_nothing_else(tmp_path: Path) -> None:
    model = Classifier(model="bernoulli").fit(ROWS)
    model.save(tmp_path / "m.discern", slim=True)
    slim = load(tmp_path / "m.discern")
    assert (slim.predict_proba(ASKED) == model.predict_proba(ASKED)).all()
    assert slim.explain("free").log_odds == model.explain("free").log_odds
    # Without counts, terms are ranked by their weights alone.
    assert dict(slim.weights("spam", 1000)) == dict(model.weights("spam", 1000))
    assert all(term.rows is None for term in slim.strongest("spam"))
    assert all(term.rows is not None for term in model.strongest("spam"))
    assert slim.info()["slim"] is True
    assert slim.info()["rows"] is None
    for call in (lambda: slim.learn(ROWS), lambda: slim.forget(ROWS), lambda: slim.merge(model), lambda: slim.rows):
        with pytest.raises(ValueError, match="slim"):
            call()
    with pytest.raises(ValueError, match="slim"):
        slim.save(tmp_path / "n.discern")
    slim.save(tmp_path / "n.discern", slim=True)
    assert (tmp_path / "n.discern").read_bytes() == (tmp_path / "m.discern").read_bytes()


@pytest.mark.parametrize(
    "settings",
    [
        {"smoothing": JelinekMercer(0.3), "ngrams": (1, 2)},
        {"smoothing": Dirichlet(7.0), "priors": {"ham": 0.3, "spam": 0.7}, "lowercase": False},
        {"model": "complement", "stem": "english", "stop_words": ["at", "\ud800"], "min_df": 2},
        {"model": "bernoulli", "normalization": "vocabulary", "analyzer": "char_wb", "ngrams": (2, 3)},
        {"analyzer": "pattern", "pattern": r"(\w)\w*", "tokenizer": "sklearn", "min_word_length": 1},
    ],
)
def test_settings_are_saved(tmp_path: Path, settings: dict) -> None:
    model = Classifier(text="text", **settings).fit(ROWS)
    model.save(tmp_path / "m.discern")
    loaded = load(tmp_path / "m.discern")
    assert loaded.fitted.content()[1] == model.fitted.content()[1]
    assert loaded.info() == model.info()
    assert (loaded.predict_proba(ASKED) == model.predict_proba(ASKED)).all()
    assert loaded.merge(model).rows == 8


def test_info() -> None:
    info = Classifier().fit(ROWS).info()
    assert info["rows"] == 4
    assert info["rows_per_label"] == {"ham": 2, "spam": 2}
    assert info["priors"] == pytest.approx({"ham": 0.5, "spam": 0.5})
    assert info["parameters"] == 2 * (info["terms"] + 1) - 1
    assert json.loads(json.dumps(info)) == json.loads(json.dumps(info, allow_nan=False))


# ------------------------------------------------------------------------------------------- the package


def test_every_public_name_is_there() -> None:
    for name in discern.__all__:
        assert getattr(discern, name) is not None
    assert set(discern.__all__) <= set(dir(discern))
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = discern.Nothing


def test_importing_the_package_imports_little(run_python) -> None:
    found = run_python(
        "import sys, discern; print(*[name for name in ('numpy', 'pyarrow', 'sklearn', 'scipy') if name in sys.modules])"
    )
    assert found.strip() == ""
    later = ("calibrate", "choice", "curves", "decide", "evaluate", "evidence", "select", "significance")
    listed = (*(f"discern.{name}" for name in later), "difflib", "pathlib", "tempfile")
    found = run_python(
        f"import sys; from discern import Classifier; print(*[name for name in {listed} if name in sys.modules])"
    )
    assert found.strip() == ""
    program = """
import sys
from discern import Classifier
model = Classifier().fit([{"label": "a", "text": "xx"}, {"label": "b", "text": "yy"}])
model.predict(["xx"])
print(*[name for name in ("sklearn", "pandas", "polars") if name in sys.modules])
"""
    assert run_python(program).strip() == ""


def _short_texts(seed: int) -> list[dict[str, str]]:
    """Eight classes that share most words, of very different sizes: what comparing with the rest was made for."""
    random = np.random.default_rng(seed)
    shares = np.exp(-0.4 * np.arange(8))
    rows = []
    for number in random.choice(8, 1200, p=shares / shares.sum()):
        own = [f"own{number}x{random.integers(12)}" for _ in range(random.integers(1, 3))]
        other = [f"own{random.integers(8)}x{random.integers(12)}"]
        words = [f"word{random.integers(300)}" for _ in range(4)] + own + other
        rows.append({"label": f"class {number}", "text": " ".join(words)})
    return rows


def test_a_class_is_compared_with_the_rest_where_that_is_better() -> None:
    learned, asked = _short_texts(0), _short_texts(1)
    model = Classifier().fit(learned)
    assert model.resolved.chosen is not None
    assert model.resolved.chosen["event"] in ("contrast", "binary-contrast")
    assert 0 <= model.resolved.chosen["own"] <= 0.5
    assert NaiveBayesSettings.from_json(model.resolved.naive_bayes.to_json()) == model.resolved.naive_bayes
    chosen, plain = model.evaluate(asked), Classifier(model="multinomial").fit(learned).evaluate(asked)
    assert chosen.log_loss < plain.log_loss
    before = model.log_joint(asked)
    model.learn(asked[:50]).forget(asked[:50])
    np.testing.assert_array_equal(model.log_joint(asked), before)


STEMS = {
    "english": (("", "s", "ed", "ing"), "the and of in it was to with for not"),
    "german": (("e", "en", "er", "es"), "der und die in das war zu mit für nicht"),
}


def _inflected(language: str, seed: int) -> list[dict[str, str]]:
    """Two classes with words of their own, each word with many endings: forms are rare, stems are not."""
    random = np.random.default_rng(seed)
    endings, small = STEMS[language]
    stems = np.array([f"{first}{second}nt" for first in ("wal", "tro", "ker", "bil", "mar") for second in "aeioupbgfl"])
    rows = []
    for number in range(400):
        likely = np.arange(50) % 2 == number % 2
        words = random.choice(stems, 4, p=np.where(likely, 0.7, 0.3) / 25) + random.choice(endings, 4).astype(object)
        rows.append({"label": str(number % 2), "text": " ".join([*words, *random.choice(small.split(), 4)])})
    return rows


@pytest.mark.parametrize("language", STEMS)
def test_words_are_stemmed_where_this_is_clearly_better(language: str) -> None:
    learned, asked = _inflected(language, 0), _inflected(language, 1)
    # Character n-grams would do the same as stems.
    model, plain = Classifier(views="none").fit(learned), Classifier(views="none", stem=None).fit(learned)
    assert model.resolved.chosen is not None
    assert plain.resolved.chosen is not None
    assert (model.resolved.text.stem, model.resolved.chosen["stem"]) == (language, language)
    assert plain.resolved.text.stem is None
    assert "stem" not in plain.resolved.chosen
    assert model.evaluate(asked).log_loss < plain.evaluate(asked).log_loss


def test_words_of_no_known_language_are_not_stemmed() -> None:
    model = Classifier().fit(_short_texts(0))
    assert model.resolved.chosen is not None
    assert "stem" not in model.resolved.chosen
    assert model.resolved.text.stem is None


def test_only_naive_bayes_that_is_chosen_stems_by_itself() -> None:
    learned = _inflected("english", 0)
    for settings in ({"smoothing": 1.0}, {"model": "binary"}, {"model": "ridge"}, {"analyzer": "char"}):
        assert Classifier(**settings).fit(learned).resolved.text.stem is None
