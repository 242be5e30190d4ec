"""The events a strategy emits, which only ``agents.agui`` maps to the wire format."""

from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from agents.evidence import Citation, UnsupportedClaim
from core.audit.context import current_origin

WireEvent = dict[str, JsonValue]
"""What ``agents.agui`` makes of an event: AG-UI 1.0, camelCase keys, absent fields left out."""

PROGRESS = "agentex:progress"
"""The kind of the activity message that shows how far a run is."""
CALL_PROGRESS = "agentex:call-progress"
"""The kind of the activity messages that show how far a tool call is."""
LONGEST_CALL_MESSAGE = 300
RUNNING = "running"
"""Its ``status`` while the run goes on."""


@dataclass(frozen=True, slots=True)
class RunUsage:
    """Tokens of one run, summed over its model calls.

    ``is_estimated`` is set if an endpoint did not report the tokens of some call.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    cached_prompt_tokens: int = 0
    provider: str = ""
    model: str = ""
    is_estimated: bool = False

    def to_json(self) -> dict[str, JsonValue]:
        counts: dict[str, JsonValue] = {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
        }
        return {**counts, "is_estimated": True} if self.is_estimated else counts


@dataclass(frozen=True, slots=True)
class StepStarted:
    """A named step of the strategy begins."""

    name: str


@dataclass(frozen=True, slots=True)
class StepFinished:
    """The step is over."""

    name: str


@dataclass(frozen=True, slots=True)
class TextStarted:
    """An assistant message opens."""

    message_id: str


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More text of an open message."""

    message_id: str
    delta: str


@dataclass(frozen=True, slots=True)
class TextEnded:
    """The message is complete, with its citations.

    Attributes:
        invalid_numbers: Cited numbers without a passage.
        stopped: Cut off by a stop or an error.
        truncated: The model reached its output limit.
        ended_by: The budget that ended the run early, or "".
        unsupported: Statements that no source supports.
    """

    message_id: str
    citations: tuple[Citation, ...] = ()
    invalid_numbers: tuple[int, ...] = ()
    stopped: bool = False
    truncated: bool = False
    ended_by: str = ""
    unsupported: tuple[UnsupportedClaim, ...] = ()


@dataclass(frozen=True, slots=True)
class ThoughtStarted:
    """The model's reasoning opens; never shown as answer."""

    message_id: str


@dataclass(frozen=True, slots=True)
class ThoughtDelta:
    """More reasoning text."""

    message_id: str
    delta: str


@dataclass(frozen=True, slots=True)
class ThoughtEnded:
    """The reasoning is complete."""

    message_id: str


@dataclass(frozen=True, slots=True)
class ToolCallStarted:
    """A tool call of the assistant message ``parent_message_id`` opens."""

    call_id: str
    name: str
    parent_message_id: str


@dataclass(frozen=True, slots=True)
class ToolCallArgs:
    """More of the call's arguments (JSON text)."""

    call_id: str
    delta: str


@dataclass(frozen=True, slots=True)
class ToolCallEnded:
    """The call's arguments are complete."""

    call_id: str


@dataclass(frozen=True, slots=True)
class ToolCallResult:
    """The tool's output, or a sentence explaining why there is none."""

    message_id: str
    call_id: str
    content: str


@dataclass(frozen=True, slots=True)
class StateSnapshot:
    """The whole shared state."""

    snapshot: dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class PatchOperation:
    """One RFC 6902 operation on the shared state."""

    op: Literal["add", "replace"]
    path: str
    value: JsonValue


@dataclass(frozen=True, slots=True)
class StateDelta:
    """Changes of the shared state."""

    operations: tuple[PatchOperation, ...]


@dataclass(frozen=True, slots=True)
class ActivityStarted:
    """An activity message opens, or continues in the log of another run."""

    message_id: str
    kind: str
    content: dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class ActivityChanged:
    """New values for fields of the activity message."""

    message_id: str
    kind: str
    changes: dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Citations:
    """The verified citations of the answer; they go into the shared state."""

    citations: tuple[Citation, ...]
    invalid_numbers: tuple[int, ...] = ()
    unsupported: tuple[UnsupportedClaim, ...] = ()


@dataclass(frozen=True, slots=True)
class Interrupt:
    """A question that a person must answer before the run can go on (AG-UI 1.0).

    Attributes:
        id: The same in live events, snapshots and the database.
        reason: ``tool_call``, ``confirmation`` or ``input_required``.
        response_schema: JSON Schema of the answer's payload.
        expires_at: ISO 8601; afterwards the interrupt can only be cancelled.
        metadata: The tool's name and arguments, and the allowed kinds of answers.
    """

    id: str
    reason: Literal["tool_call", "confirmation", "input_required"]
    message: str
    call_id: str
    response_schema: dict[str, JsonValue]
    expires_at: str
    metadata: dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Finished:
    """Terminal: the run completed, was stopped, or waits for a person.

    ``outcome`` is ``interrupt`` if ``interrupts`` wait for answers; ``pending_call_ids`` are calls in
    the caller's frontend.
    """

    usage: RunUsage
    citations: tuple[Citation, ...] = ()
    outcome: Literal["success", "cancelled", "interrupt"] = "success"
    interrupts: tuple[Interrupt, ...] = ()
    pending_call_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Failed:
    """Terminal: the run failed.

    ``code`` is a stable name such as ``LLM_ERROR``; ``message`` is safe to show.
    """

    code: str
    message: str
    error_code: int
    usage: RunUsage


TerminalEvent = Finished | Failed
RunEvent = (
    StepStarted
    | StepFinished
    | TextStarted
    | TextDelta
    | TextEnded
    | ThoughtStarted
    | ThoughtDelta
    | ThoughtEnded
    | ToolCallStarted
    | ToolCallArgs
    | ToolCallEnded
    | ToolCallResult
    | StateSnapshot
    | StateDelta
    | ActivityStarted
    | ActivityChanged
    | Citations
    | Finished
    | Failed
)


def failure_fields(failure: Failed) -> dict[str, JsonValue]:
    """What the progress of a failed run says of the failure, for who joins later.

    ``request_id`` is that of the request that began the run; absent where another process ends it.
    """
    request_id = current_origin().request_id
    fields: dict[str, JsonValue] = {"failure": failure.message, "failure_code": failure.code}
    return fields | ({"request_id": request_id} if request_id else {})
