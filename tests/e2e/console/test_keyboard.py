"""One act of each area by keyboard alone, and what leads there: skip link, palette, menus, the navigation of a phone."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.console.conftest import PHONE, Console, OpenConsole
from tests.fixtures.http.client import Api, unique
from tests.fixtures.product.server import Server


def press_until(page: Page, name: str, role: str = "button", *, within: Locator | None = None, most: int = 60) -> None:
    """Press Tab until something has the focus."""
    goal = (within or page).get_by_role(role, name=name, exact=True).first
    expect(goal).to_be_visible()
    for _ in range(most):
        if goal.evaluate("element => element === element.getRootNode().activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{name} is not reached by Tab")


@pytest.fixture
def console(embedded: Server, member: Api, open_console: OpenConsole, browser_thread) -> Console:
    return browser_thread.submit(open_console, embedded, member).result()


def test_skip_link_leads_past_the_navigation(browser_thread, console: Console):
    page = console.page
    console.open("/knowledge-bases")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.querySelector('main').contains(document.activeElement)")


def test_knowledge_base_is_created_in_a_dialog_that_keeps_and_returns_the_focus(browser_thread, console: Console):
    page, name = console.page, unique("Relays")
    console.open("/knowledge-bases")
    press_until(page, "New knowledge base")
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Name")).to_be_focused()
    for _ in range(25):
        page.keyboard.press("Tab")
        expect(dialog.locator(":focus")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(page.get_by_role("button", name="New knowledge base").first).to_be_focused()
    page.keyboard.press("Enter")
    expect(dialog.get_by_label("Name")).to_be_focused()
    page.keyboard.type(name)
    page.keyboard.press("Enter")
    page.wait_for_url("**/knowledge-bases/*-*")
    expect(page.get_by_role("heading", name=name)).to_be_visible()


def test_question_is_asked(browser_thread, console: Console):
    page = console.page
    console.open("/")
    press_until(page, "Ask a question", "textbox")
    page.keyboard.type("On which port does the relay listen?")
    page.keyboard.press("Enter")
    page.wait_for_url("**/chat/*")


def test_skill_is_created_from_a_template(browser_thread, console: Console, member: Api):
    page = console.page
    console.open("/skills/new")
    press_until(page, "In English")
    page.keyboard.press("Enter")
    expect(page.get_by_role("textbox", name="Text of the skill, Markdown")).to_be_visible()
    press_until(page, "Save skill")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/skills/[0-9a-f-]{36}"))
    assert len(member.get("/skills", include_public=False)["items"]) == 1


def test_page_is_opened_by_the_palette_which_returns_the_focus(browser_thread, console: Console):
    page = console.page
    console.open("/")
    press_until(page, "Ask a question", "textbox")
    page.keyboard.press("Control+k")
    finder = page.get_by_role("combobox", name="Find anything")
    expect(finder).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("textbox", name="Ask a question")).to_be_focused()
    page.keyboard.press("Control+k")
    expect(finder).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/chat")


def test_language_is_changed_and_signed_out_by_the_arrows_of_a_menu(browser_thread, console: Console):
    page = console.page
    console.open("/profile")
    account = page.get_by_role("button", name="Your account")
    account.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("menuitem").first).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("menu")).to_be_hidden()
    expect(account).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("menuitem", name="中文")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="个人设置", level=1)).to_be_visible()
    assert page.evaluate("document.documentElement.lang") == "zh-CN"
    expect(page.get_by_role("button", name="我的账户")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("menuitem").first).to_be_focused()
    page.keyboard.press("End")
    expect(page.get_by_role("menuitem", name="退出登录")).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url("**/sign-in*")


def test_navigation_of_a_phone_is_closed_by_escape(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole
):
    console = open_console(embedded, member, size=PHONE)
    page = console.page
    console.open("/")
    opener = page.get_by_role("button", name="Open navigation")
    opener.focus()
    page.keyboard.press("Enter")
    press_until(page, "Skills", "link")
    page.keyboard.press("Escape")
    expect(opener).to_be_focused()
    expect(page.get_by_role("link", name="Skills")).to_be_hidden()


def test_focus_is_seen_where_the_system_forces_its_colours(browser_thread, console: Console):
    page = console.page
    page.emulate_media(forced_colors="active")
    console.open("/")
    press_until(page, "Skills", "link")
    assert page.evaluate("matchMedia('(forced-colors: active)').matches")
    outline = "getComputedStyle(document.activeElement).outline"
    assert re.search(r"solid 2px|2px solid", page.evaluate(outline))
    assert "rgba(0, 0, 0, 0)" not in page.evaluate(outline)
    console.picture("home-forced-colors")
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill("Pro")
    chosen = page.locator("[role=option][aria-selected=true]")
    expect(chosen).to_be_visible()
    other = "getComputedStyle(document.querySelector('[role=dialog]')).backgroundColor"
    assert chosen.evaluate("element => getComputedStyle(element).backgroundColor") != page.evaluate(other)
    console.picture("palette-forced-colors")
