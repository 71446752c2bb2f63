"""Jobs about mail: all raw mails of SpamAssassin become columns, and a mail of 25 MB."""

import bz2
import io
import tarfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from benchmarks.data import real_folder
from benchmarks.job import Goal, Job, Peer
from benchmarks.measure import LeftOutError, cpu, each, require
from discern.mail import COLUMNS, columns_of, split, with_headers

MAILS = 6_046
LARGE = 25_000_000


def prepare_mails(folder: Path, quick: bool) -> SimpleNamespace:
    real = real_folder()
    path = real / "spamassassin" / "mail.tar.bz2" if real else None
    if path is None or not path.exists():
        raise LeftOutError("there is no spamassassin/mail.tar.bz2 in DISCERN_DATA")
    with tarfile.open(fileobj=io.BytesIO(bz2.decompress(path.read_bytes()))) as archive:
        members = [member for member in archive.getmembers() if member.isfile()]
        files = [archive.extractfile(member) for member in members]
        labels = ["spam" if "spam" in Path(member.name).parent.name else "ham" for member in members]
        return SimpleNamespace(mails=[file.read() for file in files if file is not None], labels=labels)


def parse(inputs: SimpleNamespace) -> list[dict[str, str]]:
    return [columns_of(mail) for mail in inputs.mails]


def all_parsed(inputs: SimpleNamespace, ours: list[dict[str, str]], theirs: Any) -> None:
    require(len(ours) == MAILS, f"there are {len(ours)} mails, not {MAILS}")
    require(all(tuple(columns) == COLUMNS for columns in ours), "a column is missing")
    for columns in ours:
        "".join(columns.values()).encode("utf-8")
    require(sum(bool(columns["subject"]) for columns in ours) > 0.99 * MAILS, "subjects are missing")
    require(sum(bool(columns["body"] or columns["html"]) for columns in ours) > 0.99 * MAILS, "bodies are missing")
    for mail in inputs.mails:
        require(split(with_headers(mail, {"X-Discern": "ham"}, "X-Discern"))[1] == split(mail)[1], "a body changed")


def prepare_large(folder: Path, quick: bool) -> SimpleNamespace:
    head = b"Subject: large\nContent-Type: multipart/mixed; boundary=b\n\n"
    page = b"--b\nContent-Type: text/html\n\n" + b"<p>word &amp; <a href='http://example.org/'>word</a>\n" * 200_000
    return SimpleNamespace(mails=[head + (page + b"\n") * (LARGE // len(page))])


def is_large(inputs: SimpleNamespace, ours: list[dict[str, str]], theirs: Any) -> None:
    require(ours[0]["links"] == "example.org" and ours[0]["subject"] == "large", "the mail was not read")


JOBS = (
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
