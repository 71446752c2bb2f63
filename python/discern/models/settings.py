"""The settings of a classifier, validated on construction.

Three records describe a classifier, and a model file holds all three: :class:`Settings` is what the user asked for,
:class:`discern.models.resolved.Resolved` what validation made of settings left at "auto", and
:class:`discern.models.fitted.Fitted` what was learned.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from discern.data.batch import Batch, did_you_mean
from discern.data.label_sets.reading import LabelSets
from discern.data.roles import IGNORED, LENGTH, NUMBERS, OTHERS, Feature, infer, with_grid
from discern.data.strings import DataError
from discern.data.text import VIEWS, TextSettings
from discern.learners.bayes import NaiveBayesSettings, as_priors
from discern.learners.kernels.machines import KERNELS
from discern.learners.smoothing import as_smoothing
from discern.models.columns.labels import guess_label
from discern.models.registry import MODELS, ModelKind, public_models
from discern.statistics.ledger import as_salt

SELECTS = ("chi2", "mutual-information")
PRIORS = ("data", "uniform", "auto")
BASES = ("standard", "common", "normal", "bins", "quadratic", "bumps")
"""How numbers become the axes of a vector space; see :class:`discern.models.vector_space.axes.Layout`."""
LEVELS = ("one-hot", "means")
"""How categories become axes: one for each level, or means of labels."""
CHOSEN_KERNELS = KERNELS[:3]
"""The kernels of the model ``"svm"``: linear, poly and rbf."""
LARGEST = 1e12
"""The largest cost and gamma."""
TEXT_SETTINGS = ("analyzer", "tokenizer", "lowercase", "ngrams", "stop_words", "stem", "min_word_length", "pattern")
"""Keyword arguments of a classifier that become :class:`discern.TextSettings`."""


@dataclass(frozen=True)
class Settings:
    """What a classifier was asked for, as :class:`discern.Classifier` describes it; None is not given.

    Examples
    --------
    >>> settings = Settings.of("label", smoothing=0.5, min_df=2)
    >>> settings.auto_smoothing, Settings.from_json(settings.to_json()) == settings
    (False, True)
    """

    label: str = "label"
    columns: tuple[Feature, ...] = ()
    """The columns whose roles were given; those of the others are inferred."""
    model: str = "naive-bayes"
    naive_bayes: NaiveBayesSettings = field(default_factory=NaiveBayesSettings)
    """The settings of naive Bayes, or where validation starts."""
    text: TextSettings = field(default_factory=TextSettings)
    auto_smoothing: bool = True
    auto_priors: bool = False
    auto_stem: bool = False
    numbers: str = "auto"
    calibrate: str | bool = "auto"
    min_df: int | None = None
    min_word_length: int | None = None
    ngrams: tuple[int, int] | None = None
    characters: tuple[int, int] | None = None
    max_terms: int | str | None = None
    select: str = "chi2"
    budget: float = 60.0
    ledger: bool | str = False
    views: str = "auto"
    """What is counted of texts beside their words, if validation finds it useful: ``"auto"``, ``"none"``, or names."""
    basis: str = "auto"
    """How numbers become axes, in a vector space."""
    label_separator: str = ""
    """What stands between the labels of a row in the column of labels; empty if it has one, or a list."""
    labels_from: tuple[str, ...] = ()
    """The columns of flags, each with the name of a label, instead of a column of labels."""
    cost: float | None = None
    """The cost of an error; None is what validation chooses, or what is usual."""
    kernel: str = "auto"
    gamma: float | None = None
    levels: str = "one-hot"
    """How categories become axes, in a vector space."""

    @classmethod
    def of(
        cls,
        label: str,
        *,
        model: str = "naive-bayes",
        smoothing: Any = "auto",
        priors: Any = "data",
        normalization: str = "documents",
        budget: float = 60.0,
        cost: float | None = None,
        gamma: float | None = None,
        text: str | Sequence[str] | None = None,
        number: str | Sequence[str] | None = None,
        category: str | Sequence[str] | None = None,
        flag: str | Sequence[str] | None = None,
        vector: str | Sequence[str] | None = None,
        ignore: str | Sequence[str] | None = None,
        label_separator: str | None = None,
        labels_from: Sequence[str] | None = None,
        **others: Any,
    ) -> Settings:
        """Return the settings that the keyword arguments of a classifier stand for."""
        words = {name: others.pop(name) for name in TEXT_SETTINGS if name in others}
        max_terms, select = others.get("max_terms"), others.get("select", "chi2")
        return cls(
            label=label,
            columns=_columns(
                label, text=text, number=number, category=category, flag=flag, vector=vector, **{IGNORED: ignore}
            ),
            model=model,
            naive_bayes=_naive_bayes(model, smoothing, priors, normalization, max_terms, select),
            text=_text_settings(words),
            auto_smoothing=is_auto(smoothing),
            auto_priors=is_auto(priors),
            auto_stem=is_auto(words.get("stem", "auto")),
            budget=float(budget),
            cost=None if cost is None else float(cost),
            gamma=None if gamma is None else float(gamma),
            ngrams=words.get("ngrams"),
            min_word_length=words.get("min_word_length"),
            label_separator=label_separator or "",
            labels_from=(labels_from,) if isinstance(labels_from, str) else tuple(labels_from or ()),
            **others,
        )

    def __post_init__(self) -> None:
        if self.model not in MODELS:
            raise ValueError(f"unknown model {self.model!r}{did_you_mean(self.model, public_models())}")
        kind = self.kind
        if self.min_df is not None and self.min_df < 1:
            raise ValueError(f"min_df must be at least 1, not {self.min_df}")
        if self.numbers not in ("auto", *NUMBERS):
            raise ValueError(f"numbers must be one of auto, {', '.join(NUMBERS)}, not {self.numbers!r}")
        if self.basis not in ("auto", *BASES):
            raise ValueError(f"basis must be one of auto, {', '.join(BASES)}, not {self.basis!r}")
        if self.levels not in LEVELS:
            raise ValueError(f"levels must be one of {', '.join(LEVELS)}, not {self.levels!r}")
        if self.calibrate not in ("auto", True, False):
            raise ValueError(f"calibrate must be 'auto', True or False, not {self.calibrate!r}")
        if self.select not in SELECTS:
            raise ValueError(f"select must be one of {', '.join(SELECTS)}, not {self.select!r}")
        if not 0 < self.budget < float("inf"):
            raise ValueError(f"budget must be a number of seconds above 0, not {self.budget!r}")
        if self.views not in ("auto", "none") and not set(self.views.split(",")) <= {*VIEWS, LENGTH}:
            known = ", ".join((*VIEWS, LENGTH))
            raise ValueError(f"views must be 'auto', 'none' or some of {known}, not {self.views!r}")
        as_salt(self.ledger)
        self._check_label_sets()
        self._refuse_unused(kind)
        self._check_kernel()
        self._check_max_terms()
        _ = self.text.native  # complain about settings now, not at fit
        if self.characters is not None:
            _ = self.character_settings(self.characters).native

    def _check_label_sets(self) -> None:
        if self.label_separator.isalnum():
            raise ValueError(
                f"label_separator must be a mark that no label contains, such as '|', not {self.label_separator!r}"
            )
        if len({*self.labels_from}) < len(self.labels_from) or "" in self.labels_from:
            raise ValueError(f"labels_from must name different columns, not {list(self.labels_from)}")
        if used := [one.name for one in self.columns if one.name in self.labels_from]:
            raise ValueError(f"the column {used[0]!r} has two roles; choose one")

    def _check_kernel(self) -> None:
        """Refuse a kernel, gamma or cost that makes no sense or that the model would not use."""
        if self.kernel not in ("auto", *CHOSEN_KERNELS):
            raise ValueError(f"kernel must be one of auto, {', '.join(CHOSEN_KERNELS)}, not {self.kernel!r}")
        for name in ("cost", "gamma"):
            number = getattr(self, name)
            if number is not None and not 0 < number <= LARGEST:
                raise ValueError(f"{name} must be a number above 0 and at most {LARGEST:g}, not {number!r}")
        if self.cost is not None and not self.kind.has_cost:
            raise ValueError(f"cost is for models such as 'svm', 'logistic' and 'ridge', not for {self.model!r}")
        if (self.kernel, self.gamma) != ("auto", None) and self.model != "svm":
            raise ValueError(f"kernel and gamma are for 'svm', not for {self.model!r}")
        if self.gamma is not None and self.kernel == "linear":
            raise ValueError("a linear kernel has no gamma")

    def _check_max_terms(self) -> None:
        most = self.max_terms
        if most == "auto" and not self.kind.event:
            raise ValueError(f"max_terms='auto' is for naive Bayes; pass a number of terms for {self.model!r}")
        if most not in (None, "auto") and (isinstance(most, str) or int(most) != most or most < 1):
            raise ValueError(f"max_terms must be 'auto' or a number of terms above 0, not {most!r}")

    def _refuse_unused(self, kind: ModelKind) -> None:
        """Refuse settings that the model would not use."""
        if self.kind.event and self.characters is not None:
            raise ValueError(
                f"characters is for models in a vector space, such as 'linear-svm', not for {self.model!r}"
            )
        if self.basis != "auto" and kind.event:
            raise ValueError(f"basis is for models in a vector space, such as 'logistic', not for {self.model!r}")
        if self.basis in ("quadratic", "bumps") and not (kind.is_linear or self.model == "best"):
            raise ValueError(f"basis={self.basis!r} is for linear models, such as 'logistic', not for {self.model!r}")
        if self.basis not in ("auto", "bins") and (kind.presence or self.numbers not in ("auto", "gaussian")):
            reason = f"{self.model!r} takes" if kind.presence else f"numbers={self.numbers!r} makes"
            raise ValueError(
                f"basis={self.basis!r} cannot be used, because {reason} bins of numbers; pass basis='bins'"
            )
        if self.levels == "means" and (kind.is_sum or kind.presence):
            reason = "takes levels as ones and zeros" if kind.presence else "is a sum over rows"
            raise ValueError(
                f"levels='means' is for models that learn from all rows at once, such as 'logistic', not for "
                f"{self.model!r}, which {reason}; use levels='one-hot'"
            )
        if self.ledger is not False and not self.is_sum:
            raise ValueError(
                f"a ledger is for models that can forget rows, such as naive Bayes, not for {self.model!r}"
            )
        if not kind.has_smoothing and self.model != "best" and not self.auto_smoothing:
            raise ValueError(f"smoothing is for naive Bayes, 'nbsvm' and 'unit-bayes', not for {self.model!r}")
        if not kind.has_priors and (self.auto_priors or self.naive_bayes.priors != "data"):
            raise ValueError(f"priors can be given for naive Bayes, 'lda' and 'qda', not for {self.model!r}")
        if self.auto_priors and not self.kind.event:
            raise ValueError(f"priors='auto' is for naive Bayes; pass 'data', 'uniform' or shares for {self.model!r}")

    @property
    def kind(self) -> ModelKind:
        """The model, as the registry describes it."""
        return MODELS[self.model]

    def refuse_for_label_sets(self) -> None:
        """Raise ValueError for what needs one label a row."""
        if self.numbers == "mdl":
            raise ValueError(
                "numbers='mdl' cuts numbers by the one label of each row, and these rows may have several; use "
                "numbers='quantile' or 'uniform'"
            )

    @property
    def label_sets(self) -> LabelSets:
        """How labels are read where a row may have several."""
        return LabelSets(self.label_separator, self.labels_from)

    @property
    def views_to_try(self) -> tuple[str, ...]:
        """What may be counted of texts beside their words: views only of terms that were not given."""
        if self.views == "none":
            return ()
        if self.views != "auto":
            return tuple(self.views.split(","))
        free = self.ngrams is None and not self.has_own_tokens and self.max_terms is None
        return (*VIEWS, LENGTH) if free else (LENGTH,)

    @property
    def is_sum(self) -> bool:
        """Whether the model is a sum over rows."""
        return self.kind.is_sum

    @property
    def has_own_tokens(self) -> bool:
        """Whether it was given how texts are cut into words, beyond n-grams."""
        length = self.min_word_length not in (None, TextSettings.min_word_length)
        return self.text.analyzer != "word" or bool(self.text.stem is not None or self.text.stop_words or length)

    def character_settings(self, lengths: tuple[int, int]) -> TextSettings:
        """Return the settings that count character n-grams within words."""
        return TextSettings("char_wb", lowercase=self.text.lowercase, ngrams=(int(lengths[0]), int(lengths[1])))

    # ----------------------------------------------------------------------------------------- for some rows

    def suiting(self, batch: Batch) -> Settings:
        """Return the settings with the shortest word that suits rows of their kind, if it was not given."""
        if self.min_word_length is not None or self.text.min_word_length == batch.min_word_length:
            return self
        return replace(self, text=replace(self.text, min_word_length=batch.min_word_length))

    def features_of(self, batch: Batch) -> tuple[tuple[Feature, ...], dict[str, str]]:
        """Return the predictor columns, and which are left out and why; roles that were not given are inferred."""
        if self.label not in batch.columns:
            raise DataError(_no_label(batch, self.label))
        given = {feature.name: feature for feature in self.columns}
        absent = [feature for feature in self.columns if feature.name not in (OTHERS, *batch.columns)]
        for feature in absent if not batch.is_partial else ():
            batch.column(feature.name)  # raises DataError with the names of all columns
        features, left_out = infer(batch, self.label, given)
        features += [feature for feature in absent if feature.role != IGNORED]
        if not features:
            raise DataError(
                f"{batch.source_has} no predictor column besides the label {self.label!r}; add a column with text, "
                "numbers, categories or vectors"
            )
        return tuple(with_grid(feature, batch) for feature in features), left_out

    def without_labels(self, gone: Container[str]) -> Settings:
        """Return the settings without the given priors of some labels."""
        left = self.naive_bayes.without_labels(gone)
        return self if left is self.naive_bayes else replace(self, naive_bayes=left)

    def relabeled(self, new: Mapping[str, str]) -> Settings:
        """Return the settings for labels with other names."""
        return replace(self, naive_bayes=self.naive_bayes.renamed(new))

    def renamed(self, rename: Callable[[Feature], Feature]) -> Settings:
        """Return the settings for columns with other names."""
        return replace(self, columns=tuple(map(rename, self.columns)))

    # --------------------------------------------------------------------------------------------------- JSON

    def to_json(self) -> dict[str, Any]:
        """Return the settings as plain values."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        plain |= {name: getattr(self, name) and list(getattr(self, name)) for name in ("ngrams", "characters")}
        plain["columns"] = [feature.to_json() for feature in self.columns]
        plain["naive_bayes"], plain["text"] = self.naive_bayes.to_json(), self.text.to_json()
        plain["labels_from"] = list(self.labels_from)
        return {name: value for name, value in plain.items() if name not in _OPTIONAL or value != _OPTIONAL[name]}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Settings:
        """Make settings of what :meth:`to_json` returned; raises ValueError if they make no sense."""
        plain = {**_OPTIONAL, **values}
        if plain.keys() != cls.__dataclass_fields__.keys():
            raise ValueError("the settings are not complete")
        for name, kinds in _KINDS.items():
            if type(plain[name]) not in kinds:
                raise ValueError(f"the setting {name} is not of its type")
        plain |= {name: _pair(plain[name]) for name in ("ngrams", "characters")}
        plain["labels_from"] = tuple(map(str, plain["labels_from"]))
        plain["columns"] = tuple(map(Feature.from_json, plain["columns"]))
        plain["naive_bayes"] = NaiveBayesSettings.from_json(plain["naive_bayes"])
        plain["text"] = TextSettings.from_json(plain["text"])
        return cls(**plain)


