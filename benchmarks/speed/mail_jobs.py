"""Jobs about mail: all raw mails of SpamAssassin become columns, a mail of 25 MB, and ten folds against bogofilter.

Where a filter's threshold lies is a matter of taste, and which side looks better depends on it. The rule that the goals
are about (``mail-folds``) is that of someone who comes from bogofilter: lose no more good mail than it does, then let
as little spam through as possible. It was chosen after figures by the other rules were known, which are all shown
beside it, as are figures without a rule: see ``MOST_LOST``, ``LOST``, ``CUTOFF`` and ``missed_where_little_is_lost``.
"""

import bz2
import hashlib
import io
import itertools
import json
import shutil
import subprocess
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import discern
from benchmarks.harness.data import real_folder
from benchmarks.harness.job import Goal, Inputs, Job, Peer
from benchmarks.harness.measure import LeftOutError, Sample, Side, cpu, each, require
from discern.data.batch import Batch
from discern.data.message import COLUMNS, Mails, as_mails, columns_of, split, with_headers
from discern.data.strings import Strings
from discern.evaluation.calibration import Temperature
from discern.learners.bayes import NaiveBayesSettings
from discern.learners.smoothing import Laplace
from discern.models.validation.held_out import held_out
from discern.models.validation.rows import Folds
from discern.models.validation.rows import Sample as Rows

MAILS = 6_046
LARGE = 25_000_000
FOLDS = 10
MOST_LOST = 0.003
"""Bogofilter's threshold, of a filter that shall lose next to no good mail: the lowest at which at most this share of
the good mails of the other folds is called spam. Ours is the lowest at which fewer of them are lost than bogofilter
loses there. By the rule " by share" ours too is the lowest that loses at most this share. By it a model without ties
loses this share of the ham, be it good or bad; bogofilter loses less because it gives many mails exactly 0.5 and must
stay above all of them."""
LOST = 9
"""The threshold of least cost: a good mail that is called spam is as bad as so many spams that are let through. Nine is
the cost of a filter that marks mails, in I. Androutsopoulos and others, "An evaluation of naive Bayesian anti-spam
filtering", 2000, and in what was measured after them."""
CUTOFF = 0.99
"""From which on bogofilter calls a mail spam unless told otherwise."""
SMOOTHINGS = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
NGRAMS = ((1, 1), (1, 2), (1, 3))
"""Ours is learned with that of these which lets the least spam through at the threshold of the first rule, on mails
left out of the other folds: what a filter is for. Log loss is mostly about other mails."""
Scores = NDArray[np.float64]


def read_mails() -> tuple[list[bytes], list[str]]:
    """Return all mails and their labels, which are the folders they lie in."""
    real = real_folder()
    path = real / "spamassassin" / "mail.tar.bz2" if real else None
    if path is None or not path.exists():
        raise LeftOutError("there is no spamassassin/mail.tar.bz2 in DISCERN_DATA")
    with tarfile.open(fileobj=io.BytesIO(bz2.decompress(path.read_bytes()))) as archive:
        members = [member for member in archive.getmembers() if member.isfile()]
        files = [archive.extractfile(member) for member in members]
        mails = [file.read() for file in files if file is not None]
        return mails, [member.name.split("/")[1] for member in members]


def prepare_mails(folder: Path, quick: bool) -> Inputs:
    mails, folders = read_mails()
    return Inputs(mails=mails, labels=["spam" if "spam" in name else "ham" for name in folders])


def parse(inputs: Inputs) -> list[dict[str, str]]:
    return [columns_of(mail) for mail in inputs.mails]


def all_parsed(inputs: Inputs, ours: list[dict[str, str]], theirs: Any) -> None:
    require(len(ours) == MAILS, f"there are {len(ours)} mails, not {MAILS}")
    require(all(tuple(columns) == COLUMNS for columns in ours), "a column is missing")
    for columns in ours:
        "".join(columns.values()).encode("utf-8")
    require(sum(bool(columns["subject"]) for columns in ours) > 0.99 * MAILS, "subjects are missing")
    require(sum(bool(columns["body"] or columns["html"]) for columns in ours) > 0.99 * MAILS, "bodies are missing")
    for mail in inputs.mails:
        require(split(with_headers(mail, {"X-Discern": "ham"}, "X-Discern"))[1] == split(mail)[1], "a body changed")


