"""The native module: its stub, its failures, its threads, and the ways texts come to it."""

import ast
import inspect
import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discern
from discern import _native
from discern.classifier import Classifier, load
from discern.data.readers import batches
from discern.data.text import TextSettings
from discern.models import file as files
from discern.statistics.counts import Counter, Counts

# ------------------------------------------------------------------------------------------------- the stub


def stub() -> ast.Module:
    return ast.parse(Path(discern.__file__).with_name("_native.pyi").read_text(encoding="utf-8"))


def described(function: ast.FunctionDef) -> list[tuple[str, bool, bool]]:
    """Name, whether by keyword only, and whether there is a default, of each parameter but the first of a method."""
    arguments = function.args
    plain = [*arguments.posonlyargs, *arguments.args]
    defaults = [False] * (len(plain) - len(arguments.defaults)) + [True] * len(arguments.defaults)
    parameters = [(one.arg, False, default) for one, default in zip(plain, defaults, strict=True)]
    keywords = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    parameters += [(one.arg, True, default is not None) for one, default in keywords]
    return [parameter for parameter in parameters if parameter[0] not in ("self", "cls")]


def found(signature: inspect.Signature) -> list[tuple[str, bool, bool]]:
    return [
        (name, one.kind is inspect.Parameter.KEYWORD_ONLY, one.default is not inspect.Parameter.empty)
        for name, one in signature.parameters.items()
        if name not in ("self", "cls")
    ]


def test_the_stub_has_every_name_and_no_other() -> None:
    body = stub().body
    stubbed = {node.name for node in body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    assert stubbed == {name for name in dir(_native) if not name.startswith("_")}


@pytest.mark.parametrize(
    "node", [node for node in stub().body if isinstance(node, ast.FunctionDef)], ids=lambda n: n.name
)
def test_functions_of_the_stub(node: ast.FunctionDef) -> None:
    assert described(node) == found(inspect.signature(getattr(_native, node.name)))


@pytest.mark.parametrize("node", [node for node in stub().body if isinstance(node, ast.ClassDef)], ids=lambda n: n.name)
def test_classes_of_the_stub(node: ast.ClassDef) -> None:
    native = getattr(_native, node.name)
    methods = {one.name: one for one in node.body if isinstance(one, ast.FunctionDef)}
    attributes = {one.target.id for one in node.body if isinstance(one, ast.AnnAssign)}
    special = ("__new__", "__len__", "__call__")
    members = {name for name in vars(native) if not name.startswith("_") or name in special}
    if "__new__" not in methods:  # every class has one; this one cannot be called
        members.discard("__new__")
        with pytest.raises(TypeError):
            native()
    assert set(methods) | attributes == members
    for name, method in methods.items():
        signature = inspect.signature(native if name == "__new__" else getattr(native, name))
        if name != "__call__":  # slots carry no names of parameters
            assert described(method) == found(signature), name


def test_call_takes_one_text() -> None:
    classifier = Classifier().fit([{"label": "a", "text": "xx"}])
    assert classifier.solved.text_scorer("xx") == "a"
    with pytest.raises(TypeError):
        classifier.solved.text_scorer()
    with pytest.raises(TypeError, match="expected a string"):
        classifier.solved.text_scorer(b"xx")


# ------------------------------------------------------------------------------------- failures and signals


@pytest.mark.parametrize("small", [True, False])
def test_a_failure_inside_is_an_ordinary_exception(small: bool) -> None:
    for _ in range(3):
        with pytest.raises(RuntimeError, match="internal error") as caught:
            _native.fail_on_purpose(small)
        assert isinstance(caught.value, Exception)
        assert TextSettings().terms("still works") == ["still", "works"]
        assert Counts.of(["xx yy"] * 10, ["a"] * 10).rows == 10


def test_an_interrupted_count_cannot_be_used() -> None:
    counter = Counter(TextSettings())
    with pytest.raises(TypeError):
        counter.add(["text", 5], np.array([0, 0], np.int32), ["a"])
    with pytest.raises(ValueError, match="2 documents but 1 labels"):
        counter.add(["text", "more"], np.array([0], np.int32), ["a"])
    with pytest.raises(ValueError, match="out of range"):
        _native.Counter(TextSettings().native).add(["text"], np.array([3], np.int32), 2, 1)


def interrupt(program: str) -> tuple[float, str]:
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.3)
        start = time.monotonic()
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=20)
        return time.monotonic() - start, errors
    finally:
        child.kill()


