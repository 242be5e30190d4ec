"""A browser for the tests of the console.

Playwright's synchronous API keeps an event loop in its thread. These tests run in a thread of their own, so that
fixtures and other tests may run loops in pytest's.
"""

import contextlib
import json
import os
import shutil
import time
import zlib
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from _pytest._code.code import ExceptionRepr
from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, expect, sync_playwright
from playwright.sync_api import Error as PlaywrightError

from tests.e2e.console.words import Words, words_of
from tests.fixtures.http.client import Api
from tests.fixtures.paths import ROOT
from tests.fixtures.product.server import Server

AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
DESKTOP, PHONE = (1280, 800), (390, 844)
# The shell is the same engine without a desktop browser's own pages, which take half a second of a core in each window.
_PROGRAMS = ("chromium-headless-shell", "chromium", "google-chrome")
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
# The largest pages are drawn for as long on a busy machine.
_DRAWN_MS = 120_000
# While it edits, Chromium itself sets styles in an editable element, which the policy refuses and a message reports.
# Styles elsewhere are complained of here, with their place.
_OWN_STYLES = """
document.addEventListener("securitypolicyviolation", (event) => {
    const path = event.composedPath();
    if (event.effectiveDirective.startsWith("style-src") && !path.some((node) => node.isContentEditable))
        console.error(`inline style: ${path[0].outerHTML?.slice(0, 200)}`);
}, true);
"""
_BROWSERS_STYLE = "Applying inline style violates"
_FAILED = pytest.StashKey[bool]()
_SHOWN_CHARACTERS = 6000
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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run a browser test that failed once more: on a busy machine a click can miss what moves.

    The summary lists each test that was run again, with what it had said.
    """
    for item in items:
        if isinstance(item, pytest.Function) and "browser_thread" in item.fixturenames:
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Tell the fixtures of a test whether it failed."""
    report = yield
    if report.when == "setup" or report.failed:
        item.stash[_FAILED] = report.failed
    if report.when == "call" and report.failed and isinstance(report.longrepr, ExceptionRepr):
        _describe_pages(item, report.longrepr)
    return report


def _describe_pages(item: pytest.Item, failure: ExceptionRepr) -> None:
    """Add to a failure what its consoles show: what Playwright says of it is cut."""
    thread: ThreadPoolExecutor = getattr(item, "funcargs", {})["browser_thread"]
    for console in item.stash.get(_CONSOLES, []):
        with contextlib.suppress(PlaywrightError):
            shown = thread.submit(console.page.locator("body").aria_snapshot).result()
            failure.addsection(console.page.url, shown[-_SHOWN_CHARACTERS:])


@pytest.fixture(scope="session")
def browser_thread() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as thread:
        yield thread


@pytest.fixture(scope="session")
def chromium(browser_thread: ThreadPoolExecutor) -> Iterator[Browser]:
    """Debian's Chromium; Playwright's own is not in a registry."""
    program = next(filter(None, map(shutil.which, _PROGRAMS)), None)
    if program is None:
        pytest.skip("no Chromium here: scripts/setup_browser.sh installs it")
    playwright = browser_thread.submit(sync_playwright().start).result()
    launch = playwright.chromium.launch
    browser = browser_thread.submit(lambda: launch(executable_path=program, args=list(_QUIET))).result()
    yield browser
    browser_thread.submit(browser.close).result()
    browser_thread.submit(playwright.stop).result()


@dataclass(frozen=True)
class Look:
    """How somebody sees the console: the language, the colours, and the size of the screen."""

    language: str = "en"
    theme: str = "light"
    size: tuple[int, int] = DESKTOP

    def __str__(self) -> str:
        return f"{self.language}-{self.theme}-{'phone' if self.is_phone else 'desktop'}"

    @property
    def is_chinese(self) -> bool:
        return self.language == "zh"

    @property
    def is_phone(self) -> bool:
        return self.size[0] <= PHONE[0]

    def words(self, area: str) -> Words:
        """The console's own words of an area, in the language of this look."""
        return words_of(self.language, area)


