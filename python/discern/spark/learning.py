"""Learning from a Spark frame: the same model as :meth:`discern.Classifier.fit` makes of the same rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import discern.models.validation.rows as samples
from discern.classifier import Classifier
from discern.data.batch import row_sizes
from discern.data.roles import IGNORED, OTHERS, Feature
from discern.data.strings import DataError
from discern.models.fitted import Fitted
from discern.models.registry import MODELS
from discern.models.resolved import Resolved
from discern.models.resolving import needs_validation, pipeline_of, resolve
from discern.models.summing import sum_rows
from discern.models.validation.rows import LEAST_VALIDATED, Sample, row_keys
from discern.spark.frames import (
    batch_of,
    columns_of,
    first_rows,
    one_sentence,
    partition_batches,
    record,
    refuse_embedder,
)
from discern.spark.label_sets import has_label_sets, with_label_sets
from discern.spark.parquet import map_rows
from discern.spark.sums import Counting, sums_of
from discern.statistics.sums import Sums

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame


def fit(
    frame: DataFrame,
    classifier: Any = None,
    *,
    label: str = "label",
    features: list[str] | None = None,
    most_on_driver: int | None = None,
    slim: bool = False,
) -> Any:
    """Learn from all rows of a Spark frame.

    A model that is a sum over rows (naive Bayes, discriminants, least squares, centroids) is the same to the last byte
    of its file as :meth:`discern.Classifier.fit` would make of the same rows, however they are partitioned, and whether
    tasks fail or run twice.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        With a column of labels; classic or Spark Connect.
    classifier : Classifier or estimator
        A :class:`discern.Classifier`, whose settings are used and which learns; or a
        ``LinearDiscriminantAnalysis``, ``QuadraticDiscriminantAnalysis`` or ``BasicLinearClassifier`` of discern, of
        which a new one learns columns of numbers, in one reduce.
    label, features : str and list of str, optional
        For these estimators: the column with the labels, and the columns of numbers; by default all of them.
    most_on_driver : int, optional
        If the statistics of all partitions take more bytes than this, Spark adds them up by term and label; by default
        256 MiB.
    slim : bool
        Return a model that can predict, but not learn, forget or merge. Spark then drops terms that occur in fewer than
        ``min_df`` rows before anything comes to the driver.
    """
    classifier = Classifier() if classifier is None else classifier
    if not isinstance(classifier, Classifier):
        from discern.spark.tables import fit_estimator

        return fit_estimator(frame, classifier, label, features)
    refuse_embedder(classifier)
    several = has_label_sets(frame, classifier.settings)
    if several:
        classifier.settings.refuse_for_label_sets()
        frame = with_label_sets(frame, classifier.settings)
    columns, left_out = features_of(frame, classifier)
    rows = Rows(frame, classifier, tuple(columns), most_on_driver, slim=slim)
    settings = classifier.settings
    if not settings.is_sum and several:
        raise ValueError(
            f"on Spark, {settings.model!r} learns one label a row; for several use naive Bayes, 'ridge', 'lda' or "
            "'centroids'"
        )
    if not settings.is_sum:
        return classifier.take(replace(_fit_space(rows), left_out=left_out))
    if settings.ledger is not False:
        raise ValueError("a ledger cannot be kept on Spark; fit without Spark, or without a ledger")
    sample: Any = rows.sample() if needs_validation(settings, columns) else None
    resolved = resolve(settings, sample, columns, several)
    sums = rows.sums(resolved)
    classifier.take(Fitted(settings, resolved, sums, left_out=left_out))
    return classifier.without_statistics() if slim else classifier


def _fit_space(rows: Rows) -> Fitted:
    """Learn a model in a vector space; what needs single rows, calibration and bins, comes from the sample."""
    # Not above: a worker that samples rows needs none of it.
    from discern.models.fitting import in_space
    from discern.models.validation.choosing import with_numbers
    from discern.models.vector_space.model import calibration_of
    from discern.spark.vectors import fit_space

    settings = rows.classifier.settings
    if settings.levels == "means":
        raise ValueError("levels='means' needs all rows in memory to learn; on Spark, learn with levels='one-hot'")
    if not settings.kind.on_spark:
        known = ", ".join(kind.name for kind in MODELS if kind.on_spark and not kind.is_sum)
        raise ValueError(
            f"{settings.model!r} cannot be learned by sums over rows; on Spark there are naive Bayes, {known}; or "
            "learn from a part of the rows on one machine"
        )
    pipeline, features = pipeline_of(settings, settings.model), rows.features
    sample = rows.sample()
    features = with_numbers(sample, features, pipeline.numbers)
    model = fit_space(rows.frame, features, pipeline, settings.label, sample)
    many = int(model.class_rows.sum()) >= LEAST_VALIDATED
    if settings.calibrate is not False and (many or settings.calibrate is True):
        model = model.calibrated(calibration_of(sample, rows.features, pipeline))
    return in_space(settings, Resolved(settings.naive_bayes, settings.text, features), model)


def features_of(frame: DataFrame, classifier: Classifier) -> tuple[Sequence[Feature], dict[str, str]]:
    """Return the predictor columns, and which are left out and why.

    The first rows are read to infer roles that were not given, and to lay the grids of vectors.
    """
    given = {feature.name: feature for feature in classifier.settings.columns}
    names = [name for name in frame.columns if name != classifier.label]
    used = [one for one in given.values() if one.role != IGNORED]
    if (OTHERS in given or {*given} >= {*names}) and all(one.role != "vector" for one in used):
        places = {name: place for place, name in enumerate(names)}
        return sorted(used, key=lambda one: places.get(one.name, len(places))), {}
    needed = columns_of(frame, [classifier.label, *(one.name for one in used)]) if OTHERS in given else frame
    return classifier.settings.features_of(first_rows(needed))


@dataclass
class Rows:
    """The rows of a frame to learn from, as :class:`discern.models.validation.rows.Sample` offers rows in memory."""

    frame: DataFrame
    classifier: Classifier
    features: tuple[Feature, ...]
    most_on_driver: int | None = None
    kept: Sample | None = None
    slim: bool = False

    def sample(self) -> Sample:
        """Return the rows to validate by, and remember whether these are all."""
        table, whole = kept_rows(self.frame)
        batches = [batch_of(part, "the frame") for part in table.to_batches() if part.num_rows]
        names = [feature.name for feature in self.features]
        sample = Sample.of(batches, self.classifier.label, names, self.classifier.threads)
        self.kept = sample if whole else None
        return sample

    def sums(self, resolved: Resolved) -> Sums:
        """Return the sums of all rows."""
        if self.kept is not None and resolved.space is None:
            return self.kept.sums(resolved.features, resolved.text)
        if self.kept is not None:
            return sum_rows(self.kept.batches, resolved, self.classifier.label, self.classifier.threads)[0]
        counting = Counting(self.classifier.label, resolved)
        sums = sums_of(self.frame, counting, resolved.min_df if self.slim else 1, self.most_on_driver)
        if not sums.rows:
            raise DataError("there are no rows to learn from")
        return sums


# ------------------------------------------------------------------------------------------ the sample of rows


def kept_rows(frame: DataFrame) -> tuple[pa.Table, bool]:
    """Bring rows to the driver, as many as :meth:`discern.Classifier.fit` keeps, and say whether these are all.

    Of too many rows those are kept whose keys begin with a number of zeros: a random part that depends neither on the
    order of the rows nor on partitions, and is the same that a single machine keeps.
    """
    with one_sentence():
        sizes = np.zeros(65, np.int64)
        parts = map_rows(frame, sizes_of_partition, "sizes array<long>").toArrow()
        for part in parts.column("sizes").to_pylist():
            sizes += np.array(part, np.int64)
        behind = np.cumsum(sizes[::-1])[
            ::-1
        ]  # bytes of rows, by the number of zeros that their keys begin with at least
        share = int(np.flatnonzero(behind <= samples.MOST_KEPT)[0])
        if not sizes.sum():
            raise DataError("there are no rows to learn from")
        rows = map_rows(frame, partial(thinned_partition, share), frame.schema) if share else frame
        return rows.toArrow(), not share


def leading_zeros(keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the number of zero bits that each key begins with.

    Examples
    --------
    >>> leading_zeros(np.array([0, 1, 2**63], np.uint64)).tolist()
    [64, 63, 0]
    """
    shifts = np.uint64(64) - np.arange(1, 65, dtype=np.uint64)
    return np.asarray((keys[:, None] >> shifts[None, :] == 0).sum(axis=1), np.int64)


def sizes_of_partition(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return the bytes of the rows of a partition, by how many zeros their keys begin with."""
    import pyarrow as pa

    sizes = np.zeros(65, np.int64)
    for batch in partition_batches(batches):
        zeros = leading_zeros(row_keys(batch, list(batch.columns)))
        np.add.at(sizes, zeros, row_sizes(batch))
    yield record(sizes=pa.array([sizes.tolist()], pa.list_(pa.int64())))


def thinned_partition(share: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return the rows of a partition whose keys begin with at least the given number of zeros."""
    for batch in batches:
        rows = batch_of(batch, "the frame")
        keep = row_keys(rows, list(rows.columns)) >> np.uint64(64 - share) == 0
        yield batch.filter(_mask(keep))


def _mask(keep: NDArray[np.bool_]) -> Any:
    import pyarrow as pa

    return pa.array(keep)