def prepare_large(folder: Path, quick: bool) -> Inputs:
    head = b"Subject: large\nContent-Type: multipart/mixed; boundary=b\n\n"
    page = b"--b\nContent-Type: text/html\n\n" + b"<p>word &amp; <a href='http://example.org/'>word</a>\n" * 200_000
    return Inputs(mails=[head + (page + b"\n") * (LARGE // len(page))])


def is_large(inputs: Inputs, ours: list[dict[str, str]], theirs: Any) -> None:
    require(ours[0]["links"] == "example.org" and ours[0]["subject"] == "large", "the mail was not read")


# ------------------------------------------------------------------------------------------ against bogofilter


def prepare_folds(folder: Path, quick: bool) -> Inputs:
    """Evaluate both sides once a run; the jobs report different figures of them."""
    path = folder / "figures-mails.json"
    if not path.exists():
        mails, labels = read_mails()
        if shutil.which("bogofilter") is None:
            raise LeftOutError("bogofilter is not installed")
        if quick:
            keep = range(0, len(mails), 10)
            mails, labels = [mails[place] for place in keep], [labels[place] for place in keep]
        spam, fold = np.array(labels) == "spam", folds_of(mails, labels)
        theirs = scores_of_bogofilter(mails, spam, fold, folder)
        figures = {
            "ours": figures_of(spam, *our_scores(mails, labels, fold, theirs)),
            "bogofilter": figures_of(spam, theirs, thresholds_of_bogofilter(theirs, spam, fold)),
        }
        path.write_text(json.dumps(figures), encoding="utf-8")
    return Inputs(figures=json.loads(path.read_text(encoding="utf-8")))


def folds_of(mails: list[bytes], labels: list[str]) -> NDArray[np.int64]:
    """Assign each mail a fold, by chance and by label; mails of the same text have the same one."""
    texts = [columns_of(mail) for mail in mails]
    keys = [
        hashlib.sha256("\0".join(one[name] for name in ("subject", "body", "html")).encode()).hexdigest()
        for one in texts
    ]
    random, fold = np.random.default_rng(0), np.zeros(len(mails), np.int64)
    for label in ("ham", "spam"):
        own = sorted({key for key, other in zip(keys, labels, strict=True) if other == label})
        random.shuffle(own)
        places = {key: place % FOLDS for place, key in enumerate(own)}
        for row, (key, other) in enumerate(zip(keys, labels, strict=True)):
            if other == label:
                fold[row] = places[key]
    return fold


def our_scores(
    mails: list[bytes], labels: list[str], fold: NDArray[np.int64], theirs: Scores
) -> tuple[Scores, dict[str, Scores]]:
    """Return the probability of spam of each mail under the model of the other folds, and the thresholds for it.

    What the model is learned with, its calibration and the thresholds are chosen by the other folds alone. With the
    first of them, ours loses fewer good mails of the other folds than bogofilter, whose scores are given.
    """
    columns: dict[str, Any] = {"label": Strings.of(labels), **as_mails(mails, "the mails").columns}
    rows, every = Mails(columns, len(mails), "the mails"), np.array(labels) == "spam"
    scores, thresholds = np.zeros(len(mails)), {rule: np.zeros(len(mails)) for rule in ("", *RULES)}
    for number in range(FOLDS):
        own, other = fold == number, fold != number
        lost = (theirs[other & ~every] >= threshold_by_share(theirs[other], every[other])).sum()
        fewer = max(int(lost) - 1, 0)
        chosen, calibration, shares, spam = chosen_within(rows.take(other), fold[other], fewer)
        thresholds[""][own] = threshold_that_loses(fewer, shares, spam)
        for rule, threshold_of in RULES.items():
            thresholds[rule][own] = threshold_of(shares, spam)
        model = discern.Classifier(model="binary", **chosen, calibrate=False).fit(rows.take(other)).solved
        scored = model.of_batch(rows.take(own), None)
        # Not by a calibration of its own: thresholds hold on the scale on which they were found.
        scores[own] = calibration(scored.scores, scored.known)[:, model.labels.index("spam")]
    return scores, thresholds


def chosen_within(
    rows: Batch, fold: NDArray[np.int64], most: int
) -> tuple[dict[str, Any], Temperature, Scores, NDArray[np.bool_]]:
    """Return the smoothing and the n-grams that let the least spam through where at most so many good mails are lost.

    All by mails left out a fold at a time. Of equals, those of less log loss.

    With them the calibration, the probability of spam of these mails, and which are.
    """
    request = discern.Classifier().request.suiting(rows)
    features, _ = request.features_of(rows)
    sample = Rows.of([rows], "label", [feature.name for feature in features], None)
    folds = Folds.of(np.unique(fold, return_inverse=True)[1])
    classes, place = sample.classes[folds.order], sample.labels.index("spam")
    found = []
    for ngrams, smoothing in itertools.product(NGRAMS, SMOOTHINGS):
        settings = NaiveBayesSettings("binary", Laplace(smoothing))
        scored = held_out(sample, features, settings, replace(request.text, ngrams=ngrams), folds)
        calibration = Temperature.fit(scored.scores, classes, scored.known)
        shares = calibration(scored.scores, scored.known)[:, place]
        spam = classes == place
        missed = int((shares[spam] < threshold_that_loses(most, shares, spam)).sum())
        loss = -np.log(np.maximum(np.where(spam, shares, 1 - shares), 1e-12)).mean()
        found.append(((missed, float(loss)), {"smoothing": smoothing, "ngrams": ngrams}, calibration, shares))
    return *min(found, key=lambda one: one[0])[1:], classes == place


def scores_of_bogofilter(mails: list[bytes], spam: NDArray[np.bool_], fold: NDArray[np.int64], folder: Path) -> Scores:
    """Return what bogofilter, as Debian has it, thinks of each mail after learning the other folds."""
    place, scores = folder / "mails", np.zeros(len(mails))
    place.mkdir()
    for row, mail in enumerate(mails):
        (place / str(row)).write_bytes(mail)

    def run(words: str, chosen: NDArray[np.bool_]) -> str:
        names = "\n".join(str(place / str(row)) for row in np.flatnonzero(chosen))
        call = ["bogofilter", "-C", "-d", str(base), *words.split(), "-b"]
        ran = subprocess.run(call, input=names, stdout=subprocess.PIPE, text=True)
        require(ran.returncode in (0, 1, 2), "bogofilter failed")
        return ran.stdout

    for number in range(FOLDS):
        base = folder / f"bogofilter-{number}"
        base.mkdir()
        run("-s", spam & (fold != number))
        run("-n", ~spam & (fold != number))
        for line in run("-T", fold == number).splitlines():
            name, *_, score = line.split()
            scores[int(Path(name).name)] = float(score)
    shutil.rmtree(place)
    return scores


def lost_and_missed(scores: Scores, spam: NDArray[np.bool_]) -> tuple[Scores, NDArray[np.int64], NDArray[np.int64]]:
    """Return all thresholds, ascending, and how many good mails each loses and how many spams it misses."""
    found = np.append(np.unique(scores), np.inf)
    good, bad = np.sort(scores[~spam]), np.sort(scores[spam])
    return found, len(good) - np.searchsorted(good, found), np.searchsorted(bad, found)


def threshold_by_cost(scores: Scores, spam: NDArray[np.bool_]) -> float:
    """Return the lowest threshold of least cost."""
    found, lost, missed = lost_and_missed(scores, spam)
    return float(found[(LOST * lost + missed).argmin()])


def threshold_by_share(scores: Scores, spam: NDArray[np.bool_]) -> float:
    """Return the lowest threshold that loses at most a share of the good mails."""
    return threshold_that_loses(int(MOST_LOST * (~spam).sum()), scores, spam)


def threshold_that_loses(most: int, scores: Scores, spam: NDArray[np.bool_]) -> float:
    """Return the lowest threshold that loses at most so many good mails."""
    found, lost, _ = lost_and_missed(scores, spam)
    return float(found[(lost <= most).argmax()])


RULES = {" by share": threshold_by_share, " by cost": threshold_by_cost}
"""Rules by which the threshold of either side is found without the other; they are shown, no goal is about them."""


def thresholds_of_bogofilter(scores: Scores, spam: NDArray[np.bool_], fold: NDArray[np.int64]) -> dict[str, Scores]:
    """Return each mail the thresholds that are chosen by the scores of the other folds."""
    others = [fold != number for number in range(FOLDS)]
    found = {
        rule: np.array([threshold_of(scores[other], spam[other]) for other in others])[fold]
        for rule, threshold_of in RULES.items()
    }
    return {"": found[" by share"], **found}


def figures_of(spam: NDArray[np.bool_], scores: Scores, thresholds: dict[str, Scores]) -> dict[str, float]:
    """Return the share of errors and of ham that is called spam, at the thresholds and at the usual cutoff."""
    figures = {}
    for name, threshold in {**thresholds, f" at {CUTOFF}": np.full(len(scores), CUTOFF)}.items():
        called = scores >= threshold
        figures[f"error{name}"] = float((called != spam).mean())
        figures[f"ham lost{name}"] = float(called[~spam].mean())
    return {**figures, "missed": missed_where_little_is_lost(scores, spam)}


def missed_where_little_is_lost(scores: Scores, spam: NDArray[np.bool_]) -> float:
    """Return the mean share of the spam that is let through, over all thresholds that lose at most a share of the ham.

    It needs no rule for a threshold: the area above the first part of the curve of R. Fawcett, "An introduction to ROC
    analysis", 2006, a point for each number of good mails lost.
    """
    _, lost, missed = lost_and_missed(scores, spam)
    numbers = range(int(MOST_LOST * (~spam).sum()) + 1)
    return float(np.mean([missed[(lost <= number).argmax()] for number in numbers]) / spam.sum())


def figure(side: str, name: str) -> Side:
    return lambda inputs: Sample(inputs.figures[side][name], inputs.figures[side])


def are_shares(inputs: Inputs, ours: dict[str, float], theirs: Any) -> None:
    require(all(0 <= value <= 1 for value in ours.values()), "a share is none")


def fold_job(name: str, about: str, key: str, most: float, informative: bool = True) -> Job:
    return Job(
        name,
        about,
        None,
        prepare_folds,
        figure("ours", key),
        (
            Peer("", Goal("limit", most, informative=informative), are_shares),
            Peer("bogofilter", Goal("lead", 1e-9, informative=informative), are_shares, figure("bogofilter", key)),
        ),
        unit="share",
        repeats=1,
        quick_repeats=1,
    )


JOBS = (
    fold_job(
        "mail-folds",
        "6,046 mails, ten folds: share of errors; settings and thresholds are chosen by the other folds, bogofilter's "
        "the lowest that loses 0.3% of their ham, ours the lowest that loses less of it than bogofilter",
        "error",
        0.01,
        informative=False,
    ),
    fold_job(
        "mail-folds/ham-lost",
        "the same: share of the ham that is called spam",
        "ham lost",
        0.003,
        informative=False,
    ),
    fold_job(
        "mail-folds/share",
        "the same where ours too has the lowest threshold that loses 0.3% of the other folds' ham: share of errors",
        "error by share",
        0.01,
    ),
    fold_job("mail-folds/share/ham-lost", "the same: share of the ham that is called spam", "ham lost by share", 0.003),
    fold_job(
        "mail-folds/cost",
        "the same with thresholds of least cost, a lost ham counting as nine spams: share of errors",
        "error by cost",
        0.02,
    ),
    fold_job("mail-folds/cost/ham-lost", "the same: share of the ham that is called spam", "ham lost by cost", 0.003),
    fold_job(
        "mail-folds/curve",
        "the same without a rule: share of the spam that is let through, the mean of all thresholds of one side that "
        "lose at most 0.3% of the ham",
        "missed",
        0.1,
    ),
    fold_job(
        "mail-folds/cutoff", "both at 0.99, which is bogofilter's own: share of errors", f"error at {CUTOFF}", 0.05
    ),
    fold_job(
        "mail-folds/cutoff/ham-lost",
        "both at 0.99: share of the ham that is called spam",
        f"ham lost at {CUTOFF}",
        0.003,
    ),
    Job(
        "mail",
        "6,046 raw mails to columns: headers, texts, HTML, links; the time for one",
        None,
        prepare_mails,
        each(cpu(parse)),
        (Peer("", Goal("limit", 1e-3), all_parsed),),
        repeats=3,
        quick_repeats=1,
    ),
    Job(
        "mail-large",
        "a mail of 25 MB to columns",
        None,
        prepare_large,
        cpu(parse),
        (Peer("", Goal("limit", 1), is_large),),
        repeats=3,
        quick_repeats=1,
    ),
)
