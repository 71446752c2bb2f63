"""Calibration of each label: its log odds times a slope plus an offset, both close to those of all labels.

What a label needs beside the calibration of all is fitted to held-out rows. A label that few rows have keeps nearly a
slope of one and an offset of zero: with a normal prior on both, it moves away from them only as far as rows show.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

CLOSE = np.array([16.0, 4.0])
"""The precision of the prior of slopes and of offsets: 1 / variance."""
STEPS, ENOUGH = 25, 1e-6
LIMITS = (0.1, 10.0), (-20.0, 20.0)
"""The least and the greatest slope and offset."""


def probabilities(log_odds: Array) -> Array:
    """Return the probabilities of log odds.

    Examples
    --------
    >>> probabilities(np.array([0.0, -800.0, 800.0])).tolist()
    [0.5, 0.0, 1.0]
    """
    from scipy.special import expit

    return np.asarray(expit(log_odds))


def softplus(values: Array, small: Array | None = None) -> Array:
    """Return log(1 + exp(x)); ``small``, exp(−|x|), if it is known already.

    Examples
    --------
    >>> softplus(np.array([0.0, -800.0, 800.0])).round(4).tolist()
    [0.6931, 0.0, 800.0]
    """
    small = np.exp(-np.abs(values)) if small is None else small
    return np.asarray(np.maximum(values, 0.0) + np.log(1.0 + small))


@dataclass(frozen=True)
class LabelScaling:
    """The slopes and the offsets of some labels; others have 1 and 0.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> odds = random.normal(size=(2000, 2))
    >>> truth = random.random((2000, 2)) < probabilities(odds * [1.0, 2.0] + [0.0, 1.0])
    >>> [round(slope, 1) for slope, _ in LabelScaling.fit(odds, truth, "ab").lines]
    [1.0, 1.9]
    """

    labels: tuple[str, ...] = ()
    lines: tuple[tuple[float, float], ...] = ()
    common: tuple[float, float] = (1.0, 0.0)
    """The slope and the offset of all labels, before those of each."""

    def __post_init__(self) -> None:
        if not (1e-9 <= self.common[0] <= 1e9 and abs(self.common[1]) <= 1e9):
            raise ValueError("the slope or the offset of all labels is out of bounds")
        if len(self.labels) != len(self.lines) or len(set(self.labels)) < len(self.labels):
            raise ValueError("the labels do not match their slopes and offsets")
        found = np.array(self.lines, np.float64).reshape(-1, 2)
        low, high = np.array(LIMITS).T
        if not bool(np.all((found >= low) & (found <= high))):
            raise ValueError("a slope or an offset of a label is out of bounds")

    @classmethod
    def fit(cls, scores: Array, truth: NDArray[Any], labels: Sequence[str], common: bool = False) -> LabelScaling:
        """Maximize the likelihood of held-out rows and of the prior, by Newton's method for all labels at once.

        Scores are log odds; or with ``common``, numbers that grow with them, for which the line of all labels is fitted
        first.
        """
        whole = line_of_all(scores, truth) if common and scores.size else (1.0, 0.0)
        log_odds = scores * whole[0] + whole[1]
        lines = np.tile([1.0, 0.0], (len(labels), 1))
        true = truth.astype(np.float64)
        odds = np.clip(log_odds, -50.0, 50.0)
        if len(odds):
            lines = _most_likely(lines, odds, true)
        return cls(tuple(labels), tuple((float(slope), float(offset)) for slope, offset in lines.tolist()), whole)

    def of(self, labels: Sequence[str]) -> Array:
        """Return the slopes and the offsets of labels: two rows."""
        known = dict(zip(self.labels, self.lines, strict=True))
        slopes, offsets = np.array([known.get(label, (1.0, 0.0)) for label in labels], np.float64).reshape(-1, 2).T
        return np.stack([slopes * self.common[0], slopes * self.common[1] + offsets])

    def __call__(self, log_odds: Array, labels: Sequence[str]) -> Array:
        """Return the log odds of rows × labels, scaled."""
        slopes, offsets = self.of(labels)
        return np.asarray(log_odds * slopes + offsets)

    def without(self, gone: Container[str]) -> LabelScaling:
        """Return the scaling without a trace of some labels."""
        kept = [(label, line) for label, line in zip(self.labels, self.lines, strict=True) if label not in gone]
        return replace(self, labels=tuple(label for label, _ in kept), lines=tuple(line for _, line in kept))

    def renamed(self, new: Mapping[str, str]) -> LabelScaling:
        """Return the scaling of labels with other names."""
        return replace(self, labels=tuple(new.get(label, label) for label in self.labels))

    def to_json(self) -> dict[str, Any]:
        """Return the scaling as plain values."""
        return {"labels": list(self.labels), "lines": [list(line) for line in self.lines], "common": list(self.common)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> LabelScaling:
        """Return the scaling that :meth:`to_json` returned; raises ValueError if it is invalid."""
        lines = tuple((float(slope), float(offset)) for slope, offset in values["lines"])
        slope, offset = map(float, values["common"])
        return cls(tuple(map(str, values["labels"])), lines, (slope, offset))


def _most_likely(lines: Array, odds: Array, true: Array) -> Array:
    """Improve the slope and the offset of each label by Newton's method; a step that would make it worse is halved."""
    low, high = np.array(LIMITS).T
    loss, step = _expanded(lines, odds, true)
    factor = np.ones(len(lines))
    for _ in range(STEPS):
        tried = np.clip(lines - factor[:, None] * step, low, high)
        less, next_step = _expanded(tried, odds, true)
        better = less <= loss
        if np.abs(np.where(better[:, None], tried - lines, step)).max(initial=0.0) < ENOUGH:
            break
        lines, loss = np.where(better[:, None], tried, lines), np.where(better, less, loss)
        step = np.where(better[:, None], next_step, step)
        factor = np.where(better, np.minimum(2.0 * factor, 1.0), factor / 2.0)
    return lines


