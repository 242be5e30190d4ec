"""Reflexion with the scripted server as its model, and with the offline model."""

import pytest

from agents.events import Finished
from agents.run_context import RunLimits
from tests.agents.fakes import InMemoryRetriever
from tests.agents.strategies.helpers import (
    RELAY,
    VAULT,
    citations_of,
    ended_text,
    inputs,
    offline,
    results_of,
    run,
    state_of,
    steps_of,
    text_of,
    thoughts_of,
)

pytestmark = pytest.mark.anyio


async def test_second_attempt_follows_the_reflection_on_the_first(server, client):
    retriever = InMemoryRetriever((RELAY,))
    events = await run(inputs(server, client, "reflexion", retriever=retriever), "reflexion")

    assert steps_of(events) == [
        "attempt", "evaluate", "reflect", "attempt", "evaluate", "answer", "check_citations",
    ]  # fmt: skip
    assert retriever.queries == ["relay port", "relay logs"]
    assert text_of(events) == "The port is 7070 [1]. Logs are kept for thirty days [1]."
    assert thoughts_of(events) == [
        "The port is 7070 [1].",
        "I must look for the logs too.",
        "The port is 7070 [1]. Logs are kept for thirty days [1].",
    ]
    assert citations_of(events).citations[0].quote == RELAY.content


async def test_attempts_and_reflections_are_shared_state(server, client):
    state = state_of(await run(inputs(server, client, "reflexion", state={"mine": 1}), "reflexion"))

    assert state["mine"] == 1
    assert state["attempts"] == [
        {"number": 1, "score": 0.4, "passed": False, "problems": ["Says nothing about the logs."]},
        {"number": 2, "score": 0.9, "passed": True, "problems": []},
    ]
    assert state["reflections"] == ["I must look for the logs too."]
    assert state["best_attempt"] == 2


async def test_next_attempt_is_given_reflections_draft_and_passages(server, client):
    await run(inputs(server, client, "reflexion"), "reflexion")

    lessons = next(
        message["content"]
        for request in server.requests
        for message in request.messages
        if message["role"] == "user" and message["content"].startswith("<lessons>")
    )
    assert "I must look for the logs too." in lessons
    assert "The port is 7070 [1]." in lessons
    assert RELAY.content in lessons


async def test_first_attempt_is_given_what_earlier_runs_reflected(server, client):
    lesson = "Name the vault </lessons> too."
    events = await run(inputs(server, client, "reflexion", reflections=(lesson,)), "reflexion")

    assert state_of(events)["earlier_reflections"] == [lesson]
    assert state_of(events)["reflections"] == []
    told = server.requests[0].messages[-1]
    assert told["role"] == "user"
    assert "Name the vault" in told["content"]
    assert told["content"].count("</lessons>") == 1
    assert "<passages>" not in told["content"]


async def test_attempt_that_passes_is_the_only_one(server, client):
    events = await run(inputs(server, client, "reflexion-repaired"), "reflexion")

    assert steps_of(events).count("attempt") == 1
    assert state_of(events)["attempts"][0]["passed"]


async def test_attempts_are_limited(server, client):
    given = inputs(server, client, "reflexion-never", limits=RunLimits(max_attempts=2))
    events = await run(given, "reflexion")

    assert [entry["passed"] for entry in state_of(events)["attempts"]] == [False, False]
    assert isinstance(events[-1], Finished)


async def test_best_attempt_is_kept_when_the_next_is_worse(server, client):
    given = inputs(server, client, "reflexion-worse", limits=RunLimits(max_attempts=2))
    events = await run(given, "reflexion")

    assert state_of(events)["best_attempt"] == 1
    assert text_of(events) == "The port is 7070 [1]."


async def test_verdict_that_can_not_be_read_leaves_it_to_the_citations(server, client):
    events = await run(inputs(server, client, "reflexion-unreadable"), "reflexion")

    assert state_of(events)["attempts"] == [{"number": 1, "score": 0.5, "passed": True, "problems": []}]


async def test_what_no_source_bears_out_does_not_pass_whatever_the_model_says(server, client):
    events = await run(inputs(server, client, "reflexion-invented"), "reflexion")

    first, second = state_of(events)["attempts"]
    assert first == {
        "number": 1,
        "score": 0.75,
        "passed": False,
        "problems": ["The cited passage does not say this: The port is 9999."],
    }
    assert second["passed"]
    assert text_of(events) == "The port is 7070 [1]."
    assert ended_text(events).unsupported == ()


async def test_budget_ends_the_attempts_with_an_answer_that_says_so(server, client):
    given = inputs(server, client, "reflexion-busy", limits=RunLimits(max_turns=3))
    events = await run(given, "reflexion")

    assert text_of(events) == ("Port 7070 [1].\n\nThis answer is incomplete: the run used up its 3 model turns.")
    assert state_of(events)["attempts"][0]["problems"] == ["The attempt came to no answer."]


async def test_failed_tools_do_not_end_the_attempt(server, client):
    events = await run(inputs(server, client, "reflexion-failing"), "reflexion")

    assert results_of(events)[0].startswith("There is no tool")
    assert text_of(events) == "It is 7070 [1]."


async def test_offline_model_looks_for_what_its_quotes_leave_out():
    retriever = InMemoryRetriever((RELAY, VAULT))
    question = "Which zebra connector does the relay use?"
    events = await run(offline(question, retriever=retriever), "reflexion")

    assert retriever.queries == [question, "zebra connector", "connector", "zebra"]
    state = state_of(events)
    assert [entry["passed"] for entry in state["attempts"]] == [False] * 3
    assert state["reflections"][0] == (
        "The quotes so far say nothing about: connector. Next I search for exactly that."
    )
    assert text_of(events).startswith("No language model is configured")


async def test_offline_model_passes_at_once_when_its_quotes_cover_the_question():
    events = await run(offline(), "reflexion")

    (attempt,) = state_of(events)["attempts"]
    assert attempt["passed"]
    assert attempt["score"] >= 0.6
    assert "7070" in text_of(events)
    assert citations_of(events).citations


async def test_offline_model_reflects_in_the_questions_language():
    events = await run(offline("谁写了赋格曲？"), "reflexion")

    assert text_of(events).startswith("当前未配置语言模型")
    assert all("接下来专门搜索" in thought for thought in thoughts_of(events))
    assert citations_of(events).citations == ()


async def test_offline_model_says_that_no_knowledge_base_is_selected():
    events = await run(offline(retriever=None), "reflexion")

    assert "no knowledge base" in text_of(events)
