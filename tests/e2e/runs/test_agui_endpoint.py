"""Every row of docs/reference/ag-ui-endpoint.md and agentex-api.md, section 12."""

import json
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import httpx
import pytest

from agents.agui.verifier import verify
from core.errors.auth import NotAuthenticated
from core.errors.requests import InvalidRunInput
from core.sse import SseDecoder
from tests.fixtures.http.client import Api, check_error
from tests.fixtures.http.event_streams import events_in
from tests.fixtures.product.server import Server
from tests.fixtures.runs.agent_runs import GUIDE

AGUI = "/agent"
AGENTEX = "/api/v1/agent/run"
Event = dict[str, Any]
Streams = dict[str, list[Event]]


@pytest.fixture(scope="module")
def streams_by_path() -> dict[str, Streams]:
    """Streams that were read already, by path: most rows are about the same few."""
    return {}


@pytest.fixture
def caller(embedded: Server, registered: dict[str, Api]) -> Api:
    if "rows" not in registered:
        registered["rows"] = embedded.person()
    return registered["rows"]


@pytest.fixture
def reader(llm_product: Server, registered: dict[str, Api]) -> Api:
    if "rows with a model" not in registered:
        registered["rows with a model"] = llm_product.person()
    return registered["rows with a model"]


def post(api: Api, path: str, body: Any, **headers: str) -> httpx.Response:
    return api.http.post(path, headers={**api.headers, **headers}, json=body)


def user_message(text: str) -> Event:
    return {"id": f"msg-{uuid4()}", "role": "user", "content": text}


def agui(text: str, **fields: Any) -> Event:
    """A body of docs/reference/ag-ui-endpoint.md."""
    body = {"threadId": f"thread-{uuid4()}", "runId": f"run-{uuid4()}"}
    return {**body, "messages": [user_message(text)], **fields}


def react(text: str, **fields: Any) -> Event:
    return agui(text, forwardedProps={"agent_type": "react"}, **fields)


def agentex(text: str, **fields: Any) -> Event:
    """A body of docs/reference/agentex-api.md, section 12.2."""
    return {
        "thread_id": f"session-{uuid4()}",
        "run_id": f"run-{uuid4()}",
        "state": {},
        "messages": [user_message(text)],
        "tools": [],
        "context": [{"description": "当前会话上下文", "value": "..."}],
        "forwarded_props": {"agent_type": "react"},
        **fields,
    }


@pytest.fixture
def streams(caller: Api, reader: Api, streams_by_path: dict[str, Streams]) -> Callable[[str], Streams]:
    """A run that searches, one that fails and one that is joined, as a path tells them."""
    question = "Which port does the relay use?"

    def get(path: str) -> Streams:
        if path in streams_by_path:
            return streams_by_path[path]
        kb_id = caller.create_kb()
        caller.ingest(kb_id, "relay.md", GUIDE)
        props = {"agent_type": "react", "knowledge_base_ids": [kb_id]}
        if path == AGUI:
            asked, failing = agui(question, forwardedProps=props), agui("Hi #unauthorized")
            joined = {"threadId": asked["threadId"]}
        else:
            asked = agentex(question, forwarded_props=props)
            failing, joined = agentex("Hi #unauthorized"), {"threadId": asked["thread_id"]}
        streams_by_path[path] = {
            "run": events_in(post(caller, path, asked)),
            "failed": events_in(post(reader, path, failing)),
            "joined": events_in(post(caller, "/agent/connect", joined)),
        }
        return streams_by_path[path]

    return get


def check_event(streams: Streams, kind: str, stream: str, fields: set[str]) -> None:
    """A type of events is in a stream, and each of them has the row's fields."""
    found = [event for event in streams[stream] if event["type"] == kind]
    assert found
    assert all(fields <= event.keys() for event in found)


# --- docs/reference/ag-ui-endpoint.md ---


