"""Progress of calls as activity messages, within bounds, and what the verifier thinks of it."""

from collections.abc import Callable
from typing import Any

import pytest

from agents.agui.verifier import ProtocolViolation, Verifier
from agents.events import ActivityChanged, ActivityStarted, RunEvent
from agents.llm.base import ToolCall
from agents.strategies.shared.call_progress import MOST_REPORTS, CallProgressFeed
from agents.tools.live_call import ProgressReport

CALL = ToolCall("c1", "mcp__live__count", "{}")


class Pause:
    """Pauses that end when the test says so."""

    def __init__(self) -> None:
        self.work: Callable[[], None] | None = None

    def later(self, work: Callable[[], None]) -> "Pause":
        self.work = work
        return self

    def cancel(self) -> None:
        self.work = None

    def end(self) -> None:
        work, self.work = self.work, None
        if work is not None:
            work()


def feed() -> tuple[CallProgressFeed, list[RunEvent], Pause]:
    events: list[RunEvent] = []
    pause = Pause()
    return CallProgressFeed(events.append, CALL, pause.later), events, pause


def test_first_report_is_shown_at_once_and_then_the_newest_of_each_pause():
    shown, events, pause = feed()
    for step in range(1, 50):
        shown.show(ProgressReport(step, 100, f"step {step}"))
    assert len(events) == 1
    pause.end()
    started, changed = events
    assert isinstance(started, ActivityStarted)
    assert (started.content["tool_call_id"], started.content["progress"]) == ("c1", 1)
    assert isinstance(changed, ActivityChanged)
    assert changed.changes == {"progress": 49, "message": "step 49"}
    pause.end()
    shown.show(ProgressReport(50, 100, "step 50"))
    shown.show(ProgressReport(51, 100, "step 51"))
    shown.end()
    assert (len(events), pause.work) == (3, None)
    shown.show(ProgressReport(52, 100, "step 52"))
    assert len(events) == 3


def test_reports_are_bounded_in_number_and_length_and_never_go_back():
    shown, events, pause = feed()
    for step in range(1, 3 * MOST_REPORTS):
        shown.show(ProgressReport(step, None, "x" * 5000))
        pause.end()
    assert len(events) == MOST_REPORTS
    (started, *_) = events
    assert isinstance(started, ActivityStarted)
    assert (started.content["total"], len(str(started.content["message"]))) == (None, 300)

    other, events, pause = feed()
    for progress, total in ((5, 10), (float("nan"), 10), (6, float("inf")), (4, 10), (-1, 10)):
        other.show(ProgressReport(progress, total))
        pause.end()
    assert len(events) == 1


RUN: list[dict[str, Any]] = [
    {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "protocolVersion": "1.0"},
    {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
    {"type": "TEXT_MESSAGE_END", "messageId": "m"},
    {"type": "TOOL_CALL_START", "toolCallId": "c1", "toolCallName": "count", "parentMessageId": "m"},
    {"type": "TOOL_CALL_END", "toolCallId": "c1"},
]
RESULT = {"type": "TOOL_CALL_RESULT", "messageId": "x", "toolCallId": "c1", "content": "done", "role": "tool"}


def snapshot(**content: Any) -> dict[str, Any]:
    standard = {"tool_call_id": "c1", "tool": "count", "progress": 3, "total": 10, "message": ""}
    kind = "agentex:call-progress"
    return {
        "type": "ACTIVITY_SNAPSHOT", "messageId": "p", "activityType": kind, "content": {**standard, **content}, "replace": True
    }  # fmt: skip


def delta(progress: Any) -> dict[str, Any]:
    patch = [{"op": "add", "path": "/progress", "value": progress}]
    return {"type": "ACTIVITY_DELTA", "messageId": "p", "activityType": "agentex:call-progress", "patch": patch}


def test_progress_of_a_running_call_is_valid():
    verifier = Verifier()
    for event in [*RUN, snapshot(), delta(4), delta(4), snapshot(progress=2), RESULT]:
        verifier.check(event)


@pytest.mark.parametrize(
    "events",
    [
        [RESULT, snapshot()],
        [snapshot(), RESULT, delta(4)],
        [snapshot(), delta(2)],
        [snapshot(progress="3")],
        [snapshot(total="10")],
        [snapshot(message="x" * 301)],
    ],
)
def test_progress_that_no_client_can_use_is_a_violation(events: list[dict[str, Any]]):
    verifier = Verifier()
    for event in [*RUN, *events[:-1]]:
        verifier.check(event)
    with pytest.raises(ProtocolViolation):
        verifier.check(events[-1])
