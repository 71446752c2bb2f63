"""The checks of estimators that take texts: what they are made of, parameters and fits.

A new estimator is one line in ``ESTIMATORS``; a new check is one function under ``@check``.
"""

import copy
import inspect
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import estimator_checks_generator

import discern

ESTIMATORS = [
    discern.CountVectorizer(),
    discern.CountVectorizer(analyzer="char_wb", ngram_range=(1, 3), binary=True),
    discern.HashingVectorizer(n_features=512, key=7),
    discern.HashingVectorizer(n_features=4096, key=1, analyzer="char", ngram_range=(2, 3), norm=None),
    discern.OnlineTextClassifier(),
    discern.OnlineTextClassifier(analyzer="char_wb", ngram_range=(2, 3), passes=2, learning_rate=0.5),
    discern.TfidfVectorizer(),
    discern.UnigramLanguageModel(),
    discern.UnigramLanguageModel(smoothing=discern.JelinekMercer(0.4), unknown="zero", stem="english"),
]
GRIDS = {
    "CountVectorizer": {"ngram_range": [(1, 1), (1, 2)]},
    "HashingVectorizer": {"norm": ["l1", "l2"]},
    "OnlineTextClassifier": {"ngram_range": [(1, 1), (1, 2)]},
    "TfidfVectorizer": {"sublinear_tf": [True, False]},
    "UnigramLanguageModel": {"smoothing": [0.1, discern.Dirichlet(5.0)]},
}
WRAPPERS = (discern.CalibratedClassifier, discern.DecisionClassifier)
"""They stand around another estimator and take what it takes."""
TEXTS = [
    "Win a free prize, win now",
    "hello there, see you at lunch",
    "free free prize!",
    "lunch at noon; see you there",
    "naïve café ÉTÉ straße",
    "我们喜欢 ภาษาไทย नमस्ते",
    "x",
    "now or never, now",
]
LABELS = ["spam", "ham", "spam", "ham", "ham", "other", "other", "spam"]
OTHER_TEXTS, OTHER_LABELS = ["entirely different words", "words of other kinds"], ["left", "right"]
ODD_TEXTS = ["", " ", "\n\r\n", "\ud800 lone", "\x00 nul", "\u200b", "a" * 100_000, "free\u2028prize", "né"]

CHECKS = []


def check(applies):
    """Register a check for the estimators that it applies to."""

    def register(function):
        CHECKS.append((applies, function))
        return function

    return register


def any_kind(estimator):
    return True


def vectorizes(estimator):
    return hasattr(estimator, "transform")


def decides(estimator):
    return hasattr(estimator, "predict")


def needs_fit(estimator):
    return get_tags(estimator).requires_fit


def fresh(estimator, texts=TEXTS, labels=LABELS):
    return clone(estimator).fit(texts, labels)


def result(estimator, texts=TEXTS):
    """Everything that an estimator says of texts, a row each, as one array."""
    if vectorizes(estimator):
        return estimator.transform(texts).toarray()
    return np.hstack([said(estimator, texts), estimator.predict_proba(texts)])


def said(estimator, texts):
    """The scores of a classifier."""
    if hasattr(estimator, "log_prob"):
        return estimator.log_prob(texts)
    scores = estimator.decision_function(texts)
    return scores[:, np.newaxis] if scores.ndim == 1 else scores


def same(left, right):
    np.testing.assert_array_equal(left, right)


# -------------------------------------------------------------------------------------------------- parameters


@check(any_kind)
def parameters_make_a_round_trip(estimator):
    parameters = estimator.get_params()
    assert set(parameters) == set(inspect.signature(type(estimator)).parameters)
    assert clone(estimator).set_params(**parameters).get_params() == parameters
    assert type(estimator)(**parameters).get_params() == parameters


@check(any_kind)
def a_clone_has_the_parameters_and_nothing_learned(estimator):
    copied = clone(fresh(estimator))
    assert copied.get_params() == estimator.get_params()
    assert not [name for name in vars(copied) if name.endswith("_") and not name.startswith("_")]


@check(any_kind)
def making_one_checks_and_adds_nothing(estimator):
    made = type(estimator)(**dict.fromkeys(estimator.get_params(), "nonsense"))
    assert set(vars(made)) == set(estimator.get_params())


