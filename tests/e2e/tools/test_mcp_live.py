"""MCP servers that change their lists, tell their progress and ask people, in runs over HTTP."""

import json
from typing import Any
from uuid import uuid4

import pytest

from core.errors.conflicts import InterruptAnswered, InterruptNotOpen
from core.errors.requests import InterruptAnswerInvalid
from tests.e2e.tools.test_mcp_connections import PATH, POLICIES, developer, run_script
from tests.fixtures.http.client import Api, eventually
from tests.fixtures.product.server import Server
from tests.fixtures.runs.agent_runs import camel, run, run_body, text_of
from tests.fixtures.servers.live_mcp_server import SIGN_IN, LiveMcpServer

KINDS = ["newest", "handshake", "websocket"]
AUTO = {f"mcp__live__{tool}": "auto" for tool in ("order", "reserve", "sign_in")}


@pytest.fixture
def user(llm_product: Server) -> Api:
    return developer(llm_product)


def connect(user: Api, live: LiveMcpServer, kind: str = "handshake") -> str:
    """A connection to the server, whose tools were listed; the path of it."""
    urls = {"newest": live.url, "handshake": live.old_url, "websocket": live.ws_url}
    transport = "websocket" if kind == "websocket" else "standard"
    made = user.post(PATH, {"name": "live", "type": transport, "url": urls[kind], "enabled": True})
    path = f"{PATH}/{made['id']}"
    user.get(f"{path}/tools")
    return path


def trusting(user: Api) -> None:
    """Let tools that ask by themselves run without another question."""
    user.put(POLICIES, {"policies": AUTO})


def answered(user: Api, thread_id: str, events: list[dict[str, Any]], **said: Any) -> list[dict[str, Any]]:
    return run(user, answer_body(thread_id, events, **said))


def answer_body(thread_id: str, events: list[dict[str, Any]], **said: Any) -> dict[str, Any]:
    (interrupt,) = events[-1]["outcome"]["interrupts"]
    entry = {"interruptId": interrupt["id"], "status": "resolved", **said}
    return camel(run_body("", thread_id=thread_id)) | {"messages": [], "resume": [entry]}


def call(user: Api, path: str, tool: str, **params: Any) -> str:
    return user.post(f"{path}/tools/{tool}/call", {"params": params})["result"]["content"][0]["text"]


@pytest.mark.parametrize("kind", KINDS)
def test_tools_that_a_server_adds_and_takes_away_are_followed_without_asking(
    user: Api, live_mcp: LiveMcpServer, kind: str
):
    path, name = connect(user, live_mcp, kind), f"extra_{kind}"
    count = user.get(path)["tool_count"]

    def counts(expected: int) -> bool:
        # The stream of notices opens beside the first calls, so the change is made until it is heard.
        call(user, path, "change_tools", **({"add": name} if expected > count else {"remove": name}))
        if expected > count:
            call(user, path, "change_tools", remove=name)
            call(user, path, "change_tools", add=name)
        return user.get(path)["tool_count"] == expected

    eventually(lambda: counts(count + 1), what="the new tool is stored", seconds=30)


def test_tool_that_is_no_longer_read_only_asks_again_and_a_vanished_one_is_not_offered(
    user: Api, live_mcp: LiveMcpServer
):
    path = connect(user, live_mcp)
    call(user, path, "change_tools", add="fresh")
    eventually(lambda: policy_of(user, "fresh") == "auto", what="the new tool is known")
    assert "pong" in text_of(run_script(user, "calls-fresh"))
    call(user, path, "change_tools", remove="fresh")
    eventually(lambda: policy_of(user, "fresh") is None, what="the tool is gone", seconds=30)
    assert "There is no tool" in text_of(run_script(user, "calls-fresh"))
    call(user, path, "change_tools", add="fresh", write=True)
    eventually(lambda: policy_of(user, "fresh") == "ask", what="the tool is there anew", seconds=30)
    waited = run_script(user, "calls-fresh")
    assert waited[-1]["outcome"]["type"] == "interrupt"
    call(user, path, "change_tools", remove="fresh")


def policy_of(user: Api, tool: str) -> str | None:
    listed = {entry["tool"]: entry["policy"] for entry in user.get(POLICIES)["items"]}
    return listed.get(f"mcp__live__{tool}")


@pytest.mark.parametrize("kind", KINDS)
def test_progress_of_a_call_is_an_activity_of_its_run_and_stays_for_who_joins(
    user: Api, live_mcp: LiveMcpServer, kind: str
):
    connect(user, live_mcp, kind)
    thread_id = str(uuid4())
    events = run_script(user, "calls-count", thread_id=thread_id)
    assert "counted to 20" in text_of(events)
    shown = [event for event in events if event.get("activityType") == "agentex:call-progress"]
    first, *changes = shown
    (started,) = [event for event in events if event["type"] == "TOOL_CALL_START"]
    assert first["type"] == "ACTIVITY_SNAPSHOT"
    assert first["content"] == {
        "tool_call_id": started["toolCallId"],
        "tool": "mcp__live__count",
        "progress": 1,
        "total": 20,
        "message": "page 1",
    }
    # Two seconds of reports, at most one event in half a second.
    assert 1 <= len(changes) <= 6
    assert {event["type"] for event in changes} == {"ACTIVITY_DELTA"}
    result = next(event for event in events if event["type"] == "TOOL_CALL_RESULT")
    assert events.index(shown[-1]) < events.index(result)

    joined = join(user, thread_id)
    (snapshot,) = [event for event in joined if event["type"] == "MESSAGES_SNAPSHOT"]
    (kept,) = [entry for entry in snapshot["messages"] if entry.get("activityType") == "agentex:call-progress"]
    assert kept["content"]["progress"] == shown[-1]["patch"][0]["value"]


