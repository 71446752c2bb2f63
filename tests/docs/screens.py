"""Look at the built site as readers do, and keep pictures of it: ``make docs``, then ``python -m tests.docs.screens``.

Every page must fit screens of 1280 and 390 pixels, and a page of each kind must pass axe, light and dark.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
SITE, PICTURES = ROOT / "build" / "docs", ROOT / "docs" / "pictures"
WIDTHS = {"desktop": 1280, "phone": 390}
KINDS = (
    "index",
    "start",
    "cli/fit",
    "howto/from-scikit-learn",
    "methods/multinomial",
    "api/discern.Classifier",
    "course/spam",
)
"""A page of each kind."""
NOT_OURS = ("region", "landmark-unique", "landmark-no-duplicate-banner", "aria-allowed-role", "definition-list")
"""Rules that the theme of the site and numpydoc break."""


def opened(browser: Browser, width: int, scheme: str) -> Page:
    """Open a window; the theme follows the scheme of the system."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]
    return context.new_page()


def too_wide(page: Page, width: int) -> list[str]:
    """Return the pages that are wider than the screen."""
    found = []
    for path in sorted(SITE.rglob("*.html")):
        page.goto(path.as_uri(), wait_until="domcontentloaded")
        if page.evaluate("document.documentElement.scrollWidth") > width:
            found.append(f"{path.relative_to(SITE)} is wider than {width} pixels")
    return found


def violations(page: Page, name: str, scheme: str) -> list[str]:
    """Return what axe finds on a page."""
    page.goto((SITE / f"{name}.html").as_uri())
    found = Axe().run(page).response["violations"]
    return [f"{name}, {scheme}: {one['id']}, {one['help']}: {one['nodes'][0]['html'][:120]}" for one in found if one["id"] not in NOT_OURS]  # fmt: skip


def main() -> int:
    """Check the site and keep its pictures; return whether something is wrong."""
    found = []
    with sync_playwright() as playwright:
        program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for device, width in WIDTHS.items():
            found += too_wide(opened(browser, width, "light"), width)
            for scheme in ("light", "dark"):
                page = opened(browser, width, scheme)
                for name in KINDS:
                    found += violations(page, name, scheme)
                page.goto((SITE / "index.html").as_uri())
                page.wait_for_timeout(300)
                page.screenshot(path=PICTURES / f"site-{device}-{scheme}.png")
        browser.close()
    print(*found, sep="\n")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
