"""Validation without training again: a fold's model is the total minus the fold.

From one counting pass come the exact scores of every row under the model that never saw it. By them the smoothing, the
event model, the n-grams and the treatment of numbers are chosen (log loss after calibration: raw posteriors of naive
Bayes are too sure of themselves and mislead), and the calibration is fitted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

import discern._native as _native
from discern.bayes import (
    Dirichlet,
    JelinekMercer,
    Laplace,
    NaiveBayesSettings,
    Smoothing,
    log_priors,
    smoothing_to_json,
)
from discern.calibrate import Temperature
from discern.columns import Feature, levels_of, numbers_of
from discern.data import Batch, Strings
from discern.discretize import assign, edges
from discern.mixed import Said, level_alpha, log_level, log_normal, normal_parameters, solve_columns
from discern.statistics import Counts, Moments, Sums, default_threads
from discern.text import TextSettings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

FEW_VALIDATED, MOST_VALIDATED, MOST_FINALISTS = 1000, 4000, 5
"""So many rows are left out in turn to judge all candidates by, and to judge the last of them by; so many are last."""
LEAST_VALIDATED = 100
"""With fewer rows nothing is chosen and nothing calibrated: the choice would be chance."""
AS_GOOD = 1.005
"""Log losses within this factor are alike; then the share of right decisions counts."""
SOLVED_AGAIN, FOLDS = ("bernoulli", "complement"), 10
"""Event models whose every weight changes with a row left out: each fold is solved again, so there are few folds."""
CALIBRATION_FOLDS = 2
"""The calibration is fitted on so many folds. Rows to come are less like those learned than rows left out one by one,
which have near-duplicates there; halves have fewer."""
BINS = 10
"""Bins of a number that is cut without looking at the classes."""
SMOOTHINGS: tuple[Smoothing, ...] = (
    *(Laplace(alpha) for alpha in (1.0, 0.3, 0.1, 0.03, 0.01)),
    *(JelinekMercer(weight) for weight in (0.1, 0.2, 0.3, 0.5, 0.7, 0.9)),
    *(Dirichlet(mass) for mass in (100.0, 1000.0)),
)


@dataclass(frozen=True)
class Folds:
    """Which rows are left out together: the rows in ``order``, cut at ``ends``."""

    order: NDArray[np.int64]
    ends: NDArray[np.int64]

    @classmethod
    def one_by_one(cls, rows: NDArray[np.int64]) -> Folds:
        """Leave out each of some rows alone."""
        return cls(rows, np.arange(1, len(rows) + 1))

    @classmethod
    def of(cls, numbers: NDArray[Any]) -> Folds:
        """Leave out together the rows with the same number, from 0."""
        order = np.argsort(numbers, kind="stable").astype(np.int64)
        return cls(order, np.cumsum(np.bincount(numbers)).astype(np.int64))

    @property
    def are_single(self) -> bool:
        """Whether each row is left out alone."""
        return len(self.ends) == len(self.order)

    def __iter__(self) -> Iterator[NDArray[np.int64]]:
        return iter(np.split(self.order, self.ends[:-1]))

    @cached_property
    def numbers(self) -> NDArray[np.int64]:
        """The number of the fold of each row in ``order``."""
        return np.repeat(np.arange(len(self.ends)), np.diff(self.ends, prepend=0))


def stratified(classes: NDArray[Any], keys: NDArray[np.uint64], folds: int) -> Folds:
    """Deal the rows of each class into folds in turn; rows with the same key stay together.

    The keys decide the order, so that the folds do not depend on the order of the rows.
    """
    if not 2 <= folds <= len(classes):
        raise ValueError(f"there must be from 2 to {len(classes)} folds, as many as rows, not {folds}")
    order = np.lexsort((keys, classes))
    sorted_keys, sorted_classes = keys[order], classes[order]
    new = (sorted_keys[1:] != sorted_keys[:-1]) | (sorted_classes[1:] != sorted_classes[:-1])
    numbers = np.concatenate([[0], np.cumsum(new)]) % folds
    narrow = numbers.astype(np.uint16) if folds <= 1 << 16 else numbers  # is sorted by its digits
    ends = np.cumsum(np.bincount(numbers)).astype(np.int64)
    return Folds(order[np.argsort(narrow, kind="stable")].astype(np.int64), ends)


# ------------------------------------------------------------------------------------------ columns kept by row


@dataclass(frozen=True)
class KeptText:
    """A text column, its rows kept as counts of terms."""

    terms: Strings
    rows: tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]
    classes: NDArray[np.int32]
    labels: tuple[str, ...]

    @classmethod
    def of(
        cls, texts: Sequence[Any], text: TextSettings, classes: NDArray[np.int32], labels: tuple[str, ...]
    ) -> KeptText:
        """Count the terms of each row of several batches."""
        counter, place = _native.Counter(text.native, keep_rows=True), 0
        for part, rows in texts:
            own = np.ascontiguousarray(classes[place : place + rows])
            counter.add(part, own, max(len(labels), 1), default_threads())
            place += rows
        drained = counter.drain()
        rows = drained.rows
        return cls(Strings(drained.offsets, drained.bytes), (rows.starts, rows.terms, rows.counts), classes, labels)

    @cached_property
    def held_out(self) -> _native.HeldOut:
        """The rows and their sums as the native code leaves them out."""
        return _native.HeldOut(*self.rows, len(self.terms), self.classes, max(len(self.labels), 1))

    def single_words(self) -> KeptText:
        """Give the rows without n-grams of several words."""
        spaces = np.concatenate([[0], np.cumsum(self.terms.data == ord(" "))])
        keep = spaces[self.terms.offsets[1:]] == spaces[self.terms.offsets[:-1]]
        starts, terms, counts = self.rows
        kept = keep[terms]
        ends = np.concatenate([[0], np.cumsum(kept)])
        number = (np.cumsum(keep) - 1).astype(np.int32)
        rows = (ends[starts], number[terms[kept]], counts[kept])
        return KeptText(self.terms.take(keep), rows, self.classes, self.labels)

    def sums(self) -> Counts:
        """Give the counts of all rows."""
        terms, classes, occurrences, documents = self.held_out.entries()
        class_documents = np.bincount(self.classes, minlength=len(self.labels)).astype(np.int64)
        used = np.zeros(len(self.terms), bool)
        used[terms] = True
        counts = Counts(self.labels, class_documents, self.terms, terms, classes, occurrences, documents)
        return counts if used.all() else counts.with_terms(used)

    def scores(self, settings: NaiveBayesSettings, folds: Folds, min_df: int, threads: int) -> tuple[Array, Array]:
        """Give the log likelihood of each row without its fold, and its length."""
        described = smoothing_to_json(settings.smoothing)
        kind, (value,) = described.pop("kind"), described.values()
        return self.held_out.scores(kind, value, settings.presence, max(min_df, 1), folds.order, folds.ends, threads)


@dataclass(frozen=True)
class KeptLevels:
    """A column of levels, the level of each row kept as a number, −1 where it is missing."""

    numbers: NDArray[np.int64]
    levels: tuple[str, ...]
    classes: NDArray[np.int32]
    labels: tuple[str, ...]
    least: int = 0
    """So many levels there are at least, whether seen or not."""
    lasting: bool = False
    """Whether a level that no row has left is still a level, as a bin is."""

    def sums(self) -> Counts:
        """Give the counts of all rows."""
        return Counts.of_levels(self.numbers, self.levels, self.classes, self.labels)

    def scores(self, alpha: float, folds: Folds) -> tuple[Array, NDArray[np.bool_]]:
        """Give the log likelihood of each row without its fold, and whether its level is neither missing nor new."""
        width = len(self.labels)
        total = np.zeros((len(self.levels) + 1, width))  # the last is the place of what is missing
        present = self.numbers >= 0
        np.add.at(total, (self.numbers[present], self.classes[present]), 1.0)
        if folds.are_single:
            return self._one_by_one(total, alpha, folds.order)
        parts = []
        for fold in folds:
            left = total.copy()
            mine = fold[self.numbers[fold] >= 0]
            np.subtract.at(left, (self.numbers[mine], self.classes[mine]), 1.0)
            seen = left.sum(axis=1) > 0
            weights = log_level(left, left.sum(axis=0), max(int(seen.sum()), self.least), alpha)
            known = self._known(self.numbers[fold], seen[self.numbers[fold]])
            parts.append((np.where(known[:, None], weights[self.numbers[fold]], 0.0), known))
        scores, knowns = zip(*parts, strict=True)
        return np.concatenate(scores), np.concatenate(knowns)

    def _known(self, numbers: NDArray[np.int64], seen: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return (numbers >= 0) & (seen | self.lasting)

    def _one_by_one(self, total: Array, alpha: float, rows: NDArray[np.int64]) -> tuple[Array, NDArray[np.bool_]]:
        numbers, classes = self.numbers[rows], self.classes[rows]
        own = np.zeros((len(rows), total.shape[1]))
        own[np.arange(len(rows)), classes] = numbers >= 0
        of_level = total.sum(axis=1)
        gone = of_level[numbers] == 1
        size = np.maximum((of_level > 0).sum() - gone, self.least)
        said = log_level(total[numbers] - own, total.sum(axis=0) - own, size[:, None], alpha)
        known = self._known(numbers, ~gone)
        return np.where(known[:, None], said, 0.0), known


@dataclass(frozen=True)
class KeptNumbers:
    """A column of numbers with normal densities, NaN where one is missing."""

    values: Array
    classes: NDArray[np.int32]
    width: int

    def sums(self) -> Moments:
        """Give the moments of all rows."""
        return Moments.of(self.values[:, None], self.classes, self.width, None, 1)

    def scores(self, folds: Folds) -> tuple[Array, NDArray[np.bool_]]:
        """Give the log density of each row without its fold, and whether its number is there."""
        means, variances = normal_parameters(self.without(folds))
        values = self.values[folds.order][:, None]
        known = np.isfinite(values)
        said = log_normal(np.where(known, values, 0.0), means[:, folds.numbers].T, variances[:, folds.numbers].T)
        return np.where(known, said, 0.0), known.ravel()

    def without(self, folds: Folds) -> Moments:
        """Give the moments of all rows but a fold's, a column a fold.

        They are not subtracted but added, those before a fold to those behind it: what little variance is left of a
        class without its outlier would drown in the rounding of a difference.
        """
        pivot = self.sums().pivot
        order, numbers = folds.order, folds.numbers
        rest = np.setdiff1d(np.arange(len(self.values)), order)
        steps = np.where(np.isnan(self.values), 0.0, self.values - pivot)
        sums = []
        for values in (~np.isnan(self.values)).astype(np.float64), steps, steps**2:
            within = np.zeros((self.width, len(folds.ends)))
            np.add.at(within, (self.classes[order], numbers), values[order])
            others = np.bincount(self.classes[rest], values[rest], self.width)[:, None]
            before, behind = np.zeros_like(within), np.zeros_like(within)
            np.cumsum(within[:, :-1], axis=1, out=before[:, 1:])
            np.cumsum(within[:, :0:-1], axis=1, out=behind[:, -2::-1])
            sums.append(others + before + behind)
        return Moments(np.repeat(pivot, len(folds.ends)), *sums)


Kept = KeptText | KeptLevels | KeptNumbers


@dataclass
class Sample:
    """Rows kept to validate by, with their classes; in the order of their keys, so that no other order matters."""

    batches: list[Batch]
    label: str
    keys: NDArray[np.uint64]
    classes: NDArray[np.int32]
    labels: tuple[str, ...]
    threads: int | None = None
    _texts: dict[tuple[str, TextSettings], KeptText] = field(default_factory=dict)

    @classmethod
    def of(cls, batches: list[Batch], label: str, names: Sequence[str], threads: int | None) -> Sample:
        """Take batches whose columns ``names`` tell rows apart."""
        keys, numbers, places = [], [], dict[str, int]()
        for batch in batches:
            own, labels = batch.labels(label)
            mapping = np.array([places.setdefault(name, len(places)) for name in labels], np.int32)
            numbers.append(mapping[own] if len(mapping) else own)
            keys.append(row_keys(batch, [label, *names]))
        order = sorted(places)
        rank = np.empty(len(order), np.int32)
        rank[[places[name] for name in order]] = np.arange(len(order), dtype=np.int32)
        classes = rank[np.concatenate(numbers)] if numbers else np.zeros(0, np.int32)
        return cls(batches, label, np.concatenate(keys), np.ascontiguousarray(classes), tuple(order), threads)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.classes)

    def part(self, rows: int) -> Sample:
        """Give a random part of so many rows: those with the smallest keys."""
        if rows >= self.rows:
            return self
        keep = np.zeros(self.rows, bool)
        keep[np.argsort(self.keys, kind="stable")[:rows]] = True
        starts = np.cumsum([0, *(batch.rows for batch in self.batches)])
        taken = [
            batch.take(keep[start : start + batch.rows])
            for batch, start in zip(self.batches, starts[:-1].tolist(), strict=True)
        ]
        present, classes = np.unique(self.classes[keep], return_inverse=True)
        labels = tuple(self.labels[place] for place in present)
        return Sample(taken, self.label, self.keys[keep], classes.astype(np.int32), labels, self.threads)

    def left_out(self, most: int = MOST_VALIDATED) -> Folds:
        """Give rows to be left out one by one: all, or a random part of them, in the order of their keys."""
        return Folds.one_by_one(np.argsort(self.keys, kind="stable")[:most].astype(np.int64))

    def text(self, name: str, settings: TextSettings) -> KeptText:
        """Give a text column with the terms of its rows counted, once for each of the settings."""
        key = (name, settings)
        if key not in self._texts:
            longer = (name, replace(settings, ngrams=(1, 2)))
            if settings.ngrams == (1, 1) and longer in self._texts and settings.analyzer == "word":
                self._texts[key] = self._texts[longer].single_words()
            else:
                parts = [(batch.texts(name), batch.rows) for batch in self.batches]
                self._texts[key] = KeptText.of(parts, settings, self.classes, self.labels)
        return self._texts[key]

    def keep_only(self, settings: Sequence[TextSettings]) -> None:
        """Let go of the rows counted with other settings."""
        self._texts = {key: kept for key, kept in self._texts.items() if key[1] in settings}

    def levels(self, feature: Feature) -> KeptLevels:
        """Give a column of levels."""
        places: dict[str, int] = {}
        parts = []
        for batch in self.batches:
            numbers, levels = levels_of(batch, feature)
            mapping = np.array([*(places.setdefault(level, len(places)) for level in levels), -1], np.int64)
            parts.append(mapping[numbers])
        least = len(feature.bins()) if feature.is_binned else 2 if feature.role == "flag" else 0
        if feature.is_binned:
            places = {name: place for place, name in enumerate(feature.bins())}
            parts = [assign(self.numbers(feature.name), np.asarray(feature.edges))]
        return KeptLevels(np.concatenate(parts), tuple(places), self.classes, self.labels, least, feature.is_binned)

    def numbers(self, name: str) -> Array:
        """Give a column of numbers."""
        return np.concatenate([numbers_of(batch, name) for batch in self.batches])

    def kept(self, feature: Feature, text: TextSettings) -> Kept:
        """Give a column as its role wants it."""
        if feature.role == "text":
            return self.text(feature.name, text)
        if feature.is_normal:
            return KeptNumbers(self.numbers(feature.name), self.classes, len(self.labels))
        return self.levels(feature)

    def sums(self, features: Sequence[Feature], text: TextSettings) -> Sums:
        """Give the sums of all rows."""
        class_rows = np.bincount(self.classes, minlength=len(self.labels)).astype(np.int64)
        return Sums(self.labels, class_rows, tuple(self.kept(feature, text).sums() for feature in features))


def row_keys(batch: Batch, names: Sequence[str]) -> NDArray[np.uint64]:
    """Give a number for each row by which rows that differ are told apart, the same wherever the row stands."""
    keys = np.zeros(batch.rows, np.uint64)
    for name in names:
        if name in batch.columns:
            keys = keys * np.uint64(0x9E3779B97F4A7C15) + _native.row_hashes(batch.texts(name))
    return keys


# ------------------------------------------------------------------------------------------------- scores


@dataclass(frozen=True)
class Choice:
    """What validation chose, and how good it is on rows left out."""

    settings: NaiveBayesSettings
    text: TextSettings
    features: tuple[Feature, ...]
    calibration: Temperature | None = None
    log_loss: float = float("nan")
    accuracy: float = float("nan")

    def to_json(self) -> dict[str, Any]:
        """Give what was chosen in plain values."""
        return {
            "event": self.settings.event,
            "smoothing": smoothing_to_json(self.settings.smoothing),
            "ngrams": list(self.text.ngrams),
            "numbers": {
                feature.name: "gaussian" if feature.is_normal else f"{len(feature.bins())} bins"
                for feature in self.features
                if feature.role == "number"
            },
            "log_loss": self.log_loss,
            "accuracy": self.accuracy,
        }


def held_out(
    sample: Sample,
    features: Sequence[Feature],
    settings: NaiveBayesSettings,
    text: TextSettings,
    folds: Folds,
    min_df: int = 1,
) -> Said:
    """Score rows under the model of all rows but their fold's: exactly as if trained again."""
    if settings.event in SOLVED_AGAIN and any(feature.role == "text" for feature in features):
        return _trained_again(sample, features, settings, text, folds, min_df)
    threads = sample.threads or default_threads()
    scores = _held_out_priors(sample, settings, folds)
    lengths = np.zeros(len(folds.order))
    said: Array
    known: NDArray[Any]
    for feature in features:
        kept = sample.kept(feature, text)
        if isinstance(kept, KeptText):
            said, known = kept.scores(settings, folds, min_df, threads)
        elif isinstance(kept, KeptLevels):
            said, known = kept.scores(level_alpha(settings), folds)
        else:
            said, known = kept.scores(folds)
        scores, lengths = scores + said, lengths + known
    return Said(scores, lengths.astype(np.int64), np.zeros(len(lengths), np.int64))


