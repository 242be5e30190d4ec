"""Tools with schemas and names of all kinds, offered to an endpoint that checks requests as OpenAI's does."""

import json
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import pytest

from core.errors.requests import InvalidRunInput
from tests.fixtures.http.client import Api, unique
from tests.fixtures.llm.model_scripts import BY_QUESTION
from tests.fixtures.llm.model_server import ModelServer
from tests.fixtures.product.server import Server
from tests.fixtures.runs.agent_runs import camel, run, run_body, text_of, verified_run
from tests.fixtures.servers.mcp_server import McpServers

AGENT_TYPES = ["react", "agentic_rag", "plan_execute", "reflexion", "worker"]
PATH = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
URL = {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]}
BARE = {
    "no properties": {"type": "object"},
    "additional alone": {"additionalProperties": {"type": "string"}},
    "alternatives on top": {"anyOf": [PATH, URL]},
    "null required": {"properties": {"path": {"type": "string"}}, "required": None},
    "local reference": {"$ref": "#/$defs/Path", "$defs": {"Path": PATH}},
    "array without items": {"type": "object", "properties": {"paths": {"type": "array"}}},
}


@contextmanager
def registered(product: Server, url: str) -> Generator[str]:
    """A model of its own, which has learnt nothing yet; gives its id."""
    admin = product.admin()
    about = {"provider": "openai-compatible", "base_url": url, "model_id": BY_QUESTION}
    model_id = admin.post("/admin/models", {"name": unique("model"), **about})["id"]
    yield model_id
    admin.delete(f"/admin/models/{model_id}")


@pytest.fixture
def strict(llm_product: Server, scripted_llm: ModelServer) -> Iterator[str]:
    """A registered model behind the strict endpoint; gives its id."""
    with registered(llm_product, scripted_llm.strict_url) as model_id:
        yield model_id


@pytest.fixture
def lenient(llm_product: Server, scripted_llm: ModelServer) -> Iterator[str]:
    """The same scripts behind an endpoint that takes everything; gives the model's id."""
    with registered(llm_product, scripted_llm.base_url) as model_id:
        yield model_id


@pytest.fixture
def user(llm_product: Server) -> Api:
    return developer(llm_product)


def developer(server: Server) -> Api:
    person = server.person()
    role = server.sql("SELECT id FROM role WHERE name = 'developer'")[0]["id"]
    server.sql('UPDATE "user" SET role_id = :role WHERE id = :id', role=role, id=person.user_id)
    return person


def frontend(name: str, schema: Any) -> dict[str, Any]:
    return {"name": name, "description": "Paints.", "parameters": schema}


def run_on(user: Api, strict: str, question: str, *tools: dict[str, Any], **props: Any) -> list[dict[str, Any]]:
    chosen = {"agent_type": "react", "model_id": strict, **props}
    return verified_run(user, question, tools=[*tools], forwarded_props=chosen)


def left_out(events: list[dict[str, Any]]) -> dict[str, str]:
    """The reasons that the run's activity message gives, by tool."""
    (opened,) = [event for event in events if event["type"] == "ACTIVITY_SNAPSHOT"]
    return {item["name"]: item["reason"] for item in opened["content"].get("tools_left_out", [])}


def offered_by(server: ModelServer) -> dict[str, dict[str, Any]]:
    """The schemas of the newest request that offered tools, by name."""
    body = next(request.body for request in reversed(server.run_requests) if "tools" in request.body)
    return {tool["function"]["name"]: tool["function"]["parameters"] for tool in body["tools"]}


@pytest.mark.parametrize("schema", BARE.values(), ids=BARE)
def test_frontend_tool_is_offered_in_a_form_that_a_strict_endpoint_takes(
    user: Api, strict: str, scripted_llm: ModelServer, schema: dict[str, Any]
):
    events = run_on(user, strict, "What time is it? #calls-clock", frontend("paint", schema))

    assert events[-1]["type"] == "RUN_FINISHED", events[-1]
    assert "The tool said" in text_of(events)
    assert offered_by(scripted_llm)["paint"]["type"] == "object"
    assert left_out(events) == {}


