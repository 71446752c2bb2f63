"""The counting core, in Rust: takes batches, gives arrays."""

from typing import Any, final

import numpy as np
from numpy.typing import NDArray

_Table = NDArray[np.float64] | tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64], int]

@final
class Texts:
    def __new__(cls, list: list[str]) -> Texts: ...
    def __len__(self) -> int: ...

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
        symbols: bool = False,
    ) -> Text: ...
    def terms(self, document: str) -> list[bytes]: ...
    def lengths(self, documents: Any, threads: int) -> NDArray[np.int64]: ...

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
    def add(
        self, documents: Any, classes: NDArray[np.int32], n_classes: int, threads: int, strict: bool = False
    ) -> None: ...
    def drain(self) -> Drained: ...
    def held_out(
        self, classes: NDArray[np.int32], n_classes: int
    ) -> tuple[NDArray[np.int64], NDArray[np.uint8], HeldOut]: ...
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
        presence: bool,
    ) -> Scorer: ...
    def score(
        self, documents: Any, threads: int, strict: bool = False
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]: ...

@final
class TextScorer:
    def __new__(
        cls,
        start: list[float],
        views: list[Scorer],
        labels: list[Any],
        length: tuple[Text, list[int], list[float], list[bool]] | None = None,
        scales: list[tuple[float, float, float]] | None = None,
    ) -> TextScorer: ...
    def scores(self, text: str) -> tuple[NDArray[np.float64], int]: ...
    def __call__(self, text: str) -> Any: ...

@final
class TextLearner:
    def __new__(cls, text: Text, rate: float) -> TextLearner: ...
    @staticmethod
    def restored(
        text: Text,
        rate: float,
        classes: int,
        offsets: NDArray[np.int64],
        bytes: NDArray[np.uint8],
        weights: NDArray[np.float32],
        squares: NDArray[np.float32],
    ) -> TextLearner: ...
    def learn(self, documents: Any, classes: NDArray[np.int32], n_classes: int, begun: int) -> None: ...
    def scores(self, documents: Any, threads: int) -> NDArray[np.float64]: ...
    def __len__(self) -> int: ...
    def state(
        self,
    ) -> tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.float32], NDArray[np.float32]]: ...

@final
class HeldOut:
    def __new__(
        cls,
        starts: NDArray[np.int64],
        terms: NDArray[np.int32],
        counts: NDArray[np.int64],
        size: int,
        classes: NDArray[np.int32],
        n_classes: int,
    ) -> HeldOut: ...
    def rows(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]: ...
    def entries(
        self,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]: ...
    def scores(
        self,
        kind: str,
        value: float,
        presence: bool,
        least: int,
        order: NDArray[np.int64],
        ends: NDArray[np.int64],
        threads: int,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...

class InvertedIndex:
    def __new__(
        cls, starts: NDArray[np.int64], terms: NDArray[np.int32], weights: NDArray[np.float64], n_columns: int
    ) -> InvertedIndex: ...
    def nearest(
        self,
        starts: NDArray[np.int64],
        terms: NDArray[np.int32],
        weights: NDArray[np.float64],
        count: int,
        without: NDArray[np.int64] | None,
        threads: int,
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]: ...

@final
class Screen:
    def __new__(cls, count: int, slack: NDArray[np.float32], without: NDArray[np.int64] | None) -> Screen: ...
    def add(self, values: NDArray[np.float32], first: int) -> None: ...
    def nearest(
        self, rows: NDArray[np.float64], queries: NDArray[np.float64], count: int, cosine: bool, threads: int
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]: ...

@final
class Tree:
    def __new__(cls, rows: NDArray[np.float64]) -> Tree: ...
    def nearest(
        self, queries: NDArray[np.float64], count: int, without: NDArray[np.int64] | None, threads: int
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]: ...

@final
class Parsed:
    columns: list[tuple[NDArray[np.int64], NDArray[np.int64]]]
    rows: int
    consumed: int
    ragged: list[tuple[int, int, int, int]]
    invalid: tuple[int, int] | None
    unclosed: int | None

def distinct(strings: Any) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.uint8]]: ...
def packed(strings: Any) -> tuple[NDArray[np.int64], NDArray[np.uint8]]: ...
def row_hashes(strings: Any) -> NDArray[np.uint64]: ...
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

_Compressed = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]

def add_dense_by_class(
    table: NDArray[Any],
    classes: NDArray[np.int32],
    weights: NDArray[np.float64] | None,
    above: float | None,
    sums: NDArray[np.float64],
) -> None: ...
def add_sparse_by_class(
    table: _Compressed,
    by_column: bool,
    classes: NDArray[np.int32],
    weights: NDArray[np.float64] | None,
    above: float | None,
    sums: NDArray[np.float64],
) -> None: ...
def linear_scores(table: NDArray[Any], coefficients: NDArray[np.float64], threads: int) -> NDArray[np.float64]: ...
def linear_choices(
    table: NDArray[Any], coefficients: NDArray[np.float64], at_zero: bool, single: bool, threads: int
) -> NDArray[np.int64] | None: ...
def best_scores(scores: NDArray[Any], threads: int) -> NDArray[np.int64] | None: ...
def add_products_of_rows(table: _Compressed, weights: NDArray[np.float64], scores: NDArray[np.float64]) -> None: ...

