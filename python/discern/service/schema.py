"""The OpenAPI document: what each address takes and returns, for the columns of the model that is served."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discern.data.roles import MOST_NUMBER, Feature
from discern.data.vectors.column import MOST_SINGLE
from discern.service.problems import MEDIA_TYPE
from discern.service.rows import LONGEST_LABEL, LONGEST_VALUE, MOST_LABELS
from discern.service.settings import Settings

Schema = dict[str, Any]

_NO_NUL = "^[^\\u0000]*$"
_SHARE = {"type": "number", "minimum": 0, "maximum": 1}
_NUMBER_OR_NULL = {"type": ["number", "null"]}
_LABEL = {"type": ["string", "number", "boolean"], "minLength": 1, "maxLength": LONGEST_LABEL, "pattern": _NO_NUL}
KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "The same key and body are applied once, however often they are sent; another body is refused.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
}
AFTER = {
    "name": "Discern-After",
    "in": "header",
    "required": False,
    "description": "Answer with a model that has learned the entry with this number.",
    "schema": {"type": "integer", "minimum": 0, "maximum": 2**53},
}
NOVELTY = {
    "name": "novelty",
    "in": "query",
    "required": False,
    "description": "Also answer how unusual each row is, from 0 to 1.",
    "schema": {"type": "boolean", "default": False},
}


def _value(feature: Feature) -> Schema:
    if feature.role == "text":
        return {"type": ["string", "null"]}
    if feature.role == "number":
        return {"type": ["number", "boolean", "null"], "minimum": -MOST_NUMBER, "maximum": MOST_NUMBER}
    if feature.role == "vector":
        number = {"type": "number", "minimum": -MOST_SINGLE, "maximum": MOST_SINGLE}
        return {"type": ["array", "null"], "items": number, "minItems": feature.n_axes, "maxItems": feature.n_axes}
    return {"type": ["string", "number", "boolean", "null"], "maxLength": LONGEST_VALUE, "pattern": _NO_NUL}


def _object(properties: Schema, required: Sequence[str] | None = None, closed: bool = True, **more: Any) -> Schema:
    needed = list(properties) if required is None else list(required)
    return {"type": "object", "properties": properties, "required": needed, "additionalProperties": not closed, **more}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _rows(name: str, most: int) -> Schema:
    return {"type": "array", "items": _ref(name), "minItems": 1, "maxItems": most}


def schemas(features: Sequence[Feature], label: str, settings: Settings, several: bool = False) -> Schema:
    """Return the schemas of all bodies and answers."""
    return {**_requests(features, label, settings.limits.rows, several), **_answers(several)}


def _list_of(schema: Schema, **more: Any) -> Schema:
    return {"type": "array", "items": schema, **more}


def _requests(features: Sequence[Feature], label: str, most: int, several: bool) -> Schema:
    columns = {feature.name: _value(feature) for feature in features}
    given = _list_of(_LABEL, maxItems=MOST_LABELS) if several else _LABEL
    return {
        "Row": _object(columns, (), minProperties=1),
        "LabeledRow": _object({**columns, label: given}, (label,), minProperties=2),
        "Rows": _object({"rows": _rows("Row", most)}),
        "LabeledRows": _object({"rows": _rows("LabeledRow", most)}),
        "Relabeling": _object({"rows": _rows("Row", most), "from": given, "to": given}),
        "Undoing": _object({"sequence": {"type": "integer", "minimum": 1, "maximum": 2**53}}),
    }


def _answers(several: bool) -> Schema:
    one, share = {"type": "string"}, _SHARE
    return {
        "Prediction": _object(
            {
                "label": _list_of(one) if several else one,
                "probability": _list_of(share) if several else share,
                "probabilities": {"type": "object", "additionalProperties": _SHARE},
                "known_terms": {"type": "integer", "minimum": 0, "description": "Terms of the row that are known."},
                "novelty": {**_SHARE, "description": "How unusual the row is, if the query has novelty=true."},
            },
            ("label", "probability", "probabilities", "known_terms"),
        ),
        "Predictions": _object({"predictions": {"type": "array", "items": _ref("Prediction")}}),
        "Explanation": _object(
            {
                "label": {"type": "string"},
                "probability": _SHARE,
                "against": {"type": "string"},
                "probabilities": {"type": "object", "additionalProperties": _SHARE},
                "log_odds": _NUMBER_OR_NULL,
                "prior": _NUMBER_OR_NULL,
                "terms": {"type": "array", "items": {"type": "object"}},
                "flip": {"type": ["array", "null"], "items": {"type": "string"}},
                "segments": {"type": "object"},
                **({"labels": _list_of(one, description="The labels that are predicted.")} if several else {}),
            },
            ("label", "probability", "against", "probabilities", "log_odds", "prior", "terms", "flip", "segments"),
            closed=False,
        ),
        "Receipt": _object(
            {
                "sequence": {"type": "integer", "minimum": 1},
                "rows": {"type": "integer", "minimum": 0},
                "repeated": {"type": "boolean"},
            }
        ),
        "Evaluation": _object({"rows": {"type": "integer"}, "accuracy": _NUMBER_OR_NULL}, closed=False),
        "Card": _object({"checksum": {"type": "string"}, "sequence": {"type": "integer"}}, closed=False),
        "Form": _object(
            {
                "fields": {"type": "array", "items": _ref("Field")},
                "examples": {"type": "array", "items": _object({"label": {"type": "string"}, "row": _ref("Row")})},
            }
        ),
        "Field": _object(
            {
                "name": {"type": "string"},
                "role": {"type": "string"},
                "levels": {"type": "array", "items": {"type": "string"}, "description": "The known categories."},
                "range": {
                    "type": "array",
                    "items": {"type": "number"},
                    "description": "The least and the greatest usual number, and the step between round numbers.",
                },
            },
            ("name", "role"),
            closed=False,
        ),
        "Words": _object({"label": {"type": "string"}, "words": {"type": "array", "items": {"type": "object"}}}),
        "Entry": _object(
            {
                "sequence": {"type": "integer", "minimum": 1},
                "action": {"type": "string"},
                "applied": {"type": "boolean", "description": "Whether the model has applied the entry."},
                "reason": {"type": ["string", "null"], "description": "Why the model could not apply it."},
            },
            closed=False,
        ),
        "Feedback": _object({"entries": {"type": "array", "items": _ref("Entry")}}),
        "Answer": _object({}, (), closed=False),
        "Problem": _object(
            {
                "type": {"type": "string"},
                "title": {"type": "string"},
                "status": {"type": "integer"},
                "detail": {"type": "string"},
            },
            closed=False,
        ),
    }


def body(name: str, kind: str = "application/json", **others: Any) -> Schema:
    """Describe the body of a request."""
    return {"requestBody": {"required": True, "content": {kind: {"schema": _ref(name)}, **others}}}


def text(kind: str, about: str) -> Schema:
    """Describe a body that is not JSON."""
    return {"requestBody": {"required": True, "content": {kind: {"schema": {"type": "string", "description": about}}}}}


def answers(name: str | None = None, kind: str = "application/json") -> dict[int | str, Schema]:
    """Describe the answer of an address."""
    given: Schema = {"schema": _ref(name)} if name else {"schema": {"type": "string"}}
    return {
        200: {"description": "Done.", "content": {kind: given}},
        "default": {
            "description": "What is wrong, and what to do.",
            "content": {MEDIA_TYPE: {"schema": _ref("Problem")}},
        },
    }


def complete(
    document: Schema, features: Sequence[Feature], label: str, settings: Settings, several: bool = False
) -> Schema:
    """Put schemas and tokens into the document that FastAPI makes of the routes.

    ``several`` is whether a row may have several labels.
    """
    components = document.setdefault("components", {})
    components["schemas"] = schemas(features, label, settings, several)
    for operations in document["paths"].values():
        for operation in operations.values():
            operation["responses"].pop("422", None)
            if "200" in operation["responses"]:
                operation["responses"]["200"].setdefault("headers", {})
    if settings.has_tokens:
        components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        for path, operations in document["paths"].items():
            if path not in ("/health", "/ready"):
                for operation in operations.values():
                    operation["security"] = [{"token": []}]
    return document
