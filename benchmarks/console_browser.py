"""A browser that times the console.

Debian's Chromium (``scripts/setup_browser.sh``), driven by Playwright for Python.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from playwright.sync_api import Page, sync_playwright

from benchmarks.product import Product

# Tasks of more than 50 ms, as the browser reports them.
_KEEP_TASKS = """
window.tasks = [];
new PerformanceObserver((list) => window.tasks.push(...list.getEntries().map((entry) => entry.duration)))
    .observe({ type: "longtask", buffered: true });
"""
_LONGEST_TASK = "() => { const longest = Math.max(0, ...window.tasks); window.tasks = []; return longest; }"


@dataclass(frozen=True)
class TimedPage:
    """A tab with the console, signed in.

    Attributes:
        page: the tab.
        base: the address of the product, without a slash at its end.
    """

    page: Page
    base: str

    def longest_task(self) -> float:
        """Milliseconds of the longest task since the last call or load; 0 if none had more than 50."""
        return float(self.page.evaluate(_LONGEST_TASK))

    def slow_down(self, factor: float) -> None:
        """Give the tab only one part in ``factor`` of the processor."""
        session = self.page.context.new_cdp_session(self.page)
        session.send("Emulation.setCPUThrottlingRate", {"rate": factor})


@contextmanager
def timed_page(product: Product) -> Iterator[TimedPage]:
    """Sign in at a product's console in a browser of its own."""
    program = next(filter(None, map(shutil.which, ("chromium", "google-chrome", "chromium-headless-shell"))), None)
    if program is None:
        raise SystemExit("no Chromium here: scripts/setup_browser.sh installs it")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 800}, locale="en-US")
        page.add_init_script(_KEEP_TASKS)
        base = product.url.rstrip("/")
        page.goto(f"{base}/sign-in")
        page.get_by_label("User name or e-mail address").fill(product.username)
        page.get_by_label("Password", exact=True).fill(product.password)
        page.get_by_role("button", name="Sign in", exact=True).click()
        page.wait_for_selector("nav")
        yield TimedPage(page, base)
        browser.close()


@contextmanager
def fresh_page(timed: TimedPage, *, is_signed_in: bool) -> Iterator[TimedPage]:
    """A tab of a profile that has loaded nothing yet, signed in as the given one or not at all."""
    browser = timed.page.context.browser
    if browser is None:
        raise SystemExit("the browser was closed")
    state = timed.page.context.storage_state() if is_signed_in else None
    context = browser.new_context(viewport={"width": 1280, "height": 800}, locale="en-US", storage_state=state)
    page = context.new_page()
    page.add_init_script(_KEEP_TASKS)
    yield TimedPage(page, timed.base)
    context.close()
