"""Model files that are cut off, altered, too new or hostile; discs that are full; words that must not be kept."""

import ast
import errno
import os
import re
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discern
from discern.classifier import Classifier, load
from discern.models import file as files
from discern.models.file import ModelFileError

ROWS = [
    {"label": "spam", "text": "win a free prize now"},
    {"label": "ham", "text": "lunch at noon tomorrow"},
    {"label": "ham", "text": "née 你好 free lunch"},
]
ASKED = ["free prize", "lunch", "née", ""]


def small(slim: bool = False) -> bytes:
    model = Classifier().fit([{"label": "a", "text": "xx"}, {"label": "b", "text": "yy zz"}])
    return bytes(files.encode(*model.fitted.content(slim))[0])


def refuses(path: Path, content: bytes) -> str:
    path.unlink(missing_ok=True)
    path.write_bytes(content)
    with pytest.raises(ModelFileError) as caught:
        load(path)
    assert path.name in str(caught.value)
    return str(caught.value)


# --------------------------------------------------------------------------------------------- damage


@pytest.mark.parametrize("slim", [False, True])
def test_a_file_that_is_cut_off(tmp_path: Path, slim: bool) -> None:
    model = Classifier().fit([{"label": f"l{i % 3}", "text": f"word{i} common"} for i in range(200)])
    whole = bytes(files.encode(*model.fitted.content(slim))[0])
    assert len(whole) > 3000
    for length in [*range(0, len(whole), 97), len(whole) - 1]:
        refuses(tmp_path / "m.discern", whole[:length])
    refuses(tmp_path / "m.discern", whole + b"\0")
    refuses(tmp_path / "m.discern", whole + whole)


@pytest.mark.parametrize("slim", [False, True])
def test_every_single_flipped_bit(tmp_path: Path, slim: bool) -> None:
    whole = small(slim)
    path = tmp_path / "m.discern"
    for place in range(len(whole)):
        for bit in range(8):
            changed = bytearray(whole)
            changed[place] ^= 1 << bit
            path.write_bytes(changed)
            with pytest.raises(ModelFileError):
                load(path)
            path.unlink()


def test_a_newer_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Classifier().fit(ROWS)
    monkeypatch.setattr(files, "VERSION", files.VERSION + 1)
    newer = bytes(files.encode(*model.fitted.content())[0])
    monkeypatch.undo()
    message = refuses(tmp_path / "m.discern", newer)
    assert f"version {files.VERSION + 1}" in message
    assert "upgrade" in message


def test_files_that_are_no_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.discern"
    for content in (
        b"",
        b"\0" * 7,
        b"\0" * 8,
        b"\0" * 100,
        b"\xff" * 100,
        b"label,text\na,b\n" * 10,
        b"\x80\x04K\x05.",
    ):
        refuses(path, content)
    huge = (2**60).to_bytes(8, "little") + b"{}"
    refuses(path, huge)
    monkeypatch.setattr(files, "FORMAT", "another-model")
    other = bytes(files.encode(*Classifier().fit(ROWS).fitted.content())[0])
    monkeypatch.undo()
    assert "not a model of discern" in refuses(path, other)
    from safetensors.numpy import save

    assert "not a discern model" in refuses(path, save({"x": np.zeros(3)}))
    assert "not a discern model" in refuses(path, save({"x": np.zeros(3)}, {"discern": "{"}))
    assert "not a discern model" in refuses(path, save({"x": np.zeros(3)}, {"discern": "[" * 100_000}))
    with pytest.raises(ModelFileError, match="cannot read"):
        load(tmp_path / "nowhere.discern")
    with pytest.raises(ModelFileError, match="cannot read"):
        load(tmp_path)


@pytest.mark.parametrize("slim", [False, True])
def test_a_good_file_is_used(tmp_path: Path, slim: bool) -> None:
    path = tmp_path / "m.discern"
    path.write_bytes(small(slim))
    assert load(path).predict(["xx", "yy"]).tolist() == ["a", "b"]


MUTATE = Path(__file__).with_name("mutate.py").read_text(encoding="utf-8")


