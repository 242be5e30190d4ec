"""Signing in to the console through a real OpenID Connect provider."""

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.console.conftest import Look, OpenConsole
from tests.fixtures.product.server import Server
from tests.fixtures.servers.oidc_provider import OidcProvider, Person

WORDS = {
    "en": {"button": "Sign in with single sign-on", "account": "Your account", "out": "Sign out", "h1": "Skills"},
    "zh": {"button": "单点登录", "account": "我的账户", "out": "退出登录", "h1": "技能"},
}


def log_in_at_provider(page: Page, person: Person) -> None:
    page.locator("input[name=login]").fill(person.subject)
    page.locator("input[name=password]").fill("any")
    page.locator("button[type=submit]").click()
    # It asks whether Agentex may know who this is.
    page.get_by_role("button", name="Continue").click()


@pytest.mark.every_look
def test_button_leads_through_the_provider_to_the_page_that_was_asked_for(
    browser_thread,
    embedded: Server,
    provider: OidcProvider,
    open_console: OpenConsole,
    look: Look,
):
    person, words = provider.add(), WORDS[look.language]
    console = open_console(embedded, look=look)
    page = console.page
    console.open("/skills?tag=any")
    console.picture("sign-in-with-sso")
    page.get_by_role("button", name=words["button"]).click()
    log_in_at_provider(page, person)
    page.wait_for_url(f"{console.base}/skills?tag=any")
    expect(page.get_by_role("heading", name=words["h1"], exact=True, level=1)).to_be_visible()
    assert "sso_code" not in page.url

    if look.is_phone:
        page.get_by_role("button", name="展开导航").click()
    account = page.get_by_role("button", name=words["account"])
    expect(account).to_contain_text(person.claims["preferred_username"])
    account.click()
    page.get_by_role("menuitem", name=words["out"]).click()
    page.wait_for_url("**/sign-in*")
    expect(page.get_by_role("button", name=words["button"])).to_be_visible()
    assert page.evaluate("localStorage.getItem('agentex.tokens')") is None


def test_refused_sign_in_is_told_in_words_and_leads_back(
    browser_thread, embedded: Server, provider: OidcProvider, open_console: OpenConsole
):
    console, nameless = open_console(embedded), provider.add(email=None)
    page = console.page
    console.open("/sign-in")
    page.get_by_role("button", name="Sign in with single sign-on").click()
    log_in_at_provider(page, nameless)
    expect(page.get_by_role("heading", name="Not signed in / 登录失败")).to_be_visible()
    expect(page.get_by_text("e-mail address").first).to_be_visible()
    expect(page.get_by_text("邮箱").first).to_be_visible()
    console.picture("sso-refused")
    again = page.get_by_role("link", name="Sign in again")
    # The policy allows the page's own style, and no other.
    expect(again).to_have_css("text-align", "center")
    again.click()
    expect(page.get_by_role("button", name="Sign in", exact=True)).to_be_visible()


def test_code_that_was_used_or_made_up_is_refused_in_words(
    browser_thread, embedded: Server, provider: OidcProvider, open_console: OpenConsole
):
    console = open_console(embedded)
    page = console.page
    page.goto(f"{console.base}/sign-in#sso_code=made-up")
    expect(page.get_by_role("alert")).to_contain_text("request")
    expect(page.get_by_role("button", name="Sign in with single sign-on")).to_be_visible()
    assert "sso_code" not in page.url
