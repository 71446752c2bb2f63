"""The commands, except the demo. What is heavy is imported when a command runs."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discern.cli import options
from discern.cli import report as judge
from discern.cli.mail import labelled
from discern.cli.output import (
    counted,
    in_bytes,
    reading,
    refuse_bad_place,
    say,
    to_json,
)
from discern.data.lock import locked

if TYPE_CHECKING:
    from discern.classifier import Classifier
    from discern.data.source import Reading


def fit(
    data: options.Sources,
    output: options.NewModelFile,
    label: options.Label = "label",
    text: options.Text = None,
    number: options.Number = None,
    category: options.Category = None,
    flag: options.Flag = None,
    model: options.ModelName = options.Model.naive_bayes,
    smoothing: options.Smoothing = "auto",
    numbers: options.NumbersName = options.Numbers.auto,
    calibrate: options.Calibrate = None,
    priors: options.PriorsName = options.Priors.data,
    normalization: options.NormalizationName = options.Normalization.documents,
    min_df: options.MinDf = None,
    analyzer: options.AnalyzerName = options.Analyzer.word,
    words: options.WordsName = options.Words.words,
    lowercase: options.Lowercase = True,
    ngrams: options.Ngrams = None,
    stop_words: options.StopWords = "",
    stem: options.Stem = "auto",
    shortest: options.Shortest = None,
    pattern: options.Pattern = None,
    characters: options.Characters = None,
    features: options.Features = None,
    select: options.SelectName = options.Select.chi2,
    budget: options.Budget = "60s",
    slim: options.Slim = False,
    ledger: options.Ledger = False,
    ledger_salt: options.LedgerSalt = None,
    dry_run: options.DryRun = False,
    threads: options.Threads = None,
    given: options.Given = None,
    encoding: options.Encoding = None,
    on_error: options.OnErrorName = options.OnError.stop,
    spark: options.Spark = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Learn from rows with labels, and write a model file."""
    classifier = _classifier(
        label=label,
        text=text,
        number=number,
        category=category,
        flag=flag,
        model=model.value,
        smoothing=options.parse_smoothing(smoothing),
        numbers=numbers.value,
        calibrate="auto" if calibrate is None else calibrate,
        priors=priors.value,
        normalization=normalization.value,
        min_df=min_df,
        analyzer=analyzer.value,
        tokenizer=words.value,
        lowercase=lowercase,
        ngrams=None if ngrams is None else options.parse_ngrams(ngrams),
        stop_words=options.parse_stop_words(stop_words),
        stem=None if stem == "none" else stem,
        min_word_length=shortest,
        pattern=pattern,
        characters=None if characters is None else options.parse_ngrams(characters),
        max_terms=options.number_of_terms(features),
        select=select.value,
        budget=options.parse_budget(budget),
        ledger=ledger_salt or ledger,
        threads=threads,
    )
    from discern.data.readers import Sources

    refuse_bad_place(output)
    if spark is not None:
        from discern.cli.spark import fit_on_spark

        classifier = fit_on_spark(classifier, spark, data, given, encoding, slim)
        _report_fit(classifier, _save(classifier, output, slim), json, quiet)
        return
    if dry_run:
        from discern.cli.plan import show

        with reading(data, given, quiet, busy=True, encoding=encoding, on_error=on_error) as how:
            show(classifier, data, how, json, quiet)
        return
    started = time.perf_counter()
    best = model is options.Model.best  # shows its standings instead of a progress bar
    with reading(data, given, quiet, busy=best, encoding=encoding, on_error=on_error) as how:
        if best:
            _fit_best(classifier, Sources(tuple(data)), how, json, quiet)
        else:
            classifier.fit(Sources(tuple(data)), reading=how)
    saved = _save(classifier, output, slim)
    _report_fit(classifier, {**saved, **_effort(how, started)}, json, quiet)


def _effort(how: Reading, started: float) -> dict[str, Any]:
    """Return what the work took: bytes read, seconds, bytes of memory at most."""
    seconds = time.perf_counter() - started
    memory = None
    if sys.platform != "win32":
        import resource

        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        memory = most if sys.platform == "darwin" else 1024 * most
    rate = how.bytes_read / seconds if seconds > 0 else None
    return {"bytes_read": how.bytes_read, "seconds": seconds, "bytes_per_second": rate, "memory": memory}


def _fit_best(classifier: Classifier, data: Any, how: Reading, json: bool, quiet: bool) -> None:
    """Learn the best model, and show how the others did."""
    from discern.cli.show import show_leaderboard, standings_shown

    with standings_shown(quiet or json) as watch:
        classifier.fit(data, reading=how, watch=watch)
    if json or quiet:
        return
    if classifier.leaderboard:
        show_leaderboard(classifier.leaderboard)
    limitation = classifier.fitted.limitation
    say(f"the best is {classifier.winner}" + (f": {limitation}" if limitation else ""))


