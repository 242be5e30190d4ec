"""Properties of asynchronous runs: any log cut anywhere, any Markdown, any text of a tool."""

import asyncio
import json

import orjson
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from agents.async_runs.answer_summary import FinalAnswer, summarize
from agents.async_runs.event_mapper import EventTranslator, read_outcome
from agents.async_runs.thread_stream import ThreadEvent, translate_entries
from agents.async_runs.ui_schema import UiSchemaRenderer, compile_ui_schema
from agents.event_log import LogEntry
from agents.events import StepFinished, StepStarted, ToolCallArgs
from tests.agents.agui.test_wire_properties import citations, runs, terminals, texts, through_channel
from tests.agents.strategies.helpers import RUN, THREAD, to_wire
from tests.fixtures.runs.async_runs import check_keys

CARD = Draft202012Validator(UiSchemaRenderer.model_json_schema())
STEPS = ("router", "worker", "think")
objects = st.dictionaries(texts, st.integers() | texts | st.lists(texts, max_size=2), max_size=3)
pieces = st.sampled_from(
    ["# h\n", "\n", "\n\n", "- a\n", "  - b\n", "1. x\n", "> q ", "| a | b |\n|---|---|\n| 1 |\n", "```\n",
     "**b**", "[x](https://a.b)", "[x](javascript:y)", "<b>", "<script>alert(1)</script>", "&amp;", "?", "。",
     "[1]", "![i](http://x/y.png)", "\\", "---\n", "    code\n", "next steps:\n\n", "\0", "\u2028"]
)  # fmt: skip
markdown = st.lists(pieces | st.text(max_size=30), max_size=30).map("".join)
marks = st.sets(st.sampled_from(["stopped", "truncated", "ended_by", "citations"])).map(frozenset)
answers = st.builds(
    FinalAnswer,
    text=markdown,
    citations=st.lists(citations.map(lambda c: c.to_json()), max_size=3).map(tuple),
    marks=marks,
    tools=st.sets(st.sampled_from(["search_knowledge_base", "calendar_write"])).map(frozenset),
    failure=st.none() | texts,
)


@st.composite
def logs(draw: st.DrawFn) -> list[LogEntry]:
    """The log of a whole run: steps of all names, arguments in any pieces or none at all."""
    events = []
    for event in draw(runs()):
        match event:
            case StepStarted():
                name = draw(st.sampled_from(STEPS))
                events.append(StepStarted(name))
            case StepFinished():
                events.append(StepFinished(name))
            case ToolCallArgs(call_id) if draw(st.booleans()):
                text = json.dumps(draw(objects), ensure_ascii=False)
                cut = draw(st.integers(0, len(text)))
                events += [ToolCallArgs(call_id, text[:cut]), ToolCallArgs(call_id, text[cut:])]
            case _:
                events.append(event)
    cut = draw(st.integers(0, len(events)))
    sent = asyncio.run(through_channel(events[:cut], draw(terminals)))
    return [
        LogEntry(seq, str(event["type"]), orjson.dumps(event).decode())
        for seq, event in enumerate(to_wire(sent), start=1)
    ]


def frames(entries: list[LogEntry], *, after: int = 0, part: int = 0, batch: int = 500) -> list[ThreadEvent]:
    """What a reader gets of a log that is read in batches."""
    translator = EventTranslator()
    return [
        frame
        for start in range(0, len(entries), batch)
        for frame in translate_entries(translator, RUN, entries[start : start + batch], after, part)
    ]


@given(logs(), st.data(), st.integers(1, 5))
def test_stream_taken_up_behind_any_event_is_the_whole_one(entries, data, batch):
    whole = frames(entries)
    cut = data.draw(st.integers(0, len(whole)))
    got = whole[:cut]
    after, part = (got[-1].seq, got[-1].part) if got else (0, 0)

    assert got + frames(entries, after=after, part=part, batch=batch) == whole


