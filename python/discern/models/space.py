"""Columns as one vector space: the terms of texts weighed, levels as zeros and ones, numbers standardised.

A missing value, and a term or level that was never learned, is zero on all its axes. Spaces are made from rows kept by
column (:class:`Columns`), so that a fold's space comes from the rows outside the fold without counting again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

import discern._native as _native
from discern.data.batch import Batch
from discern.data.roles import Feature, levels_of, numbers_of
from discern.data.strings import Strings
from discern.data.text import TextSettings
from discern.data.threads import default_threads
from discern.models.naive_bayes import float_array
from discern.models.rows import Sample
from discern.statistics.counts import check_terms
from discern.statistics.selection import Contingency, best, scores_alone
from discern.statistics.weighting import Weighting

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

TF_IDF = Weighting(sublinear_tf=True)
FARTHEST = 1e6
"""A number is taken to be at most so many standard deviations from the mean."""


# -------------------------------------------------------------------------------------------------- axes


@dataclass(frozen=True)
class TermAxes:
    """The terms of a text column: sublinear tf–idf of unit length, or with ``presence`` one for each term there.

    With ``unit`` these ones are divided by the square root of their number, so that they too have unit length.
    """

    feature: Feature
    text: TextSettings
    terms: Strings
    idf: Array | None
    presence: bool
    unit: bool = False

    @cached_property
    def vocabulary(self) -> _native.Vocabulary:
        """The terms as the native code looks them up."""
        return _native.Vocabulary(self.text.native, self.terms.offsets, self.terms.data)

    def __len__(self) -> int:
        return len(self.terms)

    def counted(self, batch: Batch, threads: int) -> tuple[Any, NDArray[np.int64]]:
        """Return how often each term occurs in each text, and how many terms of each are unknown."""
        found, unknown = self.vocabulary.rows(batch.texts(self.feature.name), threads)
        return sparse((found.counts, found.terms, found.starts), (batch.rows, len(self))), unknown

    def weighed(self, counts: Any) -> Any:
        """Turn counts into values on the axes."""
        if self.presence:
            there = np.diff(counts.indptr)
            values = np.repeat(1.0 / np.sqrt(np.maximum(there, 1)), there) if self.unit else np.ones(counts.nnz)
        else:
            values = TF_IDF.weigh(counts.indptr, counts.indices, counts.data, self.idf)
        return sparse((values, counts.indices, counts.indptr), counts.shape)

    def of_batch(self, batch: Batch, threads: int) -> tuple[Any, NDArray[np.int64], NDArray[np.int64]]:
        """Return the values of the rows of a batch, and how many terms of each are known and unknown."""
        counts, unknown = self.counted(batch, threads)
        ends = np.concatenate([[0], np.cumsum(counts.data)])
        return self.weighed(counts), np.diff(ends[counts.indptr]), unknown

    def name(self, place: int) -> str:
        """Return the name of an axis."""
        return self.terms[place]

    def spoken(self, place: int, batch: Batch) -> str:
        """Describe what the only row of a batch says on an axis."""
        return self.terms[place]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the axes as arrays, for the model file."""
        idf = {} if self.idf is None else {"idf": self.idf}
        return {"terms.offsets": self.terms.offsets, "terms.bytes": self.terms.data, **idf}


