"""The way events leave a strategy: coalesced, and closed properly whatever happens."""

import asyncio
from dataclasses import replace
from typing import Literal

from agents.events import (
    Failed,
    Finished,
    RunEvent,
    StepFinished,
    StepStarted,
    TerminalEvent,
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
)

_UNFINISHED_RESULT = {
    "cancelled": "Cancelled: the run was stopped.",
    "failed": "Not finished: the run broke off.",
    "budget": "Not run: the time for this run was used up.",
}


class OpenEntities:
    """What was started and not ended yet."""

    def __init__(self) -> None:
        self._steps: list[str] = []
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._calls: list[str] = []
        self._unanswered: list[str] = []

    def observe(self, event: RunEvent) -> None:
        """Follow one event."""
        match event:
            case StepStarted(name):
                self._steps.append(name)
            case StepFinished(name):
                self._steps.remove(name)
            case TextStarted(message_id):
                self._texts.append(message_id)
            case TextEnded(message_id):
                self._texts.remove(message_id)
            case ThoughtStarted(message_id):
                self._thoughts.append(message_id)
            case ThoughtEnded(message_id):
                self._thoughts.remove(message_id)
            case _:
                self._observe_call(event)

    def _observe_call(self, event: RunEvent) -> None:
        match event:
            case ToolCallStarted(call_id):
                self._calls.append(call_id)
                self._unanswered.append(call_id)
            case ToolCallEnded(call_id):
                self._calls.remove(call_id)
            case ToolCallResult(call_id=call_id):
                self._unanswered.remove(call_id)
            case _:
                pass

    def closing(self, why: Literal["cancelled", "failed", "budget"]) -> list[RunEvent]:
        """The events that close everything open, innermost first."""
        closing: list[RunEvent] = [ThoughtEnded(message_id) for message_id in self._thoughts]
        closing += [TextEnded(message_id, stopped=True) for message_id in self._texts]
        closing += [ToolCallEnded(call_id) for call_id in self._calls]
        closing += [
            ToolCallResult(f"result_{call_id}", call_id, _UNFINISHED_RESULT[why])
            for call_id in self._unanswered
        ]
        closing += [StepFinished(name) for name in reversed(self._steps)]
        return closing


class EventChannel:
    """One writer side, one reader; deltas of one entity that still wait are joined."""

    def __init__(self) -> None:
        self._waiting: list[RunEvent] = []
        self._ready = asyncio.Event()
        self._open = OpenEntities()
        self._is_closed = False

    @property
    def is_closed(self) -> bool:
        """Whether the terminal event was written."""
        return self._is_closed

    def emit(self, event: RunEvent) -> None:
        """Write an event; after the terminal one nothing is written any more."""
        if self._is_closed:
            return
        self._open.observe(event)
        joined = _join(self._waiting[-1], event) if self._waiting else None
        if joined is None:
            self._waiting.append(event)
        else:
            self._waiting[-1] = joined
        self._ready.set()

    def finish(self, terminal: TerminalEvent) -> None:
        """Close what is open and write the terminal event; only the first call counts."""
        if self._is_closed:
            return
        is_stopped = isinstance(terminal, Finished)
        for event in self._open.closing("cancelled" if is_stopped else "failed"):
            self.emit(event)
        self.emit(terminal)
        self._is_closed = True

    async def read(self) -> list[RunEvent]:
        """All events that wait, at least one."""
        await self._ready.wait()
        self._ready.clear()
        batch, self._waiting = self._waiting, []
        return batch


def _join(first: RunEvent, second: RunEvent) -> RunEvent | None:
    match first, second:
        case (TextDelta(), TextDelta()) | (ThoughtDelta(), ThoughtDelta()):
            is_same = first.message_id == second.message_id
        case ToolCallArgs(), ToolCallArgs():
            is_same = first.call_id == second.call_id
        case _:
            return None
    return replace(first, delta=first.delta + second.delta) if is_same else None


def is_terminal(event: RunEvent) -> bool:
    """Whether nothing follows the event."""
    return isinstance(event, (Finished, Failed))
