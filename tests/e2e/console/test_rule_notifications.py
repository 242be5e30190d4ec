"""Notifications in the console: what a rule says at an event is shown, counted, read and deleted."""

import pytest
from playwright.sync_api import expect

from tests.e2e.console.conftest import Look, OpenConsole
from tests.fixtures.http.client import Api
from tests.fixtures.product.owned_objects import forbid, make_developer
from tests.fixtures.product.server import Server
from tests.fixtures.rules.stored_rows import add_notification
from tests.fixtures.rules.written_rules import PATH, greeter

HOSTILE = "<img src=x onerror=alert(1)> **Ada**\nis here"


@pytest.fixture
def writer(embedded: Server, member: Api) -> Api:
    """Somebody who has logged in and may write rules."""
    make_developer(embedded, member)
    return member


def test_what_a_rule_says_is_shown_read_and_deleted(
    browser_thread, embedded: Server, writer: Api, open_console: OpenConsole, look: Look
):
    words = look.words("rules")
    rule_id = greeter(embedded, writer, text=HOSTILE)
    name = writer.get(f"{PATH}/{rule_id}")["name"]
    title = "testPlayer has come"
    console = open_console(embedded, writer, look)
    page = console.page
    main = page.get_by_role("main")

    # The first page says so, and leads there.
    console.open("/")
    expect(page.get_by_role("heading", name=words("notification.unread", count=1))).to_be_visible()
    console.picture("home-notification")
    main.get_by_role("link").filter(has_text=title).click()
    page.wait_for_url("**/rules/notifications")
    console.settle()

    row = main.get_by_role("listitem").filter(has_text=title)
    expect(row.get_by_text(words("notification.new"), exact=True)).to_be_visible()
    expect(row.get_by_text(words("then.level_warning"), exact=True)).to_be_visible()
    # It is text with its lines, whatever it looks like.
    expect(row.get_by_text("**Ada**")).to_have_text(HOSTILE, use_inner_text=True)
    expect(row.locator("img")).to_have_count(0)
    console.picture("notifications")
    assert console.serious_faults() == []

    with console.answers("/read"):
        row.get_by_role("button", name=words("notification.read", title=title)).click()
    expect(main.get_by_role("heading", name=words("notification.all_read"))).to_be_visible()
    expect(row.get_by_text(words("notification.new"), exact=True)).to_have_count(0)
    assert writer.get("/notifications")["unread"] == 0

    row.get_by_role("link", name=words("notification.log_of", name=name)).click()
    page.wait_for_url(f"**/rules/{rule_id}/log")
    page.go_back()
    with console.answers("/notifications/", "DELETE"):
        row.get_by_role("button", name=words("notification.delete", title=title)).click()
    expect(main.get_by_role("heading", name=words("notification.none"))).to_be_visible()
    console.picture("no-notifications")
    assert writer.get("/notifications")["total"] == 0


def test_number_of_unread_ones_is_in_the_navigation_and_all_are_read_at_once(
    browser_thread, embedded: Server, writer: Api, open_console: OpenConsole
):
    for number in range(21):
        add_notification(embedded, writer.user_id, title=f"Notice {number}", level="error")
    console = open_console(embedded, writer)
    page = console.page
    navigation = page.get_by_role("navigation", name="Main")
    console.open("/rules/notifications?page=2")
    expect(navigation.get_by_role("link", name="Rules 21 unread notifications")).to_be_visible()
    console.picture("unread-in-navigation")
    expect(page.get_by_text("Page 2 of 2")).to_be_visible()
    with console.answers("/api/v1/notifications/read"):
        page.get_by_role("button", name="Mark all as read").click()
    expect(navigation.get_by_role("link", name="Rules", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="Mark all as read")).to_have_count(0)
    assert writer.get("/notifications")["unread"] == 0
    # With the last one of the last page, the page is gone.
    with console.answers("/notifications/", "DELETE"):
        page.get_by_role("button", name="Delete “Notice 0”").click()
    expect(page.get_by_role("button", name="Delete “Notice 20”")).to_be_visible()
    assert "page=" not in page.url


def test_notifications_are_not_asked_for_in_the_name_of_who_may_not_see_them(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole
):
    add_notification(embedded, member.user_id, title="From better times")
    forbid(embedded, member, "rule:view", "rule:write")
    console = open_console(embedded, member)
    asked = list[str]()
    console.page.on("request", lambda request: asked.append(request.url))
    console.open("/")
    expect(console.page.get_by_role("navigation", name="Main").get_by_role("link", name="Rules")).to_have_count(0)
    assert asked
    assert [url for url in asked if "/notifications" in url] == []


def test_notification_of_a_rule_that_is_gone_leads_nowhere(
    browser_thread, embedded: Server, writer: Api, open_console: OpenConsole
):
    add_notification(embedded, writer.user_id, title="Farewell", rule_id="gone")
    console = open_console(embedded, writer)
    console.open("/rules/notifications")
    row = console.page.get_by_role("main").get_by_role("listitem").filter(has_text="Farewell")
    expect(row.get_by_text("deleted", exact=True)).to_be_visible()
    expect(row.get_by_role("link")).to_have_count(0)
