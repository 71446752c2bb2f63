"""The report: one self-contained HTML page that says how good a model is, where it errs, and what to do about it."""

from __future__ import annotations

import copy
import io
import json
import os
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import discern.models.file as files
from discern.analysis.comparison import Table, stratified_folds
from discern.analysis.highlight import AGAINST, FOR, evidence_html
from discern.classifier import Classifier
from discern.data.source import Reading
from discern.data.text import TextSettings
from discern.evaluation.decisions import best_labels
from discern.evaluation.evaluation import Evaluation

if TYPE_CHECKING:
    from numpy.typing import NDArray

THRESHOLDS = ["0", "0.000001", "0.00001", "0.0001", *(f"{k / 1000:g}" for k in range(1, 1000)), "0.9999", "0.99999",
              "0.999999", "1"]  # fmt: skip
"""The thresholds of the explorer; finer at the ends, where confident models have most of their rows."""
MOST_LABELS = 20
"""Labels in the explorer and in the list of strongest words."""
SHOWN = 10
"""Mistakes and probable label errors shown."""
LONGEST = 600
"""Characters of a text shown."""
SURE = 0.9
"""A label is probably wrong where the model, without having learned the row, is so sure of another."""
FOLDS = 10


@dataclass(frozen=True)
class Subject:
    """What a report is about: a model, the rows to judge it on, and its judgement of them."""

    model: Any
    table: Table
    evaluation: Evaluation
    source: str
    model_name: str
    checksum: str | None
    positive: str

    @cached_property
    def true(self) -> NDArray[np.str_]:
        """The true label of each row."""
        return np.asarray(np.array(self.evaluation.labels, np.str_)[self.evaluation.judged.true])

    @cached_property
    def decided(self) -> NDArray[np.str_]:
        """The label given to each row."""
        return np.asarray(np.array(self.evaluation.labels, np.str_)[self.evaluation.judged.decided])

    @cached_property
    def held_out(self) -> tuple[NDArray[np.float64], bool]:
        """The probabilities by models that have not learned the row, and whether they had to forget it for that."""
        return held_out_probabilities(self)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that have probabilities."""
        return self.evaluation.judged.columns

    @cached_property
    def frequent(self) -> list[str]:
        """The labels with the most rows."""
        rows = Counter(self.true.tolist())
        return sorted(self.labels, key=lambda label: (-rows[label], label))[:MOST_LABELS]

    def row(self, number: int) -> dict[str, Any]:
        """Return a row without its label."""
        label = getattr(self.model, "label", "label")
        return {name: values[0] for name, values in self.table.take([number]).items() if name != label}


def report(
    model: Any,
    data: Any,
    path: str | os.PathLike[str],
    *,
    positive: str | None = None,
    reading: Reading | None = None,
) -> Evaluation:
    """Write the report of a model on rows with labels, and give the evaluation it shows.

    Parameters
    ----------
    model : Classifier or path of a model file
    data : path, frame, Arrow table or rows, with labels
    path : where to write the page
    positive : the label that the threshold explorer begins with; by default the last
    """
    subject = subject_of(model, data, positive, reading)
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


def subject_of(model: Any, data: Any, positive: str | None = None, reading: Reading | None = None) -> Subject:
    """Judge a model, or that of a file, on rows with labels: what a report is about."""
    from_file = isinstance(model, str | os.PathLike)
    loaded = Classifier.load(model) if from_file else model
    checksum = files.load(model)[1]["checksum"] if from_file else None
    table = Table.of(data, reading)
    evaluation = loaded.evaluate(table.columns)
    source = str(data) if isinstance(data, str | os.PathLike) else "the rows given"
    name = Path(model).name if from_file else type(loaded).__name__
    return Subject(loaded, table, evaluation, source, name, checksum, evaluation.positive(positive))


def page(subject: Subject) -> str:
    """Return the whole page."""
    sections = {
        "metrics": ("How good it is", _metrics(subject)),
        "threshold": ("Threshold explorer", _explorer(subject)),
        "labels": ("Label by label", _per_label(subject)),
        "pictures": ("Pictures", _pictures(subject)),
        "mistakes": ("Most confident mistakes", _mistakes(subject)),
        "label-errors": ("Probable label errors", _label_errors(subject)),
        "words": ("Strongest words", _words(subject)),
        "data": ("The data", _data(subject)),
        "model": ("The model", _model_card(subject)),
    }
    shown = {name: part for name, part in sections.items() if part[1]}
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
        f'<header><h1>{title}</h1><p class="soft">{subject.evaluation.rows:,} rows judged, '
        f"{len(subject.labels)} labels</p><nav>{links}</nav></header><main>{body}</main>"
        "<footer>Made by discern. Everything on this page is in this file; nothing is fetched.</footer>"
        f"<script>{_asset('report.js')}</script></body></html>"
    )


def fragment(subject: Subject) -> str:
    """Return the parts that need no pictures: figures, threshold explorer, labels; for a page of another kind."""
    parts = {
        "metrics": ("How good it is", _metrics(subject)),
        "threshold": ("Threshold explorer", _explorer(subject)),
        "labels": ("Label by label", _per_label(subject)),
    }
    return "".join(
        f'<section id="about-{name}"><h3>{title}</h3>{content}</section>'
        for name, (title, content) in parts.items()
        if content
    )


def _asset(name: str) -> str:
    return (resources.files("discern.analysis") / "page" / name).read_text("utf-8")


def _table(head: Sequence[str], rows: Sequence[Sequence[Any]], text: Sequence[int] = ()) -> str:
    """Return a table; the columns numbered in ``text`` may wrap."""

    def line(cells: Sequence[Any], kind: str) -> str:
        marks = (' class="text"' if place in text else "" for place in range(len(cells)))
        return "".join(f"<{kind}{mark}>{escape(str(cell))}</{kind}>" for mark, cell in zip(marks, cells, strict=True))

    body = "".join(f"<tr>{line(row, 'td')}</tr>" for row in rows)
    top = f"<thead><tr>{line(head, 'th')}</tr></thead>" if any(head) else ""
    return f'<div class="wide"><table>{top}<tbody>{body}</tbody></table></div>'


# ------------------------------------------------------------------------------------------------- figures


def _metrics(subject: Subject) -> str:
    evaluation, intervals = subject.evaluation, subject.evaluation.intervals(positive=subject.positive)
    shown: list[tuple[str, str, str]] = []
    for name, key in (("accuracy", "accuracy"), ("log loss", "log_loss"), ("Brier score", "brier")):
        shown.append((name, _figure(getattr(evaluation, key), key == "accuracy"), _reach(intervals, key)))
    ranked = evaluation.to_dict(positive=subject.positive if len(subject.labels) == 2 else None)
    if ranked.get("auc") is not None:
        shown.append(("area under ROC", f"{ranked['auc']:.4f}", _reach(intervals, "auc")))
    if "recall" in intervals:
        for key in ("recall", "precision", "false_positive_rate"):
            value = getattr(evaluation, key)(subject.positive)
            shown.append(
                (f"{key.replace('_', ' ')} of {subject.positive}", _figure(value, True), _reach(intervals, key))
            )
    shown.append(("macro F1", _figure(evaluation.f1("macro"), True), ""))
    shown.append(("MCC", f"{evaluation.mcc:.4f}", ""))
    shown.append(("calibration error", f"{evaluation.calibration_error:.4f}", "15 bins"))
    cards = "".join(
        f'<div class="card"><span>{escape(name)}</span><b>{value}</b><span>{reach}</span></div>'
        for name, value, reach in shown
    )
    unseen = f"<p>{evaluation.unseen:,} rows have a label that was never learned.</p>" if evaluation.unseen else ""
    note = '<p class="soft">In brackets: 95% intervals (Wilson; DeLong; normal).</p>'
    return f'<div class="cards">{cards}</div>{note}{unseen}{_unlearned(subject)}'


def _unlearned(subject: Subject) -> str:
    """Describe how good the model is on rows it has not learned, where those judged are the ones it has."""
    shares, learned = subject.held_out
    if not learned:
        return ""
    decided = np.array(subject.labels, np.str_)[best_labels(shares)[0]]
    other = Evaluation.of(subject.true, decided, shares, subject.labels)
    figures = f"accuracy {other.accuracy:.2%}, log loss {other.log_loss:.4f}"
    return f"<p><b>The model has learned these rows.</b> Judged by models that have forgotten them: {figures}.</p>"


def _figure(value: float, as_share: bool) -> str:
    return f"{value:.2%}" if as_share else f"{value:.4f}"


def _reach(intervals: Mapping[str, Any], key: str) -> str:
    if key not in intervals:
        return ""
    share = key not in ("log_loss", "brier", "auc")
    return f"[{_figure(intervals[key].low, share)}, {_figure(intervals[key].high, share)}]"


def _per_label(subject: Subject) -> str:
    evaluation = subject.evaluation
    names = ("precision", "recall", "f1", "specificity", "false_positive_rate", "false_negative_rate")
    head = ("label", *(name.replace("_", " ").replace("f1", "F1") for name in names), "rows")
    rows = [
        (label, *(f"{figures[name]:.2%}" for name in names), f"{figures['rows']:,}")
        for label, figures in evaluation.per_label().items()
    ]
    if len(evaluation.labels) > 40:
        return _table(head, rows)
    matrix = [
        (label, *(f"{count:,}" for count in evaluation.confusion[place]))
        for place, label in enumerate(evaluation.labels)
    ]
    return _table(head, rows) + "<h3>Confusion matrix</h3>" + _table(("predicted ↓ true →", *evaluation.labels), matrix)


# ------------------------------------------------------------------------------------- threshold explorer


def explorer_data(subject: Subject) -> dict[str, Any]:
    """Return the counts at every threshold, for each label against the rest."""
    thresholds, labels = [float(name) for name in THRESHOLDS], []
    shown = [label for label in sorted({*subject.frequent, subject.positive}) if label in subject.labels]
    for label in shown:
        ranking = subject.evaluation.ranking(label)
        caught, alarms = ranking.at(thresholds)
        others = [other for other in subject.labels if other != label]
        labels.append({
            "name": label,
            "other": others[0] if len(others) == 1 else "other",
            "positive": ranking.positive_rows,
            "negative": ranking.negative_rows,
            "caught": caught.tolist(),
            "alarms": alarms.tolist(),
        })  # fmt: skip
    return {"names": THRESHOLDS, "chosen": shown.index(subject.positive), "labels": labels}


def _explorer(subject: Subject) -> str:
    if len(subject.labels) < 2:
        return ""
    data = explorer_data(subject)
    options = "".join(
        f"<option{' selected' if place == data['chosen'] else ''}>{escape(one['name'])}</option>"
        for place, one in enumerate(data["labels"])
    )
    start, positive = THRESHOLDS.index("0.5"), '<span class="positive-name"></span>'
    negative = '<span class="negative-name"></span>'
    figures = {
        "recall": "recall", "precision": "precision", "false positive rate": "alarm-rate",
        "false negative rate": "miss-rate", "F1": "f1", "right": "right",
    }  # fmt: skip
    rows = "".join(f'<tr><td>{name}</td><td id="{key}"></td></tr>' for name, key in figures.items())
    embedded = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    return f"""<p>Call a row {positive} when its probability is at least <span id="threshold-shown"></span>.</p>
