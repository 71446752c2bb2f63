"""Statistics: sums over rows that can be added, subtracted, merged and saved.

Three rules make them exact. Counts are integers, so that any order and any sharding gives the same bytes. What has a
count of zero does not exist: it leaves the vocabulary. And statistics never hold hyperparameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

import discern._native as _native
from discern.data.strings import Strings
from discern.data.text import TextSettings
from discern.data.threads import default_threads
from discern.statistics.statistic import MOST_COUNTED, Statistic, whole_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Counts(Statistic):
    """How often each term occurs in each class, and in how many documents: all that naive Bayes needs of its data.

    Entry i: term ``entry_terms[i]`` occurs ``occurrences[i]`` times in ``documents[i]`` documents of class
    ``entry_classes[i]``. Terms and labels are sorted, entries too; nothing has a count of zero.

    Examples
    --------
    >>> both = Counts.of(["win win", "hello"], ["spam", "ham"])
    >>> both.labels, both.terms.to_list(), both.occurrences.tolist()
    (('ham', 'spam'), ['hello', 'win'], [1, 2])
    >>> both - Counts.of(["win win"], ["spam"]) == Counts.of(["hello"], ["ham"])
    True
    """

    labels: tuple[str, ...]
    class_documents: NDArray[np.int64]
    terms: Strings
    entry_terms: NDArray[np.int64]
    entry_classes: NDArray[np.int64]
    occurrences: NDArray[np.int64]
    documents: NDArray[np.int64]

    @classmethod
    def empty(cls) -> Counts:
        """Return the counts of no rows, the zero of addition."""
        none = np.zeros(0, np.int64)
        return cls((), none, Strings.of([]), none, none, none, none)

    @classmethod
    def of(
        cls, documents: Any, labels: Sequence[str], text: TextSettings | None = None, threads: int | None = None
    ) -> Counts:
        """Count documents, a list of strings or a column, with the label of each."""
        counter = Counter(text or TextSettings(), threads=threads)
        numbers, offsets, data = _native.distinct(labels if isinstance(labels, list) else list(labels))
        counter.add(
            documents.native() if isinstance(documents, Strings) else documents,
            numbers,
            Strings(offsets, data).to_list(),
        )
        return counter.counts()

    @classmethod
    def of_levels(
        cls, numbers: NDArray[Any], levels: Sequence[str], classes: NDArray[Any], labels: Sequence[str]
    ) -> Counts:
        """Count rows of one term each: row i has ``levels[numbers[i]]`` and the label ``labels[classes[i]]``.

        Rows with a negative number have no level and are left out.

        Examples
        --------
        >>> counts = Counts.of_levels(np.array([0, 0, -1]), ["fr"], np.array([0, 1, 1]), ["a", "b"])
        >>> counts.terms.to_list(), counts.documents.tolist(), counts.class_documents.tolist()
        (['fr'], [1, 1], [1, 1])
        """
        present = numbers >= 0
        shape = (max(len(levels), 1), max(len(labels), 1))
        cells = np.bincount(numbers[present] * shape[1] + classes[present], minlength=shape[0] * shape[1])
        return cls.of_table(cells.reshape(shape)[: len(levels), : len(labels)], levels, labels)

    @classmethod
    def of_table(cls, table: NDArray[Any], levels: Sequence[str], labels: Sequence[str]) -> Counts:
        """Make counts of a table of levels × labels, each row of data having one level."""
        used_levels = sorted(np.flatnonzero(table.any(axis=1)).tolist(), key=lambda place: levels[place].encode())
        used_labels = sorted(np.flatnonzero(table.any(axis=0)).tolist(), key=lambda place: labels[place])
        cells = table[np.ix_(used_levels, used_labels)].astype(np.int64)
        terms, classes = np.nonzero(cells)
        return cls(
            tuple(labels[place] for place in used_labels),
            cells.sum(axis=0),
            Strings.of([levels[place] for place in used_levels]),
            terms.astype(np.int64),
            classes.astype(np.int64),
            cells[terms, classes],
            cells[terms, classes],
        )

    @classmethod
    def total(cls, parts: Sequence[Counts]) -> Counts:
        """Add the counts of any number of parts: faster than one by one.

        Examples
        --------
        >>> parts = [Counts.of([text], ["a"]) for text in ("win", "hello win", "win")]
        >>> Counts.total(parts).occurrences.tolist()
        [1, 3]
        """
        return _added(parts, [1] * len(parts)) if parts else cls.empty()

    def decayed(self, factor: float) -> Counts:
        """Return the counts times a factor, rounded; what becomes zero is gone."""
        documents = np.rint(self.documents * factor).astype(np.int64)
        kept = documents > 0
        rounded = Counts(
            self.labels,
            np.maximum(np.rint(self.class_documents * factor), 1).astype(np.int64),
            self.terms,
            self.entry_terms[kept],
            self.entry_classes[kept],
            np.maximum(np.rint(self.occurrences * factor).astype(np.int64), documents)[kept],
            documents[kept],
        )
        used = np.zeros(len(self.terms), bool)
        used[rounded.entry_terms] = True
        return rounded.with_terms(used)

    def with_labels(self, labels: Sequence[str]) -> Counts:
        """Return the counts with more labels, of which there is nothing."""
        if tuple(labels) == self.labels:
            return self
        place = {label: number for number, label in enumerate(labels)}
        places = np.array([place[label] for label in self.labels], np.int64)
        class_documents = np.zeros(len(labels), np.int64)
        class_documents[places] = self.class_documents
        classes = places[self.entry_classes] if len(places) else self.entry_classes
        return Counts(
            tuple(labels), class_documents, self.terms, self.entry_terms, classes, self.occurrences, self.documents
        )

    # ------------------------------------------------------------------------------------ sums of the sums

    @cached_property
    def class_occurrences(self) -> NDArray[np.int64]:
        """Occurrences of all terms in each class."""
        return _sums(self.entry_classes, self.occurrences, len(self.labels))

    @cached_property
    def class_presences(self) -> NDArray[np.int64]:
        """Documents of each class summed over all terms."""
        return _sums(self.entry_classes, self.documents, len(self.labels))

    @cached_property
    def term_occurrences(self) -> NDArray[np.int64]:
        """Occurrences of each term in all classes."""
        return _sums(self.entry_terms, self.occurrences, len(self.terms))

    @cached_property
    def term_documents(self) -> NDArray[np.int64]:
        """Documents that hold each term."""
        return _sums(self.entry_terms, self.documents, len(self.terms))

    @property
    def rows(self) -> int:
        """The number of documents counted."""
        return int(self.class_documents.sum())

    # ---------------------------------------------------------------------------------------------- algebra

    def __add__(self, other: Counts) -> Counts:
        return _added([self, other], [1, 1])

    def __sub__(self, other: Counts) -> Counts:
        """Subtract; raises ValueError if something was never counted."""
        return _without_zeros(_added([self, other], [1, -1]))

    def minus(self, other: Counts) -> Counts:
        """Subtract; raises ValueError if something was never counted."""
        return self - other

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Counts):
            return NotImplemented
        mine, theirs = (one.arrays(one.labels) for one in (self, other))
        return self.labels == other.labels and all(np.array_equal(mine[name], theirs[name]) for name in mine)

    __hash__ = None  # type: ignore[assignment]

    def renamed(self, new: Mapping[str, str]) -> Counts:
        """Return the counts with other names of the labels, in the same order."""
        return replace(self, labels=tuple(new[label] for label in self.labels))

    def with_min_documents(self, least: int) -> Counts:
        """Return the counts without the terms that fewer than ``least`` documents hold."""
        if least <= 1:
            return self
        return self.with_terms(self.term_documents >= least)

    def with_terms(self, keep: NDArray[np.bool_]) -> Counts:
        """Return the counts of the terms where ``keep`` is true."""
        number = np.cumsum(keep) - 1
        kept = keep[self.entry_terms]
        return Counts(
            self.labels,
            self.class_documents,
            self.terms.take(keep),
            number[self.entry_terms[kept]],
            self.entry_classes[kept],
            self.occurrences[kept],
            self.documents[kept],
        )

    # ------------------------------------------------------------------------------------------------ arrays

    def arrays(self, labels: Sequence[str]) -> dict[str, NDArray[Any]]:
        """Return everything but the labels as arrays, for the model file; its own labels as places among ``labels``."""
        place = {label: number for number, label in enumerate(labels)}
        return {
            "class_documents": self.class_documents,
            "terms.offsets": self.terms.offsets,
            "terms.bytes": self.terms.data,
            "entry_terms": self.entry_terms,
            "entry_classes": self.entry_classes,
            "occurrences": self.occurrences,
            "documents": self.documents,
            "classes": np.array([place[label] for label in self.labels], np.int64),
        }

    @classmethod
    def from_arrays(
        cls, labels: Sequence[str], arrays: Mapping[str, NDArray[Any]], class_rows: NDArray[np.int64]
    ) -> Counts:
        """Make the counts from what :meth:`arrays` returned; raises ValueError if they do not fit together."""
        places = whole_numbers(arrays["classes"])
        if bool(np.any((places < 0) | (places >= len(labels)))) or bool(np.any(np.diff(places) < 1)):
            raise ValueError("the classes of a column do not match the labels")
        names = ("class_documents", "terms.offsets", "entry_terms", "entry_classes", "occurrences", "documents")
        class_documents, offsets, *entries = (whole_numbers(arrays[name]) for name in names)
        data = arrays["terms.bytes"]
        whole_numbers(data)
        counts = cls(tuple(labels[place] for place in places), class_documents, Strings(offsets, data), *entries)
        counts._check()
        if bool(np.any(counts.class_documents > class_rows[places])):
            raise ValueError("a column has more values than there are rows")
        return counts

    def _check(self) -> None:
        size, terms, labels = len(self.entry_terms), len(self.terms), len(self.labels)
        check_terms(self.terms)
        sound = (
            all(len(array) == size for array in (self.entry_classes, self.occurrences, self.documents))
            and len(self.class_documents) == labels
            and list(self.labels) == sorted(set(self.labels))
            and bool(np.all((self.entry_terms >= 0) & (self.entry_terms < terms)))
            and bool(np.all((self.entry_classes >= 0) & (self.entry_classes < labels)))
            and bool(np.all(np.diff(self.entry_terms * max(labels, 1) + self.entry_classes) > 0))
            and bool(np.all(self.documents >= 1) and np.all(self.occurrences >= self.documents))
            and bool(np.all(self.class_documents >= 1))
            and bool(np.all(self.documents <= self.class_documents[self.entry_classes]))
            and float(self.class_documents.sum(dtype=np.float64)) < MOST_COUNTED
            and float(self.occurrences.sum(dtype=np.float64)) < MOST_COUNTED
        )
        if not sound:
            raise ValueError("the counts do not match each other")


def check_terms(terms: Strings, is_sorted: bool = True) -> None:
    """Refuse a vocabulary from a file whose terms are not sorted, distinct and UTF-8; raises ValueError."""
    offsets, data = terms.offsets, terms.data
    fits = (
        len(offsets) > 0 and offsets[0] == 0 and offsets[-1] == len(data) and bool(np.all(offsets[1:] >= offsets[:-1]))
    )
    if not fits or data.dtype != np.uint8:
        raise ValueError("the terms do not match their bytes")
    if is_sorted and not _native.is_sorted(offsets, data):
        raise ValueError("the terms are not sorted")
    data.tobytes().decode("utf-8", "surrogatepass")
    starts = offsets[:-1][np.diff(offsets) > 0]
    if bool(np.any(data[starts] & 0xC0 == 0x80)):
        raise ValueError("a term begins within a character")


def contained(terms: Strings, known: Strings) -> NDArray[np.bool_]:
    """Return which of some sorted terms are among others."""
    lists = [(side.offsets, np.ascontiguousarray(side.data)) for side in (terms, known)]
    _, _, (places, known_places) = _native.merge_terms(lists)
    return np.isin(places, known_places)


def _sums(places: NDArray[np.int64], values: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Sum integer values by place, exactly."""
    if not len(values):
        return np.zeros(size, np.int64)
    if int(values.sum()) < 1 << 53:  # bincount adds in float64
        return np.bincount(places, values, size).astype(np.int64)
    totals = np.zeros(size, np.int64)
    np.add.at(totals, places, values)
    return totals


