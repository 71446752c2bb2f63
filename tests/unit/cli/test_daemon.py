"""The daemon of discern filter: the same answers, replaced models, many learners, no mail lost."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from discern.classifier import Classifier
from discern.cli.filter.client import MARK, FilterRequest, parsed

SPAM = b"From: win@example.com\nSubject: free prize\n\nclaim your free cash prize now\n"
HAM = b"From: ann@example.org\nSubject: lunch\n\nsee you at noon tomorrow\n"
ODD = b"From: zzz\nSubject: zebra\n\nquagga\0\xff\r\n"


ROWS = [{"label": "spam", "text": "free cash prize claim now"}, {"label": "ham", "text": "lunch at noon tomorrow"}]


def command(*arguments: Any) -> list[str]:
    return [sys.executable, "-m", "discern.cli", *map(str, arguments)]


def filtered(*arguments: Any, given: bytes = SPAM) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command("filter", *arguments), input=given, capture_output=True, timeout=60)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "mail.discern"
    Classifier(smoothing=1.0).fit(ROWS * 10).save(path)
    return path


def begun(model: Path, *options: Any) -> subprocess.Popen[bytes]:
    running = subprocess.Popen(
        command("filter", model, "--daemon", "--json", *options), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert running.stdout is not None
    line = running.stdout.readline()
    assert line, running.communicate()[1]
    assert json.loads(line)["process"] == running.pid
    return running


def ended(running: subprocess.Popen[bytes]) -> bytes:
    running.send_signal(signal.SIGTERM)
    _, said = running.communicate(timeout=30)
    assert running.returncode == 0
    return said


@pytest.fixture
def daemon(model: Path) -> Iterator[subprocess.Popen[bytes]]:
    running = begun(model)
    yield running
    if running.poll() is None:
        ended(running)


@pytest.fixture(scope="module")
def enduring(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The socket of a daemon for many questions."""
    path = tmp_path_factory.mktemp("daemon") / "mail.discern"
    Classifier(smoothing=1.0).fit(ROWS * 10).save(path)
    running = begun(path)
    yield place_of(path)
    assert ended(running) == b""


def asked(place: Path, content: bytes) -> bytes:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(30)
        connection.connect(str(place))
        connection.sendall(content)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def place_of(model: Path) -> Path:
    return model.with_name(model.name + ".socket")


def test_the_same_answers_as_without(model: Path) -> None:
    ways: list[list[str]] = [["--spam-cutoff", "0.4"], ["--json"], ["--exit-code"], ["--spam=junk"]]
    alone = [filtered(model, *way, given=mail) for way in ways for mail in (SPAM, HAM, ODD)]
    running = begun(model)
    served = [filtered(model, *way, given=mail) for way in ways for mail in (SPAM, HAM, ODD)]
    for one, other in zip(alone, served, strict=True):
        assert (one.returncode, one.stdout, one.stderr) == (other.returncode, other.stdout, other.stderr)
    assert ended(running) == b""
    assert {answer.returncode for answer in served} == {0, 1, 2, 3}


def test_the_client_loads_nothing(model: Path, daemon: subprocess.Popen[bytes]) -> None:
    program = (
        "import sys; sys.argv = ['discern', 'filter', sys.argv[1], '--exit-code']\n"
        "from discern.cli.__main__ import main\n"
        "try: main()\n"
        "except SystemExit as ended: assert ended.code == 0, ended.code\n"
        "print([name for name in ('numpy', 'typer', 'rich', 'discern.classifier', 'discern.data.batch') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", program, str(model)], input=SPAM, capture_output=True, check=True)
    assert ran.stdout == b"[]\n"


def test_a_plain_client_is_given_the_marked_message(model: Path, daemon: subprocess.Popen[bytes]) -> None:
    marked = asked(place_of(model), SPAM)
    assert marked == filtered(model).stdout
    assert marked.startswith(b"X-Discern: spam\n")
    assert marked.endswith(SPAM)


def test_only_its_owner_may_use_the_socket(model: Path, daemon: subprocess.Popen[bytes]) -> None:
    mode = place_of(model).stat().st_mode
    assert stat.S_ISSOCK(mode)
    assert stat.S_IMODE(mode) == 0o600


def test_one_daemon_at_a_place_and_nothing_is_left_behind(tmp_path: Path, model: Path) -> None:
    running = begun(model)
    second = subprocess.run(command("filter", model, "--daemon"), capture_output=True, timeout=30)
    assert second.returncode == 1
    assert b"another daemon" in second.stderr
    running.kill()
    running.communicate()
    assert place_of(model).exists()  # of the dead one
    assert filtered(model).stdout.startswith(b"X-Discern: spam")  # nobody answers: judged without
    ended(begun(model))
    assert os.listdir(tmp_path) == [model.name]