def _held_out_priors(sample: Sample, settings: NaiveBayesSettings, folds: Folds) -> Array:
    """Give the log prior of each row's fold; a class that is wholly left out has none."""
    width = len(sample.labels)
    total = np.bincount(sample.classes, minlength=width)
    removed = np.zeros((len(folds.ends), width), np.int64)
    np.add.at(removed, (folds.numbers, sample.classes[folds.order]), 1)
    left = total - removed
    with np.errstate(divide="ignore"):
        if settings.priors == "data":
            priors = np.log(left) - np.log(np.maximum(left.sum(axis=1, keepdims=True), 1))
        else:
            priors = np.where(left > 0, log_priors(sample.labels, total, settings.priors), -np.inf)
    return np.asarray(priors[folds.numbers])


def _trained_again(
    sample: Sample,
    features: Sequence[Feature],
    settings: NaiveBayesSettings,
    text: TextSettings,
    folds: Folds,
    min_df: int,
) -> Said:
    """Do the same by solving each fold's sums: for event models that change with every row left out."""
    kept = [sample.kept(feature, text) for feature in features]
    total = sample.sums(features, text)
    normal = [column.without(folds) if isinstance(column, KeptNumbers) else None for column in kept]
    parts = []
    for number, fold in enumerate(folds):
        left = _with_moments(total - _sums_of(sample, kept, fold), normal, number, sample.labels)
        model = solve_columns(left, features, settings, text, min_df)
        places = [sample.labels.index(label) for label in model.labels]
        wide = np.full((len(fold), len(sample.labels)), -np.inf)
        said = model.of_batch(_rows(sample, fold), sample.threads)
        wide[:, places] = said.scores
        parts.append(Said(wide, said.known, said.unknown))
    return Said(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("scores", "known", "unknown")))


