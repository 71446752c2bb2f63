"""The pictures of the page in the documentation, made anew: ``python -m tests.service.screens``."""

from __future__ import annotations

import random
import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

from discern.classifier import Classifier
from discern.service.settings import Settings
from tests.service.running import in_process, saved

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
TEXT = "Congratulations! You have won a free prize. Call me after lunch, ok?"
HEBREW = "שלום! מחכה לך free prize, call now"
CHINESE = "恭喜！你赢得了 free prize，please call now"


def opened(browser: Browser, port: int, width: int, height: int, scheme: str) -> Page:
    """Open the page."""
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(f"http://127.0.0.1:{port}/")
    page.wait_for_selector("body[data-ready]")
    return page


def kept(page: Page, text: str, name: str) -> None:
    """Type a text and keep a picture of what is seen."""
    page.fill("textarea", text)
    expect(page.locator("#texts div.evidence-text")).to_have_text(text)
    page.evaluate("document.activeElement.blur()")
    page.wait_for_timeout(400)  # until the bars have their length
    page.screenshot(path=PICTURES / f"service-{name}.png")
    page.context.close()


def main() -> None:
    """Make the pictures."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        with in_process(Settings(saved(Path(folder)))) as (client, _):
            kept(opened(browser, client.port, 1280, 720, "light"), TEXT, "desktop")
            kept(opened(browser, client.port, 1280, 720, "dark"), TEXT, "dark")
            kept(opened(browser, client.port, 390, 844, "light"), TEXT, "phone")
            kept(opened(browser, client.port, 390, 844, "dark"), TEXT, "phone-dark")
            kept(opened(browser, client.port, 390, 844, "dark"), HEBREW, "right-to-left")
            kept(opened(browser, client.port, 390, 844, "light"), CHINESE, "chinese")
        with in_process(Settings(table(Path(folder)))) as (client, _):
            for width, height, scheme, name in ((1280, 720, "light", "table"), (390, 844, "dark", "table-phone")):
                page = opened(browser, client.port, width, height, scheme)
                page.get_by_role("button", name="high").click()
                expect(page.locator("#label")).to_have_text("high")
                page.wait_for_timeout(400)
                page.screenshot(path=PICTURES / f"service-{name}.png")
                page.goto(f"http://127.0.0.1:{client.port}/docs#post-v1-predict")
                page.wait_for_selector("body[data-ready]")
                page.screenshot(path=PICTURES / f"service-api{'-phone' if width == 390 else ''}.png")
                page.context.close()
        browser.close()


def table(folder: Path) -> Path:
    """Learn made-up incomes by age, hours, education, sector and marriage."""
    chance, rows = random.Random(1), []
    for number in range(400):
        high = number % 2
        degrees = ["Bachelors", "Masters", "High school"] if high else ["High school", "11th grade", "Some college"]
        rows.append({
            "income": ("low", "high")[high],
            "age": round(chance.gauss(35 + 8 * high, 9)),
            "hours": round(chance.gauss(38 + 6 * high, 8)),
            "education": chance.choice(degrees),
            "sector": chance.choice(["private", "public", "self-employed"]),
            "married": chance.random() < 0.3 + 0.4 * high,
        })  # fmt: skip
    path = folder / "income.discern"
    columns = {"number": ["age", "hours"], "category": ["education", "sector"], "flag": "married"}
    Classifier(label="income", **columns).fit(rows).save(path)
    return path


if __name__ == "__main__":
    main()
