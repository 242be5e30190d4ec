"""What a client gets that comes to a thread late: what it missed, and what is open."""

from collections.abc import Sequence

from pydantic import JsonValue

from agents.agui.encoder import EventMapper
from agents.agui.message_reducer import MessageFold
from agents.events import WireEvent
from core.json_access import as_text

# Each opener with the event that closes it and the field that names both.
_CLOSED_BY = {
    "STEP_STARTED": ("STEP_FINISHED", "stepName"),
    "REASONING_START": ("REASONING_END", "messageId"),
    "REASONING_MESSAGE_START": ("REASONING_MESSAGE_END", "messageId"),
    "TEXT_MESSAGE_START": ("TEXT_MESSAGE_END", "messageId"),
    "TOOL_CALL_START": ("TOOL_CALL_END", "toolCallId"),
}
_OPENED_BY = {closer: (opener, field) for opener, (closer, field) in _CLOSED_BY.items()}


def open_starts(logged: Sequence[WireEvent]) -> list[WireEvent]:
    """The events of a log that opened what is still open, in their order."""
    still_open: dict[tuple[str, str], WireEvent] = {}
    for event in logged:
        kind = as_text(event.get("type"))
        if kind in _CLOSED_BY:
            still_open[kind, as_text(event[_CLOSED_BY[kind][1]])] = event
        elif kind in _OPENED_BY:
            opener, field = _OPENED_BY[kind]
            still_open.pop((opener, as_text(event[field])), None)
    return list(still_open.values())


def live_prelude(
    fold: MessageFold, logged: Sequence[WireEvent], mapper: EventMapper
) -> list[WireEvent]:
    """What brings a client that has nothing to where a live run is.

    Args:
        fold: of the thread, this run's events included.
        logged: this run's events so far.
        mapper: of this run.
    """
    return [
        logged[0],
        mapper.state(fold.state),
        mapper.messages(fold.all_messages),
        *open_starts(logged),
    ]


def finished_prelude(
    fold: MessageFold,
    logged: Sequence[WireEvent],
    mapper: EventMapper,
    waits_for: JsonValue = None,
) -> list[WireEvent]:
    """The thread as it stands after its last run, told as a run of its own.

    Args:
        fold: of the thread, this run's events included.
        logged: this run's events.
        mapper: of this run.
        waits_for: the outcome of the run whose questions are open still; None where none are.
            A run that ended in an error is told as a success then.
    """
    ending: dict[str, JsonValue] = dict(logged[-1])
    if ending["type"] != "RUN_FINISHED":
        ending = {
            "type": "RUN_FINISHED",
            "timestamp": ending["timestamp"],
            "threadId": logged[0]["threadId"],
            "runId": logged[0]["runId"],
        }
    if waits_for is not None:
        ending["outcome"] = waits_for
    return [
        mapper.started(),
        mapper.state(fold.state),
        mapper.messages(fold.all_messages),
        ending,
    ]
