"""The events a strategy emits: own frozen facts, mapped to the wire by ``agents.agui`` alone."""

from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from agents.citations import Citation, UnsupportedClaim

WireEvent = dict[str, JsonValue]
"""What ``agents.agui`` makes of an event: AG-UI 1.0, camelCase keys, absent fields left out."""

PROGRESS = "agentex:progress"
"""The kind of the activity message that shows how far a run is."""
RUNNING = "running"
"""Its ``status`` while the run goes on."""


@dataclass(frozen=True, slots=True)
class RunUsage:
    """Tokens of one run, summed over its model calls; ``provider`` and ``model`` say whose.

    ``is_estimated`` is set when an endpoint did not count those of some call.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    cached_prompt_tokens: int = 0
    provider: str = ""
    model: str = ""
    is_estimated: bool = False

    def to_json(self) -> dict[str, JsonValue]:
        """The counts as runs and messages show them."""
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
    """The message is complete, with the citations its ``[n]`` marks resolve to.

    Attributes:
        invalid_numbers: Cited numbers that no retrieved passage has.
        stopped: The message was cut off by a stop or an error.
        truncated: The model ran into its output limit.
        ended_by: The budget that ended the run before the answer was complete, or nothing.
        unsupported: Statements of the answer that no source bears out.
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
    """What the tool gave back, or a plain sentence on why it gave nothing."""

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
    """A message that shows what a run is at opens, or goes on in another run's log."""

    message_id: str
    kind: str
    content: dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class ActivityChanged:
    """Fields of that message have other values now."""

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
    """Something that a person must say before the run can go on (AG-UI 1.0).

    Attributes:
        id: The same live, in snapshots and in the store.
        reason: ``tool_call``, ``confirmation`` or ``input_required``.
        message: What is asked, in words for a person.
        response_schema: JSON Schema of the answer's payload.
        expires_at: ISO 8601; afterwards it can only be cancelled.
        metadata: The tool's name and arguments, and which answers are allowed.
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
    """Terminal: the run ended by itself, was stopped, or waits for a person.

    Attributes:
        outcome: ``interrupt`` when ``interrupts`` wait for answers.
        pending_call_ids: Calls of tools that run in the caller's frontend.
    """

    usage: RunUsage
    citations: tuple[Citation, ...] = ()
    outcome: Literal["success", "cancelled", "interrupt"] = "success"
    interrupts: tuple[Interrupt, ...] = ()
    pending_call_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Failed:
    """Terminal: the run broke off.

    Attributes:
        code: Stable name such as ``LLM_ERROR``.
        message: A sentence that is safe to show.
        error_code: The number of an error of ``core.errors``.
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
