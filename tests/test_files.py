"""Model files as containers: arrays and metadata in, the same out."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from discern import files
from discern.files import ModelFileError

arrays = st.dictionaries(
    st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1, max_size=8).filter(
        lambda name: name != "__metadata__"
    ),
    st.one_of(
        arrays_of.arrays(np.int64, st.integers(0, 20), elements=st.integers(-(2**63), 2**63 - 1)),
        arrays_of.arrays(np.uint8, st.integers(0, 20)),
        arrays_of.arrays(np.float64, arrays_of.array_shapes(max_dims=2)),
    ),
    max_size=5,
)
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
metadata = st.dictionaries(st.sampled_from(["label", "labels", "settings", "zz"]), plain, max_size=4)


@given(arrays, metadata)
def test_arrays_and_metadata_come_back(tmp_path: Path, given_arrays: dict, given_metadata: dict) -> None:
    path = tmp_path / "m.discern"
    checksum = files.save(path, given_arrays, given_metadata)
    found, described = files.load(path)
    assert described == {
        "format": files.FORMAT,
        "version": files.VERSION,
        "checksum": checksum,
        **given_metadata,
    }
    assert set(found) == set(given_arrays)
    for name, array in given_arrays.items():
        assert np.array_equal(found[name], array, equal_nan=array.dtype.kind == "f")
        assert found[name].shape == array.shape
    content, again = files.encode(given_arrays, given_metadata)
    assert bytes(content) == path.read_bytes()
    assert again == checksum
    path.unlink()


@given(arrays_of.arrays(np.int64, st.integers(0, 20), elements=st.integers(-(2**40), 2**40)))
def test_integers_are_stored_in_the_smallest_type(array: np.ndarray) -> None:
    narrow = files.narrow(array)
    assert np.array_equal(narrow, array)
    if array.size and array.min() >= 0:
        assert narrow.dtype == np.min_scalar_type(int(array.max()))
    elif array.size:
        assert narrow.dtype == np.int64


def test_types_that_discern_does_not_use(tmp_path: Path) -> None:
    path = tmp_path / "m.discern"
    files.save(path, {"x": np.zeros(2, np.float32)}, {})
    with pytest.raises(ModelFileError, match="F32"):
        files.load(path)


def test_numbers_that_are_none_cannot_be_saved(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        files.save(tmp_path / "m.discern", {}, {"zz": float("nan")})
    assert list(tmp_path.iterdir()) == []