def _classifier(**settings: Any) -> Classifier:
    from discern.classifier import Classifier

    try:
        return Classifier(**settings)
    except ValueError as error:
        raise typer.BadParameter(" ".join(str(error).split())) from error


def _save(classifier: Classifier, path: Path, slim: bool = False) -> dict[str, Any]:
    checksum = classifier.save(path, slim=slim)
    return {"file": str(path), "bytes": path.stat().st_size, "checksum": checksum}


FIT_FACTS = (
    "model",
    "rows",
    "rows_per_label",
    "terms",
    "parameters",
    "text",
    "label",
    "features",
    "chosen",
    "calibration",
    "leaderboard",
)


def _left_out(classifier: Classifier) -> str:
    listed = "; ".join(f"{name!r} is left out: {reason}" for name, reason in classifier.left_out.items())
    return f"; {listed}" if listed else ""


def _report_fit(classifier: Classifier, saved: dict[str, Any], json: bool, quiet: bool) -> None:
    described = classifier.info()
    labels: dict[str, int] = described["rows_per_label"] or dict.fromkeys(classifier.labels, 0)
    if json:
        wanted = {name: described[name] for name in FIT_FACTS}
        typer.echo(to_json({**saved, **wanted, "left_out": classifier.left_out}))
        return
    from discern.cli.show import described as in_words

    if not classifier.settings.columns:
        found = ", ".join(in_words(feature) for feature in described["features"])
        say(f"columns inferred: {found}" + _left_out(classifier), quiet)
    listed = ", ".join(f"{label} {rows:,}" if rows else label for label, rows in list(labels.items())[:10])
    more = ", …" if len(labels) > 10 else ""
    rows = "" if described["rows"] is None else f"{counted(described['rows'], 'row')} of "
    say(f"learned {rows}{counted(len(labels), 'label')} ({listed}{more})", quiet)
    say(f"wrote {saved['file']}: {described['terms']:,} terms, {in_bytes(saved['bytes'])}", quiet)


def loaded(path: Path, text: str | None = None, threads: int | None = None, label: str | None = None) -> Classifier:
    """Load a model, with some of its settings changed."""
    from discern.classifier import Classifier
    from discern.data.source import refuse_missing

    refuse_missing(path)
    classifier = Classifier.load(path)
    if text is not None:
        classifier.read_text_from(text)
    if label is not None:
        classifier.read_labels_from(label)
    classifier.threads = threads
    return classifier


