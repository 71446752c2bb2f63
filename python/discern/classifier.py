"""A classifier on named columns: raw rows in, decisions with probability and evidence out."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

import discern._native as _native
import discern.files as files
from discern.bayes import (
    LinearScores,
    NaiveBayesSettings,
    as_priors,
    as_smoothing,
    log_priors,
    posterior,
    solve,
)
from discern.data import Batch, DataError, Reading, Strings, batches, did_you_mean
from discern.evaluate import Evaluation
from discern.statistics import Counter, Counts, check_terms, default_threads
from discern.text import TextSettings

if TYPE_CHECKING:
    from numpy.typing import NDArray

EVENTS = {
    "naive-bayes": "multinomial",
    "multinomial": "multinomial",
    "bernoulli": "bernoulli",
    "complement": "complement",
}
FEW = 8
"""Up to so many rows are scored without building a table for the whole vocabulary."""


@dataclass(frozen=True)
class TermEvidence:
    """What one term said: ``weight`` nats for the label and against the runner-up, all its occurrences together."""

    term: str
    count: int
    weight: float


@dataclass(frozen=True)
class Evidence:
    """Why a text was given its label: the terms of the sum that decided it.

    ``prior + absent + sum(term.weight for term in terms)`` is ``log_odds``, the log odds of ``label`` over ``against``.
    ``absent`` is what the words that do not occur said; only the Bernoulli model listens to them.
    """

    label: str
    against: str
    probabilities: dict[str, float]
    prior: float
    absent: float
    terms: tuple[TermEvidence, ...]
    unknown: int

    @property
    def probability(self) -> float:
        """The probability of the label."""
        return self.probabilities[self.label]

    @property
    def log_odds(self) -> float:
        """The log odds of the label over the runner-up."""
        return self.prior + self.absent + sum(term.weight for term in self.terms)

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain values."""
        return {
            "label": self.label,
            "probability": self.probability,
            "against": self.against,
            "log_odds": self.log_odds,
            "prior": self.prior,
            "absent": self.absent,
            "terms": [{"term": term.term, "count": term.count, "weight": term.weight} for term in self.terms],
            "unknown_terms": self.unknown,
            "probabilities": self.probabilities,
        }

    def __str__(self) -> str:
        lines = [f"{self.label} ({self.probability:.1%}), against {self.against}", f"  {self.prior:+8.3f}  prior"]
        if self.absent:
            lines.append(f"  {self.absent:+8.3f}  words that are absent")
        for term in self.terms:
            lines.append(f"  {term.weight:+8.3f}  {term.term}" + (f" ×{term.count}" if term.count > 1 else ""))
        if self.unknown:
            lines.append(f"  {self.unknown} unknown, skipped")
        return "\n".join(lines)


