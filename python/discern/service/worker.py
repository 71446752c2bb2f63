"""A worker: its live model, its part in the log, and the answers to requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Annotated, Any, TypeVar

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from discern.data.strings import DataError
from discern.service.form import form
from discern.service.gate import Receive, Scope, Send
from discern.service.log import Log, Receipt
from discern.service.messages import (
    Sent,
    answer,
    check_type,
    content_type,
    idempotency_key,
    read_body,
    read_json,
    send_answer,
    to_json,
    wants_novelty,
)
from discern.service.problems import Problem
from discern.service.replay import try_to_sum
from discern.service.rows import LONGEST_LABEL, Reader, fields, parse
from discern.service.settings import Settings
from discern.service.state import BaseError, LiveModel, State
from discern.service.store import LogGoneError, Store, StoreError
from discern.service.streams import Stream, rows_of
from discern.service.teach import FeedbackRequest, FeedbackWriter
from discern.service.telemetry import Figures, Journal
from discern.service.views import evaluated, evaluated_page, explained, shown_entry, strongest

T = TypeVar("T")

THREADS = 4
"""Long computations at the same time, in one worker."""
WAITING = 64
"""Requests that may wait for a thread. Further ones are told to try again."""
UPLOADS = 32
"""Streams that are read at the same time, in one worker; each waits for its client in a thread."""
SMALL = 16_384
"""Bytes of a text up to which it is predicted without a thread."""


class Worker:
    """Answers requests with the live model, and passes feedback on to be written.

    The docstrings of the routes are their descriptions in the OpenAPI document.
    """

    def __init__(self, settings: Settings, base: State, figures: Figures, journal: Journal) -> None:
        self.settings, self.figures, self.journal = settings, figures, journal
        self._base = base
        self._waiting = self._uploads = 0
        self._reading: tuple[State, Reader] | None = None
        self._form: tuple[State, bytes] | None = None
        self._held_out: dict[str, tuple[State, bytes]] = {}
        self._gone: LogGoneError | None = None

    async def start(self) -> None:
        """Open the log and begin to follow it."""
        await asyncio.to_thread(self._start)

    def _start(self) -> None:
        self.store = self._opened() if self._base.can_learn else None
        self.live = LiveModel(
            self.settings.model, self.store, self._base, self.journal.write, self.settings.compact_after
        )
        self.writer = FeedbackWriter(self.store, self.live) if self.store is not None else None
        self.threads = ThreadPoolExecutor(THREADS, "answer")
        self.upload_threads = ThreadPoolExecutor(UPLOADS, "upload")
        self.live.start()
        if self.writer is not None:
            self.writer.start()

    def _opened(self) -> Store | None:
        """Open the log that the service began with; without it this worker only predicts."""
        try:
            return Store(self.settings.log_place, self.settings.synchronous, self._base.log)
        except LogGoneError as error:
            self._gone = error
            self.journal.write("log-gone", error)
            return None

    async def stop(self) -> None:
        """Write what is still to be written, and close the log."""
        await asyncio.to_thread(self._stop)

    def _stop(self) -> None:
        if self.writer is not None:
            self.writer.stop()
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
        """Return the model to answer with: one that has learned the entries acknowledged to the client."""
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

    async def predict_fast(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Predict one row, with as little overhead as possible."""
        kind, after = scope["discern"]
        state = await self.state_after(after.decode("latin-1")) if after is not None else self.state
        if kind != b"application/json":
            check_type(kind.decode("latin-1"), "application/json")
        row = self._reader(state).row(parse(await read_body(receive)))
        text = row.get(state.classifier.resolved.text_column or "") if len(state.classifier.features) == 1 else None
        novelty, found = wants_novelty(scope, state), None
        if isinstance(text, str) and len(text) <= SMALL and not novelty:
            found = state.answer_to_text(text)
        [found] = [found] if found is not None else await self.in_thread(state.predicted, [row], novelty)
        self.figures.add("rows_predicted")
        await send_answer(send, found, state)

    async def predict(self, request: Request) -> Response:
        """Predict one row: its label and the probability of every label."""
        raise AssertionError("the gate passes this to predict_fast")

    async def predict_batch(self, request: Request) -> Response:
        """Predict many rows, in order."""
        state = await self.state_for(request)
        [rows] = fields(await read_json(request), ["rows"])
        read = self._reader(state).rows(rows)
        found = await self.in_thread(state.predicted, read, wants_novelty(request.scope, state))
        self.figures.add("rows_predicted", len(read))
        return answer(b'{"predictions":[' + b",".join(found) + b"]}", state)

    async def predict_stream(self, request: Request) -> Response:
        """Predict a stream of JSON lines: a prediction on each line, in order, while the rows are still coming."""
        content_type(request, "application/x-ndjson", "application/jsonl")
        return await self._stream(request, Stream.of_json)

    async def predict_csv(self, request: Request) -> Response:
        """Predict a CSV file: returns the same rows, with the label and its probability in front of each."""
        content_type(request, "text/csv")
        return await self._stream(request, Stream.of_csv)

    async def _stream(self, request: Request, run: Callable[[Stream], None]) -> Response:
        state, settings = await self.state_for(request), self.settings
        keep = request.scope["discern.keep"]
        novelty = wants_novelty(request.scope, state)
        stream = Stream(state, settings.limits, request.receive, request._send, keep, settings.behind_proxy, novelty)
        if self._uploads >= UPLOADS:
            raise Problem(503, "not-ready", "too many streams are being read; try again", {"Retry-After": "5"})
        self._uploads += 1
        try:
            await asyncio.get_running_loop().run_in_executor(self.upload_threads, run, stream)
        finally:
            self._uploads -= 1
            stream.close()
            self.figures.add("rows_predicted", stream.rows)
        return Sent()

    async def explain(
        self, request: Request, label: Annotated[str | None, Query(max_length=LONGEST_LABEL)] = None
    ) -> Response:
        """Explain a prediction: the weight of each word and value, and the words that would flip the decision.

        Where a row may have several labels, ``label`` is the one to explain, by default the most probable.
        """
        state = await self.state_for(request)
        if label is not None and (not state.has_several or label not in state.labels):
            raise Problem(404, "gone", "the model has no such label to explain; a model of one label a row has none")
        row = self._reader(state).row(await read_json(request))
        return answer(await self.in_thread(explained, state, row, label), state)

    async def evaluate(self, request: Request) -> Response:
        """Evaluate the model on labeled rows."""
        state = await self.state_for(request)
        rows = await self._labeled_rows(request, state)
        return answer(await self.in_thread(_as_problems, evaluated, state, rows), state)

    async def _labeled_rows(self, request: Request, state: State) -> Any:
        kind = content_type(request, "application/json", "text/csv", "application/x-ndjson")
        if kind == "application/json":
            [rows] = fields(await read_json(request), ["rows"])
            return state.batch(self._reader(state).rows(rows, labeled=True), label=True)
        body, name = await read_body(request.receive), "csv" if kind == "text/csv" else "json"
        return await self.in_thread(_as_problems, rows_of, body, name, self._reader(state))

    # ------------------------------------------------------------------------------------------- feedback

    def _feedback(self) -> tuple[FeedbackWriter, Store]:
        """Return the writer and its log, or refuse."""
        if self._gone is not None:
            raise Problem(503, "not-durable", str(self._gone))
        if self.writer is None or self.store is None:
            detail = "this model cannot learn: serve one that can, such as naive Bayes, and that was not saved slim"
            raise Problem(409, "cannot-learn", detail)
        return self.writer, self.store

    async def learn(self, request: Request) -> Response:
        """Learn rows. What is acknowledged is durable."""
        return await self._change(request, "learn")

    async def forget(self, request: Request) -> Response:
        """Forget rows that were learned with these labels."""
        return await self._change(request, "forget")

    async def relabel(self, request: Request) -> Response:
        """Move rows from one label to another, all of them or none."""
        return await self._change(request, "relabel")

    async def _change(self, request: Request, action: str) -> Response:
        content_type(request, "application/json")
        body = await read_body(request.receive)
        value, state = parse(body), self.state
        reader = self._reader(state)
        if action == "relabel":
            rows, old, new = fields(value, ["rows", "from", "to"])
            read = reader.rows(rows)
            old, new = reader.label(old, "'from'"), reader.label(new, "'to'")
            change = state.change(action, _labeled(read, state.label, new), _labeled(read, state.label, old))
        else:
            read = reader.rows(fields(value, ["rows"])[0], labeled=True)
            change = state.change(action, *((read, ()) if action == "learn" else ((), read)))
        _, store = self._feedback()
        await self.in_thread(_as_problems, try_to_sum, state.classifier, [*change.learn, *change.forget])
        return await self._written(FeedbackRequest(change, None, idempotency_key(request), store.digest(action, body)))

    async def undo(self, request: Request) -> Response:
        """Undo an entry of the log, once."""
        content_type(request, "application/json")
        body = await read_body(request.receive)
        [sequence] = fields(parse(body), ["sequence"])
        whole = isinstance(sequence, int | float) and not isinstance(sequence, bool) and sequence == int(sequence)
        if not whole or not 0 < sequence <= 2**53:
            raise Problem(422, "bad-parameter", "'sequence' must be the number of an entry")
        _, store = self._feedback()
        return await self._written(
            FeedbackRequest(None, int(sequence), idempotency_key(request), store.digest("undo", body))
        )

    async def _written(self, ask: FeedbackRequest) -> Response:
        receipt: Receipt = await asyncio.wrap_future(self._feedback()[0].submit(ask))
        if ask.change is not None and not receipt.repeated:
            self.figures.add("rows_learned", len(ask.change.learn))
            self.figures.add("rows_forgotten", len(ask.change.forget))
        return answer(to_json(asdict(receipt)), self.state)

    async def feedback(self, limit: Annotated[int, Query(ge=1, le=1000)] = 50) -> Response:
        """Return the latest entries of the log."""
        store = self.store
        entries = await self.in_thread(store.read, Log.recent, limit) if store is not None else []
        state = self.state
        return answer(to_json({"entries": [shown_entry(entry, state) for entry in entries]}), state)

    async def compact(self) -> Response:
        """Write the log into the model file, and truncate it."""
        self._feedback()
        try:
            through = await self.in_thread(self.live.compact)
        except LogGoneError as error:
            raise Problem(503, "not-durable", str(error)) from error
        except (OSError, ValueError, StoreError) as error:
            self.journal.write("compaction-failed", error)
            detail = "the compaction did not finish; the model file and the log are whole: see the log lines, try again"
            raise Problem(503, "not-durable", detail, {"Retry-After": "10"}) from error
        return answer(to_json({"through": through, "checksum": self.state.checksum}), self.state)

    async def reload(self) -> Response:
        """Check the model file for changes now; this happens every second anyway."""
        try:
            reloaded = await self.in_thread(self.live.reload)
        except (BaseError, ValueError, OSError) as error:
            raise Problem(
                409, "not-ready", f"the new model file cannot be served, the old model stays in use: {error}"
            ) from error
        return answer(to_json({"reloaded": reloaded, "checksum": self.state.checksum}), self.state)

    # ---------------------------------------------------------------------------------------------- about

    async def model(self) -> Response:
        """Describe the model."""
        return answer(to_json(await self.in_thread(self._card)), self.state)

    def _card(self) -> dict[str, Any]:
        state = self.state
        entries, rows = self.store.read(Log.size) if self.store is not None else (0, 0)
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

    async def form(self) -> Response:
        """Return the columns of a row with their known values, and example rows made from the model."""
        state = self.state
        if self._form is None or self._form[0] is not state:
            self._form = state, to_json(await self.in_thread(form, state))
        return answer(self._form[1], state)

    async def words(
        self,
        label: Annotated[str, Query(max_length=200)],
        search: Annotated[str, Query(max_length=100)] = "",
        top: Annotated[int, Query(ge=1, le=1000)] = 50,
        against: bool = False,
    ) -> Response:
        """Return the strongest words for a label, or against it."""
        state = self.state
        if label not in state.labels:
            raise Problem(404, "gone", "the model has no such label; /v1/model lists them")
        words = await self.in_thread(strongest, state, label, search, top, against)
        return answer(to_json({"label": label, "words": words}), state)

    async def evaluation(self) -> Response:
        """Evaluate the model on the held-out rows given at the start."""
        if self.settings.held_out is None:
            raise Problem(
                404,
                "gone",
                "there are no held-out rows: start the service with --held-out FILE, or post rows to /v1/evaluate",
            )
        return answer(*await self._of_held_out("figures", evaluated))

    async def _of_held_out(self, name: str, work: Callable[[State, Any], bytes]) -> tuple[bytes, State]:
        """Return a view of the held-out rows; it is made once for each state."""
        state = self.state
        made = self._held_out.get(name)
        if made is None or made[0] is not state:
            made = state, await self.in_thread(_as_problems, work, state, self.settings.held_out)
            self._held_out[name] = made
        return made[1], made[0]

    async def page_evaluation(self, request: Request) -> Response:
        """Return the part of the page that shows an evaluation: of posted rows, or of the held-out ones."""
        if request.method == "POST":
            state = self.state
            content = await self.in_thread(
                _as_problems, evaluated_page, state, await self._labeled_rows(request, state)
            )
        elif self.settings.held_out is None:
            raise Problem(404, "gone", "there are no held-out rows")
        else:
            content, _ = await self._of_held_out("page", evaluated_page)
        return Response(content, media_type="text/html")

    async def metrics(self) -> Response:
        """Return metrics for Prometheus."""
        state = self.state
        self.figures.put("sequence", state.sequence)
        self.figures.put("entries_not_applied", len(state.unapplied))
        self.figures.put("model_rows", float(state.classifier.info()["rows"] or 0))
        self.figures.put("model_terms", float(state.classifier.solved.terms))
        return Response(self.figures.text(), media_type="text/plain; version=0.0.4")

    async def health(self) -> Response:
        """Answer that the process is alive."""
        return Response(b'{"alive":true}', media_type="application/json")

    async def ready(self) -> Response:
        """Return whether the service can answer."""
        if self._gone is not None:
            raise Problem(503, "not-ready", str(self._gone))
        if self.live.failed is not None:
            raise Problem(
                503,
                "not-ready",
                f"the log or the model file cannot be followed ({self.live.failed}); see the log lines",
            )
        return answer(to_json({"ready": True, "sequence": self.state.sequence}), self.state)


def _as_problems(work: Callable[..., T], *arguments: Any) -> T:
    """Turn errors of rows into problem documents."""
    try:
        return work(*arguments)
    except DataError as error:
        raise Problem(422, "bad-rows", str(error)) from error


def _labeled(rows: list[dict[str, Any]], column: str, label: Any) -> list[dict[str, Any]]:
    return [{**row, column: label} for row in rows]
