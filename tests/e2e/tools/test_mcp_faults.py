"""MCP servers with faults, over HTTP and in runs: odd tools, odd results, lost sessions, redirects, reasons."""

from typing import Any

import pytest

from core.errors.server import McpRefused, McpUnavailable
from tests.e2e.tools.test_mcp_connections import body, developer, run_script
from tests.fixtures.http.client import Api
from tests.fixtures.llm.model_server import ModelServer
from tests.fixtures.product.server import Server
from tests.fixtures.runs.agent_runs import text_of
from tests.fixtures.servers.mcp_server import McpServers
from tests.fixtures.servers.raw_mcp_server import LOST, ONE_ODD

PATH = "/mcp/connections"
REPEATED = [kind for kind in LOST if kind not in ("lost-500", "lost-always")]


@pytest.fixture
def user(llm_product: Server) -> Api:
    return developer(llm_product)


def connect(user: Api, servers: McpServers, kind: str, **fields: Any) -> str:
    """Keep a connection to a raw server; gives its path."""
    made = user.post(PATH, {"name": "raw", "type": "standard", "url": servers.raw_url(kind), **fields})
    return f"{PATH}/{made['id']}"


def call(user: Api, path: str, tool: str) -> dict[str, Any]:
    return user.post(f"{path}/tools/{tool}/call", {"params": {}})["result"]


def test_odd_tools_are_left_out_by_name_and_the_others_stay(
    user: Api, outside_mcp: McpServers, scripted_llm: ModelServer
):
    path = connect(user, outside_mcp, "odd")
    tested = user.post(f"{path}/test")
    reasons = {tool["name"]: tool["reason"] for tool in tested["left_out"]}
    assert reasons == {
        "no_schema": "its field inputSchema is missing",
        "no_type": "its field inputSchema.type is missing",
        "#4": "its field name is missing",
        "bad_required": "its field inputSchema.required is not valid",
        "#6": "it is not an object",
        "search": "another tool has its name",
        "x" * 256: "its name is empty or longer than 256 characters",
        "large": "its input schema is longer than 32768 characters",
    }
    assert (tested["success"], tested["tool_count"]) == (True, 3)
    assert tested["message"] == "Connection successful; 8 tools are left out, see left_out"
    assert all(tool["reason_zh"] for tool in tested["left_out"])
    listed = user.get(f"{path}/tools")
    assert [tool["name"] for tool in listed["items"]] == ["search", "odd_output", "null_fields"]
    assert listed["left_out"] == tested["left_out"]
    assert user.get(path)["left_out"] == tested["left_out"]
    assert "search done" in text_of(run_script(user, "calls-raw-search"))
    user.put(path, {"url": outside_mcp.raw_url("results")})
    assert user.post(f"{path}/test")["left_out"] == []
    assert user.get(path)["left_out"] == []


@pytest.mark.parametrize("kind", ONE_ODD)
def test_one_odd_entry_hides_no_other_tool(user: Api, outside_mcp: McpServers, scripted_llm: ModelServer, kind: str):
    path = connect(user, outside_mcp, kind)
    assert [tool["name"] for tool in user.get(f"{path}/tools")["items"]] == ["search"]
    assert "search done" in text_of(run_script(user, "calls-raw-search"))


def test_server_whose_tools_are_all_odd_is_connected_to_and_says_why_it_has_none(user: Api, outside_mcp: McpServers):
    path = connect(user, outside_mcp, "all-odd")
    tested = user.post(f"{path}/test")
    assert (tested["success"], tested["tool_count"]) == (True, 0)
    assert [tool["name"] for tool in tested["left_out"]] == ["no_schema", "#2"]


@pytest.fixture
def results(user: Api, outside_mcp: McpServers) -> str:
    """A connection to a server with odd results; gives its path."""
    path = connect(user, outside_mcp, "results")
    user.get(f"{path}/tools")
    return path


def test_unknown_block_of_a_result_loses_no_readable_one(user: Api, results: str):
    unknown = call(user, results, "unknown")["content"]
    assert [block["text"] for block in unknown] == [
        "first",
        "(content of type video, which Agentex can't read)",
        "(content of type unknown, which Agentex can't read)",
        "last",
    ]


def test_structured_result_reaches_people_and_models_beside_its_text(user: Api, results: str):
    assert call(user, results, "structured")["structuredContent"] == {"hits": ["zebra", "gnu"]}
    assert "2 hits" in (told := text_of(run_script(user, "calls-raw-structured")))
    assert "gnu" in told


@pytest.mark.parametrize("tool", ["nothing", "null"])
def test_result_without_content_is_an_empty_result(user: Api, results: str, tool: str):
    assert call(user, results, tool) == {"content": [], "isError": False}