_OPTIONAL: dict[str, Any] = {
    "basis": "auto",
    "label_separator": "",
    "labels_from": [],
    "cost": None,
    "kernel": "auto",
    "gamma": None,
    "levels": "one-hot",
}
"""Settings that a file does not hold where they are not given."""
_KINDS: dict[str, tuple[type, ...]] = {
    "label": (str,),
    "model": (str,),
    "auto_smoothing": (bool,),
    "auto_priors": (bool,),
    "auto_stem": (bool,),
    "numbers": (str,),
    "calibrate": (str, bool),
    "min_df": (int, type(None)),
    "min_word_length": (int, type(None)),
    "max_terms": (int, str, type(None)),
    "select": (str,),
    "budget": (float,),
    "ledger": (bool, str),
    "views": (str,),
    "basis": (str,),
    "label_separator": (str,),
    "labels_from": (list,),
    "cost": (float, type(None)),
    "kernel": (str,),
    "levels": (str,),
    "gamma": (float, type(None)),
}
"""The types of values in a file that are checked by nothing else."""


def _no_label(batch: Batch, name: str) -> str:
    """Return the message about rows without a column of labels: the closest name, or the likely columns."""
    from difflib import get_close_matches

    guess = guess_label(batch)
    if get_close_matches(name, list(batch.columns), n=1, cutoff=0.6):  # mistyped
        return f"{batch.source_has} no column {name!r}{did_you_mean(name, batch.columns)}"
    likely = f"{guess.name!r}" if guess.name else guess.listed
    if not likely:
        return f"{batch.source_has} no column {name!r}{did_you_mean(name, batch.columns)}"
    return f"{batch.source_has} no column {name!r}; name the column that holds the labels, such as {likely}"


