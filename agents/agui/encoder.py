"""Pure encoder of run events to AG-UI 1.0 wire events, and their snake_case spelling; the caller supplies the clock."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from ag_ui.core import (
    PROTOCOL_VERSION,
    ActivityDeltaEvent,
    ActivitySnapshotEvent,
    BaseEvent,
    MessagesSnapshotEvent,
    ReasoningEndEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    ReasoningStartEvent,
    RunErrorEvent,
    RunFinishedCancelledOutcome,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunFinishedOutcome,
    RunFinishedSuccessOutcome,
    RunStartedEvent,
    StateDeltaEvent,
    StateSnapshotEvent,
    StepFinishedEvent,
    StepStartedEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    TokenUsage,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)
from ag_ui.core import Interrupt as AguiInterrupt
from pydantic import JsonValue

from agents.events import (
    ActivityChanged,
    ActivityStarted,
    Citations,
    Failed,
    Finished,
    Interrupt,
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
    WireEvent,
)
from agents.evidence import Citation


class AguiEncoder:
    """Maps the events of one run; ``now`` gives whole milliseconds since the epoch."""

    def __init__(self, thread_id: str, run_id: str, *, now: Callable[[], int]) -> None:
        self._thread_id = thread_id
        self._run_id = run_id
        self._now = now

    def started(self, *, parent_run_id: str | None = None) -> WireEvent:
        """The opening event, with the protocol's version."""
        return self._wire(
            RunStartedEvent(
                thread_id=self._thread_id,
                run_id=self._run_id,
                parent_run_id=parent_run_id,
                protocol_version=PROTOCOL_VERSION,
            )
        )

    def translate(self, event: RunEvent) -> list[WireEvent]:
        """The wire events of one run event, JSON-ready, camelCase, without absent fields."""
        match event:
            case TextDelta() | ThoughtDelta() | ToolCallArgs():
                return [self._more(event)]
            case Finished():
                return self._wires(self._finished(event))
            case Failed(code, message, _, usage):
                failed = RunErrorEvent(message=message, code=code, usage=_token_usage(usage))
                return self._wires(failed)
            case StepStarted() | StepFinished():
                return self._wires(_step(event))
            case TextStarted() | TextEnded():
                return self._wires(_text(event))
            case ThoughtStarted() | ThoughtEnded():
                return self._wires(*_thought(event))
            case ToolCallStarted() | ToolCallEnded() | ToolCallResult():
                return self._wires(_tool_call(event))
            case ActivityStarted() | ActivityChanged():
                return self._wires(_activity(event))
            case _:
                return self._wires(_state(event))

    def _more(self, event: TextDelta | ThoughtDelta | ToolCallArgs) -> WireEvent:
        # Every token is one of these, and the models would take ten times as long.
        match event:
            case TextDelta(message_id):
                kind, field, name = "TEXT_MESSAGE_CONTENT", "messageId", message_id
            case ThoughtDelta(message_id):
                kind, field, name = "REASONING_MESSAGE_CONTENT", "messageId", message_id
            case ToolCallArgs(call_id):
                kind, field, name = "TOOL_CALL_ARGS", "toolCallId", call_id
        return {"type": kind, "timestamp": self._now(), field: name, "delta": event.delta}

    def messages(self, messages: Sequence[WireEvent]) -> WireEvent:
        """The snapshot of a thread's messages, already in wire form."""
        snapshot = MessagesSnapshotEvent.model_validate({"messages": list(messages)})
        return self._wire(snapshot)

    def state(self, state: JsonValue) -> WireEvent:
        return self._wire(StateSnapshotEvent(snapshot=state))

    def _wires(self, *events: BaseEvent) -> list[WireEvent]:
        return [self._wire(event) for event in events]

    def _wire(self, event: BaseEvent) -> WireEvent:
        event.timestamp = self._now()
        return event.model_dump(mode="json", by_alias=True)

    def _finished(self, event: Finished) -> RunFinishedEvent:
        return RunFinishedEvent(
            thread_id=self._thread_id,
            run_id=self._run_id,
            result={"usage": event.usage.to_json(), "citations": _citations_json(event.citations)},
            outcome=_outcome(event),
            usage=_token_usage(event.usage),
        )


def _outcome(event: Finished) -> RunFinishedOutcome | None:
    match event.outcome:
        case "cancelled":
            return RunFinishedCancelledOutcome()
        case "interrupt":
            return RunFinishedInterruptOutcome(interrupts=[_interrupt(i) for i in event.interrupts])
        case "success":
            pending = list(event.pending_call_ids)
            return RunFinishedSuccessOutcome(pending_tool_call_ids=pending) if pending else None


def _interrupt(interrupt: Interrupt) -> AguiInterrupt:
    return AguiInterrupt(
        id=interrupt.id,
        reason=interrupt.reason,
        message=interrupt.message,
        tool_call_id=interrupt.call_id,
        response_schema=interrupt.response_schema,
        expires_at=interrupt.expires_at,
        metadata=interrupt.metadata,
    )


def _step(event: StepStarted | StepFinished) -> BaseEvent:
    match event:
        case StepStarted(name):
            return StepStartedEvent(step_name=name)
        case StepFinished(name):
            return StepFinishedEvent(step_name=name)


