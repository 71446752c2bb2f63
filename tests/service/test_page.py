"""The page in a real browser: typing, evidence, teaching and undoing, files, the explorer; for everyone."""

from __future__ import annotations

import csv
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect, sync_playwright

from discern.classifier import Classifier
from discern.service.settings import Settings
from tests.service.running import HELD_OUT, Client, in_process, saved

TEXT = "Congratulations, you have won a free prize! Call now"
NASTY = '</script><img src=x onerror="alert(1)"> free'


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    with (folder / "held-out.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["label", "text"])
        writer.writeheader()
        writer.writerows(HELD_OUT)
    return folder


@pytest.fixture(scope="module")
def client(place: Path) -> Iterator[Client]:
    with in_process(Settings(saved(place), held_out=str(place / "held-out.csv"))) as (client, _):
        yield client


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    assert found, "Chromium is needed: make test installs it"
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def complaints() -> list[str]:
    return []


@pytest.fixture
def page(browser: Browser, client: Client, complaints: list[str]) -> Iterator[Page]:
    opened = opened_page(browser, client, complaints)
    yield opened
    opened.context.close()
    assert complaints == []


def opened_page(
    browser: Browser, client: Client, complaints: list[str], width: int = 1280, scheme: str = "light"
) -> Page:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]
    page, own = context.new_page(), f"http://127.0.0.1:{client.port}"
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "request",
        lambda request: complaints.append(request.url) if not request.url.startswith((own, "blob:")) else None,
    )
    page.on("dialog", lambda dialog: complaints.append(dialog.message))
    page.goto(f"{own}/")
    page.wait_for_selector("body[data-ready]")
    return page


def typed(page: Page, text: str) -> None:
    page.fill("textarea", text)
    expect(page.locator("#texts div.evidence-text")).to_have_text(text)


def test_typing_shows_label_bars_evidence_and_what_would_flip_it(page: Page, place: Path) -> None:
    page.locator("textarea").press_sequentially("free prize")
    expect(page.locator("#label")).to_have_text("spam")
    typed(page, TEXT)
    expected = Classifier.load(place / "messages.discern").explain(TEXT)
    assert page.inner_text("#label") == expected.label
    assert page.locator("#bars .bar").count() == 2
    shown = [float(text.strip("%> \u00a0")) for text in page.locator("#bars .bar .number").all_inner_texts()]
    assert shown[0] == pytest.approx(100 * expected.probability, abs=0.01)
    marks = page.locator("#texts mark.for").all_inner_texts()
    assert "free" in marks
    title = page.locator("#texts mark.for", has_text="free").get_attribute("title") or ""
    assert title.endswith("nats for spam")
    flip = page.inner_text("#flip")
    assert all(term.term in flip for term in expected.flip or ())
    assert flip.endswith("the label would be ham.")
    page.fill("textarea", "")
    expect(page.locator("#result")).to_be_hidden()


def test_teaching_with_one_click_and_undoing_it(page: Page, client: Client) -> None:
    typed(page, "my zebra is wonderful")
    before, rows = page.inner_text("#probability"), client.get("/v1/model")["rows"]
    page.get_by_role("button", name="is spam").click()
    expect(page.locator("#notice")).to_contain_text("Learned as spam.")
    expect(page.locator("#feedback-list li").first).to_contain_text("my zebra is wonderful")
    expect(page.locator("#subtitle")).to_contain_text(f"{rows + 1} rows")
    assert page.inner_text("#probability") != before
    shown = page.locator("#change .number").all_inner_texts()
    assert float(shown[0].strip("%")) < float(shown[1].strip("%"))
    expect(page.locator("#change")).to_contain_text("The label ")
    page.locator("#notice").get_by_role("button", name="Undo").click()
    expect(page.locator("#notice")).to_contain_text("Undone")
    expect(page.locator("#probability")).to_have_text(before)
    expect(page.locator("#subtitle")).to_contain_text(f"{rows} rows")
    expect(page.locator("#change")).to_be_hidden()
    expect(page.locator("#feedback-list li").nth(1)).to_contain_text("undone by")


def test_a_label_of_ones_own(page: Page) -> None:
    typed(page, "an elephant trumpets in the evening")
    page.fill("#other-label", "大象")
    page.press("#other-label", "Enter")
    expect(page.locator("#bars .bar")).to_have_count(3)
    page.locator("#notice").get_by_role("button", name="Undo").click()
    expect(page.locator("#bars .bar")).to_have_count(2)


