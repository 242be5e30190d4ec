"""Protobuf framing of wire events, read back by the stock decoder."""

from typing import Any

import pytest
from ag_ui.core import EventType

from agents.agui.protobuf import events_pb2
from agents.agui.protobuf.encoder import encode
from scripts.protobuf import SCHEMA, generate
from tests.fixtures.paths import ROOT
from tests.fixtures.runs.agent_runs import node_of_client, run_node

IDS = {"threadId": "线程-1", "runId": "r:1/ä"}
JSON = {
    "text": "é",
    "no": None,
    "yes": True,
    "n": -7,
    "f": 0.25,
    "list": [1, [], {}],
    "": {"a": ""},
}
PARTS: list[dict[str, Any]] = [
    {"type": "text", "text": "see", "id": "p1", "metadata": JSON},
    {"type": "image", "source": {"type": "data", "value": "aGk=", "mimeType": "image/png"}},
    {"type": "audio", "source": {"type": "url", "value": "https://e.org/a", "mimeType": "audio/a"}},
    {"type": "video", "source": {"type": "file", "value": "h", "provider": "openai"}, "id": "p4"},
    {"type": "document", "source": {"type": "url", "value": "https://e.org/d"}, "metadata": [1]},
]
CALL = {
    "id": "c1",
    "type": "function",
    "function": {"name": "search", "arguments": '{"q": 1'},
    "metadata": JSON,
    "encryptedValue": "x",
}
MESSAGES: list[dict[str, Any]] = [
    {"id": "m1", "role": "user", "content": "问题", "name": "Ann", "metadata": JSON},
    {"id": "m2", "role": "user", "content": PARTS},
    {"id": "m3", "role": "assistant", "content": "", "toolCalls": [CALL]},
    {"id": "m4", "role": "assistant", "toolCalls": [CALL, {**CALL, "id": "c2"}]},
    {"id": "m5", "role": "tool", "content": "r", "toolCallId": "c1", "error": "half of it"},
    {"id": "m6", "role": "tool", "content": [], "toolCallId": "c2"},
    {"id": "m7", "role": "reasoning", "content": "hm", "encryptedValue": "x"},
    {"id": "m8", "role": "activity", "activityType": "PLAN", "content": JSON},
    {"id": "m9", "role": "system", "content": "Be brief.", "subagentRunId": "s"},
]
USAGE = {
    "provider": "p",
    "model": "m",
    "inputTokens": 2**52,
    "outputTokens": 0,
    "totalTokens": 3,
    "reasoningTokens": 1,
    "cachedInputTokens": 1,
    "cacheWriteInputTokens": 1,
}
INTERRUPT = {
    "id": "i1",
    "reason": "input_required",
    "message": "Which?",
    "toolCallId": "c1",
    "responseSchema": {"type": "object", "properties": {"input": {"type": "string"}}},
    "expiresAt": "2026-12-01T00:00:00Z",
    "metadata": JSON,
}
PATCH: list[dict[str, Any]] = [
    {"op": "add", "path": "/a/-", "value": None},
    {"op": "remove", "path": "/a/0"},
    {"op": "replace", "path": "", "value": JSON},
    {"op": "move", "path": "/b", "from": "/a"},
    {"op": "copy", "path": "/c", "from": "/b"},
    {"op": "test", "path": "/c", "value": [False]},
]
INPUT = {
    **IDS,
    "protocolVersion": "1.0",
    "state": JSON,
    "messages": MESSAGES,
    "tools": [{"name": "t", "description": "d", "parameters": {"type": "object"}, "metadata": {}}],
    "context": [{"description": "d", "value": "v"}],
    "forwardedProps": None,
    "resume": [{"interruptId": "i", "status": "resolved", "payload": {"approved": True}}],
}


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": [value]}
    return value