def test_link_of_a_result_keeps_its_title_description_and_type(user: Api, results: str):
    told = text_of(run_script(user, "calls-raw-link"))
    for part in ("https://example.com/r.pdf", "Yearly report", "Figures of the year", "application/pdf"):
        assert part in told


@pytest.mark.parametrize("kind", REPEATED)
def test_five_calls_work_after_the_server_has_lost_the_session(user: Api, outside_mcp: McpServers, kind: str):
    path = connect(user, outside_mcp, kind)
    call(user, path, "search")
    outside_mcp.forget_sessions(kind)
    before = outside_mcp.raw_calls(kind)
    texts = [call(user, path, "search")["content"][0]["text"] for _ in range(5)]
    assert texts == ["search done"] * 5
    # Each was carried out once.
    assert outside_mcp.raw_calls(kind) == before + 5
    outside_mcp.forget_sessions(kind)
    assert "search done" in text_of(run_script(user, "calls-raw-search"))
    outside_mcp.forget_sessions(kind)
    listed = user.get(f"{path}/tools")
    assert listed["is_stale"] is False


@pytest.mark.parametrize("kind", ["lost-404-text", "lost-400-json", "lost-200"])
def test_call_works_after_a_successful_test_of_a_server_that_has_lost_the_session(
    user: Api, outside_mcp: McpServers, kind: str
):
    path = connect(user, outside_mcp, kind)
    call(user, path, "search")
    outside_mcp.forget_sessions(kind)
    assert user.post(f"{path}/test")["success"] is True
    assert call(user, path, "search")["content"][0]["text"] == "search done"


def test_call_that_may_have_been_carried_out_is_not_repeated(user: Api, outside_mcp: McpServers):
    path = connect(user, outside_mcp, "lost-500")
    call(user, path, "search")
    outside_mcp.forget_sessions("lost-500")
    before = outside_mcp.raw_calls("lost-500")
    details = user.refused(McpUnavailable, "POST", f"{path}/tools/search/call", json={"params": {}})
    assert details["fault"] == "refused"
    assert outside_mcp.raw_calls("lost-500") == before + 1
    # The next one has a new session.
    assert call(user, path, "search")["content"][0]["text"] == "search done"


def test_server_that_never_keeps_its_sessions_is_named_so(user: Api, outside_mcp: McpServers):
    path = connect(user, outside_mcp, "lost-always")
    details = user.refused(McpUnavailable, "POST", f"{path}/tools/search/call", json={"params": {}})
    assert details["fault"] == "session_lost"
    assert user.get(path)["fault"] == "session_lost"
    assert details["reason"] in text_of(run_script(user, "calls-raw-search"))


@pytest.mark.parametrize("kind", ["slash", "slash-301", "slash-308", "slash-proxy"])
def test_redirect_that_only_adds_a_slash_is_followed_on_the_same_host(user: Api, outside_mcp: McpServers, kind: str):
    path = connect(user, outside_mcp, kind)
    tested = user.post(f"{path}/test")
    assert tested["success"] is True, tested
    assert call(user, path, "search")["content"][0]["text"] == "search done"


@pytest.mark.parametrize("kind", ["slash-away", "slash-other"])
def test_redirect_to_elsewhere_is_not_followed_and_says_so(user: Api, outside_mcp: McpServers, kind: str):
    path = connect(user, outside_mcp, kind)
    tested = user.post(f"{path}/test")
    assert tested["success"] is False
    assert "redirects to another address" in tested["message"]
    assert user.get(path)["fault"] == "redirected"


def test_refusal_has_the_same_reason_in_a_run_as_over_http(user: Api, results: str):
    details = user.refused(McpRefused, "POST", f"{results}/tools/refuse/call", json={"params": {}})
    assert details["reason"] == "there is no such page"
    assert details["reason"] in text_of(run_script(user, "calls-raw-refuse"))


def test_own_error_of_a_server_is_not_taken_for_one_of_the_library(user: Api, results: str):
    """Whatever its number."""
    details = user.refused(McpRefused, "POST", f"{results}/tools/limited/call", json={"params": {}})
    assert details["reason"] == "too many requests"


@pytest.mark.parametrize(("changes", "fault"), [({}, "no_answer"), ({"auth_token": "wrong"}, "unauthorised")])
def test_server_that_does_not_answer_has_the_same_reason_in_a_run_as_over_http(
    user: Api, outside_mcp: McpServers, changes: dict[str, str], fault: str
):
    path = f"{PATH}/{user.post(PATH, body(outside_mcp))['id']}"
    user.get(f"{path}/tools")
    user.put(path, changes)
    waiting = {"params": {"seconds": 60}}
    details = user.refused(McpUnavailable, "POST", f"{path}/tools/wait/call", json=waiting)
    assert details["fault"] == fault
    assert details["reason"] in text_of(run_script(user, "calls-wait"))
