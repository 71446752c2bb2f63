"""The service where a row may have several labels: lists of labels in and out, one explained, taught and undone."""

from __future__ import annotations

import csv
import io
import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from discern.classifier import Classifier
from discern.service.settings import Settings
from tests.service.running import Client, in_process
from tests.service.test_page import browser as browser  # a fixture
from tests.service.test_page import complaints as complaints
from tests.service.test_page import opened_page

WORDS = {
    "corn": ["corn", "maize", "bushel", "silo"],
    "oil": ["oil", "barrel", "crude", "opec"],
    "ship": ["vessel", "cargo", "port", "tonnage"],
}
COMMON = ["the", "price", "rose", "today", "market", "said"]
TEXT = "corn maize silo bushel, vessel cargo port tonnage"


def rows(count: int, seed: int = 0) -> list[dict[str, Any]]:
    draw = random.Random(seed)
    made = []
    for _ in range(count):
        labels = sorted(label for label in WORDS if draw.random() < 0.4)
        words = [draw.choice(WORDS[label]) for label in labels for _ in range(3)]
        made.append({"label": labels, "text": " ".join([*words, *(draw.choice(COMMON) for _ in range(4))])})
    return made


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "topics.discern"
    Classifier(label_separator="|").fit(rows(300)).save(path)
    return path


@pytest.fixture
def client(model: Path) -> Iterator[Client]:
    with in_process(Settings(model)) as (client, _):
        yield client


def learned(client: Client) -> dict[str, int]:
    return dict(client.get("/v1/model")["rows_per_label"])


def becomes(client: Client, expected: dict[str, int]) -> None:
    """Wait until the model has learned the feedback."""
    deadline = time.monotonic() + 5
    while learned(client) != expected and time.monotonic() < deadline:
        time.sleep(0.02)
    assert learned(client) == expected


def test_predictions_are_lists(client: Client, model: Path) -> None:
    classifier = Classifier.load(model)
    texts = [TEXT, "oil", "", "market price", *(row["text"] for row in rows(20, 1))]
    found = client.post("/v1/predict/batch", {"rows": [{"text": text} for text in texts]})["predictions"]
    assert [one["label"] for one in found] == classifier.predict(texts).tolist()
    shares = classifier.predict_proba(texts)
    assert [list(one["probabilities"].values()) for one in found] == shares.tolist()
    assert all(one["probability"] == [one["probabilities"][label] for label in one["label"]] for one in found)
    for _ in range(40):  # the fast way for single texts is for one label a row
        assert client.post("/v1/predict", {"text": TEXT}) == found[0]
    body = "text\n" + "".join(f'"{text}"\n' for text in texts)
    _, _, content = client.send("POST", "/v1/predict/csv", body.encode(), content_type="text/csv")
    lines = list(csv.DictReader(io.StringIO(content.decode())))
    assert [line["label"].split("|") if line["label"] else [] for line in lines] == [one["label"] for one in found]
    jsonl = "".join(json.dumps({"text": text}) + "\n" for text in texts).encode()
    _, _, content = client.send("POST", "/v1/predict/stream", jsonl, content_type="application/x-ndjson")
    assert [json.loads(line) for line in content.splitlines()] == found


def test_one_label_is_explained(client: Client) -> None:
    seen = client.post("/v1/explain?label=ship", {"text": TEXT})
    assert (seen["label"], seen["labels"]) == ("ship", ["corn", "ship"])
    assert {part["text"] for part in seen["segments"]["text"] if part["weight"] > 1} >= {"vessel", "cargo"}
    assert client.post("/v1/explain", {"text": TEXT})["labels"] == ["corn", "ship"]
    client.post("/v1/explain?label=nothing", {"text": TEXT}, 404)


def test_teaching_relabeling_and_undoing_leave_no_trace(client: Client, model: Path) -> None:
    before, shares = learned(client), client.post("/v1/predict", {"text": "zebra vessel"})
    learn = client.post("/v1/learn", {"rows": [{"text": "zebra vessel", "label": ["zoo", "ship", "zoo"]}]})
    after = {"Discern-After": str(learn["sequence"])}
    assert client.post("/v1/predict", {"text": "zebra vessel"}, **after)["probabilities"].keys() == {*WORDS, "zoo"}
    moved = client.post("/v1/relabel", {"rows": [{"text": "zebra vessel"}], "from": ["ship", "zoo"], "to": []})
    client.get("/v1/model", **{"Discern-After": str(moved["sequence"])})
    back = client.post("/v1/undo", {"sequence": moved["sequence"]})
    gone = client.post("/v1/forget", {"rows": [{"text": "zebra vessel", "label": ["zoo", "ship"]}]})
    after = {"Discern-After": str(max(back["sequence"], gone["sequence"]))}
    assert client.post("/v1/predict", {"text": "zebra vessel"}, **after) == shares
    assert learned(client) == before
    client.post("/v1/compact", {})
    assert Classifier.load(model).info()["rows_per_label"] == before