def test_a_file_is_dropped_and_comes_back(page: Page, place: Path) -> None:
    page.set_input_files("#csv", place / "held-out.csv")
    expect(page.locator("#upload-status")).to_have_text(f"Labeled {len(HELD_OUT)} rows.")
    assert page.evaluate("document.getElementById('progress').value") == 1
    with page.expect_download() as saving:
        page.click("#download")
    with Path(saving.value.path()).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["text"] for row in rows] == [row["text"] for row in HELD_OUT]
    assert {row["predicted label"] for row in rows} == {"ham", "spam"}
    transfer = page.evaluate_handle(
        "() => { const data = new DataTransfer(); data.items.add(new File(['text\\n\"win\\na prize\"\\n'], 'a.csv')); return data; }"
    )
    page.dispatch_event("#drop", "drop", {"dataTransfer": transfer})
    expect(page.locator("#upload-status")).to_have_text("Labeled 1 row.")
    expect(page.locator("#preview td")).to_have_text(["spam", re.compile(r"0\.\d{4}"), "win\na prize"])


def test_a_bad_file_is_explained(page: Page, place: Path, complaints: list[str]) -> None:
    (place / "bad.csv").write_text("nothing,here\n1,2\n")
    page.set_input_files("#csv", place / "bad.csv")
    expect(page.locator("#upload-status")).to_contain_text("none of the model's columns")
    complaints.clear()  # the browser notes the status 422


def test_the_explorer_shows_what_the_evaluation_says(page: Page, client: Client, place: Path) -> None:
    told = client.get("/v1/model/evaluation")
    expect(page.locator("#evaluation .card b").first).to_have_text(f"{100 * told['accuracy']:.2f}%")
    shown = [[int(page.inner_text(f"#{name}")) for name in row] for row in (("spared", "missed"), ("alarms", "caught"))]
    assert shown == told["confusion"]
    before = page.locator("#roc-place").get_attribute("cx")
    page.locator("#threshold").focus()
    for _ in range(30):
        page.keyboard.press("PageDown")
    assert page.inner_text("#threshold-shown") == "0"
    assert page.inner_text("#missed") == "0"
    assert page.locator("#roc-place").get_attribute("cx") != before
    page.fill("#alarm-cost", "50")
    page.click("#cheapest")
    area = float(page.inner_text("#roc-area").split()[1].rstrip(";"))
    assert area == pytest.approx(told["auc"], abs=0.002)
    page.set_input_files("#evaluate", place / "held-out.csv")
    expect(page.locator("#evaluate-status")).to_have_text("Evaluated on held-out.csv.")


def test_words_are_searched(page: Page) -> None:
    page.select_option("#words-label", "spam")
    page.fill("#words-search", "priz")
    expect(page.locator("#words-table td").first).to_contain_text("priz")


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "light"), (390, "dark")])
def test_everyone_can_use_it(browser: Browser, client: Client, complaints: list[str], width: int, scheme: str) -> None:
    page = opened_page(browser, client, complaints, width, scheme)
    typed(page, TEXT)
    page.wait_for_selector("#explorer-data", state="attached")
    page.click("details summary")
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    assert page.evaluate("document.documentElement.scrollWidth") == width
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    assert dark == (scheme == "dark")
    page.context.close()


def test_the_keyboard_is_enough(page: Page) -> None:
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.tagName") == "TEXTAREA":
            break
    page.keyboard.type("win a free prize")
    expect(page.locator("#teach-buttons button").first).to_be_visible()
    for _ in range(10):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.parentElement.id") == "teach-buttons":
            break
    page.keyboard.press("Enter")
    expect(page.locator("#notice")).to_contain_text("Learned as")
    page.locator("#notice button").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#notice")).to_contain_text("Undone")


def test_texts_of_every_script_and_kind(page: Page) -> None:
    typed(page, "שלום free עולם")
    assert page.evaluate("getComputedStyle(document.querySelector('#texts div.evidence-text')).direction") == "rtl"
    assert page.evaluate("getComputedStyle(document.querySelector('textarea')).direction") == "rtl"
    typed(page, "自然言語処理 free 東京")
    assert page.evaluate("getComputedStyle(document.querySelector('#texts div.evidence-text')).direction") == "ltr"
    typed(page, NASTY)
    assert page.locator("img").count() == 0


def test_examples_are_made_by_the_model_and_have_its_labels(page: Page, client: Client) -> None:
    examples = client.get("/v1/model/form")["examples"]
    assert [one["label"] for one in examples] == ["ham", "spam"]
    for place, one in enumerate(examples):
        page.locator("#example-buttons button").nth(place).click()
        expect(page.locator("textarea")).to_have_value(one["row"]["text"])
        expect(page.locator("#label")).to_have_text(one["label"])


