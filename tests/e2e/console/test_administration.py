"""The administration in the console: accounts, roles, settings, the audit log, and who may open it."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.console.conftest import ENGLISH, PHONE, Console, Look, OpenConsole
from tests.fixtures.http.client import PASSWORD, Api, unique
from tests.fixtures.product.server import ADMIN_PASSWORD, Server

SETTING = "search_top_k"


@pytest.fixture(scope="module")
def manager(servers: Callable[[str], Server]) -> Api:
    """The administrator, who has logged in."""
    server = servers("embedded")
    return server.api().log_in(server.settings.admin_username, ADMIN_PASSWORD)


def choose(page: Page, person: str, action: str) -> None:
    page.get_by_role("button", name=f"More for {person}").click()
    page.get_by_role("menuitem", name=action).click()


def confirm(dialog: Locator, action: str) -> None:
    dialog.get_by_role("button", name=action, exact=True).click()
    expect(dialog).to_be_hidden()


def show(console: Console, person: str) -> Locator:
    """The account in the list, which shows it alone."""
    console.open(f"/admin?q={person}")
    return console.page.get_by_role("list", name="Users").get_by_role("listitem").filter(has_text=person)


def status_of_login(server: Server, name: str, password: str) -> int:
    return server.api().request("POST", "/auth/login", json={"username": name, "password": password}).status_code


def test_account_is_made_given_a_role_and_a_password_closed_and_deleted(
    browser_thread, embedded: Server, manager: Api, open_console: OpenConsole
):
    name = unique("newcomer")
    console = open_console(embedded, manager)
    page, dialog = console.page, console.dialog
    console.open("/admin")
    page.get_by_role("button", name="Add a user").click()
    dialog.get_by_label("User name").fill(name)
    dialog.get_by_label("E-mail address").fill(f"{name}@example.com")
    dialog.get_by_label("New password").fill("12345678")
    dialog.get_by_role("button", name="Create").click()
    expect(dialog.get_by_role("alert")).to_contain_text("Error")
    dialog.get_by_label("New password").fill(PASSWORD)
    confirm(dialog, "Create")
    assert status_of_login(embedded, name, PASSWORD) == 200
    row = show(console, name)
    expect(row).to_contain_text("User")

    choose(page, name, "Change the role")
    dialog.get_by_label("Role").select_option(label="Developer")
    confirm(dialog, "Save")
    expect(row).to_contain_text("Developer")

    person = embedded.api().log_in(name)
    key = person.post("/users/me/api-keys", {"name": "nightly"})["key"]
    choose(page, name, "API keys")
    dialog.get_by_role("button", name="Revoke nightly").click()
    confirm(page.get_by_role("dialog", name="Revoke nightly?"), "Revoke")
    expect(dialog.get_by_text("This account has no keys.")).to_be_visible()
    page.keyboard.press("Escape")
    assert embedded.api(**{"X-API-Key": key}).request("GET", "/users/me").status_code == 401

    choose(page, name, "Reset the password")
    dialog.get_by_label("New password").fill("Another-pass-1")
    confirm(dialog, "Reset the password")
    assert [status_of_login(embedded, name, word) for word in (PASSWORD, "Another-pass-1")] == [401, 200]

    choose(page, name, "Disable")
    confirm(dialog, "Disable")
    expect(row).to_contain_text("Disabled")
    console.picture("users")
    assert status_of_login(embedded, name, "Another-pass-1") == 401
    choose(page, name, "Enable")
    confirm(dialog, "Enable")
    assert status_of_login(embedded, name, "Another-pass-1") == 200

    choose(page, name, "Delete")
    dialog.get_by_label("Knowledge bases and skills").select_option(label="Erase")
    delete = dialog.get_by_role("button", name="Delete", exact=True)
    expect(delete).to_be_disabled()
    dialog.get_by_label(f"Type {name} to confirm").fill(name)
    delete.click()
    expect(dialog).to_be_hidden()
    expect(page.get_by_text("No user fits these filters.")).to_be_visible()
    assert status_of_login(embedded, name, "Another-pass-1") == 401


def test_notice_of_what_was_done_leaves_the_buttons_of_the_next_dialog_free(
    browser_thread, embedded: Server, manager: Api, open_console: OpenConsole
):
    name = unique("newcomer")
    console = open_console(embedded, manager, replace(ENGLISH, size=PHONE))
    page, dialog = console.page, console.dialog
    console.open("/admin")
    page.get_by_role("button", name="Add a user").click()
    dialog.get_by_label("User name").fill(name)
    dialog.get_by_label("E-mail address").fill(f"{name}@example.com")
    dialog.get_by_label("New password").fill(PASSWORD)
    confirm(dialog, "Create")
    notice = page.get_by_role("dialog", name="Saved")
    expect(notice).to_be_visible()
    page.get_by_role("button", name="Add a user").click()
    expect(dialog).to_be_visible()
    console.picture("notice-above-dialog")
    notice_box, button_box = notice.bounding_box(), dialog.get_by_role("button", name="Create").bounding_box()
    assert notice_box
    assert button_box
    assert notice_box["y"] + notice_box["height"] <= button_box["y"]


def test_role_is_made_changed_given_and_deleted(
    browser_thread, embedded: Server, member: Api, manager: Api, open_console: OpenConsole
):
    person, short, shown = member, unique("auditor").lower(), unique("Auditor")
    console = open_console(embedded, manager)
    page, dialog = console.page, console.dialog
    console.open("/admin/roles")
    page.get_by_role("button", name="Add a role").click()
    dialog.get_by_label("Short name").fill(short)
    dialog.get_by_label("Name", exact=True).fill(shown)
    dialog.get_by_role("checkbox", name="Read knowledge bases").check()
    confirm(dialog, "Save")
    expect(page.get_by_role("columnheader", name=shown)).to_be_visible()
    page.get_by_role("button", name=f"Change {shown}").click()
    dialog.get_by_role("checkbox", name="Manage the system").check()
    confirm(dialog, "Save")
    console.picture("roles")
    role = next(role for role in manager.get("/admin/roles")["items"] if role["name"] == short)
    assert sorted(role["permissions"]) == ["kb:view", "system:manage"]

    manager.put(f"/admin/users/{person.user_id}", {"role_id": role["id"]})
    page.get_by_role("link", name=f"Who has {shown}").click()
    expect(page.get_by_role("list", name="Users").get_by_role("listitem")).to_have_count(1)
    expect(page.get_by_text(person.name).first).to_be_visible()
    console.open("/admin/roles")
    page.get_by_role("button", name=f"Delete {shown}").click()
    dialog.get_by_role("button", name="Delete", exact=True).click()
    expect(dialog.get_by_role("alert")).to_contain_text("Error")
    page.keyboard.press("Escape")

    # Whoever manages the system alone sees that part of the administration.
    theirs = open_console(embedded, person)
    theirs.open("/admin")
    theirs.page.wait_for_url("**/admin/settings")
    expect(theirs.page.get_by_role("link", name="Administration")).to_be_visible()
    expect(theirs.page.get_by_role("link", name="Users")).to_have_count(0)
    theirs.open("/admin/roles")
    expect(theirs.page.get_by_text("Your role does not open this page")).to_be_visible()

    usual = next(role for role in manager.get("/admin/roles")["items"] if role["name"] == "user")
    manager.put(f"/admin/users/{person.user_id}", {"role_id": usual["id"]})
    page.get_by_role("button", name=f"Delete {shown}").click()
    confirm(dialog, "Delete")
    expect(page.get_by_role("columnheader", name=shown)).to_have_count(0)


@pytest.mark.parametrize("look", [ENGLISH, Look("zh", "contrast", PHONE)], ids=str)
def test_administration_stays_closed_to_who_may_not_open_it(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole, look: Look
):
    console = open_console(embedded, member, look)
    closed = {"en": "Your role does not open this page", "zh": "你的角色不能打开此页面"}[look.language]
    for path in ("/admin", "/admin/settings", "/admin/audit"):
        console.open(path)
        expect(console.page.get_by_text(closed)).to_be_visible()
    assert console.serious_faults() == []
    name = {"en": "Administration", "zh": "管理"}[look.language]
    expect(console.page.get_by_role("navigation").get_by_text(name, exact=True)).to_have_count(0)
    console.picture("closed")


@pytest.fixture
def unset(manager: Api) -> Iterator[None]:
    """The setting without a stored value, before and after."""
    yield
    manager.request("DELETE", f"/admin/system/config/{SETTING}")


def test_setting_is_changed_within_its_bounds_and_reset(
    browser_thread, embedded: Server, manager: Api, unset: None, open_console: OpenConsole
):
    def stored() -> tuple[int, str]:
        items = manager.get("/admin/system/config")["items"]
        return next((item["value"], item["source"]) for item in items if item["key"] == SETTING)

    console = open_console(embedded, manager)
    console.open("/admin/settings")
    row = console.page.get_by_role("listitem").filter(has_text="AGENTEX_SEARCH_TOP_K")
    expect(row).to_contain_text("1 to 100")
    before = stored()
    row.get_by_role("button", name="Change").click()
    row.get_by_label("Value").fill("101")
    row.get_by_role("button", name="Save").click()
    assert row.get_by_label("Value").evaluate("input => input.validity.rangeOverflow") is True
    assert stored() == before
    row.get_by_label("Value").fill("7")
    row.get_by_role("button", name="Save").click()
    expect(row).to_contain_text("Stored here")
    expect(row).to_contain_text(f"by {manager.name}")
    assert stored() == (7, "stored")
    row.get_by_role("button", name="Change").click()
    row.get_by_role("button", name="Forget the stored value").click()
    expect(row).not_to_contain_text("Stored here")
    assert stored() == before

    # What only the server can judge is refused in words.
    targets = console.page.get_by_role("listitem").filter(has_text="AGENTEX_ALLOWED_PRIVATE_TARGETS")
    targets.get_by_role("button", name="Change").click()
    targets.get_by_label("Value").fill("not a target")
    targets.get_by_role("button", name="Save").click()
    expect(targets.get_by_role("alert")).to_contain_text("Error")


def test_audit_log_is_filtered_paged_and_exported(
    browser_thread, embedded: Server, member: Api, manager: Api, open_console: OpenConsole, tmp_path: Path
):
    person = member
    for _ in range(52):
        embedded.sql(
            "INSERT INTO audit_entry (id, action, actor_id, actor_name, object_type, object_id, object_name, address,"
            " request_id, details, created_at) SELECT lower(hex(randomblob(16))), 'config.changed', :id, :name, object_type,"
            " object_id, object_name, address, request_id, details, created_at FROM audit_entry LIMIT 1",
            id=person.user_id,
            name=person.name,
        )
    console = open_console(embedded, manager)
    page = console.page
    console.open("/admin/audit")
    page.get_by_label("Who").fill(person.name)
    # The list of everybody, which may be as long, stands there until the name has been looked for.
    page.wait_for_url("**actor=**")
    expect(page.get_by_role("heading", name=re.compile(r"^5\d entries"))).to_be_visible()
    rows = page.get_by_role("region", name="Audit log").locator("tbody tr")
    expect(rows).to_have_count(50)
    times = rows.locator("td:first-child")
    assert times.first.evaluate("cell => getComputedStyle(cell).whiteSpace") == "nowrap"
    page.get_by_role("button", name="Next page").click()
    expect(page.get_by_text("Page 2 of 2")).to_be_visible()
    expect(rows.first).to_contain_text("Setting changed")
    page.get_by_label("Action").select_option(label="Signed in")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("Signed in")
    # Codes are words, and stay to be seen: the API and the terminal filter by them.
    expect(rows).to_contain_text("How: password")
    expect(rows.get_by_title("user", exact=True)).to_have_text(f"account {person.name}")
    console.picture("audit")
    with page.expect_download() as download:
        page.get_by_role("button", name="Export as CSV").click()
    file = tmp_path / "audit.csv"
    download.value.save_as(file)
    lines = file.read_text(encoding="utf-8-sig").splitlines()
    assert len(lines) == 2
    assert person.name in lines[1]
    page.get_by_label("From").fill("2099-01-01")
    expect(page.get_by_text("No entry fits these filters.")).to_be_visible()
