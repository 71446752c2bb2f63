"""Jobs about how right and how well calibrated the default classifier is on the official test rows; and ten folds.

Both sides are trained once a run: the figures are stored in the run's folder for the jobs that report others of them.
"""

import bz2
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

import discern
from benchmarks.harness.data import real_folder
from benchmarks.harness.job import SCIKIT_LEARN, Goal, Inputs, Job, Peer
from benchmarks.harness.measure import LeftOutError, Sample, Side, cpu, require
from discern.data.readers import batches
from discern.data.roles import Feature
from discern.evaluation.evaluation import Evaluation
from discern.models.validation.held_out import held_out
from discern.models.validation.rows import Sample as KeptRows
from discern.models.validation.rows import stratified

ACCURACY = {"20newsgroups": 0.835, "r52_raw": 0.915, "ohsumed": 0.62, "banking77": 0.865, "imdb": 0.86, "r8_raw": 0.955}
CALIBRATION = {"imdb": 0.02, "banking77": 0.02, "r8_raw": 0.03, "20newsgroups": 0.05}
FIGURES = ("error", "calibration error", "log loss")
FOLDS = 10
FOLDED = {"subj": "all", "20newsgroups": "train"}


def read_table(name: str, part: str) -> pa.Table:
    """Read a data set, all columns as they are written."""
    real = real_folder()
    path = real / name / f"{part}.csv.bz2" if real else None
    if path is None or not path.exists():
        raise LeftOutError(f"{name} is not there")
    content = io.BytesIO(bz2.decompress(path.read_bytes()))
    parse = pyarrow.csv.ParseOptions(newlines_in_values=True)
    names = content.readline().decode().strip().split(",")
    content.seek(0)
    convert = pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()))
    return pyarrow.csv.read_csv(content, parse_options=parse, convert_options=convert).combine_chunks()


def figures(true: Any, probabilities: Any, labels: Any) -> dict[str, float]:
    decided = np.asarray(labels)[probabilities.argmax(axis=1)]
    found = Evaluation.of(true, decided, probabilities, labels)
    return dict(zip(FIGURES, (1 - found.accuracy, found.calibration_error, found.log_loss), strict=True))


def figure(side: str, name: str) -> Side:
    """Return a figure of one side."""

    def chosen(inputs: Inputs) -> Sample:
        return Sample(inputs.figures[side][name], inputs.figures[side])

    return chosen


def every_figure_is_a_number(inputs: Inputs, ours: dict[str, float], theirs: dict[str, float]) -> None:
    """The goals compare the figures; here they only have to be some."""
    require(set(ours) == set(theirs) == set(FIGURES), "figures are missing")
    require(np.isfinite([*ours.values(), *theirs.values()]).all(), "a figure is not finite")


def _evaluated_once(path: Path, evaluate: Callable[[], dict[str, Any]]) -> Inputs:
    if not path.exists():
        path.write_text(json.dumps(evaluate()), encoding="utf-8")
    return Inputs(figures=json.loads(path.read_text(encoding="utf-8")))


def _cut(table: pa.Table, quick: bool) -> pa.Table:
    return table.take(np.linspace(0, len(table) - 1, min(len(table), 1000)).astype(int)) if quick else table


# ---------------------------------------------------------------------------------------------------------- texts


def prepare_texts(name: str) -> Callable[[Path, bool], Inputs]:
    def prepare(folder: Path, quick: bool) -> Inputs:
        train, test = (_cut(read_table(name, part), quick).select(["label", "text"]) for part in ("train", "test"))
        return _evaluated_once(folder / f"figures-{name}.json", lambda: _evaluate_texts(train, test))

    return prepare


def _evaluate_texts(train: pa.Table, test: pa.Table) -> dict[str, Any]:
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.naive_bayes import MultinomialNB
    from sklearn.pipeline import make_pipeline

    true = test["label"].to_pylist()
    ours = discern.Classifier().fit(train)
    theirs = make_pipeline(CountVectorizer(), MultinomialNB()).fit(
        train["text"].to_pylist(), train["label"].to_pylist()
    )
    return {
        "ours": figures(true, ours.predict_proba(test.select(["text"])), ours.labels),
        "scikit-learn": figures(true, theirs.predict_proba(test["text"].to_pylist()), theirs.classes_.tolist()),
    }