@pytest.mark.alone
def test_control_c_is_answered_at_once() -> None:
    program = """
import time
from discern import _native
print("ready", flush=True)
try:
    _native.work_for(30)
except KeyboardInterrupt:
    raise SystemExit(f"interrupted")
"""
    seconds, errors = interrupt(program)
    assert errors == "interrupted\n"
    assert seconds < 0.5


@pytest.mark.alone
def test_control_c_while_counting() -> None:
    program = """
import numpy as np
from discern.statistics.counts import Counter
from discern.data.text import TextSettings
counter = Counter(TextSettings(ngrams=(1, 2)), threads=2)
texts = [" ".join(f"w{i * j % 7919}" for j in range(3000)) for i in range(300)]
labels = np.zeros(len(texts), np.int32)
print("ready", flush=True)
try:
    while True:
        counter.add(texts, labels, ["a"])
except KeyboardInterrupt:
    pass
try:
    counter.add(texts, labels, ["a"])
except RuntimeError as error:
    raise SystemExit(str(error))
raise SystemExit("went on")
"""
    seconds, errors = interrupt(program)
    # Between two calls the count is whole and goes on; within one it is broken for good.
    assert errors in ("went on\n", "this count was interrupted and is incomplete; start a new one\n")
    assert seconds < 5


# --------------------------------------------------------------------------------------- forks and threads


def much_text() -> list[dict[str, str]]:
    return [{"label": f"l{i % 3}", "text": " ".join(f"word{i * j % 499}" for j in range(80))} for i in range(1500)]


def in_child(queue: Any) -> None:
    data = much_text()
    classifier = Classifier(text="text", threads=2).fit(data)
    queue.put(files.encode(*classifier.fitted.content())[1])


def test_fork_after_use() -> None:
    context = multiprocessing.get_context("fork")
    expected = files.encode(*Classifier(text="text", threads=2).fit(much_text()).fitted.content())[1]
    for _ in range(3):
        queue = context.Queue()
        child = context.Process(target=in_child, args=(queue,))
        child.start()
        try:
            assert queue.get(timeout=60) == expected
            child.join(timeout=60)
            assert child.exitcode == 0
        finally:
            child.kill()


def test_many_threads_on_one_classifier(tmp_path: Path) -> None:
    start = [{"label": "a", "text": "common start"}, {"label": "b", "text": "other start"}]
    classifier = Classifier(text="text", threads=1).fit(start)
    failures: list[BaseException] = []
    rounds, threads = 12, 16

    def work(number: int) -> None:
        try:
            for turn in range(rounds):
                if number % 2:
                    # Labels that come and go: a decision must still belong to the model that made it.
                    classifier.learn([{"label": f"l{number}", "text": f"common own{number} turn{turn}"}])
                    fleeting = [{"label": f"0{number}", "text": f"fleeting{number}"}]
                    classifier.learn(fleeting)
                    classifier.forget(fleeting)
                elif number % 4:
                    assert classifier.predict(["other start"] * 20).tolist() == ["b"] * 20
                    probabilities = classifier.predict_proba(["common start"] * 20)
                    assert probabilities.sum(axis=1) == pytest.approx(np.ones(20), rel=1e-12)
                    assert classifier.predict_one("other start") == "b"
                    assert classifier.explain("other start").label == "b"
                else:
                    path = tmp_path / f"{number}.discern"
                    classifier.save(path)
                    loaded = load(path)
                    assert loaded.predict(["other start"] * 20).tolist() == ["b"] * 20
        except BaseException as failure:
            failures.append(failure)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    finally:
        sys.setswitchinterval(switch)
    assert failures == []
    learned = [
        {"label": f"l{number}", "text": f"common own{number} turn{turn}"}
        for number in range(1, threads, 2)
        for turn in range(rounds)
    ]
    expected = Classifier(text="text").fit(start + learned)
    assert classifier.statistics == expected.statistics
    assert classifier.rows == len(start) + len(learned)


