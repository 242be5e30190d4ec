"""Main actions of the areas by keyboard alone, and where the focus is once what had it is gone."""

import re

from playwright.sync_api import Locator, expect

from tests.e2e.console.chat_page import HANDBOOK, new_chat
from tests.e2e.console.conftest import ENGLISH, Console, OpenConsole
from tests.e2e.console.test_keyboard import press_until
from tests.e2e.console.test_keyboard_dialogs import choose, leave
from tests.fixtures.http.client import Api
from tests.fixtures.product.server import Server
from tests.fixtures.skills.skill_texts import REPORT


def confirm(console: Console, opener: Locator, action: str, *, path: str) -> None:
    """Answer the question before a deletion, once it was left by Escape."""
    page = console.page
    expect(console.dialog.locator(":focus")).to_have_count(1)
    leave(console, opener)
    page.keyboard.press("Enter")
    press_until(page, action, within=console.dialog)
    with console.answers(path, "DELETE"):
        page.keyboard.press("Enter")
    expect(console.dialog).to_be_hidden()


def test_memories_and_keys_are_made_and_deleted_and_the_focus_goes_to_the_next(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole
):
    console = open_console(embedded, member)
    page, dialog = console.page, console.dialog
    console.open("/profile")
    press_until(page, "Make a key")
    page.keyboard.press("Enter")
    expect(dialog.get_by_label("What it is for")).to_be_focused()
    page.keyboard.type("nightly")
    press_until(page, "Make a key", within=dialog)
    page.keyboard.press("Enter")
    press_until(page, "I have kept it", within=dialog)
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Make a key")).to_be_focused()
    press_until(page, "Revoke nightly")
    revoke = page.get_by_role("button", name="Revoke nightly")
    page.keyboard.press("Enter")
    confirm(console, revoke, "Revoke", path="/api-keys/")
    expect(page.get_by_role("button", name="Make a key")).to_be_focused()

    opener = page.get_by_role("button", name="Add a memory")
    for text in ("Has a dog", "Works in Kyoto"):
        press_until(page, "Add a memory")
        page.keyboard.press("Enter")
        expect(dialog.get_by_role("textbox")).to_be_focused()
        page.keyboard.type(text)
        press_until(page, "Save", within=dialog)
        page.keyboard.press("Enter")
        expect(dialog).to_be_hidden()
        expect(opener).to_be_focused()
        expect(page.get_by_role("listitem").filter(has_text=text)).to_be_visible()
    first, second = (page.get_by_role("listitem").filter(has_text=text) for text in ("Works in Kyoto", "Has a dog"))
    press_until(page, "Delete", within=first)
    page.keyboard.press("Enter")
    confirm(console, first.get_by_role("button", name="Delete"), "Delete", path="/memories/")
    expect(first).to_have_count(0)
    expect(second.get_by_role("button", name="Edit")).to_be_focused()
    press_until(page, "Delete", within=second)
    page.keyboard.press("Enter")
    confirm(console, second.get_by_role("button", name="Delete"), "Delete", path="/memories/")
    expect(second).to_have_count(0)
    expect(page.locator("main button:focus")).to_have_count(1)
    assert member.get("/memories")["items"] == []


