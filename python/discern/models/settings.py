"""What is asked of a classifier: checked when it is made; what it leaves open is chosen when rows are there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from discern.data.batch import Batch, did_you_mean
from discern.data.roles import NUMBERS, Feature, infer
from discern.data.strings import DataError
from discern.data.text import CHARACTERS, TextSettings
from discern.learners.bayes import Laplace, NaiveBayesSettings, as_priors, as_smoothing
from discern.statistics.ledger import as_salt

if TYPE_CHECKING:
    from discern.models.choice import Choice
    from discern.models.rows import Sample
    from discern.models.search import Candidate, Change
    from discern.models.space_model import Recipe

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
IN_CONTESTS = {**NOT_SUMS, "unit-bayes": "a naive Bayes of rows of unit length"}
"""With those that only take part where the best is looked for."""
MODELS = (*EVENTS, *NOT_SUMS, "best")
SELECTS = ("chi2", "mutual-information")
PRIORS = ("data", "uniform", "auto")
NO_TABLE = ("logistic", "linear-svm", "lda", "qda", "knn")
"""The models that ``"best"`` compares, beside naive Bayes, where there is no text."""


@dataclass(frozen=True)
class Request:
    """The settings of a classifier, as :class:`discern.Classifier` describes them. None: not given."""

    label: str = "label"
    given: tuple[Feature, ...] = ()
    model: str = "naive-bayes"
    learner: NaiveBayesSettings = field(default_factory=NaiveBayesSettings)
    """The settings of naive Bayes, or where choosing them starts."""
    text: TextSettings = field(default_factory=TextSettings)
    chooses_smoothing: bool = True
    chooses_priors: bool = False
    chooses_stem: bool = False
    numbers: str = "auto"
    calibrate: str | bool = "auto"
    min_df: int | None = None
    shortest: int | None = None
    """The least number of characters of a word, as ``text`` has it if it was given."""
    ngrams: tuple[int, int] | None = None
    characters: tuple[int, int] | None = None
    features: int | str | None = None
    select: str = "chi2"
    budget: float = 60.0
    ledger: bool | str = False
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.model not in (*MODELS, *IN_CONTESTS):  # a file may hold one that won
            raise ValueError(f"there is no model {self.model!r}{did_you_mean(self.model, MODELS)}")
        if self.min_df is not None and self.min_df < 1:
            raise ValueError(f"min_df must be at least 1, not {self.min_df}")
        if self.numbers not in ("auto", *NUMBERS):
            raise ValueError(f"numbers must be one of auto, {', '.join(NUMBERS)}, not {self.numbers!r}")
        if self.calibrate not in ("auto", True, False):
            raise ValueError(f"calibrate must be 'auto', True or False, not {self.calibrate!r}")
        if not 0 < self.budget < float("inf"):
            raise ValueError(f"budget must be a number of seconds above 0, not {self.budget!r}")
        as_salt(self.ledger)
        self._refuse_unused()
        self._check_features()
        _ = self.text.native  # complain about settings now, not at fit
        if self.characters is not None:
            _ = self._character_settings(self.characters).native

    def _check_features(self) -> None:
        most = self.features
        if most == "auto" and not self.is_sum:
            raise ValueError(f"features='auto' is for naive Bayes; give a number of terms for {self.model!r}")
        if most not in (None, "auto") and (isinstance(most, str) or int(most) != most or most < 1):
            raise ValueError(f"features must be 'auto' or a number of terms above 0, not {most!r}")

    def _refuse_unused(self) -> None:
        """Refuse settings that the model would not listen to."""
        if self.is_sum and self.characters is not None:
            raise ValueError(
                f"characters is for models in a vector space, such as 'linear-svm', not for {self.model!r}"
            )
        if self.ledger is not False and not self.is_sum:
            raise ValueError(f"a ledger is for naive Bayes, which can forget rows, not for {self.model!r}")
        if self.model not in (*EVENTS, "nbsvm", "best") and not self.chooses_smoothing:
            raise ValueError(f"smoothing is for naive Bayes and 'nbsvm', not for {self.model!r}")
        has_priors = self.model in (*EVENTS, "lda", "qda")
        if not has_priors and (self.chooses_priors or self.learner.priors != "data"):
            raise ValueError(f"priors can be given for naive Bayes, 'lda' and 'qda', not for {self.model!r}")
        if self.chooses_priors and not self.is_sum:
            raise ValueError(f"priors='auto' is for naive Bayes; give 'data', 'uniform' or shares for {self.model!r}")

    @property
    def is_sum(self) -> bool:
        """Whether the model is a sum of its rows."""
        return self.model in EVENTS

    # ------------------------------------------------------------------------------------------- naive Bayes

    def suiting(self, batch: Batch) -> Request:
        """Return the request with what rows of their kind are best cut by, if it was not given."""
        if self.shortest is not None or self.text.shortest == batch.shortest:
            return self
        return replace(self, text=replace(self.text, shortest=batch.shortest))

    def features_of(self, batch: Batch) -> tuple[tuple[Feature, ...], dict[str, str]]:
        """Return the columns to decide by, inferred if none were given, and which are left out and why."""
        if self.given:
            return self.given, {}
        batch.column(self.label)
        features, left_out = infer(batch, self.label)
        if not features:
            raise DataError(
                f"{batch.source_has} no column to decide by beside the label {self.label!r}; there must be a text, a "
                "number or a category"
            )
        return tuple(features), left_out

    def validates(self, features: Sequence[Feature]) -> bool:
        """Return whether something is left to choose or to calibrate."""
        bins = any(feature.role == "number" for feature in features) and self.numbers != "gaussian"
        return self._chooses or self.calibrate is True or bins

    @property
    def _chooses(self) -> bool:
        return self.chooses_smoothing or self.chooses_priors or self.features == "auto"

    def unchosen(self, features: Sequence[Feature]) -> Choice:
        """Return what is learned if there is nothing to choose."""
        from discern.models.choice import Choice

        return Choice(self.learner, self.text, tuple(features))

    def planned(self, sample: Sample, features: Sequence[Feature]) -> Choice:
        """Return what rows would be learned with."""
        return self.choose(sample, features) if self.validates(features) else self.unchosen(features)

    def choose(self, sample: Sample, features: Sequence[Feature]) -> Choice:
        """Choose by validation what was not given."""
        import discern.models.validation as validate

        few = sample.rows < validate.LEAST_VALIDATED or len(sample.labels) < 2
        ways = [self.numbers] if self.numbers != "auto" else ["gaussian"] if few else ["gaussian", "quantile", "mdl"]
        start = self.unchosen(features)
        if few or not (self._chooses or self.calibrate is True):
            return replace(start, features=validate.with_numbers(sample, features, ways[0]))
        free = self.chooses_smoothing and self.model == "naive-bayes"
        laplace_only = self.learner.event in validate.SOLVED_AGAIN
        smoothings = [one for one in validate.SMOOTHINGS if not laplace_only or isinstance(one, Laplace)]
        found = validate.choose(
            sample,
            start,
            self.min_df or 1,
            smoothings=smoothings if self.chooses_smoothing else (),
            events=("multinomial", "binary", "contrast") if free else (),
            ngrams=((1, 1), (1, 2)) if free and self.ngrams is None and self.text.analyzer == "word" else (),
            stems=free and self.chooses_stem and self.text.analyzer == "word",
            numbers=ways,
            priors=("data", "uniform") if self.chooses_priors else (),
            most_terms=validate.MOST_TERMS if self.features == "auto" else (),
        )
        return found if self.calibrate is not False else replace(found, calibration=None)

    # ---------------------------------------------------------------------------------------- a vector space

    def recipe_of(self, model: str, characters: tuple[int, int] | None = None) -> Recipe:
        """Return all that decides how a model in a vector space is learned; ``characters`` if none were given."""
        from discern.models.space import Plan
        from discern.models.space_model import MOST_TERMS, Recipe, regularization_of

        text, lengths = self.text, self.characters or characters
        if self.ngrams is None:
            usual = {"word": (1, 2), "pattern": (1, 2), "char": CHARACTERS, "char_wb": CHARACTERS}
            text = replace(text, ngrams=usual.get(text.analyzer, (1, 1)))
        texts = (text,) if lengths is None else (text, self._character_settings(lengths))
        presence = model in ("nbsvm", "unit-bayes")
        numbers = self.numbers if self.numbers != "auto" else "quantile" if presence else "gaussian"
        if presence and numbers == "gaussian":
            raise ValueError("an NB-SVM takes numbers in bins: use numbers='quantile', 'uniform' or 'mdl'")
        most = self.features if isinstance(self.features, int) else MOST_TERMS.get(model)
        least, select = self.min_df or (1 if presence else 2), self.select.replace("-", "_")
        plan = Plan(texts, presence, least, most, select, unit=model == "unit-bayes")
        smoothing = None if self.chooses_smoothing else self.learner.smoothing
        return Recipe(model, plan, regularization_of(model, smoothing), self.learner.priors, numbers)

    def _character_settings(self, lengths: tuple[int, int]) -> TextSettings:
        return TextSettings("char_wb", lowercase=self.text.lowercase, ngrams=(int(lengths[0]), int(lengths[1])))

    def entries(self, features: Sequence[Feature], rows: int) -> list[Candidate]:
        """Return the models that ``"best"`` compares for columns: the most likely winners first.

        Of few rows more are compared: with many, changes of the winner bring more in the same time.
        """
        from discern.models.search import ENOUGH, Candidate

        if all(feature.role != "text" for feature in features):
            return [Candidate("naive-bayes", ""), *(Candidate(name, "", self.recipe_of(name)) for name in NO_TABLE)]
        words, free = self.text.analyzer == "word", self.ngrams is None
        usual = "words and pairs of words" if words and free else f"{self.text.analyzer} n-grams"
        both = [Candidate("linear-svm", f"{usual}, characters", self.recipe_of("linear-svm", CHARACTERS))]
        return [
            *(Candidate(name, usual, self.recipe_of(name)) for name in ("linear-svm", "nbsvm")),
            *(both if words else ()),
            Candidate("naive-bayes", "words, or pairs too"),
            Candidate("ridge", f"{usual}, selected", self.recipe_of("ridge")),
            Candidate("logistic", usual, self.recipe_of("logistic")),
            *([self._unit_bayes(usual)] if rows <= ENOUGH else ()),
            *([Candidate("linear-svm", "words", self._of_words())] if words and free and rows <= ENOUGH else ()),
        ]

    def _unit_bayes(self, terms: str) -> Candidate:
        """Return naive Bayes of rows of unit length, with punctuation if texts may be cut freely."""
        from discern.models.search import Candidate, with_punctuation

        recipe = self.recipe_of("unit-bayes")
        plan = recipe.plan if self._is_cut_by_request else with_punctuation(recipe.plan)
        if plan != recipe.plan:
            terms = f"{terms}, punctuation"
        return Candidate("unit-bayes", terms, replace(recipe, plan=plan))

    def _of_words(self) -> Recipe:
        recipe = self.recipe_of("linear-svm")
        text = replace(recipe.plan.text[0], ngrams=(1, 1))
        return replace(recipe, plan=replace(recipe.plan, text=(text, *recipe.plan.text[1:])))

    @property
    def _is_cut_by_request(self) -> bool:
        """Whether it was given how texts are cut into words, beyond n-grams."""
        cut = self.text.stem is not None or self.text.stop_words or self.shortest not in (None, TextSettings.shortest)
        return self.text.analyzer != "word" or bool(cut)

    def changes(self, features: Sequence[Feature]) -> list[Change]:
        """Return what may be changed of the winner's terms: what was not given."""
        from discern.models.search import CHANGES

        given = {
            "characters": self.characters is not None or self.text.analyzer != "word",
            "short characters": self.characters is not None,
            "across words": self.characters is not None,
            "punctuation": self._is_cut_by_request,
            "triples": self.ngrams is not None,
            "rare terms": self.min_df is not None,
        }
        has_text = any(feature.role == "text" for feature in features)
        return [change for change in CHANGES if has_text and not given.get(change.name)]