@given(logs())
def test_stream_can_be_taken_up_at_any_number_of_the_log(entries):
    whole = frames(entries)
    for after in range(len(entries) + 1):
        rest = frames(entries, after=after)
        assert rest == whole[len(whole) - len(rest) :]


@given(logs())
def test_events_are_whole_and_in_order(entries):
    whole = frames(entries)
    events = [frame.event for frame in whole]
    numbers = [(frame.seq, frame.part) for frame in whole]

    check_keys(events)
    assert all((e["threadId"], e["runId"]) == (THREAD, RUN) for e in events)
    assert numbers == sorted(set(numbers))
    assert whole[-1].seq == len(entries)
    assert events[0]["type"] == "RUN_STARTED"
    assert events[-1]["type"] in {"RUN_FINISHED", "RUN_ERROR"}
    assert sum(e["type"].startswith("RUN_") for e in events) == 2


@given(logs())
def test_steps_and_calls_are_balanced(entries):
    events = [frame.event for frame in frames(entries)]
    steps = [e for e in events if e["type"].startswith("STEP_")]
    is_over = events[-1]["type"] == "RUN_FINISHED"
    for begun, ended in zip(steps[::2], steps[1::2], strict=False):
        assert (begun["type"], ended["type"]) == ("STEP_STARTED", "STEP_FINISHED")
        assert begun["stepName"] == ended["stepName"]
        assert begun["stepName"] in {"router", "worker"}
    assert len(steps) % 2 == 0 or not is_over
    for begun in (e for e in events if e["type"] == "TOOL_CALL_START"):
        of_call = [e["type"] for e in events if begun["toolCallId"] in (e.get("toolCallId"), e.get("tool_call_id"))]
        assert of_call == ["TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_RESULT"]


@given(logs())
def test_failure_is_told_by_an_answer_unless_there_was_one(entries):
    events = [frame.event for frame in frames(entries)]
    answers = [e for e in events if e["type"] == "TEXT_MESSAGE_END"]
    if events[-1]["type"] == "RUN_ERROR":
        assert answers
    for answer in answers:
        assert (answer["status"] == "failed") == (answer["error"] is not None)
        assert (answer["status"] == "failed") == (answer["result_type"] == "error_report")


def texts_in(node):
    """All texts that a card shows."""
    match node:
        case dict():
            return [text for value in node.values() for text in texts_in(value)]
        case list():
            return [text for value in node for text in texts_in(value)]
        case str():
            return [node]
    return []


def nodes_of(node):
    yield node
    for child in node.get("children", ()):
        yield from nodes_of(child)


@given(answers)
def test_card_of_any_answer_fits_its_schema(answer):
    card = compile_ui_schema(summarize(answer))

    CARD.validate(card)
    assert card == compile_ui_schema(summarize(answer))
    nodes = list(nodes_of(card["root"]))
    assert {n["type"] for n in nodes} <= {
        "stack", "text", "badge", "list", "table", "link", "citation",
    }  # fmt: skip
    assert nodes[1]["role"] == "title"
    assert nodes[2]["type"] == "badge"
    assert all(n["url"].lower().startswith(("http://", "https://")) for n in nodes if "url" in n)
    assert all(len(n["rows"][0]) == len(n["columns"]) for n in nodes if n.get("rows"))


@given(answers)
def test_report_says_what_the_answer_came_to(answer):
    report = summarize(answer)

    assert (report.status == "failed") == (answer.failure is not None)
    assert len(report.key_points) <= 12
    assert all(point and len(point) <= 400 for point in report.key_points)
    assert not (report.result_type == "clarification" and report.key_points)


@given(st.text() | objects.map(json.dumps) | st.just('{"passages": [1, {"text": 2}]}'))
def test_result_of_any_tool_can_be_told(content):
    outcome = read_outcome(content)

    assert (outcome.error is None) == (outcome.status != "failure")
    assert len(outcome.result) <= 4000
