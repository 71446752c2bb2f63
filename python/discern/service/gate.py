"""Admission and limits of requests: a gate before the application, in plain ASGI."""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from discern.service.problems import Problem
from discern.service.settings import Limits, Settings
from discern.service.telemetry import ROUTES, Figures, Journal

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
T = TypeVar("T")
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

TEACHING = frozenset(
    {"/v1/learn", "/v1/forget", "/v1/relabel", "/v1/undo", "/v1/feedback", "/v1/compact", "/v1/reload"}
)
"""Addresses that need the token for teaching; the rest of /v1 and /metrics needs one for reading."""
STREAMED = frozenset({"/v1/predict/stream", "/v1/predict/csv"})
SLOWEST = 1024.0
"""Bytes a second that a body, or the reading of an answer, must have on average, after its first seconds."""
DEADLINE_INTERVAL = 0.25
"""Seconds between two checks of deadlines."""
SWEEP_INTERVAL = 1.0
"""Seconds between two checks for answers that no one reads."""
MOST_CLIENTS = 20_000
"""Clients whose rates are remembered."""
MOST_HELD = 256 << 20
"""Bytes of all bodies in memory, in one worker."""
MOST_AHEAD = 16
"""Requests that may be sent on a connection before the first of them is answered."""
HEADER_MARKS = 4
"""Bytes around the name and the value of a header: a colon, a space and a line break."""
CHUNKED = 9
"""Bytes that may come for each byte of a body: in chunks of one byte there are six."""

_POLICY = b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
_PAGE_POLICY = (
    _POLICY + b"; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'"
)
CLOSING = ((b"connection", b"close"),)
_COMMON = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
]
API_HEADERS = [*_COMMON, (b"content-security-policy", _POLICY), (b"cache-control", b"no-store")]
PAGE_HEADERS = [*_COMMON, (b"content-security-policy", _PAGE_POLICY), (b"cache-control", b"no-cache")]


class ClientGoneError(Exception):
    """The client has closed the connection; there is no one to answer."""


class CutOffError(Exception):
    """An answer could not be completed; the server closes the connection."""


class Rates:
    """Requests of each client: a bucket that holds one second's worth and fills again as time goes by.

    Examples
    --------
    >>> rates = Rates(2.0)
    >>> [rates.wait("a", now) for now in (0.0, 0.0, 0.0, 0.5)]
    [0.0, 0.0, 0.5, 0.0]
    """

    def __init__(self, rate: float) -> None:
        self._rate, self._most = rate, max(rate, 1.0)
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, client: str, now: float) -> float:
        """Take one request; return the seconds to wait if there is none left."""
        left, last = self._buckets.pop(client, (self._most, now))
        left = min(self._most, left + (now - last) * self._rate)
        self._buckets[client] = (left - 1.0 if left >= 1.0 else left, now)
        if len(self._buckets) > MOST_CLIENTS:
            self._buckets.popitem(last=False)
        return 0.0 if left >= 1.0 else (1.0 - left) / self._rate


class Deadlines:
    """Ends waits that take too long: one periodic check of all, instead of a timer for each."""

    def __init__(self) -> None:
        self._waiting: dict[asyncio.Task[Any], float] = {}
        self._looking = False

    async def within(self, seconds: float, awaited: Awaitable[T]) -> T:
        """Wait; raises TimeoutError after the given seconds, or a little later."""
        task = asyncio.current_task()
        assert task is not None
        self._waiting[task] = time.monotonic() + seconds
        if not self._looking:
            self._looking = True
            asyncio.get_running_loop().call_later(DEADLINE_INTERVAL, self._look)
        try:
            return await awaited
        except asyncio.CancelledError:
            if task in self._waiting:  # someone else wants this task to end
                raise
            task.uncancel()
            raise TimeoutError from None
        finally:
            self._waiting.pop(task, None)

    def _look(self) -> None:
        now = time.monotonic()
        for task, deadline in list(self._waiting.items()):
            if now > deadline:
                del self._waiting[task]
                task.cancel()
        self._looking = bool(self._waiting)
        if self._looking:
            asyncio.get_running_loop().call_later(DEADLINE_INTERVAL, self._look)


