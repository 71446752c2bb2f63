"""From the probabilities of several labels to a set of labels: a threshold for each."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.data.encode import is_sparse
from discern.evaluation.several.rows import probability_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discern.evaluation.several.rows import Floats


@dataclass(frozen=True)
class Thresholds:
    """How the probabilities of labels become a set of labels. Frozen, plain, and saved as JSON with a model.

    Call it with probabilities, a row for each thing to decide on, and the labels of their columns: it returns a table
    of truth values of the same shape, sparse if the probabilities are.

    Examples
    --------
    >>> shares = np.array([[0.7, 0.3, 0.2], [0.1, 0.2, 0.1]])
    >>> Thresholds(labels=("corn",), thresholds=(0.8,), common=0.25)(shares, ["corn", "oil", "tea"]).tolist()
    [[False, True, False], [False, False, False]]
    >>> Thresholds(common=0.25, at_least_one=True, at_most=1)(shares, ["corn", "oil", "tea"]).tolist()
    [[True, False, False], [False, True, False]]
    >>> Thresholds.from_json(Thresholds(common=0.25).to_json()) == Thresholds(common=0.25)
    True
    """

    labels: tuple[str, ...] = ()
    """The labels that have a threshold of their own."""
    thresholds: tuple[float, ...] = ()
    """A label is predicted from this probability on."""
    common: float = 0.5
    """The threshold of all other labels, also of those that come later."""
    at_least_one: bool = False
    """Predict the most probable label of a row in which none reaches its threshold."""
    at_most: int | None = None
    """Predict at most this number of labels a row, the most probable of those that reach their threshold."""

    def __post_init__(self) -> None:
        if len(set(self.labels)) < len(self.labels):
            raise ValueError("the labels of thresholds must be distinct")
        if len(self.labels) != len(self.thresholds):
            raise ValueError(f"there are {len(self.thresholds)} thresholds for {len(self.labels)} labels")
        wrong = [value for value in (*self.thresholds, self.common) if not (_is_number(value) and value >= 0)]
        if wrong:
            raise ValueError(f"a threshold must be a number of at least 0, not {wrong[0]!r}")
        if not isinstance(self.at_least_one, bool):
            raise ValueError(f"at_least_one must be true or false, not {self.at_least_one!r}")
        if self.at_most is not None and not (type(self.at_most) is int and self.at_most >= 1):
            raise ValueError(f"at_most must be a whole number of at least 1, not {self.at_most!r}")

    # ------------------------------------------------------------------------------------------------- deciding

    def of(self, labels: Iterable[str]) -> Floats:
        """Return the threshold of each label."""
        own = dict(zip(self.labels, self.thresholds, strict=True))
        return np.array([own.get(label, self.common) for label in labels], np.float64)

    def __call__(self, probabilities: Any, labels: Sequence[str]) -> Any:
        """Return which labels each row has."""
        names = list(labels)
        shares, least = probability_table(probabilities, len(names)), self.of(names)
        if is_sparse(shares):
            return self._sparse(shares, least)
        decided = shares >= least
        if not decided.size:
            return decided
        if self.at_most is not None:
            decided = _most_probable(shares, decided, self.at_most)
        return _with_best(shares, decided) if self.at_least_one else decided

    def _sparse(self, shares: Any, least: Floats) -> Any:
        """Decide on sparse probabilities, of which those that are not stored are 0."""
        import scipy.sparse

        if shares.shape[1] and not (least > 0).all():
            raise ValueError("a threshold of 0 predicts its label for every row; pass dense probabilities")
        shares = _positive(shares)
        chosen = shares.data >= least[shares.indices]
        rows = np.repeat(np.arange(shares.shape[0]), np.diff(shares.indptr))
        places = _ranks(shares, rows, chosen)
        if self.at_most is not None:
            chosen &= places < self.at_most
        if self.at_least_one:
            some = np.bincount(rows[chosen], minlength=shares.shape[0]) > 0
            chosen |= (places == 0) & ~some[rows]
        found, columns = rows[chosen], shares.indices[chosen]
        if self.at_least_one and shares.shape[1]:  # where all are 0, the first label is as probable as the others
            empty = np.flatnonzero(np.diff(shares.indptr) == 0)
            found, columns = np.append(found, empty), np.append(columns, np.zeros(len(empty), columns.dtype))
        return scipy.sparse.coo_array((np.ones(len(found), bool), (found, columns)), shares.shape).tocsr()

    # ------------------------------------------------------------------------------------- labels come and go

    @property
    def named(self) -> list[str]:
        """The labels that have a threshold of their own."""
        return list(self.labels)

    def defaults(self, labels: Iterable[str]) -> list[str]:
        """Return the labels that have the common threshold, where others have their own."""
        return [label for label in labels if self.labels and label not in self.labels]

    def for_labels(self, labels: Sequence[str], gone: Container[str] = ()) -> Thresholds:
        """Return the thresholds for a model of these labels, without a trace of those that are ``gone``.

        Examples
        --------
        >>> kept = Thresholds(("corn", "oil"), (0.3, 0.4)).for_labels(["oil", "tea"], gone=["corn"])
        >>> kept.labels, kept.of(["oil", "tea"]).tolist()
        (('oil',), [0.4, 0.5])
        """
        return self._kept(lambda label: label not in gone)

    def renamed(self, new: Mapping[str, str]) -> Thresholds:
        """Return the thresholds for labels with other names; a label that exists already keeps its threshold.

        Examples
        --------
        >>> Thresholds(("corn", "oil"), (0.3, 0.4)).renamed({"corn": "maize"}).labels
        ('maize', 'oil')
        >>> Thresholds(("corn", "oil"), (0.3, 0.4)).renamed({"corn": "oil"})
        Thresholds(labels=('oil',), thresholds=(0.4,), common=0.5, at_least_one=False, at_most=None)
        """
        pairs = list(zip(self.labels, self.thresholds, strict=True))
        own = {label: threshold for label, threshold in pairs if new.get(label, label) == label}
        for label, threshold in pairs:
            own.setdefault(new.get(label, label), threshold)
        return replace(self, labels=tuple(sorted(own)), thresholds=tuple(own[label] for label in sorted(own)))

    def _kept(self, wanted: Callable[[str], bool]) -> Thresholds:
        pairs = zip(self.labels, self.thresholds, strict=True)
        own = {label: threshold for label, threshold in pairs if wanted(label)}
        return replace(self, labels=tuple(own), thresholds=tuple(own.values()))

    # ----------------------------------------------------------------------------------------------------- JSON

    def to_json(self) -> dict[str, Any]:
        """Return the thresholds as plain values."""
        return {
            "labels": list(self.labels),
            "thresholds": list(self.thresholds),
            "common": self.common,
            "at_least_one": self.at_least_one,
            "at_most": self.at_most,
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Thresholds:
        """Return the thresholds that :meth:`to_json` returned as plain values; raises ValueError if invalid."""
        unknown = sorted(set(values) - set(cls.__dataclass_fields__))
        if unknown:
            raise ValueError(f"thresholds have no {unknown[0]!r}")
        lists = {name: values.get(name, ()) for name in ("labels", "thresholds")}
        if not all(isinstance(each, list | tuple) for each in lists.values()):
            raise ValueError("not valid thresholds: labels and thresholds must be lists")
        if not all(isinstance(label, str) for label in lists["labels"]):
            raise ValueError("the labels of thresholds must be texts")
        return cls(**{**values, **{name: tuple(each) for name, each in lists.items()}})

    def __str__(self) -> str:
        parts = [f"labels from probability {self.common:.4g} on"]
        if self.labels:
            lowest, highest = min(self.thresholds), max(self.thresholds)
            parts = [
                f"{len(self.labels)} labels with thresholds from {lowest:.4g} to {highest:.4g}",
                f"others {parts[0]}",
            ]
        parts += ["at least one label"] * self.at_least_one
        parts += [] if self.at_most is None else [f"at most {self.at_most} label{'s' * (self.at_most > 1)}"]
        return ", ".join(parts)


def probabilities_given(
    labels: Iterable[Sequence[str]], probabilities: NDArray[Any], names: Sequence[str]
) -> list[list[float]]:
    """Return the probability of each label that each row is given.

    Examples
    --------
    >>> probabilities_given([["oil"], []], np.array([[0.1, 0.9], [0.2, 0.3]]), ["corn", "oil"])
    [[0.9], []]
    """
    place = {name: number for number, name in enumerate(names)}
    return [[float(row[place[label]]) for label in own] for own, row in zip(labels, probabilities, strict=True)]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and bool(np.isfinite(value))


def _positive(shares: Any) -> Any:
    """Return sparse probabilities without stored zeros."""
    if (shares.data > 0).all():
        return shares
    shares = shares.copy()
    shares.eliminate_zeros()
    return shares


def _most_probable(shares: Floats, decided: NDArray[np.bool_], most: int) -> NDArray[np.bool_]:
    """Keep the most probable of the chosen labels; of equal ones the first."""
    many = np.flatnonzero(decided.sum(axis=1) > most)
    if len(many):
        order = np.argsort(np.where(decided[many], -shares[many], np.inf), axis=1, kind="stable")[:, :most]
        kept = np.zeros((len(many), shares.shape[1]), bool)
        np.put_along_axis(kept, order, True, axis=1)
        decided[many] = kept
    return decided


def _with_best(shares: Floats, decided: NDArray[np.bool_]) -> NDArray[np.bool_]:
    none = np.flatnonzero(~decided.any(axis=1))
    decided[none, shares[none].argmax(axis=1)] = True
    return decided


def _ranks(shares: Any, rows: NDArray[Any], chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the rank of each stored cell in its row: first the chosen ones, then by falling probability."""
    order = np.lexsort((shares.indices, -shares.data, ~chosen, rows))
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order)) - shares.indptr[rows[order]]
    return ranks
