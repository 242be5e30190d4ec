"""Strict skills inside runs: one step at a time, in order, each with its own tools."""

import json
from dataclasses import replace
from typing import Any

import pytest

from agents.agui.verifier import verify
from agents.llm.base import ModelMessage, ToolCall
from agents.run_context import ToolRules
from agents.skills.active import ActiveSkill, StrictStep, dump_skill, render_step
from agents.strategies.shared.tool_loop import fit_messages
from skills.strict_mode import body_without_steps, is_strict
from tests.agents.runs.test_recovery import Process, final_view
from tests.agents.skills.helpers import InMemoryLibrary, read, run_skills_of
from tests.agents.skills.test_skills_in_runs import CLOCK, SEARCH, make_inputs, results
from tests.agents.strategies.helpers import RUN, THREAD
from tests.fixtures.skills.stored_skills import CAREFUL

pytestmark = pytest.mark.anyio

LOAD = ["load_skill", {"name": "careful-search"}]
# A call that was made is not made again alike.
HERE, THERE = (["current_time", {"timezone": zone}] for zone in ("UTC", "Asia/Shanghai"))
ALWAYS = {"load_skill", "read_skill_file", "complete_step"}
STAGES = (
    StrictStep("One", "Do one.", ("x",)),
    StrictStep("Two", "Do two.", ("y",)),
    StrictStep("Three", "", None),
)


def done(index: int, evidence: str = "Done.") -> list[Any]:
    return ["complete_step", {"index": index, "evidence": evidence}]


def active(**changes: Any) -> ActiveSkill:
    found = run_skills_of(InMemoryLibrary(CAREFUL)).find("careful-search")
    assert found is not None
    given = {"tools": None, "steps": ("One", "Two", "Three"), "tokens": 1, "chosen": False}
    return ActiveSkill("careful-search", found.ref, "Careful", **{**given, **changes})


def offered_tools(request: Any) -> set[str]:
    return {tool["function"]["name"] for tool in request.body["tools"]} - ALWAYS


async def test_steps_are_shown_one_at_a_time_each_with_its_tools(server, client):
    rounds = [[LOAD], [SEARCH, CLOCK, done(1)], [HERE, SEARCH], [done(2)], [THERE], [done(3)]]
    run_skills = run_skills_of(InMemoryLibrary(CAREFUL))
    given = make_inputs(server, client, run_skills, *rounds)
    loaded, early, clock, second, late, found, third, free, last = await results(given)

    assert "Ask which day it is." in loaded
    assert "Be brief." in loaded
    for later in ("Look up", "Write it", "Search", '"title"'):
        assert later not in loaded, later
    assert early.startswith("The tool search_knowledge_base is not allowed by the active skill")
    assert "weekday" in clock
    assert second.startswith('Step 1 of 3 is done.\n\n<skill_step index="2" of="3" title="Search">')
    assert "Look up the port." in second
    assert "Write it" not in second
    assert late.startswith("The tool current_time is not allowed")
    assert "passages" in found
    assert "Write it down." in third
    assert "weekday" in free
    assert json.loads(last) == {"done": [1, 2, 3], "all_done": True}
    every, *strict = [offered_tools(request) for request in server.requests]
    assert strict == [{"current_time"}, *[{"search_knowledge_base"}] * 2, *[every] * 3]


async def test_tool_beside_a_report_has_to_be_allowed_by_the_step_that_was_read(server, client):
    rounds = [[LOAD], [done(1), SEARCH, CLOCK], [SEARCH], [done(2), HERE]]
    given = make_inputs(server, client, run_skills_of(InMemoryLibrary(CAREFUL)), *rounds)
    _, second, unread, past, found, third, unasked = await results(given)
    assert second.startswith("Step 1 of 3 is done.")
    assert unread.startswith("The tool search_knowledge_base is not allowed")
    assert past.startswith("The tool current_time is not allowed")
    assert "passages" in found
    assert third.startswith("Step 2 of 3 is done.")
    assert unasked.startswith("The tool current_time is not allowed")


async def test_report_out_of_order_or_unseen_or_bare_is_not_taken(server, client):
    rounds = [[LOAD, done(1)], [done(2)], [done(1, " ")], [done(1), done(2)], [done(1, "Again.")]]
    given = make_inputs(server, client, run_skills_of(InMemoryLibrary(CAREFUL)), *rounds)
    _, unseen, skipped, bare, second, hasty, again = await results(given)
    assert "Step 1 was shown only now" in unseen
    assert "Step 1 of careful-search is the current one" in skipped
    assert "Say in evidence" in bare
    assert second.startswith("Step 1 of 3 is done.")
    assert "Step 2 was shown only now" in hasty
    assert "Step 2 of careful-search is the current one" in again


