"""The command fit: learn from rows with labels, and write a model file."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import typer

from discern.cli.options import MODELS, Label, NewModelFile, OneOf, Output, Rows, Text, command, option
from discern.cli.output import counted, in_bytes, print_json, refuse_bad_place, saved
from discern.cli.several import Sets

if TYPE_CHECKING:
    from discern.classifier import Classifier
    from discern.data.source import Reading
    from discern.learners.smoothing import Smoothing

# --------------------------------------------------------------------------------------------- values of options


def parse_smoothing(value: str) -> Smoothing | str:
    """Read ``auto``, ``0.5``, ``laplace:0.5``, ``jelinek-mercer:0.5`` or ``dirichlet:1000``.

    Examples
    --------
    >>> parse_smoothing("dirichlet:500")
    Dirichlet(mass=500.0)
    """
    from discern.learners.smoothing import Dirichlet, JelinekMercer, Laplace

    if value == "auto":
        return value
    kinds: dict[str, Any] = {"laplace": Laplace, "jelinek-mercer": JelinekMercer, "dirichlet": Dirichlet}
    name, colon, number = value.rpartition(":")
    kind = kinds.get(name if colon else "laplace")
    try:
        if kind is None:
            raise ValueError(f"unknown smoothing {name!r}; choose one of: {', '.join(kinds)}")
        return kind(float(number))  # type: ignore[no-any-return]
    except ValueError as error:
        raise typer.BadParameter(f"{error} (write 0.5, jelinek-mercer:0.5 or dirichlet:1000)") from error


def parse_lengths(value: str) -> tuple[int, int]:
    """Read ``1,2``: the shortest and the longest; one number is both.

    Examples
    --------
    >>> parse_lengths("1,2"), parse_lengths("3")
    ((1, 2), (3, 3))
    """
    parts = value.split(",")
    try:
        lengths = [int(part) for part in parts]
    except ValueError as error:
        raise typer.BadParameter(f"{value!r} is not a pair of numbers such as 1,2") from error
    if len(lengths) > 2 or lengths[0] < 1 or lengths[-1] < lengths[0]:
        raise typer.BadParameter(
            f"{value!r} is not a pair such as 1,2: two numbers of at least 1, the smaller one first"
        )
    return lengths[0], lengths[-1]


def parse_terms(value: str) -> int | str:
    """Read a number of terms, or ``auto``."""
    if value == "auto":
        return value
    if not value.isdigit() or int(value) < 1:
        raise typer.BadParameter(f"pass a number above 0, or auto, not {value!r}")
    return int(value)


def parse_budget(value: str) -> float:
    """Read ``60``, ``60s``, ``2m`` or ``1h`` as seconds.

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


# ---------------------------------------------------------------------------------------------- groups of options


@dataclass(frozen=True)
class Columns:
    """The roles of columns."""

    panel: ClassVar[str] = "Columns"
    label: Label = None
    text: Text = None
    number: list[str] | None = option(None, "A column with numbers.", metavar="COLUMN", show_default="inferred")
    category: list[str] | None = option(None, "A column with categories.", metavar="COLUMN", show_default="inferred")
    flag: list[str] | None = option(None, "A column with yes or no.", metavar="COLUMN", show_default="inferred")
    vector: list[str] | None = option(
        None, "A column with lists of numbers, such as embeddings.", metavar="COLUMN", show_default="inferred"
    )
    ignore: list[str] | None = option(
        None,
        "A column not to use. '*' stands for all whose role you do not set.",
        metavar="COLUMN",
        show_default="none",
    )


@dataclass(frozen=True)
class Learning:
    """The model and how it is learned."""

    panel: ClassVar[str] = "Model"
    model: str = option(
        "naive-bayes",
        "Naive Bayes (validation chooses its event model, or you name it), another model, or the best of them.",
        click_type=MODELS,
    )
    smoothing: Any = option(
        "auto",
        "auto, a number (Laplace), jelinek-mercer:0.5 or dirichlet:1000.",
        parser=parse_smoothing,
        metavar="SMOOTHING",
    )
    numbers: str = option(
        "auto",
        "Model numeric columns with a normal density or with bins.",
        click_type=OneOf("discern.data.roles", "NUMBERS", "auto"),
    )
    basis: str = option(
        "auto",
        "How numbers become axes in a vector space: standardized, in a common scale, as normal quantiles, in bins, or "
        "with products or Gaussian bumps too.",
        click_type=OneOf("discern.models.settings", "BASES", "auto"),
    )
    levels: str = option(
        "one-hot",
        "How categories become axes in a vector space: one for each level, or for many levels the means of labels.",
        click_type=OneOf("discern.models.settings", "LEVELS"),
    )
    calibrate: bool | None = option(
        None, "Calibrate probabilities on held-out rows.", show_default="if the smoothing is auto"
    )
    priors: str = option(
        "data",
        "Priors of the labels: as in the data, uniform, or chosen by validation.",
        click_type=OneOf("discern.models.settings", "PRIORS"),
    )
    normalization: str = option(
        "documents",
        "What the Bernoulli model divides by.",
        click_type=OneOf("discern.learners.bayes", "NORMALIZATIONS"),
    )
    cost: float | None = option(
        None,
        "The cost of an error of a support vector machine and others.",
        show_default="chosen by validation or usual",
    )
    kernel: str = option(
        "auto",
        "For --model svm, the kernel: rbf (Gaussian), poly (polynomial), linear, or chosen by validation.",
        click_type=OneOf("discern.models.settings", "CHOSEN_KERNELS", "auto"),
    )
    gamma: float | None = option(
        None, "For --model svm, how fast similarity falls with distance.", show_default="chosen by validation"
    )
    budget: Any = option(
        "60s",
        "For --model best: the most seconds of one core it may take, such as 60s or 5m.",
        parser=parse_budget,
        metavar="TIME",
    )
    ledger: bool = option(False, "Keep a digest of every row, so that rows never learned cannot be forgotten.")
    ledger_salt: str | None = option(
        None,
        "The salt of these digests, 32 hexadecimal digits. Models to be merged must share it.",
        metavar="HEX",
        show_default="random",
    )


