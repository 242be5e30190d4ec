"""Pure translation of a run's log to thread events (docs/reference/run-events.md, section 3)."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import orjson
from pydantic import JsonValue

from agents.async_runs.answer_summary import FinalAnswer, summarize
from agents.async_runs.ui_schema import compile_ui_schema
from agents.events import WireEvent
from core.json_access import as_list, as_object, as_text, parse

Stage = Literal["router", "worker"]
_STAGES: Mapping[str, Stage] = {"router": "router", "worker": "worker"}


@dataclass(slots=True)
class CallProgress:
    """A tool call under construction."""

    name: str
    message_id: str
    pieces: list[str] = field(default_factory=list[str])
    arguments: dict[str, JsonValue] | None = None

    def add(self, delta: str) -> bool:
        """Add arguments; True if they are complete now."""
        if self.arguments is not None:
            return False
        self.pieces.append(delta)
        # Only the end of an object can complete it.
        if not delta.rstrip().endswith("}"):
            return False
        try:
            whole = parse("".join(self.pieces))
        except ValueError:
            return False
        if isinstance(whole, dict):
            self.arguments = whole
        return isinstance(whole, dict)


@dataclass(frozen=True, slots=True)
class _AnswerText:
    message_id: str
    text: str
    metadata: dict[str, JsonValue]


class EventTranslator:
    """Translates the log of one run from its first event.

    Each logged event becomes any number of events, which depend only on the events before it, so a
    reader who returns gets the same ones. They never show tokens, costs or the model's name, which
    are the operator's. ``calls`` are an earlier run's, which this run may answer.
    """

    def __init__(self, calls: Mapping[str, CallProgress] | None = None) -> None:
        self._calls: dict[str, CallProgress] = dict(calls or {})
        self._ids: WireEvent = {}
        self._stage: Stage | None = None
        self._opened_by = ""
        self._texts: dict[str, list[str]] = {}
        self._with_calls: set[str] = set()
        self._cut_off: _AnswerText | None = None
        self._has_answered = False
        self._tools: set[str] = set()
        self._handlers: Mapping[str, Callable[[WireEvent], list[WireEvent]]] = {
            "RUN_STARTED": self._run_started,
            "RUN_FINISHED": self._run_finished,
            "RUN_ERROR": self._run_error,
            "STEP_STARTED": self._step_started,
            "STEP_FINISHED": self._step_finished,
            "TOOL_CALL_START": self._call_started,
            "TOOL_CALL_ARGS": self._call_args,
            "TOOL_CALL_END": self._call_ended,
            "TOOL_CALL_RESULT": self._call_result,
            "TEXT_MESSAGE_START": self._text_started,
            "TEXT_MESSAGE_CONTENT": self._text_content,
            "TEXT_MESSAGE_END": self._text_ended,
            "MESSAGES_SNAPSHOT": self._messages_replaced,
        }

    def translate(self, event: WireEvent) -> list[WireEvent]:
        """The events for a logged event; none for thoughts, state and deltas."""
        handler = self._handlers.get(as_text(event["type"]))
        return [] if handler is None else handler(event)

    def _of(self, event: WireEvent, **fields: JsonValue) -> WireEvent:
        """An event with the logged one's time and the common ids."""
        stamp = {"timestamp": event["timestamp"]} if "timestamp" in event else {}
        kind = fields.pop("type", event["type"])
        return {"type": kind, **self._ids, **fields, **stamp}

    def _run_started(self, event: WireEvent) -> list[WireEvent]:
        self._ids = {"threadId": event["threadId"], "runId": event["runId"]}
        more = {key: event[key] for key in ("parentRunId", "protocolVersion") if key in event}
        return [self._of(event, **more)]

    def _run_finished(self, event: WireEvent) -> list[WireEvent]:
        events = self._answer_cut_off(event)
        if self._stage is not None:
            events.append(self._of(event, type="STEP_FINISHED", stepName=self._stage))
        more = {"outcome": event["outcome"]} if event.get("outcome") is not None else {}
        return [*events, self._of(event, **more)]

    def _answer_cut_off(self, event: WireEvent) -> list[WireEvent]:
        text = self._cut_off
        if text is None or self._has_answered:
            return []
        return [self._answer(event, text)]

    def _run_error(self, event: WireEvent) -> list[WireEvent]:
        message = as_text(event.get("message"))
        text = self._cut_off or _AnswerText(f"{self._ids.get('runId')}:error", "", {})
        answers = [] if self._has_answered else [self._answer(event, text, failure=message)]
        return [*answers, self._of(event, message=message, code=event.get("code"))]

    def _step_started(self, event: WireEvent) -> list[WireEvent]:
        if self._stage is not None:
            # A step inside the stage; other agent types have only the worker's stage.
            return []
        name = as_text(event["stepName"])
        self._stage = _STAGES.get(name, "worker")
        self._opened_by = name if name in _STAGES else ""
        return [self._of(event, stepName=self._stage)]

    def _step_finished(self, event: WireEvent) -> list[WireEvent]:
        if self._stage is None or event["stepName"] != self._opened_by:
            return []
        stage, self._stage = self._stage, None
        return [self._of(event, stepName=stage)]

    def _about(self, event: WireEvent, call: CallProgress, **fields: JsonValue) -> WireEvent:
        return self._of(
            event,
            messageId=call.message_id,
            toolCallId=event["toolCallId"],
            toolCallName=call.name,
            **fields,
            stage=self._stage or "worker",
        )

    def _call_started(self, event: WireEvent) -> list[WireEvent]:
        call_id = as_text(event["toolCallId"])
        message_id = as_text(event.get("parentMessageId")) or call_id
        call = CallProgress(as_text(event["toolCallName"]), message_id)
        self._calls[call_id] = call
        self._with_calls.add(message_id)
        return [self._about(event, call)]

    def _call(self, event: WireEvent) -> CallProgress:
        call_id = as_text(event["toolCallId"])
        return self._calls.setdefault(call_id, CallProgress("", call_id))

    def _call_args(self, event: WireEvent) -> list[WireEvent]:
        call = self._call(event)
        if not call.add(as_text(event["delta"])):
            return []
        return [self._about(event, call, args=call.arguments)]

    def _call_ended(self, event: WireEvent) -> list[WireEvent]:
        call = self._call(event)
        events: list[WireEvent] = []
        if call.arguments is None:
            # No arguments, or not an object.
            call.arguments = {}
            events.append(self._about(event, call, type="TOOL_CALL_ARGS", args={}))
        return [*events, self._about(event, call)]

    def _call_result(self, event: WireEvent) -> list[WireEvent]:
        call = self._call(event)
        content = event["content"]
        outcome = read_outcome(content if isinstance(content, str) else _text_of_parts(content))
        if outcome.status != "failure":
            self._tools.add(call.name)
        return [
            self._of(
                event,
                messageId=event["messageId"],
                role="tool",
                stage=self._stage or "worker",
                tool_name=call.name,
                tool_call_id=event["toolCallId"],
                tool_call_args=call.arguments or {},
                status=outcome.status,
                result=outcome.result,
                error=outcome.error,
            )
        ]

    def _text_started(self, event: WireEvent) -> list[WireEvent]:
        self._texts[as_text(event["messageId"])] = []
        return []

    def _text_content(self, event: WireEvent) -> list[WireEvent]:
        self._texts.setdefault(as_text(event["messageId"]), []).append(as_text(event["delta"]))
        return []

    def _text_ended(self, event: WireEvent) -> list[WireEvent]:
        message_id = as_text(event["messageId"])
        text = "".join(self._texts.pop(message_id, ()))
        answer = _AnswerText(message_id, text, as_object(event.get("metadata")))
        if message_id in self._with_calls:
            # Text before a call is not the answer.
            return []
        if answer.metadata.get("stopped"):
            # Only the run's end tells whether it was stopped or broke off.
            self._cut_off = answer
            return []
        self._has_answered = True
        return [self._answer(event, answer)]

    def _messages_replaced(self, event: WireEvent) -> list[WireEvent]:
        # Text of a dead process is withdrawn, and started again by the next one.
        message_ids = {as_text(as_object(message).get("id")) for message in as_list(event["messages"])}
        if self._cut_off is not None and self._cut_off.message_id not in message_ids:
            self._cut_off = None
        return []

    def _answer(self, event: WireEvent, answer: _AnswerText, failure: str | None = None) -> WireEvent:
        metadata = answer.metadata
        summary = summarize(
            FinalAnswer(
                text=answer.text,
                citations=tuple(as_object(item) for item in as_list(metadata.get("citations"))),
                marks=frozenset(metadata),
                tools=frozenset(self._tools),
                failure=failure,
            )
        )
        return self._of(
            event,
            type="TEXT_MESSAGE_END",
            messageId=answer.message_id,
            role="assistant",
            stage="worker",
            status=summary.status,
            answer=answer.text,
            key_points=list(summary.key_points),
            result_type=summary.result_type,
            suggested_actions=list(summary.suggested_actions),
            error=failure,
            ui_schema=compile_ui_schema(summary),
            **({"metadata": metadata} if metadata else {}),
        )


