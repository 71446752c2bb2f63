"""A worker: its live model, its part in the log, and what it answers."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from discern.analysis.highlight import word_weights
from discern.data.strings import DataError
from discern.models.evidence import Evidence
from discern.service.gate import ClientGoneError, Receive, Scope, Send
from discern.service.problems import Problem
from discern.service.replay import try_to_sum
from discern.service.rows import Reader, fields, parse
from discern.service.settings import Settings
from discern.service.state import BaseError, Live, State
from discern.service.store import Entry, LogGoneError, Receipt, Store, StoreError
from discern.service.streams import Stream, rows_of
from discern.service.teach import Ask, Teacher
from discern.service.telemetry import Figures, Journal

T = TypeVar("T")

THREADS = 4
"""Requests that compute for long at the same time, in one worker."""
WAITING = 64
"""More requests than these wait for no thread: they are told to come again."""
UPLOADS = 32
"""Streams that are read at the same time, in one worker; each waits for its client in a thread."""
SMALL = 16_384
"""Bytes of a text up to which it is judged without handing it to a thread."""


def to_json(value: Any) -> bytes:
    """Return a value as JSON; what is no finite number is null."""
    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=False).encode("ascii")
    except ValueError:
        return json.dumps(_finite(value), separators=(",", ":"), allow_nan=False).encode("ascii")


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    return [_finite(one) for one in value] if isinstance(value, list | tuple) else value


class Worker:
    """Answers requests by the live model, and has feedback written."""

    def __init__(self, settings: Settings, base: State, figures: Figures, journal: Journal) -> None:
        self.settings, self.figures, self.journal = settings, figures, journal
        self._base = base
        self._waiting = self._uploads = 0
        self._reading: tuple[State, Reader] | None = None
        self._held_out: dict[str, tuple[State, bytes]] = {}
        self._gone: LogGoneError | None = None

    async def start(self) -> None:
        """Open the log and begin to follow it."""
        await asyncio.to_thread(self._start)

    def _start(self) -> None:
        can_learn = self._base.classifier.recipe is None and not self._base.classifier.info()["slim"]
        self.store = self._opened() if can_learn else None
        self.live = Live(self.settings.model, self.store, self._base, self.journal.tell, self.settings.compact_after)
        self.teacher = Teacher(self.store, self.live) if self.store is not None else None
        self.threads = ThreadPoolExecutor(THREADS, "answer")
        self.upload_threads = ThreadPoolExecutor(UPLOADS, "upload")
        self.live.start()
        if self.teacher is not None:
            self.teacher.start()

    def _opened(self) -> Store | None:
        """Open the log that the service began with; without it this worker only predicts."""
        try:
            return Store(self.settings.log_place, self.settings.synchronous, self._base.log)
        except LogGoneError as error:
            self._gone = error
            self.journal.tell("log-gone", error)
            return None

    async def stop(self) -> None:
        """Write what is still to be written, and close the log."""
        await asyncio.to_thread(self._stop)

    def _stop(self) -> None:
        if self.teacher is not None:
            self.teacher.stop()
        self.live.stop()
        self.threads.shutdown()
        self.upload_threads.shutdown(wait=False, cancel_futures=True)
        if self.store is not None:
            self.store.close()

    @property
    def state(self) -> State:
        """The model that answers now."""
        return self.live.state

    async def in_thread(self, work: Callable[..., T], *arguments: Any) -> T:
        """Compute without keeping others waiting."""
        if self._waiting >= WAITING:
            raise Problem(503, "not-ready", "too many requests are being worked on; try again", {"Retry-After": "1"})
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self.threads, work, *arguments)
        finally:
            self._waiting -= 1

    async def state_for(self, request: Request) -> State:
        """Return the model to answer by: one that has learned what the client has seen acknowledged."""
        after = request.headers.get("discern-after")
        return self.state if after is None else await self.state_after(after)

    async def state_after(self, after: str) -> State:
        """Return the model that has learned an entry."""
        if not after.isdecimal() or len(after) > len(str(2**53)) or int(after) > 2**53:
            raise Problem(422, "bad-parameter", "Discern-After must be the number of an entry")
        if int(after) > self.state.sequence and self.store is not None:
            await self.in_thread(self.live.catch_up, int(after))
        return self.state

    def _reader(self, state: State) -> Reader:
        """Return the reader of rows for a state; it is kept as long as the state is."""
        if self._reading is None or self._reading[0] is not state:
            self._reading = state, Reader(state, self.settings.limits)
        return self._reading[1]

    # ----------------------------------------------------------------------------------------- predicting

    async def predict(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Predict one row, with as little as possible around it."""
        kind, after = scope["discern"]
        state = await self.state_after(after.decode("latin-1")) if after is not None else self.state
        if kind != b"application/json":
            _refuse_kind(kind.decode("latin-1"), ("application/json",))
        row = self._reader(state).row(parse(await _body(receive)))
        text = row.get(state.classifier.text or "") if len(state.classifier.features) == 1 else None
        if isinstance(text, str) and len(text) <= SMALL:
            shares = state.shares_of_text(text)
        else:
            shares = (await self.in_thread(state.shares, [row]))[0]
        self.figures.add("rows_predicted")
        await _give(send, state.answer(shares), state)

    async def predict_batch(self, request: Request) -> Response:
        state = await self.state_for(request)
        [rows] = fields(await _json(request), ["rows"])
        read = self._reader(state).rows(rows)
        shares = await self.in_thread(state.shares, read)
        self.figures.add("rows_predicted", len(read))
        return _answer(b'{"predictions":[' + b",".join(map(state.answer, shares)) + b"]}", state)

    async def stream(self, request: Request, kind: str) -> Response:
        """Answer a stream; the answer is sent while the rows are still coming."""
        expected = {"csv": ("text/csv",), "json": ("application/x-ndjson", "application/jsonl")}[kind]
        _refuse_type(request, expected)
        state = await self.state_for(request)
        settings = self.settings
        keep = request.scope["discern.keep"]
        stream = Stream(state, settings.limits, request.receive, request._send, keep, settings.behind_proxy)
        run = stream.of_csv if kind == "csv" else stream.of_json
        if self._uploads >= UPLOADS:
            raise Problem(503, "not-ready", "too many streams are being read; try again", {"Retry-After": "5"})
        self._uploads += 1
        try:
            await asyncio.get_running_loop().run_in_executor(self.upload_threads, run)
        finally:
            self._uploads -= 1
            stream.close()
            self.figures.add("rows_predicted", stream.rows)
        return Sent()

    async def explain(self, request: Request) -> Response:
        state = await self.state_for(request)
        row = self._reader(state).row(await _json(request))
        return _answer(await self.in_thread(explained, state, row), state)

    async def evaluate(self, request: Request) -> Response:
        state = await self.state_for(request)
        rows = await self._judged(request, state)
        return _answer(to_json(await self.in_thread(_of_data, _figures, state, rows)), state)

    async def _judged(self, request: Request, state: State) -> Any:
        kind = _refuse_type(request, ("application/json", "text/csv", "application/x-ndjson"))
        if kind == "application/json":
            [rows] = fields(await _json(request), ["rows"])
            return state.batch(self._reader(state).rows(rows, labelled=True), label=True)
        body, name = await _body(request.receive), "csv" if kind == "text/csv" else "json"
        return await self.in_thread(_of_data, rows_of, body, name, self._reader(state))

    # ------------------------------------------------------------------------------------------- teaching

    def _taught(self) -> tuple[Teacher, Store]:
        """Return the teacher and its log, or refuse."""
        if self._gone is not None:
            raise Problem(503, "not-durable", str(self._gone))
        if self.teacher is None or self.store is None:
            detail = "this model is not a sum of its rows, or was saved slim: serve one of naive Bayes, saved whole"
            raise Problem(409, "cannot-learn", detail)
        return self.teacher, self.store

    async def change(self, request: Request, action: str) -> Response:
        """Learn, forget or relabel rows."""
        _refuse_type(request, ("application/json",))
        body = await _body(request.receive)
        value, state = parse(body), self.state
        reader = self._reader(state)
        if action == "relabel":
            rows, old, new = fields(value, ["rows", "from", "to"])
            read = reader.rows(rows)
            old, new = reader.label(old, "'from'"), reader.label(new, "'to'")
            change = state.change(action, _labelled(read, state.label, new), _labelled(read, state.label, old))
        else:
            read = reader.rows(fields(value, ["rows"])[0], labelled=True)
            change = state.change(action, *((read, ()) if action == "learn" else ((), read)))
        _, store = self._taught()
        await self.in_thread(_of_data, try_to_sum, state.classifier, [*change.learn, *change.forget])
        return await self._written(request, Ask(change, None, _key(request), store.digest(action, body)))

    async def undo(self, request: Request) -> Response:
        _refuse_type(request, ("application/json",))
        body = await _body(request.receive)
        [sequence] = fields(parse(body), ["sequence"])
        whole = isinstance(sequence, int | float) and not isinstance(sequence, bool) and sequence == int(sequence)
        if not whole or not 0 < sequence <= 2**53:
            raise Problem(422, "bad-parameter", "'sequence' must be the number of an entry")
        _, store = self._taught()
        return await self._written(request, Ask(None, int(sequence), _key(request), store.digest("undo", body)))

    async def _written(self, request: Request, ask: Ask) -> Response:
        receipt: Receipt = await asyncio.wrap_future(self._taught()[0].ask(ask))
        if ask.change is not None and not receipt.repeated:
            self.figures.add("rows_learned", len(ask.change.learn))
            self.figures.add("rows_forgotten", len(ask.change.forget))
        told = {"sequence": receipt.sequence, "rows": receipt.rows, "repeated": receipt.repeated}
        return _answer(to_json(told), self.state)

    async def feedback(self, limit: int) -> Response:
        store = self.store
        entries = await self.in_thread(store.recent, limit) if store is not None else []
        state = self.state
        return _answer(to_json({"entries": [_shown(entry, state) for entry in entries]}), state)

    async def compact(self) -> Response:
        self._taught()
        try:
            through = await self.in_thread(self.live.compact)
        except LogGoneError as error:
            raise Problem(503, "not-durable", str(error)) from error
        except (OSError, ValueError, StoreError) as error:
            self.journal.tell("compaction-failed", error)
            detail = "the compaction did not finish; the model file and the log are whole: see the log lines, try again"
            raise Problem(503, "not-durable", detail, {"Retry-After": "10"}) from error
        return _answer(to_json({"through": through, "checksum": self.state.checksum}), self.state)

    async def reload(self) -> Response:
        try:
            reloaded = await self.in_thread(self.live.reload)
        except (BaseError, ValueError, OSError) as error:
            raise Problem(
                409, "not-ready", f"the model file cannot be served, the old model goes on: {error}"
            ) from error
        return _answer(to_json({"reloaded": reloaded, "checksum": self.state.checksum}), self.state)

    # -------------------------------------------------------------------------------------------- telling

    async def card(self) -> Response:
        return _answer(to_json(await self.in_thread(self._card)), self.state)

    def _card(self) -> dict[str, Any]:
        state = self.state
        entries, rows = self.store.size() if self.store is not None else (0, 0)
        about = state.classifier.info()
        return {
            "file": self.settings.model.name,
            "checksum": state.checksum,
            "sequence": state.sequence,
            "can_learn": self.live.can_learn,
            "log": {
                "entries": entries,
                "rows": rows,
                "not_applied": len(state.unapplied),
                "engine": self.store.engine if self.store is not None else None,
            },
            "has_evaluation": self.settings.held_out is not None,
            **about,
        }

    async def words(self, label: str, search: str, top: int, against: bool) -> Response:
        state = self.state
        if label not in state.labels:
            raise Problem(404, "gone", "the model has no such label; /v1/model lists them")
        words = await self.in_thread(strongest, state, label, search, top, against)
        return _answer(to_json({"label": label, "words": words}), state)

    async def evaluation(self) -> Response:
        """Judge the live model on the rows held out, once for each state."""
        if self.settings.held_out is None:
            raise Problem(
                404, "gone", "no rows were held out: start the service with --held-out FILE, or post rows to evaluate"
            )
        return _answer(*await self._of_held_out("figures", lambda state, data: to_json(_figures(state, data))))

    async def _of_held_out(self, name: str, work: Callable[[State, Any], bytes]) -> tuple[bytes, State]:
        """Return what is made of the rows held out; it is made once for each state."""
        state = self.state
        made = self._held_out.get(name)
        if made is None or made[0] is not state:
            made = state, await self.in_thread(_of_data, work, state, self.settings.held_out)
            self._held_out[name] = made
        return made[1], made[0]

    async def page_evaluation(self, request: Request) -> Response:
        """Return the part of the page that shows an evaluation: of rows posted, or of those held out."""
        if request.method == "POST":
            state = self.state
            content = await self.in_thread(_of_data, _shown_figures, state, await self._judged(request, state))
        elif self.settings.held_out is None:
            raise Problem(404, "gone", "no rows were held out")
        else:
            content, _ = await self._of_held_out("page", _shown_figures)
        return Response(content, media_type="text/html")

    async def metrics(self) -> Response:
        state = self.state
        self.figures.put("sequence", state.sequence)
        self.figures.put("entries_not_applied", len(state.unapplied))
        self.figures.put("model_rows", float(state.classifier.info()["rows"] or 0))
        self.figures.put("model_terms", float(state.classifier.solved.terms))
        return Response(self.figures.text(), media_type="text/plain; version=0.0.4")

    async def ready(self) -> Response:
        if self._gone is not None:
            raise Problem(503, "not-ready", str(self._gone))
        if self.live.failed is not None:
            raise Problem(
                503,
                "not-ready",
                f"the log or the model file cannot be followed ({self.live.failed}); see the log lines",
            )
        return _answer(to_json({"ready": True, "sequence": self.state.sequence}), self.state)


