"""A classifier on named columns: raw rows in, decisions with probability and evidence out."""

from __future__ import annotations

import itertools
import json
import os
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

import discern._native as _native
import discern.files as files
from discern.bayes import Laplace, NaiveBayesSettings, as_priors, as_smoothing
from discern.calibrate import Temperature
from discern.columns import NUMBERS, Feature, infer
from discern.data import Batch, DataError, Reading, Strings, batches, can_be_read_again, did_you_mean
from discern.evaluate import Evaluation
from discern.evidence import Evidence
from discern.mixed import Model, Said, Summing, solve_columns
from discern.statistics import Counts, Sums
from discern.text import TextSettings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discern.contest import Change, Entry, Watch
    from discern.spatial import Recipe, SpaceModel
    from discern.validate import Choice, Sample

EVENTS = {
    "naive-bayes": "multinomial",
    "multinomial": "multinomial",
    "binary": "binary",
    "bernoulli": "bernoulli",
    "complement": "complement",
}
NOT_SUMS = {
    "logistic": "a logistic regression",
    "linear-svm": "a linear SVM",
    "nbsvm": "an NB-SVM",
    "ridge": "least squares on selected terms",
    "lda": "a discriminant of selected terms",
    "qda": "a discriminant of selected terms",
    "knn": "a vote of weighted neighbours",
}
"""The models in a vector space, in words."""
MODELS = (*EVENTS, *NOT_SUMS, "best")
SELECTS = ("chi2", "mutual-information")
CHARACTERS = (2, 5)
"""The lengths of character n-grams unless told otherwise."""
MOST_KEPT = 1 << 26
"""Bytes of rows kept to validate by; of more, a random part."""