def prepare_least_squares(folder: Path, quick: bool) -> Inputs:
    train, test = (_cut(read_table("ohsumed", part), quick).select(["label", "text"]) for part in ("train", "test"))
    return _evaluated_once(folder / "figures-least-squares.json", lambda: _evaluate_least_squares(train, test))


def _evaluate_least_squares(train: pa.Table, test: pa.Table) -> dict[str, Any]:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    true, columns = test["label"].to_pylist(), (train["text"].to_pylist(), train["label"].to_pylist())
    ours = discern.Classifier(model="ridge").fit(train)
    terms = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2), min_df=2)
    decided = make_pipeline(terms, LinearSVC()).fit(*columns).predict(test["text"].to_pylist())
    wrong = float((decided != np.array(true)).mean())
    return {
        "ours": figures(true, ours.predict_proba(test.select(["text"])), ours.labels),
        "LinearSVC": dict.fromkeys(FIGURES, wrong),
    }


# ---------------------------------------------------------------------------------------------------------- adult


def prepare_adult(folder: Path, quick: bool) -> Inputs:
    train, test = (_cut(read_table("adult", part), quick) for part in ("train", "test"))
    return _evaluated_once(folder / "figures-adult.json", lambda: _evaluate_adult(train, test))


def _evaluate_adult(train: pa.Table, test: pa.Table) -> dict[str, Any]:
    true = test["income"].to_pylist()
    ours = discern.Classifier("income").fit(train)
    evaluated = {"ours": figures(true, ours.predict_proba(test.drop_columns(["income"])), ours.labels)}
    frames = [part.drop_columns(["income"]).to_pandas() for part in (train, test)]
    labels = train["income"].to_pylist()
    for name, model in scikit_learn_models(frames[0]).items():
        fitted = model.fit(frames[0], labels)
        evaluated[name] = figures(true, fitted.predict_proba(frames[1]), fitted.classes_.tolist())
    return evaluated


def numeric_columns(frame: Any) -> list[str]:
    """Return the columns of a frame that are numbers, or text that is written as numbers."""
    texts = [name for name in frame.columns if frame[name].dtype.kind not in "biuf"]
    others = [name for name in texts if not frame[name].str.fullmatch(r"-?\d+(\.\d+)?").all()]
    return [name for name in frame.columns if name not in others]


def scikit_learn_models(frame: Any) -> dict[str, Any]:
    """Return its naive Bayes models with the encoding they need: numbers alone, or all as categories."""
    from sklearn.compose import make_column_transformer
    from sklearn.naive_bayes import CategoricalNB, GaussianNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer, OrdinalEncoder

    numeric = numeric_columns(frame)
    others = [name for name in frame.columns if name not in numeric]
    to_numbers = FunctionTransformer(lambda X: X.astype(float))
    bins = make_pipeline(
        to_numbers, KBinsDiscretizer(10, encode="ordinal", quantile_method="averaged_inverted_cdf", subsample=None)
    )
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    levels = make_pipeline(encoder, FunctionTransformer(lambda codes: codes + 1))  # no code may be negative
    numbers = make_column_transformer((to_numbers, numeric))
    categories = make_column_transformer((bins, numeric), (levels, others))
    return {
        "GaussianNB": make_pipeline(numbers, GaussianNB()),
        "CategoricalNB": make_pipeline(categories, CategoricalNB(min_categories=60)),
    }


# ---------------------------------------------------------------------------------------------------------- folds


def prepare_folds(name: str) -> Callable[[Path, bool], Inputs]:
    def prepare(folder: Path, quick: bool) -> Inputs:
        table = _cut(read_table(name, FOLDED[name]), quick).select(["label", "text"])
        return Inputs(table=table, texts=table["text"].to_pylist(), labels=np.array(table["label"].to_pylist()))

    return prepare


def one_model() -> Any:
    return discern.Classifier(tokenizer="sklearn", smoothing=1.0, text="text")


def one_fit(inputs: Inputs) -> Any:
    return one_model().fit(inputs.table)


