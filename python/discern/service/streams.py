"""Predictions for streams of any length: rows in, labels out, in order, a block at a time."""

from __future__ import annotations

import asyncio
import csv
import io
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from discern.data.batch import Batch
from discern.data.formats.csv import read_csv
from discern.data.formats.jsonl import read_jsonl
from discern.data.source import Reading
from discern.data.strings import DataError
from discern.service.gate import ClientGoneError, CutOffError, Message, Receive, Send
from discern.service.problems import Problem
from discern.service.rows import Reader
from discern.service.settings import Limits
from discern.service.state import State

if TYPE_CHECKING:
    from discern.models.predictions import Predictions

IN_MEMORY = 4 << 20
"""Bytes of an answer that wait in memory."""
PART = 1 << 18
"""Bytes of an answer that are sent at once."""
OWN_COLUMNS = ("label", "probability")
USUAL_SEPARATOR = "|"
"""What stands between several labels of a row in CSV, if the model was not given a separator."""
Encode = Callable[[State, Batch, "Predictions", bool], bytes]


class Body(io.RawIOBase):
    """The body of a request as a file, for a thread; it waits for the event loop to receive the next part.

    ``keep`` is called in the event loop before each part: it gives back the memory of the parts that became rows.
    """

    def __init__(self, receive: Receive, loop: asyncio.AbstractEventLoop, keep: Callable[[], None]) -> None:
        self._receive, self._loop, self._keep = receive, loop, keep
        self._part, self._more = memoryview(b""), True

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read some bytes; none at the end."""
        while not self._part and self._more:
            message = asyncio.run_coroutine_threadsafe(_received(self._receive, self._keep), self._loop).result()
            self._part, self._more = memoryview(message.get("body", b"")), message.get("more_body", False)
        size = min(len(buffer), len(self._part))
        buffer[:size] = self._part[:size]
        self._part = self._part[size:]
        return size


class Sink:
    """The answer to a stream, sent while the rows are still coming.

    Many clients read nothing before they have sent everything. So the answer does not hold up the reading of rows: what
    cannot be sent yet waits in memory, and from some size on in a temporary file.
    """

    def __init__(self, send: Send, loop: asyncio.AbstractEventLoop) -> None:
        self._send, self._loop = send, loop
        self._lock, self._changed = threading.Lock(), asyncio.Event()
        self._waiting = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115 (closed by close)
        self._sent = self._written = 0
        self._ended = False
        self._task: Future[None] | None = None

    def start(self, headers: list[tuple[bytes, bytes]]) -> None:
        """Begin the answer; from a thread, as all of this."""
        self._task = asyncio.run_coroutine_threadsafe(self._pump(headers), self._loop)

    @property
    def has_started(self) -> bool:
        """Whether the answer has begun."""
        return self._task is not None

    def put(self, part: bytes) -> None:
        """Add to the answer; raises what went wrong with sending it."""
        if self._task is not None and self._task.done():
            self._task.result()
        with self._lock:
            self._waiting.seek(self._written)
            self._written += self._waiting.write(part)
        self._loop.call_soon_threadsafe(self._changed.set)

    def end(self) -> None:
        """Wait until everything has been sent."""
        assert self._task is not None
        self._ended = True
        self._loop.call_soon_threadsafe(self._changed.set)
        self._task.result()

    def close(self) -> None:
        """Discard what was not sent."""
        if self._task is not None:
            self._task.cancel()
        self._waiting.close()

    def _take(self) -> bytes:
        with self._lock:
            self._waiting.seek(self._sent)
            part = self._waiting.read(PART)
            self._sent += len(part)
            if self._sent == self._written:
                self._waiting.seek(0)
                self._waiting.truncate()
                self._sent = self._written = 0
            return part

    async def _pump(self, headers: list[tuple[bytes, bytes]]) -> None:
        await self._send({"type": "http.response.start", "status": 200, "headers": headers})
        while True:
            self._changed.clear()
            ended = self._ended  # before looking: what comes later is seen in the next turn
            while part := self._take():
                await self._send({"type": "http.response.body", "body": part, "more_body": True})
            if ended:
                break
            await self._changed.wait()
        await self._send({"type": "http.response.body", "body": b""})


async def _received(receive: Receive, keep: Callable[[], None]) -> Message:
    keep()
    message = await receive()
    if message["type"] == "http.disconnect":
        raise ClientGoneError
    return message


class Stream:
    """Answers a stream of rows with a stream of predictions.

    If it ``waits``, the answer begins when all rows have come: nginx sends no more of a request whose answer has begun.
    """

    def __init__(
        self,
        state: State,
        limits: Limits,
        receive: Receive,
        send: Send,
        keep: Callable[[int], None],
        waits: bool,
        novelty: bool = False,
    ) -> None:
        self._state, self._limits, self._receive, self._keep, self._waits = state, limits, receive, keep, waits
        self._novelty = novelty
        self._reader = Reader(state, limits)
        self._loop = asyncio.get_running_loop()
        self._sink = Sink(send, self._loop)
        self.rows = 0

    def of_json(self) -> None:
        """Read JSON lines and write JSON lines; runs in a thread."""
        self._run(read_jsonl, "application/x-ndjson", _json_lines)

    def of_csv(self) -> None:
        """Read CSV with a header and write CSV; runs in a thread."""
        self._run(read_csv, "text/csv; charset=utf-8", _csv_lines)

    def _run(self, read: Callable[..., Iterator[Batch]], kind: str, encode: Encode) -> None:
        reading = Reading(longest_row=self._limits.row)
        body = Body(self._receive, self._loop, lambda: self._keep(reading.unfinished))
        try:
            for batch in read(body, "the body", reading):
                self._answer(batch, kind, encode)
            if not self.rows and encode is _csv_lines:
                raise DataError("the body has no rows below its header")
        except DataError as error:
            self._fail(Problem(422, "bad-rows", str(error)), kind)
        except Problem as problem:
            self._fail(problem, kind)
        self._start(kind)
        self._sink.end()

    def close(self) -> None:
        """Discard what was not sent."""
        self._sink.close()

    def _answer(self, batch: Batch, kind: str, encode: Encode) -> None:
        if self.rows + batch.rows > self._limits.stream_rows:
            raise Problem(422, "too-many-rows", f"more than {self._limits.stream_rows:,} rows; send several streams")
        known = self._fitting(batch)
        self._reader.batch(batch)
        [found] = self._state.classifier.predictions(known, novelty=self._novelty)
        if not self._waits:
            self._start(kind)
        self._sink.put(encode(self._state, batch, found, not self.rows))
        self.rows += batch.rows

    def _fitting(self, batch: Batch) -> Batch:
        """Return the columns of the model, of which the stream must have at least one."""
        names = [feature.name for feature in self._state.classifier.features]
        here = {name: column for name, column in batch.columns.items() if name in names}
        if not here:
            listed = ", ".join(map(repr, names[:12]))
            raise Problem(422, "bad-rows", f"the rows have none of the model's columns, which are {listed}")
        return Batch(
            {name: here.get(name, [None] * batch.rows) for name in names}, batch.rows, batch.source, batch.start
        )

    def _start(self, kind: str) -> None:
        if not self._sink.has_started:
            sequence = str(self._state.sequence).encode()
            self._sink.start([(b"content-type", kind.encode()), (b"discern-sequence", sequence)])

    def _fail(self, problem: Problem, kind: str) -> None:
        """Refuse; if an answer has begun, JSON lines end with the problem, and CSV is cut off."""
        if not self._sink.has_started:
            raise problem
        if not kind.startswith("application/x-ndjson"):
            raise CutOffError
        self._sink.put(problem.body + b"\n")


def _json_lines(state: State, _: Batch, found: Predictions, first: bool) -> bytes:
    return b"\n".join(state.answers(found)) + b"\n"


def _csv_lines(state: State, batch: Batch, found: Predictions, first: bool) -> bytes:
    """Return the rows as they came, with the label and its probability before them, and the novelty if asked for."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = list(batch.columns)
    if first:
        own = OWN_COLUMNS if found.novelty is None else (*OWN_COLUMNS, "novelty")
        writer.writerow([*(f"predicted {name}" if name in names else name for name in own), *names])
    shown = [found.labels.tolist(), state.probabilities_of(found)]
    if state.has_several:
        mark = state.classifier.settings.label_separator or USUAL_SEPARATOR
        shown = [[mark.join(map(str, one)) for one in column] for column in shown]
    shown += [] if found.novelty is None else [found.novelty.tolist()]
    columns = [column.to_list() if hasattr(column, "to_list") else list(column) for column in batch.columns.values()]
    writer.writerows(zip(*shown, *columns, strict=True))
    return text.getvalue().encode("utf-8", "replace")


def rows_of(body: bytes, kind: str, reader: Reader) -> Batch:
    """Read all rows of a CSV or JSON lines body at once, within the limits."""
    stream, reading = io.BytesIO(body), Reading(longest_row=reader.limits.row)
    parts, count = [], 0
    for part in (read_csv if kind == "csv" else read_jsonl)(stream, "the body", reading):
        count += part.rows
        reader.refuse_many(count)
        reader.batch(part)
        parts.append(part)
    if not parts:
        raise DataError("the body has no rows")
    if len(parts) == 1:
        return parts[0]
    names = list(dict.fromkeys(name for part in parts for name in part.columns))
    rows = [part.row(place) for part in parts for place in range(part.rows)]
    return Batch({name: [row.get(name) for row in rows] for name in names}, len(rows), "the body")
