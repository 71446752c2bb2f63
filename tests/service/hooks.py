"""What schemathesis cannot know: a key is not to be used twice, and how lines of JSON are sent."""

import re
import uuid
from typing import Any

import schemathesis


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: dict[str, Any]) -> None:
    """Replace a good Idempotency-Key by one of its own: the same with another body is refused, as it must."""
    key = (case.headers or {}).get("Idempotency-Key")
    if isinstance(key, str) and re.fullmatch(r"[!-~]{1,255}", key):
        case.headers["Idempotency-Key"] = uuid.uuid4().hex


@schemathesis.serializer("application/x-ndjson", "text/csv")
def serialize_text(context: Any, value: Any) -> bytes:
    """Send a text as it is."""
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else str(value).encode()
