"""Skills inside runs: allowed tools, loads carried out once, and recovery."""

import json
from dataclasses import replace
from typing import Any

import pytest

from agents.agui.verifier import verify
from agents.events import ToolCallResult
from agents.llm.base import ModelMessage, ToolCall
from agents.run_context import RunContext
from agents.skills.active import ActiveSkill, RunTask, SkillVersionRef, dump_skill
from agents.skills.run_skills import MOST_TOKENS
from agents.skills.selection import MOST_LISTED, RunSkillsFactory
from agents.strategies.shared.tool_loop import LEFT_OUT, fit_messages
from agents.tools import build_toolbox
from agents.tools.skill_inputs import inputs_for_skill, resolve_inputs
from core.db.database import Database
from core.db.unit_of_work import unit_of_work
from core.errors.server import EngineUnavailable
from skills.selection.selector import SkillSelector
from skills.store.summary import make_card
from tests.agents.fakes import InMemoryRetriever, scope_of
from tests.agents.runs.helpers import make_request
from tests.agents.runs.test_recovery import Process, final_view
from tests.agents.skills.helpers import InMemoryLibrary, read, run_skills_of
from tests.agents.strategies.helpers import RELAY, RUN, THREAD, inputs
from tests.fixtures.database.rows import add_user
from tests.fixtures.skills.stored_skills import FILES, REPORT, REVIEW, put_skill

pytestmark = pytest.mark.anyio

LOAD_REVIEW = ["load_skill", {"name": "code-review"}]
LOAD_REPORT = ["load_skill", {"name": "daily-report", "inputs": {"team": "Relay"}}]
SEARCH = ["search_knowledge_base", {"query": "port"}]
CLOCK = ["current_time", {}]
NARROW = REVIEW.replace("Code review", "Narrow") + "\n## Tools\n\n- none\n"


def make_inputs(server: Any, client: Any, run_skills: Any, *rounds: Any, chosen: int = 0) -> RunContext:
    question = f"Go. #rounds {json.dumps({'rounds': rounds, 'chosen': chosen})}"
    retriever = InMemoryRetriever((RELAY,))
    return inputs(server, client, "rounds", question=question, retriever=retriever, skills=run_skills)


async def results(given: RunContext, agent_type: str = "react") -> list[str]:
    process = Process(given, agent_type, [])
    verify(await process.drive(), thread_id=THREAD, run_id=RUN)
    events = [event for batch in process.batches for event in batch.events]
    return [event.content for event in events if isinstance(event, ToolCallResult)]


def skill(key: str, *tools: str, chosen: bool = False, tokens: int = 10) -> ActiveSkill:
    library = InMemoryLibrary(REVIEW.replace("Code review", key))
    (offered,) = [run_skills_of(library).find(key)]
    assert offered is not None
    return ActiveSkill(key, offered.ref, key, tools, (), tokens, chosen)


async def test_run_taken_up_anywhere_loads_no_skill_twice_and_ends_alike(server, client):
    rounds = [
        [LOAD_REPORT, SEARCH],
        [CLOCK, ["complete_step", {"index": 1}]],
        [LOAD_REPORT, ["complete_step", {"index": 2}]],
    ]
    library = InMemoryLibrary(REPORT, REVIEW)
    whole = Process(make_inputs(server, client, run_skills_of(library), *rounds), "react", [])
    expected = await whole.drive()
    verify(expected, thread_id=THREAD, run_id=RUN)
    assert [kind for kind, *_ in library.records] == ["offered", "loaded", "denied", "completed"]

    for cut in range(1, len(whole.batches)):
        past = whole.batches[:cut]
        changed = InMemoryLibrary(REPORT.replace("Write it", "Write it otherwise"), REVIEW)
        done = {effect.key for batch in past for effect in batch.effects if effect.status == "done"}
        has_loaded = any("skill_note" in e.outcome for batch in past for e in batch.effects)
        # What was loaded stays as it was; a skill that was not is still the same here.
        used = changed if has_loaded else InMemoryLibrary(REPORT, REVIEW)
        again = Process(make_inputs(server, client, run_skills_of(used), *rounds), "react", past)
        log = await again.drive()
        verify(log, thread_id=THREAD, run_id=RUN)
        assert final_view(log) == final_view(expected), (cut, done)
        assert ("loaded", "daily-report") not in used.records or not has_loaded