@pytest.mark.parametrize(
    ("left_out", "is_required"),
    [
        pytest.param("threadId", False, id="threadId-optional"),
        pytest.param("runId", False, id="runId-optional"),
        pytest.param("messages", True, id="messages-required"),
        pytest.param("tools", False, id="tools-optional"),
        pytest.param("context", False, id="context-optional"),
        pytest.param("forwardedProps", False, id="forwardedProps-optional"),
    ],
)
def test_001_request_parameter(caller: Api, left_out: str, is_required: bool):
    body = agui("hello", tools=[], context=[], forwardedProps={})
    del body[left_out]
    answer = post(caller, AGUI, body)
    if is_required:
        check_error(answer, InvalidRunInput)
        return
    events = events_in(answer)
    verify(events)
    for name in ("threadId", "runId"):
        assert events[0][name] == body.get(name, events[0][name]) != ""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("threadId", 7),
        ("runId", ["run"]),
        ("messages", "hello"),
        ("tools", {}),
        ("context", "x"),
        ("forwardedProps", []),
    ],
)
def test_001_parameter_of_another_type_is_refused(caller: Api, name: str, value: Any):
    answer = post(caller, AGUI, agui("hello", **{name: value}))
    check_error(answer, InvalidRunInput)
    assert answer.json()["details"]["field"].startswith(name)


@pytest.mark.parametrize(
    "extra",
    [
        pytest.param({"role": "user", "content": "before", "name": "Ann"}, id="role-user"),
        pytest.param({"role": "assistant", "content": "before"}, id="role-assistant"),
        pytest.param({"role": "system", "content": "before"}, id="role-system"),
        pytest.param({"role": "tool", "content": "before", "toolCallId": "c"}, id="role-tool"),
    ],
)
def test_001_message(caller: Api, extra: Event):
    body = agui("hello")
    body["messages"].insert(0, {"id": f"msg-{uuid4()}", **extra})
    assert events_in(post(caller, AGUI, body))[-1]["type"] == "RUN_FINISHED"


@pytest.mark.parametrize(
    "message",
    [
        pytest.param({"role": "user", "content": "x"}, id="id"),
        pytest.param({"id": "m", "content": "x"}, id="role"),
        pytest.param({"id": "m", "role": "user"}, id="content"),
        pytest.param({"id": "m", "role": "tool", "content": "x"}, id="toolCallId"),
        pytest.param({"id": "m", "role": "robot", "content": "x"}, id="unknown-role"),
    ],
)
def test_001_message_without_what_it_needs_is_refused(caller: Api, message: Event):
    body = agui("hello")
    body["messages"].insert(0, message)
    check_error(post(caller, AGUI, body), InvalidRunInput)


EVENTS_001 = {
    "RUN_STARTED": ("run", {"threadId", "runId"}),
    "RUN_FINISHED": ("run", {"threadId", "runId"}),
    "RUN_ERROR": ("failed", {"error"}),
    "TEXT_MESSAGE_START": ("run", {"messageId"}),
    "TEXT_MESSAGE_CONTENT": ("run", {"messageId", "delta"}),
    "TEXT_MESSAGE_END": ("run", {"messageId"}),
    "TOOL_CALL_START": ("run", {"toolCallId", "toolCallName"}),
    "TOOL_CALL_ARGS": ("run", {"toolCallId", "delta"}),
    "TOOL_CALL_END": ("run", {"toolCallId"}),
    "STATE_SNAPSHOT": ("run", {"snapshot"}),
    "STATE_DELTA": ("run", {"delta"}),
    "MESSAGES_SNAPSHOT": ("joined", {"messages"}),
    "STEP_STARTED": ("run", {"stepName"}),
    "STEP_FINISHED": ("run", {"stepName"}),
}


@pytest.mark.parametrize("kind", EVENTS_001)
def test_001_event(streams: Callable[[str], Streams], kind: str):
    check_event(streams(AGUI), kind, *EVENTS_001[kind])


def test_001_streams_are_valid(streams: Callable[[str], Streams]):
    verify(streams(AGUI)["run"])
    verify(streams(AGUI)["joined"])


def test_001_server_tool_gives_its_result_in_the_same_run(streams: Callable[[str], Streams]):
    events = streams(AGUI)["run"]
    called = [event["toolCallId"] for event in events if event["type"] == "TOOL_CALL_START"]
    answered = [event["toolCallId"] for event in events if event["type"] == "TOOL_CALL_RESULT"]
    assert called == answered != []


