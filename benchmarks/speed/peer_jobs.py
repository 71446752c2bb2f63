"""Jobs against more peers: fastText, LIBLINEAR itself, river, NLTK, polars, scikit-learn-intelex; and the machine."""

import importlib
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import discern
from benchmarks.accuracy.methods import Split, ask_fasttext, prepare_fasttext, train_fasttext, word_features
from benchmarks.harness.data import MESSAGES, REVIEWS, path_of, read
from benchmarks.harness.job import Goal, Inputs, Job, Peer, close
from benchmarks.harness.measure import LeftOutError, Side, command, cpu, require
from benchmarks.speed.gaussian_jobs import prepare_table
from benchmarks.speed.margin_jobs import EQUAL, fit_ours, objective, prepare_weighted_reviews
from benchmarks.speed.text_jobs import prepare_reviews
from discern.data.batch import as_texts
from discern.data.text import TextSettings
from discern.statistics.counts import Counts
from discern.statistics.scatter import Scatter

TOKEN = r"(?u)\b\w\w+\b"


def needed(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise LeftOutError(f"{name} cannot be imported: {error}") from error


def accuracy(decided: Any, labels: Any) -> float:
    return float(np.mean(np.asarray(decided) == np.asarray(labels)))


# -------------------------------------------------------------------------------------------------------- fastText


def prepare_split(folder: Path, quick: bool) -> Inputs:
    needed("fasttext")
    table = read(REVIEWS, folder)
    half = len(table) // 2  # the official parts, if they are real; each is sorted by class
    random = np.random.default_rng(0)
    train, test = (table.slice(start, half).take(random.permutation(half)) for start in (0, half))
    if len(set(train["label"].to_pylist())) < 2:
        raise LeftOutError("too few rows")
    split = Split("reviews", "label", train.combine_chunks(), test.combine_chunks())
    return Inputs(split=split, path=prepare_fasttext(split, folder))


def fit_nbsvm(inputs: Inputs) -> Any:
    return discern.Classifier(model="nbsvm", calibrate=False, threads=1).fit(inputs.split.train)


def fit_fasttext(**settings: Any) -> Callable[[Inputs], Any]:
    def fit(inputs: Inputs) -> Any:
        return train_fasttext(inputs.path, **settings)

    return fit


def at_least_as_accurate_as_fasttext(inputs: Inputs, ours: Any, theirs: Any) -> None:
    labels = inputs.split.test["label"].to_pylist()
    mine = accuracy(ours.predict(inputs.split.columns(inputs.split.test)), labels)
    other = accuracy(ask_fasttext(inputs.split, theirs).decided, labels)
    print(f"fasttext: accuracy {mine:.4f}, theirs {other:.4f}", flush=True)
    require(mine >= other, f"the accuracy is {mine:.4f}, theirs {other:.4f}")


# ------------------------------------------------------------------------------------------------------- LIBLINEAR


def prepare_liblinear(folder: Path, quick: bool) -> Inputs:
    needed("liblinear.liblinearutil")
    inputs = prepare_weighted_reviews(folder, quick)
    inputs.X.indices, inputs.X.indptr = inputs.X.indices.astype(np.int32), inputs.X.indptr.astype(np.int32)
    inputs.signs = np.where(inputs.y == max(inputs.y), 1.0, -1.0)
    return inputs


def fit_liblinear(inputs: Inputs) -> Any:
    from liblinear.liblinearutil import parameter, problem, train

    # As scikit-learn asks for it: the squared hinge in the dual, to a tolerance of 1e-4, with an intercept.
    return train(problem(inputs.signs, inputs.X, bias=1), parameter("-s 1 -c 1 -e 0.0001 -B 1 -q"))


def objective_of_liblinear(inputs: Inputs, model: Any) -> float:
    weights, bias = model.get_decfun()
    weights = np.asarray(weights)
    slack = np.maximum(0, 1 - inputs.signs * (inputs.X @ weights + bias))
    return float(0.5 * (weights @ weights + bias**2) + slack @ slack)


def same_objective_as_liblinear(inputs: Inputs, ours: Any, theirs: Any) -> None:
    mine, other = objective(inputs, ours), objective_of_liblinear(inputs, theirs)
    require(mine <= other * (1 + EQUAL), f"the objective is {mine:.10g}, theirs {other:.10g}")


# -------------------------------------------------------------------------------------------------- river and NLTK


def prepare_messages(name: str) -> Callable[[Path, bool], Inputs]:
    def prepare(folder: Path, quick: bool) -> Inputs:
        needed(name)
        table = read(MESSAGES, folder)
        table = table.take(np.random.default_rng(0).permutation(len(table))).combine_chunks()
        half = len(table) // 2
        train, test = table[:half], table[half:]
        texts = [part["text"].to_pylist() for part in (train, test)]
        labels = [part["label"].to_pylist() for part in (train, test)]
        return Inputs(train=train, test=test, texts=texts, labels=labels)

    return prepare


def fit_messages(inputs: Inputs) -> Any:
    return discern.Classifier(tokenizer="sklearn", smoothing=1.0, threads=1).fit(inputs.train)


def fit_river(inputs: Inputs) -> Any:
    from river import feature_extraction, naive_bayes

    words = feature_extraction.BagOfWords(lowercase=True, strip_accents=False, tokenizer_pattern=TOKEN)
    model = words | naive_bayes.MultinomialNB(alpha=1)
    for text, label in zip(inputs.texts[0], inputs.labels[0], strict=True):
        model.learn_one(text, label)
    return model


def same_probabilities_as_river(inputs: Inputs, ours: Any, theirs: Any) -> None:
    # Of words that were learned: river smooths words it has never seen, too.
    known = set(ours.solved.only_text.terms.to_list())
    texts = [" ".join(word for word in re.findall(TOKEN, text.lower()) if word in known) for text in inputs.texts[1]]
    predicted = [theirs.predict_proba_one(text) for text in texts]
    expected = np.array([[row[label] for label in ours.labels] for row in predicted])
    close(ours.predict_proba(texts), expected, 1e-9, "the probability")


def fit_nltk(inputs: Inputs) -> Any:
    from nltk import NaiveBayesClassifier

    pairs = zip(inputs.texts[0], inputs.labels[0], strict=True)
    return NaiveBayesClassifier.train([(word_features(text), label) for text, label in pairs])


def at_least_as_accurate_as_nltk(inputs: Inputs, ours: Any, theirs: Any) -> None:
    mine = accuracy(ours.predict(inputs.test.select(["text"])), inputs.labels[1])
    other = accuracy([theirs.classify(word_features(text)) for text in inputs.texts[1]], inputs.labels[1])
    require(mine >= other - 0.005, f"the accuracy is {mine:.4f}, theirs {other:.4f}")


# ---------------------------------------------------------------------------------------------------------- polars


def prepare_polars(folder: Path, quick: bool) -> Inputs:
    polars = needed("polars")
    table = read(REVIEWS, folder)
    # Words of ASCII alone, where both cut alike beyond doubt.
    texts = [re.sub(r"[^\x00-\x7f]", " ", text) for text in table["text"].to_pylist()]
    labels = table["label"].to_pylist()
    frame = polars.DataFrame({"label": labels, "text": texts})
    return Inputs(frame=frame, texts=as_texts(pa.chunked_array([texts]), "the reviews"), labels=labels)


def count(inputs: Inputs) -> Counts:
    return Counts.of(inputs.texts, inputs.labels, TextSettings(tokenizer="sklearn"), threads=1)


def count_with_polars(inputs: Inputs) -> Any:
    import polars

    words = polars.col("text").str.to_lowercase().str.extract_all(r"\b\w\w+\b").alias("word")
    return (
        inputs.frame.lazy()
        .select("label", words)
        .explode("word")
        .drop_nulls()
        .group_by("label", "word")
        .len()
        .collect()
    )


def same_counts_as_polars(inputs: Inputs, ours: Counts, theirs: Any) -> None:
    terms = ours.terms.to_list()
    mine = {
        (ours.labels[label], terms[term]): occurrences
        for term, label, occurrences in zip(
            ours.entry_terms.tolist(), ours.entry_classes.tolist(), ours.occurrences.tolist(), strict=True
        )
    }
    require(mine == {(label, word): many for label, word, many in theirs.iter_rows()}, "the counts differ")


# ------------------------------------------------------------------------------------------- scikit-learn-intelex


def prepare_intelex(folder: Path, quick: bool) -> Inputs:
    needed("sklearnex")
    random = np.random.default_rng(0)
    rows = 20_000 if quick else 500_000
    X = random.standard_normal((rows, 20))
    chance = 1 / (1 + np.exp(-(X @ random.standard_normal(20))))
    few = 5_000 if quick else 50_000
    y = (random.random(rows) < chance).astype(int)
    return Inputs(X=X, y=y, points=X[:few], named=y[:few], queries=X[-1_000:])


def logistic(inputs: Inputs) -> Any:
    return discern.LogisticRegression(tol=1e-6).fit(inputs.X, inputs.y)


def logistic_intelex(inputs: Inputs) -> Any:
    from sklearnex.linear_model import LogisticRegression

    return LogisticRegression(tol=1e-6).fit(inputs.X, inputs.y)


def same_coefficients(inputs: Inputs, ours: Any, theirs: Any) -> None:
    most = float(np.abs(ours.coef_ - theirs.coef_).max())
    require(most <= 1e-3, f"the coefficients differ by {most:.1e}")


def neighbors(inputs: Inputs) -> Any:
    return discern.KNeighborsClassifier(5).fit(inputs.points, inputs.named).kneighbors(inputs.queries)


def neighbors_intelex(inputs: Inputs) -> Any:
    from sklearnex.neighbors import KNeighborsClassifier

    return KNeighborsClassifier(5, algorithm="brute").fit(inputs.points, inputs.named).kneighbors(inputs.queries)


def same_distances(inputs: Inputs, ours: Any, theirs: Any) -> None:
    most = float(np.abs(np.asarray(ours[0]) - np.asarray(theirs[0])).max())
    require(most <= 1e-5, f"the distances differ by {most:.1e}")


# ---------------------------------------------------------------------------------------------------- the machine


def prepare_bytes(folder: Path, quick: bool) -> Inputs:
    inputs = prepare_reviews(folder, quick)
    inputs.content = np.frombuffer(path_of(REVIEWS, folder).read_bytes(), np.uint8)
    inputs.copied = np.empty_like(inputs.content)
    inputs.columns = as_texts(inputs.table["text"], "the reviews")
    return inputs


def count_texts(inputs: Inputs) -> Counts:
    return Counts.of(inputs.columns, inputs.labels, TextSettings(), threads=1)


def fit_file(inputs: Inputs) -> Any:
    return discern.Classifier(smoothing=1.0, threads=1).fit(inputs.path)


def copy(inputs: Inputs) -> Any:
    np.copyto(inputs.copied, inputs.content)
    return inputs.copied


def cat() -> Side:
    def arguments(inputs: Inputs) -> list[str]:
        program = shutil.which("cat")
        if program is None:
            raise LeftOutError("there is no cat")
        return [program, inputs.path]

    return command(arguments)


def read_everything(inputs: Inputs, ours: Any, theirs: Any) -> None:
    length = len(theirs.encode()) if isinstance(theirs, str) else len(theirs)
    require(length == len(inputs.content), "not every byte was passed on")


def prepare_matrix(folder: Path, quick: bool) -> Inputs:
    inputs = prepare_table(folder, quick)
    inputs.one = np.zeros(len(inputs.table), np.int64)
    return inputs


def scatter(inputs: Inputs) -> Any:
    return Scatter.of(inputs.table, inputs.one, 1)


def product(inputs: Inputs) -> Any:
    return inputs.table.T @ inputs.table


def same_moments(inputs: Inputs, ours: Any, theirs: Any) -> None:
    rows, mean = len(inputs.table), inputs.table.mean(axis=0)
    most = float(np.abs(ours.within() / (theirs - rows * np.outer(mean, mean)) - 1).max())
    require(most <= 1e-6, f"the sums differ by {most:.1e} of their size")


def physical(name: str, about: str, prepare: Any, ours: Side, peer: str, check: Any, side: Side, texts: Any) -> Job:
    peers = (Peer(peer, Goal("share", 10.0, informative=True), check, side),)
    return Job(f"physical/{name}", about, texts, prepare, ours, peers)


JOBS = (
    Job(
        "fasttext",
        "training NBSVM on pairs of words, at least as accurate on the test rows; the peer by default and with pairs",
        REVIEWS,
        prepare_split,
        cpu(fit_nbsvm),
        (
            Peer("fastText", Goal("faster", 1.0), at_least_as_accurate_as_fasttext, cpu(fit_fasttext())),
            Peer(
                "fastText, pairs",
                Goal("faster", 1.0),
                at_least_as_accurate_as_fasttext,
                cpu(fit_fasttext(wordNgrams=2, epoch=10, lr=0.5, dim=50, bucket=200_000)),
            ),
        ),
        repeats=3,
        quick_repeats=1,
    ),
    Job(
        "liblinear",
        "LinearSVC on tf-idf rows of reviews, at an equal objective; the peer is LIBLINEAR's own package",
        REVIEWS,
        prepare_liblinear,
        cpu(fit_ours),
        (Peer("LIBLINEAR", Goal("faster", 1.0), same_objective_as_liblinear, cpu(fit_liblinear)),),
        repeats=5,
        quick_repeats=1,
    ),
    Job(
        "river",
        "naive Bayes of messages; the peer learns them one by one",
        MESSAGES,
        prepare_messages("river"),
        cpu(fit_messages),
        (Peer("river", Goal("faster", 20), same_probabilities_as_river, cpu(fit_river)),),
    ),
    Job(
        "nltk",
        "naive Bayes of messages; the peer is its NaiveBayesClassifier on which words are there",
        MESSAGES,
        prepare_messages("nltk"),
        cpu(fit_messages),
        (Peer("NLTK", Goal("faster", 20), at_least_as_accurate_as_nltk, cpu(fit_nltk)),),
    ),
    Job(
        "polars",
        "how often each word occurs in each class; the peer extracts the words, then groups",
        REVIEWS,
        prepare_polars,
        cpu(count),
        (Peer("polars", Goal("faster", 5), same_counts_as_polars, cpu(count_with_polars)),),
        repeats=3,
    ),
    Job(
        "intelex/logistic",
        "LogisticRegression on 500,000 × 20 numbers; the peer is accelerated by Intel's oneDAL",
        None,
        prepare_intelex,
        cpu(logistic),
        (
            Peer(
                "scikit-learn-intelex", Goal("faster", 1.0, informative=True), same_coefficients, cpu(logistic_intelex)
            ),
        ),
        repeats=5,
    ),
    Job(
        "intelex/neighbors",
        "5 nearest by Euclidean distance: 1,000 queries against 50,000 × 20",
        None,
        prepare_intelex,
        cpu(neighbors),
        (Peer("scikit-learn-intelex", Goal("faster", 1.0, informative=True), same_distances, cpu(neighbors_intelex)),),
        repeats=5,
    ),
    physical(
        "file",
        "CSV file to fitted naive Bayes, against passing the file's bytes on",
        prepare_bytes,
        cpu(fit_file),
        "cat",
        read_everything,
        cat(),
        REVIEWS,
    ),
    physical(
        "memory",
        "counting texts in memory, against copying the same bytes",
        prepare_bytes,
        cpu(count_texts),
        "memory copy",
        read_everything,
        cpu(copy),
        REVIEWS,
    ),
    physical(
        "matrix",
        "all moments of 1,000,000 × 20 numbers (means, covariance), against the bare product",
        prepare_matrix,
        cpu(scatter),
        "numpy X.T @ X",
        same_moments,
        cpu(product),
        None,
    ),
)
