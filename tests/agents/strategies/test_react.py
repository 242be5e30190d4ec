"""ReAct with the scripted server as its model, and with the offline model."""

import pytest

from agents.events import Failed, Finished
from agents.llm.extractive.model import ExtractiveModel
from agents.run_context import RunContext, RunLimits
from core.errors.server import VectorIndexUnavailable
from tests.agents.fakes import InMemoryRetriever, passage
from tests.agents.strategies.helpers import (
    QUESTION,
    RELAY,
    calls_of,
    citations_of,
    ended_text,
    inputs,
    results_of,
    run,
    state_of,
    steps_of,
    text_of,
    thoughts_of,
)

pytestmark = pytest.mark.anyio


def offline(question: str = QUESTION, **changes: object) -> RunContext:
    given = {"question": question, "retriever": InMemoryRetriever((RELAY,)), **changes}
    return RunContext(model=ExtractiveModel(), **given)  # type: ignore[arg-type]


async def test_thinks_acts_and_observes_until_it_answers(server, client):
    events = await run(inputs(server, client, "react"), "react")

    once = ["think", "act", "observe"]
    assert steps_of(events) == [*once, *once, "think", "check_citations"]
    assert thoughts_of(events) == ["I need the port."]
    assert text_of(events) == "The port is 7070 [1]. Logs are kept for thirty days [1]."
    (citation,) = citations_of(events).citations
    assert citation.quote == RELAY.content
    assert ended_text(events).unsupported == ()
    finished = events[-1]
    assert isinstance(finished, Finished)
    assert finished.usage.prompt_tokens == 33


async def test_results_of_one_round_are_read_in_the_next(server, client):
    await run(inputs(server, client, "react"), "react")

    roles = [message["role"] for message in server.requests[-1].messages]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "tool"]


async def test_evidence_is_in_the_state_once_it_is_found(server, client):
    state = state_of(await run(inputs(server, client, "react", state={"mine": 1}), "react"))

    assert state["mine"] == 1
    assert [entry["chunk_id"] for entry in state["evidence"]] == ["relay"]
    assert [citation["number"] for citation in state["citations"]] == [1]


async def test_same_call_is_not_run_again_and_ends_the_run(server, client):
    retriever = InMemoryRetriever((RELAY,))
    events = await run(inputs(server, client, "react-loop", retriever=retriever), "react")

    assert retriever.queries == ["port"]
    assert results_of(events)[1].startswith("Not run again")
    assert len(results_of(events)) == 3
    assert text_of(events) == (
        "As far as I got: port 7070 [1].\n\nThis answer is incomplete: the run was ended because "
        "the model kept making the same tool calls."
    )
    assert ended_text(events).ended_by == "repeats"
    assert "used up" in server.requests[-1].messages[-1]["content"]


async def test_turns_end_the_run_with_an_answer_that_says_so(server, client):
    given = inputs(server, client, "react-busy", limits=RunLimits(max_turns=3))
    events = await run(given, "react")

    assert len(calls_of(events)) == 3
    assert text_of(events) == ("Port 7070 [1].\n\nThis answer is incomplete: the run used up its 3 model turns.")
    assert [citation.number for citation in ended_text(events).citations] == [1]
    assert isinstance(events[-1], Finished)


async def test_tokens_end_the_run(server, client):
    # Each scripted turn costs 18.
    given = inputs(server, client, "react-busy", limits=RunLimits(max_tokens=30))
    events = await run(given, "react")

    assert len(calls_of(events)) == 2
    assert ended_text(events).ended_by == "tokens"


async def test_time_ends_the_run_while_the_model_hangs(server, client):
    given = inputs(server, client, "react-hanging", limits=RunLimits(acting_seconds=3))
    events = await run(given, "react")

    assert text_of(events).startswith("Port 7070 [1].")
    assert ended_text(events).ended_by == "time"
    assert isinstance(events[-1], Finished)