def _added(parts: Sequence[Counts], signs: Sequence[int]) -> Counts:
    """Add the counts of several parts at once, some of them negative."""
    labels = tuple(sorted({label for part in parts for label in part.labels}))
    offsets, data, numbers = _native.merge_terms(
        [(part.terms.offsets, np.ascontiguousarray(part.terms.data)) for part in parts]
    )
    n_classes = max(len(labels), 1)
    keys, occurrences, documents = [], [], []
    class_documents = np.zeros(len(labels), np.int64)
    place = {label: number for number, label in enumerate(labels)}
    for part, number, sign in zip(parts, numbers, signs, strict=True):
        places = np.array([place[label] for label in part.labels], np.int64)
        keys.append(number[part.entry_terms] * n_classes + places[part.entry_classes])
        occurrences.append(part.occurrences * sign)
        documents.append(part.documents * sign)
        class_documents[places] += part.class_documents * sign
    distinct, inverse = _distinct(np.concatenate(keys), (len(offsets) - 1) * n_classes)
    return Counts(
        labels,
        class_documents,
        Strings(offsets, data),
        distinct // n_classes,
        distinct % n_classes,
        _signed_sums(inverse, np.concatenate(occurrences), len(distinct)),
        _signed_sums(inverse, np.concatenate(documents), len(distinct)),
    )


