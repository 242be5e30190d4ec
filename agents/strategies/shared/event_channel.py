"""The channel from a strategy to its reader: coalesces events and closes what is open."""

import asyncio
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal

from pydantic import JsonValue

from agents.events import (
    PROGRESS,
    ActivityChanged,
    ActivityStarted,
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
    failure_fields,
)
from agents.journal import Effect, Journal

Delta = TextDelta | ThoughtDelta | ToolCallArgs
_UNFINISHED_RESULT = {
    "cancelled": "Cancelled: the run was stopped.",
    "failed": "Not finished: the run broke off.",
    "budget": "Not run: the time or the tokens of this run were used up.",
}


class OpenEntities:
    """Steps, messages and calls that were started and not ended."""

    def __init__(self) -> None:
        self._steps: list[str] = []
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._calls: list[str] = []
        self._unanswered: list[str] = []
        self._known: set[str] = set()
        self._activity: ActivityStarted | None = None

    @property
    def steps(self) -> tuple[str, ...]:
        return tuple(self._steps)

    @property
    def activity(self) -> ActivityStarted | None:
        return self._activity

    @property
    def known_ids(self) -> frozenset[str]:
        """Ids of all messages, thoughts and calls so far, open or not."""
        return frozenset(self._known)

    def observe(self, event: RunEvent) -> None:
        if isinstance(event, Delta):
            # Nearly all events are deltas, which open and close nothing.
            return
        match event:
            case StepStarted(name):
                self._steps.append(name)
            case StepFinished(name):
                self._steps.remove(name)
            case TextStarted(message_id):
                self._texts.append(message_id)
                self._known.add(message_id)
            case TextEnded(message_id):
                self._texts.remove(message_id)
            case ThoughtStarted(message_id):
                self._thoughts.append(message_id)
                self._known.add(message_id)
            case ThoughtEnded(message_id):
                self._thoughts.remove(message_id)
            case ActivityStarted(kind=kind):
                # Those of calls end with their calls.
                self._activity = event if kind == PROGRESS else self._activity
            case ActivityChanged(kind=kind, changes=changes) if self._activity is not None and kind == PROGRESS:
                content = {**self._activity.content, **changes}
                self._activity = replace(self._activity, content=content)
            case _:
                self._observe_call(event)

    def _observe_call(self, event: RunEvent) -> None:
        match event:
            case ToolCallStarted(call_id):
                self._calls.append(call_id)
                self._unanswered.append(call_id)
                self._known.add(call_id)
            case ToolCallEnded(call_id):
                self._calls.remove(call_id)
            case ToolCallResult(call_id=call_id):
                self._unanswered.remove(call_id)
            case _:
                pass

    def closing(
        self, why: Literal["cancelled", "failed", "budget"], *, waiting: Collection[str] = ()
    ) -> list[RunEvent]:
        """The events that close everything open, innermost first.

        ``waiting`` calls get their result in another run.
        """
        closing: list[RunEvent] = [ThoughtEnded(message_id) for message_id in self._thoughts]
        closing += [TextEnded(message_id, stopped=True) for message_id in self._texts]
        closing += [ToolCallEnded(call_id) for call_id in self._calls]
        closing += [
            ToolCallResult(f"result_{call_id}", call_id, _UNFINISHED_RESULT[why])
            for call_id in self._unanswered
            if call_id not in waiting
        ]
        closing += [StepFinished(name) for name in reversed(self._steps)]
        return closing


@dataclass(frozen=True, slots=True)
class EventBatch:
    """Events and effects to be written together or not at all.

    Attributes:
        events: In order; may be empty.
        effects: The journal's changes up to the last event.
        own_events: The journal's count at that moment.
    """

    events: list[RunEvent]
    effects: list[Effect]
    own_events: int

    @property
    def is_last(self) -> bool:
        return bool(self.events) and is_terminal(self.events[-1])


