"""What a classifier is trained with: its settings, with everything that was left open resolved from the rows."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from discern.data.roles import EMBEDDING, LENGTH, Feature
from discern.data.text import TextSettings
from discern.learners.bayes import NaiveBayesSettings
from discern.learners.smoothing import smoothing_to_json
from discern.models.columns import statistics_of
from discern.models.registry import MODELS
from discern.statistics.statistic import arrays_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discern.data.embedding.identity import EmbedderIdentity
    from discern.evaluation.calibration import Temperature
    from discern.evaluation.novelty import Novelty
    from discern.evaluation.scaling import EvidenceScaling
    from discern.models.naive_bayes import Model, Summing
    from discern.models.several.record import Several
    from discern.models.vector_space.axes import Space
    from discern.models.vector_space.model import Pipeline, SpaceModel
    from discern.statistics.statistic import Statistic
    from discern.statistics.sums import Sums


@dataclass(frozen=True)
class Resolved:
    """Settings without anything left open, and how good they are on held-out rows.

    ``pipeline`` is how a model in a vector space is learned; without it the model is naive Bayes over all columns.
    """

    naive_bayes: NaiveBayesSettings
    text: TextSettings
    features: tuple[Feature, ...]
    calibration: Temperature | EvidenceScaling | None = None
    log_loss: float = math.nan
    accuracy: float = math.nan
    rows: int = 0
    """The number of rows that it was validated on; 0 if nothing was chosen."""
    min_df: int = 1
    pipeline: Pipeline | None = None
    novelty: Novelty | None = None
    """Quantiles of held-out rows, to tell how unusual other rows are."""
    leaderboard: tuple[dict[str, Any], ...] = ()
    """How the models did that were compared, the best first."""
    embedder: EmbedderIdentity | None = None
    """What tells the embedder of the texts from others."""
    space: Space | None = None
    """The space that rows are summed in as points, if the pipeline is a sum over rows: kept when rows come and go."""
    several: Several | None = None
    """The calibration and the thresholds of labels, if rows may have several."""

    @property
    def columns(self) -> tuple[Feature, ...]:
        """The columns that rows must have: without what is derived from others."""
        return tuple(feature for feature in self.features if not feature.is_derived)

    @property
    def chosen(self) -> dict[str, Any] | None:
        """What validation chose, and how good it is; None if it chose nothing."""
        if math.isnan(self.log_loss) or self.pipeline is not None:
            return None
        naive_bayes = self.naive_bayes
        return {
            "event": naive_bayes.event,
            **({"own": naive_bayes.own} if naive_bayes.contrasts else {}),
            "smoothing": smoothing_to_json(naive_bayes.smoothing),
            "ngrams": list(self.text.ngrams),
            **({} if self.text.stem is None else {"stem": self.text.stem}),
            **({} if naive_bayes.most_terms is None else {"max_terms": naive_bayes.most_terms}),
            **({} if not isinstance(naive_bayes.priors, str) else {"priors": naive_bayes.priors}),
            **(
                {"views": {view: smoothing_to_json(one) for view, one in naive_bayes.views}}
                if naive_bayes.views
                else {}
            ),
            **({"length": True} if any(feature.role == LENGTH for feature in self.features) else {}),
            "numbers": {
                feature.name: "gaussian" if feature.is_normal else f"{len(feature.bins())} bins"
                for feature in self.features
                if feature.role == "number"
            },
            "log_loss": self.log_loss,
            "accuracy": self.accuracy,
            "rows": self.rows,
        }

    @property
    def text_column(self) -> str | None:
        """The name of the first text column, if there is one."""
        return next((feature.name for feature in self.features if feature.role == "text"), None)

    def without_labels(self, gone: Container[str]) -> Resolved:
        """Return the settings without the given priors of some labels."""
        several = self.several and self.several.without_labels(gone)
        return replace(self._with(self.naive_bayes.without_labels(gone)), several=several)

    def relabeled(self, new: Mapping[str, str]) -> Resolved:
        """Return the settings for labels with other names."""
        several = self.several and self.several.renamed(new)
        return replace(self._with(self.naive_bayes.renamed(new)), several=several)

    def _with(self, naive_bayes: NaiveBayesSettings) -> Resolved:
        """Return the settings with others of naive Bayes, of which a pipeline has the priors."""
        pipeline = None if self.pipeline is None else self.pipeline.with_priors(naive_bayes.priors)
        return replace(self, naive_bayes=naive_bayes, pipeline=pipeline)

    def renamed(self, rename: Callable[[Feature], Feature]) -> Resolved:
        """Return the settings for columns with other names."""
        space = None if self.space is None else self.space.renamed(rename)
        return replace(self, features=tuple(map(rename, self.features)), space=space)

    # --------------------------------------------------------------------------------------------------- sums

    @property
    def statistics(self) -> list[type[Statistic]]:
        """What rows are summed into: a statistic for each column, or one for all columns as points in a space."""
        if self.space is None or self.pipeline is None:
            return statistics_of(self.features)
        return [MODELS[self.pipeline.model].statistic_class]

    def summing(self, threads: int | None = None) -> Summing:
        """Return what adds up rows."""
        from discern.models.naive_bayes import Summing

        if self.space is None or self.pipeline is None:
            return Summing(self.features, self.text, threads)
        from discern.models.vector_space.additive import SpaceSum

        return Summing(self.features, self.text, threads, SpaceSum(self.space, self.pipeline.model, threads))

    def solved(self, sums: Sums) -> Model | SpaceModel:
        """Derive the model from sums of rows."""
        if self.space is not None and self.pipeline is not None:
            if self.several is not None:
                from discern.models.several.space import solve as solve_labels_in_space

                return solve_labels_in_space(sums, self.space, self.pipeline, self.several.scaling)
            from discern.models.vector_space.additive import solve

            return solve(sums, self.space, self.pipeline, cast("Temperature | None", self.calibration))
        from discern.models.naive_bayes import solve_columns

        calibration = cast("EvidenceScaling | None", self.calibration)
        if self.several is not None:
            from discern.models.several.naive_bayes import solve_labels

            scaling = self.several.scaling
            return solve_labels(sums, self.features, self.naive_bayes, self.text, self.min_df, calibration, scaling)
        return solve_columns(sums, self.features, self.naive_bayes, self.text, self.min_df, calibration)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the space as arrays, for the model file."""
        return {} if self.space is None else {f"space.{name}": array for name, array in self.space.arrays().items()}

    def with_space(self, arrays: Mapping[str, NDArray[Any]]) -> Resolved:
        """Return the settings with the space that :meth:`arrays` returned, if they have one."""
        if self.pipeline is None or not self.pipeline.is_sum:
            return self
        from discern.models.vector_space.axes import Space

        space = Space.from_arrays([self.pipeline.layout], self.features, arrays_of(arrays, "space"))
        _ = space.grid  # refuse now what is no power of two
        space.ready()
        return replace(self, space=space)

    # --------------------------------------------------------------------------------------------------- JSON

    def to_json(self) -> dict[str, Any]:
        """Return the settings as plain values."""
        return {
            "naive_bayes": self.naive_bayes.to_json(),
            "text": self.text.to_json(),
            "features": [feature.to_json() for feature in self.features],
            "calibration": None if self.calibration is None else self.calibration.to_json(),
            "log_loss": None if math.isnan(self.log_loss) else self.log_loss,
            "accuracy": None if math.isnan(self.accuracy) else self.accuracy,
            "rows": self.rows,
            "min_df": self.min_df,
            "pipeline": None if self.pipeline is None else self.pipeline.to_json(),
            "novelty": None if self.novelty is None else self.novelty.to_json(),
            "leaderboard": list(self.leaderboard),
            **({} if self.embedder is None else {"embedder": self.embedder.to_json()}),
            **({} if self.several is None else {"several": self.several.to_json()}),
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Resolved:
        """Make settings of what :meth:`to_json` returned; raises ValueError if they make no sense."""
        features = tuple(map(Feature.from_json, values["features"]))
        _check_columns(features)
        leaderboard = values["leaderboard"]
        if not isinstance(leaderboard, list) or not all(isinstance(one, dict) for one in leaderboard):
            raise ValueError("the leaderboard is not a list of results")
        json.dumps(leaderboard, allow_nan=False)  # refuse now what could not be saved again
        calibration, pipeline = values["calibration"], values["pipeline"]
        figures = (values[name] for name in ("log_loss", "accuracy"))
        log_loss, accuracy = (math.nan if figure is None else float(figure) for figure in figures)
        text = TextSettings.from_json(values["text"])
        resolved = cls(
            NaiveBayesSettings.from_json(values["naive_bayes"]),
            text,
            features,
            _calibration(calibration),
            log_loss,
            accuracy,
            int(values["rows"]),
            int(values["min_df"]),
            _pipeline(pipeline),
            _novelty(values["novelty"]),
            tuple(leaderboard),
            _embedder(values.get("embedder")),
            several=_several(values.get("several")),
        )
        if (resolved.embedder is not None) != any(feature.view == EMBEDDING for feature in features):
            raise ValueError("the embedder does not match the columns")
        if resolved.pipeline is not None and text not in resolved.pipeline.layout.text:
            raise ValueError("the pipeline is that of another model")
        resolved._check_calibration()
        return resolved

    def _check_calibration(self) -> None:
        if self.calibration is None:
            return
        from discern.evaluation.calibration import Temperature
        from discern.models.naive_bayes import groups_of

        if self.pipeline is not None:
            if not isinstance(self.calibration, Temperature):
                raise ValueError("the calibration is that of naive Bayes")
        elif isinstance(self.calibration, Temperature) or len(self.calibration.scales) != len(groups_of(self.features)):
            raise ValueError("the calibration does not match the columns")


def _check_columns(features: tuple[Feature, ...]) -> None:
    own = [feature.name for feature in features if not feature.is_derived]
    if not own or len(set(own)) < len(own):
        raise ValueError("the column names are not distinct")
    texts = [feature.name for feature in features if feature.role == "text" and not feature.view]
    derived = [(feature.name, feature.role, feature.view) for feature in features if feature.is_derived]
    if len(set(derived)) < len(derived) or any(name not in texts for name, _, _ in derived):
        raise ValueError("a view or length is not that of a text column")


def _calibration(values: Any) -> Temperature | EvidenceScaling | None:
    if values is None:
        return None
    if values["kind"] == "evidence":
        from discern.evaluation.scaling import EvidenceScaling

        return EvidenceScaling.from_json(values)
    from discern.evaluation.calibration import Temperature

    return Temperature.from_json(values)


def _novelty(values: Any) -> Novelty | None:
    if values is None:
        return None
    from discern.evaluation.novelty import Novelty

    return Novelty.from_json(values)


def _embedder(values: Any) -> EmbedderIdentity | None:
    if values is None:
        return None
    from discern.data.embedding.identity import EmbedderIdentity

    return EmbedderIdentity.from_json(values)


def _several(values: Any) -> Several | None:
    if values is None:
        return None
    from discern.models.several.record import Several

    return Several.from_json(values)


def _pipeline(values: Any) -> Pipeline | None:
    if values is None:
        return None
    from discern.models.vector_space.model import Pipeline

    return Pipeline.from_json(values)


def difference(name: str, mine: Any, theirs: Any) -> str:
    """Name the first setting that differs, within settings of settings."""
    if name == "space":
        return "axes: the terms, levels and scales that were chosen when they were fitted"
    if isinstance(mine, dict) and isinstance(theirs, dict):
        for key in mine:
            if mine[key] != theirs.get(key):
                return difference(key, mine[key], theirs.get(key))
    if name == "features":
        both = (", ".join(Feature.from_json(one).described for one in features) for features in (mine, theirs))
        return "columns: " + "; and ".join(both)
    return f"{name}: {mine!r} and {theirs!r}"