# -------------------------------------------------------------------------------------------- code paths

CODE_PATH_PROGRAM = """
import json, sys
from discern import _native
from discern.models import file as files
from discern.classifier import Classifier

with open(sys.argv[1], encoding="utf-8") as file:
    rows = json.load(file)
sums = []
for settings in ({}, {"tokenizer": "sklearn"}, {"lowercase": False, "ngrams": (1, 2)}, {"analyzer": "char", "ngrams": (2, 3)}):
    sums.append(files.encode(*Classifier(text="text", **settings).fit(rows).fitted.content())[1])
print(json.dumps({"path": _native.code_path(), "sums": sums}))
"""


def test_every_code_path_gives_the_same_model(tmp_path: Path, run_python) -> None:
    source = random.Random(5)
    alphabets = [
        [chr(code) for code in range(128)],
        [chr(code) for code in range(0x250)],
        list("abcXYZ_09 éßΣ你好 \u0301🎉"),
        [chr(code) for code in range(0x11_0000) if not 0xD800 <= code < 0xE000],
    ]
    rows = [
        {"label": f"l{i % 2}", "text": "".join(source.choices(alphabets[i % 4], k=source.randrange(300)))}
        for i in range(800)
    ]
    rows.append({"label": "l0", "text": "".join(source.choices(alphabets[0], k=200_000))})
    (tmp_path / "rows.json").write_text(json.dumps(rows), encoding="utf-8")
    results = [
        json.loads(run_python(CODE_PATH_PROGRAM, tmp_path / "rows.json", environment={"DISCERN_CODE_PATH": path}))
        for path in ("plain", "avx2", "avx512")
    ]
    assert results[0]["path"] == "plain"
    assert results[0]["sums"] == results[1]["sums"] == results[2]["sums"]
    # A path that this processor cannot run is not taken.
    flags = Path("/proc/cpuinfo")
    if flags.exists() and " avx2 " in flags.read_text():
        assert results[1]["path"] == "avx2"
    assert run_python("import discern; print(discern.code_path())", environment={"DISCERN_CODE_PATH": "?"}).strip() in (
        "plain",
        "avx2",
        "avx512",
    )


# ------------------------------------------------------------------------------------ the ways texts come

TEXTS = [
    "win a prize",
    None,
    "",
    "Straße née 你好 a longer text, longer than a view holds inside",
    "short",
    "x" * 13,
] * 3
LABELS = ["a", "b", "a", "c", "b", "a"] * 3


def expected_counts() -> Counts:
    return Counts.of([text or "" for text in TEXTS], LABELS)


def padded(kind: pa.DataType) -> pa.Array:
    """A slice out of a longer array, so that it begins in the middle of its buffers."""
    array = pa.array(["left out", None, *TEXTS, "left out", None], kind)
    return array.slice(2, len(TEXTS))


KINDS = [pa.string(), pa.large_string(), pa.string_view()]


