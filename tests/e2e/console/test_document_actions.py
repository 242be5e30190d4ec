"""What is done with documents: renamed, read in another encoding, paused, cancelled and deleted while they are processed,
and several at once."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.console.conftest import CHINESE, Look, OpenConsole
from tests.e2e.console.words import Words
from tests.fixtures.http.client import Api
from tests.fixtures.product.server import Server

RUSSIAN = "Насос отдыхает по воскресеньям. Клапан открывается в полдень, когда реле это разрешает. " * 4
# Some thousand passages: no machine is done with them before somebody clicks.
LONG = "".join(
    f"Line {number} of the log tells of pump {number % 97}, which ran all night.\n" for number in range(28_000)
)


def row(page: Page, name: str) -> Locator:
    return page.get_by_role("row").filter(has_text=name)


def choose(page: Page, words: Words, name: str, action: str) -> None:
    """Choose an entry of a document's menu."""
    page.get_by_role("button", name=words("documents.actions_of", name=name)).click()
    page.get_by_role("menuitem", name=action, exact=True).click()


def test_document_is_renamed_and_read_in_another_encoding(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole
):
    kb, words = member.create_kb(), CHINESE.words("documents")
    document = member.ingest(kb, "pump.txt", RUSSIAN.encode("cp1251"))
    console = open_console(embedded, member, CHINESE)
    page, dialog = console.page, console.dialog
    console.open(f"/knowledge-bases/{kb}/documents/{document}")
    expect(page.get_by_text("Насос отдыхает").first).to_be_visible()

    def edit(name: str, encoding: str) -> None:
        page.get_by_role("button", name=words("common:action.more"), exact=True).click()
        page.get_by_role("menuitem", name=words("action.edit")).click()
        dialog.get_by_label(words("edit.name"), exact=True).fill(name)
        dialog.get_by_label(words("details.encoding")).select_option(encoding)
        console.picture("edit-document")
        dialog.get_by_role("button", name=words("common:action.save"), exact=True).click()
        expect(dialog).to_be_hidden()

    edit("насос.txt", "koi8-r")
    expect(page.get_by_role("heading", name="насос.txt", level=1)).to_be_visible()
    # The page follows the work: its text comes anew, as somebody reads it who has chosen wrongly.
    misread = RUSSIAN.encode("cp1251").decode("koi8-r")[:14]
    expect(page.get_by_role("main")).to_contain_text(misread, timeout=30_000)
    assert member.document(kb, document)["chosen_encoding"] == "koi8-r"
    edit("насос.txt", "auto")
    expect(page.get_by_role("main")).to_contain_text("Насос отдыхает", timeout=30_000)
    assert member.document(kb, document)["chosen_encoding"] is None


@pytest.mark.every_look
def test_document_is_paused_cancelled_and_deleted_while_it_is_processed(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole, look: Look
):
    kb, words = member.create_kb(chunk_size=64, chunk_overlap=0), look.words("knowledge")
    document = member.upload(kb, "night.txt", LONG)
    console = open_console(embedded, member, look)
    page, dialog, line = console.page, console.dialog, row(console.page, "night.txt")
    console.open(f"/knowledge-bases/{kb}")
    expect(line).to_contain_text(words("status.processing"), timeout=60_000)
    expect(line.get_by_role("progressbar")).to_be_visible()
    console.picture("processing")
    choose(page, words, "night.txt", words("action.pause"))
    expect(line).to_contain_text(words("status.paused"))
    choose(page, words, "night.txt", words("action.resume"))
    expect(line).to_contain_text(words("status.processing"), timeout=60_000)
    choose(page, words, "night.txt", words("action.cancel"))
    expect(line).to_contain_text(words("status.cancelled"))
    assert member.document(kb, document)["status"] == "cancelled"
    choose(page, words, "night.txt", words("action.retry"))
    expect(line).to_contain_text(words("status.processing"), timeout=60_000)
    choose(page, words, "night.txt", words("common:action.delete"))
    dialog.get_by_role("button", name=words("common:action.delete"), exact=True).click()
    expect(dialog).to_be_hidden()
    expect(line).to_have_count(0)
    assert member.get(f"/knowledge-bases/{kb}/documents")["total"] == 0


def test_several_documents_are_restricted_processed_again_and_deleted_at_once(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole
):
    kb = member.create_kb()
    for name in ("relay.md", "valve.md"):
        member.ingest(kb, name, f"# {name}\n\nText of {name}.")
    for name in ("one.pdf", "two.pdf"):
        member.wait(kb, member.upload(kb, name, b"%PDF-1.7\nnothing of a PDF"))
    console = open_console(embedded, member)
    page, dialog = console.page, console.dialog
    bar = page.get_by_role("region", name="Actions for several documents")

    def documents() -> dict[str, dict]:
        return {item["name"]: item for item in member.get(f"/knowledge-bases/{kb}/documents")["items"]}

    console.open(f"/knowledge-bases/{kb}")
    for name in ("relay.md", "valve.md"):
        page.get_by_role("checkbox", name=f"Select {name}").check()
    expect(bar).to_contain_text("2 selected")
    # What fits none of them is not offered.
    expect(bar.get_by_role("button", name="Process again")).to_have_count(0)
    console.picture("several")
    bar.get_by_role("button", name="Who may read it").click()
    expect(dialog.get_by_text("This replaces the lists")).to_be_visible()
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_be_hidden()
    expect(page.get_by_role("img", name="Only some people may read it")).to_have_count(2)
    assert sorted(name for name, document in documents().items() if document["restricted"]) == ["relay.md", "valve.md"]

    before = documents()
    page.get_by_label("Status", exact=True).select_option("failed")
    expect(bar).to_contain_text("2 documents: Failed")
    bar.get_by_role("button", name="Process all again").click()
    expect(page.get_by_text("2 documents are processed again.").first).to_be_visible()
    for name in ("one.pdf", "two.pdf"):
        assert member.wait(kb, before[name]["id"])["updated_at"] > before[name]["updated_at"]
    console.open(f"/knowledge-bases/{kb}?status=failed")
    bar.get_by_role("button", name="Delete all").click()
    expect(dialog.get_by_role("heading", name="Delete 2 documents?")).to_be_visible()
    dialog.get_by_role("button", name="Delete", exact=True).click()
    expect(dialog).to_be_hidden()
    expect(page.get_by_text("No document matches")).to_be_visible()

    page.get_by_role("button", name="All", exact=True).click()
    choose_name = page.get_by_role("button", name="Actions for relay.md")
    choose_name.click()
    page.get_by_role("menuitem", name="Rename").click()
    dialog.get_by_label("Name").fill("switch.md")
    dialog.get_by_role("button", name="Rename").click()
    expect(page.get_by_role("link", name="switch.md")).to_be_visible()
    page.get_by_role("checkbox", name="Select all on this page").check()
    expect(bar).to_contain_text("2 selected")
    bar.get_by_role("button", name="Delete").click()
    dialog.get_by_role("button", name="Delete", exact=True).click()
    expect(dialog).to_be_hidden()
    expect(page.get_by_role("row").filter(has_text=re.compile(r"\.md"))).to_have_count(0)
    assert documents() == {}
