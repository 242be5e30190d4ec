"""Versions of a rule in the console: what each changed, and the way back."""

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e.console.conftest import Console, Look, OpenConsole
from tests.fixtures.http.client import Api
from tests.fixtures.product.owned_objects import forbid, make_developer
from tests.fixtures.product.server import Server
from tests.fixtures.rules.written_rules import PATH, plain


@pytest.fixture
def writer(embedded: Server, member: Api) -> Api:
    """Somebody who has logged in and may write rules."""
    make_developer(embedded, member)
    return member


def row_of(console: Console, number: int) -> Locator:
    words = console.look.words("rules")
    rows = console.page.get_by_role("list", name=words("tab.versions")).get_by_role("listitem")
    return rows.filter(has=console.page.get_by_text(words("version.title", number=number), exact=True))


def test_what_a_version_changed_is_shown_and_an_earlier_one_is_restored(
    browser_thread, embedded: Server, writer: Api, open_console: OpenConsole, look: Look
):
    words = look.words("rules")
    rule = writer.post(PATH, plain(name="Greeter", description="first"))
    writer.put(f"{PATH}/{rule['id']}", {"description": "second"})
    writer.put(f"{PATH}/{rule['id']}", {"description": "third", "cooldown": 5000})
    writer.put(f"{PATH}/{rule['id']}/enabled", {"enabled": False})
    console = open_console(embedded, writer, look)
    dialog = console.dialog
    console.open(f"/rules/{rule['id']}/versions")
    current = words("version.current")
    expect(row_of(console, 3).get_by_text(current, exact=True)).to_be_visible()
    expect(row_of(console, 3).get_by_role("button", name=words("version.restore_number", number=3))).to_have_count(0)

    def changes(number: int) -> Locator:
        row_of(console, number).get_by_role("button", name=words("version.show", number=number)).click()
        return row_of(console, number).get_by_role("textbox", name=words("version.show", number=number))

    difference = changes(3)
    for text in ('"description": "second"', '"description": "third"', '"cooldown": 0', '"cooldown": 5000'):
        expect(difference).to_contain_text(text)
    console.picture("difference")
    assert console.serious_faults() == []
    changes(1)
    expect(row_of(console, 1)).to_contain_text(words("version.first"))

    row_of(console, 1).get_by_role("button", name=words("version.restore_number", number=1)).click()
    console.picture("restore")
    with console.answers("/versions/1/restore", "POST"):
        dialog.get_by_role("button", name=words("version.restore"), exact=True).click()
    expect(row_of(console, 4).get_by_text(current, exact=True)).to_be_visible()
    expect(row_of(console, 3).get_by_text(current, exact=True)).to_have_count(0)
    restored = writer.get(f"{PATH}/{rule['id']}")
    assert (restored["version"], restored["description"], restored["enabled"]) == (4, "first", False)
    console.picture("restored")


def test_version_at_the_end_of_a_page_is_compared_with_the_first_of_the_next_and_the_oldest_with_none(
    browser_thread, embedded: Server, writer: Api, open_console: OpenConsole
):
    rule = writer.post(PATH, plain(description="0"))
    for number in range(1, 52):
        writer.put(f"{PATH}/{rule['id']}", {"description": str(number)})
    console = open_console(embedded, writer)
    console.open(f"/rules/{rule['id']}/versions")
    row_of(console, 33).get_by_role("button", name="Changes in version 33").click()
    expect(row_of(console, 33)).to_contain_text('"description": "31"')
    console.page.get_by_role("button", name="Next page").click()
    expect(row_of(console, 32)).to_be_visible()
    console.page.get_by_role("button", name="Next page").click()
    row_of(console, 3).get_by_role("button", name="Changes in version 3").click()
    expect(row_of(console, 3)).to_contain_text("The version before is not kept any more.")


def test_who_may_only_look_at_rules_restores_nothing(
    browser_thread, embedded: Server, writer: Api, open_console: OpenConsole
):
    rule = writer.post(PATH, plain(description="first"))
    writer.put(f"{PATH}/{rule['id']}", {"description": "second"})
    forbid(embedded, writer, "rule:write")
    console = open_console(embedded, writer)
    console.open(f"/rules/{rule['id']}/versions")
    expect(row_of(console, 1)).to_be_visible()
    expect(console.page.get_by_role("button", name="Restore version 1")).to_have_count(0)
