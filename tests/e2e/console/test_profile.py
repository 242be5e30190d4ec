"""The profile in the console: keys, password, memories, the calendar feed, language and colours."""

import pytest
from playwright.sync_api import expect

from tests.e2e.console.conftest import DESKTOP, PHONE, OpenConsole
from tests.fixtures.http.client import PASSWORD, Api
from tests.fixtures.product.server import Server


def test_key_is_shown_once_copied_works_and_is_revoked(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole
):
    console = open_console(embedded, member)
    page, dialog = console.page, console.dialog
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    console.open("/profile")
    page.get_by_role("button", name="Make a key").click()
    dialog.get_by_label("What it is for").fill("nightly import")
    dialog.get_by_role("switch", name="Only some permissions").click()
    expect(dialog.get_by_role("button", name="Make a key")).to_be_disabled()
    dialog.get_by_role("checkbox", name="Read skills").check()
    dialog.get_by_role("button", name="Make a key").click()
    key = dialog.get_by_label("API key").input_value()
    dialog.get_by_role("button", name="Copy").click()
    expect(dialog.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == key
    console.picture("api-key")
    dialog.get_by_role("button", name="I have kept it").click()
    expect(dialog).to_be_hidden()
    row = page.get_by_role("listitem").filter(has_text="nightly import")
    expect(row).to_contain_text("Read skills")
    assert key not in page.content()
    program = embedded.api(**{"X-API-Key": key})
    assert [program.request("GET", path).status_code for path in ("/skills", "/memories")] == [200, 403]
    row.get_by_role("button", name="Revoke nightly import").click()
    dialog.get_by_role("button", name="Revoke", exact=True).click()
    expect(page.get_by_text("You have no keys.")).to_be_visible()
    assert program.request("GET", "/skills").status_code == 401


def test_password_is_changed_with_the_present_one_alone(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole
):
    other = embedded.api().log_in(member.name)
    console = open_console(embedded, member)
    page = console.page
    console.open("/profile")
    page.get_by_label("Present password").fill("Not-the-password-1")
    page.get_by_label("New password").fill("Another-pass-1")
    page.get_by_role("button", name="Change the password").click()
    expect(page.get_by_role("alert")).to_contain_text("Error")
    page.get_by_label("Present password").fill(PASSWORD)
    page.get_by_role("button", name="Change the password").click()
    expect(page.get_by_text("Your password was changed")).to_be_visible()
    embedded.api().log_in(member.name, "Another-pass-1")
    refresh = {"refresh_token": other.refresh_token}
    assert other.request("POST", "/auth/refresh", json=refresh).status_code == 401
    console.open("/profile")


def test_memories_are_kept_changed_and_forgotten(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole
):
    def texts() -> list[str]:
        return sorted(memory["text"] for memory in member.get("/memories")["items"])

    for text in ("Prefers short answers", "Works in Kyoto", "Has a dog"):
        member.post("/memories", {"text": text})
    console = open_console(embedded, member)
    page, dialog = console.page, console.dialog
    console.open("/profile")
    memories = page.get_by_role("list", name="Your memories").get_by_role("listitem")
    expect(memories).to_have_count(3)
    page.get_by_label("Search memories").fill("Kyoto")
    expect(memories).to_have_count(1)
    memories.get_by_role("button", name="Edit").click()
    dialog.get_by_label("What agents should know").fill("Works in Osaka")
    dialog.get_by_role("button", name="Save").click()
    expect(page.get_by_text("No memory fits this.")).to_be_visible()
    page.get_by_label("Search memories").fill("")
    memories.filter(has_text="Has a dog").get_by_role("button", name="Delete").click()
    dialog.get_by_role("button", name="Delete", exact=True).click()
    expect(memories).to_have_count(2)
    assert texts() == ["Prefers short answers", "Works in Osaka"]
    page.get_by_role("button", name="Forget everything").click()
    dialog.get_by_role("button", name="Forget everything").click()
    expect(page.get_by_text("Nothing is remembered about you yet")).to_be_visible()
    assert texts() == []
    with console.answers("/users/me"):
        page.get_by_role("switch", name="Agents may use memories").click()
    expect(page.get_by_role("switch", name="Note facts after each conversation")).to_be_disabled()
    assert member.get("/users/me")["use_memories"] is False


def test_calendar_feed_is_made_read_and_revoked(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole
):
    console = open_console(embedded, member)
    page, dialog = console.page, console.dialog
    console.open("/profile")
    expect(page.get_by_text("Calendar programs can subscribe")).to_be_visible()
    page.get_by_role("button", name="Make an address").click()
    address = page.get_by_label("Address", exact=True).input_value()
    feed = embedded.http.get(address)
    assert feed.text.startswith("BEGIN:VCALENDAR")
    page.get_by_role("button", name="Revoke the address").click()
    dialog.get_by_role("button", name="Revoke the address").click()
    expect(page.get_by_role("button", name="Make an address")).to_be_visible()
    assert embedded.http.get(address).status_code == 404


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_language_colours_time_zone_and_name_are_kept(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole, size: tuple[int, int]
):
    console = open_console(embedded, member, size=size)
    page = console.page
    console.open("/profile")
    page.get_by_label("Time zone of your account").select_option("Asia/Tokyo")
    expect(page.get_by_text("Saved")).to_be_visible()
    assert member.get("/users/me")["settings"]["timezone"] == "Asia/Tokyo"
    page.get_by_label("Colours").select_option(label="High contrast")
    page.get_by_label("Language").select_option(label="中文")
    expect(page.get_by_role("heading", name="个人设置")).to_be_visible()
    name = f"{member.name}-2"
    page.get_by_label("用户名").fill(name)
    page.get_by_role("button", name="保存", exact=True).first.click()
    expect(page.get_by_text("已保存")).to_be_visible()
    page.reload()
    console.settle()
    expect(page.get_by_label("用户名")).to_have_value(name)
    assert page.evaluate("[document.documentElement.lang, document.documentElement.dataset.theme]") == [
        "zh-CN",
        "contrast",
    ]
    assert console.serious_faults() == []
    console.picture("contrast")


def test_what_tools_may_do_is_chosen_and_taken_back(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole
):
    console = open_console(embedded, member)
    page = console.page
    console.open("/profile")
    row = page.get_by_role("row", name="Remember something")
    with console.answers("/tool-policies"):
        row.get_by_role("combobox").select_option(label="ask first")
    expect(page.get_by_role("button", name="Take all choices back")).to_be_visible()
    chosen = [(each["tool"], each["policy"]) for each in member.get("/users/me/tool-policies")["items"] if each["own"]]
    assert chosen == [("save_memory", "ask")]
    page.get_by_role("button", name="Take all choices back").click()
    console.dialog.get_by_role("button", name="Take all choices back").click()
    expect(page.get_by_role("button", name="Take all choices back")).to_have_count(0)
    assert [each for each in member.get("/users/me/tool-policies")["items"] if each["own"]] == []
