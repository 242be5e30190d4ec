"""Sources of a knowledge base in the console: added, watched, previewed, confirmed and deleted."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.e2e.console.conftest import PHONE, Look, OpenConsole
from tests.fixtures.http.client import Api, unique
from tests.fixtures.knowledge.knowledge_sources import Source, allowed_targets
from tests.fixtures.product.server import Server
from tests.fixtures.servers.git_server import git_server
from tests.fixtures.servers.web_site import WebSite, web_site


@pytest.fixture
def site(embedded: Server) -> Iterator[WebSite]:
    with web_site() as site, allowed_targets(embedded, site.port):
        site.link("/docs/", "Home", "otter", "heron", "badger")
        for animal in ("otter", "heron", "badger"):
            site.link(f"/docs/{animal}", f"The {animal}")
        yield site


def test_web_site_is_added_followed_and_previewed(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole, site: WebSite
):
    kb = member.create_kb()
    console = open_console(embedded, member)
    page = console.page
    console.open(f"/knowledge-bases/{kb}")
    page.get_by_role("link", name="Sources", exact=True).click()
    expect(page.get_by_text("Not kept in step with anything")).to_be_visible()
    console.picture("sources-none")
    page.get_by_role("button", name="Add a source").click()
    dialog = page.get_by_role("dialog", name="Add a source")
    # Folders belong to the server: only administrators are offered them.
    kinds = [
        "Web site",
        "Git repository",
        "RSS, Atom or JSON feed",
        "S3 bucket",
        "WebDAV or Nextcloud",
        "Mailbox (IMAP)",
        "PostgreSQL, MySQL or MariaDB query",
        "GitHub issues",
        "Confluence",
        "Feishu or Lark",
        "Notion",
    ]
    expect(dialog.get_by_label("Kind").locator("option")).to_have_text(kinds)
    dialog.get_by_label("Address", exact=True).fill("http://127.0.0.1:9/")
    dialog.get_by_role("button", name="Add a source").click()
    expect(dialog.get_by_role("alert")).to_contain_text("AGENTEX_ALLOWED_PRIVATE_TARGETS")
    console.picture("source-refused")
    dialog.get_by_label("Address", exact=True).fill(site.url("/docs/"))
    dialog.get_by_label("Name", exact=True).fill("Animals")
    console.picture("source-form")
    assert console.serious_faults() == []
    dialog.get_by_role("button", name="Add a source").click()
    expect(dialog).to_be_hidden()

    row = page.get_by_role("list", name="Sources").get_by_role("listitem").filter(has_text="Animals")
    expect(row.get_by_text("In step")).to_be_visible(timeout=60_000)
    expect(row).to_contain_text("4 new")
    console.picture("sources")
    assert console.serious_faults() == []

    site.link("/docs/otter", "The otter has moved")
    row.get_by_role("button", name="More about “Animals”").click()
    page.get_by_role("menuitem", name="Preview").click()
    dialog = page.get_by_role("dialog", name="Syncs of “Animals”")
    expect(dialog.get_by_text("What a sync would do")).to_be_visible(timeout=60_000)
    expect(dialog.get_by_role("listitem").filter(has_text="otter.html")).to_be_visible()
    # Nothing was renamed, skipped, restricted or opened.
    columns = ["Begun", "State", "new", "changed", "gone", "failed", "unchanged"]
    expect(dialog.get_by_role("columnheader")).to_have_text(columns)
    console.picture("source-history")
    assert console.serious_faults() == []
    page.keyboard.press("Escape")
    assert len(member.get(f"/knowledge-bases/{kb}/documents")["items"]) == 4


def test_deletions_are_allowed_and_a_source_goes_with_its_documents(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole, site: WebSite
):
    kb = member.create_kb()
    source = Source(member, kb, "web", {"url": site.url("/docs/")})
    source.wait()
    site.link("/docs/", "Home")
    source.sync()
    name = source.body["name"]
    console = open_console(embedded, member, Look("zh", "dark", PHONE))
    page = console.page
    console.open(f"/knowledge-bases/{kb}/sources")
    expect(page.get_by_text("来源中有超过三分之一的文档（3 个）已消失")).to_be_visible()
    console.picture("source-confirm")
    page.get_by_role("button", name="删除 3 个文档").click()
    expect(page.get_by_text("已同步", exact=True)).to_be_visible(timeout=60_000)
    assert set(source.contents()) == {"127.0.0.1 › docs › index.html"}

    page.get_by_role("button", name=f"“{name}”的更多操作").click()
    page.get_by_role("menuitem", name="删除").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("同时删除其 1 个文档").check()
    console.picture("source-delete")
    assert console.serious_faults() == []
    dialog.get_by_role("button", name="删除", exact=True).click()
    expect(page.get_by_text("尚未与任何来源同步")).to_be_visible()
    assert source.contents() == {}


def test_folder_is_added_by_an_administrator(browser_thread, embedded: Server, open_console: OpenConsole):
    folder: Path = embedded.settings.source_folders[0] / unique("manuals")
    folder.mkdir(parents=True)
    (folder / "relay.md").write_text("# Relay\n\nThe relay clicks.\n")
    (folder / "wrong.pdf").write_text("no PDF")
    admin = embedded.admin()
    kb = admin.create_kb()
    console = open_console(embedded, admin)
    page = console.page
    console.open(f"/knowledge-bases/{kb}/sources")
    page.get_by_role("button", name="Add a source").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Kind").select_option("folder")
    place = dialog.get_by_label("Folder", exact=True)
    # Refused beside the field that is wrong.
    place.fill(str(folder.parent / "nowhere"))
    dialog.get_by_role("button", name="Add a source").click()
    expect(place).to_have_attribute("aria-invalid", "true")
    expect(place).to_have_accessible_description(re.compile("folder", re.IGNORECASE))
    console.picture("source-refused")
    place.fill(str(folder))
    dialog.get_by_role("button", name="Add a source").click()
    expect(page.get_by_text("1 new, 1 failed")).to_be_visible(timeout=60_000)
    page.get_by_role("button", name=re.compile("More about")).click()
    page.get_by_role("menuitem", name="History").click()
    dialog = page.get_by_role("dialog", name=re.compile("Syncs of"))
    expect(dialog.get_by_role("listitem").filter(has_text="content does not match its name")).to_be_visible()
    console.picture("source-failures")


def test_private_repository_is_added_with_a_token_that_is_never_shown(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole, tmp_path: Path
):
    kb = member.create_kb()
    with git_server(tmp_path) as git, allowed_targets(embedded, git.port):
        git.user = ("reader", "token-of-the-otter")
        (git.work / "relay.md").write_text("# Relay\n\nThe relay clicks.\n")
        git.commit()
        console = open_console(embedded, member)
        page = console.page
        console.open(f"/knowledge-bases/{kb}/sources")
        page.get_by_role("button", name="Add a source").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Kind").select_option("git")
        dialog.get_by_label("Address", exact=True).fill(git.url)
        dialog.get_by_label("User name", exact=True).fill("reader")
        dialog.get_by_label("Password or token", exact=True).fill("wrong")
        console.picture("source-git")
        assert console.serious_faults() == []
        dialog.get_by_role("button", name="Add a source").click()
        expect(page.get_by_text("may not be read with these credentials")).to_be_visible(timeout=60_000)

        page.get_by_role("button", name=re.compile("More about")).click()
        page.get_by_role("menuitem", name="Edit").click()
        dialog = page.get_by_role("dialog", name=re.compile("^Edit"))
        expect(dialog.get_by_text("Some are stored")).to_be_visible()
        expect(dialog.get_by_label("User name", exact=True)).to_have_value("")
        dialog.get_by_label("User name", exact=True).fill("reader")
        dialog.get_by_label("Password or token", exact=True).fill("token-of-the-otter")
        console.picture("source-credentials")
        assert console.serious_faults() == []
        dialog.get_by_role("button", name="Save").click()
        expect(dialog).to_be_hidden()
        page.get_by_role("button", name="Synchronize now").click()
        expect(page.get_by_text("1 new")).to_be_visible(timeout=60_000)

        # What is stored stays when something else is changed.
        page.get_by_role("button", name=re.compile("More about")).click()
        page.get_by_role("menuitem", name="Edit").click()
        dialog.get_by_label("Only", exact=True).fill("*.md")
        dialog.get_by_role("button", name="Save").click()
        expect(dialog).to_be_hidden()
        [source] = member.get(f"/knowledge-bases/{kb}/sources")
        assert (source["settings"]["include"], source["credentials_set"]) == (["*.md"], ["password", "username"])
