"""Summaries of answers and of tool results for asynchronous runs."""

import asyncio
import json

import pytest
from pydantic import BaseModel

from agents.agui.close_open import closing_events
from agents.async_runs.answer_summary import FinalAnswer, summarize
from agents.async_runs.event_mapper import read_outcome
from agents.async_runs.markdown_blocks import read_blocks
from agents.async_runs.ui_schema import compile_ui_schema
from agents.events import Failed, Finished, RunUsage, ToolCallEnded, ToolCallResult, ToolCallStarted
from agents.evidence import Citation, Evidence
from agents.llm.extractive.model import CHINESE, ENGLISH
from agents.runs.resume import NO_RESULT
from agents.strategies.shared.event_channel import EventChannel
from agents.strategies.shared.tool_calls import LATE_CALL, UNKNOWN_OUTCOME
from agents.tools import current_time, read_document, search_knowledge_base
from agents.tools.approval import DECLINED
from agents.tools.base import Tool, Toolbox, with_validation
from agents.tools.save_memory import CONFIDENTIAL, NOT_SAID
from core.errors.auth import KnowledgeBaseNotFound
from tests.agents.fakes import InMemoryRetriever, passage, scope_of
from tests.agents.strategies.helpers import to_wire

ANSWER = """# The relay

It listens on **7070** [1], see [the page](https://example.com/relay).

- logs: thirty days [1]
  - in the vault
- backups: nightly

Next steps:

1. check the port
2. call Ann

| port | use |
|---|---|
| 7070 | relay |
"""
CITED = Citation(1, "c", "d", "relay.md", "kb", 1, ("Setup", "Port"), 3, 0, 4, "listens on 7070")


def test_markdown_is_read_into_blocks():
    kinds = [block.kind for block in read_blocks(ANSWER)]

    assert kinds == ["heading", "paragraph", "list", "paragraph", "list", "table"]
    assert read_blocks(ANSWER)[1].text == "It listens on 7070 [1], see the page."
    assert read_blocks(ANSWER)[2].items == (
        "logs: thirty days [1]\nin the vault",
        "backups: nightly",
    )


def test_lists_are_key_points_unless_they_say_what_to_do():
    report = summarize(FinalAnswer(ANSWER, citations=(CITED.to_json(),)))

    assert report.key_points == ("logs: thirty days [1]\nin the vault", "backups: nightly")
    assert report.suggested_actions == ("check the port", "call Ann")
    assert (report.status, report.result_type) == ("success", "execution_report")


def test_quotes_are_the_points_of_an_answer_without_lists():
    report = summarize(FinalAnswer("Quoted.\n\n> Port 7070. [1]\n\n> Logs stay. [2]"))

    assert report.key_points == ("Port 7070. [1]", "Logs stay. [2]")


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (FinalAnswer("Done."), "execution_report"),
        (FinalAnswer(""), "unknown"),
        (FinalAnswer(" \n"), "unknown"),
        (FinalAnswer("Which one do you mean? [1]"), "clarification"),
        (FinalAnswer("**您指的是哪一个？**"), "clarification"),
        (FinalAnswer("Which one?\n\n- the relay\n- the vault"), "clarification"),
        (FinalAnswer("Is it late? Yes."), "execution_report"),
        (FinalAnswer("I found nothing.", tools=frozenset({"search_knowledge_base"})), "clarification"),
        (FinalAnswer("Port 1 [1].", (CITED.to_json(),), tools=frozenset({"read_document"})), "execution_report"),
        (FinalAnswer("Booked.", tools=frozenset({"read_document", "calendar_write"})), "execution_report"),
        (FinalAnswer(ENGLISH.abstained), "clarification"),
        (FinalAnswer(CHINESE.no_knowledge_base), "clarification"),
        (FinalAnswer("Half", failure="The language model failed"), "error_report"),
        (FinalAnswer("", failure="语言模型调用失败"), "error_report"),
    ],
)  # fmt: skip
def test_kind_of_result_follows_from_the_answer(answer: FinalAnswer, kind: str):
    assert summarize(answer).result_type == kind


@pytest.mark.parametrize(
    ("marks", "status"),
    [(set(), "success"), ({"citations"}, "success"), ({"invalid_citations"}, "success"),
     ({"stopped"}, "partial_success"), ({"truncated"}, "partial_success"),
     ({"ended_by"}, "partial_success")],
)  # fmt: skip
def test_answer_that_was_cut_is_a_partial_success(marks: set[str], status: str):
    assert summarize(FinalAnswer("Port 7070.", marks=frozenset(marks))).status == status


def test_choices_of_a_question_are_what_to_do_next():
    report = summarize(FinalAnswer("Which one?\n\n- the relay\n- the vault"))

    assert report.suggested_actions == ("the relay", "the vault")
    assert report.key_points == ()


@pytest.mark.parametrize(("failure", "action"), [("It failed", "Send"), ("模型失败", "请")])
def test_failure_says_what_to_do_in_its_language(failure: str, action: str):
    assert summarize(FinalAnswer("", failure=failure)).suggested_actions[0].startswith(action)


