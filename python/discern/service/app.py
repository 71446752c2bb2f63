"""The application: the addresses, and what is told about them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from html import escape
from importlib import resources
from typing import Annotated, Any, TypeVar

from fastapi import FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException

import discern.service.schema as schema
from discern.service.gate import Application, Gate
from discern.service.problems import KINDS, MEDIA_TYPE, Problem
from discern.service.settings import Settings
from discern.service.state import State
from discern.service.store import StoreError
from discern.service.telemetry import Figures, Journal
from discern.service.worker import Worker, to_json

Route = TypeVar("Route", bound=Callable[..., Awaitable[Response]])

PAGE = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
"""The kinds of files that the page is made of."""


def create(settings: Settings, base: State, figures: Figures, journal: Journal) -> Application:
    """Make the application of a worker."""
    worker = Worker(settings, base, figures, journal)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await worker.start()
        yield
        await worker.stop()

    unlisted: dict[str, Any] = {"docs_url": None, "redoc_url": None, "openapi_url": None, "redirect_slashes": False}
    api = FastAPI(title="discern", version="1", lifespan=lifespan, **unlisted)
    for kind, handler in _HANDLERS.items():
        api.add_exception_handler(kind, handler)
    _add_routes(api, worker)
    _add_pages(api, worker)
    document = _document(api, base, settings)

    @api.get("/openapi.json", include_in_schema=False)
    async def openapi() -> Response:
        return Response(document, media_type="application/json")

    return Gate(api, worker.predict, settings, figures, journal)


def _document(api: FastAPI, base: State, settings: Settings) -> bytes:
    about = "Predictions with evidence, and learning that is never lost or doubled."
    made = get_openapi(title="discern", version="1", description=about, routes=api.routes)
    return to_json(schema.complete(made, base.classifier.features, base.label, settings))


def _refusal(problem: Problem) -> Response:
    return Response(problem.body, problem.status, media_type=MEDIA_TYPE, headers=problem.headers)


async def _problem(_: Request, error: Any) -> Response:
    return _refusal(error)


async def _http_problem(_: Request, error: Any) -> Response:
    kind, detail = ("gone", "there is nothing at this address; /openapi.json lists what there is")
    if error.status_code == 405:
        kind, detail = "method", "this address does not know that method; the header Allow says which it does"
    return _refusal(Problem(error.status_code, kind, detail, error.headers))


async def _parameter_problem(_: Request, error: Any) -> Response:
    named = ", ".join(sorted({str(one["loc"][-1]) for one in error.errors()}))
    detail = f"the parameter {named} is missing or has a value that it cannot have; see /openapi.json"
    return _refusal(Problem(422, "bad-parameter", detail))


async def _store_problem(_: Request, error: Any) -> Response:
    return _refusal(Problem(503, "not-ready", f"{error}; nothing was changed, try again", {"Retry-After": "1"}))


async def _internal_problem(_: Request, error: Any) -> Response:
    return _refusal(Problem(500, "internal", "an error of the service; its log says where"))


_HANDLERS: dict[type[Exception], Callable[[Request, Any], Awaitable[Response]]] = {
    Problem: _problem,
    HTTPException: _http_problem,
    RequestValidationError: _parameter_problem,
    StoreError: _store_problem,
    Exception: _internal_problem,
}


def _add_routes(api: FastAPI, worker: Worker) -> None:
    def post(
        path: str, takes: dict[str, Any], gives: str | None, kind: str = "application/json", *parameters: Any
    ) -> Callable[[Route], Route]:
        extra = {**takes, "parameters": list(parameters)}
        return api.post(path, openapi_extra=extra, responses=schema.answers(gives, kind), response_class=Response)

    def get(path: str, gives: str | None, kind: str = "application/json") -> Callable[[Route], Route]:
        return api.get(path, responses=schema.answers(gives, kind), response_class=Response)

    lines = schema.text("application/x-ndjson", "A row in JSON on each line.")
    table = schema.text("text/csv", "Rows under a line of column names.")
    both = {**table["requestBody"]["content"], **lines["requestBody"]["content"]}

    @post("/v1/predict", schema.body("Row"), "Prediction", "application/json", schema.AFTER)
    async def predict(request: Request) -> Response:
        """Predict one row: its label and the probability of every label."""
        raise AssertionError("the gate answers this")

    @post("/v1/predict/batch", schema.body("Rows"), "Predictions", "application/json", schema.AFTER)
    async def predict_batch(request: Request) -> Response:
        """Predict many rows, in order."""
        return await worker.predict_batch(request)

    @post("/v1/predict/stream", lines, None, "application/x-ndjson", schema.AFTER)
    async def predict_stream(request: Request) -> Response:
        """Predict a stream of JSON lines: a prediction on each line, in order, while the rows are still coming."""
        return await worker.stream(request, "json")

    @post("/v1/predict/csv", table, None, "text/csv", schema.AFTER)
    async def predict_csv(request: Request) -> Response:
        """Predict a CSV file: the same rows, with the label and its probability before them."""
        return await worker.stream(request, "csv")

    @post("/v1/explain", schema.body("Row"), "Explanation", "application/json", schema.AFTER)
    async def explain(request: Request) -> Response:
        """Explain why a row is given its label: what each word and value said, and what would flip the decision."""
        return await worker.explain(request)

    @post("/v1/evaluate", schema.body("LabelledRows", **both), "Evaluation", "application/json", schema.AFTER)
    async def evaluate(request: Request) -> Response:
        """Judge the model on rows with labels."""
        return await worker.evaluate(request)

    @post("/v1/learn", schema.body("LabelledRows"), "Receipt", "application/json", schema.KEY)
    async def learn(request: Request) -> Response:
        """Learn rows; what is acknowledged is durable."""
        return await worker.change(request, "learn")

    @post("/v1/forget", schema.body("LabelledRows"), "Receipt", "application/json", schema.KEY)
    async def forget(request: Request) -> Response:
        """Forget rows that were learned with these labels."""
        return await worker.change(request, "forget")

    @post("/v1/relabel", schema.body("Relabelling"), "Receipt", "application/json", schema.KEY)
    async def relabel(request: Request) -> Response:
        """Move rows from one label to another, all of them or none."""
        return await worker.change(request, "relabel")

    @post("/v1/undo", schema.body("Undoing"), "Receipt", "application/json", schema.KEY)
    async def undo(request: Request) -> Response:
        """Take an entry of the log back, once."""
        return await worker.undo(request)

    @post("/v1/compact", {}, "Answer")
    async def compact() -> Response:
        """Write the log into the model file, and cut it off."""
        return await worker.compact()

    @post("/v1/reload", {}, "Answer")
    async def reload() -> Response:
        """Look at the model file now; it is looked at every second anyway."""
        return await worker.reload()

    @get("/v1/feedback", "Feedback")
    async def feedback(limit: Annotated[int, Query(ge=1, le=1000)] = 50) -> Response:
        """Return the latest entries of the log."""
        return await worker.feedback(limit)

    @get("/v1/model", "Card")
    async def model() -> Response:
        """Describe what the model is."""
        return await worker.card()

    @get("/v1/model/words", "Words")
    async def words(
        label: Annotated[str, Query(max_length=200)],
        search: Annotated[str, Query(max_length=100)] = "",
        top: Annotated[int, Query(ge=1, le=1000)] = 50,
        against: bool = False,
    ) -> Response:
        """Return the words that speak most for a label, or against it."""
        return await worker.words(label, search, top, against)

    @get("/v1/model/evaluation", "Evaluation")
    async def evaluation() -> Response:
        """Judge the model on the rows held out at the start."""
        return await worker.evaluation()

    @get("/metrics", None, "text/plain")
    async def metrics() -> Response:
        """Return figures for Prometheus."""
        return await worker.metrics()

    @get("/health", "Answer")
    async def health() -> Response:
        """Answer that the process lives."""
        return Response(b'{"alive":true}', media_type="application/json")

    @get("/ready", "Answer")
    async def ready() -> Response:
        """Return whether the service can answer."""
        return await worker.ready()


def _add_pages(api: FastAPI, worker: Worker) -> None:
    """Serve the page: these files and no others, read once."""
    files = _page_files()

    @api.get("/", include_in_schema=False)
    async def index() -> Response:
        return Response(files["index.html"], media_type=PAGE[".html"])

    @api.get("/v1/model/evaluation.html", include_in_schema=False)
    async def held_out(request: Request) -> Response:
        return await worker.page_evaluation(request)

    @api.post("/v1/model/evaluation.html", include_in_schema=False)
    async def posted(request: Request) -> Response:
        return await worker.page_evaluation(request)

    @api.get("/problems", include_in_schema=False)
    async def problems() -> Response:
        listed = "".join(f'<dt id="{kind}">{kind}</dt><dd>{escape(about)}</dd>' for kind, about in KINDS.items())
        head = '<!doctype html><html lang="en"><meta charset="utf-8"><title>Problems</title><h1>Problems</h1>'
        return Response(f"{head}<dl>{listed}</dl></html>", media_type=PAGE[".html"])

    @api.get("/page/{name}", include_in_schema=False)
    async def asset(name: str) -> Response:
        if name not in files:
            raise Problem(404, "gone", "there is no such part of the page")
        return Response(files[name], media_type=PAGE["." + name.rsplit(".", 1)[-1]])


def _page_files() -> dict[str, bytes]:
    own = resources.files("discern.service") / "page"
    shared = resources.files("discern.analysis") / "page"
    found = {place.name: place.read_bytes() for place in own.iterdir() if "." + place.name.rsplit(".", 1)[-1] in PAGE}
    for name in ("report.css", "report.js"):  # the explorer is the report's
        found[name] = (shared / name).read_bytes()
    return found