@dataclass(frozen=True)
class LevelAxes:
    """The levels of a category, a flag, or a number cut into bins: one for the row's level, zero for the others."""

    feature: Feature
    levels: tuple[str, ...]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {level: place for place, level in enumerate(self.levels)}

    def __len__(self) -> int:
        return len(self.levels)

    def of_levels(self, numbers: NDArray[np.int64], levels: Sequence[str]) -> Any:
        """Return the values of rows whose levels are numbers of places in a list, −1 where one is missing."""
        places = np.array([*(self._places.get(level, -1) for level in levels), -1], np.int64)[numbers]
        known = places >= 0
        ends = np.concatenate([[0], np.cumsum(known)])
        return sparse((np.ones(int(known.sum())), places[known], ends), (len(places), len(self)))

    def of_batch(self, batch: Batch, threads: int) -> tuple[Any, NDArray[np.int64], NDArray[np.int64]]:
        """Return the values of the rows of a batch, and how many levels of each are known and unknown."""
        numbers, levels = levels_of(batch, self.feature)
        matrix = self.of_levels(numbers, levels)
        known = np.diff(matrix.indptr)
        return matrix, known, (numbers >= 0) - known

    def name(self, place: int) -> str:
        """Return the name of an axis."""
        return f"{self.feature.name}={self.levels[place]}"

    def spoken(self, place: int, batch: Batch) -> str:
        """Describe what the only row of a batch says on an axis."""
        return self.levels[place]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the axes as arrays, for the model file."""
        names = Strings.of(self.levels)
        return {"levels.offsets": names.offsets, "levels.bytes": names.data}


@dataclass(frozen=True)
class NumberAxis:
    """A number in standard deviations from the mean."""

    feature: Feature
    mean: float
    scale: float

    def __len__(self) -> int:
        return 1

    def of_values(self, values: Array) -> Any:
        """Return the values of numbers, NaN where one is missing."""
        with np.errstate(over="ignore", invalid="ignore"):
            far = np.clip((values - self.mean) / self.scale, -FARTHEST, FARTHEST)
        known = np.isfinite(values) & (far != 0)
        ends = np.concatenate([[0], np.cumsum(known)])
        return sparse((far[known], np.zeros(int(known.sum()), np.int64), ends), (len(values), 1))

    def of_batch(self, batch: Batch, threads: int) -> tuple[Any, NDArray[np.int64], NDArray[np.int64]]:
        """Return the values of the rows of a batch, and how many numbers of each are known and unknown."""
        values = numbers_of(batch, self.feature.name)
        return self.of_values(values), np.isfinite(values).astype(np.int64), np.zeros(len(values), np.int64)

    def name(self, place: int) -> str:
        """Return the name of the axis."""
        return self.feature.name

    def spoken(self, place: int, batch: Batch) -> str:
        """Describe what the only row of a batch says."""
        return f"{numbers_of(batch, self.feature.name)[0]:.6g}"

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the axis as arrays, for the model file."""
        return {"place": np.array([self.mean, self.scale])}


Axes = TermAxes | LevelAxes | NumberAxis


def sparse(parts: Any, shape: tuple[int, int]) -> Any:
    """Return a sparse array of SciPy."""
    import scipy.sparse

    return scipy.sparse.csr_array(parts, shape=shape)


# ------------------------------------------------------------------------------------------------- the space


