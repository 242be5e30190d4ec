"""The toolbox of a run, and the search tool."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import cast

import pytest
from pydantic import BaseModel

from agents.calendar.run_calendar import RunCalendar
from agents.client_time import UserClock
from agents.evidence import Evidence, read_passages
from agents.mcp.agent_texts import RemoteTexts
from agents.mcp.connections import ConnectionWithTools
from agents.mcp.models import McpConnection
from agents.mcp.service import McpService
from agents.run_request import ClientTool
from agents.tools import DEFAULT_POLICIES, TOOL_MODULES, build_toolbox
from agents.tools.base import Tool, Toolbox, arguments_schema, with_validation
from core.db.database import Database
from core.errors.server import VectorIndexUnavailable
from tests.agents.fakes import (
    INSTALL,
    SETTINGS,
    InMemoryDocuments,
    InMemoryMemory,
    InMemoryRetriever,
    passage,
    scope_of,
)
from tests.agents.skills.helpers import InMemoryLibrary, run_skills_of
from tests.fixtures.skills.stored_skills import REPORT, REVIEW

pytestmark = pytest.mark.anyio

NAME = "search_knowledge_base"


class Arguments(BaseModel):
    """Arguments of the test tool."""

    text: str = "x"


def tool(run, **changes) -> Tool:
    return Tool(
        "echo",
        "Echoes.",
        arguments_schema(Arguments),
        with_validation(Arguments, run),
        **changes,
    )


async def echo(arguments: Arguments) -> str:
    return arguments.text


def search_box(retriever: InMemoryRetriever, evidence: Evidence | None = None) -> Toolbox:
    return build_toolbox(scope_of(evidence, retriever=retriever))


async def test_search_tells_what_could_not_be_searched():
    retriever = InMemoryRetriever((), unsearched=('Not searched: "A".',))
    output = await search_box(retriever).call(NAME, '{"query": "x"}')
    found = json.loads(output.content)
    assert (found["passages"], found["not_searched"]) == ([], ['Not searched: "A".'])


async def test_search_gives_numbered_passages_as_json():
    output = await search_box(InMemoryRetriever()).call(NAME, '{"query": "AGENTEX_PORT setting"}')

    assert output.ran
    first = json.loads(output.content)["passages"][0]
    assert first == {
        "number": 1,
        "document": "settings.pdf",
        "headings": ["Settings"],
        "page": 3,
        "text": SETTINGS.content,
    }


async def test_known_passage_keeps_its_number_when_found_again():
    evidence = Evidence()
    box = search_box(InMemoryRetriever((INSTALL, SETTINGS)), evidence)
    await box.call(NAME, '{"query": "Python"}')
    again = await box.call(NAME, '{"query": "environment variable"}')

    numbers = [item["number"] for item in json.loads(again.content)["passages"]]
    assert numbers == [2, 1]
    assert evidence.get(1) == INSTALL


async def test_output_is_valid_json_within_the_cap_when_passages_are_long():
    hostile = tuple(passage('\x01"\n' * 20_000, id=f"p{number}", document=f"{number}.md") for number in range(8))
    output = await search_box(InMemoryRetriever(hostile)).call(NAME, '{"query": "x"}')

    passages = read_passages(output.content)
    assert passages is not None
    assert len(passages) == 1
    assert len(output.content) <= 24_000


def test_only_clock_and_people_are_offered_when_nothing_is_selected():
    offered = build_toolbox(scope_of()).specs

    assert [spec.name for spec in offered] == ["current_time", "confirm_action", "request_input"]


def test_every_tool_has_a_described_schema_and_a_unique_name():
    book = RunCalendar(Database("sqlite+aiosqlite:///never-opened.db"), "owner", "run")
    frontend = (ClientTool("paint", "Paints.", {"type": "object"}),)
    row = McpConnection(
        owner_id="owner", name="Files", type="standard", url="", auth_type="none", features=["resources", "prompts"]
    )
    with_texts = ConnectionWithTools(row, None, ())
    scope = scope_of(
        retriever=InMemoryRetriever(),
        documents=InMemoryDocuments(),
        tools=frontend,
        calendar=book,
        memory=InMemoryMemory(),
        # One more than are listed: the others are searched.
        skills=run_skills_of(InMemoryLibrary(REVIEW, REPORT), most=1),
        remote_texts=RemoteTexts(cast(McpService, None), cast(Database, None), (with_texts,)),
    )
    tools = [tool for module in TOOL_MODULES for tool in module.tools(scope)]

    assert len({tool.name for tool in tools}) == len(tools) >= len(TOOL_MODULES)
    # What can be chosen for a tool is said where it is made; a frontend's are its own.
    assert {tool.name for tool in tools} == {"paint", *DEFAULT_POLICIES}
    for offered in tools:
        assert offered.description
        assert offered.parameters["type"] == "object"
        assert offered.timeout_seconds > 0


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ('{"query": oops', "Invalid JSON"),
        ("[]", "valid"),
        ("{}", "query: Field required"),
        ('{"query": ""}', "at least 1 character"),
        ('{"query": 7}', "query"),
        ('{"query": "x", "kb": "other"}', "kb: Extra inputs"),
    ],
)
async def test_arguments_are_refused_before_anything_runs(arguments, fault):
    retriever = InMemoryRetriever()
    output = await search_box(retriever).call(NAME, arguments)

    assert not output.ran
    assert fault in output.content
    assert retriever.queries == []


async def test_unknown_tool_is_named_with_the_known_ones():
    output = await Toolbox([tool(echo)]).call("rm", "{}")

    assert output.content == "There is no tool 'rm'. Known tools: echo."
    assert not output.ran


async def test_failed_part_is_named_without_its_text():
    retriever = InMemoryRetriever(failure=VectorIndexUnavailable(host="10.0.0.1"))
    output = await search_box(retriever).call(NAME, '{"query": "x"}')

    assert isinstance(output.failure, VectorIndexUnavailable)
    assert output.content == f"The tool {NAME} failed: The vector index can't be reached."


async def test_broken_tool_says_nothing_of_the_exception():
    async def broken(_: Arguments) -> str:
        raise RuntimeError("secret path /etc")

    output = await Toolbox([tool(broken)]).call("echo", "{}")

    assert output.content == "The tool echo failed."
    assert output.failure is not None


async def test_tool_is_ended_when_it_takes_too_long():
    async def hanging(_: Arguments) -> str:
        await asyncio.Event().wait()
        return ""

    output = await Toolbox([tool(hanging, timeout_seconds=0.01)]).call("echo", "{}")

    assert "took longer than" in output.content
    assert output.failure is not None


async def test_output_is_cut_when_longer_than_the_tool_may_give():
    output = await Toolbox([tool(echo, output_characters=5)]).call("echo", '{"text": "1234567"}')

    assert output.content == "12345\n(cut: 2 more characters)"


async def test_output_is_never_empty():
    output = await Toolbox([tool(echo)]).call("echo", '{"text": ""}')

    assert output.content == "(no output)"


async def test_tool_that_needs_approval_is_not_run():
    output = await Toolbox([tool(echo, approval="ask")]).call("echo", "{}")

    assert not output.ran
    assert "needs an answer first" in output.content


def test_forbidden_tool_is_not_offered():
    frontend = tool(echo, side="client")
    box = Toolbox([tool(echo, approval="never"), frontend])

    assert box.specs == ()
    assert "echo" not in box


def reading_box(evidence: Evidence | None = None) -> Toolbox:
    return build_toolbox(scope_of(evidence, retriever=InMemoryRetriever(), documents=InMemoryDocuments()))


async def test_document_is_read_by_its_name_as_numbered_passages():
    evidence = Evidence()
    output = await reading_box(evidence).call("read_document", '{"document": "guide.md"}')

    read = json.loads(output.content)
    assert [item["text"] for item in read["passages"]] == [INSTALL.content]
    assert read["length"] == INSTALL.char_end
    assert evidence.get(1) == INSTALL


async def test_document_is_read_around_a_passage_that_was_found():
    evidence = Evidence()
    box = reading_box(evidence)
    await box.call(NAME, '{"query": "Python newer"}')
    number = next(n for n in evidence.numbers() if evidence.get(n) == INSTALL)
    output = await box.call("read_document", json.dumps({"passage": number, "characters": 100}))

    assert [item["number"] for item in json.loads(output.content)["passages"]] == [number]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ('{"passage": 9}', "No passage has the number 9: search first."),
        ("{}", "The arguments are not valid: Value error, name either a passage or a document."),
        ('{"document": "a", "passage": 1}', "name either a passage or a document"),
        ('{"document": "a", "characters": 1}', "characters"),
        ('{"document": "nope.md"}', "The tool read_document failed: "),
        ('{"document": "guide.md", "start": 5000}', "nothing stands at 5000"),
    ],
)
async def test_reading_that_is_not_possible_is_explained(arguments, sentence):
    assert sentence in (await reading_box().call("read_document", arguments)).content


async def test_clock_tells_the_time_in_a_zone():
    box = build_toolbox(scope_of())
    told = json.loads((await box.call("current_time", '{"timezone": "+08:00"}')).content)

    moment = datetime.fromisoformat(told["time"])
    assert moment.utcoffset() == timedelta(hours=8)
    assert abs(moment - datetime.now(UTC)) < timedelta(minutes=5)
    assert told["weekday"] == moment.strftime("%A")


@pytest.mark.parametrize("zone", ["", "UTC", "GMT", "UTC-03:30", "+5", "-0930"])
async def test_clock_knows_offsets(zone):
    box = build_toolbox(scope_of())
    output = await box.call("current_time", json.dumps({"timezone": zone}))

    assert "time" in json.loads(output.content)


async def test_clock_tells_the_time_where_the_user_is_unless_asked_for_another_zone():
    person = UserClock(None, "Asia/Kathmandu")
    box = build_toolbox(scope_of(time=person))
    own = json.loads((await box.call("current_time", "{}")).content)
    other = json.loads((await box.call("current_time", '{"timezone": "UTC"}')).content)

    assert own["timezone"] == "Asia/Kathmandu"
    assert datetime.fromisoformat(own["time"]).utcoffset() == timedelta(hours=5, minutes=45)
    assert datetime.fromisoformat(other["time"]).utcoffset() == timedelta(0)


@pytest.mark.parametrize("zone", ["Moon/Crater", "../../etc/passwd", "/etc", "+99", "\0", "Etc"])
async def test_clock_refuses_what_is_no_zone(zone):
    box = build_toolbox(scope_of())
    output = await box.call("current_time", json.dumps({"timezone": zone}))

    assert output.content.startswith("There is no time zone")
