"""A classifier on named columns: raw rows in, decisions with probability and evidence out."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from discern.data.label_sets.sets import with_labels
from discern.data.readers import batches
from discern.data.source import Reading
from discern.data.values import label_text, likely_separator
from discern.models.exclusive import one_at_a_time
from discern.models.fitted import Fitted
from discern.models.fitting import fit
from discern.models.protocol.estimator import BESIDE, Estimator
from discern.models.settings import Settings
from discern.models.summing import Receipt

if TYPE_CHECKING:
    from discern.data.embedding.embedder import Embedder
    from discern.evaluation.decisions import Decision
    from discern.evaluation.several.thresholds import Thresholds
    from discern.models.search import Watch


class Classifier(Estimator):
    """Classify rows of text, numbers and categories: from raw rows to a decision with probability and evidence.

    Parameters
    ----------
    label : str
        The column that holds the labels.
    model : str
        ``"naive-bayes"``, or with a given event model for texts ``"multinomial"``, ``"binary"``, ``"bernoulli"`` or
        ``"complement"``; with ``"naive-bayes"`` it is chosen by validation, as are n-grams. In a vector space: linear
        and quadratic discriminants, least squares and the nearest centroid, ``"lda"``, ``"qda"``, ``"ridge"`` and
        ``"centroids"``. All these are sums over rows: they learn, forget and merge. Not as sums, and with all rows in
        memory: ``"logistic"``, ``"linear-svm"``, ``"nbsvm"``, ``"unit-bayes"``, ``"knn"``, and ``"svm"``, whose kernel
        bends boundaries. There, texts are sublinear tf–idf of words and pairs of words (for ``"nbsvm"`` and
        ``"unit-bayes"``: which are there; for ``"linear-svm"`` of several labels: words alone), numbers
        are standardized (see ``basis``), a category has an axis for each
        value, and a vector has its own, in units of the mean length from their mean. ``"best"`` compares those that
        suit the data, and keeps the winner (see ``leaderboard``).
    smoothing : "auto", float, Laplace, JelinekMercer or Dirichlet
        A number is Laplace's α. With at least 100 rows, ``"auto"`` chooses by leave-one-out log loss after calibration;
        with fewer rows it is Laplace's with α = 1. If you set a smoothing, validation chooses nothing else: the model
        is then multinomial naive Bayes on single words, unless you set these too.
    text, number, category, flag, vector : str or list of str, optional
        Columns of this role. The roles of all other columns are inferred (see ``features`` and ``left_out``). A vector
        is a list of numbers, of the same length in all rows, such as an embedding.
    ignore : str or list of str, optional
        Columns that are not used; ``"*"`` stands for all whose role you do not give.
    embed : callable, :class:`discern.Embedder`, or path, optional
        Embeds each text, whenever rows are read: a function from a list of texts to an array, an object with ``encode``
        (a SentenceTransformer), or the folder of a static embedding. The model then uses the words of a text and its
        embedding. The file holds what tells the embedder from others, not the embedder: pass it to
        :func:`discern.load`, too.
    numbers : {"auto", "gaussian", "quantile", "uniform", "mdl"}
        Model numeric columns with a normal density in each class, or with bins that are equally full, equally wide, or
        cut where the classes change. ``"auto"`` chooses by validation; with few rows it is ``"gaussian"``.
    basis : {"auto", "standard", "common", "normal", "bins", "quadratic", "bumps"}
        How numbers become axes in a vector space: standardized; in one common scale (for columns of the same unit, such
        as pixels); as normal quantiles of their ranks (robust to skew and outliers); or an axis for each of 16 to 128
        bins (any curve in one column). For linear models also over several columns, numbers as normal quantiles:
        products of two axes, or Gaussian bumps at rows that are far from each other (any boundary). Missing numbers
        have an axis of their own. ``"auto"`` is what suits the model, and ``"best"`` tries several.
    levels : {"one-hot", "means"}
        How a category becomes axes in a vector space: one for each level (of more than 30 levels, those of fewer than 3
        rows share one), or for many levels one for each label: the share of the label among the rows of a level, for a
        row to learn from without itself. ``"means"`` is for models that are not sums over rows.
    calibrate : "auto" or bool
        Whether to calibrate probabilities on held-out rows; ``"auto"`` does so if validation chooses the smoothing too.
    priors : {"data", "uniform", "auto"} or mapping of label to probability
        ``"auto"``: whichever of the first two validation favors.
    normalization : {"documents", "vocabulary"}
        What the Bernoulli model divides by.
    min_df : int, optional
        Terms that occur in fewer documents are not used; by default 1, in a vector space 2 (but for ``"nbsvm"``). Naive
        Bayes keeps their counts, so that they can be used as soon as more rows have them; a slim file does not hold
        them.
    ledger : bool or str
        Keep a digest of every row beside the counts, so that :meth:`forget` refuses rows that were never learned
        (counts alone cannot tell). The digests are salted: with True by random bytes, or by 32 hexadecimal digits,
        which models that are to be merged must share. For models that are sums.
    ngrams : tuple of int, optional
        The shortest and longest n-grams; by default (1, 1), or what validation chooses; in a vector space (1, 2).
    characters : tuple of int, optional
        In a vector space: the shortest and longest character n-grams within words that are counted too.
    max_terms : int or "auto", optional
        How many terms of a text are used, the best by ``select``; by default all, but 10,000 for ``"centroids"``, 2,000
        for ``"ridge"``, 1,000 for ``"lda"`` and 100 for ``"qda"``, which keep those of :meth:`fit`. Naive Bayes selects
        them each time that it is solved, and ``"auto"`` has validation choose.
    select : {"chi2", "mutual-information"}
    views : {"auto", "none"} or str
        For naive Bayes: what is counted of a text beside its words where validation finds it worth its time:
        ``"symbols"`` (words, punctuation marks and emoji), ``"characters"`` (character n-grams within words) and
        ``"length"`` (the number of words). Name those to try, with commas. ``"auto"`` tries all of them, or only the
        length if the terms were given.
    cost : float, optional
        The cost of an error, against large weights: C of support vector machines and of logistic regression. By default
        ``"svm"``, ``"best"`` and sums over rows choose it by validation, and others take what is usual.
    kernel : {"auto", "rbf", "poly", "linear"}
        For ``"svm"``: exp(−γ‖x−z‖²), (γ x·z + 1)³ or x·z; ``"auto"`` chooses by validation.
    gamma : float, optional
        γ of the kernel; by default validation chooses it.
    budget : float
        For ``"best"``: the seconds of one core that comparing and learning may take. They are predicted from counts of
        rows, labels, cells and bytes, so that the same rows and budget give the same model on a busy machine.
    analyzer, tokenizer, lowercase, stop_words, stem, min_word_length, pattern
        Which terms a text has: see :class:`discern.TextSettings`. Words of mails have at least one character unless
        ``min_word_length`` is given, others two. With ``stem="auto"`` validation of naive Bayes chooses whether words
        are stemmed, in the language that they seem to be of.
    label_separator : str, optional
        Where a row may have several labels: what stands between them in a column of texts, such as ``"|"``. In lists
        or sets they are recognized without it.
    labels_from : list of str, optional
        Where a row may have several labels: columns of zeros and ones, each with the name of a label.
    class_weight : mapping of class to whole number, optional
        For ``fit(X, y)``: a class of weight 3 has each of its rows learned three times. To balance classes, pass
        ``priors="uniform"``.
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
        vector: str | Sequence[str] | None = None,
        ignore: str | Sequence[str] | None = None,
        embed: Any = None,
        numbers: str = "auto",
        calibrate: str | bool = "auto",
        priors: str | Mapping[str, float] = "data",
        normalization: str = "documents",
        min_df: int | None = None,
        analyzer: str = "word",
        tokenizer: str = "words",
        lowercase: bool = True,
        ngrams: tuple[int, int] | None = None,
        stop_words: Sequence[str] = (),
        stem: str | None = "auto",
        min_word_length: int | None = None,
        pattern: str | None = None,
        characters: tuple[int, int] | None = None,
        max_terms: int | str | None = None,
        select: str = "chi2",
        views: str = "auto",
        basis: str = "auto",
        levels: str = "one-hot",
        budget: float = 60.0,
        cost: float | None = None,
        kernel: str = "auto",
        gamma: float | None = None,
        ledger: bool | str = False,
        label_separator: str | None = None,
        labels_from: Sequence[str] | None = None,
        class_weight: Mapping[Any, int] | None = None,
        threads: int | None = None,
    ) -> None:
        beside = ("self", "threads", "class_weight", "embed")
        self._given = {name: value for name, value in locals().items() if name not in (*beside, "beside")}
        self.settings, self.threads, self.class_weight = Settings.of(**self._given), threads, class_weight
        self._embed, self.embedder = embed, embedder_of(embed)
        self._fitted: Fitted | None = None
        self.make_lock()

    @classmethod
    def of(cls, settings: Settings, fitted: Fitted | None = None, threads: int | None = None) -> Classifier:
        """Return a classifier with settings, and with what was learned elsewhere."""
        made = cls.__new__(cls)
        made.settings, made.threads, made._fitted, made._given = settings, threads, fitted, None
        made._embed = made.embedder = None if fitted is None else fitted.embedder
        made.make_lock()
        return made

    @one_at_a_time
    def take(self, fitted: Fitted) -> Classifier:
        """Replace everything that was learned by what was learned elsewhere, for example on Spark."""
        _ = fitted.model  # before anything is replaced
        self.settings, self._fitted = fitted.settings, fitted
        return self

    @one_at_a_time
    def embed_with(self, embed: Any) -> Classifier:
        """Embed texts with the embedder that the model was trained with, after it was loaded without.

        Raises ``DataError`` for an embedder that returns other vectors.
        """
        embedder = embedder_of(embed)
        assert embedder is not None
        self.take(self.fitted.embedding_with(embedder))
        self.embedder, self._embed = embedder, embed
        return self

    def _embedder_for(self, embed: Any) -> Embedder | None:
        return self.embedder if embed is self._embed else embedder_of(embed)

    def copy(self) -> Classifier:
        """Return a classifier that knows the same and changes on its own."""
        made = Classifier.of(self.settings, self._fitted, self.threads)
        for name in BESIDE:
            setattr(made, name, getattr(self, name))
        return made

    # ------------------------------------------------------------------------------------------- learning

    @one_at_a_time
    def fit(
        self,
        data: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        reading: Reading | None = None,
        watch: Watch | None = None,
    ) -> Classifier:
        """Learn from rows, forgetting everything learned before. If that fails, nothing is changed.

        Parameters
        ----------
        data : rows with a label column; or with ``y``, rows without one
            With ``y`` it may be a list of texts, a data frame, or a table of numbers.
        y : labels, optional
            One for each row. Predictions are then of the same type, and ``classes_`` has them sorted.
        sample_weight : whole numbers, optional
            For use with ``y``: a row of weight 3 is learned three times, one of weight 0 not at all. Counts are exact,
            so fractions are refused: multiply them by a common factor and round.
        reading : Reading, optional
            How files are read.
        watch : callable, optional
            With ``model="best"``, called with the leaderboard each time that a model has been evaluated.

        Examples
        --------
        >>> model = Classifier().fit(["win a prize", "lunch at noon"], [1, 0])
        >>> model.predict(["a prize"]).tolist(), model.classes_.tolist()
        ([1], [0, 1])
        """
        if y is None and hasattr(data, "ndim") and not hasattr(data, "columns") and data.ndim != 1:
            raise ValueError(
                "Classifier requires y to be passed, but the target y is None: call fit(X, y), or pass labeled rows"
            )
        rows, learned = (data, None) if y is None else self._labeled(data, y, sample_weight)
        if y is None and (sample_weight is not None or self.class_weight is not None):
            raise ValueError("sample_weight and class_weight need the labels apart from the rows: call fit(X, y)")
        fitted = fit(self.settings, rows, reading, watch, self.threads, self.embedding)
        priors = self.settings.naive_bayes.priors
        unnamed = [] if isinstance(priors, str) else [label for label in fitted.labels if label not in dict(priors)]
        if unnamed:
            message = f"no prior was given for the label {unnamed[0]!r}; its share of the rows is used"
            warnings.warn(message, stacklevel=3)
        mark = None if fitted.resolved.several else likely_separator(fitted.rows_per_label or {})
        if mark is not None:
            message = f"labels have {mark!r} between other labels; if rows have several, pass label_separator={mark!r}"
            warnings.warn(message, stacklevel=3)
        self.take(fitted)
        self._learned = learned
        return self

    @one_at_a_time
    def learn(self, data: Any, *, reading: Reading | None = None) -> Classifier:
        """Learn more rows, or change nothing. What validation chose at :meth:`fit` is kept.

        A label that is new costs 1 when it is mistaken, if the model decides by costs, and has its share of the rows as
        its prior, if priors were given. A label that the decision uses as its word for unsure is refused.
        """
        if not self.is_fitted:
            return self.fit(data, reading=reading)
        self.relabel(iter(()), data, reading=reading)
        return self

    @one_at_a_time
    def forget(self, data: Any, *, reading: Reading | None = None) -> Receipt:
        """Forget rows, or change nothing: the model is then the one that never saw them.

        Rows that cannot have been learned are refused. Counts alone cannot tell every such row: after learning "win
        money" and "free prize", "win prize" looks as if it had been learned. With ``ledger=True`` all are refused.

        Returns a receipt: the checksum of the model file, which equals that of a model that never saw the rows.
        """
        forgotten = self.relabel(data, iter(()), reading=reading)
        return Receipt(self.checksum(), forgotten, self.rows, self.fitted.ledger is not None)

    @one_at_a_time
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
        changed, forgotten = self._changed(old, new, reading)
        self.take(changed)
        return forgotten

    @one_at_a_time
    def tag(
        self, data: Any, *, add: Sequence[Any] = (), remove: Sequence[Any] = (), reading: Reading | None = None
    ) -> int:
        """Relabel rows that may have several labels: add some labels to those that they have, and remove others.

        The rows were learned with the labels that they have here. Returns how many rows were relabeled. If a row lacks
        a label that is to be removed, nothing is changed.

        Examples
        --------
        >>> rows = [{"label": ["corn"], "text": "x1"}, {"label": [], "text": "y1"}]
        >>> model = Classifier().fit(rows)
        >>> model.tag(rows[:1], add=["oil"], remove=["corn"]), model.labels
        (1, ('oil',))
        """
        if self.fitted.resolved.several is None:
            raise ValueError("tag is for models of several labels a row; use relabel")
        old, label = list(self.fitted.labeled(batches(data, reading))), self.settings.label
        new = [with_labels(batch, label, [*map(label_text, add)], [*map(label_text, remove)]) for batch in old]
        changed, forgotten = self.fitted.changed(old, new, self.threads, read=True)
        self.take(changed)
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
        return Classifier.of(self.settings, self._changed(old, new, reading)[0], self.threads)

    def _changed(self, old: Any, new: Any, reading: Reading | None) -> tuple[Fitted, int]:
        return self.fitted.changed(batches(old, reading), batches(new, reading), self.threads)

    @one_at_a_time
    def decay(self, factor: float) -> Classifier:
        """Let what was learned so far count less: all counts times a factor, rounded.

        This is not exact, unlike everything else: rows that have decayed cannot be forgotten, and rounding makes the
        model depend on how often it decays. For exact recency see :class:`discern.Window`. A model with a ledger does
        not decay.
        """
        return self.take(self.fitted.decayed(factor))

    def merge(self, other: Classifier) -> Classifier:
        """Return a new model: the one that learned the rows of both.

        The order and the grouping of merges do not matter. Models of different columns, text settings, bins, decisions
        or given settings are refused, as are ledgers with different salts. Of settings that validation chose, those
        that were chosen on more rows are kept.
        """
        merged = self.fitted.merged(other.fitted)
        _ = merged.model
        return Classifier.of(merged.settings, merged, self.threads)

    @one_at_a_time
    def decide_by(self, decision: Decision | Thresholds | None) -> Classifier:
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
        from discern.evaluation.decisions import Decision
        from discern.evaluation.several.thresholds import Thresholds

        if not isinstance(decision, Decision | Thresholds | None):
            raise TypeError(f"pass a Decision, such as Decision.at(0.9, 'spam'), or None, not {decision!r}")
        return self.take(self.fitted.decided_by(decision))

    # -------------------------------------------------------------------------------------------- renaming

    @one_at_a_time
    def read_text_from(self, name: str) -> None:
        """Read the text from a column of another name than that learned from."""
        self.take(self.fitted.reading_text_from(name))

    @one_at_a_time
    def read_labels_from(self, name: str) -> None:
        """Read labels from a column of another name than those learned."""
        self.take(self.fitted.reading_labels_from(name))

    @one_at_a_time
    def rename_labels(self, names: Sequence[str]) -> None:
        """Rename the labels, in the same order; the decision and given priors follow."""
        self.take(self.fitted.relabeled(tuple(map(label_text, names))))

    # ----------------------------------------------------------------------------------------------- files

    def save(self, path: str | os.PathLike[str], *, slim: bool = False) -> str:
        """Write the model to a file and return its checksum.

        With ``slim`` the statistics are left out: a smaller file that can predict, but not learn, forget or merge. What
        is written is read back and compared before it takes the place of the old file; if it differs, the old file
        stays and ModelFileError is raised.
        """
        return self.fitted.save(path, slim=slim)

    def without_statistics(self) -> Classifier:
        """Return a slim copy: it can predict, but not learn, forget or merge."""
        return Classifier.of(self.settings, self.fitted.slim(), self.threads)

    def checksum(self) -> str:
        """Return the checksum that the model file would have."""
        return self.fitted.checksum()

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, embed: Any = None) -> Classifier:
        """Read a model that :meth:`save` wrote; ``embed`` is the embedder that it was trained with, if any."""
        fitted, embedder = Fitted.load(path), embedder_of(embed)
        return cls.of(fitted.settings, fitted if embedder is None else fitted.embedding_with(embedder))

    def _repr_html_(self) -> str:
        """Return what notebooks show: settings, and the strongest words of the labels."""
        from html import escape

        from discern.evaluation.markup import classifier_html

        return classifier_html(self) if self.is_fitted else f"<p>{escape(repr(self))}</p>"

    def __repr__(self) -> str:
        learned = f"{len(self.labels)} labels, {self.solved.terms} terms" if self.is_fitted else "not fitted"
        return f"<discern.Classifier {self.model}: {learned}>"


def embedder_of(embed: Any) -> Embedder | None:
    """Return an embedder of what was given for ``embed``."""
    if embed is None:
        return None
    from discern.data.embedding.embedder import Embedder

    return Embedder.of(embed)


def load(path: str | os.PathLike[str], *, embed: Any = None) -> Classifier:
    """Read a model file.

    Parameters
    ----------
    path : path
    embed : callable, :class:`discern.Embedder`, or path, optional
        The embedder that the model was trained with, if it embeds texts. Another one is refused.

    Examples
    --------
    >>> import tempfile
    >>> model = Classifier().fit([{"label": "a", "text": "x1 x2"}, {"label": "b", "text": "y1 y2"}])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     checksum = model.save(f"{folder}/m.discern")
    ...     load(f"{folder}/m.discern").predict(["x2"]).tolist()
    ['a']
    """
    return Classifier.load(path, embed=embed)