def collect_calls(logged: Iterable[WireEvent]) -> dict[str, CallProgress]:
    """The tool calls of a run's log, by id."""
    calls: dict[str, CallProgress] = {}
    for event in logged:
        call_id = as_text(event.get("toolCallId"))
        if event["type"] == "TOOL_CALL_START":
            message_id = as_text(event.get("parentMessageId")) or call_id
            calls[call_id] = CallProgress(as_text(event["toolCallName"]), message_id)
        elif event["type"] == "TOOL_CALL_ARGS":
            calls[call_id].add(as_text(event["delta"]))
    return calls


def _text_of_parts(parts: JsonValue) -> str:
    return "\n".join(as_text(as_object(part).get("text")) for part in as_list(parts))


ResultStatus = Literal["success", "failure", "partial"]
_LONGEST = 4000
# What stands in the place of a result when a call gave none: the sentences of ``agents.tools`` and
# ``agents.strategies``, which tests make with the real ones.
_FAILURES = re.compile(
    r"There is no (tool|time zone) |The tool \S+ (needs an answer|took longer|failed|is switched off)"
    r"|The arguments are not valid: |Not run(?: again)?: |Not finished: |Not saved: |Cancelled: "
    r"|Declined: |Interrupted: |Begun again: |No passage has the number |No result was given: "
)
_UNKNOWN = "There is no tool "
_CUT = re.compile(r"\n\(cut: \d+ more characters\)\Z")


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """The outcome of a call.

    Attributes:
        result: Compact JSON text, or the tool's own words.
        is_unknown: Whether no tool has the name.
    """

    status: ResultStatus
    result: str
    error: str | None = None
    is_unknown: bool = False


def read_outcome(content: str) -> ToolOutcome:
    """Classify a result by its text, which models read too."""
    if failure := _FAILURES.match(content):
        is_unknown = failure.group() == _UNKNOWN
        return ToolOutcome("failure", "", _bounded(content), is_unknown=is_unknown)
    try:
        data = as_object(parse(content))
    except ValueError:
        data = {}
    if "passages" in data:
        return ToolOutcome("success", orjson.dumps(_facts(data)).decode())
    is_cut = bool(_CUT.search(content)) or len(content) > _LONGEST
    return ToolOutcome("partial" if is_cut else "success", _bounded(content))


def _facts(data: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """The locations of passages without their text, which is for the model."""
    passages = [as_object(item) for item in as_list(data["passages"])]
    places: list[JsonValue] = [
        {name: value for name, value in passage.items() if name in {"number", "document", "page"}}
        for passage in passages
    ]
    facts: dict[str, JsonValue] = {"count": len(passages), "passages": places}
    if retrieval_id := as_text(data.get("retrieval_id")):
        facts["retrieval_id"] = retrieval_id
    return facts


def _bounded(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
