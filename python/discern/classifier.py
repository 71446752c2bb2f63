"""A classifier on named columns: raw rows in, decisions with probability and evidence out."""

from __future__ import annotations

import itertools
import json
import os
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

import discern.models.file as files
from discern.data.batch import Batch, did_you_mean
from discern.data.readers import batches, can_be_read_again
from discern.data.roles import Feature, leading_rows
from discern.data.source import Reading
from discern.data.strings import DataError
from discern.data.text import TextSettings
from discern.data.values import label_text
from discern.learners.bayes import NaiveBayesSettings
from discern.models.columns import statistics_of
from discern.models.columns.kind import Scores
from discern.models.naive_bayes import Model, Summing, solve_columns
from discern.models.settings import EVENTS, IN_CONTESTS, Request, as_text, is_auto, naive_bayes, roles_given
from discern.statistics.sums import Sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discern.evaluation.calibration import Temperature
    from discern.evaluation.decisions import Decision
    from discern.evaluation.evaluation import Evaluation
    from discern.models.choice import Choice
    from discern.models.evidence import Evidence
    from discern.models.rows import Sample
    from discern.models.search import Watch
    from discern.models.space_model import Recipe, SpaceModel
    from discern.statistics.ledger import Ledger


T = TypeVar("T")


class Receipt(str):
    """What :meth:`Classifier.forget` returns: the checksum of the model file as it now would be.

    It equals the checksum of a model that never saw the rows. ``forgotten`` and ``rows`` are the numbers of rows
    forgotten and left. ``proven`` is true if a ledger proves that exactly these rows had been learned; counts alone
    cannot prove it.
    """

    forgotten: int
    rows: int
    proven: bool

    def __new__(cls, checksum: str, forgotten: int, rows: int, proven: bool = False) -> Receipt:
        receipt = super().__new__(cls, checksum)
        receipt.forgotten, receipt.rows, receipt.proven = forgotten, rows, proven
        return receipt


_ALIVE: weakref.WeakSet[Classifier] = weakref.WeakSet()


def _renew_locks() -> None:
    """Renew all locks in a forked process: the thread that held one is not there to release it."""
    for classifier in _ALIVE:
        classifier._make_locks()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)


def _one_at_a_time(method: Callable[..., T]) -> Callable[..., T]:
    """Let one thread at a time change a classifier, from reading its state to replacing it."""

    @wraps(method)
    def alone(self: Classifier, *arguments: Any, **named: Any) -> T:
        with self._turn:
            return method(self, *arguments, **named)

    return alone


