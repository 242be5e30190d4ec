"""Authorising an MCP connection in the console, at a real authorization server and back."""

import re

from playwright.sync_api import Page, expect

from tests.e2e.console.conftest import Look, OpenConsole
from tests.e2e.console.test_connections import connect, developer
from tests.fixtures.http.client import Api
from tests.fixtures.product.server import Server
from tests.fixtures.servers.mcp_oauth_server import CANARY, McpOAuthServer

__all__ = ["developer"]


def decide(page: Page, server: McpOAuthServer, decision: str) -> None:
    page.wait_for_url(f"{server.base}/consent*")
    page.get_by_role("button", name=decision, exact=True).click()


def test_connection_is_authorised_signed_out_of_and_declined(
    browser_thread,
    llm_product: Server,
    developer: Api,
    oauth_mcp: McpOAuthServer,
    open_console: OpenConsole,
    look: Look,
):
    words = look.words("connections")
    connection = connect(developer, oauth_mcp.url)
    assert developer.post(f"/mcp/connections/{connection}/test")["fault"] == "needs_authorization"
    console = open_console(llm_product, developer, look)
    page, form = console.page, console.dialog
    authorise = page.get_by_role("button", name=words("oauth.authorise"), exact=True)
    sign_out = page.get_by_role("button", name=words("oauth.end"), exact=True)
    here = f"{console.base}/connections/{connection}"

    console.open(f"/connections/{connection}")
    expect(page.get_by_text(words("oauth.needed"))).to_be_visible()
    console.picture("needed")
    assert console.serious_faults() == []
    authorise.click()
    decide(page, oauth_mcp, "Allow")
    page.wait_for_url(here)
    expect(sign_out).to_be_visible()
    expect(page.get_by_text(f"{oauth_mcp.base}/", exact=True)).to_be_visible()
    expect(page.get_by_text("Say a word back.", exact=True)).to_be_visible()
    console.picture("authorised")
    assert console.serious_faults() == []
    assert CANARY not in page.evaluate("JSON.stringify({ ...localStorage, ...sessionStorage })")
    assert developer.get(f"/mcp/connections/{connection}")["status"] == "connected"

    sign_out.click()
    with console.answers("/authorization", "DELETE"):
        form.get_by_role("button", name=words("oauth.end"), exact=True).click()
    expect(authorise).to_be_visible()
    assert developer.get(f"/mcp/connections/{connection}")["authorization"] is None

    authorise.click()
    decide(page, oauth_mcp, "Deny")
    expect(page.get_by_role("alert")).to_contain_text("access_denied")
    console.picture("declined")
    page.get_by_role("link", name=words("oauth.back"), exact=True).click()
    page.wait_for_url(here)
    expect(authorise).to_be_visible()


def test_callback_that_nobody_asked_for_is_refused_in_words(
    browser_thread, llm_product: Server, developer: Api, open_console: OpenConsole
):
    console = open_console(llm_product, developer)
    page = console.page
    page.goto(f"{console.base}/connections/callback?code=12345678901234567890&state=made-up")
    expect(page.get_by_role("alert")).to_contain_text("This authorisation is not yours")
    page.get_by_role("link", name="To the connections", exact=True).click()
    page.wait_for_url(re.compile(r"/connections$"))


def test_client_that_was_registered_by_hand_is_given_in_the_form(
    browser_thread, llm_product: Server, developer: Api, oauth_mcp: McpOAuthServer, open_console: OpenConsole
):
    words = Look().words("connections")
    connection = connect(developer, oauth_mcp.url)
    console = open_console(llm_product, developer)
    page, form = console.page, console.dialog
    console.open(f"/connections/{connection}")
    page.get_by_role("button", name=words("common:action.edit"), exact=True).click()
    form.get_by_text(words("oauth.client"), exact=True).click()
    form.get_by_label(words("oauth.client_id"), exact=True).fill("by-hand")
    form.get_by_label(words("oauth.client_secret"), exact=True).fill("a-secret")
    with console.answers(f"/mcp/connections/{connection}"):
        form.get_by_role("button", name=words("common:action.save"), exact=True).click()
    expect(form).to_be_hidden()
    kept = developer.get(f"/mcp/connections/{connection}")
    assert (kept["auth_type"], kept["client_id"], kept["has_client_secret"]) == ("oauth", "by-hand", True)
    expect(page.get_by_text("by-hand", exact=True)).to_be_visible()
