"""The counting core, in Rust: takes batches, gives arrays."""

from typing import Any, final

import numpy as np
from numpy.typing import NDArray

@final
class Text:
    def __new__(
        cls,
        analyzer: str,
        *,
        tables: list[list[tuple[int, int]]] | None = None,
        lowercase: bool = True,
        ngrams: tuple[int, int] = (1, 1),
        stop_words: list[bytes] = ...,
        stemmer: str | None = None,
        shortest: int = 2,
        pattern: str | None = None,
    ) -> Text: ...
    def terms(self, document: str) -> list[bytes]: ...

@final
class Rows:
    starts: NDArray[np.int64]
    terms: NDArray[np.int32]
    counts: NDArray[np.int64]

@final
class Drained:
    offsets: NDArray[np.int64]
    bytes: NDArray[np.uint8]
    entry_terms: NDArray[np.int64]
    entry_classes: NDArray[np.int32]
    occurrences: NDArray[np.int64]
    documents: NDArray[np.int64]
    rows: Rows

@final
class Counter:
    def __new__(cls, text: Text, *, keep_rows: bool = False) -> Counter: ...
    def add(self, documents: Any, classes: NDArray[np.int32], width: int, threads: int) -> None: ...
    def drain(self) -> Drained: ...
    def hashed(
        self, key: tuple[int, int], columns: int, signed: bool
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]: ...

@final
class Vocabulary:
    def __new__(cls, text: Text, offsets: NDArray[np.int64], bytes: NDArray[np.uint8]) -> Vocabulary: ...
    def __len__(self) -> int: ...
    def rows(self, documents: Any, threads: int) -> tuple[Rows, NDArray[np.int64]]: ...

@final
class Scorer:
    def __new__(
        cls,
        vocabulary: Vocabulary,
        weights: NDArray[np.float64],
        bias: list[float],
        labels: list[Any],
        presence: bool,
    ) -> Scorer: ...
    def score(
        self, documents: Any, threads: int
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]: ...
    def __call__(self, text: str) -> Any: ...

@final
class Parsed:
    columns: list[tuple[NDArray[np.int64], NDArray[np.uint8]]]
    rows: int
    consumed: int
    ragged: list[tuple[int, int]]
    invalid: tuple[int, int] | None
    unclosed: int | None

def distinct(strings: Any) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.uint8]]: ...
def merge_terms(
    lists: list[tuple[NDArray[np.int64], NDArray[np.uint8]]],
) -> tuple[NDArray[np.int64], NDArray[np.uint8], list[NDArray[np.int64]]]: ...
def is_sorted(offsets: NDArray[np.int64], bytes: NDArray[np.uint8]) -> bool: ...
def parse_csv(
    block: NDArray[np.uint8],
    wanted: list[bool],
    *,
    delimiter: int = 44,
    quote: int | None = 34,
    follows: bool = False,
) -> Parsed: ...
def moments(
    table: NDArray[np.float64],
    classes: NDArray[np.int32],
    width: int,
    pivot: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
    threads: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]: ...
def normal_scores(
    table: NDArray[np.float64],
    means: NDArray[np.float64],
    scales: NDArray[np.float64],
    levels: NDArray[np.float64],
    bias: NDArray[np.float64],
    threads: int,
) -> NDArray[np.float64]: ...
def category_counts(
    table: NDArray[np.int64],
    levels: list[int],
    classes: NDArray[np.int32],
    width: int,
    weights: NDArray[np.float64] | None,
) -> NDArray[np.float64]: ...
def category_scores(
    table: NDArray[np.int64],
    levels: list[int],
    weights: NDArray[np.float64],
    bias: NDArray[np.float64],
    threads: int,
) -> NDArray[np.float64]: ...

@final
class Margins:
    weights: NDArray[np.float64]
    intercepts: NDArray[np.float64]
    primal: list[float]
    dual: list[float]
    violation: list[float]
    passes: list[int]
    duals: NDArray[np.float64] | None

def fit_margins(
    rows: Any,
    classes: NDArray[np.int32],
    weights: NDArray[np.float64] | None,
    costs: NDArray[np.float64],
    scales: NDArray[np.float64] | None,
    *,
    solver: str,
    loss: str,
    intercept: float | None,
    free: bool,
    tolerance: float,
    passes: int,
    seed: int,
    threads: int,
    duals: bool,
) -> Margins: ...
def checksum(file: NDArray[np.uint8], start: int, end: int) -> str: ...
def layout(
    file: NDArray[np.uint8],
) -> tuple[dict[str, str], list[tuple[str, str, list[int], int, int]]]: ...
def code_path() -> str: ...
def fail_on_purpose(small: bool) -> None: ...
def work_for(seconds: float) -> None: ...
