"""From settings to resolved settings: what was left open is chosen by validation on rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from discern.data.roles import Feature
from discern.data.text import CHARACTERS, TextSettings
from discern.learners.smoothing import Laplace
from discern.models.registry import MODELS, ModelKind, searched
from discern.models.resolved import Resolved
from discern.models.settings import Settings

if TYPE_CHECKING:
    from discern.models.candidates import Candidate, Change
    from discern.models.validation.rows import Sample
    from discern.models.vector_space.model import Pipeline

BASIS_TERMS = {
    "common": "a common scale",
    "normal": "normal quantiles",
    "bins": "bins",
    "quadratic": "products of two",
    "bumps": "Gaussian bumps",
}
"""How the leaderboard names a basis."""

# ------------------------------------------------------------------------------------------------- naive Bayes


def needs_validation(settings: Settings, features: Sequence[Feature]) -> bool:
    """Return whether something is left to choose or to calibrate."""
    bins = any(feature.role == "number" for feature in features) and settings.numbers != "gaussian"
    if settings.kind.is_spatial:
        return True
    return _chooses(settings) or settings.calibrate is True or bins


def _chooses(settings: Settings) -> bool:
    return settings.auto_smoothing or settings.auto_priors or settings.max_terms == "auto"


def initial(settings: Settings, features: Sequence[Feature], several: bool = False) -> Resolved:
    """Return what is learned with if there is nothing to choose; with ``several``, rows may have several labels."""
    found = Resolved(settings.naive_bayes, settings.text, tuple(features), min_df=settings.min_df or 1)
    if not several:
        return found
    from discern.models.several.record import Several

    if not isinstance(settings.naive_bayes.priors, str):
        raise ValueError("priors of several labels a row are 'data' or 'uniform'; shares of labels would not sum to 1")
    return replace(found, several=Several())


def resolve(settings: Settings, sample: Sample, features: Sequence[Feature], several: bool = False) -> Resolved:
    """Return what rows are learned with: chosen by validation where something is left open."""
    if several and settings.kind.is_spatial:
        from discern.models.several.space import resolve as resolve_in_space

        return resolve_in_space(settings, sample, features)
    if several and needs_validation(settings, features):
        from discern.models.several.choosing import choose as choose_for_labels

        return choose_for_labels(settings, sample, features, initial(settings, features, several))
    if settings.kind.is_spatial:
        from discern.models.vector_space import additive

        return additive.resolve(settings, sample, features)
    if needs_validation(settings, features):
        return choose(settings, sample, features)
    return initial(settings, features, several)


def choose(settings: Settings, sample: Sample, features: Sequence[Feature]) -> Resolved:
    """Choose by validation what was not given."""
    import discern.models.validation.choosing as validation

    few = sample.rows < validation.LEAST_VALIDATED or len(sample.labels) < 2
    numbers = settings.numbers
    ways = [numbers] if numbers != "auto" else ["gaussian"] if few else ["gaussian", "quantile", "mdl"]
    start = initial(settings, features)
    if few or not (_chooses(settings) or settings.calibrate is True):
        return replace(start, features=validation.with_numbers(sample, features, ways[0]))
    free = settings.auto_smoothing and settings.model == "naive-bayes"
    laplace_only = settings.naive_bayes.event_model.laplace_only
    smoothings = [one for one in validation.SMOOTHINGS if not laplace_only or isinstance(one, Laplace)]
    words = settings.text.analyzer in ("word", "pattern")
    found = validation.choose(
        sample,
        start,
        start.min_df,
        smoothings=smoothings if settings.auto_smoothing else (),
        events=("multinomial", "binary", "contrast") if free else (),
        ngrams=((1, 1), (1, 2)) if free and settings.ngrams is None and words else (),
        stems=free and settings.auto_stem and words,
        numbers=ways,
        priors=("data", "uniform") if settings.auto_priors else (),
        most_terms=validation.MOST_TERMS if settings.max_terms == "auto" else (),
        views=settings.views_to_try if free else (),
    )
    return found if settings.calibrate is not False else replace(found, calibration=None, novelty=None)


# --------------------------------------------------------------------------------------------- a vector space


def pipeline_of(
    settings: Settings, model: str, characters: tuple[int, int] | None = None, basis: str | None = None
) -> Pipeline:
    """Return all that decides how a model in a vector space is learned; ``characters`` and ``basis`` if not given."""
    from discern.models.vector_space.axes import Layout
    from discern.models.vector_space.model import Pipeline, regularization_of

    kind, text, lengths = MODELS[model], settings.text, settings.characters or characters
    if settings.ngrams is None:
        usual = {"word": (1, 2), "pattern": (1, 2), "char": CHARACTERS, "char_wb": CHARACTERS}
        text = replace(text, ngrams=usual.get(text.analyzer, (1, 1)))
    texts = (text,) if lengths is None else (text, settings.character_settings(lengths))
    numbers = settings.numbers if settings.numbers != "auto" else "quantile" if kind.presence else "gaussian"
    if kind.presence and numbers == "gaussian":
        raise ValueError(f"{kind.phrase} takes numbers in bins: use numbers='quantile', 'uniform' or 'mdl'")
    most = settings.max_terms if isinstance(settings.max_terms, int) else kind.max_terms
    least = settings.min_df or (1 if kind.presence else 2)
    select = settings.select.replace("-", "_")
    basis = (basis or kind.basis) if settings.basis == "auto" else settings.basis
    layout = Layout(texts, kind.presence, least, most, select, kind.is_unit, is_lasting=kind.is_sum, basis=basis)
    if not (kind.is_sum or kind.presence):
        layout = replace(layout, levels=settings.levels)
    smoothing = None if settings.auto_smoothing else settings.naive_bayes.smoothing
    regularization = regularization_of(model, smoothing, basis)
    if settings.cost is not None:
        regularization = replace(regularization, cost=settings.cost)
    return Pipeline(model, layout, regularization, settings.naive_bayes.priors, numbers)


# ------------------------------------------------------------------------------------------ search for the best


def candidates(settings: Settings, features: Sequence[Feature], rows: int) -> list[Candidate]:
    """Return the models that ``"best"`` compares for columns: the most likely winners first.

    Of few rows more are compared: with many, changes of the winner bring more in the same time.
    """
    from discern.models.candidates import Candidate
    from discern.models.search import ENOUGH

    has_vectors = any(feature.role == "vector" for feature in features)
    if all(feature.role != "text" for feature in features):
        return _of_tables(settings, features, has_vectors)
    words, free = settings.text.analyzer == "word", settings.ngrams is None
    terms = "words and pairs of words" if words and free else f"{settings.text.analyzer} n-grams"
    found = [_candidate(settings, kind.name, terms) for kind in searched(not has_vectors, has_vectors)]
    if words:
        both = Candidate("linear-svm", f"{terms}, characters", pipeline_of(settings, "linear-svm", CHARACTERS))
        found.insert(2, both)
    if rows > ENOUGH:
        return [one for one in found if one.model != "unit-bayes"]
    if words and free:
        found.append(Candidate("linear-svm", "words", _single_words(settings)))
    return found


def _of_tables(settings: Settings, features: Sequence[Feature], has_vectors: bool) -> list[Candidate]:
    """Return the candidates without texts: each model, then the linear ones and others in further bases."""
    from discern.models.candidates import Candidate

    kinds = searched(False, has_vectors)
    found = [_candidate(settings, kind.name, "") for kind in kinds if _takes(settings.basis, kind)]
    has_numbers = any(feature.role == "number" for feature in features)
    is_free = settings.basis == "auto" and settings.numbers in ("auto", "gaussian") and not has_vectors
    for kind in kinds if is_free else ():
        bases = kind.bases[1:] if has_numbers else set(kind.bases) & {"quadratic"}
        found += [Candidate(kind.name, BASIS_TERMS[one], pipeline_of(settings, kind.name, None, one)) for one in bases]
    return found


def _takes(basis: str, kind: ModelKind) -> bool:
    """Return whether a model can be learned in a basis that was given; naive Bayes has none."""
    return basis == "auto" or bool(kind.is_spatial and (basis not in ("quadratic", "bumps") or kind.is_linear))


def _candidate(settings: Settings, model: str, terms: str) -> Candidate:
    from discern.models.candidates import Candidate, with_punctuation

    if MODELS[model].event:
        return Candidate(model, terms and "words, or pairs too")
    pipeline = pipeline_of(settings, model)
    if MODELS[model].is_unit and not settings.has_own_tokens:
        layout = with_punctuation(pipeline.layout)
        if layout != pipeline.layout:
            return Candidate(model, f"{terms}, punctuation", replace(pipeline, layout=layout))
    return Candidate(model, terms, pipeline)


def _single_words(settings: Settings) -> Pipeline:
    pipeline = pipeline_of(settings, "linear-svm")
    text: TextSettings = replace(pipeline.layout.text[0], ngrams=(1, 1))
    return replace(pipeline, layout=replace(pipeline.layout, text=(text, *pipeline.layout.text[1:])))


def changes(settings: Settings, features: Sequence[Feature]) -> list[Change]:
    """Return what may be changed of the winner's terms: what was not given."""
    from discern.models.candidates import CHANGES

    given = {
        "characters": settings.characters is not None or settings.text.analyzer != "word",
        "short characters": settings.characters is not None,
        "across words": settings.characters is not None,
        "punctuation": settings.has_own_tokens,
        "triples": settings.ngrams is not None,
        "rare terms": settings.min_df is not None,
    }
    has_text = any(feature.role == "text" for feature in features)
    return [change for change in CHANGES if has_text and not given.get(change.name)]
