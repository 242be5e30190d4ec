"""Backups in the console: made with progress, cancelled, checked and deleted, and what stands there without a folder."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Route, expect

from core.errors.conflicts import BackupFolderUnset
from tests.e2e.console.conftest import ENGLISH, PHONE, Look, OpenConsole
from tests.fixtures.http.client import Api
from tests.fixtures.product.server import ADMIN_PASSWORD, Server

_JOB_MS = 120_000


@pytest.fixture(scope="module")
def manager(servers: Callable[[str], Server]) -> Api:
    """The administrator, who has logged in."""
    server = servers("embedded")
    return server.api().log_in(server.settings.admin_username, ADMIN_PASSWORD)


def test_backup_is_cancelled_made_checked_and_deleted(
    browser_thread, embedded: Server, manager: Api, open_console: OpenConsole
):
    console = open_console(embedded, manager)
    page = console.page
    before = {row["id"] for row in manager.get("/admin/backups")["items"]}
    console.open("/admin/system")
    page.get_by_role("link", name="Backups", exact=True).click()
    create = page.get_by_role("button", name="Back up now")
    expect(page.get_by_text(f"Folder on the server: {embedded.settings.backup_folder}")).to_be_visible()
    # The test's server has no passphrase.
    expect(page.get_by_text("AGENTEX_BACKUP_PASSPHRASE")).to_be_visible()
    with embedded.frozen("worker"):
        create.click()
        expect(page.get_by_role("progressbar", name="Making a backup")).to_be_visible()
        expect(create).to_be_disabled()
        console.picture("making")
        assert console.serious_faults() == []
        page.get_by_role("button", name="Cancel", exact=True).click()
        expect(page.get_by_text("The last backup was cancelled")).to_be_visible()

    create.click()
    expect(page.get_by_text("The last backup was made")).to_be_visible(timeout=_JOB_MS)
    (made,) = {row["id"] for row in manager.get("/admin/backups")["items"]} - before
    row = page.get_by_role("row").filter(has=page.get_by_title(made, exact=True))
    expect(row).to_contain_text("never")
    row.get_by_role("button", name="More for the backup of").click()
    page.get_by_role("menuitem", name="Check").click()
    expect(page.get_by_text("the backup is whole")).to_be_visible(timeout=_JOB_MS)
    expect(row).to_contain_text("whole, ")
    console.picture("backups")
    assert console.serious_faults() == []

    row.get_by_role("button", name="More for the backup of").click()
    page.get_by_role("menuitem", name="Delete").click()
    dialog = console.dialog
    expect(dialog).to_contain_text("gone for good")
    dialog.get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_text("The last backup was removed")).to_be_visible(timeout=_JOB_MS)
    expect(row).to_be_hidden()
    assert {row["id"] for row in manager.get("/admin/backups")["items"]} == before
    command = f"agentex backup restore {embedded.settings.backup_folder} --data-dir NEWFOLDER"
    expect(page.get_by_label("Command")).to_have_value(command)


@pytest.mark.parametrize("look", [ENGLISH, Look("zh", "dark", PHONE)], ids=str)
def test_page_without_a_folder_says_what_to_set(
    browser_thread, embedded: Server, manager: Api, open_console: OpenConsole, look: Look
):
    console = open_console(embedded, manager, look)
    refusal = {"code": BackupFolderUnset.code, "message": BackupFolderUnset.message, "data": None, "details": {}}

    def refuse(route: Route) -> None:
        route.fulfill(status=BackupFolderUnset.status, json=refusal)

    console.page.route("**/api/v1/admin/backups", refuse)
    console.open("/admin/backups")
    words = look.words("admin")
    expect(console.page.get_by_text(words("backup.unset"), exact=True)).to_be_visible(timeout=60_000)
    expect(console.page.get_by_text("AGENTEX_BACKUP_FOLDER")).to_be_visible()
    expect(console.page.get_by_label(words("backup.restore_command"))).to_have_value(
        "agentex backup restore FOLDER --data-dir NEWFOLDER"
    )
    console.picture("unset")
    assert console.serious_faults() == []
