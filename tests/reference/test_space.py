"""tf–idf, selection and neighbors give what scikit-learn, or comparing with every row, gives."""

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse
import sklearn.feature_extraction.text as reference_text
import sklearn.feature_selection as reference_selection
import sklearn.neighbors as reference_neighbors
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics import mutual_info_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import discern
from discern.learners.neighbors.rows import CosineRows, EuclideanRows, HammingRows
from discern.learners.neighbors.votes import Neighbors
from discern.statistics.counts import Counts
from discern.statistics.selection import Contingency, best_terms, rank_terms, scores_by_class
from discern.statistics.weighting import Weighting

DOCUMENTS = [
    "Chinese Beijing Chinese",
    "Chinese Chinese Shanghai, and the rest of it",
    "Tokyo Japan Chinese aб в naïve café CAFÉ",
    "",
    "the rest, the rest, the rest and Tokyo",
]
WEIGHTINGS = [
    {"norm": norm, "use_idf": idf, "smooth_idf": smooth, "sublinear_tf": sublinear}
    for norm in ("l2", "l1", None)
    for idf, smooth in ((True, True), (True, False), (False, True))
    for sublinear in (False, True)
]

# ---------------------------------------------------------------------------------------------------- tf–idf


def close(ours, theirs):
    assert type(ours) is type(theirs)
    assert ours.dtype == theirs.dtype
    np.testing.assert_allclose(ours.toarray(), theirs.toarray(), rtol=1e-12 if ours.dtype == np.float64 else 1e-6)


@pytest.mark.parametrize("options", WEIGHTINGS, ids=str)
@pytest.mark.parametrize(
    "more", [{}, {"ngram_range": (1, 2), "min_df": 2}, {"binary": True}, {"dtype": np.float32}], ids=str
)
def test_tfidf_vectorizer_equals_the_reference(options, more):
    ours, theirs = (module.TfidfVectorizer(**options, **more) for module in (discern, reference_text))
    close(ours.fit_transform(DOCUMENTS), theirs.fit_transform(DOCUMENTS))
    close(ours.transform(DOCUMENTS[::-1]), theirs.transform(DOCUMENTS[::-1]))
    close(ours.fit(DOCUMENTS).transform(["Tokyo unseen"]), theirs.transform(["Tokyo unseen"]))
    assert ours.vocabulary_ == theirs.vocabulary_
    if options["use_idf"]:
        np.testing.assert_allclose(ours.idf_, theirs.idf_, rtol=1e-12 if not more.get("dtype") else 1e-6)
    assert (pickle.loads(pickle.dumps(ours)).transform(DOCUMENTS) != ours.transform(DOCUMENTS)).nnz == 0


@pytest.mark.parametrize("options", WEIGHTINGS, ids=str)
@pytest.mark.parametrize(
    "make", [np.asarray, scipy.sparse.csr_matrix, scipy.sparse.csc_array, lambda X: X.astype(np.float32)]
)
def test_tfidf_transformer_equals_the_reference(options, make):
    counts = make(np.random.default_rng(1).poisson(0.7, (30, 12)) + np.eye(30, 12, dtype=int))
    before = counts.copy()
    ours, theirs = (module.TfidfTransformer(**options) for module in (discern, reference_text))
    close(ours.fit_transform(counts), theirs.fit_transform(counts))
    assert abs(counts - before).max() == 0


def test_idf_can_be_given():
    ours, theirs = (module.TfidfVectorizer(vocabulary=["tokyo", "chinese"]) for module in (discern, reference_text))
    for vectorizer in (ours, theirs):
        vectorizer.idf_ = np.array([3.0, 0.5])
    close(ours.transform(DOCUMENTS), theirs.transform(DOCUMENTS))
    with pytest.raises(ValueError, match=r"norm"):
        discern.TfidfVectorizer(norm="l3").fit(DOCUMENTS)


def test_the_idf_comes_from_the_counts():
    counts = Counts.of(DOCUMENTS, ["a"] * 5, discern.TextSettings(tokenizer="sklearn"))
    theirs = reference_text.TfidfVectorizer().fit(DOCUMENTS)
    np.testing.assert_allclose(Weighting().idf_of(counts), theirs.idf_, rtol=1e-12)


# ------------------------------------------------------------------------------------------------- selection


