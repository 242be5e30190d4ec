"""Permissions of a source in the console: out of the way, in sight where they are refused, and named where one is missing."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.e2e.console.conftest import DESKTOP, PHONE, Look, OpenConsole
from tests.e2e.console.words import words_of
from tests.fixtures.http.client import Api
from tests.fixtures.knowledge.knowledge_sources import allowed_targets
from tests.fixtures.product.server import Server
from tests.fixtures.wikis.confluence_server import EMAIL, ConfluenceServer
from tests.fixtures.wikis.rest_server import serving


@pytest.fixture
def wiki(embedded: Server) -> Iterator[ConfluenceServer]:
    service = ConfluenceServer(is_cloud=True)
    with serving(service), allowed_targets(embedded, service.port):
        service.limit_view(service.add("The okapi"), groups=("keepers",))
        service.add("The zebra")
        yield service


@pytest.mark.parametrize("look", [Look("zh", "dark", PHONE), Look("en", "light", DESKTOP)], ids=["phone", "desktop"])
def test_groups_of_a_wiki_are_mapped_where_they_are_missing(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole, wiki: ConfluenceServer, look: Look
):
    words = words_of(look.language, "knowledge")
    kb = member.create_kb()
    console = open_console(embedded, member, look)
    page = console.page
    console.open(f"/knowledge-bases/{kb}/sources")
    page.get_by_role("button", name=words("source.add")).click()
    dialog = page.get_by_role("dialog", name=words("source.add"))
    dialog.get_by_label(words("source.connector")).select_option("confluence")
    dialog.get_by_label(words("source.setting.url"), exact=True).fill(wiki.url("/wiki"))
    dialog.get_by_label(words("source.setting.edition"), exact=True).select_option("cloud")
    dialog.get_by_label(words("source.credential.email"), exact=True).fill(EMAIL)
    dialog.get_by_label(words("source.credential.token"), exact=True).fill(wiki.token)
    groups = dialog.get_by_label(words("source.setting.groups"), exact=True)
    expect(groups).to_be_hidden()
    console.picture("permissions-folded")

    dialog.get_by_text(words("source.permissions"), exact=True).click()
    groups.fill('{"keepers": "ann@example.org"}')
    dialog.get_by_text(words("source.permissions"), exact=True).click()
    expect(groups).to_be_hidden()
    dialog.get_by_role("button", name=words("source.add")).click()
    # What is refused comes into sight by itself.
    expect(groups).to_be_visible()
    expect(groups).to_have_attribute("aria-invalid", "true")
    console.picture("permissions-refused")
    assert console.serious_faults() == []
    groups.fill("")
    dialog.get_by_role("button", name=words("source.add")).click()
    expect(dialog).to_be_hidden()

    # A sync names the group that nobody is mapped to, and closes its page to all but the owner.
    expect(page.get_by_text(re.compile(r"keepers \(1\)"))).to_be_visible(timeout=60_000)
    console.picture("permissions-unmapped")
    [source] = member.get(f"/knowledge-bases/{kb}/sources")
    page.get_by_role("button", name=words("source.more", name=source["name"])).click()
    page.get_by_role("menuitem", name=words("common:action.edit")).click()
    dialog = page.get_by_role("dialog", name=words("source.edit_title", name=source["name"]))
    groups = dialog.get_by_label(words("source.setting.groups"), exact=True)
    dialog.get_by_text(words("source.permissions"), exact=True).click()
    groups.fill('{"keepers": ["everyone"]}')
    console.picture("permissions-mapped")
    dialog.get_by_role("button", name=words("common:action.save")).click()
    expect(dialog).to_be_hidden()
    page.get_by_role("button", name=words("source.sync")).click()
    expect(page.get_by_text(re.compile("keepers"))).to_be_hidden(timeout=60_000)
    [source] = member.get(f"/knowledge-bases/{kb}/sources")
    assert source["settings"]["groups"] == {"keepers": ["everyone"]}
