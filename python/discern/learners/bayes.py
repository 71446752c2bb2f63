"""Naive Bayes: from counts to log probabilities. Smoothing, priors and event model are applied here, at solve time.

Notation as in the textbooks: T_kt occurrences of term t in class k, D_kt documents of class k that hold t, N_k
documents of class k, V the number of terms. Each event model is one function of a count and its margins, written
once for dense and sparse counts. Where a class has never seen a term, the weight depends on the term or the class only:

    weight(t, k) = shift(t) + level(k) + excess(t, k),   with excess = 0 where the count is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

import discern._native as _native
from discern.data.registry import Registry
from discern.data.threads import default_threads
from discern.data.values import label_text
from discern.learners.smoothing import JelinekMercer, Laplace, Smoothing, smoothing_from_json, smoothing_to_json
from discern.statistics.counts import Counts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

MOST_DENSE = 1 << 25
"""Weights of more numbers than this are sparse."""
AT_ONCE = 1 << 16
"""Weights are computed for this many numbers at once, so that intermediate results stay in the cache."""
MOST_SURE = 1 - 2.0**-53
"""The largest probability of a word: with 1, a document without it would have no logarithm."""
Priors = tuple[tuple[str, float], ...]
"""Labels and their given probabilities, sorted."""
ROUNDED = 1e-9
"""Probabilities that sum to one differ from it by no more."""
NORMALIZATIONS = ("documents", "vocabulary")


@dataclass(frozen=True, eq=False)
class Margins:
    """Sums of a table of counts: by term, by class, overall; and documents by class."""

    terms: Array
    classes: Array
    documents: Array
    size: int
    overall: float | None = None
    """The sum of all counts, where classes share rows; else it is that of the classes."""


WeightFunction = Callable[[Any, Any, Any, Any], Any]


def multinomial_weight(smoothing: Smoothing, margins: Margins) -> WeightFunction:
    """Return log P(t|k) as a function of T_kt, its sum over classes, its sum over terms, and N_k."""
    total = max(float(np.sum(margins.classes)) if margins.overall is None else margins.overall, 1.0)
    if isinstance(smoothing, Laplace):
        alpha = np.asarray(smoothing.alpha, np.float64)
        added = alpha.sum() if alpha.ndim else alpha * margins.size
        return lambda count, _, in_class, __: np.log(count + alpha) - np.log(in_class + added)
    if isinstance(smoothing, JelinekMercer):
        own = smoothing.weight

        def mixed(count: Any, of_term: Any, in_class: Any, _: Any) -> Any:
            share = np.where(np.asarray(in_class) > 0, own, 0.0)  # a class without words is as the corpus
            return np.log(share * count / np.maximum(in_class, 1) + (1 - share) * of_term / total)

        return mixed
    mass = smoothing.mass
    return lambda count, of_term, in_class, _: np.log(count + mass * of_term / total) - np.log(in_class + mass)


def complement_weight(alpha: Any, margins: Margins) -> WeightFunction:
    """Return −log P(t|not k), as a function of the same."""
    total = float(np.sum(margins.classes))
    added = np.asarray(alpha).sum() if np.ndim(alpha) else alpha * margins.size
    return lambda count, of_term, in_class, _: np.log(total - in_class + added) - np.log(of_term - count + alpha)


def contrast_weight(smoothing: Smoothing, margins: Margins, own: float) -> WeightFunction:
    """Return s log P(t|k) − (1 − s) log P(t|not k), as a function of the same.

    With s = ½ it decides as "one versus all but one" of J. Rennie and others, "Tackling the poor assumptions of naive
    Bayes text classifiers", ICML 2003 (equation 7); with s = 0 it is their complement model.
    """
    weight, total = multinomial_weight(smoothing, margins), float(np.sum(margins.classes))

    def contrast(count: Any, of_term: Any, in_class: Any, documents: Any) -> Any:
        rest = weight(of_term - count, of_term, total - in_class, documents)
        return own * weight(count, of_term, in_class, documents) - (1 - own) * rest

    return contrast


def bernoulli_probability(alpha: Any, margins: Margins, normalization: str) -> WeightFunction:
    """Return P(e_t=1|k) as a function of D_kt and its margins."""
    if normalization == "vocabulary":  # normalized over terms instead of documents
        return lambda count, _, in_class, __: (count + alpha) / (in_class + alpha * margins.size)
    return lambda count, _, __, documents: (count + alpha) / (documents + 2 * alpha)


def presence_probability(settings: NaiveBayesSettings, margins: Margins) -> WeightFunction:
    """Return P(e_t=1|k), below one."""
    smoothed = bernoulli_probability(laplace_alpha(settings), margins, settings.normalization)
    return lambda *margin: np.minimum(smoothed(*margin), MOST_SURE)


def bernoulli_weight(settings: NaiveBayesSettings, margins: Margins) -> WeightFunction:
    """Return log odds of P(e_t=1|k): what a term that is there adds to the score of the empty document."""
    probability = presence_probability(settings, margins)
    return lambda *margin: log_odds(probability(*margin))


def bernoulli_absence(settings: NaiveBayesSettings, margins: Margins, counts: Counts) -> Array:
    """Return Σ over terms of log(1 − P(e_t=1|k)): the score of a document that holds nothing."""
    if not margins.size:
        return np.zeros(len(counts.labels))
    probability = presence_probability(settings, margins)
    unseen = np.log1p(-probability(0, 0, margins.classes, margins.documents))
    classes = counts.entry_classes
    seen = np.log1p(-probability(counts.documents, 0, margins.classes[classes], margins.documents[classes]))
    sums = np.bincount(classes, seen - unseen[classes], len(counts.labels))
    return np.asarray(sums + unseen * margins.size)


def laplace_alpha(settings: NaiveBayesSettings) -> Any:
    """Return α of an event model that takes Laplace smoothing only."""
    assert isinstance(settings.smoothing, Laplace)
    return settings.smoothing.alpha


@dataclass(frozen=True)
class EventModel:
    """How the counts of terms become weights: one row of :data:`EVENT_MODELS`."""

    name: str
    weight: Callable[[NaiveBayesSettings, Margins], WeightFunction]
    presence: bool = False
    """Whether a term counts once a document."""
    has_prior: bool = True
    """False for models that compare a class with the rest of the corpus: terms alone decide."""
    held_out: str = "solve"
    """How a row is scored by the model without it: "subtract" and "contrast" take it off the multinomial sums, and
    "solve" works for every model: the sums without a fold are solved again."""
    laplace_only: bool = False
    contrasts: bool = False
    """Whether a class has its own share in a comparison with the rest."""
    absence: Callable[[NaiveBayesSettings, Margins, Counts], Array] | None = None
    """What a document without any term adds to the score of each class."""


def _multinomial(settings: NaiveBayesSettings, margins: Margins) -> WeightFunction:
    return multinomial_weight(settings.smoothing, margins)


def _complement(settings: NaiveBayesSettings, margins: Margins) -> WeightFunction:
    return complement_weight(laplace_alpha(settings), margins)


def _contrast(settings: NaiveBayesSettings, margins: Margins) -> WeightFunction:
    return contrast_weight(settings.smoothing, margins, settings.own)


EVENT_MODELS: Registry[EventModel] = Registry(
    "event model",
    [
        EventModel("multinomial", _multinomial, held_out="subtract"),
        EventModel("binary", _multinomial, presence=True, held_out="subtract"),
        EventModel("bernoulli", bernoulli_weight, presence=True, laplace_only=True, absence=bernoulli_absence),
        EventModel("complement", _complement, has_prior=False, held_out="contrast", laplace_only=True),
        EventModel("contrast", _contrast, has_prior=False, held_out="contrast", contrasts=True),
        EventModel("binary-contrast", _contrast, presence=True, has_prior=False, held_out="contrast", contrasts=True),
    ],
)


@dataclass(frozen=True)
class NaiveBayesSettings:
    """Settings that turn counts into a model.

    Parameters
    ----------
    event : {"multinomial", "binary", "bernoulli", "complement", "contrast", "binary-contrast"}
        ``"binary"`` is multinomial, each word counted once a document. ``"complement"`` uses all other classes
        instead of the class, ``"contrast"`` uses both.
    smoothing : Laplace, JelinekMercer or Dirichlet
        Only Laplace for ``"bernoulli"`` and ``"complement"``.
    priors : "data", "uniform" or a mapping of label to probability
        A label that the mapping does not name has its share of the rows; see :func:`log_priors`.
    normalization : {"documents", "vocabulary"}
        The divisor of the Bernoulli model: the documents of the class, or its presences over the vocabulary.
    level_smoothing : float, optional
        Laplace's α for categories, flags and bins; by default that of the words, or 1 if they have another smoothing.
    most_terms : int, optional
        The number of terms of each text column to use: the best by ``select``.
    select : {"chi2", "mutual_information"}
    own : float
        For ``"contrast"`` and ``"binary-contrast"``: the share of the class itself, 0 is ``"complement"``.
    views : tuple of (str, smoothing)
        Other ways in which texts are cut into terms, each with its smoothing; see :meth:`TextSettings.view`.
    """

    event: str = "multinomial"
    smoothing: Smoothing = field(default_factory=Laplace)
    priors: str | Priors = "data"
    normalization: str = "documents"
    level_smoothing: float | None = None
    most_terms: int | None = None
    select: str = "chi2"
    own: float = 0.5
    views: tuple[tuple[str, Smoothing], ...] = ()

    def __post_init__(self) -> None:
        event = self.event_model
        if isinstance(self.smoothing, Laplace) and not np.all(np.asarray(self.smoothing.alpha) > 0):
            raise ValueError("alpha must be above 0: without smoothing one unseen word decides everything")
        if (
            isinstance(self.smoothing, Laplace)
            and not 1e-100 <= np.min(self.smoothing.alpha) <= np.max(self.smoothing.alpha) <= 1e100
        ):
            raise ValueError(f"alpha must be from 1e-100 to 1e100, not {self.smoothing.alpha!r}")
        if event.laplace_only and not isinstance(self.smoothing, Laplace):
            raise ValueError(f"the {self.event} model takes Laplace smoothing only, not {self.smoothing!r}")
        if self.level_smoothing is not None and not 1e-100 <= self.level_smoothing <= 1e100:
            raise ValueError(f"level_smoothing must be from 1e-100 to 1e100, not {self.level_smoothing!r}")
        if self.normalization not in NORMALIZATIONS:
            raise ValueError(f"normalization must be 'documents' or 'vocabulary', not {self.normalization!r}")
        if self.most_terms is not None and self.most_terms < 1:
            raise ValueError(f"most_terms must be above 0, not {self.most_terms!r}")
        if not 0 <= self.own <= 1:
            raise ValueError(f"own must be a share from 0 to 1, not {self.own!r}")
        if self.select != "chi2":
            _check_score(self.select)

    @property
    def event_model(self) -> EventModel:
        """The event model, as the registry describes it."""
        return EVENT_MODELS[self.event]

    @property
    def presence(self) -> bool:
        """Whether a word counts once a document."""
        return self.event_model.presence

    @property
    def contrasts(self) -> bool:
        """Whether a class is compared with the rest, with its own share."""
        return self.event_model.contrasts

    @property
    def generative(self) -> NaiveBayesSettings:
        """The settings of the model of the same counts that has likelihoods: of terms within their class."""
        if self.event_model.has_prior:
            return replace(self, views=())
        return replace(self, event="binary" if self.presence else "multinomial", views=())

    def of_view(self, view: str) -> NaiveBayesSettings:
        """Return the settings for the terms of a view of texts, which is always multinomial."""
        smoothings = dict(self.views)
        if view not in smoothings:
            return self
        event = "binary" if self.presence else "multinomial"
        return replace(self, event=event, smoothing=smoothings[view], most_terms=None)

    def without_labels(self, gone: Container[str]) -> NaiveBayesSettings:
        """Return the settings without the given priors of some labels."""
        if isinstance(self.priors, str):
            return self
        left = tuple((label, value) for label, value in self.priors if label not in gone)
        return self if left == self.priors else replace(self, priors=left or "data")

    def renamed(self, new: Mapping[str, str]) -> NaiveBayesSettings:
        """Return the settings for labels with other names: each keeps its prior, even if its new name has one."""
        if isinstance(self.priors, str):
            return self
        given = dict(self.priors)
        kept = {label: value for label, value in given.items() if label not in new}
        kept |= {new[label]: value for label, value in given.items() if label in new}
        return replace(self, priors=tuple(sorted(kept.items())))

    def to_json(self) -> dict[str, Any]:
        """Return the settings as plain values."""
        priors = self.priors if isinstance(self.priors, str) else dict(self.priors)
        return {
            "event": self.event,
            "smoothing": smoothing_to_json(self.smoothing),
            "priors": priors,
            "normalization": self.normalization,
            "level_smoothing": self.level_smoothing,
            **({} if self.most_terms is None else {"most_terms": self.most_terms, "select": self.select}),
            **({"own": self.own} if self.contrasts else {}),
            **({"views": {view: smoothing_to_json(one) for view, one in self.views}} if self.views else {}),
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> NaiveBayesSettings:
        """Make settings of what :meth:`to_json` gave."""
        return cls(
            values["event"],
            smoothing_from_json(values["smoothing"]),
            stored_priors(values["priors"]),
            values["normalization"],
            None if values["level_smoothing"] is None else float(values["level_smoothing"]),
            None if values.get("most_terms") is None else int(values["most_terms"]),
            str(values.get("select", "chi2")),
            float(values.get("own", 0.5)),
            tuple((str(view), smoothing_from_json(one)) for view, one in values.get("views", {}).items()),
        )


def as_priors(priors: Mapping[str, float]) -> Priors:
    """Check given priors: positive, summing to one."""
    if any(not value > 0 for value in priors.values()) or abs(sum(priors.values()) - 1) > ROUNDED:
        raise ValueError(f"priors must be positive and sum to 1, not {dict(priors)}")
    named = {label_text(label): float(value) for label, value in priors.items()}
    if len(named) < len(priors):
        raise ValueError(f"priors name a label twice: {list(priors)}")
    return tuple(sorted(named.items()))


def stored_priors(priors: Any) -> str | Priors:
    """Read priors from a file. Those of forgotten labels are gone, so the sum may be below one."""
    if isinstance(priors, str):
        return priors
    given = tuple(sorted((str(label), float(value)) for label, value in priors.items()))
    if any(not value > 0 for _, value in given) or sum(value for _, value in given) > 1 + ROUNDED:
        raise ValueError("the priors are not probabilities")
    return given


def log_priors(labels: Sequence[str], documents: Array, priors: str | Priors) -> Array:
    """Return log P(k): from the data, uniform, or given.

    A label without a given prior has its share of the rows. The given priors divide the rest in their proportions.

    Examples
    --------
    >>> given = (("ham", 0.25), ("spam", 0.75))
    >>> np.exp(log_priors(["ham", "news", "spam"], np.array([4, 2, 4]), given)).round(3).tolist()
    [0.2, 0.2, 0.6]
    """
    if priors == "uniform":
        return np.full(len(labels), -np.log(max(len(labels), 1)))
    shares = np.log(documents) - np.log(documents.sum())
    if isinstance(priors, str):
        return np.asarray(shares)
    given = dict(priors)
    named = np.array([label in given for label in labels], bool)
    if not named.any():
        return np.asarray(shares)
    values = np.array([given.get(label, 1.0) for label in labels])
    total = float(values[named].sum())
    if named.all() and abs(total - 1) <= ROUNDED:
        return np.asarray(np.log(values))
    rest = 1.0 - float(np.exp(shares[~named]).sum())
    return np.asarray(np.where(named, np.log(values) - np.log(total) + np.log(rest), shares))


def _check_score(name: str) -> None:
    from discern.statistics.selection import SCORES

    if name not in SCORES:
        raise ValueError(f"select must be one of {', '.join(SCORES)}, not {name!r}")


@dataclass(frozen=True, eq=False)
class LinearScores:
    """The linear view of naive Bayes: score(k) = bias(k) + Σ over terms of n_t · weight(t, k).

    ``weights`` is dense, a row a term. If that has too many numbers it is None, and ``shift``, ``level`` and
    ``excess`` (a SciPy sparse matrix) stand for it, as described at the top. With ``presence``, n_t is 0 or 1.
    """

    bias: Array
    weights: Array | None
    presence: bool = False
    shift: Array | None = None
    level: Array | None = None
    excess: Any = None

    def of_rows(self, rows: Any) -> Array:
        """Return the scores of a SciPy sparse matrix of counts."""
        if self.presence:
            rows = (rows > 0).astype(np.float64)
        if self.weights is not None:
            return np.asarray(rows @ self.weights) + self.bias
        lengths = np.asarray(rows.sum(axis=1)).reshape(-1, 1)
        sums = (rows @ self.excess).toarray() + np.asarray(rows @ self.shift).reshape(-1, 1) + lengths * self.level
        return np.asarray(sums + self.bias)

    def at(self, terms: Array) -> Array:
        """Return the weights of some terms, a row each."""
        if self.weights is not None:
            return np.asarray(self.weights[terms])
        assert self.shift is not None
        return np.asarray(self.excess[terms].toarray() + self.shift[terms][:, None] + self.level)

    def of_class(self, place: int) -> Array:
        """Return the weights of all terms for one class."""
        if self.weights is not None:
            return np.asarray(self.weights[:, place])
        assert self.shift is not None
        assert self.level is not None
        return np.asarray(self.excess[:, [place]].toarray().ravel() + self.shift + self.level[place])

    def sums(self) -> Array:
        """Return the weights of each term, summed over the classes."""
        if self.weights is not None:
            return np.asarray(self.weights.sum(axis=1))
        assert self.shift is not None
        assert self.level is not None
        sums = np.asarray(self.excess.sum(axis=1)).ravel()
        return np.asarray(sums + len(self.level) * self.shift + self.level.sum())


def solve(counts: Counts, settings: NaiveBayesSettings, start: Array | None = None) -> LinearScores:
    """Derive the linear scores of naive Bayes from counts; they begin with ``start``, by default the log prior.

    Examples
    --------
    >>> counts = Counts.of(["win win", "hello"], ["spam", "ham"])
    >>> model = solve(counts, NaiveBayesSettings())
    >>> np.exp(model.weights).round(3).tolist()
    [[0.667, 0.25], [0.333, 0.75]]
    """
    event, presence = settings.event_model, settings.presence
    values = counts.documents if presence else counts.occurrences
    margins = Margins(
        counts.term_documents if presence else counts.term_occurrences,
        counts.class_presences if presence else counts.class_occurrences,
        counts.class_documents,
        len(counts.terms),
    )
    bias = log_priors(counts.labels, counts.class_documents, settings.priors) if start is None else start
    if not event.has_prior and len(counts.labels) > 1 and start is None:
        bias = np.zeros_like(bias)
    if event.absence is not None:
        bias = bias + event.absence(settings, margins, counts)
    return tabulate(counts, values, margins, event.weight(settings, margins), bias, presence)


def log_odds(probability: Any) -> Any:
    """Return log p − log(1 − p)."""
    return np.log(probability) - np.log1p(-probability)


def tabulate(
    counts: Counts, values: Array, margins: Margins, weight: WeightFunction, bias: Array, presence: bool
) -> LinearScores:
    """Return the scores of a table of counts: dense, or sparse if that has too many numbers."""
    shape = (len(counts.terms), len(counts.labels))
    with np.errstate(divide="ignore"):  # without smoothing, what was never seen has log 0
        if shape[0] * shape[1] <= MOST_DENSE:
            dense = np.zeros(shape)
            dense[counts.entry_terms, counts.entry_classes] = values
            several = max(AT_ONCE // max(shape[1], 1), 1)
            for rows in (slice(start, start + several) for start in range(0, shape[0], several)):
                dense[rows] = weight(dense[rows], margins.terms[rows, None], margins.classes, margins.documents)
            return LinearScores(bias, dense, presence)
        import scipy.sparse

        terms, classes = counts.entry_terms, counts.entry_classes
        margin = (margins.terms[terms], margins.classes[classes], margins.documents[classes])
        excess = weight(values, *margin) - weight(0, *margin)
        # Not every model uses both margins: the result may be one number for all.
        shift = np.broadcast_to(weight(0, margins.terms, margins.classes[0], margins.documents[0]), shape[:1])
        level = weight(0, margins.terms[0], margins.classes, margins.documents) - shift[0]
    matrix = scipy.sparse.csr_matrix((excess, (terms, classes)), shape=shape)
    return LinearScores(bias, None, presence, shift, np.broadcast_to(level, shape[1:]), matrix)


def posterior(scores: Array, in_place: bool = False) -> Array:
    """Turn log joint probabilities into probabilities, by log-sum-exp; a row without evidence becomes uniform.

    With ``in_place``, the scores may be overwritten: a table of millions of rows is not copied.

    Examples
    --------
    >>> posterior(np.array([[-1000.0, -1000.0]])).tolist()
    [[0.5, 0.5]]
    """
    shares = np.require(scores, np.float64, ["C", "W"]) if in_place else np.array(scores, np.float64, order="C")
    _native.to_probabilities(shares, default_threads())
    return shares


def log_multinomial_coefficient(rows: Any) -> Array:
    """Return log(|d|! / Π f_t!) for each row: a factor of the likelihood that cancels in the posterior."""
    from scipy.special import gammaln

    lengths = np.asarray(rows.sum(axis=1)).ravel()
    factorials = rows.astype(np.float64)
    factorials.data = gammaln(factorials.data + 1)
    return np.asarray(gammaln(lengths + 1) - np.asarray(factorials.sum(axis=1)).ravel())