@pytest.mark.parametrize("labels", [2, 3, 12])
@pytest.mark.parametrize(
    "make", [np.asarray, scipy.sparse.csr_array, lambda X: scipy.sparse.csc_matrix(X.astype(float))]
)
def test_scores_of_features_equal_the_reference(labels, make):
    random = np.random.default_rng(labels)
    X, y = random.poisson(random.random(40) * 0.8, (300, 40)), random.integers(0, labels, 300)
    X[:, 3], X[:, 4] = 0, 1
    for ours, theirs in zip(discern.chi2(make(X), y), reference_selection.chi2(make(X), y), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-20)  # a constant column has zero, to rounding
    expected = [mutual_info_score(y, column != 0) for column in X.T]
    np.testing.assert_allclose(discern.mutual_information(make(X), y), expected, rtol=1e-10, atol=1e-14)


def test_many_classes_and_terms_are_summed_sparsely(monkeypatch):
    random = np.random.default_rng(3)
    X, y = scipy.sparse.random_array((200, 3000), density=0.01, rng=random, format="csr"), random.integers(0, 90, 200)
    X.data[:] = random.integers(1, 4, X.nnz)
    dense = Contingency.of_matrix(X, y, 90)
    monkeypatch.setattr("discern.statistics.selection.max", lambda *_: 0, raising=False)
    sparse = Contingency.of_matrix(X, y, 90)
    for name in ("terms", "classes", "values", "sizes"):
        np.testing.assert_array_equal(getattr(sparse, name), getattr(dense, name))


def test_counts_and_matrices_give_the_same_scores():
    texts, labels = ["win the prize", "the lunch", "win win the lunch", "free prize"], ["spam", "ham", "spam", "spam"]
    vectorizer, counts = discern.CountVectorizer(), Counts.of(texts, labels)
    X = vectorizer.fit_transform(texts)
    ranking = rank_terms(counts)
    expected = dict(zip(vectorizer.get_feature_names_out(), zip(*discern.chi2(X, labels), strict=True), strict=True))
    assert len(ranking) == len(expected)
    assert [score for _, score, _, _ in ranking] == sorted((score for score, _ in expected.values()), reverse=True)
    for term, score, p_value, _ in ranking:
        np.testing.assert_allclose((score, p_value), expected[term], rtol=1e-10)
    assert {term: label for term, _, _, label in ranking}["lunch"] == "ham"
    mask = best_terms(counts, 2)
    assert mask.tolist() == discern.SelectKBest(discern.chi2, k=2).fit(X, labels).get_support().tolist()
    informed = best_terms(counts, 2, "mutual_information")
    assert (
        informed.tolist() == discern.SelectKBest(discern.mutual_information, k=2).fit(X, labels).get_support().tolist()
    )
    assert len(counts.with_terms(mask).terms) == 2


@pytest.mark.parametrize("score", ["chi2", "mutual_information"])
def test_the_best_of_each_class_are_those_of_one_against_the_rest(score):
    random = np.random.default_rng(5)
    X, y = random.poisson(0.5, (200, 30)), random.integers(0, 4, 200)
    function = getattr(discern, score)
    columns = [np.atleast_2d(function(X, y == label))[0] for label in range(4)]
    model = discern.SelectKBest(function, k=3, per_class=True).fit(X, y)
    np.testing.assert_allclose(model.class_scores_.T, columns, rtol=1e-9, atol=1e-13)
    wanted = {int(place) for column in columns for place in np.argsort(column, kind="stable")[-3:]}
    assert set(np.flatnonzero(model.get_support())) == wanted
    table = Contingency.of_matrix(X, y, 4, presence=score != "chi2")
    np.testing.assert_allclose(scores_by_class(table, score), model.class_scores_)


def test_selection_refuses_what_it_cannot_score():
    with pytest.raises(ValueError, match="per_class needs"):
        discern.SelectKBest(k=1, per_class=True).fit([[1, 2], [3, 4], [2, 2], [1, 5]], [0, 1, 0, 1])
    with pytest.raises(ValueError, match="Negative"):
        discern.chi2([[-1.0], [1.0]], [0, 1])
    counts = Counts.of(["one two"], ["a"])
    with pytest.raises(ValueError, match="score must be one of"):
        best_terms(counts, 1, "chi3")
    with pytest.raises(ValueError, match="unknown label 'z'"):
        rank_terms(counts, label="z")


# ------------------------------------------------------------------------------------------------ neighbors


def ranked(distances, count):
    """The nearest by distance and then by row, from all distances, queries × rows."""
    rows = np.broadcast_to(np.arange(distances.shape[1]), distances.shape)
    order = np.lexsort((rows, distances))[:, :count]
    return np.take_along_axis(distances, order, axis=1), order


