"""What a kind of column can do, the same for texts, levels, numbers and vectors; see :class:`Kind`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discern.data.vectors.grid import COARSE, Grid
from discern.statistics.points import Block

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

    from numpy.typing import NDArray

    from discern.data.batch import Batch
    from discern.data.roles import Feature
    from discern.data.text import TextSettings
    from discern.learners.bayes import NaiveBayesSettings
    from discern.models.validation.rows import Folds, Sample
    from discern.models.vector_space.axes import Layout
    from discern.statistics.counts import Seen
    from discern.statistics.statistic import Statistic

    Array = NDArray[np.float64]
    Arrays = Mapping[str, NDArray[Any]]
    Mask = NDArray[np.bool_] | None
    NativeNumbers = tuple[Array, Array, Array] | tuple[list[float], Array, list[bool]]
    """Means, deviations and their logarithms by class; or inner edges, weights of bins × classes, and known bins."""

Contribution = tuple[str, int, float]
"""A term of a row, how often it is there, and its weight for one label against another."""


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of rows × classes, and how many terms of each row are known and unknown."""

    scores: Array
    known: NDArray[np.int64]
    unknown: NDArray[np.int64]

    def __add__(self, other: Scores) -> Scores:
        return Scores(self.scores + other.scores, self.known + other.known, self.unknown + other.unknown)


def total(parts: Sequence[Scores]) -> Scores:
    """Add scores of the same rows.

    Examples
    --------
    >>> one = Scores(np.array([[1.0, 2.0]]), np.array([1]), np.array([0]))
    >>> total([one, one, one]).scores.tolist()
    [[3.0, 6.0]]
    """
    return sum(parts[1:], start=parts[0])


@dataclass(frozen=True)
class Kind:
    """A kind of column: one class for each of the four things that are done with it.

    Its rows are summed batch by batch into a statistic (``sum``), kept for validation (``rows``), and from the
    statistic come the naive Bayes model of the column (``column``) and its axes in a vector space (``axes``).
    """

    sum: type[ColumnSum]
    rows: type[ColumnRows]
    column: type[Column]
    axes: type[Axes]


# ------------------------------------------------------------------------------------------------------ rows


class ColumnSum:
    """Adds up a column, batch by batch. ``seen`` has the labels of a batch before the batch is added."""

    summed: ClassVar[type[Statistic]]
    """What the column is summed into."""

    def __init__(self, feature: Feature, text: TextSettings, threads: int | None, seen: Seen) -> None:
        self.feature = feature
        self._total: Statistic | None = None
        self._n_classes = 0

    def of_batch(self, batch: Batch, classes: NDArray[np.int32], labels: list[str]) -> Statistic:
        """Return the statistic of a batch; row i has the label ``labels[classes[i]]``."""
        raise NotImplementedError

    def add(self, batch: Batch, classes: NDArray[np.int32], labels: list[str]) -> None:
        """Add a batch; its labels may be new."""
        new = self.of_batch(batch, classes, labels)
        if self._total is not None:
            new = self._total.with_classes(np.arange(self._n_classes), len(labels)) + new
        self._total, self._n_classes = new, len(labels)

    def statistic(self, order: NDArray[np.int64]) -> Statistic:
        """End the sum; ``order`` are the numbers of the labels in their order."""
        if self._total is None:
            return self.summed.empty()
        return self._total.with_classes(np.arange(self._n_classes), len(order)).of_classes(order)


class ColumnRows(ABC):
    """The rows of a column, kept in memory with their classes.

    They are asked for their sums, or stand for them where axes are laid out, which often takes less than the sums.
    """

    @classmethod
    @abstractmethod
    def of(cls, sample: Sample, feature: Feature, text: TextSettings) -> Self:
        """Take a column of a sample."""

    @abstractmethod
    def take(self, rows: NDArray[np.int64]) -> Self:
        """Return some of the rows."""

    @abstractmethod
    def sums(self) -> Statistic:
        """Return the statistic of the rows."""

    def without(self, folds: Folds) -> Iterator[Statistic]:
        """Return, for each fold, the statistic of all rows outside it."""
        total = self.sums()
        return (total.minus(self.take(fold).sums()) for fold in folds)

    @abstractmethod
    def sizes(self, presence: bool) -> NDArray[np.int64]:
        """Return how many terms each row has; with ``presence``, how many different ones."""

    @abstractmethod
    def scores(
        self, settings: NaiveBayesSettings, folds: Folds, min_df: int, threads: int
    ) -> tuple[Array, NDArray[Any]]:
        """Return the log likelihood of each row without its fold, and how many of its terms are known there."""


# ----------------------------------------------------------------------------------------------------- models


@dataclass(frozen=True)
class ColumnSettings:
    """What decides how columns are solved; a text alone begins its scores with ``start``, the log priors."""

    learner: NaiveBayesSettings
    text: TextSettings
    min_df: int = 1
    start: Array | None = None


