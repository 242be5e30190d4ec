"""The mapping of single log events to the stream of an asynchronous run."""

from itertools import count

import pytest

from agents.agui.encoder import AguiEncoder
from agents.async_runs.event_mapper import EventTranslator, collect_calls
from agents.events import (
    Failed,
    Finished,
    RunEvent,
    RunUsage,
    TextDelta,
    TextEnded,
    TextStarted,
    ThoughtDelta,
    ThoughtEnded,
    ThoughtStarted,
    ToolCallArgs,
    ToolCallEnded,
    ToolCallResult,
    ToolCallStarted,
)
from tests.agents.strategies.helpers import RUN, THREAD, to_wire

DONE = Finished(RunUsage(10, 20))
BROKEN = Failed("LLM_ERROR", "The language model failed", 50201, RunUsage())
TORN = [TextStarted("m1"), TextDelta("m1", "The po"), TextEnded("m1", stopped=True)]
SAID = [TextStarted("m2"), TextDelta("m2", "The port is 7070."), TextEnded("m2")]


def translate(*events: RunEvent, translator: EventTranslator | None = None) -> list[dict]:
    translator = translator or EventTranslator()
    return [event for logged in to_wire(events) for event in translator.translate(logged)]


def answers(events: list[dict]) -> list[tuple[str, str]]:
    return [(e["status"], e["answer"]) for e in events if e["type"] == "TEXT_MESSAGE_END"]


def test_text_before_a_call_is_no_answer():
    events = translate(
        TextStarted("m"), TextDelta("m", "Let me look."), ToolCallStarted("c", "f", "m"),
        TextEnded("m"), ToolCallEnded("c"), ToolCallResult("r", "c", "done"), *SAID, DONE,
    )  # fmt: skip

    assert answers(events) == [("success", "The port is 7070.")]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ((*TORN, Finished(RunUsage(), outcome="cancelled")), [("partial_success", "The po")]),
        ((*TORN, BROKEN), [("failed", "The po")]),
        ((*TORN, *SAID, DONE), [("success", "The port is 7070.")]),
        ((*SAID, BROKEN), [("success", "The port is 7070.")]),
        ((BROKEN,), [("failed", "")]),
        ((DONE,), []),
    ],
)
def test_run_has_one_answer_at_most(events: tuple[RunEvent, ...], expected: list):
    assert answers(translate(*events)) == expected


@pytest.mark.parametrize(
    ("kept", "last", "expected"),
    [
        ([], DONE, []),
        ([], BROKEN, [("failed", "")]),
        ([], Finished(RunUsage(), outcome="cancelled"), []),
        (["m1"], Finished(RunUsage(), outcome="cancelled"), [("partial_success", "The po")]),
    ],
)
def test_what_a_dead_process_had_begun_to_say_is_no_answer(kept: list[str], last: RunEvent, expected: list):
    translator = EventTranslator()
    translate(*TORN, translator=translator)
    messages = [{"id": name, "role": "assistant", "content": "The po"} for name in kept]
    translator.translate({"type": "MESSAGES_SNAPSHOT", "messages": messages})

    assert answers(translate(last, translator=translator)) == expected


def test_thoughts_and_deltas_are_not_told():
    thought = [ThoughtStarted("t"), ThoughtDelta("t", "hm"), ThoughtEnded("t")]

    assert [e["type"] for e in translate(*thought, *SAID[:2])] == ["RUN_STARTED"]


def test_figures_of_the_operator_are_not_told():
    events = translate(*SAID, Finished(RunUsage(123456, 654321, model="secret-model", provider="acme")))

    assert not any(word in str(events) for word in ("123456", "654321", "secret-model", "acme"))


@pytest.mark.parametrize(
    ("pieces", "args", "place"),
    [
        (('{"a": 1}',), {"a": 1}, "TOOL_CALL_ARGS"),
        (('{"a": {"b"', ': "}"}', "}"), {"a": {"b": "}"}}, "TOOL_CALL_ARGS"),
        ((), {}, "TOOL_CALL_END"),
        (('{"a": ',), {}, "TOOL_CALL_END"),
        (("[1]",), {}, "TOOL_CALL_END"),
        (("null",), {}, "TOOL_CALL_END"),
    ],
)
def test_arguments_are_told_whole_and_once(pieces: tuple[str, ...], args: dict, place: str):
    translator = EventTranslator()
    logged = to_wire(
        [
            ToolCallStarted("c", "f", "m"),
            *(ToolCallArgs("c", p) for p in pieces),
            ToolCallEnded("c"),
        ]
    )
    by_entry = [(event["type"], translator.translate(event)) for event in logged]

    ((at, given),) = [(kind, event) for kind, events in by_entry for event in events if "args" in event]
    assert (given["args"], at) == (args, place)


def test_result_of_a_call_of_the_run_before_has_its_name_and_arguments():
    calling = [ToolCallStarted("c", "f", "m"), ToolCallArgs("c", '{"a": 1}'), ToolCallEnded("c")]
    resumed = EventTranslator(collect_calls(to_wire(calling)))
    (_, result) = translate(ToolCallResult("r", "c", "done"), translator=resumed)

    assert (result["tool_name"], result["tool_call_args"]) == ("f", {"a": 1})
    assert (result["status"], result["result"]) == ("success", "done")


def test_parent_run_is_named():
    mapper = AguiEncoder(THREAD, RUN, now=lambda: next(count()))
    (started,) = EventTranslator().translate(mapper.started(parent_run_id="run-0"))

    assert (started["parentRunId"], started["protocolVersion"]) == ("run-0", "1.0")
