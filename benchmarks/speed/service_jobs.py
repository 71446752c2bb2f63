"""Jobs about the service: requests beside FastAPI with scikit-learn, streams, and the start of a large model."""

import asyncio
import atexit
import http.client
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil

import discern
from benchmarks.harness.data import MESSAGES, REVIEWS, path_of, read
from benchmarks.harness.job import Goal, Job, Peer
from benchmarks.harness.measure import LeftOutError, Sample, require

SECONDS, QUICK_SECONDS = 2.0, 0.5
CONNECTIONS = 16
BATCH = 64 << 20
TERMS, WORDS = 1_000_000, 50


def begin(arguments: list[str], environment: dict[str, str] | None = None) -> psutil.Process:
    """Start a server that ends with this process."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(arguments, env={**os.environ, **(environment or {})}, **quiet)

    def end() -> None:
        process.terminate()
        process.wait()

    atexit.register(end)
    return psutil.Process(process.pid)


def free_port() -> int:
    import socket

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def ask(port: int, path: str, body: bytes | None, kind: str = "application/json") -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        connection.request("GET" if body is None else "POST", path, body, {"Content-Type": kind})
        answer = connection.getresponse()
        content = answer.read()
        require(answer.status == 200, f"{path} answered {answer.status}")
        return content
    finally:
        connection.close()


def wait(port: int, path: str, pause: float = 0.02) -> None:
    deadline = time.monotonic() + 120
    while True:
        try:
            ask(port, path, None)
            return
        except OSError:
            require(time.monotonic() < deadline, "the server did not start")
            time.sleep(pause)


def serve(model: Path, *options: str) -> tuple[int, psutil.Process]:
    port = free_port()
    command = [sys.executable, "-m", "discern.cli", "serve", str(model), "--port", str(port), "--quiet", *options]
    return port, begin(command)


# -------------------------------------------------------------------------------------------------- requests


def prepare_requests(folder: Path, quick: bool) -> SimpleNamespace:
    try:
        import fastapi  # noqa: F401
    except ImportError as error:
        raise LeftOutError("the extra serve is not installed") from error
    table = read(MESSAGES, folder)
    model = folder / "service.discern"
    discern.Classifier(tokenizer="sklearn", smoothing=1.0).fit(table).save(model)
    ours, process = serve(model)
    theirs = free_port()
    uvicorn = [
        sys.executable,
        "-m",
        "uvicorn",
        "benchmarks.speed.service_peer:app",
        "--no-access-log",
        "--log-level",
        "error",
    ]
    begin([*uvicorn, "--port", str(theirs)], {"SERVICE_TEXTS": str(path_of(MESSAGES, folder))})
    wait(ours, "/health")
    wait(theirs, "/openapi.json")
    texts = table["text"].to_pylist()
    body = json.dumps({"text": next(text for text in texts if 90 <= len(text) <= 120)}).encode()
    return SimpleNamespace(
        ours=ours, theirs=theirs, texts=texts[:300], body=body, folder=folder, quick=quick, process=process
    )


def load(port: int, path: str, inputs: SimpleNamespace) -> Sample:
    """Send requests one after the other; return the seconds for one."""
    seconds = QUICK_SECONDS if inputs.quick else SECONDS
    answered = (
        by_wrk(port, path, inputs, seconds)
        if shutil.which("wrk")
        else asyncio.run(by_sockets(port, path, inputs, seconds))
    )
    return Sample(1 / answered, answered)


def by_wrk(port: int, path: str, inputs: SimpleNamespace, seconds: float) -> float:
    script = inputs.folder / "post.lua"
    content = inputs.body.decode().replace("\\", "\\\\").replace("'", "\\'")
    script.write_text(
        f"wrk.method = 'POST'\nwrk.headers['Content-Type'] = 'application/json'\nwrk.body = '{content}'\n"
    )
    whole = str(max(1, round(seconds)))
    command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{whole}s", "-s", str(script), f"http://127.0.0.1:{port}{path}"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    require("Non-2xx" not in printed, "some requests were refused")
    return float(next(line.split()[1] for line in printed.splitlines() if line.startswith("Requests/sec")))


async def by_sockets(port: int, path: str, inputs: SimpleNamespace, seconds: float) -> float:
    kind = f"Content-Type: application/json\r\nContent-Length: {len(inputs.body)}\r\n\r\n"
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{kind}"
    request, count, ending = head.encode() + inputs.body, 0, time.perf_counter() + seconds

    async def client() -> None:
        nonlocal count
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while time.perf_counter() < ending:
            writer.write(request)
            answer = await reader.readuntil(b"\r\n\r\n")
            require(answer.startswith(b"HTTP/1.1 200"), "a request was refused")
            length = answer.lower().split(b"content-length: ")[1].split(b"\r\n")[0]
            await reader.readexactly(int(length))
            count += 1
        writer.close()

    began = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(CONNECTIONS)))
    return count / (time.perf_counter() - began)


def same_labels(inputs: SimpleNamespace, ours: Any, theirs: Any) -> None:
    for text in inputs.texts:
        body = json.dumps({"text": text}).encode()
        mine, other = (
            json.loads(ask(port, path, body))
            for port, path in ((inputs.ours, "/v1/predict"), (inputs.theirs, "/predict"))
        )
        require(mine["label"] == other["label"], "the labels differ")
        require(abs(mine["probability"] - other["probability"]) < 1e-6, "the probabilities differ")


def answers(inputs: SimpleNamespace, ours: Any, theirs: Any) -> None:
    require(ours > 0 and theirs > 0, "nothing was answered")


# ----------------------------------------------------------------------------------------- streams and starts


def prepare_stream(folder: Path, quick: bool) -> SimpleNamespace:
    table = read(REVIEWS, folder)
    model = folder / "stream.discern"
    discern.Classifier(smoothing=1.0).fit(table).save(model)
    lines, size, most = [], 0, BATCH // 16 if quick else BATCH
    texts = table["text"].to_pylist()
    while size < most:
        text = texts[len(lines) % len(texts)]
        size += len(text.encode())
        lines.append(json.dumps({"text": text}, ensure_ascii=False))
    port, _ = serve(model, "--max-stream", str(1 << 30))
    wait(port, "/health")
    return SimpleNamespace(port=port, body="\n".join(lines).encode(), rows=len(lines), size=size)


def stream(inputs: SimpleNamespace) -> Sample:
    began = time.perf_counter()
    answer = ask(inputs.port, "/v1/predict/stream", inputs.body, "application/x-ndjson")
    return Sample((time.perf_counter() - began) / (inputs.size / 1e6), answer.count(b"\n"))


def all_rows(inputs: SimpleNamespace, ours: int, theirs: Any) -> None:
    require(ours == inputs.rows, f"{inputs.rows} rows were sent and {ours} came back")


def prepare_large(folder: Path, quick: bool) -> SimpleNamespace:
    terms = TERMS // 10 if quick else TERMS
    rows = (
        {"label": "ab"[number % 2], "text": " ".join(f"w{number * WORDS + term:07d}" for term in range(WORDS))}
        for number in range(terms // WORDS)
    )
    model = folder / "large.discern"
    discern.Classifier(smoothing=1.0).fit(list(rows)).save(model)
    return SimpleNamespace(model=model, memory=[])


def first_prediction(inputs: SimpleNamespace) -> Sample:
    Path(f"{inputs.model}.feedback").unlink(missing_ok=True)
    began = time.perf_counter()
    port, process = serve(inputs.model, "--workers", "2")
    wait(port, "/health", 0.005)
    label = json.loads(ask(port, "/v1/predict", b'{"text": "w0000001 w0000002"}'))["label"]
    took = time.perf_counter() - began
    for _ in range(60):  # on new connections, so that both workers predict; then all tables have been built
        ask(port, "/v1/predict", b'{"text": "w0000001 w0000002"}')
    inputs.memory = [worker.memory_full_info() for worker in process.children()]
    process.terminate()
    process.wait()
    return Sample(took, label)


def unshared(inputs: SimpleNamespace) -> Sample:
    first_prediction(inputs)
    return Sample(max(one.pss / one.rss for one in inputs.memory), len(inputs.memory))


def is_a(inputs: SimpleNamespace, ours: str, theirs: Any) -> None:
    require(ours == "a", "the label is wrong")


def two_workers(inputs: SimpleNamespace, ours: int, theirs: Any) -> None:
    require(ours == 2, "there are not two workers")


JOBS = (
    Job(
        "service-predict",
        "one text to a label over HTTP, one worker, 16 connections",
        MESSAGES,
        prepare_requests,
        lambda inputs: load(inputs.ours, "/v1/predict", inputs),
        (
            Peer(
                "FastAPI + scikit-learn",
                Goal("faster", 5),
                same_labels,
                lambda inputs: load(inputs.theirs, "/predict", inputs),
            ),
            Peer(
                "FastAPI, a constant",
                Goal("faster", 0.7),
                answers,
                lambda inputs: load(inputs.theirs, "/constant", inputs),
            ),
        ),
        unit="seconds a request",
        repeats=5,
        quick_repeats=1,
    ),
    Job(
        "service-stream",
        "a stream of JSON lines to labels over HTTP, one worker: seconds for a MB of text",
        REVIEWS,
        prepare_stream,
        stream,
        (Peer("", Goal("limit", 1 / 50), all_rows),),
        unit="seconds a MB",
        repeats=5,
        quick_repeats=1,
    ),
    Job(
        "service-start",
        "1,000,000 terms: from the start of the command to the first prediction, two workers",
        None,
        prepare_large,
        first_prediction,
        (Peer("", Goal("limit", 2), is_a),),
        unit="seconds",
        repeats=5,
        quick_repeats=1,
    ),
    Job(
        "service-memory",
        "1,000,000 terms: the share of a worker's resident memory that is charged to it (PSS/RSS), two workers",
        None,
        prepare_large,
        unshared,
        (Peer("", Goal("limit", 0.5), two_workers),),
        unit="share",
        repeats=1,
        quick_repeats=1,
    ),
)
