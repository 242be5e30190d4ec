"""Who may do what: another person's things are not there, public ones are read-only."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest

from api.middleware import is_open
from core.errors import ErrorCode
from tests.fixtures.client import Api, check_error
from tests.fixtures.made_files import zipped
from tests.fixtures.server import Server

FILE = {"files": {"file": ("b.md", b"# A\n\ntext", "text/markdown")}}
ARCHIVE = {"files": {"file": ("b.zip", zipped({"b.md": "# A"}), "application/zip")}}
# A request that succeeds for the owner, for each operation whose path names an object. A new
# operation fails the test below until it has its line here.
QUESTION = {"question": "When does the zebra sleep?", "expected": [{"document": "a.md"}]}
REQUESTS: dict[str, dict[str, Any]] = {
    "DELETE /api/v1/users/me/api-keys/{key_id}": {},
    "GET /api/v1/knowledge-bases/{kb_id}": {},
    "PUT /api/v1/knowledge-bases/{kb_id}": {"json": {"name": "taken over"}},
    "DELETE /api/v1/knowledge-bases/{kb_id}": {},
    "GET /api/v1/knowledge-bases/{kb_id}/reindex": {},
    "POST /api/v1/knowledge-bases/{kb_id}/reindex": {
        "json": {"chunk_size": 100, "cutover": "manual"}
    },
    "POST /api/v1/knowledge-bases/{kb_id}/reindex/cancel": {},
    "POST /api/v1/knowledge-bases/{kb_id}/reindex/cutover": {"json": {}},
    "POST /api/v1/knowledge-bases/{kb_id}/reindex/rollback": {},
    "GET /api/v1/knowledge-bases/{kb_id}/documents": {},
    "POST /api/v1/knowledge-bases/{kb_id}/documents": FILE,
    "POST /api/v1/knowledge-bases/{kb_id}/documents/archive": ARCHIVE,
    "GET /api/v1/knowledge-bases/{kb_id}/documents/{doc_id}": {},
    "DELETE /api/v1/knowledge-bases/{kb_id}/chunks/{chunk_id}": {},
    "DELETE /api/v1/knowledge-bases/{kb_id}/documents/{doc_id}": {},
    "POST /api/v1/knowledge-bases/{kb_id}/documents/{doc_id}/retry": {},
    "GET /api/v1/knowledge-bases/{kb_id}/documents/{doc_id}/content": {},
    "GET /api/v1/knowledge-bases/{kb_id}/documents/{doc_id}/chunks": {},
    "GET /api/v1/knowledge-bases/{kb_id}/chunks/{chunk_id}": {},
    "PUT /api/v1/knowledge-bases/{kb_id}/chunks/{chunk_id}": {
        "json": {"version": 1, "content": "taken over"}
    },
    "POST /api/v1/knowledge-bases/{kb_id}/split-preview": FILE,
    "POST /api/v1/knowledge-bases/{kb_id}/search": {"json": {"query": "zebra"}},
    "POST /api/v1/knowledge-bases/{kb_id}/search/why": {
        "json": {"query": "zebra", "chunk_id": "{chunk_id}"}
    },
    "GET /api/v1/retrievals/{retrieval_id}": {},
    "POST /api/v1/retrievals/{retrieval_id}/replay": {},
    "GET /api/v1/knowledge-bases/{kb_id}/progress": {},
    "GET /api/v1/knowledge-bases/{kb_id}/progress/stream": {"params": {"until_quiet": True}},
    "POST /api/v1/knowledge-bases/{kb_id}/pause": {},
    "POST /api/v1/knowledge-bases/{kb_id}/resume": {},
    "POST /api/v1/knowledge-bases/{kb_id}/documents/batch": FILE,
    "POST /api/v1/knowledge-bases/{kb_id}/documents/bulk": {
        "json": {"action": "retry", "status": "failed"}
    },
    "PUT /api/v1/knowledge-bases/{kb_id}/documents/{doc_id}": {"json": {"name": "taken.md"}},
    "POST /api/v1/knowledge-bases/{kb_id}/documents/{doc_id}/pause": {},
    "POST /api/v1/knowledge-bases/{kb_id}/documents/{doc_id}/resume": {},
    "POST /api/v1/knowledge-bases/{kb_id}/documents/{doc_id}/cancel": {},
    "GET /api/v1/knowledge-bases/{kb_id}/questions": {},
    "POST /api/v1/knowledge-bases/{kb_id}/questions": {"json": QUESTION},
    "POST /api/v1/knowledge-bases/{kb_id}/questions/import": {
        "files": {"file": ("q.jsonl", b'{"question": "stripes?", "document": "a.md"}\n')}
    },
    "GET /api/v1/knowledge-bases/{kb_id}/questions/export": {},
    "GET /api/v1/knowledge-bases/{kb_id}/questions/{question_id}": {},
    "PUT /api/v1/knowledge-bases/{kb_id}/questions/{question_id}": {"json": QUESTION},
    "DELETE /api/v1/knowledge-bases/{kb_id}/questions/{question_id}": {},
    "POST /api/v1/knowledge-bases/{kb_id}/evaluations": {"json": {}},
    "GET /api/v1/knowledge-bases/{kb_id}/evaluations": {},
    "GET /api/v1/knowledge-bases/{kb_id}/evaluations/{evaluation_id}": {},
    "GET /api/v1/knowledge-bases/{kb_id}/evaluations/{evaluation_id}/compare": {
        "params": {"with": "{evaluation_id}"}
    },
    "DELETE /api/v1/knowledge-bases/{kb_id}/evaluations/{evaluation_id}": {},
    "GET /api/v1/knowledge-bases/{kb_id}/export": {},
    "POST /api/v1/knowledge-bases/{kb_id}/copy": {"json": {}},
    "GET /api/v1/transfers/{transfer_id}": {},
    "POST /api/v1/transfers/{transfer_id}/cancel": {},
    "GET /api/v1/calendar/events/{event_id}": {},
    "PATCH /api/v1/calendar/events/{event_id}": {"json": {"title": "taken over"}},
    "DELETE /api/v1/calendar/events/{event_id}": {},
    "GET /api/v1/memories/{memory_id}": {},
    "PATCH /api/v1/memories/{memory_id}": {"json": {"text": "taken over"}},
    "DELETE /api/v1/memories/{memory_id}": {},
    "GET /api/v1/sessions/{session_id}": {},
    "PUT /api/v1/sessions/{session_id}": {"json": {"title": "taken over"}},
    "DELETE /api/v1/sessions/{session_id}": {},
    "GET /api/v1/sessions/{session_id}/messages": {},
    "POST /api/v1/agent/run/{run_id}/stop": {},
    "GET /api/v1/agent/run/{run_id}/events": {},
    "GET /api/v1/agent/runs/{thread_id}/events": {},
    # The tasks of seed 003, at the root and under the product's prefix.
    **{
        f"{method} {prefix}/agent/{path}": {}
        for prefix in ("", "/api/v1")
        for method, path in (
            ("GET", "active/sessionid/{user_id}"),
            ("GET", "sessionids/{user_id}"),
            ("GET", "tasks/{user_id}/{session_id}"),
            ("GET", "status/{user_id}/{session_id}/{task_id}"),
            ("DELETE", "session/{user_id}/{session_id}/{task_id}"),
            ("DELETE", "session/{user_id}/{session_id}"),
        )
    },
}


@dataclass(frozen=True)
class Things:
    """One of everything that a person can have."""

    owner: Api
    ids: dict[str, str]

    def state(self) -> list[Any]:
        """All of it as its owner sees it."""
        kb, session = self.ids["kb_id"], self.ids["session_id"]
        return [
            self.owner.get(f"/knowledge-bases/{kb}"),
            self.owner.document(kb, self.ids["doc_id"]),
            self.owner.get(f"/knowledge-bases/{kb}/documents")["total"],
            self.owner.get(f"/knowledge-bases/{kb}/chunks/{self.ids['chunk_id']}"),
            self.owner.get(f"/sessions/{session}"),
            self.owner.get(f"/sessions/{session}/messages"),
            self.owner.get(f"/calendar/events/{self.ids['event_id']}"),
            self.owner.get("/memories"),
            [key["id"] for key in self.owner.get("/users/me/api-keys")["items"]],
        ]


def run_agent(caller: Api, **body: Any) -> str:
    answer = caller.request(
        "POST",
        "/agent/run",
        json={"messages": [{"id": "1", "role": "user", "content": "zebra?"}], **body},
    )
    return answer.text


@pytest.fixture
def things(user: Api) -> Things:
    kb_id = user.create_kb()
    doc_id = user.ingest(kb_id, "a.md", "# Zebra\n\nThe secret zebra sleeps at noon.")
    listed = user.get(f"/knowledge-bases/{kb_id}/documents/{doc_id}/chunks")["items"]
    session_id = user.post("/sessions", {"title": "mine"})["id"]
    key_id = user.post("/users/me/api-keys", {"name": "mine"})["id"]
    run_id = str(uuid4())
    props = {"agent_type": "agentic_rag", "knowledge_base_ids": [kb_id]}
    text = run_agent(user, thread_id=session_id, run_id=run_id, forwarded_props=props)
    assert "RUN_FINISHED" in text, text
    ids = {"kb_id": kb_id, "doc_id": doc_id, "session_id": session_id}
    ids["thread_id"] = session_id
    ids["chunk_id"] = listed[0]["id"]
    event = {"title": "mine", "start": "2026-03-17T09:00"}
    ids["event_id"] = user.post("/calendar/events", event)["id"]
    ids["question_id"] = user.post(f"/knowledge-bases/{kb_id}/questions", QUESTION)["id"]
    ids["evaluation_id"] = user.post(f"/knowledge-bases/{kb_id}/evaluations", {})["id"]
    ids["transfer_id"] = user.post(f"/knowledge-bases/{kb_id}/copy", {})["id"]
    ids["memory_id"] = user.post("/memories", {"text": "My zebra is called Stripe."})["id"]
    found = re.search(r'retrieval_id\W+"?([0-9a-f-]{36})', text)
    assert found, text
    ids["retrieval_id"] = found[1]
    ids |= {"user_id": user.get("/users/me")["id"], "task_id": run_id}
    return Things(user, {**ids, "key_id": key_id, "run_id": run_id})


def operations(server: Server) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Method, path and description of every operation of the OpenAPI document."""
    document = server.http.get("/openapi.json").json()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def fill(path: str, ids: Callable[[str], str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda match: ids(match[1]), path)


def filled(options: dict[str, Any], ids: Callable[[str], str]) -> dict[str, Any]:
    """The options of a request with the ids in its body and its query, too."""
    parts = {key: options[key] for key in ("json", "params") if key in options}
    return options | json.loads(fill(json.dumps(parts), ids))


def test_other_persons_things_are_not_found_and_stay(server: Server, things: Things, other: Api):
    before = things.state()
    asked = []
    for method, path, _ in operations(server):
        # A signed link is its own credential.
        if "{" not in path or is_open(path):
            continue
        options = REQUESTS[f"{method} {path}"]
        url = fill(path, things.ids.__getitem__).removeprefix("/api/v1")
        nowhere = fill(path, lambda _: str(uuid4())).removeprefix("/api/v1")
        answer = other.request(method, url, **filled(options, things.ids.__getitem__))
        assert answer.status_code == 404, f"{method} {path}: {answer.text}"
        absent = other.request(method, nowhere, **filled(options, lambda _: str(uuid4())))
        assert answer.content == absent.content
        asked.append(f"{method} {path}")
    assert set(asked) == set(REQUESTS)
    assert things.state() == before


def test_every_request_of_that_test_succeeds_for_the_owner(server: Server, things: Things):
    deletions = [name for name in REQUESTS if name.startswith("DELETE")]
    # What the present state does not allow.
    conflicts = (
        "/documents/{doc_id}/retry",
        "/documents/{doc_id}/pause",
        "/documents/{doc_id}/resume",
        "/documents/{doc_id}/cancel",
        "/reindex/cutover",
        "/reindex/rollback",
        "/transfers/{transfer_id}/cancel",
    )
    allowed = {name: {200, 409} for name in REQUESTS if name.endswith(conflicts)}
    # Deleted under another path already.
    allowed |= {name: {200, 404} for name in deletions if "{session_id}" in name}
    last = "DELETE /api/v1/knowledge-bases/{kb_id}"
    order = [name for name in REQUESTS if name not in deletions]
    for name in [*order, *(name for name in deletions if name != last), last]:
        method, _, path = name.partition(" ")
        url = fill(path, things.ids.__getitem__).removeprefix("/api/v1")
        options = filled(REQUESTS[name], things.ids.__getitem__)
        answer = things.owner.request(method, url, **options)
        assert answer.status_code in allowed.get(name, {200}), f"{name}: {answer.text}"


def test_other_persons_things_are_in_no_list_and_no_search(things: Things, other: Api):
    ids = set(things.ids.values())
    for path in ("/knowledge-bases", "/sessions", "/users/me/api-keys", "/memories"):
        text = other.request("GET", path, params={"page_size": 100}).text
        assert not [id_ for id_ in ids if id_ in text]
    assert other.get("/memories", q="What is my zebra called?")["items"] == []
    found = other.post("/search", {"query": "secret zebra noon", "top_k": 100})["results"]
    assert things.ids["kb_id"] not in {hit["knowledge_base_id"] for hit in found}


def test_search_over_ones_own_and_a_foreign_knowledge_base_is_refused_whole(
    things: Things, other: Api
):
    own = other.create_kb()
    other.ingest(own, "a.md", "# Zebra\n\nMy own zebra.")
    code = ErrorCode.KNOWLEDGE_BASE_NOT_FOUND
    for ids in ([own, things.ids["kb_id"]], [things.ids["kb_id"], own], [things.ids["kb_id"]]):
        body = {"query": "zebra", "knowledge_base_ids": ids}
        assert other.refused(code, "POST", "/search", json=body) == {}


def test_run_over_a_foreign_knowledge_base_or_session_is_refused(things: Things, other: Api):
    own = other.create_kb()
    foreign = things.ids["kb_id"]
    body = {
        "thread_id": str(uuid4()),
        "run_id": str(uuid4()),
        "forwarded_props": {"agent_type": "agentic_rag", "knowledge_base_ids": [own, foreign]},
    }
    text = run_agent(other, **body)
    assert json.loads(text)["code"] == ErrorCode.KNOWLEDGE_BASE_NOT_FOUND
    assert "noon" not in text
    body["forwarded_props"] = {"agent_type": "agentic_rag", "knowledge_base_ids": [own]}
    body["thread_id"] = things.ids["session_id"]
    before = things.state()
    text = run_agent(other, **body)
    assert "noon" not in text
    assert things.state() == before


def test_session_settings_may_not_name_a_foreign_knowledge_base_in_a_run(
    things: Things, other: Api
):
    config = {"agent_type": "agentic_rag", "knowledge_base_ids": [things.ids["kb_id"]]}
    answer = other.request("POST", "/sessions", json={"title": "x", "config": config})
    if answer.status_code != 200:
        check_error(answer, ErrorCode.KNOWLEDGE_BASE_NOT_FOUND)
        return
    session_id = answer.json()["data"]["id"]
    assert "noon" not in run_agent(other, thread_id=session_id, run_id=str(uuid4()))


def test_public_knowledge_base_can_be_read_and_not_changed(things: Things, other: Api):
    kb_id, doc_id = things.ids["kb_id"], things.ids["doc_id"]
    path = f"/knowledge-bases/{kb_id}"
    things.owner.put(path, {"is_public": True})
    try:
        before = things.state()
        assert other.get(path)["can_write"] is False
        assert other.document(kb_id, doc_id)["status"] == "completed"
        assert other.search(kb_id, "zebra")[0]["document_id"] == doc_id
        body = {"query": "zebra", "knowledge_base_ids": [kb_id, other.create_kb()]}
        assert other.post("/search", body)["results"]
        writes = [
            ("PUT", path, {"json": {"name": "mine now"}}),
            ("PUT", path, {"json": {"is_public": False}}),
            ("DELETE", path, {}),
            ("POST", f"{path}/documents", FILE),
            ("DELETE", f"{path}/documents/{doc_id}", {}),
            ("POST", f"{path}/documents/{doc_id}/retry", {}),
        ]
        for method, url, options in writes:
            other.refused(ErrorCode.READ_ONLY, method, url, **options)
        assert things.state() == before
    finally:
        things.owner.put(path, {"is_public": False})
    other.refused(ErrorCode.KNOWLEDGE_BASE_NOT_FOUND, "GET", path)


def test_administrator_does_not_look_into_other_peoples_things(server: Server, things: Things):
    admin = server.admin()
    path = f"/knowledge-bases/{things.ids['kb_id']}"
    for method, url in (("GET", path), ("DELETE", path), ("GET", f"{path}/documents")):
        admin.refused(ErrorCode.KNOWLEDGE_BASE_NOT_FOUND, method, url)
    session = f"/sessions/{things.ids['session_id']}"
    admin.refused(ErrorCode.SESSION_NOT_FOUND, "GET", session)
    memory = f"/memories/{things.ids['memory_id']}"
    for method in ("GET", "DELETE"):
        admin.refused(ErrorCode.MEMORY_NOT_FOUND, method, memory)


def test_role_without_the_permission_may_look_but_not_write(server: Server, things: Things):
    viewer = server.sql("SELECT id FROM role WHERE name = 'viewer'")[0]["id"]
    kb_id, caller = things.ids["kb_id"], things.owner
    server.sql('UPDATE "user" SET role_id = :role WHERE id = :id', role=viewer, id=caller.user_id)
    path = f"/knowledge-bases/{kb_id}"
    assert caller.get(path)["id"] == kb_id
    assert caller.search(kb_id, "zebra")
    for method, url, options in (
        ("POST", "/knowledge-bases", {"json": {"name": "x"}}),
        ("PUT", path, {"json": {"name": "x"}}),
        ("DELETE", path, {}),
        ("POST", f"{path}/documents", FILE),
        ("DELETE", f"{path}/documents/{things.ids['doc_id']}", {}),
    ):
        details = caller.refused(ErrorCode.PERMISSION_DENIED, method, url, **options)
        assert details == {"permission": "kb:write"}


def test_everything_a_new_person_sees_is_empty(user: Api):
    for path in ("/knowledge-bases", "/sessions"):
        items = user.get(path)["items"]
        assert [item for item in items if item.get("owner_id") == user.user_id] == []
    assert user.get("/sessions")["total"] == 0
    assert user.get("/memories")["total"] == 0
