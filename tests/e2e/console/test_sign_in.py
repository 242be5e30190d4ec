"""Signing in to the console, and out of it."""

from playwright.sync_api import expect

from tests.e2e.console.conftest import OpenConsole
from tests.fixtures.http.client import PASSWORD, Api, eventually, unique
from tests.fixtures.product.server import Server


def test_wrong_password_is_told_and_the_right_one_leads_to_where_one_wanted(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole
):
    console = open_console(embedded)
    page = console.page
    console.open("/skills?tag=any")
    expect(page.get_by_role("heading", name="Agentex")).to_be_visible()
    page.get_by_label("User name or e-mail address").fill(member.name)
    page.get_by_label("Password").fill("Wrong-password-1")
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("request")
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url("**/skills?tag=any")
    # Not the link to it, which would cover what stands at the top.
    expect(page.get_by_role("main")).to_be_focused()


def test_account_is_made_and_signed_in(browser_thread, embedded: Server, open_console: OpenConsole):
    console, name = open_console(embedded, language="zh"), unique("newcomer")
    page = console.page
    console.open("/")
    page.get_by_role("button", name="注册账户").click()
    page.get_by_label("用户名").fill(name)
    page.get_by_label("邮箱").fill(f"{name}@example.com")
    page.get_by_label("密码").fill(PASSWORD)
    page.get_by_role("button", name="注册", exact=True).click()
    expect(page.get_by_role("heading", name=f"欢迎，{name}")).to_be_visible()


def test_signing_out_ends_all_tabs_and_the_login(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole
):
    console = open_console(embedded, member)
    first, second = console.page, console.page.context.new_page()
    console.open("/")
    second.goto(f"{console.base}/profile")
    first.get_by_role("button", name="Your account").click()
    first.get_by_role("menuitem", name="Sign out").click()
    for page in (first, second):
        page.wait_for_url("**/sign-in*")
    # The pages were left before the server answered.
    eventually(lambda: member.request("GET", "/users/me").status_code == 401, what="the login has ended")
    refresh = {"refresh_token": member.refresh_token}
    assert member.request("POST", "/auth/refresh", json=refresh).status_code == 401


def test_expired_token_is_renewed_once_though_several_requests_need_it(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole
):
    console = open_console(embedded, member)
    console.open("/")
    renewals: list[str] = []
    console.page.on("request", lambda request: "/auth/refresh" in request.url and renewals.append(request.url))
    console.page.evaluate(
        """() => {
            const tokens = JSON.parse(localStorage.getItem("agentex.tokens"));
            localStorage.setItem("agentex.tokens", JSON.stringify({ ...tokens, expires_at: 0 }));
        }"""
    )
    console.open("/")
    expect(console.page.get_by_role("heading", name=f"Welcome, {member.name}")).to_be_visible()
    assert len(renewals) == 1


def test_no_other_server_can_be_named_as_the_way_back(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole
):
    console = open_console(embedded, member)
    for way in ("//evil.example/x", "https://evil.example", "/\\\\evil.example", "javascript:alert(1)"):
        console.page.goto(f"{console.base}/sign-in?next={way}")
        expect(console.page.get_by_role("heading", name=f"Welcome, {member.name}")).to_be_visible()
        assert console.page.url.startswith(console.base)


def test_next_account_in_the_same_tab_sees_nothing_of_the_one_before(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole
):
    other = embedded.member()
    console = open_console(embedded)
    page = console.page

    def sign_in(person: Api) -> None:
        page.get_by_label("User name or e-mail address").fill(person.name)
        page.get_by_label("Password").fill(PASSWORD)
        page.keyboard.press("Enter")

    console.open("/chat")
    sign_in(member)
    page.get_by_role("textbox", name="Your question").fill("What is the secret of the first account?")
    page.keyboard.press("Enter")
    page.wait_for_url("**/chat/*")
    thread = page.url
    expect(page.get_by_role("button", name="Send")).to_be_visible(timeout=60_000)
    page.get_by_role("textbox", name="Your question").fill("A secret draft")
    page.get_by_role("button", name="Your account").click()
    page.get_by_role("menuitem", name="Sign out").click()
    page.wait_for_url("**/sign-in*")
    assert "secret" not in page.evaluate("JSON.stringify({ ...localStorage, ...sessionStorage })")
    sign_in(other)
    expect(page.get_by_role("button", name="Your account")).to_contain_text(other.name)
    page.goto(thread)
    expect(page.get_by_role("button", name="Your account")).to_contain_text(other.name)
    expect(page.get_by_text("secret")).to_have_count(0)
    # The stock client reports the refusal, which is what was wanted.
    console.complaints[:] = [complaint for complaint in console.complaints if "Session not found" not in complaint]
