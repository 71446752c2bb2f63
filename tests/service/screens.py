"""The pictures of the page in the documentation, made anew: ``python -m tests.service.screens``."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

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
    expect(page.locator("#texts .evidence-text")).to_have_text(text)
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
            kept(opened(browser, client.port, 960, 790, "light"), TEXT, "desktop")
            kept(opened(browser, client.port, 960, 790, "dark"), TEXT, "dark")
            kept(opened(browser, client.port, 390, 844, "light"), TEXT, "phone")
            kept(opened(browser, client.port, 390, 844, "dark"), HEBREW, "right-to-left")
            kept(opened(browser, client.port, 390, 844, "light"), CHINESE, "chinese")
        browser.close()


if __name__ == "__main__":
    main()
