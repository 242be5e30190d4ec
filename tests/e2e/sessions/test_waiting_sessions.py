"""Sessions whose runs wait for a person, in the list of sessions, over HTTP."""

import json
from typing import Any
from uuid import uuid4

from core.errors.auth import PermissionDenied
from tests.fixtures.http.client import Api
from tests.fixtures.product.server import Server, one_shape
from tests.fixtures.runs.agent_runs import ask, camel, run, run_body, verified_run

BOOK = {"action": "create", "event_timezone": "UTC", "title": "Talk", "start": "2026-11-23T09:00"}
BOOKING = f"/tool calendar_write {json.dumps(BOOK)}"


def wait_for_approval(user: Api) -> tuple[str, dict[str, Any]]:
    """Begin a run that waits for an approval; gives its thread and the interrupt."""
    user.put("/users/me/tool-policies", {"policies": {"calendar_write": "ask"}})
    thread_id = str(uuid4())
    events = verified_run(user, BOOKING, thread_id=thread_id, forwarded_props={"agent_type": "react"})
    (interrupt,) = events[-1]["outcome"]["interrupts"]
    return thread_id, interrupt


def waiting(user: Api, **query: Any) -> list[dict[str, Any]]:
    return user.get("/sessions", waiting=True, **query)["items"]


def answer(user: Api, thread_id: str, interrupt: dict[str, Any]) -> None:
    said = {"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}
    run(user, camel(run_body("", thread_id=thread_id)) | {"messages": [], "resume": [said]})


def test_waiting_session_is_listed_with_its_interrupt_until_that_is_answered(user: Api):
    ask(user, "What is the port?", thread_id=str(uuid4()))
    thread_id, interrupt = wait_for_approval(user)

    (listed,) = waiting(user)
    assert listed["thread_id"] == thread_id
    (open_interrupt,) = listed["interrupts"]
    assert open_interrupt == {
        "id": interrupt["id"],
        "reason": interrupt["reason"],
        "message": interrupt["message"],
        "tool": "calendar_write",
        "expires_at": open_interrupt["expires_at"],
    }
    page = user.get("/sessions", waiting=False)
    assert page["total"] == 1
    assert [row["interrupts"] for row in page["items"]] == [[]]
    assert user.get("/sessions")["total"] == 2
    assert [row["thread_id"] for row in waiting(user, search="calendar_write")] == [thread_id]
    assert waiting(user, is_archived=True) == []

    answer(user, thread_id, interrupt)
    assert waiting(user) == []


@one_shape
def test_interrupt_that_expired_needs_nobody(server: Server, user: Api):
    _, interrupt = wait_for_approval(user)
    server.sql("UPDATE run_interrupt SET expires_at = '2020-01-01 00:00:00' WHERE id = :id", id=interrupt["id"])
    assert waiting(user) == []
    assert [row["interrupts"] for row in user.get("/sessions")["items"]] == [[]]


def test_waiting_sessions_are_seen_by_nobody_else(server: Server, user: Api, other: Api):
    wait_for_approval(user)
    assert waiting(other) == []
    assert waiting(server.admin(), search="calendar_write") == []
    key = user.post("/users/me/api-keys", {"name": "k", "scopes": ["agent:run"]})["key"]
    blind = server.api(**{"X-API-Key": key})
    assert blind.refused(PermissionDenied, "GET", "/sessions?waiting=true") == {"permission": "session:view"}