EVENTS: list[dict[str, Any]] = [
    {"type": "RUN_STARTED", **IDS, "timestamp": 1738569600000, "protocolVersion": "1.0"},
    {"type": "RUN_STARTED", **IDS, "parentRunId": "p", "input": INPUT, "rawEvent": [None]},
    {"type": "RUN_FINISHED", **IDS, "result": JSON, "usage": [USAGE, {"model": "other"}]},
    {"type": "RUN_FINISHED", **IDS, "result": None},
    {"type": "RUN_FINISHED", **IDS, "outcome": {"type": "success", "pendingToolCallIds": ["c1"]}},
    {"type": "RUN_FINISHED", **IDS, "outcome": {"type": "interrupt", "interrupts": [INTERRUPT]}},
    {"type": "RUN_FINISHED", **IDS, "outcome": {"type": "cancelled"}},
    {"type": "RUN_ERROR", "message": "m", "code": "TIMEOUT", "usage": [USAGE]},
    {"type": "STEP_STARTED", "stepName": "think"},
    {"type": "STEP_FINISHED", "stepName": ""},
    {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant", "name": ""},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": ""},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "\u0000\U0001f600\n", "metadata": {}},
    {"type": "TEXT_MESSAGE_END", "messageId": "m", "metadata": {"citations": [JSON]}},
    {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "role": "user", "delta": "", "name": "n"},
    {"type": "TEXT_MESSAGE_CHUNK"},
    {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "n", "parentMessageId": "m"},
    {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": '{"a":'},
    {"type": "TOOL_CALL_END", "toolCallId": "c"},
    {"type": "TOOL_CALL_CHUNK", "toolCallId": "c", "toolCallName": "n", "delta": "{}"},
    {"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "c", "content": "r", "role": "tool"},
    {"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "c", "content": PARTS},
    {"type": "STATE_SNAPSHOT", "snapshot": JSON},
    {"type": "STATE_SNAPSHOT", "snapshot": nested(120)},
    {"type": "STATE_DELTA", "delta": PATCH},
    {"type": "MESSAGES_SNAPSHOT", "messages": MESSAGES},
    {"type": "MESSAGES_SNAPSHOT", "messages": []},
    {"type": "ACTIVITY_SNAPSHOT", "messageId": "m", "activityType": "PLAN", "content": JSON},
    {"type": "ACTIVITY_SNAPSHOT", "messageId": "m", "activityType": "P", "content": {}, "replace": False},
    {"type": "ACTIVITY_DELTA", "messageId": "m", "activityType": "PLAN", "patch": PATCH},
    {"type": "RAW", "event": JSON, "source": "s", "subagentRunId": "s"},
    {"type": "CUSTOM", "name": "n", "value": None},
    {"type": "CUSTOM", "name": "n", "value": [JSON, 0, "", False]},
    {"type": "REASONING_START", "messageId": "m"},
    {"type": "REASONING_MESSAGE_START", "messageId": "m", "role": "reasoning"},
    {"type": "REASONING_MESSAGE_CONTENT", "messageId": "m", "delta": "hm"},
    {"type": "REASONING_MESSAGE_END", "messageId": "m"},
    {"type": "REASONING_MESSAGE_CHUNK", "messageId": "m", "delta": "hm"},
    {"type": "REASONING_END", "messageId": "m"},
    {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "m", "encryptedValue": "x"},
    {"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "n", "description": "d",
     "parentSubagentRunId": "p", "parentToolCallId": "c", "parentMessageId": "m"},
    {"type": "SUBAGENT_FINISHED", "subagentRunId": "s", "result": JSON,
     "outcome": {"type": "suspended", "interruptIds": ["i"]}},
    {"type": "SUBAGENT_FINISHED", "subagentRunId": "s", "outcome": {"type": "success"}},
    {"type": "SUBAGENT_ERROR", "subagentRunId": "s", "message": "m", "code": "c"},
]  # fmt: skip


def test_every_type_of_the_protocol_is_in_the_corpus():
    assert {event["type"] for event in EVENTS} == {kind.value for kind in EventType}


def test_stock_decoder_reads_what_was_written():
    frames = b"".join(encode(event) for event in EVENTS)
    assert run_node(node_of_client(), "decode.mjs", frames) == EVENTS


def test_field_that_the_schema_lacks_is_left_out():
    event = {"type": "RUN_ERROR", "message": "m"}
    assert encode({**event, "error": {"code": "MODEL_ERROR", "message": "m"}}) == encode(event)


def test_same_event_is_always_the_same_bytes():
    turned = dict(reversed(JSON.items()))
    snapshots = [{"type": "STATE_SNAPSHOT", "snapshot": state} for state in (JSON, turned)]
    assert encode(snapshots[0]) == encode(snapshots[1])


def test_type_that_is_none_is_an_error():
    with pytest.raises(KeyError):
        encode({"type": "RUN_CANCELLED"})


def test_module_is_made_of_the_schema(tmp_path):
    generate(tmp_path)
    made = (tmp_path / SCHEMA).with_name("events_pb2.py")
    assert made.read_text() == (ROOT / SCHEMA).with_name("events_pb2.py").read_text()
    assert events_pb2.DESCRIPTOR.name == SCHEMA.as_posix()