def _pair(values: Any) -> tuple[int, int] | None:
    if values is None:
        return None
    first, last = values
    return int(first), int(last)


def is_auto(given: Any) -> bool:
    """Return whether validation shall choose."""
    return isinstance(given, str) and given == "auto"


def _naive_bayes(
    model: str, smoothing: Any, priors: Any, normalization: str, max_terms: Any, select: str
) -> NaiveBayesSettings:
    """Return the settings of naive Bayes, or where validation starts, from what was given."""
    start = as_smoothing(1.0 if is_auto(smoothing) else smoothing)
    given = "data" if is_auto(priors) else as_priors(priors) if isinstance(priors, Mapping) else priors
    if not isinstance(priors, str | Mapping) or (isinstance(given, str) and given not in PRIORS):
        raise ValueError(
            f"priors must be 'data', 'uniform', 'auto' or a mapping of label to probability, not {given!r}"
        )
    event = MODELS[model].event if model in MODELS else ""  # an unknown model is refused later, with its name
    most = int(max_terms) if isinstance(max_terms, int) and event else None
    best_by = select.replace("-", "_") if select in SELECTS else "chi2"
    return NaiveBayesSettings(event or "multinomial", start, given, normalization, most_terms=most, select=best_by)


def _columns(label: str, **names: str | Sequence[str] | None) -> tuple[Feature, ...]:
    """Return the columns that were given a role, each once."""
    features: list[Feature] = []
    for role, given in names.items():
        for name in [given] if isinstance(given, str) else given or ():
            if name == label or name in [feature.name for feature in features]:
                raise ValueError(f"the column {name!r} has two roles; choose one")
            features.append(Feature(str(name), role))
    return tuple(features)


def _text_settings(words: Mapping[str, Any]) -> TextSettings:
    """Return the settings of texts; stop words must be a list, not one text."""
    given = {name: value for name, value in words.items() if value is not None}
    if isinstance(given.get("stop_words"), str):
        raise ValueError("stop_words must be a list of words")
    lengths = given.get("ngrams", (1, 1))
    given["stop_words"] = tuple(given.get("stop_words", ()))
    if is_auto(given.get("stem")):
        del given["stem"]
    return TextSettings(**{**given, "ngrams": (int(lengths[0]), int(lengths[1]))})
