"""The pictures of the results, as SVG text: the same results give the same bytes; legible on light and dark pages."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.accuracy.scores import Point

OURS, SCIKIT_LEARN, OTHERS = "#1f5f8b", "#c2571a", "#5b6770"
INK, FAINT, PAPER = "#1c2328", "#d5dade", "#ffffff"
PEER = "scikit-learn"
CHARACTER = 0.6
"""The width of a letter as a share of the size of the font."""
HEAD = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
    'role="img" aria-label="{title}" font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif">'
)


def document(width: int, height: int, title: str, parts: list[str]) -> str:
    """A card of its own color: it looks the same whatever the page behind it."""
    head = HEAD.format(width=width, height=height, title=title)
    card = f'<rect width="{width}" height="{height}" rx="8" fill="{PAPER}" stroke="{FAINT}"/>'
    return "\n".join([head, f"<title>{title}</title>", card, *parts, "</svg>", ""])


def text(
    x: float, y: float, words: str, size: int = 12, anchor: str = "start", color: str = INK, bold: bool = False
) -> str:
    weight = ' font-weight="600"' if bold else ""
    escaped = words.replace("&", "&amp;").replace("<", "&lt;")
    place = f'x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"'
    # A rim of paper keeps words apart from lines behind them.
    rim = f'paint-order="stroke" stroke="{PAPER}" stroke-width="3" stroke-linejoin="round"'
    return f'<text {place} fill="{color}" {rim}{weight}>{escaped}</text>'


def line(x1: float, y1: float, x2: float, y2: float, color: str = FAINT) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}"/>'


# ------------------------------------------------------------------------------------------------------------- speed


def ratios(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Return how many times faster than scikit-learn each job is, fastest first; of several settings the fastest."""
    found: dict[str, float] = {}
    for row in rows:
        if row.get("kind") == "faster" and PEER in row["peer"] and row.get("figure") is not None:
            found[row["job"]] = min(row["figure"], found.get(row["job"], row["figure"]))
    return dict(sorted(found.items(), key=lambda pair: -pair[1]))


def speed(rows: list[dict[str, Any]], names: Mapping[str, str] | None = None) -> str:
    """Draw a bar for each job, on a logarithmic scale; with ``names`` only for the jobs it has, under these names."""
    shown = ratios(rows)
    if names is not None:
        shown = {names[job]: value for job, value in shown.items() if job in names}
    left, top, step, width = 190 if names is None else 330, 44, 19 if names is None else 25, 760
    height = top + step * len(shown) + 34
    bottom = top + step * len(shown) + 4
    most = max(10.0, 2.2 * max(shown.values(), default=1))

    def place(value: float) -> float:
        return left + (width - left - 20) * math.log(max(value, 1.0)) / math.log(most)

    parts = [text(20, 26, "Times faster than scikit-learn (CPU time, one thread)", 15, bold=True)]
    for tick in (tick for tick in (1, 3, 10, 30, 100, 300, 1000, 3000, 10_000) if tick < most):
        parts += [line(place(tick), top - 6, place(tick), bottom)]
        parts += [text(place(tick), bottom + 17, f"{tick:,}×", 11, "middle", OTHERS)]
    for number, (job, value) in enumerate(shown.items()):
        y = top + step * number
        shade = OURS if value >= 1 else SCIKIT_LEARN
        bar = (
            f'x="{left}" y="{y}" width="{max(place(value) - left, 1.5):.1f}" height="{step - 6}" rx="2" fill="{shade}"'
        )
        base, size = y + step / 2 + 1.5, 11 if names is None else 13
        parts += [text(left - 8, base, job, size, "end"), f"<rect {bar}/>"]
        parts += [text(place(value) + 6, base, f"{value:,.0f}×" if value >= 9.95 else f"{value:.1f}×", size)]
    return document(width, height, "Times faster than scikit-learn, job by job", parts)


# ---------------------------------------------------------------------------------------------------------- accuracy