async def test_tools_are_refused_in_the_turn_that_loads_the_skill(server, client):
    library = InMemoryLibrary(NARROW)
    given = make_inputs(server, client, run_skills_of(library), [SEARCH, ["load_skill", {"name": "narrow"}]])
    loaded, refused = await results(given)
    assert loaded.startswith('<skill_content name="narrow"')
    assert refused.startswith("The tool search_knowledge_base is not allowed by the active skill")
    assert ("denied", "search_knowledge_base", "narrow") in library.records
    offered = {tool["function"]["name"] for tool in server.requests[1].body["tools"]}
    assert offered == {"load_skill", "read_skill_file", "complete_step"}


async def test_a_skill_that_names_no_tools_takes_none_away(server, client):
    library = InMemoryLibrary(REVIEW)
    _, found = await results(make_inputs(server, client, run_skills_of(library), [SEARCH, LOAD_REVIEW]))
    assert "passages" in found


async def test_pattern_that_cant_be_enforced_is_refused_and_never_widened():
    for name, tools in (("some", ("current_time(zone:*)", "cur*time")), ("none", ())):
        run_skills = run_skills_of(InMemoryLibrary(REVIEW))
        run_skills.apply(ToolCall("c", "load_skill", "{}"), "", {"loaded": dump_skill(skill(name, *tools))})
        box = build_toolbox(scope_of(retriever=InMemoryRetriever(), skills=run_skills))
        assert "current_time" not in box, name
        assert "search_knowledge_base" not in box, name
        assert "load_skill" in box, name
        refused = await box.call("current_time", "{}")
        assert not refused.ran
        assert refused.content.startswith("The tool current_time is not allowed")


@pytest.mark.parametrize(
    ("active", "allowed"),
    [
        ([skill("a", "x"), skill("b", "y")], {"x", "y"}),
        ([skill("a", "x", chosen=True), skill("b", "y")], {"x"}),
        ([skill("a", "x", chosen=True), skill("b", "y", chosen=True)], {"x", "y"}),
        ([skill("a"), skill("b", "y")], {"y"}),
        ([skill("a", "mcp__x__*")], {"mcp__x__z"}),
    ],
)
def test_tools_of_several_skills_are_joined_but_a_persons_choice_dominates(active, allowed):
    run_skills = run_skills_of(InMemoryLibrary(REVIEW))
    for number, one in enumerate(active):
        run_skills.apply(ToolCall(str(number), "load_skill", "{}"), "", {"loaded": dump_skill(one)})
    assert {tool for tool in ("x", "y", "z", "mcp__x__z", "mcp__y__z") if run_skills.refusal(tool) is None} == allowed


async def test_a_run_works_by_three_loaded_skills_at_most(server, client):
    contents = [REVIEW.replace("Code review", name) for name in ("One", "Two", "Three", "Four")]
    library = InMemoryLibrary(*contents)
    loads = [[["load_skill", {"name": name}]] for name in ("one", "two", "three", "four", "one")]
    told_of = await results(make_inputs(server, client, run_skills_of(library), *loads))
    assert "No room" in told_of[3]
    assert sum(text.startswith("<skill_content") for text in told_of) == 3


async def test_a_skill_too_long_for_a_run_is_not_loaded(server, client):
    long = REVIEW + "\n## Notes\n\n" + "word " * (MOST_TOKENS * 2)
    library = InMemoryLibrary(long)
    (refused,) = await results(make_inputs(server, client, run_skills_of(library), [LOAD_REVIEW]))
    assert "No room" in refused


