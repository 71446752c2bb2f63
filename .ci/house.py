"""Check the layout of the sources and their words: short files, few files a folder, functions that fit in the eye.

    python .ci/house.py

The words are those for which the field has a better one. Each pattern stands beside the word to use instead.
"""

from __future__ import annotations

import ast
import re
import statistics
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MOST_LINES, MOST_FILES = 500, 18
LONG_BODY, MOST_LONG, MEDIAN_BODY = 60, 3, 6
WORDS = {
    r"\bSaid\b|\b_?said\b|\bsays\b": "scores, predictions, or a plain verb",
    r"\bSpoken\b|\bspoken\b|\bspeaks?\b": "contribution",
    r"\bStandings?\b|\bstandings\b": "result",
    r"\b[Cc]ontests?\b": "search",
    r"\bKept[A-Z]\w*": "…Rows",
    r"\bStrength\b": "Regularization",
    r"\bRecipes?\b": "Pipeline",
    r"\b_?[Jj]udge[ds]?\b|\b_?[Jj]udging\b": "predict, evaluate",
    r"\btake_back\b": "forget",
    r"\b_?exchange[sd]?\(": "relabel",
    r"\bgives_up\b|\bgives up\b": "limitation",
    r"\blikeness\b": "similarity",
    r"\bA_LITTLE_MORE\b": "ROUNDING_MARGIN",
    r"\bpatience\b|\bPATIENCE\b": "cancel, timeout",
    r"\bclass (Desk|Trail|Turns|Pace|Rest|Glance|Lone|Seats|Stretch)\b": "a name for what it does",
    r'^ *"""(Give|Say)\b': "an imperative verb or Return",
    r"\bwidths?\b": "n_classes, n_columns, n_axes: what is counted",
    r"\b[Ss]o (many|much|often) (?!that)": "N, the most, this many",
    r"[Rr]ows left out": "held-out rows, leave-one-out",
    r"(?i)neighbour|colour|licence|centre|favour|behaviour|judgement|defence|vectoris|penalis|standardis|"
    r"normalis|minimis|maximis|optimis[ei]|generalis|regularis|tokenis|labelled|labelling|kernelis|initialis|summaris|"
    r"recognis|organis|characteris|serialis|customis|\banalyse\b|\blearnt\b|catalogue": "American spelling",
}
MESSAGES = {
    r"\bgives?\b|\bgave\b": "pass, set, use, return",
    r"(?i)\bthere (is|are) no (label|column|file|folder|model|encoding|such|data set)": "unknown, no such",
    r"(?i)\b(is|are) no (number|model|file|pair|word|classifier|label)s?\b": "is not a",
    r"\bnever learned: |\bstands? in\b|\bdecides? by\b|\bdo(es)? not fit\b|\bis not a sum\b": "plain words",
    r"\b(one|two|three|four) \w+ at least\b": "at least two …",
    r"(?i)\bwould be left\b|\bhas nothing for\b|\bin the order of time\b|\bfor nothing else\b": "plain words",
    r"(?i)\bthis picture\b|\bit takes a\b|\bnone that match|\bas many as rows\b|\bare not its\b": "plain words",
    r"(?i)\bcounts less beside\b|\bthe counts allow\b|\bleaving out up to\b|\bwhy one of (those|them)\b": "plain words",
    r"(?i)\bonly naive bayes can\b|\bsub-folder": "what is true: other models are sums too; subfolder",
    r"\bis given two\b|\bhas its share\b|\bwhat was there before\b|\bnone below 0\b": "plain words",
}
"""Patterns that no text shown to users has: strings of the package that are not docstrings."""
MEASURES = (
    "basis",
    "simulate",
    "inference",
    "kernel.py",
    "kernels/machines.py",
    "bins",
    "discreti",
    "cli",
    "analysis",
    "evaluation.py",
    "docs",
)
ALLOWED = {
    "width": (*MEASURES, "app.py"),  # of a density, a bin, a margin, a terminal, a picture
    "widths": MEASURES,
    "patience": ("perceptron", "descent"),  # early stopping, as scikit-learn calls it
}


def sources() -> list[Path]:
    """Return the files of the package and of the Rust core."""
    return sorted([*ROOT.glob("python/discern/**/*.py"), *ROOT.glob("rust/src/**/*.rs")])


def pages() -> list[Path]:
    """Return what users read."""
    made = ROOT / "docs" / "api", ROOT / "docs" / "course"
    found = [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]
    return [
        path for path in found if not any(folder in path.parents for folder in made) and "decisions" not in path.parts
    ]


def layout() -> list[str]:
    """Return what is wrong with sizes of files and folders."""
    found = [
        f"{path.relative_to(ROOT)} has {lines} lines; at most {MOST_LINES}"
        for path in [*sources(), *sorted(ROOT.glob("tests/**/*.py"))]
        if (lines := len(path.read_text("utf-8").splitlines())) > MOST_LINES
    ]
    for folder in sorted({path.parent for path in sources() if path.suffix == ".py"}):
        files = len(list(folder.glob("*.py")))
        if files > MOST_FILES + 1:  # __init__.py does not count
            found.append(f"{folder.relative_to(ROOT)} has {files} files; at most {MOST_FILES} and __init__.py")
    return found


def functions() -> list[str]:
    """Return what is wrong with the lengths of function bodies."""
    bodies: dict[str, int] = {}
    for path in sources():
        if path.suffix == ".py":
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    body = node.body[1:] if ast.get_docstring(node) else node.body
                    lines = body[-1].end_lineno - body[0].lineno + 1 if body else 0  # type: ignore[operator]
                    bodies[f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"] = lines
    long = [f"{name}: {lines} lines" for name, lines in bodies.items() if lines > LONG_BODY]
    found = (
        [] if len(long) <= MOST_LONG else [f"more than {MOST_LONG} functions have more than {LONG_BODY} lines", *long]
    )
    median = statistics.median(bodies.values())
    return found if median <= MEDIAN_BODY else [*found, f"the median of function bodies is {median} lines"]


def words() -> list[str]:
    """Return where a word stands that has a better one."""
    found = []
    for path in [*sources(), *pages()]:
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            for pattern, better in WORDS.items():
                match = re.search(pattern, line)
                if match and not any(part in str(path) for part in ALLOWED.get(match.group().lower(), ())):
                    found.append(f"{path.relative_to(ROOT)}:{number}: {match.group()!r}; use {better}")
    return found


def messages() -> list[str]:
    """Return where a text shown to users has a pattern that is not plain."""
    found = []
    for path in sources():
        for number, text in literals(path):
            for pattern, better in MESSAGES.items():
                if match := re.search(pattern, text):
                    found.append(f"{path.relative_to(ROOT)}:{number}: {match.group()!r} in a message; use {better}")
    return found


def literals(path: Path) -> list[tuple[int, str]]:
    """Return the strings of a file with their lines, without docstrings; of Rust those of errors."""
    text = path.read_text("utf-8")
    if path.suffix == ".rs":
        lines = enumerate(text.splitlines(), 1)
        return [(number, line) for number, line in lines if '"' in line and not line.lstrip().startswith("//")]
    nodes = list(ast.walk(ast.parse(text)))
    docs = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    strings = (node for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return [(node.lineno, str(node.value)) for node in strings if id(node) not in docs]


def main() -> int:
    """Print what is wrong."""
    found = [*layout(), *functions(), *words(), *messages()]
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
