"""Recovery of runs by another process, after a crash at any point."""

import asyncio
import json
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from agents.agui.close_open import find_dangling
from agents.agui.encoder import AguiEncoder
from agents.agui.message_reducer import MessageReducer
from agents.agui.verifier import verify
from agents.events import RunEvent, WireEvent
from agents.journal import Effect, Journal
from agents.run_context import RunContext
from agents.strategies import start_strategy
from agents.strategies.shared.event_channel import EventBatch
from tests.agents.fakes import InMemoryRetriever
from tests.agents.strategies.helpers import QUESTION, RELAY, RUN, THREAD, VAULT, inputs, offline

pytestmark = pytest.mark.anyio

COMPARISON = "Which port does the relay listen on; and when is the vault's backup written?"
NAME = "task"
_MADE_ANEW = re.compile(r"retrieval-\d+|call_[0-9a-f]{32}|\d\d:\d\d:\d\d")


class Process:
    """One process that drives a run; it may die after any batch."""

    def __init__(self, inputs: RunContext, agent_type: str, past: list[EventBatch]) -> None:
        self.batches: list[EventBatch] = []
        self.log: list[WireEvent] = []
        self._past = past
        effects: dict[int, Effect] = {}
        for batch in past:
            effects |= {effect.index: effect for effect in batch.effects}
        journal = Journal(NAME, effects.values(), own_events=past[-1].own_events if past else 0)
        self._run = start_strategy(agent_type, replace(inputs, journal=journal))
        clock = count(1_700_000_000_000)
        self._mapper = AguiEncoder(THREAD, RUN, now=lambda: next(clock))

    def wire(self, events: list[RunEvent]) -> list[WireEvent]:
        return [wire for event in events for wire in self._mapper.translate(event)]

    async def drive(self) -> list[WireEvent]:
        """The whole log, with what earlier processes wrote."""
        logged = [self._mapper.started(), *self.wire([e for b in self._past for e in b.events])]
        left = logged if self._past else []
        async for batch in self._run.batches():
            if left:
                torn = find_dangling(left, self._run.known_ids, now=lambda: 1_700_000_000_000)
                logged += torn.closing
                if torn.ids:
                    fold = folded(logged)
                    fold.forget(torn.ids)
                    logged.append(self._mapper.messages(fold.messages))
                left = []
            self.batches.append(batch)
            logged += self.wire(batch.events)
        return logged


def folded(log: list[WireEvent]) -> MessageReducer:
    fold = MessageReducer()
    fold.ask("question", QUESTION)
    for event in log:
        fold.observe(event)
    return fold


def final_view(log: list[WireEvent]) -> str:
    """What a client has at the end, without ids that are made anew."""
    fold = folded(log)
    messages = [
        [m["role"], m["content"], m.get("metadata"), m.get("toolCalls")]
        for m in fold.all_messages
        if m["role"] != "reasoning"
    ]
    text = json.dumps([messages, fold.state], indent=1, ensure_ascii=False)
    return _MADE_ANEW.sub("", text)


def with_script(model: str, **changes: object) -> Callable[..., RunContext]:
    def make(server: Any, client: Any, retriever: InMemoryRetriever) -> RunContext:
        return inputs(server, client, model, retriever=retriever, **changes)

    return make


def without_model(question: str) -> Callable[..., RunContext]:
    def make(server: Any, client: Any, retriever: InMemoryRetriever) -> RunContext:
        return offline(question, retriever=retriever)

    return make


KINDS = {
    "react": ("react", with_script("react")),
    "react-failing-tools": ("react", with_script("react-failing-tools")),
    "react-no-tools": ("react", with_script("react-no-tools")),
    "agentic_rag": ("agentic_rag", with_script("rag")),
    "rag-irrelevant": ("agentic_rag", with_script("rag-irrelevant")),
    "plan": ("plan_execute", with_script("plan")),
    "plan-failing": ("plan_execute", with_script("plan-failing")),
    "reflexion": ("reflexion", with_script("reflexion")),
    "worker": ("worker", with_script("worker-plan")),
    "offline-react": ("react", without_model(QUESTION)),
    "offline-rag": ("agentic_rag", without_model(QUESTION)),
    "offline-plan": ("plan_execute", without_model(COMPARISON)),
    "offline-reflexion": ("reflexion", without_model(QUESTION)),
    "offline-worker": ("worker", without_model(COMPARISON)),
    "offline-command": ("react", without_model('/tool current_time {"timezone": "UTC"}')),
}


@pytest.mark.parametrize("kind", KINDS)
async def test_run_taken_up_anywhere_ends_as_if_nothing_had_happened(server, client, kind):
    agent_type, make = KINDS[kind]
    whole_retriever = InMemoryRetriever((RELAY, VAULT))
    whole = Process(make(server, client, whole_retriever), agent_type, [])
    expected = await whole.drive()
    verify(expected, thread_id=THREAD, run_id=RUN)
    turns = len(server.requests)

    for cut in range(1, len(whole.batches)):
        server.requests.clear()
        past = whole.batches[:cut]
        retriever = InMemoryRetriever((RELAY, VAULT))
        again = Process(make(server, client, retriever), agent_type, past)
        log = await again.drive()

        verify(log, thread_id=THREAD, run_id=RUN)
        assert final_view(log) == final_view(expected), cut
        done = [effect.key for batch in past for effect in batch.effects]
        asked = sum(key.startswith("turn:") for key in done)
        # What was written down is not asked again, what was not is asked once.
        assert len(server.requests) == (turns - asked if turns else 0)
        assert len(retriever.queries) <= len(whole_retriever.queries)


async def test_run_that_is_taken_up_again_and_again_still_ends(server, client):
    past: list[EventBatch] = []
    for _ in range(200):
        process = Process(inputs(server, client, "react"), "react", past)
        log = await process.drive()
        if len(process.batches) <= 3:
            break
        past = [*past, *process.batches[:3]]
    else:
        pytest.fail("it never ends")
    verify(log, thread_id=THREAD, run_id=RUN)
    answers = [m for m in folded(log).messages if m["role"] == "assistant" and m["content"]]
    assert answers[-1]["content"] == "The port is 7070 [1]. Logs are kept for thirty days [1]."


async def test_run_that_is_stopped_as_soon_as_it_is_taken_up_keeps_what_it_had_said(server, client):
    make = with_script("react")
    first = Process(make(server, client, InMemoryRetriever((RELAY, VAULT))), "react", [])
    await first.drive()
    said = [batch for batch in first.batches if not batch.is_last]
    turns = len(server.requests)
    again = Process(make(server, client, InMemoryRetriever((RELAY, VAULT))), "react", said)
    stopping = asyncio.create_task(again._run.stop())
    log = await again.drive()
    await stopping

    verify(log, thread_id=THREAD, run_id=RUN)
    assert log[-1]["outcome"] == {"type": "cancelled"}
    assert not any(event["type"] == "MESSAGES_SNAPSHOT" for event in log)
    assert len(server.requests) == turns


async def test_run_of_another_version_is_not_gone_on_with(server, client):
    whole = Process(inputs(server, client, "react"), "react", [])
    await whole.drive()
    other = [
        replace(batch, effects=[replace(e, key=f"turn:{e.index + 7}") for e in batch.effects])
        for batch in whole.batches[:-1]
    ]
    log = await Process(inputs(server, client, "react"), "react", other).drive()

    assert log[-1]["type"] == "RUN_ERROR"
    assert log[-1]["code"] == "RUN_LOST"