@dataclass(frozen=True)
class Terms:
    """How texts become terms, and which terms are used."""

    panel: ClassVar[str] = "Words and terms"
    analyzer: str = option(
        "word",
        "Terms: words, characters, characters within words, matches of --pattern, or whole texts.",
        click_type=OneOf("discern.data.text", "ANALYZERS"),
    )
    tokenizer: str = option(
        "words",
        "Tokenize every script correctly, or exactly as scikit-learn does.",
        click_type=OneOf("discern.data.text", "TOKENIZERS"),
    )
    lowercase: bool = option(True, "Ignore the difference between upper and lower case.")
    ngrams: Any = option(
        None,
        "The shortest and the longest n-grams, such as 1,2.",
        parser=parse_lengths,
        metavar="MIN,MAX",
        show_default="1,1 or 1,2, by model or validation",
    )
    stop_words: Any = option(
        "",
        "Stop words to ignore: a comma-separated list, or @FILE.",
        parser=parse_stop_words,
        metavar="WORDS",
        show_default="none",
    )
    stem: str = option(
        "auto",
        "Stem words as in this language, such as english; none; or auto.",
        metavar="LANGUAGE",
        show_default="auto: chosen by validation, none for models in a vector space",
    )
    min_word_length: int | None = option(
        None, "The minimum number of characters of a word.", min=1, show_default="2, for mail 1"
    )
    pattern: str | None = option(
        None, "A regular expression, for --analyzer pattern.", metavar="REGEX", show_default="none"
    )
    characters: Any = option(
        None,
        "Also count character n-grams of these lengths, such as 2,5; not for naive Bayes.",
        parser=parse_lengths,
        metavar="MIN,MAX",
    )
    min_df: int | None = option(
        None,
        "Ignore terms that occur in fewer rows than this.",
        min=1,
        show_default="1 for naive Bayes and nbsvm, 2 for other models",
    )
    max_terms: Any = option(
        None,
        "The number of terms of a text to use, the best by --select; auto: chosen by validation.",
        parser=parse_terms,
        metavar="N",
        show_default="all; 10000 for centroids, 2000 for ridge, 1000 for lda, 100 for qda",
    )
    views: str = option(
        "auto",
        "For naive Bayes, what else to count of a text if validation favors it: symbols, characters, length (with "
        "commas), or none.",
        metavar="VIEWS",
    )
    select: str = option(
        "chi2",
        "The score by which the best terms are selected.",
        click_type=OneOf("discern.models.settings", "SELECTS"),
    )


def settings_of(columns: Columns, learning: Learning, terms: Terms) -> dict[str, Any]:
    """Return the keyword arguments of Classifier for these options."""
    given = {**vars(columns), **vars(learning), **vars(terms)}
    given["ledger"] = given.pop("ledger_salt") or given["ledger"]
    if given["calibrate"] is None:
        given["calibrate"] = "auto"
    if given["stem"] == "none":
        given["stem"] = None
    return given


# ---------------------------------------------------------------------------------------------------- the command


