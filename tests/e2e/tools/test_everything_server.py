"""The reference MCP server of the protocol's authors, connected as people do."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.tools.test_mcp_connections import PATH, POLICIES, developer
from tests.fixtures.http.client import Api, eventually
from tests.fixtures.product.server import Server
from tests.fixtures.rules.written_rules import PATH as RULES
from tests.fixtures.runs.agent_runs import camel, run, run_body, text_of
from tests.fixtures.servers.everything_server import EverythingServer, everything_server

ALLOWED = "/admin/system/config/allowed_private_targets"
PATIENCE = 240


@pytest.fixture(scope="module")
def everything() -> Iterator[EverythingServer]:
    with everything_server() as running:
        yield running


@pytest.fixture
def user(llm_product: Server, everything: EverythingServer) -> Iterator[Api]:
    llm_product.admin().put(ALLOWED, {"value": [f"127.0.0.1:{everything.port}"]})
    yield developer(llm_product)
    llm_product.admin().delete(ALLOWED)


@pytest.fixture
def path(user: Api, everything: EverythingServer) -> str:
    """The connection, whose tools were listed."""
    made = user.post(PATH, {"name": "everything", "type": "standard", "url": everything.url})
    tested = user.post(f"{PATH}/{made['id']}/test")
    assert tested["success"], tested
    return f"{PATH}/{made['id']}"


def test_tools_are_listed_and_called(user: Api, path: str):
    listed = {tool["name"] for tool in user.get(f"{path}/tools")["items"]}
    assert {"echo", "get-sum", "get-structured-content", "trigger-long-running-operation"} <= listed
    result = user.post(f"{path}/tools/echo/call", {"params": {"message": "你好, Ada"}})["result"]
    assert result["content"][0]["text"] == "Echo: 你好, Ada"
    summed = user.post(f"{path}/tools/get-sum/call", {"params": {"a": 2, "b": 40}})["result"]
    assert "42" in summed["content"][0]["text"]


def test_resources_and_prompts_are_listed_and_read(user: Api, path: str):
    assert set(user.get(path)["features"]) >= {"resources", "prompts"}
    resources = user.get(f"{path}/resources", page_size=100)["items"]
    plain = [entry for entry in resources if not entry["is_template"]]
    assert plain
    (part, *_) = user.post(f"{path}/resources/read", {"uri": plain[0]["uri"]})["parts"]
    assert part["text"]
    assert any(entry["is_template"] for entry in resources)
    prompts = {entry["name"]: entry for entry in user.get(f"{path}/prompts")["items"]}
    assert "simple-prompt" in prompts
    got = user.post(f"{path}/prompts/simple-prompt/get", {"arguments": {}})
    assert got["parts"][0]["text"]


def test_message_of_the_server_triggers_a_rule(user: Api, path: str):
    connection_id = path.rsplit("/", 1)[-1]
    conditions = [{"field": "data", "operator": "contains", "value": "Subscribe Resource"}]
    notify = {"type": "notify", "params": {"title": "{{level}}", "text": "{{data}}"}}
    echo = {"type": "mcp_call", "target": "echo", "params": {"message": "heard {{level}}"}}
    trigger = {"event_type": "mcp.message", "source_id": connection_id}
    rule = user.post(
        RULES, {"name": "Messages", "trigger_config": trigger, "conditions": conditions, "actions": [notify, echo]}
    )

    def done() -> list[dict[str, Any]]:
        return user.get(f"{RULES}/{rule['id']}/logs", status="success")["items"]

    # Listening, Agentex subscribes to the server's resources, each of which the server acknowledges in a message.
    eventually(done, what="the rule has acted", seconds=PATIENCE)
    entry = done()[0]
    assert entry["event_type"] == "mcp.message"
    assert entry["event_data"]["level"] == "info"
    assert "Echo: heard info" in json.dumps(entry["actions_result"][1])
    notice = user.get("/notifications")["items"][0]
    assert (notice["title"], "Received Subscribe Resource request" in notice["text"]) == ("info", True)
    user.delete(f"{RULES}/{rule['id']}")


def test_progress_of_a_long_call_is_an_activity_of_its_run(user: Api, path: str):
    tool = "mcp__everything__trigger-long-running-operation"
    user.put(POLICIES, {"policies": {tool: "auto"}})
    calls = json.dumps([[tool, {"duration": 3, "steps": 3}]])
    body = camel(run_body(f"Please. #calls {calls}", forwarded_props={"agent_type": "react"}))
    events = run(user, body)
    shown = [event for event in events if event.get("activityType") == "agentex:call-progress"]
    assert shown[0]["type"] == "ACTIVITY_SNAPSHOT"
    assert (shown[0]["content"]["tool"], shown[0]["content"]["total"]) == (tool, 3)
    (result,) = [event["content"] for event in events if event["type"] == "TOOL_CALL_RESULT"]
    assert "Long running operation completed" in result
    assert events[-1]["type"] == "RUN_FINISHED", text_of(events)