async def test_loaded_skill_is_never_left_out_of_a_long_exchange():
    def exchange(name: str, number: int, text: str) -> list[ModelMessage]:
        call = ToolCall(str(number), name, "{}")
        return [
            ModelMessage("assistant", tool_calls=(call,)),
            ModelMessage("tool", text, tool_call_id=call.id),
        ]

    messages = [ModelMessage("user", "Go"), *exchange("load_skill", 0, "s" * 500)]
    for number in range(1, 4):
        messages += exchange("search_knowledge_base", number, "p" * 80)
    fitted = [message.content for message in fit_messages(100, messages) if message.role == "tool"]
    assert fitted == ["s" * 500, LEFT_OUT, LEFT_OUT, "p" * 80]


async def test_chosen_skills_stand_behind_the_question_in_every_turn(server, client):
    library = InMemoryLibrary(REVIEW)
    given = make_inputs(server, client, run_skills_of(library, chosen=["code-review"]), [CLOCK], chosen=1)
    await results(given)
    for request in server.requests:
        roles = [message["role"] for message in request.body["messages"]]
        assert roles[:4] == ["system", "user", "assistant", "tool"]
        assert "<skill_content" not in request.body["messages"][0]["content"]


async def test_texts_of_skills_and_errors_are_data():
    run_skills = run_skills_of(InMemoryLibrary(REVIEW, files=FILES))
    box = build_toolbox(scope_of(skills=run_skills))
    missing = await box.call("load_skill", '{"name": "code-revue"}')
    assert json.loads(missing.content)["did_you_mean"] == ["code-review"]
    extra = '{"name": "code-review", "inputs": {"team": "x"}}'
    assert "not declared" in (await box.call("load_skill", extra)).content
    page = await box.call("read_skill_file", '{"name": "code-review", "path": "references/hours.md", "limit": 25}')
    read_page = json.loads(page.content)
    assert read_page["text"].encode() == FILES["references/hours.md"][: read_page["next_offset"]]


def test_inputs_come_from_the_request_then_the_model_then_their_defaults():
    schema = read(REPORT).input_schema
    given = resolve_inputs(schema, {"team": "R", "other": 1}, {"team": "M", "tone": "long"})
    assert given.values == {"team": "R", "tone": "long"}
    assert resolve_inputs(schema, {}, {"team": "M"}).values == {"team": "M", "tone": "brief"}
    assert resolve_inputs(schema, {}, {}).missing == ("team",)
    # A person gave it wrongly, so a person is asked; the model mends its own faults.
    assert resolve_inputs(schema, {"team": 7}, {}).missing == ("team",)
    assert resolve_inputs(schema, {}, {"team": 7}).faults
    own = {"daily-report": {"team": "own"}, "team": "all"}
    assert inputs_for_skill(["id", "ann/daily-report", "daily-report"], schema, own)["team"] == "own"
    assert inputs_for_skill(["id", "code-review"], schema, own)["team"] == "all"
    assert inputs_for_skill(["daily-report", "id"], schema, {**own, "id": {"team": "id"}}) == {
        **own,
        "id": {"team": "id"},
        "team": "own",
    }


async def test_skill_that_is_loaded_again_is_told_once_and_asks_for_nothing(server, client):
    library = InMemoryLibrary(REPORT)
    again = ["load_skill", {"name": "daily-report"}]
    first, second = await results(make_inputs(server, client, run_skills_of(library), [LOAD_REPORT], [again]))
    assert first.startswith("<skill_content")
    assert second == "The skill daily-report is loaded already: its text stands above."
    assert library.records[1:] == [("loaded", "daily-report")]


@pytest.mark.parametrize("agent_type", ["agentic_rag", "plan_execute", "reflexion", "worker"])
async def test_other_types_with_chosen_skills_are_taken_up_though_nobody_may_use_these_now(server, client, agent_type):
    def given(library: InMemoryLibrary) -> RunContext:
        run_skills = run_skills_of(library, chosen=["code-review"])
        return replace(make_inputs(server, client, run_skills, [], chosen=1), retriever=None)

    whole = Process(given(InMemoryLibrary(REVIEW)), agent_type, [])
    expected = await whole.drive()
    verify(expected, thread_id=THREAD, run_id=RUN)
    for cut in range(2, len(whole.batches)):
        emptied = InMemoryLibrary(REVIEW)
        process = Process(given(emptied), agent_type, whole.batches[:cut])
        emptied.skills.clear()
        log = await process.drive()
        verify(log, thread_id=THREAD, run_id=RUN)
        assert final_view(log) == final_view(expected), cut


