"""Folders of small static embeddings, as model2vec writes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

SPAM_WORDS = ["win", "free", "prize", "money", "now", "call"]
HAM_WORDS = ["lunch", "noon", "meeting", "tomorrow", "project", "report", "please", "today", "team"]
WORDS = [*SPAM_WORDS, *HAM_WORDS, "##s", "##ing", "a", "b", "c"]


def tokenizer(kind: str = "wordpiece") -> Any:
    import tokenizers
    from tokenizers import models, normalizers, pre_tokenizers

    vocabulary = {word: number for number, word in enumerate(["[UNK]", *WORDS])}
    model = {
        "wordpiece": lambda: models.WordPiece(vocabulary, unk_token="[UNK]"),
        "no unknown": lambda: models.WordLevel(vocabulary, unk_token="none"),
        "wordlevel": lambda: models.WordLevel(vocabulary, unk_token="[UNK]"),
        "unigram": lambda: models.Unigram([(word, -float(number)) for word, number in vocabulary.items()], unk_id=0),
    }[kind]()
    made = tokenizers.Tokenizer(model)
    made.normalizer, made.pre_tokenizer = normalizers.Lowercase(), pre_tokenizers.Whitespace()
    return made


def vectors(dimension: int = 8, seed: int = 0) -> Any:
    """Return a vector for each token; those of spam and of ham lie apart."""
    found = 0.1 * np.random.RandomState(seed).standard_normal((1 + len(WORDS), dimension))
    for number, word in enumerate(WORDS, 1):
        found[number, 0] += float(word in SPAM_WORDS) - float(word in HAM_WORDS)
    return found.astype(np.float32)


def write(
    folder: Path,
    *,
    kind: str = "wordpiece",
    dimension: int = 8,
    seed: int = 0,
    tensors: dict[str, Any] | None = None,
    config: Any = None,
) -> Path:
    """Write the folder of a static embedding and return it."""
    import safetensors.numpy

    folder.mkdir(parents=True, exist_ok=True)
    tokenizer(kind).save(str(folder / "tokenizer.json"))
    (folder / "config.json").write_text(json.dumps({"normalize": True} if config is None else config))
    safetensors.numpy.save_file(tensors or {"embeddings": vectors(dimension, seed)}, folder / "model.safetensors")
    return folder
