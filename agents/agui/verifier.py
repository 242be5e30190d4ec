"""A verifier of AG-UI 1.0 event sequences, at least as strict as the stock client.

Unlike the client it rejects truncated runs, reused ids, misplaced results, patches that do not
apply, unknown fields, and what Agentex never emits: chunks, subagents.
"""

from collections.abc import Iterable
from typing import cast

import orjson
from ag_ui.core import PROTOCOL_VERSION, Event
from pydantic import BaseModel, JsonValue, TypeAdapter, ValidationError

from agents.agui.close_open import CLOSED_BY
from agents.agui.json_patch import InapplicablePatch, apply_patch
from agents.agui.message_reducer import is_running
from agents.events import CALL_PROGRESS, LONGEST_CALL_MESSAGE
from core.errors.base import AgentexError
from core.json_access import as_list, as_object, as_text

_MOST_FRAME_BYTES = 10 * 2**20
_EVENTS: TypeAdapter[BaseModel] = TypeAdapter(Event)
_NEVER_EMITTED = ("_CHUNK", "SUBAGENT_")
_STARTS = {
    "TEXT_MESSAGE_START": ("text message", "messageId"),
    "REASONING_START": ("reasoning span", "messageId"),
    "REASONING_MESSAGE_START": ("reasoning message", "messageId"),
    "TOOL_CALL_START": ("tool call", "toolCallId"),
    "STEP_STARTED": ("step", "stepName"),
}
_CONTINUES = {
    "TEXT_MESSAGE_CONTENT": ("text message", "messageId"),
    "REASONING_MESSAGE_CONTENT": ("reasoning message", "messageId"),
    "TOOL_CALL_ARGS": ("tool call", "toolCallId"),
}
_ENDS = {CLOSED_BY[start][0]: entity for start, entity in _STARTS.items()}
# These ids name messages in the client's one list; a span's id may repeat its message's.
_MAKES_MESSAGE = ("text message", "reasoning message")


class ProtocolViolation(AgentexError):
    """An event sequence that breaks AG-UI 1.0 or a rule of this product."""

    def __str__(self) -> str:
        return str(self.details.get("rule"))


