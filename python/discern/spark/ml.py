"""The Spark ML face: an estimator and its model for a ``pyspark.ml.Pipeline``, with save and load."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.ml import Estimator, Model
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.util import (
    DefaultParamsReadable,
    DefaultParamsReader,
    DefaultParamsWritable,
    DefaultParamsWriter,
    MLReadable,
    MLReader,
    MLWritable,
    MLWriter,
)

from discern.classifier import Classifier
from discern.learners.smoothing import smoothing_from_json, smoothing_to_json
from discern.spark.learning import fit
from discern.spark.predicting import predict

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class _Columns(Params):
    """The names of the columns that are read and made."""

    labelCol: Param[str] = Param(Params._dummy(), "labelCol", "the column with the labels", TypeConverters.toString)
    predictionCol: Param[str] = Param(
        Params._dummy(), "predictionCol", "the new column with the label given", TypeConverters.toString
    )
    probabilityCol: Param[str] = Param(
        Params._dummy(), "probabilityCol", "the new column with its probability", TypeConverters.toString
    )

    def _start(self) -> None:
        self._setDefault(labelCol="label", predictionCol="prediction", probabilityCol="probability")


class SparkClassifier(Estimator[Any], _Columns, DefaultParamsReadable["SparkClassifier"], DefaultParamsWritable):
    """A classifier as a stage of a ``pyspark.ml.Pipeline``.

    Parameters
    ----------
    labelCol, predictionCol, probabilityCol : str
        Names of columns; labels are strings.
    **settings
        Those of :class:`discern.Classifier`.
    """

    settings: Param[str] = Param(
        Params._dummy(), "settings", "the settings of discern.Classifier, as JSON", TypeConverters.toString
    )

    def __init__(
        self,
        *,
        labelCol: str = "label",
        predictionCol: str = "prediction",
        probabilityCol: str = "probability",
        **settings: Any,
    ) -> None:
        super().__init__()
        self._start()
        self._setDefault(settings="{}")
        written = _written(settings)
        _ = _classifier(labelCol, written)  # complain about settings now, not at fit
        self._set(labelCol=labelCol, predictionCol=predictionCol, probabilityCol=probabilityCol, settings=written)

    def _fit(self, dataset: DataFrame) -> SparkClassifierModel:
        learned = fit(dataset, _classifier(self.getOrDefault(self.labelCol), self.getOrDefault(self.settings)))
        model = SparkClassifierModel(learned)
        self._copyValues(model)
        return model


class SparkClassifierModel(Model, _Columns, MLReadable["SparkClassifierModel"], MLWritable):
    """What :class:`SparkClassifier` learned; ``classifier`` is the :class:`discern.Classifier` itself."""

    def __init__(self, classifier: Classifier) -> None:
        super().__init__()
        self._start()
        self.classifier = classifier

    def _transform(self, dataset: DataFrame) -> DataFrame:
        names = {
            "prediction": self.getOrDefault(self.predictionCol),
            "probability": self.getOrDefault(self.probabilityCol),
        }
        return predict(dataset, self.classifier, **names)

    def write(self) -> MLWriter:
        """Return what saves the model."""
        return _ModelWriter(self)

    @classmethod
    def read(cls) -> MLReader[SparkClassifierModel]:
        """Return what loads a model."""
        return _ModelReader()


class _ModelWriter(MLWriter):
    def __init__(self, model: SparkClassifierModel) -> None:
        super().__init__()
        self._model = model

    def saveImpl(self, path: str) -> None:
        """Write the parameters, and the model file as the only value of a table: on whatever Spark writes to."""
        DefaultParamsWriter.saveMetadata(self._model, path, self.sparkSession)
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder, "model.discern")
            self._model.classifier.save(place)
            content = bytearray(place.read_bytes())
        self.sparkSession.createDataFrame([(content,)], "model binary").write.parquet(f"{path}/model")


class _ModelReader(MLReader["SparkClassifierModel"]):
    def load(self, path: str) -> SparkClassifierModel:
        """Read what was saved."""
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        content = self.sparkSession.read.parquet(f"{path}/model").first()[0]
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder, "model.discern")
            place.write_bytes(bytes(content))
            model = SparkClassifierModel(Classifier.load(place))
        model._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(model, metadata)
        return model


def _written(settings: Mapping[str, Any]) -> str:
    """Return settings as JSON."""
    plain = dict(settings)
    smoothing = plain.get("smoothing", "auto")
    if not isinstance(smoothing, str | float | int):
        plain["smoothing"] = smoothing_to_json(smoothing)
    return json.dumps(plain)


def _classifier(label: str, written: str) -> Classifier:
    settings = json.loads(written)
    if isinstance(settings.get("smoothing"), dict):
        settings["smoothing"] = smoothing_from_json(settings["smoothing"])
    for name in ("ngrams", "characters"):
        if settings.get(name) is not None:
            settings[name] = tuple(settings[name])
    return Classifier(label, **settings)
