"""Event sources in the console: made, used, given another secret, deleted."""

import subprocess
import sys

import pytest
from playwright.sync_api import expect

from core.errors.auth import EventRefused
from core.errors.requests import InvalidRequest
from tests.e2e.console.conftest import Look, OpenConsole
from tests.fixtures.http.client import Api, check_error, check_success
from tests.fixtures.product.owned_objects import forbid, make_developer
from tests.fixtures.product.server import Server
from tests.fixtures.rules.written_rules import JOIN, PATH, send_event

SOURCES = f"{PATH}/sources"


@pytest.fixture
def writer(embedded: Server, member: Api) -> Api:
    """Somebody who has logged in and may write rules."""
    make_developer(embedded, member)
    return member


def test_secret_is_shown_once_replaced_and_the_source_deleted(
    browser_thread, embedded: Server, writer: Api, open_console: OpenConsole, look: Look
):
    words = look.words("rules")
    console = open_console(embedded, writer, look)
    page, dialog = console.page, console.dialog
    name = "Game server"
    console.open("/rules/sources")
    expect(page.get_by_role("heading", name=words("source.none"))).to_be_visible()
    console.picture("no-sources")
    assert console.serious_faults() == []

    page.get_by_role("button", name=words("source.new")).click()
    dialog.get_by_label(words("source.name"), exact=True).fill(name)
    dialog.get_by_role("button", name=words("common:action.create"), exact=True).click()
    secret = dialog.get_by_label(words("source.secret"), exact=True).input_value()
    console.picture("secret")
    assert console.serious_faults() == []
    dialog.get_by_role("button", name=words("source.kept")).click()
    expect(dialog).to_be_hidden()
    assert secret not in page.content()
    address = page.get_by_label(words("source.address_of", name=name)).input_value()
    source = {"url": address, "secret": secret}
    assert check_success(send_event(embedded.http, source, JOIN))["duplicate"] is False
    # What came from it is shown by itself.
    row = page.get_by_role("main").get_by_role("listitem").filter(has_text=name)
    expect(row).to_contain_text("player_join (1)", timeout=30_000)
    check_error(send_event(embedded.http, source, {"type": "", "data": {}}), InvalidRequest)
    expect(row).to_contain_text(f"1 {words('source.drop.unusable')}", timeout=30_000)
    console.picture("sources")
    assert console.serious_faults() == []

    def open_menu(entry: str) -> None:
        page.get_by_role("button", name=words("action.more", name=name)).click()
        page.get_by_role("menuitem", name=entry).click()

    open_menu(words("source.rotate"))
    console.picture("another-secret")
    dialog.get_by_role("button", name=words("source.rotate")).click()
    other = dialog.get_by_label(words("source.secret"), exact=True).input_value()
    dialog.get_by_role("button", name=words("source.kept")).click()
    expect(dialog).to_be_hidden()
    assert other != secret
    check_error(send_event(embedded.http, source, JOIN), EventRefused)
    check_success(send_event(embedded.http, {**source, "secret": other}, JOIN))

    open_menu(words("common:action.delete"))
    console.picture("delete-source")
    dialog.get_by_role("button", name=words("common:action.delete"), exact=True).click()
    expect(page.get_by_role("heading", name=words("source.none"))).to_be_visible()
    check_error(send_event(embedded.http, {**source, "secret": other}, JOIN), EventRefused)


def test_name_that_is_taken_is_refused_in_the_dialog(
    browser_thread, embedded: Server, writer: Api, open_console: OpenConsole
):
    writer.post(SOURCES, {"name": "Game server"})
    console = open_console(embedded, writer)
    console.open("/rules/sources")
    console.page.get_by_role("button", name="New event source").click()
    console.dialog.get_by_label("Name", exact=True).fill("Game server")
    console.dialog.get_by_role("button", name="Create", exact=True).click()
    expect(console.dialog.get_by_role("alert")).to_contain_text("Error")
    assert writer.get(SOURCES)["total"] == 1


@pytest.mark.parametrize(
    ("language", "program"), [("python", [sys.executable, "-c"]), ("curl", ["bash", "-ec"])], ids=["python", "curl"]
)
def test_examples_of_senders_send_what_is_accepted(
    browser_thread, embedded: Server, writer: Api, open_console: OpenConsole, language: str, program: list[str]
):
    source = writer.post(SOURCES, {"name": "Game server"})
    console = open_console(embedded, writer)
    page = console.page
    console.open("/rules/sources")
    page.get_by_text("How to sign events").click()
    page.get_by_label("Example in").and_(page.get_by_role("combobox")).select_option(language)
    example = page.get_by_role("region", name="Example in")
    console.picture(f"example-{language}")
    assert console.serious_faults() == []
    script = example.inner_text().replace("whsec_...", source["secret"])
    sent = subprocess.run([*program, script], capture_output=True, text=True, check=False)
    assert '"duplicate":false' in sent.stdout.replace(" ", ""), sent.stderr
    query = "SELECT type FROM accepted_event WHERE source_id = :id"
    assert embedded.sql(query, id=source["id"]) == [{"type": "player_join"}]


def test_who_may_only_look_at_rules_is_offered_no_change(
    browser_thread, embedded: Server, writer: Api, open_console: OpenConsole
):
    writer.post(SOURCES, {"name": "Game server"})
    forbid(embedded, writer, "rule:write")
    console = open_console(embedded, writer)
    console.open("/rules/sources")
    expect(console.page.get_by_label("Address of Game server")).to_be_visible()
    expect(console.page.get_by_role("button", name="New event source")).to_have_count(0)
    expect(console.page.get_by_role("button", name="More for Game server")).to_have_count(0)
