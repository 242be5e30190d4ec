"""The command palette: everything by its name, with the keyboard alone."""

from playwright.sync_api import expect

from tests.e2e.console.conftest import Console, OpenConsole
from tests.fixtures.http.client import Api, unique
from tests.fixtures.product.server import Server
from tests.fixtures.rules.written_rules import developer
from tests.fixtures.skills.skill_texts import REPORT


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


def share_rule(server: Server, reader: Api, name: str) -> None:
    """A rule of somebody else's that the reader may see."""
    owner = developer(server)
    trigger, notify = (
        {"event_type": "document.failed"},
        {"type": "notify", "params": {"title": "Failed", "text": "See the log"}},
    )
    rule = owner.post("/rules", {"name": name, "trigger_config": trigger, "actions": [notify]})
    owner.put(f"/rules/{rule['id']}/shares", {"shares": [{"user_id": reader.user_id, "access": "read"}]})


def test_palette_never_shows_what_others_may_not_read(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole
):
    mark, reader = unique("salaries"), embedded.member()
    kb, private = member.create_kb(), member.create_kb(name=f"{mark} private")
    hidden = member.ingest(kb, f"{mark} hidden.md", "# One\n\nText.")
    member.ingest(kb, f"{mark} open.md", "# Two\n\nText.")
    member.ingest(private, f"{mark} private.md", "# Three\n\nText.")
    member.put(f"/knowledge-bases/{kb}/shares", {"shares": [{"user_id": reader.user_id, "access": "write"}]})
    member.put(f"/knowledge-bases/{kb}/documents/{hidden}/access", {"readers": []})
    member.post("/skills", {"content": REPORT.replace("Daily report", f"{mark} report")})
    member.post("/sessions", {"title": f"{mark} talk"})
    share_rule(embedded, member, f"{mark} rule")

    def found(console: Console) -> list[str]:
        page = console.page
        page.keyboard.press("Control+k")
        page.get_by_role("combobox", name="Find anything").fill(mark)
        # Who may read the open one has got the whole answer with it.
        expect(page.get_by_role("option").filter(has_text=f"{mark} open.md")).to_be_visible()
        return page.get_by_role("option").all_inner_texts()

    owner, other = open_console(embedded, member), open_console(embedded, reader)
    owner.open("/")
    mine = " ".join(found(owner))
    for kind in ("hidden.md", "open.md", "private.md", "report", "rule", "talk"):
        assert f"{mark} {kind}" in mine
    other.open("/")
    assert [text for text in found(other) if mark in text and "open.md" not in text] == []
    # Of whom it is named to, it is found.
    other.page.keyboard.press("Escape")
    member.put(f"/knowledge-bases/{kb}/documents/{hidden}/access", {"readers": [{"user_id": reader.user_id}]})
    other.open("/")
    assert [text for text in found(other) if f"{mark} hidden.md" in text] != []