def ten_folds(inputs: Inputs) -> tuple[Any, Any, Any]:
    """Count once, keeping the rows, and score each fold under the model of all others."""
    model = one_model()
    rows = KeptRows.of(list(batches(inputs.table)), "label", ["text"], None)
    folds = stratified(rows.classes, rows.keys, FOLDS)
    scored = held_out(rows, [Feature("text", "text")], model.settings.naive_bayes, model.settings.text, folds)
    return folds, rows.labels, scored.scores


def same_as_training_again(inputs: Inputs, ours: tuple[Any, Any, Any], theirs: Any) -> None:
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.naive_bayes import MultinomialNB
    from sklearn.pipeline import make_pipeline

    folds, labels, scores = ours
    place = 0
    for fold in folds:
        rest = np.setdiff1d(np.arange(len(inputs.texts)), fold)
        again = make_pipeline(CountVectorizer(), MultinomialNB()).fit(
            [inputs.texts[row] for row in rest], inputs.labels[rest]
        )
        counts = again[0].transform([inputs.texts[row] for row in fold])
        exact, mine = again[1].predict_joint_log_proba(counts), scores[place : place + len(fold)]
        place += len(fold)
        require(list(labels) == again.classes_.tolist(), "the labels differ")
        require((mine.argmax(axis=1) == exact.argmax(axis=1)).all(), "the predictions differ")
        # As a share of their size: those of a long text are sums near −100,000, whose last bit is 1e-11.
        most = float(np.max(np.abs(mine / exact - 1)))
        require(most <= 1e-10, f"the log probabilities differ by {most:.1e} of their size")


def accuracy_job(job: str, about: str, prepare: Any, name: str, *peers: tuple[str, Goal]) -> Job:
    """Make a job about a figure of the default classifier on test rows."""
    sides = tuple(Peer(peer, goal, every_figure_is_a_number, figure(peer, name)) for peer, goal in peers)
    ours = figure("ours", name)
    return Job(job, about, None, prepare, ours, sides, unit=name, repeats=1, quick_repeats=1)


JOBS = (
    *(
        accuracy_job(
            f"accuracy/{name}",
            f"share of test rows of {name} that the default Classifier gets wrong; the peer: MultinomialNB",
            prepare_texts(name),
            "error",
            (SCIKIT_LEARN, Goal("limit", round(1 - least, 4))),
        )
        for name, least in ACCURACY.items()
    ),
    *(
        accuracy_job(
            f"calibration/{name}",
            f"expected calibration error (15 bins) on the test rows of {name}; the peer: MultinomialNB",
            prepare_texts(name),
            "calibration error",
            (SCIKIT_LEARN, Goal("limit", most)),
        )
        for name, most in CALIBRATION.items()
    ),
    accuracy_job(
        "log-loss/20newsgroups",
        "log loss on the test rows of 20newsgroups; the peer: MultinomialNB",
        prepare_texts("20newsgroups"),
        "log loss",
        (SCIKIT_LEARN, Goal("limit", 0.75)),
    ),
    accuracy_job(
        "least-squares/ohsumed",
        "share of test rows of ohsumed that Classifier(model='ridge') gets wrong; the peer: LinearSVC on tf–idf",
        prepare_least_squares,
        "error",
        ("LinearSVC", Goal("limit", 0.308)),
    ),
    accuracy_job(
        "adult/accuracy",
        "share of test rows of adult, mixed columns, that the default Classifier gets wrong; the peers need encoding",
        prepare_adult,
        "error",
        ("GaussianNB", Goal("lead", 0.01)),
        ("CategoricalNB", Goal("lead", 0.01)),
    ),
    accuracy_job(
        "adult/log-loss",
        "log loss of the same",
        prepare_adult,
        "log loss",
        ("GaussianNB", Goal("share", 1)),
        ("CategoricalNB", Goal("share", 1)),
    ),
    accuracy_job(
        "adult/calibration",
        "expected calibration error of the same",
        prepare_adult,
        "calibration error",
        ("GaussianNB", Goal("limit", 0.03)),
        ("CategoricalNB", Goal("limit", 0.03)),
    ),
    *(
        Job(
            f"folds/{name}",
            f"ten folds of {name} by subtraction, with the counting pass; equal to scikit-learn trained on each again",
            None,
            prepare_folds(name),
            cpu(ten_folds),
            (Peer("one fit of ours", Goal("share", 2), same_as_training_again, cpu(one_fit)),),
            repeats=9,
        )
        for name in FOLDED
    ),
)
