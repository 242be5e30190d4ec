"""Menus and dialogs of the areas by keyboard alone: opened, answered, left by Escape, and the focus returned."""

from playwright.sync_api import Locator, expect

from tests.e2e.console.chat_page import new_chat
from tests.e2e.console.conftest import Console, Look, OpenConsole
from tests.e2e.console.test_keyboard import press_until
from tests.fixtures.http.client import Api
from tests.fixtures.product.server import Server
from tests.fixtures.skills.skill_texts import REPORT

DARK = Look("zh", "dark")


def leave(console: Console, opener: Locator) -> None:
    """Close what is open by Escape, which gives the focus back."""
    console.page.keyboard.press("Escape")
    expect(console.dialog).to_be_hidden()
    expect(opener).to_be_focused()


def choose(console: Console, opener: Locator, entry: str) -> None:
    """Open a menu, go down to an entry and press Enter."""
    page = console.page
    expect(opener).to_be_focused()
    page.keyboard.press("Enter")
    wanted = page.get_by_role("menuitem", name=entry, exact=True)
    expect(page.get_by_role("menu")).to_be_visible()
    for _ in range(10):
        if wanted.evaluate("element => element === document.activeElement"):
            break
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")


def test_document_is_renamed_restricted_and_deleted(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole
):
    kb, words = member.create_kb(), DARK.words("knowledge")
    member.ingest(kb, "relay.md", "# Relay\n\nThe relay listens on port 7070.")
    console = open_console(embedded, member, DARK)
    page, dialog = console.page, console.dialog
    console.open(f"/knowledge-bases/{kb}")
    opener = page.get_by_role("button", name=words("documents.actions_of", name="relay.md"))
    press_until(page, words("documents.actions_of", name="relay.md"))
    for entry in ("action.rename", "action.restrict", "common:action.delete"):
        choose(console, opener, words(entry))
        expect(dialog.locator(":focus")).to_have_count(1)
        leave(console, opener)

    choose(console, opener, words("action.rename"))
    field = dialog.get_by_label(words("field.name"))
    expect(field).to_be_focused()
    page.keyboard.press("Control+a")
    page.keyboard.type("switch.md")
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="switch.md")).to_be_visible()
    expect(page.get_by_role("button", name=words("documents.actions_of", name="switch.md"))).to_be_focused()

    press_until(page, words("documents.select", name="switch.md"), "checkbox")
    page.keyboard.press("Space")
    bar = page.get_by_role("region", name=words("bulk.label"))
    expect(bar).to_be_visible()
    for _ in range(20):
        if bar.get_by_role("button", name=words("common:action.delete")).evaluate("e => e === document.activeElement"):
            break
        page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    press_until(page, words("common:action.delete"), within=dialog)
    page.keyboard.press("Enter")
    expect(dialog).to_be_hidden()
    assert member.get(f"/knowledge-bases/{kb}/documents")["total"] == 0


def test_file_of_a_skill_is_written_and_deleted(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole
):
    words, skill = DARK.words("skills"), member.post("/skills", {"content": REPORT})
    console = open_console(embedded, member, DARK)
    page, dialog = console.page, console.dialog
    console.open(f"/skills/{skill['id']}/files")
    opener = page.get_by_role("button", name=words("files.new"))
    press_until(page, words("files.new"))
    page.keyboard.press("Enter")
    expect(dialog.get_by_label(words("files.path"), exact=True)).to_be_focused()
    leave(console, opener)
    page.keyboard.press("Enter")
    expect(dialog.get_by_label(words("files.path"), exact=True)).to_be_focused()
    page.keyboard.press("End")
    page.keyboard.type("terms.md")
    page.keyboard.press("Tab")
    page.keyboard.type("# Terms")
    press_until(page, words("common:action.save"), within=dialog)
    page.keyboard.press("Enter")
    expect(dialog).to_be_hidden()
    expect(opener).to_be_focused()
    delete = words("files.delete", path="references/terms.md")
    press_until(page, delete)
    page.keyboard.press("Enter")
    expect(dialog).to_be_visible()
    leave(console, page.get_by_role("button", name=delete))
    page.keyboard.press("Enter")
    press_until(page, words("common:action.delete"), within=dialog)
    page.keyboard.press("Enter")
    expect(dialog).to_be_hidden()
    assert member.get(f"/skills/{skill['id']}/files")["items"] == []


def test_choices_of_a_conversation_are_made(browser_thread, embedded: Server, member: Api, open_console: OpenConsole):
    words, kb = DARK.words("chat"), member.create_kb(name="Only this")
    console = open_console(embedded, member, DARK)
    chat = new_chat(member, console)
    page, dialog = chat.page, console.dialog
    opener = page.get_by_role("button", name=words("choice.title"))
    press_until(page, words("choice.title"))
    page.keyboard.press("Enter")
    expect(dialog.get_by_label(words("choice.agent"), exact=True)).to_be_focused()
    leave(console, opener)
    page.keyboard.press("Enter")
    press_until(page, "Only this", "checkbox", within=dialog)
    page.keyboard.press("Space")
    press_until(page, words("common:action.save"), within=dialog)
    page.keyboard.press("Enter")
    expect(dialog).to_be_hidden()
    expect(opener).to_be_focused()
    assert member.get(f"/sessions/{chat.thread}")["config"]["knowledge_base_ids"] == [kb]
