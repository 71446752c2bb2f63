"""Well-known data sets: their content, their license, and their download."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from discern.data.batch import did_you_mean
from discern.data.strings import DataError

FOLDER = "DISCERN_DATA"
"""The environment variable with the path of a folder that has a subfolder for each data set."""


@dataclass(frozen=True)
class Dataset:
    """A data set: its name, content, license and homepage, and where to find its files."""

    name: str
    about: str
    license: str
    homepage: str
    folders: tuple[str, ...]
    """Names of its folder within ``DISCERN_DATA``."""
    urls: tuple[tuple[str, str | None], ...]
    """The URLs of its files, each with a hash if it is known."""

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain values."""
        return asdict(self)


UCI = "https://archive.ics.uci.edu"
SPAMASSASSIN = "https://spamassassin.apache.org/old/publiccorpus"
CATALOG = {
    one.name: one
    for one in (
        Dataset(
            "sms-spam",
            "5,574 text messages, ham and spam",
            "CC BY 4.0",
            f"{UCI}/dataset/228/sms+spam+collection",
            ("sms-spam", "sms_spam"),
            ((f"{UCI}/static/public/228/sms+spam+collection.zip", None),),
        ),
        Dataset(
            "imdb",
            "50,000 reviews of films, positive and negative",
            "for research; see the homepage",
            "https://ai.stanford.edu/~amaas/data/sentiment/",
            ("imdb",),
            (
                (
                    "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
                    "md5:7c2ac02c03563afcf9b574c7e56c153a",
                ),
            ),
        ),
        Dataset(
            "20newsgroups",
            "18,846 postings to 20 newsgroups, split by date",
            "not stated; see the homepage",
            "http://qwone.com/~jason/20Newsgroups/",
            ("20newsgroups",),
            (
                (
                    "https://ndownloader.figshare.com/files/5975967",
                    "sha256:8f1b2514ca22a5ade8fbb9cfa5727df95fa587f4c87b786e15c759fa66d95610",
                ),
            ),
        ),
        Dataset(
            "reuters",
            "21,578 newswire articles by topic",
            "CC BY 4.0",
            f"{UCI}/dataset/137/reuters+21578+text+categorization+collection",
            ("reuters", "r8_raw", "r52_raw"),
            ((f"{UCI}/static/public/137/reuters+21578+text+categorization+collection.zip", None),),
        ),
        Dataset(
            "spamassassin",
            "6,047 raw mails, ham and spam",
            "not stated; see the homepage",
            f"{SPAMASSASSIN}/",
            ("spamassassin",),
            tuple(
                (f"{SPAMASSASSIN}/{part}.tar.bz2", None)
                for part in (
                    "20030228_easy_ham",
                    "20030228_easy_ham_2",
                    "20030228_hard_ham",
                    "20030228_spam",
                    "20050311_spam_2",
                )
            ),
        ),
        Dataset(
            "adult",
            "48,842 people of a census, by income",
            "CC BY 4.0",
            f"{UCI}/dataset/2/adult",
            ("adult",),
            ((f"{UCI}/static/public/2/adult.zip", None),),
        ),
        Dataset(
            "default",
            "10,000 holders of credit cards, 333 of whom default",
            "GPL-2 (of the R package ISLR)",
            "https://www.statlearning.com/resources-first-edition",
            ("default",),
            (("https://www.statlearning.com/s/Default.csv", None),),
        ),
    )
}


def found(dataset: Dataset) -> list[str]:
    """Return the files of a data set in the folder ``DISCERN_DATA``, or an empty list."""
    folder = os.environ.get(FOLDER)
    if not folder:
        return []
    places = [Path(folder) / name for name in dataset.folders]
    return [str(path) for place in places if place.is_dir() for path in sorted(place.rglob("*")) if path.is_file()]


def fetch(name: str, *, tell: Callable[[str], object] = lambda _: None) -> list[str]:
    """Return the files of a data set: those in ``DISCERN_DATA``, or else downloaded ones.

    Downloading needs pooch, which caches the files. ``tell`` gets messages about the license and hashes.
    """
    if name not in CATALOG:
        raise DataError(f"unknown data set {name!r}{did_you_mean(name, CATALOG)}")
    dataset = CATALOG[name]
    return found(dataset) or _download(dataset, tell)


def _download(dataset: Dataset, tell: Callable[[str], object]) -> list[str]:
    try:
        import pooch
    except ImportError as error:
        raise DataError(
            f"{dataset.name} is not in the folder that {FOLDER} names; to download it from {dataset.homepage}, "
            "install pooch: pip install 'discern[datasets]'"
        ) from error
    tell(f"{dataset.name}: {dataset.about}; license: {dataset.license}; {dataset.homepage}")
    files = []
    for url, known in dataset.urls:
        path = pooch.retrieve(url, known_hash=known, path=Path(pooch.os_cache("discern")) / dataset.name)
        if known is None:
            tell(f"not verified: no hash is known for {url}; what came has sha256:{pooch.file_hash(path)}")
        files.append(str(path))
    return files