def test_answer_and_evidence_are_on_the_first_screen_of_a_phone(
    browser: Browser, client: Client, complaints: list[str]
) -> None:
    page = opened_page(browser, client, complaints, 390)
    page.set_viewport_size({"width": 390, "height": 844})
    typed(page, TEXT)
    for name in ("#label", "#probability", "#texts .evidence-text", "#flip"):
        box = page.locator(name).first.bounding_box()
        assert box is not None
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= 844, name
    page.context.close()


def test_problems_are_told_in_the_words_of_a_page(page: Page, client: Client, complaints: list[str]) -> None:
    page.route("**/v1/explain", lambda route: route.abort())
    page.fill("textarea", TEXT)
    expect(page.locator("#notice.bad")).to_contain_text("The service cannot be reached.")
    page.unroute("**/v1/explain")
    page.fill("textarea", "word " * 200_001)
    expect(page.locator("#notice.bad")).to_have_text("“text”: more than 200,000 words; shorten the text.")
    page.fill("textarea", "free " + "zzqx " * 60_000)
    expect(page.locator("#notice")).to_be_empty(timeout=60_000)
    expect(page.locator("#texts mark").first).to_have_text("free")
    page.wait_for_timeout(100)
    complaints.clear()  # the browser notes the problems


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_reference_of_the_api(
    browser: Browser, client: Client, complaints: list[str], width: int, scheme: str
) -> None:
    page = opened_page(browser, client, complaints, width, scheme)
    page.goto(f"http://127.0.0.1:{client.port}/docs")
    page.wait_for_selector("body[data-ready]")
    known = {(path, kind) for path, kinds in client.get("/openapi.json")["paths"].items() for kind in kinds}
    shown = page.locator(".operation summary").evaluate_all(
        "all => all.map(one => [one.querySelector('code').textContent, one.querySelector('.method').textContent.toLowerCase()])"
    )
    assert {tuple(pair) for pair in shown} == known
    first = page.locator(".operation", has_text="/v1/predict").first
    first.locator("summary").click()
    first.locator("textarea").fill('{"text": "win a free prize"}')
    first.get_by_role("button", name="Send POST").click()
    expect(first.locator("pre")).to_contain_text('"label": "spam"')
    assert page.evaluate("document.documentElement.scrollWidth") == width
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    page.goto(f"http://127.0.0.1:{client.port}/problems#token")
    expect(page.locator("dt#token")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert Axe().run(page).violations_count == 0
    page.context.close()
    assert complaints == []


def test_forms_for_mixed_columns(browser: Browser, tmp_path: Path, complaints: list[str]) -> None:
    rows = [
        {"label": "ab"[n % 2], "note": f"word{n % 7}", "size": n / 3, "kind": "xy"[n % 3 == 0], "paid": n % 4 == 0}
        for n in range(60)
    ]
    path = tmp_path / "mixed.discern"
    Classifier(text="note", number="size", category="kind", flag="paid", smoothing=1.0).fit(rows).save(path)
    with in_process(Settings(path)) as (client, _):
        page = opened_page(browser, client, complaints)
        assert page.locator("#field-2 option").all_inner_texts() == ["not known", "x", "y"]
        low, _, high = page.inner_text(".field.number .range").removeprefix("mostly ").partition(" to ")
        slider = page.locator(".field.number input[type=range]")
        assert float(low) < 10 < float(high)
        assert [slider.get_attribute(name) for name in ("min", "max")] == [low, high]
        slider.evaluate("(one) => { one.value = 10; one.dispatchEvent(new Event('input', { bubbles: true })); }")
        expect(page.locator("#field-1")).to_have_value(re.compile(r"^(9\.9|10)"))
        page.fill("#field-1", "12.5")
        page.select_option("#field-3", "yes")
        page.fill("textarea", "word3")
        expect(page.locator("#terms td", has_text="paid").first).to_be_attached()
        expect(page.locator("#terms tbody tr")).to_have_count(3)
        expect(page.locator(".values li", has_text="paid").locator("mark.for")).to_have_text("yes")
        expect(page.locator("#flip")).to_have_text("Without paid yes the label would be b.")
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
        page.get_by_role("button", name="is b").click()
        expect(page.locator("#notice")).to_contain_text("Learned as b.")
        page.context.close()
    assert complaints == []


def test_a_token_is_asked_for(browser: Browser, tmp_path: Path) -> None:
    token = "t" * 20
    with in_process(Settings(saved(tmp_path), teach_token=token.encode())) as (client, _):
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{client.port}/")
        expect(page.locator("#token-dialog")).to_be_visible()
        page.fill("#token", token)
        page.press("#token", "Enter")
        page.wait_for_selector("body[data-ready]")
        page.fill("textarea", TEXT)
        expect(page.locator("#label")).to_have_text("spam")
        page.close()