class MemoryBudget:
    """The memory that bodies have together."""

    def __init__(self, most: int) -> None:
        self.left = most


class RequestCycle:
    """A request and its answer, within the limits."""

    __slots__ = (
        "_extra", "_held", "_limit", "_limits", "_receive", "_received", "_room", "_send", "_waited", "_watch",
        "body_is_due", "complete", "gone", "status",
    )  # fmt: skip

    def __init__(
        self,
        receive: Receive,
        send: Send,
        limits: Limits,
        limit: int,
        extra: list[tuple[bytes, bytes]],
        watch: Deadlines,
        room: MemoryBudget,
    ) -> None:
        self._receive, self._send, self._limits, self._limit, self._extra = receive, send, limits, limit, extra
        self._received, self._held, self._waited, self._watch, self._room = 0, 0, 0.0, watch, room
        self.status, self.gone, self.complete, self.body_is_due = 0, False, False, False

    async def receive(self) -> Message:
        """Return the next part of the body; refuses what is too long or comes too slowly."""
        allowed = self._limits.idle_seconds + self._received / SLOWEST - self._waited
        began = time.monotonic()
        try:
            message = await self._watch.within(min(allowed, self._limits.idle_seconds), self._receive())
        except TimeoutError:
            raise Problem(408, "too-slow", "the body was sent too slowly; send it at once") from None
        self._waited += time.monotonic() - began
        if message["type"] == "http.disconnect":
            self.gone = True
            return message
        size = len(message.get("body", b""))
        self._received += size
        self.body_is_due = message.get("more_body", False)
        if self._received > self._limit:
            raise _too_large(self._limit)
        if size > self._room.left:
            raise Problem(503, "not-ready", "too many bodies are being received; try again", {"Retry-After": "1"})
        self.keep(self._held + size)
        return message

    def keep(self, size: int) -> None:
        """Release the memory of the body except for ``size`` bytes: the rest of a stream has become rows."""
        self._room.left += self._held - size
        self._held = size

    def leave(self) -> None:
        """Release the memory that the body had, and take none any more: a thread may still ask for the next part."""
        self.keep(0)
        self._room = MemoryBudget(0)

    async def send(self, message: Message) -> None:
        """Pass on a part of the answer."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            # Whoever is answered while still sending may not go on: the connection is closed after the answer.
            closing = CLOSING if self.body_is_due else ()
            message["headers"] = [*message.get("headers", ()), *self._extra, *closing]
            await self._send(message)
            return
        self.complete = not message.get("more_body", False)
        await self._send(message)

    def cut_off(self) -> None:
        """End an answer that has begun without its end, so that it does not look complete."""
        if not self.gone:
            raise CutOffError

    async def refuse(self, problem: Problem) -> None:
        """Answer with a problem document."""
        await self.send({"type": "http.response.start", "status": problem.status, "headers": problem.head()})
        await self.send({"type": "http.response.body", "body": problem.body})


def _too_large(limit: int) -> Problem:
    detail = f"the body is larger than {limit:,} bytes; send less at once"
    return Problem(413, "body-too-large", detail)


class Gate:
    """Checks every request first: host, origin, rate, token, size; and logs its result."""

    def __init__(
        self, application: Application, fast: Application, settings: Settings, figures: Figures, journal: Journal
    ) -> None:
        self._application, self._fast, self._settings = application, fast, settings
        self._figures, self._journal = figures, journal
        self._hosts = frozenset(name.encode() for name in settings.allowed_hosts)
        self._watch, self._room = (
            Deadlines(),
            MemoryBudget(max(MOST_HELD, 4 * settings.limits.body, 4 * settings.limits.row)),
        )
        self._rates = Rates(settings.rate) if settings.rate else None
        self._known = frozenset(ROUTES)
        self._teaching = (settings.teach_token,)
        self._reading = (settings.read_token, settings.teach_token)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, or the start and end of the service."""
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        began, path = time.perf_counter(), scope["path"]
        is_api = path.startswith("/v1/") or path in self._known
        limits = self._settings.limits
        limit = limits.stream if path in STREAMED else limits.body
        headers = API_HEADERS if is_api else PAGE_HEADERS
        cycle = RequestCycle(receive, send, limits, limit, headers, self._watch, self._room)
        scope["discern.keep"] = cycle.keep
        try:
            await self._handle(scope, path, is_api, limit, cycle)
        finally:
            cycle.leave()
            route = path if path in self._known else "page" if path.startswith("/page/") or path == "/" else "other"
            seconds = time.perf_counter() - began
            self._figures.request(route, cycle.status or 499, seconds)
            if self._journal.requests:
                self._log_event(scope, route, cycle, seconds)

    def _log_event(self, scope: Scope, route: str, cycle: RequestCycle, seconds: float) -> None:
        self._journal.write(
            "request", method=scope["method"][:8], route=route, status=cycle.status, ms=round(1000 * seconds, 3)
        )

    async def _handle(self, scope: Scope, path: str, is_api: bool, limit: int, cycle: RequestCycle) -> None:
        try:
            self._admit(scope, path, is_api, limit, cycle)
            handler = self._fast if path == "/v1/predict" and scope["method"] == "POST" else self._application
            await handler(scope, cycle.receive, cycle.send)
        except Problem as problem:
            await self._refused(problem, cycle)
        except (ClientGoneError, CutOffError):
            cycle.cut_off()
        except Exception as error:
            self._journal.write("failed", error, route=path if path in self._known else "other")
            await self._refused(
                Problem(500, "internal", "internal error; the log of the service has the details"), cycle
            )

    async def _refused(self, problem: Problem, cycle: RequestCycle) -> None:
        if cycle.gone or cycle.complete:
            return
        if cycle.status:
            cycle.cut_off()
        if problem.status in (401, 403, 408, 413, 421, 429):
            self._figures.add("refused")
        await cycle.refuse(problem)

    # ------------------------------------------------------------------------------------------ admission

    def _admit(self, scope: Scope, path: str, is_api: bool, limit: int, cycle: RequestCycle) -> None:
        host = origin = authorization = length = site = kind = b""
        after: bytes | None = None
        hosts = 0
        for name, value in scope["headers"]:
            if name == b"host":
                host, hosts = value, hosts + 1
            elif name == b"authorization":
                authorization = value
            elif name == b"origin":
                origin = value
            elif name == b"content-length":
                length, cycle.body_is_due = value, value != b"0"
            elif name == b"transfer-encoding":
                cycle.body_is_due = True
            elif name == b"content-type":
                kind = value
            elif name == b"discern-after":
                after = value
            elif name == b"sec-fetch-site":
                site = value
        scope["discern"] = kind, after
        if hosts != 1 or not self._knows(host):
            raise Problem(
                421, "unknown-host", "the service does not answer to this host name; start it with --host-name NAME"
            )
        if is_api and (site == b"cross-site" or (origin and origin.split(b"://")[-1] != host)):
            raise Problem(403, "cross-site", "pages of other sites may not use this service")
        self._check_rate(scope)
        if is_api and path not in ("/health", "/ready"):
            self._check_token(path, authorization)
        if length and (not length.isdigit() or int(length) > limit):
            raise _too_large(limit)

    def _knows(self, host: bytes) -> bool:
        if host in self._hosts:
            return True
        name, _, port = host.lower().rpartition(b":")
        return name in self._hosts and port.isdigit()

    def _check_rate(self, scope: Scope) -> None:
        if self._rates is None:
            return
        client = scope.get("client")
        wait = self._rates.wait(_network(client[0]) if client else "", time.monotonic())
        if wait:
            headers = {"Retry-After": str(int(wait) + 1)}
            raise Problem(429, "rate", "too many requests from this address; wait and send fewer", headers)

    def _check_token(self, path: str, authorization: bytes) -> None:
        if not self._settings.has_tokens:
            return
        kind, _, shown = authorization.partition(b" ")
        shown = shown.strip() if kind.lower() == b"bearer" else b""
        # As bytes and in constant time, each of them: how long it takes tells nothing.
        reads = [hmac.compare_digest(shown, token) for token in self._reading if token is not None]
        teaches = [hmac.compare_digest(shown, token) for token in self._teaching if token is not None]
        if not any(reads):
            headers = {"WWW-Authenticate": "Bearer"}
            raise Problem(401, "token", "send a token: Authorization: Bearer TOKEN", headers)
        if path in TEACHING and not any(teaches):
            raise Problem(403, "token", "this token is for reading; teaching needs the other token")


