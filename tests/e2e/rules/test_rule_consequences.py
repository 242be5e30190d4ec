"""What rules do in the product itself, and that they don't go on for ever."""

from typing import Any

import pytest

from tests.fixtures.http.client import Api, check_success
from tests.fixtures.llm.model_server import ModelServer
from tests.fixtures.product.processes import wait_until
from tests.fixtures.product.server import Server, one_shape
from tests.fixtures.rules.written_rules import JOIN, PATH, developer, plain, send_event


@pytest.fixture
def writer(server: Server) -> Api:
    return developer(server)


def statuses(writer: Api, rule: dict[str, Any]) -> list[str]:
    return [entry["status"] for entry in writer.get(f"{PATH}/{rule['id']}/logs")["items"]]


def test_document_that_a_rule_made_does_not_make_another_one(writer: Api):
    base_id = writer.create_kb()
    rule = writer.post(
        PATH,
        {
            "name": "Keep a note of each document",
            "trigger_config": {"event_type": "document.completed"},
            "actions": [
                {
                    "type": "ingest",
                    "params": {
                        "knowledge_base_id": base_id,
                        "name": "Note on {{document.name}}.md",
                        "text": "{{document.name}} has {{document.chunk_count}} passages.",
                    },
                }
            ],
        },
    )
    writer.ingest(base_id, "handbook.md", "# Relay\n\nThe relay listens on port 7070.\n")
    wait_until(lambda: statuses(writer, rule) == ["loop", "success"])
    names = [document["name"] for document in writer.get(f"/knowledge-bases/{base_id}/documents")["items"]]
    assert sorted(names) == ["Note on handbook.md.md", "handbook.md"]


@one_shape
def test_answer_of_an_agent_is_what_the_next_action_says(server: Server, writer: Api):
    base_id = writer.create_kb()
    writer.ingest(base_id, "handbook.md", "# Relay\n\nThe relay listens on port 7070.\n")
    source = writer.post(f"{PATH}/sources", {"name": "Monitoring"})
    rule = writer.post(
        PATH,
        {
            "name": "Look it up",
            "trigger_config": {"event_type": "alarm", "source_id": source["id"]},
            "actions": [
                {"type": "search", "params": {"query": "{{question}}", "knowledge_base_ids": [base_id]}},
                {
                    "type": "agent_run",
                    "target": "agentic_rag",
                    "params": {"prompt": "{{question}}", "knowledge_base_ids": [base_id]},
                },
                {
                    "type": "notify",
                    "params": {"title": "{{results[0].passages[0].document_name}}", "text": "{{results[1].answer}}"},
                },
            ],
        },
    )
    tried = writer.post(
        f"{PATH}/{rule['id']}/test", {"test_event": {"type": "alarm", "data": {"question": "Which port?"}}}
    )
    assert tried["conditions_met"] is True
    question = {"question": "On which port does the relay listen?"}
    check_success(send_event(server.http, source, {"type": "alarm", "data": question}))
    wait_until(lambda: statuses(writer, rule) == ["success"])
    (notice,) = writer.get("/notifications")["items"]
    assert notice["title"] == "handbook.md"
    assert "7070" in notice["text"]


def test_agent_of_a_rule_answers_when_its_own_budget_is_used_up(llm_product: Server, scripted_llm: ModelServer):
    writer = developer(llm_product)
    source = writer.post(f"{PATH}/sources", {"name": "Game"})
    trigger = {"event_type": "player_join", "source_id": source["id"]}

    def answer(**budget: int) -> str:
        params = {"prompt": "#calls-clock What time is it?", **({"budget": budget} if budget else {})}
        ask = {"type": "agent_run", "target": "react", "params": params}
        say = {"type": "notify", "params": {"title": "Said", "text": "{{results[0].answer}}"}}
        rule = writer.post(PATH, plain(trigger_config=trigger, actions=[ask, say]))
        check_success(send_event(llm_product.http, source, JOIN))
        wait_until(lambda: statuses(writer, rule) == ["success"])
        writer.delete(f"{PATH}/{rule['id']}")
        return writer.get("/notifications")["items"][0]["text"]

    assert "incomplete" not in answer()
    assert answer(max_turns=1).endswith("the run used up its 1 model turns.")
