"""Ctrl-C in every native call, panics, forks, many threads: the process lives and answers."""

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest

import discern
from discern import _native
from discern.classifier import Classifier, load
from discern.models import file as files
from discern.statistics.counts import Counts
from tests.hostile import interrupts

# ----------------------------------------------------------------------------------------------------- Ctrl-C


def native_calls() -> set[str]:
    """Every function of the native module, and every class and method by which one is called."""
    found = set()
    for name in dir(_native):
        value = getattr(_native, name)
        if name.startswith("_"):
            continue
        found.add(name)
        if isinstance(value, type):
            own = [one for one in vars(value) if not one.startswith("__") or one in ("__call__", "__len__")]
            found |= {f"{name}.{one}" for one in own if callable(getattr(value, one))}
    return found


def test_no_native_call_is_forgotten() -> None:
    tested = {name.split(" on ")[0] for name in interrupts.calls(0.002)}
    assert tested.isdisjoint(interrupts.SHORT)
    assert native_calls() == tested | set(interrupts.SHORT)


@pytest.mark.alone
def test_control_c_is_answered_in_every_long_call(run_python: Callable[..., str]) -> None:
    program = Path(interrupts.__file__).read_text(encoding="utf-8")
    lines = run_python(program, 0.5).splitlines()
    seconds = {name: float(number) for name, number in (line.split("\t") for line in lines)}
    assert len(seconds) >= 35
    late = {name: number for name, number in seconds.items() if number > interrupts.LATE}
    assert not late


@pytest.mark.alone
def test_an_interrupted_call_leaves_everything_usable() -> None:
    texts = interrupts.documents(2000, 100, 100_000)
    counts = Counts.of(texts, ["a"] * len(texts))
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for after in (0.001, 0.003, 0.01, 0.03):
            assert interrupts.ring(lambda: Counts.of(texts, ["a"] * len(texts)), after) < 0.5
    finally:
        signal.signal(signal.SIGALRM, before)
    assert Counts.of(texts, ["a"] * len(texts)) == counts


# ------------------------------------------------------------------------------------------------------ panics


