"""Plan-and-execute with the scripted server as its model, and with the offline model."""

import pytest

from agents.events import Failed, Finished, StateDelta
from agents.run_context import RunLimits
from tests.agents.fakes import InMemoryRetriever
from tests.agents.strategies.helpers import (
    RELAY,
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


def tasks_and_states(state: dict) -> list[tuple[str, str]]:
    return [(step["task"], step["status"]) for step in state["plan"]["steps"]]


async def test_plans_carries_out_each_step_and_puts_it_together(server, client):
    retriever = InMemoryRetriever((RELAY,))
    events = await run(inputs(server, client, "plan", retriever=retriever), "plan_execute")

    assert steps_of(events) == ["plan", "execute", "execute", "synthesise", "check_citations"]
    assert retriever.queries == ["relay port", "relay logs"]
    assert text_of(events) == "The port is 7070 [1]. Logs are kept for thirty days [1]."
    assert thoughts_of(events) == [
        "Two things.",
        "The port is 7070 [1].",
        "Logs are kept for thirty days [1].",
    ]
    assert citations_of(events).citations[0].quote == RELAY.content
    assert ended_text(events).unsupported == ()


async def test_plan_is_shared_state_with_the_status_of_each_step(server, client):
    events = await run(inputs(server, client, "plan", state={"mine": 1}), "plan_execute")

    shown = [
        (operation.path, operation.value["status"])
        for event in events
        if isinstance(event, StateDelta)
        for operation in event.operations
        if operation.path.startswith("/plan/steps")
    ]
    assert shown == [
        ("/plan/steps/0", "running"),
        ("/plan/steps/0", "done"),
        ("/plan/steps/1", "running"),
        ("/plan/steps/1", "done"),
    ]
    state = state_of(events)
    assert state["mine"] == 1
    assert state["plan"] == {
        "source": "model",
        "revision": 1,
        "steps": [
            {
                "task": "Find the port of the relay",
                "status": "done",
                "result": "The port is 7070 [1].",
            },
            {
                "task": "Find how long logs are kept",
                "status": "done",
                "result": "Logs are kept for thirty days [1].",
            },
        ],
    }


async def test_results_of_earlier_steps_are_told_to_later_ones(server, client):
    await run(inputs(server, client, "plan"), "plan_execute")

    second = next(r for r in server.requests if r.messages[1]["content"].startswith("Find how long"))
    assert "The port is 7070 [1]." in second.messages[1]["content"]
    assert "7070" not in second.messages[0]["content"]


async def test_malformed_plan_is_repaired_once(server, client):
    events = await run(inputs(server, client, "plan-malformed"), "plan_execute")

    assert state_of(events)["plan"]["source"] == "repaired"
    repair = server.requests[1].messages
    assert repair[-2] == {"role": "assistant", "content": "1. Find the port. 2. Find the logs."}
    assert "no JSON object" in repair[-1]["content"]
    assert text_of(events).startswith("The port is 7070 [1].")


@pytest.mark.parametrize("model", ["plan-unreadable", "plan-empty"])
async def test_rules_plan_when_the_model_can_not(server, client, model):
    events = await run(inputs(server, client, model), "plan_execute")

    state = state_of(events)
    assert state["plan"]["source"] == "rules"
    assert tasks_and_states(state) == [
        ("Which port does the relay listen on", "done"),
        ("how long are logs kept?", "done"),
    ]
    assert isinstance(events[-1], Finished)


async def test_plan_changes_when_a_step_teaches_something(server, client):
    events = await run(inputs(server, client, "plan-learning"), "plan_execute")

    assert steps_of(events)[:4] == ["plan", "execute", "replan", "execute"]
    state = state_of(events)
    assert state["plan"]["revision"] == 2
    assert tasks_and_states(state) == [("Find the port of the relay", "done"), ("Ask the vault", "done")]


async def test_plan_changes_when_a_step_fails(server, client):
    events = await run(inputs(server, client, "plan-failing"), "plan_execute")

    assert results_of(events)[0].startswith("There is no tool 'telephone'")
    assert tasks_and_states(state_of(events)) == [
        ("Find the port of the relay", "failed"),
        ("Look for the port", "done"),
    ]


async def test_plan_goes_on_when_its_change_can_not_be_read(server, client):
    events = await run(inputs(server, client, "plan-bad-rest"), "plan_execute")

    assert [status for _, status in tasks_and_states(state_of(events))] == ["failed", "failed"]
    assert steps_of(events).count("replan") == 2
    assert isinstance(events[-1], Finished)


async def test_changes_of_plan_are_limited(server, client):
    given = inputs(server, client, "plan-learning", limits=RunLimits(max_replans=0))
    events = await run(given, "plan_execute")

    assert "replan" not in steps_of(events)
    assert [status for _, status in tasks_and_states(state_of(events))] == ["done", "done"]


async def test_step_that_goes_in_circles_fails_alone(server, client):
    events = await run(inputs(server, client, "plan-stuck"), "plan_execute")

    assert tasks_and_states(state_of(events)) == [("Find the port of the relay", "failed")]
    assert ended_text(events).ended_by == ""


async def test_budget_skips_what_is_left_and_says_so(server, client):
    given = inputs(server, client, "plan-busy", limits=RunLimits(max_turns=4))
    events = await run(given, "plan_execute")

    assert [status for _, status in tasks_and_states(state_of(events))] == ["failed", "skipped"]
    assert text_of(events).endswith("This answer is incomplete: the run used up its 4 model turns.")
    assert ended_text(events).ended_by == "turns"


async def test_step_told_in_prose_is_taken_at_its_word(server, client):
    events = await run(inputs(server, client, "plan-prose"), "plan_execute")

    steps = state_of(events)["plan"]["steps"]
    assert {step["result"] for step in steps} == {"The port is 7070, I think."}


async def test_run_fails_when_the_model_breaks_off_in_a_step(server, client):
    assert isinstance((await run(inputs(server, client, "plan-drop"), "plan_execute"))[-1], Failed)


async def test_each_step_may_search_for_what_another_searched_for(server, client):
    retriever = InMemoryRetriever((RELAY,))
    given = inputs(server, client, "plan-same-search", retriever=retriever)
    events = await run(given, "plan_execute")

    assert retriever.queries == ["relay", "relay"]
    assert not any(result.startswith("Not run") for result in results_of(events))


async def test_each_task_is_looked_up_for_an_endpoint_without_tools(server, client):
    retriever = InMemoryRetriever((RELAY,))
    given = inputs(server, client, "plan-no-tools", retriever=retriever)
    events = await run(given, "plan_execute")

    assert retriever.queries == ["Find the port of the relay", "Find how long logs are kept"]
    assert citations_of(events).citations


async def test_long_plan_is_cut(server, client):
    given = inputs(server, client, "plan", limits=RunLimits(max_plan_steps=1))
    events = await run(given, "plan_execute")

    assert len(state_of(events)["plan"]["steps"]) == 1


async def test_offline_model_quotes_for_each_part():
    events = await run(offline("Which port does the relay use; when is the backup written?"), "plan_execute")

    assert tasks_and_states(state_of(events)) == [
        ("Which port does the relay use", "done"),
        ("when is the backup written?", "done"),
    ]
    answer = text_of(events)
    assert answer.startswith("No language model is configured")
    first, second = answer.index("**Which port"), answer.index("**when is")
    assert first < answer.index("port 7070") < second < answer.index("every night at two")
    assert {citation.number for citation in citations_of(events).citations} == {1, 2}


async def test_offline_model_says_for_which_part_it_found_nothing():
    events = await run(offline("Which port does the relay use; who composed fugues?"), "plan_execute")

    # Tried once more, with the words of the whole question.
    assert tasks_and_states(state_of(events))[1:] == [("who composed fugues?", "failed")] * 2
    assert steps_of(events).count("replan") == 1
    assert text_of(events).endswith("No sentence in the documents found answers this.")


async def test_offline_model_abstains_when_no_part_is_found():
    events = await run(offline("谁写了赋格曲；巴黎在哪里？"), "plan_execute")

    assert text_of(events).startswith("当前未配置语言模型")
    assert "**" not in text_of(events)
    assert citations_of(events).citations == ()


@pytest.mark.parametrize("question", ["hello", "你好"])
async def test_offline_model_greets(question):
    events = await run(offline(question), "plan_execute")

    assert results_of(events) == []
    assert "hello" in text_of(events).lower() or "您好" in text_of(events)
