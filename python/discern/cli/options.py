"""The options that commands share, and how their values are read."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer._types import TyperChoice

if TYPE_CHECKING:
    import discern.learners.bayes as bayes


class RegistryChoice(TyperChoice[str]):
    """The names in a registry, which is imported when a value or the help is needed."""

    def __init__(self, module: str, attribute: str) -> None:
        self._module, self._attribute = module, attribute
        self.case_sensitive = True

    @cached_property
    def choices(self) -> Sequence[str]:  # type: ignore[override]
        """The names."""
        names: tuple[str, ...] = getattr(import_module(self._module), self._attribute).names()
        return names


class OnError(StrEnum):
    """What becomes of rows that cannot be read."""

    stop = "stop"
    skip = "skip"
    keep = "keep"


class Model(StrEnum):
    """Naive Bayes with its event models, models in a vector space, and the best of them."""

    naive_bayes = "naive-bayes"
    multinomial = "multinomial"
    binary = "binary"
    bernoulli = "bernoulli"
    complement = "complement"
    logistic = "logistic"
    linear_svm = "linear-svm"
    nbsvm = "nbsvm"
    ridge = "ridge"
    lda = "lda"
    qda = "qda"
    knn = "knn"
    best = "best"


class Select(StrEnum):
    """By what terms are selected."""

    chi2 = "chi2"
    mutual_information = "mutual-information"


class Numbers(StrEnum):
    """How numbers speak."""

    auto = "auto"
    gaussian = "gaussian"
    quantile = "quantile"
    uniform = "uniform"
    mdl = "mdl"


class Priors(StrEnum):
    """Where the probabilities of the labels come from."""

    data = "data"
    uniform = "uniform"
    auto = "auto"


class Analyzer(StrEnum):
    """What the terms of a text are."""

    word = "word"
    char = "char"
    char_wb = "char_wb"
    pattern = "pattern"
    given = "given"


class Words(StrEnum):
    """How texts are cut into words."""

    words = "words"
    sklearn = "sklearn"


class Normalization(StrEnum):
    """What the Bernoulli model divides by."""

    documents = "documents"
    vocabulary = "vocabulary"


def parse_smoothing(value: str) -> bayes.Smoothing | str:
    """Read ``auto``, ``0.5``, ``laplace:0.5``, ``jelinek-mercer:0.5`` or ``dirichlet:1000``.

    Examples
    --------
    >>> parse_smoothing("dirichlet:500")
    Dirichlet(mass=500.0)
    """
    from discern.learners.bayes import Dirichlet, JelinekMercer, Laplace

    if value == "auto":
        return value
    kinds: dict[str, Any] = {"laplace": Laplace, "jelinek-mercer": JelinekMercer, "dirichlet": Dirichlet}
    name, colon, number = value.rpartition(":")
    kind = kinds.get(name if colon else "laplace")
    try:
        if kind is None:
            raise ValueError(f"there is no smoothing {name!r}; there are {', '.join(kinds)}")
        return kind(float(number))  # type: ignore[no-any-return]
    except ValueError as error:
        raise typer.BadParameter(f"{error} (write 0.5, jelinek-mercer:0.5 or dirichlet:1000)") from error


def parse_ngrams(value: str) -> tuple[int, int]:
    """Read ``1,2``: the shortest and the longest; one number is both.

    Examples
    --------
    >>> parse_ngrams("1,2"), parse_ngrams("3")
    ((1, 2), (3, 3))
    """
    parts = value.split(",")
    try:
        lengths = [int(part) for part in parts]
    except ValueError as error:
        raise typer.BadParameter(f"{value!r} is not a pair of numbers such as 1,2") from error
    if len(lengths) > 2 or lengths[0] < 1 or lengths[-1] < lengths[0]:
        raise typer.BadParameter(f"{value!r} is not a pair of numbers that rise from at least 1, such as 1,2")
    return lengths[0], lengths[-1]


def number_of_terms(value: str | None) -> int | str | None:
    """Read how many terms to use: a number, or auto."""
    if value is None or value == "auto":
        return value
    if not value.isdigit() or int(value) < 1:
        raise typer.BadParameter(f"--features takes a number above 0 or auto, not {value!r}")
    return int(value)


def parse_budget(value: str) -> float:
    """Read ``60``, ``60s``, ``2m`` or ``1h``: seconds.

    Examples
    --------
    >>> parse_budget("90s"), parse_budget("1.5m")
    (90.0, 90.0)
    """
    units = {"s": 1.0, "m": 60.0, "h": 3600.0}
    number, unit = (value[:-1], units[value[-1]]) if value[-1:] in units else (value, 1.0)
    try:
        return float(number) * unit
    except ValueError as error:
        raise typer.BadParameter(f"{value!r} is not a time such as 60s, 2m or 1h") from error


def parse_stop_words(value: str) -> tuple[str, ...]:
    """Read a list with commas, or ``@file`` with words between commas or white space.

    Examples
    --------
    >>> parse_stop_words("the, a,of")
    ('the', 'a', 'of')
    """
    listed = Path(value[1:]).read_text("utf-8") if value.startswith("@") else value
    return tuple(dict.fromkeys(listed.replace(",", " ").split()))


DATA_HELP = (
    "Rows to read: files in a format of --format, also .gz, .bz2, .xz or .zst; a Maildir, or a folder whose "
    "sub-folders are the labels; - is stdin."
)
Sources = Annotated[list[str], typer.Argument(metavar="DATA", help=DATA_HELP, show_default=False)]
Source = Annotated[str, typer.Argument(metavar="DATA", help=DATA_HELP, show_default=False)]
OptionalSources = Annotated[
    list[str] | None, typer.Argument(metavar="DATA", help=DATA_HELP + " Not with --message.", show_default=False)
]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="The model file.", show_default=False)]
ModelFiles = Annotated[
    list[Path], typer.Argument(metavar="MODEL", help="The model files, two or more.", show_default=False)
]
NewModelFile = Annotated[
    Path, typer.Option("--output", "-o", metavar="MODEL", help="The model file to write.", show_default=False)
]
OtherModelFile = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="MODEL",
        help="Write here and leave MODEL as it is.",
        show_default="MODEL itself",
    ),
]
Given = Annotated[
    str | None,
    typer.Option(
        "--format",
        click_type=RegistryChoice("discern.data.formats", "FORMATS"),
        help="The format of the data.",
        show_default="by the name; csv for stdin",
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The encoding of the data, such as latin-1; auto: guess it.",
        show_default="utf-8, or as marked",
    ),
]
OnErrorName = Annotated[
    OnError,
    typer.Option(help="A row that cannot be read: stop, skip it, or keep what can be read; they are counted."),
]
LabelAs = Annotated[
    str | None,
    typer.Option(
        "--label",
        "--label-as",
        metavar="LABEL",
        help="The label of all rows, for data without labels such as mails.",
        show_default="as the data say",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Write the result to stdout as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print results only: no messages, no progress bar.")]
Threads = Annotated[
    int | None,
    typer.Option(min=1, help="How many threads; the result is always the same.", show_default="all cores"),
]
Values = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN=VALUE", help="The value of a column; may be given more than once."),
]
Top = Annotated[int, typer.Option(min=0, help="How many words to show.")]
OtherText = Annotated[
    str | None, typer.Option("--text", help="The column with the text.", show_default="as in the model")
]
OtherLabel = Annotated[
    str | None,
    typer.Option("--label", help="The column with the true labels.", show_default="as in the model"),
]

# What only fit takes.
Label = Annotated[str, typer.Option(help="The column with the labels.")]
Text = Annotated[
    list[str] | None,
    typer.Option(help="A column with text; may be given more than once.", show_default="inferred, as are the others"),
]
Number = Annotated[list[str] | None, typer.Option(help="A column with numbers.", show_default="inferred")]
Category = Annotated[list[str] | None, typer.Option(help="A column with categories.", show_default="inferred")]
Flag = Annotated[list[str] | None, typer.Option(help="A column with yes or no.", show_default="inferred")]
NumbersName = Annotated[Numbers, typer.Option(help="Numbers speak by a normal density, or by bins.")]
Calibrate = Annotated[
    bool | None,
    typer.Option(help="Calibrate probabilities on rows left out.", show_default="if the smoothing is auto"),
]
ModelName = Annotated[
    Model,
    typer.Option(
        help="Naive Bayes (its event model chosen by validation, or given), another model, or the best of them; "
        "only naive Bayes can learn, forget and merge."
    ),
]
Budget = Annotated[str, typer.Option(metavar="TIME", help="For --model best: how long it may take, such as 60s or 5m.")]
Characters = Annotated[
    str | None,
    typer.Option(help="Count character n-grams of these lengths too, such as 2,5; not naive Bayes."),
]
Features = Annotated[
    str | None,
    typer.Option(
        metavar="N",
        help="Use so many terms of a text, the best by --select; auto: chosen by validation.",
        show_default="all; 6000 for ridge, 1000 for lda, 100 for qda",
    ),
]
SelectName = Annotated[Select, typer.Option(help="By what the best terms are selected.")]
Smoothing = Annotated[str, typer.Option(help="auto, a number (Laplace), jelinek-mercer:0.5 or dirichlet:1000.")]
PriorsName = Annotated[
    Priors, typer.Option(help="Probabilities of the labels: as in the data, all the same, or by validation.")
]
NormalizationName = Annotated[Normalization, typer.Option(help="What the Bernoulli model divides by.")]
MinDf = Annotated[
    int | None,
    typer.Option(min=1, help="Leave out terms that fewer rows hold.", show_default="1, or 2 for most but naive Bayes"),
]
AnalyzerName = Annotated[
    Analyzer,
    typer.Option(help="Terms: words, characters, characters within words, matches of --pattern, whole texts."),
]
WordsName = Annotated[Words, typer.Option(help="Cut words right in every script, or just as scikit-learn does.")]
Lowercase = Annotated[bool, typer.Option(help="Whether upper and lower case are the same.")]
Ngrams = Annotated[
    str | None,
    typer.Option(
        help="The shortest and the longest n-grams, such as 1,2.", show_default="1,1 or 1,2, by model or validation"
    ),
]
StopWords = Annotated[str, typer.Option(help="Words to leave out: a list with commas, or @file.", show_default="none")]
Stem = Annotated[
    str,
    typer.Option(
        help="Stem words as in this language, such as english; none; or auto.",
        show_default="auto: as validation says, none for models in a vector space",
    ),
]
Shortest = Annotated[
    int | None, typer.Option(min=1, help="The least number of characters of a word.", show_default="2, of mails 1")
]
Pattern = Annotated[str | None, typer.Option(help="A regular expression, for --analyzer pattern.", show_default="none")]
Slim = Annotated[bool, typer.Option("--slim", help="A smaller file that cannot learn, forget or merge.")]
Ledger = Annotated[
    bool,
    typer.Option("--ledger", help="Keep a digest of every row, so that rows never learned cannot be forgotten."),
]
LedgerSalt = Annotated[
    str | None,
    typer.Option(
        metavar="HEX",
        help="The salt of these digests, 32 hexadecimal digits; models to be merged must share it.",
        show_default="random",
    ),
]
DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="Say what would be done: roles, sizes, about how long; and write nothing."),
]
Spark = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Learn on Spark: local, a master such as spark://host:7077, or Spark Connect, sc://host.",
        show_default="on this machine alone",
    ),
]
