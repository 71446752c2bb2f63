"""The Spark ML face in a pipeline, saved and loaded."""

from pathlib import Path

import pytest
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.feature import SQLTransformer

from discern.classifier import Classifier
from discern.learners.smoothing import JelinekMercer
from discern.spark.ml import SparkClassifier, SparkClassifierModel


def test_pipeline_saved_and_loaded(frame, rows, model_bytes, tmp_path: Path) -> None:
    lowered = SQLTransformer(statement="SELECT label, lower(text) AS text FROM __THIS__")
    stage = SparkClassifier(predictionCol="found", text="text", smoothing=JelinekMercer(0.3), ngrams=(1, 2))
    stage.save(f"{tmp_path}/stage")
    stage = SparkClassifier.load(f"{tmp_path}/stage")
    fitted = Pipeline(stages=[lowered, stage]).fit(frame)
    alone = Classifier(text="text", smoothing=JelinekMercer(0.3), ngrams=(1, 2)).fit(rows.select(["label", "text"]))
    assert model_bytes(fitted.stages[1].classifier) == model_bytes(alone)
    fitted.save(f"{tmp_path}/pipeline")
    loaded = PipelineModel.load(f"{tmp_path}/pipeline")
    assert isinstance(loaded.stages[1], SparkClassifierModel)
    found = loaded.transform(frame).toArrow()
    assert found.column_names == ["label", "text", "found", "probability"]
    assert found.column("found").to_pylist() == alone.predict(rows.select(["text"])).tolist()


def test_bad_settings_are_refused_at_once() -> None:
    with pytest.raises(ValueError, match="unknown model 'bayes'"):
        SparkClassifier(model="bayes")
