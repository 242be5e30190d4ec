"""A rule that is shared in the console: switched and tried by somebody else, who can't change it."""

import pytest
from playwright.sync_api import expect

from tests.e2e.console.conftest import Look, OpenConsole
from tests.e2e.console.share_forms import share_on_page
from tests.fixtures.http.client import Api
from tests.fixtures.product.owned_objects import make_developer
from tests.fixtures.product.server import Server
from tests.fixtures.rules.written_rules import PATH, greeter


@pytest.fixture
def writer(embedded: Server, member: Api) -> Api:
    """Somebody who has logged in and may write rules."""
    make_developer(embedded, member)
    return member


def test_shared_rule_is_switched_and_tried_by_a_colleague_and_changed_by_its_owner_alone(
    browser_thread, embedded: Server, writer: Api, open_console: OpenConsole, look: Look
):
    words = look.words("rules")
    rule_id = greeter(embedded, writer)
    rule = writer.get(f"{PATH}/{rule_id}")
    name = rule["name"]
    other = embedded.member()
    make_developer(embedded, other)
    owner = open_console(embedded, writer, look)
    owner.open(f"/rules/{rule_id}")
    owner.page.get_by_role("link", name=words("tab.shares"), exact=True).click()
    share_on_page(owner, other.name, picture="shares")
    assert owner.serious_faults() == []

    colleague = open_console(embedded, other, look)
    page = colleague.page
    colleague.open("/rules")
    row = page.get_by_role("listitem").filter(has=page.get_by_role("link", name=name, exact=True))
    expect(row).to_contain_text(words("shares.owned", name=writer.name))
    # The source is the owner's: its name is all that others are shown of it.
    expect(row).to_contain_text(rule["source_name"])
    switch = row.get_by_role("switch", name=words("state.switch", name=name))
    with colleague.answers("/enabled", "PUT"):
        switch.click()
    expect(switch).not_to_be_checked()
    assert writer.get(f"{PATH}/{rule_id}")["enabled"] is False
    colleague.picture("list")

    row.get_by_role("link", name=name, exact=True).click()
    expect(page.get_by_text(words("shares.read_only", name=writer.name))).to_be_visible()
    expect(page.get_by_role("link", name=words("tab.shares"), exact=True)).to_have_count(0)
    expect(page.get_by_role("button", name=words("form.save"), exact=True)).to_have_count(0)
    expect(page.get_by_label(words("form.name"), exact=True)).to_be_disabled()
    with colleague.answers(f"/rules/{rule_id}/test", "POST"):
        page.get_by_role("button", name=words("dry_run.run"), exact=True).click()
    # With the event of the log: examples of the source are the owner's.
    expect(page.get_by_text("testPlayer")).to_be_visible()
    colleague.picture("tried")
    assert colleague.serious_faults() == []
