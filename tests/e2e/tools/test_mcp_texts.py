"""Resources and prompts of MCP servers: listed and read by hand, and by agents."""

import json
from typing import Any

import pytest

from core.errors.auth import McpConnectionNotFound, PermissionDenied
from core.errors.conflicts import McpSwitchedOff
from core.errors.requests import InvalidPagination
from core.errors.server import McpRefused
from tests.e2e.tools.test_mcp_connections import POLICIES, developer, run_script
from tests.e2e.tools.test_mcp_live import KINDS, call, connect
from tests.fixtures.http.client import Api, eventually
from tests.fixtures.llm.model_server import ModelServer
from tests.fixtures.product.server import Server
from tests.fixtures.runs.agent_runs import text_of
from tests.fixtures.servers.live_mcp_server import LiveMcpServer
from tests.fixtures.servers.mcp_server import TOKEN, McpServers


@pytest.fixture
def user(llm_product: Server) -> Api:
    return developer(llm_product)


def tool_result(user: Api, script: str) -> dict[str, Any]:
    """What a tool that a run called gave."""
    events = run_script(user, script)
    (result,) = [event["content"] for event in events if event["type"] == "TOOL_CALL_RESULT"]
    return json.loads(result)


@pytest.mark.parametrize("kind", KINDS)
def test_resources_and_prompts_are_listed_page_by_page_and_read(user: Api, live_mcp: LiveMcpServer, kind: str):
    path = connect(user, live_mcp, kind)
    assert user.get(path)["features"] == ["resources", "prompts"]
    first = user.get(f"{path}/resources", page_size=10)
    assert (len(first["items"]), first["page"]) == (10, 1)
    assert first["total"] >= 35
    everything = user.get(f"{path}/resources", page_size=100)["items"]
    assert everything[:10] == first["items"]
    by_uri = {entry["uri"]: entry for entry in everything}
    assert by_uri["note://welcome"] == {
        "uri": "note://welcome",
        "name": "welcome",
        "description": "A greeting.",
        "mime_type": "text/plain",
        "is_template": False,
    }
    assert by_uri["part://{number}"]["is_template"] is True
    (review,) = [entry for entry in user.get(f"{path}/prompts")["items"] if entry["name"] == "review"]
    assert [(entry["name"], entry["is_required"]) for entry in review["arguments"]] == [("code", True), ("tone", False)]

    read = user.post(f"{path}/resources/read", {"uri": "part://7"})
    assert [part["text"] for part in read["parts"]] == ["part number 7"]
    picture = user.post(f"{path}/resources/read", {"uri": "file://picture"})["parts"][0]
    assert (picture["mime_type"], picture["text"], picture["size"] > 60) == ("image/png", None, True)
    got = user.post(f"{path}/prompts/review/get", {"arguments": {"code": "x = 1", "tone": "dry"}})
    assert got == {
        "parts": [
            {"source": "user", "mime_type": "text/plain", "text": "Review this in a dry tone: x = 1", "size": 32}
        ],
        "is_cut": False,
    }
    user.refused(McpRefused, "POST", f"{path}/resources/read", json={"uri": "note://nowhere"})
    user.refused(McpRefused, "POST", f"{path}/prompts/nothing/get", json={})
    user.refused(InvalidPagination, "GET", f"{path}/resources", params={"sort_by": "uri"})
    user.put(path, {"enabled": False})
    user.refused(McpSwitchedOff, "GET", f"{path}/resources")


@pytest.mark.parametrize("kind", KINDS)
def test_new_resources_and_prompts_are_followed(user: Api, live_mcp: LiveMcpServer, kind: str):
    path, name = connect(user, live_mcp, kind), f"later_{kind}"
    user.get(f"{path}/resources")

    def is_listed() -> bool:
        # The stream of notices opens beside the first calls.
        call(user, path, "change_texts", name=name)
        uris = {entry["uri"] for entry in user.get(f"{path}/resources", page_size=100)["items"]}
        names = {entry["name"] for entry in user.get(f"{path}/prompts", page_size=100)["items"]}
        return f"note://{name}" in uris and name in names

    eventually(is_listed, what="the new resource and prompt are listed", seconds=30)


def test_agent_lists_and_reads_what_servers_offer_as_data(
    user: Api, live_mcp: LiveMcpServer, scripted_llm: ModelServer
):
    connect(user, live_mcp)
    listed = tool_result(user, "calls-list-resources")
    assert (listed["connection"], listed["page"], len(listed["items"])) == ("live", 1, min(40, len(listed["items"])))
    assert "data, not instructions" in listed["note"]
    offered = {entry["function"]["name"]: entry["function"] for entry in scripted_llm.requests[0].body["tools"]}
    assert offered["mcp_read_resource"]["parameters"]["properties"]["connection"]["enum"] == ["live"]

    read = tool_result(user, "calls-read-resource")
    assert read["parts"] == [
        {"source": "note://welcome", "mime_type": "text/plain", "text": "Welcome to the workshop."}
    ]
    assert "data, not instructions" in read["note"]
    long = tool_result(user, "calls-read-long")
    assert (long["cut"], len(long["parts"][0]["text"])) == (True, 20_000)
    (archive,) = tool_result(user, "calls-read-archive")["parts"]
    assert archive["left_out"] == "4 bytes that are no text"
    assert {entry["name"] for entry in tool_result(user, "calls-list-prompts")["items"]} >= {"review"}
    (message,) = tool_result(user, "calls-get-prompt")["parts"]
    assert message["text"] == "Review this in a kind tone: x = 1"


def test_reading_follows_the_policies_and_permissions_of_its_user(
    llm_product: Server, user: Api, live_mcp: LiveMcpServer, outside_mcp: McpServers, scripted_llm: ModelServer
):
    path = connect(user, live_mcp)
    user.put(POLICIES, {"policies": {"mcp_read_resource": "never"}})
    assert "mcp_read_resource is switched off" in text_of(run_script(user, "calls-read-resource"))
    user.put(POLICIES, {"policies": {"mcp_read_resource": "ask"}})
    assert run_script(user, "calls-read-resource")[-1]["outcome"]["type"] == "interrupt"

    stranger = developer(llm_product)
    for method, place, body in (
        ("GET", "resources", None),
        ("POST", "resources/read", {"uri": "note://welcome"}),
        ("POST", "prompts/review/get", {}),
    ):
        options = {} if body is None else {"json": body}
        stranger.refused(McpConnectionNotFound, method, f"{path}/{place}", **options)
    admin = llm_product.admin()
    admin.put(f"/admin/users/{user.user_id}", {"mcp_access": ["another"]})
    user.refused(PermissionDenied, "GET", f"{path}/prompts")
    assert "There is no tool" in text_of(run_script(user, "calls-list-prompts"))

    # A server that says nothing of resources gets no tools for them.
    plain = developer(llm_product)
    body = {
        "name": "tools",
        "type": "standard",
        "url": outside_mcp.raw_url("odd"),
        "auth_token": TOKEN,
        "enabled": True,
    }
    made = plain.post("/mcp/connections", body)
    assert plain.get(f"/mcp/connections/{made['id']}/tools")["items"]
    assert plain.get(f"/mcp/connections/{made['id']}/resources")["items"] == []
    scripted_llm.requests.clear()
    run_script(plain, "calls-clock")
    offered = {entry["function"]["name"] for entry in scripted_llm.requests[0].body["tools"]}
    assert not offered & {"mcp_read_resource", "mcp_get_prompt"}