def _shown(entry: Entry, state: State) -> dict[str, Any]:
    change, reason = entry.change, state.unapplied.get(entry.sequence)
    about = {
        "sequence": entry.sequence,
        "action": change.action,
        "created": entry.created,
        "undone_by": entry.undone_by,
        "applied": reason is None,
        "reason": reason,
    }
    return {**about, "learn": list(change.learn)[:20], "forget": list(change.forget)[:20], "rows": change.rows}


# ---------------------------------------------------------------------------------------------- computing


def explained(state: State, row: dict[str, Any]) -> bytes:
    """Explain a row: its evidence, and each of its texts cut into segments with what they said."""
    batch = state.batch([row])
    evidence = state.classifier.solved.explain(batch)
    texts = {f.name: row.get(f.name) for f in state.classifier.features if f.role == "text" and row.get(f.name)}
    segments = {name: _segments(state, str(text), name, evidence) for name, text in texts.items()}
    return to_json({**evidence.to_dict(), "segments": segments})


def _segments(state: State, message: str, name: str, evidence: Evidence) -> list[dict[str, Any]]:
    known = {term.term: term.weight / max(term.count, 1) for term in evidence.terms if term.column == name}
    parts: list[dict[str, Any]] = []
    end = 0
    for start, stop, weight in word_weights(state.classifier.settings, message, known):
        if start > end:
            parts.append({"text": message[end:start], "weight": 0.0})
        parts.append({"text": message[start:stop], "weight": weight})
        end = stop
    return [*parts, {"text": message[end:], "weight": 0.0}] if end < len(message) else parts


