"""Firings as they are stored: the event, the results of actions, and what they come to."""

import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

import orjson
from pydantic import JsonValue

from core.db.types import is_id
from core.json_access import as_list, as_object, as_text
from rules.actions.base import Reason
from rules.language.action_types import AnyAction
from rules.language.events import EventContext, RuleEvent
from rules.models import AcceptedEvent, FiringStatus, RuleFiring

_SHOWN_BYTES = 8192


def event_json(event: AcceptedEvent) -> dict[str, JsonValue]:
    """An event as a firing keeps it."""
    return {
        "id": event.event_id,
        "type": event.type,
        "source_id": event.source_id,
        "source_kind": event.source_kind,
        "time": event.occurred_at.isoformat(),
        "data": event.data,
        "chain": list(event.chain),
    }


def event_view(event: Mapping[str, JsonValue]) -> RuleEvent:
    """The event of a firing as conditions and templates see it."""
    return RuleEvent(
        id=as_text(event.get("id")),
        type=as_text(event.get("type")),
        source_id=UUID(source_id) if is_id(source_id := as_text(event.get("source_id"))) else None,
        time=datetime.fromisoformat(as_text(event.get("time"))),
        data=event.get("data"),
    )


def context_of(firing: RuleFiring, state: Mapping[str, JsonValue], results: Sequence[JsonValue]) -> EventContext:
    """What the templates of a firing's actions read; ``results`` are those of the actions before."""
    trace = as_object(firing.trace)
    return EventContext(
        event_view(firing.event),
        state=state,
        previous=trace.get("previous"),
        has_previous="previous" in trace,
        results=[as_object(result).get("result") for result in results],
    )


def target_of(action: AnyAction) -> str:
    """An action's target; empty where its type has none."""
    return str(getattr(action, "target", None) or "")


def result_of(
    action: AnyAction,
    status: str,
    *,
    value: JsonValue = None,
    reason: Reason | None = None,
    started: float | None = None,
    attempts: int = 0,
) -> dict[str, JsonValue]:
    """What the log keeps of an action; a large result is left out."""
    result: dict[str, JsonValue] = {"type": action.type, "target": target_of(action), "status": status}
    if reason is not None:
        result |= {"error": reason.error[:_SHOWN_BYTES], "error_zh": reason.error_zh[:_SHOWN_BYTES]}
    if value is not None:
        result["result"] = value if len(orjson.dumps(value)) <= _SHOWN_BYTES else {"omitted": "too large for the log"}
    if started is not None:
        result["duration"] = round((time.monotonic() - started) * 1000)
    if attempts:
        result["attempts"] = attempts
    return result


def status_of(results: Sequence[JsonValue]) -> FiringStatus:
    """What the results of all actions come to."""
    statuses = {as_text(as_object(result).get("status")) for result in results}
    if "unknown" in statuses:
        return FiringStatus.UNKNOWN
    if statuses <= {"success"}:
        return FiringStatus.SUCCESS
    return FiringStatus.PARTIAL if "success" in statuses else FiringStatus.FAILED


def chain_of(event: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """The rules that led to an event."""
    return tuple(as_text(rule_id) for rule_id in as_list(event.get("chain")))