def _with_moments(sums: Sums, normal: Sequence[Moments | None], fold: int, labels: tuple[str, ...]) -> Sums:
    """Put the moments without a fold in the place of those that were subtracted."""
    places = np.array([labels.index(label) for label in sums.labels], np.int64)
    columns = (
        column if moments is None else moments.of_column(fold).of_classes(places)
        for column, moments in zip(sums.columns, normal, strict=True)
    )
    return replace(sums, columns=tuple(columns))


def _sums_of(sample: Sample, kept: Sequence[Kept], rows: NDArray[np.int64]) -> Sums:
    """Give the sums of some rows."""
    classes = np.ascontiguousarray(sample.classes[rows])
    class_rows = np.bincount(classes, minlength=len(sample.labels)).astype(np.int64)
    used = np.flatnonzero(class_rows)
    labels = tuple(sample.labels[place] for place in used)
    columns: list[Counts | Moments] = []
    for column in kept:
        if isinstance(column, KeptText):
            columns.append(_text_sums(column, rows, classes))
        elif isinstance(column, KeptLevels):
            columns.append(Counts.of_levels(column.numbers[rows], column.levels, classes, sample.labels))
        else:
            moments = Moments.of(column.values[rows][:, None], classes, column.width, None, 1)
            columns.append(moments.of_classes(used))
    return Sums(labels, class_rows[used], tuple(columns))


