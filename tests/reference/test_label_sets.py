"""Rows with several labels, as a table of zeros and ones, through scikit-learn's interface."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.datasets import make_multilabel_classification
from sklearn.metrics import mutual_info_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier

import discern

X, Y = make_multilabel_classification(150, 25, n_classes=5, n_labels=2, random_state=0)
APART = X + np.random.default_rng(0).random(X.shape)  # no two rows are equally near
BINARY = np.where(X > 2, 1.0, 0.0)
PEERS = {
    "MultinomialNB": sklearn.naive_bayes.MultinomialNB,
    "ComplementNB": sklearn.naive_bayes.ComplementNB,
    "BernoulliNB": sklearn.naive_bayes.BernoulliNB,
    "GaussianNB": sklearn.naive_bayes.GaussianNB,
    "LogisticRegression": sklearn.linear_model.LogisticRegression,
    "LinearSVC": sklearn.svm.LinearSVC,
}


def dense(table):
    return table.toarray() if sp.issparse(table) else np.asarray(table)


@pytest.mark.parametrize("wrapper", [OneVsRestClassifier, MultiOutputClassifier, ClassifierChain])
@pytest.mark.parametrize(
    ("name", "pack"),
    [
        (name, pack)
        for name in PEERS
        for pack in (np.asarray, sp.csr_array)
        if (name, pack) != ("GaussianNB", sp.csr_array)
    ],
)
def test_classifiers_of_two_classes_in_the_wrappers(name, wrapper, pack):
    rows = pack(X[:, :8])
    given = {"max_iter": 2000} if name == "LogisticRegression" else {}
    ours, theirs = (wrapper(model(**given)).fit(rows, Y) for model in (getattr(discern, name), PEERS[name]))
    assert dense(ours.predict(rows)).tolist() == dense(theirs.predict(rows)).tolist()
    if hasattr(theirs, "predict_proba") and name != "LinearSVC":
        shares, expected = (np.array(model.predict_proba(rows)) for model in (ours, theirs))
        np.testing.assert_allclose(shares, expected, atol=2e-3 if name == "LogisticRegression" else 1e-9)


@pytest.mark.parametrize("wrapper", [OneVsRestClassifier])
@pytest.mark.parametrize("name", ["MultinomialNB", "LinearSVC"])
def test_sparse_sets_in_the_wrapper(name, wrapper):
    sparse, full = (wrapper(getattr(discern, name)()).fit(X, sets) for sets in (sp.csr_matrix(Y), Y))
    assert dense(sparse.predict(X)).tolist() == full.predict(X).tolist()


@pytest.mark.parametrize(
    ("metric", "rows"),
    [("cosine", APART), ("cosine", sp.csr_array(APART)), ("euclidean", APART), ("euclidean", sp.csr_array(APART))],
    ids=["cosine", "cosine-sparse", "euclidean", "euclidean-sparse"],
)
@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_neighbors_vote_on_each_label(metric, rows, weights):
    odd = np.column_stack([Y, np.zeros(len(Y), int), np.ones(len(Y), int)])  # labels of no row and of every row
    known, asked = np.arange(100), np.arange(100, 150)
    given = {"metric": metric, "weights": weights, "n_neighbors": 4}
    ours, theirs = (
        library.KNeighborsClassifier(**given).fit(rows[known], odd[known]) for library in (discern, sklearn.neighbors)
    )
    assert (ours._fit_method == "discern") == (metric != "euclidean" or not sp.issparse(rows))
    assert [classes.tolist() for classes in ours.classes_] == [classes.tolist() for classes in theirs.classes_]
    for mine, expected in zip(ours.predict_proba(rows[asked]), theirs.predict_proba(rows[asked]), strict=True):
        np.testing.assert_allclose(mine, expected, atol=1e-12)
    assert ours.predict(rows[asked]).tolist() == theirs.predict(rows[asked]).tolist()
    assert ours.score(rows[asked], odd[asked]) == theirs.score(rows[asked], odd[asked])
    packed = discern.KNeighborsClassifier(**given).fit(rows[known], sp.csr_matrix(odd[known]))
    assert packed.predict(rows[asked]).tolist() == ours.predict(rows[asked]).tolist()


def test_neighbors_by_hamming_vote_on_each_label():
    model = discern.KNeighborsClassifier(metric="hamming", n_neighbors=3).fit(BINARY, Y)
    one = [discern.KNeighborsClassifier(metric="hamming", n_neighbors=3).fit(BINARY, column) for column in Y.T]
    assert model._fit_method == "discern"
    assert model.predict(BINARY).tolist() == np.column_stack([each.predict(BINARY) for each in one]).tolist()


def test_neighbors_vote_on_outputs_of_several_classes():
    outputs = np.column_stack([np.arange(150) % 3, np.arange(150) % 2 + 5])
    ours, theirs = (library.KNeighborsClassifier().fit(APART, outputs) for library in (discern, sklearn.neighbors))
    assert ours.predict(APART).tolist() == theirs.predict(APART).tolist()
    assert ours.predict_proba(APART)[0].tolist() == theirs.predict_proba(APART)[0].tolist()
    again = ours.fit(X, Y[:, 0])
    assert again.predict(X).shape == (150,)
    assert again.partial_fit(X, Y[:, 0]).score(X, Y[:, 0]) > 0.5


def test_what_neighbors_of_several_labels_cannot_do(tmp_path):
    model = discern.KNeighborsClassifier().fit(X, Y)
    for wish in (
        lambda: model.partial_fit(X, Y),
        lambda: model.forget([0]),
        lambda: model.save(tmp_path / "model"),
    ):
        with pytest.raises(ValueError, match="several outputs; use fit"):
            wish()
    with pytest.raises(ValueError, match="one label a row"):
        discern.KNeighborsClassifier("auto").fit(X, Y)


@pytest.mark.parametrize("pack", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("of_sets", [np.asarray, sp.csr_matrix])
def test_selection_by_sets(pack, of_sets):
    rows, sets = pack(X), of_sets(Y)
    expected = sklearn.feature_selection.chi2(rows, Y)
    np.testing.assert_allclose(discern.chi2(rows, sets), expected, rtol=1e-9)
    chosen, peer = (
        selector.fit(rows, sets).get_support()
        for selector in (
            discern.SelectKBest(discern.chi2, k=6),
            sklearn.feature_selection.SelectKBest(lambda X, y: sklearn.feature_selection.chi2(X, Y), k=6),
        )
    )
    assert chosen.tolist() == peer.tolist()
    each = discern.SelectKBest(discern.chi2, k=2, per_class=True).fit(rows, sets)
    best = [np.argsort(sklearn.feature_selection.chi2(rows, column)[0], kind="stable")[-2:] for column in Y.T]
    assert np.flatnonzero(each.get_support()).tolist() == sorted({int(place) for two in best for place in two})
    information = [[mutual_info_score(column, term != 0) for column in Y.T] for term in X.T]
    np.testing.assert_allclose(discern.mutual_information(rows, sets), np.sum(information, axis=1), atol=1e-12)
    by_label = discern.SelectKBest(discern.mutual_information, k=1, per_class=True).fit(rows, sets).class_scores_
    np.testing.assert_allclose(by_label, information, atol=1e-12)


@pytest.mark.parametrize("name", ["RidgeClassifier", "RidgeClassifierCV"])
@pytest.mark.parametrize("of_sets", [np.asarray, sp.csr_matrix])
def test_least_squares_of_sets(name, of_sets):
    ours, theirs = getattr(discern, name)().fit(X, of_sets(Y)), getattr(sklearn.linear_model, name)().fit(X, Y)
    assert ours.predict(X).tolist() == theirs.predict(X).tolist()
