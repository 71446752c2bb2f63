"""What a learner of texts must not depend on: batches, kinds of columns, names of classes, copies."""

import pickle
from itertools import pairwise

import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discern
from discern.data.readers import batches
from discern.data.strings import Strings

WORDS = ["win", "prize", "lunch", "noon", "see", "you", "straße", "a_word_that_is_too_long_for_a_slot", "x"]
ROWS = st.lists(
    st.tuples(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join), st.sampled_from(["a", "b", "c", "d"])),
    min_size=1,
    max_size=30,
).filter(
    lambda rows: (
        len({label for _, label in rows}) > 1 and any(len(word) > 1 for text, _ in rows for word in text.split())
    )
)


def columns(rows):
    return [text for text, _ in rows], [label for _, label in rows]


def learned(model):
    return model.classes_.tolist(), model.vocabulary_, model.coef_.tobytes(), model.intercept_.tobytes()


@given(ROWS, st.lists(st.integers(0, 30), max_size=5))
@settings(max_examples=60, deadline=None)
def test_the_cuts_between_batches_do_not_matter(rows, cuts):
    model = discern.OnlineTextClassifier()
    places = sorted({0, len(rows), *(min(cut, len(rows)) for cut in cuts)})
    for start, end in pairwise(places):
        model.partial_fit(*columns(rows[start:end]))
    assert learned(model) == learned(discern.OnlineTextClassifier().fit(*columns(rows)))


@given(ROWS)
@settings(max_examples=40, deadline=None)
def test_a_copy_goes_on_as_the_model_does(rows):
    texts, labels = columns(rows)
    model = discern.OnlineTextClassifier(ngram_range=(1, 2)).fit(texts, labels)
    copied = pickle.loads(pickle.dumps(model))
    assert learned(copied) == learned(model)
    more = (texts[::-1], ["e", *labels[1:]])
    assert learned(copied.partial_fit(*more)) == learned(model.partial_fit(*more))


@given(ROWS)
@settings(max_examples=40, deadline=None)
def test_names_of_classes_do_not_matter(rows):
    texts, labels = columns(rows)
    other = dict(zip("abcd", (3, 1, 2, 0), strict=True))
    model = discern.OnlineTextClassifier().fit(texts, labels)
    renamed = discern.OnlineTextClassifier().fit(texts, [other[label] for label in labels])
    scores, expected = (found.predict_proba(texts) for found in (renamed, model))
    order = [renamed.classes_.tolist().index(other[label]) for label in model.classes_]
    np.testing.assert_allclose(scores[:, order], expected, rtol=1e-12)


@pytest.fixture
def rows():
    generator = np.random.default_rng(3)
    texts = [" ".join(generator.choice(WORDS, 9)) for _ in range(500)]
    return texts, generator.choice(["a", "b", "c"], 500).tolist()


def test_columns_of_all_kinds_and_files_are_alike(rows, tmp_path):
    texts, labels = rows
    expected = learned(discern.OnlineTextClassifier().fit(texts, labels))
    kinds = (tuple, np.array, pyarrow.array, Strings.of, lambda values: pyarrow.array(values, pyarrow.string_view()))
    for kind in kinds:
        assert learned(discern.OnlineTextClassifier().fit(kind(texts), labels)) == expected
    table = pyarrow.table({"label": labels, "text": texts})
    path = tmp_path / "rows.csv"
    path.write_text("text,label\n" + "".join(f'"{text}",{label}\n' for text, label in zip(*rows, strict=True)))
    for source in (table, path, iter([table.slice(0, 7), table.slice(7)]), batches(path)):
        assert learned(discern.OnlineTextClassifier().fit_rows(source)) == expected
    renamed = table.rename_columns(["kind", "review"])
    assert learned(discern.OnlineTextClassifier().fit_rows(renamed, text="review", label="kind")) == expected


def test_a_second_pass_is_the_same_rows_once_more(rows, tmp_path):
    texts, labels = rows
    twice = discern.OnlineTextClassifier().fit(texts * 2, labels * 2)
    assert learned(discern.OnlineTextClassifier(passes=2).fit(texts, labels)) == learned(twice)
    table = pyarrow.table({"label": labels, "text": texts})
    assert learned(discern.OnlineTextClassifier(passes=2).fit_rows(table)) == learned(twice)


def test_classes_named_beforehand_begin_at_once(rows):
    texts, labels = rows
    named = discern.OnlineTextClassifier().partial_fit(texts[:1], labels[:1], classes=["c", "b", "a", "never"])
    assert named.classes_.tolist() == ["a", "b", "c", "never"]
    assert np.count_nonzero(named.intercept_) == 4
    assert named.predict_proba(texts).shape == (500, 4)
    assert named.predict(texts[:1]).tolist() == labels[:1]
