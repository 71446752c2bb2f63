"""The commands for mail: filter, learn, relabel; and many learners of one file."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from discern.classifier import Classifier
from discern.cli.main import app
from discern.data.datasets import CATALOG, fetch
from discern.data.message import with_headers

ENVELOPE = b"From ann@example.org Thu Aug 22 12:36:23 2002\n"
SPAM = b"From: win@example.com\nSubject: free prize\n\nclaim your free cash prize now\n"
HAM = b"From: ann@example.org\nSubject: lunch\n\nsee you at noon tomorrow\n"
ODD = b"From: zzz\nSubject: zebra\n\nquagga\n"


def run(*arguments: Any, given: bytes | None = None) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=given)


def well(*arguments: Any, given: bytes | None = None) -> Any:
    result = run(*arguments, given=given)
    assert result.exit_code == 0, (result.output, result.exception)
    return result


def mbox(path: Path, *messages: bytes) -> Path:
    path.write_bytes(b"\n".join(ENVELOPE + message for message in messages))
    return path


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model of ten mails of each label."""
    for label, message in (("spam", SPAM), ("ham", HAM)):
        (tmp_path / "mails" / label).mkdir(parents=True)
        for number in range(10):
            (tmp_path / "mails" / label / f"{number}.eml").write_bytes(message + b"%d\n" % number)
    well("fit", tmp_path / "mails", "-o", tmp_path / "mail.discern", "--smoothing", "1")
    return tmp_path / "mail.discern"


def rows(path: Path) -> dict[str, int]:
    counts: dict[str, int] = Classifier.load(path).info()["rows_per_label"]
    return counts


# ------------------------------------------------------------------------------------------------------ filter


@pytest.mark.parametrize(("message", "label", "code"), [(SPAM, "spam", 0), (HAM, "ham", 1), (ODD, "unsure", 2)])
def test_filter(model: Path, message: bytes, label: str, code: int) -> None:
    marked = well("filter", model, given=message).stdout_bytes
    first, second, rest = marked.split(b"\n", 2)
    assert first == b"X-Discern: " + label.encode()
    assert second.startswith(b"X-Discern-Probability: 0." if label != "spam" else b"X-Discern-Probability: ")
    assert rest == message
    answer = run("filter", model, "--exit-code", given=message)
    assert (answer.exit_code, answer.stdout, answer.stderr) == (code, "", "")
    assert json.loads(well("filter", model, "--json", given=message).stdout)["label"] == label


def test_cutoffs(model: Path) -> None:
    assert run("filter", model, "--exit-code", "--spam-cutoff", "0.4", given=ODD).exit_code == 0
    assert run("filter", model, "--exit-code", "--ham-cutoff", "0.6", "--spam-cutoff", "0.7", given=ODD).exit_code == 1
    assert run("filter", model, "--ham-cutoff", "0.9", "--spam-cutoff", "0.1", given=ODD).exit_code == 2
    assert run("filter", model, "--exit-code", "--spam", "ham", given=HAM).exit_code == 0


def test_an_error_answers_three_and_loses_no_mail(tmp_path: Path, model: Path) -> None:
    for arguments in ([tmp_path / "none.discern"], [model, "--spam", "junk"], [tmp_path / "mails"]):
        result = run("filter", *arguments, given=SPAM)
        assert (result.exit_code, result.stdout_bytes) == (3, SPAM)
        assert result.stderr.startswith("discern: ")
        assert "Traceback" not in result.stderr
        result = run("filter", *arguments, "--exit-code", "--quiet", given=SPAM)
        assert (result.exit_code, result.stdout, result.stderr) == (3, "", "")


BODIES = [b"", b"\n", b"\0\xff\xfe\r\n\rX-Discern: ham\n", b"no end", b"\r\n" * 5, bytes(range(256)) * 40]
HEADERS = [
    b"",
    b"To: a\n",
    b"To: a\r\n",
    ENVELOPE + b"To: a\n",
    b"x-discern: ham\n\tmore\nTo: a\nX-Discern-Probability: 1\n",
]


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("head", HEADERS)
def test_the_body_stays_as_it_is_byte_for_byte(model: Path, head: bytes, body: bytes) -> None:
    blank = b"\r\n" if head.endswith(b"\r\n") else b"\n"
    marked = well("filter", model, given=head + blank + body).stdout_bytes
    before, after = marked[: -len(blank + body)], marked[-len(blank + body) :]
    assert after == blank + body
    assert before.lower().count(b"x-discern:") == 1
    assert before.count(b"To: a") == head.count(b"To: a")
    assert before.startswith(ENVELOPE) == head.startswith(ENVELOPE)
    assert b"more" not in before


