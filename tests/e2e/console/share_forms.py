"""The section of a page where something is shared with people and roles."""

from playwright.sync_api import expect

from tests.e2e.console.conftest import Console


def share_on_page(console: Console, username: str, *, picture: str | None = None) -> None:
    """Let somebody write, after a name that nobody has was refused; the page is open."""
    page, words = console.page, console.look.words("common")
    section = page.locator("section").filter(has=page.get_by_role("heading", name=words("shares.title"), exact=True))
    name = section.get_by_label(words("subject.user_name"))
    save = section.get_by_role("button", name=words("action.save"))
    name.fill("nobody-of-this-name")
    section.get_by_role("button", name=words("subject.add"), exact=True).click()
    save.click()
    reason = "没有该名称或 id 的用户" if console.look.is_chinese else "There is no user of this name or id"
    expect(section.get_by_role("alert")).to_contain_text(reason)
    section.get_by_role("button", name=words("subject.remove", name="nobody-of-this-name")).click()
    name.fill(username)
    name.press("Enter")
    section.get_by_label(words("subject.access_of", name=username)).select_option("write")
    if picture is not None:
        console.picture(picture)
    with console.answers("/shares", "PUT"):
        save.click()