class Verifier:
    """Verifies one response stream or one run's log, for the requested ids if known.

    ``state`` is the state the caller sent, on which patches build.
    """

    def __init__(self, *, thread_id: str | None = None, run_id: str | None = None, state: JsonValue = None) -> None:
        self._thread_id = thread_id
        self._run_id = run_id
        self._state: JsonValue = {} if state is None else state
        self._phase = "before"
        self._active_run = ""
        self._open: set[tuple[str, str]] = set()
        self._message_ids: set[str] = set()
        self._calls: set[str] = set()
        self._answered: set[str] = set()
        self._run_calls: set[str] = set()
        self._activities: dict[str, dict[str, JsonValue]] = {}

    def check(self, event: dict[str, JsonValue]) -> None:
        """Check the next event; raises ``ProtocolViolation`` with the broken rule."""
        kind = _check_shape(event)
        self._check_phase(kind)
        if kind in _STARTS:
            self._start(event, *_STARTS[kind])
        elif kind in _CONTINUES:
            self._require_open(event, *_CONTINUES[kind])
        elif kind in _ENDS:
            self._open.remove(self._require_open(event, *_ENDS[kind]))
        elif kind == "TOOL_CALL_RESULT":
            self._answer(event)
        elif kind.startswith(("STATE_", "ACTIVITY_", "MESSAGES_")):
            self._fold(kind, event)
        elif kind.startswith("RUN_"):
            self._change_phase(kind, event)

    def end(self) -> None:
        """Check that the stream may end here; raises ``ProtocolViolation``."""
        if self._phase == "before":
            raise ProtocolViolation(rule="no event at all")
        if self._phase == "running":
            raise ProtocolViolation(rule="no terminal event")

    def _check_phase(self, kind: str) -> None:
        allowed = {
            "before": kind in ("RUN_STARTED", "RUN_ERROR"),
            "running": kind != "RUN_STARTED",
            "over": kind == "RUN_STARTED",
        }
        if not allowed[self._phase]:
            raise ProtocolViolation(rule=f"{kind} while the run is {self._phase}")

    def _start(self, event: dict[str, JsonValue], entity: str, field: str) -> None:
        name = as_text(event[field])
        if (entity, name) in self._open:
            raise ProtocolViolation(rule=f"{entity} started twice")
        self._open.add((entity, name))
        if entity in _MAKES_MESSAGE:
            self._claim_message(name)
        if entity == "tool call":
            if name in self._calls:
                raise ProtocolViolation(rule="tool call id used again")
            if not event.get("parentMessageId"):
                raise ProtocolViolation(rule="tool call without parentMessageId")
            self._calls.add(name)
            self._run_calls.add(name)

    def _require_open(self, event: dict[str, JsonValue], entity: str, field: str) -> tuple[str, str]:
        key = (entity, as_text(event[field]))
        if key not in self._open:
            raise ProtocolViolation(rule=f"{event['type']} for a {entity} that is not open")
        return key

    def _claim_message(self, message_id: str) -> None:
        if message_id in self._message_ids:
            raise ProtocolViolation(rule="message id used again")
        self._message_ids.add(message_id)

    def _answer(self, event: dict[str, JsonValue]) -> None:
        call_id = as_text(event["toolCallId"])
        if call_id not in self._calls:
            raise ProtocolViolation(rule="result for an unknown tool call")
        if ("tool call", call_id) in self._open:
            raise ProtocolViolation(rule="result before TOOL_CALL_END")
        if call_id in self._answered:
            raise ProtocolViolation(rule="second result for a tool call")
        if not event["content"]:
            raise ProtocolViolation(rule="empty tool result")
        self._claim_message(as_text(event["messageId"]))
        self._answered.add(call_id)

    def _fold(self, kind: str, event: dict[str, JsonValue]) -> None:
        if kind.startswith("STATE_"):
            self._change_state(event)
        elif kind == "ACTIVITY_SNAPSHOT":
            self._show_activity(event)
        elif kind == "ACTIVITY_DELTA":
            self._change_activity(event)
        else:
            messages = [as_object(message) for message in as_list(event["messages"])]
            activities = [message for message in messages if message["role"] == "activity"]
            self._activities |= {as_text(message["id"]): message for message in activities}

    def _show_activity(self, event: dict[str, JsonValue]) -> None:
        name = as_text(event["messageId"])
        if event.get("replace") is False:
            raise ProtocolViolation(rule="an activity that keeps what it was is never emitted here")
        if name not in self._activities:
            self._claim_message(name)
        kind, content = event["activityType"], event["content"]
        self._activities[name] = {"activityType": kind, "content": content}
        self._check_call_progress(name, 0)

    def _change_activity(self, event: dict[str, JsonValue]) -> None:
        activity = self._activities.get(as_text(event["messageId"]))
        if activity is None or activity["activityType"] != event["activityType"]:
            raise ProtocolViolation(rule="a change of an unknown activity")
        before = _progress_of(activity)
        activity["content"] = self._patched(activity["content"], event["patch"])
        self._check_call_progress(as_text(event["messageId"]), before)

    def _check_call_progress(self, name: str, before: float) -> None:
        """The progress of a call grows, is short and ends with the call."""
        activity = self._activities[name]
        if activity["activityType"] != CALL_PROGRESS:
            return
        content = as_object(activity["content"])
        if as_text(content.get("tool_call_id")) in self._answered:
            raise ProtocolViolation(rule="progress of a call that has its result")
        total = content.get("total")
        if not isinstance(content.get("progress"), int | float) or not isinstance(total, int | float | None):
            raise ProtocolViolation(rule="progress of a call that is no number")
        if _progress_of(activity) < before:
            raise ProtocolViolation(rule="progress of a call that goes back")
        if len(as_text(content.get("message"))) > LONGEST_CALL_MESSAGE:
            raise ProtocolViolation(rule="a message beside the progress of a call that is too long")

    def _patched(self, document: JsonValue, patch: JsonValue) -> JsonValue:
        try:
            return apply_patch(document, as_list(patch))
        except InapplicablePatch as error:
            raise ProtocolViolation(rule="a patch that does not apply") from error

    def _change_state(self, event: dict[str, JsonValue]) -> None:
        if event["type"] == "STATE_SNAPSHOT":
            self._state = event["snapshot"]
            return
        self._state = self._patched(self._state, event["delta"])

    def _change_phase(self, kind: str, event: dict[str, JsonValue]) -> None:
        if kind == "RUN_STARTED":
            self._begin(event)
        elif kind == "RUN_FINISHED":
            self._finish(event)
        self._phase = "running" if kind == "RUN_STARTED" else "over"

    def _begin(self, event: dict[str, JsonValue]) -> None:
        if event.get("protocolVersion") != PROTOCOL_VERSION:
            raise ProtocolViolation(rule="RUN_STARTED without the protocol version")
        self._thread_id = self._thread_id or as_text(event["threadId"])
        if event["threadId"] != self._thread_id:
            raise ProtocolViolation(rule="foreign threadId")
        self._active_run = as_text(event["runId"])
        self._open.clear()
        self._run_calls.clear()

    def _finish(self, event: dict[str, JsonValue]) -> None:
        if self._open:
            entity = min(self._open)[0]
            raise ProtocolViolation(rule=f"RUN_FINISHED while a {entity} is open")
        if event["threadId"] != self._thread_id or event["runId"] != self._active_run:
            raise ProtocolViolation(rule="RUN_FINISHED with foreign ids")
        if any(is_running(activity) for activity in self._activities.values()):
            raise ProtocolViolation(rule="RUN_FINISHED while its progress says that it runs")
        if self._run_id is not None and self._active_run != self._run_id:
            raise ProtocolViolation(rule="foreign runId")
        outcome = as_object(event.get("outcome"))
        if outcome.get("pendingToolCallIds") == []:
            raise ProtocolViolation(rule="an empty pendingToolCallIds")
        pending = {as_text(item) for item in as_list(outcome.get("pendingToolCallIds"))}
        is_interrupt = outcome.get("type") == "interrupt"
        if not is_interrupt and self._run_calls - self._answered != pending:
            raise ProtocolViolation(rule="a server-side tool call without a result")


