"""The jobs of the vector space: tf–idf, neighbors, selection, languages."""

from pathlib import Path
from typing import Any

import numpy as np

import discern
from benchmarks.harness.data import LANGUAGES, NEWS, REVIEWS, read
from benchmarks.harness.job import SCIKIT_LEARN, Goal, Inputs, Job, Peer, nothing_to_check
from benchmarks.harness.measure import Sample, Side, cpu, each, require
from discern.learners.neighbors.rows import CosineRows
from discern.statistics.counts import Counts
from discern.statistics.selection import best_terms


def prepare_texts(folder: Path, quick: bool) -> Inputs:
    table = read(REVIEWS, folder)
    return Inputs(texts=table["text"].to_pylist(), labels=table["label"].to_pylist())


# ---------------------------------------------------------------------------------------------------- tf–idf


def weigh(inputs: Inputs) -> tuple[Any, Any]:
    vectorizer = discern.TfidfVectorizer()
    return vectorizer, vectorizer.fit_transform(inputs.texts)


def weigh_scikit_learn(inputs: Inputs) -> tuple[Any, Any]:
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer()
    return vectorizer, vectorizer.fit_transform(inputs.texts)


def same_weights(inputs: Inputs, ours: tuple[Any, Any], theirs: tuple[Any, Any]) -> None:
    require(ours[0].vocabulary_ == theirs[0].vocabulary_, "the vocabularies differ")
    most = float(abs(ours[1] - theirs[1]).max())
    require(most <= 1e-12, f"the weights differ by {most:.1e}")


# ------------------------------------------------------------------------------------------------ neighbors


