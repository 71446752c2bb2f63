"""From probabilities to decisions: the most probable label, a threshold, costs, "unsure", new class priors."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.evaluation.curves import Ranking
from discern.evaluation.significance import Interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FEW_COLUMNS = 16
"""Up to this number, columns are compared one after the other, which is faster than row by row."""


def best_labels(probabilities: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Return the column of the highest probability of each row, the first of equal ones, and that probability."""
    if probabilities.shape[1] > FEW_COLUMNS:
        places = probabilities.argmax(axis=1)
        return places, probabilities[np.arange(len(places)), places]
    places, highest = np.zeros(len(probabilities), np.int64), probabilities[:, 0].copy()
    for column in range(1, probabilities.shape[1]):
        better = probabilities[:, column] > highest
        places[better] = column
        np.maximum(highest, probabilities[:, column], out=highest)
    return places, highest


@dataclass(frozen=True)
class Decision:
    """How the probabilities of labels become a label. Frozen, plain, and saved as JSON with a model.

    Make one with :meth:`argmax`, :meth:`at` or :meth:`of_costs`; call it with probabilities, a row for each thing to
    decide on, and the labels of their columns. A label that the costs do not name costs 1 when it is mistaken; one that
    the weights do not name has the weight 1.

    Examples
    --------
    >>> shares = np.array([[0.7, 0.3], [0.95, 0.05]])
    >>> Decision.at(0.2, "spam")(shares, ["ham", "spam"]).tolist()
    ['spam', 'ham']
    >>> costly = Decision.of_costs([[0, 5], [1, 0]], ["ham", "spam"], unsure=0.3)
    >>> costly(np.array([[0.6, 0.4], [0.05, 0.95], [0.99, 0.01]]), ["ham", "spam"]).tolist()
    ['unsure', 'spam', 'ham']
    >>> Decision.from_json(costly.to_json()) == costly
    True
    """

    labels: tuple[Any, ...] = ()
    """The labels that ``costs`` and ``weights`` are for."""
    costs: tuple[tuple[float, ...], ...] | None = None
    """``costs[i][j]``: the cost of predicting ``labels[j]`` for a row of ``labels[i]``."""
    threshold: float | None = None
    positive: Any = None
    """The label that is predicted from ``threshold`` on."""
    unsure: float | None = None
    """The cost of answering "unsure"; None if that is not an answer."""
    unsure_label: str = "unsure"
    weights: tuple[float, ...] | None = None
    """The factor of the probability of each of ``labels``: new prior over old prior."""
    max_false_alarms: float | None = None
    """Answer "unsure" for rows whose novelty is above 1 minus this share of rows like those in training."""

    def __post_init__(self) -> None:
        size = len(self.labels)
        if len(set(self.labels)) < size:
            raise ValueError("the labels of a decision must be distinct")
        if not size and (self.costs is not None or self.weights is not None):
            raise ValueError("costs and weights need labels")
        if self.costs is not None and (
            len(self.costs) != size or any(len(row) != size for row in self.costs) or not np.isfinite(self.costs).all()
        ):
            raise ValueError(f"the costs must be a table of {size} rows and columns of numbers, one for each label")
        if self.threshold is not None and (self.positive is None or not self.threshold >= 0):
            raise ValueError("a threshold is a number of at least 0 and needs the label that it is for")
        if self.unsure is not None and (not np.isfinite(self.unsure) or self.threshold is not None):
            raise ValueError('the cost of "unsure" must be a number, and cannot be combined with a threshold')
        if self.max_false_alarms is not None and not 0 < self.max_false_alarms < 1:
            raise ValueError(f"max_false_alarms must be a share between 0 and 1, not {self.max_false_alarms!r}")
        if self.may_be_unsure and self.unsure_label in self.labels:
            raise ValueError(f"{self.unsure_label!r} is a label already; choose another word for unsure")
        if self.weights is not None and (
            len(self.weights) != size or not np.isfinite(self.weights).all() or min(self.weights) < 0
        ):
            raise ValueError("pass a weight of at least 0 for each label")

    # ------------------------------------------------------------------------------------------ ways to make one

    @classmethod
    def argmax(cls, unsure: float | None = None) -> Decision:
        """Return the most probable label; with ``unsure`` at a cost, where a wrong label costs 1."""
        return cls(unsure=unsure)

    @classmethod
    def at(cls, threshold: float, positive: Any) -> Decision:
        """Return ``positive`` where its probability is at least ``threshold``, else the most probable other label."""
        return cls(threshold=float(threshold), positive=positive)

    @classmethod
    def of_costs(cls, costs: Any, labels: Sequence[Any], unsure: float | None = None) -> Decision:
        """Return the label of least expected cost: Σ_k P(k|x) costs[k][label]. Equal ones: the first label."""
        table = tuple(tuple(map(float, row)) for row in costs)
        return cls(labels=tuple(_plain(label) for label in labels), costs=table, unsure=unsure)

    def with_priors(self, trained: Mapping[Any, float], new: Mapping[Any, float]) -> Decision:
        """Return the same decision for class priors that differ from those of the training data."""
        labels = self.labels or tuple(sorted(trained, key=str))
        if set(labels) != set(trained) or set(trained) != set(new):
            raise ValueError("the old and the new priors must be of the same labels, those of the decision")
        if min(trained.values()) <= 0 or min(new.values()) < 0:
            raise ValueError("the old priors must be above 0, and the new ones at least 0")
        return replace(self, labels=labels, weights=tuple(float(new[label] / trained[label]) for label in labels))

    # ------------------------------------------------------------------------------------- labels come and go

    def defaults(self, labels: Iterable[Any]) -> list[Any]:
        """Return the labels that have no cost or weight of their own: their costs are 1, their weights 1."""
        named = self.costs is not None or self.weights is not None
        return [label for label in labels if named and label not in self.labels]

    def for_labels(self, labels: Sequence[Any], gone: Container[Any] = ()) -> Decision | None:
        """Return the decision for a model of these labels, without a trace of those that are ``gone``.

        None stands for the most probable label. Raises ValueError if the decision no longer makes sense: if its
        threshold is for a label that is gone, or its word for unsure is a label now.

        Examples
        --------
        >>> costs = Decision.of_costs([[0, 5], [1, 0]], ["ham", "spam"])
        >>> costs.for_labels(["ham", "news"], gone=["spam"]).labels
        ('ham',)
        """
        if self.threshold is not None and self.positive not in labels:
            raise ValueError(
                f"the decision has a threshold for the label {self.positive!r}, which would be gone; clear it first "
                "(discern decide --clear, or decide_by(None))"
            )
        if self.may_be_unsure and self.unsure_label in labels:
            raise ValueError(
                f"the decision answers {self.unsure_label!r} when it is unsure, so no label can have that name; clear "
                "it first (discern decide --clear, or decide_by(None)) or use another label"
            )
        kept = [place for place, label in enumerate(self.labels) if label not in gone]
        if len(kept) == len(self.labels):
            return self
        left = replace(
            self,
            labels=tuple(self.labels[place] for place in kept),
            costs=_rows_and_columns(self.costs, kept) if kept else None,
            weights=tuple(self.weights[place] for place in kept) if self.weights is not None and kept else None,
        )
        return None if left == Decision() else left

    @property
    def named(self) -> list[Any]:
        """The labels that the decision names."""
        return [*self.labels, *([] if self.positive is None else [self.positive])]

    def renamed(self, new: Mapping[Any, Any]) -> Decision:
        """Return the decision for labels with other names."""
        labels = tuple(new.get(label, label) for label in self.labels)
        return replace(self, labels=labels, positive=new.get(self.positive, self.positive))

    # ------------------------------------------------------------------------------------------------- deciding

    @property
    def may_be_unsure(self) -> bool:
        """Whether "unsure" is an answer."""
        return self.unsure is not None or self.max_false_alarms is not None

    def __call__(self, probabilities: Any, labels: Any, novelty: Any = None) -> NDArray[Any]:
        """Return the label of each row; ``novelty`` is needed by a decision with ``max_false_alarms``."""
        shares, names = np.asarray(probabilities, np.float64), [_plain(label) for label in labels]
        if shares.ndim != 2 or shares.shape[1] != len(names):
            raise ValueError(f"probabilities of shape {shares.shape} do not match {len(names)} labels")
        given = labels if isinstance(labels, np.ndarray) else np.asarray(list(labels))
        choices = given if not self.may_be_unsure else np.array([*names, self.unsure_label], object)
        if not len(shares):
            return choices[:0]
        places = self._places(self.adjusted(shares, names), names)
        if self.max_false_alarms is not None and novelty is not None:
            places = np.where(np.asarray(novelty) > 1.0 - self.max_false_alarms, len(names), places)
        return choices[places]

    def adjusted(self, shares: Floats, names: Sequence[Any]) -> Floats:
        """Return the probabilities under the new class priors."""
        if self.weights is None:
            return shares
        weights = dict(zip(self.labels, self.weights, strict=True))
        weighted = shares * np.array([weights.get(name, 1.0) for name in names])
        totals = weighted.sum(axis=1, keepdims=True)
        return np.where(totals > 0, weighted / np.where(totals > 0, totals, 1.0), shares)

    def _places(self, shares: Floats, names: list[Any]) -> NDArray[np.int64]:
        if self.threshold is not None:
            return self._beyond_threshold(shares, names, self.threshold)
        if self.costs is None and self.unsure is None:
            return best_labels(shares)[0]
        return best_labels(self._gains(shares, names))[0]

    def _gains(self, shares: Floats, names: list[Any]) -> Floats:
        """Return what each decision is expected to save against the most expensive one.

        With 0–1 costs this is the probability itself, to the last bit, so that they decide as argmax does.
        """
        table = 1.0 - np.eye(len(names)) if self.costs is None else self._cost_table(names)
        highest = table.max(axis=1)
        gains = shares @ (highest[:, None] - table)
        if self.unsure is None:
            return np.asarray(gains)
        return np.column_stack([gains, shares @ highest - self.unsure])

    def _cost_table(self, names: list[Any]) -> Floats:
        """Return the costs of these labels; those that the decision does not name cost 1 when they are mistaken."""
        known = [place for place, name in enumerate(names) if name in self.labels]
        order = [self.labels.index(names[place]) for place in known]
        table = 1.0 - np.eye(len(names))
        table[np.ix_(known, known)] = np.array(self.costs, np.float64)[np.ix_(order, order)]
        return table

    def _beyond_threshold(self, shares: Floats, names: list[Any], threshold: float) -> NDArray[np.int64]:
        if self.positive not in names:
            raise ValueError(f"unknown label {self.positive!r} to compare with the threshold")
        place = names.index(self.positive)
        beyond = shares[:, place] >= threshold
        if len(names) == 1:
            return np.zeros(len(shares), np.int64)
        others = np.delete(np.arange(len(names)), place)
        return np.where(beyond, place, others[best_labels(shares[:, others])[0]])

    def expected_costs(self, probabilities: Any, labels: Sequence[Any]) -> Floats:
        """Return the expected cost of each label, and last of "unsure" where that is an answer."""
        shares, names = np.asarray(probabilities, np.float64), [_plain(label) for label in labels]
        expected = 1.0 - shares if self.costs is None else shares @ self._cost_table(names)
        if self.unsure is None:
            return expected
        return np.column_stack([expected, np.full(len(shares), self.unsure)])

    # ----------------------------------------------------------------------------------------------------- JSON

    def to_json(self) -> dict[str, Any]:
        """Return the decision as plain values, only what is set."""
        return {
            name: value
            if not isinstance(value, tuple)
            else [list(row) if isinstance(row, tuple) else row for row in value]
            for name, value in self.__dict__.items()
            if value is not None and value != ()
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Decision:
        """Return the decision that :meth:`to_json` gave as plain values; raises ValueError if it is invalid."""
        unknown = sorted(set(values) - set(cls.__dataclass_fields__))
        if unknown:
            raise ValueError(f"a decision has no {unknown[0]!r}")
        try:
            return cls(**{name: _READERS[name](value) for name, value in values.items()})
        except (TypeError, AttributeError) as error:
            raise ValueError(f"not a valid decision: {error}") from error

    def __str__(self) -> str:
        parts = ["the most probable label"]
        if self.threshold is not None:
            parts = [f"{self.positive} from probability {self.threshold:.4g} on"]
        elif self.costs is not None:
            parts = ["the label of least expected cost"]
        if self.unsure is not None:
            parts.append(f"{self.unsure_label} at a cost of {self.unsure:g}")
        if self.max_false_alarms is not None:
            parts.append(
                f"{self.unsure_label} for rows more unusual than {1 - self.max_false_alarms:.4g} of those in training"
            )
        if self.weights is not None:
            parts.append("for new class priors")
        return ", ".join(parts)


_READERS: dict[str, Callable[[Any], Any]] = {
    "labels": tuple,
    "costs": lambda table: tuple(tuple(map(float, row)) for row in table),
    "threshold": float,
    "positive": lambda label: label,
    "unsure": float,
    "unsure_label": str,
    "weights": lambda weights: tuple(map(float, weights)),
    "max_false_alarms": float,
}
"""How each part of a decision is read from plain values."""


def _rows_and_columns(table: tuple[tuple[float, ...], ...] | None, kept: Sequence[int]) -> Any:
    return None if table is None else tuple(tuple(table[row][column] for column in kept) for row in kept)


def _plain(label: Any) -> Any:
    """Return a label as a Python value, so that it can be compared and written."""
    return label.item() if isinstance(label, np.generic) else label


def probability_given(decided: NDArray[Any], probabilities: Floats, labels: Sequence[Any]) -> list[float]:
    """Return the probability of the label that each row is given; of "unsure", that of its most probable label.

    Examples
    --------
    >>> probability_given(np.array(["b", "unsure"]), np.array([[0.9, 0.1], [0.6, 0.4]]), ["a", "b"])
    [0.1, 0.6]
    """
    place = {label: number for number, label in enumerate(labels)}
    best = probabilities.argmax(axis=1).tolist()
    places = [place.get(label, other) for label, other in zip(decided.tolist(), best, strict=True)]
    return probabilities[range(len(places)), places].tolist()  # type: ignore[no-any-return]


# --------------------------------------------------------------------------------------- choosing a threshold


@dataclass(frozen=True)
class ChosenThreshold:
    """A threshold chosen on evaluated rows: the decision, the interval of the threshold, and its figures on them."""

    decision: Decision
    threshold: float
    interval: Interval | None
    recall: float
    precision: float
    false_positive_rate: float


Rule = Callable[[Ranking], float]
"""A function of ranked rows that returns the threshold to use."""


@dataclass(frozen=True)
class MostRecall:
    """Find as many positive rows as possible, within a false positive rate or with a minimum precision.

    Examples
    --------
    >>> ranking = Ranking.of([0.9, 0.8, 0.6, 0.2], [True, True, False, True])
    >>> round(MostRecall(false_positive_rate=0.0)(ranking), 3), round(MostRecall(precision=0.7)(ranking), 3)
    (0.7, 0.1)
    """

    false_positive_rate: float | None = None
    precision: float | None = None

    def __post_init__(self) -> None:
        if (self.false_positive_rate is None) == (self.precision is None):
            raise ValueError("pass either false_positive_rate or precision")

    def __call__(self, ranking: Ranking) -> float:
        """Return the threshold."""
        called = ranking.true_positives + ranking.false_positives
        if self.precision is not None:
            allowed = ranking.true_positives >= self.precision * called
        else:
            allowed = ranking.false_positives <= float(self.false_positive_rate or 0.0) * ranking.negative_rows
        found = np.flatnonzero(allowed)
        return _between(ranking, int(found[-1]) + 1 if len(found) else 0)


@dataclass(frozen=True)
class LeastCost:
    """Minimize the cost on the rows, given the costs of a false positive and of a false negative.

    Where probabilities are calibrated, :meth:`Decision.of_costs` needs no chosen threshold and is
    more reliable on few rows.

    Examples
    --------
    >>> round(LeastCost(1, 1)(Ranking.of([0.9, 0.8, 0.6, 0.2], [True, False, True, False])), 3)
    0.4
    """

    false_positive: float
    false_negative: float

    def __call__(self, ranking: Ranking) -> float:
        """Return the threshold."""
        missed = np.append(ranking.positive_rows, ranking.positive_rows - ranking.true_positives)
        alarms = np.append(0, ranking.false_positives)
        costs = self.false_negative * missed + self.false_positive * alarms
        # Of equally good places the middle one: the least likely to be good by chance.
        best = np.flatnonzero(costs == costs.min())
        return _between(ranking, int(best[len(best) // 2]))


def _between(ranking: Ranking, called: int) -> float:
    """Return the threshold that calls the ``called`` highest distinct scores positive, halfway to the next."""
    scores = ranking.scores
    if called == 0:
        top = float(scores[0]) if len(scores) else 1.0
        return max((top + 1) / 2, float(np.nextafter(top, np.inf)))
    low = float(scores[called]) if called < len(scores) else 0.0
    middle = (float(scores[called - 1]) + low) / 2
    return middle if low < middle <= scores[called - 1] else float(scores[called - 1])


def choose_threshold(
    true: Any,
    probabilities: Any,
    labels: Any,
    positive: Any,
    rule: Rule,
    *,
    samples: int = 200,
    level: float = 0.95,
    random_state: int = 0,
) -> ChosenThreshold:
    """Choose the threshold for a label by a rule, on cross-fitted or held-out probabilities.

    The interval is that of the thresholds which the rule chooses on rows drawn with replacement; ``samples=0`` leaves
    it out.

    Examples
    --------
    >>> shares = np.array([[0.1, 0.9], [0.4, 0.6], [0.7, 0.3], [0.8, 0.2]])
    >>> chosen = choose_threshold(list("bbab"), shares, "ab", "b", MostRecall(precision=0.95))
    >>> round(chosen.threshold, 3), chosen.recall, chosen.precision
    (0.45, 0.666, 1.0)
    """
    names = [_plain(label) for label in labels]
    truth = np.asarray(true) == positive
    if positive not in names or truth.all() or not truth.any():
        raise ValueError(f"a threshold for {positive!r} needs rows of it and rows of others")
    scores = np.asarray(probabilities, np.float64)[:, names.index(positive)]
    ranking = Ranking.of(scores, truth)
    threshold = rule(ranking)
    interval = _threshold_interval(scores, truth, rule, samples, level, random_state) if samples else None
    caught, alarms = (int(counts) for counts in ranking.at(threshold))
    return ChosenThreshold(
        Decision.at(threshold, positive),
        threshold,
        interval,
        recall=caught / ranking.positive_rows,
        precision=caught / (caught + alarms) if caught + alarms else 1.0,
        false_positive_rate=alarms / ranking.negative_rows,
    )


def _threshold_interval(
    scores: Floats, truth: NDArray[np.bool_], rule: Rule, samples: int, level: float, random_state: int
) -> Interval:
    random, found = np.random.default_rng(random_state), []
    for _ in range(samples):
        chosen = random.integers(0, len(scores), len(scores))
        if truth[chosen].any() and not truth[chosen].all():
            found.append(rule(Ranking.of(scores[chosen], truth[chosen])))
    low, high = np.quantile(found, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high), level)


# ------------------------------------------------------------------------------------------------- new priors


def reweight(probabilities: Any, trained: Any, new: Any) -> Floats:
    """Return the probabilities under class priors ``new`` instead of ``trained``; p(x|k) is the same.

    Examples
    --------
    >>> reweight([[0.5, 0.5]], [0.5, 0.5], [0.9, 0.1]).round(3).tolist()
    [[0.9, 0.1]]
    """
    old, wanted = (np.asarray(shares, np.float64) for shares in (trained, new))
    if old.shape != wanted.shape or not (old > 0).all() or not (wanted >= 0).all():
        raise ValueError("old and new priors must be of equal length, old ones above 0, new ones at least 0")
    weighted = np.asarray(probabilities, np.float64) * (wanted / old)
    return np.asarray(weighted / weighted.sum(axis=1, keepdims=True))


def estimate_priors(probabilities: Any, trained: Any, tol: float = 1e-9, max_iter: int = 10_000) -> Floats:
    """Estimate the class priors of new rows without labels, by EM (Saerens, Latinne, Decaestecker 2002).

    Each round re-weights the probabilities by the present estimate and takes their mean as the next one.

    Examples
    --------
    >>> estimate_priors([[0.9, 0.1]] * 3 + [[0.1, 0.9]], [0.5, 0.5]).round(3).tolist()
    [0.812, 0.188]
    """
    shares, old = np.asarray(probabilities, np.float64), np.asarray(trained, np.float64)
    if not len(shares):
        raise ValueError("there are no rows to estimate the class priors from")
    present = old / old.sum()
    for _ in range(max_iter):
        following = reweight(shares, old, present).mean(axis=0)
        moved = float(np.abs(following - present).max())
        present = following
        if moved < tol:
            break
    return np.asarray(present)
