"""Reading the bodies and headers of requests, and answering in JSON."""

from __future__ import annotations

import json
import math
from typing import Any
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import Response

from discern.models.unusual import NO_NOVELTY
from discern.service.gate import ClientGoneError, Receive, Scope, Send
from discern.service.problems import Problem
from discern.service.rows import parse
from discern.service.state import State


def to_json(value: Any) -> bytes:
    """Return a value as JSON; numbers that are not finite become null."""
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


async def read_body(receive: Receive) -> bytes:
    """Return the whole body of a request."""
    parts, more = [], True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGoneError
        parts.append(message.get("body", b""))
        more = message.get("more_body", False)
    return parts[0] if len(parts) == 1 else b"".join(parts)


async def read_json(request: Request) -> Any:
    """Return the body of a request, parsed."""
    content_type(request, "application/json")
    return parse(await read_body(request.receive))


def content_type(request: Request, *allowed: str) -> str:
    """Return the content type of a request; refuses others than those allowed."""
    return check_type(request.headers.get("content-type", ""), *allowed)


def check_type(given: str, *allowed: str) -> str:
    """Return a content type without its parameters; refuses others than those allowed."""
    # A page of another site cannot send these types without asking first, and is refused then.
    kind = given.split(";")[0].strip().lower()
    if kind not in allowed:
        raise Problem(415, "wrong-type", f"send it as {' or '.join(allowed)}", {"Accept": ", ".join(allowed)})
    return kind


def idempotency_key(request: Request) -> str | None:
    """Return the Idempotency-Key of a request."""
    key = request.headers.get("idempotency-key")
    if key is not None and not (0 < len(key) <= 255 and all("!" <= character <= "~" for character in key)):
        raise Problem(422, "bad-parameter", "the Idempotency-Key must be 1 to 255 visible ASCII characters")
    return key


def wants_novelty(scope: Scope, state: State) -> bool:
    """Return whether the query of a request asks for the novelty of rows; refuses it for a model that has none."""
    given = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True).get("novelty")
    if not given:
        return False
    if given[-1] not in ("true", "false"):
        raise Problem(422, "bad-parameter", "the parameter novelty must be true or false")
    if given[-1] == "true" and not state.classifier.fitted.has_novelty:
        raise Problem(409, "no-novelty", NO_NOVELTY)
    return bool(given[-1] == "true")


def _head(content: bytes, state: State) -> list[tuple[bytes, bytes]]:
    return [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(content)).encode()),
        (b"discern-sequence", str(state.sequence).encode()),
    ]


def answer(content: bytes, state: State) -> Response:
    """Return an answer in JSON, with the number of the last entry that the model has learned."""
    return Response(content, media_type="application/json", headers={"discern-sequence": str(state.sequence)})


async def send_answer(send: Send, content: bytes, state: State) -> None:
    """Send the same without a Response, which takes longer to make."""
    await send({"type": "http.response.start", "status": 200, "headers": _head(content, state)})
    await send({"type": "http.response.body", "body": content})


class Sent(Response):
    """Marks that the answer has been sent already."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Do nothing."""