@dataclass(frozen=True)
class Model:
    """A solved model: immutable, shared by threads."""

    labels: tuple[str, ...]
    terms: Strings
    scores: LinearScores
    prior: NDArray[np.float64]
    text: TextSettings

    @cached_property
    def vocabulary(self) -> _native.Vocabulary:
        """The terms as the native code looks them up."""
        return _native.Vocabulary(self.text.native, self.terms.offsets, self.terms.data)

    @cached_property
    def label_array(self) -> NDArray[np.str_]:
        """The labels, to be indexed by decisions."""
        return np.array(self.labels, dtype=np.str_)

    def ready(self) -> Model:
        """Make now what the first answer would wait for, as far as it costs little."""
        _ = self.vocabulary, self.label_array
        return self

    @cached_property
    def _uses(self) -> Iterator[int]:
        return itertools.count()

    def is_seldom_used(self) -> bool:
        """Say whether so few single texts have come that a table for the whole vocabulary would not pay."""
        return self.scores.weights is None or next(self._uses) < FEW

    @cached_property
    def scorer(self) -> _native.Scorer:
        """The fast way from texts to scores, and from one text to its label."""
        if self.scores.weights is None:
            raise ValueError("this model has too many classes and terms for predict_one; use predict")
        weights = np.ascontiguousarray(self.scores.weights)
        bias = self.scores.bias.tolist()
        return _native.Scorer(self.vocabulary, weights, bias, list(self.labels), self.scores.presence)

    def log_joint(self, texts: Any, rows: int, threads: int | None) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Give log P(k) + log P(text|k) for each text and class, and how many of its terms are unknown."""
        if rows <= FEW:
            found, unknown = self.vocabulary.rows(texts, 1)
            return self._score_few(found, rows), unknown
        if self.scores.weights is not None:
            scores, _, unknown = self.scorer.score(texts, threads or default_threads())
            return scores, unknown
        found, unknown = self.vocabulary.rows(texts, threads or default_threads())
        return self.scores.of_rows(self._matrix(found, rows)), unknown

    def _score_few(self, found: _native.Rows, rows: int) -> NDArray[np.float64]:
        weights = self.scores.at(found.terms)
        counts = np.ones_like(found.counts) if self.scores.presence else found.counts
        # Not a matrix product: its last bit depends on where the numbers lie in memory.
        sums = np.zeros((rows, len(self.labels)))
        np.add.at(sums, np.repeat(np.arange(rows), np.diff(found.starts)), counts[:, None] * weights)
        return sums + self.scores.bias

    def _matrix(self, found: _native.Rows, rows: int) -> Any:
        import scipy.sparse

        return scipy.sparse.csr_matrix((found.counts, found.terms, found.starts), shape=(rows, len(self.terms)))


class Classifier:
    """Classify text: from raw rows to a decision with its probability and its evidence.

    Parameters
    ----------
    label : str
        The column that holds the labels.
    model : {"naive-bayes", "multinomial", "bernoulli", "complement"}
        The event model of naive Bayes; ``"naive-bayes"`` is the multinomial one.
    smoothing : float, Laplace, JelinekMercer or Dirichlet
        A number is Laplace's α.
    text : str, optional
        The column that holds the text; found by itself if not given.
    priors : {"data", "uniform"} or mapping of label to probability
    normalization : {"documents", "vocabulary"}
        What the Bernoulli model divides by.
    min_df : int
        Terms that fewer documents hold are not used, and are not written to the model file.
    analyzer, words, lowercase, ngrams, stop_words, stem, shortest, pattern
        Which terms a text has: see :class:`discern.TextSettings`.
    threads : int, optional
        By default all cores. The result is the same with any number.

    Examples
    --------
    >>> rows = [
    ...     {"label": "spam", "text": "win a free prize now"},
    ...     {"label": "ham", "text": "lunch at noon tomorrow"},
    ... ]
    >>> model = Classifier().fit(rows)
    >>> model.predict(["free prize"]).tolist()
    ['spam']
    >>> model.learn([{"label": "ham", "text": "free for lunch"}]).rows
    3
    >>> model.forget([{"label": "ham", "text": "free for lunch"}]).rows
    2
    """

    def __init__(
        self,
        label: str = "label",
        *,
        model: str = "naive-bayes",
        smoothing: Any = 1.0,
        text: str | None = None,
        priors: str | Mapping[str, float] = "data",
        normalization: str = "documents",
        min_df: int = 1,
        analyzer: str = "word",
        words: str = "words",
        lowercase: bool = True,
        ngrams: tuple[int, int] = (1, 1),
        stop_words: Sequence[str] = (),
        stem: str | None = None,
        shortest: int = 2,
        pattern: str | None = None,
        threads: int | None = None,
    ) -> None:
        if model not in EVENTS:
            raise ValueError(f"there is no model {model!r}{did_you_mean(model, EVENTS)}")
        if isinstance(stop_words, str):
            raise ValueError("stop_words must be a list of words")
        if min_df < 1:
            raise ValueError(f"min_df must be at least 1, not {min_df}")
        given = priors if isinstance(priors, str) else as_priors(priors)
        if isinstance(given, str) and given not in ("data", "uniform"):
            raise ValueError(f"priors must be 'data', 'uniform' or a mapping of label to probability, not {given!r}")
        self.label = label
        self.text = text
        self.model = model
        self.min_df = min_df
        self.threads = threads
        self.learner = NaiveBayesSettings(EVENTS[model], as_smoothing(smoothing), given, normalization)
        self.settings = TextSettings(
            analyzer=analyzer,
            words=words,
            lowercase=lowercase,
            ngrams=(int(ngrams[0]), int(ngrams[1])),
            stop_words=tuple(stop_words),
            stem=stem,
            shortest=shortest,
            pattern=pattern,
        )
        _ = self.settings.native  # complain about settings now, not at fit
        self._lock = threading.RLock()
        self._statistics: Counts | None = Counts.empty()
        self._model: Model | None = None

    # ------------------------------------------------------------------------------------------- learning

    def fit(self, data: Any, *, reading: Reading | None = None) -> Classifier:
        """Learn from rows, forgetting everything learned before."""
        counts = self._count(data, reading)
        if not counts.rows:
            raise DataError("there are no rows to learn from")
        with self._lock:
            self._replace(counts)
        return self

    def learn(self, data: Any, *, reading: Reading | None = None) -> Classifier:
        """Learn more rows: the model is then the one that :meth:`fit` makes of all of them."""
        _ = self.statistics  # refuse before reading
        counts = self._count(data, reading)
        with self._lock:
            total = self.statistics + counts
            if not total.rows:
                raise DataError("there are no rows to learn from")
            self._replace(total)
        return self

    def forget(self, data: Any, *, reading: Reading | None = None) -> Classifier:
        """Forget rows: the model is then the one that never saw them. Refuses rows that were never learned."""
        _ = self.statistics  # refuse before reading
        counts = self._count(data, reading)
        with self._lock:
            mine = self.statistics
            if self.min_df > 1:
                # A model loaded from a file does not hold rare terms: they cannot be taken back.
                counts = counts.with_terms(_contained(counts.terms, mine.terms))
            try:
                rest = mine - counts
            except ValueError as error:
                raise DataError(f"{error}; nothing was changed") from error
            if not rest.rows:
                raise DataError("nothing would be left to decide by; nothing was changed")
            self._replace(rest)
        return self

    def merge(self, other: Classifier) -> Classifier:
        """Give a new model: the one that learned the rows of both."""
        mine, theirs = self._described(), other._described()
        for name, value in mine.items():
            if value != theirs[name]:
                raise ValueError(f"cannot merge models with different {_difference(name, value, theirs[name])}")
        merged = self._empty_copy()
        merged._replace(self.statistics + other.statistics)
        return merged

    def _count(self, data: Any, reading: Reading | None) -> Counts:
        counter = Counter(self.settings, self.threads)
        for batch in batches(data, reading):
            self._find_text_column(batch)
            numbers, labels = batch.labels(self.label)
            counter.add(self._texts(batch), numbers, labels)
        return counter.counts()

    def _replace(self, counts: Counts) -> None:
        self._statistics, self._model = counts, self._solve(counts)

    def _solve(self, counts: Counts) -> Model:
        used = counts.with_min_documents(self.min_df)
        prior = log_priors(used.labels, used.class_documents, self.learner.priors)
        return Model(used.labels, used.terms, solve(used, self.learner), prior, self.settings).ready()

    @property
    def statistics(self) -> Counts:
        """The sums over all rows learned."""
        if self._statistics is None:
            raise ValueError(
                "this model was saved slim, without its statistics: it can predict, but not learn or forget"
            )
        return self._statistics

    # ------------------------------------------------------------------------------------------ predicting

    def predict(self, data: Any, *, reading: Reading | None = None) -> NDArray[np.str_]:
        """Give the label of each row, in order."""
        model = self.solved
        decisions = [scores.argmax(axis=1) for _, scores, _ in self._scored(model, data, reading)]
        return model.label_array[np.concatenate(decisions)] if decisions else model.label_array[:0]

    def predict_proba(self, data: Any, *, reading: Reading | None = None) -> NDArray[np.float64]:
        """Give the probability of each label for each row, labels in the order of ``labels``."""
        model = self.solved
        probabilities = [posterior(scores) for _, scores, _ in self._scored(model, data, reading)]
        return np.concatenate(probabilities) if probabilities else np.zeros((0, len(model.labels)))

    def log_joint(self, data: Any, *, full: bool = False) -> NDArray[np.float64]:
        """Give log P(k) + log P(text|k); with ``full`` the multinomial coefficient too, so that it is P(k, text)."""
        from discern.bayes import log_multinomial_coefficient

        model, parts = self.solved, []
        for batch, scores, _ in self._scored(model, data, None):
            if full:
                rows, _ = model.vocabulary.rows(self._texts(batch), self._threads)
                scores = scores + log_multinomial_coefficient(model._matrix(rows, batch.rows))[:, None]
            parts.append(scores)
        return np.concatenate(parts) if parts else np.zeros((0, len(model.labels)))

    def predict_one(self, text: str) -> str:
        """Give the label of one text, as fast as can be.

        Examples
        --------
        >>> model = Classifier().fit([{"label": "a", "text": "x1 x2"}, {"label": "b", "text": "y1 y2"}])
        >>> model.predict_one("some y2")
        'b'
        """
        model = self.solved
        if "scorer" not in model.__dict__ and model.is_seldom_used():
            scores, _ = model.log_joint([text], 1, 1)
            return model.labels[int(scores[0].argmax())]
        return model.scorer(text)  # type: ignore[no-any-return]

    def evaluate(self, data: Any, *, reading: Reading | None = None) -> Evaluation:
        """Judge the model on rows with labels."""
        model, total = self.solved, None
        for batch, scores, _ in self._scored(model, data, reading):
            numbers, labels = batch.labels(self.label)
            true = np.array(labels, dtype=np.str_)[numbers].tolist()
            decided = model.label_array[scores.argmax(axis=1)].tolist()
            part = Evaluation.of(true, decided, posterior(scores), model.labels)
            total = part if total is None else total + part
        if total is None:
            raise DataError("there are no rows to judge by")
        return total

    def explain(self, row: str | Mapping[str, Any]) -> Evidence:
        """Say why a text is given its label: what each of its terms said, in nats, the strongest first.

        Examples
        --------
        >>> model = Classifier().fit([{"label": "a", "text": "x1 x2"}, {"label": "b", "text": "y1 y2"}])
        >>> print(model.explain("x1 y2 y1 zz"))
        b (66.7%), against a
            +0.000  prior
            -0.693  x1
            +0.693  y1
            +0.693  y2
          1 unknown, skipped
        """
        model = self.solved
        [batch] = batches([row])
        rows, unknown = model.vocabulary.rows(self._texts(batch), 1)
        weights = model.scores.at(rows.terms)
        counts = np.ones_like(rows.counts) if model.scores.presence else rows.counts
        scores = model._score_few(rows, 1)[0]
        order = np.argsort(-scores, kind="stable")
        label, against = int(order[0]), int(order[min(1, len(order) - 1)])
        spoken = counts * (weights[:, label] - weights[:, against])
        prior = float(model.prior[label] - model.prior[against])
        terms = [
            TermEvidence(model.terms[int(term)], int(count), float(weight))
            for term, count, weight in zip(rows.terms, rows.counts, spoken, strict=True)
        ]
        start = float(model.scores.bias[label] - model.scores.bias[against])
        complement = self.learner.event == "complement" and len(model.labels) > 1
        return Evidence(
            label=model.labels[label],
            against=model.labels[against],
            probabilities=dict(zip(model.labels, posterior(scores[None])[0].tolist(), strict=True)),
            prior=0.0 if complement else prior,
            absent=0.0 if complement else start - prior,
            terms=tuple(sorted(terms, key=lambda term: (-round(abs(term.weight), 9), term.term))),
            unknown=int(unknown[0]),
        )

    def weights(self, label: str, top: int = 20) -> list[tuple[str, float]]:
        """Give the terms that speak most for a label: the mean log odds against the other labels, in nats."""
        model = self.solved
        if label not in model.labels:
            raise ValueError(f"there is no label {label!r}{did_you_mean(label, model.labels)}")
        place, others = model.labels.index(label), len(model.labels) - 1
        own, total = model.scores.of_class(place), model.scores.sums()
        odds = own - (total - own) / max(others, 1)
        order = np.argsort(-odds, kind="stable")[:top]
        return [(model.terms[int(term)], float(odds[term])) for term in order]

    def _scored(
        self, model: Model, data: Any, reading: Reading | None
    ) -> Iterator[tuple[Batch, NDArray[np.float64], NDArray[np.int64]]]:
        # The model is given: learning in another thread may put a new one in its place meanwhile.
        for batch in batches(data, reading):
            scores, unknown = model.log_joint(self._texts(batch), batch.rows, self.threads)
            yield batch, scores, unknown

    @property
    def _threads(self) -> int:
        return self.threads or default_threads()

    # --------------------------------------------------------------------------------------------- columns

    def _find_text_column(self, batch: Batch) -> None:
        """Find the text column by itself: the one called "text", or else the one with the longest values."""
        if self.text is not None:
            return
        batch.column(self.label)
        candidates = [name for name in batch.columns if name != self.label]
        if not candidates:
            raise DataError(f"{batch.source} has no column but the label {self.label!r}; a text column is needed")
        lengths = {name: _mean_length(batch.columns[name]) for name in candidates}
        self.text = "text" if "text" in lengths else max(lengths, key=lambda name: lengths[name])

    def _texts(self, batch: Batch) -> Any:
        name = self.text or "text"
        if name not in batch.columns and len(batch.columns) == 1:
            name = next(iter(batch.columns))  # nothing else can be meant
        return batch.texts(name)

    # ----------------------------------------------------------------------------------------- description

    @property
    def solved(self) -> Model:
        """The model derived from the statistics."""
        if self._model is None:
            raise ValueError("this classifier has not learned anything yet; call fit first")
        return self._model

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels the model can give, sorted."""
        return self.solved.labels

    @property
    def rows(self) -> int:
        """The number of rows learned."""
        return self.statistics.rows

    def info(self) -> dict[str, Any]:
        """Say what the model is: settings, labels, sizes."""
        model = self.solved
        labels = {label: float(share) for label, share in zip(model.labels, np.exp(model.prior), strict=True)}
        known = self._statistics
        return {
            "model": self.model,
            **self._described(),
            "priors": labels,
            "terms": len(model.terms),
            "parameters": len(model.labels) * (len(model.terms) + 1) - 1,
            "rows": known.rows if known is not None else None,
            "rows_per_label": dict(zip(known.labels, known.class_documents.tolist(), strict=True)) if known else None,
            "slim": known is None,
        }

    def _described(self) -> dict[str, Any]:
        return {
            "label": self.label,
            "text": self.text,
            "min_df": self.min_df,
            "learner": self.learner.to_json(),
            "settings": self.settings.to_json(),
        }

    def _empty_copy(self) -> Classifier:
        copy = Classifier(self.label, text=self.text, model=self.model, min_df=self.min_df, threads=self.threads)
        copy.learner, copy.settings = self.learner, self.settings
        return copy

    # ----------------------------------------------------------------------------------------------- files

    def save(self, path: str | os.PathLike[str], *, slim: bool = False) -> str:
        """Write the model to a file and give its checksum.

        With ``slim`` the statistics are left out: a smaller file that can predict, but not learn, forget or merge.
        """
        with self._lock:
            content = self._content(slim)
        return files.save(path, *content)

    def _content(self, slim: bool = False) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        model = self.solved
        metadata = {"model": self.model, **self._described(), "labels": list(model.labels), "slim": slim}
        if not slim:
            return self.statistics.with_min_documents(self.min_df).arrays(), metadata
        return {
            "terms.offsets": model.terms.offsets,
            "terms.bytes": model.terms.data,
            "bias": model.scores.bias,
            "prior": model.prior,
            **_weights_to_arrays(model.scores),
        }, metadata

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Classifier:
        """Read a model that :meth:`save` wrote."""
        arrays, metadata = files.load(path)
        try:
            return cls._from_content(arrays, metadata)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
            raise files.ModelFileError(f"{str(path)!r} is damaged: {error}") from error

    @classmethod
    def _from_content(cls, arrays: dict[str, NDArray[Any]], metadata: dict[str, Any]) -> Classifier:
        loaded = cls(
            str(metadata["label"]), text=metadata["text"], model=metadata["model"], min_df=int(metadata["min_df"])
        )
        loaded.learner = NaiveBayesSettings.from_json(metadata["learner"])
        loaded.settings = TextSettings.from_json(metadata["settings"])
        _ = loaded.settings.native  # complain about settings now, not at predict
        if not isinstance(loaded.text, str | None):
            raise ValueError("the name of the text column is no text")
        labels = tuple(metadata["labels"])
        if not labels or not all(isinstance(label, str) and label and "\0" not in label for label in labels):
            raise ValueError("the labels are not texts")
        if not metadata["slim"]:
            loaded._replace(Counts.from_arrays(labels, arrays))
            return loaded
        if arrays["terms.offsets"].dtype.kind not in "iu":
            raise ValueError("the terms do not fit their bytes")
        terms = Strings(arrays["terms.offsets"].astype(np.int64), arrays["terms.bytes"])
        check_terms(terms)
        whole = ("terms.offsets", "terms.bytes", "excess.indices", "excess.indptr")
        numbers = {name: _float_array(array) for name, array in arrays.items() if name not in whole}
        scores = _weights_from_arrays(
            {**arrays, **numbers}, loaded.learner.event == "bernoulli", len(terms), len(labels)
        )
        shares = np.exp(np.minimum(numbers["prior"], 0.0))
        if shares.shape != (len(labels),) or len(set(labels)) < len(labels) or abs(shares.sum() - 1) > 1e-6:
            raise ValueError("the labels do not fit their priors")
        loaded._statistics = None
        loaded._model = Model(labels, terms, scores, numbers["prior"], loaded.settings).ready()
        return loaded

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in self.__dict__.items() if name not in ("_lock", "_model")}
        state["_content"] = None if self._statistics is not None else self._content(slim=True)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        content = state.pop("_content")
        self.__dict__.update(state)
        self._lock, self._model = threading.RLock(), None
        if content is not None:
            self._model = Classifier._from_content(*content)._model
        elif self._statistics is not None and self._statistics.rows:
            self._model = self._solve(self._statistics)

    def __repr__(self) -> str:
        learned = f"{len(self._model.labels)} labels, {len(self._model.terms)} terms" if self._model else "not fitted"
        return f"<discern.Classifier {self.model}: {learned}>"


