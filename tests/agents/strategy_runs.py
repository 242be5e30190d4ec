"""Running a strategy in tests: inputs, events, and the wire events they become, verified."""

from collections.abc import Iterable, Sequence
from itertools import count

from agents.agui.outgoing import EventMapper
from agents.agui.verifier import verify
from agents.events import Citations, RunEvent, TextDelta, TextEnded, ToolCallResult, WireEvent
from agents.strategies import start
from agents.strategies.base import StrategyInput

THREAD, RUN = "thread-1", "run-1"


def to_wire(events: Iterable[RunEvent]) -> list[WireEvent]:
    clock = count(1_700_000_000_000)
    mapper = EventMapper(THREAD, RUN, now=lambda: next(clock))
    return [mapper.started(), *(wire for event in events for wire in mapper.translate(event))]


async def run(inputs: StrategyInput) -> list[RunEvent]:
    """All events of the run; their wire form passes the verifier."""
    events = [event async for event in start("agentic_rag", inputs).events()]
    verify(to_wire(events), thread_id=THREAD, run_id=RUN, state=inputs.state)
    return events


def text_of(events: Sequence[RunEvent]) -> str:
    return "".join(event.delta for event in events if isinstance(event, TextDelta))


def results_of(events: Sequence[RunEvent]) -> list[str]:
    return [event.content for event in events if isinstance(event, ToolCallResult)]


def steps_of(events: Sequence[RunEvent]) -> list[str]:
    return [event.name for event in events if type(event).__name__ == "StepStarted"]


def only(events: Sequence[RunEvent], kind: type):
    found = [event for event in events if isinstance(event, kind)]
    assert len(found) == 1
    return found[0]


def ended_text(events: Sequence[RunEvent]) -> TextEnded:
    return [event for event in events if isinstance(event, TextEnded)][-1]


def citations_of(events: Sequence[RunEvent]) -> Citations:
    return only(events, Citations)
