"""Closing events for a run's log whose worker died."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from uuid import uuid4

from pydantic import JsonValue

from agents.agui.message_reducer import MessageReducer, is_running
from agents.events import Failed, WireEvent, failure_fields
from core.json_access import as_text

# Each opener with its closer and the field that names both, in the order in which they are
# closed: what may lie inside something else comes first.
CLOSED_BY = {
    "REASONING_MESSAGE_START": ("REASONING_MESSAGE_END", "messageId"),
    "REASONING_START": ("REASONING_END", "messageId"),
    "TEXT_MESSAGE_START": ("TEXT_MESSAGE_END", "messageId"),
    "TOOL_CALL_START": ("TOOL_CALL_END", "toolCallId"),
    "STEP_STARTED": ("STEP_FINISHED", "stepName"),
}
OPENED_BY = {closer: (opener, field) for opener, (closer, field) in CLOSED_BY.items()}
_CANCELLED = "Cancelled: the run was stopped."
_SUPERSEDED = "Begun again: the process that made this call is gone."


@dataclass(frozen=True, slots=True)
class DanglingEvents:
    """Messages and calls that a dead process left open.

    ``ids`` are started again under other ids; ``closing`` ends those that are still open.
    """

    ids: frozenset[str]
    closing: list[WireEvent]


def find_dangling(
    logged: Sequence[WireEvent], continued_ids: frozenset[str], *, now: Callable[[], int]
) -> DanglingEvents:
    """The open part of a log that the recovering process does not continue.

    ``continued_ids`` are kept open; ``now`` gives milliseconds since the epoch.
    """
    fields = {"TEXT_MESSAGE_START": "messageId", "TOOL_CALL_START": "toolCallId"}
    begun = {as_text(event[fields[kind]]) for event in logged if (kind := as_text(event.get("type"))) in fields}
    closing: list[WireEvent] = []
    for event in closing_events(logged, now=now):
        name = as_text(event.get("messageId")) or as_text(event.get("toolCallId"))
        if event["type"] == "STEP_FINISHED":
            continue
        if event["type"] == "TOOL_CALL_RESULT":
            name = as_text(event["toolCallId"])
            event["content"] = _SUPERSEDED
        if name not in continued_ids:
            closing.append(event)
    return DanglingEvents(frozenset(begun - continued_ids), closing)


def end_activities(
    logged: Iterable[WireEvent], status: str, *, now: Callable[[], int], failure: Failed | None = None
) -> list[WireEvent]:
    """Events that set the status, and perhaps why a run failed, of all activities that still show it as running."""
    fold = MessageReducer()
    changes: dict[str, JsonValue] = {"status": status, **(failure_fields(failure) if failure else {})}
    for event in logged:
        fold.observe(event)
    return [
        {
            "type": "ACTIVITY_DELTA",
            "timestamp": now(),
            "messageId": message["id"],
            "activityType": message["activityType"],
            "patch": [{"op": "add", "path": f"/{name}", "value": value} for name, value in changes.items()],
        }
        for message in fold.all_messages
        if is_running(message)
    ]


def closing_events(logged: Iterable[WireEvent], *, now: Callable[[], int]) -> list[WireEvent]:
    """Events that must precede ``RUN_FINISHED``, if any; ``now`` gives milliseconds since the epoch."""
    still_open: dict[str, list[str]] = {start: [] for start in CLOSED_BY}
    unanswered: list[str] = []
    for event in logged:
        kind = as_text(event.get("type"))
        if kind in CLOSED_BY:
            still_open[kind].append(as_text(event[CLOSED_BY[kind][1]]))
        if kind in OPENED_BY:
            start, field = OPENED_BY[kind]
            still_open[start].remove(as_text(event[field]))
        if kind == "TOOL_CALL_START":
            unanswered.append(as_text(event["toolCallId"]))
        elif kind == "TOOL_CALL_RESULT" and (name := as_text(event["toolCallId"])) in unanswered:
            # A call that is not in the list was made in an earlier run, which waited for it.
            unanswered.remove(name)
    closing: list[WireEvent] = [
        {"type": end, "timestamp": now(), field: name, **_marks(end)}
        for start, (end, field) in CLOSED_BY.items()
        for name in reversed(still_open[start])
    ]
    return closing + [_cancelled_result(call_id, now()) for call_id in unanswered]


def _marks(end: str) -> WireEvent:
    return {"metadata": {"stopped": True}} if end == "TEXT_MESSAGE_END" else {}


def _cancelled_result(call_id: str, timestamp: int) -> WireEvent:
    return {
        "type": "TOOL_CALL_RESULT",
        "timestamp": timestamp,
        "messageId": str(uuid4()),
        "toolCallId": call_id,
        "content": _CANCELLED,
        "role": "tool",
    }
