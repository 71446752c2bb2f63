"""Random rows and settings for the state machines. Every row has strings of its own, to be looked for in files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from discern.data.roles import yes_or_no
from discern.learners.smoothing import Dirichlet, JelinekMercer, Laplace

Row = dict[str, Any]

SALT = "00112233445566778899aabbccddeeff"
WORDS = ("free", "prize", "lunch", "noon", "cash", "call", "ticket", "meeting", "report", "train", "garden", "music")
LEVELS = ("fr", "de", "it")
FLAGS = ("yes", "no", "1", "0", "true", "f", "", None)
LABELS = tuple(f"k{number:03d}v" for number in (11, 22, 33, 44))
"""All names of labels have one length: none is a part of another, and renaming can keep their order."""
EXPECTED = "k900v"
"""A label that given priors may name before a row has it."""
UNSURE = "unsure"
ROLES = {"words": "text", "kind": "category", "paid": "flag", "size": "number"}
ENOUGH = 100
"""From so many rows on, validation chooses what was not given."""


@dataclass
class Source:
    """Draws rows; the strings in ``own`` belong to one row, or to the rows of one label."""

    columns: tuple[str, ...]
    made: int = 0
    own: set[str] = field(default_factory=set)

    def rows(self, random: Random, count: int, labels: Iterable[str] = ()) -> list[Row]:
        """Draw rows of given labels, by default of some common ones and now and then of a new one."""
        names = list(labels) or [*LABELS, self.new_label(random)]
        return [self.row(random, random.choice(names)) for _ in range(count)]

    def row(self, random: Random, label: str) -> Row:
        """Draw a row of a label."""
        self.own.add(label)
        return {"label": label, **{name: getattr(self, name)(random) for name in self.columns}}

    def new_label(self, random: Random) -> str:
        """Return a label that has seldom been there."""
        return random.choice([EXPECTED, f"k{random.randrange(100, 900)}v"])

    def words(self, random: Random) -> str | None:
        """Draw a text, most often with a word that no other row has."""
        if random.random() < 0.05:
            return random.choice(["", None])
        drawn = random.choices(WORDS, k=random.randint(0, 5))
        return " ".join([*drawn, self._own("q")]) if random.random() < 0.7 else " ".join(drawn)

    def kind(self, random: Random) -> str | None:
        """Draw a level, sometimes one that no other row has."""
        return self._own("c") if random.random() < 0.15 else random.choice([*LEVELS, None, ""])

    def paid(self, random: Random) -> str | None:
        """Draw a flag."""
        return random.choice(FLAGS)

    def size(self, random: Random) -> float | None:
        """Draw a number of a moderate size, sometimes one far out or tiny."""
        if random.random() < 0.1:
            return random.choice([None, 1e8, -1e300, 3e-300, 5e-324])
        return random.randint(-8, 40) / 4

    def stranger(self, random: Random, label: str) -> Row:
        """Draw a row that was certainly never learned, by a word or level of its own."""
        row = self.row(random, label)
        name = "words" if "words" in self.columns else "kind"
        return {**row, name: self._own("q")}

    def _own(self, first: str) -> str:
        self.made += 1
        self.own.add(f"{first}{self.made:05d}z")
        return f"{first}{self.made:05d}z"


def own_strings(rows: Iterable[Row]) -> set[str]:
    """Return all words of all values of rows."""
    return {word for row in rows for value in row.values() if isinstance(value, str) for word in value.split()}


def key(row: Row) -> tuple[Any, ...]:
    """Return what tells rows apart: a missing value is left out, and a flag is yes or no however it is written."""
    same = {**row, "paid": yes_or_no(row.get("paid") or "")}
    return tuple(sorted((name, value) for name, value in same.items() if value not in (None, "")))


def draw_settings(random: Random) -> dict[str, Any]:
    """Draw the settings of a classifier: the arguments of :class:`discern.Classifier`."""
    event = random.choice(["naive-bayes", "multinomial", "binary", "bernoulli", "complement"])
    columns = [name for name in ROLES if random.random() < (0.85 if name == "words" else 0.35)] or ["words"]
    if random.random() < 0.3:
        return draw_space_settings(random, columns)
    return {
        "model": event,
        "smoothing": _smoothing(random, event),
        **{ROLES[name]: name for name in columns},
        "numbers": random.choice(["gaussian", "quantile", "uniform", "mdl", "auto"]),
        "priors": _priors(random),
        "min_df": random.choice([None, 1, 2, 3]),
        "ngrams": random.choice([None, (1, 1), (1, 2)]),
        "calibrate": random.choice(["auto", True, False]),
        "max_terms": random.choice([None, None, None, 3, 12]),
        "select": random.choice(["chi2", "mutual-information"]),
        "stem": None,
        "ledger": SALT if random.random() < 0.4 else False,
        "threads": 1,
    }


def draw_space_settings(random: Random, columns: Iterable[str]) -> dict[str, Any]:
    """Draw the settings of a classifier that is a sum over rows in a vector space."""
    model = random.choice(["lda", "qda", "ridge", "centroids"])
    return {
        "model": model,
        "smoothing": "auto",
        **{ROLES[name]: name for name in columns},
        "numbers": random.choice(["gaussian", "quantile", "uniform", "mdl", "auto"]),
        "priors": _priors(random) if model in ("lda", "qda") else "data",
        "min_df": random.choice([None, 1, 2, 3]),
        "ngrams": random.choice([None, (1, 1), (1, 2)]),
        "calibrate": random.choice(["auto", True, False]),
        "max_terms": random.choice([None, 3, 12]),
        "select": random.choice(["chi2", "mutual-information"]),
        "ledger": SALT if random.random() < 0.4 else False,
        "threads": 1,
    }


def _smoothing(random: Random, event: str) -> Any:
    smoothings: list[Any] = ["auto", 1.0, 0.25, Laplace(0.5)]
    if event in ("naive-bayes", "multinomial", "binary"):
        smoothings += [JelinekMercer(0.4), Dirichlet(50.0)]
    return random.choice(smoothings)


def _priors(random: Random) -> Any:
    named = [*random.sample(LABELS, random.randint(1, 4)), *random.sample([EXPECTED], random.randint(0, 1))]
    parts = [random.randint(1, 6) for _ in named]
    given = {label: part / sum(parts) for label, part in zip(named, parts, strict=True)}
    return random.choice(["data", "data", "uniform", given, given])


def columns_of(settings: dict[str, Any]) -> tuple[str, ...]:
    """Return the columns that settings name."""
    return tuple(name for name, role in ROLES.items() if settings.get(role) == name)
