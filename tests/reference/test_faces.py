"""The scikit-learn faces give what scikit-learn gives."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse
import scipy.stats
import sklearn.feature_extraction.text as reference_text
import sklearn.naive_bayes as reference_bayes
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import discern

DOCUMENTS = [
    "Chinese Beijing Chinese",
    "Chinese Chinese Shanghai, and the rest of it",
    "Chinese Macao É x_y naïve café CAFÉ",
    "Tokyo Japan Chinese aб в İstanbul ΟΔΟΣ",
    "नमस्ते दुनिया 我们喜欢 ภาษาไทย",
    "",
    "one\u2028two\x1cthree\xa0four  five\n\nsix",
]

OPTIONS = [
    {},
    {"ngram_range": (1, 2)},
    {"ngram_range": (2, 3)},
    {"analyzer": "char", "ngram_range": (1, 3)},
    {"analyzer": "char_wb", "ngram_range": (2, 5)},
    {"min_df": 2},
    {"max_df": 2},
    {"min_df": 0.3, "max_df": 0.9},
    {"max_features": 5},
    {"max_features": 5, "binary": True},
    {"stop_words": "english"},
    {"stop_words": ["chinese"], "ngram_range": (1, 2)},
    {"lowercase": False},
    {"binary": True, "dtype": np.float32},
    {"strip_accents": "unicode"},
    {"strip_accents": "ascii", "ngram_range": (1, 2)},
    {"token_pattern": r"(?u)\b\w+\b"},
    {"token_pattern": r"\w{3,}"},
    {"token_pattern": r"[a-z]+"},
    {"token_pattern": r"[a-z] [a-z]+|\w+", "ngram_range": (1, 2)},
    {"token_pattern": r"\S+"},
    {"token_pattern": r"(\w)\w*"},
    {"token_pattern": r"(?<=h)\w+"},
    {"tokenizer": str.split, "token_pattern": None, "ngram_range": (1, 2)},
    {"preprocessor": str.upper},
    {"analyzer": str.split},
    {"vocabulary": ["tokyo", "chinese", "absent"]},
    {"vocabulary": {"tokyo": 1, "chinese": 0}},
]


def same_matrix(left, right):
    assert left.shape == right.shape
    assert left.dtype == right.dtype
    assert type(left) is type(right)
    assert (left != right).nnz == 0


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_count_vectorizer_equals_the_reference(options):
    ours, theirs = discern.CountVectorizer(**options), reference_text.CountVectorizer(**options)
    same_matrix(ours.fit_transform(DOCUMENTS), theirs.fit_transform(DOCUMENTS))
    assert ours.vocabulary_ == theirs.vocabulary_
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    same_matrix(ours.transform(DOCUMENTS[::-1]), theirs.transform(DOCUMENTS[::-1]))


def test_ascii_patterns_run_natively_and_equal_the_reference():
    documents = ["One fish, two-fish: 3 fish", "red fish; e-mail me@example.org"]
    for pattern in (r"[a-z]+", r"\S+", r"[\w-]+", r"\d|[^\W\d]+", r"(\w)\w*", r"\b[a-z]{3}\b"):
        ours, theirs = (
            module.CountVectorizer(token_pattern=pattern, ngram_range=(1, 2)) for module in (discern, reference_text)
        )
        same_matrix(ours.fit_transform(documents), theirs.fit_transform(documents))
        assert ours._settings(documents) is not None


text = st.text(st.characters(), max_size=40)


@given(st.lists(text, min_size=1, max_size=6), st.sampled_from([o for o in OPTIONS[:13] if "min_df" not in o]))
def test_count_vectorizer_on_any_text(documents, options):
    ours, theirs = discern.CountVectorizer(**options), reference_text.CountVectorizer(**options)
    try:
        expected = theirs.fit_transform(documents)
    except ValueError as error:
        with pytest.raises(ValueError, match=str(error)[:20]):
            ours.fit_transform(documents)
        return
    same_matrix(ours.fit_transform(documents), expected)
    assert ours.vocabulary_ == theirs.vocabulary_


def test_vectorizer_inputs_and_errors(tmp_path):
    (tmp_path / "a.txt").write_bytes("naïve text".encode("latin-1"))
    options = {"input": "filename", "encoding": "latin-1"}
    ours, theirs = discern.CountVectorizer(**options), reference_text.CountVectorizer(**options)
    names = [str(tmp_path / "a.txt")]
    same_matrix(ours.fit_transform(names), theirs.fit_transform(names))
    same_matrix(
        discern.CountVectorizer().fit_transform([b"some bytes"]),
        reference_text.CountVectorizer().fit_transform([b"some bytes"]),
    )
    for documents, message in [
        ("text", "string object received"),
        ([np.nan], "invalid document"),
        (["a"], "empty vocab"),
    ]:
        with pytest.raises(ValueError, match=message):
            discern.CountVectorizer().fit_transform(documents)
    with pytest.raises(ValueError, match="no terms remain"):
        discern.CountVectorizer(min_df=2, max_df=2).fit_transform(["one two", "three"])


def test_vectorizer_survives_pickling_cloning_and_a_second_fit():
    vectorizer = discern.CountVectorizer().fit(DOCUMENTS)
    copy = pickle.loads(pickle.dumps(vectorizer))
    same_matrix(copy.transform(DOCUMENTS), vectorizer.transform(DOCUMENTS))
    assert not hasattr(clone(vectorizer), "vocabulary_")
    assert list(vectorizer.fit(["other words"]).vocabulary_) == ["other", "words"]
    assert vectorizer.inverse_transform(vectorizer.transform(["words"]))[0].tolist() == ["words"]


def test_vectorizer_takes_arrow_columns():
    import pyarrow as pa

    same_matrix(
        discern.CountVectorizer().fit_transform(pa.chunked_array([DOCUMENTS[:3], DOCUMENTS[3:]])),
        discern.CountVectorizer().fit_transform(DOCUMENTS),
    )


def test_equal_hashing_vectorizers_return_equal_columns():
    documents = ["one fish two fish", "red fish"]
    for key in (None, 5):
        first, second = discern.HashingVectorizer(key=key), discern.HashingVectorizer(key=key)
        assert (first.transform(documents) != second.transform(documents)).nnz == 0
    # The default never changes: a model that was trained yesterday still finds its columns.
    columns = discern.HashingVectorizer(n_features=1000).transform(["fish"]).indices
    assert columns.tolist() == [701]


def test_a_secret_key_is_drawn_once_and_kept_with_the_model():
    documents = ["one fish two fish", "red fish"]
    first, second = (discern.HashingVectorizer(key="secret") for _ in range(2))
    assert (first.transform(documents) != second.transform(documents)).nnz > 0
    assert (first.transform(documents) != discern.HashingVectorizer().transform(documents)).nnz > 0
    copy = pickle.loads(pickle.dumps(first))
    assert copy.key_ == first.key_
    assert (copy.transform(documents) != first.transform(documents)).nnz == 0
    given = discern.HashingVectorizer(key=first.key_)
    assert (given.transform(documents) != first.transform(documents)).nnz == 0


@pytest.mark.parametrize("norm", ["l1", "l2", "max", None])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_hashed_rows_have_unit_length(norm, dtype):
    rows = discern.HashingVectorizer(norm=norm, dtype=dtype).transform([*DOCUMENTS, ""])
    theirs = reference_text.HashingVectorizer(norm=norm, dtype=dtype).transform([*DOCUMENTS, ""])
    assert rows.dtype == theirs.dtype == dtype
    np.testing.assert_allclose(abs(rows).sum(axis=1), abs(theirs).sum(axis=1), rtol=1e-6)
    np.testing.assert_allclose(rows.multiply(rows).sum(axis=1), theirs.multiply(theirs).sum(axis=1), rtol=1e-6)


@pytest.mark.parametrize(
    "options", [{}, {"norm": "l1"}, {"norm": None, "alternate_sign": False}, {"binary": True}], ids=str
)
def test_hashed_columns_hold_what_the_reference_holds(options):
    wide = {"n_features": 2**24, **options}
    ours = discern.HashingVectorizer(key=1, **wide).transform(DOCUMENTS)
    theirs = reference_text.HashingVectorizer(**wide).transform(DOCUMENTS)
    for row in range(len(DOCUMENTS)):
        assert sorted(abs(ours[[row]].data)) == pytest.approx(sorted(abs(theirs[[row]].data)), abs=1e-15)


counts = st.integers(0, 4)
PAIRS = [
    ("MultinomialNB", {}),
    ("MultinomialNB", {"alpha": 0.1, "fit_prior": False}),
    ("MultinomialNB", {"alpha": [0.5, 1, 2, 0.1]}),
    ("MultinomialNB", {"alpha": 0.0, "force_alpha": False}),
    ("BernoulliNB", {}),
    ("BernoulliNB", {"alpha": 0.3, "binarize": 1.0}),
    ("BernoulliNB", {"class_prior": [0.2, 0.3, 0.5]}),
    ("ComplementNB", {}),
    ("ComplementNB", {"norm": True, "alpha": 0.5}),
]


@pytest.mark.parametrize(("name", "options"), PAIRS, ids=str)
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_naive_bayes_equals_the_reference(name, options, sparse, weighted):
    random = np.random.default_rng(3)
    X, y = random.poisson(1.0, (60, 4)), random.choice(["a", "b", "c"], 60)
    weights = random.random(60) if weighted else None
    X = scipy.sparse.csr_array(X) if sparse else X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = getattr(discern, name)(**options).fit(X, y, sample_weight=weights)
        theirs = getattr(reference_bayes, name)(**options).fit(X, y, sample_weight=weights)
    for attribute in ("class_count_", "feature_count_", "class_log_prior_", "feature_log_prob_"):
        np.testing.assert_allclose(getattr(ours, attribute), getattr(theirs, attribute), rtol=1e-12, atol=1e-12)
    for method in ("predict_joint_log_proba", "predict_log_proba", "predict_proba"):
        np.testing.assert_allclose(getattr(ours, method)(X), getattr(theirs, method)(X), rtol=1e-12, atol=1e-12)
    ranked = np.sort(theirs.predict_joint_log_proba(X), axis=1)
    clear = ranked[:, -1] - ranked[:, -2] > 1e-9  # ties are decided by rounding
    assert clear.sum() > 40
    assert ours.predict(X)[clear].tolist() == theirs.predict(X)[clear].tolist()


@pytest.mark.parametrize("name", ["MultinomialNB", "BernoulliNB", "ComplementNB"])
def test_parts_merge_and_forget(name):
    random = np.random.default_rng(4)
    X, y = random.poisson(1.0, (50, 6)), random.choice(["a", "b", "c"], 50)
    kind = getattr(discern, name)
    whole = kind().fit(X, y)
    stream = kind()
    for part in np.array_split(np.arange(50), 7):
        stream.partial_fit(X[part], y[part])
    merged = kind().fit(X[:20], y[:20]).merge(kind().fit(X[20:], y[20:]))
    longer = kind().fit(np.vstack([X, X[:9] + 1]), [*y, *["new"] * 9]).forget(X[:9] + 1, ["new"] * 9)
    for other in (stream, merged, longer):
        assert other.classes_.tolist() == whole.classes_.tolist()
        assert np.array_equal(other.feature_count_, whole.feature_count_)
        assert np.array_equal(other.feature_log_prob_, whole.feature_log_prob_)
        assert np.array_equal(other.predict_proba(X), whole.predict_proba(X))


def test_a_new_class_is_never_counted_as_another():
    model = discern.MultinomialNB().partial_fit([[1, 0]], ["a"], classes=["a", "b"])
    model.partial_fit([[0, 5]], ["c"])
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.class_count_.tolist() == [1, 0, 1]
    assert model.predict([[0, 1]]).tolist() == ["c"]


def test_rows_never_learned_are_refused_and_nothing_changes():
    model = discern.MultinomialNB().fit([[1, 0], [0, 1]], ["a", "b"])
    for X, y in [([[5, 0]], ["a"]), ([[1, 0]], ["z"]), ([[1, 0], [0, 1]], ["a", "b"])]:
        with pytest.raises(ValueError, match=r"cannot forget|cannot forget all rows"):
            model.forget(X, y)
    assert model.feature_count_.tolist() == [[1, 0], [0, 1]]


def test_smoothings_of_the_multinomial_face():
    X, y = [[3, 1, 0], [0, 1, 4]], ["a", "b"]
    mixed = discern.MultinomialNB(smoothing=discern.JelinekMercer(0.5)).fit(X, y)
    corpus = np.array([3, 2, 4]) / 9
    np.testing.assert_allclose(np.exp(mixed.feature_log_prob_[0]), 0.5 * np.array([3, 1, 0]) / 4 + 0.5 * corpus)
    added = discern.MultinomialNB(smoothing=discern.Dirichlet(2.0)).fit(X, y)
    np.testing.assert_allclose(np.exp(added.feature_log_prob_[0]), (np.array([3, 1, 0]) + 2 * corpus) / 6)


def test_pipelines_and_grid_search():
    documents, labels = DOCUMENTS[:4] * 3, ["yes", "yes", "yes", "no"] * 3
    pipeline = make_pipeline(discern.CountVectorizer(), discern.MultinomialNB())
    search = GridSearchCV(pipeline, {"multinomialnb__alpha": [0.1, 1.0]}, cv=3).fit(documents, labels)
    assert search.predict(["Chinese Beijing"]).tolist() == ["yes"]
    assert pickle.loads(pickle.dumps(search)).predict(["Tokyo"]).tolist() == search.predict(["Tokyo"]).tolist()


def test_the_full_likelihood_is_that_of_the_multinomial_distribution() -> None:
    random = np.random.default_rng(3)
    counts, labels = random.poisson(2.0, (40, 6)), random.integers(0, 3, 40)
    model = discern.MultinomialNB().fit(counts, labels)
    asked = np.vstack([random.poisson(1.5, (8, 6)), np.zeros((1, 6), int)])
    expected = np.array(
        [
            [
                prior + scipy.stats.multinomial.logpmf(row, row.sum(), np.exp(weights))
                for prior, weights in zip(model.class_log_prior_, model.feature_log_prob_, strict=True)
            ]
            for row in asked
        ]
    )
    np.testing.assert_allclose(model.full_joint_log_proba(asked), expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(
        model.full_joint_log_proba(scipy.sparse.csr_array(asked)), expected, rtol=1e-10, atol=1e-10
    )
