"""The table of what endpoints stream that differs from the protocol, each case over HTTP."""

import json

import pytest

from agents.llm.base import ToolSpec
from agents.llm.config import ModelEndpoint
from agents.llm.openai import OpenAIModel
from agents.llm.providers import PROVIDERS
from tests.agents.llm.helpers import ASK, calls_of, events_of, finish_of, text_of, thoughts_of
from tests.fixtures.llm.stream_cases import ALL_CASES, STREAM_CASES, StreamCase, habits_table
from tests.fixtures.paths import ROOT

pytestmark = pytest.mark.anyio

SCHEMA = {
    "type": "object",
    "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}},
    "required": ["query"],
}
TOOLS = (ToolSpec("search_knowledge_base", "Searches.", SCHEMA), ToolSpec("current_time", "Tells the time."))


def parsed(calls: list[tuple[str, str]]) -> list[tuple[str, object]]:
    return [(name, value_of(arguments)) for name, arguments in calls]


def value_of(arguments: str) -> object:
    """The value, or the text where it can't be read."""
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


@pytest.mark.parametrize("case", STREAM_CASES.values(), ids=lambda case: case.name)
async def test_habit_of_an_endpoint_is_read_as_the_table_says(server, client, case: StreamCase):
    endpoint = ModelEndpoint(server.base_url, case.name, traits=PROVIDERS[case.provider].traits, provider=case.provider)
    events = await events_of(OpenAIModel(endpoint, client), ASK, TOOLS)

    assert (thoughts_of(events), text_of(events)) == (case.thoughts, case.text)
    assert parsed(calls_of(events)) == parsed(list(case.calls))
    assert finish_of(events) == ("tool_calls" if case.calls else case.finish)


def test_page_has_the_table_of_the_cases():
    page = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")

    # To write it anew: python -c "from tests.fixtures.llm.stream_cases import habits_table; print(habits_table())"
    assert habits_table() in page
    assert len(STREAM_CASES) == len(ALL_CASES)
