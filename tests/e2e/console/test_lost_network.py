"""A network that is lost, and comes back: on home, on the way to another page, and while signing in."""

import pytest
from playwright.sync_api import Route, expect

from tests.e2e.console.conftest import Console, Look, OpenConsole
from tests.fixtures.http.client import PASSWORD, Api, unique
from tests.fixtures.product.server import Server


def follow(console: Console, name: str) -> None:
    """Follow a link of the navigation, which a phone shows on demand."""
    if console.look.is_phone:
        console.page.get_by_role("button", name=console.look.words("common")("nav.open")).click()
    console.page.get_by_role("navigation").get_by_role("link", name=name, exact=True).click()


@pytest.mark.every_look
def test_home_says_that_the_network_is_gone_and_asks_what_was_typed_afterwards(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole, look: Look
):
    console, words = open_console(embedded, member, look), look.words("home")
    page, lost = console.page, words("common:connection.offline")
    console.open("/")
    question = page.get_by_role("textbox", name=words("ask.label"))
    expect(question).to_be_visible()
    console.set_offline(True)
    expect(page.get_by_text(lost)).to_be_visible()
    console.picture("home-without-network")
    question.fill("On which port?")
    page.keyboard.press("Enter")
    console.set_offline(False)
    page.wait_for_url("**/chat/*")
    expect(page.get_by_text(lost)).to_be_hidden()
    assert len(member.get("/sessions")["items"]) == 1


@pytest.mark.every_look
def test_page_that_could_not_be_loaded_comes_when_the_network_is_back(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole, look: Look
):
    name = unique("Relays")
    member.create_kb(name=name)
    console, words = open_console(embedded, member, look), look.words("common")
    page, lost = console.page, words("connection.offline")
    console.open("/")
    console.set_offline(True)
    follow(console, words("nav.knowledge"))
    expect(page.get_by_text(lost)).to_be_visible()
    # Still the console, and not the browser's own page.
    expect(page.get_by_role("main")).to_be_visible()
    console.picture("page-without-network")
    console.set_offline(False)
    expect(page.get_by_role("link", name=name)).to_be_visible()
    page.wait_for_url("**/knowledge-bases")
    expect(page.get_by_text(lost)).to_be_hidden()
    # The failed file.
    console.complaints.clear()


@pytest.mark.every_look
def test_list_follows_after_the_server_was_silent(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole, look: Look
):
    console, words = open_console(embedded, member, look), look.words("common")
    page, name, silent = console.page, unique("Later"), words("connection.unreachable")
    console.open("/knowledge-bases")

    def cut(route: Route) -> None:
        route.abort("connectionrefused")

    for path in ("**/api/v1/**", "**/healthz"):
        page.route(path, cut)
    follow(console, words("nav.home"))
    expect(page.get_by_text(silent)).to_be_visible()
    follow(console, words("nav.knowledge"))
    member.create_kb(name=name)
    for path in ("**/api/v1/**", "**/healthz"):
        page.unroute(path)
    expect(page.get_by_text(silent)).to_be_hidden()
    expect(page.get_by_role("link", name=name)).to_be_visible()


@pytest.mark.every_look
def test_signing_in_without_a_network_is_told_and_goes_on_after_it(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole, look: Look
):
    console, words = open_console(embedded, look=look), look.words("common")
    page = console.page
    console.open("/sign-in")
    page.get_by_label(words("sign_in.name")).fill(member.name)
    page.get_by_label(words("sign_in.password")).fill(PASSWORD)
    console.set_offline(True)
    expect(page.get_by_text(words("connection.offline"))).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text(words("error.unreachable"))
    console.picture("sign-in-without-network")
    console.set_offline(False)
    expect(page.get_by_role("alert")).to_be_hidden()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=words("home:welcome", name=member.name))).to_be_visible()