def verify(
    events: Iterable[dict[str, JsonValue]],
    *,
    thread_id: str | None = None,
    run_id: str | None = None,
    state: JsonValue = None,
) -> None:
    """Check a whole stream; raises ``ProtocolViolation`` at the first broken rule."""
    verifier = Verifier(thread_id=thread_id, run_id=run_id, state=state)
    for event in events:
        verifier.check(event)
    verifier.end()


def _progress_of(activity: dict[str, JsonValue]) -> float:
    progress = as_object(activity["content"]).get("progress")
    return progress if isinstance(progress, int | float) else 0


def _check_shape(event: dict[str, JsonValue]) -> str:
    kind = as_text(event.get("type"))
    if any(mark in kind for mark in _NEVER_EMITTED):
        raise ProtocolViolation(rule=f"{kind} is never emitted here")
    if event.get("subagentRunId", "") != "":
        raise ProtocolViolation(rule="subagentRunId is never emitted here")
    if not isinstance(event.get("timestamp", 0), int):
        raise ProtocolViolation(rule="a timestamp that is no whole number")
    try:
        parsed = _EVENTS.validate_python(event)
    except ValidationError as error:
        raise ProtocolViolation(rule=f"{kind or 'an event'} does not fit the schema") from error
    # Unequal: snake_case keys, nulls for absent fields, coerced values, missing constants.
    if _has_extras(parsed) or parsed.model_dump(mode="json", by_alias=True) != event:
        raise ProtocolViolation(rule=f"{kind} has unknown, null or misspelt fields")
    if len(orjson.dumps(event)) > _MOST_FRAME_BYTES:
        raise ProtocolViolation(rule="a frame over 10 MiB")
    return kind


def _has_extras(model: BaseModel) -> bool:
    if model.model_extra:
        return True
    for name in type(model).model_fields:
        value: object = getattr(model, name)
        # isinstance can't say what a list holds.
        items = cast("list[object]", value) if isinstance(value, list) else [value]
        if any(isinstance(item, BaseModel) and _has_extras(item) for item in items):
            return True
    return False