def _distinct(keys: NDArray[np.int64], most: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct keys below ``most``, sorted, and the place of each key among them."""
    if most > 4 * max(len(keys), 1 << 16):
        distinct, inverse = np.unique(keys, return_inverse=True)
        return distinct, inverse
    seen = np.zeros(most, bool)  # a table of all possible keys is faster than sorting
    seen[keys] = True
    return np.flatnonzero(seen), (np.cumsum(seen) - 1)[keys]


def _signed_sums(places: NDArray[Any], values: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    totals = np.zeros(size, np.int64)
    np.add.at(totals, places, values)
    return totals


def _without_zeros(counts: Counts) -> Counts:
    """Drop what has gone to zero after a subtraction; refuse what has gone below."""
    most = counts.class_documents[counts.entry_classes]
    gone = (counts.documents == 0) & (counts.occurrences != 0)
    bad = np.flatnonzero(
        gone | (counts.documents < 0) | (counts.occurrences < counts.documents) | (counts.documents > most)
    )
    short = np.flatnonzero(counts.class_documents < 0)
    if len(short):
        raise ValueError(
            f"cannot forget these rows: the model has fewer rows of label {counts.labels[short[0]]!r} "
            "than you asked to forget"
        )
    if len(bad):
        term, label = counts.terms[int(counts.entry_terms[bad[0]])], counts.labels[int(counts.entry_classes[bad[0]])]
        raise ValueError(
            f"cannot forget these rows: {term!r} occurs more often in them than in the model's rows of label {label!r}"
        )
    kept = counts.documents > 0
    live = np.zeros(len(counts.terms), bool)
    live[counts.entry_terms[kept]] = True
    classes = counts.class_documents > 0
    number = np.cumsum(live) - 1
    class_number = np.cumsum(classes) - 1
    return Counts(
        tuple(label for label, keep in zip(counts.labels, classes, strict=True) if keep),
        counts.class_documents[classes],
        counts.terms.take(live),
        number[counts.entry_terms[kept]],
        class_number[counts.entry_classes[kept]],
        counts.occurrences[kept],
        counts.documents[kept],
    )


class Seen:
    """Labels with their numbers, and the number of rows that have each.

    Those that come together are numbered in their order: counts by number are in order then, if no label comes later.

    Examples
    --------
    >>> seen = Seen()
    >>> seen.add(np.array([0, 1, 1], np.int32), ["spam", "ham"]), seen.add(np.array([0], np.int32), ["bulk"])
    (array([1, 0, 0], dtype=int32), array([2], dtype=int32))
    >>> seen.labels, seen.rows.tolist(), seen.sorted()
    ({'ham': 0, 'spam': 1, 'bulk': 2}, [2, 1, 1], (('bulk', 'ham', 'spam'), array([2, 0, 1])))
    """

    def __init__(self) -> None:
        self.labels: dict[str, int] = {}
        self.rows = np.zeros(0, np.int64)

    def add(self, numbers: NDArray[np.int32], labels: Sequence[str]) -> NDArray[np.int32]:
        """Count rows, of which row i has the label ``labels[numbers[i]]``; give the number of each row's label."""
        for label in sorted(labels):
            self.labels.setdefault(label, len(self.labels))
        mapping = [self.labels[label] for label in labels]
        same = mapping == list(range(len(mapping)))
        classes = numbers if same else np.array(mapping, np.int32)[numbers]
        rows = np.bincount(classes, minlength=len(self.labels)).astype(np.int64, copy=False)
        rows[: len(self.rows)] += self.rows
        self.rows = rows
        return classes

    def sorted(self) -> tuple[tuple[str, ...], NDArray[np.int64]]:
        """Return the labels in their order, and the number of each."""
        labels = sorted(self.labels)
        return tuple(labels), np.array([self.labels[label] for label in labels], np.int64)


class Counter:
    """Counts documents by label over any number of batches, on all cores.

    Examples
    --------
    >>> counter = Counter(TextSettings())
    >>> counter.add(["win win", "hello"], np.array([0, 1], np.int32), ["spam", "ham"])
    >>> counter.counts().labels
    ('ham', 'spam')
    """

    def __init__(self, text: TextSettings, threads: int | None = None, seen: Seen | None = None) -> None:
        self._native = _native.Counter(text.native)
        self._threads = threads or default_threads()
        self._seen = seen or Seen()

    def add(self, documents: Any, numbers: NDArray[np.int32], labels: Sequence[str], strict: bool = False) -> None:
        """Count a batch: row i has the label ``labels[numbers[i]]``; labels may be new.

        If ``strict``, a document that is not UTF-8 is a ``UnicodeError``, and the count is over.
        """
        self.add_numbered(documents, self._seen.add(numbers, labels), strict)

    def add_numbered(self, documents: Any, classes: NDArray[np.int32], strict: bool = False) -> None:
        """Count a batch whose labels were seen: row i has the label number ``classes[i]`` of those."""
        self._native.add(documents, classes, max(len(self._seen.labels), 1), self._threads, strict)

    def counts(self) -> Counts:
        """End the count."""
        drained = self._native.drain()
        # Labels that came later have higher numbers; here they are sorted.
        labels, sources = self._seen.sorted()
        place = np.empty(len(labels), np.int64)
        place[sources] = np.arange(len(labels))
        classes = place[drained.entry_classes]
        order: Any = slice(None)
        if not np.array_equal(place, np.arange(len(labels))):
            order = np.argsort(drained.entry_terms * max(len(labels), 1) + classes, kind="stable")
        return Counts(
            labels,
            self._seen.rows[sources],
            Strings(drained.offsets, drained.bytes),
            drained.entry_terms[order],
            classes[order],
            drained.occurrences[order],
            drained.documents[order],
        )
