"""The messages that a run leaves in its session, from its wire events."""

import pytest
from hypothesis import given

from agents.agui.transcript import Transcript
from agents.events import (
    RunEvent,
    TextDelta,
    TextEnded,
    TextStarted,
    ThoughtDelta,
    ThoughtStarted,
    ToolCallArgs,
    ToolCallResult,
    ToolCallStarted,
)
from agents.evidence import Citation
from tests.agents.agui.test_wire_properties import runs
from tests.agents.strategies.helpers import text_of, to_wire

CITATION = Citation(1, "c", "d", "guide.md", "kb", 1, ("Setup",), None, 0, 4, "text")


def transcript_of(*events: RunEvent) -> Transcript:
    transcript = Transcript()
    for event in to_wire(events):
        transcript.observe(event)
    return transcript


def test_message_keeps_its_marks():
    message = transcript_of(
        TextStarted("m"), TextDelta("m", "8000 [1] [7]"), TextEnded("m", (CITATION,), (7,), True)
    ).messages[0]

    assert message.content == "8000 [1] [7]"
    assert message.details == {
        "citations": [CITATION.to_json()],
        "invalid_citations": [7],
        "stopped": True,
    }


def test_message_that_ended_well_is_not_marked():
    message = transcript_of(TextStarted("m"), TextDelta("m", "x"), TextEnded("m")).messages[0]

    assert message.details == {"citations": []}


def test_message_that_never_ended_counts_as_stopped():
    message = transcript_of(TextStarted("m"), TextDelta("m", "x")).messages[0]

    assert message.details == {"citations": [], "stopped": True}


def test_message_without_text_is_left_out():
    assert transcript_of(TextStarted("m"), TextEnded("m")).messages == []


def test_thoughts_and_calls_are_told_in_their_order():
    metadata = transcript_of(
        ToolCallStarted("a", "first", "m"),
        ToolCallResult("ra", "a", "plain text"),
        ThoughtStarted("t"),
        ThoughtDelta("t", "hm"),
        ToolCallStarted("b", "second", "m"),
        ToolCallArgs("b", '{"n": 1}'),
        ToolCallResult("rb", "b", "[1]"),
    ).metadata()

    assert metadata["thinking"] == [
        {"type": "action", "tool": "first", "input": {}},
        {"type": "thought", "content": "hm"},
        {"type": "action", "tool": "second", "input": {"n": 1}},
    ]
    outputs = [(call["tool"], call["output"]) for call in metadata["tool_calls"]]
    assert outputs == [("first", "plain text"), ("second", [1])]


def test_duration_is_the_time_between_call_and_result():
    # The clock of these events moves on by one with each.
    calls = transcript_of(
        ToolCallStarted("a", "f", "m"), ToolCallArgs("a", "{}"), ToolCallResult("r", "a", "x")
    ).metadata()["tool_calls"]

    assert calls == [{"tool": "f", "input": {}, "output": "x", "duration": 2}]


def test_character_that_no_database_holds_is_replaced():
    message = transcript_of(TextStarted("m"), TextDelta("m", "a\0b"), TextEnded("m")).messages[0]

    assert message.content == "a\ufffdb"


@pytest.mark.parametrize(
    ("said", "carried"),
    [
        ((), ["search", "confirm"]),
        ((TextStarted("m"), TextDelta("m", "I will look."), TextEnded("m")), ["confirm"]),
    ],
)
def test_what_no_message_tells_is_carried_over_to_the_next_run(said, carried):
    earlier = transcript_of(
        *said,
        ToolCallStarted("c1", "search", "m"),
        ToolCallResult("r1", "c1", "null"),
        ToolCallStarted("c2", "confirm", "m"),
    )
    transcript = Transcript()
    transcript.carry_over(earlier, is_told=bool(earlier.messages))
    transcript.observe({"type": "RUN_STARTED", "timestamp": 1_800_000_000_000})
    result = {"type": "TOOL_CALL_RESULT", "toolCallId": "c2", "content": '{"confirmed": true}'}
    transcript.observe({**result, "timestamp": 1_800_000_000_007})
    calls = transcript.metadata()["tool_calls"]

    assert [call["tool"] for call in calls] == carried
    assert (calls[-1]["output"], calls[-1]["duration"]) == ({"confirmed": True}, 7)


@given(runs())
def test_all_that_was_said_is_kept(events: list[RunEvent]):
    kept = "".join(m.content for m in transcript_of(*events).messages)

    assert kept == text_of(events).replace("\0", "\ufffd")
