"""Sessions and their messages (docs/reference/agentex-api.md, section 5), over HTTP."""

from uuid import uuid4

import pytest

from agents.llm_registry.selection import EXTRACTIVE_ID
from core.errors.auth import KnowledgeBaseNotFound, ModelNotFound, SessionNotFound
from core.errors.requests import InvalidRequest, UnknownAgentType
from tests.fixtures.http.client import Api, conforms
from tests.fixtures.product.server import Server, one_shape
from tests.fixtures.runs.agent_runs import GUIDE, Run, ask, run, run_body

CONFIG = {
    "agent_type": "react",
    "model_id": EXTRACTIVE_ID,
    "knowledge_base_ids": [],
    "mcp_connection_ids": [],
    "skill_ids": [],
}
SESSION = {
    "id": "uuid",
    "title": "服务器状态查询",
    "message_count": 10,
    "last_message_at": "2026-02-03T10:00:00Z",
    "config": {"agent_type": "react"},
    "created_at": "2026-02-03T09:00:00Z",
}
QUESTION = {
    "role": "user",
    "content": "查询服务器状态",
    "content_type": "text",
    "created_at": "2026-02-03T10:00:00Z",
}
ANSWER = {
    "id": "uuid",
    "role": "assistant",
    "content": "服务器当前状态正常...",
    "content_type": "markdown",
    "metadata": {
        "model_id": "a name",
        "agent_type": "react",
        "thinking": [{"type": "action"}],
        "tool_calls": [{"tool": "server_status", "input": {}, "output": {}, "duration": 120}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 50},
    },
    "created_at": "2026-02-03T10:00:05Z",
}


def talk(user: Api, thread_id: str, *questions: str, **fields: object) -> None:
    for question in questions:
        ask(user, question, thread_id=thread_id, **fields)


def test_created_session_is_as_documented(user: Api):
    data = user.post("/sessions", {"title": "新对话", "config": CONFIG})

    conforms(data, {**SESSION, "last_message_at": None})
    assert (data["title"], data["config"]) == ("新对话", CONFIG)
    assert (data["message_count"], data["last_message_at"]) == (0, None)
    assert data["thread_id"] == data["id"]
    assert user.get(f"/sessions/{data['id']}") == data


@one_shape
@pytest.mark.parametrize("body", [{}, {"title": ""}, {"config": {}}])
def test_session_is_created_when_fields_are_left_out(user: Api, body: dict):
    data = user.post("/sessions", body)

    assert (data["title"], data["config"], data["is_archived"]) == ("", {}, False)


def test_listed_session_is_as_documented(user: Api):
    session_id = user.post("/sessions", {"config": {"agent_type": "agentic_rag"}})["id"]
    talk(user, session_id, "服务器状态查询")
    page = user.get("/sessions")

    conforms(page, {"items": [SESSION], "total": 5, "page": 1, "page_size": 20})
    assert page["items"][0]["title"] == "服务器状态查询"
    assert page["items"][0]["message_count"] == 2


def test_title_is_made_of_the_first_question(user: Api):
    thread_id = str(uuid4())
    talk(user, thread_id, "How  do I\nstart it?", "And how do I stop it?")
    titled = user.post("/sessions", {"title": "kept"})["id"]
    talk(user, titled, "How do I start it?")

    assert user.get(f"/sessions/{thread_id}")["title"] == "How do I start it?"
    assert user.get(f"/sessions/{titled}")["title"] == "kept"


def test_session_is_changed_in_what_is_given(user: Api):
    data = user.post("/sessions", {"title": "old", "config": {"agent_type": "agentic_rag"}})
    path = f"/sessions/{data['id']}"

    renamed = user.put(path, {"title": "新标题"})
    assert (renamed["title"], renamed["config"]) == ("新标题", data["config"])
    kb_id = user.create_kb()
    configured = user.put(path, {"config": {"knowledge_base_ids": [kb_id]}})
    assert configured["config"] == {"knowledge_base_ids": [kb_id]}
    archived = user.put(path, {"is_archived": True})
    assert (archived["is_archived"], archived["title"]) == (True, "新标题")
    assert archived["updated_at"] > data["updated_at"]
    assert user.get(path) == archived


def test_archived_sessions_are_filtered(user: Api):
    kept, archived = (user.post("/sessions", {"title": name})["id"] for name in "ab")
    user.put(f"/sessions/{archived}", {"is_archived": True})

    def ids(**filters: bool) -> set[str]:
        return {item["id"] for item in user.get("/sessions", **filters)["items"]}

    assert ids(is_archived=True) == {archived}
    assert ids(is_archived=False) == {kept}
    assert ids() == {kept, archived}


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_sessions_without_messages_are_last_in_either_order(user: Api, order: str):
    user.post("/sessions", {"title": "empty"})
    for name in ("first", "second"):
        talk(user, user.post("/sessions", {"title": name})["id"], "hello")
    items = user.get("/sessions", sort_by="last_message_at", sort_order=order)["items"]

    spoken = ["first", "second"] if order == "asc" else ["second", "first"]
    assert [item["title"] for item in items] == [*spoken, "empty"]


