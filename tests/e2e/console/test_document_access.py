"""Documents and knowledge bases of others: what is not shared is nowhere, what is given is everywhere."""

import pytest
from playwright.sync_api import expect

from tests.e2e.console.conftest import Console, Look, OpenConsole
from tests.e2e.console.share_forms import share_on_page
from tests.fixtures.http.client import Api
from tests.fixtures.product.server import Server

SECRET = "# Salaries\n\nThe zebra keeper earns seventy coins."
OPEN = "# Rules\n\nThe zebra house opens at nine."


@pytest.mark.every_look
def test_restricted_document_is_nowhere_for_others_until_its_owner_names_them(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole, look: Look
):
    words, save = look.words("knowledge"), look.words("common")("action.save")
    reader = embedded.member()
    kb = member.create_kb()
    secret = member.ingest(kb, "salaries.md", SECRET)
    member.ingest(kb, "rules.md", OPEN)
    owner = open_console(embedded, member, look)
    share_with(owner, kb, reader.name)

    page = owner.page
    owner.open(f"/knowledge-bases/{kb}")
    page.get_by_role("button", name=words("documents.actions_of", name="salaries.md")).click()
    page.get_by_role("menuitem", name=words("action.restrict")).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("radio", name=words("restrict.some")).check()
    owner.picture("restrict-document")
    dialog.get_by_role("button", name=save).click()
    expect(dialog).to_have_count(0)
    expect(page.get_by_role("row").filter(has_text="salaries.md").get_by_role("img")).to_be_visible()

    other = open_console(embedded, reader, look)
    check_hidden(other, kb, secret)

    page.get_by_role("button", name=words("documents.actions_of", name="salaries.md")).click()
    page.get_by_role("menuitem", name=words("action.restrict")).click()
    dialog.get_by_label(words("common:subject.user_name")).fill(reader.name)
    dialog.get_by_label(words("common:subject.user_name")).press("Enter")
    expect(dialog.get_by_text(reader.name)).to_be_visible()
    dialog.get_by_role("button", name=save).click()
    expect(dialog).to_have_count(0)

    other.open(f"/knowledge-bases/{kb}/documents/{secret}")
    expect(other.page.get_by_text("seventy coins").first).to_be_visible()
    other.open(f"/knowledge-bases/{kb}/search?q=zebra")
    expect(other.page.get_by_role("link", name="salaries.md").first).to_be_visible()


def share_with(console: Console, kb: str, name: str) -> None:
    """Share a knowledge base by the settings page, knowing nothing but a user name."""
    console.open(f"/knowledge-bases/{kb}/settings")
    share_on_page(console, name, picture="shares")
    expect(console.page.get_by_text(console.look.words("common")("state.saved")).first).to_be_visible()


def check_hidden(console: Console, kb: str, document: str) -> None:
    """The list, its search field, the search test, the address and the palette know nothing of the document."""
    page, words = console.page, console.look.words("knowledge")
    console.open("/knowledge-bases")
    expect(page.get_by_text(words("list.owner", name="")).first).to_be_visible()
    for path, shown in {
        f"/knowledge-bases/{kb}": "rules.md",
        f"/knowledge-bases/{kb}?q=salar": words("documents.none"),
        f"/knowledge-bases/{kb}/search?q=zebra keeper salaries": "rules.md",
        "/search?q=zebra keeper salaries": "rules.md",
    }.items():
        console.open(path)
        # All that is to come is there.
        expect(page.get_by_role("main").get_by_text(shown).first).to_be_visible()
        assert "salaries.md" not in page.content()
        assert "seventy coins" not in page.content()
    console.open(f"/knowledge-bases/{kb}/documents/{document}")
    expect(page.get_by_text("seventy coins")).to_have_count(0)
    expect(page.get_by_role("alert")).to_be_visible()