def naive_bayes(
    model: str, smoothing: Any, priors: Any, normalization: str, features: Any, select: str
) -> NaiveBayesSettings:
    """Return the settings of naive Bayes, or where choosing them starts, from what was given."""
    start = as_smoothing(1.0 if is_auto(smoothing) else smoothing)
    given = "data" if is_auto(priors) else priors if isinstance(priors, str) else as_priors(priors)
    if isinstance(given, str) and given not in PRIORS:
        raise ValueError(
            f"priors must be 'data', 'uniform', 'auto' or a mapping of label to probability, not {given!r}"
        )
    if select not in SELECTS:
        raise ValueError(f"select must be one of {', '.join(SELECTS)}, not {select!r}")
    most = int(features) if isinstance(features, int) and model in EVENTS else None
    event = EVENTS.get(model, "multinomial")
    return NaiveBayesSettings(event, start, given, normalization, most_terms=most, select=select.replace("-", "_"))


def is_auto(given: Any) -> bool:
    """Return whether validation shall choose."""
    return isinstance(given, str) and given == "auto"


def roles_given(label: str, **names: str | Sequence[str] | None) -> tuple[Feature, ...]:
    """Return the columns that were given a role, each once."""
    features: list[Feature] = []
    for role, given in names.items():
        for name in [given] if isinstance(given, str) else given or ():
            if name == label or name in [feature.name for feature in features]:
                raise ValueError(f"the column {name!r} is given two roles")
            features.append(Feature(str(name), role))
    return tuple(features)


def as_text(words: Mapping[str, Any]) -> TextSettings:
    """Return the settings of texts; stop words must be a list, not one text."""
    if isinstance(words["stop_words"], str):
        raise ValueError("stop_words must be a list of words")
    lengths = words["ngrams"] or (1, 1)
    given = {name: value for name, value in words.items() if not (name == "shortest" and value is None)}
    given["stem"] = None if is_auto(given["stem"]) else given["stem"]
    return TextSettings(
        **{**given, "ngrams": (int(lengths[0]), int(lengths[1])), "stop_words": tuple(words["stop_words"])}
    )