def _text_sums(column: KeptText, rows: NDArray[np.int64], classes: NDArray[np.int32]) -> Counts:
    starts, terms, counts = column.rows
    lengths = np.diff(starts)[rows]
    places = np.repeat(starts[:-1][rows] - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
    ends = np.concatenate([[0], np.cumsum(lengths)])
    part = KeptText(column.terms, (ends, terms[places], counts[places]), classes, column.labels).sums()
    used = part.class_documents > 0
    number = np.cumsum(used) - 1
    labels = tuple(label for label, keep in zip(part.labels, used, strict=True) if keep)
    return Counts(
        labels,
        part.class_documents[used],
        part.terms,
        part.entry_terms,
        number[part.entry_classes],
        part.occurrences,
        part.documents,
    )


def _rows(sample: Sample, rows: NDArray[np.int64]) -> Batch:
    """Give some rows of the sample as one batch, in that order."""
    starts = np.cumsum([0, *(batch.rows for batch in sample.batches)])
    names = list(sample.batches[0].columns)
    columns: dict[str, list[Any]] = {name: [] for name in names}
    for row in rows.tolist():
        place = int(np.searchsorted(starts, row, side="right")) - 1
        one = sample.batches[place].row(row - int(starts[place]))
        for name in names:
            columns[name].append(one[name])
    return Batch(columns, len(rows))


# ------------------------------------------------------------------------------------------------- choosing


def judge(sample: Sample, choice: Choice, folds: Folds, min_df: int) -> Choice:
    """Fit the calibration of a choice and say how good it then is on rows left out."""
    said = held_out(sample, choice.features, choice.settings, choice.text, folds, min_df)
    classes = sample.classes[folds.order]
    finite = np.where(np.isneginf(said.scores), -1e300, said.scores)
    calibration = Temperature.fit(said.scores, classes, said.known if np.ptp(said.known) else None)
    probabilities = calibration(finite, said.known)
    right = np.maximum(probabilities[np.arange(len(classes)), classes], 1e-12)
    return replace(
        choice,
        calibration=calibration,
        log_loss=float(-np.log(right).mean()),
        accuracy=float((finite.argmax(axis=1) == classes).mean()),
    )


def best(choices: Sequence[Choice]) -> Choice:
    """Give the choice with the most right decisions among those with nearly the least log loss."""
    least = min(choice.log_loss for choice in choices)
    alike = [choice for choice in choices if choice.log_loss <= AS_GOOD * least]
    return max(alike, key=lambda choice: choice.accuracy)


def choose(
    sample: Sample,
    start: Choice,
    min_df: int,
    *,
    smoothings: Sequence[Smoothing] = SMOOTHINGS,
    events: Sequence[str] = (),
    ngrams: Sequence[tuple[int, int]] = (),
    numbers: Sequence[str] = (),
) -> Choice:
    """Choose by leaving out rows one by one: the treatment of numbers, event model and smoothing, then n-grams.

    Every candidate is calibrated before it is judged: all of them on few rows, the best of them on more.
    """
    has_text = any(feature.role == "text" for feature in start.features)
    candidates = smoothings if has_text else [one for one in smoothings if isinstance(one, Laplace)]
    few, many = sample.left_out(FEW_VALIDATED), sample.left_out()
    if has_text and start.settings.event in SOLVED_AGAIN:
        few = many = stratified(sample.classes, sample.keys, min(FOLDS, sample.rows))

    def ranked(choices: Sequence[Choice], folds: Folds) -> list[Choice]:
        return sorted((judge(sample, one, folds, min_df) for one in choices), key=lambda one: one.log_loss)

    found = start
    if numbers and any(feature.role == "number" for feature in start.features):
        ways = [replace(start, features=with_numbers(sample, start.features, way)) for way in numbers]
        found = best(ranked(ways, few)) if len(ways) > 1 else ways[0]
    if ngrams and has_text:
        found = replace(found, text=replace(found.text, ngrams=max(ngrams)))
    tried = [_changed(found, event, one) for event in (events if has_text else ()) for one in candidates]
    tried = tried or [_changed(found, found.settings.event, one) for one in candidates] or [found]
    found = best(ranked(ranked(tried, few)[:MOST_FINALISTS], many))
    for span in ngrams if has_text else ():
        if span != found.text.ngrams:
            near = _near(found.settings.smoothing, candidates)
            other = replace(found, text=replace(found.text, ngrams=span))
            found = best([found, *ranked([_changed(other, other.settings.event, one) for one in near], many)])
    final = judge(sample, found, stratified(sample.classes, sample.keys, CALIBRATION_FOLDS), min_df)
    return replace(found, calibration=final.calibration)


def _changed(choice: Choice, event: str, smoothing: Smoothing) -> Choice:
    return replace(choice, settings=replace(choice.settings, event=event, smoothing=smoothing))


def _near(smoothing: Smoothing, candidates: Sequence[Smoothing]) -> list[Smoothing]:
    """Give a smoothing with its neighbours of the same kind."""
    kind = [other for other in candidates if type(other) is type(smoothing)]
    if smoothing not in kind:
        return [smoothing] if kind or not candidates else []
    place = kind.index(smoothing)
    return kind[max(place - 1, 0) : place + 2]


def with_numbers(sample: Sample, features: Sequence[Feature], way: str) -> tuple[Feature, ...]:
    """Give all numbers their bins, or none."""
    return tuple(
        cut(feature, sample.numbers(feature.name), sample.classes, way) if feature.role == "number" else feature
        for feature in features
    )


def cut(feature: Feature, values: Array, classes: NDArray[Any], way: str) -> Feature:
    """Give a number its bins, or none if it shall have normal densities."""
    if way == "gaussian":
        return replace(feature, edges=None)
    return replace(feature, edges=tuple(edges(values, classes, way, BINS).tolist()))
