"""Texts and mixed tables of many shapes, synthetic and the same each time, and the files that hold them."""

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

LETTERS = np.array(list("etaoinshrdlcumwfgypbvkjxqz"))


@lru_cache(maxsize=4)
def words(types: int) -> list[str]:
    """Make distinct words, the frequent ones shorter."""
    random = np.random.default_rng(0)
    lengths = np.clip(2 + np.log2(np.arange(1, types + 1)) / 2.5 + random.normal(0, 1.2, types), 1, 18).astype(int)
    letters = "".join(LETTERS[np.minimum(random.exponential(6, lengths.sum()).astype(int), 25)])
    ends = np.cumsum(lengths)
    made = (letters[end - length : end] for end, length in zip(ends.tolist(), lengths.tolist(), strict=True))
    return [word if len(word) > 6 else f"{word}{LETTERS[rank % 26]}{rank:x}" for rank, word in enumerate(made)]


@lru_cache(maxsize=3)
def texts(rows: int, length: int, classes: int = 2, types: int = 50_000) -> tuple[list[str], list[str]]:
    """Make documents by Zipf's law, of about ``length`` words; a class prefers some words."""
    random = np.random.default_rng(rows + length + classes)
    vocabulary = np.array(words(types), dtype=object)
    y = random.integers(0, classes, rows)
    y[:classes] = np.arange(classes)[:rows]
    lengths = np.maximum(random.lognormal(np.log(length) - 0.1, 0.5, rows), 2).astype(int)
    owner = np.repeat(y, lengths)
    terms = (np.exp(random.random(lengths.sum()) * np.log(types)) - 1).astype(int)
    block = max(types // (20 * classes), 5)
    own = 50 + owner * block + (block * random.random(len(terms)) ** 2).astype(int)
    terms = np.where(random.random(len(terms)) < 0.08, np.minimum(own, types - 1), terms)
    marks = np.array([" ", " ", " ", " ", ", ", ". "], dtype=object)[random.integers(0, 6, len(terms))]
    joined = (vocabulary[terms] + marks).tolist()
    ends = np.cumsum(lengths)
    documents = [
        "".join(joined[end - length : end]).strip() for end, length in zip(ends.tolist(), lengths.tolist(), strict=True)
    ]
    return documents, [f"label {number:04d}" for number in y.tolist()]


@lru_cache(maxsize=2)
def mixed(rows: int, numbers: int, categories: int, classes: int = 2) -> Any:
    """Make a frame of normal columns and of columns of a few levels, and a column of labels."""
    import pandas

    random = np.random.default_rng(rows + numbers + categories + classes)
    y = random.integers(0, classes, rows)
    y[:classes] = np.arange(classes)
    told = max(1, min(numbers, 8))
    centers = random.normal(size=(classes, told))
    frame = {f"x{place}": np.round(random.normal(size=rows), 4) for place in range(numbers)}
    for place in range(min(told, numbers)):
        frame[f"x{place}"] = np.round(frame[f"x{place}"] + centers[y, place], 4)
    for place in range(categories):
        levels = random.integers(0, 12, rows)
        levels = np.where(random.random(rows) < 0.3, (y + place) % 12, levels)
        frame[f"c{place}"] = np.array([f"level {level}" for level in range(12)], dtype=object)[levels]
    labels = np.array([f"label {number:04d}" for number in range(classes)], dtype=object)
    return pandas.DataFrame({"label": labels[y], **frame})


@lru_cache(maxsize=2)
def text_frame(rows: int, length: int, classes: int = 2) -> Any:
    """Make a frame of labels and texts."""
    import pandas

    documents, labels = texts(rows, length, classes)
    return pandas.DataFrame({"label": labels, "text": documents})


def contained(frame: Any, container: str, folder: Path, name: str) -> Any:
    """Return a frame in a container; files are written into the folder."""
    if container == "pandas":
        return frame
    if container == "rows":
        return frame.to_dict("records")
    if container == "polars":
        import polars

        return polars.from_pandas(frame)
    if container == "arrow":
        import pyarrow

        return pyarrow.Table.from_pandas(frame, preserve_index=False)
    path = folder / f"{name}.{container}"
    if not path.exists():
        _write(frame, container, path)
    return str(path)


def _write(frame: Any, container: str, path: Path) -> None:
    if container == "csv":
        frame.to_csv(path, index=False)
    elif container == "parquet":
        frame.to_parquet(path, index=False)
    else:
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in frame.to_dict("records"))


def read_by_pandas(data: Any, container: str) -> Any:
    """Read what ``contained`` returned, as the peer's user does."""
    import pandas

    if container == "rows":
        return pandas.DataFrame(data)
    if container in ("polars", "arrow"):
        return data.to_pandas()
    if container == "pandas":
        return data
    readers = {"csv": pandas.read_csv, "parquet": pandas.read_parquet}
    return readers[container](data) if container in readers else pandas.read_json(data, lines=True)
