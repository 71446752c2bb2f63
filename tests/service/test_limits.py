"""Lets no one in, and lets no one keep the others out: tokens, hosts, sizes, slow and hostile clients."""

from __future__ import annotations

import contextlib
import json
import logging
import selectors
import socket
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from discern.service.gate import Connection, _network
from discern.service.settings import Limits, Settings
from discern.service.telemetry import JournalHandler
from tests.service.running import Client, Process, Telling, in_process, saved

READ, TEACH = "read-" + "r" * 20, "teach-" + "t" * 20
LIMITS = Limits(
    body=100_000, stream=5_000_000, rows=50, tokens=500, header_seconds=1.0, idle_seconds=1.0, send_seconds=2.0
)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Client, Telling]]:
    model = saved(tmp_path_factory.mktemp("limits"))
    with in_process(Settings(model, limits=LIMITS)) as running:
        yield running


@pytest.fixture
def client(service: tuple[Client, Telling]) -> Client:
    return service[0]


def raw(port: int, *parts: bytes, seconds: float = 10.0) -> bytes:
    """Send bytes as they are; give all that comes back until the connection is closed or the answer is whole."""
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as connection:
        answer = b""
        with contextlib.suppress(ConnectionError):
            for part in parts:
                connection.sendall(part)
        with contextlib.suppress(ConnectionError):
            while part := connection.recv(65536):
                answer += part
                head, _, body = answer.partition(b"\r\n\r\n")
                length = next(
                    (int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), -1
                )
                if len(body) == length:
                    break
        return answer


# ------------------------------------------------------------------------------------------------------ who


def test_only_this_machine_without_a_token() -> None:
    with pytest.raises(ValueError, match="set tokens"):
        Settings(Path("m"), host="0.0.0.0")
    with pytest.raises(ValueError, match="at least 16"):
        Settings(Path("m"), host="0.0.0.0", teach_token=b"short")
    assert Settings(Path("m")).host == "127.0.0.1"
    assert Settings(Path("m"), host="0.0.0.0", teach_token=TEACH.encode()).rate == 100


def test_tokens_for_reading_and_for_teaching(tmp_path: Path) -> None:
    settings = Settings(saved(tmp_path), read_token=READ.encode(), teach_token=TEACH.encode())
    row = {"rows": [{"label": "ham", "text": "x"}]}
    with in_process(settings) as (client, _):
        for path in ("/v1/model", "/metrics", "/openapi.json", "/v1/feedback", "/v1/nothing"):
            status, kinds, _ = client.send("GET", path)
            assert (status, kinds.get("www-authenticate")) == (401, "Bearer")
        for shown in (
            "",
            "Bearer",
            "Bearer x",
            f"Basic {READ}",
            "Bearer \xfc\xff",
            f"Bearer {READ}x",
            f"Bearer {READ[:-1]}",
        ):
            assert client.send("POST", "/v1/predict", {"text": "x"}, authorization=shown)[0] == 401
        for token in (READ, TEACH):
            client.post("/v1/predict", {"text": "x"}, authorization=f"Bearer {token}")
        client.post("/v1/learn", row, 403, authorization=f"Bearer {READ}")
        client.post("/v1/learn", row, authorization=f"bearer {TEACH}")
        assert client.send("GET", "/v1/feedback", authorization=f"Bearer {READ}")[0] == 403
        assert client.send("GET", "/health")[0] == client.send("GET", "/ready")[0] == client.send("GET", "/")[0] == 200


def test_the_host_and_the_origin_are_checked(client: Client) -> None:
    body = json.dumps({"text": "x"}).encode()
    head = b"POST /v1/predict HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n" % len(body)
    for host in (
        b"Host: evil.example\r\n",
        b"",
        b"Host: 127.0.0.1\r\nHost: evil.example\r\n",
        b"Host: 127.0.0.1.evil.example:80\r\n",
    ):
        assert raw(client.port, head + host + b"\r\n" + body).startswith((b"HTTP/1.1 421", b"HTTP/1.1 400")), host
    for host in (b"Host: localhost:99\r\n", b"Host: 127.0.0.1\r\n", b"Host: LOCALHOST:1\r\n"):
        assert raw(client.port, head + host + b"\r\n" + body).startswith(b"HTTP/1.1 200"), host
    own = f"http://127.0.0.1:{client.port}"
    client.post("/v1/predict", {"text": "x"}, origin=own)
    for origin in ("http://evil.example", "null", f"http://evil.example:{client.port}"):
        client.post("/v1/predict", {"text": "x"}, 403, origin=origin)
    client.post("/v1/predict", {"text": "x"}, 403, sec_fetch_site="cross-site")
    status, kinds, _ = client.send("OPTIONS", "/v1/predict", origin=own)
    assert status == 405
    assert not [name for name in kinds if name.startswith("access-control")]


