"""Entries of tool lists and blocks of results that servers get wrong."""

import json
from typing import Any

import httpx2
import mcp_types
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types.methods import parse_server_result

from agents.mcp.config import McpLimits
from agents.mcp.entries import read_entries, read_result
from agents.mcp.results import read_call_result
from agents.mcp.tools import MOST_LEFT_OUT, ToolListing, left_out_to_json, usable_tools
from agents.mcp.transports.http import _slash_target
from agents.tool_names import LeftOutTool
from tests.agents.mcp.test_connections import tools
from tests.fixtures.servers.raw_mcp_server import GOOD, LINK, RESULTS

VERSIONS = ("2025-06-18", "2025-11-25")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
FIELDS = ["name", "title", "description", "inputSchema", "annotations", "outputSchema", "icons", "_meta", "execution"]
ENTRIES = JSON | st.dictionaries(st.sampled_from(FIELDS), JSON).map(lambda odd: {**GOOD, **odd})
BLOCKS = JSON | st.dictionaries(
    st.sampled_from(["type", "text", "uri", "name", "data", "mimeType", "annotations", "resource"]),
    JSON | st.sampled_from(["text", "image", "audio", "resource", "resource_link"]),
)


def text_of(result: Any) -> str:
    return read_call_result(mcp_types.CallToolResult.model_validate(read_result(result), by_name=False)).text


@given(st.lists(ENTRIES, max_size=5))
def test_readable_tools_pass_every_version_and_none_is_lost_without_its_name(entries: list[Any]):
    readable, left_out = read_entries([*entries, GOOD])
    assert len(readable) + len(left_out) == len(entries) + 1
    assert readable[-1] == GOOD
    for version in VERSIONS:
        parse_server_result("tools/list", version, {"tools": readable})
    newest = {"tools": readable, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    parse_server_result("tools/list", "2026-07-28", newest)
    assert all(tool.name and tool.reason and tool.reason_zh for tool in left_out)


@given(st.lists(BLOCKS, max_size=4), JSON)
def test_readable_blocks_of_a_result_are_never_lost(blocks: list[Any], structured: Any):
    text = {"type": "text", "text": "zebra"}
    result = read_result({"content": [*blocks, text], "structuredContent": structured})
    for version in VERSIONS:
        parse_server_result("tools/call", version, result)
    assert text in result["content"]
    assert "zebra" in text_of({"content": [*blocks, text], "structuredContent": structured})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("structured", '2 hits\n{"hits": ["zebra", "gnu"]}'),
        ("structured_only", '{"hits": ["zebra"]}'),
        ("structured_list", '["zebra", "gnu"]'),
        ("repeated", '{"hits": ["zebra"]}'),
        ("wrapped", "placed"),
        ("bare_link", "(link to a: file:///a)"),
        ("nothing", ""),
        ("null", ""),
        ("plain", "just text"),
        ("failed", 'The tool reported an error: no\n{"code": 7}'),
    ],
)
def test_text_for_models(name: str, text: str):
    assert text_of(RESULTS[name]) == text


def test_structured_value_whose_items_are_blocks_is_not_said_twice():
    blocks = [{"type": "text", "text": text} for text in ("1", "zebra")]
    for value in ([1, "zebra"], ["1", "zebra"]):
        assert text_of({"content": blocks, "structuredContent": {"result": value}}) == "1\nzebra"
    assert "gnu" in text_of({"content": blocks, "structuredContent": {"result": [1, "gnu"]}})


def test_link_keeps_what_its_server_says_of_it():
    told = text_of({"content": [LINK]})
    assert told == (
        "(link to Yearly report (r.pdf): https://example.com/r.pdf, of type application/pdf; Figures of the year)"
    )


def test_result_that_asks_for_something_is_left_to_the_library():
    asking = {"resultType": "input_required", "inputRequests": []}
    assert read_result(asking) == asking


def test_tool_with_wrong_annotations_for_headers_is_named_where_headers_are_used():
    schema = {"type": "object", "properties": {"a": {"type": "array", "x-mcp-header": "A"}}}
    entry = {"name": "a", "inputSchema": schema}
    assert read_entries([entry])[1] == []
    ((left_out,), readable) = reversed(read_entries([entry], has_headers=True))
    assert (readable, left_out.name) == ([], "a")
    assert "x-mcp-header" in left_out.reason


def test_tools_beyond_the_limits_are_named_too():
    listed = [mcp_types.Tool(name=f"t{number}", input_schema={"type": "object"}) for number in range(4)]
    first = LeftOutTool("#1", "why", "为什么")
    listing = usable_tools(listed, McpLimits(tools=2), [first])
    assert [tool.name for tool in listing.tools] == ["t0", "t1"]
    assert [tool.name for tool in listing.left_out] == ["#1", "t2", "t3"]
    assert listing.left_out[1].reason == "only the first 2 tools of a server are used"
    cut = ToolListing(tuple(tools("a", "b"))).cut(1, "no room", "没有空间")
    assert ([tool.name for tool in cut.tools], cut.left_out) == (["a"], (LeftOutTool("b", "no room", "没有空间"),))
    many = left_out_to_json([LeftOutTool("x" * 10_000, "r", "r")] * 1000)
    assert len(many) == MOST_LEFT_OUT
    assert len(json.dumps(many)) < 30_000


@pytest.mark.parametrize(
    ("url", "status", "location", "target"),
    [
        ("https://a.example/mcp", 307, "/mcp/", b"/mcp/"),
        ("https://a.example/mcp/", 308, "/mcp", b"/mcp"),
        ("https://a.example/mcp?k=1", 301, "http://a.example:8080/mcp/?k=1", b"/mcp/?k=1"),
        ("https://a.example/a%2Fb", 302, "/a%2Fb/", b"/a%2Fb/"),
        ("https://a.example/mcp", 303, "/mcp/", None),
        ("https://a.example/mcp", 200, "/mcp/", None),
        ("https://a.example/mcp", 307, "/mcp", None),
        ("https://a.example/mcp", 307, "https://b.example/mcp/", None),
        ("https://a.example/mcp", 307, "//b.example/mcp/", None),
        ("https://a.example/mcp", 307, "/other/", None),
        ("https://a.example/mcp", 307, "/mcp//", None),
        ("https://a.example/mcp?k=1", 307, "/mcp/", None),
        ("https://a.example/mcp", 307, "http://[", None),
    ],
)
def test_only_a_slash_is_followed(url: str, status: int, location: str, target: bytes | None):
    response = httpx2.Response(status, headers={"Location": location})
    assert _slash_target(httpx2.URL(url), response) == target