def strongest(state: State, label: str, search: str, top: int, against: bool) -> list[dict[str, Any]]:
    """Return the words that speak most for or against a label, those that hold a text if one is searched for."""
    many = state.classifier.solved.terms + 10_000 if search else top
    found = state.classifier.weights(label, -many if against else many)
    wanted = search.casefold()
    words = [(term, weight) for term, weight in found if wanted in term.casefold()] if search else found
    return [{"term": term, "weight": weight} for term, weight in words[:top]]


def _of_data(work: Callable[..., T], *arguments: Any) -> T:
    """Turn complaints about rows into a problem."""
    try:
        return work(*arguments)
    except DataError as error:
        raise Problem(422, "bad-rows", str(error)) from error


def _figures(state: State, data: Any) -> dict[str, Any]:
    return state.classifier.evaluate(data).to_dict()


def _shown_figures(state: State, data: Any) -> bytes:
    from discern.analysis.report.page import fragment
    from discern.analysis.report.subject import subject_of

    return fragment(subject_of(state.classifier, data)).encode()


def _labelled(rows: list[dict[str, Any]], column: str, label: str) -> list[dict[str, Any]]:
    return [{**row, column: label} for row in rows]


# ----------------------------------------------------------------------------------------------- requests


async def _body(receive: Receive) -> bytes:
    parts, more = [], True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGoneError
        parts.append(message.get("body", b""))
        more = message.get("more_body", False)
    return parts[0] if len(parts) == 1 else b"".join(parts)