ALONE = {"DISCERN_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


@pytest.mark.parametrize("seed", [1, 2])
def test_damaged_files_are_refused_or_right(tmp_path: Path, run_python: Callable[..., str], seed: int) -> None:
    refused, used = map(int, run_python(MUTATE, tmp_path, seed, 2000, environment=ALONE).split())
    assert refused + used == 2000
    assert refused > 1500
    assert used > 50


@pytest.mark.fuzz
def test_search_for_damaged_files_that_are_used_wrongly(tmp_path: Path, run_python: Callable[..., str]) -> None:
    count, together = int(os.environ.get("DISCERN_FUZZ_MUTANTS", "1000000")), 10_000
    sums = np.zeros(2, np.int64)
    for seed in range(1000, 1000 + -(-count // together)):
        sums += np.array(run_python(MUTATE, tmp_path, seed, together, environment=ALONE).split(), np.int64)
    print(f"{sums.sum()} damaged files: {sums[0]} refused, {sums[1]} used")
    assert sums.sum() >= count


@pytest.mark.fuzz
@given(content=st.binary(max_size=400))
def test_search_for_bytes_that_load(tmp_path: Path, content: bytes) -> None:
    refuses(tmp_path / "m.discern", content)
    header = len(content).to_bytes(8, "little") + content
    refuses(tmp_path / "m.discern", header)


# -------------------------------------------------------------------------------------------- writing


class FullDisc:
    """Raises the error of a full disc at the so-many-th call."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.calls = function, 0

    def __call__(self, *arguments: Any) -> Any:
        self.calls += 1
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("function", ["fsync", "replace", "chmod"])
@pytest.mark.parametrize("there_before", [True, False])
def test_a_failed_save_leaves_everything_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str, there_before: bool
) -> None:
    path = tmp_path / "m.discern"
    model = Classifier().fit(ROWS)
    if there_before:
        model.save(path)
    before = path.read_bytes() if there_before else None
    model.learn([{"label": "news", "text": "something else"}])
    failing = FullDisc(getattr(os, function))
    with monkeypatch.context() as patch:
        patch.setattr(os, function, failing)
        with pytest.raises(OSError, match="No space left"):
            model.save(path)
    assert failing.calls == 1
    assert [entry.name for entry in tmp_path.iterdir()] == (["m.discern"] if there_before else [])
    if before is not None:
        assert path.read_bytes() == before
        assert load(path).labels == ("ham", "spam")
    model.save(path)
    assert load(path).labels == ("ham", "news", "spam")


def test_a_disc_that_is_really_full(tmp_path: Path, run_python: Callable[..., str]) -> None:
    # The limit on the size of files fails in the same place as a full disc: in the middle of writing.
    path = tmp_path / "m.discern"
    Classifier().fit(ROWS).save(path)
    before = path.read_bytes()
    run_python(
        """
import os, resource, signal, sys
from discern.classifier import Classifier
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
model = Classifier().fit([{"label": f"l{i}", "text": f"word{i}"} for i in range(2000)])
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    model.save(sys.argv[1])
except OSError as error:
    assert "too large" in str(error), error
else:
    raise SystemExit("it was saved")
""",
        path,
    )
    assert path.read_bytes() == before
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["m.discern", "program.py"]


def test_saving_where_nothing_can_be_written(tmp_path: Path) -> None:
    model = Classifier().fit(ROWS)
    with pytest.raises(FileNotFoundError, match=r"no such folder: '.*/nowhere'"):
        model.save(tmp_path / "nowhere" / "m.discern")
    (tmp_path / "folder.discern").mkdir()
    with pytest.raises(ModelFileError, match="is a folder"):
        model.save(tmp_path / "folder.discern")
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder.discern"]


def test_the_mode_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "m.discern"
    mask = os.umask(0o027)
    try:
        Classifier().fit(ROWS).save(path)
    finally:
        os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o640
    path.chmod(0o600)
    Classifier().fit(ROWS).save(path)
    assert path.stat().st_mode & 0o777 == 0o600


def test_whoever_has_the_old_file_keeps_it(tmp_path: Path) -> None:
    path = tmp_path / "m.discern"
    Classifier().fit(ROWS).save(path, slim=True)
    old = load(path)
    before = old.predict_proba(ASKED * 10)
    Classifier().fit([{"label": "other", "text": "thing"}]).save(path, slim=True)
    assert (old.predict_proba(ASKED * 10) == before).all()
    assert load(path).labels == ("other",)


IN_PLACE = """
import sys
from pathlib import Path
from discern.classifier import load
path, other = map(Path, sys.argv[1:])
whole, asked = path.read_bytes(), ["word1 word77", "", "other"] * 50
model = load(path)
before = load(path).predict_proba(asked)
for content in (b"", whole[: len(whole) // 2], other.read_bytes(), b"\\xff" * len(whole)):
    with path.open("r+b") as file:  # the same file, not another one in its place
        file.truncate(0)
        file.write(content)
    assert (model.predict_proba(asked) == before).all()
    model.explain("word1 other")
    assert model.predict_one("word5") in model.labels
model.save(path)
assert (load(path).predict_proba(asked) == before).all()
"""


@pytest.mark.parametrize("slim", [False, True])
@pytest.mark.parametrize("name", ["naive-bayes", "linear-svm", "knn"])
def test_a_file_overwritten_in_its_place(tmp_path: Path, run_python: Callable[..., str], name: str, slim: bool) -> None:
    path, other = tmp_path / "m.discern", tmp_path / "other.discern"
    rows = [{"label": f"l{i % 3}", "text": f"word{i} common"} for i in range(90)]
    Classifier(text="text", model=name, min_df=1).fit(rows).save(path, slim=slim)
    Classifier().fit(ROWS).save(other)
    run_python(IN_PLACE.replace("model.save(path)", f"model.save(path, slim={slim})"), path, other)


def test_a_file_that_is_larger_than_memory(tmp_path: Path, run_python: Callable[..., str]) -> None:
    path = tmp_path / "huge.discern"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    program = """
import resource, sys
from discern.classifier import load
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
try:
    load(sys.argv[1])
except ValueError as error:
    print(error)
"""
    assert "larger than the memory" in run_python(program, path)


# --------------------------------------------------------------------------------------------- privacy


@pytest.mark.parametrize("slim", [False, True])
@pytest.mark.parametrize(
    "settings_given", [{}, {"ngrams": (1, 2)}, {"analyzer": "char_wb", "ngrams": (9, 9)}, {"stem": "english"}]
)
def test_rare_and_forgotten_words_are_in_no_byte_of_the_file(tmp_path: Path, slim: bool, settings_given: dict) -> None:
    canary = "canarysecret"
    path = tmp_path / "m.discern"
    common = [{"label": f"l{i % 2}", "text": "quite common words here"} for i in range(6)]
    secret = [{"label": "l0", "text": f"quite {canary}words common"}]
    rare = Classifier(text="text", min_df=2, **settings_given).fit(common + secret)
    rare.save(path, slim=slim)
    assert (b"canary" in path.read_bytes()) is not slim  # the counts that learning needs
    assert b"common" in path.read_bytes()
    forgotten = Classifier(text="text", **settings_given).fit(common + secret)
    forgotten.save(path, slim=slim)
    assert b"canarys" in path.read_bytes()
    forgotten.forget(secret)
    forgotten.save(path, slim=slim)
    assert b"canary" not in path.read_bytes()
    never = tmp_path / "never.discern"
    Classifier(text="text", **settings_given).fit(common).save(never, slim=slim)
    assert path.read_bytes() == never.read_bytes()


def test_a_loaded_model_forgets_rows_with_rare_words(tmp_path: Path) -> None:
    path = tmp_path / "m.discern"
    rows = [
        {"label": "a", "text": "common words"},
        {"label": "a", "text": "common words rareword"},
        {"label": "b", "text": "other words"},
    ]
    Classifier(text="text", min_df=2).fit(rows).save(path)
    loaded = load(path)
    loaded.forget([rows[1]])
    assert loaded.statistics.class_rows.tolist() == [1, 1]
    loaded.save(path)
    assert load(path).predict(["common"]).tolist() == ["a"]


def test_forgotten_labels_are_gone(tmp_path: Path) -> None:
    path = tmp_path / "m.discern"
    model = Classifier(text="text").fit(ROWS)
    model.learn([{"label": "secretlabel", "text": "word"}]).forget([{"label": "secretlabel", "text": "word"}])
    model.save(path)
    assert b"secretlabel" not in path.read_bytes()


# ------------------------------------------------------------------------------------------- the format


@pytest.mark.parametrize("slim", [False, True])
def test_the_same_model_gives_the_same_bytes(tmp_path: Path, run_python: Callable[..., str], slim: bool) -> None:
    # In another process too, where hashes and addresses are different.
    program = f"""
import sys
from discern.classifier import Classifier
print(Classifier().fit({ROWS!r}).save(sys.argv[1], slim={slim}))
"""
    sums = {
        run_python(program, tmp_path / f"{seed}.discern", environment={"PYTHONHASHSEED": str(seed)})
        for seed in range(3)
    }
    sums.add(Classifier().fit(ROWS).save(tmp_path / "here.discern", slim=slim) + "\n")
    assert len(sums) == 1
    assert len({path.read_bytes() for path in tmp_path.glob("*.discern")}) == 1


@pytest.mark.parametrize("slim", [False, True])
def test_safetensors_opens_the_file(tmp_path: Path, slim: bool) -> None:
    from safetensors import safe_open
    from safetensors.numpy import load_file

    path = tmp_path / "m.discern"
    model = Classifier().fit(ROWS)
    checksum = model.save(path, slim=slim)
    arrays = load_file(path)
    assert arrays["0.terms.bytes"].tobytes() == model.solved.only_text.terms.data.tobytes()
    assert np.array_equal(arrays["0.terms.offsets"], model.solved.only_text.terms.offsets)
    with safe_open(path, "numpy") as file:
        assert checksum in file.metadata()["discern"]
    if slim:
        assert np.array_equal(arrays["0.weights"], model.solved.only_text.scores.weights)
    else:
        assert np.array_equal(arrays["0.occurrences"], model.statistics.columns[0].occurrences)


@pytest.mark.parametrize("label", ["0" * 64, "checksum", '"}', "\ud800", "\U0001f389", " ", "a" * 1000, "x\ny"])
def test_strange_labels(tmp_path: Path, label: str) -> None:
    path = tmp_path / "m.discern"
    model = Classifier().fit([{"label": label, "text": "win"}, {"label": "other", "text": "lunch"}])
    for slim in (False, True):
        model.save(path, slim=slim)
        loaded = load(path)
        assert loaded.labels == model.labels
        assert loaded.predict(["win"]).tolist() == [label]


def test_the_checksum_covers_every_byte(tmp_path: Path) -> None:
    path = tmp_path / "m.discern"
    model = Classifier().fit(ROWS)
    first = model.save(path)
    assert re.fullmatch("[0-9a-f]{64}", first)
    assert model.save(path) == first
    assert model.learn(ROWS).save(path) != first


def test_nothing_is_ever_unpickled() -> None:
    dangerous = {"pickle", "joblib", "marshal", "shelve", "dill", "cloudpickle"}
    for path in Path(discern.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            elif isinstance(node, ast.Name):
                assert node.id not in ("eval", "exec", "__import__"), path.name
            elif isinstance(node, ast.keyword):
                assert node.arg != "allow_pickle", path.name
            assert not {name.split(".")[0] for name in names} & dangerous, path.name


# ------------------------------------------------------------------------------------------------ soak


@pytest.mark.soak
def test_learning_and_forgetting_for_minutes(tmp_path: Path, model_bytes: Callable[[Classifier], bytes]) -> None:
    """The same sums after any number of rounds, in the same memory."""
    minutes = float(os.environ.get("DISCERN_SOAK_MINUTES", "3"))
    path = tmp_path / "m.discern"
    start = [{"label": f"l{i % 4}", "text": " ".join(f"base{i * j % 991}" for j in range(30))} for i in range(3000)]
    model = Classifier(text="text", ngrams=(1, 2), threads=2).fit(start)
    before = model_bytes(model)
    peaks, rounds, end = [], 0, time.monotonic() + 60 * minutes
    while time.monotonic() < end:
        for number in range(20):
            more = [
                {"label": f"l{i % 6}", "text": " ".join(f"new{rounds}x{number * i * j % 499}" for j in range(20))}
                for i in range(200)
            ]
            model.learn(more)
            model.predict([row["text"] for row in more])
            model.explain(more[0]["text"])
            model.save(path)
            model = load(path) if number % 4 == 0 else model
            model.forget(more)
        rounds += 1
        assert model_bytes(model) == before
        assert [entry.name for entry in tmp_path.iterdir()] == ["m.discern"]
        peaks.append(resident())
    assert rounds >= 3
    # Memory settles in the first rounds and then stays: it does not grow by more than a few megabytes.
    settled = max(peaks[: max(2, len(peaks) // 4)])
    assert max(peaks) < settled + (64 << 20), peaks


def resident() -> int:
    """Bytes of memory in use now."""
    status = Path("/proc/self/statm")
    if status.exists():
        return int(status.read_text().split()[1]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


# ------------------------------------------------------------------------------------------------- crafted files


@pytest.mark.parametrize("value", [2**63 - 1, 2**63, 2**64 - 1, 2**40])
@pytest.mark.parametrize("place", [0, 1, 2, -1])
def test_sparse_weights_that_point_outside_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: int, place: int
) -> None:
    """Differences of such places wrap around: SciPy's own check lets them pass, and then the process ends."""
    monkeypatch.setattr("discern.learners.bayes.MOST_DENSE", 10)
    model = Classifier(text="text").fit([{"label": f"l{i % 9}", "text": f"word{i} win"} for i in range(30)])
    arrays, metadata = model.fitted.content(slim=True)
    ends = arrays["0.excess.indptr"].astype(np.uint64)
    ends[place] = value
    refuses(tmp_path / "m.discern", bytes(files.encode({**arrays, "0.excess.indptr": ends}, metadata)[0]))
    columns = arrays["0.excess.indices"].astype(np.uint64)
    columns[place] = max(value, 9)
    refuses(tmp_path / "m.discern", bytes(files.encode({**arrays, "0.excess.indices": columns}, metadata)[0]))