def load(path: str | os.PathLike[str]) -> Classifier:
    """Read a model file.

    Examples
    --------
    >>> import tempfile
    >>> model = Classifier().fit([{"label": "a", "text": "x1 x2"}, {"label": "b", "text": "y1 y2"}])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     checksum = model.save(f"{folder}/m.discern")
    ...     load(f"{folder}/m.discern").predict(["x2"]).tolist()
    ['a']
    """
    return Classifier.load(path)


def _weights_to_arrays(scores: LinearScores) -> dict[str, NDArray[Any]]:
    if scores.weights is not None:
        return {"weights": scores.weights}
    assert scores.shift is not None
    assert scores.level is not None
    return {
        "shift": scores.shift,
        "level": scores.level,
        "excess.data": scores.excess.data,
        "excess.indices": scores.excess.indices,
        "excess.indptr": scores.excess.indptr,
    }


def _weights_from_arrays(arrays: dict[str, NDArray[Any]], presence: bool, terms: int, labels: int) -> LinearScores:
    bias = arrays["bias"]
    if "weights" in arrays:
        weights = arrays["weights"]
        if weights.shape != (terms, labels) or bias.shape != (labels,):
            raise ValueError("the weights do not fit the terms and labels")
        return LinearScores(bias, weights, presence)
    import scipy.sparse

    shift, level, data = arrays["shift"], arrays["level"], arrays["excess.data"]
    if (shift.shape, level.shape, bias.shape) != ((terms,), (labels,), (labels,)):
        raise ValueError("the weights do not fit the terms and labels")
    parts = (data, arrays["excess.indices"].astype(np.int64), arrays["excess.indptr"].astype(np.int64))
    excess = scipy.sparse.csr_matrix(parts, shape=(terms, labels))
    excess.check_format(full_check=True)
    return LinearScores(bias, None, presence, shift, level, excess)