async def _json(request: Request) -> Any:
    _refuse_type(request, ("application/json",))
    return parse(await _body(request.receive))


def _refuse_type(request: Request, allowed: tuple[str, ...]) -> str:
    return _refuse_kind(request.headers.get("content-type", ""), allowed)


def _refuse_kind(given: str, allowed: tuple[str, ...]) -> str:
    # A page of another site cannot send these types without asking first, and is refused then.
    kind = given.split(";")[0].strip().lower()
    if kind not in allowed:
        raise Problem(415, "wrong-type", f"send it as {' or '.join(allowed)}", {"Accept": ", ".join(allowed)})
    return kind


def _key(request: Request) -> str | None:
    key = request.headers.get("idempotency-key")
    if key is not None and not (0 < len(key) <= 255 and all("!" <= character <= "~" for character in key)):
        raise Problem(422, "bad-parameter", "the Idempotency-Key must be 1 to 255 visible ASCII characters")
    return key


def _head(content: bytes, state: State) -> list[tuple[bytes, bytes]]:
    return [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(content)).encode()),
        (b"discern-sequence", str(state.sequence).encode()),
    ]


def _answer(content: bytes, state: State) -> Response:
    return Response(content, media_type="application/json", headers={"discern-sequence": str(state.sequence)})


async def _give(send: Send, content: bytes, state: State) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": _head(content, state)})
    await send({"type": "http.response.body", "body": content})


class Sent(Response):
    """An answer that has been sent already."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Do nothing."""
