"""The verifier: what it accepts, and that each rule can fail."""

import pytest

from agents.agui.json_patch import InapplicablePatch, apply_patch
from agents.agui.verifier import ProtocolViolation, verify

START = {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "protocolVersion": "1.0"}
FINISH = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
ERROR = {"type": "RUN_ERROR", "message": "x"}
STEP = {"type": "STEP_STARTED", "stepName": "s"}
STEP_END = {"type": "STEP_FINISHED", "stepName": "s"}
TEXT = {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}
CONTENT = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "x"}
TEXT_END = {"type": "TEXT_MESSAGE_END", "messageId": "m"}
CALL = {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f", "parentMessageId": "p"}
ARGS = {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{}"}
CALL_END = {"type": "TOOL_CALL_END", "toolCallId": "c"}
RESULT = {"type": "TOOL_CALL_RESULT", "messageId": "x", "toolCallId": "c", "content": "ok"}
SPAN = {"type": "REASONING_START", "messageId": "h"}
THOUGHT = {"type": "REASONING_MESSAGE_START", "messageId": "h", "role": "reasoning"}
THOUGHT_DELTA = {"type": "REASONING_MESSAGE_CONTENT", "messageId": "h", "delta": "x"}
THOUGHT_END = {"type": "REASONING_MESSAGE_END", "messageId": "h"}
SPAN_END = {"type": "REASONING_END", "messageId": "h"}
SNAPSHOT = {"type": "STATE_SNAPSHOT", "snapshot": {"list": []}}
PATCH = {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/list/-", "value": 1}]}
INTERRUPT = {"id": "i", "reason": "confirmation"}
SHOWN = {"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "x", "content": {}}
CHANGED = {
    "type": "ACTIVITY_DELTA",
    "messageId": "a",
    "activityType": "x",
    "patch": [{"op": "add", "path": "/n", "value": 1}],
}
PROGRESS = {**SHOWN, "activityType": "agentex:progress", "content": {"status": "running"}}
DONE = {
    **CHANGED,
    "activityType": "agentex:progress",
    "patch": [{"op": "replace", "path": "/status", "value": "done"}],
}
ACTIVITY = {"id": "a", "role": "activity", "activityType": "x", "content": {}}


def with_(event: dict, **fields: object) -> dict:
    return {**event, **fields}


def without(event: dict, field: str) -> dict:
    return {key: value for key, value in event.items() if key != field}


@pytest.mark.parametrize(
    "events",
    [
        [START, FINISH],
        [ERROR],
        [START, STEP, TEXT, CALL, ERROR],
        [
            START, SNAPSHOT, STEP, SPAN, THOUGHT, THOUGHT_DELTA, THOUGHT_END, SPAN_END, TEXT,
            CONTENT, CALL, ARGS, TEXT_END, CALL_END, RESULT, PATCH, STEP_END, FINISH,
        ],
        [START, STEP, STEP_END, STEP, STEP_END, FINISH],
        [START, FINISH, with_(START, runId="r2"), with_(FINISH, runId="r2")],
        [START, ERROR, with_(START, runId="r2"), with_(FINISH, runId="r2")],
        [START, with_(FINISH, outcome={"type": "cancelled"})],
        [START, with_(FINISH, outcome={"type": "interrupt", "interrupts": [INTERRUPT]})],
        [
            START, CALL, CALL_END,
            with_(FINISH, outcome={"type": "success", "pendingToolCallIds": ["c"]}),
        ],
        [START, CALL, CALL_END, with_(RESULT, content=[{"type": "text", "text": "x"}]), FINISH],
        [START, {"type": "CUSTOM", "name": "n", "value": None}, FINISH],
        [with_(START, timestamp=1), with_(FINISH, timestamp=2, metadata={"a": None})],
        [START, SHOWN, CHANGED, SHOWN, FINISH, with_(START, runId="r2"), CHANGED, SHOWN,
         with_(FINISH, runId="r2")],
        [START, PROGRESS, DONE, FINISH],
        [START, PROGRESS, ERROR],
        [START, {"type": "MESSAGES_SNAPSHOT", "messages": [ACTIVITY]}, CHANGED, SHOWN, FINISH],
    ],
)  # fmt: skip
def test_valid_sequences_pass(events):
    verify(events)


@pytest.mark.parametrize(
    ("events", "rule"),
    [
        ([], "no event"),
        ([START], "no terminal"),
        ([START, FINISH, START], "no terminal"),
        ([CONTENT], "while the run is before"),
        ([FINISH], "while the run is before"),
        ([START, START, FINISH], "RUN_STARTED while"),
        ([START, FINISH, ERROR], "RUN_ERROR while the run is over"),
        ([START, FINISH, STEP], "STEP_STARTED while the run is over"),
        ([START, ERROR, FINISH], "RUN_FINISHED while the run is over"),
        ([START, CONTENT, FINISH], "not open"),
        ([START, TEXT_END, FINISH], "not open"),
        ([START, ARGS, FINISH], "not open"),
        ([START, THOUGHT_DELTA, FINISH], "not open"),
        ([START, SPAN_END, FINISH], "not open"),
        ([START, STEP_END, FINISH], "not open"),
        ([START, TEXT, TEXT, FINISH], "started twice"),
        ([START, STEP, STEP, FINISH], "started twice"),
        ([START, CALL, CALL, FINISH], "started twice"),
        ([START, TEXT, FINISH], "RUN_FINISHED while a text message"),
        ([START, STEP, FINISH], "RUN_FINISHED while a step"),
        ([START, CALL, FINISH], "RUN_FINISHED while a tool call"),
        ([START, SPAN, FINISH], "RUN_FINISHED while a reasoning span"),
        ([START, THOUGHT, FINISH], "RUN_FINISHED while a reasoning message"),
        ([START, STEP, with_(FINISH, outcome={"type": "cancelled"})], "while a step"),
        ([START, TEXT, TEXT_END, TEXT, TEXT_END, FINISH], "message id used again"),
        ([START, TEXT, TEXT_END, with_(THOUGHT, messageId="m"), FINISH], "message id used again"),
        (
            [START, TEXT, TEXT_END, CALL, CALL_END, with_(RESULT, messageId="m"), FINISH],
            "message id used again",
        ),
        ([START, CALL, CALL_END, RESULT, CALL, CALL_END, FINISH], "tool call id used again"),
        ([START, without(CALL, "parentMessageId"), FINISH], "without parentMessageId"),
        ([START, RESULT, FINISH], "unknown tool call"),
        ([START, CALL, RESULT, FINISH], "before TOOL_CALL_END"),
        (
            [START, CALL, CALL_END, RESULT, with_(RESULT, messageId="y"), FINISH],
            "second result",
        ),
        ([START, CALL, CALL_END, with_(RESULT, content=""), FINISH], "empty tool result"),
        ([START, CALL, CALL_END, FINISH], "without a result"),
        (
            [START, CALL, CALL_END, with_(FINISH, outcome={"type": "cancelled"})],
            "without a result",
        ),
        (
            [START, with_(FINISH, outcome={"type": "success", "pendingToolCallIds": []})],
            "empty pendingToolCallIds",
        ),
        ([START, with_(FINISH, outcome={"type": "interrupt", "interrupts": []})], "schema"),
        ([START, with_(FINISH, outcome={"type": "gave_up"})], "schema"),
        ([START, with_(FINISH, runId="other")], "foreign ids"),
        ([START, with_(FINISH, threadId="other")], "foreign ids"),
        ([START, FINISH, with_(START, threadId="u"), FINISH], "foreign threadId"),
        ([without(START, "protocolVersion"), FINISH], "protocol version"),
        ([START, {"type": "THINKING_START"}, FINISH], "schema"),
        ([START, {"type": "RUN_CANCELLED"}, FINISH], "schema"),
        ([START, {}, FINISH], "schema"),
        ([START, with_(STEP, extra=1), STEP_END, FINISH], "unknown, null"),
        ([START, with_(TEXT, name=None), TEXT_END, FINISH], "unknown, null"),
        ([START, with_(STEP, metadata=None), STEP_END, FINISH], "unknown, null"),
        ([with_(START, timestamp=1.0), FINISH], "timestamp"),
        ([with_(START, timestamp=1.5), FINISH], "timestamp"),
        ([START, {"type": "STEP_STARTED", "step_name": "s"}, FINISH], "unknown, null"),
        ([START, without(THOUGHT, "role"), FINISH], "unknown, null"),
        ([START, with_(FINISH, usage=[{"inputTokens": 1, "cost": 2}])], "unknown, null"),
        ([START, {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m"}, FINISH], "never emitted"),
        (
            [START, {"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "n"}, FINISH],
            "never emitted",
        ),
        ([START, with_(STEP, subagentRunId=None), FINISH], "never emitted"),
        ([START, PATCH, FINISH], "patch that does not apply"),
        ([START, CHANGED, FINISH], "unknown activity"),
        ([START, SHOWN, with_(CHANGED, activityType="y"), FINISH], "unknown activity"),
        (
            [START, SHOWN, with_(CHANGED, patch=[{"op": "remove", "path": "/n"}]), FINISH],
            "patch that does not apply",
        ),
        ([START, TEXT, TEXT_END, with_(SHOWN, messageId="m"), FINISH], "message id used again"),
        ([START, SHOWN, with_(TEXT, messageId="a"), FINISH], "message id used again"),
        ([START, with_(SHOWN, replace=False), FINISH], "never emitted"),
        ([START, PROGRESS, FINISH], "its progress says that it runs"),
        ([START, with_(CONTENT, delta="x" * (10 * 2**20 + 1)), FINISH], "10 MiB"),
    ],
)
def test_each_rule_can_fail(events, rule):
    with pytest.raises(ProtocolViolation) as caught:
        verify(events)

    assert rule in str(caught.value)


def test_ids_are_held_against_what_was_asked_for():
    with pytest.raises(ProtocolViolation, match="foreign threadId"):
        verify([START, FINISH], thread_id="u")
    with pytest.raises(ProtocolViolation, match="foreign runId"):
        verify([START, FINISH], run_id="q")
    verify([START, FINISH], thread_id="t", run_id="r")


def test_patches_build_on_the_callers_state():
    verify([START, PATCH, FINISH], state={"list": []})


@pytest.mark.parametrize(
    ("document", "operation", "result"),
    [
        ({}, {"op": "add", "path": "/a", "value": 1}, {"a": 1}),
        ({"a": 1}, {"op": "replace", "path": "/a", "value": 2}, {"a": 2}),
        ({"a": 1}, {"op": "remove", "path": "/a"}, {}),
        ({"a": [1]}, {"op": "add", "path": "/a/0", "value": 0}, {"a": [0, 1]}),
        ({"a": [1]}, {"op": "replace", "path": "/a/0", "value": 0}, {"a": [0]}),
        ({"a/b": 1, "~": 2}, {"op": "remove", "path": "/a~1b"}, {"~": 2}),
        ({"~1": 1}, {"op": "test", "path": "/~01", "value": 1}, {"~1": 1}),
        ({"a": 1}, {"op": "replace", "path": "", "value": []}, []),
    ],
)
def test_patch_operations(document, operation, result):
    assert apply_patch(document, [operation]) == result


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "replace", "path": "/b", "value": 1},
        {"op": "remove", "path": "/b"},
        {"op": "add", "path": "/b/c", "value": 1},
        {"op": "add", "path": "/a/2", "value": 1},
        {"op": "replace", "path": "/a/1", "value": 1},
        {"op": "add", "path": "/a/x", "value": 1},
        {"op": "add", "path": "/s/x", "value": 1},
        {"op": "test", "path": "/s", "value": 1},
        {"op": "move", "path": "/s", "from": "/a"},
    ],
)
def test_impossible_patches_are_refused(operation):
    with pytest.raises(InapplicablePatch):
        apply_patch({"a": [1], "s": "text"}, [operation])
