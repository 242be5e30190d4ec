"""``/tool name {json}`` without a language model: every tool, of every agent type, over HTTP."""

import json
from typing import Any
from uuid import uuid4

import pytest

from agents.agui.verifier import verify
from agents.mcp.texts import TEXT_TOOLS
from agents.skills.selection import MOST_LISTED
from agents.strategies import STRATEGIES
from agents.tools import DEFAULT_POLICIES
from core.db.database import Database
from tests.fixtures.http.client import Api
from tests.fixtures.product.server import Server
from tests.fixtures.runs.agent_runs import GUIDE, camel, run, run_body, text_of
from tests.fixtures.skills.stored_skills import FILES, REVIEW, add_skill_to

PLACE = {"name": "where_am_i", "description": "The user's place.", "parameters": {"type": "object"}}
EVENT = {
    "action": "create",
    "event_timezone": "UTC",
    "title": "Inspection",
    "start": "2030-03-17T09:00",
}
# What is called, with what, and what of its result has to be told.
COMMANDS: dict[str, tuple[dict[str, Any], str]] = {
    "search_knowledge_base": ({"query": "Which port does the relay listen on?"}, "port 7070"),
    "read_document": ({"document": "relay.md"}, "port 7070"),
    "current_time": ({"timezone": "+08:00"}, "+08:00"),
    "calendar_write": (EVENT, '"status": "created"'),
    "calendar_read": ({"start": "2030-03-17", "end": "2030-03-18"}, "Inspection"),
    "save_memory": ({"text": "I work on the relay in Ulm."}, '"status": "saved"'),
    "recall_memory": ({"about": "relay"}, "I work on the relay in Ulm."),
    "confirm_action": ({"message": "Delete all?"}, '{"confirmed": true}'),
    "request_input": ({"prompt": "Which address?"}, '{"input": "a@example.com"}'),
    "load_skill": ({"name": "code-review"}, "Name the defects."),
    "read_skill_file": ({"name": "code-review", "path": "references/hours.md"}, "UTC"),
    "find_skills": ({"query": "review code"}, "code-review"),
    "complete_step": ({"index": 1}, "Name one of the loaded skills."),
    "where_am_i": ({}, "In Ulm."),
}
ANSWERS = {
    "confirm_action": {"confirmed": True},
    "request_input": {"input": "a@example.com"},
    "current_time": {"approved": True},
}


def call_tool(user: Api, agent_type: str, command: str, kb_id: str) -> list[dict[str, Any]]:
    """All events of the runs that it takes to make the call and to answer what is asked."""
    name = command.split()[1]
    props = {"agent_type": agent_type, "knowledge_base_ids": [kb_id]}
    body = camel(run_body(command, forwarded_props=props, tools=[PLACE]))
    events = run(user, body)
    outcome = events[-1].get("outcome") or {}
    answer = {**body, "runId": str(uuid4()), "messages": []}
    if outcome.get("type") == "interrupt":
        (interrupt,) = outcome["interrupts"]
        said = {"status": "resolved", "payload": ANSWERS[name]}
        answer["resume"] = [{"interruptId": interrupt["id"], **said}]
        events += run(user, answer)
    elif outcome.get("pendingToolCallIds"):
        (call_id,) = outcome["pendingToolCallIds"]
        result = {"id": str(uuid4()), "role": "tool", "toolCallId": call_id, "content": "In Ulm."}
        events += run(user, answer | {"messages": [result]})
    verify(events, thread_id=body["threadId"], state={})
    return events


async def add_skills(database: Database, owner_id: str) -> None:
    """More skills than are listed, so that they can be searched."""
    await add_skill_to(database, owner_id, REVIEW, files=FILES)
    for number in range(MOST_LISTED):
        await add_skill_to(database, owner_id, f"# SKILL: Chore {number}\n\n## Description\n\nA chore.\n")


@pytest.mark.parametrize("agent_type", sorted(STRATEGIES))
def test_command_calls_each_tool_and_tells_its_result(embedded: Server, agent_type: str):
    user = embedded.person()
    kb_id = user.create_kb()
    user.ingest(kb_id, "relay.md", GUIDE)
    embedded.work(lambda database: add_skills(database, user.user_id))
    # So that one of them needs consent.
    user.put("/users/me/tool-policies", {"policies": {"current_time": "ask"}})
    for tool, (arguments, told) in COMMANDS.items():
        command = f"/tool {tool} {json.dumps(arguments, ensure_ascii=False)}"
        events = call_tool(user, agent_type, command, kb_id)

        results = [event for event in events if event["type"] == "TOOL_CALL_RESULT"]
        names = [event["toolCallName"] for event in events if event["type"] == "TOOL_CALL_START"]
        assert names == [tool], tool
        assert len(results) == 1, tool
        assert "outcome" not in events[-1], tool
        assert told in results[0]["content"], tool
        assert told in text_of(events), tool
        stored = user.get(f"/sessions/{events[0]['threadId']}/messages")["items"][-1]
        assert [call["tool"] for call in stored["metadata"]["tool_calls"]] == [tool]
        assert sum(event["type"] == "RUN_FINISHED" for event in events) == 1 + (
            tool in ANSWERS or tool == PLACE["name"]
        )


def test_each_tool_has_its_command():
    # Those of TEXT_TOOLS need a server with texts: tests/e2e/tools/test_mcp_texts.py.
    assert {*DEFAULT_POLICIES, PLACE["name"]} == COMMANDS.keys() | {*TEXT_TOOLS}
