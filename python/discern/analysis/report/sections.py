"""The sections of the report as HTML: metrics, threshold explorer, labels, plots, mistakes, words, data, model."""

from __future__ import annotations

import io
import json
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.analysis.highlight import AGAINST, FOR, evidence_html
from discern.analysis.report.subject import FOLDS, Subject
from discern.data.text import TextSettings
from discern.data.vectors.column import is_sequence
from discern.evaluation.decisions import best_labels
from discern.evaluation.evaluation import Evaluation

if TYPE_CHECKING:
    from discern.models.strongest import StrongTerm

THRESHOLDS = ["0", "0.000001", "0.00001", "0.0001", *(f"{k / 1000:g}" for k in range(1, 1000)), "0.9999", "0.99999",
              "0.999999", "1"]  # fmt: skip
"""The thresholds of the explorer; finer at the ends, where confident models have most of their rows."""
SHOWN = 10
"""Mistakes and probable label errors shown."""
LONGEST = 600
"""Characters of a text shown."""
SURE = 0.9
"""A label is probably wrong where a model that has not learned the row predicts another with this probability."""


def table(head: Sequence[str], rows: Sequence[Sequence[Any]], text: Sequence[int] = ()) -> str:
    """Return a table; the columns numbered in ``text`` may wrap."""

    def line(cells: Sequence[Any], kind: str) -> str:
        marks = (' class="text"' if place in text else "" for place in range(len(cells)))
        return "".join(f"<{kind}{mark}>{escape(str(cell))}</{kind}>" for mark, cell in zip(marks, cells, strict=True))

    body = "".join(f"<tr>{line(row, 'td')}</tr>" for row in rows)
    top = f"<thead><tr>{line(head, 'th')}</tr></thead>" if any(head) else ""
    return f'<div class="wide"><table>{top}<tbody>{body}</tbody></table></div>'


def percent(share: float) -> str:
    """Return a share; what is below one never looks like one."""
    return ">\u00a099.99%" if 0.9999 < share < 1 else f"{share:.2%}"


