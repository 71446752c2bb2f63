"""A trained classifier: an immutable state that classifiers, threads and processes can share.

Every change – learning, forgetting, merging, renaming – makes a new state from an old one, or raises and leaves the old
one as it is. A model file holds a state whole; nothing is guessed when it is loaded.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

import discern.models.file as files
import discern.models.predictions as predictions
import discern.models.unusual as unusual
from discern.data.batch import Batch
from discern.data.label_sets.sets import Membership, renamed_sets
from discern.data.readers import batches
from discern.data.roles import Feature
from discern.data.strings import DataError
from discern.models.columns.kind import Scores
from discern.models.embedding import matching
from discern.models.naive_bayes import Model, described_groups
from discern.models.resolved import Resolved, difference
from discern.models.settings import Settings
from discern.models.strongest import StrongTerm, strongest
from discern.models.summing import read_as, sum_rows
from discern.statistics.sums import Sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discern.data.embedding.embedder import Embedder
    from discern.evaluation.calibration import Temperature
    from discern.evaluation.decisions import Decision
    from discern.evaluation.scaling import EvidenceScaling
    from discern.evaluation.several.thresholds import Thresholds
    from discern.models.evidence import Evidence
    from discern.models.predictions import Predictions
    from discern.models.vector_space.model import SpaceModel
    from discern.statistics.ledger import Ledger

    Content = tuple[dict[str, NDArray[Any]], dict[str, Any]]

FREE_TO_DIFFER = ("several", "naive_bayes", "calibration", "novelty", "log_loss", "accuracy", "rows", "leaderboard")
"""Settings in which models may differ that are merged, if validation chose them for both."""
SEVERAL_COLUMNS = "this model has several columns; pass a row: a dictionary of column names and values"
SLIM = "this model was saved slim, without its statistics: it can predict, but not learn or forget"


@dataclass(frozen=True, eq=False)
class Fitted:
    """What was learned with which settings.

    An additive model has ``sums``; the model is solved from them when it is first needed. A slim model, and a model
    that is not additive, is ``learned`` instead.
    """

    settings: Settings
    resolved: Resolved
    sums: Sums | None = None
    ledger: Ledger | None = None
    learned: Model | SpaceModel | None = None
    decision: Decision | Thresholds | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)
    """The columns that are not used, and why; not saved."""
    limitation: str = ""
    """What the winner of a search cannot do that naive Bayes can; not saved."""
    embedder: Embedder | None = None
    """What embeds texts; not saved, but what tells it from others is."""

    quick: ClassVar[Any] = None
    """The fast way from one text to its label, once some texts have come."""

    @cached_property
    def model(self) -> Model | SpaceModel:
        """The model that predicts."""
        if self.learned is not None:
            return self.learned
        return self.resolved.solved(self.statistics)

    @property
    def statistics(self) -> Sums:
        """The sums over all rows learned; raises ValueError where there are none."""
        if self.resolved.pipeline is not None:
            self.resolved.pipeline.refuse_no_sum()
        if self.sums is None:
            raise ValueError(SLIM)
        return self.sums

    @property
    def is_sum(self) -> bool:
        """Whether the model is a sum over rows."""
        return self.resolved.pipeline is None or self.resolved.pipeline.is_sum

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels the model can predict, sorted."""
        if self.sums is None:
            return self.model.labels
        return self.sums.labels if self.resolved.several is None else self._members.labels

    @cached_property
    def _members(self) -> Membership:
        """The labels of the sets that rows have."""
        assert self.sums is not None
        return Membership.of(self.sums.labels)

    @property
    def rows_per_label(self) -> dict[str, int] | None:
        """The rows of each label; None for a slim model."""
        if not self.is_sum:
            return dict(zip(self.model.labels, self.model.class_rows.tolist(), strict=True))  # type: ignore[union-attr]
        if self.sums is None:
            return None
        rows = self.sums.class_rows if self.resolved.several is None else self._members.sums(self.sums.class_rows)
        return dict(zip(self.labels, rows.tolist(), strict=True))

    @property
    def rows(self) -> int | None:
        """The number of rows learned; None for a slim model."""
        if self.sums is not None:
            return self.sums.rows
        return None if self.is_sum else self.model.rows  # type: ignore[union-attr]

    @property
    def is_slim(self) -> bool:
        """Whether it can only predict, although its model is a sum."""
        return self.sums is None and self.is_sum

    @property
    def can_learn(self) -> bool:
        """Whether it can learn more rows, forget and merge."""
        return self.sums is not None

    @property
    def winner(self) -> str:
        """The name of the model that was learned; of ``"best"``, which one was."""
        if self.resolved.pipeline is not None:
            return self.resolved.pipeline.model
        return self.settings.model if self.settings.kind.event else "naive-bayes"

    def described(self) -> dict[str, Any]:
        """Return what the model is: settings, labels, sizes."""
        resolved, model, known = self.resolved, self.model, self.rows_per_label
        plain = resolved.to_json()
        return {
            "model": self.winner,
            "label": self.settings.label,
            **{name: plain[name] for name in ("min_df", "naive_bayes", "calibration", "pipeline")},
            "calibrated_groups": described_groups(resolved.features) if resolved.pipeline is None else [],
            "features": [feature.to_json() for feature in resolved.columns],
            "added_features": [feature.described for feature in resolved.features if feature.is_chosen],
            "text_settings": plain["text"],
            "text": resolved.text_column,
            "chosen": resolved.chosen,
            "leaderboard": plain["leaderboard"],
            "decision": None if self.decision is None else self.decision.to_json(),
            "priors": dict(zip(model.labels, model.priors.tolist(), strict=True)),
            "terms": model.terms,
            "parameters": model.parameters,
            **getattr(model, "facts", {}),
            "rows": self.rows,
            "rows_per_label": known,
            "slim": self.is_slim,
            "can_learn": self.can_learn,
            "ledger": self.ledger is not None,
            "embedder": plain.get("embedder"),
            "labels_by_default": self._labels_by_default(),
            "several": plain.get("several"),
        }

    def _labels_by_default(self) -> list[str]:
        """Return the labels that came after costs, shares or priors were set for labels."""
        labels, priors = self.labels, self.resolved.naive_bayes.priors
        found = [] if self.decision is None else self.decision.defaults(labels)
        named = {label for label, _ in priors} if not isinstance(priors, str) else {*labels}
        return [label for label in labels if label in found or label not in named]

    # --------------------------------------------------------------------------------------------- predicting

    def scored(self, stream: Iterable[Batch], threads: int | None, raw: bool = False) -> Iterator[tuple[Batch, Scores]]:
        """Yield batches with the scores of their rows; with ``raw``, without calibration."""
        parts = stream if self.resolved.several is None else predictions.in_parts(stream, len(self.labels))
        for batch in parts:
            named = self.named(batch)
            yield named, self.model.of_batch(named, threads, raw)

    def named(self, batch: Batch) -> Batch:
        """Return a batch with the columns of the model."""
        return read_as(self.resolved, batch, self.settings.label, self.embedder)

    def embedding_with(self, embedder: Embedder) -> Fitted:
        """Return the state that embeds texts; raises ``DataError`` if it was trained with another embedder."""
        return replace(self, embedder=matching(embedder, self.resolved.embedder))

    def predicted(self, stream: Iterable[Batch], threads: int | None, novelty: bool = False) -> Iterator[Predictions]:
        """Yield the predictions of each batch, with ``novelty`` if it is asked for or the decision needs it."""
        return predictions.predicted(self, stream, threads, novelty)

    def evaluated(self, stream: Iterable[Batch], threads: int | None) -> Any:
        """Evaluate the model on rows with labels."""
        return predictions.evaluated(self, stream, threads)

    def labeled(self, stream: Iterable[Batch]) -> Iterable[Batch]:
        """Return rows whose labels are read as the model has them: as sets, if a row may have several."""
        if self.resolved.several is None:
            return stream
        return self.settings.label_sets.of_batches(stream, self.settings.label)

    def predict_one(self, row: str | Mapping[str, Any]) -> Any:
        """Return the label of one text or row; or the list of its labels, if a row may have several."""
        if not isinstance(row, str):
            [found] = self.predicted(batches([row]), 1)
            return found.labels.tolist()[0]
        model = self.model
        if [feature.role for feature in self.resolved.columns] != ["text"]:
            raise ValueError(SEVERAL_COLUMNS)
        scorer = model.quick_scorer() if self.decision is None and isinstance(model, Model) else None
        if scorer is None:
            [found] = self.predicted([Batch({"text": [row]}, 1)], 1)
            return found.labels.tolist()[0]
        self.__dict__["quick"] = scorer  # from now on nothing else is looked at
        return scorer(row)

    def log_joint(self, stream: Iterable[Batch], full: bool, threads: int | None) -> Iterator[NDArray[np.float64]]:
        """Yield log P(k) + log P(row|k) batch by batch; with ``full`` the multinomial coefficient too."""
        model = self.model
        if not isinstance(model, Model):
            raise ValueError(f"only naive Bayes has joint probabilities, not {self.winner!r}")
        for batch, scored in self.scored(stream, threads, raw=True):
            yield scored.scores + (model.log_coefficients(batch)[:, None] if full else 0.0)

    @cached_property
    def generative(self) -> Model:
        """The model without views and lengths, whose scores are likelihoods."""
        return unusual.generative(self)

    @property
    def has_novelty(self) -> bool:
        """Whether it can tell how unusual a row is."""
        return self.resolved.novelty is not None and (unusual.is_generative(self.resolved) or not self.is_slim)

    def explained(self, batch: Batch, label: str | None = None) -> Evidence:
        """Explain why the only row of a batch is given its label, or of several labels one."""
        if self.resolved.several is None and label is not None:
            raise ValueError("a label to explain is for models of several labels a row; this one explains its label")
        return self.model.explain(self.named(batch), *([] if label is None else [label]))

    def strongest(self, label: str, top: int) -> list[StrongTerm]:
        """Return the strongest terms for a label; with a negative ``top``, those against it."""
        if isinstance(self.model, Model):
            return strongest(self.model, self.sums, label, top)
        return [StrongTerm(name, weight) for name, weight in self.model.weights(label, top)]

    def decided_by(self, decision: Decision | Thresholds | None) -> Fitted:
        """Return the state that decides by a rule; raises ValueError if it does not fit the labels."""
        decision = decision and predictions.checked(decision, self)
        return replace(self, decision=decision)

    # ------------------------------------------------------------------------------------------------ changes

    def summed(self, stream: Iterable[Batch], threads: int | None, read: bool = False) -> tuple[Sums, Ledger | None]:
        """Add up rows as the model counts them, and enter them in a ledger if it keeps one."""
        salt = None if self.ledger is None else self.ledger.salt
        stream = stream if read else self.labeled(stream)
        return sum_rows(stream, self.resolved, self.settings.label, threads, salt, self.embedder)

    def changed(
        self, old: Iterable[Batch], new: Iterable[Batch], threads: int | None, read: bool = False
    ) -> tuple[Fitted, int]:
        """Return the state that has forgotten some rows and learned others, and how many were forgotten.

        With ``read``, their labels are those of :meth:`labeled` already.
        """
        mine = self.statistics  # refuse before reading
        (taken, their_rows), (added, my_rows) = (self.summed(rows, threads, read) for rows in (old, new))
        ledger = self.ledger
        try:
            if ledger is not None and my_rows is not None and their_rows is not None:
                ledger = ledger + my_rows - their_rows  # first: it names the row
            rest = mine + added - taken
            if not rest.rows:
                raise ValueError("cannot forget all rows")
            changed = self._with_labels(replace(self, sums=rest).labels)
        except ValueError as error:
            raise DataError(f"{error}; nothing was changed") from error
        return replace(changed, sums=rest, ledger=ledger), taken.rows

    def _with_labels(self, after: Sequence[str]) -> Fitted:
        """Adapt what was set for labels to labels that came and went; raises ValueError if it makes no sense then."""
        gone = {*self.labels} - {*after}
        decision = None if self.decision is None else self.decision.for_labels(after, gone)
        return replace(
            self,
            settings=self.settings.without_labels(gone),
            resolved=self.resolved.without_labels(gone),
            decision=decision,
        )

    def decayed(self, factor: float) -> Fitted:
        """Return the state with all counts times a factor, rounded."""
        if self.ledger is not None:
            raise ValueError("a model with a ledger cannot decay: its rows could no longer be forgotten")
        return replace(self, sums=self.statistics.decayed(factor))

    def merged(self, other: Fitted) -> Fitted:
        """Return the state that learned the rows of both."""
        sums = self.statistics, other.statistics  # refuse what is not a sum
        mine, theirs = self._compared(), other._compared()
        if self._has_embedder_of(other):
            theirs["embedder"] = mine["embedder"]
        free = FREE_TO_DIFFER if self.resolved.chosen and other.resolved.chosen else ()
        for name, value in mine.items():
            if value != theirs[name] and name not in free:
                raise ValueError(f"cannot merge models with different {difference(name, value, theirs[name])}")
        if (self.ledger is None) != (other.ledger is None):
            raise ValueError("cannot merge a model that has a ledger with one that has none")
        ledger = None if self.ledger is None or other.ledger is None else self.ledger + other.ledger
        kept = max(self, other, key=Fitted._precedence)
        return replace(kept, sums=sums[0] + sums[1], ledger=ledger, embedder=self.embedder or other.embedder)

    def _compared(self) -> dict[str, Any]:
        """Return what must be the same in models that are merged."""
        space = {name: array.tobytes() for name, array in self.resolved.arrays().items()}
        own = {
            "label": self.settings.label,
            "several labels": bool(self.resolved.several),
            "embedder": None,
            **self.resolved.to_json(),
            "space": space,
        }
        return {**own, "decision": self.decision and self.decision.to_json()}

    def _has_embedder_of(self, other: Fitted) -> bool:
        """Return whether both embed texts in the same way, but for rounding."""
        mine, theirs = self.resolved.embedder, other.resolved.embedder
        return mine is not None and theirs is not None and mine.matches(theirs)

    def _precedence(self) -> tuple[int, str]:
        """Order states by the rows that their settings were chosen on, so that merging does not depend on the order."""
        return self.resolved.rows, json.dumps([self.resolved.to_json(), self.settings.to_json()], sort_keys=True)

    def relabeled(self, labels: tuple[str, ...]) -> Fitted:
        """Return the state with other names of the labels, in the same order; decision and given priors follow."""
        if len(labels) != len(self.labels) or list(labels) != sorted(set(labels)):
            raise ValueError("pass one new name for each label, all different, in the order of the labels")
        if self.ledger is not None:
            raise ValueError(
                "cannot rename the labels of a model with a ledger, because its digests include them; train it again"
            )
        new = dict(zip(self.labels, labels, strict=True))
        sets = (
            new if self.resolved.several is None else renamed_sets(new, () if self.sums is None else self.sums.labels)
        )
        decision = None if self.decision is None else self.decision.renamed(new).for_labels(labels)
        return replace(
            self,
            settings=self.settings.relabeled(new),
            resolved=self.resolved.relabeled(new),
            sums=None if self.sums is None else self.sums.renamed(sets),
            learned=None if self.learned is None else replace(self.learned, labels=labels),
            decision=decision,
        )

    def renamed(self, rename: Callable[[Feature], Feature]) -> Fitted:
        """Return the state for columns with other names."""
        return replace(
            self,
            settings=self.settings.renamed(rename),
            resolved=self.resolved.renamed(rename),
            learned=None if self.learned is None else self.learned.renamed(rename),
        )

    def reading_labels_from(self, name: str) -> Fitted:
        """Return the state that reads true labels from a column of another name."""
        return replace(self, settings=replace(self.settings, label=name))

    def reading_text_from(self, name: str) -> Fitted:
        """Return the state that reads the text from a column of another name."""
        texts = [feature.name for feature in self.resolved.columns if feature.role == "text"]
        if len(texts) != 1:
            raise ValueError(
                f"this model has {len(texts)} text columns, so {name!r} cannot stand for them; rename the columns"
            )
        return self.renamed(lambda feature: replace(feature, name=name) if feature.name == texts[0] else feature)

    def slim(self) -> Fitted:
        """Return a state that can predict, but not learn, forget or merge."""
        _ = self.statistics
        slim = replace(self, resolved=replace(self.resolved, space=None), sums=None, ledger=None, learned=self.model)
        if getattr(self.decision, "max_false_alarms", None) is not None and not slim.has_novelty:
            raise ValueError(unusual.NO_SLIM_NOVELTY)
        return slim

    # -------------------------------------------------------------------------------------------------- files

    def content(self, slim: bool = False) -> Content:
        """Return what a model file holds, without the statistics if it shall be slim."""
        slim = slim and self.is_sum
        if slim and not self.is_slim:
            return self.slim().content(slim=True)
        settings = replace(self.settings, ledger=bool(self.settings.ledger)) if slim else self.settings
        metadata = {
            "model": self.winner,
            "settings": settings.to_json(),
            "resolved": self.resolved.to_json(),
            "fitted": {
                "labels": list(self.labels if self.sums is None else self.sums.labels),
                "slim": slim,
                "decision": None if self.decision is None else self.decision.to_json(),
            },
        }
        if slim or not self.is_sum:
            return self.model.arrays(), metadata
        ledger = {} if self.ledger is None else self.ledger.arrays()
        return {**self.resolved.arrays(), **self.statistics.arrays(), **ledger}, metadata

    def save(self, path: str | os.PathLike[str], *, slim: bool = False) -> str:
        """Write a model file, read it back, compare, put it in its place, and return its checksum."""
        arrays, metadata = self.content(slim)

        def check(written: dict[str, NDArray[Any]], described: dict[str, Any]) -> None:
            again, same = Fitted.from_content(written, described).content(slim)
            if again.keys() != arrays.keys() or not all(np.array_equal(again[name], arrays[name]) for name in arrays):
                raise ValueError("the numbers read differ from those written")
            if same != metadata:
                raise ValueError("the settings read differ from those written")

        return files.save(path, arrays, metadata, check)

    def checksum(self) -> str:
        """Return the checksum that the model file would have."""
        return files.encode(*self.content())[1]

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Fitted:
        """Read a model file."""
        arrays, metadata = files.load(path)
        try:
            return cls.from_content(arrays, metadata)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
            raise files.ModelFileError(f"{str(path)!r} is damaged: {error}") from error

    @classmethod
    def from_content(cls, arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, Any]) -> Fitted:
        """Make a state of what :meth:`content` returned; raises ValueError if it does not fit together."""
        from discern.statistics.ledger import Ledger

        settings, resolved = Settings.from_json(metadata["settings"]), Resolved.from_json(metadata["resolved"])
        described = metadata["fitted"]
        labels = tuple(described["labels"])
        has_labels = bool(labels) or resolved.several is not None
        if not has_labels or not all(isinstance(label, str) and label and "\0" not in label for label in labels):
            raise ValueError("the labels are not texts")
        if settings.label in [feature.name for feature in resolved.features]:
            raise ValueError("a column is both a predictor and the label")
        several = resolved.several is not None
        state = cls(settings, resolved, decision=predictions.decision_of(described["decision"], labels, several))
        if state.winner != metadata["model"] or (state.winner != settings.model and settings.model != "best"):
            raise ValueError("the model is not the one that was asked for")
        if described["slim"] or not state.is_sum:
            return replace(state, learned=state._model_from(labels, dict(arrays)))
        resolved = resolved.with_space(arrays)
        sums = Sums.from_arrays(labels, arrays, resolved.statistics)
        state = replace(state, resolved=resolved, sums=sums, ledger=Ledger.from_arrays(arrays, sums.rows))
        _ = state.model  # refuse now what cannot be solved
        return state

    def _model_from(self, labels: tuple[str, ...], arrays: dict[str, NDArray[Any]]) -> Model | SpaceModel:
        resolved = self.resolved
        if resolved.pipeline is None:
            calibration = cast("EvidenceScaling | None", resolved.calibration)
            parts = labels, resolved.features, arrays, resolved.naive_bayes, resolved.text, calibration
            if resolved.several is None:
                return Model.from_arrays(*parts)
            from discern.models.several.naive_bayes import LabelsModel

            return replace(LabelsModel.from_arrays(*parts), scaling=resolved.several.scaling)
        from discern.models.vector_space.model import SpaceModel

        if resolved.several is not None:
            from discern.models.several.space import LabelsSpaceModel

            found = LabelsSpaceModel.from_arrays(labels, resolved.features, resolved.pipeline, arrays)
            return replace(found, scaling=resolved.several.scaling)
        model = SpaceModel.from_arrays(labels, resolved.features, resolved.pipeline, arrays)
        return model.calibrated(cast("Temperature | None", resolved.calibration))