def test_run_keeps_to_the_version_that_it_loaded_when_it_is_taken_up():
    run_skills = run_skills_of(InMemoryLibrary(REVIEW))
    loaded = replace(skill("code-review"), ref=SkillVersionRef("code-review", 7, "old"))
    run_skills.apply(ToolCall("c", "load_skill", "{}"), "", {"loaded": dump_skill(loaded)})
    found = run_skills.find("code-review")
    assert found is not None
    assert found.ref.version == 7


async def test_agentic_rag_loads_a_skill_before_it_searches(server, client):
    library = InMemoryLibrary(REVIEW)
    given = make_inputs(server, client, run_skills_of(library), [LOAD_REVIEW], [SEARCH])
    loaded, found = (await results(given, "agentic_rag"))[:2]
    assert loaded.startswith("<skill_content")
    assert "passages" in found
    last = server.requests[-1].body["messages"]
    assert any("<skill_content" in str(message["content"]) for message in last)


async def test_agentic_rag_without_documents_goes_the_same_way_when_skills_came_since(server, client):
    bare = replace(make_inputs(server, client, None), retriever=None)
    whole = Process(bare, "agentic_rag", [])
    expected = await whole.drive()
    for cut in range(1, len(whole.batches)):
        later = replace(make_inputs(server, client, run_skills_of(InMemoryLibrary(REVIEW))), retriever=None)
        log = await Process(later, "agentic_rag", whole.batches[:cut]).drive()
        verify(log, thread_id=THREAD, run_id=RUN)
        assert final_view(log) == final_view(expected), cut


class BrokenEncoder:
    """Gives no answer."""

    name, dimension, languages = "broken", 3, frozenset({"en"})

    async def embed_queries(self, texts: Any) -> Any:
        raise EngineUnavailable

    embed_passages = embed_queries


async def test_skills_are_ranked_by_their_words_while_the_engine_gives_no_answer(
    database: Database,
):
    async with unit_of_work(database) as work:
        owner = await add_user(work)
        for number in range(MOST_LISTED):
            chore = f"# SKILL: Chore {number}\n\n## Description\n\nA chore of the house.\n"
            await put_skill(work, owner.id, chore)
        await put_skill(work, owner.id, REVIEW)
    request = make_request("Please review this code.")
    task = RunTask("task", owner.id)
    use = RunSkillsFactory(database, BrokenEncoder())
    run_skills = await use.build(task, request, context_window=128_000)
    assert run_skills is not None
    assert "code-review" in run_skills.index.slugs
    assert run_skills.index.omitted == 1
    assert [one.key for one in await run_skills.rank("review code", 1)] == ["code-review"]


class FailingSelector(SkillSelector):
    async def rank(self, query: str) -> Any:
        raise EngineUnavailable


async def test_skills_are_found_by_their_words_when_the_engine_fails_later():
    library = InMemoryLibrary(REVIEW, REPORT)
    run_skills = run_skills_of(library)
    run_skills._selector = FailingSelector([make_card(one, slug) for slug, one in library.skills.items()])
    assert [one.key for one in await run_skills.rank("review code", 1)] == ["code-review"]


async def test_index_takes_its_share_of_what_the_model_reads(database: Database):
    async with unit_of_work(database) as work:
        owner = await add_user(work)
        for number in range(12):
            chore = f"# SKILL: Chore {number}\n\n## Description\n\n{'A chore. ' * 40}\n"
            await put_skill(work, owner.id, chore)
    task, use = RunTask("task", owner.id), RunSkillsFactory(database)
    for window, most in ((32_768, 2_621), (8_192, 655), (1_000_000, 8_000)):
        run_skills = await use.build(task, make_request("Hello"), context_window=window)
        assert run_skills is not None
        assert most / 2 < len(run_skills.index.text) <= most