@pytest.mark.parametrize(
    "content", [b"", b"From x", b"From x\n", b"To: a", b"X-Discern: spam", b"X-Discern: spam\nTo: a"]
)
def test_headers_without_a_body(content: bytes) -> None:
    marked = with_headers(content, {"X-Discern": "ham"}, "X-Discern")
    assert marked.count(b"X-Discern") == 1
    assert b"X-Discern: ham\n" in marked
    assert with_headers(marked, {"X-Discern": "ham"}, "X-Discern") == marked


def test_words_of_mails_may_have_one_character_and_others_two(tmp_path: Path, model: Path) -> None:
    assert Classifier.load(model).resolved.text.min_word_length == 1
    well("fit", tmp_path / "mails", "-o", tmp_path / "long.discern", "--smoothing", "1", "--min-word-length", "3")
    assert Classifier.load(tmp_path / "long.discern").resolved.text.min_word_length == 3
    classifier = Classifier(smoothing=1.0).fit(tmp_path / "mails")
    rows = [{"label": "a", "text": "x word"}, {"label": "b", "text": "y other"}]
    assert classifier.resolved.text.min_word_length == 1
    assert classifier.fit(rows).resolved.text.min_word_length == 2


def test_a_model_keeps_the_words_that_it_was_learned_with(tmp_path: Path, model: Path) -> None:
    well("fit", tmp_path / "mails", "-o", tmp_path / "old.discern", "--smoothing", "1", "--min-word-length", "2")
    old = Classifier.load(tmp_path / "old.discern")
    assert old.learn(tmp_path / "mails").resolved.text.min_word_length == 2
    assert old.fit(tmp_path / "mails").resolved.text.min_word_length == 2


def test_a_model_of_single_texts_filters_mail(tmp_path: Path) -> None:
    Classifier(smoothing=1.0).fit(
        [{"label": "spam", "text": "free prize cash"}, {"label": "ham", "text": "lunch noon"}]
    ).save(tmp_path / "m.discern")
    assert run("filter", tmp_path / "m.discern", "--exit-code", given=SPAM).exit_code == 0


# ----------------------------------------------------------------------------------------------------- recipes

PAGE = Path(__file__).resolve().parents[3] / "docs" / "mail.md"


def test_the_recipes_use_commands_and_options_that_there_are() -> None:
    known = {info.callback.__name__: info.callback for info in app.registered_commands if info.callback}
    used = re.findall(r"discern ((?:fit|learn|forget|relabel|filter)\b[^<\n`\"]*)", PAGE.read_text("utf-8"))
    assert len(used) >= 10
    for words in (line.split() for line in used):
        listed = well(words[0], "--help").stdout
        assert words[0] in known
        assert all(word in listed for word in words if word.startswith("--")), words


