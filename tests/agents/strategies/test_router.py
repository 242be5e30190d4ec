"""The router (on the wire: worker) with the scripted model, and with the offline model."""

import asyncio
import gc

import pytest

from agents.events import Failed, Finished, StateSnapshot, TextDelta
from agents.run_context import RunLimits
from agents.strategies import start_strategy
from tests.agents.strategies.helpers import (
    RUN,
    THREAD,
    citations_of,
    ended_text,
    inputs,
    offline,
    run,
    state_of,
    steps_of,
    text_of,
    thoughts_of,
    to_wire,
    verify,
)

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("model", "agent_type", "steps"),
    [
        ("worker-react", "react", ["think", "act", "observe"]),
        ("worker-plan", "plan_execute", ["plan", "execute", "execute"]),
        ("worker-reflexion", "reflexion", ["attempt", "evaluate", "reflect"]),
    ],
)
async def test_model_picks_the_agent_type_that_then_runs(server, client, model, agent_type, steps):
    events = await run(inputs(server, client, model), "worker")

    assert steps_of(events)[:5] == ["router", "worker", *steps]
    assert thoughts_of(events)[0] == "Which one?"
    state = state_of(events)
    assert state["route"] == {"agent_type": agent_type, "by": "model", "reason": "It fits."}
    assert text_of(events) == "The port is 7070 [1]. Logs are kept for thirty days [1]."
    assert [entry["chunk_id"] for entry in state["evidence"]] == ["relay"]
    finished = events[-1]
    assert isinstance(finished, Finished)
    assert finished.citations == citations_of(events).citations != ()
    assert finished.usage.prompt_tokens == 11 * len(server.requests)


async def test_callers_state_is_kept_beside_that_of_the_chosen_type(server, client):
    events = await run(inputs(server, client, "worker-plan", state={"mine": 1}), "worker")

    first, second = (event.snapshot for event in events if isinstance(event, StateSnapshot))
    assert first == {"mine": 1, "route": None, "citations": [], "evidence": []}
    assert second["mine"] == 1
    assert second["plan"] == {"source": "", "revision": 0, "steps": []}


@pytest.mark.parametrize("model", ["worker-prose", "worker-unknown"])
async def test_rules_pick_when_the_model_names_no_agent_type(server, client, model):
    events = await run(inputs(server, client, model), "worker")

    assert state_of(events)["route"] == {"agent_type": "plan_execute", "by": "rules", "reason": ""}
    assert isinstance(events[-1], Finished)


async def test_model_is_told_whether_there_is_anything_to_search(server, client):
    await run(inputs(server, client, "worker-react"), "worker")
    await run(inputs(server, client, "worker-react", retriever=None), "worker")

    told = [r.messages[0]["content"] for r in server.requests if "route a" in str(r.messages[0])]
    assert "documents are searchable" in told[0]
    assert "documents are not searchable" in told[1]


async def test_failure_of_the_chosen_type_ends_the_run(server, client):
    failed = (await run(inputs(server, client, "worker-drop"), "worker"))[-1]

    assert isinstance(failed, Failed)
    assert failed.code == "LLM_ERROR"


async def test_router_spends_of_the_same_budget(server, client):
    given = inputs(server, client, "worker-loop", limits=RunLimits(max_turns=2))
    events = await run(given, "worker")

    assert steps_of(events).count("act") == 1
    assert ended_text(events).ended_by == "turns"


async def test_stop_reaches_the_chosen_type(server, client):
    running = start_strategy("worker", inputs(server, client, "worker-slow"))
    events = []
    async for event in running.events():
        events.append(event)
        if isinstance(event, TextDelta):
            await running.stop()
    verify(to_wire(events), thread_id=THREAD, run_id=RUN)

    finished = events[-1]
    assert isinstance(finished, Finished)
    assert finished.outcome == "cancelled"
    assert text_of(events) == "The port"
    assert ended_text(events).stopped
    assert await asyncio.to_thread(server.hung_up.wait, 5)


async def test_stop_leaves_no_exception_that_nobody_read(server, client):
    forgotten: list[dict] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, about: forgotten.append(about))
    running = start_strategy("worker", inputs(server, client, "worker-slow"))
    async for event in running.events():
        if isinstance(event, TextDelta):
            await running.stop()
    assert await asyncio.to_thread(server.hung_up.wait, 5)
    await asyncio.sleep(0.1)
    del running
    gc.collect()
    await asyncio.sleep(0)

    assert forgotten == []


@pytest.mark.parametrize(
    ("question", "agent_type"),
    [
        ("Which port does the relay listen on?", "agentic_rag"),
        ("Compare the relay and the vault.", "plan_execute"),
        ("Check carefully which port the relay listens on", "reflexion"),
        ("中继监听哪个端口；备份什么时候写？", "plan_execute"),
    ],
)
async def test_rules_pick_for_the_offline_model(question, agent_type):
    events = await run(offline(question), "worker")

    assert state_of(events)["route"]["agent_type"] == agent_type
    assert steps_of(events)[:2] == ["router", "worker"]
    assert "No language model" in text_of(events) or "未配置语言模型" in text_of(events)
