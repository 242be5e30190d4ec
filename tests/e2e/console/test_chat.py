"""What each type of agent shows of its work, and what it asks a person."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.e2e.console.chat_page import HANDBOOK, new_chat
from tests.e2e.console.conftest import Look, OpenConsole
from tests.e2e.console.words import Words
from tests.fixtures.http.client import Api
from tests.fixtures.product.server import Server

QUESTION = "On which port does the relay listen, and how long are logs kept? "
WIDE_TABLE = (
    "\n\n## Colours\n\n" + "\n".join(f"|{cell * 24}" for cell in (" colour |", " --- |", " red and blue |")) + "\n"
)


@pytest.fixture(scope="session")
def readers() -> dict[str, Api]:
    """The person of each product who has the handbook."""
    return {}


@pytest.fixture
def reader(llm_product: Server, readers: dict[str, Api]) -> Api:
    """Somebody with a handbook, signed in at the product with the scripted model."""
    if "llm" not in readers:
        readers["llm"] = person = llm_product.member()
        person.ingest(person.create_kb(), "handbook.md", HANDBOOK + WIDE_TABLE)
    return readers["llm"]


Asking = Callable[..., Any]


def shown(words: Words) -> dict[str, tuple[str, list[str]]]:
    """What is seen of each type of agent; the words of the model are English everywhere."""
    both_done = words("state.plan_done", done=2, count=2)
    chosen = words("state.route", type=words("agent.plan_execute.name"))
    return {
        "react": ("react", ["I need the port.", words("step.observe")]),
        "agentic_rag": ("rag-rewrite", [words("step.grade"), words("step.retrieve")]),
        "plan_execute": ("plan", [both_done, "Find how long logs are kept"]),
        "reflexion": (
            "reflexion",
            [words("state.attempts", count=2), "Says nothing about the logs.", "I must look for the logs too."],
        ),
        "worker": ("worker-plan", [chosen, both_done]),
    }


@pytest.mark.parametrize("agent_type", ["react", "agentic_rag", "plan_execute", "reflexion", "worker"])
@pytest.mark.every_look
def test_agent_shows_its_work_and_its_sources(
    browser_thread, llm_product: Server, reader: Api, open_console: OpenConsole, agent_type: str, look: Look
):
    words = look.words("chat")
    script, texts = shown(words)[agent_type]
    chat = new_chat(reader, open_console(llm_product, reader, look), agent_type=agent_type)
    chat.ask(f"{QUESTION}#{script}")
    chat.wait_for_answer()
    # Folded until somebody looks.
    expect(chat.turns.get_by_text(texts[0]).first).to_be_visible(
        visible=agent_type in ("plan_execute", "reflexion", "worker")
    )
    chat.unfold()
    for text in texts:
        expect(chat.turns.get_by_text(text).first).to_be_visible()
    call = chat.turns.locator("details", has_text=words("tool.search_knowledge_base")).last
    expect(call).to_contain_text('"query": ')
    expect(call).to_contain_text("handbook.md")
    chat.console.picture(agent_type)
    chat.page.get_by_role("button", name=words("sources.open", number=1, name="handbook.md")).first.click()
    panel = chat.page.get_by_role("complementary", name=words("sources.panel"), exact=True)
    expect(panel).to_contain_text("port 7070")
    # The table scrolls by itself, and the text beside it has the width of the panel.
    right_edges = "nodes => nodes.map(node => node.getBoundingClientRect().right)"
    edge = panel.evaluate("node => node.getBoundingClientRect().right")
    assert max(panel.locator("p").evaluate_all(right_edges)) <= edge


def asked(*calls: tuple[str, dict]) -> str:
    """A question that makes the model call these tools."""
    return f"Please. #calls {json.dumps([list(call) for call in calls])}"


TALK = {"action": "create", "title": "Talk", "start": "2026-12-23T09:00", "event_timezone": "UTC"}


@pytest.mark.every_look
def test_call_is_made_with_the_arguments_that_a_person_edited(
    browser_thread, llm_product: Server, open_console: OpenConsole, look: Look
):
    person = llm_product.member()
    person.put("/users/me/tool-policies", {"policies": {"calendar_write": "ask"}})
    console, words = open_console(llm_product, person, look), look.words("chat")
    chat = new_chat(person, console, agent_type="react")
    page = chat.page
    chat.ask(asked(("calendar_write", TALK)))
    # The question was English; what the server asks is in the language of the console.
    asks = (
        "是否允许以这些参数执行“修改日历”？"
        if look.language == "zh"
        else "Allow “Change the calendar” with these arguments?"
    )
    expect(page.get_by_text(asks)).to_be_visible()
    page.get_by_role("button", name=words("interrupt.edit")).click()
    console.picture("approval")
    # Nothing is wider than the screen.
    assert page.evaluate("document.querySelector('main').scrollWidth <= window.innerWidth")
    field = page.get_by_role("textbox", name="JSON")
    field.fill("no object")
    approve = page.get_by_role("button", name=words("interrupt.approve_edited"))
    expect(approve).to_be_disabled()
    field.fill(json.dumps({**TALK, "title": "Lecture"}))
    approve.click()
    chat.wait_for_answer()
    [event] = person.get("/calendar/events")["items"]
    assert event["title"] == "Lecture"


def test_refused_call_is_not_made_and_the_agent_gets_the_reason(
    browser_thread, llm_product: Server, open_console: OpenConsole
):
    person = llm_product.member()
    person.put("/users/me/tool-policies", {"policies": {"calendar_write": "ask"}})
    chat = new_chat(person, open_console(llm_product, person), agent_type="react")
    page = chat.page
    chat.ask(asked(("calendar_write", TALK)))
    page.get_by_role("button", name="Decline").click()
    page.get_by_role("textbox", name="What to tell the agent").fill("Not on a Wednesday.")
    page.get_by_role("button", name="Decline").click()
    chat.wait_for_answer()
    chat.unfold()
    expect(chat.turns).to_contain_text("Not on a Wednesday.")
    assert person.get("/calendar/events")["items"] == []


def test_several_questions_of_an_agent_are_answered_together(
    browser_thread, llm_product: Server, reader: Api, open_console: OpenConsole
):
    chat = new_chat(reader, open_console(llm_product, reader), agent_type="react")
    page = chat.page
    calls = [("confirm_action", {"message": "Delete the old relay?"}), ("request_input", {"prompt": "Which address?"})]
    chat.ask(asked(*calls))
    expect(page.get_by_role("heading", name="The agent waits for 2 answers")).to_be_visible()
    # Nothing else can be asked now, and a reload keeps what is waited for.
    expect(chat.field).to_have_attribute("placeholder", "Answer what the agent waits for first")
    page.reload()
    page.get_by_role("button", name="Yes", exact=True).click()
    expect(page.get_by_text("Answered; sent with the others.")).to_be_visible()
    page.get_by_role("textbox", name="Your answer").fill("me@example.com")
    chat.console.picture("interrupts")
    page.get_by_role("button", name="Answer", exact=True).click()
    chat.wait_for_answer()
    chat.unfold()
    expect(chat.turns).to_contain_text('"confirmed": true')
    expect(chat.turns).to_contain_text("me@example.com")
