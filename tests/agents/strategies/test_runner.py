"""Stopping, timing out and abandoning a run, at every point of it."""

import asyncio

import pytest

from agents.events import Failed, Finished, RunEvent, TextDelta, ToolCallArgs
from agents.evidence import RetrievedPassages
from agents.llm.config import ModelEndpoint
from agents.llm.extractive.model import ExtractiveModel
from agents.llm.openai import OpenAIModel
from agents.run_context import RunContext, RunLimits
from agents.strategies import start_strategy
from agents.strategies.shared.base import StrategyRun
from agents.strategies.shared.event_channel import EventChannel
from tests.agents.fakes import InMemoryRetriever
from tests.agents.strategies.helpers import RUN, THREAD, ended_text, results_of, text_of, to_wire, verify

pytestmark = pytest.mark.anyio

QUESTION = "Which port does it listen on?"


class HangingRetriever:
    """Never answers; tells when it was asked and whether it was cancelled."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.was_cancelled = False

    async def retrieve(self, query: str, *, top_k: int) -> RetrievedPassages:
        self.asked.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise
        return RetrievedPassages(())


class BrokenRetriever:
    """Fails in a way nobody foresaw."""

    async def retrieve(self, query: str, *, top_k: int) -> RetrievedPassages:
        raise KeyError("secret")


def offline(**changes: object) -> StrategyRun:
    given = {"question": QUESTION, "retriever": InMemoryRetriever(), **changes}
    return start_strategy("agentic_rag", RunContext(model=ExtractiveModel(), **given))  # type: ignore[arg-type]


def verified(events: list[RunEvent]) -> list[RunEvent]:
    verify(to_wire(events), thread_id=THREAD, run_id=RUN)
    return events


async def test_stop_cuts_the_models_stream_and_closes_the_message(server, client):
    model = OpenAIModel(ModelEndpoint(server.base_url, "rag-slow"), client)
    run = start_strategy("agentic_rag", RunContext(QUESTION, model, InMemoryRetriever()))
    events: list[RunEvent] = []
    async for event in run.events():
        events.append(event)
        if isinstance(event, TextDelta):
            await run.stop()

    finished = verified(events)[-1]
    assert isinstance(finished, Finished)
    assert finished.outcome == "cancelled"
    assert finished.usage.prompt_tokens == 22, "the tokens of the turns that ended are counted"
    assert text_of(events) == "The port"
    assert ended_text(events).stopped
    assert await asyncio.to_thread(server.hung_up.wait, 5)


async def test_stop_cancels_a_tool_and_gives_its_call_a_result():
    retriever = HangingRetriever()
    run = offline(retriever=retriever)
    reading = asyncio.create_task(collect(run))
    await asyncio.wait_for(retriever.asked.wait(), 5)
    await run.stop()
    events = verified(await asyncio.wait_for(reading, 5))

    assert retriever.was_cancelled
    assert results_of(events) == ["Cancelled: the run was stopped."]
    assert isinstance(events[-1], Finished)
    assert events[-1].outcome == "cancelled"


async def collect(run: StrategyRun) -> list[RunEvent]:
    return [event async for event in run.events()]


async def test_events_are_wellformed_when_stopped_after_any_of_them():
    total = len(await collect(offline()))
    for place in range(total):
        run = offline()
        events: list[RunEvent] = []
        async for event in run.events():
            events.append(event)
            if len(events) == place + 1:
                await run.stop()
        assert isinstance(verified(events)[-1], Finished)


async def test_stop_before_the_start_ends_the_run_at_once():
    run = offline()
    await run.stop()

    assert [type(event) for event in verified(await collect(run))] == [Finished]


async def test_stop_after_the_end_changes_nothing():
    run = offline()
    events = await collect(run)
    await run.stop()

    assert isinstance(events[-1], Finished)
    assert events[-1].outcome == "success"


async def test_run_fails_at_its_deadline_with_everything_closed():
    run = offline(retriever=HangingRetriever(), limits=RunLimits(timeout_seconds=0.05))
    events = verified(await asyncio.wait_for(collect(run), 5))

    failed = events[-1]
    assert isinstance(failed, Failed)
    assert (failed.code, failed.error_code) == ("RUN_TIMED_OUT", 50002)
    assert results_of(events) == ["Not finished: the run broke off."]


async def test_unforeseen_failure_ends_the_run_without_its_text():
    events = verified(await collect(offline(retriever=BrokenRetriever())))

    failed = events[-1]
    assert isinstance(failed, Failed)
    assert (failed.code, failed.message) == ("INTERNAL", "Internal error")
    assert "secret" not in repr(events)


async def test_work_is_cancelled_when_the_reader_goes_away():
    retriever = HangingRetriever()
    run = offline(retriever=retriever)
    reading = asyncio.create_task(collect(run))
    await asyncio.wait_for(retriever.asked.wait(), 5)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(reading, 5)

    assert retriever.was_cancelled


async def test_work_is_cancelled_when_the_generator_is_closed_early():
    retriever = HangingRetriever()
    events = offline(retriever=retriever).events()
    await anext(events)
    await asyncio.wait_for(retriever.asked.wait(), 5)
    await asyncio.wait_for(events.aclose(), 5)

    assert retriever.was_cancelled


async def test_waiting_deltas_of_one_message_are_joined():
    channel = EventChannel()
    for event in (
        TextDelta("a", "1"),
        TextDelta("a", "2"),
        TextDelta("b", "3"),
        ToolCallArgs("c", "4"),
        ToolCallArgs("c", "5"),
    ):
        channel.emit(event)

    batch, _ = await channel.read()
    assert batch.events == [
        TextDelta("a", "12"),
        TextDelta("b", "3"),
        ToolCallArgs("c", "45"),
    ]
