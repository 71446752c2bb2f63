"""What every estimator that takes texts must do; scikit-learn's own suite runs a single check on such estimators."""

import copy
import pickle
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import get_tags

import discern
from tests.unit.estimators.text_checks import (
    CHECKS,
    ESTIMATORS,
    GRIDS,
    LABELS,
    ODD_TEXTS,
    OTHER_LABELS,
    OTHER_TEXTS,
    TEXTS,
    WRAPPERS,
    any_kind,
    check,
    decides,
    fresh,
    result,
    said,
    same,
    vectorizes,
)

# --------------------------------------------------------------------------------------------- kinds of inputs


def readonly(values):
    array = np.array(values)
    array.flags.writeable = False
    return array


INPUTS = {
    "tuple": tuple,
    "array_of_strings": np.array,
    "read_only_array": readonly,
    "array_of_objects": lambda values: np.array(values, object),
    "iterator": iter,
    "pandas_series": pandas.Series,
    "polars_series": polars.Series,
    "arrow_array": pyarrow.array,
    "arrow_chunks": lambda values: pyarrow.chunked_array([values[:3], values[3:]]),
    "large_strings": lambda values: pyarrow.array(values, pyarrow.large_string()),
}
for name, make in INPUTS.items():

    def inputs_are_alike(estimator, make=make):
        fitted = clone(estimator).fit(make(TEXTS), LABELS)
        same(result(fitted), result(fresh(estimator)))
        if vectorizes(estimator):
            same(fitted.transform(make(TEXTS)).toarray(), result(fitted))
        else:
            same(said(fitted, make(TEXTS)), said(fitted, TEXTS))

    inputs_are_alike.__name__ = f"a_{name}_is_as_a_list"
    check(any_kind)(inputs_are_alike)


@check(any_kind)
def a_frame_with_another_index_is_as_a_list(estimator):
    series = pandas.Series(TEXTS, index=range(100, 100 + len(TEXTS)))
    same(result(clone(estimator).fit(series, LABELS)), result(fresh(estimator)))


@check(any_kind)
def a_string_in_place_of_a_list_is_refused(estimator):
    with pytest.raises(ValueError, match=r"string object received|not a single text"):
        clone(estimator).fit("one text", ["spam"])
    with pytest.raises(ValueError, match=r"string object received|not a single text"):
        result(fresh(estimator), "one text")


@check(any_kind)
def a_missing_text_is_refused(estimator):
    for missing in (None, np.nan):
        with pytest.raises((ValueError, TypeError), match=r"row \d|invalid document"):
            result(fresh(estimator), ["hello", missing])


@check(any_kind)
def odd_texts_each_have_their_row(estimator):
    found = result(fresh(estimator), ODD_TEXTS)
    assert len(found) == len(ODD_TEXTS)
    assert not np.isnan(found).any()
    same(found[:3], np.repeat(found[:1], 3, axis=0))


@check(any_kind)
def odd_texts_can_be_learned(estimator):
    texts = [*TEXTS, *ODD_TEXTS]
    model = fresh(estimator, texts, LABELS + ["ham"] * len(ODD_TEXTS))
    assert len(result(model, texts)) == len(texts)


@check(any_kind)
def no_texts_have_no_rows(estimator):
    assert result(fresh(estimator), []).shape == (0, result(fresh(estimator)).shape[1])


# -------------------------------------------------------------------------------------------------------- rows


@check(any_kind)
def rows_keep_their_order(estimator):
    order = np.random.default_rng(3).permutation(len(TEXTS))
    model = fresh(estimator)
    same(result(model, [TEXTS[place] for place in order]), result(model)[order])


@check(lambda estimator: not isinstance(estimator, discern.OnlineTextClassifier))  # it learns in the order given
def the_order_of_training_does_not_matter(estimator):
    order = np.random.default_rng(4).permutation(len(TEXTS))
    shuffled = fresh(estimator, [TEXTS[place] for place in order], [LABELS[place] for place in order])
    same(result(shuffled), result(fresh(estimator)))