class Receipt(str):
    """What :meth:`Classifier.forget` gives: the checksum of the model file as it now would be.

    It equals the checksum of a model that never saw the rows. ``forgotten`` and ``rows`` are the numbers of rows taken
    back and left.
    """

    forgotten: int
    rows: int

    def __new__(cls, checksum: str, forgotten: int, rows: int) -> Receipt:
        receipt = super().__new__(cls, checksum)
        receipt.forgotten, receipt.rows = forgotten, rows
        return receipt


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
    priors : {"data", "uniform"} or mapping of label to probability
    normalization : {"documents", "vocabulary"}
        What the Bernoulli model divides by.
    min_df : int, optional
        Terms that fewer documents hold are not used, and are not written to the model file; by default 1, in a vector
        space 2 (but for ``"nbsvm"``).
    ngrams : tuple of int, optional
        The shortest and longest n-grams; by default (1, 1), or what validation chooses; in a vector space (1, 2).
    characters : tuple of int, optional
        In a vector space: the shortest and longest character n-grams within words that are counted too.
    features : int, optional
        In a vector space: how many terms are used, the best by ``select``; by default all, but 6,000 for ``"ridge"``,
        1,000 for ``"lda"`` and 100 for ``"qda"``.
    select : {"chi2", "mutual-information"}
    budget : float
        For ``"best"``: the seconds that comparing and learning may take.
    analyzer, words, lowercase, stop_words, stem, shortest, pattern
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
        stem: str | None = None,
        shortest: int = 2,
        pattern: str | None = None,
        characters: tuple[int, int] | None = None,
        features: int | None = None,
        select: str = "chi2",
        budget: float = 60.0,
        threads: int | None = None,
    ) -> None:
        if model not in MODELS:
            raise ValueError(f"there is no model {model!r}{did_you_mean(model, MODELS)}")
        if isinstance(stop_words, str):
            raise ValueError("stop_words must be a list of words")
        if min_df is not None and min_df < 1:
            raise ValueError(f"min_df must be at least 1, not {min_df}")
        if numbers not in ("auto", *NUMBERS):
            raise ValueError(f"numbers must be one of auto, {', '.join(NUMBERS)}, not {numbers!r}")
        if calibrate not in ("auto", True, False):
            raise ValueError(f"calibrate must be 'auto', True or False, not {calibrate!r}")
        given = priors if isinstance(priors, str) else as_priors(priors)
        if isinstance(given, str) and given not in ("data", "uniform"):
            raise ValueError(f"priors must be 'data', 'uniform' or a mapping of label to probability, not {given!r}")
        self._refuse_unused(model, smoothing, priors, characters, features)
        if features is not None and (int(features) != features or features < 1):
            raise ValueError(f"features must be a number of terms above 0, not {features!r}")
        if select not in SELECTS:
            raise ValueError(f"select must be one of {', '.join(SELECTS)}, not {select!r}")
        if not 0 < budget < float("inf"):
            raise ValueError(f"budget must be a number of seconds above 0, not {budget!r}")
        self.label = label
        self.given = _given(label, text=text, number=number, category=category, flag=flag)
        self.model = model
        self.smoothing = smoothing
        self.numbers = numbers
        self.calibrate = calibrate
        self.min_df = min_df or 1
        self.least_documents = min_df
        self.characters = characters
        self.most_features = features
        self.select = select
        self.budget = float(budget)
        self.ngrams = ngrams
        self.threads = threads
        self.features = self.given
        self.left_out: dict[str, str] = {}
        self.calibration: Temperature | None = None
        self.chosen: dict[str, Any] | None = None
        self.recipe: Recipe | None = None
        self.leaderboard: list[dict[str, Any]] = []
        self.gives_up = ""
        start = as_smoothing(1.0 if isinstance(smoothing, str) and smoothing == "auto" else smoothing)
        self.learner = NaiveBayesSettings(EVENTS.get(model, "multinomial"), start, given, normalization)
        self.settings = TextSettings(
            analyzer=analyzer,
            words=words,
            lowercase=lowercase,
            ngrams=(1, 1) if ngrams is None else (int(ngrams[0]), int(ngrams[1])),
            stop_words=tuple(stop_words),
            stem=stem,
            shortest=shortest,
            pattern=pattern,
        )
        _ = self.settings.native  # complain about settings now, not at fit
        if characters is not None:
            _ = self._character_settings(characters).native
        self._asked = (self.learner, self.settings)
        self._lock = threading.RLock()
        self._statistics: Sums | None = Sums()
        self._model: Model | SpaceModel | None = None

    @staticmethod
    def _refuse_unused(model: str, smoothing: Any, priors: Any, characters: Any, features: Any) -> None:
        """Refuse settings that a model would not listen to."""
        if model in EVENTS and (characters is not None or features is not None):
            name = "features" if characters is None else "characters"
            raise ValueError(f"{name} is for models in a vector space, such as 'linear-svm', not for {model!r}")
        if model not in (*EVENTS, "nbsvm", "best") and smoothing != "auto":
            raise ValueError(f"smoothing is for naive Bayes and 'nbsvm', not for {model!r}")
        if model not in (*EVENTS, "lda", "qda") and priors != "data":
            raise ValueError(f"priors can be given for naive Bayes, 'lda' and 'qda', not for {model!r}")

    # ------------------------------------------------------------------------------------------- learning

    def fit(self, data: Any, *, reading: Reading | None = None, watch: Watch | None = None) -> Classifier:
        """Learn from rows, forgetting everything learned before.

        With ``model="best"``, ``watch`` is called with the leaderboard each time that a model has been judged.
        """
        started = time.monotonic()
        stream = batches(data, reading)
        first = next(stream, None)
        if first is None:
            raise DataError("there are no rows to learn from")
        features, left_out = self.features_of(first)
        stream = itertools.chain([first], stream)
        if self.model not in EVENTS:
            rows = [_named(batch, features) for batch in stream if batch.rows]
            return self._fit_space(rows, features, left_out, watch, started + self.budget)
        settings = self._asked
        choice: Choice | None = None
        if self._validates(features):
            choice, sums = self._choose(stream, data, reading, features)
            settings, features = (choice.settings, choice.text), choice.features
        else:
            sums = self._sum(stream, features, settings[1])
        if not sums.rows:
            raise DataError("there are no rows to learn from")
        with self._lock:
            self.learner, self.settings = settings
            self.features, self.left_out = tuple(features), left_out
            self.calibration = choice.calibration if choice is not None else None
            self.chosen = choice.to_json() if choice is not None and choice.log_loss == choice.log_loss else None
            self._replace(sums)
        return self

    def _fit_space(
        self,
        rows: list[Batch],
        features: Sequence[Feature],
        left_out: dict[str, str],
        watch: Watch | None,
        deadline: float,
    ) -> Classifier:
        """Learn a model in a vector space, or the best of all."""
        import discern.spatial as spatial
        from discern.validate import LEAST_VALIDATED, Sample

        if not rows:
            raise DataError("there are no rows to learn from")
        sample = Sample.of(rows, self.label, [feature.name for feature in features], self.threads)
        many = sample.rows >= LEAST_VALIDATED
        if self.model == "best":
            return self._fit_best(sample, features, left_out, watch, deadline if many else None)
        recipe = self.recipe_of(self.model)
        model = spatial.fit(sample, features, recipe)
        calibrated = self.calibrate is not False and (many or self.calibrate is True)
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
        import discern.spatial as spatial
        from discern.contest import Contest, gives_up

        def choose(part: Sample) -> Choice:
            return self.choose(part, features)

        if deadline is None or len(sample.labels) < 2:
            self._take_sums(sample, choose(sample), left_out)
            return self
        self.min_df = self.least_documents or 1
        entries, changes = self.entries(features), self._changes(features)
        standings = Contest(sample, features, entries, choose, deadline, self.min_df, changes, watch).run()
        winner, self.gives_up = standings[0], gives_up(standings)
        self.leaderboard = [standing.to_json() for standing in standings]
        calibration = None if self.calibrate is False else winner.calibration
        if winner.entry.recipe is not None:
            self._take(spatial.fit(sample, features, winner.entry.recipe).calibrated(calibration), left_out)
        else:
            assert winner.choice is not None
            self._take_sums(sample, replace(winner.choice, calibration=calibration), left_out)
        return self

    def entries(self, features: Sequence[Feature]) -> list[Entry]:
        """Give the models that ``"best"`` compares for columns: the most likely winners first."""
        from discern.contest import Entry

        if all(feature.role != "text" for feature in features):
            names = ("logistic", "linear-svm", "lda", "qda", "knn")
            return [Entry("naive-bayes", ""), *(Entry(name, "", self.recipe_of(name)) for name in names)]
        words = self._asked[1].analyzer == "word"
        usual = "words and pairs of words" if words and self.ngrams is None else f"{self._asked[1].analyzer} n-grams"
        both = [Entry("linear-svm", f"{usual}, characters", self.recipe_of("linear-svm", CHARACTERS))]
        return [
            *(Entry(name, usual, self.recipe_of(name)) for name in ("linear-svm", "nbsvm")),
            *(both if words else ()),
            Entry("naive-bayes", "words, or pairs too"),
            Entry("ridge", f"{usual}, selected", self.recipe_of("ridge")),
            Entry("logistic", usual, self.recipe_of("logistic")),
        ]

    def _changes(self, features: Sequence[Feature]) -> list[Change]:
        """Give what may be changed of the winner's terms: what was not given."""
        from discern.contest import CHANGES

        given = {
            "characters": self.characters is not None or self._asked[1].analyzer != "word",
            "triples": self.ngrams is not None,
            "rare terms": self.least_documents is not None,
        }
        has_text = any(feature.role == "text" for feature in features)
        return [change for change in CHANGES if has_text and not given.get(change.name)]

    def _take_sums(self, sample: Sample, choice: Choice, left_out: dict[str, str]) -> None:
        with self._lock:
            self.recipe, self.left_out, self.features = None, left_out, choice.features
            self.learner, self.settings = choice.settings, choice.text
            self.calibration = choice.calibration
            self.chosen = choice.to_json() if choice.log_loss == choice.log_loss else None
            self._replace(sample.sums(choice.features, choice.text))

    def _take(self, model: SpaceModel, left_out: dict[str, str]) -> None:
        with self._lock:
            self._model, self._statistics, self.recipe = model, None, model.recipe
            self.features, self.left_out = model.features, left_out
            self.settings, self.min_df = model.recipe.plan.text[0], model.recipe.plan.min_df
            self.calibration, self.chosen = model.calibration, None

    def recipe_of(self, model: str, characters: tuple[int, int] | None = None) -> Recipe:
        """Give all that decides how a model in a vector space is learned; ``characters`` if none were given."""
        from discern.space import Plan
        from discern.spatial import MOST_TERMS, Recipe, strength_of

        asked, lengths = self._asked[1], self.characters or characters
        if self.ngrams is None:
            usual = {"word": (1, 2), "pattern": (1, 2), "char": CHARACTERS, "char_wb": CHARACTERS}
            asked = replace(asked, ngrams=usual.get(asked.analyzer, (1, 1)))
        texts = (asked,) if lengths is None else (asked, self._character_settings(lengths))
        presence = model == "nbsvm"
        least = self.least_documents or (1 if presence else 2)
        most = self.most_features or MOST_TERMS.get(model)
        numbers = self.numbers if self.numbers != "auto" else "quantile" if presence else "gaussian"
        if presence and numbers == "gaussian":
            raise ValueError("an NB-SVM takes numbers in bins: use numbers='quantile', 'uniform' or 'mdl'")
        smoothing = None if self._is_auto else self._asked[0].smoothing
        plan = Plan(texts, presence, least, most, self.select.replace("-", "_"))
        return Recipe(model, plan, strength_of(model, smoothing), self._asked[0].priors, numbers)

    def _character_settings(self, lengths: tuple[int, int]) -> TextSettings:
        asked = self._asked[1] if "_asked" in self.__dict__ else self.settings
        return TextSettings("char_wb", lowercase=asked.lowercase, ngrams=(int(lengths[0]), int(lengths[1])))

    def learn(self, data: Any, *, reading: Reading | None = None) -> Classifier:
        """Learn more rows; what validation chose at :meth:`fit` is kept."""
        if self._model is None:
            return self.fit(data, reading=reading)
        _ = self.statistics  # refuse before reading
        sums = self._sum(batches(data, reading), self.features, self.settings)
        with self._lock:
            self._replace(self.statistics + sums)
        return self

    def forget(self, data: Any, *, reading: Reading | None = None) -> Receipt:
        """Forget rows: the model is then the one that never saw them. Refuses rows that were never learned.

        Gives a receipt: the checksum of the model file, which equals that of a model that never saw the rows.
        """
        with self._lock:
            forgotten = self.take_back(data, reading=reading)
            return Receipt(self.checksum(), forgotten, self.rows)

    def take_back(self, data: Any, *, reading: Reading | None = None) -> int:
        """Forget rows as :meth:`forget` does, without a receipt; gives how many."""
        _ = self.statistics  # refuse before reading
        sums = self._sum(batches(data, reading), self.features, self.settings)
        with self._lock:
            mine = self.statistics
            if self.min_df > 1:
                sums = _without_rare(sums, mine)
            try:
                rest = mine - sums
            except ValueError as error:
                raise DataError(f"{error}; nothing was changed") from error
            if not rest.rows:
                raise DataError("nothing would be left to decide by; nothing was changed")
            self._replace(rest)
        return sums.rows

    def decay(self, factor: float) -> Classifier:
        """Let what was learned so far count less: all counts times a factor, rounded.

        This is not exact, unlike everything else: rows that have decayed cannot be forgotten, and rounding makes the
        model depend on how often it decays. For exact recency see :class:`discern.Window`.
        """
        with self._lock:
            self._replace(self.statistics.decayed(factor))
        return self

    def merge(self, other: Classifier) -> Classifier:
        """Give a new model: the one that learned the rows of both.

        What validation chose for the model with more rows is kept. Models of different columns, text settings or given
        settings are refused.
        """
        for one in (self, other):
            one._refuse_what_is_no_sum()
        mine, theirs = self._described(), other._described()
        freely = ("learner", "calibration", "chosen") if self.chosen and other.chosen else ()
        for name, value in mine.items():
            if value != theirs[name] and name not in freely:
                raise ValueError(f"cannot merge models with different {_difference(name, value, theirs[name])}")
        merged = (self if self.rows >= other.rows else other)._empty_copy()
        merged._replace(self.statistics + other.statistics)
        return merged

    def _sum(self, stream: Iterable[Batch], features: Sequence[Feature], text: TextSettings) -> Sums:
        summing = Summing(features, text, self.threads)
        for batch in stream:
            summing.add(_named(batch, features), self.label)
        return summing.sums()

    def _replace(self, sums: Sums) -> None:
        self._statistics, self._model = sums, self._solve(sums)

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
                f"{NOT_SUMS[self.recipe.model]} is not a sum of its rows: train again, or use model='naive-bayes'"
            )

    # ------------------------------------------------------------------------------------------- choosing

    def features_of(self, batch: Batch) -> tuple[Sequence[Feature], dict[str, str]]:
        """Give the columns to decide by, inferred if none were given, and which are left out and why."""
        if self.given:
            return self.given, {}
        batch.column(self.label)
        features, left_out = infer(batch, self.label)
        if not features:
            raise DataError(
                f"{batch.source} has no column to decide by beside the label {self.label!r}; there must be a text, a "
                "number or a category"
            )
        return features, left_out

    @property
    def _is_auto(self) -> bool:
        return isinstance(self.smoothing, str)

    def _validates(self, features: Sequence[Feature]) -> bool:
        """Say whether something is left to choose or to calibrate."""
        bins = any(feature.role == "number" for feature in features) and self.numbers != "gaussian"
        return self._is_auto or self.calibrate is True or bins

    def planned(self, sample: Sample, features: Sequence[Feature]) -> Choice:
        """Give what :meth:`fit` would learn these rows with."""
        from discern.validate import Choice

        return self.choose(sample, features) if self._validates(features) else Choice(*self._asked, tuple(features))

    def _choose(
        self, stream: Iterator[Batch], data: Any, reading: Reading | None, features: Sequence[Feature]
    ) -> tuple[Choice, Sums]:
        from discern.validate import Sample

        again = can_be_read_again(data)
        kept, whole = _keep(stream, self.label, thin=again)
        if not kept:
            raise DataError("there are no rows to learn from")
        named = [_named(batch, features) for batch in kept]
        sample = Sample.of(named, self.label, [feature.name for feature in features], self.threads)
        choice = self.choose(sample, features)
        if whole:
            return choice, sample.sums(choice.features, choice.text)
        rest = batches(data, reading) if again else itertools.chain(kept, stream)
        return choice, self._sum(rest, choice.features, choice.text)

    def choose(self, sample: Sample, features: Sequence[Feature]) -> Choice:
        """Choose by validation what was not given."""
        import discern.validate as validate

        learner, text = self._asked
        few = sample.rows < validate.LEAST_VALIDATED or len(sample.labels) < 2
        ways = [self.numbers] if self.numbers != "auto" else ["gaussian"] if few else ["gaussian", "quantile", "mdl"]
        start = validate.Choice(learner, text, tuple(features))
        if few or not (self._is_auto or self.calibrate is True):
            return replace(start, features=validate.with_numbers(sample, features, ways[0]))
        free = self._is_auto and self.model == "naive-bayes"
        laplace_only = learner.event in ("bernoulli", "complement")
        smoothings = [one for one in validate.SMOOTHINGS if not laplace_only or isinstance(one, Laplace)]
        found = validate.choose(
            sample,
            start,
            self.min_df,
            smoothings=smoothings if self._is_auto else (),
            events=("multinomial", "binary") if free else (),
            ngrams=((1, 1), (1, 2)) if free and self.ngrams is None and text.analyzer == "word" else (),
            numbers=ways,
        )
        return found if self.calibrate is not False else replace(found, calibration=None)

    # ------------------------------------------------------------------------------------------ predicting

    def predict(self, data: Any, *, reading: Reading | None = None) -> NDArray[np.str_]:
        """Give the label of each row, in order."""
        model = self.solved
        decisions = [said.scores.argmax(axis=1) for _, said in self._scored(model, data, reading)]
        return model.label_array[np.concatenate(decisions)] if decisions else model.label_array[:0]

    def predict_proba(self, data: Any, *, raw: bool = False, reading: Reading | None = None) -> NDArray[np.float64]:
        """Give the probability of each label for each row, labels in the order of ``labels``.

        With ``raw`` it is the posterior without calibration.
        """
        model = self.solved
        probabilities = [model.posterior(said, raw) for _, said in self._scored(model, data, reading)]
        return np.concatenate(probabilities) if probabilities else np.zeros((0, len(model.labels)))

    def log_joint(self, data: Any, *, full: bool = False) -> NDArray[np.float64]:
        """Give log P(k) + log P(row|k); with ``full`` the multinomial coefficient too, so that it is P(k, row)."""
        from discern.bayes import log_multinomial_coefficient
        from discern.mixed import TextColumn

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
        """Give the label of one text, as fast as can be.

        Examples
        --------
        >>> model = Classifier().fit([{"label": "a", "text": "x1 x2"}, {"label": "b", "text": "y1 y2"}])
        >>> model.predict_one("some y2")
        'b'
        """
        model = self.solved
        quick = model.__dict__.get("quick")
        if quick is not None:
            return quick(text)  # type: ignore[no-any-return]
        if not isinstance(model, Model):
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
        model, total = self.solved, None
        for batch, said in self._scored(model, data, reading):
            numbers, labels = batch.labels(self.label)
            true = np.array(labels, dtype=np.str_)[numbers].tolist()
            decided = model.label_array[said.scores.argmax(axis=1)].tolist()
            part = Evaluation.of(true, decided, model.posterior(said), model.labels)
            total = part if total is None else total + part
        if total is None:
            raise DataError("there are no rows to judge by")
        return total

    def explain(self, row: str | Mapping[str, Any]) -> Evidence:
        """Say why a row is given its label: what each of its words and values said, in nats, the strongest first.

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
        return self.solved.explain(_named(batch, self.features))

    def weights(self, label: str, top: int = 20) -> list[tuple[str, float]]:
        """Give the terms that speak most for a label: the mean log odds against the other labels, in nats.

        With a negative ``top``, those that speak most against it.
        """
        return self.solved.weights(label, top)

    def _scored(self, model: Model | SpaceModel, data: Any, reading: Reading | None) -> Iterator[tuple[Batch, Said]]:
        # The model is given: learning in another thread may put a new one in its place meanwhile.
        for batch in batches(data, reading):
            named = _named(batch, model.features)
            yield named, model.of_batch(named, self.threads)

    # ----------------------------------------------------------------------------------------- description

    @property
    def text(self) -> str | None:
        """The name of the first text column, if there is one."""
        return next((feature.name for feature in self.features if feature.role == "text"), None)

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

    def rename_labels(self, names: Sequence[str]) -> None:
        """Call the labels otherwise, in the same order."""
        labels = tuple(names)
        if len(labels) != len(self.labels) or list(labels) != sorted(set(labels)):
            raise ValueError("the new names must be as many as the labels, different and in order")
        if self.recipe is not None:
            self._model = replace(self.solved, labels=labels)
            return
        sums, new = self.statistics, dict(zip(self.labels, labels, strict=True))
        columns = (
            replace(column, labels=tuple(new[label] for label in column.labels))
            if isinstance(column, Counts)
            else column
            for column in sums.columns
        )
        with self._lock:
            self._replace(replace(sums, labels=labels, columns=tuple(columns)))

    @property
    def solved(self) -> Model | SpaceModel:
        """The model derived from the statistics, or learned in a vector space."""
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
        """Say what the model is: settings, labels, sizes."""
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
        }

    def _class_rows(self) -> dict[str, int] | None:
        """Give the rows of each label; None if they are not kept."""
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
        }

    def _empty_copy(self) -> Classifier:
        copy = Classifier(
            self.label,
            model=self.model,
            smoothing=self.smoothing,
            numbers=self.numbers,
            calibrate=self.calibrate,
            min_df=self.min_df,
            ngrams=self.ngrams,
            threads=self.threads,
        )
        copy.given, copy.features, copy._asked = self.given, self.features, self._asked
        copy.learner, copy.settings = self.learner, self.settings
        copy.calibration, copy.chosen = self.calibration, self.chosen
        return copy

    # ----------------------------------------------------------------------------------------------- files

    def save(self, path: str | os.PathLike[str], *, slim: bool = False) -> str:
        """Write the model to a file and give its checksum.

        With ``slim`` the statistics are left out: a smaller file that can predict, but not learn, forget or merge.
        """
        with self._lock:
            content = self._content(slim)
        return files.save(path, *content)

    def checksum(self) -> str:
        """Give the checksum that the model file would have."""
        with self._lock:
            return files.encode(*self._content())[1]

    def _content(self, slim: bool = False) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        model = self.solved
        whole = self.recipe is not None
        described = {**self._described(), "labels": list(model.labels), "slim": slim and not whole}
        metadata = {"model": self.winner, **described}
        if slim or whole:
            return model.arrays(), metadata
        sums = self.statistics
        columns = (
            column.with_min_documents(self.min_df) if isinstance(column, Counts) and feature.role == "text" else column
            for column, feature in zip(sums.columns, self.features, strict=True)
        )
        return replace(sums, columns=tuple(columns)).arrays(), metadata

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
        loaded = cls(str(metadata["label"]), model=metadata["model"], min_df=int(metadata["min_df"]))
        loaded.learner = NaiveBayesSettings.from_json(metadata["learner"])
        loaded.settings = TextSettings.from_json(metadata["settings"])
        _ = loaded.settings.native  # complain about settings now, not at predict
        loaded.features = tuple(Feature.from_json(feature) for feature in metadata["features"])
        names = [feature.name for feature in loaded.features]
        if not names or len({*names, loaded.label}) <= len(names):
            raise ValueError("the columns do not have names of their own")
        calibration = metadata["calibration"]
        loaded.calibration = None if calibration is None else Temperature.from_json(calibration)
        loaded.chosen = metadata["chosen"]
        loaded.leaderboard = list(metadata.get("leaderboard", ()))
        if not isinstance(loaded.chosen, dict | None):
            raise ValueError("what was chosen is not listed")
        json.dumps(loaded.chosen, allow_nan=False)  # refuse now what could not be saved again
        loaded.given, loaded._asked = loaded.features, (loaded.learner, loaded.settings)
        loaded.ngrams = loaded.settings.ngrams
        loaded.smoothing = "auto" if loaded.chosen else loaded.learner.smoothing
        labels = tuple(metadata["labels"])
        if not labels or not all(isinstance(label, str) and label and "\0" not in label for label in labels):
            raise ValueError("the labels are not texts")
        if not metadata["slim"]:
            if metadata.get("recipe") is not None:
                return loaded._with_space(metadata["recipe"], labels, arrays)
            loaded._replace(Sums.from_arrays(labels, arrays, [feature.is_normal for feature in loaded.features]))
            return loaded
        loaded._statistics = None
        model = Model.from_arrays(labels, loaded.features, arrays, loaded.learner, loaded.settings)
        loaded._model = model.calibrated(loaded.calibration)
        return loaded

    def _with_space(
        self, described: dict[str, Any], labels: tuple[str, ...], arrays: dict[str, NDArray[Any]]
    ) -> Classifier:
        from discern.spatial import Recipe, SpaceModel

        recipe = Recipe.from_json(described)
        if recipe.model != self.model or self.settings not in recipe.plan.text:
            raise ValueError("the recipe is that of another model")
        if self.calibration is not None and self.calibration.power:
            raise ValueError("the calibration is that of naive Bayes")
        model = SpaceModel.from_arrays(labels, self.features, recipe, arrays)
        self._take(model.calibrated(self.calibration), {})
        return self

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
        learned = f"{len(self._model.labels)} labels, {self._model.terms} terms" if self._model else "not fitted"
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


def _given(label: str, **names: str | Sequence[str] | None) -> tuple[Feature, ...]:
    """Give the columns that were given a role, each once."""
    features: list[Feature] = []
    for role, given in names.items():
        for name in [given] if isinstance(given, str) else given or ():
            if name == label or name in [feature.name for feature in features]:
                raise ValueError(f"the column {name!r} is given two roles")
            features.append(Feature(str(name), role))
    return tuple(features)


def _named(batch: Batch, features: Sequence[Feature]) -> Batch:
    """Take the only column of a batch for the only text column if nothing else can be meant; the rest is missing."""
    texts = [feature.name for feature in features if feature.role == "text"]
    names = [feature.name for feature in features]
    if len(texts) != 1 or len(batch.columns) != 1 or not {*batch.columns}.isdisjoint({*names} - {"text"}):
        return batch
    missing = {name: [None] * batch.rows for name in names if name != texts[0]}
    return replace(batch, columns={texts[0]: next(iter(batch.columns.values())), **missing})


def _keep(stream: Iterator[Batch], label: str, *, thin: bool) -> tuple[list[Batch], bool]:
    """Keep batches up to a number of bytes, and say whether that is all.

    If there is more, either the rest is left in the stream, or, with ``thin``, it is read too and of all rows those
    are kept whose keys are small: a random part that does not depend on the order of the rows.
    """
    from discern.validate import row_keys

    kept: list[Batch] = []
    size, share = 0, 0
    for batch in stream:
        if share:
            batch = batch.take(row_keys(batch, list(batch.columns)) >> np.uint64(64 - share) == 0)
        kept.append(batch)
        size += batch.size
        while size > MOST_KEPT and thin:
            share += 1
            kept = [one.take(row_keys(one, list(one.columns)) >> np.uint64(64 - share) == 0) for one in kept]
            size = sum(one.size for one in kept)
        if size > MOST_KEPT:
            return kept, False
    return [batch for batch in kept if batch.rows], not share


def _without_rare(sums: Sums, known: Sums) -> Sums:
    """Leave out terms that a model does not hold: one loaded from a file does not hold rare ones."""
    columns = (
        column.with_terms(_contained(column.terms, other.terms))
        if isinstance(column, Counts) and isinstance(other, Counts)
        else column
        for column, other in zip(sums.columns, known.columns, strict=True)
    )
    return replace(sums, columns=tuple(columns))


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