def test_bad_places(tmp_path: Path, model: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for place in (tmp_path / "file", tmp_path / ("x" * 120), tmp_path / "no" / "where"):
        ran = subprocess.run(command("filter", model, "--daemon", "--socket", place), capture_output=True, timeout=30)
        assert ran.returncode == 1
        assert ran.stderr.startswith(b"discern: ")
    assert (tmp_path / "file").read_text() == "mine"
    assert b"no such file" in subprocess.run(command("filter", tmp_path / "no", "--daemon"), capture_output=True).stderr


def test_a_replaced_model_is_used_and_a_bad_one_is_not(
    tmp_path: Path, model: Path, daemon: subprocess.Popen[bytes]
) -> None:
    assert filtered(model).stdout.startswith(b"X-Discern: spam")
    good = model.read_bytes()
    swapped = [
        {"label": "ham", "text": "free cash prize claim now"},
        {"label": "spam", "text": "lunch at noon tomorrow"},
    ]
    Classifier(smoothing=1.0).fit(swapped * 10).save(model)
    assert filtered(model).stdout.startswith(b"X-Discern: ham")
    model.write_bytes(b"no model")  # by whoever does not replace it as they should
    assert asked(place_of(model), SPAM).startswith(b"X-Discern: ham")
    model.unlink()
    assert asked(place_of(model), SPAM).startswith(b"X-Discern: ham")
    model.write_bytes(good)
    assert asked(place_of(model), SPAM).startswith(b"X-Discern: spam")
    assert b"still using the previous model" in ended(daemon)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        MARK,
        MARK + b"\n",
        MARK + b"{}",
        MARK + b"[]\n" + SPAM,
        MARK + b'{"spam_cutoff": "x"}\n' + SPAM,
        MARK + b'{"nonsense": 1}\n' + SPAM,
        MARK + b'{"spam_cutoff": NaN, "ham_cutoff": 0}\n' + SPAM,
        MARK + b"[" * 50_000 + b"\n",
        bytes(range(256)) * 1000,
    ],
)
def test_odd_questions_are_answered_and_the_daemon_lives(enduring: Path, content: bytes) -> None:
    answer = asked(enduring, content)
    if content.startswith(MARK):
        assert set(json.loads(answer.split(b"\n")[0])) in ({"error"}, {"json", "code", "bytes"})
    else:
        assert answer.endswith(content)
    assert asked(enduring, SPAM).startswith(b"X-Discern: spam")


def test_clients_that_go_away_or_stay_silent(model: Path, daemon: subprocess.Popen[bytes]) -> None:
    silent = []
    for _ in range(20):
        one = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        one.connect(str(place_of(model)))
        one.sendall(b"Subject: ")
        silent.append(one)
    for one in silent[:10]:
        one.close()
    assert asked(place_of(model), SPAM).startswith(b"X-Discern: spam")
    for one in silent:
        one.close()
    assert ended(daemon) == b""