def _expanded(lines: Array, odds: Array, true: Array) -> tuple[Array, Array]:
    """Return the loss of each label, with what its line is away from that of all, and the step of Newton's method."""
    scaled = odds * lines[:, 0] + lines[:, 1]
    small = np.exp(-np.abs(scaled))
    loss = (softplus(scaled, small) - true * scaled).sum(axis=0)
    chances = np.where(scaled >= 0, 1.0, small) / (1.0 + small)
    wrong, spread = chances - true, chances * (1.0 - chances)
    away = CLOSE * (lines - [1.0, 0.0])
    gradient = np.stack([np.einsum("ij,ij->j", wrong, odds), wrong.sum(axis=0)], axis=1) + away
    weighted = spread * odds
    curvature = np.empty((len(lines), 2, 2))
    curvature[:, 0, 0] = np.einsum("ij,ij->j", weighted, odds) + CLOSE[0]
    curvature[:, 1, 1] = spread.sum(axis=0) + CLOSE[1]
    curvature[:, 0, 1] = curvature[:, 1, 0] = weighted.sum(axis=0)
    step = np.linalg.solve(curvature, gradient[:, :, None])[:, :, 0]
    return np.asarray(loss + 0.5 * (away * (lines - [1.0, 0.0])).sum(axis=1)), np.asarray(step)


def loss_of(lines: Array, odds: Array, true: Array) -> Array:
    """Return the log loss of each label, and what its line is away from that of all."""
    return _expanded(lines, odds, true)[0]


def line_of_all(scores: Array, truth: NDArray[Any]) -> tuple[float, float]:
    """Return the slope and the offset by which the scores of all labels have the least log loss.

    One decision in as many as there are is counted as wrong, so that scores that are always right do not become
    certainty.
    """
    unit, size = float(scores.std()) or 1.0, scores.size
    odds, line = np.clip(scores / unit, -50.0, 50.0), np.array([1.0, 0.0])
    true = np.where(truth, 1.0 - 1.0 / (size + 2.0), 1.0 / (size + 2.0))
    for _ in range(2 * STEPS):
        chances = probabilities(odds * line[0] + line[1])
        wrong, spread = chances - true, chances * (1.0 - chances)
        gradient = np.array([np.vdot(wrong, odds), wrong.sum()]) / size + 1e-9 * line
        weighted = spread * odds
        mixed = float(weighted.sum())
        curvature = np.array([[float(np.vdot(weighted, odds)), mixed], [mixed, float(spread.sum())]]) / size
        step = np.clip(np.linalg.solve(curvature + 1e-9 * np.eye(2), gradient), -1.0, 1.0)
        line = line - step
        if np.abs(step).max() < ENOUGH:
            break
    return float(np.clip(line[0] / unit, 1e-9, 1e9)), float(np.clip(line[1], -1e9, 1e9))