def shortened(text: str, most: int = 160) -> str:
    """Return a text on one line, cut after a number of characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= most else flat[: most - 1] + "…"


# ------------------------------------------------------------------------------------------------- figures


def cards(shown: Iterable[tuple[str, str, str]]) -> str:
    """Return figures as cards: name, value, and a note below."""
    made = "".join(
        f'<div class="card"><span>{escape(name)}</span><b>{value}</b><span>{note}</span></div>'
        for name, value, note in shown
    )
    return f'<div class="cards">{made}</div>'


def metrics(subject: Subject) -> str:
    """Return the metrics with their intervals, as cards."""
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
    unseen = (
        f"<p>{evaluation.unseen:,} rows have a label that the model never learned.</p>" if evaluation.unseen else ""
    )
    note = '<p class="soft">In brackets: 95% intervals (Wilson; DeLong; normal).</p>'
    return f"{cards(shown)}{note}{unseen}"


def _unlearned(subject: Subject) -> str:
    """Return a sentence with the metrics on held-out rows, where the model has learned the rows it is evaluated on."""
    shares, learned = subject.held_out
    if not learned:
        return ""
    decided = np.array(subject.labels, np.str_)[best_labels(shares)[0]]
    other = Evaluation.of(subject.true, decided, shares, subject.labels)
    return (
        f" <b>It has learned these rows</b>: if each is predicted by a model that has forgotten it, "
        f"<b>{other.accuracy:.1%}</b> are correct (log loss {other.log_loss:.4f})."
    )


def _figure(value: float, as_share: bool) -> str:
    return f"{value:.2%}" if as_share else f"{value:.4f}"


def _reach(intervals: Mapping[str, Any], key: str) -> str:
    if key not in intervals:
        return ""
    share = key not in ("log_loss", "brier", "auc")
    return f"[{_figure(intervals[key].low, share)}, {_figure(intervals[key].high, share)}]"


MOST_IN_MATRIX = 40
"""The most labels of a confusion matrix as a table; of more, the plots have one."""


def labels(subject: Subject) -> str:
    """Return the figures of each label, and the confusion matrix; that of two labels is in the threshold explorer."""
    evaluation = subject.evaluation
    names = ["precision", "recall", "f1"] + (["false_positive_rate"] if len(evaluation.labels) > 2 else [])
    head = ("label", *(name.replace("_", " ").replace("f1", "F1") for name in names), "rows")
    rows = [
        (label, *(f"{figures[name]:.2%}" for name in names), f"{figures['rows']:,}")
        for label, figures in evaluation.per_label().items()
    ]
    if _is_binary(subject) or len(evaluation.labels) > MOST_IN_MATRIX:
        return table(head, rows)
    matrix = [
        (label, *(f"{count:,}" for count in evaluation.confusion[place]))
        for place, label in enumerate(evaluation.labels)
    ]
    return table(head, rows) + "<h3>Confusion matrix</h3>" + table(("predicted ↓ true →", *evaluation.labels), matrix)


def _is_binary(subject: Subject) -> bool:
    """Return whether the matrix of the threshold explorer has all labels that are predicted or true."""
    return not subject.is_multilabel and len(subject.labels) == 2 and len(subject.evaluation.labels) == 2


def verdict(subject: Subject) -> str:
    """Return in a sentence how good the model is on these rows, and in another one if it has learned them."""
    evaluation = subject.evaluation
    common, rows = max(((label, figures["rows"]) for label, figures in evaluation.per_label().items()),
                       key=lambda pair: pair[1])  # fmt: skip
    interval, base = evaluation.intervals()["accuracy"], rows / max(evaluation.rows, 1)
    against = f"; always predicting {escape(common)}: {base:.1%}" if len(evaluation.labels) > 1 else ""
    sentence = (
        f"The model labels <b>{evaluation.accuracy:.1%}</b> of the {evaluation.rows:,} rows correctly (95% interval "
        f"{interval.low:.1%} to {interval.high:.1%}{against}), and its probabilities are off by "
        f"{100 * evaluation.calibration_error:.1f} points on average."
    )
    return f'<p class="verdict">{sentence}{_unlearned(subject)}</p>'


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
            "other": others[0] if len(others) == 1 and not subject.is_multilabel else "other",
            "positive": ranking.positive_rows,
            "negative": ranking.negative_rows,
            "caught": caught.tolist(),
            "alarms": alarms.tolist(),
        })  # fmt: skip
    return {"names": THRESHOLDS, "chosen": shown.index(subject.positive), "labels": labels}


def explorer(subject: Subject) -> str:
    """Return the threshold explorer; its counts are embedded as JSON."""
    if len(subject.labels) < 2:
        return ""
    data = explorer_data(subject)
    options = "".join(
        f"<option{' selected' if place == data['chosen'] else ''}>{escape(one['name'])}</option>"
        for place, one in enumerate(data["labels"])
    )
    start, positive = THRESHOLDS.index("0.5"), '<span class="positive-name"></span>'
    figures = {
        "recall": "recall", "precision": "precision", "false positive rate": "alarm-rate",
        "false negative rate": "miss-rate", "F1": "f1", "accuracy": "accuracy",
    }  # fmt: skip
    rows = "".join(f'<tr><td>{name}</td><td id="{key}"></td></tr>' for name, key in figures.items())
    embedded = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    return f"""<p>Predict {positive} when its probability is at least <span id="threshold-shown"></span>.</p>
<div class="explorer"><div>
<label for="positive">label <select id="positive">{options}</select></label>
<input id="threshold" type="range" min="0" max="{len(THRESHOLDS) - 1}" value="{start}" aria-label="threshold">
{_counts(_is_binary(subject))}
<table><tbody>{rows}</tbody></table>
</div><div>
<label>a false alarm costs <input id="alarm-cost" type="number" value="1" min="0" step="any"></label>
<label>a miss costs <input id="miss-cost" type="number" value="1" min="0" step="any"></label>
<p>cost <b id="cost"></b>, a row <b id="row-cost"></b> <button id="cheapest" type="button">least cost</button></p>
<svg viewBox="0 0 1000 120" preserveAspectRatio="none" role="img" aria-label="cost against the threshold">
<polyline id="cost-line" fill="none" stroke="#0072B2" stroke-width="2" vector-effect="non-scaling-stroke"/>
<line id="cost-place" y1="0" y2="120" stroke="#D55E00" stroke-width="2" vector-effect="non-scaling-stroke"/></svg>
<p class="soft">Cost against the threshold; chosen on these rows, so expect a slightly higher cost on others.</p>
</div></div><script type="application/json" id="explorer-data">{embedded}</script>"""


def _counts(as_matrix: bool) -> str:
    """Return the places of the four counts: the confusion matrix, or a list beside that of all labels."""
    positive, negative = (f'<span class="{name}-name"></span>' for name in ("positive", "negative"))
    if as_matrix:
        return f"""<div class="wide"><table class="matrix"><caption>Confusion matrix</caption>