def join(user: Api, thread_id: str) -> list[dict[str, Any]]:
    body = camel(run_body("", thread_id=thread_id)) | {"messages": []}
    response = user.http.post("/api/v1/agent/connect", headers=user.headers, json=body)
    return [json.loads(line[6:]) for line in response.text.splitlines() if line.startswith("data: ")]


@pytest.mark.parametrize("kind", KINDS)
def test_question_of_a_server_interrupts_the_run_and_its_answer_goes_back(
    user: Api, live_mcp: LiveMcpServer, kind: str
):
    connect(user, live_mcp, kind)
    trusting(user)
    thread_id = str(uuid4())
    waited = run_script(user, "calls-order", thread_id=thread_id)
    (interrupt,) = waited[-1]["outcome"]["interrupts"]
    assert interrupt["reason"] == "input_required"
    assert interrupt["message"] == "The MCP server live asks: Which colour, and how many?"
    question = interrupt["metadata"]["elicitation"]
    assert (question["mode"], question["server"], question["message"]) == (
        "form",
        "live",
        "Which colour, and how many?",
    )
    content = interrupt["responseSchema"]["properties"]["content"]
    assert content["properties"]["colour"]["enum"] == ["red", "green"]

    invalid = answer_body(thread_id, waited, payload={"action": "accept", "content": {"quantity": 99}})
    assert InterruptAnswerInvalid.wire_name in str(run(user, invalid)[-1])
    went_on = answered(user, thread_id, waited, payload={"action": "accept", "content": {"quantity": 5}})
    assert "ordered 5 red bolts" in text_of(went_on)
    # The same answer twice is given once, another one is refused.
    again = answered(user, thread_id, waited, payload={"action": "accept", "content": {"quantity": 5}})
    assert again[-1]["type"] == "RUN_FINISHED"
    other = answered(user, thread_id, waited, payload={"action": "decline"})
    assert InterruptAnswered.wire_name in str(other[-1])
    assert live_mcp.calls.count("order bolts 5 red") == 1


@pytest.mark.parametrize("said", [{"payload": {"action": "decline"}}, {"status": "cancelled"}])
def test_refusal_of_a_question_reaches_the_server(user: Api, live_mcp: LiveMcpServer, said: dict[str, Any]):
    connect(user, live_mcp)
    trusting(user)
    thread_id = str(uuid4())
    waited = run_script(user, "calls-reserve", thread_id=thread_id)
    went_on = answered(user, thread_id, waited, **said)
    action = "cancel" if "status" in said else "decline"
    assert f"not reserved: {action}" in text_of(went_on)
    assert f"reserve a room {action}" in live_mcp.calls


def test_two_questions_of_one_call_are_two_interrupts_of_one_call(user: Api, live_mcp: LiveMcpServer):
    connect(user, live_mcp)
    thread_id = str(uuid4())
    approved = run_script(user, "calls-reserve", thread_id=thread_id)
    assert approved[-1]["outcome"]["interrupts"][0]["reason"] == "tool_call"
    first = answered(user, thread_id, approved, payload={"approved": True})
    second = answered(user, thread_id, first, payload={"action": "accept", "content": {"quantity": 2}})
    assert second[-1]["outcome"]["interrupts"][0]["metadata"]["elicitation"]["message"] == "And really?"
    went_on = answered(user, thread_id, second, payload={"action": "accept", "content": {"quantity": 1}})
    assert "reserved 2 red, accept" in text_of(went_on)


def test_page_to_visit_is_shown_and_consent_goes_back(user: Api, live_mcp: LiveMcpServer):
    connect(user, live_mcp)
    trusting(user)
    thread_id = str(uuid4())
    waited = run_script(user, "calls-sign-in", thread_id=thread_id)
    question = waited[-1]["outcome"]["interrupts"][0]["metadata"]["elicitation"]
    assert (question["mode"], question["url"]) == ("url", SIGN_IN)
    went_on = answered(user, thread_id, waited, payload={"action": "accept"})
    assert "signed in: accept" in text_of(went_on)


def test_nobody_else_answers_a_server(llm_product: Server, user: Api, live_mcp: LiveMcpServer):
    connect(user, live_mcp)
    trusting(user)
    thread_id = str(uuid4())
    waited = run_script(user, "calls-order", thread_id=thread_id)
    stranger = developer(llm_product)
    said = {"payload": {"action": "accept", "content": {"quantity": 9}}}
    refused = answered(stranger, thread_id, waited, **said)
    assert InterruptNotOpen.wire_name in str(refused[-1])
    assert "order bolts 9 red" not in live_mcp.calls
    assert "declined" not in text_of(
        answered(user, thread_id, waited, payload={"action": "accept", "content": {"quantity": 8}})
    )
    assert "order bolts 8 red" in live_mcp.calls


@pytest.mark.parametrize("kind", KINDS)
def test_call_by_hand_declines_what_its_server_asks(user: Api, live_mcp: LiveMcpServer, kind: str):
    path = connect(user, live_mcp, kind)
    result = user.post(f"{path}/tools/order/call", {"params": {"thing": "by hand"}})["result"]
    assert result["isError"] is True
    assert not [call for call in live_mcp.calls if "by hand" in call]
