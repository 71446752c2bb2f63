"""What the API shows of a model and of the log: explanations, strongest words, evaluations, entries."""

from __future__ import annotations

from typing import Any

from discern.analysis.highlight import word_weights
from discern.models.evidence import Evidence
from discern.service.log import Entry
from discern.service.messages import to_json
from discern.service.state import State


def explained(state: State, row: dict[str, Any], label: str | None = None) -> bytes:
    """Explain a row: its evidence, and each of its texts cut into segments with their weights.

    Where it may have several labels, the evidence is for one of them, and ``labels`` are those that are predicted.
    """
    batch = state.batch([row])
    evidence = state.classifier.fitted.explained(batch, label)
    several = _of_several(state, row) if state.has_several else {}
    texts = {f.name: row.get(f.name) for f in state.classifier.features if f.role == "text" and row.get(f.name)}
    segments = {name: _segments(state, str(text), name, evidence) for name, text in texts.items()}
    return to_json({**evidence.to_dict(), **several, "segments": segments})


def _of_several(state: State, row: dict[str, Any]) -> dict[str, Any]:
    """Return the labels that are predicted for a row, and the probability of every label."""
    [found] = state.classifier.predictions(state.batch([row]))
    shares = dict(zip(state.labels, found.probabilities[0].tolist(), strict=True))
    return {"labels": found.labels.tolist()[0], "probabilities": shares}


def _segments(state: State, message: str, name: str, evidence: Evidence) -> list[dict[str, Any]]:
    known = {term.term: term.weight / max(term.count, 1) for term in evidence.terms if term.column == name}
    parts: list[dict[str, Any]] = []
    end = 0
    for start, stop, weight in word_weights(state.classifier.resolved.text, message, known):
        if start > end:
            parts.append({"text": message[end:start], "weight": 0.0})
        parts.append({"text": message[start:stop], "weight": weight})
        end = stop
    return [*parts, {"text": message[end:], "weight": 0.0}] if end < len(message) else parts


def strongest(state: State, label: str, search: str, top: int, against: bool) -> list[dict[str, Any]]:
    """Return the strongest words for or against a label; with ``search``, those that contain it."""
    many = state.classifier.solved.terms + 10_000 if search else top
    found = state.classifier.strongest(label, -many if against else many)
    wanted = search.casefold()
    words = [term for term in found if wanted in term.term.casefold()] if search else found
    return [{**term.to_dict(), "seen": term.seen(label)} for term in words[:top]]


def shown_entry(entry: Entry, state: State) -> dict[str, Any]:
    """Return an entry of the log, with its first rows, and whether the model has applied it."""
    change, reason = entry.change, state.unapplied.get(entry.sequence)
    about = {
        "sequence": entry.sequence,
        "action": change.action,
        "created": entry.created,
        "undone_by": entry.undone_by,
        "applied": reason is None,
        "reason": reason,
    }
    return {**about, "learn": list(change.learn)[:20], "forget": list(change.forget)[:20], "rows": change.rows}


def evaluated(state: State, data: Any) -> bytes:
    """Return the figures of the model on rows with labels."""
    return to_json(state.classifier.evaluate(data).to_dict())


def evaluated_page(state: State, data: Any) -> bytes:
    """Return the part of the page that shows the model on rows with labels."""
    from discern.analysis.report.page import fragment
    from discern.analysis.report.subject import subject_of

    return fragment(subject_of(state.classifier, data)).encode()