_Lines = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]

def hold_out_label_counts(
    by_term: _Compressed,
    sets: _Compressed,
    fold: NDArray[np.int32],
    place: NDArray[np.int32],
    n_folds: int,
    n_labels: int,
    presence: bool,
    least: int,
) -> list[tuple[_Lines, _Lines, NDArray[np.float64], NDArray[np.float64], float, int]]: ...
def add_products_of_terms(
    rows: _Lines, weights: _Lines, shifts: NDArray[np.float64], scores: NDArray[np.float64]
) -> None: ...
def quadratic(rows: NDArray[np.float64], products: bool, squares: bool, target: NDArray[np.float64]) -> None: ...
def moments(
    table: NDArray[np.float64],
    classes: NDArray[np.int32],
    n_classes: int,
    pivot: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
    threads: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]: ...
def place_on_grid(
    values: NDArray[np.float32] | NDArray[np.float64],
    classes: NDArray[np.int32],
    origin: NDArray[np.float64],
    per_unit: NDArray[np.float64],
    limit: float,
    first: NDArray[np.float64],
    units: NDArray[np.float64],
    largest: NDArray[np.float64],
) -> None: ...
def has_fast_products() -> bool: ...
def add_products(units: NDArray[np.float64], sums: NDArray[np.int64]) -> None: ...
def numbers(strings: Any) -> tuple[NDArray[np.float64], NDArray[np.int64], bool]: ...
def value_hashes(strings: Any) -> tuple[NDArray[np.uint64], NDArray[np.int64]]: ...
def number_hashes(numbers: NDArray[np.float64]) -> NDArray[np.uint64]: ...
def widened(values: NDArray[np.float32]) -> NDArray[np.float64]: ...
def moments_without(
    values: NDArray[np.float64],
    classes: NDArray[np.int32],
    n_classes: int,
    order: NDArray[np.int64],
    numbers: NDArray[np.int64],
    n_folds: int,
) -> (
    tuple[
        NDArray[np.int64],
        NDArray[np.int64],
        tuple[NDArray[np.float64], NDArray[np.float64]],
        tuple[NDArray[np.float64], NDArray[np.float64]],
    ]
    | None
): ...

class ExactTotal:
    def __new__(cls, n_classes: int) -> ExactTotal: ...
    def add(self, values: NDArray[np.float64], classes: NDArray[np.int32], n_classes: int) -> None: ...
    def sums(self) -> tuple[NDArray[np.int64], int, NDArray[np.uint8], NDArray[np.uint8]]: ...

