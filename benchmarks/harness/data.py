"""The texts: real ones from the folder named in ``DISCERN_DATA``, otherwise synthetic ones.

Written once a run as CSV files into a temporary folder, from where the jobs read them.
"""

import bz2
import io
import os
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

VARIABLE = "DISCERN_DATA"
TYPES = 300_000
FOREIGN_SHARE = 0.03
LETTERS = "etaoinshrdlcumwfgypbvkjxqz"
LETTER_SHARES = np.array(
    [127, 91, 82, 75, 70, 67, 63, 61, 60, 43, 40, 28, 28, 24, 24, 22, 20, 20, 19, 15, 10, 8, 1.5, 1.5, 1, 0.7]
)
FOREIGN = (str.maketrans(LETTERS, "етаоинсхрдлкумвфгыпбжйщцюя"), str.maketrans("eaoucn", "éåöüçñ"))


@dataclass(frozen=True)
class Texts:
    """Texts the jobs use: the real files, and the size of the synthetic ones that stand in for them."""

    name: str
    files: tuple[str, ...]
    rows: int
    quick_rows: int
    words: int
    labels: tuple[str, str]


REVIEWS = Texts("reviews", ("imdb/train.csv.bz2", "imdb/test.csv.bz2"), 50_000, 2_000, 230, ("neg", "pos"))
NEWS = Texts("news", ("20newsgroups/train.csv.bz2",), 11_314, 2_000, 230, ("hockey", "space"))
LANGUAGES = Texts("languages", ("langid_lingua75/sentences.csv.bz2",), 20_000, 2_000, 20, ("af", "de"))
MESSAGES = Texts("messages", ("sms_spam/all.csv.bz2",), 5_574, 1_000, 16, ("ham", "spam"))


def real_folder() -> Path | None:
    given = os.environ.get(VARIABLE)
    if not given:
        return None
    if not Path(given).is_dir():
        raise SystemExit(f"{VARIABLE} does not name a folder; correct it, or unset it to use synthetic texts")
    return Path(given)


def write(texts: Texts, folder: Path, quick: bool) -> str:
    """Write texts to a CSV file in the folder and return their description."""
    real = real_folder()
    paths = [real / name for name in texts.files] if real else []
    if paths and all(path.exists() for path in paths):
        table, origin = _read_real(paths), Path(texts.files[0]).parts[0]
    else:
        rows = texts.quick_rows if quick else texts.rows
        table, origin = synthetic(rows, texts.words, texts.labels), "synthetic"
    if quick:
        table = table.take(np.linspace(0, len(table) - 1, min(texts.quick_rows, len(table))).astype(int))
    pyarrow.csv.write_csv(table, path_of(texts, folder))
    return f"{origin}, {len(table):,} rows"


def path_of(texts: Texts, folder: Path) -> Path:
    return folder / f"{texts.name}.csv"


def read(texts: Texts, folder: Path) -> pa.Table:
    """Read texts back, each column in one piece."""
    return _parse(pa.OSFile(str(path_of(texts, folder)))).combine_chunks()


def _read_real(paths: list[Path]) -> pa.Table:
    return pa.concat_tables([_parse(io.BytesIO(bz2.decompress(path.read_bytes()))) for path in paths])


def _parse(stream: io.BytesIO | pa.NativeFile) -> pa.Table:
    columns = {"label": pa.string(), "text": pa.string()}
    return pyarrow.csv.read_csv(
        stream,
        read_options=pyarrow.csv.ReadOptions(use_threads=False),
        parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True),
        convert_options=pyarrow.csv.ConvertOptions(include_columns=list(columns), column_types=columns),
    )


# -------------------------------------------------------------------------------------------- synthetic texts


def synthetic(rows: int, words: int, labels: tuple[str, str]) -> pa.Table:
    """Make documents of about ``words`` words, by Zipf's law; the labels differ in their frequencies."""
    random = np.random.default_rng(1)
    types = np.array(vocabulary(TYPES), dtype=object)
    rank = np.arange(1, TYPES + 1)
    column = random.integers(0, 2, rows)
    lengths = np.maximum(random.lognormal(np.log(words) - 0.18, 0.6, rows), 2).astype(int)
    documents: list[str] = [""] * rows
    for number in (0, 1):
        shares = random.lognormal(0, 0.5, TYPES) / (rank + 2.7) ** 1.05
        bounds = np.cumsum(shares / shares.sum())
        for row in np.flatnonzero(column == number):
            drawn = np.minimum(np.searchsorted(bounds, random.random(lengths[row])), TYPES - 1)
            documents[row] = _document(types[drawn].tolist(), random)
    return pa.table({"label": [labels[number] for number in column], "text": documents})


def vocabulary(size: int) -> list[str]:
    """Make distinct words, the frequent ones shorter, as in English."""
    random = np.random.default_rng(0)
    shares = LETTER_SHARES / LETTER_SHARES.sum()
    words: dict[str, None] = {}
    while len(words) < size:
        rank = len(words) + np.arange(size - len(words)) + 1
        lengths = np.clip(random.normal(1.5 + 0.55 * np.log(rank), 1.8), 1, 20).astype(int)
        letters = "".join(random.choice(list(LETTERS), lengths.sum(), p=shares))
        places = pairwise([0, *np.cumsum(lengths).tolist()])
        words.update(dict.fromkeys(letters[start:end] for start, end in places))
    return list(words)[:size]


def _document(words: list[str], random: np.random.Generator) -> str:
    marks = random.choice([" ", ", ", ". ", ' "'], len(words), p=[0.86, 0.06, 0.06, 0.02]).tolist()
    text = "".join(part for pair in zip(words, marks, strict=True) for part in pair).strip()
    text = text[:1].upper() + text[1:]
    if random.random() < FOREIGN_SHARE:
        text = text.translate(FOREIGN[int(random.integers(len(FOREIGN)))])
    return text
