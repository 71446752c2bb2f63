"""The model that Spark makes has the same bytes as that of one machine."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discern.classifier
import discern.spark
from discern.classifier import Classifier
from discern.data.strings import DataError

GIVEN: dict[str, Any] = {"text": "text", "category": "country", "flag": "paid"}


@pytest.mark.parametrize("partitions", [1, 2, 7, 64])
def test_same_bytes_however_partitioned(spark, frame, rows, model_bytes, partitions) -> None:
    settings = {**GIVEN, "smoothing": 0.5, "min_df": 2, "ngrams": (1, 2)}
    alone = Classifier(**settings).fit(rows)
    assert model_bytes(discern.spark.fit(frame.repartition(partitions), Classifier(**settings))) == model_bytes(alone)


@pytest.mark.parametrize("model", ["naive-bayes", "binary", "bernoulli", "complement"])
def test_same_bytes_with_all_event_models(frame, rows, model_bytes, model, monkeypatch) -> None:
    settings = {**GIVEN, "number": "size", "numbers": "quantile", "model": model}
    whole = model_bytes(Classifier(**settings).fit(rows))
    assert model_bytes(discern.spark.fit(frame, Classifier(**settings))) == whole
    monkeypatch.setattr("discern.models.validation.rows.MOST_KEPT", 30_000)  # of more bytes a random part is kept
    thinned = model_bytes(Classifier(**settings).fit(rows))
    assert thinned != whole
    assert model_bytes(discern.spark.fit(frame.repartition(5), Classifier(**settings))) == thinned


@pytest.mark.parametrize("min_df", [1, 40])
def test_same_bytes_added_up_by_spark(frame, rows, model_bytes, min_df) -> None:
    settings = {**GIVEN, "smoothing": 1.0, "min_df": min_df}
    alone = Classifier(**settings).fit(rows)
    found = discern.spark.fit(frame.repartition(3), Classifier(**settings), most_on_driver=0)
    assert model_bytes(found) == model_bytes(alone)
    assert found.solved.terms == alone.solved.terms


def test_rare_terms_do_not_come_to_the_driver_of_a_slim_model(frame, rows, tmp_path) -> None:
    settings = {**GIVEN, "smoothing": 1.0, "min_df": 60}
    whole = discern.spark.fit(frame, Classifier(**settings), most_on_driver=0)
    assert whole.checksum() == Classifier(**settings).fit(rows).checksum()
    slim = discern.spark.fit(frame, Classifier(**settings), most_on_driver=0, slim=True)
    with pytest.raises(ValueError, match="saved slim"):
        _ = slim.statistics
    assert slim.save(tmp_path / "a", slim=True) == whole.save(tmp_path / "b", slim=True)


def test_bad_rows_are_refused_in_one_sentence(spark) -> None:
    table = pa.table({"label": ["a", None, "b"], "text": ["x1", "x2", "x3"]})
    with pytest.raises(
        DataError,
        match=r"^row \d of column 'label' of partition \d of the frame has no label; add one or remove the row",
    ):
        discern.spark.fit(spark.createDataFrame(table).coalesce(1), Classifier(text="text", smoothing=1.0))
    with pytest.raises(DataError, match="the frame has no column 'body'"):
        discern.spark.fit(spark.createDataFrame(table), Classifier(text="body", smoothing=1.0))
    with pytest.raises(DataError, match="no rows"):
        discern.spark.fit(spark.createDataFrame(table).where("false"), Classifier(text="text", smoothing=1.0))


def test_numbers_with_normal_densities(frame, rows, model_bytes) -> None:
    settings = {**GIVEN, "number": "size", "numbers": "gaussian"}
    alone = Classifier(**settings).fit(rows)
    assert model_bytes(discern.spark.fit(frame, Classifier(**settings))) == model_bytes(alone)
    # Not all rows on the driver, and in another order: floating point, exact to rounding.
    found = discern.spark.fit(frame.repartition(5), Classifier(**settings, smoothing=1.0))
    alone = Classifier(**settings, smoothing=1.0).fit(rows)
    assert found.statistics.columns[0] == alone.statistics.columns[0]
    np.testing.assert_allclose(found.predict_proba(rows), alone.predict_proba(rows), rtol=1e-9)


def test_roles_are_inferred_from_the_first_rows(frame, rows, model_bytes) -> None:
    settings = {"numbers": "quantile", "smoothing": 1.0}
    found, alone = discern.spark.fit(frame, Classifier(**settings)), Classifier(**settings).fit(rows)
    assert [feature.role for feature in found.features] == ["text", "number", "category", "flag"]
    assert model_bytes(found) == model_bytes(alone)


def test_spark_is_imported_only_when_it_is_used(run_python) -> None:
    run_python("import sys, discern, discern.cli, discern.spark; assert 'pyspark' not in sys.modules")


def test_a_worker_imports_what_counts_and_nothing_else(run_python) -> None:
    run_python(
        "import sys, discern.spark.sums, discern.spark.predicting, discern.spark.learning\n"
        "assert not {'scipy', 'sklearn', 'pandas', 'pyspark'} & set(sys.modules)"
    )


def test_garbage_is_not_sought_in_imports(run_python) -> None:
    run_python(
        "import gc\n"
        "from discern.spark.frames import in_worker\n"
        "assert list(in_worker(iter, [1, 2])) == [1, 2]\n"
        "frozen = gc.get_freeze_count()\n"
        "assert frozen > 1000\n"
        "list(in_worker(iter, [[] for _ in range(1000)]))\n"
        "assert gc.get_freeze_count() <= frozen  # once in a process"
    )


def test_an_embedder_is_refused(frame) -> None:
    def embed(texts: list[str]) -> Any:
        return [[float(len(text)), 1.0] for text in texts]

    rows = [{"label": "ab"[place % 2], "text": "word " * place} for place in range(10)]
    for use in (
        lambda: discern.spark.fit(frame, Classifier(embed=embed, text="text")),
        lambda: discern.spark.predict(frame, Classifier(embed=embed).fit(rows)),
    ):
        with pytest.raises(DataError, match="Spark does not embed texts"):
            use()
