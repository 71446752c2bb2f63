"""What the page needs to offer values: the fields of a row with what the model knows of them, and example rows.

Training rows are not stored, and none is shown. An example is made from the model: the strongest words of a label, and
the value of every other column that is the strongest evidence for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from discern.data.roles import Feature
from discern.service.state import State

MOST_EXAMPLES, MOST_WORDS = 6, 4
CANDIDATES = 60
"""The strongest terms that the words of an example are taken from."""
STEPS = 4
"""The parts that the range of a number is divided into to find a typical number."""
FLAGS = ("yes", "no")

Field = dict[str, Any]
Row = dict[str, Any]


def form(state: State) -> dict[str, Any]:
    """Return the fields of a row, and example rows with the label that the model predicts for them."""
    fields = list(_fields(state))
    return {"fields": fields, "examples": list(_examples(state, fields))}


def _fields(state: State) -> Iterator[Field]:
    choices = state.classifier.solved.choices()
    for feature in state.classifier.features:
        size = {"n_axes": feature.n_axes} if feature.role == "vector" else {}
        yield {"name": feature.name, "role": feature.role, **size, **choices.get(feature.name, {})}


def _examples(state: State, fields: list[Field]) -> Iterator[dict[str, Any]]:
    """Yield a row for each of the most frequent labels; one that the model predicts otherwise is left out."""
    frequent = sorted(state.classifier.info()["priors"].items(), key=lambda pair: -pair[1])
    for label in [label for label, _ in frequent][:MOST_EXAMPLES]:
        row = {field["name"]: value for field in fields if (value := _typical(state, field, label)) is not None}
        if row and label in state.predicted_labels([row])[0]:
            yield {"label": label, "row": row}


def _typical(state: State, field: Field, label: str) -> Any:
    """Return the value of a column that is the strongest evidence for a label; None if there is none."""
    if field["role"] == "text":
        return _words(state, field["name"], label)
    candidates: list[Any] = list(FLAGS) if field["role"] == "flag" else field.get("levels", [])
    if "range" in field:
        low, high, step = field["range"]
        parts = [(place + 0.5) / STEPS for place in range(STEPS)]
        candidates = [round(low * (1 - part) + high * part, _digits(step)) for part in parts]
    if not candidates:
        return None
    shares = state.classifier.predict_proba(state.batch([{field["name"]: value} for value in candidates]))
    own = shares[:, state.labels.index(label)]
    return candidates[int(own.argmax())] if own.max() > own.min() else None


def _digits(step: float) -> int:
    """Return the decimals of a power of ten."""
    return max(0, -math.floor(math.log10(step) + 0.5))


def _words(state: State, column: str, label: str) -> str | None:
    """Return the strongest words of a label, each once; None if the model does not list its terms."""
    texts = [feature for feature in state.classifier.features if feature.role == "text"]
    start, chosen = f"{column}: " if len(texts) > 1 else "", list[str]()
    for term in state.classifier.strongest(label, CANDIDATES):
        words = term.term.removeprefix(start).split()
        if term.weight > 0 and _is_of(term.term, start, state.classifier.features) and not {*words} & {*chosen}:
            chosen += words
        if len(chosen) >= MOST_WORDS:
            break
    return " ".join(chosen) or None


def _is_of(term: str, start: str, features: tuple[Feature, ...]) -> bool:
    """Return whether a listed term is a word of the text, not a value of another column or a derived term."""
    others = [f"{feature.name}=" for feature in features if feature.role != "text"]
    names = [feature.name for feature in features if feature.role != "text"]
    is_value = term in names or any(term.startswith(other) for other in others)
    return (
        term.startswith(start) and not is_value and all(word[0].isalpha() for word in term.removeprefix(start).split())
    )
