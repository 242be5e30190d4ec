"""A browser for the tests of the console.

Playwright's synchronous API keeps an event loop in its thread. These tests run in a thread of their own, so that
fixtures and other tests may run loops in pytest's.
"""

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from tests.fixtures.http.client import Api
from tests.fixtures.paths import ROOT
from tests.fixtures.product.server import Server

AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
DESKTOP, PHONE = (1280, 800), (390, 844)
# Chromium asks for Google's servers otherwise, which a closed network answers with errors.
_QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
_WAIT_MS = 30_000
expect.set_options(timeout=15_000)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that uses the browser in the browser's thread."""
    thread = pyfuncitem.funcargs.get("browser_thread")
    if not isinstance(thread, ThreadPoolExecutor):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    thread.submit(pyfuncitem.obj, **{name: pyfuncitem.funcargs[name] for name in names}).result()
    return True


@pytest.fixture(scope="session")
def browser_thread() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as thread:
        yield thread


@pytest.fixture(scope="session")
def chromium(browser_thread: ThreadPoolExecutor) -> Iterator[Browser]:
    """Debian's Chromium; Playwright's own is not in a registry."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no Chromium here: scripts/setup_browser.sh installs it")
    playwright = browser_thread.submit(sync_playwright().start).result()
    launch = playwright.chromium.launch
    browser = browser_thread.submit(lambda: launch(executable_path=program, args=list(_QUIET))).result()
    yield browser
    browser_thread.submit(browser.close).result()
    browser_thread.submit(playwright.stop).result()


@dataclass
class Console:
    """The console in a tab of its own browser profile.

    Attributes:
        page: the tab.
        complaints: what the browser's console said of errors; the fixture wants none.
    """

    page: Page
    base: str
    complaints: list[str] = field(default_factory=list[str])

    def open(self, path: str) -> None:
        """Go to a page and wait until nothing loads."""
        self.page.goto(self.base + path)
        self.settle()

    def settle(self) -> None:
        """Wait until the page has its title and no skeleton is left; a stream may stay open."""
        skeletons = self.page.locator("[role=status][aria-label]")
        self.page.wait_for_selector("h1")
        expect(skeletons).to_have_count(0)
        # A query that begins now would show another skeleton in the next frame.
        self.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        expect(skeletons).to_have_count(0)

    def serious_faults(self) -> list[str]:
        """What axe finds on the page that keeps somebody out."""
        self.page.evaluate(AXE.read_text())
        rules = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}
        found = self.page.evaluate("rules => axe.run(document, rules)", rules)["violations"]
        return [
            f"{fault['id']}: {node['target']} {node['failureSummary']}"
            for fault in found
            if fault["impact"] in ("serious", "critical")
            for node in fault["nodes"]
        ]

    def picture(self, name: str) -> None:
        """Keep a screenshot, where a folder for them is named."""
        if folder := os.environ.get("AGENTEX_SCREENSHOTS"):
            Path(folder).mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=Path(folder, f"{name}.png"))


OpenConsole = Callable[..., Console]


@pytest.fixture
def open_console(browser_thread: ThreadPoolExecutor, chromium: Browser) -> Iterator[OpenConsole]:
    """Gives consoles: ``open_console(server, person, language="zh", theme="dark", size=PHONE)``."""
    consoles: list[Console] = []

    def make(
        server: Server,
        person: Api | None = None,
        *,
        language: str = "en",
        theme: str = "light",
        size: tuple[int, int] = DESKTOP,
    ) -> Console:
        locale = "zh-CN" if language == "zh" else "en-US"
        context = chromium.new_context(viewport={"width": size[0], "height": size[1]}, locale=locale)
        context.set_default_timeout(_WAIT_MS)
        kept = {"agentex.theme": theme, **_tokens(person)}
        context.add_init_script(
            f"if (!localStorage.length) for (const [key, value] of Object.entries({json.dumps(kept)}))"
            " localStorage.setItem(key, value)"
        )
        console = Console(context.new_page(), str(server.http.base_url).rstrip("/"))

        def note(message: ConsoleMessage) -> None:
            # The browser itself reports each answer of 400 and more.
            if message.type == "error" and "Failed to load resource" not in message.text:
                console.complaints.append(message.text)

        console.page.on("console", note)
        console.page.on("pageerror", lambda error: console.complaints.append(str(error)))
        consoles.append(console)
        return console

    yield make
    for console in consoles:
        browser_thread.submit(console.page.context.close).result()
    assert [complaint for console in consoles for complaint in console.complaints] == []


def _tokens(person: Api | None) -> dict[str, Any]:
    if person is None:
        return {}
    tokens = {
        "access_token": person.access_token,
        "refresh_token": person.refresh_token,
        "expires_at": (time.time() + 600) * 1000,
    }
    return {"agentex.tokens": json.dumps(tokens)}


@pytest.fixture
def member(embedded: Server) -> Api:
    """Somebody who has logged in at the product without a language model."""
    return embedded.member()
