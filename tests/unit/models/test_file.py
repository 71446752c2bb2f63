"""Model files as containers: arrays and metadata in, the same out."""

import errno
import json
import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from discern.data.lock import temporary_file
from discern.models import file as files
from discern.models.file import ModelFileError

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
    content, _ = files.encode({"x": np.zeros(2, np.float32)}, {})
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match="F32"):
        files.load(path)
    with pytest.raises(ModelFileError, match=r"could not be read back .*F32.* unchanged"):
        files.save(path, {"x": np.zeros(2, np.float32)}, {})
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


def test_numbers_that_are_none_cannot_be_saved(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        files.save(tmp_path / "m.discern", {}, {"zz": float("nan")})
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_writer_left_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "m.discern"
    (tmp_path / ".m.discern.killed.part").write_bytes(b"secret")
    (tmp_path / ".other.discern.killed.part").write_bytes(b"not ours")
    with temporary_file(path) as (_, mine):
        files.save(path, {"x": np.zeros(2)}, {})
        assert mine.exists()
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [".other.discern.killed.part", "m.discern"]


# ---------------------------------------------------------------------------------------------- how it is written


def test_the_head_is_compact_sorted_ascii(tmp_path: Path) -> None:
    path = tmp_path / "m.discern"
    digest = files.save(path, {"x": np.arange(3)}, {"zz": "né", "label": [1, 2.5]})
    other = files.encode({"x": np.arange(3)}, {"label": [1, 2.5], "zz": "né"})
    assert bytes(other[0]) == path.read_bytes()
    length = int.from_bytes(path.read_bytes()[:8], "little")
    head = json.loads(path.read_bytes()[8 : 8 + length])["__metadata__"]["discern"]
    assert head == (f'{{"checksum":"{digest}","format":"discern-model","label":[1,2.5],"version":2,"zz":"n\\u00e9"}}')


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([], np.uint8), ([0, 255], np.uint8), ([256], np.uint16), ([2**16 - 1], np.uint16), ([2**16], np.uint32),
        ([2**32 - 1], np.uint32), ([2**32], np.uint64), ([2**63 - 1], np.uint64), ([-1, 5], np.int64),
    ],
)  # fmt: skip
def test_the_smallest_type_at_its_limits(values: list[int], kind: type) -> None:
    assert files.narrow(np.array(values, np.int64)).dtype == kind


def test_other_types_stay_as_they_are() -> None:
    for array in (np.zeros(2), np.zeros(2, np.uint8), np.zeros(2, np.float32)):
        assert files.narrow(array) is array
    assert files.narrow(np.array([1, 2], np.uint64)).dtype == np.uint8


@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_a_new_file_has_the_rights_that_the_process_gives(tmp_path: Path, mask: int) -> None:
    path, before = tmp_path / "m.discern", os.umask(mask)
    try:
        files.save(path, {}, {})
        assert os.umask(mask) == mask  # it was not left changed
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask


def test_a_replaced_file_keeps_its_rights_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "m.discern"
    files.save(path, {}, {"label": "a"})
    path.chmod(0o641)
    opened = path.open("rb")
    before = path.read_bytes()
    files.save(path, {}, {"label": "b"})
    assert stat.S_IMODE(path.stat().st_mode) == 0o641
    assert [one.name for one in tmp_path.iterdir()] == ["m.discern"]
    with opened:
        assert opened.read() == before  # who has the old one open keeps it


def test_file_and_folder_are_forced_to_disc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forced: list[bool] = []
    monkeypatch.setattr(os, "fsync", lambda handle: forced.append(stat.S_ISDIR(os.fstat(handle).st_mode)))
    open_files = len(os.listdir("/proc/self/fd"))
    files.save(tmp_path / "m.discern", {}, {})
    assert forced == [False, True]
    assert len(os.listdir("/proc/self/fd")) == open_files


# ------------------------------------------------------------------------------------------------ how it is read


def refused(path: Path) -> str:
    with pytest.raises(ModelFileError) as caught:
        files.load(path)
    return str(caught.value)


def crafted(path: Path, head: object, arrays: dict[str, Any] | None = None) -> Path:
    """Write a container with any head."""
    from safetensors.numpy import save_file

    told = head if isinstance(head, str) else json.dumps(head)
    save_file(arrays or {"x": np.zeros(2)}, path, {"discern": told})
    return path


def test_files_that_are_too_short(tmp_path: Path) -> None:
    path = tmp_path / "m.discern"
    path.write_bytes(b"1234567")
    assert "too short" in refused(path)
    path.write_bytes(b"12345678")
    assert "too short" not in refused(path)
    assert "cannot read" in refused(tmp_path / "nowhere")


@pytest.mark.parametrize("head", ["[1]", "3", '"discern-model"', '{"format":"other"}', "{}", "{"])
def test_other_heads_are_no_model(tmp_path: Path, head: str) -> None:
    assert "is not a discern model, or it is damaged" in refused(crafted(tmp_path / "m.discern", head))


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_that_are_none_are_refused(tmp_path: Path, number: str) -> None:
    head = f'{{"format":"discern-model","version":2,"zz":{number}}}'
    assert "is not a number" in refused(crafted(tmp_path / "m.discern", head))


@pytest.mark.parametrize("version", [0, 1, 3, None, "2"])
def test_other_versions_are_named(tmp_path: Path, version: object) -> None:
    head = {"format": "discern-model", "version": version, "checksum": "0" * 64}
    told = refused(crafted(tmp_path / "m.discern", head))
    assert f"has format version {version!r}; this discern reads version 2: " in told


@pytest.mark.parametrize("checksum", [None, "", "0" * 63, "0" * 65, "é" * 32])
def test_a_checksum_must_be_there(tmp_path: Path, checksum: object) -> None:
    head = {"format": "discern-model", "version": 2, "checksum": checksum}
    assert "has no checksum" in refused(crafted(tmp_path / "m.discern", head))


def test_a_checksum_that_is_there_twice_or_does_not_fit(tmp_path: Path) -> None:
    path = tmp_path / "m.discern"
    head = {"format": "discern-model", "version": 2, "checksum": "0" * 64}
    assert "its checksum does not match" in refused(crafted(path, head))
    assert "has no checksum" in refused(crafted(path, {**head, "zz": "0" * 64}))


def test_every_byte_is_checked(tmp_path: Path) -> None:
    path = tmp_path / "m.discern"
    files.save(path, {"x": np.array([1.5, 2.5])}, {"label": "a"})
    whole = path.read_bytes()
    for place in range(0, len(whole), 7):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        refused(path)


def test_what_was_loaded_is_not_written_to(tmp_path: Path) -> None:
    path = tmp_path / "m.discern"
    files.save(path, {"x": np.arange(6.0).reshape(2, 3)}, {})
    found = files.load(path)[0]["x"]
    assert found.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    with pytest.raises(ValueError, match="read-only"):
        found[0, 0] = 1.0


def test_faults_while_reading_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.discern"
    files.save(path, {}, {})

    def fails(number: int) -> None:
        def memory(size: int) -> Any:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(files, "_memory", memory)

    fails(errno.ENOMEM)
    assert "larger than the memory there is" in refused(path)
    fails(errno.EIO)
    assert refused(path).endswith("Input/output error")
    monkeypatch.undo()
    monkeypatch.setattr(files, "_memory", lambda size: bytearray(size - 1))
    assert "was cut off while it was read" in refused(path)