@pytest.mark.parametrize("label", ["corn", [""], [["corn"]], [None], {"a": 1}, ["x" * 201], ["a\u0000b"], ["a\u001fb"]])
def test_bad_labels_are_refused(client: Client, label: Any) -> None:
    before = learned(client)
    assert "label" in client.post("/v1/learn", {"rows": [{"text": "oil", "label": label}]}, 422)["detail"]
    assert learned(client) == before


def test_evaluation_of_lists_and_of_csv(client: Client) -> None:
    held_out = rows(40, 2)
    found = client.post("/v1/evaluate", {"rows": held_out})
    assert found["f1"]["micro"] > 0.8
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["label", "text"])
    writer.writerows(["|".join(row["label"]), row["text"]] for row in held_out)
    status, _, content = client.send("POST", "/v1/evaluate", text.getvalue().encode(), content_type="text/csv")
    assert status == 200
    assert json.loads(content) == found
    _, _, page = client.send("POST", "/v1/model/evaluation.html", text.getvalue().encode(), content_type="text/csv")
    assert b"micro F1" in page


def test_the_document_has_lists_of_labels(client: Client) -> None:
    schemas = client.get("/openapi.json")["components"]["schemas"]
    assert schemas["Prediction"]["properties"]["label"]["type"] == "array"
    assert schemas["LabeledRow"]["properties"]["label"]["type"] == "array"
    assert schemas["Relabeling"]["properties"]["to"]["type"] == "array"


# ------------------------------------------------------------------------------------------------- the page


@pytest.fixture
def page(browser: Browser, client: Client, complaints: list[str]) -> Iterator[Page]:
    opened = opened_page(browser, client, complaints)
    yield opened
    opened.context.close()
    assert complaints == []


def test_a_chip_for_each_label_shows_its_evidence(page: Page) -> None:
    page.fill("textarea", TEXT)
    chips = page.locator("#labels button")
    expect(chips).to_have_count(2)
    assert sorted(text.split()[0] for text in chips.all_inner_texts()) == ["corn", "ship"]
    expect(page.locator("#result")).to_be_hidden()
    chips.filter(has_text="ship").click()
    expect(page.locator('#labels button[aria-pressed="true"]')).to_contain_text("ship")
    expect(page.locator("#texts mark.for", has_text="vessel")).to_be_visible()
    expect(page.locator("#texts mark.for", has_text="maize")).to_have_count(0)
    page.locator("#bars").get_by_role("button", name="oil").click()
    expect(page.locator('#labels button[aria-pressed="true"]')).to_contain_text("oil")
    expect(page.locator("#labels")).to_contain_text("not predicted")
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


def test_one_label_is_added_removed_and_undone(page: Page, client: Client) -> None:
    before = learned(client)
    page.fill("textarea", TEXT)
    teach = page.locator("#teach-buttons")
    teach.get_by_role("button", name="Add oil").click()
    expect(page.locator("#notice")).to_contain_text("Learned as corn, ship, oil.")
    expect(page.locator("#feedback-list li").first).to_contain_text("learned as corn, oil, ship")
    becomes(client, {label: rows + 1 for label, rows in before.items()})
    shown = page.locator("#change .number").all_inner_texts()
    assert float(shown[0].strip("%< ")) < float(shown[1].strip("%< "))
    teach.get_by_role("button", name="Remove corn").click()
    expect(page.locator("#notice")).to_contain_text("Learned as ship, oil.")
    becomes(client, {**{label: rows + 1 for label, rows in before.items()}, "corn": before["corn"]})
    page.locator("#notice").get_by_role("button", name="Undo").click()
    expect(page.locator("#notice")).to_contain_text("Undone")
    becomes(client, {label: rows + 1 for label, rows in before.items()})
    page.fill("#other-label", "zoo")
    page.press("#other-label", "Enter")
    expect(page.locator("#notice")).to_contain_text("Learned as corn, ship, oil, zoo.")
    expect(page.locator("#bars .bar")).to_have_count(4)
    page.locator("#notice").get_by_role("button", name="Undo").click()
    expect(page.locator("#bars .bar")).to_have_count(3)
    page.locator("#feedback-list li").last.get_by_role("button", name="Undo entry 1").click()
    expect(page.locator("#notice")).to_contain_text("Undone")
    becomes(client, before)


def test_a_row_without_labels(page: Page, client: Client) -> None:
    before = client.get("/v1/model")["rows"]
    page.fill("textarea", "the market price said today")
    expect(page.locator("#labels")).to_contain_text("No label reaches its threshold.")
    page.get_by_role("button", name="Yes, it has no label").click()
    expect(page.locator("#notice")).to_contain_text("Learned as no label.")
    expect(page.locator("#subtitle")).to_contain_text(f"{before + 1} rows")
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