async def test_strict_run_is_taken_up_at_its_step_whatever_became_of_the_skill(server, client):
    rounds = [[LOAD], [SEARCH, done(1, "It is Monday.")], [CLOCK, SEARCH], [done(2)], [done(3)]]
    whole = Process(make_inputs(server, client, run_skills_of(InMemoryLibrary(CAREFUL)), *rounds), "react", [])
    expected = await whole.drive()
    verify(expected, thread_id=THREAD, run_id=RUN)
    assert "It is Monday." in final_view(expected)
    for cut in range(1, len(whole.batches)):
        past = whole.batches[:cut]
        library = InMemoryLibrary(CAREFUL)
        run_skills = run_skills_of(library)
        if any("skill_note" in effect.outcome for batch in past for effect in batch.effects):
            library.skills.clear()
        log = await Process(make_inputs(server, client, run_skills, *rounds), "react", past).drive()
        verify(log, thread_id=THREAD, run_id=RUN)
        assert final_view(log) == final_view(expected), cut


async def test_strict_skill_that_waits_leaves_the_tools_of_its_first_step(server, client):
    given = make_inputs(server, client, run_skills_of(InMemoryLibrary(CAREFUL)), [LOAD, SEARCH, CLOCK])
    refused, clock = await results(replace(given, rules=ToolRules({"load_skill": "ask"})))
    assert refused.startswith("The tool search_knowledge_base is not allowed")
    assert "weekday" in clock


def test_current_step_stands_in_every_exchange_of_the_run():
    run_skills = run_skills_of(InMemoryLibrary(CAREFUL))
    load = ToolCall("a", "load_skill", "{}")
    run_skills.apply(load, f"Text.\n\n{render_step(STAGES, 1)}", {"loaded": dump_skill(active(stages=STAGES))})

    def shown() -> str:
        return run_skills.with_active_skills([ModelMessage("system", ""), ModelMessage("user", "Go")])[-1].content

    assert "Do one." in shown()
    for index, seen in ((1, "Do two."), (2, 'title="Three"'), (3, "All steps are done.")):
        report = {"id": "careful-search", "index": index, "evidence": "E"}
        run_skills.apply(ToolCall("b", "complete_step", "{}"), "", {"step": report})
        assert shown().startswith("Text.")
        assert seen in shown()
        assert "Do one." not in shown()


def test_step_that_a_report_gave_is_never_left_out():
    messages = [ModelMessage("user", "Go")]
    for name, text in (("complete_step", "s" * 90), ("a", "b" * 90), ("a", "c" * 90)):
        call = ToolCall(f"{name}{len(messages)}", name, "{}")
        messages += [
            ModelMessage("assistant", tool_calls=(call,)),
            ModelMessage("tool", text, tool_call_id=call.id),
        ]
    fitted = [message.content for message in fit_messages(100, messages) if message.role == "tool"]
    assert fitted[0] == "s" * 90


@pytest.mark.parametrize(
    ("tools", "stage", "allowed"),
    [
        (None, ("x",), {"x"}),
        (("x", "y"), ("x",), {"x"}),
        (("x", "y"), None, {"x", "y"}),
        (None, None, {"x", "y"}),
        (("x",), (), set()),
    ],
)
def test_step_narrows_what_the_skill_allows(tools, stage, allowed):
    run_skills = run_skills_of(InMemoryLibrary(CAREFUL))
    skill = active(tools=tools, stages=(StrictStep("One", "", stage),), steps=("One",))
    run_skills.apply(ToolCall("a", "load_skill", "{}"), "", {"loaded": dump_skill(skill)})
    assert {tool for tool in ("x", "y") if run_skills.refusal(tool) is None} == allowed


FREE = "---\nname: a\ndescription: d\n{}---\n\nBefore.\n\n# A\n\nText.\n\n## Steps\n\n1. One\n\n## End\n\nE\n\n\n"


@pytest.mark.parametrize(
    ("content", "strict"),
    [
        (CAREFUL, True),
        (CAREFUL.replace("strict: true", "strict: no"), False),
        (CAREFUL.replace("## Metadata\n\n- strict: true", "## 元数据\n\n- 严格：是"), True),
        (FREE.format("metadata:\n  strict: 'true'\n"), True),
        (FREE.format("strict: true\n"), True),
        (FREE.format(""), False),
        ("# SKILL: A\n\n## Description\n\nD\n\n## Metadata\n\n- strict: true\n", False),
    ],
)
def test_author_asks_for_it_among_the_metadata(content, strict):
    assert is_strict(read(content)) is strict


def test_sections_of_steps_are_left_out_and_nothing_else():
    body = body_without_steps(read(FREE.format("")))
    assert body.rstrip("\n") == "\nBefore.\n\n# A\n\nText.\n\n## End\n\nE"
    text = body_without_steps(read(CAREFUL))
    assert text == CAREFUL[: CAREFUL.index("## Steps")] + "## Rules\n\n- Be brief."