def every_distance(kind, rows, queries):
    """Compare each query with every row, summing in the order of the columns."""
    if kind is CosineRows:
        similarities = np.stack([rows.matrix() @ query for query in queries.matrix().toarray()])
        return np.clip(1.0 - similarities, 0.0, 2.0)
    left, right = queries.matrix(), rows.matrix()
    if kind is HammingRows:
        return (left[:, None] != right[None]).sum(axis=2) / rows.n_features
    squares = np.zeros((len(left), len(right)))
    for column in range(rows.n_features):
        squares += (left[:, [column]] - right[:, column]) ** 2
    return np.sqrt(squares)


def documents(random, rows, width, negative=False):
    """Rows of counts by Zipf's law, so that there are common terms, some rows twice, some without a term."""
    table = random.poisson(np.minimum(3.0, 6.0 / np.arange(1, width + 1)), (rows, width)).astype(float)
    table[rows // 2] = table[0]
    table[rows // 3] = 0
    return table * random.choice([-1.0, 1.0], table.shape) if negative else table


@pytest.mark.parametrize("kind", [CosineRows, EuclideanRows, HammingRows])
@pytest.mark.parametrize(("rows", "width"), [(40, 5), (900, 150)])
@pytest.mark.parametrize("negative", [False, True])
def test_neighbors_are_those_of_comparing_with_every_row(kind, rows, width, negative, monkeypatch):
    random = np.random.default_rng(rows)
    table = documents(random, rows + 25, width, negative)
    if kind is HammingRows:
        table = table != 0
    known, queries = kind.of(table[:rows]), kind.of(table[rows:])
    distances = every_distance(kind, known, queries)
    for threads in ("1", "3"):
        monkeypatch.setenv("DISCERN_THREADS", threads)
        for count in (1, 7, rows):
            found, places = known.nearest(queries, count)
            expected, order = ranked(distances, count)
            np.testing.assert_array_equal(places, order)
            np.testing.assert_array_equal(found, expected)
    itself = every_distance(kind, known, known)
    np.fill_diagonal(itself, np.inf)
    np.testing.assert_array_equal(known.nearest(known, 3, np.arange(rows))[1], ranked(itself, 3)[1])


@given(st.integers(0, 2**32 - 1), st.sampled_from([CosineRows, EuclideanRows, HammingRows]))
def test_neighbors_of_small_whole_numbers_with_many_ties(seed, kind):
    random = np.random.default_rng(seed)
    rows, width = int(random.integers(2, 700)), int(random.integers(1, 12))
    table = random.integers(0, 2 if kind is HammingRows else 3, (rows + 3, width)).astype(float)
    known, queries, count = kind.of(table[:rows]), kind.of(table[rows:]), int(random.integers(1, rows + 1))
    expected, order = ranked(every_distance(kind, known, queries), count)
    found, places = known.nearest(queries, count)
    np.testing.assert_array_equal(places, order)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("shift", [0.0, 1e9, 1e200])
@pytest.mark.parametrize("spread", [1e-3, 1.0, 1e30])
def test_far_and_crowded_rows_do_not_lose_neighbors(shift, spread):
    random = np.random.default_rng(9)
    table = shift + spread * random.standard_normal((3000, 4))
    table[::2] = table[0]
    table[7] *= 1e6
    known, queries = EuclideanRows.of(table), EuclideanRows.of(np.vstack([table[:6], table[-3:] * 3]))
    with np.errstate(over="ignore"):
        expected, order = ranked(every_distance(EuclideanRows, known, queries), 5)
    found, places = known.nearest(queries, 5)
    np.testing.assert_array_equal(places, order)
    np.testing.assert_array_equal(found, expected)


def shown(options: dict[str, Any]) -> str:
    """Return options as the name of a test: the same in every process, also for a function."""
    return ", ".join(f"{name}={'own' if callable(value) else value}" for name, value in options.items()) or "defaults"


CLASSIFIERS = [
    {},
    {"n_neighbors": 1},
    {"weights": "distance"},
    {"weights": lambda distances: np.exp(-distances)},
    {"metric": "cosine", "n_neighbors": 8},
    {"metric": "cosine", "weights": "distance"},
    {"metric": "manhattan"},
    {"algorithm": "kd_tree"},
]


@pytest.mark.parametrize("options", CLASSIFIERS, ids=shown)
@pytest.mark.parametrize("load", [load_iris, load_digits])
def test_classifier_equals_the_reference(options, load):
    X, y = load(return_X_y=True)
    X = X + np.random.default_rng(2).random(X.shape) * 1e-3  # no ties: scikit-learn breaks them in no fixed way
    ours, theirs = (module.KNeighborsClassifier(**options) for module in (discern, reference_neighbors))
    ours.fit(X[::2], y[::2])
    theirs.fit(X[::2], y[::2])
    X = X[1::2]  # of a row itself scikit-learn's distance is not quite zero
    np.testing.assert_array_equal(ours.kneighbors(X)[1], theirs.kneighbors(X)[1])
    np.testing.assert_allclose(ours.kneighbors()[0], theirs.kneighbors()[0], atol=1e-12)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert (ours.kneighbors_graph(X) != theirs.kneighbors_graph(X)).nnz == 0


def test_bits_equal_the_reference():
    random = np.random.default_rng(4)
    X, y = random.integers(0, 2, (200, 70)), random.integers(0, 3, 200)
    ours, theirs = (
        module.KNeighborsClassifier(metric="hamming", n_neighbors=9) for module in (discern, reference_neighbors)
    )
    ours.fit(X, y)
    theirs.fit(X, y)
    np.testing.assert_allclose(ours.kneighbors()[0], theirs.kneighbors()[0], rtol=1e-12)
    assert ours._fit_method == "discern"
    assert discern.KNeighborsClassifier(metric="hamming").fit(X * 2, y)._fit_method == "brute"


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_the_number_of_neighbors_is_the_best_of_leaving_one_out(weights):
    X, y = load_iris(return_X_y=True)
    X = X[::2] + np.random.default_rng(0).random((75, 4)) * 1e-3
    y = y[::2]
    chosen = discern.KNeighborsClassifier("auto", weights=weights).fit(X, y).n_neighbors_
    # Without rows, scikit-learn scores each row by the others.
    accuracies = [
        reference_neighbors.KNeighborsClassifier(k, weights=weights).fit(X, y).score(None, y) for k in range(1, 21)
    ]
    assert chosen <= 20
    assert accuracies[chosen - 1] == max(accuracies)
    assert chosen == int(np.argmax(accuracies)) + 1
    with pytest.raises(ValueError, match="pass a number"):
        discern.KNeighborsClassifier("auto", metric="manhattan").fit(X, y)


@pytest.mark.parametrize(("metric", "file"), [("cosine", True), ("euclidean", False), ("hamming", True)])
def test_rows_can_be_added_forgotten_and_saved(metric, file, tmp_path):
    random = np.random.default_rng(8)
    X, y = random.integers(0, 2, (120, 9)).astype(float), random.choice(["a", "b", "c"], 120)
    X[:, 0] = 1
    model = discern.KNeighborsClassifier(metric=metric).partial_fit(X[:50], y[:50], ids=np.arange(1000, 1050))
    model.partial_fit(X[50:], y[50:])
    assert model.ids_[50] == 1050
    model.partial_fit(X[:5] * 1.0, ["new"] * 5, ids=range(5))
    model.forget([*range(5), *range(1030, 1050)])
    kept = np.r_[0:30, 50:120]
    whole = discern.KNeighborsClassifier(metric=metric).fit(X[kept], y[kept])
    assert model.classes_.tolist() == whole.classes_.tolist()
    path = tmp_path / "neighbors.discern"
    model.save(path)
    loaded = discern.KNeighborsClassifier.load(path)
    for other in (model, loaded, pickle.loads(pickle.dumps(model))):
        for ours, theirs in zip(other.kneighbors(X, 4), whole.kneighbors(X, 4), strict=True):
            np.testing.assert_array_equal(ours, theirs)
        np.testing.assert_array_equal(other.predict_proba(X), whole.predict_proba(X))
    assert loaded.ids_.tolist() == model.ids_.tolist()
    for ids in ([1], [1030]):
        with pytest.raises(ValueError, match="unknown row id"):
            model.forget(ids)
    with pytest.raises(ValueError, match="given twice"):
        model.partial_fit(X[:1], y[:1], ids=[1000])
    assert len(model.ids_) == 100


def test_columns_without_end_are_not_kept(tmp_path):
    wide = scipy.sparse.csr_array((np.ones(2), ([0, 1], [0, 2**23])), shape=(2, 2**23 + 1))
    model = discern.KNeighborsClassifier(1, metric="cosine").fit(wide, ["a", "b"])
    assert model.predict(wide).tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="8,388,609 columns are too many for a file of 2 values"):
        model.save(tmp_path / "neighbors.discern")


def test_rows_may_come_after_the_file(tmp_path):
    model = discern.KNeighborsClassifier(3).fit([[1.0], [2.0]], ["a", "b"])
    model.save(tmp_path / "neighbors.discern")
    loaded = discern.KNeighborsClassifier.load(tmp_path / "neighbors.discern")
    with pytest.raises(ValueError, match="Expected n_neighbors <= n_samples_fit"):
        loaded.predict([[1.0]])
    assert loaded.partial_fit([[3.0]], ["b"]).predict([[1.0]]).tolist() == ["b"]


def test_nothing_forgotten_is_in_the_file(tmp_path):
    rows = Neighbors.of("euclidean", np.array([[1.5], [12345.678]]), np.array([0, 1])).without([1])
    assert rows.arrays()["rows.table"].tolist() == [[1.5]]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rows.terms", np.array([0, 99, 0, 1])),
        ("rows.starts", np.array([0, 9, 4])),
        ("rows.weights", np.array([np.nan, 1.0, 1.0, 1.0])),
        ("classes", np.array([0, 7])),
        ("ids", np.array([0])),
        ("columns", 0),
        ("columns", 2**31),
        ("columns", 2**62),
        ("chosen", 0),
        ("chosen", 2),
        ("names", ["only one"]),
        ("names", ["twice", "twice"]),
        ("names", ["whole", "\ud800"]),
        ("parameters", {"n_neighbors": 1, "metric": "cosine", "weights": "nothing"}),
    ],
)
def test_altered_files_are_refused(name, value, tmp_path):
    from discern.models import file as files

    model = discern.KNeighborsClassifier(1, metric="cosine").fit([[1.0, 2.0], [2.0, 1.0]], ["a", "b"])
    path = tmp_path / "neighbors.discern"
    model.save(path)
    arrays, metadata = files.load(path)
    metadata = {key: one for key, one in metadata.items() if key not in ("format", "version", "checksum")}
    if name in arrays:
        files.save(path, {**arrays, name: value}, metadata)
    else:
        files.save(path, arrays, {**metadata, name: value})
    with pytest.raises(discern.ModelFileError):
        discern.KNeighborsClassifier.load(path)


