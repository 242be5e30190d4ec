"""What is chosen for a conversation, with what comes of it, and the memories beside the conversations."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import expect

from tests.e2e.console.chat_page import new_chat
from tests.e2e.console.conftest import Look, OpenConsole
from tests.fixtures.http.client import Api, unique
from tests.fixtures.llm.model_server import ModelServer
from tests.fixtures.product.server import ADMIN_PASSWORD, Server
from tests.fixtures.servers.mcp_server import TOKEN, McpServers
from tests.fixtures.skills.skill_texts import PACKAGED


@dataclass
class ChatResources:
    """What somebody may choose from: ids and names."""

    person: Api
    model: dict
    skill: dict
    connections: dict[str, str]


@pytest.fixture
def resources(llm_product: Server, scripted_llm: ModelServer, outside_mcp: McpServers) -> Iterator[ChatResources]:
    """A person with a second model, a skill and two connections."""
    admin = llm_product.api().log_in(llm_product.settings.admin_username, ADMIN_PASSWORD)
    draft = {"name": unique("Quick"), "provider": "openai-compatible", "base_url": scripted_llm.base_url}
    model = admin.post("/admin/models", {**draft, "model_id": "plain", "api_key": "sk-test"})
    person = llm_product.member()
    role = llm_product.sql("SELECT id FROM role WHERE name = 'developer'")[0]["id"]
    llm_product.sql('UPDATE "user" SET role_id = :role WHERE id = :id', role=role, id=person.user_id)
    connections = {
        name: person.post(
            "/mcp/connections",
            {"name": name, "type": "websocket", "url": outside_mcp.ws_url, "auth_token": TOKEN, "enabled": True},
        )["id"]
        for name in ("lathe", "mill")
    }
    yield ChatResources(person, model, person.post("/skills", {"content": PACKAGED}), connections)
    admin.delete(f"/admin/models/{model['id']}")


def test_model_skill_and_connection_that_are_chosen_are_those_that_are_used(
    browser_thread,
    llm_product: Server,
    scripted_llm: ModelServer,
    resources: ChatResources,
    open_console: OpenConsole,
    look: Look,
):
    person, model = resources.person, resources.model
    words = look.words("chat")
    chat = new_chat(person, open_console(llm_product, person, look), agent_type="react")
    page, dialog = chat.page, chat.console.dialog

    def open_choices() -> None:
        page.get_by_role("button", name=words("choice.title")).click()
        expect(dialog.get_by_role("checkbox", name="mill")).to_be_visible()

    def save() -> None:
        dialog.get_by_role("button", name=words("common:action.save"), exact=True).click()
        expect(dialog).to_be_hidden()

    open_choices()
    dialog.get_by_label(words("choice.model")).select_option(label=model["name"])
    dialog.get_by_role("checkbox", name="unit-converter").check()
    dialog.get_by_role("checkbox", name="mill").check()
    chat.console.picture("choices")
    assert chat.console.serious_faults() == []
    save()
    expect(page.get_by_role("heading", level=1).locator("xpath=..")).to_contain_text(f"{model['name']} · ")
    chat.ask("Hello? #unauthorized")
    # The default model would obey the question and refuse; the chosen one only greets.
    chat.wait_for_answer()
    expect(chat.turns).to_contain_text("Hello from the model.")
    request = scripted_llm.run_requests[-1].body
    tools = [tool["function"]["name"] for tool in request["tools"]]
    assert {name.split("__")[1] for name in tools if name.startswith("mcp__")} == {"mill"}
    assert "Multiply by the factor" in str(request["messages"])

    # What is taken back counts from the next question on.
    open_choices()
    for name in ("unit-converter", "mill"):
        dialog.get_by_role("checkbox", name=name).uncheck()
    dialog.get_by_label(words("choice.model")).select_option("")
    save()
    chat.ask("And now? #plain")
    chat.wait_for_answer(2)
    tools = [tool["function"]["name"] for tool in scripted_llm.run_requests[-1].body["tools"]]
    assert {name.split("__")[1] for name in tools if name.startswith("mcp__")} == {"lathe", "mill"}
    assert person.get(f"/sessions/{chat.thread}")["config"] == {"agent_type": "react"}


def test_chosen_knowledge_base_that_the_first_page_lacks_is_named(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole
):
    bases = {member.post("/knowledge-bases", {"name": f"Shelf {number}"})["id"]: number for number in range(101)}
    listed = {base["id"] for base in member.get("/knowledge-bases", page=1, page_size=100)["items"]}
    (chosen,) = bases.keys() - listed
    name = f"Shelf {bases[chosen]}"
    chat = new_chat(member, open_console(embedded, member), agent_type="react", knowledge_base_ids=[chosen])
    expect(chat.page.get_by_text(f"Step by step · {name}", exact=True)).to_be_visible()
    chat.page.get_by_role("button", name=chat.words("choice.title")).click()
    expect(chat.console.dialog.get_by_role("checkbox", name=name, exact=True)).to_be_checked()


def test_memories_are_read_added_found_and_forgotten_beside_the_chat(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole, look: Look
):
    words = look.words("chat")
    member.post("/memories", {"text": "Works in Kyoto"})
    console = open_console(embedded, member, look)
    page = console.page
    console.open("/chat")
    if look.is_phone:
        page.get_by_role("button", name=words("list.label")).click()
    opener = page.get_by_role("button", name=words("memory.title"), exact=True)
    opener.click()
    dialog = page.get_by_role("dialog", name=words("memory.title"), exact=True)
    remembered = dialog.get_by_role("listitem")
    expect(remembered).to_have_count(1)
    dialog.get_by_label(words("memory.new")).fill("Prefers short answers")
    dialog.get_by_role("button", name=words("common:action.add"), exact=True).click()
    expect(remembered).to_have_count(2)
    console.picture("memories")
    assert console.serious_faults() == []
    dialog.get_by_label(words("memory.find")).fill("Kyoto")
    expect(remembered).to_have_count(1)
    remembered.get_by_role("button", name=words("memory.forget", text="Works in Kyoto")).click()
    question = page.get_by_role("dialog", name=words("memory.forget_title"), exact=True)
    question.get_by_role("button", name=words("memory.forget_title"), exact=True).click()
    expect(question).to_be_hidden()
    expect(dialog.get_by_text(words("memory.nothing_found"))).to_be_visible()
    assert [memory["text"] for memory in member.get("/memories")["items"]] == ["Prefers short answers"]
    dialog.get_by_label(words("memory.find")).fill("")
    expect(remembered).to_have_count(1)
    dialog.get_by_role("button", name=words("memory.forget_all"), exact=True).click()
    question = page.get_by_role("dialog", name=words("memory.forget_all"), exact=True)
    question.get_by_role("button", name=words("memory.forget_all"), exact=True).click()
    expect(question).to_be_hidden()
    expect(dialog.get_by_text(words("memory.none"))).to_be_visible()
    assert member.get("/memories")["items"] == []
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(opener).to_be_focused()