@pytest.mark.parametrize(
    ("command", "content", "shown"),
    [
        pytest.param(
            '/tool confirm_action {"message": "Delete?"}',
            {"confirmed": True},
            '"confirmed": true',
            id="confirm_action",
        ),
        pytest.param(
            '/tool request_input {"prompt": "请输入您的邮箱地址"}',
            {"input": "user@example.com"},
            "user@example.com",
            id="request_input",
        ),
        pytest.param("/tool get_location {}", {"city": "Ulm"}, "Ulm", id="frontend-tool"),
    ],
)
def test_001_tool_message_answers_a_call(caller: Api, command: str, content: Event, shown: str):
    place = {
        "name": "get_location",
        "description": "获取用户当前位置",
        "parameters": {"type": "object", "properties": {}, "required": []},
    }
    asked = react(command, tools=[place])
    first = events_in(post(caller, AGUI, asked))
    call = next(event for event in first if event["type"] == "TOOL_CALL_START")
    answer = {
        "id": f"msg-{uuid4()}",
        "role": "tool",
        "toolCallId": call["toolCallId"],
        "content": json.dumps(content),
    }
    again = {**asked, "runId": f"run-{uuid4()}", "messages": [*asked["messages"], answer]}
    second = events_in(post(caller, AGUI, again))

    assert call["toolCallName"] in command
    assert second[-1]["type"] == "RUN_FINISHED"
    (result,) = [event for event in second if event["type"] == "TOOL_CALL_RESULT"]
    assert (result["toolCallId"], shown in result["content"]) == (call["toolCallId"], True)


def test_001_thread_id_goes_on_with_a_conversation(caller: Api):
    first = agui("hello")
    events_in(post(caller, AGUI, first))
    second = agui("And again", threadId=first["threadId"])
    events_in(post(caller, AGUI, second))
    joined = events_in(post(caller, f"{AGUI}/connect", {"threadId": first["threadId"]}))

    messages = next(event for event in joined if event["type"] == "MESSAGES_SNAPSHOT")["messages"]
    said = [message["content"] for message in messages if message["role"] == "user"]
    assert said == ["hello", "And again"]


def test_001_error_code_invalid_request(caller: Api):
    check_error(post(caller, AGUI, {"messages": 7}), InvalidRunInput)
    asked = react('/tool confirm_action {"message": "Delete?"}')
    events_in(post(caller, AGUI, asked))
    last = events_in(post(caller, AGUI, agui("hello", threadId=asked["threadId"])))[-1]
    assert (last["type"], last["code"]) == ("RUN_ERROR", "INTERRUPTS_OPEN")
    assert last["error"] == {"code": "INVALID_REQUEST", "message": last["message"]}


@pytest.mark.parametrize(
    ("code", "tool", "arguments", "named"),
    [
        ("TOOL_NOT_FOUND", "none", {}, "There is no tool 'none'"),
        ("TOOL_EXECUTION_ERROR", "current_time", {"timezone": "Nowhere/None"}, "Nowhere/None"),
    ],
)
def test_001_error_code_of_a_tool(reader: Api, code: str, tool: str, arguments: Event, named: str):
    """The agent hears of it and may go another way: the run goes on to its end."""
    events = events_in(post(reader, AGUI, calling(tool, arguments)))
    assert events[-1]["type"] == "RUN_FINISHED"
    (result,) = [event for event in events if event["type"] == "TOOL_CALL_RESULT"]
    assert named in result["content"]
    assert result.pop("error") == {"code": code, "message": result["content"]}
    # Nothing else that AG-UI does not know.
    verify(events)


def calling(tool: str, arguments: Event, **fields: Any) -> Event:
    """A body whose model calls a tool."""
    return react(f"Please. #calls {json.dumps([[tool, arguments]])}", **fields)


def test_001_error_is_not_for_who_names_its_version_of_ag_ui(reader: Api):
    failed = events_in(post(reader, AGUI, agui("Hi #unauthorized", protocolVersion="1.0")))
    unknown = events_in(post(reader, AGUI, calling("none", {}, protocolVersion="1.0")))
    assert failed[-1]["type"] == "RUN_ERROR"
    verify(failed)
    verify(unknown)
    assert not [event for event in (*failed, *unknown) if "error" in event]


def test_001_error_code_model_error(streams: Callable[[str], Streams]):
    last = streams(AGUI)["failed"][-1]
    assert last["error"] == {"code": "MODEL_ERROR", "message": last["message"]}


# Its code TIMEOUT needs a server of its own: test_endless_models.py.


# --- docs/reference/agentex-api.md, section 12 ---


@pytest.mark.parametrize("accept", ["text/event-stream", "application/octet-stream"])
def test_002_accept(caller: Api, accept: str):
    answer = post(caller, AGENTEX, agentex("hello"), Accept=accept)
    assert (answer.status_code, answer.headers["content-type"]) == (200, accept)


