"""Every page: in both languages, light and dark, on a desk and in a hand; nothing keeps anyone out."""

from collections.abc import Callable

import pytest

from tests.e2e.console.conftest import CHINESE, ENGLISH, Console, Look, OpenConsole
from tests.fixtures.http.client import Api
from tests.fixtures.product.server import ADMIN_PASSWORD, Server
from tests.fixtures.rules.written_rules import greeter

PAGES = {
    "home": "/",
    "new-chat": "/chat",
    "knowledge-bases": "/knowledge-bases",
    "documents": "/knowledge-bases/{kb}",
    "document": "/knowledge-bases/{kb}/documents/{document}",
    "search-test": "/knowledge-bases/{kb}/search?q=relay",
    "questions": "/knowledge-bases/{kb}/questions",
    "sources": "/knowledge-bases/{kb}/sources",
    "knowledge-base-settings": "/knowledge-bases/{kb}/settings",
    "search": "/search?q=relay",
    "skills": "/skills",
    "new-skill": "/skills/new",
    "rules": "/rules",
    "notifications": "/rules/notifications",
    "event-sources": "/rules/sources",
    "new-rule": "/rules/new",
    "rule": "/rules/{rule}",
    "rule-log": "/rules/{rule}/log",
    "rule-versions": "/rules/{rule}/versions",
    "connections": "/connections",
    "models": "/models",
    "users": "/admin",
    "system": "/admin/system",
    "backups": "/admin/backups",
    "audit": "/admin/audit",
    "profile": "/profile",
    "nowhere": "/skills/no-such-skill",
}
# The narrowest phone has high contrast, so that each page is looked at once more only.
LOOKS = [ENGLISH, CHINESE, Look(theme="contrast", size=(360, 740))]

# Of each row of tabs, whether the current one lies within what the row shows.
_CURRENT_TABS_SEEN = """
[...document.querySelectorAll("main nav [aria-current=page]")].map((tab) => {
    const [own, row] = [tab.getBoundingClientRect(), tab.closest("nav").getBoundingClientRect()];
    return own.left >= row.left - 1 && own.right <= row.right + 1;
})
"""


@pytest.fixture(scope="module")
def places(embedded_with_documents: tuple[Server, Api, str, str]) -> dict[str, str]:
    server, admin, kb, document = embedded_with_documents
    return {"kb": kb, "document": document, "rule": greeter(server, admin)}


@pytest.mark.timeout(900)
@pytest.mark.parametrize("look", LOOKS, ids=str)
def test_pages_show_their_content_to_everyone(
    browser_thread,
    embedded_with_documents: tuple[Server, Api, str, str],
    open_console: OpenConsole,
    places: dict[str, str],
    look: Look,
):
    server, admin, _, _ = embedded_with_documents
    # One tab sees all pages: its scripts are read once.
    console = open_console(server, admin, look)
    faults = {name: _faults(console, name, address.format(**places)) for name, address in PAGES.items()}
    assert {name: found for name, found in faults.items() if found} == {}


def _faults(console: Console, name: str, address: str) -> list[str]:
    """What is wrong with a page, whatever it shows."""
    console.open(address)
    console.picture(name)
    faults = console.serious_faults()
    if console.page.locator("h1").count() != 1:
        faults.append("the page has not one heading of the first level")
    if console.page.title() == "Agentex":
        faults.append("the page has no title of its own")
    if console.page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
        faults.append("the page scrolls sideways")
    if any(not seen for seen in console.page.evaluate(_CURRENT_TABS_SEEN)):
        faults.append("its own tab is not seen")
    return faults


def test_sign_in_page_is_for_everyone(browser_thread, embedded: Server, open_console: OpenConsole):
    console = open_console(embedded, theme="contrast")
    console.open("/sign-in")
    console.picture("sign-in")
    assert console.serious_faults() == []


@pytest.fixture(scope="module")
def embedded_with_documents(servers: Callable[[str], Server]) -> tuple[Server, Api, str, str]:
    """The product without a language model, its administrator, and a knowledge base with a document."""
    server = servers("embedded")
    admin = server.api().log_in(server.settings.admin_username, ADMIN_PASSWORD)
    kb = admin.create_kb()
    document = admin.ingest(
        kb, "relay.md", "# Relay\n\nThe relay listens on port 7070.\n\n## Restart\n\nPress the button."
    )
    return server, admin, kb, document