class Classifier:
    """Classify rows of text, numbers and categories: from raw rows to a decision with probability and evidence.

    Parameters
    ----------
    label : str
        The column that holds the labels.
    model : str
        ``"naive-bayes"``, or with a given event model for texts ``"multinomial"``, ``"binary"``, ``"bernoulli"`` or
        ``"complement"``; with ``"naive-bayes"`` it is chosen by validation, as are n-grams. These are sums over rows:
        they learn, forget and merge. In a vector space, not as sums, and with all rows in memory: ``"logistic"``,
        ``"linear-svm"``, ``"nbsvm"``, ``"ridge"``, ``"lda"``, ``"qda"``, ``"knn"``. Texts are then sublinear tf–idf of
        words and pairs of words (for ``"nbsvm"``: which are there), numbers are standardised, and a category has an
        axis for each value. ``"best"`` compares those that suit the data, and keeps the winner (see ``leaderboard``).
    smoothing : "auto", float, Laplace, JelinekMercer or Dirichlet
        A number is Laplace's α. ``"auto"`` chooses by the log loss of rows left out one by one, after calibration, if
        there are at least 100 rows; with fewer it is Laplace's with α = 1. A smoothing that is given leaves nothing to
        choose: words are then counted one by one, multinomial, unless told otherwise.
    text, number, category, flag : str or list of str, optional
        The columns to decide by. If none is given, all are used and their roles are inferred (see ``features``).
    numbers : {"auto", "gaussian", "quantile", "uniform", "mdl"}
        How numbers speak: by a normal density in each class, or by bins that are equally full, equally wide, or cut
        where the classes change. ``"auto"`` chooses by validation; with few rows it is ``"gaussian"``.
    calibrate : "auto" or bool
        Whether probabilities are calibrated on rows left out; ``"auto"``: if the smoothing is chosen by validation too.
    priors : {"data", "uniform", "auto"} or mapping of label to probability
        ``"auto"``: whichever of the first two validation favours.
    normalization : {"documents", "vocabulary"}
        What the Bernoulli model divides by.
    min_df : int, optional
        Terms that occur in fewer documents are not used; by default 1, in a vector space 2 (but for ``"nbsvm"``). Naive
        Bayes keeps their counts, so that they can be used as soon as more rows have them; a slim file does not hold
        them.
    ledger : bool or str
        Keep a digest of every row beside the counts, so that :meth:`forget` refuses rows that were never learned
        (counts alone cannot tell). The digests are salted: with True by random bytes, or by 32 hexadecimal digits,
        which models that are to be merged must share. For naive Bayes only.
    ngrams : tuple of int, optional
        The shortest and longest n-grams; by default (1, 1), or what validation chooses; in a vector space (1, 2).
    characters : tuple of int, optional
        In a vector space: the shortest and longest character n-grams within words that are counted too.
    features : int or "auto", optional
        How many terms of a text are used, the best by ``select``; by default all, but 6,000 for ``"ridge"``, 1,000 for
        ``"lda"`` and 100 for ``"qda"``. For naive Bayes they are selected when the model is solved: it still learns,
        forgets and merges; and ``"auto"`` has validation choose.
    select : {"chi2", "mutual-information"}
    budget : float
        For ``"best"``: the seconds that comparing and learning may take.
    analyzer, words, lowercase, stop_words, stem, shortest, pattern
        Which terms a text has: see :class:`discern.TextSettings`. Words of mails have at least one character unless
        ``shortest`` is given, others two. With ``stem="auto"`` validation of naive Bayes says whether words are
        stemmed, in the language that they seem to be of.
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
        smoothing: Any = "auto",
        text: str | Sequence[str] | None = None,
        number: str | Sequence[str] | None = None,
        category: str | Sequence[str] | None = None,
        flag: str | Sequence[str] | None = None,
        numbers: str = "auto",
        calibrate: str | bool = "auto",
        priors: str | Mapping[str, float] = "data",
        normalization: str = "documents",
        min_df: int | None = None,
        analyzer: str = "word",
        words: str = "words",
        lowercase: bool = True,
        ngrams: tuple[int, int] | None = None,
        stop_words: Sequence[str] = (),
        stem: str | None = "auto",
        shortest: int | None = None,
        pattern: str | None = None,
        characters: tuple[int, int] | None = None,
        features: int | None = None,
        select: str = "chi2",
        budget: float = 60.0,
        ledger: bool | str = False,
        threads: int | None = None,
    ) -> None:
        terms = {
            "analyzer": analyzer,
            "words": words,
            "lowercase": lowercase,
            "ngrams": ngrams,
            "stop_words": stop_words,
            "stem": stem,
            "shortest": shortest,
            "pattern": pattern,
        }
        self.request = Request(
            label=label,
            given=roles_given(label, text=text, number=number, category=category, flag=flag),
            model=model,
            learner=naive_bayes(model, smoothing, priors, normalization, features, select),
            text=as_text(terms),
            chooses_smoothing=is_auto(smoothing),
            chooses_priors=is_auto(priors),
            chooses_stem=is_auto(stem),
            numbers=numbers,
            calibrate=calibrate,
            min_df=min_df,
            shortest=shortest,
            ngrams=ngrams,
            characters=characters,
            features=features,
            select=select,
            budget=float(budget),
            ledger=ledger,
            threads=threads,
        )
        self._start()

    def _start(self) -> None:
        """Reset to the untrained state."""
        request = self.request
        self.label, self.threads = request.label, request.threads
        self.min_df = request.min_df or 1
        self.features = request.given
        self.learner, self.settings = request.learner, request.text
        self.left_out: dict[str, str] = {}
        self.calibration: Temperature | None = None
        self.chosen: dict[str, Any] | None = None
        self.decision: Decision | None = None
        self.recipe: Recipe | None = None
        self.leaderboard: list[dict[str, Any]] = []
        self.limitation = ""
        self._make_locks()
        self._statistics: Sums | None = Sums()
        self._ledger: Ledger | None = None
        self._model: Model | SpaceModel | None = None

    def _make_locks(self) -> None:
        self._turn = threading.RLock()  # held by whoever changes the classifier, as long as that takes
        self._lock = threading.RLock()  # held while attributes that belong together are read or replaced
        _ALIVE.add(self)

    @property
    def model(self) -> str:
        """The name of the model that was asked for."""
        return self.request.model

    # ------------------------------------------------------------------------------------------- learning

    @_one_at_a_time
    def fit(self, data: Any, *, reading: Reading | None = None, watch: Watch | None = None) -> Classifier:
        """Learn from rows, forgetting everything learned before. If that fails, nothing is changed.

        With ``model="best"``, ``watch`` is called with the leaderboard each time that a model has been judged.
        """
        before = self.request
        try:
            self._fit(data, reading, watch)
        except BaseException:
            self.request = before
            raise
        return self

    def _warn_of_priors(self, labels: Iterable[str]) -> None:
        priors = self.request.learner.priors
        unnamed = [] if isinstance(priors, str) else [label for label in labels if label not in dict(priors)]
        if unnamed:
            message = f"there is no prior for the label {unnamed[0]!r}: it has its share of the rows"
            warnings.warn(message, stacklevel=5)

    def _fit(self, data: Any, reading: Reading | None, watch: Watch | None) -> Classifier:
        from discern.statistics.ledger import as_salt

        started = time.monotonic()
        first, stream = leading_rows(batches(data, reading))
        if first is None:
            raise DataError("there are no rows to learn from")
        self.request = self.request.suiting(first)
        features, left_out = self.request.features_of(first)
        del first  # its memory is used again as soon as nobody looks at it
        if not self.request.is_sum:
            rows = [_named(batch, features) for batch in stream if batch.rows]
            return self._fit_space(rows, features, left_out, watch, started + self.request.budget)
        salt = as_salt(self.request.ledger)
        if self.request.validates(features):
            choice, sums, ledger = self._choose(stream, data, reading, features, salt)
        else:
            choice = self.request.unchosen(features)
            sums, ledger = self._sum(stream, features, choice.text, salt)
        if not sums.rows:
            raise DataError("there are no rows to learn from")
        self._warn_of_priors(sums.labels)
        return self._take_sums(choice, sums, left_out, ledger)

    def _fit_space(
        self,
        rows: list[Batch],
        features: Sequence[Feature],
        left_out: dict[str, str],
        watch: Watch | None,
        deadline: float,
    ) -> Classifier:
        """Learn a model in a vector space, or the best of all."""
        import discern.models.space_model as spatial
        from discern.models.rows import LEAST_VALIDATED, Sample

        if not rows:
            raise DataError("there are no rows to learn from")
        sample = Sample.of(rows, self.label, [feature.name for feature in features], self.threads)
        self._warn_of_priors(sample.labels)
        many = sample.rows >= LEAST_VALIDATED
        if self.model == "best":
            return self._fit_best(sample, features, left_out, watch, deadline if many else None)
        recipe = self.request.recipe_of(self.model)
        model = spatial.fit(sample, features, recipe)
        asked = self.request.calibrate
        calibrated = asked is not False and (many or asked is True)
        calibration = spatial.calibration_of(sample, features, recipe) if calibrated else None
        self._take(model.calibrated(calibration), left_out)
        return self

    def _fit_best(
        self,
        sample: Sample,
        features: Sequence[Feature],
        left_out: dict[str, str],
        watch: Watch | None,
        deadline: float | None,
    ) -> Classifier:
        """Compare models until the deadline and learn the best; without one it is naive Bayes."""
        import discern.models.space_model as spatial
        from discern.models.search import Search, limitation

        request = self.request

        def choose(part: Sample) -> Choice:
            return request.choose(part, features)

        def take(choice: Choice) -> Classifier:
            return self._take_sums(choice, sample.sums(choice.features, choice.text), left_out)

        if deadline is None or len(sample.labels) < 2:
            return take(choose(sample))
        self.min_df = request.min_df or 1
        entries, changes = request.entries(features, sample.rows), request.changes(features)
        results = Search(sample, features, entries, choose, deadline, self.min_df, changes, watch).run()
        winner, self.limitation = results[0], limitation(results)
        self.leaderboard = [result.to_json() for result in results]
        calibration = None if request.calibrate is False else winner.calibration
        if winner.entry.recipe is not None:
            return self._take(spatial.fit(sample, features, winner.entry.recipe).calibrated(calibration), left_out)
        assert winner.choice is not None
        return take(replace(winner.choice, calibration=calibration))

    def _take_sums(
        self, choice: Choice, sums: Sums, left_out: dict[str, str], ledger: Ledger | None = None
    ) -> Classifier:
        model = solve_columns(sums, choice.features, choice.settings, choice.text, self.min_df)
        with self._lock:
            self.recipe, self.left_out, self.features = None, left_out, choice.features
            self.learner, self.settings = choice.settings, choice.text
            self.calibration, self.decision = choice.calibration, None
            self.chosen = choice.to_json() if choice.log_loss == choice.log_loss else None
            self._statistics, self._ledger, self._model = sums, ledger, model.calibrated(choice.calibration)
        return self

    def _take(self, model: SpaceModel, left_out: dict[str, str]) -> Classifier:
        with self._lock:
            self._model, self._statistics, self._ledger, self.recipe = model, None, None, model.recipe
            self.features, self.left_out = model.features, left_out
            self.settings, self.min_df = model.recipe.plan.text[0], model.recipe.plan.min_df
            self.calibration, self.chosen = model.calibration, None
        return self

    @_one_at_a_time
    def learn(self, data: Any, *, reading: Reading | None = None) -> Classifier:
        """Learn more rows, or change nothing. What validation chose at :meth:`fit` is kept.

        A label that is new costs 1 when it is mistaken, if the model decides by costs, and has its share of the rows as
        its prior, if priors were given. A label that the decision uses as its word for unsure is refused.
        """
        if not self.is_fitted:
            return self.fit(data, reading=reading)
        self.relabel(iter(()), data, reading=reading)
        return self

    @_one_at_a_time
    def forget(self, data: Any, *, reading: Reading | None = None) -> Receipt:
        """Forget rows, or change nothing: the model is then the one that never saw them.

        Rows that cannot have been learned are refused. Counts alone cannot tell every such row: after learning "win
        money" and "free prize", "win prize" looks as if it had been learned. With ``ledger=True`` all are refused.

        Returns a receipt: the checksum of the model file, which equals that of a model that never saw the rows.
        """
        forgotten = self.relabel(data, iter(()), reading=reading)
        return Receipt(self.checksum(), forgotten, self.rows, self._ledger is not None)

    @_one_at_a_time
    def relabel(self, old: Any, new: Any, *, reading: Reading | None = None) -> int:
        """Forget some rows and learn others in one step, or change nothing; return how many were forgotten.

        Examples
        --------
        >>> model = Classifier().fit([{"label": "a", "text": "x1"}, {"label": "b", "text": "y1"}])
        >>> model.relabel([{"label": "a", "text": "x1"}], [{"label": "c", "text": "x1"}])
        1
        >>> model.labels
        ('b', 'c')
        """
        changed, forgotten = self._exchanged(old, new, reading)
        _ = changed.solved  # before anything is replaced
        self._become(changed)
        return forgotten

    def changed(self, old: Any, new: Any, *, reading: Reading | None = None) -> Classifier:
        """Return a classifier that has forgotten some rows and learned others; this one stays as it is.

        Raises DataError if the rows cannot be forgotten or learned. The model is solved when it is first used.

        Examples
        --------
        >>> model = Classifier().fit([{"label": "a", "text": "x1"}, {"label": "b", "text": "y1"}])
        >>> model.changed(iter(()), [{"label": "c", "text": "z1"}]).labels, model.labels
        (('a', 'b', 'c'), ('a', 'b'))
        """
        return self._exchanged(old, new, reading)[0]

    def _exchanged(self, old: Any, new: Any, reading: Reading | None) -> tuple[Classifier, int]:
        _ = self.statistics  # refuse before reading
        fresh = self._twin()
        mine, ledger = fresh.statistics, fresh._ledger
        salt = None if ledger is None else ledger.salt
        (taken, their_rows), (added, my_rows) = (
            fresh._sum(batches(rows, reading), fresh.features, fresh.settings, salt) for rows in (old, new)
        )
        try:
            if ledger is not None and my_rows is not None and their_rows is not None:
                fresh._ledger = ledger + my_rows - their_rows  # first: it names the row
            rest = mine + added - taken
            if not rest.rows:
                raise ValueError("nothing would be left to decide by")
            fresh._follow_labels(mine.labels, rest.labels)
        except ValueError as error:
            raise DataError(f"{error}; nothing was changed") from error
        fresh._statistics, fresh._model = rest, None
        return fresh, taken.rows

    def _follow_labels(self, before: Sequence[str], after: Sequence[str]) -> None:
        """Adapt what was set for labels to labels that came and went; raises ValueError if it makes no sense then."""
        gone = {*before} - {*after}
        if self.decision is not None:
            self.decision = self.decision.for_labels(after, gone)
        self.learner = self.learner.without_labels(gone)

    def _twin(self) -> Classifier:
        """Return a classifier that shares everything with this one and changes on its own."""
        twin = type(self).__new__(type(self))
        with self._lock:
            twin.__dict__.update(self.__dict__)
        twin._make_locks()
        return twin

    def _become(self, other: Classifier) -> None:
        """Take over the state of another classifier in one step."""
        state = {name: value for name, value in other.__dict__.items() if name not in ("_lock", "_turn")}
        with self._lock:
            self.__dict__.update(state)

    @_one_at_a_time
    def decay(self, factor: float) -> Classifier:
        """Let what was learned so far count less: all counts times a factor, rounded.

        This is not exact, unlike everything else: rows that have decayed cannot be forgotten, and rounding makes the
        model depend on how often it decays. For exact recency see :class:`discern.Window`. A model with a ledger does
        not decay.
        """
        if self._ledger is not None:
            raise ValueError("a model with a ledger cannot decay: its rows could no longer be forgotten")
        twin = self._twin()
        twin._statistics, twin._model = self.statistics.decayed(factor), None
        _ = twin.solved
        self._become(twin)
        return self

    def merge(self, other: Classifier) -> Classifier:
        """Return a new model: the one that learned the rows of both.

        The order and the grouping of merges do not matter. Models of different columns, text settings, bins, decisions
        or given settings are refused, as are ledgers with different salts. Of settings that validation chose, those
        that were chosen on more rows are kept.
        """
        mine, theirs = self._twin(), other._twin()
        for one in (mine, theirs):
            _ = one.statistics  # refuse what is not a sum
        described, others = mine._described(), theirs._described()
        free = ("learner", "calibration", "chosen", "leaderboard") if mine.chosen and theirs.chosen else ()
        for name, value in described.items():
            if value != others[name] and name not in free:
                raise ValueError(f"cannot merge models with different {_difference(name, value, others[name])}")
        if (mine._ledger is None) != (theirs._ledger is None):
            raise ValueError("cannot merge a model that has a ledger with one that has none")
        merged = max(mine, theirs, key=lambda one: _precedence(one._described()))
        sums = mine.statistics + theirs.statistics
        if mine._ledger is not None and theirs._ledger is not None:
            merged._ledger = mine._ledger + theirs._ledger
        merged._statistics, merged._model = sums, None
        _ = merged.solved
        return merged

    def _sum(
        self, stream: Iterable[Batch], features: Sequence[Feature], text: TextSettings, salt: bytes | None = None
    ) -> tuple[Sums, Ledger | None]:
        """Add up rows; with a salt, enter them in a ledger, too."""
        summing, ledger = Summing(features, text, self.threads), _empty_ledger(salt)
        for batch in stream:
            named = _named(batch, features)
            summing.add(named, self.label)
            if ledger is not None:
                ledger = ledger + ledger.of(named, features, self.label, ledger.salt)
        return summing.sums(), ledger

    def _solve(self, sums: Sums) -> Model:
        return solve_columns(sums, self.features, self.learner, self.settings, self.min_df).calibrated(self.calibration)

    @property
    def statistics(self) -> Sums:
        """The sums over all rows learned."""
        self._refuse_what_is_no_sum()
        if self._statistics is None:
            raise ValueError(
                "this model was saved slim, without its statistics: it can predict, but not learn or forget"
            )
        return self._statistics

    def _refuse_what_is_no_sum(self) -> None:
        if self.recipe is not None:
            raise ValueError(
                f"{IN_CONTESTS[self.recipe.model]} is not a sum of its rows: train again, or use model='naive-bayes'"
            )

    def _choose(
        self,
        stream: Iterator[Batch],
        data: Any,
        reading: Reading | None,
        features: Sequence[Feature],
        salt: bytes | None,
    ) -> tuple[Choice, Sums, Ledger | None]:
        from discern.models.rows import Sample, keep

        again = can_be_read_again(data)
        kept, whole = keep(stream, thin=again)
        if not kept:
            raise DataError("there are no rows to learn from")
        named = [_named(batch, features) for batch in kept]
        sample = Sample.of(named, self.label, [feature.name for feature in features], self.threads)
        choice = self.request.choose(sample, features)
        if whole:
            ledger = _ledger_of(named, choice.features, self.label, salt)
            return choice, sample.sums(choice.features, choice.text), ledger
        rest = batches(data, reading) if again else itertools.chain(kept, stream)
        return choice, *self._sum(rest, choice.features, choice.text, salt)

    # ------------------------------------------------------------------------------------------ predicting

    def predict(self, data: Any, *, reading: Reading | None = None) -> NDArray[np.str_]:
        """Return the label of each row, in order."""
        model, decision = self._answering()
        decided = [_decided(model, decision, said) for _, said in self._scored(model, data, reading)]
        return np.concatenate(decided) if decided else model.label_array[:0]

    def judged(
        self, data: Any, *, reading: Reading | None = None
    ) -> Iterator[tuple[NDArray[Any], NDArray[np.float64]]]:
        """Yield, batch by batch, the label of each row and the probability of each label."""
        model, decision = self._answering()
        for _, said in self._scored(model, data, reading):
            yield _decided(model, decision, said), model.posterior(said)

    def _answering(self) -> tuple[Model | SpaceModel, Decision | None]:
        """Return the model and the decision that belong together; another thread may replace both meanwhile."""
        with self._lock:
            return self.solved, self.decision

    @_one_at_a_time
    def decide_by(self, decision: Decision | None) -> Classifier:
        """Decide by a threshold, costs or another mix of labels from now on; None: the most probable label.

        The decision is saved with the model and used by :meth:`predict` and :meth:`evaluate`. A label that is learned
        later costs 1 when it is mistaken and keeps its share of the rows (see ``info()["labels_by_default"]``). What
        was set for a label is gone when the label is forgotten. A threshold keeps its label from being forgotten.

        Examples
        --------
        >>> from discern.evaluation.decisions import Decision
        >>> model = Classifier().fit([{"label": "ham", "text": "x1 x2"}, {"label": "spam", "text": "y1 x2"}])
        >>> model.decide_by(Decision.at(0.3, "spam")).predict(["x2"]).tolist()
        ['spam']
        """
        if decision is not None:
            decision = decision.renamed({label: label_text(label) for label in decision.named})
            _refuse_other_labels(decision, self.labels)
        self.decision = decision
        return self

    def predict_proba(self, data: Any, *, raw: bool = False, reading: Reading | None = None) -> NDArray[np.float64]:
        """Return the probability of each label for each row, labels in the order of ``labels``.

        With ``raw`` it is the posterior without calibration.
        """
        model = self.solved
        probabilities = [model.posterior(said, raw) for _, said in self._scored(model, data, reading)]
        return np.concatenate(probabilities) if probabilities else np.zeros((0, len(model.labels)))

    def log_joint(self, data: Any, *, full: bool = False) -> NDArray[np.float64]:
        """Return log P(k) + log P(row|k); with ``full`` the multinomial coefficient too, so that it is P(k, row)."""
        from discern.learners.bayes import log_multinomial_coefficient
        from discern.models.columns.text import TextColumn

        model, parts = self.solved, []
        if not isinstance(model, Model):
            raise ValueError(f"only naive Bayes gives joint probabilities, not {self.winner!r}")
        for batch, said in self._scored(model, data, None):
            scores = said.scores
            for column in model.columns:
                if full and isinstance(column, TextColumn):
                    rows, _ = column.vocabulary.rows(batch.texts(column.feature.name), 1)
                    scores = scores + log_multinomial_coefficient(column.matrix(rows, batch.rows))[:, None]
            parts.append(scores)
        return np.concatenate(parts) if parts else np.zeros((0, len(model.labels)))

    def predict_one(self, text: str) -> str:
        """Return the label of one text, as fast as can be.

        Examples
        --------
        >>> model = Classifier().fit([{"label": "a", "text": "x1 x2"}, {"label": "b", "text": "y1 y2"}])
        >>> model.predict_one("some y2")
        'b'
        """
        model, decision = self._model or self.solved, self.decision
        quick = model.__dict__.get("quick")
        if quick is not None and decision is None:
            return quick(text)  # type: ignore[no-any-return]
        if decision is not None or not isinstance(model, Model):
            if [feature.role for feature in model.features] == ["text"]:
                return str(self.predict([text])[0])
            raise ValueError("this model decides by several columns; use predict with rows")
        column = model.only_text
        if column is None:
            raise ValueError("this model decides by several columns; use predict with rows")
        if column.is_seldom_used():
            return model.labels[column.best_of(text)]
        model.__dict__["quick"] = column.scorer  # from now on nothing else is looked at
        return column.scorer(text)  # type: ignore[no-any-return]

    def evaluate(self, data: Any, *, reading: Reading | None = None) -> Evaluation:
        """Judge the model on rows with labels."""
        from discern.evaluation.evaluation import Evaluation

        (model, decision), total = self._answering(), None
        for batch, said in self._scored(model, data, reading):
            numbers, labels = batch.labels(self.label)
            true = np.array(labels, dtype=np.str_)[numbers].tolist()
            decided = model.label_array[said.scores.argmax(axis=1)].tolist()
            part = Evaluation.of(true, decided, model.posterior(said), model.labels)
            total = part if total is None else total + part
        if total is None:
            raise DataError("there are no rows to judge by")
        return total if decision is None else total.decided_by(decision)

    def explain(self, row: str | Mapping[str, Any]) -> Evidence:
        """Explain why a row is given its label: what each of its words and values said, in nats, the strongest first.

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
        [batch] = batches([row])
        model = self.solved
        return model.explain(_named(batch, model.features))

    def weights(self, label: str, top: int = 20) -> list[tuple[str, float]]:
        """Return the terms that speak most for a label: the mean log odds against the other labels, in nats.

        With a negative ``top``, those that speak most against it.
        """
        return self.solved.weights(label_text(label), top)

    def _scored(self, model: Model | SpaceModel, data: Any, reading: Reading | None) -> Iterator[tuple[Batch, Scores]]:
        # The model is given: learning in another thread may put a new one in its place meanwhile.
        for batch in batches(data, reading):
            named = _named(batch, model.features)
            yield named, model.of_batch(named, self.threads)

    # ----------------------------------------------------------------------------------------- description

    @property
    def text(self) -> str | None:
        """The name of the first text column, if there is one."""
        return next((feature.name for feature in self.features if feature.role == "text"), None)

    @_one_at_a_time
    def read_text_from(self, name: str) -> None:
        """Read the text from a column of another name than that learned from."""
        text = [place for place, feature in enumerate(self.features) if feature.role == "text"]
        if len(text) != 1:
            raise ValueError(f"this model reads {len(text)} text columns: none of them can be read from {name!r} alone")

        def renamed(feature: Feature) -> Feature:
            return replace(feature, name=name) if feature.role == "text" else feature

        with self._lock:
            self.features = tuple(map(renamed, self.features))
            if self._model is not None:
                self._model = self._model.renamed(renamed)

    @_one_at_a_time
    def rename_labels(self, names: Sequence[str]) -> None:
        """Rename the labels, in the same order; the decision and given priors follow."""
        labels = tuple(map(label_text, names))
        if len(labels) != len(self.labels) or list(labels) != sorted(set(labels)):
            raise ValueError("the new names must be as many as the labels, different and in order")
        if self._ledger is not None:
            raise ValueError("a model with a ledger keeps its labels: the digests of its rows hold them; train again")
        twin, new = self._twin(), dict(zip(self.labels, labels, strict=True))
        if twin.decision is not None:
            renamed = twin.decision.renamed(new).for_labels(labels)
            twin.decision = renamed
        twin.learner = twin.learner.renamed(new)
        if self._statistics is None:
            twin._model = replace(self.solved, labels=labels)
        else:
            twin._statistics, twin._model = self._statistics.renamed(new), None
        _ = twin.solved
        self._become(twin)

    @property
    def solved(self) -> Model | SpaceModel:
        """The model derived from the statistics, or learned in a vector space."""
        model = self._model
        if model is not None:
            return model
        with self._lock:
            if not self.is_fitted:
                raise ValueError("this classifier has not learned anything yet; call fit first")
            if self._model is None and self._statistics is not None:
                self._model = self._solve(self._statistics)
            return self._model  # type: ignore[return-value]

    @property
    def is_fitted(self) -> bool:
        """Whether the classifier has learned anything."""
        return self._model is not None or bool(self._statistics is not None and self._statistics.rows)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels the model can give, sorted."""
        return self.solved.labels

    @property
    def rows(self) -> int:
        """The number of rows learned."""
        if self.recipe is not None:
            return sum((self._class_rows() or {}).values())
        return self.statistics.rows

    @property
    def winner(self) -> str:
        """The name of the model that was learned; of ``"best"``, which one was."""
        if self.recipe is not None:
            return self.recipe.model
        return self.model if self.model in EVENTS else "naive-bayes"

    def info(self) -> dict[str, Any]:
        """Return what the model is: settings, labels, sizes. It is that of one moment, whatever other threads do."""
        twin = self._twin()
        return twin._info()

    def _info(self) -> dict[str, Any]:
        model = self.solved
        labels = {label: float(share) for label, share in zip(model.labels, np.exp(model.prior), strict=True)}
        known = self._class_rows()
        return {
            "model": self.winner,
            **self._described(),
            "text": self.text,
            "priors": labels,
            "terms": model.terms,
            "parameters": model.parameters,
            "rows": None if known is None else sum(known.values()),
            "rows_per_label": known,
            "slim": known is None,
            "ledger": self._ledger is not None,
            "labels_by_default": self._labels_by_default(),
        }

    def _labels_by_default(self) -> list[str]:
        """Return the labels that came after costs, shares or priors were set for labels."""
        labels = self.labels
        found = [] if self.decision is None else self.decision.defaults(labels)
        priors = self.learner.priors
        named = {label for label, _ in priors} if not isinstance(priors, str) else {*labels}
        return [label for label in labels if label in found or label not in named]

    def _class_rows(self) -> dict[str, int] | None:
        """Return the rows of each label; None if they are not kept."""
        model = self.solved
        if not isinstance(model, Model):
            return dict(zip(model.labels, model.class_rows.tolist(), strict=True))
        known = self._statistics
        return None if known is None else dict(zip(known.labels, known.class_rows.tolist(), strict=True))

    def _described(self) -> dict[str, Any]:
        return {
            "label": self.label,
            "features": [feature.to_json() for feature in self.features],
            "min_df": self.min_df,
            "learner": self.learner.to_json(),
            "settings": self.settings.to_json(),
            "calibration": None if self.calibration is None else self.calibration.to_json(),
            "chosen": self.chosen,
            "recipe": None if self.recipe is None else self.recipe.to_json(),
            "leaderboard": self.leaderboard,
            "decision": None if self.decision is None else self.decision.to_json(),
        }

    @classmethod
    def _of(cls, request: Request) -> Classifier:
        """Return a classifier that was asked for and has learned nothing."""
        made = cls.__new__(cls)
        made.request = request
        made._start()
        return made

    # ----------------------------------------------------------------------------------------------- files

    def save(self, path: str | os.PathLike[str], *, slim: bool = False) -> str:
        """Write the model to a file and return its checksum.

        With ``slim`` the statistics are left out: a smaller file that can predict, but not learn, forget or merge. What
        is written is read back and compared before it takes the place of the old file; if it differs, the old file
        stays and ModelFileError is raised.
        """
        twin = self._twin()
        arrays, metadata = twin._content(slim)

        def check(written: dict[str, NDArray[Any]], described: dict[str, Any]) -> None:
            again, _ = Classifier._from_content(written, described)._content(slim)
            if again.keys() != arrays.keys() or not all(np.array_equal(again[name], arrays[name]) for name in arrays):
                raise ValueError("what was read differs from what was written")

        return files.save(path, arrays, metadata, check)

    def without_statistics(self) -> Classifier:
        """Return a slim copy: it can predict, but not learn, forget or merge."""
        twin = self._twin()
        _ = twin.solved, twin.statistics
        twin._statistics = twin._ledger = None
        return twin

    def checksum(self) -> str:
        """Return the checksum that the model file would have."""
        return files.encode(*self._twin()._content())[1]

    def _content(self, slim: bool = False) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        model = self.solved
        whole = self.recipe is not None
        described = {**self._described(), "labels": list(model.labels), "slim": slim and not whole}
        metadata = {"model": self.winner, **described}
        if slim or whole:
            return model.arrays(), metadata
        ledger = {} if self._ledger is None else self._ledger.arrays()
        return {**self.statistics.arrays(), **ledger}, metadata

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
        from discern.statistics.ledger import Ledger

        features = tuple(Feature.from_json(feature) for feature in metadata["features"])
        label, chosen = str(metadata["label"]), metadata["chosen"]
        names = [feature.name for feature in features]
        if not names or len({*names, label}) <= len(names):
            raise ValueError("the columns do not have names of their own")
        if not isinstance(chosen, dict | None):
            raise ValueError("what was chosen is not listed")
        json.dumps(chosen, allow_nan=False)  # refuse now what could not be saved again
        learner, text = NaiveBayesSettings.from_json(metadata["learner"]), TextSettings.from_json(metadata["settings"])
        model = metadata["model"]
        request = Request(
            label=label,
            given=features,
            model=model,
            learner=learner if model in (*EVENTS, "lda", "qda") else replace(learner, priors="data"),
            text=text,
            chooses_smoothing=bool(chosen) or model not in EVENTS,
            min_df=int(metadata["min_df"]),
            shortest=text.shortest,
            ngrams=text.ngrams,
        )
        loaded = cls._of(request)
        loaded.calibration = _calibration_of(metadata["calibration"])
        loaded.chosen, loaded.leaderboard = chosen, list(metadata.get("leaderboard", ()))
        labels = tuple(metadata["labels"])
        if not labels or not all(isinstance(label, str) and label and "\0" not in label for label in labels):
            raise ValueError("the labels are not texts")
        loaded.decision = _decision_of(metadata.get("decision"), labels)
        if not metadata["slim"]:
            if metadata.get("recipe") is not None:
                return loaded._with_space(metadata["recipe"], labels, arrays)
            sums = Sums.from_arrays(labels, arrays, statistics_of(loaded.features))
            loaded._statistics, loaded._ledger = sums, Ledger.from_arrays(arrays, sums.rows)
            loaded._model = loaded._solve(sums)
            return loaded
        loaded._statistics = None
        solved = Model.from_arrays(labels, features, arrays, learner, text)
        loaded._model = solved.calibrated(loaded.calibration)
        return loaded

    def _with_space(
        self, described: dict[str, Any], labels: tuple[str, ...], arrays: dict[str, NDArray[Any]]
    ) -> Classifier:
        from discern.models.space_model import Recipe, SpaceModel

        recipe = Recipe.from_json(described)
        if recipe.model != self.model or self.settings not in recipe.plan.text:
            raise ValueError("the recipe is that of another model")
        if self.calibration is not None and self.calibration.power:
            raise ValueError("the calibration is that of naive Bayes")
        model = SpaceModel.from_arrays(labels, self.features, recipe, arrays)
        self._take(model.calibrated(self.calibration), {})
        return self

    def __getstate__(self) -> dict[str, Any]:
        twin = self._twin()
        state = {name: value for name, value in twin.__dict__.items() if name not in ("_lock", "_turn", "_model")}
        state["_content"] = None if twin._statistics is not None else twin._content(slim=True)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        content = state.pop("_content")
        self.__dict__.update(state)
        self._make_locks()
        self._model = None if content is None else Classifier._from_content(*content)._model

    def _repr_html_(self) -> str:
        """Return what notebooks show: settings, and the strongest words of the labels."""
        from html import escape

        from discern.evaluation.markup import classifier_html

        return classifier_html(self) if self.is_fitted else f"<p>{escape(repr(self))}</p>"

    def __repr__(self) -> str:
        learned = f"{len(self.labels)} labels, {self.solved.terms} terms" if self.is_fitted else "not fitted"
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


def _calibration_of(described: Any) -> Temperature | None:
    if described is None:
        return None
    from discern.evaluation.calibration import Temperature

    return Temperature.from_json(described)


def _decision_of(described: Any, labels: tuple[str, ...]) -> Decision | None:
    if described is None:
        return None
    from discern.evaluation.decisions import Decision

    decision = Decision.from_json(described)
    decision(np.full((1, len(labels)), 1 / len(labels)), labels)  # refuse now what could not decide
    _ = decision.for_labels(labels)
    return decision


def _refuse_other_labels(decision: Decision, labels: Sequence[str]) -> None:
    """Refuse a decision that is not for the labels of a model; those that come later have defaults."""
    decision(np.zeros((1, len(labels))), labels)
    _ = decision.for_labels(labels)
    strange = [label for label in decision.labels if label not in labels]
    if strange:
        raise ValueError(f"the model has no label {strange[0]!r}{did_you_mean(str(strange[0]), labels)}")
    missing = decision.defaults(labels)
    if missing:
        raise ValueError(f"the decision says nothing of the label {missing[0]!r}; it is for {list(decision.labels)}")


def _decided(model: Model | SpaceModel, decision: Decision | None, said: Scores) -> NDArray[np.str_]:
    if decision is None:
        return np.asarray(model.label_array[said.scores.argmax(axis=1)])
    decided: NDArray[np.str_] = decision(model.posterior(said), model.label_array).astype(np.str_)
    return decided


def _empty_ledger(salt: bytes | None) -> Ledger | None:
    if salt is None:
        return None
    from discern.statistics.ledger import Ledger

    return Ledger.empty(salt)


def _ledger_of(stream: Iterable[Batch], features: Sequence[Feature], label: str, salt: bytes | None) -> Ledger | None:
    ledger = _empty_ledger(salt)
    for batch in stream if ledger is not None else ():
        ledger = ledger and ledger + ledger.of(batch, features, label, ledger.salt)
    return ledger


def _precedence(described: dict[str, Any]) -> tuple[int, str]:
    """Order models by the rows that their settings were chosen on, so that merging does not depend on the order."""
    chosen = described["chosen"] or {}
    settings = {name: described[name] for name in ("learner", "calibration", "chosen", "leaderboard")}
    return int(chosen.get("rows", 0)), json.dumps(settings, sort_keys=True)


def _named(batch: Batch, features: Sequence[Feature]) -> Batch:
    """Take the only column of a batch for the only text column if nothing else can be meant; the rest is missing."""
    texts = [feature.name for feature in features if feature.role == "text"]
    names = [feature.name for feature in features]
    if len(texts) != 1 or len(batch.columns) != 1 or not {*batch.columns}.isdisjoint({*names} - {"text"}):
        return batch
    missing = {name: [None] * batch.rows for name in names if name != texts[0]}
    return replace(batch, columns={texts[0]: next(iter(batch.columns.values())), **missing})


def _difference(name: str, mine: Any, theirs: Any) -> str:
    """Name the first setting that differs, within settings of settings."""
    if isinstance(mine, dict) and isinstance(theirs, dict):
        for key in mine:
            if mine[key] != theirs.get(key):
                return _difference(key, mine[key], theirs.get(key))
    return f"{name}: {mine!r} and {theirs!r}"