<div class="explorer"><div>
<label for="positive">label <select id="positive">{options}</select></label>
<input id="threshold" type="range" min="0" max="{len(THRESHOLDS) - 1}" value="{start}" aria-label="threshold">
<div class="wide"><table class="matrix">
<thead><tr><th>predicted ↓ true →</th><th>{negative}</th><th>{positive}</th></tr></thead>
<tbody><tr><td>{negative}</td><td id="spared" class="right"></td><td id="missed" class="wrong"></td></tr>
<tr><td>{positive}</td><td id="alarms" class="wrong"></td><td id="caught" class="right"></td></tr></tbody></table></div>
<table><tbody>{rows}</tbody></table>
</div><div>
<label>a false alarm costs <input id="alarm-cost" type="number" value="1" min="0" step="any"></label>
<label>a miss costs <input id="miss-cost" type="number" value="1" min="0" step="any"></label>
<p>cost <b id="cost"></b>, a row <b id="row-cost"></b> <button id="cheapest" type="button">least cost</button></p>
<svg viewBox="0 0 1000 120" preserveAspectRatio="none" role="img" aria-label="cost against the threshold">
<polyline id="cost-line" fill="none" stroke="#0072B2" stroke-width="2" vector-effect="non-scaling-stroke"/>
<line id="cost-place" y1="0" y2="120" stroke="#D55E00" stroke-width="2" vector-effect="non-scaling-stroke"/></svg>
<p class="soft">Cost against the threshold; chosen on these rows, so it will be a little higher on others.</p>
</div></div><script type="application/json" id="explorer-data">{embedded}</script>"""


# -------------------------------------------------------------------------------------------------- pictures


def _pictures(subject: Subject) -> str:
    figures = "".join(
        f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>" for caption, svg in drawn(subject)
    )
    return f'<div class="pictures">{figures}</div>'


def drawn(subject: Subject) -> Iterator[tuple[str, str]]:
    """Draw the pictures of the report: a caption and an SVG each."""
    from discern.analysis.plots import (
        ConfusionMatrixDisplay,
        PrecisionRecallDisplay,
        ReliabilityDisplay,
        RocDisplay,
        ThresholdErrorDisplay,
    )

    evaluation, positive = subject.evaluation, subject.positive
    ranking = evaluation.ranking(positive)
    if ranking.positive_rows and ranking.negative_rows:
        for kind, caption in (
            (RocDisplay, f"ROC curve of {positive}"),
            (PrecisionRecallDisplay, f"Precision against recall of {positive}"),
            (ThresholdErrorDisplay, f"Error rates against the threshold for {positive}"),
        ):
            chosen = 0.5 if len(subject.labels) == 2 else None
            yield (
                caption,
                _svg(caption, lambda ax, kind=kind, chosen=chosen: kind(ranking, positive, chosen=chosen).plot(ax)),
            )
    yield (
        "How far the probabilities can be trusted",
        _svg("reliability", lambda ax: ReliabilityDisplay(evaluation.calibration()).plot(ax)),
    )
    if len(evaluation.labels) <= 60:
        yield (
            "Confusion matrix; the shade is the share of the true label",
            _svg("confusion", lambda ax: ConfusionMatrixDisplay.from_evaluation(evaluation, ax=ax)),
        )


def _svg(name: str, draw: Any) -> str:
    """Draw on a figure of its own, away from the state of pyplot, and give it as SVG to stand in a page."""
    try:
        from matplotlib import rc_context
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ValueError(
            "the report's pictures need matplotlib; install it with: pip install 'discern[plot]'"
        ) from error
    with rc_context({"svg.hashsalt": name, "svg.fonttype": "none", "font.size": 10}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # the browser has a font for it
        figure = Figure(figsize=(5.6, 4.6), layout="constrained")
        FigureCanvasSVG(figure)
        draw(figure.add_subplot())
        stream = io.StringIO()
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
    drawing = stream.getvalue()
    return drawing[drawing.index("<svg") :].replace("<svg ", f'<svg role="img" aria-label="{escape(name)}" ', 1)


# ------------------------------------------------------------------------------------------- rows to look at


def _mistakes(subject: Subject) -> str:
    wrong = np.flatnonzero(subject.true != subject.decided)
    if not len(wrong):
        return "<p>There are none: every row is called right.</p>"
    confidence = best_labels(subject.evaluation.judged.probabilities)[1]
    order = wrong[np.argsort(-confidence[wrong], kind="stable")][:SHOWN]
    parts = [
        _explained(
            subject,
            int(row),
            f"called {subject.decided[row]} ({_percent(confidence[row])}), labelled {subject.true[row]}",
        )
        for row in order
    ]
    count = f"<p>{len(wrong):,} rows are called wrong; these are the {len(order)} of which the model is surest.</p>"
    return count + _KEY + "".join(parts)


_KEY = (
    f'<p class="soft key">Words: <mark style="background:rgba({FOR},.6)">for</mark> the label that was given, '
    f'<mark style="background:rgba({AGAINST},.6);border-bottom:2px dotted">against</mark> it; the darker, the more.</p>'
)


def _percent(share: float) -> str:
    """Return a share; what is below one never looks like one."""
    return ">\u00a099.99%" if 0.9999 < share < 1 else f"{share:.2%}"


def _explained(subject: Subject, number: int, verdict: str) -> str:
    row = subject.row(number)
    evidence = subject.model.explain(row)
    text = _longest(row)
    shown = evidence_html(text[:LONGEST], evidence, _settings(subject.model)) + ("…" if len(text) > LONGEST else "")
    others = [
        term for term in evidence.terms if getattr(term, "column", "text") not in ("text", _text_column(subject.model))
    ]
    said = ", ".join(f"{term.column} = {term.term} ({term.weight:+.1f})" for term in others[:6])
    more = f'<p class="soft">{escape(said)}</p>' if said else ""
    return f"<article><b>row {number + 1:,}</b> {escape(verdict)}<p>{shown}</p>{more}</article>"


def _settings(model: Any) -> TextSettings | None:
    resolved = getattr(model, "resolved", None)
    return None if resolved is None else resolved.text


def _text_column(model: Any) -> str:
    resolved = getattr(model, "resolved", None)
    return (resolved and resolved.text_column) or "text"


def _longest(row: Mapping[str, Any]) -> str:
    """Return the text of a row: its longest value."""
    return max((str(value) for value in row.values() if value is not None), key=len, default="")


def held_out_probabilities(subject: Subject) -> tuple[NDArray[np.float64], bool]:
    """Return probabilities by models that have not learned the row, and say whether they had to forget it.

    Rows that the model has learned are forgotten by a copy of it, a fold at a time, and judged by that copy. Rows that
    it has never learned cannot be forgotten: it judges them itself.
    """
    plain = subject.evaluation.judged.probabilities
    unseen = plain, False
    if not hasattr(subject.model, "forget") or len(subject.table) < 2 * FOLDS:
        return unseen
    groups = list(zip(*(map(str, column) for column in subject.table.columns.values()), strict=True))
    folds = stratified_folds(subject.true, FOLDS, groups=groups)
    shares = np.zeros_like(plain)
    for fold in range(FOLDS):
        rows = np.flatnonzero(folds == fold)
        part, trial = subject.table.take(rows), copy.deepcopy(subject.model)
        try:
            trial.forget(part)
        except ValueError:
            return unseen
        places = np.array([subject.labels.index(label) for label in trial.labels], np.int64)
        shares[np.ix_(rows, places)] = trial.predict_proba(part)
    return shares, True


def _label_errors(subject: Subject) -> str:
    shares, learned = subject.held_out
    places, confidence = best_labels(shares)
    suggested = np.array(subject.labels, np.str_)[places]
    doubtful = np.flatnonzero((suggested != subject.true) & (confidence >= SURE))
    order = doubtful[np.argsort(-confidence[doubtful], kind="stable")][:SHOWN]
    how = (
        f"Each row is judged by a model that has forgotten it, with the tenth of the rows it is in ({FOLDS} folds)."
        if learned
        else "The model has not learned these rows, so its own judgement counts."
    )
    intro = f"<p>{how} {len(doubtful):,} labels disagree with a judgement of at least {SURE:.0%}.</p>"
    if not len(order):
        return intro
    parts = [
        f"<article><b>row {row + 1:,}</b> labelled {escape(subject.true[row])}, rather {escape(suggested[row])} "
        f"({_percent(confidence[row])})<p>{escape(_shortened(_longest(subject.row(int(row))), LONGEST))}</p></article>"
        for row in order
    ]
    return intro + "".join(parts)


def _shortened(text: str, most: int = 160) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= most else flat[: most - 1] + "…"


# ------------------------------------------------------------------------------------------- data and model


def _words(subject: Subject) -> str:
    if not hasattr(subject.model, "weights"):
        return ""
    rows = []
    for label in subject.frequent:
        try:
            words = subject.model.weights(label, 12)
        except (ValueError, TypeError):
            return ""
        rows.append((label, " · ".join(f"{word}\u00a0{weight:+.2f}" for word, weight in words)))
    return '<p class="soft">In nats, against the mean of the other labels.</p>' + _table(
        ("label", "words"), rows, text=[1]
    )


def _data(subject: Subject) -> str:
    table, true = subject.table, subject.true.tolist()
    counts = Counter(true)
    shares = [(label, f"{rows:,}", f"{rows / len(true):.2%}") for label, rows in counts.most_common(40)]
    columns = [(name, *_column_summary(values)) for name, values in table.columns.items()]
    return (
        f"<p>{len(table):,} rows from {escape(Path(subject.source).name)}, {len(counts)} labels.</p>"
        + _table(("label", "rows", "share"), shares)
        + "<h3>Columns</h3>"
        + _table(("column", "missing", "distinct", "mean length", "longest"), columns)
    )


def _column_summary(values: Sequence[Any]) -> tuple[str, ...]:
    present = [str(value) for value in values if value is not None and value != ""]
    lengths = list(map(len, present)) or [0]
    missing, distinct = len(values) - len(present), len(set(present))
    return f"{missing:,}", f"{distinct:,}", f"{sum(lengths) / len(lengths):.1f}", f"{max(lengths):,}"


def _model_card(subject: Subject) -> str:
    about = subject.model.info() if hasattr(subject.model, "info") else {}
    rows = [("model file", subject.model_name)]
    if subject.checksum:
        rows.append(("checksum", subject.checksum))
    rows += list(_flat(about))
    return _table(("", ""), rows, text=[1])


def _flat(values: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Return nested settings as lines."""
    for name, value in values.items():
        title = f"{before}{name}".replace("_", " ")
        if isinstance(value, Mapping) and len(value) <= 40:
            yield from _flat(value, f"{title}: ")
        elif isinstance(value, float):
            yield title, f"{value:.6g}"
        elif value is not None and value != () and value != []:
            yield (
                title,
                _shortened(f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value), 300),
            )
