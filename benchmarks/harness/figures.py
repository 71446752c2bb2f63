"""The figures and pictures of README and site, written from the recorded results; figures stand between markers.

``python -m benchmarks`` writes them after recording, ``python -m benchmarks --figures`` alone; a test compares them.
"""

import json
import re
from pathlib import Path
from typing import Any

from benchmarks.accuracy.scores import DEFAULT, Scores
from benchmarks.harness import pictures
from benchmarks.harness.report import HERE, quantity

ROOT = HERE.parent
INDEX, PERFORMANCE = ROOT / "docs" / "index.md", ROOT / "docs" / "performance.md"
SPEED_PICTURE = ROOT / "docs" / "_static" / "speed.svg"
HEADLINES_PICTURE = ROOT / "docs" / "_static" / "speed-headlines.svg"
TABLES = ROOT / "docs" / "howto" / "tables.md"
ACCURACY_PICTURE = ROOT / "docs" / "_static" / "accuracy.svg"
HEADLINES = {
    "arrow-to-model": "Arrow column to naive Bayes",
    "csv-to-model": "CSV file to naive Bayes",
    "arrow-to-predictions": "Arrow column to labels",
    "one-message": "one message to its label",
    "count-vectorizer": "`CountVectorizer`",
    "tfidf-vectorizer": "`TfidfVectorizer`",
    "gaussian/fit": "`GaussianNB`, 1,000,000 × 20",
    "lda-fit": "`LinearDiscriminantAnalysis`, 1,000,000 × 20",
    "logistic-text": "`LogisticRegression` on text, equal objective",
    "margin/imdb": "`LinearSVC` on text, equal objective",
    "fasttext": "`NBSVM`, at least as accurate",
    "memory": "peak memory, CSV file to model",
}
"""The jobs that stand for all, and what they are about."""
LIMITS = ("physical", "csv-to-model", "scaling", "two-cores")
"""The jobs, or groups of them, that tell how near the limits are."""

COUNTED = ("pass", "miss", "wrong", "failed")
"""The statuses that count towards the goals; a fast answer that is wrong, or none, is a miss."""

Rows = list[dict[str, Any]]


def recorded() -> dict[str, Any]:
    return json.loads((HERE / "results.json").read_text(encoding="utf-8"))


# ------------------------------------------------------------------------------------------------------- fragments


def speed(results: dict[str, Any]) -> str:
    """Return the table of the headlines, how many goals are reached, and which jobs are not among the results."""
    rows: Rows = results["rows"]
    chosen = [row for name in HEADLINES for row in rows if row["job"] == name and row.get("theirs")]
    lines = ["| job | discern | peer | | |", "| --- | --- | --- | --- | --- |", *map(_headline, chosen)]
    return "\n".join([*lines, "", _verdict(rows) + _not_measured(results)])


def _not_measured(results: dict[str, Any]) -> str:
    known = {row["job"] for row in results["rows"]}
    missing = [name for name in results["jobs"] if name not in known]
    return f" Not among these results: {', '.join(missing)}." if missing else ""


def _headline(row: dict[str, Any]) -> str:
    ours, theirs = (quantity(row[side]["median"], row["unit"]) for side in ("ours", "theirs"))
    return f"| {HEADLINES[row['job']]} | {ours} | {row['peer']} | {theirs} | {times(row)} |"


def times(row: dict[str, Any]) -> str:
    if row["kind"] == "faster":
        return f"**{_round(row['figure'])}× faster**"
    return f"**{row['figure']:.2f} of it**"


def _round(value: float) -> str:
    return f"{value:,.0f}" if value >= 9.95 else f"{value:.1f}"


def _verdict(rows: Rows) -> str:
    counted = [row for row in rows if row["status"] in COUNTED and not row.get("informative", False)]
    missed = list(dict.fromkeys(row["job"] for row in counted if row["status"] != "pass"))
    reached = sum(row["status"] == "pass" for row in counted)
    rest = f"; missed: {', '.join(missed)}" if missed else ""
    return f"{reached} of {len(counted)} goals are reached{rest}. CPU time of one thread, medians."