def prepare_neighbors(texts: Any, documents: int) -> Any:
    def prepare(folder: Path, quick: bool) -> Inputs:
        from sklearn.neighbors import KNeighborsClassifier

        table = read(texts, folder)
        order = np.random.default_rng(0).permutation(len(table))
        rows, labels = np.array(table["text"].to_pylist(), object)[order], np.array(table["label"].to_pylist())[order]
        queries = min(1_000, len(rows) // 3)
        known = min(documents, len(rows) - queries)
        vectorizer = discern.TfidfVectorizer()
        X, y = vectorizer.fit_transform(rows[:known]), labels[:known]
        return Inputs(
            rows=X,
            queries=vectorizer.transform(rows[known : known + queries]),
            ours=discern.KNeighborsClassifier(metric="cosine").fit(X, y),
            theirs=KNeighborsClassifier(metric="cosine", algorithm="brute", n_jobs=1).fit(X, y),
        )

    return prepare


def prepare_dense(folder: Path, quick: bool) -> Inputs:
    from sklearn.neighbors import KNeighborsClassifier

    random = np.random.default_rng(0)
    rows, queries = (20_000, 200) if quick else (200_000, 2_000)
    X, y = random.standard_normal((rows, 50)), random.integers(0, 2, rows)
    return Inputs(
        rows=X,
        queries=random.standard_normal((queries, 50)),
        ours=discern.KNeighborsClassifier().fit(X, y),
        theirs=KNeighborsClassifier(algorithm="brute", n_jobs=1).fit(X, y),
    )


def find(inputs: Inputs) -> Any:
    return inputs.ours.kneighbors(inputs.queries)


def find_scikit_learn(inputs: Inputs) -> Any:
    return inputs.theirs.kneighbors(inputs.queries)


def find_each(model: str, queries: int) -> Any:
    def work(inputs: Inputs) -> list[Any]:
        kneighbors = getattr(inputs, model).kneighbors
        return [kneighbors(inputs.queries[[row]]) for row in range(queries)]

    return work


def nearest_of_all(distances: Any, ours: Any) -> None:
    """Require the neighbors of comparing with every row, by distance and then by row."""
    rows = np.broadcast_to(np.arange(distances.shape[1]), distances.shape)
    order = np.lexsort((rows, distances))[:, : ours[1].shape[1]]
    require(np.array_equal(ours[1], order), "there are nearer neighbors, or equally near ones of earlier rows")
    require(np.array_equal(ours[0], np.take_along_axis(distances, order, axis=1)), "the distances differ")


def nearest_by_cosine(inputs: Inputs, ours: Any, theirs: Any) -> None:
    require(float(np.abs(ours[0] - theirs[0]).max()) < 1e-9, "the distances differ from the peer's")
    rows, queries = (CosineRows.of(matrix).matrix() for matrix in (inputs.rows, inputs.queries))
    for start in range(0, queries.shape[0], 100):
        part = slice(start, start + 100)
        distances = np.clip(1.0 - (rows @ queries[part].T.toarray()), 0.0, 2.0).T
        nearest_of_all(distances, (ours[0][part], ours[1][part]))


def nearest_by_length(inputs: Inputs, ours: Any, theirs: Any) -> None:
    require(float(np.abs(ours[0] - theirs[0]).max()) < 1e-9, "the distances differ from the peer's")
    squares = np.zeros((50, len(inputs.rows)))
    for column in range(inputs.rows.shape[1]):
        squares += (inputs.queries[:50, [column]] - inputs.rows[:, column]) ** 2
    nearest_of_all(np.sqrt(squares), (ours[0][:50], ours[1][:50]))


# ------------------------------------------------------------------------------------------------- selection

TERMS, SAMPLE = 100_000, 500


def prepare_terms(folder: Path, quick: bool) -> Inputs:
    import scipy.sparse

    random = np.random.default_rng(0)
    X = scipy.sparse.random_array((20_000, TERMS), density=0.0015, format="csr", rng=random)
    X.data = random.integers(1, 4, X.nnz)
    return Inputs(
        rows=scipy.sparse.csr_matrix(X),
        some=scipy.sparse.csr_matrix(X[:, :SAMPLE]) != 0,
        labels=random.integers(0, 2, 20_000),
    )


def inform(inputs: Inputs) -> Any:
    return discern.mutual_information(inputs.rows, inputs.labels)


def inform_scikit_learn() -> Side:
    """Measure some of the terms, and multiply: all would take minutes, each like the other."""

    def work(inputs: Inputs) -> Any:
        from sklearn.feature_selection import mutual_info_classif

        return mutual_info_classif(inputs.some.astype(np.int64), inputs.labels, discrete_features=True)

    def side(inputs: Inputs) -> Sample:
        sample = cpu(work)(inputs)
        return Sample(sample.value * TERMS / SAMPLE, sample.outcome)

    return side


def same_information(inputs: Inputs, ours: Any, theirs: Any) -> None:
    most = float(np.abs(ours[:SAMPLE] - theirs).max())
    require(most <= 1e-12, f"the mutual information differs by {most:.1e}")


def select(inputs: Inputs) -> Counts:
    counts = Counts.of(inputs.texts, inputs.labels)
    return counts.with_terms(best_terms(counts, 1_000))


def count(inputs: Inputs) -> Counts:
    return Counts.of(inputs.texts, inputs.labels)


def best_of_scikit_learn(inputs: Inputs, ours: Counts, theirs: Counts) -> None:
    from sklearn.feature_selection import SelectKBest, chi2

    vectorizer = discern.TfidfVectorizer(use_idf=False, norm=None)
    vectorizer._settings = lambda documents: discern.TextSettings()  # the words of the counts
    chosen = SelectKBest(chi2, k=1_000).fit(vectorizer.fit_transform(inputs.texts), inputs.labels)
    names = vectorizer.get_feature_names_out()[chosen.get_support()]
    require(set(ours.terms.to_list()) == set(names), "other terms were chosen")


# ------------------------------------------------------------------------------------------------- languages

CHARACTERS = {"analyzer": "char_wb", "ngram_range": (1, 4)}


def prepare_languages(folder: Path, quick: bool) -> Inputs:
    table = read(LANGUAGES, folder)
    order = np.random.default_rng(0).permutation(len(table))
    texts, labels = np.array(table["text"].to_pylist(), object)[order], np.array(table["label"].to_pylist())[order]
    learned = int(len(order) * 0.7)
    return Inputs(
        texts=texts[:learned].tolist(),
        labels=labels[:learned].tolist(),
        test=texts[learned:].tolist(),
        answers=labels[learned:],
    )


def learn_languages(inputs: Inputs) -> Any:
    settings = {"analyzer": CHARACTERS["analyzer"], "ngrams": CHARACTERS["ngram_range"]}
    # What Classifier chooses by validation, if it is asked to.
    chosen = {"model": "binary", "smoothing": 0.03}
    return discern.Classifier(**settings, **chosen).fit({"label": inputs.labels, "text": inputs.texts})


def learn_languages_scikit_learn(inputs: Inputs) -> Any:
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.naive_bayes import MultinomialNB
    from sklearn.pipeline import make_pipeline

    return make_pipeline(CountVectorizer(**CHARACTERS), MultinomialNB()).fit(inputs.texts, inputs.labels)


def as_accurate(inputs: Inputs, ours: Any, theirs: Any) -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    margin = make_pipeline(TfidfVectorizer(**CHARACTERS, min_df=2), LinearSVC()).fit(inputs.texts, inputs.labels)
    accuracies = [float(np.mean(model.predict(inputs.test) == inputs.answers)) for model in (ours, theirs, margin)]
    print("accuracy of discern {:.4f}, MultinomialNB {:.4f}, LinearSVC {:.4f}".format(*accuracies), flush=True)
    require(accuracies[0] >= max(accuracies), f"the accuracies are {accuracies}")


JOBS = (
    Job(
        "tfidf-vectorizer",
        "TfidfVectorizer().fit_transform(list[str])",
        REVIEWS,
        prepare_texts,
        cpu(weigh),
        (Peer(SCIKIT_LEARN, Goal("faster", 20), same_weights, cpu(weigh_scikit_learn)),),
    ),
    Job(
        "neighbors",
        "5 nearest by cosine of tf–idf rows: 1,000 queries against 20,000 reviews; the peer is brute force",
        REVIEWS,
        prepare_neighbors(REVIEWS, 20_000),
        cpu(find),
        (Peer(SCIKIT_LEARN, Goal("faster", 5), nearest_by_cosine, cpu(find_scikit_learn)),),
    ),
    Job(
        "neighbors/one",
        "the same, query by query",
        REVIEWS,
        prepare_neighbors(REVIEWS, 20_000),
        each(cpu(find_each("ours", 200))),
        (Peer(SCIKIT_LEARN, Goal("faster", 20), nothing_to_check, each(cpu(find_each("theirs", 10)))),),
    ),
    Job(
        "neighbors/news",
        "5 nearest by cosine: 1,000 queries against 10,314 news articles; the peer is brute force",
        NEWS,
        prepare_neighbors(NEWS, 20_000),
        cpu(find),
        (Peer(SCIKIT_LEARN, Goal("faster", 5, informative=True), nearest_by_cosine, cpu(find_scikit_learn)),),
    ),
    Job(
        "neighbors/dense",
        "5 nearest by Euclidean distance: 2,000 queries against 200,000 × 50; the peer is brute force",
        None,
        prepare_dense,
        cpu(find),
        (Peer(SCIKIT_LEARN, Goal("faster", 1.5), nearest_by_length, cpu(find_scikit_learn)),),
        repeats=5,
    ),
    Job(
        "mutual-information",
        "100,000 terms in 20,000 rows; the peer is mutual_info_classif, timed on 500 terms and multiplied",
        None,
        prepare_terms,
        cpu(inform),
        (Peer(SCIKIT_LEARN, Goal("faster", 1_000), same_information, inform_scikit_learn()),),
        repeats=5,
    ),
    Job(
        "select",
        "list[str] to the 1,000 terms with the highest χ²; the peer is ours, counting only",
        REVIEWS,
        prepare_texts,
        cpu(select),
        (Peer("counting", Goal("share", 1.2), best_of_scikit_learn, cpu(count)),),
    ),
    Job(
        "languages",
        "fit on character n-grams of sentences; at least as accurate as MultinomialNB and LinearSVC",
        LANGUAGES,
        prepare_languages,
        cpu(learn_languages),
        (Peer("scikit-learn MultinomialNB", Goal("faster", 15), as_accurate, cpu(learn_languages_scikit_learn)),),
        repeats=3,
    ),
)
