"""Comparisons of classifiers: on one data set by the same folds, or on many samples of a simulated problem."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from discern.classifier import Classifier
from discern.data.batch import Batch, values_of
from discern.data.label_sets.sets import labels_in
from discern.data.readers import batches
from discern.data.roles import leading_rows
from discern.data.source import Reading
from discern.evaluation.evaluation import Evaluation
from discern.evaluation.markup import record_table, section
from discern.evaluation.several.evaluation import MultilabelEvaluation
from discern.evaluation.significance import Interval, corrected_resampled_t, mean_interval
from discern.models.fitting import has_label_sets
from discern.models.registry import public_models
from discern.models.resolving import needs_validation
from discern.models.settings import Settings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]


@dataclass(frozen=True)
class LoadedRows:
    """Rows in memory, column by column, so that some of them can be taken again and again."""

    columns: dict[str, list[Any]]

    @classmethod
    def of(cls, data: Any, reading: Reading | None = None) -> LoadedRows:
        """Read everything there is."""
        columns: dict[str, list[Any]] = {}
        rows = 0
        for batch in batches(data, reading):
            for name in batch.columns:
                columns.setdefault(name, [None] * rows)
            rows += batch.rows
            for name, column in columns.items():
                column += _values(batch.columns.get(name), batch.rows)
        return cls(columns)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), []))

    def take(self, chosen: Any) -> dict[str, list[Any]]:
        """Return some rows, by their numbers, as a mapping of columns."""
        numbers = np.asarray(chosen).tolist()
        return {name: [column[number] for number in numbers] for name, column in self.columns.items()}

    def labels(self, how: Settings | str) -> NDArray[np.str_]:
        """Return the label of each row, or the text of its set of labels; raises the errors of training.

        ``how`` are the settings to read them with, or the column of one label a row.
        """
        settings = Settings.of(how) if isinstance(how, str) else how
        batch = next(iter(batches(self.columns)), None)
        if batch is None:
            return np.zeros(0, np.str_)
        if has_label_sets(settings, batch):
            batch = settings.label_sets.of_batch(batch, settings.label)
        numbers, labels = batch.labels(settings.label)
        return np.array(labels, np.str_)[numbers]


def _values(column: Any, rows: int) -> list[Any]:
    return [None] * rows if column is None else values_of(column)


def stratified_folds(
    labels: Any, folds: int = 10, random_state: int = 0, groups: Sequence[Any] | None = None
) -> Integers:
    """Return the fold of each row: every label spread evenly, and rows of one group, such as repeated texts, together.

    Examples
    --------
    >>> np.bincount(stratified_folds(["a"] * 6 + ["b"] * 3, folds=3)).tolist()
    [3, 3, 3]
    """
    names = np.asarray(labels)
    _, numbers, counts = np.unique(names, return_inverse=True, return_counts=True)
    if len(names) < 2:
        raise ValueError(f"cross-validation needs at least two rows, not {len(names)}")
    if folds < 2 or folds > len(names):
        raise ValueError(f"{len(names)} rows cannot be split into {folds} folds; use from 2 to {len(names)}")
    members: dict[Any, list[int]] = {}
    for row, group in enumerate(groups if groups is not None else range(len(names))):
        members.setdefault(group, []).append(row)
    together = list(members.values())
    random = np.random.default_rng(random_state)
    filled = np.zeros((folds, len(counts)))
    assigned = np.zeros(len(names), np.int64)
    # Large groups first, then by chance; each goes where its label, and then all rows, are fewest.
    for place in sorted(random.permutation(len(together)).tolist(), key=lambda place: -len(together[place])):
        rows = together[place]
        label = numbers[rows[0]]
        fold = int(np.lexsort((filled.sum(axis=1), filled[:, label]))[0])
        assigned[rows] = fold
        np.add.at(filled[fold], numbers[rows], 1)
    return assigned


@dataclass(frozen=True)
class Compared:
    """The result of one method: the evaluation of all rows out of fold, the figures of each fold, its time."""

    name: str
    evaluation: Evaluation | MultilabelEvaluation
    has_probabilities: bool
    fold_log_losses: Floats
    fold_errors: Floats
    fit_seconds: float
    predict_seconds: float

    @property
    def log_loss(self) -> float:
        """The log loss over all rows; not a number for a method without probabilities."""
        return self.evaluation.log_loss if self.has_probabilities else float("nan")

    @property
    def log_loss_interval(self) -> Interval | None:
        """The normal interval of the log loss over rows."""
        return self.evaluation.intervals()["log_loss"] if self.has_probabilities else None


@dataclass(frozen=True)
class Comparison:
    """Methods evaluated on the same folds, by increasing log loss; those without probabilities last, by error."""

    results: tuple[Compared, ...]
    folds: int

    @property
    def best(self) -> Compared:
        """The method of least log loss."""
        return self.results[0]

    def p_value(self, result: Compared) -> float | None:
        """Return the p-value of the difference from the best method, by the corrected resampled t test."""
        if result is self.best:
            return None
        both = result.has_probabilities and self.best.has_probabilities
        figures = [one.fold_log_losses if both else one.fold_errors for one in (result, self.best)]
        return corrected_resampled_t((figures[0] - figures[1]).tolist(), self.folds - 1, 1).p_value

    def to_dict(self) -> dict[str, Any]:
        """Return the table as plain values."""
        return {
            "folds": self.folds,
            "rows": self.best.evaluation.rows,
            "methods": [self._row(one) for one in self.results],
        }

    def _row(self, result: Compared) -> dict[str, Any]:
        interval, error = result.log_loss_interval, result.evaluation.intervals()["error"]
        return {
            "method": result.name,
            "log_loss": result.log_loss if interval else None,
            "log_loss_interval": [interval.low, interval.high] if interval else None,
            "accuracy": result.evaluation.accuracy,
            "error": result.evaluation.error,
            "error_interval": [error.low, error.high],
            **({} if isinstance(result.evaluation, Evaluation) else {"f1": result.evaluation.f1()}),
            "p_value": self.p_value(result),
            "fit_seconds": result.fit_seconds,
            "predict_seconds": result.predict_seconds,
            "fold_errors": result.fold_errors.tolist(),
            "fold_log_losses": result.fold_log_losses.tolist() if interval else None,
        }

    @property
    def head(self) -> tuple[str, ...]:
        """The names of the columns of the table for people."""
        several = isinstance(self.best.evaluation, MultilabelEvaluation)
        return (*HEAD[:3], "micro F1", "not exact", "not exact 95% CI", *HEAD[5:]) if several else HEAD

    def rows(self) -> Iterator[tuple[str, ...]]:
        """Return the table for people: a row of texts for each method, below :attr:`head`."""
        for row in self.to_dict()["methods"]:
            low, high = row["error_interval"]
            yield (
                row["method"],
                f"{row['log_loss']:.4f}" if row["log_loss"] is not None else "–",
                "[{:.4f}, {:.4f}]".format(*row["log_loss_interval"]) if row["log_loss_interval"] else "",
                *([f"{row['f1']:.2%}"] if "f1" in row else []),
                f"{row['error']:.2%}",
                f"[{low:.2%}, {high:.2%}]",
                "best" if row["p_value"] is None else f"{row['p_value']:.3f}",
                f"{row['fit_seconds']:.2f} s",
                f"{row['predict_seconds']:.2f} s",
            )

    def __str__(self) -> str:
        lines = [self.head, *self.rows()]
        widths = [max(len(line[place]) for line in lines) for place in range(len(self.head))]
        return "\n".join(
            "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in lines
        )

    def _repr_html_(self) -> str:
        """Show the table in a notebook."""
        return section(f"{self.folds}-fold comparison", record_table(self.head, self.rows()))

    def plot(self, ax: Any = None, figure: str = "error") -> Any:
        """Draw a box for each method: its errors, or its ``"log loss"``, over the folds."""
        from discern.analysis.plots.bars import BoxPlotDisplay

        shown = [one for one in self.results if figure == "error" or one.has_probabilities]
        values = {one.name: one.fold_errors if figure == "error" else one.fold_log_losses for one in shown}
        return BoxPlotDisplay(values, figure).plot(ax=ax)


HEAD = ("method", "log loss", "log loss 95% CI", "error", "error 95% CI", "p", "training", "predicting")
LESS = ("predicting", "training", "error 95% CI", "not exact 95% CI", "log loss 95% CI")
"""The columns that a narrow terminal does without, the first one first."""


def compare(
    methods: Mapping[str, Any] | Sequence[str] | str,
    X: Any,
    y: Any = None,
    *,
    folds: int = 10,
    random_state: int = 0,
    label: str = "label",
    text: str | Sequence[str] | None = None,
    embed: Any = None,
    label_separator: str | None = None,
    labels_from: Sequence[str] | None = None,
    reading: Reading | None = None,
) -> Comparison:
    """Compare classifiers on one data set, all by the same stratified folds; repeated rows stay on one side.

    Naive Bayes is trained once: a fold's model is the whole minus the fold, which is the same model.

    Parameters
    ----------
    methods : "all", list of names, or mapping of name to classifier
        Names of models as :class:`discern.Classifier` takes them; or classifiers, which are copied, not changed:
        :class:`discern.Classifier` objects where ``X`` is a file or rows with labels, or scikit-learn classifiers where
        ``y`` is given.
    X, y
        Rows with a label column, or features and labels.
    label, text, embed, label_separator, labels_from
        For names of models: the label column, the text columns, the embedder and how several labels a row are read, as
        for :class:`discern.Classifier`. Where a row may have several labels, the error is the share of rows of which
        the labels are not predicted exactly.

    Examples
    --------
    >>> rows = [{"label": "ab"[i % 2], "text": f"word{i % 2} other{i}"} for i in range(40)]
    >>> compare(["multinomial", "bernoulli"], rows, folds=4).best.evaluation.accuracy
    1.0
    >>> from discern import BernoulliNB, GaussianNB
    >>> X = np.random.default_rng(0).normal(size=(60, 2)) + np.repeat([[0.0], [2.0]], 30, axis=0)
    >>> compared = compare({"Gauss": GaussianNB(), "signs": BernoulliNB()}, X, np.repeat(["a", "b"], 30), folds=5)
    >>> [result.name for result in compared.results]
    ['Gauss', 'signs']
    """
    if not methods:
        raise ValueError("there are no methods to compare; pass two or more")
    if not isinstance(methods, Mapping):
        given = {"text": text, "embed": embed, "label_separator": label_separator, "labels_from": labels_from}
        methods = _by_name(methods, label, given)
    if y is None:
        table = LoadedRows.of(X, reading)
        named = {getattr(method, "label", "label") for method in methods.values()}
        if len(named) > 1:
            raise ValueError(f"the methods learn from different label columns: {', '.join(sorted(named))}")
        own = next((method.settings for method in methods.values() if isinstance(method, Classifier)), None)
        data: _Data = _Rows(table, table.labels(own or named.pop()))
    else:
        data = _Features(X, np.asarray(y))
    numbers = stratified_folds(data.labels, folds, random_state, data.groups())
    results = [_cross_fitted(name, method, data, numbers, folds) for name, method in methods.items()]
    results.sort(
        key=lambda one: (not one.has_probabilities, one.log_loss if one.has_probabilities else one.evaluation.error)
    )
    return Comparison(tuple(results), folds)


def _by_name(names: Sequence[str] | str, label: str, given: Mapping[str, Any]) -> dict[str, Classifier]:
    """Return the classifiers of some names of models, or of all."""
    chosen = [names] if isinstance(names, str) else list(names)
    if chosen == ["all"]:
        chosen = [name for name in public_models() if name != "best"]
    return {name: Classifier(label, model=name, **given) for name in dict.fromkeys(chosen)}


class _Data(Protocol):
    @property
    def labels(self) -> Any: ...
    def groups(self) -> list[Any] | None: ...
    def models(self, method: Any, numbers: Integers, folds: int) -> Iterator[Any]: ...
    def features(self, chosen: Integers) -> Any: ...


@dataclass(frozen=True)
class _Rows:
    """Rows with a label column, for classifiers on named columns."""

    table: LoadedRows
    labels: Any

    def groups(self) -> list[Any]:
        return list(zip(*(map(str, column) for column in self.table.columns.values()), strict=True))

    def models(self, method: Any, numbers: Integers, folds: int) -> Iterator[Any]:
        """Return the model of each fold: trained anew, or the whole minus the fold, which is the same and faster."""
        if not self._is_settled(method):
            for fold in range(folds):
                yield copy.deepcopy(method).fit(self.table.take(np.flatnonzero(numbers != fold)))
            return
        whole = copy.deepcopy(method).fit(self.table.columns)
        for fold in range(folds):
            part = self.table.take(np.flatnonzero(numbers == fold))
            whole.forget(part)
            yield whole
            whole.learn(part)

    def _is_settled(self, method: Any) -> bool:
        """Return whether a classifier can forget, and chooses nothing at fit, which would then have seen the fold."""
        if not isinstance(method, Classifier) or not method.settings.is_sum:
            return False
        first, _ = leading_rows(batches(self.table.columns))
        features, _ = method.settings.features_of(first or Batch({}, 0))
        return not needs_validation(method.settings, features)

    def features(self, chosen: Integers) -> Any:
        return self.table.take(chosen)


@dataclass(frozen=True)
class _Features:
    """Features and labels, for scikit-learn classifiers."""

    X: Any
    labels: Any

    def groups(self) -> list[Any] | None:
        if hasattr(self.X, "toarray") or hasattr(self.X, "iloc"):
            return None
        return [row if isinstance(row, str) else np.asarray(row).tobytes() for row in self.X]

    def models(self, method: Any, numbers: Integers, folds: int) -> Iterator[Any]:
        """Return the model of each fold, trained anew."""
        for fold in range(folds):
            chosen = np.flatnonzero(numbers != fold)
            yield copy.deepcopy(method).fit(self.features(chosen), self.labels[chosen])

    def features(self, chosen: Integers) -> Any:
        if hasattr(self.X, "iloc"):
            return self.X.iloc[chosen]
        return [self.X[row] for row in chosen.tolist()] if isinstance(self.X, list) else self.X[chosen]


def _cross_fitted(name: str, method: Any, data: _Data, numbers: Integers, folds: int) -> Compared:
    has_probabilities = hasattr(method, "predict_proba")
    parts, seconds = [], np.zeros(2)
    start = time.perf_counter()
    for fold, fitted in enumerate(data.models(method, numbers, folds)):
        middle = time.perf_counter()
        held_out = np.flatnonzero(numbers == fold)
        parts.append(_evaluated(fitted, data.features(held_out), data.labels[held_out], has_probabilities))
        seconds += middle - start, time.perf_counter() - middle
        start = time.perf_counter()
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    losses, errors = (np.array([getattr(part, figure) for part in parts]) for figure in ("log_loss", "error"))
    return Compared(name, total, has_probabilities, losses, errors, *seconds.tolist())


def _evaluated(fitted: Any, features: Any, true: Any, has_probabilities: bool) -> Any:
    if isinstance(fitted, Classifier) and fitted.resolved.several is not None:
        sets, shares = list(map(labels_in, true.tolist())), fitted.predict_proba(features)
        return MultilabelEvaluation.of(sets, fitted.predict(features).tolist(), shares, fitted.labels)
    labels = list(fitted.labels if hasattr(fitted, "labels") else fitted.classes_)
    predicted: Any = np.asarray(fitted.predict(features))
    if has_probabilities:
        return Evaluation.of(true, predicted, fitted.predict_proba(features), labels)
    return Evaluation.of(true, predicted, (predicted[:, None] == np.array(labels)).astype(np.float64), labels)


# ------------------------------------------------------------------------------------------- simulated problems


class SimulatedProblem(Protocol):
    """A problem whose rows can be drawn, and whose least possible error is known."""

    def sample(self, n: int, random_state: int) -> tuple[Any, Any]:
        """Draw rows and their labels."""

    def bayes_rate(self) -> Any:
        """Return the least possible error."""


@dataclass(frozen=True)
class SimulatedComparison:
    """Errors of methods on large samples, each trained on many small ones; and the least possible error."""

    errors: dict[str, Floats]
    bayes_rate: float | None

    def intervals(self) -> dict[str, Interval]:
        """Return the interval of the mean error of each method."""
        return {name: mean_interval(errors) for name, errors in self.errors.items()}

    def plot(self, ax: Any = None) -> Any:
        """Draw a box for each method, and the Bayes rate as a line."""
        from discern.analysis.plots.bars import BoxPlotDisplay

        return BoxPlotDisplay(self.errors, "test error", self.bayes_rate).plot(ax=ax)


def compare_simulated(
    methods: Mapping[str, Any],
    problem: SimulatedProblem,
    *,
    rows: int = 100,
    repeats: int = 100,
    test_rows: int = 10_000,
    random_state: int = 0,
) -> SimulatedComparison:
    """Train each method on ``repeats`` samples of a problem, and evaluate it on rows drawn once.

    As in Figures 4.10 and 4.11 of An Introduction to Statistical Learning.
    """
    X, true = problem.sample(test_rows, random_state)
    errors: dict[str, list[float]] = {name: [] for name in methods}
    for repeat in range(1, repeats + 1):
        features, labels = problem.sample(rows, random_state + repeat)
        for name, method in methods.items():
            predicted = copy.deepcopy(method).fit(features, labels).predict(X)
            errors[name].append(float(np.mean(np.asarray(predicted) != np.asarray(true))))
    return SimulatedComparison({name: np.array(values) for name, values in errors.items()}, _bayes_rate(problem))


def _bayes_rate(problem: Any) -> float | None:
    """Return the least possible error, whether it comes as a number, with its standard error, or in an object."""
    if not hasattr(problem, "bayes_rate"):
        return None
    rate = problem.bayes_rate()
    return float(rate[0] if isinstance(rate, tuple) else getattr(rate, "rate", rate))