@pytest.mark.parametrize(
    "column",
    [
        pytest.param([text or "" for text in TEXTS], id="list"),
        pytest.param(TEXTS, id="list with None"),
        pytest.param(tuple(TEXTS), id="tuple"),
        pytest.param(np.array([text or "" for text in TEXTS]), id="numpy"),
        pytest.param(np.array(TEXTS, object), id="numpy objects"),
        *(pytest.param(pa.array(TEXTS, kind), id=f"arrow {kind}") for kind in KINDS),
        *(pytest.param(padded(kind), id=f"arrow sliced {kind}") for kind in KINDS),
        *(pytest.param(padded(kind).fill_null(""), id=f"arrow without nulls {kind}") for kind in KINDS[:2]),
        *(
            pytest.param(
                pa.chunked_array([padded(kind).slice(0, 5), padded(kind).slice(5, 0), padded(kind).slice(5)]),
                id=f"chunks of {kind}",
            )
            for kind in KINDS
        ),
        pytest.param(pa.array(TEXTS).dictionary_encode(), id="arrow dictionary"),
        pytest.param(pa.array([None if text is None else text.encode() for text in TEXTS]), id="arrow binary"),
        pytest.param(pd.Series(TEXTS), id="pandas"),
        pytest.param(pd.Series(TEXTS, dtype=object), id="pandas objects"),
        pytest.param(pd.Series(TEXTS, dtype="category"), id="pandas categories"),
        pytest.param(pl.Series(TEXTS), id="polars"),
        pytest.param(pl.Series(["left out", *TEXTS])[1:], id="polars sliced"),
        pytest.param(pl.Series(TEXTS, dtype=pl.Categorical), id="polars categories"),
    ],
)
def test_columns_of_every_kind_give_the_same_counts(column: Any) -> None:
    classifier = Classifier(text="text").fit({"label": LABELS, "text": column})
    assert classifier.statistics.columns[0] == expected_counts()


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param(pd.DataFrame({"label": LABELS, "text": TEXTS}), id="pandas"),
        pytest.param(pd.DataFrame({"label": ["z", *LABELS], "text": ["left out", *TEXTS]})[1:], id="pandas sliced"),
        pytest.param(pl.DataFrame({"label": LABELS, "text": TEXTS}), id="polars"),
        pytest.param(
            pl.concat(
                [
                    pl.DataFrame({"label": [a], "text": [b]}, {"label": pl.String, "text": pl.String})
                    for a, b in zip(LABELS, TEXTS, strict=True)
                ],
                rechunk=False,
            ),
            id="polars chunks",
        ),
        pytest.param(pa.table({"label": LABELS, "text": TEXTS}), id="arrow table"),
        pytest.param(pa.record_batch({"label": LABELS, "text": TEXTS}), id="arrow batch"),
        pytest.param([{"label": a, "text": b} for a, b in zip(LABELS, TEXTS, strict=True)], id="rows"),
        pytest.param({"text": TEXTS, "label": LABELS}, id="mapping"),
    ],
)
def test_frames_of_every_kind_give_the_same_counts(frame: Any) -> None:
    assert Classifier().fit(frame).statistics.columns[0] == expected_counts()


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param([text or "" for text in TEXTS], id="list"),
        *(pytest.param(padded(kind), id=f"arrow {kind}") for kind in KINDS),
        pytest.param(pl.Series(TEXTS), id="polars"),
        pytest.param(pd.DataFrame({"text": TEXTS}), id="pandas"),
    ],
)
def test_texts_of_every_kind_are_decided_alike(asked: Any) -> None:
    classifier = Classifier().fit({"label": LABELS, "text": TEXTS})
    expected = [classifier.predict_one(text or "") for text in TEXTS]
    assert classifier.predict(asked).tolist() == expected


@pytest.mark.parametrize("kind", KINDS)
def test_empty_columns(kind: pa.DataType) -> None:
    classifier = Classifier().fit({"label": LABELS, "text": TEXTS})
    assert classifier.predict(pa.array([], kind)).tolist() == []
    assert classifier.predict_proba(pa.chunked_array([], kind)).shape == (0, 3)
    assert classifier.predict(pa.array([None, None], kind)).tolist() == [classifier.predict_one("")] * 2


def test_labels_of_other_types() -> None:
    frame = pd.DataFrame({"label": [1, 2, 1], "text": ["aa", "bb", "cc"]})
    assert Classifier().fit(frame).labels == ("1", "2")
    assert Classifier().fit(frame.to_dict("records")).labels == ("1", "2")


def test_a_generator_of_batches() -> None:
    parts = (pa.table({"label": LABELS[i : i + 4], "text": TEXTS[i : i + 4]}) for i in range(0, len(TEXTS), 4))
    assert Classifier().fit(parts).statistics.columns[0] == expected_counts()
    assert [batch.rows for batch in batches(iter([["a", "b"], ["c"]]))] == [2, 1]


# ---------------------------------------------------------------------------------------- bad numbers