@dataclass(frozen=True)
class Space:
    """The axes of all columns, one after the other: immutable, shared by threads."""

    axes: tuple[Axes, ...]

    @property
    def width(self) -> int:
        """The number of axes."""
        return sum(map(len, self.axes))

    @property
    def terms(self) -> int:
        """The number of axes that are terms."""
        return sum(len(axes) for axes in self.axes if isinstance(axes, TermAxes))

    @property
    def has_text(self) -> bool:
        """Whether there is a text column."""
        return any(isinstance(axes, TermAxes) for axes in self.axes)

    def starts(self) -> Iterator[tuple[int, Axes]]:
        """Return the axes of each column with the place of the first."""
        place = 0
        for axes in self.axes:
            yield place, axes
            place += len(axes)

    def of_batch(self, batch: Batch, threads: int | None) -> tuple[Any, NDArray[np.int64], NDArray[np.int64]]:
        """Return the rows of a batch as a matrix, and how many terms and values of each are known and unknown."""
        parts = [axes.of_batch(batch, threads or default_threads()) for axes in self.axes]
        known, unknown = (np.sum([part[which] for part in parts], axis=0) for which in (1, 2))
        return joined([part[0] for part in parts]), known, unknown

    def counts(self, batch: Batch) -> dict[int, int]:
        """Return how often each term occurs in the only row of a batch, by the place of its axis."""
        found: dict[int, int] = {}
        for start, axes in self.starts():
            if isinstance(axes, TermAxes):
                counts, _ = axes.counted(batch, 1)
                found.update(zip((start + counts.indices).tolist(), counts.data.tolist(), strict=True))
        return found

    def axis(self, place: int) -> tuple[Axes, int]:
        """Return the axes of the column that an axis belongs to, and its place among them."""
        for start, axes in self.starts():
            if place < start + len(axes):
                return axes, place - start
        raise IndexError(f"there is no axis {place}")

    def renamed(self, rename: Callable[[Feature], Feature]) -> Space:
        """Return the space of columns with other names."""
        return Space(tuple(replace(axes, feature=rename(axes.feature)) for axes in self.axes))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the space as arrays, for the model file."""
        return {
            f"{number}.{name}": array for number, axes in enumerate(self.axes) for name, array in axes.arrays().items()
        }

    @classmethod
    def from_arrays(
        cls, plans: Sequence[Plan], features: Sequence[Feature], arrays: Mapping[str, NDArray[Any]]
    ) -> Space:
        """Make a space of what :meth:`arrays` gave; raises ValueError if it does not fit together."""
        axes = []
        parts = ((plan, feature, text) for plan in plans for feature, text in plan.parts(features))
        for number, (plan, feature, text) in enumerate(parts):
            begin = f"{number}."
            own = {name.removeprefix(begin): array for name, array in arrays.items() if name.startswith(begin)}
            axes.append(_axes_from_arrays(feature, text, plan, own))
        return cls(tuple(axes))


def joined(parts: Sequence[Any]) -> Any:
    """Put matrices side by side, columns in order."""
    import scipy.sparse

    matrix = parts[0] if len(parts) == 1 else scipy.sparse.hstack(parts, format="csr")
    matrix.sum_duplicates()
    return matrix


def _axes_from_arrays(feature: Feature, text: TextSettings | None, plan: Plan, arrays: dict[str, NDArray[Any]]) -> Axes:
    if feature.is_normal:
        place = arrays["place"]
        if place.dtype != np.float64 or place.shape != (2,) or not np.isfinite(place).all() or not place[1] > 0:
            raise ValueError("a number has no scale")
        return NumberAxis(feature, float(place[0]), float(place[1]))
    kind = "levels" if text is None else "terms"
    if arrays[f"{kind}.offsets"].dtype.kind not in "iu":
        raise ValueError(f"the {kind} do not fit their bytes")
    strings = Strings(arrays[f"{kind}.offsets"].astype(np.int64), arrays[f"{kind}.bytes"])
    check_terms(strings, is_sorted=text is not None)
    if text is None:
        levels = tuple(strings.to_list())
        if len(set(levels)) < len(levels):
            raise ValueError("a level is there twice")
        return LevelAxes(feature, levels)
    idf = None if plan.presence else float_array(arrays["idf"])
    if idf is not None and idf.shape != (len(strings),):
        raise ValueError("the weights do not fit the terms")
    return TermAxes(feature, text, strings, idf, plan.presence, plan.unit)


# --------------------------------------------------------------------------------------------- rows to a space


@dataclass(frozen=True)
class Plan:
    """How columns become axes.

    ``text`` are the settings that each text column is counted with, one after the other. Terms that fewer than
    ``min_df`` rows hold have no axis (if that leaves any), and of the others only the ``features`` best by ``select``.
    """

    text: tuple[TextSettings, ...]
    presence: bool = False
    min_df: int = 2
    features: int | None = None
    select: str = "chi2"
    unit: bool = False
    """Whether the ones of ``presence`` are divided by the square root of their number."""

    def parts(self, features: Sequence[Feature]) -> Iterator[tuple[Feature, TextSettings | None]]:
        """Return each column with the settings it is counted with, if it is text."""
        for feature in features:
            if feature.role == "text":
                yield from ((feature, text) for text in self.text)
            else:
                yield feature, None

    def to_json(self) -> dict[str, Any]:
        """Return the plan as plain values."""
        return {
            "text": [text.to_json() for text in self.text],
            "presence": self.presence,
            "min_df": self.min_df,
            "features": self.features,
            "select": self.select,
            **({"unit": True} if self.unit else {}),
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Plan:
        """Make a plan of what :meth:`to_json` gave."""
        features = values["features"]
        return cls(
            tuple(TextSettings.from_json(text) for text in values["text"]),
            bool(values["presence"]),
            int(values["min_df"]),
            None if features is None else int(features),
            str(values["select"]),
            bool(values.get("unit", False)),
        )


@dataclass(frozen=True)
class Fitted:
    """A space, the matrix of the rows it was made from, and which of the terms that are kept have an axis."""

    space: Space
    matrix: Any
    masks: tuple[NDArray[np.bool_] | None, ...]


@dataclass(frozen=True)
class Columns:
    """The columns of a sample, each row kept: counts of terms, numbers of levels, values."""

    sample: Sample
    features: tuple[Feature, ...]
    plan: Plan

    @cached_property
    def parts(self) -> list[Any]:
        """The columns, each as its role wants it."""
        return [self._part(feature, text) for feature, text in self.plan.parts(self.features)]

    def _part(self, feature: Feature, text: TextSettings | None) -> Any:
        if text is None:
            return self.sample.numbers(feature.name) if feature.is_normal else self.sample.levels(feature)
        kept = self.sample.text(feature.name, text)
        starts, terms, counts = kept.rows
        return sparse((counts, terms, starts), (len(starts) - 1, len(kept.terms)))

    def fitted(self, rows: NDArray[np.int64]) -> Fitted:
        """Make the space of some rows, by what is known of these rows alone."""
        taken = [_taken(part, rows) for part in self.parts]
        masks = self._masks(taken, self.sample.classes[rows])
        axes, matrices = [], []
        for (feature, text), part, mask in zip(self.plan.parts(self.features), taken, masks, strict=True):
            own, matrix = self._axes(feature, text, part, mask)
            axes.append(own)
            matrices.append(matrix)
        return Fitted(Space(tuple(axes)), joined(matrices), masks)

    def _axes(self, feature: Feature, text: TextSettings | None, part: Any, mask: Any) -> tuple[Axes, Any]:
        axes: Axes
        if text is not None:
            counts = with_columns(part, mask)
            documents = TF_IDF.documents(counts.indices, counts.shape[1])
            idf = None if self.plan.presence else TF_IDF.idf(documents, counts.shape[0])
            terms = self.sample.text(feature.name, text).terms.take(mask)
            axes = TermAxes(feature, text, terms, idf, idf is None, self.plan.unit)
            return axes, axes.weighed(counts)
        if feature.is_normal:
            axes = NumberAxis(feature, *_place(part))
            return axes, axes.of_values(part)
        numbers, levels = part
        seen = np.unique(numbers[numbers >= 0])
        axes = LevelAxes(feature, tuple(levels[number] for number in seen))
        return axes, axes.of_levels(numbers, levels)

    def _masks(self, parts: list[Any], classes: NDArray[np.int32]) -> tuple[NDArray[np.bool_] | None, ...]:
        """Return which terms have an axis: frequent enough, and among the best of all text columns."""
        masks = [frequent(part, self.plan.min_df) if hasattr(part, "indptr") else None for part in parts]
        if self.plan.features is None:
            return tuple(masks)
        labels = len(self.sample.labels)
        texts = [(part, mask) for part, mask in zip(parts, masks, strict=True) if mask is not None]
        scores = [self._scores(with_columns(part, mask), classes, labels) for part, mask in texts]
        chosen = best(np.concatenate([*scores, np.zeros(0)]), self.plan.features)
        for (_, mask), own in zip(texts, np.split(chosen, np.cumsum([len(one) for one in scores])), strict=False):
            mask[mask] = own
        return tuple(masks)

    def _scores(self, counts: Any, classes: NDArray[np.int32], labels: int) -> Array:
        table = Contingency.of_matrix(counts, classes, labels, presence=self.plan.select == "mutual_information")
        return scores_alone(table, self.plan.select)

    def seen_by(self, fitted: Fitted, rows: NDArray[np.int64]) -> Any:
        """Return some rows as a matrix in a space made from others."""
        matrices = []
        for axes, part, mask in zip(fitted.space.axes, self.parts, fitted.masks, strict=True):
            own = _taken(part, rows)
            if isinstance(axes, TermAxes):
                assert mask is not None
                matrices.append(axes.weighed(with_columns(own, mask)))
            else:
                matrices.append(axes.of_levels(*own) if isinstance(axes, LevelAxes) else axes.of_values(own))
        return joined(matrices)


def _taken(part: Any, rows: NDArray[np.int64]) -> Any:
    return (part.numbers[rows], part.levels) if hasattr(part, "levels") else part[rows]


def with_columns(counts: Any, mask: NDArray[np.bool_]) -> Any:
    """Return the columns of sparse rows where ``mask`` is true.

    Examples
    --------
    >>> with_columns(sparse(([2, 3], [0, 2], [0, 2]), (1, 3)), np.array([False, True, True])).toarray().tolist()
    [[0, 3]]
    """
    kept = mask[counts.indices]
    ends = np.concatenate([[0], np.cumsum(kept)])
    number = (np.cumsum(mask) - 1).astype(np.int32)
    parts = (counts.data[kept], number[counts.indices[kept]], ends[counts.indptr])
    return sparse(parts, (counts.shape[0], int(mask.sum())))


def frequent(counts: Any, least: int) -> NDArray[np.bool_]:
    """Return which terms at least so many rows hold; if none does, which there are.

    Examples
    --------
    >>> frequent(sparse(([2, 3, 1], [0, 1, 1], [0, 2, 3]), (2, 3)), 2).tolist()
    [False, True, False]
    """
    documents = TF_IDF.documents(counts.indices, counts.shape[1])
    found = documents >= least
    return np.asarray(found if found.any() else documents > 0)


def _place(values: Array) -> tuple[float, float]:
    """Return mean and standard deviation of the numbers that are there, of any size."""
    known = values[np.isfinite(values)]
    largest = float(np.abs(known).max(initial=0.0))
    if not largest:
        return 0.0, 1.0
    shares = known / largest
    mean, scale = float(shares.mean()), float(shares.std())
    return mean * largest, (scale if scale > 1e-12 * abs(mean) else 1.0) * largest
