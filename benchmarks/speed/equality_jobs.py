"""Equality with scikit-learn on whole data sets: the number of differences, which must be none."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import discern
from benchmarks.harness.data import LANGUAGES, NEWS, REVIEWS, Texts, read
from benchmarks.harness.job import Goal, Inputs, Job, Peer
from benchmarks.harness.measure import Sample, require

OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"ngram_range": (1, 2)},
    {"analyzer": "char_wb", "ngram_range": (2, 3)},
    {"min_df": 3},
    {"max_features": 5000},
    {"stop_words": "english"},
)
BAYES = ("MultinomialNB", "BernoulliNB", "ComplementNB")


def prepare(texts: Texts) -> Callable[[Path, bool], Inputs]:
    def made(folder: Path, quick: bool) -> Inputs:
        table = read(texts, folder)
        return Inputs(texts=table["text"].to_pylist(), labels=table["label"].to_pylist())

    return made


def differences(inputs: Inputs) -> Sample:
    """Count vocabularies, matrices and log probabilities (beyond 1e-12) that are not scikit-learn's."""
    wrong = [str(options) for options in OPTIONS if not _same_matrix(inputs.texts, options)]
    wrong += [name for name in BAYES if not _same_weights(inputs, name)]
    return Sample(float(len(wrong)), wrong)


def _same_matrix(texts: list[str], options: dict[str, Any]) -> bool:
    from sklearn.feature_extraction.text import CountVectorizer

    ours, theirs = discern.CountVectorizer(**options), CountVectorizer(**options)
    mine, other = ours.fit_transform(texts), theirs.fit_transform(texts)
    same_names = ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    return same_names and mine.shape == other.shape and (mine != other).nnz == 0


def _same_weights(inputs: Inputs, name: str) -> bool:
    import sklearn.naive_bayes as reference

    matrix = discern.CountVectorizer().fit_transform(inputs.texts)
    ours = getattr(discern, name)().fit(matrix, inputs.labels)
    theirs = getattr(reference, name)().fit(matrix, inputs.labels)
    return bool(np.abs(ours.feature_log_prob_ - theirs.feature_log_prob_).max() <= 1e-12)


def nothing_differs(inputs: Inputs, ours: Any, theirs: Any) -> None:
    require(not ours, f"these differ: {', '.join(ours)}")


JOBS = tuple(
    Job(
        f"equality/{texts.name}",
        f"CountVectorizer with {len(OPTIONS)} settings and the naive Bayes of counts: what differs from scikit-learn's",
        texts,
        prepare(texts),
        differences,
        (Peer("", Goal("limit", 0), nothing_differs),),
        unit="differences",
        repeats=1,
        quick_repeats=1,
    )
    for texts in (REVIEWS, NEWS, LANGUAGES)
)
