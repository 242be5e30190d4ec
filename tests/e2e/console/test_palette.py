"""The command palette: everything by its name, with the keyboard alone."""

from playwright.sync_api import expect

from tests.e2e.console.conftest import OpenConsole
from tests.fixtures.http.client import Api, unique
from tests.fixtures.product.server import Server


def test_palette_finds_pages_and_things_by_keyboard(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole
):
    name = unique("Handbook")
    kb = member.create_kb(name=name)
    console = open_console(embedded, member)
    page = console.page
    console.open("/")
    page.keyboard.press("Control+k")
    finder = page.get_by_role("combobox", name="Find anything")
    expect(finder).to_be_focused()
    finder.fill(name[:12].upper())
    expect(page.get_by_role("option", name=name)).to_be_visible()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/knowledge-bases/{kb}")

    page.keyboard.press("Control+k")
    finder.fill("profi")
    expect(page.get_by_role("option").first).to_contain_text("Profile")
    page.keyboard.press("Enter")
    page.wait_for_url("**/profile")

    page.keyboard.press("Control+k")
    finder.fill("no such thing anywhere")
    expect(page.get_by_text("Nothing found")).to_be_visible()
    page.keyboard.press("Escape")
    expect(finder).to_be_hidden()