def _float_array(array: NDArray[Any]) -> NDArray[np.float64]:
    """Give numbers from a file as the native code takes them; refuse what no logarithm is."""
    if array.dtype != np.float64 or not bool(np.all(np.abs(array) < 1e100)):
        raise ValueError("a weight is not a logarithm")
    return np.require(array, np.float64, ["C", "A"])


def _difference(name: str, mine: Any, theirs: Any) -> str:
    """Name the first setting that differs, within settings of settings."""
    if isinstance(mine, dict) and isinstance(theirs, dict):
        for key in mine:
            if mine[key] != theirs.get(key):
                return _difference(key, mine[key], theirs.get(key))
    return f"{name}: {mine!r} and {theirs!r}"


def _contained(terms: Strings, known: Strings) -> NDArray[np.bool_]:
    """Say which of some sorted terms are among others."""
    lists = [(side.offsets, np.ascontiguousarray(side.data)) for side in (terms, known)]
    _, _, (places, known_places) = _native.merge_terms(lists)
    return np.isin(places, known_places)


def _mean_length(column: Any) -> float:
    if isinstance(column, Strings):
        return float(np.mean(np.diff(column.offsets[:101]))) if len(column) else 0.0
    values = [str(value) for value in column[:100] if value is not None]
    return sum(map(len, values)) / len(values) if values else 0.0
