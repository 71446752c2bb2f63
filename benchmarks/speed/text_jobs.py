"""Jobs about texts: to a model, to predictions, to a matrix; model files, memory, imports, threads."""

import compileall
import importlib
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np

import discern
from benchmarks.harness.data import MESSAGES, REVIEWS, TYPES, path_of, read, vocabulary
from benchmarks.harness.job import (
    SCIKIT_LEARN,
    Goal,
    Inputs,
    Job,
    Peer,
    close,
    nothing_to_check,
    relatively_close,
)
from benchmarks.harness.measure import LeftOutError, Side, command, cpu, each, require, task, wall
from benchmarks.speed import tasks
from discern.data.batch import as_texts
from discern.data.text import TextSettings
from discern.learners.bayes import NaiveBayesSettings, solve
from discern.statistics.counts import Counts

# ------------------------------------------------------------------------------------------- texts to a model


def prepare_reviews(folder: Path, quick: bool) -> Inputs:
    table = read(REVIEWS, folder)
    return Inputs(
        table=table,
        texts=table["text"].to_pylist(),
        labels=table["label"].to_pylist(),
        path=str(path_of(REVIEWS, folder)),
        folder=folder,
    )


def classifier() -> Any:
    return discern.Classifier(tokenizer="sklearn", smoothing=1.0)


def fit_scikit_learn(texts: Any, labels: Any) -> tuple[Any, Any]:
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.naive_bayes import MultinomialNB

    vectorizer = CountVectorizer()
    return vectorizer, MultinomialNB().fit(vectorizer.fit_transform(texts), labels)


def fit_scikit_learn_lists(inputs: Inputs) -> tuple[Any, Any]:
    return fit_scikit_learn(inputs.texts, inputs.labels)


def fit_scikit_learn_csv(inputs: Inputs) -> tuple[Any, Any]:
    import pandas

    frame = pandas.read_csv(inputs.path)
    return fit_scikit_learn(frame["text"], frame["label"])


def fit_table(inputs: Inputs) -> Any:
    return classifier().fit(inputs.table)


def fit_list(inputs: Inputs) -> Any:
    return classifier().fit({"label": inputs.labels, "text": inputs.texts})


def fit_csv(inputs: Inputs) -> Any:
    return classifier().fit(inputs.path)


def same_model(inputs: Inputs, ours: Any, theirs: tuple[Any, Any]) -> None:
    vectorizer, bayes = theirs
    model = ours.solved.only_text
    require(list(model.labels) == bayes.classes_.tolist(), "the labels differ")
    require(model.terms.to_list() == vectorizer.get_feature_names_out().tolist(), "the vocabularies differ")
    close(model.scores.weights.T, bayes.feature_log_prob_, 1e-12, "feature_log_prob")
    close(model.scores.bias, bayes.class_log_prior_, 1e-12, "class_log_prior")


WORD_COUNT = shutil.which("wc")


def word_count() -> Side:
    def arguments(inputs: Inputs) -> list[str]:
        if WORD_COUNT is None:
            raise LeftOutError("there is no wc")
        return [WORD_COUNT, "-w", inputs.path]

    return command(arguments, {"LC_ALL": "C.UTF-8"})


def counted_words(inputs: Inputs, ours: Any, theirs: str) -> None:
    # Another job on the same bytes: it only has to have read the file.
    require(int(theirs.split()[0]) > 0, "wc counted nothing")


# ------------------------------------------------------------------------------------------------ predictions


def prepare_predictions(folder: Path, quick: bool) -> Inputs:
    inputs = prepare_reviews(folder, quick)
    learned = np.arange(0, len(inputs.texts), 2)
    model = classifier().fit(inputs.table.take(learned))
    inputs.model_path = str(folder / "reviews.discern")
    model.save(inputs.model_path)
    inputs.vectorizer, inputs.bayes = fit_scikit_learn(inputs.texts[::2], inputs.labels[::2])
    return inputs


def load_model(inputs: Inputs) -> Any:
    return discern.load(inputs.model_path)


def predict_table(inputs: Inputs, model: Any) -> Any:
    return model.predict(inputs.table)


def predict_scikit_learn(inputs: Inputs) -> Any:
    return inputs.bayes.predict(inputs.vectorizer.transform(inputs.texts))