def test_the_pipe_of_the_procmail_recipe(tmp_path: Path, model: Path) -> None:
    [pipe] = re.findall(r":0fw\n +\| (.*)", PAGE.read_text("utf-8"))
    program = tmp_path / "discern"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m discern.cli "$@"\n')
    program.chmod(0o755)
    environment = {**os.environ, "HOME": str(model.parent), "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    for message, label in ((SPAM, b"spam"), (HAM, b"ham")):
        ran = subprocess.run(["/bin/sh", "-c", pipe], input=message, capture_output=True, env=environment, check=True)
        assert ran.stdout.startswith(b"X-Discern: " + label + b"\n")
        assert ran.stdout.endswith(message)


def test_the_procmail_recipe(tmp_path: Path, model: Path) -> None:
    program = shutil.which("procmail")
    assert program, "procmail was not found: run make test, which installs it, or install it"
    page = PAGE.read_text("utf-8")
    [recipe] = re.findall(r"### procmail\n\n((?: {4}.*\n|\n)+)", page)
    assert recipe.count(":0") == 3
    home = tmp_path / "home"
    home.mkdir()
    shutil.copy(model, home / "mail.discern")
    (home / "discern").write_text(f'#!/bin/sh\nexec {sys.executable} -m discern.cli "$@"\n')
    (home / "discern").chmod(0o755)
    rules = home / "rules"
    settings = (
        f"HOME={home}\nMAILDIR={home}\nDEFAULT={home}/inbox\nPATH={home}:{os.environ['PATH']}\nLOGFILE={home}/log\n"
    )
    rules.write_text(settings + textwrap.dedent(recipe))
    rules.chmod(0o600)
    for message in (SPAM, HAM, ODD):
        subprocess.run([program, str(rules)], input=ENVELOPE + message, check=True, timeout=60)
    (home / "mail.discern").write_bytes(b"no model")
    subprocess.run([program, str(rules)], input=ENVELOPE + HAM, check=True, timeout=60)
    boxes = {name: (home / name).read_bytes() for name in ("inbox", "Junk", "Unsure")}
    assert {name: box.count(b"\nSubject: ") for name, box in boxes.items()} == {"inbox": 2, "Junk": 1, "Unsure": 1}
    assert SPAM in boxes["Junk"]
    assert b"X-Discern: spam\n" in boxes["Junk"]
    assert ODD in boxes["Unsure"]
    assert boxes["inbox"].count(b"X-Discern: ham\n") == 1  # the last was kept as it came
    assert boxes["inbox"].count(HAM) == 2


# ----------------------------------------------------------------------------------------- learn, forget, relabel


def test_learn_and_forget_mails_with_a_label(tmp_path: Path, model: Path) -> None:
    before, box = model.read_bytes(), mbox(tmp_path / "new.mbox", SPAM, ODD)
    well("learn", model, "--label", "spam", box)
    assert rows(model) == {"ham": 10, "spam": 12}
    well("forget", model, "--label-as", "spam", box)
    assert model.read_bytes() == before
    assert (
        "already has a 'label' column; --label applies only to unlabeled files"
        in run("learn", model, "--label", "spam", tmp_path / "mails").stderr
    )
    assert not list(tmp_path.glob(".*"))


def test_relabel_is_forget_there_and_learn_here(tmp_path: Path, model: Path) -> None:
    mail, other = tmp_path / "odd.eml", tmp_path / "other.discern"
    mail.write_bytes(ODD)
    well("learn", model, mail, "--label", "ham", "-o", other)
    well("learn", model, mail, "--label", "spam")
    result = well("relabel", model, mail, "--from", "spam", "--to", "ham")
    assert "moved 1 row from spam to ham" in result.stderr
    assert model.read_bytes() == other.read_bytes()
    well("relabel", model, "-", "--format", "eml", "--from", "ham", "--to", "spam", given=ODD)
    assert rows(model) == {"ham": 10, "spam": 11}


def test_relabel_all_there_is(tmp_path: Path) -> None:
    path, mail = tmp_path / "m.discern", tmp_path / "odd.eml"
    Classifier(smoothing=1.0, text="text").fit([{"label": "spam", "text": "zebra quagga"}]).save(path)
    mail.write_bytes(b"Subject: zebra\n\nquagga")
    well("relabel", path, mail, "--from", "spam", "--to", "ham")
    assert rows(path) == {"ham": 1}


def test_a_mail_that_was_never_learned_is_not_moved(tmp_path: Path, model: Path) -> None:
    before, mail = model.read_bytes(), tmp_path / "odd.eml"
    mail.write_bytes(ODD)
    result = run("relabel", model, mail, "--from", "spam", "--to", "ham")
    assert result.exit_code == 1
    assert "cannot forget" in result.stderr
    assert model.read_bytes() == before
    assert run("relabel", model, mail, "--from", "ham", "--to", "ham").exit_code == 2
    assert not list(tmp_path.glob(".*"))


# ------------------------------------------------------------------------------------------- many learners, kill

LEARNER = """
import sys
from discern.cli.main import app
model, label, *mails = sys.argv[1:]
for number, mail in enumerate(mails):
    app(["learn", model, "--label", label, mail, "--quiet", "--threads", "1"], standalone_mode=False)
    print(number + 1, flush=True)
"""


def learner(model: Path, label: str, mails: list[Path]) -> subprocess.Popen[bytes]:
    arguments = [sys.executable, "-c", LEARNER, str(model), label, *map(str, mails)]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def learned_at_once(tmp_path: Path, model: Path, count: int) -> None:
    """Let eight learn as many mails each, and compare with one that learned them all."""
    alone = tmp_path / "alone.discern"
    alone.write_bytes(model.read_bytes())
    work = []
    for number in range(8):
        mails = [tmp_path / f"{number}-{place}.eml" for place in range(count)]
        for place, mail in enumerate(mails):
            mail.write_bytes(b"Subject: word%d\n\nby learner%d\n" % (place, number))
        work.append(("spam" if number % 2 else "ham", mails))
    running = [learner(model, label, mails) for label, mails in work]
    for one in running:
        _, error = one.communicate()
        assert (one.returncode, error) == (0, b"")
    assert rows(model) == {"ham": 10 + 4 * count, "spam": 10 + 4 * count}
    for label, mails in work:
        well("learn", alone, "--label", label, *mails)
    assert model.read_bytes() == alone.read_bytes()
    assert not list(tmp_path.glob(".*"))


def test_eight_learners_at_once_lose_nothing(tmp_path: Path, model: Path) -> None:
    learned_at_once(tmp_path, model, 12)


@pytest.mark.soak
def test_eight_learners_of_a_thousand_mails_each_lose_nothing(tmp_path: Path, model: Path) -> None:
    learned_at_once(tmp_path, model, 1000)


def killed(tmp_path: Path, model: Path, times: int) -> None:
    """Kill a learner again and again: the file always holds what was acknowledged, and at most one mail more."""
    chance, mail, known = random.Random(3), tmp_path / "one.eml", 20
    mail.write_bytes(ODD)
    for _ in range(times):
        running = learner(model, "spam", [mail] * 1000)
        assert running.stdout is not None
        running.stdout.readline()
        time.sleep(chance.random() * 0.2)
        os.kill(running.pid, signal.SIGKILL)
        told, _ = running.communicate()
        acknowledged = 1 + told.count(b"\n")
        after = sum(rows(model).values())
        assert after - known - acknowledged in (0, 1)  # the last may be written and not yet told
        known = after
    well("learn", model, "--label", "spam", mail)  # the lock of the dead is no lock
    assert sum(rows(model).values()) == known + 1


def test_a_learner_killed_at_any_time_leaves_a_model_that_loads(tmp_path: Path, model: Path) -> None:
    killed(tmp_path, model, 10)


@pytest.mark.soak
def test_a_learner_killed_a_hundred_times(tmp_path: Path, model: Path) -> None:
    killed(tmp_path, model, 100)


# ---------------------------------------------------------------------------------------------- bad rows, data sets


def test_bad_rows_are_counted_on_stderr(tmp_path: Path, model: Path) -> None:
    bad = tmp_path / "bad.csv"
    bad.write_bytes(b"label,text\nspam,free\nham\nham,n\xe9\nham,lunch\n")
    small = tmp_path / "small.discern"
    assert "row 2 of" in run("fit", bad, "-o", small).stderr
    result = well("fit", bad, "-o", small, "--on-error", "skip")
    assert f"2 bad rows left out: row 2 of {bad} has 1 fields" in result.stderr
    assert rows(small) == {"ham": 1, "spam": 1}
    result = well("predict", small, bad, "--on-error", "keep")
    assert "2 bad rows kept as far as readable" in result.stderr
    assert len(result.stdout.splitlines()) == 1 + 4
    assert well("predict", small, bad, "--on-error", "skip", "--encoding", "latin-1").stdout.count("\n") == 1 + 3
    assert "unknown encoding" in run("predict", small, bad, "--encoding", "klingon").stderr


def test_data_sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sms_spam").mkdir()
    (tmp_path / "sms_spam" / "all.csv").write_text("label,text\n")
    monkeypatch.setenv("DISCERN_DATA", str(tmp_path))
    assert well("datasets", "fetch", "sms-spam").stdout == f"{tmp_path}/sms_spam/all.csv\n"
    listed = json.loads(well("datasets", "list", "--json").stdout)
    assert [one["name"] for one in listed] == list(CATALOG)
    assert all(one["license"] and one["homepage"].startswith("http") for one in listed)
    assert [bool(one["files"]) for one in listed] == [one["name"] == "sms-spam" for one in listed]
    assert "did you mean 'sms-spam'" in run("datasets", "fetch", "sms-spa").stderr
    assert run("datasets", "fetch").exit_code == 2
    monkeypatch.setitem(sys.modules, "pooch", None)
    assert "pip install" in run("datasets", "fetch", "adult").stderr
    assert "sms-spam" in well("datasets", "list").stdout


def test_a_data_set_that_is_downloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    class Pooch:
        def os_cache(self, name: str) -> str:
            return f"/cache/{name}"

        def retrieve(self, url: str, known_hash: str | None, path: Path) -> str:
            return str(path / url.rsplit("/", 1)[1])

        def file_hash(self, path: str) -> str:
            return "abc"

    monkeypatch.delenv("DISCERN_DATA", raising=False)
    monkeypatch.setitem(sys.modules, "pooch", Pooch())
    told: list[str] = []
    assert fetch("adult", tell=told.append) == ["/cache/discern/adult/adult.zip"]
    assert "CC BY" in told[0]
    assert "sha256:abc" in told[1]
    assert fetch("imdb", tell=told.append)
    assert len(told) == 3


def test_what_the_model_decides_is_used_unless_cutoffs_are_given(model: Path) -> None:
    share = json.loads(run("filter", model, "--json", given=ODD).stdout)["probability"]
    assert run("filter", model, "--exit-code", given=ODD).exit_code == 2
    for threshold, code in ((share - 0.01, 0), (share + 0.01, 1)):
        assert run("decide", model, "--threshold", threshold, "--positive", "spam").exit_code == 0
        assert run("filter", model, "--exit-code", given=ODD).exit_code == code
    assert run("filter", model, "--exit-code", "--spam-cutoff", 0.4, given=ODD).exit_code == 0
    assert run("decide", model, "--cost", "unsure=0.01").exit_code == 0
    assert run("filter", model, "--exit-code", given=ODD).exit_code == 2