@check(any_kind)
def it_can_be_made_without_arguments(estimator):
    made = type(estimator)()
    assert len(result(made.fit(TEXTS, LABELS))) == len(TEXTS)
    assert type(estimator).__name__ in repr(made)
    assert estimator._repr_html_()


@check(any_kind)
def an_unknown_parameter_is_refused(estimator):
    with pytest.raises(ValueError, match="no_such_parameter"):
        clone(estimator).set_params(no_such_parameter=1)


@check(any_kind)
def a_bad_parameter_is_named_when_fitting(estimator):
    constraints = type(estimator)._parameter_constraints
    checked = [name for name, rules in constraints.items() if rules != "no_validation"]
    assert len(checked) >= 5
    for name in checked:
        with pytest.raises(ValueError, match=f"'{name}' parameter of {type(estimator).__name__} must be"):
            clone(estimator).set_params(**{name: object()}).fit(TEXTS, LABELS)


@check(any_kind)
def fitting_changes_no_parameter(estimator):
    before = {name: copy.deepcopy(value) for name, value in estimator.get_params().items()}
    fitted = clone(estimator)
    values = fitted.get_params()
    assert result(fitted.fit(TEXTS, LABELS)).shape[0] == len(TEXTS)
    assert fitted.get_params() == before
    assert all(fitted.get_params()[name] is value for name, value in values.items())


@check(any_kind)
def its_tags_say_that_it_takes_texts(estimator):
    tags = get_tags(estimator).input_tags
    assert tags.string
    assert not tags.two_d_array


@check(any_kind)
def scikit_learns_own_checks_hold(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns that it leaves texts to others
        checks = list(estimator_checks_generator(clone(estimator)))
    assert checks
    for checked, function in checks:
        function(checked)


# ----------------------------------------------------------------------------------------------------- fitting


@check(any_kind)
def fit_gives_itself(estimator):
    model = clone(estimator)
    assert model.fit(TEXTS, LABELS) is model


@check(any_kind)
def fitting_twice_is_fitting_once(estimator):
    model = fresh(estimator)
    once = result(model)
    same(result(model.fit(TEXTS, LABELS)), once)


@check(any_kind)
def a_second_fit_forgets_the_first(estimator):
    again = fresh(estimator).fit(OTHER_TEXTS, OTHER_LABELS)
    expected = fresh(estimator, OTHER_TEXTS, OTHER_LABELS)
    same(result(again), result(expected))
    assert sorted(vars(again)) == sorted(vars(expected))


@check(any_kind)
def two_of_a_kind_agree(estimator):
    same(result(fresh(estimator)), result(fresh(estimator)))


@check(any_kind)
def the_input_stays_as_it_was(estimator):
    texts, labels = list(TEXTS), list(LABELS)
    model = clone(estimator).fit(texts, labels)
    result(model, texts)
    assert (texts, labels) == (TEXTS, LABELS)


@check(any_kind)
def what_was_given_out_can_be_changed(estimator):
    model = fresh(estimator)
    expected = result(model)
    given = model.transform(TEXTS) if vectorizes(model) else said(model, TEXTS)
    (given.data if vectorizes(model) else given)[:] = 99
    same(result(model), expected)


@check(needs_fit)
def without_a_fit_it_says_so(estimator):
    methods = (
        "transform",
        "predict",
        "predict_proba",
        "log_prob",
        "decision_function",
        "get_feature_names_out",
        "inverse_transform",
    )
    for method in methods:
        if hasattr(estimator, method):
            arguments = () if method == "get_feature_names_out" else (TEXTS,)
            with pytest.raises(NotFittedError):
                getattr(clone(estimator), method)(*arguments)


@check(lambda estimator: not needs_fit(estimator))
def without_a_fit_it_works_all_the_same(estimator):
    same(result(clone(estimator)), result(fresh(estimator)))


@check(needs_fit)
def a_failed_fit_leaves_no_half_model(estimator):
    model = clone(estimator)
    with pytest.raises(ValueError, match=r"vocabulary|words"):
        model.fit(["", " "], ["a", "b"])
    with pytest.raises(NotFittedError):
        result(model)
