"""Problem documents (RFC 9457): the error, and the remedy."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

MEDIA_TYPE = "application/problem+json"


class Problem(Exception):  # noqa: N818 (the name that RFC 9457 gives it)
    """An error answer; ``detail`` is the error and its remedy."""

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
    "bad-json": "The body is not JSON by RFC 8259. NaN, lone surrogates and deep nesting are refused.",
    "bad-rows": "The rows do not match the columns of the model; the detail names the row and the column.",
    "bad-parameter": "A query parameter or a header has an invalid value.",
    "body-too-large": "The body exceeds the limit. Send less at once, or stream it.",
    "cannot-apply": "The model cannot apply this change; the detail has the reason. Nothing was changed.",
    "cannot-learn": "This model cannot learn. Serve one that can, such as naive Bayes, and that was not saved slim.",
    "cross-site": "The request comes from a page of another site.",
    "gone": "It does not exist, or no longer does.",
    "internal": "An internal error. The log of the service has the details.",
    "key-reused": "The Idempotency-Key was used for another request. Use a new one.",
    "method": "This address does not support that method.",
    "never-learned": "The model cannot forget these rows, usually because it never learned them. Nothing was changed.",
    "no-novelty": "This model cannot tell how unusual a row is; the detail tells what to do.",
    "not-durable": "The feedback could not be written durably. Send it again with the same Idempotency-Key.",
    "not-ready": "The service is starting, stopping or busy. Try again.",
    "rate": "Too many requests. Wait.",
    "token": "A token is missing, or does not allow this.",
    "too-many-rows": "There are more rows than one request may have. Send fewer at once, or stream them.",
    "too-slow": "The request was sent too slowly.",
    "undone": "This feedback has been undone already.",
    "unknown-host": "The service does not answer to this host name. Start it with --host-name NAME.",
    "wrong-type": "This address does not accept the content type.",
}
"""The description of each kind of problem."""