def test_security_headers(client: Client) -> None:
    for path in ("/", "/page/main.js", "/v1/model", "/v1/nothing"):
        _, kinds, content = client.send("GET", path)
        policy = kinds["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert kinds["x-content-type-options"] == "nosniff"
        assert kinds["x-frame-options"] == "DENY"
        assert "server" not in kinds
        assert b"<script>" not in content
        assert b"style=" not in content


def test_one_client_may_not_send_too_many_requests(tmp_path: Path) -> None:
    with in_process(Settings(saved(tmp_path), limits=Limits(rate=20))) as (client, _):
        answers = [client.send("GET", "/health") for _ in range(60)]
        assert {status for status, _, _ in answers} == {200, 429}
        assert 20 <= sum(status == 200 for status, _, _ in answers) < 45
        refused = next(kinds for status, kinds, _ in answers if status == 429)
        assert int(refused["retry-after"]) >= 1
        time.sleep(0.2)
        assert client.send("GET", "/health")[0] == 200


# -------------------------------------------------------------------------------------------------- how much


def test_sizes(client: Client) -> None:
    client.post("/v1/predict", {"text": "x" * 100_001}, 413)
    client.post("/v1/predict/batch", {"rows": [{"text": "x"}] * 51}, 422)
    client.post("/v1/predict/batch", {"rows": [{"text": "x"}] * 50})
    client.post("/v1/predict", {"text": "ab " * 501}, 422)
    client.post("/v1/predict", {"text": "ab " * 500})
    huge = b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Long: "
    assert raw(client.port, huge, b"y" * 200_000) == b""
    for length in (b"99999999999999999999", b"-5", b"abc"):
        head = b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + length + b"\r\n\r\n"
        assert raw(client.port, head).startswith((b"HTTP/1.1 413", b"HTTP/1.1 400"))


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What the server takes from its sockets; the kernel holds megabytes more, which no one reads."""
    sizes, take = [], Connection.data_received

    def counted(connection: Connection, data: bytes) -> None:
        sizes.append(len(data))
        take(connection, data)

    monkeypatch.setattr(Connection, "data_received", counted)
    return sizes


def send_again_and_again(connection: socket.socket, part: bytes, size: int) -> None:
    for _ in range(size // len(part)):
        connection.sendall(part)


@pytest.mark.parametrize(
    ("path", "kind", "most"),
    [
        ("/v1/predict", b"application/json", LIMITS.body),
        ("/v1/predict/stream", b"application/x-ndjson", LIMITS.stream),
        ("/v1/predict/csv", b"text/csv", LIMITS.stream),
    ],
)
def test_ten_gigabytes_in_chunks_are_refused_at_the_limit(
    client: Client, read: list[int], path: str, kind: bytes, most: int
) -> None:
    head = b"POST %b HTTP/1.1\r\nHost: localhost\r\nContent-Type: %b\r\nTransfer-Encoding: chunked\r\n\r\n" % (
        path.encode(),
        kind,
    )
    line = b'{"text": "' + b"y" * (0x10000 - 13) + b'"}\n' if b"csv" not in kind else b"text\n" * (0x10000 // 5) + b"\n"
    chunk = b"10000\r\n" + line + b"\r\n"
    assert len(chunk) == 0x10000 + 9
    answer = b""
    with socket.create_connection(("127.0.0.1", client.port), timeout=10) as connection:
        connection.sendall(head)
        with pytest.raises(ConnectionError):
            send_again_and_again(connection, chunk, 10_000_000_000)
        with contextlib.suppress(ConnectionError):
            answer = connection.recv(65536)
    # Beyond the limit there are the frames of the chunks, what two readings bring (up to 256 KB each: the one that passes
    # the limit, and one that came before the connection was closed), and what waits to be looked at (64 KB).
    assert most < sum(read) < 1.001 * most + (2 * 256 + 64) * 1024
    # Or the answer was lost with the reset of the connection; that to a stream had begun already.
    assert answer[:12] in (b"HTTP/1.1 413", b"", b"HTTP/1.1 200" if most == LIMITS.stream else b"")


def test_bodies_have_limited_room_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discern.service.gate.MOST_HELD", 1)
    limits = Limits(body=100_000, row=100_000, idle_seconds=3.0)  # then there is room for four of these
    head = b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n"
    with in_process(Settings(saved(tmp_path), limits=limits)) as (client, _), contextlib.ExitStack() as stack:
        for _ in range(4):
            waiting = stack.enter_context(socket.create_connection(("127.0.0.1", client.port), timeout=10))
            waiting.sendall(head + b"x" * 99_990)
        time.sleep(0.5)
        client.post("/v1/predict", {"text": "y" * 1000}, 503)
        assert waiting.recv(65536).startswith(b"HTTP/1.1 408")  # they come too slowly
        time.sleep(0.5)
        for _ in range(10):
            client.post("/v1/predict", {"text": "y" * 90_000})
            client.post("/v1/predict", {"text": "y" * 100_000}, 413)


CHUNKED = b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("head", "part"),
    [
        (CHUNKED + b'c\r\n{"text":"x"}\r\n0\r\n', b"X-Trailer: yyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n" * 1000),
        (CHUNKED + b'c\r\n{"text":"x"}\r\n0\r\nX-Trailer: ', b"y" * 65536),
        (CHUNKED + b"c;extension=", b"y" * 65536),
        (b"", b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n" * 1000),
        (b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n", b"\r\n" * 32768),
    ],
    ids=["trailers", "trailer", "extension", "ahead", "lines"],
)
def test_what_is_no_body_has_limits_too(client: Client, read: list[int], head: bytes, part: bytes) -> None:
    with socket.create_connection(("127.0.0.1", client.port), timeout=10) as connection:
        connection.sendall(head)
        with pytest.raises(ConnectionError):
            send_again_and_again(connection, part, 1_000_000_000)
    assert sum(read) < 1_000_000


def test_chunks_of_one_byte_and_short_trailers_are_taken(client: Client) -> None:
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in json.dumps({"text": "y" * 90_000}).encode())
    for part in (chunks, b'c;name="x"\r\n{"text":"x"}\r\n'):
        assert raw(client.port, CHUNKED + part + b"0\r\nX-Digest: y\r\n\r\n").startswith(b"HTTP/1.1 200")
    ahead = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n" * 16
    with socket.create_connection(("127.0.0.1", client.port), timeout=10) as connection:
        connection.sendall(ahead)
        answers = b""
        while answers.count(b'{"alive":true}') < 16:
            part = connection.recv(65536)
            assert part
            answers += part


@pytest.mark.parametrize(
    "body",
    [
        b'{"text": "\\ud800"}', b'{"text": "\\udc00\\ud800"}', b'{"text": NaN}', b'{"text": 1e999}', b'{"text": Infinity}',
        b'{"text": "x", "n": 1e999}', b"[" * 100_000, b'{"a":' * 20_000, b'{"text": "\xff"}', b'{"text": "\xed\xa0\x80"}', b"",
        b"null", b"[]", b'"x"', b"{}", b'{"text": "x"', b'{"text": "a\nb"}', b"9" * 5000, b'{"text": {"text": "x"}}', b"\xef\xbb\xbf{}",
        b'{"label": "ham"}', b'{"text": ["x"]}', b'{"text": true}', b'{"__proto__": "x"}', b"\x00", b'{"text": "x"}{"text": "y"}',
    ],
)  # fmt: skip
def test_hostile_json_is_refused(client: Client, body: bytes) -> None:
    for path in ("/v1/predict", "/v1/explain", "/v1/learn", "/v1/undo"):
        status, kinds, content = client.send("POST", path, body, content_type="application/json")
        assert status in (400, 422), (path, content)
        assert kinds["content-type"] == "application/problem+json"
        json.loads(content)
    row = b'{"rows": [' + body + b"]}"
    assert client.send("POST", "/v1/learn", row, content_type="application/json")[0] in (400, 413, 422)
    lines = client.send("POST", "/v1/predict/stream", body + b"\n", content_type="application/x-ndjson")
    is_used = b'"n"' not in body  # a column that the model does not have is not looked at
    assert lines[0] in ((400, 413, 422) if is_used else (200, 422)) or not body.strip()


@pytest.mark.parametrize("number", ["9" * 5000, "9" * 17, "-1", "1.0", "", "x", "\xb2"])
def test_numbers_of_entries_that_are_none(client: Client, number: str) -> None:
    for path in ("/v1/predict", "/v1/explain"):
        client.post(path, {"text": "x"}, 422, discern_after=number)


def test_addresses_of_a_network_are_one_client() -> None:
    assert _network("192.0.2.1") != _network("192.0.2.2")
    assert _network("2001:db8::1") == _network("2001:db8:0:0:ffff::2") != _network("2001:db8:0:1::1")
    assert _network("::bad::") == "::bad::"


def test_texts_of_every_kind_are_taken(client: Client) -> None:
    for text in (
        "",
        "\0",
        "\u202eabc",
        "👩\u200d👩\u200d👧",
        "e\u0301 é",
        "שלום עולם",
        "自然言語処理",
        "\ufffe",
        "\U0010ffff",
        "a\u2028b",
    ):
        answer = client.post("/v1/explain", {"text": text})
        assert "".join(part["text"] for part in answer["segments"].get("text", ())) in (text, "")


# ----------------------------------------------------------------------------------------------------- slowly


@pytest.mark.alone
def test_a_slow_body_is_dropped(client: Client) -> None:
    head = b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", client.port), timeout=10) as connection:
        connection.sendall(head)
        connection.settimeout(0.2)
        answer = b""
        while not answer and time.monotonic() - began < 8:
            with contextlib.suppress(TimeoutError, ConnectionError):
                connection.sendall(b"{")
                answer = connection.recv(65536)
    assert answer.startswith(b"HTTP/1.1 408")
    assert time.monotonic() - began < 4


@pytest.mark.alone
def test_empty_lines_do_not_keep_a_connection(client: Client) -> None:
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", client.port), timeout=10) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")
        with contextlib.suppress(ConnectionError):
            while time.monotonic() - began < 8:
                connection.sendall(b"\r\n")
                time.sleep(0.1)
    assert time.monotonic() - began < 5


def dropped(client: Client) -> int:
    """Return the number of connections that were dropped."""
    lines = client.send("GET", "/metrics")[2].decode().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("discern_slow_connections_total")))


def test_answers_that_no_one_reads_are_dropped(client: Client) -> None:
    """More of them than there are threads for uploads: none of these may be kept."""
    head = b"POST /v1/predict/stream HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
    body = b'{"text": "x"}\n' * 80_000  # some 8 MB of answer
    before = dropped(client)
    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(socket.socket()) for _ in range(5)]
        for connection in connections:
            connection.settimeout(30)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)  # little of it fits into the kernel
            connection.connect(("127.0.0.1", client.port))
            connection.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        # Whatever these wait for, others are served in the end.
        kind = "application/x-ndjson"
        assert client.send("POST", "/v1/predict/stream", b'{"text": "x"}\n', content_type=kind)[0] == 200
        deadline = time.monotonic() + 30
        while dropped(client) < before + 5 and time.monotonic() < deadline:
            time.sleep(0.2)
        for connection in connections:
            end = b"-"
            with contextlib.suppress(ConnectionError):
                while part := connection.recv(1 << 20):
                    end = (end + part)[-5:]
            assert end != b"0\r\n\r\n"


def slow_connections(port: int, number: int) -> list[socket.socket]:
    found = [socket.create_connection(("127.0.0.1", port), timeout=10) for _ in range(number)]
    for place, connection in enumerate(found):
        connection.sendall(
            (b"GET /x", b"GET / HTTP/1.1\r\nHost: x\r\nX: ", b"POST /v1/predict HTTP/1.1\r\n")[place % 3]
        )
    return found


def drip_until_dropped(connections: list[socket.socket], seconds: float) -> float:
    """Send a byte now and then on every connection; give the time after which the last one was dropped."""
    began = time.monotonic()
    with selectors.DefaultSelector() as selector:
        for connection in connections:
            connection.setblocking(False)
            selector.register(connection, selectors.EVENT_READ)
        while selector.get_map() and time.monotonic() - began < seconds:
            for key, _ in selector.select(0.2):
                with contextlib.suppress(ConnectionError):
                    if key.fileobj.recv(65536):  # type: ignore[union-attr]
                        continue
                selector.unregister(key.fileobj)
            for key in list(selector.get_map().values()):
                with contextlib.suppress(OSError):
                    key.fileobj.send(b"x")  # type: ignore[union-attr]
        assert not selector.get_map(), f"{len(selector.get_map())} connections were not dropped"
    return time.monotonic() - began


def p99(client: Client, number: int) -> float:
    times = []
    for _ in range(number):
        began = time.perf_counter()
        client.post("/v1/predict", {"text": "win a free prize"})
        times.append(time.perf_counter() - began)
    return statistics.quantiles(times, n=100)[98]


@pytest.mark.alone
def test_a_thousand_slow_connections_are_dropped_and_keep_no_one_waiting(tmp_path: Path) -> None:
    service = Process(saved(tmp_path))
    client, ratios, took = service.client(), [], []
    p99(client, 200)
    while not ratios or (min(ratios) > 2 and len(ratios) < 6):  # other processes disturb: then it is measured again
        alone = min(p99(client, 300) for _ in range(3))
        connections = slow_connections(service.port, 1000)
        ratios.append(min(p99(client, 300) for _ in range(3)) / alone)
        took.append(drip_until_dropped(connections, 12.0))
        for connection in connections:
            connection.close()
    number = dropped(client)
    service.stop()
    assert max(took) < 10
    assert min(ratios) <= 2, ratios
    assert number >= 990 * len(ratios)


# ------------------------------------------------------------------------------------------------------- logs


def test_no_text_of_a_user_is_in_the_log(service: tuple[Client, Telling]) -> None:
    client, journal = service
    secret = "sesamesecret"
    for path in (
        "/v1/predict",
        "/v1/explain",
        "/v1/learn",
        "/v1/forget",
        f"/v1/{secret}",
        f"/v1/model/words?label={secret}",
    ):
        client.send("POST", path, {"text": secret})
        client.send(
            "POST", path, {"rows": [{"text": secret, "label": secret}]}, idempotency_key=secret, authorization=secret
        )
        client.send("POST", path, f'{{"{secret}'.encode())
        client.send("GET", path, user_agent=secret)
    assert len(journal.lines) > 20
    assert not [line for line in journal.lines if secret in line]
    assert all(json.loads(line)["event"] for line in journal.lines)


def test_libraries_log_no_text_of_a_user() -> None:
    journal = Telling()
    handler = JournalHandler(journal)
    for name in ("asyncio", "py.warnings", "sqlalchemy.pool", "uvicorn.error"):
        handler.emit(logging.LogRecord(name, logging.ERROR, "", 0, "Exception in %s", ("sesame",), None))
        handler.emit(logging.LogRecord(name, logging.ERROR, "", 0, "Exception in f('secret')", None, None))
    told = [json.loads(line) for line in journal.lines]
    assert [line.get("message") for line in told] == [None] * 6 + ["Exception in %s", "Exception in f('secret')"]
    assert not [line for line in journal.lines if "sesame" in line]


# -------------------------------------------------------------------------------------------------- the head


@pytest.mark.parametrize("pieces", [1, 2, 20])
@pytest.mark.parametrize("part", ["header", "headers", "address"])
def test_a_head_may_have_32_kilobytes(client: Client, part: str, pieces: int) -> None:
    def asked(size: int) -> bytes:
        padding = {"header": f"X-Long: {'y' * size}\r\n", "headers": "X-Some: yyyyyyyyyyyyyy\r\n" * (size // 24)}
        address = "/health" + ("?" + "y" * size if part == "address" else "")
        head = f"GET {address} HTTP/1.1\r\nHost: localhost\r\n{padding.get(part, '')}\r\n".encode()
        step = -(-len(head) // pieces)
        return raw(client.port, *(head[start : start + step] for start in range(0, len(head), step)))

    assert asked(30_000).startswith(b"HTTP/1.1 200")
    for size in (34_000, 40_000, 70_000):
        assert asked(size)[:12] in (b"HTTP/1.1 400", b"")


def test_heads_sent_ahead_in_one_packet_have_the_limit_each(client: Client) -> None:
    short = f"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Long: {'y' * 10_000}\r\n\r\n".encode()
    long = short.replace(b"y" * 10_000, b"y" * 40_000)
    with socket.create_connection(("127.0.0.1", client.port), timeout=10) as connection:
        connection.sendall(short * 5 + long)
        answers = b""
        with contextlib.suppress(ConnectionError):
            while part := connection.recv(65536):
                answers += part
    assert answers.count(b"HTTP/1.1 200") <= 5