def test_offsets_that_do_not_fit_are_refused() -> None:
    data = np.frombuffer(b"abcdef", np.uint8)
    for offsets in ([0, 7], [-1, 3], [3, 1], [0, 2**62]):
        with pytest.raises(ValueError, match="do not match"):
            _native.distinct(("spans", *(np.array([offset], np.int64) for offset in offsets), data))
    view = np.frombuffer(np.array([100, 0, 0, 0], np.uint32).tobytes(), np.uint8)
    with pytest.raises(ValueError, match="do not match"):
        _native.distinct(("views", view, [data]))
    with pytest.raises(TypeError):
        _native.distinct("abc")
    with pytest.raises(TypeError):
        _native.distinct(["a", None])


def test_scores_that_do_not_fit_are_refused() -> None:
    text = TextSettings().native
    strings = Counts.of(["aa bb"], ["l"]).terms
    vocabulary = _native.Vocabulary(text, strings.offsets, strings.data)
    assert len(vocabulary) == 2
    for weights, bias in (
        (np.zeros((3, 2)), [0.0, 0.0]),
        (np.zeros((2, 2)), [0.0]),
        (np.zeros((2, 0)), []),
    ):
        with pytest.raises(ValueError, match="do not match"):
            _native.Scorer(vocabulary, weights, bias, False)
    view = _native.Scorer(vocabulary, np.zeros((2, 2)), [0.0, 0.0], False)
    length = (text, [1, 2], [0.0] * 4, [True, False])
    assert _native.TextScorer([0.0, 0.0], [view], ["a", "b"], length, [(1.0, 0.0, 0.0)] * 2)("x") == "a"
    for start, views, labels, added, scales in (
        ([0.0], [view], ["a", "b"], None, None),
        ([0.0, 0.0], [view], ["a"], None, None),
        ([], [], [], None, None),
        ([0.0, 0.0], [], ["a", "b"], None, None),
        ([0.0, 0.0], [view], ["a", "b"], None, [(1.0, 0.0, 0.0)] * 2),
        ([0.0, 0.0], [view], ["a", "b"], length, [(1.0, 0.0, 0.0)]),
        ([0.0, 0.0], [view], ["a", "b"], (text, [2, 1], [0.0] * 4, [True, False]), None),
        ([0.0, 0.0], [view], ["a", "b"], (text, [1, 2], [0.0] * 3, [True, False]), None),
        ([0.0, 0.0], [view], ["a", "b"], (text, [1, 2], [0.0] * 4, [True]), None),
    ):
        with pytest.raises(ValueError, match="do not match"):
            _native.TextScorer(start, views, labels, added, scales)
    with pytest.raises(TypeError, match="contiguous"):
        _native.Scorer(vocabulary, np.zeros((2, 4))[:, ::2], [0.0, 0.0], False)
    with pytest.raises(TypeError):
        _native.Scorer(vocabulary, np.zeros((2, 2), np.float32), [0.0, 0.0], False)
    twice = _native.Vocabulary(text, np.array([0, 1, 2], np.int64), np.frombuffer(b"aa", np.uint8))
    with pytest.raises(ValueError, match="twice"):
        _native.Scorer(twice, np.zeros((2, 2)), [0.0, 0.0], False)


def test_the_environment_sets_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    from discern.data.threads import default_threads

    monkeypatch.setenv("DISCERN_THREADS", "3")
    assert default_threads() == 3
    for wrong in ("0", "-1", "many", ""):
        monkeypatch.setenv("DISCERN_THREADS", wrong)
        assert default_threads() == len(os.sched_getaffinity(0))


def test_a_list_of_strings_is_held_once() -> None:
    held = _native.Texts(["win", "", "\ud800 win"])
    assert len(held) == 3
    counter = _native.Counter(TextSettings().native)
    counter.add(held, np.zeros(3, np.int32), 1, 1)
    drained = counter.drain()
    assert drained.bytes.tobytes() == b"win"
    assert drained.documents.tolist() == [2]
    with pytest.raises(TypeError, match="row 1: expected a string, found <class 'bytes'>"):
        _native.Texts(["win", b"win"])