class EventChannel:
    """One writer side, one reader; queued deltas of one entity are joined.

    With ``reopens``, the first new event begins a log of its own, which needs open steps and the activity
    message again.
    """

    def __init__(self, journal: Journal | None = None, *, reopens: bool = False) -> None:
        self._journal = journal or Journal()
        self._waiting: list[RunEvent] = []
        self._ready = asyncio.Event()
        self._open = OpenEntities()
        self._is_closed = False
        self._reopens = reopens
        self._asked_writes = self._done_writes = 0
        self._written = asyncio.Event()

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    @property
    def activity(self) -> ActivityStarted | None:
        return self._open.activity

    @property
    def known_ids(self) -> frozenset[str]:
        return self._open.known_ids

    def observe(self, event: RunEvent) -> None:
        """Note an event that is in the log already."""
        self._open.observe(event)

    def emit(self, event: RunEvent) -> None:
        """Write an event; ignored after the terminal one."""
        if self._is_closed:
            return
        if self._reopens:
            self._reopens = False
            if self.activity is not None:
                self._waiting.append(self.activity)
            self._waiting += [StepStarted(name) for name in self._open.steps]
        self._open.observe(event)
        self._waiting.append(event)
        self._ready.set()

    async def written(self) -> None:
        """Wait until everything so far, including the journal, is stored."""
        self._asked_writes += 1
        mine = self._asked_writes
        self._ready.set()
        while self._done_writes < mine:
            self._written.clear()
            await self._written.wait()

    def finish(self, terminal: TerminalEvent) -> None:
        """Close what is open and write the terminal event; only the first call counts."""
        if self._is_closed:
            return
        waiting: set[str] = set()
        if isinstance(terminal, Finished):
            waiting = {interrupt.call_id for interrupt in terminal.interrupts} | {*terminal.pending_call_ids}
        why = "cancelled" if isinstance(terminal, Finished) else "failed"
        for event in self._open.closing(why, waiting=waiting):
            self.emit(event)
        if (activity := self.activity) is not None:
            changes: dict[str, JsonValue] = {"status": _status_after(terminal)}
            if isinstance(terminal, Failed):
                # Who joins later gets no RUN_ERROR.
                changes |= failure_fields(terminal)
            self.emit(ActivityChanged(activity.message_id, activity.kind, changes))
        self.emit(terminal)
        self._is_closed = True

    async def read(self) -> tuple[EventBatch, int]:
        """All queued events, and a number for ``wrote`` once they are stored."""
        await self._ready.wait()
        self._ready.clear()
        events, self._waiting = _joined(self._waiting), []
        batch = EventBatch(events, self._journal.drain_changes(), self._journal.own_events)
        return batch, self._asked_writes

    def wrote(self, number: int) -> None:
        """Confirm that a batch from ``read`` is stored."""
        self._done_writes = number
        self._written.set()


def _joined(events: Iterable[RunEvent]) -> list[RunEvent]:
    """Join neighbouring deltas of one entity, in time linear in their text."""
    joined: list[RunEvent] = []
    for entity, group in groupby(events, key=_entity):
        together = list(group)
        deltas = [event.delta for event in together if isinstance(event, Delta)]
        first = together[0]
        if entity is None or len(together) == 1 or not isinstance(first, Delta):
            joined += together
        else:
            joined.append(replace(first, delta="".join(deltas)))
    return joined


def _entity(event: RunEvent) -> tuple[type, str] | None:
    match event:
        case TextDelta() | ThoughtDelta():
            return type(event), event.message_id
        case ToolCallArgs():
            return ToolCallArgs, event.call_id
        case _:
            return None


def _status_after(terminal: TerminalEvent) -> str:
    match terminal:
        case Failed():
            return "failed"
        case Finished(outcome="cancelled"):
            return "stopped"
        case Finished(interrupts=interrupts, pending_call_ids=calls) if interrupts or calls:
            return "waiting"
        case Finished():
            return "done"


def is_terminal(event: RunEvent) -> bool:
    """Whether nothing follows the event."""
    return isinstance(event, (Finished, Failed))