@pytest.mark.parametrize("agent_type", AGENT_TYPES)
def test_tool_that_no_endpoint_takes_is_left_out_and_the_run_says_why(
    user: Api, strict: str, scripted_llm: ModelServer, agent_type: str
):
    outside = {"type": "object", "properties": {"a": {"$ref": "https://schemas.example.com/a.json"}}}
    tools = [frontend("paint", outside), frontend("draw", PATH)]
    events = run_on(user, strict, "Hello #plain", *tools, agent_type=agent_type)

    assert events[-1]["type"] == "RUN_FINISHED", events[-1]
    assert set(left_out(events)) == {"paint"}
    assert "another document" in left_out(events)["paint"]
    offering = [request.body["tools"] for request in scripted_llm.run_requests if "tools" in request.body]
    names = {tool["function"]["name"] for tools in offering for tool in tools}
    assert "paint" not in names
    assert not names or "draw" in names


def test_broken_tools_of_a_connection_take_nothing_else_down(
    llm_product: Server, user: Api, strict: str, scripted_llm: ModelServer, outside_mcp: McpServers
):
    made = user.post("/mcp/connections", {"name": "odd", "type": "standard", "url": outside_mcp.rogue_url("schemas")})
    answer = user.get(f"/mcp/connections/{made['id']}/tools")
    listed = {tool["name"]: tool for tool in answer["items"]}
    assert {name for name, tool in listed.items() if tool["schema_fault"]} == {"outside_reference", "lost_reference"}
    (unlisted,) = answer["left_out"]
    assert (unlisted["name"], unlisted["reason"]) == ("not_an_object", "its field inputSchema.type is not valid")
    assert "another document" in listed["outside_reference"]["schema_fault"]
    assert "另一份文档" in listed["outside_reference"]["schema_fault_zh"]

    # The run names no connection.
    events = run_on(user, strict, "Go on #calls-good")
    assert text_of(events) == "The tool said: good was called"
    assert {name.removeprefix("mcp__odd__") for name in left_out(events)} == {"outside_reference", "lost_reference"}
    assert offered_by(scripted_llm)["mcp__odd__null_required"] == {"type": "object", "properties": {}}

    scripted_llm.requests.clear()
    second = run_on(developer(llm_product), strict, "What time is it? #calls-clock")
    assert second[-1]["type"] == "RUN_FINISHED"
    assert "current_time" in offered_by(scripted_llm)


@pytest.mark.parametrize("name", ["null_required", "typed_null_required", "outside_reference", "lost_reference"])
def test_run_that_names_no_connection_goes_on_beside_one_bad_schema(
    user: Api, strict: str, outside_mcp: McpServers, name: str
):
    made = user.post("/mcp/connections", {"name": "odd", "type": "standard", "url": outside_mcp.rogue_url(name)})
    user.get(f"/mcp/connections/{made['id']}/tools")
    events = run_on(user, strict, "What time is it? #calls-clock")

    assert events[-1]["type"] == "RUN_FINISHED", events[-1]
    assert "weekday" in text_of(events)
    assert text_of(run_on(user, strict, "Go on #calls-good")) == "The tool said: good was called"


COLOR = {"type": "object", "properties": {"color": {"type": "string", "format": "color"}}}
"""What the endpoint complains of as others say that they take no tools."""


def test_complaint_about_a_schema_does_not_end_the_run(user: Api, lenient: str, scripted_llm: ModelServer):
    events = run_on(user, lenient, "What time is it? #no-formats", frontend("paint", COLOR))
    assert events[-1]["type"] == "RUN_FINISHED", events[-1]
    assert "The tool said" in text_of(events)
    refused = next(request for request in scripted_llm.run_requests if "color" in str(request.body))
    assert "tools" in refused.body


def test_second_user_has_native_tools_after_a_first_users_broken_schema(
    llm_product: Server, user: Api, lenient: str, scripted_llm: ModelServer
):
    run_on(user, lenient, "What time is it? #no-formats", frontend("paint", COLOR))
    scripted_llm.requests.clear()
    events = run_on(developer(llm_product), lenient, "What time is it? #no-formats")

    assert scripted_llm.run_requests
    assert all("tools" in request.body for request in scripted_llm.run_requests)
    assert "The tool said" in text_of(events)


def test_model_whose_endpoint_refuses_tools_is_shown_as_such(llm_product: Server, lenient: str):
    """Learnt of this model alone; a changed one is asked anew."""
    admin = llm_product.admin()
    run_on(llm_product.person(), lenient, "What time is it? #no-tools")
    listed = {model["id"]: model["tools_refused_until"] for model in admin.get("/models")["items"]}
    assert listed.pop(lenient) is not None
    assert set(listed.values()) <= {None}
    assert admin.get(f"/admin/models/{lenient}")["tools_refused_until"] is not None
    assert admin.put(f"/admin/models/{lenient}", {"max_tokens": 100})["tools_refused_until"] is None