def _text(event: TextStarted | TextEnded) -> BaseEvent:
    match event:
        case TextStarted(message_id):
            return TextMessageStartEvent(message_id=message_id, role="assistant")
        case TextEnded(message_id):
            return TextMessageEndEvent(message_id=message_id, metadata=_metadata(event) or None)


def _metadata(event: TextEnded) -> dict[str, JsonValue]:
    """Metadata that the client keeps on the message and sends back in later inputs."""
    metadata: dict[str, JsonValue] = {}
    if event.citations:
        metadata["citations"] = _citations_json(event.citations)
    if event.invalid_numbers:
        metadata["invalid_citations"] = list(event.invalid_numbers)
    if event.stopped:
        metadata["stopped"] = True
    if event.truncated:
        metadata["truncated"] = True
    if event.ended_by:
        metadata["ended_by"] = event.ended_by
    if event.unsupported:
        metadata["unsupported_claims"] = [claim.to_json() for claim in event.unsupported]
    return metadata


def _thought(event: ThoughtStarted | ThoughtEnded) -> Sequence[BaseEvent]:
    match event:
        case ThoughtStarted(message_id):
            return [
                ReasoningStartEvent(message_id=message_id),
                ReasoningMessageStartEvent(message_id=message_id, role="reasoning"),
            ]
        case ThoughtEnded(message_id):
            return [ReasoningMessageEndEvent(message_id=message_id), ReasoningEndEvent(message_id=message_id)]


def _tool_call(event: ToolCallStarted | ToolCallEnded | ToolCallResult) -> BaseEvent:
    match event:
        case ToolCallStarted(call_id, name, parent_message_id):
            return ToolCallStartEvent(tool_call_id=call_id, tool_call_name=name, parent_message_id=parent_message_id)
        case ToolCallEnded(call_id):
            return ToolCallEndEvent(tool_call_id=call_id)
        case ToolCallResult(message_id, call_id, content):
            return ToolCallResultEvent(message_id=message_id, tool_call_id=call_id, content=content, role="tool")


def _activity(event: ActivityStarted | ActivityChanged) -> BaseEvent:
    match event:
        case ActivityStarted(message_id, kind, content):
            return ActivitySnapshotEvent(message_id=message_id, activity_type=kind, content=content)
        case ActivityChanged(message_id, kind, changes):
            # ``add`` on an existing member replaces it.
            patch = [{"op": "add", "path": f"/{key}", "value": changes[key]} for key in changes]
            fields = {"message_id": message_id, "activity_type": kind, "patch": patch}
            return ActivityDeltaEvent.model_validate(fields)


def _state(event: StateSnapshot | StateDelta | Citations) -> BaseEvent:
    match event:
        case StateSnapshot(snapshot):
            return StateSnapshotEvent(snapshot=snapshot)
        case StateDelta(operations):
            # Validated, because the operation models' constructors differ by operation.
            patch = [{"op": o.op, "path": o.path, "value": o.value} for o in operations]
            return StateDeltaEvent.model_validate({"delta": patch})
        case Citations(citations, invalid_numbers, unsupported):
            patch = [{"op": "add", "path": "/citations", "value": _citations_json(citations)}]
            if invalid_numbers:
                value: JsonValue = list(invalid_numbers)
                patch.append({"op": "add", "path": "/invalid_citations", "value": value})
            if unsupported:
                claims: JsonValue = [claim.to_json() for claim in unsupported]
                patch.append({"op": "add", "path": "/unsupported_claims", "value": claims})
            return StateDeltaEvent.model_validate({"delta": patch})


def _citations_json(citations: Sequence[Citation]) -> list[JsonValue]:
    return [citation.to_json() for citation in citations]


def _token_usage(usage: RunUsage) -> list[TokenUsage]:
    return [
        TokenUsage(
            provider=usage.provider or None,
            model=usage.model or None,
            input_tokens=usage.prompt_tokens,
            output_tokens=usage.completion_tokens,
            total_tokens=usage.prompt_tokens + usage.completion_tokens,
            reasoning_tokens=usage.reasoning_tokens or None,
            cached_input_tokens=usage.cached_prompt_tokens or None,
        )
    ]


_HUMP = re.compile(r"(?<=[a-z0-9])([A-Z])")
# The fields whose values are made of protocol keys; all other values are data of the user, a
# tool or a strategy and keep theirs.
_PROTOCOL_VALUES = frozenset({"function", "input", "interrupts", "messages", "outcome", "source", "toolCalls", "usage"})


def to_snake_case(event: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """A camelCase event with its protocol keys in snake_case; results, state and contents stay."""
    return {_snake(key): _value(key, value) for key, value in event.items()}


def _value(key: str, value: JsonValue) -> JsonValue:
    # A content of parts is protocol; a content that is text or an activity's object is data.
    is_protocol = key in _PROTOCOL_VALUES or (key == "content" and isinstance(value, list))
    if not is_protocol:
        return value
    if isinstance(value, list):
        return [to_snake_case(item) if isinstance(item, dict) else item for item in value]
    return to_snake_case(value) if isinstance(value, dict) else value


# The keys of the protocol recur in every event; others may be anything.
@lru_cache(maxsize=256)
def _snake(key: str) -> str:
    return _HUMP.sub(r"_\1", key).lower()