def test_messages_are_as_documented(user: Api):
    kb_id = user.create_kb()
    user.ingest(kb_id, "relay.md", GUIDE)
    thread_id = str(uuid4())
    talk(
        user,
        thread_id,
        "Which port does the relay listen on?",
        forwarded_props={"knowledge_base_ids": [kb_id]},
    )
    data = user.get(f"/sessions/{thread_id}/messages")

    question, answer = data["items"]
    conforms(question, QUESTION)
    conforms(answer, ANSWER)
    assert data["has_more"] is False
    call = answer["metadata"]["tool_calls"][0]
    assert call["tool"] == "search_knowledge_base"
    assert call["input"] == {"query": "Which port does the relay listen on?"}
    assert call["output"]["passages"][0]["document"] == "relay.md"
    assert 0 <= call["duration"] < 60_000
    assert answer["metadata"]["thinking"][0] == {
        "type": "action",
        "tool": call["tool"],
        "input": call["input"],
    }
    assert 0 <= answer["metadata"]["duration"] < 60_000
    assert answer["metadata"]["model_id"] == EXTRACTIVE_ID
    assert answer["metadata"]["citations"][0]["document_name"] == "relay.md"


def test_message_ids_are_those_of_the_stream(user: Api):
    body = run_body("hello")
    events = run(user, body)
    question, answer = user.get(f"/sessions/{body['thread_id']}/messages")["items"]

    assert question["id"] == body["messages"][0]["id"]
    said = next(event for event in events if event["type"] == "TEXT_MESSAGE_START")
    assert answer["id"] == said["message_id"]
    assert question["run_id"] == answer["run_id"] == body["run_id"]


def test_messages_are_paged_backwards(user: Api):
    thread_id = str(uuid4())
    talk(user, thread_id, "one", "two", "three")
    path = f"/sessions/{thread_id}/messages"
    everything = user.get(path)["items"]

    newest = user.get(path, limit=2)
    assert (newest["items"], newest["has_more"]) == (everything[-2:], True)
    older = user.get(path, limit=3, before_id=newest["items"][0]["id"])
    assert (older["items"], older["has_more"]) == (everything[1:4], True)
    oldest = user.get(path, limit=50, before_id=older["items"][0]["id"])
    assert (oldest["items"], oldest["has_more"]) == (everything[:1], False)
    nothing = user.get(path, before_id=everything[0]["id"])
    assert (nothing["items"], nothing["has_more"]) == ([], False)


@one_shape
@pytest.mark.parametrize("wrong", [{"limit": 0}, {"limit": 201}, {"before_id": "unknown"}])
def test_messages_are_refused_with_the_wrong_field(user: Api, wrong: dict):
    session_id = user.post("/sessions", {})["id"]
    details = user.refused(InvalidRequest, "GET", f"/sessions/{session_id}/messages", params=wrong)

    assert details["field"] == next(iter(wrong))


def test_cursor_of_another_session_is_refused(user: Api):
    first, second = str(uuid4()), str(uuid4())
    talk(user, first, "hello")
    talk(user, second, "hello")
    foreign = user.get(f"/sessions/{first}/messages")["items"][0]["id"]

    user.refused(
        InvalidRequest,
        "GET",
        f"/sessions/{second}/messages",
        params={"before_id": foreign},
    )


def test_deleted_session_leaves_nothing(user: Api, server: Server):
    thread_id = str(uuid4())
    body = {**run_body("hello"), "thread_id": thread_id}
    run(user, body)
    row = server.sql("SELECT id FROM agent_run WHERE run_id = :run", run=body["run_id"])[0]
    session_id = user.get(f"/sessions/{thread_id}")["id"]
    assert user.request("DELETE", f"/sessions/{session_id}").json() == {
        "code": 0,
        "message": "success",
    }

    user.refused(SessionNotFound, "GET", f"/sessions/{session_id}")
    assert server.count("chat_message", session_id=session_id) == 0
    assert server.count("agent_run", session_id=session_id) == 0
    assert server.count("logged_event", run_id=row["id"]) == 0
    # The thread's name is free again, for a new session.
    talk(user, thread_id, "hello again")
    assert user.get(f"/sessions/{thread_id}")["message_count"] == 2


def test_foreign_session_is_not_found(user: Api, other: Api):
    session_id = other.post("/sessions", {"title": "theirs"})["id"]
    thread_id = str(uuid4())
    talk(other, thread_id, "hello")
    for name in (session_id, thread_id, str(uuid4()), "a%0Ab"):
        path = f"/sessions/{name}"
        user.refused(SessionNotFound, "GET", path)
        user.refused(SessionNotFound, "PUT", path, json={"title": "mine"})
        user.refused(SessionNotFound, "DELETE", path)
        user.refused(SessionNotFound, "GET", f"{path}/messages")

    assert other.get(f"/sessions/{session_id}")["title"] == "theirs"
    assert user.get("/sessions")["total"] == 0