def same_predictions(inputs: Inputs, ours: Any, theirs: Any) -> None:
    theirs_joint = inputs.bayes.predict_joint_log_proba(inputs.vectorizer.transform(inputs.texts))
    relatively_close(load_model(inputs).log_joint(inputs.table), theirs_joint, 1e-10, "log_joint")
    require(ours.tolist() == theirs.tolist(), "the predictions differ")


def prepare_messages(folder: Path, quick: bool) -> Inputs:
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.naive_bayes import MultinomialNB
    from sklearn.pipeline import make_pipeline

    table = read(MESSAGES, folder)
    texts, labels = table["text"].to_pylist(), table["label"].to_pylist()
    return Inputs(
        messages=texts[1::2],
        model=classifier().fit({"label": labels[::2], "text": texts[::2]}),
        pipeline=make_pipeline(CountVectorizer(), MultinomialNB()).fit(texts[::2], labels[::2]),
    )


def predict_each(inputs: Inputs) -> list[str]:
    predict_one = inputs.model.predict_one
    return [predict_one(message) for message in inputs.messages]


def predict_each_scikit_learn(inputs: Inputs) -> list[str]:
    predict = inputs.pipeline.predict
    return [predict([message])[0] for message in inputs.messages]


def same_labels(inputs: Inputs, ours: list[str], theirs: list[str]) -> None:
    theirs_joint = inputs.pipeline[-1].predict_joint_log_proba(inputs.pipeline[0].transform(inputs.messages))
    relatively_close(inputs.model.log_joint(inputs.messages), theirs_joint, 1e-10, "log_joint")
    require(ours == [str(label) for label in theirs], "the predictions differ")


# -------------------------------------------------------------------------------------------- CountVectorizer


def prepare_vectorizer(folder: Path, quick: bool) -> Inputs:
    try:
        _ = discern.CountVectorizer
    except (ImportError, AttributeError) as error:
        raise LeftOutError(f"discern.CountVectorizer cannot be imported: {error}") from error
    return prepare_reviews(folder, quick)


def vectorize(inputs: Inputs) -> tuple[Any, Any]:
    vectorizer = discern.CountVectorizer()
    return vectorizer, vectorizer.fit_transform(inputs.texts)


def vectorize_scikit_learn(inputs: Inputs) -> tuple[Any, Any]:
    from sklearn.feature_extraction.text import CountVectorizer

    vectorizer = CountVectorizer()
    return vectorizer, vectorizer.fit_transform(inputs.texts)


def same_matrix(inputs: Inputs, ours: tuple[Any, Any], theirs: tuple[Any, Any]) -> None:
    require(dict(ours[0].vocabulary_) == dict(theirs[0].vocabulary_), "the vocabularies differ")
    mine, other = ours[1].copy(), theirs[1].copy()
    require((mine.shape, mine.dtype) == (other.shape, other.dtype), "the shapes or types differ")
    for matrix in (mine, other):
        matrix.sort_indices()  # scikit-learn leaves the terms of a row in no order
    for name in ("indptr", "indices", "data"):
        require(np.array_equal(getattr(mine, name), getattr(other, name)), f"{name} differs")


# ---------------------------------------------------------------------------------- in processes of their own


def prepare_vowpal_wabbit(folder: Path, quick: bool) -> Inputs:
    try:
        importlib.import_module("vowpalwabbit")
    except ImportError as error:
        raise LeftOutError(f"vowpalwabbit cannot be imported: {error}") from error
    inputs = prepare_reviews(folder, quick)
    inputs.vowpal_path = str(folder / "reviews.vw")
    first, word = min(inputs.labels), re.compile(r"\b\w\w+\b")
    with open(inputs.vowpal_path, "w", encoding="utf-8") as file:
        for label, text in zip(inputs.labels, inputs.texts, strict=True):
            # The words are cut and lowered beforehand: less work for it than for us.
            file.write(f"{-1 if label == first else 1} | {' '.join(word.findall(text.lower()))}\n")
    return inputs


def learn_vowpal_wabbit(inputs: Inputs) -> dict[str, Any]:
    outcome: dict[str, Any] = tasks.learn_vowpal_wabbit(inputs.vowpal_path)["outcome"]
    return outcome


def fit_rows(inputs: Inputs) -> dict[str, Any]:
    return {"rows": fit_table(inputs).rows}