def _network(address: str) -> str:
    """Return the network of a client: its address, or in version 6 the network of 64 bits."""
    if ":" not in address:
        return address
    try:
        return ipaddress.IPv6Address(address.partition("%")[0]).exploded[:19]
    except ValueError:  # what a proxy has passed on
        return address


class Connection(HttpToolsProtocol):
    """A connection that must send the head of a request in time, and not too long a one; and must read its answers."""

    limits: Limits = Limits()
    dropped: Callable[[], None] = staticmethod(lambda: None)
    _sweeping = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._head, self._deadline = 0, self.loop.call_later(self.limits.header_seconds, self._drop)
        self._named, self._taken, self._spare, self._unread = 0, 0, 0, (0.0, 0, 0)
        if not type(self)._sweeping:
            type(self)._sweeping = True
            self._sweep_later()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._deadline.cancel()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Begin to wait for the head of the next request."""
        super().on_message_begin()
        self._deadline.cancel()
        self._named = 0
        self._head, self._deadline = 0, self.loop.call_later(self.limits.header_seconds, self._drop)

    def on_url(self, url: bytes) -> None:
        """Take a part of the address."""
        self._refuse_long_head(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header."""
        self._refuse_long_head(len(name) + len(value) + HEADER_MARKS)
        super().on_header(name, value)

    def _refuse_long_head(self, more: int) -> None:
        self._named += more
        if self._named > self.limits.header_bytes:
            type(self).dropped()
            raise ValueError("the head of the request is too long")  # which is answered with 400

    def on_headers_complete(self) -> None:
        """Take the head of a request."""
        self._deadline.cancel()
        if len(self.pipeline) >= MOST_AHEAD:
            raise ValueError("too many requests are sent ahead")  # which is answered with 400
        self._head, self._spare = -1, 2 * self.limits.header_bytes
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a part of a body."""
        self._spare += CHUNKED * len(body)
        super().on_body(body)

    def data_received(self, data: bytes) -> None:
        """Take bytes; what is neither a head nor a body, but between chunks or after the last one, may not be long."""
        self._taken += len(data)
        if self._head >= 0:
            self._head += len(data)
        else:
            self._spare = min(self._spare, 2 * self.limits.header_bytes) - len(data)
        super().data_received(data)
        if self._head > self.limits.header_bytes or (self._head < 0 and self._spare < 0):
            self._drop()
        elif self._head < 0 and self.cycle.response_complete and self._deadline.cancelled():
            # Bytes between two requests, such as empty lines, have ended uvicorn's own waiting.
            self._deadline = self.loop.call_later(self.limits.header_seconds, self._drop)

    def _drop(self) -> None:
        type(self).dropped()
        self.transport.abort()

    # One look at all connections now and then, as closing does not end one whose client reads nothing.

    def _sweep_later(self) -> None:
        self.loop.call_later(SWEEP_INTERVAL, self._sweep)

    def _sweep(self) -> None:
        now = time.monotonic()
        for connection in list(self.connections):
            if isinstance(connection, Connection) and connection._is_left_unread(now):
                connection._drop()
        type(self)._sweeping = bool(self.connections)
        if self.connections:
            self._sweep_later()

    def _is_left_unread(self, now: float) -> bool:
        """Return whether the client reads too slowly what waits for it, without sending anything itself.

        Many clients read nothing before they have sent everything.
        """
        waiting = self.transport.get_write_buffer_size()
        since, before, taken = self._unread
        if not waiting or not before or waiting > before or taken != self._taken:
            self._unread = now, waiting, self._taken
            return False
        if now - since < self.limits.send_seconds:
            return False
        self._unread = now, waiting, self._taken
        return before - waiting < SLOWEST * self.limits.send_seconds
