"""MCP connections in the console: their state in words, their tools tried, and what tools may do in a chat."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.console.conftest import Look, OpenConsole
from tests.e2e.console.test_hostile_content import check_harmless, watched
from tests.fixtures.http.client import Api, unique
from tests.fixtures.llm.model_server import ModelServer
from tests.fixtures.product.server import Server
from tests.fixtures.runs.agent_runs import NOBODY
from tests.fixtures.servers.mcp_server import TOKEN, McpServers

WORDS = {
    "en": {
        "add": "Add a connection", "name": "Name", "url": "Address", "token": "Token", "save": "Save",
        "refused": "does not accept the token", "test": "Test", "edit": "Edit", "works": "It works: 5 tools",
        "keep_up": "Staying connected", "pause": "Pause before a new try (ms)", "unreachable": "The server can't be used",
        "check": "Check the address", "delete": "Delete", "none": "No connections yet",
    },
    "zh": {
        "add": "添加连接", "name": "名称", "url": "地址", "token": "令牌", "save": "保存",
        "refused": "服务器不接受该令牌", "test": "测试", "edit": "编辑", "works": "正常：5 个工具",
        "keep_up": "连接维护", "pause": "重试前等待（毫秒）", "unreachable": "无法使用该服务器：无法连接",
        "check": "请检查地址", "delete": "删除", "none": "还没有连接",
    },
}  # fmt: skip


@pytest.fixture
def developer(llm_product: Server) -> Api:
    """Somebody who has logged in and may make connections."""
    person = llm_product.member()
    role = llm_product.sql("SELECT id FROM role WHERE name = 'developer'")[0]["id"]
    llm_product.sql('UPDATE "user" SET role_id = :role WHERE id = :id', role=role, id=person.user_id)
    return person


def connect(person: Api, url: str, name: str = "tools", token: str | None = None) -> str:
    body = {"name": name, "type": "standard", "url": url, **({"auth_token": token} if token else {})}
    return person.post("/mcp/connections", body)["id"]


def test_connection_is_added_mended_tested_and_deleted(
    browser_thread,
    llm_product: Server,
    developer: Api,
    outside_mcp: McpServers,
    open_console: OpenConsole,
    look: Look,
):
    words = WORDS[look.language]
    console = open_console(llm_product, developer, look)
    page, form = console.page, console.dialog

    def button(name: str) -> None:
        page.get_by_role("button", name=words[name], exact=True).click()

    def save() -> None:
        form.get_by_role("button", name=words["save"], exact=True).click()
        expect(form).to_be_hidden()

    console.open("/connections")
    button("add")
    form.get_by_label(words["name"], exact=True).fill("tools")
    form.get_by_label(words["url"]).fill(outside_mcp.http_url)
    form.get_by_label(words["token"], exact=True).fill("wrong-token")
    save()
    page.wait_for_url("**/connections/*-*")
    button("test")
    expect(page.get_by_role("status").filter(has_text=words["refused"])).to_be_visible()

    button("edit")
    form.get_by_label(words["token"], exact=True).fill(TOKEN)
    form.get_by_text(words["keep_up"]).click()
    form.get_by_label(words["pause"]).fill("1500")
    save()
    button("test")
    expect(page.get_by_role("status").filter(has_text=words["works"])).to_be_visible()
    expect(page.get_by_text("在指定位置放置方块")).to_be_visible()
    expect(page.get_by_text(words["pause"])).to_be_visible()
    console.picture("connection")
    assert console.serious_faults() == []
    [kept] = developer.get("/mcp/connections")["items"]
    assert (kept["config"], kept["has_secret"], kept["status"]) == ({"reconnect_delay": 1500}, True, "connected")
    assert TOKEN not in page.evaluate("JSON.stringify({ ...localStorage, ...sessionStorage })")

    # The token stays with the host that it was given for.
    developer.put(f"/mcp/connections/{kept['id']}", {"url": f"http://{NOBODY}/mcp", "auth_type": "none"})
    button("test")
    said = page.get_by_role("status").filter(has_text=words["unreachable"])
    expect(said).to_contain_text(words["check"])
    console.picture("connection-dead")
    button("delete")
    form.get_by_role("button", name=words["delete"], exact=True).click()
    expect(page.get_by_text(words["none"])).to_be_visible()


def test_connection_over_a_websocket_is_added_tested_called_and_switched_off(
    browser_thread, llm_product: Server, developer: Api, outside_mcp: McpServers, open_console: OpenConsole, look: Look
):
    words = look.words("connections")
    console = open_console(llm_product, developer, look)
    page, form = console.page, console.dialog
    console.open("/connections")
    page.get_by_role("button", name=words("mcp.add"), exact=True).click()
    form.get_by_label(words("mcp.name"), exact=True).fill("lathe")
    form.get_by_label(words("mcp.url")).fill(outside_mcp.ws_url)
    form.get_by_label(words("mcp.token"), exact=True).fill(TOKEN)
    form.get_by_text(words("mcp.config.title")).click()
    heartbeat = form.get_by_label(words("mcp.config.heartbeat_interval"))
    expect(heartbeat).to_have_count(0)
    # An address of another kind is refused in words, and nothing that was typed is lost.
    form.get_by_role("button", name=words("common:action.save"), exact=True).click()
    expect(form.get_by_role("alert")).to_be_visible()
    form.get_by_label(words("mcp.type")).select_option("websocket")
    heartbeat.fill("25000")
    console.picture("websocket-form")
    form.get_by_role("button", name=words("common:action.save"), exact=True).click()
    expect(form).to_be_hidden()
    page.wait_for_url("**/connections/*-*")
    page.get_by_role("button", name=words("test.action"), exact=True).click()
    expect(page.get_by_role("status").filter(has_text=re.compile("It works: 5 tools|正常：5 个工具"))).to_be_visible()
    expect(page.get_by_role("main")).to_contain_text("25000")
    [kept] = developer.get("/mcp/connections")["items"]
    assert (kept["type"], kept["config"]) == ("websocket", {"heartbeat_interval": 25000})

    console.open(f"/connections/{kept['id']}?tool=add")
    before = len(outside_mcp.calls)
    for name, value in (("a", "20"), ("b", "22")):
        page.get_by_label(words("mcp.required", name=name)).fill(value)
    page.get_by_role("button", name=words("mcp.call"), exact=True).click()
    expect(page.locator("pre").filter(has_text="42").first).to_be_visible()
    assert outside_mcp.calls[before:] == ["add 20 22"]
    console.picture("websocket-call")
    page.get_by_role("button", name=words("model.switch_off"), exact=True).click()
    expect(page.get_by_role("button", name=words("model.switch_on"), exact=True)).to_be_visible()
    assert developer.get("/mcp/connections")["items"][0]["enabled"] is False


def test_form_of_a_tool_asks_for_what_its_schema_says(
    browser_thread, llm_product: Server, developer: Api, outside_mcp: McpServers, open_console: OpenConsole
):
    connection = connect(developer, outside_mcp.raw_url("forms"))
    console = open_console(llm_product, developer)
    page = console.page
    console.open(f"/connections/{connection}?tool=order")
    call, result = page.get_by_role("button", name="Call the tool"), page.locator("pre").filter(has_text="title")
    page.get_by_label("title (required)").fill("Chair")
    page.get_by_label("amount (required)").fill("12")
    page.get_by_label("street (required)").fill("Main")
    call.click()
    # The browser says what is wrong, and nothing is sent.
    assert page.get_by_label("amount (required)").evaluate("input => input.validity.rangeOverflow") is True
    page.get_by_label("amount (required)").fill("3")
    call.click()
    nothing_more = '{"amount": 3, "place": {"street": "Main"}, "price": null, "title": "Chair"}'
    expect(result.first).to_have_text(nothing_more)

    page.get_by_label("price").fill("2.5")
    page.get_by_label("urgent").select_option("false")
    page.get_by_label("colour").select_option(label="green")
    page.get_by_label("day").fill("2026-01-31")
    for number, tag in enumerate(("a", "b"), 1):
        page.get_by_role("button", name="Add an entry to tags").click()
        page.get_by_label(f"Entry {number} (required)").fill(tag)
    page.get_by_role("button", name="Remove entry 1 of tags").click()
    page.get_by_label("Kind of value").select_option(label="Circle")
    page.get_by_label("radius (required)").fill("7")
    page.get_by_label("extra").fill('{"a": [1')
    call.click()
    expect(page.get_by_role("alert")).to_have_text("This value can't be read.")
    page.get_by_label("extra").fill('{"a": [1]}')
    call.click()
    expect(result.first).to_have_text(
        '{"amount": 3, "colour": "green", "day": "2026-01-31", "extra": {"a": [1]}, "place": {"street": "Main"},'
        ' "price": 2.5, "shape": {"radius": 7}, "tags": ["b"], "title": "Chair", "urgent": false}'
    )
    console.picture("tool-form")
    assert console.serious_faults() == []
    page.get_by_role("switch", name="Write the arguments as JSON").click()
    expect(page.get_by_label("Arguments, as JSON")).to_have_value(re.compile('"radius": 7'))


def ask(page: Page, base: str, question: str) -> None:
    page.goto(f"{base}/chat")
    page.get_by_role("textbox", name="Your question").fill(question)
    page.keyboard.press("Enter")
    page.wait_for_url("**/chat/*")


def test_what_is_chosen_for_a_tool_is_obeyed_in_the_chat(
    browser_thread,
    llm_product: Server,
    developer: Api,
    outside_mcp: McpServers,
    scripted_llm: ModelServer,
    open_console: OpenConsole,
):
    connection = connect(developer, outside_mcp.http_url, token=TOKEN)
    console = open_console(llm_product, developer)
    page, base = console.page, console.base
    console.open("/chat")
    page.evaluate("""localStorage.setItem("agentex.chat.choices", '{"agentType": "react"}')""")

    def choose(policy: str) -> None:
        console.open(f"/connections/{connection}")
        # Nothing says that it was kept: the choice is enabled before it is sent, too.
        with console.answers("/tool-policies"):
            page.get_by_label("Whether mcp__tools__add asks first").select_option(label=policy)

    choose("never")
    before = len(outside_mcp.calls)
    ask(page, base, "Add #calls-add")
    # The model is not even told of the tool.
    expect(page.get_by_text("The tool said:")).to_be_visible(timeout=60_000)
    expect(page.get_by_text("The tool said: 42")).to_have_count(0)
    assert outside_mcp.calls[before:] == []
    offered = [tool["function"]["name"] for tool in scripted_llm.run_requests[-1].body.get("tools", ())]
    assert "mcp__tools__add" not in offered

    choose("ask first")
    ask(page, base, "Add #calls-add")
    expect(page.get_by_text("The agent waits for you")).to_be_visible(timeout=60_000)
    assert outside_mcp.calls[before:] == []
    page.get_by_role("button", name="Allow", exact=True).click()
    expect(page.get_by_text("The tool said: 42")).to_be_visible(timeout=60_000)
    assert outside_mcp.calls[before:] == ["add 20 22"]

    choose("without asking")
    ask(page, base, "Add #calls-add")
    expect(page.get_by_text("The tool said: 42")).to_be_visible(timeout=60_000)
    assert outside_mcp.calls[before:] == ["add 20 22"] * 2
    assert [each["own"] for each in developer.get("/users/me/tool-policies")["items"] if each["own"]] == ["auto"]


def test_hostile_tools_do_nothing(
    browser_thread, llm_product: Server, developer: Api, outside_mcp: McpServers, open_console: OpenConsole
):
    name = f"{unique('n')} <script>window.pwned=1</script>"
    connection = connect(developer, outside_mcp.raw_url("hostile"), name)
    console = open_console(llm_product, developer)
    page, outside = console.page, watched(console)
    console.open(f"/connections/{connection}?tool=lookup")
    check_harmless(page)
    # What turns the direction of writing is shown as a number.
    assert "\u202e" not in page.inner_text("main")
    expect(page.get_by_text("\\u202egpj.exe").first).to_be_visible()
    page.get_by_label("slow").fill("aaa")
    page.get_by_label("__proto__").fill("polluted")
    page.get_by_role("button", name="Call the tool").click()
    expect(page.locator("pre").filter(has_text="found <img")).to_be_visible()
    assert page.evaluate("({}).polluted === undefined && window.polluted === undefined")
    check_harmless(page)
    assert "\u202e" not in page.inner_text("main")
    for path in ("/connections", "/profile"):
        console.open(path)
        check_harmless(page)
    assert outside == []
