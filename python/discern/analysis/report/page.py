"""The page of the report, and its file."""

from __future__ import annotations

import os
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

import discern.analysis.report.sections as sections
import discern.analysis.report.several as several
from discern.analysis.report.subject import Subject, subject_of
from discern.data.source import Reading


def report(
    model: Any,
    data: Any,
    path: str | os.PathLike[str],
    *,
    positive: str | None = None,
    reading: Reading | None = None,
    embed: Any = None,
) -> Any:
    """Write the report of a model on rows with labels, and return the evaluation it shows.

    Parameters
    ----------
    model : Classifier or path of a model file
    data : path, frame, Arrow table or rows, with labels
    path : where to write the page
    positive : the label that the threshold explorer begins with; by default the last
    embed : for a model file that embeds texts, its embedder, as for :func:`discern.load`
    """
    subject = subject_of(model, data, positive, reading, embed)
    content = page(subject)
    place = Path(path)
    part = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        part.write_text(content, "utf-8", errors="backslashreplace")
        part.replace(place)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return subject.evaluation


def page(subject: Subject) -> str:
    """Return the whole page."""
    parts = {
        **_figures(subject),
        "plots": ("Plots", sections.plots(subject)),
        **_rows_to_look_at(subject),
        "words": ("Strongest words", sections.words(subject)),
        "data": ("The data", sections.data(subject)),
        "model": ("The model", sections.model(subject)),
    }
    shown = {name: part for name, part in parts.items() if part[1]}
    links = "".join(f'<a href="#about-{name}">{title}</a>' for name, (title, _) in shown.items())
    body = "".join(
        f'<section id="about-{name}"><h2>{title}</h2>{text}</section>' for name, (title, text) in shown.items()
    )
    policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
    title = escape(f"{subject.model_name} on {Path(subject.source).name}")
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_asset('report.css')}</style></head><body>"
        f'<header><h1>{title}</h1><p class="soft">{subject.evaluation.rows:,} rows, '
        f"{len(subject.labels)} labels</p>{_verdict(subject)}<nav>{links}</nav></header><main>{body}</main>"
        "<footer>Made by discern. Everything on this page is in this file; nothing is loaded from elsewhere.</footer>"
        f"<script>{_asset('report.js')}</script></body></html>"
    )


def fragment(subject: Subject) -> str:
    """Return the sections without plots (metrics, threshold explorer, labels), to be part of another page."""
    return _verdict(subject) + "".join(
        f'<section id="about-{name}"><h3>{title}</h3>{content}</section>'
        for name, (title, content) in _figures(subject).items()
        if content
    )


def _verdict(subject: Subject) -> str:
    return several.verdict(subject) if subject.is_multilabel else sections.verdict(subject)


def _figures(subject: Subject) -> dict[str, tuple[str, str]]:
    """Return the sections of figures: their names, titles and contents."""
    own: Any = several if subject.is_multilabel else sections
    return {
        "metrics": ("Performance", own.metrics(subject)),
        "threshold": ("Threshold explorer", sections.explorer(subject)),
        "labels": ("By label", own.labels(subject)),
    }


def _rows_to_look_at(subject: Subject) -> dict[str, tuple[str, str]]:
    if subject.is_multilabel:
        return {"mistakes": ("Most confident mistakes", several.mistakes(subject))}
    return {
        "mistakes": ("Most confident mistakes", sections.mistakes(subject)),
        "label-errors": ("Probable label errors", sections.label_errors(subject)),
    }


def _asset(name: str) -> str:
    return (resources.files("discern.analysis") / "page" / name).read_text("utf-8")
