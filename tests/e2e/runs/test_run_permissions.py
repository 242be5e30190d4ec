"""The permissions of runs: those of the account and of the API key that began them."""

import json
from typing import Any
from uuid import uuid4

import pytest

from core.errors.auth import PermissionDenied
from tests.fixtures.http.client import Api, eventually
from tests.fixtures.llm.model_server import ModelServer
from tests.fixtures.product.server import Server
from tests.fixtures.runs.agent_runs import GUIDE, camel, run, run_body, text_of, types_of, verified_run

QUESTION = "Which port does the relay server listen on?"
BOOK = {"action": "create", "event_timezone": "UTC", "title": "Talk", "start": "2026-11-23T09:00"}
BOOKING = f"/tool calendar_write {json.dumps(BOOK)}"
OFF = "The tool calendar_write is switched off"


def revoke(server: Server, user: Api, *permissions: str) -> None:
    server.sql(
        'UPDATE "user" SET revoked = :revoked WHERE id = :id',
        revoked=json.dumps(permissions),
        id=user.user_id,
    )


def with_api_key(server: Server, user: Api, *scopes: str) -> Api:
    key = user.post("/users/me/api-keys", {"name": "k", "scopes": scopes})["key"]
    return server.api(**{"X-API-Key": key})


def run_question(user: Api, question: str, **props: Any) -> list[dict[str, Any]]:
    return verified_run(user, question, forwarded_props={"agent_type": "react", **props})


@pytest.fixture
def person(embedded: Server) -> Api:
    return embedded.person()


@pytest.fixture
def kb_id(person: Api) -> str:
    kb_id = person.create_kb()
    person.ingest(kb_id, "relay.md", GUIDE)
    return kb_id


def test_run_searches_nothing_for_who_may_look_at_nothing(embedded: Server, person: Api, kb_id: str):
    reader, blind = (
        with_api_key(embedded, person, "agent:run", "kb:view"),
        with_api_key(embedded, person, "agent:run"),
    )
    assert "7070" in text_of(run_question(reader, QUESTION))
    assert "7070" not in text_of(run_question(blind, QUESTION))

    revoke(embedded, person, "kb:view")
    for caller in (person, reader):
        events = run_question(caller, QUESTION)
        assert "TOOL_CALL_START" not in types_of(events)
        assert "7070" not in text_of(events)
        body = run_body(QUESTION, forwarded_props={"knowledge_base_ids": [kb_id]})
        refused = caller.refused(PermissionDenied, "POST", "/agent/run", json=body)
        assert refused == {"permission": "kb:view"}


def test_tools_do_not_do_what_the_account_or_the_key_may_not(embedded: Server, person: Api):
    narrow = with_api_key(embedded, person, "agent:run", "calendar:view")
    told = text_of(run_question(narrow, BOOKING))
    assert "There is no tool `calendar_write`" in told
    assert "`calendar_read`" in told
    assert "recall_memory" not in told

    revoke(embedded, person, "calendar:write")
    assert "There is no tool `calendar_write`" in text_of(run_question(person, BOOKING))
    assert person.get("/calendar/events")["total"] == 0
    revoke(embedded, person)
    run_question(person, BOOKING)
    assert person.get("/calendar/events")["total"] == 1


@pytest.mark.parametrize("answers_by", ["the account", "a key that may less"])
def test_approved_call_is_not_made_by_who_may_it_no_more(embedded: Server, person: Api, answers_by: str):
    person.put("/users/me/tool-policies", {"policies": {"calendar_write": "ask"}})
    thread_id = str(uuid4())
    waits = run(person, camel(run_body(BOOKING, thread_id=thread_id)))
    (interrupt,) = waits[-1]["outcome"]["interrupts"]
    if answers_by == "the account":
        revoke(embedded, person, "calendar:write")
        caller = person
    else:
        caller = with_api_key(embedded, person, "agent:run")
    said = {"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}
    body = camel(run_body("", thread_id=thread_id)) | {"messages": [], "resume": [said]}
    assert OFF in text_of(run(caller, body))
    assert person.get("/calendar/events")["total"] == 0


def test_run_is_told_no_memories_that_its_key_may_not_see(llm_product: Server, scripted_llm: ModelServer):
    person = llm_product.person()
    person.post("/memories", {"text": "I am allergic to walnuts"})
    blind = with_api_key(llm_product, person, "agent:run", "memory:write")
    run_question(blind, "What may I eat, walnuts? #plain")
    assert "allergic" not in str(scripted_llm.requests[0].body)
    assert "recall_memory" not in str(scripted_llm.requests[0].body)
    assert "save_memory" in str(scripted_llm.requests[0].body)
    scripted_llm.requests.clear()
    run_question(person, "What may I eat, walnuts? #plain")
    assert "allergic" in str(scripted_llm.requests[0].body)


def test_nothing_is_noted_after_runs_of_who_may_not(embedded: Server, person: Api):
    person.put("/users/me", {"remember_after_runs": True})
    said = "Please remember that I am allergic to"
    run_question(with_api_key(embedded, person, "agent:run"), f"{said} walnuts")
    run_question(person, f"{said} peanuts")

    def looked_through() -> bool:
        return embedded.count("distillation") == 0 and person.get("/memories")["total"] > 0

    eventually(looked_through, what="both runs looked through")
    (memory,) = person.get("/memories")["items"]
    assert "peanuts" in memory["text"]
