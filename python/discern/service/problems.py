"""Problem documents (RFC 9457): what is wrong, and what to do."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

MEDIA_TYPE = "application/problem+json"


class Problem(Exception):  # noqa: N818 (the name that RFC 9457 gives it)
    """An answer that says what is wrong with a request; ``detail`` says what to do."""

    def __init__(
        self, status: int, kind: str, detail: str, headers: Mapping[str, str] | None = None, **more: Any
    ) -> None:
        super().__init__(detail)
        self.status, self.kind, self.detail, self.headers, self.more = status, kind, detail, dict(headers or {}), more

    def to_dict(self) -> dict[str, Any]:
        """Return the document as plain values."""
        title = HTTPStatus(self.status).phrase
        return {
            "type": f"/problems#{self.kind}",
            "title": title,
            "status": self.status,
            "detail": self.detail,
            **self.more,
        }

    @property
    def body(self) -> bytes:
        """The document."""
        # Escaped: a lone surrogate of the input may be in a message, and cannot be written in UTF-8.
        return json.dumps(self.to_dict()).encode("ascii")

    def head(self) -> list[tuple[bytes, bytes]]:
        """Return the headers of the answer."""
        own = [(b"content-type", MEDIA_TYPE.encode()), (b"content-length", str(len(self.body)).encode())]
        return own + [(name.lower().encode(), value.encode()) for name, value in self.headers.items()]


KINDS = {
    "bad-json": "The body is not JSON as RFC 8259 has it: NaN, lone surrogates and too deep a nesting are refused.",
    "bad-rows": "The rows do not fit the columns of the model; the detail names the row and the column.",
    "bad-parameter": "A parameter of the address or a header has a value that it cannot have.",
    "body-too-large": "The body is above the limit; send less at once, or stream it.",
    "cannot-apply": "The model cannot take this change; the detail says why. Nothing was changed.",
    "cannot-learn": "This model is not a sum of its rows; serve one of naive Bayes, saved whole.",
    "cross-site": "The request comes from a page of another site.",
    "gone": "It is not there (any more).",
    "internal": "An error of the service; the log has its number.",
    "key-reused": "The Idempotency-Key was used for another request; use a new one.",
    "method": "This address does not know that method.",
    "never-learned": "The model cannot forget these rows, usually because it never learned them. Nothing was changed.",
    "not-durable": "The feedback could not be written for good. Send it again with the same Idempotency-Key.",
    "not-ready": "The service is starting or stopping; try again.",
    "rate": "Too many requests; wait.",
    "token": "A token is needed, or it is not good for this.",
    "too-many-rows": "There are more rows than one request may have; send less at once, or stream them.",
    "too-slow": "The request came too slowly.",
    "undone": "This feedback has been undone already.",
    "unknown-host": "The service is not known by this name; see --host-name.",
    "wrong-type": "The content type is none that this address takes.",
}
"""What each kind of problem means."""
