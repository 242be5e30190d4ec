"""The activity message with the progress of a run."""

from typing import Any

import pytest

from agents.events import PROGRESS, Failed, RunEvent, ThoughtDelta
from agents.run_context import RunLimits
from agents.strategies import STRATEGIES, start_strategy
from core.audit.context import AuditOrigin, use_origin
from core.errors.server import VectorIndexUnavailable
from tests.agents.fakes import InMemoryRetriever
from tests.agents.runs.helpers import activities_of, register
from tests.agents.runs.test_interrupts import ASK_INPUT, Conversation, interrupts_of
from tests.agents.strategies.helpers import RELAY, inputs, offline, run, to_wire
from tests.fixtures.database.databases import one_database

pytestmark = pytest.mark.anyio

WORK: dict[str, tuple[str, dict[str, Any]]] = {
    "react": ("react", {"turns": 3, "calls": 2, "passages": 1}),
    "rag": ("agentic_rag", {"turns": 3, "calls": 1, "passages": 1, "kept": 1}),
    "plan": ("plan_execute", {"calls": 2, "steps": {"done": 2, "failed": 0, "total": 2}}),
    "plan-failing": ("plan_execute", {"steps": {"done": 1, "failed": 1, "total": 2}}),
    "reflexion": (
        "reflexion",
        {"attempt": 2, "most_attempts": 3, "verdict": {"score": 0.9, "passed": True}},
    ),
}


def only_activity(events: list[RunEvent]) -> dict[str, Any]:
    (shown,) = activities_of(to_wire(events))
    return shown


@pytest.mark.parametrize("model", WORK)
async def test_progress_counts_what_has_happened(server, client, model):
    agent_type, expected = WORK[model]
    events = await run(inputs(server, client, model), agent_type)

    shown = only_activity(events)
    assert shown.items() >= {"agent_type": agent_type, "status": "done", **expected}.items()


async def test_progress_names_the_queries_that_were_asked(server, client):
    retriever = InMemoryRetriever()
    events = await run(inputs(server, client, "rag-rewrite", retriever=retriever))

    shown = only_activity(events)
    assert shown["queries"] == retriever.queries
    assert len(shown["queries"]) == 2


async def test_progress_grows_while_the_run_goes_on(server, client):
    events = to_wire(await run(inputs(server, client, "reflexion"), "reflexion"))
    places = [i for i, event in enumerate(events) if event["type"].startswith("ACTIVITY_")]
    seen = [activities_of(events[: place + 1])[0] for place in places]

    assert events[places[0]]["type"] == "ACTIVITY_SNAPSHOT"
    assert {events[place]["messageId"] for place in places} == {events[places[0]]["messageId"]}
    assert [s["attempt"] for s in seen] == sorted(s["attempt"] for s in seen)
    assert {s["status"] for s in seen[:-1]} == {"running"}
    # A verdict is never shown before the evaluation that came to it.
    judged = next(i for i, event in enumerate(events) if "/attempts" in str(event))
    assert all(seen[i]["verdict"] is None for i, place in enumerate(places) if place < judged)


async def test_progress_of_a_routed_run_is_that_of_the_chosen_type(server, client):
    events = await run(inputs(server, client, "worker-plan"), "worker")

    shown = only_activity(events)
    assert shown["agent_type"] == "plan_execute"
    assert shown["steps"] == {"done": 2, "failed": 0, "total": 2}
    assert shown["turns"] > shown["steps"]["total"]


async def test_progress_says_which_budget_ended_the_run(server, client):
    given = inputs(server, client, "react-busy", limits=RunLimits(max_turns=2))
    shown = only_activity(await run(given, "react"))

    assert (shown["status"], shown["ended_by"]) == ("done", "turns")


@pytest.mark.parametrize("agent_type", sorted(STRATEGIES))
async def test_progress_of_a_run_that_was_stopped_says_so(server, client, agent_type):
    begun = start_strategy(agent_type, inputs(server, client, "react-forever"))
    await begun.stop()
    stopped = [event async for event in begun.events()]
    assert activities_of(to_wire(stopped)) == []

    begun = start_strategy(agent_type, offline("Which zebra connector is it?"))
    events: list[RunEvent] = []
    async for event in begun.events():
        events.append(event)
        if len(events) == 5:
            await begun.stop()
    assert only_activity(events)["status"] == "stopped"


async def test_progress_of_a_run_that_broke_off_says_so():
    retriever = InMemoryRetriever((RELAY,), failure=VectorIndexUnavailable())
    events = await run(offline(retriever=retriever))

    shown, last = only_activity(events), events[-1]
    assert isinstance(last, Failed)
    assert (shown["status"], shown["failure"], shown["failure_code"]) == ("failed", last.message, last.code)


async def test_progress_of_a_failed_run_names_the_request_that_began_it():
    retriever = InMemoryRetriever((RELAY,), failure=VectorIndexUnavailable())
    with use_origin(AuditOrigin("request-7")):
        events = await run(offline(retriever=retriever))
    assert only_activity(events)["request_id"] == "request-7"


async def test_progress_holds_no_words_of_the_model(server, client):
    events = await run(inputs(server, client, "plan"), "plan_execute")

    thoughts = {event.delta for event in events if isinstance(event, ThoughtDelta)}
    shown = str(only_activity(events))
    assert thoughts
    assert not any(thought in shown for thought in thoughts)


@one_database
@pytest.mark.parametrize("agent_type", sorted(STRATEGIES))
async def test_progress_goes_on_in_the_run_that_brings_the_answer(database, agent_type):
    talk = Conversation(database, await register(database), agent_type)
    asked = await talk.ask(ASK_INPUT)
    (before,) = activities_of(asked)
    assert before["status"] == "waiting"

    (interrupt,) = interrupts_of(asked)
    went_on = await talk.answer(interrupt, {"input": "a@example.com"})
    # The run that goes on shows the whole message itself, for clients that have not seen it.
    kinds = [event["type"] for event in went_on]
    assert kinds.index("ACTIVITY_SNAPSHOT") < kinds.index("TOOL_CALL_RESULT")
    assert activities_of(went_on) == activities_of(talk.log)
    (after,) = activities_of(talk.log)
    assert after == {**after, "status": "done", "calls": 1}
    assert {one["activityType"] for one in went_on if "activityType" in one} == {PROGRESS}