class NumberScorer:
    def __new__(
        cls,
        columns: list[
            tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]
            | tuple[list[float], NDArray[np.float64], list[bool]]
        ],
        n_classes: int,
        farthest: float,
    ) -> NumberScorer: ...
    def add(
        self, columns: list[NDArray[np.float64]], scores: NDArray[np.float64], threads: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...

class JsonColumn:
    name: str
    kinds: int
    def row_kinds(self) -> NDArray[np.uint8]: ...
    def numbers(self) -> NDArray[np.float64]: ...
    def spans(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...
    def arrays(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]: ...

def parse_json_lines(block: NDArray[np.uint8]) -> tuple[int, list[JsonColumn]] | None: ...
def normal_scores(
    table: NDArray[np.float64],
    means: NDArray[np.float64],
    scales: NDArray[np.float64],
    levels: NDArray[np.float64],
    bias: NDArray[np.float64],
    threads: int,
    probabilities: bool = False,
) -> NDArray[np.float64]: ...
def category_counts(
    table: NDArray[np.int64],
    classes: NDArray[np.int32],
    n_classes: int,
    weights: NDArray[np.float64] | None,
    threads: int,
) -> tuple[list[NDArray[np.float64]], int]: ...
def category_scores(
    table: NDArray[np.int64],
    levels: list[int],
    weights: NDArray[np.float64],
    bias: NDArray[np.float64],
    threads: int,
    probabilities: bool = False,
) -> NDArray[np.float64]: ...
def expectations(
    parts: tuple[NDArray[np.float64], ...], factors: list[NDArray[np.float64]]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]: ...
def entropy_cuts(
    values: NDArray[np.float64], classes: NDArray[np.int64], weights: NDArray[np.float64] | None
) -> NDArray[np.float64]: ...
def edges_without_values(edges: NDArray[np.float64], known: NDArray[np.float64]) -> NDArray[np.float64]: ...
def bin_codes(table: NDArray[np.float64], edges: list[list[float]], threads: int) -> NDArray[np.int64]: ...
def number_labels(
    labels: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]] | None: ...
def to_probabilities(scores: NDArray[np.float64], threads: int) -> None: ...
def fit_machines(
    table: _Table,
    problems: list[tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]],
    kernel: tuple[str, float, float, int],
    settings: tuple[float, int, bool, int, bool],
    threads: int,
    growth: list[float] = ...,
) -> list[tuple[NDArray[np.float64], tuple[float, float, float, float, float, int, bool]]]: ...
def decide_machines(
    table: _Table,
    support: _Table,
    places: NDArray[np.int64],
    kernel: tuple[str, float, float, int],
    class_sizes: list[int],
    coefficients: NDArray[np.float64],
    intercepts: NDArray[np.float64],
    threads: int,
) -> NDArray[np.float64]: ...
def kernel_sums(
    table: _Table,
    support: _Table,
    kernel: tuple[str, float, float, int],
    coefficients: NDArray[np.float64],
    threads: int,
) -> NDArray[np.float64]: ...
def repeats_columns(starts: NDArray[np.int64], columns: NDArray[np.int32], n_columns: int) -> bool: ...
def descend(
    table: _Table,
    weights: NDArray[np.float64],
    classes: NDArray[np.int32],
    positives: list[int],
    factors: list[tuple[float, float]],
    objective: tuple[str, float, float, str, float, float],
    course: tuple[bool, float, bool, int, float, int, int, float],
    seeds: list[int],
    states: list[tuple[NDArray[np.float64], NDArray[np.float64], float, float]],
    threads: int,
) -> list[tuple[NDArray[np.float64], NDArray[np.float64], float, float, int, bool]]: ...
def learn_online(
    table: _Table,
    weights: NDArray[np.float64],
    classes: NDArray[np.int32],
    positives: list[int],
    factors: list[tuple[float, float]],
    rule: tuple[str, list[float]],
    kernel: tuple[str, float, float, int] | None,
    settings: tuple[int, float, int, float, bool, int],
    states: list[tuple[NDArray[np.float64], float, NDArray[np.float64], float, float]],
    threads: int,
) -> (
    list[
        tuple[
            tuple[NDArray[np.float64], float, NDArray[np.float64], float, float],
            tuple[int, int, int, float, bool],
        ]
    ]
    | None
): ...
def weigh(
    starts: NDArray[np.int64],
    terms: NDArray[np.int32],
    values: NDArray[np.float64],
    whole: bool,
    idf: NDArray[np.float64] | None,
    sublinear: bool,
    norm: str,
    threads: int,
) -> None: ...
def term_rows(terms: NDArray[np.int32], n_terms: int) -> NDArray[np.int64]: ...
def hamming_neighbors(
    rows: NDArray[np.uint64],
    queries: NDArray[np.uint64],
    n_bits: int,
    count: int,
    without: NDArray[np.int64] | None,
    threads: int,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]: ...

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
    members: NDArray[np.bool_] | None = None,
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
def class_sums(
    rows: _Table, classes: NDArray[np.int32], count: int, weights: NDArray[np.float64] | None
) -> NDArray[np.float64]: ...
def checksum(file: NDArray[np.uint8], start: int, end: int) -> str: ...
def layout(
    file: NDArray[np.uint8],
) -> tuple[dict[str, str], list[tuple[str, str, list[int], int, int]]]: ...
def code_path() -> str: ...
def fail_on_purpose(small: bool, alone: bool = False) -> None: ...
def work_for(seconds: float) -> None: ...
def logistic_sums(
    table: NDArray[np.float64],
    classes: NDArray[np.int32],
    coefficients: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
    hessian: bool,
    threads: int,
) -> tuple[float, NDArray[np.float64], NDArray[np.float64] | None]: ...
def logistic_probabilities(
    table: NDArray[np.float64], coefficients: NDArray[np.float64], threads: int
) -> NDArray[np.float64]: ...
def lasso_minimum(
    table: NDArray[np.float64] | tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64], int],
    loss: str,
    targets: NDArray[np.float64],
    costs: NDArray[np.float64] | None,
    start: NDArray[np.float64],
    lasso: NDArray[np.float64],
    ridge: NDArray[np.float64],
    tol: float,
    max_iter: int,
) -> tuple[NDArray[np.float64], float, float, int, bool]: ...
def lasso_step(
    table: NDArray[np.float64] | tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64], int],
    bending: NDArray[np.float64],
    row_weights: NDArray[np.float64] | None,
    gradient: NDArray[np.float64],
    weights: NDArray[np.float64],
    lasso: NDArray[np.float64],
    ridge: NDArray[np.float64],
    working: NDArray[np.int64],
    share: float,
    passes: int,
) -> tuple[NDArray[np.float64], int]: ...
def logistic_residuals(
    scores: NDArray[np.float64],
    intercepts: NDArray[np.float64],
    classes: NDArray[np.int32],
    weights: NDArray[np.float64] | None,
) -> float: ...
def logistic_dual(
    starts: NDArray[np.int32],
    columns: NDArray[np.int32],
    values: NDArray[np.float64],
    classes: NDArray[np.int32],
    costs: NDArray[np.float64],
    mean: NDArray[np.float64],
    intercept: bool,
    epochs: int,
    enough: float,
    seed: int,
) -> tuple[NDArray[np.float64], int, float]: ...
