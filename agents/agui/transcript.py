"""The assistant messages of a run, built from its events."""

from dataclasses import dataclass, field

from pydantic import JsonValue

from agents.events import WireEvent
from core.json_access import as_count, as_list, as_object, as_text, parse


@dataclass
class AssistantMessage:
    """An assistant message under construction; without an end event it counts as stopped."""

    message_id: str
    text: list[str] = field(default_factory=list[str])
    marks: dict[str, JsonValue] = field(default_factory=lambda: {"stopped": True})

    @property
    def content(self) -> str:
        """The text so far; U+0000, which databases can't store, is replaced."""
        return "".join(self.text).replace("\0", "\ufffd")

    @property
    def details(self) -> dict[str, JsonValue]:
        """``citations``, and ``stopped``, ``truncated``, ``invalid_citations`` where they apply."""
        return {"citations": [], **self.marks}


@dataclass
class _Thought:
    text: list[str] = field(default_factory=list[str])


@dataclass
class _TranscriptCall:
    name: str
    started_ms: int
    message_id: str = ""
    arguments: list[str] = field(default_factory=list[str])
    output: JsonValue = None
    duration_ms: int = 0
    is_answered: bool = False

    @property
    def input(self) -> JsonValue:
        return _json_or_text("".join(self.arguments) or "{}")


class Transcript:
    """Follows the wire events of one run, live or from its log."""

    def __init__(self) -> None:
        self._messages: dict[str, AssistantMessage] = {}
        self._trace: dict[str, _Thought | _TranscriptCall] = {}
        self._skills: JsonValue = None

    @property
    def messages(self) -> list[AssistantMessage]:
        return [message for message in self._messages.values() if message.content]

    @property
    def asking(self) -> AssistantMessage | None:
        """The message of this run's newest call; its text may be empty."""
        made = [entry.message_id for entry in self._trace.values() if isinstance(entry, _TranscriptCall)]
        return AssistantMessage(made[-1], marks={}) if made and made[-1] else None

    def carry_over(self, earlier: "Transcript", *, is_told: bool) -> None:
        """Take over an earlier run's work that no message shows yet.

        ``is_told``: it left a message, so only its waiting calls are new.
        """
        self._skills = earlier._skills
        for name, entry in earlier._trace.items():
            is_waiting = isinstance(entry, _TranscriptCall) and not entry.is_answered
            if is_waiting or not is_told:
                self._trace[name] = entry
            if isinstance(entry, _TranscriptCall):
                # The message belongs to the earlier run.
                entry.message_id = ""

    def forget(self, ids: frozenset[str]) -> None:
        """Remove messages and calls that were started again under other ids."""
        for name in ids:
            self._messages.pop(name, None)
            self._trace.pop(name, None)

    def observe(self, event: WireEvent) -> None:
        name = as_text(event.get("messageId"))
        match event["type"]:
            case "TEXT_MESSAGE_START":
                self._messages[name] = AssistantMessage(name)
            case "TEXT_MESSAGE_CONTENT":
                self._messages[name].text.append(as_text(event["delta"]))
            case "TEXT_MESSAGE_END":
                self._messages[name].marks = as_object(event.get("metadata"))
            case "REASONING_MESSAGE_START":
                self._trace[name] = _Thought()
            case "REASONING_MESSAGE_CONTENT":
                thought = self._trace[name]
                if isinstance(thought, _Thought):
                    thought.text.append(as_text(event["delta"]))
            case "STATE_DELTA":
                self._observe_state(event)
            case _:
                self._observe_call(event)

    def _observe_state(self, event: WireEvent) -> None:
        for operation in as_list(event["delta"]):
            if (change := as_object(operation)).get("path") == "/skills":
                self._skills = change["value"]

    def _observe_call(self, event: WireEvent) -> None:
        call_id = as_text(event.get("toolCallId"))
        moment = as_count(event.get("timestamp"))
        if event["type"] == "RUN_STARTED":
            # The time that a person took to answer doesn't count as a call's duration.
            for waiting in self._trace.values():
                if isinstance(waiting, _TranscriptCall) and not waiting.is_answered:
                    waiting.started_ms = moment
        if event["type"] == "TOOL_CALL_START":
            message_id = as_text(event.get("parentMessageId"))
            self._trace[call_id] = _TranscriptCall(as_text(event["toolCallName"]), moment, message_id)
            return
        call = self._trace.get(call_id)
        if not isinstance(call, _TranscriptCall):
            return
        if event["type"] == "TOOL_CALL_ARGS":
            call.arguments.append(as_text(event["delta"]))
        elif event["type"] == "TOOL_CALL_RESULT":
            call.is_answered = True
            call.output = _json_or_text(as_text(event["content"]))
            call.duration_ms = max(0, moment - call.started_ms)

    def metadata(self) -> dict[str, JsonValue]:
        """``thinking``, ``tool_calls`` (durations in milliseconds) and ``skills``, if any were used.

        See docs/reference/agentex-api.md, section 5.6.
        """
        thinking: list[JsonValue] = [
            {"type": "thought", "content": "".join(entry.text)}
            if isinstance(entry, _Thought)
            else {"type": "action", "tool": entry.name, "input": entry.input}
            for entry in self._trace.values()
        ]
        calls: list[JsonValue] = [
            {"tool": entry.name, "input": entry.input, "output": entry.output, "duration": entry.duration_ms}
            for entry in self._trace.values()
            if isinstance(entry, _TranscriptCall)
        ]
        skills: dict[str, JsonValue] = {"skills": self._skills} if self._skills else {}
        return {"thinking": thinking, "tool_calls": calls, **skills}


def _json_or_text(text: str) -> JsonValue:
    try:
        return parse(text)
    except ValueError:
        return text