async def test_answer_that_time_cuts_is_kept(server, client):
    given = inputs(server, client, "react-slow", limits=RunLimits(acting_seconds=3))
    events = await run(given, "react")

    assert text_of(events) == ("The port\n\nThis answer is incomplete: the run used up its 3 seconds.")


async def test_run_says_what_ended_it_when_the_model_says_nothing(server, client):
    events = await run(inputs(server, client, "react-mute", question="端口是多少？"), "react")

    assert text_of(events) == "此回答不完整：模型一再重复同样的工具调用，运行因此结束。"


async def test_last_answer_is_in_time_too(server, client):
    limits = RunLimits(timeout_seconds=4, acting_seconds=0.5)
    events = await run(inputs(server, client, "react-forever", limits=limits), "react")

    assert text_of(events) == "This answer is incomplete: the run used up its 0.5 seconds."
    assert isinstance(events[-1], Finished)


async def test_failed_calls_are_told_to_the_model(server, client):
    events = await run(inputs(server, client, "react-failing-tools"), "react")

    unknown, invalid, found = results_of(events)
    assert unknown.startswith("There is no tool")
    assert invalid.startswith("The arguments are not valid")
    assert "7070" in found
    assert text_of(events) == "It is 7070 [1]."


async def test_broken_search_is_told_to_the_model_and_does_not_end_the_run(server, client):
    retriever = InMemoryRetriever(failure=VectorIndexUnavailable())
    events = await run(inputs(server, client, "react-loop", retriever=retriever), "react")

    failed = "The tool search_knowledge_base failed: The vector index can't be reached."
    assert results_of(events)[:2] == [failed, failed], "a call that failed may be tried again"
    assert len(retriever.queries) == 2
    assert isinstance(events[-1], Finished)


async def test_endpoint_without_tools_is_given_the_passages(server, client):
    retriever = InMemoryRetriever((RELAY,))
    events = await run(inputs(server, client, "react-no-tools", retriever=retriever), "react")

    assert retriever.queries == [QUESTION]
    assert text_of(events) == "The port is 7070 [1]."
    last = server.requests[-1].messages[-1]
    assert (last["role"], last["content"][:8]) == ("user", "<result>")


async def test_run_fails_when_the_model_gives_an_empty_answer(server, client):
    failed = (await run(inputs(server, client, "empty"), "react"))[-1]

    assert isinstance(failed, Failed)
    assert failed.message.endswith("the model gave an empty answer")


async def test_results_furthest_back_are_left_out_when_they_are_too_much(server, client):
    long = passage("The relay listens on port 7070. " * 100, id="long")
    limits = RunLimits(max_turns=4, evidence_characters=4000)
    retriever = InMemoryRetriever((long,))
    given = inputs(server, client, "react-busy", retriever=retriever, limits=limits)
    await run(given, "react")

    results = [m["content"] for m in server.requests[-1].messages if m["role"] == "tool"]
    assert [result.startswith("Left out") for result in results] == [True, True, False, False]


async def test_call_may_be_made_again_when_its_result_was_left_out(server, client):
    long = passage("The relay listens on port 7070. " * 100, id="long")
    retriever = InMemoryRetriever((long,))
    limits = RunLimits(evidence_characters=4000)
    given = inputs(server, client, "react-forgetful", retriever=retriever, limits=limits)
    await run(given, "react")

    assert retriever.queries == ["port 0", "port 1", "port 2", "port 3", "port 0"]


async def test_offline_model_acts_too():
    events = await run(offline(), "react")

    assert steps_of(events) == ["think", "act", "observe", "think", "check_citations"]
    assert text_of(events).startswith("No language model is configured")
    assert citations_of(events).citations


async def test_offline_model_abstains_in_the_questions_language():
    events = await run(offline("法国的首都在哪里？"), "react")

    assert text_of(events).startswith("当前未配置语言模型")
    assert citations_of(events).citations == ()


async def test_offline_model_answers_at_the_end_of_its_budget():
    events = await run(offline("zebra port?", limits=RunLimits(max_turns=1)), "react")

    assert text_of(events).startswith("No language model is configured")
    assert text_of(events).endswith("the run used up its 1 model turns.")