@dataclass(frozen=True)
class Box:
    """A rectangle that something covers."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: "Box") -> bool:
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )


def frontier(points: list[Point]) -> list[Point]:
    """Return the methods that no other beats in both, the fastest first."""
    best: list[Point] = []
    for point in sorted(points, key=lambda point: (point.seconds, -point.accuracy)):
        if not best or point.accuracy > best[-1].accuracy:
            best.append(point)
    return best


def color(point: Point) -> str:
    return OURS if not point.peer else SCIKIT_LEARN if point.peer == PEER else OTHERS


def accuracy(points: list[Point]) -> str:
    """Draw mean accuracy against training time, with the line of those that nothing beats in both."""
    width, height, left, right, top, bottom = 760, 600, 64, 24, 66, 546
    seconds = [point.seconds for point in points] or [1.0]
    least, most = math.log10(min(seconds)) - 0.12, math.log10(max(seconds)) + 0.25
    values = [100 * point.accuracy for point in points] or [50.0]
    low, high = math.floor(min(values)) - 0.5, math.ceil(max(values)) + 0.5

    def x(value: float) -> float:
        return left + (width - left - right) * (math.log10(value) - least) / (most - least)

    def y(value: float) -> float:
        return bottom - (bottom - top) * (100 * value - low) / (high - low)

    title = "Mean accuracy against training time"
    parts = [text(20, 26, title, 15, bold=True), *_legend(20, 46), *_grid(x, y, least, most, low, high)]
    parts += _steps([(x(point.seconds), y(point.accuracy)) for point in frontier(points)], width - right)
    dots = [(x(point.seconds), y(point.accuracy), point) for point in points]
    parts += _labels(dots, Box(left, top, width - 6, bottom))
    parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="4.5" fill="{color(point)}"/>' for a, b, point in dots]
    parts += [text((left + width - right) / 2, height - 14, "CPU seconds of training (geometric mean)", 12, "middle")]
    return document(width, height, title, parts)


def _legend(x: float, y: float) -> list[str]:
    parts = []
    for words, shade in (("discern", OURS), (PEER, SCIKIT_LEARN), ("other peers", OTHERS)):
        parts += [f'<circle cx="{x + 5:.1f}" cy="{y - 4:.1f}" r="4.5" fill="{shade}"/>', text(x + 14, y, words, 12)]
        x += 34 + 12 * CHARACTER * len(words)
    return [*parts, text(x, y, "– – nothing is both faster and more accurate", 12, color=OTHERS)]


def _grid(x: Any, y: Any, least: float, most: float, low: float, high: float) -> list[str]:
    parts = []
    for tick in (step * 10.0**power for power in range(-3, 3) for step in (1, 3)):
        if least <= math.log10(tick) <= most:
            parts += [line(x(tick), y(low / 100), x(tick), y(high / 100))]
            parts += [text(x(tick), y(low / 100) + 17, f"{tick:g} s", 11, "middle", OTHERS)]
    spacing = 2 if high - low <= 20 else 5
    for percent in range(math.ceil(low / spacing) * spacing, int(high) + 1, spacing):
        parts += [line(x(10**least), y(percent / 100), x(10**most), y(percent / 100))]
        parts += [text(x(10**least) - 8, y(percent / 100) + 4, f"{percent}%", 11, "end", OTHERS)]
    return parts


def _steps(corners: list[tuple[float, float]], end: float) -> list[str]:
    if not corners:
        return []
    path = f"M{corners[0][0]:.1f} {corners[0][1]:.1f}"
    for a, b in corners[1:]:
        path += f" H{a:.1f} V{b:.1f}"
    return [f'<path d="{path} H{end:.1f}" fill="none" stroke="{OTHERS}" stroke-dasharray="4 4"/>']


FAR = 9
"""A label so far from its dot is tied to it by a line."""


def _labels(dots: list[tuple[float, float, Point]], inside: Box) -> list[str]:
    """Put each label beside its dot where it covers no other, if there is such a place."""
    taken = [Box(a - 5, b - 5, a + 5, b + 5) for a, b, _ in dots]
    parts = []
    for a, b, point in sorted(dots, key=lambda dot: bool(dot[2].peer)):
        wide = 11 * CHARACTER * len(point.method)
        places = [(a + 8, b + 4), (a - 8 - wide, b + 4)]
        places += [
            (a - wide / 2 + shift, b + rise)
            for step in range(9)
            for rise in (-9 - 12 * step, 17 + 12 * step)
            for shift in (0, wide / 2, -wide / 2)
        ]
        boxes = [Box(left, base - 10, left + wide, base + 2) for left, base in places]
        free = [box for box in boxes if not any(box.meets(other) for other in taken) and _within(box, inside)]
        box = (free or boxes)[0]
        taken.append(box)
        near = min(max(a, box.left), box.right), min(max(b, box.top), box.bottom)
        if math.dist(near, (a, b)) > FAR:
            parts.append(line(a, b, *near, color=color(point)))
        parts.append(text(box.left, box.bottom - 2, point.method, 11, color=color(point)))
    return parts


def _within(box: Box, outer: Box) -> bool:
    return box.left >= outer.left and box.right <= outer.right and box.top >= outer.top and box.bottom <= outer.bottom
