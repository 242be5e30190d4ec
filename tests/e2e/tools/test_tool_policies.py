"""Tool policies over HTTP: the person's choice within the operator's."""

import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from core.errors.auth import ToolPolicyFixed
from core.errors.requests import InvalidRequest
from tests.fixtures.http.client import Api
from tests.fixtures.llm.model_server import ModelServer
from tests.fixtures.llm.tool_scripts import BOOKING
from tests.fixtures.product.api_processes import ApiProcesses
from tests.fixtures.product.server import Server
from tests.fixtures.runs.agent_runs import GUIDE, camel, run, run_body, text_of, types_of

PATH = "/users/me/tool-policies"
BOUNDS = {"save_memory": "never", "current_time": "ask"}


@pytest.fixture(scope="module")
def bounded(standalone_apis: ApiProcesses) -> Iterator[Server]:
    """The API where the operator has set bounds."""
    # There the calendar waits to be let go.
    standalone_apis.release(BOOKING["title"])
    server = standalone_apis.start(AGENTEX_TOOL_POLICIES=json.dumps(BOUNDS))
    yield server
    standalone_apis.stop(server)


@pytest.fixture
def user(bounded: Server, scripted_llm: ModelServer) -> Api:
    return bounded.person()


def policy_of(user: Api, tool: str) -> dict[str, Any]:
    (found,) = [one for one in user.get(PATH)["items"] if one["tool"] == tool]
    return found


def choose(user: Api, **policies: str | None) -> None:
    user.put(PATH, {"policies": policies})


def run_script(user: Api, script: str, **fields: Any) -> list[dict[str, Any]]:
    """A run in which the model calls the script's tool."""
    props = {"agent_type": "react"}
    return run(user, camel(run_body(f"Go on #{script}", forwarded_props=props, **fields)))


def offered_tools(scripted_llm: ModelServer) -> set[str]:
    return {tool["function"]["name"] for tool in scripted_llm.requests[0].body["tools"]}


def approve(user: Api, thread_id: str, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The run that goes on once its owner agreed."""
    (interrupt,) = events[-1]["outcome"]["interrupts"]
    said = {"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}
    body = camel(run_body("", thread_id=thread_id)) | {"messages": [], "resume": [said]}
    return run(user, body)


def test_every_tool_is_listed_with_what_applies(user: Api):
    listed = user.get(PATH)
    assert listed["total"] == len(listed["items"])
    assert policy_of(user, "calendar_write") == {
        "tool": "calendar_write", "policy": "auto", "default": "auto", "own": None, "bound": None,
    }  # fmt: skip
    assert policy_of(user, "current_time")["policy"] == "ask"
    assert policy_of(user, "save_memory")["bound"] == "never"


def test_tool_that_asks_is_called_once_its_owner_agrees(user: Api, other_person: Api):
    choose(user, calendar_write="ask")
    thread_id = str(uuid4())
    events = run_script(user, "calls-calendar", thread_id=thread_id)

    assert events[-1]["outcome"]["type"] == "interrupt"
    assert user.get("/calendar/events")["total"] == 0
    # What is chosen meanwhile is for runs that begin then.
    choose(user, calendar_write="never")
    went_on = approve(user, thread_id, events)
    assert '"status": "created"' in text_of(went_on)
    assert user.get("/calendar/events")["total"] == 1

    assert "created" in text_of(run_script(other_person, "calls-calendar"))
    user.delete(PATH)
    assert policy_of(user, "calendar_write")["policy"] == "auto"
    run_script(user, "calls-calendar")
    assert user.get("/calendar/events")["total"] == 2


@pytest.fixture
def other_person(bounded: Server) -> Api:
    return bounded.person()


def test_tool_that_is_switched_off_is_not_offered_and_its_call_is_refused(user: Api, scripted_llm: ModelServer):
    choose(user, calendar_write="never")
    events = run_script(user, "calls-calendar")

    assert "calendar_read" in offered_tools(scripted_llm)
    assert "calendar_write" not in offered_tools(scripted_llm)
    assert "calendar_write is switched off" in text_of(events)
    assert "outcome" not in events[-1]
    assert user.get("/calendar/events")["total"] == 0
    choose(user, calendar_write=None)
    assert policy_of(user, "calendar_write")["own"] is None


def test_what_the_operator_switched_off_stays_off(user: Api, scripted_llm: ModelServer):
    for policy in ("auto", "ask"):
        details = user.refused(ToolPolicyFixed, "PUT", PATH, json={"policies": {"save_memory": policy}})
        assert details == {"tool": "save_memory", "policy": "never"}
    choose(user, save_memory="never")
    assert "save_memory is switched off" in text_of(run_script(user, "calls-memory"))
    assert "save_memory" not in offered_tools(scripted_llm)
    assert user.get("/memories")["total"] == 0


def test_person_may_be_stricter_than_the_operator_but_not_freer(user: Api):
    user.refused(
        ToolPolicyFixed,
        "PUT",
        PATH,
        json={"policies": {"calendar_write": "never", "current_time": "auto"}},
    )
    assert policy_of(user, "calendar_write")["own"] is None, "nothing of a refused choice counts"
    assert run_script(user, "calls-clock")[-1]["outcome"]["type"] == "interrupt"
    choose(user, current_time="never")
    assert "current_time is switched off" in text_of(run_script(user, "calls-clock"))


@pytest.mark.parametrize(
    "body",
    [{}, {"policies": {"no_such_tool": "ask"}}, {"policies": {"calendar_write": "perhaps"}},
     {"policies": {"x" * 300: "ask"}}, {"policies": ["calendar_write"]}, {"tools": {}}],
)  # fmt: skip
def test_what_is_no_choice_is_refused(user: Api, body: Any):
    before = user.get(PATH)
    user.refused(InvalidRequest, "PUT", PATH, json=body)
    assert user.get(PATH) == before


@pytest.mark.parametrize("agent_type", ["react", "agentic_rag", "plan_execute", "reflexion", "worker"])
def test_search_may_ask_or_be_switched_off_like_any_tool(embedded: Server, agent_type: str):
    user = embedded.person()
    kb_id = user.create_kb()
    user.ingest(kb_id, "relay.md", GUIDE)
    props = {"agent_type": agent_type, "knowledge_base_ids": [kb_id]}
    question = "Which port does the relay server listen on?"
    choose(user, search_knowledge_base="ask")
    thread_id = str(uuid4())
    body = run_body(question, thread_id=thread_id, forwarded_props=props)
    waited = run(user, camel(body))
    assert waited[-1]["outcome"]["interrupts"][0]["metadata"]["tool"] == "search_knowledge_base"
    assert text_of(waited) == ""
    went_on = approve(user, thread_id, waited)
    while went_on[-1].get("outcome"):
        went_on = approve(user, thread_id, went_on)
    assert "port 7070" in text_of(went_on)

    choose(user, search_knowledge_base="never")
    without = run(user, camel(run_body(question, forwarded_props=props)))
    assert without[-1]["type"] == "RUN_FINISHED"
    assert "TOOL_CALL_START" not in types_of(without)
    assert "7070" not in text_of(without)