@pytest.mark.parametrize(("small", "alone"), [(True, False), (False, False), (False, True)])
def test_a_panic_is_an_ordinary_exception_and_the_next_call_works(
    small: bool, alone: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    classifier = Classifier().fit([{"label": "a", "text": "x1"}, {"label": "b", "text": "y1"}])
    for _ in range(3):
        with pytest.raises(RuntimeError, match="internal error in discern's native code") as caught:
            _native.fail_on_purpose(small, alone)
        assert isinstance(caught.value, Exception)
        assert classifier.predict(["y1"] * 1000).tolist() == ["b"] * 1000
    assert "panicked" not in capfd.readouterr().err


def test_a_panic_in_one_thread_does_not_disturb_others() -> None:
    classifier = Classifier().fit([{"label": "a", "text": "x1"}, {"label": "b", "text": "y1"}])
    wrong: list[Any] = []

    def work(number: int) -> None:
        for _ in range(50):
            if number % 2:
                try:
                    _native.fail_on_purpose(False)
                except RuntimeError:
                    continue
                wrong.append("no error")
            elif classifier.predict(["x1", "y1"]).tolist() != ["a", "b"]:
                wrong.append("other labels")

    workers = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


# ------------------------------------------------------------------------------------------------------- forks


def rows() -> list[dict[str, str]]:
    return [{"label": f"l{i % 3}", "text": " ".join(f"word{i * j % 97}" for j in range(30))} for i in range(400)]


MODEL: dict[str, Classifier] = {}


def in_child(_: int) -> str:
    """Use the model that the parent has used, with threads, and learn another."""
    texts = [row["text"] for row in rows()] * 3
    before = MODEL["one"].predict(texts)
    copied = Classifier(text="text", smoothing=1.0, threads=2).fit(rows())
    assert (before == copied.predict(texts)).all()
    return files.encode(*copied.fitted.content())[1]


@pytest.fixture
def used_model() -> str:
    MODEL["one"] = Classifier(text="text", smoothing=1.0, threads=2).fit(rows())
    MODEL["one"].predict([row["text"] for row in rows()] * 3)
    return MODEL["one"].checksum()


def test_a_hundred_forks_after_use(used_model: str) -> None:
    context = multiprocessing.get_context("fork")
    for _ in range(5):
        with context.Pool(20) as pool:
            assert pool.map_async(in_child, range(20), chunksize=1).get(timeout=60) == [used_model] * 20


def test_forks_while_threads_are_at_work(used_model: str) -> None:
    """As a server that has loaded its model forks workers while it answers."""
    stop = threading.Event()

    def answer() -> None:
        texts = [row["text"] for row in rows()] * 5
        while not stop.is_set():
            MODEL["one"].predict(texts)

    workers = [threading.Thread(target=answer) for _ in range(3)]
    for worker in workers:
        worker.start()
    try:
        for _ in range(100):
            child = os.fork()
            if not child:
                os._exit(0 if in_child(0) == used_model else 1)
            assert ended_well(child, 60)
    finally:
        stop.set()
        for worker in workers:
            worker.join()


def ended_well(child: int, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


@pytest.mark.parametrize("backend", ["loky", "multiprocessing", "threading"])
def test_joblib(used_model: str, backend: str) -> None:
    model, texts = MODEL["one"], [row["text"] for row in rows()]
    expected = model.predict_proba(texts)
    found = joblib.Parallel(n_jobs=2, backend=backend)(joblib.delayed(model.predict_proba)(texts) for _ in range(8))
    for one in found:
        np.testing.assert_array_equal(one, expected)


def asked(texts: list[str]) -> tuple[int, Any]:
    """Return who answers, and what."""
    return os.getpid(), MODEL["one"].predict_proba(texts)


@pytest.mark.soak
def test_a_hundred_processes_of_joblib(used_model: str) -> None:
    """Fifty pools of two, each forked anew from a process that has used its model; none hangs."""
    model, texts = MODEL["one"], [row["text"] for row in rows()]
    expected, processes = model.predict_proba(texts), set()

    for _ in range(50):
        model.predict_proba(texts)
        found = joblib.Parallel(n_jobs=2, backend="multiprocessing", timeout=60)(
            joblib.delayed(asked)(texts) for _ in range(8)
        )
        processes |= {process for process, _ in found}
        for _, one in found:
            np.testing.assert_array_equal(one, expected)
    assert os.getpid() not in processes
    assert len(processes) > 50  # a quick worker may do the work of both


# ----------------------------------------------------------------------------------------------------- threads


@pytest.mark.parametrize("name", ["naive-bayes", "linear-svm", "knn"])
def test_sixteen_threads_ask_one_loaded_model(tmp_path: Path, name: str) -> None:
    path, texts = tmp_path / "m.discern", [row["text"] for row in rows()]
    Classifier(text="text", model=name, threads=2).fit(rows()).save(path)
    expected = load(path).predict_proba(texts)
    shared, wrong = load(path), []

    def work() -> None:
        try:
            for _ in range(4):
                if not np.array_equal(shared.predict_proba(texts), expected):
                    wrong.append("other probabilities")
                shared.predict_one(texts[0])
                shared.explain(texts[1])
                shared.checksum()
        except BaseException as failure:
            wrong.append(repr(failure))

    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    workers = [threading.Thread(target=work) for _ in range(16)]
    try:
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    finally:
        sys.setswitchinterval(switch)
    assert not wrong


@pytest.mark.parametrize("kind", [discern.MultinomialNB, discern.GaussianNB, discern.LinearDiscriminantAnalysis])
def test_threads_share_a_fitted_estimator(kind: type) -> None:
    table = np.random.default_rng(1).poisson(3.0, (300, 6)).astype(float)
    model = kind().fit(table, np.arange(300) % 3)
    expected, wrong = model.predict_proba(table), []

    def work() -> None:
        for _ in range(20):
            if not np.array_equal(model.predict_proba(table), expected):
                wrong.append(1)

    workers = [threading.Thread(target=work) for _ in range(16)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong
