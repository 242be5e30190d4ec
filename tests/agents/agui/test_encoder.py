"""The encoder of run events as AG-UI 1.0 wire events, and their snake_case mirror."""

from itertools import count

import pytest
from ag_ui.core import Event
from pydantic import TypeAdapter

from agents.agui.encoder import AguiEncoder, to_snake_case
from agents.events import (
    ActivityChanged,
    ActivityStarted,
    Citations,
    Failed,
    Finished,
    PatchOperation,
    RunEvent,
    RunUsage,
    StateDelta,
    StateSnapshot,
    StepFinished,
    StepStarted,
    TextDelta,
    TextEnded,
    TextStarted,
    ThoughtDelta,
    ThoughtEnded,
    ThoughtStarted,
    ToolCallArgs,
    ToolCallEnded,
    ToolCallResult,
    ToolCallStarted,
)
from agents.evidence import Citation

USAGE = RunUsage(100, 50, reasoning_tokens=20, provider="openai-compatible", model="m")
CITATION = Citation(
    number=1,
    chunk_id="c",
    document_id="d",
    document_name="guide.md",
    knowledge_base_id="kb",
    revision=2,
    heading_path=("A", "B"),
    page=None,
    char_start=10,
    char_end=20,
    quote="ten chars.",
)
CITATION_JSON = {
    "number": 1,
    "chunk_id": "c",
    "document_id": "d",
    "document_name": "guide.md",
    "knowledge_base_id": "kb",
    "revision": 2,
    "heading_path": ["A", "B"],
    "char_start": 10,
    "char_end": 20,
    "quote": "ten chars.",
}


def mapper() -> AguiEncoder:
    clock = count(1_000)
    return AguiEncoder("t", "r", now=lambda: next(clock))


@pytest.mark.parametrize(
    ("event", "wire"),
    [
        (StepStarted("grade"), [{"type": "STEP_STARTED", "stepName": "grade"}]),
        (StepFinished("grade"), [{"type": "STEP_FINISHED", "stepName": "grade"}]),
        (
            TextStarted("m"),
            [{"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}],
        ),
        (
            TextDelta("m", "x"),
            [{"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "x"}],
        ),
        (TextEnded("m"), [{"type": "TEXT_MESSAGE_END", "messageId": "m"}]),
        (
            TextEnded("m", (CITATION,), (7,), stopped=True, truncated=True),
            [
                {
                    "type": "TEXT_MESSAGE_END",
                    "messageId": "m",
                    "metadata": {
                        "citations": [CITATION_JSON],
                        "invalid_citations": [7],
                        "stopped": True,
                        "truncated": True,
                    },
                }
            ],
        ),
        (
            ThoughtStarted("h"),
            [
                {"type": "REASONING_START", "messageId": "h"},
                {"type": "REASONING_MESSAGE_START", "messageId": "h", "role": "reasoning"},
            ],
        ),
        (
            ThoughtDelta("h", "x"),
            [{"type": "REASONING_MESSAGE_CONTENT", "messageId": "h", "delta": "x"}],
        ),
        (
            ThoughtEnded("h"),
            [
                {"type": "REASONING_MESSAGE_END", "messageId": "h"},
                {"type": "REASONING_END", "messageId": "h"},
            ],
        ),
        (
            ToolCallStarted("c", "f", "m"),
            [
                {
                    "type": "TOOL_CALL_START",
                    "toolCallId": "c",
                    "toolCallName": "f",
                    "parentMessageId": "m",
                }
            ],
        ),
        (ToolCallArgs("c", "{}"), [{"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{}"}]),
        (ToolCallEnded("c"), [{"type": "TOOL_CALL_END", "toolCallId": "c"}]),
        (
            ToolCallResult("m", "c", "ok"),
            [
                {
                    "type": "TOOL_CALL_RESULT",
                    "messageId": "m",
                    "toolCallId": "c",
                    "content": "ok",
                    "role": "tool",
                }
            ],
        ),
        (
            StateSnapshot({"a": None}),
            [{"type": "STATE_SNAPSHOT", "snapshot": {"a": None}}],
        ),
        (
            StateDelta((PatchOperation("add", "/evidence", []),)),
            [
                {
                    "type": "STATE_DELTA",
                    "delta": [{"op": "add", "path": "/evidence", "value": []}],
                }
            ],
        ),
        (
            ActivityStarted("a", "agentex:progress", {"status": "running", "kept": None}),
            [
                {
                    "type": "ACTIVITY_SNAPSHOT",
                    "messageId": "a",
                    "activityType": "agentex:progress",
                    "content": {"status": "running", "kept": None},
                }
            ],
        ),
        (
            ActivityChanged("a", "agentex:progress", {"kept": 2}),
            [
                {
                    "type": "ACTIVITY_DELTA",
                    "messageId": "a",
                    "activityType": "agentex:progress",
                    "patch": [{"op": "add", "path": "/kept", "value": 2}],
                }
            ],
        ),
        (
            Citations((CITATION,), (7,)),
            [
                {
                    "type": "STATE_DELTA",
                    "delta": [
                        {"op": "add", "path": "/citations", "value": [CITATION_JSON]},
                        {"op": "add", "path": "/invalid_citations", "value": [7]},
                    ],
                }
            ],
        ),
        (
            Finished(USAGE, (CITATION,)),
            [
                {
                    "type": "RUN_FINISHED",
                    "threadId": "t",
                    "runId": "r",
                    "result": {
                        "usage": {"prompt_tokens": 100, "completion_tokens": 50},
                        "citations": [CITATION_JSON],
                    },
                    "usage": [
                        {
                            "provider": "openai-compatible",
                            "model": "m",
                            "inputTokens": 100,
                            "outputTokens": 50,
                            "totalTokens": 150,
                            "reasoningTokens": 20,
                        }
                    ],
                }
            ],
        ),
        (
            Finished(RunUsage(), outcome="cancelled"),
            [
                {
                    "type": "RUN_FINISHED",
                    "threadId": "t",
                    "runId": "r",
                    "result": {
                        "usage": {"prompt_tokens": 0, "completion_tokens": 0},
                        "citations": [],
                    },
                    "outcome": {"type": "cancelled"},
                    "usage": [{"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}],
                }
            ],
        ),
        (
            Failed("LLM_ERROR", "The language model failed", 50201, RunUsage()),
            [
                {
                    "type": "RUN_ERROR",
                    "message": "The language model failed",
                    "code": "LLM_ERROR",
                    "usage": [{"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}],
                }
            ],
        ),
    ],
)
def test_each_event_has_its_wire_form(event: RunEvent, wire):
    mapped = mapper().translate(event)

    assert [item.pop("timestamp") for item in mapped] == list(range(1_000, 1_000 + len(wire)))
    assert mapped == wire
    for item in mapped:
        TypeAdapter(Event).validate_python(item)


def test_run_starts_with_the_protocol_version():
    assert mapper().started(parent_run_id="before") == {
        "type": "RUN_STARTED",
        "timestamp": 1000,
        "threadId": "t",
        "runId": "r",
        "parentRunId": "before",
        "protocolVersion": "1.0",
    }
    assert "parentRunId" not in mapper().started()


def test_page_of_a_citation_is_there_when_the_document_has_pages():
    paged = Citation(**{**_fields(CITATION), "page": 3})

    assert paged.to_json() == {**CITATION_JSON, "page": 3}


def _fields(item) -> dict:
    return {name: getattr(item, name) for name in type(item).__dataclass_fields__}


# The examples of docs/reference/agentex-api.md, section 12.4.
@pytest.mark.parametrize(
    ("event", "printed"),
    [
        (StepStarted("thinking"), {"type": "STEP_STARTED", "step_name": "thinking"}),
        (StepFinished("thinking"), {"type": "STEP_FINISHED", "step_name": "thinking"}),
        (
            TextStarted("msg-uuid"),
            {"type": "TEXT_MESSAGE_START", "message_id": "msg-uuid", "role": "assistant"},
        ),
        (
            TextDelta("msg-uuid", "服务器"),
            {"type": "TEXT_MESSAGE_CONTENT", "message_id": "msg-uuid", "delta": "服务器"},
        ),
        (TextEnded("msg-uuid"), {"type": "TEXT_MESSAGE_END", "message_id": "msg-uuid"}),
        (
            ToolCallStarted("tc-uuid", "world_tps_get", "msg-uuid"),
            {
                "type": "TOOL_CALL_START",
                "tool_call_id": "tc-uuid",
                "tool_call_name": "world_tps_get",
                "parent_message_id": "msg-uuid",
            },
        ),
        (
            ToolCallArgs("tc-uuid", "{}"),
            {"type": "TOOL_CALL_ARGS", "tool_call_id": "tc-uuid", "delta": "{}"},
        ),
        (ToolCallEnded("tc-uuid"), {"type": "TOOL_CALL_END", "tool_call_id": "tc-uuid"}),
        (
            ToolCallResult("result-msg-uuid", "tc-uuid", '{"tps":20.0}'),
            {
                "type": "TOOL_CALL_RESULT",
                "message_id": "result-msg-uuid",
                "tool_call_id": "tc-uuid",
                "content": '{"tps":20.0}',
                "role": "tool",
            },
        ),
        (
            StateSnapshot({"current_step": "thinking", "tools_used": []}),
            {
                "type": "STATE_SNAPSHOT",
                "snapshot": {"current_step": "thinking", "tools_used": []},
            },
        ),
        (
            StateDelta((PatchOperation("add", "/tools_used/-", "world_tps_get"),)),
            {
                "type": "STATE_DELTA",
                "delta": [{"op": "add", "path": "/tools_used/-", "value": "world_tps_get"}],
            },
        ),
    ],
)
def test_mirror_is_as_the_seed_prints_it(event: RunEvent, printed):
    (wire,) = mapper().translate(event)
    del wire["timestamp"]

    assert to_snake_case(wire) == printed


def test_mirror_of_the_runs_own_events_has_all_the_seeds_fields():
    started = to_snake_case(mapper().started())
    (finished,) = map(to_snake_case, mapper().translate(Finished(USAGE)))
    (failed,) = map(to_snake_case, mapper().translate(Failed("LLM_ERROR", "x", 1, USAGE)))

    assert (started["thread_id"], started["run_id"], started["timestamp"]) == ("t", "r", 1000)
    assert (finished["thread_id"], finished["run_id"]) == ("t", "r")
    assert finished["result"] == {
        "usage": {"prompt_tokens": 100, "completion_tokens": 50},
        "citations": [],
    }
    assert finished["usage"][0]["input_tokens"] == 100  # type: ignore[index, call-overload]
    assert (failed["message"], failed["code"]) == ("x", "LLM_ERROR")


def test_mirror_leaves_data_alone_but_turns_nested_protocol_keys():
    data = {"camelCase": {"innerKey": 1}}
    assert to_snake_case({"type": "STATE_SNAPSHOT", "snapshot": data})["snapshot"] == data
    assert to_snake_case({"type": "CUSTOM", "name": "x", "value": data})["value"] == data
    assert to_snake_case({"type": "RAW", "rawEvent": data}) == {"type": "RAW", "raw_event": data}
    finished = {
        "type": "RUN_FINISHED",
        "outcome": {
            "type": "interrupt",
            "interrupts": [{"id": "i", "toolCallId": "c", "responseSchema": data}],
        },
        "result": data,
    }
    assert to_snake_case(finished) == {
        "type": "RUN_FINISHED",
        "outcome": {
            "type": "interrupt",
            "interrupts": [{"id": "i", "tool_call_id": "c", "response_schema": data}],
        },
        "result": data,
    }
    snapshot = {
        "type": "MESSAGES_SNAPSHOT",
        "messages": [
            {
                "id": "m",
                "role": "assistant",
                "metadata": data,
                "toolCalls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}],
            },
            {"id": "u", "content": [{"type": "image", "source": {"mimeType": "image/png"}}]},
        ],
    }
    messages = to_snake_case(snapshot)["messages"]
    assert messages == [
        {
            "id": "m",
            "role": "assistant",
            "metadata": data,
            "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}],
        },
        {"id": "u", "content": [{"type": "image", "source": {"mime_type": "image/png"}}]},
    ]


def test_mirror_leaves_the_content_of_activities_alone():
    data = {"camelCase": {"innerKey": 1}}
    shown = {"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "x", "content": data}
    assert to_snake_case(shown) == {
        "type": "ACTIVITY_SNAPSHOT",
        "message_id": "a",
        "activity_type": "x",
        "content": data,
    }
    patch = [{"op": "add", "path": "/camelCase", "value": data}]
    assert to_snake_case({"type": "ACTIVITY_DELTA", "patch": patch})["patch"] == patch
