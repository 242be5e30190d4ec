"""MCP servers in the console that ask people, and that offer resources and prompts."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.console.chat_page import new_chat
from tests.e2e.console.conftest import Look, OpenConsole
from tests.fixtures.http.client import Api
from tests.fixtures.product.server import Server
from tests.fixtures.servers.live_mcp_server import SIGN_IN, LiveMcpServer

WAIT = 60_000


@pytest.fixture
def connected(llm_product: Server, live_mcp: LiveMcpServer) -> tuple[Api, str]:
    """Somebody with a connection to the server, and its id."""
    person = llm_product.member()
    role = llm_product.sql("SELECT id FROM role WHERE name = 'developer'")[0]["id"]
    llm_product.sql('UPDATE "user" SET role_id = :role WHERE id = :id', role=role, id=person.user_id)
    made = person.post("/mcp/connections", {"name": "live", "type": "standard", "url": live_mcp.old_url})
    person.get(f"/mcp/connections/{made['id']}/tools")
    person.put("/users/me/tool-policies", {"policies": {f"mcp__live__{name}": "auto" for name in ("order", "sign_in")}})
    return person, made["id"]


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def test_form_of_a_server_is_filled_in_after_a_reload(
    browser_thread, llm_product: Server, connected: tuple[Api, str], live_mcp: LiveMcpServer, open_console: OpenConsole,
    look: Look,
):  # fmt: skip
    person, _ = connected
    words, before = look.words("chat"), len(live_mcp.calls)
    console = open_console(llm_product, person, look)
    chat = new_chat(person, console, agent_type="react")
    page = chat.page
    chat.ask("Order #calls-order")
    question = words("interrupt.server_asks", server="live", message="Which colour, and how many?")
    expect(page.get_by_text(question, exact=True)).to_be_visible(timeout=WAIT)
    page.reload()
    expect(page.get_by_text(question, exact=True)).to_be_visible(timeout=WAIT)
    press(page, words("interrupt.send"))
    # The number is required.
    expect(page.get_by_text(words("interrupt.fault"), exact=True)).to_be_visible()
    page.get_by_role("spinbutton", name="How many").fill("4")
    page.get_by_role("combobox", name="Colour").select_option("green")
    console.picture("question")
    press(page, words("interrupt.send"))
    expect(page.get_by_text("The tool said: ordered 4 green bolts", exact=True)).to_be_visible(timeout=WAIT)
    assert live_mcp.calls[before:] == ["order bolts 4 green"]


def test_page_of_a_server_is_shown_whole_and_refused(
    browser_thread, llm_product: Server, connected: tuple[Api, str], live_mcp: LiveMcpServer, open_console: OpenConsole,
    look: Look,
):  # fmt: skip
    person, _ = connected
    words, before = look.words("chat"), len(live_mcp.calls)
    console = open_console(llm_product, person, look)
    chat = new_chat(person, console, agent_type="react")
    page = chat.page
    chat.ask("Sign in #calls-sign-in")
    expect(page.get_by_text(words("interrupt.page_hint", host="accounts.example.com"))).to_be_visible(timeout=WAIT)
    link = page.get_by_role("link", name=SIGN_IN, exact=True)
    expect(link).to_have_attribute("href", SIGN_IN)
    expect(link).to_have_attribute("rel", re.compile("noopener"))
    press(page, words("interrupt.decline"))
    expect(page.get_by_text("The tool said: signed in: decline", exact=True)).to_be_visible(timeout=WAIT)
    assert live_mcp.calls[before:] == ["sign_in decline"]


def test_resources_and_prompts_are_read_on_the_page_of_a_connection(
    browser_thread, llm_product: Server, connected: tuple[Api, str], open_console: OpenConsole, look: Look
):
    person, connection = connected
    words = look.words("connections")
    console = open_console(llm_product, person, look)
    page = console.page
    console.open(f"/connections/{connection}")
    tabs = page.get_by_role("navigation", name=words("mcp.lists"))
    with console.answers("/resources?", "GET"):
        tabs.get_by_role("link", name=words("mcp.resources"), exact=True).click()
    resources = page.get_by_role("list", name=words("mcp.resources"))
    welcome = resources.get_by_role("listitem").filter(has_text="note://welcome")
    welcome.get_by_role("button", name=words("mcp.read"), exact=True).click()
    expect(welcome.get_by_text("Welcome to the workshop.", exact=True)).to_be_visible(timeout=WAIT)
    console.picture("resources")
    tabs.get_by_role("link", name=words("mcp.prompts"), exact=True).click()
    review = page.get_by_role("list", name=words("mcp.prompts")).get_by_role("listitem").filter(has_text="review")
    review.get_by_role("button", name=words("mcp.fill_in"), exact=True).click()
    review.get_by_label(words("mcp.required", name="code")).fill("x = 1")
    press(page, words("mcp.get"))
    expect(review.get_by_text("Review this in a kind tone: x = 1", exact=True)).to_be_visible(timeout=WAIT)