ENGLISH, CHINESE = Look(), Look("zh", "dark", PHONE)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Show the console to a test in English, light, on a desk, or in Chinese, dark, in a hand; in both where it is marked so."""
    marks = metafunc.definition.iter_markers("parametrize")
    if "look" in metafunc.fixturenames and not any("look" in mark.args[0] for mark in marks):
        looks = (ENGLISH, CHINESE)
        if not any(metafunc.definition.iter_markers("every_look")):
            # Half of the tests each, and a test always the same.
            looks = (looks[zlib.crc32(metafunc.function.__name__.encode()) % 2],)
        metafunc.parametrize("look", looks, ids=str)


@dataclass
class Console:
    """The console in a tab of its own browser profile.

    Attributes:
        page: the tab.
        look: its language, colours and size at the beginning.
        area: what is tested; pictures are kept under it.
        complaints: what the browser's console said of errors; the fixture wants none.
    """

    page: Page
    base: str
    look: Look = ENGLISH
    area: str = "console"
    complaints: list[str] = field(default_factory=list[str])

    @property
    def dialog(self) -> Locator:
        """The dialog over the page; a toast is one without a title."""
        return self.page.locator("[role=dialog][aria-labelledby], [role=alertdialog][aria-labelledby]")

    def open(self, path: str) -> None:
        """Go to a page and wait until nothing loads."""
        self.page.goto(self.base + path)
        self.settle()

    def settle(self) -> None:
        """Wait until the page has its title and no skeleton is left; a stream may stay open."""
        skeletons = self.page.locator("[role=status][aria-label]")
        self.page.wait_for_selector("h1")
        expect(skeletons).to_have_count(0, timeout=_DRAWN_MS)
        # A query that begins now would show another skeleton in the next frame.
        self.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        expect(skeletons).to_have_count(0, timeout=_DRAWN_MS)

    def answers(self, path: str, method: str = "PUT") -> AbstractContextManager[object]:
        """What happens inside has been answered by the server: ``with console.answers("/shares"): ...``."""
        return self.page.expect_response(lambda answer: path in answer.url and answer.request.method == method)

    def drop(self, *paths: Path, at: tuple[int, int] = (300, 300)) -> None:
        """Drop files and folders of this machine on the page, as a file manager does."""
        session = self.page.context.new_cdp_session(self.page)
        data = {"items": [], "files": [str(path) for path in paths], "dragOperationsMask": 1}
        for kind in ("dragEnter", "dragOver", "drop"):
            session.send("Input.dispatchDragEvent", {"type": kind, "x": at[0], "y": at[1], "data": data})
        session.detach()

    def highlighted(self, name: str) -> str:
        """The text that the browser marks under one of the console's names for highlights."""
        script = "name => [...(CSS.highlights.get(name) ?? [])].map((range) => range.toString()).join(' ')"
        return str(self.page.evaluate(script, name))

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

    def set_offline(self, is_offline: bool) -> None:
        """Take the network away, or give it back."""
        self.page.context.set_offline(is_offline)
        if is_offline:
            # The browser may tell the page before requests fail: what is asked again at once would still be answered.
            self.page.evaluate("window.dispatchEvent(new Event('offline'))")

    def picture(self, name: str) -> None:
        """Keep a screenshot, where a folder for them is named: ``chat/stopped-zh-dark-phone.png``."""
        if folder := os.environ.get("AGENTEX_TEST_SCREENSHOTS"):
            self.page.screenshot(path=Path(folder, self.area, f"{name}-{self.look}.png"))


OpenConsole = Callable[..., Console]
_CONSOLES = pytest.StashKey[list[Console]]()


@pytest.fixture
def open_console(
    request: pytest.FixtureRequest, browser_thread: ThreadPoolExecutor, chromium: Browser
) -> Iterator[OpenConsole]:
    """Gives consoles: ``open_console(server, person, look)``, or with parts of a look: ``theme="dark", size=PHONE``."""
    consoles = request.node.stash[_CONSOLES] = list[Console]()
    area = request.path.stem.removeprefix("test_")

    def make(server: Server, person: Api | None = None, look: Look = ENGLISH, **parts: Any) -> Console:
        look = replace(look, **parts)
        locale = "zh-CN" if look.is_chinese else "en-US"
        context = chromium.new_context(viewport={"width": look.size[0], "height": look.size[1]}, locale=locale)
        context.set_default_timeout(_WAIT_MS)
        kept = {"agentex.theme": look.theme, **_tokens(person)}
        context.add_init_script(
            f"if (!localStorage.length) for (const [key, value] of Object.entries({json.dumps(kept)}))"
            " localStorage.setItem(key, value)"
        )
        context.add_init_script(_OWN_STYLES)
        console = Console(context.new_page(), str(server.http.base_url).rstrip("/"), look, area)

        def note(message: ConsoleMessage) -> None:
            # The browser itself reports each answer of 400 and more.
            expected = ("Failed to load resource", _BROWSERS_STYLE)
            if message.type == "error" and not any(text in message.text for text in expected):
                console.complaints.append(message.text)

        console.page.on("console", note)
        console.page.on("pageerror", lambda error: console.complaints.append(str(error)))
        consoles.append(console)
        return console

    yield make
    for place, console in enumerate(consoles):
        if request.node.stash.get(_FAILED, False):
            console.area = "failed"
            browser_thread.submit(console.picture, f"{request.node.originalname}-{place}").result()
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