def test_what_cannot_be_done_is_said():
    X, y = [[0.5, 1.0], [2.0, 3.0], [1.0, 1.0]], [0, 1, 1]
    elsewhere = discern.KNeighborsClassifier(2, metric="manhattan").fit(X, y)
    for act in (lambda: elsewhere.forget([0]), lambda: elsewhere.partial_fit(X, y), lambda: elsewhere.save("nowhere")):
        with pytest.raises(ValueError, match="kept by scikit-learn"):
            act()
    model = discern.KNeighborsClassifier(4).fit(X, y)
    with pytest.raises(ValueError, match="n_neighbors = 4"):
        model.predict(X)
    with pytest.raises(ValueError, match="cannot forget all rows"):
        model.forget([0, 1, 2])
    with pytest.raises(TypeError, match="integer"):
        model.kneighbors(X, 1.5)
    with pytest.raises(ValueError, match="zeros and ones"):
        HammingRows.of(np.array([[2]]))


def test_neighbors_of_texts_explain_themselves():
    texts = ["win a prize now", "free prize inside", "lunch at noon", "meeting after lunch", "noon meeting"]
    labels = ["spam", "spam", "ham", "ham", "ham"]
    pipeline = make_pipeline(discern.TfidfVectorizer(), discern.KNeighborsClassifier(2, metric="cosine")).fit(
        texts, labels
    )
    assert pipeline.predict(["a prize", "lunch meeting"]).tolist() == ["spam", "ham"]
    distances, places = pipeline[-1].kneighbors(pipeline[0].transform(["prize"]), 3)
    assert sorted(places[0, :2]) == [0, 1]
    assert (distances[0, 2], places[0, 2]) == (1.0, 2)  # shares no word: the first of those


@parametrize_with_checks(
    [
        discern.KNeighborsClassifier(metric="cosine", weights="distance"),
    ]
)
@pytest.mark.filterwarnings("ignore")
def test_conformance(estimator, check):
    if check.func.__name__ == "check_classifiers_multilabel_output_format_decision_function":
        assert not hasattr(estimator, "decision_function")  # as scikit-learn's, which skips this check
    else:
        check(estimator)