@check(any_kind)
def one_row_alone_is_as_among_many(estimator):
    model = fresh(estimator)
    many = result(model, TEXTS * 50)
    for place, text in enumerate(TEXTS):
        same(result(model, [text])[0], many[place + 25 * len(TEXTS)])


@check(any_kind)
def the_number_of_threads_does_not_matter(estimator):
    with pytest.MonkeyPatch.context() as patch:
        found = []
        for threads in ("1", "2", "5"):
            patch.setenv("DISCERN_THREADS", threads)
            model = fresh(estimator, TEXTS * 40, LABELS * 40)
            found.append(result(model, TEXTS * 40))
    same(found[0], found[1])
    same(found[0], found[2])


@check(any_kind)
def threads_can_share_one(estimator):
    model = fresh(estimator)
    expected = result(model)
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: result(model), range(32)):
            same(found, expected)


@check(any_kind)
def words_never_seen_do_not_change_the_shape(estimator):
    model = fresh(estimator)
    assert result(model, ["zebra quagga okapi"]).shape == (1, result(model).shape[1])


# ----------------------------------------------------------------------------------------------------- copying


@check(any_kind)
def it_survives_pickling(estimator):
    model = fresh(estimator)
    expected = result(model)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        copied = pickle.loads(pickle.dumps(model, protocol))
        same(result(copied), expected)
        assert copied.get_params() == model.get_params()


@check(any_kind)
def it_survives_pickling_before_its_fit(estimator):
    copied = pickle.loads(pickle.dumps(clone(estimator)))
    same(result(copied.fit(TEXTS, LABELS)), result(fresh(estimator)))


@check(any_kind)
def a_deep_copy_stands_alone(estimator):
    model = fresh(estimator)
    expected = result(model)
    copied = copy.deepcopy(model)
    same(result(copied), expected)
    copied.fit(OTHER_TEXTS, OTHER_LABELS)
    same(result(model), expected)


# -------------------------------------------------------------------------------------------- with scikit-learn


def pipeline(estimator):
    return (
        make_pipeline(clone(estimator), discern.BernoulliNB())
        if vectorizes(estimator)
        else Pipeline([("m", estimator)])
    )


@check(any_kind)
def it_works_in_a_pipeline(estimator):
    model = clone(pipeline(estimator)).fit(TEXTS, LABELS)
    assert model.predict(TEXTS).shape == (len(TEXTS),)
    assert set(model.predict(TEXTS)) <= set(LABELS)


@check(any_kind)
def it_works_in_a_grid_search(estimator):
    model = clone(pipeline(estimator))
    name = model.steps[0][0]
    grid = {f"{name}__{key}": values for key, values in GRIDS[type(estimator).__name__].items()}
    search = GridSearchCV(model, grid, cv=2, error_score="raise").fit(TEXTS[:4] * 3, LABELS[:4] * 3)
    assert search.best_params_.keys() == grid.keys()
    assert search.predict(["free prize"]).tolist() == ["spam"]


@check(any_kind)
def it_works_in_cross_validation(estimator):
    found = cross_val_predict(clone(pipeline(estimator)), TEXTS[:4] * 6, LABELS[:4] * 6, cv=3)
    assert (found == np.array(LABELS[:4] * 6)).all()


# ---------------------------------------------------------------------------------------------- vectorizers only


@check(vectorizes)
def fitting_and_transforming_can_be_one_step(estimator):
    same(clone(estimator).fit_transform(TEXTS).toarray(), result(fresh(estimator)))


@check(vectorizes)
def labels_do_not_matter_to_a_vectorizer(estimator):
    same(result(clone(estimator).fit(TEXTS)), result(fresh(estimator)))
    same(clone(estimator).fit_transform(TEXTS, LABELS).toarray(), result(fresh(estimator)))