<thead><tr><th>predicted ↓ true →</th><th>{negative}</th><th>{positive}</th></tr></thead>
<tbody><tr><td>{negative}</td><td id="spared" class="right"></td><td id="missed" class="wrong"></td></tr>
<tr><td>{positive}</td><td id="alarms" class="wrong"></td><td id="caught" class="right"></td></tr></tbody>
</table></div>"""
    names = {
        "caught": f"{positive}, found", "missed": f"{positive}, missed", "alarms": "false alarms",
        "spared": f"{negative}, correct",
    }  # fmt: skip
    rows = "".join(f'<tr><td>{name}</td><td id="{key}"></td></tr>' for key, name in names.items())
    return f"<table><tbody>{rows}</tbody></table>"


def plots(subject: Subject) -> str:
    """Return the plots."""
    drawings = drawn_curves(subject) if subject.is_multilabel else drawn(subject)
    figures = "".join(f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>" for caption, svg in drawings)
    return f'<div class="plots">{figures}</div>'


def drawn(subject: Subject) -> Iterator[tuple[str, str]]:
    """Draw the plots of the report: a caption and an SVG each."""
    from discern.analysis.plots.predictions import ConfusionMatrixDisplay

    yield from drawn_curves(subject)
    evaluation = subject.evaluation
    if MOST_IN_MATRIX < len(evaluation.labels) <= 60:
        yield (
            "Confusion matrix; the shade is the share of the true label",
            drawing("confusion", lambda ax: ConfusionMatrixDisplay.from_evaluation(evaluation, ax=ax)),
        )


def drawn_curves(subject: Subject) -> Iterator[tuple[str, str]]:
    """Draw the curves of a label, and the reliability of the probabilities."""
    from discern.analysis.plots.predictions import (
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
            chosen = 0.5 if len(subject.labels) == 2 and not subject.is_multilabel else None
            yield (
                caption,
                drawing(caption, lambda ax, kind=kind, chosen=chosen: kind(ranking, positive, chosen=chosen).plot(ax)),
            )
    yield (
        "Reliability of the probabilities",
        drawing("reliability", lambda ax: ReliabilityDisplay(evaluation.calibration()).plot(ax)),
    )


def drawing(name: str, draw: Any) -> str:
    """Draw on a figure of its own, away from the state of pyplot, and return it as SVG for a page."""
    try:
        from matplotlib import rc_context
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ValueError("the report needs matplotlib; install it with: pip install 'discern[plot]'") from error
    with rc_context({"svg.hashsalt": name, "svg.fonttype": "none", "font.size": 10}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # the browser has a font for it
        figure = Figure(figsize=(5.6, 4.6), layout="constrained")
        FigureCanvasSVG(figure)
        draw(figure.add_subplot())
        stream = io.StringIO()
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
    drawn_as = stream.getvalue()
    return drawn_as[drawn_as.index("<svg") :].replace("<svg ", f'<svg role="img" aria-label="{escape(name)}" ', 1)


# ------------------------------------------------------------------------------------------- rows to look at


def mistakes(subject: Subject) -> str:
    """Return the most confident mistakes, with the words that drove them."""
    wrong = np.flatnonzero(subject.true != subject.predicted)
    if not len(wrong):
        return "<p>None: every row is predicted correctly.</p>"
    confidence = best_labels(subject.rows.probabilities)[1]
    order = wrong[np.argsort(-confidence[wrong], kind="stable")][:SHOWN]
    parts = [
        _explained(
            subject,
            int(row),
            f"predicted {subject.predicted[row]} ({percent(confidence[row])}), labeled {subject.true[row]}",
        )
        for row in order
    ]
    count = f"<p>{len(wrong):,} rows are predicted wrongly; these are the {len(order)} most confident mistakes.</p>"
    return count + KEY + "".join(parts)


KEY = (
    f'<p class="soft key">Words: <mark style="background:rgba({FOR},.6)">for</mark> the predicted label, '
    f'<mark style="background:rgba({AGAINST},.6);border-bottom:2px dotted">against</mark> it; darker is stronger.</p>'
)


def _explained(subject: Subject, number: int, verdict: str) -> str:
    row = subject.row(number)
    evidence = subject.model.explain(row)
    text = longest_value(row)
    shown = evidence_html(text[:LONGEST], evidence, _settings(subject.model)) + ("…" if len(text) > LONGEST else "")
    others = [
        term for term in evidence.terms if getattr(term, "column", "text") not in ("text", _text_column(subject.model))
    ]
    values = ", ".join(f"{term.column} = {term.term} ({term.weight:+.1f})" for term in others[:6])
    more = f'<p class="soft">{escape(values)}</p>' if values else ""
    return f"<article><b>row {number + 1:,}</b> {escape(verdict)}<p>{shown}</p>{more}</article>"


def _settings(model: Any) -> TextSettings | None:
    resolved = getattr(model, "resolved", None)
    return None if resolved is None else resolved.text


def _text_column(model: Any) -> str:
    resolved = getattr(model, "resolved", None)
    return (resolved and resolved.text_column) or "text"


def longest_value(row: Mapping[str, Any]) -> str:
    """Return the text of a row: its longest value that is no vector."""
    values = (value for value in row.values() if value is not None and not is_sequence(value))
    return max(map(str, values), key=len, default="")


def label_errors(subject: Subject) -> str:
    """Return the rows whose labels a model without them contradicts most."""
    shares, learned = subject.held_out
    places, confidence = best_labels(shares)
    suggested = np.array(subject.labels, np.str_)[places]
    doubtful = np.flatnonzero((suggested != subject.true) & (confidence >= SURE))
    order = doubtful[np.argsort(-confidence[doubtful], kind="stable")][:SHOWN]
    how = (
        f"Each row is predicted by a model that has forgotten it ({FOLDS} folds)."
        if learned
        else "The model has not learned these rows, so its own predictions are used."
    )
    intro = f"<p>{how} {len(doubtful):,} labels disagree with a prediction of at least {SURE:.0%}.</p>"
    if not len(order):
        return intro
    parts = [
        f"<article><b>row {row + 1:,}</b> labeled {escape(subject.true[row])}, probably {escape(suggested[row])} "
        f"({percent(confidence[row])})"
        f"<p>{escape(shortened(longest_value(subject.row(int(row))), LONGEST))}</p></article>"
        for row in order
    ]
    return intro + "".join(parts)


# ------------------------------------------------------------------------------------------- data and model


def words(subject: Subject) -> str:
    """Return the strongest words of each label."""
    if not hasattr(subject.model, "strongest"):
        return ""
    rows = []
    for label in subject.frequent:
        try:
            terms = subject.model.strongest(label, 12)
        except (ValueError, TypeError):
            return ""
        rows.append((label, " · ".join(_strong_term(term, label) for term in terms)))
    about = "In nats, against the mean of the other labels. In brackets: rows of the label : rows of other labels."
    return f'<p class="soft">{about}</p>' + table(("label", "words"), rows, text=[1])


def _strong_term(term: StrongTerm, label: str) -> str:
    seen = f" ({term.seen(label)})" if term.rows is not None else ""
    return f"{term.term}\u00a0{term.weight:+.2f}{seen}".replace(" : ", "\u00a0:\u00a0")


def data(subject: Subject) -> str:
    """Describe the data: labels and columns."""
    rows, counts = subject.table, Counter(subject.rows_per_label)
    total = max(len(rows), 1)
    shares = [(label, f"{count:,}", f"{count / total:.2%}") for label, count in counts.most_common(40)]
    columns = [(name, *_column_summary(values)) for name, values in rows.columns.items()]
    return (
        f"<p>{len(rows):,} rows from {escape(Path(subject.source).name)}, {len(counts)} labels.</p>"
        + table(("label", "rows", "share"), shares)
        + "<h3>Columns</h3>"
        + table(("column", "missing", "distinct", "mean length", "longest"), columns)
    )


def _column_summary(values: Sequence[Any]) -> tuple[str, ...]:
    listed = [list(value) if is_sequence(value) else str(value) for value in values if value is not None]
    present = [value for value in listed if value != ""]
    lengths = list(map(len, present)) or [0]
    missing, distinct = len(values) - len(present), len({*map(str, present)})
    return f"{missing:,}", f"{distinct:,}", f"{sum(lengths) / len(lengths):.1f}", f"{max(lengths):,}"


def model(subject: Subject) -> str:
    """Describe the model."""
    about = subject.model.info() if hasattr(subject.model, "info") else {}
    rows = [("model file", subject.model_name)]
    if subject.checksum:
        rows.append(("checksum", subject.checksum))
    rows += list(_flat(about))
    return table(("", ""), rows, text=[1])


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
                shortened(f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value), 300),
            )
