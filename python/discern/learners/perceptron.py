"""Perceptron and Winnow: learners that see one row after another and move their weights on a mistake.

The result depends on the order in which rows are shown. With ``shuffle`` that order follows from the seed and from the
content of the rows, not from the order in which they were given: equal rows are pooled, sorted by a hash of their
content and shuffled anew in each epoch, so that the same rows in any order give the same weights to the last bit.
Without ``shuffle`` rows are shown as given. The order of batches always matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

import discern._native as _native
from discern.data.encode import each_column_once, native_table
from discern.data.threads import default_threads
from discern.learners.kernels.machines import Kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

NOTHING = np.zeros(0)


@dataclass(frozen=True)
class PerceptronRule:
    """On a mistake w ← w + rate·y·x. ``decay`` and ``truncation`` shrink the weights with each row (L2 and L1).

    The bias is the weight of a column whose number is √``bias_rate`` in every row.
    """

    rate: float = 1.0
    bias_rate: float = 1.0
    average: bool = False
    decay: float = 0.0
    truncation: float = 0.0

    @property
    def native(self) -> tuple[str, list[float]]:
        """The rule as the native code takes it."""
        numbers = (self.rate, self.bias_rate, self.average, self.decay, self.truncation)
        return ("perceptron", [float(number) for number in numbers])

    def start(self, n_features: int) -> State:
        """Return the state before the first row: all weights 0."""
        return State(np.zeros(n_features), 0.0, np.zeros(n_features) if self.average else NOTHING)

    def linear(self, state: State) -> tuple[Array, float]:
        """Return weights and bias of the score; averaged over all rows shown, if the rule averages."""
        if not self.average or not state.shown:
            return state.weights, state.bias
        return state.weights - state.second / state.shown, state.bias - state.second_bias / state.shown


@dataclass(frozen=True)
class WinnowRule:
    """Weights from 1, multiplied by ``factor`` on a missed positive, divided by it on a false positive."""

    factor: float = 2.0
    threshold: float = 1.0

    @property
    def native(self) -> tuple[str, list[float]]:
        """The rule as the native code takes it."""
        return ("winnow", [float(self.factor), float(self.threshold)])

    def start(self, n_features: int) -> State:
        """Return the state before the first row: all weights 1."""
        return State(np.ones(n_features), 0.0, NOTHING)

    def linear(self, state: State) -> tuple[Array, float]:
        """Return weights and bias of the score."""
        return state.weights, -self.threshold


@dataclass(frozen=True)
class BalancedWinnowRule:
    """Two weights a feature, w⁺ and w⁻, from 1, moved in opposite directions; the score is (w⁺ − w⁻)·x − threshold."""

    factor: float = 2.0
    threshold: float = 1.0
    fit_bias: bool = True

    @property
    def native(self) -> tuple[str, list[float]]:
        """The rule as the native code takes it."""
        return ("balanced-winnow", [float(self.factor), float(self.threshold), float(self.fit_bias)])

    def start(self, n_features: int) -> State:
        """Return the state before the first row: all weights 1."""
        both = float(self.fit_bias)  # a feature that every row has
        return State(np.ones(n_features), both, np.ones(n_features), both)

    def linear(self, state: State) -> tuple[Array, float]:
        """Return weights and bias of the score."""
        return state.weights - state.second, state.bias - state.second_bias - self.threshold


Rule = PerceptronRule | WinnowRule | BalancedWinnowRule


@dataclass(frozen=True)
class State:
    """The state of a learner: weights, a second set of them if the rule has one, and the number of rows shown."""

    weights: NDArray[np.float64]
    bias: float
    second: NDArray[np.float64] = field(default_factory=lambda: NOTHING)
    second_bias: float = 0.0
    shown: float = 0.0

    @property
    def native(self) -> tuple[Array, float, Array, float, float]:
        """The state as the native code takes it."""
        return (
            np.ascontiguousarray(self.weights, np.float64),
            float(self.bias),
            np.ascontiguousarray(self.second, np.float64),
            float(self.second_bias),
            float(self.shown),
        )


@dataclass(frozen=True)
class Outcome:
    """How the training of one learner went: updates up and down, epochs, the share of mistakes in the last epoch.

    ``converged``: it stopped without mistakes, with few enough, or because it no longer improved.
    """

    promotions: int
    demotions: int
    epochs: int
    error_share: float
    converged: bool

    @property
    def updates(self) -> int:
        """The number of mistakes that moved the weights."""
        return self.promotions + self.demotions


@dataclass(frozen=True)
class OnlineSettings:
    """The stopping rule and the order of the rows.

    Training stops after ``epochs``; after an epoch whose share of mistakes is at most ``error_share``; or when the loss
    of an epoch has not fallen by ``tolerance`` a row for ``patience`` epochs (never, if it is None).
    """

    epochs: int = 1000
    tolerance: float | None = 1e-3
    patience: int = 5
    error_share: float = 0.0
    shuffle: bool = True
    seed: int = 0

    @property
    def native(self) -> tuple[int, float, int, float, bool, int]:
        """The settings as the native code takes them."""
        tolerance = -np.inf if self.tolerance is None else float(self.tolerance)
        return (self.epochs, tolerance, self.patience, float(self.error_share), self.shuffle, self.seed)


@dataclass(frozen=True)
class Lesson:
    """Rows to learn: a table, the class number and the weight of each row; ``positives`` has the class of each learner.

    ``factors`` weigh the updates of each learner, for (other classes, its positive class).
    """

    table: Any
    classes: NDArray[Any]
    weights: NDArray[np.float64] | None
    positives: Sequence[int]
    factors: Sequence[tuple[float, float]]


def learn(
    lesson: Lesson, rule: Rule, states: Sequence[State], settings: OnlineSettings, threads: int | None = None
) -> list[tuple[State, Outcome]]:
    """Train one learner for each positive class against all others. Threads do not change the result.

    Examples
    --------
    >>> lesson = Lesson(np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0, 0, 0, 1]), None, [1], [(1.0, 1.0)])
    >>> rule = PerceptronRule(rate=0.1)
    >>> ((state, outcome),) = learn(lesson, rule, [rule.start(2)], OnlineSettings())
    >>> (lesson.table @ state.weights + state.bias > 0).tolist(), outcome.error_share
    ([False, False, False, True], 0.0)
    """
    return _learn(lesson, rule.native, None, states, settings, threads)


def learn_with_kernel(
    lesson: Lesson,
    rate: float,
    kernel: Kernel,
    scores: Sequence[NDArray[np.float64]],
    settings: OnlineSettings,
    threads: int | None = None,
) -> list[tuple[NDArray[np.float64], Outcome]]:
    """Train kernel perceptrons; ``scores`` are the scores of the rows by each learner at its start.

    Return the coefficient of each row for each learner.
    """
    states = [State(np.zeros(len(start)), 0.0, start) for start in scores]
    learned = _learn(lesson, ("kernel-perceptron", [float(rate)]), kernel, states, settings, threads)
    return [(state.weights, outcome) for state, outcome in learned]


def _learn(
    lesson: Lesson,
    rule: tuple[str, list[float]],
    kernel: Kernel | None,
    states: Sequence[State],
    settings: OnlineSettings,
    threads: int | None,
) -> list[tuple[State, Outcome]]:
    table = native_table(lesson.table, any_order=kernel is None, once=settings.shuffle)
    classes = np.ascontiguousarray(lesson.classes, np.int32)
    weights = np.ones(len(classes)) if lesson.weights is None else np.ascontiguousarray(lesson.weights, np.float64)
    learned = _native.learn_online(
        table,
        weights,
        classes,
        [int(positive) for positive in lesson.positives],
        [(float(others), float(own)) for others, own in lesson.factors],
        rule,
        None if kernel is None else kernel.native,
        settings.native,
        [state.native for state in states],
        threads or default_threads(),
    )
    if learned is None:  # some column comes twice in a row
        lesson = replace(lesson, table=each_column_once(lesson.table))
        return _learn(lesson, rule, kernel, states, settings, threads)
    return [(State(*state), Outcome(*counts)) for state, counts in learned]


def achieved_margin(scores: Array, signs: Array, norm: float) -> float:
    """Return the least distance of a row from the boundary; NaN if some row lies on the wrong side.

    Examples
    --------
    >>> achieved_margin(np.array([2.0, -4.0]), np.array([1.0, -1.0]), 2.0)
    1.0
    """
    least = float((scores * signs).min(initial=np.inf))
    return least / norm if least > 0 and norm > 0 else float("nan")


def novikoff_bound(longest: float, margin: Any) -> Any:
    """Return R²/γ²: a perceptron started from 0 makes no more mistakes on rows that are separable by γ (Novikoff 1962).

    ``longest`` is R = max ‖x′‖ with the bias folded in, ``margin`` that of any unit separator.

    Examples
    --------
    >>> novikoff_bound(2.0, 0.5)
    16.0
    """
    return (longest / margin) ** 2
