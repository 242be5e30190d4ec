"""Properties of the AG-UI wire: a valid sequence whatever a strategy emits, wherever it is cut."""

import asyncio
from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from agents.agui.close_open import closing_events, end_activities
from agents.agui.encoder import AguiEncoder
from agents.agui.verifier import Verifier, verify
from agents.events import (
    PROGRESS,
    ActivityChanged,
    ActivityStarted,
    Citations,
    Failed,
    Finished,
    PatchOperation,
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
)
from agents.evidence import Citation
from agents.strategies.shared.event_channel import EventChannel
from tests.agents.strategies.helpers import RUN, THREAD, to_wire

texts = st.text(max_size=8)
counts = st.integers(0, 2**40)
citations = st.builds(
    Citation,
    number=st.integers(1, 99),
    chunk_id=texts,
    document_id=texts,
    document_name=texts,
    knowledge_base_id=texts,
    revision=counts,
    heading_path=st.tuples(texts),
    page=st.none() | counts,
    char_start=counts,
    char_end=counts,
    quote=texts,
)
usages = st.builds(RunUsage, counts, counts, counts, counts, texts, texts)


@st.composite
def step_bodies(draw: st.DrawFn, number: int) -> list[RunEvent]:
    """The events of one well-behaved step, interleaved as draws decide."""
    text, thought, call = f"m{number}", f"h{number}", f"c{number}"
    lanes: list[list[RunEvent]] = [
        [
            TextStarted(text),
            *(TextDelta(text, delta) for delta in draw(st.lists(texts, max_size=3))),
            TextEnded(text, tuple(draw(st.lists(citations, max_size=2)))),
        ],
        [
            ThoughtStarted(thought),
            *(ThoughtDelta(thought, delta) for delta in draw(st.lists(texts, max_size=2))),
            ThoughtEnded(thought),
        ],
        [
            ToolCallStarted(call, draw(texts), text),
            *(ToolCallArgs(call, delta) for delta in draw(st.lists(texts, max_size=2))),
            ToolCallEnded(call),
            ToolCallResult(f"r{number}", call, draw(st.text(min_size=1, max_size=5))),
        ],
        [
            StateDelta((PatchOperation("add", "/evidence", draw(texts)),)),
            ActivityChanged("a", PROGRESS, {"calls": draw(counts)}),
            Citations(tuple(draw(st.lists(citations, max_size=2))), (3,)),
        ],
    ]
    chosen = [lane for lane in lanes if draw(st.booleans())]
    events: list[RunEvent] = []
    while chosen:
        lane = draw(st.sampled_from(chosen))
        events.append(lane.pop(0))
        chosen = [rest for rest in chosen if rest]
    return [StepStarted("step"), *events, StepFinished("step")]


@st.composite
def runs(draw: st.DrawFn) -> list[RunEvent]:
    bodies = [draw(step_bodies(number)) for number in range(draw(st.integers(0, 3)))]
    shown = ActivityStarted("a", PROGRESS, {"status": "running"})
    return [StateSnapshot({}), shown, *(event for body in bodies for event in body)]


terminals = st.builds(
    Finished,
    usages,
    st.lists(citations, max_size=2).map(tuple),
    st.sampled_from(["success", "cancelled"]),
) | st.builds(Failed, texts, texts, counts, usages)


async def through_channel(events: list[RunEvent], terminal: Finished | Failed) -> list[RunEvent]:
    channel = EventChannel()
    for event in events:
        channel.emit(event)
    channel.finish(terminal)
    channel.emit(TextStarted("late"))
    return (await channel.read())[0].events


@given(runs(), st.data(), terminals)
def test_run_cut_anywhere_ends_in_a_valid_sequence(events, data, terminal):
    cut = data.draw(st.integers(0, len(events)))
    sent = asyncio.run(through_channel(events[:cut], terminal))

    assert sent[-1] == terminal
    verify(to_wire(sent), thread_id=THREAD, run_id=RUN)


@given(runs(), st.data())
def test_log_cut_anywhere_can_be_closed_from_outside(events, data):
    wire = to_wire(events)
    logged = wire[: data.draw(st.integers(1, len(wire)))]
    clock = count()
    closing = closing_events(logged, now=lambda: next(clock))
    closing += end_activities(logged, "stopped", now=lambda: next(clock))
    mapper = AguiEncoder(THREAD, RUN, now=lambda: next(clock))

    verify([*logged, *closing, *mapper.translate(Finished(RunUsage(), outcome="cancelled"))])
    assert closing_events([*logged, *closing], now=lambda: 0) == []
    assert end_activities([*logged, *closing], "stopped", now=lambda: 0) == []


@given(runs())
def test_every_prefix_of_a_run_passes_the_verifier(events):
    verifier = Verifier(thread_id=THREAD)
    for event in to_wire(events):
        verifier.check(event)
