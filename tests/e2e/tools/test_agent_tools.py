"""The tools of agents over HTTP, called by their names without a language model."""

import json

import pytest

from core.errors.requests import InvalidRunInput
from tests.fixtures.http.client import Api
from tests.fixtures.product.server import one_shape
from tests.fixtures.runs.agent_runs import GUIDE, MANUAL, text_of, verified_run


@pytest.fixture
def library(user: Api) -> str:
    """A knowledge base with an English and a Chinese document."""
    kb_id = user.create_kb()
    user.ingest(kb_id, "relay.md", GUIDE)
    user.ingest(kb_id, "中继.md", MANUAL)
    return kb_id


def run_tool(user: Api, command: str, *kb_ids: str, agent_type: str = "react") -> tuple[str, str]:
    """What a tool gave, and what was said of it."""
    props = {"agent_type": agent_type, "knowledge_base_ids": [*kb_ids]}
    events = verified_run(user, command, forwarded_props=props)
    results = [event["content"] for event in events if event["type"] == "TOOL_CALL_RESULT"]
    return "".join(results), text_of(events)


@one_shape
@pytest.mark.parametrize("agent_type", ["react", "agentic_rag", "plan_execute", "reflexion", "worker"])
def test_document_is_read_by_whoever_may_search_it(user: Api, library: str, agent_type: str):
    command = '/tool read_document {"document": "relay.md"}'
    result, said = run_tool(user, command, library, agent_type=agent_type)

    read = json.loads(result)
    assert {item["document"] for item in read["passages"]} == {"relay.md"}
    assert "port 7070" in read["passages"][0]["text"]
    assert read["length"] <= len(GUIDE)
    assert said.startswith("No language model is configured. The tool's result as it came:")
    assert "port 7070" in said


def test_document_is_read_from_a_character_on(user: Api):
    kb_id = user.create_kb()
    long = "\n\n".join(f"# Part {n}\n\n" + f"Sentence {n} of the log. " * 120 for n in range(8))
    user.ingest(kb_id, "long.md", long)
    first, _ = run_tool(user, '/tool read_document {"document": "long.md", "characters": 2000}', kb_id)
    start = json.loads(first)["next_start"]
    command = json.dumps({"document": "long.md", "start": start, "characters": 2000})
    second, _ = run_tool(user, f"/tool read_document {command}", kb_id)

    earlier = {item["text"] for item in json.loads(first)["passages"]}
    later = [item["text"] for item in json.loads(second)["passages"]]
    assert earlier
    assert later
    assert earlier.isdisjoint(later)
    assert json.loads(second)["next_start"] > start


def test_document_of_somebody_else_is_not_there(user: Api, other: Api, library: str):
    foreign = other.create_kb()
    document_id = other.ingest(foreign, "secret.md", "# Secret\n\nThe code of the vault is quokka.")
    for named in ("secret.md", document_id):
        command = f'/tool read_document {{"document": "{named}"}}'
        result, said = run_tool(user, command, library)
        assert result == "The tool read_document failed: Document not found."
        assert "quokka" not in said


def test_document_of_another_knowledge_base_is_not_there(user: Api, library: str):
    mine_too = user.create_kb()
    user.ingest(mine_too, "other.md", "# Other\n\nThe other one says 4711 to everybody.")
    command = '/tool read_document {"document": "other.md"}'

    assert run_tool(user, command, library)[0] == "The tool read_document failed: Document not found."
    assert "4711" in run_tool(user, command, mine_too)[0]


def test_deleted_document_and_disabled_passage_are_not_read(user: Api, library: str):
    command = '/tool read_document {"document": "relay.md"}'
    documents = user.get(f"/knowledge-bases/{library}/documents")["items"]
    relay = next(one["id"] for one in documents if one["name"] == "relay.md")
    path = f"/knowledge-bases/{library}/documents/{relay}"
    chunk = user.get(f"{path}/chunks")["items"][0]
    change = {"version": chunk["version"], "enabled": False}
    user.put(f"/knowledge-bases/{library}/chunks/{chunk['id']}", change)
    assert "7070" not in run_tool(user, command, library)[0]

    user.delete(path)
    assert run_tool(user, command, library)[0] == "The tool read_document failed: Document not found."


def test_clock_needs_no_knowledge_base(user: Api):
    empty = user.create_kb()
    result, said = run_tool(user, '/tool current_time {"timezone": "+08:00"}', empty)

    assert json.loads(result)["time"].endswith("+08:00")
    assert "current_time" not in said
    assert json.loads(result)["weekday"] in said


def test_clock_follows_the_device_before_the_profile(user: Api):
    user.put("/users/me", {"settings": {"timezone": "Asia/Shanghai"}})
    result, _ = run_tool(user, "/tool current_time {}", user.create_kb())
    assert json.loads(result)["timezone"] == "Asia/Shanghai"

    device = {
        "device_timezone": "America/Los_Angeles",
        "client_now_iso": "2026-03-16T09:12:33-07:00",
        "client_epoch_ms": 1773658353000,
    }
    props = {"agent_type": "react", "client_time": device}
    events = verified_run(user, "/tool current_time {}", forwarded_props=props)
    results = [event["content"] for event in events if event["type"] == "TOOL_CALL_RESULT"]
    assert json.loads(results[0])["timezone"] == "America/Los_Angeles"


def test_run_with_a_false_client_time_is_refused_by_name(user: Api):
    details = user.refused(
        InvalidRunInput,
        "POST",
        "/agent/run",
        json={
            "messages": [{"id": "1", "role": "user", "content": "hi"}],
            "forwarded_props": {"client_time": {"device_timezone": "Nowhere"}},
        },
    )
    assert details["error"] == "invalid client_time.device_timezone"
