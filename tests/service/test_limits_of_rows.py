"""Texts, rows and bodies of every kind have the same limits."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from discern.service.settings import Limits, Settings
from tests.service.running import Client, Telling, in_process, saved
from tests.service.test_limits import LIMITS, raw


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Client, Telling]]:
    model = saved(tmp_path_factory.mktemp("limits"))
    with in_process(Settings(model, limits=LIMITS)) as running:
        yield running


@pytest.fixture
def client(service: tuple[Client, Telling]) -> Client:
    return service[0]


# ------------------------------------------------------------------------------------ the same for every body

LINES = "application/x-ndjson"
BODIES = [
    ("/v1/predict", "application/json", '{"text": "%s"}'),
    ("/v1/predict/batch", "application/json", '{"rows": [{"text": "%s"}]}'),
    ("/v1/predict/stream", LINES, '{"text": "%s"}\n'),
    ("/v1/predict/csv", "text/csv", 'text\n"%s"\n'),
    ("/v1/explain", "application/json", '{"text": "%s"}'),
    ("/v1/evaluate", "application/json", '{"rows": [{"label": "spam", "text": "%s"}]}'),
    ("/v1/evaluate", LINES, '{"label": "spam", "text": "%s"}\n'),
    ("/v1/evaluate", "text/csv", "label,text\nspam,%s\n"),
    ("/v1/model/evaluation.html", LINES, '{"label": "spam", "text": "%s"}\n'),
    ("/v1/model/evaluation.html", "text/csv", "label,text\nspam,%s\n"),
    ("/v1/learn", "application/json", '{"rows": [{"label": "spam", "text": "%s"}]}'),
    ("/v1/forget", "application/json", '{"rows": [{"label": "spam", "text": "%s"}]}'),
]


@pytest.mark.parametrize(("path", "kind", "body"), BODIES)
def test_a_text_may_have_so_many_words_in_every_body(client: Client, path: str, kind: str, body: str) -> None:
    status, _, content = client.send("POST", path, (body % ("win " * 501)).encode(), content_type=kind)
    assert status == 422, content
    assert "column 'text': more than 500 words; shorten the text" in json.loads(content)["detail"]
    if path not in ("/v1/learn", "/v1/forget"):
        status, _, content = client.send("POST", path, (body % ("win " * 499)).encode(), content_type=kind)
        assert status == 200, content


@pytest.mark.parametrize("kind", ["application/json", LINES, "text/csv"])
def test_a_body_may_have_so_many_rows_of_every_kind(client: Client, kind: str) -> None:
    def evaluated(count: int) -> tuple[int, bytes]:
        rows = [{"label": "spam", "text": "win"}] * count
        bodies = {
            "application/json": json.dumps({"rows": rows}),
            LINES: "\n".join(map(json.dumps, rows)),
            "text/csv": "label,text\n" + "spam,win\n" * count,
        }
        status, _, content = client.send("POST", "/v1/evaluate", bodies[kind].encode(), content_type=kind)
        return status, content

    assert evaluated(50)[0] == 200
    status, content = evaluated(51)
    assert (status, json.loads(content)["type"]) == (422, "/problems#too-many-rows")


def test_words_are_counted_in_every_row_of_a_csv_file(client: Client) -> None:
    body = b"text,other\n" + b"win,x\n" * 7 + b"win " * 501 + b",x\nwin,x\n"
    status, _, content = client.send("POST", "/v1/predict/csv", body, content_type="text/csv")
    assert status == 422
    assert json.loads(content)["detail"].startswith("row 8, column 'text': more than 500 words")
    body = b"text,other\nwin," + b"win " * 501 + b"\n"  # a column that the model does not read
    assert client.send("POST", "/v1/predict/csv", body, content_type="text/csv")[0] == 200


# ------------------------------------------------------------------------------------------------- long rows


@pytest.fixture(scope="module")
def rows_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    limits = Limits(row=200_000, idle_seconds=2.0)
    with in_process(Settings(saved(tmp_path_factory.mktemp("rows")), limits=limits)) as (client, _):
        yield client


STREAMS = {
    "/v1/predict/csv": ("text/csv", b"text\n", b'"', b'"\n'),
    "/v1/predict/stream": (LINES, b"", b'{"text": "', b'"}\n'),
}


def stream_head(path: str, kind: str) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", f"Content-Type: {kind}", "Transfer-Encoding: chunked"]
    return "\r\n".join([*lines, "", ""]).encode()


def chunk(content: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(content), content)


@pytest.mark.parametrize("path", STREAMS)
def test_a_row_of_a_stream_has_a_limit(rows_service: Client, path: str) -> None:
    kind, before, opening, closing = STREAMS[path]
    for size, expected in ((199_000, 200), (200_001, 422)):
        body = before + opening + b"w" * size + closing
        status, _, content = rows_service.send("POST", path, body, content_type=kind)
        assert status == expected, content[:200]
    assert "row 1 of the body has more than 200,000 bytes; split it" in json.loads(content)["detail"]


@pytest.mark.parametrize("path", STREAMS)
def test_a_long_row_is_refused_before_it_ends(rows_service: Client, path: str) -> None:
    kind, before, opening, _ = STREAMS[path]
    parts = [stream_head(path, kind), chunk(before + opening), *[chunk(b"w" * 1000)] * 210]
    answer = raw(rows_service.port, *parts)  # which waits for more
    assert answer.startswith(b"HTTP/1.1 422")
    assert b"more than 200,000 bytes" in answer


def test_unfinished_rows_of_streams_have_limited_room_with_bodies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discern.service.gate.MOST_HELD", 1)
    limits = Limits(body=100_000, row=100_000, idle_seconds=3.0)  # then there is room for four of these
    head = stream_head("/v1/predict/csv", "text/csv")
    with in_process(Settings(saved(tmp_path), limits=limits)) as (client, _), contextlib.ExitStack() as stack:
        whole = b"text\n" + b"win money\n" * 200_000  # all of it became rows
        assert client.send("POST", "/v1/predict/csv", whole, content_type="text/csv")[0] == 200
        for _ in range(4):
            waiting = stack.enter_context(socket.create_connection(("127.0.0.1", client.port), timeout=10))
            waiting.sendall(head + chunk(b"text\n" + b"x" * 99_990))
        time.sleep(0.5)
        client.post("/v1/predict", {"text": "y" * 1000}, 503)
        assert waiting.recv(65536).startswith(b"HTTP/1.1 408")  # they come too slowly
        time.sleep(0.5)
        for _ in range(10):
            client.post("/v1/predict", {"text": "y" * 90_000})
