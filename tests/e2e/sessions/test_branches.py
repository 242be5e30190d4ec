"""Branches of conversations over HTTP (docs/reference/agentex-api.md, section 5.7)."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest

from agents.agui.verifier import verify
from core.errors.auth import PermissionDenied, RetrievalNotFound, SessionNotFound
from core.errors.conflicts import BranchesFull, SessionArchived
from core.errors.requests import InvalidRequest
from tests.e2e.runs.test_message_documents import asking, document_part, files_shown
from tests.e2e.runs.test_run_permissions import with_api_key
from tests.fixtures.http.client import Api, check_error, eventually
from tests.fixtures.llm.model_server import ModelServer
from tests.fixtures.product.server import Server
from tests.fixtures.runs.agent_runs import (
    GUIDE,
    AguiClient,
    GuideKb,
    Run,
    ask,
    camel,
    make_guide_kb,
    run,
    run_body,
    verified_run,
)

BOOK = {"action": "create", "event_timezone": "UTC", "title": "Talk", "start": "2026-11-23T09:00"}


def messages_of(user: Api, session_id: str) -> list[dict[str, Any]]:
    return user.get(f"/sessions/{session_id}/messages")["items"]


def question_ids(user: Api, session_id: str) -> list[str]:
    return [message["id"] for message in messages_of(user, session_id) if message["role"] == "user"]


def contents(user: Api, session_id: str) -> list[str]:
    return [message["content"] for message in messages_of(user, session_id)]


def talk(user: Api, *questions: str, thread_id: str = "", **fields: Any) -> str:
    thread_id = thread_id or user.post("/sessions", {})["id"]
    for question in questions:
        ask(user, question, thread_id=thread_id, **fields)
    return thread_id


def branch(user: Api, session_id: str, number: int) -> str:
    """A branch before the question of this number, from 0."""
    body = {"before_message_id": question_ids(user, session_id)[number]}
    return user.post(f"/sessions/{session_id}/branches", body)["id"]


def joined(user: Api, thread_id: str) -> list[dict[str, Any]]:
    answer = user.request("POST", "/agent/connect", json={"threadId": thread_id})
    assert answer.status_code == 200, answer.text
    events = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: ")]
    verify(events, thread_id=thread_id)
    return events


def snapshots(user: Api, thread_id: str) -> tuple[list[dict[str, Any]], Any]:
    """The messages and the state that a client gets that joins a thread."""
    events = joined(user, thread_id)
    messages = next(event["messages"] for event in events if event["type"] == "MESSAGES_SNAPSHOT")
    return messages, next(event["snapshot"] for event in events if event["type"] == "STATE_SNAPSHOT")


def points(user: Api, session_id: str) -> dict[str, list[str]]:
    """The sessions that a session's branch points lead to, by message."""
    items = user.get(f"/sessions/{session_id}/branches")["items"]
    return {item["message_id"]: [alternative["session_id"] for alternative in item["alternatives"]] for item in items}


def fresh_figures(server: Server, admin: Api) -> dict[str, Any]:
    """The system's figures as of now; they are kept for a while."""

    def read() -> dict[str, Any] | None:
        figures = admin.get("/admin/system/info")
        return figures if figures["session_count"] == server.count("chat_session") else None

    return eventually(read, what="figures with the newest session")


def without(fields: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in names}


@pytest.fixture
def guide(user: Api) -> GuideKb:
    return make_guide_kb(user)


def test_branch_begins_as_its_origin_did(user: Api, guide: GuideKb):
    props = {"forwarded_props": {"agent_type": "agentic_rag", "knowledge_base_ids": [guide.kb_id]}}
    config = {"agent_type": "agentic_rag", "knowledge_base_ids": [guide.kb_id]}
    origin = user.post("/sessions", {"title": "Relays", "config": config})
    talk(user, "Which port does the relay server listen on?", thread_id=origin["id"], **props)
    messages, state = snapshots(user, origin["id"])
    history = user.request("GET", "/agent/history", params={"threadId": origin["id"]}).json()
    talk(user, "When is the backup?", thread_id=origin["id"], **props)
    made = branch(user, origin["id"], 1)

    row = user.get(f"/sessions/{made}")
    assert (row["title"], row["config"], row["message_count"]) == ("Relays", config, 2)
    assert row["conversation_id"] == user.get(f"/sessions/{origin['id']}")["conversation_id"] == origin["id"]
    assert [m["role"] for m in messages if m["role"] == "tool"] != []
    assert messages[-1]["metadata"]["citations"] != []
    assert snapshots(user, made) == (messages, state)
    copies, originals = messages_of(user, made), messages_of(user, origin["id"])
    assert [without(m, "run_id") for m in copies] == [without(m, "run_id") for m in originals[:2]]
    copied = user.request("GET", "/agent/history", params={"threadId": made}).json()
    assert copied == {**history, "threadId": made}
    # What the copies of runs say of themselves is true in the branch.
    events = user.request("GET", f"/agent/run/{copies[-1]['run_id']}/events").text
    logged = [json.loads(line[6:]) for line in events.splitlines() if line.startswith("data: ")]
    verify(logged, thread_id=made, run_id=copies[-1]["run_id"])


