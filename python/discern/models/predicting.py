"""What a classifier can do with what it has learned: predict, explain, evaluate, describe."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.data.batch import Batch
from discern.data.readers import batches
from discern.data.registry import imported
from discern.data.roles import IGNORED, Feature
from discern.data.source import Reading
from discern.data.strings import DataError
from discern.data.values import label_text
from discern.models.embedding import needed
from discern.models.exclusive import Exclusive
from discern.models.fitted import Fitted
from discern.models.naive_bayes import Model
from discern.models.predictions import evaluated_novelty
from discern.models.resolved import Resolved
from discern.models.settings import Settings
from discern.statistics.sums import Sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discern.data.embedding.embedder import Embedder
    from discern.evaluation.decisions import Decision
    from discern.evaluation.novelty import NoveltyEvaluation
    from discern.evaluation.several.thresholds import Thresholds
    from discern.models.evidence import Evidence
    from discern.models.predictions import Predictions
    from discern.models.strongest import StrongTerm
    from discern.models.vector_space.model import SpaceModel


class Predictor(Exclusive):
    """Settings and what was learned with them, as far as nothing is changed."""

    settings: Settings
    threads: int | None
    embedder: Embedder | None
    """What embeds texts, if anything."""
    _fitted: Fitted | None

    @property
    def fitted(self) -> Fitted:
        """What was learned: an immutable state, which every change replaces in one step."""
        fitted = self._fitted
        if fitted is None:
            raise ValueError("this classifier has not learned anything yet; call fit first")
        return fitted

    @property
    def is_fitted(self) -> bool:
        """Whether the classifier has learned anything."""
        return self._fitted is not None

    @property
    def resolved(self) -> Resolved:
        """The settings that were learned with: nothing is left open in them."""
        return self.fitted.resolved

    @property
    def embedding(self) -> Embedder | None:
        """What embeds texts; raises ``DataError`` if the model was loaded without the embedder that it needs."""
        return needed(self.embedder, None if self._fitted is None else self._fitted.resolved.embedder)

    @property
    def solved(self) -> Model | SpaceModel:
        """The model that predicts: solved from the statistics, or learned in a vector space."""
        return self.fitted.model

    @property
    def statistics(self) -> Sums:
        """The sums over all rows learned."""
        return self.fitted.statistics

    @property
    def label(self) -> str:
        """The column that holds the labels."""
        return self.settings.label

    @property
    def model(self) -> str:
        """The name of the model that was asked for."""
        return self.settings.model

    @property
    def winner(self) -> str:
        """The name of the model that was learned; of ``"best"``, which one was."""
        return self.fitted.winner

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels the model can predict, sorted."""
        return self.fitted.labels

    @property
    def rows(self) -> int:
        """The number of rows learned."""
        known = self.fitted.rows
        return self.statistics.rows if known is None else known

    @property
    def features(self) -> tuple[Feature, ...]:
        """The predictor columns: those learned from, or before that those given."""
        if self._fitted is None:
            return tuple(feature for feature in self.settings.columns if feature.role != IGNORED)
        return self._fitted.resolved.columns

    @property
    def decision(self) -> Decision | Thresholds | None:
        """The rule that :meth:`predict` decides by; None is the most probable label."""
        return None if self._fitted is None else self._fitted.decision

    @property
    def left_out(self) -> Mapping[str, str]:
        """The columns that :meth:`fit` did not use, and why."""
        return self.fitted.left_out

    @property
    def leaderboard(self) -> list[dict[str, Any]]:
        """How the models did that ``"best"`` compared, the best first."""
        return [] if self._fitted is None else list(self._fitted.resolved.leaderboard)

    def info(self) -> dict[str, Any]:
        """Return what the model is: settings, labels, sizes."""
        return self.fitted.described()

    # ------------------------------------------------------------------------------------------ predicting

    def predict(self, data: Any, *, reading: Reading | None = None) -> NDArray[Any]:
        """Return the label of each row, in order; or the list of its labels, if a row may have several."""
        labels = [found.labels for found in self.predictions(data, reading=reading)]
        return np.concatenate(labels) if labels else self.fitted.model.label_array[:0]

    def predictions(self, data: Any, *, novelty: bool = False, reading: Reading | None = None) -> Iterator[Predictions]:
        """Yield, batch by batch, labels, probabilities and numbers of known terms, with ``novelty`` that too.

        Examples
        --------
        >>> from discern import Classifier
        >>> model = Classifier().fit([{"label": "a", "text": "x1 x2"}, {"label": "b", "text": "y1 y2"}])
        >>> [found] = model.predictions(["x1", "zz"])
        >>> found.labels.tolist(), found.known.tolist()
        (['a', 'a'], [1, 0])
        """
        yield from self.fitted.predicted(batches(data, reading), self.threads, novelty)

    def predict_proba(self, data: Any, *, raw: bool = False, reading: Reading | None = None) -> NDArray[np.float64]:
        """Return the probability of each label for each row, labels in the order of ``labels``.

        With ``raw`` it is the posterior without calibration.
        """
        fitted = self.fitted
        scored = fitted.scored(batches(data, reading), self.threads, raw)
        probabilities = [fitted.model.shares(scores.scores) for _, scores in scored]
        return np.concatenate(probabilities) if probabilities else np.zeros((0, len(fitted.labels)))

    def novelty(self, data: Any, *, reading: Reading | None = None) -> NDArray[np.float64]:
        """Return how unusual each row is: the share of held-out training rows that are less unusual.

        Of rows like those in training, 5% have a novelty above 0.95. A row is unusual if its terms are, or if the model
        cannot tell its label. Only naive Bayes has it; a slim model may not.

        Examples
        --------
        >>> from discern import Classifier
        >>> rows = [{"label": "ab"[i % 2], "text": f"{'win' if i % 2 else 'lunch'} today {i % 7}x"} for i in range(200)]
        >>> model = Classifier().fit(rows)
        >>> model.novelty(["lunch today 3x", "purple elephants"]).round(2).tolist()
        [0.15, 1.0]
        """
        found = [part.novelty for part in self.predictions(data, novelty=True, reading=reading)]
        return np.concatenate([part for part in found if part is not None] or [np.zeros(0)])

    def evaluate_novelty(self, data: Any, *, level: float = 0.05, reading: Reading | None = None) -> NoveltyEvaluation:
        """Evaluate how well novelty finds rows whose label the model does not know.

        Parameters
        ----------
        level : float
            The share of rows with known labels that may be taken for unknown.
        """
        return evaluated_novelty(self.fitted, batches(data, reading), level, self.threads)

    def log_joint(self, data: Any, *, full: bool = False) -> NDArray[np.float64]:
        """Return log P(k) + log P(row|k); with ``full`` the multinomial coefficient too, so that it is P(k, row)."""
        parts = list(self.fitted.log_joint(batches(data), full, self.threads))
        return np.concatenate(parts) if parts else np.zeros((0, len(self.labels)))

    def predict_one(self, row: str | Mapping[str, Any]) -> Any:
        """Return the label of one text, or of one row of columns and values, as fast as can be.

        Where a row may have several labels, it is the list of them.

        Examples
        --------
        >>> from discern import Classifier
        >>> model = Classifier().fit([{"label": "a", "text": "x1 x2"}, {"label": "b", "text": "y1 y2"}])
        >>> model.predict_one("some y2")
        'b'
        >>> model = Classifier(smoothing=1.0).fit([{"label": "a", "size": 1}, {"label": "b", "size": 3}])
        >>> model.predict_one({"size": 2.9})
        'b'
        """
        fitted = self._fitted
        if fitted is None or fitted.quick is None or not isinstance(row, str):
            return self.fitted.predict_one(row)
        return fitted.quick(row)

    def evaluate(self, data: Any, *, reading: Reading | None = None) -> Any:
        """Evaluate the model on rows with labels.

        Returns an :class:`discern.Evaluation`; where rows may have several labels, a
        :class:`discern.MultilabelEvaluation`.
        """
        return self.fitted.evaluated(batches(data, reading), self.threads)

    def report(
        self,
        data: Any,
        path: str | os.PathLike[str] = "report.html",
        *,
        positive: str | None = None,
        reading: Reading | None = None,
    ) -> Any:
        """Write a page that shows how good the model is on rows with labels, and return its evaluation.

        The page is one file: metrics, plots, thresholds and mistakes. It needs matplotlib (``discern[plot]``).

        Examples
        --------
        >>> import tempfile
        >>> from discern import Classifier
        >>> rows = [{"label": "ab"[i % 2], "text": f"word{i % 2} other{i}"} for i in range(20)]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     evaluation = Classifier().fit(rows).report(rows, f"{folder}/report.html")
        >>> evaluation.accuracy
        1.0
        """
        write: Any = imported("discern.analysis.report.page:report")  # a package above this one
        evaluation = write(self, data, path, positive=positive, reading=reading)
        return evaluation

    def explain(self, row: Any, label: Any = None) -> Evidence:
        """Explain why a row is given its label: how much each word and value contributed, in nats, strongest first.

        Parameters
        ----------
        row : str, mapping of column to value, Series with the columns as its index, or frame of one row
        label : optional
            Where a row may have several labels: the one to explain, against not having it; by default the most
            probable.

        Examples
        --------
        >>> from discern import Classifier
        >>> model = Classifier().fit([{"label": "a", "text": "x1 x2"}, {"label": "b", "text": "y1 y2"}])
        >>> print(model.explain("x1 y2 y1 zz"))
        b (66.7%), against a
            +0.000  prior
            -0.693  x1
            +0.693  y1
            +0.693  y2
          1 unknown, skipped
        """
        return self.fitted.explained(one_row(row), None if label is None else label_text(label))

    def weights(self, label: str, top: int = 20) -> list[tuple[str, float]]:
        """Return the strongest terms for a label, with their mean log odds against the other labels, in nats.

        With a negative ``top``, those against it.
        """
        return [(term.term, term.weight) for term in self.strongest(label, top)]

    def strongest(self, label: str, top: int = 20) -> list[StrongTerm]:
        """Return the strongest terms for a label, with how often each was seen in the rows of every label.

        They are ranked by the lower end of the 95% interval of their log odds, so that a term that was seen once does
        not stand before one that was seen in a hundred rows. With a negative ``top``, return terms against the label.

        Examples
        --------
        >>> from discern import Classifier
        >>> rows = [{"label": "spam", "text": "win a prize"}, {"label": "spam", "text": "prize"}]
        >>> model = Classifier().fit([*rows, {"label": "ham", "text": "lunch"}])
        >>> [(term.term, term.seen("spam")) for term in model.strongest("spam", 2)]
        [('prize', '2 : 0'), ('win', '1 : 0')]
        """
        return self.fitted.strongest(label_text(label), top)


def one_row(row: Any) -> Batch:
    """Return a text, a mapping, a Series or a frame of one row as a batch.

    Examples
    --------
    >>> one_row("win a prize").columns, one_row({"size": [3], "text": ["win"]}).row(0)
    ({'text': ['win a prize']}, {'size': 3, 'text': 'win'})
    """
    if isinstance(row, str):
        return Batch({"text": [row]}, 1)
    if isinstance(row, Mapping):
        listed = bool(row) and all(isinstance(value, list) and len(value) == 1 for value in row.values())
        return next(batches(row if listed else [row]))
    if hasattr(row, "to_dict") and hasattr(row, "index") and not hasattr(row, "columns"):  # a Series of pandas
        return next(batches([{str(name): value for name, value in row.to_dict().items()}]))
    parts = [part for part in batches(row) if part.rows]
    if len(parts) != 1 or parts[0].rows != 1:
        rows = sum(part.rows for part in parts)
        raise DataError(f"explain takes one row, not {rows:,}; pass a text, a mapping, or a frame of one row")
    return parts[0]
