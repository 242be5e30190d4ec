"""Every action of every page by keyboard: the page is walked by Tab, and what it offers is compared with what was reached."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.console.chat_page import HANDBOOK
from tests.e2e.console.conftest import CHINESE, ENGLISH, Look, OpenConsole
from tests.e2e.console.focus_walk import NOTE_LISTENERS, faults_of_focus
from tests.e2e.console.test_pages import PAGES
from tests.fixtures.files.ruled_pdf import ruled_pdf
from tests.fixtures.files.ruled_pdf import words as words_at
from tests.fixtures.http.client import Api, unique
from tests.fixtures.product.server import Server
from tests.fixtures.rules.written_rules import greeter
from tests.fixtures.runs.agent_runs import NOBODY, run, run_body
from tests.fixtures.servers.mcp_server import TOKEN, McpServers
from tests.fixtures.skills.skill_texts import REPORT

MORE_PAGES = {
    "answer": "/chat/{thread}",
    "answer-source": "/chat/{thread}?source={message}.1",
    "pdf": "/knowledge-bases/{kb}/documents/{pdf}",
    "passage": "/knowledge-bases/{kb}/documents/{document}?chunk={chunk}",
    "compared-search": '/knowledge-bases/{kb}/search?q=relay&compared={{"top_k":1}}',
    "evaluation": "/knowledge-bases/{kb}/evaluations/{evaluation}?with={earlier}",
    "retrieval": "/retrievals/{retrieval}",
    "skill": "/skills/{skill}",
    "skill-preview": "/skills/{skill}?side=preview",
    "skill-versions": "/skills/{skill}/versions",
    "skill-difference": "/skills/{skill}/versions?from=1&to=2",
    "skill-files": "/skills/{skill}/files",
    "skill-tests": "/skills/{skill}/tests",
    "skill-report": "/skills/{skill}/tests?test={test}",
    "skill-comparison": "/skills/{skill}/comparison",
    "skill-settings": "/skills/{skill}/settings",
    "connection": "/connections/{connection}",
    "roles": "/admin/roles",
    "settings": "/admin/settings",
}

# Texts of passages and of originals, where a press chooses the passage that its button in the list chooses.
PASSAGES = "[data-scroll] *, li[data-index] > article > div"


@pytest.fixture(scope="module")
def kept() -> Iterator[dict[str, Any]]:
    """What is on the pages, made by the first test; a model would be everybody's."""
    things: dict[str, Any] = {}
    yield things
    if "person" in things:
        things["person"].delete(f"/admin/models/{things['places']['model']}")


@pytest.fixture
def manager(llm_product: Server, outside_mcp: McpServers, kept: dict[str, Any]) -> Api:
    """Somebody who may do everything, and has at least one of everything."""
    if "person" not in kept:
        person = llm_product.member()
        role = llm_product.sql("SELECT id FROM role WHERE name = 'admin'")[0]["id"]
        llm_product.sql('UPDATE "user" SET role_id = :role WHERE id = :id', role=role, id=person.user_id)
        kept["places"] = {
            **_library(person),
            **_skill(person),
            **_outside(person, outside_mcp),
            "rule": greeter(llm_product, person),
            "user": person.name,
        }
        kept["person"] = person
    return kept["person"]


def _library(person: Api) -> dict[str, str]:
    """A knowledge base, what was measured of it, and a conversation about it; their ids."""
    kb = person.create_kb()
    document = person.ingest(kb, "handbook.md", HANDBOOK)
    pdf = person.ingest(kb, "relay.pdf", ruled_pdf([words_at(60, 740, "The relay listens on port 7070.")]))
    question = {"question": "Which port?", "expected": [{"document": "handbook.md", "text": ""}]}
    person.post(f"/knowledge-bases/{kb}/questions", question)
    evaluations = [person.post(f"/knowledge-bases/{kb}/evaluations", {})["id"] for _ in range(2)]
    session = person.post("/sessions", {"config": {"agent_type": "react", "knowledge_base_ids": [kb]}})
    events = run(person, {**run_body("On which port does the relay listen? #react"), "thread_id": session["thread_id"]})
    result = next(event for event in events if event["type"] == "TOOL_CALL_RESULT")
    answer = [event for event in events if event["type"] == "TEXT_MESSAGE_START"][-1]
    person.post("/memories", {"text": "Prefers short answers"})
    person.post("/users/me/api-keys", {"name": "nightly"})
    return {
        "kb": kb,
        "document": document,
        "pdf": pdf,
        "chunk": person.get(f"/knowledge-bases/{kb}/documents/{document}/chunks")["items"][0]["id"],
        "evaluation": evaluations[1],
        "earlier": evaluations[0],
        "thread": session["thread_id"],
        "message": answer["message_id"],
        "retrieval": json.loads(result["content"])["retrieval_id"],
    }


def _skill(person: Api) -> dict[str, str]:
    """A skill of two versions with a file and a test; its id."""
    skill = person.post("/skills", {"content": REPORT})["id"]
    person.put(f"/skills/{skill}", {"content": REPORT + "3. Read it again\n"})
    person.request("PUT", f"/skills/{skill}/files/references/terms.md", content=b"# Terms")
    queries = [{"query": 'Good day #rounds {"rounds": [], "chosen": 0}', "should_trigger": False}]
    person.post(f"/skills/{skill}/trigger-test", {"queries": queries, "runs": 1})
    test = person.get(f"/skills/{skill}/trigger-tests")["items"][0]["id"]
    return {"skill": skill, "test": test}


def _outside(person: Api, outside_mcp: McpServers) -> dict[str, str]:
    """A connection whose tools were listed, and a model that nobody asks; their ids."""
    draft = {"name": "tools", "type": "standard", "url": outside_mcp.http_url, "auth_token": TOKEN}
    connection = person.post("/mcp/connections", draft)["id"]
    draft = {
        "name": unique("model"),
        "provider": "openai-compatible",
        "model_id": "plain",
        "base_url": f"http://{NOBODY}/v1",
    }
    model = person.post("/admin/models", draft)
    return {"connection": connection, "model": model["id"]}


ALL = {**PAGES, **MORE_PAGES}
# Once more in a hand those with the most to reach.
WALKS = [(name, ENGLISH) for name in ALL] + [
    (name, CHINESE) for name in ("home", "documents", "document", "search-test")
]


@pytest.mark.parametrize(("name", "look"), WALKS, ids=str)
def test_everything_on_a_page_is_reached_in_its_order_and_seen(
    browser_thread,
    llm_product: Server,
    manager: Api,
    kept: dict[str, Any],
    open_console: OpenConsole,
    name: str,
    look: Look,
):
    console = open_console(llm_product, manager, look)
    page = console.page
    page.context.add_init_script(NOTE_LISTENERS)
    page.emulate_media(reduced_motion="reduce")
    console.open(ALL[name].format(**kept["places"]))
    # What is folded is there for the keyboard, too.
    page.evaluate("document.querySelectorAll('main details').forEach((each) => { each.open = true; })")
    console.settle()
    assert faults_of_focus(page, PASSAGES) == {}
