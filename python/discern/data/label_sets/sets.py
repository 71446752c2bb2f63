"""Sets of labels as texts: a model counts each distinct set as a class of its own, and knows labels by their sets.

The text of a set has its labels in order, with :data:`SEPARATOR` between them. So the text of a set of one label is
that label, and rows with one label each have the same sums, to the last byte, as rows whose labels are no sets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.data.batch import Batch
from discern.data.strings import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

SEPARATOR = "\x1f"
"""The character between the labels of a set, which no label may have: U+001F, the separator of units."""
EMPTY = SEPARATOR
"""The text of the empty set: no label is empty, so it stands for nothing else."""


def set_text(labels: Iterable[str]) -> str:
    """Return the text of a set of labels, which are in any order and may repeat.

    Examples
    --------
    >>> set_text(["corn", "oil", "corn"]), set_text(["oil"]), set_text([])
    ('corn\\x1foil', 'oil', '\\x1f')
    """
    return SEPARATOR.join(sorted({*labels})) or EMPTY


def labels_in(text: str) -> list[str]:
    """Return the labels of a set by its text.

    Examples
    --------
    >>> labels_in(set_text(["oil", "corn"])), labels_in(set_text([]))
    (['corn', 'oil'], [])
    """
    return [label for label in text.split(SEPARATOR) if label]


def renamed_sets(new: Mapping[str, str], sets: Iterable[str]) -> dict[str, str]:
    """Return the new name of each set whose labels have new names.

    Examples
    --------
    >>> renamed_sets({"corn": "maize", "oil": "oil"}, ["corn\\x1foil", "oil"])
    {'corn\\x1foil': 'maize\\x1foil', 'oil': 'oil'}
    """
    if any(SEPARATOR in label for label in new.values()):
        raise ValueError("a label contains a control character, U+001F; choose another name")
    found = {one: set_text(new[label] for label in labels_in(one)) for one in sets}
    if list(found.values()) != sorted(found.values()):
        raise ValueError("the new names change the order of sets of labels; choose names without control characters")
    return found


def with_labels(batch: Batch, name: str, add: Sequence[str], remove: Sequence[str]) -> Batch:
    """Return a batch whose column of sets has some labels more and others less; raises ``DataError``.

    Examples
    --------
    >>> batch = Batch({"label": ["corn\\x1foil", "\\x1f"]}, 2)
    >>> with_labels(batch, "label", ["tea"], []).columns["label"]
    ['corn\\x1foil\\x1ftea', 'tea']
    """
    if wrong := [label for label in add if SEPARATOR in label or label in remove]:
        raise DataError(f"the label {wrong[0]!r} cannot be added: it is removed too, or contains a control character")
    numbers, sets = batch.labels(name)
    new = []
    for place, one in enumerate(sets):
        labels = labels_in(one)
        if lacking := [label for label in remove if label not in labels]:
            row = int(np.flatnonzero(numbers == place)[0])
            raise DataError(
                f"{batch.place_of(row, name)}: the row does not have the label {lacking[0]!r} to be removed"
            )
        new.append(set_text([*(label for label in labels if label not in remove), *add]))
    return replace(batch, columns={**batch.columns, name: [new[number] for number in numbers.tolist()]})


@dataclass(frozen=True, eq=False)
class Membership:
    """Which labels each of some distinct sets has: a sparse matrix of ones, sets × labels.

    Examples
    --------
    >>> found = Membership.of(["corn", "corn\\x1foil", "\\x1f"])
    >>> found.labels, found.matrix.toarray().tolist(), found.sums(np.array([5, 2, 4])).tolist()
    (('corn', 'oil'), [[1, 0], [1, 1], [0, 0]], [7, 2])
    """

    labels: tuple[str, ...]
    """The labels of all sets, sorted."""
    matrix: Any

    @classmethod
    def of(cls, sets: Sequence[str]) -> Membership:
        """Take sets by their texts."""
        import scipy.sparse

        listed = [labels_in(one) for one in sets]
        labels = tuple(sorted({label for one in listed for label in one}))
        place = {label: number for number, label in enumerate(labels)}
        ends = np.cumsum([0, *map(len, listed)])
        columns = np.array([place[label] for one in listed for label in one], np.int64)
        matrix = scipy.sparse.csr_array((np.ones(len(columns), np.int64), columns, ends), (len(listed), len(labels)))
        return cls(labels, matrix)

    def sums(self, values: NDArray[Any]) -> NDArray[Any]:
        """Add up, for each label, the values of the sets that have it."""
        return np.asarray(self.matrix.T @ values)

    def truth(self, numbers: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which labels rows have, by the numbers of their sets: rows × labels."""
        return np.asarray(self.matrix[numbers].toarray() > 0)

    def grouped(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the numbers of the sets that have each label, one label after the other, and where each begins."""
        by_label = self.matrix.tocsc()
        return by_label.indices.astype(np.int64), by_label.indptr.astype(np.int64)
