"""The FastAPI application: routes and their OpenAPI descriptions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from html import escape
from importlib import resources
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException

import discern.service.schema as schema
from discern.service.gate import Application, Gate
from discern.service.messages import to_json
from discern.service.problems import KINDS, MEDIA_TYPE, Problem
from discern.service.settings import Settings
from discern.service.state import State
from discern.service.store import StoreError
from discern.service.telemetry import Figures, Journal
from discern.service.worker import Worker

PAGE = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
"""The types of the files of the page."""


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

    return Gate(api, worker.predict_fast, settings, figures, journal)


def _document(api: FastAPI, base: State, settings: Settings) -> bytes:
    about = "Predictions with evidence, and feedback that is never lost or applied twice."
    made = get_openapi(title="discern", version="1", description=about, routes=api.routes)
    return to_json(schema.complete(made, base.classifier.features, base.label, settings, base.has_several))


def _refusal(problem: Problem) -> Response:
    return Response(problem.body, problem.status, media_type=MEDIA_TYPE, headers=problem.headers)


async def _problem(_: Request, error: Any) -> Response:
    return _refusal(error)


async def _http_problem(_: Request, error: Any) -> Response:
    kind, detail = ("gone", "there is nothing at this address; /openapi.json lists all addresses")
    if error.status_code == 405:
        kind, detail = "method", "this address does not support that method; see the Allow header"
    return _refusal(Problem(error.status_code, kind, detail, error.headers))


async def _parameter_problem(_: Request, error: Any) -> Response:
    named = ", ".join(sorted({str(one["loc"][-1]) for one in error.errors()}))
    detail = f"the parameter {named} is missing or has an invalid value; see /openapi.json"
    return _refusal(Problem(422, "bad-parameter", detail))


async def _store_problem(_: Request, error: Any) -> Response:
    return _refusal(Problem(503, "not-ready", f"{error}; nothing was changed; try again", {"Retry-After": "1"}))


async def _internal_problem(_: Request, error: Any) -> Response:
    return _refusal(Problem(500, "internal", "internal error; the log of the service has the details"))


_HANDLERS: dict[type[Exception], Callable[[Request, Any], Awaitable[Response]]] = {
    Problem: _problem,
    HTTPException: _http_problem,
    RequestValidationError: _parameter_problem,
    StoreError: _store_problem,
    Exception: _internal_problem,
}


@dataclass(frozen=True)
class Route:
    """An address of the API: the method of the worker that answers it, and its OpenAPI description."""

    path: str
    answer: str
    returns: str | None = None
    """The schema of the answer; None for one that is not JSON."""
    kind: str = "application/json"
    takes: schema.Schema = field(default_factory=dict)
    parameters: tuple[schema.Schema, ...] = ()


_PROBLEMS = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Errors – discern</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<link rel="icon" href="/page/icon.svg" type="image/svg+xml"><link rel="stylesheet" href="/page/report.css">
<link rel="stylesheet" href="/page/service.css"></head>
<body><header class="top"><div class="name"><h1>Errors</h1><p class="soft">Kinds of problem documents</p></div>
<nav aria-label="Other pages"><a href="/">The page</a><a href="/docs">API</a></nav></header>
<main><dl>{listed}</dl></main></body></html>"""
_LINES = schema.text("application/x-ndjson", "A row in JSON on each line.")
_TABLE = schema.text("text/csv", "Rows below a line of column names.")
_ROW, _ROWS, _LABELED = schema.body("Row"), schema.body("Rows"), schema.body("LabeledRows")
_ASKED = (schema.AFTER, schema.NOVELTY)
_FILES = {**_TABLE["requestBody"]["content"], **_LINES["requestBody"]["content"]}
_POST = (
    Route("/v1/predict", "predict", "Prediction", takes=_ROW, parameters=_ASKED),
    Route("/v1/predict/batch", "predict_batch", "Predictions", takes=_ROWS, parameters=_ASKED),
    Route("/v1/predict/stream", "predict_stream", None, "application/x-ndjson", _LINES, _ASKED),
    Route("/v1/predict/csv", "predict_csv", None, "text/csv", _TABLE, _ASKED),
    Route("/v1/explain", "explain", "Explanation", takes=_ROW, parameters=(schema.AFTER,)),
    Route(
        "/v1/evaluate", "evaluate", "Evaluation", takes=schema.body("LabeledRows", **_FILES), parameters=(schema.AFTER,)
    ),
    Route("/v1/learn", "learn", "Receipt", takes=_LABELED, parameters=(schema.KEY,)),
    Route("/v1/forget", "forget", "Receipt", takes=_LABELED, parameters=(schema.KEY,)),
    Route("/v1/relabel", "relabel", "Receipt", takes=schema.body("Relabeling"), parameters=(schema.KEY,)),
    Route("/v1/undo", "undo", "Receipt", takes=schema.body("Undoing"), parameters=(schema.KEY,)),
    Route("/v1/compact", "compact", "Answer"),
    Route("/v1/reload", "reload", "Answer"),
)
_GET = (
    Route("/v1/feedback", "feedback", "Feedback"),
    Route("/v1/model", "model", "Card"),
    Route("/v1/model/form", "form", "Form"),
    Route("/v1/model/words", "words", "Words"),
    Route("/v1/model/evaluation", "evaluation", "Evaluation"),
    Route("/metrics", "metrics", None, "text/plain"),
    Route("/health", "health", "Answer"),
    Route("/ready", "ready", "Answer"),
)


def _add_routes(api: FastAPI, worker: Worker) -> None:
    for method, routes in (("POST", _POST), ("GET", _GET)):
        for route in routes:
            api.add_api_route(
                route.path,
                getattr(worker, route.answer),
                methods=[method],
                responses=schema.answers(route.returns, route.kind),
                response_class=Response,
                openapi_extra={**route.takes, "parameters": [*route.parameters]} if method == "POST" else None,
            )


def _add_pages(api: FastAPI, worker: Worker) -> None:
    """Serve the page: these files and no others, read once."""
    files = _page_files()

    @api.get("/", include_in_schema=False)
    async def index() -> Response:
        return Response(files["index.html"], media_type=PAGE[".html"])

    @api.get("/docs", include_in_schema=False)
    async def reference() -> Response:
        return Response(files["docs.html"], media_type=PAGE[".html"])

    @api.get("/v1/model/evaluation.html", include_in_schema=False)
    async def held_out(request: Request) -> Response:
        return await worker.page_evaluation(request)

    @api.post("/v1/model/evaluation.html", include_in_schema=False)
    async def posted(request: Request) -> Response:
        return await worker.page_evaluation(request)

    @api.get("/problems", include_in_schema=False)
    async def problems() -> Response:
        listed = "".join(f'<dt id="{kind}">{kind}</dt><dd>{escape(about)}</dd>' for kind, about in KINDS.items())
        return Response(_PROBLEMS.format(listed=listed), media_type=PAGE[".html"])

    @api.get("/page/{name}", include_in_schema=False)
    async def asset(name: str) -> Response:
        if name not in files:
            raise Problem(404, "gone", "no such file")
        return Response(files[name], media_type=PAGE["." + name.rsplit(".", 1)[-1]])


def _page_files() -> dict[str, bytes]:
    own = resources.files("discern.service") / "page"
    shared = resources.files("discern.analysis") / "page"
    found = {place.name: place.read_bytes() for place in own.iterdir() if "." + place.name.rsplit(".", 1)[-1] in PAGE}
    for name in ("report.css", "report.js"):  # the explorer is the report's
        found[name] = (shared / name).read_bytes()
    return found
