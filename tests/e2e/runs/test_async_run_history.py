"""The history of docs/reference/run-input.md over HTTP, day by day."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from agents.async_runs.ui_schema import UiSchemaRenderer
from core.errors.auth import MessageNotFound, SessionNotFound
from core.errors.requests import InvalidRequest
from tests.fixtures.http.client import Api, conforms
from tests.fixtures.product.server import Server, one_shape
from tests.fixtures.runs.agent_runs import GUIDE
from tests.fixtures.runs.async_runs import HISTORY, answer_of, run, run_input

# The document's example; ``None`` stands for null or text.
SNAPSHOT = {
    "scope": "history_day",
    "threadId": "550e8400-e29b-41d4-a716-446655440000",
    "day": "2026-03-15",
    "hasMore": True,
    "messages": [{"id": "msg-001", "seq": 1, "role": "user", "content": "x",
                  "timestamp": "2026-03-15T10:00:00Z"}],
}  # fmt: skip
CARD = {
    "version": "2.0",
    "locale": "zh-CN",
    "status": "success",
    "theme": "default",
    "root": {"type": "stack", "appearance": "card", "children": [{"type": "text"}]},
}


def history(api: Api, **params: str) -> dict:
    answer = api.request("GET", HISTORY, params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


def card(api: Api, thread_id: str, message_id: str) -> dict | None:
    """The card of one message, without what the stream leaves out."""
    told = api.get(f"/sessions/{thread_id}/messages/{message_id}/ui-schema")
    return None if told is None else UiSchemaRenderer.model_validate(told).model_dump(by_alias=True, exclude_none=True)


def ask_in_thread(api: Api, question: str, **fields: object) -> str:
    body = run_input(question, **fields)
    run(api, body)
    return body["threadId"]


def backdate(server: Server, api: Api, thread_id: str, *moments: str) -> None:
    """Move the first messages of a thread to these moments."""
    rows = server.sql(
        "SELECT m.id FROM chat_message m JOIN chat_session s ON s.id = m.session_id "
        "WHERE s.owner_id = :owner AND s.thread_id = :thread ORDER BY m.position",
        owner=api.user_id,
        thread=thread_id,
    )
    is_sqlite = server.shape != "external"
    for row, moment in zip(rows, moments, strict=False):
        at = datetime.fromisoformat(moment).astimezone(UTC)
        value = at.replace(tzinfo=None).isoformat(" ", "microseconds") if is_sqlite else at
        server.sql("UPDATE chat_message SET created_at = :at WHERE id = :id", at=value, id=row["id"])


def seqs(snapshot: dict) -> list[int]:
    return [message["seq"] for message in snapshot["messages"]]


def test_history_has_the_documented_shape(user: Api):
    thread_id = ask_in_thread(user, "hello")
    told = history(user, threadId=thread_id)

    conforms(told, SNAPSHOT)
    assert set(told) == set(SNAPSHOT)
    assert (told["threadId"], told["hasMore"], seqs(told)) == (thread_id, False, [1, 2])
    question, answer = told["messages"]
    assert set(question) == {"id", "seq", "role", "content", "attachments", "timestamp"}
    assert (question["role"], question["content"], question["attachments"]) == ("user", "hello", [])
    assert set(answer) == {"id", "seq", "role", "content", "ui_schema", "timestamp"}
    conforms(answer["ui_schema"], CARD)
    assert told["day"] == question["timestamp"][:10]


def test_card_of_the_history_is_that_of_the_stream(user: Api):
    kb_id = user.create_kb()
    user.ingest(kb_id, "relay.md", GUIDE)
    thread_id = user.post("/sessions", {"config": {"knowledge_base_ids": [kb_id]}})["id"]
    for question in ("Which port does the relay listen on?", "Who invented the zeppelin?"):
        streamed = answer_of(run(user, run_input(question, threadId=thread_id)))
        last = history(user, threadId=thread_id)["messages"][-1]
        assert card(user, thread_id, last["id"]) == last["ui_schema"]
        assert last["id"] == streamed["messageId"]
        assert last["content"] == streamed["answer"]
        assert last["ui_schema"] == streamed["ui_schema"]


def test_card_of_one_message_is_its_owners_and_that_of_an_answer_alone(server: Server, user: Api):
    thread_id = ask_in_thread(user, "hello")
    question, answer = history(user, threadId=thread_id)["messages"]
    assert card(user, thread_id, answer["id"]) == answer["ui_schema"]
    assert card(user, thread_id, question["id"]) is None
    user.refused(MessageNotFound, "GET", f"/sessions/{thread_id}/messages/{uuid4()}/ui-schema")
    server.person().refused(SessionNotFound, "GET", f"/sessions/{thread_id}/messages/{answer['id']}/ui-schema")


def test_card_of_a_failed_run_is_that_of_the_stream(llm_product: Server):
    person = llm_product.person()
    body = run_input("#plain-then-nothing", forwardedProps={"agent_type": "react"})
    body["messages"][0]["content"] = "#drop"
    streamed = answer_of(run(person, body))
    last = history(person)["messages"][-1]

    assert (streamed["status"], last["content"]) == ("failed", "Hel")
    assert last["ui_schema"] == streamed["ui_schema"]


def test_newest_thread_is_shown_when_none_is_named(user: Api):
    ask_in_thread(user, "hello")
    newest = ask_in_thread(user, "hello again")
    user.post("/sessions", {"title": "empty, though newer"})

    assert history(user)["threadId"] == newest
    user.put(f"/sessions/{newest}", {"is_archived": True})
    assert history(user)["threadId"] != newest


def test_history_of_somebody_without_threads_is_empty(user: Api):
    assert history(user) == {
        "scope": "history_day",
        "threadId": None,
        "day": None,
        "hasMore": False,
        "messages": [],
    }


def test_days_are_told_one_by_one(server: Server, user: Api):
    thread_id = ask_in_thread(user, "one")
    for question in ("two", "three"):
        ask_in_thread(user, question, threadId=thread_id)
    backdate(server, user, thread_id,
              "2026-03-14T23:59:59.999999+00:00", "2026-03-15T00:00:00+00:00",
              "2026-03-15T10:00:00+00:00", "2026-03-15T23:59:59+00:00")  # fmt: skip

    today = history(user, threadId=thread_id)
    assert (seqs(today), today["hasMore"]) == ([5, 6], True)
    day = history(user, threadId=thread_id, before=today["day"])
    assert (day["day"], seqs(day), day["hasMore"]) == ("2026-03-15", [2, 3, 4], True)
    assert [m["timestamp"] for m in day["messages"]][:2] == [
        "2026-03-15T00:00:00Z",
        "2026-03-15T10:00:00Z",
    ]
    first = history(user, threadId=thread_id, before="2026-03-15")
    assert (first["day"], seqs(first), first["hasMore"]) == ("2026-03-14", [1], False)
    none = history(user, threadId=thread_id, before="2026-03-14")
    assert (none["threadId"], none["day"], none["messages"]) == (thread_id, None, [])
    assert none["hasMore"] is False


def test_days_are_those_of_the_accounts_time_zone(server: Server, user: Api):
    thread_id = ask_in_thread(user, "one")
    ask_in_thread(user, "two", threadId=thread_id)
    backdate(server, user, thread_id,
              "2026-03-15T15:59:59+00:00", "2026-03-15T16:00:00+00:00")  # fmt: skip

    def day_of(before: str) -> tuple[str, list[int]]:
        told = history(user, threadId=thread_id, before=before)
        return told["day"], seqs(told)

    assert day_of("2026-03-20") == ("2026-03-15", [1, 2])
    user.put("/users/me", {"settings": {"timezone": "Asia/Shanghai"}})
    assert day_of("2026-03-20") == ("2026-03-16", [2])
    assert day_of("2026-03-16") == ("2026-03-15", [1])


@pytest.mark.parametrize("before", ["0001-01-01", "1970-01-01", "9999-12-31"])
def test_any_date_can_be_asked_for(user: Api, before: str):
    ask_in_thread(user, "hello")
    assert bool(history(user, before=before)["messages"]) is (before == "9999-12-31")


@one_shape
@pytest.mark.parametrize("before", ["", "today", "2026-3-15", "20260315", "2026-13-01", "2026-02-30",
                                    "2026-03-15T00:00:00", "0000-01-01"])  # fmt: skip
def test_date_that_is_none_is_refused(user: Api, before: str):
    details = user.refused(InvalidRequest, "GET", HISTORY, params={"before": before})
    assert details["field"] == "before"


def test_thread_of_somebody_else_is_not_found(user: Api, other: Api):
    thread_id = ask_in_thread(user, "hello")

    other.refused(SessionNotFound, "GET", HISTORY, params={"threadId": thread_id})
    user.refused(SessionNotFound, "GET", HISTORY, params={"threadId": str(uuid4())})


def test_moments_are_now(user: Api):
    ask_in_thread(user, "hello")
    at = datetime.fromisoformat(history(user)["messages"][0]["timestamp"])
    assert abs(datetime.now(UTC) - at) < timedelta(minutes=5)