@command(
    "discern fit messages.csv -o messages.discern",
    "discern fit part-*.jsonl.gz -o news.discern --label topic --text body --ngrams 1,2 --smoothing 0.5",
    "discern fit tickets.csv -o tickets.discern --label tags --label-separator '|'",
    "zcat rows.csv.gz | discern fit - --format csv -o rows.discern",
)
def fit(
    *,
    output: NewModelFile,
    columns: Columns,
    sets: Sets,
    learning: Learning,
    terms: Terms,
    slim: bool = option(False, "A smaller file that cannot learn, forget or merge."),
    dry_run: bool = option(False, "Show what would be done (roles, sizes, about how long), and write nothing."),
    spark: str | None = option(
        None,
        "Learn on Spark: local, a master such as spark://host:7077, or Spark Connect, sc://host. Needs discern[spark].",
        metavar="URL",
        show_default="on this machine alone",
    ),
    rows: Rows,
    out: Output,
) -> None:
    """Learn from rows with labels, and write a model file."""
    classifier_for = _made_from(columns, sets, learning, terms, rows)
    classifier_for(columns.label or "label")  # refuse wrong settings before anything is read
    refuse_bad_place(output)
    if spark is not None:
        from discern.cli.training.spark import fit_on_spark

        classifier = fit_on_spark(classifier_for, columns.label, spark, rows, slim)
        report_fit(classifier, saved(classifier, output, slim), out)
        return
    from discern.cli.training.label_column import label_and_data

    started = time.perf_counter()
    busy = dry_run or learning.model == "best"  # "best" shows its leaderboard instead of a progress bar
    with rows.reading(rows.data, out.quiet, busy=busy) as how:
        label, data = label_and_data(columns.label, rows.data, how, out, sets.reader())
        classifier = classifier_for(label)
        if dry_run:
            from discern.cli.training.estimate import show

            show(classifier, data, how, out)
            return
        if classifier.model == "best":
            _fit_best(classifier, data, how, out)
        else:
            classifier.fit(data, reading=how)
    report_fit(classifier, {**saved(classifier, output, slim), **_effort(how, started)}, out)


def _made_from(
    columns: Columns, sets: Sets, learning: Learning, terms: Terms, rows: Rows
) -> Callable[[str], Classifier]:
    """Return a function that makes the classifier for a label column."""
    from discern.classifier import Classifier

    def made(label: str) -> Classifier:
        try:
            return Classifier(
                **{**settings_of(columns, learning, terms), **vars(sets), "label": label},
                embed=rows.embed,
                threads=rows.threads,
            )
        except ValueError as error:
            raise typer.BadParameter(" ".join(str(error).split())) from error

    return made


def _effort(how: Reading, started: float) -> dict[str, Any]:
    """Return the bytes read, the seconds, and the most bytes of memory in use."""
    seconds = time.perf_counter() - started
    memory = None
    if sys.platform != "win32":
        import resource

        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        memory = most if sys.platform == "darwin" else 1024 * most
    rate = how.bytes_read / seconds if seconds > 0 else None
    return {"bytes_read": how.bytes_read, "seconds": seconds, "bytes_per_second": rate, "memory": memory}


def _fit_best(classifier: Classifier, data: Any, how: Reading, out: Output) -> None:
    """Learn the best model, and show the leaderboard."""
    from discern.cli.screen.show import leaderboard_shown, show_leaderboard

    with leaderboard_shown(out.quiet or out.json) as watch:
        classifier.fit(data, reading=how, watch=watch)
    if out.json or out.quiet:
        return
    if classifier.leaderboard:
        show_leaderboard(classifier.leaderboard)
    limitation = classifier.fitted.limitation
    out.say(f"the best is {classifier.winner}" + (f": {limitation}" if limitation else ""))


FACTS = (
    "model", "rows", "rows_per_label", "terms", "parameters", "text", "label", "features", "added_features", "chosen",
    "calibration", "leaderboard", "several",
)  # fmt: skip
"""What --json shows of a new model, beside its file and the columns that were left out."""


def report_fit(classifier: Classifier, facts: dict[str, Any], out: Output, done: str = "learned") -> None:
    """Print what was learned."""
    from discern.cli.training.label_column import doubt_labels

    described = classifier.info()
    labels: dict[str, int] = described["rows_per_label"] or dict.fromkeys(classifier.labels, 0)
    doubts = doubt_labels(classifier, out)
    if out.json:
        known = {name: described[name] for name in FACTS}
        print_json({**facts, **known, "left_out": classifier.left_out, "warnings": doubts})
        return
    out.say(f"columns: {', '.join(feature.described for feature in classifier.features)}")
    for name, reason in classifier.left_out.items():
        out.say(f"  {name!r} is left out: {reason}")
    if described["added_features"]:
        out.say(f"added because validation favors it: {', '.join(described['added_features'])}")
    several = described["several"]
    shown = sorted(labels.items(), key=lambda one: -one[1]) if several else list(labels.items())
    listed = ", ".join(f"{label} {rows:,}" if rows else label for label, rows in shown[:10])
    more = ", …" if len(labels) > 10 else ""
    rows = "" if described["rows"] is None else f"{counted(described['rows'], 'row')} of "
    each = f", {sum(labels.values()) / max(described['rows'] or 0, 1):.2f} a row" if several and rows else ""
    out.say(f"{done} {rows}{counted(len(labels), 'label')}{each} ({listed}{more})")
    out.say(f"wrote {facts['file']}: {described['terms']:,} terms, {in_bytes(facts['bytes'])}")