def test_model_gets_the_messages_of_the_branch_alone(llm_product: Server, scripted_llm: ModelServer):
    user = llm_product.person()
    origin = talk(user, "First #plain", "Second #plain", "Third #plain")
    made = branch(user, origin, 1)
    talk(user, "Otherwise #plain", thread_id=made)

    sent = [str(message["content"]) for message in scripted_llm.run_requests[-1].messages]
    assert [text for text in sent if "#plain" in text] == ["First #plain", "Otherwise #plain"]
    talk(user, "Fourth #plain", thread_id=origin)
    sent = [str(message["content"]) for message in scripted_llm.run_requests[-1].messages]
    assert not any("Otherwise" in text for text in sent)
    assert contents(user, made)[::2] == ["First #plain", "Otherwise #plain"]
    assert contents(user, origin)[::2] == ["First #plain", "Second #plain", "Third #plain", "Fourth #plain"]


def test_branch_points_lead_from_branch_to_branch(user: Api):
    origin = talk(user, "one", "two", "three")
    assert points(user, origin) == {}
    first = branch(user, origin, 1)
    # Nothing was asked in it yet.
    assert points(user, origin) == points(user, first) == {}
    talk(user, "two again", thread_id=first)
    second = branch(user, first, 1)
    talk(user, "two once more", thread_id=second)
    third = branch(user, origin, 0)
    talk(user, "one again", thread_id=third)

    one, two, three = question_ids(user, origin)
    beginning = [second, third]
    assert points(user, origin) == {one: [origin, third], two: [origin, first, second]}
    assert points(user, first) == {one: [first, third], question_ids(user, first)[1]: [origin, first, second]}
    assert points(user, third) == {question_ids(user, third)[0]: beginning}
    # The branch of the copied question that was used last.
    talk(user, "on", thread_id=origin)
    assert points(user, third) == {question_ids(user, third)[0]: [origin, third]}
    assert three not in points(user, origin)


def test_branch_of_a_branch_begins_as_it_did(user: Api):
    origin = talk(user, "one", "two")
    first = branch(user, origin, 1)
    talk(user, "two again", thread_id=first)
    messages, state = snapshots(user, first)
    talk(user, "three", thread_id=first)
    second = branch(user, first, 2)

    assert snapshots(user, second) == (messages, state)
    assert contents(user, second)[::2] == ["one", "two again"]


def test_branch_before_the_first_question_is_empty(user: Api):
    origin = talk(user, "one")
    made = branch(user, origin, 0)

    assert messages_of(user, made) == []
    user.refused(SessionNotFound, "POST", "/agent/connect", json={"threadId": made})
    talk(user, "another", thread_id=made)
    assert contents(user, made)[0] == "another"
    assert user.get(f"/sessions/{made}")["title"] == "one"


def test_questions_that_came_together_stay_in_their_order(user: Api):
    body = run_body("third")
    earlier = [{"id": str(uuid4()), "role": "user", "content": text} for text in ("first", "second")]
    run(user, {**body, "messages": [*earlier, *body["messages"]]})
    made = branch(user, body["thread_id"], 2)
    talk(user, "last", thread_id=made)

    messages, _ = snapshots(user, made)
    assert [m["content"] for m in messages if m["role"] == "user"] == ["first", "second", "last"]
    assert contents(user, made)[:3] == ["first", "second", "last"]


def test_run_under_way_goes_on_while_others_branch(llm_product: Server, scripted_llm: ModelServer):
    user = llm_product.person()
    origin = talk(user, "Hello #plain")
    body = run_body("Slowly #slow", thread_id=origin)
    with Run(user, body) as streaming:
        streaming.until("TEXT_MESSAGE_CONTENT")
        made = branch(user, origin, 1)
        talk(user, "Quickly #plain", thread_id=made)
        scripted_llm.release.set()
        assert streaming.finish()[-1]["type"] == "RUN_FINISHED"

    assert contents(user, made)[::2] == ["Hello #plain", "Quickly #plain"]
    assert contents(user, origin)[::2] == ["Hello #plain", "Slowly #slow"]