def test_a_very_long_message_comes_back_as_it_is(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import discern.cli.filter.daemon as served
    from discern.cli.filter.command import Cutoffs, marked, verdict_on

    monkeypatch.setattr(served, "MOST_BYTES", 1000)
    told: list[str] = []

    def classify(classifier: Classifier, content: bytes, settings: dict[str, Any]) -> Any:
        verdict = verdict_on(classifier, content, Cutoffs("spam", 0.9, 0.1))
        return verdict, marked(content, verdict)

    with served.Server(str(place_of(model)), served.CurrentModel(model, told.append), classify) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            long = SPAM + b"x" * 300_000
            received = []
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            connection.connect(str(place_of(model)))
            sending = threading.Thread(target=lambda: (connection.sendall(long), connection.shutdown(socket.SHUT_WR)))
            sending.start()
            while block := connection.recv(65536):
                received.append(block)
            sending.join()
            connection.close()
            assert b"".join(received) == long
            assert asked(place_of(model), SPAM).startswith(b"X-Discern: spam")
        finally:
            server.shutdown()
            thread.join()
    assert told == ["a message is too long to be classified"]


LEARNER = """
import sys
from discern.cli.main import app
model, *mails = sys.argv[1:]
for mail in mails:
    app(["learn", model, "--label", "spam", mail, "--quiet", "--threads", "1"], standalone_mode=False)
"""


def learners_at_once(tmp_path: Path, model: Path, mails: int, learners: int = 8) -> None:
    """Filter all the time while learners change the model, and see at the end that each mail was learned once."""
    files = []
    for number in range(learners):
        files.append([tmp_path / f"{number}-{place}.eml" for place in range(mails)])
        for place, file in enumerate(files[-1]):
            file.write_bytes(b"Subject: word%d\n\nzebra quagga by%d\n" % (place, number))
    arguments = [[sys.executable, "-c", LEARNER, str(model), *map(str, own)] for own in files]
    running = [subprocess.Popen(own, stderr=subprocess.PIPE) for own in arguments]
    answers = 0
    while any(one.poll() is None for one in running):
        assert asked(place_of(model), SPAM).startswith(b"X-Discern: spam\n")
        answers += 1
        time.sleep(0.01)
    assert [(one.wait(), one.communicate()[1]) for one in running] == [(0, b"")] * learners
    assert answers > 3
    learned = Classifier.load(model)
    assert learned.info()["rows_per_label"] == {"ham": 10, "spam": 10 + learners * mails}
    answer = json.loads(asked(place_of(model), MARK + b"{}\n" + ODD).split(b"\n")[0])
    alone = learned.predict_proba([{"text": "zebra\nquagga"}])
    assert json.loads(answer["json"])["label"] == "spam"  # as it is now
    assert alone[0][1] > 0.9


def test_eight_learners_while_mail_is_filtered(tmp_path: Path, model: Path, daemon: subprocess.Popen[bytes]) -> None:
    learners_at_once(tmp_path, model, 4)


@pytest.mark.soak
def test_eight_learners_of_a_thousand_mails_each_while_mail_is_filtered(
    tmp_path: Path, model: Path, daemon: subprocess.Popen[bytes]
) -> None:
    learners_at_once(tmp_path, model, 1000)


def daemons_killed(tmp_path: Path, model: Path, times: int) -> None:
    """Kill daemons while they answer and mails are learned: no mail is lost, and the next daemon takes the place."""
    chance, mail = random.Random(5), tmp_path / "one.eml"
    mail.write_bytes(ODD)
    for _ in range(times):
        running = begun(model)
        learning = subprocess.Popen([sys.executable, "-c", LEARNER, str(model), str(mail)], stderr=subprocess.PIPE)
        until = time.monotonic() + chance.random()
        while time.monotonic() < until:
            assert asked(place_of(model), SPAM).startswith(b"X-Discern: spam\n")
        os.kill(running.pid, signal.SIGKILL)
        running.communicate()
        assert (learning.wait(), learning.communicate()[1]) == (0, b"")
        assert filtered(model).stdout.startswith(b"X-Discern: spam\n")  # the socket of the dead is no daemon
    assert Classifier.load(model).info()["rows_per_label"] == {"ham": 10, "spam": 10 + times}
    assert ended(begun(model)) == b""


def test_daemons_killed_at_any_time_lose_no_mail(tmp_path: Path, model: Path) -> None:
    daemons_killed(tmp_path, model, 2)


@pytest.mark.soak
def test_daemons_killed_a_hundred_times(tmp_path: Path, model: Path) -> None:
    daemons_killed(tmp_path, model, 100)


@pytest.mark.soak
def test_a_message_with_a_line_of_a_gigabyte(model: Path, daemon: subprocess.Popen[bytes]) -> None:
    """It comes back whole, and the daemon keeps no more of it than it would judge."""
    block, blocks, received = b"word " * 200_000, 1000, 0
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(str(place_of(model)))

        def send() -> None:
            connection.sendall(b"Subject: long\n\n")
            for _ in range(blocks):
                connection.sendall(block)
            connection.shutdown(socket.SHUT_WR)

        sending = threading.Thread(target=send)
        sending.start()
        while found := connection.recv(1 << 20):
            received += len(found)
        sending.join()
    assert received == len(b"Subject: long\n\n") + blocks * len(block)
    most = next(line for line in Path(f"/proc/{daemon.pid}/status").read_text().splitlines() if "VmHWM" in line)
    assert int(most.split()[1]) < 1_000_000  # kilobytes
    assert asked(place_of(model), SPAM).startswith(b"X-Discern: spam")
    assert ended(daemon) == b"discern: a message is too long to be classified\n"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["m"], FilterRequest("m")),
        (
            ["m", "--spam", "junk", "--spam-cutoff=0.8", "-q"],
            FilterRequest("m", spam="junk", spam_cutoff=0.8, quiet=True),
        ),
        (["--exit-code", "m", "--socket", "s"], FilterRequest("m", exit_code=True, socket="s")),
        (["m", "--help"], None),
        (["m", "--daemon"], None),
        (["m", "n"], None),
        ([], None),
        (["m", "--spam"], None),
        (["m", "--spam-cutoff", "2"], None),
        (["m", "--spam-cutoff", "x"], None),
        (["m", "--ham-cutoff", "0.95"], None),
        (["m", "--exit-code=1"], None),
    ],
)
def test_arguments_of_the_client(arguments: list[str], expected: FilterRequest | None) -> None:
    assert parsed(arguments) == expected


def test_defaults_of_the_client(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text('spam = "junk"\n[filter]\nspam-cutoff = 0.7\n')
    monkeypatch.setenv("DISCERN_CONFIG", str(tmp_path / "c.toml"))
    monkeypatch.setenv("DISCERN_FILTER_HAM_CUTOFF", "0.2")
    assert parsed(["m"]) == FilterRequest("m", spam="junk", spam_cutoff=0.7, ham_cutoff=0.2)
    assert parsed(["m", "--spam", "x"]) == FilterRequest("m", spam="x", spam_cutoff=0.7, ham_cutoff=0.2)


def test_socat_as_the_page_has_it(model: Path, daemon: subprocess.Popen[bytes]) -> None:
    program = shutil.which("socat")
    assert program, "socat was not found: run make test, which installs it, or install it"
    ran = subprocess.run([program, "-t60", "-", f"UNIX-CONNECT:{place_of(model)}"], input=HAM, capture_output=True)
    assert ran.stdout.startswith(b"X-Discern: ham\n")
    assert ran.stdout.endswith(HAM)