def evaluate(
    model: options.ModelFile,
    data: options.Sources,
    label: options.OtherLabel = None,
    text: options.OtherText = None,
    threshold: judge.Threshold = None,
    positive: judge.Positive = None,
    cost: judge.Costs = None,
    threads: options.Threads = None,
    given: options.Given = None,
    encoding: options.Encoding = None,
    on_error: options.OnErrorName = options.OnError.stop,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Judge a model on rows with labels: accuracy, log loss, confusion matrix, and a table of the labels."""
    classifier = loaded(model, text, threads, label)
    decision = judge.decision_of(classifier.labels, threshold, positive, cost)
    from discern.data.readers import Sources

    with reading(data, given, quiet, encoding=encoding, on_error=on_error) as how:
        evaluation = classifier.evaluate(Sources(tuple(data)), reading=how)
    if decision is not None:
        evaluation = evaluation.decided_by(decision)
    if json:
        costs = {"cost": evaluation.cost_of(decision)} if decision is not None and cost else {}
        typer.echo(to_json({**evaluation.to_dict(positive), **costs}))
        return
    from discern.cli.show import console, show_evaluation

    show_evaluation(console(), evaluation)


def explain(
    model: options.ModelFile,
    text: Annotated[
        str | None, typer.Argument(metavar="[TEXT]", help="The text to classify; - is stdin.", show_default=False)
    ] = None,
    value: options.Values = None,
    top: options.Top = 20,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Explain why a text, or a row, is given its label: what each of its words and values said, in nats.

    A column that is given no value is taken for missing.
    """
    if text is None and not value:
        raise typer.BadParameter("give TEXT, or --value COLUMN=VALUE, or both")
    classifier = loaded(model)
    said = sys.stdin.read() if text == "-" else text
    row = row_of(classifier, said, value or [])
    message = "\n".join(row[feature.name] or "" for feature in classifier.features if feature.role == "text").strip()
    evidence = classifier.explain(row)
    if json:
        typer.echo(to_json(evidence.to_dict()))
        return
    from discern.cli.show import console, show_evidence

    show_evidence(console(), classifier, message, evidence, top, legend=not quiet)


def row_of(classifier: Classifier, text: str | None, values: list[str]) -> dict[str, str | None]:
    """Fill a row with its values; the text goes to the only text column."""
    from discern.data.batch import did_you_mean

    row: dict[str, str | None] = {feature.name: None for feature in classifier.features}
    texts = [feature.name for feature in classifier.features if feature.role == "text"]
    if text is not None and len(texts) != 1:
        listed = ", ".join(map(repr, texts)) or "none"
        raise typer.BadParameter(f"this model has not one text column but {listed}; use --value COLUMN=VALUE")
    if text is not None:
        row[texts[0]] = text
    for given in values:
        name, equals, value = given.partition("=")
        if not equals:
            raise typer.BadParameter(f"{given!r} is not COLUMN=VALUE")
        if name not in row:
            raise typer.BadParameter(f"the model has no column {name!r}{did_you_mean(name, row)}")
        row[name] = value
    return row


def learn(
    model: options.ModelFile,
    data: options.Sources,
    label: options.LabelAs = None,
    output: options.OtherModelFile = None,
    threads: options.Threads = None,
    given: options.Given = None,
    encoding: options.Encoding = None,
    on_error: options.OnErrorName = options.OnError.stop,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Learn more rows: the model is then the one that fit makes of all of them.

    Others that change the file at the same time wait.
    """
    place, how = output or model, _How(data, given, encoding, on_error, quiet)
    refuse_bad_place(place)
    with locked(place):
        classifier = loaded(model, threads=threads)
        _change(classifier, classifier.learn, "learned", how, label, place, json)


def forget(
    model: options.ModelFile,
    data: options.Sources,
    label: options.LabelAs = None,
    output: options.OtherModelFile = None,
    threads: options.Threads = None,
    given: options.Given = None,
    encoding: options.Encoding = None,
    on_error: options.OnErrorName = options.OnError.stop,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Forget rows: the model is then the one that never saw them. Refuses rows that were never learned."""
    place, how = output or model, _How(data, given, encoding, on_error, quiet)
    refuse_bad_place(place)
    with locked(place):
        classifier = loaded(model, threads=threads)
        _change(classifier, classifier.forget, "forgot", how, label, place, json)


@dataclass(frozen=True)
class _How:
    """Which rows to read, and how."""

    data: list[str]
    given: str | None
    encoding: str | None
    on_error: str
    quiet: bool


def _change(
    classifier: Classifier,
    action: Callable[..., Any],
    done: str,
    how: _How,
    label: str | None,
    output: Path,
    json: bool,
) -> None:
    from discern.data.readers import batches

    quiet = how.quiet
    before = {"rows": classifier.rows, "terms": classifier.solved.terms}
    labels, by_default = set(classifier.labels), set(classifier.info()["labels_by_default"])
    with reading(how.data, how.given, quiet, encoding=how.encoding, on_error=how.on_error) as told:
        rows = batches(iter(how.data), told)
        receipt = action(rows if label is None else labelled(rows, classifier.label, label))
    after = {"rows": classifier.rows, "terms": classifier.solved.terms}
    added, removed = sorted({*classifier.labels} - labels), sorted(labels - {*classifier.labels})
    unset = [name for name in classifier.info()["labels_by_default"] if name not in by_default]
    saved = _save(classifier, output)
    if json:
        changes = {"before": before, "after": after, "labels_added": added, "labels_removed": removed}
        changes["labels_by_default"] = unset
        if done == "forgot":
            changes["proven"] = receipt.proven
        typer.echo(to_json({**saved, "action": done, **changes}))
        return
    say(f"{done} {counted(abs(after['rows'] - before['rows']), 'row')}", quiet)
    for name in before:
        say(f"  {name:6} {before[name]:,} → {after[name]:,}", quiet)
    for verb, changed in (("new", added), ("gone", removed)):
        if changed:
            say(f"  labels {verb}: {', '.join(changed)}", quiet)
    for name in unset:
        say(f"  {name!r} has no cost or prior of its own: a mistake costs 1, its prior is its share of the rows", quiet)
    if done == "forgot":
        say(f"  {_proof(receipt.proven)}", quiet)
    _doubt(added, labels, quiet)
    say(f"wrote {output} ({in_bytes(saved['bytes'])})", quiet)


def _proof(proven: bool) -> str:
    if proven:
        return "the ledger proves that these rows had been learned"
    return "the counts allow it; only a ledger (fit --ledger) proves that exactly these rows had been learned"


def _doubt(added: list[str], known: set[str], quiet: bool) -> None:
    """Ask whether a new label is another one, mistyped."""
    from difflib import get_close_matches

    for label in added:
        close = get_close_matches(label, sorted(known), n=1, cutoff=0.7)
        if close:
            say(f"  {label!r} is a new label; did you mean {close[0]!r}? discern relabel moves rows", quiet)


def merge(
    models: options.ModelFiles,
    output: options.NewModelFile,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Merge models with the same settings: the result is the one that learned the rows of all."""
    if len(models) < 2:
        raise typer.BadParameter("give two or more models")
    refuse_bad_place(output)
    merged = loaded(models[0])
    for path in models[1:]:
        merged = merged.merge(loaded(path))
    _report_fit(merged, _save(merged, output), json, quiet)
