"""MCP connections over HTTP: stored, tested, their tools called by hand and in runs."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from core.errors.auth import McpConnectionNotFound, McpToolNotFound, PermissionDenied, ToolPolicyFixed
from core.errors.conflicts import McpNameTaken, McpSwitchedOff
from core.errors.requests import InvalidRequest, UrlNotAllowed
from core.errors.server import McpResultTooLarge, McpUnavailable
from tests.core.test_outbound import FORMS
from tests.fixtures.http.client import Api, conforms, eventually
from tests.fixtures.llm.model_server import ModelServer
from tests.fixtures.llm.tool_scripts import PLACE
from tests.fixtures.product.server import Server
from tests.fixtures.runs.agent_runs import NOBODY, camel, run, run_body, text_of
from tests.fixtures.servers.mcp_server import TOKEN, McpServers

PATH = "/mcp/connections"
POLICIES = "/users/me/tool-policies"


def developer(server: Server) -> Api:
    person = server.person()
    role = server.sql("SELECT id FROM role WHERE name = 'developer'")[0]["id"]
    server.sql('UPDATE "user" SET role_id = :role WHERE id = :id', role=role, id=person.user_id)
    return person


@pytest.fixture
def user(llm_product: Server) -> Api:
    return developer(llm_product)


def body(servers: McpServers, **fields: Any) -> dict[str, Any]:
    standard = {"name": "tools", "type": "standard", "url": servers.http_url}
    return {**standard, "auth_type": "bearer", "auth_token": TOKEN, "enabled": True, **fields}


def over_websocket(servers: McpServers, **fields: Any) -> dict[str, Any]:
    config = {"heartbeat_interval": 30000, "reconnect_delay": 5000, "max_retries": 3}
    # The body of seed 002, section 7.2 for a WebSocket: without an auth_type.
    return {
        "name": "Minecraft MCP", "type": "websocket", "url": servers.ws_url,
        "auth_token": TOKEN, "config": config, "enabled": True, **fields,
    }  # fmt: skip


def run_script(user: Api, script: str, **fields: Any) -> list[dict[str, Any]]:
    props = {"agent_type": "react", **fields.pop("props", {})}
    return run(user, camel(run_body(f"Go on #{script}", forwarded_props=props, **fields)))


def resume_with(user: Api, thread_id: str, events: list[dict[str, Any]], **payload: Any) -> list[dict[str, Any]]:
    (interrupt,) = events[-1]["outcome"]["interrupts"]
    said = {"interruptId": interrupt["id"], "status": "resolved", "payload": payload}
    again = camel(run_body("", thread_id=thread_id)) | {"messages": [], "resume": [said]}
    return run(user, again)


@pytest.mark.parametrize("kind", ["standard", "websocket"])
def test_connection_is_kept_tested_and_its_tools_are_called(user: Api, outside_mcp: McpServers, kind: str):
    made = user.post(PATH, body(outside_mcp) if kind == "standard" else over_websocket(outside_mcp))
    assert (made["type"], made["has_secret"], made["auth_type"]) == (kind, True, "bearer")
    path = f"{PATH}/{made['id']}"
    assert TOKEN not in str(made)

    tested = user.post(f"{path}/test")
    assert tested["success"] is True
    assert (tested["message"], tested["message_zh"], tested["fault"]) == ("Connection successful", "连接成功", None)
    assert (tested["tool_count"], type(tested["latency"])) == (5, int)

    listed = user.get(f"{path}/tools")
    tools = {tool["name"]: tool for tool in listed["items"]}
    example = {"name": "x", "description": "x", "input_schema": {"type": "object"}}
    conforms({name: tools["add"][name] for name in example}, example)
    assert tools["block.set"]["description"] == "在指定位置放置方块"
    assert tools["block.set"]["default_policy"] == "ask"
    assert tools["add"]["default_policy"] == "auto"
    assert listed["is_stale"] is False

    (row,) = user.get(PATH)["items"]
    assert (row["status"], row["tool_count"], row["enabled"]) == ("connected", 5, True)

    called = user.post(f"{path}/tools/block.set/call", {"params": {"material": "STONE"}})
    assert called["result"]["content"][0]["text"] == "placed STONE"
    assert type(called["duration"]) is int
    failed = user.post(f"{path}/tools/fail/call", {"params": {}})
    assert failed["result"]["isError"] is True

    call = f"{path}/tools/add/call"
    user.refused(InvalidRequest, "POST", call, json={"params": {"a": "x"}})
    absent = f"{path}/tools/nothing/call"
    user.refused(McpToolNotFound, "POST", absent, json={"params": {}})
    large = {"params": {"kilobytes": 1100}}
    user.refused(McpResultTooLarge, "POST", f"{path}/tools/big/call", json=large)
    user.put(path, {"enabled": False})
    user.refused(McpSwitchedOff, "POST", call, json={"params": {"a": 1, "b": 1}})
    assert user.get(f"{path}/tools")["is_stale"] is True
    user.delete(path)
    user.refused(McpConnectionNotFound, "GET", path)


def test_call_that_is_under_way_goes_on_while_the_connection_is_tested(user: Api, outside_mcp: McpServers):
    path = f"{PATH}/{user.post(PATH, body(outside_mcp))['id']}"
    before = len(outside_mcp.calls)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(user.post, f"{path}/tools/wait/call", {"params": {"seconds": 1.5}})
        eventually(lambda: outside_mcp.calls[before:] == ["wait"])
        assert user.post(f"{path}/test")["success"] is True
        assert not waiting.done()
        assert waiting.result()["result"]["content"][0]["text"] == "waited"
    assert outside_mcp.calls[before:] == ["wait"]


def test_call_that_takes_too_long_is_given_up(user: Api, outside_mcp: McpServers):
    path = f"{PATH}/{user.post(PATH, body(outside_mcp))['id']}/tools/wait/call"
    told = user.refused(McpUnavailable, "POST", path, json={"params": {"seconds": 60}})
    assert told["fault"] == "no_answer"


@pytest.mark.parametrize(
    "fields",
    [
        {"type": "stdio", "command": "id"},
        {"type": "stdio"},
        {"type": "sse"},
        {"command": "id"},
        {"name": " "},
        {"url": "ws://mcp.example.com/"},
        {"auth_type": "none"},
        {"auth_token": "two\r\nlines"},
        {"auth_type": "bearer", "auth_token": None},
        {"config": {"heartbeat_interval": 1}},
        {"config": {"max_retries": 1000}},
        {"config": {"command": "id"}},
        {"owner_id": "x"},
        {"status": "connected"},
    ],
)
def test_what_is_no_connection_is_refused(user: Api, outside_mcp: McpServers, fields: dict[str, Any]):
    answer = user.request("POST", PATH, json=body(outside_mcp, **fields))
    assert answer.json()["code"] in (InvalidRequest.code, UrlNotAllowed.code)
    assert answer.status_code == 400
    assert TOKEN not in answer.text
    assert user.get(PATH)["total"] == 0


def test_no_spelling_of_a_private_address_is_kept(user: Api, outside_mcp: McpServers):
    made = user.post(PATH, body(outside_mcp))
    for form in FORMS:
        url = f"http://{form}:{outside_mcp.port + 7}/mcp"
        details = user.refused(UrlNotAllowed, "POST", PATH, json=body(outside_mcp, name=form, url=url))
        assert details["field"] == "url"
        change = {"url": url, "auth_token": TOKEN}
        user.refused(UrlNotAllowed, "PUT", f"{PATH}/{made['id']}", json=change)
    assert [row["url"] for row in user.get(PATH)["items"]] == [outside_mcp.http_url]


def test_token_is_sealed_never_shown_and_not_sent_to_another_host(
    llm_product: Server, user: Api, outside_mcp: McpServers
):
    made = user.post(PATH, body(outside_mcp))
    path = f"{PATH}/{made['id']}"
    elsewhere = {"url": "https://mcp.example.com/mcp"}
    assert user.refused(InvalidRequest, "PUT", path, json=elsewhere)["field"] == ("auth_token")
    changed = user.put(path, {"name": "other name"})
    assert (changed["has_secret"], changed["name"]) == (True, "other name")
    assert user.post(f"{path}/test")["success"] is True
    user.put(path, {"auth_token": "wrong-token"})
    tested = user.post(f"{path}/test")
    assert tested["success"] is False
    assert "credentials" in tested["message"]
    assert user.get(path)["fault"] == "unauthorised"
    user.put(path, {"auth_token": TOKEN})
    assert user.post(f"{path}/test")["success"] is True
    without = user.put(path, {"auth_type": "none"})
    assert (without["has_secret"], without["auth_type"]) == (False, "none")

    with sqlite3.connect(llm_product.settings.data_dir / "agentex.db") as database:
        assert TOKEN not in "\n".join(database.iterdump())
    logs = [file.read_text(errors="replace") for file in llm_product.log_files]
    assert TOKEN not in "".join(logs)


def test_names_are_the_owners_own_and_taken_once(llm_product: Server, user: Api, outside_mcp: McpServers):
    made = user.post(PATH, body(outside_mcp))
    user.refused(McpNameTaken, "POST", PATH, json=body(outside_mcp))
    other = developer(llm_product)
    other.post(PATH, body(outside_mcp))
    path = f"{PATH}/{made['id']}"
    other.refused(McpConnectionNotFound, "PUT", path, json={"enabled": False})
    call = f"{path}/tools/add/call"
    other.refused(McpConnectionNotFound, "POST", call, json={})


def test_role_user_sees_connections_and_makes_none(llm_product: Server, outside_mcp: McpServers):
    person = llm_product.person()
    assert person.get(PATH)["items"] == []
    person.refused(PermissionDenied, "POST", PATH, json=body(outside_mcp))


def test_run_calls_a_read_only_tool_at_once_and_asks_before_others(
    user: Api, outside_mcp: McpServers, scripted_llm: ModelServer
):
    user.post(PATH, body(outside_mcp))
    before = outside_mcp.calls.count("place STONE 3")
    events = run_script(user, "calls-add")
    assert "42" in text_of(events)
    offered = {one["function"]["name"]: one for one in scripted_llm.requests[0].body["tools"]}
    schema = offered["mcp__tools__add"]["function"]["parameters"]
    assert schema["properties"]["a"]["type"] == "integer"

    thread_id = str(uuid4())
    waited = run_script(user, "calls-place", thread_id=thread_id)
    (interrupt,) = waited[-1]["outcome"]["interrupts"]
    assert interrupt["metadata"]["tool"] == PLACE
    assert outside_mcp.calls.count("place STONE 3") == before
    went_on = resume_with(user, thread_id, waited, approved=True)
    assert "placed STONE" in text_of(went_on)
    assert outside_mcp.calls.count("place STONE 3") == before + 1

    waited = run_script(user, "calls-place", thread_id=thread_id)
    assert "Declined" in text_of(resume_with(user, thread_id, waited, approved=False))
    waited = run_script(user, "calls-place", thread_id=thread_id)
    wrong = {"approved": True, "editedArgs": {"material": 5}}
    (interrupt,) = waited[-1]["outcome"]["interrupts"]
    said = {"interruptId": interrupt["id"], "status": "resolved", "payload": wrong}
    refused = user.request(
        "POST",
        "/agent/run",
        json=camel(run_body("", thread_id=thread_id)) | {"messages": [], "resume": [said]},
    )
    assert "placed" not in refused.text
    assert outside_mcp.calls.count("place STONE 3") == before + 1


def test_arguments_that_do_not_fit_are_told_to_the_model_and_not_sent(user: Api, outside_mcp: McpServers):
    user.post(PATH, body(outside_mcp))
    before = len(outside_mcp.calls)
    assert "The arguments are not valid" in text_of(run_script(user, "calls-add-badly"))
    assert len(outside_mcp.calls) == before


def test_tools_of_ones_own_connections_are_known_where_a_skill_is_validated(
    user: Api, other: Api, outside_mcp: McpServers
):
    skill = "# SKILL: x\n\n## Description\n\nAdds.\n\n## Steps\n\n1. Tool: `mcp__tools__add`\n"
    made = user.post(PATH, body(outside_mcp))
    user.get(f"{PATH}/{made['id']}/tools")

    for caller, is_known in ((user, True), (other, False)):
        found = caller.post("/skills/validate", {"content": skill})["diagnostics"]
        assert is_known is ("SK043" not in {one["code"] for one in found})


def test_owner_chooses_policies_for_the_tools_of_their_connections(
    llm_product: Server, user: Api, outside_mcp: McpServers, scripted_llm: ModelServer
):
    made = user.post(PATH, body(outside_mcp))
    user.get(f"{PATH}/{made['id']}/tools")
    listed = {one["tool"]: one for one in user.get(POLICIES)["items"]}
    assert listed[PLACE]["policy"] == "ask"
    assert listed["mcp__tools__add"]["policy"] == "auto"
    user.put(POLICIES, {"policies": {PLACE: "auto", "mcp__tools__add": "never"}})
    assert "placed STONE" in text_of(run_script(user, "calls-place"))
    scripted_llm.requests.clear()
    assert "mcp__tools__add is switched off" in text_of(run_script(user, "calls-add"))
    offered = {one["function"]["name"] for one in scripted_llm.requests[0].body["tools"]}
    assert PLACE in offered
    assert "mcp__tools__add" not in offered
    # Another person's tools are none of one's own.
    stranger = {"policies": {PLACE: "auto"}}
    developer(llm_product).refused(InvalidRequest, "PUT", POLICIES, json=stranger)


def test_run_uses_the_connections_it_or_its_session_names_and_no_foreign_ones(
    llm_product: Server, user: Api, outside_mcp: McpServers
):
    made = user.post(PATH, body(outside_mcp))
    other = user.post(PATH, over_websocket(outside_mcp))
    props = {"mcp_connection_ids": [other["id"]]}
    assert "There is no tool" in text_of(run_script(user, "calls-add", props=props))
    config = {"agent_type": "react", "mcp_connection_ids": [made["id"]]}
    session_id = user.post("/sessions", {"title": "x", "config": config})["id"]
    assert "42" in text_of(run_script(user, "calls-add", thread_id=session_id))

    before = len(outside_mcp.calls)
    stranger = developer(llm_product)
    for ids in ([made["id"]], [str(uuid4())]):
        request = run_body("Go on #calls-add", forwarded_props={"mcp_connection_ids": ids})
        details = stranger.refused(McpConnectionNotFound, "POST", "/agent/run", json=camel(request))
        assert details == {}
    assert len(outside_mcp.calls) == before

    user.put(f"{PATH}/{made['id']}", {"enabled": False})
    assert "There is no tool" in text_of(run_script(user, "calls-add", thread_id=session_id))


def test_account_that_is_limited_to_other_connections_uses_none_of_its_own(
    llm_product: Server, user: Api, outside_mcp: McpServers
):
    made = user.post(PATH, body(outside_mcp))
    admin = llm_product.admin()
    account = f"/admin/users/{user.user_id}"
    admin.put(account, {"mcp_access": ["another"]})
    for method, path in (("POST", "test"), ("GET", "tools"), ("POST", "tools/add/call")):
        options = {"json": {}} if path.endswith("call") else {}
        user.refused(PermissionDenied, method, f"{PATH}/{made['id']}/{path}", **options)
    assert "There is no tool" in text_of(run_script(user, "calls-add"))
    named = run_body("x", forwarded_props={"mcp_connection_ids": [made["id"]]})
    user.refused(PermissionDenied, "POST", "/agent/run", json=camel(named))
    admin.put(account, {"mcp_access": None})
    # What is taken away while a run waits is not used when it goes on.
    thread_id, before = str(uuid4()), len(outside_mcp.calls)
    waited = run_script(user, "calls-place", thread_id=thread_id)
    admin.put(account, {"mcp_access": ["another"]})
    told = text_of(resume_with(user, thread_id, waited, approved=True))
    assert "You do not have this permission" in told
    assert len(outside_mcp.calls) == before


def test_what_operator_or_key_rules_out_is_not_called_by_hand_either(
    llm_product: Server, user: Api, outside_mcp: McpServers
):
    made = user.post(PATH, body(outside_mcp, name="walled"))
    tools, given = f"{PATH}/{made['id']}/tools", {"json": {"params": {"a": 1, "b": 1}}}
    details = user.refused(ToolPolicyFixed, "POST", f"{tools}/add/call", **given)
    assert details == {"tool": "mcp__walled__add", "policy": "never"}
    user.post(f"{tools}/block.set/call", {"params": {"material": "STONE"}})

    key = user.post("/users/me/api-keys", {"name": "k", "scopes": ["agent:run"]})["key"]
    narrow = llm_product.api(**{"X-API-Key": key})
    details = narrow.refused(PermissionDenied, "POST", f"{tools}/block.set/call", **given)
    assert details == {"permission": "mcp:view"}
    assert "There is no tool" in text_of(run_script(narrow, "calls-place"))


def test_server_that_is_down_keeps_its_tools_and_holds_no_run_up(
    user: Api, tmp_path: Path, outside_mcp: McpServers, scripted_llm: ModelServer
):
    made = user.post(PATH, body(outside_mcp))
    user.get(f"{PATH}/{made['id']}/tools")
    user.post(PATH, {"name": "dead", "type": "standard", "url": f"http://{NOBODY}/mcp"})
    hang = {"name": "hang", "type": "standard", "url": outside_mcp.rogue_url("hang")}
    hanging = user.post(PATH, hang)

    def seen() -> bool:
        return user.get(f"{PATH}/{hanging['id']}")["status"] == "error"

    eventually(seen, what="the hanging server is given up")
    assert "42" in text_of(run_script(user, "calls-add"))
    offered = {one["function"]["name"] for one in scripted_llm.requests[-1].body["tools"]}
    assert "mcp__tools__add" in offered
    outside_mcp.stop()
    try:
        assert "can't be used" in text_of(run_script(user, "calls-add"))
        offered = {one["function"]["name"] for one in scripted_llm.requests[-1].body["tools"]}
        assert "mcp__tools__add" in offered
        assert user.get(f"{PATH}/{made['id']}/tools")["is_stale"] is True
    finally:
        outside_mcp.start()
    assert user.post(f"{PATH}/{made['id']}/test")["success"] is True
    assert "42" in text_of(run_script(user, "calls-add"))