@check(vectorizes)
def the_matrix_is_well_formed(estimator):
    matrix = fresh(estimator).transform(TEXTS)
    assert matrix.format == "csr"
    assert matrix.dtype == np.dtype(estimator.dtype)
    matrix.check_format(full_check=True)
    assert (np.diff(matrix.indptr) >= 0).all()


@check(vectorizes)
def it_transforms_to_nothing_but_its_matrix(estimator):
    # A sparse matrix cannot be a frame: as in scikit-learn, the choice is not offered.
    assert not hasattr(estimator, "set_output")


@check(lambda estimator: hasattr(estimator, "get_feature_names_out"))
def features_have_names(estimator):
    model = fresh(estimator)
    names = model.get_feature_names_out()
    assert names.dtype == object
    assert len(names) == len(set(names)) == model.transform(TEXTS).shape[1]
    assert all(model.vocabulary_[name] == column for column, name in enumerate(names))


# ---------------------------------------------------------------------------------------------- classifiers only


@check(decides)
def classes_are_sorted_and_all_there(estimator):
    assert fresh(estimator).classes_.tolist() == sorted(set(LABELS))


@check(decides)
def probabilities_sum_to_one_and_agree_with_the_decision(estimator):
    model = fresh(estimator)
    probabilities = model.predict_proba(TEXTS)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)
    assert (model.classes_[probabilities.argmax(axis=1)] == model.predict(TEXTS)).all()


@check(decides)
def labels_may_be_of_any_kind(estimator):
    numbers = np.unique(LABELS, return_inverse=True)[1]
    expected = fresh(estimator).predict_proba(TEXTS)
    for labels in (
        numbers,
        numbers.astype(np.int8),
        numbers * 1000 - 7,
        np.array(LABELS, object),
        pandas.Series(LABELS),
    ):
        model = fresh(estimator, TEXTS, labels)
        same(model.predict_proba(TEXTS), expected)
        assert set(model.predict(TEXTS)) <= set(labels)
    truth = fresh(estimator, TEXTS, numbers == 2)
    assert truth.predict(TEXTS).dtype == bool


@check(decides)
def labels_that_do_not_fit_are_refused(estimator):
    for labels in (LABELS[:-1], np.linspace(0.0, 1.0, len(TEXTS)), np.full(len(TEXTS), np.nan)):
        with pytest.raises(ValueError, match=r"inconsistent|Unknown label type|NaN"):
            fresh(estimator, TEXTS, labels)


@check(decides)
def its_score_is_its_accuracy(estimator):
    model = fresh(estimator)
    assert model.score(TEXTS, LABELS) == np.mean(model.predict(TEXTS) == np.array(LABELS))


# ------------------------------------------------------------------------------------------------------ the run


def checks_of(estimator):
    return [function for applies, function in CHECKS if applies(estimator)]


CASES = [
    pytest.param(estimator, function, id=f"{estimator!r}-{function.__name__}".replace("\n", ""))
    for estimator in ESTIMATORS
    for function in checks_of(estimator)
]


@pytest.mark.parametrize(("estimator", "function"), CASES)
def test_texts(estimator, function):
    function(clone(estimator))


def test_at_least_fifty_checks_of_each_are_executed():
    executed = Counter()
    for estimator in ESTIMATORS:
        executed[type(estimator).__name__] += len(checks_of(estimator))
    assert min(executed.values()) >= 50


def public_estimators():
    kinds = [getattr(discern, name) for name in discern.__all__ if isinstance(getattr(discern, name), type)]
    return [kind for kind in kinds if issubclass(kind, BaseEstimator)]


def test_no_estimator_that_takes_texts_is_forgotten():
    takes_texts = {
        kind for kind in public_estimators() if kind not in WRAPPERS and not get_tags(kind()).input_tags.two_d_array
    }
    assert takes_texts == {type(estimator) for estimator in ESTIMATORS}