def limits(rows: Rows) -> str:
    """Return what was measured against the limits of the machine, and how cost grows."""
    shown = [row for row in rows if row["job"].split("/")[0] in LIMITS and "ours" in row]
    lines = ["| measured | discern | reference | | ratio |", "| --- | --- | --- | --- | --- |"]
    return "\n".join([*lines, *map(_limit, shown)])


def _limit(row: dict[str, Any]) -> str:
    ours = quantity(row["ours"]["median"], row["unit"])
    theirs = quantity(row["theirs"]["median"], row["unit"]) if row["theirs"] else "—"
    if row["kind"] == "limit":
        ratio = f"goal: ≤ {quantity(row['goal'], row['unit'])}"
    else:
        ratio = f"{row['figure']:.3g}×" + (" faster" if row["kind"] == "faster" else "")
    return f"| {row['job']}: {row['about']} | {ours} | {row['peer'] or '—'} | {theirs} | {ratio} |"


def numbers(rows: Rows, scores: Scores) -> str:
    """Return the three figures of the landing page, as a list of the site."""
    raw = pictures.ratios(rows)["csv-to-model"]
    [memory] = [row for row in rows if row["job"] == "memory"]
    means = {point.method: f"{100 * point.accuracy:.1f}%" for point in scores.points()}
    cards = {
        f"{_round(raw)}×": "faster than pandas and scikit-learn from a CSV file to a naive Bayes model",
        f"{quantity(memory['ours']['median'], 'bytes')}": f"of memory for it, instead of "
        f"{quantity(memory['theirs']['median'], 'bytes')}",
        means[DEFAULT]: f"mean accuracy on {len(scores.compared()[1])} data sets with default settings; scikit-learn's "
        f"MultinomialNB has {means['MultinomialNB']}",
    }
    items = [f"<li><b>{figure}</b> {about}</li>" for figure, about in cards.items()]
    return "\n".join(['<ul class="numbers">', *items, "</ul>"])


# ------------------------------------------------------------------------------------------------------------ pages


def replaced(page: str, name: str, text: str) -> str:
    """Return a page with the text between the markers of that name."""
    pattern = rf"(<!-- {name}: [^\n]* -->\n).*?(<!-- end of {name} -->)"
    if not re.search(pattern, page, re.DOTALL):
        raise ValueError(f"the page has no markers of {name!r}")
    return re.sub(pattern, lambda found: f"{found[1]}\n{text}\n\n{found[2]}", page, flags=re.DOTALL)


def pages() -> dict[Path, str]:
    """Return every file that is made from the results, with its text."""
    results, scores = recorded(), Scores.recorded()
    rows = results["rows"]
    performance = replaced(PERFORMANCE.read_text("utf-8"), "speed", speed(results))
    performance = replaced(performance, "limits", limits(rows))
    performance = replaced(performance, "accuracy", scores.summary())
    return {
        INDEX: replaced(INDEX.read_text("utf-8"), "numbers", numbers(rows, scores)),
        PERFORMANCE: performance,
        TABLES: replaced(TABLES.read_text("utf-8"), "tables", scores.tables_summary()),
        HERE / "ACCURACY.md": scores.page(),
        SPEED_PICTURE: pictures.speed(rows),
        HEADLINES_PICTURE: pictures.speed(rows, {job: about.replace("`", "") for job, about in HEADLINES.items()}),
        ACCURACY_PICTURE: pictures.accuracy(scores.points()),
    }


def write() -> str:
    made = pages()
    for path, text in made.items():
        path.write_text(text, encoding="utf-8")
    return f"wrote {', '.join(str(path.relative_to(ROOT)) for path in made)}"
