"""Fitting: from rows and settings to a trained state."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from discern.data.batch import Batch
from discern.data.label_sets.reading import holds_sets
from discern.data.label_sets.sets import Membership
from discern.data.readers import Sources, batches, can_be_read_again
from discern.data.registry import imported
from discern.data.roles import Feature, leading_rows, with_grid, with_values_read
from discern.data.source import Reading
from discern.data.strings import DataError
from discern.models.embedding import embedded_features, with_embeddings
from discern.models.fitted import Fitted
from discern.models.resolved import Resolved
from discern.models.resolving import candidates, changes, choose, initial, needs_validation, pipeline_of, resolve
from discern.models.settings import Settings
from discern.models.summing import empty_ledger, sum_rows, with_names

if TYPE_CHECKING:
    from discern.data.embedding.embedder import Embedder
    from discern.data.embedding.identity import EmbedderIdentity
    from discern.evaluation.calibration import Temperature
    from discern.models.search import Watch
    from discern.models.validation.rows import Sample
    from discern.models.vector_space.model import Pipeline, SpaceModel
    from discern.statistics.ledger import Ledger
    from discern.statistics.sums import Sums

NO_ROWS = "there are no rows to learn from"


def fit(
    settings: Settings,
    data: Any,
    reading: Reading | None = None,
    watch: Watch | None = None,
    threads: int | None = None,
    embedder: Embedder | None = None,
) -> Fitted:
    """Learn from rows. A search calls ``watch`` with the leaderboard each time that a model has been evaluated."""
    first, stream = leading_rows(batches(data, reading))
    if first is None:
        raise DataError(NO_ROWS)
    several = has_label_sets(settings, first)
    if several:
        settings.refuse_for_label_sets()
        first, stream = leading_rows(settings.label_sets.of_batches(stream, settings.label))
        assert first is not None
    suited = settings.suiting(first)
    features, left_out = suited.features_of(first)
    del first  # its memory is used again as soon as nobody looks at it
    if embedder is not None:
        features, stream = embedded_rows(features, stream, embedder)
    job = Job(settings, suited, features, threads, embedder, several)
    stream = (with_values_read(batch, features) for batch in stream)
    if settings.is_sum:
        return replace(job.sums(stream, data, reading), left_out=left_out, embedder=embedder)
    rows = [with_names(batch, features) for batch in stream if batch.rows]
    if not rows:
        raise DataError(NO_ROWS)
    fitted = job.in_space(rows, watch)
    return replace(fitted, left_out=left_out, embedder=embedder)


def has_label_sets(settings: Settings, batch: Batch) -> bool:
    """Return whether rows may have several labels: by the settings, or by the type of their labels."""
    if settings.label_separator or settings.labels_from:
        return True
    return settings.label in batch.columns and holds_sets(batch.columns[settings.label])


def embedded_rows(
    features: tuple[Feature, ...], stream: Iterator[Batch], embedder: Embedder
) -> tuple[tuple[Feature, ...], Iterator[Batch]]:
    """Return columns with the embeddings of texts, and rows that have them: each text is embedded once."""
    wanted = embedded_features(features)
    rows = (with_embeddings(with_names(batch, features), wanted, embedder, None) for batch in stream)
    first, again = leading_rows(rows)
    assert first is not None  # there were rows to infer the columns from
    return tuple(with_grid(feature, first) for feature in wanted), again


@dataclass(frozen=True)
class Job:
    """What rows are learned with: settings as they were given, as they suit the rows, and the predictor columns."""

    given: Settings
    settings: Settings
    features: tuple[Feature, ...]
    threads: int | None
    embedder: Embedder | None = None
    several: bool = False
    """Whether rows may have several labels, whose sets are read as texts."""

    @property
    def names(self) -> list[str]:
        """The names of the predictor columns."""
        return [feature.name for feature in self.features if not feature.is_derived]

    @property
    def identity(self) -> EmbedderIdentity | None:
        """What tells the embedder from others."""
        return None if self.embedder is None else self.embedder.identity

    # ------------------------------------------------------------------------------------------------ sums

    def sums(self, stream: Iterator[Batch], data: Any, reading: Reading | None) -> Fitted:
        """Learn a sum over rows."""
        from discern.statistics.ledger import as_salt

        salt = as_salt(self.given.ledger)
        if needs_validation(self.settings, self.features):
            resolved, sums, ledger = self._validated(stream, data, reading, salt)
        else:
            resolved = replace(initial(self.settings, self.features, self.several), embedder=self.identity)
            sums, ledger = sum_rows(stream, resolved, self.settings.label, self.threads, salt, self.embedder)
        if not sums.rows:
            raise DataError(NO_ROWS)
        return Fitted(self.given, resolved, sums, ledger)

    def _validated(
        self, stream: Iterator[Batch], data: Any, reading: Reading | None, salt: bytes | None
    ) -> tuple[Resolved, Sums, Ledger | None]:
        from discern.models.validation.rows import Sample, Spool, keep

        label, again = self.settings.label, self.embedder is None and can_be_read_again(data)
        is_file = isinstance(data, str | os.PathLike | Sources)
        is_spooled = again and is_file and all(feature.role not in ("text", "vector") for feature in self.features)
        spool = Spool([label, *self.names]) if is_spooled else None
        kept, whole = keep(spool.passed(stream) if spool else stream, thin=again)
        if not kept:
            raise DataError(NO_ROWS)
        named = [with_names(batch, self.features) for batch in kept]
        sample = Sample.of(named, label, self.names, self.threads)
        resolved = resolve(self.settings, sample, self.features, self.several)
        resolved = replace(resolved, embedder=self.identity)
        if whole and resolved.space is None:
            ledger = _ledger_of(named, resolved.columns, label, salt)
            return resolved, sample.sums(resolved.features, resolved.text), ledger
        if whole:
            return resolved, *sum_rows(named, resolved, label, self.threads, salt, self.embedder)
        rest: Iterable[Batch] | None = spool.batches() if spool else None
        if rest is None:
            rest = self._read(data, reading) if again else itertools.chain(kept, stream)
        return resolved, *sum_rows(rest, resolved, label, self.threads, salt, self.embedder)

    def _read(self, data: Any, reading: Reading | None) -> Iterator[Batch]:
        rows = batches(data, reading)
        return self.settings.label_sets.of_batches(rows, self.settings.label) if self.several else rows

    # --------------------------------------------------------------------------------------- a vector space

    def in_space(self, rows: list[Batch], watch: Watch | None) -> Fitted:
        """Learn a model in a vector space, or the best of all."""
        from discern.models.validation.rows import LEAST_VALIDATED, Sample
        from discern.models.vector_space.model import calibration_of

        settings = self.settings
        if self.several and settings.levels == "means":
            raise ValueError("levels='means' needs one label a row; where rows may have several, use levels='one-hot'")
        sample = Sample.of(rows, settings.label, self.names, self.threads)
        many = sample.rows >= LEAST_VALIDATED
        if settings.model == "best":
            return self._best(sample, watch, settings.budget if many else None)
        if self.several:
            from discern.models.several.space import pipeline_of as pipeline_of_labels

            return self._labels_in_space(sample, pipeline_of_labels(settings), many)
        pipeline = pipeline_of(settings, settings.model)
        if settings.kind.choose:
            pipeline = imported(settings.kind.choose)(sample, self.features, pipeline, settings)
        fitted = self._learned(sample, self._resolved(pipeline))
        if settings.calibrate is False or not (many or settings.calibrate is True):
            return fitted
        return _calibrated(fitted, calibration_of(sample, self.features, pipeline))

    def _best(self, sample: Sample, watch: Watch | None, budget: float | None) -> Fitted:
        """Compare models within a budget and learn the best; without one it is naive Bayes."""
        from discern.models.search import Search
        from discern.models.several.search import MOST_SCORES, LabelsSearch
        from discern.models.validation.results import limitation

        settings, features = self.settings, self.features
        too_many = self.several and sample.rows * len(Membership.of(sample.labels).labels) > MOST_SCORES
        if budget is None or len(sample.labels) < 2 or too_many:
            return self._summed(sample, self._chosen(sample))
        search = (LabelsSearch if self.several else Search)(
            sample,
            features,
            [one for one in candidates(settings, features, sample.rows) if not self.several or one.learns_labels],
            self._chosen,
            budget,
            settings.min_df or 1,
            changes(settings, features),
            watch,
        )
        results = search.run()
        winner, leaderboard = results[0], tuple(result.to_json() for result in results)
        if winner.resolved is not None:
            fitted = self._summed(sample, replace(winner.resolved, leaderboard=leaderboard))
        else:
            calibration = None if settings.calibrate is False else winner.calibration
            pipeline = winner.candidate.pipeline
            assert pipeline is not None
            if self.several:
                fitted = self._labels_of_winner(sample, pipeline, leaderboard)
                return (
                    fitted
                    if pipeline.is_sum
                    else replace(fitted, limitation=limitation(winner.candidate, search.evaluated))
                )
            if pipeline.is_sum:
                return self._kept_space(sample, pipeline, calibration, leaderboard)
            resolved = replace(self._resolved(pipeline), leaderboard=leaderboard)
            fitted = _calibrated(self._learned(sample, resolved), calibration)
        return replace(fitted, limitation=limitation(winner.candidate, search.evaluated))

    def _chosen(self, sample: Sample) -> Resolved:
        """Choose the settings of naive Bayes."""
        if not self.several:
            return choose(self.settings, sample, self.features)
        from discern.models.several.choosing import choose as choose_for_labels

        start = initial(self.settings, self.features, several=True)
        return choose_for_labels(self.settings, sample, self.features, start)

    def _labels_of_winner(self, sample: Sample, pipeline: Pipeline, leaderboard: tuple[dict[str, Any], ...]) -> Fitted:
        """Learn a winner in a vector space where rows may have several labels."""
        import discern.models.several.space as labels_space
        from discern.models.vector_space import additive

        if not pipeline.is_sum:
            fitted = self._labels_in_space(sample, pipeline, True)
            return replace(fitted, resolved=replace(fitted.resolved, leaderboard=leaderboard))
        several = labels_space.calibrated(sample, self.features, pipeline)
        resolved = additive.in_space(self.settings, sample, self.features, pipeline, None, sample.rows)
        resolved = replace(resolved, leaderboard=leaderboard, embedder=self.identity, several=several)
        sums, _ = sum_rows(sample.batches, resolved, self.settings.label, self.threads, None, self.embedder)
        return Fitted(self.given, resolved, sums)

    def _labels_in_space(self, sample: Sample, pipeline: Pipeline, many: bool) -> Fitted:
        """Learn a model of several labels a row from all rows, calibrated if there are enough."""
        import discern.models.several.space as labels_space
        from discern.models.several.record import Several

        model = labels_space.fit(sample, self.features, pipeline)
        several, calibrate = Several(), self.settings.calibrate
        if calibrate is True or (calibrate == "auto" and many):
            several = labels_space.calibrated(sample, self.features, pipeline)
        resolved = replace(self._resolved(pipeline), several=several)
        return in_space(self.given, resolved, replace(model, scaling=several.scaling))

    def _resolved(self, pipeline: Pipeline | None) -> Resolved:
        settings = self.settings
        return Resolved(settings.naive_bayes, settings.text, self.features, pipeline=pipeline, embedder=self.identity)

    def _kept_space(
        self,
        sample: Sample,
        pipeline: Pipeline,
        calibration: Temperature | None,
        leaderboard: tuple[dict[str, Any], ...],
    ) -> Fitted:
        """Learn the sum over rows in a vector space that has won."""
        from discern.models.vector_space import additive

        resolved = additive.in_space(self.settings, sample, self.features, pipeline, calibration, sample.rows)
        resolved = replace(resolved, leaderboard=leaderboard, embedder=self.identity)
        sums, _ = sum_rows(sample.batches, resolved, self.settings.label, self.threads, None, self.embedder)
        return Fitted(self.given, resolved, sums)

    def _summed(self, sample: Sample, resolved: Resolved) -> Fitted:
        resolved = replace(resolved, embedder=self.identity)
        return Fitted(self.given, resolved, sample.sums(resolved.features, resolved.text))

    def _learned(self, sample: Sample, resolved: Resolved) -> Fitted:
        """Learn a model in a vector space from all rows, without calibration."""
        import discern.models.vector_space.model as space_model

        assert resolved.pipeline is not None
        return in_space(self.given, resolved, space_model.fit(sample, self.features, resolved.pipeline))


def in_space(given: Settings, resolved: Resolved, model: Any) -> Fitted:
    """Return the state of a model in a vector space; its columns and term settings are those of the model."""
    layout, places = model.pipeline.layout, {one.name: place for place, one in enumerate(resolved.features)}
    resolved = replace(
        resolved,
        pipeline=model.pipeline,
        features=tuple(sorted(model.features, key=lambda one: places[one.name])),
        text=layout.text[0],
        min_df=layout.min_df,
        calibration=model.calibration,
    )
    return Fitted(given, resolved, learned=model)


def _calibrated(fitted: Fitted, calibration: Any) -> Fitted:
    resolved = replace(fitted.resolved, calibration=calibration)
    return replace(fitted, resolved=resolved, learned=cast("SpaceModel", fitted.model).calibrated(calibration))


def _ledger_of(stream: Iterable[Batch], features: Sequence[Feature], label: str, salt: bytes | None) -> Ledger | None:
    ledger = empty_ledger(salt)
    for batch in stream if ledger is not None else ():
        ledger = ledger and ledger + ledger.of(batch, features, label, ledger.salt)
    return ledger