def test_passage_is_chosen_switched_off_and_written_anew(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole
):
    kb = member.create_kb()
    document = member.ingest(kb, "handbook.md", HANDBOOK)
    console = open_console(embedded, member)
    page = console.page
    console.open(f"/knowledge-bases/{kb}/documents/{document}")
    card = page.get_by_role("article", name="Passage 1")
    press_until(page, "Passage 1", within=card)
    page.keyboard.press("Enter")
    expect(card.get_by_role("button", name="Passage 1", exact=True)).to_have_attribute("aria-pressed", "true")
    # What a press on the text itself does as well.
    page.wait_for_function("CSS.highlights.get('document-chunk')?.size > 0")
    switch = card.get_by_role("switch")
    press_until(page, "Used in searches", "switch", within=card)
    for state in ("false", "true"):
        with console.answers("/chunks/"):
            page.keyboard.press("Space")
        expect(switch).to_have_attribute("aria-checked", state)
        expect(switch).to_be_focused()
    press_until(page, "Edit passage 1", within=card)
    page.keyboard.press("Enter")
    expect(card.get_by_role("textbox")).to_be_focused()
    page.keyboard.press("Control+End")
    page.keyboard.type(" Nobody reads them.")
    press_until(page, "Save", within=card)
    with console.answers("/chunks/"):
        page.keyboard.press("Enter")
    expect(card).to_contain_text("Nobody reads them.")
    expect(card.get_by_role("textbox")).to_have_count(0)
    expect(card.locator(":focus")).to_have_count(1)


def test_answer_is_read_to_its_source_and_the_conversation_renamed_and_deleted(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole
):
    member.ingest(member.create_kb(), "handbook.md", HANDBOOK)
    console = open_console(embedded, member)
    chat = new_chat(member, console)
    page, dialog = chat.page, console.dialog
    chat.ask("On which port does the relay listen?")
    chat.wait_for_answer()
    source = page.get_by_role("article").get_by_role("button", name=re.compile("^Source 1")).first
    source.focus()
    page.keyboard.press("Enter")
    panel = page.get_by_role("complementary", name="Source", exact=True)
    expect(panel).to_be_focused()
    page.keyboard.press("Escape")
    expect(panel).to_have_count(0)
    expect(source).to_be_focused()

    name = f"More about “{member.get('/sessions')['items'][0]['title']}”"
    press_until(page, name)
    # In the list; the page's head has another one.
    menu = page.get_by_role("button", name=name).first
    choose(console, menu, "Rename")
    expect(dialog.get_by_role("textbox")).to_be_focused()
    leave(console, menu)
    choose(console, menu, "Rename")
    page.keyboard.press("Control+a")
    page.keyboard.type("Ports")
    page.keyboard.press("Enter")
    expect(dialog).to_be_hidden()
    menu = page.get_by_role("button", name="More about “Ports”").first
    choose(console, menu, "Delete")
    press_until(page, "Delete", within=dialog)
    with console.answers("/sessions/", "DELETE"):
        page.keyboard.press("Enter")
    page.wait_for_url("**/chat")
    expect(dialog).to_be_hidden()


def test_skill_is_written_in_its_form_and_its_text_is_left_by_tab(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole
):
    skill, words = member.post("/skills", {"content": REPORT}), ENGLISH.words("skills")
    console = open_console(embedded, member)
    page = console.page
    console.open(f"/skills/{skill['id']}")
    text = page.get_by_role("textbox", name=words("editor.source"))
    press_until(page, words("editor.source"), "textbox", most=120)
    page.keyboard.press("Tab")
    expect(text).not_to_be_focused()
    page.keyboard.press("Shift+Tab")
    expect(text).to_be_focused()

    add = words("form.add_to", label=words("form.trigger_conditions"))
    press_until(page, add, most=120)
    page.keyboard.press("Enter")
    page.keyboard.type("What did we do today?")
    remove = words("form.remove_item", label=words("form.trigger_conditions"), number=2)
    press_until(page, remove)
    expect(text).to_contain_text("What did we do today?")
    page.keyboard.press("Enter")
    expect(text).not_to_contain_text("What did we do today?")
    # What stands beside the one that went.
    expect(page.locator("main button:focus")).to_have_count(1)
    press_until(page, add, most=120)
    page.keyboard.press("Enter")
    page.keyboard.type("Sum the day up")
    page.keyboard.press("Tab")
    expect(text).to_contain_text("Sum the day up")
    press_until(page, words("editor.save"), most=120)
    with console.answers(f"/skills/{skill['id']}"):
        page.keyboard.press("Enter")
    assert "Sum the day up" in member.get(f"/skills/{skill['id']}")["content"]