@one_shape
@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"title": "x" * 201}, "title"),
        ({"title": 7}, "title"),
        ({"title": "a\0b"}, "title"),
        ({"owner_id": "me"}, "owner_id"),
        ({"config": {"knowledge_base_ids": "kb"}}, "config.knowledge_base_ids"),
        ({"config": {"temperature": 1}}, "config.temperature"),
        ({"config": {"skill_ids": ["s"] * 101}}, "config.skill_ids"),
        ({"config": {"skill_ids": ["unknown"]}}, "config.skill_ids"),
    ],
)
def test_wrong_session_is_refused_with_its_field(user: Api, body: dict, field: str):
    details = user.refused(InvalidRequest, "POST", "/sessions", json=body)

    assert details["field"] == field


def test_session_says_how_its_runs_answer(user: Api):
    kb_id = user.create_kb()
    user.ingest(kb_id, "relay.md", GUIDE)
    config = {"agent_type": "agentic_rag", "knowledge_base_ids": [kb_id]}
    session_id = user.post("/sessions", {"config": config})["id"]
    events = ask(user, "Which port does the relay listen on?", thread_id=session_id)
    assert events[-1]["result"]["citations"][0]["knowledge_base_id"] == kb_id

    user.delete(f"/knowledge-bases/{kb_id}")
    body = {**run_body("hello"), "thread_id": session_id}
    user.refused(KnowledgeBaseNotFound, "POST", "/agent/run", json=body)


def test_session_takes_no_model_that_is_not_there(user: Api):
    session_id = user.post("/sessions", {})["id"]
    for method, path in (("POST", "/sessions"), ("PUT", f"/sessions/{session_id}")):
        for model_id in ("unknown", str(uuid4())):
            body = {"config": {"model_id": model_id}}
            user.refused(ModelNotFound, method, path, json=body)

    assert user.get(f"/sessions/{session_id}")["config"] == {}
    for model_id in ("default", "extractive"):
        config = {"model_id": model_id}
        assert user.put(f"/sessions/{session_id}", {"config": config})["config"] == config


def test_session_takes_no_knowledge_base_that_its_owner_does_not_see(user: Api, other: Api):
    session_id = user.post("/sessions", {})["id"]
    requests = (("POST", "/sessions"), ("PUT", f"/sessions/{session_id}"))

    def answers(kb_id: str) -> list[object]:
        body = {"title": "new", "config": {"knowledge_base_ids": [kb_id]}}
        code = KnowledgeBaseNotFound
        return [user.refused(code, method, path, json=body) for method, path in requests]

    assert answers(other.create_kb()) == answers(str(uuid4()))
    assert user.get(f"/sessions/{session_id}")["title"] == ""
    assert user.get("/sessions")["total"] == 1
    # What everybody may search, everybody may name.
    public = {"knowledge_base_ids": [other.create_kb(is_public=True)]}
    assert user.put(f"/sessions/{session_id}", {"config": public})["config"] == public
    other.delete(f"/knowledge-bases/{public['knowledge_base_ids'][0]}")


@one_shape
@pytest.mark.parametrize("agent_type", ["telepathy", "memory", "", "x" * 300])
def test_session_of_an_unknown_agent_type_is_refused(user: Api, agent_type: str):
    session_id = user.post("/sessions", {"config": {"agent_type": "react"}})["id"]
    body = {"config": {"agent_type": agent_type}}
    for method, path in (("POST", "/sessions"), ("PUT", f"/sessions/{session_id}")):
        details = user.refused(UnknownAgentType, method, path, json=body)
        assert details["agent_type"] == agent_type[:100]

    assert user.get(f"/sessions/{session_id}")["config"] == {"agent_type": "react"}
    assert user.get("/sessions")["total"] == 1


@one_shape
def test_every_agent_type_may_be_a_sessions(user: Api):
    schema = user.http.get("/openapi.json").json()["components"]["schemas"]["SessionConfig"]
    known = [name for name in schema["properties"]["agent_type"]["enum"] if name]
    assert "react" in known
    assert "memory" not in known

    for name in known:
        config = {"agent_type": name}
        assert user.post("/sessions", {"config": config})["config"] == config


def test_run_answers_under_the_name_by_which_it_asked(user: Api):
    thread_id = str(uuid4())
    talk(user, thread_id, "hello")
    session_id = user.get(f"/sessions/{thread_id}")["id"]
    assert session_id != thread_id
    with Run(user, {**run_body("again"), "thread_id": session_id}) as streaming:
        events = streaming.finish()

    assert events[0]["thread_id"] == events[-1]["thread_id"] == session_id
    assert user.get(f"/sessions/{thread_id}")["message_count"] == 4
