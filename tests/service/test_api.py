"""The addresses: the same answers as the library gives, feedback that is taken once, and one file at the end."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from discern.classifier import Classifier
from discern.service.settings import Settings
from tests.service.running import HELD_OUT, Client, Telling, in_process, saved

TEXTS = [row["text"] for row in HELD_OUT]
NEW = {"label": "ham", "text": "a zebra quagga sentence about lunch"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("api")


@pytest.fixture(scope="module")
def service(place: Path) -> Iterator[tuple[Client, Telling]]:
    held_out = place / "held-out.jsonl"
    held_out.write_text("".join(json.dumps(row) + "\n" for row in HELD_OUT), "utf-8")
    with in_process(Settings(saved(place), held_out=str(held_out), compact_after=0)) as running:
        yield running


@pytest.fixture
def client(service: tuple[Client, Telling]) -> Client:
    return service[0]


def loaded(place: Path) -> Classifier:
    return Classifier.load(place / "messages.discern")


def test_predictions_are_those_of_the_library(client: Client, place: Path) -> None:
    model = loaded(place)
    shares = model.predict_proba(TEXTS).tolist()
    ones = [client.post("/v1/predict", {"text": text}) for text in TEXTS[:30]]
    assert [list(one["probabilities"].values()) for one in ones] == [
        pytest.approx(row, rel=1e-9) for row in shares[:30]
    ]
    many = client.post("/v1/predict/batch", {"rows": [{"text": text} for text in TEXTS]})["predictions"]
    assert [list(one["probabilities"].values()) for one in many] == shares
    again = client.post("/v1/predict", {"text": TEXTS[3]})  # by now in the quick way
    assert list(again["probabilities"].values()) == pytest.approx(shares[3], rel=1e-12)
    assert [one["label"] for one in many] == model.predict(TEXTS).tolist()
    assert all(one["probability"] == one["probabilities"][one["label"]] for one in many)


@pytest.mark.parametrize("ending", ["\n", "\r\n", ""])
def test_streams_give_a_line_for_each_row(client: Client, place: Path, ending: str) -> None:
    model = loaded(place)
    texts = [*TEXTS, "one\u2028two\x85three\x0bfour", "", "東京 – שלום"]
    lines = "\n".join(json.dumps({"text": text, "other": 1}) for text in texts) + ending
    status, kinds, content = client.send(
        "POST", "/v1/predict/stream", lines.encode(), content_type="application/x-ndjson"
    )
    assert (status, kinds["content-type"]) == (200, "application/x-ndjson")
    answers = [json.loads(line) for line in content.decode().split("\n")[:-1]]
    assert [one["label"] for one in answers] == model.predict(texts).tolist()


def test_a_csv_file_comes_back_with_labels(client: Client, place: Path) -> None:
    import csv
    import io

    rows = [{"id": str(number), "text": f'{text}, "quoted"\nand a line'} for number, text in enumerate(TEXTS)]
    sent = io.StringIO()
    writer = csv.DictWriter(sent, ["id", "text"])
    writer.writeheader()
    writer.writerows(rows)
    content = "\ufeff" + sent.getvalue()
    status, kinds, answer = client.send("POST", "/v1/predict/csv", content.encode(), content_type="text/csv")
    assert (status, kinds["content-type"]) == (200, "text/csv; charset=utf-8")
    got = list(csv.DictReader(io.StringIO(answer.decode(), newline="")))
    assert [row["id"] for row in got] == [row["id"] for row in rows]
    assert [row["text"].replace("\r\n", "\n") for row in got] == [row["text"] for row in rows]
    assert [row["label"] for row in got] == loaded(place).predict([row["text"] for row in rows]).tolist()


def test_a_stream_with_a_bad_row_says_so(client: Client) -> None:
    good, bad = json.dumps({"text": "win " * 100}) + "\n", '{"text": 12}\n'
    status, _, content = client.send(
        "POST", "/v1/predict/stream", (bad + good).encode(), content_type="application/x-ndjson"
    )
    assert status == 422
    assert "row 1, column 'text'" in json.loads(content)["detail"]
    long = (good * 8000 + bad).encode()
    status, _, content = client.send("POST", "/v1/predict/stream", long, content_type="application/x-ndjson")
    last = json.loads(content.split(b"\n")[-2])
    assert (status, last["status"]) == (200, 422)
    assert "row 8001" in last["detail"]


def test_behind_a_proxy_a_stream_is_answered_when_all_of_it_has_come(tmp_path: Path) -> None:
    """As nginx forwards no more of a request once its answer has begun."""
    part, kind = json.dumps({"text": "win " * 100}).encode() + b"\n", "application/x-ndjson"
    with in_process(Settings(saved(tmp_path), behind_proxy=True)) as (client, _):
        with socket.create_connection(("127.0.0.1", client.port), timeout=20) as connection:
            head = f"POST /v1/predict/stream HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n"
            connection.sendall(f"{head}Content-Length: {9000 * len(part)}\r\n\r\n".encode() + 8000 * part)
            connection.settimeout(0.5)
            with pytest.raises(TimeoutError):
                connection.recv(1)
            connection.settimeout(20)
            connection.sendall(1000 * part)
            assert connection.recv(12) == b"HTTP/1.1 200"
        for count in (8000, 9000):
            status, _, content = client.send("POST", "/v1/predict/stream", count * part, content_type=kind)
            assert (status, content.count(b"\n")) == (200, count)
        client.post("/v1/predict/stream", 8000 * part + b'{"text": 12}\n', 422, content_type=kind)


def test_explanations_are_those_of_the_library(client: Client, place: Path) -> None:
    text = "You have won a free prize, call after lunch"
    seen = client.post("/v1/explain", {"text": text})
    expected = loaded(place).explain(text).to_dict()
    # A model that has predicted often sums in another order: the last digit may differ.
    for name in ("probabilities", "probability", "log_odds", "prior", "prior_calibration", "absent"):
        assert seen.pop(name) == pytest.approx(expected.pop(name), rel=1e-12)
    terms = zip(seen.pop("terms"), expected.pop("terms"), strict=True)
    for mine, theirs in terms:
        numbers = {name: mine.pop(name) for name in ("weight", "odds")}
        assert numbers == pytest.approx({name: theirs.pop(name) for name in numbers}, rel=1e-12)
        assert mine == theirs
    assert {name: seen[name] for name in expected} == json.loads(json.dumps(expected))
    assert "".join(part["text"] for part in seen["segments"]["text"]) == text
    weights = {part["text"]: part["weight"] for part in seen["segments"]["text"]}
    assert weights["free"] > 0 > weights["lunch"] or seen["label"] == "ham"


def test_evaluations_are_those_of_the_library(client: Client, place: Path) -> None:
    expected = json.loads(json.dumps(loaded(place).evaluate(HELD_OUT).to_dict()))
    assert client.post("/v1/evaluate", {"rows": HELD_OUT}) == expected
    assert client.get("/v1/model/evaluation") == expected
    lines = "".join(json.dumps(row) + "\n" for row in HELD_OUT).encode()
    status, _, content = client.send("POST", "/v1/evaluate", lines, content_type="application/x-ndjson")
    assert (status, json.loads(content)) == (200, expected)
    three = Classifier().fit([{"label": label, "text": f"x {label}"} for label in ("one", "two", "three")])
    assert three.evaluate([{"label": label, "text": "x"} for label in ("four", "five")]).to_dict()["auc"] is None
    problem = client.post("/v1/evaluate", {"rows": [{"text": "x"}]}, 422)
    assert "row 1 needs a label" in problem["detail"]


def after(client: Client, receipt: dict[str, Any], text: str) -> float:
    """Return the probability of ham by a model that has learned an entry."""
    answer = client.post("/v1/predict", {"text": text}, discern_after=str(receipt["sequence"]))
    return float(answer["probabilities"]["ham"])


def test_what_is_taught_is_taken_once_and_can_be_taken_back(client: Client, place: Path) -> None:
    first = client.get("/v1/model")
    before = after(client, {"sequence": 0}, NEW["text"])
    receipt = client.post("/v1/learn", {"rows": [NEW]}, idempotency_key="once")
    assert receipt == {"sequence": first["sequence"] + 1, "rows": 1, "repeated": False}
    assert client.post("/v1/learn", {"rows": [NEW]}, idempotency_key="once") == {**receipt, "repeated": True}
    assert client.post("/v1/learn", {"rows": [NEW, NEW]}, 422, idempotency_key="once")["type"] == "/problems#key-reused"
    assert client.post("/v1/forget", {"rows": [NEW]}, 422, idempotency_key="once")["status"] == 422
    expected = loaded(place).learn([NEW]).predict_proba([NEW["text"]])[0][0]
    assert after(client, receipt, NEW["text"]) == pytest.approx(expected, rel=1e-9) != pytest.approx(before, rel=1e-9)
    assert client.get("/v1/model")["rows"] == first["rows"] + 1
    undone = client.post("/v1/undo", {"sequence": receipt["sequence"]})
    assert after(client, undone, NEW["text"]) == pytest.approx(before, rel=1e-9)
    assert client.post("/v1/undo", {"sequence": receipt["sequence"]}, 409)["type"] == "/problems#undone"
    assert client.post("/v1/undo", {"sequence": 10**9}, 404)["type"] == "/problems#gone"
    [last, *_] = client.get("/v1/feedback?limit=2")["entries"]
    assert (last["action"], last["forget"]) == ("undo", [NEW])


def test_relabeling_is_done_whole_or_not_at_all(client: Client, place: Path) -> None:
    other = {"label": "ham", "text": "an okapi sentence"}
    learned = client.post("/v1/learn", {"rows": [NEW]})
    rows = [{"text": NEW["text"]}, {"text": other["text"]}]
    problem = client.post("/v1/relabel", {"rows": rows, "from": "ham", "to": "spam"}, 409)
    assert "cannot forget" in problem["detail"]
    expected = loaded(place).learn([NEW]).predict_proba([NEW["text"]])[0][0]
    assert after(client, learned, NEW["text"]) == pytest.approx(expected, rel=1e-9)
    moved = client.post("/v1/relabel", {"rows": rows[:1], "from": "ham", "to": "spam"})
    expected = loaded(place).learn([{**NEW, "label": "spam"}]).predict_proba([NEW["text"]])[0][0]
    assert after(client, moved, NEW["text"]) == pytest.approx(expected, rel=1e-9)
    client.post("/v1/forget", {"rows": [NEW]}, 409)
    forgotten = client.post("/v1/forget", {"rows": [{**NEW, "label": "spam"}]})
    assert forgotten["rows"] == 1


def test_a_number_of_an_entry_is_a_number(client: Client) -> None:
    for path in ("/v1/predict", "/v1/explain"):
        for number in ("", "x", "-1", "²"):
            assert client.send("POST", path, {"text": "win"}, discern_after=number)[0] == 422, number


def test_a_new_label_is_a_new_class(client: Client) -> None:
    receipt = client.post("/v1/learn", {"rows": [{"label": "大象", "text": "an elephant trumpets"}]})
    answer = client.post("/v1/predict", {"text": "elephant"}, discern_after=str(receipt["sequence"]))
    assert set(answer["probabilities"]) == {"ham", "spam", "大象"}
    undone = client.post("/v1/undo", {"sequence": receipt["sequence"]})
    answer = client.post("/v1/predict", {"text": "elephant"}, discern_after=str(undone["sequence"]))
    assert set(answer["probabilities"]) == {"ham", "spam"}


def test_the_file_is_that_of_the_library_and_forgotten_words_are_nowhere(client: Client, place: Path) -> None:
    client.post("/v1/compact", None)
    expected = loaded(place)
    canary = {"label": "spam", "text": "canaryword sings"}
    rows = [{"label": "spam", "text": f"compaction number{number}"} for number in range(5)]
    client.post("/v1/learn", {"rows": rows})
    client.post("/v1/learn", {"rows": [canary]})
    client.post("/v1/forget", {"rows": [canary]})
    assert any(b"canaryword" in path.read_bytes() for path in place.iterdir())
    answer = client.post("/v1/compact", None)
    assert answer["checksum"] == expected.learn(rows).checksum()
    assert loaded(place).checksum() == answer["checksum"] == client.get("/v1/model")["checksum"]
    assert client.get("/v1/model")["log"]["rows"] == 0
    assert [path.name for path in place.iterdir() if b"canaryword" in path.read_bytes()] == []


def test_a_replaced_file_is_served_and_a_broken_one_is_not(
    client: Client, place: Path, service: tuple[Client, Telling]
) -> None:
    client.post("/v1/compact", None)
    model = place / "messages.discern"
    whole, checksum = model.read_bytes(), client.get("/v1/model")["checksum"]
    other = Classifier(smoothing=0.5).fit(HELD_OUT)
    kept = client.post("/v1/learn", {"rows": [NEW]})
    new_checksum = other.save(model)
    deadline = time.monotonic() + 10
    while client.get("/v1/model")["checksum"] == checksum and time.monotonic() < deadline:
        time.sleep(0.05)
    card = client.get("/v1/model")
    assert (card["checksum"], card["rows"]) == (new_checksum, len(HELD_OUT) + 1)  # with the feedback on top
    (place / "broken").write_bytes(whole[:-10])
    (place / "broken").replace(model)
    problem = client.post("/v1/reload", None, 409)
    assert "the old model stays in use" in problem["detail"]
    assert client.get("/v1/model")["checksum"] == new_checksum
    (place / "good").write_bytes(whole)
    (place / "good").replace(model)
    assert client.post("/v1/reload", None)["checksum"] == checksum
    client.post("/v1/undo", {"sequence": kept["sequence"]})
    assert any('"reload-refused"' in line for line in service[1].lines)


def test_an_older_file_is_not_served_silently(tmp_path: Path) -> None:
    model = saved(tmp_path)
    backup = model.read_bytes()
    with in_process(Settings(model)) as (client, _):
        client.post("/v1/learn", {"rows": [NEW]})
        client.post("/v1/compact", None)
    model.write_bytes(backup)
    from discern.service.run import serve

    with pytest.raises(ValueError, match="the log no longer has"):
        serve(Settings(model, port=0))


def test_metrics_and_readiness(client: Client) -> None:
    client.post("/v1/predict", {"text": "win"})
    status, kinds, content = client.send("GET", "/metrics")
    assert (status, kinds["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    lines = dict(line.rsplit(" ", 1) for line in content.decode().splitlines() if not line.startswith("#"))
    assert int(lines["discern_rows_predicted_total"]) > 0
    assert int(lines['discern_requests_total{route="/v1/predict",status="2xx"}']) > 0
    assert (
        lines['discern_request_seconds_bucket{route="/v1/predict",le="+Inf"}']
        == lines['discern_request_seconds_count{route="/v1/predict"}']
    )
    assert client.get("/health") == {"alive": True}
    assert client.get("/ready")["ready"] is True


def test_words_can_be_searched(client: Client, place: Path) -> None:
    client.post("/v1/compact", None)
    found = client.get("/v1/model/words?label=spam&top=5")["words"]
    assert [(word["term"], word["weight"]) for word in found] == loaded(place).weights("spam", 5)
    searched = client.get("/v1/model/words?label=spam&search=FRE&against=true")["words"]
    assert searched
    assert all("fre" in word["term"] for word in searched)
    assert client.send("GET", "/v1/model/words?label=nothing")[0] == 404


def test_problems_say_what_to_do(client: Client) -> None:
    for path, body, words in (
        ("/v1/predict", {"txet": "x"}, "its columns are 'text'"),
        ("/v1/predict", {"text": 5}, "must be a text"),
        ("/v1/predict", ["x"], "must be a JSON object"),
        ("/v1/predict/batch", {"rows": []}, "at least one"),
        ("/v1/learn", {"rows": [{"text": "x"}]}, "needs a label"),
        ("/v1/learn", {"rows": [{"text": "x", "label": "a\0b"}]}, "needs a label"),
        ("/v1/relabel", {"rows": [{"text": "x"}], "from": "ham"}, "'to'"),
    ):
        problem = client.post(path, body, 422)
        assert words in problem["detail"], problem
        assert set(problem) == {"type", "title", "status", "detail"}
    status, kinds, _ = client.send("POST", "/v1/predict", b"{}", content_type="text/plain")
    assert (status, kinds["content-type"]) == (415, "application/problem+json")
    assert client.send("DELETE", "/v1/model")[0] == 405
    assert client.send("GET", "/v1/nothing")[0] == 404
    assert client.send("GET", "/page/../../etc/passwd")[0] == 404
    assert b"key-reused" in client.send("GET", "/problems")[2]


def test_a_model_that_is_no_sum_predicts_and_does_not_learn(tmp_path: Path) -> None:
    path = tmp_path / "m.discern"
    Classifier(model="linear-svm", calibrate=False).fit(HELD_OUT[:60]).save(path)
    with in_process(Settings(path)) as (client, _):
        assert client.get("/v1/model")["can_learn"] is False
        assert client.post("/v1/predict", {"text": "win a prize"})["label"] in ("ham", "spam")
        assert client.post("/v1/explain", {"text": HELD_OUT[0]["text"]})["terms"]
        assert client.post("/v1/learn", {"rows": [NEW]}, 409)["type"] == "/problems#cannot-learn"
        assert client.get("/v1/feedback") == {"entries": []}


def test_rare_words_and_numbers_follow_the_log(tmp_path: Path) -> None:
    """With min_df, what is forgotten depends on the order; with numbers, on pivots: the log decides both."""
    rows = [
        {
            "label": "ab"[number % 2],
            "note": f"common word{number % 7} rare{number}",
            "size": number / 3,
            "kind": "xy"[number % 3 == 0],
            "paid": number % 4 == 0,
        }
        for number in range(120)
    ]
    path = tmp_path / "m.discern"
    Classifier(text="note", number="size", category="kind", flag="paid", min_df=2, smoothing=1.0).fit(rows).save(path)
    with in_process(Settings(path)) as (client, _):
        client.post("/v1/learn", {"rows": rows[:3]})
        client.post("/v1/forget", {"rows": rows[5:8]})
        client.post("/v1/learn", {"rows": [{"label": "a", "note": "rare5 rare5 new", "size": None}]})
        last = client.post(
            "/v1/relabel",
            {"rows": [{k: v for k, v in rows[9].items() if k != "label"}], "from": rows[9]["label"], "to": "c"},
        )
        answer = client.post(
            "/v1/explain", {"note": "common word3", "size": 12, "paid": True}, discern_after=str(last["sequence"])
        )
        checksum = client.post("/v1/compact", None)["checksum"]
    assert {term["column"] for term in answer["terms"]} == {"note", "size", "paid"}
    with in_process(Settings(path)) as (client, _):
        assert client.get("/v1/model")["checksum"] == checksum


def test_the_service_is_not_imported_for_nothing() -> None:
    program = "import sys, discern, discern.cli.main; print([n for n in ('fastapi', 'uvicorn', 'sqlalchemy') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=os.environ, check=True)
    assert done.stdout.strip() == "[]"


def test_the_decision_saved_with_the_model_is_used(tmp_path: Path) -> None:
    from discern.evaluation.decisions import Decision

    model = Classifier.load(saved(tmp_path))
    decision = Decision.of_costs([[0, 9], [1, 0]], model.labels, unsure=0.3)
    model.decide_by(decision).save(tmp_path / "messages.discern")
    expected = model.predict(TEXTS).tolist()
    assert "unsure" in expected
    with in_process(Settings(tmp_path / "messages.discern", compact_after=0)) as (client, _):
        many = client.post("/v1/predict/batch", {"rows": [{"text": text} for text in TEXTS]})["predictions"]
        assert [one["label"] for one in many] == expected
        assert client.post("/v1/predict", {"text": TEXTS[0]})["label"] == expected[0]
        for one in many:
            assert one["probability"] == one["probabilities"].get(one["label"], max(one["probabilities"].values()))
        body = "text\n" + "".join(json.dumps(text) + "\n" for text in TEXTS if '"' not in text and "\n" not in text)
        status, _, content = client.send("POST", "/v1/predict/csv", body.encode(), content_type="text/csv")
        assert status == 200
        kept = [label for label, text in zip(expected, TEXTS, strict=True) if '"' not in text and "\n" not in text]
        assert [line.split(",")[0] for line in content.decode().splitlines()[1:]] == kept


def test_novelty_is_that_of_the_library(client: Client, place: Path) -> None:
    rows = [{"text": text} for text in ("quantum flux telemetry", "You have won a free prize", "")]
    found, plain = (client.post(f"/v1/predict/batch{query}", {"rows": rows}) for query in ("?novelty=true", ""))
    [expected] = loaded(place).predictions(rows, novelty=True)
    assert [row["novelty"] for row in found["predictions"]] == pytest.approx(expected.novelty.tolist())
    assert [row["known_terms"] for row in found["predictions"]] == expected.known.tolist()
    assert "novelty" not in plain["predictions"][0]
    assert client.post("/v1/predict?novelty=true", rows[0]) == found["predictions"][0]
    problem = client.post("/v1/predict?novelty=perhaps", rows[0], 422)
    assert problem["detail"] == "the parameter novelty must be true or false"