NAMES = ["paint.it", "paint it", "画", "p" * 80]


@pytest.mark.parametrize("name", NAMES)
def test_frontend_tool_of_any_name_is_called_and_seen_by_its_own(
    user: Api, strict: str, scripted_llm: ModelServer, name: str
):
    thread_id = str(uuid4())
    body = camel(
        run_body(
            "Paint it #calls-frontend",
            thread_id=thread_id,
            tools=[frontend(name, PATH)],
            forwarded_props={"agent_type": "react", "model_id": strict},
        )
    )
    events = run(user, body)

    assert events[-1]["type"] == "RUN_FINISHED", events[-1]
    (started,) = [event for event in events if event["type"] == "TOOL_CALL_START"]
    assert started["toolCallName"] == name
    assert events[-1]["pendingToolCallIds" if "pendingToolCallIds" in events[-1] else "outcome"]
    answer = {"id": str(uuid4()), "role": "tool", "toolCallId": started["toolCallId"], "content": "painted"}
    again = {**body, "runId": str(uuid4()), "messages": [*body["messages"], answer]}
    assert text_of(run(user, again)) == "The tool said: painted"


@pytest.mark.parametrize("name", ["", "  ", "p" * 300])
def test_frontend_tool_without_a_usable_name_is_refused_by_field(user: Api, name: str):
    request = camel(run_body("Hello", tools=[frontend("draw", PATH), frontend(name, PATH)]))
    details = user.refused(InvalidRunInput, "POST", "/agent/run", json=request)
    assert details["field"] == "tools.1.name"


def test_frontend_tool_with_the_name_of_another_is_said_to_be_shadowed(user: Api, strict: str):
    tools = [frontend("current_time", PATH), frontend("paint", PATH), frontend("paint", URL)]
    events = run_on(user, strict, "What time is it? #calls-clock", *tools)

    assert "weekday" in text_of(events)
    assert set(left_out(events)) == {"current_time", "paint"}
    assert all("this name" in reason for reason in left_out(events).values())


def test_more_tools_than_an_endpoint_takes_are_bounded(user: Api, strict: str, scripted_llm: ModelServer):
    tools = [frontend(f"paint_{number}", PATH) for number in range(150)]
    events = run_on(user, strict, "What time is it? #calls-clock", *tools)

    offered = offered_by(scripted_llm)
    assert "current_time" in offered
    assert len(offered) == 128
    assert len(left_out(events)) == 150 - sum(name.startswith("paint_") for name in offered)


@pytest.mark.parametrize(
    ("script", "arguments"),
    [("empty-arguments", "{}"), ("null-text-arguments", "{}"), ("text-arguments", '{"timezone": "UTC"}')],
)
def test_arguments_of_any_spelling_are_run_and_sent_as_an_object(
    user: Api, strict: str, scripted_llm: ModelServer, script: str, arguments: str
):
    events = run_on(user, strict, f"What time is it? #{script}")

    assert events[-1]["type"] == "RUN_FINISHED", events[-1]
    assert "weekday" in text_of(events)
    sent = "".join(event["delta"] for event in events if event["type"] == "TOOL_CALL_ARGS")
    assert sent == arguments
    (call,) = [c for m in scripted_llm.run_requests[-1].messages for c in m.get("tool_calls", ())]
    assert json.loads(call["function"]["arguments"]) == json.loads(arguments)


@pytest.mark.parametrize("script", ["empty-arguments", "null-text-arguments"])
def test_client_is_sent_an_object_for_a_call_without_arguments(
    user: Api, lenient: str, scripted_llm: ModelServer, script: str
):
    """Also where the endpoint complains of nothing."""
    events = run_on(user, lenient, f"What time is it? #{script}")

    sent = "".join(event["delta"] for event in events if event["type"] == "TOOL_CALL_ARGS")
    (call,) = [c for m in scripted_llm.run_requests[-1].messages for c in m.get("tool_calls", ())]
    assert (sent, call["function"]["arguments"]) == ("{}", "{}")


@pytest.mark.parametrize("script", ["cut-arguments", "list-arguments", "unnamed-call"])
def test_call_that_can_not_be_run_is_answered_and_the_run_goes_on(user: Api, strict: str, script: str):
    events = run_on(user, strict, f"What time is it? #{script}")

    assert events[-1]["type"] == "RUN_FINISHED", events[-1]
    assert "The tool said:" in text_of(events)
