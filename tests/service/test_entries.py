"""Entries of the log: tried before they are acknowledged, applied by every worker and restart, kept if they do not fit."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from discern.classifier import Classifier
from discern.evaluation.decisions import Decision
from discern.service.log import Change, Log
from discern.service.settings import Settings
from discern.service.state import LiveModel, State, read_base
from discern.service.store import LogGoneError, Store
from tests.service.running import Client, Process, in_process

ROWS = [
    {"label": "spam", "text": "win money now"},
    {"label": "spam", "text": "free prize now"},
    {"label": "ham", "text": "lunch at noon"},
    {"label": "ham", "text": "see you at noon"},
]
Row = dict[str, Any]


def fitted(rows: list[Row] = ROWS, **settings: Any) -> Classifier:
    return Classifier(**{"smoothing": 1.0, **settings}).fit(rows)


def quiet(*_: Any, **__: Any) -> None:
    """Write no log lines."""


def state_of(model: Path) -> State:
    """Open the log as a restarted service does."""
    with Store(f"{model}.feedback") as store:
        return LiveModel(model, store, read_base(model), quiet).state


@contextmanager
def served(model: Path, workers: int = 1) -> Iterator[Process]:
    service = Process(model, workers=workers)
    yield service
    if service.process.poll() is None:
        assert service.stop() == 0


def everywhere(service: Process, path: str = "/ready", times: int = 24) -> list[int]:
    """Return the statuses of many new connections, which any worker may take."""
    found = []
    for _ in range(times):
        client = Client(service.port)
        found.append(client.send("GET", path)[0])
        client.close()
    return found


def is_ready_everywhere(service: Process) -> bool:
    time.sleep(0.3)
    return {*everywhere(service)} == {200}


# -------------------------------------------------------------------------------------- decisions and labels

DECISIONS = {
    "costs": Decision.of_costs([[0, 5], [1, 0]], ["ham", "spam"]),
    "shares": Decision.argmax().with_priors({"ham": 0.5, "spam": 0.5}, {"ham": 0.8, "spam": 0.2}),
    "threshold": Decision.at(0.7, "spam"),
    "unsure": Decision.of_costs([[0, 5], [1, 0]], ["ham", "spam"], unsure=0.2),
}


@pytest.mark.parametrize("name", sorted(DECISIONS))
def test_a_new_label_is_learned_whatever_the_decision(tmp_path: Path, name: str) -> None:
    model = tmp_path / "m.discern"
    fitted().decide_by(DECISIONS[name]).save(model)
    with served(model, workers=2) as service:
        client = service.client()
        client.post("/v1/learn", {"rows": [{"label": "news", "text": "election today"}]})
        refused = client.send("POST", "/v1/learn", {"rows": [{"label": "unsure", "text": "hm"}]})[0]
        assert refused == (409 if name == "unsure" else 200)
        for _ in range(5):
            client.post("/v1/predict", {"text": "election"}, discern_after="1")
        client.post("/v1/compact", None)
        assert is_ready_everywhere(service)
    assert read_base(model).classifier.rows == 5 + (name != "unsure")


def test_the_last_row_of_a_label_with_a_threshold_is_not_forgotten(tmp_path: Path) -> None:
    model = tmp_path / "m.discern"
    fitted().decide_by(Decision.at(0.7, "spam")).save(model)
    with served(model) as service:
        client = service.client()
        client.post("/v1/forget", {"rows": ROWS[:1]})
        told = client.post("/v1/forget", {"rows": ROWS[1:2]}, 409)
        assert "spam" in told["detail"]
        client.post("/v1/relabel", {"rows": [{"text": ROWS[1]["text"]}], "from": "spam", "to": "news"}, 409)
        client.post("/v1/compact", None)
        assert client.post("/v1/predict", {"text": "free prize"})["label"] in ("spam", "ham")
    assert read_base(model).classifier.rows == 3


def test_given_priors_take_new_labels(tmp_path: Path) -> None:
    model = tmp_path / "m.discern"
    fitted(priors={"spam": 0.3, "ham": 0.7}).save(model)
    with served(model, workers=2) as service:
        client = service.client()
        told = client.post("/v1/learn", {"rows": [{"label": "news", "text": "election today"}]})
        assert is_ready_everywhere(service)
        client.post("/v1/undo", {"sequence": told["sequence"]})
        client.post("/v1/learn", {"rows": [{"label": "news", "text": "election today"}]})
        assert is_ready_everywhere(service)
    assert {*state_of(model).classifier.labels} == {"ham", "news", "spam"}
    with served(model) as service:
        service.client().post("/v1/compact", None)
    assert {*read_base(model).classifier.labels} == {"ham", "news", "spam"}


# ------------------------------------------------------------------------------------------- every grouping


def test_rare_words_are_forgotten_by_every_worker(tmp_path: Path) -> None:
    model, row = tmp_path / "m.discern", {"label": "ham", "text": "erika"}
    fitted(min_df=2).save(model)
    with served(model, workers=3) as service:
        client = service.client()
        client.post("/v1/learn", {"rows": [row]})
        client.post("/v1/compact", None)
        client.post("/v1/learn", {"rows": [row, row]})
        client.post("/v1/forget", {"rows": [row, row, row]})
        assert is_ready_everywhere(service)
    assert state_of(model).classifier.statistics == fitted(min_df=2).statistics


def test_numbers_are_forgotten_after_a_restart_too(tmp_path: Path) -> None:
    model = tmp_path / "m.discern"
    values = [("a", 4.5), ("b", 4.2), ("a", 5.5), ("b", 4.6)]
    Classifier(number="size").fit([{"label": label, "size": size} for label, size in values]).save(model)
    big = {"label": "b", "size": 4964526.5}
    with served(model, workers=2) as service:
        client = service.client()
        client.post("/v1/learn", {"rows": [big]})
        client.post("/v1/forget", {"rows": [big]})
        last = client.send("POST", "/v1/forget", {"rows": [{"label": "a", "size": 4.5}]})[0]
        assert is_ready_everywhere(service)
        rows = client.get("/v1/model", discern_after="3")["rows"]
    again = state_of(model)
    assert (again.unapplied, again.classifier.rows) == ({}, rows)
    assert rows == (3 if last == 200 else 4)
    with served(model) as service:
        service.client().post("/v1/compact", None)
    assert state_of(model).classifier.rows == rows


def changes_at_random(chance: random.Random) -> Iterator[Change]:
    """Draw changes of which a model can take some."""
    words, labels = ["win", "money", "prize", "noon", "lunch", "new"], ["spam", "ham", "news", "unsure"]
    for _ in range(12):
        rows = [
            {"label": chance.choice(labels), "text": " ".join(chance.choices(words, k=2))}
            for _ in range(chance.randint(1, 2))
        ]
        yield chance.choice([Change("learn", rows), Change("forget", (), rows), Change("relabel", rows, rows[::-1])])


@pytest.mark.parametrize("seed", range(30))
def test_the_grouping_of_entries_does_not_matter(tmp_path: Path, seed: int) -> None:
    """Also where some cannot be applied, and settings go with labels that vanish."""
    chance, model = random.Random(seed), tmp_path / "m.discern"
    decision = chance.choice([None, *DECISIONS.values()])
    given = {"spam": 0.3, "ham": 0.7} if chance.random() < 0.5 else "data"
    fitted(priors=given).decide_by(decision).save(model)
    with Store(f"{model}.feedback") as store:
        with store.writing() as log:
            for change in changes_at_random(chance):
                log.append(change)
        base, entries = read_base(model), store.after(0)[1]
    one_by_one = base
    for entry in entries:
        one_by_one = one_by_one.after([entry])
    for _ in range(5):
        state, rest = base, entries
        while rest:
            size = chance.randint(1, len(rest))
            state, rest = state.after(rest[:size]), rest[size:]
        assert state.unapplied == one_by_one.unapplied
        assert state.classifier.checksum() == one_by_one.classifier.checksum()


def test_one_bad_request_among_many_is_refused_alone(tmp_path: Path) -> None:
    from discern.service.log import Receipt
    from discern.service.problems import Problem
    from discern.service.teach import FeedbackRequest, FeedbackWriter

    model = tmp_path / "m.discern"
    fitted().save(model)
    with Store(f"{model}.feedback") as store:
        live = LiveModel(model, store, read_base(model), quiet)
        asks = [
            FeedbackRequest(live.state.change("learn", [{"label": "ham", "text": f"w{number}"}], []))
            for number in range(20)
        ]
        asks[13] = FeedbackRequest(live.state.change("forget", [], [{"label": "ham", "text": "never"}]))
        outcomes = FeedbackWriter(store, live)._commit(asks)
        assert [isinstance(outcome, Problem) for outcome in outcomes] == [number == 13 for number in range(20)]
        assert [one.sequence for one in outcomes if isinstance(one, Receipt)] == list(range(1, 20))
        live.refresh()
        assert (live.state.classifier.rows, live.state.unapplied) == (4 + 19, {})


# ----------------------------------------------------------------------------------------------- compaction


def test_a_new_file_that_is_not_the_model_does_not_cut_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tmp_path / "m.discern"
    fitted().save(model)
    original, other = model.read_bytes(), fitted(ROWS[1:])
    save = Classifier.save
    with in_process(Settings(model)) as (client, _):
        client.post("/v1/learn", {"rows": ROWS[:1]})
        monkeypatch.setattr(Classifier, "save", lambda _, path: save(other, path))
        told = client.post("/v1/compact", None, 503)
        assert told["type"].endswith("not-durable")
        assert (model.read_bytes(), client.get("/v1/model")["log"]["entries"]) == (original, 1)
        assert not [path for path in tmp_path.iterdir() if "compacting" in path.name]
        monkeypatch.setattr(Classifier, "save", lambda _, path: Path(path).write_bytes(b"damaged" * 9) and "0" * 64)
        client.post("/v1/compact", None, 503)
        assert (model.read_bytes(), client.get("/ready")["ready"]) == (original, True)
        monkeypatch.setattr(Classifier, "save", save)
        client.post("/v1/compact", None)
    assert read_base(model).classifier.rows == 5


def test_a_link_to_the_model_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    target, link = tmp_path / "models" / "real.discern", tmp_path / "m.discern"
    fitted().save(target)
    link.symlink_to(target)
    with Store(f"{link}.feedback") as store:
        live = LiveModel(link, store, read_base(link), quiet)
        with store.writing() as log:
            log.append(live.state.change("learn", ROWS[:1], []))
        live.compact()
    assert link.is_symlink()
    assert Classifier.load(target).rows == 5


def test_forgotten_text_is_in_no_byte_of_the_folder_after_compaction(tmp_path: Path) -> None:
    model, canary = tmp_path / "m.discern", "zanzibarcanary"
    fitted().save(model)
    row = {"label": "ham", "text": f"hello {canary}"}
    with served(model, workers=2) as service:
        client = service.client()
        for number in range(40):  # also pages that are used again
            client.post("/v1/learn", {"rows": [row]}, idempotency_key=f"key-{number}")
        client.post("/v1/forget", {"rows": [row] * 40})
        client.post("/v1/compact", None)
        code = "import sys, pathlib; print([p.name for p in pathlib.Path(sys.argv[1]).iterdir() if sys.argv[2].encode() in p.read_bytes()])"
        # In another process: closing the file in this one would let go of the locks of SQLite.
        found = subprocess.run([sys.executable, "-c", code, str(tmp_path), canary], capture_output=True, text=True)
        assert found.stdout.strip() == "[]"


def test_a_compaction_removes_what_a_killed_one_has_left(tmp_path: Path) -> None:
    model = tmp_path / "m.discern"
    fitted().save(model)
    for name in (".m.discern.compacting", "..m.discern.compacting.x1.part", ".m.discern.compacting.x2.part"):
        (tmp_path / name).write_bytes(b"forgotten")
    with Store(f"{model}.feedback") as store:
        LiveModel(model, store, read_base(model), quiet).compact()
    assert not [path.name for path in tmp_path.iterdir() if path.read_bytes() == b"forgotten"]


# ---------------------------------------------------------------------------------------- another model file

OTHER = [{"label": row["label"], "body": row["text"]} for row in ROWS]


@pytest.mark.parametrize("kind", ["column", "label", "role"])
def test_entries_for_another_model_are_kept_and_not_applied(tmp_path: Path, kind: str) -> None:
    model, original = tmp_path / "m.discern", tmp_path / "original.discern"
    fitted().save(model)
    shutil.copy(model, original)
    others = {
        "column": Classifier(smoothing=1.0).fit(OTHER),
        "label": Classifier("kind", smoothing=1.0).fit([{"kind": row["label"], "text": row["text"]} for row in ROWS]),
        "role": Classifier(number="text").fit([{"label": row["label"], "text": n} for n, row in enumerate(ROWS)]),
    }
    beside = tmp_path / "beside"
    feedback = {"label": "spam", "text": "claim your reward"}
    with served(model) as service:
        client = service.client()
        client.post("/v1/learn", {"rows": [feedback]})
        others[kind].save(beside)
        beside.rename(model)
        client.post("/v1/reload", None)
        card = client.get("/v1/model")
        assert (card["rows"], card["log"]["not_applied"]) == (4, 1)
        for _ in range(2):  # before and after the compaction
            [entry] = client.get("/v1/feedback")["entries"]
            assert (entry["sequence"], entry["applied"], entry["learn"]) == (1, False, [feedback])
            assert entry["reason"]
            assert b'discern_entries_not_applied{worker="0"} 1' in client.send("GET", "/metrics")[2]
            assert client.get("/ready")["ready"]
            client.post("/v1/compact", None)
        assert any(line["event"] == "entries-not-applied" and line["entries"] == [1] for line in service.events)
    assert state_of(model).unapplied.keys() == {1}
    shutil.copy(original, beside)
    beside.rename(model)  # the first model comes back, and with it what it was taught
    again = state_of(model)
    assert (again.unapplied, again.classifier.rows) == ({}, 5)
    with served(model) as service:
        service.client().post("/v1/compact", None)
        assert service.client().get("/v1/feedback") == {"entries": []}
    assert read_base(model).classifier.rows == 5


def test_an_entry_that_is_not_applied_can_be_withdrawn(tmp_path: Path) -> None:
    model, beside, canary = tmp_path / "m.discern", tmp_path / "beside", "zanzibarcanary"
    fitted().save(model)
    with served(model) as service:
        client = service.client()
        client.post("/v1/learn", {"rows": [{"label": "spam", "text": canary}]})
        Classifier(smoothing=1.0).fit(OTHER).save(beside)
        beside.rename(model)
        client.post("/v1/reload", None)
        client.post("/v1/undo", {"sequence": 1})
        client.post("/v1/undo", {"sequence": 1}, 409)
        assert client.get("/v1/model", discern_after="2")["rows"] == 4
        client.post("/v1/compact", None)
        assert client.get("/v1/model")["log"]["not_applied"] == 0
        assert client.get("/v1/feedback") == {"entries": []}
    assert not [path.name for path in tmp_path.iterdir() if canary.encode() in path.read_bytes()]


def test_undoing_is_not_applied_without_what_it_undoes(tmp_path: Path) -> None:
    model = tmp_path / "m.discern"
    fitted().save(model)
    with Store(f"{model}.feedback") as store:
        live = LiveModel(model, store, read_base(model), quiet)
        forgetting = live.state.change("forget", [], ROWS[:1])
        with store.writing() as log:
            log.append(forgetting)
            log.append(forgetting.reversed(1))
        fitted(ROWS[1:]).save(model)  # has never seen the row
        state = LiveModel(model, store, read_base(model), quiet).state
    assert (state.classifier.rows, sorted(state.unapplied)) == (3, [1, 2])


def test_a_compaction_that_is_killed_keeps_what_is_not_applied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tmp_path / "m.discern"
    fitted().save(model)
    with Store(f"{model}.feedback") as store:
        live = LiveModel(model, store, read_base(model), quiet)
        with store.writing() as log:
            log.append(Change("learn", [{"label": "ham", "body": "for another model"}]))
            log.append(Change("learn", ROWS[:1]))

        def killed(*_: Any) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(Store, "truncate", killed)
            with pytest.raises(KeyboardInterrupt):
                live.compact()
        again = LiveModel(model, store, read_base(model), quiet)
        assert again.state.unapplied.keys() == {1}
        again.compact()
        assert [entry.sequence for entry in store.read(Log.recent, 9)] == [1]
        assert LiveModel(model, store, read_base(model), quiet).state.unapplied.keys() == {1}


# ------------------------------------------------------------------------------------- a log that disappears


def remove_log(model: Path) -> None:
    for path in model.parent.glob(f"{model.name}.feedback*"):
        path.unlink()


@pytest.mark.parametrize("replaced", [False, True])
def test_without_its_log_a_service_acknowledges_nothing(tmp_path: Path, replaced: bool) -> None:
    model, row = tmp_path / "m.discern", {"label": "ham", "text": "one more"}
    fitted().save(model)
    service = Process(model, workers=2)
    client = service.client()
    client.post("/v1/learn", {"rows": [row]})
    remove_log(model)
    if replaced:
        for worker in psutil.Process(service.process.pid).children():
            worker.kill()
        time.sleep(1.0)
        client = service.client()
    requests: dict[str, Any] = {
        "/v1/learn": {"rows": [row]},
        "/v1/forget": {"rows": [row]},
        "/v1/relabel": {"rows": [{"text": row["text"]}], "from": "ham", "to": "spam"},
        "/v1/undo": {"sequence": 1},
        "/v1/compact": None,
    }
    for path, body in requests.items():
        for _ in range(4):
            one = service.client()
            told = one.post(path, body, 503)
            assert told["type"].endswith("not-durable")
            assert "removed" in told["detail"]
            one.close()
    time.sleep(0.3)
    assert {*everywhere(service)} == {503}
    assert client.send("POST", "/v1/predict", {"text": "noon"})[0] == 200
    assert not [*tmp_path.glob("*.feedback*")]
    assert service.stop() == 0


def test_a_log_that_is_put_in_place_of_another_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "m.feedback"
    with Store(str(place)) as store:
        identity = store.identity
        for end in ("-wal", ""):
            lost = Path(f"{place}{end}")
            lost.rename(tmp_path / "elsewhere")
            with pytest.raises(LogGoneError, match="removed or replaced"), store.writing():
                pass
            with pytest.raises(LogGoneError, match="restarted"):
                store.after(0)
            (tmp_path / "elsewhere").rename(lost)
        with store.writing() as log:
            assert log.append(Change("learn", ROWS)).sequence == 1
    shutil.copy(place, tmp_path / "copy")
    (tmp_path / "copy").rename(place)
    with pytest.raises(LogGoneError):
        Store(str(place), same=identity)


def test_a_commit_to_a_log_that_has_just_gone_is_not_acknowledged(tmp_path: Path) -> None:
    place = tmp_path / "m.feedback"
    with Store(str(place)) as store:
        with pytest.raises(LogGoneError), store.writing() as log:  # noqa: PT012
            log.append(Change("learn", ROWS))
            place.rename(tmp_path / "elsewhere")
        (tmp_path / "elsewhere").rename(place)


# -------------------------------------------------------------------------------------------------- digests


def test_digests_of_requests_are_keyed(tmp_path: Path) -> None:
    import hashlib

    model = tmp_path / "m.discern"
    fitted().save(model)
    body = json.dumps({"rows": ROWS[:1]}).encode()
    with in_process(Settings(model)) as (client, _):
        for repeated in (False, True):
            assert client.post("/v1/learn", body, idempotency_key="k")["repeated"] is repeated
        client.post("/v1/learn", {"rows": ROWS[:2]}, 422, idempotency_key="k")
    with sqlite3.connect(f"{model}.feedback") as connection:
        [(digest,)] = connection.execute("SELECT digest FROM discern_keys").fetchall()
    connection.close()
    guessed = {
        maker(start + body).hexdigest()[:64]
        for maker in (hashlib.sha256, hashlib.blake2b)
        for start in (b"", b"learn\0")
    }
    assert digest not in guessed
    with Store(f"{model}.feedback") as one, Store(str(tmp_path / "other.feedback")) as two:
        assert one.digest("learn", body) == digest != two.digest("learn", body)