@dataclass(frozen=True)
class Solved(ABC):
    """What a model knows of a column: immutable, shared by threads."""

    feature: Feature

    @property
    def text_settings(self) -> TextSettings | None:
        """How texts become terms, if this is text."""
        return None

    def choices(self) -> dict[str, Any]:
        """Return what a form can offer for the column: its ``levels``, or the ``range`` of most of its numbers.

        It holds no value of a single row: ranges come from rounded edges of bins, or from means and deviations.
        """
        return {}

    def ready(self) -> None:
        """Make now what the first answer would wait for, as far as it costs little."""
        return

    @abstractmethod
    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything as arrays, for the model file."""


@dataclass(frozen=True, eq=False)
class Column(Solved):
    """The naive Bayes model of a column; a missing or unknown value has a score of zero."""

    labels: tuple[str, ...]

    @classmethod
    @abstractmethod
    def solve(cls, feature: Feature, statistic: Any, labels: tuple[str, ...], settings: ColumnSettings) -> Self:
        """Derive the model from the statistic of the column."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, feature: Feature, labels: tuple[str, ...], arrays: Arrays, settings: ColumnSettings) -> Self:
        """Make the column from what :meth:`arrays` returned; raises ValueError if it does not fit together."""

    @abstractmethod
    def of_batch(self, batch: Batch, threads: int) -> Scores:
        """Score the rows of a batch."""

    @abstractmethod
    def of_rows(self, rows: Any) -> tuple[Array, NDArray[Any]]:
        """Score rows that were kept, and return how many terms of each are known."""

    def numbers(self) -> NativeNumbers | None:
        """Return how native code scores numbers beside others; None if it cannot, or these are no numbers."""
        return None

    def evidence(self, batch: Batch, label: int, against: int | None) -> tuple[list[Contribution], int]:
        """Return what each term of the only row contributes, and how many are unknown.

        Without ``against``, scores are log odds of each label, and what is returned is for the label alone.
        """
        found = self.of_batch(batch, 1)
        if not found.known[0]:
            return [], int(found.unknown[0])
        return [(self.value(batch), 1, float(difference(found.scores, label, against)[0]))], 0

    def value(self, batch: Batch) -> str:
        """Return the value of the only row in words."""
        raise NotImplementedError

    def log_coefficients(self, batch: Batch) -> Array:
        """Return the logarithm of the multinomial coefficient of each row, which no scores hold."""
        return np.zeros(batch.rows)

    def weights_of(self, place: int) -> tuple[Array, Array]:
        """Return the weights of all terms for one class, and summed over the classes; none without a list of terms."""
        return np.zeros(0), np.zeros(0)

    def documents(self, statistic: Any) -> Any:
        """Return how many rows of each class have each term: a sparse matrix; None without a list of terms."""
        return None

    def names(self, terms: NDArray[Any]) -> list[str]:
        """Return some terms in words."""
        return []

    @property
    def bias(self) -> Array:
        """The scores of a row that lacks all terms."""
        return np.zeros(len(self.labels))

    @property
    @abstractmethod
    def parameters(self) -> int:
        """The number of parameters for one class."""


def difference(scores: Array, label: int, against: int | None) -> Array:
    """Return the column of one label less that of another, if there is one to compare it with."""
    return np.asarray(scores[:, label] if against is None else scores[:, label] - scores[:, against])


# ------------------------------------------------------------------------------------------------------- axes


@dataclass(frozen=True)
class Axes(Solved):
    """The axes of a column in a vector space; a missing or unknown value is zero on all of them."""

    is_whole: ClassVar[bool] = False
    """Whether the axes mean nothing one by one: what they contribute is shown as a sum."""
    is_joined: ClassVar[bool] = False
    """Whether axes over several columns read them: those of numbers and categories."""
    is_measured: ClassVar[bool] = False
    """Whether they are axes of a number."""
    fine_bits: ClassVar[int] = 0
    """Where sums over rows are taken, values are rounded to this many binary digits after the point."""
    shrinkage: ClassVar[float] = 1.0
    """How many times more than others the axes are shrunken in models that are sums."""

    @classmethod
    def candidates(cls, column: Any, min_df: int) -> Mask:
        """Return which terms of a column may have an axis, to choose the best from; None if there is no choice."""
        return None

    @classmethod
    @abstractmethod
    def of(cls, feature: Feature, column: Any, mask: Mask, text: TextSettings | None, layout: Layout) -> Self:
        """Lay out the axes of a column by its statistic, or by rows that stand for it; ``mask`` are its terms."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, feature: Feature, arrays: Arrays, text: TextSettings | None, layout: Layout) -> Self:
        """Make the axes from what :meth:`arrays` returned; raises ValueError if they do not fit together."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def of_batch(self, batch: Batch, threads: int) -> tuple[Any, NDArray[np.int64], NDArray[np.int64]]:
        """Return the values of the rows of a batch, and how many terms of each are known and unknown."""

    @abstractmethod
    def of_rows(self, rows: Any, mask: Mask) -> Any:
        """Return the values of rows that were kept; ``mask`` are those of their terms that have an axis."""

    def of_learned_rows(self, rows: Any, mask: Mask) -> Any:
        """Return the values of the rows that the axes come from, to learn from."""
        return self.of_rows(rows, mask)

    @property
    def grid(self) -> Grid:
        """What values are rounded to where sums over rows are taken."""
        return Grid((0.0,) * len(self), (COARSE - self.fine_bits,) * len(self), COARSE)

    @property
    def units(self) -> Array:
        """What one is on each axis, as values are measured."""
        return np.ones(len(self))

    def block_of_batch(self, batch: Batch, threads: int) -> Block:
        """Return the rows of a batch as points that can be summed."""
        return Block(self.of_batch(batch, threads)[0], self.grid, self.units)

    def block_of_rows(self, rows: Any, mask: Mask) -> Block:
        """Return rows that were kept as points that can be summed."""
        return Block(self.of_rows(rows, mask), self.grid, self.units)

    @abstractmethod
    def name(self, place: int) -> str:
        """Return the name of an axis."""

    @abstractmethod
    def value(self, place: int, batch: Batch) -> str:
        """Return the value of the only row of a batch on an axis in words."""

    def counts(self, batch: Batch) -> dict[int, int]:
        """Return how often each term occurs in the only row of a batch, by the place of its axis."""
        return {}
