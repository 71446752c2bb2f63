"""The picture of a sweep: a row for each subject, a column for each kind of shape, colored by the geometric mean."""

import math
from typing import Any

from benchmarks.harness.pictures import FAINT, INK, OTHERS, document, text
from benchmarks.sweep.summary import compared, geometric_mean, kind, ratios, size

Row = dict[str, Any]
LEFT, TOP, STEP, CELL = 250, 130, 18, 36
SLOW, EVEN, FAST = (194, 87, 26), (244, 244, 240), (31, 95, 139)
FAR = math.log(20)
"""The ratio, up or down, at which a color is full."""
ORDER = ("tiny", "few columns", "medium", "tall", "many columns", "wide", "many classes", "sparse", "batches")


def color(ratio: float) -> str:
    """Return a color between slow and fast, on a logarithmic scale; 1 is pale."""
    share = max(-1.0, min(1.0, math.log(max(ratio, 1e-6)) / FAR))
    end = FAST if share > 0 else SLOW
    mixed = (round(even + (full - even) * abs(share) ** 0.7) for even, full in zip(EVEN, end, strict=True))
    return "#" + "".join(f"{value:02x}" for value in mixed)


def means(rows: list[Row]) -> dict[tuple[str, str], float]:
    """Return the geometric mean of each subject and operation on each kind of shape."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in compared(rows):
        subject = f"{row['subject'].split('(')[0]} {kind(row['operation'])}"
        found.setdefault((subject, size(row["shape"])), []).append(row)
    return {place: geometric_mean(ratios(cells)) for place, cells in found.items()}


def columns(places: dict[tuple[str, str], float]) -> list[str]:
    """Return the kinds of shapes, sizes first, then containers."""
    there = {column for _, column in places}
    return [name for name in ORDER if name in there] + sorted(there - set(ORDER))


def heatmap(rows: list[Row]) -> str:
    """Draw the picture as SVG: the same results give the same bytes."""
    places = means(rows)
    names, kinds = list(dict.fromkeys(name for name, _ in places)), columns(places)
    width, height = LEFT + CELL * len(kinds) + 30, TOP + STEP * len(names) + 24
    title = "Times faster than the peer, by operation and kind of shape"
    parts = [
        text(20, 26, title, 15, bold=True),
        text(20, 46, "Geometric means; blue: faster, orange: slower", 12, color=OTHERS),
    ]
    parts += [_slanted(LEFT + CELL * place + CELL / 2, TOP - 8, name) for place, name in enumerate(kinds)]
    for line, name in enumerate(names):
        y = TOP + STEP * line
        parts.append(text(LEFT - 8, y + 13, name, 11, "end"))
        shown = ((place, places.get((name, column))) for place, column in enumerate(kinds))
        parts += [part for place, ratio in shown if ratio is not None for part in _cell(LEFT + CELL * place, y, ratio)]
    return document(width, height, title, parts)


def _slanted(x: float, y: float, words: str) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" transform="rotate(-50 {x:.1f} {y:.1f})"'
    return f'<text {place} font-size="11" fill="{INK}">{words}</text>'


def _cell(x: float, y: float, ratio: float) -> list[str]:
    box = f'x="{x}" y="{y}" width="{CELL - 2}" height="{STEP - 2}" rx="2" fill="{color(ratio)}" stroke="{FAINT}"'
    shown = f"{ratio:.0f}" if ratio >= 9.95 else f"{ratio:.1f}" if ratio >= 0.95 else f"{ratio:.2f}"
    shade = "#ffffff" if abs(math.log(max(ratio, 1e-6))) > 1.6 else INK
    place = f'x="{x + CELL / 2 - 1:.1f}" y="{y + 12}" font-size="10" text-anchor="middle"'
    words = f'<text {place} fill="{shade}">{shown}</text>'
    return [f"<rect {box}/>", words]