def learned_all_rows(inputs: Inputs, ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    # Another model, so only the work is compared: each side learns every row once.
    for side in (ours, theirs):
        require(side["rows"] == len(inputs.texts), f"{side['rows']} of {len(inputs.texts)} rows were learned")


def same_description(inputs: Inputs, ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    require(ours["digest"] == theirs["digest"], "the vocabularies differ")
    sums, expected = np.array(ours["sums"]), np.array(theirs["sums"])
    relatively_close(sums, expected, 1e-10, "the sum of feature_log_prob")


def prepare_imports(folder: Path, quick: bool) -> Inputs:
    """Compile our modules, as an installer does; Python may have been told not to keep what it compiles."""
    compileall.compile_dir(Path(discern.__file__).parent, quiet=1)
    return Inputs()


def importing(statement: str) -> Side:
    return command(lambda inputs: [sys.executable, "-c", statement])


# ------------------------------------------------------------------------------------------------ model files


def prepare_model_file(folder: Path, quick: bool) -> Inputs:
    words = [word for word in vocabulary((TYPES // 10 if quick else TYPES) + 100) if len(word) > 1]
    words = words[: TYPES // 10 if quick else TYPES]
    documents = [" ".join(words[start : start + 100]) for start in range(0, len(words), 100)]
    labels = ["ham" if row % 2 else "spam" for row in range(len(documents))]
    shared = len(documents) // 3  # terms that both classes have
    documents += documents[:shared]
    labels += ["spam" if row % 2 else "ham" for row in range(shared)]
    model = discern.Classifier(smoothing=1.0).fit({"label": labels, "text": documents})
    inputs = Inputs(model_path=str(folder / "large.discern"), slim_path=str(folder / "slim.discern"))
    model.save(inputs.model_path)
    model.save(inputs.slim_path, slim=True)
    inputs.message = " ".join(words[100:112])
    inputs.label, inputs.documents = model.predict_one(inputs.message), documents[:50]
    inputs.joint, inputs.terms = model.log_joint(inputs.documents), model.solved.terms
    require(inputs.terms == len(words), f"the model has {inputs.terms} terms, not {len(words)}")
    return inputs


def load_slim_model(inputs: Inputs) -> Any:
    return discern.load(inputs.slim_path)


def first_message(inputs: Inputs, model: Any) -> str:
    return model.predict_one(inputs.message)


def same_as_saved(inputs: Inputs, ours: Any, theirs: None) -> None:
    require(ours.solved.terms == inputs.terms, "terms were lost")
    close(ours.log_joint(inputs.documents), inputs.joint, 0, "log_joint")


def same_label_as_saved(inputs: Inputs, ours: str, theirs: None) -> None:
    require(ours == inputs.label, "the label differs")


# ---------------------------------------------------------------------------------------------------- threads


def prepare_threads(folder: Path, quick: bool) -> Inputs:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if cores < 2:
        raise LeftOutError("there is only one core")
    table = read(REVIEWS, folder)
    texts, settings = as_texts(table["text"], "the reviews"), TextSettings()
    return Inputs(table=table, texts=texts, labels=table["label"].to_pylist(), settings=settings)


def count_with_two(inputs: Inputs) -> Counts:
    return Counts.of(inputs.texts, inputs.labels, inputs.settings, threads=2)


def count_with_one(inputs: Inputs) -> Counts:
    return Counts.of(inputs.texts, inputs.labels, inputs.settings, threads=1)


def same_counts(inputs: Inputs, ours: Counts, theirs: Counts) -> None:
    require(ours == theirs, "the counts differ")
    weights = [solve(counts, NaiveBayesSettings()).weights for counts in (ours, theirs)]
    require(np.array_equal(*weights), "the models differ")


JOBS = (
    Job(
        "arrow-to-model",
        "Arrow table to fitted naive Bayes; the peer starts from list[str]",
        REVIEWS,
        prepare_reviews,
        cpu(fit_table),
        (Peer(SCIKIT_LEARN, Goal("faster", 60, with_avx2=30), same_model, cpu(fit_scikit_learn_lists)),),
    ),
    Job(
        "list-to-model",
        "list[str] to fitted naive Bayes",
        REVIEWS,
        prepare_reviews,
        cpu(fit_list),
        (Peer(SCIKIT_LEARN, Goal("faster", 40), same_model, cpu(fit_scikit_learn_lists)),),
    ),
    Job(
        "csv-to-model",
        "CSV file to fitted naive Bayes; peers: pandas.read_csv and scikit-learn; wc -w in C.UTF-8",
        REVIEWS,
        prepare_reviews,
        cpu(fit_csv),
        (
            Peer("pandas + scikit-learn", Goal("faster", 35), same_model, cpu(fit_scikit_learn_csv)),
            Peer(
                "wc -w",
                Goal("share", 0.5),
                counted_words,
                word_count(),
            ),
        ),
    ),
    Job(
        "arrow-to-predictions",
        "Arrow table to labels; our model is newly loaded, so that the tables of its first use count",
        REVIEWS,
        prepare_predictions,
        cpu(predict_table, fresh=load_model),
        (Peer(SCIKIT_LEARN, Goal("faster", 60), same_predictions, cpu(predict_scikit_learn)),),
    ),
    Job(
        "one-message",
        "predict_one, message by message; the peer is pipeline.predict([message])",
        MESSAGES,
        prepare_messages,
        each(cpu(predict_each)),
        (Peer(SCIKIT_LEARN, Goal("faster", 300), same_labels, each(cpu(predict_each_scikit_learn))),),
        repeats=15,
    ),
    Job(
        "count-vectorizer",
        "CountVectorizer().fit_transform(list[str])",
        REVIEWS,
        prepare_vectorizer,
        cpu(vectorize),
        (Peer(SCIKIT_LEARN, Goal("faster", 20), same_matrix, cpu(vectorize_scikit_learn)),),
    ),
    Job(
        "vowpal-wabbit",
        "Arrow table to fitted naive Bayes; the peer learns one pass from its own text format, words cut and lowered",
        REVIEWS,
        prepare_vowpal_wabbit,
        cpu(fit_rows),
        (Peer("Vowpal Wabbit", Goal("faster", 5), learned_all_rows, cpu(learn_vowpal_wabbit)),),
    ),
    Job(
        "vowpal-wabbit/csv",
        "CSV file to fitted naive Bayes, in a new process; the peer as before, in a new process",
        REVIEWS,
        prepare_vowpal_wabbit,
        task("learn-ours", lambda inputs: inputs.path),
        (
            Peer(
                "Vowpal Wabbit",
                Goal("faster", 5, informative=True),
                learned_all_rows,
                task("learn-vowpal-wabbit", lambda inputs: inputs.vowpal_path),
            ),
        ),
    ),
    Job(
        "memory",
        "peak memory of a process that trains from a CSV file",
        REVIEWS,
        prepare_reviews,
        task("memory-ours", lambda inputs: inputs.path),
        (
            Peer(
                "pandas + scikit-learn",
                Goal("share", 0.3),
                same_description,
                task("memory-scikit-learn", lambda inputs: inputs.path),
            ),
        ),
        unit="bytes",
        repeats=3,
        quick_repeats=1,
    ),
    Job(
        "import",
        "python -c 'import discern'",
        None,
        prepare_imports,
        importing("import discern"),
        (Peer("import numpy", Goal("share", 1.3), nothing_to_check, importing("import numpy")),),
        repeats=40,
        quick_repeats=3,
    ),
    Job(
        "import/classifier",
        "python -c 'from discern import Classifier': with what the plain import puts off",
        None,
        prepare_imports,
        importing("from discern import Classifier"),
        (Peer("import numpy", Goal("share", 1.3), nothing_to_check, importing("import numpy")),),
        repeats=40,
        quick_repeats=3,
    ),
    Job(
        "load",
        "discern.load of a model with 300,000 terms",
        None,
        prepare_model_file,
        wall(load_model),
        (Peer("", Goal("limit", 0.020), same_as_saved),),
        unit="seconds",
        repeats=30,
    ),
    Job(
        "load/slim",
        "the same, saved without its statistics",
        None,
        prepare_model_file,
        wall(load_slim_model),
        (Peer("", Goal("limit", 0.020, informative=True), same_as_saved),),
        unit="seconds",
        repeats=30,
    ),
    Job(
        "load/first-message",
        "the first predict_one after loading it",
        None,
        prepare_model_file,
        wall(first_message, fresh=load_model),
        (Peer("", Goal("limit", 200e-6), same_label_as_saved),),
        unit="seconds",
        repeats=30,
    ),
    Job(
        "two-threads",
        "counting with two threads; the peer is ours with one",
        REVIEWS,
        prepare_threads,
        wall(count_with_two),
        (Peer("one thread", Goal("faster", 1.6, informative=True), same_counts, wall(count_with_one)),),
        unit="seconds",
        repeats=15,
    ),
)
