"""Several labels a row on Spark: the same bytes as on one machine, however the rows are partitioned."""

import numpy as np
import pyarrow as pa
import pytest

import discern.spark
from discern.classifier import Classifier

LABELS = ["corn", "oil", "tea"]


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(0)
    sets = [[label for label in LABELS if random.random() < 0.4] for _ in range(300)]
    texts = [" ".join([*(f"{label}{random.integers(3)}" for label in one), f"w{random.integers(9)}"]) for one in sets]
    return pa.table({"label": pa.array(sets, pa.list_(pa.string())), "text": texts})


@pytest.mark.parametrize(
    "settings", [{"smoothing": 0.5}, {}, {"model": "lda"}, {"model": "bernoulli"}], ids=["given", "chosen", "lda", "b"]
)
def test_same_bytes(spark, table, model_bytes, settings) -> None:
    frame = spark.createDataFrame(table.to_pylist(), "label array<string>, text string").repartition(5)
    alone = Classifier(text="text", **settings).fit(table)
    found = discern.spark.fit(frame, Classifier(text="text", **settings))
    assert model_bytes(found) == model_bytes(alone)
    rows = discern.spark.predict(frame, found, probabilities="all").collect()
    texts = [row["text"] for row in rows]
    assert [row["prediction"] for row in rows] == alone.predict(texts).tolist()
    np.testing.assert_allclose([row["all"] for row in rows], alone.predict_proba(texts), rtol=1e-9)


def test_a_separator_and_what_spark_does_not_learn(spark, table, model_bytes) -> None:
    joined = ["|".join(one) for one in table["label"].to_pylist()]
    table = pa.table({"label": joined, "text": table["text"]})
    frame = spark.createDataFrame(table.to_pylist(), "label string, text string").repartition(3)
    settings = {"text": "text", "label_separator": "|", "smoothing": 0.5}
    assert model_bytes(discern.spark.fit(frame, Classifier(**settings))) == model_bytes(
        Classifier(**settings).fit(table)
    )
    with pytest.raises(ValueError, match="learns one label a row"):
        discern.spark.fit(frame, Classifier(text="text", label_separator="|", model="logistic"))