def test_nothing_waits_in_a_branch(user: Api):
    user.put("/users/me/tool-policies", {"policies": {"calendar_write": "ask"}})
    origin = str(uuid4())
    events = verified_run(
        user, f"/tool calendar_write {json.dumps(BOOK)}", thread_id=origin, forwarded_props={"agent_type": "react"}
    )
    (interrupt,) = events[-1]["outcome"]["interrupts"]
    beside = {"id": "beside", "role": "user", "content": "And hello"}
    said = {"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}
    run(user, camel(run_body("", thread_id=origin)) | {"messages": [beside], "resume": [said]})
    made = user.post(f"/sessions/{origin}/branches", {"before_message_id": "beside"})["id"]

    assert joined(user, made)[-1].get("outcome", {}).get("type") != "interrupt"
    assert user.get("/sessions", waiting=True)["items"] == []
    talk(user, "Something else", thread_id=made)
    assert contents(user, made)[-2] == "Something else"


def test_branch_remains_when_its_origin_goes(user: Api, guide: GuideKb):
    props = {"forwarded_props": {"agent_type": "agentic_rag", "knowledge_base_ids": [guide.kb_id]}}
    origin = talk(user, "Which port does the relay server listen on?", "When is the backup?", **props)
    made = branch(user, origin, 1)
    messages = snapshots(user, made)
    (citation, *_) = messages[0][-1]["metadata"]["citations"]
    record = user.get(f"/retrievals/{citation['retrieval_id']}")
    assert user.request("DELETE", f"/sessions/{origin}", params={"scope": "branch"}).status_code == 200

    user.refused(SessionNotFound, "GET", f"/sessions/{origin}")
    assert snapshots(user, made) == messages
    # What was searched for the copied answer can still be looked at.
    assert user.get(f"/retrievals/{citation['retrieval_id']}") == record
    talk(user, "And now?", thread_id=made, **props)
    assert len(contents(user, made)) == 4
    user.delete(f"/sessions/{made}")
    user.refused(RetrievalNotFound, "GET", f"/retrievals/{citation['retrieval_id']}")


def test_origin_remains_when_its_branch_goes(user: Api):
    origin = talk(user, "one", "two")
    made = branch(user, origin, 1)
    talk(user, "two again", thread_id=made)
    before = snapshots(user, origin)
    user.request("DELETE", f"/sessions/{made}", params={"scope": "branch"})

    user.refused(SessionNotFound, "GET", f"/sessions/{made}")
    assert snapshots(user, origin) == before
    assert points(user, origin) == {}


def test_conversation_is_one_thing_in_lists(user: Api):
    origin = talk(user, "apple", "pear")
    made = branch(user, origin, 1)
    listed = user.get("/sessions")
    # One in which nothing was asked yet hides none.
    assert ([row["id"] for row in listed["items"]], listed["total"]) == ([origin], 1)
    talk(user, "plum", thread_id=made)
    other = talk(user, "cherry")

    listed = user.get("/sessions", sort_by="updated_at")
    assert ([row["id"] for row in listed["items"]], listed["total"]) == ([other, made], 2)
    found = user.get("/sessions", search="pear")
    assert ([row["id"] for row in found["items"]], found["total"]) == ([origin], 1)
    assert found["items"][0]["match"]["message_id"] == question_ids(user, origin)[1]
    both = user.get("/sessions", search="apple")
    assert ([row["id"] for row in both["items"]], both["total"]) == ([made], 1)
    talk(user, "fig", thread_id=origin)
    assert {row["id"] for row in user.get("/sessions")["items"]} == {other, origin}


def test_title_and_archive_mark_are_those_of_the_conversation(user: Api):
    origin = talk(user, "one", "two")
    made = branch(user, origin, 1)
    user.put(f"/sessions/{origin}", {"title": "Both", "config": {"agent_type": "react"}})

    assert (user.get(f"/sessions/{made}")["title"], user.get(f"/sessions/{made}")["config"]) == ("Both", {})
    user.put(f"/sessions/{made}", {"is_archived": True})
    assert user.get(f"/sessions/{origin}")["is_archived"] is True
    assert user.get("/sessions", is_archived=True)["total"] == 1
    assert user.get("/sessions", is_archived=False)["total"] == 0
    place_of_branch = {"before_message_id": question_ids(user, origin)[0]}
    user.refused(SessionArchived, "POST", f"/sessions/{origin}/branches", json=place_of_branch)


def test_deleting_a_conversation_stops_and_deletes_all_branches(llm_product: Server, scripted_llm: ModelServer):
    user = llm_product.person()
    origin = talk(user, "Hello #plain", "Again #plain")
    made = branch(user, origin, 1)
    with Run(user, run_body("Slowly #slow", thread_id=made)) as streaming:
        streaming.until("TEXT_MESSAGE_CONTENT")
        user.delete(f"/sessions/{origin}")
        streaming.finish()

    assert scripted_llm.hung_up.wait(5)
    for table in ("chat_session", "agent_run"):
        assert llm_product.count(table, owner_id=user.user_id) == 0
    user.refused(SessionNotFound, "GET", f"/sessions/{made}")


def test_branching_spends_nothing(llm_product: Server):
    user, admin = llm_product.person(), llm_product.admin()
    origin = talk(user, "One #plain", "Two #plain")
    user.post("/sessions", {})
    spent, runs = user.get("/models/usage"), fresh_figures(llm_product, admin)["runs"]
    made = branch(user, origin, 1)

    assert user.get("/models/usage") == spent
    assert fresh_figures(llm_product, admin)["runs"] == runs
    talk(user, "Three #plain", thread_id=made)
    assert user.get("/models/usage")["totals"]["runs"] == spent["totals"]["runs"] + 1
    # A conversation counts once against the number that somebody may have.
    admin.put("/admin/system/config/max_sessions_per_user", {"value": 3})
    try:
        user.post("/sessions", {})
        assert user.request("POST", "/sessions", json={}).status_code == 409
    finally:
        admin.delete("/admin/system/config/max_sessions_per_user")


def test_attached_document_is_read_in_a_branch_and_stays_with_it(llm_product: Server, scripted_llm: ModelServer):
    user = llm_product.person()
    body = asking("Which port is it? #attached", document_part(GUIDE, name="relay.md"))
    run(user, body)
    origin = body["threadId"]
    talk(user, "On #plain", thread_id=origin)
    made, empty = branch(user, origin, 1), branch(user, origin, 0)
    user.request("DELETE", f"/sessions/{origin}", params={"scope": "branch"})
    for thread_id, count in ((made, 1), (empty, 0)):
        scripted_llm.requests.clear()
        again = asking("And where? #attached")
        run(user, {**again, "threadId": thread_id})
        assert len({passage["document"] for passage in files_shown(scripted_llm)}) == count

    kept = "SELECT id FROM attachment WHERE owner_id = :id AND deleted_at IS NULL"
    assert len(llm_product.sql(kept, id=user.user_id)) == 1
    user.delete(f"/sessions/{made}")
    assert llm_product.sql(kept, id=user.user_id) == []


@pytest.mark.parametrize("place", ["unknown", "answer", "blank", "missing"])
def test_branch_departs_before_a_question_alone(user: Api, place: str):
    origin = talk(user, "one")
    question, answer = (message["id"] for message in messages_of(user, origin))
    body = {"unknown": "nothing", "answer": answer, "blank": ""}
    place_of_branch = {"before_message_id": body[place]} if place in body else {}
    user.refused(InvalidRequest, "POST", f"/sessions/{origin}/branches", json=place_of_branch)

    assert user.get(f"/sessions/{origin}")["conversation_id"] is None
    assert user.get("/sessions")["total"] == 1
    assert question


def test_branches_are_as_private_as_their_session(server: Server, user: Api):
    origin = talk(user, "one")
    other = server.person()
    place_of_branch = {"before_message_id": question_ids(user, origin)[0]}
    other.refused(SessionNotFound, "POST", f"/sessions/{origin}/branches", json=place_of_branch)
    other.refused(SessionNotFound, "GET", f"/sessions/{origin}/branches")
    user.refused(SessionNotFound, "POST", f"/sessions/{uuid4()}/branches", json=place_of_branch)
    reader = with_api_key(server, user, "session:view")
    reader.refused(PermissionDenied, "POST", f"/sessions/{origin}/branches", json=place_of_branch)
    assert reader.get(f"/sessions/{origin}/branches") == {"items": []}


def test_conversation_has_a_limit_of_branches_however_they_come(server: Server, user: Api):
    origin = talk(user, "one")
    branch(user, origin, 0)
    for number in range(95):
        server.sql(
            "INSERT INTO chat_session (id, owner_id, thread_id, conversation_id, title, config, is_archived,"
            " message_count, created_at, updated_at) SELECT :id, owner_id, :id, conversation_id, title, config,"
            " is_archived, 0, created_at, updated_at FROM chat_session WHERE id = :origin",
            id=f"{origin[:-4]}{number:04}",
            origin=origin,
        )
    body = {"before_message_id": question_ids(user, origin)[0]}
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: user.request("POST", f"/sessions/{origin}/branches", json=body), range(6)))

    refused = [answer for answer in answers if answer.status_code != 200]
    assert len(refused) == 3
    for answer in refused:
        assert check_error(answer, BranchesFull) == {"limit": 100}


def test_client_goes_on_in_a_branch(agui_client: AguiClient, user: Api):
    origin = talk(user, "one", "two")
    made = branch(user, origin, 1)
    connect = str(user.http.base_url.join("/agent/connect"))
    begun = agui_client.talk(user, {"connect": connect}, threadId=made)
    assert [m["content"] for m in begun.messages if m["role"] == "user"] == ["one"]
    went_on = agui_client.talk(user, {"question": "two again"}, threadId=made, messages=begun.messages)

    verify(went_on.runs[0].events, thread_id=made)
    assert contents(user, made)[::2] == ["one", "two again"]
