"""Labels of rows that may have several: the same sets from all containers, and sentences for what makes no sense."""

import numpy as np
import pandas
import polars
import pyarrow
import pytest

from discern import Classifier
from discern.data.batch import Batch
from discern.data.label_sets.reading import LabelSets
from discern.data.label_sets.sets import Membership, labels_in, renamed_sets, set_text
from discern.data.readers import batches
from discern.data.strings import DataError
from discern.data.values import likely_separator

SETS = [["oil", "corn"], [], ["tea"], ["corn", "corn"]]
TEXTS = [set_text(one) for one in SETS]


def read(source, separator="", columns=()):
    found = LabelSets(separator, tuple(columns)).of_batches(batches(source), "label")
    return [text for batch in found for text in batch.columns["label"]]


@pytest.mark.parametrize(
    "source",
    [
        [{"label": one, "text": "a"} for one in SETS],
        [{"label": {*one}, "text": "a"} for one in SETS],
        [{"label": tuple(one), "text": "a"} for one in SETS],
        {"label": [np.array(one, object) for one in SETS], "text": ["a"] * 4},
        pyarrow.table({"label": SETS, "text": ["a"] * 4}),
        pyarrow.table({"label": pyarrow.chunked_array([SETS[:1], SETS[1:]]), "text": ["a"] * 4}),
        polars.DataFrame({"label": SETS, "text": ["a"] * 4}),
        pandas.DataFrame({"label": SETS, "text": ["a"] * 4}),
        pandas.DataFrame({"label": [{*one} for one in SETS], "text": ["a"] * 4}),
    ],
)
def test_lists_of_all_containers_are_the_same_sets(source):
    assert read(source) == TEXTS


@pytest.mark.parametrize("missing", ["", None, float("nan")])
def test_texts_with_a_separator(missing):
    column = ["oil|corn", missing, " tea ", "corn||corn"]
    assert read({"label": column, "text": ["a"] * 4}, "|") == TEXTS


def test_columns_of_flags():
    rows = {"corn": [1, 0, 0, 1], "oil": [True, False, False, False], "tea": ["0", "", "1.0", "false"]}
    assert read({**rows, "text": ["a"] * 4}, columns=rows) == TEXTS


def test_numbers_and_truth_values_are_labels():
    assert read([{"label": [1, 2.0, True], "text": ""}]) == [set_text(["1", "2", "true"])]


@pytest.mark.parametrize(
    ("source", "separator", "columns", "message"),
    [
        ([{"label": ["a"], "text": ""}, {"label": "b", "text": ""}], "", (), "row 2 .*'b' is not a list of labels"),
        ([{"label": ["a"], "text": ""}, {"label": None, "text": ""}], "", (), "row 2 .*labels are missing"),
        ([{"label": ["a\x1fb"], "text": ""}], "", (), "control character"),
        ([{"label": ["a", ""], "text": ""}], "", (), "not a label"),
        ([{"label": ["a|b"], "text": ""}], "|", (), "contains the separator"),
        ([{"label": "a", "text": ""}], "", (), "all of them lists, or pass label_separator"),
        ({"a": [2], "text": [""]}, "", ("a",), "2 is neither 1 nor 0"),
        ({"a": [1], "text": [""]}, "", ("a", "aa"), "no column 'aa'"),
        ({"a": [1], "label": ["x"], "text": [""]}, "", ("a",), "beside those of labels_from"),
    ],
)
def test_what_makes_no_sense_is_a_sentence(source, separator, columns, message):
    with pytest.raises(DataError, match=message):
        read(source, separator, columns)


def test_a_model_of_one_label_a_row_refuses_lists():
    model = Classifier().fit([{"label": "a", "text": "x"}, {"label": "b", "text": "y"}])
    for labels in (["a"], {"a"}):
        with pytest.raises(DataError, match="lists of labels"):
            model.learn([{"label": labels, "text": "x"}])


def test_membership_of_no_set_and_of_empty_sets():
    assert Membership.of([]).labels == ()
    assert Membership.of([set_text([])]).matrix.shape == (1, 0)
    assert Membership.of(TEXTS).truth(np.array([0, 1])).tolist() == [[True, True, False], [False] * 3]


def test_names_of_sets_keep_their_order_or_are_refused():
    sets = sorted({set_text(["a", "b"]), "a!"})
    assert labels_in(renamed_sets({"a": "x", "a!": "x!", "b": "y"}, sets)[set_text(["a", "b"])]) == ["x", "y"]
    with pytest.raises(ValueError, match="order of sets"):
        renamed_sets({"a": "a", "a!": "a\t", "b": "b"}, sets)


def test_a_frequent_separator_is_likely_where_its_parts_are_labels_too():
    assert likely_separator({"a": 1, "b": 1, "a;b": 1, "c": 2, "c;a": 1}) == ";"
    assert likely_separator({"Smith, John": 9, "Doe, Jane": 9}) is None
    assert likely_separator({"a": 99, "b": 99, "a|b": 1}) is None
    rows = [{"label": label, "text": "x1"} for label in ("a", "b", "a|b", "c")]
    with pytest.warns(UserWarning, match=r"pass label_separator='\|'"):
        assert len(Classifier().fit(rows).labels) == 4


def test_batches_without_labels_are_left_as_they_are():
    batch = Batch({"text": ["a"]}, 1)
    assert LabelSets("|").of_batch(batch, "label") is batch