def test_002_authorization(caller: Api):
    answer = caller.http.post(AGENTEX, json=agentex("hello"))
    check_error(answer, NotAuthenticated)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("thread_id", 7),
        ("run_id", 7),
        ("state", []),
        ("messages", {}),
        ("tools", {}),
        ("context", {}),
        ("forwarded_props", []),
    ],
)
def test_002_field_of_another_type_is_refused(caller: Api, name: str, value: Any):
    answer = post(caller, AGENTEX, agentex("hello", **{name: value}))
    check_error(answer, InvalidRunInput)


def test_002_fields_of_the_example(caller: Api):
    tool = {
        "name": "world_tps_get",
        "description": "获取服务器 TPS",
        "parameters": {"type": "object", "properties": {}},
    }
    props = {
        "agent_type": "react",
        "model_id": "default",
        "knowledge_base_ids": [],
        "mcp_connection_ids": [],
        "skill_ids": [],
    }
    body = agentex("/tool world_tps_get {}", tools=[tool], forwarded_props=props)
    events = events_in(post(caller, AGENTEX, body))
    assert (events[0]["thread_id"], events[0]["run_id"]) == (body["thread_id"], body["run_id"])
    assert len(events[-1]["outcome"]["pending_tool_call_ids"]) == 1


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("Content-Type", "text/event-stream"),
        ("Cache-Control", "no-cache"),
        ("Connection", "keep-alive"),
    ],
)
def test_002_response_header(caller: Api, header: str, value: str):
    answer = post(caller, AGENTEX, agentex("hello"))
    assert value in answer.headers[header].split(", ")


EVENTS_002 = {
    "RUN_STARTED": ("run", {"thread_id", "run_id", "timestamp"}),
    "RUN_FINISHED": ("run", {"thread_id", "run_id", "result"}),
    "RUN_ERROR": ("failed", {"message", "code"}),
    "STEP_STARTED": ("run", {"step_name"}),
    "STEP_FINISHED": ("run", {"step_name"}),
    "TEXT_MESSAGE_START": ("run", {"message_id", "role"}),
    "TEXT_MESSAGE_CONTENT": ("run", {"message_id", "delta"}),
    "TEXT_MESSAGE_END": ("run", {"message_id"}),
    "TOOL_CALL_START": ("run", {"tool_call_id", "tool_call_name", "parent_message_id"}),
    "TOOL_CALL_ARGS": ("run", {"tool_call_id", "delta"}),
    "TOOL_CALL_END": ("run", {"tool_call_id"}),
    "TOOL_CALL_RESULT": ("run", {"message_id", "tool_call_id", "content", "role"}),
    "STATE_SNAPSHOT": ("run", {"snapshot"}),
    "STATE_DELTA": ("run", {"delta"}),
    "MESSAGES_SNAPSHOT": ("joined", {"messages"}),
}


@pytest.mark.parametrize("kind", EVENTS_002)
def test_002_event(streams: Callable[[str], Streams], kind: str):
    check_event(streams(AGENTEX), kind, *EVENTS_002[kind])


def test_002_frame_names_its_event(caller: Api):
    answer = post(caller, AGENTEX, agentex("hello"))
    frames = SseDecoder().feed(answer.content)
    assert [frame.event for frame in frames] == [json.loads(f.data)["type"] for f in frames]


def test_002_run_finished_counts_tokens(streams: Callable[[str], Streams]):
    usage = streams(AGENTEX)["run"][-1]["result"]["usage"]
    assert usage.keys() >= {"prompt_tokens", "completion_tokens"}


def test_002_run_error_code_llm_error(streams: Callable[[str], Streams]):
    assert streams(AGENTEX)["failed"][-1]["code"] == "LLM_ERROR"


def test_002_state_delta_is_a_patch(streams: Callable[[str], Streams]):
    deltas = [e["delta"] for e in streams(AGENTEX)["run"] if e["type"] == "STATE_DELTA"]
    assert all({"op", "path"} <= operation.keys() for delta in deltas for operation in delta)


def test_002_stop(caller: Api):
    body = agentex("hello")
    events_in(post(caller, AGENTEX, body))
    answer = post(caller, f"{AGENTEX}/{body['run_id']}/stop", None).json()
    assert answer == {
        "code": 0,
        "message": "success",
        "data": {"run_id": body["run_id"], "stopped": False},
    }


@pytest.mark.parametrize("agent_type", ["react", "agentic_rag", "plan_execute", "reflexion"])
def test_002_agent_type(caller: Api, agent_type: str):
    body = agentex("hello", forwarded_props={"agent_type": agent_type})
    assert events_in(post(caller, AGENTEX, body))[-1]["type"] == "RUN_FINISHED"