def test_card_shows_every_part_of_an_answer():
    card = compile_ui_schema(summarize(FinalAnswer(ANSWER, citations=(CITED.to_json(),))))

    assert (card["version"], card["locale"], card["theme"]) == ("2.0", "en-US", "default")
    title, badge, body, points, lead, actions, table, sources, links = card["root"]["children"]
    assert title == {"type": "text", "content": "The relay", "role": "title"}
    assert badge == {"type": "badge", "label": "SUCCESS", "status": "success"}
    assert (body["role"], lead["role"]) == ("body", "body")
    assert (points["role"], actions["role"], actions["ordered"]) == ("key_points", "actions", True)
    assert (table["columns"], table["rows"]) == (["port", "use"], [["7070", "relay"]])
    assert sources["children"] == [
        {"type": "text", "content": "Sources", "role": "caption"},
        {
            "type": "citation",
            "number": 1,
            "label": "relay.md › Setup › Port",
            "quote": "listens on 7070",
            "documentId": "d",
            "knowledgeBaseId": "kb",
            "page": 3,
        },
    ]
    assert links["children"][1] == {
        "type": "link",
        "label": "the page",
        "url": "https://example.com/relay",
    }


def test_card_of_a_failure_says_why_and_what_to_do():
    card = compile_ui_schema(summarize(FinalAnswer("", failure="The model failed")))

    shown = json.dumps(card)
    assert card["status"] == "error"
    assert "The model failed" in shown
    assert "Send the question again" in shown


@pytest.mark.parametrize(
    "markdown",
    ["[x](javascript:alert(1))", "[x](data:text/html,hi)", "<a href='http://x'>x</a>",
     "![x](http://tracker/x.png)", "[x](/local)", f"[x](https://a/{'y' * 2000})"],
)  # fmt: skip
def test_card_links_to_the_web_only_and_loads_nothing(markdown: str):
    assert '"link"' not in json.dumps(compile_ui_schema(summarize(FinalAnswer(markdown))))


def test_card_is_bounded_however_long_the_answer_is():
    paragraphs = "\n\n".join(["word " * 100] * 5000)
    table = "|a" * 50 + "|\n" + "|-" * 50 + "|\n" + "|b|\n" * 500
    for text in (paragraphs, "x\n\n" * 9000, table, "- x\n" * 9000, "[l](https://a.b/?q) " * 5000):
        assert len(json.dumps(compile_ui_schema(summarize(FinalAnswer(text))))) < 60_000


# --- the words that stand for a result ---------------------------------------------------------


class Nothing(BaseModel):
    pass


def tool(run: object, **fields: object) -> Toolbox:
    return Toolbox([Tool("f", "", {}, with_validation(Nothing, run), **fields)])  # type: ignore[arg-type]


async def hang(_: Nothing) -> str:
    await asyncio.Event().wait()
    raise AssertionError


async def refuse(_: Nothing) -> str:
    raise KnowledgeBaseNotFound


async def crash(_: Nothing) -> str:
    raise RuntimeError


async def long(_: Nothing) -> str:
    return "x" * 100


@pytest.mark.anyio
async def test_every_failure_of_a_tool_is_told_as_one():
    scope = scope_of(top_k=3, retriever=InMemoryRetriever((passage("x", id="x"),)), documents=object())
    reading = Toolbox([*read_document.tools(scope), *search_knowledge_base.tools(scope)])
    clock = Toolbox(current_time.tools(scope))
    failures = [
        await tool(long).call("g", "{}"),
        await tool(hang, timeout_seconds=0.01).call("f", "{}"),
        await tool(refuse).call("f", "{}"),
        await tool(crash).call("f", "{}"),
        await tool(long, approval="ask").call("f", "{}"),
        await tool(long, approval="never").call("f", "{}"),
        await reading.call("search_knowledge_base", '{"query": 7}'),
        await reading.call("read_document", '{"passage": 9}'),
        await clock.call("current_time", '{"timezone": "Mars"}'),
    ]

    sentences = (DECLINED, LATE_CALL, UNKNOWN_OUTCOME, NO_RESULT, NOT_SAID, CONFIDENTIAL)
    for content in (*(output.content for output in failures), *sentences):
        outcome = read_outcome(content)
        assert (outcome.status, outcome.result) == ("failure", "")
        assert outcome.error == content


@pytest.mark.anyio
@pytest.mark.parametrize(
    "terminal",
    [Finished(RunUsage(), outcome="cancelled"), Failed("LLM_ERROR", "x", 50201, RunUsage())],
)
async def test_calls_that_nobody_answered_are_told_as_failures(terminal: Finished | Failed):
    begun = [ToolCallStarted("c", "f", "m"), ToolCallEnded("c")]
    channel = EventChannel()
    for event in begun:
        channel.emit(event)
    channel.finish(terminal)
    batch = (await channel.read())[0]
    (told,) = [event for event in batch.events if isinstance(event, ToolCallResult)]
    (closed,) = closing_events(to_wire(begun), now=lambda: 0)

    for content in (told.content, str(closed["content"])):
        assert read_outcome(content).status == "failure"


@pytest.mark.anyio
async def test_result_that_was_cut_is_partial():
    output = await tool(long, output_characters=10).call("f", "{}")
    assert read_outcome(output.content).status == "partial"
    assert read_outcome("x" * 5000).status == "partial"


def test_passages_are_told_by_where_they_stand():
    evidence = Evidence()
    numbers = evidence.add([passage("secret text", id="a")], query="q")
    outcome = read_outcome(evidence.text(numbers, limit=1000, retrieval_id="r"))

    facts = json.loads(outcome.result)
    assert (outcome.status, facts["count"], facts["retrieval_id"]) == ("success", 1, "r")
    assert facts["passages"][0]["number"] == 1
    assert "secret" not in outcome.result


@pytest.mark.parametrize("content", ['{"id": 1, "status": "created"}', "done", "[]", "7", "null"])
def test_other_results_are_given_as_they_are(content: str):
    assert read_outcome(content).result == content
    assert read_outcome(content).status == "success"
