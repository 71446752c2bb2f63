"""A service whose model embeds texts."""

from __future__ import annotations

from pathlib import Path

import pytest

from discern.classifier import Classifier, embedder_of
from discern.data.strings import DataError
from discern.service.state import read_base
from tests.service.running import Process
from tests.static_embeddings import HAM_WORDS, SPAM_WORDS, write

ROWS = [
    {"label": label, "text": f"{words[place % len(words)]} {words[(place + 1) % len(words)]}"}
    for place in range(60)
    for label, words in (("spam", SPAM_WORDS), ("ham", HAM_WORDS))
]


def test_a_model_that_embeds_predicts_learns_and_forgets(tmp_path: Path) -> None:
    model, folder = tmp_path / "m.discern", write(tmp_path / "static")
    before = Classifier(embed=folder, smoothing=1.0).fit(ROWS).save(model)
    service = Process(model, prelude="from pathlib import Path\n", embed=str(folder), workers=2)
    client = service.client()
    assert client.post("/v1/predict", {"text": "win free money"})["label"] == "spam"
    terms = client.post("/v1/explain", {"text": "win free money"})["terms"]
    assert any(term["term"].startswith("embedding") for term in terms)
    rows = [{"label": "spam", "text": "call now"}]
    client.post("/v1/learn", {"rows": rows})
    client.post("/v1/compact", None)
    embedder = embedder_of(folder)
    assert read_base(model, embedder).classifier.rows == len(ROWS) + 1
    client.post("/v1/forget", {"rows": rows})
    client.post("/v1/compact", None)
    assert service.stop() == 0
    assert read_base(model, embedder).checksum == before


def test_another_embedder_is_refused_at_start(tmp_path: Path) -> None:
    model = tmp_path / "m.discern"
    Classifier(embed=write(tmp_path / "static"), smoothing=1.0).fit(ROWS).save(model)
    with pytest.raises(DataError, match="trained with the embedder 'static'"):
        read_base(model, embedder_of(write(tmp_path / "other", seed=7)))
